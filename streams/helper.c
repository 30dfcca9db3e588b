/* SPDX-License-Identifier: BSD-2-Clause */
/* helper.c: the helper thread of helper.h; its labels. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "helper.h"
#include "bell.h"
#include "callback.h"
#include "errand.h"
#include "fd.h"
#include "head_sig.h"
#include "msg.h"
#include "passfd.h"
#include "sigdue.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ustreams.h>

#define TICK 50 /* ms between looks at the others */
#define END_MS 1000 /* an exit waits for the helper at most so long */
#define BEGIN_MS 1000 /* and a fork for it to begin */
#define NS_PER_MS 1000000

/* Private to the process. */
static struct {
	pthread_mutex_t lock;
	pthread_t thread;
	bool ending;	/* the process exits */
	bool running;
	bool begun;	/* it is past all that creating a thread does */
	bool forbidden;	/* USTREAMS_HELPER=0, or no thread could be had */
} hp = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the work -------------------------------------------------------------------- */

/* What one round of the chores has to say. */
struct round {
	int r_buried;	/* processes */
	bool r_raised;	/* signals for this one */
	int64_t r_due;	/* when a callback is to run, or -1 */
};

/* Those that other processes left; soon, if a thread is in the way. */
static void
raise_signals(struct proc *p, struct round *r)
{
	static uint32_t tries;
	enum sigdue_served did = sigdue_serve(slot_tls, p, ld_rlx(&tries));
	int64_t soon;

	r->r_raised = did == SIGDUE_RAISED;
	st_rlx(&tries, did == SIGDUE_LATER ? ld_rlx(&tries) + 1 : 0);
	soon = did == SIGDUE_LATER ? plat_now() + NS_PER_MS : -1;
	if (soon >= 0 && (r->r_due < 0 || soon < r->r_due))
		r->r_due = soon;
}

/*
 * Is it this helper's turn to look for the dead?  One in half a TICK is enough,
 * however many there are; who is stopped after he took his turn misses this one only.
 */
static bool
my_turn(void)
{
	int64_t now = plat_now(), last = ld_rlx(&slot_root->sr_looked);

	return now - last >= (int64_t)TICK * NS_PER_MS / 2 &&
		cas(&slot_root->sr_looked, &last, now);
}

/* H2: all of it once; look: for the dead in any case. */
static struct round
chores(struct proc *p, bool look)
{
	struct round r;

	ASSERT(p == slot_proc() && ld_rlx(&slot_tls->sl_home) == NULL);
	NO_LOCK_HELD();
	(void)xchg(&p->pr_bell, 0u);
	r.r_buried = look || my_turn() ? reap_scan() : 0;
	file_unclosed();
	errand_run(slot_tls);
	msg_ext_due();
	bell_answer();
	passfd_serve();
	r.r_due = callback_run();
	eventfd_update();
	raise_signals(p, &r);
	call_over(slot_tls); /* what all this caused */
	return r;
}

/* When to look again without being rung for, or -1; due is chores()'s. */
static int64_t
next_look(int64_t due)
{
	bool others = slot_members() > 1;
	int64_t tick = plat_now() + (int64_t)TICK * NS_PER_MS;

	if (!others && ld_rlx(&head_root->hr_unclosed) == NULL &&
	    ld_rlx(&head_root->hr_suspect) == NULL && !reap_expects())
		return due;
	return due >= 0 && due < tick ? due : tick;
}

static void *
helper(void *arg)
{
	(void)arg;
	st_rel(&hp.begun, true);
	while (!ld_acq(&hp.ending) && slot_self() != NULL) {
		struct proc *p = slot_tls->sl_pslot;
		struct round r = chores(p, false);

		if (!ld_acq(&hp.ending))
			(void)plat_futex_wait(&p->pr_bell, 0, next_look(r.r_due)); /* H3 */
	}
	st_rel(&hp.running, false);
	return NULL;
}

/* ---- the thread ------------------------------------------------------------------ */

static bool
forbidden(void)
{
	const char *s = secure_getenv("USTREAMS_HELPER");

	return s != NULL && strcmp(s, "0") == 0;
}

/*
 * With all signals blocked: a handler must not run on the helper's stack.  But those that
 * a fault of the thread itself raises cannot be put off: blocked, they pass the program's
 * handler by.
 */
static bool
spawn(void)
{
	static const int faults[] = { SIGBUS, SIGSEGV, SIGILL, SIGFPE };
	pthread_attr_t at;
	sigset_t all, old;
	bool ok;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&at);
	pthread_attr_setdetachstate(&at, PTHREAD_CREATE_DETACHED);
	ok = pthread_create(&hp.thread, &at, helper, NULL) == 0;
	pthread_attr_destroy(&at);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ok;
}

NOINLINE void
helper_start(void)
{
	st_rlx(&slot_tls->sl_pslot->pr_helper, 1u);
	pthread_mutex_lock(&hp.lock);
	if (!ld_acq(&hp.running) && !ld_acq(&hp.ending)) {
		st_rel(&hp.begun, false);
		st_rlx(&hp.running, !forbidden() && spawn());
		st_rlx(&hp.forbidden, !hp.running);
	}
	pthread_mutex_unlock(&hp.lock);
}

/* The lock is only tried: fork may be called by a handler that interrupted who has it. */
static bool
starting(void)
{
	bool yes;

	if (pthread_mutex_trylock(&hp.lock) != 0)
		return true;
	yes = ld_acq(&hp.running) && !ld_acq(&hp.begun);
	pthread_mutex_unlock(&hp.lock);
	return yes;
}

void
helper_settle(void)
{
	for (int ms = 0; ms < BEGIN_MS && starting(); ms++)
		plat_nap(1000);
}

void
helper_poke(void)
{
	struct proc *p = slot_proc();

	if (p != NULL)
		proc_ring(p);
}

void
helper_call(void)
{
	if (!ld_rlx(&hp.running) && !ld_rlx(&hp.forbidden))
		helper_start();
	helper_poke();
}

bool
helper_absent(void)
{
	return slot_members() + slot_root->sr_named > 1 && ld_rlx(&hp.forbidden);
}

void
helper_end(void)
{
	struct slot *me = slot_self();

	st_rel(&hp.ending, true);
	for (int ms = 0; ms < END_MS && me != NULL && ld_acq(&hp.running); ms++) {
		if (pthread_equal(pthread_self(), hp.thread))
			return; /* a callback that calls exit */
		helper_poke();
		plat_nap(1000);
	}
}

void
helper_forget(void)
{
	pthread_mutex_init(&hp.lock, NULL);
	hp.running = hp.begun = hp.forbidden = hp.ending = false;
	bell_forget();
}

/* ---- the program's own thread instead ------------------------------------------------ */

int
ustr_service(int ms)
{
	int64_t until = ms < 0 ? INT64_MAX : plat_now() + (int64_t)ms * NS_PER_MS, next;
	struct round r;
	struct proc *p;

	if (slot_self() == NULL)
		return -1;
	if (ld_rlx(&slot_tls->sl_home) != NULL) {
		errno = EDEADLK;
		return -1;
	}
	p = slot_tls->sl_pslot;
	for (;;) {
		r = chores(p, true);
		if (r.r_buried > 0 || r.r_raised || plat_now() >= until)
			return r.r_buried;
		next = plat_now() + (int64_t)TICK * NS_PER_MS;
		if (r.r_due >= 0 && r.r_due < next)
			next = r.r_due;
		if (plat_futex_wait(&p->pr_bell, 0, next < until ? next : until) == EINTR) {
			errno = EINTR;
			return -1;
		}
	}
}
