/* SPDX-License-Identifier: BSD-2-Clause */
/* queue.c: putq, getq and their family; the life of a queue pair. */
#include "queue.h"
#include "cache.h"
#include "flow.h"
#include "heap.h"
#include "qtrace.h"
#include "runq.h"

#include <errno.h>
#include <string.h>

/* ---- lists ------------------------------------------------------------------ */

void
queue_link(mblk_t **first, mblk_t **last, mblk_t *mp)
{
	unsigned int class = queue_class(mp);
	mblk_t *at;

	EQUIV(*first == NULL, *last == NULL);
	IMPLY(*last != NULL, (*last)->b_next == NULL && (*first)->b_prev == NULL);
	ASSERT(mp != *first && mp != *last); /* not yet on it */
	if (*last == NULL || queue_class(*last) >= class) {
		/* Almost always: behind everything. */
		mp->b_next = NULL;
		mp->b_prev = *last;
		if (*last != NULL)
			(*last)->b_next = mp;
		else
			st_rlx(first, mp);
		*last = mp;
		return;
	}
	for (at = *first; queue_class(at) >= class; at = at->b_next)
		;
	mp->b_next = at;
	mp->b_prev = at->b_prev;
	if (at->b_prev != NULL)
		at->b_prev->b_next = mp;
	else
		st_rlx(first, mp);
	at->b_prev = mp;
}

void
queue_unlink(mblk_t **first, mblk_t **last, mblk_t *mp)
{
	EQUIV(mp->b_prev == NULL, mp == *first);
	EQUIV(mp->b_next == NULL, mp == *last);
	IMPLY(mp->b_prev != NULL, mp->b_prev->b_next == mp);
	IMPLY(mp->b_next != NULL, mp->b_next->b_prev == mp);
	if (mp->b_prev != NULL)
		mp->b_prev->b_next = mp->b_next;
	else
		st_rlx(first, mp->b_next);
	if (mp->b_next != NULL)
		mp->b_next->b_prev = mp->b_prev;
	else
		*last = mp->b_prev;
	mp->b_next = mp->b_prev = NULL;
}

/* ---- counting, under q_lock ----------------------------------------------------- */

/* mp is linked: is it the first or last of its band now? */
static void
band_linked(qband_t *qb, mblk_t *mp)
{
	unsigned int class = queue_class(mp);

	ASSERT(class > 0 && class < 256);
	if (mp->b_prev == NULL || queue_class(mp->b_prev) != class)
		qb->qb_first = mp;
	if (mp->b_next == NULL || queue_class(mp->b_next) != class)
		qb->qb_last = mp;
}

/* mp is about to be unlinked. */
static void
band_unlinking(qband_t *qb, mblk_t *mp)
{
	unsigned int class = queue_class(mp);

	ASSERT(qb->qb_first != NULL && qb->qb_last != NULL); /* mp at least */
	if (qb->qb_first == mp)
		qb->qb_first = mp->b_next != NULL && queue_class(mp->b_next) == class ?
			mp->b_next : NULL;
	if (qb->qb_last == mp)
		qb->qb_last = mp->b_prev != NULL && queue_class(mp->b_prev) == class ?
			mp->b_prev : NULL;
}

static void
count_in(queue_t *q, mblk_t *mp)
{
	unsigned int class = queue_class(mp);
	size_t bytes, blocks;

	LOCK_HELD(&q->q_lock);
	msg_weigh(mp, &bytes, &blocks);
	if (class > 0 && class < 256) {
		qband_t *qb = band_find(q, class);

		ASSERT(qb != NULL); /* prepare() saw to it */
		band_add(qb, bytes, blocks);
		band_linked(qb, mp);
		return;
	}
	st_rlx(&q->q_count, q->q_count + bytes);
	st_rlx(&q->q_blocks, q->q_blocks + blocks);
	if (q->q_count >= q->q_hiwat || q->q_blocks >= q->q_hiwat)
		queue_set(q, QFULL);
}

/* What is to be done after a message was taken out and q_lock dropped. */
#define DUE_ENABLE 1 /* a back-enable (F6) */
#define DUE_TRACE 2  /* the event is recorded */

/* QWANTW or QTRACED is set: what is due (F5). */
static NOINLINE unsigned int
due_of(queue_t *q)
{
	unsigned int due = 0;

	LOCK_HELD(&q->q_lock);
	ASSERT(q->q_flag & (QWANTW | QTRACED));
	if (q->q_flag & QTRACED) {
		due = DUE_TRACE;
		if (ld_rlx(&q->q_tap) == 0)
			queue_clear(q, QTRACED); /* not any more */
	}
	if (!(q->q_flag & QWANTW) || !flow_low(q->q_count, q->q_blocks, q->q_lowat))
		return due;
	queue_clear(q, QWANTW);
	return due | DUE_ENABLE;
}

/* Unlink mp and count it out (F4): what is due. */
static unsigned int
take_out(queue_t *q, mblk_t *mp)
{
	unsigned int class = queue_class(mp);
	size_t bytes, blocks;

	LOCK_HELD(&q->q_lock);
	msg_weigh(mp, &bytes, &blocks);
	if (class > 0 && class < 256) {
		qband_t *qb = band_find(q, class);

		ASSERT(qb != NULL);
		band_unlinking(qb, mp);
		queue_unlink(&q->q_first, &q->q_last, mp);
		return (band_sub(qb, bytes, blocks) ? DUE_ENABLE : 0) |
			(q->q_flag & QTRACED ? DUE_TRACE : 0);
	}
	queue_unlink(&q->q_first, &q->q_last, mp);
	ASSERT(q->q_count >= bytes && q->q_blocks >= blocks);
	st_rlx(&q->q_count, q->q_count - bytes);
	st_rlx(&q->q_blocks, q->q_blocks - blocks);
	IMPLY(q->q_first == NULL, q->q_count == 0 && q->q_blocks == 0);
	if (q->q_count < q->q_hiwat && q->q_blocks < q->q_hiwat)
		queue_clear(q, QFULL);
	return likely(!(q->q_flag & (QWANTW | QTRACED))) ? 0 : due_of(q);
}

/* After q_lock was dropped: what is due because mp was taken out. */
static NOINLINE void
after_take(queue_t *q, const mblk_t *mp, unsigned int due)
{
	ASSERT(due != 0);
	NO_LOCK_HELD();
	if (due & DUE_TRACE)
		qtrace(q, USTR_EV_GET, mp);
	if (due & DUE_ENABLE)
		flow_backenable(q);
}

/* Make sure the band of mp exists; high priority has none. */
static bool
prepare(queue_t *q, mblk_t *mp)
{
	ASSERT_AT(3, msg_valid(mp));
	if (msg_ispri(mp)) {
		mp->b_band = 0;
		return true;
	}
	return likely(mp->b_band == 0) || band_reserve(q, mp->b_band);
}

/* Does putting mp schedule the service procedure? */
static bool
enables(const queue_t *q, const mblk_t *mp, bool band_counts)
{
	LOCK_HELD(&q->q_lock);
	if (msg_ispri(mp))
		return true;
	return !(q->q_flag & QNOENB) &&
		((q->q_flag & QWANTR) || (band_counts && mp->b_band > 0));
}

/* ---- the DDI routines --------------------------------------------------------------- */

int
putq(queue_t *q, mblk_t *mp)
{
	struct slot *me = slot_self();
	bool enable;

	ASSERT(!(q->q_kind & (QK_HEADR | QK_HEADW)));
	ASSERT_AT(3, msg_valid(mp));
	if (me == NULL || !prepare(q, mp) || !msg_share(&mp))
		return 0;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	queue_link(&q->q_first, &q->q_last, mp);
	count_in(q, mp);
	enable = enables(q, mp, true);
	ASSERT_AT(3, queue_valid(q));
	lock_leave(me, &q->q_lock);
	if (enable)
		runq_enable(q);
	return 1;
}

/* Before the first message of the same or a lower class. */
static void
link_front(queue_t *q, mblk_t *mp)
{
	unsigned int class = queue_class(mp);
	mblk_t *at = q->q_first;

	LOCK_HELD(&q->q_lock);
	while (at != NULL && queue_class(at) > class)
		at = at->b_next;
	if (at == NULL) {
		queue_link(&q->q_first, &q->q_last, mp);
		return;
	}
	mp->b_next = at;
	mp->b_prev = at->b_prev;
	if (at->b_prev != NULL)
		at->b_prev->b_next = mp;
	else
		st_rlx(&q->q_first, mp);
	at->b_prev = mp;
}

int
putbq(queue_t *q, mblk_t *mp)
{
	struct slot *me = slot_self();
	bool enable;

	ASSERT(!(q->q_kind & QK_HEADR)); /* a head has two lists and two totals: head_queue.h */
	if (me == NULL || !prepare(q, mp))
		return 0;
	if (unlikely(ld_rlx(&q->q_tap) != 0))
		qtrace(q, USTR_EV_BACK, mp);
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	link_front(q, mp);
	count_in(q, mp);
	enable = enables(q, mp, false);
	ASSERT_AT(3, queue_valid(q));
	lock_leave(me, &q->q_lock);
	if (enable)
		runq_enable(q);
	return 1;
}

static bool
queued(const queue_t *q, const mblk_t *mp)
{
	LOCK_HELD(&q->q_lock);
	for (const mblk_t *at = q->q_first; at != NULL; at = at->b_next)
		if (at == mp)
			return true;
	return false;
}

/*
 * When a thread dies that holds the lock the whole list is given up (salvage.h,
 * L1), but a module may remember a message of it.
 */
void
queue_lost(mblk_t *mp)
{
	mp->b_prev = mp;
}

/* May mp stand before emp (NULL: last)?  Order must not suffer. */
static bool
insertable(const queue_t *q, const mblk_t *emp, const mblk_t *mp)
{
	const mblk_t *before = emp != NULL ? emp->b_prev : q->q_last;

	LOCK_HELD(&q->q_lock);
	if (emp != NULL && (!queued(q, emp) || queue_class(mp) < queue_class(emp)))
		return false;
	return before == NULL || queue_class(before) >= queue_class(mp);
}

int
insq(queue_t *q, mblk_t *emp, mblk_t *mp)
{
	struct slot *me = slot_self();
	bool ok, enable = false;

	ASSERT(!(q->q_kind & QK_HEADR));
	if (me == NULL || !prepare(q, mp))
		return 0;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	ok = insertable(q, emp, mp);
	if (ok) {
		mp->b_next = emp;
		mp->b_prev = emp != NULL ? emp->b_prev : q->q_last;
		if (mp->b_prev != NULL)
			mp->b_prev->b_next = mp;
		else
			st_rlx(&q->q_first, mp);
		if (emp != NULL)
			emp->b_prev = mp;
		else
			q->q_last = mp;
		count_in(q, mp);
		enable = !(q->q_flag & QNOENB) && (q->q_flag & QWANTR);
	}
	ASSERT_AT(3, queue_valid(q));
	lock_leave(me, &q->q_lock);
	if (enable)
		runq_enable(q);
	return ok;
}

void
rmvq(queue_t *q, mblk_t *mp)
{
	struct slot *me = slot_self();
	unsigned int due;

	if (me == NULL)
		return;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	if (unlikely(mp->b_prev == mp)) {
		mp->b_next = mp->b_prev = NULL;
		lock_leave(me, &q->q_lock);
		return;
	}
	ASSERT(queued(q, mp));
	due = take_out(q, mp);
	ASSERT_AT(3, queue_valid(q));
	lock_leave(me, &q->q_lock);
	if (due != 0)
		after_take(q, mp, due);
}

mblk_t *
getq(queue_t *q)
{
	struct slot *me = slot_self();
	unsigned int due = 0;
	mblk_t *mp;

	ASSERT(!(q->q_kind & QK_HEADR));
	if (unlikely(me == NULL))
		return NULL;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	mp = q->q_first;
	if (mp == NULL) {
		queue_set(q, QWANTR);
	} else {
		queue_clear(q, QWANTR);
		due = take_out(q, mp);
	}
	ASSERT_AT(3, queue_valid(q));
	lock_leave(me, &q->q_lock);
	if (due != 0)
		after_take(q, mp, due);
	return mp;
}

/* Unlink what goes(mp, arg) says, count it out, free it after unlocking. */
static void
flush(queue_t *q, bool (*goes)(const mblk_t *, int, int), int flag, int band)
{
	struct slot *me = slot_self();
	mblk_t *first = NULL, *last = NULL, *mp, *next;
	unsigned int due = 0;

	if (me == NULL)
		return;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	for (mp = q->q_first; mp != NULL; mp = next) {
		next = mp->b_next;
		if (!goes(mp, flag, band))
			continue;
		due |= take_out(q, mp);
		queue_link(&first, &last, mp);
	}
	lock_leave(me, &q->q_lock);
	for (mp = first; mp != NULL; mp = next) {
		next = mp->b_next;
		mp->b_next = mp->b_prev = NULL;
		if (due & DUE_TRACE)
			qtrace(q, USTR_EV_FLUSH, mp);
		freemsg(mp);
	}
	if (due & DUE_ENABLE)
		flow_backenable(q);
}

static bool
goes_any(const mblk_t *mp, int flag, int band)
{
	(void)band;
	return flag == FLUSHALL || datamsg(msg_type(mp));
}

static bool
goes_band(const mblk_t *mp, int flag, int band)
{
	unsigned int class = queue_class(mp);

	/* Band 0 means normal and high-priority messages. */
	return (int)(class == 256 ? 0 : class) == band && goes_any(mp, flag, band);
}

void
flushq(queue_t *q, int flag)
{
	flush(q, goes_any, flag, 0);
}

void
flushband(queue_t *q, unsigned char band, int flag)
{
	flush(q, goes_band, flag, band);
}

queue_t *
backq(queue_t *q)
{
	queue_t *next = OTHERQ(q)->q_next;

	return next == NULL || (next->q_kind & QK_DEADEND) ? NULL : OTHERQ(next);
}

int
samestr(queue_t *q)
{
	return q->q_next != NULL && q->q_next->q_stream == q->q_stream;
}

/* ---- a pair's life ------------------------------------------------------------------- */

static void
construct(void *p)
{
	memset(p, 0, 2 * sizeof(queue_t));
}

void
queue_init_classes(void)
{
	if (USTR_HEAD_CACHE)
		cache_setup(CLASS_PAIR, 2 * sizeof(queue_t), 8, construct);
}

queue_t *
queue_alloc(void)
{
	struct slot *me = slot_self();
	queue_t *rq;

	if (me == NULL)
		return NULL;
	if (!USTR_HEAD_CACHE)
		return heap_zalloc(2 * sizeof(queue_t));
	rq = heap_fails() ? NULL : cache_alloc(me, CLASS_PAIR);
	if (rq != NULL)
		memset(rq, 0, 2 * sizeof(*rq));
	return rq;
}

static void
setup(queue_t *q, struct qinit *qi, uint32_t idx, uint32_t kind)
{
	const struct module_info *mi = qi->qi_minfo;

	ASSERT(mi != NULL && qi->qi_putp == NULL && idx < QIDX_TRACED);
	ASSERT(!(q->q_flag & QENAB)); /* on no run list: its flags begin anew */
	q->q_qinfo = qi;
	q->q_procs = (unsigned short)idx;
	q->q_kind = kind;
	q->q_flag = QUSE | QWANTR | (kind & QK_READ ? QREADR : 0);
	/* A stream head's queues are set up again when it is linked and unlinked. */
	q->q_qidx = q->q_traced ? QIDX_TRACED : idx;
	if (q->q_tap != 0)
		q->q_flag |= QTRACED;
	q->q_minpsz = mi->mi_minpsz;
	q->q_maxpsz = mi->mi_maxpsz;
	q->q_hiwat = mi->mi_hiwat;
	q->q_lowat = mi->mi_lowat;
	q->q_nfsrv = q;
}

void
queue_setup(queue_t *rq, const struct queue_tables *qt, uint32_t kind)
{
	setup(rq, qt->qt_rd, qt->qt_idx, kind | QK_READ | (qt->qt_rdsrv ? QK_SRV : 0));
	setup(rq + 1, qt->qt_wr, qt->qt_idx + 1, kind | (qt->qt_wrsrv ? QK_SRV : 0));
}

void
queue_drain(queue_t *rq)
{
	flushq(rq, FLUSHALL);
	flushq(rq + 1, FLUSHALL);
}

void
queue_free(queue_t *rq)
{
	struct slot *me = slot_self();

	queue_drain(rq);
	ASSERT(rq->q_pfirst == NULL && rq[1].q_pfirst == NULL && rq->q_calls == NULL);
	ASSERT(!((rq->q_flag | rq[1].q_flag) & QENAB)); /* on no run list */
	band_freeall(rq);
	band_freeall(rq + 1);
	if (!USTR_HEAD_CACHE)
		heap_free(rq, 2 * sizeof(*rq));
	else if (me != NULL)
		cache_free(me, CLASS_PAIR, rq);
}

bool
queue_valid(queue_t *q)
{
	size_t bytes = 0, blocks = 0, b, n;
	const mblk_t *prev = NULL;

	for (mblk_t *mp = q->q_first; mp != NULL; prev = mp, mp = mp->b_next) {
		if (mp->b_prev != prev || !msg_valid(mp) ||
		    (prev != NULL && queue_class(prev) < queue_class(mp)))
			return false;
		msg_weigh(mp, &b, &n);
		if (queue_class(mp) % 256 != 0)
			continue;
		bytes += b;
		blocks += n;
	}
	if (q->q_last != prev)
		return false;
	return (q->q_kind & QK_HEADR) || (bytes == q->q_count && blocks == q->q_blocks);
}
