/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_turns.h: run builds in turn, so that a machine that drifts treats all
 * alike.
 *
 *	round 0  A B C     round 1  B C A     round 2  C A B
 *
 * Each run is a process of its own, `strperf COMMAND --json`; the median of each
 * of its results is one sample.  `pipe` runs one size and one slice at a time, so
 * that what is compared lies next to each other.
 */
#ifndef STRPERF_TURNS_H
#define STRPERF_TURNS_H

#include <stddef.h>

#include "strperf_book.h"
#include "strperf_build.h"
#include "strperf_opts.h"

#define TURNS_WORDS 64 /* of a command with its options */

struct turns {
	struct build *builds;
	size_t nbuilds;
	char *words[TURNS_WORDS]; /* "pipe" or another command, and its options */
	size_t nwords;
	size_t sizes[MAX_SIZES]; /* one run each; none: one run of the command as it is */
	size_t nsizes;
	size_t rounds;
	double seconds; /* of a slice of pipe */
	size_t done;	/* rounds complete, for every size */
};

/*
 * Run them all and put the samples into the book.  EXIT_DONE, or another status
 * after one line, or EXIT_INTERRUPTED; what was measured until then is there.
 */
int turns_run(struct turns *t, struct book *book);

#endif
