/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errand.h: who has the code of which module, and work left for him.
 *
 * Level 8.  A module that a program registers is code of that program.  In an
 * instance streams reach programs that lack it: what such a one would have to run
 * it leaves to one that has it, as it leaves to the holder of a perimeter what it
 * finds busy.  So the queues of these modules have a perimeter whatever their
 * flags say (registry.c), and
 *
 *   without the code                        with it
 *   N1 message or service procedure parked  N4 helper: bell and errand taken
 *      on q, q on the list (perim.h D1)     N5 enters the group; each perimeter with
 *   N2 the perimeter left free, PENDING        a queue that it can run is kicked
 *   N3 the group noted; who has the code    N6 nothing left for anybody: the entry
 *      is rung                                 is emptied, if there was no N3 since
 *
 *   invariant 1: a queue that is listed and whose perimeter nobody holds has its
 *     group noted, from N3 to N6: every helper that has its code looks there when
 *     it is rung, and every TICK.
 *   invariant 2: er_have has a process's bit for a module exactly while its
 *     put_procs have the procedures: set after them, cleared before or with them,
 *     for the dead by who buries them.  All have what comes with the library.
 *   invariant 3: nobody alive has it: the entry of the registry is an orphan, for
 *     ever; its streams are hung up (orphan.c), and what is parked waits for the close.
 */
#ifndef STREAMS_ERRAND_H
#define STREAMS_ERRAND_H

#include "putnext.h"

struct group;
struct proc;

/* For the arena's creator; for who joins. */
int errand_init(void);
void errand_join(void);

/* The module of a queue's procedures: its number in the registry. */
INLINE uint32_t
code_of(uint32_t procs)
{
	return (procs - 2) / 4;
}

/* Has this process the code of q? */
INLINE bool
code_here(const queue_t *q)
{
	return put_here[q->q_procs];
}

void code_set(uint32_t module, const struct proc *p, bool has);
void code_setall(uint32_t module, bool has);
bool code_has(uint32_t module, const struct proc *p);
/* Has anybody the code? */
bool code_lives(uint32_t module);
/* Ring everybody who has it. */
void code_ring(uint32_t module);

/* For who judges the arena: the groups noted. */
bool errand_sound(bool (*group)(const struct group *));

/* N3. */
void errand_leave(struct group *g, uint32_t procs);
/* N4..N6; the caller names no group. */
void errand_run(struct slot *me);

#endif
