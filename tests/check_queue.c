/* SPDX-License-Identifier: BSD-2-Clause */
/* check_queue.c: messages on a queue: order, counts, limits. */
#include "queuelib.h"

#include <stdlib.h>
#include <ustreams.h>

/* ---- a new queue ------------------------------------------------------------------ */

START_TEST(a_new_queue_takes_its_limits_from_module_info)
{
	int side;

	for (side = 0; side < 2; side++) {
		queue_t *it = side ? WR(q) : q;

		ck_assert_uint_eq(it->q_hiwat, HIWAT);
		ck_assert_uint_eq(it->q_lowat, LOWAT);
		ck_assert_int_eq(it->q_minpsz, 0);
		ck_assert_int_eq(it->q_maxpsz, INFPSZ);
		ck_assert_uint_eq(it->q_qinfo->qi_minfo->mi_hiwat, HIWAT);
		ck_assert_str_eq(it->q_qinfo->qi_minfo->mi_idname, "mod");
		ck_assert_uint_eq(it->q_qinfo->qi_minfo->mi_idnum, 77);
	}
}
END_TEST

START_TEST(a_new_queue_is_empty_not_full_and_wants_to_be_read)
{
	int side;

	for (side = 0; side < 2; side++) {
		queue_t *it = side ? WR(q) : q;

		ck_assert_ptr_null(it->q_first);
		ck_assert_ptr_null(it->q_last);
		ck_assert_uint_eq(it->q_count, 0);
		ck_assert_uint_eq(it->q_nband, 0);
		ck_assert_int_eq(qsize(it), 0);
		ck_assert_uint_eq(it->q_flag & (QFULL | QWANTW | QNOENB | QENAB), 0);
		ck_assert_uint_eq(it->q_flag & QWANTR, QWANTR);
	}
}
END_TEST

START_TEST(rd_wr_and_otherq_go_between_the_pair)
{
	queue_t *w = WR(q);

	ck_assert_uint_eq(q->q_flag & QREADR, QREADR);
	ck_assert_uint_eq(w->q_flag & QREADR, 0);
	ck_assert_ptr_ne(q, w);
	ck_assert_ptr_eq(RD(q), q);
	ck_assert_ptr_eq(RD(w), q);
	ck_assert_ptr_eq(WR(w), w);
	ck_assert_ptr_eq(OTHERQ(q), w);
	ck_assert_ptr_eq(OTHERQ(w), q);
	ck_assert_ptr_eq(_RD(w), q);
	ck_assert_ptr_eq(_WR(q), w);
}
END_TEST

/* ---- order ------------------------------------------------------------------------ */

START_TEST(ordinary_messages_leave_in_the_order_they_came)
{
	mblk_t *mp[20];
	int i;

	for (i = 0; i < 20; i++)
		mp[i] = tm_queue(q, tm_norm((size_t)i));
	for (i = 0; i < 20; i++)
		tm_expect(q, mp[i]);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(a_high_priority_message_overtakes_all_bands)
{
	mblk_t *n = tm_queue(q, tm_norm(1)), *b1 = tm_queue(q, tm_banded(1, 1));
	mblk_t *b255 = tm_queue(q, tm_banded(255, 1)), *h = tm_queue(q, tm_hipri(1));

	tm_expect(q, h);
	tm_expect(q, b255);
	tm_expect(q, b1);
	tm_expect(q, n);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(high_priority_messages_are_fifo_whatever_their_type)
{
	static const unsigned char types[] = {M_PCPROTO, M_FLUSH, M_IOCACK, M_ERROR,
	    M_HANGUP, M_UNHANGUP, M_PCSIG, 0xff, QPCTL};
	mblk_t *mp[sizeof(types)];
	size_t i;

	tm_queue(q, tm_norm(1));
	for (i = 0; i < sizeof(types); i++)
		mp[i] = tm_queue(q, tm_msg(types[i], 0, 1, 'h'));
	for (i = 0; i < sizeof(types); i++)
		tm_expect(q, mp[i]);
	tm_expect(q, q->q_first);
}
END_TEST

START_TEST(the_type_0x7f_is_ordinary_and_0x80_is_high_priority)
{
	mblk_t *a = tm_queue(q, tm_msg(M_DATA, 0, 1, 0));
	mblk_t *b = tm_queue(q, tm_msg(0x7f, 0, 1, 0));
	mblk_t *c = tm_queue(q, tm_msg(0x80, 0, 1, 0));

	tm_expect(q, c);
	tm_expect(q, a);
	tm_expect(q, b);
}
END_TEST

START_TEST(bands_leave_highest_first_and_fifo_within)
{
	static const unsigned char in[] = {0, 3, 7, 3, 0, 255, 7, 1, 255, 254, 3};
	static const int out[] = {5, 8, 9, 2, 6, 1, 3, 10, 7, 0, 4};
	mblk_t *mp[sizeof(in)];
	size_t i;

	for (i = 0; i < sizeof(in); i++)
		mp[i] = tm_queue(q, tm_banded(in[i], 2));
	for (i = 0; i < sizeof(in); i++)
		tm_expect(q, mp[out[i]]);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(only_the_first_block_decides_band_and_priority)
{
	mblk_t *mp = tm_banded(2, 1), *n = tm_norm(1);

	linkb(mp, tm_msg(M_PCPROTO, 9, 1, 'x'));
	linkb(n, tm_msg(M_PCPROTO, 200, 1, 'x'));
	tm_queue(q, n);
	tm_queue(q, mp);
	ck_assert_uint_eq(q->q_nband, 2);
	tm_expect(q, mp);
	tm_expect(q, n);
}
END_TEST

START_TEST(high_priority_messages_have_band_0_on_a_queue)
{
	mblk_t *a = tm_msg(M_PCPROTO, 5, 1, 'a'), *b = tm_msg(M_PCPROTO, 6, 1, 'b');
	mblk_t *c = tm_msg(M_PCPROTO, 7, 1, 'c');

	tm_queue(q, a);
	ck_assert_int_eq(putbq(q, b), 1);
	ck_assert_int_eq(insq(q, a, c), 1);
	ck_assert_uint_eq(a->b_band, 0);
	ck_assert_uint_eq(b->b_band, 0);
	ck_assert_uint_eq(c->b_band, 0);
	ck_assert_uint_eq(q->q_nband, 0);
	ck_assert_uint_eq(q->q_count, 3);
	tm_expect(q, b);
	tm_expect(q, c);
	tm_expect(q, a);
}
END_TEST

START_TEST(putbq_goes_to_the_front_of_its_priority)
{
	mblk_t *n = tm_queue(q, tm_norm(1)), *b2 = tm_queue(q, tm_banded(2, 1));
	mblk_t *b5 = tm_queue(q, tm_banded(5, 1)), *h = tm_queue(q, tm_hipri(1));
	mblk_t *n2 = tm_norm(1), *c2 = tm_banded(2, 1), *c5 = tm_banded(5, 1), *h2 = tm_hipri(1);
	mblk_t *b3 = tm_banded(3, 1);

	ck_assert_int_eq(putbq(q, n2), 1);
	ck_assert_int_eq(putbq(q, c2), 1);
	ck_assert_int_eq(putbq(q, c5), 1);
	ck_assert_int_eq(putbq(q, h2), 1);
	ck_assert_int_eq(putbq(q, b3), 1);
	tm_expect(q, h2);
	tm_expect(q, h);
	tm_expect(q, c5);
	tm_expect(q, b5);
	tm_expect(q, b3);
	tm_expect(q, c2);
	tm_expect(q, b2);
	tm_expect(q, n2);
	tm_expect(q, n);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(putbq_puts_on_an_empty_queue_too)
{
	mblk_t *mp = tm_banded(4, 3);

	ck_assert_int_eq(putbq(q, mp), 1);
	ck_assert_uint_eq(q->q_nband, 4);
	ck_assert_uint_eq(get_size(q, QCOUNT, 4), 3);
	tm_expect(q, mp);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(getq_then_putbq_restores_the_queue)
{
	mblk_t *a = tm_queue(q, tm_norm(10)), *b = tm_queue(q, tm_norm(20)), *got;

	got = getq(q);
	ck_assert_ptr_eq(got, a);
	ck_assert_uint_eq(q->q_count, 20);
	ck_assert_int_eq(putbq(q, got), 1);
	ck_assert_uint_eq(q->q_count, 30);
	tm_expect(q, a);
	tm_expect(q, b);
}
END_TEST

/* ---- insq ------------------------------------------------------------------------- */

/* The standing queue of the insq tests: ranks 256 256 5 5 2 0 0. */
enum { STAND = 7 };
static const int stand_rank[STAND] = {256, 256, 5, 5, 2, 0, 0};

static mblk_t *
of_rank(int r)
{
	return r == 256 ? tm_hipri(1) : tm_banded(r, 1);
}

/* Insert a message of rank r at pos: legal exactly where order is kept. */
static void
try_insq(int r, int pos)
{
	mblk_t *mp[STAND], *in = of_rank(r);
	int i, legal;

	for (i = 0; i < STAND; i++)
		mp[i] = tm_queue(q, of_rank(stand_rank[i]));
	legal = (pos == 0 || stand_rank[pos - 1] >= r) &&
	    (pos == STAND || stand_rank[pos] <= r);
	tm_assert(insq(q, pos < STAND ? mp[pos] : NULL, in) == legal,
	    "rank %d at %d should be %d", r, pos, legal);
	tm_assert(qsize(q) == STAND + legal, "rank %d at %d", r, pos);
	for (i = 0; i < STAND; i++) {
		if (legal && i == pos)
			tm_expect(q, in);
		tm_expect(q, mp[i]);
	}
	if (legal && pos == STAND)
		tm_expect(q, in);
	if (!legal) {
		tm_assert(rank(in) == r && in->b_datap->db_ref == 1,
		    "the message was not left to its caller");
		freemsg(in);
	}
	tm_expect(q, NULL);
}

START_TEST(insq_accepts_exactly_the_positions_that_keep_the_order)
{
	static const int ranks[] = {256, 255, 6, 5, 4, 3, 2, 1, 0};
	size_t i;
	int pos;

	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
		for (pos = 0; pos <= STAND; pos++)
			try_insq(ranks[i], pos);
}
END_TEST

START_TEST(insq_into_an_empty_queue_takes_any_message)
{
	mblk_t *mp = tm_banded(9, 4);

	ck_assert_int_eq(insq(q, NULL, mp), 1);
	ck_assert_uint_eq(q->q_nband, 9);
	ck_assert_uint_eq(get_size(q, QCOUNT, 9), 4);
	ck_assert_ptr_eq(q->q_first, mp);
	ck_assert_ptr_eq(q->q_last, mp);
	tm_expect(q, mp);
}
END_TEST

START_TEST(insq_counts_and_fills_like_putq)
{
	mblk_t *a = tm_queue(q, tm_norm(60)), *b = tm_norm(40);

	ck_assert(!full());
	ck_assert_int_eq(insq(q, a, b), 1);
	ck_assert_uint_eq(q->q_count, 100);
	ck_assert(full());
	tm_expect(q, b);
	ck_assert(!full());
	tm_expect(q, a);
}
END_TEST

/* ---- rmvq, qsize ------------------------------------------------------------------ */

START_TEST(rmvq_takes_the_first_a_middle_and_the_last_message)
{
	mblk_t *mp[5];
	int i, k, n;

	for (k = 0; k < 5; k++) {
		for (i = 0; i < 5; i++)
			mp[i] = tm_queue(q, tm_norm((size_t)i + 1));
		rmvq(q, mp[k]);
		ck_assert_ptr_null(mp[k]->b_next);
		ck_assert_ptr_null(mp[k]->b_prev);
		ck_assert_uint_eq(q->q_count, 15 - ((size_t)k + 1));
		ck_assert_int_eq(qsize(q), 4);
		freemsg(mp[k]);
		for (n = i = 0; i < 5; i++)
			if (i != k) {
				tm_expect(q, mp[i]);
				n++;
			}
		ck_assert_int_eq(n, 4);
		tm_expect(q, NULL);
	}
}
END_TEST

START_TEST(rmvq_of_the_only_message_empties_queue_and_band)
{
	mblk_t *mp = tm_queue(q, tm_banded(3, 10));

	rmvq(q, mp);
	ck_assert_ptr_null(q->q_first);
	ck_assert_ptr_null(q->q_last);
	ck_assert_uint_eq(q->q_count, 0);
	ck_assert_uint_eq(get_size(q, QCOUNT, 3), 0);
	ck_assert_ptr_null(get_mp(q, QFIRST, 3));
	ck_assert_ptr_null(get_mp(q, QLAST, 3));
	ck_assert_int_eq(qsize(q), 0);
	freemsg(mp);
}
END_TEST

START_TEST(rmvq_keeps_the_chain_of_the_message)
{
	mblk_t *mp = tm_queue(q, tm_chain(M_DATA, 0, 3, 5, 'c'));
	mblk_t *after = tm_queue(q, tm_norm(1));

	rmvq(q, mp);
	ck_assert_uint_eq(msgdsize(mp), 15);
	freemsg(mp);
	tm_expect(q, after);
}
END_TEST

START_TEST(qsize_counts_messages_not_blocks)
{
	ck_assert_int_eq(qsize(q), 0);
	tm_queue(q, tm_chain(M_DATA, 0, 10, 1, 'c'));
	ck_assert_int_eq(qsize(q), 1);
	tm_queue(q, tm_hipri(1));
	tm_queue(q, tm_banded(8, 1));
	ck_assert_int_eq(qsize(q), 3);
	freemsg(getq(q));
	ck_assert_int_eq(qsize(q), 2);
	flushq(q, FLUSHALL);
	ck_assert_int_eq(qsize(q), 0);
}
END_TEST

/* ---- counts and limits ------------------------------------------------------------ */

START_TEST(the_count_is_the_bytes_of_all_blocks_of_any_type)
{
	mblk_t *mp = tm_msg(M_PROTO, 0, 7, 'p');

	linkb(mp, tm_norm(20));
	linkb(mp, tm_norm(0));
	linkb(mp, tm_msg(M_CTL, 0, 3, 'c'));
	mp->b_rptr += 2; /* only what is still to be read */
	tm_queue(q, mp);
	ck_assert_uint_eq(q->q_count, 28);
	ck_assert_uint_eq(get_size(q, QCOUNT, 0), 28);
	tm_expect(q, mp);
	ck_assert_uint_eq(q->q_count, 0);
}
END_TEST

START_TEST(a_queue_is_full_at_exactly_the_high_water_mark_in_bytes)
{
	mblk_t *a = tm_queue(q, tm_norm(99)), *z;

	ck_assert(!full());
	z = tm_queue(q, tm_norm(0));
	ck_assert(!full());
	ck_assert_uint_eq(q->q_count, 99);
	tm_queue(q, tm_norm(1));
	ck_assert_uint_eq(q->q_count, 100);
	ck_assert(full());
	rmvq(q, z);
	freemsg(z);
	ck_assert(full());
	freemsg(getq(q)); /* 99 bytes go */
	(void)a;
	ck_assert(!full());
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(one_byte_below_the_mark_is_not_full_again)
{
	mblk_t *one = tm_queue(q, tm_norm(1));

	tm_queue(q, tm_norm(99));
	ck_assert(full());
	rmvq(q, one);
	freemsg(one);
	ck_assert_uint_eq(q->q_count, 99);
	ck_assert(!full());
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(a_queue_is_full_at_exactly_the_high_water_mark_in_blocks)
{
	mblk_t *mp;
	int i;

	tm_queue(q, tm_chain(M_DATA, 0, 90, 0, 'c'));
	for (i = 0; i < 9; i++)
		tm_queue(q, tm_norm(0));
	ck_assert(!full());
	mp = tm_queue(q, tm_norm(0));
	ck_assert_uint_eq(q->q_count, 0);
	ck_assert(full());
	rmvq(q, mp);
	freemsg(mp);
	ck_assert(!full());
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(fullness_ends_when_bytes_and_blocks_are_both_below)
{
	mblk_t *big = tm_queue(q, tm_norm(150)), *many, *small;

	many = tm_queue(q, tm_chain(M_DATA, 0, 120, 0, 'c'));
	small = tm_queue(q, tm_norm(1));
	ck_assert(full());
	rmvq(q, big);
	freemsg(big);
	ck_assert(full()); /* 121 blocks, 1 byte */
	big = tm_queue(q, tm_norm(150));
	rmvq(q, many);
	freemsg(many);
	ck_assert(full()); /* 2 blocks, 151 bytes */
	rmvq(q, big);
	freemsg(big);
	ck_assert(!full());
	tm_expect(q, small);
}
END_TEST

START_TEST(putq_never_refuses_because_the_queue_is_full)
{
	int i;

	for (i = 0; i < 500; i++)
		tm_queue(q, tm_norm(50));
	ck_assert_int_eq(qsize(q), 500);
	ck_assert_uint_eq(q->q_count, 25000);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(high_priority_messages_count_in_band_0)
{
	tm_queue(q, tm_hipri(60));
	tm_queue(q, tm_norm(39));
	ck_assert_uint_eq(get_size(q, QCOUNT, 0), 99);
	ck_assert(!full());
	tm_queue(q, tm_hipri(1));
	ck_assert(full());
	freemsg(getq(q));
	ck_assert(!full());
	ck_assert_uint_eq(q->q_count, 40);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(each_band_counts_and_fills_for_itself)
{
	mblk_t *two = tm_queue(q, tm_banded(2, 99)), *more;

	ck_assert_uint_eq(q->q_count, 0);
	ck_assert_uint_eq(get_size(q, QCOUNT, 1), 0);
	ck_assert_uint_eq(get_size(q, QCOUNT, 2), 99);
	ck_assert(!band_full(2));
	more = tm_queue(q, tm_banded(2, 1));
	ck_assert(band_full(2));
	ck_assert(!band_full(1));
	ck_assert(!full());
	tm_queue(q, tm_norm(100));
	ck_assert(full());
	ck_assert_uint_eq(q->q_count, 100);
	ck_assert_uint_eq(get_size(q, QCOUNT, 2), 100);
	rmvq(q, more);
	freemsg(more);
	ck_assert(!band_full(2));
	ck_assert(full());
	tm_expect(q, two);
	ck_assert_uint_eq(get_size(q, QCOUNT, 2), 0);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(a_band_fills_by_blocks_too)
{
	mblk_t *mp;

	tm_queue(q, tm_chain(M_DATA, 4, 99, 0, 'c'));
	ck_assert(!band_full(4));
	mp = tm_queue(q, tm_banded(4, 0));
	ck_assert(band_full(4));
	rmvq(q, mp);
	freemsg(mp);
	ck_assert(!band_full(4));
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(using_band_n_creates_bands_1_to_n)
{
	int i;

	tm_queue(q, tm_banded(3, 1));
	ck_assert_uint_eq(q->q_nband, 3);
	for (i = 1; i <= 3; i++)
		ck_assert_ptr_nonnull(band(q, i));
	ck_assert_ptr_null(band(q, 3)->qb_next);
	tm_queue(q, tm_banded(2, 1));
	ck_assert_uint_eq(q->q_nband, 3);
	tm_queue(q, tm_banded(255, 1));
	ck_assert_uint_eq(q->q_nband, 255);
	for (i = 1; i <= 255; i++)
		ck_assert_ptr_nonnull(band(q, i));
	ck_assert_uint_eq(band(q, 3)->qb_count, 1);
	ck_assert_uint_eq(band(q, 2)->qb_count, 1);
	ck_assert_uint_eq(band(q, 255)->qb_count, 1);
	ck_assert_uint_eq(band(q, 254)->qb_count, 0);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(a_new_band_starts_with_the_marks_of_its_queue)
{
	tm_queue(q, tm_banded(2, 1));
	ck_assert_uint_eq(get_size(q, QHIWAT, 1), HIWAT);
	ck_assert_uint_eq(get_size(q, QLOWAT, 1), LOWAT);
	ck_assert_uint_eq(get_size(q, QHIWAT, 2), HIWAT);
	ck_assert_uint_eq(band(q, 2)->qb_hiwat, HIWAT);
	ck_assert_uint_eq(band(q, 2)->qb_lowat, LOWAT);
	ck_assert_int_eq(strqset(q, QHIWAT, 0, 500), 0);
	tm_queue(q, tm_banded(3, 1));
	ck_assert_uint_eq(get_size(q, QHIWAT, 3), 500);
	ck_assert_uint_eq(get_size(q, QHIWAT, 2), HIWAT);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(bands_go_with_their_queue)
{
	struct ustr_memstat before, after;
	int i;

	for (i = 0; i < 400; i++) {
		if (i == 100)
			ck_assert_int_eq(ustr_memstat(&before), 0);
		tm_push(fd, "mod");
		tm_queue(tm_newest->rd.q, tm_banded(255, 1));
		tm_queue(tm_newest->wr.q, tm_banded(255, 1));
		tm_pop(fd);
	}
	ck_assert_int_eq(ustr_memstat(&after), 0);
	ck_assert_msg(after.ms_used <= before.ms_used + 256 * 1024,
	    "arena grew from %zu to %zu bytes", before.ms_used, after.ms_used);
}
END_TEST

START_TEST(a_band_without_memory_makes_putq_give_the_message_back)
{
	mblk_t *mp = tm_banded(255, 10);
	int n = 0;

	tm_exhaust();
	ck_assert_int_eq(putq(q, mp), 0);
	ck_assert_int_eq(putbq(q, mp), 0);
	ck_assert_int_eq(insq(q, NULL, mp), 0);
	ck_assert_uint_eq(mp->b_band, 255);
	ck_assert_uint_eq(msgdsize(mp), 10);
	ck_assert_uint_eq(mp->b_datap->db_ref, 1);
	ck_assert_ptr_null(q->q_first);
	ck_assert_int_eq(qsize(q), 0);
	ck_assert_uint_eq(q->q_count, 0);
	ck_assert_uint_lt(q->q_nband, 255);
	while (band(q, n + 1))
		n++;
	ck_assert_int_eq(q->q_nband, n);
	tm_relent(-1);
	mp->b_band = 0; /* the queue still works */
	tm_queue(q, mp);
	ck_assert_uint_eq(q->q_count, 10);
	tm_expect(q, mp);
	tm_expect(q, NULL);
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

static void
order_tests(Suite *s)
{
	TCase *tc = queue_group(s, "order");

	tcase_add_test(tc, a_new_queue_takes_its_limits_from_module_info);
	tcase_add_test(tc, a_new_queue_is_empty_not_full_and_wants_to_be_read);
	tcase_add_test(tc, rd_wr_and_otherq_go_between_the_pair);
	tcase_add_test(tc, ordinary_messages_leave_in_the_order_they_came);
	tcase_add_test(tc, a_high_priority_message_overtakes_all_bands);
	tcase_add_test(tc, high_priority_messages_are_fifo_whatever_their_type);
	tcase_add_test(tc, the_type_0x7f_is_ordinary_and_0x80_is_high_priority);
	tcase_add_test(tc, bands_leave_highest_first_and_fifo_within);
	tcase_add_test(tc, only_the_first_block_decides_band_and_priority);
	tcase_add_test(tc, high_priority_messages_have_band_0_on_a_queue);
	tcase_add_test(tc, putbq_goes_to_the_front_of_its_priority);
	tcase_add_test(tc, putbq_puts_on_an_empty_queue_too);
	tcase_add_test(tc, getq_then_putbq_restores_the_queue);
	tcase_add_test(tc, insq_accepts_exactly_the_positions_that_keep_the_order);
	tcase_add_test(tc, insq_into_an_empty_queue_takes_any_message);
	tcase_add_test(tc, insq_counts_and_fills_like_putq);
	tcase_add_test(tc, rmvq_takes_the_first_a_middle_and_the_last_message);
	tcase_add_test(tc, rmvq_of_the_only_message_empties_queue_and_band);
	tcase_add_test(tc, rmvq_keeps_the_chain_of_the_message);
	tcase_add_test(tc, qsize_counts_messages_not_blocks);
}

static void
count_tests(Suite *s)
{
	TCase *tc = queue_group(s, "counts");

	tcase_add_test(tc, the_count_is_the_bytes_of_all_blocks_of_any_type);
	tcase_add_test(tc, a_queue_is_full_at_exactly_the_high_water_mark_in_bytes);
	tcase_add_test(tc, one_byte_below_the_mark_is_not_full_again);
	tcase_add_test(tc, a_queue_is_full_at_exactly_the_high_water_mark_in_blocks);
	tcase_add_test(tc, fullness_ends_when_bytes_and_blocks_are_both_below);
	tcase_add_test(tc, putq_never_refuses_because_the_queue_is_full);
	tcase_add_test(tc, high_priority_messages_count_in_band_0);
	tcase_add_test(tc, each_band_counts_and_fills_for_itself);
	tcase_add_test(tc, a_band_fills_by_blocks_too);
	tcase_add_test(tc, using_band_n_creates_bands_1_to_n);
	tcase_add_test(tc, a_new_band_starts_with_the_marks_of_its_queue);
	if (!tm_heap_malloc())
		tcase_add_test(tc, bands_go_with_their_queue);
}

static void
small_arena(void)
{
	setenv("USTREAMS_ARENA", "32M", 1);
	queue_tests_setup();
}

static void
exhaustion_tests(Suite *s)
{
	TCase *tc = tcase_create("exhaustion");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, small_arena, tm_teardown);
	suite_add_tcase(s, tc);
	tcase_add_test(tc, a_band_without_memory_makes_putq_give_the_message_back);
}

int
main(void)
{
	Suite *s = suite_create("queue");

	order_tests(s);
	count_tests(s);
	if (tm_forked() && !tm_heap_malloc())
		exhaustion_tests(s);
	return tm_run(s);
}
