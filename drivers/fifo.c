/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fifo.c: the FIFO: a stream head welded to itself.
 *
 *   write queue ──► modules ──► (turn) ──► modules ──► read queue
 *
 * Nothing lies below: what is written goes down through the modules pushed on
 * the FIFO, turns round, and comes up through their read sides to the queue
 * that every reader of the FIFO reads.  Opening, the counts of readers and
 * writers and their meeting are the stream head's business, because they
 * depend on the access mode of each open; it makes the head and asks
 * fifo_join() to weld it.
 */
#include <errno.h>
#include <sys/stream.h>
#include <sys/strsubr.h>

static int fifo_open(queue_t *, dev_t *, int, int, cred_t *);
static int fifo_put(queue_t *, mblk_t *);

static struct module_info fifo_info = { 1003, "fifo", 0, INFPSZ, 65536, 8192 };
static struct qinit fifo_rinit = { NULL, NULL, fifo_open, NULL, NULL, &fifo_info, NULL };
static struct qinit fifo_winit = { fifo_put, NULL, NULL, NULL, NULL, &fifo_info, NULL };

extern struct streamtab fifoinfo;
struct streamtab fifoinfo = { &fifo_rinit, &fifo_winit, NULL, NULL };

void
fifo_join(queue_t *q)
{
	strweld(q, q);
}

static int
fifo_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)q, (void)devp, (void)oflag, (void)sflag, (void)crp;
	return ENXIO;
}

static int
fifo_put(queue_t *q, mblk_t *mp)
{
	(void)q;
	freemsg(mp);
	return 0;
}
