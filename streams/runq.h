/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * runq.h: enabling queues, and the list of those to be served.
 *
 * Level 6.  One run list per plumbing group, in the arena: whoever enters or
 * leaves the group runs what is on it, so a queue enabled by a thread that is
 * then stopped or killed is served by the next one.
 *
 *   idle ──runq_enable──► QENAB, listed ──runq_next──► QHLIST (in service)
 *    ▲                                                     │        │
 *    └───────────────runq_done, not enabled again─────────┘        │
 *                     listed again ◄──runq_done, QENAB set in service
 *
 *   invariant 1: a queue is on the list iff QENAB and not QHLIST, unless a thread was
 *     killed between the two: then until the sweep, or until it comes to the front;
 *   invariant 2: QHLIST is set by the one thread that runs the procedure.
 */
#ifndef STREAMS_RUNQ_H
#define STREAMS_RUNQ_H

#include "queue.h"

struct runq {
	uint32_t rq_lock;	/* A */
	uint32_t rq_n;		/* R  queues on it */
	queue_t *rq_first;	/* R  A for the empty test */
	queue_t *rq_last;	/* R */
};

/* Schedule q's service procedure, if it has one and is not yet scheduled. */
void runq_enable(queue_t *q);
/* The next queue to serve, marked in service; NULL when none. */
queue_t *runq_next(struct slot *me, struct runq *rq);
/* Its service procedure returned. */
void runq_done(struct slot *me, queue_t *q);
/* Take q off; the group is held exclusively. */
void runq_forget(queue_t *q);
/*
 * A thread died where it may have changed things half.  purge: whatever is on
 * the list belongs there (invariant 1); mend: q is enabled and on its list,
 * whatever its flags said; for both the group is held exclusively.  salvage: the
 * list is whole again after its lock was broken.
 */
void runq_purge(struct slot *me, struct runq *rq);
void runq_mend(struct slot *me, queue_t *q);
void runq_salvage(struct runq *rq);
/* Under rq_lock: has every queue on it a service procedure, are end and length true? */
bool runq_valid(const struct runq *rq);
/* What is on from goes behind what is on to; from's queues name to already. */
void runq_move(struct slot *me, struct runq *from, struct runq *to);

INLINE bool
runq_pending(struct runq *rq)
{
	return ld_seq(&rq->rq_first) != NULL;
}

#endif
