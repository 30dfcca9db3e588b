/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * srvmod.c: queues every message and passes it on from its service procedures.
 *
 *   put: putq ──► service: getq, bcanputnext? putnext : putbq ──► next
 *
 * It does with a stream what nullmod does, the other way that modules are
 * written: messages wait here when the next queue is full, and the water marks
 * of this module then hold up what comes behind.  It is the textbook example of
 * flow control, and the difference to nullmod is what queueing costs.
 *
 * High-priority messages are not queued: they overtake.  M_FLUSH empties the
 * queues it names and goes on.  There is no state, and putq and getq lock the
 * queue, so it needs no perimeter.
 */
#include <sys/ddi.h>
#include <sys/stream.h>

static int srvmod_open(queue_t *, dev_t *, int, int, cred_t *);
static int srvmod_close(queue_t *, int, cred_t *);
static int srvmod_put(queue_t *, mblk_t *);
static int srvmod_srv(queue_t *);

static struct module_info srvmod_info = {1005, "srvmod", 0, INFPSZ, 65536, 8192};
static struct qinit srvmod_rinit = {
    srvmod_put, srvmod_srv, srvmod_open, srvmod_close, NULL, &srvmod_info, NULL};
static struct qinit srvmod_winit = {
    srvmod_put, srvmod_srv, NULL, NULL, NULL, &srvmod_info, NULL};

extern struct streamtab srvmodinfo;
struct streamtab srvmodinfo = {&srvmod_rinit, &srvmod_winit, NULL, NULL};

static int
srvmod_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)devp, (void)oflag, (void)sflag, (void)crp;
	qprocson(q);
	return 0;
}

static int
srvmod_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	qprocsoff(q);
	return 0;
}

/* One side of an M_FLUSH: all of it, or one band. */
static void
flush_side(queue_t *q, const mblk_t *mp)
{
	if ((*mp->b_rptr & FLUSHBAND) && mp->b_wptr - mp->b_rptr > 1)
		flushband(q, mp->b_rptr[1], FLUSHDATA);
	else
		flushq(q, FLUSHDATA);
}

static void
flush(queue_t *q, const mblk_t *mp)
{
	if (mp->b_wptr == mp->b_rptr)
		return;
	if (*mp->b_rptr & FLUSHR)
		flush_side(RD(q), mp);
	if (*mp->b_rptr & FLUSHW)
		flush_side(WR(q), mp);
}

static int
srvmod_put(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type == M_FLUSH)
		flush(q, mp);
	if (mp->b_datap->db_type >= QPCTL)
		putnext(q, mp);
	else if (!putq(q, mp))
		freemsg(mp); /* no memory for its band */
	return 0;
}

static int
srvmod_srv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		if (!bcanputnext(q, mp->b_band)) {
			putbq(q, mp);
			return 0; /* the back-enable comes here again */
		}
		putnext(q, mp);
	}
	return 0;
}
