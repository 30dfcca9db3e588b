/* SPDX-License-Identifier: BSD-2-Clause */
/* band.c: the bands of a queue: finding, making, counting. */
#include "queue.h"
#include "flow.h"
#include "heap.h"

qband_t *
band_find(queue_t *q, unsigned int n)
{
	qband_t *qb = q->q_bandp;

	LOCK_HELD(&q->q_lock);
	if (n == 0 || n > q->q_nband)
		return NULL;
	while (--n > 0)
		qb = qb->qb_next;
	return qb;
}

/* Append one band, with the queue's own water marks. */
static void
append(queue_t *q, qband_t *qb)
{
	qband_t **link = &q->q_bandp;

	LOCK_HELD(&q->q_lock);
	IMPLY(q->q_nband > 0, q->q_bandp != NULL);
	while (*link != NULL)
		link = &(*link)->qb_next;
	qb->qb_hiwat = q->q_hiwat;
	qb->qb_lowat = q->q_lowat;
	*link = qb;
	st_rel(&q->q_nband, (unsigned char)(q->q_nband + 1));
}

bool
band_reserve(queue_t *q, unsigned int n)
{
	struct slot *me = slot_self();

	ASSERT(n <= 255 && me != NULL);
	while (ld_acq(&q->q_nband) < n) {
		qband_t *qb = heap_zalloc(sizeof(*qb));

		if (qb == NULL)
			return false;
		lock_enter(me, &q->q_lock, RANK_QUEUE);
		if (q->q_nband < n) {
			append(q, qb);
			qb = NULL;
		}
		lock_leave(me, &q->q_lock);
		heap_free(qb, sizeof(*qb));
	}
	return true;
}

void
band_freeall(queue_t *q)
{
	qband_t *qb = q->q_bandp;
	unsigned int n = 0;

	for (; qb != NULL; n++) {
		qband_t *next = qb->qb_next;

		heap_free(qb, sizeof(*qb));
		qb = next;
	}
	ASSERT(n >= q->q_nband); /* more, where a thread was killed in append() */
	q->q_bandp = NULL;
	q->q_nband = 0;
}

void
band_add(qband_t *qb, size_t bytes, size_t blocks)
{
	qb->qb_count += bytes;
	qb->qb_blocks += blocks;
	ASSERT(qb->qb_count >= bytes && qb->qb_blocks >= blocks && blocks > 0);
	if (qb->qb_count >= qb->qb_hiwat || qb->qb_blocks >= qb->qb_hiwat)
		qb->qb_flag |= QB_FULL;
}

bool
band_sub(qband_t *qb, size_t bytes, size_t blocks)
{
	ASSERT(qb->qb_count >= bytes && qb->qb_blocks >= blocks);
	qb->qb_count -= bytes;
	qb->qb_blocks -= blocks;
	IMPLY(qb->qb_blocks == 0, qb->qb_count == 0);
	if (qb->qb_count < qb->qb_hiwat && qb->qb_blocks < qb->qb_hiwat)
		qb->qb_flag &= ~(unsigned int)QB_FULL;
	if (!(qb->qb_flag & QB_WANTW) || !flow_low(qb->qb_count, qb->qb_blocks, qb->qb_lowat))
		return false;
	qb->qb_flag &= ~(unsigned int)QB_WANTW;
	return true;
}
