/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_args.c: read a command line by a table of options.
 *
 * getopt_long() does the reading.  It reports row i of set s as a number above
 * any short option, FIRST + s * MAX_ROWS + i, whichever of the two names of the
 * option was given.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_args.h"

#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "strperf.h"

#define FIRST 256
#define MAX_ROWS 64 /* of a table */
#define MAX_SETS 3

/* ---- values ------------------------------------------------------------------ */

int
args_number(const char *text, long long lo, long long hi, long long *to)
{
	const char *error;

	*to = strtonum(text, lo, hi, &error);
	return error == NULL ? 0 : -1;
}

int
args_real(const char *text, double lo, double hi, double *to)
{
	char *end;

	*to = strtod(text, &end);
	if (end == text || *end != '\0' || !isfinite(*to))
		return -1;
	return *to >= lo && *to <= hi ? 0 : -1;
}

int
args_word(const char *text, const char *const *words)
{
	for (int i = 0; words[i] != NULL; i++)
		if (strcasecmp(text, words[i]) == 0)
			return i;
	return -1;
}

int
args_list(void *to, const char *text, int (*add)(void *to, char *part))
{
	char *copy = strdup(text), *rest = copy, *part;
	int status = copy == NULL ? -1 : 0;

	while (status == 0 && *text != '\0' && (part = strsep(&rest, ",")) != NULL)
		status = add(to, part);
	free(copy);
	return status;
}

/* ---- the rows in force ---------------------------------------------------------- */

/* What getopt is told, and what its numbers mean. */
struct reading {
	const struct args *sets;
	size_t nsets;
	struct option longs[MAX_SETS * MAX_ROWS + 1];
	size_t nlongs;
	char shorts[2 * MAX_SETS * MAX_ROWS + 2];
};

static bool
in_use(const struct args *set, const struct arg *a)
{
	return a->uses == 0 || (a->uses & set->uses) != 0;
}

static void
add_row(struct reading *r, size_t s, size_t i)
{
	const struct arg *a = &r->sets[s].table[i];
	size_t len = strlen(r->shorts);

	r->longs[r->nlongs++] = (struct option){
	    .name = a->name,
	    .has_arg = a->value == NULL ? no_argument : required_argument,
	    .val = (int)(FIRST + s * MAX_ROWS + i),
	};
	if (a->letter != 0)
		snprintf(r->shorts + len, sizeof(r->shorts) - len, "%c%s", a->letter,
		    a->value == NULL ? "" : ":");
}

static void
prepare(struct reading *r, const struct args *sets, size_t nsets)
{
	*r = (struct reading){.sets = sets, .nsets = nsets, .shorts = ":"};
	for (size_t s = 0; s < nsets; s++)
		for (size_t i = 0; i < sets[s].n; i++)
			if (in_use(&sets[s], &sets[s].table[i]))
				add_row(r, s, i);
}

/* The row that a number of getopt means, and its set; NULL: none. */
static const struct arg *
row_of(const struct reading *r, int number, const struct args **set)
{
	size_t at = (size_t)number - FIRST;

	for (size_t s = 0; number < FIRST && s < r->nsets; s++)
		for (size_t i = 0; i < r->sets[s].n; i++)
			if (number != 0 && r->sets[s].table[i].letter == number &&
			    in_use(&r->sets[s], &r->sets[s].table[i]))
				at = s * MAX_ROWS + i;
	if (number < FIRST && at == (size_t)number - FIRST)
		return NULL;
	*set = &r->sets[at / MAX_ROWS];
	return &(*set)->table[at % MAX_ROWS];
}

/* ---- complaints ------------------------------------------------------------------- */

static void
complain_unknown(const struct reading *r, const char *given)
{
	char names[1024] = "";

	for (size_t i = 0; i < r->nlongs; i++) {
		const struct args *set;
		const struct arg *a = row_of(r, r->longs[i].val, &set);

		if (a->help == NULL)
			continue;
		strlcat(names, " --", sizeof(names));
		strlcat(names, a->name, sizeof(names));
	}
	complain("%s: no such option; legal:%s", given, names);
}

/* The line about what getopt did not like: a missing value, or any other fault. */
static int
bad_option(const struct reading *r, bool no_value, char **argv)
{
	char letter[] = {'-', (char)optopt, '\0'};
	const struct args *set;
	const struct arg *a = row_of(r, optopt, &set);

	if (no_value && a != NULL)
		complain("--%s: the value is missing; legal: %s", a->name, a->legal);
	else if (a != NULL)
		complain("--%s: takes no value; legal: --%s", a->name, a->name);
	else
		complain_unknown(r, optopt == 0 ? argv[optind - 1] : letter);
	return EXIT_USAGE;
}

int
args_parse(const struct args *sets, size_t nsets, int argc, char **argv, int *rest)
{
	static struct reading r;
	const struct args *set;
	const struct arg *a;
	int got;

	prepare(&r, sets, nsets);
	opterr = 0;
	optind = 0;
	while ((got = getopt_long(argc, argv, r.shorts, r.longs, NULL)) != -1) {
		a = got == ':' || got == '?' ? NULL : row_of(&r, got, &set);
		if (a == NULL)
			return bad_option(&r, got == ':', argv);
		if (a->set(set->to, optarg) == 0)
			continue;
		if (optarg != NULL)
			complain("--%s: '%s' is not legal; legal: %s", a->name, optarg, a->legal);
		else
			complain("--%s: too much; legal: %s", a->name, a->legal);
		return EXIT_USAGE;
	}
	*rest = optind;
	return EXIT_DONE;
}

void
args_help(const struct args *set)
{
	char name[48], letter[] = "-x, ";

	for (size_t i = 0; i < set->n; i++) {
		const struct arg *a = &set->table[i];

		if (a->help == NULL || !in_use(set, a))
			continue;
		letter[1] = a->letter;
		snprintf(name, sizeof(name), "%s--%s%s%s", a->letter ? letter : "", a->name,
		    a->value ? " " : "", a->value ? a->value : "");
		printf("  %-20s %s\n", name, a->help);
		if (a->legal != NULL)
			printf("  %-20s (%s)\n", "", a->legal);
	}
}
