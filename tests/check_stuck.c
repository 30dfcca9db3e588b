/* SPDX-License-Identifier: BSD-2-Clause */
/* check_stuck.c: what a stuck program tells when its alarm rings (stucklib.h). */
#include "headlib.h"
#include "stucklib.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { ROOM = 1 << 20 };

struct end {
	int e_status; /* of wait(2) */
	pid_t e_pid;
	char e_told[ROOM];
};

/* A child does it with an alarm of a second. */
static void
end_of(struct end *e, void (*it)(const int p[2]), const int p[2])
{
	char name[] = "/tmp/check_stuck.XXXXXX";
	int to = mkstemp(name);
	ssize_t n;

	ck_assert_int_ge(to, 0);
	unlink(name);
	setenv("TMPDIR", "/nonexistent", 1); /* the arena need not be kept */
	setenv("PATH", "/nonexistent", 1);   /* nor a gdb be waited for */
	e->e_pid = fork();
	if (e->e_pid == 0) {
		dup2(to, STDERR_FILENO);
		stuck_alarm(1);
		it(p);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(e->e_pid, &e->e_status, 0), e->e_pid);
	n = pread(to, e->e_told, sizeof(e->e_told) - 1, 0);
	ck_assert_int_ge(n, 0);
	e->e_told[n] = '\0';
	close(to);
}

static void
says(const struct end *e, const char *fmt, ...)
{
	char line[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	ck_assert_msg(strstr(e->e_told, line) != NULL, "no '%s' in: %s", line, e->e_told);
}

static void
read_for_ever(const int p[2])
{
	char c;

	(void)str_read(p[0], &c, 1);
}

START_TEST(who_sleeps_in_a_call_is_named_with_the_stream)
{
	static struct end e;
	int p[2];

	make_blocking_pipe(p);
	end_of(&e, read_for_ever, p);
	ck_assert_msg(WIFSIGNALED(e.e_status), "it ended with %#x: %s", (unsigned)e.e_status, e.e_told);
	ck_assert_int_eq(WTERMSIG(e.e_status), SIGALRM);
	says(&e, "stuck: the time is up");
	says(&e, "process %d thread %d: state S", (int)e.e_pid, (int)e.e_pid);
	says(&e, "stuck: stream %ld,", ustr_streamid(p[0]));
	says(&e, "thread %d of %d sleeps until there is a message", (int)e.e_pid, (int)e.e_pid);
	/* Who has the streams, too, is told of. */
	says(&e, "process %d thread %d: state S", (int)getpid(), (int)getpid());
	close_pipe(p);
}
END_TEST

static void
have_none(const int p[2])
{
	(void)p;
	for (;;)
		pause();
}

static void
have_a_child(const int p[2])
{
	if (fork() == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	have_none(p);
}

/* Processes that are told of, each by its threads. */
static int
processes(const struct end *e)
{
	int n = 0, pid, tid, last = 0;

	for (const char *at = e->e_told; (at = strstr(at, "stuck: process ")) != NULL; at++)
		if (sscanf(at, "stuck: process %d thread %d", &pid, &tid) == 2 && pid != last) {
			n++;
			last = pid;
		}
	return n;
}

START_TEST(children_are_told_of)
{
	static struct end e;
	int p[2], with;

	make_pipe(p);
	end_of(&e, have_a_child, p);
	with = processes(&e);
	end_of(&e, have_none, p);
	ck_assert_int_eq(with, processes(&e) + 1);
	close_pipe(p);
}
END_TEST

static void
be_in_time(const int p[2])
{
	(void)p;
	stuck_alarm(0);
	msleep(1500);
}

START_TEST(who_is_in_time_tells_nothing)
{
	static struct end e;
	int p[2];

	make_pipe(p);
	end_of(&e, be_in_time, p);
	ck_assert_int_eq(e.e_status, 0);
	ck_assert_str_eq(e.e_told, "");
	close_pipe(p);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("stuck");
	TCase *tc = group(s, "alarm", 120);

	if (can_fork()) {
		tcase_add_test(tc, who_sleeps_in_a_call_is_named_with_the_stream);
		tcase_add_test(tc, children_are_told_of);
		tcase_add_test(tc, who_is_in_time_tells_nothing);
	}
	return run_suite(s);
}
