/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_ioctl.c: the commands of str_ioctl: a table that says for each how
 * its argument is written and shown.
 *
 * In the functions argument 0 is the stream and argument 1 the command.
 */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <stropts.h>
#include <ustreams.h>

#include "strtest_expr.h"
#include "strtest_forms.h"
#include "strtest_part.h"

enum { FIRST = 2, ROOM = 65536 };

static int
command_of(struct run *r, const struct command *c)
{
	return (int)arg_number(r, c, 1, 0);
}

/* ---- simple arguments --------------------------------------------------------------- */

static void
io_none(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), 0));
}

static void
io_int(struct run *r, const struct command *c, struct outcome *o)
{
	int n = (int)arg_number(r, c, FIRST, 0);

	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), n));
}

static void
io_int_at(struct run *r, const struct command *c, struct outcome *o)
{
	int n = (int)arg_number(r, c, FIRST, 0);

	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), &n));
}

static void
io_gives_int(struct run *r, const struct command *c, struct outcome *o)
{
	int n = INT_MIN;

	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), &n));
	if (o->error == 0)
		out_number(o, "value", n);
}

static void
io_fd(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), arg_fd(r, c, FIRST)));
}

static void
io_name(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), arg_word(r, c, FIRST)));
}

static void
io_look(struct run *r, const struct command *c, struct outcome *o)
{
	char *name = guarded_room(r, FMNAMESZ + 1);

	memset(name, 0, FMNAMESZ + 1);
	out_call(o, str_ioctl(arg_fd(r, c, 0), I_LOOK, name));
	guarded_check(r, name, FMNAMESZ + 1);
	if (o->error == 0)
		out_field(o, "name", value_data(name, strnlen(name, FMNAMESZ + 1)));
}

/* ---- structures ------------------------------------------------------------------------ */

static const char *
names_of(struct run *r, const struct str_list *list, int n)
{
	const char *all = "";

	for (int i = 0; i < n && i < list->sl_nmods; i++)
		all = pool_printf(&r->pool, "%s%s%.*s", all, i > 0 ? "," : "",
		    FMNAMESZ + 1, list->sl_modlist[i].l_name);
	return all;
}

static void
io_list(struct run *r, const struct command *c, struct outcome *o)
{
	int n = (int)arg_number(r, c, FIRST, 0);
	size_t room = n > 0 && n < 4096 ? (size_t)n * sizeof(struct str_mlist) : 0;
	struct str_list list = {n, (void *)guarded_room(r, room)};

	list.sl_modlist = key_pointer(r, c, "at", list.sl_modlist);
	if (c->nargs <= FIRST) {
		out_call(o, str_ioctl(arg_fd(r, c, 0), I_LIST, NULL));
		return;
	}
	out_call(o, str_ioctl(arg_fd(r, c, 0), I_LIST, &list));
	if (o->error != 0 || key_given(c, "at"))
		return;
	guarded_check(r, (void *)list.sl_modlist, room);
	out_field(o, "names", value_text(names_of(r, &list, n)));
	out_number(o, "nmods", list.sl_nmods);
}

static void
io_flushband(struct run *r, const struct command *c, struct outcome *o)
{
	struct bandinfo bi = {(unsigned char)key_number(r, c, "band", 0),
	    (int)key_number(r, c, "flag", FLUSHRW)};

	out_call(o, str_ioctl(arg_fd(r, c, 0), I_FLUSHBAND, &bi));
}

static void
io_esetsig(struct run *r, const struct command *c, struct outcome *o)
{
	struct strsigset s = {
	    (pid_t)key_number(r, c, "pid", 0), (int)arg_number(r, c, FIRST, 0)};

	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), &s));
	if (o->error == 0)
		out_number(o, "value", s.ss_events);
}

/* I_PEEK, I_GETMSG: they differ in what they take. */
static void
io_peek(struct run *r, const struct command *c, struct outcome *o)
{
	struct strpeek k = {.flags = (uint32_t)key_number(r, c, "flags", 0)};
	struct parts p;

	part_get(r, c, &p);
	k.ctlbuf = p.ctl;
	k.databuf = p.data;
	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), &k));
	p.ctl = k.ctlbuf;
	p.data = k.databuf;
	part_fields(r, o, &p);
	out_number(o, "flags", k.flags);
}

static void
io_putmsg(struct run *r, const struct command *c, struct outcome *o)
{
	struct strpeek k = {.flags = (uint32_t)key_number(
				r, c, "flags", key_given(c, "hipri") ? RS_HIPRI : 0)};
	struct parts p;

	part_put(r, c, &p);
	k.ctlbuf = p.ctl;
	k.databuf = p.data;
	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), &k));
}

static void
io_getpmsg(struct run *r, const struct command *c, struct outcome *o)
{
	struct strpmsg m = {.band = (int)key_number(r, c, "band", 0),
	    .flags = (uint32_t)key_number(r, c, "flags",
		key_given(c, "hipri")	   ? MSG_HIPRI
		    : key_given(c, "band") ? MSG_BAND
					   : MSG_ANY)};
	struct parts p;

	part_get(r, c, &p);
	m.ctlbuf = p.ctl;
	m.databuf = p.data;
	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), &m));
	p.ctl = m.ctlbuf;
	p.data = m.databuf;
	part_fields(r, o, &p);
	out_number(o, "band", m.band);
	out_number(o, "flags", m.flags);
}

static void
io_putpmsg(struct run *r, const struct command *c, struct outcome *o)
{
	struct strpmsg m = {.band = (int)key_number(r, c, "band", 0),
	    .flags = (uint32_t)key_number(
		r, c, "flags", key_given(c, "hipri") ? MSG_HIPRI : MSG_BAND)};
	struct parts p;

	part_put(r, c, &p);
	m.ctlbuf = p.ctl;
	m.databuf = p.data;
	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), &m));
}

/* room: the buffer is larger than what is sent, for a longer answer. */
static void
io_str(struct run *r, const struct command *c, struct outcome *o)
{
	struct strioctl ic = {.ic_cmd = (int)key_number(r, c, "cmd", 0)};
	struct value v;
	size_t room;

	if (!key_data(r, c, "data", &v))
		v = value_data("", 0);
	ic.ic_timout = (int)key_number(r, c, "timeout", 0);
	ic.ic_len = (int)key_number(r, c, "len", (long long)v.len);
	room = (size_t)key_number(r, c, "room", ROOM);
	room = room < v.len ? v.len : room;
	ic.ic_dp = guarded_room(r, room);
	memcpy(ic.ic_dp, v.data, v.len);
	ic.ic_dp = key_pointer(r, c, "at", ic.ic_dp);
	out_call(o, str_ioctl(arg_fd(r, c, 0), I_STR, &ic));
	if (key_given(c, "at"))
		return;
	guarded_check(r, ic.ic_dp, room);
	out_number(o, "len", ic.ic_len);
	if (o->error == 0 && ic.ic_len >= 0 && (size_t)ic.ic_len <= room)
		out_field(o, "data", value_data(ic.ic_dp, (size_t)ic.ic_len));
}

static int
fd_of_key(struct run *r, const struct command *c, const char *key)
{
	const struct expr *e = key_at(c, key);

	if (e == NULL)
		return -1;
	return e->kind == EXPR_NAME ? handles_fd(r, e->at, e->text)
				    : (int)expr_number(r, e);
}

static void
io_fdinsert(struct run *r, const struct command *c, struct outcome *o)
{
	struct strfdinsert f = {.flags = (uint32_t)key_number(
				    r, c, "flags", key_given(c, "hipri") ? RS_HIPRI : 0),
	    .offset = (int)key_number(r, c, "offset", 0),
	    .fildes = fd_of_key(r, c, "fd")};
	struct parts p;

	part_put(r, c, &p);
	f.ctlbuf = p.ctl;
	f.databuf = p.data;
	out_call(o, str_ioctl(arg_fd(r, c, 0), I_FDINSERT, &f));
}

static void
io_recvfd(struct run *r, const struct command *c, struct outcome *o)
{
	struct strrecvfd *got = (void *)guarded_room(r, sizeof(*got));

	got->fd = -1;
	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), got));
	guarded_check(r, (void *)got, sizeof(*got));
	if (o->error != 0)
		return;
	handles_set(r, arg_at(c, FIRST)->at, arg_name(c, FIRST), got->fd,
	    isastream(got->fd) == 1 ? HANDLE_STREAM : HANDLE_KERNEL);
	out_number(o, "uid", got->uid);
	out_number(o, "gid", got->gid);
}

/* A command that has no name: arg= as it is, or the address of a copy of data=. */
static void
io_raw(struct run *r, const struct command *c, struct outcome *o)
{
	struct value v;
	char *copy;

	if (!key_data(r, c, "data", &v)) {
		out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), NULL));
		return;
	}
	copy = guarded_room(r, v.len);
	memcpy(copy, v.data, v.len);
	out_call(o, str_ioctl(arg_fd(r, c, 0), command_of(r, c), copy));
	guarded_check(r, copy, v.len);
	out_field(o, "data", value_data(copy, v.len));
}

/* ---- the table ----------------------------------------------------------------------------- */

#define ROW(cmd, run, args, keys, fields)                         \
	{                                                         \
#cmd, run, args, "arg:I " keys, fields, NULL, cmd \
	}

static const struct form forms[] = {
    ROW(I_NREAD, io_gives_int, "", "", "value"),
    ROW(I_PUSH, io_name, "W?", "", NULL),
    ROW(I_POP, io_none, "", "", NULL),
    ROW(I_LOOK, io_look, "", "", "name"),
    ROW(I_FLUSH, io_int, "I?", "", NULL),
    ROW(I_SRDOPT, io_int, "I?", "", NULL),
    ROW(I_GRDOPT, io_gives_int, "", "", "value"),
    ROW(I_STR, io_str, "", "cmd:I data:D len:I timeout:I room:I at:I", "data len"),
    ROW(I_SETSIG, io_int, "I?", "", NULL),
    ROW(I_GETSIG, io_gives_int, "", "", "value"),
    ROW(I_FIND, io_name, "W?", "", NULL),
    ROW(I_LINK, io_fd, "H?", "", NULL),
    ROW(I_UNLINK, io_int, "I?", "", NULL),
    ROW(I_RECVFD, io_recvfd, "N?", "", "uid gid"),
    ROW(I_PEEK, io_peek, "", "flags:I " PART_GET_KEYS, PART_GET_FIELDS " flags"),
    ROW(I_FDINSERT, io_fdinsert, "", "fd:H offset:I flags:I hipri! " PART_PUT_KEYS, NULL),
    ROW(I_SENDFD, io_fd, "H?", "", NULL),
    ROW(I_E_RECVFD, io_recvfd, "N?", "", "uid gid"),
    ROW(I_SWROPT, io_int, "I?", "", NULL),
    ROW(I_GWROPT, io_gives_int, "", "", "value"),
    ROW(I_LIST, io_list, "I?", "at:I", "names nmods"),
    ROW(I_PLINK, io_fd, "H?", "", NULL),
    ROW(I_PUNLINK, io_int, "I?", "", NULL),
    ROW(I_ANCHOR, io_none, "", "", NULL),
    ROW(I_FLUSHBAND, io_flushband, "", "band:I flag:I", NULL),
    ROW(I_CKBAND, io_int, "I?", "", NULL),
    ROW(I_GETBAND, io_gives_int, "", "", "value"),
    ROW(I_ATMARK, io_int, "I?", "", NULL),
    ROW(I_SETCLTIME, io_int_at, "I?", "", NULL),
    ROW(I_GETCLTIME, io_gives_int, "", "", "value"),
    ROW(I_CANPUT, io_int, "I?", "", NULL),
    ROW(I_SERROPT, io_int, "I?", "", NULL),
    ROW(I_GERROPT, io_gives_int, "", "", "value"),
    ROW(I_ESETSIG, io_esetsig, "I?", "pid:I", NULL),
    ROW(I_EGETSIG, io_esetsig, "", "pid:I", "value"),
    ROW(I_GETMSG, io_peek, "", "flags:I " PART_GET_KEYS, PART_GET_FIELDS " flags"),
    ROW(I_PUTMSG, io_putmsg, "", "flags:I hipri! " PART_PUT_KEYS, NULL),
    ROW(I_GETPMSG, io_getpmsg, "", "flags:I band:I hipri! " PART_GET_KEYS,
	PART_GET_FIELDS " band flags"),
    ROW(I_PUTPMSG, io_putpmsg, "", "flags:I band:I hipri! " PART_PUT_KEYS, NULL),
    ROW(I_PIPE, io_none, "", "", NULL),
    ROW(I_FIFO, io_none, "", "", NULL),
    ROW(I_ISASTREAM, io_none, "", "", NULL),
    ROW(I_FATTACH, io_name, "W?", "", NULL),
    ROW(I_FDETACH, io_name, "W?", "", NULL),
    ROW(I_GET_STRMSGSZ, io_none, "", "", NULL),
    ROW(I_GET_STRCTLSZ, io_none, "", "", NULL),
    ROW(I_GET_PUSHCNT, io_gives_int, "", "", "value"),
    ROW(I_SET_HIWAT, io_int, "I?", "", NULL),
    ROW(I_SET_LOWAT, io_int, "I?", "", NULL),
    ROW(I_GET_HIWAT, io_none, "", "", NULL),
    ROW(I_GET_LOWAT, io_none, "", "", NULL),
};

const struct form_table forms_ioctl = {forms, NELEM(forms)};

static const struct form raw = {"a number", io_raw, "", "arg:I data:D", "data", NULL, 0};

/* ---- verbs ------------------------------------------------------------------------------------ */

static void
do_ioctl(struct run *r, const struct command *c, struct outcome *o)
{
	bool lacks = c->sub != NULL && strchr(c->sub->args, '?') != NULL &&
	    c->nargs <= FIRST && c->sub->run != io_list;

	if (key_given(c, "arg"))
		out_call(o,
		    str_ioctl(arg_fd(r, c, 0), command_of(r, c),
			key_pointer(r, c, "arg", NULL)));
	else if (lacks)
		run_broken(r, c->at, "%s needs its argument, or arg=; legal: %s",
		    c->sub->name, forms_usage(&r->pool, c->form, c->sub));
	else
		c->sub->run(r, c, o);
}

static const struct form *
pick(const char *word)
{
	return *word == '\0' ? &raw : forms_ioctl_find(word);
}

/* link a b is ioctl a I_LINK b. */
static void
do_link(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, str_ioctl(arg_fd(r, c, 0), (int)c->form->number, arg_fd(r, c, 1)));
}

static void
do_by_value(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o,
	    str_ioctl(
		arg_fd(r, c, 0), (int)c->form->number, (int)arg_number(r, c, 1, 0)));
}

static void
do_recvfd(struct run *r, const struct command *c, struct outcome *o)
{
	struct strrecvfd got = {.fd = -1};

	out_call(o, str_ioctl(arg_fd(r, c, 0), I_RECVFD, &got));
	if (o->error != 0)
		return;
	handles_set(r, arg_at(c, 1)->at, arg_name(c, 1), got.fd,
	    isastream(got.fd) == 1 ? HANDLE_STREAM : HANDLE_KERNEL);
	out_number(o, "uid", got.uid);
	out_number(o, "gid", got.gid);
}

static void
do_tune(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, ustr_tune(arg_word(r, c, 0), (long)arg_number(r, c, 1, 0)));
}

static void
do_service(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, ustr_service((int)arg_number(r, c, 0, 0)));
}

static const struct form verbs[] = {
    {"ioctl", do_ioctl, "H E", NULL, NULL, pick, 0},
    {"link", do_link, "H H", NULL, NULL, NULL, I_LINK},
    {"plink", do_link, "H H", NULL, NULL, NULL, I_PLINK},
    {"unlink", do_by_value, "H I", NULL, NULL, NULL, I_UNLINK},
    {"punlink", do_by_value, "H I", NULL, NULL, NULL, I_PUNLINK},
    {"sendfd", do_link, "H H", NULL, NULL, NULL, I_SENDFD},
    {"recvfd", do_recvfd, "H N", NULL, "uid gid", NULL, 0},
    {"flush", do_by_value, "H I", NULL, NULL, NULL, I_FLUSH},
    {"tune", do_tune, "W I", NULL, NULL, NULL, 0},
    {"service", do_service, "I", NULL, NULL, NULL, 0},
};

const struct form_table forms_control = {verbs, NELEM(verbs)};
