/* SPDX-License-Identifier: BSD-2-Clause */
/* ticks.c: clock ticks, and the DDI routines that convert them. */
#include "ticks.h"

#include <limits.h>
#include <sys/ddi.h>
#include <sys/sunddi.h>

#define TICK_US (TICK_NS / 1000)
#define TICK_MS (TICK_NS / 1000000)
#define TICKS_MAX (INT64_MAX / 2 / TICK_NS) /* 1462 years */

int64_t
ticks_after(clock_t ticks)
{
	int64_t n = ticks < 0 ? 0 : ticks > TICKS_MAX ? TICKS_MAX : ticks;

	return plat_now() + n * TICK_NS;
}

clock_t
ticks_left(int64_t ns)
{
	return ns < 0 ? -1 : (clock_t)((ns + TICK_NS - 1) / TICK_NS);
}

/* ---- the DDI routines ------------------------------------------------------------- */

/* n units to ticks, so many units each: rounded up, without overflow. */
static clock_t
to_ticks(clock_t n, clock_t each)
{
	ASSERT(each > 0);
	return n / each + (n % each > 0);
}

static clock_t
from_ticks(clock_t ticks, clock_t each)
{
	ASSERT(each > 0);
	if (ticks > LONG_MAX / each)
		return LONG_MAX;
	return ticks < LONG_MIN / each ? LONG_MIN : ticks * each;
}

clock_t
drv_usectohz(clock_t usec)
{
	return to_ticks(usec, TICK_US);
}

clock_t
drv_msectohz(clock_t msec)
{
	return to_ticks(msec, TICK_MS);
}

clock_t
drv_hztousec(clock_t ticks)
{
	return from_ticks(ticks, TICK_US);
}

clock_t
drv_hztomsec(clock_t ticks)
{
	return from_ticks(ticks, TICK_MS);
}

clock_t
ddi_get_lbolt(void)
{
	return (clock_t)(plat_now() / TICK_NS);
}
