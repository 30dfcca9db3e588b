/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * callout.h: callbacks that are to come: at a time, or when there is memory.
 *
 * Level 7.  A callback is a routine of one process, and may be cancelled by
 * any: what is known of it is split.  The cell lies in the arena and holds
 * what all must agree on; routine and argument lie in the table of the process
 * that registered it, at the cell's number, and are run there: by its helper
 * thread, or in ustr_service().
 *
 *   co_word   63 ......... 32   31 .............. 2  1 0
 *            | runner's slot    | life             | state |
 *
 *   FREE ──callout_add──► PENDING ──callout_claim──► RUNNING ──callout_done──► FREE
 *    ▲                       │                                                  ▲
 *    └──callout_cancel, callout_forget, callout_bury: the next life─────────────┘
 *
 *   invariant 1: a state is left by compare-and-swap of the whole word, so one
 *     of runner, canceller and undertaker gets the callback, and a word of an
 *     earlier life changes nothing.
 *   invariant 2: RUNNING is entered only by a thread that holds all that the
 *     callback is to run in (group, perimeter).  So who holds the perimeter
 *     finds it PENDING or over, never RUNNING, and may cancel without waiting;
 *     who waits for a RUNNING one waits for a routine that itself never waits.
 *   invariant 3: callout_cancel returns when the word has left this life: the
 *     routine is not running, and it will not.  (Called by the routine itself
 *     it returns at once.)
 *   invariant 4: a cell is on the list of its queue pair (q_calls) from before
 *     it is PENDING until it is FREE; callout_forget, in qprocsoff, ends them
 *     all while no other thread is in the group.
 *   invariant 5: a process's entry is in its timer queue or its list of those
 *     that wait for memory as long as the cell is PENDING in the entry's life,
 *     except while a runner has it in hand; what is found there of another life
 *     is dropped.
 *
 * A cell belongs to the life of the process that registered it: callout_bury
 * frees what the dead leave, and counts.  Cells are never given back to the
 * heap, so that a stale id may be looked up.  An id is 13 bits of life above
 * 17 of number: positive also as an int, which is what old sources keep it in.
 * The first cells are made with the arena, because bufcall() is called when
 * there is no memory.
 */
#ifndef STREAMS_CALLOUT_H
#define STREAMS_CALLOUT_H

#include "bufcall.h"
#include "queue.h"
#include "timerq.h"

#include <sys/queue.h>

enum callout_kind { CALL_TIMER, CALL_MEMORY };

struct callout {
	uint64_t co_word;  /* A  drawn above */
	uint32_t co_proc;  /* A  process that registered it */
	uint32_t co_index; /* C  number */
	uint32_t co_kind;  /* A  enum callout_kind */
	uint32_t co_spare;
	int64_t co_when;	 /* A  when it is due, ns */
	queue_t *co_q;		 /* A  in whose perimeter it runs, or NULL */
	struct group *co_group;	 /* A  in which group it runs, or NULL */
	struct callout *co_next; /* R  next free, or next of the pair */
} LINE_ALIGNED;

/* co_word */
#define CO_FREE 0u
#define CO_PENDING 1u
#define CO_RUNNING 2u
#define CO_STATE 3u

/* A process's half; Q is callout_lock. */
struct callback {
	struct timernode cb_node;      /* Q  in the timer queue */
	TAILQ_ENTRY(callback) cb_link; /* Q  among those that wait for memory */
	enum callout_kind cb_kind;     /* Q */
	bool cb_queued;		       /* Q  in one of the two */
	struct callout *cb_cell;       /* Q */
	uint64_t cb_word;	       /* Q  the cell's word while this is PENDING */
	void (*cb_fn)(void *);	       /* Q */
	void *cb_arg;		       /* Q */
	size_t cb_size;		       /* Q  memory wanted, bytes */
	int64_t cb_when;	       /* Q  when it is due, ns */
	uint64_t cb_seq;	       /* Q  order of registration */
};

/* Pokes the helper thread, or starts it. */
extern void (*callout_poke)(void);

int callout_init(void);
void callout_join(void);
/*
 * Register as->cb_fn(cb_arg), to run at cb_when (CALL_TIMER) or when cb_size
 * bytes can be had (CALL_MEMORY), in group g (or NULL) and q's perimeter (or
 * NULL): an id, or 0.
 */
int callout_add(const struct callback *as, queue_t *q, struct group *g);
/* What is left in ns, or -1: it was no longer to come. */
int64_t callout_cancel(int id, enum callout_kind kind);
/* Holding the group exclusively: end what rq's pair still waits for. */
void callout_forget(queue_t *rq);
/* The process is dead or ends. */
void callout_bury(uint32_t proc);
/* Callbacks given up with their processes. */
size_t callout_dropped(void);
/* Around fork; in the child nothing is registered. */
void callout_lock(void);
void callout_unlock(void);
void callout_child(void);

/* For who judges the arena: cells are claimed; then what those in use lead to. */
bool callout_judge(void);
bool callout_sound(bool (*queue)(const queue_t *), bool (*group)(const struct group *));

/* ---- for who runs them (level 8) --------------------------------------------------- */

/* The earliest that is due at time now, taken in hand: copied; false: none. */
bool callout_take(int64_t now, struct callback *copy);
/* When callout_take finds the next one, or -1: none to come. */
int64_t callout_due(void);
/* Out of hand and into the queue again, due in ns, if it is still wanted. */
void callout_again(const struct callback *copy, int64_t ns);
/* PENDING -> RUNNING; false: it was cancelled. */
bool callout_claim(struct slot *me, const struct callback *copy);
void callout_done(struct slot *me, const struct callback *copy);
/* Under callout_lock: out of its queue. */
void callout_unqueue(struct callback *cb);
/* The group in which the calling thread is, the inner one; NULL outside. */
struct group *callout_here(void);
/* Is what is in hand still to come? */
INLINE bool
callout_wanted(const struct callback *copy)
{
	return ld_acq(&copy->cb_cell->co_word) == copy->cb_word;
}

/* The lock of the cells was broken: their free list is whole again. */
void callout_salvage(void);

#endif
