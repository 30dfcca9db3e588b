/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_pool.h: memory that is freed all at once. */
#ifndef STRTEST_POOL_H
#define STRTEST_POOL_H

#include <stdarg.h>
#include <stddef.h>

/*
 * A pool owns what was taken from it until pool_free().  The program ends when
 * there is no memory.
 */
struct pool {
	struct pool_block *blocks;
};

/* n bytes; pool_zalloc clears them. */
void *pool_alloc(struct pool *p, size_t n);
void *pool_zalloc(struct pool *p, size_t n);
/* A copy of n bytes, with a NUL behind them. */
char *pool_copy(struct pool *p, const void *from, size_t n);
__attribute__((format(printf, 2, 3))) char *pool_printf(
    struct pool *p, const char *fmt, ...);
__attribute__((format(printf, 2, 0))) char *pool_vprintf(
    struct pool *p, const char *fmt, va_list ap);
void pool_free(struct pool *p);

/* What lives as long as the program: the scripts. */
extern struct pool pool_forever;

#endif
