/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_ustreams.c: our streams as a subject: a pipe with modules pushed on
 * the writing end, and the reading end set up as the options ask.
 *
 * A read, unlike getmsg, may come in parts: str_write() cuts what is larger
 * than a head's message limit, so beyond that size the loop puts a message
 * together from several reads, as it does with a byte stream.
 */
#include "strperf_subject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <stropts.h>
#include <ustreams.h>

#include <bsd/string.h>

#include "strperf.h"

#define WRITE_CUT 65536 /* str_write() makes no larger message */

/* Modules of this package, to name in the line about an unknown one. */
static const char *const own_modules[] = {
    "pipemod", "nullmod", "bufmod", "srvmod", "testmod"};

/* ---- setting up ------------------------------------------------------------ */

static int
cannot(const char *what)
{
	complain("%s: %s", what, strerror(errno));
	return EXIT_FAILED;
}

/* Loadable modules may be known, too; these are what everybody has. */
static void
complain_module(const char *name, int fd)
{
	char known[128] = "";

	for (size_t i = 0; i < NELEM(own_modules); i++) {
		if (str_ioctl(fd, I_FIND, own_modules[i]) == -1)
			continue;
		strlcat(known, own_modules[i], sizeof(known));
		strlcat(known, ", ", sizeof(known));
	}
	complain("--push: unknown module '%s'; legal: %sor '' for none", name, known);
}

static int
push(const struct options *o, int fd)
{
	for (size_t i = 0; i < o->npush; i++) {
		if (str_ioctl(fd, I_PUSH, o->push[i]) != -1)
			continue;
		if (errno != EINVAL)
			return cannot(o->push[i]);
		if ((long)i >= ustr_tunable("nstrpush"))
			complain("--push: %zu modules; legal: up to %ld", o->npush,
			    ustr_tunable("nstrpush"));
		else
			complain_module(o->push[i], fd);
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

/*
 * A low mark above the high one is refused at every moment, so the one that
 * makes room for the other goes first.  --hiwat alone takes the low mark along.
 */
static int
set_marks(const struct options *o, int fd)
{
	long old_hi = str_ioctl(fd, I_GET_HIWAT), old_lo = str_ioctl(fd, I_GET_LOWAT);
	long hi = o->hiwat == -1 ? old_hi : o->hiwat;
	long lo = o->lowat == -1 ? (old_lo < hi ? old_lo : hi) : o->lowat;
	int first = hi < old_hi ? I_SET_LOWAT : I_SET_HIWAT;
	int second = hi < old_hi ? I_SET_HIWAT : I_SET_LOWAT;

	if (o->hiwat == -1 && o->lowat == -1)
		return EXIT_DONE;
	if (lo > hi) {
		complain(
		    "--lowat: %ld is above the high-water mark; legal: 0..%ld", lo, hi);
		return EXIT_USAGE;
	}
	if (str_ioctl(fd, first, (int)(first == I_SET_HIWAT ? hi : lo)) == -1 ||
	    str_ioctl(fd, second, (int)(second == I_SET_HIWAT ? hi : lo)) == -1)
		return cannot("--hiwat, --lowat");
	return EXIT_DONE;
}

static int
set_up(const struct options *o, const int fd[2])
{
	int flags = o->blocking ? 0 : O_NONBLOCK;
	int status = push(o, fd[1]);

	if (status == EXIT_DONE)
		status = set_marks(o, fd[0]);
	if (status != EXIT_DONE)
		return status;
	if (str_ioctl(fd[0], I_SRDOPT, o->read_mode) == -1)
		return cannot("I_SRDOPT");
	if (str_fcntl(fd[0], F_SETFL, flags) == -1 ||
	    str_fcntl(fd[1], F_SETFL, flags) == -1)
		return cannot("F_SETFL");
	return EXIT_DONE;
}

static int
open_stream(const struct options *o, size_t size, int fd[2])
{
	int status;

	(void)size;
	if (str_pipe(fd) == -1)
		return cannot("str_pipe");
	status = set_up(o, fd);
	if (status != EXIT_DONE) {
		str_close(fd[0]);
		str_close(fd[1]);
	}
	return status;
}

/* Both ends of an existing FIFO; the reader first, so that nothing waits. */
static int
open_fifo_ends(const struct options *o, const char *path, int fd[2])
{
	fd[0] = str_open(path, O_RDONLY | O_NONBLOCK);
	if (fd[0] == -1)
		return cannot(path);
	fd[1] = str_open(path, O_WRONLY | (o->blocking ? 0 : O_NONBLOCK));
	if (fd[1] == -1 || (o->blocking && str_fcntl(fd[0], F_SETFL, 0) == -1)) {
		str_close(fd[0]);
		return cannot(path);
	}
	return EXIT_DONE;
}

static int
open_fifo(const struct options *o, size_t size, int fd[2])
{
	(void)size;
	return subject_new_fifo(open_fifo_ends, o, fd);
}

/* Whether this build and the options go together. */
static int
check_build(const struct options *o)
{
	if (o->mode == MODE_THREAD || strstr(ustr_version(), "heap=malloc") == NULL)
		return EXIT_DONE;
	complain(
	    "--mode: this build keeps streams in malloc's memory (heap=malloc), which "
	    "processes do not share; legal: thread");
	return EXIT_USAGE;
}

int
ustreams_try(const struct options *o, long *hiwat, long *lowat)
{
	int fd[2], status = check_build(o);

	if (status == EXIT_DONE)
		status = open_stream(o, 0, fd);
	if (status != EXIT_DONE)
		return status;
	*hiwat = str_ioctl(fd[0], I_GET_HIWAT);
	*lowat = str_ioctl(fd[0], I_GET_LOWAT);
	str_close(fd[0]);
	str_close(fd[1]);
	return EXIT_DONE;
}

/* ---- messages ---------------------------------------------------------------- */

static ssize_t
write_msg(int fd, const void *buf, size_t n)
{
	struct strbuf data = {.len = (int)n, .buf = (char *)(uintptr_t)buf};

	return putmsg(fd, NULL, &data, 0) == -1 ? -1 : (ssize_t)n;
}

/* A hang-up reads as an empty message.  More than was asked for is a fault. */
static ssize_t
read_msg(int fd, void *buf, size_t n)
{
	struct strbuf data = {.maxlen = (int)n, .buf = buf};
	int flags = 0;
	int more = getmsg(fd, NULL, &data, &flags);

	if (more > 0) {
		errno = EMSGSIZE;
		return -1;
	}
	return more == -1 ? -1 : data.len;
}

static size_t
limit_msg(const struct options *o, const char **why)
{
	(void)o;
	*why = "strmsgsz, the largest data part of putmsg";
	return (size_t)ustr_tunable("strmsgsz");
}

static size_t
whole_msg(const struct options *o)
{
	(void)o;
	return MAX_MESSAGE;
}

static size_t
whole_write(const struct options *o)
{
	return o->read_mode == RNORM ? 0 : WRITE_CUT;
}

/* ---- the tables ----------------------------------------------------------------- */

const struct subject ustreams_rw = {
    .name = "ustreams",
    .what = "a STREAMS pipe, str_write and str_read",
    .open = open_stream,
    .read = str_read,
    .write = str_write,
    .poll = str_poll,
    .finish = subject_finish_nothing,
    .close = str_close,
    .limit = subject_no_limit,
    .whole = whole_write,
    .many = WRITE_CUT,
    .both_ways = true,
};

const struct subject ustreams_fifo = {
    .name = "ustreams",
    .what = "a STREAMS FIFO, str_write and str_read",
    .open = open_fifo,
    .read = str_read,
    .write = str_write,
    .poll = str_poll,
    .finish = subject_finish_nothing,
    .close = str_close,
    .limit = subject_no_limit,
    .whole = subject_byte_stream,
    .many = WRITE_CUT,
};

const struct subject ustreams_msg = {
    .name = "ustreams",
    .what = "a STREAMS pipe, putmsg and getmsg",
    .open = open_stream,
    .read = read_msg,
    .write = write_msg,
    .poll = str_poll,
    .finish = subject_finish_nothing,
    .close = str_close,
    .limit = limit_msg,
    .whole = whole_msg,
    .many = MAX_MESSAGE,
    .both_ways = true,
};
