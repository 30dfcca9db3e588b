/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.h: which modules and drivers there are.
 *
 * Level 9.  An entry lies in the arena and holds what all processes need: the
 * name, arena copies of the tables (procedures NULL), the perimeter of
 * D_MTPERMOD, the group and open minors of a driver.  The procedures stand in
 * each process's put_procs[], at the entry's index.
 */
#ifndef STREAMS_REGISTRY_H
#define STREAMS_REGISTRY_H

#include "perim.h"
#include "plumb.h"

#include <ustreams.h>

#define NREG 256

struct stdata;
struct link;
struct autopush;

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
};

enum { REG_FREE, REG_MODULE, REG_DRIVER };

struct registry {
	uint32_t rg_lock;	/* A */
	uint32_t rg_n;		/* R  entries ever used */
	uid_t rg_creator;	/* C  effective user who made the instance */
	struct autopush *rg_autopush; /* R  what is pushed at open: autopush.c */
	struct link *rg_links;	/* R  streams linked below multiplexors: link.c */
	int rg_linkid;		/* R  the last id given */
	uint32_t rg_linker;	/* A  slot of who merges groups: one at a time */
	struct regent rg_ent[NREG]; /* R */
};

extern struct registry *registry;

/* In-tree modules and drivers: conf.c. */
struct conf {
	const char *cf_name;
	struct streamtab *cf_tab;
	int cf_flags;
	bool cf_driver;
};
extern const struct conf conf_table[];

int registry_init(void);
/* The same for who joins: the procedures of what comes with the library. */
void registry_find(void);
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
/* Perimeters for a new pair as re's flags ask: 0 or ENOSR; and away again. */
int registry_perims(struct regent *re, queue_t *rq);
void registry_unperims(struct regent *re, queue_t *rq);

#endif
