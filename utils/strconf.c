/* SPDX-License-Identifier: BSD-2-Clause */
/* strconf.c: print what is on a stream. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <ustreams.h>

#include "modlist.h"
#include "strtool.h"
#include "toolinst.h"

static const char usage[] =
    "usage: strconf [-I NAME] [-c | -t | -m MODULE] STREAM\n"
    "  print the modules of a stream, the topmost first, and its driver\n"
    "  -c         print how many modules there are\n"
    "  -t         print the topmost module only\n"
    "  -m MODULE  print yes or no, and end with 0 or 1: is that module on the stream?\n"
    "  STREAM     a device such as echo or /dev/streams/echo/0, a FIFO, an attached path\n"
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

static int
complain_usage(const char *what)
{
	tool_complain("%s; legal: strconf [-c | -t | -m MODULE] STREAM", what);
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

int
main(int argc, char **argv)
{
	int (*print)(const struct modlist *, const char *) = print_all;
	const char *module = NULL;
	int got;

	tool_begin("strconf");
	tool_standard_options(argc, argv, usage);
	if (!toolinst_begin("strconf", &argc, argv, TOOLINST_EXISTING))
		return TOOL_USAGE;
	opterr = 0;
	while ((got = getopt(argc, argv, ":ctm:")) != -1) {
		if (got == '?' || got == ':')
			return complain_usage(got == ':' ? "-m needs the name of a module"
							 : "no such option");
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
	return show(argv[optind], print, module);
}
