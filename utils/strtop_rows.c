/* SPDX-License-Identifier: BSD-2-Clause */
/* strtop_rows.c: what strtop shows, as lines of text. */
#include "strtop_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lookrate.h"
#include "looktext.h"
#include "strtool.h"

enum { BAR = 10 };

const struct top_order top_orders[TOP_SORTS] = {[BY_ARRIVED] = {'a', "arrived"},
    [BY_READ] = {'r', "read"},
    [BY_BYTES] = {'b', "bytes"},
    [BY_QUEUED] = {'u', "queued"},
    [BY_FILL] = {'f', "fill"},
    [BY_ID] = {'i', "number"}};

/* A stream and what it is sorted by. */
struct row {
	const struct ustr_view_stream *vs;
	struct stream_rate rate;
	double key;
};

/* ---- views ----------------------------------------------------------------------- */

int
top_advance(struct top *t)
{
	struct ustr_view *v = ustr_look_take(t->lk);

	if (v == NULL)
		return errno;
	ustr_view_free(t->before);
	t->before = t->now;
	t->now = v;
	return 0;
}

void
top_end(struct top *t)
{
	ustr_view_free(t->before);
	ustr_view_free(t->now);
	ustr_look_close(t->lk);
}

bool
top_over(const struct top *t)
{
	for (unsigned int i = 0; i < t->now->v_nprocesses; i++)
		if (t->now->v_processes[i].vp_state == USTR_PROC_LIVE)
			return false;
	return true;
}

/* ---- lines ------------------------------------------------------------------------- */

static FILE *
lines_open(struct lines *l, size_t *size)
{
	FILE *f;

	*l = (struct lines){0};
	f = open_memstream(&l->text, size);
	if (f == NULL) {
		tool_complain("no memory");
		exit(TOOL_USAGE);
	}
	return f;
}

static void *
must(void *p)
{
	if (p == NULL) {
		tool_complain("no memory");
		exit(TOOL_USAGE);
	}
	return p;
}

/* The text is written: cut it. */
static void
lines_close(struct lines *l, FILE *f)
{
	char *at, *end;
	size_t n = 0;

	fclose(f);
	must(l->text);
	for (at = l->text; (at = strchr(at, '\n')) != NULL; at++)
		n++;
	l->line = must(calloc(n + 1, sizeof(*l->line)));
	l->id = must(calloc(n + 1, sizeof(*l->id)));
	for (at = l->text; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		*end = '\0';
		l->line[l->n++] = at;
	}
}

void
lines_free(struct lines *l)
{
	free(l->text);
	free(l->line);
	free(l->id);
	*l = (struct lines){0};
}

/* ---- the list ------------------------------------------------------------------------ */

static double
key_of(const struct row *r, enum top_sort sort)
{
	switch (sort) {
	case BY_ARRIVED:
		return r->rate.in_blocks;
	case BY_READ:
		return r->rate.out_blocks;
	case BY_BYTES:
		return r->rate.in_bytes + r->rate.out_bytes;
	case BY_QUEUED:
		return (double)r->rate.bytes;
	case BY_FILL:
		return r->rate.fill;
	default:
		return -(double)r->vs->vs_id;
	}
}

static int
by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return (x->vs->vs_id > y->vs->vs_id) - (x->vs->vs_id < y->vs->vs_id);
}

static void
fill_bar(char bar[BAR + 3], double fill)
{
	int n = (int)(fill * BAR + (fill > 0 ? 0.999 : 0));

	if (n > BAR)
		n = BAR;
	bar[0] = '[';
	memset(bar + 1, '.', BAR);
	memset(bar + 1, '#', (size_t)n);
	memcpy(bar + 1 + BAR, "]", 2);
}

/* The last n characters: of a path they tell most. */
static const char *
tail(const char *text, size_t n)
{
	size_t len = strlen(text);

	return len <= n ? text : text + len - n;
}

/*
 * The columns of a terminal of 80 lack the bytes a second, which a stream's drawing
 * still tells.
 */
static void
print_heading(FILE *f, bool narrow)
{
	if (narrow)
		fprintf(f, "%6s %-9s %-8s %9s %7s %6s %-12s %-7s %s\n", "STREAM", "WHERE",
		    "MODULES", "ARRIVED/s", "READ/s", "QUEUED", "FULLEST", "PIDS", "STATE");
	else
		fprintf(f, "%6s %-13s %-17s %9s %8s %9s %8s %7s %-12s %-15s %s\n", "STREAM",
		    "WHERE", "MODULES", "ARRIVED/s", "BYTES/s", "READ/s", "BYTES/s", "QUEUED",
		    "FULLEST", "PIDS", "STATE");
}

static void
print_row(FILE *f, const struct row *r, bool narrow)
{
	const struct ustr_view_stream *vs = r->vs;
	char text[4][LOOKTEXT], bar[BAR + 3], a[5][16];
	const char *where = look_where(text[0], vs), *modules = look_modules(text[1], vs);
	const char *pids = look_pids(text[2], vs), *state = look_state(text[3], vs->vs_state);
	const char *in = look_amount(a[0], r->rate.in_blocks, 1000);
	const char *in_bytes = look_amount(a[1], r->rate.in_bytes, 1024);
	const char *out = look_amount(a[2], r->rate.out_blocks, 1000);
	const char *out_bytes = look_amount(a[3], r->rate.out_bytes, 1024);
	const char *queued = look_amount(a[4], (double)r->rate.blocks, 1000);

	fill_bar(bar, r->rate.fill);
	if (narrow)
		fprintf(f, "%6u %-9.9s %-8.8s %9s %7s %6s %s %-7.7s %s\n", vs->vs_id,
		    tail(where, 9), modules, in, out, queued, bar, pids, state);
	else
		fprintf(f, "%6u %-13.13s %-17.17s %9s %8s %9s %8s %7s %s %-15.15s %s\n",
		    vs->vs_id, tail(where, 13), modules, in, in_bytes, out, out_bytes,
		    queued, bar, pids, state);
}

void
top_list(const struct top *t, struct lines *l)
{
	const struct ustr_view *v = t->now;
	struct row *row = must(calloc(v->v_nstreams + 1, sizeof(*row)));
	size_t size;
	FILE *f = lines_open(l, &size);

	for (unsigned int i = 0; i < v->v_nstreams; i++) {
		row[i].vs = &v->v_streams[i];
		row[i].rate = rate_stream(t->before, v, row[i].vs);
		row[i].key = key_of(&row[i], t->sort);
	}
	qsort(row, v->v_nstreams, sizeof(*row), by_key);
	print_heading(f, t->narrow);
	for (unsigned int i = 0; i < v->v_nstreams; i++)
		print_row(f, &row[i], t->narrow);
	lines_close(l, f);
	for (unsigned int i = 0; i < v->v_nstreams; i++)
		l->id[i + 1] = row[i].vs->vs_id;
	free(row);
}

/* ---- above it, and one stream ----------------------------------------------------------- */

void
top_summary(const struct top *t, struct lines *l)
{
	struct rates r = rate_all(t->before, t->now);
	const struct ustr_view *v = t->now;
	time_t now = time(NULL);
	char a[10][16], clock[16];
	struct tm tm;
	size_t size;
	FILE *f = lines_open(l, &size);

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	fprintf(f, "strtop: %s  %s  every %g s, by %s%s\n", ustr_look_name(t->lk), clock,
	    t->seconds, top_orders[t->sort].word,
	    top_over(t) ? "  NO PROCESS HAS IT ANY MORE" : "");
	fprintf(f, "%u process%s, %u stream%s; arrived %s/s (%s bytes), read %s/s (%s bytes), "
		   "%s queued\n",
	    r.live, r.live == 1 ? "" : "es", v->v_nstreams, v->v_nstreams == 1 ? "" : "s", look_amount(a[0], r.in_blocks, 1000),
	    look_amount(a[1], r.in_bytes, 1024), look_amount(a[2], r.out_blocks, 1000),
	    look_amount(a[3], r.out_bytes, 1024), look_amount(a[4], (double)r.queued, 1000));
	fprintf(f, "memory %s of %s, leaked %s; %s objects in use, %s trips/s, %zu failures\n",
	    look_amount(a[5], (double)v->v_committed, 1024),
	    look_amount(a[6], (double)v->v_cap, 1024),
	    look_amount(a[7], (double)v->v_leaked, 1024),
	    look_amount(a[8], (double)r.inuse, 1000), look_amount(a[9], r.trips, 1000),
	    r.failures);
	fputc('\n', f);
	lines_close(l, f);
}

void
top_stream(const struct top *t, unsigned int id, struct lines *l)
{
	const struct ustr_view_stream *vs = ustr_view_stream(t->now, id);
	size_t size;
	FILE *f = lines_open(l, &size);
	char a[4][16];

	if (vs == NULL) {
		fprintf(f, "stream %u is no more\n", id);
	} else {
		struct stream_rate r = rate_stream(t->before, t->now, vs);

		ustr_view_draw(vs, f);
		fprintf(f, "\narrived %s/s (%s bytes), read %s/s (%s bytes)\n",
		    look_amount(a[0], r.in_blocks, 1000),
		    look_amount(a[1], r.in_bytes, 1024),
		    look_amount(a[2], r.out_blocks, 1000),
		    look_amount(a[3], r.out_bytes, 1024));
	}
	lines_close(l, f);
}
