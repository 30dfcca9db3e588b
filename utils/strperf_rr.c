/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_rr.c: experiment 3, requests and responses, until one can be sure.
 *
 * An iteration is a talk of a second.  Iterations of the subjects take turns.
 * A subject is done after at least min iterations, when the confidence interval
 * of its mean rate, at the level asked for, is no wider than so many per cent
 * of the mean; and after max iterations in any case, and then it is said that
 * the target was not reached.  These are the rules of netperf's options -i and
 * -I, and the outputs have its names, where it has one for them.
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
#include "strperf_dialog.h"
#include "strperf_draw.h"
#include "strperf_intr.h"
#include "strperf_moments.h"
#include "strperf_out.h"
#include "strperf_report.h"
#include "strperf_stats.h"
#include "strperf_student.h"
#include "strperf_subject.h"

#define MAX_ITERATIONS 1000
#define FIXED 5	     /* iterations without -i and -I */
#define BARS 40	     /* most lines of a histogram */
#define BAR_WIDTH 50 /* columns of its longest bar */

struct rr_options {
	size_t request, response; /* bytes */
	long max, min;		  /* iterations */
	double level, width;	  /* per cent; width 0: no target */
	bool histogram;		  /* draw it */
};

/* One subject. */
struct talks {
	const struct subject *subject;
	const char *skipped;   /* why it cannot be run, or NULL */
	double *rate;	       /* transactions a second, of each iteration */
	long n;		       /* iterations */
	struct moments rates;  /* of them */
	struct dialog sum;     /* all iterations together */
	uint64_t ctxsw;
	bool reached;	       /* the target */
	bool done;
};

struct rr {
	struct options o;
	struct rr_options own;
	struct talks talks[MAX_PEERS + 1]; /* ours first */
	size_t ntalks;
	struct report report;
	bool stuck;
	int status;
};

/* ---- options ------------------------------------------------------------------------ */

static int
set_sizes(void *to, const char *arg)
{
	struct rr_options *own = to;
	const char *comma = strchr(arg, ',');
	long long n[2];
	char first[16];

	if (comma == NULL || (size_t)(comma - arg) >= sizeof(first))
		return -1;
	strlcpy(first, arg, (size_t)(comma - arg) + 1);
	if (args_number(first, 1, MAX_MESSAGE, &n[0]) != 0 ||
	    args_number(comma + 1, 1, MAX_MESSAGE, &n[1]) != 0)
		return -1;
	own->request = (size_t)n[0];
	own->response = (size_t)n[1];
	return 0;
}

static int
set_iterations(void *to, const char *arg)
{
	struct rr_options *own = to;
	const char *comma = strchr(arg, ',');
	long long max, min;
	char first[16];

	if (comma == NULL || (size_t)(comma - arg) >= sizeof(first))
		return -1;
	strlcpy(first, arg, (size_t)(comma - arg) + 1);
	if (args_number(first, 3, MAX_ITERATIONS, &max) != 0 ||
	    args_number(comma + 1, 3, max, &min) != 0)
		return -1;
	own->max = (long)max;
	own->min = (long)min;
	return 0;
}

static int
set_confidence(void *to, const char *arg)
{
	struct rr_options *own = to;
	const char *comma = strchr(arg, ',');
	char first[16];

	own->width = 5;
	strlcpy(first, arg, sizeof(first));
	if (comma != NULL && (size_t)(comma - arg) < sizeof(first))
		first[comma - arg] = '\0';
	if (args_real(first, 80, 99.9, &own->level) != 0)
		return -1;
	return comma == NULL ? 0 : args_real(comma + 1, 0.01, 100, &own->width);
}

static int
set_histogram(void *to, const char *arg)
{
	struct rr_options *own = to;

	(void)arg;
	own->histogram = true;
	return 0;
}

static const struct arg own_table[] = {
    {"request", "REQ,RSP", set_sizes, "two sizes of 1 to 1048576 bytes",
	"bytes of a request and of a response; default 1,1", 0, 'r'},
    {"iterations", "MAX,MIN", set_iterations,
	"two numbers from 3 to 1000, the larger one first",
	"at most and at least so many iterations; default 10,3 with -I, else 5", 0, 'i'},
    {"confidence", "LEVEL,WIDTH", set_confidence,
	"a level of 80 to 99.9 per cent and a width of 0.01 to 100 per cent",
	"iterate until the interval at this level is so narrow; default 99,5 with -i", 0,
	'I'},
    {"histogram", NULL, set_histogram, NULL, "draw the latencies", 0, 0},
};

/* ---- outputs --------------------------------------------------------------------------- */

static const struct column columns[] = {
    {"subject", "what was measured", "subject", -9, -1},
    {"mode", "process or thread", NULL, 0, -1},
    {"cpus", "processors of the two, or none", NULL, 0, -1},
    {"request_size", "bytes of a request", "req", 6, 0},
    {"response_size", "bytes of a response", "rsp", 6, 0},
    {"throughput", "transactions a second, mean of the iterations", "trans/s", 10, 0},
    {"throughput_units", "Trans/s", NULL, 0, -1},
    {"throughput_median", "transactions a second, median of the iterations", NULL, 0, 0},
    {"transaction_rate", "the same as THROUGHPUT", NULL, 0, 0},
    {"throughput_confid", "width of the interval reached, per cent of the mean",
	"width %", 8, 2},
    {"confidence_level", "level of the interval, per cent", NULL, 0, 3},
    {"confidence_interval", "width asked for, per cent; 0 none", NULL, 0, 3},
    {"confidence_iteration", "iterations made", "iter", 5, 0},
    {"confidence_reached", "whether the width asked for was reached: 1 or 0", NULL, 0, 0},
    {"min_latency", "shortest transaction, us", NULL, 0, 3},
    {"mean_latency", "mean transaction, us", NULL, 0, 3},
    {"p50_latency", "median transaction, us", "p50 us", 9, 3},
    {"p90_latency", "90th percentile, us", NULL, 0, 3},
    {"p99_latency", "99th percentile, us", "p99 us", 9, 3},
    {"p999_latency", "99.9th percentile, us", "p99.9 us", 9, 3},
    {"max_latency", "longest transaction, us", "max us", 10, 3},
    {"local_cpu_util", "processor use of the asker, per cent of one", NULL, 0, 1},
    {"remote_cpu_util", "processor use of the answerer, per cent of one", NULL, 0, 1},
    {"local_sd", "service demand of the asker, us of processor a transaction", NULL, 0,
	4},
    {"remote_sd", "service demand of the answerer, us of processor a transaction", NULL,
	0, 4},
    {"service_demand", "of both, us of processor a transaction", "CPU us/tr", 10, 3},
    {"sd_units", "usec/Tran", NULL, 0, -1},
    {"elapsed_time", "seconds measured", NULL, 0, 3},
    {"transactions", "transactions measured", NULL, 0, 0},
    {"ctxsw", "context switches of both", NULL, 0, 0},
    {"ctxsw_per_trans", "context switches of both a transaction", "ctxsw/tr", 9, 2},
    {"eagain", "calls that failed with EAGAIN", NULL, 0, 0},
    {"bad", "messages damaged or out of sequence", "bad", 4, 0},
    {"ours_over", "our rate over this one's, median of the iterations", "ours/it", 8, 2},
    {"ours_over_lo", "lower end of its 95 % interval", NULL, 0, 3},
    {"ours_over_hi", "upper end of its 95 % interval", NULL, 0, 3},
};

/* Width of the interval of the mean, per cent of it; NAN below two iterations. */
static double
width_reached(const struct rr *rr, const struct talks *t)
{
	if (t->n < 2)
		return NAN;
	return 200 * student_quantile(rr->own.level, (double)(t->n - 1)) *
	    moments_stddev(&t->rates) / sqrt((double)t->n) / t->rates.mean;
}

static void
put_latency(struct report *r, const struct hist *h)
{
	static const struct {
		const char *name;
		double f;
	} quantiles[] = {{"min_latency", 0}, {"p50_latency", 0.5}, {"p90_latency", 0.9},
	    {"p99_latency", 0.99}, {"p999_latency", 0.999}, {"max_latency", 1}};

	for (size_t i = 0; i < NELEM(quantiles); i++)
		report_put(r, quantiles[i].name, hist_quantile(h, quantiles[i].f) / 1e3);
	report_put(r, "mean_latency", hist_mean(h) / 1e3);
}

static void
put_demand(struct report *r, const struct talks *t)
{
	double ns = (double)t->sum.usage[ASKER].ns, n = (double)t->sum.trans;
	double local = (double)t->sum.usage[ASKER].cpu_us;
	double remote = (double)t->sum.usage[ANSWERER].cpu_us;

	report_put(r, "local_cpu_util", 1e5 * local / ns);
	report_put(r, "remote_cpu_util", 1e5 * remote / ns);
	report_put(r, "local_sd", local / n);
	report_put(r, "remote_sd", remote / n);
	report_put(r, "service_demand", (local + remote) / n);
	report_put_text(r, "sd_units", "usec/Tran");
	report_put(r, "elapsed_time", ns / 1e9);
	report_put(r, "ctxsw", (double)t->ctxsw);
	report_put(r, "ctxsw_per_trans", (double)t->ctxsw / n);
}

static void
put_ratio(struct report *r, const struct talks *ours, const struct talks *t)
{
	size_t pairs = (size_t)(ours->n < t->n ? ours->n : t->n);
	struct estimate e = stats_paired_ratio(ours->rate, t->rate, pairs);

	if (ours == t)
		return;
	report_put(r, "ours_over", e.median);
	report_put(r, "ours_over_lo", e.lo);
	report_put(r, "ours_over_hi", e.hi);
}

static void
put_talks(struct rr *rr, const struct talks *t)
{
	struct report *r = &rr->report;

	report_row(r);
	report_put_text(r, "subject", t->subject->name);
	report_put_text(r, "mode", opts_modes[rr->o.mode]);
	report_put_text(r, "cpus", opts_cpus_text(&rr->o));
	report_put(r, "request_size", (double)rr->own.request);
	report_put(r, "response_size", (double)rr->own.response);
	report_put(r, "throughput", t->rates.mean);
	report_put_text(r, "throughput_units", "Trans/s");
	report_put(r, "throughput_median", stats_median(t->rate, (size_t)t->n));
	report_put(r, "transaction_rate", t->rates.mean);
	report_put(r, "throughput_confid", width_reached(rr, t));
	report_put(r, "confidence_level", rr->own.level);
	report_put(r, "confidence_interval", rr->own.width);
	report_put(r, "confidence_iteration", (double)t->n);
	report_put(r, "confidence_reached", t->reached);
	report_put(r, "transactions", (double)t->sum.trans);
	report_put(r, "eagain", (double)t->sum.eagain);
	report_put(r, "bad", (double)t->sum.bad);
	put_latency(r, &t->sum.latency);
	put_demand(r, t);
	put_ratio(r, &rr->talks[0], t);
	report_samples(r, t->rate, (size_t)t->n);
	report_histogram(r, &t->sum.latency);
	if (rr->own.width > 0 && !t->reached)
		report_note(r,
		    "%s: after %ld iterations the interval is %.2f %% wide at %g %% "
		    "confidence: the %g %% asked for was not reached",
		    t->subject->name, t->n, width_reached(rr, t), rr->own.level,
		    rr->own.width);
}

/* Lines of a histogram for people: a bar for each eighth of an octave. */
static void
draw(const struct talks *t)
{
	uint64_t bars[BARS] = {0}, most = 1;
	double lo = (double)t->sum.latency.min + 1, step;
	double hi = hist_quantile(&t->sum.latency, 0.9999) + 2;
	struct hist_bar bar;

	step = log(hi / lo) / BARS;
	for (size_t i = 0; hist_next(&t->sum.latency, &i, &bar);) {
		double at = log(fmax(bar.lo, lo) / lo) / step;

		bars[at < BARS - 1 ? (int)at : BARS - 1] += bar.count;
	}
	for (int i = 0; i < BARS; i++)
		most = bars[i] > most ? bars[i] : most;
	printf("%s, us\n", t->subject->name);
	for (int i = 0; i < BARS; i++)
		if (bars[i] > 0)
			printf("%10.3f %10llu %.*s\n", lo * exp(step * i) / 1e3,
			    (unsigned long long)bars[i],
			    (int)((double)bars[i] * BAR_WIDTH / (double)most),
			    "**************************************************");
}

/* ---- measuring --------------------------------------------------------------------------- */

static void
add(struct talks *t, const struct dialog *d)
{
	double seconds = (double)d->usage[ASKER].ns / 1e9;

	t->rate[t->n] = (double)d->trans / seconds;
	moments_add(&t->rates, t->rate[t->n++]);
	t->sum.trans += d->trans;
	t->sum.eagain += d->eagain;
	for (int who = 0; who < NTALKERS; who++) {
		t->sum.usage[who].ns += d->usage[who].ns;
		t->sum.usage[who].cpu_us += d->usage[who].cpu_us;
		t->ctxsw += d->usage[who].ctxsw;
	}
	hist_merge(&t->sum.latency, &d->latency);
}

/* Whether a subject needs no more iterations. */
static void
judge(struct rr *rr, struct talks *t)
{
	if (t->n >= rr->own.min && rr->own.width > 0)
		t->reached = width_reached(rr, t) <= rr->own.width;
	t->done = t->reached || t->n >= rr->own.max;
}

/* One iteration.  False: no more of anything. */
static bool
iterate(struct rr *rr, struct talks *t)
{
	static struct dialog d;
	int status = dialog_run(&rr->o, t->subject, rr->own.request, rr->own.response,
	    rr->o.duration, &d);

	if (status != EXIT_DONE) {
		rr->status = status;
		return false;
	}
	report_probe(&rr->report);
	rr->stuck = d.stuck;
	t->sum.bad += d.bad;
	if (d.ran)
		add(t, &d);
	if (intr_pending()) {
		rr->report.interrupted = true;
		rr->status = EXIT_INTERRUPTED;
		return false;
	}
	if (d.error[0] != '\0' || d.bad > 0) {
		complain("rr: %s: %s", t->subject->name,
		    d.error[0] ? d.error : "a message came damaged or out of sequence");
		rr->status = EXIT_FAILED;
		return false;
	}
	judge(rr, t);
	return true;
}

/* Rounds in which each subject that is not done has an iteration, in turned order. */
static void
measure(struct rr *rr)
{
	bool going = true, more = true;

	for (long round = 0; going && more; round++) {
		more = false;
		for (size_t i = 0; going && i < rr->ntalks; i++) {
			struct talks *t =
			    &rr->talks[round % 2 == 0 ? i : rr->ntalks - 1 - i];

			if (t->done)
				continue;
			going = iterate(rr, t);
			more = more || !t->done;
			report_progress(
			    &rr->report, (size_t)rr->own.max * rr->ntalks);
		}
	}
}

/* ---- the command --------------------------------------------------------------------------- */

static int
add_subject(struct rr *rr, const struct subject *subject)
{
	struct talks *t = &rr->talks[rr->ntalks++];
	size_t larger = rr->own.request > rr->own.response ? rr->own.request
							   : rr->own.response;
	size_t limit;

	t->subject = subject;
	hist_init(&t->sum.latency);
	moments_init(&t->rates);
	t->rate = calloc(MAX_ITERATIONS, sizeof(*t->rate));
	if (t->rate == NULL)
		return complain("rr: no memory for the results"), EXIT_FAILED;
	if (subject == &counter_none) {
		complain("--peers: 'none' carries no answers; legal for rr: the others");
		return EXIT_USAGE;
	}
	limit = subject->limit(&rr->o, &t->skipped);
	if (limit >= larger)
		return EXIT_DONE;
	complain("--request: %zu bytes: %s takes up to %zu (%s); legal: smaller ones", larger,
	    subject->name, limit, t->skipped);
	return EXIT_USAGE;
}

static int
lay_out(struct rr *rr)
{
	long hiwat, lowat;
	int status = ustreams_try(&rr->o, &hiwat, &lowat);

	for (size_t i = 0; status == EXIT_DONE && i <= rr->o.npeers; i++)
		status = add_subject(
		    rr, i == 0 ? subject_ours(&rr->o) : rr->o.peers[i - 1]);
	if (status == EXIT_DONE)
		status = report_begin(
		    &rr->report, &rr->o, "rr", columns, NELEM(columns));
	if (status != EXIT_DONE)
		return status;
	rr->report.metric = "trans_per_s";
	rr->report.higher_better = true;
	report_set_text(&rr->report, "mode", opts_modes[rr->o.mode]);
	report_set_text(&rr->report, "cpus", opts_cpus_text(&rr->o));
	report_set_text(&rr->report, "io", rr->o.poll_each ? "poll" : "blocking");
	report_set_text(&rr->report, "push", opts_push_text(&rr->o));
	report_set(&rr->report, "seconds_per_iteration", rr->o.duration);
	report_set(&rr->report, "hiwat", (double)hiwat);
	report_set(&rr->report, "harness_ns",
	    dialog_overhead(rr->own.request, rr->own.response));
	return EXIT_DONE;
}

static int
run(struct rr *rr)
{
	int status = lay_out(rr);

	if (status != EXIT_DONE)
		return status;
	report_header(&rr->report);
	report_probe(&rr->report);
	measure(rr);
	for (size_t i = 0; i < rr->ntalks; i++)
		if (rr->talks[i].n > 0)
			put_talks(rr, &rr->talks[i]);
	report_print(&rr->report);
	for (size_t i = 0; rr->own.histogram && i < rr->ntalks; i++)
		if (rr->o.format == FORMAT_HUMAN && rr->talks[i].n > 0)
			draw(&rr->talks[i]);
	draw_boxes(&rr->report, "Transactions a second");
	report_end(&rr->report);
	return rr->status;
}

static void
settle(struct rr_options *own)
{
	bool target = own->width > 0, limits = own->max > 0;

	if (!target && !limits)
		own->max = own->min = FIXED;
	else if (!limits)
		own->max = 10, own->min = 3;
	if (limits && !target)
		own->level = 99, own->width = 5;
}

int
cmd_rr(int argc, char **argv)
{
	static struct rr rr = {.own = {.request = 1, .response = 1, .level = 99}};
	const struct args own = {own_table, NELEM(own_table), &rr.own, 0};
	int status;

	opts_defaults(&rr.o);
	rr.o.use = USE_RR;
	rr.o.duration = 1;
	status = opts_parse_for(&rr.o, &own, argc, argv);
	if (status != EXIT_DONE)
		return status;
	if (rr.o.help || rr.o.version)
		return report_text(&rr.o, "rr", &own, columns, NELEM(columns));
	settle(&rr.own);
	status = run(&rr);
	if (rr.stuck) {
		fflush(NULL);
		_exit(EXIT_FAILED);
	}
	for (size_t i = 0; i < rr.ntalks; i++)
		free(rr.talks[i].rate);
	return status;
}
