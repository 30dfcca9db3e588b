/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_fifo.h: FIFOs: one stream that all opens of a name share.
 *
 * Level 10.  A FIFO is a stream head welded to itself (drivers/fifo.c).  How
 * many of its open files read and how many write decides what its calls do:
 *
 *   no reader:  SD_BROKEN     write: EPIPE and SIGPIPE
 *   no writer:  SD_NOWRITER   read: what is queued, then the end of file
 *
 * Both are states, not messages: the next open of that side ends them.  An
 * open waits for its partner by the times the other side was ever opened, not
 * by who is there now: a partner that came and went has met it (V2, V4).
 *
 *   V1 under the registry lock: counted, sd_ropened or sd_wopened raised, the
 *      other side's partner absent? -> remember its count
 *   V2 wake who waits for this side
 *   V3 partner was absent and the open blocks: sleep until its count differs
 *   V4 interrupted before that: EINTR, and the count taken back
 *
 *   invariant 1: sd_readers is the number of files with FIFO_READS in f_side,
 *     sd_writers of those with FIFO_WRITES; a file counts once, from V1 to
 *     fifo_leave;
 *     both change by settle() only, whose stores may be repeated by whoever finds
 *     sd_joiner set because a thread was killed between them;
 *   invariant 2: SD_BROKEN iff sd_readers is 0, SD_NOWRITER iff sd_writers is,
 *     outside the registry lock.
 */
#ifndef STREAMS_HEAD_FIFO_H
#define STREAMS_HEAD_FIFO_H

#include "fd.h"
#include "node.h"

/* f_side */
#define FIFO_READS 0x1
#define FIFO_WRITES 0x2

/*
 * Open the FIFO of name pp for file f, as head_open.  May sleep.  EINTR ENOSR
 * ENXIO, or what a module's open routine returned.
 */
int fifo_open(const struct plat_path *pp, int oflag, struct file *f);
/* The rest of it, for a file f that a FIFO's sd_opens counts already. */
int fifo_enter(struct file *f, int oflag);
/* The path of FIFO device minor; clone: of one that is not in use. */
void fifo_device(struct regent *re, uint32_t minor, bool clone, struct plat_path *pp);
/* File f of a FIFO closes: it is no reader or writer any more. */
void fifo_leave(struct file *f);
/* Is it one, or becoming it when somebody was killed? */
bool fifo_counts(const struct file *f);
/* Poll events that only a FIFO has. */
short fifo_events(const struct stdata *sd);

#endif
