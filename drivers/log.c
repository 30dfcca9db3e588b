/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.c: the driver log: where strlog() messages are read, and programs log.
 *
 *   strlog() ──parked on──► read queue of the class's reader ──► his stream head
 *   putmsg(log_ctl, text), write(text) ──► wput ──► as strlog()
 *
 * A stream becomes the one reader of a class by I_ERRLOG, I_TRCLOG or
 * I_CONSLOG; who reads what is kept by the framework (strsubr.h).  A reader
 * that does not read loses messages, never holds anybody up, and sees it by the
 * gap in seq_no.
 *
 * D_MTPERMOD: one perimeter for all streams, because strlog() needs one that
 * outlives them.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/ddi.h>
#include <sys/log.h>
#include <sys/stream.h>
#include <sys/strsubr.h>
#include <syslog.h>

static int log_open(queue_t *, dev_t *, int, int, cred_t *);
static int log_close(queue_t *, int, cred_t *);
static int log_rput(queue_t *, mblk_t *);
static int log_wput(queue_t *, mblk_t *);

static struct module_info log_info = {LOG_MID, "log", 0, INFPSZ, 65536, 8192};
static struct qinit log_rinit = {
    log_rput, NULL, log_open, log_close, NULL, &log_info, NULL};
static struct qinit log_winit = {log_wput, NULL, NULL, NULL, NULL, &log_info, NULL};

extern struct streamtab loginfo;
struct streamtab loginfo = {&log_rinit, &log_winit, NULL, NULL};

/* q_ptr is the minor, one more. */
static int
log_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)oflag, (void)crp;
	if (sflag & MODOPEN)
		return EINVAL;
	if (q->q_ptr != NULL)
		return 0;
	q->q_ptr = WR(q)->q_ptr = (void *)((uintptr_t)getminor(*devp) + 1);
	qprocson(q);
	return 0;
}

static int
log_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	strlog_detach(q);
	qprocsoff(q);
	q->q_ptr = WR(q)->q_ptr = NULL;
	return 0;
}

/* What strlog() parked. */
static int
log_rput(queue_t *q, mblk_t *mp)
{
	if (canputnext(q))
		putnext(q, mp);
	else
		freemsg(mp);
	return 0;
}

/* ---- programs that log ----------------------------------------------------------------- */

/* The text that begins with block mp, with a NUL, as a message of ctl. */
static void
submit(queue_t *q, struct log_ctl *ctl, const mblk_t *mp)
{
	char text[LOGMSGSZ];
	size_t n = 0;

	for (; mp != NULL && n < sizeof(text) - 1; mp = mp->b_cont) {
		size_t len = (size_t)(mp->b_wptr - mp->b_rptr);

		if (len > sizeof(text) - 1 - n)
			len = sizeof(text) - 1 - n;
		memcpy(text + n, mp->b_rptr, len);
		n += len;
	}
	while (n > 0 && text[n - 1] == '\0')
		n--;
	text[n] = '\0';
	ctl->mid = LOG_MID;
	ctl->sid = (short)((uintptr_t)q->q_ptr - 1);
	(void)strlog_submit(ctl, text, n + 1);
}

/* putmsg: the control part says flags, level and priority. */
static void
log_proto(queue_t *q, mblk_t *mp)
{
	struct log_ctl ctl;

	if ((size_t)(mp->b_wptr - mp->b_rptr) == sizeof(ctl) && mp->b_cont != NULL) {
		memcpy(&ctl, mp->b_rptr, sizeof(ctl));
		submit(q, &ctl, mp->b_cont);
	}
	freemsg(mp);
}

/* write: a line for the console. */
static void
log_data(queue_t *q, mblk_t *mp)
{
	struct log_ctl ctl = {.flags = SL_CONSOLE, .pri = LOG_USER | LOG_INFO};

	submit(q, &ctl, mp);
	freemsg(mp);
}

/* ---- readers --------------------------------------------------------------------------- */

static int
attach(queue_t *q, unsigned int class, mblk_t *mp)
{
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;
	size_t n = ioc->ioc_count;

	if (class != SL_TRACE)
		return strlog_attach(RD(q), class, NULL, 0);
	if (n == TRANSPARENT || n == 0 || n % sizeof(struct trace_ids) != 0)
		return EINVAL;
	if (!pullupmsg(mp->b_cont, (ssize_t)n))
		return ENOSR;
	return strlog_attach(RD(q), class, (struct trace_ids *)(void *)mp->b_cont->b_rptr,
	    n / sizeof(struct trace_ids));
}

static void
log_ioctl(queue_t *q, mblk_t *mp)
{
	static const struct {
		int cmd;
		unsigned int class;
	} commands[] = {
	    {I_TRCLOG, SL_TRACE}, {I_ERRLOG, SL_ERROR}, {I_CONSLOG, SL_CONSOLE}};
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;
	int error = EINVAL;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].cmd == ioc->ioc_cmd)
			error = attach(q, commands[i].class, mp);
	ioc->ioc_error = error;
	ioc->ioc_rval = 0;
	ioc->ioc_count = 0;
	mp->b_datap->db_type = error == 0 ? M_IOCACK : M_IOCNAK;
	qreply(q, mp);
}

/* Nothing is queued here: only the stream head has something to flush. */
static void
log_flush(queue_t *q, mblk_t *mp)
{
	if (*mp->b_rptr & FLUSHR) {
		*mp->b_rptr &= (unsigned char)~FLUSHW;
		qreply(q, mp);
	} else {
		freemsg(mp);
	}
}

static int
log_wput(queue_t *q, mblk_t *mp)
{
	switch (mp->b_datap->db_type) {
	case M_PROTO:
		log_proto(q, mp);
		break;
	case M_DATA:
		log_data(q, mp);
		break;
	case M_IOCTL:
		log_ioctl(q, mp);
		break;
	case M_FLUSH:
		log_flush(q, mp);
		break;
	default:
		freemsg(mp);
	}
	return 0;
}
