/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_cond.h: the conditions of if and skip: questions about the build, comparisons. */
#ifndef STRTEST_COND_H
#define STRTEST_COND_H

#include "strtest_ast.h"
#include "strtest_pool.h"

struct test {
	const char *name;
	bool takes_name; /* a name follows it */
	bool (*holds)(struct run *r, const char *word);
};

const struct test *cond_find(const char *name);
/* The names of all tests, for "legal: ...". */
const char *cond_names(struct pool *p);
bool cond_holds(struct run *r, const struct condition *c);
/* Does a comparison hold?  op as in strtest_lex.h. */
bool cond_compare(
    struct run *r, const struct expr *left, int op, const struct expr *right);
/* As a sentence, for the reason of a skip. */
const char *cond_words(struct pool *p, const struct condition *c);
/* May streams cross a fork here? */
bool cond_can_fork(void);

#endif
