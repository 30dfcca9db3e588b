/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_testmod.c: the module testmod does what it is told, on the driver echo
 * and on a pipe.
 */
#include "headlib.h"

#include <stdint.h>
#include <sys/ddi.h>
#include <sys/testmod.h>

static int fd; /* echo with testmod on it */

static void
setup(void)
{
	fd = open_dev("echo");
	GIVES(str_ioctl(fd, I_PUSH, "testmod"), 0);
}

static void
teardown(void)
{
	str_close(fd);
}

static char back[1024]; /* the data of the last answer */
static int nback;

/* I_STR of a command with n bytes of data; the answer's are then in back. */
static int
tell(int cmd, const void *data, int n)
{
	struct strioctl ic = {cmd, 5, n, back};
	int r;

	memset(back, 0, sizeof(back));
	if (n > 0)
		memcpy(back, data, (size_t)n);
	r = str_ioctl(fd, I_STR, &ic);
	nback = ic.ic_len;
	return r;
}

static int
tell_int(int cmd, int value)
{
	return tell(cmd, &value, sizeof(value));
}

/* TM_UP, TM_DOWN of a message. */
static int
message(int cmd, int type, int band, int ctl, const char *text)
{
	unsigned char buf[300] = {(unsigned char)type, (unsigned char)band, 0,
	    (unsigned char)ctl};

	strcpy((char *)buf + 4, text);
	return tell(cmd, buf, 4 + (int)strlen(text));
}

START_TEST(it_passes_messages_on)
{
	GIVES(put_msg(fd, "ctl", "data", 3), 0);
	TAKES(fd, "ctl", "data", 3);
	GIVES(put_msg(fd, "hi", NULL, HIPRI), 0);
	TAKES(fd, "hi", NULL, HIPRI);
}
END_TEST

START_TEST(it_sends_messages_up)
{
	GIVES(message(TM_UP, M_DATA, 0, TM_WHOLE, "plain"), 0);
	TAKES(fd, NULL, "plain", 0);
	GIVES(message(TM_UP, M_PROTO, 7, 3, "ctldata"), 0);
	TAKES(fd, "ctl", "data", 7);
	GIVES(message(TM_UP, M_PCPROTO, 0, TM_WHOLE, "urgent"), 0);
	TAKES(fd, "urgent", NULL, HIPRI);
}
END_TEST

START_TEST(it_sends_messages_down)
{
	GIVES(message(TM_DOWN, M_DATA, 0, TM_WHOLE, "echoed"), 0);
	TAKES(fd, NULL, "echoed", 0);
}
END_TEST

START_TEST(it_hangs_the_stream_up_and_takes_it_back)
{
	GIVES(tell(TM_HANGUP, NULL, 0), 0);
	GIVES(polled(fd, POLLIN | POLLOUT), POLLHUP);
	FAILS(str_write(fd, "x", 1), ENXIO);
	FAILS(tell(TM_ACK, NULL, 0), ENXIO);
}
END_TEST

START_TEST(it_sets_errors_of_both_sides)
{
	static const unsigned char both[] = {EPROTO, NOERROR};

	GIVES(tell(TM_ERROR, both, 2), 0);
	FAILS(str_read(fd, back, 1), EPROTO);
	GIVES(str_write(fd, "x", 1), 1);
}
END_TEST

START_TEST(it_sends_signals)
{
	static const unsigned char sig = SIGPOLL;

	GIVES(tell(TM_PCSIG, &sig, 1), 0);
	GIVES(tell(TM_SIG, &sig, 1), 0);
}
END_TEST

START_TEST(it_sets_options)
{
	struct stroptions so = {.so_flags = SO_READOPT, .so_readopt = RMSGD};
	int opt = 0;

	GIVES(tell(TM_SETOPTS, &so, 8), 0);
	GIVES(str_ioctl(fd, I_GRDOPT, &opt), 0);
	ck_assert_int_eq(opt & 3, RMSGD);
}
END_TEST

START_TEST(it_acknowledges_with_a_result_and_data)
{
	unsigned char buf[] = {0, 0, 0, 0, 'x', 'y'};
	int rval = 42;

	memcpy(buf, &rval, sizeof(rval));
	GIVES(tell(TM_ACK, buf, 6), 42);
	ck_assert_int_eq(nback, 2);
	ck_assert_str_eq(back, "xy");
}
END_TEST

START_TEST(it_refuses_with_an_errno)
{
	FAILS(tell_int(TM_NAK, EACCES), EACCES);
	FAILS(tell_int(TM_NAK, 0), EINVAL);
	FAILS(tell_int(TM_ACKERR, ENODEV), ENODEV);
}
END_TEST

START_TEST(it_answers_late)
{
	struct {
		int ms, rval;
	} arg = {30, 5};
	long from = now_ms();

	GIVES(tell(TM_DELAY, &arg, sizeof(arg)), 5);
	ck_assert_int_ge(now_ms() - from, 29);
}
END_TEST

START_TEST(it_keeps_an_ioctl_and_answers_it_when_nobody_waits)
{
	struct strioctl ic = {TM_MUTE, 1, 0, NULL};

	FAILS(str_ioctl(fd, I_STR, &ic), ETIME);
	GIVES(tell(TM_ANSWER, NULL, 0), 1);
	GIVES(tell(TM_ANSWER, NULL, 0), 0);
}
END_TEST

START_TEST(its_wrong_and_second_answers_are_not_taken)
{
	GIVES(tell(TM_STRANGER, NULL, 0), 0);
	GIVES(tell(TM_TWICE, NULL, 0), 1);
	GIVES(tell(TM_ACK, NULL, 0), 0);
}
END_TEST

START_TEST(it_copies_in_and_out)
{
	char buf[16] = "abcdefgh12345678";

	GIVES(str_ioctl(fd, TM_COPYIN, buf), 8);
	GIVES(tell(TM_COPIED, NULL, 0), 0);
	ck_assert_int_eq(nback, 8);
	ck_assert_int_eq(memcmp(back, "abcdefgh", 8), 0);
	GIVES(str_ioctl(fd, TM_SIZE(TM_COPYOUT, 4), buf), 4);
	ck_assert_int_eq(memcmp(buf, "\0\1\2\3efgh", 8), 0);
	GIVES(str_ioctl(fd, TM_SIZE(TM_COPYINOUT, 16), buf), 16);
	ck_assert_int_eq(memcmp(buf, "\1\2\3\4fghi23456789", 16), 0);
}
END_TEST

START_TEST(it_reports_a_copy_that_failed)
{
	FAILS(str_ioctl(fd, TM_COPYIN, NULL), EFAULT);
	GIVES(tell(TM_COPYERR, NULL, 0), EFAULT);
	FAILS(str_ioctl(fd, TM_COPYOUT, (void *)-1), EFAULT);
	GIVES(tell(TM_COPYERR, NULL, 0), EFAULT);
	GIVES(tell(TM_COPYERR, NULL, 0), 0);
	FAILS(tell(TM_COPYIN, NULL, 0), EINVAL); /* not transparent */
}
END_TEST

START_TEST(stopped_it_fills_until_the_writer_is_refused)
{
	int written, n[6];

	GIVES(tell_int(TM_STOP, TM_STOPW), TM_STOPW);
	written = fill(fd);
	ck_assert_int_ge(written, 1024);
	ck_assert_int_lt(written, 1100);
	GIVES(polled(fd, POLLOUT), 0);
	GIVES(tell(TM_QUEUED, NULL, 0), 0);
	memcpy(n, back, sizeof(n));
	ck_assert_int_eq(n[0], 0);
	ck_assert_int_eq(n[1], written);
	GIVES(tell_int(TM_GO, TM_STOPW), 0);
	GIVES(polled(fd, POLLOUT), POLLOUT);
	ck_assert_int_eq((int)drain(fd), written);
}
END_TEST

START_TEST(stopped_on_its_read_side_it_holds_what_comes_up)
{
	GIVES(tell_int(TM_STOP, TM_STOPR), TM_STOPR);
	GIVES(str_write(fd, "x", 1), 1);
	GIVES(polled(fd, POLLIN), 0);
	GIVES(tell_int(TM_GO, TM_STOPR), 0);
	READS(fd, 10, "x");
}
END_TEST

START_TEST(its_water_marks_can_be_set)
{
	long marks[] = {10, 5}, bad[] = {5, 10};

	FAILS(tell(TM_MARKS, bad, sizeof(bad)), EINVAL);
	GIVES(tell(TM_MARKS, marks, sizeof(marks)), 0);
	GIVES(tell_int(TM_STOP, TM_STOPW), TM_STOPW);
	ck_assert_int_eq(fill(fd), 10);
}
END_TEST

START_TEST(it_drops_what_it_is_told_to)
{
	static const unsigned char data = M_DATA;

	GIVES(tell(TM_DROP, &data, 1), 1);
	GIVES(str_write(fd, "x", 1), 1);
	GIVES(tell(TM_DROP, NULL, 0), 0);
	GIVES(str_write(fd, "y", 1), 1);
	READS(fd, 10, "y");
}
END_TEST

START_TEST(it_says_what_it_saw)
{
	static const unsigned char down[] = {M_DATA, M_PROTO, M_FLUSH};

	GIVES(str_write(fd, "x", 1), 1);
	GIVES(put_msg(fd, "c", "d", 0), 0);
	GIVES(str_ioctl(fd, I_FLUSH, FLUSHRW), 0);
	GIVES(tell(TM_LAST, NULL, 0), 0);
	ck_assert_int_eq(nback, 1);
	ck_assert_int_eq(back[0] & FLUSHRW, FLUSHRW);
	GIVES(tell(TM_SEEN, NULL, 0), 0);
	ck_assert_int_eq(nback, 3);
	ck_assert_int_eq(memcmp(back, down, 3), 0);
	GIVES(tell(TM_SEEN, NULL, 0), 0);
	ck_assert_int_eq(nback, 0);
	GIVES(tell(TM_SEENUP, NULL, 0), 0);
	ck_assert_int_ge(nback, 3);
}
END_TEST

START_TEST(ioctls_of_others_pass_it)
{
	FAILS(tell('x' << 8 | 1, NULL, 0), EINVAL);
	FAILS(str_ioctl(fd, 'x' << 8 | 1, 0), EINVAL);
}
END_TEST

START_TEST(a_short_answer_is_none)
{
	struct strioctl ic = {TM_CUT, 1, 0, NULL};

	FAILS(str_ioctl(fd, I_STR, &ic), ETIME);
}
END_TEST

START_TEST(popped_with_an_answer_pending_it_frees_it)
{
	struct strioctl ic = {TM_DELAY, 1, 4, back};
	int ms = 60000;

	memcpy(back, &ms, sizeof(ms));
	FAILS(str_ioctl(fd, I_STR, &ic), ETIME);
	GIVES(str_ioctl(fd, I_POP, 0), 0);
	GIVES(str_ioctl(fd, I_PUSH, "testmod"), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("testmod");
	TCase *tc = group(s, "testmod", 120);

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, it_passes_messages_on);
	tcase_add_test(tc, it_sends_messages_up);
	tcase_add_test(tc, it_sends_messages_down);
	tcase_add_test(tc, it_hangs_the_stream_up_and_takes_it_back);
	tcase_add_test(tc, it_sets_errors_of_both_sides);
	tcase_add_test(tc, it_sends_signals);
	tcase_add_test(tc, it_sets_options);
	tcase_add_test(tc, it_acknowledges_with_a_result_and_data);
	tcase_add_test(tc, it_refuses_with_an_errno);
	tcase_add_test(tc, it_answers_late);
	tcase_add_test(tc, it_keeps_an_ioctl_and_answers_it_when_nobody_waits);
	tcase_add_test(tc, its_wrong_and_second_answers_are_not_taken);
	tcase_add_test(tc, it_copies_in_and_out);
	tcase_add_test(tc, it_reports_a_copy_that_failed);
	tcase_add_test(tc, stopped_it_fills_until_the_writer_is_refused);
	tcase_add_test(tc, stopped_on_its_read_side_it_holds_what_comes_up);
	tcase_add_test(tc, its_water_marks_can_be_set);
	tcase_add_test(tc, it_drops_what_it_is_told_to);
	tcase_add_test(tc, it_says_what_it_saw);
	tcase_add_test(tc, ioctls_of_others_pass_it);
	tcase_add_test(tc, a_short_answer_is_none);
	tcase_add_test(tc, popped_with_an_answer_pending_it_frees_it);
	return run_suite(s);
}
