/* SPDX-License-Identifier: BSD-2-Clause */
/* strname.c: the stream that a name leads to, and its sides. */
#include "strname.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ddi.h>
#include <sys/stat.h>

#include <ustreams.h>

#include "modlist.h"
#include "strpath.h"

static const char devices[] = "/dev/streams/";

void
name_init(struct named *n, const char *name)
{
	*n = (struct named){.name = name, .kind = NAME_DEVICE, .in = -1, .out = -1};
	path_of_name(n->path, sizeof(n->path), name);
}

/* ---- what it is ----------------------------------------------------------------- */

const char *
name_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return NULL;
	return S_ISREG(st.st_mode) ? "an ordinary file"
	    : S_ISDIR(st.st_mode)  ? "a directory"
	    : S_ISCHR(st.st_mode)  ? "a device of the kernel"
	    : S_ISBLK(st.st_mode)  ? "a device of the kernel"
	    : S_ISSOCK(st.st_mode) ? "a socket"
				   : "a FIFO";
}

bool
name_may_come(const struct named *n)
{
	struct stat st;

	return stat(n->path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0;
}

bool
name_is_fifo(const struct named *n)
{
	const char *device = n->path + sizeof(devices) - 1;
	struct stat st;

	if (strncmp(n->path, devices, sizeof(devices) - 1) == 0)
		return strncmp(device, "fifo", 4) == 0 ||
		    strcmp(device, "clone/fifo") == 0;
	return stat(n->path, &st) == 0 && S_ISFIFO(st.st_mode);
}

static enum name_kind
kind_of(int fd)
{
	struct modlist l;
	struct stat st;

	if (modlist_read(fd, &l) == 0 && l.driver && strcmp(l.names[l.n - 1], "fifo") == 0)
		return NAME_FIFO;
	return str_fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) ? NAME_PIPE : NAME_DEVICE;
}

bool
name_can_meet(const struct named *n, const char *instance, char *why, size_t size)
{
	if (instance == NULL)
		instance = secure_getenv("USTREAMS_INSTANCE");
	if ((instance != NULL && *instance != '\0') || !name_is_fifo(n) ||
	    strcmp(n->path, "/dev/streams/clone/fifo") == 0)
		return true;
	snprintf(why, size,
	    "%.1000s: without an instance nobody can be met here; legal: -I NAME or "
	    "USTREAMS_INSTANCE=NAME, the same for both programs",
	    n->name);
	return false;
}

/* ---- opening ---------------------------------------------------------------------- */

/* One descriptor, which does not block, or -1 with errno. */
static int
open_one(const char *path, int how, bool wait)
{
	int fd = str_open(path, how | (wait ? 0 : O_NONBLOCK));

	if (fd != -1 && isastream(fd) != 1) {
		str_close(fd);
		errno = ENXIO;
		return -1;
	}
	if (fd != -1 && wait)
		str_fcntl(fd, F_SETFL, how | O_NONBLOCK);
	return fd;
}

/*
 * Both sides of a FIFO: the reader first, which is what the writer waits for.  One
 * that was cloned (fd) is opened by the minor it got.
 */
static int
open_fifo(struct named *n, int fd)
{
	struct stat st;

	if (strcmp(n->path, "/dev/streams/clone/fifo") == 0 && str_fstat(fd, &st) == 0)
		snprintf(n->path, sizeof(n->path), "%sfifo/%u", devices,
		    getminor(st.st_rdev));
	n->in = open_one(n->path, O_RDONLY, false);
	if (n->in != -1)
		n->out = open_one(n->path, O_WRONLY, false);
	return n->in == -1 || n->out == -1 ? errno : 0;
}

static int
open_both(struct named *n)
{
	int how = name_is_fifo(n) ? O_RDONLY : O_RDWR;
	int fd = open_one(n->path, how, false), error;

	if (fd == -1)
		return errno;
	n->kind = kind_of(fd);
	if (n->kind != NAME_FIFO && how == O_RDWR) {
		n->in = n->out = fd;
		return 0;
	}
	if (n->kind == NAME_FIFO) {
		error = open_fifo(n, fd);
	} else {
		n->in = n->out = open_one(n->path, O_RDWR, false);
		error = n->in == -1 ? errno : 0;
	}
	str_close(fd);
	return error;
}

int
name_open(struct named *n, int sides, bool wait)
{
	int fd, error;

	if (sides == (SIDE_IN | SIDE_OUT)) {
		error = open_both(n);
		if (error != 0)
			name_close(n, sides);
		return error;
	}
	fd = open_one(n->path, sides == SIDE_IN ? O_RDONLY : O_WRONLY, wait);
	if (fd == -1)
		return errno;
	n->kind = kind_of(fd);
	*(sides == SIDE_IN ? &n->in : &n->out) = fd;
	return 0;
}

void
name_close(struct named *n, int sides)
{
	int in = n->in, out = n->out;

	if ((sides & SIDE_IN) != 0)
		n->in = -1;
	if ((sides & SIDE_OUT) != 0)
		n->out = -1;
	if (in != -1 && n->in == -1 && in != n->out)
		str_close(in);
	if (out != -1 && n->out == -1 && out != n->in && out != in)
		str_close(out);
}

const char *
name_full(void)
{
	const char *fault = ustr_instancefault();

	return fault != NULL ? fault : "the arena is full; a larger USTREAMS_ARENA helps, for "
				       "who makes the instance";
}

const char *
name_why(const struct named *n, int error)
{
	static const char legal[] = "legal: a FIFO, a path with a stream attached, a device "
				    "such as echo or /dev/streams/echo/0";
	static char why[4096];
	const char *file = name_file(n->path);

	if (error == ENXIO && file != NULL && strcmp(file, "a FIFO") != 0)
		snprintf(why, sizeof(why), "%.1000s: not a stream but %s; %s", n->name, file,
		    legal);
	else if (error == ENXIO && file != NULL)
		snprintf(why, sizeof(why), "%.1000s: nobody reads this FIFO", n->name);
	else if (error == ENXIO || error == ENOENT)
		snprintf(why, sizeof(why), "%.1000s: no such device or path; %s", n->name,
		    legal);
	else
		snprintf(why, sizeof(why), "%.1000s: %s", n->name,
		    error == ENOSR  ? name_full()
		    : error == ETIME ? "it is being opened or closed by a process that is stopped"
				     : strerror(error));
	return why;
}
