/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head.h: the stream head.
 *
 * Level 10.  A stream head is where calls become messages and messages become
 * results.  It is one object: struct stdata and its queue pair.
 *
 *     str_write        str_read                 head_write.c   head_read.c
 *        │                ▲                                    head_getmsg.c
 *   ┌────▼────────────────┴────┐
 *   │ sd_state, options, waits │  struct stdata                head_ioctl.c
 *   │ write queue   read queue │  head_queue.c, head_opt.c     head_str.c
 *   └────┬────────────────▲────┘
 *        ▼ putnext        │ head_rput                          head_put.c
 *      modules, driver or the peer's read queue
 *
 * States (sd_state, A):
 *
 *   open ──M_HANGUP──► SD_HUP ──M_UNHANGUP──► open          put_hangup
 *   open ──M_ERROR───► SD_RDERR, SD_WRERR ──M_ERROR 0──► open   put_error
 *   open ──peer's last close──► SD_HUP | SD_BROKEN          head_dismantle
 *   FIFO: SD_BROKEN, SD_NOWRITER ◄──► open   fifo_leave, fifo_open
 *   open ──own last close──► SD_CLOSING ──► freed           head_dismantle
 *
 * Life: made by head_alloc, kept by the open files that refer to it (sd_opens)
 * and by sd_plumber, the one thread that pushes, pops or closes; freed by
 * head_dismantle when the last file goes.
 *
 * Guard tags as in <sys/stream.h>; R is the registry lock, T the thread that
 * is sd_plumber.
 */
#ifndef STREAMS_HEAD_H
#define STREAMS_HEAD_H

#include "plumb.h"
#include "registry.h"
#include "wait.h"

#define CLASS_HEAD 16	/* cache of stream heads */
#define NODE_CHAINS 64	/* of the table of named nodes */
#define HEAD_MOVED 64	/* counts of references that were settled */
#define HEAD_HIWAT 65536 /* marks of a stream head unless set, bytes */
#define HEAD_LOWAT 8192
#define WRITE_CUT 65536 /* a longer write is more than one message, bytes */

struct stdata {
	/* Line 0: looked at by every call. */
	queue_t *sd_rq;		/* C  read queue; the write queue follows it */
	uint32_t sd_state;	/* A  SD_* */
	uint32_t sd_ropt;	/* A  I_SRDOPT */
	uint32_t sd_wopt;	/* A  I_SWROPT */
	uint32_t sd_eropt;	/* A  I_SERROPT */
	int sd_rderr;		/* A  errno of SD_RDERR */
	int sd_wrerr;		/* A  errno of SD_WRERR */
	uint32_t sd_wroff;	/* A  bytes left free before written data */
	uint32_t sd_pcproto;	/* A  an unread M_PCPROTO is queued */
	size_t sd_spare[3];

	/* Line 1: who sleeps. */
	struct waitq sd_rwait LINE_ALIGNED; /* A  for messages */
	struct waitq sd_wwait;	/* A  for room */

	/* Line 2: plumbing. */
	uint32_t sd_plumber LINE_ALIGNED; /* A  slot of who pushes, pops, closes */
	uint32_t sd_opens;	/* A  open files */
	uint32_t sd_pushed;	/* T  modules */
	uint32_t sd_anchor;	/* T  depth below which a pop needs privilege */
	uint32_t sd_kind;	/* C  HEAD_* */
	uint32_t sd_minor;	/* C */
	uint32_t sd_cltime;	/* A  close time, ms */
	uint32_t sd_id;		/* C  number, for people */
	struct group *sd_cell;	/* C  group it was born in */
	struct stdata *sd_mate;	/* G  other end of a pipe */
	struct regent *sd_reg;	/* C  the driver, or NULL */
	struct stdata *sd_nextopen; /* R  next open stream of the driver */
	uid_t sd_uid;		/* C  who made it */
	gid_t sd_gid;		/* C */
	struct node *sd_node;	/* C  a FIFO's name (head_fifo.h) */
	uint32_t sd_readers;	/* R  open files that read from a FIFO */
	uint32_t sd_writers;	/* R  that write to it */
	uint32_t sd_ropened;	/* A  times it was opened for reading */
	uint32_t sd_wopened;	/* A  and for writing */
	struct file *sd_opener;	/* R  SD_OPENING: file of who opens it, which names it */
	struct file *sd_leaver;	/* R  file whose close is being counted, or NULL */
	uint32_t sd_toopens;	/* R  what sd_opens becomes by it */
	struct file *sd_joiner;	/* R  file whose counting is under way, or NULL */
	uint32_t sd_toreaders;	/* R  what sd_readers becomes by it */
	uint32_t sd_towriters;	/* R  and sd_writers */
	uint32_t sd_toside;	/* R  and its f_side */

	/* The ioctl dialogue (head_str.c); guard I is sd_ilock. */
	uint32_t sd_ilock LINE_ALIGNED; /* A */
	uint32_t sd_iid;	/* I  id of the question under way, 0 none */
	uint32_t sd_iasker;	/* I  slot of who asks */
	struct fdent *sd_ient;	/* I  the descriptor he asked through */
	mblk_t *sd_ians;	/* I  the answer, until he takes it */
	int64_t sd_iuntil;	/* I  when his time is over, ns */
	cred_t sd_icr;		/* I  his credentials */
	struct waitq sd_iwait;	/* A  who waits for an answer or for the turn */

	/* Who is told of events (head_sig.h); guard S is sd_siglock. */
	uint32_t sd_siglock LINE_ALIGNED; /* A */
	uint32_t sd_sigmask;	/* A  events somebody is to be told of */
	struct sigreg *sd_sigs;	/* S  who, oldest first */
	uint32_t sd_nsigs;	/* S  how many */
	uint32_t sd_sigseq;	/* S  how many there ever were */
	uint32_t sd_msigs;	/* reader lock: M_SIG messages queued */
	uint32_t sd_refusals;	/* A  there are bits in sd_refused */
	uint32_t sd_refused[256 / 32]; /* A  bands in which a writer was refused */
};

enum { HEAD_PIPE, HEAD_DEVICE, HEAD_FIFO };

/* sd_state */
#define SD_HUP 0x01	/* hung up */
#define SD_BROKEN 0x02	/* pipe: the other end is gone; FIFO: nobody reads */
#define SD_RDERR 0x04	/* M_ERROR for the read side */
#define SD_WRERR 0x08	/* for the write side */
#define SD_PLEX 0x10	/* linked below a multiplexor */
#define SD_CLOSING 0x20	/* last close has begun */
#define SD_NOWRITER 0x40 /* FIFO: nobody writes */
#define SD_END (SD_HUP | SD_NOWRITER) /* drained, a read gives the end of file */
#define SD_OPENING 0x80 /* the first open is under way, by sd_plumber */
#define SD_MREAD 0x100	/* a read that finds nothing sends M_READ */
#define SD_NDEL 0x200	/* O_NONBLOCK: read and write give 0, not EAGAIN */
#define SD_DELIM 0x400	/* writes are delimited */
#define SD_DAMAGED 0x10000 /* condemned: a thread died where it mattered (salvage.h) */
#define SD_SUSPECT 0x20000 /* a thread died in a call on it, being looked at */
#define SD_UNTOLD 0x40000 /* condemned, or hung up by that: no event yet (salvage.h G4) */
#define SD_TROUBLE (SD_END | SD_BROKEN | SD_RDERR | SD_WRERR | SD_PLEX | SD_DAMAGED)

/* What a call minds (head_access). */
#define ACC_HUP 0x01	 /* a hang-up: ENXIO */
#define ACC_RDERR 0x02	 /* read error */
#define ACC_WRERR 0x04	 /* write error */
#define ACC_PIPE 0x08	 /* a broken pipe: EPIPE */
#define ACC_SIGPIPE 0x10 /* ... with SIGPIPE */
#define ACC_RDMODE 0x20	 /* open for writing only: EBADF (streamio commands) */
#define ACC_WRMODE 0x40	 /* open for reading only: EBADF */
#define ACC_READ ACC_RDERR
#define ACC_WRITE (ACC_HUP | ACC_WRERR | ACC_PIPE | ACC_SIGPIPE)
#define ACC_PLUMB (ACC_HUP | ACC_RDERR | ACC_WRERR)

/* What ends the wait of a reader, of a writer, of who asks: not the others' trouble. */
#define SD_RDSTOP (SD_END | SD_RDERR | SD_PLEX | SD_DAMAGED)
#define SD_WRSTOP (SD_HUP | SD_BROKEN | SD_WRERR | SD_PLEX | SD_DAMAGED)
#define SD_ASKSTOP (SD_HUP | SD_RDERR | SD_WRERR | SD_PLEX | SD_DAMAGED)

struct file;
struct fdent;
struct sigreg;
struct call;

/* Shared tunables, defaults of new streams: tune.c names them. */
struct head_root {
	long hr_nstrpush;	/* A  most modules on a stream */
	long hr_strmsgsz;	/* A  largest data part, bytes */
	long hr_strctlsz;	/* A  largest control part, bytes */
	long hr_hiwat;		/* A  stream head's high-water mark */
	long hr_lowat;		/* A  low-water mark */
	long hr_cltime;		/* A  close time, ms */
	long hr_ioctltime;	/* A  I_STR time-out, ms */
	long hr_trace;		/* A  records of a new stream's ring, 0 none */
	uint32_t hr_nextid;	/* A */
	uint32_t hr_iocid;	/* A  ids of ioctls, counted */
	uint32_t hr_lock;	/* A */
	uint64_t hr_filegen;	/* A  files ever made */
	struct file *hr_unclosed; /* R  closes that a stopped thread held up */
	struct node *hr_node[NODE_CHAINS]; /* R  named nodes, hashed (node.h) */
	struct file *hr_suspect; /* R  files with a reference too many, perhaps */
	uint32_t hr_moved[HEAD_MOVED]; /* A  references settled, by file (salvage.h F4) */
};

extern struct head_root *head_root;

INLINE queue_t *
head_wq(const struct stdata *sd)
{
	return sd->sd_rq + 1;
}

INLINE struct group *
head_group(const struct stdata *sd)
{
	return plumb_group(sd->sd_rq);
}

/* Everybody who sleeps on the stream looks again; after a change he waits for. */
INLINE void
head_wake(struct stdata *sd)
{
	wait_wake(&sd->sd_rwait);
	wait_wake(&sd->sd_wwait);
	wait_wake(&sd->sd_iwait);
}

/* ---- head.c: life and plumbing ---------------------------------------------------- */

int head_init(void);		/* shared part, by the arena's creator */
/* For who judges the arena: the shared part. */
bool head_claim(void);
const struct qinit *head_qinfo(void);
/* What a head's queues are set up with, in this process. */
void head_settables(struct queue_tables *qt);
void head_init_process(void);	/* each process: procedures, cache class */
/* A head in group g, bottom in the dead end; NULL without memory. */
struct stdata *head_alloc(struct group *g, uint32_t kind);
void head_free(struct stdata *sd);
/* What head_free begins with, and may be done twice: nothing is left in it. */
void head_empty(struct stdata *sd);
/* Give a head's queues its procedures and first settings. */
void head_setup(queue_t *hrq);
/* Become sd_plumber within a call: 0, EBADF, ETIME: who is it is stopped. */
int head_plumb_enter(struct call *c);
/* The same for another stream, which the caller keeps open. */
int head_plumb_take(struct call *c, struct stdata *sd);
/* From outside any group, and in the stream's afterwards: 0, ETIME. */
int head_enter(struct slot *me, struct stdata *sd);
void head_plumb_leave(struct stdata *sd);
/* Two welded heads: 0, ENOSR; and away again, if nobody ever opened them. */
int head_pipe(struct stdata *sd[2]);
void head_unpipe(struct stdata *sd[2]);
/* Inside the group, as sd_plumber: 0 or an errno. */
int head_push(struct slot *me, struct stdata *sd, const char *name, int oflag);
int head_pop(struct call *c);
/* Who calls, as modules see it. */
cred_t head_cred(void);
/* The module i below the head (0: topmost), or NULL.  Inside the group. */
struct regent *head_module(struct stdata *sd, uint32_t i);
/* A pair for re on top of sd, not linked in yet: it or NULL; and away again. */
queue_t *head_pair(struct stdata *sd, struct regent *re, uint32_t kind);
void head_unpair(struct regent *re, queue_t *rq);
/* Others have the code of the pair of q, and this process does not: EXDEV, else 0. */
int head_elsewhere(const queue_t *q);
/* Run an open routine inside its perimeter, linking the pair in if it did not. */
int head_callopen(struct slot *me, queue_t *rq, dev_t *dev, int oflag, int sflag);
/*
 * Close, unlink and free the pair whose write queue is wq: 0, or nothing was done,
 * and ETIME, because a thread that would have to move is stopped, or EXDEV, because
 * its close routine is another process's.
 */
int head_dispose(struct slot *me, queue_t *wq, int oflag);
int head_rput(queue_t *q, mblk_t *mp);

/* The pairs below the head, from the top: start with head_wq(sd); NULL at the end. */
INLINE queue_t *
head_next(const struct stdata *sd, const queue_t *wq)
{
	queue_t *q = wq->q_next;

	ASSERT(wq->q_stream == sd && !(wq->q_kind & QK_READ));
	return q != NULL && q->q_stream == sd && !(q->q_kind & (QK_READ | QK_DEADEND)) ? q : NULL;
}

/* ---- head_open.c, head_close.c -------------------------------------------------------- */

/*
 * Open what path leads to, newly or once more, for the new file f, whose
 * f_head is set: 0, or an errno; then the caller gives f up (file_giveup).
 */
int head_open(const char *path, int oflag, struct file *f);
/* Run the open routines of an open stream again: 0 or an errno. */
int head_reopen(struct stdata *sd, int oflag);
/*
 * Outside all groups: take apart what openers of driver re left half made that
 * were killed.
 */
void head_adopt(struct slot *me, struct regent *re);
/* f's open ends early: if it was making a stream, that is left to head_adopt. */
void head_unopen(struct file *f);
/* Nothing leads to sd any more: neither queues nor the run list. */
void head_detach(struct slot *me, struct stdata *sd);
/* A driver's stream off its list, on which it may be no more. */
void head_delist(struct slot *me, struct stdata *sd);
/* Freed; on no list, not in any group, nothing below it left. */
void head_scrap(struct stdata *sd);
/*
 * File f of sd (NULL: one that has none) is gone, and its f_closing says so: true if
 * it was the last one, and then the stream is to be taken apart: 0, ETIME (a stopped
 * thread is in the way: again later), or EXDEV (a close routine is another process's,
 * which has been rung).
 */
bool head_lastclose(struct stdata *sd, struct file *f);
/*
 * Under the registry lock, before sd_opens is looked at: the counting of who was
 * killed in head_lastclose is finished, so that his file, which others may have
 * outlived, is not taken for one that keeps the stream.
 */
void head_settle(struct stdata *sd);
/* Take everything off that I_LINK put below sd; inside its group, which is left
 * and entered again: 0 or ETIME. */
int head_unlinkall(struct slot *me, struct stdata *sd, bool drain);
int head_dismantle(struct stdata *sd, int oflag, bool drain);
/* The same by its plumber, inside the group, which is left. */
int head_takeapart(struct slot *me, struct stdata *sd, int oflag, bool drain);
/* Both, for a head that no file refers to yet. */
void head_abandon(struct stdata *sd);

/* 0 or the errno of the access check (streamio 2) for ACC_* minds. */
int head_trouble(struct stdata *sd, uint32_t minds, bool *sigpipe);

/* ---- head_opt.c -------------------------------------------------------------------------- */

/* M_SETOPTS arrived. */
void head_setopts(struct stdata *sd, mblk_t *mp);

/* ---- head_str.c: the ioctl dialogue --------------------------------------------------- */

/* M_IOCACK, M_IOCNAK, M_COPYIN or M_COPYOUT arrived. */
void head_answer(struct stdata *sd, mblk_t *mp);
/* The entry e no longer leads to sd: a question asked through it is over. */
void head_unask(struct stdata *sd, const struct fdent *e);

/* ---- head_sig.c: events ----------------------------------------------------------------- */

/* Tell who registered for one of these (S_*, of one kind); band, or errno of S_ERROR. */
void head_event(struct stdata *sd, uint32_t events, unsigned char what);
/* There may be room again: writers are woken, events told. */
void head_writable(struct stdata *sd);
/*
 * bcanput below sd said no for band: ask once more.  True: refused, and an
 * event is owed to who registered for it.
 */
bool head_refused(struct stdata *sd, unsigned char band);
/* Room below sd for band?  Asked by a program, so that no is a refusal. */
INLINE bool
head_canput(struct stdata *sd, unsigned char band)
{
	return bcanput(head_wq(sd)->q_next, band) || !head_refused(sd, band);
}
/* M_SIG, M_PCSIG arrive. */
void sig_arrive(struct stdata *sd, mblk_t *mp);
void sig_arrive_now(struct stdata *sd, mblk_t *mp);
/* Under the reader lock: an M_SIG that has come to the front acts. */
void sig_front(struct slot *me, struct stdata *sd);

/* ---- head_queue.c: the read queue --------------------------------------------------- */

/* Queue an arriving message (any thread of the group) and wake readers. */
void hq_put(struct stdata *sd, mblk_t *mp);
/* Under the reader lock: queue it unless nothing else is queued; nobody is told. */
bool hq_hold(struct slot *me, queue_t *q, mblk_t *mp);
void hq_lock(struct slot *me, queue_t *q);
void hq_unlock(struct slot *me, queue_t *q);
/* Under the reader lock: the first message, or NULL. */
mblk_t *hq_first(struct slot *me, queue_t *q);
/* Under it: take the first message off the list; count it with hq_got. */
void hq_shift(queue_t *q, mblk_t *mp);
/* Under it: what is left of the first message is rest. */
void hq_replace(queue_t *q, mblk_t *mp, mblk_t *rest);
/*
 * Under it: bytes and blocks of class were got (F4..F6), of the message whose first
 * block was mp, which is not freed yet.
 */
void hq_got(struct slot *me, queue_t *q, const mblk_t *mp, unsigned int class, size_t bytes,
	size_t blocks);
/* Under it: take the first message off and count it; the caller looks at the front. */
void hq_drop(struct slot *me, queue_t *q, mblk_t *mp);
/* The class a message was counted in: its band's, unless that could not be made. */
#define MSG_UNCOUNTED 0x8000 /* b_flag, private */
INLINE unsigned int
hq_class(const mblk_t *mp)
{
	return unlikely(mp->b_flag & MSG_UNCOUNTED) ? 0 : queue_class(mp);
}
/* Anything there?  Needs no lock; true may be stale, false is not. */
bool hq_any(queue_t *q);
/* Put back the first message, just taken and kept, before its equals. */
void hq_unget(struct slot *me, struct stdata *sd, mblk_t *mp);
/* Drop messages, as flushq and flushband (band < 0: all). */
void hq_flush(struct stdata *sd, int flag, int band);
/* Messages there, and the first one (under the reader lock). */
size_t hq_count(struct slot *me, queue_t *q);
/* Water marks changed: refused writers try again. */
void hq_remark(queue_t *q);
/* A write on this stream: the next read is an answer, do not dally. */
INLINE void
hq_answering(queue_t *q)
{
	if (ld_rlx(&q->q_pace) != 0)
		st_rlx(&q->q_pace, 0u);
}

#endif
