/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_transfer.h: how long a given number of messages takes from a producer
 * to a consumer.
 */
#ifndef STRPERF_TRANSFER_H
#define STRPERF_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

#include "strperf_opts.h"

#define MAX_RUNS 1000

struct subject;

struct transfer {
	double us[MAX_RUNS]; /* from the first write to the end of the last read */
	size_t n;	     /* runs that came to their end */
	size_t bad;	     /* messages damaged or out of sequence */
	double cpu_us[2];    /* of producer and consumer, all runs */
	double ctxsw;	     /* of both, all runs */
	bool stuck;	     /* a thread could not be ended */
	char error[256];     /* why it ended early, or "" */
};

/*
 * Open the subject anew and send count messages of this size through it, so
 * many times.  Descriptors block.  EXIT_DONE with *t filled; another exit
 * status when nothing was started, after a line on stderr.
 */
int transfer_run(const struct options *o, const struct subject *subject, size_t size,
    size_t count, size_t runs, struct transfer *t);

#endif
