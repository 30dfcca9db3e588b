/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_actor.h: the threads and children of a case. */
#ifndef STRTEST_ACTOR_H
#define STRTEST_ACTOR_H

#include "strtest_run.h"

/* Wait for all; what went wrong in a child is reported. */
void actor_wait_all(struct run *r);
/* Kill what the case in this process has started; in-process cases need it. */
void actor_kill_all(void);

#endif
