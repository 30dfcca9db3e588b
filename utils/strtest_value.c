/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_value.c: values made, compared and shown. */
#include "strtest_value.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct value
value_number(long long n)
{
	return (struct value){.kind = VALUE_NUMBER, .number = n};
}

struct value
value_error(int error)
{
	return (struct value){.kind = VALUE_NUMBER, .sort = SORT_ERRNO, .number = error};
}

struct value
value_signal(int sig)
{
	return (struct value){.kind = VALUE_NUMBER, .sort = SORT_SIGNAL, .number = sig};
}

struct value
value_data(const void *data, size_t len)
{
	return (struct value){.kind = VALUE_DATA, .data = data, .len = len};
}

struct value
value_text(const char *text)
{
	return value_data(text, strlen(text));
}

struct value
value_none(void)
{
	return (struct value){.kind = VALUE_NONE};
}

bool
value_equal(const struct value *a, const struct value *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case VALUE_NUMBER:
		return a->number == b->number && a->sort == b->sort;
	case VALUE_DATA:
		return a->len == b->len &&
		    (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
	default:
		return true;
	}
}

/* ---- for people ---------------------------------------------------------------- */

enum { SHOWN = 64 }; /* bytes of data */

static char *
show_byte(char *to, unsigned char c)
{
	static const char plain[] = "\n\t\r\"\\$", escaped[] = "ntr\"\\$";
	const char *at = c == '\0' ? NULL : strchr(plain, c);

	if (at != NULL)
		return to + sprintf(to, "\\%c", escaped[at - plain]);
	if (isprint(c))
		return to + sprintf(to, "%c", c);
	return to + sprintf(to, "\\x%02x", c);
}

static const char *
show_data(struct pool *p, const struct value *v)
{
	char text[4 * SHOWN + 1], *to = text;

	*to = '\0';
	for (size_t i = 0; i < v->len && i < SHOWN; i++)
		to = show_byte(to, (unsigned char)v->data[i]);
	if (v->len <= SHOWN)
		return pool_printf(p, "\"%s\"", text);
	return pool_printf(p, "\"%s\"... (%zu bytes)", text, v->len);
}

const char *
value_show(struct pool *p, const struct value *v)
{
	const char *name = NULL;

	if (v->kind == VALUE_NONE)
		return "none";
	if (v->kind == VALUE_DATA)
		return show_data(p, v);
	if (v->sort == SORT_ERRNO)
		name = names_errno((int)v->number);
	else if (v->sort == SORT_SIGNAL)
		name = names_signal((int)v->number);
	return name != NULL ? name : pool_printf(p, "%lld", v->number);
}

const char *
value_difference(struct pool *p, const struct value *a, const struct value *b)
{
	size_t i = 0;

	if (a->kind != VALUE_DATA || b->kind != VALUE_DATA)
		return "";
	if (a->len <= SHOWN && b->len <= SHOWN)
		return "";
	while (i < a->len && i < b->len && a->data[i] == b->data[i])
		i++;
	return pool_printf(p, ", different from byte %zu on", i);
}
