/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_line_edit.c: lines edited by libedit; history in a file of the user. */
#include "strtest_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <editline/readline.h>

enum { REMEMBERED = 1000 };

static line_candidate *candidate_of;
static char history_name[4096];

/* One match at a time; state 0 begins anew. */
static char *
next_match(const char *text, int state)
{
	static int next;
	char *before = strndup(rl_line_buffer, (size_t)rl_point - strlen(text));
	const char *found;
	char *match = NULL;

	if (state == 0)
		next = 0;
	if (before == NULL)
		return NULL;
	found = candidate_of(before, text, next++);
	if (found != NULL)
		match = strdup(found);
	free(before);
	return match;
}

static char **
matches(const char *text, int start, int end)
{
	(void)start, (void)end;
	rl_attempted_completion_over = 1; /* no names of files */
	return rl_completion_matches(text, next_match);
}

const char line_abilities[] = "with history and completion";

void
line_begin(line_candidate *candidate)
{
	const char *home = getenv("HOME");

	candidate_of = candidate;
	rl_readline_name = "strtest";
	rl_attempted_completion_function = matches;
	rl_completer_word_break_characters = " \t\n|(,;{}";
	rl_completion_append_character = '\0';
	using_history();
	stifle_history(REMEMBERED);
	if (home != NULL && *home != '\0') {
		snprintf(history_name, sizeof(history_name), "%s/.strtest_history", home);
		read_history(history_name);
	}
}

char *
line_read(const char *prompt)
{
	return readline(prompt);
}

void
line_remember(const char *line)
{
	add_history(line);
}

void
line_end(void)
{
	if (history_name[0] != '\0')
		write_history(history_name);
}
