/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_calls.h: whether each call a program may use on a FIFO does its work.
 */
#ifndef STRPERF_CALLS_H
#define STRPERF_CALLS_H

#include <stdbool.h>

struct report;

/*
 * Try read, write, select, poll, epoll and SIGPOLL, each on a FIFO of its own,
 * and put "passed", or what went wrong, into the configuration of the report.
 * Whether all passed.
 */
bool calls_try_all(struct report *r);

#endif
