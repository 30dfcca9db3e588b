/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_plot.c: pictures of results, drawn by gnuplot.
 *
 * Texts are given to gnuplot in single quotes, in which nothing but the quote
 * itself is special, and the terminals are told to take them as they stand.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_plot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strperf.h"
#include "strperf_hist.h"

#define MOST_NINES 6 /* 99.9999 %: the last percentile drawn */

/* ---- gnuplot ------------------------------------------------------------------- */

static const struct ending {
	const char *ending;
	const char *terminal;
} endings[] = {
    {".svg", "svg noenhanced size 900,540 background 'white' font 'sans,14'"},
    {".png", "pngcairo noenhanced size 900,540 background 'white' font 'sans,11'"},
};

static const struct ending *
find_ending(const char *file)
{
	size_t len = strlen(file);

	for (size_t i = 0; i < NELEM(endings); i++) {
		size_t tail = strlen(endings[i].ending);

		if (len > tail && strcmp(file + len - tail, endings[i].ending) == 0)
			return &endings[i];
	}
	return NULL;
}

/* Whether PATH leads to a program called gnuplot. */
static bool
gnuplot_found(void)
{
	const char *path = getenv("PATH");
	char *copy = strdup(path == NULL ? "/usr/bin:/bin" : path), *rest = copy, *dir;
	char name[4096];
	bool found = false;

	while (!found && (dir = strsep(&rest, ":")) != NULL) {
		snprintf(name, sizeof(name), "%s/gnuplot", *dir == '\0' ? "." : dir);
		found = access(name, X_OK) == 0;
	}
	free(copy);
	return found;
}

/* Whether the picture can be written where it is wanted; makes no file. */
static bool
writable(const char *file)
{
	bool there = access(file, F_OK) == 0;
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd == -1)
		return false;
	close(fd);
	if (!there)
		unlink(file);
	return true;
}

int
plot_check(const char *file)
{
	if (find_ending(file) == NULL) {
		complain("--plot: '%s' is not legal; legal: a file name that ends with "
			 ".svg or .png",
		    file);
		return EXIT_USAGE;
	}
	if (!gnuplot_found()) {
		complain("--plot: gnuplot is not installed (Debian package gnuplot-nox): "
			 "%s will not be drawn",
		    file);
		return EXIT_DONE;
	}
	if (!writable(file)) {
		complain("--plot: %s: %s; legal: a file that can be written", file,
		    strerror(errno));
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

static void
put_quoted(FILE *f, const char *text)
{
	putc('\'', f);
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			putc('\'', f);
		putc(*text == '\n' ? ' ' : *text, f);
	}
	putc('\'', f);
}

static void
put_setting(FILE *f, const char *what, const char *text)
{
	if (text == NULL)
		return;
	fprintf(f, "set %s ", what);
	put_quoted(f, text);
	putc('\n', f);
}

/*
 * Start gnuplot and say what stands around the picture.  NULL: it is not there.
 * When gnuplot cannot write its file it draws on its standard output, which is for
 * results alone.
 */
static FILE *
begin(const char *file, const struct plot_frame *frame)
{
	const struct ending *ending = find_ending(file);
	FILE *f = ending == NULL || !gnuplot_found()
	    ? NULL
	    : popen("exec gnuplot >/dev/null", "w");

	if (f == NULL)
		return NULL;
	fprintf(f, "set terminal %s\n", ending->terminal);
	put_setting(f, "output", file);
	put_setting(f, "title", frame->title);
	put_setting(f, "xlabel", frame->xlabel);
	put_setting(f, "ylabel", frame->ylabel);
	if (frame->logx)
		fputs("set logscale x\n", f);
	if (frame->logy)
		fputs("set logscale y\n", f);
	fputs("set grid\nset key below\nset datafile missing 'nan'\n", f);
	return f;
}

/* End gnuplot and see that it has made the file. */
static int
end(FILE *f, const char *file)
{
	int status = pclose(f);
	struct stat st;

	if (status == 0 && stat(file, &st) == 0 && st.st_size > 0)
		return EXIT_DONE;
	complain("--plot: gnuplot could not draw %s (status %d)", file, status);
	return EXIT_FAILED;
}

/* ---- lines ---------------------------------------------------------------------- */

static void
put_points(FILE *f, const struct plot_series *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (isfinite(s->x[i]) && isfinite(s->y[i]))
			fprintf(f, "%.9g %.9g %.9g %.9g\n", s->x[i], s->y[i],
			    s->lo == NULL ? s->y[i] : s->lo[i],
			    s->hi == NULL ? s->y[i] : s->hi[i]);
}

/* "$d3 using 1:2 with linespoints ...", one curve of a plot command. */
static void
put_curve(FILE *f, const struct plot_series *s, size_t i)
{
	fprintf(f, "$d%zu using %s linecolor %zu title ", i,
	    s->fit		? "1:2 with lines dashtype 2"
		: s->lo == NULL ? "1:2 with linespoints pointtype 7 pointsize 0.7"
				: "1:2:3:4 with yerrorlines pointtype 7 pointsize 0.7",
	    i + 1);
	put_quoted(f, s->name);
}

int
plot_lines(const char *file, const struct plot_frame *frame,
    const struct plot_series *series, size_t n)
{
	FILE *f = n == 0 ? NULL : begin(file, frame);

	if (f == NULL)
		return EXIT_DONE;
	for (size_t i = 0; i < n; i++) {
		fprintf(f, "$d%zu << END\n", i);
		put_points(f, &series[i]);
		fputs("END\n", f);
	}
	for (size_t i = 0; i < n; i++) {
		fputs(i == 0 ? "plot " : ", ", f);
		put_curve(f, &series[i], i);
	}
	putc('\n', f);
	return end(f, file);
}

/* ---- percentiles ------------------------------------------------------------------ */

/* Where the fraction f stands: 90 % at 1, 99 % at 2, and so on. */
static double
nines(double f)
{
	return -log10(1 - f);
}

/* As far as there is a value to each step: the tail of few values is no curve. */
static void
put_latencies(FILE *f, const struct hist *h)
{
	double last = fmin(nines(1 - 1 / (double)(h->count + 1)), MOST_NINES);

	for (double x = 0; x <= last; x += 0.05)
		fprintf(f, "%.4g %.9g\n", x, hist_quantile(h, 1 - pow(10, -x)));
}

int
plot_percentiles(const char *file, const struct plot_frame *frame,
    const struct plot_latency *latencies, size_t n)
{
	FILE *f = n == 0 ? NULL : begin(file, frame);

	if (f == NULL)
		return EXIT_DONE;
	fputs("set xtics ('0' 0, '50' 0.30103, '90' 1, '99' 2, '99.9' 3, '99.99' 4, "
	      "'99.999' 5, '99.9999' 6)\n",
	    f);
	for (size_t i = 0; i < n; i++) {
		fprintf(f, "$d%zu << END\n", i);
		put_latencies(f, latencies[i].hist);
		fputs("END\n", f);
	}
	for (size_t i = 0; i < n; i++) {
		fprintf(f, "%s$d%zu using 1:2 with lines linewidth 2 title ",
		    i == 0 ? "plot " : ", ", i);
		put_quoted(f, latencies[i].name);
	}
	putc('\n', f);
	return end(f, file);
}

/* ---- heat map ------------------------------------------------------------------------ */

static void
put_ticks(FILE *f, const char *axis, const char *const *names, size_t n)
{
	fprintf(f, "set %stics (", axis);
	for (size_t i = 0; i < n; i++) {
		fputs(i == 0 ? "" : ", ", f);
		put_quoted(f, names[i]);
		fprintf(f, " %zu", i);
	}
	fputs(")\n", f);
}

static void
put_cells(FILE *f, const struct plot_grid *g)
{
	fputs("$cells << END\n", f);
	for (size_t i = 0; i < g->nrows * g->ncolumns; i++)
		if (isfinite(g->value[i]))
			fprintf(f, "%zu %zu %.6g\n", i % g->ncolumns, i / g->ncolumns,
			    g->value[i]);
	fputs("END\n", f);
}

int
plot_matrix(
    const char *file, const struct plot_frame *frame, const struct plot_grid *grid)
{
	FILE *f = grid->nrows * grid->ncolumns == 0 ? NULL : begin(file, frame);

	if (f == NULL)
		return EXIT_DONE;
	put_ticks(f, "x", grid->columns, grid->ncolumns);
	put_ticks(f, "y", grid->rows, grid->nrows);
	put_cells(f, grid);
	fprintf(f, "set xrange [-0.5:%g]\nset yrange [%g:-0.5]\n",
	    (double)grid->ncolumns - 0.5, (double)grid->nrows - 0.5);
	fputs("unset grid\nunset key\nset logscale cb\n"
	      "set palette defined (0 '#f7fbff', 0.5 '#6baed6', 1 '#fd8d3c')\n"
	      "plot $cells using 1:2:(0.5):(0.5):3 with boxxyerror fillstyle solid "
	      "fillcolor palette, $cells using 1:2:(sprintf('%.4g', $3)) with labels\n",
	    f);
	return end(f, file);
}

/* ---- boxes ------------------------------------------------------------------------------ */

static void
put_box(FILE *f, const struct plot_box *box, size_t i)
{
	fprintf(f, "$d%zu << END\n", i);
	for (size_t k = 0; k < box->n; k++)
		if (isfinite(box->v[k]))
			fprintf(f, "%.9g\n", box->v[k]);
	fputs("END\n", f);
}

int
plot_boxes(const char *file, const struct plot_frame *frame, const struct plot_box *boxes,
    size_t n)
{
	FILE *f = n == 0 ? NULL : begin(file, frame);

	if (f == NULL)
		return EXIT_DONE;
	for (size_t i = 0; i < n; i++)
		put_box(f, &boxes[i], i);
	fputs("unset key\nset style fill solid 0.3 border\n"
	      "set style boxplot outliers pointtype 6\nset xtics (",
	    f);
	for (size_t i = 0; i < n; i++) {
		fputs(i == 0 ? "" : ", ", f);
		put_quoted(f, boxes[i].name);
		fprintf(f, " %zu", i + 1);
	}
	fprintf(f, ")\nset xrange [0.5:%g]\nplot ", (double)n + 0.5);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s$d%zu using (%zu):1:(0.5) with boxplot linecolor %zu",
		    i == 0 ? "" : ", ", i, i + 1, i + 1);
	putc('\n', f);
	return end(f, file);
}
