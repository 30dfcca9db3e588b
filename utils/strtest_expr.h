/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_expr.h: expressions: functions, their check before and their value at run time. */
#ifndef STRTEST_EXPR_H
#define STRTEST_EXPR_H

#include "strtest_ast.h"
#include "strtest_value.h"

/* What is wrong with an expression before it runs, or NULL; *at: where. */
const char *expr_check(struct pool *p, const struct expr *e, struct place *at);
/* Its value; what cannot be evaluated ends the script (run_broken). */
struct value expr_value(struct run *r, const struct expr *e);
/* The same, which must be a number, or bytes. */
long long expr_number(struct run *r, const struct expr *e);
/* A number of things, or a time: what may not be below 0. */
long long expr_count(struct run *r, const struct expr *e);
/* What the check before can tell of such a number already. */
const char *expr_check_count(struct pool *p, const struct expr *e);
struct value expr_data(struct run *r, const struct expr *e);
/* A name as it stands, or the text of a string; may hold no NUL. */
const char *expr_word(struct run *r, const struct expr *e);

#endif
