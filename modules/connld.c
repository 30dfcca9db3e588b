/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connld.c: a pipe of his own for everybody who opens an attached stream.
 *
 * Pushed on the end of a pipe that is attached to a path (fattach), it does
 * nothing to messages.  Its open routine is all: the first run is the push;
 * every other one is an open of the path, and for that it has the stream head
 * make a new pipe, one end for the opener, the other sent to the far end of
 * the attached pipe, where the server takes it by I_RECVFD.
 */
#include <errno.h>
#include <sys/ddi.h>
#include <sys/stream.h>
#include <sys/strsubr.h>

static int connld_open(queue_t *, dev_t *, int, int, cred_t *);
static int connld_close(queue_t *, int, cred_t *);
static int connld_put(queue_t *, mblk_t *);

static struct module_info connld_info = { 1006, "connld", 0, INFPSZ, 65536, 8192 };
static struct qinit connld_rinit = { connld_put, NULL, connld_open, connld_close, NULL,
	&connld_info, NULL };
static struct qinit connld_winit = { connld_put, NULL, NULL, NULL, NULL, &connld_info, NULL };

extern struct streamtab connldinfo;
struct streamtab connldinfo = { &connld_rinit, &connld_winit, NULL, NULL };

static int
connld_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)devp, (void)oflag, (void)crp;
	if (!(sflag & MODOPEN) || !strispipe(q))
		return EINVAL;
	if (q->q_ptr != NULL)
		return strconnect(q);
	q->q_ptr = WR(q)->q_ptr = q; /* pushed */
	qprocson(q);
	return 0;
}

static int
connld_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	qprocsoff(q);
	q->q_ptr = WR(q)->q_ptr = NULL;
	return 0;
}

static int
connld_put(queue_t *q, mblk_t *mp)
{
	putnext(q, mp);
	return 0;
}
