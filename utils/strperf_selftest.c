/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_selftest.c: whether the comparison itself is to be trusted here.
 *
 * Two questions, which every way to compare must answer:
 *
 *	how often is a difference claimed that is not there?  The build is compared
 *		with itself, many times over; intervals at 95 % may leave out zero
 *		in one of twenty.  More claims than chance explains mean that
 *		samples on this machine are not what the intervals assume.
 *	is a small difference found?  One side is made slower by a known delay
 *		(pipe --plant-delay): both its writer and its reader idle for that
 *		part of the processor time they have used, whatever the bottleneck
 *		is.  The interval must leave out zero and should hold the delay.
 *
 * And what the harness itself costs: the same loop with no transport at all.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include <ustreams.h>

#include "strperf.h"
#include "strperf_args.h"
#include "strperf_book.h"
#include "strperf_build.h"
#include "strperf_child.h"
#include "strperf_compare.h"
#include "strperf_csv.h"
#include "strperf_intr.h"
#include "strperf_json.h"
#include "strperf_out.h"
#include "strperf_stats.h"
#include "strperf_turns.h"
#include "strperf_verdict.h"

#define MOST_REPEATS 1000
/* times as many pairs for the delay as for a comparison, at least and at most */
#define DELAY_LEAST 4
#define DELAY_MOST 30
#define TOO_RARE 0.01 /* probability of what chance is not believed to do */
#define OVERHEAD_SECONDS 0.4

struct selftest {
	long long repeats;  /* comparisons of the build with itself */
	long long rounds;   /* pairs of each */
	long long size;	    /* bytes of a message */
	double interval;    /* seconds of a slice */
	double delay;	    /* per cent, planted */
	const char *metric; /* what is compared, or NULL: the rate */
	char *mode, *cpus;  /* as pipe has them, or NULL */
	enum format format;
	bool help, version;

	struct build builds[2];
	char slower[32];		   /* the delay as a word */
	struct verdict null[MOST_REPEATS]; /* the build against itself */
	size_t done;			   /* of them */
	size_t claimed, allowed;	   /* differences claimed; what chance explains */
	struct verdict found;		   /* the delayed build against itself */
	bool delayed;			   /* that was measured */
	double harness_ns, message_ns;	   /* a message without transport, and with */
	bool interrupted;
};

/* ---- options ---------------------------------------------------------------------- */

static int
set_repeats(void *to, const char *text)
{
	return args_number(text, 1, MOST_REPEATS, &((struct selftest *)to)->repeats);
}

static int
set_rounds(void *to, const char *text)
{
	return args_number(text, 6, 100000, &((struct selftest *)to)->rounds);
}

static int
set_size(void *to, const char *text)
{
	return args_number(text, 1, MAX_MESSAGE, &((struct selftest *)to)->size);
}

static int
set_interval(void *to, const char *text)
{
	return args_real(text, 0.01, 60, &((struct selftest *)to)->interval);
}

static int
set_delay(void *to, const char *text)
{
	return args_real(text, 0, 100, &((struct selftest *)to)->delay);
}

static int
set_mode(void *to, const char *text)
{
	((struct selftest *)to)->mode = strdup(text);
	return args_word(text, opts_modes) < 0 ? -1 : 0;
}

static int
set_cpus(void *to, const char *text)
{
	((struct selftest *)to)->cpus = strdup(text);
	return ((struct selftest *)to)->cpus == NULL ? -1 : 0;
}

static int
set_metric(void *to, const char *text)
{
	((struct selftest *)to)->metric = text;
	return *text == '\0' ? -1 : 0;
}

static int
set_json(void *to, const char *text)
{
	(void)text;
	((struct selftest *)to)->format = FORMAT_JSON;
	return 0;
}

static int
set_csv(void *to, const char *text)
{
	(void)text;
	((struct selftest *)to)->format = FORMAT_CSV;
	return 0;
}

static int
set_raw(void *to, const char *text)
{
	(void)text;
	((struct selftest *)to)->format = FORMAT_RAW;
	return 0;
}

static int
set_help(void *to, const char *text)
{
	(void)text;
	((struct selftest *)to)->help = true;
	return 0;
}

static int
set_version(void *to, const char *text)
{
	(void)text;
	((struct selftest *)to)->version = true;
	return 0;
}

static const struct arg table[] = {
    {"repeat", "N", set_repeats, "1 to 1000",
	"comparisons of the build with itself; default 20", 0, 0},
    {"rounds", "N", set_rounds, "6 to 100000", "pairs of slices of each; default 20", 0,
	0},
    {"size", "BYTES", set_size, "1 to 1048576 bytes", "of a message; default 64", 0, 0},
    {"interval", "SECONDS", set_interval, "0.01 to 60 seconds",
	"length of a slice; default 0.05", 0, 0},
    {"delay", "PERCENT", set_delay, "0 to 100", "what is planted; default 3", 0, 0},
    {"metric", "NAME", set_metric, "a number in the results of pipe",
	"what to compare, such as cpu_us_per_msg; default the rate", 0, 0},
    {"mode", "WORD", set_mode, "process or thread", "as pipe has it", 0, 0},
    {"cpus", "LIST", set_cpus, "W,R or one CPU or none", "as pipe has it", 0, 0},
    {"json", NULL, set_json, NULL, "print one JSON object", 0, 0},
    {"csv", NULL, set_csv, NULL, "print comma-separated values", 0, 0},
    {"raw", NULL, set_raw, NULL, "print the differences, per cent", 0, 0},
    {"help", NULL, set_help, NULL, "print this", 0, 0},
    {"version", NULL, set_version, NULL, "print the library's version and build", 0, 0},
};

static int
print_help(void)
{
	struct args set = {table, NELEM(table), NULL, 0};

	puts("usage: strperf selftest [options]\n"
	     "  How often a difference is claimed between a build and itself, whether a\n"
	     "  planted delay is found, and what the harness itself costs.\noptions:");
	args_help(&set);
	puts("exit status: 0 passed, 1 failed, 2 usage, 130 interrupted");
	return EXIT_DONE;
}

/* ---- measuring ---------------------------------------------------------------------- */

/* "--mode process" and the like, if they were given.  How many words. */
static size_t
handed_on(const struct selftest *s, char **words)
{
	static char mode[] = "--mode", cpus[] = "--cpus";
	size_t n = 0;

	if (s->mode != NULL) {
		words[n++] = mode;
		words[n++] = s->mode;
	}
	if (s->cpus != NULL) {
		words[n++] = cpus;
		words[n++] = s->cpus;
	}
	return n;
}

/* The build against itself or, with the delay planted in it, against the plain one. */
static int
compare_once(struct selftest *s, size_t rounds, bool delayed, struct verdict *v)
{
	static char pipe_word[] = "pipe", plant[] = "--plant-delay";
	struct turns t = {.builds = s->builds,
	    .nbuilds = 2,
	    .words = {pipe_word},
	    .nwords = 1,
	    .sizes = {(size_t)s->size},
	    .nsizes = 1,
	    .rounds = rounds,
	    .seconds = s->interval};
	struct book book = {
	    .operands = 2, .metric = s->metric, .name = {"plain", "other"}};
	int status;

	t.nwords += handed_on(s, t.words + t.nwords);
	s->builds[1].extra[0] = delayed ? plant : NULL;
	s->builds[1].extra[1] = delayed ? s->slower : NULL;
	status = turns_run(&t, &book);
	if (status == EXIT_DONE)
		status = book_match(&book, NULL, false);
	if (status == EXIT_DONE)
		*v = verdict_reach(&book.series[0], 1, STATS_LEVEL, true);
	v->a = v->b = NULL;
	book_free(&book);
	return status;
}

/* "strperf pipe --json --peers none ..." */
static void
harness_line(struct selftest *s, char **argv)
{
	static char command[] = "pipe", json[] = "--json", peers[] = "--peers",
		    none[] = "none", sizes[] = "--sizes", duration[] = "--duration",
		    interval[] = "--interval", seconds[32], bytes[32];
	char *words[] = {command, json, peers, none, sizes, bytes, duration, seconds,
	    interval, seconds};
	size_t n = (size_t)build_words(&s->builds[0], argv);

	snprintf(seconds, sizeof(seconds), "%g", OVERHEAD_SECONDS);
	snprintf(bytes, sizeof(bytes), "%lld", s->size);
	memcpy(argv + n, words, sizeof(words));
	n += NELEM(words);
	argv[n + handed_on(s, argv + n)] = NULL;
}

/* What a message costs in the loop alone, and with our stream in it. */
static int
measure_harness(struct selftest *s)
{
	static struct child_output out;
	char *argv[BUILD_WORDS + 16] = {NULL}, complaint[256];
	json_t *root;

	harness_line(s, argv);
	out.status = child_run(argv, BUILD_PATIENCE, &out) == 0 ? out.status
								: EXIT_FAILED;
	if (intr_pending())
		return EXIT_INTERRUPTED;
	root = js_parse(out.text, complaint, sizeof(complaint));
	s->message_ns = js_find_number(root, "results.0.ns_per_msg");
	s->harness_ns = js_find_number(root, "results.1.ns_per_msg");
	json_decref(root);
	if (isfinite(s->message_ns) && isfinite(s->harness_ns))
		return EXIT_DONE;
	complain("selftest: the harness cannot be measured (status %d): %s", out.status,
	    out.complaint);
	return out.status == EXIT_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

/*
 * How many pairs it takes to see the delay: the interval, which has become so
 * wide with the pairs of the comparisons, shall be no wider than the delay.
 */
static size_t
delay_rounds(const struct selftest *s)
{
	double widths[MOST_REPEATS], factor;

	for (size_t i = 0; i < s->done; i++)
		widths[i] = s->null[i].hi - s->null[i].lo;
	factor = stats_median(widths, s->done) / fmax(s->delay, 0.1);
	factor = fmin(fmax(factor * factor, DELAY_LEAST), DELAY_MOST);
	return (size_t)(factor * (double)s->rounds);
}

/* The most claims that n comparisons make by chance. */
static size_t
allowed_claims(size_t n)
{
	unsigned k = 0;

	while (gsl_cdf_binomial_Q(k, 1 - STATS_LEVEL / 100, (unsigned)n) >= TOO_RARE)
		k++;
	return k;
}

static void
print_begin(const struct selftest *s)
{
	puts(s->builds[0].version);
	out_machine();
	printf("harness: %.1f of %.1f ns a message (%.1f %%), messages of %lld bytes\n",
	    s->harness_ns, s->message_ns, 100 * s->harness_ns / s->message_ns, s->size);
	printf("the build against itself, %lld pairs of slices of %g s each, 95 %% "
	       "intervals:\n",
	    s->rounds, s->interval);
	fflush(stdout);
}

static void
print_null(const struct selftest *s, size_t i)
{
	const struct verdict *v = &s->null[i];

	printf("%4zu %+7.2f %% (%+.2f to %+.2f)%s\n", i + 1, v->percent, v->lo, v->hi,
	    v->proven ? "  claimed" : "");
	fflush(stdout);
}

static int
measure(struct selftest *s)
{
	int status = measure_harness(s);

	if (status == EXIT_DONE && s->format == FORMAT_HUMAN)
		print_begin(s);
	while (status == EXIT_DONE && s->done < (size_t)s->repeats) {
		status = compare_once(s, (size_t)s->rounds, false, &s->null[s->done]);
		if (status != EXIT_DONE)
			break;
		if (s->format == FORMAT_HUMAN)
			print_null(s, s->done);
		s->claimed += s->null[s->done++].proven;
	}
	s->allowed = allowed_claims(s->done);
	if (status == EXIT_DONE) {
		status = compare_once(s, delay_rounds(s), true, &s->found);
		s->delayed = status == EXIT_DONE;
	}
	s->interrupted = intr_pending();
	return status;
}

/* ---- showing --------------------------------------------------------------------------- */

/* Per cent by which a delay changes what is compared: it lowers a rate. */
static double
expected(const struct selftest *s)
{
	if (s->found.facts.higher_is_better)
		return (100 / (100 + s->delay) - 1) * 100;
	return s->delay;
}

static bool
delay_found(const struct selftest *s)
{
	if (s->delay == 0)
		return !s->found.proven;
	return s->found.proven && s->found.percent * expected(s) > 0;
}

static bool
passed(const struct selftest *s)
{
	return s->claimed <= s->allowed && s->delayed && delay_found(s);
}

static void
show_human(const struct selftest *s)
{
	printf(
	    "claimed a difference that is not there: %zu of %zu, %.0f %% (chance makes up "
	    "to %zu)\n",
	    s->claimed, s->done,
	    s->done > 0 ? 100.0 * (double)s->claimed / (double)s->done : 0, s->allowed);
	if (s->delayed)
		printf("a planted delay of %g %%, which makes %+.1f %%: %+.2f %% "
		       "(%+.2f to %+.2f) from %zu pairs: %s\n",
		    s->delay, expected(s), s->found.percent, s->found.lo, s->found.hi,
		    s->found.ratio.n, delay_found(s) ? "found" : "NOT FOUND");
	puts(s->interrupted ? "interrupted: the results are partial"
		: passed(s) ? "passed"
			    : "FAILED: on this machine, with these pairs and slices, "
			      "comparisons are not to be trusted");
}

static void
json_verdict(struct js *j, const char *kind, const struct verdict *v)
{
	js_begin(j, NULL, '{');
	js_string(j, "kind", kind);
	js_number(j, "diff_pct", v->percent);
	js_interval(j, "ci95", v->lo, v->hi);
	js_bool(j, "proven", v->proven);
	js_count(j, "pairs", v->ratio.n);
	js_count(j, "moved", v->moved);
	js_end(j, '}');
}

static void
show_json(const struct selftest *s)
{
	struct js j;

	js_init(&j);
	js_begin(&j, NULL, '{');
	js_envelope(&j, "selftest");
	out_version(&j);
	out_host(&j, NULL, 0);
	js_number(&j, "harness_ns", s->harness_ns);
	js_number(&j, "message_ns", s->message_ns);
	js_count(&j, "claimed", s->claimed);
	js_count(&j, "allowed", s->allowed);
	js_number(&j, "delay_pct", s->delay);
	js_bool(&j, "delay_found", s->delayed && delay_found(s));
	js_bool(&j, "passed", passed(s));
	js_bool(&j, "interrupted", s->interrupted);
	js_begin(&j, "results", '[');
	for (size_t i = 0; i < s->done; i++)
		json_verdict(&j, "itself", &s->null[i]);
	if (s->delayed)
		json_verdict(&j, "delayed", &s->found);
	js_end(&j, ']');
	js_end(&j, '}');
	js_print(&j, stdout);
}

static void
csv_verdict(const char *kind, const struct verdict *v)
{
	struct csv c;

	csv_begin(&c, stdout);
	csv_text(&c, kind);
	csv_number(&c, v->percent);
	csv_number(&c, v->lo);
	csv_number(&c, v->hi);
	csv_text(&c, v->proven ? "true" : "false");
	csv_count(&c, v->ratio.n);
	csv_end(&c);
}

static void
show_csv(const struct selftest *s)
{
	puts("kind,diff_pct,ci95_lo,ci95_hi,proven,pairs");
	for (size_t i = 0; i < s->done; i++)
		csv_verdict("itself", &s->null[i]);
	if (s->delayed)
		csv_verdict("delayed", &s->found);
}

static void
show_raw(const struct selftest *s)
{
	for (size_t i = 0; i < s->done; i++)
		raw_sample(stdout, s->null[i].percent, "itself");
	if (s->delayed)
		raw_sample(stdout, s->found.percent, "delayed");
}

/* ---- the command ------------------------------------------------------------------------ */

static int
run(struct selftest *s)
{
	static void (*const show[])(const struct selftest *) = {
	    [FORMAT_HUMAN] = show_human,
	    [FORMAT_JSON] = show_json,
	    [FORMAT_CSV] = show_csv,
	    [FORMAT_RAW] = show_raw,
	};
	int status = build_own(&s->builds[0], true);

	if (status != EXIT_DONE)
		return status;
	s->builds[1] = s->builds[0];
	snprintf(s->slower, sizeof(s->slower), "%g", s->delay);
	status = measure(s);
	if (status == EXIT_USAGE || (status == EXIT_FAILED && s->done == 0))
		return status;
	show[s->format](s);
	return status == EXIT_DONE && !passed(s) ? EXIT_FAILED : status;
}

int
cmd_selftest(int argc, char **argv)
{
	static struct selftest s = {
	    .repeats = 20,
	    .rounds = 20,
	    .size = 64,
	    .interval = 0.05,
	    .delay = 3,
	};
	struct args set = {table, NELEM(table), &s, 0};
	int rest, status = args_parse(&set, 1, argc, argv, &rest);

	if (status != EXIT_DONE)
		return status;
	if (s.help)
		return print_help();
	if (s.version)
		return cmd_text(false);
	if (rest == argc)
		return run(&s);
	complain("selftest: %s: takes options only", argv[rest]);
	return EXIT_USAGE;
}
