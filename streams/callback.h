/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * callback.h: running the callbacks of this process that are due.
 *
 * Level 8.  A callback runs as a call does: in a plumbing group, so that it may
 * put, enable and pass on.  One of timeout() or bufcall() runs in the group of
 * the call that registered it (outside all, if there was none); one of
 * qtimeout() or qbufcall() in its queue's group and inner perimeter:
 *
 *   R1 name the group                       (plumb.h P1, P2)
 *   R2 still PENDING?  then q is in its stream; is it of this group? else R1
 *   R3 take q's perimeter, or leave the group and try again: never park
 *   R4 PENDING -> RUNNING                   (callout_claim)
 *   R5 run; RUNNING -> FREE                 (callout_done)
 *   R6 leave the perimeter, running what was parked; leave the group
 *
 * invariant 1: q is not looked at before R2 and not after R6: qprocsoff ends
 *   what is PENDING while it holds the group (callout_forget), so what R2 finds
 *   PENDING keeps q in place until the group is left.
 * invariant 2: a runner holds nothing while it waits, so a group or perimeter
 *   that is kept busy, or whose holder is stopped, delays this callback only:
 *   it goes back into the queue after RUN_TRIES.
 *
 * Callbacks of one process run one after another where one thread runs them
 * (the helper), and at once where several do (ustr_service).
 */
#ifndef STREAMS_CALLBACK_H
#define STREAMS_CALLBACK_H

#include "callout.h"
#include "plumb.h"

/* Run what is due; the caller names no group.  When to look again, ns, or -1. */
int64_t callback_run(void);

#endif
