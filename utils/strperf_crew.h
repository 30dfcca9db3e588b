/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_crew.h: run a few members at once, as processes or as threads.
 *
 *	parent: start all		  member: pin, say READY
 *	   wait for all READY			work: PHASE_WARM
 *	   warm-up passes, PHASE_RUN		work: what counts
 *	   time passes, PHASE_STOP		work ends
 *	   wait for all ends of file		end
 *	   reap
 *
 * A member reports through a pipe of its own, on which it writes one byte when
 * it is ready; the pipe's end of file says that it is no more, however it
 * ended.  A member that ends before PHASE_STOP, Ctrl-C and a missed time limit
 * all lead to PHASE_STOP at once; who has not ended CREW_PATIENCE seconds later
 * is killed.  A thread cannot be: the crew is marked stuck and the program ends
 * without waiting for it.
 */
#ifndef STRPERF_CREW_H
#define STRPERF_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "strperf_opts.h"

#define MAX_CREW (MAX_WRITERS + MAX_READERS)
#define CREW_PATIENCE 10 /* seconds for a member to become ready, or to end */

/* What the parent orders. */
enum phase {
	PHASE_WARM, /* run, but nothing counts yet */
	PHASE_RUN,  /* what happens now is the result */
	PHASE_STOP, /* end */
};

/* What a member has used up to some moment, or between two. */
struct usage {
	uint64_t ctxsw;	 /* context switches, voluntary and not */
	uint64_t cpu_us; /* processor time, user and system, microseconds */
	int64_t ns;	 /* clock */
};

struct crew;

struct member {
	char name[16]; /* "writer" */
	/* The work, in the member; arg is memory that all share. */
	void (*work)(void *arg);
	void *arg;
	int cpu; /* where to run, or -1 */

	/* The rest belongs to strperf_crew.c. */
	struct crew *crew;
	char *error; /* why it could not start; shared memory */
	int report[2];
	bool ready, ended;
	pid_t pid;
	pthread_t thread;
};

struct crew {
	enum mode mode;
	size_t n;
	struct member member[MAX_CREW];
	_Atomic int *order; /* enum phase, in memory that all share */
	/*
	 * Processes only: close what is not the member's, in a new child; and
	 * close what is the members', in the parent when all have started.
	 * Either may be NULL.
	 */
	void (*narrow)(void *context, size_t who);
	void (*detach)(void *context);
	void *context;

	/* What came of it. */
	bool ran;	 /* through all phases in order */
	bool stuck;	 /* a thread could not be ended */
	char error[256]; /* why a member ended early, or "" */
};

/* Zeroed memory that parent and children share; NULL after a line on stderr. */
void *crew_memory(size_t size);

/*
 * Run the members for a warm-up and so many seconds, or, if seconds is below
 * zero, without a warm-up until each has ended by itself.
 */
void crew_run(struct crew *c, double warmup, double seconds);

/* Processor time, context switches and clock of the calling member. */
struct usage crew_usage(enum mode mode);
/* What was used from begin to end. */
struct usage crew_used(const struct usage *begin, const struct usage *end);

#endif
