/* SPDX-License-Identifier: BSD-2-Clause */
/* proc.c: claiming process slots and thread slots. */
#include "proc.h"
#include "arena.h"
#include "cache.h"
#include "fd.h"
#include "helper.h"

#include <errno.h>
#include <pthread.h>

#define PROC_READY 4 /* process slots made beforehand */
#define RESERVE 32   /* thread slots */

static pthread_key_t key; /* destroyed with the thread */

/* ---- threads -------------------------------------------------------------------------- */

/*
 * Memory for a thread slot: from a reserve made at the beginning, so that a
 * thread that comes when the arena is exhausted can still give memory back.
 */
static void *
carve_slot(size_t size)
{
	char *p = ld_acq(&slot_root->sr_reserve);

	while (p != NULL && (size_t)(slot_root->sr_reserve_end - p) >= size)
		if (cas(&slot_root->sr_reserve, &p, p + size))
			return p;
	return arena_carve(size, LINE);
}

/* A thread that used the library ends. */
static void
thread_ends(void *arg)
{
	struct slot *s = arg;

	if (s != slot_tls || s->sl_pslot != slot_proc() || ld_rlx(&s->sl_home) != NULL)
		return;
	ASSERT_AT(2, s->sl_nheld == 0);
	file_thread_ends(s);
	cache_detach(s);
	slot_tls = NULL;
	slot_release(s);
}

static int
thread_begins_in(struct proc *p, proc_chooser *claim)
{
	struct slot *s;
	int error = claim(p, carve_slot, &s);

	ASSERT(slot_tls == NULL);
	if (error != 0)
		return error;
	s->sl_later = NULL;
	st_rlx(&s->sl_after, 0u);
	s->sl_nsigs = 0;
	s->sl_nheld = 0;
	cache_attach(s);
	JITTER();
	slot_live(s);
	slot_tls = s;
	pthread_setspecific(key, s);
	return 0;
}

int
proc_thread(struct proc *p)
{
	return thread_begins_in(p, slot_claim);
}

void
proc_forget_thread(void)
{
	slot_tls = NULL;
	pthread_setspecific(key, NULL);
}

int
proc_hook(void)
{
	return pthread_key_create(&key, thread_ends);
}

/* ---- processes ------------------------------------------------------------------------- */

int
proc_furnish(void)
{
	slot_root = arena_root_make(ROOT_SLOT, sizeof(*slot_root));
	if (slot_root == NULL)
		return ENOMEM;
	slot_root->sr_reserve = arena_carve(RESERVE * sizeof(struct slot), LINE);
	if (slot_root->sr_reserve == NULL)
		return ENOMEM;
	slot_root->sr_reserve_end = slot_root->sr_reserve + RESERVE * sizeof(struct slot);
	slot_root->sr_named = arena_named();
	st_rlx(&slot_root->sr_top, 1u);
	st_rlx(&slot_root->sr_ptop, 1u);
	return 0;
}

struct proc *
proc_make(uint32_t i)
{
	struct proc *p = slot_procat(i), *none = NULL;

	ASSERT(i > 0 && i < NPROC && (p == NULL || p->pr_id == i));
	if (p != NULL)
		return p;
	p = arena_carve(sizeof(*p), LINE);
	if (p == NULL)
		return NULL;
	p->pr_id = i;
	return cas(&slot_root->sr_proc[i], &none, p) ? p : none;
}

/* p, which is claimed, begins another life. */
void
proc_begin(struct proc *p)
{
	ASSERT(ld_rlx(&p->pr_state) == PROC_EMBRYO);
	for (uint32_t old = ld_rlx(&slot_root->sr_ptop);
	     old <= p->pr_id && !cas(&slot_root->sr_ptop, &old, p->pr_id + 1);)
		;
	if (slot_tls != NULL)
		bury_threads(p); /* of an earlier life */
	for (int d = 0; d < PROC_DUE; d++)
		st_rlx(&p->pr_due[d], (uint64_t)0);
	for (int d = 0; d < PROC_SIGS; d++)
		st_rlx(&p->pr_sig[d], (uint64_t)0);
	st_rlx(&p->pr_sigover, 0u);
	st_rlx(&p->pr_helper, 0u);
	ASSERT(ld_rlx(&p->pr_fork) == FORK_UNKNOWN);
	st_rel(&p->pr_life, ld_rlx(&p->pr_life) + 1);
}

/* Who has no thread slot yet buries the threads of the slot's earlier life when he has. */
struct proc *
proc_claim(void)
{
	for (uint32_t i = 1; i < slot_most(NPROC); i++) {
		struct proc *p = proc_make(i);
		uint32_t is_free = PROC_FREE;

		if (p == NULL)
			return NULL;
		if (!cas(&p->pr_state, &is_free, (uint32_t)PROC_EMBRYO))
			continue;
		proc_begin(p);
		return p;
	}
	return NULL;
}

/*
 * A few process slots ready for use, so that a fork finds one even when the
 * arena is exhausted.
 */
int
proc_reserve(void)
{
	struct proc *p[PROC_READY];
	int error = 0;

	for (int i = 0; error == 0 && i < PROC_READY; i++) {
		p[i] = proc_claim();
		error = p[i] == NULL ? ENOMEM : fd_init(p[i]);
	}
	for (int i = 0; error == 0 && i < PROC_READY; i++)
		st_rel(&p[i]->pr_state, (uint32_t)PROC_FREE);
	return error;
}

/* Record lock and thread slot first: it is alive by every sign before its state says so. */
int
proc_live_in(struct proc *p, proc_chooser *claim)
{
	uint32_t embryo = PROC_EMBRYO;
	int error;

	p->pr_pid = plat_pid();
	st_rlx(&p->pr_arenafd, arena_fd());
	if (arena_fd_ours())
		plat_lockrec(arena_fd(), (off_t)p->pr_id);
	st_rlx(&slot_wipe->w_proc, p);
	error = thread_begins_in(p, claim);
	slot_joins();
	st_rel(&p->pr_fork, (uint32_t)FORK_UNKNOWN);
	st_rel(&p->pr_keeper, 0u); /* nobody sees to it: who finds it dead may (reap.c) */
	if (error == 0 && !cas(&p->pr_state, &embryo, (uint32_t)PROC_LIVE))
		error = ESRCH;
	slot_recount();
	return error;
}

int
proc_live(struct proc *p)
{
	return proc_live_in(p, slot_claim);
}
