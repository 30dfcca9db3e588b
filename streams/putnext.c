/* SPDX-License-Identifier: BSD-2-Clause */
/* putnext.c: passing messages on. */
#include "putnext.h"
#include "perim.h"

#include <errno.h>

struct procs put_procs[NPROCS];
bool put_here[NPROCS];

/* ---- the way of every message -------------------------------------------------- */

INLINE void
deliver(queue_t *q, mblk_t *mp)
{
	NO_LOCK_HELD(); /* invariant 2 of lock.h: a put procedure is anybody's code */
	ASSERT_AT(3, msg_valid(mp));
	if (likely(q->q_perim == NULL))
		put_procs[ld_rlx(&q->q_qidx)].pc_put(q, mp);
	else
		perim_put(q->q_perim, q, mp);
}

void
putnext(queue_t *q, mblk_t *mp)
{
	queue_t *next = q->q_next;

	if (likely(next != NULL))
		deliver(next, mp);
	else
		freemsg(mp);
}

void
put(queue_t *q, mblk_t *mp)
{
	deliver(q, mp);
}

void
qreply(queue_t *q, mblk_t *mp)
{
	putnext(OTHERQ(q), mp);
}

/* ---- control messages ------------------------------------------------------------- */

/* A message of a control type with n parameter bytes, or NULL. */
static mblk_t *
control(int type, int n, int p1, int p2)
{
	mblk_t *mp;

	if (type == M_DATA || type == M_PROTO || type == M_PCPROTO || type < 0 || type > 255)
		return NULL;
	mp = allocb((size_t)n, BPRI_HI);
	if (mp == NULL)
		return NULL;
	ASSERT(n >= 0 && n <= 2);
	mp->b_datap->db_type = (unsigned char)type;
	if (n > 0)
		*mp->b_wptr++ = (unsigned char)p1;
	if (n > 1)
		*mp->b_wptr++ = (unsigned char)p2;
	return mp;
}

static int
send(queue_t *q, mblk_t *mp)
{
	if (q == NULL || mp == NULL) {
		freemsg(mp);
		return 0;
	}
	deliver(q, mp);
	return 1;
}

int
putctl(queue_t *q, int type)
{
	return send(q, control(type, 0, 0, 0));
}

int
putctl1(queue_t *q, int type, int p)
{
	return type == M_DELAY ? 0 : send(q, control(type, 1, p, 0));
}

int
putctl2(queue_t *q, int type, int p1, int p2)
{
	return type == M_DELAY ? 0 : send(q, control(type, 2, p1, p2));
}

int
putnextctl(queue_t *q, int type)
{
	return putctl(q->q_next, type);
}

int
putnextctl1(queue_t *q, int type, int p)
{
	return putctl1(q->q_next, type, p);
}

int
putnextctl2(queue_t *q, int type, int p1, int p2)
{
	return putctl2(q->q_next, type, p1, p2);
}

/* ---- procedures that refuse ---------------------------------------------------------- */

static int
absent_put(queue_t *q, mblk_t *mp)
{
	(void)q;
	freemsg(mp);
	return 0;
}

static int
absent_srv(queue_t *q)
{
	flushq(q, FLUSHALL);
	return 0;
}

static int
absent_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)q, (void)dev, (void)oflag, (void)sflag, (void)cr;
	return ENXIO;
}

static int
absent_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	return 0;
}

const struct procs put_absent = { absent_put, absent_srv, absent_open, absent_close };

void
put_init(void)
{
	for (uint32_t i = 0; i < NPROCS; i++)
		put_clear(i);
}

void
put_set(uint32_t idx, struct procs pc)
{
	ASSERT(idx < NPROCS);
	ASSERT(pc.pc_put != NULL && pc.pc_srv != NULL);
	put_procs[idx] = pc;
	st_rel(&put_here[idx], true);
}

void
put_clear(uint32_t idx)
{
	ASSERT(idx < NPROCS);
	st_rel(&put_here[idx], false);
	put_procs[idx] = put_absent;
}
