/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_draw.c: what ustr_dump() draws, and the first message that waits. */
#include "strtest_draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stropts.h>
#include <ustreams.h>

#include "strtest_args.h"

enum { PEEKED = 64 };

static const char *
part(struct pool *p, const char *name, const struct strbuf *b)
{
	struct value v = value_data(b->buf, b->len > 0 ? (size_t)b->len : 0);

	return b->len < 0 ? "" : pool_printf(p, " %s=%s", name, value_show(p, &v));
}

/* The message a read would get, without taking it. */
static const char *
first_message(struct pool *p, int fd)
{
	char ctl[PEEKED], data[PEEKED];
	struct strpeek k = {{PEEKED, -1, ctl}, {PEEKED, -1, data}, 0};
	int band = 0;

	if (str_ioctl(fd, I_PEEK, &k) != 1)
		return NULL;
	if (k.flags != RS_HIPRI)
		str_ioctl(fd, I_GETBAND, &band);
	return pool_printf(p, "  first message:%s%s%s%s",
	    k.flags == RS_HIPRI ? " hipri"
		: band > 0	? pool_printf(p, " band=%d", band)
				: "",
	    part(p, "ctl", &k.ctlbuf), part(p, "data", &k.databuf),
	    k.ctlbuf.len < PEEKED && k.databuf.len < PEEKED ? "" : " ...");
}

void
draw_one(struct run *r, const char *name, int fd)
{
	struct pool pool = {NULL};
	const char *first;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return;
	if (isastream(fd) == 1) {
		fprintf(f, "%s = ", name);
		ustr_dump(fd, f);
		first = first_message(&pool, fd);
		if (first != NULL)
			fputs(first, f);
	} else {
		fprintf(f, "%s = descriptor %d, not a stream", name, fd);
	}
	fclose(f);
	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	run_report(r, "%s", text);
	free(text);
	pool_free(&pool);
}

static void
draw(void *arg, const char *name, int fd, enum handle_kind kind)
{
	if (kind == HANDLE_STREAM)
		draw_one(arg, name, fd);
}

void
draw_all(struct run *r)
{
	handles_each(r->handles, draw, r);
}
