/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_expr.c: values of expressions, and the functions by table. */
#include "strtest_expr.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ustreams.h>

#include "strtest_args.h"

enum { MOST_ARGS = 32 };
#define MOST_BYTES (64LL << 20) /* of a value */

/* A function gets its arguments unevaluated: some take names. */
typedef struct value function(struct run *r, const struct expr *call);

static const struct expr *
argument(const struct expr *call, int i)
{
	const struct expr *e = call->left;

	while (i-- > 0)
		e = e->next;
	return e;
}

/* ---- functions --------------------------------------------------------------------- */

static struct value
fn_hex(struct run *r, const struct expr *call)
{
	struct value text = expr_data(r, call->left);
	char *to = pool_alloc(&r->pool, text.len / 2 + 1), pair[3] = "";
	size_t n = 0, digits = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (isspace((unsigned char)text.data[i]))
			continue;
		if (!isxdigit((unsigned char)text.data[i]))
			run_broken(
			    r, call->at, "hex() takes hexadecimal digits and blanks");
		pair[digits++ % 2] = text.data[i];
		if (digits % 2 == 0)
			to[n++] = (char)strtoul(pair, NULL, 16);
	}
	if (digits % 2 != 0)
		run_broken(r, call->at, "hex() takes two digits a byte");
	return value_data(to, n);
}

static struct value
fn_file(struct run *r, const struct expr *call)
{
	const char *name = expr_word(r, call->left), *slash = strrchr(call->at.file, '/');
	char *to = NULL;
	size_t len = 0, room = 0, n;
	FILE *f;

	if (*name != '/' && slash != NULL)
		name = pool_printf(&r->pool, "%.*s/%s", (int)(slash - call->at.file),
		    call->at.file, name);
	if ((f = fopen(name, "r")) == NULL)
		run_broken(r, call->at, "%s: %m", name);
	do {
		if (room == len) {
			room = room * 2 + 65536;
			to = memcpy(
			    pool_alloc(&r->pool, room), to != NULL ? to : "", len);
		}
		n = fread(to + len, 1, room - len, f);
		len += n;
	} while (n > 0);
	fclose(f);
	return value_data(to, len);
}

static size_t
length_of(struct run *r, const struct expr *e)
{
	long long n = expr_number(r, e);

	if (n < 0 || n > MOST_BYTES)
		run_broken(r, e->at, "a length is 0 to 64M, not %lld", n);
	return (size_t)n;
}

static struct value
fn_fill(struct run *r, const struct expr *call)
{
	struct value text = expr_data(r, call->left);
	size_t n = length_of(r, argument(call, 1));
	char *to = pool_alloc(&r->pool, n + 1);

	if (text.len == 0 && n > 0)
		run_broken(r, call->at, "fill() needs at least one byte to fill with");
	for (size_t i = 0; i < n; i++)
		to[i] = text.data[i % text.len];
	return value_data(to, n);
}

static struct value
fn_seq(struct run *r, const struct expr *call)
{
	size_t n = length_of(r, call->left);
	char *to = pool_alloc(&r->pool, n + 1);

	for (size_t i = 0; i < n; i++)
		to[i] = (char)i;
	return value_data(to, n);
}

static struct value
numbers(struct run *r, const struct expr *call, size_t size)
{
	char *to = pool_alloc(&r->pool, MOST_ARGS * size);
	size_t n = 0;

	for (const struct expr *e = call->left; e != NULL; e = e->next) {
		int64_t number = expr_number(r, e);

		memcpy(to + n, &number, size); /* the machine is little-endian */
		n += size;
	}
	return value_data(to, n);
}

_Static_assert(
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers() and fn_num() take low bytes");

static struct value
fn_byte(struct run *r, const struct expr *call)
{
	return numbers(r, call, 1);
}

static struct value
fn_int(struct run *r, const struct expr *call)
{
	return numbers(r, call, sizeof(int));
}

static struct value
fn_long(struct run *r, const struct expr *call)
{
	return numbers(r, call, sizeof(long));
}

static struct value
fn_len(struct run *r, const struct expr *call)
{
	return value_number((long long)expr_data(r, call->left).len);
}

static struct value
fn_sub(struct run *r, const struct expr *call)
{
	struct value v = expr_data(r, call->left);
	size_t from = length_of(r, argument(call, 1)),
	       n = length_of(r, argument(call, 2));

	if (from > v.len || n > v.len - from)
		run_broken(r, call->at, "sub(): there are only %zu bytes", v.len);
	return value_data(v.data + from, n);
}

static struct value
fn_num(struct run *r, const struct expr *call)
{
	struct value v = expr_data(r, call->left);
	int64_t number = 0;

	if (v.len != 1 && v.len != 2 && v.len != 4 && v.len != 8)
		run_broken(r, call->at, "num() takes 1, 2, 4 or 8 bytes, not %zu", v.len);
	memcpy(&number, v.data, v.len);
	return value_number(v.len == 4 ? (int32_t)number : number);
}

static struct value
fn_fd(struct run *r, const struct expr *call)
{
	return value_number(handles_fd(r, call->left->at, call->left->text));
}

static struct value
fn_tunable(struct run *r, const struct expr *call)
{
	return value_number(ustr_tunable(expr_word(r, call->left)));
}

static struct value
fn_pid(struct run *r, const struct expr *call)
{
	(void)r, (void)call;
	return value_number(getpid());
}

static struct value
fn_uid(struct run *r, const struct expr *call)
{
	(void)r, (void)call;
	return value_number(geteuid());
}

static struct value
fn_gid(struct run *r, const struct expr *call)
{
	(void)r, (void)call;
	return value_number(getegid());
}

static struct value
fn_now(struct run *r, const struct expr *call)
{
	(void)r, (void)call;
	return value_number(run_now());
}

/* names: its argument is a name, not a value. */
static const struct {
	const char *name;
	int least, most;
	bool names;
	function *value;
} functions[] = {{"hex", 1, 1, false, fn_hex}, {"file", 1, 1, false, fn_file},
    {"fill", 2, 2, false, fn_fill}, {"seq", 1, 1, false, fn_seq},
    {"byte", 1, MOST_ARGS, false, fn_byte}, {"int", 1, MOST_ARGS, false, fn_int},
    {"long", 1, MOST_ARGS, false, fn_long}, {"len", 1, 1, false, fn_len},
    {"sub", 3, 3, false, fn_sub}, {"num", 1, 1, false, fn_num}, {"fd", 1, 1, true, fn_fd},
    {"tunable", 1, 1, true, fn_tunable}, {"pid", 0, 0, false, fn_pid},
    {"uid", 0, 0, false, fn_uid}, {"gid", 0, 0, false, fn_gid},
    {"now", 0, 0, false, fn_now}};

static size_t
find_function(const char *name)
{
	size_t i = 0;

	while (i < NELEM(functions) && strcmp(functions[i].name, name) != 0)
		i++;
	return i;
}

/* ---- the check before ---------------------------------------------------------------- */

static const char *
check_name(struct pool *p, const struct expr *e)
{
	long long value;
	enum name_sort sort;
	const char *guess;

	if (names_find(e->text, &value, &sort))
		return NULL;
	guess = names_guess(e->text);
	return pool_printf(p, "no such constant: '%s'%s%s%s; legal:%s", e->text,
	    guess != NULL ? "; did you mean '" : "", guess != NULL ? guess : "",
	    guess != NULL ? "'?" : "", names_like(p, e->text));
}

static const char *
unknown_function(struct pool *p, const char *name)
{
	const char *all = "", *best = NULL;

	for (size_t i = 0; i < NELEM(functions); i++) {
		all = pool_printf(p, "%s %s", all, functions[i].name);
		best = names_nearer(name, functions[i].name, best);
	}
	return pool_printf(p, "no such function: '%s'%s%s%s; legal:%s", name,
	    best != NULL ? "; did you mean '" : "", best != NULL ? best : "",
	    best != NULL ? "'?" : "", all);
}

static const char *
check_call(struct pool *p, const struct expr *e, struct place *at)
{
	size_t i = find_function(e->text);
	const char *wrong = NULL;
	int n = 0;

	if (i == NELEM(functions))
		return unknown_function(p, e->text);
	for (const struct expr *a = e->left; a != NULL && wrong == NULL;
	     a = a->next, n++) {
		if (!functions[i].names)
			wrong = expr_check(p, a, at);
		else if (a->kind != EXPR_NAME)
			wrong = pool_printf(p, "%s() takes a name", e->text);
	}
	if (wrong != NULL)
		return wrong;
	*at = e->at;
	if (n < functions[i].least || n > functions[i].most)
		wrong = pool_printf(p, "%s() takes %d argument%s, not %d", e->text,
		    functions[i].least, functions[i].least == 1 ? "" : "s", n);
	return wrong;
}

const char *
expr_check(struct pool *p, const struct expr *e, struct place *at)
{
	const char *wrong;

	*at = e->at;
	switch (e->kind) {
	case EXPR_NAME:
		return check_name(p, e);
	case EXPR_CALL:
		return check_call(p, e, at);
	case EXPR_UNARY:
		return expr_check(p, e->left, at);
	case EXPR_BINARY:
		wrong = expr_check(p, e->left, at);
		return wrong != NULL ? wrong : expr_check(p, e->right, at);
	default:
		return NULL;
	}
}

/* ---- values ---------------------------------------------------------------------------- */

static struct value
name_value(struct run *r, const struct expr *e)
{
	struct value v = value_number(0);

	if (!names_find(e->text, &v.number, &v.sort))
		run_broken(r, e->at, "no such constant: '%s'", e->text);
	return v;
}

/* Text of a value within a string: a number as it was written, or in decimal. */
static struct value
as_text(struct run *r, const struct value *v)
{
	if (v->kind == VALUE_DATA)
		return *v;
	return value_text(v->written != NULL ? v->written : value_show(&r->pool, v));
}

static struct value
join_two(struct run *r, const struct value *a, const struct value *b)
{
	char *to = pool_alloc(&r->pool, a->len + b->len + 1);

	if (a->len > 0)
		memcpy(to, a->data, a->len);
	if (b->len > 0)
		memcpy(to + a->len, b->data, b->len);
	return value_data(to, a->len + b->len);
}

static struct value
join_value(struct run *r, const struct expr *e)
{
	struct value all = value_data("", 0);

	for (const struct expr *part = e->left; part != NULL; part = part->next) {
		struct value v = expr_value(r, part), text = as_text(r, &v);

		all = part == e->left ? text : join_two(r, &all, &text);
	}
	return all;
}

static struct value
binary_value(struct run *r, const struct expr *e)
{
	struct value a = expr_value(r, e->left), b = expr_value(r, e->right);

	if (e->op == '+' && a.kind == VALUE_DATA && b.kind == VALUE_DATA)
		return join_two(r, &a, &b);
	if (a.kind != VALUE_NUMBER || b.kind != VALUE_NUMBER)
		run_broken(r, e->at, "%c takes two numbers%s", e->op,
		    e->op == '+' ? " or two strings" : "");
	switch (e->op) {
	case '+':
		return value_number((long long)((unsigned long long)a.number +
		    (unsigned long long)b.number));
	case '-':
		return value_number((long long)((unsigned long long)a.number -
		    (unsigned long long)b.number));
	case '*':
		return value_number((long long)((unsigned long long)a.number *
		    (unsigned long long)b.number));
	default:
		return value_number(a.number | b.number);
	}
}

static struct value
unary_value(struct run *r, const struct expr *e)
{
	long long n = expr_number(r, e->left);

	return value_number(e->op == '~' ? ~n : (long long)-(unsigned long long)n);
}

struct value
expr_value(struct run *r, const struct expr *e)
{
	switch (e->kind) {
	case EXPR_NUMBER:
		return value_number(e->number);
	case EXPR_TEXT:
		return value_data(e->text, e->len);
	case EXPR_JOIN:
		return join_value(r, e);
	case EXPR_VARIABLE: {
		const struct value *v = run_variable(r, e->text);

		if (v == NULL)
			run_broken(r, e->at, "the variable $%s was never set", e->text);
		return *v;
	}
	case EXPR_NAME:
		return name_value(r, e);
	case EXPR_CALL:
		return functions[find_function(e->text)].value(r, e);
	case EXPR_UNARY:
		return unary_value(r, e);
	default:
		return binary_value(r, e);
	}
}

long long
expr_number(struct run *r, const struct expr *e)
{
	struct value v = expr_value(r, e);

	if (v.kind != VALUE_NUMBER)
		run_broken(r, e->at, "a number must stand here, not %s",
		    value_show(&r->pool, &v));
	return v.number;
}

static const char *
below_zero(struct pool *p, long long n)
{
	return pool_printf(p, "%lld is below 0; legal: 0 and more", n);
}

long long
expr_count(struct run *r, const struct expr *e)
{
	long long n = expr_number(r, e);

	if (n < 0)
		run_broken(r, e->at, "%s", below_zero(&r->pool, n));
	return n;
}

const char *
expr_check_count(struct pool *p, const struct expr *e)
{
	const struct expr *number = e->kind == EXPR_UNARY ? e->left : e;

	if (e->kind != EXPR_UNARY || e->op != '-' || number->kind != EXPR_NUMBER ||
	    number->number <= 0)
		return NULL;
	return below_zero(p, -number->number);
}

struct value
expr_data(struct run *r, const struct expr *e)
{
	struct value v = expr_value(r, e);

	if (v.kind != VALUE_DATA)
		run_broken(r, e->at, "data must stand here, such as a string, not %s",
		    value_show(&r->pool, &v));
	return v;
}

const char *
expr_word(struct run *r, const struct expr *e)
{
	struct value v;

	if (e->kind == EXPR_NAME)
		return e->text;
	v = expr_value(r, e);
	v = as_text(r, &v);
	return pool_copy(&r->pool, v.data, v.len);
}
