/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_compare.c: which of two builds is faster, and whether that is proven.
 *
 * A and B are strperf programs, each with the library it was built with.  For
 * every size they run one short slice in turn, in the order A B, B A, A B, ...
 * so that a machine that drifts treats both alike.  Each run is a process of
 * its own, `strperf pipe --json` with one size and one slice, whose result is
 * the sample.  Per size the ratio B / A is taken pair by pair; its median and
 * 95 % interval are the difference.  A difference is proven when the interval
 * leaves out 0 %; if not, that is what is said, whatever the medians are.
 *
 * Pairs around which the processors were moved are left out, as in
 * strperf_pipe.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/string.h>

#include "strperf.h"
#include "strperf_child.h"
#include "strperf_host.h"
#include "strperf_intr.h"
#include "strperf_json.h"
#include "strperf_opts.h"
#include "strperf_out.h"
#include "strperf_stats.h"

#define SLICE_SECONDS 0.25 /* default --interval */
#define TOTAL_SECONDS 5	   /* default --duration: 20 pairs */
#define PATIENCE 60	   /* seconds a run may take beyond its slice */
#define MAX_ARGS 64	   /* options handed on */
#define OWN_ARGS 12	   /* and those that follow them */

enum { A, B, NBUILDS };

/* One side of the comparison. */
struct build {
	const char *given;   /* as on the command line */
	char path[PATH_MAX]; /* the program */
	char version[256];   /* its version line */
};

/* One size. */
struct versus {
	size_t size;
	double *rate[NBUILDS];	/* samples, pair by pair */
	double *probe[NBUILDS]; /* cross-CPU round trips of the runs; NAN unknown */
	size_t pairs;		/* complete ones */
	size_t moved;		/* of these, those around which CPUs were moved */
	struct estimate est;	/* of B / A */
};

struct comparison {
	struct options o;
	struct build build[NBUILDS];
	struct versus versus[MAX_SIZES]; /* one for each of o.sizes */
	char *args[MAX_ARGS];		 /* options as they were given */
	size_t nargs;
	double *rates, *probes; /* all of them: versus points into these */
	size_t nprobes;
};

static const char build_names[] = {[A] = 'A', [B] = 'B'};

/* ---- builds -------------------------------------------------------------------------- */

static bool
runnable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The program in a build directory, or the program itself. */
static int
find_program(struct build *b)
{
	static const char *const places[] = {"%s", "%s/utils/strperf", "%s/bin/strperf"};
	char path[PATH_MAX];

	for (size_t i = 0; i < NELEM(places); i++) {
		snprintf(path, sizeof(path), places[i], b->given);
		if (runnable(path) && realpath(path, b->path) != NULL)
			return EXIT_DONE;
	}
	complain("compare: %s: neither a strperf program nor a build directory with "
		 "utils/strperf in it",
	    b->given);
	return EXIT_USAGE;
}

static int
ask_version(struct build *b)
{
	static struct child_output out;
	char option[] = "--version", *argv[] = {b->path, option, NULL};
	int error = child_run(argv, PATIENCE, &out);

	if (error == 0 && out.status == 0 && strncmp(out.text, "ustreams ", 9) == 0) {
		strlcpy(b->version, out.text, sizeof(b->version));
		b->version[strcspn(b->version, "\n")] = '\0';
		return EXIT_DONE;
	}
	complain("compare: %s: %s", b->path,
	    error != 0		   ? strerror(error)
		: out.complaint[0] ? out.complaint
				   : "not strperf");
	return EXIT_USAGE;
}

/* ---- measuring ------------------------------------------------------------------------- */

/* One run of one build.  EXIT_DONE with *rate and *probe, or another status. */
static int
sample(struct comparison *c, int which, size_t size, double *rate, double *probe)
{
	static struct child_output out;
	double seconds = opts_slice_seconds(&c->o);
	char *argv[2 + MAX_ARGS + OWN_ARGS + 1] = {c->build[which].path, "pipe"};
	char slice[32], bytes[32], complaint[256];
	json_t *root;
	char *own[OWN_ARGS] = {"--json", "--peers", "", "--sizes", bytes, "--duration",
	    slice, "--interval", slice};
	int error;

	snprintf(slice, sizeof(slice), "%.9g", seconds);
	snprintf(bytes, sizeof(bytes), "%zu", size);
	memcpy(argv + 2, c->args, c->nargs * sizeof(*argv));
	memcpy(argv + 2 + c->nargs, own, sizeof(own));
	error = child_run(argv, seconds + PATIENCE, &out);
	if (intr_pending())
		return EXIT_INTERRUPTED;
	root = js_parse(out.text, complaint, sizeof(complaint));
	*rate = js_find_number(root, "results.0.samples.0");
	*probe = js_find_number(root, "host.crosscpu_ns");
	json_decref(root);
	if (error == 0 && out.status == 0 && isfinite(*rate))
		return EXIT_DONE;
	complain("compare: %c at %zu bytes (status %d): %s", build_names[which], size,
	    out.status, error != 0 ? strerror(error) : out.complaint);
	return out.status == EXIT_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

static int
measure_pair(struct comparison *c, struct versus *v, size_t round)
{
	int status = EXIT_DONE;

	for (int turn = 0; turn < NBUILDS && status == EXIT_DONE; turn++) {
		int which = (turn + (int)round) % NBUILDS;

		status = sample(
		    c, which, v->size, &v->rate[which][round], &v->probe[which][round]);
	}
	if (status == EXIT_DONE)
		v->pairs++;
	return status;
}

static int
measure_all(struct comparison *c)
{
	size_t rounds = opts_slices(&c->o), sizes = c->o.nsizes;
	int64_t start = intr_now();
	int status = EXIT_DONE;

	for (size_t i = 0; i < rounds * sizes && status == EXIT_DONE; i++) {
		status = measure_pair(c, &c->versus[i % sizes], i / sizes);
		out_progress(i + 1, rounds * sizes, (double)(intr_now() - start) / 1e9);
	}
	out_progress_clear();
	return status;
}

/* The difference, from the pairs of one placement, or from all if there are too few. */
static void
conclude(struct versus *v)
{
	double *rates = calloc(2 * v->pairs + 1, sizeof(*rates));
	double *a = rates, *b = rates + v->pairs;
	size_t n = 0;

	v->est = stats_paired_ratio(v->rate[B], v->rate[A], v->pairs);
	for (size_t i = 0; rates != NULL && i < v->pairs; i++) {
		if (!host_one_place(fmin(v->probe[A][i], v->probe[B][i]),
			fmax(v->probe[A][i], v->probe[B][i])))
			continue;
		a[n] = v->rate[A][i];
		b[n++] = v->rate[B][i];
	}
	v->moved = v->pairs - n;
	if (n >= 2)
		v->est = stats_paired_ratio(b, a, n);
	free(rates);
}

/* ---- showing ------------------------------------------------------------------------------ */

enum verdict { UNPROVEN, FASTER, SLOWER, NVERDICTS };

static const char *const verdicts[] = {
    [UNPROVEN] = "no difference proven",
    [FASTER] = "B is faster",
    [SLOWER] = "B is slower",
};

static enum verdict
judge(const struct versus *v)
{
	if (!stats_excludes(&v->est, 1))
		return UNPROVEN;
	return v->est.median > 1 ? FASTER : SLOWER;
}

static double
percent(double ratio)
{
	return (ratio - 1) * 100;
}

/* "B is faster at 1, 64 bytes", if any size says so.  How many do. */
static size_t
print_group(const struct comparison *c, enum verdict verdict, const char *before)
{
	size_t n = 0;

	for (size_t i = 0; i < c->o.nsizes; i++) {
		if (judge(&c->versus[i]) != verdict)
			continue;
		if (n++ == 0)
			printf(
			    "%s%s at %zu", before, verdicts[verdict], c->versus[i].size);
		else
			printf(", %zu", c->versus[i].size);
	}
	fputs(n > 0 ? " bytes" : "", stdout);
	return n;
}

static void
print_versus(const struct versus *v)
{
	if (v->est.method == STATS_NONE) {
		printf("%7zu  no interval from %zu pairs\n", v->size, v->pairs);
		return;
	}
	printf("%7zu %12.0f %12.0f %+8.1f %%   %+7.1f to %+7.1f %%  %5zu  %s", v->size,
	    stats_median(v->rate[A], v->pairs), stats_median(v->rate[B], v->pairs),
	    percent(v->est.median), percent(v->est.lo), percent(v->est.hi), v->est.n,
	    verdicts[judge(v)]);
	if (v->moved > 0)
		printf(" (CPUs moved around %zu)", v->moved);
	putchar('\n');
}

static void
print_human(const struct comparison *c)
{
	static const enum verdict order[] = {FASTER, SLOWER, UNPROVEN};
	const char *before = "";

	for (int which = 0; which < NBUILDS; which++)
		printf("%c  %s\n   %s\n", build_names[which], c->build[which].given,
		    c->build[which].version);
	out_machine();
	printf("CPUs %s, %zu pairs of slices of %g s\n\n", opts_cpus_text(&c->o),
	    opts_slices(&c->o), opts_slice_seconds(&c->o));
	printf("%7s %12s %12s %10s   %-20s %5s  %s\n", "bytes", "A msgs/s", "B msgs/s",
	    "B over A", "95 % interval", "pairs", "verdict");
	for (size_t i = 0; i < c->o.nsizes; i++)
		print_versus(&c->versus[i]);
	putchar('\n');
	out_roundtrips(c->probes, c->nprobes);
	for (size_t i = 0; i < NELEM(order); i++)
		if (print_group(c, order[i], before) > 0)
			before = "; ";
	puts(intr_pending() ? " (interrupted: partial)" : "");
}

static void
json_build(struct js *j, const char *key, const struct build *b)
{
	js_begin(j, key, '{');
	js_string(j, "path", b->path);
	js_string(j, "version", b->version);
	out_build(j, "build", b->version);
	js_end(j, '}');
}

static void
json_samples(struct js *j, const char *key, const double *v, size_t n)
{
	js_begin(j, key, '[');
	for (size_t i = 0; i < n; i++)
		js_number(j, NULL, v[i]);
	js_end(j, ']');
}

static void
json_versus(struct js *j, const struct versus *v)
{
	js_begin(j, NULL, '{');
	js_count(j, "size", v->size);
	js_number(j, "median_a", stats_median(v->rate[A], v->pairs));
	js_number(j, "median_b", stats_median(v->rate[B], v->pairs));
	js_number(j, "diff_pct", percent(v->est.median));
	js_interval(j, "ci95", percent(v->est.lo), percent(v->est.hi));
	js_string(j, "ci_method", stats_method_name(v->est.method));
	js_bool(j, "proven", judge(v) != UNPROVEN);
	js_count(j, "pairs", v->est.n);
	js_count(j, "moved", v->moved);
	json_samples(j, "samples_a", v->rate[A], v->pairs);
	json_samples(j, "samples_b", v->rate[B], v->pairs);
	js_end(j, '}');
}

static void
print_json(const struct comparison *c)
{
	struct js j;

	js_init(&j);
	js_begin(&j, NULL, '{');
	js_envelope(&j, "compare");
	json_build(&j, "a", &c->build[A]);
	json_build(&j, "b", &c->build[B]);
	out_host(&j, c->probes, c->nprobes);
	js_string(&j, "cpus", opts_cpus_text(&c->o));
	js_bool(&j, "interrupted", intr_pending());
	js_begin(&j, "results", '[');
	for (size_t i = 0; i < c->o.nsizes; i++)
		json_versus(&j, &c->versus[i]);
	js_end(&j, ']');
	js_end(&j, '}');
	js_print(&j, stdout);
}

static void
print_csv(const struct comparison *c)
{
	puts("size,median_a,median_b,diff_pct,ci95_lo,ci95_hi,proven,pairs");
	for (size_t i = 0; i < c->o.nsizes; i++) {
		const struct versus *v = &c->versus[i];

		printf("%zu,", v->size);
		out_csv_number(stats_median(v->rate[A], v->pairs), ",");
		out_csv_number(stats_median(v->rate[B], v->pairs), ",");
		out_csv_number(percent(v->est.median), ",");
		out_csv_number(percent(v->est.lo), ",");
		out_csv_number(percent(v->est.hi), ",");
		printf("%s,%zu\n", judge(v) != UNPROVEN ? "true" : "false", v->est.n);
	}
}

/* ---- the command ------------------------------------------------------------------------------ */

/* Parse one stretch of options and keep them for the runs; *rest as opts_parse. */
static int
take_options(struct comparison *c, int argc, char **argv, int *rest)
{
	int status = opts_parse(&c->o, argc, argv, rest);

	if (status != EXIT_DONE)
		return status;
	if (c->nargs + (size_t)*rest - 1 > MAX_ARGS) {
		complain("compare: more than %d words of options", MAX_ARGS);
		return EXIT_USAGE;
	}
	for (int i = 1; i < *rest; i++)
		c->args[c->nargs++] = argv[i];
	return EXIT_DONE;
}

/* "A B [options] [-- [pipe] [options]]": getopt has moved the operands behind. */
static int
read_arguments(struct comparison *c, int argc, char **argv)
{
	int first = 1, rest, status;

	while (first < argc && strcmp(argv[first], "--") != 0)
		first++;
	status = take_options(c, first, argv, &rest);
	if (status != EXIT_DONE || c->o.help || c->o.version)
		return status;
	if (first - rest != NBUILDS) {
		complain("compare: takes two builds, A and B, not %d", first - rest);
		return EXIT_USAGE;
	}
	for (int which = 0; which < NBUILDS; which++)
		c->build[which].given = argv[rest + which];
	if (first + 1 < argc && strcmp(argv[first + 1], "pipe") == 0)
		first++;
	if (first == argc)
		return EXIT_DONE;
	status = take_options(c, argc - first, argv + first, &rest);
	if (status == EXIT_DONE && first + rest < argc) {
		complain("compare: %s: only pipe and its options stand after --",
		    argv[first + rest]);
		return EXIT_USAGE;
	}
	return status;
}

/* One stretch of rates and one of probes, a piece of each for every size and build. */
static bool
make_room(struct comparison *c, size_t rounds)
{
	c->nprobes = c->o.nsizes * NBUILDS * rounds;
	c->rates = calloc(c->nprobes, sizeof(*c->rates));
	c->probes = calloc(c->nprobes, sizeof(*c->probes));
	if (c->rates == NULL || c->probes == NULL)
		return false;
	for (size_t i = 0; i < c->nprobes; i++)
		c->probes[i] = NAN;
	for (size_t i = 0; i < c->o.nsizes * NBUILDS; i++) {
		struct versus *v = &c->versus[i / NBUILDS];

		v->size = c->o.sizes[i / NBUILDS];
		v->rate[i % NBUILDS] = c->rates + i * rounds;
		v->probe[i % NBUILDS] = c->probes + i * rounds;
	}
	return true;
}

static int
prepare(struct comparison *c)
{
	int status = opts_settle_cpus(&c->o);

	for (int which = 0; which < NBUILDS && status == EXIT_DONE; which++) {
		status = find_program(&c->build[which]);
		if (status == EXIT_DONE)
			status = ask_version(&c->build[which]);
	}
	if (status == EXIT_DONE && !make_room(c, opts_slices(&c->o))) {
		complain("no memory for the results");
		status = EXIT_FAILED;
	}
	return status;
}

static int
run(struct comparison *c)
{
	static void (*const print[])(const struct comparison *) = {
	    [FORMAT_HUMAN] = print_human,
	    [FORMAT_JSON] = print_json,
	    [FORMAT_CSV] = print_csv,
	};
	int status = prepare(c);

	if (status != EXIT_DONE)
		return status;
	status = measure_all(c);
	if (status == EXIT_USAGE)
		return status;
	for (size_t i = 0; i < c->o.nsizes; i++)
		conclude(&c->versus[i]);
	print[c->o.format](c);
	return status;
}

int
cmd_compare(int argc, char **argv)
{
	static struct comparison c;
	int status;

	opts_defaults(&c.o);
	c.o.duration = TOTAL_SECONDS;
	c.o.interval = SLICE_SECONDS;
	status = read_arguments(&c, argc, argv);
	if (status != EXIT_DONE)
		return status;
	if (c.o.help || c.o.version)
		return cmd_text(c.o.help);
	if (c.o.npeers > 0)
		complain("compare: --peers: peers are not run here");
	status = run(&c);
	free(c.rates);
	free(c.probes);
	return status;
}
