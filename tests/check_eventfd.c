/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_eventfd.c: str_eventfd (DESIGN §7) under poll, epoll and libuv: level-
 * triggered, one for each stream and set of events, closed with the stream.
 */
#include "config.h"
#include "headlib.h"

#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#if USTR_HAVE_LIBUV
#include <uv.h>
#endif

/* Is the eventfd ready, now or within ms? */
static bool
ready(int efd, int ms)
{
	struct pollfd f = {efd, POLLIN, 0};

	return poll(&f, 1, ms) == 1 && f.revents == POLLIN;
}

static bool
becomes(int efd, bool want)
{
	for (int left = SOON; ready(efd, 0) != want && left > 0; left--)
		msleep(1);
	return ready(efd, 0) == want;
}

/* ---- what it is ------------------------------------------------------------------- */

START_TEST(it_is_close_on_exec_and_a_descriptor_of_its_own)
{
	int p[2], e;

	make_pipe(p);
	e = str_eventfd(p[0], POLLIN);
	ck_assert_int_ge(e, 0);
	ck_assert_int_eq(fcntl(e, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(isastream(e), 0);
	ck_assert_int_eq(str_eventfd(p[0], POLLIN), e);
	ck_assert_int_ne(str_eventfd(p[1], POLLIN), e);
	close_pipe(p);
	ck_assert_int_eq(fcntl(e, F_GETFD), -1);
}
END_TEST

START_TEST(every_set_of_events_follows_poll)
{
	static const short sets[] = {POLLIN, POLLRDNORM, POLLRDBAND, POLLPRI, POLLOUT, POLLWRBAND,
	    POLLIN | POLLOUT, POLLIN | POLLPRI, POLLRDNORM | POLLWRNORM};
	enum { N = sizeof(sets) / sizeof(sets[0]), STEPS = 400 };
	char buf[64];
	int p[2], e[N], band;

	make_pipe(p);
	set_marks(p[1], 10, 2);
	set_marks(p[0], 10, 2);
	for (int i = 0; i < N; i++)
		e[i] = str_eventfd(p[0], sets[i]);
	srand(7);
	for (int step = 0; step < STEPS; step++) {
		struct strbuf d = {.maxlen = sizeof(buf), .len = 3, .buf = buf};
		int flags = MSG_ANY;

		switch (rand() % 6) {
		case 0:
			(void)put_msg(p[1], NULL, "in", rand() % 3);
			break;
		case 1:
			(void)put_msg(p[1], "hi", NULL, HIPRI);
			break;
		case 2:
			(void)put_msg(p[0], NULL, "out", rand() % 2);
			break;
		case 3:
			(void)getpmsg(p[0], &d, &d, &band, &flags);
			break;
		case 4:
			(void)getpmsg(p[1], &d, &d, &band, &flags);
			break;
		case 5:
			fill(p[0]);
			break;
		}
		for (int i = 0; i < N; i++) {
			/* Room lost without a refusal is seen by who asks. */
			bool want = polled(p[0], sets[i]) != 0;

			ck_assert_msg(ready(e[i], 0) == want, "step %d: events %#x: %d", step,
			    (unsigned)sets[i], !want);
		}
	}
	close_pipe(p);
}
END_TEST

START_TEST(bad_arguments)
{
	int p[2], k[2];

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	FAILS(str_eventfd(p[0], 0), EINVAL);
	FAILS(str_eventfd(p[0], POLLNVAL), EINVAL);
	FAILS(str_eventfd(p[0], POLLIN | 0x1000), EINVAL);
	FAILS(str_eventfd(k[0], POLLIN), ENOSTR);
	FAILS(str_eventfd(-1, POLLIN), EBADF);
	FAILS(str_eventfd(1000, POLLIN), EBADF);
	close(k[0]);
	close(k[1]);
	close_pipe(p);
}
END_TEST

START_TEST(a_program_that_closes_it_does_no_harm)
{
	int p[2], e, file;
	char c;

	make_pipe(p);
	e = str_eventfd(p[0], POLLIN);
	close(e);
	file = open("/dev/null", O_RDWR);
	ck_assert_int_eq(file, e); /* the number is the program's now */
	GIVES(str_write(p[1], "x", 1), 1);
	GIVES(str_read(p[0], &c, 1), 1);
	close_pipe(p);
	ck_assert_int_ne(fcntl(file, F_GETFD), -1);
	close(file);
}
END_TEST

/* One eventfd for every set of seven events: how many could be had. */
enum { SETS = 127 };
static int
ask_for_all(int fd)
{
	int n = 0;

	for (int bits = 1; bits <= SETS; bits++) {
		short events = (short)(((bits & 1) ? POLLIN : 0) | ((bits & 2) ? POLLPRI : 0) |
		    ((bits & 4) ? POLLOUT : 0) | ((bits & 8) ? POLLRDNORM : 0) |
		    ((bits & 16) ? POLLRDBAND : 0) | ((bits & 32) ? POLLWRBAND : 0) |
		    ((bits & 64) ? POLLHUP : 0));

		if (str_eventfd(fd, events) < 0)
			return n;
		n++;
	}
	return n;
}

START_TEST(without_descriptors_it_is_emfile)
{
	struct rlimit rl;
	int p[2];

	make_pipe(p);
	GIVES(str_eventfd(p[0], POLLIN) >= 0, 1);
	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = 60;
	setrlimit(RLIMIT_NOFILE, &rl);
	ck_assert_int_lt(ask_for_all(p[0]), SETS);
	ck_assert_int_eq(errno, EMFILE);
	close_pipe(p);
}
END_TEST

/* The children stay until the last one is refused; then all is free again. */
START_TEST(registrations_of_a_stream_are_bounded)
{
	struct gate full, done[5];
	pid_t pid[5];
	int p[2], n;

	make_pipe(p);
	gate_make(&full);
	for (int i = 0; i < 5; i++) {
		gate_make(&done[i]);
		pid[i] = fork();
		if (pid[i] == 0) {
			int e;

			n = ask_for_all(p[0]);
			e = errno;
			NEED(n == SETS || e == EAGAIN);
			gate_open(&done[i]);
			NEED(gate_wait(&full, SOON));
			_exit(n == SETS ? 0 : 1);
		}
		ck_assert(gate_wait(&done[i], SOON));
	}
	FAILS(str_eventfd(p[0], POLLIN), EAGAIN);
	FAILS(str_ioctl(p[0], I_SETSIG, S_INPUT), EAGAIN);
	for (int i = 0; i < 5; i++)
		gate_open(&full);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(reap(pid[i], SOON), i < 4 ? 0 : 1);
	/* Once their deaths are noticed. */
	for (long until = now_ms() + SOON; str_ioctl(p[0], I_SETSIG, S_INPUT) != 0 &&
	     now_ms() < until;)
		msleep(5);
	for (long until = now_ms() + SOON; ask_for_all(p[0]) != SETS && now_ms() < until;)
		msleep(5);
	ck_assert_int_eq(ask_for_all(p[0]), SETS);
	close_pipe(p);
}
END_TEST

/* ---- epoll ------------------------------------------------------------------------- */

static void
watch(int ep, int efd, unsigned how)
{
	struct epoll_event ev = {.events = EPOLLIN | how, .data.fd = efd};

	ck_assert_int_eq(epoll_ctl(ep, EPOLL_CTL_ADD, efd, &ev), 0);
}

static int
reported(int ep, int ms)
{
	struct epoll_event ev;
	int n;

	/* Unlike poll it is interrupted also by a stop of the process. */
	do
		n = epoll_wait(ep, &ev, 1, ms);
	while (n == -1 && errno == EINTR);
	return n == 1 ? ev.data.fd : -1;
}

START_TEST(epoll_reports_as_long_as_something_is_there)
{
	int p[2], ep = epoll_create1(0), e;

	make_pipe(p);
	e = str_eventfd(p[0], POLLIN);
	watch(ep, e, 0);
	ck_assert_int_eq(reported(ep, 0), -1);
	for (int round = 0; round < 20; round++) {
		GIVES(str_write(p[1], "a", 1), 1);
		GIVES(str_write(p[1], "b", 1), 1);
		ck_assert_int_eq(reported(ep, 0), e);
		ck_assert_int_eq(reported(ep, 0), e);
		READS(p[0], 1, "a");
		ck_assert_int_eq(reported(ep, 0), e);
		READS(p[0], 1, "b");
		ck_assert_int_eq(reported(ep, 0), -1);
	}
	close_pipe(p);
	ck_assert_int_eq(reported(ep, 0), -1);
	close(ep);
}
END_TEST

START_TEST(epoll_may_be_edge_triggered)
{
	int p[2], ep = epoll_create1(0), e;

	make_pipe(p);
	e = str_eventfd(p[0], POLLIN);
	watch(ep, e, EPOLLET);
	GIVES(str_write(p[1], "a", 1), 1);
	ck_assert_int_eq(reported(ep, 0), e);
	ck_assert_int_eq(reported(ep, 0), -1);
	READS(p[0], 1, "a");
	GIVES(str_write(p[1], "b", 1), 1);
	ck_assert_int_eq(reported(ep, 0), e);
	close_pipe(p);
	close(ep);
}
END_TEST

START_TEST(another_thread_wakes_epoll)
{
	int p[2], ep = epoll_create1(0), e;
	struct later l;
	struct act a;

	make_pipe(p);
	e = str_eventfd(p[0], POLLIN);
	watch(ep, e, 0);
	a = (struct act){p[1], "x", 0};
	later(&l, 20, act, &a);
	ck_assert_int_eq(reported(ep, SOON), e);
	later_join(&l);
	close_pipe(p);
	close(ep);
}
END_TEST

/* ---- between threads and processes --------------------------------------------------- */

enum { ROUNDS = 200 };

static int
produce(void *arg)
{
	struct pollfd f = {*(int *)arg, POLLOUT, 0};

	for (int i = 0; i < ROUNDS; i++) {
		while (str_write(f.fd, "x", 1) != 1)
			if (errno != EAGAIN || str_poll(&f, 1, SOON) != 1)
				return 1;
		if (i % 7 == 0)
			msleep(1);
	}
	return 0;
}

static void *
produce_thread(void *arg)
{
	return produce(arg) == 0 ? NULL : arg;
}

/* Everything arrives though the reader sleeps in epoll only. */
static void
consume(int fd)
{
	int ep = epoll_create1(0), e = str_eventfd(fd, POLLIN), n = 0;
	char c;

	ck_assert_int_ge(e, 0);
	watch(ep, e, 0);
	while (n < ROUNDS) {
		ck_assert_msg(reported(ep, SOON) == e, "after %d messages", n);
		while (str_read(fd, &c, 1) == 1)
			n++;
	}
	ck_assert(becomes(e, false));
	close(ep);
}

START_TEST(no_wakeup_of_a_thread_is_lost)
{
	pthread_t t;
	void *failed;
	int p[2];

	make_pipe(p);
	set_marks(p[0], 4, 2);
	pthread_create(&t, NULL, produce_thread, &p[1]);
	consume(p[0]);
	pthread_join(t, &failed);
	ck_assert_ptr_null(failed);
	close_pipe(p);
}
END_TEST

START_TEST(no_wakeup_of_a_process_is_lost)
{
	int p[2];
	pid_t pid;

	make_pipe(p);
	set_marks(p[0], 4, 2);
	pid = child(produce, &p[1]);
	consume(p[0]);
	ck_assert_int_eq(reap(pid, SOON), 0);
	close_pipe(p);
}
END_TEST

START_TEST(the_peers_death_makes_it_ready)
{
	int p[2], e;
	pid_t pid;

	make_pipe(p);
	pid = fork();
	if (pid == 0) {
		NEED(str_close(p[0]) == 0);
		pause();
		_exit(0);
	}
	GIVES(str_close(p[1]), 0);
	e = str_eventfd(p[0], POLLIN);
	ck_assert(!ready(e, 0));
	kill(pid, SIGKILL);
	ck_assert(ready(e, SOON));
	reap(pid, SOON);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(a_child_has_its_own)
{
	int p[2], e;
	pid_t pid;

	make_pipe(p);
	e = str_eventfd(p[0], POLLIN);
	pid = fork();
	if (pid == 0) {
		int mine;

		NEED(fcntl(e, F_GETFD) == -1);
		mine = str_eventfd(p[0], POLLIN);
		NEED(mine >= 0 && !ready(mine, 0));
		NEED(str_write(p[1], "x", 1) == 1);
		NEED(ready(mine, 0));
		_exit(0);
	}
	ck_assert_int_eq(reap(pid, SOON), 0);
	ck_assert(ready(e, SOON));
	close_pipe(p);
}
END_TEST

START_TEST(without_a_helper_the_program_serves_itself)
{
	int p[2], e;
	pid_t pid;

	setenv("USTREAMS_HELPER", "0", 1);
	make_pipe(p);
	e = str_eventfd(p[0], POLLIN);
	pid = child(produce, &p[1]);
	ck_assert_int_eq(reap(pid, SOON), 0);
	for (long until = now_ms() + SOON; !ready(e, 0) && now_ms() < until;)
		(void)ustr_service(20);
	ck_assert(ready(e, 0));
	close_pipe(p);
}
END_TEST

/* ---- libuv ------------------------------------------------------------------------------ */

#if USTR_HAVE_LIBUV
struct echo {
	uv_poll_t handle;
	uv_timer_t timer;
	int fd;
	int came;
};

static void
on_readable(uv_poll_t *handle, int status, int events)
{
	struct echo *x = handle->data;
	char c;

	ck_assert_int_eq(status, 0);
	ck_assert(events & UV_READABLE);
	/* One at a time: the rest is reported again. */
	if (str_read(x->fd, &c, 1) == 1 && ++x->came == ROUNDS)
		uv_stop(handle->loop);
}

static void
too_late(uv_timer_t *timer)
{
	uv_stop(timer->loop);
}

/* Loop: the writer is a thread or a process. */
START_TEST(libuv_waits_for_a_stream)
{
	struct echo x = {.came = 0};
	pthread_t t;
	uv_loop_t loop;
	pid_t pid = 0;
	int p[2];

	if (_i == 1 && !can_fork())
		return;
	make_pipe(p);
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	x.fd = p[0];
	x.handle.data = &x;
	ck_assert_int_eq(uv_poll_init(&loop, &x.handle, str_eventfd(p[0], POLLIN)), 0);
	x.handle.data = &x;
	ck_assert_int_eq(uv_poll_start(&x.handle, UV_READABLE, on_readable), 0);
	uv_timer_init(&loop, &x.timer);
	uv_timer_start(&x.timer, too_late, SOON, 0);
	if (_i == 1)
		pid = child(produce, &p[1]);
	else
		pthread_create(&t, NULL, produce_thread, &p[1]);
	uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(x.came, ROUNDS);
	if (_i == 1)
		ck_assert_int_eq(reap(pid, SOON), 0);
	else
		pthread_join(t, NULL);
	uv_poll_stop(&x.handle);
	uv_close((uv_handle_t *)&x.handle, NULL);
	uv_close((uv_handle_t *)&x.timer, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	close_pipe(p);
}
END_TEST
#endif

int
main(void)
{
	Suite *s = suite_create("eventfd");
	TCase *tc = group(s, "what it is", 120);

	tcase_add_test(tc, it_is_close_on_exec_and_a_descriptor_of_its_own);
	tcase_add_test(tc, every_set_of_events_follows_poll);
	tcase_add_test(tc, bad_arguments);
	tcase_add_test(tc, a_program_that_closes_it_does_no_harm);
	tcase_add_test(tc, without_descriptors_it_is_emfile);
	tc = group(s, "epoll", 120);
	tcase_add_test(tc, epoll_reports_as_long_as_something_is_there);
	tcase_add_test(tc, epoll_may_be_edge_triggered);
	tcase_add_test(tc, another_thread_wakes_epoll);
	tc = group(s, "threads and processes", 120);
	tcase_add_test(tc, no_wakeup_of_a_thread_is_lost);
	if (can_fork()) {
		tcase_add_test(tc, no_wakeup_of_a_process_is_lost);
		tcase_add_test(tc, registrations_of_a_stream_are_bounded);
		tcase_add_test(tc, the_peers_death_makes_it_ready);
		tcase_add_test(tc, a_child_has_its_own);
		tcase_add_test(tc, without_a_helper_the_program_serves_itself);
	}
#if USTR_HAVE_LIBUV
	tc = group(s, "libuv", 120);
	tcase_add_loop_test(tc, libuv_waits_for_a_stream, 0, 2);
#else
	puts("skipped: libuv: configure did not find it (Debian package: libuv1-dev)");
#endif
	return run_suite(s);
}
