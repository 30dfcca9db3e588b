/* SPDX-License-Identifier: BSD-2-Clause */
/* orphan.c: hanging up streams that need code that is gone; labels of orphan.h. */
#include "orphan.h"
#include "uses.h"

#include <stropts.h>

static void
hang_up(struct stdata *sd)
{
	LOCK_HELD(&plumb_root->pl_lock); /* nobody woken by this needs it to go on */
	if (f_or(&sd->sd_state, SD_HUP) & SD_HUP)
		return;
	wait_wakeall(&sd->sd_rwait);
	wait_wakeall(&sd->sd_wwait);
	wait_wakeall(&sd->sd_iwait);
	head_event(sd, S_HANGUP, 0);
}

static bool
needs_orphan(const struct stdata *sd)
{
	for (queue_t *q = head_wq(sd); q != NULL && q->q_stream == sd; q = q->q_next)
		if (registry_orphan(q))
			return true;
	return false;
}

/* Under pl_lock, inside the group: neither queues nor sd_mate change. */
static void
look_at(struct stdata *sd)
{
	struct stdata *mate;

	LOCK_HELD(&plumb_root->pl_lock);
	if (!needs_orphan(sd))
		return;
	mate = ld_acq(&sd->sd_mate);
	hang_up(sd);
	if (mate != NULL)
		hang_up(mate);
}

/* False: a stopped thread is in the way. */
static bool
look_through(struct slot *me, struct group *g)
{
	if (!plumb_look(me, g))
		return false;
	g = ld_rlx(&me->sl_home);
	lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
	for (queue_t *hrq = g->g_heads; hrq != NULL; hrq = hrq->q_gnext)
		look_at(hrq->q_stream);
	lock_leave(me, &plumb_root->pl_lock);
	plumb_looked(me);
	return true;
}

/* O2: all streams are looked at. */
static bool
hang_up_all(struct slot *me)
{
	bool all = true;

	for (struct group *g = ld_acq(&plumb_root->pl_all); g != NULL; g = g->g_all)
		if (ld_acq(&g->g_heads) != NULL)
			all &= look_through(me, g);
	return all;
}

/* O3: those that nobody uses any more go. */
static bool
discard_unused(struct slot *me)
{
	uint32_t taken[NREG];
	bool used[NREG];

	registry_orphans(me, taken);
	if (!uses_look(me, used))
		return false;
	registry_sweep(me, used, taken);
	return true;
}

void
orphan_run(struct slot *me)
{
	uint32_t orphaned = ld_seq(&registry->rg_orphaned);

	NO_LOCK_HELD();
	if (likely(orphaned == ld_seq(&registry->rg_hungup)))
		return;
	if (hang_up_all(me) && discard_unused(me))
		st_rel(&registry->rg_hungup, orphaned);
}
