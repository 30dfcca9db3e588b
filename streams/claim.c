/* SPDX-License-Identifier: BSD-2-Clause */
/* claim.c: the map of claim.h. */
#include "claim.h"

#include <stdlib.h>

/* An entry: what begins on the line, or CL_INSIDE; above it, a count. */
#define KIND 0xffu
#define ONE 0x100u

static uint32_t *map;
static size_t lines;

bool
claim_begin(void)
{
	ASSERT(map == NULL);
	lines = (ld_acq(&arena->ar_brk) + LINE - 1) / LINE;
	map = calloc(lines, sizeof(*map)); /* only what is claimed of it is ever touched */
	return map != NULL;
}

void
claim_end(void)
{
	free(map);
	map = NULL;
	lines = 0;
}

/* p's line, or lines if it has none. */
static size_t
line_of(const void *p)
{
	uintptr_t at = (uintptr_t)p - (uintptr_t)arena;

	return at % LINE == 0 && at / LINE < lines ? at / LINE : lines;
}

bool
claim_take(const void *p, size_t size, unsigned int what)
{
	size_t first = line_of(p), n = size / LINE + (size % LINE != 0);

	if (n == 0 || n > lines - first)
		return false;
	for (size_t i = 0; i < n; i++)
		if (map[first + i] != CL_NONE)
			return false;
	for (size_t i = 0; i < n; i++)
		map[first + i] = CL_INSIDE;
	map[first] = what;
	return true;
}

bool
claim_share(const void *p, size_t size, unsigned int what, bool *fresh)
{
	*fresh = false;
	if (claim_is(p, what))
		return true;
	*fresh = claim_take(p, size, what);
	return *fresh;
}

bool
claim_is(const void *p, unsigned int what)
{
	size_t i = line_of(p);

	return i < lines && (map[i] & KIND) == what;
}

unsigned int
claim_count(const void *p)
{
	size_t i = line_of(p);

	ASSERT(i < lines && map[i] != CL_NONE);
	if (map[i] <= ~ONE) /* beyond it there are enough */
		map[i] += ONE;
	return map[i] / ONE;
}

unsigned int
claim_counted(const void *p)
{
	size_t i = line_of(p);

	return i < lines ? map[i] / ONE : 0;
}

size_t
claim_most(void)
{
	return lines;
}
