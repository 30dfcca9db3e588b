/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_hist.h: a log-linear histogram of durations, in nanoseconds.
 *
 * The problem: a run makes hundreds of millions of latencies, and what matters
 * is their far tail.  Keeping all is too much, a mean says nothing.
 *
 * Values below 2 * HIST_SUB have a bucket each.  Above, every octave, from one
 * power of two to the next, is cut into HIST_SUB buckets of equal width:
 *
 *	0 1 2 ... 254 255 | 256 258 ... 510 | 512 516 ... 1020 | 1024 1032 ...
 *	  width 1         |  width 2        |  width 4         |  width 8
 *
 * so a bucket is never wider than 1 / HIST_SUB of the values in it.
 *
 * H1  count is the sum of all buckets.
 * H2  min and max are exact; the true value of any rank and the one reported
 *     lie in the same bucket and differ by less than 1 / HIST_SUB.
 * H3  There is no pointer in it: it may lie in memory that processes share.
 *     Each process or thread fills its own; whoever waited for their end
 *     merges them, and merging loses nothing.
 */
#ifndef STRPERF_HIST_H
#define STRPERF_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIST_SUB_BITS 7
#define HIST_SUB (1U << HIST_SUB_BITS) /* buckets of an octave */
#define HIST_TOP_BITS 44	       /* values from 2^44 ns, 4.9 hours, are cut to it */
#define HIST_BUCKETS ((HIST_TOP_BITS - HIST_SUB_BITS + 1) * HIST_SUB)

struct hist {
	uint64_t count;	   /* O: values recorded */
	uint64_t min, max; /* O: exact; UINT64_MAX and 0 while there are none */
	double sum;	   /* O: of the values */
	uint64_t bucket[HIST_BUCKETS]; /* O: how many fell into each */
};

/* A quantile and the name results give it. */
struct hist_quantile {
	const char *name; /* "p99.9" */
	double f;	  /* 0 to 1 */
};

/* Those that results show: p50, p90, p99, p99.9.  A NULL name ends. */
extern const struct hist_quantile hist_quantiles[];

void hist_init(struct hist *h);
/* Add all values of from. */
void hist_merge(struct hist *to, const struct hist *from);
/* NAN when there are none. */
double hist_mean(const struct hist *h);
/*
 * The quantile f, 0 to 1, interpolated between ranks as
 * gsl_stats_quantile_from_sorted_data() does; NAN when there are no values.
 */
double hist_quantile(const struct hist *h, double f);

/* One bucket as hist_next() shows it. */
struct hist_bar {
	double lo, hi;	/* the values it holds: lo <= value < hi */
	uint64_t count; /* not 0 */
};

/* The next bucket with something in it, from *i on, which starts at 0.  False: no more. */
bool hist_next(const struct hist *h, size_t *i, struct hist_bar *bar);

/* The bucket of a value. */
static inline size_t
hist_index(uint64_t value)
{
	unsigned octave;

	if (value >> HIST_TOP_BITS != 0)
		value = (UINT64_C(1) << HIST_TOP_BITS) - 1;
	if (value < 2 * HIST_SUB)
		return (size_t)value;
	octave = 63U - (unsigned)__builtin_clzll(value) - HIST_SUB_BITS;
	return (size_t)octave * HIST_SUB + (size_t)(value >> octave);
}

/* Record one value.  A negative duration, from a clock that stepped, is taken as 0. */
static inline void
hist_record(struct hist *h, int64_t ns)
{
	uint64_t value = ns > 0 ? (uint64_t)ns : 0;

	h->bucket[hist_index(value)]++;
	h->count++;
	h->sum += (double)value;
	if (value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
}

#endif
