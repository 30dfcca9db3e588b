/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * autopush.h: which modules a device's first open pushes by itself.
 *
 * Level 9.  A list of entries in the registry, under its lock: each is a range
 * of minors of one driver and the modules for it.  The driver sad sets and shows
 * them (<sys/strsubr.h>), the open of a device looks for its own (head_open.c).
 *
 * invariant: the ranges of a driver do not overlap.
 */
#ifndef STREAMS_AUTOPUSH_H
#define STREAMS_AUTOPUSH_H

#include "registry.h"

#include <sys/sad.h>

/* What is set for minor of re, or false. */
bool autopush_find(const struct regent *re, uint32_t minor, struct strapush *sap);
/* For who judges the arena: the entries. */
bool autopush_claim(void);
/* Under the registry lock: the driver re is no more. */
void autopush_forget(const struct regent *re);

#endif
