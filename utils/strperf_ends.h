/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_ends.h: what `strperf write' and `strperf read', two programs that meet at
 * a name, have in common: options, coming together, telling that the other one is
 * gone, interval lines and results.
 *
 * E1  Neither side sleeps longer than ENDS_NAP in one call, so that Ctrl-C, an
 *     interval line or the death of the other side is noticed within that time.
 * E2  Of the other side's death three things tell, each where it can: the stream,
 *     which hangs up or breaks; a descriptor of the process (pidfd), whose number came
 *     in its HELLO; and, where neither is there, --wait seconds without progress.
 * E3  What is on its way counts: death is declared when nothing has come for
 *     ENDS_GRACE after a sign of it.
 */
#ifndef STRPERF_ENDS_H
#define STRPERF_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "strname.h"
#include "strperf_hist.h"
#include "strperf_opts.h"
#include "strperf_report.h"
#include "strperf_wire.h"

#define EXIT_WENT 3 /* the other side went before its end */

#define ENDS_NAP 50	    /* ms */
#define ENDS_GRACE 80000000 /* ns */
#define ENDS_STOPPED 1000000000 /* ns: so long no nap is, but by being stopped */

struct ends_options {
	size_t size;	   /* bytes of a message */
	uint64_t count;	   /* messages to send; 0: by time */
	double wait;	   /* seconds to wait for the other side; 0: for ever */
	long long writers; /* the reader: so many must have come and gone */
	bool attach;	   /* make a pipe and attach it to the name */
};

/* A line for each interval. */
struct ends_pace {
	int64_t began, last;	 /* ns; 0: not yet */
	uint64_t messages, bytes; /* at the last line */
	double *samples;	 /* O: messages a second of each interval */
	size_t n;
};

struct ends {
	const char *command; /* "write" or "read" */
	struct options o;
	struct ends_options own;
	struct named n;
	bool made;	   /* the file of --attach is ours */
	struct ends_pace pace;
	struct report report;
	bool interrupted;
	int64_t patient;   /* when ends_patience() was last asked; 0: never */
	char went[256];	   /* who went and how, or "" */
};

/* Read the command line; *done: only a text was asked for.  EXIT_DONE or EXIT_USAGE. */
int ends_parse(struct ends *e, int argc, char **argv, bool *done);
/*
 * Open the side, waiting for the other one, push modules, and begin the report.
 * EXIT_DONE; EXIT_USAGE, EXIT_WENT (nobody came in time) or EXIT_INTERRUPTED, after a
 * line.
 */
int ends_begin(struct ends *e, int side);
/* Pop the modules, detach and close. */
void ends_part(struct ends *e);

/* Now, and a line if an interval is over. */
int64_t ends_tick(struct ends *e, uint64_t messages, uint64_t bytes);
/*
 * The last message went at that time: the rest of the last interval is a sample too.
 * The seconds since the first message.
 */
double ends_finish(struct ends *e, uint64_t messages, uint64_t bytes, int64_t at);
/* Poll the stream up to ENDS_NAP or until a time; sets interrupted. */
void ends_nap(struct ends *e, int fd, short events, int64_t until);
/*
 * Asked in each turn of a wait that began at *since: moves *since on by what this
 * program did not see of it, as it was stopped itself (Ctrl-Z) and has not waited.
 */
void ends_patience(struct ends *e, int64_t now, int64_t *since);
/* Send a control part: 0, or an errno. */
int ends_say(int fd, const struct wire *m);
/* The FIFO that answers come from, with its minor number, or go to; -1: none. */
int ends_answers(uint32_t *reply);
int ends_answer_to(uint32_t reply);

/* A descriptor of a process, or -1. */
int ends_watch(pid_t pid);
/* Whether that one is gone. */
bool ends_dead(int pidfd);
/* Remember that the other side went. */
void ends_gone(struct ends *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* What errno of a call says about the other side, for ends_gone(). */
const char *ends_reason(int error);

/* ---- results ---------------------------------------------------------------------- */

extern const struct column ends_columns[];
extern const size_t ends_ncolumns;

struct ends_row {
	const char *side, *writer; /* "write", "read"; a process number or "all" */
	struct tally here;
	const struct tally *there; /* what the other side had, or NULL: not known */
	double seconds;
	uint64_t gaps, bad, eagain;
	const struct hist *latency; /* or NULL */
};
void ends_put(struct ends *e, const struct ends_row *row);
/* Print the results; the exit status, given whether the numbers agree. */
int ends_conclude(struct ends *e, bool good);

#endif
