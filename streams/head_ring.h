/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_ring.h: the rings of the flight recorder: on the list, in a hand, free.
 *
 * Level 10.  A ring may be of megabytes, and is in somebody's hand for as long as it
 * takes to clear it; so who is killed must not have it lost.
 *
 * invariant: a ring is on the list from its birth to its end, whoever is killed; on its
 *   way there from the heap, and back, a note leads to it (N1 to N3 of heap.h).
 *
 * Who is killed leaves a ring in one of these states (head_trace.h draws them), and who
 * comes next sees to it.  Who holds it, if somebody does, is tr_holder:
 *
 *   noted, not listed    the thread with the note.  Whoever buries it frees the ring
 *                        (ring_salvage).  Both noted and listed: the note is void,
 *                        and cleared before the ring is another one's
 *   TRACE_HELD           tr_holder: nothing leads to it.  Freed once he is gone
 *   TRACE_ON, and        tr_holder has made the stream, and nothing leads to that yet, or
 *     tr_holder is set   takes it apart, and nothing leads to it any more.  Once he is
 *                        gone: if a descriptor leads to the stream, all is well, or else
 *                        its program wants it no longer (find_lost)
 *   TRACE_ON             nobody; who wants it is known.  A stream that is given up is
 *                        wanted by no program (suspect.c)
 *   TRACE_RETIRED        nobody, or tr_holder waits until nobody knows it: once he is
 *                        gone another one begins to wait
 *   TRACE_GONE           the tools that want it; when none is left, whoever looks
 *
 * So a killed process costs no ring, whatever it did with how many of them.  Writers
 * look at none of this.
 * (tests/check_trace.c, tests/stress_crash.c: recording)
 */
#ifndef STREAMS_HEAD_RING_H
#define STREAMS_HEAD_RING_H

#include "trace.h"

/* A ring for stream id, on the list and in the caller's hand; NULL: no memory. */
struct trace *ring_make(struct slot *me, uint32_t id, unsigned int records);
/* t is in the caller's hand. */
void ring_free(struct slot *me, struct trace *t);
/* Those that nothing leads to, and nobody will free. */
void ring_free_scrap(struct slot *me);
/* s is that of a dead thread: what it had noted is free, or listed. */
void ring_salvage(struct slot *s);
/*
 * The lowest number above id of a stream with a ring that is(t), or 0: so that one
 * for which nothing can be done is in the way of no other.
 */
uint32_t ring_next(struct slot *me, bool (*is)(const struct trace *), uint32_t id);

/* Under tt_lock: t is the caller's, and nothing leads to it. */
void ring_into_hand(struct slot *me, struct trace *t);
/* By whom a ring is wanted: not counted is a program whose stream is gone. */
bool ring_wanted(const struct trace *t);
/* Is t in the hand of somebody who was killed, or, on, its stream? */
bool ring_left(const struct trace *t);
/* Nothing leads to it, and nobody frees it. */
bool ring_scrap(const struct trace *t);
/* The ring that is on for stream id, whether its queues lead to it yet or not. */
struct trace *ring_on(uint32_t id);
/* The first ring of stream id, or of any (0), that is(t); or NULL. */
struct trace *ring_first(bool (*is)(const struct trace *), uint32_t id);

#endif
