/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instance.h: which arena a process brings up: a private one, or that of a name.
 *
 * Level 10.
 *
 *             ┌── no name ──► private arena
 *   instance_up                     ┌─ found ──► gate ──► enlist ──► member
 *             └── name ──► inst_open┤             │ lost its name: look again
 *                            ▲      └─ ENOENT ──► furnish ──► inst_publish ──► member
 *                            └──────────────────── EEXIST ───┘
 *
 * A name comes from str_instance(), else from USTREAMS_INSTANCE.
 */
#ifndef STREAMS_INSTANCE_H
#define STREAMS_INSTANCE_H

#include "arena.h"

struct instance_ops {
	int (*io_furnish)(void); /* make everything in a new arena, and be a member */
	/* Can what is there be trusted?  Nobody else is in it, if alone.  false: what is wrong. */
	bool (*io_sound)(bool alone, char *what, size_t n);
	int (*io_enlist)(bool alone);	 /* become a member of one that is there */
	void (*io_undo)(void);	 /* undo either, done or half done, and the arena */
};

/* Bring the arena up, cap bytes at most (0: by the memory there is): 0 or an errno. */
int instance_up(size_t cap, const struct instance_ops *io);

#endif
