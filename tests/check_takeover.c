/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_takeover.c: who comes after one that died in a call: what he finds, and what
 * it costs him.  The dead die at marked points, which only debug builds have.
 */
#include "headlib.h"

#include <sched.h>
#include <stdio.h>
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
	tc = group(s, "killed", 300);
	tcase_add_test(tc, a_push_after_a_killed_one_counts_the_modules_that_are_there);
	tcase_add_test(tc, a_lock_of_the_dead_is_taken_over_without_a_yield);
	return run_suite(s);
}
