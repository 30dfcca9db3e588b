/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mux.c: a plain multiplexing driver: any number of streams above, any number
 * linked below.
 *
 *      upper streams      u1        u2        u3        struct upper, q_ptr of
 *                          │ ▲       │ ▲       │ ▲       the upper queues
 *                 mux_wsrv ▼ │       ▼ │       ▼ │ mux_rsrv
 *                          ─ ─ ─ ─ routes ─ ─ ─ ─
 *                lower_wsrv │ ▲       │ ▲
 *                           ▼ │       ▼ │ lower_rsrv
 *      links                l1        l2                 struct lower, q_ptr of
 *                                                        the lower queues
 *
 * Down: a stream sends to the link it chose (MUX_DOWN), else in turn to the links
 * that were made through it, else in turn to the persistent ones; without any,
 * what is written is discarded.  Up: what comes from a link goes to the stream
 * that asked for it (MUX_UP), else to the one it was made through, for a persistent
 * link the first that sent to it; before that it waits.
 *
 * Messages wait on the upper write queue for room below, and on the lower read
 * queue for room above.  Nothing is waited for on the other two queues: their
 * service procedures only pass a back-enable across, from the lower write queue
 * to the upper write queues that may send there, from the upper read queue to
 * the lower read queues that feed it.
 *
 * Everything runs in one perimeter (D_MTPERMOD), so the lists need no lock.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/ddi.h>
#include <sys/keeps.h>
#include <sys/mux.h>
#include <sys/stream.h>
#include <sys/stropts.h>

#define MUX_HIWAT 5120 /* bytes */
#define MUX_LOWAT 1024

struct upper {
	struct upper *u_next;	/* P */
	queue_t *u_rq;		/* C  upper read queue */
	struct lower *u_down;	/* P  MUX_DOWN, or NULL: in turn */
	unsigned int u_turn;	/* P  links used so far */
	bool u_below;		/* P  itself linked below a mux stream */
	bool u_hungup;		/* P  M_HANGUP sent up */
};

struct lower {
	struct lower *l_next;	/* P */
	queue_t *l_wq;		/* C  lower write queue: l_qbot */
	struct upper *l_made;	/* P  I_LINK: through it; NULL: persistent */
	struct upper *l_up;	/* P  where to, or NULL: nowhere */
	struct upper *l_asker;	/* P  whose ioctl was sent down last */
	struct upper *l_is;	/* P  the mux stream that is linked here, or NULL */
	int l_id;		/* C */
	bool l_hungup;		/* P  M_HANGUP came up */
};

/* ustr_modstate(): one for the driver. */
struct mux {
	struct upper *m_uppers;	/* P */
	struct lower *m_lowers;	/* P */
};

_Static_assert(sizeof(struct mux) <= USTR_MODSTATE, "fits the shared state");

static int mux_open(queue_t *, dev_t *, int, int, cred_t *);
static int mux_close(queue_t *, int, cred_t *);
static int mux_wput(queue_t *, mblk_t *);
static int mux_wsrv(queue_t *);
static int mux_rsrv(queue_t *);
static int lower_rput(queue_t *, mblk_t *);
static int lower_rsrv(queue_t *);
static int lower_wsrv(queue_t *);

static struct module_info mux_info = { 1010, "mux", 0, INFPSZ, MUX_HIWAT, MUX_LOWAT };
static struct qinit mux_rinit = { NULL, mux_rsrv, mux_open, mux_close, NULL, &mux_info, NULL };
static struct qinit mux_winit = { mux_wput, mux_wsrv, NULL, NULL, NULL, &mux_info, NULL };
static struct qinit lower_rinit = { lower_rput, lower_rsrv, NULL, NULL, NULL, &mux_info, NULL };
static struct qinit lower_winit = { NULL, lower_wsrv, NULL, NULL, NULL, &mux_info, NULL };

const struct keeps muxkeeps[KEEP_KINDS] = {
	[KEEP_STATE] = { sizeof(struct mux), { { offsetof(struct mux, m_uppers), KEEP_PAIRS },
		{ offsetof(struct mux, m_lowers), KEEP_LOWERS } } },
	[KEEP_OF_PAIR] = { sizeof(struct upper), { { offsetof(struct upper, u_next), KEEP_NEXT },
		{ offsetof(struct upper, u_rq), KEEP_QUEUE },
		{ offsetof(struct upper, u_down), KEEP_LOWERS } } },
	[KEEP_OF_LOWER] = { sizeof(struct lower), { { offsetof(struct lower, l_next), KEEP_NEXT },
		{ offsetof(struct lower, l_wq), KEEP_QUEUE },
		{ offsetof(struct lower, l_made), KEEP_PAIRS },
		{ offsetof(struct lower, l_up), KEEP_PAIRS },
		{ offsetof(struct lower, l_asker), KEEP_PAIRS },
		{ offsetof(struct lower, l_is), KEEP_PAIRS } } },
};

extern struct streamtab muxinfo;
struct streamtab muxinfo = { &mux_rinit, &mux_winit, &lower_rinit, &lower_winit };

/* ---- routes ------------------------------------------------------------------------- */

static struct lower *
mux_find(queue_t *q, int id)
{
	struct mux *m = ustr_modstate(q);
	struct lower *l = m->m_lowers;

	while (l != NULL && l->l_id != id)
		l = l->l_next;
	return l;
}

/* The link that is u's nth among those made through made, alive; *n the number left. */
static struct lower *
mux_nth(struct mux *m, const struct upper *made, unsigned int *n)
{
	struct lower *l;

	for (l = m->m_lowers; l != NULL; l = l->l_next)
		if (l->l_made == made && !l->l_hungup && (*n)-- == 0)
			break;
	return l;
}

static unsigned int
mux_count(const struct mux *m, const struct upper *made)
{
	unsigned int n = 0;

	for (const struct lower *l = m->m_lowers; l != NULL; l = l->l_next)
		n += l->l_made == made && !l->l_hungup;
	return n;
}

/* Where the next message of u goes, or NULL. */
static struct lower *
mux_route(struct upper *u)
{
	struct mux *m = ustr_modstate(u->u_rq);
	const struct upper *made = u;
	unsigned int n, nth;

	if (u->u_down != NULL)
		return u->u_down->l_hungup ? NULL : u->u_down;
	n = mux_count(m, made);
	if (n == 0)
		n = mux_count(m, made = NULL);
	if (n == 0)
		return NULL;
	nth = u->u_turn % n;
	return mux_nth(m, made, &nth);
}

/* Everybody tries again: a link came, went or has room. */
static void
mux_enableall(queue_t *q)
{
	struct mux *m = ustr_modstate(q);

	for (struct upper *u = m->m_uppers; u != NULL; u = u->u_next)
		if (qsize(WR(u->u_rq)) > 0)
			qenable(WR(u->u_rq));
}

/* ---- open and close --------------------------------------------------------------------- */

static int
mux_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	struct mux *m = ustr_modstate(q);
	struct upper *u;

	(void)devp, (void)oflag, (void)crp;
	if (sflag & MODOPEN)
		return EINVAL;
	if (q->q_ptr != NULL)
		return 0; /* opened once more */
	u = kmem_zalloc(sizeof(*u), KM_SLEEP);
	if (u == NULL)
		return ENOSR;
	u->u_rq = q;
	u->u_next = m->m_uppers;
	m->m_uppers = u;
	q->q_ptr = WR(q)->q_ptr = u;
	qprocson(q);
	return 0;
}

/* The links made through u are gone: the stream head took them off. */
static int
mux_close(queue_t *q, int flag, cred_t *crp)
{
	struct mux *m = ustr_modstate(q);
	struct upper *u = q->q_ptr, **at = &m->m_uppers;

	(void)flag, (void)crp;
	/* First, and nobody else is in the perimeter: who is killed in qprocsoff leaves no u. */
	while (*at != NULL && *at != u)
		at = &(*at)->u_next;
	if (*at != NULL) /* else noise got into the instance, which judging cannot see */
		*at = u->u_next;
	for (struct lower *l = m->m_lowers; l != NULL; l = l->l_next) {
		if (l->l_up == u)
			l->l_up = l->l_made;
		if (l->l_asker == u)
			l->l_asker = NULL;
		if (l->l_is == u)
			l->l_is = NULL;
	}
	qprocsoff(q);
	q->q_ptr = WR(q)->q_ptr = NULL;
	kmem_free(u, sizeof(*u));
	return 0;
}

/* ---- linking ------------------------------------------------------------------------------ */

/* Is the stream below wq one of ours?  Then who sends to it must not be below it. */
static struct upper *
mux_bottom(queue_t *q, queue_t *wq)
{
	while (wq->q_next != NULL && samestr(wq))
		wq = wq->q_next;
	return wq->q_qinfo == WR(q)->q_qinfo ? wq->q_ptr : NULL;
}

static int
mux_link(queue_t *q, const struct linkblk *lb)
{
	struct mux *m = ustr_modstate(q);
	struct upper *is = mux_bottom(q, lb->l_qbot);
	struct lower *l;

	if (is != NULL && is->u_down != NULL && is->u_down->l_made != is)
		return EINVAL; /* it sends through somebody else's link */
	l = kmem_zalloc(sizeof(*l), KM_SLEEP);
	if (l == NULL)
		return ENOSR;
	l->l_wq = lb->l_qbot;
	l->l_id = lb->l_index;
	l->l_made = l->l_up = lb->l_qtop != NULL ? q->q_ptr : NULL;
	l->l_is = is;
	if (is != NULL)
		is->u_below = true;
	l->l_next = m->m_lowers;
	m->m_lowers = l;
	lb->l_qbot->q_ptr = RD(lb->l_qbot)->q_ptr = l;
	qenable(RD(lb->l_qbot)); /* what came before we knew it */
	mux_enableall(q);
	return 0;
}

static int
mux_unlink(queue_t *q, const struct linkblk *lb)
{
	struct mux *m = ustr_modstate(q);
	struct lower *l, **at = &m->m_lowers;

	while (*at != NULL && (*at)->l_id != lb->l_index)
		at = &(*at)->l_next;
	if ((l = *at) == NULL)
		return EINVAL;
	*at = l->l_next;
	for (struct upper *u = m->m_uppers; u != NULL; u = u->u_next)
		if (u->u_down == l)
			u->u_down = NULL;
	if (l->l_is != NULL)
		l->l_is->u_below = false;
	l->l_wq->q_ptr = RD(l->l_wq)->q_ptr = NULL;
	kmem_free(l, sizeof(*l));
	mux_enableall(q);
	return 0;
}

static int
mux_down(queue_t *q, int id)
{
	struct upper *u = q->q_ptr;
	struct lower *l = id == 0 ? NULL : mux_find(q, id);

	if (id != 0 && (l == NULL || l->l_is == u || (u->u_below && l->l_made != u)))
		return EINVAL;
	u->u_down = l;
	qenable(q);
	return 0;
}

static int
mux_up(queue_t *q, int id)
{
	struct lower *l = mux_find(q, id);

	if (l == NULL || l->l_is == q->q_ptr)
		return EINVAL;
	l->l_up = q->q_ptr;
	qenable(RD(l->l_wq));
	return 0;
}

/* Ours: 0 or an errno; -1: not ours. */
static int
mux_command(queue_t *q, int cmd, mblk_t *data, size_t n)
{
	const void *p = data != NULL ? data->b_rptr : NULL;

	if (cmd == MUX_DOWN || cmd == MUX_UP) {
		if (n != sizeof(int) || p == NULL)
			return EINVAL;
		return cmd == MUX_DOWN ? mux_down(q, *(const int *)p) :
			mux_up(q, *(const int *)p);
	}
	if (cmd != I_LINK && cmd != I_PLINK && cmd != I_UNLINK && cmd != I_PUNLINK)
		return -1;
	if (n != sizeof(struct linkblk) || p == NULL)
		return EINVAL;
	return cmd == I_LINK || cmd == I_PLINK ? mux_link(q, p) : mux_unlink(q, p);
}

static void
mux_ioctl(queue_t *q, mblk_t *mp)
{
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;
	struct upper *u = q->q_ptr;
	struct lower *l;
	int error = mux_command(q, ioc->ioc_cmd, mp->b_cont, ioc->ioc_count);

	if (error == -1 && (l = mux_route(u)) != NULL) {
		l->l_asker = u;
		putnext(l->l_wq, mp);
		return;
	}
	mp->b_datap->db_type = error == 0 ? M_IOCACK : M_IOCNAK;
	ioc->ioc_error = error == -1 ? EINVAL : error;
	ioc->ioc_count = 0;
	ioc->ioc_rval = 0;
	qreply(q, mp);
}

/* ---- downwards ------------------------------------------------------------------------------ */

static void
mux_flushside(queue_t *q, const mblk_t *mp)
{
	if ((*mp->b_rptr & FLUSHBAND) && mp->b_wptr - mp->b_rptr > 1)
		flushband(q, mp->b_rptr[1], FLUSHDATA);
	else
		flushq(q, FLUSHDATA);
}

/* The upper stream ends here: as any driver. */
static void
mux_flush(queue_t *q, mblk_t *mp)
{
	if (*mp->b_rptr & FLUSHW)
		mux_flushside(q, mp);
	if (*mp->b_rptr & FLUSHR) {
		mux_flushside(RD(q), mp);
		*mp->b_rptr &= (unsigned char)~FLUSHW;
		qreply(q, mp);
	} else {
		freemsg(mp);
	}
}

/* The answer to a request to copy goes where the request came from. */
static void
mux_iocdata(queue_t *q, mblk_t *mp)
{
	struct mux *m = ustr_modstate(q);
	struct lower *l = m->m_lowers;

	while (l != NULL && l->l_asker != q->q_ptr)
		l = l->l_next;
	if (l != NULL)
		putnext(l->l_wq, mp);
	else
		freemsg(mp);
}

static int
mux_wput(queue_t *q, mblk_t *mp)
{
	struct upper *u = q->q_ptr;
	struct lower *l;

	switch (mp->b_datap->db_type) {
	case M_FLUSH:
		mux_flush(q, mp);
		break;
	case M_IOCTL:
		mux_ioctl(q, mp);
		break;
	case M_IOCDATA:
		mux_iocdata(q, mp);
		break;
	default:
		if (mp->b_datap->db_type < QPCTL) {
			if (!putq(q, mp))
				freemsg(mp); /* no memory for its band */
		} else if ((l = mux_route(u)) != NULL) {
			putnext(l->l_wq, mp); /* high priority is never queued */
		} else {
			freemsg(mp);
		}
	}
	return 0;
}

/* From the upper write queue to the links, as far as there is room. */
static int
mux_wsrv(queue_t *q)
{
	struct upper *u = q->q_ptr;
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		struct lower *l = mux_route(u);

		if (l == NULL) {
			freemsg(mp);
		} else if (bcanputnext(l->l_wq, mp->b_band)) {
			u->u_turn++;
			if (l->l_up == NULL) {
				l->l_up = u;
				qenable(RD(l->l_wq));
			}
			putnext(l->l_wq, mp);
		} else {
			putbq(q, mp);
			break;
		}
	}
	return 0;
}

/* Room below: for any of those above. */
static int
lower_wsrv(queue_t *q)
{
	mux_enableall(q);
	return 0;
}

/* ---- upwards ---------------------------------------------------------------------------------- */

/* A multiplexor's lower side is a stream head to what is below. */
static void
lower_flush(queue_t *q, mblk_t *mp)
{
	if (*mp->b_rptr & FLUSHR)
		mux_flushside(q, mp);
	if ((*mp->b_rptr & FLUSHW) && !(mp->b_flag & MSGNOLOOP)) {
		mux_flushside(WR(q), mp);
		*mp->b_rptr &= (unsigned char)~FLUSHR;
		mp->b_flag |= MSGNOLOOP;
		qreply(q, mp);
	} else {
		freemsg(mp);
	}
}

/* A stream hangs up when the last of the links that feed it did. */
static void
lower_hangup(queue_t *q, mblk_t *mp, bool hungup)
{
	struct mux *m = ustr_modstate(q);
	struct lower *l = q->q_ptr;
	struct upper *u = l->l_up;
	bool alive = false;

	l->l_hungup = hungup;
	mux_enableall(q);
	for (struct lower *other = m->m_lowers; other != NULL; other = other->l_next)
		alive |= other->l_up == u && !other->l_hungup;
	if (u == NULL || u->u_hungup == !alive) {
		freemsg(mp);
		return;
	}
	u->u_hungup = !alive;
	putnext(u->u_rq, mp);
}

static void
lower_up(const struct upper *u, mblk_t *mp)
{
	if (u != NULL)
		putnext(u->u_rq, mp);
	else
		freemsg(mp);
}

/* High priority; and what has an effect of its own. */
static void
lower_control(queue_t *q, mblk_t *mp)
{
	const struct lower *l = q->q_ptr;

	switch (mp->b_datap->db_type) {
	case M_FLUSH:
		lower_flush(q, mp);
		break;
	case M_HANGUP:
	case M_UNHANGUP:
		lower_hangup(q, mp, mp->b_datap->db_type == M_HANGUP);
		break;
	case M_IOCACK:
	case M_IOCNAK:
	case M_COPYIN:
	case M_COPYOUT:
		lower_up(l->l_asker, mp);
		break;
	default:
		lower_up(l->l_up, mp);
	}
}

static int
lower_rput(queue_t *q, mblk_t *mp)
{
	unsigned char type = mp->b_datap->db_type;

	if (type == M_SETOPTS)
		freemsg(mp); /* meant for the head that is not there */
	else if (type >= QPCTL && q->q_ptr != NULL)
		lower_control(q, mp);
	else if (type >= QPCTL && type != M_PCPROTO && type != M_HANGUP)
		freemsg(mp); /* nothing to keep for later */
	else if (!putq(q, mp))
		freemsg(mp);
	return 0;
}

/* From a link to the stream it feeds, as far as there is room. */
static int
lower_rsrv(queue_t *q)
{
	struct lower *l;
	mblk_t *mp;

	while ((l = q->q_ptr) != NULL && (mp = getq(q)) != NULL) {
		if (mp->b_datap->db_type >= QPCTL) {
			lower_control(q, mp);
		} else if (l->l_up != NULL && bcanputnext(l->l_up->u_rq, mp->b_band)) {
			putnext(l->l_up->u_rq, mp);
		} else {
			putbq(q, mp);
			break;
		}
	}
	return 0;
}

/* Room above: for the links that feed this stream. */
static int
mux_rsrv(queue_t *q)
{
	struct mux *m = ustr_modstate(q);

	for (struct lower *l = m->m_lowers; l != NULL; l = l->l_next)
		if (l->l_up == q->q_ptr)
			qenable(RD(l->l_wq));
	return 0;
}
