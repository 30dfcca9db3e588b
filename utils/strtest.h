/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest.h: what every part of strtest knows: places in scripts, exit statuses, options. */
#ifndef STRTEST_H
#define STRTEST_H

#include <stdbool.h>
#include <stddef.h>

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_BROKEN = 2 };

/* Where in a script something stands. */
struct place {
	const char *file;
	int line, col; /* from 1 */
};

struct options {
	double timeout;	  /* seconds a case may take */
	double slow;	  /* factor for all time limits */
	const char *only; /* run cases whose sentence contains this, or NULL: all */
	int jobs;	  /* cases at a time */
	bool verbose;	  /* show each command */
	bool dialogue;	  /* commands are typed: show what comes of them */
	bool in_process;  /* do not fork for a case */
};

extern struct options options;

/* One line to stderr that begins with "strtest: ". */
__attribute__((format(printf, 1, 2))) void complain(const char *fmt, ...);

#endif
