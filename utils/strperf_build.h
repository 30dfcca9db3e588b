/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_build.h: a build that is compared: a strperf program and its library.
 */
#ifndef STRPERF_BUILD_H
#define STRPERF_BUILD_H

#include <limits.h>
#include <stdbool.h>

#define BUILD_PATIENCE 60 /* seconds a program may take beyond what it measures */

struct build {
	const char *given;	     /* C: how it was named */
	char path[PATH_MAX];	     /* the program */
	char preload[PATH_MAX + 12]; /* "LD_PRELOAD=" and a library, or "" */
	char version[256];	     /* its version line */
	char *extra[2];		     /* words for its runs alone, or NULL */
};

/* Whether a path leads to a build: a directory, or a program. */
bool build_is(const char *path);
/*
 * The program at a path, in a build directory or in an installation, and its
 * version.  EXIT_DONE; EXIT_USAGE after a line; EXIT_INTERRUPTED.
 */
int build_find(struct build *b, const char *given);
/*
 * This very program with its own library, or with the one without caches that is
 * beside it or installed.  As build_find().
 */
int build_own(struct build *b, bool caches);
#define BUILD_WORDS 3
/* The words that begin a command line of it, BUILD_WORDS at most.  How many. */
int build_words(struct build *b, char **argv);

#endif
