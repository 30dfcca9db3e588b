/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_transfer.c: how long a given number of messages takes from a producer
 * to a consumer.
 *
 * The two are processes or threads that live for all runs of a transfer; before
 * each run they meet, so that the time has neither a start nor an end of a
 * process in it:
 *
 *	producer			consumer
 *	wait for ready == run		ready = run; read
 *	clock, write count messages	read count messages, clock
 *	wait for done == run		done = run
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_transfer.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "strperf.h"
#include "strperf_crew.h"
#include "strperf_intr.h"
#include "strperf_payload.h"
#include "strperf_subject.h"

#define SPINS 1000 /* looks before a processor is given up */

enum { PRODUCER, CONSUMER, NENDS };

struct shared;

struct end {
	struct shared *shared;
	const struct subject *subject;
	int fd;
	enum mode mode;
	struct payload payload;
	unsigned char *buf;
	size_t size, count, runs;
	size_t bad;
	struct usage used;
	char error[128];
};

struct shared {
	_Alignas(128) _Atomic int order;
	_Alignas(128) _Atomic size_t ready; /* run the consumer waits for, from 1 */
	_Alignas(128) _Atomic size_t done;  /* run it has received, from 1 */
	struct end end[NENDS];
	int64_t start[MAX_RUNS], stop[MAX_RUNS];
};

struct work {
	struct shared *shared;
	struct crew crew;
};

/* ---- the two ---------------------------------------------------------------------- */

/* Until the word has come to n; false: told to stop. */
static bool
reaches(struct end *e, _Atomic size_t *word, size_t n)
{
	for (unsigned int i = 1; atomic_load(word) < n; i++) {
		if (atomic_load(&e->shared->order) == PHASE_STOP)
			return false;
		if (i % SPINS == 0)
			sched_yield();
	}
	return true;
}

static bool
give_up(struct end *e, const char *what)
{
	if (e->error[0] == '\0')
		snprintf(e->error, sizeof(e->error), "%s: %s", what, strerror(errno));
	return false;
}

static bool
send_message(struct end *e, size_t seq)
{
	size_t done = 0;

	payload_stamp(&e->payload, e->buf, seq);
	while (done < e->size) {
		ssize_t n = e->subject->write(e->fd, e->buf + done, e->size - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			return give_up(e, "write");
	}
	return true;
}

static bool
receive_message(struct end *e, size_t seq)
{
	size_t done = 0;

	while (done < e->size) {
		ssize_t n = e->subject->read(e->fd, e->buf + done, e->size - done);

		if (n == 0)
			return false;
		if (n > 0)
			done += (size_t)n;
		else if (errno != EINTR)
			return give_up(e, "read");
	}
	if (payload_check(e->buf, e->size, seq) != PAYLOAD_GOOD)
		e->bad++;
	return true;
}

static bool
produce_run(struct end *e, size_t run)
{
	if (!reaches(e, &e->shared->ready, run + 1))
		return false;
	e->shared->start[run] = intr_now();
	for (size_t i = 0; i < e->count; i++)
		if (!send_message(e, i))
			return false;
	return reaches(e, &e->shared->done, run + 1);
}

static bool
consume_run(struct end *e, size_t run)
{
	atomic_store(&e->shared->ready, run + 1);
	for (size_t i = 0; i < e->count; i++)
		if (!receive_message(e, i))
			return false;
	e->shared->stop[run] = intr_now();
	atomic_store(&e->shared->done, run + 1);
	return true;
}

static void
work_runs(struct end *e, bool (*once)(struct end *, size_t))
{
	struct usage begin = crew_usage(e->mode), end;

	for (size_t run = 0; run < e->runs && once(e, run); run++)
		if (atomic_load(&e->shared->order) == PHASE_STOP)
			break;
	end = crew_usage(e->mode);
	e->used = crew_used(&begin, &end);
}

static void
produce(void *arg)
{
	struct end *e = arg;

	payload_init(&e->payload, e->buf, e->size);
	work_runs(e, produce_run);
	if (e->error[0] == '\0')
		e->subject->finish(e->fd);
	e->subject->close(e->fd);
}

static void
consume(void *arg)
{
	struct end *e = arg;

	work_runs(e, consume_run);
	e->subject->close(e->fd);
}

/* ---- the whole ------------------------------------------------------------------------ */

static void
narrow(void *context, size_t who)
{
	struct work *w = context;
	struct end *other = &w->shared->end[who == PRODUCER ? CONSUMER : PRODUCER];

	other->subject->close(other->fd);
}

static void
detach(void *context)
{
	narrow(context, PRODUCER);
	narrow(context, CONSUMER);
}

static int
prepare(struct work *w, const struct options *o, const struct subject *subject,
    size_t size, size_t count, size_t runs)
{
	static void (*const works[])(void *) = {produce, consume};
	static const char *const names[] = {"producer", "consumer"};
	struct options how = *o;
	int fd[2], status;

	how.blocking = true;
	status = subject->open(&how, size, fd);
	if (status != EXIT_DONE)
		return status;
	for (int who = 0; who < NENDS; who++) {
		struct member *m = &w->crew.member[who];

		w->shared->end[who] = (struct end){
		    .shared = w->shared,
		    .subject = subject,
		    .fd = fd[who == CONSUMER ? 0 : 1],
		    .mode = o->mode,
		    .buf = payload_alloc(size),
		    .size = size,
		    .count = count,
		    .runs = runs,
		};
		if (w->shared->end[who].buf == NULL) {
			complain("transfer: %s", strerror(ENOMEM));
			return EXIT_FAILED;
		}
		m->work = works[who];
		m->arg = &w->shared->end[who];
		m->cpu = o->ncpus == 0 ? -1 : o->cpus[who % o->ncpus];
		strlcpy(m->name, names[who], sizeof(m->name));
	}
	return EXIT_DONE;
}

static void
collect(const struct work *w, struct transfer *t)
{
	const struct shared *s = w->shared;

	t->n = atomic_load(&s->done);
	for (size_t i = 0; i < t->n; i++)
		t->us[i] = (double)(s->stop[i] - s->start[i]) / 1e3;
	t->stuck = w->crew.stuck;
	t->bad = s->end[CONSUMER].bad;
	strlcpy(t->error, w->crew.error, sizeof(t->error));
	for (int who = NENDS - 1; who >= 0; who--) {
		t->cpu_us[who] = (double)s->end[who].used.cpu_us;
		t->ctxsw += (double)s->end[who].used.ctxsw;
		if (s->end[who].error[0] != '\0' && t->error[0] == '\0')
			snprintf(t->error, sizeof(t->error), "%s: %s",
			    w->crew.member[who].name, s->end[who].error);
	}
}

/* Shared and work are static: a stuck thread goes on using them. */
int
transfer_run(const struct options *o, const struct subject *subject, size_t size,
    size_t count, size_t runs, struct transfer *t)
{
	static struct shared *shared;
	static struct work work;
	int status;

	memset(t, 0, sizeof(*t));
	if (shared == NULL && (shared = crew_memory(sizeof(*shared))) == NULL)
		return EXIT_FAILED;
	atomic_store(&shared->ready, 0);
	atomic_store(&shared->done, 0);
	work = (struct work){
	    .shared = shared,
	    .crew = {.mode = o->mode,
		.n = NENDS,
		.order = &shared->order,
		.narrow = narrow,
		.detach = detach,
		.context = &work},
	};
	status = prepare(&work, o, subject, size, count, runs);
	if (status != EXIT_DONE)
		return status;
	crew_run(&work.crew, 0, -1);
	collect(&work, t);
	for (int who = 0; who < NENDS && !t->stuck; who++)
		free(shared->end[who].buf);
	return EXIT_DONE;
}
