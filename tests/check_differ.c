/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_differ.c: what strperf compare concludes: sums, Student's t, Welch's t,
 * ranks, suspicion and limits; with GSL, tables and brute force as oracles.
 */
#include "../utils/strperf_differ.h"
#include "../utils/strperf_gate.h"
#include "../utils/strperf_moments.h"
#include "../utils/strperf_set.h"
#include "../utils/strperf_student.h"
#include "../utils/strperf_suspect.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_statistics_double.h>

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))

static gsl_rng *rng;

static void
setup(void)
{
	rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(rng, 7);
}

static void
teardown(void)
{
	gsl_rng_free(rng);
}

static struct set *
set_of(const double *v, size_t n)
{
	struct set *s = set_new("set");

	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(set_add(s, v[i]), 0);
	ck_assert_int_eq(set_settle(s), 0);
	return s;
}

static struct set *
normal_set(size_t n, double mean, double deviation)
{
	double v[200];

	for (size_t i = 0; i < n; i++)
		v[i] = mean + gsl_ran_gaussian(rng, deviation);
	return set_of(v, n);
}

/* ---- sums ------------------------------------------------------------------- */

START_TEST(sums_agree_with_gsl)
{
	struct moments m;
	double v[1000];

	moments_init(&m);
	for (size_t i = 0; i < NELEM(v); i++)
		moments_add(&m, v[i] = gsl_ran_lognormal(rng, 1, 1));
	ck_assert_double_eq_tol(m.mean, gsl_stats_mean(v, 1, NELEM(v)), 1e-12);
	ck_assert_double_eq_tol(moments_mean(&m), gsl_stats_mean(v, 1, NELEM(v)), 1e-12);
	ck_assert_double_eq_tol(moments_stddev(&m), gsl_stats_sd(v, 1, NELEM(v)), 1e-12);
	ck_assert_double_eq(m.min, gsl_stats_min(v, 1, NELEM(v)));
	ck_assert_double_eq(m.max, gsl_stats_max(v, 1, NELEM(v)));
}
END_TEST

START_TEST(a_large_offset_costs_no_digits)
{
	struct moments m;

	moments_init(&m);
	for (int i = 0; i < 1000; i++)
		moments_add(&m, 1e9 + i % 2);
	ck_assert_double_eq_tol(moments_variance(&m), 0.25 * 1000 / 999, 1e-9);
}
END_TEST

START_TEST(merged_sums_are_those_of_all_values)
{
	struct moments part[3], all;

	moments_init(&all);
	for (int k = 0; k < 3; k++) {
		moments_init(&part[k]);
		for (int i = 0; i < 10 * k; i++) {
			double value = gsl_ran_gaussian(rng, 3) + k;

			moments_add(&part[k], value);
			moments_add(&all, value);
		}
	}
	moments_merge(&part[0], &part[1]);
	moments_merge(&part[0], &part[2]);
	ck_assert_uint_eq(part[0].n, 30);
	ck_assert_double_eq_tol(part[0].mean, all.mean, 1e-12);
	ck_assert_double_eq_tol(moments_stddev(&part[0]), moments_stddev(&all), 1e-12);
	ck_assert_double_eq(part[0].max, all.max);
}
END_TEST

START_TEST(one_value_has_no_deviation)
{
	struct moments m;

	moments_init(&m);
	ck_assert_double_nan(moments_mean(&m));
	moments_add(&m, 4);
	ck_assert_double_eq(moments_mean(&m), 4);
	ck_assert_double_nan(moments_stddev(&m));
}
END_TEST

/* ---- t ---------------------------------------------------------------------- */

START_TEST(quantiles_are_those_of_printed_tables)
{
	static const struct {
		double level, degrees, t;
	} known[] = {{95, 1, 12.706}, {95, 9, 2.262}, {95, 30, 2.042}, {99, 5, 4.032},
	    {80, 10, 1.372}, {99.8, 8, 4.501}, {99.9, 20, 3.850}};

	for (size_t i = 0; i < NELEM(known); i++)
		ck_assert_double_eq_tol(
		    student_quantile(known[i].level, known[i].degrees), known[i].t,
		    0.0005);
	ck_assert_double_eq(student_tabled(95, 9), 2.262);
	ck_assert_double_eq(student_tabled(95, 101), 1.960);
	ck_assert_double_eq(student_tabled(99.5, 20), 3.552);
	ck_assert(student_level_legal(80) && student_level_legal(99.9));
	ck_assert(!student_level_legal(79.9) && !student_level_legal(NAN));
}
END_TEST

/* The example of a text book on Welch's test, worked by hand. */
START_TEST(welch_has_its_own_degrees_of_freedom)
{
	static const double a[] = {1, 2, 3, 4, 5}, b[] = {10, 20, 30, 40, 50, 60};
	struct set *x = set_of(a, NELEM(a)), *y = set_of(b, NELEM(b));
	struct difference d = differ(x, y, 95);
	double va = 2.5 / 5, vb = 350.0 / 6;
	double degrees = (va + vb) * (va + vb) / (va * va / 4 + vb * vb / 5);

	ck_assert_double_eq_tol(d.value, 32, 1e-12);
	ck_assert_double_eq_tol(d.welch.degrees, degrees, 1e-9);
	ck_assert_double_eq_tol(
	    d.welch.half, student_quantile(95, degrees) * sqrt(va + vb), 1e-9);
	ck_assert_double_eq_tol(d.pooled, sqrt((10 + 1750) / 9.0), 1e-9);
	ck_assert(d.unequal);
	ck_assert_ptr_eq(differ_interval(&d), &d.welch);
	set_free(x);
	set_free(y);
}
END_TEST

/* Of pairs of equal normal samples, in per cent: how often each test claims. */
static void
count_claims(double narrow, double wide, size_t n_narrow, size_t n_wide, double *claims)
{
	enum { TRIALS = 3000 };

	for (int i = 0; i < TRIALS; i++) {
		struct set *a = normal_set(n_narrow, 100, narrow);
		struct set *b = normal_set(n_wide, 100, wide);
		struct difference d = differ(a, b, 95);

		claims[0] += d.student.proven * 100.0 / TRIALS;
		claims[1] += d.welch.proven * 100.0 / TRIALS;
		claims[2] += d.rank_proven * 100.0 / TRIALS;
		claims[3] += d.unequal * 100.0 / TRIALS;
		set_free(a);
		set_free(b);
	}
}

START_TEST(each_test_claims_a_difference_between_equals_in_five_of_a_hundred)
{
	double claims[4] = {0};

	count_claims(5, 5, 12, 15, claims);
	for (int i = 0; i < 4; i++) {
		ck_assert_double_ge(claims[i], 3.5);
		ck_assert_double_le(claims[i], 6.5);
	}
}
END_TEST

START_TEST(with_unequal_variances_welch_keeps_its_promise_and_student_does_not)
{
	double claims[4] = {0};

	count_claims(10, 1, 6, 30, claims);
	ck_assert_double_ge(claims[0], 15);
	ck_assert_double_le(claims[1], 7);
	ck_assert_double_ge(claims[3], 90);
}
END_TEST

START_TEST(values_that_are_all_equal_differ_by_nothing_or_for_certain)
{
	static const double a[] = {4, 4, 4}, b[] = {5, 5, 5};
	struct set *x = set_of(a, 3), *y = set_of(b, 3);
	struct difference same = differ(x, x, 95), other = differ(x, y, 95);

	ck_assert(!same.student.proven && !same.welch.proven && !same.rank_proven);
	ck_assert(other.student.proven && other.welch.proven);
	ck_assert_double_eq(other.student.half, 0);
	set_free(x);
	set_free(y);
}
END_TEST

/* ---- ranks ------------------------------------------------------------------- */

/* Two-sided probability of u by trying every choice of which values are b's. */
static double
brute_force(size_t x, size_t y, double u)
{
	size_t all = 0, tail = 0;
	double small = fmin(u, (double)(x * y) - u);

	for (unsigned long bits = 0; bits < 1UL << (x + y); bits++) {
		size_t below = 0, got = 0;

		if ((size_t)__builtin_popcountl(bits) != y)
			continue;
		for (size_t i = 0; i < x + y; i++)
			if (bits >> i & 1)
				got += below;
			else
				below++;
		all++;
		tail += (double)got <= small;
	}
	return fmin(1, 2 * (double)tail / (double)all);
}

START_TEST(the_exact_probability_of_ranks_is_that_of_counting_all_orders)
{
	for (size_t x = 3; x <= 7; x++)
		for (size_t y = 3; y <= 7; y += 2) {
			struct set *a = normal_set(x, 0, 1), *b = normal_set(y, 0.8, 1);
			struct difference d = differ(a, b, 95);

			ck_assert_double_eq_tol(d.rank_p, brute_force(x, y, d.u), 1e-9);
			set_free(a);
			set_free(b);
		}
}
END_TEST

START_TEST(ties_count_half)
{
	static const double a[] = {1, 2, 2, 3}, b[] = {2, 3, 4};
	struct set *x = set_of(a, NELEM(a)), *y = set_of(b, NELEM(b));
	struct difference d = differ(x, y, 95);

	/* 2: above 1, level with two; 3: above three, level with one; 4: above all. */
	ck_assert_double_eq(d.u, 2 + 3.5 + 4);
	set_free(x);
	set_free(y);
}
END_TEST

/*
 * Worked by hand: U is 22; four groups of ties, of 2, 3, 3 and 2 values, take 60
 * off; the variance is 25 / 12 (11 - 60 / 90), and with 9.5 - 0.5 from the middle
 * the deviation is 1.9397.
 */
START_TEST(with_ties_the_probability_is_normal_and_corrected_for_them)
{
	static const double a[] = {1, 1, 2, 2, 3}, b[] = {2, 3, 3, 4, 4};
	struct set *x = set_of(a, NELEM(a)), *y = set_of(b, NELEM(b));
	struct difference d = differ(x, y, 95);

	ck_assert_double_eq(d.u, 22);
	ck_assert_double_eq_tol(d.rank_p, 0.05242, 0.0001);
	set_free(x);
	set_free(y);
}
END_TEST

/* ---- suspicion ------------------------------------------------------------------ */

static double
even(void)
{
	return gsl_rng_uniform(rng);
}

static double
normal(void)
{
	return gsl_ran_gaussian(rng, 1);
}

static double
skewed(void)
{
	return gsl_ran_lognormal(rng, 0, 1);
}

static double
two_heaps(void)
{
	return normal() + (gsl_rng_uniform(rng) < 0.5 ? 7 : 0);
}

/* Samples out of a thousand of n values each that are suspected. */
static void
count_suspects(double (*draw)(void), size_t n, int *correlated, int *bimodal)
{
	double v[200];

	*correlated = *bimodal = 0;
	for (int trial = 0; trial < 1000; trial++) {
		struct suspicion x;
		struct set *s;

		for (size_t i = 0; i < n; i++)
			v[i] = draw();
		s = set_of(v, n);
		x = suspect(s);
		*correlated += x.correlated;
		*bimodal += x.bimodal;
		set_free(s);
	}
}

START_TEST(samples_of_one_heap_are_seldom_suspected)
{
	static double (*const draws[])(void) = {even, normal, skewed};
	static const size_t sizes[] = {10, 20, 60, 200};
	int correlated, bimodal;

	for (size_t i = 0; i < NELEM(draws); i++)
		for (size_t k = 0; k < NELEM(sizes); k++) {
			count_suspects(draws[i], sizes[k], &correlated, &bimodal);
			ck_assert_int_le(correlated, 25);
			ck_assert_int_le(bimodal, 30);
		}
}
END_TEST

START_TEST(two_heaps_are_found)
{
	int correlated, bimodal;

	count_suspects(two_heaps, 40, &correlated, &bimodal);
	ck_assert_int_ge(bimodal, 950);
}
END_TEST

START_TEST(a_drift_is_found)
{
	double v[40];
	struct set *s;

	for (size_t i = 0; i < NELEM(v); i++)
		v[i] = (double)i + 4 * normal();
	s = set_of(v, NELEM(v));
	ck_assert(suspect(s).correlated);
	set_free(s);
}
END_TEST

START_TEST(few_or_equal_values_are_not_suspected)
{
	static const double few[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	double same[20] = {0};
	struct set *x = set_of(few, NELEM(few)), *y = set_of(same, NELEM(same));

	ck_assert(!suspect(x).correlated && !suspect(y).correlated);
	ck_assert(!suspect(x).bimodal && !suspect(y).bimodal);
	set_free(x);
	set_free(y);
}
END_TEST

/* ---- reading ----------------------------------------------------------------------- */

START_TEST(numbers_are_read_from_a_column_and_remarks_passed_over)
{
	char text[] = "# a remark\n\nx 1.5 y\n  z\t2e3\n onlyone\nw 3 # 4\nv # 5\n";
	FILE *f = fmemopen(text, strlen(text), "r");
	struct set *s = set_new("text");

	ck_assert_int_eq(set_read(s, f, &(struct set_columns){2, " \t"}), 0);
	ck_assert_uint_eq(s->n, 3);
	ck_assert_double_eq(s->v[0], 1.5);
	ck_assert_double_eq(s->v[1], 2000);
	ck_assert_double_eq(s->v[2], 3);
	fclose(f);
	set_free(s);
}
END_TEST

/* ---- limits ------------------------------------------------------------------------- */

START_TEST(limits_are_read_and_nothing_else)
{
	static const char *const bad[] = {"", "slower", "slower>", "slower>%",
	    "slower<3%", "slower>3%%", "slower>3 x", "slow>3%", "slower>-3%",
	    "slower>nan", "slower>inf", "slower>=3%"};
	struct gate g;

	ck_assert_int_eq(gate_parse(&g, " slower > 3.5 % "), 0);
	ck_assert_int_eq(g.word, GATE_SLOWER);
	ck_assert_double_eq(g.limit, 3.5);
	ck_assert(g.percent);
	ck_assert_int_eq(gate_parse(&g, "different>0"), 0);
	ck_assert(!g.percent);
	for (size_t i = 0; i < NELEM(bad); i++)
		ck_assert_msg(gate_parse(&g, bad[i]) == -1, "'%s' was taken", bad[i]);
}
END_TEST

START_TEST(a_limit_is_exceeded_held_or_open)
{
	static const struct {
		const char *limit;
		double lo, hi;
		bool rate;
		int status;
	} cases[] = {
	    {"slower>3%", 4, 6, false, GATE_EXCEEDED},
	    {"slower>3%", 4, 6, true, GATE_HOLDS},
	    {"slower>3%", -6, -4, true, GATE_EXCEEDED},
	    {"slower>3%", 1, 2, false, GATE_HOLDS},
	    {"slower>3%", 1, 6, false, GATE_OPEN},
	    {"slower>3%", -1, 6, false, GATE_HOLDS},
	    {"slower>3%", -6, 1, true, GATE_HOLDS},
	    {"slower>3%", -6, -1, true, GATE_OPEN},
	    {"faster>3%", 4, 6, true, GATE_EXCEEDED},
	    {"faster>3%", -6, -4, false, GATE_EXCEEDED},
	    {"higher>3%", 4, 6, true, GATE_EXCEEDED},
	    {"lower>3%", -6, -4, true, GATE_EXCEEDED},
	    {"lower>3%", 4, 6, false, GATE_HOLDS},
	    {"different>3%", -6, -4, true, GATE_EXCEEDED},
	    {"different>3%", 4, 6, true, GATE_EXCEEDED},
	    {"different>3%", -2, -1, true, GATE_HOLDS},
	    {"slower>3%", NAN, NAN, false, GATE_OPEN},
	};

	for (size_t i = 0; i < NELEM(cases); i++) {
		struct gate_facts facts = {
		    NAN, NAN, cases[i].lo, cases[i].hi, cases[i].rate};
		struct gate g;

		ck_assert_int_eq(gate_parse(&g, cases[i].limit), 0);
		ck_assert_msg(gate_judge(&g, &facts) == cases[i].status, "case %zu", i);
	}
	ck_assert_int_eq(gate_worse(GATE_OPEN, GATE_HOLDS), GATE_OPEN);
	ck_assert_int_eq(gate_worse(GATE_OPEN, GATE_EXCEEDED), GATE_EXCEEDED);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("differ");
	TCase *tcase = tcase_create("differ");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, sums_agree_with_gsl);
	tcase_add_test(tcase, a_large_offset_costs_no_digits);
	tcase_add_test(tcase, merged_sums_are_those_of_all_values);
	tcase_add_test(tcase, one_value_has_no_deviation);
	tcase_add_test(tcase, quantiles_are_those_of_printed_tables);
	tcase_add_test(tcase, welch_has_its_own_degrees_of_freedom);
	tcase_add_test(
	    tcase, each_test_claims_a_difference_between_equals_in_five_of_a_hundred);
	tcase_add_test(
	    tcase, with_unequal_variances_welch_keeps_its_promise_and_student_does_not);
	tcase_add_test(tcase, values_that_are_all_equal_differ_by_nothing_or_for_certain);
	tcase_add_test(
	    tcase, the_exact_probability_of_ranks_is_that_of_counting_all_orders);
	tcase_add_test(tcase, ties_count_half);
	tcase_add_test(tcase, with_ties_the_probability_is_normal_and_corrected_for_them);
	tcase_add_test(tcase, samples_of_one_heap_are_seldom_suspected);
	tcase_add_test(tcase, two_heaps_are_found);
	tcase_add_test(tcase, a_drift_is_found);
	tcase_add_test(tcase, few_or_equal_values_are_not_suspected);
	tcase_add_test(tcase, numbers_are_read_from_a_column_and_remarks_passed_over);
	tcase_add_test(tcase, limits_are_read_and_nothing_else);
	tcase_add_test(tcase, a_limit_is_exceeded_held_or_open);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
