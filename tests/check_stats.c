/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_stats.c: the arithmetic of strperf: medians, their intervals, and the
 * sums by which messages are checked.
 */
#include "../utils/strperf_payload.h"
#include "../utils/strperf_stats.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))

/* ---- medians -------------------------------------------------------------- */

START_TEST(the_median_of_an_odd_number_of_values_is_the_middle_one)
{
	double v[] = {5, 1, 4, 2, 3};

	ck_assert_double_eq(stats_median(v, NELEM(v)), 3);
	ck_assert_double_eq(v[0], 5);
}
END_TEST

START_TEST(the_median_of_an_even_number_of_values_lies_between_the_two_in_the_middle)
{
	double v[] = {10, 1, 4, 2};

	ck_assert_double_eq(stats_median(v, NELEM(v)), 3);
}
END_TEST

START_TEST(one_value_is_its_own_median_and_has_no_interval)
{
	double v = 7;
	struct estimate e = stats_estimate(&v, 1);

	ck_assert_double_eq(e.median, 7);
	ck_assert_int_eq(e.method, STATS_NONE);
	ck_assert_double_nan(e.lo);
	ck_assert_double_nan(e.hi);
}
END_TEST

START_TEST(no_values_have_no_median)
{
	struct estimate e = stats_estimate(NULL, 0);

	ck_assert_double_nan(stats_median(NULL, 0));
	ck_assert_double_nan(e.median);
	ck_assert_uint_eq(e.n, 0);
}
END_TEST

/* ---- intervals ------------------------------------------------------------- */

START_TEST(ranks_are_those_of_the_tables_of_the_sign_test)
{
	static const struct {
		size_t n, rank;
	} known[] = {{0, 0}, {1, 0}, {5, 0}, {6, 1}, {8, 1}, {9, 2}, {11, 2}, {12, 3},
	    {15, 4}, {17, 5}, {20, 6}, {25, 8}, {30, 10}, {50, 18}, {100, 40},
	    {1000, 469}};

	for (size_t i = 0; i < NELEM(known); i++)
		ck_assert_msg(stats_rank(known[i].n) == known[i].rank,
		    "n %zu: %zu, not %zu", known[i].n, stats_rank(known[i].n),
		    known[i].rank);
}
END_TEST

START_TEST(the_rank_of_very_many_values_does_not_underflow)
{
	double expected = 50000 - 1.96 * sqrt(100000) / 2;

	ck_assert(fabs((double)stats_rank(100000) - expected) < 2);
}
END_TEST

START_TEST(six_values_give_their_smallest_and_largest)
{
	double v[] = {3, 9, 1, 4, 2, 8};
	struct estimate e = stats_estimate(v, NELEM(v));

	ck_assert_int_eq(e.method, STATS_ORDER);
	ck_assert_double_eq(e.lo, 1);
	ck_assert_double_eq(e.hi, 9);
	ck_assert_double_eq(e.median, 3.5);
}
END_TEST

START_TEST(twenty_values_give_the_sixth_from_either_end)
{
	double v[20];
	struct estimate e;

	for (size_t i = 0; i < NELEM(v); i++)
		v[i] = (double)((i * 7) % 20 + 1);
	e = stats_estimate(v, NELEM(v));
	ck_assert_double_eq(e.lo, 6);
	ck_assert_double_eq(e.hi, 15);
}
END_TEST

START_TEST(fewer_than_six_values_use_students_t)
{
	double v[] = {1, 2};
	struct estimate e = stats_estimate(v, NELEM(v));

	ck_assert_int_eq(e.method, STATS_T);
	ck_assert_double_eq_tol(e.hi, 1.5 + 12.7062 * 0.5, 1e-4);
	ck_assert_double_eq_tol(e.lo, 1.5 - 12.7062 * 0.5, 1e-4);
}
END_TEST

/* Values of an exponential distribution, whose median is ln 2. */
static double
exponential(void)
{
	return -log((random() + 1.0) / (RAND_MAX + 2.0));
}

START_TEST(the_interval_covers_the_median_of_a_skewed_distribution_often_enough)
{
	enum { TRIALS = 4000, N = 15 };
	double v[N];
	int covered = 0;

	srandom(1);
	for (int trial = 0; trial < TRIALS; trial++) {
		struct estimate e;

		for (int i = 0; i < N; i++)
			v[i] = exponential();
		e = stats_estimate(v, N);
		covered += !stats_excludes(&e, log(2));
	}
	ck_assert_int_ge(covered, TRIALS * 955 / 1000);
	ck_assert_int_le(covered, TRIALS * 975 / 1000);
}
END_TEST

START_TEST(a_difference_is_proven_only_when_the_interval_leaves_it_out)
{
	struct estimate e = {2, 1, 3, 10, STATS_ORDER};

	ck_assert(stats_excludes(&e, 0.9));
	ck_assert(stats_excludes(&e, 3.1));
	ck_assert(!stats_excludes(&e, 1));
	ck_assert(!stats_excludes(&e, 3));
}
END_TEST

START_TEST(nothing_is_proven_without_an_interval)
{
	struct estimate e = {2, NAN, NAN, 1, STATS_NONE};

	ck_assert(!stats_excludes(&e, 1));
}
END_TEST

/* ---- paired ratios ------------------------------------------------------------ */

START_TEST(ratios_are_taken_pair_by_pair)
{
	/* The machine halves its speed; the ratio stays. */
	double a[] = {20, 20, 20, 10, 10, 10}, b[] = {10, 10, 10, 5, 5, 5};
	struct estimate e = stats_paired_ratio(a, b, NELEM(a));

	ck_assert_uint_eq(e.n, 6);
	ck_assert_double_eq_tol(e.median, 2, 1e-12);
	ck_assert_double_eq_tol(e.lo, 2, 1e-12);
	ck_assert_double_eq_tol(e.hi, 2, 1e-12);
}
END_TEST

START_TEST(the_ratio_the_other_way_round_is_the_inverse)
{
	double a[] = {3, 1, 4, 1, 5, 9, 2, 6}, b[] = {2, 7, 1, 8, 2, 8, 1, 8};
	struct estimate ab = stats_paired_ratio(a, b, NELEM(a));
	struct estimate ba = stats_paired_ratio(b, a, NELEM(a));

	ck_assert_double_eq_tol(ab.median, 1 / ba.median, 1e-12);
	ck_assert_double_eq_tol(ab.lo, 1 / ba.hi, 1e-12);
	ck_assert_double_eq_tol(ab.hi, 1 / ba.lo, 1e-12);
}
END_TEST

START_TEST(a_pair_without_a_rate_is_left_out)
{
	double a[] = {4, 0, 4, NAN}, b[] = {2, 2, 0, 2};
	struct estimate e = stats_paired_ratio(a, b, NELEM(a));

	ck_assert_uint_eq(e.n, 1);
	ck_assert_double_eq_tol(e.median, 2, 1e-12);
}
END_TEST

START_TEST(no_pairs_have_no_ratio)
{
	struct estimate e = stats_paired_ratio(NULL, NULL, 0);

	ck_assert_double_nan(e.median);
	ck_assert_int_eq(e.method, STATS_NONE);
}
END_TEST

/* ---- messages -------------------------------------------------------------------- */

static const size_t sizes[] = {
    1, 2, 15, 16, 17, 23, 24, 64, 100, 511, 512, 513, 520, 4096};

START_TEST(a_stamped_message_is_good_at_every_size)
{
	size_t size = sizes[_i];
	unsigned char *buf = payload_alloc(size);
	struct payload p;

	payload_init(&p, buf, size);
	for (uint64_t seq = 0; seq < 1000; seq++) {
		payload_stamp(&p, buf, seq);
		ck_assert_int_eq(payload_check(buf, size, seq), PAYLOAD_GOOD);
		ck_assert_int_eq(payload_check(buf, size, seq + 1), PAYLOAD_SEQUENCE);
	}
	free(buf);
}
END_TEST

START_TEST(any_one_flipped_bit_of_a_checked_message_is_found)
{
	size_t size = sizes[_i];
	unsigned char *buf = payload_alloc(size);
	struct payload p;

	payload_init(&p, buf, size);
	payload_stamp(&p, buf, 12345);
	for (size_t bit = 0; size >= PAYLOAD_CHECKED && bit < size * 8; bit++) {
		buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
		ck_assert_int_eq(payload_check(buf, size, 12345), PAYLOAD_SUM);
		buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	free(buf);
}
END_TEST

START_TEST(a_piece_of_an_older_message_is_found)
{
	enum { SIZE = 4096 };
	unsigned char *old = payload_alloc(SIZE), *new = payload_alloc(SIZE);
	struct payload p;

	payload_init(&p, old, SIZE);
	payload_init(&p, new, SIZE);
	payload_stamp(&p, old, 7);
	for (size_t at = PAYLOAD_PIECE; at < SIZE; at += PAYLOAD_PIECE) {
		payload_stamp(&p, new, 8);
		memcpy(new + at, old + at, PAYLOAD_PIECE);
		ck_assert_int_eq(payload_check(new, SIZE, 8), PAYLOAD_SUM);
	}
	free(old);
	free(new);
}
END_TEST

START_TEST(a_message_of_zeros_is_not_good)
{
	unsigned char *buf = payload_alloc(64);

	ck_assert_int_eq(payload_check(buf, 64, 0), PAYLOAD_SUM);
	free(buf);
}
END_TEST

static TCase *
medians(void)
{
	TCase *tc = tcase_create("medians");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, the_median_of_an_odd_number_of_values_is_the_middle_one);
	tcase_add_test(tc,
	    the_median_of_an_even_number_of_values_lies_between_the_two_in_the_middle);
	tcase_add_test(tc, one_value_is_its_own_median_and_has_no_interval);
	tcase_add_test(tc, no_values_have_no_median);
	return tc;
}

static TCase *
intervals(void)
{
	TCase *tc = tcase_create("intervals");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, ranks_are_those_of_the_tables_of_the_sign_test);
	tcase_add_test(tc, the_rank_of_very_many_values_does_not_underflow);
	tcase_add_test(tc, six_values_give_their_smallest_and_largest);
	tcase_add_test(tc, twenty_values_give_the_sixth_from_either_end);
	tcase_add_test(tc, fewer_than_six_values_use_students_t);
	tcase_add_test(
	    tc, the_interval_covers_the_median_of_a_skewed_distribution_often_enough);
	tcase_add_test(tc, a_difference_is_proven_only_when_the_interval_leaves_it_out);
	tcase_add_test(tc, nothing_is_proven_without_an_interval);
	return tc;
}

static TCase *
ratios(void)
{
	TCase *tc = tcase_create("ratios");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, ratios_are_taken_pair_by_pair);
	tcase_add_test(tc, the_ratio_the_other_way_round_is_the_inverse);
	tcase_add_test(tc, a_pair_without_a_rate_is_left_out);
	tcase_add_test(tc, no_pairs_have_no_ratio);
	return tc;
}

static TCase *
messages(void)
{
	TCase *tc = tcase_create("messages");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(
	    tc, a_stamped_message_is_good_at_every_size, 0, (int)NELEM(sizes));
	tcase_add_loop_test(
	    tc, any_one_flipped_bit_of_a_checked_message_is_found, 0, (int)NELEM(sizes));
	tcase_add_test(tc, a_piece_of_an_older_message_is_found);
	tcase_add_test(tc, a_message_of_zeros_is_not_good);
	return tc;
}

int
main(void)
{
	Suite *s = suite_create("stats");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, medians());
	suite_add_tcase(s, intervals());
	suite_add_tcase(s, ratios());
	suite_add_tcase(s, messages());
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
