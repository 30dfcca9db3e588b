/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_args.h: read a command line by a table of options.
 *
 * One table holds each option's name, setter, legal values and help, so that
 * an error line, --help and the parser cannot disagree.  A command may read by
 * several tables at once, each with the structure its setters fill.
 */
#ifndef STRPERF_ARGS_H
#define STRPERF_ARGS_H

#include <stddef.h>

struct arg {
	const char *name;  /* long name */
	const char *value; /* what stands for the value in --help, or NULL: none */
	/* Take the value (NULL if there is none): 0, or -1 when it is not legal. */
	int (*set)(void *to, const char *text);
	const char *legal; /* the legal values */
	const char *help;  /* NULL: an option for tests, not shown */
	unsigned int uses; /* commands that take it, 0: all */
	char letter;	   /* short name, or 0 */
};

struct args {
	const struct arg *table;
	size_t n;
	void *to;	   /* what the setters fill */
	unsigned int uses; /* rows for these commands only */
};

/*
 * Read argv, whose argv[0] is the command's name.  *rest becomes the index of
 * the first operand.  EXIT_DONE, or EXIT_USAGE after one line on stderr.
 */
int args_parse(const struct args *sets, size_t nsets, int argc, char **argv, int *rest);
/* A paragraph for each option of the table, on stdout. */
void args_help(const struct args *set);

/* ---- readers of values: 0, or -1 when the value is not legal ---------------- */

int args_number(const char *text, long long lo, long long hi, long long *to);
int args_real(const char *text, double lo, double hi, double *to);
/* The index of text among words that end with NULL, or -1. */
int args_word(const char *text, const char *const *words);
/* Call add for each part of a comma list; an empty list has no parts. */
int args_list(void *to, const char *text, int (*add)(void *to, char *part));

#endif
