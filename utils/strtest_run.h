/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_run.h: the interpreter.
 *
 * A "run" is who carries out commands: the script itself, a case, a thread or a
 * child of a case.  What is not as it should be leaves the command by a long
 * jump to the innermost frame: that of the case, thread or child, or that of an
 * "eventually", which tries again.  Nothing is locked at such a moment, and
 * what a command allocates comes from the pool of its run, so nothing leaks.
 *
 * Everybody in a case, children included, shares one "struct shared"
 * (strtest_case.h) and writes reports to one descriptor.
 */
#ifndef STRTEST_RUN_H
#define STRTEST_RUN_H

#include <setjmp.h>

#include "strtest_ast.h"
#include "strtest_value.h"

enum stop { STOP_FAILED = 1, STOP_BROKEN, STOP_SKIPPED };

struct frame {
	jmp_buf to;
	struct frame *outer;
	bool quiet; /* keep what failed instead of reporting it */
	char *why;  /* quiet: the last failure, malloc'ed */
};

struct variable {
	char *name;
	struct value value; /* its data malloc'ed */
	struct variable *outer;
};

struct run {
	const struct script *script;
	struct shared *shared;	    /* of the case, NULL outside */
	struct slot *slot;	    /* of this run in it */
	struct handles *handles;    /* names of descriptors */
	struct variable *variables; /* innermost first */
	struct frame *frame;
	const struct command *at;
	struct pool pool; /* until the next command */
	int report;	  /* descriptor that reports go to */
	int depth;	  /* of calls of procedures */
	char *tmp;	  /* $tmp, or NULL while not used */
	bool draws;	  /* show streams with a failure */
};

/* ---- running ------------------------------------------------------------------- */

void run_commands(struct run *r, const struct command *c);
/* Carry out a block, catching what stops it; 0 or an enum stop. */
int run_guarded(struct run *r, struct frame *f, const struct command *block);

void run_simple(struct run *r, const struct command *c);
void run_case(struct run *r, const struct command *c);
void run_repeat(struct run *r, const struct command *c);
void run_foreach(struct run *r, const struct command *c);
void run_if(struct run *r, const struct command *c);
void run_skip(struct run *r, const struct command *c);
void run_fork(struct run *r, const struct command *c);
void run_thread(struct run *r, const struct command *c);
void run_eventually(struct run *r, const struct command *c);
void run_proc(struct run *r, const struct command *c);
void run_call(struct run *r, const struct command *c);
void run_set(struct run *r, const struct command *c);
void run_check(struct run *r, const struct command *c);
void run_include(struct run *r, const struct command *c);

/* ---- what goes wrong ------------------------------------------------------------ */

/* The command did not give what it should: what was expected, what came. */
_Noreturn void run_failed(struct run *r, const char *expected, const char *came);
__attribute__((format(printf, 3, 4))) _Noreturn void run_broken(
    struct run *r, struct place at, const char *fmt, ...);
_Noreturn void run_skipped(struct run *r, const char *reason);
/* Write lines to the report; each gets "# " before it, but in a dialogue. */
__attribute__((format(printf, 2, 3))) void run_report(
    struct run *r, const char *fmt, ...);
/* Has the case failed elsewhere? */
bool run_hopeless(const struct run *r);

/* ---- variables ------------------------------------------------------------------ */

const struct value *run_variable(struct run *r, const char *name);
void run_assign(struct run *r, const char *name, const struct value *v);
/* A new variable that hides one of the same name, until the list is cut again. */
void run_declare(struct run *r, const char *name, const struct value *v);
void run_forget(struct run *r, struct variable *until);
/* Another run's variables, copied. */
void run_copy_variables(struct run *r, const struct run *from);

/* ---- time ------------------------------------------------------------------------ */

long long run_now(void); /* microseconds */
/* Sleep a little in a loop that waits for something, less in the beginning. */
void run_nap(unsigned int *step);

#endif
