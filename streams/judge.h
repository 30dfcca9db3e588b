/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge.h: can what the dead have left in an instance be walked?
 *
 * Level 10.  Who joins an instance in which nobody lives buries the dead, which
 * closes their streams, and then works with what is left: attached streams, FIFOs,
 * links, free memory.  All of that is pointers that lie in a file.  Noise in it
 * (a bad disk, a program that wrote where it should not) would have him follow
 * them anywhere.  So all that can be reached from the roots is looked at first,
 * while nothing changes, in this order:
 *
 *   V1 tables that never shrink, the allocators' free memory  (judge.c)
 *   V2 groups, and the stream heads on their lists            (judge_stream.c)
 *   V3 whatever these and the tables lead to: queue pairs, perimeters, bands,
 *      files, nodes, links, registrations; a list of pairs to be looked at grows
 *      meanwhile
 *   V4 messages, block by block                               (judge_msg.c)
 *
 * Each thing is claimed (claim.h): it lies in carved memory, is nobody else's and not
 * free, and its kind is what the pointer to it says.  Numbers that index something
 * are within it, references are not fewer than what refers.
 *
 *   invariant 1: what passes can be walked, used and freed by every part of the
 *     library; contents of messages and what a program's module keeps are its own.
 *   invariant 2: what a killed process leaves passes, wherever it was killed: a list
 *     behind a lock that is held is only looked at as salvage.c does, and a stream
 *     that was being freed only as far as burying goes into it.
 *   invariant 3: judging writes nothing to the arena.
 *
 * If it does not pass, the instance cannot be joined (EUCLEAN) and strclean removes it.
 *
 * Where members live nothing is judged: the streams change while one looks, so a
 * stream that seems broken may be whole, and they walk the same memory themselves.
 * To set a dead member's streams apart then, rather than to bury him, would leave the
 * living at the other ends without a hang-up: worse for them, and no help against
 * noise that is in their own memory too.
 */
#ifndef STREAMS_JUDGE_H
#define STREAMS_JUDGE_H

#include "fd.h"

/* Nobody lives in the arena: is it sound?  If not, what (of n bytes) says what is wrong. */
bool judge_arena(char *what, size_t n);

/* ---- between the files ------------------------------------------------------------ */

/* Say what is wrong, if nothing was yet; false. */
bool judge_blame(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* [p, p + size) is carved memory. */
bool judge_carved(const void *p, size_t size);

/* V2, V3. */
bool judge_begin(void);
void judge_end(void);
bool judge_groups(void);
bool judge_runs(void);
bool judge_streams(void);
bool judge_regent(const struct regent *re);
/* A NULL pointer is sound; what is met for the first time is looked at, now or later. */
bool judge_group(const struct group *g);
bool judge_head(const struct stdata *sd);
bool judge_queue(const queue_t *q);
/* One that a module leads to: its stream may be gone, if its maker was killed. */
bool judge_leftover(const queue_t *q);
bool judge_perim(const struct perim *p);
bool judge_file(const struct file *f);
/* The same, for what its f_ref counts. */
bool judge_ref(const struct file *f);
/* What the pair at rq of a module, or its lower side, leads to; and what all of one share. */
bool judge_kept(const struct regent *re, const queue_t *rq, bool lower);
bool judge_state(const struct regent *re);
/* V4: a list of messages, whose last one is last. */
enum listed {
	LIST_BOTH,    /* linked both ways */
	LIST_FORWARD, /* by b_next only */
	LIST_BROKEN   /* the lock that guards it is held: by b_next, as far as it goes */
};
bool judge_list(const mblk_t *mp, const mblk_t *last, enum listed how);
/* One message. */
bool judge_msg(const mblk_t *mp);

#endif
