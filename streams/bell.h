/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bell.h: waking a thread that sleeps in poll(2).
 *
 * Level 2.  A thread that waits for streams and for kernel descriptors in one
 * call cannot sleep on its futex word: the kernel wakes nobody there.  It
 * sleeps in poll(2), and among what it polls is its bell, a pipe.  The word
 * sl_sleep then holds SLEEP_POLL, and whoever takes it to 0 (W5 of wait.h)
 * strikes the bell: at once in the same process, else through the helper
 * thread of the sleeper's process, since a pipe belongs to one process.
 *
 *   sleeper                          waker
 *   B1 be_waiting := 1 (exchange)    W5 sl_sleep := 0 (exchange), was SLEEP_POLL
 *   S1 sl_sleep := SLEEP_POLL        B3 own process: strike
 *   S2..S4 of wait.h                    other: pr_bell := 1, wake its helper
 *   B2 poll(descriptors, bell)       B4 helper: pr_bell := 0 (exchange); of each
 *                                       bell waiting whose sl_sleep is 0: strike
 *
 * invariant 1: a wake-up is in sl_sleep before it is in a pipe, so a strike
 *   that is lost (pipe full) or late (the sleeper has left) costs nothing but a
 *   look too many.
 * invariant 2: B4 follows B3's exchange of pr_bell, which follows W5, which
 *   found what S1 wrote after B1: the helper sees the bell waiting.
 *
 * Bells are private to the process, one a slot number, made by the first
 * thread that needs it and kept for the number's next holder: a late strike
 * never meets a number that was closed and is the program's by now.  Where the
 * program itself closed it, the identity of the pipe tells.
 */
#ifndef STREAMS_BELL_H
#define STREAMS_BELL_H

#include "slot.h"

/* B1: the descriptor to poll for reading, emptied; -1: none to be had. */
int bell_take(struct slot *me);
/* After the sleep. */
void bell_leave(struct slot *me);
/* B3. */
void bell_ring(struct slot *s);
/* B4: the helper's part. */
void bell_answer(void);
/* In the child of a fork: these are the parent's. */
void bell_forget(void);

#endif
