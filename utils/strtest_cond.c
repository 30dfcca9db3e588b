/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_cond.c: what scripts may ask about the build and the machine. */
#include "strtest_cond.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stropts.h>
#include <ustreams.h>

#include "strtest_expr.h"
#include "strtest_lex.h"
#include "strtest_run.h"

/* Does the line of ustr_version() have "word=value"? */
static bool
version_says(const char *word, const char *value)
{
	size_t n = strlen(word), m = strlen(value);

	for (const char *at = ustr_version(); (at = strchr(at, ' ')) != NULL;) {
		at++;
		if (strncmp(at, word, n) == 0 && at[n] == '=' &&
		    strncmp(at + n + 1, value, m) == 0 &&
		    (at[n + 1 + m] == ' ' || at[n + 1 + m] == '\0'))
			return true;
	}
	return false;
}

static bool
threads_only(struct run *r, const char *word)
{
	const char *set = getenv("USTR_TEST_THREADS_ONLY");

	(void)r, (void)word;
	return set != NULL && *set != '\0';
}

bool
cond_can_fork(void)
{
	return !threads_only(NULL, NULL) && !version_says("heap", "malloc");
}

static bool
no_fork(struct run *r, const char *word)
{
	(void)r, (void)word;
	return !cond_can_fork();
}

static bool
is_checked(struct run *r, const char *word)
{
	const char *set = getenv("USTREAMS_CHECK");

	(void)r, (void)word;
	return set != NULL && strcmp(set, "1") == 0;
}

static bool
is_root(struct run *r, const char *word)
{
	(void)r, (void)word;
	return geteuid() == 0;
}

/* I_FIND knows the names of modules whether or not they are on the stream. */
static bool
has_module(struct run *r, const char *word)
{
	int fd[2], found;

	(void)r;
	if (str_pipe(fd) == -1)
		return false;
	found = str_ioctl(fd[0], I_FIND, word);
	str_close(fd[0]);
	str_close(fd[1]);
	return found != -1;
}

static bool
has_driver(struct run *r, const char *word)
{
	int fd = str_open(
	    pool_printf(&r->pool, "/dev/streams/clone/%s", word), O_RDWR | O_NONBLOCK);

	if (fd == -1)
		return false;
	str_close(fd);
	return true;
}

/*
 * The script itself must not touch a stream before it forks for its cases:
 * there another process has a look.
 */
static bool
holds_elsewhere(struct run *r, const struct condition *c)
{
	int status = 0;
	pid_t pid;

	if (r->shared != NULL || options.in_process || (pid = fork()) == -1)
		return c->test->holds(r, c->other);
	if (pid == 0)
		_exit(c->test->holds(r, c->other));
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static const struct test tests[] = {{"nofork", false, no_fork},
    {"threads", false, threads_only}, {"checked", false, is_checked},
    {"root", false, is_root}, {"module", true, has_module}, {"driver", true, has_driver}};

const struct test *
cond_find(const char *name)
{
	for (size_t i = 0; i < NELEM(tests); i++)
		if (strcmp(tests[i].name, name) == 0)
			return &tests[i];
	return NULL;
}

const char *
cond_names(struct pool *p)
{
	const char *all = "";

	for (size_t i = 0; i < NELEM(tests); i++)
		all = pool_printf(p, "%s %s", all, tests[i].name);
	return all;
}

bool
cond_compare(struct run *r, const struct expr *left, int op, const struct expr *right)
{
	struct value a = expr_value(r, left), b = expr_value(r, right);

	if (op == OP_EQ || op == OP_NE)
		return value_equal(&a, &b) == (op == OP_EQ);
	if (a.kind != VALUE_NUMBER || b.kind != VALUE_NUMBER)
		run_broken(r, left->at, "only numbers are smaller or greater");
	switch (op) {
	case OP_LE:
		return a.number <= b.number;
	case OP_GE:
		return a.number >= b.number;
	case '<':
		return a.number < b.number;
	default:
		return a.number > b.number;
	}
}

bool
cond_holds(struct run *r, const struct condition *c)
{
	if (c->left != NULL)
		return cond_compare(r, c->left, c->op, c->right);
	if (c->test != NULL)
		return c->test->takes_name ? holds_elsewhere(r, c)
					   : c->test->holds(r, c->other);
	return version_says(c->word, c->other);
}

static const char *
operator_text(struct pool *p, int op)
{
	static const char *const names[] = {"==", "!=", "<=", ">="};

	return op >= OP_EQ ? names[op - OP_EQ] : pool_printf(p, "%c", op);
}

const char *
cond_words(struct pool *p, const struct condition *c)
{
	const char *unless = c->unless ? "not " : "";

	if (c->left != NULL)
		return pool_printf(p, "%s%s %s %s", unless, c->left->source,
		    operator_text(p, c->op), c->right->source);
	if (c->test == NULL)
		return pool_printf(p, "%s%s=%s", unless, c->word, c->other);
	return pool_printf(p, "%s%s%s%s", unless, c->word, c->other ? " " : "",
	    c->other ? c->other : "");
}
