/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_sig.c [threads|fork|both]: registrations and deregistrations against
 * events and deaths.
 *
 * Two pipes, a writer and a reader each.  One reader reads only when SIGPOLL
 * came, the other only when its eventfd is ready: an event that is lost stalls
 * them.  Meanwhile a registrar registers the process group for both pipes and
 * ends that again, asks for eventfds and closes them with streams of its own;
 * and, where workers are processes, a mourner has children register for a pipe,
 * follow it by eventfds, and die of SIGKILL while it writes there.  (That pipe
 * is another each time: one in whose middle a process died may be in error.)
 */
#include "stresslib.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { BY_SIGNAL, BY_EVENTFD, NPIPES, WORKERS = 6 };

struct job {
	int j_fd[NPIPES][2]; /* read from the first, write to the second */
	bool j_forked;
	atomic_bool j_stop; /* writers, registrar and mourner end */
	atomic_bool j_ready; /* the signals' reader is registered */
	atomic_ulong j_sent[NPIPES];
	atomic_ulong j_read[NPIPES];
	atomic_bool j_over[NPIPES]; /* the writer has ended */
	atomic_ulong j_rounds; /* of the registrar */
	atomic_ulong j_deaths;
};

static sigset_t
just_sigpoll(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPOLL);
	return set;
}

static void
writer(struct job *j, int which, int tick)
{
	struct pollfd f = {j->j_fd[which][1], POLLOUT, 0};
	unsigned int rnd = 5u + (unsigned)which;

	while (!atomic_load(&j->j_ready))
		stress_sleep(1);
	while (!atomic_load(&j->j_stop)) {
		if (str_write(f.fd, "x", 1) == 1) {
			atomic_fetch_add(&j->j_sent[which], 1);
			crew_tick(tick);
		} else if (errno != EAGAIN) {
			DIE("write: %s", strerror(errno));
		} else {
			(void)str_poll(&f, 1, 1000);
		}
		/* Now and then let the reader empty the queue and sleep. */
		rnd = rnd * 1103515245u + 12345u;
		if (rnd >> 28 == 0)
			stress_sleep(1);
	}
	atomic_store(&j->j_over[which], true);
}

/* Everything that is there. */
static void
drain(struct job *j, int which, int tick)
{
	char c;

	while (str_read(j->j_fd[which][0], &c, 1) == 1) {
		atomic_fetch_add(&j->j_read[which], 1);
		crew_tick(tick);
	}
	if (errno != EAGAIN)
		DIE("read: %s", strerror(errno));
}

static bool
finished(struct job *j, int which)
{
	return atomic_load(&j->j_over[which]) &&
	    atomic_load(&j->j_read[which]) == atomic_load(&j->j_sent[which]);
}

/* Longer than this, and the event is lost. */
static void
overdue(struct job *j, int which, long since)
{
	if (stress_now() - since > STALL_MS)
		DIE("an event was lost: %lu sent, %lu read", atomic_load(&j->j_sent[which]),
		    atomic_load(&j->j_read[which]));
}

static void
reader_by_signal(struct job *j, int tick)
{
	const struct timespec slice = {0, 100000000};
	sigset_t set = just_sigpoll();
	long since = stress_now();

	MUST(str_ioctl(j->j_fd[BY_SIGNAL][0], I_SETSIG, S_INPUT));
	atomic_store(&j->j_ready, true);
	while (!finished(j, BY_SIGNAL)) {
		if (sigtimedwait(&set, NULL, &slice) == SIGPOLL) {
			since = stress_now();
			drain(j, BY_SIGNAL, tick);
		} else {
			crew_tick(tick);
			overdue(j, BY_SIGNAL, since);
		}
	}
}

static void
reader_by_eventfd(struct job *j, int tick)
{
	struct pollfd f = {str_eventfd(j->j_fd[BY_EVENTFD][0], POLLIN), POLLIN, 0};
	long since = stress_now();

	MUST(f.fd);
	while (!finished(j, BY_EVENTFD)) {
		if (poll(&f, 1, 100) == 1) {
			since = stress_now();
			drain(j, BY_EVENTFD, tick);
		} else {
			crew_tick(tick);
			overdue(j, BY_EVENTFD, since);
		}
	}
}

/* A stream of its own, registered for and followed, until it is closed. */
static void
own_stream(void)
{
	int fd[2], e;

	MUST(str_pipe(fd));
	MUST(str_ioctl(fd[0], I_SETSIG, S_INPUT | S_HANGUP));
	e = (int)MUST(str_eventfd(fd[0], POLLIN));
	MUST(str_write(fd[1], "x", 1));
	if (poll(&(struct pollfd){e, POLLIN, 0}, 1, STALL_MS) != 1)
		DIE("an eventfd does not follow its stream");
	MUST(str_close(fd[0]));
	MUST(str_close(fd[1]));
}

static void
registrar(struct job *j, int tick)
{
	static const short sets[] = {POLLPRI, POLLOUT, POLLRDBAND, POLLIN | POLLOUT};

	for (unsigned int i = 0; !atomic_load(&j->j_stop); i++) {
		struct strsigset ss = {-getpgrp(), S_INPUT | S_OUTPUT | S_HANGUP};
		int fd = j->j_fd[i % NPIPES][i / 2 % 2];

		MUST(str_ioctl(fd, I_ESETSIG, &ss));
		MUST(str_eventfd(fd, sets[i / 4 % 4]));
		own_stream();
		ss.ss_events = 0;
		MUST(str_ioctl(fd, I_ESETSIG, &ss));
		atomic_fetch_add(&j->j_rounds, 1);
		crew_tick(tick);
	}
}

/* Register and follow for ever. */
static void
doomed(const int fd[2])
{
	for (unsigned int i = 0;; i++) {
		(void)str_ioctl(fd[i % 2], I_SETSIG, S_INPUT | S_OUTPUT | S_MSG);
		(void)str_eventfd(fd[i % 2], i & 2 ? POLLIN : POLLOUT);
		if (i & 4)
			(void)str_ioctl(fd[i % 2], I_SETSIG, 0);
	}
}

/* Events for one that is registered, until it is killed and for a while after. */
static void
one_death(void)
{
	long until = stress_now() + 5;
	int fd[2];
	pid_t pid;
	char c;

	MUST(str_pipe(fd));
	for (int end = 0; end < 2; end++)
		MUST(str_fcntl(fd[end], F_SETFL, O_NONBLOCK));
	pid = fork();
	if (pid == 0)
		doomed(fd);
	for (int phase = 0; phase < 2; phase++) {
		while (stress_now() < until) {
			(void)str_write(fd[1], "x", 1);
			(void)str_read(fd[0], &c, 1);
		}
		until += 2;
		kill(pid, SIGKILL);
	}
	waitpid(pid, NULL, 0);
	MUST(str_close(fd[0]));
	MUST(str_close(fd[1]));
}

static void
mourner(struct job *j, int tick)
{
	while (!atomic_load(&j->j_stop)) {
		if (j->j_forked) {
			one_death();
			atomic_fetch_add(&j->j_deaths, 1);
		} else {
			own_stream();
		}
		crew_tick(tick);
	}
}

static void
work(int who, void *arg)
{
	switch (who) {
	case 0:
	case 1:
		writer(arg, who, who);
		break;
	case 2:
		reader_by_signal(arg, who);
		break;
	case 3:
		reader_by_eventfd(arg, who);
		break;
	case 4:
		registrar(arg, who);
		break;
	case 5:
		mourner(arg, who);
		break;
	}
}

static void
run(bool forked, long ms)
{
	struct job *j = shared_memory(sizeof(*j));
	struct crew c;
	int mask;

	j->j_forked = forked;
	for (int i = 0; i < NPIPES; i++) {
		MUST(str_pipe(j->j_fd[i]));
		for (int end = 0; end < 2; end++)
			MUST(str_fcntl(j->j_fd[i][end], F_SETFL, O_NONBLOCK));
		MUST(str_ioctl(j->j_fd[i][0], I_SET_LOWAT, 20));
		MUST(str_ioctl(j->j_fd[i][0], I_SET_HIWAT, 100));
	}
	crew_start(&c, forked, WORKERS, work, j, j->j_fd[0], "stress_sig");
	stress_sleep((int)ms);
	atomic_store(&j->j_stop, true);
	crew_join(&c, 0, WORKERS);
	printf("stress_sig: %s: %lu messages by signals, %lu by eventfds, %lu rounds, %lu deaths\n",
	    forked ? "fork" : "threads", atomic_load(&j->j_read[BY_SIGNAL]),
	    atomic_load(&j->j_read[BY_EVENTFD]), atomic_load(&j->j_rounds),
	    atomic_load(&j->j_deaths));
	fflush(stdout);
	/* What processes registered has gone with them. */
	if (forked && str_ioctl(j->j_fd[0][0], I_GETSIG, &mask) != -1)
		DIE("the parent is registered");
	for (int i = 0; i < NPIPES; i++) {
		MUST(str_close(j->j_fd[i][0]));
		MUST(str_close(j->j_fd[i][1]));
	}
	crew_end(&c);
}

int
main(int argc, char **argv)
{
	sigset_t set = just_sigpoll();
	bool threads, forks;
	long ms;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	/* Nobody handles it: who waits for it takes it. */
	sigprocmask(SIG_BLOCK, &set, NULL);
	ms = stress_ms() / (threads + forks);
	if (threads)
		run(false, ms);
	if (forks)
		run(true, ms);
	return 0;
}
