/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_dialog.h: one who asks and one who answers, over any subject.
 */
#ifndef STRPERF_DIALOG_H
#define STRPERF_DIALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strperf_crew.h"
#include "strperf_hist.h"
#include "strperf_opts.h"

struct subject;

enum { ASKER, ANSWERER, NTALKERS };

/* What a talk came to; warm-up left out, except in bad. */
struct dialog {
	uint64_t trans;		      /* requests answered */
	uint64_t bad;		      /* messages damaged or out of sequence */
	uint64_t eagain;	      /* calls that returned EAGAIN */
	struct usage usage[NTALKERS]; /* usage[ASKER].ns is the window's length */
	struct hist latency;	      /* of the transactions */
	bool ran;		      /* good for a sample */
	bool stuck;		      /* a thread could not be ended */
	char error[256];	      /* why it ended early, or "" */
};

/*
 * Open the subject anew, let them talk for so many seconds after a warm-up, in
 * requests and responses of these sizes, and end it, on every path.  With
 * o->poll_each they poll before each read, else they block.  EXIT_DONE with *d
 * filled; another exit status when nothing was started, after a line on stderr.
 */
int dialog_run(const struct options *o, const struct subject *subject, size_t request,
    size_t response, double seconds, struct dialog *d);

/* Nanoseconds that stamps, checks, clock and histogram cost in a transaction. */
double dialog_overhead(size_t request, size_t response);

#endif
