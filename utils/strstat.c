/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strstat.c: the figures of a running program's streams: allocator classes and
 * message rates; once, or every so many seconds as vmstat(8) does.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ustreams.h>
#include <ustreams_look.h>

#include "lookjson.h"
#include "lookopt.h"
#include "lookrate.h"
#include "looktable.h"
#include "looktext.h"
#include "strtool.h"

enum { HEADER_EVERY = 20, LONGEST = 86400 };

static const char usage[] =
    "usage: strstat [--json] [-I NAME | -p PID | -f FILE] [-i SECONDS [-s] [COUNT]]\n"
    "  print the figures of the allocator, and what each stream has carried; or, with\n"
    "  -i, every so many seconds one line of rates\n" LOOKOPT_USAGE
    "  -i SECONDS  how often, 0.1 to 86400; COUNT lines, for ever without\n"
    "  -s          with -i: a line for each stream\n"
    "  --json      as JSON, one object a line with -i\n"
    "exit status: 0 done, 1 the streams went away, 2 usage, or it cannot be looked at";

/* ---- once ------------------------------------------------------------------------- */

static void
print_memory(const struct ustr_look *lk, const struct ustr_view *v)
{
	char cap[16], committed[16], used[16], leaked[16];

	printf("%s: committed %s of at most %s bytes, used %s, leaked %s, refused %zu, "
	       "processes buried %u\n",
	    ustr_look_name(lk), look_amount(committed, (double)v->v_committed, 1024),
	    look_amount(cap, (double)v->v_cap, 1024),
	    look_amount(used, (double)v->v_used, 1024),
	    look_amount(leaked, (double)v->v_leaked, 1024), v->v_refused, v->v_deaths);
}

static void
print_classes(const struct ustr_view *v)
{
	static const char *const heads[] = {"CLASS", ">OBJECT", ">MAGAZINE", ">MADE",
	    ">CACHED", ">IN USE", ">HITS", ">TRIPS", ">HIT %", ">FAILURES", NULL};
	struct table t;

	table_begin(&t, heads);
	for (unsigned int i = 0; i < v->v_nclasses; i++) {
		const struct ustr_view_class *c = &v->v_classes[i];
		double all = (double)c->vc_hits + (double)c->vc_trips;

		if (c->vc_made == 0 && c->vc_failures == 0)
			continue;
		table_cell(&t, "%s", c->vc_name);
		table_cell(&t, "%zu", c->vc_object);
		table_cell(&t, "%zu", c->vc_magazine);
		table_cell(&t, "%zu", c->vc_made);
		table_cell(&t, "%zu", c->vc_cached);
		table_cell(&t, "%zu", c->vc_inuse);
		table_cell(&t, "%zu", c->vc_hits);
		table_cell(&t, "%zu", c->vc_trips);
		if (all > 0)
			table_cell(&t, "%.1f", 100 * (double)c->vc_hits / all);
		else
			table_cell(&t, "-");
		table_cell(&t, "%zu", c->vc_failures);
	}
	table_print(&t, stdout);
}

static void
print_heap(const struct ustr_view *v)
{
	size_t objects = 0, bytes = 0;
	char amount[16];

	for (unsigned int i = 0; i < v->v_nheap; i++) {
		objects += v->v_heap[i].vh_inuse;
		bytes += v->v_heap[i].vh_inuse * v->v_heap[i].vh_object;
	}
	printf("heap: %zu objects in use, %s bytes\n", objects,
	    look_amount(amount, (double)bytes, 1024));
}

static void
print_streams(const struct ustr_view *v)
{
	static const char *const heads[] = {">STREAM", "DRIVER", "MODULES", ">ARRIVED",
	    ">BYTES", ">READ", ">BYTES", ">QUEUED", ">BYTES", NULL};
	char buf[LOOKTEXT];
	struct table t;

	table_begin(&t, heads);
	for (unsigned int i = 0; i < v->v_nstreams; i++) {
		const struct ustr_view_stream *s = &v->v_streams[i];
		size_t bytes, blocks;

		look_queued(s, &bytes, &blocks);
		table_cell(&t, "%u", s->vs_id);
		table_cell(&t, "%s", s->vs_driver);
		table_cell(&t, "%s", look_modules(buf, s));
		table_cell(&t, "%llu", (unsigned long long)s->vs_put_blocks);
		table_cell(&t, "%llu", (unsigned long long)s->vs_put_bytes);
		table_cell(&t, "%llu", (unsigned long long)s->vs_got_blocks);
		table_cell(&t, "%llu", (unsigned long long)s->vs_got_bytes);
		table_cell(&t, "%zu", blocks);
		table_cell(&t, "%zu", bytes);
	}
	table_print(&t, stdout);
}

static int
print_once(struct ustr_look *lk, bool json)
{
	struct ustr_view *v = lookopt_view(lk);
	int status = TOOL_OK;

	if (v == NULL)
		return TOOL_USAGE;
	if (json) {
		if (lookjson_print(json_pack("{s:s, s:o*, s:o*, s:o*, s:o*}", "name",
			ustr_look_name(lk), "memory", lookjson_memory(v), "classes",
			lookjson_classes(v), "heap", lookjson_heap(v), "streams",
			lookjson_streams(v, false))) != 0)
			status = TOOL_USAGE;
	} else {
		print_memory(lk, v);
		print_heap(v);
		putchar('\n');
		print_classes(v);
		putchar('\n');
		print_streams(v);
	}
	ustr_view_free(v);
	return status;
}

/* ---- every so many seconds ------------------------------------------------------------ */

static void
print_line(const struct ustr_view *v, const struct rates *r, unsigned long n)
{
	char a[9][16];

	if (n % HEADER_EVERY == 0)
		printf("procs streams   arrived   bytes/s      read   bytes/s  queued  in use "
		       "  trips/s   made/s fail committed\n");
	printf("%5u %7u %9s %9s %9s %9s %7s %7s %9s %8s %4zu %9s\n", r->live, v->v_nstreams,
	    look_amount(a[0], r->in_blocks, 1000), look_amount(a[1], r->in_bytes, 1024),
	    look_amount(a[2], r->out_blocks, 1000), look_amount(a[3], r->out_bytes, 1024),
	    look_amount(a[4], (double)r->queued, 1000),
	    look_amount(a[5], (double)r->inuse, 1000), look_amount(a[6], r->trips, 1000),
	    look_amount(a[7], r->made, 1000), r->failures,
	    look_amount(a[8], (double)v->v_committed, 1024));
}

static void
print_stream_lines(const struct ustr_view *a, const struct ustr_view *b)
{
	static const char *const heads[] = {">STREAM", "DRIVER", "MODULES", ">ARRIVED/s",
	    ">BYTES/s", ">READ/s", ">BYTES/s", ">QUEUED", NULL};
	char buf[LOOKTEXT], n[4][16];
	struct table t;

	table_begin(&t, heads);
	for (unsigned int i = 0; i < b->v_nstreams; i++) {
		const struct ustr_view_stream *y = &b->v_streams[i];
		struct stream_rate r = rate_stream(a, b, y);

		table_cell(&t, "%u", y->vs_id);
		table_cell(&t, "%s", y->vs_driver);
		table_cell(&t, "%s", look_modules(buf, y));
		table_cell(&t, "%s", look_amount(n[0], r.in_blocks, 1000));
		table_cell(&t, "%s", look_amount(n[1], r.in_bytes, 1024));
		table_cell(&t, "%s", look_amount(n[2], r.out_blocks, 1000));
		table_cell(&t, "%s", look_amount(n[3], r.out_bytes, 1024));
		table_cell(&t, "%zu", r.blocks);
	}
	table_print(&t, stdout);
	putchar('\n');
}

static json_t *
stream_rates(const struct ustr_view *a, const struct ustr_view *b)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < b->v_nstreams; i++) {
		struct stream_rate r = rate_stream(a, b, &b->v_streams[i]);

		json_array_append_new(array,
		    json_pack("{s:I, s:f, s:f, s:f, s:f, s:I}", "id",
			(json_int_t)b->v_streams[i].vs_id, "arrived_per_s", r.in_blocks,
			"arrived_bytes_per_s", r.in_bytes, "read_per_s", r.out_blocks,
			"read_bytes_per_s", r.out_bytes, "queued", (json_int_t)r.blocks));
	}
	return array;
}

static int
print_json_line(
    const struct ustr_view *a, const struct ustr_view *b, const struct rates *r)
{
	json_t *o = json_pack(
	    "{s:f, s:i, s:f, s:f, s:f, s:f, s:I, s:I, s:f, s:f, s:I, s:o*, s:o*}", "seconds",
	    r->seconds, "processes", (int)r->live, "arrived_per_s", r->in_blocks,
	    "arrived_bytes_per_s", r->in_bytes, "read_per_s", r->out_blocks,
	    "read_bytes_per_s", r->out_bytes, "queued", (json_int_t)r->queued, "in_use",
	    (json_int_t)r->inuse, "trips_per_s", r->trips, "made_per_s", r->made, "failures",
	    (json_int_t)r->failures, "memory", lookjson_memory(b), "streams",
	    stream_rates(a, b));
	int error = o == NULL || json_dumpf(o, stdout, JSON_COMPACT) != 0 ||
	    putchar('\n') == EOF;

	json_decref(o);
	return error ? -1 : 0;
}

static void
sleep_until(struct timespec *t, double seconds)
{
	double whole = floor(seconds);

	t->tv_sec += (time_t)whole;
	t->tv_nsec += (long)((seconds - whole) * 1e9);
	if (t->tv_nsec >= 1000000000) {
		t->tv_nsec -= 1000000000;
		t->tv_sec++;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, t, NULL) == EINTR)
		;
}

static int
print_often(struct ustr_look *lk, bool json, bool each, double seconds, long count)
{
	struct ustr_view *a = lookopt_view(lk), *b;
	struct timespec t;
	int status = a == NULL ? TOOL_USAGE : TOOL_OK;

	clock_gettime(CLOCK_MONOTONIC, &t);
	for (unsigned long n = 0; status == TOOL_OK && (count < 0 || n < (unsigned long)count);
	     n++) {
		struct rates r;

		sleep_until(&t, seconds);
		b = lookopt_view(lk);
		if (b == NULL) {
			status = TOOL_USAGE;
			break;
		}
		r = rate_all(a, b);
		if (json)
			status = print_json_line(a, b, &r) == 0 ? TOOL_OK : TOOL_USAGE;
		else if (each)
			print_stream_lines(a, b);
		else
			print_line(b, &r, n);
		if (tool_flush() != 0)
			status = TOOL_USAGE;
		ustr_view_free(a);
		a = b;
		if (r.live == 0 && status == TOOL_OK) {
			tool_complain("%s: no process has it any more", ustr_look_name(lk));
			status = TOOL_NO;
		}
	}
	ustr_view_free(a);
	return status;
}

/* ---- arguments ---------------------------------------------------------------------------- */

static int
complain_usage(const char *word, const char *what)
{
	tool_complain("%s: %s; legal: strstat [--json] [-I NAME | -p PID | -f FILE] "
		      "[-i SECONDS [-s] [COUNT]]",
	    word, what);
	return TOOL_USAGE;
}

/* Seconds, or 0. */
static double
interval(const char *text)
{
	char *end;
	double s = strtod(text, &end);

	return end == text || *end != '\0' || !(s >= 0.1 && s <= LONGEST) ? 0 : s;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {LOOKOPT_LONG,
	    {"json", no_argument, NULL, 'j'}, {"interval", required_argument, NULL, 'i'},
	    {NULL, 0, NULL, 0}};
	struct lookopt o = {0};
	bool json = false, bad = false, each = false;
	double seconds = 0;
	struct ustr_look *lk;
	long count = -1;
	int got, status;

	tool_begin("strstat");
	tool_standard_options(argc, argv, usage);
	opterr = 0;
	while ((got = getopt_long(argc, argv, ":i:s" LOOKOPT_SHORT, options, NULL)) != -1) {
		if (got == 'j')
			json = true;
		else if (got == 's')
			each = true;
		else if (got == 'i') {
			if ((seconds = interval(optarg)) == 0)
				return complain_usage(optarg, "not 0.1 to 86400 seconds");
		} else if (!lookopt_take(&o, got, optarg, &bad))
			return complain_usage(tool_refused(argv),
			    got == ':' ? "its value is missing" : "no such option");
		if (bad)
			return TOOL_USAGE;
	}
	if (optind < argc && seconds != 0 &&
	    (count = lookopt_number(argv[optind++], LONG_MAX)) == -1)
		return complain_usage(argv[optind - 1], "not a number of lines");
	if (optind < argc)
		return complain_usage(argv[optind], "one operand too many");
	if (each && seconds == 0)
		return complain_usage("-s", "only with -i");
	lk = lookopt_open(&o);
	if (lk == NULL)
		return TOOL_USAGE;
	status = seconds == 0 ? print_once(lk, json) : print_often(lk, json, each, seconds, count);
	ustr_look_close(lk);
	return status;
}
