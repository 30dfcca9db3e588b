/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.h: sleeping until something happens, and waking who sleeps.
 *
 * Level 2.  This is the only place where the library sleeps for an event.  A
 * thread sleeps on one word, sl_sleep in its own slot; a wait list holds slot
 * numbers, so nothing on anybody's stack is linked and a sleeper that is
 * killed, cancelled or jumps out of a handler leaves nothing dangling.
 *
 *   sleeper                               waker
 *   S1 sl_sleep := 1        (exchange)    W1 make the condition true (exchange)
 *   S2 number into the list (c-a-s)       W2 armed?   no -> done   (load)
 *   S3 armed := 1           (exchange)    W3 armed := 0            (exchange)
 *   S4 condition true? -> cancel          W4 take each number out  (exchange)
 *   S5 futex(sl_sleep == 1)               W5 sl_sleep := 0; futex wake
 *
 * invariant 1 (no wake-up is lost): if the sleeper's S4 found the condition
 *   false, its S3 precedes the waker's W1 in the one order of all sequentially
 *   consistent operations, so W2 sees armed, and W4 comes after S2.
 *   (tests/model/wait.pml)
 * invariant 2: a number taken out is woken; a stale number wakes somebody who
 *   looks again and goes back to sleep.
 * A thread that polls kernel descriptors as well sleeps in poll(2): its S1 is
 * SLEEP_POLL and W5 rings its bell (bell.h) instead of waking the futex.
 *
 * A list that is full sets wq_many: the waker then wakes every thread that
 * sleeps with sl_broad set.
 */
#ifndef STREAMS_WAIT_H
#define STREAMS_WAIT_H

#include "slot.h"

#define WAITERS 6 /* sleepers named one by one */

/* wq_armed */
#define WQ_SLEEPERS 0x1 /* somebody may sleep here */
#define WQ_WATCHED 0x2	/* the owner wants to know of every wake-up (head_sig.h) */

struct waitq {
	uint32_t wq_armed;	       /* A  WQ_* */
	uint32_t wq_many;	       /* A  more than WAITERS do */
	uint32_t wq_sleeper[WAITERS];  /* A  their slots, 0 none */
};

/* S1, to sleep by wait_sleep, or in poll(2) by the thread's bell. */
void wait_begin(struct slot *me);
void wait_begin_poll(struct slot *me);
/* S2, S3: after it the caller must look at the condition again. */
void wait_on(struct waitq *wq, struct slot *me);
/* S5: until woken (0), or EINTR, ETIMEDOUT.  Holds nothing. */
int wait_sleep(struct slot *me, int64_t deadline);
/* Take the number out again; after the sleep, or instead of it. */
void wait_off(struct waitq *wq, struct slot *me);
void wait_end(struct slot *me);

/* W3..W5. */
void wait_wakeall(struct waitq *wq);
/* Wake one thread that is asleep, whatever for. */
void wait_poke(struct slot *s);

/* W2: after the exchange or locked operation that is W1. */
INLINE void
wait_wake(struct waitq *wq)
{
	JITTER();
	if (unlikely(ld_seq(&wq->wq_armed) != 0))
		wait_wakeall(wq);
}

#endif
