/* SPDX-License-Identifier: BSD-2-Clause */
/* runq.c: qenable, and the run list of runq.h. */
#include "runq.h"

/* The list q belongs on, locked: groups merge, and then it is another one. */
static struct runq *
lock_list(struct slot *me, queue_t *q)
{
	for (;;) {
		struct runq *rq = ld_acq(&q->q_runq);

		lock_enter(me, &rq->rq_lock, RANK_RUNQ);
		if (likely(ld_acq(&q->q_runq) == rq))
			return rq;
		lock_leave(me, &rq->rq_lock);
	}
}

bool
runq_valid(const struct runq *rq)
{
	const queue_t *last = NULL;
	uint32_t n = 0;

	for (const queue_t *q = rq->rq_first; q != NULL && n <= rq->rq_n; q = q->q_link, n++) {
		if (!(q->q_kind & QK_SRV))
			return false;
		last = q;
	}
	return n == rq->rq_n && last == rq->rq_last;
}

static void
link_last(struct runq *rq, queue_t *first, queue_t *last, uint32_t n)
{
	LOCK_HELD(&rq->rq_lock);
	EQUIV(rq->rq_first == NULL, rq->rq_n == 0);
	ASSERT(last->q_link == NULL && n > 0 && (n > 1 || first == last));
	if (rq->rq_first == NULL)
		st_rlx(&rq->rq_first, first);
	else
		rq->rq_last->q_link = first;
	rq->rq_last = last;
	st_rlx(&rq->rq_n, rq->rq_n + n);
}

static void
append(struct slot *me, queue_t *q)
{
	struct runq *rq = lock_list(me, q);

	ASSERT(q->q_kind & QK_SRV);
	ASSERT_AT(3, runq_valid(rq));
	q->q_link = NULL;
	link_last(rq, q, q, 1);
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

/* The first of the list, off it; or NULL. */
static queue_t *
take_first(struct slot *me, struct runq *rq)
{
	queue_t *q;

	lock_enter(me, &rq->rq_lock, RANK_RUNQ);
	q = rq->rq_first;
	EQUIV(q == NULL, rq->rq_n == 0);
	IMPLY(q != NULL, (q->q_link == NULL) == (rq->rq_last == q));
	if (q != NULL) {
		st_rlx(&rq->rq_first, q->q_link);
		if (q->q_link == NULL)
			rq->rq_last = NULL;
		st_rlx(&rq->rq_n, rq->rq_n - 1);
	}
	lock_leave(me, &rq->rq_lock);
	return q;
}

queue_t *
runq_next(struct slot *me, struct runq *rq)
{
	bool belongs = false;
	queue_t *q = NULL;

	NO_LOCK_HELD();
	while (!belongs && (q = take_first(me, rq)) != NULL) {
		lock_enter(me, &q->q_lock, RANK_QUEUE);
		/* Not if who forgot it was killed before it was off the list. */
		belongs = (q->q_flag & (QENAB | QHLIST)) == QENAB;
		if (belongs) {
			queue_clear(q, QENAB);
			queue_set(q, QHLIST);
		}
		lock_leave(me, &q->q_lock);
	}
	return q;
}

void
runq_done(struct slot *me, queue_t *q)
{
	bool again;

	lock_enter(me, &q->q_lock, RANK_QUEUE);
	ASSERT(q->q_flag & QHLIST);
	ASSERT(q->q_kind & QK_SRV);
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
	queue_t **link, *prev = NULL;
	struct runq *rq;

	if (me == NULL)
		return;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	queue_set(q, QWCLOSE);
	queue_clear(q, QENAB);
	lock_leave(me, &q->q_lock);
	rq = lock_list(me, q);
	for (link = &rq->rq_first; *link != NULL; prev = *link, link = &(*link)->q_link) {
		if (*link != q)
			continue;
		st_rlx(link, q->q_link);
		if (rq->rq_last == q)
			rq->rq_last = prev;
		st_rlx(&rq->rq_n, rq->rq_n - 1);
		break;
	}
	ASSERT_AT(3, runq_valid(rq));
	lock_leave(me, &rq->rq_lock);
}

void
runq_move(struct slot *me, struct runq *from, struct runq *to)
{
	queue_t *first, *last;
	uint32_t n;

	ASSERT(from != to);
	lock_enter(me, &from->rq_lock, RANK_RUNQ);
	first = from->rq_first;
	last = from->rq_last;
	n = from->rq_n;
	EQUIV(first == NULL, n == 0);
	st_rlx(&from->rq_first, NULL);
	CRASH_POINT();
	from->rq_last = NULL;
	st_rlx(&from->rq_n, 0u);
	lock_leave(me, &from->rq_lock);
	CRASH_POINT();
	if (first == NULL)
		return;
	lock_enter(me, &to->rq_lock, RANK_RUNQ);
	link_last(to, first, last, n);
	lock_publish(me, &to->rq_lock);
}

/* Each link is written at once, so the list can be walked; its end and length follow. */
void
runq_salvage(struct runq *rq)
{
	uint32_t n = 0;

	LOCK_HELD(&rq->rq_lock);
	rq->rq_last = NULL;
	for (queue_t *q = rq->rq_first; q != NULL; q = q->q_link, n++)
		rq->rq_last = q;
	st_rlx(&rq->rq_n, n);
	EQUIV(rq->rq_first == NULL, rq->rq_last == NULL);
}

void
runq_purge(struct slot *me, struct runq *rq)
{
	queue_t **link = &rq->rq_first, *q;

	lock_enter(me, &rq->rq_lock, RANK_RUNQ);
	while ((q = *link) != NULL) {
		if ((q->q_flag & (QENAB | QHLIST)) == QENAB)
			link = &q->q_link;
		else
			st_rlx(link, q->q_link);
	}
	runq_salvage(rq);
	lock_leave(me, &rq->rq_lock);
}

void
runq_mend(struct slot *me, queue_t *q)
{
	struct runq *rq;
	queue_t *at;

	ASSERT(q->q_kind & QK_SRV);
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	if (q->q_flag & QWCLOSE) {
		lock_leave(me, &q->q_lock);
		return;
	}
	queue_clear(q, QHLIST);
	queue_set(q, QENAB);
	lock_leave(me, &q->q_lock);
	rq = lock_list(me, q);
	for (at = rq->rq_first; at != NULL && at != q; at = at->q_link)
		;
	if (at == NULL) {
		q->q_link = NULL;
		link_last(rq, q, q, 1);
	}
	lock_publish(me, &rq->rq_lock);
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
