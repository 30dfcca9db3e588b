/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_parseval.c: the parser's tokens, mistakes and values. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strtest_expr.h"
#include "strtest_parser.h"

/* ---- mistakes --------------------------------------------------------------------- */

void
parser_fail(struct parser *p, struct place at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain("%s:%d:%d: %s", at.file, at.line, at.col,
	    pool_vprintf(&pool_forever, fmt, ap));
	va_end(ap);
	longjmp(p->failed, 1);
}

static _Noreturn void
lexer_failed(void *arg, struct place at, const char *what)
{
	parser_fail(arg, at, "%s", what);
}

void
parser_open(struct parser *p)
{
	p->open = true;
	if (p->dialogue)
		longjmp(p->failed, 1);
	parser_fail(p, p->tok.at, "the script ends within a block; legal: }");
}

const char *
parser_hint(const char *best)
{
	return best == NULL ? ""
			    : pool_printf(&pool_forever, "; did you mean '%s'?", best);
}

const char *
parser_read(const char *file, size_t *len)
{
	FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "r");
	char *text = NULL;
	size_t room = 0;

	if (f == NULL)
		return NULL;
	errno = 0;
	*len = 0;
	do {
		if (room - *len < 4096)
			text = memcpy(pool_alloc(&pool_forever, room * 2 + 8192),
			    text != NULL ? text : "", *len);
		room = room - *len < 4096 ? room * 2 + 8192 : room;
		*len += fread(text + *len, 1, room - *len - 1, f);
	} while (!feof(f) && !ferror(f));
	text[*len] = '\0';
	if (ferror(f))
		text = NULL;
	if (f != stdin)
		fclose(f);
	return text;
}

/* ---- tokens ----------------------------------------------------------------------- */

void
parser_next(struct parser *p)
{
	p->lex.error = lexer_failed;
	p->lex.arg = p;
	p->last_end = p->tok.end;
	lex_next(&p->lex, &p->tok);
}

bool
parser_is(const struct parser *p, int op)
{
	return p->tok.kind == TOK_OPERATOR && p->tok.op == op;
}

void
parser_want(struct parser *p, int op, const char *what)
{
	if (!parser_is(p, op))
		parser_fail(p, p->tok.at, "%s; legal: %c", what, op);
	parser_next(p);
}

bool
parser_at_end(const struct parser *p)
{
	return p->tok.kind == TOK_EOF || p->tok.kind == TOK_END || parser_is(p, '}') ||
	    parser_is(p, '{');
}

bool
parser_key_follows(struct parser *p)
{
	struct lexer ahead = p->lex;
	struct token t;

	lex_next(&ahead, &t);
	return t.kind == TOK_OPERATOR && t.op == '=';
}

bool
parser_at_timing(struct parser *p)
{
	return (lex_is(&p->tok, "within") || lex_is(&p->tok, "after") ||
		   lex_is(&p->tok, "for")) &&
	    !parser_key_follows(p);
}

const char *
parser_name(const struct token *t)
{
	return pool_copy(&pool_forever, t->text, t->len);
}

const char *
parser_take_name(struct parser *p, const char *what)
{
	const char *name;

	if (p->tok.kind != TOK_NAME)
		parser_fail(p, p->tok.at, "%s must stand here", what);
	name = parser_name(&p->tok);
	parser_next(p);
	return name;
}

/* ---- strings ----------------------------------------------------------------------- */

static struct expr *
new_expr(struct parser *p, int kind)
{
	struct expr *e = pool_zalloc(&pool_forever, sizeof(*e));

	e->kind = kind;
	e->at = p->tok.at;
	return e;
}

static int
hex_digit(int c)
{
	return isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
}

/* The byte an escape stands for; *n: how long it is, after the backslash. */
static int
escaped(struct parser *p, const struct token *t, size_t i, size_t *n)
{
	static const char letters[] = "ntr0eab\\\"$", bytes[] = "\n\t\r\0\033\a\b\\\"$";
	const char *at = strchr(letters, t->text[i]);
	struct place where = t->at;

	*n = 1;
	if (at != NULL && *at != '\0')
		return (unsigned char)bytes[at - letters];
	if (t->text[i] == 'x' && i + 2 < t->len &&
	    isxdigit((unsigned char)t->text[i + 1]) &&
	    isxdigit((unsigned char)t->text[i + 2])) {
		*n = 3;
		return hex_digit((unsigned char)t->text[i + 1]) * 16 +
		    hex_digit((unsigned char)t->text[i + 2]);
	}
	where.col += (int)i;
	parser_fail(p, where,
	    "no such escape; legal: \\n \\t \\r \\0 \\e \\a \\b \\xHH \\\" \\\\ \\$");
}

/* $name or ${name} at text[i]: its part, and how long it was. */
static struct expr *
variable_part(struct parser *p, const struct token *t, size_t i, size_t *n)
{
	struct expr *e = new_expr(p, EXPR_VARIABLE);
	bool braces = i + 1 < t->len && t->text[i + 1] == '{';
	size_t from = i + 1 + braces, to = from;
	struct place where = t->at;

	while (to < t->len && (isalnum((unsigned char)t->text[to]) || t->text[to] == '_'))
		to++;
	where.col += (int)i + 1;
	if (to == from || (braces && (to >= t->len || t->text[to] != '}')))
		parser_fail(p, where,
		    "a name must follow $ in a string; legal: $name ${name} \\$");
	e->text = pool_copy(&pool_forever, t->text + from, to - from);
	e->at = where;
	*n = to + braces - i;
	return e;
}

struct expr *
parser_string(struct parser *p)
{
	const struct token t = p->tok;
	struct expr *join = new_expr(p, EXPR_JOIN), **end = &join->left, *text = NULL;
	char *to = NULL;
	size_t n;

	if (t.kind != TOK_STRING)
		parser_fail(p, t.at, "a string must stand here");
	for (size_t i = 0; i < t.len; i += n) {
		n = 1;
		if (t.text[i] == '$') {
			*end = variable_part(p, &t, i, &n);
			end = &(*end)->next;
			text = NULL;
			continue;
		}
		if (text == NULL) {
			text = *end = new_expr(p, EXPR_TEXT);
			end = &text->next;
			text->text = to = pool_alloc(&pool_forever, t.len + 1);
		}
		if (t.text[i] == '\\') {
			to[text->len++] = (char)escaped(p, &t, i + 1, &n);
			n++;
		} else {
			to[text->len++] = t.text[i];
		}
	}
	parser_next(p);
	return join;
}

/* ---- values ------------------------------------------------------------------------ */

static struct expr *
arguments(struct parser *p, struct expr *call)
{
	struct expr **end = &call->left;

	call->kind = EXPR_CALL;
	parser_next(p);
	while (!parser_is(p, ')')) {
		*end = parser_value(p);
		end = &(*end)->next;
		if (!parser_is(p, ','))
			break;
		parser_next(p);
	}
	parser_want(p, ')', "the arguments of a function end with )");
	return call;
}

static struct expr *
parenthesis(struct parser *p)
{
	struct expr *e;

	parser_next(p);
	e = parser_value(p);
	parser_want(p, ')', "a parenthesis is open");
	return e;
}

static struct expr *
primary(struct parser *p)
{
	struct expr *e;

	if (p->tok.kind == TOK_STRING)
		return parser_string(p);
	if (parser_is(p, '('))
		return parenthesis(p);
	e = new_expr(p, EXPR_NUMBER);
	e->number = p->tok.number;
	if (p->tok.kind == TOK_NAME || p->tok.kind == TOK_VARIABLE) {
		e->kind = p->tok.kind == TOK_NAME ? EXPR_NAME : EXPR_VARIABLE;
		e->text = parser_name(&p->tok);
	} else if (p->tok.kind != TOK_NUMBER) {
		parser_fail(p, p->tok.at,
		    "a value must stand here; legal: number string name $name ( - ~");
	}
	parser_next(p);
	if (e->kind == EXPR_NAME && parser_is(p, '(') && !p->tok.space_before)
		return arguments(p, e);
	return e;
}

static struct expr *
unary(struct parser *p)
{
	struct expr *e;

	if (!parser_is(p, '-') && !parser_is(p, '~'))
		return primary(p);
	e = new_expr(p, EXPR_UNARY);
	e->op = p->tok.op;
	parser_next(p);
	e->left = unary(p);
	return e;
}

/* Operators by how tightly they bind, loosest first. */
static const char *const levels[] = {"|", "+-", "*"};

/* "a -1" are two values, "a - 1" and "a-1" one. */
static bool
continues(const struct parser *p, const char *operators)
{
	const struct token *t = &p->tok;

	if (t->kind != TOK_OPERATOR || t->op > 127 || strchr(operators, t->op) == NULL)
		return false;
	return t->op != '-' || !t->space_before || t->space_after;
}

static struct expr *
binary(struct parser *p, size_t level)
{
	struct expr *e, *left;

	if (level == NELEM(levels))
		return unary(p);
	left = binary(p, level + 1);
	while (continues(p, levels[level])) {
		e = new_expr(p, EXPR_BINARY);
		e->op = p->tok.op;
		e->left = left;
		parser_next(p);
		e->right = binary(p, level + 1);
		left = e;
	}
	return left;
}

struct expr *
parser_value(struct parser *p)
{
	size_t begin = p->tok.begin;
	struct place at = p->tok.at;
	struct expr *e = binary(p, 0);

	e->at = at;
	e->source = pool_copy(&pool_forever, p->lex.text + begin, p->last_end - begin);
	return e;
}

struct expr *
parser_checked(struct parser *p)
{
	struct expr *e = parser_value(p);
	struct place at;
	const char *wrong = expr_check(&pool_forever, e, &at);

	if (wrong != NULL)
		parser_fail(p, at, "%s", wrong);
	return e;
}

struct expr *
parser_count(struct parser *p)
{
	struct expr *e = parser_checked(p);
	const char *wrong = expr_check_count(&pool_forever, e);

	if (wrong != NULL)
		parser_fail(p, e->at, "%s", wrong);
	return e;
}
