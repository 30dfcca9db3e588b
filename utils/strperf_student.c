/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_student.c: quantiles of Student's t, by GSL.
 */
#include "strperf_student.h"

#include <math.h>

#include <gsl/gsl_cdf.h>

#define TABLED_DEGREES 100 /* a table's last line but the one for infinity */

/* Where ministat takes another column of its table than the one asked for. */
#define TABLED_LEVEL 99.5
#define TABLED_AS 99.8

/* That column has misprints, from so many degrees on, as old tables have. */
#define MISPRINTED_FROM 7
static const double misprinted[] = {4.782, 4.499, 4.296, 4.143, 4.024, 3.929};
#define MISPRINTS ((int)(sizeof(misprinted) / sizeof(misprinted[0])))

bool
student_level_legal(double level)
{
	return level >= STUDENT_LOWEST && level <= STUDENT_HIGHEST;
}

/* The part of the distribution above the interval. */
static double
above(double level)
{
	return (1 - level / 100) / 2;
}

double
student_quantile(double level, double degrees)
{
	return gsl_cdf_tdist_Qinv(above(level), degrees);
}

double
student_tabled(double level, double degrees)
{
	double column = level == TABLED_LEVEL ? TABLED_AS : level;
	double exact = degrees > TABLED_DEGREES ? gsl_cdf_ugaussian_Qinv(above(column))
						: student_quantile(column, degrees);
	int line = (int)degrees - MISPRINTED_FROM;

	if (column == TABLED_AS && line >= 0 && line < MISPRINTS)
		return misprinted[line];
	return round(exact * 1000) / 1000;
}
