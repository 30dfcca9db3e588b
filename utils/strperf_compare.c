/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_compare.c: whether two or more builds, commits, runs or files of numbers
 * differ, and whether that is proven.
 *
 *	operands -> builds, commits --strperf_turns--> book --strperf_verdict--> shown
 *		 \> runs, numbers ---strperf_record--/	   \--strperf_gate--> status
 *
 * Builds are measured here and now, in turn; what was recorded cannot be measured
 * again.  The two are not mixed: a difference between then and now says nothing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ustreams.h>

#include "strperf.h"
#include "strperf_args.h"
#include "strperf_intr.h"
#include "strperf_plot.h"
#include "strperf_record.h"
#include "strperf_stats.h"
#include "strperf_verdict.h"

#define SLICE_SECONDS 0.25 /* of pipe, unless --interval is given */
#define TOTAL_SECONDS 5	   /* unless --duration is given: 20 rounds */
#define ROUNDS 20	   /* of a command that is not pipe */
#define BISECT_SKIP 125	   /* for git bisect run: this commit cannot be judged */
#define BISECT_STOP 128	   /* nor can any other */

static const char standard_input[] = "<stdin>";

/* ---- texts ---------------------------------------------------------------------- */

static int
print_help(const char *program)
{
	struct args set = compare_args(NULL);

	printf(
	    "usage: %s [options] A B ... [-- COMMAND [options]]\n"
	    "  Whether A and B differ: files of numbers, results of strperf --json, -\n"
	    "  for standard input; or, measured in turn, build directories, strperf\n"
	    "  programs or commits of the git repository one stands in.  COMMAND is\n"
	    "  what strperf shall measure; pipe, unless it is given.\n"
	    "options:\n",
	    program);
	args_help(&set);
	puts("exit status: 0 done, 1 a run failed or the limit is exceeded, 2 usage,\n"
	     "3 undecided, 130 interrupted");
	return EXIT_DONE;
}

/* ---- operands --------------------------------------------------------------------------- */

/* What an operand is. */
enum kind { KIND_RECORD, KIND_BUILD, KIND_COMMIT, KIND_NONE };

static enum kind
kind_of(const char *word)
{
	if (strcmp(word, "-") == 0)
		return KIND_RECORD;
	if (build_is(word))
		return KIND_BUILD;
	if (access(word, F_OK) == 0)
		return KIND_RECORD;
	return commit_is(word) ? KIND_COMMIT : KIND_NONE;
}

/* All live, or none. */
static int
sort_operands(struct compare *c, char **words, enum kind *kinds)
{
	size_t live = 0;

	for (size_t i = 0; i < c->book.operands; i++) {
		kinds[i] = kind_of(words[i]);
		if (kinds[i] == KIND_NONE) {
			complain(
			    "compare: %s: no such file, and no commit here", words[i]);
			return EXIT_USAGE;
		}
		live += kinds[i] != KIND_RECORD;
		c->book.name[i] = words[i];
	}
	if (live != 0 && live != c->book.operands) {
		complain("compare: what was recorded cannot be compared with what is "
			 "measured now; name builds only, or records only");
		return EXIT_USAGE;
	}
	c->live = live > 0;
	if (live != 1)
		return EXIT_DONE;
	complain("compare: takes two builds or more, not 1");
	return EXIT_USAGE;
}

static int
read_records(struct compare *c)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < c->book.operands && status == EXIT_DONE; i++) {
		const char *path = c->book.name[i];

		if (strcmp(path, "-") == 0)
			c->book.name[i] = standard_input;
		status = record_read(&c->book, i, path, &c->columns, c->rates);
	}
	return status;
}

static int
find_builds(struct compare *c, const enum kind *kinds)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < c->book.operands && status == EXIT_DONE; i++) {
		const char *name = c->book.name[i], *path = name;

		if (kinds[i] == KIND_COMMIT) {
			status = commit_build(&c->commits[i], name, c->configure);
			path = c->commits[i].build;
		}
		if (status == EXIT_DONE)
			status = build_find(&c->builds[i], path);
		c->builds[i].given = name;
	}
	return status;
}

/* No operands: the library without caches, and the default one. */
static int
find_own_builds(struct compare *c)
{
	int status = build_own(&c->builds[0], false);

	if (status == EXIT_DONE)
		status = build_own(&c->builds[1], true);
	c->live = true;
	c->book.operands = 2;
	for (size_t i = 0; i < c->book.operands; i++)
		c->book.name[i] = c->builds[i].given;
	return status;
}

/* ---- measuring ----------------------------------------------------------------------------- */

/* The words of pipe are checked here, before anything is built or run. */
static int
settle_pipe(struct compare *c)
{
	struct turns *t = &c->turns;
	int rest, status;

	opts_defaults(&c->o);
	c->o.duration = TOTAL_SECONDS;
	c->o.interval = SLICE_SECONDS;
	status = opts_parse(&c->o, (int)t->nwords, t->words, &rest);
	if (status == EXIT_DONE && rest < (int)t->nwords) {
		complain("compare: %s: only a command and its options stand after --",
		    t->words[rest]);
		status = EXIT_USAGE;
	}
	if (status == EXIT_DONE)
		status = opts_settle_cpus(&c->o);
	if (c->o.npeers > 0)
		complain("compare: --peers: peers are not run here");
	memcpy(t->sizes, c->o.sizes, sizeof(t->sizes));
	t->nsizes = c->o.nsizes;
	t->seconds = opts_slice_seconds(&c->o);
	t->rounds = c->rounds > 0 ? (size_t)c->rounds : opts_slices(&c->o);
	return status;
}

static int
settle_turns(struct compare *c)
{
	struct turns *t = &c->turns;

	t->builds = c->builds;
	if (strcmp(t->words[0], "pipe") == 0)
		return settle_pipe(c);
	t->rounds = c->rounds > 0 ? (size_t)c->rounds : ROUNDS;
	return EXIT_DONE;
}

static int
measure(struct compare *c)
{
	int status;

	c->turns.nbuilds = c->book.operands;
	status = turns_run(&c->turns, &c->book);
	c->interrupted = status == EXIT_INTERRUPTED;
	return status;
}

/* ---- the gate ---------------------------------------------------------------------------------- */

/* One series of operand k against the limit, and a line about it. */
static int
judge_series(const struct compare *c, const struct series *s, size_t k)
{
	static const char *const words[] = {
	    [GATE_HOLDS] = "not proven",
	    [GATE_EXCEEDED] = "exceeded",
	    [GATE_OPEN] = "undecided",
	};
	FILE *f = c->format == FORMAT_HUMAN ? stdout : stderr;
	struct verdict v = verdict_reach(s, k, c->level, c->live);
	int status = gate_judge(&c->gate, &v.facts);

	fprintf(f, "%s%s%s, %s: %s", s->name, *s->name == '\0' ? "" : ": ",
	    c->book.name[k], c->gate.text, words[status]);
	if (isfinite(v.lo))
		fprintf(f, " (%+.2f %%, %+.2f to %+.2f %%)\n", v.percent, v.lo, v.hi);
	else
		fputs(" (no interval)\n", f);
	return status;
}

static int
judge(const struct compare *c)
{
	int worst = c->book.n > 0 && c->book.operands > 1 ? GATE_HOLDS : GATE_OPEN;

	for (size_t i = 0; i < c->book.n; i++)
		for (size_t k = 1; k < c->book.operands; k++)
			worst = gate_worse(worst, judge_series(c, &c->book.series[i], k));
	return worst;
}

/* What the program ends with. */
static int
final_status(const struct compare *c, int status)
{
	if (c->gated && status == EXIT_FAILED)
		status = GATE_OPEN;
	else if (c->gated && status == EXIT_DONE)
		status = judge(c);
	if (c->bisect && status == GATE_OPEN)
		return BISECT_SKIP;
	return c->bisect && status == EXIT_USAGE ? BISECT_STOP : status;
}

/* ---- the command --------------------------------------------------------------------------------- */

/* Where the command that is measured begins: after "--". */
static int
find_command(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	return i;
}

/* The command's name, the options handed on, and what stands behind it. */
static int
take_words(struct compare *c, int argc, char **argv, int at)
{
	static char pipe_word[] = "pipe";
	struct turns *t = &c->turns;
	bool named = at + 1 < argc && argv[at + 1][0] != '-';

	t->words[0] = named ? argv[at + 1] : pipe_word;
	for (int i = at + 1 + named; i < argc; i++) {
		if (t->nwords == TURNS_WORDS) {
			complain("compare: more than %d words of options", TURNS_WORDS);
			return EXIT_USAGE;
		}
		t->words[t->nwords++] = argv[i];
	}
	return EXIT_DONE;
}

static int
gather(struct compare *c, char **operands)
{
	enum kind kinds[BOOK_MOST];
	int status = settle_turns(c);

	if (status == EXIT_DONE && c->book.operands > 0)
		status = sort_operands(c, operands, kinds);
	if (status == EXIT_DONE && c->plot != NULL)
		status = plot_check(c->plot);
	if (status != EXIT_DONE)
		return status;
	if (c->book.operands == 0)
		status = find_own_builds(c);
	else if (c->live)
		status = find_builds(c, kinds);
	else
		return read_records(c);
	return status == EXIT_DONE ? measure(c) : status;
}

static int
run(struct compare *c, char **operands)
{
	int status = gather(c, operands), other;

	for (size_t i = 0; i < BOOK_MOST; i++)
		commit_remove(&c->commits[i]);
	c->interrupted = intr_pending();
	if (status == EXIT_USAGE || (status == EXIT_FAILED && c->book.n == 0))
		return status;
	other = book_match(&c->book, c->select, status != EXIT_DONE);
	if (other == EXIT_DONE)
		other = compare_show(c);
	return status == EXIT_DONE ? other : status;
}

/* standard: without operands, numbers come from standard input. */
static int
compare(int argc, char **argv, bool standard)
{
	static struct compare c = {
	    .columns = {1, " \t"},
	    .level = STATS_LEVEL,
	    .turns.nwords = 1,
	};
	static char dash[] = "-", *input[] = {dash};
	struct args set = compare_args(&c);
	int end = find_command(argc, argv), rest, status;
	char **operands;

	status = args_parse(&set, 1, end, argv, &rest);
	if (status == EXIT_DONE && c.help)
		return print_help(standard ? "strcompare" : "strperf compare");
	if (status == EXIT_DONE && c.version)
		return puts(ustr_version()) < 0;
	if (status == EXIT_DONE && end - rest > BOOK_MOST) {
		complain(
		    "compare: at most %d can be compared, not %d", BOOK_MOST, end - rest);
		status = EXIT_USAGE;
	}
	if (status == EXIT_DONE)
		status = take_words(&c, argc, argv, end);
	operands = argv + rest;
	c.book.operands = status == EXIT_DONE ? (size_t)(end - rest) : 0;
	if (status == EXIT_DONE && standard && c.book.operands == 0) {
		c.book.operands = 1;
		operands = input;
	}
	if (status == EXIT_DONE)
		status = run(&c, operands);
	status = final_status(&c, status);
	book_free(&c.book);
	return status;
}

int
cmd_compare(int argc, char **argv)
{
	return compare(argc, argv, false);
}

int
cmd_strcompare(int argc, char **argv)
{
	return compare(argc, argv, true);
}
