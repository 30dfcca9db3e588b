/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_record.c: read what was measured before.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "strperf.h"
#include "strperf_json.h"

/* Whether f begins with a brace; nothing is taken. */
static bool
is_json(FILE *f)
{
	int c = getc(f);

	ungetc(c, f);
	return c == '{';
}

static int
read_result(struct book *b, size_t operand, FILE *f)
{
	json_error_t error;
	json_t *root = json_loadf(f, 0, &error);
	const char *tool = js_find_string(root, "tool");
	int taken = 0;

	if (root == NULL) {
		complain("%s, line %d: %s", b->name[operand], error.line, error.text);
		return EXIT_USAGE;
	}
	if (tool == NULL || strcmp(tool, "strperf") != 0) {
		complain("%s: JSON, but not a result of strperf", b->name[operand]);
	} else if (js_find_number(root, "schema") != JS_SCHEMA) {
		complain("%s: a result of another schema than %d", b->name[operand],
		    JS_SCHEMA);
	} else {
		taken = book_take(b, root, operand, false);
		if (taken == 0)
			complain("%s: no samples in its results", b->name[operand]);
	}
	json_decref(root);
	return taken > 0 ? EXIT_DONE : taken == 0 ? EXIT_USAGE : EXIT_FAILED;
}

static int
read_numbers(struct book *b, size_t operand, FILE *f, const struct set_columns *columns,
    bool higher)
{
	struct series *s = book_plain(b, higher);
	struct set *set = s == NULL ? NULL : book_set(b, s, operand);

	return set == NULL ? EXIT_FAILED : set_read(set, f, columns);
}

int
record_read(struct book *b, size_t operand, const char *path,
    const struct set_columns *columns, bool higher)
{
	bool standard = strcmp(path, "-") == 0;
	FILE *f = standard ? stdin : fopen(path, "re");
	int status;

	if (f == NULL) {
		complain("%s: %s", path, strerror(errno));
		return EXIT_USAGE;
	}
	if (is_json(f))
		status = read_result(b, operand, f);
	else
		status = read_numbers(b, operand, f, columns, higher);
	if (!standard)
		fclose(f);
	return status;
}
