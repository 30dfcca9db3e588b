/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_complain.c: the one way in which the programs complain, and what they
 * say when their results get lost.
 */
#include "strperf.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "oneline.h"

static const char *program = "strperf";

void
complain_as(const char *name)
{
	program = name;
}

void
complain(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	oneline(program, fmt, ap);
	va_end(ap);
}

/* Whether stdout is a pipe that nobody reads any more, as behind `| head'. */
static bool
reader_left(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR) != 0;
}

int
results_written(int status)
{
	bool failed = ferror(stdout) != 0;

	errno = 0;
	if ((fflush(stdout) == 0 && !failed) || reader_left())
		return status;
	complain("the results could not be written: %s",
	    errno == 0 ? "write error" : strerror(errno));
	return status == EXIT_DONE ? EXIT_FAILED : status;
}
