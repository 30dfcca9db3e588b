/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * helper.h: the helper thread, and burying the dead.
 *
 * Level 10.  A process that shares streams with others starts one thread, when
 * it first sleeps or is refused.  The thread has all signals blocked but those of
 * its own faults, and does what no call can do because it sleeps or is in another
 * process: notice that a process died (every TICK ms), run free routines that
 * others left for this process, run the callbacks of timeout() and bufcall() that
 * are due (callback.h), strike the bells of threads in poll(2).
 *
 *   H1 a process that wants another's helper leaves its wish in the arena
 *      (exchange), then rings: pr_bell := 1, futex wake  (proc_ring)
 *   H2 the helper takes pr_bell to 0 (exchange), then looks at all its chores
 *   H3 it sleeps on pr_bell while that is 0
 *
 * invariant: a wish whose H1 came after the look of H2 finds pr_bell 0 and
 *   sets it, so H3 does not sleep.
 *
 * USTREAMS_HELPER=0 forbids the thread; the program then calls ustr_service(),
 * which does H2 and H3 in its place.
 */
#ifndef STREAMS_HELPER_H
#define STREAMS_HELPER_H

#include "cache.h"

void helper_start(void);
/* Something to do, for the helper of this process. */
void helper_poke(void);
/*
 * Before a fork: a thread that is being created may hold locks of the allocator,
 * and where that is a sanitizer's the child would find them held for ever.
 */
void helper_settle(void);
/* In the child of a fork: the thread did not come along. */
void helper_forget(void);
/*
 * At exit: wait until the thread has ended, lest it die in a group or a callback
 * and be taken for one that was killed.
 */
void helper_end(void);

/* For callout_poke: as helper_poke, but starts the thread if there is none. */
void helper_call(void);
/* Before sleeping or returning EAGAIN: is there anybody whose death matters? */
INLINE void
helper_needed(void)
{
	/* Somebody waits for memory: keep none while asleep (bufcall.h). */
	if (unlikely(ld_rlx(&cache_root->cr_wanted) != 0))
		cache_detach(slot_tls);
	if (unlikely(slot_members() + slot_root->sr_named > 1 &&
		     ld_rlx(&slot_tls->sl_pslot->pr_helper) == 0))
		helper_start();
}

/* Can nobody do the helper's work while the caller sleeps? */
bool helper_absent(void);

/* reap.c: bury processes that died; how many. */
int reap_scan(void);
/* Is there, or may there soon be, an embryo without a maker?  slot_members() does not count it. */
bool reap_expects(void);
/* Give the slots of p's dead threads free. */
void bury_threads(struct proc *p);

#endif
