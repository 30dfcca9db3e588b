/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.h: the cells of plumbing groups: their life and their merging.
 *
 * Level 8.  A group (plumb.h) is a set of streams that can reach each other.
 * It grows when a stream is linked below a multiplexor: the lower stream's
 * group is merged into the multiplexor's and stays there until its streams
 * close; groups never come apart again.
 *
 *        fdent.fe_group ──► cell A ──g_parent──► cell B ◄── q_runq of every queue
 *                           MERGED                │
 *                                                 └─g_heads──► the stream heads
 *
 *   M1 A and B held exclusively (plumb_lock, plumb_also)
 *   M2 A.g_parent := B, then B.g_absorbs := A
 *   M3 under pl_lock: what is to be done is noted, done and struck out:
 *        R1 pl_merge: both cells, A's first and last stream, B's first, B's count;
 *           the last of these stores names A
 *        R2 A's streams name B          R4 B.g_refs counts A; A.g_plumber := MERGED
 *        R3 A's list before B's; A's    R5 pl_merge names no cell
 *           is empty
 *   M4 A's run list moved to B's; B.g_absorbs := NULL
 *
 * Death.  What was held is left as it was, so nobody else is inside, and each
 * store leaves one of these states:
 *
 *   left between    A.g_plumber  B.g_plumber  what makes it good
 *   M1, M2          dead         dead         each cell is given free by who waits
 *                                             for it (succeed, plumb.c); A is no
 *                                             part of B: g_absorbs does not say so
 *   M2, R1          dead         dead         who waits for either takes B over and
 *                                             does M3, M4; nobody takes A over
 *   R1, R5          dead or      dead         pl_lock is the dead one's, too: who
 *                   MERGED                    waits for it, anybody, does R2..R5
 *                                             before he is in (group_salvage)
 *   R5, the end     MERGED       dead         who waits for B does M4; queues on
 *                                             neither list are enabled by the sweep
 *
 * A merged cell keeps GROUP_MERGED in g_plumber for ever, so that who enters it
 * by an old descriptor entry is turned away in P2 and goes to the root: the
 * fast way in has nothing to look at that it did not before.
 *
 * A cell is kept by its maker, by each stream that was born in it (even after a
 * merging: the stream's descriptor entries may name it) and by each cell that
 * was merged into it; the last one gives it back.
 *
 * invariant 1: the queues of an open stream name one group, the root of the cell
 *   the stream was born in; both change only at M3, under pl_lock.
 * invariant 2: while a stream lives, its cell and all cells above it do.
 * invariant 3: one thread at a time merges (head_link.c); if it is killed after
 *   M2, whoever takes B's g_plumber over does M3 and M4.  M3 is whole to everybody
 *   who has pl_lock: R2..R4 store what R1 noted, whatever is there, so they may be
 *   done again from the beginning, by one after the other, if those die, too.
 * (tests/model/merge.pml)
 * Links change in the same way, in all of them or in none:
 *
 *   T1 g_relink: each link that is to be; the last of these stores, g_relinks, counts them
 *   T2 the links stored           T4 g_relinks := 0
 *   T3 what canput looks at set anew, along the whole stream
 *
 * A writer killed between T1 and T4 leaves his successor, who lets nobody in before, to
 * do T2..T4: a pair is in the stream both ways, or out of it both ways, whoever looks.
 * One that is out one way only would have the next to be taken out looked for from there,
 * be freed while it is linked, and be found again, for ever.
 *
 * invariant 4: g_plumber that names a slot is changed by that slot's thread, or
 *   when it is gone; also of a cell whose streams are gone.  Who looks for the
 *   dead enters a group by a pointer that nothing keeps, and may hold the cell
 *   while the last stream leaves it and the next one is born in it.
 * invariant 5: suspicion ends with the cell's life: a stream is not condemned for
 *   a death among those that had the cell before it.
 * invariant 6: T2, T3 store what T1 noted and what follows from it, whatever is there; so
 *   they may be done again, by one after the other.  A pair that is out of its stream is on
 *   no list (qprocsoff): nothing leads to it any more, if it is never freed.
 */
#ifndef STREAMS_GROUP_H
#define STREAMS_GROUP_H

#include "runq.h"

/* A link that is to be. */
#define RELINKS 3
struct relink {
	queue_t *rl_at;
	queue_t *rl_to;
};

/* Guard tag W: the group's writer. */
struct group {
	struct runq g_run;	/* R  queues to be served; first: q_runq leads here */
	uint32_t g_plumber;	/* A  slot of the writer, 0 none, GROUP_MERGED */
	uint32_t g_refs;	/* L  what keeps the cell */
	struct group *g_parent;	/* A  the cell it is, or is being, merged into */
	struct group *g_absorbs; /* A  the cell being merged into this one */
	queue_t *g_heads;	/* L  read queues of its stream heads, by q_gnext */
	struct group *g_next;	/* L  free list */
	uint32_t g_relinks;	/* A  of g_relink: its writer is making them true */
	struct group *g_all;	/* C  next of all cells ever made */
	struct relink g_relink[RELINKS]; /* W  T1 */
} LINE_ALIGNED;

_Static_assert(offsetof(struct group, g_relinks) == LINE, "what all look at is a line");
_Static_assert(offsetof(struct group, g_run) == 0, "q_runq leads to the cell");
_Static_assert(sizeof(struct group) == 2 * LINE, "and the rest is another");

#define GROUP_MERGED 0x80000000u /* no slot's key */

#define NSUSPECT 256	/* deaths inside groups, not yet seen to */
#define SUSPECT_LINKS 1 /* in an entry: it died while it relinked the group */
#define SUSPECT_AGAIN 2 /* one more death, since the last sweep began */
#define SUSPECT_FLAGS 3

INLINE struct group *
suspected(uintptr_t entry)
{
	return (struct group *)(entry & ~(uintptr_t)SUSPECT_FLAGS);
}

/* R1: what M3 stores, for who has to do it again. */
struct merging {
	struct group *mg_from;	/* L  NULL: nothing is being done */
	struct group *mg_into;	/* L */
	queue_t *mg_first;	/* L  of mg_from's list */
	queue_t *mg_last;	/* L  NULL: it is empty */
	queue_t *mg_rest;	/* L  first of mg_into's */
	uint32_t mg_refs;	/* L  mg_into's, with this one */
};

/* Guard tag L: pl_lock. */
struct plumb_root {
	uint32_t pl_lock;	/* A */
	struct group *pl_free;	/* L  cells not in use */
	struct perim *pl_perims; /* L  perimeters not in use (perim.h) */
	struct group *pl_all;	/* A  all cells, by g_all: through them, all streams */
	struct merging pl_merge; /* L */
	queue_t pl_deadend[2];	/* C  swallows what is sent below a closed stream */
	uint32_t pl_suspects;	/* A  somebody once died inside a group */
	uintptr_t pl_suspect[NSUSPECT]; /* A  groups in which a thread died */
};

extern struct plumb_root *plumb_root;

/* A fresh group, kept by the caller until group_rele; NULL without memory. */
struct group *group_alloc(void);
void group_rele(struct group *g);
/*
 * The stream of head hrq, whose bottom is in the dead end, is born in g or what
 * that was merged into: the cell, kept until group_part.
 */
struct group *group_join(struct group *g, queue_t *hrq);
void group_part(struct group *cell, queue_t *hrq);
/* M2..M4: the caller holds both exclusively; from is MERGED afterwards. */
void group_merge(struct slot *me, struct group *from, struct group *into);
/* M3, M4, if a merging into g was begun; the caller holds g exclusively. */
void group_finish(struct slot *me, struct group *g);
/* pl_lock was broken: R2..R5, if they were begun. */
void group_salvage(void);

/* A thread died inside g, or while it relinked it: salvage.c is to look at it. */
void group_suspect(struct group *g, bool relinking);

INLINE struct group *
plumb_group(const queue_t *q)
{
	return (struct group *)ld_acq(&q->q_runq);
}

/* What g has been merged into, or g itself. */
INLINE struct group *
group_root(struct group *g)
{
	while (unlikely(ld_seq(&g->g_plumber) == GROUP_MERGED)) {
		struct group *parent = ld_acq(&g->g_parent);

		/* By a stale pointer: it has just been given back, and is its own root. */
		if (likely(parent != NULL))
			g = parent;
	}
	return g;
}

#endif
