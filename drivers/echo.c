/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * echo.c: the queueing loop-back driver: what is written comes back.
 *
 *   head      write ──► wput: putq ──► wsrv ──► read queue: putq ──► rsrv ──► head
 *
 * Messages are queued twice, once each way, so the driver shows what service
 * procedures and flow control do: with a reader that does not read, the head
 * fills, then the driver's read queue, then its write queue, then the writer
 * is refused.  Water marks are small (5120/1024 bytes) so that this is soon.
 *
 * Blocked going up, rsrv puts the message back and returns; the stream head's
 * back-enable runs it again.  Blocked between the two queues, wsrv does the
 * same; nothing lies behind a driver's read queue for getq() to back-enable,
 * so rsrv, having made room, enables the write queue itself.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/ddi.h>
#include <sys/stream.h>

#define ECHO_HIWAT 5120 /* bytes */
#define ECHO_LOWAT 1024

static int echo_open(queue_t *, dev_t *, int, int, cred_t *);
static int echo_close(queue_t *, int, cred_t *);
static int echo_wput(queue_t *, mblk_t *);
static int echo_wsrv(queue_t *);
static int echo_rsrv(queue_t *);

static struct module_info echo_info = { 1002, "echo", 0, INFPSZ, ECHO_HIWAT, ECHO_LOWAT };
static struct qinit echo_rinit = { NULL, echo_rsrv, echo_open, echo_close, NULL, &echo_info,
	NULL };
static struct qinit echo_winit = { echo_wput, echo_wsrv, NULL, NULL, NULL, &echo_info, NULL };

extern struct streamtab echoinfo;
struct streamtab echoinfo = { &echo_rinit, &echo_winit, NULL, NULL };

static int
echo_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)devp, (void)oflag, (void)crp;
	if (sflag & MODOPEN)
		return EINVAL;
	qprocson(q);
	return 0;
}

static int
echo_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	qprocsoff(q);
	return 0;
}

/* One side of an M_FLUSH: all of it, or one band. */
static void
echo_flushside(queue_t *q, const mblk_t *mp)
{
	if ((*mp->b_rptr & FLUSHBAND) && mp->b_wptr - mp->b_rptr > 1)
		flushband(q, mp->b_rptr[1], FLUSHDATA);
	else
		flushq(q, FLUSHDATA);
}

/* The canonical treatment: our queues, then back up for the read side. */
static void
echo_flush(queue_t *q, mblk_t *mp)
{
	if (mp->b_wptr == mp->b_rptr) {
		freemsg(mp);
		return;
	}
	if (*mp->b_rptr & FLUSHW)
		echo_flushside(q, mp);
	if (*mp->b_rptr & FLUSHR) {
		echo_flushside(RD(q), mp);
		qenable(q); /* it may have waited for room there */
		*mp->b_rptr &= (unsigned char)~FLUSHW;
		qreply(q, mp);
	} else {
		freemsg(mp);
	}
}

static int
echo_wput(queue_t *q, mblk_t *mp)
{
	switch (mp->b_datap->db_type) {
	case M_FLUSH:
		echo_flush(q, mp);
		break;
	case M_IOCTL:
		mp->b_datap->db_type = M_IOCNAK; /* error 0: EINVAL to who asked */
		qreply(q, mp);
		break;
	case M_IOCDATA: /* answers nothing we asked */
	case M_READ:	/* what there is goes up by itself */
		freemsg(mp);
		break;
	default:
		if (mp->b_datap->db_type >= QPCTL)
			qreply(q, mp); /* high priority is never queued */
		else if (!putq(q, mp))
			freemsg(mp); /* no memory for its band */
	}
	return 0;
}

/* From the write queue to the read queue, as far as there is room. */
static int
echo_wsrv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		if (!bcanput(RD(q), mp->b_band)) {
			putbq(q, mp);
			return 0;
		}
		if (!putq(RD(q), mp)) {
			putbq(q, mp); /* no memory for its band: later */
			return 0;
		}
	}
	return 0;
}

/* From the read queue to the stream head; then the write queue may go on. */
static int
echo_rsrv(queue_t *q)
{
	bool moved = false;
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		if (!bcanputnext(q, mp->b_band)) {
			putbq(q, mp);
			break;
		}
		putnext(q, mp);
		moved = true;
	}
	if (moved && qsize(WR(q)) > 0)
		qenable(WR(q));
	return 0;
}
