/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_compare_opts.c: the options of strperf compare and strcompare.
 *
 * The short ones are those of ministat(1).  A few options of pipe may stand among
 * them and are handed on as they are; all others stand behind "-- pipe".
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_compare.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "strperf.h"
#include "strperf_student.h"

static int
set_no_chart(void *to, const char *text)
{
	(void)text;
	((struct compare *)to)->no_chart = true;
	return 0;
}

static int
set_numbers_only(void *to, const char *text)
{
	(void)text;
	((struct compare *)to)->numbers_only = true;
	return 0;
}

static int
set_bars(void *to, const char *text)
{
	(void)text;
	((struct compare *)to)->bars = true;
	return 0;
}

static int
set_column(void *to, const char *text)
{
	long long column;
	int status = args_number(text, 1, INT_MAX, &column);

	((struct compare *)to)->columns.column = (int)column;
	return status;
}

static int
set_confidence(void *to, const char *text)
{
	struct compare *c = to;
	char *end;

	c->level = strtod(text, &end);
	if (end == text || strcmp(*end == '%' ? end + 1 : end, "") != 0)
		return -1;
	return student_level_legal(c->level) ? 0 : -1;
}

static int
set_delimiters(void *to, const char *text)
{
	((struct compare *)to)->columns.delimiters = text;
	return *text == '\0' ? -1 : 0;
}

static int
set_width(void *to, const char *text)
{
	long long width;
	int status = args_number(text, 3, 1000, &width);

	((struct compare *)to)->width = (int)width;
	return status;
}

static int
set_select(void *to, const char *text)
{
	((struct compare *)to)->select = text;
	return 0;
}

static int
set_metric(void *to, const char *text)
{
	((struct compare *)to)->book.metric = text;
	return *text == '\0' ? -1 : 0;
}

static int
set_rates(void *to, const char *text)
{
	(void)text;
	((struct compare *)to)->rates = true;
	return 0;
}

static int
set_gate(void *to, const char *text)
{
	struct compare *c = to;

	c->gated = true;
	return gate_parse(&c->gate, text);
}

static int
set_bisect(void *to, const char *text)
{
	(void)text;
	((struct compare *)to)->bisect = true;
	return 0;
}

static int
set_rounds(void *to, const char *text)
{
	return args_number(text, 1, MAX_SLICES, &((struct compare *)to)->rounds);
}

static int
set_configure(void *to, const char *text)
{
	((struct compare *)to)->configure = text;
	return 0;
}

static int
set_json(void *to, const char *text)
{
	(void)text;
	((struct compare *)to)->format = FORMAT_JSON;
	return 0;
}

static int
set_csv(void *to, const char *text)
{
	(void)text;
	((struct compare *)to)->format = FORMAT_CSV;
	return 0;
}

static int
set_raw(void *to, const char *text)
{
	(void)text;
	((struct compare *)to)->format = FORMAT_RAW;
	return 0;
}

static int
set_plot(void *to, const char *text)
{
	((struct compare *)to)->plot = text;
	return 0;
}

static int
set_help(void *to, const char *text)
{
	(void)text;
	((struct compare *)to)->help = true;
	return 0;
}

static int
set_version(void *to, const char *text)
{
	(void)text;
	((struct compare *)to)->version = true;
	return 0;
}

/* Hand an option on to the command that is measured. */
static int
hand_on(struct compare *c, const char *name, const char *text)
{
	struct turns *t = &c->turns;

	if (t->nwords + 2 > TURNS_WORDS)
		return -1;
	t->words[t->nwords++] = strdup(name);
	t->words[t->nwords++] = strdup(text);
	return t->words[t->nwords - 2] == NULL || t->words[t->nwords - 1] == NULL ? -1
										  : 0;
}

static int
set_sizes(void *to, const char *text)
{
	return hand_on(to, "--sizes", text);
}

static int
set_mode(void *to, const char *text)
{
	return hand_on(to, "--mode", text);
}

static int
set_cpus(void *to, const char *text)
{
	return hand_on(to, "--cpus", text);
}

static int
set_push(void *to, const char *text)
{
	return hand_on(to, "--push", text);
}

static int
set_duration(void *to, const char *text)
{
	return hand_on(to, "--duration", text);
}

static int
set_interval(void *to, const char *text)
{
	return hand_on(to, "--interval", text);
}

static const struct arg table[] = {
    {"no-chart", NULL, set_no_chart, NULL, "no picture of the distributions", 0, 'A'},
    {"numbers-only", NULL, set_numbers_only, NULL, "no picture and no comparison", 0,
	'n'},
    {"bars", NULL, set_bars, NULL,
	"mean, median and deviation of each set on a line of its own", 0, 's'},
    {"column", "N", set_column, "a number from 1", "column of the files; default 1", 0,
	'C'},
    {"confidence", "PERCENT", set_confidence, "80 to 99.9",
	"confidence of the intervals; default 95", 0, 'c'},
    {"delimiters", "CHARS", set_delimiters, "characters",
	"what separates columns; default blank and tab", 0, 'd'},
    {"width", "N", set_width, "3 to 1000",
	"of the picture; default the terminal's, or 74", 0, 'w'},
    {"select", "TEXT", set_select, "part of a name",
	"compare only the results whose names contain this", 0, 0},
    {"metric", "NAME", set_metric, "a number in the results, such as cpu_us_per_msg",
	"what to compare instead of their samples", 0, 0},
    {"rates", NULL, set_rates, NULL, "numbers in files are rates: more is faster", 0, 0},
    {"fail-if", "LIMIT", set_gate, GATE_LEGAL,
	"status 1: the whole interval lies beyond; 3: undecided", 0, 0},
    {"bisect", NULL, set_bisect, NULL,
	"statuses for git bisect run: 125 when it is undecided", 0, 0},
    {"rounds", "N", set_rounds, "1 to 1000000", "how often each build has its turn", 0,
	0},
    {"configure", "OPTIONS", set_configure, "options of configure",
	"how commits are built", 0, 0},
    {"sizes", "LIST", set_sizes, "sizes in bytes", "as pipe has it", 0, 0},
    {"mode", "WORD", set_mode, "process or thread", "as pipe has it", 0, 0},
    {"cpus", "LIST", set_cpus, "W,R or one CPU or none", "as pipe has it", 0, 0},
    {"push", "LIST", set_push, "module names", "as pipe has it", 0, 0},
    {"duration", "SECONDS", set_duration, "0.01 to 86400 seconds",
	"time for each build and size; default 5", 0, 0},
    {"interval", "SECONDS", set_interval, "0.01 to 86400 seconds",
	"time of one turn; default 0.25", 0, 0},
    {"json", NULL, set_json, NULL, "print one JSON object", 0, 0},
    {"csv", NULL, set_csv, NULL, "print comma-separated values", 0, 0},
    {"raw", NULL, set_raw, NULL, "print the samples", 0, 0},
    {"plot", "FILE", set_plot, "a file name that ends with .svg or .png",
	"draw the distributions as boxes", 0, 0},
    {"help", NULL, set_help, NULL, "print this", 0, 0},
    {"version", NULL, set_version, NULL, "print the library's version and build", 0, 0},
};

struct args
compare_args(struct compare *c)
{
	return (struct args){table, NELEM(table), c, 0};
}
