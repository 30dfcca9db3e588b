/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * putnext.h: calling a queue's procedures.
 *
 * Level 8.  The arena holds no function pointer: q_qidx is an index into this
 * table, which every process has for itself.  An index that this process never
 * registered leads to procedures that refuse.
 */
#ifndef STREAMS_PUTNEXT_H
#define STREAMS_PUTNEXT_H

#include "queue.h"

#define NPROCS 1028 /* procedure sets, four per module, 0 the dead end's */

struct procs {
	int (*pc_put)(queue_t *, mblk_t *);
	int (*pc_srv)(queue_t *);
	int (*pc_open)(queue_t *, dev_t *, int, int, cred_t *);
	int (*pc_close)(queue_t *, int, cred_t *);
};

extern struct procs put_procs[NPROCS];

/* The procedures of a module this process does not have. */
extern const struct procs put_absent;

void put_init(void);

#endif
