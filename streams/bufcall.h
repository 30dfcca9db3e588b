/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bufcall.h: callbacks that wait until there is memory.
 *
 * Level 7.  Registered and cancelled as all callbacks (callout.h), they stand
 * in a list of their process in the order of registration.  The helper thread
 * goes through it every MEMORY_MS, and tries for each whether a message of its
 * size can be had; if so it runs.  One that asks for more than there is does
 * not hold up the later ones that ask for less; those of one size run in
 * order.
 *
 * Memory that is freed goes to the magazines of who frees it (cache.h), where
 * nobody else finds it.  From the registration on, cache_want() has everybody hand
 * over what they free, and threads that sleep what they kept, so:
 *
 *   invariant: a block freed after the registration, or kept by a thread that
 *     is asleep in the library, is there for the next try.
 *
 * (Rejected: a trigger in freeb(), which would cost every message.)
 */
#ifndef STREAMS_BUFCALL_H
#define STREAMS_BUFCALL_H

#include "slot.h"

#define MEMORY_MS 10 /* between tries */

struct callback;

/* Under callout_lock. */
void bufcall_queue(struct callback *cb);
void bufcall_unqueue(struct callback *cb);
void bufcall_drop(void);

/* One round: those that waited when it began, each tried once. */
struct bufcall_round {
	uint64_t br_next; /* O  the least number not yet looked at */
	uint64_t br_end;  /* O  the first number that came later */
	size_t br_most;	  /* O  this size and more cannot be had */
};
void bufcall_begin(struct bufcall_round *br);
/* The next that can run, taken in hand; false: the round is over. */
bool bufcall_take(struct bufcall_round *br, struct callback *copy);
/* Do any wait? */
bool bufcall_waiting(void);

#endif
