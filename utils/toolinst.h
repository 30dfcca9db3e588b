/* SPDX-License-Identifier: BSD-2-Clause */
/* toolinst.h: the option that every tool has: -I NAME, in which instance to work. */
#ifndef TOOLINST_H
#define TOOLINST_H

#include <stdbool.h>

/* For the usage text. */
#define TOOLINST_HELP "  -I NAME    work in the instance of that name (--instance); default\n" \
		      "             $USTREAMS_INSTANCE, or streams of the program's own\n"

enum toolinst_how {
	TOOLINST_MAKE = 0,     /* make the instance if there is none */
	TOOLINST_EXISTING = 1, /* what is not there is a mistake */
	TOOLINST_LATER = 2,    /* leave the library down in this process */
	TOOLINST_LONG = 4,     /* -I is another option of the program */
};

/*
 * Take -I NAME, -INAME, --instance NAME or --instance=NAME out of the arguments, up
 * to "--", and see to it that this process and what it executes is in that instance,
 * or in that of the environment.  False, after one line: it cannot be.
 */
bool toolinst_begin(const char *program, int *argc, char **argv, unsigned int how);

#endif
