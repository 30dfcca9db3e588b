/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perim.h: perimeters: one thread at a time inside a module.
 *
 * Level 8.
 *
 *   pe_word   63 .......... 32   31        30 .......... 0
 *            | wanter's slot   | PENDING | owner's slot |   0: free, nothing parked
 *
 * Entering is one compare-and-swap of 0 to the own slot.  Who cannot enter
 * parks the message on the destination queue, puts the queue on the
 * perimeter's list, sets PENDING and goes on; whoever holds the perimeter runs
 * what is parked before it leaves.  So a put never waits, a chain that comes
 * back into a perimeter of its own thread is run after the outermost frame,
 * and a queue's parked messages are never overtaken.  Open and close routines
 * cannot be parked: their threads wait, and are given the perimeter by the next
 * one that leaves it, before what is parked.
 *
 *   parker                                 holder, leaving
 *   D1 message on q, q on the list         D4 word: me -> 0, or -> the wanter (D8),
 *   D2 PENDING set (fetch-or)                 with what is pending (c-a-s); done
 *   D3 word was free? -> take it, D5       D5 if PENDING: clear it, run the list,
 *                                             again D4
 *
 *   D6 a queue of a group that a writer holds stays on the list: the word becomes
 *      free and PENDING, and the thread comes back when it names no group
 *   D7 a queue that is taken out hands what is parked on it to the next one
 *      before anybody else is let in (qprocsoff)
 *   D8 perim_enter: taken -> name oneself as wanter, name no group, wait until the
 *      word's owner is oneself.  Giving up (its owner is stopped) withdraws the
 *      name, unless one is the owner by then.  A second wanter waits for the first
 *   D9 a holder that has run PERIM_SHARE messages leaves the rest as in D6, and waits
 *      a little before he comes back for it, so that who parks takes over and a call
 *      does not serve other threads for ever
 *
 * invariant 1: after D2 somebody runs D5: the holder whose D4 fails for the
 *   bit, or the parker itself, or who was given the perimeter with the bit.
 * (tests/model/perim.pml)
 * invariant 2: a queue is on at most one list, once (q_pflag QP_LISTED).
 * invariant 3: nobody waits for anything while it holds a perimeter, except
 *   outside all groups for a writer of a group that it has to visit, or of its own
 *   after D8.  Such a writer waits for no perimeter.
 * invariant 4: owner = 0 implies wanter = 0: both change in one step.
 * invariant 5: memory that was a perimeter once stays one.  Who postponed it (D6, D9)
 *   comes back from outside all groups, when its queues may be gone: then it is free
 *   and nothing is on its list, or it is other queues', whom a kick does no harm.  So
 *   one that is made anew keeps its word and who comes back.
 *
 * q_pbytes and q_pblocks count what is parked, for canput (flow.c).
 */
#ifndef STREAMS_PERIM_H
#define STREAMS_PERIM_H

#include "queue.h"

struct perim {
	uint64_t pe_word;	 /* A  drawn above */
	queue_t *pe_first;	 /* P  queues with parked work */
	queue_t *pe_last;	 /* P */
	struct perim *pe_next;	 /* O  on a thread's sl_later list */
	uint32_t pe_lock;	 /* A  guards the list */
	uint32_t pe_later;	 /* A  that thread's slot, or 0 */
	struct perim *pe_free;	 /* L  the next one that is no queue's (group.h) */
	uint32_t pe_spare[4];
} LINE_ALIGNED;

#define PERIM_PENDING 0x80000000u
#define PERIM_SHARE 256 /* messages and service procedures (D9) */

INLINE uint32_t
perim_owner(uint64_t word)
{
	return (uint32_t)word & ~PERIM_PENDING;
}

INLINE uint32_t
perim_wanter(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* q_pflag */
#define QP_LISTED 1	/* on the perimeter's list */
#define QP_SRV 2	/* its service procedure is to be run */

/* One for queues that have none yet, or NULL; and given back, when it is off them. */
struct perim *perim_make(struct slot *me);
void perim_retire(struct slot *me, struct perim *p);
/* Deliver mp to q through p, or park it. */
void perim_put(struct perim *p, queue_t *q, mblk_t *mp);
/*
 * The two halves of parking, for who is in no group of q's (strlog.c): D1, while
 * a lock of a lower rank keeps q in place, and D2, D3 after it.
 */
void perim_park(struct slot *me, struct perim *p, queue_t *q, mblk_t *mp);
void perim_announce(struct slot *me, struct perim *p);
/* Run q's service procedure now, or leave it to p's holder. */
void perim_service(struct slot *me, queue_t *q);
/*
 * For open and close routines: wait until p is free; names no group meanwhile.
 * false: its holder is stopped.
 */
bool perim_enter(struct slot *me, struct perim *p);
/* Take it if nobody is inside; for callbacks, which cannot be parked. */
bool perim_try(struct slot *me, struct perim *p);
void perim_leave(struct slot *me, struct perim *p);
/* Run what is parked, if nobody is inside. */
void perim_kick(struct slot *me, struct perim *p);
/*
 * Under plumb_lock, after a thread died inside the group: what is parked on q is
 * on the list, and will be run.  True: the dead thread was inside the perimeter.
 */
bool perim_mend(struct slot *me, queue_t *q);
/* The list is whole again after its lock was broken. */
void perim_salvage(struct perim *p);
/* Under plumb_lock: take q off its perimeter; what was parked on it. */
mblk_t *perim_forget(queue_t *q);

#endif
