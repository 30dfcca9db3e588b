/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_commands.c: the commands of strperf; finds the one that is wanted.
 *
 * Who does what: strperf_opts reads the options.  strperf_pipe lays out the
 * slices of an experiment and keeps the results; strperf_slice runs one slice;
 * strperf_loop is what its writer and reader do, on messages that
 * strperf_payload stamps and checks, through the operations of a subject
 * (strperf_subject, strperf_ustreams, strperf_none).  strperf_host knows the
 * machine, strperf_intr Ctrl-C.  strperf_stats is the arithmetic, strperf_out
 * and strperf_json show results.  strperf_compare tells what differs,
 * strperf_selftest whether that can be trusted.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf.h"

#include "cutshort.h"
#include "toolinst.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <ustreams.h>

#include "strperf_intr.h"
#include "strperf_opts.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *arguments;
	const char *what;
} commands[] = {
    {"pipe", cmd_pipe, "[options]",
	"throughput of a STREAMS pipe, beside the kernel's transports"},
    {"rr", cmd_rr, "[options]", "requests and responses, until one can be sure"},
    {"mem", cmd_mem, "[options]", "message blocks, beside malloc"},
    {"fifo", cmd_fifo, "[options]",
	"the matrix of a FIFO, beside the kernel's FIFO and sockets"},
    {"write", cmd_write, "[options] NAME",
	"the writer of two programs that meet in an instance"},
    {"read", cmd_read, "[options] NAME", "the reader of them"},
    {"open", cmd_open, "[options]", "opening, pushing, popping and closing streams"},
    {"scale", cmd_scale, "[options]",
	"the cost of a message against modules, sizes, writers, streams"},
    {"compare", cmd_compare, "[A B ...] [options] [-- COMMAND [options]]",
	"whether builds, commits, results or files of numbers differ"},
    {"selftest", cmd_selftest, "[options]", "whether comparisons can be trusted here"},
};

static void
help(void)
{
	puts("usage:");
	for (size_t i = 0; i < NELEM(commands); i++)
		printf("  strperf %s %s\n      %s\n", commands[i].name,
		    commands[i].arguments, commands[i].what);
	puts("options of pipe:");
	opts_help(USE_PIPE);
	puts("options of another command: strperf COMMAND --help");
	puts("options of all:\n"
	     "  --instance NAME\n"
	     "      work in the instance of that name; default $USTREAMS_INSTANCE, or streams of\n"
	     "      its own");
	puts(
	    "exit status: 0 done, 1 messages lost or a run failed, 2 usage, 130 interrupted");
}

int
cmd_text(bool wants_help)
{
	if (wants_help)
		help();
	else
		puts(ustr_version());
	return EXIT_DONE;
}

static int
usage(const char *given)
{
	char names[128] = "";
	size_t len = 0;

	for (size_t i = 0; i < NELEM(commands); i++)
		len += (size_t)snprintf(
		    names + len, sizeof(names) - len, " %s", commands[i].name);
	if (given == NULL)
		complain("which command? legal:%s; or --help", names);
	else
		complain("%s: no such command; legal:%s; or --help", given, names);
	return EXIT_USAGE;
}

/* Of rr, -I is another option; of two programs, it is how they meet. */
static unsigned int
instance_option(int argc, char **argv)
{
	bool two = argc > 1 &&
	    (strcmp(argv[1], "write") == 0 || strcmp(argv[1], "read") == 0);

	return two ? TOOLINST_MAKE : TOOLINST_LONG;
}

int
commands_main(int argc, char **argv)
{
	const char *name, *fault;

	if (!toolinst_begin(
		program_invocation_short_name, &argc, argv, instance_option(argc, argv)))
		return EXIT_USAGE;
	cutshort_begin(program_invocation_short_name, EXIT_FAILED);
	name = argc < 2 ? NULL : argv[1];
	if (name == NULL)
		return usage(name);
	if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0)
		return cmd_text(true);
	if (strcmp(name, "--version") == 0)
		return cmd_text(false);
	fault = ustr_tunefault();
	if (fault == NULL)
		fault = ustr_instancefault();
	if (fault != NULL) {
		complain("%s", fault);
		return EXIT_USAGE;
	}
	intr_init();
	for (size_t i = 0; i < NELEM(commands); i++)
		if (strcmp(name, commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	return usage(name);
}
