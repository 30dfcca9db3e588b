/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_moments.h: mean and standard deviation of values that come one by one.
 *
 * Welford's sums: after each value, mean is the mean and squares the sum of the
 * squared distances from it, so that no large numbers are ever subtracted.  sum / n
 * is the mean without the rounding of n steps; it is what is shown.  No pointer in
 * it; it may lie in shared memory.
 */
#ifndef STRPERF_MOMENTS_H
#define STRPERF_MOMENTS_H

#include <stddef.h>

struct moments {
	size_t n;	 /* O: values so far */
	double mean;	 /* O: of them; 0 while there are none */
	double sum;	 /* O: of the values */
	double squares;	 /* O: sum of (value - mean)^2 */
	double min, max; /* O: NAN while there are none */
};

void moments_init(struct moments *m);
/* sum / n; NAN while there are none. */
double moments_mean(const struct moments *m);
void moments_add(struct moments *m, double value);
/* As if the values of from had been added to to. */
void moments_merge(struct moments *to, const struct moments *from);
/* Of the sample, with n - 1 below the line; NAN for fewer than two values. */
double moments_variance(const struct moments *m);
double moments_stddev(const struct moments *m);

#endif
