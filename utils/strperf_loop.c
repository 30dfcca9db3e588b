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
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "strperf_intr.h"
#include "strperf_subject.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* ---- phases -------------------------------------------------------------------- */

static uint64_t
microseconds(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000 + (uint64_t)tv->tv_usec;
}

static void
note_counts(const struct side *s, struct counts *c)
{
	struct rusage ru;

	getrusage(s->mode == MODE_THREAD ? RUSAGE_THREAD : RUSAGE_SELF, &ru);
	c->msgs = s->msgs;
	c->eagain = s->eagain;
	c->ctxsw = (uint64_t)(ru.ru_nvcsw + ru.ru_nivcsw);
	c->cpu_us = microseconds(&ru.ru_utime) + microseconds(&ru.ru_stime);
	c->ns = intr_now();
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

static inline void
look(struct side *s)
{
	int order = atomic_load_explicit(s->order, memory_order_relaxed);

	if (unlikely(order != s->phase))
		turn(s, order);
}

struct counts
loop_window(const struct side *s)
{
	return (struct counts){
	    .msgs = s->end.msgs - s->begin.msgs,
	    .eagain = s->end.eagain - s->begin.eagain,
	    .ctxsw = s->end.ctxsw - s->begin.ctxsw,
	    .cpu_us = s->end.cpu_us - s->begin.cpu_us,
	    .ns = s->end.ns - s->begin.ns,
	};
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

/* Byte 0 belongs to the sequence number: the next stamp mends a planted flip. */
static inline void
stamp(struct side *s)
{
	payload_stamp(&s->payload, s->buf, s->msgs);
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
	return s->phase != PHASE_STOP;
}

void
loop_write(struct side *s)
{
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
	if (s->error[0] == '\0' && s->subject->finish(s->fd) == -1)
		give_up(s, "end");
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

static inline void
take_message(struct side *s)
{
	enum payload_fault fault = payload_check(s->buf, s->size, s->seq);

	if (unlikely(fault != PAYLOAD_GOOD))
		note_fault(s, fault);
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
loop_read(struct side *s)
{
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
}
