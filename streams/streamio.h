/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * streamio.h: the commands of str_ioctl() and their arguments.
 *
 * Level 10.  A command runs inside the call, after the access check that its
 * row in head_ioctl.c names.  arg is what the program passed: a pointer, not
 * judged yet, or, for commands that take an int, its value.  0 and *rval, which
 * is 0 beforehand, or an errno.
 */
#ifndef STREAMS_STREAMIO_H
#define STREAMS_STREAMIO_H

#include "calls.h"

#include <errno.h>

typedef int streamio(struct call *c, void *arg, int *rval);

/* head_opt.c */
streamio opt_srdopt, opt_grdopt, opt_swropt, opt_gwropt, opt_serropt, opt_gerropt;
streamio opt_setcltime, opt_getcltime, opt_strmsgsz, opt_strctlsz;
streamio opt_sethiwat, opt_setlowat, opt_gethiwat, opt_getlowat;

/* head_flush.c */
streamio flush_all, flush_band;

/* head_msgio.c: messages by ioctl. */
streamio msgio_getmsg, msgio_getpmsg, msgio_putmsg, msgio_putpmsg, msgio_fdinsert;

/* head_passfp.c */
streamio passfp_send, passfp_receive;

/* head_str.c */
streamio head_str;

INLINE int
arg_int(const void *arg)
{
	return (int)(intptr_t)arg;
}

/* The n bytes at arg: 0 or EFAULT. */
INLINE int
arg_take(void *to, const void *arg, size_t n)
{
	return plat_judge(arg, n) ? plat_copyin(to, arg, n) : EFAULT;
}

INLINE int
arg_put(void *arg, const void *from, size_t n)
{
	return plat_judge(arg, n) ? plat_copyout(arg, from, n) : EFAULT;
}

INLINE int
arg_give(void *arg, int value)
{
	return arg_put(arg, &value, sizeof(value));
}

#endif
