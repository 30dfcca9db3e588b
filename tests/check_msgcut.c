/* SPDX-License-Identifier: BSD-2-Clause */
/* check_msgcut.c: the routines that cut and join messages. */
#include "msglib.h"

#include <limits.h>

/* ---- cutting and joining ---------------------------------------------------------- */

START_TEST(linkb_appends_at_the_very_end)
{
	mblk_t *mp = RAMPS(M_DATA, 3, 4), *tail = ramp(M_DATA, 5, 5, 7);
	mblk_t *more = ramp(M_DATA, 1, 1, 12);

	linkb(tail, more);
	linkb(mp, tail);
	ck_assert(is_ramp(mp, 0, 13));
	ck_assert_ptr_eq(mp->b_cont->b_cont, tail);
	ck_assert_ptr_eq(tail->b_cont, more);
	freemsg(mp);
}
END_TEST

START_TEST(linkb_takes_null_on_either_side)
{
	mblk_t *mp = RAMPS(M_DATA, 3);

	linkb(mp, NULL);
	ck_assert_ptr_null(mp->b_cont);
	linkb(NULL, mp);
	ck_assert_ptr_null(mp->b_cont);
	linkb(NULL, NULL);
	ck_assert(is_ramp(mp, 0, 3));
	freemsg(mp);
}
END_TEST

START_TEST(unlinkb_returns_the_rest_and_keeps_the_block)
{
	mblk_t *mp = RAMPS(M_DATA, 3, 4, 5), *rest, *second = mp->b_cont;

	rest = unlinkb(mp);
	ck_assert_ptr_eq(rest, second);
	ck_assert_ptr_null(mp->b_cont);
	ck_assert(is_ramp(mp, 0, 3));
	ck_assert(is_ramp(rest, 3, 12));
	ck_assert_ptr_null(unlinkb(mp));
	freemsg(mp);
	freemsg(rest);
}
END_TEST

START_TEST(rmvb_takes_out_the_first_a_middle_and_the_last_block)
{
	mblk_t *mp, *bp[3];
	int i, k;

	for (i = 0; i < 3; i++) {
		mp = RAMPS(M_DATA, 3, 4, 5);
		bp[0] = mp;
		bp[1] = mp->b_cont;
		bp[2] = mp->b_cont->b_cont;
		ck_assert_ptr_eq(rmvb(mp, bp[i]), i == 0 ? bp[1] : bp[0]);
		ck_assert_ptr_null(bp[i]->b_cont);
		ck_assert_uint_eq(blen(bp[i]), 3 + (size_t)i);
		ck_assert_uint_eq(bp[i]->b_datap->db_ref, 1);
		k = i == 0 ? 1 : 0;
		ck_assert_ptr_eq(bp[k]->b_cont, bp[3 - i - k]);
		ck_assert_ptr_null(bp[3 - i - k]->b_cont);
		freemsg(bp[i]);
		freemsg(bp[k]);
	}
}
END_TEST

START_TEST(rmvb_of_the_only_block_gives_null)
{
	mblk_t *mp = RAMPS(M_DATA, 3);

	ck_assert_ptr_null(rmvb(mp, mp));
	ck_assert(is_ramp(mp, 0, 3));
	freemsg(mp);
}
END_TEST

START_TEST(rmvb_of_a_strange_block_gives_minus_one_and_changes_nothing)
{
	mblk_t *mp = RAMPS(M_DATA, 3, 4), *other = RAMPS(M_DATA, 5, 6);

	ck_assert_ptr_eq(rmvb(mp, other), (mblk_t *)-1);
	ck_assert_ptr_eq(rmvb(mp, other->b_cont), (mblk_t *)-1);
	ck_assert(is_ramp(mp, 0, 7));
	ck_assert(is_ramp(other, 0, 11));
	freemsg(mp);
	freemsg(other);
}
END_TEST

START_TEST(adjmsg_trims_the_front_across_blocks)
{
	mblk_t *mp;
	int n;

	for (n = 0; n <= 14; n++) {
		mp = RAMPS(M_DATA, 3, 4, 0, 7);
		ck_assert_int_eq(adjmsg(mp, n), 1);
		ck_assert(is_ramp(mp, n, 14));
		freemsg(mp);
	}
}
END_TEST

START_TEST(adjmsg_trims_the_back_across_blocks)
{
	mblk_t *mp;
	int n;

	for (n = 0; n <= 14; n++) {
		mp = RAMPS(M_DATA, 3, 4, 0, 7);
		ck_assert_int_eq(adjmsg(mp, -n), 1);
		ck_assert(is_ramp(mp, 0, 14 - n));
		freemsg(mp);
	}
}
END_TEST

START_TEST(adjmsg_refuses_more_than_there_is_and_changes_nothing)
{
	static const ssize_t lens[] = {15, 1000, SSIZE_MAX, -15, -1000, -SSIZE_MAX,
	    -SSIZE_MAX - 1, INT_MAX, INT_MIN};
	mblk_t *mp = RAMPS(M_DATA, 3, 4, 0, 7);
	size_t i;

	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		ck_assert_msg(adjmsg(mp, lens[i]) == 0, "adjmsg by %zd", lens[i]);
		ck_assert(is_ramp(mp, 0, 14));
	}
	freemsg(mp);
}
END_TEST

START_TEST(adjmsg_stays_within_blocks_of_one_type)
{
	mblk_t *mp = RAMPS(M_PROTO, 4);

	linkb(mp, ramp(M_DATA, 6, 6, 4));
	ck_assert_int_eq(adjmsg(mp, 5), 0);
	ck_assert_int_eq(adjmsg(mp, -7), 0);
	ck_assert(is_ramp(mp, 0, 10));
	ck_assert_int_eq(adjmsg(mp, -6), 1);
	ck_assert(is_ramp(mp, 0, 4));
	ck_assert_int_eq(adjmsg(mp, 3), 1);
	ck_assert(is_ramp(mp, 3, 4));
	ck_assert_uint_eq(mp->b_datap->db_type, M_PROTO);
	freemsg(mp);
}
END_TEST

START_TEST(adjmsg_does_not_touch_another_view)
{
	mblk_t *mp = RAMPS(M_DATA, 3, 4, 7), *dup = dupmsg(mp);

	ck_assert_int_eq(adjmsg(mp, 5), 1);
	ck_assert_int_eq(adjmsg(mp, -5), 1);
	ck_assert(is_ramp(mp, 5, 9));
	ck_assert(is_ramp(dup, 0, 14));
	freemsg(mp);
	churn();
	ck_assert(is_ramp(dup, 0, 14));
	freemsg(dup);
}
END_TEST

START_TEST(pullupmsg_makes_the_first_bytes_contiguous_in_place)
{
	mblk_t *mp;
	ssize_t len;

	for (len = -1; len <= 214; len++) {
		mp = RAMPS(M_DATA, 3, 4, 0, 7, 100, 100);
		mp->b_band = 5;
		mp->b_flag = MSGMARK;
		mp->b_rptr++; /* misaligned, and a byte less */
		if (len == 214) {
			ck_assert_int_eq(pullupmsg(mp, len), 0);
			ck_assert_uint_eq(blen(mp), 2);
			ck_assert(is_ramp(mp, 1, 214));
			freemsg(mp);
			continue;
		}
		ck_assert_msg(pullupmsg(mp, len) == 1, "pullupmsg %zd", len);
		ck_assert(is_ramp(mp, 1, 214));
		ck_assert_uint_ge(blen(mp), len < 0 ? 213 : (size_t)len);
		if (len < 0)
			ck_assert_ptr_null(mp->b_cont);
		if (len > 0)
			ck_assert(is_aligned(mp->b_rptr));
		ck_assert_uint_eq(mp->b_band, 5);
		ck_assert_uint_eq(mp->b_flag, MSGMARK);
		freemsg(mp);
	}
}
END_TEST

START_TEST(pullupmsg_keeps_the_type)
{
	mblk_t *mp = RAMPS(M_PCPROTO, 9, 9);

	ck_assert_int_eq(pullupmsg(mp, 18), 1);
	ck_assert_uint_eq(mp->b_datap->db_type, M_PCPROTO);
	ck_assert_uint_eq(blen(mp), 18);
	freemsg(mp);
}
END_TEST

START_TEST(pullupmsg_does_not_mix_types)
{
	mblk_t *mp = RAMPS(M_PROTO, 4, 5);

	linkb(mp, ramp(M_DATA, 6, 6, 9));
	ck_assert_int_eq(pullupmsg(mp, 10), 0);
	ck_assert_uint_eq(blen(mp), 4);
	ck_assert(is_ramp(mp, 0, 15));
	ck_assert_int_eq(pullupmsg(mp, 9), 1);
	ck_assert_uint_eq(blen(mp), 9);
	ck_assert_uint_eq(mp->b_datap->db_type, M_PROTO);
	ck_assert_ptr_nonnull(mp->b_cont);
	ck_assert_uint_eq(mp->b_cont->b_datap->db_type, M_DATA);
	ck_assert(is_ramp(mp, 0, 15));
	freemsg(mp);
}
END_TEST

START_TEST(pullupmsg_by_minus_one_turns_no_data_into_protocol)
{
	mblk_t *mp = RAMPS(M_PROTO, 4, 5);

	linkb(mp, ramp(M_DATA, 6, 6, 9));
	linkb(mp, ramp(M_DATA, 7, 7, 15));
	(void)pullupmsg(mp, -1);
	ck_assert(is_ramp(mp, 0, 22));
	ck_assert_uint_eq(mp->b_datap->db_type, M_PROTO);
	ck_assert_uint_eq(msgdsize(mp), 13);
	freemsg(mp);
}
END_TEST

START_TEST(pullupmsg_aligns_a_single_misaligned_block)
{
	mblk_t *mp = ramp(M_DATA, 40, 40, 0);

	mp->b_rptr += 3;
	ck_assert_int_eq(pullupmsg(mp, -1), 1);
	ck_assert(is_aligned(mp->b_rptr));
	ck_assert(is_ramp(mp, 3, 40));
	mp->b_rptr += 1;
	ck_assert_int_eq(pullupmsg(mp, 10), 1);
	ck_assert(is_aligned(mp->b_rptr));
	ck_assert(is_ramp(mp, 4, 40));
	freemsg(mp);
}
END_TEST

START_TEST(pullupmsg_can_make_a_mebibyte_contiguous)
{
	mblk_t *mp = NULL, *bp;
	int i;

	for (i = 0; i < 256; i++) {
		bp = tm_msg(M_DATA, 0, 4096, i);
		if (mp)
			linkb(mp, bp);
		else
			mp = bp;
	}
	ck_assert_int_eq(pullupmsg(mp, -1), 1);
	ck_assert_uint_eq(blen(mp), MEG);
	for (i = 0; i < MEG; i++)
		tm_assert(mp->b_rptr[i] == i / 4096, "byte %d", i);
	freemsg(mp);
}
END_TEST

START_TEST(msgpullup_leaves_the_original_alone)
{
	mblk_t *mp = RAMPS(M_DATA, 3, 4, 0, 7, 100), *np;
	mblk_t *second = mp->b_cont;
	ssize_t len;

	for (len = -1; len <= 114; len++) {
		np = msgpullup(mp, len);
		ck_assert_msg(np != NULL, "msgpullup %zd", len);
		ck_assert_ptr_ne(np, mp);
		ck_assert_uint_ge(blen(np), len < 0 ? 114 : (size_t)len);
		ck_assert(is_ramp(np, 0, 114));
		if (len > 0)
			ck_assert(is_aligned(np->b_rptr));
		ck_assert_uint_eq(blen(mp), 3);
		ck_assert_ptr_eq(mp->b_cont, second);
		ck_assert(is_ramp(mp, 0, 114));
		freemsg(np);
		churn();
		ck_assert(is_ramp(mp, 0, 114));
		ck_assert(unshared(mp));
	}
	ck_assert_ptr_null(msgpullup(mp, 115));
	ck_assert(unshared(mp));
	freemsg(mp);
}
END_TEST

START_TEST(msgpullup_outlives_the_original)
{
	mblk_t *mp = RAMPS(M_PROTO, 30, 40), *np;

	linkb(mp, ramp(M_DATA, 90, 90, 70));
	mp->b_band = 3;
	np = msgpullup(mp, 60);
	ck_assert_ptr_nonnull(np);
	ck_assert_uint_eq(np->b_band, 3);
	ck_assert_uint_eq(np->b_datap->db_type, M_PROTO);
	freemsg(mp);
	churn();
	ck_assert(is_ramp(np, 0, 160));
	ck_assert_uint_eq(msgdsize(np), 90);
	freemsg(np);
}
END_TEST

START_TEST(msgdsize_counts_data_blocks_only)
{
	mblk_t *mp = RAMPS(M_PROTO, 10);

	ck_assert_uint_eq(msgdsize(mp), 0);
	linkb(mp, ramp(M_DATA, 20, 20, 0));
	linkb(mp, ramp(M_DATA, 0, 0, 0));
	linkb(mp, ramp(M_PCPROTO, 5, 5, 0));
	linkb(mp, ramp(M_DELAY, 6, 6, 0));
	linkb(mp, ramp(M_DATA, 3, 90, 0));
	ck_assert_uint_eq(msgdsize(mp), 23);
	freemsg(mp);
}
END_TEST

START_TEST(datamsg_knows_the_four_data_types)
{
	int t, is;

	for (t = 0; t < 256; t++) {
		is = t == M_DATA || t == M_PROTO || t == M_PCPROTO || t == M_DELAY;
		ck_assert_msg(!datamsg((unsigned char)t) == !is, "type %#x", t);
	}
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

static void
handling_tests(Suite *s)
{
	TCase *tc = msg_group(s, "handling");

	tcase_add_test(tc, linkb_appends_at_the_very_end);
	tcase_add_test(tc, linkb_takes_null_on_either_side);
	tcase_add_test(tc, unlinkb_returns_the_rest_and_keeps_the_block);
	tcase_add_test(tc, rmvb_takes_out_the_first_a_middle_and_the_last_block);
	tcase_add_test(tc, rmvb_of_the_only_block_gives_null);
	tcase_add_test(tc, rmvb_of_a_strange_block_gives_minus_one_and_changes_nothing);
	tcase_add_test(tc, adjmsg_trims_the_front_across_blocks);
	tcase_add_test(tc, adjmsg_trims_the_back_across_blocks);
	tcase_add_test(tc, adjmsg_refuses_more_than_there_is_and_changes_nothing);
	tcase_add_test(tc, adjmsg_stays_within_blocks_of_one_type);
	tcase_add_test(tc, adjmsg_does_not_touch_another_view);
	tcase_add_test(tc, pullupmsg_makes_the_first_bytes_contiguous_in_place);
	tcase_add_test(tc, pullupmsg_keeps_the_type);
	tcase_add_test(tc, pullupmsg_does_not_mix_types);
	tcase_add_test(tc, pullupmsg_by_minus_one_turns_no_data_into_protocol);
	tcase_add_test(tc, pullupmsg_aligns_a_single_misaligned_block);
	tcase_add_test(tc, pullupmsg_can_make_a_mebibyte_contiguous);
	tcase_add_test(tc, msgpullup_leaves_the_original_alone);
	tcase_add_test(tc, msgpullup_outlives_the_original);
	tcase_add_test(tc, msgdsize_counts_data_blocks_only);
	tcase_add_test(tc, datamsg_knows_the_four_data_types);
}

int
main(void)
{
	Suite *s = suite_create("msgcut");

	handling_tests(s);
	return tm_run(s);
}
