/* SPDX-License-Identifier: BSD-2-Clause */
/* msg_cache.c: allocb, freeb and dupb on the buffer cache. */
#include "msg.h"

#if USTR_BUFFER_CACHE && !USTR_HEAP_MALLOC

#include "cache.h"
#include "heap.h"

#include <string.h>

#define CLASS_HDR 0
#define CLASS_FAST 1
#define CLASS_256 2
#define CLASS_TOP 14 /* 1 MiB */
#define POISON 0xdb

_Static_assert(sizeof(mblk_t) <= BLK_HDR, "the header fits its line");
_Static_assert(sizeof(dblk_t) == 32, "data block and 32 bytes share a line");
_Static_assert(CLASS_TOP < NCLASS, "every class has a magazine pair");

/* The data block that was cut with header mp. */
INLINE dblk_t *
own(mblk_t *mp)
{
	return (dblk_t *)((char *)mp + BLK_HDR);
}

INLINE mblk_t *
header_of(dblk_t *dp)
{
	return (mblk_t *)((char *)dp - BLK_HDR);
}

INLINE unsigned int
class_of(size_t size)
{
	if (likely(size <= FASTBUF))
		return CLASS_FAST;
	if (size <= 256)
		return CLASS_256;
	return 64 - (unsigned int)__builtin_clzl(size - 1) - 6;
}

static size_t
room_of(unsigned int class)
{
	ASSERT(class >= CLASS_FAST && class <= CLASS_TOP);
	return class == CLASS_FAST ? FASTBUF : (size_t)64 << class;
}

/* ---- construction ------------------------------------------------------------- */

static void
construct(mblk_t *mp, unsigned int class)
{
	dblk_t *dp = own(mp);

	ASSERT(class >= CLASS_FAST && class <= CLASS_TOP);
	mp->b_datap = dp;
	mp->b_kind = KIND_BLOCK;
	dp->db_base = (unsigned char *)mp + (class == CLASS_FAST ? BLK_HDR + sizeof(*dp) : BLK_DATA);
	dp->db_lim = dp->db_base + room_of(class);
	dp->db_class = (unsigned char)class;
	dp->db_flags = 0;
	dp->db_frtn = 0;
	st_rlx(&dp->db_ref, 0u);
	st_rlx(&dp->db_parts, (unsigned char)1);
}

static void
construct_bare(void *p)
{
	mblk_t *mp = p;

	mp->b_kind = KIND_BARE;
}

/* One constructor per class: the class is all it needs to know. */
#define CONSTRUCT(c) static void construct_##c(void *p) { construct(p, c); }
CONSTRUCT(1) CONSTRUCT(2) CONSTRUCT(3) CONSTRUCT(4) CONSTRUCT(5)
CONSTRUCT(6) CONSTRUCT(7) CONSTRUCT(8) CONSTRUCT(9) CONSTRUCT(10)
CONSTRUCT(11) CONSTRUCT(12) CONSTRUCT(13) CONSTRUCT(14)

bool
msg_as_cut(const dblk_t *dp)
{
	const unsigned char *mp = (const unsigned char *)dp - BLK_HDR;

	return dp->db_base == mp + (dp->db_class == CLASS_FAST ? BLK_HDR + sizeof(*dp) : BLK_DATA) &&
		dp->db_lim == dp->db_base + room_of(dp->db_class);
}

bool
msg_constructed(unsigned int class, const void *p)
{
	const mblk_t *mp = p;
	const dblk_t *dp = (const dblk_t *)(const void *)((const char *)p + BLK_HDR);

	if (class == CLASS_HDR)
		return mp->b_kind == KIND_BARE;
	return class > CLASS_TOP || (mp->b_datap == dp && mp->b_kind == KIND_BLOCK &&
		dp->db_class == class && dp->db_parts == 1 && dp->db_flags == 0 && msg_as_cut(dp));
}

size_t
msg_object_size(unsigned int class)
{
	return class == CLASS_HDR ? BLK_HDR : class > CLASS_TOP ? 0 :
		class == CLASS_FAST ? BLK_HDR + sizeof(dblk_t) + FASTBUF : BLK_DATA + room_of(class);
}

/* A thread may keep two magazines of a class: 64 KiB each or a few objects. */
static uint32_t
magcap(size_t size)
{
	size_t n = (65536 + MAG_MAX * BLK_DATA) / size;

	return n > MAG_MAX ? MAG_MAX : n < 2 ? 2 : (uint32_t)n;
}

static void
setup(unsigned int class, size_t size, void (*constructor)(void *))
{
	cache_setup(class, size, magcap(size), constructor);
}

void
msg_init(void)
{
	static void (*const constructors[])(void *) = { construct_bare, construct_1,
		construct_2, construct_3, construct_4, construct_5, construct_6, construct_7,
		construct_8, construct_9, construct_10, construct_11, construct_12,
		construct_13, construct_14 };

	for (unsigned int c = CLASS_HDR; c <= CLASS_TOP; c++)
		setup(c, msg_object_size(c), constructors[c]);
}

/* ---- allocation ------------------------------------------------------------------ */

INLINE void
fresh(mblk_t *mp, dblk_t *dp)
{
	ASSERT(dp->db_flags == 0 && mp->b_kind == KIND_BLOCK); /* invariant 2 */
	mp->b_next = mp->b_prev = mp->b_cont = NULL;
	mp->b_rptr = mp->b_wptr = dp->db_base;
	mp->b_band = 0;
	mp->b_flag = 0;
	st_rlx(&dp->db_ref, 1u);
	dp->db_type = M_DATA;
}

static NOINLINE mblk_t *
alloc_huge(size_t size)
{
	unsigned char *buf = heap_alloc(size);
	mblk_t *mp = NULL;

	if (buf != NULL)
		mp = msg_wrap(buf, size, DB_HEAP, 0);
	if (mp == NULL)
		heap_free(buf, size);
	return mp;
}

mblk_t *
allocb(size_t size, unsigned int pri)
{
	struct slot *me = slot_self();
	mblk_t *mp;

	(void)pri;
	if (unlikely(size > MSG_MAXCLASS))
		return alloc_huge(size);
	if (unlikely(me == NULL || heap_fails()))
		return NULL;
	mp = cache_alloc(me, class_of(size));
	if (unlikely(mp == NULL))
		return NULL;
	ASSERT(mp->b_datap == own(mp) && ld_rlx(&own(mp)->db_parts) == 1);
	ASSERT(ld_rlx(&own(mp)->db_ref) == 0 || !DEBUG_ON(1));
	ASSERT(own(mp)->db_class == class_of(size) &&
		(size_t)(own(mp)->db_lim - own(mp)->db_base) >= size);
	fresh(mp, own(mp));
	return mp;
}

mblk_t *
msg_wrap(unsigned char *buf, size_t size, unsigned int flags, uintptr_t frtn)
{
	mblk_t *mp = allocb(0, BPRI_MED);
	dblk_t *dp;

	ASSERT(buf != NULL && flags <= (DB_EXT | DB_HEAP | DB_PASS));
	ASSERT(!(flags & DB_HEAP) || !(flags & DB_EXT)); /* one owner */
	if (mp == NULL)
		return NULL;
	dp = own(mp);
	dp->db_base = mp->b_rptr = mp->b_wptr = buf;
	dp->db_lim = buf + size;
	dp->db_flags = (unsigned char)flags;
	dp->db_frtn = frtn;
	st_rlx(&dp->db_parts, (unsigned char)(1 | PARTS_SLOW));
	return mp;
}

/* ---- freeing ------------------------------------------------------------------------ */

/* Debug: what is freed cannot be used unnoticed; b_owner tells who did it. */
INLINE void
poison(struct slot *me, mblk_t *mp, dblk_t *dp)
{
	if (!DEBUG_ON(1))
		return;
	mp->b_owner = me->sl_id;
	if (dp == NULL)
		return;
	ASSERT(ld_rlx(&dp->db_ref) == 1);
	st_rlx(&dp->db_ref, 0u);
	memset(dp->db_base, POISON,
		DEBUG_ON(3) ? (size_t)(dp->db_lim - dp->db_base) : 16);
}

/* All parts of the object of dp are idle: back to its cache as constructed. */
static void
object_free(struct slot *me, dblk_t *dp)
{
	mblk_t *mp = header_of(dp);

	ASSERT(mp->b_kind == KIND_BLOCK && ld_rlx(&dp->db_ref) <= 1); /* nobody else's */
	construct(mp, dp->db_class);
	mp->b_owner = me->sl_id;
	cache_free(me, dp->db_class, mp);
}

/* One part of the object less. */
static void
part_rele(struct slot *me, dblk_t *dp)
{
	ASSERT((ld_rlx(&dp->db_parts) & ~PARTS_SLOW) > 0 &&
		(ld_rlx(&dp->db_parts) & ~PARTS_SLOW) <= 2);
	if (ld_acq(&dp->db_parts) == 1 || fas(&dp->db_parts, (unsigned char)1) == 1)
		object_free(me, dp);
}

static void
data_rele(struct slot *me, dblk_t *dp)
{
	if (ld_acq(&dp->db_ref) != 1 && fas(&dp->db_ref, 1u) != 1)
		return;
	EQUIV(dp->db_flags != 0, ld_rlx(&dp->db_parts) & PARTS_SLOW);
	ASSERT(dp->db_base <= dp->db_lim);
	if (dp->db_flags & DB_HEAP)
		heap_free(dp->db_base, (size_t)(dp->db_lim - dp->db_base));
	if (dp->db_flags & DB_EXT)
		msg_ext_free(dp);
	if (dp->db_flags & DB_PASS)
		msg_pass_hook(dp->db_base);
	if (dp->db_flags != 0)
		f_and(&dp->db_parts, (unsigned char)~PARTS_SLOW);
	part_rele(me, dp);
}

static NOINLINE void
free_slow(struct slot *me, mblk_t *mp)
{
	dblk_t *dp = mp->b_datap;
	bool bare = mp->b_kind == KIND_BARE, detached = !bare && own(mp) != dp;

	ASSERT(ld_rlx(&dp->db_ref) > 0);
	ASSERT(mp->b_kind == KIND_BARE || mp->b_kind == KIND_BLOCK);
	if (bare) {
		poison(me, mp, NULL);
		cache_free(me, CLASS_HDR, mp);
	} else if (detached) {
		part_rele(me, own(mp));
	}
	data_rele(me, dp);
}

void
freeb(mblk_t *mp)
{
	struct slot *me = slot_self();
	dblk_t *dp = mp->b_datap;

	if (unlikely(me == NULL))
		return;
	if (likely(dp == own(mp) && ld_acq(&dp->db_ref) == 1 && ld_rlx(&dp->db_parts) == 1)) {
		ASSERT(mp->b_kind == KIND_BLOCK && dp->db_flags == 0);
		poison(me, mp, dp);
		cache_free(me, dp->db_class, mp);
		return;
	}
	free_slow(me, mp);
}

/* ---- sharing ---------------------------------------------------------------------------- */

mblk_t *
dupb(mblk_t *bp)
{
	struct slot *me = slot_self();
	mblk_t *mp;

	if (unlikely(me == NULL || heap_fails()))
		return NULL;
	mp = cache_alloc(me, CLASS_HDR);
	if (unlikely(mp == NULL))
		return NULL;
	ASSERT(mp->b_kind == KIND_BARE);
	mp->b_next = mp->b_prev = mp->b_cont = NULL;
	mp->b_rptr = bp->b_rptr;
	mp->b_wptr = bp->b_wptr;
	mp->b_datap = bp->b_datap;
	mp->b_band = bp->b_band;
	mp->b_flag = bp->b_flag;
	ASSERT(ld_rlx(&bp->b_datap->db_ref) > 0);
	ASSERT(ld_rlx(&bp->b_datap->db_ref) < UINT32_MAX); /* it does not wrap */
	faa(&bp->b_datap->db_ref, 1u);
	return mp;
}

/* Point header mp at dp, keeping db_parts of its own object true. */
static void
set_data(mblk_t *mp, dblk_t *dp)
{
	ASSERT(mp->b_kind == KIND_BARE || mp->b_kind == KIND_BLOCK);
	if (mp->b_kind == KIND_BLOCK && own(mp) == mp->b_datap)
		faa(&own(mp)->db_parts, (unsigned char)1);
	else if (mp->b_kind == KIND_BLOCK && own(mp) == dp)
		fas(&dp->db_parts, (unsigned char)1);
	mp->b_datap = dp;
	ASSERT(ld_rlx(&dp->db_ref) > 0);
	IMPLY(mp->b_kind == KIND_BLOCK && own(mp) != dp, ld_rlx(&own(mp)->db_parts) > 0);
}

void
msg_swapdata(mblk_t *a, mblk_t *b)
{
	dblk_t *da = a->b_datap;

	ASSERT(a != b);
	set_data(a, b->b_datap);
	set_data(b, da);
}

#else
_Static_assert(1, "the no-cache build has msg_plain.c");
#endif
