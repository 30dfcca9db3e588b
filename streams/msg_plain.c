/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * msg_plain.c: allocb, freeb and dupb without a buffer cache: message block,
 * data block and buffer are allocated one by one, as systems did before block
 * caches -- from the arena's heap, or from malloc for one-process work under
 * valgrind and the sanitizers.
 */
#include "msg.h"

#if !USTR_BUFFER_CACHE || USTR_HEAP_MALLOC

#include "heap.h"

#include <stdlib.h>
#include <string.h>

#define POISON 0xdb

void
msg_init(void)
{
}

static void *
blk_alloc(size_t size)
{
#if USTR_HEAP_MALLOC
	return heap_fails() ? NULL : malloc(size);
#else
	return heap_alloc(size);
#endif
}

static void
blk_free(void *p, size_t size)
{
#if USTR_HEAP_MALLOC
	(void)size;
	free(p);
#else
	heap_free(p, size);
#endif
}

/* No object has a buffer of its own, and none is kept. */
bool
msg_as_cut(const dblk_t *dp)
{
	(void)dp;
	return false;
}

bool
msg_constructed(unsigned int class, const void *p)
{
	(void)class, (void)p;
	return true;
}

size_t
msg_object_size(unsigned int class)
{
	(void)class;
	return 0;
}

static mblk_t *
header_new(dblk_t *dp)
{
	mblk_t *mp = blk_alloc(sizeof(*mp));

	if (mp == NULL)
		return NULL;
	ASSERT(ld_rlx(&dp->db_ref) > 0);
	mp->b_next = mp->b_prev = mp->b_cont = NULL;
	mp->b_rptr = mp->b_wptr = dp->db_base;
	mp->b_datap = dp;
	mp->b_band = 0;
	mp->b_kind = KIND_BARE;
	mp->b_flag = 0;
	mp->b_owner = 0;
	return mp;
}

mblk_t *
msg_wrap(unsigned char *buf, size_t size, unsigned int flags, uintptr_t frtn)
{
	dblk_t *dp = blk_alloc(sizeof(*dp));
	mblk_t *mp;

	ASSERT(buf != NULL && flags <= (DB_EXT | DB_HEAP | DB_PASS));
	ASSERT(!(flags & DB_HEAP) || !(flags & DB_EXT)); /* one owner */
	if (dp == NULL)
		return NULL;
	dp->db_base = buf;
	dp->db_lim = buf + size;
	dp->db_type = M_DATA;
	dp->db_class = 0;
	dp->db_flags = (unsigned char)flags;
	dp->db_frtn = frtn;
	st_rlx(&dp->db_ref, 1u);
	mp = header_new(dp);
	if (mp == NULL)
		blk_free(dp, sizeof(*dp));
	return mp;
}

mblk_t *
allocb(size_t size, unsigned int pri)
{
	size_t room = size == 0 ? 1 : size;
	unsigned char *buf;
	mblk_t *mp;

	(void)pri;
	if (unlikely(slot_self() == NULL || size > HEAP_MAX))
		return NULL;
	buf = blk_alloc(room);
	if (buf == NULL)
		return NULL;
	mp = msg_wrap(buf, room, DB_HEAP, 0);
	if (mp == NULL)
		blk_free(buf, room);
	return mp;
}

void
freeb(mblk_t *mp)
{
	dblk_t *dp = mp->b_datap;

	if (unlikely(slot_self() == NULL))
		return;
	ASSERT(ld_rlx(&dp->db_ref) > 0);
	ASSERT(dp->db_base <= dp->db_lim && mp->b_kind == KIND_BARE);
	blk_free(mp, sizeof(*mp));
	if (ld_acq(&dp->db_ref) != 1 && fas(&dp->db_ref, 1u) != 1)
		return;
	if (dp->db_flags & DB_HEAP) {
		if (DEBUG_ON(1))
			memset(dp->db_base, POISON, DEBUG_ON(3) || dp->db_lim - dp->db_base < 16 ?
				(size_t)(dp->db_lim - dp->db_base) : 16);
		blk_free(dp->db_base, (size_t)(dp->db_lim - dp->db_base));
	} else if (dp->db_flags & DB_EXT) {
		msg_ext_free(dp);
	}
	if (dp->db_flags & DB_PASS)
		msg_pass_hook(dp->db_base);
	blk_free(dp, sizeof(*dp));
}

mblk_t *
dupb(mblk_t *bp)
{
	mblk_t *mp = slot_self() != NULL ? header_new(bp->b_datap) : NULL;

	if (mp == NULL)
		return NULL;
	mp->b_rptr = bp->b_rptr;
	mp->b_wptr = bp->b_wptr;
	mp->b_band = bp->b_band;
	mp->b_flag = bp->b_flag;
	ASSERT(ld_rlx(&bp->b_datap->db_ref) < UINT32_MAX); /* it does not wrap */
	faa(&bp->b_datap->db_ref, 1u);
	return mp;
}

void
msg_swapdata(mblk_t *a, mblk_t *b)
{
	dblk_t *da = a->b_datap;

	ASSERT(a != b && a->b_datap != NULL && b->b_datap != NULL);
	a->b_datap = b->b_datap;
	b->b_datap = da;
}

#else
_Static_assert(1, "the cache build has msg_cache.c");
#endif
