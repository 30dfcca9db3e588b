/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_queue.c: messages on a queue -- order, counts, limits, flushing.
 *
 * The stream is driver / "mod" / "up" / head.  The queue under test belongs to
 * "mod"; the service procedures only count, so what a test queues stays.  The
 * last group compares random operations with a naive model: an array of the
 * messages in order, everything else computed from it afresh each time.
 */
#include "testmod.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ustreams.h>

#define HIWAT 100
#define LOWAT 40

static int fd;
static queue_t *q; /* under test */

/* Driver, "mod", "up"; q is mod's read queue. */
static void
build(void)
{
	tm_register("drv", TM_DRIVER | TM_SRV, D_MP | USTR_INDEPENDENT, 1000, 100);
	tm_register("mod", TM_MODULE | TM_SRV, D_MP, HIWAT, LOWAT);
	tm_register("up", TM_MODULE | TM_SRV, D_MP, 1000, 100);
	fd = tm_stack("drv", "mod", "up", NULL);
	q = tm_rq(1);
}

static void
setup(void)
{
	tm_setup();
	build();
}

static qband_t *
band(queue_t *of, int n)
{
	qband_t *qb = of->q_bandp;

	while (qb && --n > 0)
		qb = qb->qb_next;
	return qb;
}

static size_t
get_size(queue_t *of, qfields_t what, int b)
{
	size_t v = SIZE_MAX;
	int error = strqget(of, what, (unsigned char)b, &v);

	tm_assert(error == 0, "field %d of band %d: %d", (int)what, b, error);
	return v;
}

static mblk_t *
get_mp(queue_t *of, qfields_t what, int b)
{
	mblk_t *v = (mblk_t *)&v;
	int error = strqget(of, what, (unsigned char)b, &v);

	tm_assert(error == 0, "field %d of band %d: %d", (int)what, b, error);
	return v;
}

static int
full(void)
{
	return (q->q_flag & QFULL) != 0;
}

static int
band_full(int n)
{
	qband_t *qb = band(q, n);

	return qb && (qb->qb_flag & QB_FULL);
}

static mblk_t *
norm(size_t len)
{
	return tm_msg(M_DATA, 0, len, 'n');
}

static mblk_t *
hipri(size_t len)
{
	return tm_msg(M_PCPROTO, 0, len, 'h');
}

static mblk_t *
banded(int b, size_t len)
{
	return tm_msg(M_DATA, b, len, b);
}

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
		mp[i] = tm_queue(q, norm((size_t)i));
	for (i = 0; i < 20; i++)
		tm_expect(q, mp[i]);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(a_high_priority_message_overtakes_all_bands)
{
	mblk_t *n = tm_queue(q, norm(1)), *b1 = tm_queue(q, banded(1, 1));
	mblk_t *b255 = tm_queue(q, banded(255, 1)), *h = tm_queue(q, hipri(1));

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

	tm_queue(q, norm(1));
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
		mp[i] = tm_queue(q, banded(in[i], 2));
	for (i = 0; i < sizeof(in); i++)
		tm_expect(q, mp[out[i]]);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(only_the_first_block_decides_band_and_priority)
{
	mblk_t *mp = banded(2, 1), *n = norm(1);

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
	mblk_t *n = tm_queue(q, norm(1)), *b2 = tm_queue(q, banded(2, 1));
	mblk_t *b5 = tm_queue(q, banded(5, 1)), *h = tm_queue(q, hipri(1));
	mblk_t *n2 = norm(1), *c2 = banded(2, 1), *c5 = banded(5, 1), *h2 = hipri(1);
	mblk_t *b3 = banded(3, 1);

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
	mblk_t *mp = banded(4, 3);

	ck_assert_int_eq(putbq(q, mp), 1);
	ck_assert_uint_eq(q->q_nband, 4);
	ck_assert_uint_eq(get_size(q, QCOUNT, 4), 3);
	tm_expect(q, mp);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(getq_then_putbq_restores_the_queue)
{
	mblk_t *a = tm_queue(q, norm(10)), *b = tm_queue(q, norm(20)), *got;

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

static int
rank(const mblk_t *mp)
{
	return mp->b_datap->db_type >= QPCTL ? 256 : mp->b_band;
}

/* The standing queue of the insq tests: ranks 256 256 5 5 2 0 0. */
enum { STAND = 7 };
static const int stand_rank[STAND] = {256, 256, 5, 5, 2, 0, 0};

static mblk_t *
of_rank(int r)
{
	return r == 256 ? hipri(1) : banded(r, 1);
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
	mblk_t *mp = banded(9, 4);

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
	mblk_t *a = tm_queue(q, norm(60)), *b = norm(40);

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
			mp[i] = tm_queue(q, norm((size_t)i + 1));
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
	mblk_t *mp = tm_queue(q, banded(3, 10));

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
	mblk_t *after = tm_queue(q, norm(1));

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
	tm_queue(q, hipri(1));
	tm_queue(q, banded(8, 1));
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

	linkb(mp, norm(20));
	linkb(mp, norm(0));
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
	mblk_t *a = tm_queue(q, norm(99)), *z;

	ck_assert(!full());
	z = tm_queue(q, norm(0));
	ck_assert(!full());
	ck_assert_uint_eq(q->q_count, 99);
	tm_queue(q, norm(1));
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
	mblk_t *one = tm_queue(q, norm(1));

	tm_queue(q, norm(99));
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
		tm_queue(q, norm(0));
	ck_assert(!full());
	mp = tm_queue(q, norm(0));
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
	mblk_t *big = tm_queue(q, norm(150)), *many, *small;

	many = tm_queue(q, tm_chain(M_DATA, 0, 120, 0, 'c'));
	small = tm_queue(q, norm(1));
	ck_assert(full());
	rmvq(q, big);
	freemsg(big);
	ck_assert(full()); /* 121 blocks, 1 byte */
	big = tm_queue(q, norm(150));
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
		tm_queue(q, norm(50));
	ck_assert_int_eq(qsize(q), 500);
	ck_assert_uint_eq(q->q_count, 25000);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(high_priority_messages_count_in_band_0)
{
	tm_queue(q, hipri(60));
	tm_queue(q, norm(39));
	ck_assert_uint_eq(get_size(q, QCOUNT, 0), 99);
	ck_assert(!full());
	tm_queue(q, hipri(1));
	ck_assert(full());
	freemsg(getq(q));
	ck_assert(!full());
	ck_assert_uint_eq(q->q_count, 40);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(each_band_counts_and_fills_for_itself)
{
	mblk_t *two = tm_queue(q, banded(2, 99)), *more;

	ck_assert_uint_eq(q->q_count, 0);
	ck_assert_uint_eq(get_size(q, QCOUNT, 1), 0);
	ck_assert_uint_eq(get_size(q, QCOUNT, 2), 99);
	ck_assert(!band_full(2));
	more = tm_queue(q, banded(2, 1));
	ck_assert(band_full(2));
	ck_assert(!band_full(1));
	ck_assert(!full());
	tm_queue(q, norm(100));
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
	mp = tm_queue(q, banded(4, 0));
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

	tm_queue(q, banded(3, 1));
	ck_assert_uint_eq(q->q_nband, 3);
	for (i = 1; i <= 3; i++)
		ck_assert_ptr_nonnull(band(q, i));
	ck_assert_ptr_null(band(q, 3)->qb_next);
	tm_queue(q, banded(2, 1));
	ck_assert_uint_eq(q->q_nband, 3);
	tm_queue(q, banded(255, 1));
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
	tm_queue(q, banded(2, 1));
	ck_assert_uint_eq(get_size(q, QHIWAT, 1), HIWAT);
	ck_assert_uint_eq(get_size(q, QLOWAT, 1), LOWAT);
	ck_assert_uint_eq(get_size(q, QHIWAT, 2), HIWAT);
	ck_assert_uint_eq(band(q, 2)->qb_hiwat, HIWAT);
	ck_assert_uint_eq(band(q, 2)->qb_lowat, LOWAT);
	ck_assert_int_eq(strqset(q, QHIWAT, 0, 500), 0);
	tm_queue(q, banded(3, 1));
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
		tm_queue(tm_newest->rd.q, banded(255, 1));
		tm_queue(tm_newest->wr.q, banded(255, 1));
		tm_pop(fd);
	}
	ck_assert_int_eq(ustr_memstat(&after), 0);
	ck_assert_msg(after.ms_used <= before.ms_used + 256 * 1024,
	    "arena grew from %zu to %zu bytes", before.ms_used, after.ms_used);
}
END_TEST

START_TEST(a_band_without_memory_makes_putq_give_the_message_back)
{
	mblk_t *mp = banded(255, 10);
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

/* ---- flushing --------------------------------------------------------------------- */

START_TEST(flushall_removes_everything)
{
	int t;

	for (t = 0; t < 256; t++)
		tm_queue(q, tm_msg(t, t & 7, 3, t));
	flushq(q, FLUSHALL);
	ck_assert_ptr_null(q->q_first);
	ck_assert_ptr_null(q->q_last);
	ck_assert_int_eq(qsize(q), 0);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(flushdata_removes_the_four_data_types_and_keeps_the_rest_in_order)
{
	mblk_t *mp[256];
	int t, hi;

	for (t = 0; t < 256; t++)
		mp[t] = tm_queue(q, tm_msg(t, 0, 3, t));
	flushq(q, FLUSHDATA);
	ck_assert_int_eq(qsize(q), 252);
	ck_assert_uint_eq(q->q_count, 252 * 3);
	for (hi = 1; hi >= 0; hi--)
		for (t = hi ? 0x80 : 0; t < (hi ? 0x100 : 0x80); t++)
			if (t != M_DATA && t != M_PROTO && t != M_PCPROTO && t != M_DELAY)
				tm_expect(q, mp[t]);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(flushdata_looks_at_bands_too)
{
	mblk_t *keep;

	tm_queue(q, banded(3, 5));
	keep = tm_queue(q, tm_msg(M_CTL, 3, 7, 'k'));
	tm_queue(q, tm_msg(M_PROTO, 3, 9, 'p'));
	flushq(q, FLUSHDATA);
	ck_assert_uint_eq(get_size(q, QCOUNT, 3), 7);
	ck_assert_ptr_eq(get_mp(q, QFIRST, 3), keep);
	ck_assert_ptr_eq(get_mp(q, QLAST, 3), keep);
	tm_expect(q, keep);
}
END_TEST

START_TEST(all_counters_return_to_zero_after_a_flush)
{
	int i;

	for (i = 0; i < 2000; i++)
		tm_queue(q,
		    tm_chain(i % 11 ? M_DATA : M_PCPROTO, i % 10, i % 4 + 1,
			(size_t)(i % 60), i));
	ck_assert(full());
	flushq(q, FLUSHALL);
	ck_assert(!full());
	ck_assert_uint_eq(q->q_count, 0);
	for (i = 1; i <= 9; i++) {
		ck_assert_uint_eq(band(q, i)->qb_count, 0);
		ck_assert_ptr_null(band(q, i)->qb_first);
		ck_assert_ptr_null(band(q, i)->qb_last);
		ck_assert(!band_full(i));
	}
	/* the block counts too: room for just below the mark */
	for (i = 0; i < HIWAT - 1; i++)
		tm_queue(q, norm(0));
	ck_assert(!full());
	tm_queue(q, norm(0));
	ck_assert(full());
	for (i = 0; i < HIWAT - 1; i++)
		tm_queue(q, banded(5, 0));
	ck_assert(!band_full(5));
	tm_queue(q, banded(5, 0));
	ck_assert(band_full(5));
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(flushband_removes_only_its_band)
{
	mblk_t *n = tm_queue(q, norm(1)), *b1 = tm_queue(q, banded(1, 1)), *b3, *h;

	tm_queue(q, banded(2, 60));
	tm_queue(q, banded(2, 60));
	b3 = tm_queue(q, banded(3, 1));
	h = tm_queue(q, hipri(1));
	ck_assert(band_full(2));
	flushband(q, 2, FLUSHALL);
	ck_assert(!band_full(2));
	ck_assert_uint_eq(get_size(q, QCOUNT, 2), 0);
	ck_assert_int_eq(qsize(q), 4);
	tm_expect(q, h);
	tm_expect(q, b3);
	tm_expect(q, b1);
	tm_expect(q, n);
}
END_TEST

START_TEST(flushband_with_flushdata_keeps_other_types_of_the_band)
{
	mblk_t *n = tm_queue(q, norm(1)), *c, *s;

	c = tm_queue(q, tm_msg(M_CTL, 2, 1, 'c'));
	tm_queue(q, banded(2, 5));
	tm_queue(q, tm_msg(M_PROTO, 2, 5, 'p'));
	s = tm_queue(q, tm_msg(M_SIG, 2, 1, 's'));
	flushband(q, 2, FLUSHDATA);
	ck_assert_uint_eq(get_size(q, QCOUNT, 2), 2);
	tm_expect(q, c);
	tm_expect(q, s);
	tm_expect(q, n);
}
END_TEST

START_TEST(flushband_0_removes_normal_and_high_priority_messages)
{
	mblk_t *b;

	tm_queue(q, norm(10));
	tm_queue(q, hipri(10));
	b = tm_queue(q, banded(1, 10));
	flushband(q, 0, FLUSHALL);
	ck_assert_uint_eq(q->q_count, 0);
	tm_expect(q, b);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(flushing_a_band_never_used_does_nothing)
{
	mblk_t *n = tm_queue(q, norm(10)), *b = tm_queue(q, banded(2, 10));

	flushband(q, 3, FLUSHALL);
	flushband(q, 255, FLUSHALL);
	ck_assert_uint_eq(q->q_count, 10);
	tm_expect(q, b);
	tm_expect(q, n);
}
END_TEST

START_TEST(flushing_an_empty_queue_does_nothing)
{
	flushq(q, FLUSHALL);
	flushq(q, FLUSHDATA);
	flushband(q, 0, FLUSHALL);
	ck_assert_int_eq(qsize(q), 0);
	ck_assert_uint_eq(q->q_flag & (QFULL | QENAB), 0);
}
END_TEST

static void
count_free(char *arg)
{
	atomic_fetch_add((atomic_int *)(void *)arg, 1);
}

START_TEST(a_flush_frees_each_message_once)
{
	static unsigned char buf[30][8];
	static atomic_int calls[30];
	static frtn_t frtn[30];
	mblk_t *mp;
	int i;

	for (i = 0; i < 30; i++) {
		atomic_store(&calls[i], 0);
		frtn[i].free_func = count_free;
		frtn[i].free_arg = (char *)&calls[i];
		mp = esballoc(buf[i], 8, BPRI_MED, &frtn[i]);
		ck_assert_ptr_nonnull(mp);
		mp->b_wptr += 8;
		mp->b_band = (unsigned char)(i % 3);
		tm_queue(q, mp);
	}
	flushband(q, 1, FLUSHALL);
	for (i = 0; i < 30; i++)
		ck_assert_int_eq(atomic_load(&calls[i]), i % 3 == 1);
	flushq(q, FLUSHDATA);
	for (i = 0; i < 30; i++)
		ck_assert_int_eq(atomic_load(&calls[i]), 1);
}
END_TEST

/* ---- strqget, strqset ------------------------------------------------------------- */

START_TEST(strqget_reads_every_field_of_the_queue)
{
	mblk_t *a = tm_queue(q, norm(10)), *b = tm_queue(q, norm(15));
	unsigned int flag = 0;
	ssize_t sz = 77;

	ck_assert_uint_eq(get_size(q, QHIWAT, 0), HIWAT);
	ck_assert_uint_eq(get_size(q, QLOWAT, 0), LOWAT);
	ck_assert_uint_eq(get_size(q, QCOUNT, 0), 25);
	ck_assert_ptr_eq(get_mp(q, QFIRST, 0), a);
	ck_assert_ptr_eq(get_mp(q, QLAST, 0), b);
	ck_assert_int_eq(strqget(q, QMAXPSZ, 0, &sz), 0);
	ck_assert_int_eq(sz, INFPSZ);
	ck_assert_int_eq(strqget(q, QMINPSZ, 0, &sz), 0);
	ck_assert_int_eq(sz, 0);
	ck_assert_int_eq(strqget(q, QFLAG, 0, &flag), 0);
	ck_assert_uint_eq(flag & (QREADR | QFULL), QREADR);
	tm_queue(q, norm(100));
	ck_assert_int_eq(strqget(q, QFLAG, 0, &flag), 0);
	ck_assert_uint_eq(flag & (QREADR | QFULL), QREADR | QFULL);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(strqget_reads_the_fields_of_a_band)
{
	mblk_t *a = tm_queue(q, banded(2, 70)), *b = tm_queue(q, banded(2, 30));
	unsigned int flag = 0;

	tm_queue(q, norm(3));
	ck_assert_uint_eq(get_size(q, QCOUNT, 2), 100);
	ck_assert_ptr_eq(get_mp(q, QFIRST, 2), a);
	ck_assert_ptr_eq(get_mp(q, QLAST, 2), b);
	ck_assert_ptr_null(get_mp(q, QFIRST, 1));
	ck_assert_int_eq(strqget(q, QFLAG, 2, &flag), 0);
	ck_assert_uint_eq(flag & QB_FULL, QB_FULL);
	ck_assert_int_eq(strqget(q, QFLAG, 1, &flag), 0);
	ck_assert_uint_eq(flag & QB_FULL, 0);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(strqset_sets_the_four_limits)
{
	ssize_t sz;

	ck_assert_int_eq(strqset(q, QHIWAT, 0, 5000), 0);
	ck_assert_int_eq(strqset(q, QLOWAT, 0, 4000), 0);
	ck_assert_int_eq(strqset(q, QMAXPSZ, 0, 777), 0);
	ck_assert_int_eq(strqset(q, QMINPSZ, 0, 7), 0);
	ck_assert_uint_eq(q->q_hiwat, 5000);
	ck_assert_uint_eq(q->q_lowat, 4000);
	ck_assert_int_eq(q->q_maxpsz, 777);
	ck_assert_int_eq(q->q_minpsz, 7);
	ck_assert_uint_eq(get_size(q, QHIWAT, 0), 5000);
	ck_assert_uint_eq(get_size(q, QLOWAT, 0), 4000);
	ck_assert_int_eq(strqset(q, QMAXPSZ, 0, INFPSZ), 0);
	ck_assert_int_eq(strqget(q, QMAXPSZ, 0, &sz), 0);
	ck_assert_int_eq(sz, INFPSZ);
	ck_assert_uint_eq(WR(q)->q_hiwat, HIWAT); /* the other side is not */
}
END_TEST

START_TEST(strqset_refuses_the_read_only_fields)
{
	static const qfields_t ro[] = {QCOUNT, QFIRST, QLAST, QFLAG};
	mblk_t *mp = tm_queue(q, norm(10));
	unsigned int flag = q->q_flag;
	size_t i;

	for (i = 0; i < sizeof(ro) / sizeof(ro[0]); i++)
		ck_assert_int_eq(strqset(q, ro[i], 0, 0), EPERM);
	ck_assert_uint_eq(q->q_count, 10);
	ck_assert_uint_eq(q->q_flag, flag);
	tm_queue(q, banded(1, 5));
	for (i = 0; i < sizeof(ro) / sizeof(ro[0]); i++)
		ck_assert_int_eq(strqset(q, ro[i], 1, 0), EPERM);
	ck_assert_uint_eq(band(q, 1)->qb_count, 5);
	freemsg(getq(q));
	tm_expect(q, mp);
}
END_TEST

START_TEST(unknown_fields_are_einval)
{
	static const int bad[] = {QBAD, QBAD + 1, 1000, -1};
	char room[64] = "";
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(strqget(q, (qfields_t)bad[i], 0, room), EINVAL);
		ck_assert_int_eq(strqset(q, (qfields_t)bad[i], 0, 1), EINVAL);
	}
}
END_TEST

START_TEST(strqset_sets_the_marks_of_one_band)
{
	tm_queue(q, banded(2, 1));
	ck_assert_int_eq(strqset(q, QHIWAT, 2, 10), 0);
	ck_assert_int_eq(strqset(q, QLOWAT, 2, 5), 0);
	ck_assert_uint_eq(get_size(q, QHIWAT, 2), 10);
	ck_assert_uint_eq(get_size(q, QLOWAT, 2), 5);
	ck_assert_uint_eq(get_size(q, QHIWAT, 1), HIWAT);
	ck_assert_uint_eq(q->q_hiwat, HIWAT);
	tm_queue(q, banded(2, 8));
	ck_assert(!band_full(2));
	tm_queue(q, banded(2, 1));
	ck_assert(band_full(2));
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(strqset_creates_the_band_it_names)
{
	ck_assert_int_eq(strqset(q, QHIWAT, 4, 33), 0);
	ck_assert_uint_eq(q->q_nband, 4);
	ck_assert_uint_eq(get_size(q, QHIWAT, 4), 33);
}
END_TEST

START_TEST(a_new_high_water_mark_rules_the_next_message)
{
	ck_assert_int_eq(strqset(q, QHIWAT, 0, 50), 0);
	tm_queue(q, norm(49));
	ck_assert(!full());
	tm_queue(q, norm(1));
	ck_assert(full());
	freemsg(getq(q));
	freemsg(getq(q));
	ck_assert_int_eq(strqset(q, QHIWAT, 0, 1), 0);
	ck_assert_int_eq(strqset(q, QLOWAT, 0, 0), 0);
	tm_queue(q, norm(0)); /* one block */
	ck_assert(full());
	freemsg(getq(q));
	ck_assert(!full());
}
END_TEST

START_TEST(moving_the_high_water_mark_decides_fullness_anew)
{
	tm_queue(q, tm_chain(M_DATA, 0, 3, 20, 'c'));
	ck_assert_int_eq(strqset(q, QLOWAT, 0, 0), 0);
	ck_assert(!full());
	ck_assert_int_eq(strqset(q, QHIWAT, 0, 60), 0);
	ck_assert(full());
	ck_assert_int_eq(strqset(q, QHIWAT, 0, 61), 0);
	ck_assert(!full());
	flushq(q, FLUSHALL);
	tm_queue(q, tm_chain(M_DATA, 0, 3, 0, 'c'));
	ck_assert_int_eq(strqset(q, QHIWAT, 0, 3), 0);
	ck_assert(full());
	ck_assert_int_eq(strqset(q, QHIWAT, 0, 4), 0);
	ck_assert(!full());
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(moving_the_high_water_mark_of_a_band_decides_its_fullness_anew)
{
	tm_queue(q, tm_chain(M_DATA, 2, 3, 20, 'c'));
	ck_assert_int_eq(strqset(q, QLOWAT, 2, 0), 0);
	ck_assert(!band_full(2));
	ck_assert_int_eq(strqset(q, QHIWAT, 2, 60), 0);
	ck_assert(band_full(2));
	ck_assert_int_eq(strqset(q, QHIWAT, 2, 61), 0);
	ck_assert(!band_full(2));
	ck_assert(!full());
	flushq(q, FLUSHALL);
}
END_TEST

/* ---- random operations against a model -------------------------------------------- */

enum { MOST = 60, BANDS = 256 };

struct qmodel {
	queue_t *q;
	queue_t *back; /* what a back-enable enables */
	mblk_t *mp[MOST + 1];
	int n;
	int nband;
	size_t hiwat[BANDS];
	size_t lowat[BANDS];
	char wantw[BANDS];
	int wantr;
	int noenb;
	int enabled; /* the queue, since the last kick */
	int backed;  /* the one behind, since the last kick */
	int many;    /* use high bands too */
	struct tm_rand r;
	unsigned long long seed;
	int op;
	int what;
};

#define MODEL_ASSERT(m, expr) \
	tm_assert(expr, "seed %llu, operation %d (%d)", (m)->seed, (m)->op, (m)->what)

static int
band_of(const mblk_t *mp)
{
	return mp->b_datap->db_type >= QPCTL ? 0 : mp->b_band;
}

static void
tally(const struct qmodel *m, int b, size_t *bytes, size_t *blocks)
{
	const mblk_t *bp;
	int i;

	*bytes = *blocks = 0;
	for (i = 0; i < m->n; i++)
		for (bp = band_of(m->mp[i]) == b ? m->mp[i] : NULL; bp; bp = bp->b_cont) {
			*bytes += (size_t)(bp->b_wptr - bp->b_rptr);
			++*blocks;
		}
}

static int
model_full(const struct qmodel *m, int b)
{
	size_t bytes, blocks;

	tally(m, b, &bytes, &blocks);
	return bytes >= m->hiwat[b] || blocks >= m->hiwat[b];
}

static void
check_band(struct qmodel *m, int b, qband_t *qb)
{
	mblk_t *first = NULL, *last = NULL;
	size_t bytes, blocks;
	int i;

	for (i = 0; i < m->n; i++)
		if (rank(m->mp[i]) == b) {
			if (!first)
				first = m->mp[i];
			last = m->mp[i];
		}
	tally(m, b, &bytes, &blocks);
	MODEL_ASSERT(m, qb != NULL);
	MODEL_ASSERT(m, qb->qb_count == bytes);
	MODEL_ASSERT(m, qb->qb_first == first);
	MODEL_ASSERT(m, qb->qb_last == last);
	MODEL_ASSERT(m, !(qb->qb_flag & QB_FULL) == !model_full(m, b));
	MODEL_ASSERT(m, !(qb->qb_flag & QB_WANTW) == !m->wantw[b]);
}

static void
check_all(struct qmodel *m)
{
	size_t bytes, blocks;
	mblk_t *mp, *prev = NULL;
	qband_t *qb;
	int i = 0, b;

	for (mp = m->q->q_first; mp; prev = mp, mp = mp->b_next, i++) {
		MODEL_ASSERT(m, i < m->n);
		MODEL_ASSERT(m, mp == m->mp[i]);
		MODEL_ASSERT(m, mp->b_prev == prev);
	}
	MODEL_ASSERT(m, i == m->n);
	MODEL_ASSERT(m, m->q->q_last == prev);
	MODEL_ASSERT(m, qsize(m->q) == m->n);
	tally(m, 0, &bytes, &blocks);
	MODEL_ASSERT(m, m->q->q_count == bytes);
	MODEL_ASSERT(m, !(m->q->q_flag & QFULL) == !model_full(m, 0));
	MODEL_ASSERT(m, !(m->q->q_flag & QWANTW) == !m->wantw[0]);
	MODEL_ASSERT(m, !(m->q->q_flag & QWANTR) == !m->wantr);
	MODEL_ASSERT(m, !(m->q->q_flag & QNOENB) == !m->noenb);
	MODEL_ASSERT(m, !(m->q->q_flag & QENAB) == !m->enabled);
	MODEL_ASSERT(m, !(m->back->q_flag & QENAB) == !m->backed);
	MODEL_ASSERT(m, m->q->q_nband == m->nband);
	if (m->nband > 8 && m->op % 64)
		return;
	for (b = 1, qb = m->q->q_bandp; b <= m->nband; b++, qb = qb->qb_next) {
		check_band(m, b, qb);
		MODEL_ASSERT(m, get_size(m->q, QCOUNT, b) == qb->qb_count);
	}
}

/* The queue may have made bands up to b: learn their marks. */
static void
learn_bands(struct qmodel *m, int b)
{
	while (m->nband < b) {
		m->nband++;
		m->hiwat[m->nband] = get_size(m->q, QHIWAT, m->nband);
		m->lowat[m->nband] = get_size(m->q, QLOWAT, m->nband);
		MODEL_ASSERT(m, m->hiwat[m->nband] == m->hiwat[0]);
	}
}

static mblk_t *
random_msg(struct qmodel *m)
{
	static const unsigned char types[] = {
	    M_DATA, M_DATA, M_PROTO, M_CTL, M_DELAY, M_SIG, M_PCPROTO, M_FLUSH, M_IOCACK};
	int type = types[tm_below(&m->r, sizeof(types))], b = 0;
	mblk_t *mp;

	if (tm_below(&m->r, 2))
		b = (int)tm_below(&m->r, m->many ? 256 : 5);
	mp = tm_msg(type, b, tm_below(&m->r, 40), 'r');
	while (tm_below(&m->r, 4) == 0)
		linkb(mp, tm_msg(M_DATA, 0, tm_below(&m->r, 20), 'r'));
	return mp;
}

static void
model_insert(struct qmodel *m, int at, mblk_t *mp)
{
	memmove(&m->mp[at + 1], &m->mp[at], (size_t)(m->n - at) * sizeof(mp));
	m->mp[at] = mp;
	m->n++;
	learn_bands(m, band_of(mp));
}

static void
model_remove(struct qmodel *m, int at)
{
	m->n--;
	memmove(&m->mp[at], &m->mp[at + 1], (size_t)(m->n - at) * sizeof(mblk_t *));
}

/* After removals from band b. */
static void
model_back_enable(struct qmodel *m, int b)
{
	size_t bytes, blocks;

	tally(m, b, &bytes, &blocks);
	if (!m->wantw[b] ||
	    (m->lowat[b] && (bytes >= m->lowat[b] || blocks >= m->lowat[b])))
		return;
	m->wantw[b] = 0;
	m->backed = 1;
}

static void
op_putq(struct qmodel *m)
{
	mblk_t *mp = random_msg(m);
	int i, hi = rank(mp) == 256, b = mp->b_band;

	if (m->n == MOST) {
		freemsg(mp);
		return;
	}
	MODEL_ASSERT(m, putq(m->q, mp) == 1);
	for (i = m->n; i > 0 && rank(m->mp[i - 1]) < rank(mp); i--)
		;
	model_insert(m, i, mp);
	MODEL_ASSERT(m, mp->b_band == (hi ? 0 : b));
	if (hi || (!m->noenb && (m->wantr || b > 0)))
		m->enabled = 1;
}

static void
op_putbq(struct qmodel *m)
{
	mblk_t *mp = random_msg(m);
	int i;

	if (m->n == MOST) {
		freemsg(mp);
		return;
	}
	MODEL_ASSERT(m, putbq(m->q, mp) == 1);
	for (i = 0; i < m->n && rank(m->mp[i]) > rank(mp); i++)
		;
	model_insert(m, i, mp);
	if (rank(mp) == 256 || (!m->noenb && m->wantr))
		m->enabled = 1;
}

static void
op_insq(struct qmodel *m)
{
	mblk_t *mp = random_msg(m);
	int at = (int)tm_below(&m->r, (unsigned)m->n + 1), legal;

	legal = (at == 0 || rank(m->mp[at - 1]) >= rank(mp)) &&
	    (at == m->n || rank(m->mp[at]) <= rank(mp));
	if (m->n == MOST) {
		freemsg(mp);
		return;
	}
	MODEL_ASSERT(m, insq(m->q, at < m->n ? m->mp[at] : NULL, mp) == legal);
	if (!legal) {
		/* whether it made the band first is its own affair */
		MODEL_ASSERT(
		    m, m->q->q_nband <= m->nband || m->q->q_nband == band_of(mp));
		learn_bands(m, m->q->q_nband);
		freemsg(mp);
		return;
	}
	model_insert(m, at, mp);
	if (!m->noenb && m->wantr)
		m->enabled = 1;
}

static void
op_getq(struct qmodel *m)
{
	mblk_t *mp = getq(m->q);
	int b;

	MODEL_ASSERT(m, mp == (m->n ? m->mp[0] : NULL));
	m->wantr = !mp;
	if (!mp)
		return;
	MODEL_ASSERT(m, !mp->b_next && !mp->b_prev);
	b = band_of(mp);
	model_remove(m, 0);
	model_back_enable(m, b);
	freemsg(mp);
}

static void
op_rmvq(struct qmodel *m)
{
	int at, b;
	mblk_t *mp;

	if (m->n == 0)
		return;
	at = (int)tm_below(&m->r, (unsigned)m->n);
	mp = m->mp[at];
	b = band_of(mp);
	rmvq(m->q, mp);
	MODEL_ASSERT(m, !mp->b_next && !mp->b_prev);
	model_remove(m, at);
	model_back_enable(m, b);
	freemsg(mp);
}

/* Flush band b, or with b < 0 all. */
static void
model_flush(struct qmodel *m, int b, int flag)
{
	char hit[BANDS] = {0};
	int i;

	for (i = 0; i < m->n; i++) {
		if ((b >= 0 && band_of(m->mp[i]) != b) ||
		    (flag == FLUSHDATA && !datamsg(m->mp[i]->b_datap->db_type)))
			continue;
		hit[band_of(m->mp[i])] = 1;
		model_remove(m, i--);
	}
	for (i = 0; i < BANDS; i++)
		if (hit[i])
			model_back_enable(m, i);
}

static void
op_flush(struct qmodel *m)
{
	int flag = tm_below(&m->r, 2) ? FLUSHALL : FLUSHDATA;
	int b = (int)tm_below(&m->r, 8) - 1;

	if (tm_below(&m->r, 3))
		return;
	/* the model looks at the messages, so it goes first */
	model_flush(m, b, flag);
	if (b < 0)
		flushq(m->q, flag);
	else
		flushband(m->q, (unsigned char)b, flag);
}

static void
op_canput(struct qmodel *m)
{
	int b = tm_below(&m->r, 2) ? 0 : (int)tm_below(&m->r, m->many ? 256 : 6);
	int no = b <= m->nband && model_full(m, b);

	if (b == 0 && tm_below(&m->r, 2))
		MODEL_ASSERT(m, canput(m->q) == !no);
	else
		MODEL_ASSERT(m, bcanput(m->q, (unsigned char)b) == !no);
	if (no)
		m->wantw[b] = 1;
}

static void
op_marks(struct qmodel *m)
{
	int b;

	if (m->n > 0)
		return;
	b = (int)tm_below(&m->r, (unsigned)m->nband + 1);
	m->hiwat[b] = 1 + tm_below(&m->r, tm_below(&m->r, 2) ? 10 : 200);
	m->lowat[b] = tm_below(&m->r, (unsigned)m->hiwat[b] + 1);
	/* keep low <= high at every moment */
	MODEL_ASSERT(m, strqset(m->q, QLOWAT, (unsigned char)b, 0) == 0);
	MODEL_ASSERT(
	    m, strqset(m->q, QHIWAT, (unsigned char)b, (intptr_t)m->hiwat[b]) == 0);
	MODEL_ASSERT(
	    m, strqset(m->q, QLOWAT, (unsigned char)b, (intptr_t)m->lowat[b]) == 0);
}

static void
op_enable(struct qmodel *m)
{
	switch (tm_below(&m->r, 6)) {
	case 0:
		qenable(m->q);
		m->enabled = 1;
		break;
	case 1:
		noenable(m->q);
		m->noenb = 1;
		break;
	default:
		enableok(m->q);
		m->noenb = 0;
		break;
	}
}

static void
op_kick(struct qmodel *m)
{
	int was = tm_srvs(m->q), behind = tm_srvs(m->back);

	tm_kick(fd);
	MODEL_ASSERT(m, tm_srvs(m->q) == was + m->enabled);
	MODEL_ASSERT(m, tm_srvs(m->back) == behind + m->backed);
	m->enabled = m->backed = 0;
}

static void
model_run(struct qmodel *m, int ops)
{
	static void (*const op[])(struct qmodel *) = {op_putq, op_putq, op_putq, op_putbq,
	    op_insq, op_getq, op_getq, op_getq, op_rmvq, op_flush, op_canput, op_canput,
	    op_marks, op_enable, op_kick};

	m->hiwat[0] = m->q->q_hiwat;
	m->lowat[0] = m->q->q_lowat;
	m->wantr = 1;
	for (m->op = 0; m->op < ops; m->op++) {
		m->what = (int)tm_below(&m->r, sizeof(op) / sizeof(op[0]));
		op[m->what](m);
		check_all(m);
	}
	model_flush(m, -1, FLUSHALL);
	flushq(m->q, FLUSHALL);
	check_all(m);
	op_kick(m);
}

/* Even numbers test the read side, odd ones the write side. */
START_TEST(random_operations_agree_with_a_naive_model)
{
	static struct qmodel m;

	memset(&m, 0, sizeof(m));
	m.seed = 1000 + (unsigned)_i;
	m.r.s = m.seed * 0x9e3779b97f4a7c15ULL;
	m.many = _i >= 6;
	m.q = _i & 1 ? tm_wq(1) : tm_rq(1);
	m.back = _i & 1 ? tm_wq(2) : tm_rq(0);
	model_run(&m, tm_scale(200000));
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

static TCase *
group(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, tm_teardown);
	suite_add_tcase(s, tc);
	return tc;
}

static void
order_tests(Suite *s)
{
	TCase *tc = group(s, "order");

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
	TCase *tc = group(s, "counts");

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
flush_tests(Suite *s)
{
	TCase *tc = group(s, "flush");

	tcase_add_test(tc, flushall_removes_everything);
	tcase_add_test(
	    tc, flushdata_removes_the_four_data_types_and_keeps_the_rest_in_order);
	tcase_add_test(tc, flushdata_looks_at_bands_too);
	tcase_add_test(tc, all_counters_return_to_zero_after_a_flush);
	tcase_add_test(tc, flushband_removes_only_its_band);
	tcase_add_test(tc, flushband_with_flushdata_keeps_other_types_of_the_band);
	tcase_add_test(tc, flushband_0_removes_normal_and_high_priority_messages);
	tcase_add_test(tc, flushing_a_band_never_used_does_nothing);
	tcase_add_test(tc, flushing_an_empty_queue_does_nothing);
	tcase_add_test(tc, a_flush_frees_each_message_once);
}

static void
field_tests(Suite *s)
{
	TCase *tc = group(s, "fields");

	tcase_add_test(tc, strqget_reads_every_field_of_the_queue);
	tcase_add_test(tc, strqget_reads_the_fields_of_a_band);
	tcase_add_test(tc, strqset_sets_the_four_limits);
	tcase_add_test(tc, strqset_refuses_the_read_only_fields);
	tcase_add_test(tc, unknown_fields_are_einval);
	tcase_add_test(tc, strqset_sets_the_marks_of_one_band);
	tcase_add_test(tc, strqset_creates_the_band_it_names);
	tcase_add_test(tc, a_new_high_water_mark_rules_the_next_message);
	tcase_add_test(tc, moving_the_high_water_mark_decides_fullness_anew);
	tcase_add_test(
	    tc, moving_the_high_water_mark_of_a_band_decides_its_fullness_anew);
}

static void
small_arena(void)
{
	setenv("USTREAMS_ARENA", "32M", 1);
	setup();
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
	TCase *tc;

	order_tests(s);
	count_tests(s);
	flush_tests(s);
	field_tests(s);
	tc = group(s, "random");
	tcase_add_loop_test(tc, random_operations_agree_with_a_naive_model, 0, 8);
	if (tm_forked() && !tm_heap_malloc())
		exhaustion_tests(s);
	return tm_run(s);
}
