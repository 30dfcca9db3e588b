/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_parser.h: the state of the parser, and the parts of it that stand in
 * different files: commands (strtest_parse), values (strtest_parseval) and
 * structure (strtest_parsectl).
 */
#ifndef STRTEST_PARSER_H
#define STRTEST_PARSER_H

#include <setjmp.h>

#include "strtest_ast.h"
#include "strtest_lex.h"
#include "strtest_pool.h"

struct parser {
	struct lexer lex;
	struct token tok;      /* the next token */
	size_t last_end;       /* where the token before it ended */
	jmp_buf failed;	       /* parser_fail goes here */
	struct command *procs; /* all of this script, by .other */
	struct command *calls; /* to be resolved, by .other */
	int depth;	       /* of cases around */
	int cases;
	bool dialogue; /* an open block is no mistake */
	bool open;     /* the text ended in a block */
	int includes;  /* depth of files */
};

/* Complain about a place and give up this script. */
__attribute__((format(printf, 3, 4))) _Noreturn void parser_fail(
    struct parser *p, struct place at, const char *fmt, ...);
/* The text ended in a block. */
_Noreturn void parser_open(struct parser *p);
/* "; did you mean 'x'?", or "" for NULL. */
const char *parser_hint(const char *best);
/* A whole file; NULL and errno. */
const char *parser_read(const char *file, size_t *len);

void parser_next(struct parser *p);
bool parser_is(const struct parser *p, int op);
void parser_want(struct parser *p, int op, const char *what);
bool parser_at_end(const struct parser *p);
bool parser_at_timing(struct parser *p);
/* Is the next token followed by "="? */
bool parser_key_follows(struct parser *p);
/* A copy of a token's text. */
const char *parser_name(const struct token *t);
/* Take a name. */
const char *parser_take_name(struct parser *p, const char *what);

struct expr *parser_value(struct parser *p);
/* The same, checked for unknown names. */
struct expr *parser_checked(struct parser *p);
/* The same for a number that may not be below 0. */
struct expr *parser_count(struct parser *p);
struct expr *parser_string(struct parser *p);

struct command *parser_command(struct parser *p);
struct command *parser_commands(struct parser *p, bool block);
void parser_timings(struct parser *p, struct command *c);

/* Is the next token the name of a structure?  Then parse it into c. */
bool parser_structure(struct parser *p, struct command *c);
const char *parser_structures(void);
/* Those that may stand outside of cases. */
const char *parser_outside(void);
const char *parser_nearest_structure(const char *name, const char *best);
/* Bind calls to procedures. */
void parser_resolve(struct parser *p);

#endif
