/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_passfp.c: I_SENDFD, I_RECVFD, and pipes made for who opens one.
 *
 * Making the message and making a descriptor of it may close and wait, so they
 * are done outside the group; in between the call enters once more.  A message
 * that was taken and could not be made a descriptor goes back to the front.
 */
#include "passfp.h"
#include "receive.h"
#include "streamio.h"

#include <sys/strsubr.h>

/* ---- sending ---------------------------------------------------------------------- */

/* The message for descriptor fd; the caller is outside.  own: its head is sd. */
static int
message_for(int fd, const struct stdata *sd, mblk_t **mpp)
{
	struct file *f = NULL;
	int error = fd_hold(fd, &f);

	if (error != 0 && error != ENOSTR)
		return error;
	if (f == NULL)
		return passfp_make(NULL, fd, mpp);
	error = f->f_head == sd ? EINVAL : passfp_make(f, -1, mpp);
	if (error != 0)
		file_putback(f, false);
	else
		file_keep();
	return error;
}

/* Is there somebody, and room with him?  0, ENXIO, EAGAIN. */
static int
sendable(struct call *c)
{
	if (ld_acq(&c->c_head->sd_state) & SD_BROKEN)
		return ENXIO;
	return bcanputnext(head_wq(c->c_head), 0) ? 0 : EAGAIN;
}

int
passfp_send(struct call *c, void *arg, int *rval)
{
	mblk_t *mp = NULL;
	int error;

	(void)rval;
	if (c->c_head->sd_kind != HEAD_PIPE)
		return EINVAL;
	plumb_exit(c->c_me);
	error = message_for(arg_int(arg), c->c_head, &mp);
	if (call_reenter(c) != 0)
		error = error != 0 ? error : EBADF;
	if (error == 0)
		error = call_access(c, ACC_HUP | ACC_WRERR);
	if (error == 0)
		error = sendable(c);
	if (error == 0)
		putnext(head_wq(c->c_head), mp);
	else
		freemsg(mp);
	return error;
}

/* ---- receiving -------------------------------------------------------------------- */

struct passing {
	struct receive ps_r;
	mblk_t *ps_mp;
};

static enum take
take_passfp(struct call *c, struct receive *r)
{
	struct passing *ps = (struct passing *)r;
	mblk_t *mp = hq_first(c->c_me, c->c_head->sd_rq);

	LOCK_HELD(&c->c_head->sd_rq->q_rlock);
	if (mp == NULL)
		return TAKE_WAIT;
	if (passfp_of(mp) == NULL) {
		r->r_error = EBADMSG;
		return TAKE_FAIL;
	}
	receive_keep(c, mp);
	ps->ps_mp = mp;
	return TAKE_DONE;
}

/* Nothing is lost if the answer cannot be given: try that first. */
static int
try_arg(void *arg)
{
	struct strrecvfd rf;
	int error = arg_take(&rf, arg, sizeof(rf));

	return error != 0 ? error : arg_put(arg, &rf, sizeof(rf));
}

int
passfp_receive(struct call *c, void *arg, int *rval)
{
	struct passing ps = { .ps_r = { .r_take = take_passfp } };
	struct strrecvfd rf = { .fd = -1 };
	int error = try_arg(arg);

	(void)rval;
	if (error == 0)
		error = head_receive(c, &ps.ps_r);
	if (error != 0 || ps.ps_r.r_eof)
		return error != 0 ? error : ENXIO;
	ASSERT(ps.ps_mp != NULL && ps.ps_mp->b_next == NULL);
	rf.uid = passfp_of(ps.ps_mp)->pa_uid;
	rf.gid = passfp_of(ps.ps_mp)->pa_gid;
	plumb_exit(c->c_me);
	error = passfp_take(ps.ps_mp, &rf.fd);
	if (call_reenter(c) == 0 && error != 0 && error != ESRCH && error != ETIME)
		hq_unget(c->c_me, c->c_head, ps.ps_mp);
	else
		freemsg(ps.ps_mp);
	return error != 0 ? error : arg_put(arg, &rf, sizeof(rf));
}
