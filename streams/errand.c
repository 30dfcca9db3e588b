/* SPDX-License-Identifier: BSD-2-Clause */
/* errand.c: whose code it is, and errands; the labels are those of errand.h. */
#include "errand.h"
#include "arena.h"
#include "claim.h"
#include "perim.h"
#include "plumb.h"

#include <errno.h>

#define MODULES (NPROCS / 4) /* as many as there are procedures for */
#define WORDS (NPROC / 32)
#define NERRAND 64	/* groups that may be noted; more: all are looked at */
#define AGAIN 1		/* in an entry: noted once more since it was last looked at */
#define KICKS 16	/* perimeters of one look at a group */
#define LOOKS 64	/* looks before the others are to have a turn */

struct errand_root {
	uint32_t er_have[MODULES][WORDS]; /* A  bits of process slots */
	uintptr_t er_group[NERRAND];	  /* A  groups with work for others */
	uint32_t er_all;		  /* A  there was no entry left */
};

static struct errand_root *root;

int
errand_init(void)
{
	root = arena_root_make(ROOT_ERRAND, sizeof(*root));
	return root == NULL ? ENOMEM : 0;
}

void
errand_join(void)
{
	root = arena_root(ROOT_ERRAND);
}

/* ---- who has what ------------------------------------------------------------- */

void
code_set(uint32_t module, const struct proc *p, bool has)
{
	uint32_t *word = &root->er_have[module][p->pr_id / 32], bit = 1u << p->pr_id % 32;

	ASSERT(module < MODULES && p->pr_id > 0 && p->pr_id < NPROC);
	if (has)
		(void)f_or(word, bit);
	else
		(void)f_and(word, ~bit);
}

void
code_setall(uint32_t module, bool has)
{
	ASSERT(module < MODULES);
	for (int i = 0; i < WORDS; i++)
		st_rel(&root->er_have[module][i], has ? UINT32_MAX : 0u);
}

bool
code_has(uint32_t module, const struct proc *p)
{
	ASSERT(module < MODULES && p->pr_id > 0 && p->pr_id < NPROC);
	return (ld_acq(&root->er_have[module][p->pr_id / 32]) & 1u << p->pr_id % 32) != 0;
}

bool
code_lives(uint32_t module)
{
	ASSERT(module < MODULES);
	for (int i = 0; i < WORDS; i++)
		if (ld_acq(&root->er_have[module][i]) != 0)
			return true;
	return false;
}

void
code_ring(uint32_t module)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop);

	for (uint32_t i = 1; i < top; i++) {
		struct proc *p = slot_procat(i);

		if (p != NULL && p != slot_proc() && ld_acq(&p->pr_state) == PROC_LIVE &&
		    code_has(module, p))
			proc_ring(p);
	}
}

/* ---- leaving ---------------------------------------------------------------------- */

static void
note(struct group *g)
{
	ASSERT(g != NULL && ((uintptr_t)g & AGAIN) == 0); /* the bit is free */
	for (int i = 0; i < NERRAND; i++) {
		uintptr_t there = ld_seq(&root->er_group[i]);

		while (there == 0 || (there & ~(uintptr_t)AGAIN) == (uintptr_t)g)
			if (cas(&root->er_group[i], &there, (uintptr_t)g | AGAIN))
				return;
	}
	(void)xchg(&root->er_all, 1u);
}

void
errand_leave(struct group *g, uint32_t procs)
{
	ASSERT(procs >= 2 && procs < NPROCS); /* not the dead end's: everybody has that */
	NO_LOCK_HELD();
	note(g);
	JITTER();
	code_ring(code_of(procs));
}

/* ---- running ------------------------------------------------------------------------ */

struct look {
	struct perim *lk_perim[KICKS]; /* with work for this process */
	int lk_n;
	bool lk_others; /* there is work for others */
};

static void
look_at(struct look *lk, const queue_t *q)
{
	struct perim *p = q->q_perim;

	LOCK_HELD(&plumb_root->pl_lock);
	if (p == NULL || !(ld_seq(&q->q_pflag) & QP_LISTED))
		return;
	if (!code_here(q)) {
		lk->lk_others = true;
		return;
	}
	for (int i = 0; i < lk->lk_n; i++)
		if (lk->lk_perim[i] == p)
			return;
	if (lk->lk_n < KICKS)
		lk->lk_perim[lk->lk_n++] = p;
}

/* Inside g: what waits on its streams' queues. */
static void
look_around(struct slot *me, struct group *g, struct look *lk)
{
	*lk = (struct look){ .lk_n = 0 };
	lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
	for (queue_t *hrq = g->g_heads; hrq != NULL; hrq = hrq->q_gnext)
		for (queue_t *q = OTHERQ(hrq); q != NULL && q->q_stream == hrq->q_stream;
		     q = q->q_next) {
			look_at(lk, q);
			look_at(lk, OTHERQ(q));
		}
	lock_leave(me, &plumb_root->pl_lock);
}

/*
 * N5.  The queues, and so their perimeters, stay while the group is named.  True:
 * nothing is left, for anybody.
 */
static bool
run_group(struct slot *me, struct group *g)
{
	struct look lk;
	bool ran = false;

	plumb_into(me, g);
	for (int i = 0; i < LOOKS; i++) {
		look_around(me, ld_rlx(&me->sl_home), &lk);
		if (lk.lk_n == 0)
			break;
		ran = true;
		for (int k = 0; k < lk.lk_n; k++)
			perim_kick(me, lk.lk_perim[k]);
		plat_yield(); /* a perimeter that is held, its holder runs */
	}
	ASSERT(lk.lk_n <= KICKS);
	if (ran)
		plumb_exit(me);
	else
		plumb_looked(me);
	return lk.lk_n == 0 && !lk.lk_others;
}

void
errand_run(struct slot *me)
{
	for (int i = 0; i < NERRAND; i++) {
		uintptr_t entry;

		if (ld_seq(&root->er_group[i]) == 0)
			continue;
		entry = f_and(&root->er_group[i], ~(uintptr_t)AGAIN) & ~(uintptr_t)AGAIN; /* N4 */
		if (entry != 0 && run_group(me, (struct group *)entry))
			(void)cas(&root->er_group[i], &entry, (uintptr_t)0); /* N6 */
	}
	if (ld_seq(&root->er_all) == 0 || xchg(&root->er_all, 0u) == 0)
		return;
	for (struct group *g = ld_acq(&plumb_root->pl_all); g != NULL; g = g->g_all)
		if (ld_acq(&g->g_heads) != NULL && !run_group(me, g))
			note(g);
}

bool
errand_sound(bool (*group)(const struct group *))
{
	if (!claim_take(root, sizeof(*root), CL_TABLE))
		return false;
	for (int i = 0; i < NERRAND; i++)
		if (!group((const struct group *)(ld_rlx(&root->er_group[i]) & ~(uintptr_t)AGAIN)))
			return false;
	return true;
}
