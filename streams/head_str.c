/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_str.c: the ioctl dialogue: a question to what is below, and its answer.
 *
 *   asker      M_IOCTL ──────────────► module or driver
 *              ◄────── M_COPYIN, M_COPYOUT     any number of times
 *              M_IOCDATA ────────────►
 *              ◄────── M_IOCACK or M_IOCNAK
 *
 * One question at a time per stream.  The record of it lies in the stdata
 * (guard I is sd_ilock), so the answer may arrive in a process that is not the
 * asker's; but only the asker touches its own memory: an arriving answer is
 * left in sd_ians, and M_COPYIN and M_COPYOUT are served by the thread that
 * asked.
 *
 * The turn is numbered: sd_iid is the id that the M_IOCTL carries and its
 * answers bring back, 0 while nobody has the turn, and never given twice.
 *
 *   asker                                    answer (any thread of the group)
 *   D1 turn free: sd_iid := new id           D5 id is sd_iid and sd_ians empty:
 *   D2 M_IOCTL sent                             sd_ians := the answer
 *   D3 look at sd_ians, sd_iid, sd_state;    D6 wake sd_iwait
 *      nothing: sleep on sd_iwait            D7 else: freed; a request to copy
 *   D4 sd_iid := 0, sd_ians freed, wake         is answered with failure first
 *
 * D1, D4, D5 are steps under sd_ilock, which is dropped by an exchange: with
 * D3's look after arming they are W1 and S4 of wait.h, so no wake-up is lost.
 *
 * A turn is free when nobody has it, when its time is over, when its thread is
 * gone, or when it is the caller's own: a handler jumped out of the call, or
 * calls from within it.  Whoever finds in D3 that sd_iid is another one has
 * lost the turn and leaves without D4.  So an asker that gave up, was
 * cancelled or killed, blocks nobody, and what is answered to him is freed.
 *
 *   invariant 1: an answer reaches the question with its id, or nobody;
 *   invariant 2: while asleep the asker holds nothing but its number: no
 *     message, no lock, no group;
 *   invariant 3: when the descriptor asked through is closed, by another
 *     thread or because its process died, whoever clears the entry does D4
 *     (head_unask).  D1 and the look at the entry (call_same) on one side, the
 *     clearing and head_unask's look on the other: one sees the other.
 */
#include "streamio.h"
#include "msg.h"

#include <string.h>

#define LOOK_NS 200000000 /* who waits for the turn looks whether its owner lives */

/* One question, as its asker remembers it. */
struct turn {
	uint32_t t_id;
	int64_t t_until;	/* ns */
};

_Static_assert(sizeof(struct copyresp) <= sizeof(struct copyreq), "answered in place");
_Static_assert(offsetof(struct iocblk, ioc_id) == offsetof(struct copyreq, cq_id) &&
	offsetof(struct iocblk, ioc_id) == offsetof(struct copyresp, cp_id),
	"the id stands in the same place everywhere");

/* ---- the turn ------------------------------------------------------------------------ */

static bool
turn_free(const struct stdata *sd, const struct slot *me)
{
	LOCK_HELD(&sd->sd_ilock);
	IMPLY(sd->sd_ians != NULL, sd->sd_iid != 0);
	return sd->sd_iid == 0 || sd->sd_iasker == me->sl_key || slot_gone(sd->sd_iasker) ||
		plat_now() >= sd->sd_iuntil;
}

/* D4; the lock is held and dropped. */
static void
turn_clear(struct slot *me, struct stdata *sd)
{
	mblk_t *late = sd->sd_ians;

	LOCK_HELD(&sd->sd_ilock);
	ASSERT(sd->sd_iid != 0);
	IMPLY(late != NULL, late->b_next == NULL);
	sd->sd_ians = NULL;
	sd->sd_ient = NULL;
	st_rel(&sd->sd_iid, 0u);
	lock_publish(me, &sd->sd_ilock);
	freemsg(late);
	wait_wake(&sd->sd_iwait);
}

/* D1: true if the turn is ours, for ms milliseconds (-1: for ever). */
static bool
turn_take(struct call *c, struct turn *t, int64_t ms)
{
	struct stdata *sd = c->c_head;
	mblk_t *late = NULL;
	bool ok;

	lock_enter(c->c_me, &sd->sd_ilock, RANK_HEAD);
	ok = turn_free(sd, c->c_me);
	IMPLY(!ok, sd->sd_iid != 0);
	if (ok) {
		do
			t->t_id = faa(&head_root->hr_iocid, 1u) + 1;
		while (t->t_id == 0);
		t->t_until = ms < 0 ? CALL_NORESTART : plat_now() + ms * 1000000;
		late = sd->sd_ians;
		sd->sd_ians = NULL;
		sd->sd_iasker = c->c_me->sl_key;
		sd->sd_ient = fd_entry(c->c_me->sl_pslot, c->c_fd);
		sd->sd_iuntil = t->t_until;
		sd->sd_icr = head_cred();
		st_rel(&sd->sd_iid, t->t_id);
	}
	lock_publish(c->c_me, &sd->sd_ilock);
	freemsg(late);
	return ok;
}

static bool
turn_ready(struct call *c, void *arg)
{
	(void)arg;
	return ld_seq(&c->c_head->sd_iid) == 0 || (ld_seq(&c->c_head->sd_state) & SD_ASKSTOP) ||
		!call_same(c);
}

/* Wait for the turn: 0 inside the group, or why there is none. */
static int
turn_await(struct call *c, struct turn *t, int64_t ms)
{
	ASSERT(ms >= -1);
	for (;;) {
		int error = call_access(c, ACC_PLUMB);

		if (error == 0 && !call_same(c))
			error = EBADF;
		if (error != 0 || turn_take(c, t, ms))
			return error;
		error = call_sleep(c, &c->c_head->sd_iwait, turn_ready, NULL,
			plat_now() + LOOK_NS);
		if (error == ETIME)
			error = call_reenter(c);
		if (error != 0)
			return error;
	}
}

/* Give the turn back, if it is still ours; the call may have left the group. */
static void
turn_leave(struct call *c, const struct turn *t)
{
	struct stdata *sd;

	if (c->c_group == NULL && call_reenter(c) != 0)
		return; /* invariant 3: it was ended for us */
	sd = c->c_head;
	lock_enter(c->c_me, &sd->sd_ilock, RANK_HEAD);
	if (sd->sd_iid == t->t_id)
		turn_clear(c->c_me, sd);
	else
		lock_leave(c->c_me, &sd->sd_ilock);
}

void
head_unask(struct stdata *sd, const struct fdent *e)
{
	struct slot *me = slot_self();

	if (me == NULL || ld_seq(&sd->sd_iid) == 0)
		return;
	lock_enter(me, &sd->sd_ilock, RANK_HEAD);
	if (sd->sd_iid != 0 && sd->sd_ient == e)
		turn_clear(me, sd);
	else
		lock_leave(me, &sd->sd_ilock);
}

/* ---- answers arriving ------------------------------------------------------------------ */

/* Has the message the shape of its type?  Then its id. */
static bool
answer_id(const mblk_t *mp, uint32_t *id)
{
	bool copy = msg_type(mp) == M_COPYIN || msg_type(mp) == M_COPYOUT;
	size_t n = copy ? sizeof(struct copyreq) : sizeof(struct iocblk);

	if (mp->b_wptr < mp->b_rptr || (size_t)(mp->b_wptr - mp->b_rptr) < n)
		return false;
	memcpy(id, mp->b_rptr + offsetof(struct iocblk, ioc_id), sizeof(*id));
	return true;
}

/* M_IOCDATA for the request mp, in its place: error 0 or an errno. */
static void
reply(struct stdata *sd, mblk_t *mp, int error, mblk_t *data)
{
	struct copyreq cq;
	struct copyresp cp = { .cp_cr = &sd->sd_icr, .cp_rval = error };

	ASSERT((size_t)(mp->b_wptr - mp->b_rptr) >= sizeof(cq)); /* answer_id() saw to it */
	ASSERT(msg_type(mp) == M_COPYIN || msg_type(mp) == M_COPYOUT);
	memcpy(&cq, mp->b_rptr, sizeof(cq));
	cp.cp_cmd = cq.cq_cmd;
	cp.cp_id = cq.cq_id;
	cp.cp_flag = cq.cq_flag;
	cp.cp_private = cq.cq_private;
	freemsg(unlinkb(mp));
	memcpy(mp->b_rptr, &cp, sizeof(cp));
	mp->b_wptr = mp->b_rptr + sizeof(cp);
	mp->b_datap->db_type = M_IOCDATA;
	mp->b_cont = data;
	putnext(head_wq(sd), mp);
}

void
head_answer(struct stdata *sd, mblk_t *mp)
{
	struct slot *me = slot_self();
	bool whole, mine = false;
	uint32_t id = 0;

	ASSERT(mp->b_next == NULL);
	if (me == NULL)
		return;
	whole = answer_id(mp, &id) && msg_share(&mp);
	if (whole && id != 0) {
		lock_enter(me, &sd->sd_ilock, RANK_HEAD);
		mine = sd->sd_iid == id && sd->sd_ians == NULL; /* D5 */
		if (mine)
			sd->sd_ians = mp;
		lock_publish(me, &sd->sd_ilock);
	}
	if (mine)
		wait_wake(&sd->sd_iwait); /* D6 */
	else if (whole && (msg_type(mp) == M_COPYIN || msg_type(mp) == M_COPYOUT))
		reply(sd, mp, EINVAL, NULL); /* D7 */
	else
		freemsg(mp);
}

/* ---- asking ------------------------------------------------------------------------------ */

static bool
answer_ready(struct call *c, void *arg)
{
	const struct turn *t = arg;
	struct stdata *sd = c->c_head;
	bool ready;

	if ((ld_seq(&sd->sd_state) & SD_ASKSTOP) || !call_same(c))
		return true;
	lock_enter(c->c_me, &sd->sd_ilock, RANK_HEAD);
	ready = sd->sd_iid != t->t_id || sd->sd_ians != NULL;
	lock_leave(c->c_me, &sd->sd_ilock);
	return ready;
}

/* Take the answer (D3): it, or NULL with 0 (none yet) or an errno. */
static mblk_t *
answer_take(struct call *c, const struct turn *t, int *error)
{
	struct stdata *sd = c->c_head;
	mblk_t *mp = NULL;

	ASSERT(t->t_id != 0);
	lock_enter(c->c_me, &sd->sd_ilock, RANK_HEAD);
	*error = 0;
	if (sd->sd_iid == t->t_id) {
		mp = sd->sd_ians;
		sd->sd_ians = NULL;
	} else {
		/* Ours was over, or a handler asked in our place. */
		*error = plat_now() >= t->t_until ? ETIME : EINTR;
	}
	lock_leave(c->c_me, &sd->sd_ilock);
	if (*error != 0 && c->c_fd >= 0 && !call_same(c)) /* head_tell has no descriptor */
		*error = EBADF;
	return mp;
}

/* The M_IOCTL, or NULL with *error ENOSR or EFAULT. */
static mblk_t *
question(struct call *c, const struct ask *a, uint32_t id, int *error)
{
	mblk_t *mp = allocb(sizeof(struct copyreq), BPRI_HI), *dp = NULL;
	struct iocblk ioc = { .ioc_cmd = a->a_cmd, .ioc_cr = &c->c_head->sd_icr, .ioc_id = id,
		.ioc_flag = IOC_NATIVE, .ioc_count = a->a_transparent ? TRANSPARENT : a->a_len };

	*error = ENOSR;
	if (mp == NULL)
		return NULL;
	if (a->a_len > 0) {
		dp = allocb(a->a_len, BPRI_HI);
		if (dp != NULL && (*error = plat_copyin(dp->b_wptr, a->a_data, a->a_len)) == 0)
			dp->b_wptr += a->a_len;
		if (dp == NULL || *error != 0) {
			freemsg(dp);
			freeb(mp);
			return NULL;
		}
	}
	memcpy(mp->b_wptr, &ioc, sizeof(ioc));
	mp->b_wptr += sizeof(ioc);
	ASSERT(mp->b_wptr <= mp->b_datap->db_lim && id != 0);
	mp->b_datap->db_type = M_IOCTL;
	mp->b_cont = dp;
	*error = 0;
	return mp;
}

/* ---- serving what the answerer wants copied ------------------------------------------------ */

static int
copy_in(const struct copyreq *cq, mblk_t **datap)
{
	mblk_t *dp;

	if (!plat_judge(cq->cq_addr, cq->cq_size))
		return EFAULT;
	dp = allocb(cq->cq_size, BPRI_HI);
	if (dp == NULL)
		return ENOSR;
	if (cq->cq_size > 0 && plat_copyin(dp->b_wptr, cq->cq_addr, cq->cq_size) != 0) {
		freeb(dp);
		return EFAULT;
	}
	dp->b_wptr += cq->cq_size;
	*datap = dp;
	return 0;
}

/* The first max bytes of the chain, to the caller's memory; *n of them. */
static int
copy_out(char *to, size_t max, const mblk_t *mp, size_t *n)
{
	*n = 0;
	if (!plat_judge(to, max))
		return EFAULT;
	for (; mp != NULL && *n < max; mp = mp->b_cont) {
		size_t len = (size_t)(mp->b_wptr - mp->b_rptr);

		if (len > max - *n)
			len = max - *n;
		if (len > 0 && plat_copyout(to + *n, mp->b_rptr, len) != 0)
			return EFAULT;
		*n += len;
		ASSERT(*n <= max);
	}
	return 0;
}

/* M_COPYIN or M_COPYOUT; an error ends the dialogue. */
static int
serve(struct call *c, mblk_t *mp)
{
	mblk_t *data = NULL;
	struct copyreq cq;
	size_t n;
	int error;

	ASSERT(msg_type(mp) == M_COPYIN || msg_type(mp) == M_COPYOUT);
	memcpy(&cq, mp->b_rptr, sizeof(cq));
	if (msg_type(mp) == M_COPYIN)
		error = copy_in(&cq, &data);
	else
		error = copy_out(cq.cq_addr, cq.cq_size, mp->b_cont, &n);
	reply(c->c_head, mp, error, data);
	return error;
}

/* The last word: 0 and *ackp, or the errno it carries. */
static int
conclude(mblk_t *mp, mblk_t **ackp)
{
	struct iocblk ioc;
	int error;

	ASSERT((size_t)(mp->b_wptr - mp->b_rptr) >= sizeof(ioc));
	ASSERT(msg_type(mp) == M_IOCACK || msg_type(mp) == M_IOCNAK);
	memcpy(&ioc, mp->b_rptr, sizeof(ioc));
	error = ioc.ioc_error;
	if (msg_type(mp) == M_IOCNAK && error == 0)
		error = EINVAL;
	if (error == 0)
		*ackp = mp;
	else
		freemsg(mp);
	return error;
}

/* D3 until the end of it. */
static int
converse(struct call *c, const struct turn *t, mblk_t **ackp)
{
	struct turn mine = *t;

	ASSERT(t->t_id != 0 && t->t_until > 0);
	for (;;) {
		int error;
		mblk_t *mp = answer_take(c, t, &error);

		if (mp != NULL && msg_type(mp) != M_COPYIN && msg_type(mp) != M_COPYOUT)
			return conclude(mp, ackp);
		if (mp != NULL)
			error = serve(c, mp);
		else if (error == 0 && !call_same(c))
			error = EBADF;
		if (error == 0)
			error = call_access(c, ACC_PLUMB);
		if (error == 0 && mp == NULL)
			error = call_sleep(c, &c->c_head->sd_iwait, answer_ready, &mine,
				t->t_until);
		if (error != 0)
			return error;
	}
}

int
head_ask(struct call *c, const struct ask *a, mblk_t **ackp)
{
	struct turn t;
	mblk_t *mp;
	int error;

	*ackp = NULL;
	if (!plat_judge(a->a_data, a->a_len))
		return EFAULT;
	error = turn_await(c, &t, a->a_ms);
	if (error != 0)
		return error;
	mp = question(c, a, t.t_id, &error);
	if (mp != NULL) {
		putnext(head_wq(c->c_head), mp); /* D2 */
		error = converse(c, &t, ackp);
	}
	turn_leave(c, &t);
	EQUIV(error == 0, *ackp != NULL);
	return error;
}

/* ---- asking for the library ---------------------------------------------------------------- */

/* Let others go on for a while. */
static void
step_aside(struct slot *me, struct stdata *sd, unsigned int *us)
{
	plumb_exit(me);
	(void)plat_nap(*us);
	*us = *us < 10000 ? *us * 2 : *us;
	plumb_into(me, head_group(sd));
}

/* D3 by looking again and again: there is no descriptor to sleep with. */
static int
hear(struct call *c, const struct turn *t)
{
	unsigned int us = 50;

	for (;;) {
		int error;
		mblk_t *ack = NULL, *mp = answer_take(c, t, &error);

		if (error != 0 || plat_now() >= t->t_until) {
			freemsg(mp);
			return ETIME;
		}
		if (mp == NULL) {
			step_aside(c->c_me, c->c_head, &us);
		} else if (msg_type(mp) == M_IOCACK || msg_type(mp) == M_IOCNAK) {
			error = conclude(mp, &ack);
			freemsg(ack);
			return error;
		} else {
			reply(c->c_head, mp, EINVAL, NULL); /* nothing to be copied */
		}
	}
}

int
head_tell(struct slot *me, struct stdata *sd, const struct ask *a)
{
	struct call c = { .c_me = me, .c_head = sd, .c_fd = -1 };
	int64_t until = plat_now() + a->a_ms * 1000000;
	unsigned int us = 50;
	struct turn t;
	mblk_t *mp;
	int error;

	ASSERT(a->a_ms >= 0);
	while (!turn_take(&c, &t, a->a_ms)) {
		if (plat_now() >= until)
			return ETIME;
		step_aside(me, sd, &us);
	}
	mp = question(&c, a, t.t_id, &error);
	if (mp != NULL) {
		putnext(head_wq(sd), mp); /* D2 */
		error = hear(&c, &t);
	}
	lock_enter(me, &sd->sd_ilock, RANK_HEAD);
	if (sd->sd_iid == t.t_id)
		turn_clear(me, sd);
	else
		lock_leave(me, &sd->sd_ilock);
	return error;
}

/* ---- the two kinds ---------------------------------------------------------------------------- */

/* Result, data and length of an acknowledged I_STR. */
static int
give_answer(struct strioctl *to, const struct strioctl *ic, const mblk_t *ack, int *rval)
{
	struct iocblk ioc;
	size_t n = 0, blocks;
	int error, len;

	ASSERT(msg_type(ack) == M_IOCACK);
	memcpy(&ioc, ack->b_rptr, sizeof(ioc));
	*rval = ioc.ioc_rval;
	if (ack->b_cont != NULL)
		msg_weigh(ack->b_cont, &n, &blocks);
	error = copy_out(ic->ic_dp, ioc.ioc_count < n ? ioc.ioc_count : n, ack->b_cont, &n);
	len = (int)n;
	return error != 0 ? error : plat_copyout(&to->ic_len, &len, sizeof(len));
}

int
head_str(struct call *c, void *arg, int *rval)
{
	struct strioctl ic;
	struct ask a = { 0 };
	mblk_t *ack;
	int error;

	if (arg_take(&ic, arg, sizeof(ic)) != 0)
		return EFAULT;
	if (ic.ic_len < 0 || ic.ic_len > ld_rlx(&head_root->hr_strmsgsz) || ic.ic_timout < -1)
		return EINVAL;
	a.a_cmd = ic.ic_cmd;
	a.a_data = ic.ic_dp;
	a.a_len = (size_t)ic.ic_len;
	a.a_ms = ic.ic_timout > 0 ? (int64_t)ic.ic_timout * 1000 :
		ic.ic_timout == 0 ? ld_rlx(&head_root->hr_ioctltime) : -1;
	error = head_ask(c, &a, &ack);
	if (error != 0)
		return error;
	error = give_answer(arg, &ic, ack, rval);
	freemsg(ack);
	return error;
}

int
head_transparent(struct call *c, int cmd, void *arg, int *rval)
{
	struct ask a = { .a_cmd = cmd, .a_transparent = true, .a_data = &arg,
		.a_len = sizeof(arg), .a_ms = ld_rlx(&head_root->hr_ioctltime) };
	struct iocblk ioc;
	mblk_t *ack;
	int error = head_ask(c, &a, &ack);

	if (error != 0)
		return error;
	memcpy(&ioc, ack->b_rptr, sizeof(ioc));
	*rval = ioc.ioc_rval;
	freemsg(ack);
	return 0;
}
