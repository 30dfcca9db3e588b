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
 *          on(): born so, ustr_trace, tap_open
 *   (none) ────────────────────────────────────► TRACE_ON ◄─┐ wanted by one more,
 *                                                 │  │  └────┘ or less
 *              off(): nobody wants it             │  │
 *   TRACE_RETIRED ◄───────────────────────────────┘  │ htrace_gone(): last close
 *     │    └──────── htrace_gone() ──────────┐       ▼
 *     │ free_retired(): nobody knows it      └──► TRACE_GONE: tools may read on
 *     ▼                                           │ nobody wants it
 *   (freed) ◄─────────────────────────────────────┘
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
 * invariant 2: a ring that is on or retired is listed; before it is freed, its stream's
 *   queues do not lead to it and every call that may have seen them do so is over:
 *   plumb_quiesce, by a process that has the stream, or the stream's end.
 * invariant 3: q_qidx of a head's read queue is the recorder's exactly while its
 *   stream or the stream at the other end of the pipe is recorded.
 * invariant 4: who wants a ring is known by process (tr_tapper), so that reap.c can
 *   take back what the dead wanted (htrace_bury); and what was half switched is switched
 *   again, on or off, as a whole.
 * invariant 5: while there is a ring that is on and not wanted, or retired, tt_unwanted
 *   is set, and each helper looks at them (htrace_tidy).
 * invariant 6: a ring that is not listed, or whose stream nobody would find, is counted
 *   in sl_rings of who makes or frees it, so that it is counted as leaked with him.
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
/* Bytes of its ring, which goes on being there when sd is given up. */
size_t htrace_bytes(struct slot *me, const struct stdata *sd);
/*
 * What the calling thread has made is found by others now, should it be killed: the
 * streams' rings with them (sl_rings).
 */
INLINE void
htrace_found(struct slot *me)
{
	st_rlx(&me->sl_rings, (size_t)0);
}
/* Under plumb_lock: sd is no longer, or not yet, one end of a pipe. */
void htrace_parted(struct stdata *sd);
/* Process p is dead, or ends: its taps are closed.  From outside all groups. */
void htrace_bury(const struct proc *p);
/* See to rings that nobody wants, as far as this process can.  From outside all groups. */
void htrace_tidy(void);

#endif
