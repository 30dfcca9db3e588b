/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_line.h: a line from the terminal: with editing, history and
 * completion where libedit is there (strtest_line_edit.c), without where it is
 * not (strtest_line_plain.c).
 */
#ifndef STRTEST_LINE_H
#define STRTEST_LINE_H

/*
 * What may follow: the candidates for the word that begins with text, where
 * line is all that stands before it; the i-th or NULL.  The string must live
 * until the next call.
 */
typedef const char *line_candidate(const char *line, const char *text, int i);

/* What the prompt can do, in words. */
extern const char line_abilities[];

void line_begin(line_candidate *candidate);
/* A line without its newline, malloc'ed; NULL at the end. */
char *line_read(const char *prompt);
/* Remember a line. */
void line_remember(const char *line);
void line_end(void);

#endif
