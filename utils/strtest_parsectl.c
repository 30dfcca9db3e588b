/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_parsectl.c: the structure of a script: cases, loops, blocks, procedures. */
#include <errno.h>
#include <string.h>

#include "strtest_cond.h"
#include "strtest_expr.h"
#include "strtest_names.h"
#include "strtest_parser.h"
#include "strtest_run.h"

static struct command *
block(struct parser *p)
{
	struct command *c;

	parser_want(p, '{', "a block must stand here");
	c = parser_commands(p, true);
	parser_next(p);
	return c;
}

static const struct {
	const char *word;
	size_t field;
} timings[] = {{"within", offsetof(struct command, within)},
    {"after", offsetof(struct command, after)},
    {"for", offsetof(struct command, lasting)}};

void
parser_timings(struct parser *p, struct command *c)
{
	while (parser_at_timing(p)) {
		for (size_t i = 0; i < NELEM(timings); i++) {
			if (!lex_is(&p->tok, timings[i].word))
				continue;
			parser_next(p);
			*(struct expr **)(void *)((char *)c +
			    timings[i].field) = parser_count(p);
			break;
		}
	}
}

/* ---- one function a structure ------------------------------------------------------ */

static void
parse_case(struct parser *p, struct command *c)
{
	if (p->depth++ > 0)
		parser_fail(p, c->at, "a case cannot stand in a case, fork or thread");
	p->cases++;
	c->value = parser_string(p);
	if (lex_is(&p->tok, "timeout")) {
		parser_next(p);
		c->value2 = parser_count(p);
	}
	c->block = block(p);
	p->depth--;
}

static void
parse_repeat(struct parser *p, struct command *c)
{
	c->value = parser_count(p);
	c->block = block(p);
}

static void
parse_foreach(struct parser *p, struct command *c)
{
	struct expr **end = &c->value;

	c->name = parser_take_name(p, "the name of a variable");
	if (!lex_is(&p->tok, "in"))
		parser_fail(p, p->tok.at, "'in' must follow the variable; legal: in");
	parser_next(p);
	while (!parser_at_end(p)) {
		*end = parser_checked(p);
		end = &(*end)->next;
	}
	c->block = block(p);
}

static bool
take_comparison(struct parser *p, int *op)
{
	static const int legal[] = {OP_EQ, OP_NE, OP_LE, OP_GE, '<', '>'};

	for (size_t i = 0; i < NELEM(legal); i++) {
		if (parser_is(p, legal[i])) {
			*op = legal[i];
			parser_next(p);
			return true;
		}
	}
	return false;
}

static void
parse_comparison(struct parser *p, struct condition *k)
{
	k->left = parser_checked(p);
	if (!take_comparison(p, &k->op))
		parser_fail(
		    p, p->tok.at, "a comparison must stand here; legal: == != < <= > >=");
	k->right = parser_checked(p);
}

/* name=name, or the name of a test. */
static void
parse_test(struct parser *p, struct condition *k)
{
	struct place at = p->tok.at;
	long long ignored;
	enum name_sort sort;

	k->word = parser_take_name(p, "a condition");
	if (parser_is(p, '=')) {
		parser_next(p);
		if (p->tok.kind == TOK_NUMBER) {
			k->other = pool_printf(&pool_forever, "%lld", p->tok.number);
			parser_next(p);
		} else {
			k->other = parser_take_name(
			    p, "the value of a word of the version");
		}
		return;
	}
	k->test = cond_find(k->word);
	if (k->test == NULL)
		parser_fail(p, at,
		    "no such condition: '%s'; legal:%s, word=value, a comparison%s",
		    k->word, cond_names(&pool_forever),
		    names_find(k->word, &ignored, &sort) ? " with the number first" : "");
	if (k->test->takes_name)
		k->other = parser_take_name(p, "a name");
}

static void
parse_condition(struct parser *p, struct condition *k)
{
	bool call = p->lex.text[p->tok.end] == '(';

	if (p->tok.kind == TOK_NAME && !call)
		parse_test(p, k);
	else
		parse_comparison(p, k);
}

static void
parse_if(struct parser *p, struct command *c)
{
	parse_condition(p, &c->condition);
	c->block = block(p);
	if (lex_is(&p->tok, "else")) {
		parser_next(p);
		c->other = block(p);
	}
}

static void
parse_skip(struct parser *p, struct command *c)
{
	c->condition.unless = lex_is(&p->tok, "unless");
	if (!c->condition.unless && !lex_is(&p->tok, "if"))
		parser_fail(p, p->tok.at, "when? legal: if unless");
	parser_next(p);
	parse_condition(p, &c->condition);
	if (p->tok.kind == TOK_STRING)
		c->value = parser_string(p);
}

static void
parse_actor(struct parser *p, struct command *c)
{
	if (p->tok.kind == TOK_NAME)
		c->name = parser_take_name(p, "a name");
	p->depth++;
	c->block = block(p);
	p->depth--;
}

static void
parse_eventually(struct parser *p, struct command *c)
{
	p->depth++;
	c->block = block(p);
	p->depth--;
	parser_timings(p, c);
}

static void
parse_proc(struct parser *p, struct command *c)
{
	struct expr **end = &c->value;

	c->name = parser_take_name(p, "the name of the procedure");
	while (p->tok.kind == TOK_VARIABLE) {
		*end = parser_value(p);
		end = &(*end)->next;
	}
	c->block = block(p);
	c->other = p->procs;
	p->procs = c;
}

static void
parse_call(struct parser *p, struct command *c)
{
	struct expr **end = &c->value;

	c->name = parser_take_name(p, "the name of a procedure");
	while (!parser_at_end(p)) {
		*end = parser_checked(p);
		end = &(*end)->next;
	}
	c->other = p->calls;
	p->calls = c;
}

static void
parse_set(struct parser *p, struct command *c)
{
	if (p->tok.kind == TOK_VARIABLE)
		p->tok.kind = TOK_NAME;
	c->name = parser_take_name(p, "the name of a variable");
	parser_want(p, '=', "a value must follow");
	c->value = parser_checked(p);
}

static void
parse_check(struct parser *p, struct command *c)
{
	parse_comparison(p, &c->condition);
}

enum { INCLUDE_DEPTH = 16 };

static void
parse_include(struct parser *p, struct command *c)
{
	struct lexer outer;
	struct token after;
	struct place at = p->tok.at;
	const char *given = pool_copy(&pool_forever, p->tok.text, p->tok.len), *file,
		   *text;
	const char *slash = strrchr(p->lex.file, '/');
	size_t len;

	parser_string(p);
	file = *given == '/' || slash == NULL
	    ? given
	    : pool_printf(&pool_forever, "%.*s/%s", (int)(slash - p->lex.file),
		  p->lex.file, given);
	if (++p->includes > INCLUDE_DEPTH)
		parser_fail(p, at, "files include each other");
	if ((text = parser_read(file, &len)) == NULL)
		parser_fail(p, at, "%s: %s", file, strerror(errno));
	outer = p->lex;
	after = p->tok;
	lex_begin(&p->lex, file, text, len);
	parser_next(p);
	c->next = parser_commands(p, false);
	p->lex = outer;
	p->tok = after;
	p->includes--;
}

/* ---- the table --------------------------------------------------------------------- */

static const struct structure {
	const char *name;
	void (*parse)(struct parser *p, struct command *c);
	void (*run)(struct run *r, const struct command *c);
	bool inside; /* only inside of a case, or where there are none */
} structures[] = {
    {"case", parse_case, run_case, false},
    {"repeat", parse_repeat, run_repeat, false},
    {"foreach", parse_foreach, run_foreach, false},
    {"if", parse_if, run_if, false},
    {"skip", parse_skip, run_skip, false},
    {"fork", parse_actor, run_fork, true},
    {"thread", parse_actor, run_thread, true},
    {"eventually", parse_eventually, run_eventually, true},
    {"proc", parse_proc, run_proc, false},
    {"call", parse_call, run_call, false},
    {"set", parse_set, run_set, false},
    {"check", parse_check, run_check, false},
    {"include", parse_include, run_include, false},
};

bool
parser_structure(struct parser *p, struct command *c)
{
	for (size_t i = 0; i < NELEM(structures); i++) {
		if (!lex_is(&p->tok, structures[i].name))
			continue;
		c->structure = true;
		c->run = structures[i].run;
		parser_next(p);
		structures[i].parse(p, c);
		return true;
	}
	return false;
}

static const char *
names(bool all)
{
	const char *text = "";

	for (size_t i = 0; i < NELEM(structures); i++)
		if (all || !structures[i].inside)
			text = pool_printf(
			    &pool_forever, "%s %s", text, structures[i].name);
	return text;
}

const char *
parser_structures(void)
{
	return names(true);
}

const char *
parser_outside(void)
{
	return names(false);
}

const char *
parser_nearest_structure(const char *name, const char *best)
{
	for (size_t i = 0; i < NELEM(structures); i++)
		best = names_nearer(name, structures[i].name, best);
	return best;
}

static int
count(const struct expr *e)
{
	int n = 0;

	for (; e != NULL; e = e->next)
		n++;
	return n;
}

void
parser_resolve(struct parser *p)
{
	struct command *call, *proc, *next;
	const char *best = NULL, *all = "";

	for (call = p->calls; call != NULL; call = next) {
		next = call->other;
		call->other = NULL;
		for (proc = p->procs; proc != NULL; proc = proc->other) {
			all = pool_printf(&pool_forever, "%s %s", all, proc->name);
			best = names_nearer(call->name, proc->name, best);
			if (strcmp(proc->name, call->name) == 0)
				break;
		}
		if (proc == NULL)
			parser_fail(p, call->at, "no such procedure: '%s'%s; legal:%s",
			    call->name, parser_hint(best),
			    *all != '\0' ? all : " none is defined");
		if (count(proc->value) != count(call->value))
			parser_fail(p, call->at, "%s takes %d values, not %d", call->name,
			    count(proc->value), count(call->value));
		call->proc = proc;
	}
}
