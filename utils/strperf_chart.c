/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_chart.c: distributions drawn with letters.
 *
 * The number of a set, from 1, fits three bits.  A cell holds the union of the
 * bits of all sets with a value there and shows the mark of that number; so 1
 * and 2, x and +, make 3, an asterisk.
 */
#include "strperf_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char marks[] = " x+*%#@O";

/* The axis: values from lo to hi over so many columns. */
struct axis {
	double lo, hi;
	int width;
};

/* The grid of a chart: row 0 is at the bottom. */
struct grid {
	unsigned char *cell; /* height rows of width cells */
	int width, height;
};

char
chart_mark(size_t i)
{
	return marks[i + 1];
}

static int
column_of(const struct axis *a, double value)
{
	double at = (value - a->lo) / (a->hi - a->lo) * (a->width - 1);

	return (int)fmin(fmax(floor(at + 0.5), 0), a->width - 1);
}

static struct axis
axis_of(struct set *const *sets, size_t n, int width)
{
	struct axis a = {NAN, NAN, width};

	for (size_t i = 0; i < n; i++) {
		const struct moments *m = &sets[i]->m;
		double deviation = m->n < 2 ? 0 : moments_stddev(m);

		if (m->n == 0)
			continue;
		a.lo = fmin(a.lo, fmin(m->min, moments_mean(m) - deviation));
		a.hi = fmax(a.hi, fmax(m->max, moments_mean(m) + deviation));
	}
	return a;
}

/* ---- the marks ------------------------------------------------------------------------ */

/* How many values of a set share its fullest column. */
static int
height_of(const struct axis *a, const struct set *s)
{
	int run = 0, most = 0, last = -1;

	for (size_t i = 0; i < s->n; i++) {
		int column = column_of(a, s->ascended[i]);

		run = column == last ? run + 1 : 1;
		last = column;
		most = run > most ? run : most;
	}
	return most;
}

static void
stack(const struct axis *a, const struct set *s, struct grid *g, unsigned bits)
{
	int row = 0, last = -1;

	for (size_t i = 0; i < s->n; i++) {
		int column = column_of(a, s->ascended[i]);

		row = column == last ? row + 1 : 0;
		last = column;
		g->cell[row * g->width + column] |= (unsigned char)bits;
	}
}

static void
print_marks(FILE *f, const struct grid *g)
{
	for (int row = g->height - 1; row >= 0; row--) {
		putc('|', f);
		for (int i = 0; i < g->width; i++)
			putc(marks[g->cell[row * g->width + i]], f);
		fputs("|\n", f);
	}
}

static void
draw_marks(FILE *f, const struct axis *a, struct set *const *sets, size_t n)
{
	struct grid g = {NULL, a->width, 0};

	for (size_t i = 0; i < n; i++) {
		int height = height_of(a, sets[i]);

		g.height = height > g.height ? height : g.height;
	}
	g.cell = calloc((size_t)(g.width * g.height + 1), 1);
	if (g.cell == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		stack(a, sets[i], &g, (unsigned)i + 1);
	print_marks(f, &g);
	free(g.cell);
}

/* ---- the bars ----------------------------------------------------------------------------- */

/* Where two bars share a line the later one's letters prevail, its rule does not. */
static void
lay_bar(const struct axis *a, const struct set *s, char *line)
{
	double deviation = s->n < 2 ? 0 : moments_stddev(&s->m);
	int from = column_of(a, moments_mean(&s->m) - deviation);
	int to = column_of(a, moments_mean(&s->m) + deviation);

	for (int i = from + 1; i < to; i++)
		if (line[i] == ' ')
			line[i] = '_';
	line[from] = '|';
	line[to] = '|';
	line[column_of(a, set_upper_median(s))] = 'M';
	line[column_of(a, moments_mean(&s->m))] = 'A';
}

static void
draw_bars(FILE *f, const struct axis *a, struct set *const *sets, size_t n, bool apart)
{
	char *line = malloc((size_t)a->width + 1);

	if (line == NULL)
		return;
	line[a->width] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || apart)
			memset(line, ' ', (size_t)a->width);
		if (sets[i]->n > 0)
			lay_bar(a, sets[i], line);
		if (i == n - 1 || apart)
			fprintf(f, "|%s|\n", line);
	}
	free(line);
}

static void
draw_frame(FILE *f, int width)
{
	putc('+', f);
	for (int i = 0; i < width; i++)
		putc('-', f);
	fputs("+\n", f);
}

void
chart_draw(FILE *f, struct set *const *sets, size_t n, int width, bool bars)
{
	struct axis a = axis_of(sets, n, width);

	if (!(a.hi > a.lo)) {
		fputs("[no plot, span is zero width]\n", f);
		return;
	}
	draw_frame(f, width);
	draw_marks(f, &a, sets, n);
	draw_bars(f, &a, sets, n, bars);
	draw_frame(f, width);
}
