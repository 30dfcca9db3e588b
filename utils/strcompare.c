/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strcompare.c: strperf compare as a program of its own, which takes the place of
 * ministat(1).
 */
#include "strperf.h"

#include "strperf_intr.h"

int
main(int argc, char **argv)
{
	complain_as("strcompare");
	intr_init();
	return results_written(cmd_strcompare(argc, argv));
}
