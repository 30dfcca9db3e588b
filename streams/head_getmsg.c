/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_getmsg.c: getmsg, getpmsg, str_getmblk, and looking without taking.
 *
 * The control part of a message is its leading M_PROTO or M_PCPROTO blocks,
 * the data part what follows.  Both parts are copied out first; only when
 * every copy succeeded is anything used up, so EFAULT loses nothing.
 */
#include "calls.h"
#include "receive.h"

#include <errno.h>

struct getting {
	struct receive g_r;
	struct strbuf *g_ctl;	/* the caller's, or NULL */
	struct strbuf *g_data;
	int *g_bandp;
	int *g_flagsp;
	int g_band;		/* lowest band wanted */
	int g_want;		/* MSG_HIPRI, MSG_BAND or MSG_ANY */
	bool g_pmsg;		/* answer as getpmsg */
	bool g_peek;		/* take nothing */
	int g_more;		/* MORECTL, MOREDATA */
	mblk_t **g_mpp;		/* str_getmblk */
};

/* One part, being copied. */
struct part {
	int p_max;		/* room, -1: not to be taken */
	char *p_buf;
	int p_len;		/* result: bytes copied, -1 absent */
	size_t p_have;		/* bytes there */
	bool p_there;		/* the message has such a part */
};

static int
part_init(struct part *p, const struct strbuf *sb)
{
	struct strbuf mine = { -1, 0, NULL };

	if (sb != NULL) {
		if (!plat_judge(sb, sizeof(*sb)) || plat_copyin(&mine, sb, sizeof(mine)) != 0)
			return EFAULT;
	}
	p->p_max = mine.buf == NULL ? -1 : mine.maxlen;
	p->p_buf = mine.buf;
	p->p_len = -1;
	p->p_have = 0;
	p->p_there = false;
	if (p->p_max > 0 && !plat_judge(mine.buf, (size_t)p->p_max))
		return EFAULT;
	return 0;
}

/* Copy the blocks from mp up to end, as far as there is room. */
static int
part_copy(struct part *p, const mblk_t *mp, const mblk_t *end)
{
	size_t room = p->p_max > 0 ? (size_t)p->p_max : 0, done = 0;

	p->p_there = mp != end;
	for (; mp != end; mp = mp->b_cont) {
		size_t n = (size_t)(mp->b_wptr - mp->b_rptr);
		size_t take = n < room - done ? n : room - done;

		p->p_have += n;
		if (take > 0 && plat_copyout(p->p_buf + done, mp->b_rptr, take) != 0)
			return EFAULT;
		done += take;
	}
	ASSERT(done <= room && done <= p->p_have);
	p->p_len = p->p_max < 0 || !p->p_there ? -1 : (int)done;
	return 0;
}

/* Was all of the part taken?  An absent part was; an untouched one was not. */
static bool
part_whole(const struct part *p)
{
	return !p->p_there || (p->p_len >= 0 && (size_t)p->p_len == p->p_have);
}

static int
give_len(struct strbuf *sb, const struct part *p)
{
	return sb == NULL ? 0 : plat_copyout(&sb->len, &p->p_len, sizeof(int));
}

static int
give_int(int *to, int value)
{
	return to == NULL ? 0 : plat_copyout(to, &value, sizeof(int));
}

/* Tell the caller what came: lengths, flags, band. */
static int
give_results(struct getting *g, const struct part *ctl, const struct part *data, bool pri,
	int band)
{
	int flags = g->g_pmsg ? (pri ? MSG_HIPRI : MSG_BAND) : (pri ? RS_HIPRI : 0);

	if (give_len(g->g_ctl, ctl) != 0 || give_len(g->g_data, data) != 0 ||
	    give_int(g->g_flagsp, flags) != 0 || give_int(g->g_bandp, pri ? 0 : band) != 0)
		return EFAULT;
	return 0;
}

/* ---- taking what was copied --------------------------------------------------------- */

static struct used
used(const struct part *p)
{
	if (p->p_there && part_whole(p))
		return USED_ALL;
	return USED(p->p_len > 0 ? (size_t)p->p_len : 0);
}

/* Is the first message of the class the call asked for? */
static bool
wanted(const struct getting *g, const mblk_t *mp)
{
	if (g->g_want == MSG_HIPRI)
		return msg_ispri(mp);
	return g->g_want == MSG_ANY || msg_ispri(mp) || mp->b_band >= g->g_band;
}

static enum take
take_msg(struct call *c, struct receive *r)
{
	struct getting *g = (struct getting *)r;
	mblk_t *mp = hq_first(c->c_me, c->c_head->sd_rq), *end;
	struct part ctl, data;

	LOCK_HELD(&c->c_head->sd_rq->q_rlock);
	if (mp == NULL)
		return TAKE_WAIT;
	r->r_error = EBADMSG;
	if (msg_type(mp) == M_PASSFP)
		return TAKE_FAIL;
	if (!wanted(g, mp))
		return TAKE_WAIT;
	end = message_data(mp);
	r->r_error = EFAULT;
	if (part_init(&ctl, g->g_ctl) != 0 || part_init(&data, g->g_data) != 0 ||
	    part_copy(&ctl, mp, end) != 0 || part_copy(&data, end, NULL) != 0 ||
	    give_results(g, &ctl, &data, msg_ispri(mp), mp->b_band) != 0)
		return TAKE_FAIL;
	g->g_more = (part_whole(&ctl) ? 0 : MORECTL) | (part_whole(&data) ? 0 : MOREDATA);
	if (!g->g_peek)
		receive_use(c, r, mp, end, used(&ctl), used(&data));
	return TAKE_DONE;
}

static bool
ready_msg(struct call *c, void *arg)
{
	struct getting *g = arg;
	queue_t *q = c->c_head->sd_rq;
	mblk_t *mp;
	bool ok;

	ASSERT(g->g_want == MSG_HIPRI || g->g_want == MSG_BAND || g->g_want == MSG_ANY);
	if (ld_seq(&c->c_head->sd_state) & SD_RDSTOP)
		return true;
	if (!hq_any(q))
		return false;
	hq_lock(c->c_me, q);
	mp = hq_first(c->c_me, q);
	ok = mp != NULL && (msg_type(mp) == M_PASSFP || wanted(g, mp));
	hq_unlock(c->c_me, q);
	return ok;
}

/* ---- the calls -------------------------------------------------------------------------- */

/* Flags and band in: 0, EINVAL, EFAULT. */
static int
judge_flags(struct getting *g)
{
	int flags, band = 0;

	if (!plat_judge(g->g_flagsp, sizeof(int)) ||
	    plat_copyin(&flags, g->g_flagsp, sizeof(int)) != 0)
		return EFAULT;
	if (!g->g_pmsg) {
		g->g_want = flags == RS_HIPRI ? MSG_HIPRI : MSG_ANY;
		return flags == 0 || flags == RS_HIPRI ? 0 : EINVAL;
	}
	if (!plat_judge(g->g_bandp, sizeof(int)) ||
	    plat_copyin(&band, g->g_bandp, sizeof(int)) != 0)
		return EFAULT;
	g->g_want = flags;
	g->g_band = band;
	if (flags == MSG_HIPRI || flags == MSG_ANY)
		return band == 0 ? 0 : EINVAL;
	return flags == MSG_BAND && band >= 0 && band <= 255 ? 0 : EINVAL;
}

static int
give_eof(struct getting *g)
{
	int zero = 0;

	ASSERT(g->g_r.r_eof && g->g_mpp == NULL);
	if ((g->g_ctl != NULL && plat_copyout(&g->g_ctl->len, &zero, sizeof(int)) != 0) ||
	    (g->g_data != NULL && plat_copyout(&g->g_data->len, &zero, sizeof(int)) != 0) ||
	    give_int(g->g_flagsp, 0) != 0 || (g->g_pmsg && give_int(g->g_bandp, 0) != 0))
		return EFAULT;
	return 0;
}

int
head_getmsg(struct call *c, struct strbuf *ctl, struct strbuf *data, int *bandp, int *flagsp,
	bool pmsg, int *rval)
{
	struct getting g = { .g_r = { .r_take = take_msg, .r_ready = ready_msg },
		.g_ctl = ctl, .g_data = data, .g_bandp = pmsg ? bandp : NULL,
		.g_flagsp = flagsp, .g_pmsg = pmsg };
	struct part p;
	int error;

	*rval = 0;
	if ((ld_rlx(&c->c_file->f_flags) & O_ACCMODE) == O_WRONLY)
		return EBADF;
	if ((error = judge_flags(&g)) != 0 || (error = part_init(&p, ctl)) != 0 ||
	    (error = part_init(&p, data)) != 0)
		return error;
	error = head_receive(c, &g.g_r);
	if (error == 0 && g.g_r.r_eof)
		return give_eof(&g);
	*rval = g.g_more;
	return error;
}

static enum take
take_mblk(struct call *c, struct receive *r)
{
	mblk_t *mp = hq_first(c->c_me, c->c_head->sd_rq);

	LOCK_HELD(&c->c_head->sd_rq->q_rlock);
	if (mp == NULL)
		return TAKE_WAIT;
	receive_keep(c, mp);
	*((struct getting *)r)->g_mpp = mp;
	return TAKE_DONE;
}

int
head_getmblk(struct call *c, mblk_t **mpp)
{
	mblk_t *mp = NULL;
	struct getting g = { .g_r = { .r_take = take_mblk }, .g_mpp = &mp };
	int error;

	if ((ld_rlx(&c->c_file->f_flags) & O_ACCMODE) == O_WRONLY)
		return EBADF;
	error = head_receive(c, &g.g_r);
	*mpp = mp;
	return error;
}

int
head_peek(struct call *c, struct strpeek *pk, int *rval)
{
	queue_t *q = c->c_head->sd_rq;
	int flags = 0;
	struct getting g = { .g_peek = true };
	struct strpeek mine;
	enum take did;

	*rval = 0;
	if (!plat_judge(pk, sizeof(*pk)) || plat_copyin(&mine, pk, sizeof(mine)) != 0)
		return EFAULT;
	if (mine.flags != 0 && mine.flags != RS_HIPRI)
		return EINVAL;
	g.g_ctl = &pk->ctlbuf;
	g.g_data = &pk->databuf;
	g.g_want = mine.flags == RS_HIPRI ? MSG_HIPRI : MSG_ANY;
	g.g_flagsp = &flags;
	hq_lock(c->c_me, q);
	did = take_msg(c, &g.g_r);
	hq_unlock(c->c_me, q);
	if (did == TAKE_WAIT)
		return 0;
	if (did == TAKE_FAIL)
		return g.g_r.r_error;
	*rval = 1;
	mine.flags = (uint32_t)flags;
	return plat_copyout(&pk->flags, &mine.flags, sizeof(mine.flags));
}

int
head_firstband(struct call *c, int *pri)
{
	queue_t *q = c->c_head->sd_rq;
	mblk_t *mp;
	int band = -1;

	hq_lock(c->c_me, q);
	mp = hq_first(c->c_me, q);
	if (mp != NULL) {
		band = mp->b_band;
		*pri = msg_ispri(mp);
	}
	hq_unlock(c->c_me, q);
	return band;
}

int
head_nread(struct call *c, int *bytes, int *rval)
{
	queue_t *q = c->c_head->sd_rq;
	mblk_t *mp;

	hq_lock(c->c_me, q);
	*rval = (int)hq_count(c->c_me, q);
	mp = q->q_rfirst;
	*bytes = mp != NULL ? (int)msgdsize(mp) : 0;
	hq_unlock(c->c_me, q);
	return 0;
}

int
head_atmark(struct call *c, int which, int *rval)
{
	queue_t *q = c->c_head->sd_rq;
	mblk_t *mp;

	if (which < ANYMARK || which > (ANYMARK | LASTMARK))
		return EINVAL;
	hq_lock(c->c_me, q);
	(void)hq_count(c->c_me, q); /* both lists are one now */
	mp = q->q_rfirst;
	*rval = mp != NULL && (mp->b_flag & MSGMARK);
	if (*rval && !(which & ANYMARK))
		while ((mp = mp->b_next) != NULL)
			if (mp->b_flag & MSGMARK)
				*rval = 0;
	hq_unlock(c->c_me, q);
	return 0;
}

int
head_ckband(struct call *c, int band, int *rval)
{
	queue_t *q = c->c_head->sd_rq;

	if (band < 0 || band > 255)
		return EINVAL;
	*rval = 0;
	hq_lock(c->c_me, q);
	(void)hq_count(c->c_me, q);
	for (mblk_t *mp = q->q_rfirst; mp != NULL; mp = mp->b_next)
		if (queue_class(mp) == (unsigned int)band)
			*rval = 1;
	hq_unlock(c->c_me, q);
	return 0;
}
