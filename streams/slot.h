/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slot.h: who takes part: one slot per thread, one per process.
 *
 * Level 1.  A thread that calls the library gets a slot in the arena, so that
 * other threads and processes can see where it is (its plumbing words), wake
 * it (its sleep word), tell whether it is alive, and name it as the owner of
 * a lock.  Slots are never unmapped: a stale slot number read from a lock or a
 * wait list names a slot that is free or somebody else's, and the worst it
 * causes is one wake-up too many.
 *
 *   slot:  | home | visiting | sleep | broad | state | proc | id | tid |  read by all
 *          | owner's words ...                                        |  owner only
 *          | robust mutex, held while the thread lives                |
 *          | magazines, two per class (cache.h)                       |  owner only
 *
 * Liveness.  The kernel walks a dying thread's robust list at exit, kill and
 * exec and sets the owner-died bit of sl_alive; one load tells.  A process is
 * dead when its record lock on the arena file is gone and no slot of it lives.
 *
 * Fork.  slot_proc lies in a page that the kernel wipes in the child of any
 * fork: a child made behind the library's back finds NULL there, never its
 * parent's slot, and its calls fail with EBADF.
 */
#ifndef STREAMS_SLOT_H
#define STREAMS_SLOT_H

#include "plat.h"

#include <pthread.h>

#define NSLOT 1024	/* thread slots; number 0 is nobody */
#define NPROC 256	/* process slots; number 0 is nobody */
#define PROC_DUE 64	/* free routines that may wait for a process */
#define PROC_SIGS 32	/* different signals that may wait for a process */
#define SLOT_SIGS 8	/* and for a thread of its own process */
#define NCLASS 17	/* magazine pairs per slot: the classes of cache.h */

struct mag;
struct group;
struct fdent;
struct perim;

/* A thread's two magazines of one class: empty this, then that. */
struct magpair {
	struct mag *mp_loaded;	/* O  never NULL */
	struct mag *mp_prev;	/* O  never NULL */
};

struct file;

/* A piece of the heap that nothing but this leads to (heap.h); NULL: none. */
struct heap_note {
	void *hn_mem;		/* A */
	size_t hn_size;		/* A  set before */
};

/*
 * A reference that no entry holds yet, one that no entry holds any more, and a file
 * in the middle of whose close that one is given up (file.c).
 */
enum { HAND_NEW, HAND_OLD, HAND_OUTER, HANDS };

/* So many modules and drivers a thread may be about at a time: an open that pushes needs two. */
#define USES 4

struct slot {
	/* Line 0: what others look at. */
	struct group *sl_home;	   /* A  group entered, NULL outside */
	struct group *sl_visiting; /* A  second group, while draining for it */
	uint32_t sl_sleep;	   /* A  futex: SLEEP_*, how it sleeps or is about to */
	uint32_t sl_broad;	   /* A  waits in a list that overflowed */
	uint32_t sl_state;	   /* A  SLOT_* */
	uint32_t sl_proc;	   /* C  number of the process slot */
	uint32_t sl_id;		   /* C  number of this slot */
	pid_t sl_tid;		   /* C  kernel's thread id */
	struct proc *sl_pslot;	   /* C  the process slot */
	uint32_t sl_key;	   /* A  what lock words hold: life and number */
	uint32_t sl_spare[3];

	/* Line 1: the owner's. */
	struct perim *sl_later;	/* O  perimeters to drain once outside */
	struct file *sl_file[HANDS]; /* O  files whose references this thread changes */
	uint64_t sl_filegen[HANDS]; /* O  their f_gen: the address may be used again */
	uint32_t sl_use[USES];	/* A  1 + number of a module in hand (registry.h), or 0 */
	struct heap_note sl_note; /* O  a recorder's ring on its way to the list, or from it */
	uint32_t sl_rings;	/* O  1: it may have made streams with rings that nothing leads to yet */
	int sl_fd;		/* O  descriptor of the last call, or -1 */
	uint32_t sl_after;	/* A  AFTER_*: what to do once outside */
	uint32_t sl_nheld;	/* O  locks held, debug level 2 */
	struct {
		const void *h_lock;
		uint32_t h_rank;
	} sl_held[8];		/* O  which ones */
	pthread_mutex_t sl_alive; /* C  robust, held for life */
	uint32_t sl_nsigs;	/* O  signals this thread has to raise */
	uint64_t sl_sig[SLOT_SIGS]; /* O  which (sigdue.h) */
	struct magpair sl_mag[NCLASS]; /* O */
} LINE_ALIGNED;

/* A claim says whose it is: his process may die before the slot lives. */
enum { SLOT_FREE, SLOT_CLAIMED, SLOT_LIVE };
#define SLOT_CLAIM(p) (SLOT_CLAIMED | (p)->pr_id << 8)

/* sl_after */
#define AFTER_PERIMS 0x01 /* perimeters to drain (sl_later) */
#define AFTER_EVENTS 0x02 /* own signals to raise, eventfds to set */
#define AFTER_OTHERS 0x04 /* signals that other processes left for this one */
#define AFTER_AGAIN 0x08  /* a handler was refused with EDEADLK */

/* sl_sleep: not at all; on that word; in poll(2), by a bell (bell.h). */
enum { SLEEP_NOT, SLEEP_FUTEX, SLEEP_POLL };

struct proc {
	uint32_t pr_state;	/* A  PROC_* */
	uint32_t pr_id;		/* C  number */
	pid_t pr_pid;		/* C  process id */
	uint32_t pr_lock;	/* A  guards changes of the descriptor table */
	uint32_t pr_helper;	/* A  the helper thread runs */
	int pr_arenafd;		/* A  its descriptor of the arena */
	uint32_t pr_bell;	/* A  futex of the helper: 1 when it has something to do */
	uint32_t pr_life;	/* A  how many processes the slot has been */
	uint32_t pr_fork;	/* A  FORK_* */
	uint32_t pr_keeper;	/* A  slot of who makes it (embryo) or buries it */
	struct fdent *pr_fd0;	/* C  descriptors 0..63 */
	struct fdent **pr_fd;	/* C  chunks of the others */
	uint64_t pr_due[PROC_DUE]; /* A  free routines that others left for it (msgext.c) */
	uint64_t pr_sig[PROC_SIGS]; /* A  signals they left for it (sigdue.h) */
	uint32_t pr_sigover;	/* A  those that found no room, by SIGDUE_* */
} LINE_ALIGNED;

/*
 * Who is LIVE is counted in sr_live, in its low half: before he is, and until after he
 * is FREE; never is it too low: who believes that he is alone keeps memory that others
 * cannot see.  Nobody counts himself off, or a death before or after that would be lost:
 *
 *   J1 who joins adds SLOT_JOINS + 1, then is LIVE, then recounts
 *   J2 who leaves, and who buries, makes the slot FREE, then recounts
 *   J3 recounting: the word is read, the slots that are not FREE are counted, and if they
 *      are fewer the word becomes that, unless somebody joined meanwhile: the high half
 *      says so
 *
 * invariant: J3 never lowers it too far: who is LIVE then had joined before the word was
 *   read, and his slot was not FREE from before that.  Too high it is until the next J3.
 */
#define SLOT_JOINS 0x10000u
#define SLOT_MEMBERS 0xffff
enum { PROC_FREE, PROC_EMBRYO, PROC_LIVE, PROC_DYING };

/*
 * pr_fork, of an embryo: who knows whether there is a child when its maker is gone?
 * Nobody; there is none yet; the kernel: maker and child keep a byte of the arena's
 * file locked (EMBRYO_BYTE) until the child lives.  Unknown of all that are no
 * embryo of a fork: who claims a slot has nothing to look at.
 */
enum { FORK_UNKNOWN, FORK_NOTYET, FORK_HELD };
#define EMBRYO_BYTE(p) ((off_t)(2 * NPROC + (p)->pr_id))

/* What all processes share about slots; lies in the arena. */
struct slot_root {
	uint32_t sr_top;	/* A  one more than the highest thread slot used */
	uint32_t sr_ptop;	/* A  the same for processes */
	uint32_t sr_live;	/* A  processes taking part, and joins: J1..J3; see slot_members */
	uint32_t sr_deaths;	/* A  deaths noticed */
	uint32_t sr_groups;	/* A  a process group was registered for signals */
	uint32_t sr_named;	/* C  1: others may join at any time */
	int64_t sr_looked;	/* A  when a helper last looked for the dead, ns */
	int64_t sr_coming;	/* A  when somebody last was about to join, ns */
	size_t sr_leaked;	/* A  bytes given up with threads that died in a call */
	char *sr_reserve;	/* A  memory set aside for slots */
	char *sr_reserve_end;	/* C */
	struct slot *sr_slot[NSLOT];	/* A */
	struct proc *sr_proc[NPROC];	/* A */
};

/* The wiped page: NULL before the first call and in a child made unseen. */
struct slot_wipe {
	struct proc *w_proc;
};

extern __thread struct slot *slot_tls;
extern struct slot_wipe *slot_wipe;
extern struct slot_root *slot_root;

/*
 * The one call upwards, defined in process.c: bring the library up if need be
 * and give this thread its slot; 0 or an errno.
 */
int process_attach(void);

/* The slow half of slot_self(): NULL and *error when there is none. */
struct slot *slot_attach(int *error);

/* This process's slot; NULL before the first call, after the exit, in an orphan. */
INLINE struct proc *
slot_proc(void)
{
	return ld_rlx(&slot_wipe->w_proc);
}

/* The calling thread's slot, made on first use; NULL with errno set. */
INLINE struct slot *
slot_self(void)
{
	struct slot *me = slot_tls;
	int error;

	if (likely(me != NULL && me->sl_pslot == slot_proc()))
		return me;
	return slot_attach(&error);
}

INLINE struct slot *
slot_at(uint32_t id)
{
	return id < NSLOT ? ld_acq(&slot_root->sr_slot[id]) : NULL;
}

INLINE struct proc *
slot_procat(uint32_t id)
{
	return id < NPROC ? ld_acq(&slot_root->sr_proc[id]) : NULL;
}

/*
 * A lock word names an owner by key: the slot's number in the low bits, above
 * it the count of the slot's lives, so that a lock whose owner died does not
 * seem to belong to the slot's next holder.  Bit 31 is free for the perimeter
 * word.
 */
#define SLOT_BITS 10
INLINE struct slot *
slot_of(uint32_t key)
{
	return slot_at(key & (NSLOT - 1));
}
/* Is the owner named key no more?  For who waits for it. */
bool slot_gone(uint32_t key);

/* Is the thread that holds this slot gone without having said good-bye? */
bool slot_dead(const struct slot *s);

/*
 * For who waits on s, once per nap: has its thread been stopped (SIGSTOP, a
 * debugger) for STOPPED_MS?  *since is 0 at first.
 */
#define STOPPED_MS 100
bool slot_stopped(const struct slot *s, int64_t *since);

/* Processes that take part. */
INLINE uint32_t
slot_members(void)
{
	return ld_rlx(&slot_root->sr_live) & SLOT_MEMBERS;
}
/* J1, the first step of it. */
void slot_joins(void);
/* J3. */
void slot_recount(void);

/* How many thread slots of p are held by the living, and by the dead. */
void proc_threads(const struct proc *p, int *live, int *dead);
/* Has p a thread alive, or none at all?  For who waits for it. */
bool proc_lives(const struct proc *p);

/* Wake the helper thread of process p, from any process. */
void proc_ring(struct proc *p);

/*
 * Claim a free thread slot for the calling thread of process p; alloc makes
 * memory for a new one.  0 or EAGAIN (all in use), ENOMEM.  Then furnish it, and
 * slot_live.
 *
 *   invariant: a slot in state SLOT_LIVE has its magazines: others look into them
 *   (cache_want, and who buries its thread).
 */
int slot_claim(struct proc *p, void *(*alloc)(size_t), struct slot **sp);
/*
 * The last one, which in an instance is kept free for who joins when all others are
 * taken by the dead; nobody else being there, it is free, or its thread is dead.
 */
int slot_claim_last(struct proc *p, void *(*alloc)(size_t), struct slot **sp);
/* It is furnished (cache_attach): others count on it from now on. */
void slot_live(struct slot *s);
/* How many slots of n there are for everybody. */
INLINE uint32_t
slot_most(uint32_t n)
{
	ASSERT(slot_root->sr_named <= 1);
	return n - slot_root->sr_named;
}
/* Give the calling thread's slot back. */
void slot_release(struct slot *s);
/*
 * Take a dead thread's slot (key as read before slot_dead): true for one of
 * those who try.  He then gives it free with slot_bury.
 */
bool slot_takedead(struct slot *s, uint32_t key);
void slot_bury(struct slot *s);
/* Give s free if the dead process p was just claiming it. */
void slot_unclaim(struct slot *s, const struct proc *p);

#endif
