/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_crash.c [fork]: a process dies at every marked point of the library,
 * one after the other: the first that it passes at which nobody has died yet, till
 * there is none; then the n-th that it passes, for n = 1, 2, ... until it comes to
 * its end alive.  Points stand where locks are taken and dropped and between the
 * lines of the wake-up protocols (CRASH_POINT, plat.h), so this needs a debug build.
 *
 * After each death nobody may be stuck: the streams that the dead process used
 * work or say EIO or hang-up, others do as if nothing had happened, everything
 * can be closed, and the memory that is not given back is counted.  At the end once
 * more with each stream recorded from its start: whoever opens it dies with its ring.
 *
 * USTR_STRESS_STEP: only every so-manieth point (7); USTR_STRESS_SCENARIO: only
 * the one of that name; USTR_STRESS_SITES: a file to which is added where victims
 * died (crash_sites.sh).
 */
#include "crashlib.h"
#include "stucklib.h"

#include <signal.h>
#include <sys/wait.h>

enum { SLACK = 256 * 1024, STUCK_MS = 20000, NEW = -1, QUIET = 3, POOR = 6, RECORDS = 64,
	POINTS_MOST = 100000 };

/* What the child of point n does. */
static _Noreturn void
act(const struct scenario *s, long n, const int fd[2], const int other[2])
{
	for (int i = 0; i < 2 && s->s_apart; i++)
		MUST(str_close(other[i]));
	ustr_tune("crashpoint", n);
	s->s_do(fd);
	ustr_tune("crashpoint", 0);
	_exit(0);
}

/* The victim of point n: true if it reached its end. */
static bool
victim(const struct scenario *s, long n, const int fd[2], const int other[2])
{
	int status;
	pid_t pid;

	pid = (pid_t)MUST(stress_fork());
	if (pid == 0)
		act(s, n, fd, other);
	MUST(waitpid(pid, &status, 0));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
		if (status != 0)
			DIE("%s %ld: the victim ends with %#x", s->s_name, n, (unsigned)status);
		return true;
	}
	return false;
}

/* What the victim did can still be done. */
static void
survivor(const struct scenario *s, long n)
{
	long start = stress_now();
	int fd[2];

	MUST(str_pipe(fd));
	crash_nonblock(fd);
	if (s->s_stand != NULL)
		s->s_stand();
	crash_strict = true;
	s->s_do(fd);
	crash_strict = false;
	if (s->s_look != NULL && !s->s_look(s->s_name, n))
		DIE("%s %ld: the survivor's own streams do not work", s->s_name, n);
	if (stress_now() - start > STUCK_MS)
		DIE("%s %ld: it takes %ld ms afterwards", s->s_name, n, stress_now() - start);
	(void)str_close(fd[0]);
	(void)str_close(fd[1]);
}

/* One death; sole: the victim alone has fd[0]. */
static bool
trial(const struct scenario *s, long n, bool sole, const int other[2], long *slow, long *went)
{
	int fd[2];
	bool done;
	long died;

	MUST(str_pipe(fd));
	MUST(str_ioctl(fd[0], I_PUSH, "crashq"));
	MUST(str_ioctl(fd[1], I_SRDOPT, RMSGD | RPROTDIS));
	crash_nonblock(fd);
	if (s->s_stand != NULL)
		s->s_stand();
	if (sole) {
		/* The child of this child has fd[0] for itself. */
		int gate[2], status;
		pid_t pid;
		char c = 0;

		MUST(pipe(gate));
		pid = (pid_t)MUST(stress_fork());
		if (pid == 0) {
			if (read(gate[0], &c, 1) != 1)
				_exit(1);
			act(s, n, fd, other);
		}
		MUST(str_close(fd[0]));
		MUST(write(gate[1], "g", 1));
		MUST(waitpid(pid, &status, 0));
		died = stress_now();
		close(gate[0]);
		close(gate[1]);
		done = status == 0;
		*slow += !crash_told(fd[1], s->s_name, n, died);
		MUST(str_close(fd[1]));
	} else {
		done = victim(s, n, fd, other);
		for (died = stress_now(); !done && ustr_service(0) == 0;)
			if (stress_now() - died > STUCK_MS)
				DIE("%s %ld: the dead process is not buried", s->s_name, n);
		*went += crash_usable(fd, s->s_name, n);
		MUST(str_close(fd[0]));
		MUST(str_close(fd[1]));
	}
	crash_reset();
	if (s->s_look != NULL)
		*went += s->s_look(s->s_name, n);
	if (!crash_usable(other, s->s_name, n))
		DIE("%s %ld: another stream is damaged", s->s_name, n);
	crash_alone(s->s_name, n);
	survivor(s, n);
	return done;
}

static void
deaths(const struct scenario *s, bool sole, long step, const int other[2])
{
	long n, fresh = 0, slow = 0, alive = 0, start = stress_now();
	struct ustr_memstat before, after;

	/* Its children may die at new points, and it comes to its end itself. */
	for (int quiet = 0; quiet < s->s_turns + QUIET;) {
		stuck_alarm(60);
		quiet = trial(s, NEW, sole, other, &slow, &alive) ? quiet + 1 : 0;
		fresh += quiet == 0;
	}
	for (n = 1; !s->s_once && n < POINTS_MOST; n += step) {
		if (n == 1 + 8 * step)
			ustr_memstat(&before);
		stuck_alarm(60);
		if (trial(s, n, sole, other, &slow, &alive))
			break;
	}
	stuck_alarm(0);
	if (!s->s_once && n >= POINTS_MOST)
		DIE("%s: no end after %d points", s->s_name, POINTS_MOST);
	ustr_memstat(&after);
	if (n > 1 + 8 * step && !s->s_once && after.ms_used > before.ms_used + SLACK +
		(after.ms_leaked - before.ms_leaked))
		DIE("%s: %zu bytes more in use, %zu of them counted", s->s_name,
		    after.ms_used - before.ms_used, after.ms_leaked - before.ms_leaked);
	if (slow > SELDOM(n / step))
		DIE("%s: %ld times told later than %d ms", s->s_name, slow, LIMIT_MS);
	printf("stress_crash: %s, %s: %ld new points, %ld points, %ld streams went on, told late %ld times, "
	       "%zu bytes given up, %ld ms\n",
	    s->s_name, sole ? "alone" : "shared", fresh, n / step, alive, slow,
	    after.ms_leaked, stress_now() - start);
	fflush(stdout);
}

/* ---- all of them ---------------------------------------------------------------- */

static bool
is_wanted(const struct scenario *s, bool poor)
{
	const char *only = getenv("USTR_STRESS_SCENARIO");

	return s->s_poor == poor && (only == NULL || strcmp(only, s->s_name) == 0);
}

static void
all_deaths(bool poor, bool recorded, const int other[2])
{
	const char *step = getenv("USTR_STRESS_STEP");

	for (size_t i = 0; i < SCENARIOS; i++) {
		const struct scenario *s = &crash_scenarios[i];

		for (int sole = 0; sole < 2 && is_wanted(s, poor) && (!recorded || s->s_opens); sole++)
			deaths(s, sole, step != NULL ? atol(step) : 7, other);
	}
}

static void
run(bool poor)
{
	int other[2];

	crash_begin();
	MUST(str_pipe(other));
	crash_nonblock(other);
	all_deaths(poor, false, other);
	if (poor)
		return;
	printf("stress_crash: with every stream recorded:\n");
	MUST(ustr_tune("trace", RECORDS));
	all_deaths(poor, true, other);
}

/*
 * Processes that join no other's arena: each in its turn makes one with little
 * memory, where what needs the last of it can be had once.
 */
static void
start_poor(int turn)
{
	char c;

	for (int i = 0; i < POOR; i++) {
		if (MUST(stress_fork()) != 0)
			continue;
		if (read(turn, &c, 1) != 1)
			_exit(1);
		setenv("USTREAMS_ARENA", "1M", 1);
		run(true);
		exit(0);
	}
}

static void
end_poor(int turn)
{
	int status;

	for (int i = 0; i < POOR; i++) {
		MUST(write(turn, "t", 1));
		MUST(waitpid(-1, &status, 0));
		if (status != 0)
			DIE("with little memory: it ends with %#x", (unsigned)status);
	}
}

int
main(int argc, char **argv)
{
	bool threads, forks;
	int turn[2];

	/* This program buries the dead itself, at once; read when it starts. */
	if (getenv("USTREAMS_HELPER") == NULL) {
		setenv("USTREAMS_HELPER", "0", 1);
		execv("/proc/self/exe", argv);
	}
	if (!stress_modes(argc, argv, &threads, &forks) || !forks)
		return 77;
	signal(SIGPIPE, SIG_IGN);
	if (ustr_tune("crashpoint", 0) != 0) {
		printf("skipped: crash: points are marked in debug builds only\n");
		return 77;
	}
	MUST(pipe(turn));
	start_poor(turn[0]);
	run(false);
	end_poor(turn[1]);
	crash_report();
	return 0;
}
