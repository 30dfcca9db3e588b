/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_build.c: a build that is compared.
 *
 * A library is exchanged by preloading another of the same name (SONAME), which
 * then satisfies the program's need for it wherever the program would look.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/string.h>

#include "strperf.h"
#include "strperf_child.h"
#include "strperf_intr.h"

/* Where the library without caches is: installed, and beside this program when built. */
static const char *const plain_libraries[] = {
#ifdef STRPERF_NO_CACHE_LIB
    STRPERF_NO_CACHE_LIB,
#endif
    "../no-cache/.libs/libustreams.so.0",
    "../../no-cache/.libs/libustreams.so.0",
};

static char env_program[] = "/usr/bin/env";

static bool
runnable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool
build_is(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (S_ISDIR(st.st_mode) || runnable(path));
}

int
build_words(struct build *b, char **argv)
{
	int n = 0;

	if (b->preload[0] != '\0') {
		argv[n++] = env_program;
		argv[n++] = b->preload;
	}
	argv[n++] = b->path;
	return n;
}

static int
ask_version(struct build *b)
{
	static struct child_output out;
	char option[] = "--version", *argv[BUILD_WORDS + 2] = {NULL};
	int n = build_words(b, argv), error;

	argv[n] = option;
	error = child_run(argv, BUILD_PATIENCE, &out);
	if (intr_pending())
		return EXIT_INTERRUPTED;
	if (error == 0 && out.status == 0 && strncmp(out.text, "ustreams ", 9) == 0) {
		strlcpy(b->version, out.text, sizeof(b->version));
		b->version[strcspn(b->version, "\n")] = '\0';
		return EXIT_DONE;
	}
	complain("compare: %s: %s", b->path,
	    error != 0		   ? strerror(error)
		: out.complaint[0] ? out.complaint
				   : "not strperf");
	return EXIT_USAGE;
}

int
build_find(struct build *b, const char *given)
{
	static const char *const places[] = {"", "/utils/strperf", "/bin/strperf"};
	char path[PATH_MAX];

	*b = (struct build){.given = given};
	for (size_t i = 0; i < NELEM(places); i++) {
		snprintf(path, sizeof(path), "%s%s", given, places[i]);
		if (runnable(path) && realpath(path, b->path) != NULL)
			return ask_version(b);
	}
	complain("compare: %s: neither a strperf program nor a build directory with "
		 "utils/strperf in it",
	    given);
	return EXIT_USAGE;
}

/* ---- this very program ------------------------------------------------------------ */

/* strperf itself, also when strcompare asks, which lies beside it. */
static int
find_self(struct build *b, char *directory)
{
	ssize_t n = readlink("/proc/self/exe", directory, PATH_MAX - 1);

	directory[n > 0 ? n : 0] = '\0';
	if (n > 0 && strrchr(directory, '/') != NULL)
		*strrchr(directory, '/') = '\0';
	if (strlen(directory) + sizeof("/strperf") <= sizeof(b->path)) {
		strlcpy(b->path, directory, sizeof(b->path));
		strlcat(b->path, "/strperf", sizeof(b->path));
	}
	if (runnable(b->path))
		return EXIT_DONE;
	complain("compare: strperf itself was not found (%s)", b->path);
	return EXIT_USAGE;
}

static int
find_plain_library(struct build *b, const char *directory)
{
	char path[2 * PATH_MAX], real[PATH_MAX];

	for (size_t i = 0; i < NELEM(plain_libraries); i++) {
		bool beside = plain_libraries[i][0] != '/';

		snprintf(path, sizeof(path), "%s%s%s", beside ? directory : "",
		    beside ? "/" : "", plain_libraries[i]);
		if (realpath(path, real) == NULL)
			continue;
		snprintf(b->preload, sizeof(b->preload), "LD_PRELOAD=%s", real);
		return EXIT_DONE;
	}
	complain("compare: without builds, the library without caches is compared with "
		 "the default one, but it is not here (it is installed with strperf); "
		 "name two builds");
	return EXIT_USAGE;
}

int
build_own(struct build *b, bool caches)
{
	char directory[PATH_MAX];
	int status;

	*b = (struct build){.given = caches ? "default" : "no-cache"};
	status = find_self(b, directory);
	if (status == EXIT_DONE && !caches)
		status = find_plain_library(b, directory);
	return status == EXIT_DONE ? ask_version(b) : status;
}
