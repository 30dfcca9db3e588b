/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_dialog.c: one who asks and one who answers, over any subject.
 *
 *	asker				answerer
 *	clock, stamp, write request ->	read, check
 *	read, check		    <-	stamp, write response
 *	clock: latency
 *
 * The clock is read once a transaction: its end is the beginning of the next.
 * A subject that carries both ways is opened once, another one twice.  Each
 * side looks at the phase between two transactions; at the end the asker
 * closes, and the answerer reads the end of data.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_dialog.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "strperf.h"
#include "strperf_intr.h"
#include "strperf_payload.h"
#include "strperf_slice.h"
#include "strperf_subject.h"

/* One of the two, in memory that parent and children share. */
struct talker {
	_Alignas(128) const struct subject *subject;
	const _Atomic int *order;
	int in, out; /* descriptors */
	enum mode mode;
	bool polls;
	struct payload said; /* what it sends */
	unsigned char *say;  /* the message it sends */
	unsigned char *hear; /* the message it receives */
	size_t hears;	     /* bytes of that */

	int phase;
	uint64_t seq; /* transactions done */
	uint64_t eagain, bad;
	uint64_t begin_seq, end_seq;
	struct usage begin, end;
	char error[128];
};

struct shared {
	_Alignas(128) _Atomic int order;
	struct talker talker[NTALKERS];
	struct hist latency;
};

struct talk {
	struct shared *shared;
	struct crew crew;
	bool both_ways;
};

/* ---- phases -------------------------------------------------------------------- */

static __attribute__((noinline)) void
turn(struct talker *t, int order)
{
	struct usage now = crew_usage(t->mode);

	if (order == PHASE_RUN || t->phase == PHASE_WARM) {
		t->begin = now;
		t->begin_seq = t->seq;
	}
	t->end = now;
	t->end_seq = t->seq;
	t->phase = order;
}

static inline void
look(struct talker *t)
{
	int order = atomic_load_explicit(t->order, memory_order_relaxed);

	if (__builtin_expect(order != t->phase, 0))
		turn(t, order);
}

/* ---- messages ------------------------------------------------------------------- */

static bool
give_up(struct talker *t, const char *what)
{
	snprintf(t->error, sizeof(t->error), "%s of transaction %llu: %s", what,
	    (unsigned long long)t->seq, strerror(errno));
	return false;
}

static bool
await(struct talker *t, int fd, short events)
{
	struct pollfd pfd = {.fd = fd, .events = events};

	while (t->subject->poll(&pfd, 1, -1) == -1)
		if (errno != EINTR)
			return give_up(t, "poll");
	return true;
}

/* Whether to try again after a call has failed. */
static bool
retry(struct talker *t, const char *what, int fd, short events)
{
	if (errno == EINTR)
		return true;
	if (errno != EAGAIN || !t->polls)
		return give_up(t, what);
	t->eagain++;
	return await(t, fd, events);
}

static bool
say(struct talker *t)
{
	ssize_t n;

	payload_stamp(&t->said, t->say, t->seq);
	for (size_t done = 0; done < t->said.size; done += (size_t)n) {
		n = t->subject->write(t->out, t->say + done, t->said.size - done);
		if (n >= 0)
			continue;
		if (!retry(t, "write", t->out, POLLOUT))
			return false;
		n = 0;
	}
	return true;
}

/* A message; false: an error, or the end of data. */
static bool
hear(struct talker *t)
{
	size_t done = 0;
	ssize_t n;

	while (done < t->hears) {
		if (t->polls && !await(t, t->in, POLLIN))
			return false;
		n = t->subject->read(t->in, t->hear + done, t->hears - done);
		if (n == 0)
			return false;
		if (n > 0)
			done += (size_t)n;
		else if (!retry(t, "read", t->in, POLLIN))
			return false;
	}
	if (payload_check(t->hear, t->hears, t->seq) != PAYLOAD_GOOD)
		t->bad++;
	return true;
}

/* ---- the work ---------------------------------------------------------------------- */

static void
close_both(struct talker *t)
{
	t->subject->close(t->out);
	if (t->in != t->out)
		t->subject->close(t->in);
}

static void
ask(void *arg)
{
	struct talker *t = arg;
	struct hist *latency = &((struct shared *)((char *)t->order -
	    offsetof(struct shared, order)))->latency;
	int64_t before, now = intr_now();

	for (look(t); t->phase != PHASE_STOP; look(t)) {
		before = now;
		if (!say(t) || !hear(t))
			break;
		now = intr_now();
		if (t->phase == PHASE_RUN)
			hist_record(latency, now - before);
		t->seq++;
	}
	if (t->phase != PHASE_STOP) {
		if (t->error[0] == '\0')
			snprintf(t->error, sizeof(t->error), "no answer any more");
		turn(t, PHASE_STOP);
	}
	if (t->error[0] == '\0' && t->subject->finish(t->out) == -1)
		give_up(t, "end");
	close_both(t);
}

static void
answer(void *arg)
{
	struct talker *t = arg;

	for (look(t); hear(t) && say(t); look(t))
		t->seq++;
	if (t->phase != PHASE_STOP)
		turn(t, PHASE_STOP);
	close_both(t);
}

/* ---- descriptors ---------------------------------------------------------------------- */

static void
narrow(void *context, size_t who)
{
	struct talk *k = context;

	close_both(&k->shared->talker[who == ASKER ? ANSWERER : ASKER]);
}

static void
detach(void *context)
{
	struct talk *k = context;

	for (int who = 0; who < NTALKERS; who++)
		close_both(&k->shared->talker[who]);
}

static int
open_ends(struct talk *k, const struct options *o, const struct subject *subject,
    const size_t size[NTALKERS])
{
	struct talker *asker = &k->shared->talker[ASKER];
	struct talker *answerer = &k->shared->talker[ANSWERER];
	int fd[2], status = subject->open(o, size[ASKER], fd);

	if (status != EXIT_DONE)
		return status;
	answerer->in = answerer->out = fd[0];
	asker->in = asker->out = fd[1];
	if (subject->both_ways)
		return EXIT_DONE;
	status = subject->open(o, size[ANSWERER], fd);
	if (status == EXIT_DONE) {
		asker->in = fd[0];
		answerer->out = fd[1];
		return EXIT_DONE;
	}
	subject->close(answerer->in);
	subject->close(asker->out);
	return status;
}

/* ---- the whole --------------------------------------------------------------------------- */

static int
describe(struct talk *k, const struct options *o, const struct subject *subject,
    const size_t size[NTALKERS])
{
	static const char *const names[] = {"asker", "answerer"};
	static void (*const works[])(void *) = {ask, answer};
	struct options how = *o;

	how.blocking = !o->poll_each;
	for (int who = 0; who < NTALKERS; who++) {
		struct talker *t = &k->shared->talker[who];
		struct member *m = &k->crew.member[who];

		*t = (struct talker){
		    .subject = subject,
		    .order = &k->shared->order,
		    .mode = o->mode,
		    .polls = o->poll_each,
		    .say = payload_alloc(size[who]),
		    .hear = payload_alloc(size[!who]),
		    .hears = size[!who],
		};
		if (t->say == NULL || t->hear == NULL)
			return complain("dialog: %s", strerror(ENOMEM)), EXIT_FAILED;
		payload_init(&t->said, t->say, size[who]);
		m->work = works[who];
		m->arg = t;
		m->cpu = o->ncpus == 0 ? -1 : o->cpus[who % o->ncpus];
		strlcpy(m->name, names[who], sizeof(m->name));
	}
	return open_ends(k, &how, subject, size);
}

static void
collect(const struct talk *k, struct dialog *d)
{
	d->ran = k->crew.ran;
	d->stuck = k->crew.stuck;
	d->latency = k->shared->latency;
	strlcpy(d->error, k->crew.error, sizeof(d->error));
	for (int who = NTALKERS - 1; who >= 0; who--) {
		const struct talker *t = &k->shared->talker[who];

		d->usage[who] = crew_used(&t->begin, &t->end);
		d->bad += t->bad;
		d->eagain += t->eagain;
		if (t->error[0] != '\0' && d->error[0] == '\0')
			snprintf(d->error, sizeof(d->error), "%s: %s",
			    k->crew.member[who].name, t->error);
	}
	d->trans = k->shared->talker[ASKER].end_seq - k->shared->talker[ASKER].begin_seq;
}

/* Shared and talk are static: a stuck thread goes on using them. */
int
dialog_run(const struct options *o, const struct subject *subject, size_t request,
    size_t response, double seconds, struct dialog *d)
{
	static struct shared *shared;
	static struct talk talk;
	const size_t size[NTALKERS] = {[ASKER] = request, [ANSWERER] = response};
	int status;

	memset(d, 0, sizeof(*d));
	if (shared == NULL && (shared = crew_memory(sizeof(*shared))) == NULL)
		return EXIT_FAILED;
	hist_init(&shared->latency);
	talk = (struct talk){
	    .shared = shared,
	    .crew = {.mode = o->mode,
		.n = NTALKERS,
		.order = &shared->order,
		.narrow = narrow,
		.detach = detach,
		.context = &talk},
	};
	status = describe(&talk, o, subject, size);
	if (status != EXIT_DONE)
		return status;
	crew_run(&talk.crew, slice_warmup(seconds), seconds);
	collect(&talk, d);
	for (int who = 0; who < NTALKERS && !d->stuck; who++) {
		free(shared->talker[who].say);
		free(shared->talker[who].hear);
	}
	return EXIT_DONE;
}

double
dialog_overhead(size_t request, size_t response)
{
	static struct hist h;
	enum { ROUNDS = 5000 };
	int64_t start = intr_now(), now = start;

	hist_init(&h);
	for (int i = 0; i < ROUNDS; i++, now = intr_now())
		hist_record(&h, now - start);
	return (double)(now - start) / ROUNDS + payload_overhead(request) +
	    payload_overhead(response);
}
