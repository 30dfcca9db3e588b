/* SPDX-License-Identifier: BSD-2-Clause */
/* looktable.c: columns of text as wide as what is in them. */
#include "looktable.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "strtool.h"

void
table_begin(struct table *t, const char *const *heads)
{
	*t = (struct table){.heads = heads};
	while (heads[t->columns] != NULL)
		t->columns++;
}

static void *
must(void *p)
{
	if (p == NULL) {
		tool_complain("no memory");
		exit(TOOL_USAGE);
	}
	return p;
}

void
table_cell(struct table *t, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		text = NULL;
	va_end(ap);
	if (t->n == t->room) {
		t->room = t->room == 0 ? 64 : 2 * t->room;
		t->cells = must(reallocarray(t->cells, t->room, sizeof(*t->cells)));
	}
	t->cells[t->n++] = must(text);
}

static const char *
heading(const struct table *t, int column)
{
	const char *head = t->heads[column];

	return *head == '>' ? head + 1 : head;
}

static void
print_row(const struct table *t, const int *width, char *const *cells, FILE *to)
{
	for (int c = 0; c < t->columns; c++) {
		const char *text = cells != NULL ? cells[c] : heading(t, c);
		const char *gap = c > 0 ? "  " : "";

		if (t->heads[c][0] == '>')
			fprintf(to, "%s%*s", gap, width[c], text);
		else if (c == t->columns - 1)
			fprintf(to, "%s%s", gap, text);
		else
			fprintf(to, "%s%-*s", gap, width[c], text);
	}
	putc('\n', to);
}

void
table_print(struct table *t, FILE *to)
{
	int width[TABLE_COLUMNS] = {0};

	for (int c = 0; c < t->columns; c++) {
		width[c] = (int)strlen(heading(t, c));
		for (size_t i = (size_t)c; i < t->n; i += (size_t)t->columns)
			if ((int)strlen(t->cells[i]) > width[c])
				width[c] = (int)strlen(t->cells[i]);
	}
	print_row(t, width, NULL, to);
	for (size_t i = 0; i < t->n; i += (size_t)t->columns)
		print_row(t, width, t->cells + i, to);
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i]);
	free(t->cells);
}
