/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_compare.h: one comparison: what was asked for, and what there is.
 */
#ifndef STRPERF_COMPARE_H
#define STRPERF_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "strperf_args.h"
#include "strperf_book.h"
#include "strperf_build.h"
#include "strperf_commit.h"
#include "strperf_gate.h"
#include "strperf_opts.h"
#include "strperf_turns.h"

struct compare {
	/* what was asked for */
	bool no_chart;	   /* -A */
	bool numbers_only; /* -n */
	bool bars;	   /* -s */
	struct set_columns columns;
	double level; /* confidence, per cent */
	int width;    /* of the chart; 0: the terminal's */
	enum format format;
	const char *plot;      /* picture to draw, or NULL */
	const char *select;    /* part of the names of series, or NULL */
	const char *configure; /* options for building commits, or NULL */
	bool rates;	       /* plain numbers are rates: more is better */
	bool gated;	       /* --fail-if was there */
	struct gate gate;
	bool bisect;	  /* statuses for git bisect run */
	long long rounds; /* of live runs; 0: by duration */
	bool help, version;

	/* what there is */
	bool live; /* operands are builds, measured here */
	struct build builds[BOOK_MOST];
	struct commit commits[BOOK_MOST];
	struct turns turns;
	struct options o; /* live and pipe: what its words came to */
	struct book book;
	bool interrupted;
};

/* The letter of an operand in results: 'a', 'b', ... */
static inline char
compare_letter(size_t operand)
{
	return (char)('a' + operand);
}

/* The options, whose setters fill c. */
struct args compare_args(struct compare *c);
/* Show everything in the format asked for, and draw.  EXIT_DONE or EXIT_FAILED. */
int compare_show(const struct compare *c);

#endif
