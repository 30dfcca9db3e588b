/* SPDX-License-Identifier: BSD-2-Clause */
/* strconf.c: print what is on a stream. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <ustreams.h>

#include "lookopt.h"
#include "modlist.h"
#include "strtool.h"
#include "toolinst.h"

static const char usage[] =
    "usage: strconf [-I NAME] [-c | -t | -m MODULE] STREAM\n"
    "       strconf [-I NAME | -p PID | -f FILE] [-c | -t | -m MODULE] NUMBER\n"
    "  print the modules of a stream, the topmost first, and its driver\n"
    "  -c         print how many modules there are\n"
    "  -t         print the topmost module only\n"
    "  -m MODULE  print yes or no, and end with 0 or 1: is that module on the stream?\n"
    "  STREAM     a device such as echo or /dev/streams/echo/0, a FIFO, an attached path\n"
    "  NUMBER     a stream of a running program, as strls lists them\n"
    "  -p PID     of that process; -f FILE: in a file; neither joins in\n"
    TOOLINST_HELP
    "exit status: 0 done, 1 no, 2 usage or no such stream";

static int
print_all(const struct modlist *l, const char *module)
{
	(void)module;
	for (int i = 0; i < l->n; i++)
		puts(l->names[i]);
	return TOOL_OK;
}

static int
print_count(const struct modlist *l, const char *module)
{
	(void)module;
	printf("%d\n", modlist_modules(l));
	return TOOL_OK;
}

static int
print_top(const struct modlist *l, const char *module)
{
	(void)module;
	if (modlist_modules(l) == 0)
		return TOOL_NO;
	puts(l->names[0]);
	return TOOL_OK;
}

static int
print_whether(const struct modlist *l, const char *module)
{
	bool there = modlist_find(l, module) != -1;

	puts(there ? "yes" : "no");
	return there ? TOOL_OK : TOOL_NO;
}

static const struct {
	int option;
	int (*print)(const struct modlist *l, const char *module);
} ways[] = {{'c', print_count}, {'t', print_top}, {'m', print_whether}};

static const char legal[] =
    "legal: strconf [-I NAME | -p PID | -f FILE] [-c | -t | -m MODULE] STREAM";

static int
complain_usage(const char *what)
{
	tool_complain("%s; %s", what, legal);
	return TOOL_USAGE;
}

static int
show(const char *name, int (*print)(const struct modlist *, const char *),
    const char *module)
{
	struct modlist l;
	int fd = tool_open(name), error, status = TOOL_USAGE;

	if (fd == -1)
		return TOOL_USAGE;
	error = modlist_read(fd, &l);
	if (error == 0)
		status = print(&l, module);
	else
		tool_complain("%s: %s", name, strerror(error));
	str_close(fd);
	return status;
}

/* A stream of a running program, by number. */
static int
show_other(const struct lookopt *o, const char *number,
    int (*print)(const struct modlist *, const char *), const char *module)
{
	struct ustr_look *lk = lookopt_open(o);
	struct ustr_view *v = lk != NULL ? lookopt_view(lk) : NULL;
	long id = lookopt_number(number, UINT_MAX);
	const struct ustr_view_stream *vs =
	    v != NULL && id != -1 ? ustr_view_stream(v, (unsigned int)id) : NULL;
	int error, status = TOOL_USAGE;
	struct modlist l;

	if (v != NULL && vs == NULL)
		tool_complain("%s: no stream %s", ustr_look_name(lk), number);
	if (vs != NULL) {
		error = modlist_view(vs, &l);
		if (error == 0)
			status = print(&l, module);
		else
			tool_complain("%s: stream %s: %s", ustr_look_name(lk), number,
			    error == EAGAIN ? "it is being changed; try again"
					    : strerror(error));
	}
	ustr_view_free(v);
	ustr_look_close(lk);
	return status;
}

static bool
is_number(const char *word)
{
	return *word != '\0' && word[strspn(word, "0123456789")] == '\0';
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {LOOKOPT_LONG, {NULL, 0, NULL, 0}};
	int (*print)(const struct modlist *, const char *) = print_all;
	bool by_number = argc > 1 && is_number(argv[argc - 1]), bad = false;
	const char *module = NULL;
	struct lookopt o = {0};
	int got;

	tool_begin("strconf");
	tool_standard_options(argc, argv, usage);
	/* Who only looks does not join. */
	if (!by_number && !toolinst_begin("strconf", &argc, argv, TOOLINST_EXISTING))
		return TOOL_USAGE;
	opterr = 0;
	while ((got = getopt_long(argc, argv, ":ctm:" LOOKOPT_SHORT, options, NULL)) != -1) {
		if (got == '?' || got == ':') {
			tool_complain("%s: %s; %s", tool_refused(argv),
			    got == '?' ? "no such option" : "its value is missing", legal);
			return TOOL_USAGE;
		}
		if (lookopt_take(&o, got, optarg, &bad)) {
			if (bad)
				return TOOL_USAGE;
			continue;
		}
		if (print != print_all)
			return complain_usage("one of -c, -t and -m at most");
		for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
			if (ways[i].option == got)
				print = ways[i].print;
		module = optarg;
	}
	if (optind != argc - 1)
		return complain_usage(
		    optind == argc ? "which stream?" : "one stream at a time");
	if (by_number)
		return show_other(&o, argv[optind], print, module);
	if (o.given > 0)
		return complain_usage("-p and -f want the number of a stream");
	return show(argv[optind], print, module);
}
