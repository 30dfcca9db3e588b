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

static void
look_at(queue_t *hrq, void *unused)
{
	struct stdata *sd = hrq->q_stream, *mate;

	(void)unused;
	LOCK_HELD(&plumb_root->pl_lock);
	if (!needs_orphan(sd))
		return;
	mate = ld_acq(&sd->sd_mate);
	hang_up(sd);
	if (mate != NULL)
		hang_up(mate);
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
	/* O2: all streams are looked at. */
	if (plumb_survey(me, look_at, NULL) && discard_unused(me))
		st_rel(&registry->rg_hungup, orphaned);
}
