/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.h: the object caches: magazines, depot, slabs.
 *
 * Level 4.  After Bonwick.  A cache hands out objects of one size in their
 * constructed state.
 *
 *   thread's slot           depot (in the arena)            slabs
 *   loaded  [oooooo..]      full  mag -> mag -> ...         |cut|cut|...uncut|
 *   prev    [........]      empty mag -> ...
 *
 * The fast path moves one pointer between the caller and the thread's loaded
 * magazine: no atomic operation.  When that is exhausted (or full) it swaps
 * with prev; when that is no better, one magazine is exchanged with the depot
 * by a compare-and-swap.  A producer that only allocates and a consumer that
 * only frees thus cost one exchange each per magazine, which is what the
 * message path does all day.
 *
 *   invariant 1: an object is in exactly one place: in use, in one magazine,
 *                on the loose list, or uncut in a slab;
 *   invariant 2: a magazine's words are touched only by the thread whose slot
 *                holds it, or by who has just popped it from the depot;
 *   invariant 3: magazines never go back to the heap, so the link of a popped
 *                magazine may still be read; the depot's tag makes the stale
 *                compare-and-swap fail.
 *
 * Objects stay with their cache for good: slabs are not taken apart again,
 * which is what lets a depot list change by a single word.  (Rejected: giving
 * empty slabs back; the working set of a message system returns.)
 */
#ifndef STREAMS_CACHE_H
#define STREAMS_CACHE_H

#include "slot.h"

#include <ustreams.h>

#define MAG_MAX 32 /* most objects of a magazine */

struct mag {
	uint64_t m_next;	/* A  next in the depot, tagged reference */
	uint32_t m_n;		/* O  objects in it */
	uint32_t m_cap;		/* A  objects it may hold; 0: the null magazine, or squeezed */
	void *m_obj[MAG_MAX];	/* O */
};

/* A depot list: tag in the high bits, line number in the arena below. */
typedef uint64_t depot_t;

struct cache {
	/* Line 0: constant. */
	size_t c_size;		/* C  object size, multiple of a line */
	uint32_t c_magcap;	/* C  objects per magazine */
	uint32_t c_id;		/* C  class number */
	size_t c_slabsize;	/* C  bytes carved at a time */
	/* Line 1: the depot. */
	depot_t c_full LINE_ALIGNED; /* A  magazines with objects */
	depot_t c_empty;	/* A  magazines without */
	size_t c_trips;		/* A  magazines exchanged */
	size_t c_failures;	/* A  allocations refused */
	/* Line 2: growth. */
	uint32_t c_lock LINE_ALIGNED; /* A */
	char *c_slab;		/* Q  uncut rest of the slab */
	char *c_slabend;	/* Q  its end */
	void *c_loose;		/* Q  objects for which no magazine was to be had */
	size_t c_made;		/* Q  objects ever cut */
};

struct cache_root {
	struct cache cr_cache[NCLASS];
	struct mag cr_null;	/* C  holds nothing, may hold nothing */
	uint32_t cr_wanted;	/* A  somebody waits for memory */
};

extern struct cache_root *cache_root;

/* Make the caches: 0 or ENOMEM. */
int cache_init(void);
/* Find those that the creator made. */
void cache_join(void);
/*
 * Give class id its object size, the objects a magazine holds (at most MAG_MAX),
 * unless the creator of the arena has done so, and the constructor of this process.
 */
void cache_setup(unsigned int id, size_t size, uint32_t magcap, void (*construct)(void *));
/* From here on no class gets magazines of more objects, MAG_MAX at first. */
void cache_limit(uint32_t magcap);
/* Give a new slot its null magazines. */
void cache_attach(struct slot *s);
/* Hand the magazines of a leaving, or dead, thread to the depot. */
void cache_detach(struct slot *s);
/*
 * c_lock was broken: what is not yet cut is given up, since its ends may not
 * match; bytes.  The loose objects are a list whose every state is whole.
 */
size_t cache_salvage(uint32_t *word);
/* Figures summed over all caches. */
void cache_stat(size_t *made, size_t *trips, size_t *failures);
/* The figures of one class, all 0 when it is not in use. */
void cache_classstat(unsigned int id, struct ustr_cachestat *cs);
/* Walk the caches: true if every magazine and count is sound. */
bool cache_valid(void);

/*
 * For who judges the arena: are all caches sound, whose objects have these sizes (0: no
 * such class) and are, while they are free, as that says?  Claims what is free.
 */
bool cache_claim(const size_t size[NCLASS], bool (*constructed)(unsigned int id, const void *p));
/* The same for what a slot keeps. */
bool cache_claim_slot(const struct slot *s, bool (*constructed)(unsigned int id, const void *p));

/*
 * Somebody waits for memory (bufcall.h): as long as it is said so, what is freed
 * goes where all find it, and who sleeps keeps nothing.  To be said again every
 * few ms: threads load new magazines, and the waiter may die.
 */
void cache_want(struct slot *me, bool wanted);

void *cache_alloc_slow(struct slot *me, unsigned int id);
void cache_free_slow(struct slot *me, unsigned int id, void *p);

/* A constructed object of class id, or NULL. */
INLINE void *
cache_alloc(struct slot *me, unsigned int id)
{
	struct mag *m = me->sl_mag[id].mp_loaded;

	ASSERT_AT(2, me == slot_tls && m->m_n <= MAG_MAX); /* invariant 2 */
	if (likely(m->m_n > 0))
		return m->m_obj[--m->m_n];
	return cache_alloc_slow(me, id);
}

/* Give it back, constructed. */
INLINE void
cache_free(struct slot *me, unsigned int id, void *p)
{
	struct mag *m = me->sl_mag[id].mp_loaded;

	if (likely(m->m_n < ld_rlx(&m->m_cap))) {
		/* In this order: a dead thread's magazines are read by another. */
		m->m_obj[m->m_n] = p;
		st_rel(&m->m_n, m->m_n + 1);
	} else
		cache_free_slow(me, id, p);
}

#endif
