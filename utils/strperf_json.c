/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_json.c: JSON results: build them, print them, find values in them.
 *
 * When memory runs out jansson gives NULL, and takes NULL: that member is then
 * missing from the result, which stays JSON.
 */
#include "strperf_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 9 /* of a number: finer than any clock here */

/* ---- building ------------------------------------------------------------------- */

void
js_init(struct js *j)
{
	memset(j, 0, sizeof(*j));
}

/* Put a new value, whose reference is given away, into the innermost bracket. */
static void
add(struct js *j, const char *key, json_t *value)
{
	bool inside = j->depth > 0 && j->depth <= JS_DEEPEST;
	json_t *inner = inside ? j->open[j->depth - 1] : NULL;

	if (inner == NULL)
		json_decref(value);
	else if (key == NULL)
		json_array_append_new(inner, value);
	else
		json_object_set_new(inner, key, value);
}

void
js_begin(struct js *j, const char *key, char bracket)
{
	json_t *value = bracket == '{' ? json_object() : json_array();

	if (j->root == NULL)
		j->root = value;
	else
		add(j, key, value);
	if (j->depth < JS_DEEPEST)
		j->open[j->depth] = value;
	j->depth++;
}

void
js_end(struct js *j, char bracket)
{
	(void)bracket;
	j->depth--;
}

void
js_string(struct js *j, const char *key, const char *value)
{
	json_t *text = json_string(value);
	char *copy;

	if (text == NULL && (copy = strdup(value)) != NULL) {
		for (char *p = copy; *p != '\0'; p++)
			if ((unsigned char)*p >= 0x80)
				*p = '?';
		text = json_string(copy);
		free(copy);
	}
	add(j, key, text);
}

void
js_number(struct js *j, const char *key, double value)
{
	add(j, key, isfinite(value) ? json_real(value) : json_null());
}

void
js_count(struct js *j, const char *key, uint64_t value)
{
	add(j, key, json_integer((json_int_t)value));
}

void
js_bool(struct js *j, const char *key, bool value)
{
	add(j, key, json_boolean(value));
}

void
js_numbers(struct js *j, const char *key, const double *v, size_t n)
{
	js_begin(j, key, '[');
	for (size_t i = 0; i < n; i++)
		js_number(j, NULL, v[i]);
	js_end(j, ']');
}

void
js_interval(struct js *j, const char *key, double lo, double hi)
{
	js_numbers(j, key, (const double[]){lo, hi}, 2);
}

void
js_envelope(struct js *j, const char *command)
{
	js_string(j, "tool", "strperf");
	js_string(j, "command", command);
	js_count(j, "schema", JS_SCHEMA);
}

void
js_print(struct js *j, FILE *f)
{
	json_dumpf(j->root, f, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
	putc('\n', f);
	json_decref(j->root);
	js_init(j);
}

/* ---- reading -------------------------------------------------------------------- */

json_t *
js_parse(const char *text, char *complaint, size_t size)
{
	json_error_t error;
	json_t *root = json_loads(text, 0, &error);

	if (root == NULL)
		snprintf(complaint, size, "line %d: %s", error.line, error.text);
	return root;
}

const json_t *
js_find(const json_t *root, const char *path)
{
	char part[64];

	while (root != NULL && *path != '\0') {
		size_t len = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)len, path);
		root = json_is_array(root) ? json_array_get(root, strtoul(part, NULL, 10))
					   : json_object_get(root, part);
		path += len + (path[len] == '.');
	}
	return root;
}

double
js_find_number(const json_t *root, const char *path)
{
	const json_t *value = js_find(root, path);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *
js_find_string(const json_t *root, const char *path)
{
	return json_string_value(js_find(root, path));
}
