/* SPDX-License-Identifier: BSD-2-Clause */
/* flow.c: canput and back-enabling; the labels are those of flow.h. */
#include "flow.h"
#include "runq.h"

bool
flow_low(size_t bytes, size_t blocks, size_t lowat)
{
	return lowat == 0 || (bytes < lowat && blocks < lowat);
}

void
flow_backenable(queue_t *q)
{
	for (queue_t *b = backq(q); b != NULL; b = backq(b)) {
		if (b->q_kind & QK_SRV) {
			runq_enable(b); /* F6 */
			return;
		}
	}
}

/* ---- a stream head's read queue --------------------------------------------- */

/* Bytes and blocks there, by the totals got as just read into seen. */
static bool
roomy(queue_t *q, size_t gotb, size_t gotn)
{
	/* got before put: the difference cannot be negative (invariant 3) */
	size_t putb = ld_acq(&q->q_putb), putn = ld_acq(&q->q_putn);
	size_t hiwat = ld_rlx(&q->q_hiwat);

	ASSERT(q->q_kind & QK_HEADR);
	ASSERT((ssize_t)(putb - gotb) >= 0 && (ssize_t)(putn - gotn) >= 0);
	return putb - gotb < hiwat && putn - gotn < hiwat;
}

static NOINLINE bool
headroom_slow(queue_t *q)
{
	size_t gotn = ld_seq(&q->q_gotn), gotb = ld_acq(&q->q_gotb);

	st_rel(&q->q_seenb, gotb);
	st_rel(&q->q_seenn, gotn);
	if (roomy(q, gotb, gotn)) /* F1 */
		return true;
	JITTER();
	(void)f_or(&q->q_want, (uint32_t)WANT_ROOM); /* F2 */
	JITTER();
	gotn = ld_seq(&q->q_gotn); /* F3 */
	gotb = ld_acq(&q->q_gotb);
	return roomy(q, gotb, gotn);
}

bool
flow_headroom(queue_t *q)
{
	size_t seenb = ld_acq(&q->q_seenb), seenn = ld_acq(&q->q_seenn);

	return likely(roomy(q, seenb, seenn)) || headroom_slow(q);
}

/* ---- any queue --------------------------------------------------------------- */

static bool
band_room(queue_t *q, unsigned char band)
{
	struct slot *me = slot_self();
	qband_t *qb;
	bool room = true;

	if (me == NULL || ld_acq(&q->q_nband) < band)
		return true;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	qb = band_find(q, band);
	ASSERT(qb != NULL); /* bands stay */
	if (qb != NULL && (qb->qb_flag & QB_FULL)) {
		qb->qb_flag |= QB_WANTW; /* F1..F3 in one */
		room = false;
	}
	lock_leave(me, &q->q_lock);
	return room;
}

static bool
queue_room(queue_t *q)
{
	struct slot *me;
	bool room;

	ASSERT(!(q->q_kind & QK_HEADR)); /* which has no QFULL */
	if (!(ld_acq(&q->q_flag) & QFULL))
		return true;
	me = slot_self();
	if (me == NULL)
		return true;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	room = !(q->q_flag & QFULL);
	if (!room)
		queue_set(q, QWANTW); /* F1..F3 in one */
	lock_leave(me, &q->q_lock);
	return room;
}

/*
 * Messages parked between q and dest count against dest's high-water mark:
 * the same F1..F3 with q_pwant as want flag, the drainer's F4 being in
 * perim.c.
 */
static bool
parked_over(queue_t *q, const queue_t *dest)
{
	size_t bytes = 0, blocks = 0, hiwat = ld_rlx(&dest->q_hiwat);

	ASSERT(q->q_kind & QK_PERIM);
	for (;; q = q->q_next) {
		ASSERT(q == dest || q->q_next != NULL); /* q_nfsrv lies ahead: plumb_resolve */
		bytes += ld_seq(&q->q_pbytes);
		blocks += ld_seq(&q->q_pblocks);
		if (q == dest)
			return bytes >= hiwat || blocks >= hiwat;
	}
}

static NOINLINE bool
parked_room(queue_t *q, queue_t *dest)
{
	if (!parked_over(q, dest))
		return true;
	for (queue_t *at = q;; at = at->q_next) {
		(void)xchg(&at->q_pwant, 1u);
		if (at == dest)
			break;
	}
	JITTER();
	return !parked_over(q, dest);
}

void
flow_unparked(queue_t *q)
{
	size_t lowat = ld_rlx(&q->q_nfsrv->q_lowat);

	NO_LOCK_HELD();
	JITTER();
	if (ld_seq(&q->q_pwant) != 0 &&
	    flow_low(ld_seq(&q->q_pbytes), ld_seq(&q->q_pblocks), lowat) &&
	    xchg(&q->q_pwant, 0u) != 0)
		flow_backenable(q);
}

int
bcanput(queue_t *q, unsigned char band)
{
	queue_t *dest;

	if (unlikely(q == NULL))
		return 1;
	dest = q->q_nfsrv;
	IMPLY(dest != q, !(q->q_kind & QK_SRV));
	IMPLY(dest != q, (dest->q_kind & (QK_SRV | QK_DEADEND)) || dest->q_next == NULL);
	if (unlikely(q->q_kind & QK_PERIM) && !parked_room(q, dest))
		return 0;
	if (band > 0)
		return band_room(dest, band);
	return dest->q_kind & QK_HEADR ? flow_headroom(dest) : queue_room(dest);
}

int
canput(queue_t *q)
{
	return bcanput(q, 0);
}

int
canputnext(queue_t *q)
{
	return bcanput(q->q_next, 0);
}

int
bcanputnext(queue_t *q, unsigned char band)
{
	return bcanput(q->q_next, band);
}
