/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_ioctl.c: str_ioctl (streamio.md §7, §8; interface.md §1): modules
 * pushed and popped, what a queue holds, options, water marks, flushing.
 */
#include "headlib.h"

#include <limits.h>
#include <stdio.h>

#define BAD_PTR ((void *)-1)

static bool
built(int cmd)
{
	int p[2], r;

	make_pipe(p);
	GIVES(str_write(p[0], "x", 1), 1);
	r = str_ioctl(p[1], cmd, 0);
	close_pipe(p);
	return r != -1;
}

/* ---- unknown commands and bad descriptors ------------------------------- */

START_TEST(an_unknown_command_is_refused)
{
	int p[2];

	make_pipe(p);
	FAILS(str_ioctl(p[0], 'S' << 8 | 200, 0), EINVAL);
	FAILS(str_ioctl(p[0], 'S' << 8, 0), EINVAL);
	/* "any ioctl unknown ... a clear errno", and no driver answers here */
	ck_assert_int_eq(str_ioctl(p[0], 0x5401, NULL), -1);
	ck_assert_msg(errno == EINVAL || errno == ENOTTY, "%s", ename(errno));
	ck_assert_int_eq(str_ioctl(p[0], -1, NULL), -1);
	ck_assert_msg(errno == EINVAL || errno == ENOTTY, "%s", ename(errno));
	close_pipe(p);
}
END_TEST

START_TEST(a_bad_descriptor_is_ebadf_and_a_file_enotty)
{
	static const int cmds[] = {I_PUSH, I_POP, I_LOOK, I_LIST, I_FIND, I_NREAD,
	    I_SRDOPT, I_GRDOPT, I_SWROPT, I_GWROPT, I_FLUSH, I_CANPUT, I_SETCLTIME,
	    I_GETCLTIME, I_SET_HIWAT, I_SET_LOWAT, I_GET_HIWAT, I_GET_LOWAT};
	char name[16] = "nullmod";
	int fd = open("/dev/null", O_RDWR);

	for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		FAILS(str_ioctl(-1, cmds[i], name), EBADF);
		FAILS(str_ioctl(987654, cmds[i], name), EBADF);
		FAILS(str_ioctl(fd, cmds[i], name), ENOTTY);
	}
	close(fd);
}
END_TEST

/* ---- modules ------------------------------------------------------------ */

START_TEST(push_look_and_pop)
{
	char name[FMNAMESZ + 1];
	int p[2];

	make_pipe(p);
	FAILS(str_ioctl(p[0], I_LOOK, name), EINVAL);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(p[0], I_LOOK, name), 0);
	ck_assert_str_eq(name, "nullmod");
	GIVES(str_ioctl(p[0], I_PUSH, "pipemod"), 0);
	GIVES(str_ioctl(p[0], I_LOOK, name), 0);
	ck_assert_str_eq(name, "pipemod");
	/* The other end has a stream of its own. */
	FAILS(str_ioctl(p[1], I_LOOK, name), EINVAL);
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	GIVES(str_ioctl(p[0], I_LOOK, name), 0);
	ck_assert_str_eq(name, "nullmod");
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	/* "I_POP: no module → EINVAL; I_LOOK: ... none → EINVAL" */
	FAILS(str_ioctl(p[0], I_POP, 0), EINVAL);
	FAILS(str_ioctl(p[0], I_LOOK, name), EINVAL);
	close_pipe(p);
}
END_TEST

/* "I_PUSH: 1..8 characters, a known module ... else EINVAL" */
START_TEST(push_refuses_bad_names)
{
	int p[2];

	make_pipe(p);
	FAILS(str_ioctl(p[0], I_PUSH, ""), EINVAL);
	FAILS(str_ioctl(p[0], I_PUSH, "nosuch"), EINVAL);
	FAILS(str_ioctl(p[0], I_PUSH, "nullmodxx"), EINVAL);
	FAILS(str_ioctl(p[0], I_PUSH, "a name much longer than any module has"), EINVAL);
	FAILS(str_ioctl(p[0], I_PUSH, "NULLMOD"), EINVAL);
	FAILS(str_ioctl(p[0], I_PUSH, "nullmo"), EINVAL);
	FAILS(str_ioctl(p[0], I_PUSH, "echo"), EINVAL);
	FAILS(str_ioctl(p[0], I_PUSH, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_PUSH, BAD_PTR), EFAULT);
	GIVES(str_ioctl(p[0], I_LIST, NULL), 0);
	close_pipe(p);
}
END_TEST

START_TEST(push_takes_a_name_of_8_characters)
{
	char name[FMNAMESZ + 1];
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tname8ch"), 0);
	GIVES(str_ioctl(p[0], I_LOOK, name), 0);
	ck_assert_str_eq(name, "tname8ch");
	GIVES(str_ioctl(p[0], I_FIND, "tname8ch"), 1);
	close_pipe(p);
}
END_TEST

/* "open routine's errno passes through" */
START_TEST(push_gives_the_errno_of_the_open_routine)
{
	char name[FMNAMESZ + 1];
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	for (int i = 0; i < 100; i++)
		FAILS(str_ioctl(p[0], I_PUSH, "tfail"), EACCES);
	GIVES(str_ioctl(p[0], I_LIST, NULL), 1);
	GIVES(str_ioctl(p[0], I_LOOK, name), 0);
	ck_assert_str_eq(name, "nullmod");
	GIVES(str_write(p[0], "x", 1), 1);
	READS(p[1], 1, "x");
	close_pipe(p);
}
END_TEST

/* "at most nstrpush" (64) and "64 pushed modules work" */
START_TEST(push_stops_at_64_modules)
{
	int p[2];

	make_pipe(p);
	for (int i = 0; i < 64; i++) {
		GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
		GIVES(str_ioctl(p[0], I_LIST, NULL), i + 1);
	}
	FAILS(str_ioctl(p[0], I_PUSH, "nullmod"), EINVAL);
	for (int i = 0; i < 64; i++)
		GIVES(str_ioctl(p[1], I_PUSH, "nullmod"), 0);
	FAILS(str_ioctl(p[1], I_PUSH, "pipemod"), EINVAL);
	GIVES(put_msg(p[0], "ctl", "through 128 modules", 3), 0);
	TAKES(p[1], "ctl", "through 128 modules", 3);
	GIVES(put_msg(p[1], "hi", "and back", HIPRI), 0);
	TAKES(p[0], "hi", "and back", HIPRI);
	for (int i = 63; i >= 0; i--) {
		GIVES(str_ioctl(p[0], I_POP, 0), 0);
		GIVES(str_ioctl(p[0], I_LIST, NULL), i);
	}
	FAILS(str_ioctl(p[0], I_POP, 0), EINVAL);
	/* The far end is closed with all of its modules. */
	close_pipe(p);
}
END_TEST

START_TEST(nstrpush_is_tunable)
{
	int p[2];

	make_pipe(p);
	GIVES(ustr_tune("nstrpush", 2), 0);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	FAILS(str_ioctl(p[0], I_PUSH, "nullmod"), EINVAL);
	GIVES(ustr_tune("nstrpush", 64), 0);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	close_pipe(p);
}
END_TEST

START_TEST(open_and_close_routines_run_once_for_each_push)
{
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tcount"), 0);
	ck_assert_int_eq(tcount_counts.c_open, 1);
	ck_assert_int_eq(tcount_counts.c_sflag, MODOPEN);
	GIVES(str_ioctl(p[0], I_PUSH, "tcount"), 0);
	ck_assert_int_eq(tcount_counts.c_open, 2);
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	ck_assert_int_eq(tcount_counts.c_close, 1);
	GIVES(str_close(p[0]), 0);
	ck_assert_int_eq(tcount_counts.c_close, 2);
	GIVES(str_close(p[1]), 0);
	ck_assert_int_eq(tcount_counts.c_close, 2);
}
END_TEST

/* "I_FIND: 1/0, unknown name → EINVAL" */
START_TEST(find_tells_what_is_pushed)
{
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_FIND, "nullmod"), 0);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(p[0], I_PUSH, "pipemod"), 0);
	GIVES(str_ioctl(p[0], I_FIND, "nullmod"), 1);
	GIVES(str_ioctl(p[0], I_FIND, "pipemod"), 1);
	GIVES(str_ioctl(p[1], I_FIND, "pipemod"), 0);
	FAILS(str_ioctl(p[0], I_FIND, "nosuch"), EINVAL);
	FAILS(str_ioctl(p[0], I_FIND, ""), EINVAL);
	FAILS(str_ioctl(p[0], I_FIND, "nullmodxx"), EINVAL);
	FAILS(str_ioctl(p[0], I_FIND, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_FIND, BAD_PTR), EFAULT);
	close_pipe(p);
}
END_TEST

START_TEST(look_with_a_bad_pointer_is_efault)
{
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	FAILS(str_ioctl(p[0], I_LOOK, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_LOOK, BAD_PTR), EFAULT);
	close_pipe(p);
}
END_TEST

/* "I_LIST NULL → modules + driver (pipes: modules only)" */
START_TEST(list_counts_modules_and_driver)
{
	int p[2], fd = open_dev("echo");

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_LIST, NULL), 0);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(p[0], I_LIST, NULL), 1);
	GIVES(str_ioctl(p[1], I_LIST, NULL), 0);
	GIVES(str_ioctl(fd, I_LIST, NULL), 1);
	GIVES(str_ioctl(fd, I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(fd, I_LIST, NULL), 2);
	GIVES(str_close(fd), 0);
	close_pipe(p);
}
END_TEST

/* "with a list: nmods < 1 → EINVAL, copies, returns the number" */
START_TEST(list_names_modules_from_the_top_and_the_driver_last)
{
	struct str_mlist names[5];
	struct str_list l = {5, names};
	int fd = open_dev("echo");

	memset(names, 'z', sizeof(names));
	GIVES(str_ioctl(fd, I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(fd, I_PUSH, "pipemod"), 0);
	GIVES(str_ioctl(fd, I_LIST, &l), 3);
	ck_assert_int_eq(l.sl_nmods, 3);
	ck_assert_str_eq(names[0].l_name, "pipemod");
	ck_assert_str_eq(names[1].l_name, "nullmod");
	ck_assert_str_eq(names[2].l_name, "echo");
	ck_assert_int_eq(names[3].l_name[0], 'z');
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(list_fills_no_more_than_there_is_room)
{
	struct str_mlist names[3];
	struct str_list l = {2, names};
	int fd = open_dev("echo");

	memset(names, 'z', sizeof(names));
	GIVES(str_ioctl(fd, I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(fd, I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(fd, I_LIST, &l), 2);
	ck_assert_int_eq(l.sl_nmods, 2);
	ck_assert_str_eq(names[1].l_name, "nullmod");
	ck_assert_int_eq(names[2].l_name[0], 'z');
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(list_refuses_bad_arguments)
{
	struct str_mlist names[3];
	struct str_list l = {0, names};
	int fd = open_dev("echo");

	FAILS(str_ioctl(fd, I_LIST, &l), EINVAL);
	l.sl_nmods = -1;
	FAILS(str_ioctl(fd, I_LIST, &l), EINVAL);
	l.sl_nmods = INT_MIN;
	FAILS(str_ioctl(fd, I_LIST, &l), EINVAL);
	FAILS(str_ioctl(fd, I_LIST, BAD_PTR), EFAULT);
	l = (struct str_list){3, NULL};
	FAILS(str_ioctl(fd, I_LIST, &l), EFAULT);
	l = (struct str_list){3, BAD_PTR};
	FAILS(str_ioctl(fd, I_LIST, &l), EFAULT);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(data_at_the_head_survives_push_and_pop)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "before", 6), 6);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_write(p[1], "between", 7), 7);
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	GIVES(str_write(p[1], "after", 5), 5);
	READS(p[0], 100, "beforebetweenafter");
	close_pipe(p);
}
END_TEST

/* ddi.md §7: "Whatever a close leaves on its queues is flushed." */
START_TEST(pop_flushes_what_the_module_holds)
{
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "thold"), 0);
	GIVES(str_write(p[0], "held", 4), 4);
	ck_assert_int_eq(waiting(p[1]), 0);
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	ck_assert_int_eq(waiting(p[1]), 0);
	GIVES(str_write(p[0], "free", 4), 4);
	READS(p[1], 10, "free");
	close_pipe(p);
}
END_TEST

/* §12: "Any other bad pointer gives EFAULT in checked mode." */
START_TEST(any_bad_pointer_is_efault_in_checked_mode)
{
	static const int out[] = {I_LOOK, I_NREAD, I_GRDOPT, I_GWROPT, I_GETCLTIME};
	char *none, *konst;
	struct str_list l = {3, NULL};
	int p[2];

	make_pipe(p);
	bad_pages(&none, &konst);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		FAILS(str_ioctl(p[0], out[i], none), EFAULT);
		FAILS(str_ioctl(p[0], out[i], konst), EFAULT);
	}
	FAILS(str_ioctl(p[0], I_PUSH, none), EFAULT);
	FAILS(str_ioctl(p[0], I_FIND, none), EFAULT);
	FAILS(str_ioctl(p[0], I_SETCLTIME, none), EFAULT);
	FAILS(str_ioctl(p[0], I_LIST, none), EFAULT);
	l.sl_modlist = (struct str_mlist *)(void *)none;
	FAILS(str_ioctl(p[0], I_LIST, &l), EFAULT);
	l.sl_modlist = (struct str_mlist *)(void *)konst;
	FAILS(str_ioctl(p[0], I_LIST, &l), EFAULT);
	GIVES(str_ioctl(p[0], I_LIST, NULL), 1);
	close_pipe(p);
}
END_TEST

/* ---- what a queue holds ------------------------------------------------- */

/* "returns the number of messages (hipri included), *arg = M_DATA bytes of
   the first one" */
START_TEST(nread_counts_messages_and_the_bytes_of_the_first)
{
	int p[2], n = -1;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_NREAD, &n), 0);
	ck_assert_int_eq(n, 0);
	GIVES(str_write(p[1], "hello", 5), 5);
	GIVES(str_write(p[1], "x", 1), 1);
	GIVES(str_ioctl(p[0], I_NREAD, &n), 2);
	ck_assert_int_eq(n, 5);
	GIVES(put_msg(p[1], "control", "abc", 1), 0);
	GIVES(str_ioctl(p[0], I_NREAD, &n), 3);
	ck_assert_int_eq(n, 3);
	GIVES(put_msg(p[1], "hi", NULL, HIPRI), 0);
	GIVES(str_ioctl(p[0], I_NREAD, &n), 4);
	ck_assert_int_eq(n, 0);
	FAILS(str_ioctl(p[0], I_NREAD, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_NREAD, BAD_PTR), EFAULT);
	GIVES(str_ioctl(p[0], I_NREAD, &n), 4);
	close_pipe(p);
}
END_TEST

START_TEST(ckband_and_getband_look_at_bands)
{
	int p[2], band = -1;

	if (!built(I_CKBAND))
		return;
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_CKBAND, 0), 0);
	FAILS(str_ioctl(p[0], I_GETBAND, &band), ENODATA);
	GIVES(put_msg(p[1], NULL, "one", 1), 0);
	GIVES(put_msg(p[1], NULL, "nine", 9), 0);
	GIVES(str_ioctl(p[0], I_CKBAND, 0), 0);
	GIVES(str_ioctl(p[0], I_CKBAND, 1), 1);
	GIVES(str_ioctl(p[0], I_CKBAND, 5), 0);
	GIVES(str_ioctl(p[0], I_CKBAND, 9), 1);
	GIVES(str_ioctl(p[0], I_CKBAND, 255), 0);
	FAILS(str_ioctl(p[0], I_CKBAND, -1), EINVAL);
	FAILS(str_ioctl(p[0], I_CKBAND, 256), EINVAL);
	GIVES(str_ioctl(p[0], I_GETBAND, &band), 0);
	ck_assert_int_eq(band, 9);
	FAILS(str_ioctl(p[0], I_GETBAND, NULL), EFAULT);
	close_pipe(p);
}
END_TEST

/* "copies without consuming; returns 1, or 0 if empty or RS_HIPRI asked and
   the first is normal" */
START_TEST(peek_copies_and_leaves_the_message)
{
	char c[10], d[10];
	struct strpeek k = {{10, 0, c}, {10, 0, d}, 0};
	int p[2];

	make_pipe(p);
	if (str_ioctl(p[0], I_PEEK, &k) == -1 && errno == EINVAL) {
		close_pipe(p);
		return;
	}
	GIVES(str_ioctl(p[0], I_PEEK, &k), 0);
	GIVES(put_msg(p[1], "ctl", "data", 2), 0);
	GIVES(str_ioctl(p[0], I_PEEK, &k), 1);
	ck_assert_int_eq(k.ctlbuf.len, 3);
	ck_assert_mem_eq(c, "ctl", 3);
	ck_assert_int_eq(k.databuf.len, 4);
	ck_assert_mem_eq(d, "data", 4);
	ck_assert_uint_eq(k.flags, 0);
	k.ctlbuf.maxlen = -1;
	k.databuf.maxlen = 2;
	GIVES(str_ioctl(p[0], I_PEEK, &k), 1);
	ck_assert_int_eq(k.ctlbuf.len, -1);
	ck_assert_int_eq(k.databuf.len, 2);
	k.flags = RS_HIPRI;
	GIVES(str_ioctl(p[0], I_PEEK, &k), 0);
	FAILS(str_ioctl(p[0], I_PEEK, NULL), EFAULT);
	k.flags = 6;
	FAILS(str_ioctl(p[0], I_PEEK, &k), EINVAL);
	ck_assert_int_eq(waiting(p[0]), 1);
	TAKES(p[0], "ctl", "data", 2);
	GIVES(put_msg(p[1], "hi", NULL, HIPRI), 0);
	k = (struct strpeek){{10, 0, c}, {10, 0, d}, RS_HIPRI};
	GIVES(str_ioctl(p[0], I_PEEK, &k), 1);
	ck_assert_uint_eq(k.flags, RS_HIPRI);
	ck_assert_int_eq(k.databuf.len, -1);
	close_pipe(p);
}
END_TEST

/* "I_CANPUT n: band writable (a band never used is); ANYBAND: some existing
   band > 0 is" */
START_TEST(canput_tells_whether_a_band_is_writable)
{
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	GIVES(str_ioctl(p[0], I_CANPUT, 0), 1);
	GIVES(str_ioctl(p[0], I_CANPUT, 3), 1);
	GIVES(str_ioctl(p[0], I_CANPUT, 255), 1);
	fill(p[0]);
	GIVES(str_ioctl(p[0], I_CANPUT, 0), 0);
	GIVES(str_ioctl(p[0], I_CANPUT, 3), 1);
	while (put_msg(p[0], NULL, "x", 1) == 0)
		;
	GIVES(str_ioctl(p[0], I_CANPUT, 1), 0);
	GIVES(str_ioctl(p[0], I_CANPUT, ANYBAND), 0);
	GIVES(put_msg(p[0], NULL, "x", 2), 0);
	GIVES(str_ioctl(p[0], I_CANPUT, ANYBAND), 1);
	GIVES(str_ioctl(p[1], I_CANPUT, 0), 1);
	FAILS(str_ioctl(p[0], I_CANPUT, 256), EINVAL);
	FAILS(str_ioctl(p[0], I_CANPUT, -2), EINVAL);
	FAILS(str_ioctl(p[0], I_CANPUT, INT_MAX), EINVAL);
	FAILS(str_ioctl(p[0], I_CANPUT, INT_MIN), EINVAL);
	drain(p[1]);
	GIVES(str_ioctl(p[0], I_CANPUT, 0), 1);
	GIVES(str_ioctl(p[0], I_CANPUT, 1), 1);
	close_pipe(p);
}
END_TEST

/* ---- options ------------------------------------------------------------ */

START_TEST(read_options_are_set_and_got)
{
	static const int modes[] = {RNORM, RMSGD, RMSGN};
	static const int prots[] = {RPROTDAT, RPROTDIS, RPROTNORM};
	int p[2], opt = -1;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_GRDOPT, &opt), 0);
	ck_assert_int_eq(opt & (RMSGD | RMSGN), RNORM);
	ck_assert_int_eq(opt & (RPROTDAT | RPROTDIS), 0);
	for (int i = 0; i < 9; i++) {
		int want = modes[i % 3] | prots[i / 3];

		GIVES(str_ioctl(p[0], I_SRDOPT, want), 0);
		GIVES(str_ioctl(p[0], I_GRDOPT, &opt), 0);
		ck_assert_int_eq(opt & 0x1f, want);
	}
	GIVES(str_ioctl(p[1], I_GRDOPT, &opt), 0);
	ck_assert_int_eq(opt & (RMSGD | RMSGN | RPROTDAT | RPROTDIS), 0);
	GIVES(str_ioctl(p[0], I_SRDOPT, RNORM | RFILL), 0);
	GIVES(str_ioctl(p[0], I_GRDOPT, &opt), 0);
	ck_assert_int_eq(opt & RFILL, RFILL);
	close_pipe(p);
}
END_TEST

/* "RMSGD|RMSGN, two RPROT bits, or unknown bits → EINVAL" */
START_TEST(bad_read_options_are_einval_and_change_nothing)
{
	static const int bad[] = {RMSGD | RMSGN, RPROTDAT | RPROTDIS,
	    RPROTDAT | RPROTNORM, RPROTDIS | RPROTNORM, RPROTDAT | RPROTDIS | RPROTNORM,
	    0x40, 0x1000, -1, INT_MIN};
	int p[2], opt = -1;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_SRDOPT, RMSGN | RPROTDIS), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		FAILS(str_ioctl(p[0], I_SRDOPT, bad[i]), EINVAL);
	GIVES(str_ioctl(p[0], I_GRDOPT, &opt), 0);
	ck_assert_int_eq(opt & 0x3f, RMSGN | RPROTDIS);
	FAILS(str_ioctl(p[0], I_GRDOPT, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_GRDOPT, BAD_PTR), EFAULT);
	close_pipe(p);
}
END_TEST

START_TEST(write_options_are_set_and_got)
{
	int p[2], opt = -1;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_SWROPT, SNDZERO | SNDPIPE), 0);
	GIVES(str_ioctl(p[0], I_GWROPT, &opt), 0);
	ck_assert_int_eq(opt, SNDZERO | SNDPIPE);
	FAILS(str_ioctl(p[0], I_SWROPT, 0x8), EINVAL);
	FAILS(str_ioctl(p[0], I_SWROPT, 0x100 | SNDZERO), EINVAL);
	FAILS(str_ioctl(p[0], I_SWROPT, -1), EINVAL);
	GIVES(str_ioctl(p[0], I_GWROPT, &opt), 0);
	ck_assert_int_eq(opt, SNDZERO | SNDPIPE);
	FAILS(str_ioctl(p[0], I_GWROPT, NULL), EFAULT);
	GIVES(str_ioctl(p[0], I_SWROPT, 0), 0);
	GIVES(str_ioctl(p[0], I_GWROPT, &opt), 0);
	ck_assert_int_eq(opt, 0);
	close_pipe(p);
}
END_TEST

/* "ms per stream; negative → EINVAL", 15 000 at first */
START_TEST(close_time_is_set_and_got)
{
	int p[2], ms = -1;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_GETCLTIME, &ms), 0);
	ck_assert_int_eq(ms, 15000);
	ms = 250;
	GIVES(str_ioctl(p[0], I_SETCLTIME, &ms), 0);
	ms = -1;
	GIVES(str_ioctl(p[0], I_GETCLTIME, &ms), 0);
	ck_assert_int_eq(ms, 250);
	GIVES(str_ioctl(p[1], I_GETCLTIME, &ms), 0);
	ck_assert_int_eq(ms, 15000);
	ms = -1;
	FAILS(str_ioctl(p[0], I_SETCLTIME, &ms), EINVAL);
	ms = INT_MIN;
	FAILS(str_ioctl(p[0], I_SETCLTIME, &ms), EINVAL);
	ms = 0;
	GIVES(str_ioctl(p[0], I_SETCLTIME, &ms), 0);
	GIVES(str_ioctl(p[0], I_GETCLTIME, &ms), 0);
	ck_assert_int_eq(ms, 0);
	FAILS(str_ioctl(p[0], I_SETCLTIME, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_GETCLTIME, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_GETCLTIME, BAD_PTR), EFAULT);
	close_pipe(p);
}
END_TEST

/* "take an int by value, I_GET_* return it as the result; they mean this
   head's read queue" */
START_TEST(water_marks_are_set_and_got)
{
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_GET_HIWAT), 65536);
	GIVES(str_ioctl(p[0], I_GET_LOWAT), 8192);
	GIVES(str_ioctl(p[0], I_SET_LOWAT, 100), 0);
	GIVES(str_ioctl(p[0], I_SET_HIWAT, 1000), 0);
	GIVES(str_ioctl(p[0], I_GET_HIWAT), 1000);
	GIVES(str_ioctl(p[0], I_GET_LOWAT), 100);
	GIVES(str_ioctl(p[1], I_GET_HIWAT), 65536);
	GIVES(str_ioctl(p[1], I_GET_LOWAT), 8192);
	/* Its own read queue, so what the other end may write. */
	ck_assert_int_eq(fill(p[1]), 1000);
	GIVES(str_ioctl(p[0], I_CANPUT, 0), 1);
	close_pipe(p);
}
END_TEST

/* "A low mark above the high mark: EINVAL" */
START_TEST(a_low_mark_above_the_high_mark_is_einval)
{
	int p[2];

	make_pipe(p);
	FAILS(str_ioctl(p[0], I_SET_LOWAT, 65537), EINVAL);
	FAILS(str_ioctl(p[0], I_SET_HIWAT, 8191), EINVAL);
	FAILS(str_ioctl(p[0], I_SET_LOWAT, -1), EINVAL);
	FAILS(str_ioctl(p[0], I_SET_HIWAT, -1), EINVAL);
	FAILS(str_ioctl(p[0], I_SET_HIWAT, INT_MIN), EINVAL);
	GIVES(str_ioctl(p[0], I_GET_HIWAT), 65536);
	GIVES(str_ioctl(p[0], I_GET_LOWAT), 8192);
	GIVES(str_ioctl(p[0], I_SET_HIWAT, 8192), 0);
	GIVES(str_ioctl(p[0], I_SET_LOWAT, 0), 0);
	GIVES(str_ioctl(p[0], I_SET_HIWAT, 1), 0);
	GIVES(str_ioctl(p[0], I_SET_LOWAT, 1), 0);
	GIVES(str_ioctl(p[0], I_SET_HIWAT, INT_MAX), 0);
	GIVES(str_ioctl(p[0], I_GET_HIWAT), INT_MAX);
	close_pipe(p);
}
END_TEST

/* ---- flushing ----------------------------------------------------------- */

/* A pipe with pipemod on p[0] and two messages waiting at each end. */
static void
loaded(int p[2])
{
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "pipemod"), 0);
	for (int i = 0; i < 2; i++) {
		GIVES(str_write(p[i], "data", 4), 4);
		GIVES(put_msg(p[i], "ctl", "band", 3), 0);
		ck_assert_int_eq(waiting(p[1 - i]), 2);
	}
}

/* "I_FLUSH 1..3 ...: complete when the call returns".  Loop: each end. */
START_TEST(flush_of_the_read_side_empties_the_own_queue)
{
	int p[2], me = _i, other = 1 - _i;

	loaded(p);
	GIVES(str_ioctl(p[me], I_FLUSH, FLUSHR), 0);
	ck_assert_int_eq(waiting(p[me]), 0);
	ck_assert_int_eq(waiting(p[other]), 2);
	close_pipe(p);
}
END_TEST

START_TEST(flush_of_the_write_side_empties_the_far_queue)
{
	int p[2], me = _i, other = 1 - _i;

	loaded(p);
	GIVES(str_ioctl(p[me], I_FLUSH, FLUSHW), 0);
	ck_assert_int_eq(waiting(p[me]), 2);
	ck_assert_int_eq(waiting(p[other]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(flush_of_both_sides_empties_both_queues)
{
	int p[2], me = _i, other = 1 - _i;

	loaded(p);
	GIVES(str_ioctl(p[me], I_FLUSH, FLUSHRW), 0);
	ck_assert_int_eq(waiting(p[me]), 0);
	ck_assert_int_eq(waiting(p[other]), 0);
	GIVES(str_write(p[me], "on", 2), 2);
	READS(p[other], 5, "on");
	close_pipe(p);
}
END_TEST

/* "I_FLUSHBAND: only that band, order elsewhere untouched" */
START_TEST(flushband_empties_one_band)
{
	struct bandinfo bi = {1, FLUSHW};
	int p[2], me = _i % 2, other = 1 - me, victim;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "pipemod"), 0);
	/* A later issue may build it. */
	if (str_ioctl(p[me], I_FLUSHBAND, &bi) == -1 && errno == EINVAL) {
		close_pipe(p);
		return;
	}
	for (int end = 0; end < 2; end++) {
		GIVES(put_msg(p[end], NULL, "zero", 0), 0);
		GIVES(put_msg(p[end], "one", "1", 1), 0);
		GIVES(put_msg(p[end], NULL, "two", 2), 0);
		GIVES(put_msg(p[end], NULL, "more", 1), 0);
		GIVES(put_msg(p[end], NULL, "zero too", 0), 0);
		GIVES(put_msg(p[end], "hi", NULL, HIPRI), 0);
	}
	/* Loop: each end, its read and its write side. */
	bi.bi_flag = _i / 2 ? FLUSHR : FLUSHW;
	victim = _i / 2 ? me : other;
	GIVES(str_ioctl(p[me], I_FLUSHBAND, &bi), 0);
	ck_assert_int_eq(waiting(p[1 - victim]), 6);
	ck_assert_int_eq(waiting(p[victim]), 4);
	TAKES(p[victim], "hi", NULL, HIPRI);
	TAKES(p[victim], NULL, "two", 2);
	TAKES(p[victim], NULL, "zero", 0);
	TAKES(p[victim], NULL, "zero too", 0);
	for (int bad = -1; bad < 10; bad++) {
		bi.bi_flag = bad;
		if (bad < FLUSHR || bad > FLUSHRW)
			FAILS(str_ioctl(p[me], I_FLUSHBAND, &bi), EINVAL);
	}
	FAILS(str_ioctl(p[me], I_FLUSHBAND, NULL), EFAULT);
	FAILS(str_ioctl(p[me], I_FLUSHBAND, BAD_PTR), EFAULT);
	close_pipe(p);
}
END_TEST

START_TEST(flush_refuses_bad_arguments)
{
	static const int bad[] = {0, 4, 5, 7, 8, -1, INT_MIN, INT_MAX};
	int p[2];

	loaded(p);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		FAILS(str_ioctl(p[0], I_FLUSH, bad[i]), EINVAL);
	ck_assert_int_eq(waiting(p[0]), 2);
	ck_assert_int_eq(waiting(p[1]), 2);
	close_pipe(p);
}
END_TEST

START_TEST(a_flush_gives_the_writer_its_room_back)
{
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "pipemod"), 0);
	set_marks(p[1], 100, 10);
	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(fill(p[0]), 100);
		while (put_msg(p[0], NULL, "x", 2) == 0)
			;
		GIVES(str_ioctl(p[_i], I_FLUSH, _i == 0 ? FLUSHW : FLUSHR), 0);
		GIVES(str_ioctl(p[0], I_CANPUT, 2), 1);
		ck_assert_int_eq(waiting(p[1]), 0);
	}
	close_pipe(p);
}
END_TEST

/* The list a reader has taken is flushed as well (DESIGN §5). */
START_TEST(a_flush_takes_what_a_reader_has_begun_to_read)
{
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "pipemod"), 0);
	read_mode(p[1], RMSGN);
	for (int i = 0; i < 10; i++)
		GIVES(str_write(p[0], "abc", 3), 3);
	READS(p[1], 1, "a");
	GIVES(str_ioctl(p[0], I_FLUSH, FLUSHW), 0);
	ck_assert_int_eq(waiting(p[1]), 0);
	FAILS(str_read(p[1], (char[4]){0}, 4), EAGAIN);
	close_pipe(p);
}
END_TEST

START_TEST(a_flush_reaches_the_queues_of_the_driver)
{
	int fd = open_dev("echo");

	set_marks(fd, 100, 10);
	fill(fd);
	GIVES(str_ioctl(fd, I_FLUSH, FLUSHRW), 0);
	ck_assert_int_eq(waiting(fd), 0);
	FAILS(str_read(fd, (char[4]){0}, 4), EAGAIN);
	GIVES(str_write(fd, "again", 5), 5);
	READS(fd, 10, "again");
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(a_flush_empties_the_queues_of_a_module)
{
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "thold"), 0);
	ck_assert_int_eq(fill(p[0]), 5120);
	GIVES(str_ioctl(p[0], I_CANPUT, 0), 0);
	GIVES(str_ioctl(p[0], I_FLUSH, FLUSHW), 0);
	GIVES(str_ioctl(p[0], I_CANPUT, 0), 1);
	ck_assert_int_eq(fill(p[0]), 5120);
	close_pipe(p);
}
END_TEST

/* ---- registration ------------------------------------------------------- */

static int
open_nothing(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *cr)
{
	(void)devp, (void)oflag, (void)sflag, (void)cr;
	qprocson(q);
	return 0;
}

static int
close_nothing(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	return 0;
}

static int
pass(queue_t *q, mblk_t *mp)
{
	putnext(q, mp);
	return 0;
}

static struct module_info info = {9100, "treg", 0, INFPSZ, 512, 128};
static struct qinit rinit = {pass, NULL, open_nothing, close_nothing, NULL, &info, NULL};
static struct qinit winit = {pass, NULL, NULL, NULL, NULL, &info, NULL};
static struct streamtab tab = {&rinit, &winit, NULL, NULL};

/* "0 or -1 with EINVAL (flags, name), EEXIST, EBUSY, ENOENT" */
START_TEST(modules_are_registered_and_unregistered)
{
	int p[2];

	make_pipe(p);
	FAILS(str_ioctl(p[0], I_PUSH, "treg"), EINVAL);
	GIVES(ustr_register_module("treg", &tab, D_MP), 0);
	FAILS(ustr_register_module("treg", &tab, D_MP), EEXIST);
	FAILS(ustr_register_module("nullmod", &tab, D_MP), EEXIST);
	GIVES(str_ioctl(p[0], I_PUSH, "treg"), 0);
	FAILS(ustr_unregister("treg"), EBUSY);
	GIVES(str_write(p[0], "x", 1), 1);
	READS(p[1], 1, "x");
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	GIVES(ustr_unregister("treg"), 0);
	FAILS(ustr_unregister("treg"), ENOENT);
	FAILS(str_ioctl(p[0], I_PUSH, "treg"), EINVAL);
	close_pipe(p);
}
END_TEST

START_TEST(bad_registrations_are_refused)
{
	FAILS(ustr_register_module("", &tab, D_MP), EINVAL);
	FAILS(ustr_register_module("ninechars", &tab, D_MP), EINVAL);
	FAILS(ustr_register_module(NULL, &tab, D_MP), EINVAL);
	FAILS(ustr_register_module("treg2", NULL, D_MP), EINVAL);
	/* ddi.md §3: "D_MTPERMOD ... not with D_MTOUTPERIM" */
	FAILS(ustr_register_module("treg2", &tab, D_MTPERMOD | D_MTOUTPERIM), EINVAL);
	FAILS(ustr_unregister("treg2"), ENOENT);
}
END_TEST

/* ddi.md §3: every legal perimeter carries messages both ways. */
START_TEST(modules_of_every_perimeter_pass_messages)
{
	static const int flags[] = {0, D_MP, D_MTPERQ, D_MTQPAIR, D_MTPERMOD,
	    D_MTPERQ | D_MTOUTPERIM, D_MTQPAIR | D_MTOUTPERIM,
	    D_MTQPAIR | D_MTOUTPERIM | D_MTOCEXCL};
	int p[2];

	make_pipe(p);
	GIVES(ustr_register_module("treg3", &tab, flags[_i]), 0);
	for (int i = 0; i < 3; i++) {
		GIVES(str_ioctl(p[0], I_PUSH, "treg3"), 0);
		GIVES(str_ioctl(p[1], I_PUSH, "treg3"), 0);
	}
	for (int i = 0; i < 100; i++) {
		GIVES(put_msg(p[i % 2], "ctl", "data", i % 4), 0);
		TAKES(p[1 - i % 2], "ctl", "data", i % 4);
	}
	close_pipe(p);
	GIVES(ustr_unregister("treg3"), 0);
}
END_TEST

static void
modules(Suite *s)
{
	TCase *tc = group(s, "modules", 120);

	tcase_add_test(tc, an_unknown_command_is_refused);
	tcase_add_test(tc, a_bad_descriptor_is_ebadf_and_a_file_enotty);
	tcase_add_test(tc, push_look_and_pop);
	tcase_add_test(tc, push_refuses_bad_names);
	tcase_add_test(tc, push_takes_a_name_of_8_characters);
	tcase_add_test(tc, push_gives_the_errno_of_the_open_routine);
	tcase_add_test(tc, push_stops_at_64_modules);
	tcase_add_test(tc, nstrpush_is_tunable);
	tcase_add_test(tc, open_and_close_routines_run_once_for_each_push);
	tcase_add_test(tc, find_tells_what_is_pushed);
	tcase_add_test(tc, look_with_a_bad_pointer_is_efault);
	tcase_add_test(tc, list_counts_modules_and_driver);
	tcase_add_test(tc, list_names_modules_from_the_top_and_the_driver_last);
	tcase_add_test(tc, list_fills_no_more_than_there_is_room);
	tcase_add_test(tc, list_refuses_bad_arguments);
	if (checked_mode())
		tcase_add_test(tc, any_bad_pointer_is_efault_in_checked_mode);
	tcase_add_test(tc, data_at_the_head_survives_push_and_pop);
	tcase_add_test(tc, pop_flushes_what_the_module_holds);
	tcase_add_test(tc, modules_are_registered_and_unregistered);
	tcase_add_test(tc, bad_registrations_are_refused);
	tcase_add_loop_test(tc, modules_of_every_perimeter_pass_messages, 0, 8);
}

static void
queues(Suite *s)
{
	TCase *tc = group(s, "queues", 120);

	tcase_add_test(tc, nread_counts_messages_and_the_bytes_of_the_first);
	tcase_add_test(tc, ckband_and_getband_look_at_bands);
	tcase_add_test(tc, peek_copies_and_leaves_the_message);
	tcase_add_test(tc, canput_tells_whether_a_band_is_writable);
	tcase_add_test(tc, read_options_are_set_and_got);
	tcase_add_test(tc, bad_read_options_are_einval_and_change_nothing);
	tcase_add_test(tc, write_options_are_set_and_got);
	tcase_add_test(tc, close_time_is_set_and_got);
	tcase_add_test(tc, water_marks_are_set_and_got);
	tcase_add_test(tc, a_low_mark_above_the_high_mark_is_einval);
	tcase_add_loop_test(tc, flush_of_the_read_side_empties_the_own_queue, 0, 2);
	tcase_add_loop_test(tc, flush_of_the_write_side_empties_the_far_queue, 0, 2);
	tcase_add_loop_test(tc, flush_of_both_sides_empties_both_queues, 0, 2);
	tcase_add_loop_test(tc, flushband_empties_one_band, 0, 4);
	tcase_add_test(tc, flush_refuses_bad_arguments);
	tcase_add_loop_test(tc, a_flush_gives_the_writer_its_room_back, 0, 2);
	tcase_add_test(tc, a_flush_takes_what_a_reader_has_begun_to_read);
	tcase_add_test(tc, a_flush_reaches_the_queues_of_the_driver);
	tcase_add_test(tc, a_flush_empties_the_queues_of_a_module);
}

int
main(void)
{
	Suite *s = suite_create("ioctl");

	modules(s);
	queues(s);
	return run_suite(s);
}
