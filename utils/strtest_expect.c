/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_expect.c: does a command give what the script says? */
#include <errno.h>
#include <string.h>

#include "strtest_args.h"
#include "strtest_expr.h"

void
out_call(struct outcome *o, long long result)
{
	o->error = result == -1 ? errno : 0;
	o->result = value_number(result);
}

void
out_field(struct outcome *o, const char *name, struct value v)
{
	if (o->nfields == MAX_FIELDS)
		return;
	o->fields[o->nfields].name = name;
	o->fields[o->nfields++].value = v;
}

void
out_number(struct outcome *o, const char *name, long long n)
{
	out_field(o, name, value_number(n));
}

static const struct value *
field(const struct outcome *o, const char *name)
{
	for (int i = 0; i < o->nfields; i++)
		if (strcmp(o->fields[i].name, name) == 0)
			return &o->fields[i].value;
	return NULL;
}

/* ---- what came, in words --------------------------------------------------------- */

static const char *
show_result(struct run *r, const struct outcome *o)
{
	if (o->error != 0) {
		const char *name = names_errno(o->error);

		return pool_printf(&r->pool, "%s (%s)",
		    name != NULL ? name : "an unknown errno", strerror(o->error));
	}
	return value_show(&r->pool, &o->result);
}

const char *
outcome_show(struct run *r, const struct outcome *o)
{
	const char *text = show_result(r, o);

	for (int i = 0; i < o->nfields && o->error == 0; i++)
		text = pool_printf(&r->pool, "%s %s=%s", text, o->fields[i].name,
		    value_show(&r->pool, &o->fields[i].value));
	return text;
}

/* As it was written, and what that is where it does not say so itself. */
static const char *
show_wanted(struct run *r, const struct wanted *w)
{
	struct value v;
	const char *shown;

	if (w->kind != WANT_VALUE)
		return w->kind == WANT_NONE ? "none" : "any";
	v = expr_value(r, w->value);
	shown = value_show(&r->pool, &v);
	return strcmp(shown, w->value->source) == 0
	    ? shown
	    : pool_printf(&r->pool, "%s (%s)", shown, w->value->source);
}

static const char *
show_expected(struct run *r, const struct command *c)
{
	const char *text = "";

	for (const struct wanted *w = c->results; w != NULL; w = w->next)
		text = pool_printf(&r->pool, "%s%s%s", text,
		    w == c->results ? "" : " or ", show_wanted(r, w));
	for (const struct pair *f = c->fields; f != NULL; f = f->next)
		text = pool_printf(&r->pool, "%s%s%s=%s", text, *text != '\0' ? " " : "",
		    f->key, show_wanted(r, f->wanted));
	return text;
}

/* ---- judging ------------------------------------------------------------------------ */

static bool
is_error(const struct value *v)
{
	return v->kind == VALUE_NUMBER && v->sort == SORT_ERRNO;
}

static bool
result_is(struct run *r, const struct wanted *w, const struct outcome *o)
{
	struct value v, came = o->error != 0 ? value_number(-1) : o->result;

	if (w->kind == WANT_BIND)
		run_assign(r, w->name, &came);
	if (w->kind != WANT_VALUE)
		return w->kind != WANT_NONE;
	v = expr_value(r, w->value);
	if (is_error(&v))
		return o->error == (int)v.number;
	if (o->error != 0)
		return false;
	if (v.kind == VALUE_DATA && o->result.kind == VALUE_NUMBER) {
		const struct value *data = field(o, "data");

		return data != NULL && value_equal(&v, data);
	}
	return value_equal(&v, &o->result);
}

static bool
field_is(struct run *r, const struct pair *f, const struct outcome *o)
{
	const struct value *came = field(o, f->key);
	struct value v;

	if (came == NULL)
		return false;
	switch (f->wanted->kind) {
	case WANT_ANY:
		return true;
	case WANT_BIND:
		run_assign(r, f->wanted->name, came);
		return true;
	case WANT_NONE:
		return came->kind == VALUE_NONE;
	default:
		v = expr_value(r, f->wanted->value);
		return value_equal(&v, came);
	}
}

/* Where a long field parts from what was wanted. */
static const char *
difference(struct run *r, const struct command *c, const struct outcome *o)
{
	const char *text = "";

	for (const struct pair *f = c->fields; f != NULL; f = f->next) {
		const struct value *came = field(o, f->key);
		struct value v;

		if (came == NULL || f->wanted->kind != WANT_VALUE)
			continue;
		v = expr_value(r, f->wanted->value);
		if (!value_equal(&v, came))
			text = pool_printf(
			    &r->pool, "%s%s", text, value_difference(&r->pool, &v, came));
	}
	return text;
}

static bool
one_result_is(struct run *r, const struct command *c, const struct outcome *o)
{
	const struct wanted *w = c->results;

	if (w == NULL)
		return o->error == 0;
	while (w != NULL && !result_is(r, w, o))
		w = w->next;
	return w != NULL;
}

static void
check_default(struct run *r, const struct outcome *o)
{
	if (o->error == 0 && (!o->must_give || o->result.number == o->default_result))
		return;
	run_failed(r,
	    o->must_give ? pool_printf(&r->pool, "%lld", o->default_result) : "success",
	    outcome_show(r, o));
}

void
outcome_check(struct run *r, const struct command *c, struct outcome *o)
{
	bool good;

	if (o->done)
		return;
	if (!c->arrow) {
		if (!options.dialogue) /* who types sees what came */
			check_default(r, o);
		return;
	}
	good = one_result_is(r, c, o);
	for (const struct pair *f = c->fields; f != NULL && good; f = f->next)
		good = field_is(r, f, o);
	if (!good)
		run_failed(r, show_expected(r, c),
		    pool_printf(
			&r->pool, "%s%s", outcome_show(r, o), difference(r, c, o)));
}

void
outcome_timing(
    struct run *r, const struct command *c, const struct outcome *o, long long took)
{
	long long limit;

	if (c->within != NULL && !o->waited) {
		limit = (long long)((double)expr_count(r, c->within) * options.slow);
		if (took > limit)
			run_failed(r, pool_printf(&r->pool, "within %lld us", limit),
			    pool_printf(&r->pool, "%lld us", took));
	}
	if (c->after != NULL) {
		limit = expr_count(r, c->after);
		if (took < limit)
			run_failed(r, pool_printf(&r->pool, "after %lld us", limit),
			    pool_printf(&r->pool, "%lld us", took));
	}
}
