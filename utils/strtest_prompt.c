/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_prompt.c: a dialogue: each command is carried out when its line, or
 * the block it opens, is complete; then its result and all streams are shown.
 */
#include "strtest_prompt.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strtest_actor.h"
#include "strtest_args.h"
#include "strtest_case.h"
#include "strtest_draw.h"
#include "strtest_forms.h"
#include "strtest_line.h"
#include "strtest_names.h"
#include "strtest_parse.h"
#include "strtest_parser.h"
#include "strtest_signal.h"

static struct run prompt;

/* ---- completion ------------------------------------------------------------------ */

/* The words of one completion, in one string with blanks between. */
static struct pool words_pool;
static const char *words;

static void
add_name(void *arg, const char *name, int fd, enum handle_kind kind)
{
	(void)arg, (void)fd, (void)kind;
	words = pool_printf(&words_pool, "%s %s", words, name);
}

/* What can stand where text begins, after what stands before it. */
static void
collect(const char *before, const char *text)
{
	char verb[32] = "";
	const struct form *form;

	pool_free(&words_pool);
	sscanf(before, "%31s", verb);
	if (*verb == '\0') {
		words = pool_printf(&words_pool, "%s%s quit", parser_structures(),
		    forms_verbs(&words_pool));
		return;
	}
	words = "";
	handles_each(prompt.handles, add_name, NULL);
	form = forms_find(verb);
	if (form != NULL && form->keys != NULL)
		words = pool_printf(
		    &words_pool, "%s%s", words, forms_words(&words_pool, form->keys));
	if (form != NULL && form->pick != NULL)
		words = pool_printf(
		    &words_pool, "%s%s", words, forms_commands(&words_pool));
	if (isupper((unsigned char)*text))
		words = pool_printf(
		    &words_pool, "%s%s", words, names_like(&words_pool, text));
}

static const char *
candidate(const char *before, const char *text, int i)
{
	static char word[64];
	const char *at;
	size_t len;

	if (i == 0)
		collect(before, text);
	for (at = words; *(at += strspn(at, " ")) != '\0'; at += len) {
		len = strcspn(at, " ");
		if (len >= sizeof(word) || strncmp(at, text, strlen(text)) != 0 ||
		    i-- > 0)
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)len, at);
		return word;
	}
	return NULL;
}

/* ---- carrying out ------------------------------------------------------------------- */

static void
carry_out(const struct script *s)
{
	struct frame f = {.quiet = false};

	prompt.script = s;
	fflush(stdout);
	run_guarded(&prompt, &f, s->commands);
	atomic_store(&prompt.shared->failed, 0);
	atomic_store(&prompt.shared->broken, 0);
	draw_all(&prompt);
}

static bool
is_end(const char *line)
{
	line += strspn(line, " \t");
	return strcmp(line, "quit") == 0 || strcmp(line, "exit") == 0;
}

/* Ctrl-C ends a call with EINTR. */
static void
interrupted(int sig)
{
	(void)sig;
}

static void
begin(void)
{
	struct sigaction sa = {.sa_handler = interrupted};

	case_open(&prompt);
	prompt.report = STDOUT_FILENO;
	prompt.draws = false;
	signal_begin();
	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	line_begin(candidate);
}

/* Lines until a block is closed; NULL when the input ends in between. */
static struct script *
read_command(bool *ended)
{
	struct pool pool = {NULL};
	const char *text = "";
	struct script *s = NULL;
	bool more;
	char *line;

	do {
		line = line_read(*text == '\0' ? "strtest> " : "    ...> ");
		more = false;
		*ended = line == NULL || (*text == '\0' && is_end(line));
		if (!*ended) {
			if (line[strspn(line, " \t")] != '\0')
				line_remember(line);
			text = pool_printf(&pool, "%s%s\n", text, line);
			s = parse_text("(prompt)", text, strlen(text), &more);
		}
		free(line);
	} while (more && !*ended);
	pool_free(&pool);
	return s;
}

int
prompt_run(void)
{
	struct script *s;
	bool ended = false;

	options.dialogue = true;
	begin();
	while (!ended) {
		s = read_command(&ended);
		if (s != NULL && s->commands != NULL)
			carry_out(s);
	}
	line_end();
	actor_kill_all();
	case_close(&prompt);
	return EXIT_OK;
}
