/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_pool.c: a pool is a list of malloc's blocks. */
#include "strtest_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strtest.h"

struct pool_block {
	struct pool_block *next;
	max_align_t data[];
};

struct pool pool_forever;

void *
pool_alloc(struct pool *p, size_t n)
{
	struct pool_block *b = malloc(sizeof(*b) + n);

	if (b == NULL) {
		complain("no memory for %zu bytes", n);
		_Exit(EXIT_BROKEN);
	}
	b->next = p->blocks;
	p->blocks = b;
	return b->data;
}

void *
pool_zalloc(struct pool *p, size_t n)
{
	return memset(pool_alloc(p, n), 0, n);
}

char *
pool_copy(struct pool *p, const void *from, size_t n)
{
	char *to = pool_alloc(p, n + 1);

	if (n > 0)
		memcpy(to, from, n);
	to[n] = '\0';
	return to;
}

char *
pool_vprintf(struct pool *p, const char *fmt, va_list ap)
{
	va_list again;
	char *to;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	to = pool_alloc(p, (size_t)n + 1);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	return to;
}

char *
pool_printf(struct pool *p, const char *fmt, ...)
{
	va_list ap;
	char *to;

	va_start(ap, fmt);
	to = pool_vprintf(p, fmt, ap);
	va_end(ap);
	return to;
}

void
pool_free(struct pool *p)
{
	struct pool_block *b, *next;

	for (b = p->blocks; b != NULL; b = next) {
		next = b->next;
		free(b);
	}
	p->blocks = NULL;
}
