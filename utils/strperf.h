/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf.h: what every file of the measuring program shares: exit statuses,
 * the one way to complain, and the commands.
 */
#ifndef STRPERF_H
#define STRPERF_H

#include <stdbool.h>

/* Exit statuses; a function that says so returns one of them. */
enum {
	EXIT_DONE = 0,		/* everything ran, nothing was lost */
	EXIT_FAILED = 1,	/* messages lost or damaged, or a run failed */
	EXIT_USAGE = 2,		/* bad option, bad value, impossible request */
	EXIT_INTERRUPTED = 130, /* SIGINT, SIGTERM or SIGHUP; results are partial */
};

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))

/* One line on stderr, the program's name before and a newline after it. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The name that stands there: "strperf" unless set. */
void complain_as(const char *name);

/*
 * The status to exit with: EXIT_FAILED for EXIT_DONE if stdout took not all of the
 * results, unless its reader wanted no more.
 */
int results_written(int status);

/* All of strperf: find the command and run it.  The exit status. */
int commands_main(int argc, char **argv);

/* The commands: argv[0] is the command's own name.  Each returns the exit status. */
int cmd_pipe(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_selftest(int argc, char **argv);
/* The same as a program of its own: without operands it reads standard input. */
int cmd_strcompare(int argc, char **argv);
int cmd_rr(int argc, char **argv);
int cmd_mem(int argc, char **argv);
int cmd_open(int argc, char **argv);
int cmd_scale(int argc, char **argv);
int cmd_fifo(int argc, char **argv);
int cmd_write(int argc, char **argv);
int cmd_read(int argc, char **argv);
/* --help, or else --version, on stdout.  EXIT_DONE. */
int cmd_text(bool help);

#endif
