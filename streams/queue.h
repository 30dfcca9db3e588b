/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.h: queues and their bands.
 *
 * Level 6.  queue_t is public (<sys/stream.h>); here is how its lines are
 * shared out, and what of it modules do not see.
 *
 *   line 0  the way ahead      read by every put; written under plumbing
 *   line 1  the putting side   q_lock, the list, totals put
 *   line 2  the getting side   (stream-head read queue) totals got, reader's list
 *   line 3  counts and limits  exact counts of module queues, water marks, bands
 *   line 4  waiting to run     parked messages, run list
 *
 * A module's or driver's queue keeps exact counts under q_lock (putq, getq).
 * A stream head's read queue is written by the peer's CPU and read by ours, so
 * it counts with two totals instead: see head_queue.h.
 */
#ifndef STREAMS_QUEUE_H
#define STREAMS_QUEUE_H

#include "lock.h"
#include "msg.h"

/* q_kind */
#define QK_READ 0x01	/* read side of its pair; RD() and WR() look here */
#define QK_SRV 0x02	/* has a service procedure */
#define QK_HEADR 0x04	/* a stream head's read queue */
#define QK_HEADW 0x08	/* a stream head's write queue */
#define QK_DRIVER 0x10	/* a driver's */
#define QK_DEADEND 0x20	/* swallows everything: below a closed stream */
#define QK_PERIM 0x40	/* a perimeter lies between here and q_nfsrv */

#define QIDX_TRACED 1028 /* q_qidx while puts are recorded (putnext.h) */

/*
 * Of a module's or driver's read queue: its close routine was not called yet; it was,
 * which is done once; it came back, or else who called it was killed in it.
 */
#define q_closing q_spare2[0]
enum { CLOSE_NOT, CLOSE_CALLED, CLOSE_DONE };

#define CLASS_PAIR 15	/* cache of queue pairs */

_Static_assert(offsetof(queue_t, q_lock) == LINE * 1, "putting side on line 1");
_Static_assert(offsetof(queue_t, q_gotb) == LINE * 2, "getting side on line 2");
_Static_assert(offsetof(queue_t, q_count) == LINE * 3, "counts on line 3");
_Static_assert(offsetof(queue_t, q_plock) == LINE * 4, "parking on line 4");
_Static_assert(sizeof(queue_t) == LINE * 5, "five lines");
_Static_assert(sizeof(qband_t) == LINE, "a band is a line");

/* What a registered module gives its queues; lies in the arena. */
struct queue_tables {
	struct qinit *qt_rd;	/* C  arena copies without procedures */
	struct qinit *qt_wr;	/* C */
	uint32_t qt_idx;	/* C  index of the read side's procedures; write: + 1 */
	bool qt_rdsrv;		/* C  is there a service procedure? */
	bool qt_wrsrv;		/* C */
};

/* Set up the cache of queue pairs in this process. */
void queue_init_classes(void);
/* A pair, read side first, both empty; NULL without memory. */
queue_t *queue_alloc(void);
/* Give both queues their tables, limits and kind (QK_DRIVER, QK_DEADEND or 0). */
void queue_setup(queue_t *rq, const struct queue_tables *qt, uint32_t kind);
/* Everything the pair still holds is freed, then the pair. */
void queue_free(queue_t *rq);
/* Empty both queues and drop their bands. */
void queue_drain(queue_t *rq);
/* Lists in order, counts true, bands true: debug level 3. */
bool queue_valid(queue_t *q);

/* Bands 1..n exist afterwards, or false.  Takes q_lock. */
bool band_reserve(queue_t *q, unsigned int n);
/* The band, or NULL if it was never used.  Under q_lock. */
qband_t *band_find(queue_t *q, unsigned int n);
void band_freeall(queue_t *q);
/* Count a message in or out of its band; true if a back-enable is due. */
void band_add(qband_t *qb, size_t bytes, size_t blocks);
bool band_sub(qband_t *qb, size_t bytes, size_t blocks);

/* Flags are read without the lock, so they are written whole. */
INLINE void
queue_set(queue_t *q, unsigned int flags)
{
	LOCK_HELD(&q->q_lock);
	st_rlx(&q->q_flag, q->q_flag | flags);
}

INLINE void
queue_clear(queue_t *q, unsigned int flags)
{
	LOCK_HELD(&q->q_lock);
	st_rlx(&q->q_flag, q->q_flag & ~flags);
}

/* Where a message belongs: high priority before all bands. */
INLINE unsigned int
queue_class(const mblk_t *mp)
{
	return msg_ispri(mp) ? 256 : mp->b_band;
}

/*
 * Link a message into a list ordered by class, behind its equals; the way
 * stream heads and module queues agree on order.
 */
void queue_link(mblk_t **first, mblk_t **last, mblk_t *mp);
void queue_unlink(mblk_t **first, mblk_t **last, mblk_t *mp);
/* mp is on no list any more, though who put it there does not know: rmvq. */
void queue_lost(mblk_t *mp);

#endif
