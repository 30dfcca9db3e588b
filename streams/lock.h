/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.h: short locks that name their owner.
 *
 * Level 2.  A lock is one word: 0 free, else the owner's key (slot.h).  Taking
 * it is one compare-and-swap, dropping it one release store; a waiter spins,
 * yields, then naps, because what is done under these locks is relinking, a
 * few dozen instructions.  A lock is therefore nothing to sleep on: who waits
 * for events uses wait.h.
 *
 *   invariant 1: only the thread whose slot the word names changes what the
 *                lock guards, and only that thread stores 0;
 *   invariant 2: nobody who holds one sleeps or calls out (NO_LOCK_HELD), nor frees or
 *                wakes: but for pl_lock and the registry's, which nobody who is woken
 *                waits for, and the reader lock, for an M_SIG that came to the front;
 *   invariant 3: locks are taken in rising rank (enum lock_rank), checked at
 *                debug level 2.
 *
 * A waiter that naps looks at the owner; a dead owner's lock is broken by the
 * waiter, who calls lock_broken_hook as its owner and goes on.
 *
 * lock_publish drops the lock with an exchange instead of a store: for the
 * places where the next thing is to look whether somebody sleeps.
 */
#ifndef STREAMS_LOCK_H
#define STREAMS_LOCK_H

#include "slot.h"

/* Low ranks are taken first. */
enum lock_rank {
	RANK_PROC = 1,	/* a process's descriptor table */
	RANK_REGISTRY,	/* names and open devices */
	RANK_HEAD,	/* a stream head's settings */
	RANK_GROUP,	/* groups: free cells and members */
	RANK_READER,	/* a stream head's reader lock */
	RANK_EVENT,	/* a stream's registrations for events */
	RANK_QUEUE,	/* a queue */
	RANK_LOG,	/* who reads the log */
	RANK_TRACE,	/* who wants which ring of events */
	RANK_PARK,	/* a queue's parked list */
	RANK_PERIM,	/* a perimeter's list of queues */
	RANK_RUNQ,	/* a group's run list */
	RANK_CALLOUT,	/* callback cells and their pairs' lists */
	RANK_CACHE,	/* growth of a cache */
	RANK_HEAP,	/* a size class of the heap */
};

typedef uint32_t lock_t;

/* What the lock of that rank guards may be half changed: salvage.c. */
extern void (*lock_broken_hook)(uint32_t *word, enum lock_rank rank);

void lock_wait(uint32_t *word, uint32_t me, enum lock_rank rank);
void lock_note(struct slot *me, const void *word, uint32_t rank);
void lock_forget(struct slot *me, const void *word);
bool lock_mine(const uint32_t *word);

#define LOCK_HELD(word) ASSERT_AT(2, lock_mine(word))
/* Invariant 2, where something is called that may do any of it. */
#define NO_LOCK_HELD() ASSERT_AT(2, slot_tls == NULL || slot_tls->sl_nheld == 0)

INLINE void
lock_enter(struct slot *me, uint32_t *word, enum lock_rank rank)
{
	uint32_t free = 0;

	ASSERT_AT(2, me == slot_tls && me->sl_key != 0); /* a key names who asks, and nobody else */
	if (DEBUG_ON(2))
		lock_note(me, word, rank);
	if (unlikely(!__atomic_compare_exchange_n(word, &free, me->sl_key, false,
		    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		lock_wait(word, me->sl_key, rank);
	CRASH_POINT();
}

/* True if taken. */
INLINE bool
lock_try(struct slot *me, uint32_t *word, enum lock_rank rank)
{
	uint32_t free = 0;

	ASSERT_AT(2, me == slot_tls);
	if (!cas(word, &free, me->sl_key))
		return false;
	CRASH_POINT();
	if (DEBUG_ON(2))
		lock_note(me, word, rank);
	return true;
}

INLINE void
lock_leave(struct slot *me, uint32_t *word)
{
	ASSERT_AT(2, me == slot_tls);
	LOCK_HELD(word);
	CRASH_POINT();
	if (DEBUG_ON(2))
		lock_forget(me, word);
	st_rel(word, 0u);
}

INLINE void
lock_publish(struct slot *me, uint32_t *word)
{
	LOCK_HELD(word);
	CRASH_POINT();
	if (DEBUG_ON(2))
		lock_forget(me, word);
	(void)xchg(word, 0u);
	CRASH_POINT();
}

#endif
