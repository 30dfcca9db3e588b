/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_number.h: streams by number (sd_id), whichever process has them.
 *
 * Level 10.  A stream is found through the descriptor tables of all processes, by the
 * steps E1..E3 of fd.h that a call of its own process takes: they make sure that the
 * stream and its file stay while the group is named, whoever closes them.
 */
#ifndef STREAMS_HEAD_NUMBER_H
#define STREAMS_HEAD_NUMBER_H

#include "fd.h"

/*
 * Inside the group of stream id, of which some process has a descriptor, and, fp not
 * NULL, the file that leads to it; or NULL and outside.
 */
struct stdata *number_enter(struct slot *me, unsigned int id, struct file **fp);
/* The same if process p has one. */
struct stdata *number_enter_of(struct slot *me, const struct proc *p, unsigned int id,
	struct file **fp);
/*
 * Inside the group of stream id that no descriptor leads to, holding pl_lock: until
 * number_searched it stays on its group's list, and so is not freed.  NULL: there is none.
 */
struct stdata *number_search(struct slot *me, unsigned int id);
void number_searched(struct slot *me);
/*
 * Out again, without serving what is enabled there, as a call does: who only looks
 * runs nobody's procedures.  He has enabled nothing.
 */
void number_leave(struct slot *me);

#endif
