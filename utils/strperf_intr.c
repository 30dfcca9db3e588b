/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_intr.c: Ctrl-C, and waiting that it ends.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_intr.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
#define NCAUGHT (sizeof(caught) / sizeof(caught[0]))

static volatile sig_atomic_t flag;
static sigset_t before; /* the signal mask the program was started with */

int64_t
intr_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void
note(int sig)
{
	(void)sig;
	flag = 1;
}

void
intr_init(void)
{
	struct sigaction act = {.sa_handler = note, .sa_flags = SA_RESETHAND};
	sigset_t block;

	sigemptyset(&block);
	for (size_t i = 0; i < NCAUGHT; i++) {
		sigaddset(&block, caught[i]);
		sigaction(caught[i], &act, NULL);
	}
	sigprocmask(SIG_BLOCK, &block, &before);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

bool
intr_pending(void)
{
	struct timespec none = {0, 0};

	if (!flag)
		ppoll(NULL, 0, &none, &before);
	return flag;
}

int
intr_poll(struct pollfd *fds, nfds_t n, int64_t until)
{
	int64_t left = until - intr_now();
	struct timespec ts = {0, 0};

	if (flag) {
		errno = EINTR;
		return -1;
	}
	if (left > 0) {
		ts.tv_sec = left / 1000000000;
		ts.tv_nsec = left % 1000000000;
	}
	return ppoll(fds, n, &ts, &before);
}

void
intr_child(int parent, bool ignore)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (size_t i = 0; i < NCAUGHT; i++)
		signal(caught[i], ignore ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
