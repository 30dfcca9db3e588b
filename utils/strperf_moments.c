/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_moments.c: mean and standard deviation of values that come one by one.
 */
#include "strperf_moments.h"

#include <math.h>

void
moments_init(struct moments *m)
{
	*m = (struct moments){.min = NAN, .max = NAN};
}

void
moments_add(struct moments *m, double value)
{
	double off = value - m->mean;

	m->n++;
	m->sum += value;
	m->mean += off / (double)m->n;
	m->squares += off * (value - m->mean);
	m->min = fmin(m->min, value);
	m->max = fmax(m->max, value);
}

double
moments_mean(const struct moments *m)
{
	return m->n == 0 ? NAN : m->sum / (double)m->n;
}

void
moments_merge(struct moments *to, const struct moments *from)
{
	double off = from->mean - to->mean;
	double n = (double)(to->n + from->n);

	if (from->n == 0)
		return;
	to->mean += off * (double)from->n / n;
	to->squares += from->squares + off * off * (double)to->n * (double)from->n / n;
	to->n += from->n;
	to->sum += from->sum;
	to->min = fmin(to->min, from->min);
	to->max = fmax(to->max, from->max);
}

double
moments_variance(const struct moments *m)
{
	return m->n < 2 ? NAN : m->squares / (double)(m->n - 1);
}

double
moments_stddev(const struct moments *m)
{
	return sqrt(moments_variance(m));
}
