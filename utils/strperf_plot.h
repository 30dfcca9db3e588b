/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_plot.h: pictures of results, drawn by gnuplot.
 *
 * The ending of the file decides what it becomes, .svg or .png.  The data go to
 * gnuplot through a pipe together with the commands; there are no other files.
 * Every function that draws returns EXIT_DONE, or EXIT_FAILED after one line on
 * stderr; without gnuplot it does nothing and returns EXIT_DONE, as plot_check()
 * has said so before the measurement began.
 */
#ifndef STRPERF_PLOT_H
#define STRPERF_PLOT_H

#include <stdbool.h>
#include <stddef.h>

struct hist;

/* What stands around a picture; NULL leaves a text out. */
struct plot_frame {
	const char *title;
	const char *xlabel, *ylabel;
	bool logx, logy;
};

/* Points joined by lines; points with a NAN are left out. */
struct plot_series {
	const char *name;
	const double *x, *y;
	const double *lo, *hi; /* intervals of y, or NULL */
	size_t n;
	bool fit; /* a fitted line: drawn dashed and without points */
};

/* A matrix of numbers, each written into its cell, which is coloured by it. */
struct plot_grid {
	const char *const *rows, *const *columns; /* what each is called */
	size_t nrows, ncolumns;
	const double *value; /* row by row; NAN: an empty cell */
};

/* A sample of which median, quartiles and outliers are drawn as a box. */
struct plot_box {
	const char *name;
	const double *v;
	size_t n;
};

/* Latencies of one subject. */
struct plot_latency {
	const char *name;
	const struct hist *hist;
};

/*
 * Whether a file can be drawn: EXIT_USAGE, after one line, for an ending that is
 * not known; EXIT_DONE otherwise, after one line if gnuplot is missing.
 */
int plot_check(const char *file);

/* Throughput against size, cost against modules, with their fits. */
int plot_lines(const char *file, const struct plot_frame *frame,
    const struct plot_series *series, size_t n);
/* Latency against percentile: 90, 99, 99.9, ... at equal distances. */
int plot_percentiles(const char *file, const struct plot_frame *frame,
    const struct plot_latency *latencies, size_t n);
/* A heat map. */
int plot_matrix(
    const char *file, const struct plot_frame *frame, const struct plot_grid *grid);
/* A comparison of samples side by side. */
int plot_boxes(const char *file, const struct plot_frame *frame,
    const struct plot_box *boxes, size_t n);

#endif
