/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plumb.h: plumbing groups: who may walk the queues, who may relink them.
 *
 * Level 8.  A group is the set of streams whose queues can reach each other:
 * the two ends of a pipe; all minors of a driver that is not independent.
 * Every call is a reader of its group for as long as it touches queues; open,
 * push, pop, close, qprocson and qprocsoff are writers, for the few lines that
 * relink.
 *
 *   reader (every call)                  writer (plumb_lock .. plumb_unlock)
 *   P1 sl_home := group   (exchange)     P4 g_plumber := me      (c-a-s)
 *   P2 g_plumber set? -> leave, wait     P5 wait until no slot names the group
 *   P3 ... sl_home := NULL (release)     P6 relink; g_plumber := 0 (release)
 *
 * invariant 1: from P6's first line to its last no other slot names the group
 *   past P2: either the reader's P1 precedes P4 and P5 sees it, or P2 sees P4.
 * invariant 2: a writer calls nothing out while it holds the group, but put
 *   procedures with what was parked on a queue it takes out (they never wait);
 *   and a thread that waits for a group names none: writers cannot wait in a circle.
 *
 * (tests/model/plumb.pml)
 *
 * A reader costs one exchange on a line of its own and one store; a writer
 * looks at every slot.  Cells are never unmapped, so a stale pointer to one names
 * some group, and the worst that does is to make its writer wait; nobody but its
 * writer gives it free (group.h, invariant 4).  Groups merge: a merged one turns
 * everybody away in P2.
 *
 * sl_visiting names a second group while a perimeter's holder runs what was
 * parked for a queue there (perim.h).
 */
#ifndef STREAMS_PLUMB_H
#define STREAMS_PLUMB_H

#include "group.h"

/* The shared part, by the arena's creator; then, and for who joins, the process's. */
int plumb_init(void);
void plumb_join(void);
/* For who judges the arena: the dead end and its tables. */
bool plumb_deadend_sound(void);

/*
 * Wait until no writer holds g, or g has been merged into another; names no
 * group meanwhile.
 */
void plumb_wait(struct slot *me, struct group *g);
/* Enter g, or what it has been merged into, waiting for writers. */
void plumb_into(struct slot *me, struct group *g);
/*
 * Call look for the head of every stream there is, from outside all groups: inside
 * the stream's and under pl_lock, so that neither queues nor sd_mate change.  False:
 * those of some group were left out, a stopped thread holds it.
 */
bool plumb_survey(struct slot *me, void (*look)(queue_t *hrq, void *arg), void *arg);
/* Serve the run list: was there anything, and no writer waiting? */
bool plumb_run(struct slot *me, struct group *g);
/* Perimeters whose parked work lies in other groups. */
void plumb_later(struct slot *me);

/* P1, P2: false: a writer is in; sl_home is NULL again. */
INLINE bool
plumb_enter(struct slot *me, struct group *g)
{
	ASSERT(ld_rlx(&me->sl_home) == NULL);
	(void)xchg(&me->sl_home, g);
	JITTER();
	if (likely(ld_seq(&g->g_plumber) == 0))
		return true;
	st_rel(&me->sl_home, NULL);
	return false;
}

/* P3, after serving what is enabled; true: something is to be done outside (sl_after). */
INLINE bool
plumb_left(struct slot *me, struct group *g)
{
	if (unlikely(runq_pending(&g->g_run)))
		(void)plumb_run(me, g);
	st_rel(&me->sl_home, NULL);
	return unlikely(ld_rlx(&me->sl_after) != 0);
}

/* P3, the perimeters drained; what else is to be done is left to the end of the call. */
INLINE void
plumb_leave(struct slot *me, struct group *g)
{
	if (plumb_left(me, g))
		plumb_later(me);
}

/* P3 for who has waited inside: the group may have been merged meanwhile. */
INLINE void
plumb_exit(struct slot *me)
{
	plumb_leave(me, ld_rlx(&me->sl_home));
}

/*
 * P3 for who only looked, and enabled nothing: what others enabled they serve
 * themselves.  Taking a queue away from them to serve it, he would have them return
 * before their messages have come where they find them.
 */
INLINE void
plumb_looked(struct slot *me)
{
	st_rel(&me->sl_home, NULL);
}

/*
 * Name a second group, if it is one: refused while a writer is in, or when
 * this thread already visits another.  unvisit takes what visit returned.
 */
enum { VISIT_REFUSED, VISIT_INSIDE, VISIT_ENTERED };
int plumb_visit(struct slot *me, struct group *g);
void plumb_unvisit(struct slot *me, int token);

/*
 * P4, P5, for the group the caller is inside of; he stays inside after
 * plumb_unlock; in between nobody else is.  Pointers into it must be looked up
 * again afterwards, except to what the caller's own plumbing flag keeps alive;
 * sl_home names the root if the group has been merged meanwhile.  plumb_try
 * gives up (false) when a thread inside is stopped.
 */
bool plumb_try(struct slot *me);
void plumb_lock(struct slot *me);
void plumb_unlock(struct slot *me);

/*
 * The same for a second group while the first is held: only for the one thread
 * that merges (M1), or writers would wait in a circle.  What is held then, g or
 * what it has been merged into; NULL: a thread inside is stopped.
 */
struct group *plumb_also(struct slot *me, struct group *g);
/* Give the second group free. */
void plumb_part(struct group *g);

/*
 * Wait until every call that is inside g now has left; the caller is outside.
 * 0, or ETIME: one of them is stopped.
 */
int plumb_quiesce(struct group *g);

/* Under plumb_lock: put the pair in below its stream head (rq->q_next). */
void plumb_insert(queue_t *rq);
/* Under plumb_lock: take it out. */
void plumb_remove(queue_t *rq);
/* Under plumb_lock: what lies below head hrq now ends in the dead end. */
void plumb_cut(queue_t *hrq);
/* Under plumb_lock: weld two heads' bottoms together. */
void plumb_weld(queue_t *hrq, queue_t *peer);
/* Under plumb_lock: set q_nfsrv along the stream of head hrq, both ways. */
void plumb_resolve(queue_t *hrq);

#endif
