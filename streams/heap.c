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

/* hc has this piece now: whole whenever who does this is killed. */
static void
set_piece(struct heap_class *hc, char *piece, size_t n)
{
	LOCK_HELD(&hc->hc_lock);
	st_rel(&hc->hc_piece, NULL);
	st_rel(&hc->hc_end, piece + n);
	st_rel(&hc->hc_piece, piece);
}

static size_t
uncut(const struct heap_class *hc)
{
	return hc->hc_piece != NULL ? (size_t)(hc->hc_end - hc->hc_piece) : 0;
}

/* N2: p is about to be taken off. */
INLINE void
noted(struct heap_class *hc, struct heap_note *note, void *p, size_t size)
{
	LOCK_HELD(&hc->hc_lock);
	if (note == NULL)
		return;
	st_rel(&hc->hc_note, note); /* N1 */
	st_rel(&note->hn_size, size);
	st_rel(&note->hn_mem, p);
	CRASH_POINT();
}

/* N3 */
INLINE void
is_noted(struct heap_class *hc, const struct heap_note *note)
{
	if (note == NULL)
		return;
	CRASH_POINT();
	st_rel(&hc->hc_note, NULL);
	CRASH_POINT();
}

/* Cut an object from the class's piece, a new one if need be. */
static void *
cut(struct heap_class *hc, struct heap_note *note)
{
	void *p;

	LOCK_HELD(&hc->hc_lock);
	if (hc->hc_size > uncut(hc)) {
		size_t n = hc->hc_piecesize < hc->hc_size ? hc->hc_size : hc->hc_piecesize;
		char *piece;

		st_rel(&hc->hc_piece, NULL); /* heap_salvage counts a new one as lost */
		piece = arena_carve(n, LINE);
		if (piece == NULL)
			piece = arena_carve(n = hc->hc_size, LINE);
		if (piece == NULL)
			return NULL;
		set_piece(hc, piece, n);
		plat_populate(piece, n);
	}
	p = hc->hc_piece;
	ASSERT(arena_backed(p, hc->hc_size));
	noted(hc, note, p, hc->hc_size);
	st_rel(&hc->hc_piece, hc->hc_piece + hc->hc_size);
	is_noted(hc, note);
	unmark(p, false);
	return p;
}

/* The first free object, or NULL. */
INLINE void *
pop(struct heap_class *hc, struct heap_note *note)
{
	void *p = hc->hc_free;

	LOCK_HELD(&hc->hc_lock);
	IMPLY(p != NULL, arena_backed(p, hc->hc_size));
	if (p == NULL)
		return NULL;
	noted(hc, note, p, hc->hc_size);
	st_rel(&hc->hc_free, *(void **)p);
	is_noted(hc, note);
	return p;
}

/* Another thread found a piece since this one did not: its objects are not to be lost. */
static void
cut_up(struct heap_class *hc)
{
	while (hc->hc_size <= uncut(hc)) {
		void *p = cut(hc, NULL);

		mark_free(p);
		*(void **)p = hc->hc_free;
		st_rel(&hc->hc_free, p);
	}
}

/* The object of a larger class that note leads to, or none does, becomes hc's piece. */
static void
adopt_piece(struct heap_class *hc, void *p, size_t size, struct heap_note *note)
{
	LOCK_HELD(&hc->hc_lock);
	ASSERT(size > hc->hc_size);
	cut_up(hc);
	if (note != NULL)
		st_rel(&hc->hc_note, note);
	set_piece(hc, p, size);
	if (note != NULL)
		st_rel(&note->hn_mem, NULL);
	is_noted(hc, note);
}

/* A free object of that class, counted as in use, or NULL. */
static void *
take_out(struct slot *me, struct heap_class *from, struct heap_note *note)
{
	void *p;

	lock_enter(me, &from->hc_lock, RANK_HEAP);
	st_rlx(&from->hc_inuse, from->hc_inuse + 1);
	p = pop(from, note);
	if (p == NULL)
		st_rlx(&from->hc_inuse, from->hc_inuse - 1);
	lock_leave(me, &from->hc_lock);
	return p;
}

/*
 * The arena is exhausted: take a free object of a larger class and make it a
 * piece of this one.  It stays with this class for good.
 */
static void *
borrow(struct slot *me, struct heap_class *hc, struct heap_note *note)
{
	for (struct heap_class *from = hc + 1; from < heap + NHEAP; from++) {
		void *p;

		if (ld_rlx(&from->hc_free) == NULL)
			continue;
		p = take_out(me, from, note);
		if (p == NULL)
			continue;
		lock_enter(me, &hc->hc_lock, RANK_HEAP);
		adopt_piece(hc, p, from->hc_size, note);
		st_rlx(&hc->hc_inuse, hc->hc_inuse + 1);
		p = cut(hc, note);
		lock_leave(me, &hc->hc_lock);
		lock_enter(me, &from->hc_lock, RANK_HEAP);
		st_rlx(&from->hc_inuse, from->hc_inuse - 1);
		lock_leave(me, &from->hc_lock);
		return p;
	}
	return NULL;
}

INLINE void *
allocate(size_t size, struct heap_note *note)
{
	struct slot *me = slot_self();
	struct heap_class *hc;
	void *p;

	if (unlikely(me == NULL || size == 0 || size > HEAP_MAX || heap_fails()))
		return NULL;
	IMPLY(note != NULL, ld_rlx(&note->hn_mem) == NULL);
	hc = &heap[class_of(size)];
	ASSERT(hc < heap + NHEAP && hc->hc_size >= size);
	lock_enter(me, &hc->hc_lock, RANK_HEAP);
	/* First: who is killed with a noted one has it counted, and so who frees it for him. */
	st_rlx(&hc->hc_inuse, hc->hc_inuse + 1);
	p = pop(hc, note);
	if (likely(p != NULL))
		unmark(p, true);
	else
		p = cut(hc, note);
	if (unlikely(p == NULL))
		st_rlx(&hc->hc_inuse, hc->hc_inuse - 1);
	lock_leave(me, &hc->hc_lock);
	return likely(p != NULL) ? p : borrow(me, hc, note);
}

void *
heap_alloc(size_t size)
{
	return allocate(size, NULL);
}

void *
heap_alloc_noted(size_t size, struct heap_note *note)
{
	ASSERT(note != NULL && arena_has(note));
	return allocate(size, note);
}

void *
heap_zalloc(size_t size)
{
	void *p = heap_alloc(size);

	if (p != NULL)
		memset(p, 0, size);
	return p;
}

INLINE void
give_back(void *p, size_t size, struct heap_note *note)
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
	if (note != NULL)
		unmark(p, false); /* whose it was may have been killed here */
	mark_free(p);
	*(void **)p = hc->hc_free;
	if (note != NULL)
		st_rel(&hc->hc_note, note); /* N1 */
	st_rel(&hc->hc_free, p); /* whole: its owner may be killed here */
	if (note != NULL) {
		CRASH_POINT();
		st_rel(&note->hn_mem, NULL);
	}
	is_noted(hc, note);
	st_rlx(&hc->hc_inuse, hc->hc_inuse - 1);
	lock_leave(me, &hc->hc_lock);
}

void
heap_free(void *p, size_t size)
{
	give_back(p, size, NULL);
}

void
heap_free_noted(struct heap_note *note)
{
	ASSERT(note->hn_mem != NULL);
	give_back(note->hn_mem, note->hn_size, note);
}

size_t
heap_salvage(uint32_t *word)
{
	struct heap_class *hc = (struct heap_class *)word;
	struct heap_note *note = hc->hc_note;

	LOCK_HELD(word);
	ASSERT(hc >= heap && hc < heap + NHEAP);
	if (note != NULL && (note->hn_mem == hc->hc_free || note->hn_mem == hc->hc_piece))
		st_rel(&note->hn_mem, NULL);
	st_rel(&hc->hc_note, NULL);
	return (note == NULL ? hc->hc_size : 0) + (hc->hc_piece == NULL ? hc->hc_piecesize : 0);
}

void
heap_settle(void)
{
	struct slot *me = slot_self();

	for (struct heap_class *hc = heap; me != NULL && hc < heap + NHEAP; hc++) {
		uint32_t owner = ld_seq(&hc->hc_lock);

		if (owner == 0 || !slot_gone(owner))
			continue;
		lock_enter(me, &hc->hc_lock, RANK_HEAP);
		lock_leave(me, &hc->hc_lock);
	}
}

/* ---- judging ------------------------------------------------------------------------- */

bool
heap_noting(const struct heap_note *note)
{
	for (const struct heap_class *hc = heap; hc < heap + NHEAP; hc++)
		if (hc->hc_note == note)
			return true;
	return false;
}

/* It is that of a thread, which was killed with the class's lock. */
static bool
note_valid(const struct heap_class *hc)
{
	if (hc->hc_note == NULL)
		return true;
	for (uint32_t i = 1; i < NSLOT && ld_acq(&hc->hc_lock) != 0; i++)
		if (slot_at(i) != NULL && hc->hc_note == &slot_at(i)->sl_note)
			return true;
	return false;
}

static bool
class_valid(const struct heap_class *hc, unsigned int c)
{
	size_t n = 0, most = arena_size / LINE;

	if (hc->hc_size != size_of(c))
		return false;
	if (uncut(hc) != 0 && (!arena_has(hc->hc_piece) || hc->hc_end < hc->hc_piece ||
		    !arena_backed(hc->hc_piece, uncut(hc))))
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
	if (hc->hc_size != size_of(c) || !note_valid(hc))
		return false;
	if (uncut(hc) != 0 && !claim_take(hc->hc_piece, uncut(hc), CL_FREE))
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
