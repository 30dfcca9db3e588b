/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plat_event.h: how the kernel tells a process something: pipes, eventfds,
 * polling with a mask, and queued signals.
 *
 * Level 0, beside plat.h.
 */
#ifndef STREAMS_PLAT_EVENT_H
#define STREAMS_PLAT_EVENT_H

#include "plat.h"

#include <poll.h>
#include <signal.h>

/* A deadline that never comes: ns of CLOCK_MONOTONIC. */
#define PLAT_NEVER (INT64_MAX / 2)

/* A pipe at high numbers, not blocking, close on exec: 0 or an errno. */
int plat_pipe(int fd[2]);
/* A byte into the one end, never blocking; all bytes out of the other. */
void plat_strike(int fd);
void plat_swallow(int fd);

/* An eventfd, not ready, close on exec: it or -1; and make it ready or not. */
int plat_eventfd(void);
void plat_raise_eventfd(int fd, bool ready);

/*
 * poll(2) until a deadline, with the signal mask mask (NULL: as it is) for
 * just as long: 0 with revents set, or an errno.  A cancellation point.
 */
int plat_ppoll(struct pollfd *fds, nfds_t n, int64_t deadline, const sigset_t *mask);

/*
 * Queue a signal to this process as the kernel would, with si_code, si_errno
 * and, for SIGPOLL, si_band and si_fd.  To the calling thread if that lets the
 * signal in, so that the handler has run on return; else to the process.
 */
struct plat_signal {
	int ps_sig;
	int ps_code;
	int ps_error;
	int ps_band;
	int ps_fd;
};
void plat_sigqueue(const struct plat_signal *ps);
/* Does a handler of sig in this thread end a sleep, or a timed one? */
bool plat_interrupts(int sig, bool timed);
/* The process group of a process, or -1. */
pid_t plat_pgid(pid_t pid);

#endif
