/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * suspect.h: files of which a dead thread may have left a reference behind.
 *
 * Level 10.  F2 and F3 of salvage.h.
 */
#ifndef STREAMS_SUSPECT_H
#define STREAMS_SUSPECT_H

#include "fd.h"

/*
 * A thread died while it changed f's references, if f's f_gen is still gen: f is
 * looked at by suspect_resolve, once the dead process's table is closed.
 */
void suspect_add(struct file *f, uint64_t gen);
void suspect_resolve(struct slot *me);
/* f is about to be freed. */
void suspect_drop(struct slot *me, struct file *f);

/* How often a reference of f, or of one of some others, was settled (F4). */
INLINE uint32_t *
suspect_moved(const struct file *f)
{
	return &head_root->hr_moved[(uintptr_t)f / LINE % HEAD_MOVED];
}

#endif
