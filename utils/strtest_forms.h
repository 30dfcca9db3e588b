/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_forms.h: the verbs, the commands of ioctl, the functions: finding them by name. */
#ifndef STRTEST_FORMS_H
#define STRTEST_FORMS_H

#include "strtest_ast.h"
#include "strtest_pool.h"

/* Each file of verbs ends in one of these tables. */
struct form_table {
	const struct form *forms;
	size_t n;
};
extern const struct form_table forms_stream, forms_message, forms_control, forms_wait,
    forms_signal, forms_actor, forms_tool, forms_output;
extern const struct form_table forms_ioctl; /* the commands of ioctl */

const struct form *forms_find(const char *verb);
const struct form *forms_ioctl_find(const char *command);
/* The i-th verb, or NULL. */
const struct form *forms_verb(size_t i);
/* All verbs, or all keys or fields of a form, for "legal: ...". */
const char *forms_verbs(struct pool *p);
const char *forms_commands(struct pool *p);
const char *forms_words(struct pool *p, const char *list);
/* How a form is used: "read name number [at=]". */
const char *forms_usage(struct pool *p, const struct form *verb, const struct form *sub);
/* The letter of argument i, or 0; least: how many there must be. */
int forms_letter(const char *args, int i);
int forms_least(const char *args);
/* The letter of a key in a list of keys, '!' for a flag, 0 if it is not there. */
int forms_key(const char *keys, const char *key);

#endif
