/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_fifo.c: experiment 2, the matrix of a FIFO: so many messages of such a
 * size from a producer to a consumer, a hundred times, beside the kernel's FIFO
 * and sockets.
 *
 * First each call a program may use on a FIFO is tried on its own
 * (strperf_calls).  Then the runs of every cell are made in a few portions, and
 * in each portion the subjects follow one another cell by cell, so that a
 * machine that drifts treats all alike.
 *
 * A cell shows the mean of its runs, as the table of 2009 did; JSON and CSV
 * have median, deviation and interval, too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>

#include "strperf.h"
#include "strperf_calls.h"
#include "strperf_draw.h"
#include "strperf_intr.h"
#include "strperf_moments.h"
#include "strperf_out.h"
#include "strperf_report.h"
#include "strperf_stats.h"
#include "strperf_subject.h"
#include "strperf_transfer.h"

#define MAX_COUNTS 16
#define PORTIONS 5
#define QUICK_RUNS 5
#define QUICK_COUNT 10000 /* no larger counts */

struct fifo_options {
	size_t counts[MAX_COUNTS];
	size_t ncounts;
	size_t runs;
	bool quick, no_tests;
};

struct spot {
	const struct subject *subject;
	size_t size, count;
	double *us; /* of each run */
	size_t n;
	double cpu_us, ctxsw; /* of all runs */
	const char *skipped;
};

struct matrix {
	struct options o;
	struct fifo_options own;
	const struct subject *subjects[MAX_PEERS + 1]; /* ours first */
	size_t nsubjects;
	struct spot *cells; /* by size, count, subject */
	size_t ncells;
	struct report report;
	bool stuck;
	int status;
};

/* ---- options ------------------------------------------------------------------------ */

static int
add_count(void *to, char *part)
{
	struct fifo_options *own = to;
	long long n;

	if (own->ncounts == MAX_COUNTS || args_number(part, 1, 10000000, &n) != 0)
		return -1;
	own->counts[own->ncounts++] = (size_t)n;
	return 0;
}

static int
set_counts(void *to, const char *arg)
{
	struct fifo_options *own = to;

	own->ncounts = 0;
	return args_list(own, arg, add_count) != 0 || own->ncounts == 0 ? -1 : 0;
}

static int
set_runs(void *to, const char *arg)
{
	struct fifo_options *own = to;
	long long n;
	int status = args_number(arg, 1, MAX_RUNS, &n);

	own->runs = (size_t)n;
	return status;
}

static int
set_quick(void *to, const char *arg)
{
	struct fifo_options *own = to;

	(void)arg;
	own->quick = true;
	own->runs = QUICK_RUNS;
	return 0;
}

static int
set_no_tests(void *to, const char *arg)
{
	struct fifo_options *own = to;

	(void)arg;
	own->no_tests = true;
	return 0;
}

static const struct arg own_table[] = {
    {"counts", "LIST", set_counts, "up to 16 numbers of 1 to 10000000",
	"messages of a run; default 100,1000,5000,10000,100000", 0, 0},
    {"runs", "N", set_runs, "1 to 1000", "runs of a cell; default 100", 0, 0},
    {"quick", NULL, set_quick, NULL,
	"a minute's version: 5 runs, up to 10000 messages", 0, 0},
    {"no-tests", NULL, set_no_tests, NULL, "do not try each call first", 0, 0},
};

/* ---- results -------------------------------------------------------------------------- */

static const struct column columns[] = {
    {"subject", "what was measured", "subject", -9, -1},
    {"size", "bytes of a message", "bytes", 7, 0},
    {"count", "messages of a run", "count", 7, 0},
    {"us", "microseconds a run, mean", "us", 10, 0},
    {"us_median", "microseconds a run, median", "median", 10, 0},
    {"us_lo", "lower end of the 95 % interval of the median", NULL, 0, 1},
    {"us_hi", "upper end of the 95 % interval of the median", NULL, 0, 1},
    {"us_stddev", "standard deviation of the runs, us", NULL, 0, 1},
    {"us_min", "shortest run, us", NULL, 0, 1},
    {"us_max", "longest run, us", NULL, 0, 1},
    {"runs", "runs", NULL, 0, 0},
    {"cpu_us_per_msg", "microseconds of processor of both sides a message", NULL, 0, 4},
    {"ctxsw", "context switches of both, all runs", NULL, 0, 0},
    {"over_ours", "this one's time over ours, median of the runs", NULL, 0, 3},
    {"over_ours_lo", "lower end of its 95 % interval", NULL, 0, 3},
    {"over_ours_hi", "upper end of its 95 % interval", NULL, 0, 3},
};

static const struct spot *
ours_beside(const struct matrix *m, const struct spot *c)
{
	return &m->cells[(size_t)(c - m->cells) / m->nsubjects * m->nsubjects];
}

static void
put_cell(struct matrix *m, const struct spot *c)
{
	const struct spot *ours = ours_beside(m, c);
	size_t pairs = ours->n < c->n ? ours->n : c->n;
	struct estimate e = stats_estimate(c->us, c->n);
	struct report *r = &m->report;
	struct moments v;

	moments_init(&v);
	for (size_t i = 0; i < c->n; i++)
		moments_add(&v, c->us[i]);
	report_row(r);
	report_put_text(r, "subject", c->subject->name);
	report_put(r, "size", (double)c->size);
	report_put(r, "count", (double)c->count);
	report_put(r, "us", v.mean);
	report_put(r, "us_median", e.median);
	report_put(r, "us_lo", e.lo);
	report_put(r, "us_hi", e.hi);
	report_put(r, "us_stddev", moments_stddev(&v));
	report_put(r, "us_min", v.min);
	report_put(r, "us_max", v.max);
	report_put(r, "runs", (double)c->n);
	report_put(r, "cpu_us_per_msg", c->cpu_us / (double)(c->n * c->count));
	report_put(r, "ctxsw", c->ctxsw);
	report_samples(r, c->us, c->n);
	if (ours == c)
		return;
	e = stats_paired_ratio(c->us, ours->us, pairs);
	report_put(r, "over_ours", e.median);
	report_put(r, "over_ours_lo", e.lo);
	report_put(r, "over_ours_hi", e.hi);
}

/* ---- the tables for people ---------------------------------------------------------------- */

static double
value_at(const struct report *r, const char *name, const char *subject, size_t size,
    size_t count)
{
	for (size_t i = 0; i < r->nrows; i++)
		if (strcmp(report_get_text(r, i, "subject"), subject) == 0 &&
		    report_get(r, i, "size") == (double)size &&
		    report_get(r, i, "count") == (double)count)
			return report_get(r, i, name);
	return NAN;
}

static void
print_grid(const struct matrix *m, const char *title, const char *name,
    const struct subject *subject, int decimals)
{
	printf("%s\n%7s", title, "bytes");
	for (size_t k = 0; k < m->own.ncounts; k++)
		printf(" %10zu", m->own.counts[k]);
	putchar('\n');
	for (size_t i = 0; i < m->o.nsizes; i++) {
		printf("%7zu", m->o.sizes[i]);
		for (size_t k = 0; k < m->own.ncounts; k++) {
			double v = value_at(&m->report, name, subject->name,
			    m->o.sizes[i], m->own.counts[k]);

			if (isfinite(v))
				printf(" %10.*f", decimals, v);
			else
				printf(" %10s", "-");
		}
		putchar('\n');
	}
	putchar('\n');
}

static void
print_matrices(const struct report *r)
{
	const struct matrix *m = (const struct matrix *)((const char *)r -
	    offsetof(struct matrix, report));
	char title[128];

	for (size_t s = 0; s < m->nsubjects; s++) {
		snprintf(title, sizeof(title), "%s: us for so many messages, mean of %zu",
		    m->subjects[s]->what, m->own.runs);
		print_grid(m, title, "us", m->subjects[s], 0);
	}
	for (size_t s = 1; s < m->nsubjects; s++) {
		snprintf(title, sizeof(title), "time of %s over ours, median of pairs",
		    m->subjects[s]->name);
		print_grid(m, title, "over_ours", m->subjects[s], 2);
	}
}

/* ---- measuring -------------------------------------------------------------------------------- */

static bool
measure_cell(struct matrix *m, struct spot *c, size_t runs)
{
	static struct transfer t;
	int status = transfer_run(&m->o, c->subject, c->size, c->count, runs, &t);

	if (status != EXIT_DONE) {
		m->status = status;
		return false;
	}
	m->stuck = t.stuck;
	for (size_t i = 0; i < t.n; i++)
		c->us[c->n++] = t.us[i];
	c->cpu_us += t.cpu_us[0] + t.cpu_us[1];
	c->ctxsw += t.ctxsw;
	if (intr_pending()) {
		m->report.interrupted = true;
		m->status = EXIT_INTERRUPTED;
		return false;
	}
	if (t.error[0] == '\0' && t.bad == 0)
		return true;
	complain("fifo: %s, %zu bytes: %s", c->subject->name, c->size,
	    t.error[0] ? t.error : "messages came damaged or out of sequence");
	m->status = EXIT_FAILED;
	return false;
}

static void
measure(struct matrix *m)
{
	size_t portions = m->own.runs < PORTIONS ? m->own.runs : PORTIONS, made = 0;

	for (size_t p = 0; p < portions; p++) {
		size_t runs = m->own.runs * (p + 1) / portions - made;

		report_probe(&m->report);
		for (size_t i = 0; i < m->ncells; i++) {
			if (m->cells[i].skipped == NULL &&
			    !measure_cell(m, &m->cells[i], runs))
				return;
			report_progress(&m->report, m->ncells * portions);
		}
		made += runs;
	}
}

/* ---- the command ---------------------------------------------------------------------------------- */

static int
lay_out_cell(struct matrix *m, size_t i)
{
	struct spot *c = &m->cells[i];
	size_t counts = m->own.ncounts, subjects = m->nsubjects, limit;

	c->subject = m->subjects[i % subjects];
	c->count = m->own.counts[i / subjects % counts];
	c->size = m->o.sizes[i / subjects / counts];
	c->us = calloc(m->own.runs, sizeof(*c->us));
	limit = c->subject->limit(&m->o, &c->skipped);
	if (limit >= c->size)
		c->skipped = NULL;
	else if (c->count == m->own.counts[0])
		report_note(&m->report, "%s: %zu bytes skipped: it takes up to %zu (%s)",
		    c->subject->name, c->size, limit, c->skipped);
	return c->us == NULL ? EXIT_FAILED : EXIT_DONE;
}

static int
lay_out(struct matrix *m)
{
	int status = report_begin(&m->report, &m->o, "fifo", columns, NELEM(columns));

	if (status != EXIT_DONE)
		return status;
	m->subjects[m->nsubjects++] = &ustreams_fifo;
	for (size_t i = 0; i < m->o.npeers; i++)
		m->subjects[m->nsubjects++] = m->o.peers[i];
	m->ncells = m->o.nsizes * m->own.ncounts * m->nsubjects;
	m->cells = calloc(m->ncells, sizeof(*m->cells));
	for (size_t i = 0; status == EXIT_DONE && i < m->ncells; i++)
		status = m->cells == NULL ? EXIT_FAILED : lay_out_cell(m, i);
	if (status != EXIT_DONE)
		complain("fifo: no memory for the results");
	m->report.metric = "us";
	m->report.table = print_matrices;
	report_set_text(&m->report, "mode", opts_modes[m->o.mode]);
	report_set_text(&m->report, "cpus", opts_cpus_text(&m->o));
	report_set(&m->report, "runs", (double)m->own.runs);
	return status;
}

static int
run(struct matrix *m)
{
	struct report *r = &m->report;
	int status = lay_out(m);

	if (status != EXIT_DONE)
		return status;
	report_header(r);
	if (!m->own.no_tests && !calls_try_all(r))
		m->status = EXIT_FAILED;
	measure(m);
	for (size_t i = 0; i < m->ncells; i++)
		if (m->cells[i].n > 0)
			put_cell(m, &m->cells[i]);
	report_print(r);
	draw_matrix(r, "subject", ustreams_fifo.name, "count", "size", "us",
	    "us for so many messages");
	for (size_t i = 0; i < m->ncells; i++)
		free(m->cells[i].us);
	free(m->cells);
	report_end(r);
	return m->status;
}

static void
default_peers(struct options *o)
{
	static const char *const names[] = {"fifo", "unix", "seqpacket"};

	for (size_t i = 0; i < NELEM(names); i++)
		o->peers[o->npeers++] = subject_find(names[i]);
}

int
cmd_fifo(int argc, char **argv)
{
	static struct matrix m = {
	    .own = {.counts = {100, 1000, 5000, 10000, 100000}, .ncounts = 5, .runs = 100}};
	const struct args own = {own_table, NELEM(own_table), &m.own, 0};
	int status;

	opts_defaults(&m.o);
	m.o.use = USE_FIFO;
	m.o.nsizes = 0;
	for (size_t size = 64; size <= 4096; size *= 2)
		m.o.sizes[m.o.nsizes++] = size;
	default_peers(&m.o);
	status = opts_parse_for(&m.o, &own, argc, argv);
	if (status != EXIT_DONE)
		return status;
	if (m.o.help || m.o.version)
		return report_text(&m.o, "fifo", &own, columns, NELEM(columns));
	while (m.own.quick && m.own.ncounts > 1 &&
	    m.own.counts[m.own.ncounts - 1] > QUICK_COUNT)
		m.own.ncounts--;
	status = run(&m);
	if (m.stuck) {
		fflush(NULL);
		_exit(EXIT_FAILED);
	}
	return status;
}
