/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_sig.h: who is told of a stream's events: signals and eventfds.
 *
 * Level 10.  A stream keeps a list of registrations, in the arena: a process
 * with a mask (I_SETSIG, I_ESETSIG), a process group with a mask (I_ESETSIG),
 * or an eventfd of a process (str_eventfd).  Whoever causes an event walks the
 * list and leaves a note with each target (sigdue.h; sr_due of an eventfd).
 *
 *   G1 something happens, visibly to all (exchange)   R1 link it, under sd_siglock
 *   G2 sd_sigmask has such an event?  no -> done      R2 sd_sigmask := all of them
 *   G3 under sd_siglock: note the targets                (exchange), bits set
 *   G4 after it: tell them
 *
 * The message path pays nothing for this.  Three words that it tests already
 * lead to the slow path:
 *   sd_rwait.wq_armed  WQ_WATCHED: an arriving message is an event
 *   q_want             WANT_SIG:   an M_SIG is queued and may have come to the front
 *                      WANT_LEVEL: an eventfd wants to know what is taken off
 *   sl_after           AFTER_EVENTS: this thread has signals to raise
 *
 * invariant 1: an event whose G1 follows R2 is told.
 * invariant 2: a registration belongs to one life of a process slot, or to a
 *   group; it goes when the process asks, closes a descriptor of the stream,
 *   dies (reap.c closes for it), or when the stream is freed.  One that a dead
 *   process left on a stream it had no descriptor of is told nobody and goes
 *   when somebody else registers.
 * invariant 3: a stream has at most SIG_MOST registrations: EAGAIN.
 * invariant 4: outside the reader lock an M_SIG is never first: it acts on
 *   arrival if nothing is queued, else when what is before it is taken off.
 * invariant 5: a bit of sd_refused is set before the refused writer asks a last
 *   time (F2, F3 of flow.h): if he is refused again a back-enable is to come,
 *   and the service procedure it runs finds the bit; if not he runs that himself.
 *
 * Locks: sd_siglock (RANK_EVENT), below the reader lock, under which messages
 * leave; G4 after it is dropped.
 */
#ifndef STREAMS_HEAD_SIG_H
#define STREAMS_HEAD_SIG_H

#include "head.h"

#include <stropts.h>

#define SIG_MOST 512	/* registrations of a stream */

/* Events beside those of <stropts.h>, for eventfds. */
#define S_TAKEN 0x10000	  /* a message was taken off */
#define S_REFUSED 0x20000 /* a writer was refused */
#define S_CLEARED 0x40000 /* a hang-up or an error is over; linked or not */

enum sigreg_kind { SIGREG_PROC, SIGREG_GROUP, SIGREG_EVENTFD };

struct sigreg {
	struct sigreg *sr_next;	/* S  in the order of sr_seq */
	uint32_t sr_seq;	/* C  number on this stream */
	enum sigreg_kind sr_kind; /* C */
	uint32_t sr_proc;	/* C  process slot; of a group: 0 */
	uint32_t sr_life;	/* C  and its life */
	pid_t sr_pid;		/* C  process, or process group */
	int sr_fd;		/* C  the process's descriptor, or -1 */
	uint32_t sr_events;	/* S  S_* */
	uint32_t sr_due;	/* A  the eventfd is to be set anew */
};

/* The live process a registration belongs to, or NULL: it died, or it is a group's. */
struct proc *sigreg_owner(const struct sigreg *sr);
/* Run fn for each live process of the group; how many there are. */
int sigreg_each(pid_t group, void (*fn)(struct proc *, void *), void *arg);
/* Let a process's eventfd follow events of sd: the registration, or NULL. */
struct sigreg *sig_follow(struct stdata *sd, uint32_t events);
void sig_unfollow(struct stdata *sd, struct sigreg *sr);
/*
 * Process p has closed a descriptor of sd: its own registrations go; the
 * eventfds' too, if gone.
 */
void sig_forget(struct stdata *sd, struct proc *p, bool gone);
/* The queues of sd are its head's again, wanting nothing: they want what is registered for. */
void sig_resume(struct stdata *sd);
/* The stream is freed. */
void sig_freeall(struct stdata *sd);

/* head_eventfd.c: of this process. */
/* Set anew those whose state may have changed; the caller names no group. */
void eventfd_update(void);
/* The process has closed a descriptor of sd. */
void eventfd_forget(struct stdata *sd);
/* Around fork; in the child none are left. */
void eventfd_lock(void);
void eventfd_unlock(void);
void eventfd_child(void);

#endif
