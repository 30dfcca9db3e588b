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

	return round(exact * 1000) / 1000;
}
