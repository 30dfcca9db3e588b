/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_names.h: the constants a script may use, errors and signals by name. */
#ifndef STRTEST_NAMES_H
#define STRTEST_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "strtest_pool.h"

enum name_sort { SORT_PLAIN, SORT_ERRNO, SORT_SIGNAL };

/* Is there a constant of that name?  Its value and what it names. */
bool names_find(const char *name, long long *value, enum name_sort *sort);
/* The name of an errno, a signal, or NULL. */
const char *names_errno(int error);
const char *names_signal(int sig);
/* The name of a message type, or NULL. */
const char *names_message(int type);
/* The constants that begin as name does, for "legal: ...". */
const char *names_like(struct pool *p, const char *name);

/* How many letters must change to make b of a; at most limit + 1. */
unsigned int names_distance(const char *a, const char *b, unsigned int limit);
/* Of candidate and best, what is nearer to name; best may be NULL. */
const char *names_nearer(const char *name, const char *candidate, const char *best);
/* The constant most like name, or NULL. */
const char *names_guess(const char *name);

/* What a pointer in a script can be besides a true one. */
void *names_bad_pointer(void);
void *names_readonly_pointer(void);

#endif
