/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * salvage.h: what a thread leaves behind that was killed inside the library.
 *
 * Level 10.  A process can be killed at any instruction.  What it held is then
 * in one of these states, and nobody else may be stuck with it:
 *
 *   a lock          its waiter breaks it (lock.h).  L1 the list it guards is
 *                   given up, counted in ms_leaked; L2 the stream is condemned;
 *                   L3 its group is suspect
 *   a perimeter     is vacant to whoever comes next; the stream is condemned
 *   the group       its slot names it: the group is suspect
 *   relinking       plumb_wait makes the links whole (group.h, T1..T4) and gives
 *                   the group free; all its streams are condemned
 *   a file          a reference may be counted that no entry holds: F1..F3
 *
 * A suspect group is swept by who buries the dead, holding it exclusively:
 *
 *   G1 each queue's locks are free or broken as above
 *   G2 each perimeter of a dead holder is free and pending, and queues with
 *      parked messages are on its list
 *   G3 each service procedure is enabled and on the run list: whatever
 *      back-enable or qenable died between two lines is made up for
 *   G4 everybody who sleeps is woken: he looks again, and sleeps again; who asked for
 *      signals or an eventfd is told of the streams that are condemned, and hung up so
 *   G5 the group is suspect no more
 *
 * invariant 1: whoever dies inside a group makes it suspect before its slot is
 *   given free (reap.c), also while sweeping: G5 is last.
 * invariant 2: a sweep changes nothing that a healthy stream would notice: a
 *   service procedure with nothing to do and a wake-up without a cause are legal.
 * invariant 3: memory that may be reachable from two places is given up, never
 *   given to two owners.
 *
 * Condemned (SD_DAMAGED): every call gives EIO, poll POLLERR, for ever; the other
 * end of a pipe is hung up.  Closing works as ever.
 *
 *   F1 a thread names the file whose references it changes (sl_file): from before
 *      it counts one until something else keeps it, and from before that keeps it
 *      no more until it is counted off
 *   F2 it died: the file is suspected of one reference too many
 *   F3 no entry of any table, link, path or message leads to it and no living thread
 *      names it, yet it is not freed: who finds that, under the registry lock and
 *      hr_lock, is the one who closes it, as any last close: F5.  If a message has it,
 *      or had and was lost with somebody, its stream is condemned, so that the other
 *      end is told; it waits for the message, and for ever if that was lost.
 *   F4 a reference that goes from a hand to an entry is counted between the two
 *      (hr_moved): whoever has looked at the entry too early and at the hand too
 *      late sees the count change, and looks again another time
 *
 *   F5 what is counted too much is counted off, the file goes into his hand in the
 *      same critical section, and its close goes on from where f_closing says: if he
 *      dies too, another one finds it (F2).  What another process's code is needed for
 *      waits on the list of unfinished closes; if nobody has it any more, the queues are
 *      taken off without (head_close.c).
 *
 * A close routine is called once: q_closing is CALLED before, DONE after.  Whoever finds
 * a pair CALLED and not DONE, because somebody was killed in its routine, takes it
 * off and gives its memory up, as the module may still know it.
 *
 * invariant 4: a file is taken off the list of suspects, and loses f_gen, under
 *   hr_lock before its memory is given back, and is put on it under hr_lock only
 *   with the f_gen that the dead thread saw.
 */
#ifndef STREAMS_SALVAGE_H
#define STREAMS_SALVAGE_H

#include "fd.h"

/* Each process: what breaking a lock means. */
void salvage_init(void);
/* Inside sd's group: EIO from now on, and its other end hung up. */
void salvage_condemn(struct stdata *sd);
/* The events of that, where no sweep is to come (G4). */
void salvage_tell(struct stdata *sd);
/* The dead thread s of p, whose table is still as it was; before it is buried. */
void salvage_thread(const struct slot *s, struct proc *p);
/* After burials, and until nothing is suspect any more. */
void salvage_run(void);
/*
 * The first half of it, before the files of the dead are closed: a close that asks a
 * driver would wait for a service procedure that the dead was in.
 */
void salvage_sweep(struct slot *me);

#endif
