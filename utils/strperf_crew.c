/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_crew.c: run a few members at once, as processes or as threads
 * (strperf_crew.h has the protocol).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_crew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strperf.h"
#include "strperf_host.h"
#include "strperf_intr.h"

#define READY 'R'
#define ERROR_ROOM 128

/* How members are started and ended. */
struct runner {
	int (*start)(struct member *m, size_t who); /* 0, or an errno */
	void (*reap)(struct crew *c, struct member *m);
};

void *
crew_memory(size_t size)
{
	void *p = mmap(
	    NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		return p;
	complain("mmap: %s", strerror(errno));
	return NULL;
}

/* ---- resources ------------------------------------------------------------------ */

static uint64_t
microseconds(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000 + (uint64_t)tv->tv_usec;
}

struct usage
crew_usage(enum mode mode)
{
	struct rusage ru;

	getrusage(mode == MODE_THREAD ? RUSAGE_THREAD : RUSAGE_SELF, &ru);
	return (struct usage){
	    .ctxsw = (uint64_t)(ru.ru_nvcsw + ru.ru_nivcsw),
	    .cpu_us = microseconds(&ru.ru_utime) + microseconds(&ru.ru_stime),
	    .ns = intr_now(),
	};
}

struct usage
crew_used(const struct usage *begin, const struct usage *end)
{
	return (struct usage){
	    .ctxsw = end->ctxsw - begin->ctxsw,
	    .cpu_us = end->cpu_us - begin->cpu_us,
	    .ns = end->ns - begin->ns,
	};
}

/* ---- a member --------------------------------------------------------------------- */

static void
run_member(struct member *m)
{
	int error = m->cpu == -1 ? 0 : host_pin(m->cpu);

	if (error == 0 && write(m->report[1], &(char){READY}, 1) == 1)
		m->work(m->arg);
	else
		snprintf(m->error, ERROR_ROOM, "start on CPU %d: %s", m->cpu,
		    strerror(error));
}

/* ---- children --------------------------------------------------------------------- */

/* The report pipe is closed by the kernel, so that its end of file says: gone. */
static __attribute__((noreturn)) void
child(struct member *m, size_t who, pid_t parent)
{
	struct crew *c = m->crew;

	intr_child(parent, true);
	for (size_t i = 0; i < c->n; i++)
		if (i != who)
			close(c->member[i].report[1]);
	if (c->narrow != NULL)
		c->narrow(c->context, who);
	run_member(m);
	exit(EXIT_DONE);
}

static int
start_child(struct member *m, size_t who)
{
	pid_t parent = getpid();

	fflush(NULL);
	m->pid = fork();
	if (m->pid == 0)
		child(m, who, parent);
	return m->pid == -1 ? errno : 0;
}

static void
reap_child(struct crew *c, struct member *m)
{
	int status;

	if (m->pid <= 0)
		return;
	if (!m->ended)
		kill(m->pid, SIGKILL);
	while (waitpid(m->pid, &status, 0) == -1 && errno == EINTR)
		continue;
	if (!m->ended)
		snprintf(c->error, sizeof(c->error),
		    "%s did not end within %d s and was killed", m->name, CREW_PATIENCE);
	else if (WIFSIGNALED(status))
		snprintf(c->error, sizeof(c->error), "%s died of signal %d (%s)", m->name,
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != EXIT_DONE)
		snprintf(c->error, sizeof(c->error), "%s ended with status %d", m->name,
		    WEXITSTATUS(status));
}

/* ---- threads ---------------------------------------------------------------------- */

static void *
thread(void *arg)
{
	struct member *m = arg;

	run_member(m);
	close(m->report[1]);
	return NULL;
}

static int
start_thread(struct member *m, size_t who)
{
	(void)who;
	return pthread_create(&m->thread, NULL, thread, m);
}

static void
reap_thread(struct crew *c, struct member *m)
{
	if (m->ended) {
		pthread_join(m->thread, NULL);
		return;
	}
	c->stuck = true;
	snprintf(c->error, sizeof(c->error), "%s did not end within %d s", m->name,
	    CREW_PATIENCE);
}

static const struct runner runners[] = {
    [MODE_PROCESS] = {start_child, reap_child},
    [MODE_THREAD] = {start_thread, reap_thread},
};

/* ---- the parent's view --------------------------------------------------------------- */

static bool
any_ended(const struct crew *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->member[i].ended)
			return true;
	return false;
}

static bool
all_ended(const struct crew *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (!c->member[i].ended)
			return false;
	return true;
}

/* All at work, or ended already. */
static bool
all_started(const struct crew *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (!c->member[i].ready && !c->member[i].ended)
			return false;
	return true;
}

static void
hear_member(struct member *m)
{
	char byte;
	ssize_t n = read(m->report[0], &byte, 1);

	if (n == 1)
		m->ready = true;
	else if (n == 0 || errno != EINTR)
		m->ended = true;
}

/* Listen until enough() holds: true; or until the time or Ctrl-C: false. */
static bool
hear(struct crew *c, bool (*enough)(const struct crew *), int64_t until,
    bool interruptible)
{
	struct pollfd pfd[MAX_CREW];
	int n;

	while (!enough(c)) {
		for (size_t i = 0; i < c->n; i++)
			pfd[i] = (struct pollfd){
			    .fd = c->member[i].ended ? -1 : c->member[i].report[0],
			    .events = POLLIN,
			};
		if (interruptible) {
			n = intr_poll(pfd, c->n, until);
			if (n == -1 && intr_pending())
				return false;
		} else {
			n = poll(pfd, c->n, (int)((until - intr_now()) / 1000000 + 1));
		}
		if (n == 0 && intr_now() >= until)
			return false;
		for (size_t i = 0; n > 0 && i < c->n; i++)
			if (pfd[i].revents != 0)
				hear_member(&c->member[i]);
	}
	return true;
}

static int64_t
from_now(double seconds)
{
	return intr_now() + (int64_t)(seconds * 1e9);
}

/* Members that end by themselves: until all have. */
static bool
await_all(struct crew *c)
{
	atomic_store(c->order, PHASE_RUN);
	return hear(c, all_ended, INT64_MAX, true);
}

/* Members that end when told. */
static bool
conduct(struct crew *c, double warmup, double seconds)
{
	bool good = hear(c, all_started, from_now(CREW_PATIENCE), true) && !any_ended(c);

	good = good && !hear(c, any_ended, from_now(warmup), true);
	if (good && !intr_pending()) {
		atomic_store(c->order, PHASE_RUN);
		good = !hear(c, any_ended, from_now(seconds), true);
	}
	return good;
}

/* Pipes and words for all members: how many members got theirs. */
static size_t
prepare(struct crew *c)
{
	static char (*errors)[ERROR_ROOM];
	size_t i;

	if (errors == NULL)
		errors = crew_memory(sizeof(*errors) * MAX_CREW);
	for (i = 0; errors != NULL && i < c->n; i++) {
		struct member *m = &c->member[i];

		m->crew = c;
		m->error = errors[i];
		m->error[0] = '\0';
		m->ready = m->ended = false;
		m->pid = 0;
		if (pipe2(m->report, O_CLOEXEC) == -1)
			break;
	}
	return errors == NULL ? 0 : i;
}

static size_t
start_all(struct crew *c)
{
	size_t started = 0;
	int error = 0;

	while (started < c->n) {
		error = runners[c->mode].start(&c->member[started], started);
		if (error != 0)
			break;
		started++;
	}
	if (error != 0) {
		atomic_store(c->order, PHASE_STOP);
		snprintf(c->error, sizeof(c->error), "%s cannot start: %s",
		    c->member[started].name, strerror(error));
	}
	for (size_t i = started; i < c->n; i++)
		c->member[i].ended = true;
	return started;
}

/* The parent's ends of what the members hold, once all have been started. */
static void
let_go(struct crew *c)
{
	if (c->mode == MODE_THREAD)
		return;
	for (size_t i = 0; i < c->n; i++)
		close(c->member[i].report[1]);
	if (c->detach != NULL)
		c->detach(c->context);
}

void
crew_run(struct crew *c, double warmup, double seconds)
{
	size_t prepared = prepare(c), started;

	c->ran = c->stuck = false;
	c->error[0] = '\0';
	atomic_store(c->order, PHASE_WARM);
	if (prepared < c->n) {
		snprintf(c->error, sizeof(c->error), "pipe: %s", strerror(errno));
		c->n = prepared;
		return;
	}
	started = start_all(c);
	let_go(c);
	if (started == c->n)
		c->ran = seconds < 0 ? await_all(c) : conduct(c, warmup, seconds);
	atomic_store(c->order, PHASE_STOP);
	c->ran = hear(c, all_ended, from_now(CREW_PATIENCE), false) && c->ran;
	for (size_t i = 0; i < started; i++)
		runners[c->mode].reap(c, &c->member[i]);
	for (size_t i = 0; i < c->n && c->error[0] == '\0'; i++)
		if (c->member[i].error[0] != '\0')
			snprintf(c->error, sizeof(c->error), "%s: %s", c->member[i].name,
			    c->member[i].error);
	for (size_t i = 0; i < c->n && !c->stuck; i++)
		close(c->member[i].report[0]);
}
