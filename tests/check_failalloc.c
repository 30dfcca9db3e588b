/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_failalloc.c: every allocation refused in turn: a clean errno, nothing
 * lost, and the same calls work afterwards.
 *
 * Debug builds only: ustr_tune("failalloc", n) refuses the n-th allocation
 * from now on.  The scenario is run with n = 1, 2, ... until it gets through
 * without meeting the refusal.
 */
#include "headlib.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <ustreams.h>

#define MAXN 400 /* more allocations than the scenario makes */

static bool refused; /* some call failed in this round */

/* A call that failed must say that there was no memory. */
static bool
ok(long rc)
{
	if (rc >= 0)
		return true;
	ck_assert_msg(errno == ENOSR || errno == ENOMEM || errno == EAGAIN,
		"errno %s", strerror(errno));
	refused = true;
	return false;
}

/* The stream linked, used from above and taken off, or left to the close. */
static void
linking(int below)
{
	int mux, id;
	char buf[16];

	if (!ok(mux = str_open("/dev/streams/clone/mux", O_RDWR | O_NONBLOCK)))
		return;
	if (ok(id = str_ioctl(mux, I_LINK, below))) {
		if (ok(str_write(mux, "mux", 3)))
			ck_assert_int_eq(str_read(mux, buf, sizeof(buf)), 3);
		id = ok(str_ioctl(mux, I_UNLINK, id)) ? 0 : id;
	}
	if (id <= 0 && ok(str_ioctl(mux, I_LINK, below)))
		ck_assert_int_eq(str_write(below, "x", 1), -1);
	ck_assert_int_eq(str_close(mux), 0);
	if (ok(str_write(below, "after", 5)))
		ck_assert_int_eq(str_read(below, buf, sizeof(buf)), 5);
}

/* Every kind of call that allocates, each undone again. */
static void
scenario(void)
{
	struct strbuf ctl = { 0, 3, (char[]){ "ctl" } }, data = { 0, 4, (char[]){ "data" } };
	int p[2], fd, d, flags = MSG_ANY, band = 0;
	mblk_t *mp;
	char buf[16];

	if (ok(str_pipe(p))) {
		str_fcntl(p[0], F_SETFL, O_NONBLOCK);
		str_fcntl(p[1], F_SETFL, O_NONBLOCK);
		if (ok(str_ioctl(p[0], I_PUSH, "nullmod")) &&
		    ok(str_ioctl(p[0], I_PUSH, "pipemod")))
			ok(str_ioctl(p[0], I_POP, 0));
		if (ok(str_write(p[0], "hello", 5)))
			ck_assert_int_eq(str_read(p[1], buf, sizeof(buf)), 5);
		if (ok(putpmsg(p[0], &ctl, &data, 7, MSG_BAND))) {
			ctl.maxlen = data.maxlen = 4;
			ck_assert_int_eq(getpmsg(p[1], &ctl, &data, &band, &flags), 0);
			ck_assert_int_eq(band, 7);
		}
		ok(str_ioctl(p[0], I_FLUSH, FLUSHRW));
		if (ok(d = str_dup(p[0])))
			ck_assert_int_eq(str_close(d), 0);
		mp = str_mblkalloc(100000);
		if (mp == NULL)
			ok(-1);
		else if (!ok(str_putmblk(p[0], mp)))
			freemsg(mp);
		ck_assert_int_eq(str_close(p[0]), 0);
		ck_assert_int_eq(str_close(p[1]), 0);
	}
	if (ok(fd = str_open("/dev/streams/clone/echo", O_RDWR | O_NONBLOCK))) {
		if (ok(str_write(fd, "echo", 4)))
			ck_assert_int_eq(str_read(fd, buf, sizeof(buf)), 4);
		linking(fd);
		ck_assert_int_eq(str_close(fd), 0);
	}
}

static size_t
used(void)
{
	struct ustr_memstat ms;

	ck_assert_int_eq(ustr_memstat(&ms), 0);
	return ms.ms_used;
}

static void
refuse_each(void)
{
	int n, met = 0;

	for (n = 1; n <= MAXN; n++) {
		refused = false;
		ck_assert_int_eq(ustr_tune("failalloc", n), 0);
		scenario();
		ck_assert_int_eq(ustr_tune("failalloc", 0), 0);
		if (!refused && n > 50)
			break;
		met += refused;
		refused = false;
		scenario();
		ck_assert_msg(!refused, "after refusal %d the calls no longer work", n);
	}
	ck_assert_msg(met >= 10, "only %d refusals were met", met);
}

START_TEST(every_allocation_may_fail_with_a_clean_errno)
{
	scenario(); /* bring everything up */
	refuse_each();
}
END_TEST

START_TEST(refused_allocations_leak_nothing)
{
	size_t before;

	scenario();
	refuse_each();
	before = used();
	for (int i = 0; i < 20; i++)
		refuse_each();
	ck_assert_uint_eq(used(), before);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("failalloc");
	TCase *tc = tcase_create("failalloc");

	if (strstr(ustr_version(), "debug=0") != NULL) {
		puts("check_failalloc: skipped (needs --enable-debug=1 or more)");
		return 77;
	}
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, every_allocation_may_fail_with_a_clean_errno);
	tcase_add_test(tc, refused_allocations_leak_nothing);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
