/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.h: what the public calls of ustreams.c do once inside.
 *
 * Level 10.  Each runs between call_enter and call_leave and returns 0 or an
 * errno.
 */
#ifndef STREAMS_CALLS_H
#define STREAMS_CALLS_H

#include "fd.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stropts.h>
#include <sys/uio.h>

/* head_read.c */
int head_read(struct call *c, const struct iovec *iov, int n, size_t *got);

/* head_getmsg.c: flags as getpmsg; *rval MORECTL, MOREDATA. */
int head_getmsg(struct call *c, struct strbuf *ctl, struct strbuf *data, int *bandp,
	int *flagsp, bool pmsg, int *rval);
int head_getmblk(struct call *c, mblk_t **mpp);
int head_peek(struct call *c, struct strpeek *pk, int *rval);
/* Band of the first message, or -1; must hold no lock. */
int head_firstband(struct call *c, int *pri);
int head_nread(struct call *c, int *bytes, int *rval);
int head_ckband(struct call *c, int band, int *rval);
/* Is the first message marked (ANYMARK), and is it the last one so (LASTMARK)? */
int head_atmark(struct call *c, int which, int *rval);

/* head_write.c */
int head_write(struct call *c, const struct iovec *iov, int n, size_t *done);
int head_putmsg(struct call *c, const struct strbuf *ctl, const struct strbuf *data, int band,
	int flags, bool pmsg);
int head_putmblk(struct call *c, mblk_t *mp);
/* As putmsg, with *q written into the control part at offset, where it fits. */
int head_insertmsg(struct call *c, const struct strbuf *ctl, const struct strbuf *data,
	int flags, queue_t *const *q, size_t offset);

/* head_ioctl.c: the argument as str_ioctl found it. */
int head_ioctl(struct call *c, int cmd, void *arg, int *rval);

/* head_sig.c: I_SETSIG and its relatives. */
int head_setsig(struct call *c, void *arg, int *rval);
int head_getsig(struct call *c, void *arg, int *rval);
int head_esetsig(struct call *c, void *arg, int *rval);
int head_egetsig(struct call *c, void *arg, int *rval);

/* head_str.c: a command nobody knows. */
int head_transparent(struct call *c, int cmd, void *arg, int *rval);

/* A question to the module or driver below. */
struct ask {
	int a_cmd;		/* ioc_cmd */
	bool a_transparent;	/* ioc_count is TRANSPARENT */
	const void *a_data;	/* what goes with it: the caller's memory or ours */
	size_t a_len;
	int64_t a_ms;		/* wait for the answer, -1 for ever */
};
/*
 * Ask, and wait for the answer, one question at a time per stream: 0 and the
 * M_IOCACK, which the caller frees, or its errno, EFAULT, ENOSR, ETIME, EINTR,
 * EBADF, or the stream's trouble.  May leave the group and come back.
 */
int head_ask(struct call *c, const struct ask *a, mblk_t **ackp);
/*
 * Ask for the library itself, without a descriptor and whatever signals come;
 * a_ms is not for ever: 0, the errno of the answer, ENOSR or ETIME.  The caller
 * keeps sd open and is inside its group, before and after.
 */
int head_tell(struct slot *me, struct stdata *sd, const struct ask *a);

/* head_link.c: the argument is a descriptor or a link's id. */
int head_link(struct call *c, void *arg, int *rval);
int head_plink(struct call *c, void *arg, int *rval);
int head_unlink(struct call *c, void *arg, int *rval);
int head_punlink(struct call *c, void *arg, int *rval);

/*
 * head_poll.c: descriptors of all kinds, without an enclosing call, until
 * deadline (ns of CLOCK_MONOTONIC; 0: do not wait), signals masked by mask
 * while asleep if it is not NULL.
 */
int head_poll(struct pollfd *fds, nfds_t n, int64_t deadline, const sigset_t *mask, int *ready);
/* What poll reports of one stream, from inside. */
short head_events(struct call *c, short events);

/* dump.c, outside: draw the stream of that number of this process's arena: 0 or an errno. */
int dump_own(unsigned int id, FILE *to);

#endif
