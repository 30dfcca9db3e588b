/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sigdue.h: signals that are due to a process, until it raises them itself.
 *
 * Level 10.  The kernel lets nobody but a process itself queue a SIGPOLL whose
 * si_code says POLL_IN; and a handler that ran in the middle of a put
 * procedure could call nothing.  So an event is only noted where it happens,
 * and raised later by its target:
 *
 *   the event's thread belongs to the target       in the thread's slot, sl_sig;
 *                                                  raised when its call is over
 *   another process, or a thread of it that is     in the target's pr_sig; its
 *   in no call (a driver's own)                    helper is rung and raises it
 *
 * One signal due is one word, never 0:
 *
 *    63       48 47  44 43   37 36     29 28   21 20         0
 *   | life      | kind | signo | si_errno | band  | fd + 1      |
 *
 * life is the count of the process slot's lives: a word left for a process that
 * has died is dropped by the slot's next holder.
 *
 * The helper does not know which thread the kernel will interrupt.  Are threads
 * in calls, it asks them to raise the signals when they leave (AFTER_OTHERS),
 * and looks again in a millisecond; if none is, it raises them.  A thread that
 * enters a call in between may still be hit there: its handler's calls are
 * refused with EDEADLK, and the signal is raised again when the call is over
 * (AFTER_AGAIN).
 *
 * invariant 1: a word is in sl_sig only of a thread of the target, which raises
 *   it before it returns to the program or sleeps (AFTER_EVENTS).
 * invariant 2: words of pr_sig are put by compare-and-swap on 0 and taken by an
 *   exchange; each is raised once.  An equal word already there stands for both,
 *   as a second pending SIGPOLL would not be queued by the kernel either.
 * invariant 3: where no room is left the kind is kept in pr_sigover, without
 *   band and descriptor; so storage is bounded and no kind of event is lost.
 */
#ifndef STREAMS_SIGDUE_H
#define STREAMS_SIGDUE_H

#include "slot.h"

/* Kinds, each with its signal and si_code. */
enum sigdue_kind {
	SIGDUE_IN,	/* POLL_IN */
	SIGDUE_OUT,	/* POLL_OUT */
	SIGDUE_MSG,	/* POLL_MSG */
	SIGDUE_ERR,	/* POLL_ERR */
	SIGDUE_PRI,	/* POLL_PRI */
	SIGDUE_HUP,	/* POLL_HUP */
	SIGDUE_URG,	/* SIGURG */
	SIGDUE_OTHER,	/* what an M_SIG or M_PCSIG names */
	SIGDUE_KINDS
};

struct sigdue {
	enum sigdue_kind d_kind;
	int d_signo;		/* SIGDUE_OTHER only */
	unsigned char d_band;
	unsigned char d_error;	/* SIGDUE_ERR only */
	int d_fd;		/* the target's descriptor, or -1 */
};

/*
 * Is this thread in a call, at the end of which it looks at its sl_after?
 */
INLINE bool
sigdue_soon(const struct slot *me)
{
	return ld_rlx(&me->sl_home) != NULL || ld_rlx(&me->sl_visiting) != NULL;
}
/* Note it for process p, if that is still in the given life. */
void sigdue_post(struct slot *me, struct proc *p, uint32_t life, const struct sigdue *d);
/*
 * Raise what this thread has noted; the caller names no group.  True if a
 * handler ran that ends a sleep (a timed one: any handler).
 */
bool sigdue_raise(struct slot *me, bool timed);
/* Raise what other processes left for this one; were there any? */
bool sigdue_take(struct proc *p);
/*
 * The same for who is in no call himself, while other threads may be: those are
 * asked to do it when they leave.  SIGDUE_LATER: serve again in a millisecond,
 * tries being the times in a row that this was the answer.
 */
enum sigdue_served { SIGDUE_NONE, SIGDUE_RAISED, SIGDUE_LATER };
enum sigdue_served sigdue_serve(struct slot *me, struct proc *p, unsigned int tries);
/* A handler found its thread in a call (EDEADLK), which is over now. */
void sigdue_again(void);

#endif
