/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_hist.c: the histogram of latencies, with GSL's quantiles as the oracle.
 */
#include "../utils/strperf_hist.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#define N 20000

static struct hist *h;
static gsl_rng *rng;
static double values[N];

static void
setup(void)
{
	h = mmap(NULL, 3 * sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	    -1, 0);
	ck_assert(h != MAP_FAILED);
	for (int i = 0; i < 3; i++)
		hist_init(&h[i]);
	rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(rng, 42);
}

static void
teardown(void)
{
	gsl_rng_free(rng);
	munmap(h, 3 * sizeof(*h));
}

/* ---- one value ----------------------------------------------------------------- */

START_TEST(every_value_falls_into_the_bucket_that_says_it_holds_it)
{
	for (uint64_t v = 0; v < UINT64_C(1) << 43; v = v < 5000 ? v + 1 : v * 17 / 16) {
		struct hist_bar bar;
		size_t i = 0;

		hist_init(&h[0]);
		hist_record(&h[0], (int64_t)v);
		ck_assert(hist_next(&h[0], &i, &bar));
		ck_assert_double_le(bar.lo, (double)v);
		ck_assert_double_gt(bar.hi, (double)v);
		ck_assert_uint_eq(bar.count, 1);
		ck_assert(!hist_next(&h[0], &i, &bar));
	}
}
END_TEST

START_TEST(no_bucket_is_wider_than_the_stated_part_of_its_values)
{
	struct hist_bar bar;
	size_t n = 0;

	for (size_t i = 0; i < HIST_BUCKETS; i++)
		h[0].bucket[i] = 1;
	for (size_t i = 0; hist_next(&h[0], &i, &bar); n++) {
		double bound = fmax(1, bar.lo / HIST_SUB);

		ck_assert_double_le(bar.hi - bar.lo, bound);
		if (n > 0)
			ck_assert_uint_eq(hist_index((uint64_t)bar.lo), n);
	}
	ck_assert_uint_eq(n, HIST_BUCKETS);
}
END_TEST

START_TEST(a_single_value_is_every_quantile)
{
	hist_record(&h[0], 123457);
	for (const struct hist_quantile *q = hist_quantiles; q->name != NULL; q++)
		ck_assert_double_eq(hist_quantile(&h[0], q->f), 123457);
	ck_assert_double_eq(hist_mean(&h[0]), 123457);
}
END_TEST

START_TEST(an_empty_histogram_has_no_quantiles)
{
	ck_assert_double_nan(hist_quantile(&h[0], 0.5));
	ck_assert_double_nan(hist_mean(&h[0]));
}
END_TEST

START_TEST(what_is_out_of_range_is_counted_at_the_ends)
{
	hist_record(&h[0], -5);
	hist_record(&h[0], INT64_MAX);
	ck_assert_uint_eq(h[0].count, 2);
	ck_assert_uint_eq(h[0].min, 0);
	ck_assert_double_eq(hist_quantile(&h[0], 1), (double)INT64_MAX);
	ck_assert_uint_eq(h[0].bucket[HIST_BUCKETS - 1], 1);
}
END_TEST

/* ---- quantiles against GSL --------------------------------------------------------- */

static double
lognormal(void)
{
	return gsl_ran_lognormal(rng, 7, 1.5);
}

static double
exponential(void)
{
	return gsl_ran_exponential(rng, 800);
}

static double
uniform(void)
{
	return gsl_ran_flat(rng, 0, 3e6);
}

/* A fast path and a rare slow one, as latencies have. */
static double
two_modes(void)
{
	return gsl_rng_uniform(rng) < 0.98 ? gsl_ran_gaussian(rng, 20) + 300
					   : gsl_ran_gaussian(rng, 9000) + 60000;
}

static double (*const distributions[])(void) = {
    lognormal, exponential, uniform, two_modes};

START_TEST(quantiles_agree_with_gsl_to_the_width_of_a_bucket)
{
	static const double fractions[] = {
	    0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.97, 0.99, 0.999, 0.9999, 1};

	for (size_t i = 0; i < N; i++) {
		values[i] = floor(fabs(distributions[_i]()));
		hist_record(&h[0], (int64_t)values[i]);
	}
	gsl_sort(values, 1, N);
	for (size_t i = 0; i < sizeof(fractions) / sizeof(fractions[0]); i++) {
		double want = gsl_stats_quantile_from_sorted_data(
		    values, 1, N, fractions[i]);
		double got = hist_quantile(&h[0], fractions[i]);

		ck_assert_msg(fabs(got - want) <= want / HIST_SUB,
		    "quantile %g: %g, not %g", fractions[i], got, want);
	}
	ck_assert_double_eq_tol(hist_mean(&h[0]), gsl_stats_mean(values, 1, N), 1e-6);
}
END_TEST

START_TEST(below_the_octaves_quantiles_agree_with_gsl_exactly)
{
	for (size_t i = 0; i < 1000; i++) {
		values[i] = (double)(i * 7 % 250);
		hist_record(&h[0], (int64_t)values[i]);
	}
	gsl_sort(values, 1, 1000);
	for (double f = 0; f <= 1; f += 0.0625)
		ck_assert_double_eq_tol(hist_quantile(&h[0], f),
		    gsl_stats_quantile_from_sorted_data(values, 1, 1000, f), 1e-9);
}
END_TEST

START_TEST(quantiles_within_one_bucket_lie_as_its_values_do)
{
	enum { LOW = 1 << 20, WIDTH = (1 << 20) / HIST_SUB };

	for (int i = 0; i < WIDTH; i += 8)
		hist_record(&h[0], LOW + i);
	ck_assert_uint_eq(h[0].bucket[hist_index(LOW)], WIDTH / 8);
	for (double f = 0; f <= 1; f += 0.125)
		ck_assert_double_eq_tol(
		    hist_quantile(&h[0], f), LOW + f * (WIDTH - 8), WIDTH / 500.0);
}
END_TEST

/* ---- merging ---------------------------------------------------------------------- */

START_TEST(two_processes_fill_one_each_and_the_merged_one_is_that_of_all_values)
{
	for (int who = 0; who < 2; who++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (int i = who; i < N; i += 2)
				hist_record(&h[who], (int64_t)i * i);
			_exit(0);
		}
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	}
	for (int i = 0; i < N; i++)
		hist_record(&h[2], (int64_t)i * i);
	hist_merge(&h[0], &h[1]);
	ck_assert_uint_eq(h[0].count, N);
	ck_assert_uint_eq(h[0].min, h[2].min);
	ck_assert_uint_eq(h[0].max, h[2].max);
	ck_assert_double_eq_tol(h[0].sum, h[2].sum, 1);
	ck_assert(memcmp(h[0].bucket, h[2].bucket, sizeof(h[0].bucket)) == 0);
}
END_TEST

START_TEST(merging_an_empty_one_changes_nothing)
{
	hist_record(&h[0], 77);
	h[2] = h[0];
	hist_merge(&h[0], &h[1]);
	ck_assert(memcmp(&h[0], &h[2], sizeof(h[0])) == 0);
	hist_merge(&h[1], &h[0]);
	ck_assert(memcmp(&h[1], &h[2], sizeof(h[0])) == 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("hist");
	TCase *tcase = tcase_create("hist");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, every_value_falls_into_the_bucket_that_says_it_holds_it);
	tcase_add_test(tcase, no_bucket_is_wider_than_the_stated_part_of_its_values);
	tcase_add_test(tcase, a_single_value_is_every_quantile);
	tcase_add_test(tcase, an_empty_histogram_has_no_quantiles);
	tcase_add_test(tcase, what_is_out_of_range_is_counted_at_the_ends);
	tcase_add_loop_test(tcase, quantiles_agree_with_gsl_to_the_width_of_a_bucket, 0,
	    (int)(sizeof(distributions) / sizeof(distributions[0])));
	tcase_add_test(tcase, quantiles_within_one_bucket_lie_as_its_values_do);
	tcase_add_test(tcase, below_the_octaves_quantiles_agree_with_gsl_exactly);
	tcase_add_test(
	    tcase, two_processes_fill_one_each_and_the_merged_one_is_that_of_all_values);
	tcase_add_test(tcase, merging_an_empty_one_changes_nothing);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
