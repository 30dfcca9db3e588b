/* SPDX-License-Identifier: BSD-2-Clause */
/* lock.c: waiting for a lock, breaking a dead owner's, and the rank check. */
#include "lock.h"

void (*lock_broken_hook)(uint32_t *word, enum lock_rank rank);

/* Take the lock from a dead owner.  True if it is ours now. */
static bool
take_over(uint32_t *word, uint32_t owner, uint32_t me, enum lock_rank rank)
{
	ASSERT(owner != 0 && owner != me);
	if (!slot_gone(owner) || !cas(word, &owner, me))
		return false;
	if (lock_broken_hook != NULL)
		lock_broken_hook(word, rank);
	return true;
}

NOINLINE void
lock_wait(uint32_t *word, uint32_t me, enum lock_rank rank)
{
	unsigned int step = 0;

	ASSERT(rank >= RANK_PROC && rank <= RANK_HEAP);
	ASSERT(ld_rlx(word) != me);
	for (;;) {
		uint32_t owner = ld_rlx(word);

		if (owner == 0 && cas(word, &owner, me))
			return;
		if (plat_backoff(&step) && owner != 0 && take_over(word, owner, me, rank))
			return;
	}
}

bool
lock_mine(const uint32_t *word)
{
	return slot_tls != NULL && ld_rlx(word) == slot_tls->sl_key;
}

void
lock_note(struct slot *me, const void *word, uint32_t rank)
{
	uint32_t n = me->sl_nheld;

	ASSERT_AT(2, rank >= RANK_PROC && rank <= RANK_HEAP);
	ASSERT_AT(2, n < sizeof(me->sl_held) / sizeof(me->sl_held[0]));
	ASSERT_AT(2, n == 0 || me->sl_held[n - 1].h_rank < rank);
	me->sl_held[n].h_lock = word;
	me->sl_held[n].h_rank = rank;
	me->sl_nheld = n + 1;
}

void
lock_forget(struct slot *me, const void *word)
{
	ASSERT_AT(2, me->sl_nheld > 0);
	/* Mostly the last one taken; reader locks may be dropped out of turn. */
	for (uint32_t i = me->sl_nheld; i-- > 0;) {
		if (me->sl_held[i].h_lock != word)
			continue;
		for (; i + 1 < me->sl_nheld; i++)
			me->sl_held[i] = me->sl_held[i + 1];
		me->sl_nheld--;
		return;
	}
	ASSERT_AT(2, false);
}
