/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_hist.c: a log-linear histogram of durations.
 *
 * A quantile is found by rank: the values of a bucket are taken to lie evenly in
 * it, and none outside min and max.
 */
#include "strperf_hist.h"

#include <math.h>
#include <string.h>

_Static_assert(HIST_TOP_BITS > HIST_SUB_BITS + 1 && HIST_TOP_BITS < 64,
    "an octave above the linear part, and values that fit a double's mantissa");

const struct hist_quantile hist_quantiles[] = {
    {"p50", 0.5},
    {"p90", 0.9},
    {"p99", 0.99},
    {"p99.9", 0.999},
    {NULL, 0},
};

void
hist_init(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void
hist_merge(struct hist *to, const struct hist *from)
{
	for (size_t i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
	to->count += from->count;
	to->sum += from->sum;
	if (from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
}

double
hist_mean(const struct hist *h)
{
	return h->count == 0 ? NAN : h->sum / (double)h->count;
}

/* The smallest value of bucket i; of the one after the last: where they end. */
static double
bucket_low(size_t i)
{
	size_t octave;

	if (i < 2 * HIST_SUB)
		return (double)i;
	octave = i / HIST_SUB - 1;
	return ldexp((double)(i - octave * HIST_SUB), (int)octave);
}

/* The value of a rank from 0, count - 1 being the largest. */
static double
value_at(const struct hist *h, uint64_t rank)
{
	uint64_t below = 0;
	size_t i = 0;
	double lo, width, value;

	while (i < HIST_BUCKETS - 1 && below + h->bucket[i] <= rank)
		below += h->bucket[i++];
	lo = bucket_low(i);
	width = bucket_low(i + 1) - lo - 1;
	value = lo + width * ((double)(rank - below) + 0.5) / (double)h->bucket[i];
	return fmin(fmax(value, (double)h->min), (double)h->max);
}

double
hist_quantile(const struct hist *h, double f)
{
	double position, part, lower;
	uint64_t rank;

	if (h->count == 0)
		return NAN;
	position = fmin(fmax(f, 0), 1) * (double)(h->count - 1);
	rank = (uint64_t)position;
	part = position - (double)rank;
	if (rank == 0 && part == 0)
		return (double)h->min;
	if (rank >= h->count - 1)
		return (double)h->max;
	lower = value_at(h, rank);
	return part == 0 ? lower : lower + part * (value_at(h, rank + 1) - lower);
}

bool
hist_next(const struct hist *h, size_t *i, struct hist_bar *bar)
{
	while (*i < HIST_BUCKETS && h->bucket[*i] == 0)
		++*i;
	if (*i == HIST_BUCKETS)
		return false;
	bar->lo = bucket_low(*i);
	bar->hi = bucket_low(*i + 1);
	bar->count = h->bucket[*i];
	++*i;
	return true;
}
