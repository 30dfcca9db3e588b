/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_differ.c: whether two samples differ.
 *
 * U counts the pairs in which the value of b is the larger, a tie counting half.
 * Small samples without ties get its exact distribution: the number of ways to
 * interleave x values of a and y of b with a given u obeys
 *
 *	ways(x, y, u) = ways(x, y - 1, u - x) + ways(x - 1, y, u)
 *
 * as the largest value is one of b, which then exceeds all x, or one of a.
 * Others get the normal approximation, corrected for ties and continuity.
 */
#include "strperf_differ.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

#include "strperf_student.h"

#define EXACT_MOST 20 /* values of either sample for the exact distribution of U */

/* ---- means ------------------------------------------------------------------------ */

static struct interval
interval_of(double difference, double error, double degrees, double quantile)
{
	return (struct interval){
	    .half = quantile * error,
	    .degrees = degrees,
	    .p = error > 0	  ? 2 * gsl_cdf_tdist_Q(fabs(difference) / error, degrees)
		: difference == 0 ? 1
				  : 0,
	    .proven = fabs(difference) > quantile * error,
	};
}

static void
by_student(struct difference *d, const struct moments *a, const struct moments *b)
{
	double degrees = (double)(a->n + b->n) - 2;
	double error;

	d->pooled = sqrt((a->squares + b->squares) / degrees);
	error = d->pooled * sqrt(1.0 / (double)a->n + 1.0 / (double)b->n);
	d->student = interval_of(
	    d->value, error, degrees, student_quantile(d->level, degrees));
	d->tabled = interval_of(
	    d->value, error, degrees, student_tabled(d->level, degrees));
}

static void
by_welch(struct difference *d, const struct moments *a, const struct moments *b)
{
	double va = moments_variance(a) / (double)a->n;
	double vb = moments_variance(b) / (double)b->n;
	double degrees = (va + vb) * (va + vb) /
	    (va * va / (double)(a->n - 1) + vb * vb / (double)(b->n - 1));

	if (!isfinite(degrees))
		degrees = (double)(a->n + b->n) - 2;
	d->welch = interval_of(
	    d->value, sqrt(va + vb), degrees, student_quantile(d->level, degrees));
}

/* Two-sided: the larger variance is over the line by choice, hence twice the tail. */
static void
by_f(struct difference *d, const struct moments *a, const struct moments *b)
{
	const struct moments *wide = a, *narrow = b;
	double ratio;

	if (moments_variance(b) > moments_variance(a)) {
		wide = b;
		narrow = a;
	}
	ratio = moments_variance(wide) / moments_variance(narrow);
	d->f_p = 1;
	if (isinf(ratio))
		d->f_p = 0;
	else if (isfinite(ratio))
		d->f_p = fmin(1,
		    2 *
			gsl_cdf_fdist_Q(
			    ratio, (double)wide->n - 1, (double)narrow->n - 1));
	d->unequal = d->f_p < 1 - d->level / 100;
}

/* ---- ranks --------------------------------------------------------------------------- */

/* Values of a below value, a tie counting half; *i moves along the sorted a. */
static double
count_below(const struct set *a, double value, size_t *i)
{
	size_t end;

	while (*i < a->n && a->ascended[*i] < value)
		++*i;
	for (end = *i; end < a->n && a->ascended[end] == value; end++)
		continue;
	return (double)*i + (double)(end - *i) / 2;
}

/* The sum of t^3 - t over the groups of t equal values of both. */
static double
sum_of_ties(const struct set *a, const struct set *b)
{
	double sum = 0;
	size_t i = 0, k = 0;

	while (i < a->n || k < b->n) {
		double value = i == a->n ? b->ascended[k]
		    : k == b->n		 ? a->ascended[i]
					 : fmin(a->ascended[i], b->ascended[k]);
		double t = -(double)(i + k);

		while (i < a->n && a->ascended[i] == value)
			i++;
		while (k < b->n && b->ascended[k] == value)
			k++;
		t += (double)(i + k);
		sum += t * t * t - t;
	}
	return sum;
}

/*
 * The distribution of U for x values of a and y of b, as shares of all ways.
 * Row r of the recurrence overwrites row r - 1, from the largest u down.
 */
static const double *
exact_ways(size_t x, size_t y)
{
	static double ways[EXACT_MOST + 1][EXACT_MOST * EXACT_MOST + 1];

	for (size_t r = 0; r <= y; r++)
		for (size_t c = 0; c <= x; c++)
			for (size_t u = x * y + 1; u-- > 0;) {
				double from_b = r > 0 && u >= c ? ways[c][u - c] : 0;
				double from_a = c > 0 ? ways[c - 1][u] : 0;
				double share = (double)r / (double)(r + c);

				ways[c][u] = r + c == 0
				    ? u == 0
				    : share * from_b + (1 - share) * from_a;
			}
	return ways[x];
}

static double
exact_p(const struct set *a, const struct set *b, double u)
{
	const double *ways = exact_ways(a->n, b->n);
	double tail = 0;
	double small = fmin(u, (double)(a->n * b->n) - u);

	for (size_t i = 0; (double)i <= small; i++)
		tail += ways[i];
	return fmin(1, 2 * tail);
}

static double
normal_p(const struct set *a, const struct set *b, double u, double ties)
{
	double x = (double)a->n, y = (double)b->n, all = x + y;
	double variance = x * y / 12 * (all + 1 - ties / (all * (all - 1)));
	double off = fmax(fabs(u - x * y / 2) - 0.5, 0);

	return variance > 0 ? 2 * gsl_cdf_ugaussian_Q(off / sqrt(variance)) : 1;
}

static void
by_rank(struct difference *d, const struct set *a, const struct set *b)
{
	double ties = sum_of_ties(a, b);
	size_t below = 0;

	for (size_t i = 0; i < b->n; i++)
		d->u += count_below(a, b->ascended[i], &below);
	d->rank_p = ties == 0 && a->n <= EXACT_MOST && b->n <= EXACT_MOST
	    ? exact_p(a, b, d->u)
	    : normal_p(a, b, d->u, ties);
	d->rank_proven = d->rank_p < 1 - d->level / 100;
}

/* ---- all of it -------------------------------------------------------------------------- */

double
differ_percent(const struct set *a, double amount)
{
	return amount * 100 / moments_mean(&a->m);
}

struct difference
differ(const struct set *a, const struct set *b, double level)
{
	struct difference d = {
	    .level = level, .value = moments_mean(&b->m) - moments_mean(&a->m)};

	d.percent = differ_percent(a, d.value);
	by_student(&d, &a->m, &b->m);
	by_welch(&d, &a->m, &b->m);
	by_f(&d, &a->m, &b->m);
	by_rank(&d, a, b);
	return d;
}

const struct interval *
differ_interval(const struct difference *d)
{
	return d->unequal ? &d->welch : &d->student;
}
