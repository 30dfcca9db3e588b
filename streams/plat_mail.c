/* SPDX-License-Identifier: BSD-2-Clause */
/* plat_mail.c: the system calls behind plat_mail.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "plat_mail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void
plat_boxname(struct plat_address *pa, const char *name)
{
	size_t n = strnlen(name, sizeof(pa->pa_name.sun_path) - 1);

	memset(pa, 0, sizeof(*pa));
	pa->pa_name.sun_family = AF_UNIX;
	memcpy(pa->pa_name.sun_path + 1, name, n);
	pa->pa_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

int
plat_box(const char *name)
{
	int box = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;
	struct plat_address pa;

	if (box < 0)
		return -1;
	if (name != NULL) {
		plat_boxname(&pa, name);
	} else {
		pa.pa_name.sun_family = AF_UNIX;
		pa.pa_len = sizeof(pa.pa_name.sun_family);
	}
	if (bind(box, (struct sockaddr *)&pa.pa_name, pa.pa_len) == 0)
		return box;
	error = errno;
	plat_close(box);
	errno = error;
	return -1;
}

union rights {
	struct cmsghdr ri_hdr;
	char ri_room[CMSG_SPACE(sizeof(int))];
};

int
plat_post(int box, const struct plat_address *to, const void *msg, size_t n, int fd)
{
	struct iovec iov = { (void *)(uintptr_t)msg, n };
	struct msghdr mh = { .msg_name = (void *)(uintptr_t)&to->pa_name,
		.msg_namelen = to->pa_len, .msg_iov = &iov, .msg_iovlen = 1 };
	union rights ri;

	if (fd >= 0) {
		memset(&ri, 0, sizeof(ri));
		mh.msg_control = &ri;
		mh.msg_controllen = sizeof(ri);
		ri.ri_hdr = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&ri.ri_hdr), &fd, sizeof(int));
	}
	return syscall(SYS_sendmsg, box, &mh, MSG_NOSIGNAL) < 0 ? errno : 0;
}

/* The descriptor in a letter just received. */
static int
enclosed(struct msghdr *mh)
{
	struct cmsghdr *cm = CMSG_FIRSTHDR(mh);
	int fd;

	if (cm == NULL || cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS ||
	    cm->cmsg_len != CMSG_LEN(sizeof(int)))
		return mh->msg_flags & MSG_CTRUNC ? -2 : -1;
	memcpy(&fd, CMSG_DATA(cm), sizeof(int));
	return fd;
}

int
plat_letter(int box, void *msg, size_t n, struct plat_address *from, int *fdp)
{
	for (;;) {
		struct iovec iov = { msg, n };
		union rights ri;
		struct msghdr mh = { .msg_name = &from->pa_name,
			.msg_namelen = sizeof(from->pa_name), .msg_iov = &iov,
			.msg_iovlen = 1, .msg_control = &ri, .msg_controllen = sizeof(ri) };
		ssize_t got = syscall(SYS_recvmsg, box, &mh, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return EAGAIN;
		from->pa_len = mh.msg_namelen;
		*fdp = enclosed(&mh);
		if ((size_t)got == n && !(mh.msg_flags & MSG_TRUNC))
			return 0;
		plat_close(*fdp);
	}
}

int
plat_random(void *buf, size_t n)
{
	return getrandom(buf, n, 0) == (ssize_t)n ? 0 : errno;
}

int
plat_dup(int fd)
{
	return fcntl(fd, F_DUPFD, 0);
}

void
plat_await(int box, int ms)
{
	struct pollfd pfd = { box, POLLIN, 0 };
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	(void)syscall(SYS_ppoll, &pfd, 1, &ts, NULL, 0);
}
