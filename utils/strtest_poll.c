/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_poll.c: verbs that wait for events, or for time to pass. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>

#include <ustreams.h>

#include "strtest_args.h"
#include "strtest_expr.h"
#include "strtest_forms.h"

enum { MAX_POLL = 64 };

/* The time at the end of the arguments, in ms; *n: how many arguments are left. */
static int
timeout_of(struct run *r, const struct command *c, int *n)
{
	const struct expr *last = arg_at(c, c->nargs - 1);

	*n = c->nargs;
	if (c->nargs % 2 == 0)
		return 0;
	--*n;
	if (last->kind == EXPR_NAME && strcmp(last->text, "forever") == 0)
		return -1;
	return (int)(expr_number(r, last) / 1000);
}

static void
do_poll(struct run *r, const struct command *c, struct outcome *o)
{
	struct pollfd p[MAX_POLL];
	int n, ms = timeout_of(r, c, &n);

	if (n / 2 > MAX_POLL)
		run_broken(r, c->at, "at most %d descriptors", MAX_POLL);
	for (int i = 0; i < n; i += 2) {
		p[i / 2].fd = arg_fd(r, c, i);
		p[i / 2].events = (short)arg_number(r, c, i + 1, 0);
		p[i / 2].revents = 0;
	}
	out_call(o, str_poll(key_pointer(r, c, "at", p), (nfds_t)n / 2, ms));
	if (o->error != 0)
		return;
	for (int i = 0; i < n; i += 2)
		if (arg_at(c, i)->kind == EXPR_NAME)
			out_number(o, arg_at(c, i)->text, p[i / 2].revents);
	if (n == 2)
		o->result = value_number(p[0].revents);
}

/* ---- select --------------------------------------------------------------------------- */

struct set {
	fd_set fds, *given;
};

/* Put the descriptors of all keys of that name into a set. */
static void
fill_set(
    struct run *r, const struct command *c, const char *key, struct set *s, int *most)
{
	FD_ZERO(&s->fds);
	s->given = NULL;
	for (const struct pair *p = c->keys; p != NULL; p = p->next) {
		int fd;

		if (strcmp(p->key, key) != 0)
			continue;
		fd = p->value->kind == EXPR_NAME
		    ? handles_fd(r, p->value->at, p->value->text)
		    : (int)expr_number(r, p->value);
		if (fd >= 0 && fd < FD_SETSIZE)
			FD_SET(fd, &s->fds);
		if (fd >= *most)
			*most = fd + 1;
		s->given = &s->fds;
	}
}

/* The names, with commas, of those that are set. */
static struct value
names_set(struct run *r, const struct command *c, const char *key, const struct set *s)
{
	const char *all = "";

	for (const struct pair *p = c->keys; p != NULL; p = p->next) {
		if (strcmp(p->key, key) != 0 || p->value->kind != EXPR_NAME)
			continue;
		if (FD_ISSET(handles_fd(r, p->value->at, p->value->text), &s->fds))
			all = pool_printf(&r->pool, "%s%s%s", all,
			    *all != '\0' ? "," : "", p->value->text);
	}
	return value_text(all);
}

static void
do_select(struct run *r, const struct command *c, struct outcome *o)
{
	static const char *const keys[] = {"in", "out", "ex"};
	const struct expr *last = arg_at(c, 0);
	bool forever = last != NULL && last->kind == EXPR_NAME &&
	    strcmp(last->text, "forever") == 0;
	long long us = last == NULL || forever ? 0 : expr_number(r, last);
	struct timeval tv = {us / 1000000, us % 1000000};
	struct timespec ts = {us / 1000000, us % 1000000 * 1000};
	struct set s[3];
	sigset_t mask;
	int most = 0;

	for (int i = 0; i < 3; i++)
		fill_set(r, c, keys[i], &s[i], &most);
	most = (int)key_number(r, c, "nfds", most);
	sigemptyset(&mask);
	if (key_given(c, "mask")) {
		sigaddset(&mask, (int)key_number(r, c, "mask", 0));
		out_call(o,
		    str_pselect(most, s[0].given, s[1].given, s[2].given,
			forever ? NULL : &ts, &mask));
	} else {
		out_call(o,
		    str_select(
			most, s[0].given, s[1].given, s[2].given, forever ? NULL : &tv));
	}
	for (int i = 0; i < 3 && o->error == 0; i++)
		out_field(o, keys[i], names_set(r, c, keys[i], &s[i]));
}

static void
do_sleep(struct run *r, const struct command *c, struct outcome *o)
{
	long long us = arg_number(r, c, 0, 0);
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	(void)o;
	while (nanosleep(&t, &t) == -1 && errno == EINTR)
		;
}

static const struct form forms[] = {
    {"poll", do_poll, "E*", "at:I", "*", NULL, 0},
    {"select", do_select, "E?", "in:H out:H ex:H mask:S nfds:I", "in out ex", NULL, 0},
    {"sleep", do_sleep, "T", NULL, NULL, NULL, 0},
};

const struct form_table forms_wait = {forms, NELEM(forms)};
