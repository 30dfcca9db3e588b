/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * testmod.c: makes a stream do, on demand, whatever a test wants to see.
 *
 * It passes everything on, notes what passed, and carries out the commands of
 * <sys/testmod.h>: sends messages of any type up or down, hangs the stream up,
 * answers ioctls late, wrongly or not at all, holds dialogues of M_COPYIN and
 * M_COPYOUT, and stops passing on, so that flow control shows.
 *
 *   M_IOCTL ─► is it ours? ─no─► passed on
 *                 │yes
 *                 ▼ commands[]: each consumes the message by ack, nak, keep
 *
 *   TM_COPYINOUT (transparent)
 *     M_IOCTL ──► M_COPYIN up ──► M_IOCDATA ──► M_COPYOUT up ──► M_IOCDATA ──► M_IOCACK
 *
 * D_MTQPAIR: one thread at a time is in a pair, its timeouts included, so the
 * state needs no lock.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/ddi.h>
#include <sys/keeps.h>
#include <sys/stream.h>
#include <sys/testmod.h>

#define TESTMOD_HIWAT 1024 /* bytes: small, so that it is soon full */
#define TESTMOD_LOWAT 256
#define SEEN 64	 /* messages remembered */
#define LAST 64	 /* bytes of the last one */
#define DROPS 16 /* types */

enum { UP, DOWN };

struct testmod {
	queue_t *tm_q;			/* C  write queue */
	int tm_stopped;			/* P  TM_STOPR, TM_STOPW */
	mblk_t *tm_kept;		/* P  ioctl of TM_MUTE */
	mblk_t *tm_late;		/* P  ioctl of TM_DELAY */
	timeout_id_t tm_timer;		/* P  for tm_late, or 0 */
	unsigned int tm_id;		/* P  the dialogue's ioctl */
	size_t tm_size;			/* P  bytes it copies */
	caddr_t tm_addr;		/* P  where */
	mblk_t *tm_copied;		/* P  what was last copied in */
	int tm_copyerr;			/* P  errno of a copy that failed */
	unsigned int tm_ndrops;		/* P */
	unsigned char tm_drop[DROPS];	/* P  types freed on their way down */
	unsigned int tm_nseen[2];	/* P  UP, DOWN */
	unsigned char tm_seen[2][SEEN]; /* P  types */
	size_t tm_nlast;		/* P */
	unsigned char tm_last[LAST];	/* P  of the last message down */
};

static int testmod_open(queue_t *, dev_t *, int, int, cred_t *);
static int testmod_close(queue_t *, int, cred_t *);
static int testmod_rput(queue_t *, mblk_t *);
static int testmod_wput(queue_t *, mblk_t *);
static int testmod_rsrv(queue_t *);
static int testmod_wsrv(queue_t *);

static struct module_info testmod_info = {
    1006, "testmod", 0, INFPSZ, TESTMOD_HIWAT, TESTMOD_LOWAT};
static struct qinit testmod_rinit = {
    testmod_rput, testmod_rsrv, testmod_open, testmod_close, NULL, &testmod_info, NULL};
static struct qinit testmod_winit = {
    testmod_wput, testmod_wsrv, NULL, NULL, NULL, &testmod_info, NULL};

const struct keeps testmodkeeps[KEEP_KINDS] = {[KEEP_OF_PAIR] = {sizeof(struct testmod),
    {{offsetof(struct testmod, tm_q), KEEP_QUEUE}, {offsetof(struct testmod, tm_kept), KEEP_MSG},
	{offsetof(struct testmod, tm_late), KEEP_MSG},
	{offsetof(struct testmod, tm_copied), KEEP_MSG}}}};

extern struct streamtab testmodinfo;
struct streamtab testmodinfo = {&testmod_rinit, &testmod_winit, NULL, NULL};

static int
testmod_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	struct testmod *tm;

	(void)devp, (void)oflag, (void)sflag, (void)crp;
	if (q->q_ptr != NULL)
		return 0;
	tm = kmem_zalloc(sizeof(*tm), KM_SLEEP);
	if (tm == NULL)
		return ENOMEM;
	tm->tm_q = WR(q);
	q->q_ptr = WR(q)->q_ptr = tm;
	qprocson(q);
	return 0;
}

static int
testmod_close(queue_t *q, int flag, cred_t *crp)
{
	struct testmod *tm = q->q_ptr;

	(void)flag, (void)crp;
	qprocsoff(q); /* the timer is cancelled with it */
	freemsg(tm->tm_kept);
	freemsg(tm->tm_late);
	freemsg(tm->tm_copied);
	kmem_free(tm, sizeof(*tm));
	q->q_ptr = WR(q)->q_ptr = NULL;
	return 0;
}

/* ---- parameters and answers ----------------------------------------------------------- */

static struct iocblk *
ioc_of(mblk_t *mp)
{
	return (struct iocblk *)(void *)mp->b_rptr;
}

/* The ioctl's data, in one block, and its length. */
static const unsigned char *
params(mblk_t *mp, size_t *n)
{
	*n = 0;
	if (mp->b_cont == NULL || ioc_of(mp)->ioc_count == TRANSPARENT ||
	    !pullupmsg(mp->b_cont, -1))
		return NULL;
	*n = (size_t)(mp->b_cont->b_wptr - mp->b_cont->b_rptr);
	return mp->b_cont->b_rptr;
}

/* Copy the first n bytes of data to *to; what is not given is 0.  Dropped from the data. */
static void
take(mblk_t *mp, void *to, size_t n)
{
	size_t have;
	const unsigned char *p = params(mp, &have);

	memset(to, 0, n);
	if (have > n)
		have = n;
	if (have == 0)
		return;
	memcpy(to, p, have);
	mp->b_cont->b_rptr += have;
}

static int
take_int(mblk_t *mp)
{
	int n;

	take(mp, &n, sizeof(n));
	return n;
}

/* The answer: what is left of its data goes back. */
static void
answer(queue_t *q, mblk_t *mp, unsigned char type, int rval, int error)
{
	struct iocblk *ioc = ioc_of(mp);

	mp->b_datap->db_type = type;
	ioc->ioc_rval = rval;
	ioc->ioc_error = error;
	ioc->ioc_count = mp->b_cont != NULL && type == M_IOCACK && error == 0
	    ? msgdsize(mp->b_cont)
	    : 0;
	qreply(q, mp);
}

static void
ack(queue_t *q, mblk_t *mp, int rval)
{
	answer(q, mp, M_IOCACK, rval, 0);
}

static void
nak(queue_t *q, mblk_t *mp, int error)
{
	answer(q, mp, M_IOCNAK, 0, error);
}

/* Acknowledge with n bytes of data instead of what came. */
static void
ack_with(queue_t *q, mblk_t *mp, const void *data, size_t n)
{
	mblk_t *bp = allocb(n, BPRI_HI);

	freemsg(unlinkb(mp));
	if (bp == NULL) {
		nak(q, mp, ENOSR);
		return;
	}
	memcpy(bp->b_wptr, data, n);
	bp->b_wptr += n;
	mp->b_cont = bp;
	ack(q, mp, 0);
}

/* ---- messages ---------------------------------------------------------------------------- */

/* A block of n bytes, or NULL. */
static mblk_t *
block(unsigned char type, const unsigned char *p, size_t n)
{
	mblk_t *bp = allocb(n, BPRI_HI);

	if (bp == NULL)
		return NULL;
	bp->b_datap->db_type = type;
	if (n > 0)
		memcpy(bp->b_wptr, p, n);
	bp->b_wptr += n;
	return bp;
}

/* The message that TM_UP or TM_DOWN asks for, or NULL. */
static mblk_t *
build(const struct tm_msg *how, const unsigned char *p, size_t n)
{
	size_t first = how->tm_ctl == TM_WHOLE || how->tm_ctl > n ? n : how->tm_ctl;
	mblk_t *mp = block(how->tm_type, p, first);

	if (mp == NULL)
		return NULL;
	mp->b_band = how->tm_band;
	mp->b_flag |= how->tm_flag;
	if (first < n) {
		mp->b_cont = block(M_DATA, p + first, n - first);
		if (mp->b_cont == NULL) {
			freeb(mp);
			return NULL;
		}
	}
	return mp;
}

/* Send it, or say why not; then the ioctl is answered. */
static void
send(queue_t *to, queue_t *q, mblk_t *ioctl, mblk_t *mp)
{
	if (mp == NULL) {
		nak(q, ioctl, ENOSR);
		return;
	}
	putnext(to, mp);
	freemsg(unlinkb(ioctl));
	ack(q, ioctl, 0);
}

static void
any_message(queue_t *to, queue_t *q, mblk_t *mp)
{
	struct tm_msg how;
	const unsigned char *p;
	size_t n;

	take(mp, &how, sizeof(how));
	p = params(mp, &n);
	send(to, q, mp, build(&how, p, n));
}

static void
cmd_up(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	(void)tm;
	any_message(RD(q), q, mp);
}

static void
cmd_down(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	(void)tm;
	any_message(q, q, mp);
}

/* A message of a type of its own, with the ioctl's data as it is. */
static void
cmd_typed(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	static const unsigned char types[] = {
	    M_HANGUP, M_UNHANGUP, M_ERROR, M_SIG, M_PCSIG};
	const unsigned char *p;
	size_t n;

	(void)tm;
	p = params(mp, &n);
	send(RD(q), q, mp, block(types[ioc_of(mp)->ioc_cmd - TM_HANGUP], p, n));
}

static void
cmd_setopts(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	struct stroptions so;

	(void)tm;
	take(mp, &so, sizeof(so));
	send(RD(q), q, mp, block(M_SETOPTS, (const unsigned char *)&so, sizeof(so)));
}

/* ---- answers -------------------------------------------------------------------------------- */

static void
cmd_ack(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	(void)tm;
	ack(q, mp, take_int(mp));
}

static void
cmd_nak(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	(void)tm;
	nak(q, mp, take_int(mp));
}

static void
cmd_ackerr(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	(void)tm;
	answer(q, mp, M_IOCACK, 0, take_int(mp));
}

static void
answer_late(void *arg)
{
	struct testmod *tm = arg;
	mblk_t *mp = tm->tm_late;

	tm->tm_late = NULL;
	tm->tm_timer = 0;
	if (mp != NULL)
		cmd_ack(tm, tm->tm_q, mp);
}

static void
cmd_delay(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	int ms = take_int(mp);

	if (tm->tm_timer != 0)
		(void)quntimeout(q, tm->tm_timer);
	freemsg(tm->tm_late);
	tm->tm_late = mp;
	tm->tm_timer = qtimeout(q, answer_late, tm, drv_msectohz(ms));
	if (tm->tm_timer == 0) {
		tm->tm_late = NULL;
		nak(q, mp, ENOSR);
	}
}

static void
cmd_mute(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	(void)q;
	freemsg(tm->tm_kept);
	tm->tm_kept = mp;
}

static void
cmd_answer(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	mblk_t *kept = tm->tm_kept;

	tm->tm_kept = NULL;
	if (kept != NULL)
		ack(q, kept, 0);
	ack(q, mp, kept != NULL);
}

static void
cmd_stranger(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	mblk_t *other = copymsg(mp);

	(void)tm;
	if (other != NULL) {
		ioc_of(other)->ioc_id ^= 0x40000000;
		ack(q, other, -2);
	}
	ack(q, mp, 0);
}

static void
cmd_twice(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	mblk_t *second = copymsg(mp);

	(void)tm;
	ack(q, mp, 1);
	if (second != NULL)
		ack(q, second, 2);
}

static void
cmd_cut(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	(void)tm;
	freemsg(unlinkb(mp));
	mp->b_datap->db_type = M_IOCACK;
	mp->b_wptr = mp->b_rptr + sizeof(int);
	qreply(q, mp);
}

/* ---- dialogues --------------------------------------------------------------------------------- */

/* Turn an M_IOCTL or M_IOCDATA into a request to copy. */
static void
ask_copy(struct testmod *tm, queue_t *q, mblk_t *mp, unsigned char type, mblk_t *data)
{
	struct copyreq *cq = (struct copyreq *)(void *)mp->b_rptr;

	/* Command, credentials and id stand in the same place in all three. */
	cq->cq_addr = tm->tm_addr;
	cq->cq_size = tm->tm_size;
	cq->cq_flag = 0;
	cq->cq_private = NULL;
	mp->b_wptr = mp->b_rptr + sizeof(*cq);
	mp->b_datap->db_type = type;
	freemsg(mp->b_cont);
	mp->b_cont = data;
	qreply(q, mp);
}

/* tm_size bytes to copy out: those last copied in, each one more, or 0, 1, 2 ... */
static mblk_t *
to_copy_out(const struct testmod *tm, bool copied)
{
	mblk_t *bp = allocb(tm->tm_size, BPRI_HI);

	for (size_t i = 0; bp != NULL && i < tm->tm_size; i++)
		*bp->b_wptr++ = (unsigned char)(copied ? tm->tm_copied->b_rptr[i] + 1
						       : (int)i);
	return bp;
}

static void
copy_out(struct testmod *tm, queue_t *q, mblk_t *mp, bool copied)
{
	mblk_t *data = to_copy_out(tm, copied);

	if (data == NULL)
		nak(q, mp, ENOSR);
	else
		ask_copy(tm, q, mp, M_COPYOUT, data);
}

static void
cmd_copy(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	struct iocblk *ioc = ioc_of(mp);

	if (ioc->ioc_count != TRANSPARENT || mp->b_cont == NULL) {
		nak(q, mp, EINVAL);
		return;
	}
	tm->tm_id = ioc->ioc_id;
	tm->tm_size = (unsigned int)ioc->ioc_cmd >> 16 ? (unsigned int)ioc->ioc_cmd >> 16
						       : sizeof(long);
	memcpy(&tm->tm_addr, mp->b_cont->b_rptr, sizeof(tm->tm_addr));
	if ((ioc->ioc_cmd & 0xffff) == TM_COPYOUT)
		copy_out(tm, q, mp, false);
	else
		ask_copy(tm, q, mp, M_COPYIN, NULL);
}

/* The dialogue is over: the block, a struct copyresp, becomes the acknowledgement. */
static void
copy_done(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	struct iocblk *ioc = ioc_of(mp);

	freemsg(unlinkb(mp));
	ioc->ioc_count = 0;
	mp->b_wptr = mp->b_rptr + sizeof(*ioc);
	ack(q, mp, (int)tm->tm_size);
}

/* What was asked for was copied, or was not. */
static void
iocdata(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	struct copyresp *cp = (struct copyresp *)(void *)mp->b_rptr;
	int cmd = cp->cp_cmd & 0xffff;

	if (cp->cp_rval != 0 || cp->cp_id != tm->tm_id) {
		tm->tm_copyerr = (int)cp->cp_rval;
		freemsg(mp);
		return;
	}
	if (mp->b_cont == NULL || cmd == TM_COPYOUT) {
		copy_done(tm, q, mp);
		return;
	}
	freemsg(tm->tm_copied);
	tm->tm_copied = unlinkb(mp);
	if (cmd == TM_COPYINOUT)
		copy_out(tm, q, mp, true);
	else
		copy_done(tm, q, mp);
}

static void
cmd_copied(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	mblk_t *bp = tm->tm_copied;

	if (bp == NULL)
		ack_with(q, mp, "", 0);
	else
		ack_with(q, mp, bp->b_rptr, (size_t)(bp->b_wptr - bp->b_rptr));
}

static void
cmd_copyerr(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	ack(q, mp, tm->tm_copyerr);
	tm->tm_copyerr = 0;
}

/* ---- flow control and watching -------------------------------------------------------------------- */

static void
cmd_stop(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	tm->tm_stopped |= take_int(mp);
	ack(q, mp, tm->tm_stopped);
}

static void
cmd_go(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	tm->tm_stopped &= ~take_int(mp);
	qenable(q);
	qenable(RD(q));
	ack(q, mp, tm->tm_stopped);
}

static void
cmd_marks(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	long marks[2];
	int error;

	(void)tm;
	take(mp, marks, sizeof(marks));
	error = marks[0] < marks[1] || marks[1] < 0 ? EINVAL : 0;
	for (int i = 0; error == 0 && i < 2; i++) {
		queue_t *at = i == 0 ? q : RD(q);

		error = strqset(at, QHIWAT, 0, marks[0]);
		if (error == 0)
			error = strqset(at, QLOWAT, 0, marks[1]);
	}
	if (error != 0)
		nak(q, mp, error);
	else
		ack(q, mp, 0);
}

static void
cmd_queued(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	struct {
		int n[2];
		long bytes[2];
	} is = {{qsize(RD(q)), qsize(q)}, {(long)RD(q)->q_count, (long)q->q_count}};

	(void)tm;
	ack_with(q, mp, &is, sizeof(is));
}

static void
cmd_drop(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	size_t n;
	const unsigned char *p = params(mp, &n);

	tm->tm_ndrops = n > DROPS ? DROPS : (unsigned int)n;
	if (n > 0)
		memcpy(tm->tm_drop, p, tm->tm_ndrops);
	ack(q, mp, (int)tm->tm_ndrops);
}

static void
cmd_seen(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	int way = ioc_of(mp)->ioc_cmd == TM_SEENUP ? UP : DOWN;

	ack_with(q, mp, tm->tm_seen[way], tm->tm_nseen[way]);
	tm->tm_nseen[way] = 0;
}

static void
cmd_last(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	ack_with(q, mp, tm->tm_last, tm->tm_nlast);
}

/* Note what passes; the first SEEN messages since the last look. */
static void
note(struct testmod *tm, const mblk_t *mp, int way)
{
	if (tm->tm_nseen[way] < SEEN)
		tm->tm_seen[way][tm->tm_nseen[way]++] = mp->b_datap->db_type;
	if (way == UP || mp->b_datap->db_type == M_IOCTL ||
	    mp->b_datap->db_type == M_IOCDATA)
		return;
	tm->tm_nlast = (size_t)(mp->b_wptr - mp->b_rptr);
	if (tm->tm_nlast > LAST)
		tm->tm_nlast = LAST;
	memcpy(tm->tm_last, mp->b_rptr, tm->tm_nlast);
}

/* ---- the commands -------------------------------------------------------------------------------------- */

static const struct {
	int cmd;
	void (*run)(struct testmod *, queue_t *, mblk_t *);
} commands[] = {
    {TM_UP, cmd_up},
    {TM_DOWN, cmd_down},
    {TM_HANGUP, cmd_typed},
    {TM_UNHANGUP, cmd_typed},
    {TM_ERROR, cmd_typed},
    {TM_SIG, cmd_typed},
    {TM_PCSIG, cmd_typed},
    {TM_SETOPTS, cmd_setopts},
    {TM_ACK, cmd_ack},
    {TM_NAK, cmd_nak},
    {TM_ACKERR, cmd_ackerr},
    {TM_DELAY, cmd_delay},
    {TM_MUTE, cmd_mute},
    {TM_ANSWER, cmd_answer},
    {TM_STRANGER, cmd_stranger},
    {TM_TWICE, cmd_twice},
    {TM_CUT, cmd_cut},
    {TM_COPYIN, cmd_copy},
    {TM_COPYOUT, cmd_copy},
    {TM_COPYINOUT, cmd_copy},
    {TM_COPIED, cmd_copied},
    {TM_COPYERR, cmd_copyerr},
    {TM_STOP, cmd_stop},
    {TM_GO, cmd_go},
    {TM_MARKS, cmd_marks},
    {TM_QUEUED, cmd_queued},
    {TM_DROP, cmd_drop},
    {TM_SEEN, cmd_seen},
    {TM_SEENUP, cmd_seen},
    {TM_LAST, cmd_last},
};

/* Is it for this module?  Then it is consumed. */
static bool
command(struct testmod *tm, queue_t *q, mblk_t *mp)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].cmd != (ioc_of(mp)->ioc_cmd & 0xffff))
			continue;
		commands[i].run(tm, q, mp);
		return true;
	}
	return false;
}

/* ---- passing on ------------------------------------------------------------------------------------------- */

/* One side of an M_FLUSH: all of it, or one band. */
static void
flush(queue_t *q, const mblk_t *mp)
{
	if ((*mp->b_rptr & FLUSHBAND) && mp->b_wptr - mp->b_rptr > 1)
		flushband(q, mp->b_rptr[1], FLUSHDATA);
	else
		flushq(q, FLUSHDATA);
}

static void
flush_both(queue_t *q, const mblk_t *mp)
{
	if (mp->b_wptr == mp->b_rptr)
		return;
	if (*mp->b_rptr & FLUSHR)
		flush(RD(q), mp);
	if (*mp->b_rptr & FLUSHW)
		flush(WR(q), mp);
}

/* High priority at once; the others in their turn, as far as there is room. */
static void
pass(queue_t *q, mblk_t *mp, bool stopped)
{
	if (mp->b_datap->db_type == M_FLUSH)
		flush_both(q, mp);
	if (mp->b_datap->db_type >= QPCTL ||
	    (!stopped && q->q_first == NULL && bcanputnext(q, mp->b_band)))
		putnext(q, mp);
	else if (!putq(q, mp))
		freemsg(mp); /* no memory for its band */
}

static int
testmod_rput(queue_t *q, mblk_t *mp)
{
	struct testmod *tm = q->q_ptr;

	note(tm, mp, UP);
	pass(q, mp, (tm->tm_stopped & TM_STOPR) != 0);
	return 0;
}

static bool
dropped(const struct testmod *tm, const mblk_t *mp)
{
	for (unsigned int i = 0; i < tm->tm_ndrops; i++)
		if (tm->tm_drop[i] == mp->b_datap->db_type)
			return true;
	return false;
}

static int
testmod_wput(queue_t *q, mblk_t *mp)
{
	struct testmod *tm = q->q_ptr;
	unsigned char type = mp->b_datap->db_type;

	if (type == M_IOCTL && command(tm, q, mp))
		return 0;
	note(tm, mp, DOWN);
	if (type == M_IOCDATA &&
	    ((struct copyresp *)(void *)mp->b_rptr)->cp_id == tm->tm_id)
		iocdata(tm, q, mp);
	else if (dropped(tm, mp))
		freemsg(mp);
	else
		pass(q, mp, (tm->tm_stopped & TM_STOPW) != 0);
	return 0;
}

static int
serve(queue_t *q, int stop)
{
	struct testmod *tm = q->q_ptr;
	mblk_t *mp;

	while (!(tm->tm_stopped & stop) && (mp = getq(q)) != NULL) {
		if (mp->b_datap->db_type < QPCTL && !bcanputnext(q, mp->b_band)) {
			putbq(q, mp);
			break;
		}
		putnext(q, mp);
	}
	return 0;
}

static int
testmod_rsrv(queue_t *q)
{
	return serve(q, TM_STOPR);
}

static int
testmod_wsrv(queue_t *q)
{
	return serve(q, TM_STOPW);
}
