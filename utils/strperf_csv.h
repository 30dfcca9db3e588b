/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_csv.h: comma-separated values (RFC 4180), and raw samples.
 */
#ifndef STRPERF_CSV_H
#define STRPERF_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One record while it is written. */
struct csv {
	FILE *f;   /* C: where to */
	bool more; /* O: a value stands before: a comma is due */
};

void csv_begin(struct csv *c, FILE *f);
/* Quoted when it holds a comma, a quotation mark or a line's end. */
void csv_text(struct csv *c, const char *value);
/* Nothing for a number that is not finite. */
void csv_number(struct csv *c, double value);
void csv_count(struct csv *c, uint64_t value);
void csv_end(struct csv *c);

/*
 * One raw sample: a line with the value first, which is what strcompare(1)
 * reads, and what it is of.  Nothing for a value that is not finite.
 */
void raw_sample(FILE *f, double value, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
