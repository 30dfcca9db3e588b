/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_write.c: the write path: write, writev, putmsg, putpmsg, str_putmblk.
 *
 * Every one of them: judge the arguments, wait for room, make the message,
 * putnext.  Waiting is the same for all and stands in await_room() alone.
 */
#include "calls.h"
#include "helper.h"
#include "uio.h"

#include <errno.h>
#include <string.h>

/* ---- waiting for room ------------------------------------------------------------------ */

static bool
has_room(struct call *c, void *arg)
{
	return bcanputnext(head_wq(c->c_head), *(unsigned char *)arg) ||
		(ld_seq(&c->c_head->sd_state) & SD_WRSTOP);
}

/*
 * Refused once: run what is enabled, then wait unless O_NONBLOCK.  some: a
 * part was sent already, so a signal ends the wait even with SA_RESTART.
 */
static NOINLINE int
await_room(struct call *c, unsigned char band, bool some)
{
	int error;

	NO_LOCK_HELD();
	for (;;) {
		error = call_access(c, ACC_WRITE);
		if (error != 0)
			return error;
		if (bcanputnext(head_wq(c->c_head), band))
			return 0;
		if (runq_pending(&c->c_group->g_run) && plumb_run(c->c_me, c->c_group))
			continue;
		if (!head_refused(c->c_head, band))
			return 0;
		if (call_nonblock(c)) {
			helper_needed();
			return EAGAIN;
		}
		error = call_sleep(c, &c->c_head->sd_wwait, has_room, &band,
			some ? CALL_NORESTART : -1);
		if (error != 0)
			return error;
	}
}

INLINE int
room(struct call *c, unsigned char band, bool some)
{
	if (likely(bcanputnext(head_wq(c->c_head), band)))
		return 0;
	return await_room(c, band, some);
}

static bool
writable(const struct call *c)
{
	return (ld_rlx(&c->c_file->f_flags) & O_ACCMODE) != O_RDONLY;
}

/* ---- write ---------------------------------------------------------------------------------- */

/* How long a message may be; 0: the write does not fit at all. */
static size_t
piece(const queue_t *below, size_t total)
{
	ssize_t min = ld_rlx(&below->q_minpsz), max = ld_rlx(&below->q_maxpsz);
	size_t cut = WRITE_CUT, msgsz = (size_t)ld_rlx(&head_root->hr_strmsgsz);

	ASSERT(total > 0);
	if (unlikely(min > 0 && total < (size_t)min))
		return 0;
	if (unlikely(max != INFPSZ && total > (size_t)max)) {
		if (min > 0 || max == 0)
			return 0;
		cut = (size_t)max < cut ? (size_t)max : cut;
	}
	return msgsz < cut ? msgsz : cut;
}

INLINE int
send_piece(struct call *c, struct uio *u, size_t n, unsigned short flag)
{
	size_t off = ld_rlx(&c->c_head->sd_wroff);
	mblk_t *mp = allocb(off + n, BPRI_MED);

	ASSERT(n <= u->u_left);
	if (unlikely(mp == NULL))
		return ENOSR;
	mp->b_rptr += off;
	mp->b_wptr += off + n;
	ASSERT(mp->b_wptr <= mp->b_datap->db_lim);
	if (unlikely(uio_in(u, mp->b_rptr, n) != 0)) {
		freeb(mp);
		return EFAULT;
	}
	if (flag != 0)
		mp->b_flag |= flag;
	putnext(head_wq(c->c_head), mp);
	return 0;
}

/* In checked mode: is all of it readable, before the first piece goes? */
static int
probe(const struct iovec *iov, int n)
{
	for (int i = 0; i < n; i++)
		if (!plat_readable(iov[i].iov_base, iov[i].iov_len))
			return EFAULT;
	return 0;
}

/* A write of nothing sends an empty message only where SNDZERO asks for it. */
static int
send_nothing(struct call *c, struct uio *u)
{
	int error;

	if (!(ld_rlx(&c->c_head->sd_wopt) & SNDZERO))
		return 0;
	error = room(c, 0, false);
	return error != 0 ? error : send_piece(c, u, 0, 0);
}

/* Nothing in the way: send it all; flag is the last message's. */
INLINE int
write_now(struct call *c, const struct iovec *iov, int n, struct uio *u, size_t *done,
	unsigned short flag)
{
	size_t total = u->u_left, cut;
	int error;

	hq_answering(c->c_head->sd_rq);
	if (unlikely(total == 0))
		return send_nothing(c, u);
	cut = piece(head_wq(c->c_head)->q_next, total);
	if (unlikely(cut == 0))
		return ERANGE;
	if (unlikely(plat_checked && total > cut && (error = probe(iov, n)) != 0))
		return error;
	while (*done < total) {
		size_t k = total - *done < cut ? total - *done : cut;

		error = room(c, 0, *done > 0);
		if (likely(error == 0))
			error = send_piece(c, u, k, flag != 0 && *done + k == total ? flag : 0);
		if (unlikely(error != 0))
			break;
		*done += k;
	}
	return *done > 0 ? 0 : error;
}

/* The stream is in trouble, or has options that writing minds. */
static NOINLINE int
write_odd(struct call *c, const struct iovec *iov, int n, struct uio *u, size_t *done)
{
	uint32_t state = ld_acq(&c->c_head->sd_state);
	int error = call_access(c, ACC_WRITE);

	if (error == 0)
		error = write_now(c, iov, n, u, done, state & SD_DELIM ? MSGDELIM : 0);
	return error == EAGAIN && (state & SD_NDEL) ? 0 : error;
}

int
head_write(struct call *c, const struct iovec *iov, int n, size_t *done)
{
	struct uio u;
	int error = uio_init(&u, iov, n);

	*done = 0;
	if (unlikely(!writable(c)))
		return EBADF;
	if (unlikely(error != 0))
		return error;
	if (unlikely((ld_acq(&c->c_head->sd_state) & (SD_TROUBLE | SD_DELIM | SD_NDEL)) != 0))
		return write_odd(c, iov, n, &u, done);
	return write_now(c, iov, n, &u, done, 0);
}

/* ---- putmsg ----------------------------------------------------------------------------------- */

struct outpart {
	size_t o_len;
	const char *o_buf;
	bool o_there;
};

static int
judge_part(struct outpart *p, const struct strbuf *sb)
{
	struct strbuf mine;

	*p = (struct outpart){ 0, NULL, false };
	if (sb == NULL)
		return 0;
	if (!plat_judge(sb, sizeof(*sb)) || plat_copyin(&mine, sb, sizeof(mine)) != 0)
		return EFAULT;
	if (mine.len < 0)
		return 0;
	if (mine.buf == NULL && mine.len > 0)
		return EFAULT;
	if (!plat_judge(mine.buf, (size_t)mine.len))
		return EFAULT;
	p->o_len = (size_t)mine.len;
	p->o_buf = mine.buf;
	p->o_there = true;
	return 0;
}

/* Flags and band of putmsg and putpmsg: 0 or EINVAL; *pri for high priority. */
static int
judge_how(int band, int flags, bool pmsg, bool ctl, bool *pri)
{
	*pri = flags == (pmsg ? MSG_HIPRI : RS_HIPRI);
	if (*pri)
		return ctl && band == 0 ? 0 : EINVAL;
	if (pmsg)
		return flags == MSG_BAND && band >= 0 && band <= 255 ? 0 : EINVAL;
	return flags == 0 ? 0 : EINVAL;
}

static int
judge_sizes(struct call *c, const struct outpart *ctl, const struct outpart *data)
{
	const queue_t *below = head_wq(c->c_head)->q_next;
	ssize_t min = ld_rlx(&below->q_minpsz), max = ld_rlx(&below->q_maxpsz);

	if (ctl->o_len > (size_t)ld_rlx(&head_root->hr_strctlsz))
		return ERANGE;
	if (!data->o_there)
		return 0;
	if (data->o_len > (size_t)ld_rlx(&head_root->hr_strmsgsz) ||
	    (min > 0 && data->o_len < (size_t)min) || (max != INFPSZ && data->o_len > (size_t)max))
		return ERANGE;
	return 0;
}

/* A block of one part, or NULL with *error ENOSR or EFAULT. */
static mblk_t *
part_block(const struct outpart *p, size_t off, unsigned char type, int *error)
{
	mblk_t *mp = allocb(off + p->o_len, BPRI_MED);

	*error = ENOSR;
	if (mp == NULL)
		return NULL;
	mp->b_datap->db_type = type;
	mp->b_rptr += off;
	mp->b_wptr = mp->b_rptr + p->o_len;
	ASSERT(mp->b_wptr <= mp->b_datap->db_lim);
	if (p->o_len > 0 && plat_copyin(mp->b_rptr, p->o_buf, p->o_len) != 0) {
		*error = EFAULT;
		freeb(mp);
		return NULL;
	}
	return mp;
}

static mblk_t *
message(struct call *c, const struct outpart *ctl, const struct outpart *data, bool pri,
	int *error)
{
	size_t off = ld_rlx(&c->c_head->sd_wroff);
	mblk_t *mp = NULL, *dp = NULL;

	if (ctl->o_there) {
		mp = part_block(ctl, 0, pri ? M_PCPROTO : M_PROTO, error);
		if (mp == NULL)
			return NULL;
	}
	if (data->o_there) {
		dp = part_block(data, off, M_DATA, error);
		if (dp == NULL) {
			freemsg(mp);
			return NULL;
		}
	}
	if (mp == NULL)
		return dp;
	ASSERT(mp->b_cont == NULL && msg_type(mp) != M_DATA);
	mp->b_cont = dp;
	return mp;
}

/* What putmsg was given. */
struct sending {
	struct outpart s_ctl;
	struct outpart s_data;
	bool s_pri;
	unsigned char s_band;
};

INLINE int
judge_sending(struct call *c, struct sending *s, const struct strbuf *ctl,
	const struct strbuf *data, int band, int flags, bool pmsg)
{
	int error;

	if (!writable(c))
		return EBADF;
	if ((error = judge_part(&s->s_ctl, ctl)) != 0 ||
	    (error = judge_part(&s->s_data, data)) != 0 ||
	    (error = judge_how(band, flags, pmsg, s->s_ctl.o_there, &s->s_pri)) != 0)
		return error;
	s->s_band = (unsigned char)(s->s_pri ? 0 : band);
	return call_access(c, ACC_WRITE);
}

/* Wait for room and make the message: 0, or an errno and nothing was made. */
INLINE int
make_sending(struct call *c, const struct sending *s, mblk_t **mpp)
{
	int error = judge_sizes(c, &s->s_ctl, &s->s_data);

	IMPLY(s->s_pri, s->s_band == 0 && s->s_ctl.o_there);
	hq_answering(c->c_head->sd_rq);
	if (error == 0 && !s->s_pri)
		error = room(c, s->s_band, false);
	if (error != 0)
		return error;
	*mpp = message(c, &s->s_ctl, &s->s_data, s->s_pri, &error);
	if (*mpp == NULL)
		return error;
	(*mpp)->b_band = s->s_band;
	return 0;
}

int
head_putmsg(struct call *c, const struct strbuf *ctl, const struct strbuf *data, int band,
	int flags, bool pmsg)
{
	struct sending s;
	mblk_t *mp;
	int error = judge_sending(c, &s, ctl, data, band, flags, pmsg);

	if (error != 0)
		return error;
	if (!s.s_ctl.o_there && (!s.s_data.o_there || (s.s_data.o_len == 0 &&
	    !(ld_rlx(&c->c_head->sd_wopt) & SNDZERO))))
		return 0;
	error = make_sending(c, &s, &mp);
	if (error == 0)
		putnext(head_wq(c->c_head), mp);
	return error;
}

int
head_insertmsg(struct call *c, const struct strbuf *ctl, const struct strbuf *data, int flags,
	queue_t *const *q, size_t offset)
{
	struct sending s;
	mblk_t *mp;
	int error = judge_sending(c, &s, ctl, data, 0, flags, false);

	if (error != 0)
		return error;
	if (s.s_ctl.o_len < sizeof(*q) || s.s_ctl.o_len - sizeof(*q) < offset)
		return EINVAL;
	error = make_sending(c, &s, &mp);
	if (error != 0)
		return error;
	ASSERT(mp->b_rptr + offset + sizeof(*q) <= mp->b_wptr);
	memcpy(mp->b_rptr + offset, q, sizeof(*q));
	putnext(head_wq(c->c_head), mp);
	return 0;
}

int
head_putmblk(struct call *c, mblk_t *mp)
{
	bool pri = msg_ispri(mp);
	int error;

	if (!writable(c))
		return EBADF;
	error = call_access(c, ACC_WRITE);
	hq_answering(c->c_head->sd_rq);
	if (likely(error == 0) && !pri)
		error = room(c, mp->b_band, false);
	if (error != 0)
		return error;
	if (pri)
		mp->b_band = 0;
	putnext(head_wq(c->c_head), mp);
	return 0;
}
