/* SPDX-License-Identifier: BSD-2-Clause */
/* head_put.c: what a message does when it arrives at a stream head. */
#include "fd.h"
#include "flow.h"
#include "head_sig.h"

#include <errno.h>
#include <stropts.h>
#include <string.h>

typedef void arrival(struct stdata *, mblk_t *);

/* ---- queued ------------------------------------------------------------------------ */

static void
arrive_queued(struct stdata *sd, mblk_t *mp)
{
	hq_put(sd, mp);
}

/* One unread M_PCPROTO at a time: a second is freed. */
static void
arrive_pcproto(struct stdata *sd, mblk_t *mp)
{
	if (xchg(&sd->sd_pcproto, 1u) != 0)
		freemsg(mp);
	else
		hq_put(sd, mp);
}

/* ---- state --------------------------------------------------------------------------- */

static void
arrive_hangup(struct stdata *sd, mblk_t *mp)
{
	f_or(&sd->sd_state, SD_HUP);
	head_wake(sd);
	head_event(sd, S_HANGUP, 0);
	freemsg(mp);
}

static void
arrive_unhangup(struct stdata *sd, mblk_t *mp)
{
	f_and(&sd->sd_state, ~(uint32_t)SD_HUP);
	head_wake(sd);
	head_event(sd, S_CLEARED, 0);
	freemsg(mp);
}

static void
set_error(struct stdata *sd, int *errp, uint32_t flag, unsigned char error)
{
	if (error == NOERROR)
		return;
	IMPLY(flag == SD_RDERR, errp == &sd->sd_rderr);
	IMPLY(flag == SD_WRERR, errp == &sd->sd_wrerr);
	st_rel(errp, (int)error);
	if (error != 0)
		f_or(&sd->sd_state, flag);
	else
		f_and(&sd->sd_state, ~flag);
}

/* One byte: both sides; two: read, write.  Then everything below is flushed. */
static void
arrive_error(struct stdata *sd, mblk_t *mp)
{
	size_t n = (size_t)(mp->b_wptr - mp->b_rptr);
	unsigned char rd, wr;

	if (n == 0) {
		freemsg(mp);
		return;
	}
	rd = mp->b_rptr[0];
	wr = n > 1 ? mp->b_rptr[1] : rd;
	set_error(sd, &sd->sd_rderr, SD_RDERR, rd);
	set_error(sd, &sd->sd_wrerr, SD_WRERR, wr);
	head_wake(sd);
	freemsg(mp);
	if ((rd != 0 && rd != NOERROR) || (wr != 0 && wr != NOERROR)) {
		head_event(sd, S_ERROR, rd != 0 && rd != NOERROR ? rd : wr);
		(void)putnextctl1(head_wq(sd), M_FLUSH, FLUSHRW);
	} else {
		head_event(sd, S_CLEARED, 0);
	}
}

/* ---- flushing ---------------------------------------------------------------------------- */

static void
arrive_flush(struct stdata *sd, mblk_t *mp)
{
	unsigned char how = mp->b_wptr > mp->b_rptr ? *mp->b_rptr : 0;
	int band = (how & FLUSHBAND) && mp->b_wptr - mp->b_rptr > 1 ? mp->b_rptr[1] : -1;

	if (how & FLUSHR)
		hq_flush(sd, FLUSHALL, band);
	if ((how & FLUSHW) && !(mp->b_flag & MSGNOLOOP)) {
		*mp->b_rptr &= (unsigned char)~FLUSHR;
		mp->b_flag |= MSGNOLOOP;
		putnext(head_wq(sd), mp);
		return;
	}
	freemsg(mp);
}

/* ---- ioctls -------------------------------------------------------------------------------- */

/* A question for us, from the other end of a pipe: we know nothing. */
static void
arrive_ioctl(struct stdata *sd, mblk_t *mp)
{
	struct iocblk ioc;

	if ((size_t)(mp->b_wptr - mp->b_rptr) < sizeof(ioc)) {
		freemsg(mp);
		return;
	}
	memcpy(&ioc, mp->b_rptr, sizeof(ioc));
	ioc.ioc_error = EINVAL;
	ioc.ioc_rval = -1;
	ioc.ioc_count = 0;
	memcpy(mp->b_rptr, &ioc, sizeof(ioc));
	mp->b_datap->db_type = M_IOCNAK;
	freemsg(unlinkb(mp));
	putnext(head_wq(sd), mp);
}

/* ---- the table --------------------------------------------------------------------------------- */

static arrival *const arrivals[256] = {
	[M_DATA] = arrive_queued,
	[M_PROTO] = arrive_queued,
	[M_PASSFP] = arrive_queued,
	[M_PCPROTO] = arrive_pcproto,
	[M_SIG] = sig_arrive,
	[M_PCSIG] = sig_arrive_now,
	[M_HANGUP] = arrive_hangup,
	[M_UNHANGUP] = arrive_unhangup,
	[M_ERROR] = arrive_error,
	[M_FLUSH] = arrive_flush,
	[M_SETOPTS] = head_setopts,
	[M_IOCTL] = arrive_ioctl,
	[M_IOCACK] = head_answer,
	[M_IOCNAK] = head_answer,
	[M_COPYIN] = head_answer,
	[M_COPYOUT] = head_answer,
};

/* The put procedure of a stream head's read queue. */
int
head_rput(queue_t *q, mblk_t *mp)
{
	ASSERT(q == q->q_stream->sd_rq && (q->q_kind & QK_HEADR));
	arrival *arrive = arrivals[msg_type(mp)];

	if (likely(arrive == arrive_queued))
		hq_put(q->q_stream, mp);
	else if (arrive != NULL)
		arrive(q->q_stream, mp);
	else
		freemsg(mp);
	return 0;
}

/* ---- the access check ------------------------------------------------------------------------------ */

/* An error is reported once only if the stream is set so. */
static int
report(struct stdata *sd, int *errp, uint32_t flag, uint32_t once)
{
	int error = ld_acq(errp);

	if ((ld_rlx(&sd->sd_eropt) & once) && !(f_and(&sd->sd_state, ~flag) & flag))
		return 0; /* somebody else was told */
	return error;
}

int
head_trouble(struct stdata *sd, uint32_t minds, bool *sigpipe)
{
	uint32_t state = ld_acq(&sd->sd_state);
	int error;

	ASSERT(sigpipe != NULL);
	if ((state & SD_BROKEN) && (minds & ACC_PIPE)) {
		*sigpipe |= (minds & ACC_SIGPIPE) != 0;
		return EPIPE;
	}
	if (state & SD_PLEX)
		return EINVAL;
	if ((state & SD_DAMAGED) && (minds & (ACC_RDERR | ACC_WRERR)))
		return EIO;
	if ((state & SD_HUP) && (minds & ACC_HUP))
		return ENXIO;
	if ((state & SD_RDERR) && (minds & ACC_RDERR) &&
	    (error = report(sd, &sd->sd_rderr, SD_RDERR, RERRNONPERSIST)) != 0)
		return error;
	if ((state & SD_WRERR) && (minds & ACC_WRERR)) {
		error = report(sd, &sd->sd_wrerr, SD_WRERR, WERRNONPERSIST);
		*sigpipe |= error != 0 && (minds & ACC_SIGPIPE) &&
			(ld_rlx(&sd->sd_wopt) & SNDPIPE);
		return error;
	}
	return 0;
}
