/* SPDX-License-Identifier: BSD-2-Clause */
/* cache.c: depot exchange and growth of the caches of cache.h. */
#include "cache.h"
#include "arena.h"
#include "claim.h"
#include "heap.h"
#include "lock.h"
#include "wait.h"

#include <errno.h>
#include <string.h>

#define SLAB_MIN 65536
#define SLAB_MOST ((size_t)64 << 20) /* more than any class has */
#define REF_BITS 32 /* line numbers: enough for 256 GiB */

struct cache_root *cache_root;

/* Most objects of a magazine; read when classes are set up, never later. */
static uint32_t magmax = MAG_MAX;

/* Constructors are code: each process has its own pointers. */
static void (*constructor[NCLASS])(void *);

_Static_assert(sizeof(struct mag) <= 320, "a magazine fits heap class 320");
_Static_assert(offsetof(struct cache, c_lock) % LINE == 0, "growth apart from the depot");

/* ---- the depot's lists ------------------------------------------------------ */

static struct mag *
depot_mag(depot_t ref)
{
	uint64_t line = ref & (((uint64_t)1 << REF_BITS) - 1);

	return line == 0 ? NULL : (struct mag *)((char *)arena + line * LINE);
}

static depot_t
depot_ref(const struct mag *m, depot_t old)
{
	uint64_t line = m == NULL ? 0 : (uint64_t)((const char *)m - (char *)arena) / LINE;

	ASSERT(line >> REF_BITS == 0 && (uintptr_t)m % LINE == 0);
	return ((old >> REF_BITS) + 1) << REF_BITS | line;
}

static void
depot_push(depot_t *list, struct mag *m)
{
	depot_t old = ld_rlx(list);

	ASSERT(m != &cache_root->cr_null);
	ASSERT(m->m_n <= MAG_MAX);
	do
		st_rlx(&m->m_next, old);
	while (!cas(list, &old, depot_ref(m, old)));
}

static struct mag *
depot_pop(depot_t *list)
{
	depot_t old = ld_acq(list);
	struct mag *m, *next;

	do {
		m = depot_mag(old);
		if (m == NULL)
			return NULL;
		ASSERT(arena_backed(m, sizeof(*m)));
		next = depot_mag(ld_rlx(&m->m_next)); /* invariant 3 */
	} while (!cas(list, &old, depot_ref(next, old)));
	return m;
}

/* ---- growth ------------------------------------------------------------------ */

static bool
slab_grow(struct cache *c)
{
	size_t n = c->c_slabsize;
	char *p = arena_carve(n, LINE);

	LOCK_HELD(&c->c_lock);
	ASSERT(c->c_size > 0 && c->c_slabsize % c->c_size == 0);
	if (p == NULL)
		p = arena_carve(n = c->c_size, LINE);
	if (p == NULL)
		p = heap_alloc(n); /* which may have larger objects to cut up */
	if (p == NULL)
		return false;
	plat_populate(p, n);
	c->c_slab = p;
	c->c_slabend = p + n;
	return true;
}

/* Cut up to want objects into obj[]: how many. */
static uint32_t
slab_cut(struct slot *me, struct cache *c, void **obj, uint32_t want)
{
	uint32_t n = 0;

	ASSERT(want > 0 && want <= MAG_MAX && constructor[c->c_id] != NULL);
	lock_enter(me, &c->c_lock, RANK_CACHE);
	EQUIV(c->c_slab == NULL, c->c_slabend == NULL);
	ASSERT(c->c_slab <= c->c_slabend);
	while (n < want && c->c_loose != NULL) {
		obj[n++] = c->c_loose;
		c->c_loose = *(void **)c->c_loose;
	}
	while (n < want) {
		if ((size_t)(c->c_slabend - c->c_slab) < c->c_size && (n > 0 || !slab_grow(c)))
			break;
		obj[n++] = c->c_slab;
		c->c_slab += c->c_size;
		st_rlx(&c->c_made, c->c_made + 1);
	}
	lock_leave(me, &c->c_lock);
	for (uint32_t i = 0; i < n; i++)
		constructor[c->c_id](obj[i]);
	return n;
}

/* An empty magazine for c, or NULL. */
static struct mag *
mag_new(struct cache *c)
{
	struct mag *m = depot_pop(&c->c_empty);

	if (m != NULL)
		return m;
	m = heap_alloc(sizeof(*m));
	if (m == NULL)
		return NULL;
	m->m_n = 0;
	m->m_cap = c->c_magcap;
	return m;
}

/* Who wants memory looks at these from outside, so they are written whole. */
static void
set_pair(struct magpair *mp, struct mag *loaded, struct mag *prev)
{
	/* One place each (invariant 1), but for the null magazine, which holds nothing. */
	IMPLY(loaded == prev, loaded == &cache_root->cr_null);
	st_rel(&mp->mp_loaded, loaded); /* a new one: after it was made */
	st_rel(&mp->mp_prev, prev);
}

static void
swap(struct magpair *mp)
{
	set_pair(mp, mp->mp_prev, mp->mp_loaded);
}

/* Put m in front; the one that falls out goes to the depot. */
static void
load(struct cache *c, struct magpair *mp, struct mag *m)
{
	struct mag *out = mp->mp_prev;

	IMPLY(m != &cache_root->cr_null, m != out && m != mp->mp_loaded);
	set_pair(mp, m, mp->mp_loaded);
	if (out == &cache_root->cr_null)
		return;
	ASSERT(out->m_n <= c->c_magcap);
	st_rlx(&out->m_cap, c->c_magcap);
	depot_push(out->m_n > 0 ? &c->c_full : &c->c_empty, out);
	faa(&c->c_trips, (size_t)1);
}

NOINLINE void *
cache_alloc_slow(struct slot *me, unsigned int id)
{
	struct cache *c = &cache_root->cr_cache[id];
	struct magpair *mp = &me->sl_mag[id];
	void *single;
	struct mag *m;

	ASSERT(id < NCLASS && mp->mp_loaded->m_n == 0);
	if (heap_fails())
		goto refused;
	if (mp->mp_prev->m_n > 0) {
		swap(mp);
		return cache_alloc(me, id);
	}
	m = depot_pop(&c->c_full);
	IMPLY(m != NULL, m->m_n > 0 && m->m_n <= c->c_magcap);
	if (m != NULL) {
		load(c, mp, m);
		return cache_alloc(me, id);
	}
	m = mp->mp_loaded != &cache_root->cr_null ? mp->mp_loaded : mag_new(c);
	if (m == NULL) {
		if (slab_cut(me, c, &single, 1) == 1)
			return single;
		goto refused;
	}
	if (m != mp->mp_loaded)
		load(c, mp, m);
	ASSERT(m == mp->mp_loaded && m->m_n == 0);
	m->m_n = slab_cut(me, c, m->m_obj, c->c_magcap);
	if (m->m_n > 0)
		return cache_alloc(me, id);
refused:
	faa(&c->c_failures, (size_t)1);
	return NULL;
}

/* A magazine that was squeezed, and not in time for who wanted memory. */
static void
relax(struct cache *c, struct mag *m)
{
	ASSERT(ld_rlx(&m->m_cap) == 0 || ld_rlx(&m->m_cap) == c->c_magcap);
	if (m != &cache_root->cr_null && ld_rlx(&m->m_cap) == 0)
		st_rlx(&m->m_cap, c->c_magcap);
}

/* Both magazines of a class go to the depot. */
static void
surrender(struct cache *c, struct magpair *mp)
{
	load(c, mp, &cache_root->cr_null);
	load(c, mp, &cache_root->cr_null);
}

/* Where everybody finds it: slower, but nothing is lost. */
static void
set_loose(struct slot *me, struct cache *c, void *p)
{
	ASSERT(arena_backed(p, c->c_size));
	lock_enter(me, &c->c_lock, RANK_CACHE);
	*(void **)p = c->c_loose;
	c->c_loose = p;
	lock_leave(me, &c->c_lock);
}

NOINLINE void
cache_free_slow(struct slot *me, unsigned int id, void *p)
{
	struct cache *c = &cache_root->cr_cache[id];
	struct magpair *mp = &me->sl_mag[id];
	struct mag *m = NULL;

	ASSERT(id < NCLASS);
	ASSERT(mp->mp_loaded->m_n >= ld_rlx(&mp->mp_loaded->m_cap)); /* others only lower it */
	if (ld_seq(&cache_root->cr_wanted) != 0) {
		surrender(c, mp);
		set_loose(me, c, p);
		return;
	}
	relax(c, mp->mp_loaded);
	relax(c, mp->mp_prev);
	if (mp->mp_loaded->m_n >= ld_rlx(&mp->mp_loaded->m_cap) &&
	    mp->mp_prev->m_n < ld_rlx(&mp->mp_prev->m_cap))
		swap(mp);
	else if ((m = mag_new(c)) != NULL)
		load(c, mp, m);
	else {
		set_loose(me, c, p); /* no memory for a magazine */
		return;
	}
	cache_free(me, id, p);
}

/* ---- somebody waits for memory -------------------------------------------------- */

/* Send the owner's next free into cache_free_slow. */
static bool
squeeze(struct mag *m)
{
	if (m == &cache_root->cr_null)
		return false;
	st_rlx(&m->m_cap, 0u);
	return true;
}

static void
press(struct slot *s)
{
	bool holds = false;

	ASSERT(ld_rlx(&s->sl_mag[0].mp_loaded) != NULL); /* it is live: slot.h */
	for (unsigned int id = 0; id < NCLASS; id++) {
		holds |= squeeze(ld_acq(&s->sl_mag[id].mp_loaded));
		holds |= squeeze(ld_acq(&s->sl_mag[id].mp_prev));
	}
	if (holds)
		wait_poke(s); /* asleep: it surrenders all before it sleeps again */
}

void
cache_want(struct slot *me, bool wanted)
{
	uint32_t top = ld_acq(&slot_root->sr_top);

	(void)xchg(&cache_root->cr_wanted, wanted ? 1u : 0u);
	for (uint32_t i = 1; wanted && i < top; i++) {
		struct slot *s = slot_at(i);

		if (s != NULL && s != me && ld_acq(&s->sl_state) == SLOT_LIVE)
			press(s);
	}
}

/* ---- setting up ------------------------------------------------------------------ */

int
cache_init(void)
{
	cache_root = arena_root_make(ROOT_CACHE, sizeof(*cache_root));
	return cache_root == NULL ? ENOMEM : 0;
}

void
cache_join(void)
{
	cache_root = arena_root(ROOT_CACHE);
}

void
cache_limit(uint32_t magcap)
{
	ASSERT(magcap > 0 && magcap <= MAG_MAX);
	magmax = magcap;
}

void
cache_setup(unsigned int id, size_t size, uint32_t magcap, void (*construct)(void *))
{
	struct cache *c = &cache_root->cr_cache[id];
	size_t slab;

	ASSERT(id < NCLASS && size % LINE == 0 && magcap <= MAG_MAX);
	constructor[id] = construct;
	ASSERT(size > 0 && magcap > 0 && construct != NULL);
	if (c->c_size != 0) {
		ASSERT(c->c_size == size && c->c_id == id);
		return;
	}
	c->c_id = id;
	c->c_size = size;
	c->c_magcap = magcap < magmax ? magcap : magmax;
	slab = size * magcap < SLAB_MIN ? SLAB_MIN : size * magcap;
	c->c_slabsize = slab - slab % size;
}

void
cache_attach(struct slot *s)
{
	ASSERT(cache_root->cr_null.m_n == 0 && cache_root->cr_null.m_cap == 0);
	for (unsigned int id = 0; id < NCLASS; id++) {
		set_pair(&s->sl_mag[id], &cache_root->cr_null, &cache_root->cr_null);
	}
}

void
cache_detach(struct slot *s)
{
	/* Invariant 2: his own, or a dead thread's. */
	ASSERT(s == slot_tls || ld_acq(&s->sl_state) != SLOT_LIVE || slot_dead(s));
	for (unsigned int id = 0; id < NCLASS; id++) {
		struct cache *c = &cache_root->cr_cache[id];

		/* Its thread was killed before it had any, or between two lines of swap or load. */
		if (s->sl_mag[id].mp_loaded == NULL || s->sl_mag[id].mp_prev == NULL)
			set_pair(&s->sl_mag[id], &cache_root->cr_null, &cache_root->cr_null);
		if (s->sl_mag[id].mp_loaded == s->sl_mag[id].mp_prev)
			set_pair(&s->sl_mag[id], s->sl_mag[id].mp_loaded, &cache_root->cr_null);
		surrender(c, &s->sl_mag[id]);
	}
}

size_t
cache_salvage(uint32_t *word)
{
	struct cache *c = (struct cache *)((char *)word - offsetof(struct cache, c_lock));
	size_t lost = (size_t)(c->c_slabend - c->c_slab);

	LOCK_HELD(word);
	if (c->c_slab == NULL || lost > c->c_slabsize)
		lost = c->c_slabsize;
	c->c_slab = c->c_slabend = NULL;
	return lost;
}

void
cache_stat(size_t *made, size_t *trips, size_t *failures)
{
	*made = *trips = *failures = 0;
	for (unsigned int id = 0; id < NCLASS; id++) {
		struct cache *c = &cache_root->cr_cache[id];

		*made += ld_rlx(&c->c_made) * c->c_size;
		*trips += ld_rlx(&c->c_trips);
		*failures += ld_rlx(&c->c_failures);
	}
}

void
cache_classstat(unsigned int id, struct ustr_cachestat *cs)
{
	struct cache *c = &cache_root->cr_cache[id];

	*cs = (struct ustr_cachestat){
		.cs_object = c->c_size,
		.cs_magazine = c->c_magcap,
		.cs_made = ld_rlx(&c->c_made),
		.cs_trips = ld_rlx(&c->c_trips),
		.cs_failures = ld_rlx(&c->c_failures),
	};
}

static bool
depot_valid(depot_t list, bool full, uint32_t cap)
{
	size_t n = 0;

	for (struct mag *m = depot_mag(list); m != NULL; m = depot_mag(m->m_next)) {
		if (!arena_backed(m, sizeof(*m)) || (ld_rlx(&m->m_cap) != cap && ld_rlx(&m->m_cap) != 0) || m->m_n > cap ||
		    full != (m->m_n > 0) || ++n > arena_size / LINE)
			return false;
		for (uint32_t i = 0; i < m->m_n; i++)
			if (!arena_backed(m->m_obj[i], LINE))
				return false;
	}
	return true;
}

bool
cache_valid(void)
{
	if (!arena_backed(cache_root, sizeof(*cache_root)))
		return false;
	for (unsigned int id = 0; id < NCLASS; id++) {
		struct cache *c = &cache_root->cr_cache[id];

		if (c->c_size != 0 && (!depot_valid(c->c_full, true, c->c_magcap) ||
			    !depot_valid(c->c_empty, false, c->c_magcap)))
			return false;
	}
	return true;
}

/* ---- judging ---------------------------------------------------------------------- */

typedef bool constructed_fn(unsigned int id, const void *p);

static bool
object_claim(const struct cache *c, const void *p, constructed_fn *constructed)
{
	return claim_take(p, c->c_size, CL_FREE) && constructed(c->c_id, p);
}

static bool
mag_claim(const struct cache *c, const struct mag *m, constructed_fn *constructed)
{
	if (!claim_take(m, sizeof(*m), CL_FREE) || m->m_n > c->c_magcap || m->m_cap > c->c_magcap)
		return false;
	for (uint32_t i = 0; i < m->m_n; i++)
		if (!object_claim(c, m->m_obj[i], constructed))
			return false;
	return true;
}

static bool
depot_claim(const struct cache *c, depot_t list, bool full, constructed_fn *constructed)
{
	for (const struct mag *m = depot_mag(list); m != NULL; m = depot_mag(m->m_next))
		if (!mag_claim(c, m, constructed) || full != (m->m_n > 0))
			return false;
	return true;
}

/* What the creator set once. */
static bool
shape_sound(const struct cache *c, unsigned int id, size_t size)
{
	return c->c_size == size && c->c_id == id && c->c_magcap > 0 && c->c_magcap <= MAG_MAX &&
		c->c_slabsize >= size && c->c_slabsize % size == 0 && c->c_slabsize <= SLAB_MOST;
}

static bool
claim_class(const struct cache *c, unsigned int id, size_t size, constructed_fn *constructed)
{
	size_t uncut = (size_t)(c->c_slabend - c->c_slab);

	if (size == 0)
		return c->c_size == 0;
	if (!shape_sound(c, id, size) || !depot_claim(c, c->c_full, true, constructed) ||
	    !depot_claim(c, c->c_empty, false, constructed))
		return false;
	/* Who was killed with the lock may have set one end of it: cache_salvage. */
	if (ld_acq(&c->c_lock) == 0 && uncut != 0 && !claim_take(c->c_slab, uncut, CL_FREE))
		return false;
	for (const void *p = c->c_loose; p != NULL; p = *(void *const *)p)
		if (!claim_take(p, size, CL_FREE))
			return false;
	return true;
}

bool
cache_claim(const size_t size[NCLASS], constructed_fn *constructed)
{
	if (!claim_take(cache_root, sizeof(*cache_root), CL_TABLE) || cache_root->cr_null.m_n != 0 ||
	    cache_root->cr_null.m_cap != 0)
		return false;
	for (unsigned int id = 0; id < NCLASS; id++)
		if (!claim_class(&cache_root->cr_cache[id], id, size[id], constructed))
			return false;
	return true;
}

/* Whoever died before it had any has NULL. */
static bool
pair_claim(const struct cache *c, const struct magpair *mp, constructed_fn *constructed)
{
	const struct mag *null = &cache_root->cr_null, *loaded = mp->mp_loaded, *prev = mp->mp_prev;

	return (loaded == NULL || loaded == null || mag_claim(c, loaded, constructed)) &&
		(prev == NULL || prev == null || prev == loaded || mag_claim(c, prev, constructed));
}

bool
cache_claim_slot(const struct slot *s, constructed_fn *constructed)
{
	for (unsigned int id = 0; id < NCLASS; id++)
		if (!pair_claim(&cache_root->cr_cache[id], &s->sl_mag[id], constructed))
			return false;
	return true;
}
