/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_part.c: strbufs made from keys, and fields from strbufs. */
#include "strtest_part.h"

#include <stdint.h>

enum { ROOM = 65536 };

static void
put_one(struct run *r, const struct command *c, struct strbuf *b, struct strbuf **bp,
    const char *const keys[4])
{
	struct value v;

	*b = (struct strbuf){0, -1, NULL};
	*bp = NULL;
	if (key_data(r, c, keys[0], &v)) {
		b->buf = pool_copy(&r->pool, v.data, v.len);
		b->len = (int)v.len;
		*bp = b;
	}
	if (key_given(c, keys[1]) || key_given(c, keys[2]))
		*bp = b;
	b->len = (int)key_number(r, c, keys[1], b->len);
	b->buf = key_pointer(r, c, keys[2], b->buf);
	*bp = key_pointer(r, c, keys[3], *bp);
}

void
part_put(struct run *r, const struct command *c, struct parts *p)
{
	put_one(r, c, &p->ctl, &p->ctlp,
	    (const char *const[]){"ctl", "ctllen", "ctlat", "ctlbuf"});
	put_one(r, c, &p->data, &p->datap,
	    (const char *const[]){"data", "datalen", "dataat", "databuf"});
}

static size_t
get_one(struct run *r, const struct command *c, struct strbuf *b, struct strbuf **bp,
    const char *const keys[3])
{
	long long max = key_number(r, c, keys[0], ROOM);
	size_t room = max < 0 ? 0 : (size_t)max;

	*b = (struct strbuf){(int)max, -2, guarded_room(r, room)};
	b->buf = key_pointer(r, c, keys[1], b->buf);
	*bp = key_pointer(r, c, keys[2], b);
	return key_given(c, keys[1]) || *bp != b ? SIZE_MAX : room;
}

void
part_get(struct run *r, const struct command *c, struct parts *p)
{
	p->ctlroom = get_one(
	    r, c, &p->ctl, &p->ctlp, (const char *const[]){"ctlmax", "ctlat", "ctlbuf"});
	p->dataroom = get_one(r, c, &p->data, &p->datap,
	    (const char *const[]){"datamax", "dataat", "databuf"});
}

static void
field_one(struct run *r, struct outcome *o, const struct strbuf *b, size_t room,
    const char *name, const char *len_name)
{
	if (room == SIZE_MAX)
		return;
	guarded_check(r, b->buf, room);
	out_field(o, name,
	    b->len < 0 || (size_t)b->len > room ? value_none()
						: value_data(b->buf, (size_t)b->len));
	out_number(o, len_name, b->len);
}

void
part_fields(struct run *r, struct outcome *o, const struct parts *p)
{
	field_one(r, o, &p->ctl, p->ctlroom, "ctl", "ctllen");
	field_one(r, o, &p->data, p->dataroom, "data", "datalen");
}
