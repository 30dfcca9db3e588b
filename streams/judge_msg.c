/* SPDX-License-Identifier: BSD-2-Clause */
/* judge_msg.c: V4 of judge.h: messages. */
#include "cache.h"
#include "claim.h"
#include "judge.h"
#include "passfp.h"

#include <string.h>

/* The object in which a data block lies, as allocb() cut it. */
static bool
object(const dblk_t *dp, bool *fresh)
{
	*fresh = false;
	if (!MSG_CACHED)
		return claim_share(dp, sizeof(*dp), CL_DATA, fresh);
	/* Its class is believed only to find out how large it would be. */
	if (!judge_carved(dp, sizeof(*dp)) || dp->db_class >= CLASS_PAIR || dp->db_class == 0)
		return false;
	return claim_share((const char *)dp - BLK_HDR, cache_root->cr_cache[dp->db_class].c_size,
		CL_BLOCK, fresh);
}

/* A descriptor on its way. */
static bool
passed_sound(const dblk_t *dp)
{
	const struct passed *pa = (const struct passed *)(const void *)dp->db_base;

	if (dp->db_lim - dp->db_base != sizeof(*pa) || !claim_take(pa, sizeof(*pa), CL_DATA))
		return false;
	return pa->pa_file != NULL ? judge_file(pa->pa_file) :
		memchr(pa->pa_ticket.tk_box, '\0', sizeof(pa->pa_ticket.tk_box)) != NULL;
}

static bool
buffer_sound(const dblk_t *dp)
{
	size_t size = (size_t)(dp->db_lim - dp->db_base);

	if (dp->db_lim < dp->db_base || dp->db_flags > (DB_EXT | DB_HEAP | DB_PASS))
		return false;
	if (dp->db_flags & DB_PASS)
		return passed_sound(dp);
	if (dp->db_flags & DB_HEAP)
		return claim_take(dp->db_base, size, CL_DATA);
	/* Memory of a program's own was copied when it was queued (msg_share). */
	if (dp->db_flags & DB_EXT)
		return judge_carved(dp->db_base, size);
	return MSG_CACHED && msg_as_cut(dp);
}

/* A header leads to dp: once more, or for the first time. */
static bool
data_sound(const dblk_t *dp)
{
	unsigned int headers;
	bool fresh;

	if (!object(dp, &fresh))
		return false;
	headers = claim_count(dp);
	return headers <= ld_rlx(&dp->db_ref) && (headers > 1 || buffer_sound(dp));
}

/* A header that was cut with data, once; *seen: it was met before. */
static bool
own_header(const mblk_t *mp, bool *seen)
{
	const dblk_t *dp = (const dblk_t *)(const void *)((const char *)mp + BLK_HDR);
	uint32_t parts;
	bool fresh;

	if (!judge_carved(mp, BLK_DATA) || !object(dp, &fresh))
		return false;
	*seen = claim_count(mp) > 1;
	parts = ld_rlx(&dp->db_parts) & (PARTS_SLOW - 1u);
	/* msg.h, invariant 1: a detached header and its own data are two. */
	return parts == 2 || (parts == 1 && (mp->b_datap == dp || ld_rlx(&dp->db_ref) == 0));
}

static bool
block_sound(const mblk_t *mp, bool *seen)
{
	const dblk_t *dp;

	*seen = false;
	if (!judge_carved(mp, sizeof(*mp)))
		return false;
	if (mp->b_kind == KIND_BARE) {
		*seen = claim_is(mp, CL_BARE);
		if (!*seen && !claim_take(mp, sizeof(*mp), CL_BARE))
			return false;
	} else if (mp->b_kind != KIND_BLOCK || !MSG_CACHED || !own_header(mp, seen)) {
		return false;
	}
	if (*seen)
		return true;
	dp = mp->b_datap;
	return data_sound(dp) && mp->b_rptr >= dp->db_base && mp->b_wptr >= mp->b_rptr &&
		mp->b_wptr <= dp->db_lim;
}

/* All its blocks; *seen: it, or one of them, was met before. */
static bool
whole(const mblk_t *mp, bool *seen)
{
	for (; mp != NULL; mp = mp->b_cont)
		if (!block_sound(mp, seen) || *seen)
			break;
	return mp == NULL || *seen;
}

bool
judge_msg(const mblk_t *mp)
{
	bool seen = false;

	return mp == NULL || (whole(mp, &seen) && !seen);
}

bool
judge_list(const mblk_t *mp, const mblk_t *last, enum listed how)
{
	const mblk_t *prev = NULL;
	bool seen = false;

	if (mp == NULL)
		return how != LIST_BOTH || last == NULL;
	for (; mp != NULL; prev = mp, mp = mp->b_next) {
		if (!whole(mp, &seen) || (how == LIST_BOTH && mp->b_prev != prev))
			return false;
		if (seen)
			return how == LIST_BROKEN;
	}
	return how == LIST_BROKEN || prev == last;
}
