/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_set.h: a named set of numbers, one sample of something.
 */
#ifndef STRPERF_SET_H
#define STRPERF_SET_H

#include <stddef.h>
#include <stdio.h>

#include "strperf_moments.h"

#define SET_FEWEST 3 /* samples below which nothing is concluded */

struct set {
	char *name;	  /* O: where it comes from, as shown */
	double *v;	  /* O: the values in the order in which they came */
	double *ascended; /* O: sorted, after set_settle() */
	size_t n, room;	  /* O: values, and how many there is memory for */
	struct moments m; /* O: of the values */
};

/* How a file of numbers is read. */
struct set_columns {
	int column;		/* from 1 */
	const char *delimiters; /* between columns */
};

/* An empty set; NULL when memory is short. */
struct set *set_new(const char *name);
void set_free(struct set *s);
/* 0, or ENOMEM. */
int set_add(struct set *s, double value);
/* Sort, when all values are there.  0, or ENOMEM. */
int set_settle(struct set *s);

/*
 * Add one number from each line of f.  Empty lines, lines without so many
 * columns and what follows a '#' that begins a column are passed over.
 * EXIT_DONE, or EXIT_USAGE after a line that names file, line and text, or
 * EXIT_FAILED.
 */
int set_read(struct set *s, FILE *f, const struct set_columns *columns);

/* What stands in the middle, the upper of two, as ministat(1) has it. */
double set_upper_median(const struct set *s);

#endif
