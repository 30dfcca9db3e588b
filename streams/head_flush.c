/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_flush.c: I_FLUSH and I_FLUSHBAND.
 *
 * An M_FLUSH goes down; what is below flushes and the driver, or the head at
 * the other end of a pipe, sends it back.  The command is complete when the
 * message has left every perimeter: a second reference to its data tells.
 */
#include "streamio.h"
#include "perim.h"

#define FLUSH_LIMIT 15000 /* ms a module may sit on an M_FLUSH */

/* Is the holder of a perimeter on this stream, either way, stopped? */
static bool
holder_stopped(struct call *c, int64_t *since)
{
	queue_t *start[2] = { head_wq(c->c_head), NULL }, *last = NULL;

	for (int way = 0; way < 2 && start[way] != NULL; way++) {
		for (queue_t *q = start[way]; q != NULL; last = q, q = q->q_next) {
			uint64_t word = q->q_perim == NULL ? 0 : ld_seq(&q->q_perim->pe_word);
			struct slot *s = slot_of(perim_owner(word));

			if (s != NULL && slot_stopped(s, since))
				return true;
		}
		if (way == 0 && !(last->q_kind & QK_DEADEND))
			start[1] = OTHERQ(last);
	}
	return false;
}

/*
 * The flush is complete when nobody else refers to its data any more: parked
 * for a perimeter, it still is.  ETIME: a stopped thread, or a module that
 * keeps it.
 */
static int
await_flush(struct call *c, const mblk_t *mp)
{
	int64_t since = 0, until = plat_now() + (int64_t)FLUSH_LIMIT * 1000000;
	unsigned int step = 0;

	ASSERT(ld_rlx(&mp->b_datap->db_ref) > 0); /* mine at least */
	while (ld_acq(&mp->b_datap->db_ref) > 1) {
		if (plat_now() > until || holder_stopped(c, &since))
			return ETIME;
		plumb_exit(c->c_me);
		plat_backoff(&step);
		if (call_reenter(c) != 0)
			return EBADF;
	}
	return 0;
}

static int
send_flush(struct call *c, int how, int band)
{
	mblk_t *mp = allocb(2, BPRI_HI), *mine = mp != NULL ? dupb(mp) : NULL;
	int error;

	ASSERT(how > 0 && how <= FLUSHRW && band <= 255);
	if (mine == NULL) {
		freemsg(mp);
		return ENOSR;
	}
	mp->b_datap->db_type = M_FLUSH;
	*mp->b_wptr++ = (unsigned char)(how | (band >= 0 ? FLUSHBAND : 0));
	if (band >= 0)
		*mp->b_wptr++ = (unsigned char)band;
	putnext(head_wq(c->c_head), mp);
	error = await_flush(c, mine);
	freeb(mine);
	return error;
}

int
flush_all(struct call *c, void *arg, int *rval)
{
	int how = arg_int(arg);

	(void)rval;
	return how < 1 || how > FLUSHRW ? EINVAL : send_flush(c, how, -1);
}

int
flush_band(struct call *c, void *arg, int *rval)
{
	struct bandinfo bi;

	(void)rval;
	if (arg_take(&bi, arg, sizeof(bi)) != 0)
		return EFAULT;
	if (bi.bi_flag < 1 || bi.bi_flag > FLUSHRW)
		return EINVAL;
	return send_flush(c, bi.bi_flag, bi.bi_pri);
}
