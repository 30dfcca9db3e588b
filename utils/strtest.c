/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest.c: the test driver of ustreams; this file reads the command line.
 *
 * From a script to a line of TAP: strtest_lex makes tokens of it, strtest_parse
 * (with strtest_parsectl and strtest_parseval) commands.  strtest_run carries
 * them out, strtest_case each case in a process of its own and strtest_actor
 * its threads and children.  A verb is a row in the table at the end of the
 * file with its kin (strtest_stream, _message, _ioctl, _poll, _signal, _actor,
 * _output), which strtest_forms puts together; it reads its arguments through
 * strtest_args and leaves an outcome, which strtest_expect compares with what
 * the script says.
 */
#include "strtest.h"

#include <errno.h>
#include <fts.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ustreams.h>

#include "oneline.h"
#include "strtest_forms.h"
#include "strtest_job.h"
#include "strtest_line.h"
#include "strtest_parse.h"
#include "strtest_parser.h"
#include "strtest_prompt.h"
#include "strtest_run.h"
#include "toolinst.h"

struct options options = {.timeout = 10, .slow = 1, .jobs = 1};

void
complain(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	oneline("strtest", fmt, ap);
	va_end(ap);
}

/* ---- scripts ------------------------------------------------------------------------ */

struct scripts {
	struct script *first, **end;
	bool broken;
};

static void
add_file(struct scripts *s, const char *file)
{
	struct script *one = parse_file(file);

	s->broken |= one == NULL;
	if (one == NULL)
		return;
	*s->end = one;
	s->end = &one->next;
}

static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void
add_directory(struct scripts *s, char *directory)
{
	char *const paths[] = {directory, NULL};
	FTS *tree = fts_open(paths, FTS_NOCHDIR | FTS_LOGICAL, by_name);
	const char *dot;
	FTSENT *e;
	bool any = false;

	while (tree != NULL && (e = fts_read(tree)) != NULL) {
		dot = strrchr(e->fts_name, '.');
		if (e->fts_info != FTS_F || dot == NULL || strcmp(dot, ".st") != 0)
			continue;
		add_file(s, pool_copy(&pool_forever, e->fts_path, strlen(e->fts_path)));
		any = true;
	}
	if (tree != NULL)
		fts_close(tree);
	if (!any) {
		complain("%s: no script in this directory; legal: names that end in .st",
		    directory);
		s->broken = true;
	}
}

static void
add(struct scripts *s, char *name)
{
	struct stat st;

	if (strcmp(name, "-") != 0 && stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		add_directory(s, name);
	else
		add_file(s, name);
}

static void
run_script(const struct script *s)
{
	struct run r = {.script = s};
	struct frame f = {.quiet = false};

	job_note(s->file);
	r.report = STDOUT_FILENO;
	if (s->has_cases)
		job_mark_broken(run_guarded(&r, &f, s->commands) == STOP_BROKEN);
	else
		job_whole(&r, s);
	run_forget(&r, NULL);
}

/* ---- the command line ------------------------------------------------------------------ */

enum { OPT_TIMEOUT = 256, OPT_SLOW, OPT_ONLY, OPT_IN_PROCESS, OPT_HELP, OPT_VERSION };

static const struct option longs[] = {{"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"slow", required_argument, NULL, OPT_SLOW},
    {"only", required_argument, NULL, OPT_ONLY},
    {"in-process", no_argument, NULL, OPT_IN_PROCESS},
    {"help", no_argument, NULL, OPT_HELP}, {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0}};

static void
help(void)
{
	struct pool p = {NULL};

	puts(
	    "usage: strtest [-v] [-j N] [--timeout SECONDS] [--slow FACTOR] [--only TEXT]\n"
	    "               [-I NAME] [--in-process] SCRIPT|DIRECTORY ...\n"
	    "       strtest --help | --version\n"
	    "  -v                 show each command\n"
	    "  --timeout SECONDS  how long a case may take; default 10\n"
	    "  --slow FACTOR      multiply all time limits\n"
	    "  --only TEXT        run only cases whose sentences contain TEXT\n"
	    "  --in-process       do not fork for a case\n"
	    "  -I NAME            all cases work in the instance of that name (--instance);\n"
	    "                     default $USTREAMS_INSTANCE, or one of each case's own\n"
	    "exit status: 0 all cases ok, 1 a case failed, 2 a mistake in a script or option\n"
	    "structure:");
	printf(" %s\nprompt: %s\nverbs:\n", parser_structures(), line_abilities);
	for (size_t i = 0; forms_verb(i) != NULL; i++)
		printf("  %s\n", forms_usage(&p, forms_verb(i), NULL));
	printf("commands of ioctl:\n");
	for (size_t i = 0; i < forms_ioctl.n; i++)
		printf("  %s\n",
		    forms_usage(&p, forms_find("ioctl"), &forms_ioctl.forms[i]));
	pool_free(&p);
}

static bool
read_positive(const char *name, const char *text, double *to)
{
	char *end;

	*to = strtod(text, &end);
	if (end != text && *end == '\0' && isfinite(*to) && *to > 0 && *to <= 1e6)
		return true;
	complain(
	    "%s: '%s' is not legal; legal: a number above 0, up to 1000000", name, text);
	return false;
}

static bool
read_jobs(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	options.jobs = (int)n;
	if (end != text && *end == '\0' && n >= 1 && n <= MAX_JOBS)
		return true;
	complain("-j: '%s' is not legal; legal: 1 to %d", text, MAX_JOBS);
	return false;
}

static int
bad_option(int got, char **argv)
{
	if (got == ':')
		complain(
		    "%s: the value is missing; --help lists options", argv[optind - 1]);
	else
		complain(
		    "%s: no such option; legal: -i -I -j -v --timeout --slow --only --in-process "
		    "--help --version",
		    argv[optind - 1]);
	return EXIT_BROKEN;
}

/* -1: go on; else the exit status. */
static int
read_option(int got, char **argv)
{
	switch (got) {
	case 'j':
		return read_jobs(optarg) ? -1 : EXIT_BROKEN;
	case 'v':
		options.verbose = true;
		return -1;
	case 'i':
		return prompt_run();
	case OPT_TIMEOUT:
		return read_positive("--timeout", optarg, &options.timeout) ? -1
									    : EXIT_BROKEN;
	case OPT_SLOW:
		return read_positive("--slow", optarg, &options.slow) ? -1 : EXIT_BROKEN;
	case OPT_ONLY:
		options.only = optarg;
		return -1;
	case OPT_IN_PROCESS:
		options.in_process = true;
		return -1;
	case OPT_HELP:
		help();
		return EXIT_OK;
	case OPT_VERSION:
		puts(ustr_version());
		return EXIT_OK;
	default:
		return bad_option(got, argv);
	}
}

/*
 * Whether the library comes up at all; false after a line that says why not.
 * strtest itself makes no call of it, so a child tries.
 */
static bool
library_fit(void)
{
	const char *fault;
	int status = 0;
	pid_t pid;

	if (getenv("USTREAMS_ARENA") == NULL && getenv("USTREAMS_TUNE") == NULL &&
	    getenv("USTREAMS_INSTANCE") == NULL)
		return true;
	pid = fork();
	if (pid == 0) {
		fault = ustr_tunefault();
		if (fault == NULL)
			fault = ustr_instancefault();
		if (fault != NULL)
			complain("%s", fault);
		_exit(fault != NULL);
	}
	return pid == -1 || waitpid(pid, &status, 0) == -1 || status == 0;
}

int
main(int argc, char **argv)
{
	struct scripts s = {.end = &s.first};
	const char *slow = getenv("STRTEST_SLOW");
	int got, status = -1;

	if (slow != NULL && *slow != '\0' &&
	    !read_positive("STRTEST_SLOW", slow, &options.slow))
		return EXIT_BROKEN;
	if (!toolinst_begin("strtest", &argc, argv, TOOLINST_LATER))
		return EXIT_BROKEN;
	opterr = 0;
	while (
	    status == -1 && (got = getopt_long(argc, argv, ":ivj:", longs, NULL)) != -1)
		status = read_option(got, argv);
	if (status != -1)
		return status;
	if (optind == argc) {
		complain(
		    "which script? legal: names of scripts and directories, -; or --help");
		return EXIT_BROKEN;
	}
	for (int i = optind; i < argc; i++)
		add(&s, argv[i]);
	if (s.broken || !library_fit())
		return EXIT_BROKEN;
	for (const struct script *one = s.first; one != NULL; one = one->next)
		run_script(one);
	return job_plan();
}
