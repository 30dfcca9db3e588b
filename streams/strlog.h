/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strlog.h: from a module that logs to the stream that reads the log.
 *
 * Level 9.  There are three classes of messages, and a class has one reader at
 * most: a stream of the driver log.  strlog() may be called anywhere, from a
 * put procedure with perimeters held, in a group that has nothing to do with
 * the log's.  So it never puts: it parks the message on the reader's queue, as
 * if somebody were inside, and the perimeter's own machinery delivers it: this
 * thread, visiting the log's group, if nobody is inside, else whoever is.
 *
 *   L1 under lg_lock: is the class read?  number the message, perim_park
 *   L2 outside it: perim_announce
 *   L3 a stream stops to read (close, detach): under lg_lock, before qprocsoff
 *
 * invariant 1: between L1's look and its end the queue is in place: qprocsoff
 *   comes after L3.  After L1 it is the perimeter's list that holds it, and
 *   perim_forget takes it off there, freeing what was parked.
 * invariant 2: the perimeter of L2 outlives the queue: the driver log has one
 *   for all its streams (D_MTPERMOD), as old as the registry.
 * invariant 3: what is parked is bounded: a reader that has LOG_PARKED messages
 *   waiting gets no more; the gap in seq_no tells him.
 */
#ifndef STREAMS_STRLOG_H
#define STREAMS_STRLOG_H

#include "queue.h"

#define LOG_PARKED 256 /* messages */

int strlog_init(void);
void strlog_join(void);
/* For who judges the arena: the readers. */
bool strlog_sound(bool (*queue)(const queue_t *));

#endif
