/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_pipe.c: experiment 1, the throughput of a STREAMS pipe, with the
 * kernel's transports beside it.
 *
 * Machines are shared and drift, so nothing is compared across time.  The
 * slices are interleaved, all subjects of a size next to each other and the
 * order turned round every time:
 *
 *	round 0	 1 B: ours pipe fifo	64 B: ours pipe fifo	4096 B: ...
 *	round 1	 1 B: fifo pipe ours	64 B: fifo pipe ours	4096 B: ...
 *
 * The ratio to a peer is the median of the ratios round by round, with its
 * confidence interval.  Between any two slices the round trip of a cache line
 * is measured; a pair of slices around which it varies more than twofold, as
 * when a hypervisor has moved a processor, is left out of the ratio.
 */
#include "strperf_pipe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/string.h>

#include "strperf.h"
#include "strperf_host.h"
#include "strperf_intr.h"
#include "strperf_out.h"
#include "strperf_picture.h"
#include "strperf_subject.h"

/* ---- what the results say -------------------------------------------------------- */

double
pipe_rate(const struct result *r)
{
	double *rates = calloc(r->nsamples + 1, sizeof(*rates)), median = NAN;

	for (size_t i = 0; rates != NULL && i < r->nsamples; i++)
		rates[i] = r->samples[i].rate;
	if (rates != NULL)
		median = stats_median(rates, r->nsamples);
	free(rates);
	return median;
}

int64_t
pipe_lost(const struct result *r)
{
	return (int64_t)(r->sent - r->read);
}

double
pipe_cpu_us(const struct result *r)
{
	double total = 0;

	for (int who = 0; who < NSIDES; who++)
		total += (double)r->sum[who].cpu_us / (double)r->sum[who].msgs;
	return total;
}

bool
pipe_was_run(const struct result *r)
{
	return r->slices > 0;
}

bool
pipe_failed(const struct result *r)
{
	return r->error[0] != '\0' || r->bad != 0 || pipe_lost(r) != 0;
}

/* Whether two slices ran on one placement of the processors. */
static bool
one_place(const struct sample *a, const struct sample *b)
{
	double lo = fmin(
	    fmin(a->probe_before, a->probe_after), fmin(b->probe_before, b->probe_after));
	double hi = fmax(
	    fmax(a->probe_before, a->probe_after), fmax(b->probe_before, b->probe_after));

	return host_one_place(lo, hi);
}

static const struct result *
ours_at(const struct measured *m, size_t size)
{
	for (size_t i = 0; i < m->nresults; i++)
		if (m->results[i].size == size &&
		    m->results[i].subject == subject_ours(m->o))
			return &m->results[i];
	return NULL;
}

/* Rates of both, round by round; strict: only where nothing moved.  How many. */
static size_t
pair_up(const struct result *a, const struct result *b, double *x, double *y, bool strict)
{
	size_t n = 0;

	for (size_t i = 0; i < a->nsamples && i < b->nsamples; i++) {
		if (strict && !one_place(&a->samples[i], &b->samples[i]))
			continue;
		x[n] = a->samples[i].rate;
		y[n++] = b->samples[i].rate;
	}
	return n;
}

/* When the processors moved around all pairs but one, all are used, and moved tells. */
static void
estimate_ratio(const struct result *ours, const struct result *peer, double *x, double *y,
    struct ratio *ratio)
{
	size_t all = pair_up(ours, peer, x, y, false);
	size_t used = pair_up(ours, peer, x, y, true);

	ratio->moved = all - used;
	if (used < 2)
		used = pair_up(ours, peer, x, y, false);
	ratio->est = stats_paired_ratio(x, y, used);
}

bool
pipe_ratio(const struct measured *m, const struct result *peer, struct ratio *ratio)
{
	const struct result *ours = ours_at(m, peer->size);
	bool there = ours != NULL && ours != peer && ours->nsamples > 0 &&
	    peer->nsamples > 0;
	double *rates = there ? calloc(2 * peer->nsamples, sizeof(*rates)) : NULL;

	if (rates != NULL)
		estimate_ratio(ours, peer, rates, rates + peer->nsamples, ratio);
	else
		there = false;
	free(rates);
	return there;
}

/* ---- measuring ---------------------------------------------------------------------- */

static void
probe(struct measured *m)
{
	const struct options *o = m->o;
	double ns = o->ncpus == 2 ? host_roundtrip(o->cpus[0], o->cpus[1]) : NAN;

	m->probes[m->nprobes++] = ns;
}

static void
add_counts(struct counts *sum, const struct counts *more)
{
	sum->msgs += more->msgs;
	sum->eagain += more->eagain;
	sum->ctxsw += more->ctxsw;
	sum->cpu_us += more->cpu_us;
	sum->ns += more->ns;
}

static void
add_sample(struct measured *m, struct result *r, const struct slice *s)
{
	const struct counts *window = &s->window[READER];
	struct sample *sample;

	if (!s->ran || (window->msgs == 0 && intr_pending()))
		return;
	sample = &r->samples[r->nsamples++];
	if (window->ns > 0)
		sample->rate = (double)window->msgs * 1e9 / (double)window->ns;
	sample->probe_before = m->probes[m->nprobes - 2];
	sample->probe_after = m->probes[m->nprobes - 1];
	for (int who = 0; who < NSIDES; who++)
		add_counts(&r->sum[who], &s->window[who]);
	if (r->latency != NULL)
		hist_merge(r->latency, &s->latency);
}

static void
note_trouble(struct result *r, const struct slice *s)
{
	const char *text = s->error[0] != '\0' ? s->error : s->fault;

	if (text[0] == '\0' || r->error[0] != '\0')
		return;
	strlcpy(r->error, text, sizeof(r->error));
	out_progress_clear();
	complain("%s, %zu bytes: %s", r->subject->name, r->size, r->error);
}

/* One slice.  EXIT_DONE: go on; another status: measure no more. */
static int
measure(struct measured *m, struct result *r)
{
	const struct options *o = m->o;
	struct slice s;
	int status = slice_run(o, r->subject, r->size, opts_slice_seconds(o), &s);

	if (status != EXIT_DONE)
		return status;
	probe(m);
	r->slices++;
	r->sent += s.sent;
	r->read += s.read;
	r->bad += s.bad;
	m->stuck = s.stuck;
	add_sample(m, r, &s);
	out_slice(o, r, &s);
	note_trouble(r, &s);
	m->interrupted = intr_pending();
	if (m->interrupted)
		return EXIT_INTERRUPTED;
	return s.error[0] == '\0' ? EXIT_DONE : EXIT_FAILED;
}

/* The n-th result of a round: sizes in order, subjects forward and backward. */
static struct result *
pick(const struct measured *m, size_t round, size_t n)
{
	size_t subjects = m->o->npeers + 1;
	size_t size = n / subjects, subject = n % subjects;

	if (round % 2 == 1)
		subject = subjects - 1 - subject;
	return &m->results[size * subjects + subject];
}

static int
measure_all(struct measured *m)
{
	size_t rounds = opts_slices(m->o), runs = 0, done = 0;
	int64_t start = intr_now();
	int status = EXIT_DONE;

	for (size_t i = 0; i < m->nresults; i++)
		runs += m->results[i].skipped == NULL;
	probe(m);
	for (size_t round = 0; round < rounds; round++)
		for (size_t n = 0; n < m->nresults && status == EXIT_DONE; n++) {
			struct result *r = pick(m, round, n);

			if (r->skipped != NULL)
				continue;
			status = measure(m, r);
			out_progress(
			    ++done, rounds * runs, (double)(intr_now() - start) / 1e9);
		}
	out_progress_clear();
	return status;
}

/* ---- the command ------------------------------------------------------------------------ */

static int
describe(struct measured *m, struct result *r, const struct subject *subject, size_t size)
{
	r->subject = subject;
	r->size = size;
	r->limit = subject->limit(m->o, &r->skipped);
	if (m->o->nwriters + m->o->nreaders > 2 && subject->many < r->limit) {
		r->limit = subject->many;
		r->skipped = "several writers or readers would tear larger ones";
	}
	if (r->limit >= size) {
		r->skipped = NULL;
		r->samples = calloc(opts_slices(m->o), sizeof(*r->samples));
		if (m->o->rate > 0 && (r->latency = malloc(sizeof(*r->latency))) != NULL)
			hist_init(r->latency);
		return r->samples == NULL || (m->o->rate > 0 && r->latency == NULL)
		    ? EXIT_FAILED
		    : EXIT_DONE;
	}
	complain("%s: %zu bytes skipped: it takes up to %llu (%s)", subject->name, size,
	    (unsigned long long)r->limit, r->skipped);
	return EXIT_DONE;
}

/* Room for all results, and the line about every size that a subject cannot carry. */
static int
lay_out(struct measured *m)
{
	const struct options *o = m->o;
	size_t subjects = o->npeers + 1;
	int status = EXIT_DONE;

	m->results = calloc(o->nsizes * subjects, sizeof(*m->results));
	m->probes = calloc(o->nsizes * subjects * opts_slices(o) + 1, sizeof(*m->probes));
	if (m->results == NULL || m->probes == NULL)
		status = EXIT_FAILED;
	for (size_t n = 0; n < o->nsizes * subjects && status == EXIT_DONE; n++) {
		size_t which = n % subjects;

		m->nresults++;
		status = describe(m, &m->results[n],
		    which == 0 ? subject_ours(o) : o->peers[which - 1],
		    o->sizes[n / subjects]);
	}
	if (status != EXIT_DONE)
		complain("no memory for the results");
	return status;
}

static void
discard(struct measured *m)
{
	for (size_t i = 0; i < m->nresults; i++) {
		free(m->results[i].samples);
		free(m->results[i].latency);
	}
	free(m->results);
	free(m->probes);
}

static int
run(struct measured *m)
{
	int status = ustreams_try(m->o, &m->hiwat, &m->lowat);

	if (status == EXIT_DONE)
		status = lay_out(m);
	if (status != EXIT_DONE)
		return status;
	m->overhead = payload_overhead(m->o->sizes[0]);
	out_header(m);
	status = measure_all(m);
	out_results(m);
	pictures_of(m);
	for (size_t i = 0; i < m->nresults && status == EXIT_DONE; i++)
		if (pipe_failed(&m->results[i]))
			status = EXIT_FAILED;
	return status;
}

/* Options that exclude each other. */
static int
check_together(const struct options *o)
{
	if (o->rate == 0 || (o->nwriters == 1 && o->nreaders == 1))
		return EXIT_DONE;
	complain("--rate: only one writer and one reader know when a message was due; "
		 "legal: --writers 1 --readers 1");
	return EXIT_USAGE;
}

int
cmd_pipe(int argc, char **argv)
{
	struct options o;
	struct measured m = {.o = &o};
	int status;

	opts_defaults(&o);
	status = opts_parse_for(&o, NULL, argc, argv);
	if (status != EXIT_DONE)
		return status;
	if (o.help || o.version)
		return cmd_text(o.help);
	status = check_together(&o);
	if (status != EXIT_DONE)
		return status;
	status = run(&m);
	if (m.stuck) {
		fflush(NULL);
		_exit(EXIT_FAILED);
	}
	discard(&m);
	return status;
}
