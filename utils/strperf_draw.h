/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_draw.h: pictures of reports, if --plot asks for one.
 */
#ifndef STRPERF_DRAW_H
#define STRPERF_DRAW_H

#include <stdbool.h>

struct report;

/* The samples of each row as a box; ylabel names what they are. */
void draw_boxes(const struct report *r, const char *ylabel);

/*
 * A line for each value of the text column group: column y against column x.
 * fits: columns "fit" hold what a fitted line says, drawn dashed; or NULL.
 */
struct draw_lines {
	const char *group, *x, *y, *fit;
	const char *title, *xlabel, *ylabel;
	bool logx, logy;
};
void draw_lines(const struct report *r, const struct draw_lines *what);

/* A heat map of the rows whose group column has this text: x by y, cells z. */
void draw_matrix(const struct report *r, const char *group, const char *text,
    const char *x, const char *y, const char *z, const char *title);

#endif
