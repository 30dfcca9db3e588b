/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * putnext.h: calling a queue's procedures.
 *
 * Level 8.  The arena holds no function pointer: q_procs is an index into this
 * table, which every process has for itself.  An index that this process never
 * registered leads to procedures that refuse; they are called only for queues
 * without a perimeter (errand.h).
 *
 * Put and service go by q_qidx, which is q_procs or, while the queue's messages are
 * recorded, QIDX_TRACED, whose put procedure records the message and calls the
 * other one (head_trace.c): a queue that is not recorded has nothing to look at.
 */
#ifndef STREAMS_PUTNEXT_H
#define STREAMS_PUTNEXT_H

#include "queue.h"

#define PROCS_HEAD 1026 /* the stream head's sets; below: four per module, 0 the dead end's */
#define NPROCS (QIDX_TRACED + 1) /* procedure sets */

struct procs {
	int (*pc_put)(queue_t *, mblk_t *);
	int (*pc_srv)(queue_t *);
	int (*pc_open)(queue_t *, dev_t *, int, int, cred_t *);
	int (*pc_close)(queue_t *, int, cred_t *);
};

extern struct procs put_procs[NPROCS];
/* Has this process the code?  A table of its own: the other one is for every message. */
extern bool put_here[NPROCS];

/* The procedures of a module this process does not have. */
extern const struct procs put_absent;

void put_init(void);
/* Give one of this process's entries its procedures. */
void put_set(uint32_t idx, struct procs pc);
void put_clear(uint32_t idx);

#endif
