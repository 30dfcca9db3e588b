/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_differ.h: whether two samples differ, by how much, and how sure that is.
 *
 * Three answers, because each assumes something else:
 *
 *	Student's t  both distributions are normal and equally wide (pooled s)
 *	Welch's t    normal, but not equally wide; degrees by Welch and Satterthwaite
 *	Mann-Whitney nothing but that the values are independent of each other
 *
 * An F test at the asked level tells whether the widths differ so much that the
 * first is not to be trusted.
 */
#ifndef STRPERF_DIFFER_H
#define STRPERF_DIFFER_H

#include <stdbool.h>

#include "strperf_set.h"

/* One interval of a difference: difference +/- half. */
struct interval {
	double half;	/* half its width */
	double degrees; /* of freedom */
	double p;	/* probability of a difference this large from equal means */
	bool proven;	/* the interval leaves out zero */
};

struct difference {
	double level;		 /* confidence of the intervals, per cent */
	double value;		 /* mean of b minus mean of a */
	double percent;		 /* that, as part of the mean of a */
	double pooled;		 /* standard deviation of both together */
	struct interval tabled;	 /* Student's, as ministat(1) prints it */
	struct interval student; /* Student's, with the exact quantile */
	struct interval welch;
	double f_p;	  /* probability of variances this different from equal ones */
	bool unequal;	  /* the F test says that the variances differ */
	double u, rank_p; /* Mann-Whitney's U of b, and its probability */
	bool rank_proven; /* that is less than the level leaves */
};

/* Of b against a, both settled and of SET_FEWEST values or more. */
struct difference differ(const struct set *a, const struct set *b, double level);
/* The one to be trusted: Welch's when the variances differ, else Student's, exact. */
const struct interval *differ_interval(const struct difference *d);
/* An amount as per cent of the mean of a; with its sign, as ministat(1) has it. */
double differ_percent(const struct set *a, double amount);

#endif
