/* SPDX-License-Identifier: BSD-2-Clause */
/* procfork.c: what fork does to the library. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "procfork.h"
#include "arena.h"
#include "callout.h"
#include "fd.h"
#include "head_sig.h"
#include "helper.h"
#include "passfd.h"
#include "proc.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define CLAIM_WAIT 10000 /* ms a parent waits for a stopped child */

/* The fork in progress, under the lock of process.c. */
static struct {
	struct proc *embryo;
	int claim[2];
	int hold;	/* while it is open the embryo has a maker or a child */
} forking;

static void
drop_embryo(struct proc *p)
{
	uint32_t mine = slot_tls->sl_key;

	fd_closeall(p, false);
	registry_forget(p);
	st_rel(&p->pr_fork, (uint32_t)FORK_UNKNOWN);
	st_rel(&p->pr_state, (uint32_t)PROC_FREE);
	(void)cas(&p->pr_keeper, &mine, 0u); /* or nobody would bury who dies there next */
}

/* There is no child: the embryo goes, unless one claims it after all. */
static void
give_up(struct proc *p)
{
	uint32_t embryo = PROC_EMBRYO;

	if (cas(&p->pr_state, &embryo, (uint32_t)PROC_DYING))
		drop_embryo(p);
	slot_recount();
}

/* A process slot for the child, with what it inherits; NULL: it will have no streams. */
static struct proc *
make_embryo(void)
{
	struct proc *p;

	if (slot_proc() == NULL || (slot_tls == NULL && proc_thread(slot_proc()) != 0) ||
	    ld_rlx(&slot_tls->sl_home) != NULL)
		return NULL;
	p = proc_claim();
	if (p == NULL && reap_scan() > 0)
		p = proc_claim(); /* all slots were taken, some by the dead */
	if (p == NULL)
		return NULL;
	if (fd_init(p) != 0) {
		st_rel(&p->pr_state, (uint32_t)PROC_FREE);
		slot_recount();
		return NULL;
	}
	st_rel(&p->pr_keeper, slot_tls->sl_key);
	st_rel(&p->pr_fork, (uint32_t)FORK_NOTYET);
	registry_inherit(slot_proc(), p);
	if (fd_copy(slot_proc(), p) != 0) {
		drop_embryo(p);
		return NULL;
	}
	return p;
}

/* The last thing before the fork: from now on there may be a child. */
static void
hold_embryo(struct proc *p)
{
	ASSERT(ld_rlx(&p->pr_state) == PROC_EMBRYO && ld_rlx(&p->pr_fork) == FORK_NOTYET);
	forking.hold = arena_fd_ours() ? plat_holdrec(arena_fd(), EMBRYO_BYTE(p)) : -1;
	CRASH_POINT();
	st_rel(&p->pr_fork, (uint32_t)(forking.hold >= 0 ? FORK_HELD : FORK_UNKNOWN));
	CRASH_POINT();
}

/* The child lives, or there is none; mine is the calling process. */
static void
let_go(const struct proc *mine)
{
	if (forking.hold < 0)
		return;
	plat_close(forking.hold);
	/* The own lock went with it; the thread's slot says meanwhile that it lives. */
	if (mine != NULL && arena_fd_ours())
		plat_lockrec(arena_fd(), (off_t)mine->pr_id);
}

void
fork_prepare(void)
{
	/* Before the other locks: burying the dead may want them. */
	forking.embryo = make_embryo();
	/* Out of descriptors: then only the state word tells, see claimed(). */
	if (forking.embryo != NULL && pipe2(forking.claim, O_CLOEXEC) != 0)
		forking.claim[0] = forking.claim[1] = -1;
	eventfd_lock();
	passfd_lock();
	msg_ext_lock();
	callout_lock();
	if (forking.embryo != NULL)
		hold_embryo(forking.embryo);
}

/*
 * Did the child claim its slot?  Its byte says so; the end of the pipe without
 * one, that there is no child.  The state cannot be asked: by now the child may
 * have died and the slot be somebody else's embryo.
 */
static bool
claimed(struct proc *p)
{
	struct pollfd pfd = { forking.claim[0], POLLIN, 0 };
	char byte;

	if (pfd.fd < 0) {
		/* No pipe could be had: wait for the state to change, and hope. */
		for (int ms = 0; ld_acq(&p->pr_state) == PROC_EMBRYO && ms < CLAIM_WAIT; ms++)
			poll(NULL, 0, 1);
		return ld_acq(&p->pr_state) != PROC_EMBRYO;
	}
	for (int ms = 0; ms < CLAIM_WAIT; ms += 10)
		if (poll(&pfd, 1, 10) > 0)
			return read(pfd.fd, &byte, 1) == 1;
	return false;
}

bool
fork_parent(void)
{
	struct proc *p = forking.embryo;

	if (p != NULL) {
		plat_close(forking.claim[1]);
		if (!claimed(p))
			give_up(p);
		plat_close(forking.claim[0]);
		let_go(slot_proc());
		helper_poke();
	}
	callout_unlock();
	msg_ext_unlock();
	passfd_unlock();
	eventfd_unlock();
	return p != NULL;
}

/*
 * A child in a process group that is told of events needs who raises them; one that
 * has code that others lack, who does their errands.
 */
static void
start_if_told(void)
{
	sigset_t all, old;

	if (slot_proc() == NULL || (ld_rlx(&slot_root->sr_groups) == 0 &&
		    !(slot_root->sr_named && registry_owns())))
		return;
	/* A handler that calls in here must not find the helper's lock taken below it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	helper_start();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void
fork_child(void)
{
	struct proc *p = forking.embryo;
	ssize_t n __attribute__((unused));

	callout_child();
	callout_unlock();
	msg_ext_unlock();
	passfd_forget();
	eventfd_unlock();
	eventfd_child();
	arena_forked();
	helper_forget();
	proc_forget_thread();
	if (p == NULL)
		return;
	if (proc_live(p) != 0)
		st_rlx(&slot_wipe->w_proc, p = NULL); /* as if made behind our back */
	let_go(p);
	/* If the write fails the parent is gone, and nobody waits for it. */
	if (p != NULL)
		n = write(forking.claim[1], "", 1);
	plat_close(forking.claim[0]);
	plat_close(forking.claim[1]);
	start_if_told();
}
