/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_stats.c: medians and their confidence intervals.
 *
 * Rates measured on a shared machine are skewed and have outliers, so nothing
 * here relies on a mean.  The interval of a median comes from order
 * statistics: each value lies below the true median with probability 1/2, so
 * the number of values below it is binomial, and
 *
 *	P(v[k] <= median <= v[n + 1 - k]) = 1 - 2 P(Binomial(n, 1/2) <= k - 1)
 *
 * whatever the distribution.  We take the largest k that keeps this at the level
 * or above; coverage is therefore at least nominal (at 95 %: 96.9 % for n = 6,
 * where the interval is minimum to maximum; 96.5 % for n = 15; 95.9 % for n = 20).
 *
 * Below six values (at 95 %) even minimum to maximum covers less.  Then we use
 * Student's t half-width about the median, which assumes a normal distribution
 * and is very wide; the method is part of the result so that a reader can see
 * how much weight it bears.
 *
 * Ratios are estimated as logarithms: the ratio of A to B and that of B to A
 * then say the same.  Order statistics do not change under a monotone function.
 */
#include "strperf_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strperf_student.h"

static const char *const method_names[] = {
    [STATS_NONE] = "none",
    [STATS_T] = "t",
    [STATS_ORDER] = "order",
};

static int
ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A sorted copy of v, to be freed; NULL when n is 0 or memory is short. */
static double *
sorted(const double *v, size_t n)
{
	double *copy = n == 0 ? NULL : calloc(n, sizeof(*copy));

	if (copy == NULL)
		return NULL;
	memcpy(copy, v, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), ascending);
	return copy;
}

static double
middle(const double *ascended, size_t n)
{
	return (ascended[(n - 1) / 2] + ascended[n / 2]) / 2;
}

double
stats_median(const double *v, size_t n)
{
	double *copy = sorted(v, n);
	double median = copy == NULL ? NAN : middle(copy, n);

	free(copy);
	return median;
}

/* P(Binomial(n, 1/2) = k); by logarithms, as 2^-n underflows. */
static double
binomial_half(size_t n, size_t k)
{
	return exp(lgamma((double)n + 1) - lgamma((double)k + 1) -
	    lgamma((double)(n - k) + 1) - (double)n * M_LN2);
}

size_t
stats_rank_at(size_t n, double level)
{
	double below = 0;
	size_t k;

	for (k = 0; 2 * k < n; k++) {
		below += binomial_half(n, k);
		if (1 - 2 * below < level / 100)
			break;
	}
	return k;
}

size_t
stats_rank(size_t n)
{
	return stats_rank_at(n, STATS_LEVEL);
}

static double
standard_deviation(const double *v, size_t n)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (v[i] - mean) * (v[i] - mean);
	return sqrt(squares / (double)(n - 1));
}

static void
interval_by_t(struct estimate *e, const double *v, double level)
{
	double half = student_quantile(level, (double)e->n - 1) *
	    standard_deviation(v, e->n) / sqrt((double)e->n);

	e->lo = e->median - half;
	e->hi = e->median + half;
	e->method = STATS_T;
}

static void
interval_by_order(struct estimate *e, const double *ascended, size_t rank)
{
	e->lo = ascended[rank - 1];
	e->hi = ascended[e->n - rank];
	e->method = STATS_ORDER;
}

struct estimate
stats_estimate_at(const double *v, size_t n, double level)
{
	struct estimate e = {NAN, NAN, NAN, n, STATS_NONE};
	double *ascended = sorted(v, n);
	size_t rank = stats_rank_at(n, level);

	if (ascended == NULL)
		return e;
	e.median = middle(ascended, n);
	if (rank > 0)
		interval_by_order(&e, ascended, rank);
	else if (n >= 2)
		interval_by_t(&e, ascended, level);
	free(ascended);
	return e;
}

struct estimate
stats_estimate(const double *v, size_t n)
{
	return stats_estimate_at(v, n, STATS_LEVEL);
}

struct estimate
stats_paired_ratio_at(const double *a, const double *b, size_t n, double level)
{
	struct estimate e = {NAN, NAN, NAN, 0, STATS_NONE};
	double *logs = n == 0 ? NULL : calloc(n, sizeof(*logs));
	size_t used = 0;

	if (logs == NULL)
		return e;
	for (size_t i = 0; i < n; i++)
		if (a[i] > 0 && b[i] > 0)
			logs[used++] = log(a[i] / b[i]);
	e = stats_estimate_at(logs, used, level);
	free(logs);
	e.median = exp(e.median);
	e.lo = exp(e.lo);
	e.hi = exp(e.hi);
	return e;
}

struct estimate
stats_paired_ratio(const double *a, const double *b, size_t n)
{
	return stats_paired_ratio_at(a, b, n, STATS_LEVEL);
}

int
stats_excludes(const struct estimate *e, double value)
{
	return e->method != STATS_NONE && (value < e->lo || value > e->hi);
}

const char *
stats_method_name(enum stats_method method)
{
	return method_names[method];
}
