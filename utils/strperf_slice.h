/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_slice.h: run one subject at one size for one slice of time.
 */
#ifndef STRPERF_SLICE_H
#define STRPERF_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "strperf_loop.h"
#include "strperf_opts.h"

enum { WRITER, READER, NSIDES };

/* What a slice came to. */
struct slice {
	int fd[NSIDES];		      /* descriptors of the writer and the reader */
	struct counts window[NSIDES]; /* what counts: warm-up and drain left out */
	uint64_t sent, read;	      /* messages of the whole slice, warm-up included */
	uint64_t bad;		      /* messages damaged or out of sequence */
	bool ran;		      /* the window is good for a sample */
	bool stuck;		      /* a thread could not be ended */
	char error[256];	      /* why a side ended early, or "" */
	char fault[128];	      /* the first bad message, or "" */
	struct hist latency;	      /* with --rate: since each message was due */
};

/*
 * Open the subject anew, run writer and reader for so many seconds after a
 * warm-up, and end them, on every path.  EXIT_DONE with *result filled, also
 * when a side failed (error tells); another exit status when nothing was
 * started, after one line on stderr.
 */
int slice_run(const struct options *o, const struct subject *subject, size_t size,
    double seconds, struct slice *result);

/* What was done from begin to end. */
struct counts slice_window(const struct counts *begin, const struct counts *end);
/* Seconds of warm-up before a slice of this length. */
double slice_warmup(double seconds);

#endif
