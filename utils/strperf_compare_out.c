/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_compare_out.c: how a comparison is shown.
 *
 * For people every series is shown as ministat(1) would, then what that does not
 * say; live comparisons end with a table of the ratios, pair by pair, which are
 * what counts there.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <ustreams.h>

#include "strperf.h"
#include "strperf_csv.h"
#include "strperf_json.h"
#include "strperf_out.h"
#include "strperf_plot.h"
#include "strperf_suspect.h"
#include "strperf_table.h"

#define USUAL_WIDTH 74 /* of a chart that is not on a terminal */

/* ---- for people ------------------------------------------------------------------- */

/* Of a chart, so that it and its frame fit. */
static int
chart_width(const struct compare *c)
{
	struct winsize size;

	if (c->width > 0)
		return c->width;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 2)
		return size.ws_col - 2;
	return USUAL_WIDTH;
}

static void
print_series(const struct compare *c, const struct series *s)
{
	struct verdict verdicts[BOOK_MOST];
	struct table t = {
	    .sets = s->set,
	    .n = c->book.operands,
	    .verdict = verdicts,
	    .level = c->level,
	    .width = chart_width(c),
	    .chart = !c->no_chart && !c->numbers_only,
	    .tests = !c->numbers_only,
	    .bars = c->bars,
	};

	for (size_t k = 1; k < t.n; k++)
		verdicts[k] = verdict_reach(s, k, c->level, c->live);
	if (s->name[0] != '\0')
		printf("%s\n", s->name);
	table_print(&t);
	if (t.tests)
		table_remarks(&t);
}

static const char *
verdict_word(const struct series *s, const struct verdict *v)
{
	if (!v->proven)
		return "no difference proven";
	return (v->percent > 0) == s->higher ? "faster" : "slower";
}

static void
print_ratio(const struct compare *c, const struct series *s, size_t k)
{
	struct verdict v = verdict_reach(s, k, c->level, true);
	char pair[16];

	snprintf(pair, sizeof(pair), "%c over %c", compare_letter(k) - 'a' + 'A', 'A');
	if (v.ratio.method == STATS_NONE) {
		printf("%-44s %8s  no interval from %zu pairs\n", s->name, pair, v.pairs);
		return;
	}
	printf("%-44s %8s %+8.1f %%   %+7.1f to %+7.1f %%  %5zu  %s", s->name, pair,
	    v.percent, v.lo, v.hi, v.ratio.n, verdict_word(s, &v));
	printf("%s", v.ratio.method == STATS_T ? " (few: assumes normal)" : "");
	if (v.moved > 0)
		printf(" (CPUs moved around %zu)", v.moved);
	putchar('\n');
}

static void
print_ratios(const struct compare *c)
{
	char interval[32];

	snprintf(interval, sizeof(interval), "%.4g %% interval", c->level);
	printf("%-44s %8s %10s   %-20s %5s  %s\n", "median of the ratios, pair by pair",
	    "", "difference", interval, "pairs", "verdict");
	for (size_t i = 0; i < c->book.n; i++)
		for (size_t k = 1; k < c->book.operands; k++)
			print_ratio(c, &c->book.series[i], k);
}

/* Every probe that was made, in one stretch; how many. */
static size_t
all_probes(const struct compare *c, double *to, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < c->book.n; i++)
		for (size_t k = 0; k < c->book.operands; k++) {
			const struct set *probe = c->book.series[i].probe[k];

			for (size_t x = 0; probe != NULL && x < probe->n && n < room; x++)
				to[n++] = probe->v[x];
		}
	return n;
}

#define MOST_PROBES 65536

static double probes[MOST_PROBES];

static void
print_live(const struct compare *c)
{
	for (size_t k = 0; k < c->book.operands; k++)
		printf("%c  %s\n   %s\n", compare_letter(k) - 'a' + 'A', c->book.name[k],
		    c->builds[k].version);
	out_machine();
	printf("%zu rounds in turn:", c->turns.done);
	for (size_t i = 0; i < c->turns.nwords; i++)
		printf(" %s", c->turns.words[i]);
	fputs("\n\n", stdout);
}

static void
show_human(const struct compare *c)
{
	if (c->live)
		print_live(c);
	for (size_t i = 0; i < c->book.n; i++) {
		if (i > 0)
			putchar('\n');
		print_series(c, &c->book.series[i]);
	}
	if (c->live) {
		putchar('\n');
		print_ratios(c);
		out_roundtrips(probes, all_probes(c, probes, MOST_PROBES));
	}
	if (c->interrupted)
		puts("interrupted: the results are partial");
}

/* ---- JSON --------------------------------------------------------------------------- */

static void
json_operand(struct js *j, const struct compare *c, size_t k)
{
	char key[] = {compare_letter(k), '\0'};

	js_begin(j, key, '{');
	js_string(j, "name", c->book.name[k]);
	/* A build that was not made yet when the run ended has none of these. */
	if (c->live && c->builds[k].version[0] != '\0') {
		js_string(j, "path", c->builds[k].path);
		js_string(j, "version", c->builds[k].version);
		out_build(j, "build", c->builds[k].version);
	}
	js_end(j, '}');
}

/* The numbers of a set, and what is suspicious about them. */
static void
json_set(struct js *j, const char *key, const struct set *s)
{
	struct suspicion x = suspect(s);

	js_begin(j, key, '{');
	js_count(j, "n", s->n);
	js_number(j, "min", s->m.min);
	js_number(j, "max", s->m.max);
	js_number(j, "median", stats_median(s->v, s->n));
	js_number(j, "mean", s->n > 0 ? moments_mean(&s->m) : NAN);
	js_number(j, "stddev", moments_stddev(&s->m));
	js_bool(j, "correlated", x.correlated);
	js_number(j, "lag1", x.lag1);
	js_bool(j, "bimodal", x.bimodal);
	js_end(j, '}');
}

static void
json_interval(struct js *j, const char *key, const struct interval *i)
{
	js_begin(j, key, '{');
	js_number(j, "half", i->half);
	js_number(j, "degrees", i->degrees);
	js_number(j, "p", i->p);
	js_bool(j, "proven", i->proven);
	js_end(j, '}');
}

static void
json_tests(struct js *j, const struct difference *d)
{
	js_begin(j, "tests", '{');
	js_number(j, "difference", d->value);
	js_number(j, "pooled", d->pooled);
	json_interval(j, "tabled", &d->tabled);
	json_interval(j, "student", &d->student);
	json_interval(j, "welch", &d->welch);
	js_number(j, "variances_p", d->f_p);
	js_bool(j, "variances_differ", d->unequal);
	js_number(j, "mann_whitney_u", d->u);
	js_number(j, "mann_whitney_p", d->rank_p);
	js_bool(j, "mann_whitney_proven", d->rank_proven);
	js_end(j, '}');
}

static void
json_verdict(struct js *j, const struct compare *c, const struct series *s, size_t k)
{
	struct verdict v = verdict_reach(s, k, c->level, c->live);
	struct verdict at95 = verdict_reach(s, k, STATS_LEVEL, c->live);

	js_string(j, "of", (char[]){compare_letter(k), '\0'});
	js_string(j, "over", "a");
	js_number(j, "median_a", stats_median(v.a->v, v.a->n));
	js_number(j, "median_b", stats_median(v.b->v, v.b->n));
	js_number(j, "diff_pct", v.percent);
	js_interval(j, "ci95", at95.lo, at95.hi);
	js_number(j, "confidence", c->level);
	js_interval(j, "ci", v.lo, v.hi);
	js_string(j, "ci_method", v.method);
	js_bool(j, "proven", v.proven);
	if (v.live) {
		js_count(j, "pairs", v.ratio.n);
		js_count(j, "moved", v.moved);
	}
	json_set(j, "set_a", v.a);
	json_set(j, "set_b", v.b);
	if (v.tested)
		json_tests(j, &v.d);
	js_numbers(j, "samples_a", v.a->v, v.a->n);
	js_numbers(j, "samples_b", v.b->v, v.b->n);
}

static void
json_series(struct js *j, const struct compare *c, const struct series *s)
{
	/* A single operand is compared with nothing: its numbers are all there is. */
	for (size_t k = c->book.operands == 1 ? 0 : 1; k < c->book.operands; k++) {
		js_begin(j, NULL, '{');
		js_string(j, "name", s->name);
		if (s->subject[0] != '\0')
			js_string(j, "subject", s->subject);
		if (s->size > 0)
			js_count(j, "size", s->size);
		if (s->metric[0] != '\0')
			js_string(j, "metric", s->metric);
		js_string(j, "better", s->higher ? "higher" : "lower");
		if (k == 0)
			json_set(j, "set_a", s->set[0]);
		else
			json_verdict(j, c, s, k);
		js_end(j, '}');
	}
}

static void
show_json(const struct compare *c)
{
	struct js j;

	js_init(&j);
	js_begin(&j, NULL, '{');
	js_envelope(&j, "compare");
	for (size_t k = 0; k < c->book.operands; k++)
		json_operand(&j, c, k);
	if (c->live) {
		js_string(&j, "tune", ustr_tunestr() == NULL ? "" : ustr_tunestr());
		out_host(&j, probes, all_probes(c, probes, MOST_PROBES));
		js_count(&j, "rounds", c->turns.done);
	}
	js_bool(&j, "interrupted", c->interrupted);
	js_begin(&j, "results", '[');
	for (size_t i = 0; i < c->book.n; i++)
		json_series(&j, c, &c->book.series[i]);
	js_end(&j, ']');
	js_end(&j, '}');
	js_print(&j, stdout);
}

/* ---- CSV and raw -------------------------------------------------------------------------- */

static void
csv_verdict(const struct compare *c, const struct series *s, size_t k)
{
	struct verdict v = verdict_reach(s, k, c->level, c->live);
	struct csv r;

	csv_begin(&r, stdout);
	if (s->size > 0)
		csv_count(&r, s->size);
	else
		csv_text(&r, "");
	csv_number(&r, stats_median(v.a->v, v.a->n));
	csv_number(&r, stats_median(v.b->v, v.b->n));
	csv_number(&r, v.percent);
	csv_number(&r, v.lo);
	csv_number(&r, v.hi);
	csv_text(&r, v.proven ? "true" : "false");
	csv_count(&r, v.live ? v.ratio.n : v.b->n);
	csv_text(&r, s->name);
	csv_text(&r, c->book.name[k]);
	csv_text(&r, v.method);
	csv_number(&r, c->level);
	csv_end(&r);
}

static void
show_csv(const struct compare *c)
{
	puts("size,median_a,median_b,diff_pct,ci95_lo,ci95_hi,proven,pairs,"
	     "name,b,ci_method,confidence");
	for (size_t i = 0; i < c->book.n; i++)
		for (size_t k = 1; k < c->book.operands; k++)
			csv_verdict(c, &c->book.series[i], k);
}

static void
show_raw(const struct compare *c)
{
	for (size_t i = 0; i < c->book.n; i++)
		for (size_t k = 0; k < c->book.operands; k++) {
			const struct series *s = &c->book.series[i];

			for (size_t x = 0; x < s->set[k]->n; x++)
				raw_sample(stdout, s->set[k]->v[x], "%c %s",
				    compare_letter(k), s->name);
		}
}

/* ---- pictures --------------------------------------------------------------------------------- */

/* The box of the i-th set of the book, whose scaled values and name are kept. */
static size_t
make_box(const struct compare *c, size_t i, struct set **scaled, char name[256],
    struct plot_box *box)
{
	const struct series *s = &c->book.series[i / c->book.operands];
	const struct set *from = s->set[i % c->book.operands];
	double unit = c->book.n == 1 ? 1 : stats_median(s->set[0]->v, s->set[0]->n);

	*scaled = set_new(from->name);
	for (size_t k = 0; *scaled != NULL && k < from->n; k++)
		if (set_add(*scaled, from->v[k] / unit) != 0)
			return 0;
	if (*scaled == NULL || from->n == 0)
		return 0;
	if (c->book.n == 1)
		snprintf(name, 256, "%s", from->name);
	else
		snprintf(name, 256, "%c %zu",
		    compare_letter(i % c->book.operands) - 'a' + 'A', s->size);
	*box = (struct plot_box){name, (*scaled)->v, (*scaled)->n};
	return 1;
}

/* One series as it was measured; several on one axis, each over the median of A. */
static int
draw(const struct compare *c)
{
	size_t n = c->book.n * c->book.operands, used = 0;
	struct plot_box *boxes = calloc(n, sizeof(*boxes));
	struct set **scaled = calloc(n, sizeof(*scaled));
	char(*names)[256] = calloc(n, sizeof(*names));
	struct plot_frame frame = {
	    .title = "comparison", .ylabel = "over the median of A"};
	int status = EXIT_FAILED;

	if (c->book.n == 1) {
		frame.title = c->book.series[0].name;
		frame.ylabel = c->book.series[0].metric;
	}
	if (boxes != NULL && scaled != NULL && names != NULL) {
		for (size_t i = 0; i < n; i++)
			used += make_box(c, i, &scaled[i], names[i], &boxes[used]);
		status = plot_boxes(c->plot, &frame, boxes, used);
	}
	for (size_t i = 0; scaled != NULL && i < n; i++)
		set_free(scaled[i]);
	free(names);
	free(scaled);
	free(boxes);
	return status;
}

int
compare_show(const struct compare *c)
{
	static void (*const show[])(const struct compare *) = {
	    [FORMAT_HUMAN] = show_human,
	    [FORMAT_JSON] = show_json,
	    [FORMAT_CSV] = show_csv,
	    [FORMAT_RAW] = show_raw,
	};

	show[c->format](c);
	fflush(stdout);
	return c->plot == NULL || c->book.n == 0 ? EXIT_DONE : draw(c);
}
