/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_draw.c: pictures of reports, if --plot asks for one.
 *
 * A picture is an extra: one that cannot be drawn is complained of, and the
 * results, which have been printed, are as good as without it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strperf_plot.h"
#include "strperf_report.h"

#define MAX_BOXES 64
#define MAX_SERIES 32
#define MAX_POINTS 256
#define MAX_LABELS 64

void
draw_boxes(const struct report *r, const char *ylabel)
{
	struct plot_frame frame = {.title = r->command, .ylabel = ylabel};
	struct plot_box boxes[MAX_BOXES];
	size_t n = 0;

	if (r->o->plot == NULL)
		return;
	for (size_t i = 0; i < r->nrows && n < MAX_BOXES; i++)
		if (r->rows[i].nsamples > 0)
			boxes[n++] = (struct plot_box){
			    .name = r->rows[i].cell[0].text,
			    .v = r->rows[i].samples,
			    .n = r->rows[i].nsamples,
			};
	if (n > 0)
		plot_boxes(r->o->plot, &frame, boxes, n);
}

/* ---- lines ------------------------------------------------------------------------ */

struct points {
	const char *name;
	double x[MAX_POINTS], y[MAX_POINTS], fit[MAX_POINTS];
	size_t n;
};

static struct points *
points_of(struct points *all, size_t *n, const char *name)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	if (*n == MAX_SERIES)
		return NULL;
	all[*n].name = name;
	return &all[(*n)++];
}

static size_t
gather(const struct report *r, const struct draw_lines *what, struct points *all)
{
	size_t n = 0;

	for (size_t i = 0; i < r->nrows; i++) {
		const char *name = report_get_text(r, i, what->group);
		struct points *p = name == NULL ? NULL : points_of(all, &n, name);

		if (p == NULL || p->n == MAX_POINTS)
			continue;
		p->x[p->n] = report_get(r, i, what->x);
		p->y[p->n] = report_get(r, i, what->y);
		p->fit[p->n++] = what->fit == NULL ? NAN : report_get(r, i, what->fit);
	}
	return n;
}

static size_t
make_series(const struct draw_lines *what, const struct points *all, size_t n,
    struct plot_series *series)
{
	size_t made = 0;

	for (size_t i = 0; i < n; i++)
		series[made++] = (struct plot_series){
		    .name = all[i].name, .x = all[i].x, .y = all[i].y, .n = all[i].n};
	for (size_t i = 0; what->fit != NULL && i < n; i++)
		if (isfinite(all[i].fit[0]))
			series[made++] = (struct plot_series){
			    .name = "fit",
			    .x = all[i].x,
			    .y = all[i].fit,
			    .n = all[i].n,
			    .fit = true,
			};
	return made;
}

void
draw_lines(const struct report *r, const struct draw_lines *what)
{
	struct plot_frame frame = {
	    .title = what->title,
	    .xlabel = what->xlabel,
	    .ylabel = what->ylabel,
	    .logx = what->logx,
	    .logy = what->logy,
	};
	struct points *all = r->o->plot == NULL ? NULL : calloc(MAX_SERIES, sizeof(*all));
	struct plot_series series[2 * MAX_SERIES];
	size_t n;

	if (all == NULL)
		return;
	n = gather(r, what, all);
	if (n > 0)
		plot_lines(r->o->plot, &frame, series, make_series(what, all, n, series));
	free(all);
}

/* ---- a heat map -------------------------------------------------------------------- */

struct labels {
	double value[MAX_LABELS];
	char text[MAX_LABELS][16];
	const char *name[MAX_LABELS];
	size_t n;
};

static size_t
label_of(struct labels *l, double value)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->value[i] == value)
			return i;
	if (l->n == MAX_LABELS)
		return MAX_LABELS - 1;
	l->value[l->n] = value;
	snprintf(l->text[l->n], sizeof(l->text[0]), "%.0f", value);
	l->name[l->n] = l->text[l->n];
	l->n++;
	return i;
}

void
draw_matrix(const struct report *r, const char *group, const char *text, const char *x,
    const char *y, const char *z, const char *title)
{
	static struct labels rows, columns;
	static double value[MAX_LABELS * MAX_LABELS];
	struct plot_frame frame = {.title = title, .xlabel = x, .ylabel = y};
	struct plot_grid grid = {.rows = rows.name, .columns = columns.name, .value = value};

	if (r->o->plot == NULL)
		return;
	rows.n = columns.n = 0;
	for (size_t i = 0; i < r->nrows; i++) {
		label_of(&rows, report_get(r, i, y));
		label_of(&columns, report_get(r, i, x));
	}
	for (size_t i = 0; i < rows.n * columns.n; i++)
		value[i] = NAN;
	for (size_t i = 0; i < r->nrows; i++)
		if (strcmp(report_get_text(r, i, group), text) == 0)
			value[label_of(&rows, report_get(r, i, y)) * columns.n +
			    label_of(&columns, report_get(r, i, x))] =
			    report_get(r, i, z);
	grid.nrows = rows.n;
	grid.ncolumns = columns.n;
	plot_matrix(r->o->plot, &frame, &grid);
}
