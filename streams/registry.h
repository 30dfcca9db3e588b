/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.h: which modules and drivers there are.
 *
 * Level 9.  An entry lies in the arena and holds what all processes need: the
 * name, arena copies of the tables (procedures NULL), the perimeter of
 * D_MTPERMOD, the group and open minors of a driver.  The procedures stand in
 * each process's put_procs[], at the entry's index; which processes have them,
 * errand.h knows.
 *
 *   FREE ──reg──► MODULE, DRIVER ──the last that has the code goes──► ORPHAN
 *    ▲              │                                                    │
 *    └──────────────┴─ustr_unregister, registry_sweep: it is not used────┘
 *
 * A module is found by its name until nobody has its code.  Its queues go on
 * naming the entry, which is an orphan then; a program that registers the name
 * anew gets another entry, and never runs what was left by other code.
 *
 * Nobody counts uses: a count is wrong for ever if who took a use is killed before
 * he counts it, or the reverse.  What uses an entry is found by looking (uses.c) when
 * somebody wants it away, which is seldom.  An entry is in use if
 *
 *   U1 a thread has it in hand (sl_use): who opens or pushes, until U2 or U3 holds;
 *      who takes a pair out, from before it is out; until it is buried, if it is killed
 *   U2 a queue of a stream was made from it, or its stream is a FIFO of it
 *   U3 a stream is on its list re_open
 *   U4 a link is listed as its (lk_mux)
 *
 * invariant 1: whoever names an entry outside rg_lock can point to one of U1..U4, and
 *   from one to the next there is a time when both hold.
 * invariant 2: once it is found by name (registry_hold, which counts in re_taken) a use
 *   goes U1, then U2..U4, then U1, then it is over; never back.  So who looks at U1,
 *   U2, U1, and at U3 and U4 under rg_lock, meets it unless it is over, or re_taken has
 *   changed.
 */
#ifndef STREAMS_REGISTRY_H
#define STREAMS_REGISTRY_H

#include "errand.h"
#include "perim.h"
#include "plumb.h"

#include <ustreams.h>

#define NREG 256

struct stdata;
struct link;
struct autopush;
struct keeps;

struct regent {
	char re_name[FMNAMESZ + 1]; /* C */
	uint32_t re_kind;	/* A  REG_FREE, REG_MODULE, REG_DRIVER */
	uint32_t re_flags;	/* C  D_* | USTR_INDEPENDENT */
	uint32_t re_major;	/* C  its number */
	uint32_t re_taken;	/* R  times it was found by name, made or emptied: never back */
	uint32_t re_minor;	/* R  last minor allotted by a clone open */
	struct queue_tables re_tables; /* C */
	struct queue_tables re_lower; /* C  of a multiplexor's lower side; qt_rd NULL: none */
	struct perim *re_perim;	/* C  of D_MTPERMOD, else NULL */
	void *re_state;		/* M  ustr_modstate() */
	struct group *re_group;	/* C  of a driver that is not independent */
	struct stdata *re_open;	/* R  its open streams, along sd_nextopen */
	bool re_intree;		/* C  comes with the library: everybody has the code */
	bool re_shy;		/* C  somebody may lack it: a perimeter in any case */
};

enum { REG_FREE, REG_MODULE, REG_DRIVER, REG_ORPHAN };

struct registry {
	uint32_t rg_lock;	/* A */
	uint32_t rg_n;		/* R  entries ever used */
	uid_t rg_creator;	/* C  effective user who made the instance */
	struct autopush *rg_autopush; /* R  what is pushed at open: autopush.c */
	struct link *rg_links;	/* R  streams linked below multiplexors: link.c */
	int rg_linkid;		/* R  the last id given */
	uint32_t rg_linker;	/* A  slot of who merges groups: one at a time */
	uint32_t rg_orphaned;	/* A  times an entry became an orphan, or an orphan's use ended */
	uint32_t rg_hungup;	/* A  the same, as of when orphans were last looked after */
	struct regent rg_ent[NREG]; /* R */
};

extern struct registry *registry;

/* In-tree modules and drivers: conf.c. */
struct conf {
	const char *cf_name;
	struct streamtab *cf_tab;
	int cf_flags;
	bool cf_driver;
	const struct keeps *cf_keeps; /* of a module with pointers in shared memory, or NULL */
};
extern const struct conf conf_table[];

int registry_init(void);
/* The same for who joins: the procedures of what comes with the library. */
void registry_find(void);
/* Do its entries look like entries? */
bool registry_sound(void);
/* For who judges the arena: claims what they have. */
bool registry_claim(void);
int registry_join(void);
/*
 * The entry of a name (up to n bytes of it), in hand until registry_rele, or NULL.
 */
struct regent *registry_hold(const char *name, size_t n, uint32_t kind);
void registry_rele(struct slot *me, struct regent *re);
/* One that is in use is in hand as well. */
void registry_hand(struct slot *me, struct regent *re);
/* A use of re other than in hand is over: of an orphan it may have been the last. */
void registry_over(struct regent *re);
/* The entry that a module's or driver's queue was made from. */
struct regent *registry_of(const queue_t *q);
bool registry_known(const char *name);
/* The number of the driver of that name, or -1. */
int registry_major(const char *name);
/*
 * This process wants to have name no longer: 0, its entry and *taken, ENOENT or EBUSY.
 * Then U1 and U2 are looked at; registry_part does it, or says EBUSY, or EAGAIN: it
 * was found by name meanwhile, or is another's.
 */
int registry_leave(struct slot *me, const char *name, struct regent **rep, uint32_t *taken);
int registry_part(struct slot *me, struct regent *re, uint32_t taken);
/* taken[i] of orphan i, 0 for others; then away with those that are not used. */
void registry_orphans(struct slot *me, uint32_t taken[NREG]);
void registry_sweep(struct slot *me, const bool used[NREG], const uint32_t taken[NREG]);
/* The process ends, or is buried: what only it had is an orphan, or forgotten. */
void registry_forget(const struct proc *p);
/* The child of a fork will have the code that its parent has. */
void registry_inherit(const struct proc *parent, const struct proc *child);
/* Has this process code that others may lack? */
bool registry_owns(void);
/* Is q's module an orphan? */
INLINE bool
registry_orphan(const queue_t *q)
{
	uint32_t n = code_of(q->q_procs);

	return n < NREG && ld_acq(&registry->rg_ent[n].re_kind) == REG_ORPHAN;
}
/* Perimeters for a new pair as re's flags ask: 0 or ENOSR; and away again. */
int registry_perims(struct regent *re, queue_t *rq);
void registry_unperims(struct regent *re, queue_t *rq);

#endif
