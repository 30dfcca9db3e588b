/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_suspect.c: samples on which no test is to be trusted.
 *
 * Neighbours of n independent values correlate by -1/n, give or take 1/sqrt(n).
 *
 * Two heaps: the values are parted where the parts have the smallest variance
 * left, each holding a fifth of the values at least, so that outliers are no
 * heap.  For values spread evenly, the widest of distributions with one heap,
 * about a quarter of the variance is left; fewer values scatter about that, and
 * one sample in a hundred leaves less than
 *
 *	1/4 (1 - 2.5 / sqrt(n))
 *
 * which was found by drawing samples of 8 to 1000 values.  Normal and skewed
 * samples leave more.  Two normal heaps five deviations apart leave 0.13 and are
 * found from about 30 values on.
 */
#include "strperf_suspect.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_statistics_double.h>

#define SIGMAS 2.576 /* that 1 in 100 values of a normal distribution is beyond */
#define HEAP 0.2     /* part of the values that makes a heap */
#define EVEN 0.25    /* part of the variance that is left in even halves */
#define SCATTER 2.5

static void
find_correlation(struct suspicion *x, const struct set *s)
{
	double n = (double)s->n;

	x->lag1 = gsl_stats_lag1_autocorrelation(s->v, 1, s->n);
	x->correlated = fabs(x->lag1 + 1 / n) > SIGMAS / sqrt(n);
}

/* squares[i]: of the first i values, about their mean. */
static void
sum_from_below(const struct set *s, double *squares)
{
	struct moments m;

	moments_init(&m);
	for (size_t i = 0; i < s->n; i++) {
		squares[i] = m.squares;
		moments_add(&m, s->ascended[i]);
	}
}

static void
find_heaps(struct suspicion *x, const struct set *s)
{
	size_t fewest = (size_t)ceil(HEAP * (double)s->n);
	double *below = calloc(s->n, sizeof(*below));
	struct moments above;

	if (below == NULL)
		return;
	x->within = 1;
	sum_from_below(s, below);
	moments_init(&above);
	for (size_t i = s->n; i-- > fewest;) {
		double within;

		moments_add(&above, s->ascended[i]);
		within = (below[i] + above.squares) / s->m.squares;
		if (above.n < fewest || within >= x->within)
			continue;
		x->within = within;
		x->split = (s->ascended[i - 1] + s->ascended[i]) / 2;
	}
	x->bimodal = x->within < EVEN * (1 - SCATTER / sqrt((double)s->n));
	free(below);
}

struct suspicion
suspect(const struct set *s)
{
	struct suspicion x = {.lag1 = NAN, .split = NAN, .within = NAN};

	if (s->n < SUSPECT_FEWEST || s->m.min == s->m.max)
		return x;
	find_correlation(&x, s);
	find_heaps(&x, s);
	return x;
}
