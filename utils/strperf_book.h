/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_book.h: what several operands of a comparison measured, thing by thing.
 *
 * A series is one thing that was measured, "ustreams, 64 bytes (msgs_per_s)", with
 * one set of samples from each operand.  Results of strperf say what they are
 * about (their identity: subject, size, number of modules, ...); equal identities
 * come into one series.  A file of numbers is a series without a name.
 */
#ifndef STRPERF_BOOK_H
#define STRPERF_BOOK_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "strperf_set.h"

#define BOOK_MOST 7 /* operands: each has a letter of the chart */

struct series {
	char name[192];		      /* the identity in words; "" for plain numbers */
	char metric[32];	      /* what a sample is: "msgs_per_s", "ns" */
	char subject[32];	      /* "" when there is none */
	size_t size;		      /* bytes of a message; 0 when there are none */
	bool higher;		      /* more is better: a rate */
	struct set *set[BOOK_MOST];   /* O: by operand; NULL: nothing of this kind */
	struct set *probe[BOOK_MOST]; /* O: cross-CPU round trips of live samples */
};

struct book {
	struct series *series;	     /* O: in the order in which they came */
	size_t n;		     /* O: of them */
	size_t operands;	     /* C */
	const char *name[BOOK_MOST]; /* C: of the operands, as shown */
	const char *metric; /* C: member of results to take; NULL: their samples */
};

/* The series of plain numbers, made at need; NULL: no memory. */
struct series *book_plain(struct book *b, bool higher);
/* The set of an operand in a series, made at need; NULL: no memory. */
struct set *book_set(struct book *b, struct series *s, size_t operand);

/*
 * Take the results of a strperf run: all samples of each or, for one run of
 * several (typical), the median of them as one sample; or, when a metric is
 * asked for, that number of each.  The number of results with samples; -1: no
 * memory.
 */
int book_take(struct book *b, const json_t *root, size_t operand, bool typical);

/*
 * Drop the series that not all operands have or, when select is not NULL, whose
 * name does not contain it; sort the rest.  EXIT_DONE; EXIT_USAGE after a line
 * that says what there was, when nothing is left.  partial: the samples are
 * not all there, and nothing is complained of.
 */
int book_match(struct book *b, const char *select, bool partial);
void book_free(struct book *b);

#endif
