/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * looktable.h: columns of text as wide as what is in them.
 *
 * A column whose heading begins with '>' is set to the right.
 */
#ifndef LOOKTABLE_H
#define LOOKTABLE_H

#include <stdio.h>

enum { TABLE_COLUMNS = 16 };

struct table {
	int columns;
	const char *const *heads;
	char **cells; /* row by row */
	size_t n, room;
};

/* heads ends with NULL. */
void table_begin(struct table *t, const char *const *heads);
/* The next cell, from left to right, row by row. */
__attribute__((format(printf, 2, 3))) void table_cell(
    struct table *t, const char *fmt, ...);
/* Headings and rows, and the memory is given back. */
void table_print(struct table *t, FILE *to);

#endif
