/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_log.c: strlog() and the driver log.
 */
#include "headlib.h"

#include <stdio.h>
#include <sys/ddi.h>
#include <sys/log.h>
#include <sys/mman.h>
#include <syslog.h>

static int
log_open(void)
{
	return open_dev("log");
}

static int
command(int fd, int cmd, const void *data, int n)
{
	struct strioctl ic = {cmd, 5, n, (char *)(intptr_t)data};

	return str_ioctl(fd, I_STR, &ic);
}

static int
reader(int cmd)
{
	static const struct trace_ids all = {-1, -1, -1};
	int fd = log_open();

	GIVES(command(fd, cmd, &all, cmd == I_TRCLOG ? sizeof(all) : 0), 0);
	return fd;
}

/* The next message of a reader; false: none. */
static bool
next(int fd, struct log_ctl *lc, char text[LOGMSGSZ])
{
	struct strbuf ctl = {.maxlen = sizeof(*lc), .buf = (char *)lc};
	struct strbuf data = {.maxlen = LOGMSGSZ, .buf = text};
	int flags = 0;

	if (getmsg(fd, &ctl, &data, &flags) != 0) {
		ck_assert_int_eq(errno, EAGAIN);
		return false;
	}
	ck_assert_int_eq(ctl.len, (int)sizeof(*lc));
	ck_assert_int_eq(data.len, (int)strlen(text) + 1);
	return true;
}

#define NOTHING(fd)                                \
	do {                                       \
		struct log_ctl lc_;                \
		char text_[LOGMSGSZ];              \
		ck_assert(!next(fd, &lc_, text_)); \
	} while (0)

static void
logged(int fd, const char *text)
{
	struct log_ctl lc;
	char got[LOGMSGSZ];

	ck_assert_msg(next(fd, &lc, got), "%s: nothing came", text);
	ck_assert_str_eq(got, text);
}

/* ---- classes ---------------------------------------------------------------- */

START_TEST(without_readers_strlog_does_nothing)
{
	GIVES(strlog(1, 2, 3, SL_ERROR | SL_TRACE | SL_CONSOLE, "text"), 1);
}
END_TEST

START_TEST(each_class_goes_to_its_reader)
{
	static const struct {
		int cmd;
		unsigned int flag;
	} c[] = {{I_ERRLOG, SL_ERROR}, {I_TRCLOG, SL_TRACE}, {I_CONSLOG, SL_CONSOLE}};
	int fd[3], i;

	for (i = 0; i < 3; i++)
		fd[i] = reader(c[i].cmd);
	for (i = 0; i < 3; i++) {
		GIVES(strlog(1, 2, 3, c[i].flag, "to %d", i), 1);
		for (int j = 0; j < 3; j++)
			if (j != i)
				NOTHING(fd[j]);
		logged(fd[i], i == 0 ? "to 0" : i == 1 ? "to 1" : "to 2");
	}
	GIVES(strlog(1, 2, 3, SL_ERROR | SL_TRACE | SL_CONSOLE, "all"), 1);
	for (i = 0; i < 3; i++) {
		logged(fd[i], "all");
		str_close(fd[i]);
	}
}
END_TEST

START_TEST(the_control_part_says_who_when_and_what)
{
	int fd = reader(I_ERRLOG);
	char text[LOGMSGSZ];
	struct log_ctl lc;

	GIVES(strlog(1002, 7, 5, SL_ERROR | SL_FATAL | SL_NOTIFY, "x %d %s %c", 42, "y", 'z'), 1);
	ck_assert(next(fd, &lc, text));
	ck_assert_int_eq(lc.mid, 1002);
	ck_assert_int_eq(lc.sid, 7);
	ck_assert_int_eq(lc.level, 5);
	ck_assert_int_eq(lc.flags, SL_ERROR | SL_FATAL | SL_NOTIFY);
	ck_assert_int_eq(lc.pri, LOG_KERN | LOG_CRIT);
	ck_assert_int_le(labs(time(NULL) - lc.ttime), 60);
	ck_assert_int_gt(lc.ltime, 0);
	ck_assert_str_eq(text, "x 42 y z");
	str_close(fd);
}
END_TEST

START_TEST(the_priority_comes_from_the_flags)
{
	static const struct {
		unsigned int flags;
		int pri;
	} c[] = {{SL_ERROR, LOG_ERR}, {SL_ERROR | SL_FATAL, LOG_CRIT},
	    {SL_ERROR | SL_WARN, LOG_ERR}, {SL_CONSOLE | SL_WARN, LOG_WARNING},
	    {SL_CONSOLE | SL_NOTE, LOG_NOTICE}, {SL_CONSOLE, LOG_INFO},
	    {SL_CONSOLE | SL_TRACE, LOG_DEBUG}};
	int e = reader(I_ERRLOG), cons = reader(I_CONSLOG);
	char text[LOGMSGSZ];
	struct log_ctl lc;

	GIVES(strlog(1, 1, 0, c[_i].flags, "p"), 1);
	ck_assert(next(c[_i].flags & SL_ERROR ? e : cons, &lc, text));
	ck_assert_int_eq(lc.pri, LOG_KERN | c[_i].pri);
	str_close(e);
	str_close(cons);
}
END_TEST

START_TEST(messages_of_a_class_are_numbered)
{
	int fd = reader(I_ERRLOG);
	char text[LOGMSGSZ];
	struct log_ctl lc;
	int first;

	strlog(1, 1, 0, SL_ERROR, "a");
	ck_assert(next(fd, &lc, text));
	first = lc.seq_no;
	for (int i = 1; i < 5; i++) {
		strlog(1, 1, 0, SL_ERROR, "b");
		ck_assert(next(fd, &lc, text));
		ck_assert_int_eq(lc.seq_no, first + i);
	}
	str_close(fd);
}
END_TEST

START_TEST(a_long_text_is_cut)
{
	static char longer[3000];
	int fd = reader(I_ERRLOG);
	char text[LOGMSGSZ];
	struct log_ctl lc;

	memset(longer, 'x', sizeof(longer) - 1);
	GIVES(strlog(1, 1, 0, SL_ERROR, "%s", longer), 1);
	ck_assert(next(fd, &lc, text));
	ck_assert_uint_eq(strlen(text), LOGMSGSZ - 1);
	str_close(fd);
}
END_TEST

START_TEST(a_class_has_one_reader)
{
	static const struct trace_ids all = {-1, -1, -1};
	int cmds[] = {I_ERRLOG, I_TRCLOG, I_CONSLOG}, cmd = cmds[_i];
	int n = cmd == I_TRCLOG ? sizeof(all) : 0;
	int a = reader(cmd), b = log_open();

	FAILS(command(b, cmd, &all, n), EBUSY);
	GIVES(command(a, cmd, &all, n), 0); /* he himself may say it again */
	str_close(a);
	GIVES(command(b, cmd, &all, n), 0);
	str_close(b);
}
END_TEST

START_TEST(commands_the_log_does_not_know_are_einval)
{
	int fd = log_open();

	FAILS(command(fd, LOGCTL | 4, NULL, 0), EINVAL);
	FAILS(str_ioctl(fd, LOGCTL | 4, NULL), EINVAL);
	str_close(fd);
}
END_TEST

/* ---- traces ------------------------------------------------------------------- */

START_TEST(a_tracer_gets_what_matches_one_of_his_ids)
{
	static const struct trace_ids ids[] = {{41, -1, 2}, {-1, 9, -1}};
	int fd = log_open();

	GIVES(command(fd, I_TRCLOG, ids, sizeof(ids)), 0);
	strlog(41, 1, 2, SL_TRACE, "module 41, level 2");
	strlog(41, 1, 3, SL_TRACE, "module 41, level 3");
	strlog(42, 1, 0, SL_TRACE, "module 42");
	strlog(42, 9, 100, SL_TRACE, "sid 9");
	logged(fd, "module 41, level 2");
	logged(fd, "sid 9");
	NOTHING(fd);
	str_close(fd);
}
END_TEST

START_TEST(a_tracers_ids_must_be_whole_and_some_but_not_too_many)
{
	static const struct trace_ids many[LOGTRACEIDS + 1];
	int fd = log_open();

	FAILS(command(fd, I_TRCLOG, NULL, 0), EINVAL);
	FAILS(command(fd, I_TRCLOG, many, sizeof(many[0]) - 1), EINVAL);
	FAILS(command(fd, I_TRCLOG, many, sizeof(many)), EINVAL);
	FAILS(str_ioctl(fd, I_TRCLOG, many), EINVAL);
	GIVES(command(fd, I_TRCLOG, many, (int)(sizeof(many[0]) * LOGTRACEIDS)), 0);
	str_close(fd);
}
END_TEST

/* ---- programs that log ----------------------------------------------------------- */

START_TEST(a_program_logs_with_putmsg)
{
	struct log_ctl lc = {.flags = SL_ERROR | SL_NOTIFY, .level = 3, .pri = LOG_USER | LOG_ALERT};
	struct strbuf ctl = {.len = sizeof(lc), .buf = (char *)&lc};
	struct strbuf data = {.len = 4, .buf = "text"};
	int fd = reader(I_ERRLOG), w = log_open();
	char text[LOGMSGSZ];

	GIVES(putmsg(w, &ctl, &data, 0), 0);
	ck_assert(next(fd, &lc, text));
	ck_assert_str_eq(text, "text");
	ck_assert_int_eq(lc.mid, LOG_MID);
	ck_assert_int_eq(lc.level, 3);
	ck_assert_int_eq(lc.pri, LOG_USER | LOG_ALERT);
	ck_assert_int_eq(lc.flags, SL_ERROR | SL_NOTIFY);
	/* a control part of another size is no message */
	ctl.len--;
	GIVES(putmsg(w, &ctl, &data, 0), 0);
	NOTHING(fd);
	str_close(w);
	str_close(fd);
}
END_TEST

START_TEST(what_a_program_writes_goes_to_the_console)
{
	int fd = reader(I_CONSLOG), e = reader(I_ERRLOG), w = log_open();
	char text[LOGMSGSZ];
	struct log_ctl lc;

	GIVES(str_write(w, "a line", 6), 6);
	ck_assert(next(fd, &lc, text));
	ck_assert_str_eq(text, "a line");
	ck_assert_int_eq(lc.flags, SL_CONSOLE);
	ck_assert_int_eq(lc.pri, LOG_USER | LOG_INFO);
	NOTHING(e);
	str_close(w);
	str_close(e);
	str_close(fd);
}
END_TEST

/* ---- from within modules ------------------------------------------------------------- */

/* A module that logs what it passes. */
static int
loud_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	qprocson(q);
	strlog(9001, 1, 1, SL_TRACE, "opened");
	return 0;
}

static int
loud_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	strlog(9001, 1, 1, SL_TRACE, "closed");
	qprocsoff(q);
	return 0;
}

static int
loud_put(queue_t *q, mblk_t *mp)
{
	strlog(9001, 1, 1, SL_TRACE, "type %d", mp->b_datap->db_type);
	putnext(q, mp);
	return 0;
}

static struct module_info loud_info = {9001, "loud", 0, INFPSZ, 1024, 256};
static struct qinit loud_qinit = {loud_put, NULL, loud_open, loud_close, NULL, &loud_info, NULL};
static struct streamtab loud_tab = {&loud_qinit, &loud_qinit, NULL, NULL};

START_TEST(modules_log_from_open_close_and_put)
{
	int fd = reader(I_TRCLOG), s;

	GIVES(ustr_register_module("loud", &loud_tab, D_MP | D_MTQPAIR), 0);
	s = open_dev("echo");
	GIVES(str_ioctl(s, I_PUSH, "loud"), 0);
	logged(fd, "opened");
	GIVES(str_write(s, "x", 1), 1);
	logged(fd, "type 0");
	logged(fd, "type 0");
	GIVES(str_ioctl(s, I_POP, 0), 0);
	logged(fd, "closed");
	str_close(s);
	str_close(fd);
	GIVES(ustr_unregister("loud"), 0);
}
END_TEST

START_TEST(a_module_on_the_logs_own_stream_may_log)
{
	int fd = reader(I_TRCLOG), n = 0;
	char text[LOGMSGSZ];
	struct log_ctl lc;

	GIVES(ustr_register_module("loud", &loud_tab, D_MP | D_MTQPAIR), 0);
	GIVES(str_ioctl(fd, I_PUSH, "loud"), 0);
	/* Each message that passes makes another one: bounded, and nobody hangs. */
	strlog(1, 1, 1, SL_TRACE, "begin");
	while (n < 2000 && next(fd, &lc, text))
		n++;
	ck_assert_int_gt(n, 1);
	GIVES(str_ioctl(fd, I_POP, 0), 0);
	str_close(fd);
	GIVES(ustr_unregister("loud"), 0);
}
END_TEST

START_TEST(a_reader_that_does_not_read_loses_messages_and_holds_nobody_up)
{
	int fd = reader(I_ERRLOG), got = 0, last = -1, gaps = 0;
	char text[LOGMSGSZ];
	struct log_ctl lc;

	for (int i = 0; i < 20000; i++)
		strlog(1, 1, 0, SL_ERROR, "message %d", i);
	while (next(fd, &lc, text))
		got++;
	ck_assert_int_gt(got, 100);
	ck_assert_int_lt(got, 20000);
	last = lc.seq_no;
	strlog(1, 1, 0, SL_ERROR, "again");
	ck_assert(next(fd, &lc, text));
	gaps = lc.seq_no - last - 1;
	ck_assert_int_eq(got + gaps, 20000);
	str_close(fd);
}
END_TEST

static int log_stop;

static void *
chatter(void *arg)
{
	int *n = arg;

	while (__atomic_load_n(&log_stop, __ATOMIC_RELAXED) == 0) {
		strlog(1, 1, 0, SL_ERROR, "message");
		__atomic_store_n(n, *n + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

START_TEST(readers_may_come_and_go_while_others_log)
{
	pthread_t t[2];
	int n[2] = {0, 0}, got = 0;
	char text[LOGMSGSZ];
	struct log_ctl lc;

	log_stop = 0;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, chatter, &n[i]);
	for (int i = 0; i < 2; i++)
		for (int left = SOON; left > 0 && __atomic_load_n(&n[i], __ATOMIC_RELAXED) == 0; left--)
			msleep(1);
	for (int round = 0; round < 100; round++) {
		int fd = reader(I_ERRLOG);

		for (int i = 0; i < 50; i++)
			got += next(fd, &lc, text) ? 1 : 0;
		str_close(fd);
	}
	__atomic_store_n(&log_stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	ck_assert_int_gt(n[0], 0);
	ck_assert_int_gt(n[1], 0);
	ck_assert_int_le(got, n[0] + n[1]);
}
END_TEST

static int
child_logs(void *arg)
{
	(void)arg;
	NEED(strlog(5, 6, 0, SL_ERROR, "from %s", "a child") == 1);
	return 0;
}

START_TEST(processes_log_to_one_reader)
{
	int fd;

	if (!can_fork())
		return;
	fd = reader(I_ERRLOG);
	GIVES(reap(child(child_logs, NULL), SOON), 0);
	logged(fd, "from a child");
	str_close(fd);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("log");
	TCase *tc = group(s, "classes", 120);

	tcase_add_test(tc, without_readers_strlog_does_nothing);
	tcase_add_test(tc, each_class_goes_to_its_reader);
	tcase_add_test(tc, the_control_part_says_who_when_and_what);
	tcase_add_loop_test(tc, the_priority_comes_from_the_flags, 0, 7);
	tcase_add_test(tc, messages_of_a_class_are_numbered);
	tcase_add_test(tc, a_long_text_is_cut);
	tcase_add_loop_test(tc, a_class_has_one_reader, 0, 3);
	tcase_add_test(tc, commands_the_log_does_not_know_are_einval);
	tc = group(s, "traces", 120);
	tcase_add_test(tc, a_tracer_gets_what_matches_one_of_his_ids);
	tcase_add_test(tc, a_tracers_ids_must_be_whole_and_some_but_not_too_many);
	tc = group(s, "programs", 120);
	tcase_add_test(tc, a_program_logs_with_putmsg);
	tcase_add_test(tc, what_a_program_writes_goes_to_the_console);
	tc = group(s, "modules", 120);
	tcase_add_test(tc, modules_log_from_open_close_and_put);
	tcase_add_test(tc, a_module_on_the_logs_own_stream_may_log);
	tcase_add_test(tc, a_reader_that_does_not_read_loses_messages_and_holds_nobody_up);
	tcase_add_test(tc, readers_may_come_and_go_while_others_log);
	tcase_add_test(tc, processes_log_to_one_reader);
	return run_suite(s);
}
