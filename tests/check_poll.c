/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_poll.c: str_poll (streamio.md §9): what each state of a stream
 * reports, streams and kernel descriptors in one call, time limits, and
 * wake-ups from other threads and processes.
 */
#include "headlib.h"

#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>

#define READ_BITS (POLLIN | POLLRDNORM | POLLRDBAND | POLLPRI)
#define WRITE_BITS (POLLOUT | POLLWRNORM | POLLWRBAND)
#define ALL_BITS (READ_BITS | WRITE_BITS)

/* ---- what is reported --------------------------------------------------- */

START_TEST(a_new_pipe_is_writable_and_not_readable)
{
	int p[2];

	make_pipe(p);
	ck_assert_int_eq(polled(p[0], READ_BITS), 0);
	ck_assert_int_eq(polled(p[0], POLLOUT | POLLWRNORM), POLLOUT | POLLWRNORM);
	/* "POLLWRBAND ... true if none was ever used" */
	ck_assert_int_eq(polled(p[0], POLLWRBAND), POLLWRBAND);
	/* Only what was asked for. */
	ck_assert_int_eq(polled(p[0], 0), 0);
	ck_assert_int_eq(polled(p[0], POLLOUT), POLLOUT);
	close_pipe(p);
}
END_TEST

/* "band 0 → POLLIN|POLLRDNORM (also for zero length)" */
START_TEST(a_message_of_band_0_is_pollin_and_pollrdnorm)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "x", 1), 1);
	ck_assert_int_eq(polled(p[0], READ_BITS), POLLIN | POLLRDNORM);
	READS(p[0], 5, "x");
	ck_assert_int_eq(polled(p[0], READ_BITS), 0);
	GIVES(str_ioctl(p[1], I_SWROPT, SNDZERO), 0);
	GIVES(str_write(p[1], "", 0), 0);
	ck_assert_int_eq(polled(p[0], READ_BITS), POLLIN | POLLRDNORM);
	READS(p[0], 5, "");
	GIVES(put_msg(p[1], "ctl", NULL, 0), 0);
	ck_assert_int_eq(polled(p[0], READ_BITS), POLLIN | POLLRDNORM);
	close_pipe(p);
}
END_TEST

/* "poll looks at the first message only: ... band > 0 → POLLIN|POLLRDBAND" */
START_TEST(a_message_of_a_band_is_pollin_and_pollrdband)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "x", 1), 1);
	GIVES(put_msg(p[1], NULL, "band", 1), 0);
	ck_assert_int_eq(polled(p[0], READ_BITS), POLLIN | POLLRDBAND);
	ck_assert_int_eq(polled(p[0], POLLRDNORM), 0);
	TAKES(p[0], NULL, "band", 1);
	ck_assert_int_eq(polled(p[0], READ_BITS), POLLIN | POLLRDNORM);
	close_pipe(p);
}
END_TEST

/* "M_PCPROTO → POLLPRI" */
START_TEST(a_high_priority_message_is_pollpri)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "x", 1), 1);
	GIVES(put_msg(p[1], NULL, "band", 1), 0);
	GIVES(put_msg(p[1], "hi", NULL, HIPRI), 0);
	ck_assert_int_eq(polled(p[0], READ_BITS), POLLPRI);
	ck_assert_int_eq(polled(p[0], POLLIN | POLLRDNORM | POLLRDBAND), 0);
	TAKES(p[0], "hi", NULL, HIPRI);
	ck_assert_int_eq(polled(p[0], READ_BITS), POLLIN | POLLRDBAND);
	close_pipe(p);
}
END_TEST

/* "POLLOUT|POLLWRNORM when band 0 is not blocked" */
START_TEST(a_full_stream_is_not_writable)
{
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 2);
	fill(p[0]);
	ck_assert_int_eq(polled(p[0], POLLOUT | POLLWRNORM), 0);
	drain(p[1]);
	ck_assert_int_eq(polled(p[0], POLLOUT | POLLWRNORM), POLLOUT | POLLWRNORM);
	close_pipe(p);
}
END_TEST

/* "POLLWRBAND when some used band is writable" */
START_TEST(pollwrband_looks_at_used_bands)
{
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 2);
	while (put_msg(p[0], NULL, "x", 1) == 0)
		;
	ck_assert_int_eq(polled(p[0], WRITE_BITS), POLLOUT | POLLWRNORM);
	GIVES(put_msg(p[0], NULL, "x", 2), 0);
	ck_assert_int_eq(polled(p[0], WRITE_BITS), POLLOUT | POLLWRNORM | POLLWRBAND);
	fill(p[0]);
	ck_assert_int_eq(polled(p[0], WRITE_BITS), POLLWRBAND);
	close_pipe(p);
}
END_TEST

/* "hup → POLLHUP instead of the write bits, read bits still reported" */
START_TEST(a_hangup_is_reported_always)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "left", 4), 4);
	GIVES(str_close(p[1]), 0);
	ck_assert_int_eq(polled(p[0], 0), POLLHUP);
	ck_assert_int_eq(polled(p[0], ALL_BITS), POLLHUP | POLLIN | POLLRDNORM);
	READS(p[0], 10, "left");
	ck_assert_int_eq(polled(p[0], WRITE_BITS), POLLHUP);
	ck_assert_int_eq(polled(p[0], ALL_BITS) & WRITE_BITS, 0);
	ck_assert_int_eq(polled(p[0], ALL_BITS) & POLLHUP, POLLHUP);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(an_error_is_reported_always)
{
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	order_error(p[1], EPROTO, NOERROR);
	ck_assert_int_eq(polled(p[0], 0), POLLERR);
	order_error(p[1], 0, 0);
	ck_assert_int_eq(polled(p[0], 0), 0);
	order_error(p[1], NOERROR, EPROTO);
	ck_assert_int_eq(polled(p[0], POLLIN), POLLERR);
	close_pipe(p);
}
END_TEST

START_TEST(a_bad_descriptor_is_pollnval_and_a_negative_one_ignored)
{
	struct pollfd f[4];
	int p[2];

	make_pipe(p);
	f[0] = (struct pollfd){987654, POLLIN, 0};
	f[1] = (struct pollfd){-1, POLLIN, POLLIN};
	f[2] = (struct pollfd){p[0], POLLOUT, 0};
	f[3] = (struct pollfd){-77, POLLIN, 0x7f};
	GIVES(str_poll(f, 4, -1), 2);
	ck_assert_int_eq(f[0].revents, POLLNVAL);
	ck_assert_int_eq(f[1].revents, 0);
	ck_assert_int_eq(f[2].revents, POLLOUT);
	ck_assert_int_eq(f[3].revents, 0);
	close_pipe(p);
}
END_TEST

START_TEST(revents_is_cleared)
{
	struct pollfd f;
	int p[2];

	make_pipe(p);
	f = (struct pollfd){p[0], POLLIN, 0x7fff};
	GIVES(str_poll(&f, 1, 0), 0);
	ck_assert_int_eq(f.revents, 0);
	close_pipe(p);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
	static struct pollfd f[1];
	struct rlimit rl;

	FAILS(str_poll(NULL, 1, 0), EFAULT);
	FAILS(str_poll((struct pollfd *)-1, 1, 0), EFAULT);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	FAILS(str_poll(f, (nfds_t)rl.rlim_cur + 1, 0), EINVAL);
	FAILS(str_poll(f, (nfds_t)-1, 0), EINVAL);
}
END_TEST

/* §12: "Any other bad pointer gives EFAULT in checked mode." */
START_TEST(any_bad_pointer_is_efault_in_checked_mode)
{
	char *none, *konst;

	bad_pages(&none, &konst);
	FAILS(str_poll((struct pollfd *)(void *)none, 1, 0), EFAULT);
	FAILS(str_poll((struct pollfd *)(void *)konst, 1, 0), EFAULT);
}
END_TEST

START_TEST(one_descriptor_may_stand_twice)
{
	struct pollfd f[3];
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "x", 1), 1);
	f[0] = (struct pollfd){p[0], POLLIN, 0};
	f[1] = (struct pollfd){p[0], POLLOUT, 0};
	f[2] = (struct pollfd){p[0], POLLIN, 0};
	GIVES(str_poll(f, 3, -1), 3);
	ck_assert_int_eq(f[0].revents, POLLIN);
	ck_assert_int_eq(f[1].revents, POLLOUT);
	ck_assert_int_eq(f[2].revents, POLLIN);
	close_pipe(p);
}
END_TEST

START_TEST(a_dup_polls_like_the_original)
{
	int p[2], fd;

	make_pipe(p);
	fd = str_dup(p[0]);
	GIVES(str_write(p[1], "x", 1), 1);
	ck_assert_int_eq(polled(fd, POLLIN), POLLIN);
	ck_assert_int_eq(polled(p[0], POLLIN), POLLIN);
	READS(fd, 1, "x");
	ck_assert_int_eq(polled(p[0], POLLIN), 0);
	GIVES(str_close(fd), 0);
	close_pipe(p);
}
END_TEST

START_TEST(echo_polls_as_a_pipe_does)
{
	int fd = open_dev("echo");

	ck_assert_int_eq(polled(fd, POLLIN | POLLOUT), POLLOUT);
	GIVES(put_msg(fd, NULL, "x", 3), 0);
	ck_assert_int_eq(polled(fd, READ_BITS), POLLIN | POLLRDBAND);
	TAKES(fd, NULL, "x", 3);
	fill(fd);
	ck_assert_int_eq(polled(fd, POLLIN | POLLOUT), POLLIN);
	drain(fd);
	ck_assert_int_eq(polled(fd, POLLIN | POLLOUT), POLLOUT);
	GIVES(str_close(fd), 0);
}
END_TEST

/* ---- time limits -------------------------------------------------------- */

START_TEST(a_poll_without_events_waits_out_its_time)
{
	struct pollfd f;
	int p[2];
	long start;

	make_pipe(p);
	f = (struct pollfd){p[0], POLLIN, 0};
	start = now_ms();
	GIVES(str_poll(&f, 1, 60), 0);
	ck_assert_int_ge(now_ms() - start, 59);
	ck_assert_int_lt(now_ms() - start, SOON);
	start = now_ms();
	GIVES(str_poll(&f, 1, 0), 0);
	ck_assert_int_lt(now_ms() - start, SOON);
	close_pipe(p);
}
END_TEST

START_TEST(a_poll_of_nothing_is_a_sleep)
{
	long start = now_ms();

	GIVES(str_poll(NULL, 0, 50), 0);
	ck_assert_int_ge(now_ms() - start, 49);
	ck_assert_int_lt(now_ms() - start, SOON);
}
END_TEST

START_TEST(a_mixed_poll_waits_out_its_time)
{
	struct pollfd f[2];
	int p[2], k[2];
	long start;

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	f[0] = (struct pollfd){p[0], POLLIN, 0};
	f[1] = (struct pollfd){k[0], POLLIN, 0};
	start = now_ms();
	GIVES(str_poll(f, 2, 60), 0);
	ck_assert_int_ge(now_ms() - start, 59);
	ck_assert_int_lt(now_ms() - start, SOON);
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

/* Events that do not concern the poll do not shorten or prolong it. */
static void
trickle(void *arg)
{
	for (int i = 0; i < 30; i++) {
		put_msg(*(int *)arg, NULL, "x", 0);
		msleep(3);
	}
}

START_TEST(events_not_asked_for_do_not_end_a_poll)
{
	struct later l;
	struct pollfd f;
	long start = now_ms();
	int p[2];

	make_pipe(p);
	f = (struct pollfd){p[0], POLLPRI, 0};
	later(&l, 0, trickle, &p[1]);
	GIVES(str_poll(&f, 1, 60), 0);
	ck_assert_int_ge(now_ms() - start, 59);
	ck_assert_int_lt(now_ms() - start, SOON);
	later_join(&l);
	close_pipe(p);
}
END_TEST

START_TEST(a_signal_ends_a_poll_with_eintr)
{
	struct pollfd f[2];
	struct nag n;
	int p[2], k[2];

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	f[0] = (struct pollfd){p[0], POLLIN, 0};
	f[1] = (struct pollfd){k[0], POLLIN, 0};
	catch_signal(SIGUSR1, 0);
	nag_start(&n);
	/* Loop: streams alone and mixed, with and without time limit. */
	FAILS(str_poll(f, _i % 2 ? 2 : 1, _i / 2 ? 5000 : -1), EINTR);
	nag_stop(&n);
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

/* ---- streams and kernel descriptors ------------------------------------- */

START_TEST(kernel_descriptors_alone_pass_through)
{
	struct pollfd f[2];
	int k[2];

	ck_assert_int_eq(pipe(k), 0);
	f[0] = (struct pollfd){k[0], POLLIN, 0};
	f[1] = (struct pollfd){k[1], POLLOUT, 0};
	GIVES(str_poll(f, 2, SOON), 1);
	ck_assert_int_eq(f[1].revents, POLLOUT);
	close(k[1]);
	f[0].revents = 0;
	GIVES(str_poll(f, 1, SOON), 1);
	ck_assert_int_eq(f[0].revents, POLLHUP);
	close(k[0]);
}
END_TEST

START_TEST(streams_and_kernel_descriptors_are_counted_together)
{
	struct pollfd f[5];
	int p[2], k[2];

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	f[0] = (struct pollfd){k[0], POLLIN, 0};
	f[1] = (struct pollfd){p[0], POLLIN, 0};
	f[2] = (struct pollfd){-1, POLLIN, 0};
	f[3] = (struct pollfd){k[1], POLLOUT, 0};
	f[4] = (struct pollfd){p[1], POLLOUT, 0};
	GIVES(str_poll(f, 5, SOON), 2);
	ck_assert_int_eq(f[3].revents, POLLOUT);
	ck_assert_int_eq(f[4].revents, POLLOUT);
	ck_assert_int_eq(write(k[1], "k", 1), 1);
	GIVES(str_write(p[1], "s", 1), 1);
	GIVES(str_poll(f, 5, SOON), 4);
	ck_assert_int_eq(f[0].revents, POLLIN);
	ck_assert_int_eq(f[1].revents, POLLIN);
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

static void
write_kernel(void *arg)
{
	struct act *a = arg;

	a->a_result = write(a->a_fd, a->a_text, strlen(a->a_text));
}

/* Loop: the stream or the kernel descriptor wakes; without and with limit. */
START_TEST(either_kind_wakes_a_mixed_poll)
{
	struct pollfd f[2];
	struct later l;
	struct act a;
	long start;
	int p[2], k[2], kernel = _i % 2;

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	f[0] = (struct pollfd){p[0], POLLIN, 0};
	f[1] = (struct pollfd){k[0], POLLIN, 0};
	a = (struct act){kernel ? k[1] : p[1], "x", 0};
	start = now_ms();
	later(&l, 40, kernel ? write_kernel : act, &a);
	GIVES(str_poll(f, 2, _i / 2 ? 5000 : -1), 1);
	ck_assert_int_ge(now_ms() - start, 35);
	ck_assert_int_lt(now_ms() - start, SOON);
	ck_assert_int_eq(f[kernel].revents, POLLIN);
	ck_assert_int_eq(f[1 - kernel].revents, 0);
	later_join(&l);
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

/* ---- wake-ups ----------------------------------------------------------- */

START_TEST(a_write_wakes_a_poll)
{
	struct pollfd f;
	struct later l;
	struct act a;
	int p[2];

	make_pipe(p);
	f = (struct pollfd){p[0], POLLIN, 0};
	a = (struct act){p[1], "x", 0};
	later(&l, 30, act, &a);
	GIVES(str_poll(&f, 1, -1), 1);
	ck_assert_int_eq(f.revents, POLLIN);
	READS(p[0], 5, "x");
	later_join(&l);
	close_pipe(p);
}
END_TEST

START_TEST(a_close_of_the_peer_wakes_a_poll_for_nothing)
{
	struct pollfd f;
	struct later l;
	struct act a;
	int p[2];

	make_pipe(p);
	f = (struct pollfd){p[0], 0, 0};
	a = (struct act){p[1], NULL, -1};
	later(&l, 30, act, &a);
	GIVES(str_poll(&f, 1, -1), 1);
	ck_assert_int_eq(f.revents, POLLHUP);
	later_join(&l);
	GIVES(str_close(p[0]), 0);
}
END_TEST

static void
order_eio(void *arg)
{
	order_error(*(int *)arg, EIO, EIO);
}

START_TEST(an_error_wakes_a_poll)
{
	struct pollfd f;
	struct later l;
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	f = (struct pollfd){p[0], POLLIN, 0};
	later(&l, 30, order_eio, &p[1]);
	GIVES(str_poll(&f, 1, -1), 1);
	ck_assert_int_eq(f.revents, POLLERR);
	later_join(&l);
	close_pipe(p);
}
END_TEST

static void
drain_it(void *arg)
{
	drain(*(int *)arg);
}

START_TEST(a_drain_wakes_a_poll_for_writing)
{
	struct pollfd f;
	struct later l;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 2);
	fill(p[0]);
	f = (struct pollfd){p[0], POLLOUT, 0};
	later(&l, 30, drain_it, &p[1]);
	GIVES(str_poll(&f, 1, -1), 1);
	ck_assert_int_eq(f.revents, POLLOUT);
	GIVES(str_write(p[0], "x", 1), 1);
	later_join(&l);
	close_pipe(p);
}
END_TEST

/* ddi.md §5.3: the want flag set by the poll leads to a wake-up also when
   nobody has tried to write. */
START_TEST(a_drain_wakes_a_poll_for_a_band)
{
	struct pollfd f;
	struct later l;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 2);
	while (put_msg(p[0], NULL, "x", 1) == 0)
		;
	f = (struct pollfd){p[0], POLLWRBAND, 0};
	later(&l, 30, drain_it, &p[1]);
	GIVES(str_poll(&f, 1, -1), 1);
	ck_assert_int_eq(f.revents, POLLWRBAND);
	later_join(&l);
	close_pipe(p);
}
END_TEST

static void *
poll_one(void *arg)
{
	struct pollfd f = {*(int *)arg, POLLIN, 0};

	return (void *)(intptr_t)(str_poll(&f, 1, SOON) == 1 && f.revents == POLLIN);
}

START_TEST(one_write_wakes_every_poller)
{
	pthread_t t[4];
	void *ok;
	int p[2];

	make_pipe(p);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, poll_one, &p[0]);
	msleep(30);
	GIVES(str_write(p[1], "x", 1), 1);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &ok);
		ck_assert_ptr_nonnull(ok);
	}
	close_pipe(p);
}
END_TEST

/* ---- many streams ------------------------------------------------------- */

enum { MANY = 200 };

START_TEST(one_of_many_streams_wakes_the_poll)
{
	static struct pollfd f[MANY];
	static int p[MANY][2];
	struct later l;
	struct act a;

	for (int i = 0; i < MANY; i++) {
		make_pipe(p[i]);
		f[i] = (struct pollfd){p[i][0], POLLIN, 0};
	}
	for (int k = 0; k < MANY; k += 66) {
		a = (struct act){p[k][1], "x", 0};
		later(&l, 10, act, &a);
		GIVES(str_poll(f, MANY, -1), 1);
		for (int i = 0; i < MANY; i++)
			ck_assert_int_eq(f[i].revents, i == k ? POLLIN : 0);
		READS(p[k][0], 5, "x");
		later_join(&l);
	}
	for (int i = 0; i < MANY; i += 2)
		GIVES(str_write(p[i][1], "x", 1), 1);
	GIVES(str_poll(f, MANY, 0), MANY / 2);
	for (int i = 0; i < MANY; i++)
		close_pipe(p[i]);
}
END_TEST

/* ---- ping-pong: no wake-up is lost -------------------------------------- */

enum { ROUNDS = 5000 };

/* Wait with str_poll, take the byte, answer; the rounds that were made. */
static int
echo_back(int fd, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		struct pollfd f = {fd, POLLIN, 0};
		char c;

		if (str_poll(&f, 1, SOON) != 1 || str_read(fd, &c, 1) != 1 ||
		    str_write(fd, &c, 1) != 1)
			return i;
	}
	return rounds;
}

static void *
echo_thread(void *arg)
{
	return (void *)(intptr_t)echo_back(*(int *)arg, ROUNDS);
}

static void
ping(int fd)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct pollfd f = {fd, POLLIN, 0};
		char c = (char)i;

		GIVES(str_write(fd, &c, 1), 1);
		ck_assert_msg(str_poll(&f, 1, SOON) == 1, "round %d", i);
		GIVES(str_read(fd, &c, 1), 1);
		ck_assert_int_eq(c, (char)i);
	}
}

START_TEST(two_threads_that_poll_lose_no_wakeup)
{
	pthread_t t;
	void *rounds;
	int p[2];

	make_pipe(p);
	pthread_create(&t, NULL, echo_thread, &p[1]);
	ping(p[0]);
	pthread_join(t, &rounds);
	ck_assert_int_eq((intptr_t)rounds, ROUNDS);
	close_pipe(p);
}
END_TEST

static int
echo_child(void *arg)
{
	int *p = arg;

	NEED(str_close(p[0]) == 0);
	NEED(echo_back(p[1], ROUNDS) == ROUNDS);
	return 0;
}

START_TEST(two_processes_that_poll_lose_no_wakeup)
{
	int p[2];
	pid_t pid;

	make_pipe(p);
	pid = child(echo_child, p);
	ping(p[0]);
	ck_assert_int_eq(reap(pid, SOON), 0);
	close_pipe(p);
}
END_TEST

static int
write_once(void *arg)
{
	msleep(30);
	NEED(str_write(*(int *)arg, "x", 1) == 1);
	return 0;
}

START_TEST(another_process_wakes_a_mixed_poll)
{
	struct pollfd f[2];
	int p[2], k[2];
	pid_t pid;

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	f[0] = (struct pollfd){k[0], POLLIN, 0};
	f[1] = (struct pollfd){p[0], POLLIN, 0};
	pid = child(write_once, &p[1]);
	GIVES(str_poll(f, 2, SOON), 1);
	ck_assert_int_eq(f[1].revents, POLLIN);
	ck_assert_int_eq(reap(pid, SOON), 0);
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

static int
drain_child(void *arg)
{
	msleep(30);
	NEED(drain(*(int *)arg) == 10);
	return 0;
}

START_TEST(another_process_that_drains_wakes_a_poll_for_writing)
{
	struct pollfd f;
	int p[2];
	pid_t pid;

	make_pipe(p);
	set_marks(p[1], 10, 2);
	ck_assert_int_eq(fill(p[0]), 10);
	f = (struct pollfd){p[0], POLLOUT, 0};
	pid = child(drain_child, &p[1]);
	GIVES(str_poll(&f, 1, SOON), 1);
	ck_assert_int_eq(f.revents, POLLOUT);
	ck_assert_int_eq(reap(pid, SOON), 0);
	close_pipe(p);
}
END_TEST

static void
states(Suite *s)
{
	TCase *tc = group(s, "states", 120);

	tcase_add_test(tc, a_new_pipe_is_writable_and_not_readable);
	tcase_add_test(tc, a_message_of_band_0_is_pollin_and_pollrdnorm);
	tcase_add_test(tc, a_message_of_a_band_is_pollin_and_pollrdband);
	tcase_add_test(tc, a_high_priority_message_is_pollpri);
	tcase_add_test(tc, a_full_stream_is_not_writable);
	tcase_add_test(tc, pollwrband_looks_at_used_bands);
	tcase_add_test(tc, a_hangup_is_reported_always);
	tcase_add_test(tc, an_error_is_reported_always);
	tcase_add_test(tc, a_bad_descriptor_is_pollnval_and_a_negative_one_ignored);
	tcase_add_test(tc, revents_is_cleared);
	tcase_add_test(tc, bad_arguments_are_refused);
	if (checked_mode())
		tcase_add_test(tc, any_bad_pointer_is_efault_in_checked_mode);
	tcase_add_test(tc, one_descriptor_may_stand_twice);
	tcase_add_test(tc, a_dup_polls_like_the_original);
	tcase_add_test(tc, echo_polls_as_a_pipe_does);
	tcase_add_test(tc, a_poll_without_events_waits_out_its_time);
	tcase_add_test(tc, a_poll_of_nothing_is_a_sleep);
	tcase_add_test(tc, a_mixed_poll_waits_out_its_time);
	tcase_add_test(tc, events_not_asked_for_do_not_end_a_poll);
	tcase_add_loop_test(tc, a_signal_ends_a_poll_with_eintr, 0, 4);
}

static void
wakeups(Suite *s)
{
	TCase *tc = group(s, "wake-ups", 120);

	tcase_add_test(tc, kernel_descriptors_alone_pass_through);
	tcase_add_test(tc, streams_and_kernel_descriptors_are_counted_together);
	tcase_add_loop_test(tc, either_kind_wakes_a_mixed_poll, 0, 4);
	tcase_add_test(tc, a_write_wakes_a_poll);
	tcase_add_test(tc, a_close_of_the_peer_wakes_a_poll_for_nothing);
	tcase_add_test(tc, an_error_wakes_a_poll);
	tcase_add_test(tc, a_drain_wakes_a_poll_for_writing);
	tcase_add_test(tc, a_drain_wakes_a_poll_for_a_band);
	tcase_add_test(tc, one_write_wakes_every_poller);
	tcase_add_test(tc, one_of_many_streams_wakes_the_poll);
	tcase_add_test(tc, two_threads_that_poll_lose_no_wakeup);
	if (!can_fork())
		return;
	tcase_add_test(tc, two_processes_that_poll_lose_no_wakeup);
	tcase_add_test(tc, another_process_wakes_a_mixed_poll);
	tcase_add_test(tc, another_process_that_drains_wakes_a_poll_for_writing);
}

int
main(void)
{
	Suite *s = suite_create("poll");

	states(s);
	wakeups(s);
	return run_suite(s);
}
