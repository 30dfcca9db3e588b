/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_value.h: what an expression of a script comes to. */
#ifndef STRTEST_VALUE_H
#define STRTEST_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "strtest_names.h"
#include "strtest_pool.h"

struct value {
	enum { VALUE_NUMBER, VALUE_DATA, VALUE_NONE } kind;
	enum name_sort sort; /* of a number that was a name */
	long long number;
	const char *written; /* of a number: how a script wrote it, or NULL */
	const char *data;    /* owned by a pool */
	size_t len;
};

struct value value_number(long long n);
struct value value_error(int error);
struct value value_signal(int sig);
struct value value_data(const void *data, size_t len);
struct value value_text(const char *text);
struct value value_none(void);

/* An errno equals only that errno; bytes equal bytes. */
bool value_equal(const struct value *a, const struct value *b);
/* As a script would write it; long data are cut and described. */
const char *value_show(struct pool *p, const struct value *v);
/* Where two strings of bytes part, in words, or "". */
const char *value_difference(
    struct pool *p, const struct value *a, const struct value *b);

#endif
