/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_out.c: how strperf pipe shows what it measured: a table for people,
 * one JSON object (schema 1), or comma-separated values.
 *
 * stdout carries results only.  The line of each slice is a result for people;
 * with --json or --csv it goes to stderr, like progress.
 *
 * A rate is the median of its slices.  Nanoseconds per message are its inverse;
 * microseconds of CPU are user and system time of both sides.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include <ustreams.h>

#include "strperf.h"
#include "strperf_csv.h"
#include "strperf_host.h"
#include "strperf_subject.h"

static bool progress_shown;

/* What is told of latencies, in microseconds. */
static const struct {
	const char *key, *title;
	double f;
} latency_quantiles[] = {
    {"min_latency", "min", 0},
    {"p50_latency", "p50", 0.5},
    {"p90_latency", "p90", 0.9},
    {"p99_latency", "p99", 0.99},
    {"p999_latency", "p99.9", 0.999},
    {"max_latency", "max", 1},
};

/* ---- while it runs ----------------------------------------------------------------- */

void
out_progress_clear(void)
{
	if (progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = false;
}

void
out_progress(size_t done, size_t total, double elapsed)
{
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[Kslice %zu of %zu, %.0f s gone, about %.0f s to go", done,
	    total, elapsed, elapsed / (double)done * (double)(total - done));
	progress_shown = true;
}

void
out_slice(const struct options *o, const struct result *r, const struct slice *s)
{
	static const char *const verb[] = {[READER] = "read", [WRITER] = "sent"};
	FILE *f = o->format == FORMAT_HUMAN ? stdout : stderr;

	out_progress_clear();
	for (int who = NSIDES - 1; who >= 0; who--) {
		const struct counts *c = &s->window[who];
		double seconds = c->ns > 0 ? (double)c->ns / 1e9 : 1;

		fprintf(f, "%d Msgs %s: %" PRIu64 ", throughput: %.0f bytes/sec\n",
		    s->fd[who], verb[who], c->msgs,
		    (double)c->msgs * (double)r->size / seconds);
	}
	fflush(f);
}

/* ---- what all formats need ------------------------------------------------------------ */

struct spread {
	double median, lo, hi; /* NAN when nothing was measured */
};

static struct spread
spread_of(const double *v, size_t n)
{
	double *known = calloc(n + 1, sizeof(*known));
	struct spread s = {NAN, NAN, NAN};
	size_t used = 0;

	for (size_t i = 0; known != NULL && i < n; i++) {
		if (isnan(v[i]))
			continue;
		known[used++] = v[i];
		s.lo = fmin(s.lo, v[i]);
		s.hi = fmax(s.hi, v[i]);
	}
	if (used > 0)
		s.median = stats_median(known, used);
	free(known);
	return s;
}

/* ---- for people -------------------------------------------------------------------------- */

void
out_machine(void)
{
	char cpu[128], kernel[128], cpus[128];
	const char *tune = ustr_tunestr();

	host_cpu_model(cpu, sizeof(cpu));
	host_kernel(kernel, sizeof(kernel));
	host_cpus_text(cpus, sizeof(cpus));
	printf("%s, %s, allowed CPUs %s\n", cpu, kernel, cpus);
	if (tune != NULL && *tune != '\0')
		printf("USTREAMS_TUNE %s\n", tune);
}

void
out_roundtrips(const double *probes, size_t n)
{
	struct spread s = spread_of(probes, n);

	if (isfinite(s.median))
		printf("cross-CPU round trip %.0f ns (%.0f to %.0f)\n", s.median, s.lo,
		    s.hi);
}

void
out_header(const struct measured *m)
{
	const struct options *o = m->o;

	if (o->format != FORMAT_HUMAN)
		return;
	puts(ustr_version());
	out_machine();
	printf("writer and reader: %s, CPUs %s, %s, %s; pushed: %s\n",
	    o->mode == MODE_THREAD ? "threads" : "processes", opts_cpus_text(o),
	    o->blocking	       ? "blocking"
		: o->poll_each ? "poll before each message"
			       : "poll loop",
	    o->io == IO_MSG ? "putmsg and getmsg" : opts_read_modes[o->read_mode],
	    o->npush == 0 ? "nothing" : opts_push_text(o));
	if (o->ncpus == 1 && !o->cpus_given)
		printf("only CPU %d is allowed here: writer and reader share it\n",
		    o->cpus[0]);
	printf(
	    "water marks %ld and %ld bytes; %zu slices of %g s, each after %g s of warm-up\n"
	    "stamp and check take %.1f ns of a message of %zu bytes\n\n",
	    m->hiwat, m->lowat, opts_slices(o), opts_slice_seconds(o),
	    slice_warmup(opts_slice_seconds(o)), m->overhead, o->sizes[0]);
	if (o->nwriters + o->nreaders > 2)
		printf("%zu writers and %zu readers\n", o->nwriters, o->nreaders);
	fflush(stdout);
}

static void
print_result(const struct result *r)
{
	double rate = pipe_rate(r);
	char bytes[16];

	printf("%7zu  %-9s ", r->size, r->subject->name);
	if (!isfinite(rate)) {
		printf("no slice came to its end; %" PRIu64 " messages, %" PRId64
		       " lost\n",
		    r->sent, pipe_lost(r));
		return;
	}
	humanize_number(bytes, 7, (int64_t)(rate * (double)r->size), "B", HN_AUTOSCALE,
	    HN_DECIMAL | HN_DIVISOR_1000);
	printf("%10.0f %9s %9.1f %10.3f %9" PRIu64 " %9" PRIu64 " %8" PRIu64 " %11" PRIu64
	       " %5" PRId64 "\n",
	    rate, bytes, 1e9 / rate, pipe_cpu_us(r), r->sum[WRITER].eagain,
	    r->sum[READER].eagain, r->sum[WRITER].ctxsw + r->sum[READER].ctxsw, r->sent,
	    pipe_lost(r));
}

static void
print_ratio(const struct measured *m, const struct result *peer)
{
	struct ratio q;

	if (!pipe_ratio(m, peer, &q))
		return;
	printf("%7zu  ustreams / %-10s %8.2f", peer->size, peer->subject->name,
	    q.est.median);
	if (q.est.method == STATS_NONE)
		printf("   no interval from %zu", q.est.n);
	else
		printf("   %7.2f to %-7.2f %5zu", q.est.lo, q.est.hi, q.est.n);
	printf("%s", q.est.method == STATS_T ? "  (few: assumes normal)" : "");
	if (q.moved > 0)
		printf("  (CPUs moved around %zu)", q.moved);
	putchar('\n');
}

static void
print_latency(const struct result *r)
{
	if (r->latency == NULL || r->latency->count == 0)
		return;
	printf("%7zu  %-9s ", r->size, r->subject->name);
	for (size_t i = 0; i < NELEM(latency_quantiles); i++)
		printf(" %10.3f",
		    hist_quantile(r->latency, latency_quantiles[i].f) / 1e3);
	putchar('\n');
}

static void
print_latencies(const struct measured *m)
{
	if (m->o->rate == 0)
		return;
	printf("\nmicroseconds since each message was due, at %g a second\n%7s  %-9s ",
	    m->o->rate, "bytes", "subject");
	for (size_t i = 0; i < NELEM(latency_quantiles); i++)
		printf(" %10s", latency_quantiles[i].title);
	putchar('\n');
	for (size_t i = 0; i < m->nresults; i++)
		print_latency(&m->results[i]);
}

static void
print_verdict(const struct measured *m)
{
	uint64_t sent = 0, bad = 0;
	int64_t lost = 0;

	for (size_t i = 0; i < m->nresults; i++) {
		sent += m->results[i].sent;
		lost += pipe_lost(&m->results[i]);
		bad += m->results[i].bad;
	}
	putchar('\n');
	out_roundtrips(m->probes, m->nprobes);
	if (m->interrupted)
		puts("interrupted: the results are partial");
	if (lost == 0 && bad == 0)
		printf(
		    "all %" PRIu64 " messages arrived, in order and undamaged\n", sent);
	else
		printf("FAILED: of %" PRIu64 " messages %" PRId64
		       " were lost and %" PRIu64 " were damaged or out of sequence\n",
		    sent, lost, bad);
}

static void
print_human(const struct measured *m)
{
	printf("\n%7s  %-9s %10s %9s %9s %10s %9s %9s %8s %11s %5s\n", "bytes", "subject",
	    "msgs/s", "bytes/s", "ns/msg", "CPU us/msg", "EAGAIN w", "EAGAIN r",
	    "switches", "messages", "lost");
	for (size_t i = 0; i < m->nresults; i++)
		if (pipe_was_run(&m->results[i]))
			print_result(&m->results[i]);
	if (m->o->npeers > 0)
		printf("\n%7s  %-21s %8s   %-18s %5s\n", "bytes", "ratio of msgs/s",
		    "median", "95 % interval", "pairs");
	for (size_t i = 0; i < m->nresults; i++)
		print_ratio(m, &m->results[i]);
	print_latencies(m);
	print_verdict(m);
}

/* ---- JSON --------------------------------------------------------------------------------- */

/* The value of "name=" in a version line, or "". */
static void
version_value(const char *version, const char *name, char *buf, size_t size)
{
	const char *p = strstr(version, name);
	size_t len;

	buf[0] = '\0';
	if (p == NULL)
		return;
	p += strlen(name);
	len = strcspn(p, " \n");
	strlcpy(buf, p, len + 1 < size ? len + 1 : size);
}

void
out_build(struct js *j, const char *key, const char *version)
{
	char value[32];

	js_begin(j, key, '{');
	version_value(version, "buffer_cache=", value, sizeof(value));
	js_bool(j, "buffer_cache", strcmp(value, "yes") == 0);
	version_value(version, "head_cache=", value, sizeof(value));
	js_bool(j, "head_cache", strcmp(value, "yes") == 0);
	version_value(version, "heap=", value, sizeof(value));
	js_string(j, "heap", value);
	version_value(version, "debug=", value, sizeof(value));
	js_count(j, "debug", strtoul(value, NULL, 10));
	js_end(j, '}');
}

void
out_version(struct js *j)
{
	char version[32];

	version_value(ustr_version(), "ustreams ", version, sizeof(version));
	js_string(j, "version", version);
	out_build(j, "build", ustr_version());
	js_string(j, "tune", ustr_tunestr() == NULL ? "" : ustr_tunestr());
}

void
out_host(struct js *j, const double *probes, size_t n)
{
	struct spread s = spread_of(probes, n);
	char text[128];

	js_begin(j, "host", '{');
	host_cpu_model(text, sizeof(text));
	js_string(j, "cpu_model", text);
	host_kernel(text, sizeof(text));
	js_string(j, "kernel", text);
	js_count(j, "cpus", (uint64_t)host_ncpus());
	js_number(j, "crosscpu_ns", s.median);
	js_number(j, "crosscpu_ns_min", s.lo);
	js_number(j, "crosscpu_ns_max", s.hi);
	js_end(j, '}');
}

static void
json_config(struct js *j, const struct measured *m)
{
	const struct options *o = m->o;

	js_begin(j, "config", '{');
	js_string(j, "io", opts_ios[o->io]);
	js_string(j, "read_mode", opts_read_modes[o->read_mode]);
	js_string(j, "push", opts_push_text(o));
	js_bool(j, "blocking", o->blocking);
	js_bool(j, "poll_each", o->poll_each);
	js_count(j, "hiwat", (uint64_t)m->hiwat);
	js_count(j, "lowat", (uint64_t)m->lowat);
	js_count(j, "slices", opts_slices(o));
	js_number(j, "slice_seconds", opts_slice_seconds(o));
	js_count(j, "writers", o->nwriters);
	js_count(j, "readers", o->nreaders);
	js_number(j, "rate", o->rate > 0 ? o->rate : NAN);
	js_number(j, "overhead_ns", m->overhead);
	js_number(j, "warmup_seconds", slice_warmup(opts_slice_seconds(o)));
	js_end(j, '}');
}

/* A count of both sides together, then of each. */
static void
json_sides(struct js *j, const char *name, uint64_t writer, uint64_t reader)
{
	char key[32];

	js_count(j, name, writer + reader);
	snprintf(key, sizeof(key), "%s_writer", name);
	js_count(j, key, writer);
	snprintf(key, sizeof(key), "%s_reader", name);
	js_count(j, key, reader);
}

static void
json_result(struct js *j, const struct measured *m, const struct result *r)
{
	double rate = pipe_rate(r);

	js_begin(j, NULL, '{');
	js_string(j, "subject", r->subject->name);
	js_string(j, "mode", opts_modes[m->o->mode]);
	js_string(j, "cpus", opts_cpus_text(m->o));
	js_count(j, "size", r->size);
	js_count(j, "sent", r->sent);
	js_count(j, "read", r->read);
	js_number(j, "lost", (double)pipe_lost(r));
	js_count(j, "bad", r->bad);
	js_number(j, "msgs_per_s", rate);
	js_number(j, "bytes_per_s", rate * (double)r->size);
	js_number(j, "ns_per_msg", 1e9 / rate);
	js_number(j, "cpu_us_per_msg", pipe_cpu_us(r));
	json_sides(j, "eagain", r->sum[WRITER].eagain, r->sum[READER].eagain);
	json_sides(j, "ctxsw", r->sum[WRITER].ctxsw, r->sum[READER].ctxsw);
	for (size_t i = 0; r->latency != NULL && i < NELEM(latency_quantiles); i++)
		js_number(j, latency_quantiles[i].key,
		    hist_quantile(r->latency, latency_quantiles[i].f) / 1e3);
	js_string(j, "metric", "msgs_per_s");
	js_string(j, "better", "higher");
	js_begin(j, "samples", '[');
	for (size_t i = 0; i < r->nsamples; i++)
		js_number(j, NULL, r->samples[i].rate);
	js_end(j, ']');
	js_end(j, '}');
}

static void
json_ratio(struct js *j, const struct measured *m, const struct result *peer)
{
	struct ratio q;

	if (!pipe_ratio(m, peer, &q))
		return;
	js_begin(j, NULL, '{');
	js_count(j, "size", peer->size);
	js_string(j, "subject", "ustreams");
	js_string(j, "over", peer->subject->name);
	js_number(j, "median", q.est.median);
	js_interval(j, "ci95", q.est.lo, q.est.hi);
	js_string(j, "ci_method", stats_method_name(q.est.method));
	js_count(j, "pairs", q.est.n);
	js_count(j, "moved", q.moved);
	js_end(j, '}');
}

static void
json_skipped(struct js *j, const struct result *r)
{
	js_begin(j, NULL, '{');
	js_string(j, "subject", r->subject->name);
	js_count(j, "size", r->size);
	js_count(j, "limit", r->limit);
	js_string(j, "reason", r->skipped);
	js_end(j, '}');
}

static void
print_json(const struct measured *m)
{
	struct js j;

	js_init(&j);
	js_begin(&j, NULL, '{');
	js_envelope(&j, "pipe");
	out_version(&j);
	out_host(&j, m->probes, m->nprobes);
	json_config(&j, m);
	js_bool(&j, "interrupted", m->interrupted);
	js_begin(&j, "results", '[');
	for (size_t i = 0; i < m->nresults; i++)
		if (pipe_was_run(&m->results[i]))
			json_result(&j, m, &m->results[i]);
	js_end(&j, ']');
	js_begin(&j, "ratios", '[');
	for (size_t i = 0; i < m->nresults; i++)
		json_ratio(&j, m, &m->results[i]);
	js_end(&j, ']');
	js_begin(&j, "skipped", '[');
	for (size_t i = 0; i < m->nresults; i++)
		if (m->results[i].skipped != NULL)
			json_skipped(&j, &m->results[i]);
	js_end(&j, ']');
	js_end(&j, '}');
	js_print(&j, stdout);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

void
out_csv_number(double value, const char *after)
{
	if (isfinite(value))
		printf("%.9g", value);
	fputs(after, stdout);
}

static void
csv_result(const struct measured *m, const struct result *r)
{
	struct ratio q = {.est = {NAN, NAN, NAN, 0, STATS_NONE}};
	double rate = pipe_rate(r);

	printf("%s,%s,\"%s\",%zu,%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRIu64 ",",
	    r->subject->name, opts_modes[m->o->mode], opts_cpus_text(m->o), r->size,
	    r->sent, r->read, pipe_lost(r), r->bad);
	out_csv_number(rate, ",");
	out_csv_number(rate * (double)r->size, ",");
	out_csv_number(1e9 / rate, ",");
	out_csv_number(pipe_cpu_us(r), ",");
	printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%zu,",
	    r->sum[WRITER].eagain, r->sum[READER].eagain, r->sum[WRITER].ctxsw,
	    r->sum[READER].ctxsw, r->nsamples);
	pipe_ratio(m, r, &q);
	out_csv_number(q.est.median, ",");
	out_csv_number(q.est.lo, ",");
	out_csv_number(q.est.hi, "");
	for (size_t i = 0; i < NELEM(latency_quantiles); i++) {
		putchar(',');
		out_csv_number(r->latency == NULL
			? NAN
			: hist_quantile(r->latency, latency_quantiles[i].f) / 1e3,
		    "");
	}
	putchar('\n');
}

static void
print_csv(const struct measured *m)
{
	puts(
	    "subject,mode,cpus,size,sent,read,lost,bad,msgs_per_s,bytes_per_s,ns_per_msg,"
	    "cpu_us_per_msg,eagain_writer,eagain_reader,ctxsw_writer,ctxsw_reader,"
	    "slices,ours_over,ours_over_lo,ours_over_hi,min_latency,p50_latency,p90_latency,"
	    "p99_latency,p999_latency,max_latency");
	for (size_t i = 0; i < m->nresults; i++)
		if (pipe_was_run(&m->results[i]))
			csv_result(m, &m->results[i]);
}

static void
print_raw(const struct measured *m)
{
	for (size_t i = 0; i < m->nresults; i++)
		for (size_t n = 0; n < m->results[i].nsamples; n++)
			raw_sample(stdout, m->results[i].samples[n].rate,
			    "%s %zu msgs_per_s", m->results[i].subject->name,
			    m->results[i].size);
}

void
out_results(const struct measured *m)
{
	static void (*const print[])(const struct measured *) = {
	    [FORMAT_HUMAN] = print_human,
	    [FORMAT_JSON] = print_json,
	    [FORMAT_CSV] = print_csv,
	    [FORMAT_RAW] = print_raw,
	};

	print[m->o->format](m);
	fflush(stdout);
}
