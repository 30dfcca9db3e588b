/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_student.h: quantiles of Student's t.
 *
 * A level is the confidence in per cent, 80 to 99.9, of an interval with two
 * ends: at 95 % the quantile is that of 97.5 %.
 */
#ifndef STRPERF_STUDENT_H
#define STRPERF_STUDENT_H

#include <stdbool.h>

#define STUDENT_LOWEST 80.0 /* levels in per cent that are taken */
#define STUDENT_HIGHEST 99.9

bool student_level_legal(double level);
/* Half the width of the interval of a mean, in standard errors; degrees > 0. */
double student_quantile(double level, double degrees);
/*
 * The same as printed tables have it and ministat(1) uses it: with three
 * decimals, the normal distribution's above 100 degrees, and at 99.5 % the one
 * of 99.8 %.
 */
double student_tabled(double level, double degrees);

#endif
