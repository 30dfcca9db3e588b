/* SPDX-License-Identifier: BSD-2-Clause */
/* check_strqget.c: reading and setting the fields of a queue and its bands. */
#include "queuelib.h"

#include <errno.h>

/* ---- strqget, strqset ------------------------------------------------------------- */

START_TEST(strqget_reads_every_field_of_the_queue)
{
	mblk_t *a = tm_queue(q, tm_norm(10)), *b = tm_queue(q, tm_norm(15));
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
	tm_queue(q, tm_norm(100));
	ck_assert_int_eq(strqget(q, QFLAG, 0, &flag), 0);
	ck_assert_uint_eq(flag & (QREADR | QFULL), QREADR | QFULL);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(strqget_reads_the_fields_of_a_band)
{
	mblk_t *a = tm_queue(q, tm_banded(2, 70)), *b = tm_queue(q, tm_banded(2, 30));
	unsigned int flag = 0;

	tm_queue(q, tm_norm(3));
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
	mblk_t *mp = tm_queue(q, tm_norm(10));
	unsigned int flag = q->q_flag;
	size_t i;

	for (i = 0; i < sizeof(ro) / sizeof(ro[0]); i++)
		ck_assert_int_eq(strqset(q, ro[i], 0, 0), EPERM);
	ck_assert_uint_eq(q->q_count, 10);
	ck_assert_uint_eq(q->q_flag, flag);
	tm_queue(q, tm_banded(1, 5));
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
	tm_queue(q, tm_banded(2, 1));
	ck_assert_int_eq(strqset(q, QHIWAT, 2, 10), 0);
	ck_assert_int_eq(strqset(q, QLOWAT, 2, 5), 0);
	ck_assert_uint_eq(get_size(q, QHIWAT, 2), 10);
	ck_assert_uint_eq(get_size(q, QLOWAT, 2), 5);
	ck_assert_uint_eq(get_size(q, QHIWAT, 1), HIWAT);
	ck_assert_uint_eq(q->q_hiwat, HIWAT);
	tm_queue(q, tm_banded(2, 8));
	ck_assert(!band_full(2));
	tm_queue(q, tm_banded(2, 1));
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
	tm_queue(q, tm_norm(49));
	ck_assert(!full());
	tm_queue(q, tm_norm(1));
	ck_assert(full());
	freemsg(getq(q));
	freemsg(getq(q));
	ck_assert_int_eq(strqset(q, QHIWAT, 0, 1), 0);
	ck_assert_int_eq(strqset(q, QLOWAT, 0, 0), 0);
	tm_queue(q, tm_norm(0)); /* one block */
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

/* ---- the suite -------------------------------------------------------------------- */

static void
field_tests(Suite *s)
{
	TCase *tc = queue_group(s, "fields");

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

int
main(void)
{
	Suite *s = suite_create("strqget");

	field_tests(s);
	return tm_run(s);
}
