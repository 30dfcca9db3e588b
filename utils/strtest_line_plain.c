/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_line_plain.c: lines as the terminal edits them. */
#include "strtest_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

const char line_abilities[] = "without history, as there was no libedit";

void
line_begin(line_candidate *candidate)
{
	(void)candidate;
}

char *
line_read(const char *prompt)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	fputs(prompt, stdout);
	fflush(stdout);
	n = getline(&line, &room, stdin);
	if (n == -1) {
		free(line);
		return NULL;
	}
	if (n > 0 && line[n - 1] == '\n')
		line[n - 1] = '\0';
	return line;
}

void
line_remember(const char *line)
{
	(void)line;
}

void
line_end(void)
{
}
