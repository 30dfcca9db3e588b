/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_trace.h: switching the flight recorder of a stream on and off.
 *
 * Level 10.  A stream is recorded while somebody wants it: its own program
 * (ustr_trace, the tunable "trace"), or tools (ustr_tap_open).  Then it has a ring
 * (trace.h), and its queues are set up so that their messages come by:
 *
 *   put to a queue    q_qidx leads to the recorder's put procedure, which records
 *                     and calls the queue's own (putnext.h)
 *   taken by getq     QTRACED in q_flag, looked at where QWANTW is; set by the
 *                     recorder's put and service procedures
 *   taken by a reader WANT_TRACE in q_want of the head's read queue, a word that
 *                     is looked at anyway
 *   sent by one end   the other end's read queue goes by the recorder as well; it
 *   of a pipe         looks at sd_mate
 *
 *   (heap)
 *     │ ▲ ring_make(), ring_free()
 *     ▼ │      on(): born so, ustr_trace, tap_open
 *   TRACE_HELD ─────────────────────────────────► TRACE_ON ◄─┐ wanted by one more,
 *        ▲ ▲                                       │  │  └────┘ or less
 *        │ │        off(): nobody wants it         │  │
 *        │ │  TRACE_RETIRED ◄──────────────────────┘  │ htrace_gone(): last close
 *        │ │    │  └──────── htrace_gone() ─────┐     ▼
 *        │ └────┘ free_retired():               └► TRACE_GONE: tools may read on
 *        │        nobody knows it                  │ nobody wants it
 *        └─────────────────────────────────────────┘
 *
 * A tool may be killed at any point, and the stream it watches must not notice.  So
 * a tool is only a reader of the stream's group: it is no plumber, whose death condemns
 * the stream; it does not hold the group, and so need not serve what is enabled when it
 * leaves, which would be to die with a message in its hands; it takes no lock of a queue.
 *
 * invariant 1: who changes the settings of a stream's queues is inside its group and has
 *   tt_lock: no pair comes or goes meanwhile, and nobody else changes them.  A pair
 *   that comes takes the settings of the head (qtrace_join), one that goes loses them.
 *   Puts may go on: old and new settings of a queue are both right.
 * invariant 2: before a retired ring is freed, its stream's queues do not lead to it and
 *   every call that may have seen them do so is over: plumb_quiesce, by a process that
 *   has the stream, or by any if none has, or the stream's end.
 *   Of a head that is freed, q_tap is 0 before its ring is TRACE_GONE.
 * invariant 3: q_qidx of a head's read queue is the recorder's exactly while its
 *   stream or the stream at the other end of the pipe is recorded.
 * invariant 4: who wants a ring is known by process (tr_tapper), so that reap.c can
 *   take back what the dead wanted (htrace_bury); and what was half switched is switched
 *   again, on or off, as a whole.
 * invariant 5: while there is a ring that is on and not wanted, or retired, or that the
 *   dead have left, tt_unwanted is set, and each helper looks at them (htrace_tidy).
 *
 * What becomes of a ring when somebody is killed: head_ring.h.
 */
#ifndef STREAMS_HEAD_TRACE_H
#define STREAMS_HEAD_TRACE_H

#include "head.h"

int htrace_init(void);		/* shared part, by the arena's creator */
void htrace_join(void);		/* by who joins */
void htrace_equip(void);	/* each process: the recorder's procedures */
/* sd is new and nobody's yet: record it from its start if the tunable says so. */
void htrace_born(struct stdata *sd);
/* sd is about to be freed. */
void htrace_gone(struct stdata *sd);
/* The program of stream id does not want it recorded any more. */
void htrace_disown(struct slot *me, uint32_t id);
/* sd, which the calling thread has made, is found by others now, should it be killed. */
void htrace_now_found(struct slot *me, const struct stdata *sd);
INLINE void
htrace_found(struct slot *me, const struct stdata *sd)
{
	if (unlikely(ld_rlx(&me->sl_rings) != 0))
		htrace_now_found(me, sd);
}
/* It is found by nobody from now on, but by the calling thread. */
void htrace_hold(struct slot *me, const struct stdata *sd);
/* Under plumb_lock: sd is no longer, or not yet, one end of a pipe. */
void htrace_parted(struct stdata *sd);
/* Process p is dead, or ends: its taps are closed.  From outside all groups. */
void htrace_bury(const struct proc *p);
/* See to rings that nobody wants, as far as this process can.  From outside all groups. */
void htrace_tidy(void);

#endif
