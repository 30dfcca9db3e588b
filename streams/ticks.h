/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ticks.h: the clock tick of the DDI, in which callbacks count time.
 *
 * Level 1.  A tick is 1/100 s, the HZ that <sys/param.h> has for programs, so
 * old sources that say timeout(f, a, HZ) mean a second.  Conversions round up:
 * a wait is never shorter than asked.
 */
#ifndef STREAMS_TICKS_H
#define STREAMS_TICKS_H

#include "plat.h"

#include <time.h>

#define TICK_NS 10000000LL

/* The time in ns that is so many ticks from now; not positive: now. */
int64_t ticks_after(clock_t ticks);
/* ns left as ticks, rounded up; negative stays -1. */
clock_t ticks_left(int64_t ns);

#endif
