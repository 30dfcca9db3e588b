/* SPDX-License-Identifier: BSD-2-Clause */
/* lookopt.c: which arena a tool is to look at. */
#include "lookopt.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strtool.h"

enum { NAMED = 8 }; /* arenas that a complaint names */

long
lookopt_number(const char *text, long most)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	return errno != 0 || end == text || *end != '\0' || n < 1 || n > most ? -1 : n;
}

bool
lookopt_take(struct lookopt *o, int option, const char *operand, bool *bad)
{
	long pid;

	switch (option) {
	case 'I':
		o->instance = operand;
		break;
	case 'f':
		o->file = operand;
		break;
	case 'p':
		pid = lookopt_number(operand, INT_MAX);
		if (pid == -1) {
			tool_complain(
			    "-p %s: not a process; legal: a number from 1", operand);
			*bad = true;
		}
		o->pid = (pid_t)pid;
		break;
	default:
		return false;
	}
	o->given++;
	return true;
}

static const char *
by_default(void)
{
	const char *name = secure_getenv("USTREAMS_INSTANCE");

	return name != NULL && *name != '\0' ? name : NULL;
}

bool
lookopt_none(const struct lookopt *o)
{
	return o->given == 0 && by_default() == NULL;
}

/* "-p 12 (strperf), -I demo", or "there is nothing"; what is damaged is nothing. */
static void
name_sources(char *text, size_t size)
{
	struct ustr_source *list;
	ssize_t n = ustr_look_sources(&list);
	const char *between = "there are: ";
	size_t len = 0;
	int named = 0;

	snprintf(text, size, "there is nothing to look at now");
	for (ssize_t i = 0; i < n && len < size; i++) {
		if (list[i].us_error != 0)
			continue;
		if (named++ == NAMED) {
			snprintf(text + len, size - len, ", ...");
			break;
		}
		if (list[i].us_name[0] != '\0')
			len += (size_t)snprintf(
			    text + len, size - len, "%s-I %s", between, list[i].us_name);
		else
			len += (size_t)snprintf(text + len, size - len, "%s-p %d (%s)",
			    between, (int)list[i].us_pid, list[i].us_program);
		between = ", ";
	}
	if (n >= 0)
		free(list);
}

static void
complain_none(void)
{
	char text[512];

	name_sources(text, sizeof(text));
	tool_complain("which streams?  legal: -I NAME, -p PID, -f FILE, or a name in "
		      "USTREAMS_INSTANCE; %s",
	    text);
}

struct ustr_look *
lookopt_open(const struct lookopt *o)
{
	char fault[USTR_LOOK_FAULT] = "";
	struct ustr_look *lk;

	if (o->given > 1) {
		tool_complain("one of -I, -p and -f at most");
		return NULL;
	}
	if (lookopt_none(o)) {
		complain_none();
		return NULL;
	}
	if (o->file != NULL)
		lk = ustr_look_file(o->file, fault, sizeof(fault));
	else if (o->pid != 0)
		lk = ustr_look_process(o->pid, fault, sizeof(fault));
	else
		lk = ustr_look_instance(o->instance != NULL ? o->instance : by_default(),
		    fault, sizeof(fault));
	if (lk == NULL)
		tool_complain("%s", fault);
	else if (ustr_look_warning(lk) != NULL)
		tool_complain("warning: %s", ustr_look_warning(lk));
	return lk;
}

const char *
lookopt_reason(int error)
{
	return error == EUCLEAN ? "it is damaged, or was cut short" : strerror(error);
}

struct ustr_view *
lookopt_view(struct ustr_look *lk)
{
	struct ustr_view *v = ustr_look_take(lk);

	if (v == NULL)
		tool_complain("%s: %s", ustr_look_name(lk), lookopt_reason(errno));
	return v;
}
