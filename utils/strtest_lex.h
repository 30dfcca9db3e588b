/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_lex.h: the words of a script.
 *
 * A minus sign inside a name belongs to it (expect-none) unless an arrow begins
 * there; blanks tell "a - 1" from the two arguments of "a -1", so each token
 * says whether blanks stand before and after it.
 */
#ifndef STRTEST_LEX_H
#define STRTEST_LEX_H

#include "strtest.h"

enum token_kind {
	TOK_EOF,
	TOK_END,    /* newline or semicolon */
	TOK_NUMBER, /* number; a duration is one, in microseconds */
	TOK_STRING, /* text between quotes, escapes still in it */
	TOK_NAME,
	TOK_VARIABLE, /* $name */
	TOK_BIND,     /* ?name */
	TOK_ARROW,
	TOK_OPERATOR, /* op: a character, or one of the two-character ones below */
};

enum { OP_EQ = 256, OP_NE, OP_LE, OP_GE };

struct token {
	enum token_kind kind;
	int op;
	long long number;
	const char *text; /* name or string, in the script's text */
	size_t len;
	struct place at;
	size_t begin, end; /* in the script's text */
	bool space_before, space_after;
};

/* Called with what is wrong; must not return. */
typedef void lex_error(void *arg, struct place at, const char *what);

struct lexer {
	const char *text; /* ends with NUL */
	size_t len;
	size_t at; /* the next character */
	int line;
	size_t line_begin;
	const char *file;
	lex_error *error;
	void *arg; /* of error */
};

void lex_begin(struct lexer *l, const char *file, const char *text, size_t len);
void lex_next(struct lexer *l, struct token *t);
/* Does t hold this name? */
bool lex_is(const struct token *t, const char *name);

#endif
