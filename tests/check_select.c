/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_select.c: str_select and str_pselect, and how a thread sleeps on
 * streams and kernel descriptors at once (DESIGN §7, streamio.md §9).
 */
#include "headlib.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <time.h>

enum { RD = 1, WR = 2, EX = 4, SECONDS = 60 };

/* What str_select says at once of one descriptor asked for all three. */
static int
selected(int fd)
{
	struct timeval zero = {0, 0};
	fd_set rd, wr, ex;
	int n, bits;

	FD_ZERO(&rd);
	FD_ZERO(&wr);
	FD_ZERO(&ex);
	FD_SET(fd, &rd);
	FD_SET(fd, &wr);
	FD_SET(fd, &ex);
	n = str_select(fd + 1, &rd, &wr, &ex, &zero);
	ck_assert_msg(n >= 0, "str_select: %s", ename(errno));
	bits = (FD_ISSET(fd, &rd) ? RD : 0) | (FD_ISSET(fd, &wr) ? WR : 0) |
	    (FD_ISSET(fd, &ex) ? EX : 0);
	ck_assert_int_eq(n, !!(bits & RD) + !!(bits & WR) + !!(bits & EX));
	return bits;
}

/* Wait for fd, or for fd and other, to be readable; as select. */
static int
readable(int fd, int other, struct timeval *tv)
{
	fd_set rd;
	int max = fd > other ? fd : other;

	FD_ZERO(&rd);
	FD_SET(fd, &rd);
	if (other >= 0)
		FD_SET(other, &rd);
	return str_select(max + 1, &rd, NULL, NULL, tv);
}

/* ---- what is ready ---------------------------------------------------------- */

START_TEST(an_empty_pipe_is_ready_for_writing_only)
{
	int p[2];

	make_pipe(p);
	ck_assert_int_eq(selected(p[0]), WR);
	close_pipe(p);
}
END_TEST

START_TEST(a_message_of_any_class_is_ready_for_reading)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "x", 1), 1);
	ck_assert_int_eq(selected(p[0]), RD | WR);
	GIVES(put_msg(p[1], NULL, "band", 3), 0);
	ck_assert_int_eq(selected(p[0]), RD | WR | EX);
	GIVES(put_msg(p[1], "hi", NULL, HIPRI), 0);
	ck_assert_int_eq(selected(p[0]), RD | WR | EX);
	TAKES(p[0], "hi", NULL, HIPRI);
	TAKES(p[0], NULL, "band", 3);
	ck_assert_int_eq(selected(p[0]), RD | WR);
	close_pipe(p);
}
END_TEST

START_TEST(a_full_stream_is_not_ready_for_writing)
{
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 2);
	fill(p[0]);
	ck_assert_int_eq(selected(p[0]), 0);
	drain(p[1]);
	ck_assert_int_eq(selected(p[0]), WR);
	close_pipe(p);
}
END_TEST

START_TEST(what_would_fail_at_once_is_ready)
{
	int p[2];

	make_pipe(p);
	GIVES(str_close(p[1]), 0);
	ck_assert_int_eq(selected(p[0]), RD | WR);
	GIVES(str_close(p[0]), 0);
	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	order_error(p[0], EIO, EIO);
	ck_assert_int_eq(selected(p[0]), RD | WR);
	close_pipe(p);
}
END_TEST

START_TEST(kernel_descriptors_are_as_with_select)
{
	int k[2];

	ck_assert_int_eq(pipe(k), 0);
	ck_assert_int_eq(selected(k[0]), 0);
	ck_assert_int_eq(selected(k[1]), WR);
	ck_assert_int_eq(write(k[1], "x", 1), 1);
	ck_assert_int_eq(selected(k[0]), RD);
	close(k[0]);
	ck_assert_int_eq(selected(k[1]), RD | WR); /* POLLERR */
	close(k[1]);
}
END_TEST

START_TEST(both_kinds_are_counted_together_and_others_cleared)
{
	struct timeval tv = {SECONDS, 0};
	int p[2], k[2];
	fd_set rd, wr;

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	FD_ZERO(&rd);
	FD_ZERO(&wr);
	FD_SET(p[0], &rd);
	FD_SET(k[0], &rd);
	FD_SET(p[1], &wr);
	FD_SET(k[1], &wr);
	GIVES(str_select(FD_SETSIZE, &rd, &wr, NULL, &tv), 2);
	ck_assert(!FD_ISSET(p[0], &rd) && !FD_ISSET(k[0], &rd));
	ck_assert(FD_ISSET(p[1], &wr) && FD_ISSET(k[1], &wr));
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

/* ---- time and errors ---------------------------------------------------------- */

START_TEST(a_select_without_events_waits_out_its_time)
{
	struct timeval tv = {0, 60000};
	struct timespec ts = {0, 60000000};
	int p[2], k[2];
	long start;
	fd_set rd;

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	start = now_ms();
	GIVES(readable(p[0], _i ? k[0] : -1, &tv), 0);
	ck_assert_int_ge(now_ms() - start, 59);
	/* "left time", as on Linux */
	ck_assert(tv.tv_sec == 0 && tv.tv_usec == 0);
	FD_ZERO(&rd);
	FD_SET(p[0], &rd);
	start = now_ms();
	GIVES(str_pselect(p[0] + 1, &rd, NULL, NULL, &ts, NULL), 0);
	ck_assert_int_ge(now_ms() - start, 59);
	ck_assert_int_eq(ts.tv_nsec, 60000000);
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

START_TEST(a_select_of_nothing_is_a_sleep)
{
	struct timeval tv = {0, 30000};
	long start = now_ms();

	GIVES(str_select(0, NULL, NULL, NULL, &tv), 0);
	ck_assert_int_ge(now_ms() - start, 29);
}
END_TEST

START_TEST(the_time_left_is_given_back)
{
	struct timeval tv = {SECONDS, 0};
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "x", 1), 1);
	GIVES(readable(p[0], -1, &tv), 1);
	ck_assert_int_ge(tv.tv_sec, SECONDS / 2);
	ck_assert_int_le(tv.tv_sec, SECONDS);
	close_pipe(p);
}
END_TEST

START_TEST(bad_arguments_leave_the_sets_alone)
{
	struct timeval bad[] = {{-1, 0}, {0, -1}, {0, 1000000}}, tv = {0, 0};
	struct timespec badns[] = {{-1, 0}, {0, -1}, {0, 1000000000}};
	fd_set rd, was;
	int p[2];

	make_pipe(p);
	FD_ZERO(&rd);
	FD_SET(p[0], &rd);
	was = rd;
	for (int i = 0; i < 3; i++) {
		FAILS(str_select(p[0] + 1, &rd, NULL, NULL, &bad[i]), EINVAL);
		FAILS(str_pselect(p[0] + 1, &rd, NULL, NULL, &badns[i], NULL), EINVAL);
	}
	FAILS(str_select(-1, &rd, NULL, NULL, &tv), EINVAL);
	FAILS(str_select(INT_MIN, NULL, NULL, NULL, &tv), EINVAL);
	FAILS(str_select(FD_SETSIZE + 1, &rd, NULL, NULL, &tv), EINVAL);
	FAILS(str_select(p[0] + 1, (fd_set *)-1, NULL, NULL, &tv), EFAULT);
	FAILS(str_select(p[0] + 1, &rd, NULL, NULL, (struct timeval *)-1), EFAULT);
	FAILS(str_pselect(p[0] + 1, &rd, NULL, NULL, (struct timespec *)-1, NULL), EFAULT);
	FAILS(str_pselect(p[0] + 1, &rd, NULL, NULL, NULL, (sigset_t *)-1), EFAULT);
	GIVES(str_close(p[0]), 0);
	FAILS(str_select(p[0] + 1, &rd, NULL, NULL, &tv), EBADF);
	ck_assert_int_eq(memcmp(&rd, &was, sizeof(rd)), 0);
	GIVES(str_close(p[1]), 0);
}
END_TEST

/* ---- sleeping ------------------------------------------------------------------- */

static void
write_kernel(void *arg)
{
	struct act *a = arg;

	a->a_result = write(a->a_fd, a->a_text, strlen(a->a_text));
}

/* Loop: a stream alone; mixed and the stream wakes; mixed and the kernel wakes. */
START_TEST(either_kind_wakes_a_select)
{
	struct timeval tv = {SECONDS, 0};
	struct later l;
	struct act a;
	int p[2], k[2];

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	a = (struct act){_i == 2 ? k[1] : p[1], "x", 0};
	later(&l, 30, _i == 2 ? write_kernel : act, &a);
	GIVES(readable(p[0], _i ? k[0] : -1, &tv), 1);
	later_join(&l);
	ck_assert_int_eq(a.a_result, 1);
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

/* The thread's processor time and switches stay nothing while it waits. */
START_TEST(a_mixed_sleep_is_no_busy_wait)
{
	struct rusage before, after;
	struct pollfd f[2];
	int p[2], k[2];

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	f[0] = (struct pollfd){p[0], POLLIN, 0};
	f[1] = (struct pollfd){k[0], POLLIN, 0};
	getrusage(RUSAGE_THREAD, &before);
	GIVES(str_poll(f, 2, 400), 0);
	getrusage(RUSAGE_THREAD, &after);
	ck_assert_int_lt(after.ru_nvcsw - before.ru_nvcsw, 40);
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

/* More than fit on the stack, of both kinds in turn. */
START_TEST(many_descriptors_of_both_kinds)
{
	enum { N = 20 };
	struct pollfd f[2 * N];
	struct later l;
	struct act a;
	int p[N][2], k[N][2];

	for (int i = 0; i < N; i++) {
		make_pipe(p[i]);
		ck_assert_int_eq(pipe(k[i]), 0);
		f[2 * i] = (struct pollfd){k[i][0], POLLIN, 0};
		f[2 * i + 1] = (struct pollfd){p[i][0], POLLIN, 0};
	}
	a = (struct act){_i ? k[N - 1][1] : p[N - 2][1], "x", 0};
	later(&l, 20, _i ? write_kernel : act, &a);
	GIVES(str_poll(f, 2 * N, SECONDS * 1000), 1);
	ck_assert_int_eq(f[_i ? 2 * N - 2 : 2 * N - 3].revents, POLLIN);
	later_join(&l);
	for (int i = 0; i < N; i++) {
		close(k[i][0]);
		close(k[i][1]);
		close_pipe(p[i]);
	}
}
END_TEST

/* ---- the signal mask ------------------------------------------------------------- */

static void
block(int sig, sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(SIG_BLOCK, &set, old);
}

/* Loop: with and without a kernel descriptor in the set. */
START_TEST(a_pending_signal_that_the_mask_lets_in_ends_a_pselect)
{
	struct timespec ts = {SECONDS, 0};
	sigset_t old, now;
	int p[2], k[2];
	fd_set rd;

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	catch_signal(SIGUSR1, SA_RESTART);
	block(SIGUSR1, &old);
	raise(SIGUSR1);
	ck_assert_int_eq(caught, 0);
	FD_ZERO(&rd);
	FD_SET(p[0], &rd);
	if (_i)
		FD_SET(k[0], &rd);
	FAILS(str_pselect(FD_SETSIZE, &rd, NULL, NULL, &ts, &old), EINTR);
	ck_assert_int_eq(caught, 1);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	ck_assert(sigismember(&now, SIGUSR1)); /* as before the call */
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

static void
signal_main(void *arg)
{
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
}

START_TEST(a_signal_that_the_mask_keeps_out_waits)
{
	struct timespec ts = {0, 80000000};
	pthread_t self = pthread_self();
	struct later l;
	sigset_t all, none;
	int p[2];
	fd_set rd;

	make_pipe(p);
	catch_signal(SIGUSR1, 0);
	sigemptyset(&none);
	sigfillset(&all);
	FD_ZERO(&rd);
	FD_SET(p[0], &rd);
	later(&l, 10, signal_main, &self);
	GIVES(str_pselect(p[0] + 1, &rd, NULL, NULL, &ts, &all), 0);
	later_join(&l);
	ck_assert_int_eq(caught, 1); /* delivered once the mask was back */
	close_pipe(p);
}
END_TEST

START_TEST(a_message_wakes_a_pselect_with_a_mask)
{
	struct timespec ts = {SECONDS, 0};
	struct later l;
	sigset_t none;
	struct act a;
	int p[2];
	fd_set rd;

	make_pipe(p);
	sigemptyset(&none);
	a = (struct act){p[1], "x", 0};
	FD_ZERO(&rd);
	FD_SET(p[0], &rd);
	later(&l, 20, act, &a);
	GIVES(str_pselect(p[0] + 1, &rd, NULL, NULL, &ts, &none), 1);
	later_join(&l);
	close_pipe(p);
}
END_TEST

/* ---- between processes -------------------------------------------------------------- */

enum { ROUNDS = 300 };

/* Send back what comes, one byte at a time, waiting with a kernel descriptor. */
static int
bounce(int fd, int kernel, bool first)
{
	struct pollfd f[2] = {{kernel, POLLIN, 0}, {fd, POLLIN, 0}};
	char c = 'x';

	for (int i = 0; i < ROUNDS; i++) {
		if (first && str_write(fd, &c, 1) != 1)
			return 1;
		if (str_poll(f, 2, SECONDS * 1000) != 1 || f[1].revents != POLLIN)
			return 2;
		if (str_read(fd, &c, 1) != 1)
			return 3;
		if (!first && str_write(fd, &c, 1) != 1)
			return 4;
	}
	return 0;
}

static int
bounce_child(void *arg)
{
	int *fd = arg;

	return bounce(fd[0], fd[1], false);
}

START_TEST(two_processes_in_mixed_polls_lose_no_wakeup)
{
	int p[2], k[2], arg[2];
	pid_t pid;

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	arg[0] = p[1];
	arg[1] = k[0];
	pid = child(bounce_child, arg);
	ck_assert_int_eq(bounce(p[0], k[0], true), 0);
	ck_assert_int_eq(reap(pid, SOON), 0);
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("select");
	TCase *tc = group(s, "ready", 120);

	tcase_add_test(tc, an_empty_pipe_is_ready_for_writing_only);
	tcase_add_test(tc, a_message_of_any_class_is_ready_for_reading);
	tcase_add_test(tc, a_full_stream_is_not_ready_for_writing);
	tcase_add_test(tc, what_would_fail_at_once_is_ready);
	tcase_add_test(tc, kernel_descriptors_are_as_with_select);
	tcase_add_test(tc, both_kinds_are_counted_together_and_others_cleared);
	tc = group(s, "time and errors", 120);
	tcase_add_loop_test(tc, a_select_without_events_waits_out_its_time, 0, 2);
	tcase_add_test(tc, a_select_of_nothing_is_a_sleep);
	tcase_add_test(tc, the_time_left_is_given_back);
	tcase_add_test(tc, bad_arguments_leave_the_sets_alone);
	tc = group(s, "sleeping", 120);
	tcase_add_loop_test(tc, either_kind_wakes_a_select, 0, 3);
	tcase_add_test(tc, a_mixed_sleep_is_no_busy_wait);
	tcase_add_loop_test(tc, many_descriptors_of_both_kinds, 0, 2);
	if (!under_tsan()) {
		tcase_add_loop_test(
		    tc, a_pending_signal_that_the_mask_lets_in_ends_a_pselect, 0, 2);
		tcase_add_test(tc, a_signal_that_the_mask_keeps_out_waits);
	}
	tcase_add_test(tc, a_message_wakes_a_pselect_with_a_mask);
	if (can_fork())
		tcase_add_test(tc, two_processes_in_mixed_polls_lose_no_wakeup);
	return run_suite(s);
}
