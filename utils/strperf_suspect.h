/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_suspect.h: samples on which no test is to be trusted.
 *
 * All tests take the values for independent draws from one distribution.  Two
 * ways in which measurements are not:
 *
 *	autocorrelated	neighbours resemble each other (the machine drifted), so
 *			that n values are worth fewer
 *	bimodal		two heaps (a processor was moved, a cache was cold in some
 *			runs), of which the mean lies in neither
 *
 * Both are said, never corrected: only who measured knows why.
 */
#ifndef STRPERF_SUSPECT_H
#define STRPERF_SUSPECT_H

#include <stdbool.h>

#include "strperf_set.h"

#define SUSPECT_FEWEST 10 /* values below which nothing is suspected */

struct suspicion {
	bool correlated;
	double lag1; /* the correlation of neighbours, -1 to 1 */
	bool bimodal;
	double split;  /* where the heaps part */
	double within; /* the part of the variance that is left within them */
};

/* Of a settled set. */
struct suspicion suspect(const struct set *s);

#endif
