/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtop_rows.h: what strtop shows, as lines of text; strtop.c prints them,
 * strtop_screen.c puts them on a screen.
 */
#ifndef STRTOP_ROWS_H
#define STRTOP_ROWS_H

#include <stdbool.h>

#include <ustreams_look.h>

enum top_sort { BY_ARRIVED, BY_READ, BY_BYTES, BY_QUEUED, BY_FILL, BY_ID, TOP_SORTS };

/* What is shown, and how. */
struct top {
	struct ustr_look *lk;
	struct ustr_view *before; /* NULL at first */
	struct ustr_view *now;
	double seconds;	/* between views */
	enum top_sort sort;
	bool narrow;	/* fewer columns, for a terminal of 80 */
	/* Where strtap finds it: an option and its value. */
	const char *where[2];
};

/* A text of lines. */
struct lines {
	char *text;
	char **line;
	size_t n;
	/* What the lines are of: 0, or the stream of each. */
	unsigned int *id;
};

/* The key and the word of an order. */
extern const struct top_order {
	char key;
	const char *word;
} top_orders[TOP_SORTS];

/* Take the next view: 0 or an errno, and all stays as it is. */
int top_advance(struct top *t);
void top_end(struct top *t);
/* No process has the streams any more. */
bool top_over(const struct top *t);
/* The lines above the list, the list, and one stream; each ends with lines_free. */
void top_summary(const struct top *t, struct lines *l);
void top_list(const struct top *t, struct lines *l);
void top_stream(const struct top *t, unsigned int id, struct lines *l);
void lines_free(struct lines *l);

#endif
