/* SPDX-License-Identifier: BSD-2-Clause */
/* head_ioctl.c: the streamio commands, by table. */
#include "streamio.h"
#include "flow.h"

#include <string.h>

static int
give_name(void *to, const char *name)
{
	size_t n = strlen(name) + 1;

	return arg_put(to, name, n);
}

/*
 * A module name from the program: n bytes of it at most are looked at, byte
 * by byte, since it may end just before memory that is not there.
 */
static int
take_name(char *name, const char *from)
{
	for (size_t i = 0; i <= FMNAMESZ; i++) {
		if (arg_take(&name[i], (const char *)((uintptr_t)from + i), 1) != 0)
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
	int oflag = (int)ld_rlx(&c->c_file->f_flags); /* the file may go, sd may not */
	char name[FMNAMESZ + 1];
	int error = take_name(name, arg);

	(void)rval;
	if (error != 0 || (error = head_plumb_enter(c)) != 0)
		return error;
	error = call_access(c, ACC_PLUMB);
	if (error == 0)
		error = head_push(c->c_me, c->c_head, name, oflag);
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
	if (arg_take(&list, arg, sizeof(list)) != 0)
		return EFAULT;
	if (list.sl_nmods < 1)
		return EINVAL;
	if (!plat_judge(list.sl_modlist, sizeof(*list.sl_modlist)))
		return EFAULT;
	for (i = 0; i < (uint32_t)*rval && i < (uint32_t)list.sl_nmods; i++) {
		struct str_mlist *to = &list.sl_modlist[i];

		re = i < n ? head_module(c->c_head, i) : c->c_head->sd_reg;
		if (arg_put(to->l_name, re->re_name, sizeof(to->l_name)) != 0)
			return EFAULT;
	}
	*rval = (int)i;
	return arg_give(&((struct str_list *)arg)->sl_nmods, (int)i);
}

static int
do_anchor(struct call *c, void *arg, int *rval)
{
	int error = head_plumb_enter(c);

	(void)arg, (void)rval;
	if (error != 0)
		return error;
	error = call_access(c, ACC_PLUMB);
	if (error == 0)
		st_rlx(&c->c_head->sd_anchor, c->c_head->sd_pushed);
	head_plumb_leave(c->c_head);
	return error;
}

static int
do_pushcnt(struct call *c, void *arg, int *rval)
{
	(void)rval;
	return arg_give(arg, (int)ld_rlx(&c->c_head->sd_pushed));
}

/* ---- looking at the read queue ----------------------------------------------------------------- */

static int
do_nread(struct call *c, void *arg, int *rval)
{
	int bytes;

	(void)head_nread(c, &bytes, rval);
	return arg_give(arg, bytes);
}

static int
do_peek(struct call *c, void *arg, int *rval)
{
	return head_peek(c, arg, rval);
}

static int
do_ckband(struct call *c, void *arg, int *rval)
{
	return head_ckband(c, arg_int(arg), rval);
}

static int
do_getband(struct call *c, void *arg, int *rval)
{
	int pri, band = head_firstband(c, &pri);

	(void)rval;
	return band < 0 ? ENODATA : arg_give(arg, band);
}

static int
do_atmark(struct call *c, void *arg, int *rval)
{
	return head_atmark(c, arg_int(arg), rval);
}

static int
do_canput(struct call *c, void *arg, int *rval)
{
	queue_t *next = head_wq(c->c_head)->q_next;
	int band = arg_int(arg);

	if (band != ANYBAND && (band < 0 || band > 255))
		return EINVAL;
	if (band >= 0) {
		*rval = head_canput(c->c_head, (unsigned char)band);
		return 0;
	}
	*rval = 0;
	for (int b = 1; b <= (int)ld_acq(&next->q_nfsrv->q_nband); b++)
		*rval |= head_canput(c->c_head, (unsigned char)b);
	return 0;
}

/* ---- what it is -------------------------------------------------------------------------------- */

static int
do_isastream(struct call *c, void *arg, int *rval)
{
	(void)c, (void)arg;
	*rval = 1;
	return 0;
}

/* Is its other end another stream's head? */
static int
do_ispipe(struct call *c, void *arg, int *rval)
{
	(void)arg;
	*rval = c->c_head->sd_kind == HEAD_PIPE;
	return 0;
}

/* Does what it writes come back to itself? */
static int
do_isfifo(struct call *c, void *arg, int *rval)
{
	const struct stdata *sd = c->c_head;
	const queue_t *q = head_wq(sd)->q_next;

	(void)arg;
	while (q != NULL && q->q_stream == sd && q != sd->sd_rq)
		q = q->q_next;
	*rval = q == sd->sd_rq;
	return 0;
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

static const struct {
	int cmd;
	uint32_t minds;	/* access check */
	streamio *run;
} commands[] = {
	{ I_NREAD, ACC_RDERR, do_nread },
	{ I_PUSH, ACC_PLUMB, do_push },
	{ I_POP, ACC_PLUMB, do_pop },
	{ I_LOOK, 0, do_look },
	{ I_FLUSH, ACC_PLUMB, flush_all },
	{ I_SRDOPT, ACC_RDERR, opt_srdopt },
	{ I_GRDOPT, 0, opt_grdopt },
	{ I_STR, ACC_PLUMB, head_str },
	{ I_FIND, 0, do_find },
	{ I_LINK, ACC_PLUMB, head_link },
	{ I_UNLINK, ACC_PLUMB, head_unlink },
	{ I_PLINK, ACC_PLUMB, head_plink },
	{ I_PUNLINK, ACC_PLUMB, head_punlink },
	{ I_SENDFD, ACC_WRMODE | ACC_HUP | ACC_WRERR, passfp_send },
	{ I_RECVFD, ACC_RDMODE | ACC_RDERR, passfp_receive },
	{ I_E_RECVFD, ACC_RDMODE | ACC_RDERR, passfp_receive },
	{ I_PEEK, ACC_RDERR, do_peek },
	{ I_SWROPT, ACC_HUP | ACC_WRERR | ACC_PIPE, opt_swropt },
	{ I_GWROPT, 0, opt_gwropt },
	{ I_LIST, 0, do_list },
	{ I_FLUSHBAND, ACC_PLUMB, flush_band },
	{ I_CKBAND, ACC_RDERR, do_ckband },
	{ I_GETBAND, ACC_RDERR, do_getband },
	{ I_SETCLTIME, 0, opt_setcltime },
	{ I_GETCLTIME, 0, opt_getcltime },
	{ I_SETSIG, 0, head_setsig },
	{ I_GETSIG, 0, head_getsig },
	{ I_ESETSIG, 0, head_esetsig },
	{ I_EGETSIG, 0, head_egetsig },
	{ I_CANPUT, ACC_HUP | ACC_WRERR | ACC_PIPE, do_canput },
	{ I_GETMSG, ACC_RDMODE, msgio_getmsg },
	{ I_PUTMSG, ACC_WRMODE, msgio_putmsg },
	{ I_GETPMSG, ACC_RDMODE, msgio_getpmsg },
	{ I_PUTPMSG, ACC_WRMODE, msgio_putpmsg },
	{ I_FDINSERT, ACC_WRMODE | ACC_WRITE, msgio_fdinsert },
	{ I_ATMARK, ACC_RDERR, do_atmark },
	{ I_SERROPT, ACC_PLUMB, opt_serropt },
	{ I_GERROPT, 0, opt_gerropt },
	{ I_ANCHOR, ACC_PLUMB, do_anchor },
	{ I_PIPE, 0, do_ispipe },
	{ I_FIFO, 0, do_isfifo },
	{ I_ISASTREAM, 0, do_isastream },
	{ I_GET_STRMSGSZ, 0, opt_strmsgsz },
	{ I_GET_STRCTLSZ, 0, opt_strctlsz },
	{ I_GET_PUSHCNT, 0, do_pushcnt },
	{ I_SET_HIWAT, 0, opt_sethiwat },
	{ I_SET_LOWAT, 0, opt_setlowat },
	{ I_GET_HIWAT, 0, opt_gethiwat },
	{ I_GET_LOWAT, 0, opt_getlowat },
};

/* 0, or EBADF: the descriptor is not open the way the command needs. */
static int
judge_mode(const struct call *c, uint32_t minds)
{
	uint32_t mode = ld_rlx(&c->c_file->f_flags) & O_ACCMODE;

	if (((minds & ACC_RDMODE) && mode == O_WRONLY) || ((minds & ACC_WRMODE) && mode == O_RDONLY))
		return EBADF;
	return 0;
}

int
head_ioctl(struct call *c, int cmd, void *arg, int *rval)
{
	int error;

	*rval = 0;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].cmd != cmd)
			continue;
		error = judge_mode(c, commands[i].minds);
		if (error == 0)
			error = call_access(c, commands[i].minds);
		return error != 0 ? error : commands[i].run(c, arg, rval);
	}
	error = call_access(c, ACC_PLUMB);
	return error != 0 ? error : head_transparent(c, cmd, arg, rval);
}
