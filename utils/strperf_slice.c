/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_slice.c: run one subject at one size for one slice of time.
 *
 * Writer and reader are two children, or two threads, and nothing of a slice
 * outlives it: streams, children and pipes are new each time.
 *
 *	parent: open, start both          side: pin, say READY
 *	   wait for two READY                   loop: PHASE_WARM
 *	   warm-up passes, PHASE_RUN            loop: counts
 *	   slice passes, PHASE_STOP             writer ends, reader drains
 *	   wait for both ends of file           close, end
 *	   reap
 *
 * A side reports through a pipe of its own, on which it writes one byte when
 * it is ready; the pipe's end of file says that it is no more, however it
 * ended.  What it counted stands in a mapping both share.  A side that ends
 * before PHASE_STOP, Ctrl-C and a missed time limit all lead to PHASE_STOP at
 * once; who has not ended PATIENCE seconds later is killed.  A thread cannot
 * be: the slice is marked stuck and the program ends without waiting for it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_slice.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/string.h>

#include "strperf.h"
#include "strperf_host.h"
#include "strperf_intr.h"
#include "strperf_subject.h"

#define READY 'R'
#define PATIENCE 10 /* seconds for a side to become ready, or to end */
#define WARMUP 0.05 /* seconds, but no more than this part of a slice: */
#define WARMUP_PART 0.2

/* What parent and sides share. */
struct shared {
	_Alignas(128) _Atomic int order; /* enum phase; only the parent writes */
	struct side side[NSIDES];
};

struct runner;

/* A slice while it runs.  Threads get at it too. */
struct run {
	struct shared *shared;
	const struct runner *runner;
	int fd[NSIDES];		    /* descriptors of the subject */
	unsigned char *buf[NSIDES]; /* of the sides, for messages */
	int cpu[NSIDES];	    /* where to run, or -1 */
	int report[NSIDES][2];	    /* pipes from the sides to the parent */
	bool ready[NSIDES], ended[NSIDES];
	pid_t pid[NSIDES];
	pthread_t thread[NSIDES];
};

/* How sides are started, parted from the parent, and ended. */
struct runner {
	int (*start)(struct run *r, int who); /* 0, or an errno */
	void (*detach)(struct run *r);	      /* after both have been started */
	void (*reap)(struct run *r, int who, struct slice *result);
};

static const char *const side_names[] = {[WRITER] = "writer", [READER] = "reader"};

/* ---- a side -------------------------------------------------------------------- */

static void (*const loops[])(struct side *) = {
    [WRITER] = loop_write, [READER] = loop_read};

static void
run_side(struct run *r, int who)
{
	struct side *s = &r->shared->side[who];
	int error = r->cpu[who] == -1 ? 0 : host_pin(r->cpu[who]);

	if (error == 0 && write(r->report[who][1], &(char){READY}, 1) == 1)
		loops[who](s);
	else
		snprintf(s->error, sizeof(s->error), "start on CPU %d: %s", r->cpu[who],
		    strerror(error));
	s->subject->close(r->fd[who]);
}

/* ---- children --------------------------------------------------------------------- */

/* The report pipe is closed by the kernel, so that its end of file says: gone. */
static __attribute__((noreturn)) void
child(struct run *r, int who, pid_t parent)
{
	intr_child(parent, true);
	close(r->report[!who][1]);
	r->shared->side[who].subject->close(r->fd[!who]);
	run_side(r, who);
	exit(EXIT_DONE);
}

static int
start_child(struct run *r, int who)
{
	pid_t parent = getpid();

	fflush(NULL);
	r->pid[who] = fork();
	if (r->pid[who] == 0)
		child(r, who, parent);
	return r->pid[who] == -1 ? errno : 0;
}

static void
detach_children(struct run *r)
{
	for (int who = 0; who < NSIDES; who++) {
		r->shared->side[who].subject->close(r->fd[who]);
		close(r->report[who][1]);
	}
}

static void
reap_child(struct run *r, int who, struct slice *result)
{
	int status;

	if (r->pid[who] <= 0)
		return;
	if (!r->ended[who])
		kill(r->pid[who], SIGKILL);
	while (waitpid(r->pid[who], &status, 0) == -1 && errno == EINTR)
		continue;
	if (!r->ended[who])
		snprintf(result->error, sizeof(result->error),
		    "%s did not end within %d s after the slice and was killed",
		    side_names[who], PATIENCE);
	else if (WIFSIGNALED(status))
		snprintf(result->error, sizeof(result->error),
		    "%s died of signal %d (%s)", side_names[who], WTERMSIG(status),
		    strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != EXIT_DONE)
		snprintf(result->error, sizeof(result->error), "%s ended with status %d",
		    side_names[who], WEXITSTATUS(status));
}

/* ---- threads ---------------------------------------------------------------------- */

static void
thread_side(struct run *r, int who)
{
	run_side(r, who);
	close(r->report[who][1]);
}

static void *
writer_thread(void *arg)
{
	thread_side(arg, WRITER);
	return NULL;
}

static void *
reader_thread(void *arg)
{
	thread_side(arg, READER);
	return NULL;
}

static int
start_thread(struct run *r, int who)
{
	static void *(*const entry[])(void *) = {
	    [WRITER] = writer_thread, [READER] = reader_thread};

	return pthread_create(&r->thread[who], NULL, entry[who], r);
}

static void
detach_threads(struct run *r)
{
	(void)r;
}

static void
reap_thread(struct run *r, int who, struct slice *result)
{
	if (r->ended[who]) {
		pthread_join(r->thread[who], NULL);
		return;
	}
	result->stuck = true;
	snprintf(result->error, sizeof(result->error),
	    "%s did not end within %d s after the slice", side_names[who], PATIENCE);
}

static const struct runner runners[] = {
    [MODE_PROCESS] = {start_child, detach_children, reap_child},
    [MODE_THREAD] = {start_thread, detach_threads, reap_thread},
};

/* ---- the parent's view --------------------------------------------------------------- */

static bool
any_ended(const struct run *r)
{
	return r->ended[WRITER] || r->ended[READER];
}

/* Both at work, or one that never will be. */
static bool
all_started(const struct run *r)
{
	return (r->ready[WRITER] && r->ready[READER]) || any_ended(r);
}

static bool
all_ended(const struct run *r)
{
	return r->ended[WRITER] && r->ended[READER];
}

static void
hear_side(struct run *r, int who)
{
	char byte;
	ssize_t n = read(r->report[who][0], &byte, 1);

	if (n == 1)
		r->ready[who] = true;
	else if (n == 0 || errno != EINTR)
		r->ended[who] = true;
}

/* Listen to the sides until enough() holds: true; or until the time: false. */
static bool
hear(struct run *r, bool (*enough)(const struct run *), int64_t until, bool interruptible)
{
	struct pollfd pfd[NSIDES];
	int n;

	while (!enough(r)) {
		for (int who = 0; who < NSIDES; who++) {
			pfd[who].fd = r->ended[who] ? -1 : r->report[who][0];
			pfd[who].events = POLLIN;
			pfd[who].revents = 0;
		}
		if (interruptible) {
			n = intr_poll(pfd, NSIDES, until);
			if (n == -1 && intr_pending())
				return false;
		} else {
			n = poll(pfd, NSIDES, (int)((until - intr_now()) / 1000000 + 1));
		}
		if (n == 0 && intr_now() >= until)
			return false;
		for (int who = 0; n > 0 && who < NSIDES; who++)
			if (pfd[who].revents != 0)
				hear_side(r, who);
	}
	return true;
}

static int64_t
from_now(double seconds)
{
	return intr_now() + (int64_t)(seconds * 1e9);
}

double
slice_warmup(double seconds)
{
	return seconds * WARMUP_PART < WARMUP ? seconds * WARMUP_PART : WARMUP;
}

static void
order(struct run *r, enum phase phase)
{
	atomic_store(&r->shared->order, phase);
}

/* The phases; false when the slice did not come to its end in order. */
static bool
conduct(struct run *r, double seconds)
{
	bool good = hear(r, all_started, from_now(PATIENCE), true) && !any_ended(r);

	good = good && !hear(r, any_ended, from_now(slice_warmup(seconds)), true);
	if (good && !intr_pending()) {
		order(r, PHASE_RUN);
		good = !hear(r, any_ended, from_now(seconds), true);
	}
	order(r, PHASE_STOP);
	return hear(r, all_ended, from_now(PATIENCE), false) && good;
}

/* ---- the whole ----------------------------------------------------------------------- */

static void
describe_side(struct run *r, int who, const struct options *o,
    const struct subject *subject, size_t size)
{
	r->buf[who] = payload_alloc(size);
	r->cpu[who] = o->ncpus == 0 ? -1 : o->cpus[who % o->ncpus];
	r->shared->side[who] = (struct side){
	    .subject = subject,
	    .order = &r->shared->order,
	    .fd = r->fd[who],
	    .mode = o->mode,
	    .polls = !o->blocking,
	    .poll_each = o->poll_each,
	    .size = size,
	    .whole = size <= subject->whole(o),
	    .flip = o->flip,
	    .buf = r->buf[who],
	};
}

/* Everything a slice needs but its sides.  EXIT_DONE, or a status after a line. */
static int
prepare(
    struct run *r, const struct options *o, const struct subject *subject, size_t size)
{
	int fd[2], status = subject->open(o, size, fd);

	if (status != EXIT_DONE)
		return status;
	r->fd[READER] = fd[0];
	r->fd[WRITER] = fd[1];
	for (int who = 0; who < NSIDES; who++) {
		describe_side(r, who, o, subject, size);
		if (r->buf[who] == NULL || pipe2(r->report[who], O_CLOEXEC) == -1) {
			complain("slice: %s", strerror(errno));
			return EXIT_FAILED;
		}
	}
	return EXIT_DONE;
}

/* The reader's reason first: a writer without a reader only fails because of that. */
static void
collect(const struct run *r, struct slice *result)
{
	const struct side *w = &r->shared->side[WRITER], *s = &r->shared->side[READER];

	for (int who = NSIDES - 1; who >= 0; who--) {
		const struct side *side = &r->shared->side[who];

		result->fd[who] = side->fd;
		result->window[who] = loop_window(side);
		if (side->error[0] != '\0' && result->error[0] == '\0')
			snprintf(result->error, sizeof(result->error), "%s: %s",
			    side_names[who], side->error);
	}
	result->sent = w->msgs;
	result->read = s->msgs;
	result->bad = s->bad;
	strlcpy(result->fault, s->fault, sizeof(result->fault));
}

static void
start_and_conduct(struct run *r, double seconds, struct slice *result)
{
	int error = 0, started = 0;

	while (started < NSIDES && (error = r->runner->start(r, started)) == 0)
		started++;
	if (started < NSIDES)
		order(r, PHASE_STOP);
	r->runner->detach(r);
	for (int who = started; who < NSIDES; who++)
		r->ended[who] = true;
	result->ran = started == NSIDES && conduct(r, seconds);
	for (int who = 0; who < started; who++)
		r->runner->reap(r, who, result);
	if (error != 0)
		snprintf(result->error, sizeof(result->error), "%s cannot start: %s",
		    side_names[started], strerror(error));
}

/* Shared and run are static: a stuck thread goes on using them. */
int
slice_run(const struct options *o, const struct subject *subject, size_t size,
    double seconds, struct slice *result)
{
	static struct shared *shared;
	static struct run run;
	int status;

	if (shared == NULL)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		complain("slice: mmap: %s", strerror(errno));
		return EXIT_FAILED;
	}
	memset(shared, 0, sizeof(*shared));
	memset(result, 0, sizeof(*result));
	run = (struct run){.shared = shared, .runner = &runners[o->mode]};
	status = prepare(&run, o, subject, size);
	if (status != EXIT_DONE)
		return status;
	start_and_conduct(&run, seconds, result);
	collect(&run, result);
	for (int who = 0; who < NSIDES && !result->stuck; who++) {
		free(run.buf[who]);
		close(run.report[who][0]);
	}
	return EXIT_DONE;
}
