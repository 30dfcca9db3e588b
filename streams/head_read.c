/* SPDX-License-Identifier: BSD-2-Clause */
/* head_read.c: the receive loop, and read and readv on it. */
#include "receive.h"
#include "calls.h"
#include "helper.h"
#include "uio.h"

#include <string.h>
#include <stropts.h>

/* ---- the loop ---------------------------------------------------------------------- */

static bool
anything(struct call *c, void *arg)
{
	(void)arg;
	return hq_any(c->c_head->sd_rq) || (ld_seq(&c->c_head->sd_state) & SD_RDSTOP);
}

static void
free_gone(struct receive *r)
{
	mblk_t *mp;

	while ((mp = r->r_gone) != NULL) {
		r->r_gone = mp->b_next;
		mp->b_next = NULL;
		freemsg(mp);
	}
}

/* Enabled service procedures may hold what we wait for: run them first. */
static bool
ran_something(struct call *c)
{
	return runq_pending(&c->c_group->g_run) && plumb_run(c->c_me, c->c_group);
}

static bool announce_read(struct call *c, struct receive *r);

static int
receive_slow(struct call *c, struct receive *r, bool hup)
{
	if (ran_something(c) || announce_read(c, r))
		return 0;
	if (hup || (ld_seq(&c->c_head->sd_state) & SD_END)) {
		r->r_eof = hup; /* else: it came just now, look once more */
		return 0;
	}
	if (call_nonblock(c)) {
		helper_needed();
		return EAGAIN;
	}
	return call_sleep(c, &c->c_head->sd_rwait, r->r_ready != NULL ? r->r_ready : anything,
		r, r->r_some ? CALL_NORESTART : -1);
}

int
head_receive(struct call *c, struct receive *r)
{
	queue_t *q = c->c_head->sd_rq;
	enum take did;
	int error;

	NO_LOCK_HELD();
	r->r_eof = false;
	for (;;) {
		/* The end, if seen before the queue was found empty. */
		bool hup = (ld_seq(&c->c_head->sd_state) & SD_END) != 0;

		error = call_access(c, ACC_READ);
		if (unlikely(error != 0))
			return error;
		hq_lock(c->c_me, q);
		did = r->r_take(c, r);
		hq_unlock(c->c_me, q);
		if (likely(r->r_gone != NULL))
			free_gone(r);
		if (likely(did == TAKE_DONE))
			return 0;
		if (did == TAKE_FAIL)
			return r->r_error;
		error = receive_slow(c, r, hup);
		if (error != 0 || r->r_eof)
			return error;
	}
}

/* ---- using up messages ---------------------------------------------------------------- */

static void
unqueue(struct call *c, mblk_t *mp)
{
	unsigned int class = hq_class(mp);
	size_t bytes, blocks;

	LOCK_HELD(&c->c_head->sd_rq->q_rlock);
	if (unlikely(msg_type(mp) == M_PCPROTO))
		st_rel(&c->c_head->sd_pcproto, 0u);
	hq_shift(c->c_head->sd_rq, mp);
	msg_weigh(mp, &bytes, &blocks);
	hq_got(c->c_me, c->c_head->sd_rq, mp, class, bytes, blocks);
}

void
receive_keep(struct call *c, mblk_t *mp)
{
	unqueue(c, mp);
	mp->b_flag &= (unsigned short)~MSG_UNCOUNTED;
}

void
receive_drop(struct call *c, struct receive *r, mblk_t *mp)
{
	unqueue(c, mp);
	mp->b_next = r->r_gone;
	r->r_gone = mp;
}

/*
 * Take n bytes, or all blocks, off the chain mp .. end (exclusive).  The
 * blocks used up go on *gone.  Returns what is now first: end if nothing.
 */
static mblk_t *
strip(mblk_t *mp, mblk_t *end, size_t n, bool whole, mblk_t **gone, size_t *bytes,
	size_t *blocks)
{
	while (mp != end) {
		size_t len = (size_t)(mp->b_wptr - mp->b_rptr);
		mblk_t *rest = mp->b_cont;

		if (!whole && (n < len || n == 0)) {
			ASSERT(n <= len);
			mp->b_rptr += n;
			*bytes += n;
			break;
		}
		n -= whole ? 0 : len;
		*bytes += len;
		++*blocks;
		mp->b_cont = *gone;
		*gone = mp;
		mp = rest;
	}
	return mp;
}

void
receive_use(struct call *c, struct receive *r, mblk_t *mp, mblk_t *mid, struct used ctl,
	struct used data)
{
	queue_t *q = c->c_head->sd_rq;
	unsigned int class = hq_class(mp);
	bool pcproto = msg_type(mp) == M_PCPROTO;
	size_t bytes = 0, blocks = 0;
	mblk_t *gone = NULL, *first, *rest;

	LOCK_HELD(&q->q_rlock);
	ASSERT(q->q_rfirst == mp);
	first = strip(mp, mid, ctl.us_n, ctl.us_whole, &gone, &bytes, &blocks);
	rest = strip(mid, NULL, data.us_n, data.us_whole, &gone, &bytes, &blocks);
	if (first == mid) {
		first = rest;
	} else {
		mblk_t *last = first;

		while (last->b_cont != mid)
			last = last->b_cont;
		last->b_cont = rest;
	}
	if (first == NULL)
		hq_shift(q, mp);
	else if (first != mp)
		hq_replace(q, mp, first);
	if (pcproto && (first == NULL || msg_type(first) != M_PCPROTO))
		st_rel(&c->c_head->sd_pcproto, 0u);
	if (gone != NULL) {
		gone->b_next = r->r_gone;
		r->r_gone = gone;
	}
	IMPLY(gone == NULL, blocks == 0 && first == mp);
	hq_got(c->c_me, q, mp, class, bytes, blocks);
}

/* ---- read ------------------------------------------------------------------------------- */

struct reading {
	struct receive rd_r;
	struct uio rd_u;
	size_t rd_got;		/* bytes delivered */
	uint32_t rd_opt;	/* read options of the stream */
	bool rd_block;
};

/* Copy as much of mp's bytes as fits: how many, or -1 for EFAULT. */
static ssize_t
copy_blocks(struct reading *rd, const mblk_t *mp)
{
	struct uio u = rd->rd_u;
	size_t sum = 0;

	for (; mp != NULL && u.u_left > 0; mp = mp->b_cont) {
		size_t n = (size_t)(mp->b_wptr - mp->b_rptr);

		if (n > u.u_left)
			n = u.u_left;
		if (uio_out(&u, mp->b_rptr, n) != 0)
			return -1;
		sum += n;
	}
	rd->rd_u = u;
	return (ssize_t)sum;
}

/* The first message is no data: what does the protocol option say? */
enum special { SP_READ, SP_AGAIN, SP_STOP, SP_BADMSG };

static enum special
judge(struct call *c, struct reading *rd, mblk_t *mp)
{
	unsigned char type = msg_type(mp);

	if (rd->rd_got > 0 && (mp->b_flag & MSGMARK))
		return SP_STOP;
	if (type == M_DATA)
		return SP_READ;
	if (type != M_PASSFP && (rd->rd_opt & RPROTDAT))
		return SP_READ;
	if (type != M_PASSFP && (rd->rd_opt & RPROTDIS)) {
		receive_use(c, &rd->rd_r, mp, message_data(mp), USED_ALL, USED(0));
		return SP_AGAIN;
	}
	return rd->rd_got > 0 ? SP_STOP : SP_BADMSG;
}

/* Read from mp: true to go on with the next message. */
static bool
read_one(struct call *c, struct reading *rd, mblk_t *mp, ssize_t n)
{
	bool marked = (mp->b_flag & (MSGMARK | MSGDELIM)) != 0, whole;
	size_t bytes, blocks;

	msg_weigh(mp, &bytes, &blocks);
	whole = (size_t)n == bytes;
	ASSERT(n >= 0 && (size_t)n <= bytes);
	rd->rd_got += (size_t)n;
	if (whole || (rd->rd_opt & RMSGD))
		receive_drop(c, &rd->rd_r, mp);
	else
		receive_use(c, &rd->rd_r, mp, NULL, USED((size_t)n), USED(0));
	return whole && !marked && !(rd->rd_opt & (RMSGD | RMSGN)) && rd->rd_u.u_left > 0;
}

static enum take
take_read(struct call *c, struct receive *r)
{
	struct reading *rd = (struct reading *)r;
	mblk_t *mp;

	LOCK_HELD(&c->c_head->sd_rq->q_rlock);
	while ((mp = hq_first(c->c_me, c->c_head->sd_rq)) != NULL) {
		enum special sp = judge(c, rd, mp);
		ssize_t n;

		if (sp == SP_AGAIN)
			continue;
		if (sp == SP_STOP)
			return TAKE_DONE;
		r->r_error = EBADMSG;
		if (sp == SP_BADMSG)
			return TAKE_FAIL;
		n = copy_blocks(rd, mp);
		if (unlikely(n < 0)) {
			r->r_error = EFAULT;
			return rd->rd_got > 0 ? TAKE_DONE : TAKE_FAIL;
		}
		if (n == 0 && rd->rd_got > 0)
			return TAKE_DONE; /* a zero-length message stops before itself */
		if (!read_one(c, rd, mp, n) || n == 0)
			return TAKE_DONE;
	}
	r->r_some = rd->rd_got > 0;
	if (!r->r_some || ((rd->rd_opt & RFILL) && rd->rd_block))
		return TAKE_WAIT;
	return TAKE_DONE;
}

/*
 * SO_MREADON: a read that finds nothing tells those below how much it wants,
 * once, and looks again.  true: it did.
 */
static bool
announce_read(struct call *c, struct receive *r)
{
	size_t want;
	mblk_t *mp;

	if (likely(!(ld_rlx(&c->c_head->sd_state) & SD_MREAD)) || r->r_take != take_read ||
	    r->r_asked || hq_any(c->c_head->sd_rq))
		return false;
	r->r_asked = true;
	NO_LOCK_HELD();
	mp = allocb(sizeof(want), BPRI_HI);
	if (mp == NULL)
		return false;
	want = ((struct reading *)r)->rd_u.u_left;
	mp->b_datap->db_type = M_READ;
	memcpy(mp->b_wptr, &want, sizeof(want));
	mp->b_wptr += sizeof(want);
	putnext(head_wq(c->c_head), mp);
	return true;
}

int
head_read(struct call *c, const struct iovec *iov, int n, size_t *got)
{
	struct reading rd = { .rd_r = { .r_take = take_read } };
	int error = uio_init(&rd.rd_u, iov, n);

	*got = 0;
	if ((ld_rlx(&c->c_file->f_flags) & O_ACCMODE) == O_WRONLY)
		return EBADF;
	if (unlikely(error != 0))
		return error;
	if (rd.rd_u.u_left == 0)
		return 0;
	rd.rd_opt = ld_rlx(&c->c_head->sd_ropt);
	rd.rd_block = !call_nonblock(c);
	error = head_receive(c, &rd.rd_r);
	*got = rd.rd_got;
	if (unlikely(error == EAGAIN) && (ld_rlx(&c->c_head->sd_state) & SD_NDEL))
		return 0;
	return rd.rd_got > 0 ? 0 : error;
}
