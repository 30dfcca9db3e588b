/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <sys/strsubr.h>: what in-tree drivers that are part of the stream head's
 * business may ask of it.  Not installed.
 */
#ifndef _USTREAMS_SYS_STRSUBR_H
#define _USTREAMS_SYS_STRSUBR_H

#include <sys/stream.h>

/*
 * Weld the bottoms of two stream heads (their read queues) together, so that
 * what one writes the other reads.  Both are fresh: nobody else knows them.
 * A head may be welded to itself.
 */
void strweld(queue_t *a, queue_t *b);
/* Join two new stream heads to a pipe: drivers/pipe.c. */
void pipe_join(queue_t *a, queue_t *b);
/* Make a new stream head (its read queue) a FIFO: drivers/fifo.c. */
void fifo_join(queue_t *q);

#endif
