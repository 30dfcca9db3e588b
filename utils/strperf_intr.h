/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_intr.h: Ctrl-C, and waiting that it ends.
 *
 * SIGINT, SIGTERM and SIGHUP stay blocked in the measuring process except
 * inside intr_poll(), so that no moment between a test and a sleep can miss
 * one.  The first only sets a flag; a second one kills, and takes the children
 * with it (PR_SET_PDEATHSIG).
 */
#ifndef STRPERF_INTR_H
#define STRPERF_INTR_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of the monotonic clock. */
int64_t intr_now(void);
/* Begin to catch the signals; SIGPIPE is ignored from here on. */
void intr_init(void);
/* Whether one has come. */
bool intr_pending(void);
/* poll(2) until a time of intr_now(); -1 with EINTR when a signal comes. */
int intr_poll(struct pollfd *fds, nfds_t n, int64_t until);
/*
 * In a child, first of all: die with the process parent, and leave Ctrl-C to
 * it (ignore) or take it in the default way.
 */
void intr_child(int parent, bool ignore);

#endif
