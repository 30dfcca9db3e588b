/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_table.h: a comparison in the words of ministat(1).
 *
 * table_print() prints, for the same sets, what that program prints, to the last
 * digit; table_remarks() what it does not say.
 */
#ifndef STRPERF_TABLE_H
#define STRPERF_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "strperf_set.h"
#include "strperf_verdict.h"

struct table {
	struct set *const
	    *sets; /* settled; the first is what the others are compared with */
	size_t n;
	const struct verdict
	    *verdict;	   /* of set i against the first, at i; [0] is not used */
	double level;	   /* confidence, per cent */
	int width;	   /* of the chart */
	bool chart, tests; /* whether to print them */
	bool bars;	   /* a line for each set's mean and deviation */
};

void table_print(const struct table *t);
void table_remarks(const struct table *t);

#endif
