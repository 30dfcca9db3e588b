/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_actor.h: the threads and children of a case. */
#ifndef STRTEST_ACTOR_H
#define STRTEST_ACTOR_H

#include <pthread.h>

#include "strtest_run.h"

/*
 * pthread_create for one thread after the other: returns when the thread runs do_it.  A
 * thread that is still being made holds locks of a sanitizer's runtime; who forks then
 * leaves a child that waits for them for ever.  0 or an errno.
 */
int thread_begin(pthread_t *t, void *(*do_it)(void *), void *arg);
/* Wait for all; what went wrong in a child is reported. */
void actor_wait_all(struct run *r);
/* Kill what the case in this process has started; in-process cases need it. */
void actor_kill_all(void);

#endif
