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
 *            ┌──registry_rele, the last use; nobody has the code──────────┐
 *   FREE ──reg──► MODULE, DRIVER ──the last that has it goes, in use──► ORPHAN
 *    ▲              │                                                      │
 *    └─ustr_unregister, registry_forget (not in use)──registry_rele, last──┘
 *
 * A module is found by its name until nobody has its code.  Its queues go on
 * naming the entry, which is an orphan then; a program that registers the name
 * anew gets another entry, and never runs what was left by other code.
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
	uint32_t re_uses;	/* R  instances pushed or open */
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
	uint32_t rg_orphaned;	/* A  times an entry became an orphan */
	uint32_t rg_hungup;	/* A  the same, as of when their streams were last hung up */
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
 * The entry of a name (up to n bytes of it), one use counted, or NULL.
 * registry_rele gives the use back.
 */
struct regent *registry_hold(const char *name, size_t n, uint32_t kind);
void registry_rele(struct regent *re);
/* The entry that a module's or driver's queue was made from. */
struct regent *registry_of(const queue_t *q);
/* One use more of an entry that is in use. */
void registry_keep(struct regent *re);
bool registry_known(const char *name);
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
