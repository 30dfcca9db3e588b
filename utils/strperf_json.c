/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_json.c: write JSON, and find values in JSON that strperf wrote.
 *
 * The reader keeps no tree: it walks the text, skipping values, until the path
 * is used up.  A key in a path is compared as it is written, without escapes.
 */
#include "strperf_json.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 32 /* nested brackets a reader follows */

/* ---- writing -------------------------------------------------------------------- */

static void
write_quoted(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20)
			fprintf(f, "\\u%04x", c);
		else
			putc(c, f);
	}
	putc('"', f);
}

static void
lead(struct json *j, const char *key)
{
	if (j->more)
		putc(',', j->f);
	j->more = true;
	if (key == NULL)
		return;
	write_quoted(j->f, key);
	putc(':', j->f);
}

void
json_begin(struct json *j, const char *key, char bracket)
{
	lead(j, key);
	putc(bracket, j->f);
	j->more = false;
}

void
json_end(struct json *j, char bracket)
{
	putc(bracket, j->f);
	j->more = true;
}

void
json_string(struct json *j, const char *key, const char *value)
{
	lead(j, key);
	write_quoted(j->f, value);
}

void
json_number(struct json *j, const char *key, double value)
{
	lead(j, key);
	if (isfinite(value))
		fprintf(j->f, "%.9g", value);
	else
		fputs("null", j->f);
}

void
json_count(struct json *j, const char *key, uint64_t value)
{
	lead(j, key);
	fprintf(j->f, "%" PRIu64, value);
}

void
json_bool(struct json *j, const char *key, bool value)
{
	lead(j, key);
	fputs(value ? "true" : "false", j->f);
}

void
json_interval(struct json *j, const char *key, double lo, double hi)
{
	json_begin(j, key, '[');
	json_number(j, NULL, lo);
	json_number(j, NULL, hi);
	json_end(j, ']');
}

/* ---- reading -------------------------------------------------------------------- */

static const char *skip_value(const char *p, int depth);

static const char *
skip_space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* From an opening quote to past the closing one; NULL: there is none. */
static const char *
skip_string(const char *p)
{
	for (p++; *p != '"'; p++) {
		if (*p == '\\')
			p++;
		if (*p == '\0')
			return NULL;
	}
	return p + 1;
}

/* A number, true, false or null. */
static const char *
skip_word(const char *p)
{
	const char *start = p;

	while (isalnum((unsigned char)*p) || *p == '-' || *p == '+' || *p == '.')
		p++;
	return p == start ? NULL : p;
}

/* Past `"key" :`, where an object's value begins; *key is where its quote stands. */
static const char *
skip_key(const char *p, const char **key)
{
	p = skip_space(p);
	*key = p;
	p = *p == '"' ? skip_string(p) : NULL;
	p = p == NULL ? NULL : skip_space(p);
	return p == NULL || *p != ':' ? NULL : p + 1;
}

/*
 * Step through an object or array, from its opening bracket, to the member
 * called name (an array's members are called 0, 1, ...), or, with name NULL,
 * past the closing bracket.
 */
static const char *
walk(const char *p, const char *name, size_t len, int depth)
{
	bool object = *p == '{';
	unsigned long index = 0;
	const char *key;

	p = skip_space(p + 1);
	while (*p != '}' && *p != ']') {
		if (object && (p = skip_key(p, &key)) == NULL)
			return NULL;
		p = skip_space(p);
		if (name != NULL && object && strncmp(key + 1, name, len) == 0 &&
		    key[1 + len] == '"')
			return p;
		if (name != NULL && !object && strtoul(name, NULL, 10) == index++)
			return p;
		if ((p = skip_value(p, depth + 1)) == NULL)
			return NULL;
		p = skip_space(p);
		if (*p == ',')
			p = skip_space(p + 1);
		else if (*p != '}' && *p != ']')
			return NULL;
	}
	return name == NULL ? p + 1 : NULL;
}

static const char *
skip_value(const char *p, int depth)
{
	p = skip_space(p);
	if (*p == '"')
		return skip_string(p);
	if (*p != '{' && *p != '[')
		return skip_word(p);
	return depth > DEEPEST ? NULL : walk(p, NULL, 0, depth);
}

double
json_find_number(const char *text, const char *path)
{
	const char *p = skip_space(text);

	while (p != NULL && *path != '\0') {
		size_t part = strcspn(path, ".");

		p = *p == '{' || *p == '[' ? walk(p, path, part, 0) : NULL;
		path += part + (path[part] == '.');
	}
	return p != NULL && (isdigit((unsigned char)*p) || *p == '-') ? strtod(p, NULL)
								      : NAN;
}
