/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_child.h: run another program and keep what it wrote.
 */
#ifndef STRPERF_CHILD_H
#define STRPERF_CHILD_H

#include <stddef.h>

#define CHILD_TEXT (1 << 20) /* bytes of a program's output; one that writes more fails */

struct child_output {
	char text[CHILD_TEXT]; /* stdout, ends with a NUL */
	char complaint[512];   /* last line of stderr, without "strperf: " */
	int status;	       /* exit status; 128 + number of the signal it died of */
};

/*
 * Run argv[0] with argv and wait for its end, at most so many seconds; then it
 * is killed, with all that it has started.  Ctrl-C is handed on.  0, or an errno when it could not be started.
 */
int child_run(char *const argv[], double seconds, struct child_output *out);

#endif
