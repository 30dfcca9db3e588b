/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * passfd.h: kernel descriptors on their way from process to process.
 *
 * Level 10.  A kernel descriptor means something in one process only, so what
 * travels in the message is a claim ticket, and the sender keeps a duplicate
 * until the message is freed, wherever that is.
 *
 *   sender                                  receiver
 *   K1 duplicate kept under a secret key    K3 letter with the key to the
 *   K2 message with box, process, key          sender's box; rings its helper
 *      and a free routine                   K5 letter with the descriptor
 *   K4 helper: key known? -> letter with    K6 message freed
 *      the descriptor (SCM_RIGHTS)
 *   K7 free routine (helper): duplicate closed
 *
 * Within one process K3..K5 are a look into the table.
 *
 * The box has an abstract name made of the arena and the process slot; anybody
 * may write to it, but only who can read the arena knows a key.  A sender that
 * is dead has no box, and a process that took over its slot another life: the
 * descriptor is lost, as it would be had the sender closed it (ESRCH).
 */
#ifndef STREAMS_PASSFD_H
#define STREAMS_PASSFD_H

#include "slot.h"

#include <sys/stream.h>

#define BOX_NAME 64 /* bytes of a box's name, terminated */

struct ticket {
	uint64_t tk_key;	/* C  which duplicate */
	uint32_t tk_proc;	/* C  process slot of the sender */
	uint32_t tk_life;	/* C  its life */
	char tk_box[BOX_NAME];	/* C  where to write; empty: it has none */
};

/* K1: a ticket for a duplicate of fd, and the routine of K7: 0 or an errno. */
int passfd_keep(int fd, struct ticket *tk, frtn_t **frtn);
/* K3..K5: a descriptor of this process.  0; EMFILE, ESRCH, ETIME. */
int passfd_fetch(const struct ticket *tk, int *fdp);
/* K4, for all letters there are. */
void passfd_serve(void);
/* Around fork; in the child the parent's duplicates are closed. */
void passfd_lock(void);
void passfd_unlock(void);
void passfd_forget(void);

#endif
