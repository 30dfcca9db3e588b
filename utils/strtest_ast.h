/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_ast.h: a script as the parser leaves it and the interpreter walks it.
 *
 * All of it lies in pool_forever.  Lists are linked by "next" in the order of
 * the script.
 */
#ifndef STRTEST_AST_H
#define STRTEST_AST_H

#include "strtest.h"

struct run;
struct command;

struct expr {
	enum {
		EXPR_NUMBER,
		EXPR_TEXT,     /* text, len */
		EXPR_JOIN,     /* a string: the parts at left */
		EXPR_VARIABLE, /* text */
		EXPR_NAME,     /* text: a constant, a descriptor, a word */
		EXPR_CALL,     /* text: a function; its arguments at left */
		EXPR_UNARY,    /* op left */
		EXPR_BINARY,   /* left op right */
	} kind;
	int op;
	long long number;
	const char *text;
	size_t len;
	struct expr *left, *right;
	struct expr *next; /* in a list of parts or arguments */
	struct place at;
	const char *source; /* as it was written */
};

/* What a result or a field must be. */
struct wanted {
	enum { WANT_VALUE, WANT_BIND, WANT_ANY, WANT_NONE } kind;
	const char *name; /* WANT_BIND: of the variable */
	struct expr *value;
	struct wanted *next; /* the alternative after "or" */
};

/* key=value, or a flag, whose value is NULL.  Before the arrow or after it. */
struct pair {
	const char *key;
	struct expr *value;    /* before the arrow */
	struct wanted *wanted; /* after it */
	struct place at;
	struct pair *next;
};

/*
 * A verb, or a command of ioctl.  args has a letter for each argument, with ?
 * where it may be absent and + or * where it may be repeated:
 *	N a name to be set	H a descriptor	W a word	I a number
 *	D data			T a duration	S a signal	A a child or thread
 *	C a command of ioctl	E anything	X data, "any" or "none"
 * keys lists "key:letter" and "flag!", fields "field" or "*".
 */
struct outcome;
struct form {
	const char *name;
	void (*run)(struct run *r, const struct command *c, struct outcome *o);
	const char *args;
	const char *keys;
	const char *fields;
	const struct form *(*pick)(const char *word); /* refine by the second argument */
	long number;				      /* of a command of ioctl */
};

struct condition {
	const struct test *test; /* of the build, or NULL: compare */
	const char *word, *other;
	struct expr *left, *right;
	int op;
	bool unless;
};

struct command {
	void (*run)(struct run *r, const struct command *c);
	struct place at;
	const char *source; /* the first line of it, as written */
	struct command *next;
	bool structure; /* not a verb */

	/* verbs */
	const struct form *form;
	const struct form *sub; /* the row of an ioctl command */
	struct expr *args;
	int nargs;
	struct pair *keys;
	bool arrow;
	struct wanted *results; /* alternatives */
	struct pair *fields;

	/* timing; NULL: not given */
	struct expr *within, *after, *lasting;

	/* structure */
	const char *name;   /* of a variable, procedure, child */
	struct expr *value; /* sentence, count, list of values */
	struct expr *value2;
	int op;
	struct condition condition;
	const struct command *proc; /* what a call calls */
	struct command *block, *other;
};

struct script {
	const char *file;
	struct command *commands;
	bool has_cases;
	struct script *next;
};

#endif
