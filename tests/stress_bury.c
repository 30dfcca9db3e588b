/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_bury.c [fork]: processes that do nothing but bury the dead, while a
 * mourner has children die in calls on a pipe, closes it at once and makes the
 * next one, which gets the same memory: whoever still sees to the dead one's
 * stream then has to do with the new one, and must not disturb it.
 *
 * Nobody may die of a broken invariant, and no call on a new pipe, that no child
 * ever saw, may fail, now or later.
 */
#include "crashlib.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { WORKERS = 4, AGES = 200 };

struct job {
	int j_fd[2]; /* to be drawn should all hang */
	atomic_bool j_stop;
	atomic_ulong j_deaths;
	atomic_ulong j_buried;
};

static void
burier(struct job *j, int tick)
{
	while (!atomic_load(&j->j_stop)) {
		int n = ustr_service(0);

		if (n > 0)
			atomic_fetch_add(&j->j_buried, (unsigned long)n);
		crew_tick(tick);
		sched_yield();
	}
}

_Noreturn static void
doomed(const int fd[2], unsigned long n)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		crash_scenarios[n % ORDINARY].s_do(fd);
}

/* A pipe that only this process ever had. */
static void
innocent(void)
{
	char c;
	int fd[2];

	MUST(str_pipe(fd));
	crash_nonblock(fd);
	for (int i = 0; i < AGES; i++) {
		MUST(str_write(fd[0], "x", 1));
		MUST(str_read(fd[1], &c, 1));
		if (i % 50 == 0) {
			MUST(str_ioctl(fd[0], I_PUSH, "nullmod"));
			MUST(str_ioctl(fd[0], I_POP, 0));
		}
	}
	MUST(str_close(fd[0]));
	MUST(str_close(fd[1]));
}

static void
one_death(unsigned long n)
{
	int fd[2], status;
	pid_t pid;

	MUST(str_pipe(fd));
	crash_nonblock(fd);
	pid = (pid_t)MUST(fork());
	if (pid == 0)
		doomed(fd, n);
	stress_sleep((int)(n % 3));
	MUST(kill(pid, SIGKILL));
	MUST(waitpid(pid, &status, 0));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		DIE("a victim ended by itself: %#x", (unsigned)status);
	MUST(str_close(fd[0]));
	MUST(str_close(fd[1]));
	innocent();
}

static void
mourner(struct job *j, int tick)
{
	while (!atomic_load(&j->j_stop)) {
		one_death(atomic_fetch_add(&j->j_deaths, 1));
		crew_tick(tick);
	}
}

static void
work(int who, void *arg)
{
	if (who == 0)
		mourner(arg, who);
	else
		burier(arg, who);
}

int
main(int argc, char **argv)
{
	struct job *j = shared_memory(sizeof(*j));
	bool threads, forks;
	struct crew c;

	/* These programs bury the dead themselves, all the time; read when it starts. */
	if (getenv("USTREAMS_HELPER") == NULL) {
		setenv("USTREAMS_HELPER", "0", 1);
		execv("/proc/self/exe", argv);
	}
	if (!stress_modes(argc, argv, &threads, &forks) || !forks)
		return 77;
	signal(SIGPIPE, SIG_IGN);
	crash_begin();
	MUST(str_pipe(j->j_fd));
	crew_start(&c, true, WORKERS, work, j, j->j_fd, "stress_bury");
	stress_sleep((int)stress_ms());
	atomic_store(&j->j_stop, true);
	crew_join(&c, 0, WORKERS);
	printf("stress_bury: %lu deaths, %lu buried by others\n", atomic_load(&j->j_deaths),
	    atomic_load(&j->j_buried));
	crew_end(&c);
	return 0;
}
