/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_stream.c: verbs that open and close streams, and deal with names of files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stropts.h>
#include <ustreams.h>

#include "strtest_args.h"
#include "strtest_expr.h"
#include "strtest_forms.h"

/* A call that returns a descriptor: name it if it did. */
static void
name_it(struct run *r, const struct command *c, struct outcome *o, int i, int fd,
    enum handle_kind kind)
{
	out_call(o, fd);
	if (fd == -1)
		return;
	handles_set(r, arg_at(c, i)->at, arg_name(c, i), fd, kind);
	o->result = value_number(0);
}

static void
do_open(struct run *r, const struct command *c, struct outcome *o)
{
	const char *path = arg_path(r, c, 1);
	int flags = (int)arg_number(r, c, 2, O_RDWR),
	    mode = (int)arg_number(r, c, 3, 0600);

	if (key_given(c, "at"))
		path = key_pointer(r, c, "at", NULL);
	name_it(r, c, o, 0, str_open(path, flags, mode), HANDLE_STREAM);
}

static void
name_two(struct run *r, const struct command *c, struct outcome *o, int result, int fd[2],
    enum handle_kind kind)
{
	out_call(o, result);
	if (result == -1)
		return;
	handles_set(r, arg_at(c, 0)->at, arg_name(c, 0), fd[0], kind);
	handles_set(r, arg_at(c, 1)->at, arg_name(c, 1), fd[1], kind);
}

static void
do_pipe(struct run *r, const struct command *c, struct outcome *o)
{
	int flags = (int)arg_number(r, c, 2, 0), fd[2];

	name_two(r, c, o, str_pipe(key_pointer(r, c, "at", fd)), fd, HANDLE_STREAM);
	if (o->error == 0 && flags != 0) {
		str_fcntl(fd[0], F_SETFL, flags);
		str_fcntl(fd[1], F_SETFL, flags);
	}
}

static void
do_kpipe(struct run *r, const struct command *c, struct outcome *o)
{
	int fd[2];

	name_two(r, c, o, pipe2(fd, O_NONBLOCK), fd, HANDLE_KERNEL);
}

static void
do_ksocket(struct run *r, const struct command *c, struct outcome *o)
{
	int fd[2];

	name_two(r, c, o, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), fd,
	    HANDLE_KERNEL);
}

static void
do_kopen(struct run *r, const struct command *c, struct outcome *o)
{
	int fd = open(arg_word(r, c, 1), (int)arg_number(r, c, 2, O_RDONLY), 0600);

	name_it(r, c, o, 0, fd, HANDLE_KERNEL);
}

static void
do_eventfd(struct run *r, const struct command *c, struct outcome *o)
{
	int fd = str_eventfd(arg_fd(r, c, 0), (short)arg_number(r, c, 1, 0));

	name_it(r, c, o, 2, fd, HANDLE_BORROWED);
}

static void
do_close(struct run *r, const struct command *c, struct outcome *o)
{
	for (int i = 0; i < c->nargs && o->error == 0; i++) {
		int fd = arg_fd(r, c, i);

		out_call(o, str_close(fd));
		if (o->error == 0)
			handles_closed(r, fd);
	}
}

static void
do_dup(struct run *r, const struct command *c, struct outcome *o)
{
	name_it(r, c, o, 1, str_dup(arg_fd(r, c, 0)), HANDLE_STREAM);
}

static void
do_dup2(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, str_dup2(arg_fd(r, c, 0), arg_fd(r, c, 1)));
	if (o->error == 0)
		o->result = value_number(0);
}

static void
do_push(struct run *r, const struct command *c, struct outcome *o)
{
	int fd = arg_fd(r, c, 0);

	for (int i = 1; i < c->nargs && o->error == 0; i++)
		out_call(o, str_ioctl(fd, I_PUSH, arg_word(r, c, i)));
}

static void
do_pop(struct run *r, const struct command *c, struct outcome *o)
{
	int fd = arg_fd(r, c, 0);
	long long n = arg_number(r, c, 1, 1);

	for (long long i = 0; i < n && o->error == 0; i++)
		out_call(o, str_ioctl(fd, I_POP, 0));
}

/* Commands of fcntl are below O_NONBLOCK, or written as F_...; flags are set. */
static void
do_fcntl(struct run *r, const struct command *c, struct outcome *o)
{
	int fd = arg_fd(r, c, 0), cmd = (int)arg_number(r, c, 1, 0);
	bool named = strncmp(arg_at(c, 1)->source, "F_", 2) == 0 || key_given(c, "raw");

	if (!named)
		out_call(o, str_fcntl(fd, F_SETFL, cmd));
	else
		out_call(o, str_fcntl(fd, cmd, (int)arg_number(r, c, 2, 0)));
}

static void
do_fstat(struct run *r, const struct command *c, struct outcome *o)
{
	struct stat st = {0};

	out_call(o, str_fstat(arg_fd(r, c, 0), key_pointer(r, c, "at", &st)));
	out_number(o, "mode", st.st_mode & S_IFMT);
}

static void
do_lseek(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o,
	    str_lseek(arg_fd(r, c, 0), arg_number(r, c, 1, 0),
		(int)arg_number(r, c, 2, SEEK_SET)));
}

static void
do_isastream(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, isastream(arg_fd(r, c, 0)));
}

/* ---- streams on names -------------------------------------------------------------------- */

static void
do_fattach(struct run *r, const struct command *c, struct outcome *o)
{
	const char *path = key_pointer(r, c, "at", arg_word(r, c, 1));

	out_call(o, fattach(arg_fd(r, c, 0), path));
}

static void
do_fdetach(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, fdetach(key_pointer(r, c, "at", arg_word(r, c, 0))));
}

/* ---- names of files ------------------------------------------------------------------- */

static void
do_mkfifo(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, mkfifo(arg_word(r, c, 0), (mode_t)arg_number(r, c, 1, 0600)));
}

static void
do_touch(struct run *r, const struct command *c, struct outcome *o)
{
	int fd = open(
	    arg_word(r, c, 0), O_WRONLY | O_CREAT, (int)arg_number(r, c, 1, 0600));

	out_call(o, fd);
	if (fd == -1)
		return;
	close(fd);
	o->result = value_number(0);
}

static void
do_rm(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, unlink(arg_word(r, c, 0)));
}

static const struct form forms[] = {
    {"open", do_open, "N W I? I?", "at:I", NULL, NULL, 0},
    {"pipe", do_pipe, "N N I?", "at:I", NULL, NULL, 0},
    {"close", do_close, "H+", NULL, NULL, NULL, 0},
    {"dup", do_dup, "H N", NULL, NULL, NULL, 0},
    {"dup2", do_dup2, "H H", NULL, NULL, NULL, 0},
    {"push", do_push, "H W+", NULL, NULL, NULL, 0},
    {"pop", do_pop, "H I?", NULL, NULL, NULL, 0},
    {"fcntl", do_fcntl, "H I I?", "raw!", NULL, NULL, 0},
    {"fstat", do_fstat, "H", "at:I", "mode", NULL, 0},
    {"lseek", do_lseek, "H I I?", NULL, NULL, NULL, 0},
    {"isastream", do_isastream, "H", NULL, NULL, NULL, 0},
    {"fattach", do_fattach, "H W", "at:I", NULL, NULL, 0},
    {"fdetach", do_fdetach, "W", "at:I", NULL, NULL, 0},
    {"kopen", do_kopen, "N W I?", NULL, NULL, NULL, 0},
    {"eventfd", do_eventfd, "H I N", NULL, NULL, NULL, 0},
    {"kpipe", do_kpipe, "N N", NULL, NULL, NULL, 0},
    {"ksocket", do_ksocket, "N N", NULL, NULL, NULL, 0},
    {"mkfifo", do_mkfifo, "W I?", NULL, NULL, NULL, 0},
    {"touch", do_touch, "W I?", NULL, NULL, NULL, 0},
    {"rm", do_rm, "W", NULL, NULL, NULL, 0},
};

const struct form_table forms_stream = {forms, NELEM(forms)};
