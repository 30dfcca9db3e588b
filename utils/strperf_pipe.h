/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_pipe.h: what strperf pipe measured.
 */
#ifndef STRPERF_PIPE_H
#define STRPERF_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strperf_opts.h"
#include "strperf_slice.h"
#include "strperf_stats.h"

/* One slice's rate and the placement of the processors around it. */
struct sample {
	double rate;	     /* messages a second, reader's clock */
	double probe_before; /* cross-CPU round trip, nanoseconds; NAN unknown */
	double probe_after;
};

/* One subject at one size. */
struct result {
	const struct subject *subject;
	size_t size;		/* bytes of a message */
	const char *skipped;	/* why it was not run, or NULL */
	uint64_t limit;		/* if skipped: the size it takes */
	struct sample *samples; /* of slice 0, 1, ... in order */
	size_t nsamples;
	size_t slices;		   /* begun; some may have no sample */
	uint64_t sent, read, bad;  /* over all slices, warm-up included */
	struct counts sum[NSIDES]; /* of all windows */
	char error[256];	   /* why a side gave up, or "" */
	struct hist *latency;	   /* with --rate: since each message was due */
};

/* What our rate is over a peer's, slice by slice. */
struct ratio {
	struct estimate est;
	size_t moved; /* pairs around which the processors were moved */
};

/* Everything one invocation measured. */
struct measured {
	const struct options *o;
	double overhead;	/* ns that stamp and check take of a message, first size */
	long hiwat, lowat;	/* of our reading end, as it really was */
	struct result *results; /* by size, ours first, then the peers */
	size_t nresults;
	double *probes; /* every cross-CPU round trip */
	size_t nprobes;
	bool interrupted;
	bool stuck; /* a thread is still running: do not wait for it */
};

/* The rate of a result: the median of its samples; NAN without any. */
double pipe_rate(const struct result *r);
/* Messages sent and never received (negative: more came than were sent). */
int64_t pipe_lost(const struct result *r);
/* Microseconds of processor time of both sides per message; NAN without any. */
double pipe_cpu_us(const struct result *r);
/* Whether a slice of it ran at all: not skipped, not cut off by Ctrl-C. */
bool pipe_was_run(const struct result *r);
/* Messages lost or damaged, or a side that gave up. */
bool pipe_failed(const struct result *r);
/*
 * Ours at the same size, over this peer.  False: the peer is ours, or either
 * was not run.
 */
bool pipe_ratio(const struct measured *m, const struct result *peer, struct ratio *ratio);

#endif
