/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_forms.c: the tables of verbs as one, and their little language of arguments. */
#include "strtest_forms.h"

#include <ctype.h>
#include <string.h>

static const struct form_table *const tables[] = {&forms_stream, &forms_message,
    &forms_control, &forms_wait, &forms_signal, &forms_actor, &forms_tool, &forms_output};

static const struct form *
find(const struct form_table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->forms[i].name, name) == 0)
			return &t->forms[i];
	return NULL;
}

const struct form *
forms_find(const char *verb)
{
	const struct form *f = NULL;

	for (size_t t = 0; t < NELEM(tables) && f == NULL; t++)
		f = find(tables[t], verb);
	return f;
}

const struct form *
forms_ioctl_find(const char *command)
{
	return find(&forms_ioctl, command);
}

const struct form *
forms_verb(size_t i)
{
	for (size_t t = 0; t < NELEM(tables); t++) {
		if (i < tables[t]->n)
			return &tables[t]->forms[i];
		i -= tables[t]->n;
	}
	return NULL;
}

const char *
forms_verbs(struct pool *p)
{
	const char *all = "";

	for (size_t i = 0; forms_verb(i) != NULL; i++)
		all = pool_printf(p, "%s %s", all, forms_verb(i)->name);
	return all;
}

const char *
forms_commands(struct pool *p)
{
	const char *all = "";

	for (size_t i = 0; i < forms_ioctl.n; i++)
		all = pool_printf(p, "%s %s", all, forms_ioctl.forms[i].name);
	return pool_printf(p, "%s or a number", all);
}

/* ---- arguments --------------------------------------------------------------------- */

int
forms_letter(const char *args, int i)
{
	int letter = 0;

	for (; *args != '\0'; args++) {
		if (isupper((unsigned char)*args)) {
			letter = *args;
			if (i-- == 0)
				return letter;
		} else if (*args == '+' || *args == '*') {
			return letter;
		}
	}
	return 0;
}

int
forms_least(const char *args)
{
	int n = 0;

	for (; *args != '\0'; args++)
		if (isupper((unsigned char)*args) && args[1] != '?' && args[1] != '*')
			n++;
	return n;
}

/* ---- keys and fields --------------------------------------------------------------- */

/* The next word of a list: its length, 0 at the end. */
static size_t
word(const char **at)
{
	*at += strspn(*at, " ");
	return strcspn(*at, " :!");
}

int
forms_key(const char *keys, const char *key)
{
	size_t n;

	while (keys != NULL && (n = word(&keys)) > 0) {
		if (n == strlen(key) && strncmp(keys, key, n) == 0)
			return keys[n] == ':' ? keys[n + 1] : keys[n] == '!' ? '!' : 'D';
		keys += strcspn(keys, " ");
	}
	return 0;
}

const char *
forms_words(struct pool *p, const char *list)
{
	const char *all = "";
	size_t n;

	while (list != NULL && (n = word(&list)) > 0) {
		all = pool_printf(
		    p, "%s %.*s%s", all, (int)n, list, list[n] == '!' ? "" : "=");
		list += strcspn(list, " ");
	}
	return *all != '\0' ? all : " none";
}

static const char *
argument_name(int letter)
{
	static const char *const names[] = {['N'] = "new-name",
	    ['H'] = "name",
	    ['W'] = "word",
	    ['I'] = "number",
	    ['D'] = "data",
	    ['T'] = "duration",
	    ['S'] = "signal",
	    ['A'] = "child-or-thread",
	    ['C'] = "command",
	    ['E'] = "value",
	    ['X'] = "data"};

	return names[letter];
}

static const char *
usage_args(struct pool *p, const char *text, const char *args)
{
	for (; *args != '\0'; args++) {
		const char *name;

		if (!isupper((unsigned char)*args))
			continue;
		name = argument_name(*args);
		if (args[1] == '?')
			text = pool_printf(p, "%s [%s]", text, name);
		else if (args[1] == '*')
			text = pool_printf(p, "%s [%s ...]", text, name);
		else
			text = pool_printf(
			    p, "%s %s%s", text, name, args[1] == '+' ? " ..." : "");
	}
	return text;
}

static const char *
usage_keys(struct pool *p, const char *text, const char *keys)
{
	size_t n;

	while (keys != NULL && (n = word(&keys)) > 0) {
		text = pool_printf(
		    p, "%s [%.*s%s]", text, (int)n, keys, keys[n] == '!' ? "" : "=");
		keys += strcspn(keys, " ");
	}
	return text;
}

const char *
forms_usage(struct pool *p, const struct form *verb, const struct form *sub)
{
	const char *text = verb->name;

	if (sub == NULL)
		return usage_keys(p, usage_args(p, text, verb->args), verb->keys);
	text = pool_printf(p, "%s name %s", text, sub->name);
	return usage_keys(p, usage_args(p, text, sub->args), sub->keys);
}
