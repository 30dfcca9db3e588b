/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_link.c: linking streams below a multiplexing driver: I_LINK and its kin.
 *
 *        before                         after I_LINK(control stream, fd)
 *
 *   program    program             program
 *      │          │                   │
 *   ┌──▼───┐  ┌───▼──┐             ┌──▼───┐
 *   │ head │  │ head │             │ head │
 *   └──┬───┘  └───┬──┘             └──┬───┘
 *   ┌──▼───┐  ┌───▼──┐             ┌──▼───────────┐
 *   │ mux  │  │driver│             │ mux          │ upper queues
 *   └──────┘  └──────┘             ├──────────────┤
 *                                  │ lower queues │ the head's queue pair, with
 *                                  └──┬───────────┘ the mux's lower procedures
 *                                  ┌──▼───┐
 *                                  │driver│
 *                                  └──────┘
 *
 * The stream head below keeps its queue pair, but the queues get the lower
 * tables of the mux (st_muxrinit, st_muxwinit) and its perimeter; SD_PLEX turns
 * every call away.  The link holds a reference to the open file below, so that
 * closing its descriptor closes nothing.
 *
 *   L1 the record listed: no circle, not below another mux already (link_make)
 *   L2 the stream's groups become one: only one thread merges at a time (rg_linker)
 *   L3 under plumb_lock: queues switched, SD_PLEX; what nobody has read yet goes
 *      through the mux's lower read put procedure, before anything that follows
 *   L4 the driver is told by M_IOCTL with a struct linkblk; M_IOCNAK: L6
 *   L5 unlinking: the driver is told; M_IOCNAK: the link stays
 *   L6 under plumb_lock: queues switched back; what the mux left on its lower
 *      queues is read from the stream, or goes on down; the file reference dropped
 *
 * L4 and L5 do not mind signals, and the driver has the ioctl time-out of the
 * stream head to answer.  Whoever closes a control stream does L5, without
 * minding the answer, and L6 for each I_LINK link.
 *
 * Between L3 and L4, and when it has answered I_UNLINK until L6, the driver sees
 * messages from a stream that it does not know: it finds q_ptr NULL.
 */
#include "calls.h"
#include "flow.h"
#include "head_sig.h"
#include "heap.h"
#include "link.h"
#include "perim.h"

#include <errno.h>
#include <stropts.h>
#include <string.h>

#define TELL_TRIES 1000 /* a millisecond apart, while there is no memory */

/* ---- switching the queues, under plumb_lock --------------------------------------------- */

/* Everything unread at the head, in order, along b_next. */
static mblk_t *
take_unread(struct slot *me, struct stdata *sd)
{
	mblk_t *mp, *first = NULL, **last = &first;
	queue_t *q = sd->sd_rq;

	ASSERT(q->q_kind & QK_HEADR);
	ASSERT(ld_rlx(&plumb_group(q)->g_plumber) == me->sl_key);
	hq_lock(me, q);
	while ((mp = hq_first(me, q)) != NULL) {
		hq_drop(me, q, mp);
		mp->b_flag &= (unsigned short)~MSG_UNCOUNTED;
		*last = mp;
		last = &mp->b_next;
	}
	sd->sd_msigs = 0;
	hq_unlock(me, q);
	st_rel(&sd->sd_pcproto, 0u);
	return first;
}

/*
 * Everything on a lower queue, then what is parked for it.  The counts are not
 * looked at: strip() begins anew, and who was killed may have left them wrong.
 */
static mblk_t *
take_queued(struct slot *me, queue_t *q)
{
	mblk_t *first, **last = &first;

	lock_enter(me, &q->q_lock, RANK_QUEUE);
	first = q->q_first;
	st_rlx(&q->q_first, NULL);
	q->q_last = NULL;
	lock_leave(me, &q->q_lock);
	for (; *last != NULL; last = &(*last)->b_next)
		(*last)->b_prev = NULL;
	*last = perim_forget(q);
	return first;
}

static void
put_all(queue_t *q, mblk_t *mp)
{
	while (mp != NULL) {
		mblk_t *next = mp->b_next;

		mp->b_next = NULL;
		put(q, mp);
		mp = next;
	}
}

static void
marks_save(struct linkmarks *lm, const queue_t *q)
{
	*lm = (struct linkmarks){ ld_rlx(&q->q_hiwat), ld_rlx(&q->q_lowat),
		ld_rlx(&q->q_minpsz), ld_rlx(&q->q_maxpsz) };
}

static void
marks_restore(const struct linkmarks *lm, queue_t *q)
{
	st_rlx(&q->q_hiwat, lm->lm_hiwat);
	st_rlx(&q->q_lowat, lm->lm_lowat);
	st_rlx(&q->q_minpsz, lm->lm_minpsz);
	st_rlx(&q->q_maxpsz, lm->lm_maxpsz);
}

/* Empty, off the run list, without bands: ready for other procedures. */
static void
strip(queue_t *q)
{
	ASSERT(ld_rlx(&q->q_first) == NULL && ld_rlx(&q->q_pfirst) == NULL);
	runq_forget(q);
	band_freeall(q);
	st_rlx(&q->q_count, (size_t)0);
	st_rlx(&q->q_blocks, (size_t)0);
	f_and(&q->q_want, (uint32_t)(WANT_LEVEL | WANT_TRACE));
	(void)xchg(&q->q_pwant, 0u);
}

/* L3.  SD_PLEX first: who is killed in here leaves something to come back from. */
static void
go_below(struct slot *me, struct link *lk)
{
	struct stdata *sd = lk->lk_lower;
	queue_t *rq = sd->sd_rq;
	mblk_t *mp;

	ASSERT(lk->lk_owner == me->sl_key);
	ASSERT(!(ld_acq(&sd->sd_state) & SD_PLEX)); /* link.h, invariant 1 */
	ASSERT(ld_rlx(&plumb_group(rq)->g_plumber) == me->sl_key);
	for (int i = 0; i < 2; i++)
		marks_save(&lk->lk_marks[i], &rq[i]);
	f_or(&sd->sd_state, SD_PLEX);
	mp = take_unread(me, sd);
	for (int i = 0; i < 2; i++) {
		strip(&rq[i]);
		rq[i].q_ptr = NULL;
		rq[i].q_perim = lk->lk_perim[i];
	}
	CRASH_POINT();
	queue_setup(rq, &lk->lk_mux->re_lower, 0);
	plumb_resolve(rq);
	CRASH_POINT();
	head_wake(sd);
	head_event(sd, S_CLEARED, 0);
	put_all(rq, mp);
	flow_backenable(rq); /* who was refused by the head */
}

/* L6. */
static void
come_back(struct slot *me, struct link *lk)
{
	struct stdata *sd = lk->lk_lower;
	queue_t *rq = sd->sd_rq, *wq = OTHERQ(rq);
	mblk_t *up = NULL, *down = NULL;
	/* Still, or again, the head's: somebody was killed on the way. */
	bool below = (rq->q_kind & QK_HEADR) == 0;

	ASSERT(lk->lk_owner == me->sl_key && (ld_acq(&sd->sd_state) & SD_PLEX));
	ASSERT(ld_rlx(&plumb_group(rq)->g_plumber) == me->sl_key);
	if (below) {
		up = take_queued(me, rq);
		down = take_queued(me, wq);
		strip(rq);
		strip(wq);
	} else {
		/* go_below() may have forgotten them, or head_setup() have set up one only. */
		runq_forget(rq);
		runq_forget(wq);
	}
	CRASH_POINT();
	rq->q_ptr = wq->q_ptr = NULL;
	rq->q_perim = wq->q_perim = NULL;
	head_setup(rq);
	CRASH_POINT();
	for (int i = 0; i < 2; i++)
		marks_restore(&lk->lk_marks[i], &rq[i]);
	plumb_resolve(rq);
	if (sd->sd_kind == HEAD_PIPE && (ld_acq(&sd->sd_state) & SD_BROKEN))
		f_or(&sd->sd_state, SD_HUP); /* the mux had the M_HANGUP */
	f_and(&sd->sd_state, ~(uint32_t)SD_PLEX);
	sig_resume(sd);
	put_all(rq, up);
	put_all(wq->q_next, down);
	runq_enable(wq); /* for the one that was forgotten */
	head_wake(sd);
	head_event(sd, S_CLEARED, 0);
	flow_backenable(rq); /* who was refused by the mux */
}

/* ---- records ------------------------------------------------------------------------------ */

/* The perimeters of the lower queues, as for any pair of the driver. */
static int
make_perims(struct link *lk)
{
	queue_t pair[2] = { { .q_kind = QK_READ } };
	int error = registry_perims(lk->lk_mux, pair);

	for (int i = 0; i < 2; i++)
		lk->lk_perim[i] = pair[i].q_perim;
	return error;
}

static struct link *
record(struct stdata *mux, struct file *f, bool persist)
{
	struct link *lk = heap_zalloc(sizeof(*lk));

	if (lk == NULL)
		return NULL;
	lk->lk_upper = mux;
	lk->lk_lower = f->f_head;
	lk->lk_mux = mux->sd_reg;
	lk->lk_below = f->f_head->sd_reg;
	lk->lk_file = f;
	lk->lk_persist = persist;
	if (make_perims(lk) != 0) {
		heap_free(lk, sizeof(*lk));
		return NULL;
	}
	return lk;
}

/* Free a record that is not listed, with what it owns but its reference to the file. */
static void
record_free(struct link *lk)
{
	queue_t pair[2] = { { .q_kind = QK_READ, .q_perim = lk->lk_perim[0] },
		{ .q_perim = lk->lk_perim[1] } };

	registry_unperims(lk->lk_mux, pair);
	heap_free(lk, sizeof(*lk));
}

/*
 * The end of a record: its file is in hand afterwards.  Who is killed in here left it
 * listed, as it was, and another one does all of it; or he had it, and gives it up.
 */
static struct file *
record_end(struct slot *me, struct link *lk)
{
	struct regent *mux = lk->lk_mux;
	struct file *f = lk->lk_file;

	registry_hand(me, mux); /* the link may have been its last use */
	file_parting(f);
	CRASH_POINT();
	link_remove(lk);
	CRASH_POINT();
	record_free(lk);
	registry_rele(me, mux);
	return f;
}

/* Take lk's stream out again (L6): 0 and the file to be released, or ETIME. */
static int
undo(struct slot *me, struct link *lk, struct file **fp)
{
	ASSERT(lk->lk_owner == me->sl_key);
	if (!plumb_try(me))
		return ETIME;
	if (ld_acq(&lk->lk_lower->sd_state) & SD_PLEX)
		come_back(me, lk);
	plumb_unlock(me);
	CRASH_POINT();
	*fp = record_end(me, lk);
	return 0;
}

/* A stopped thread is in the way: let it come on. */
static void
pause_outside(struct slot *me)
{
	struct group *g = ld_rlx(&me->sl_home);

	plumb_exit(me);
	(void)plat_nap(1000);
	plumb_into(me, g);
}

/* ---- linking -------------------------------------------------------------------------------- */

/* Be the one who merges, outside all groups: 0, or ETIME: he is stopped. */
static int
linker_enter(struct slot *me)
{
	unsigned int step = 0;
	int64_t since = 0;

	ASSERT(ld_rlx(&me->sl_home) == NULL);
	NO_LOCK_HELD();
	for (;;) {
		uint32_t owner = 0;
		struct slot *s;

		if (cas(&registry->rg_linker, &owner, me->sl_key))
			return 0;
		if (!plat_backoff(&step))
			continue;
		if (slot_gone(owner) && cas(&registry->rg_linker, &owner, me->sl_key))
			return 0;
		s = slot_of(owner);
		if (s != NULL && slot_stopped(s, &since))
			return ETIME;
	}
}

static void
linker_leave(void)
{
	ASSERT(ld_rlx(&registry->rg_linker) == slot_tls->sl_key);
	(void)xchg(&registry->rg_linker, 0u);
}

/* What threads left behind that were killed while they linked; outside all groups. */
static void
adopt_orphans(void)
{
	struct link *lk;

	while ((lk = link_orphan()) != NULL) {
		if (ld_acq(&lk->lk_lower->sd_state) & SD_PLEX)
			link_settle(lk);
		else
			file_rele(record_end(slot_tls, lk), false);
	}
}

/* L2, L3: 0 or ETIME. */
static int
join(struct slot *me, struct link *lk)
{
	struct group *home, *other;

	ASSERT(ld_rlx(&registry->rg_linker) == me->sl_key); /* M1: one at a time */
	if (!plumb_try(me))
		return ETIME;
	home = ld_rlx(&me->sl_home);
	other = group_root(head_group(lk->lk_lower));
	if (other != home) {
		other = plumb_also(me, other);
		if (other == NULL) {
			plumb_unlock(me);
			return ETIME;
		}
		group_merge(me, other, home);
	}
	go_below(me, lk);
	plumb_unlock(me);
	return 0;
}

/* L1..L3, inside the control stream's group: 0 and the record, or an errno. */
static int
attach(struct call *c, struct file *f, bool persist, struct link **lkp)
{
	struct stdata *mux = c->c_head, *sd = f->f_head;
	struct link *lk;
	int error = head_plumb_take(c, sd); /* nobody pushes, pops or links it */

	if (error != 0)
		return error;
	error = call_access(c, ACC_PLUMB);
	if (error == 0 && (ld_acq(&sd->sd_state) & SD_TROUBLE))
		error = EINVAL;
	lk = error == 0 ? record(mux, f, persist) : NULL;
	if (error == 0 && lk == NULL)
		error = ENOSR;
	if (error == 0 && (error = link_make(lk)) == 0) {
		*lkp = lk;
		CRASH_POINT();
		error = join(c->c_me, lk);
	} else if (lk != NULL) {
		record_free(lk);
	}
	head_plumb_leave(sd);
	return error;
}

static queue_t *
driver_queue(struct stdata *sd)
{
	queue_t *q = head_wq(sd)->q_next;

	while (!(q->q_kind & QK_DRIVER))
		q = q->q_next;
	return q;
}

/* L4, L5: the driver's answer. */
static int
tell(struct slot *me, struct link *lk, int cmd)
{
	struct linkblk lb = { NULL, head_wq(lk->lk_lower), lk->lk_id };
	struct ask a = { .a_cmd = cmd, .a_data = &lb, .a_len = sizeof(lb),
		.a_ms = ld_rlx(&head_root->hr_ioctltime) };

	ASSERT(lk->lk_owner == me->sl_key && lk->lk_upper != NULL);
	if (!lk->lk_persist)
		lb.l_qtop = driver_queue(lk->lk_upper);
	return head_tell(me, lk->lk_upper, &a);
}

/* Attach f's stream and tell the driver: 0 and *idp, or an errno and nothing is linked. */
static int
make_link(struct call *c, struct file *f, bool persist, int *idp)
{
	struct slot *me = c->c_me;
	struct link *lk = NULL;
	int error = attach(c, f, persist, &lk);

	linker_leave();
	if (lk == NULL)
		return error;
	if (error == 0)
		error = tell(me, lk, persist ? I_PLINK : I_LINK);
	if (error != 0) {
		while (undo(me, lk, &f) != 0)
			pause_outside(me);
		return error;
	}
	lk->lk_sure = true;
	*idp = lk->lk_id;
	link_settle(lk);
	return 0;
}

static int
link_fd(struct call *c, int fd, bool persist, int *rval)
{
	struct regent *re = c->c_head->sd_reg;
	struct slot *me = c->c_me;
	struct file *f;
	int error;

	if (re == NULL || re->re_lower.qt_rd == NULL)
		return EINVAL;
	plumb_exit(me);
	c->c_group = NULL;
	error = fd_hold(fd, &f);
	if (error != 0)
		return error == ENOSTR ? EINVAL : error;
	adopt_orphans();
	file_inhand(f); /* an orphan may have had the same file */
	error = linker_enter(me);
	if (error == 0 && (error = call_reenter(c)) != 0)
		linker_leave();
	if (error == 0)
		error = make_link(c, f, persist, rval);
	if (error == 0) {
		file_keep(); /* or the thread would give it up when it ends */
		return 0;
	}
	if (ld_rlx(&me->sl_home) != NULL)
		plumb_exit(me);
	c->c_group = NULL;
	file_putback(f, true);
	return error;
}

int
head_link(struct call *c, void *arg, int *rval)
{
	return link_fd(c, (int)(intptr_t)arg, false, rval);
}

int
head_plink(struct call *c, void *arg, int *rval)
{
	return link_fd(c, (int)(intptr_t)arg, true, rval);
}

/* ---- unlinking --------------------------------------------------------------------------------- */

/* L5, L6 for a link that is ours: 0 and the file to be released. */
static int
take_off(struct slot *me, struct link *lk, bool force, struct file **fp)
{
	int cmd = lk->lk_persist ? I_PUNLINK : I_UNLINK, error;

	/* Whose owner was killed the driver may not have, or not have any more. */
	force |= !lk->lk_sure;
	lk->lk_sure = false;
	CRASH_POINT();
	error = tell(me, lk, cmd);
	CRASH_POINT();
	/* A driver that is not told would send to a stream that is gone. */
	for (int i = 0; i < TELL_TRIES && force && error == ENOSR; i++) {
		pause_outside(me);
		error = tell(me, lk, cmd);
	}
	if (error == 0 || force)
		error = undo(me, lk, fp);
	if (error != 0) {
		lk->lk_sure = !force;
		link_settle(lk);
	}
	return error;
}

/* One link: 0, an errno, or ENOENT: there is none. */
static int
unlink_one(struct call *c, enum linkkind kind, int id)
{
	struct stdata *sd = c->c_head;
	struct file *f;
	bool busy;
	struct link *lk = link_claim(sd, sd->sd_reg, kind, id, &busy);
	int error;

	if (lk == NULL)
		return ENOENT;
	error = take_off(c->c_me, lk, false, &f);
	if (error != 0)
		return error;
	plumb_exit(c->c_me);
	c->c_group = NULL;
	file_rele(f, true);
	return call_reenter(c);
}

static int
unlink_id(struct call *c, enum linkkind kind, int id)
{
	int error = unlink_one(c, kind, id);

	if (id != MUXID_ALL)
		return error == ENOENT ? EINVAL : error;
	while (error == 0)
		error = unlink_one(c, kind, id);
	return error == ENOENT ? 0 : error;
}

int
head_unlink(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return unlink_id(c, LINK_NORMAL, (int)(intptr_t)arg);
}

int
head_punlink(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return unlink_id(c, LINK_PERSIST, (int)(intptr_t)arg);
}

int
head_unlinkall(struct slot *me, struct stdata *sd, bool drain)
{
	unsigned int step = 0;
	int error = 0;

	if (sd->sd_reg == NULL || sd->sd_reg->re_lower.qt_rd == NULL)
		return 0;
	while (error == 0) {
		bool busy;
		struct link *lk = link_claim(sd, sd->sd_reg, LINK_CLOSING, MUXID_ALL, &busy);
		struct file *f = NULL;

		if (lk == NULL && !busy)
			return 0;
		if (lk != NULL && lk->lk_persist)
			link_settle(lk); /* its owner was killed */
		else if (lk != NULL)
			error = take_off(me, lk, true, &f);
		plumb_exit(me);
		if (f != NULL)
			file_rele(f, drain);
		else
			plat_backoff(&step);
		plumb_into(me, head_group(sd));
	}
	return error;
}
