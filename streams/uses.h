/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uses.h: which modules and drivers are in use: who asks looks.
 *
 * Level 10.  registry.h has what a use is (U1..U4), and why looking finds it:
 *
 *   threads' hands ──► queues of all streams, FIFOs ──► threads' hands ──► rg_lock:
 *   U1                 U2                                U1                 U3, U4
 *
 * It costs a walk over all streams, for who unregisters, and when something with an
 * orphan may have ended (rg_orphaned); who opens, pushes, pops and closes stores a
 * number, and messages nothing.
 */
#ifndef STREAMS_USES_H
#define STREAMS_USES_H

#include "registry.h"

/*
 * U1, U2, U1, from outside all groups: used[i] is set for each that was met.  False: a
 * group was held by a stopped thread, so there may be others.
 */
bool uses_look(struct slot *me, bool used[NREG]);

#endif
