/* SPDX-License-Identifier: BSD-2-Clause */
/* toolinst.c: the option of toolinst.h. */
#include "toolinst.h"
#include "oneline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ustreams.h>

#define LONG "--instance"

/*
 * The value that argv[i] gives the option, or NULL: it is another argument.  *n is how
 * many arguments that is.
 */
static const char *
value_of(char **argv, int i, int argc, bool only_long, int *n)
{
	size_t len = sizeof(LONG) - 1;
	bool alone = (!only_long && strcmp(argv[i], "-I") == 0) || strcmp(argv[i], LONG) == 0;

	*n = alone && i + 1 < argc ? 2 : 1;
	if (alone)
		return i + 1 < argc ? argv[i + 1] : "";
	if (strncmp(argv[i], LONG "=", len + 1) == 0)
		return argv[i] + len + 1;
	return !only_long && strncmp(argv[i], "-I", 2) == 0 ? argv[i] + 2 : NULL;
}

static const char *
take_option(int *argc, char **argv, bool only_long)
{
	const char *name = NULL;

	for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0;) {
		int n;
		const char *value = value_of(argv, i, *argc, only_long, &n);

		if (value == NULL) {
			i++;
			continue;
		}
		name = value;
		memmove(&argv[i], &argv[i + n], (size_t)(*argc - i - n + 1) * sizeof(*argv));
		*argc -= n;
	}
	return name;
}

__attribute__((format(printf, 2, 3))) static void
complain(const char *program, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	oneline(program, fmt, ap);
	va_end(ap);
}

/* The sentence of the library, if there is anything to complain about. */
static bool
works(const char *program)
{
	const char *why = ustr_instancefault();

	if (why == NULL)
		return true;
	complain(program, "%s", why);
	return false;
}

/* The same asked in a child, so that the library is not up here. */
static bool
would_work(const char *program)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(works(program) ? 0 : 1);
	return pid == -1 || waitpid(pid, &status, 0) == -1 || status == 0;
}

/* Is the program only asked what it is? */
static bool
only_asked(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--version") == 0)
			return true;
	return false;
}

bool
toolinst_begin(const char *program, int *argc, char **argv, unsigned int how)
{
	const char *given = take_option(argc, argv, (how & TOOLINST_LONG) != 0), *name = given;

	if (name == NULL)
		name = secure_getenv("USTREAMS_INSTANCE");
	if (name == NULL || (given == NULL && *name == '\0') || only_asked(*argc, argv))
		return true;
	if (*name == '\0' || str_instance(name) == -1) {
		complain(program, "instance \"%.80s\": not a name; legal: 1 to 64 letters, digits, "
			"'.', '_', '-', not beginning with '.'", name);
		return false;
	}
	setenv("USTREAMS_INSTANCE", name, 1); /* for what it executes */
	if (how & TOOLINST_EXISTING)
		(void)ustr_instance(name, USTR_EXISTING);
	return how & TOOLINST_LATER ? would_work(program) : works(program);
}
