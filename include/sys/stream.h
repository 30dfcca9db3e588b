/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <sys/stream.h>: what modules and drivers see -- messages, queues, the entry
 * points of a module, and the DDI/DKI routines that work on them.
 *
 * Source standard: SVR4.2 MP DDI/DKI and the Solaris MT STREAMS interfaces.
 * The names below exist in source only.  In the binary each carries the prefix
 * ustr_ (an assembler label), so a program may have its own put() or getq().
 *
 * Ownership, once for all: a message belongs to whoever holds its pointer.
 * put, putnext, qreply, freeb and freemsg always consume theirs.  A routine
 * that can fail (putq, insq, canput, ...) leaves the message with its caller
 * when it does.  Nothing here blocks unless it says so.
 */
#ifndef _USTREAMS_SYS_STREAM_H
#define _USTREAMS_SYS_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name in the binary: putq is linked as ustr_putq. */
#define USTR_SYM(name) __asm__("ustr_" #name)

struct datab;
struct queue;
struct qband;
struct stdata;
struct perim;
struct runq;
struct callout;

/* ---- messages ------------------------------------------------------- */

/*
 * A message block: one view into a data block.  A message is a chain of
 * blocks along b_cont.  Fields without the word "private" are the module's,
 * as long as it owns the message.
 */
typedef struct msgb {
	struct msgb *b_next;	/* next message on a queue */
	struct msgb *b_prev;	/* previous message on a queue */
	struct msgb *b_cont;	/* next block of this message */
	unsigned char *b_rptr;	/* first byte not yet read */
	unsigned char *b_wptr;	/* first byte not yet written */
	struct datab *b_datap;	/* the data block */
	unsigned char b_band;	/* priority band, 0..255 */
	unsigned char b_kind;	/* private: where the header was cut from */
	unsigned short b_flag;	/* MSGMARK, MSGNOLOOP, MSGDELIM, ... */
	unsigned int b_owner;	/* private: last owner, debug builds */
} mblk_t;

/* A routine to call when memory handed to esballoc() is no longer used. */
typedef struct free_rtn {
	void (*free_func)(char *arg);
	char *free_arg;
} frtn_t;

/* A data block: the bytes, shared by db_ref message blocks. */
typedef struct datab {
	unsigned char *db_base;	/* first byte of the buffer */
	unsigned char *db_lim;	/* one past the last byte */
	unsigned int db_ref;	/* message blocks that point here */
	unsigned char db_type;	/* M_DATA, M_PROTO, ... */
	unsigned char db_class;	/* private: size class of the buffer */
	unsigned char db_parts;	/* private: parts of the object in use */
	unsigned char db_flags;	/* private */
	uintptr_t db_frtn;	/* private: index of the free routine */
} dblk_t;

/* Message types.  Below 0x80 ordinary, from QPCTL on high priority. */
#define QPCTL 0x80

#define M_DATA 0x00
#define M_PROTO 0x01
#define M_BREAK 0x08
#define M_PASSFP 0x09
#define M_EVENT 0x0a
#define M_SIG 0x0b
#define M_DELAY 0x0c
#define M_CTL 0x0d
#define M_IOCTL 0x0e
#define M_SETOPTS 0x10
#define M_RSE 0x11

#define M_IOCACK 0x81
#define M_IOCNAK 0x82
#define M_PCPROTO 0x83
#define M_PCSIG 0x84
#define M_READ 0x85
#define M_FLUSH 0x86
#define M_STOP 0x87
#define M_START 0x88
#define M_HANGUP 0x89
#define M_ERROR 0x8a
#define M_COPYIN 0x8b
#define M_COPYOUT 0x8c
#define M_IOCDATA 0x8d
#define M_PCRSE 0x8e
#define M_STOPI 0x8f
#define M_STARTI 0x90
#define M_PCEVENT 0x91
#define M_UNHANGUP 0x92

/* b_flag */
#define MSGMARK 0x01	/* last byte of the message is marked */
#define MSGNOLOOP 0x02	/* do not loop the message back at the head */
#define MSGDELIM 0x04	/* message is delimited */

/* Allocation priorities: accepted and ignored, as everywhere today. */
#define BPRI_LO 1
#define BPRI_MED 2
#define BPRI_HI 3

/* M_FLUSH, first byte */
#ifndef FLUSHR
#define FLUSHR 0x01	/* flush read queues */
#define FLUSHW 0x02	/* flush write queues */
#define FLUSHRW 0x03
#define FLUSHBAND 0x04	/* only the band in the second byte */
#endif
#define FLUSHALL 1	/* flushq: everything */
#define FLUSHDATA 0	/* flushq: data messages only */

/* M_ERROR: this byte leaves that side's error as it is. */
#define NOERROR ((unsigned char)-1)

#define INFPSZ (-1)	/* no upper packet size */
#define FMNAMESZ 8	/* longest module name */

/* ---- a module's tables ----------------------------------------------- */

typedef struct cred {
	unsigned int cr_ref;	/* references */
	uid_t cr_uid;		/* effective user */
	gid_t cr_gid;		/* effective group */
	uid_t cr_ruid;		/* real user */
	gid_t cr_rgid;		/* real group */
} cred_t;

struct module_info {
	unsigned short mi_idnum;	/* module number */
	const char *mi_idname;		/* module name, 1..8 characters */
	ssize_t mi_minpsz;		/* smallest packet accepted, bytes */
	ssize_t mi_maxpsz;		/* largest packet, bytes, or INFPSZ */
	size_t mi_hiwat;		/* high-water mark, bytes and blocks */
	size_t mi_lowat;		/* low-water mark */
};

struct module_stat {
	long ms_pcnt;	/* calls of the put procedure */
	long ms_scnt;	/* calls of the service procedure */
	long ms_ocnt;	/* calls of the open routine */
	long ms_ccnt;	/* calls of the close routine */
};

struct qinit {
	int (*qi_putp)(struct queue *, mblk_t *);
	int (*qi_srvp)(struct queue *);
	int (*qi_qopen)(struct queue *, dev_t *, int, int, cred_t *);
	int (*qi_qclose)(struct queue *, int, cred_t *);
	int (*qi_qadmin)(void);
	struct module_info *qi_minfo;
	struct module_stat *qi_mstat;
};

struct streamtab {
	struct qinit *st_rdinit;	/* upper read side */
	struct qinit *st_wrinit;	/* upper write side */
	struct qinit *st_muxrinit;	/* lower read side of a multiplexor */
	struct qinit *st_muxwinit;	/* lower write side */
};

/* sflag of an open routine */
#define MODOPEN 0x1	/* opened as a module, by I_PUSH */
#define CLONEOPEN 0x2	/* a driver is to choose a minor */
#define OPENFAIL (-1)

/* Perimeters (Solaris D_MT flags).  No flag at all means D_MTPERMOD. */
#define D_NEW 0x00
#define D_OLD 0x01
#define D_MP 0x20		/* no perimeter: the module locks for itself */
#define D_MTSAFE D_MP
#define D_MTOCEXCL 0x800	/* open and close take the outer perimeter */
#define D_MTPUTSHARED 0x1000	/* put procedures share the inner one */
#define D_MTPERQ 0x2000		/* each queue is a perimeter */
#define D_MTQPAIR 0x4000	/* each queue pair is a perimeter */
#define D_MTPERMOD 0x6000	/* all instances share one perimeter */
#define D_MTOUTPERIM 0x8000	/* an outer perimeter per module */
#define D_MTINNER_MASK 0x6000

/* ---- queues ---------------------------------------------------------- */

/*
 * A queue.  Each module instance has a pair, read side first; RD, WR and
 * OTHERQ go between them.  Guard tags: C constant, G changed only while the
 * plumbing group is held exclusively, Q under q_lock, S under the stream
 * head's reader lock, A atomic, M the module's own.  streams/queue.h draws
 * the lines and says who writes which.
 */
typedef struct queue {
	/* Line 0, the way ahead: read by every put, written by plumbing only. */
	struct qinit *q_qinfo;	/* C  tables, procedures NULL */
	struct queue *q_next;	/* G  next queue in this direction */
	void *q_ptr;		/* M  the module's own */
	struct stdata *q_stream; /* C private: the stream head */
	struct perim *q_perim;	/* G  private: NULL for D_MP */
	struct queue *q_nfsrv;	/* G  private: where canput looks */
	unsigned int q_qidx;	/* A  private: what is called: q_procs, or the recorder */
	unsigned int q_kind;	/* C  private: QK_* */
	struct runq *q_runq;	/* G  private: run list of the group */

	/* Line 1, the putting side. */
	unsigned int q_lock;	/* A  private: owner's slot */
	unsigned int q_flag;	/* Q  QFULL, QWANTW, ... */
	mblk_t *q_first;	/* Q  first message */
	mblk_t *q_last;		/* Q  last message */
	size_t q_putb;		/* Q  private: bytes ever put (stream head) */
	size_t q_putn;		/* Q  private: blocks ever put (stream head) */
	size_t q_seenb;		/* A  private: q_gotb as last seen here */
	size_t q_seenn;		/* A  private: q_gotn as last seen here */
	struct queue *q_gnext;	/* L  private: next stream head of the group */

	/* Line 2, the getting side of a stream head. */
	size_t q_gotb;		/* S  private: bytes ever got */
	size_t q_gotn;		/* S  private: blocks ever got */
	mblk_t *q_rfirst;	/* S  private: the reader's list */
	mblk_t *q_rlast;	/* S */
	unsigned int q_rlock;	/* A  private: reader lock, owner's slot */
	unsigned int q_want;	/* A  private: a writer was refused, and other wants */
	unsigned int q_urgent;	/* A  private: merge before the next message */
	unsigned int q_pace;	/* S  private: size of the last list taken */
	size_t q_spare2[1];
	struct callout *q_calls; /* A  private: callbacks to come (read queue) */

	/* Line 3, counts and limits. */
	size_t q_count;		/* Q  bytes queued */
	size_t q_blocks;	/* Q  private: blocks queued */
	ssize_t q_minpsz;	/* Q  smallest packet */
	ssize_t q_maxpsz;	/* Q  largest packet */
	size_t q_hiwat;		/* Q  full at this many bytes or blocks */
	size_t q_lowat;		/* Q  back-enable below this */
	struct qband *q_bandp;	/* Q  bands 1..q_nband */
	unsigned char q_nband;	/* Q  bands in use */
	unsigned char q_traced;	/* A  private: q_qidx is the recorder's */
	unsigned short q_procs;	/* C  private: index of the procedures */
	unsigned int q_tap;	/* A  private: where its messages are recorded */

	/* Line 4, waiting to run: parked messages and the run list. */
	unsigned int q_plock;	/* A  private: guards the parked list */
	unsigned int q_pflag;	/* A  private: on a perimeter's list */
	mblk_t *q_pfirst;	/* P  private: parked messages */
	mblk_t *q_plast;	/* P */
	size_t q_pbytes;	/* A  private: parked bytes */
	size_t q_pblocks;	/* A  private: parked blocks */
	struct queue *q_plink;	/* P  private: next queue with parked work */
	struct queue *q_link;	/* R  private: next on the run list */
	unsigned int q_pwant;	/* A  private: a writer was refused for these */
	unsigned int q_frozen;	/* Q  private: frozen by this slot */
} __attribute__((aligned(64))) queue_t;

typedef struct qband {
	struct qband *qb_next;	/* next higher band */
	size_t qb_count;	/* bytes in this band */
	mblk_t *qb_first;	/* first message of the band */
	mblk_t *qb_last;	/* last message of the band */
	size_t qb_hiwat;	/* high-water mark */
	size_t qb_lowat;	/* low-water mark */
	unsigned int qb_flag;	/* QB_FULL, QB_WANTW */
	unsigned int qb_spare;
	size_t qb_blocks;	/* private: blocks in this band */
} qband_t;

/* q_flag */
#define QENAB 0x001	/* on a run list */
#define QWANTR 0x002	/* somebody wants to read it */
#define QWANTW 0x004	/* somebody wants to write it */
#define QFULL 0x008	/* full for band 0 */
#define QREADR 0x010	/* the read side of its pair */
#define QUSE 0x020	/* in use */
#define QNOENB 0x040	/* noenable() */
#define QHLIST 0x200	/* private: in service */
#define QPROCS 0x800	/* private: qprocson done */
#define QWCLOSE 0x1000	/* private: closing */
#define QTRACED 0x2000	/* private: what is taken off is recorded */

/* qb_flag */
#define QB_FULL 0x01
#define QB_WANTW 0x02

/* The side of a queue never changes; bit 0 of q_kind is QREADR's constant twin. */
#define RD(q) (((q)->q_kind & 1) ? (q) : (q) - 1)
#define WR(q) (((q)->q_kind & 1) ? (q) + 1 : (q))
#define OTHERQ(q) (((q)->q_kind & 1) ? (q) + 1 : (q) - 1)
#define _RD(q) ((q) - 1)
#define _WR(q) ((q) + 1)

typedef enum qfields {
	QHIWAT = 0,
	QLOWAT = 1,
	QMAXPSZ = 2,
	QMINPSZ = 3,
	QCOUNT = 4,
	QFIRST = 5,
	QLAST = 6,
	QFLAG = 7,
	QBAD = 8
} qfields_t;

/* ---- payloads of control messages ------------------------------------ */

struct iocblk {
	int ioc_cmd;		/* ioctl command */
	cred_t *ioc_cr;		/* credentials of the caller */
	unsigned int ioc_id;	/* identifier, copied into the answer */
	unsigned int ioc_flag;	/* IOC_NATIVE */
	size_t ioc_count;	/* bytes of data, or TRANSPARENT */
	int ioc_rval;		/* return value */
	int ioc_error;		/* errno */
};
#define TRANSPARENT ((size_t)-1)
#define IOC_NATIVE 0

struct copyreq {
	int cq_cmd;
	cred_t *cq_cr;
	unsigned int cq_id;
	unsigned int cq_flag;
	mblk_t *cq_private;
	char *cq_addr; /* caddr_t, which strict C has no name for */
	size_t cq_size;
};

struct copyresp {
	int cp_cmd;
	cred_t *cp_cr;
	unsigned int cp_id;
	unsigned int cp_flag;
	mblk_t *cp_private;
	intptr_t cp_rval;	/* 0 or an errno */
};

struct stroptions {
	unsigned int so_flags;		/* SO_* */
	short so_readopt;		/* read options */
	unsigned short so_wroff;	/* bytes to leave before written data */
	ssize_t so_minpsz;
	ssize_t so_maxpsz;
	size_t so_hiwat;
	size_t so_lowat;
	unsigned char so_band;		/* band for SO_HIWAT and SO_LOWAT */
	unsigned short so_erropt;	/* error options */
	ssize_t so_maxblk;
};
#define SO_ALL 0x003f
#define SO_READOPT 0x0001
#define SO_WROFF 0x0002
#define SO_MINPSZ 0x0004
#define SO_MAXPSZ 0x0008
#define SO_HIWAT 0x0010
#define SO_LOWAT 0x0020
#define SO_MREADON 0x0040
#define SO_MREADOFF 0x0080
#define SO_NDELON 0x0100
#define SO_NDELOFF 0x0200
#define SO_ISTTY 0x0400
#define SO_ISNTTY 0x0800
#define SO_TOSTOP 0x1000
#define SO_TONSTOP 0x2000
#define SO_BAND 0x4000
#define SO_DELIM 0x8000
#define SO_NODELIM 0x010000
#define SO_STRHOLD 0x020000
#define SO_ERROPT 0x040000

struct linkblk {
	queue_t *l_qtop;	/* upper write queue, or NULL */
	queue_t *l_qbot;	/* lower write queue */
	int l_index;		/* multiplexor id */
};

/* ---- messages: allocation -------------------------------------------- */

/* One block of at least size bytes (0..arena), type M_DATA, or NULL. */
mblk_t *allocb(size_t size, unsigned int pri) USTR_SYM(allocb);
/* Is a block of this size to be had now?  1 or 0. */
int testb(size_t size, unsigned int pri) USTR_SYM(testb);
/*
 * A block around the caller's buffer; frtn->free_func(free_arg) runs exactly
 * once, in the process that called esballoc, after the last reference.
 */
mblk_t *esballoc(unsigned char *base, size_t size, unsigned int pri,
	frtn_t *frtn) USTR_SYM(esballoc);
void freeb(mblk_t *bp) USTR_SYM(freeb);
void freemsg(mblk_t *mp) USTR_SYM(freemsg);
/* A second view of the same data; NULL without memory. */
mblk_t *dupb(mblk_t *bp) USTR_SYM(dupb);
mblk_t *dupmsg(mblk_t *mp) USTR_SYM(dupmsg);
/* A copy with data of its own; offset within the buffer is kept. */
mblk_t *copyb(mblk_t *bp) USTR_SYM(copyb);
mblk_t *copymsg(mblk_t *mp) USTR_SYM(copymsg);

/*
 * Call func(arg) once, as soon as a message of size bytes (a message header) can
 * be had: those of one size in the order of registration, in the process that
 * registered it.  An id, or 0: no room to remember it, use timeout().  unbufcall:
 * the routine is not running when it returns, and will not be.
 */
typedef int bcid_t;
typedef bcid_t bufcall_id_t;
bufcall_id_t bufcall(size_t size, unsigned int pri, void (*func)(void *), void *arg)
	USTR_SYM(bufcall);
bufcall_id_t esbbcall(unsigned int pri, void (*func)(void *), void *arg)
	USTR_SYM(esbbcall);
void unbufcall(bufcall_id_t id) USTR_SYM(unbufcall);
/* The same inside q's inner perimeter; never after qprocsoff(), which ends it. */
bufcall_id_t qbufcall(struct queue *q, size_t size, unsigned int pri, void (*func)(void *),
	void *arg) USTR_SYM(qbufcall);
void qunbufcall(struct queue *q, bufcall_id_t id) USTR_SYM(qunbufcall);

/* ---- messages: handling ---------------------------------------------- */

/* Append bp to mp; either may be NULL. */
void linkb(mblk_t *mp, mblk_t *bp) USTR_SYM(linkb);
/* Take the first block off; returns the rest or NULL. */
mblk_t *unlinkb(mblk_t *mp) USTR_SYM(unlinkb);
/* Take bp out of mp: the new head, NULL if none left, (mblk_t *)-1 if not in it. */
mblk_t *rmvb(mblk_t *mp, mblk_t *bp) USTR_SYM(rmvb);
/* Trim len bytes from the front, or -len from the back: 1, or 0 unchanged. */
int adjmsg(mblk_t *mp, ssize_t len) USTR_SYM(adjmsg);
/* Make the first len bytes (-1: all) contiguous and aligned, in place: 1 or 0. */
int pullupmsg(mblk_t *mp, ssize_t len) USTR_SYM(pullupmsg);
/* The same in a new message; mp is left alone. */
mblk_t *msgpullup(mblk_t *mp, ssize_t len) USTR_SYM(msgpullup);
/* Bytes in the M_DATA blocks of mp. */
size_t msgdsize(mblk_t *mp) USTR_SYM(msgdsize);
/* Is this a type that carries data (M_DATA M_PROTO M_PCPROTO M_DELAY)? */
int datamsg(unsigned char type) USTR_SYM(datamsg);

/* ---- queues: messages ------------------------------------------------- */

/* Queue by priority and band, schedule service: 1, or 0 (mp stays yours). */
int putq(queue_t *q, mblk_t *mp) USTR_SYM(putq);
/* Put back at the front of its priority: 1 or 0. */
int putbq(queue_t *q, mblk_t *mp) USTR_SYM(putbq);
/* Insert before emp (NULL: at the end) where order allows: 1 or 0. */
int insq(queue_t *q, mblk_t *emp, mblk_t *mp) USTR_SYM(insq);
/* Take mp, which must be on q, off it. */
void rmvq(queue_t *q, mblk_t *mp) USTR_SYM(rmvq);
/* The next message or NULL; back-enables below the low-water mark. */
mblk_t *getq(queue_t *q) USTR_SYM(getq);
/* Free what is queued: FLUSHDATA data messages, FLUSHALL everything. */
void flushq(queue_t *q, int flag) USTR_SYM(flushq);
/* The same for the messages of one band. */
void flushband(queue_t *q, unsigned char band, int flag) USTR_SYM(flushband);
/* Messages on the queue. */
int qsize(queue_t *q) USTR_SYM(qsize);
/* The queue whose q_next is q, or NULL. */
queue_t *backq(queue_t *q) USTR_SYM(backq);

/* Read or set a field; 0 or an errno (EINVAL unknown, EPERM read-only). */
int strqget(queue_t *q, qfields_t what, unsigned char band, void *val)
	USTR_SYM(strqget);
int strqset(queue_t *q, qfields_t what, unsigned char band, intptr_t val)
	USTR_SYM(strqset);

/* ---- queues: flow control --------------------------------------------- */

/*
 * May a message be put here?  Looks at the nearest queue from q on that has a
 * service procedure, else the last.  0 also promises a back-enable.
 */
int canput(queue_t *q) USTR_SYM(canput);
int bcanput(queue_t *q, unsigned char band) USTR_SYM(bcanput);
int canputnext(queue_t *q) USTR_SYM(canputnext);
int bcanputnext(queue_t *q, unsigned char band) USTR_SYM(bcanputnext);

/* ---- passing messages on ---------------------------------------------- */

void put(queue_t *q, mblk_t *mp) USTR_SYM(put);
void putnext(queue_t *q, mblk_t *mp) USTR_SYM(putnext);
void qreply(queue_t *q, mblk_t *mp) USTR_SYM(qreply);
/* Send a control message of a type (not M_DATA M_PROTO M_PCPROTO): 1 or 0. */
int putctl(queue_t *q, int type) USTR_SYM(putctl);
int putctl1(queue_t *q, int type, int p) USTR_SYM(putctl1);
int putctl2(queue_t *q, int type, int p1, int p2) USTR_SYM(putctl2);
int putnextctl(queue_t *q, int type) USTR_SYM(putnextctl);
int putnextctl1(queue_t *q, int type, int p) USTR_SYM(putnextctl1);
int putnextctl2(queue_t *q, int type, int p1, int p2) USTR_SYM(putnextctl2);

/* ---- service procedures ------------------------------------------------ */

void qenable(queue_t *q) USTR_SYM(qenable);
void noenable(queue_t *q) USTR_SYM(noenable);
void enableok(queue_t *q) USTR_SYM(enableok);
/* From an open routine: link the pair in.  From a close routine: out. */
void qprocson(queue_t *q) USTR_SYM(qprocson);
void qprocsoff(queue_t *q) USTR_SYM(qprocsoff);

#define SAMESTR(q) samestr(q)
/* Is the next queue of the same stream (not across a pipe's middle)? */
int samestr(queue_t *q) USTR_SYM(samestr);

#ifdef __cplusplus
}
#endif

#endif
