/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * termlib.h: a program at a terminal of its own: what is typed, and what appears.
 * One at a time.
 */
#ifndef TESTS_TERMLIB_H
#define TESTS_TERMLIB_H

#include <stdbool.h>
#include <sys/types.h>

extern int term_fd;	  /* our side of the terminal */
extern pid_t term_program;
extern char term_screen[1 << 20]; /* what has come since something was typed */

/* Where a tool was built. */
const char *term_tool(const char *name);
/* No: says so, so that the test is skipped. */
bool term_lacks(const char *name);
/* Start argv, whose first word is a tool, at a terminal of type term. */
void term_begin(const char *term, char *const argv[]);
/* Does the text appear, in time? */
bool term_appears(const char *text);
#define SHOWS(text) \
	ck_assert_msg(term_appears(text), "no '%s' in:\n%.3000s", text, term_screen)
/* Type it; what has come before is forgotten. */
void term_type(const char *text);
/*
 * The exit status; a program at a terminal ends only when its output is read.
 * again: what to type every now and then, since a control character that comes
 * before the program has set up the terminal is lost.
 */
int term_ended(const char *again);

#endif
