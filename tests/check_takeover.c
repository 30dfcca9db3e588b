/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_takeover.c: who comes after one that died in a call: what he finds, and what
 * it costs him.  The dead die at marked points, which only debug builds have.
 */
#include "headlib.h"

#include <sched.h>
#include <stdio.h>
#include <sys/testmod.h>
#include <sys/wait.h>

static atomic_int yields;

/* In place of the system's, for the library too. */
int
sched_yield(void)
{
	atomic_fetch_add(&yields, 1);
	return 0;
}

/* A child dies at the n-th marked point of do_it; true: it came to its end. */
static bool
die_at(long n, void (*do_it)(int fd), int fd)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		ustr_tune("crashpoint", n);
		do_it(fd);
		ustr_tune("crashpoint", 0);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status);
}

static void
push(int fd)
{
	(void)str_ioctl(fd, I_PUSH, "pipemod");
}

/* Who pushes next, perhaps before the dead one is buried, counts what he finds. */
START_TEST(a_push_after_a_killed_one_counts_the_modules_that_are_there)
{
	bool done = false;
	int counted, there, fd[2];

	for (long n = 1; !done; n++) {
		GIVES(str_pipe(fd), 0);
		done = die_at(n, push, fd[0]);
		if (str_ioctl(fd[0], I_PUSH, "nullmod") == 0) {
			GIVES(str_ioctl(fd[0], I_GET_PUSHCNT, &counted), 0);
			there = str_ioctl(fd[0], I_LIST, NULL);
			ck_assert_msg(counted == there, "point %ld: %d modules counted, %d there",
			    n, counted, there);
		}
		GIVES(str_close(fd[0]), 0);
		GIVES(str_close(fd[1]), 0);
	}
}
END_TEST

static void
write_some(int fd)
{
	for (int i = 0; i < 3; i++)
		(void)str_write(fd, "message", 7);
}

/*
 * Between two yields others have the CPU, on a busy machine for long: who waits looks
 * whether the holder lives before he gives it away for the first time.
 */
START_TEST(a_lock_of_the_dead_is_taken_over_without_a_yield)
{
	bool done = false;
	int fd[2];

	for (long n = 1; !done; n++) {
		GIVES(str_pipe(fd), 0);
		done = die_at(n, write_some, fd[0]);
		atomic_store(&yields, 0);
		(void)str_write(fd[0], "next", 4);
		(void)ustr_service(0);
		ck_assert_msg(atomic_load(&yields) == 0, "point %ld: %d yields", n,
		    atomic_load(&yields));
		GIVES(str_close(fd[0]), 0);
		GIVES(str_close(fd[1]), 0);
	}
}
END_TEST

/* ---- who only waits ----------------------------------------------------------------- */

/* Who asked to be told of this end, in every way there is. */
struct waiter {
	int w_fd;
	int w_eventfd;
	pthread_t w_thread;
	atomic_int w_tid;
	atomic_int w_error; /* of an ioctl that nobody answers */
};

static void *
asking(void *arg)
{
	struct waiter *w = arg;
	struct strioctl ic = {TM_MUTE, -1, 0, NULL};

	atomic_store(&w->w_tid, gettid());
	atomic_store(&w->w_error, str_ioctl(w->w_fd, I_STR, &ic) == -1 ? errno : EALREADY);
	return NULL;
}

static void
wait_begin(struct waiter *w, int fd)
{
	*w = (struct waiter){.w_fd = fd, .w_eventfd = str_eventfd(fd, POLLPRI)};
	ck_assert_int_ge(w->w_eventfd, 0);
	GIVES(str_ioctl(fd, I_SETSIG, S_ERROR | S_HANGUP), 0);
	GIVES(str_ioctl(fd, I_PUSH, "testmod"), 0);
	ck_assert_int_eq(pthread_create(&w->w_thread, NULL, asking, w), 0);
	AWAIT(atomic_load(&w->w_tid) != 0);
	until_asleep(atomic_load(&w->w_tid));
}

static bool
ready(int eventfd)
{
	struct pollfd pfd = {.fd = eventfd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

/* After a death: whoever waited was told if the end is of no use any more; true: it is not. */
static bool
wait_end(struct waiter *w, long n)
{
	bool condemned = str_write(w->w_fd, "", 1) == -1 && errno == EIO;
	bool trouble = condemned || (polled(w->w_fd, POLLPRI) & POLLHUP);

	if (condemned)
		ck_assert_msg(polled(w->w_fd, POLLPRI) & POLLERR, "point %ld: no POLLERR", n);
	ck_assert_msg(ready(w->w_eventfd) == trouble, "point %ld: the eventfd is%s ready", n,
	    trouble ? " not" : "");
	if (trouble)
		AWAIT(atomic_load(&w->w_error) != 0);
	return trouble;
}

START_TEST(who_only_waits_is_told_that_the_stream_is_condemned)
{
	struct waiter near, far;
	bool done = false, near_lost, far_lost;
	int told = 0, fd[2];

	for (long n = 1; !done; n++) {
		GIVES(str_pipe(fd), 0);
		catch_signal(SIGPOLL, SA_RESTART);
		wait_begin(&near, fd[0]);
		wait_begin(&far, fd[1]);
		done = die_at(n, write_some, fd[0]);
		(void)ustr_service(0);
		near_lost = wait_end(&near, n);
		far_lost = wait_end(&far, n);
		if (near_lost || far_lost) {
			AWAIT(atomic_load(&caught) > 0);
			told++;
		}
		GIVES(str_close(fd[0]), 0);
		GIVES(str_close(fd[1]), 0);
		pthread_join(near.w_thread, NULL);
		pthread_join(far.w_thread, NULL);
	}
	ck_assert_int_gt(told, 0);
}
END_TEST

int
main(void)
{
	Suite *s;
	TCase *tc;

	if (!can_fork() || ustr_tune("crashpoint", 0) != 0) {
		puts("check_takeover: skipped (no streams across fork, or no marked points)");
		return 77;
	}
	s = suite_create("takeover");
	setenv("USTREAMS_HELPER", "0", 1); /* the dead are buried when a test says so */
	tc = group(s, "killed", 300);
	tcase_add_test(tc, a_push_after_a_killed_one_counts_the_modules_that_are_there);
	tcase_add_test(tc, a_lock_of_the_dead_is_taken_over_without_a_yield);
	tcase_add_test(tc, who_only_waits_is_told_that_the_stream_is_condemned);
	return run_suite(s);
}
