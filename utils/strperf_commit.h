/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_commit.h: build a commit of the git repository one stands in.
 *
 * Each commit gets a work tree of its own in a temporary directory, is configured
 * and built there, and is taken away again, with whatever git knows about it, by
 * commit_remove(), which is called on every path.
 */
#ifndef STRPERF_COMMIT_H
#define STRPERF_COMMIT_H

#include <limits.h>
#include <stdbool.h>

struct commit {
	char directory[PATH_MAX]; /* temporary; "" while there is none */
	char tree[PATH_MAX];	  /* the work tree in it */
	char build[PATH_MAX];	  /* the build directory in that */
};

/* Whether a word names a commit here. */
bool commit_is(const char *word);
/*
 * Check out and build it, with options of configure (or NULL).  EXIT_DONE;
 * EXIT_FAILED, after the end of the log on stderr, when it cannot be built;
 * EXIT_INTERRUPTED.
 */
int commit_build(struct commit *c, const char *word, const char *options);
void commit_remove(struct commit *c);

#endif
