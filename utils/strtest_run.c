/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_run.c: commands one after the other, loops and blocks, variables, failures. */
#include "strtest_run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "strtest_args.h"
#include "strtest_case.h"
#include "strtest_cond.h"
#include "strtest_draw.h"
#include "strtest_expr.h"
#include "strtest_job.h"
#include "strtest_signal.h"

/* ---- time ------------------------------------------------------------------------ */

long long
run_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

void
run_nap(unsigned int *step)
{
	struct timespec t = {0, *step < 16 ? 50000 : 1000000};

	++*step;
	nanosleep(&t, NULL);
}

/* ---- reports ---------------------------------------------------------------------- */

/* One write, so that lines of different processes do not mix. */
void
run_report(struct run *r, const char *fmt, ...)
{
	char *text = NULL, *line, *rest;
	size_t len;
	va_list ap;
	FILE *f = open_memstream(&text, &len);
	char *body;

	va_start(ap, fmt);
	if (vasprintf(&body, fmt, ap) == -1)
		body = NULL;
	va_end(ap);
	for (rest = body;
	     f != NULL && rest != NULL && (line = strsep(&rest, "\n")) != NULL;)
		fprintf(f, "%s%s\n", options.dialogue ? "" : "# ", line);
	free(body);
	if (f == NULL || fclose(f) != 0)
		return;
	for (size_t done = 0; done < len;) {
		ssize_t n = write(r->report, text + done, len - done);

		if (n == -1 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	free(text);
}

bool
run_hopeless(const struct run *r)
{
	return r->shared != NULL &&
	    (atomic_load(&r->shared->failed) || atomic_load(&r->shared->broken));
}

static _Noreturn void
leave(struct run *r, enum stop stop)
{
	if (r->slot != NULL)
		atomic_store(&r->slot->in_verb, false);
	longjmp(r->frame->to, (int)stop);
}

void
run_failed(struct run *r, const char *expected, const char *came)
{
	const struct command *c = r->at;
	char *text;

	if (asprintf(&text, "%s:%d: %s\n  expected: %s\n  came:     %s", c->at.file,
		c->at.line, c->source, expected, came) == -1)
		text = NULL;
	if (r->frame->quiet) {
		free(r->frame->why);
		r->frame->why = text;
		leave(r, STOP_FAILED);
	}
	if (r->shared != NULL)
		atomic_store(&r->shared->failed, 1);
	run_report(r, "%s", text);
	free(text);
	if (r->draws)
		draw_all(r);
	leave(r, STOP_FAILED);
}

void
run_broken(struct run *r, struct place at, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		text = NULL;
	va_end(ap);
	if (r->shared != NULL)
		atomic_store(&r->shared->broken, 1);
	complain("%s:%d:%d: %s", at.file, at.line, at.col, text);
	free(text);
	leave(r, STOP_BROKEN);
}

void
run_skipped(struct run *r, const char *reason)
{
	if (r->shared != NULL) {
		snprintf(r->shared->reason, sizeof(r->shared->reason), "%s", reason);
		atomic_store(&r->shared->skipped, 1);
	} else {
		job_skip_rest(r->script->file, reason);
	}
	leave(r, STOP_SKIPPED);
}

/* ---- variables --------------------------------------------------------------------- */

static struct value
keep(const struct value *v)
{
	struct value copy = *v;

	if (v->kind == VALUE_DATA) {
		char *to = malloc(v->len + 1);

		if (to != NULL && v->len > 0)
			memcpy(to, v->data, v->len);
		copy.data = to;
	}
	return copy;
}

static void
drop(struct value *v)
{
	if (v->kind == VALUE_DATA)
		free((void *)(uintptr_t)v->data);
}

static struct variable *
find(struct run *r, const char *name)
{
	struct variable *v = r->variables;

	while (v != NULL && strcmp(v->name, name) != 0)
		v = v->outer;
	return v;
}

/* The directory of the case is made when it is first asked for. */
static const struct value *
tmp_variable(struct run *r)
{
	struct value v = value_text(r->tmp);

	if (mkdir(r->tmp, 0700) == -1 && errno != EEXIST)
		run_broken(r, r->at->at, "$tmp: %s: %s", r->tmp, strerror(errno));
	run_declare(r, "tmp", &v);
	return run_variable(r, "tmp");
}

const struct value *
run_variable(struct run *r, const char *name)
{
	struct variable *v = find(r, name);

	if (v == NULL && strcmp(name, "tmp") == 0 && r->tmp != NULL)
		return tmp_variable(r);
	return v == NULL ? NULL : &v->value;
}

void
run_declare(struct run *r, const char *name, const struct value *v)
{
	struct variable *var = malloc(sizeof(*var));

	if (var == NULL || (var->name = strdup(name)) == NULL)
		abort();
	var->value = keep(v);
	var->outer = r->variables;
	r->variables = var;
}

void
run_assign(struct run *r, const char *name, const struct value *v)
{
	struct variable *var = find(r, name);
	struct value copy;

	if (var == NULL) {
		run_declare(r, name, v);
		return;
	}
	copy = keep(v); /* v may be its own value */
	drop(&var->value);
	var->value = copy;
}

void
run_forget(struct run *r, struct variable *until)
{
	struct variable *var;

	while ((var = r->variables) != until) {
		r->variables = var->outer;
		drop(&var->value);
		free(var->name);
		free(var);
	}
}

static void
copy_from(struct run *r, const struct variable *v)
{
	if (v == NULL)
		return;
	copy_from(r, v->outer);
	run_declare(r, v->name, &v->value);
}

void
run_copy_variables(struct run *r, const struct run *from)
{
	r->variables = NULL;
	copy_from(r, from->variables);
}

/* Take the n variables declared just after "below" away, not those set later. */
static void
remove_parameters(struct run *r, const struct variable *below, int n)
{
	struct variable **link = &r->variables, *var;
	int above = 0;

	for (var = r->variables; var != below; var = var->outer)
		above++;
	for (int i = 0; i < above - n; i++)
		link = &(*link)->outer;
	while ((var = *link) != below) {
		*link = var->outer;
		drop(&var->value);
		free(var->name);
		free(var);
	}
}

/* ---- commands ------------------------------------------------------------------------ */

void
run_commands(struct run *r, const struct command *c)
{
	for (; c != NULL; c = c->next) {
		r->at = c;
		c->run(r, c);
	}
}

int
run_guarded(struct run *r, struct frame *f, const struct command *block)
{
	int stop;

	f->outer = r->frame;
	r->frame = f;
	stop = setjmp(f->to);
	if (stop == 0)
		run_commands(r, block);
	r->frame = f->outer;
	pool_free(&r->pool);
	return stop;
}

void
run_simple(struct run *r, const struct command *c)
{
	struct outcome o = {.result = value_number(0)};
	long long begin;

	pool_free(&r->pool);
	if (options.verbose)
		run_report(r, "%d: %s", c->at.line, c->source);
	if (r->slot != NULL) {
		atomic_store(&r->slot->at, c);
		atomic_store(&r->slot->in_verb, true);
	}
	errno = 0;
	begin = run_now();
	c->form->run(r, c, &o);
	if (r->slot != NULL)
		atomic_store(&r->slot->in_verb, false);
	signal_after_call(c->form->name);
	if (options.dialogue && !o.done)
		run_report(r, "= %s", outcome_show(r, &o));
	outcome_check(r, c, &o);
	outcome_timing(r, c, &o, run_now() - begin);
}

void
run_repeat(struct run *r, const struct command *c)
{
	long long n = expr_count(r, c->value);

	for (long long i = 0; i < n; i++)
		run_commands(r, c->block);
}

void
run_foreach(struct run *r, const struct command *c)
{
	for (const struct expr *e = c->value; e != NULL; e = e->next) {
		struct value v;

		r->at = c;
		v = expr_value(r, e);
		if (v.kind == VALUE_NUMBER && e->kind != EXPR_VARIABLE)
			v.written = e->source;
		run_assign(r, c->name, &v);
		run_commands(r, c->block);
	}
}

void
run_if(struct run *r, const struct command *c)
{
	run_commands(r, cond_holds(r, &c->condition) ? c->block : c->other);
}

void
run_skip(struct run *r, const struct command *c)
{
	if (cond_holds(r, &c->condition) == c->condition.unless)
		return;
	run_skipped(r,
	    c->value != NULL ? expr_word(r, c->value)
			     : cond_words(&r->pool, &c->condition));
}

void
run_eventually(struct run *r, const struct command *c)
{
	struct frame f = {.quiet = true};
	struct outcome o = {0};
	long long until = run_now() + time_within(r, c, &o, 1000000);
	struct variable *const variables = r->variables;
	unsigned int step = 0;
	char *why;
	int stop;

	while ((stop = run_guarded(r, &f, c->block)) == STOP_FAILED &&
	    run_now() < until && !run_hopeless(r)) {
		run_forget(r, variables);
		run_nap(&step);
	}
	why = f.why != NULL ? pool_copy(&r->pool, f.why, strlen(f.why)) : NULL;
	free(f.why);
	if (stop == STOP_FAILED) {
		r->at = c;
		run_failed(r, "the block gives what it should at last", why);
	}
	if (stop != 0)
		leave(r, (enum stop)stop);
}

void
run_proc(struct run *r, const struct command *c)
{
	(void)r, (void)c;
}

enum { CALL_DEPTH = 100 };

void
run_call(struct run *r, const struct command *c)
{
	struct variable *below = r->variables;
	const struct expr *name = c->proc->value;
	struct value values[32];
	int n = 0;

	if (++r->depth > CALL_DEPTH)
		run_broken(r, c->at, "procedures call each other %d deep", CALL_DEPTH);
	for (const struct expr *e = c->value; e != NULL && n < (int)NELEM(values);
	     e = e->next)
		values[n++] = expr_value(r, e);
	for (int i = 0; i < n; i++, name = name->next)
		run_declare(r, name->text, &values[i]);
	run_commands(r, c->proc->block);
	remove_parameters(r, below, n);
	r->depth--;
}

void
run_set(struct run *r, const struct command *c)
{
	struct value v = expr_value(r, c->value);

	run_assign(r, c->name, &v);
}

void
run_check(struct run *r, const struct command *c)
{
	const struct condition *k = &c->condition;
	struct value left, right;

	if (cond_compare(r, k->left, k->op, k->right))
		return;
	left = expr_value(r, k->left);
	right = expr_value(r, k->right);
	run_failed(r, cond_words(&r->pool, k),
	    pool_printf(&r->pool, "%s and %s", value_show(&r->pool, &left),
		value_show(&r->pool, &right)));
}

void
run_include(struct run *r, const struct command *c)
{
	(void)r, (void)c;
}

void
run_case(struct run *r, const struct command *c)
{
	const char *sentence;
	double timeout = options.timeout;

	if (r->shared != NULL)
		run_broken(r, c->at, "a case cannot stand in a case");
	if (c->value2 != NULL)
		timeout = (double)expr_count(r, c->value2) / 1e6;
	sentence = expr_word(r, c->value);
	if (options.only == NULL || strstr(sentence, options.only) != NULL)
		job_case(r, sentence, c->block, timeout * options.slow);
}
