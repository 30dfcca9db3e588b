/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipemod.c: turns flush requests round at the middle of a pipe.
 *
 * What one end of a pipe writes the other end reads, so a request to flush the
 * "write" side means, on the other side of the middle, the "read" side.  A
 * module that passes everything on, pushed on one end, exchanges the two bits
 * in every M_FLUSH that crosses; without it I_FLUSH on a pipe flushes the
 * wrong queues.  It keeps no state and needs no perimeter.
 */
#include <sys/ddi.h>
#include <sys/stream.h>

static int pipemod_open(queue_t *, dev_t *, int, int, cred_t *);
static int pipemod_close(queue_t *, int, cred_t *);
static int pipemod_put(queue_t *, mblk_t *);

static struct module_info pipemod_info = { 1003, "pipemod", 0, INFPSZ, 65536, 8192 };
static struct qinit pipemod_rinit = { pipemod_put, NULL, pipemod_open, pipemod_close, NULL,
	&pipemod_info, NULL };
static struct qinit pipemod_winit = { pipemod_put, NULL, NULL, NULL, NULL, &pipemod_info, NULL };

extern struct streamtab pipemodinfo;
struct streamtab pipemodinfo = { &pipemod_rinit, &pipemod_winit, NULL, NULL };

static int
pipemod_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)devp, (void)oflag, (void)sflag, (void)crp;
	qprocson(q);
	return 0;
}

static int
pipemod_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	qprocsoff(q);
	return 0;
}

static void
turn_round(mblk_t *mp)
{
	unsigned char how = *mp->b_rptr, turned = how & (unsigned char)~FLUSHRW;

	if (how & FLUSHR)
		turned |= FLUSHW;
	if (how & FLUSHW)
		turned |= FLUSHR;
	*mp->b_rptr = turned;
}

static int
pipemod_put(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type == M_FLUSH)
		turn_round(mp);
	putnext(q, mp);
	return 0;
}
