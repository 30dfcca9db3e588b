/* SPDX-License-Identifier: BSD-2-Clause */
/* strtool.h: what the administration tools share: naming a stream, complaining. */
#ifndef STRTOOL_H
#define STRTOOL_H

#include <stdbool.h>

enum { TOOL_OK = 0, TOOL_NO = 1, TOOL_USAGE = 2 };

/*
 * Remember the name of the program, for its lines on stderr; keep the numbers 0 to 2
 * from what is opened later; and see to it that the program does not end well when
 * what it printed could not be written (TOOL_USAGE, after a line), nor dies unheard when
 * the file of its instance is cut short (cutshort.h).
 */
void tool_begin(const char *program);
/*
 * Write out what was printed: 0, or -1 after a line, the first time, that says why
 * that failed.  A reader who went, such as head(1), is no failure.
 */
int tool_flush(void);
__attribute__((format(printf, 1, 2))) void tool_complain(const char *fmt, ...);
/* What the library does not come up for, if so: false after a line that says why. */
bool tool_library(void);
/*
 * Open the stream of that name: /dev/streams/..., a driver's short name, a FIFO
 * or an attached path.  -1 after a line that says why it is none.
 */
int tool_open(const char *name);
/*
 * The same for the number of a stream of the instance, as strls(1) lists them; of
 * what is no number, as above.
 */
int tool_open_numbered(const char *name);
/* The option that getopt_long() has just refused: -x, or the whole word of a long one. */
const char *tool_refused(char **argv);
/* "no such module" and the like, for what failed on a stream. */
const char *tool_reason(int error);
/* --help and --version: print and end; other options are left alone. */
void tool_standard_options(int argc, char **argv, const char *usage);

#endif
