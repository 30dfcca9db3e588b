/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_stats.h: medians and their confidence intervals.
 */
#ifndef STRPERF_STATS_H
#define STRPERF_STATS_H

#include <stddef.h>

/* How an interval was found. */
enum stats_method {
	STATS_NONE,  /* fewer than two values: there is no interval */
	STATS_T,     /* too few values for order: Student's t about the median */
	STATS_ORDER, /* order statistics: no assumption about the distribution */
};

struct estimate {
	double median;		  /* NAN when there are no values */
	double lo, hi;		  /* the interval; NAN when method is STATS_NONE */
	size_t n;		  /* values it rests on */
	enum stats_method method; /* how lo and hi were found */
};

/* The median of n values; NAN for none.  v is not changed. */
double stats_median(const double *v, size_t n);

/* The confidence of intervals whose level is not asked for, per cent. */
#define STATS_LEVEL 95.0

/*
 * The interval of a median by order statistics: the k-th smallest and the k-th
 * largest of n values, k counted from 1.  0: n is too small (below 6 at 95 %) and
 * no such interval reaches the level.
 */
size_t stats_rank_at(size_t n, double level);
/* The same at 95 %. */
size_t stats_rank(size_t n);

/* Median and interval of n values.  v is not changed. */
struct estimate stats_estimate_at(const double *v, size_t n, double level);
/* The same at 95 %. */
struct estimate stats_estimate(const double *v, size_t n);

/*
 * Median and interval of the n ratios a[i] / b[i].  Pairs in which either side
 * is not above zero are left out; n of the estimate says how many counted.
 */
struct estimate stats_paired_ratio_at(
    const double *a, const double *b, size_t n, double level);
/* The same at 95 %. */
struct estimate stats_paired_ratio(const double *a, const double *b, size_t n);

/* Whether the interval exists and leaves out value: a difference is proven. */
int stats_excludes(const struct estimate *e, double value);

/* The name of a method, for results: "none", "t", "order". */
const char *stats_method_name(enum stats_method method);

#endif
