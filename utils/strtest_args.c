/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_args.c: the arguments of verbs, evaluated. */
#include "strtest_args.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "strtest_expr.h"

const struct expr *
arg_at(const struct command *c, int i)
{
	const struct expr *e = c->args;

	while (e != NULL && i-- > 0)
		e = e->next;
	return e;
}

int
arg_fd(struct run *r, const struct command *c, int i)
{
	const struct expr *e = arg_at(c, i);

	return e->kind == EXPR_NAME ? handles_fd(r, e->at, e->text)
				    : (int)expr_number(r, e);
}

const char *
arg_word(struct run *r, const struct command *c, int i)
{
	return expr_word(r, arg_at(c, i));
}

const char *
arg_name(const struct command *c, int i)
{
	return arg_at(c, i)->text;
}

long long
arg_number(struct run *r, const struct command *c, int i, long long otherwise)
{
	const struct expr *e = arg_at(c, i);

	return e == NULL ? otherwise : expr_number(r, e);
}

struct value
arg_data(struct run *r, const struct command *c, int i)
{
	return expr_data(r, arg_at(c, i));
}

int
arg_signal(struct run *r, const struct command *c, int i)
{
	return (int)expr_number(r, arg_at(c, i));
}

const char *
arg_path(struct run *r, const struct command *c, int i)
{
	const char *word = arg_word(r, c, i), *slash = strchr(word, '/');

	if (*word == '/' || *word == '.' || *word == '\0')
		return word;
	if (slash == NULL)
		return pool_printf(&r->pool, "/dev/streams/clone/%s", word);
	return isdigit((unsigned char)slash[1])
	    ? pool_printf(&r->pool, "/dev/streams/%s", word)
	    : word;
}

/* ---- keys ------------------------------------------------------------------------ */

static const struct pair *
find(const struct command *c, const char *key)
{
	const struct pair *p = c->keys;

	while (p != NULL && strcmp(p->key, key) != 0)
		p = p->next;
	return p;
}

const struct expr *
key_at(const struct command *c, const char *key)
{
	const struct pair *p = find(c, key);

	return p == NULL ? NULL : p->value;
}

bool
key_given(const struct command *c, const char *key)
{
	return find(c, key) != NULL;
}

long long
key_number(struct run *r, const struct command *c, const char *key, long long otherwise)
{
	const struct expr *e = key_at(c, key);

	return e == NULL ? otherwise : expr_number(r, e);
}

static bool
is_word(const struct expr *e, const char *word)
{
	return e != NULL && e->kind == EXPR_NAME && strcmp(e->text, word) == 0;
}

bool
key_any(const struct command *c, const char *key)
{
	return is_word(key_at(c, key), "any");
}

bool
key_data(struct run *r, const struct command *c, const char *key, struct value *v)
{
	const struct expr *e = key_at(c, key);

	*v = value_none();
	if (e == NULL || is_word(e, "none"))
		return false;
	*v = expr_data(r, e);
	return true;
}

void *
key_pointer(
    struct run *r, const struct command *c, const char *key, const void *otherwise)
{
	return (void *)(intptr_t)key_number(r, c, key, (intptr_t)otherwise);
}

/* ---- time ------------------------------------------------------------------------ */

static long long
scaled(struct run *r, const struct expr *e, long long otherwise)
{
	return (long long)((double)(e == NULL ? otherwise : expr_count(r, e)) *
	    options.slow);
}

long long
time_within(
    struct run *r, const struct command *c, struct outcome *o, long long otherwise)
{
	o->waited = true;
	return scaled(r, c->within, otherwise);
}

long long
time_lasting(
    struct run *r, const struct command *c, struct outcome *o, long long otherwise)
{
	o->waited = true;
	return c->lasting == NULL ? otherwise : expr_count(r, c->lasting);
}

/* ---- guarded memory ----------------------------------------------------------------- */

enum { GUARD = 32, GUARD_BYTE = 0xa5 };

char *
guarded_room(struct run *r, size_t n)
{
	char *room = pool_alloc(&r->pool, n + GUARD);

	memset(room + n, GUARD_BYTE, GUARD);
	return room;
}

void
guarded_check(struct run *r, const char *room, size_t n)
{
	for (int i = 0; i < GUARD; i++)
		if ((unsigned char)room[n + (size_t)i] != GUARD_BYTE)
			run_failed(r, "nothing is written behind the buffer",
			    pool_printf(
				&r->pool, "byte %d behind it was overwritten", i));
}
