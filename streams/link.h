/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link.h: which stream is linked below which multiplexor.
 *
 * Level 9.  A link is an edge from a stream of a multiplexing driver (the
 * control stream) to the stream below.  The records hang on one list, guarded
 * by the registry lock, which is the order in which links come to be: so two
 * threads cannot make a circle out of two halves.
 *
 *     control stream ──lk_upper── link ──lk_lower──► stream below
 *     its driver     ──lk_mux────┘  │ └──lk_file───► (a reference to its file)
 *                                lk_owner
 *
 *   link_make ──► owned ──link_settle──► linked ──link_claim──► owned ──► link_remove
 *                   │                                             │
 *                   └── link_remove                               └─ link_settle
 *
 * A persistent link belongs to the driver: once it is linked, lk_upper is NULL
 * and any stream of the driver reaches it.  A record whose owner died may be
 * claimed by anybody; if it is not sure that the driver has that link (lk_sure), it
 * is taken off whatever the driver says.
 *
 * invariant 1: a stream is below at most one link; following links downwards
 *   never comes back to where it began.
 * invariant 2: while a record is owned, neither its control stream nor the stream
 *   below goes away: the one's last close waits for it, the other is held by
 *   lk_file.
 */
#ifndef STREAMS_LINK_H
#define STREAMS_LINK_H

#include "registry.h"

struct file;

struct link {
	struct link *lk_next;	/* R */
	struct stdata *lk_upper; /* R  control stream; NULL: persistent, linked */
	struct stdata *lk_lower; /* C  the stream below */
	struct regent *lk_mux;	/* C  the multiplexing driver */
	struct regent *lk_below; /* C  driver of the stream below, or NULL */
	struct file *lk_file;	/* C  keeps it open */
	uint32_t lk_owner;	/* A  slot of who links or unlinks, 0: linked */
	int lk_id;		/* C  l_index */
	bool lk_persist;	/* C  by I_PLINK */
	bool lk_sure;		/* O  the driver knows it; not while it is being told */
	bool lk_seen;		/* R  in a search for circles */
	struct link *lk_todo;	/* R */
	/* What the lower side's queues, read and write, need and what they had. */
	struct perim *lk_perim[2]; /* O */
	struct linkmarks {
		size_t lm_hiwat;
		size_t lm_lowat;
		ssize_t lm_minpsz;
		ssize_t lm_maxpsz;
	} lk_marks[2];		/* O */
};

/*
 * List the link, filled in but for its id, as the caller's: 0, or EINVAL: the
 * stream is linked already, or a circle would be closed.
 */
int link_make(struct link *lk);
/* Take a link of the caller's off the list. */
void link_remove(struct link *lk);
/* Is there a link that keeps f?  With the registry lock held. */
bool link_holds(const struct file *f);
/* Is there a link of the multiplexor re?  With the registry lock held. */
bool link_of(const struct regent *re);
/* It is linked. */
void link_settle(struct link *lk);
/*
 * Own a link for stream sd of driver re, which is its control stream meanwhile:
 * the one called id (MUXID_ALL: any), made by I_LINK through sd or by I_PLINK
 * through any stream of re; or, when sd closes, whatever leads to sd.  It, or
 * NULL; *busy: there is one, but somebody owns it.
 */
enum linkkind { LINK_NORMAL, LINK_PERSIST, LINK_CLOSING };
struct link *link_claim(struct stdata *sd, struct regent *re, enum linkkind kind, int id,
	bool *busy);
/* Own a link whose owner died, or NULL. */
struct link *link_orphan(void);

#endif
