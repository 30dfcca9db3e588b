/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_report.h: results as rows of named outputs, shown in every format.
 *
 * A command describes its outputs once, in a table of columns, and puts values
 * into rows by name.  From that one table come the table for people, JSON,
 * CSV, the NAME=value lines of -k, the choice of -o, the help about names and
 * the columns that a picture draws, so that they cannot disagree.
 */
#ifndef STRPERF_REPORT_H
#define STRPERF_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strperf_opts.h"

#define MAX_COLUMNS 64
#define MAX_NOTES 16

struct column {
	const char *name;  /* in JSON and CSV; in capitals for -k and -o */
	const char *help;  /* what it is, with its unit */
	const char *title; /* in the table for people, or NULL: not there */
	int width;	   /* there; below zero: to the left */
	int decimals;	   /* -1: a text */
};

/* One value: neither text nor a finite number means not measured. */
struct cell {
	char *text; /* O: or NULL */
	double number;
};

struct hist;

struct row {
	struct cell cell[MAX_COLUMNS];
	double *samples; /* O: in order of time */
	size_t nsamples;
	const struct hist *histogram; /* C: latencies, or NULL */
};

/* One item of the configuration: how it was measured. */
struct item {
	const char *key;
	char text[64]; /* "" : the number counts */
	double number;
};

struct report {
	const struct options *o;
	const char *command;
	const struct column *columns;
	size_t ncolumns;
	const char *metric; /* of the samples: "ns", "trans_per_s" */
	bool higher_better;
	struct row *rows; /* O: */
	size_t nrows;
	struct item item[32];
	size_t nitems;
	char note[MAX_NOTES][256];
	size_t nnotes;
	size_t key[MAX_COLUMNS]; /* columns of -k or -o */
	size_t nkeys;
	double *probes; /* O: cross-CPU round trips */
	size_t nprobes;
	/* The results for people, if not a line for each row. */
	void (*table)(const struct report *);
	bool interrupted;
	size_t progress; /* steps of a long run done */
	int64_t began;	 /* the first of them */
};

/*
 * Begin; columns must stay.  EXIT_USAGE, after a line that lists all names,
 * when -k or -o names one that there is not.
 */
int report_begin(struct report *r, const struct options *o, const char *command,
    const struct column *columns, size_t ncolumns);
/* Release everything. */
void report_end(struct report *r);

/* How it was measured; key must stay. */
void report_set(struct report *r, const char *key, double value);
void report_set_text(struct report *r, const char *key, const char *value);

/* A new row; the calls below are about the newest one. */
void report_row(struct report *r);
void report_put(struct report *r, const char *name, double value);
void report_put_text(struct report *r, const char *name, const char *text);
void report_samples(struct report *r, const double *v, size_t n);
/* Latencies of the row; must stay. */
void report_histogram(struct report *r, const struct hist *h);
/* The number in a row, NAN if there is none. */
double report_get(const struct report *r, size_t row, const char *name);
const char *report_get_text(const struct report *r, size_t row, const char *name);

/* A sentence below the table. */
void report_note(struct report *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* For people only, at once: version, machine, configuration. */
void report_header(const struct report *r);
/* Measure a cross-CPU round trip and keep it. */
void report_probe(struct report *r);
/* Step done of total, on a terminal. */
void report_progress(struct report *r, size_t total);
/* Everything, in the format asked for. */
void report_print(struct report *r);

/* The texts of --help and --version: EXIT_DONE. */
int report_text(const struct options *o, const char *command, const struct args *own,
    const struct column *columns, size_t ncolumns);

#endif
