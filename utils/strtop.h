/* SPDX-License-Identifier: BSD-2-Clause */
/* strtop.h: the two ways in which strtop shows what strtop_rows.h makes. */
#ifndef STRTOP_H
#define STRTOP_H

#include "strtop_rows.h"

/* On the terminal, until q is pressed: an exit status. */
int screen_run(struct top *t);

#endif
