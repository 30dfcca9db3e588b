/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stucklib.h: an alarm that tells where a program is stuck before it ends it.
 *
 * What is seen once in many thousand rounds must be explained from what it
 * printed.  When the time of stuck_alarm() is up, the program's main thread prints
 * its callers; then a process of its own, which looks from outside and takes no
 * lock of anybody, tells of the program, of its descendants and of others that
 * share the arena:
 *
 *   each thread's state, and the system call it is in, with its arguments: of
 *     futex(2) the first is the word it sleeps on
 *   each thread's callers with their arguments, if there is a gdb: of lock_wait()
 *     the lock's word and rank
 *   all streams drawn: who sleeps on them, who is inside which perimeter, who
 *     holds the stream or its group
 *   the arena, copied to a file, for strdump -f
 *
 * Then the program ends by SIGALRM, as by alarm(2).
 */
#ifndef TESTS_STUCKLIB_H
#define TESTS_STUCKLIB_H

/* As alarm(2), for a program whose main thread may be stuck; children have no alarm. */
void stuck_alarm(unsigned int seconds);

#endif
