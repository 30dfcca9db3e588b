/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_csv.c: comma-separated values (RFC 4180), and raw samples.
 */
#include "strperf_csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void
csv_begin(struct csv *c, FILE *f)
{
	*c = (struct csv){.f = f};
}

static void
lead(struct csv *c)
{
	if (c->more)
		putc(',', c->f);
	c->more = true;
}

void
csv_text(struct csv *c, const char *value)
{
	bool quoted = strpbrk(value, ",\"\r\n") != NULL;

	lead(c);
	if (!quoted) {
		fputs(value, c->f);
		return;
	}
	putc('"', c->f);
	for (; *value != '\0'; value++) {
		if (*value == '"')
			putc('"', c->f);
		putc(*value, c->f);
	}
	putc('"', c->f);
}

void
csv_number(struct csv *c, double value)
{
	lead(c);
	if (isfinite(value))
		fprintf(c->f, "%.9g", value);
}

void
csv_count(struct csv *c, uint64_t value)
{
	lead(c);
	fprintf(c->f, "%" PRIu64, value);
}

void
csv_end(struct csv *c)
{
	putc('\n', c->f);
}

void
raw_sample(FILE *f, double value, const char *fmt, ...)
{
	va_list ap;

	if (!isfinite(value))
		return;
	fprintf(f, "%.9g ", value);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	putc('\n', f);
}
