/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_loop.h: the loops of writer and reader, and what they count.
 */
#ifndef STRPERF_LOOP_H
#define STRPERF_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strperf_crew.h"
#include "strperf_hist.h"
#include "strperf_opts.h"
#include "strperf_payload.h"

struct subject;

/* What a side has done and used up to some moment, or between two. */
struct counts {
	uint64_t msgs;	 /* messages, whole */
	uint64_t eagain; /* calls that returned EAGAIN */
	uint64_t ctxsw;	 /* context switches, voluntary and not */
	uint64_t cpu_us; /* processor time, user and system, microseconds */
	int64_t ns;	 /* clock */
};

/*
 * One side of a slice, in memory that parent and child share.  The parent
 * fills the first part before the start and reads the rest after the end; in
 * between only the side itself touches it.
 */
struct side {
	_Alignas(128) const struct subject *subject;
	const _Atomic int *order; /* the parent's enum phase */
	int fd;
	enum mode mode; /* whose resources to count */
	bool polls, poll_each;
	size_t size;	  /* bytes of a message */
	bool whole;	  /* one read must return one message */
	uint64_t flip;	  /* damage this message; UINT64_MAX none */
	double idle;	  /* part of its processor time that it shall idle */
	uint64_t idle_at; /* message at which it idles next; UINT64_MAX never */
	int64_t idled;	  /* its processor time when it last did */
	uint64_t number;  /* writer: which of several */
	size_t nwriters, nreaders;
	int64_t period;	 /* nanoseconds from one message due to the next; 0: at once */
	bool shares_cpu; /* with the other side: yield while waiting */
	_Atomic int64_t *start; /* when message 0 was due; the writer sets it */
	_Atomic int *users;	/* sides that have not closed fd yet */
	struct hist *latency;	/* reader: since the time due; or NULL */

	int phase;		    /* the last order seen */
	unsigned char *buf;	    /* the message */
	size_t done;		    /* bytes of it already sent or received */
	uint64_t msgs;		    /* messages sent or received whole */
	uint64_t seq;		    /* reader: number of the next message */
	uint64_t next[MAX_WRITERS]; /* reader: the same of each of several writers */
	uint64_t eagain;
	uint64_t bad; /* messages damaged or out of sequence */
	struct payload payload;
	struct counts begin, end; /* at PHASE_RUN and at PHASE_STOP */
	char error[128];	  /* why the side gave up, or "" */
	char fault[128];	  /* the first bad message, or "" */
};

/*
 * The work of a member of a crew: send until PHASE_STOP, finishing the last
 * message; receive until the end of data.  A side that cannot go on says why
 * in error and returns.  side is a struct side.
 */
void loop_write(void *side);
void loop_read(void *side);

#endif
