/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_commit.c: build a commit of the git repository one stands in.
 *
 * What is done stands in two shell scripts, whose parameters are words of their
 * own: nothing a name may contain is ever read as shell text.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_commit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/string.h>

#include "strperf.h"
#include "strperf_child.h"
#include "strperf_intr.h"

#define BUILD_SECONDS 3600
#define GIT_SECONDS 60

/* tree, commit, options of configure; the log goes to stdout. */
static char build_script[] = "exec 2>&1; set -e\n"
			     "git worktree add --detach --force \"$1\" \"$2\"\n"
			     "cd \"$1\"\n"
			     "./autogen.sh\n"
			     "mkdir -p build/compare; cd build/compare\n"
			     "eval \"../../configure $3\"\n"
			     "make -j\"$(nproc)\" utils/strperf || make -j\"$(nproc)\"\n";

/* directory, tree. */
static char remove_script[] = "git worktree remove --force \"$2\" 2>/dev/null\n"
			      "rm -rf \"$1\"\n"
			      "git worktree prune 2>/dev/null\n"
			      ":\n";

static int
shell(char *script, const char *const *words, double seconds, struct child_output *out)
{
	char sh[] = "/bin/sh", option[] = "-c", name[] = "compare";
	char text[3][PATH_MAX],
	    *argv[] = {sh, option, script, name, text[0], text[1], text[2], NULL};

	for (size_t i = 0; i < NELEM(text); i++)
		strlcpy(text[i], words[i] == NULL ? "" : words[i], sizeof(text[i]));
	return child_run(argv, seconds, out);
}

bool
commit_is(const char *word)
{
	static struct child_output out;
	static char script[] =
	    "git rev-parse --verify --quiet --end-of-options \"$1^{commit}\"\n";
	const char *words[] = {word, NULL, NULL};

	return *word != '-' && shell(script, words, GIT_SECONDS, &out) == 0 &&
	    out.status == 0;
}

/* The last lines of a text that is too long to be shown. */
static const char *
tail_of(const char *text, int lines)
{
	const char *p = text + strlen(text);

	while (p > text && lines >= 0)
		lines -= *--p == '\n';
	return p == text ? p : p + 1;
}

static int
make_directory(struct commit *c)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(c->directory, sizeof(c->directory), "%s/strperf.XXXXXX",
	    tmp == NULL || *tmp == '\0' ? "/tmp" : tmp);
	if (mkdtemp(c->directory) == NULL) {
		complain("compare: %s: %s", c->directory, strerror(errno));
		c->directory[0] = '\0';
		return EXIT_FAILED;
	}
	strlcpy(c->tree, c->directory, sizeof(c->tree));
	strlcat(c->tree, "/tree", sizeof(c->tree));
	strlcpy(c->build, c->tree, sizeof(c->build));
	strlcat(c->build, "/build/compare", sizeof(c->build));
	return EXIT_DONE;
}

int
commit_build(struct commit *c, const char *word, const char *options)
{
	static struct child_output out;
	const char *words[] = {c->tree, word, options};
	int status, error;

	*c = (struct commit){.directory = ""};
	status = make_directory(c);
	if (status != EXIT_DONE)
		return status;
	complain("compare: building %s in %s", word, c->tree);
	error = shell(build_script, words, BUILD_SECONDS, &out);
	if (intr_pending())
		return EXIT_INTERRUPTED;
	if (error == 0 && out.status == 0)
		return EXIT_DONE;
	fputs(tail_of(out.text, 20), stderr);
	complain("compare: %s cannot be built (status %d)", word, out.status);
	return EXIT_FAILED;
}

void
commit_remove(struct commit *c)
{
	char sh[] = "/bin/sh", option[] = "-c", name[] = "compare";
	char *argv[] = {sh, option, remove_script, name, c->directory, c->tree, NULL};
	pid_t pid;

	if (c->directory[0] == '\0')
		return;
	pid = fork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		continue;
	c->directory[0] = '\0';
}
