/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_slice.c: run one subject at one size for one slice of time.
 *
 * Writers and readers are a crew of children or threads, and nothing of a
 * slice outlives it: streams, children and pipes are new each time.  What the
 * sides count stands in a mapping they share with the parent.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_slice.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "strperf.h"
#include "strperf_subject.h"

#define WARMUP 0.05 /* seconds, but no more than this part of a slice: */
#define WARMUP_PART 0.2

/* What parent and sides share. */
struct shared {
	_Alignas(128) _Atomic int order; /* enum phase; only the parent writes */
	_Alignas(128) _Atomic int64_t start;
	_Alignas(128) _Atomic int users[NSIDES];
	struct side side[MAX_CREW]; /* writers, then readers */
	struct hist latency[MAX_READERS];
};

/* A slice while it runs.  Threads get at it too. */
struct run {
	struct shared *shared;
	struct crew crew;
	size_t nwriters;
	int fd[NSIDES]; /* descriptors of the subject */
};

double
slice_warmup(double seconds)
{
	return seconds * WARMUP_PART < WARMUP ? seconds * WARMUP_PART : WARMUP;
}

/* ---- descriptors -------------------------------------------------------------------- */

static void
narrow(void *context, size_t who)
{
	struct run *r = context;
	int other = who < r->nwriters ? READER : WRITER;

	r->shared->side[0].subject->close(r->fd[other]);
}

static void
detach(void *context)
{
	struct run *r = context;

	for (int kind = 0; kind < NSIDES; kind++)
		r->shared->side[0].subject->close(r->fd[kind]);
}

/* ---- before ------------------------------------------------------------------------- */

static void
describe_side(struct run *r, size_t i, const struct options *o,
    const struct subject *subject, size_t size)
{
	int kind = i < r->nwriters ? WRITER : READER;
	struct side *s = &r->shared->side[i];

	*s = (struct side){
	    .subject = subject,
	    .order = &r->shared->order,
	    .fd = r->fd[kind],
	    .mode = o->mode,
	    .polls = !o->blocking,
	    .poll_each = o->poll_each,
	    .size = size,
	    .whole = size <= subject->whole(o),
	    .flip = o->flip,
	    .idle = o->delay / 100,
	    .idle_at = o->delay > 0 ? 0 : UINT64_MAX,
	    .number = i,
	    .nwriters = o->nwriters,
	    .nreaders = o->nreaders,
	    .period = o->rate > 0 ? (int64_t)(1e9 / o->rate) : 0,
	    .shares_cpu = o->ncpus != 2,
	    .start = &r->shared->start,
	    .users = &r->shared->users[kind],
	    .buf = payload_alloc(size),
	};
	if (kind == READER && o->rate > 0)
		hist_init(s->latency = &r->shared->latency[i - r->nwriters]);
}

static void
describe_member(struct run *r, size_t i, const struct options *o)
{
	int kind = i < r->nwriters ? WRITER : READER;
	struct member *m = &r->crew.member[i];
	size_t n = kind == WRITER ? o->nwriters : o->nreaders;
	size_t number = kind == WRITER ? i : i - r->nwriters;

	m->work = kind == WRITER ? loop_write : loop_read;
	m->arg = &r->shared->side[i];
	m->cpu = o->ncpus == 0 ? -1 : o->cpus[kind % o->ncpus];
	snprintf(m->name, sizeof(m->name), kind == WRITER ? "writer" : "reader");
	if (n > 1)
		snprintf(m->name + 6, sizeof(m->name) - 6, " %zu", number);
}

/* Everything a slice needs but its members.  EXIT_DONE, or a status after a line. */
static int
prepare(
    struct run *r, const struct options *o, const struct subject *subject, size_t size)
{
	int fd[2], status = subject->open(o, size, fd);

	if (status != EXIT_DONE)
		return status;
	r->fd[READER] = fd[0];
	r->fd[WRITER] = fd[1];
	r->nwriters = o->nwriters;
	atomic_store(&r->shared->users[WRITER], (int)o->nwriters);
	atomic_store(&r->shared->users[READER], (int)o->nreaders);
	r->crew = (struct crew){
	    .mode = o->mode,
	    .n = o->nwriters + o->nreaders,
	    .order = &r->shared->order,
	    .narrow = narrow,
	    .detach = detach,
	    .context = r,
	};
	for (size_t i = 0; i < r->crew.n; i++) {
		describe_side(r, i, o, subject, size);
		describe_member(r, i, o);
		if (r->shared->side[i].buf == NULL) {
			complain("slice: %s", strerror(ENOMEM));
			return EXIT_FAILED;
		}
	}
	return EXIT_DONE;
}

/* ---- after ---------------------------------------------------------------------------- */

struct counts
slice_window(const struct counts *begin, const struct counts *end)
{
	return (struct counts){
	    .msgs = end->msgs - begin->msgs,
	    .eagain = end->eagain - begin->eagain,
	    .ctxsw = end->ctxsw - begin->ctxsw,
	    .cpu_us = end->cpu_us - begin->cpu_us,
	    .ns = end->ns - begin->ns,
	};
}

/* Sides of a kind together: their counts added, their windows' length averaged. */
static void
add_side(struct counts *sum, const struct side *s, size_t n)
{
	struct counts c = slice_window(&s->begin, &s->end);

	sum->msgs += c.msgs;
	sum->eagain += c.eagain;
	sum->ctxsw += c.ctxsw;
	sum->cpu_us += c.cpu_us;
	sum->ns += c.ns / (int64_t)n;
}

static void
collect_side(const struct run *r, size_t i, struct slice *result)
{
	const struct side *s = &r->shared->side[i];
	int kind = i < r->nwriters ? WRITER : READER;

	result->fd[kind] = s->fd;
	add_side(&result->window[kind], s,
	    kind == WRITER ? r->nwriters : r->crew.n - r->nwriters);
	if (kind == WRITER)
		result->sent += s->msgs;
	else
		result->read += s->msgs;
	result->bad += s->bad;
	if (s->error[0] != '\0' && result->error[0] == '\0')
		snprintf(result->error, sizeof(result->error), "%s: %s",
		    r->crew.member[i].name, s->error);
	if (s->fault[0] != '\0')
		strlcpy(result->fault, s->fault, sizeof(result->fault));
	if (s->latency != NULL)
		hist_merge(&result->latency, s->latency);
}

/* The reader's reason first: a writer without a reader only fails because of that. */
static void
collect(const struct run *r, struct slice *result)
{
	result->ran = r->crew.ran;
	result->stuck = r->crew.stuck;
	strlcpy(result->error, r->crew.error, sizeof(result->error));
	hist_init(&result->latency);
	for (size_t i = r->crew.n; i-- > 0;)
		collect_side(r, i, result);
}

/* Shared and run are static: a stuck thread goes on using them. */
int
slice_run(const struct options *o, const struct subject *subject, size_t size,
    double seconds, struct slice *result)
{
	static struct shared *shared;
	static struct run run;
	int status;

	if (shared == NULL)
		shared = crew_memory(sizeof(*shared));
	if (shared == NULL)
		return EXIT_FAILED;
	memset(shared, 0, offsetof(struct shared, latency));
	memset(result, 0, sizeof(*result));
	run = (struct run){.shared = shared};
	status = prepare(&run, o, subject, size);
	if (status != EXIT_DONE)
		return status;
	crew_run(&run.crew, slice_warmup(seconds), seconds);
	collect(&run, result);
	for (size_t i = 0; i < run.crew.n && !result->stuck; i++)
		free(shared->side[i].buf);
	return EXIT_DONE;
}
