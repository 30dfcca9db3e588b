/* SPDX-License-Identifier: BSD-2-Clause */
/* msg.c: whole messages: freeing, duplicating, copying, chaining. */
#include "msg.h"
#include "arena.h"

#include <string.h>

void
freemsg(mblk_t *mp)
{
	while (mp != NULL) {
		mblk_t *next = mp->b_cont;

		freeb(mp);
		mp = next;
	}
}

int
testb(size_t size, unsigned int pri)
{
	mblk_t *mp = allocb(size, pri);

	if (mp == NULL)
		return 0;
	freeb(mp);
	return 1;
}

/* A message made of one(bp) for every block bp of mp, or NULL. */
static mblk_t *
each(mblk_t *mp, mblk_t *(*one)(mblk_t *))
{
	mblk_t *first = NULL, **link = &first;

	for (; mp != NULL; mp = mp->b_cont) {
		mblk_t *bp = one(mp);

		if (bp == NULL) {
			freemsg(first);
			return NULL;
		}
		ASSERT(bp->b_cont == NULL);
		*link = bp;
		link = &bp->b_cont;
	}
	return first;
}

mblk_t *
dupmsg(mblk_t *mp)
{
	return each(mp, dupb);
}

mblk_t *
copyb(mblk_t *bp)
{
	dblk_t *dp = bp->b_datap;
	size_t room = (size_t)(dp->db_lim - dp->db_base);
	size_t off = (size_t)(bp->b_rptr - dp->db_base);
	size_t n = (size_t)(bp->b_wptr - bp->b_rptr);
	mblk_t *mp = allocb(room, BPRI_MED);

	ASSERT(ld_rlx(&dp->db_ref) > 0 && off + n <= room);
	if (mp == NULL)
		return NULL;
	ASSERT((size_t)(mp->b_datap->db_lim - mp->b_rptr) >= room);
	mp->b_rptr += off;
	mp->b_wptr = mp->b_rptr + n;
	memcpy(mp->b_rptr, bp->b_rptr, n);
	mp->b_band = bp->b_band;
	mp->b_flag = bp->b_flag;
	mp->b_datap->db_type = dp->db_type;
	return mp;
}

mblk_t *
copymsg(mblk_t *mp)
{
	return each(mp, copyb);
}

void
linkb(mblk_t *mp, mblk_t *bp)
{
	if (mp == NULL)
		return;
	while (mp->b_cont != NULL)
		mp = mp->b_cont;
	mp->b_cont = bp;
}

mblk_t *
unlinkb(mblk_t *mp)
{
	mblk_t *rest;

	if (mp == NULL)
		return NULL;
	rest = mp->b_cont;
	mp->b_cont = NULL;
	return rest;
}

mblk_t *
rmvb(mblk_t *mp, mblk_t *bp)
{
	for (mblk_t **link = &mp; *link != NULL; link = &(*link)->b_cont) {
		if (*link != bp)
			continue;
		*link = bp->b_cont;
		bp->b_cont = NULL;
		return mp;
	}
	return (mblk_t *)-1;
}

int
datamsg(unsigned char type)
{
	return type == M_DATA || type == M_PROTO || type == M_PCPROTO || type == M_DELAY;
}

bool
msg_valid(const mblk_t *mp)
{
	for (; mp != NULL; mp = mp->b_cont) {
		const dblk_t *dp = mp->b_datap;

		if (dp == NULL || ld_rlx(&dp->db_ref) == 0 || dp->db_base > dp->db_lim ||
		    mp->b_rptr < dp->db_base || mp->b_wptr > dp->db_lim ||
		    mp->b_rptr > mp->b_wptr)
			return false;
	}
	return true;
}
