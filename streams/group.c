/* SPDX-License-Identifier: BSD-2-Clause */
/* group.c: cells, who is in them, and merging; the labels are those of group.h. */
#include "group.h"
#include "heap.h"

/* ---- deaths ---------------------------------------------------------------------- */

void
group_suspect(struct group *g, bool relinking)
{
	uintptr_t flags = (relinking ? SUSPECT_LINKS : 0) | SUSPECT_AGAIN;

	ASSERT(g != NULL && suspected((uintptr_t)g) == g); /* the flags' bits are free */
	(void)xchg(&plumb_root->pl_suspects, 1u);
	for (int i = 0; i < NSUSPECT; i++) {
		uintptr_t there = ld_seq(&plumb_root->pl_suspect[i]);

		/* A sweep that is just over empties the entry: then it is filled anew. */
		while (there == 0 || suspected(there) == g)
			if (cas(&plumb_root->pl_suspect[i], &there, there | (uintptr_t)g | flags))
				return;
	}
}

/* Whoever is born in g's next life has nothing to do with it. */
static void
clear_suspicion(struct group *g)
{
	LOCK_HELD(&plumb_root->pl_lock);
	if (ld_seq(&plumb_root->pl_suspects) == 0)
		return; /* nobody ever died inside a group */
	for (int i = 0; i < NSUSPECT; i++) {
		uintptr_t entry = ld_seq(&plumb_root->pl_suspect[i]);

		while (entry != 0 && suspected(entry) == g)
			if (cas(&plumb_root->pl_suspect[i], &entry, (uintptr_t)0))
				break;
	}
}

/* ---- cells ----------------------------------------------------------------------- */

/* Is g held by a writer who will leave it some time?  A dead one is taken over. */
static bool
is_held(const struct group *g)
{
	uint32_t writer = ld_seq(&g->g_plumber);

	return writer != 0 && !slot_gone(writer);
}

/* Off the free list: one that no late writer holds, who would be waited for. */
static struct group *
unused_cell(void)
{
	struct group **link = &plumb_root->pl_free, *g;

	LOCK_HELD(&plumb_root->pl_lock);
	while ((g = *link) != NULL && is_held(g))
		link = &g->g_next;
	IMPLY(g != NULL, g->g_refs == 0 && g->g_heads == NULL);
	if (g != NULL)
		*link = g->g_next;
	return g;
}

/* A cell that never was, listed. */
static struct group *
make(void)
{
	struct group *g = heap_zalloc(sizeof(*g)), *first = ld_acq(&plumb_root->pl_all);

	if (g == NULL)
		return NULL;
	do
		g->g_all = first;
	while (!cas(&plumb_root->pl_all, &first, g));
	return g;
}

struct group *
group_alloc(void)
{
	struct slot *me = slot_self();
	struct group *g;

	if (me == NULL)
		return NULL;
	lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
	g = unused_cell();
	lock_leave(me, &plumb_root->pl_lock);
	if (g == NULL)
		g = make();
	if (g == NULL)
		return NULL;
	ASSERT(g->g_heads == NULL && g->g_parent == NULL);
	ASSERT(g->g_refs == 0 && !runq_pending(&g->g_run));
	g->g_next = NULL;
	g->g_refs = 1;
	return g;
}

/*
 * g's streams are gone, and what somebody left in them.  A writer that came by a
 * stale pointer keeps it (invariant 4); merged is over before there is no parent,
 * see group_root().
 */
static void
retire(struct group *g)
{
	uint32_t merged = GROUP_MERGED;

	ASSERT(g->g_heads == NULL && !runq_pending(&g->g_run));
	EQUIV(g->g_parent != NULL, ld_rlx(&g->g_plumber) == GROUP_MERGED);
	clear_suspicion(g);
	(void)cas(&g->g_plumber, &merged, 0u);
	st_rel(&g->g_parent, NULL);
	g->g_next = plumb_root->pl_free;
	plumb_root->pl_free = g;
}

/* One reference less, along the cells above as far as they go too. */
static void
drop(struct group *g)
{
	LOCK_HELD(&plumb_root->pl_lock);
	while (g != NULL) {
		struct group *parent = g->g_parent;

		ASSERT(g->g_refs > 0);
		if (--g->g_refs > 0)
			return;
		retire(g);
		g = parent;
	}
}

void
group_rele(struct group *g)
{
	struct slot *me = slot_self();

	if (me == NULL)
		return;
	lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
	drop(g);
	lock_leave(me, &plumb_root->pl_lock);
}

struct group *
group_join(struct group *g, queue_t *hrq)
{
	struct slot *me = slot_self();

	ASSERT(hrq->q_kind & QK_HEADR);
	lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
	g = group_root(g);
	ASSERT(g->g_refs > 0 && hrq->q_gnext == NULL);
	ASSERT(OTHERQ(hrq)->q_next->q_kind & QK_DEADEND);
	g->g_refs++;
	hrq->q_gnext = g->g_heads;
	st_rel(&hrq->q_runq, &g->g_run);
	st_rel(&OTHERQ(hrq)->q_runq, &g->g_run);
	CRASH_POINT();
	st_rel(&g->g_heads, hrq); /* whole: who is killed here is swept with the others */
	CRASH_POINT();
	lock_leave(me, &plumb_root->pl_lock);
	return g;
}

void
group_part(struct group *cell, queue_t *hrq)
{
	struct slot *me = slot_self();
	queue_t **link;

	if (me == NULL)
		return;
	lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
	ASSERT(group_root(cell) == plumb_group(hrq)); /* invariant 1 */
	link = &plumb_group(hrq)->g_heads;
	while (*link != NULL && *link != hrq)
		link = &(*link)->q_gnext;
	ASSERT(*link == hrq);
	ASSERT(!(OTHERQ(hrq)->q_flag & QENAB)); /* on no run list */
	*link = hrq->q_gnext;
	hrq->q_gnext = NULL;
	drop(cell);
	lock_leave(me, &plumb_root->pl_lock);
}

/* ---- merging --------------------------------------------------------------------- */

/* Every queue of the stream of head hrq names g from now on. */
static void
relabel(queue_t *hrq, struct group *g)
{
	struct stdata *sd = hrq->q_stream;

	LOCK_HELD(&plumb_root->pl_lock);
	for (queue_t *q = OTHERQ(hrq); q != NULL && q->q_stream == sd; q = q->q_next) {
		st_rel(&q->q_runq, &g->g_run);
		CRASH_POINT();
		st_rel(&OTHERQ(q)->q_runq, &g->g_run);
	}
}

/* R2..R5, for the first time or again: nothing is looked at that they change. */
static void
move_noted(struct merging *m)
{
	queue_t *hrq = m->mg_last != NULL ? m->mg_first : NULL;

	LOCK_HELD(&plumb_root->pl_lock);
	for (; hrq != NULL; hrq = hrq != m->mg_last ? hrq->q_gnext : NULL) {
		relabel(hrq, m->mg_into); /* R2 */
		CRASH_POINT();
	}
	if (m->mg_last != NULL) { /* R3 */
		st_rel(&m->mg_last->q_gnext, m->mg_rest);
		CRASH_POINT();
		st_rel(&m->mg_into->g_heads, m->mg_first);
		CRASH_POINT();
	}
	st_rel(&m->mg_from->g_heads, NULL);
	CRASH_POINT();
	st_rel(&m->mg_into->g_refs, m->mg_refs); /* R4 */
	CRASH_POINT();
	(void)xchg(&m->mg_from->g_plumber, GROUP_MERGED);
	CRASH_POINT();
	st_rel(&m->mg_from, NULL); /* R5 */
}

void
group_salvage(void)
{
	struct merging *m = &plumb_root->pl_merge;

	if (m->mg_from != NULL)
		move_noted(m);
}

/* M3, unless somebody has done it who broke the dead one's lock. */
static void
move_streams(struct slot *me, struct group *from, struct group *into)
{
	struct merging *m = &plumb_root->pl_merge;
	queue_t *last = NULL;

	ASSERT(ld_acq(&from->g_parent) == into && ld_acq(&into->g_absorbs) == from); /* M2 */
	lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
	ASSERT(m->mg_from == NULL);
	if (ld_seq(&from->g_plumber) != GROUP_MERGED) {
		for (queue_t *hrq = from->g_heads; hrq != NULL; hrq = hrq->q_gnext)
			last = hrq;
		m->mg_into = into;
		m->mg_first = from->g_heads;
		m->mg_last = last;
		m->mg_rest = into->g_heads;
		m->mg_refs = into->g_refs + 1;
		CRASH_POINT();
		st_rel(&m->mg_from, from); /* R1 */
		CRASH_POINT();
		move_noted(m);
	}
	lock_leave(me, &plumb_root->pl_lock);
}

void
group_finish(struct slot *me, struct group *g)
{
	struct group *from = ld_acq(&g->g_absorbs);

	ASSERT(ld_rlx(&g->g_plumber) == me->sl_key);
	if (from == NULL)
		return;
	move_streams(me, from, g);
	CRASH_POINT();
	runq_move(me, &from->g_run, &g->g_run); /* M4 */
	CRASH_POINT();
	st_rel(&g->g_absorbs, NULL);
	CRASH_POINT();
}

void
group_merge(struct slot *me, struct group *from, struct group *into)
{
	ASSERT(from != into && from->g_absorbs == NULL && into->g_absorbs == NULL);
	ASSERT(ld_rlx(&from->g_plumber) == me->sl_key);
	CRASH_POINT();
	st_rel(&from->g_parent, into); /* M2 */
	CRASH_POINT();
	st_rel(&into->g_absorbs, from);
	CRASH_POINT();
	group_finish(me, into);
	ASSERT(group_root(from) == into);
}
