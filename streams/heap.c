/* SPDX-License-Identifier: BSD-2-Clause */
/* heap.c: the size classes of heap.h. */
#include "heap.h"
#include "arena.h"
#include "claim.h"
#include "lock.h"

#include <errno.h>
#include <string.h>

#define PIECE_MIN 4096
#define PIECE_MAX 65536

_Static_assert(sizeof(struct heap_class) == LINE, "a class is a line");
_Static_assert(offsetof(struct heap_class, hc_lock) == 0, "heap_salvage counts on it");

static struct heap_class *heap;
static long fail_countdown;

/* 1..512 by 64, then four per doubling: 640 = 4+1 quarters of 512, and so on. */
static unsigned int
class_of(size_t size)
{
	unsigned int top;

	if (size <= 512)
		return (unsigned int)((size + 63) / 64) - 1;
	top = 63 - (unsigned int)__builtin_clzl(size - 1);
	return 8 + (top - 9) * 4 + (unsigned int)(((size - 1) >> (top - 2)) & 3);
}

static size_t
size_of(unsigned int c)
{
	return c < 8 ? (size_t)(c + 1) * 64 :
		((size_t)512 << ((c - 8) / 4)) / 4 * (5 + (c - 8) % 4);
}

int
heap_init(void)
{
	heap = arena_root_make(ROOT_HEAP, NHEAP * sizeof(*heap));
	if (heap == NULL)
		return ENOMEM;
	for (unsigned int c = 0; c < NHEAP; c++) {
		size_t size = size_of(c), piece = size * 16;

		ASSERT(class_of(size) == c && class_of(size - 63) == c);
		if (piece > PIECE_MAX)
			piece = size > PIECE_MAX ? size : PIECE_MAX / size * size;
		heap[c].hc_size = size;
		heap[c].hc_piecesize = piece < PIECE_MIN ? PIECE_MIN :
			piece > UINT32_MAX ? UINT32_MAX : (uint32_t)piece;
	}
	return 0;
}

void
heap_join(void)
{
	heap = arena_root(ROOT_HEAP);
}

void
heap_fail_nth(long n)
{
	st_rlx(&fail_countdown, n);
}

bool
heap_fails(void)
{
	if (!DEBUG_ON(1) || likely(ld_rlx(&fail_countdown) <= 0))
		return false;
	return fas(&fail_countdown, 1L) == 1;
}

/* ---- debug: what is free says so in its second word ------------------------------ */

INLINE uintptr_t
free_mark(const void *p)
{
	return (uintptr_t)p ^ (uintptr_t)0xf4ee0b1ec7f4ee0bULL;
}

/* It goes on a list: it was not on one already. */
static void
mark_free(void *p)
{
	if (!DEBUG_ON(1))
		return;
	ASSERT(((uintptr_t *)p)[1] != free_mark(p));
	((uintptr_t *)p)[1] = free_mark(p);
}

/* It comes off a list, where nobody has written to it; or has just been cut. */
static void
unmark(void *p, bool listed)
{
	if (!DEBUG_ON(1))
		return;
	IMPLY(listed, ((uintptr_t *)p)[1] == free_mark(p));
	((uintptr_t *)p)[1] = 0;
}

/* ---- allocating ---------------------------------------------------------------------- */

/* Cut an object from the class's piece, a new one if need be. */
static void *
cut(struct heap_class *hc)
{
	void *p;

	LOCK_HELD(&hc->hc_lock);
	EQUIV(hc->hc_piece == NULL, hc->hc_end == NULL);
	ASSERT(hc->hc_piece <= hc->hc_end);
	if (hc->hc_piece == NULL || hc->hc_size > (size_t)(hc->hc_end - hc->hc_piece)) {
		size_t n = hc->hc_piecesize < hc->hc_size ? hc->hc_size : hc->hc_piecesize;
		char *piece = arena_carve(n, LINE);

		if (piece == NULL)
			piece = arena_carve(n = hc->hc_size, LINE);
		if (piece == NULL)
			return NULL;
		plat_populate(piece, n);
		hc->hc_piece = piece;
		hc->hc_end = piece + n;
	}
	p = hc->hc_piece;
	ASSERT(arena_backed(p, hc->hc_size));
	hc->hc_piece += hc->hc_size;
	unmark(p, false);
	return p;
}

/* Another thread found a piece since this one did not: its objects are not to be lost. */
static void
cut_up(struct heap_class *hc)
{
	while (hc->hc_piece != NULL && hc->hc_size <= (size_t)(hc->hc_end - hc->hc_piece)) {
		void *p = cut(hc);

		mark_free(p);
		*(void **)p = hc->hc_free;
		st_rel(&hc->hc_free, p);
	}
}

/*
 * The arena is exhausted: take a free object of a larger class and make it a
 * piece of this one.  It stays with this class for good.
 */
static void *
borrow(struct slot *me, struct heap_class *hc)
{
	for (struct heap_class *from = hc + 1; from < heap + NHEAP; from++) {
		void *p;

		if (ld_rlx(&from->hc_free) == NULL)
			continue;
		lock_enter(me, &from->hc_lock, RANK_HEAP);
		p = from->hc_free;
		if (p != NULL)
			st_rlx(&from->hc_free, *(void **)p);
		lock_leave(me, &from->hc_lock);
		if (p == NULL)
			continue;
		lock_enter(me, &hc->hc_lock, RANK_HEAP);
		cut_up(hc);
		ASSERT(from->hc_size > hc->hc_size);
		hc->hc_piece = p;
		hc->hc_end = (char *)p + from->hc_size;
		p = cut(hc);
		st_rlx(&hc->hc_inuse, hc->hc_inuse + 1);
		lock_leave(me, &hc->hc_lock);
		return p;
	}
	return NULL;
}

void *
heap_alloc(size_t size)
{
	struct slot *me = slot_self();
	struct heap_class *hc;
	void *p;

	if (unlikely(me == NULL || size == 0 || size > HEAP_MAX || heap_fails()))
		return NULL;
	hc = &heap[class_of(size)];
	ASSERT(hc < heap + NHEAP && hc->hc_size >= size);
	lock_enter(me, &hc->hc_lock, RANK_HEAP);
	p = hc->hc_free;
	IMPLY(p != NULL, arena_backed(p, hc->hc_size));
	if (likely(p != NULL)) {
		st_rlx(&hc->hc_free, *(void **)p);
		unmark(p, true);
	} else {
		p = cut(hc);
	}
	if (likely(p != NULL))
		st_rlx(&hc->hc_inuse, hc->hc_inuse + 1);
	lock_leave(me, &hc->hc_lock);
	return likely(p != NULL) ? p : borrow(me, hc);
}

void *
heap_zalloc(size_t size)
{
	void *p = heap_alloc(size);

	if (p != NULL)
		memset(p, 0, size);
	return p;
}

void
heap_free(void *p, size_t size)
{
	struct slot *me = slot_self();
	struct heap_class *hc;

	if (p == NULL || me == NULL)
		return;
	ASSERT(arena_has(p) && ((uintptr_t)p & (LINE - 1)) == 0);
	hc = &heap[class_of(size)];
	ASSERT_AT(2, arena_backed(p, hc->hc_size));
	lock_enter(me, &hc->hc_lock, RANK_HEAP);
	ASSERT(hc->hc_inuse > 0);
	mark_free(p);
	*(void **)p = hc->hc_free;
	st_rel(&hc->hc_free, p); /* whole: its owner may be killed here */
	st_rlx(&hc->hc_inuse, hc->hc_inuse - 1);
	lock_leave(me, &hc->hc_lock);
}

size_t
heap_salvage(uint32_t *word)
{
	struct heap_class *hc = (struct heap_class *)word;
	size_t lost = (size_t)(hc->hc_end - hc->hc_piece);

	LOCK_HELD(word);
	ASSERT(hc >= heap && hc < heap + NHEAP);
	if (hc->hc_piece == NULL || lost > hc->hc_piecesize)
		lost = hc->hc_piecesize;
	hc->hc_piece = hc->hc_end = NULL;
	return lost;
}

static bool
class_valid(const struct heap_class *hc, unsigned int c)
{
	size_t n = 0, most = arena_size / LINE;

	if (hc->hc_size != size_of(c))
		return false;
	/* Who was killed with the lock may have set one end of the piece: heap_salvage. */
	if (ld_acq(&hc->hc_lock) == 0 && hc->hc_piece != NULL && hc->hc_piece != hc->hc_end &&
	    (!arena_has(hc->hc_piece) || hc->hc_end < hc->hc_piece ||
		    !arena_backed(hc->hc_piece, (size_t)(hc->hc_end - hc->hc_piece))))
		return false;
	for (void *p = hc->hc_free; p != NULL; p = *(void **)p)
		if (!arena_backed(p, hc->hc_size) || ++n > most)
			return false;
	return true;
}

bool
heap_valid(void)
{
	if (!arena_backed(heap, NHEAP * sizeof(*heap)))
		return false;
	for (unsigned int c = 0; c < NHEAP; c++)
		if (!class_valid(&heap[c], c))
			return false;
	return true;
}

/* Its objects, and what is not yet cut of its piece. */
static bool
class_claim(const struct heap_class *hc, unsigned int c)
{
	size_t uncut = (size_t)(hc->hc_end - hc->hc_piece);

	if (hc->hc_size != size_of(c))
		return false;
	if (ld_acq(&hc->hc_lock) == 0 && uncut != 0 && !claim_take(hc->hc_piece, uncut, CL_FREE))
		return false;
	for (void *p = hc->hc_free; p != NULL; p = *(void **)p)
		if (!claim_take(p, hc->hc_size, CL_FREE))
			return false;
	return true;
}

bool
heap_claim(void)
{
	if (!claim_take(heap, NHEAP * sizeof(*heap), CL_TABLE))
		return false;
	for (unsigned int c = 0; c < NHEAP; c++)
		if (!class_claim(&heap[c], c))
			return false;
	return true;
}

size_t
heap_used(void)
{
	size_t sum = 0;

	for (unsigned int c = 0; c < NHEAP; c++)
		sum += ld_rlx(&heap[c].hc_inuse) * heap[c].hc_size;
	return sum;
}
