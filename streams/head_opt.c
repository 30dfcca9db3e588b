/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_opt.c: a stream head's options, set by a program (streamio) or from
 * below (M_SETOPTS).
 *
 * What an option changes on the message path is folded into a word that is
 * read there anyway: sd_ropt, sd_wroff, sd_state, the limits of the read queue.
 *
 * SO_ISTTY, SO_TOSTOP, SO_STRHOLD and their opposites are accepted and mean
 * nothing: a stream of a program is never its controlling terminal, and small
 * writes are not gathered.
 */
#include "streamio.h"
#include "flow.h"

#include <string.h>

#define RPROT (RPROTNORM | RPROTDAT | RPROTDIS)
#define ERROPT (RERRNONPERSIST | WERRNONPERSIST)

/* ---- by a program ------------------------------------------------------------------- */

/* At most one read mode and one protocol mode. */
static bool
readopt_valid(uint32_t opt)
{
	uint32_t prot = opt & RPROT;

	return (opt & ~(uint32_t)(RMSGD | RMSGN | RPROT | RFILL)) == 0 &&
		(opt & (RMSGD | RMSGN)) != (RMSGD | RMSGN) && (prot & (prot - 1)) == 0;
}

/* Without a protocol mode that one stays as it is. */
static void
readopt_set(struct stdata *sd, uint32_t opt)
{
	ASSERT(readopt_valid(opt));
	if ((opt & RPROT) == 0)
		opt |= ld_rlx(&sd->sd_ropt) & RPROT;
	st_rlx(&sd->sd_ropt, opt);
}

int
opt_srdopt(struct call *c, void *arg, int *rval)
{
	uint32_t opt = (uint32_t)arg_int(arg);

	(void)rval;
	if (!readopt_valid(opt))
		return EINVAL;
	readopt_set(c->c_head, opt);
	return 0;
}

int
opt_grdopt(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return arg_give(arg, (int)ld_rlx(&c->c_head->sd_ropt));
}

int
opt_swropt(struct call *c, void *arg, int *rval)
{
	uint32_t opt = (uint32_t)arg_int(arg);

	(void)rval;
	if (opt & ~(uint32_t)(SNDZERO | SNDPIPE | SNDHOLD))
		return EINVAL;
	st_rlx(&c->c_head->sd_wopt, opt);
	return 0;
}

int
opt_gwropt(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return arg_give(arg, (int)ld_rlx(&c->c_head->sd_wopt));
}

int
opt_serropt(struct call *c, void *arg, int *rval)
{
	uint32_t opt = (uint32_t)arg_int(arg);

	(void)rval;
	if (opt & ~(uint32_t)ERROPT)
		return EINVAL;
	st_rlx(&c->c_head->sd_eropt, opt);
	return 0;
}

int
opt_gerropt(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return arg_give(arg, (int)ld_rlx(&c->c_head->sd_eropt));
}

int
opt_setcltime(struct call *c, void *arg, int *rval)
{
	int ms;

	(void)rval;
	if (arg_take(&ms, arg, sizeof(ms)) != 0)
		return EFAULT;
	if (ms < 0)
		return EINVAL;
	st_rlx(&c->c_head->sd_cltime, (uint32_t)ms);
	return 0;
}

int
opt_getcltime(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return arg_give(arg, (int)ld_rlx(&c->c_head->sd_cltime));
}

int
opt_strmsgsz(struct call *c, void *arg, int *rval)
{
	(void)c, (void)arg;
	*rval = (int)ld_rlx(&head_root->hr_strmsgsz);
	return 0;
}

int
opt_strctlsz(struct call *c, void *arg, int *rval)
{
	(void)c, (void)arg;
	*rval = (int)ld_rlx(&head_root->hr_strctlsz);
	return 0;
}

/* ---- water marks of this head's read queue -------------------------------------------------------------- */

static int
set_mark(struct call *c, size_t *mark, int value, bool high)
{
	queue_t *q = c->c_head->sd_rq;
	bool ok;

	ASSERT(mark == &q->q_hiwat || mark == &q->q_lowat);
	if (value < 0)
		return EINVAL;
	lock_enter(c->c_me, &q->q_lock, RANK_QUEUE);
	ok = high ? (size_t)value >= q->q_lowat : (size_t)value <= q->q_hiwat;
	if (ok)
		st_rlx(mark, (size_t)value);
	lock_leave(c->c_me, &q->q_lock);
	if (!ok)
		return EINVAL;
	hq_remark(q);
	return 0;
}

int
opt_sethiwat(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return set_mark(c, &c->c_head->sd_rq->q_hiwat, arg_int(arg), true);
}

int
opt_setlowat(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return set_mark(c, &c->c_head->sd_rq->q_lowat, arg_int(arg), false);
}

int
opt_gethiwat(struct call *c, void *arg, int *rval)
{
	(void)arg;
	*rval = (int)ld_rlx(&c->c_head->sd_rq->q_hiwat);
	return 0;
}

int
opt_getlowat(struct call *c, void *arg, int *rval)
{
	(void)arg;
	*rval = (int)ld_rlx(&c->c_head->sd_rq->q_lowat);
	return 0;
}

/* ---- from below ----------------------------------------------------------------------- */

static void
set_marks(struct stdata *sd, const struct stroptions *so)
{
	struct slot *me = slot_self();
	queue_t *q = sd->sd_rq;
	qband_t *qb = NULL;

	if (so->so_flags & SO_BAND)
		(void)band_reserve(q, so->so_band);
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	ASSERT(q->q_kind & QK_HEADR);
	if (so->so_flags & SO_BAND)
		qb = band_find(q, so->so_band);
	if (so->so_flags & SO_HIWAT) {
		if (qb != NULL)
			qb->qb_hiwat = so->so_hiwat;
		else
			st_rlx(&q->q_hiwat, so->so_hiwat);
	}
	if (so->so_flags & SO_LOWAT) {
		if (qb != NULL)
			qb->qb_lowat = so->so_lowat;
		else
			st_rlx(&q->q_lowat, so->so_lowat);
	}
	lock_leave(me, &q->q_lock);
	hq_remark(q);
}

/* One bit of sd_state by two bits of so_flags, the one that clears winning. */
static void
set_state(struct stdata *sd, unsigned int flags, unsigned int on, unsigned int off, uint32_t bit)
{
	ASSERT((bit & SD_TROUBLE) == 0);
	if (flags & off)
		f_and(&sd->sd_state, ~bit);
	else if (flags & on)
		f_or(&sd->sd_state, bit);
}

static void
set_options(struct stdata *sd, const struct stroptions *so)
{
	uint32_t opt = (uint32_t)so->so_readopt;

	if ((so->so_flags & SO_READOPT) && readopt_valid(opt))
		readopt_set(sd, opt);
	if (so->so_flags & SO_WROFF)
		st_rlx(&sd->sd_wroff, (uint32_t)so->so_wroff);
	if (so->so_flags & SO_MINPSZ)
		st_rlx(&sd->sd_rq->q_minpsz, so->so_minpsz);
	if (so->so_flags & SO_MAXPSZ)
		st_rlx(&sd->sd_rq->q_maxpsz, so->so_maxpsz);
	if (so->so_flags & (SO_HIWAT | SO_LOWAT))
		set_marks(sd, so);
	if (so->so_flags & SO_ERROPT)
		st_rlx(&sd->sd_eropt, so->so_erropt & ERROPT);
	set_state(sd, so->so_flags, SO_MREADON, SO_MREADOFF, SD_MREAD);
	set_state(sd, so->so_flags, SO_NDELON, SO_NDELOFF, SD_NDEL);
	set_state(sd, so->so_flags, SO_DELIM, SO_NODELIM, SD_DELIM);
}

void
head_setopts(struct stdata *sd, mblk_t *mp)
{
	struct stroptions so;

	if ((size_t)(mp->b_wptr - mp->b_rptr) >= sizeof(so)) {
		memcpy(&so, mp->b_rptr, sizeof(so));
		set_options(sd, &so);
	}
	freemsg(mp);
}
