/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_close.c: taking a stream apart.
 *
 * The last close, in order:
 *   C1 SD_CLOSING set; from here on nobody opens or finds the stream
 *   C2 the group drained: no call that knew the file is inside (fd.c)
 *   C3 write queues given their time to drain
 *   C3a what is linked below is taken off (head_link.c)
 *   C4 modules closed from the top, then the driver; each qprocsoff unlinks
 *   C5 a pipe: M_HANGUP to the other end, SD_BROKEN, both bottoms cut off
 *   C6 off the driver's list, freed; the group too, with its last stream
 *
 * A FIFO's name goes with C1, so that the next open makes a new one.
 *
 * A stopped thread inside the group or a perimeter would hold this up: then
 * the step returns ETIME with the stream whole as far as it still is, the file
 * goes on head_root's list, and a helper takes it up again (file_unclosed).  So it does
 * if a close routine is code of another process: C4 then returns EXDEV, and that
 * process's helper goes on.
 */
#include "fd.h"
#include "head.h"
#include "head_trace.h"
#include "node.h"

#include <stropts.h>

/* ---- C3 ---------------------------------------------------------------------------- */

static bool
writes_left(struct stdata *sd)
{
	for (queue_t *q = head_next(sd, head_wq(sd)); q != NULL; q = head_next(sd, q))
		if (ld_acq(&q->q_first) != NULL || ld_acq(&q->q_pfirst) != NULL)
			return true;
	return false;
}

/* Inside the group; leaves it to wait. */
static void
drain_writes(struct slot *me, struct stdata *sd)
{
	int64_t until = plat_now() + (int64_t)ld_rlx(&sd->sd_cltime) * 1000000;
	unsigned int us = 50;

	ASSERT(ld_rlx(&me->sl_home) != NULL && ld_rlx(&sd->sd_plumber) == me->sl_key);
	while (writes_left(sd) && !(ld_acq(&sd->sd_state) & SD_TROUBLE) && plat_now() < until) {
		bool signalled;

		plumb_exit(me);
		signalled = !plat_nap(us);
		us = us < 10000 ? us * 2 : us;
		plumb_into(me, head_group(sd));
		if (signalled)
			return;
	}
}

/* ---- C5 ---------------------------------------------------------------------------- */

/* Is sd the other end of mate, which may have been left by who was killed in head_detach? */
static bool
mates(const struct stdata *mate, const struct stdata *sd)
{
	return mate->sd_mate == sd || mate->sd_mate == NULL;
}

/*
 * The other end may be closing too: whoever finds sd_mate set, under
 * plumb_lock, cuts both; outside it the pointer means nothing.
 */
static void
mate_flag(struct slot *me, struct stdata *sd, uint32_t flags)
{
	plumb_lock(me);
	IMPLY(sd->sd_mate != NULL, mates(sd->sd_mate, sd));
	if (sd->sd_mate != NULL) {
		f_or(&sd->sd_mate->sd_state, flags);
		head_wake(sd->sd_mate);
		if (flags & SD_HUP)
			head_event(sd->sd_mate, S_HANGUP, 0);
	}
	plumb_unlock(me);
}

static void
hang_up(struct slot *me, struct stdata *sd)
{
	mate_flag(me, sd, SD_BROKEN);
	if (!putnextctl(head_wq(sd), M_HANGUP))
		mate_flag(me, sd, SD_HUP); /* no memory for the message */
}

/* Who was killed in head_detach forgot the other end of sd, which does not know yet. */
static void
part_other(struct slot *me, struct stdata *sd)
{
	lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
	for (queue_t *hrq = head_group(sd)->g_heads; hrq != NULL; hrq = hrq->q_gnext)
		if (hrq->q_stream->sd_mate == sd)
			st_rel(&hrq->q_stream->sd_mate, NULL);
	lock_leave(me, &plumb_root->pl_lock);
}

void
head_detach(struct slot *me, struct stdata *sd)
{
	struct stdata *mate;

	plumb_lock(me);
	mate = sd->sd_mate;
	IMPLY(mate != NULL, mates(mate, sd) && sd->sd_kind == HEAD_PIPE);
	if (mate != NULL) {
		plumb_cut(sd->sd_rq);
		plumb_cut(mate->sd_rq);
		/* Ours first: it is never followed again, by who goes on after a death. */
		st_rel(&sd->sd_mate, NULL);
		CRASH_POINT();
		st_rel(&mate->sd_mate, NULL);
		htrace_parted(mate);
	} else if (sd->sd_kind == HEAD_PIPE && (ld_acq(&sd->sd_state) & SD_DAMAGED)) {
		part_other(me, sd);
	}
	runq_forget(head_wq(sd));
	plumb_unlock(me);
}

/* ---- C6 ---------------------------------------------------------------------------- */

void
head_delist(struct slot *me, struct stdata *sd)
{
	struct stdata **link;

	htrace_hold(me, sd);
	if (sd->sd_kind != HEAD_DEVICE)
		return;
	link = &sd->sd_reg->re_open;
	ASSERT(sd->sd_reg != NULL);
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	while (*link != NULL && *link != sd)
		link = &(*link)->sd_nextopen;
	if (*link == sd) {
		*link = sd->sd_nextopen;
		sd->sd_nextopen = NULL;
		registry_over(sd->sd_reg);
	}
	lock_leave(me, &registry->rg_lock);
}

void
head_scrap(struct stdata *sd)
{
	if (sd->sd_kind == HEAD_FIFO)
		node_free(sd->sd_node);
	head_free(sd);
}

/* ---- the whole ------------------------------------------------------------------------ */

int
head_takeapart(struct slot *me, struct stdata *sd, int oflag, bool drain)
{
	int error;

	ASSERT(ld_rlx(&sd->sd_plumber) == me->sl_key && ld_rlx(&me->sl_home) != NULL);
	ASSERT(sd->sd_opens == 0 || (ld_acq(&sd->sd_state) & SD_OPENING));
	if (drain && !(oflag & O_NONBLOCK))
		drain_writes(me, sd);
	error = head_unlinkall(me, sd, drain); /* C3a */
	while (error == 0 && head_module(sd, 0) != NULL) /* C4 */
		error = head_dispose(me, head_wq(sd)->q_next, oflag);
	if (error == 0 && (head_wq(sd)->q_next->q_kind & QK_DRIVER))
		error = head_dispose(me, head_wq(sd)->q_next, oflag);
	else if (error == 0 && sd->sd_kind == HEAD_PIPE)
		hang_up(me, sd); /* C5 */
	if (error != 0) {
		head_plumb_leave(sd);
		plumb_exit(me);
		return error;
	}
	head_detach(me, sd);
	plumb_exit(me);
	return 0;
}

int
head_dismantle(struct stdata *sd, int oflag, bool drain)
{
	struct slot *me = slot_self();
	int error;

	if (me == NULL)
		return 0;
	error = head_enter(me, sd);
	return error != 0 ? error : head_takeapart(me, sd, oflag, drain);
}

void
head_settle(struct stdata *sd)
{
	struct file *f = ld_acq(&sd->sd_leaver);

	LOCK_HELD(&registry->rg_lock);
	if (f == NULL)
		return;
	ASSERT(f->f_head == sd);
	ASSERT(sd->sd_opens == sd->sd_toopens || sd->sd_opens == sd->sd_toopens + 1);
	st_rlx(&sd->sd_opens, sd->sd_toopens);
	CRASH_POINT();
	if (sd->sd_toopens == 0)
		f_or(&sd->sd_state, (uint32_t)SD_CLOSING); /* C1 */
	st_rel(&f->f_closing, (uint32_t)(sd->sd_toopens == 0 ? FILE_LAST : FILE_QUIET));
	CRASH_POINT();
	st_rel(&sd->sd_leaver, NULL);
}

bool
head_lastclose(struct stdata *sd, struct file *f)
{
	struct slot *me = slot_self();
	bool last;

	if (me == NULL)
		return false;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	head_settle(sd);
	if (f != NULL && f->f_closing != FILE_OPEN) { /* who was killed had begun */
		last = f->f_closing == FILE_LAST;
		lock_leave(me, &registry->rg_lock);
		return last;
	}
	ASSERT(sd->sd_opens > 0);
	ASSERT(sd->sd_leaver == NULL && !(ld_rlx(&sd->sd_state) & SD_CLOSING));
	last = sd->sd_opens == 1;
	/* First: whoever is killed in here leaves no name that leads to a closing stream. */
	if (last && sd->sd_kind == HEAD_FIFO)
		node_remove(sd->sd_node);
	CRASH_POINT();
	st_rlx(&sd->sd_toopens, sd->sd_opens - 1);
	if (f != NULL) {
		st_rel(&sd->sd_leaver, f);
		head_settle(sd);
	} else {
		sd->sd_opens--;
		f_or(&sd->sd_state, (uint32_t)(last ? SD_CLOSING : 0));
	}
	lock_leave(me, &registry->rg_lock);
	return last;
}

void
head_abandon(struct stdata *sd)
{
	int error;

	if (!head_lastclose(sd, NULL))
		return;
	while ((error = head_dismantle(sd, O_NONBLOCK, false)) != 0) {
		if (error == EXDEV && file_closelater(sd))
			return;
		plat_nap(1000);
	}
	head_delist(slot_self(), sd);
	head_scrap(sd);
}
