/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.h: named nodes: paths that lead to streams.
 *
 * Level 10.  Unrelated opens of one path meet in one stream.  A path is known
 * by the file behind it (plat_path.h), so links and renaming do not matter; a
 * FIFO device of /dev/streams/fifo by its minor.  The table lies in the arena:
 * threads, forked processes and whoever joins later see the same names.
 *
 *   path ──plat_pathfind──► key ──node_find──► node ──► stream head
 *
 * There are two kinds.  A NODE_FIFO is there while its FIFO is open and leaves
 * with the last close (head_fifo.c).  A NODE_ATTACH holds one open file of the
 * stream attached, so that the stream stays when its descriptors are closed
 * (head_attach.c).  A path may have one of each: what is attached hides the
 * FIFO from new opens and nothing else.
 *
 *   invariant 1: the table holds at most one node of a kind for a key;
 *   invariant 2: the head of a node in the table is not SD_CLOSING: it leaves
 *     the table in the critical section that closes it.  A FIFO that is
 *     SD_DAMAGED leaves it before the next open, which makes a new one.
 *   invariant 3: what is in the table says so (nd_listed), whoever was killed while
 *     he added or removed it; what says so may be gone from it already.
 *
 * Everything here is guarded by the registry lock, which also guards sd_opens.
 */
#ifndef STREAMS_NODE_H
#define STREAMS_NODE_H

#include "head.h"
#include "plat_path.h"

enum { NODE_FIFO, NODE_ATTACH };

struct node {
	struct plat_path nd_path; /* C  the file: the key, and what fstat tells */
	struct node *nd_next;	/* R  in its hash chain */
	struct stdata *nd_head;	/* R  where it leads */
	struct file *nd_file;	/* R  the attachment's open file, NULL of a FIFO */
	uint32_t nd_kind;	/* C  NODE_* */
	uint32_t nd_listed;	/* R  in the table */
};

/* The path of FIFO device number minor. */
#define NODE_DEVICE UINT64_MAX /* pp_dev of those */

/* Each with the registry lock held.  The node, or NULL. */
struct node *node_find(const struct plat_path *pp, uint32_t kind);
void node_add(struct node *nd);
/* Out of the table, if it is there. */
void node_remove(struct node *nd);

/* On which chain of the table is, or would be, that path? */
int node_chain(const struct plat_path *pp);

/* A node not in the table, or NULL without memory; and away again. */
struct node *node_alloc(const struct plat_path *pp, uint32_t kind, struct stdata *sd);
void node_free(struct node *nd);

#endif
