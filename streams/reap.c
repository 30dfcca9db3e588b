/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reap.c: burying processes that died without closing.
 *
 * A process is dead when its record lock on the arena file is gone and none
 * of its thread slots lives (slot.h).  Whoever notices first moves it from
 * PROC_LIVE to PROC_DYING and does then what an ordinary exit does, without
 * draining: every descriptor closed -- so the last holder's death hangs up
 * the peer -- and the slots given free.  Its threads' magazines go back to the
 * depot: each store to one leaves it whole (cache.h).  A thread that died
 * outside the library or asleep held nothing else; what one left half done that
 * died inside a call is seen to by salvage.c, and what it had in its hands is
 * lost and counted as IN_HAND; but for recorder's rings, which may be large (head_ring.h).
 *
 * Who buries may die too: pr_keeper names him, and another one begins again.
 * The same for the maker of an embryo, as soon as it is certain that no child
 * will claim it (FORK_* of slot.h), or after a second where that is unknown.
 */
#include "arena.h"
#include "cache.h"
#include "callout.h"
#include "fd.h"
#include "head_ring.h"
#include "head_trace.h"
#include "helper.h"
#include "orphan.h"
#include "salvage.h"

#define IN_HAND 8192 /* bytes: a magazine of small blocks, or a message of two pages */
#define ORPHAN_NS 1000000000 /* an embryo without a maker is waited for, ns */
#define COMING_NS 3000000000 /* so long a joiner is expected to have a slot, ns */

static bool
seems_dead(const struct proc *p)
{
	int live, dead;

	proc_threads(p, &live, &dead);
	if (live > 0)
		return false;
	/* If the program closed our descriptor, the dead threads must do. */
	if (!arena_fd_regain())
		return dead > 0;
	return !plat_reclocked(arena_fd(), (off_t)p->pr_id);
}

/*
 * Had s something that nothing leads to: a message inside a group, or, outside of all, a
 * stream, FIFO or pair of queues that it made or took apart?  The rest is in others' sight.
 */
static bool
had_in_hand(const struct slot *s)
{
	bool has = ld_acq(&s->sl_home) != NULL;

	for (int i = 0; i < USES; i++)
		has |= ld_acq(&s->sl_use[i]) != 0;
	return has;
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
		salvage_thread(s, p);
		cache_detach(s);
		if (had_in_hand(s))
			faa(&slot_root->sr_leaked, (size_t)IN_HAND);
		ring_salvage(s);
		slot_bury(s);
	}
}

static void
bury(struct proc *p)
{
	uint32_t mine = slot_tls->sl_key;

	ASSERT(ld_rlx(&p->pr_state) == PROC_DYING && ld_rlx(&p->pr_keeper) == mine);
	ASSERT(p != slot_tls->sl_pslot && slot_members() > 0);
	bury_threads(p);
	salvage_sweep(slot_tls);
	fd_closeall(p, false);
	htrace_bury(p);
	registry_forget(p);
	callout_bury(p->pr_id);
	cache_want(slot_self(), false); /* who else waits for memory says so again */
	st_rel(&p->pr_fork, (uint32_t)FORK_UNKNOWN);
	st_rel(&p->pr_state, (uint32_t)PROC_FREE);
	(void)cas(&p->pr_keeper, &mine, 0u); /* after it, or another would bury too */
	slot_recount();
	faa(&slot_root->sr_deaths, 1u);
}

/*
 * Be the one who sees to p, before its state is touched: pr_keeper is 0 or names
 * somebody gone, and only one can change it.  The state is then from -> PROC_DYING.
 */
static bool
keep(struct slot *me, struct proc *p, uint32_t keeper, uint32_t from)
{
	ASSERT(me == slot_tls && p != me->sl_pslot);
	NO_LOCK_HELD();
	if ((keeper != 0 && !slot_gone(keeper)) || !cas(&p->pr_keeper, &keeper, me->sl_key))
		return false;
	CRASH_POINT();
	if (cas(&p->pr_state, &from, (uint32_t)PROC_DYING)) {
		CRASH_POINT();
		return true;
	}
	keeper = me->sl_key;
	(void)cas(&p->pr_keeper, &keeper, 0u);
	return false;
}

/* p is dead and nobody buries it: do that?  It is PROC_DYING then, and ours. */
static bool
claim_dead(struct slot *me, struct proc *p)
{
	uint32_t keeper = ld_seq(&p->pr_keeper), state = ld_seq(&p->pr_state), mine = me->sl_key;

	if (state == PROC_DYING)
		return keep(me, p, keeper, PROC_DYING);
	if (state != PROC_LIVE || !seems_dead(p) || !keep(me, p, keeper, PROC_LIVE))
		return false;
	/* Another may have buried it meanwhile, and the slot live again. */
	if (seems_dead(p))
		return true;
	st_rel(&p->pr_state, (uint32_t)PROC_LIVE);
	(void)cas(&p->pr_keeper, &mine, 0u);
	return false;
}

/* p's maker is gone: is there certainly no child that will claim it? */
static bool
is_childless(const struct proc *p)
{
	switch (ld_seq(&p->pr_fork)) {
	case FORK_NOTYET:
		return true;
	case FORK_HELD:
		return arena_fd_regain() && !plat_reclocked(arena_fd(), EMBRYO_BYTE(p));
	default:
		return false;
	}
}

/* An embryo whose maker died, and that no child has claimed. */
static bool
claim_orphan(struct slot *me, struct proc *p)
{
	static int64_t since[NPROC];
	static uint32_t life[NPROC]; /* of what since was noted */
	uint32_t keeper = ld_seq(&p->pr_keeper);

	ASSERT(p->pr_id > 0 && p->pr_id < NPROC);
	if (ld_seq(&p->pr_state) != PROC_EMBRYO || !slot_gone(keeper)) {
		st_rlx(&since[p->pr_id], (int64_t)0);
		return false;
	}
	if (ld_rlx(&since[p->pr_id]) == 0 || ld_rlx(&life[p->pr_id]) != ld_acq(&p->pr_life)) {
		st_rlx(&life[p->pr_id], ld_acq(&p->pr_life));
		st_rlx(&since[p->pr_id], plat_now());
	}
	/* Where nobody knows, a while; where the byte is locked, a child comes or dies. */
	if (!is_childless(p) && (ld_seq(&p->pr_fork) == FORK_HELD ||
		    plat_now() - ld_rlx(&since[p->pr_id]) < ORPHAN_NS))
		return false;
	return keep(me, p, keeper, PROC_EMBRYO);
}

bool
reap_expects(void)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop);

	if (ld_rlx(&slot_root->sr_coming) != 0 &&
	    plat_now() - ld_rlx(&slot_root->sr_coming) < COMING_NS)
		return true;
	for (uint32_t i = 1; i < top; i++) {
		const struct proc *p = slot_procat(i);

		if (p != NULL && ld_seq(&p->pr_state) == PROC_EMBRYO &&
		    slot_gone(ld_seq(&p->pr_keeper)))
			return true;
	}
	return false;
}

int
reap_scan(void)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop);
	struct slot *me = slot_self();
	int n = 0;

	NO_LOCK_HELD();
	if (me == NULL)
		return 0;
	for (uint32_t i = 1; i < top; i++) {
		struct proc *p = slot_procat(i);

		if (p == NULL || p == slot_proc() ||
		    (!claim_dead(me, p) && !claim_orphan(me, p)))
			continue;
		bury(p);
		n++;
	}
	orphan_run(me);
	salvage_run();
	htrace_tidy();
	return n;
}
