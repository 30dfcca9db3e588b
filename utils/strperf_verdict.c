/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_verdict.c: what is concluded from two sets of a series.
 */
#include "strperf_verdict.h"

#include <math.h>
#include <stdlib.h>

#include "strperf_host.h"

/* ---- pair by pair ----------------------------------------------------------------- */

/* The pairs around which nothing moved, at a and b; how many. */
static size_t
steady_pairs(const struct series *s, size_t k, size_t pairs, double *a, double *b)
{
	const double *before = s->probe[0]->v, *after = s->probe[k]->v;
	size_t n = 0;

	for (size_t i = 0; i < pairs; i++) {
		double lo = fmin(before[i], after[i]), hi = fmax(before[i], after[i]);

		if (!host_one_place(lo, hi))
			continue;
		a[n] = s->set[0]->v[i];
		b[n++] = s->set[k]->v[i];
	}
	return n;
}

/* From the pairs of one placement, or from all if there are too few. */
static void
by_pairs(struct verdict *v, const struct series *s, size_t k, double level)
{
	double *a, *b;
	size_t n;

	v->pairs = v->a->n < v->b->n ? v->a->n : v->b->n;
	v->ratio = stats_paired_ratio_at(v->b->v, v->a->v, v->pairs, level);
	a = calloc(2 * v->pairs + 1, sizeof(*a));
	if (a == NULL)
		return;
	b = a + v->pairs;
	n = steady_pairs(s, k, v->pairs, a, b);
	v->moved = v->pairs - n;
	if (n >= SET_FEWEST)
		v->ratio = stats_paired_ratio_at(b, a, n, level);
	free(a);
}

static void
conclude_pairs(struct verdict *v)
{
	double base = stats_median(v->a->v, v->a->n);

	v->percent = (v->ratio.median - 1) * 100;
	v->lo = (v->ratio.lo - 1) * 100;
	v->hi = (v->ratio.hi - 1) * 100;
	v->proven = stats_excludes(&v->ratio, 1) != 0;
	v->method = stats_method_name(v->ratio.method);
	v->facts.lo = (v->ratio.lo - 1) * base;
	v->facts.hi = (v->ratio.hi - 1) * base;
}

/* ---- means ---------------------------------------------------------------------------- */

static void
conclude_means(struct verdict *v)
{
	const struct interval *i = differ_interval(&v->d);
	double one, other;

	v->percent = differ_percent(
	    v->a, moments_mean(&v->b->m) - moments_mean(&v->a->m));
	if (!v->tested)
		return;
	v->facts.lo = v->d.value - i->half;
	v->facts.hi = v->d.value + i->half;
	one = differ_percent(v->a, v->facts.lo);
	other = differ_percent(v->a, v->facts.hi);
	v->lo = fmin(one, other);
	v->hi = fmax(one, other);
	v->proven = i->proven;
	v->method = v->d.unequal ? "welch" : "student";
}

struct verdict
verdict_reach(const struct series *s, size_t k, double level, bool live)
{
	struct verdict v = {
	    .a = s->set[0],
	    .b = s->set[k],
	    .live = live,
	    .lo = NAN,
	    .hi = NAN,
	    .method = "none",
	    .facts = {NAN, NAN, NAN, NAN, s->higher},
	};

	v.tested = v.a->n >= SET_FEWEST && v.b->n >= SET_FEWEST;
	if (v.tested)
		v.d = differ(v.a, v.b, level);
	if (live) {
		by_pairs(&v, s, k, level);
		conclude_pairs(&v);
	} else {
		conclude_means(&v);
	}
	v.facts.lo_percent = v.lo;
	v.facts.hi_percent = v.hi;
	return v;
}
