/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_autopush.c: autopush by file and by word (utils/apconf.c), and what of
 * the driver sad needs more than a script: users, unregistering, other threads.
 */
#include "headlib.h"

#include <stdio.h>
#include <sys/sad.h>
#include <sys/stat.h>

#include "../utils/apconf.h"
#include "../utils/strtool.h"

static int sad;
static unsigned int echo_major;

static void
setup(void)
{
	tool_begin("check_autopush");
	sad = apconf_open();
	ck_assert_int_ge(sad, 0);
	ck_assert(apconf_major(sad, "", "echo", &echo_major));
}

static void
teardown(void)
{
	str_close(sad);
}

/* Set the lines: how many were refused. */
static int
set_lines(const char *text)
{
	FILE *f = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
	int bad;

	ck_assert_ptr_ne(f, NULL);
	bad = apconf_file(sad, "test", f);
	fclose(f);
	return bad;
}

/* The modules of a new stream, topmost first, joined by blanks. */
static const char *
modules_of(const char *path)
{
	static char text[200];
	struct str_mlist names[12];
	struct str_list list = {12, names};
	int fd = str_open(path, O_RDWR), n;

	ck_assert_int_ge(fd, 0);
	n = str_ioctl(fd, I_LIST, &list);
	text[0] = '\0';
	for (int i = 0; i < n - 1; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
		    names[i].l_name);
	str_close(fd);
	return text;
}

static const char *
shown(unsigned int major, int minor)
{
	static char text[300];
	FILE *f = fmemopen(text, sizeof(text), "w");

	ck_assert(apconf_show(sad, major, minor, f));
	fclose(f);
	return text;
}

START_TEST(a_file_sets_ranges_minors_and_all)
{
	GIVES(set_lines("# major minor lastminor modules\n"
			"echo 1 0 pipemod\n"
			"\n"
			"echo 5\t7 nullmod pipemod # two\n"
			"nuls -1 0 pipemod nullmod pipemod\n"),
	    0);
	ck_assert_str_eq(modules_of("/dev/streams/echo/1"), "pipemod");
	ck_assert_str_eq(modules_of("/dev/streams/echo/2"), "");
	ck_assert_str_eq(modules_of("/dev/streams/echo/6"), "pipemod nullmod");
	ck_assert_str_eq(modules_of("/dev/streams/clone/nuls"), "pipemod nullmod pipemod");
}
END_TEST

START_TEST(majors_go_by_number_as_well)
{
	char line[100];

	snprintf(line, sizeof(line), "%u -1 0 nullmod\n", echo_major);
	GIVES(set_lines(line), 0);
	ck_assert_str_eq(modules_of("/dev/streams/clone/echo"), "nullmod");
}
END_TEST

START_TEST(the_last_line_needs_no_newline_and_may_be_a_comment)
{
	GIVES(set_lines("#nothing"), 0);
	GIVES(set_lines("echo -1 0 nullmod"), 0);
	ck_assert_str_eq(modules_of("/dev/streams/clone/echo"), "nullmod");
}
END_TEST

START_TEST(lines_that_are_wrong_are_refused_one_by_one)
{
	GIVES(set_lines("echo 1 0\n"		/* no module */
			"nosuch 1 0 nullmod\n"	/* no such driver */
			"echo x 0 nullmod\n"	/* no minor */
			"echo -2 0 nullmod\n"
			"echo 1 0 nosuch\n"	/* no such module */
			"echo 1 0 a b c d e f g h i\n"
			"echo 9 5 nullmod\n"	/* no range */
			"echo 3 0 anchor nullmod\n"
			"echo 3 0 nullmod anchor anchor\n"
			"99999 3 0 nullmod\n"
			"echo 3 0 nullmod nullmod nullmod nullmod nullmod nullmod nullmod "
			"nullmod nullmod\n"
			"echo 2 0 pipemod\n"
			"echo 2 0 nullmod\n"), /* configured already */
	    12);
	ck_assert_str_eq(modules_of("/dev/streams/echo/2"), "pipemod");
	ck_assert_str_eq(modules_of("/dev/streams/echo/3"), "");
}
END_TEST

START_TEST(eight_modules_are_pushed)
{
	GIVES(set_lines("echo 2 0 nullmod nullmod nullmod nullmod nullmod nullmod nullmod pipemod"),
	    0);
	ck_assert_str_eq(modules_of("/dev/streams/echo/2"),
	    "pipemod nullmod nullmod nullmod nullmod nullmod nullmod nullmod");
}
END_TEST

START_TEST(what_is_set_is_shown)
{
	unsigned int nuls;
	char want[200];

	GIVES(set_lines("echo 5 7 nullmod [anchor] pipemod\nnuls -1 0 nullmod"), 0);
	snprintf(want, sizeof(want),
	    "     Major      Minor  Lastminor  Modules\n%10u          5          7  nullmod "
	    "[anchor] pipemod\n",
	    echo_major);
	ck_assert_str_eq(shown(echo_major, 6), want);
	ck_assert(!apconf_show(sad, echo_major, 8, stderr));
	ck_assert(apconf_major(sad, "", "nuls", &nuls));
	ck_assert_ptr_ne(strstr(shown(nuls, -1), "ALL"), NULL);
}
END_TEST

START_TEST(what_is_set_is_forgotten)
{
	GIVES(set_lines("echo 5 7 nullmod"), 0);
	ck_assert(!apconf_clear(sad, echo_major, 6));
	ck_assert(apconf_clear(sad, echo_major, 5));
	ck_assert(!apconf_clear(sad, echo_major, 5));
	ck_assert_str_eq(modules_of("/dev/streams/echo/5"), "");
}
END_TEST

/* "only effective uid 0 or the instance's creator may set" */
static int
sets_as_nobody(void *arg)
{
	struct strapush sap = {.sap_common = {SAP_ALL, echo_major, 0, 0, 1},
	    .sap_list = {"nullmod"}};

	(void)arg;
	NEED(seteuid(65534) == 0);
	NEED(str_ioctl(sad, SAD_SAP, &sap) == -1 && errno == EPERM);
	sap.sap_cmd = SAP_CLEAR;
	NEED(str_ioctl(sad, SAD_SAP, &sap) == -1 && errno == EPERM);
	NEED(str_ioctl(sad, SAD_GAP, &sap) == -1 && errno == ENODEV);
	NEED(seteuid(0) == 0);
	sap.sap_cmd = SAP_ALL;
	NEED(str_ioctl(sad, SAD_SAP, &sap) == 0);
	return 0;
}

START_TEST(another_user_may_look_but_not_set)
{
	if (!can_fork() || geteuid() != 0)
		return;
	GIVES(reap(child(sets_as_nobody, NULL), SOON), 0);
	ck_assert_str_eq(modules_of("/dev/streams/clone/echo"), "nullmod");
}
END_TEST

/* What is below the anchor is not popped without privilege. */
static int
pops_as_nobody(void *arg)
{
	int fd;

	(void)arg;
	NEED(seteuid(65534) == 0);
	NEED((fd = str_open("/dev/streams/clone/echo", O_RDWR)) >= 0);
	NEED(str_ioctl(fd, I_POP, 0) == 0);
	NEED(str_ioctl(fd, I_POP, 0) == -1 && errno == EPERM);
	NEED(str_ioctl(fd, I_LIST, NULL) == 3);
	return 0;
}

START_TEST(an_anchor_in_the_list_holds)
{
	if (!can_fork() || geteuid() != 0)
		return;
	GIVES(set_lines("echo -1 0 nullmod pipemod anchor nullmod"), 0);
	GIVES(reap(child(pops_as_nobody, NULL), SOON), 0);
}
END_TEST

START_TEST(what_is_set_goes_with_the_driver)
{
	unsigned int major;

	test_modules();
	ck_assert(apconf_major(sad, "", "tdrv", &major));
	GIVES(set_lines("tdrv -1 0 nullmod"), 0);
	ck_assert_str_eq(modules_of("/dev/streams/clone/tdrv"), "nullmod");
	GIVES(ustr_unregister("tdrv"), 0);
	ck_assert(!apconf_show(sad, major, 0, stderr));
	test_modules();
	ck_assert_str_eq(modules_of("/dev/streams/clone/tdrv"), "");
}
END_TEST

/* A module whose open fails: the device's close routine has run, nothing is left. */
START_TEST(a_module_that_cannot_be_opened_undoes_the_open)
{
	test_modules();
	GIVES(set_lines("tdrv -1 0 tcount tfail"), 0);
	FAILS(str_open("/dev/streams/tdrv/3", O_RDWR), EACCES);
	ck_assert_int_eq(tdrv_counts.c_open, tdrv_counts.c_close);
	ck_assert_int_eq(tcount_counts.c_open, tcount_counts.c_close);
	GIVES(ustr_unregister("tfail"), 0);
	FAILS(str_open("/dev/streams/tdrv/3", O_RDWR), EINVAL);
	ck_assert_int_eq(tdrv_counts.c_open, tdrv_counts.c_close);
	GIVES(ustr_unregister("tdrv"), 0);
}
END_TEST

static void *
sets_and_clears(void *arg)
{
	struct strapush sap = {.sap_common = {SAP_ONE, echo_major,
				   (unsigned int)(uintptr_t)arg, 0, 1},
	    .sap_list = {"nullmod"}};

	for (int i = 0; i < 500; i++) {
		sap.sap_cmd = i % 2 ? SAP_CLEAR : SAP_ONE;
		if (str_ioctl(sad, SAD_SAP, &sap) != 0)
			return arg;
	}
	return NULL;
}

/* The pointer in it leads to no block that sad gave out: it is not followed. */
START_TEST(a_forged_answer_is_not_believed)
{
	struct copyresp cp = {.cp_cmd = SAD_SAP, .cp_private = (mblk_t *)(uintptr_t)64};

	for (int type = M_IOCTL; type != 0; type = type == M_IOCTL ? M_IOCDATA : 0) {
		mblk_t *mp = str_mblkalloc(sizeof(cp));

		ck_assert_ptr_ne(mp, NULL);
		memcpy(mp->b_wptr, &cp, sizeof(cp));
		mp->b_wptr += sizeof(cp);
		mp->b_datap->db_type = (unsigned char)type;
		ck_assert_int_eq(str_putmblk(sad, mp), 0);
	}
	GIVES(set_lines("echo -1 0 nullmod"), 0);
}
END_TEST

START_TEST(threads_set_and_clear_while_devices_are_opened)
{
	pthread_t t[2];
	void *bad;

	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, sets_and_clears, (void *)(i + 1));
	for (int i = 0; i < 500; i++) {
		int fd = str_open("/dev/streams/echo/1", O_RDWR), n;

		ck_assert_int_ge(fd, 0);
		n = str_ioctl(fd, I_LIST, NULL);
		ck_assert(n == 1 || n == 2);
		str_close(fd);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], &bad);
		ck_assert_ptr_eq(bad, NULL);
	}
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("autopush");
	TCase *t = group(s, "file", 120);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_file_sets_ranges_minors_and_all);
	tcase_add_test(t, majors_go_by_number_as_well);
	tcase_add_test(t, the_last_line_needs_no_newline_and_may_be_a_comment);
	tcase_add_test(t, lines_that_are_wrong_are_refused_one_by_one);
	tcase_add_test(t, eight_modules_are_pushed);
	tcase_add_test(t, what_is_set_is_shown);
	tcase_add_test(t, what_is_set_is_forgotten);

	t = group(s, "kernel side", 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, another_user_may_look_but_not_set);
	tcase_add_test(t, an_anchor_in_the_list_holds);
	tcase_add_test(t, what_is_set_goes_with_the_driver);
	tcase_add_test(t, a_module_that_cannot_be_opened_undoes_the_open);
	tcase_add_test(t, a_forged_answer_is_not_believed);
	tcase_add_test(t, threads_set_and_clear_while_devices_are_opened);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
