/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * helper.h: the helper thread, burying the dead, and kernel descriptors.
 *
 * Level 10.  A process that shares streams with others starts one thread, when
 * it first sleeps or is refused.  The thread has all signals blocked and does
 * what no call can do because it sleeps: notice that another process died
 * (every TICK ms), run free routines that others left for this process, and
 * poll kernel descriptors on behalf of a str_poll() that waits for streams as
 * well.  USTREAMS_HELPER=0 forbids it; the program then calls ustr_service().
 */
#ifndef STREAMS_HELPER_H
#define STREAMS_HELPER_H

#include "slot.h"

#include <poll.h>

void helper_start(void);
void helper_poke(void);
/* In the child of a fork: the thread did not come along. */
void helper_forget(void);

/* Before sleeping or returning EAGAIN: is there anybody whose death matters? */
INLINE void
helper_needed(void)
{
	if (unlikely(ld_rlx(&slot_root->sr_live) > 1 &&
		     ld_rlx(&slot_tls->sl_pslot->pr_helper) == 0))
		helper_start();
}

/*
 * Poll fds (copied) until one is ready or helper_unwatch; then poke the
 * caller's slot.  An id, or 0: no helper or no memory.
 */
unsigned long helper_watch(const struct pollfd *fds, nfds_t n);
void helper_unwatch(unsigned long id);

/* reap.c: bury processes that died; how many. */
int reap_scan(void);
/* Give the slots of p's dead threads free. */
void bury_threads(struct proc *p);

#endif
