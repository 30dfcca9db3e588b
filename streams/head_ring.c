/* SPDX-License-Identifier: BSD-2-Clause */
/* head_ring.c: rings on the list, in a hand, and free. */
#include "head_ring.h"
#include "heap.h"
#include "lock.h"

void
ring_into_hand(struct slot *me, struct trace *t)
{
	LOCK_HELD(&trace_root->tt_lock);
	st_rel(&t->tr_magic, (uint64_t)0);
	t->tr_holder = me->sl_key;
	st_rel(&t->tr_state, (uint32_t)TRACE_HELD);
}

/* t is on the list: what its holder, who was killed, had noted is void. */
static void
void_note(const struct trace *t)
{
	struct slot *s = t->tr_holder != 0 ? slot_of(t->tr_holder) : NULL;

	LOCK_HELD(&trace_root->tt_lock);
	/* A later life of the slot cannot have noted what is listed. */
	if (s != NULL && ld_acq(&s->sl_note.hn_mem) == t)
		st_rel(&s->sl_note.hn_mem, NULL);
}

static void
list_in(struct trace *t)
{
	LOCK_HELD(&trace_root->tt_lock);
	t->tr_link = trace_root->tt_first;
	st_rel(&trace_root->tt_first, t);
}

/* What leads to t in the list, or to its end. */
static struct trace **
place_of(const struct trace *t)
{
	struct trace **at = &trace_root->tt_first;

	LOCK_HELD(&trace_root->tt_lock);
	while (*at != NULL && *at != t)
		at = &(*at)->tr_link;
	return at;
}

/* Noted until it is listed. */
struct trace *
ring_make(struct slot *me, uint32_t id, unsigned int records)
{
	uint32_t n = TRACE_MIN;
	struct trace *t;

	while (n < records)
		n *= 2;
	ASSERT(n <= TRACE_MAX);
	t = heap_alloc_noted(trace_size(n), &me->sl_note);
	if (t == NULL)
		return NULL;
	trace_init(t, id, n, me->sl_key);
	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	list_in(t);
	CRASH_POINT();
	st_rel(&me->sl_note.hn_mem, NULL);
	lock_leave(me, &trace_root->tt_lock);
	trace_clear(t);
	return t;
}

/* t, which is in hand: noted before it is off the list, until it is free. */
void
ring_free(struct slot *me, struct trace *t)
{
	struct trace **at;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	ASSERT(t->tr_state == TRACE_HELD && t->tr_holder == me->sl_key);
	st_rel(&me->sl_note.hn_size, trace_size(t->tr_records));
	st_rel(&me->sl_note.hn_mem, t);
	CRASH_POINT();
	at = place_of(t);
	ASSERT(*at == t);
	st_rel(at, t->tr_link);
	lock_leave(me, &trace_root->tt_lock);
	heap_free_noted(&me->sl_note);
}

void
ring_salvage(struct slot *s)
{
	struct slot *me = slot_tls;
	const struct trace *t;
	bool there;

	ASSERT(s != me && slot_gone(ld_acq(&s->sl_key)));
	if (me == NULL || ld_acq(&s->sl_note.hn_mem) == NULL)
		return;
	heap_settle();
	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t = ld_acq(&s->sl_note.hn_mem);
	there = t != NULL && *place_of(t) == t;
	if (there)
		st_rel(&s->sl_note.hn_mem, NULL); /* it is seen to as all that are listed */
	lock_leave(me, &trace_root->tt_lock);
	if (t != NULL && !there)
		heap_free_noted(&s->sl_note);
}

bool
ring_wanted(const struct trace *t)
{
	LOCK_HELD(&trace_root->tt_lock);
	for (int i = 0; i < TRACE_TAPPERS; i++)
		if (t->tr_tapper[i] != 0)
			return true;
	return t->tr_own && t->tr_state == TRACE_ON;
}

bool
ring_left(const struct trace *t)
{
	LOCK_HELD(&trace_root->tt_lock);
	return t->tr_holder != 0 && slot_gone(t->tr_holder);
}

struct trace *
ring_on(uint32_t id)
{
	struct trace *t = trace_root->tt_first;

	LOCK_HELD(&trace_root->tt_lock);
	while (t != NULL && (t->tr_stream != id || t->tr_state != TRACE_ON))
		t = t->tr_link;
	return t;
}

uint32_t
ring_next(struct slot *me, bool (*is)(const struct trace *), uint32_t id)
{
	uint32_t next = 0;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	for (const struct trace *t = trace_root->tt_first; t != NULL; t = t->tr_link)
		if (is(t) && t->tr_stream > id && (next == 0 || t->tr_stream < next))
			next = t->tr_stream;
	lock_leave(me, &trace_root->tt_lock);
	return next;
}

struct trace *
ring_first(bool (*is)(const struct trace *), uint32_t id)
{
	struct trace *t = trace_root->tt_first;

	LOCK_HELD(&trace_root->tt_lock);
	while (t != NULL && !((id == 0 || t->tr_stream == id) && is(t)))
		t = t->tr_link;
	return t;
}

bool
ring_scrap(const struct trace *t)
{
	return (t->tr_state == TRACE_GONE && !ring_wanted(t)) ||
		(t->tr_state == TRACE_HELD && ring_left(t));
}

void
ring_free_scrap(struct slot *me)
{
	struct trace *t;

	do {
		lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
		t = ring_first(ring_scrap, 0);
		if (t != NULL) {
			void_note(t);
			ring_into_hand(me, t);
		}
		lock_leave(me, &trace_root->tt_lock);
		if (t != NULL)
			ring_free(me, t);
	} while (t != NULL);
}
