/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtop_tap.h: the messages of a stream, as strtap prints them: the program is run
 * with its output in a pipe, and its last lines are kept.
 */
#ifndef STRTOP_TAP_H
#define STRTOP_TAP_H

#include <sys/types.h>

enum { TAP_LINES = 128, TAP_WIDTH = 256 };

struct tap {
	int fd;	   /* from strtap, or -1 */
	pid_t pid; /* of it */
	unsigned int n; /* lines that came, ever */
	size_t len;	/* of the one that is coming */
	char line[TAP_LINES][TAP_WIDTH];
};

/*
 * Begin, with an option of strtap that says where the stream is, and its value;
 * what prevents it becomes a line.
 */
void tap_begin(struct tap *t, const char *option, const char *value, unsigned int id);
void tap_end(struct tap *t);
/* Take what has come; never waits. */
void tap_read(struct tap *t);
/* Lines that can be shown in so many rows, and the n-th from the last, from 1. */
int tap_shown(const struct tap *t, int rows);
const char *tap_line(const struct tap *t, int n);

#endif
