/* SPDX-License-Identifier: BSD-2-Clause */
/* link.c: the records of links: ids, circles, owners. */
#include "link.h"

#include <errno.h>
#include <limits.h>
#include <stropts.h>

/* ---- circles ------------------------------------------------------------------------ */

/*
 * Does one of the streams that lk sends from lie below up?  A persistent link
 * sends from all streams of its driver.
 */
static bool
above(const struct link *up, const struct link *lk)
{
	LOCK_HELD(&registry->rg_lock);
	if (lk->lk_persist)
		return up->lk_below == lk->lk_mux;
	return up->lk_lower == lk->lk_upper;
}

/* Is the stream below lk one of those that up sends from? */
static bool
closes(const struct link *up, const struct link *lk)
{
	if (up->lk_persist)
		return lk->lk_below == up->lk_mux;
	return up->lk_upper == lk->lk_lower;
}

/* Upwards from lk, which is not listed yet: does a link above it close a circle? */
static bool
circular(struct link *lk)
{
	struct link *todo = lk, *cur, *up;

	LOCK_HELD(&registry->rg_lock);
	if (closes(lk, lk))
		return true;
	for (up = registry->rg_links; up != NULL; up = up->lk_next)
		up->lk_seen = false;
	lk->lk_todo = NULL;
	while ((cur = todo) != NULL) {
		todo = cur->lk_todo;
		for (up = registry->rg_links; up != NULL; up = up->lk_next) {
			if (up->lk_seen || !above(up, cur))
				continue;
			if (closes(up, lk))
				return true;
			up->lk_seen = true;
			up->lk_todo = todo;
			todo = up;
		}
	}
	return false;
}

/* ---- the list -------------------------------------------------------------------------- */

static bool
linked(const struct stdata *sd)
{
	const struct link *lk = registry->rg_links;

	LOCK_HELD(&registry->rg_lock);
	while (lk != NULL && lk->lk_lower != sd)
		lk = lk->lk_next;
	return lk != NULL;
}

/* An id that no link has; they go round after two thousand million. */
static int
next_id(void)
{
	const struct link *lk;

	LOCK_HELD(&registry->rg_lock);
	do {
		registry->rg_linkid = registry->rg_linkid == INT_MAX ? 1 : registry->rg_linkid + 1;
		for (lk = registry->rg_links; lk != NULL; lk = lk->lk_next)
			if (lk->lk_id == registry->rg_linkid)
				break;
	} while (lk != NULL);
	return registry->rg_linkid;
}

int
link_make(struct link *lk)
{
	struct slot *me = slot_self();
	bool ok;

	if (me == NULL)
		return errno;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	ASSERT(lk->lk_owner == 0 && lk->lk_lower != NULL && lk->lk_upper != NULL);
	ok = !linked(lk->lk_lower) && !circular(lk);
	if (ok) {
		lk->lk_owner = me->sl_key;
		lk->lk_id = next_id();
		lk->lk_next = registry->rg_links;
		st_rel(&registry->rg_links, lk); /* whole: the linker may be killed here */
	}
	lock_leave(me, &registry->rg_lock);
	return ok ? 0 : EINVAL;
}

void
link_remove(struct link *lk)
{
	struct slot *me = slot_self();
	struct link **at = &registry->rg_links;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	ASSERT(lk->lk_owner == me->sl_key);
	while (*at != NULL && *at != lk)
		at = &(*at)->lk_next;
	ASSERT(*at == lk);
	st_rel(at, lk->lk_next);
	lock_leave(me, &registry->rg_lock);
}

bool
link_holds(const struct file *f)
{
	const struct link *lk = registry->rg_links;

	LOCK_HELD(&registry->rg_lock);
	while (lk != NULL && lk->lk_file != f)
		lk = lk->lk_next;
	return lk != NULL;
}

bool
link_of(const struct regent *re)
{
	const struct link *lk = registry->rg_links;

	LOCK_HELD(&registry->rg_lock);
	while (lk != NULL && lk->lk_mux != re)
		lk = lk->lk_next;
	return lk != NULL;
}

void
link_settle(struct link *lk)
{
	struct slot *me = slot_self();

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	ASSERT(lk->lk_owner == me->sl_key);
	if (lk->lk_persist)
		lk->lk_upper = NULL;
	lk->lk_owner = 0;
	lock_leave(me, &registry->rg_lock);
}

/* ---- owning ------------------------------------------------------------------------------ */

static bool
wanted(const struct link *lk, const struct stdata *sd, const struct regent *re,
	enum linkkind kind, int id)
{
	LOCK_HELD(&registry->rg_lock);
	if (id != MUXID_ALL && lk->lk_id != id)
		return false;
	if (kind == LINK_PERSIST)
		return lk->lk_persist && lk->lk_mux == re;
	return lk->lk_upper == sd && (kind == LINK_CLOSING || !lk->lk_persist);
}

struct link *
link_claim(struct stdata *sd, struct regent *re, enum linkkind kind, int id, bool *busy)
{
	struct slot *me = slot_self();
	struct link *lk;

	*busy = false;
	if (me == NULL)
		return NULL;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	for (lk = registry->rg_links; lk != NULL; lk = lk->lk_next) {
		if (!wanted(lk, sd, re, kind, id))
			continue;
		if (lk->lk_owner == 0 || slot_gone(lk->lk_owner))
			break;
		*busy = true;
	}
	if (lk != NULL) {
		ASSERT(lk->lk_upper == NULL || lk->lk_upper == sd || lk->lk_persist);
		lk->lk_owner = me->sl_key;
		lk->lk_upper = sd;
	}
	lock_leave(me, &registry->rg_lock);
	return lk;
}

struct link *
link_orphan(void)
{
	struct slot *me = slot_self();
	struct link *lk;

	if (me == NULL)
		return NULL;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	for (lk = registry->rg_links; lk != NULL; lk = lk->lk_next)
		if (lk->lk_owner != 0 && slot_gone(lk->lk_owner))
			break;
	if (lk != NULL)
		lk->lk_owner = me->sl_key;
	lock_leave(me, &registry->rg_lock);
	return lk;
}
