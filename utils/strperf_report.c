/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_report.c: results as rows of named outputs, shown in every format.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_report.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include <ustreams.h>

#include "strperf.h"
#include "strperf_csv.h"
#include "strperf_hist.h"
#include "strperf_host.h"
#include "strperf_intr.h"
#include "strperf_json.h"
#include "strperf_out.h"

/* ---- names ------------------------------------------------------------------------ */

static size_t
find(const struct report *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->ncolumns; i++)
		if (strcasecmp(r->columns[i].name, name) == 0)
			break;
	return i;
}

static void
capitals(const char *name, char *buf, size_t size)
{
	size_t i;

	for (i = 0; name[i] != '\0' && i + 1 < size; i++)
		buf[i] = (char)toupper((unsigned char)name[i]);
	buf[i] = '\0';
}

static void
complain_output(const struct report *r, const char *given)
{
	char names[2048] = "", name[40];

	for (size_t i = 0; i < r->ncolumns; i++) {
		capitals(r->columns[i].name, name, sizeof(name));
		strlcat(names, i > 0 ? "," : "", sizeof(names));
		strlcat(names, name, sizeof(names));
	}
	complain("%s: '%s' is no output; legal: %s", r->command, given, names);
}

static int
add_key(void *to, char *part)
{
	struct report *r = to;
	size_t i = find(r, part);

	if (i < r->ncolumns && r->nkeys < MAX_COLUMNS) {
		r->key[r->nkeys++] = i;
		return 0;
	}
	complain_output(r, part);
	return -1;
}

static void
add_all_keys(struct report *r)
{
	for (size_t i = 0; i < r->ncolumns; i++)
		r->key[r->nkeys++] = i;
}

/* ---- life -------------------------------------------------------------------------- */

int
report_begin(struct report *r, const struct options *o, const char *command,
    const struct column *columns, size_t ncolumns)
{
	*r = (struct report){
	    .o = o,
	    .command = command,
	    .columns = columns,
	    .ncolumns = ncolumns,
	};
	if (o->outputs == NULL || o->outputs[0] == '\0')
		add_all_keys(r);
	else if (args_list(r, o->outputs, add_key) != 0)
		return EXIT_USAGE;
	return EXIT_DONE;
}

void
report_end(struct report *r)
{
	for (size_t i = 0; i < r->nrows; i++) {
		for (size_t k = 0; k < r->ncolumns; k++)
			free(r->rows[i].cell[k].text);
		free(r->rows[i].samples);
	}
	free(r->rows);
	free(r->probes);
}

static __attribute__((noreturn)) void
no_memory(void)
{
	complain("no memory for the results");
	exit(EXIT_FAILED);
}

/* Room for one more element; the array grows by half. */
static void *
grow(void *array, size_t n, size_t size)
{
	if ((n & (n - 1)) == 0 && (array = realloc(array, (n ? 2 * n : 1) * size)) == NULL)
		no_memory();
	return array;
}

/* ---- filling ------------------------------------------------------------------------- */

static struct item *
new_item(struct report *r, const char *key)
{
	struct item *it;

	for (size_t i = 0; i < r->nitems; i++)
		if (strcmp(r->item[i].key, key) == 0)
			return &r->item[i];
	if (r->nitems == NELEM(r->item))
		no_memory();
	it = &r->item[r->nitems++];
	*it = (struct item){.key = key, .number = NAN};
	return it;
}

void
report_set(struct report *r, const char *key, double value)
{
	new_item(r, key)->number = value;
}

void
report_set_text(struct report *r, const char *key, const char *value)
{
	struct item *it = new_item(r, key);

	strlcpy(it->text, value, sizeof(it->text));
}

void
report_row(struct report *r)
{
	struct row *row;

	r->rows = grow(r->rows, r->nrows, sizeof(*r->rows));
	row = &r->rows[r->nrows++];
	memset(row, 0, sizeof(*row));
	for (size_t i = 0; i < r->ncolumns; i++)
		row->cell[i].number = NAN;
}

static struct cell *
cell_of(const struct report *r, size_t row, const char *name)
{
	size_t i = find(r, name);

	if (i == r->ncolumns) {
		complain("%s: no column %s", r->command, name);
		abort();
	}
	return &r->rows[row].cell[i];
}

void
report_put(struct report *r, const char *name, double value)
{
	cell_of(r, r->nrows - 1, name)->number = value;
}

void
report_put_text(struct report *r, const char *name, const char *text)
{
	struct cell *c = cell_of(r, r->nrows - 1, name);

	free(c->text);
	c->text = strdup(text);
	if (c->text == NULL)
		no_memory();
}

void
report_samples(struct report *r, const double *v, size_t n)
{
	struct row *row = &r->rows[r->nrows - 1];

	row->samples = malloc((n + 1) * sizeof(*v));
	if (row->samples == NULL)
		no_memory();
	if (n > 0)
		memcpy(row->samples, v, n * sizeof(*v));
	row->nsamples = n;
}

void
report_histogram(struct report *r, const struct hist *h)
{
	r->rows[r->nrows - 1].histogram = h;
}

double
report_get(const struct report *r, size_t row, const char *name)
{
	return cell_of(r, row, name)->number;
}

const char *
report_get_text(const struct report *r, size_t row, const char *name)
{
	return cell_of(r, row, name)->text;
}

void
report_note(struct report *r, const char *fmt, ...)
{
	va_list ap;

	if (r->nnotes == MAX_NOTES)
		return;
	va_start(ap, fmt);
	vsnprintf(r->note[r->nnotes++], sizeof(r->note[0]), fmt, ap);
	va_end(ap);
}

void
report_probe(struct report *r)
{
	const struct options *o = r->o;

	if (o->ncpus != 2)
		return;
	r->probes = grow(r->probes, r->nprobes, sizeof(*r->probes));
	r->probes[r->nprobes++] = host_roundtrip(o->cpus[0], o->cpus[1]);
}

void
report_progress(struct report *r, size_t total)
{
	if (r->began == 0)
		r->began = intr_now();
	out_progress(++r->progress, total, (double)(intr_now() - r->began) / 1e9);
}

/* ---- for people ------------------------------------------------------------------------- */

static void
print_item(const struct item *it)
{
	if (it->text[0] != '\0')
		printf("%s %s", it->key, it->text);
	else
		printf("%s %.6g", it->key, it->number);
}

void
report_header(const struct report *r)
{
	if (r->o->format != FORMAT_HUMAN)
		return;
	puts(ustr_version());
	out_machine();
	printf("%s: ", r->command);
	for (size_t i = 0; i < r->nitems; i++) {
		print_item(&r->item[i]);
		fputs(i + 1 < r->nitems ? ", " : "\n\n", stdout);
	}
	fflush(stdout);
}

static void
print_cell(const struct column *k, const struct cell *c)
{
	if (c->text != NULL)
		printf("%*s ", k->width, c->text);
	else if (isfinite(c->number))
		printf("%*.*f ", k->width, k->decimals < 0 ? 0 : k->decimals, c->number);
	else
		printf("%*s ", k->width, "-");
}

static void
print_table(const struct report *r)
{
	for (size_t k = 0; k < r->ncolumns; k++)
		if (r->columns[k].title != NULL)
			printf("%*s ", r->columns[k].width, r->columns[k].title);
	putchar('\n');
	for (size_t i = 0; i < r->nrows; i++) {
		for (size_t k = 0; k < r->ncolumns; k++)
			if (r->columns[k].title != NULL)
				print_cell(&r->columns[k], &r->rows[i].cell[k]);
		putchar('\n');
	}
}

static void
print_human(const struct report *r)
{
	if (r->table != NULL)
		r->table(r);
	else
		print_table(r);
	putchar('\n');
	out_roundtrips(r->probes, r->nprobes);
	for (size_t i = 0; i < r->nnotes; i++)
		puts(r->note[i]);
	if (r->interrupted)
		puts("interrupted: the results are partial");
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void
json_cell(struct js *j, const struct column *k, const struct cell *c)
{
	if (c->text != NULL)
		js_string(j, k->name, c->text);
	else if (k->decimals == 0 && c->number >= 0 && c->number < 9e15)
		js_count(j, k->name, (uint64_t)c->number);
	else
		js_number(j, k->name, c->number);
}

/* [[from,to,how many],...], nanoseconds; only what is not empty. */
static void
json_histogram(struct js *j, const struct hist *h)
{
	struct hist_bar bar;

	js_begin(j, "histogram", '[');
	for (size_t i = 0; hist_next(h, &i, &bar);)
		js_numbers(j, NULL,
		    (double[]){bar.lo, bar.hi, (double)bar.count}, 3);
	js_end(j, ']');
}

static void
json_row(struct js *j, const struct report *r, const struct row *row)
{
	js_begin(j, NULL, '{');
	for (size_t k = 0; k < r->ncolumns; k++)
		json_cell(j, &r->columns[k], &row->cell[k]);
	if (row->samples != NULL) {
		js_string(j, "metric", r->metric);
		js_string(j, "better", r->higher_better ? "higher" : "lower");
		js_numbers(j, "samples", row->samples, row->nsamples);
	}
	if (row->histogram != NULL)
		json_histogram(j, row->histogram);
	js_end(j, '}');
}

static void
json_config(struct js *j, const struct report *r)
{
	js_begin(j, "config", '{');
	for (size_t i = 0; i < r->nitems; i++)
		if (r->item[i].text[0] != '\0')
			js_string(j, r->item[i].key, r->item[i].text);
		else
			js_number(j, r->item[i].key, r->item[i].number);
	js_end(j, '}');
}

static void
print_json(const struct report *r)
{
	struct js j;

	js_init(&j);
	js_begin(&j, NULL, '{');
	js_envelope(&j, r->command);
	out_version(&j);
	out_host(&j, r->probes, r->nprobes);
	json_config(&j, r);
	js_bool(&j, "interrupted", r->interrupted);
	js_begin(&j, "results", '[');
	for (size_t i = 0; i < r->nrows; i++)
		json_row(&j, r, &r->rows[i]);
	js_end(&j, ']');
	js_begin(&j, "notes", '[');
	for (size_t i = 0; i < r->nnotes; i++)
		js_string(&j, NULL, r->note[i]);
	js_end(&j, ']');
	js_end(&j, '}');
	js_print(&j, stdout);
}

/* ---- CSV, names, raw ------------------------------------------------------------------------ */

static void
print_csv(const struct report *r)
{
	struct csv c;

	csv_begin(&c, stdout);
	for (size_t k = 0; k < r->nkeys; k++)
		csv_text(&c, r->columns[r->key[k]].name);
	csv_end(&c);
	for (size_t i = 0; i < r->nrows; i++) {
		csv_begin(&c, stdout);
		for (size_t k = 0; k < r->nkeys; k++) {
			const struct cell *cell = &r->rows[i].cell[r->key[k]];

			if (cell->text != NULL)
				csv_text(&c, cell->text);
			else
				csv_number(&c, cell->number);
		}
		csv_end(&c);
	}
}

static void
print_name(const struct column *k, const struct cell *c)
{
	char name[40];

	capitals(k->name, name, sizeof(name));
	printf("%s=", name);
	if (c->text != NULL)
		puts(c->text);
	else if (isfinite(c->number))
		printf("%.*f\n", k->decimals < 0 ? 0 : k->decimals, c->number);
	else
		putchar('\n');
}

/* A block for each row, an empty line between two. */
static void
print_names(const struct report *r)
{
	for (size_t i = 0; i < r->nrows; i++) {
		if (i > 0)
			putchar('\n');
		for (size_t k = 0; k < r->nkeys; k++)
			print_name(&r->columns[r->key[k]], &r->rows[i].cell[r->key[k]]);
	}
}

/* What a sample is of: the texts of its row, and the numbers that tell rows apart. */
static void
describe_row(const struct report *r, const struct row *row, char *buf, size_t size)
{
	char number[32];

	buf[0] = '\0';
	for (size_t k = 0; k < r->ncolumns; k++) {
		const struct cell *c = &row->cell[k];

		if (c->text != NULL)
			strlcat(buf, c->text, size);
		else if (strcmp(r->columns[k].name, "size") == 0 ||
		    strcmp(r->columns[k].name, "count") == 0) {
			snprintf(number, sizeof(number), "%.0f", c->number);
			strlcat(buf, number, size);
		} else {
			continue;
		}
		strlcat(buf, " ", size);
	}
}

static void
print_raw(const struct report *r)
{
	char what[512];

	for (size_t i = 0; i < r->nrows; i++) {
		describe_row(r, &r->rows[i], what, sizeof(what));
		for (size_t n = 0; n < r->rows[i].nsamples; n++)
			raw_sample(
			    stdout, r->rows[i].samples[n], "%s%s", what, r->metric);
	}
}

void
report_print(struct report *r)
{
	static void (*const print[])(const struct report *) = {
	    [FORMAT_HUMAN] = print_human,
	    [FORMAT_JSON] = print_json,
	    [FORMAT_CSV] = print_csv,
	    [FORMAT_RAW] = print_raw,
	    [FORMAT_NAMES] = print_names,
	};

	out_progress_clear();
	print[r->o->format](r);
	if (r->o->format != FORMAT_HUMAN && r->o->format != FORMAT_JSON)
		for (size_t i = 0; i < r->nnotes; i++)
			fprintf(stderr, "%s\n", r->note[i]);
	fflush(stdout);
}

int
report_text(const struct options *o, const char *command, const struct args *own,
    const struct column *columns, size_t ncolumns)
{
	char name[40];

	if (!o->help)
		return cmd_text(false);
	printf("usage: strperf %s [options]\noptions:\n", command);
	args_help(own);
	opts_help(o->use);
	puts("outputs, for -k and -o:");
	for (size_t i = 0; i < ncolumns; i++) {
		capitals(columns[i].name, name, sizeof(name));
		printf("  %-22s %s\n", name, columns[i].help);
	}
	return EXIT_DONE;
}
