/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ustreams.c: the public calls: errno at the edge, kernel descriptors through.
 *
 * Each is: enter, do, leave, and turn an errno into -1.  What they do stands
 * in the head_*.c files (calls.h).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "calls.h"
#include "head_attach.h"
#include "msg.h"
#include "node.h"
#include "plat_event.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ddi.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <ustreams.h>

#define MANY_FDS 256 /* str_poll: below it the limit is not asked for */

static NOINLINE int
fail(int error)
{
	errno = error;
	return -1;
}

INLINE ssize_t
result(int error, size_t n)
{
	return likely(error == 0) ? (ssize_t)n : fail(error);
}

/* In a section already: this call comes from a handler or a put procedure. */
static bool
inside(void)
{
	return slot_tls != NULL && ld_rlx(&slot_tls->sl_home) != NULL;
}

/* ---- opening and closing ------------------------------------------------------------ */

/* A path from the program, and a slot to go on with: 0 or an errno. */
static int
take_path(char *mine, const char *path)
{
	if (slot_self() == NULL)
		return errno;
	return inside() ? EDEADLK : plat_copystr(mine, path, PATH_MAX);
}

int
str_open(const char *path, int oflag, ...)
{
	struct file *f;
	char mine[PATH_MAX];
	int fd, error = take_path(mine, path);

	if (error != 0)
		return fail(error);
	f = file_make(NULL, oflag);
	if (f == NULL)
		return fail(ENOSR);
	error = head_open(mine, oflag, f);
	if (error != 0) {
		file_giveup(f);
		call_over(slot_tls);
		return fail(error);
	}
	fd = fd_install(f, 0, oflag & O_CLOEXEC);
	call_over(slot_tls);
	return fd >= 0 ? fd : fail(-fd);
}

int
str_pipe(int fd[2])
{
	struct stdata *sd[2];
	struct file *f[2];
	int error, end[2];

	if (slot_self() == NULL)
		return -1;
	if (inside())
		return fail(EDEADLK);
	if (!plat_judge(fd, 2 * sizeof(int)))
		return fail(EFAULT);
	error = head_pipe(sd);
	if (error != 0)
		return fail(error);
	for (int i = 0; i < 2; i++) {
		sd[i]->sd_opens = 1;
		f[i] = file_make(sd[i], O_RDWR);
	}
	for (int i = 0; i < 2; i++) {
		if (f[i] == NULL)
			head_abandon(sd[i]);
		else
			file_inhand(f[i]); /* of two only one is (salvage.h, F1) */
		end[i] = f[i] != NULL ? fd_install(f[i], 0, false) : -ENOSR;
	}
	for (int i = 0; i < 2 && error == 0; i++)
		error = end[i] < 0 ? -end[i] : 0;
	if (error == 0)
		error = plat_copyout(fd, end, sizeof(end));
	for (int i = 0; i < 2 && error != 0; i++)
		if (end[i] >= 0)
			fd_close(end[i], false);
	return error == 0 ? 0 : fail(error);
}

int
str_close(int fd)
{
	struct fdent *e;
	int error;

	if (slot_root == NULL || slot_self() == NULL)
		return close(fd);
	if (inside())
		return fail(EDEADLK);
	e = fd_entry(slot_tls->sl_pslot, fd);
	if (e == NULL || ld_acq(&e->fe_file) == NULL)
		return close(fd);
	error = fd_close(fd, true);
	call_over(slot_tls);
	return error == 0 ? 0 : fail(error);
}

/* ---- reading and writing --------------------------------------------------------------- */

ssize_t
str_read(int fd, void *buf, size_t n)
{
	struct iovec iov = { buf, n };
	struct call c;
	size_t got = 0;
	int error = call_enter(&c, fd);

	if (unlikely(error != 0))
		return error == ENOSTR ? read(fd, buf, n) : fail(error);
	error = head_read(&c, &iov, 1, &got);
	call_leave(&c);
	return result(error, got);
}

ssize_t
str_write(int fd, const void *buf, size_t n)
{
	struct iovec iov = { (void *)(uintptr_t)buf, n };
	struct call c;
	size_t done = 0;
	int error = call_enter(&c, fd);

	if (unlikely(error != 0))
		return error == ENOSTR ? write(fd, buf, n) : fail(error);
	error = head_write(&c, &iov, 1, &done);
	call_leave(&c);
	return result(error, done);
}

/* The vector, copied so that it cannot change under us: 0 or an errno. */
static int
take_iov(struct iovec *mine, const struct iovec *iov, int n)
{
	if (n < 0 || n > IOV_MAX)
		return EINVAL;
	if (!plat_judge(iov, (size_t)n * sizeof(*iov)))
		return EFAULT;
	return plat_copyin(mine, iov, (size_t)n * sizeof(*iov));
}

ssize_t
str_readv(int fd, const struct iovec *iov, int n)
{
	struct iovec mine[n > 0 && n <= IOV_MAX ? n : 1];
	struct call c;
	size_t got = 0;
	int error = call_enter(&c, fd);

	if (error != 0)
		return error == ENOSTR ? readv(fd, iov, n) : fail(error);
	error = take_iov(mine, iov, n);
	if (error == 0)
		error = head_read(&c, mine, n, &got);
	call_leave(&c);
	return result(error, got);
}

ssize_t
str_writev(int fd, const struct iovec *iov, int n)
{
	struct iovec mine[n > 0 && n <= IOV_MAX ? n : 1];
	struct call c;
	size_t done = 0;
	int error = call_enter(&c, fd);

	if (error != 0)
		return error == ENOSTR ? writev(fd, iov, n) : fail(error);
	error = take_iov(mine, iov, n);
	if (error == 0)
		error = head_write(&c, mine, n, &done);
	call_leave(&c);
	return result(error, done);
}

/* ---- messages ------------------------------------------------------------------------------ */

int
putmsg(int fd, const struct strbuf *ctl, const struct strbuf *data, int flags)
{
	struct call c;
	int error = call_enter(&c, fd);

	if (unlikely(error != 0))
		return fail(error);
	error = head_putmsg(&c, ctl, data, 0, flags, false);
	call_leave(&c);
	return error == 0 ? 0 : fail(error);
}

int
putpmsg(int fd, const struct strbuf *ctl, const struct strbuf *data, int band, int flags)
{
	struct call c;
	int error = call_enter(&c, fd);

	if (unlikely(error != 0))
		return fail(error);
	error = head_putmsg(&c, ctl, data, band, flags, true);
	call_leave(&c);
	return error == 0 ? 0 : fail(error);
}

int
getmsg(int fd, struct strbuf *ctl, struct strbuf *data, int *flagsp)
{
	struct call c;
	int more, error = call_enter(&c, fd);

	if (unlikely(error != 0))
		return fail(error);
	error = head_getmsg(&c, ctl, data, NULL, flagsp, false, &more);
	call_leave(&c);
	return error == 0 ? more : fail(error);
}

int
getpmsg(int fd, struct strbuf *ctl, struct strbuf *data, int *bandp, int *flagsp)
{
	struct call c;
	int more, error = call_enter(&c, fd);

	if (unlikely(error != 0))
		return fail(error);
	error = head_getmsg(&c, ctl, data, bandp, flagsp, true, &more);
	call_leave(&c);
	return error == 0 ? more : fail(error);
}

int
isastream(int fd)
{
	struct call c;
	int error = call_enter(&c, fd);

	if (error == 0)
		call_leave(&c);
	return error == 0 ? 1 : error == ENOSTR ? 0 : fail(error);
}

/* ---- names ------------------------------------------------------------------------------------- */

int
fattach(int fd, const char *path)
{
	char mine[PATH_MAX];
	int error = take_path(mine, path);

	if (error == 0)
		error = attach_add(fd, mine);
	return error == 0 ? 0 : fail(error);
}

int
fdetach(const char *path)
{
	char mine[PATH_MAX];
	int error = take_path(mine, path);

	if (error == 0)
		error = attach_remove(mine);
	if (error == 0)
		call_over(slot_tls);
	return error == 0 ? 0 : fail(error);
}

mblk_t *
str_mblkalloc(size_t n)
{
	mblk_t *mp = allocb(n, BPRI_MED);

	if (mp == NULL)
		errno = ENOSR;
	return mp;
}

int
str_putmblk(int fd, mblk_t *mp)
{
	struct call c;
	int error;

	if (unlikely((intptr_t)mp <= 0)) /* no address of a program */
		return fail(mp == NULL ? EINVAL : EFAULT);
	error = call_enter(&c, fd);
	if (unlikely(error != 0))
		return fail(error);
	error = head_putmblk(&c, mp);
	call_leave(&c);
	return error == 0 ? 0 : fail(error);
}

int
str_getmblk(int fd, mblk_t **mpp)
{
	struct call c;
	mblk_t *none = NULL;
	int error = EFAULT;

	/* Before anything is taken off the queue. */
	if (plat_judge(mpp, sizeof(*mpp)) && plat_copyout(mpp, &none, sizeof(none)) == 0)
		error = call_enter(&c, fd);

	if (unlikely(error != 0))
		return fail(error);
	error = head_getmblk(&c, mpp);
	call_leave(&c);
	return error == 0 ? 0 : fail(error);
}

/* ---- control ----------------------------------------------------------------------------------- */

int
str_ioctl(int fd, int cmd, ...)
{
	struct call c;
	va_list ap;
	void *arg;
	int rval, error;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	error = call_enter(&c, fd);
	if (error == ENOSTR)
		/* The kernel knows no streamio; an unrelated command is its own. */
		return (cmd >> 8) == 'S' ? fail(ENOTTY) : ioctl(fd, (unsigned long)(unsigned int)cmd, arg);
	if (error != 0)
		return fail(error);
	error = head_ioctl(&c, cmd, arg, &rval);
	call_leave(&c);
	return error == 0 ? rval : fail(error);
}

/* Of a wait that begins now and lasts ms milliseconds, -1 for ever. */
static int64_t
deadline_of(int ms)
{
	if (ms <= 0)
		return ms == 0 ? 0 : PLAT_NEVER;
	return plat_now() + (int64_t)ms * 1000000;
}

int
str_poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct pollfd *mine = fds;
	int ready = 0, error = 0;

	if (n > MANY_FDS && n > (nfds_t)sysconf(_SC_OPEN_MAX))
		return fail(EINVAL);
	if (!plat_judge(fds, n * sizeof(*fds)))
		return fail(EFAULT);
	if (unlikely(plat_checked) && n > 0) {
		mine = malloc(n * sizeof(*mine));
		if (mine == NULL)
			return fail(ENOMEM);
		error = plat_copyin(mine, fds, n * sizeof(*mine));
	}
	if (error == 0)
		error = head_poll(mine, n, deadline_of(ms), NULL, &ready);
	if (mine != fds) {
		if (error == 0)
			error = plat_copyout(fds, mine, n * sizeof(*mine));
		free(mine);
	}
	return error == 0 ? ready : fail(error);
}

static int
set_flags(struct call *c, int flags)
{
	uint32_t old = ld_rlx(&c->c_file->f_flags), new;

	do
		new = (old & ~(uint32_t)O_NONBLOCK) | ((uint32_t)flags & O_NONBLOCK);
	while (!cas(&c->c_file->f_flags, &old, new));
	return 0;
}

/* The commands that need the open file or the entry; dup has its own way. */
static int
fcntl_inside(struct call *c, int cmd, int arg, int *rval)
{
	struct fdent *e = fd_entry(c->c_me->sl_pslot, c->c_fd);

	*rval = 0;
	switch (cmd) {
	case F_GETFL:
		*rval = (int)ld_rlx(&c->c_file->f_flags);
		return 0;
	case F_SETFL:
		return set_flags(c, arg);
	case F_GETFD:
		*rval = ld_rlx(&e->fe_cloexec) ? FD_CLOEXEC : 0;
		return 0;
	case F_SETFD:
		st_rlx(&e->fe_cloexec, (uint32_t)(arg & FD_CLOEXEC));
		return 0;
	}
	return EINVAL;
}

int
str_fcntl(int fd, int cmd, ...)
{
	struct call c;
	va_list ap;
	long arg;
	int rval, error;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	error = call_enter(&c, fd);
	if (error == ENOSTR)
		return fcntl(fd, cmd, arg);
	if (error != 0)
		return fail(error);
	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC) {
		call_leave(&c);
		rval = fd_dup(fd, (int)arg, cmd == F_DUPFD_CLOEXEC);
		return rval >= 0 ? rval : fail(-rval);
	}
	error = fcntl_inside(&c, cmd, (int)arg, &rval);
	call_leave(&c);
	return error == 0 ? rval : fail(error);
}

int
str_dup(int fd)
{
	struct call c;
	int error = call_enter(&c, fd);

	if (error == ENOSTR)
		error = fd_kernels(fd);
	if (error != 0)
		return error == ENOSTR ? dup(fd) : fail(error);
	call_leave(&c);
	error = fd_dup(fd, 0, false);
	return error >= 0 ? error : fail(-error);
}

int
str_dup2(int fd, int to)
{
	struct call c;
	struct fdent *e;
	int error = call_enter(&c, fd);

	if (error == ENOSTR)
		error = fd_kernels(fd);
	if (error != 0 && error != ENOSTR)
		return fail(error);
	if (error == 0) {
		call_leave(&c);
		error = fd_dup2(fd, to);
		call_over(slot_tls);
		return error >= 0 ? error : fail(-error);
	}
	/* A kernel descriptor onto a stream: the stream is closed first. */
	e = slot_tls == NULL || fd == to ? NULL : fd_entry(slot_tls->sl_pslot, to);
	if (e != NULL && ld_acq(&e->fe_file) != NULL)
		(void)fd_close(to, true);
	if (slot_tls != NULL)
		call_over(slot_tls);
	return dup2(fd, to);
}

/* What a stream looks like; a FIFO of the file system looks like its file. */
static void
describe(const struct stdata *sd, struct stat *st)
{
	const struct plat_path *pp = sd->sd_node != NULL ? &sd->sd_node->nd_path : NULL;

	st->st_mode = (sd->sd_kind == HEAD_DEVICE ? S_IFCHR : S_IFIFO) | 0600;
	st->st_nlink = 1;
	st->st_uid = sd->sd_uid;
	st->st_gid = sd->sd_gid;
	st->st_ino = sd->sd_id;
	st->st_blksize = 4096;
	if (sd->sd_reg != NULL)
		st->st_rdev = makedevice(sd->sd_reg->re_major, sd->sd_minor);
	if (pp == NULL || pp->pp_dev == NODE_DEVICE)
		return;
	st->st_dev = pp->pp_dev;
	st->st_ino = pp->pp_ino;
	st->st_mode = pp->pp_mode;
	st->st_uid = pp->pp_uid;
	st->st_gid = pp->pp_gid;
	st->st_rdev = 0;
}

int
str_fstat(int fd, struct stat *st)
{
	struct call c;
	struct stat mine = { 0 };
	int error = call_enter(&c, fd);

	if (error != 0)
		return error == ENOSTR ? fstat(fd, st) : fail(error);
	describe(c.c_head, &mine);
	error = plat_judge(st, sizeof(*st)) ? plat_copyout(st, &mine, sizeof(mine)) : EFAULT;
	call_leave(&c);
	return error == 0 ? 0 : fail(error);
}

off_t
str_lseek(int fd, off_t off, int whence)
{
	struct call c;
	int error = call_enter(&c, fd);

	if (error == ENOSTR)
		return lseek(fd, off, whence);
	if (error == 0)
		call_leave(&c);
	return fail(error == 0 ? ESPIPE : error);
}

int
ustr_dump(int fd, FILE *to)
{
	struct call c;
	unsigned int id;
	int error = to == NULL ? EINVAL : call_enter(&c, fd);

	if (error != 0)
		return fail(error);
	id = c.c_head->sd_id;
	call_leave(&c);
	error = dump_own(id, to);
	return error == 0 ? 0 : fail(error);
}
