/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow.h: flow control: full, want, back-enable.
 *
 * Level 6.  The rule, for any queue and any band:
 *
 *   writer (canput)                    reader (getq, a stream head's reader)
 *   F1 full?  no -> go                 F4 take the message, count it out
 *   F2 set the want flag               F5 want flag set and below low water?
 *   F3 full still? no -> go            F6 clear it, enable the queue behind
 *      yes -> refused
 *
 * On module queues F1..F3 and F4..F5 are each one critical section of q_lock.
 * On a stream head's read queue they run without a common lock: F2 is an
 * exchange of q_want (WANT_ROOM in it), F3 a sequentially consistent load of the total got; F4
 * ends in an exchange of the total got, F5 is such a load of q_want.
 *
 * invariant 1 (no back-enable is lost): if F3 found the queue full, F2
 *   precedes the F4 that next brings the queue below low water, so that F5
 *   sees the flag.
 * invariant 2: a refused writer's want flag stays set until a back-enable.
 * invariant 3: totals got never exceed totals put; read got before put.
 *
 * tests/model/flow.pml checks it exhaustively.  The labels F1..F6 stand in flow.c, queue.c and head_queue.c.
 */
#ifndef STREAMS_FLOW_H
#define STREAMS_FLOW_H

#include "queue.h"

/* q_want of a stream head's read queue: what who takes a message off looks at. */
#define WANT_ROOM 0x1  /* F2: a writer was refused */
#define WANT_SIG 0x2   /* an M_SIG is queued (head_sig.h) */
#define WANT_LEVEL 0x4 /* an eventfd follows what is queued */
#define WANT_TRACE 0x8 /* what is taken is recorded */

/* F6: enable the nearest service queue behind q. */
void flow_backenable(queue_t *q);
/* Room on a stream head's read queue for band 0? (F1..F3) */
bool flow_headroom(queue_t *q);
/* Below the low-water mark? (F5) */
bool flow_low(size_t bytes, size_t blocks, size_t lowat);
/* Parked messages of q were taken off: enable behind if somebody waits. */
void flow_unparked(queue_t *q);

#endif
