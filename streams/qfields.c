/* SPDX-License-Identifier: BSD-2-Clause */
/* qfields.c: qsize, strqget and strqset: a queue's fields by name. */
#include "flow.h"
#include "queue.h"
#include "runq.h"

#include <errno.h>

static int
count(const mblk_t *mp)
{
	int n = 0;

	for (; mp != NULL; mp = mp->b_next)
		n++;
	return n;
}

/* A stream head's read queue has a second list, under the reader lock. */
int
qsize(queue_t *q)
{
	struct slot *me = slot_self();
	bool head = (q->q_kind & QK_HEADR) != 0;
	int n;

	if (me == NULL)
		return 0;
	if (head)
		lock_enter(me, &q->q_rlock, RANK_READER);
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	n = count(q->q_first) + (head ? count(q->q_rfirst) : 0);
	lock_leave(me, &q->q_lock);
	if (head)
		lock_leave(me, &q->q_rlock);
	return n;
}

/* Bytes of band 0: exact on module queues, from the totals on a head's. */
static size_t
bytes_of(const queue_t *q)
{
	size_t got = ld_acq(&q->q_gotb);

	return q->q_kind & QK_HEADR ? ld_acq(&q->q_putb) - got : q->q_count;
}

static int
get_queue(queue_t *q, qfields_t what, void *val)
{
	LOCK_HELD(&q->q_lock);
	switch (what) {
	case QHIWAT:
		*(size_t *)val = q->q_hiwat;
		return 0;
	case QLOWAT:
		*(size_t *)val = q->q_lowat;
		return 0;
	case QMAXPSZ:
		*(ssize_t *)val = q->q_maxpsz;
		return 0;
	case QMINPSZ:
		*(ssize_t *)val = q->q_minpsz;
		return 0;
	case QCOUNT:
		*(size_t *)val = bytes_of(q);
		return 0;
	case QFIRST:
		*(mblk_t **)val = q->q_first;
		return 0;
	case QLAST:
		*(mblk_t **)val = q->q_last;
		return 0;
	case QFLAG:
		*(unsigned int *)val = q->q_flag;
		return 0;
	default:
		return EINVAL;
	}
}

static int
get_band(const qband_t *qb, qfields_t what, void *val)
{
	ASSERT(qb != NULL); /* band_reserve() saw to it */
	switch (what) {
	case QHIWAT:
		*(size_t *)val = qb->qb_hiwat;
		return 0;
	case QLOWAT:
		*(size_t *)val = qb->qb_lowat;
		return 0;
	case QCOUNT:
		*(size_t *)val = qb->qb_count;
		return 0;
	case QFIRST:
		*(mblk_t **)val = qb->qb_first;
		return 0;
	case QLAST:
		*(mblk_t **)val = qb->qb_last;
		return 0;
	case QFLAG:
		*(unsigned int *)val = qb->qb_flag;
		return 0;
	default:
		return EINVAL;
	}
}

int
strqget(queue_t *q, qfields_t what, unsigned char band, void *val)
{
	struct slot *me = slot_self();
	int error;

	if (me == NULL || (unsigned int)what >= QBAD)
		return EINVAL;
	if (!band_reserve(q, band))
		return EAGAIN;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	error = band == 0 ? get_queue(q, what, val) : get_band(band_find(q, band), what, val);
	lock_leave(me, &q->q_lock);
	return error;
}

static int
set_queue(queue_t *q, qfields_t what, intptr_t val)
{
	LOCK_HELD(&q->q_lock);
	switch (what) {
	case QHIWAT:
		st_rlx(&q->q_hiwat, (size_t)val);
		return 0;
	case QLOWAT:
		st_rlx(&q->q_lowat, (size_t)val);
		return 0;
	case QMAXPSZ:
		st_rlx(&q->q_maxpsz, (ssize_t)val);
		return 0;
	case QMINPSZ:
		st_rlx(&q->q_minpsz, (ssize_t)val);
		return 0;
	default:
		return EPERM;
	}
}

static int
set_band(qband_t *qb, qfields_t what, intptr_t val)
{
	ASSERT(qb != NULL);
	if (what == QHIWAT)
		qb->qb_hiwat = (size_t)val;
	else if (what == QLOWAT)
		qb->qb_lowat = (size_t)val;
	else
		return what == QMAXPSZ || what == QMINPSZ ? EINVAL : EPERM;
	return 0;
}

/*
 * A mark that moved decides anew whether the queue, or the band, is full; true
 * if somebody who was refused may go on.
 */
static bool
judge_queue(queue_t *q)
{
	LOCK_HELD(&q->q_lock);
	if (q->q_kind & QK_HEADR)
		return false; /* its writers compare for themselves */
	if (q->q_count >= q->q_hiwat || q->q_blocks >= q->q_hiwat) {
		queue_set(q, QFULL);
		return false;
	}
	queue_clear(q, QFULL);
	if (!(q->q_flag & QWANTW))
		return false;
	queue_clear(q, QWANTW);
	return true;
}

static bool
judge_band(qband_t *qb)
{
	if (qb->qb_count >= qb->qb_hiwat || qb->qb_blocks >= qb->qb_hiwat) {
		qb->qb_flag |= QB_FULL;
		return false;
	}
	if (!(qb->qb_flag & QB_WANTW)) {
		qb->qb_flag &= ~(unsigned int)QB_FULL;
		return false;
	}
	qb->qb_flag &= ~(unsigned int)(QB_FULL | QB_WANTW);
	return true;
}

int
strqset(queue_t *q, qfields_t what, unsigned char band, intptr_t val)
{
	struct slot *me = slot_self();
	bool wake;
	int error;

	if (me == NULL || (unsigned int)what >= QBAD)
		return EINVAL;
	if (!band_reserve(q, band))
		return EAGAIN;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	if (band == 0) {
		error = set_queue(q, what, val);
		wake = judge_queue(q);
	} else {
		error = set_band(band_find(q, band), what, val);
		wake = judge_band(band_find(q, band));
	}
	lock_leave(me, &q->q_lock);
	if (wake)
		flow_backenable(q);
	return error;
}
