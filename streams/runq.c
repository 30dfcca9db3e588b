/* SPDX-License-Identifier: BSD-2-Clause */
/* runq.c: qenable, and the run list of runq.h. */
#include "runq.h"

static void
append(struct slot *me, queue_t *q)
{
	struct runq *rq = q->q_runq;

	lock_enter(me, &rq->rq_lock, RANK_RUNQ);
	EQUIV(rq->rq_first == NULL, rq->rq_n == 0);
	q->q_link = NULL;
	if (rq->rq_first == NULL)
		st_rlx(&rq->rq_first, q);
	else
		rq->rq_last->q_link = q;
	rq->rq_last = q;
	st_rlx(&rq->rq_n, rq->rq_n + 1);
	lock_publish(me, &rq->rq_lock);
}

void
runq_enable(queue_t *q)
{
	struct slot *me = slot_self();
	bool list;

	if (me == NULL || !(q->q_kind & QK_SRV))
		return;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	list = !(q->q_flag & (QENAB | QHLIST | QWCLOSE));
	if (!(q->q_flag & QWCLOSE))
		queue_set(q, QENAB);
	lock_leave(me, &q->q_lock);
	if (list)
		append(me, q);
}

queue_t *
runq_next(struct slot *me, struct runq *rq)
{
	queue_t *q;

	lock_enter(me, &rq->rq_lock, RANK_RUNQ);
	q = rq->rq_first;
	if (q != NULL) {
		st_rlx(&rq->rq_first, q->q_link);
		if (q->q_link == NULL)
			rq->rq_last = NULL;
		st_rlx(&rq->rq_n, rq->rq_n - 1);
	}
	lock_leave(me, &rq->rq_lock);
	if (q == NULL)
		return NULL;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	ASSERT((q->q_flag & QENAB) && !(q->q_flag & QHLIST));
	queue_clear(q, QENAB);
	queue_set(q, QHLIST);
	lock_leave(me, &q->q_lock);
	return q;
}

void
runq_done(struct slot *me, queue_t *q)
{
	bool again;

	lock_enter(me, &q->q_lock, RANK_QUEUE);
	ASSERT(q->q_flag & QHLIST);
	queue_clear(q, QHLIST);
	again = (q->q_flag & QENAB) != 0;
	lock_leave(me, &q->q_lock);
	if (again)
		append(me, q);
}

void
runq_forget(queue_t *q)
{
	struct slot *me = slot_self();
	struct runq *rq = q->q_runq;
	queue_t **link, *prev = NULL;

	if (me == NULL)
		return;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	queue_set(q, QWCLOSE);
	queue_clear(q, QENAB);
	lock_leave(me, &q->q_lock);
	lock_enter(me, &rq->rq_lock, RANK_RUNQ);
	for (link = &rq->rq_first; *link != NULL; prev = *link, link = &(*link)->q_link) {
		if (*link != q)
			continue;
		st_rlx(link, q->q_link);
		if (rq->rq_last == q)
			rq->rq_last = prev;
		st_rlx(&rq->rq_n, rq->rq_n - 1);
		break;
	}
	lock_leave(me, &rq->rq_lock);
}

void
qenable(queue_t *q)
{
	runq_enable(q);
}

void
noenable(queue_t *q)
{
	struct slot *me = slot_self();

	if (me == NULL)
		return;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	queue_set(q, QNOENB);
	lock_leave(me, &q->q_lock);
}

void
enableok(queue_t *q)
{
	struct slot *me = slot_self();

	if (me == NULL)
		return;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	queue_clear(q, QNOENB);
	lock_leave(me, &q->q_lock);
}
