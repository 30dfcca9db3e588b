/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.h: open files: what descriptors, links, paths and messages refer to.
 *
 * Level 10.  A file is made by an open, shared by dup, fork and whatever keeps it,
 * and closes its stream when the last reference goes:
 *
 *   FILE_OPEN ──the last reference──► not the stream's last file ─► FILE_QUIET ─► (freed)
 *                                    └► the last ─► FILE_LAST ─taken apart─► FILE_GONE ─► (freed)
 *
 * f_closing is stored after each step, so that the close can be left and gone on with:
 * by the list of unfinished closes, when a stopped thread is in the way or the code is
 * another process's (file_unclosed); by who buries the closer (file_bury).
 *
 * A reference that is being counted, on or off, is in a hand of the thread that does it
 * (sl_file; salvage.h, F1 to F5): so a file of the dead is found, and closed once.
 */
#ifndef STREAMS_FILE_H
#define STREAMS_FILE_H

#include "head.h"

struct file {
	uint32_t f_ref;		/* A  entries in all tables, links, paths, messages */
	uint32_t f_flags;	/* A  open(2) flags: access mode, O_NONBLOCK */
	struct stdata *f_head;	/* C */
	struct file *f_next;	/* R  on head_root's list of unfinished closes; O while
				 * it is closed: in whose close, if it is HAND_OUTER */
	uint64_t f_gen;		/* C  never given twice: the address may be */
	struct file *f_suspect;	/* R  next on head_root's list of suspects */
	uint32_t f_closing;	/* O  FILE_*: how far its close has come */
	uint32_t f_side;	/* R  FIFO: what it is counted as (head_fifo.h) */
	uint32_t f_closer;	/* A  slot of who closes it */
	uint32_t f_passed;	/* A  references that travel in messages */
	uint32_t f_told;	/* O  lost but for a message: its stream was condemned */
	uint32_t f_spare;
};

/* Nothing yet; not the last file of its stream; the last; the stream is gone. */
enum { FILE_OPEN, FILE_QUIET, FILE_LAST, FILE_GONE };

/* A new file for head sd (its sd_opens counted), or NULL; sd may come later. */
struct file *file_make(struct stdata *sd, int oflag);
/* The one reference to a new file is given up; it may have no f_head yet. */
void file_giveup(struct file *f);
/* One reference more, by who has one already; and in hand. */
void file_ref(struct file *f);
/* The reference in hand is a message's from now on. */
void file_pass(struct file *f);
/*
 * The message is freed, anywhere, inside a group too: the close, if it comes to that,
 * is left to others.
 */
void file_unpass(struct file *f);
/* f is in hand again, after something else was. */
void file_inhand(struct file *f);
/* What the thread has in hand (salvage.h, F1) is kept by something else now. */
void file_keep(void);
/* The thread ends, perhaps cancelled in an open: what it has in hand is given up. */
void file_thread_ends(struct slot *me);
/* One reference more to f, inside its group (after E3); false: it is being closed. */
bool file_hold(struct slot *me, struct file *f);
/* One that something else kept; drain: as an ordinary close. */
void file_rele(struct file *f, bool drain);
/* The one in hand. */
void file_putback(struct file *f, bool drain);
/* Who keeps one other than by a descriptor is about to do so no more; file_rele follows. */
void file_parting(struct file *f);
/* It does not after all; what was in hand around it is again. */
void file_parted(void);
/* Go on with the closes that stopped threads held up, or that need this process's code. */
void file_unclosed(void);
/*
 * Under hr_lock: one reference more to a file that only messages have, or, if they
 * have none either, its close is the caller's (F5): in hand, so that another one
 * who buries does not find it too.  Then file_rele, or file_bury.
 */
void file_claim(struct file *f);
/* Outside all groups: go on with the close of a claimed file that nobody has. */
void file_bury(struct file *f);
/* Leave a stream to them that no file refers to any more; false: no memory. */
bool file_closelater(struct stdata *sd);

#endif
