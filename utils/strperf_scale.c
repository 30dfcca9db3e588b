/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_scale.c: what a message costs against what there is of something:
 * modules pushed, bytes in it, idle streams open, writers.
 *
 * Each is an axis, a list of points.  On the first three one thread writes a
 * few messages into a pipe and reads them back, over and over, so that nothing
 * but the path itself is measured; the writers are members of a crew with one
 * reader, as in strperf pipe.  Rounds pass over all points of an axis, forward
 * and backward in turn.
 *
 * A straight line (GSL, least squares) through the medians of an axis tells
 * the cost per module and the cost per byte.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gsl/gsl_fit.h>
#include <ustreams.h>

#include "strperf.h"
#include "strperf_draw.h"
#include "strperf_host.h"
#include "strperf_intr.h"
#include "strperf_out.h"
#include "strperf_report.h"
#include "strperf_slice.h"
#include "strperf_stats.h"
#include "strperf_student.h"
#include "strperf_subject.h"

#define ROUNDS 7
#define MAX_POINTS 16
#define BATCH 32	/* messages written before they are read */
#define BATCH_BYTES 32768 /* and bytes of them, well below the high-water mark */
#define SMALL 64	/* bytes of a message where the size is not the axis */
#define MODULE "nullmod"
#define DEVICE "/dev/streams/clone/echo"
#define SPARE_FDS 64
#define BAR 50

struct scale;

/* What is varied, and how one sample is made. */
struct axis {
	const char *name;
	const char *unit; /* of the slope: "module" */
	double point[MAX_POINTS];
	size_t npoints;
	/* Make ready for a point; NULL.  EXIT_DONE, or a status after a line. */
	int (*prepare)(struct scale *sc, double x);
	/* Nanoseconds a message, or NAN. */
	double (*sample)(struct scale *sc, double x, double seconds);
	bool outer; /* points in the outer loop, as it is long to get ready for one */
};

struct points {
	double ns[MAX_POINTS][ROUNDS];
	double cpu_us[MAX_POINTS];
	size_t n[MAX_POINTS];
};

struct scale {
	struct options o;
	long max_streams;
	char only[64]; /* axes to measure, or "" for all */
	int *idle;     /* descriptors of idle streams */
	size_t nidle;
	double cpu_us; /* of the last sample, a message */
	struct report report;
	size_t steps; /* of all axes */
	int status;
};

static int
fail(struct scale *sc, const char *what)
{
	complain("scale: %s: %s", what, strerror(errno));
	return sc->status = EXIT_FAILED;
}

/* ---- one thread ------------------------------------------------------------------------ */

static int
open_stack(int fd[2], int modules)
{
	if (str_pipe(fd) == -1)
		return -1;
	for (int i = 0; i < modules; i++)
		if (str_ioctl(fd[1], I_PUSH, MODULE) == -1)
			return -1;
	return str_ioctl(fd[0], I_SRDOPT, RMSGD);
}

/* Write and read so many messages; 0 or -1. */
static int
exchange(const int fd[2], char *buf, size_t size, int batch)
{
	for (int i = 0; i < batch; i++)
		if (str_write(fd[1], buf, size) != (ssize_t)size)
			return -1;
	for (int i = 0; i < batch; i++)
		if (str_read(fd[0], buf, size) != (ssize_t)size)
			return -1;
	return 0;
}

/* Nanoseconds a message through so many modules. */
static double
through(struct scale *sc, int modules, size_t size, double seconds)
{
	int batch = (int)(BATCH_BYTES / size < 1 ? 1 : BATCH_BYTES / size);
	static char buf[MAX_MESSAGE];
	int64_t start, until, now;
	size_t done = 0;
	int fd[2];

	batch = batch > BATCH ? BATCH : batch;
	if (open_stack(fd, modules) == -1)
		return fail(sc, "a pipe with modules"), NAN;
	for (int i = 0; i < 10; i++)
		exchange(fd, buf, size, batch);
	start = intr_now();
	until = start + (int64_t)(seconds * 1e9);
	do {
		if (exchange(fd, buf, size, batch) == -1) {
			fail(sc, "write and read");
			break;
		}
		done += (size_t)batch;
		now = intr_now();
	} while (now < until);
	str_close(fd[1]);
	str_close(fd[0]);
	sc->cpu_us = NAN;
	return done == 0 ? NAN : (double)(intr_now() - start) / (double)done;
}

static double
sample_modules(struct scale *sc, double x, double seconds)
{
	return through(sc, (int)x, SMALL, seconds);
}

static double
sample_bytes(struct scale *sc, double x, double seconds)
{
	return through(sc, 0, (size_t)x, seconds);
}

static double
sample_streams(struct scale *sc, double x, double seconds)
{
	(void)x;
	return through(sc, 0, SMALL, seconds);
}

/* ---- idle streams ------------------------------------------------------------------------- */

static rlim_t
descriptors(rlim_t wanted)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1 || rl.rlim_cur >= wanted)
		return wanted;
	if (rl.rlim_max < wanted) {
		struct rlimit more = {wanted, wanted};

		if (setrlimit(RLIMIT_NOFILE, &more) == 0)
			return wanted;
	}
	rl.rlim_cur = rl.rlim_max < wanted ? rl.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &rl);
	return rl.rlim_cur;
}

static int
skip_point(struct scale *sc, double x, const char *why)
{
	report_note(&sc->report, "%.0f idle streams: not measured: %s", x, why);
	return EXIT_FAILED;
}

/* Open more until there are x. */
static int
prepare_streams(struct scale *sc, double x)
{
	size_t wanted = (size_t)x;
	rlim_t got = descriptors(wanted + SPARE_FDS);
	char why[160];

	if (got < wanted + SPARE_FDS) {
		snprintf(why, sizeof(why),
		    "RLIMIT_NOFILE is %llu and cannot be raised to %zu here",
		    (unsigned long long)got, wanted + SPARE_FDS);
		return skip_point(sc, x, why);
	}
	sc->idle = realloc(sc->idle, wanted * sizeof(*sc->idle));
	while (sc->idle != NULL && sc->nidle < wanted) {
		int fd = str_open(DEVICE, O_RDWR);

		if (fd == -1) {
			snprintf(why, sizeof(why), "opening number %zu failed: %s",
			    sc->nidle + 1, strerror(errno));
			return skip_point(sc, x, why);
		}
		sc->idle[sc->nidle++] = fd;
		if (intr_pending())
			return EXIT_INTERRUPTED;
	}
	return sc->idle == NULL ? fail(sc, "idle streams") : EXIT_DONE;
}

static void
close_idle(struct scale *sc)
{
	while (sc->nidle > 0)
		str_close(sc->idle[--sc->nidle]);
	free(sc->idle);
	sc->idle = NULL;
}

/* ---- writers ------------------------------------------------------------------------------- */

static double
sample_writers(struct scale *sc, double x, double seconds)
{
	static struct slice s;
	const struct counts *r = &s.window[READER], *w = &s.window[WRITER];
	struct options o = sc->o;

	o.nwriters = (size_t)x;
	o.npush = 0;
	if (slice_run(&o, subject_ours(&o), SMALL, seconds, &s) != EXIT_DONE ||
	    s.error[0] != '\0' || s.bad != 0 || s.sent != s.read) {
		complain("scale: %zu writers: %s", o.nwriters,
		    s.error[0] ? s.error : "messages were lost or damaged");
		sc->status = EXIT_FAILED;
		return NAN;
	}
	sc->cpu_us = (double)(r->cpu_us + w->cpu_us) / (double)r->msgs;
	return (double)r->ns / (double)r->msgs;
}

/* ---- axes -------------------------------------------------------------------------------------- */

static const struct axis axes[] = {
    {"modules", "module", {0, 1, 2, 4, 8, 16, 32, 64}, 8, NULL, sample_modules, false},
    {"size", "byte", {1, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768}, 9, NULL,
	sample_bytes, false},
    {"writers", NULL, {1, 2, 3, 4, 6, 8}, 6, NULL, sample_writers, false},
    {"streams", NULL, {1, 10, 100, 1000, 10000, 100000}, 6, prepare_streams,
	sample_streams, true},
};

static bool
wanted(const struct scale *sc, const struct axis *a)
{
	return sc->only[0] == '\0' || strcmp(sc->only, a->name) == 0;
}

static size_t
points_wanted(const struct scale *sc, const struct axis *a)
{
	size_t n = 0;

	while (n < a->npoints && (!a->outer || a->point[n] <= (double)sc->max_streams))
		n++;
	return n;
}

static int
one(struct scale *sc, const struct axis *a, struct points *p, size_t i, double seconds)
{
	double ns = a->sample(sc, a->point[i], seconds);

	if (isfinite(ns)) {
		p->ns[i][p->n[i]++] = ns;
		p->cpu_us[i] = sc->cpu_us;
	}
	report_progress(&sc->report, sc->steps);
	if (!intr_pending())
		return sc->status;
	sc->report.interrupted = true;
	return sc->status = EXIT_INTERRUPTED;
}

static void
measure_outer(struct scale *sc, const struct axis *a, struct points *p, double seconds)
{
	for (size_t i = 0; i < points_wanted(sc, a); i++) {
		if (a->prepare(sc, a->point[i]) != EXIT_DONE)
			break;
		for (int round = 0; round < ROUNDS; round++)
			if (one(sc, a, p, i, seconds) != EXIT_DONE)
				return;
	}
}

static void
measure_axis(struct scale *sc, const struct axis *a, struct points *p)
{
	size_t n = points_wanted(sc, a);
	double seconds = sc->o.duration / (double)(a->npoints * ROUNDS);

	report_probe(&sc->report);
	if (a->outer) {
		measure_outer(sc, a, p, seconds);
		return;
	}
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < n; i++)
			if (one(sc, a, p, round % 2 ? n - 1 - i : i, seconds) != EXIT_DONE)
				return;
}

/* ---- results ------------------------------------------------------------------------------------- */

static const struct column columns[] = {
    {"subject", "the axis: what is varied", "axis", -8, -1},
    {"modules", "modules pushed", "modules", 8, 0},
    {"size", "bytes of a message", "bytes", 7, 0},
    {"writers", "writers", "writers", 8, 0},
    {"streams", "idle streams open beside", "idle", 7, 0},
    {"x", "the one of these that is varied", NULL, 0, 0},
    {"ns_per_msg", "nanoseconds a message, median of the rounds", "ns/msg", 10, 1},
    {"ns_lo", "lower end of its 95 % interval", "from", 10, 1},
    {"ns_hi", "upper end of its 95 % interval", "to", 10, 1},
    {"fit_ns", "the same by the fitted line", "line", 10, 1},
    {"cpu_us_per_msg", "microseconds of processor of all sides a message", "CPU us", 8, 3},
};

static void
put_point(struct scale *sc, const struct axis *a, const struct points *p, size_t i)
{
	struct estimate e = stats_estimate(p->ns[i], p->n[i]);
	struct report *r = &sc->report;

	report_row(r);
	report_put_text(r, "subject", a->name);
	report_put(r, "modules", 0);
	report_put(r, "size", SMALL);
	report_put(r, "writers", 1);
	report_put(r, "streams", 0);
	report_put(r, a->name, a->point[i]);
	report_put(r, "x", a->point[i]);
	report_put(r, "ns_per_msg", e.median);
	report_put(r, "ns_lo", e.lo);
	report_put(r, "ns_hi", e.hi);
	report_put(r, "cpu_us_per_msg", p->cpu_us[i]);
	report_samples(r, p->ns[i], p->n[i]);
}

/* The line through the last n rows, if the axis has one. */
static void
fit(struct scale *sc, const struct axis *a, size_t n)
{
	double x[MAX_POINTS], y[MAX_POINTS], c0, c1, v00, v01, v11, sum;
	struct report *r = &sc->report;
	size_t first = r->nrows - n, rows = r->nrows;

	if (a->unit == NULL || n < 3)
		return;
	for (size_t i = 0; i < n; i++) {
		x[i] = report_get(r, first + i, "x");
		y[i] = report_get(r, first + i, "ns_per_msg");
	}
	gsl_fit_linear(x, 1, y, 1, n, &c0, &c1, &v00, &v01, &v11, &sum);
	for (size_t i = 0; i < n; i++) {
		r->nrows = first + i + 1;
		report_put(r, "fit_ns", c0 + c1 * x[i]);
	}
	r->nrows = rows;
	report_note(r, "a message costs %.1f ns and %.4g +/- %.2g ns a %s (95 %%)", c0, c1,
	    student_quantile(95, (double)(n - 2)) * sqrt(v11), a->unit);
}

static void
put_axis(struct scale *sc, const struct axis *a, const struct points *p)
{
	size_t n = 0;

	for (size_t i = 0; i < a->npoints; i++) {
		if (p->n[i] == 0)
			continue;
		put_point(sc, a, p, i);
		n++;
	}
	fit(sc, a, n);
}

/* A bar for each point; the fitted line is a '|' where it lies. */
static void
chart(const struct report *r, const struct axis *a)
{
	double most = 0;

	for (size_t i = 0; i < r->nrows; i++)
		if (strcmp(report_get_text(r, i, "subject"), a->name) == 0)
			most = fmax(most, report_get(r, i, "ns_per_msg"));
	for (size_t i = 0; i < r->nrows && most > 0; i++) {
		char bar[BAR + 2];
		double at = report_get(r, i, "fit_ns") / most * BAR;

		if (strcmp(report_get_text(r, i, "subject"), a->name) != 0)
			continue;
		memset(bar, ' ', BAR + 1);
		bar[BAR + 1] = '\0';
		memset(bar, '*', (size_t)(report_get(r, i, "ns_per_msg") / most * BAR));
		if (at >= 0 && at <= BAR)
			bar[(int)at] = '|';
		printf("%-8s %7.0f %s\n", a->name, report_get(r, i, "x"), bar);
	}
}

/* ---- the command ------------------------------------------------------------------------------------ */

static int
set_streams(void *to, const char *arg)
{
	struct scale *sc = to;
	long long n;
	int status = args_number(arg, 1, 1000000, &n);

	sc->max_streams = (long)n;
	return status;
}

static int
set_axis(void *to, const char *arg)
{
	struct scale *sc = to;

	for (size_t i = 0; i < NELEM(axes); i++)
		if (strcmp(arg, axes[i].name) == 0) {
			snprintf(sc->only, sizeof(sc->only), "%s", arg);
			return 0;
		}
	return -1;
}

static const struct arg own_table[] = {
    {"axis", "WORD", set_axis, "modules, size, writers or streams",
	"measure this one only", 0, 0},
    {"streams", "N", set_streams, "1 to 1000000",
	"at most so many idle streams; default 100000", 0, 0},
};

static void
count_steps(struct scale *sc)
{
	for (size_t i = 0; i < NELEM(axes); i++)
		if (wanted(sc, &axes[i]))
			sc->steps += points_wanted(sc, &axes[i]) * ROUNDS;
}

static int
run(struct scale *sc)
{
	static struct points points[NELEM(axes)];
	struct report *r = &sc->report;
	int status = report_begin(r, &sc->o, "scale", columns, NELEM(columns));

	if (status != EXIT_DONE)
		return status;
	r->metric = "ns";
	report_set_text(r, "cpus", opts_cpus_text(&sc->o));
	report_set(r, "rounds", ROUNDS);
	report_set(r, "seconds_per_axis", sc->o.duration);
	report_header(r);
	count_steps(sc);
	for (size_t i = 0; i < NELEM(axes) && sc->status == EXIT_DONE; i++)
		if (wanted(sc, &axes[i]))
			measure_axis(sc, &axes[i], &points[i]);
	for (size_t i = 0; i < NELEM(axes); i++)
		put_axis(sc, &axes[i], &points[i]);
	report_print(r);
	for (size_t i = 0; i < NELEM(axes) && sc->o.format == FORMAT_HUMAN; i++)
		chart(r, &axes[i]);
	draw_lines(r, &(struct draw_lines){
		.group = "subject", .x = "x", .y = "ns_per_msg", .fit = "fit_ns",
		.title = "strperf scale", .xlabel = "modules, bytes, writers, streams",
		.ylabel = "ns a message", .logx = true, .logy = true});
	close_idle(sc);
	report_end(r);
	return sc->status;
}

int
cmd_scale(int argc, char **argv)
{
	static struct scale sc = {.max_streams = 100000};
	const struct args own = {own_table, NELEM(own_table), &sc, 0};
	int status;

	opts_defaults(&sc.o);
	sc.o.use = USE_SCALE;
	sc.o.duration = 3;
	status = opts_parse_for(&sc.o, &own, argc, argv);
	if (status != EXIT_DONE)
		return status;
	if (sc.o.help || sc.o.version)
		return report_text(&sc.o, "scale", &own, columns, NELEM(columns));
	return run(&sc);
}
