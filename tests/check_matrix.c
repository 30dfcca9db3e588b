/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_matrix.c: the errno matrix (streamio.md §2): every operation in every
 * state of the stream, a test for each cell; the wrong open mode, which comes
 * before all of them; descriptors that are bad or no streams.
 *
 * The stream is a pipe's end with the module tctl, which sends up what is
 * ordered at the other end.
 */
#include "headlib.h"

#include <stdio.h>
#include <sys/ddi.h>

#define E ECOMM /* the errno M_ERROR carries; nothing else gives it */

enum state { HUP, RDERR, WRERR, BOTH, PLEX, BROKEN, NSTATES };
static const char *const state_names[] = {
    "hung up", "read error", "write error", "both errors", "linked", "broken pipe"};

static int spare = -1; /* another stream */

/* ---- the operations ----------------------------------------------------- */

static char byte = 'x';
static struct iovec iov = {&byte, 1};

static long
do_push(int fd)
{
	return str_ioctl(fd, I_PUSH, "nullmod");
}

static long
do_pop(int fd)
{
	return str_ioctl(fd, I_POP, 0);
}

static long
do_flush(int fd)
{
	return str_ioctl(fd, I_FLUSH, FLUSHRW);
}

static long
do_flushband(int fd)
{
	struct bandinfo bi = {1, FLUSHRW};

	return str_ioctl(fd, I_FLUSHBAND, &bi);
}

static long
do_str(int fd)
{
	struct strioctl ic = {'X' << 8, 1, 0, NULL};

	return str_ioctl(fd, I_STR, &ic);
}

static long
do_transparent(int fd)
{
	return str_ioctl(fd, 'X' << 8, 0);
}

static long
do_link(int fd)
{
	return str_ioctl(fd, I_LINK, spare);
}

static long
do_plink(int fd)
{
	return str_ioctl(fd, I_PLINK, spare);
}

static long
do_unlink(int fd)
{
	return str_ioctl(fd, I_UNLINK, MUXID_ALL);
}

static long
do_punlink(int fd)
{
	return str_ioctl(fd, I_PUNLINK, MUXID_ALL);
}

static long
do_srdopt(int fd)
{
	return str_ioctl(fd, I_SRDOPT, RMSGN);
}

static long
do_swropt(int fd)
{
	return str_ioctl(fd, I_SWROPT, SNDZERO);
}

static long
do_canput(int fd)
{
	return str_ioctl(fd, I_CANPUT, 0);
}

static long
do_write(int fd)
{
	return str_write(fd, &byte, 1);
}

static long
do_write_nothing(int fd)
{
	return str_write(fd, &byte, 0);
}

static long
do_writev(int fd)
{
	return str_writev(fd, &iov, 1);
}

static long
do_putmsg(int fd)
{
	struct strbuf d = {0, 1, &byte};

	return putmsg(fd, NULL, &d, 0);
}

static long
do_putmsg_hipri(int fd)
{
	struct strbuf c = {0, 1, &byte};

	return putmsg(fd, &c, NULL, RS_HIPRI);
}

static long
do_putpmsg(int fd)
{
	return put_msg(fd, "c", "d", 7);
}

static long
do_putmblk(int fd)
{
	mblk_t *mp = str_mblkalloc(8);
	long r;
	int e;

	ck_assert_ptr_nonnull(mp);
	*mp->b_wptr++ = 'x';
	r = str_putmblk(fd, mp);
	e = errno;
	if (r == -1)
		freemsg(mp);
	errno = e;
	return r;
}

static long
do_i_putmsg(int fd)
{
	struct strpeek m = {{0, -1, NULL}, {0, 1, &byte}, 0};

	return str_ioctl(fd, I_PUTMSG, &m);
}

static long
do_i_putpmsg(int fd)
{
	struct strpmsg m = {{0, -1, NULL}, {0, 1, &byte}, 3, MSG_BAND};

	return str_ioctl(fd, I_PUTPMSG, &m);
}

static long
do_fdinsert(int fd)
{
	char ctl[16] = "";
	struct strfdinsert m = {{0, sizeof(ctl), ctl}, {0, -1, NULL}, 0, spare, 8};

	return str_ioctl(fd, I_FDINSERT, &m);
}

static long
do_read(int fd)
{
	return str_read(fd, &byte, 1);
}

static long
do_readv(int fd)
{
	return str_readv(fd, &iov, 1);
}

/* "0 with both len 0" */
static long
both_zero(long r, const struct strbuf *c, const struct strbuf *d)
{
	if (r == 0)
		ck_assert_msg(c->len == 0 && d->len == 0, "lengths %d and %d", c->len, d->len);
	return r;
}

static long
do_getmsg(int fd)
{
	char c[4], d[4];
	struct strbuf cb = {4, -2, c}, db = {4, -2, d};
	int flags = 0;

	return both_zero(getmsg(fd, &cb, &db, &flags), &cb, &db);
}

static long
do_getpmsg(int fd)
{
	char c[4], d[4];
	struct strbuf cb = {4, -2, c}, db = {4, -2, d};
	int band = 0, flags = MSG_ANY;

	return both_zero(getpmsg(fd, &cb, &db, &band, &flags), &cb, &db);
}

static long
do_i_getmsg(int fd)
{
	char c[4], d[4];
	struct strpeek m = {{4, -2, c}, {4, -2, d}, 0};

	return both_zero(str_ioctl(fd, I_GETMSG, &m), &m.ctlbuf, &m.databuf);
}

static long
do_i_getpmsg(int fd)
{
	char c[4], d[4];
	struct strpmsg m = {{4, -2, c}, {4, -2, d}, 0, MSG_ANY};

	return both_zero(str_ioctl(fd, I_GETPMSG, &m), &m.ctlbuf, &m.databuf);
}

static long
do_getmblk(int fd)
{
	mblk_t *mp;
	long r = str_getmblk(fd, &mp);

	ck_assert_msg(r == -1 || mp == NULL, "a message came");
	return r;
}

static long
do_nread(int fd)
{
	int n;

	return str_ioctl(fd, I_NREAD, &n);
}

static long
do_peek(int fd)
{
	char c[4], d[4];
	struct strpeek k = {{4, 0, c}, {4, 0, d}, 0};

	return str_ioctl(fd, I_PEEK, &k);
}

static long
do_ckband(int fd)
{
	return str_ioctl(fd, I_CKBAND, 0);
}

static long
do_atmark(int fd)
{
	return str_ioctl(fd, I_ATMARK, ANYMARK);
}

static long
do_getband(int fd)
{
	int band;

	return str_ioctl(fd, I_GETBAND, &band);
}

static long
do_recvfd(int fd)
{
	struct strrecvfd rf;

	return str_ioctl(fd, I_RECVFD, &rf);
}

static long
do_e_recvfd(int fd)
{
	struct strrecvfd rf;

	return str_ioctl(fd, I_E_RECVFD, &rf);
}

static long
do_sendfd(int fd)
{
	return str_ioctl(fd, I_SENDFD, spare);
}

static long
do_serropt(int fd)
{
	return str_ioctl(fd, I_SERROPT, 0);
}

static long
do_anchor(int fd)
{
	return str_ioctl(fd, I_ANCHOR, 0);
}

static long
do_look(int fd)
{
	char name[FMNAMESZ + 1];

	return str_ioctl(fd, I_LOOK, name);
}

static long
do_find(int fd)
{
	return str_ioctl(fd, I_FIND, "tctl");
}

static long
do_list(int fd)
{
	return str_ioctl(fd, I_LIST, NULL);
}

static long
do_setsig(int fd)
{
	return str_ioctl(fd, I_SETSIG, S_INPUT);
}

/* Registered before: see stream_in(). */
static long
do_getsig(int fd)
{
	int events;

	return str_ioctl(fd, I_GETSIG, &events);
}

static long
do_esetsig(int fd)
{
	struct strsigset ss = {getpid(), S_INPUT};

	return str_ioctl(fd, I_ESETSIG, &ss);
}

static long
do_egetsig(int fd)
{
	struct strsigset ss = {getpid(), 0};

	return str_ioctl(fd, I_EGETSIG, &ss);
}

static long
do_grdopt(int fd)
{
	int opt;

	return str_ioctl(fd, I_GRDOPT, &opt);
}

static long
do_gwropt(int fd)
{
	int opt;

	return str_ioctl(fd, I_GWROPT, &opt);
}

static long
do_gerropt(int fd)
{
	int opt;

	return str_ioctl(fd, I_GERROPT, &opt);
}

static long
do_setcltime(int fd)
{
	int ms = 100;

	return str_ioctl(fd, I_SETCLTIME, &ms);
}

static long
do_getcltime(int fd)
{
	int ms;

	return str_ioctl(fd, I_GETCLTIME, &ms);
}

static long
do_set_hiwat(int fd)
{
	return str_ioctl(fd, I_SET_HIWAT, 10000);
}

static long
do_set_lowat(int fd)
{
	return str_ioctl(fd, I_SET_LOWAT, 1);
}

static long
do_get_hiwat(int fd)
{
	return str_ioctl(fd, I_GET_HIWAT);
}

static long
do_get_lowat(int fd)
{
	return str_ioctl(fd, I_GET_LOWAT);
}

static long
do_poll(int fd)
{
	return polled(fd, 0);
}

/* ---- the matrix --------------------------------------------------------- */

enum { NOMODE, RMODE, WMODE };			 /* the open mode it needs */
enum { IOCTL, MSG, POSIX };			 /* not a stream: ENOTTY, ENOSTR, passed on */
enum { ANY = 100000 };				 /* any success */

#define CHANGES {-ENXIO, -E, -E, -E, -EINVAL, -ENXIO}
#define WRITES(ok) {-ENXIO, ok, -E, -E, -EINVAL, -EPIPE}
#define READS_EMPTY {0, -E, -EAGAIN, -E, -EINVAL, 0}
#define LOOKS(none) {none, -E, none, -E, -EINVAL, none}
#define ALWAYS(ok) {ok, ok, ok, ok, -EINVAL, ok}

static const struct op {
	const char *name;
	long (*run)(int fd);
	long want[NSTATES];
	int mode;
	int family;
	int sigpipe; /* a broken pipe sends SIGPIPE */
} ops[] = {
    {"I_PUSH", do_push, CHANGES, NOMODE, IOCTL, 0},
    {"I_POP", do_pop, CHANGES, NOMODE, IOCTL, 0},
    {"I_FLUSH", do_flush, CHANGES, NOMODE, IOCTL, 0},
    {"I_FLUSHBAND", do_flushband, CHANGES, NOMODE, IOCTL, 0},
    {"I_STR", do_str, CHANGES, NOMODE, IOCTL, 0},
    {"an unknown command", do_transparent, CHANGES, NOMODE, POSIX, 0},
    {"I_LINK", do_link, CHANGES, NOMODE, IOCTL, 0},
    {"I_PLINK", do_plink, CHANGES, NOMODE, IOCTL, 0},
    {"I_UNLINK", do_unlink, CHANGES, NOMODE, IOCTL, 0},
    {"I_PUNLINK", do_punlink, CHANGES, NOMODE, IOCTL, 0},
    {"I_SRDOPT", do_srdopt, LOOKS(0), NOMODE, IOCTL, 0},
    {"I_SWROPT", do_swropt, WRITES(0), NOMODE, IOCTL, 0},
    {"I_CANPUT", do_canput, WRITES(1), NOMODE, IOCTL, 0},
    {"write", do_write, WRITES(1), WMODE, POSIX, 1},
    {"write of nothing", do_write_nothing, WRITES(0), WMODE, POSIX, 1},
    {"writev", do_writev, WRITES(1), WMODE, POSIX, 1},
    {"putmsg", do_putmsg, WRITES(0), WMODE, MSG, 1},
    {"putmsg RS_HIPRI", do_putmsg_hipri, WRITES(0), WMODE, MSG, 1},
    {"putpmsg", do_putpmsg, WRITES(0), WMODE, MSG, 1},
    {"str_putmblk", do_putmblk, WRITES(0), WMODE, MSG, 1},
    {"I_PUTMSG", do_i_putmsg, WRITES(0), WMODE, IOCTL, 1},
    {"I_PUTPMSG", do_i_putpmsg, WRITES(0), WMODE, IOCTL, 1},
    {"I_FDINSERT", do_fdinsert, WRITES(0), WMODE, IOCTL, 1},
    {"I_PEEK", do_peek, LOOKS(0), NOMODE, IOCTL, 0},
    {"I_CKBAND", do_ckband, LOOKS(0), NOMODE, IOCTL, 0},
    {"I_ATMARK", do_atmark, LOOKS(0), NOMODE, IOCTL, 0},
    {"I_GETBAND", do_getband, LOOKS(-ENODATA), NOMODE, IOCTL, 0},
    {"I_NREAD", do_nread, LOOKS(0), NOMODE, IOCTL, 0},
    {"read", do_read, READS_EMPTY, RMODE, POSIX, 0},
    {"readv", do_readv, READS_EMPTY, RMODE, POSIX, 0},
    {"getmsg", do_getmsg, READS_EMPTY, RMODE, MSG, 0},
    {"getpmsg", do_getpmsg, READS_EMPTY, RMODE, MSG, 0},
    {"str_getmblk", do_getmblk, READS_EMPTY, RMODE, MSG, 0},
    {"I_GETMSG", do_i_getmsg, READS_EMPTY, RMODE, IOCTL, 0},
    {"I_GETPMSG", do_i_getpmsg, READS_EMPTY, RMODE, IOCTL, 0},
    {"I_RECVFD", do_recvfd, {-ENXIO, -E, -EAGAIN, -E, -EINVAL, -ENXIO}, RMODE, IOCTL, 0},
    {"I_E_RECVFD", do_e_recvfd, {-ENXIO, -E, -EAGAIN, -E, -EINVAL, -ENXIO}, RMODE, IOCTL, 0},
    {"I_SENDFD", do_sendfd, {-ENXIO, 0, -E, -E, -EINVAL, -ENXIO}, WMODE, IOCTL, 0},
    {"I_SERROPT", do_serropt, CHANGES, NOMODE, IOCTL, 0},
    {"I_ANCHOR", do_anchor, CHANGES, NOMODE, IOCTL, 0},
    {"I_LOOK", do_look, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_FIND", do_find, ALWAYS(1), NOMODE, IOCTL, 0},
    {"I_LIST", do_list, ALWAYS(1), NOMODE, IOCTL, 0},
    {"I_SETSIG", do_setsig, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_GETSIG", do_getsig, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_ESETSIG", do_esetsig, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_EGETSIG", do_egetsig, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_GRDOPT", do_grdopt, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_GWROPT", do_gwropt, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_GERROPT", do_gerropt, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_SETCLTIME", do_setcltime, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_GETCLTIME", do_getcltime, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_SET_HIWAT", do_set_hiwat, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_SET_LOWAT", do_set_lowat, ALWAYS(0), NOMODE, IOCTL, 0},
    {"I_GET_HIWAT", do_get_hiwat, ALWAYS(65536), NOMODE, IOCTL, 0},
    {"I_GET_LOWAT", do_get_lowat, ALWAYS(8192), NOMODE, IOCTL, 0},
    {"poll", do_poll, {POLLHUP, POLLERR, POLLERR, POLLERR, POLLNVAL, POLLHUP}, NOMODE, POSIX, 0},
};
#define NOPS ((int)(sizeof(ops) / sizeof(ops[0])))

static const char *
spell(long v, char buf[32])
{
	if (v < 0)
		return ename((int)-v);
	snprintf(buf, 32, "%ld", v);
	return buf;
}

static void
wants(const struct op *op, int fd, long want, const char *where)
{
	char a[32], b[32];
	long r;

	errno = 0;
	r = op->run(fd);
	if (r == -1)
		r = -errno;
	ck_assert_msg(r == want || (want == ANY && r >= 0), "%s, %s: %s, not %s", op->name, where,
	    spell(r, a), spell(want, b));
}

/* Order a state by way of fd, which leads through tctl. */
static void
bring_into(int fd, int state)
{
	if (state == HUP)
		order(fd, M_HANGUP, NULL, 0);
	else if (state != PLEX && state != BROKEN)
		order_error(fd, state == WRERR ? NOERROR : E, state == RDERR ? NOERROR : E);
}

static int
link_below(int fd)
{
	int mux = open_dev("mux");

	ck_assert_msg(str_ioctl(mux, I_LINK, fd) > 0, "I_LINK: %s", ename(errno));
	return mux;
}

/* A test for each cell: row _i / NSTATES, column _i % NSTATES. */
START_TEST(a_cell)
{
	const struct op *op = &ops[_i / NSTATES];
	int state = _i % NSTATES, p[2], mux = -1;

	test_modules();
	spare = open_dev("echo");
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	signal(SIGPOLL, SIG_IGN);
	GIVES(str_ioctl(p[0], I_SETSIG, S_HIPRI), 0);
	bring_into(p[1], state);
	if (state == PLEX)
		mux = link_below(p[0]);
	if (state == BROKEN)
		GIVES(str_close(p[1]), 0);
	catch_signal(SIGPIPE, 0);
	wants(op, p[0], op->want[state], state_names[state]);
	ck_assert_msg(caught == (state == BROKEN && op->sigpipe), "%s, %s: %d SIGPIPE",
	    op->name, state_names[state], (int)caught);
	if (mux >= 0)
		GIVES(str_close(mux), 0);
	GIVES(str_close(p[0]), 0);
	if (state != BROKEN)
		GIVES(str_close(p[1]), 0);
	GIVES(str_close(spare), 0);
}
END_TEST

/* "Wrong open mode → EBADF before all of these." */
START_TEST(the_wrong_open_mode_comes_before_every_state)
{
	const struct op *op = &ops[_i];

	if (op->mode == NOMODE)
		return;
	test_modules();
	spare = open_dev("echo");
	for (int state = -1; state <= BOTH; state++) {
		int any = str_open("/dev/streams/tdrv/3", O_RDWR | O_NONBLOCK);
		int fd = str_open("/dev/streams/tdrv/3",
		    (op->mode == RMODE ? O_WRONLY : O_RDONLY) | O_NONBLOCK);

		GIVES(str_ioctl(any, I_PUSH, "tctl"), 0);
		if (state >= 0)
			bring_into(any, state);
		wants(op, fd, -EBADF, state < 0 ? "no state" : state_names[state]);
		GIVES(str_close(fd), 0);
		GIVES(str_close(any), 0);
	}
	GIVES(str_close(spare), 0);
}
END_TEST

/* "Bad descriptor EBADF." */
START_TEST(a_bad_descriptor_is_ebadf)
{
	const struct op *op = &ops[_i];
	int p[2];

	if (op->run == do_poll)
		return;
	make_pipe(p);
	close_pipe(p);
	wants(op, -1, -EBADF, "descriptor -1");
	wants(op, p[0], -EBADF, "closed descriptor");
	wants(op, 1000000, -EBADF, "descriptor 1000000");
}
END_TEST

/* "Not a stream: ENOSTR (getmsg/putmsg family), ENOTTY (ioctl)." */
START_TEST(no_stream_is_enostr_or_enotty)
{
	const struct op *op = &ops[_i];
	int fd = open("/dev/null", O_RDWR);

	if (op->family != POSIX)
		wants(op, fd, op->family == MSG ? -ENOSTR : -ENOTTY, "/dev/null");
	close(fd);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("matrix");
	TCase *tc = group(s, "cells", 120);

	tcase_add_loop_test(tc, a_cell, 0, NOPS * NSTATES);
	tc = group(s, "before the states", 120);
	tcase_add_loop_test(tc, the_wrong_open_mode_comes_before_every_state, 0, NOPS);
	tcase_add_loop_test(tc, a_bad_descriptor_is_ebadf, 0, NOPS);
	tcase_add_loop_test(tc, no_stream_is_enostr_or_enotty, 0, NOPS);
	return run_suite(s);
}
