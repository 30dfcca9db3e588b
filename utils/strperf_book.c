/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_book.c: what several operands of a comparison measured.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_book.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "strperf.h"
#include "strperf_json.h"
#include "strperf_stats.h"

/* What makes two results the same thing, and the words around it. */
static const struct {
	const char *key;
	const char *before, *after;
} identity[] = {
    {"subject", "", ""},
    {"operation", "", ""},
    {"test", "", ""},
    {"variant", "", ""},
    {"size", "", " bytes"},
    {"request_size", "request ", " bytes"},
    {"response_size", "response ", " bytes"},
    {"count", "", " messages"},
    {"modules", "", " modules"},
    {"streams", "", " streams"},
    {"writers", "", " writers"},
    {"readers", "", " readers"},
};

/* ---- series --------------------------------------------------------------------- */

static struct series *
find_series(struct book *b, const struct series *like)
{
	struct series *more;

	for (size_t i = 0; i < b->n; i++)
		if (strcmp(b->series[i].name, like->name) == 0)
			return &b->series[i];
	more = reallocarray(b->series, b->n + 1, sizeof(*more));
	if (more == NULL)
		return NULL;
	b->series = more;
	b->series[b->n] = *like;
	return &b->series[b->n++];
}

struct series *
book_plain(struct book *b, bool higher)
{
	return find_series(b, &(struct series){.higher = higher});
}

static struct set *
made(struct set **set, const char *name)
{
	if (*set == NULL)
		*set = set_new(name);
	return *set;
}

struct set *
book_set(struct book *b, struct series *s, size_t operand)
{
	return made(&s->set[operand], b->name[operand]);
}

/* ---- results of strperf ---------------------------------------------------------------- */

static void
append_identity(struct series *s, size_t row, const json_t *value)
{
	char number[32], part[96];
	const char *text = json_string_value(value);

	if (json_is_number(value)) {
		snprintf(number, sizeof(number), "%.9g", json_number_value(value));
		text = number;
	}
	if (text == NULL)
		return;
	snprintf(part, sizeof(part), "%s%s%.60s%s", s->name[0] == '\0' ? "" : ", ",
	    identity[row].before, text, identity[row].after);
	strlcat(s->name, part, sizeof(s->name));
}

/* What its samples are, which is better, and what it is about. */
static void
identify_samples(const struct book *b, struct series *s, const json_t *result)
{
	const char *metric = js_find_string(result, "metric");
	const char *better = js_find_string(result, "better");

	if (metric == NULL)
		metric = "msgs_per_s";
	s->higher = better == NULL || strcmp(better, "higher") == 0;
	if (b->metric != NULL) {
		metric = b->metric;
		s->higher = strstr(metric, "_per_s") != NULL;
	}
	strlcpy(s->metric, metric, sizeof(s->metric));
}

/* The series of a result, without sets. */
static void
identify(const struct book *b, struct series *s, const json_t *result)
{
	const char *subject = js_find_string(result, "subject");
	double size = js_find_number(result, "size");

	*s = (struct series){.size = size >= 1 ? (size_t)size : 0};
	identify_samples(b, s, result);
	strlcpy(s->subject, subject == NULL ? "" : subject, sizeof(s->subject));
	for (size_t i = 0; i < NELEM(identity); i++)
		append_identity(s, i, js_find(result, identity[i].key));
	strlcat(s->name, " (", sizeof(s->name));
	strlcat(s->name, s->metric, sizeof(s->name));
	strlcat(s->name, ")", sizeof(s->name));
}

/* The finite ones among samples, in v; how many. */
static size_t
numbers_of(const json_t *samples, double *v)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(samples); i++) {
		const json_t *value = json_array_get(samples, i);

		if (json_is_number(value))
			v[n++] = json_number_value(value);
	}
	return n;
}

static int
add_samples(struct set *set, const double *v, size_t n, bool typical)
{
	int error = 0;

	if (typical)
		return n > 0 ? set_add(set, stats_median(v, n)) : 0;
	for (size_t i = 0; i < n && error == 0; i++)
		error = set_add(set, v[i]);
	return error;
}

static int
add_number(struct set *set, double value)
{
	return isfinite(value) ? set_add(set, value) : 0;
}

/* A live sample has the round trip of its run beside it. */
static int
add_probe(struct book *b, struct series *s, size_t operand, const json_t *root)
{
	struct set *probe = made(&s->probe[operand], b->name[operand]);

	return probe == NULL ? -1
			     : set_add(probe, js_find_number(root, "host.crosscpu_ns"));
}

static int
take_result(struct book *b, const json_t *root, const json_t *result, size_t operand,
    bool typical)
{
	const json_t *samples = js_find(result, "samples");
	double *v = calloc(json_array_size(samples) + 1, sizeof(*v));
	struct series like, *s;
	struct set *set;
	int error = -1;

	identify(b, &like, result);
	s = v == NULL ? NULL : find_series(b, &like);
	set = s == NULL ? NULL : book_set(b, s, operand);
	if (set != NULL && b->metric != NULL)
		error = add_number(set, js_find_number(result, b->metric));
	else if (set != NULL)
		error = add_samples(set, v, numbers_of(samples, v), typical);
	if (error == 0 && typical)
		error = add_probe(b, s, operand, root);
	free(v);
	return error;
}

int
book_take(struct book *b, const json_t *root, size_t operand, bool typical)
{
	const json_t *results = js_find(root, "results");
	int taken = 0;

	for (size_t i = 0; i < json_array_size(results); i++) {
		const json_t *result = json_array_get(results, i);

		if (b->metric == NULL ? json_array_size(js_find(result, "samples")) == 0
				      : isnan(js_find_number(result, b->metric)))
			continue;
		if (take_result(b, root, result, operand, typical) != 0)
			return -1;
		taken++;
	}
	return taken;
}

/* ---- matching ------------------------------------------------------------------------ */

static void
free_series(struct series *s)
{
	for (size_t i = 0; i < BOOK_MOST; i++) {
		set_free(s->set[i]);
		set_free(s->probe[i]);
	}
}

static bool
wanted(const struct book *b, const struct series *s, const char *select)
{
	for (size_t i = 0; i < b->operands; i++)
		if (s->set[i] == NULL)
			return false;
	return select == NULL || strstr(s->name, select) != NULL;
}

/* What each operand has, when they do not fit. */
static void
complain_misfit(const struct book *b, const char *select)
{
	char text[1024];

	if (select != NULL)
		complain(
		    "--select: nothing that all of them have contains '%s'; there is:",
		    select);
	else
		complain("nothing was measured in all of them; there is:");
	for (size_t k = 0; k < b->operands; k++) {
		text[0] = '\0';
		for (size_t i = 0; i < b->n; i++) {
			const char *name = b->series[i].name;

			if (b->series[i].set[k] == NULL)
				continue;
			strlcat(text, text[0] == '\0' ? "" : "; ", sizeof(text));
			strlcat(text, *name == '\0' ? "numbers" : name, sizeof(text));
		}
		complain("  %s: %s", b->name[k], text[0] == '\0' ? "nothing" : text);
	}
}

/* Plain numbers of some operands go with the only series of the others. */
static void
adopt_plain(struct book *b)
{
	struct series *plain = b->series, *other = b->series + 1;

	if (b->n != 2)
		return;
	if (other->name[0] == '\0') {
		plain = other;
		other = b->series;
	}
	if (plain->name[0] != '\0')
		return;
	for (size_t i = 0; i < b->operands; i++) {
		if (other->set[i] != NULL)
			continue;
		other->set[i] = plain->set[i];
		plain->set[i] = NULL;
	}
}

int
book_match(struct book *b, const char *select, bool partial)
{
	size_t n = 0;

	adopt_plain(b);
	for (size_t i = 0; i < b->n; i++)
		n += wanted(b, &b->series[i], select);
	if (n == 0 && !partial) {
		complain_misfit(b, select);
		return EXIT_USAGE;
	}
	n = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct series *s = &b->series[i];

		if (!wanted(b, s, select)) {
			free_series(s);
			continue;
		}
		for (size_t k = 0; k < b->operands; k++)
			set_settle(s->set[k]);
		b->series[n++] = *s;
	}
	b->n = n;
	return EXIT_DONE;
}

void
book_free(struct book *b)
{
	for (size_t i = 0; i < b->n; i++)
		free_series(&b->series[i]);
	free(b->series);
	b->series = NULL;
	b->n = 0;
}
