/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reap.c: burying processes that died without closing.
 *
 * A process is dead when its record lock on the arena file is gone and none
 * of its thread slots lives (slot.h).  Whoever notices first moves it from
 * PROC_LIVE to PROC_DYING and does then what an ordinary exit does, without
 * draining: every descriptor closed -- so the last holder's death hangs up
 * the peer -- and the slots given free.  A thread that died outside the
 * library or asleep held nothing; its magazines go back to the depot.  One
 * that died inside a call may have had blocks in its hands: its magazines are
 * left alone, and its locks are broken by who waits for them (lock.h).
 */
#include "arena.h"
#include "cache.h"
#include "callout.h"
#include "fd.h"
#include "helper.h"

/* How many thread slots of p are held by the living, and by the dead. */
static void
count_threads(const struct proc *p, int *live, int *dead)
{
	uint32_t top = ld_acq(&slot_root->sr_top);

	*live = *dead = 0;
	for (uint32_t i = 1; i < top; i++) {
		struct slot *s = slot_at(i);

		if (s == NULL || ld_acq(&s->sl_state) != SLOT_LIVE ||
		    ld_rlx(&s->sl_proc) != p->pr_id)
			continue;
		if (slot_dead(s))
			++*dead;
		else
			++*live;
	}
}

static bool
seems_dead(const struct proc *p)
{
	int live, dead;

	count_threads(p, &live, &dead);
	if (live > 0)
		return false;
	/* If the program closed our descriptor, the dead threads must do. */
	if (!arena_fd_regain())
		return dead > 0;
	return !plat_reclocked(arena_fd(), (off_t)p->pr_id);
}

void
bury_threads(struct proc *p)
{
	uint32_t top = ld_acq(&slot_root->sr_top);

	for (uint32_t i = 1; i < top; i++) {
		struct slot *s = slot_at(i);
		uint32_t key = s != NULL ? ld_acq(&s->sl_key) : 0;

		if (s != NULL)
			slot_unclaim(s, p);
		if (s == NULL || ld_rlx(&s->sl_proc) != p->pr_id || !slot_takedead(s, key))
			continue;
		if (ld_acq(&s->sl_home) == NULL)
			cache_detach(s);
		else
			faa(&slot_root->sr_leaked, cache_held(s));
		slot_bury(s);
	}
}

static void
bury(struct proc *p)
{
	bury_threads(p);
	fd_closeall(p, false);
	callout_bury(p->pr_id);
	cache_want(slot_self(), false); /* who else waits for memory says so again */
	st_rel(&p->pr_state, (uint32_t)PROC_FREE);
	fas(&slot_root->sr_live, 1u);
	faa(&slot_root->sr_deaths, 1u);
}

int
reap_scan(void)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop);
	int n = 0;

	for (uint32_t i = 1; i < top; i++) {
		struct proc *p = slot_procat(i);
		uint32_t live = PROC_LIVE;

		if (p == NULL || p == slot_proc() || ld_acq(&p->pr_state) != PROC_LIVE ||
		    !seems_dead(p) || !cas(&p->pr_state, &live, (uint32_t)PROC_DYING))
			continue;
		/* Another may have buried it meanwhile, and the slot live again. */
		if (seems_dead(p)) {
			bury(p);
			n++;
		} else {
			uint32_t dying = PROC_DYING;

			(void)cas(&p->pr_state, &dying, (uint32_t)PROC_LIVE);
		}
	}
	return n;
}
