/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_random.c [fork]: kill -9 at random moments of processes that do all the
 * time what crashlib.c knows, on a stream that others use meanwhile.
 *
 * Of each round: a writer and a reader that live on, and a victim, on one pipe.
 * After the victim's death nobody may be stuck: calls succeed or say EIO or
 * hang-up; another stream works as before; all can be closed; and the memory that
 * is not given back is counted.  A victim that alone had one end: the other end
 * is told.  Every third victim has a thread that writes, one that reads and one
 * that pushes and pops, all on that stream; every seventh is stopped and continued
 * before it dies.
 *
 * USTR_STRESS_SECONDS (30 s), or USTR_STRESS_COUNT rounds.
 */
#include "crashlib.h"
#include "stucklib.h"

#include <signal.h>
#include <sys/wait.h>

enum { SLACK = 1024 * 1024, WARM = 50 };

static unsigned int seed;

static unsigned int
rnd(unsigned int below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* ---- a victim whose threads all work on the stream --------------------------------- */

static void *
writes(void *arg)
{
	const int *fd = arg;
	char buf[300] = {0};

	for (;;)
		str_write(fd[0], buf, sizeof(buf));
	return NULL;
}

static void *
reads(void *arg)
{
	const int *fd = arg;
	char buf[300];

	for (;;) {
		str_read(fd[1], buf, sizeof(buf));
		str_read(fd[0], buf, sizeof(buf));
	}
	return NULL;
}

static void *
plumbs(void *arg)
{
	const int *fd = arg;

	for (;;) {
		str_ioctl(fd[0], I_PUSH, "crashq");
		str_ioctl(fd[1], I_PUSH, "nullmod");
		str_ioctl(fd[0], I_POP, 0);
		str_ioctl(fd[1], I_POP, 0);
	}
	return NULL;
}

_Noreturn static void
many(const int fd[2])
{
	static void *(*const does[])(void *) = {writes, reads, plumbs};
	pthread_t t;

	for (size_t i = 0; i < sizeof(does) / sizeof(does[0]); i++)
		if (pthread_create(&t, NULL, does[i], (void *)(uintptr_t)fd) != 0)
			_exit(1);
	for (;;)
		pause();
}

_Noreturn static void
victim(const int fd[2], bool sole, bool threads)
{
	if (sole)
		str_close(fd[1]);
	if (threads)
		many(fd);
	for (;;)
		crash_scenarios[rnd(ORDINARY)].s_do(fd);
}

/* Use the stream for as long as the victim is to live. */
static void
share(const int fd[2], unsigned int us)
{
	struct timespec ts = {0, (long)us * 1000};
	char buf[300] = {0};

	for (int i = 0; i < 4; i++) {
		str_write(fd[0], buf, 1 + rnd(sizeof(buf)));
		str_read(fd[1], buf, sizeof(buf));
		ts.tv_nsec = (long)us * 250;
		nanosleep(&ts, NULL);
	}
}

static void *
use_other(void *arg)
{
	const int *other = arg;

	for (int i = 0; i < 5; i++)
		if (!crash_usable(other, "other", i))
			DIE("another stream is held up");
	return NULL;
}

/*
 * Stopped, it may hold a lock of its own stream, or of the memory that all use:
 * then a thread that works on another stream goes on as soon as it is continued.
 */
static void
finish(pid_t pid, int other[2])
{
	pthread_t t;
	int status;

	if (rnd(7) == 0) {
		MUST(kill(pid, SIGSTOP));
		if (pthread_create(&t, NULL, use_other, other) != 0)
			DIE("pthread_create");
		stress_sleep(2);
		MUST(kill(pid, SIGCONT));
		pthread_join(t, NULL);
	}
	MUST(kill(pid, SIGKILL));
	MUST(waitpid(pid, &status, 0));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		DIE("a victim ended by itself: %#x", (unsigned)status);
}

static void
round_of(long n, int other[2], long *alive, long *slow)
{
	bool sole = rnd(3) == 0, threads = rnd(3) == 0;
	long died;
	int fd[2];
	pid_t pid;

	stuck_alarm(60);
	MUST(str_pipe(fd));
	MUST(str_ioctl(fd[0], I_PUSH, "crashq"));
	MUST(str_ioctl(fd[1], I_SRDOPT, RMSGD | RPROTDIS));
	crash_nonblock(fd);
	pid = (pid_t)MUST(stress_fork());
	if (pid == 0)
		victim(fd, sole, threads);
	if (sole) {
		MUST(str_close(fd[0]));
		stress_sleep((int)rnd(3));
		finish(pid, other);
		died = stress_now();
		*slow += !crash_told(fd[1], "sole", n, died);
	} else {
		share(fd, rnd(3000));
		finish(pid, other);
		ustr_service(0);
		*alive += crash_usable(fd, "shared", n);
		MUST(str_close(fd[0]));
	}
	MUST(str_close(fd[1]));
	if (!crash_usable(other, "other", n))
		DIE("round %ld: another stream is damaged", n);
}

int
main(int argc, char **argv)
{
	bool threads, forks;
	struct ustr_memstat before = {0}, after;
	long n, alive = 0, slow = 0, until, rounds = stress_count(0);
	int other[2];

	/* This program buries the dead itself, at once; read when it starts. */
	if (getenv("USTREAMS_HELPER") == NULL) {
		setenv("USTREAMS_HELPER", "0", 1);
		execv("/proc/self/exe", argv);
	}
	if (!stress_modes(argc, argv, &threads, &forks) || !forks)
		return 77;
	signal(SIGPIPE, SIG_IGN);
	seed = (unsigned int)getpid();
	until = stress_now() + stress_ms_or(30);
	crash_begin();
	MUST(str_pipe(other));
	crash_nonblock(other);
	for (n = 0; rounds > 0 ? n < rounds : stress_now() < until; n++) {
		if (n == WARM)
			ustr_memstat(&before);
		round_of(n, other, &alive, &slow);
	}
	stuck_alarm(0);
	ustr_memstat(&after);
	printf("stress_random: %ld deaths, %ld shared streams went on, told late %ld times, "
	       "%zu bytes given up, %zd more in use\n",
	    n, alive, slow, after.ms_leaked, (ssize_t)(after.ms_used - before.ms_used));
	if (slow > SELDOM(n))
		DIE("%ld times told later than %d ms", slow, LIMIT_MS);
	if (n > WARM &&
	    after.ms_used > before.ms_used + SLACK + (after.ms_leaked - before.ms_leaked))
		DIE("more memory is in use than is counted");
	return 0;
}
