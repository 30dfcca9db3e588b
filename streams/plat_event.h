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

#endif
