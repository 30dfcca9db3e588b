/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nuls.c: the null STREAMS driver: swallows what is written, has nothing to
 * read.  Flush requests are obeyed and ioctls refused, as every driver must.
 */
#include <errno.h>
#include <sys/ddi.h>
#include <sys/stream.h>

static int nuls_open(queue_t *, dev_t *, int, int, cred_t *);
static int nuls_close(queue_t *, int, cred_t *);
static int nuls_wput(queue_t *, mblk_t *);

static struct module_info nuls_info = { 1005, "nuls", 0, INFPSZ, 65536, 8192 };
static struct qinit nuls_rinit = { NULL, NULL, nuls_open, nuls_close, NULL, &nuls_info, NULL };
static struct qinit nuls_winit = { nuls_wput, NULL, NULL, NULL, NULL, &nuls_info, NULL };

extern struct streamtab nulsinfo;
struct streamtab nulsinfo = { &nuls_rinit, &nuls_winit, NULL, NULL };

static int
nuls_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)devp, (void)oflag, (void)crp;
	if (sflag & MODOPEN)
		return EINVAL;
	qprocson(q);
	return 0;
}

static int
nuls_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	qprocsoff(q);
	return 0;
}

static void
nuls_flush(queue_t *q, mblk_t *mp)
{
	if (mp->b_wptr > mp->b_rptr && (*mp->b_rptr & FLUSHR)) {
		*mp->b_rptr &= (unsigned char)~FLUSHW;
		qreply(q, mp);
	} else {
		freemsg(mp);
	}
}

static int
nuls_wput(queue_t *q, mblk_t *mp)
{
	switch (mp->b_datap->db_type) {
	case M_FLUSH:
		nuls_flush(q, mp);
		break;
	case M_IOCTL:
		mp->b_datap->db_type = M_IOCNAK; /* error 0: EINVAL to who asked */
		qreply(q, mp);
		break;
	default: /* data, and M_READ, to which there is nothing to say */
		freemsg(mp);
	}
	return 0;
}
