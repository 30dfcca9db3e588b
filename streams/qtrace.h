/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qtrace.h: what happens to a queue's messages, written to the ring of its stream.
 *
 * Level 6.  q_tap of a recorded queue leads to the ring (trace.h): its offset in the
 * arena, in cache lines, so that a reader that has the arena mapped elsewhere, or
 * read only, finds it too.  0: not recorded.  Whoever records is inside the queue's
 * group, and a ring is given back only when all have left who may know it (head_trace.h).
 */
#ifndef STREAMS_QTRACE_H
#define STREAMS_QTRACE_H

#include "queue.h"
#include "trace.h"

/* The ring q's messages are recorded in, or NULL. */
struct trace *qtrace_ring(const queue_t *q);
/* Record event what (USTR_EV_*) of mp at q in ring t, which may be NULL. */
void qtrace_write(struct trace *t, const queue_t *q, unsigned int what, const mblk_t *mp);
/* The same in q's own ring, if there is one. */
void qtrace(const queue_t *q, unsigned int what, const mblk_t *mp);
/*
 * Under the reader lock: bytes of the message whose first block was mp were taken
 * off head queue q, from the front.
 */
void qtrace_got(const queue_t *q, const mblk_t *mp, size_t bytes);
/* Under plumb_lock: the pair rq comes to, or leaves, the stream of head hrq. */
void qtrace_join(queue_t *rq, const queue_t *hrq);
void qtrace_part(queue_t *rq);
/*
 * Inside the group, so that nobody changes the plumbing: record the messages of q in
 * ring t from now on, or no more (NULL); put and service procedures of q by the
 * recorder, or not.
 */
void qtrace_set(queue_t *q, const struct trace *t);
void qtrace_redirect(queue_t *q, bool yes);
/*
 * In the recorder: what is taken off q is recorded, too (QTRACED).  Left to who uses
 * the queue, lest a tool be killed with a lock of it.
 */
void qtrace_note(queue_t *q);

#endif
