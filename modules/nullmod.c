/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nullmod.c: the module that does nothing, written to be copied.
 *
 * It passes every message on in both directions.  Copy this file, rename
 * nullmod_, and fill in what your module does where the comments say so.
 *
 * A module has, per push, a queue pair: messages going down to the driver (or
 * across a pipe) enter through the put procedure of the write queue, messages
 * going up to the stream head through that of the read queue.  Either passes
 * on with putnext(), answers with qreply(), keeps with putq(), or frees.
 *
 * Rules that every module lives by:
 *   - a put procedure never blocks, and owns the message it is given;
 *   - M_FLUSH is obeyed and passed on; messages not understood are passed on;
 *   - high-priority messages are passed on at once, never queued;
 *   - who queues, asks canputnext() first, and has a service procedure.
 */

/* Modules include <sys/...> headers, and of libc what has no state. */
#include <errno.h>
#include <sys/ddi.h>
#include <sys/stream.h>

/*
 * What one push of the module knows.  Memory from kmem_alloc() is seen by all
 * processes that share the stream; memory from malloc() is not.
 */
struct nullmod {
	unsigned long nm_passed[2]; /* messages passed: down, up */
};

static int nullmod_open(queue_t *, dev_t *, int, int, cred_t *);
static int nullmod_close(queue_t *, int, cred_t *);
static int nullmod_rput(queue_t *, mblk_t *);
static int nullmod_wput(queue_t *, mblk_t *);

/*
 * Number, name, packet sizes (smallest, largest: INFPSZ is no limit), high and
 * low water mark of its queues in bytes.
 */
static struct module_info nullmod_info = { 1004, "nullmod", 0, INFPSZ, 65536, 8192 };

/* Put, service, open, close, admin, info, statistics.  Open and close: read side. */
static struct qinit nullmod_rinit = { nullmod_rput, NULL, nullmod_open, nullmod_close, NULL,
	&nullmod_info, NULL };
static struct qinit nullmod_winit = { nullmod_wput, NULL, NULL, NULL, NULL, &nullmod_info, NULL };

/* What ustr_register_module("nullmod", &nullmodinfo, D_MP) is given. */
extern struct streamtab nullmodinfo;
struct streamtab nullmodinfo = { &nullmod_rinit, &nullmod_winit, NULL, NULL };

/*
 * Called by I_PUSH, and again when a stream with the module on it is opened
 * once more (then q_ptr is set).  q is the read queue.  Returns 0 or an errno,
 * and then the push fails and nothing remains.  Messages arrive from
 * qprocson() on, so the state is ready before it.
 */
static int
nullmod_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)devp, (void)oflag, (void)sflag, (void)crp;
	if (q->q_ptr != NULL)
		return 0;
	q->q_ptr = kmem_zalloc(sizeof(struct nullmod), KM_SLEEP);
	if (q->q_ptr == NULL)
		return ENOMEM;
	WR(q)->q_ptr = q->q_ptr;
	qprocson(q);
	return 0;
}

/* Called by I_POP and by the last close.  After qprocsoff() nothing arrives. */
static int
nullmod_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	qprocsoff(q);
	kmem_free(q->q_ptr, sizeof(struct nullmod));
	q->q_ptr = WR(q)->q_ptr = NULL;
	return 0;
}

/*
 * D_MP: both procedures may run in several threads at once, so what they share
 * is counted atomically.  With D_MTQPAIR instead the framework would let one
 * thread in at a time, and plain ++ would do.
 */
static void
count(queue_t *q, int way)
{
	struct nullmod *nm = q->q_ptr;

	__atomic_fetch_add(&nm->nm_passed[way], 1, __ATOMIC_RELAXED);
}

/* Going up.  A real module looks at mp->b_datap->db_type here. */
static int
nullmod_rput(queue_t *q, mblk_t *mp)
{
	count(q, 1);
	putnext(q, mp);
	return 0;
}

/* Going down. */
static int
nullmod_wput(queue_t *q, mblk_t *mp)
{
	count(q, 0);
	putnext(q, mp);
	return 0;
}
