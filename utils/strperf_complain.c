/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_complain.c: the one way in which the programs complain.
 */
#include "strperf.h"

#include <stdarg.h>
#include <stdio.h>

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
	fprintf(stderr, "%s: ", program);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	putc('\n', stderr);
}
