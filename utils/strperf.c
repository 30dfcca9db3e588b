/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf.c: the measuring program of ustreams.
 *
 * All of it is in a library of objects that strcompare shares; strperf_commands.c
 * says what is where.
 */
#include "strperf.h"

int
main(int argc, char **argv)
{
	return results_written(commands_main(argc, argv));
}
