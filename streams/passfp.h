/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * passfp.h: M_PASSFP: a message that holds a descriptor.
 *
 * Level 10.  The message is one block whose buffer is a struct passed:
 *
 *   a stream               a reference to its open file, in nobody's table;
 *                          the receiver gets one more, freeing gives it back
 *   a kernel descriptor    a ticket for the sender's duplicate (passfd.h)
 *
 *   I_SENDFD ──passfp_make──► message ──putnext──► far head's read queue
 *   flush, close ──freeb──► passfp_free      I_RECVFD ──passfp_take──► descriptor
 *
 * Only blocks marked DB_PASS are trusted: a program may put a message of type
 * M_PASSFP itself, and a module may copy one.
 *
 * Freeing may happen anywhere, inside a group too, where nothing can be closed:
 * the last reference then goes on the list of unfinished closes, which is gone
 * through by the next close and by the helper.  Streams whose ends travel in
 * queues of each other keep each other open; nothing looks for such circles.
 */
#ifndef STREAMS_PASSFP_H
#define STREAMS_PASSFP_H

#include "fd.h"
#include "passfd.h"

struct passed {
	struct file *pa_file;	/* C  a stream, or NULL */
	struct ticket pa_ticket; /* C  else a kernel descriptor */
	uid_t pa_uid;		/* C  effective ids of the sender */
	gid_t pa_gid;		/* C */
};

/* Each process: what freeing such a message means. */
void passfp_init(void);
/*
 * A message for file f, whose reference it takes over on success, or, f being
 * NULL, for kernel descriptor fd, outside all groups: 0 or an errno.
 */
int passfp_make(struct file *f, int fd, mblk_t **mpp);
/* What mp holds, or NULL. */
struct passed *passfp_of(const mblk_t *mp);
/*
 * A descriptor of this process for what mp holds; mp stays.  Outside all
 * groups.  0; EMFILE ENOMEM: try again later; ESRCH ETIME: it is lost.
 */
int passfp_take(const mblk_t *mp, int *fdp);

#endif
