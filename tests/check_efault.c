/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_efault.c: bad pointers (streamio.md §12).  Every pointer that a call
 * takes, also those within structures: what can be judged without a system
 * call (NULL, -1, a range that wraps or leaves user space) is EFAULT always,
 * an unmapped page and a result on a read-only page in checked mode.  Each
 * time the process lives, nothing is lost and nothing half sent.
 */
#include "headlib.h"

#include <stdio.h>
#include <sys/select.h>
#include <sys/stat.h>

static char byte[8] = "x";

/* ---- what is read from the caller ---------------------------------------- */

static long
in_write(int fd, void *bad)
{
	return str_write(fd, bad, 8);
}

static long
in_writev(int fd, void *bad)
{
	return str_writev(fd, bad, 1);
}

static long
in_writev_base(int fd, void *bad)
{
	struct iovec v[2] = {{byte, 1}, {bad, 8}};

	return str_writev(fd, v, 2);
}

static long
in_readv(int fd, void *bad)
{
	return str_readv(fd, bad, 1);
}

static long
in_putmsg_ctl(int fd, void *bad)
{
	struct strbuf d = {0, 1, byte};

	return putmsg(fd, bad, &d, 0);
}

static long
in_putmsg_data(int fd, void *bad)
{
	struct strbuf c = {0, 1, byte};

	return putmsg(fd, &c, bad, 0);
}

static long
in_putmsg_ctlbuf(int fd, void *bad)
{
	struct strbuf c = {0, 8, bad}, d = {0, 1, byte};

	return putmsg(fd, &c, &d, 0);
}

static long
in_putmsg_databuf(int fd, void *bad)
{
	struct strbuf c = {0, 1, byte}, d = {0, 8, bad};

	return putmsg(fd, &c, &d, RS_HIPRI);
}

static long
in_putpmsg_ctl(int fd, void *bad)
{
	struct strbuf d = {0, 1, byte};

	return putpmsg(fd, bad, &d, 4, MSG_BAND);
}

static long
in_putpmsg_data(int fd, void *bad)
{
	struct strbuf c = {0, 1, byte};

	return putpmsg(fd, &c, bad, 4, MSG_BAND);
}

static long
in_putpmsg_ctlbuf(int fd, void *bad)
{
	struct strbuf c = {0, 8, bad};

	return putpmsg(fd, &c, NULL, 0, MSG_HIPRI);
}

static long
in_putpmsg_databuf(int fd, void *bad)
{
	struct strbuf d = {0, 8, bad};

	return putpmsg(fd, NULL, &d, 200, MSG_BAND);
}

static long
in_push(int fd, void *bad)
{
	return str_ioctl(fd, I_PUSH, bad);
}

static long
in_find(int fd, void *bad)
{
	return str_ioctl(fd, I_FIND, bad);
}

static long
in_list(int fd, void *bad)
{
	return str_ioctl(fd, I_LIST, bad);
}

static long
in_str(int fd, void *bad)
{
	return str_ioctl(fd, I_STR, bad);
}

static long
in_str_dp(int fd, void *bad)
{
	struct strioctl ic = {'X' << 8, 1, 8, bad};

	return str_ioctl(fd, I_STR, &ic);
}

static long
in_setcltime(int fd, void *bad)
{
	return str_ioctl(fd, I_SETCLTIME, bad);
}

static long
in_flushband(int fd, void *bad)
{
	return str_ioctl(fd, I_FLUSHBAND, bad);
}

static long
in_peek(int fd, void *bad)
{
	return str_ioctl(fd, I_PEEK, bad);
}

static long
in_i_putmsg(int fd, void *bad)
{
	return str_ioctl(fd, I_PUTMSG, bad);
}

static long
in_i_putmsg_buf(int fd, void *bad)
{
	struct strpeek m = {{0, 1, byte}, {0, 8, bad}, 0};

	return str_ioctl(fd, I_PUTMSG, &m);
}

static long
in_i_putpmsg(int fd, void *bad)
{
	return str_ioctl(fd, I_PUTPMSG, bad);
}

static long
in_i_putpmsg_buf(int fd, void *bad)
{
	struct strpmsg m = {{0, 8, bad}, {0, 1, byte}, 1, MSG_BAND};

	return str_ioctl(fd, I_PUTPMSG, &m);
}

static long
in_fdinsert(int fd, void *bad)
{
	return str_ioctl(fd, I_FDINSERT, bad);
}

static long
in_fdinsert_ctl(int fd, void *bad)
{
	struct strfdinsert m = {{0, 8, bad}, {0, -1, NULL}, 0, fd, 0};

	return str_ioctl(fd, I_FDINSERT, &m);
}

static long
in_fdinsert_data(int fd, void *bad)
{
	struct strfdinsert m = {{0, 8, byte}, {0, 8, bad}, 0, fd, 0};

	return str_ioctl(fd, I_FDINSERT, &m);
}

static long
in_poll(int fd, void *bad)
{
	(void)fd;
	return str_poll(bad, 1, 0);
}

static long
in_open(int fd, void *bad)
{
	(void)fd;
	return str_open(bad, O_RDWR);
}

static long
in_getmsg_flags(int fd, void *bad)
{
	return getmsg(fd, NULL, NULL, bad);
}

static long
in_getpmsg_flags(int fd, void *bad)
{
	int band = 0;

	return getpmsg(fd, NULL, NULL, &band, bad);
}

static long
in_getpmsg_band(int fd, void *bad)
{
	int flags = MSG_ANY;

	return getpmsg(fd, NULL, NULL, bad, &flags);
}

static long
in_i_getmsg(int fd, void *bad)
{
	return str_ioctl(fd, I_GETMSG, bad);
}

static long
in_i_getpmsg(int fd, void *bad)
{
	return str_ioctl(fd, I_GETPMSG, bad);
}

/* ---- what is written to the caller ------------------------------------------ */

/* A message with a control part waits: have read take it as data. */
static long
out_read(int fd, void *bad)
{
	read_mode(fd, RNORM | RPROTDAT);
	return str_read(fd, bad, 8);
}

static long
out_readv(int fd, void *bad)
{
	struct iovec v[2] = {{byte, 1}, {bad, 8}};

	read_mode(fd, RNORM | RPROTDAT);
	return str_readv(fd, v, 2);
}

static long
out_getmsg_ctl(int fd, void *bad)
{
	int flags = 0;

	return getmsg(fd, bad, NULL, &flags);
}

static long
out_getmsg_data(int fd, void *bad)
{
	int flags = 0;

	return getmsg(fd, NULL, bad, &flags);
}

static long
out_getmsg_ctlbuf(int fd, void *bad)
{
	struct strbuf c = {8, 0, bad};
	int flags = 0;

	return getmsg(fd, &c, NULL, &flags);
}

static long
out_getmsg_databuf(int fd, void *bad)
{
	struct strbuf c = {8, 0, byte}, d = {8, 0, bad};
	int flags = 0;

	return getmsg(fd, &c, &d, &flags);
}

static long
out_getpmsg_databuf(int fd, void *bad)
{
	struct strbuf c = {8, 0, byte}, d = {8, 0, bad};
	int flags = MSG_ANY, band = 0;

	return getpmsg(fd, &c, &d, &band, &flags);
}

static long
out_getmblk(int fd, void *bad)
{
	return str_getmblk(fd, bad);
}

static long
out_peek_ctl(int fd, void *bad)
{
	struct strpeek m = {{8, 0, bad}, {8, 0, byte}, 0};

	return str_ioctl(fd, I_PEEK, &m);
}

static long
out_peek_data(int fd, void *bad)
{
	struct strpeek m = {{8, 0, byte}, {8, 0, bad}, 0};

	return str_ioctl(fd, I_PEEK, &m);
}

static long
out_i_getmsg_buf(int fd, void *bad)
{
	struct strpeek m = {{8, 0, byte}, {8, 0, bad}, 0};

	return str_ioctl(fd, I_GETMSG, &m);
}

static long
out_i_getpmsg_buf(int fd, void *bad)
{
	struct strpmsg m = {{8, 0, bad}, {8, 0, byte}, 0, MSG_ANY};

	return str_ioctl(fd, I_GETPMSG, &m);
}

static long
out_list(int fd, void *bad)
{
	struct str_list l = {4, bad};

	return str_ioctl(fd, I_LIST, &l);
}

static long
out_pipe(int fd, void *bad)
{
	(void)fd;
	return str_pipe(bad);
}

static long
out_fstat(int fd, void *bad)
{
	return str_fstat(fd, bad);
}

/* What is registered here never happens. */
static long
out_getsig(int fd, void *bad)
{
	GIVES(str_ioctl(fd, I_SETSIG, S_MSG), 0);
	return str_ioctl(fd, I_GETSIG, bad);
}

static long
in_esetsig(int fd, void *bad)
{
	return str_ioctl(fd, I_ESETSIG, bad);
}

static long
out_select(int fd, void *bad)
{
	struct timeval now = {0, 0};

	return str_select(fd + 1, bad, NULL, NULL, &now);
}

static long
in_select_time(int fd, void *bad)
{
	fd_set in;

	FD_ZERO(&in);
	FD_SET(fd, &in);
	return str_select(fd + 1, &in, NULL, NULL, bad);
}

#define OUT_INT(name, cmd)                            \
	static long name(int fd, void *bad)           \
	{                                             \
		return str_ioctl(fd, cmd, bad);       \
	}
OUT_INT(out_nread, I_NREAD)
OUT_INT(out_look, I_LOOK)
OUT_INT(out_grdopt, I_GRDOPT)
OUT_INT(out_gwropt, I_GWROPT)
OUT_INT(out_gerropt, I_GERROPT)
OUT_INT(out_getcltime, I_GETCLTIME)
OUT_INT(out_getband, I_GETBAND)
OUT_INT(out_pushcnt, I_GET_PUSHCNT)

/* ---- the table ------------------------------------------------------------- */

enum { IN, OUT, BOTH };	/* the caller's memory is read, written, both */
enum { NONULL, NULLOK };	/* NULL says "absent" */

static const struct pointer {
	const char *name;
	long (*run)(int fd, void *bad);
	int way;
	int null;
} pointers[] = {
    {"write", in_write, IN, NONULL},
    {"writev vector", in_writev, IN, NONULL},
    {"writev second buffer", in_writev_base, IN, NONULL},
    {"readv vector", in_readv, IN, NONULL},
    {"putmsg control part", in_putmsg_ctl, IN, NULLOK},
    {"putmsg data part", in_putmsg_data, IN, NULLOK},
    {"putmsg control buffer", in_putmsg_ctlbuf, IN, NONULL},
    {"putmsg data buffer", in_putmsg_databuf, IN, NONULL},
    {"putpmsg control part", in_putpmsg_ctl, IN, NULLOK},
    {"putpmsg data part", in_putpmsg_data, IN, NULLOK},
    {"putpmsg control buffer", in_putpmsg_ctlbuf, IN, NONULL},
    {"putpmsg data buffer", in_putpmsg_databuf, IN, NONULL},
    {"I_PUSH", in_push, IN, NONULL},
    {"I_FIND", in_find, IN, NONULL},
    {"I_LIST", in_list, IN, NULLOK},
    {"I_STR", in_str, IN, NONULL},
    {"I_STR data", in_str_dp, IN, NONULL},
    {"I_SETCLTIME", in_setcltime, IN, NONULL},
    {"I_FLUSHBAND", in_flushband, IN, NONULL},
    {"I_PEEK", in_peek, BOTH, NONULL},
    {"I_PUTMSG", in_i_putmsg, IN, NONULL},
    {"I_PUTMSG data buffer", in_i_putmsg_buf, IN, NONULL},
    {"I_PUTPMSG", in_i_putpmsg, IN, NONULL},
    {"I_PUTPMSG control buffer", in_i_putpmsg_buf, IN, NONULL},
    {"I_FDINSERT", in_fdinsert, IN, NONULL},
    {"I_FDINSERT control buffer", in_fdinsert_ctl, IN, NONULL},
    {"I_FDINSERT data buffer", in_fdinsert_data, IN, NONULL},
    {"str_poll", in_poll, BOTH, NONULL},
    {"str_open", in_open, IN, NONULL},
    {"getmsg flags", in_getmsg_flags, BOTH, NONULL},
    {"getpmsg flags", in_getpmsg_flags, IN, NONULL},
    {"getpmsg band", in_getpmsg_band, BOTH, NONULL},
    {"I_GETMSG", in_i_getmsg, BOTH, NONULL},
    {"I_GETPMSG", in_i_getpmsg, IN, NONULL},
    {"read", out_read, OUT, NONULL},
    {"readv second buffer", out_readv, OUT, NONULL},
    {"getmsg control part", out_getmsg_ctl, BOTH, NULLOK},
    {"getmsg data part", out_getmsg_data, BOTH, NULLOK},
    {"getmsg control buffer", out_getmsg_ctlbuf, OUT, NULLOK},
    {"getmsg data buffer", out_getmsg_databuf, OUT, NULLOK},
    {"getpmsg data buffer", out_getpmsg_databuf, OUT, NULLOK},
    {"str_getmblk", out_getmblk, OUT, NONULL},
    {"I_PEEK control buffer", out_peek_ctl, OUT, NULLOK},
    {"I_PEEK data buffer", out_peek_data, OUT, NULLOK},
    {"I_GETMSG data buffer", out_i_getmsg_buf, OUT, NULLOK},
    {"I_GETPMSG control buffer", out_i_getpmsg_buf, OUT, NULLOK},
    {"I_LIST names", out_list, OUT, NONULL},
    {"I_GETSIG", out_getsig, OUT, NONULL},
    {"I_ESETSIG", in_esetsig, IN, NONULL},
    {"str_select descriptors", out_select, BOTH, NULLOK},
    {"str_select time", in_select_time, IN, NULLOK},
    {"str_pipe", out_pipe, OUT, NONULL},
    {"str_fstat", out_fstat, OUT, NONULL},
    {"I_NREAD", out_nread, OUT, NONULL},
    {"I_LOOK", out_look, OUT, NONULL},
    {"I_GRDOPT", out_grdopt, OUT, NONULL},
    {"I_GWROPT", out_gwropt, OUT, NONULL},
    {"I_GERROPT", out_gerropt, OUT, NONULL},
    {"I_GETCLTIME", out_getcltime, OUT, NONULL},
    {"I_GETBAND", out_getband, OUT, NONULL},
    {"I_GET_PUSHCNT", out_pushcnt, OUT, NONULL},
};
#define NPOINTERS ((int)(sizeof(pointers) / sizeof(pointers[0])))

/*
 * The call fails with EFAULT, on a stream with a message to read; afterwards
 * that message is whole and nothing was sent.
 */
static void
is_efault(const struct pointer *pt, void *bad, const char *what)
{
	long r;
	int p[2], e;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(put_msg(p[1], "ctl", "data", 2), 0);
	errno = 0;
	r = pt->run(p[0], bad);
	e = errno;
	ck_assert_msg(r == -1 && e == EFAULT, "%s, %s: %ld (%s)", pt->name, what, r,
	    r == -1 ? ename(e) : "no error");
	ck_assert_msg(waiting(p[1]) == 0, "%s, %s: something was sent", pt->name, what);
	TAKES(p[0], "ctl", "data", 2);
	close_pipe(p);
}

START_TEST(a_pointer_that_can_be_judged_is_efault_always)
{
	const struct pointer *pt = &pointers[_i];

	if (pt->null == NONULL)
		is_efault(pt, NULL, "NULL");
	is_efault(pt, (void *)-1, "-1");
	is_efault(pt, (void *)(UINTPTR_MAX - 3), "a range that wraps");
	is_efault(pt, (void *)((uintptr_t)1 << 47), "beyond user space");
	is_efault(pt, (void *)(((uintptr_t)1 << 47) - 1), "a range that leaves user space");
	is_efault(pt, (void *)8, "the first page");
}
END_TEST

START_TEST(any_other_bad_pointer_is_efault_in_checked_mode)
{
	const struct pointer *pt = &pointers[_i];
	char *unmapped, *readonly;

	if (!checked_mode())
		return;
	is_efault(pt, (void *)-1, "-1"); /* the library's own mappings come first */
	bad_pages(&unmapped, &readonly);
	is_efault(pt, unmapped, "an unmapped page");
	if (pt->way != IN)
		is_efault(pt, readonly, "a read-only page");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("efault");
	TCase *tc = group(s, "pointers", 120);

	tcase_add_loop_test(tc, a_pointer_that_can_be_judged_is_efault_always, 0, NPOINTERS);
	tcase_add_loop_test(tc, any_other_bad_pointer_is_efault_in_checked_mode, 0, NPOINTERS);
	return run_suite(s);
}
