/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * oneline.h: a complaint is one line, whatever the words it quotes are made of: a
 * newline or an escape sequence in a name does not reach the terminal.
 */
#ifndef ONELINE_H
#define ONELINE_H

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 0))) static inline void
oneline(const char *program, const char *fmt, va_list ap)
{
	char line[4096];

	vsnprintf(line, sizeof(line), fmt, ap);
	for (char *c = line; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	fprintf(stderr, "%s: %s\n", program, line);
}

#endif
