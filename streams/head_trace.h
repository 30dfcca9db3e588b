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
 *   taken by getq     QTRACED in q_flag, looked at where QWANTW is
 *   taken by a reader WANT_TRACE in q_want of the head's read queue, a word that
 *                     is looked at anyway
 *   sent by one end   the other end's read queue goes by the recorder as well; it
 *   of a pipe         looks at sd_mate
 *
 *      ┌──────┐ tap_open, ustr_trace, born so   ┌────────┐
 *      │ not  │ ───────── on() ───────────────► │ re-    │◄─┐ wanted by one
 *      │ re-  │                                 │ corded │  │ more, or less
 *      │ cord-│ ◄── off(): nobody wants it ──── │        │──┘
 *      │ ed   │                                 └───┬────┘
 *      └──────┘                                     │ htrace_gone(): last close
 *                                    ┌─────────┐ ◄──┘
 *                        freed ◄──── │ to be   │  tools may read what is in it
 *               last tap closed      │ read    │
 *                                    └─────────┘
 *
 * invariant 1: who changes the settings of a stream's queues is its plumber, so
 *   that no pair comes or goes meanwhile; a pair that comes takes the settings of
 *   the head (qtrace_join, under plumb_lock), one that goes loses them.
 * invariant 2: a ring is freed when nobody wants it, its stream's queues do not
 *   lead to it and every call that might have seen them do so has left the group:
 *   off() holds the group exclusively between the two.  Where a stopped thread is
 *   in the way the ring is given up, and counted.
 * invariant 3: q_qidx of a head's read queue is the recorder's exactly while its
 *   stream or the stream at the other end of the pipe is recorded; it is worked
 *   out under tt_lock, since two plumbers may change it.
 * invariant 4: who wants a ring is known by process (tr_tapper), so that reap.c
 *   can take back what the dead wanted (htrace_bury).
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
/* Under plumb_lock: sd is no longer, or not yet, one end of a pipe. */
void htrace_parted(struct stdata *sd);
/* Process p is dead, or ends: its taps are closed.  From outside all groups. */
void htrace_bury(const struct proc *p);

#endif
