/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_output.c: verbs that only show something. */
#include <ctype.h>

#include "strtest_args.h"
#include "strtest_draw.h"
#include "strtest_expr.h"
#include "strtest_forms.h"

/* Text as it is; what a terminal should not see as a script writes it. */
static const char *
plain(struct run *r, const struct value *v)
{
	for (size_t i = 0; v->kind == VALUE_DATA && i < v->len; i++)
		if (iscntrl((unsigned char)v->data[i]))
			return value_show(&r->pool, v);
	return v->kind == VALUE_DATA ? pool_copy(&r->pool, v->data, v->len)
				     : value_show(&r->pool, v);
}

static void
do_print(struct run *r, const struct command *c, struct outcome *o)
{
	const char *text = "";

	(void)o;
	for (int i = 0; i < c->nargs; i++) {
		struct value v = expr_value(r, arg_at(c, i));

		text = pool_printf(
		    &r->pool, "%s%s%s", text, i > 0 ? " " : "", plain(r, &v));
	}
	run_report(r, "%s", text);
}

static void
do_draw(struct run *r, const struct command *c, struct outcome *o)
{
	(void)o;
	if (c->nargs == 0)
		draw_all(r);
	for (int i = 0; i < c->nargs; i++)
		draw_one(r, arg_at(c, i)->source, arg_fd(r, c, i));
}

static const struct form forms[] = {
    {"print", do_print, "D*", NULL, NULL, NULL, 0},
    {"draw", do_draw, "H*", NULL, NULL, NULL, 0},
};

const struct form_table forms_output = {forms, NELEM(forms)};
