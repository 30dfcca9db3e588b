/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * orphan.h: streams with a module whose code nobody has any more.
 *
 * Level 10.  What is parked for such a module will never be run, so nothing comes
 * through the stream again: whoever buries the last process that had the code, or
 * that process when it exits, hangs up the stream and the other end of its pipe, as
 * M_HANGUP would: reads drain and then give the end of file, writes fail.  The close
 * takes the module off without its close routine (head_close.c).
 *
 *   O1 entry ORPHAN, rg_orphaned counted   (registry_forget, under the registry lock);
 *      counted again when a use of an orphan ends (registry_over), or its user is buried
 *   O2 rg_orphaned differs from rg_hungup: every stream of every group looked at
 *   O3 orphans that are not used are made free (uses.h)
 *   O4 rg_hungup := what rg_orphaned was before O2
 *
 * If the undertaker dies before O4, or a stopped thread is in the way, the next look of
 * any helper does it again.
 */
#ifndef STREAMS_ORPHAN_H
#define STREAMS_ORPHAN_H

#include "head.h"

/* O2..O4, if there is anything to do; the caller names no group. */
void orphan_run(struct slot *me);

#endif
