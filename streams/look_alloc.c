/* SPDX-License-Identifier: BSD-2-Clause */
/* look_alloc.c: caches and heap of a picture: what is made, free, in use; see look.h. */
#include "look.h"
#include "cache.h"
#include "heap.h"
#include "msg.h"
#include "queue.h"

#include <stdio.h>
#include <stdlib.h>

#define MANY 65536 /* magazines and loose objects that are looked at one by one */

/* Objects in the magazine at m; what is read from it is at most what it may hold. */
static size_t
magazine(struct looking *l, const struct mag *m, uint64_t *next)
{
	struct mag head;

	if (!look_copy(l->l_lk, m, LINE, &head, offsetof(struct mag, m_obj))) {
		look_odd(l);
		return 0;
	}
	if (next != NULL)
		*next = head.m_next;
	return head.m_n <= MAG_MAX ? head.m_n : 0;
}

static const struct mag *
by_line(const struct looking *l, depot_t ref)
{
	uintptr_t line = ref & UINT32_MAX;

	return line == 0 ? NULL : (const struct mag *)(l->l_lk->lk_base + line * LINE);
}

static size_t
in_depot(struct looking *l, depot_t full)
{
	const struct mag *m = by_line(l, full);
	struct walk w = { 0 };
	size_t n = 0, steps = 0;

	while (m != NULL && steps++ < MANY && walk_on(&w, m)) {
		uint64_t next = 0;

		n += magazine(l, m, &next);
		m = by_line(l, next);
	}
	return n;
}

static size_t
in_slots(struct looking *l, unsigned int id)
{
	size_t n = 0;

	for (size_t i = 0; i < l->l_thread.v_n; i++) {
		const struct magpair *mp = &((struct slot *)vec_at(&l->l_thread, i))->sl_mag[id];
		const struct mag *null = &((const struct cache_root *)look_root(l->l_lk, ROOT_CACHE))->cr_null;

		if (mp->mp_loaded != null)
			n += magazine(l, mp->mp_loaded, NULL);
		if (mp->mp_prev != null && mp->mp_prev != mp->mp_loaded)
			n += magazine(l, mp->mp_prev, NULL);
	}
	return n;
}

static size_t
loose(struct looking *l, const void *at)
{
	struct walk w = { 0 };
	size_t n = 0;

	while (at != NULL && n < MANY && walk_on(&w, at) &&
	    look_copy(l->l_lk, at, LINE, &at, sizeof(at)))
		n++;
	return n;
}

static void
cache(struct looking *l, unsigned int id, const struct cache *c)
{
	struct ustr_view_class *vc = vec_add(&l->l_class);

	if (vc == NULL) {
		l->l_nomem = true;
		return;
	}
	if (id == CLASS_PAIR || id == CLASS_HEAD)
		snprintf(vc->vc_name, sizeof(vc->vc_name), id == CLASS_PAIR ? "queue pair" : "stream head");
	else if (id == 0)
		snprintf(vc->vc_name, sizeof(vc->vc_name), "header");
	else
		snprintf(vc->vc_name, sizeof(vc->vc_name), "block %zu",
			id == 1 ? (size_t)FASTBUF : (size_t)64 << id);
	vc->vc_object = c->c_size;
	vc->vc_magazine = c->c_magcap;
	vc->vc_made = c->c_made;
	vc->vc_cached = in_slots(l, id) + in_depot(l, c->c_full) + loose(l, c->c_loose);
	/* Read while all goes on: an object may be met twice, or not at all. */
	if (vc->vc_cached > vc->vc_made)
		vc->vc_cached = vc->vc_made;
	vc->vc_inuse = vc->vc_made - vc->vc_cached;
	vc->vc_trips = c->c_trips;
	vc->vc_hits = c->c_magcap > 0 ? c->c_trips * (c->c_magcap - 1) : 0;
	vc->vc_failures = c->c_failures;
}

static void
caches(struct looking *l)
{
	struct cache_root *root = malloc(sizeof(*root));

	if (root == NULL)
		l->l_nomem = true;
	else if (!look_copy(l->l_lk, look_root(l->l_lk, ROOT_CACHE), LINE, root, sizeof(*root)))
		look_odd(l);
	else
		for (unsigned int id = 0; id < NCLASS; id++)
			if (root->cr_cache[id].c_size != 0 && root->cr_cache[id].c_magcap <= MAG_MAX)
				cache(l, id, &root->cr_cache[id]);
	free(root);
}

static void
heap(struct looking *l)
{
	const struct heap_class *at = look_root(l->l_lk, ROOT_HEAP);
	struct ustr_view_heap *vh;
	struct heap_class hc;

	for (int i = 0; i < NHEAP; i++) {
		if (!look_copy(l->l_lk, at + i, LINE, &hc, sizeof(hc))) {
			look_odd(l);
			return;
		}
		if (hc.hc_inuse == 0)
			continue;
		if ((vh = vec_add(&l->l_heap)) == NULL) {
			l->l_nomem = true;
			return;
		}
		vh->vh_object = hc.hc_size;
		vh->vh_inuse = hc.hc_inuse;
	}
}

void
look_alloc(struct looking *l)
{
	caches(l);
	heap(l);
}
