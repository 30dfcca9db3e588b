/* SPDX-License-Identifier: BSD-2-Clause */
/* check_flush.c: flushing a queue and its bands. */
#include "queuelib.h"


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

	tm_queue(q, tm_banded(3, 5));
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
		tm_queue(q, tm_norm(0));
	ck_assert(!full());
	tm_queue(q, tm_norm(0));
	ck_assert(full());
	for (i = 0; i < HIWAT - 1; i++)
		tm_queue(q, tm_banded(5, 0));
	ck_assert(!band_full(5));
	tm_queue(q, tm_banded(5, 0));
	ck_assert(band_full(5));
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(flushband_removes_only_its_band)
{
	mblk_t *n = tm_queue(q, tm_norm(1)), *b1 = tm_queue(q, tm_banded(1, 1)), *b3, *h;

	tm_queue(q, tm_banded(2, 60));
	tm_queue(q, tm_banded(2, 60));
	b3 = tm_queue(q, tm_banded(3, 1));
	h = tm_queue(q, tm_hipri(1));
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
	mblk_t *n = tm_queue(q, tm_norm(1)), *c, *s;

	c = tm_queue(q, tm_msg(M_CTL, 2, 1, 'c'));
	tm_queue(q, tm_banded(2, 5));
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

	tm_queue(q, tm_norm(10));
	tm_queue(q, tm_hipri(10));
	b = tm_queue(q, tm_banded(1, 10));
	flushband(q, 0, FLUSHALL);
	ck_assert_uint_eq(q->q_count, 0);
	tm_expect(q, b);
	tm_expect(q, NULL);
}
END_TEST

START_TEST(flushing_a_band_never_used_does_nothing)
{
	mblk_t *n = tm_queue(q, tm_norm(10)), *b = tm_queue(q, tm_banded(2, 10));

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

/* ---- the suite -------------------------------------------------------------------- */

static void
flush_tests(Suite *s)
{
	TCase *tc = queue_group(s, "flush");

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

int
main(void)
{
	Suite *s = suite_create("flush");

	flush_tests(s);
	return tm_run(s);
}
