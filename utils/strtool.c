/* SPDX-License-Identifier: BSD-2-Clause */
/* strtool.c: streams by name, and lines for people. */
#include "strtool.h"
#include "cutshort.h"
#include "oneline.h"
#include "strpath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stropts.h>
#include <ustreams.h>

static const char *program = "";

/*
 * Who was started without one of the three would get a stream or an arena under its
 * number, and print into that.  Reading finds an end, writing fails.
 */
static void
hold_standard(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDONLY) == -1)
			_exit(TOOL_USAGE);
}

static bool
reader_left(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR) != 0;
}

int
tool_flush(void)
{
	static bool told;
	bool failed = ferror(stdout) != 0;

	errno = 0;
	if ((fflush(stdout) == 0 && !failed) || reader_left())
		return 0;
	if (!told)
		tool_complain("standard output: %s",
		    errno != 0 ? strerror(errno) : "not all could be written");
	told = true;
	return -1;
}

/* Nothing that was printed may get lost unheard, whatever way the program ends. */
static void
check_output(void)
{
	if (tool_flush() != 0)
		_exit(TOOL_USAGE);
}

void
tool_begin(const char *name)
{
	program = name;
	hold_standard();
	cutshort_begin(name, TOOL_USAGE);
	atexit(check_output);
}

void
tool_complain(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	oneline(program, fmt, ap);
	va_end(ap);
}

bool
tool_library(void)
{
	const char *fault = ustr_tunefault();

	if (fault == NULL)
		fault = ustr_instancefault();
	if (fault != NULL)
		tool_complain("%s", fault);
	return fault == NULL;
}

static const char *
kind_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return NULL;
	return S_ISREG(st.st_mode) ? "an ordinary file"
	    : S_ISDIR(st.st_mode)  ? "a directory"
	    : S_ISCHR(st.st_mode)  ? "a device of the kernel"
	    : S_ISSOCK(st.st_mode) ? "a socket"
				   : "a file";
}

int
tool_open(const char *name)
{
	char path[4096];
	int fd, error;

	if (!tool_library())
		return -1;
	path_of_name(path, sizeof(path), name);
	fd = str_open(path, O_RDWR | O_NONBLOCK);
	error = errno;
	if (fd != -1 && isastream(fd) == 1)
		return fd;
	if (fd != -1)
		str_close(fd);
	if (fd != -1 || (error == ENXIO && kind_of(path) != NULL))
		tool_complain(
		    "%s: not a stream but %s; legal: a device such as echo or "
		    "/dev/streams/echo/0, a FIFO, a path with a stream attached",
		    name, kind_of(path));
	else
		tool_complain("%s: %s", name,
		    error == ENOENT || error == ENXIO ? "no such device or path"
		    : error == ETIME ? "it is being opened or closed by a process that is stopped"
		    : error == ENOSR ? tool_reason(error)
				     : strerror(error));
	return -1;
}

int
tool_open_numbered(const char *name)
{
	unsigned long id;
	int fd;

	if (*name == '\0' || name[strspn(name, "0123456789")] != '\0' || access(name, F_OK) == 0)
		return tool_open(name);
	id = strtoul(name, NULL, 10);
	fd = ustr_openid(id <= UINT_MAX ? (unsigned int)id : 0);
	if (fd == -1)
		tool_complain("%s: %s", name,
		    errno != ENOENT ? strerror(errno)
		    : secure_getenv("USTREAMS_INSTANCE") == NULL
			? "no such stream here; the number of one is looked for in an "
			  "instance: -I NAME"
			: "no process of the instance has a stream of that number open");
	return fd;
}

const char *
tool_reason(int error)
{
	static const struct {
		int error;
		const char *words;
	} reasons[] = {{EINVAL, "no such module, or no more can be pushed"},
	    {ENOENT, "no such module on the stream"}, {ENXIO, "the stream is hung up"},
	    {EPERM, "an anchor is in the way"},
	    {ETIME, "a stopped process holds the stream"}, {E2BIG, "too many modules"}};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].error == error)
			return reasons[i].words;
	/* The file system may be full. */
	return error == ENOSR && ustr_instancefault() != NULL ? ustr_instancefault()
							      : strerror(error);
}

const char *
tool_refused(char **argv)
{
	static char letter[3] = "-?";

	/* getopt_long() has left a long one behind it, but not always a short one's word. */
	if (optopt == 0)
		return argv[optind - 1];
	letter[1] = (char)optopt;
	return letter;
}

void
tool_standard_options(int argc, char **argv, const char *usage)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0)
			puts(usage);
		else if (strcmp(argv[i], "--version") == 0)
			puts(ustr_version());
		else
			continue;
		exit(TOOL_OK);
	}
}
