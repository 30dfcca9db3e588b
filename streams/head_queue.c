/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_queue.c: a stream head's read queue: two lists and two totals.
 *
 * Writers append to q_first..q_last under q_lock, on their own cache line.  A
 * reader, under the reader lock, takes that whole list at once and serves it
 * from q_rfirst, on its own line.  In between nobody moves a line per message
 * but the message itself.
 *
 *   writer's line: q_lock q_first q_last  q_putb q_putn   (monotonic)
 *   reader's line: q_rlock q_rfirst ...   q_gotb q_gotn   q_want q_urgent
 *
 *   queued bytes = q_putb - q_gotb, queued blocks = q_putn - q_gotn
 *
 * What has been taken still counts until it was read: a reader that left its
 * call holds no credit back, and a second reader, a flush and I_NREAD see both
 * lists (both locks, reader lock first).
 *
 * A message of band > 0 or high priority sets q_urgent; the reader then merges
 * the lists before its next message.  Bands are counted exactly, in qband_t
 * under q_lock; band 0 and high priority in the totals.
 *
 * Pacing: a reader faster than its writer would take a list of one message
 * over and over and fight for the writer's line.  Having found few, it lets
 * half a microsecond pass before the next take; a write on the same stream
 * (request/response) switches that off.
 */
#include "fd.h"
#include "flow.h"
#include "head_sig.h"
#include "qtrace.h"

#define PACE_FEW 16  /* messages */
#define PACE_NS 500  /* ns */

#define q_taken q_spare2[0] /* q_putn at the last take */

void
hq_lock(struct slot *me, queue_t *q)
{
	lock_enter(me, &q->q_rlock, RANK_READER);
}

void
hq_unlock(struct slot *me, queue_t *q)
{
	lock_leave(me, &q->q_rlock);
}

/* ---- arriving ---------------------------------------------------------------------- */

static void
append(queue_t *q, mblk_t *mp)
{
	LOCK_HELD(&q->q_lock);
	EQUIV(q->q_first == NULL, q->q_last == NULL);
	mp->b_next = NULL;
	mp->b_prev = q->q_last;
	if (q->q_last == NULL)
		st_rlx(&q->q_first, mp);
	else
		q->q_last->b_next = mp;
	q->q_last = mp;
}

static void
total_in(queue_t *q, size_t bytes, size_t blocks)
{
	LOCK_HELD(&q->q_lock);
	st_rlx(&q->q_putb, q->q_putb + bytes);
	st_rlx(&q->q_putn, q->q_putn + blocks);
}

/* Band > 0 or high priority: in order, counted in its band, and urgent. */
static NOINLINE void
put_urgent(struct slot *me, queue_t *q, mblk_t *mp)
{
	unsigned int class = queue_class(mp);
	size_t bytes, blocks;

	ASSERT(class > 0 && class <= 256);
	msg_weigh(mp, &bytes, &blocks);
	if (class == 256)
		mp->b_band = 0;
	else if (!band_reserve(q, class))
		mp->b_flag |= MSG_UNCOUNTED;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	queue_link(&q->q_first, &q->q_last, mp);
	if (class == 256 || (mp->b_flag & MSG_UNCOUNTED))
		total_in(q, bytes, blocks);
	else
		band_add(band_find(q, class), bytes, blocks);
	(void)xchg(&q->q_urgent, 1u);
	lock_publish(me, &q->q_lock);
}

/* No memory to share it: the reader is told, once. */
static NOINLINE void
refuse(struct stdata *sd, mblk_t *mp)
{
	freemsg(mp);
	st_rel(&sd->sd_rderr, ENOSR);
	f_or(&sd->sd_state, SD_RDERR);
}

/* Who waits is woken, who registered is told. */
static NOINLINE void
arrived(struct stdata *sd, uint32_t events, unsigned char band)
{
	wait_wakeall(&sd->sd_rwait);
	head_event(sd, events, band);
}

/* W2 of wait.h; the events are those of the message that was put. */
INLINE void
announce(struct stdata *sd, uint32_t events, unsigned char band)
{
	JITTER();
	if (unlikely(ld_seq(&sd->sd_rwait.wq_armed) != 0))
		arrived(sd, events, band);
}

static NOINLINE void
put_classed(struct slot *me, struct stdata *sd, mblk_t *mp)
{
	uint32_t events = msg_ispri(mp) ? S_HIPRI : S_INPUT | S_RDBAND;
	unsigned char band = msg_ispri(mp) ? 0 : mp->b_band;

	put_urgent(me, sd->sd_rq, mp);
	announce(sd, events, band);
}

INLINE void
put_normal(struct slot *me, queue_t *q, mblk_t *mp)
{
	size_t bytes, blocks;

	msg_weigh(mp, &bytes, &blocks);
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	append(q, mp);
	total_in(q, bytes, blocks);
	lock_publish(me, &q->q_lock); /* W1 */
}

void
hq_put(struct stdata *sd, mblk_t *mp)
{
	struct slot *me = slot_self();

	if (unlikely(me == NULL))
		return;
	if (unlikely(!msg_share(&mp))) {
		refuse(sd, mp);
		return;
	}
	if (unlikely(queue_class(mp) != 0)) {
		put_classed(me, sd, mp);
		return;
	}
	put_normal(me, sd->sd_rq, mp);
	announce(sd, S_INPUT | S_RDNORM, 0);
}

bool
hq_hold(struct slot *me, queue_t *q, mblk_t *mp)
{
	LOCK_HELD(&q->q_rlock);
	ASSERT(q->q_kind & QK_HEADR);
	if (hq_first(me, q) == NULL || !msg_share(&mp))
		return false;
	if (queue_class(mp) != 0)
		put_urgent(me, q, mp);
	else
		put_normal(me, q, mp);
	return true;
}

/* ---- the reader ----------------------------------------------------------------------- */

bool
hq_any(queue_t *q)
{
	return ld_seq(&q->q_rfirst) != NULL || ld_seq(&q->q_first) != NULL;
}

/* Move the writers' list behind, or among, the reader's. */
static NOINLINE mblk_t *
take(struct slot *me, queue_t *q)
{
	mblk_t *mp, *next, *last;

	LOCK_HELD(&q->q_rlock);
	EQUIV(q->q_rfirst == NULL, q->q_rlast == NULL);
	if (ld_seq(&q->q_first) == NULL)
		return q->q_rfirst;
	if (q->q_rfirst == NULL && ld_rlx(&q->q_pace) != 0 && ld_rlx(&q->q_pace) < PACE_FEW)
		plat_spin(PACE_NS);
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	mp = q->q_first;
	last = q->q_last;
	st_rlx(&q->q_first, NULL);
	q->q_last = NULL;
	EQUIV(mp == NULL, last == NULL);
	(void)xchg(&q->q_urgent, 0u);
	st_rlx(&q->q_pace, (uint32_t)(q->q_putn - q->q_taken));
	q->q_taken = q->q_putn;
	ASSERT(q->q_taken <= q->q_putn);
	lock_leave(me, &q->q_lock);
	if (q->q_rfirst == NULL) {
		q->q_rlast = last;
		st_rlx(&q->q_rfirst, mp);
		return mp;
	}
	for (; mp != NULL; mp = next) {
		next = mp->b_next;
		queue_link(&q->q_rfirst, &q->q_rlast, mp);
	}
	return q->q_rfirst;
}

mblk_t *
hq_first(struct slot *me, queue_t *q)
{
	LOCK_HELD(&q->q_rlock);
	if (likely(q->q_rfirst != NULL && ld_seq(&q->q_urgent) == 0))
		return q->q_rfirst;
	return take(me, q);
}

void
hq_shift(queue_t *q, mblk_t *mp)
{
	LOCK_HELD(&q->q_rlock);
	ASSERT(q->q_rfirst == mp);
	ASSERT(mp->b_prev == NULL);
	EQUIV(mp->b_next == NULL, q->q_rlast == mp);
	st_rlx(&q->q_rfirst, mp->b_next);
	if (mp->b_next != NULL)
		mp->b_next->b_prev = NULL;
	else
		q->q_rlast = NULL;
	mp->b_next = NULL;
}

void
hq_replace(queue_t *q, mblk_t *mp, mblk_t *rest)
{
	LOCK_HELD(&q->q_rlock);
	ASSERT(q->q_rfirst == mp);
	ASSERT(rest != mp && rest != NULL);
	EQUIV(mp->b_next == NULL, q->q_rlast == mp);
	rest->b_band = mp->b_band;
	rest->b_flag = mp->b_flag;
	rest->b_next = mp->b_next;
	rest->b_prev = NULL;
	if (mp->b_next != NULL)
		mp->b_next->b_prev = rest;
	else
		q->q_rlast = rest;
	st_rlx(&q->q_rfirst, rest);
	mp->b_next = NULL;
}

/* F5, F6 for band 0. */
static void
want_room(queue_t *q)
{
	size_t bytes = ld_acq(&q->q_putb) - q->q_gotb;
	size_t blocks = ld_acq(&q->q_putn) - q->q_gotn;

	LOCK_HELD(&q->q_rlock);
	ASSERT((ssize_t)bytes >= 0 && (ssize_t)blocks >= 0); /* flow.h, invariant 3 */
	if (flow_low(bytes, blocks, ld_rlx(&q->q_lowat)) &&
	    (f_and(&q->q_want, ~(uint32_t)WANT_ROOM) & WANT_ROOM))
		flow_backenable(q);
}

/* What is first has changed, and somebody minds. */
static void
front_changed(struct slot *me, queue_t *q, uint32_t want)
{
	LOCK_HELD(&q->q_rlock);
	if (want & WANT_SIG)
		sig_front(me, q->q_stream);
	if (want & WANT_LEVEL)
		head_event(q->q_stream, S_TAKEN, 0);
}

static NOINLINE void
wanted(struct slot *me, queue_t *q, uint32_t want, const mblk_t *mp, size_t bytes)
{
	LOCK_HELD(&q->q_rlock);
	if (want & WANT_TRACE)
		qtrace_got(q, mp, bytes);
	if (want & WANT_ROOM)
		want_room(q);
	if (want & (WANT_SIG | WANT_LEVEL))
		front_changed(me, q, want);
}

/* Count out a message of band > 0: what is wanted now, but for the room. */
static NOINLINE uint32_t
got_band(struct slot *me, queue_t *q, unsigned int class, size_t bytes, size_t blocks)
{
	qband_t *qb;
	bool due;

	lock_enter(me, &q->q_lock, RANK_QUEUE);
	qb = band_find(q, class);
	ASSERT(qb != NULL); /* else it is MSG_UNCOUNTED */
	/* Salvage forgets the counts of a broken queue, and the reader may have some of it. */
	if (ld_rlx(&q->q_stream->sd_state) & SD_DAMAGED) {
		bytes = bytes < qb->qb_count ? bytes : qb->qb_count;
		blocks = blocks < qb->qb_blocks ? blocks : qb->qb_blocks;
	}
	due = band_sub(qb, bytes, blocks);
	lock_leave(me, &q->q_lock);
	if (due)
		flow_backenable(q);
	return ld_seq(&q->q_want) & ~(uint32_t)WANT_ROOM;
}

/* Count out any other: what is wanted now. */
INLINE uint32_t
got_normal(queue_t *q, unsigned int class, size_t bytes, size_t blocks)
{
	LOCK_HELD(&q->q_rlock);
	IMPLY(class == 0, q->q_gotn + blocks <= ld_acq(&q->q_putn)); /* flow.h, invariant 3 */
	st_rel(&q->q_gotb, q->q_gotb + bytes);
	JITTER();
	(void)xchg(&q->q_gotn, q->q_gotn + blocks); /* F4 */
	JITTER();
	return ld_seq(&q->q_want); /* F5 */
}

INLINE bool
banded(unsigned int class)
{
	ASSERT(class <= 256);
	return class != 0 && class != 256;
}

INLINE uint32_t
count_out(struct slot *me, queue_t *q, unsigned int class, size_t bytes, size_t blocks)
{
	return banded(class) ? got_band(me, q, class, bytes, blocks) :
		got_normal(q, class, bytes, blocks);
}

static NOINLINE void
got_banded(struct slot *me, queue_t *q, const mblk_t *mp, unsigned int class, size_t bytes,
	size_t blocks)
{
	uint32_t want = got_band(me, q, class, bytes, blocks);

	if (want != 0)
		wanted(me, q, want, mp, bytes);
}

/* Nothing but calls that are the last thing, so that nothing has to be saved. */
void
hq_got(struct slot *me, queue_t *q, const mblk_t *mp, unsigned int class, size_t bytes,
	size_t blocks)
{
	uint32_t want;

	if (unlikely(banded(class))) {
		got_banded(me, q, mp, class, bytes, blocks);
		return;
	}
	want = got_normal(q, class, bytes, blocks);
	if (unlikely(want != 0))
		wanted(me, q, want, mp, bytes);
}

void
hq_drop(struct slot *me, queue_t *q, mblk_t *mp)
{
	unsigned int class = hq_class(mp);
	size_t bytes, blocks;
	uint32_t want;

	hq_shift(q, mp);
	msg_weigh(mp, &bytes, &blocks);
	want = count_out(me, q, class, bytes, blocks);
	if (want & (WANT_ROOM | WANT_TRACE))
		wanted(me, q, want & (WANT_ROOM | WANT_TRACE), mp, bytes);
}

/* In the reader's list, before the first that is not more urgent. */
static void
link_front(queue_t *q, mblk_t *mp)
{
	mblk_t *at = q->q_rfirst;

	LOCK_HELD(&q->q_rlock);
	while (at != NULL && queue_class(at) > queue_class(mp))
		at = at->b_next;
	mp->b_next = at;
	mp->b_prev = at != NULL ? at->b_prev : q->q_rlast;
	if (mp->b_prev != NULL)
		mp->b_prev->b_next = mp;
	else
		st_rlx(&q->q_rfirst, mp);
	if (at != NULL)
		at->b_prev = mp;
	else
		q->q_rlast = mp;
}

void
hq_unget(struct slot *me, struct stdata *sd, mblk_t *mp)
{
	queue_t *q = sd->sd_rq;
	unsigned int class = queue_class(mp);
	size_t bytes, blocks;
	qband_t *qb;

	msg_weigh(mp, &bytes, &blocks);
	hq_lock(me, q);
	(void)take(me, q);
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	qb = class == 256 ? NULL : band_find(q, class);
	if (qb != NULL)
		band_add(qb, bytes, blocks);
	else
		total_in(q, bytes, blocks);
	if (qb == NULL && class != 0 && class != 256)
		mp->b_flag |= MSG_UNCOUNTED; /* as it was: there is no memory for the band */
	lock_leave(me, &q->q_lock);
	if (ld_rlx(&q->q_tap) != 0)
		qtrace(q, USTR_EV_BACK, mp);
	link_front(q, mp);
	hq_unlock(me, q);
	wait_wake(&sd->sd_rwait);
}

/* ---- looking and flushing ------------------------------------------------------------------ */

size_t
hq_count(struct slot *me, queue_t *q)
{
	size_t n = 0;

	LOCK_HELD(&q->q_rlock);
	(void)hq_first(me, q);
	take(me, q);
	for (mblk_t *mp = q->q_rfirst; mp != NULL; mp = mp->b_next)
		n++;
	return n;
}

void
hq_flush(struct stdata *sd, int flag, int band)
{
	struct slot *me = slot_self();
	queue_t *q = sd->sd_rq;
	mblk_t *mp, *next, *gone = NULL;

	if (me == NULL)
		return;
	hq_lock(me, q);
	take(me, q);
	for (mp = q->q_rfirst; mp != NULL; mp = next) {
		unsigned int class = hq_class(mp);
		size_t bytes, blocks;
		uint32_t want;

		next = mp->b_next;
		if ((band >= 0 && (int)queue_class(mp) % 256 != band) ||
		    (flag == FLUSHDATA && !datamsg(msg_type(mp))))
			continue;
		queue_unlink(&q->q_rfirst, &q->q_rlast, mp);
		if (msg_type(mp) == M_PCPROTO)
			st_rel(&sd->sd_pcproto, 0u);
		else if (msg_type(mp) == M_SIG)
			sd->sd_msigs -= sd->sd_msigs > 0;
		msg_weigh(mp, &bytes, &blocks);
		want = count_out(me, q, class, bytes, blocks);
		if (want & WANT_TRACE)
			qtrace(q, USTR_EV_FLUSH, mp);
		if (want & WANT_ROOM)
			want_room(q);
		mp->b_next = gone;
		gone = mp;
	}
	front_changed(me, q, ld_seq(&q->q_want));
	hq_unlock(me, q);
	for (; gone != NULL; gone = next) {
		next = gone->b_next;
		gone->b_next = NULL;
		freemsg(gone);
	}
}

void
hq_remark(queue_t *q)
{
	ASSERT(q->q_kind & QK_HEADR);
	if (f_and(&q->q_want, ~(uint32_t)WANT_ROOM) & WANT_ROOM)
		flow_backenable(q);
}
