/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_message.c: verbs that send and receive. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include <stropts.h>
#include <ustreams.h>

#include "strtest_expr.h"
#include "strtest_forms.h"
#include "strtest_part.h"

enum { MAX_IOV = 1100 };

/* ---- write and read ---------------------------------------------------------------- */

static void
do_write(struct run *r, const struct command *c, struct outcome *o)
{
	struct value v = arg_data(r, c, 1);
	size_t len = (size_t)key_number(r, c, "len", (long long)v.len);

	/* A copy of just these bytes, so that a sanitizer sees a step too far. */
	out_call(o,
	    str_write(arg_fd(r, c, 0),
		key_pointer(r, c, "at", pool_copy(&r->pool, v.data, v.len)), len));
	o->must_give = true;
	o->default_result = (long long)len;
}

static void
do_writev(struct run *r, const struct command *c, struct outcome *o)
{
	struct iovec iov[MAX_IOV];
	int n = 0, count;

	o->must_give = true;
	for (; n < c->nargs - 1 && n < MAX_IOV; n++) {
		struct value v = arg_data(r, c, n + 1);

		iov[n].iov_base = (void *)(uintptr_t)v.data;
		iov[n].iov_len = v.len;
		o->default_result += (long long)v.len;
	}
	count = (int)key_number(r, c, "count", n);
	out_call(o, str_writev(arg_fd(r, c, 0), key_pointer(r, c, "at", iov), count));
}

static size_t
size_argument(struct run *r, const struct command *c, int i)
{
	return (size_t)arg_number(r, c, i, 0);
}

enum { LARGEST_ROOM = 1 << 28 };

static void
do_read(struct run *r, const struct command *c, struct outcome *o)
{
	size_t n = size_argument(r, c, 1), room = n > LARGEST_ROOM ? 0 : n;
	char *to = guarded_room(r, room);
	ssize_t got = str_read(arg_fd(r, c, 0), key_pointer(r, c, "at", to), n);

	out_call(o, got);
	guarded_check(r, to, room);
	if (got >= 0 && (size_t)got <= room && !key_given(c, "at"))
		out_field(o, "data", value_data(to, (size_t)got));
}

/* What a readv stored, put together again. */
static struct value
gathered(struct run *r, const struct iovec *iov, int n, size_t len)
{
	char *all = pool_alloc(&r->pool, len + 1);
	size_t done = 0;

	for (int i = 0; i < n && done < len; i++) {
		size_t m = len - done < iov[i].iov_len ? len - done : iov[i].iov_len;

		memcpy(all + done, iov[i].iov_base, m);
		done += m;
	}
	return value_data(all, done);
}

static void
do_readv(struct run *r, const struct command *c, struct outcome *o)
{
	struct iovec iov[MAX_IOV];
	int n = 0;
	ssize_t got;

	for (; n < c->nargs - 1 && n < MAX_IOV; n++) {
		iov[n].iov_len = size_argument(r, c, n + 1);
		iov[n].iov_base = guarded_room(r, iov[n].iov_len);
	}
	got = str_readv(arg_fd(r, c, 0), key_pointer(r, c, "at", iov),
	    (int)key_number(r, c, "count", n));
	out_call(o, got);
	for (int i = 0; i < n; i++)
		guarded_check(r, iov[i].iov_base, iov[i].iov_len);
	if (got >= 0 && !key_given(c, "at"))
		out_field(o, "data", gathered(r, iov, n, (size_t)got));
}

/* ---- putmsg and getmsg ------------------------------------------------------------------ */

static void
send_band(
    struct run *r, const struct command *c, struct outcome *o, const struct parts *p)
{
	bool high = key_given(c, "hipri");
	int band = (int)key_number(r, c, "band", 0);
	int flags = (int)key_number(r, c, "flags", high ? MSG_HIPRI : MSG_BAND);

	out_call(o, putpmsg(arg_fd(r, c, 0), p->ctlp, p->datap, band, flags));
}

static void
do_putmsg(struct run *r, const struct command *c, struct outcome *o)
{
	struct parts p;
	int flags = (int)key_number(r, c, "flags", key_given(c, "hipri") ? RS_HIPRI : 0);

	part_put(r, c, &p);
	if (key_given(c, "band"))
		send_band(r, c, o, &p);
	else
		out_call(o, putmsg(arg_fd(r, c, 0), p.ctlp, p.datap, flags));
}

static void
do_putpmsg(struct run *r, const struct command *c, struct outcome *o)
{
	struct parts p;

	part_put(r, c, &p);
	send_band(r, c, o, &p);
}

static void
do_getmsg(struct run *r, const struct command *c, struct outcome *o)
{
	struct parts p;
	int flags = (int)key_number(r, c, "flags", key_given(c, "hipri") ? RS_HIPRI : 0);

	part_get(r, c, &p);
	out_call(o,
	    getmsg(
		arg_fd(r, c, 0), p.ctlp, p.datap, key_pointer(r, c, "flagsat", &flags)));
	part_fields(r, o, &p);
	out_number(o, "flags", flags);
}

static void
do_getpmsg(struct run *r, const struct command *c, struct outcome *o)
{
	struct parts p;
	int band = (int)key_number(r, c, "band", 0);
	int flags = (int)key_number(r, c, "flags",
	    key_given(c, "hipri")      ? MSG_HIPRI
		: key_given(c, "band") ? MSG_BAND
				       : MSG_ANY);

	part_get(r, c, &p);
	out_call(o,
	    getpmsg(arg_fd(r, c, 0), p.ctlp, p.datap, key_pointer(r, c, "bandat", &band),
		key_pointer(r, c, "flagsat", &flags)));
	part_fields(r, o, &p);
	out_number(o, "band", band);
	out_number(o, "flags", flags);
}

/* ---- expect -------------------------------------------------------------------------------- */

static const char *
show_message(struct run *r, const struct parts *p, int band, int flags)
{
	struct value ctl = p->ctl.len < 0 ? value_none()
					  : value_data(p->ctl.buf, (size_t)p->ctl.len);
	struct value data = p->data.len < 0
	    ? value_none()
	    : value_data(p->data.buf, (size_t)p->data.len);

	return pool_printf(&r->pool, "%s ctl=%s data=%s",
	    flags == MSG_HIPRI ? "hipri" : pool_printf(&r->pool, "band=%d", band),
	    value_show(&r->pool, &ctl), value_show(&r->pool, &data));
}

static const char *
show_wanted(struct run *r, const struct command *c)
{
	static const char *const keys[] = {"ctl", "data"};
	const char *text = key_given(c, "hipri") ? "hipri"
	    : key_any(c, "band")
	    ? "band=any"
	    : pool_printf(&r->pool, "band=%lld", key_number(r, c, "band", 0));

	for (size_t i = 0; i < NELEM(keys); i++) {
		struct value v = value_none();

		if (!key_any(c, keys[i]))
			key_data(r, c, keys[i], &v);
		text = pool_printf(&r->pool, "%s %s=%s", text, keys[i],
		    key_any(c, keys[i]) ? "any" : value_show(&r->pool, &v));
	}
	return text;
}

static bool
part_is(struct run *r, const struct command *c, const char *key, const struct strbuf *b)
{
	struct value want,
	    came = b->len < 0 ? value_none() : value_data(b->buf, (size_t)b->len);

	if (key_any(c, key))
		return true;
	key_data(r, c, key, &want);
	return value_equal(&want, &came);
}

static bool
priority_is(struct run *r, const struct command *c, int band, int flags)
{
	if (key_given(c, "hipri"))
		return flags == MSG_HIPRI;
	if (key_any(c, "band"))
		return true;
	return flags == MSG_BAND && band == (int)key_number(r, c, "band", 0);
}

/* Wait until a message is there; the errno if the stream says something else. */
static int
await_message(struct run *r, int fd, long long until)
{
	struct pollfd p = {fd, POLLIN | POLLRDBAND | POLLPRI, 0};

	for (;;) {
		long long left = (until - run_now()) / 1000;

		if (left < 0 || run_hopeless(r))
			return ETIME;
		if (str_poll(&p, 1, left > 50 ? 50 : (int)left) == -1 && errno != EINTR)
			return errno;
		if (p.revents & (POLLIN | POLLRDBAND | POLLPRI))
			return 0;
		if (p.revents != 0) /* hung up or in error: the call says which */
			return 0;
	}
}

static void
do_expect(struct run *r, const struct command *c, struct outcome *o)
{
	int fd = arg_fd(r, c, 0), band = 0, flags = MSG_ANY, room = 1 << 20;
	int error = await_message(r, fd, run_now() + time_within(r, c, o, 1000000));
	struct parts p = {.ctl = {room, -1, guarded_room(r, (size_t)room)},
	    .data = {room, -1, guarded_room(r, (size_t)room)}};

	o->done = true;
	if (error == ETIME)
		run_failed(r, show_wanted(r, c), "nothing, in that time");
	if (error == 0 && getpmsg(fd, &p.ctl, &p.data, &band, &flags) == -1)
		error = errno;
	if (error != 0)
		run_failed(r, show_wanted(r, c), strerrorname_np(error));
	if (!priority_is(r, c, band, flags) || !part_is(r, c, "ctl", &p.ctl) ||
	    !part_is(r, c, "data", &p.data))
		run_failed(r, show_wanted(r, c), show_message(r, &p, band, flags));
}

static void
do_expect_none(struct run *r, const struct command *c, struct outcome *o)
{
	struct pollfd p = {arg_fd(r, c, 0), POLLIN | POLLRDBAND | POLLPRI, 0};
	long long lasting = time_lasting(r, c, o, 10000);

	if (str_poll(&p, 1, (int)(lasting / 1000)) == -1) {
		out_call(o, -1);
	} else if (p.revents & (POLLIN | POLLRDBAND | POLLPRI)) {
		run_failed(r, "nothing to receive", "a message is there");
	}
}

/* ---- whole blocks ----------------------------------------------------------------------------- */

static mblk_t *
block(struct run *r, const struct command *c, const struct value *v, int type)
{
	mblk_t *mp = str_mblkalloc(v->len);

	if (mp == NULL)
		run_broken(r, c->at, "no block of %zu bytes", v->len);
	if (v->len > 0)
		memcpy(mp->b_wptr, v->data, v->len);
	mp->b_wptr += v->len;
	mp->b_datap->db_type = (unsigned char)type;
	return mp;
}

static mblk_t *
whole_message(struct run *r, const struct command *c, int type)
{
	struct value ctl, data;
	bool has_ctl = key_data(r, c, "ctl", &ctl),
	     has_data = key_data(r, c, "data", &data);
	mblk_t *mp;

	if (!has_ctl && !has_data)
		ctl = data = value_data("", 0);
	mp = block(r, c, has_ctl ? &ctl : &data, type);
	if (has_ctl && has_data)
		mp->b_cont = block(r, c, &data, M_DATA);
	mp->b_band = (unsigned char)key_number(r, c, "band", 0);
	mp->b_flag = (unsigned short)(mp->b_flag | key_number(r, c, "flags", 0));
	return mp;
}

static void
do_putmblk(struct run *r, const struct command *c, struct outcome *o)
{
	int fd = arg_fd(r, c, 0);
	mblk_t *mp = whole_message(r, c, (int)arg_number(r, c, 1, 0));

	out_call(o, str_putmblk(fd, mp));
	if (o->error != 0)
		freemsg(mp);
}

static void
do_getmblk(struct run *r, const struct command *c, struct outcome *o)
{
	const char *all = "";
	size_t len = 0;
	int blocks = 0;
	mblk_t *mp = NULL;

	out_call(o, str_getmblk(arg_fd(r, c, 0), &mp));
	if (o->error != 0)
		return;
	out_number(o, "type", mp->b_datap->db_type);
	out_number(o, "band", mp->b_band);
	out_number(o, "flags", mp->b_flag);
	for (const mblk_t *b = mp; b != NULL; b = b->b_cont, blocks++) {
		size_t n = (size_t)(b->b_wptr - b->b_rptr);
		char *more = pool_alloc(&r->pool, len + n + 1);

		memcpy(more, all, len);
		memcpy(more + len, b->b_rptr, n);
		all = more;
		len += n;
	}
	out_number(o, "blocks", blocks);
	out_field(o, "data", value_data(all, len));
	freemsg(mp);
}

static const struct form forms[] = {
    {"write", do_write, "H D", "len:I at:I", NULL, NULL, 0},
    {"writev", do_writev, "H D*", "count:I at:I", NULL, NULL, 0},
    {"read", do_read, "H I", "at:I", "data", NULL, 0},
    {"readv", do_readv, "H I*", "count:I at:I", "data", NULL, 0},
    {"putmsg", do_putmsg, "H", "hipri! flags:I band:I " PART_PUT_KEYS, NULL, NULL, 0},
    {"putpmsg", do_putpmsg, "H", "hipri! flags:I band:I " PART_PUT_KEYS, NULL, NULL, 0},
    {"getmsg", do_getmsg, "H", "hipri! flags:I flagsat:I " PART_GET_KEYS,
	PART_GET_FIELDS " flags", NULL, 0},
    {"getpmsg", do_getpmsg, "H",
	"hipri! flags:I band:I flagsat:I bandat:I " PART_GET_KEYS,
	PART_GET_FIELDS " band flags", NULL, 0},
    {"expect", do_expect, "H", "hipri! band:X ctl:X data:X", NULL, NULL, 0},
    {"expect-none", do_expect_none, "H", NULL, NULL, NULL, 0},
    {"putmblk", do_putmblk, "H I", "band:I ctl:X data:X flags:I", NULL, NULL, 0},
    {"getmblk", do_getmblk, "H", NULL, "type band flags blocks data", NULL, 0},
};

const struct form_table forms_message = {forms, NELEM(forms)};
