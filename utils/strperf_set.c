/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_set.c: a named set of numbers.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_set.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "strperf.h"

#define FIRST_ROOM 64

struct set *
set_new(const char *name)
{
	struct set *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	moments_init(&s->m);
	s->name = strdup(name);
	if (s->name != NULL)
		return s;
	free(s);
	return NULL;
}

void
set_free(struct set *s)
{
	if (s == NULL)
		return;
	free(s->name);
	free(s->v);
	free(s->ascended);
	free(s);
}

int
set_add(struct set *s, double value)
{
	if (s->n == s->room) {
		size_t room = s->room == 0 ? FIRST_ROOM : 2 * s->room;
		double *more = reallocarray(s->v, room, sizeof(*more));

		if (more == NULL)
			return ENOMEM;
		s->v = more;
		s->room = room;
	}
	s->v[s->n++] = value;
	moments_add(&s->m, value);
	return 0;
}

int
set_settle(struct set *s)
{
	free(s->ascended);
	s->ascended = calloc(s->n + 1, sizeof(*s->ascended));
	if (s->ascended == NULL)
		return ENOMEM;
	for (size_t i = 0; i < s->n; i++)
		s->ascended[i] = s->v[i];
	gsl_sort(s->ascended, 1, s->n);
	return 0;
}

double
set_upper_median(const struct set *s)
{
	return s->n == 0 ? NAN : s->ascended[s->n / 2];
}

/* ---- reading ------------------------------------------------------------------------ */

/* The word of a column, or NULL: the line has none there. */
static char *
pick(char *line, const struct set_columns *columns)
{
	char *rest = NULL, *word = strtok_r(line, columns->delimiters, &rest);

	for (int i = 1; i < columns->column && word != NULL && *word != '#'; i++)
		word = strtok_r(NULL, columns->delimiters, &rest);
	return word == NULL || *word == '#' ? NULL : word;
}

static int
take(struct set *s, size_t number, const char *word)
{
	char *end;
	double value = strtod(word, &end);

	if (*end != '\0' || !isfinite(value)) {
		complain("%s, line %zu: '%s' is not a number", s->name, number, word);
		return EXIT_USAGE;
	}
	if (set_add(s, value + 0.0) == 0) /* -0 becomes 0 */
		return EXIT_DONE;
	complain("%s: no memory for %zu numbers", s->name, s->n + 1);
	return EXIT_FAILED;
}

int
set_read(struct set *s, FILE *f, const struct set_columns *columns)
{
	char *line = NULL, *word;
	size_t size = 0, number = 0;
	int status = EXIT_DONE;

	while (status == EXIT_DONE && getline(&line, &size, f) != -1) {
		number++;
		line[strcspn(line, "\r\n")] = '\0';
		word = pick(line, columns);
		if (word != NULL)
			status = take(s, number, word);
	}
	if (ferror(f)) {
		complain("%s: %s", s->name, strerror(errno));
		status = EXIT_USAGE;
	}
	free(line);
	return status;
}
