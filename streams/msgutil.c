/* SPDX-License-Identifier: BSD-2-Clause */
/* msgutil.c: the bytes of a message: sizes, trimming, pulling up. */
#include "msg.h"

#include <string.h>

static size_t
len_of(const mblk_t *bp)
{
	ASSERT_AT(2, bp->b_rptr <= bp->b_wptr);
	return (size_t)(bp->b_wptr - bp->b_rptr);
}

size_t
msgdsize(mblk_t *mp)
{
	size_t sum = 0;

	for (; mp != NULL; mp = mp->b_cont)
		if (msg_type(mp) == M_DATA)
			sum += len_of(mp);
	return sum;
}

/* Bytes in the leading blocks of mp that are of its first block's type. */
static size_t
same_type_len(const mblk_t *mp)
{
	unsigned char type = msg_type(mp);
	size_t sum = 0;

	for (; mp != NULL && msg_type(mp) == type; mp = mp->b_cont)
		sum += len_of(mp);
	return sum;
}

static void
trim_front(mblk_t *mp, size_t n)
{
	for (; n > 0; mp = mp->b_cont) {
		size_t take = len_of(mp) < n ? len_of(mp) : n;

		mp->b_rptr += take;
		n -= take;
	}
}

/* The last bytes of the same type as the last block. */
static int
trim_back(mblk_t *mp, size_t n)
{
	mblk_t *run = mp; /* first block of the last run of one type */
	size_t keep;

	for (mblk_t *bp = mp; bp != NULL; bp = bp->b_cont)
		if (msg_type(bp) != msg_type(run))
			run = bp;
	if (same_type_len(run) < n)
		return 0;
	keep = same_type_len(run) - n;
	for (; run != NULL; run = run->b_cont) {
		if (len_of(run) > keep)
			run->b_wptr = run->b_rptr + keep;
		keep -= len_of(run);
	}
	return 1;
}

int
adjmsg(mblk_t *mp, ssize_t len)
{
	if (mp == NULL)
		return 0;
	if (len < 0)
		return trim_back(mp, (size_t)0 - (size_t)len);
	if (same_type_len(mp) < (size_t)len)
		return 0;
	trim_front(mp, (size_t)len);
	return 1;
}

/* Move len bytes from the blocks of *mpp to bp, freeing those used up. */
static mblk_t *
gather(mblk_t *bp, mblk_t *mp, size_t len)
{
	while (len > 0) {
		size_t n = len_of(mp) < len ? len_of(mp) : len;

		ASSERT(n <= (size_t)(bp->b_datap->db_lim - bp->b_wptr));
		memcpy(bp->b_wptr, mp->b_rptr, n);
		bp->b_wptr += n;
		mp->b_rptr += n;
		len -= n;
		if (len_of(mp) == 0 && (len > 0 || n > 0)) {
			mblk_t *rest = mp->b_cont;

			freeb(mp);
			mp = rest;
		}
	}
	return mp;
}

static bool
aligned(const unsigned char *p)
{
	return ((uintptr_t)p & (sizeof(long) - 1)) == 0;
}

int
pullupmsg(mblk_t *mp, ssize_t len)
{
	size_t have, want;
	mblk_t *bp;

	if (mp == NULL)
		return 0;
	have = same_type_len(mp);
	want = len < 0 ? have : (size_t)len;
	if (len < -1 || want > have)
		return 0;
	if (len_of(mp) >= want && (len >= 0 || mp->b_cont == NULL || len_of(mp) == have) &&
	    aligned(mp->b_rptr))
		return 1;
	bp = allocb(want, BPRI_MED);
	if (bp == NULL)
		return 0;
	ASSERT(ld_rlx(&bp->b_datap->db_ref) == 1 && bp->b_cont == NULL);
	/* bp's header carries the old data away; mp keeps its identity. */
	bp->b_datap->db_type = msg_type(mp);
	msg_swapdata(mp, bp);
	bp->b_rptr = mp->b_rptr;
	bp->b_wptr = mp->b_wptr;
	bp->b_cont = mp->b_cont;
	mp->b_rptr = mp->b_wptr = mp->b_datap->db_base;
	mp->b_cont = gather(mp, bp, want);
	ASSERT((size_t)(mp->b_wptr - mp->b_rptr) == want);
	ASSERT_AT(3, msg_valid(mp));
	return 1;
}

mblk_t *
msgpullup(mblk_t *mp, ssize_t len)
{
	size_t have, want;
	mblk_t *bp;

	if (mp == NULL)
		return NULL;
	have = same_type_len(mp);
	want = len < 0 ? have : (size_t)len;
	if (len < -1 || want > have || (bp = allocb(want, BPRI_MED)) == NULL)
		return NULL;
	bp->b_datap->db_type = msg_type(mp);
	bp->b_band = mp->b_band;
	bp->b_flag = mp->b_flag;
	while (want > 0) {
		size_t n = len_of(mp) < want ? len_of(mp) : want;

		ASSERT(n <= (size_t)(bp->b_datap->db_lim - bp->b_wptr));
		memcpy(bp->b_wptr, mp->b_rptr, n);
		bp->b_wptr += n;
		want -= n;
		if (n < len_of(mp)) {
			/* The rest of a block that was split. */
			bp->b_cont = copymsg(mp);
			if (bp->b_cont == NULL) {
				freeb(bp);
				return NULL;
			}
			bp->b_cont->b_rptr += n;
			return bp;
		}
		mp = mp->b_cont;
	}
	if (mp != NULL && (bp->b_cont = copymsg(mp)) == NULL) {
		freeb(bp);
		return NULL;
	}
	return bp;
}
