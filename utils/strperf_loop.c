/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_loop.c: the loops of writer and reader, one source for all subjects.
 *
 * Poll, then write or read until EAGAIN, then poll again: a transport that is
 * never full pays for no poll.  With --poll-each there is a poll before each
 * message, with --blocking none at all.
 *
 * Between the transport's own calls there is no system call and no clock.  The
 * parent orders the phases through one shared word; each side looks at it once
 * a message, between messages, which is a load from its own cache:
 *
 *	PHASE_WARM -> PHASE_RUN    turn() notes clock and resources: begin
 *	PHASE_RUN  -> PHASE_STOP   turn() notes them again: end
 *
 * So a window begins and ends with a message, and what is still under way at
 * the end is counted as sent and read but is in nobody's rate.  A message is
 * begun only before PHASE_STOP and then always finished, in as many calls as
 * the transport wants: a byte stream may take or give any part of it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_loop.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "strperf_intr.h"
#include "strperf_subject.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define IDLE_EVERY 2048	   /* messages between two parts of a planted delay */
#define SLEEP_AHEAD 200000 /* nanoseconds; nearer than that a writer does not sleep */
#define WRITER_SHIFT 56	   /* of the writer in a message's number */

/* ---- phases -------------------------------------------------------------------- */

static void
note_counts(const struct side *s, struct counts *c)
{
	struct usage u = crew_usage(s->mode);

	*c = (struct counts){
	    .msgs = s->msgs,
	    .eagain = s->eagain,
	    .ctxsw = u.ctxsw,
	    .cpu_us = u.cpu_us,
	    .ns = u.ns,
	};
}

/* Follow an order.  A stop without a run leaves an empty window. */
static __attribute__((noinline)) void
turn(struct side *s, int order)
{
	note_counts(s, order == PHASE_STOP ? &s->end : &s->begin);
	if (s->phase == PHASE_WARM && order == PHASE_STOP)
		s->begin = s->end;
	s->phase = order;
}

static int64_t
own_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/*
 * A planted delay: do nothing for a part of the processor time used since the
 * last one.  Both sides do, so that whichever is the bottleneck is slower by it.
 */
static __attribute__((noinline)) void
idle(struct side *s)
{
	int64_t used = own_time(), until;

	until = used + (int64_t)((double)(used - s->idled) * s->idle);
	while (used < until)
		used = own_time();
	s->idled = used;
	s->idle_at = s->msgs + IDLE_EVERY;
}

static inline void
look(struct side *s)
{
	int order = atomic_load_explicit(s->order, memory_order_relaxed);

	if (unlikely(s->msgs >= s->idle_at))
		idle(s);
	if (unlikely(order != s->phase))
		turn(s, order);
}

/* ---- what a transfer came to ---------------------------------------------------- */

enum step {
	STEP_MORE, /* call again */
	STEP_POLL, /* the transport is full or empty */
	STEP_END,  /* end of data, or an error */
};

static enum step
give_up(struct side *s, const char *what)
{
	snprintf(s->error, sizeof(s->error), "%s of message %llu: %s", what,
	    (unsigned long long)s->msgs, strerror(errno));
	return STEP_END;
}

static enum step
refused(struct side *s, const char *what)
{
	if (errno == EINTR)
		return STEP_MORE;
	if (errno != EAGAIN || !s->polls)
		return give_up(s, what);
	s->eagain++;
	return STEP_POLL;
}

/* Sleep until the side's descriptor is ready, or hung up: the next call will tell. */
static bool
await(struct side *s, short events)
{
	struct pollfd pfd = {.fd = s->fd, .events = events};

	while (s->subject->poll(&pfd, 1, -1) == -1) {
		if (errno == EINTR)
			continue;
		give_up(s, "poll");
		return false;
	}
	return true;
}

/* ---- writer ----------------------------------------------------------------------- */

/*
 * With --rate: until the next message is due.  Far ahead the writer sleeps, so
 * as not to take the reader's processor; near, it looks at the clock.
 */
static void
await_due(struct side *s)
{
	int64_t start = atomic_load_explicit(s->start, memory_order_relaxed), ahead;

	if (unlikely(start == 0))
		atomic_store(s->start, start = intr_now());
	while ((ahead = start + (int64_t)s->msgs * s->period - intr_now()) > 0) {
		look(s);
		if (s->phase == PHASE_STOP)
			return;
		if (ahead > SLEEP_AHEAD)
			nanosleep(&(struct timespec){.tv_nsec = SLEEP_AHEAD / 2}, NULL);
		else if (s->shares_cpu)
			sched_yield();
	}
}

/* The number that the next message carries: of several writers it names the one. */
static inline uint64_t
number(const struct side *s)
{
	return s->number << WRITER_SHIFT | s->msgs;
}

/* Byte 0 belongs to the sequence number: the next stamp mends a planted flip. */
static inline void
stamp(struct side *s)
{
	payload_stamp(&s->payload, s->buf, number(s));
	if (unlikely(s->msgs == s->flip))
		s->buf[0] ^= 0x10;
}

static inline enum step
send_some(struct side *s)
{
	ssize_t n;

	if (s->done == 0)
		stamp(s);
	n = s->subject->write(s->fd, s->buf + s->done, s->size - s->done);
	if (unlikely(n < 0))
		return refused(s, "write");
	s->done += (size_t)n;
	if (likely(s->done == s->size)) {
		s->done = 0;
		s->msgs++;
	}
	return STEP_MORE;
}

/* Whether there is something to send: the rest of a message, or time for a new one. */
static inline bool
to_send(struct side *s)
{
	if (s->done != 0)
		return true;
	look(s);
	if (unlikely(s->period != 0) && s->phase != PHASE_STOP)
		await_due(s);
	return s->phase != PHASE_STOP;
}

/* The last writer says that there will be no more, once to each reader. */
static void
finish(struct side *s)
{
	bool last = atomic_fetch_sub(s->users, 1) == 1;

	for (size_t i = 0; last && s->error[0] == '\0' && i < s->nreaders; i++)
		if (s->subject->finish(s->fd) == -1)
			give_up(s, "end");
	if (last || s->mode == MODE_PROCESS)
		s->subject->close(s->fd);
}

void
loop_write(void *side)
{
	struct side *s = side;
	enum step step = STEP_MORE;

	payload_init(&s->payload, s->buf, s->size);
	while (step != STEP_END && to_send(s)) {
		if (s->polls && !await(s, POLLOUT))
			break;
		do
			step = send_some(s);
		while (step == STEP_MORE && !s->poll_each && to_send(s));
	}
	if (s->phase != PHASE_STOP)
		turn(s, PHASE_STOP);
	finish(s);
}

/* ---- reader ------------------------------------------------------------------------ */

static __attribute__((noinline)) void
note_bad(struct side *s, const char *what)
{
	if (s->bad++ == 0)
		snprintf(s->fault, sizeof(s->fault), "message %llu: %s",
		    (unsigned long long)s->msgs, what);
}

/* Look for the sequence after a fault where this message says it is. */
static __attribute__((noinline)) void
note_fault(struct side *s, enum payload_fault fault)
{
	uint64_t seq = payload_seq(s->buf, s->size);

	note_bad(s, fault == PAYLOAD_SUM ? "wrong checksum" : "out of sequence");
	if (fault == PAYLOAD_SEQUENCE && s->size < PAYLOAD_CHECKED)
		s->seq += (uint8_t)(seq - s->seq);
	else if (fault == PAYLOAD_SEQUENCE)
		s->seq = seq;
}

/*
 * Among several writers or readers a message of 16 bytes or more tells who
 * sent it.  What one writer sent arrives in order; a single reader misses none.
 */
static __attribute__((noinline)) void
check_among_many(struct side *s)
{
	uint64_t seq = payload_seq(s->buf, s->size), who = seq >> WRITER_SHIFT;

	if (s->size < PAYLOAD_CHECKED)
		return;
	if (payload_check(s->buf, s->size, seq) != PAYLOAD_GOOD || who >= s->nwriters) {
		note_bad(s, "wrong checksum");
		return;
	}
	seq &= ((uint64_t)1 << WRITER_SHIFT) - 1;
	if (s->nreaders == 1 ? seq != s->next[who] : seq < s->next[who])
		note_bad(s, "out of sequence");
	s->next[who] = seq + 1;
}

static __attribute__((noinline)) void
note_latency(struct side *s)
{
	if (s->phase == PHASE_RUN)
		hist_record(s->latency,
		    intr_now() - atomic_load(s->start) - (int64_t)s->seq * s->period);
}

static inline void
take_message(struct side *s)
{
	enum payload_fault fault = PAYLOAD_GOOD;

	if (unlikely(s->nwriters + s->nreaders > 2))
		check_among_many(s);
	else
		fault = payload_check(s->buf, s->size, s->seq);
	if (unlikely(fault != PAYLOAD_GOOD))
		note_fault(s, fault);
	if (unlikely(s->period != 0))
		note_latency(s);
	s->seq++;
	s->msgs++;
	s->done = 0;
	look(s);
}

static inline enum step
receive_some(struct side *s)
{
	ssize_t n = s->subject->read(s->fd, s->buf + s->done, s->size - s->done);

	if (unlikely(n < 0))
		return refused(s, "read");
	if (unlikely(n == 0))
		return STEP_END;
	s->done += (size_t)n;
	if (likely(s->done == s->size))
		take_message(s);
	else if (s->whole)
		note_bad(s, "arrived in parts");
	return STEP_MORE;
}

void
loop_read(void *side)
{
	struct side *s = side;
	enum step step = STEP_MORE;

	while (step != STEP_END) {
		if (s->polls && !await(s, POLLIN))
			break;
		do
			step = receive_some(s);
		while (step == STEP_MORE && !s->poll_each);
	}
	if (s->phase != PHASE_STOP)
		turn(s, PHASE_STOP);
	if (s->done != 0)
		note_bad(s, "ended in the middle");
	if (atomic_fetch_sub(s->users, 1) == 1 || s->mode == MODE_PROCESS)
		s->subject->close(s->fd);
}
