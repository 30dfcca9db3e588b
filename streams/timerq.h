/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timerq.h: a queue of things ordered by time: a pairing heap.
 *
 * Level 1.  The nodes lie in the objects that are queued; nothing is allocated,
 * so nothing fails.  Inserting and looking at the earliest is constant, taking
 * out any node logarithmic in the long run.  Equal times come out in the order
 * of their sequence numbers.  The caller locks.
 *
 *   a node's children are a list, tn_next onwards; tn_prev of the first child
 *   is the parent, of another its elder sibling
 *
 * invariant: no node is earlier than its parent.
 */
#ifndef STREAMS_TIMERQ_H
#define STREAMS_TIMERQ_H

#include "plat.h"

struct timernode {
	struct timernode *tn_child; /* Q  first child */
	struct timernode *tn_next;  /* Q  next sibling */
	struct timernode *tn_prev;  /* Q  elder sibling, or parent */
	int64_t tn_when;	    /* Q  time, ns */
	uint64_t tn_seq;	    /* Q  order among equals */
};

/* The root is the earliest; NULL: none. */
struct timerq {
	struct timernode *tq_root; /* Q */
};

void timerq_insert(struct timerq *tq, struct timernode *n);
/* n is queued. */
void timerq_remove(struct timerq *tq, struct timernode *n);

INLINE struct timernode *
timerq_first(const struct timerq *tq)
{
	return tq->tq_root;
}

#endif
