/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_tool.c: strconf and strchg as verbs, on the streams of a script. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "modlist.h"
#include "strtest_args.h"
#include "strtest_expr.h"
#include "strtest_forms.h"

static const char *
joined(struct run *r, const struct modlist *l)
{
	const char *all = "";

	for (int i = 0; i < l->n; i++)
		all = pool_printf(&r->pool, "%s%s%s", all, i > 0 ? "," : "", l->names[i]);
	return all;
}

/* strconf name -> modules names= top= count= ; with a module: 1 or 0 */
static void
do_strconf(struct run *r, const struct command *c, struct outcome *o)
{
	struct modlist l;

	errno = modlist_read(arg_fd(r, c, 0), &l);
	out_call(o, errno != 0 ? -1 : modlist_modules(&l));
	if (o->error != 0)
		return;
	out_field(o, "names", value_text(joined(r, &l)));
	out_field(
	    o, "top", modlist_modules(&l) > 0 ? value_text(l.names[0]) : value_none());
	if (c->nargs > 1)
		o->result = value_number(modlist_find(&l, arg_word(r, c, 1)) != -1);
}

static int
set(struct run *r, int fd, const struct expr *file, char bad[FMNAMESZ + 1])
{
	const char *name = expr_word(r, file), *slash = strrchr(file->at.file, '/');
	FILE *f;
	int error;

	if (*name != '/' && slash != NULL)
		name = pool_printf(&r->pool, "%.*s/%s", (int)(slash - file->at.file),
		    file->at.file, name);
	f = fopen(name, "r");
	if (f == NULL)
		return errno;
	error = modlist_set(fd, f, bad);
	fclose(f);
	return error;
}

static void
do_strchg(struct run *r, const struct command *c, struct outcome *o)
{
	char bad[FMNAMESZ + 1];
	int fd = arg_fd(r, c, 0), error = EINVAL;

	if (key_given(c, "push"))
		error = modlist_push(fd, expr_word(r, key_at(c, "push")), bad);
	else if (key_given(c, "to"))
		error = modlist_pop_to(fd, expr_word(r, key_at(c, "to")));
	else if (key_given(c, "file"))
		error = set(r, fd, key_at(c, "file"), bad);
	else if (key_given(c, "pop") || key_given(c, "all"))
		error = modlist_pop(fd, key_given(c, "all") ? MODLIST_MOST : 1);
	else
		run_broken(
		    r, c->at, "what is to be done? legal: push= pop all to= file=");
	errno = error;
	out_call(o, error != 0 ? -1 : 0);
}

static const struct form forms[] = {
    {"strconf", do_strconf, "H W?", NULL, "names top", NULL, 0},
    {"strchg", do_strchg, "H", "push:W pop! all! to:W file:W", NULL, NULL, 0},
};

const struct form_table forms_tool = {forms, NELEM(forms)};
