/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_subject.c: the kernel's transports, as peers of our streams.
 *
 * Each keeps the capacity the kernel gives it by default (a pipe 64 KiB, as a
 * stream head here).  Pipes, FIFOs and stream sockets carry bytes: the loop
 * reads exactly one message size at a time.  A POSIX queue has no end of file;
 * its writer sends an empty message instead.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_subject.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strperf.h"

/* Bytes the kernel charges for a seqpacket message beside the message. */
#define SEQPACKET_OVERHEAD 32

static int
cannot(const char *what)
{
	complain("%s: %s", what, strerror(errno));
	return EXIT_FAILED;
}

/* ---- what several subjects share ------------------------------------------ */

int
subject_finish_nothing(int fd)
{
	(void)fd;
	return 0;
}

size_t
subject_no_limit(const struct options *o, const char **why)
{
	(void)o;
	*why = "the limit of --sizes";
	return MAX_MESSAGE;
}

size_t
subject_byte_stream(const struct options *o)
{
	(void)o;
	return 0;
}

/* A subject that keeps messages whole has refused, by its limit, larger ones. */
size_t
subject_always_whole(const struct options *o)
{
	(void)o;
	return MAX_MESSAGE;
}

/* ---- pipe, FIFO ----------------------------------------------------------- */

static int
open_pipe(const struct options *o, size_t size, int fd[2])
{
	(void)size;
	if (pipe2(fd, O_CLOEXEC | (o->blocking ? 0 : O_NONBLOCK)) == -1)
		return cannot("pipe2");
	return EXIT_DONE;
}

/* Both ends of an existing FIFO; the reader first, so that nothing waits. */
static int
open_fifo_ends(const struct options *o, const char *path, int fd[2])
{
	fd[0] = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd[0] == -1)
		return cannot(path);
	fd[1] = open(path, O_WRONLY | O_CLOEXEC | (o->blocking ? 0 : O_NONBLOCK));
	if (fd[1] == -1 || (o->blocking && fcntl(fd[0], F_SETFL, 0) == -1)) {
		close(fd[0]);
		return cannot(path);
	}
	return EXIT_DONE;
}

int
subject_new_fifo(int (*open_ends)(const struct options *o, const char *path, int fd[2]),
    const struct options *o, int fd[2])
{
	const char *tmp = getenv("TMPDIR");
	char dir[4000], path[4096];
	int status;

	snprintf(dir, sizeof(dir), "%s/strperf.XXXXXX", tmp == NULL ? "/tmp" : tmp);
	if (mkdtemp(dir) == NULL)
		return cannot(dir);
	snprintf(path, sizeof(path), "%s/fifo", dir);
	status = mkfifo(path, 0600) == -1 ? cannot(path) : open_ends(o, path, fd);
	unlink(path);
	rmdir(dir);
	return status;
}

static int
open_fifo(const struct options *o, size_t size, int fd[2])
{
	(void)size;
	return subject_new_fifo(open_fifo_ends, o, fd);
}

/* ---- sockets --------------------------------------------------------------- */

static int
open_socketpair(const struct options *o, int type, int fd[2])
{
	type |= SOCK_CLOEXEC | (o->blocking ? 0 : SOCK_NONBLOCK);
	if (socketpair(AF_UNIX, type, 0, fd) == -1)
		return cannot("socketpair");
	return EXIT_DONE;
}

static int
open_unix(const struct options *o, size_t size, int fd[2])
{
	(void)size;
	return open_socketpair(o, SOCK_STREAM, fd);
}

static int
open_seqpacket(const struct options *o, size_t size, int fd[2])
{
	(void)size;
	return open_socketpair(o, SOCK_SEQPACKET, fd);
}

static size_t
limit_seqpacket(const struct options *o, const char **why)
{
	socklen_t len = sizeof(int);
	int fd[2], room = 0;

	*why = "SO_SNDBUF, which net.core.wmem_default sets";
	if (open_socketpair(o, SOCK_SEQPACKET, fd) != EXIT_DONE)
		return 0;
	getsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &room, &len);
	close(fd[0]);
	close(fd[1]);
	return room > SEQPACKET_OVERHEAD ? (size_t)(room - SEQPACKET_OVERHEAD) : 0;
}

/* ---- POSIX message queue ---------------------------------------------------- */

/* A number of /proc/sys/fs/mqueue, or what every Linux starts with. */
static long
mq_setting(const char *name, long fallback)
{
	char path[64];
	long value = fallback;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/fs/mqueue/%s", name);
	f = fopen(path, "re");
	if (f == NULL)
		return fallback;
	if (fscanf(f, "%ld", &value) != 1)
		value = fallback;
	fclose(f);
	return value;
}

static size_t
limit_mq(const struct options *o, const char **why)
{
	(void)o;
	*why = "/proc/sys/fs/mqueue/msgsize_max";
	return (size_t)mq_setting("msgsize_max", 8192);
}

static int
open_mq(const struct options *o, size_t size, int fd[2])
{
	int flags = O_CREAT | O_EXCL | O_CLOEXEC | (o->blocking ? 0 : O_NONBLOCK);
	struct mq_attr attr = {
	    .mq_maxmsg = mq_setting("msg_max", 10),
	    .mq_msgsize = (long)size,
	};
	char name[32];

	snprintf(name, sizeof(name), "/strperf.%ld", (long)getpid());
	mq_unlink(name);
	fd[0] = mq_open(name, O_RDONLY | flags, 0600, &attr);
	if (fd[0] == -1)
		return cannot("mq_open");
	fd[1] = mq_open(name, O_WRONLY | (flags & ~(O_CREAT | O_EXCL)));
	mq_unlink(name);
	if (fd[1] == -1) {
		mq_close(fd[0]);
		return cannot("mq_open");
	}
	return EXIT_DONE;
}

static ssize_t
read_mq(int fd, void *buf, size_t n)
{
	return mq_receive(fd, buf, n, NULL);
}

static ssize_t
write_mq(int fd, const void *buf, size_t n)
{
	return mq_send(fd, buf, n, 0) == -1 ? -1 : (ssize_t)n;
}

static int
finish_mq(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLOUT};

	while (mq_send(fd, "", 0, 0) == -1) {
		if (errno != EAGAIN && errno != EINTR)
			return -1;
		poll(&pfd, 1, -1);
	}
	return 0;
}

static int
close_mq(int fd)
{
	return mq_close(fd);
}

/* ---- the table ---------------------------------------------------------------- */

static const struct subject kernel_peers[] = {
    {
	.name = "pipe",
	.what = "the kernel's pipe",
	.open = open_pipe,
	.read = read,
	.write = write,
	.poll = poll,
	.finish = subject_finish_nothing,
	.close = close,
	.limit = subject_no_limit,
	.whole = subject_byte_stream,
	.many = PIPE_BUF,
    },
    {
	.name = "fifo",
	.what = "the kernel's FIFO",
	.open = open_fifo,
	.read = read,
	.write = write,
	.poll = poll,
	.finish = subject_finish_nothing,
	.close = close,
	.limit = subject_no_limit,
	.whole = subject_byte_stream,
	.many = PIPE_BUF,
    },
    {
	.name = "unix",
	.what = "an AF_UNIX stream socket pair",
	.open = open_unix,
	.read = read,
	.write = write,
	.poll = poll,
	.finish = subject_finish_nothing,
	.close = close,
	.limit = subject_no_limit,
	.whole = subject_byte_stream,
	.both_ways = true,
    },
    {
	.name = "seqpacket",
	.what = "an AF_UNIX seqpacket socket pair",
	.open = open_seqpacket,
	.read = read,
	.write = write,
	.poll = poll,
	.finish = subject_finish_nothing,
	.close = close,
	.limit = limit_seqpacket,
	.whole = subject_always_whole,
	.both_ways = true,
	.many = MAX_MESSAGE,
    },
    {
	.name = "mq",
	.what = "a POSIX message queue",
	.open = open_mq,
	.read = read_mq,
	.write = write_mq,
	.poll = poll,
	.finish = finish_mq,
	.close = close_mq,
	.limit = limit_mq,
	.whole = subject_always_whole,
	.many = MAX_MESSAGE,
    },
};

const struct subject *
subject_peer(size_t n)
{
	static const struct subject *const others[] = {
	    &counter_none,
#if STRPERF_ZMQ
	    &zeromq,
#endif
	};

	if (n < NELEM(kernel_peers))
		return &kernel_peers[n];
	n -= NELEM(kernel_peers);
	return n < NELEM(others) ? others[n] : NULL;
}

const struct subject *
subject_find(const char *name)
{
	const struct subject *s;

	for (size_t n = 0; (s = subject_peer(n)) != NULL; n++)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

const struct subject *
subject_ours(const struct options *o)
{
	return o->io == IO_MSG ? &ustreams_msg : &ustreams_rw;
}
