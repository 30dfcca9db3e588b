/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * procfork.h: what fork does to the library.
 *
 * Level 10.  Before the fork an embryo -- a process slot with a copy of the
 * descriptor table, references counted -- is made; the child claims it at once, with
 * its record lock and a thread slot, and says so through a pipe.  The parent waits
 * for that byte: an end of file instead means that there is no child (or it died at
 * once), and the embryo's references are dropped.  While it waits it is held by a
 * lock that the kernel drops with the last of the two, so that others who see its
 * maker dead know whether a child may still come.  A child made behind our back
 * (_Fork, clone) finds its slot page wiped and has no streams.
 *
 *   fork_prepare ──fork──► fork_parent   waits for the child's byte
 *                      └─► fork_child    becomes the embryo
 *
 * All are called by process.c, under its lock, in a process where the library is up.
 */
#ifndef STREAMS_PROCFORK_H
#define STREAMS_PROCFORK_H

#include <stdbool.h>

/* Make the embryo; take the locks that a child must find free. */
void fork_prepare(void);
/* In the parent: is there a child (or could be one)? */
bool fork_parent(void);
void fork_child(void);

#endif
