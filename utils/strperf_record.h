/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_record.h: read what was measured before: JSON of strperf, or numbers.
 */
#ifndef STRPERF_RECORD_H
#define STRPERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "strperf_book.h"
#include "strperf_set.h"

/*
 * Read the file, "-" for stdin, that is this operand.  A file that begins with
 * a brace is a strperf result, any other one numbers; higher: more of them is
 * better.  EXIT_DONE, or another status after a line.
 */
int record_read(struct book *b, size_t operand, const char *path,
    const struct set_columns *columns, bool higher);

#endif
