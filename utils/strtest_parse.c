/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_parse.c: commands, their arguments and what is expected of them. */
#include "strtest_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strtest_expr.h"
#include "strtest_forms.h"
#include "strtest_parser.h"
#include "strtest_run.h"

/* ---- arguments ------------------------------------------------------------------ */

static void
check_value(struct parser *p, const struct expr *e)
{
	struct place at;
	const char *wrong = expr_check(&pool_forever, e, &at);

	if (wrong != NULL)
		parser_fail(p, at, "%s", wrong);
}

static bool
is_plain_name(const struct expr *e, const char *name)
{
	return e->kind == EXPR_NAME && (name == NULL || strcmp(e->text, name) == 0);
}

/* Is e what the letter says? */
static void
check_letter(struct parser *p, int letter, const struct expr *e)
{
	switch (letter) {
	case 'N':
	case 'A':
		if (!is_plain_name(e, NULL))
			parser_fail(p, e->at, "a name must stand here");
		break;
	case 'H':
	case 'W':
	case 'E':
		if (e->kind != EXPR_NAME)
			check_value(p, e);
		break;
	case 'X':
		if (!is_plain_name(e, "any") && !is_plain_name(e, "none"))
			check_value(p, e);
		break;
	default:
		check_value(p, e);
	}
}

static void
add_argument(struct parser *p, struct command *c, struct expr *e)
{
	struct expr **end = &c->args;
	int letter = c->sub != NULL && c->nargs >= 2
	    ? forms_letter(c->sub->args, c->nargs - 2)
	    : forms_letter(c->form->args, c->nargs);

	if (letter == 0)
		parser_fail(p, e->at, "one argument too many; legal: %s",
		    forms_usage(&pool_forever, c->form, c->sub));
	check_letter(p, letter, e);
	while (*end != NULL)
		end = &(*end)->next;
	*end = e;
	c->nargs++;
}

/* The second argument of ioctl says what else there may be. */
static void
refine(struct parser *p, struct command *c, const struct expr *e)
{
	const char *best = NULL;

	if (c->form->pick == NULL || c->nargs != 2)
		return;
	c->sub = c->form->pick(e->kind == EXPR_NAME ? e->text : "");
	if (c->sub != NULL)
		return;
	for (size_t i = 0; i < forms_ioctl.n; i++)
		best = names_nearer(e->text, forms_ioctl.forms[i].name, best);
	parser_fail(p, e->at, "no such command of ioctl: '%s'%s; legal:%s", e->text,
	    parser_hint(best), forms_commands(&pool_forever));
}

static void
add_key(struct parser *p, struct command *c, const struct token *t, bool flag)
{
	const char *keys = c->sub != NULL ? c->sub->keys : c->form->keys;
	struct pair *pair = pool_zalloc(&pool_forever, sizeof(*pair)), **end = &c->keys;
	int letter;

	pair->key = parser_name(t);
	pair->at = t->at;
	letter = forms_key(keys, pair->key);
	if (letter == 0 || (letter == '!') != flag)
		parser_fail(p, t->at, "%s does not take '%s='; legal:%s", c->form->name,
		    pair->key, forms_words(&pool_forever, keys));
	if (!flag) {
		pair->value = parser_value(p);
		check_letter(p, letter, pair->value);
	}
	while (*end != NULL)
		end = &(*end)->next;
	*end = pair;
}

static bool
is_flag(const struct command *c, const struct token *t)
{
	const char *keys = c->sub != NULL ? c->sub->keys : c->form->keys;

	return t->kind == TOK_NAME && forms_key(keys, parser_name(t)) == '!';
}

static void
parse_arguments(struct parser *p, struct command *c)
{
	while (!parser_at_end(p) && p->tok.kind != TOK_ARROW && !parser_at_timing(p)) {
		struct token t = p->tok;

		if (t.kind == TOK_NAME && parser_key_follows(p)) {
			parser_next(p);
			parser_next(p);
			add_key(p, c, &t, false);
		} else if (is_flag(c, &t)) {
			parser_next(p);
			add_key(p, c, &t, true);
		} else {
			struct expr *e = parser_value(p);

			add_argument(p, c, e);
			refine(p, c, e);
		}
	}
	if (c->nargs <
	    forms_least(c->form->args) + (c->sub ? forms_least(c->sub->args) : 0))
		parser_fail(p, p->tok.at, "%s needs more arguments; legal: %s",
		    c->form->name, forms_usage(&pool_forever, c->form, c->sub));
}

/* ---- what is expected ------------------------------------------------------------- */

static struct wanted *
parse_wanted(struct parser *p)
{
	struct wanted *w = pool_zalloc(&pool_forever, sizeof(*w));

	if (p->tok.kind == TOK_BIND) {
		w->kind = WANT_BIND;
		w->name = parser_name(&p->tok);
	} else if (lex_is(&p->tok, "any")) {
		w->kind = WANT_ANY;
	} else if (lex_is(&p->tok, "none")) {
		w->kind = WANT_NONE;
	} else {
		w->value = parser_value(p);
		check_value(p, w->value);
		return w;
	}
	parser_next(p);
	return w;
}

static void
parse_field(struct parser *p, struct command *c)
{
	const char *fields = c->sub != NULL ? c->sub->fields : c->form->fields;
	struct pair *f = pool_zalloc(&pool_forever, sizeof(*f)), **end = &c->fields;

	f->key = parser_name(&p->tok);
	f->at = p->tok.at;
	if (fields == NULL ||
	    (strcmp(fields, "*") != 0 && forms_key(fields, f->key) == 0))
		parser_fail(p, f->at, "%s gives no field '%s='; legal:%s",
		    c->sub != NULL ? c->sub->name : c->form->name, f->key,
		    forms_words(&pool_forever, fields));
	parser_next(p);
	parser_next(p);
	f->wanted = parse_wanted(p);
	while (*end != NULL)
		end = &(*end)->next;
	*end = f;
}

static void
parse_expectation(struct parser *p, struct command *c)
{
	struct wanted **end = &c->results;

	if (p->tok.kind != TOK_ARROW)
		return;
	c->arrow = true;
	parser_next(p);
	while (!parser_at_end(p) && !parser_at_timing(p)) {
		if (p->tok.kind == TOK_NAME && parser_key_follows(p)) {
			parse_field(p, c);
		} else if (c->results == NULL || lex_is(&p->tok, "or")) {
			if (c->results != NULL)
				parser_next(p);
			*end = parse_wanted(p);
			end = &(*end)->next;
		} else {
			parser_fail(p, p->tok.at,
			    "one result too many; legal: or, a field, within, after");
		}
	}
	if (c->results == NULL && c->fields == NULL)
		parser_fail(p, p->tok.at, "a result or a field must follow the arrow");
}

/* ---- commands --------------------------------------------------------------------- */

static void
unknown_verb(struct parser *p)
{
	const char *name = parser_name(&p->tok), *best = NULL;

	for (size_t i = 0; forms_verb(i) != NULL; i++)
		best = names_nearer(name, forms_verb(i)->name, best);
	best = parser_nearest_structure(name, best);
	parser_fail(p, p->tok.at, "no such command: '%s'%s; legal:%s%s", name,
	    parser_hint(best), parser_structures(), forms_verbs(&pool_forever));
}

static void
parse_verb(struct parser *p, struct command *c)
{
	c->form = forms_find(parser_name(&p->tok));
	if (c->form == NULL)
		unknown_verb(p);
	c->run = run_simple;
	parser_next(p);
	parse_arguments(p, c);
	parse_expectation(p, c);
	parser_timings(p, c);
}

struct command *
parser_command(struct parser *p)
{
	struct command *c = pool_zalloc(&pool_forever, sizeof(*c));
	size_t begin = p->tok.begin, len;

	if (p->tok.kind != TOK_NAME)
		parser_fail(p, p->tok.at, "a command must stand here; legal:%s%s",
		    parser_structures(), forms_verbs(&pool_forever));
	c->at = p->tok.at;
	len = strcspn(p->lex.text + begin, "\n");
	c->source = pool_copy(&pool_forever, p->lex.text + begin, len);
	if (!parser_structure(p, c)) {
		parse_verb(p, c);
		c->source = pool_copy(&pool_forever, c->source,
		    p->last_end - begin < len ? p->last_end - begin : len);
	}
	if (!parser_at_end(p))
		parser_fail(
		    p, p->tok.at, "the command should end here; legal: newline ; }");
	return c;
}

struct command *
parser_commands(struct parser *p, bool block)
{
	struct command *first = NULL, **end = &first;

	for (;;) {
		while (p->tok.kind == TOK_END)
			parser_next(p);
		if (p->tok.kind == TOK_EOF) {
			if (block)
				parser_open(p);
			return first;
		}
		if (parser_is(p, '}')) {
			if (!block)
				parser_fail(p, p->tok.at, "no block is open here");
			return first;
		}
		*end = parser_command(p);
		while (*end != NULL)
			end = &(*end)->next;
	}
}

/* ---- files ------------------------------------------------------------------------- */

/* Where there are cases, what stands outside of them must be structure. */
static void
check_outside(struct parser *p, const struct command *c)
{
	for (; c != NULL; c = c->next) {
		if (!c->structure || c->run == run_fork || c->run == run_thread)
			parser_fail(p, c->at,
			    "a command outside of the cases; legal here:%s",
			    parser_outside());
		if (c->run == run_case || c->run == run_proc)
			continue;
		check_outside(p, c->block);
		check_outside(p, c->other);
	}
}

static struct script *
parse(struct parser *p, const char *file, const char *text, size_t len)
{
	struct script *s = pool_zalloc(&pool_forever, sizeof(*s));

	s->file = file;
	lex_begin(&p->lex, file, text, len);
	if (setjmp(p->failed) != 0)
		return NULL;
	parser_next(p);
	s->commands = parser_commands(p, false);
	parser_resolve(p);
	s->has_cases = p->cases > 0;
	if (s->has_cases)
		check_outside(p, s->commands);
	return s;
}

struct script *
parse_text(const char *file, const char *text, size_t len, bool *more)
{
	static struct command *procs; /* of the dialogue so far */
	struct parser p = {.dialogue = more != NULL};
	struct script *s;

	if (more != NULL)
		p.procs = procs;
	text = pool_copy(&pool_forever, text, len);
	s = parse(&p, file, text, len);
	if (more != NULL)
		*more = p.open;
	if (more != NULL && s != NULL)
		procs = p.procs;
	return s;
}

struct script *
parse_file(const char *file)
{
	size_t len;
	const char *text = parser_read(file, &len);

	if (text == NULL) {
		complain("%s: %s", file, strerror(errno));
		return NULL;
	}
	return parse_text(
	    strcmp(file, "-") == 0 ? "(standard input)" : file, text, len, NULL);
}
