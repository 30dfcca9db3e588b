/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_attach.h: giving a stream a path: fattach and fdetach.
 *
 * Level 10.  An attachment is a NODE_ATTACH (node.h) that holds the open file
 * it was made with: one more reference, as a duplicate of the descriptor would
 * be, but in no process's table.  So it outlives its maker, and taking it away
 * is the close of that reference: if it was the last, the stream closes.
 *
 *   fattach ──► node_add ──► str_open(path): attach_open
 *                  │
 *   fdetach ──► node_remove ──► the file is released
 *
 * The file of the path stays what it is; stat(2) and open(2) see it unchanged.
 * An attachment belongs to the file, not to its name, and so survives renaming
 * and removal; one whose file has no name any more can be reached only by who
 * still has another link to it.
 */
#ifndef STREAMS_HEAD_ATTACH_H
#define STREAMS_HEAD_ATTACH_H

#include "fd.h"
#include "node.h"

/* The stream of descriptor fd goes by path from now on: 0 or an errno. */
int attach_add(int fd, const char *path);
int attach_remove(const char *path);
/* Under the registry lock: does an attachment refer to f? */
bool attach_holds(const struct file *f);
/*
 * Open the stream that is attached to the file pp for file f, as head_open, or
 * give denied if that is no 0; *there is false if nothing is attached.
 */
int attach_open(const struct plat_path *pp, int denied, int oflag, struct file *f, bool *there);

#endif
