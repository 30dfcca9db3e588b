/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * claim.h: which memory of an arena is whose, while somebody judges it.
 *
 * Level 3.  Whoever joins an instance that the dead have left looks at everything
 * they left before he believes any of it (judge.h).  He draws a map of it, in memory
 * of his own, with an entry for each line of what is carved:
 *
 *   arena   | root ... | head and queues ........ | free | message ..... | ...
 *   map     | TABLE in | HEAD in in in in in in   | FREE | BLOCK in in   | NONE
 *
 *   invariant 1: what is claimed lies in carved memory, begins on a line, and shares
 *     no line with anything else that is: so a list whose members are claimed ends,
 *     and nothing on it is free, or of another kind.
 *   invariant 2: looking writes nothing to the arena.
 *
 * Memory that nobody claims is what a killed thread had in its hands, or a module's.
 */
#ifndef STREAMS_CLAIM_H
#define STREAMS_CLAIM_H

#include "arena.h"

enum thing { CL_NONE, CL_INSIDE, CL_FREE, CL_TABLE, CL_GROUP, CL_HEAD, CL_PAIR, CL_FILE, CL_NODE,
	CL_LINK, CL_PERIM, CL_BAND, CL_BLOCK, CL_BARE, CL_DATA, CL_RING, CL_CALL,
	CL_KEPT }; /* and above: what modules keep */

/* An empty map of the arena; false: no memory.  One at a time. */
bool claim_begin(void);
void claim_end(void);
/* size bytes at p are a thing that nobody had claimed; false: they cannot be. */
bool claim_take(const void *p, size_t size, unsigned int what);
/* The same, or they are claimed as just that; *fresh: not before. */
bool claim_share(const void *p, size_t size, unsigned int what, bool *fresh);
/* Does a thing of that kind begin at p, whatever p is? */
bool claim_is(const void *p, unsigned int what);
/* One more on the count of the claimed line at p: how many there are now. */
unsigned int claim_count(const void *p);
/* What it is now. */
unsigned int claim_counted(const void *p);
/* Lines there are: no list has more members. */
size_t claim_most(void);

#endif
