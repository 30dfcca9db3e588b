/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_chart.h: distributions drawn with letters, as ministat(1) draws them.
 *
 *	+---------------------------------+
 *	|        x                        |  a column of marks: values that
 *	|  x   x x   +*  + +      +      +|  fall together; * is x and +
 *	|    |___AM____|                  |  mean - and + standard deviation,
 *	|           |______M_A_________|  |  the median and the mean
 *	+---------------------------------+
 */
#ifndef STRPERF_CHART_H
#define STRPERF_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "strperf_set.h"

#define CHART_MOST 7 /* sets that have a mark of their own */

/* The mark of set i, from 0. */
char chart_mark(size_t i);
/*
 * Draw n settled sets between two frames that are width apart.  bars: a line for
 * each set's mean and deviation instead of one for all.
 */
void chart_draw(FILE *f, struct set *const *sets, size_t n, int width, bool bars);

#endif
