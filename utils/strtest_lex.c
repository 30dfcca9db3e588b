/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_lex.c: from characters to tokens, one at a time. */
#include "strtest_lex.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
peek(const struct lexer *l, size_t ahead)
{
	return l->at + ahead < l->len ? (unsigned char)l->text[l->at + ahead] : '\0';
}

static struct place
here(const struct lexer *l)
{
	return (struct place){l->file, l->line, (int)(l->at - l->line_begin) + 1};
}

static bool
begins_name(int c)
{
	return isalpha(c) || c == '_' || c == '/' || c == '.';
}

static bool
in_name(const struct lexer *l)
{
	int c = peek(l, 0);

	if (c == '-')
		return peek(l, 1) != '>';
	return isalnum(c) || (c != '\0' && strchr("_./:", c) != NULL);
}

static void
newline(struct lexer *l)
{
	l->at++;
	l->line++;
	l->line_begin = l->at;
}

/* Blanks, comments and joined lines.  Were there any? */
static bool
skip_blanks(struct lexer *l)
{
	size_t from = l->at;

	for (;;) {
		int c = peek(l, 0);

		if (c == ' ' || c == '\t' || c == '\r') {
			l->at++;
		} else if (c == '\\' && peek(l, 1) == '\n') {
			l->at++;
			newline(l);
		} else if (c == '#') {
			while (l->at < l->len && peek(l, 0) != '\n')
				l->at++;
		} else {
			return l->at > from || from == 0;
		}
	}
}

/* ---- kinds of tokens --------------------------------------------------------- */

static void
take_name(struct lexer *l, struct token *t)
{
	t->text = l->text + l->at;
	while (in_name(l))
		l->at++;
	t->len = (size_t)(l->text + l->at - t->text);
}

static void
take_sigil(struct lexer *l, struct token *t, enum token_kind kind)
{
	l->at++;
	if (!isalpha(peek(l, 0)) && peek(l, 0) != '_')
		l->error(l->arg, t->at, "a name must follow $ and ?");
	t->kind = kind;
	t->text = l->text + l->at;
	while (isalnum(peek(l, 0)) || peek(l, 0) == '_')
		l->at++;
	t->len = (size_t)(l->text + l->at - t->text);
}

static const struct {
	const char *unit;
	long long factor;
} units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}, {"K", 1024}, {"M", 1048576}};

static void
take_number(struct lexer *l, struct token *t)
{
	char *end;
	size_t n = 0;

	t->kind = TOK_NUMBER;
	errno = 0;
	t->number = strtoll(l->text + l->at, &end,
	    peek(l, 0) == '0' && tolower(peek(l, 1)) == 'x' ? 16 : 10);
	l->at = (size_t)(end - l->text);
	while (isalnum(peek(l, n)) || peek(l, n) == '_')
		n++;
	for (size_t i = 0; n > 0 && i < NELEM(units); i++) {
		if (strlen(units[i].unit) != n || strncmp(end, units[i].unit, n) != 0)
			continue;
		if (__builtin_mul_overflow(t->number, units[i].factor, &t->number))
			errno = ERANGE;
		l->at += n;
		n = 0;
	}
	if (n > 0)
		l->error(l->arg, here(l), "no such unit; legal: us ms s K M");
	if (errno != 0)
		l->error(l->arg, t->at, "the number is too large");
}

/* The text stays as it is; who reads it knows the escapes. */
static void
take_string(struct lexer *l, struct token *t)
{
	t->kind = TOK_STRING;
	t->text = l->text + ++l->at;
	while (peek(l, 0) != '"') {
		if (l->at >= l->len || peek(l, 0) == '\n')
			l->error(l->arg, t->at,
			    "the string has no end; legal: \" on the same line");
		l->at += peek(l, 0) == '\\' && l->at + 1 < l->len ? 2 : 1;
	}
	t->len = (size_t)(l->text + l->at - t->text);
	l->at++;
}

static void
take_character(struct lexer *l, struct token *t)
{
	if (peek(l, 1) == '\0' || peek(l, 1) == '\n' || peek(l, 2) != '\'')
		l->error(l->arg, t->at, "a character is one between single quotes");
	t->kind = TOK_NUMBER;
	t->number = peek(l, 1);
	l->at += 3;
}

#define ARROW "\xe2\x86\x92" /* U+2192 */

static void
take_operator(struct lexer *l, struct token *t)
{
	static const struct {
		const char *text;
		int op;
	} longer[] = {{"==", OP_EQ}, {"!=", OP_NE}, {"<=", OP_LE}, {">=", OP_GE}};

	t->kind = TOK_OPERATOR;
	for (size_t i = 0; i < NELEM(longer); i++) {
		if (strncmp(l->text + l->at, longer[i].text, 2) == 0) {
			t->op = longer[i].op;
			l->at += 2;
			return;
		}
	}
	t->op = peek(l, 0);
	if (strchr("{}()|+-*~=,<>", t->op) == NULL)
		l->error(l->arg, t->at,
		    "no such character here; legal: names, numbers, strings, "
		    "$ ? -> { } ( ) | + - * ~ = , ;");
	l->at++;
}

static void
take(struct lexer *l, struct token *t)
{
	int c = peek(l, 0);

	if (l->at >= l->len) {
		t->kind = TOK_EOF;
	} else if (c == '\n' || c == ';') {
		t->kind = TOK_END;
		if (c == '\n')
			newline(l);
		else
			l->at++;
	} else if (begins_name(c)) {
		t->kind = TOK_NAME;
		take_name(l, t);
	} else if (isdigit(c)) {
		take_number(l, t);
	} else if (c == '"') {
		take_string(l, t);
	} else if (c == '\'') {
		take_character(l, t);
	} else if (c == '$' || c == '?') {
		take_sigil(l, t, c == '$' ? TOK_VARIABLE : TOK_BIND);
	} else if (strncmp(l->text + l->at, "->", 2) == 0) {
		t->kind = TOK_ARROW;
		l->at += 2;
	} else if (strncmp(l->text + l->at, ARROW, 3) == 0) {
		t->kind = TOK_ARROW;
		l->at += 3;
	} else {
		take_operator(l, t);
	}
}

void
lex_begin(struct lexer *l, const char *file, const char *text, size_t len)
{
	l->file = file;
	l->text = text;
	l->len = len;
	l->at = 0;
	l->line = 1;
	l->line_begin = 0;
}

void
lex_next(struct lexer *l, struct token *t)
{
	*t = (struct token){.space_before = skip_blanks(l)};
	t->at = here(l);
	t->begin = l->at;
	take(l, t);
	t->end = l->at;
	t->space_after = isspace(peek(l, 0)) || l->at >= l->len;
}

bool
lex_is(const struct token *t, const char *name)
{
	return t->kind == TOK_NAME && strlen(name) == t->len &&
	    memcmp(t->text, name, t->len) == 0;
}
