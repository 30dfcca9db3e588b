/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_verdict.h: what is concluded from two sets of a series.
 *
 * Live samples came in turn, one of each build to a pair: the ratio is taken pair
 * by pair, and its median and interval count, which assume nothing about the
 * distribution and drop what drift both shared.  Pairs around which the
 * processors were moved are left out.  Recorded samples have no pairs: their
 * means are compared, by Student's t or, when the variances differ, by Welch's.
 */
#ifndef STRPERF_VERDICT_H
#define STRPERF_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "strperf_book.h"
#include "strperf_differ.h"
#include "strperf_gate.h"
#include "strperf_stats.h"

struct verdict {
	const struct set *a, *b;
	bool live;
	bool tested;	       /* both have SET_FEWEST samples: d is good */
	struct difference d;   /* of the means */
	struct estimate ratio; /* live: of b / a, pair by pair */
	size_t pairs, moved;   /* live: complete ones, and those left out */

	double percent, lo,
	    hi;	     /* of b against a, per cent; the ends NAN without an interval */
	bool proven; /* the interval leaves out zero */
	const char *method; /* "none", "t", "order", "student", "welch" */
	struct gate_facts facts;
};

/* Of operand k against operand 0. */
struct verdict verdict_reach(const struct series *s, size_t k, double level, bool live);

#endif
