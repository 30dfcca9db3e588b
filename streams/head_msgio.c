/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_msgio.c: messages by ioctl: I_GETMSG, I_PUTMSG, I_GETPMSG, I_PUTPMSG,
 * and I_FDINSERT.
 *
 * The first four are getmsg(3ustr) and its kin with the arguments in a
 * structure: struct strpeek without a band, struct strpmsg with one; what a
 * receiver is told goes back into it.
 *
 * I_FDINSERT sends a message whose control part names another stream of the
 * process: the address of the read queue at its lower end, its driver's, is
 * written into the control part at the offset given.  The other stream may
 * belong to another group, so the call leaves its own while it looks there.
 */
#include "streamio.h"

/* ---- getmsg and putmsg -------------------------------------------------------------- */

int
msgio_getmsg(struct call *c, void *arg, int *rval)
{
	struct strpeek *m = arg;

	if (!plat_judge(m, sizeof(*m)))
		return EFAULT;
	return head_getmsg(c, &m->ctlbuf, &m->databuf, NULL, (int *)(void *)&m->flags, false,
		rval);
}

int
msgio_getpmsg(struct call *c, void *arg, int *rval)
{
	struct strpmsg *m = arg;

	if (!plat_judge(m, sizeof(*m)))
		return EFAULT;
	return head_getmsg(c, &m->ctlbuf, &m->databuf, &m->band, (int *)(void *)&m->flags, true,
		rval);
}

int
msgio_putmsg(struct call *c, void *arg, int *rval)
{
	struct strpeek m;

	(void)rval;
	if (arg_take(&m, arg, sizeof(m)) != 0)
		return EFAULT;
	return head_putmsg(c, &m.ctlbuf, &m.databuf, 0, (int)m.flags, false);
}

int
msgio_putpmsg(struct call *c, void *arg, int *rval)
{
	struct strpmsg m;

	(void)rval;
	if (arg_take(&m, arg, sizeof(m)) != 0)
		return EFAULT;
	return head_putmsg(c, &m.ctlbuf, &m.databuf, m.band, (int)m.flags, true);
}

/* ---- I_FDINSERT ---------------------------------------------------------------------- */

/* The read queue at the lower end of sd. */
static queue_t *
lower_end(const struct stdata *sd)
{
	queue_t *q = head_wq(sd);

	while (q->q_next != NULL && q->q_next->q_stream == sd && q->q_next != sd->sd_rq)
		q = q->q_next;
	ASSERT(q->q_stream == sd && !(q->q_kind & QK_READ));
	return RD(q);
}

/*
 * What names the stream of descriptor fd; the call leaves its group and comes
 * back.  EINVAL: no stream; the stream's own trouble; EBADF: ours is gone.
 */
static int
name_of(struct call *c, int fd, queue_t **qp)
{
	struct call other;
	int error;

	NO_LOCK_HELD();
	plumb_exit(c->c_me);
	error = call_enter(&other, fd);
	if (error == 0) {
		error = call_access(&other, ACC_PLUMB);
		*qp = lower_end(other.c_head);
		call_leave(&other);
	} else {
		error = EINVAL;
	}
	return call_reenter(c) != 0 ? EBADF : error;
}

int
msgio_fdinsert(struct call *c, void *arg, int *rval)
{
	struct strfdinsert m;
	queue_t *q;
	int error;

	(void)rval;
	if (arg_take(&m, arg, sizeof(m)) != 0)
		return EFAULT;
	if (m.flags != 0 && m.flags != RS_HIPRI)
		return EINVAL;
	if (m.offset < 0 || (size_t)m.offset % sizeof(q) != 0 ||
	    m.ctlbuf.len < m.offset || (size_t)(m.ctlbuf.len - m.offset) < sizeof(q))
		return EINVAL;
	error = name_of(c, m.fildes, &q);
	if (error != 0)
		return error;
	return head_insertmsg(c, &m.ctlbuf, &m.databuf, (int)m.flags, &q, (size_t)m.offset);
}
