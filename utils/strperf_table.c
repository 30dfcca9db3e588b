/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_table.c: a comparison in the words of ministat(1).
 */
#include "strperf_table.h"

#include <math.h>
#include <stdio.h>

#include "strperf_chart.h"
#include "strperf_suspect.h"

/* ---- what ministat prints ----------------------------------------------------------- */

/* A number in a column, or a dash. */
static void
put_figure(double value, bool known)
{
	if (known)
		printf(" %13.8g", value);
	else
		printf(" %13s", "-");
}

static void
print_set(const struct set *s, char mark)
{
	printf("%c %3zu", mark, s->n);
	put_figure(s->m.min, s->n > 0);
	put_figure(s->m.max, s->n > 0);
	put_figure(set_upper_median(s), s->n > 0);
	put_figure(moments_mean(&s->m), s->n > 0);
	put_figure(moments_stddev(&s->m), s->n > 1);
	putchar('\n');
}

static void
print_difference(const struct verdict *v, double level)
{
	const struct difference *d = &v->d;

	if (!v->tested)
		return;
	if (!d->tabled.proven) {
		printf("No difference proven at %.1f%% confidence\n", level);
		return;
	}
	printf("Difference at %.1f%% confidence\n", level);
	printf("\t%g +/- %g\n", d->value, d->tabled.half);
	printf("\t%g%% +/- %g%%\n", d->percent, differ_percent(v->a, d->tabled.half));
	printf("\t(Student's t, pooled s = %g)\n", d->pooled);
}

void
table_print(const struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		printf("%c %s\n", chart_mark(i), t->sets[i]->name);
	if (t->chart)
		chart_draw(stdout, t->sets, t->n, t->width, t->bars);
	printf("%5s %13s %13s %13s %13s %13s\n", "N", "Min", "Max", "Median", "Avg",
	    "Stddev");
	for (size_t i = 0; i < t->n; i++) {
		print_set(t->sets[i], chart_mark(i));
		if (i > 0 && t->tests)
			print_difference(&t->verdict[i], t->level);
	}
}

/* ---- what it does not say --------------------------------------------------------------- */

static void
remark_few(const struct set *s)
{
	if (s->n < SET_FEWEST)
		printf("%s: %zu sample%s; fewer than %d prove nothing\n", s->name, s->n,
		    s->n == 1 ? "" : "s", SET_FEWEST);
}

static void
remark_suspicion(const struct set *s)
{
	struct suspicion x = suspect(s);

	if (x.correlated)
		printf(
		    "warning: %s: neighbouring samples are correlated (%+.2f): they are "
		    "not independent, and all intervals are too narrow\n",
		    s->name, x.lag1);
	if (x.bimodal)
		printf("warning: %s: the samples lie in two heaps, below and above %g: "
		       "neither mean nor median describes them\n",
		    s->name, x.split);
}

/* Where ministat's quantile is another one than its level says. */
static void
remark_quantile(const struct difference *d)
{
	if (fabs(d->tabled.half / d->student.half - 1) > 0.01)
		printf("\tStudent's t, exact quantile: +/- %g%s\n", d->student.half,
		    d->student.proven == d->tabled.proven ? ""
			: d->student.proven		  ? ", proven"
							  : ", not proven");
}

static void
remark_verdict(const struct verdict *v, char mark)
{
	const struct difference *d = &v->d;

	printf("%c against %s:\n", mark, v->a->name);
	remark_quantile(d);
	if (d->unequal)
		printf(
		    "\tthe variances differ (F test, p = %.2g), which the pooled s does not "
		    "allow for:\n\tWelch's t: %g +/- %g, %.1f degrees of freedom: %s\n",
		    d->f_p, d->value, d->welch.half, d->welch.degrees,
		    d->welch.proven ? "difference proven" : "no difference proven");
	printf("\tMann-Whitney: U = %g, p = %.2g: %s\n", d->u, d->rank_p,
	    d->rank_proven ? "difference proven" : "no difference proven");
}

void
table_remarks(const struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		remark_few(t->sets[i]);
	for (size_t i = 1; i < t->n; i++)
		if (t->verdict[i].tested)
			remark_verdict(&t->verdict[i], chart_mark(i));
	for (size_t i = 0; i < t->n; i++)
		remark_suspicion(t->sets[i]);
}
