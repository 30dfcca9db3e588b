/* SPDX-License-Identifier: BSD-2-Clause */
/* head_ioctl.c: the streamio commands, by table. */
#include "calls.h"
#include "flow.h"
#include "runq.h"

#include <errno.h>
#include <string.h>

/* arg is the pointer or, for commands that take an int, its value. */
typedef int command(struct call *c, void *arg, int *rval);

static int
value_of(const void *arg)
{
	return (int)(intptr_t)arg;
}

static int
give_int(void *to, int value)
{
	if (!plat_judge(to, sizeof(int)))
		return EFAULT;
	return plat_copyout(to, &value, sizeof(int));
}

static int
give_name(void *to, const char *name)
{
	size_t n = strlen(name) + 1;

	return plat_judge(to, n) ? plat_copyout(to, name, n) : EFAULT;
}

/*
 * A module name from the program: n bytes of it at most are looked at, byte
 * by byte, since it may end just before memory that is not there.
 */
static int
take_name(char *name, const char *from)
{
	for (size_t i = 0; i <= FMNAMESZ; i++) {
		if (!plat_judge(from + i, 1) || plat_copyin(&name[i], from + i, 1) != 0)
			return EFAULT;
		if (name[i] == '\0')
			return i > 0 ? 0 : EINVAL;
	}
	return EINVAL;
}

/* ---- modules ------------------------------------------------------------------------------- */

static int
do_push(struct call *c, void *arg, int *rval)
{
	char name[FMNAMESZ + 1];
	int error = take_name(name, arg);

	(void)rval;
	if (error != 0 || (error = head_plumb_enter(c)) != 0)
		return error;
	error = call_access(c, ACC_PLUMB);
	if (error == 0)
		error = head_push(c, name);
	head_plumb_leave(c->c_head);
	return error;
}

static int
do_pop(struct call *c, void *arg, int *rval)
{
	int error = head_plumb_enter(c);

	(void)arg, (void)rval;
	if (error != 0)
		return error;
	error = call_access(c, ACC_PLUMB);
	if (error == 0)
		error = head_pop(c);
	head_plumb_leave(c->c_head);
	return error;
}

static int
do_look(struct call *c, void *arg, int *rval)
{
	struct regent *re = head_module(c->c_head, 0);

	(void)rval;
	return re == NULL ? EINVAL : give_name(arg, re->re_name);
}

static int
do_find(struct call *c, void *arg, int *rval)
{
	char name[FMNAMESZ + 1];
	struct regent *re;
	int error = take_name(name, arg);

	if (error != 0)
		return error;
	if (!registry_known(name))
		return EINVAL;
	*rval = 0;
	for (uint32_t i = 0; (re = head_module(c->c_head, i)) != NULL; i++)
		if (strcmp(re->re_name, name) == 0)
			*rval = 1;
	return 0;
}

static int
do_list(struct call *c, void *arg, int *rval)
{
	struct str_list list;
	struct regent *re;
	uint32_t i, n = 0;

	while (head_module(c->c_head, n) != NULL)
		n++;
	*rval = (int)n + (c->c_head->sd_reg != NULL);
	if (arg == NULL)
		return 0;
	if (!plat_judge(arg, sizeof(list)) || plat_copyin(&list, arg, sizeof(list)) != 0)
		return EFAULT;
	if (list.sl_nmods < 1)
		return EINVAL;
	for (i = 0; i < (uint32_t)*rval && i < (uint32_t)list.sl_nmods; i++) {
		struct str_mlist *to = &list.sl_modlist[i];

		re = i < n ? head_module(c->c_head, i) : c->c_head->sd_reg;
		if (!plat_judge(to, sizeof(*to)) ||
		    plat_copyout(to->l_name, re->re_name, sizeof(to->l_name)) != 0)
			return EFAULT;
	}
	*rval = (int)i;
	return give_int(&((struct str_list *)arg)->sl_nmods, (int)i);
}

static int
do_pushcnt(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return give_int(arg, (int)ld_rlx(&c->c_head->sd_pushed));
}

/* ---- looking at the read queue ----------------------------------------------------------------- */

static int
do_nread(struct call *c, void *arg, int *rval)
{
	int bytes;

	(void)head_nread(c, &bytes, rval);
	return give_int(arg, bytes);
}

static int
do_peek(struct call *c, void *arg, int *rval)
{
	return head_peek(c, arg, rval);
}

static int
do_ckband(struct call *c, void *arg, int *rval)
{
	return head_ckband(c, value_of(arg), rval);
}

static int
do_getband(struct call *c, void *arg, int *rval)
{
	int pri, band = head_firstband(c, &pri);

	(void)rval;
	return band < 0 ? ENODATA : give_int(arg, band);
}

static int
do_canput(struct call *c, void *arg, int *rval)
{
	queue_t *next = head_wq(c->c_head)->q_next;
	int band = value_of(arg);

	if (band != ANYBAND && (band < 0 || band > 255))
		return EINVAL;
	if (band >= 0) {
		*rval = bcanput(next, (unsigned char)band);
		return 0;
	}
	*rval = 0;
	for (int b = 1; b <= (int)ld_acq(&next->q_nfsrv->q_nband); b++)
		*rval |= bcanput(next, (unsigned char)b);
	return 0;
}

/* ---- options ---------------------------------------------------------------------------------------- */

#define RPROT (RPROTNORM | RPROTDAT | RPROTDIS)

static int
do_srdopt(struct call *c, void *arg, int *rval)
{
	uint32_t opt = (uint32_t)value_of(arg), prot = opt & RPROT;

	(void)rval;
	if (opt & ~(uint32_t)(RMSGD | RMSGN | RPROT | RFILL))
		return EINVAL;
	if ((opt & (RMSGD | RMSGN)) == (RMSGD | RMSGN) || (prot & (prot - 1)) != 0)
		return EINVAL;
	if (prot == 0) /* the protocol option stays as it is */
		opt |= ld_rlx(&c->c_head->sd_ropt) & RPROT;
	st_rlx(&c->c_head->sd_ropt, opt);
	return 0;
}

static int
do_grdopt(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return give_int(arg, (int)ld_rlx(&c->c_head->sd_ropt));
}

static int
do_swropt(struct call *c, void *arg, int *rval)
{
	uint32_t opt = (uint32_t)value_of(arg);

	(void)rval;
	if (opt & ~(uint32_t)(SNDZERO | SNDPIPE | SNDHOLD))
		return EINVAL;
	st_rlx(&c->c_head->sd_wopt, opt);
	return 0;
}

static int
do_gwropt(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return give_int(arg, (int)ld_rlx(&c->c_head->sd_wopt));
}

static int
do_setcltime(struct call *c, void *arg, int *rval)
{
	int ms;

	(void)rval;
	if (!plat_judge(arg, sizeof(int)) || plat_copyin(&ms, arg, sizeof(int)) != 0)
		return EFAULT;
	if (ms < 0)
		return EINVAL;
	st_rlx(&c->c_head->sd_cltime, (uint32_t)ms);
	return 0;
}

static int
do_getcltime(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return give_int(arg, (int)ld_rlx(&c->c_head->sd_cltime));
}

/* ---- water marks of this head's read queue -------------------------------------------------------------- */

static int
set_mark(struct call *c, size_t *mark, int value, bool high)
{
	queue_t *q = c->c_head->sd_rq;
	bool ok;

	if (value < 0)
		return EINVAL;
	lock_enter(c->c_me, &q->q_lock, RANK_QUEUE);
	ok = high ? (size_t)value >= q->q_lowat : (size_t)value <= q->q_hiwat;
	if (ok)
		st_rlx(mark, (size_t)value);
	lock_leave(c->c_me, &q->q_lock);
	if (!ok)
		return EINVAL;
	hq_remark(q);
	return 0;
}

static int
do_sethiwat(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return set_mark(c, &c->c_head->sd_rq->q_hiwat, value_of(arg), true);
}

static int
do_setlowat(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return set_mark(c, &c->c_head->sd_rq->q_lowat, value_of(arg), false);
}

static int
do_gethiwat(struct call *c, void *arg, int *rval)
{
	(void)arg;
	*rval = (int)ld_rlx(&c->c_head->sd_rq->q_hiwat);
	return 0;
}

static int
do_getlowat(struct call *c, void *arg, int *rval)
{
	(void)arg;
	*rval = (int)ld_rlx(&c->c_head->sd_rq->q_lowat);
	return 0;
}

/* ---- flushing ----------------------------------------------------------------------------------------------- */

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

static int
do_flush(struct call *c, void *arg, int *rval)
{
	int how = value_of(arg);

	(void)rval;
	return how < 1 || how > FLUSHRW ? EINVAL : send_flush(c, how, -1);
}

static int
do_flushband(struct call *c, void *arg, int *rval)
{
	struct bandinfo bi;

	(void)rval;
	if (!plat_judge(arg, sizeof(bi)) || plat_copyin(&bi, arg, sizeof(bi)) != 0)
		return EFAULT;
	if (bi.bi_flag < 1 || bi.bi_flag > FLUSHRW)
		return EINVAL;
	return send_flush(c, bi.bi_flag, bi.bi_pri);
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

static const struct {
	int cmd;
	uint32_t minds;	/* access check */
	command *run;
} commands[] = {
	{ I_NREAD, ACC_RDERR, do_nread },
	{ I_PUSH, ACC_PLUMB, do_push },
	{ I_POP, ACC_PLUMB, do_pop },
	{ I_LOOK, 0, do_look },
	{ I_FLUSH, ACC_PLUMB, do_flush },
	{ I_SRDOPT, ACC_RDERR, do_srdopt },
	{ I_GRDOPT, 0, do_grdopt },
	{ I_STR, ACC_PLUMB, head_str },
	{ I_FIND, 0, do_find },
	{ I_PEEK, ACC_RDERR, do_peek },
	{ I_SWROPT, ACC_HUP | ACC_WRERR | ACC_PIPE, do_swropt },
	{ I_GWROPT, 0, do_gwropt },
	{ I_LIST, 0, do_list },
	{ I_FLUSHBAND, ACC_PLUMB, do_flushband },
	{ I_CKBAND, ACC_RDERR, do_ckband },
	{ I_GETBAND, ACC_RDERR, do_getband },
	{ I_SETCLTIME, 0, do_setcltime },
	{ I_GETCLTIME, 0, do_getcltime },
	{ I_CANPUT, ACC_HUP | ACC_WRERR | ACC_PIPE, do_canput },
	{ I_GET_PUSHCNT, 0, do_pushcnt },
	{ I_SET_HIWAT, 0, do_sethiwat },
	{ I_SET_LOWAT, 0, do_setlowat },
	{ I_GET_HIWAT, 0, do_gethiwat },
	{ I_GET_LOWAT, 0, do_getlowat },
};

int
head_ioctl(struct call *c, int cmd, void *arg, int *rval)
{
	int error;

	*rval = 0;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].cmd != cmd)
			continue;
		error = call_access(c, commands[i].minds);
		return error != 0 ? error : commands[i].run(c, arg, rval);
	}
	error = call_access(c, ACC_PLUMB);
	return error != 0 ? error : head_transparent(c, cmd, arg, rval);
}
