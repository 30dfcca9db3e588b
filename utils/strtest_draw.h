/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_draw.h: streams drawn into a report. */
#ifndef STRTEST_DRAW_H
#define STRTEST_DRAW_H

#include "strtest_run.h"

void draw_one(struct run *r, const char *name, int fd);
void draw_all(struct run *r);

#endif
