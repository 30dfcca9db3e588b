/* SPDX-License-Identifier: BSD-2-Clause */
/* strcat_flow.c: what the two directions share: a buffer, and a line that tells a fault. */
#include "strcat.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <ustreams.h>

#include "oneline.h"

void
cat_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	oneline("strcat", fmt, ap);
	va_end(ap);
}

int
bytes_grow(struct bytes *b, size_t most)
{
	size_t room = 2 * b->room;
	char *more;

	if (b->at > 0) {
		memmove(b->v, b->v + b->at, b->end - b->at);
		b->end -= b->at;
		b->at = 0;
		return 0;
	}
	if (most > 0 && b->room >= most)
		return -1;
	more = realloc(b->v, room);
	if (more == NULL)
		return -1;
	b->v = more;
	b->room = room;
	return 0;
}

void
bytes_used(struct bytes *b, size_t n)
{
	b->at += n;
	if (b->at == b->end)
		b->at = b->end = 0;
}

int
flow_init(struct cat_flow *f, const struct cat_options *o, struct named *n)
{
	*f = (struct cat_flow){.o = o, .n = n, .b = {.room = 65536}};
	f->most = (size_t)ustr_tunable("strmsgsz");
	f->b.v = malloc(f->b.room);
	return f->b.v == NULL ? -1 : 0;
}
