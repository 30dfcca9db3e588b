/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lookopt.h: what the tools that look share: which arena, and opening it.
 *
 * -I NAME, --instance NAME; -p PID, --process PID; -f FILE, --file FILE; else
 * $USTREAMS_INSTANCE.
 */
#ifndef LOOKOPT_H
#define LOOKOPT_H

#include <getopt.h>
#include <stdbool.h>

#include <ustreams_look.h>

struct lookopt {
	const char *instance;
	const char *file;
	pid_t pid;
	int given; /* how many of the three */
};

/* For getopt_long: append a tool's own short and long options. */
#define LOOKOPT_SHORT "I:p:f:"
#define LOOKOPT_LONG                                                                     \
	{"instance", required_argument, NULL, 'I'},                                      \
	    {"process", required_argument, NULL, 'p'}, {"file", required_argument, NULL, 'f'}
#define LOOKOPT_USAGE                                                                    \
	"  -I NAME  look at the instance of that name; default $USTREAMS_INSTANCE\n"     \
	"  -p PID   look at the streams of a process, named instance or not\n"           \
	"  -f FILE  look at an instance's file, or at a copy of one\n"

/*
 * Take one of the shared options: true; false: it is the tool's own.  *bad is set
 * after a line about an operand that is no process.
 */
bool lookopt_take(struct lookopt *o, int option, const char *operand, bool *bad);
/* Nothing was said, and there is no $USTREAMS_INSTANCE. */
bool lookopt_none(const struct lookopt *o);
/* The look, or NULL after one line that says why not; a warning is a line, too. */
struct ustr_look *lookopt_open(const struct lookopt *o);
/* What it means, in words, that looking failed with that errno. */
const char *lookopt_reason(int error);
/* A view of it, or NULL after a line. */
struct ustr_view *lookopt_view(struct ustr_look *lk);
/* A number from 1 to most, or -1. */
long lookopt_number(const char *text, long most);

#endif
