/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_results.c: how strperf writes results: JSON, comma-separated values, raw
 * samples, and pictures, which gnuplot draws and xmllint reads.
 */
#include "../utils/strperf_csv.h"
#include "../utils/strperf_hist.h"
#include "../utils/strperf_json.h"
#include "../utils/strperf_plot.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))

/* What is written to out comes to text when it is closed. */
static FILE *out;
static char *text;
static size_t text_size;

static void
setup(void)
{
	out = open_memstream(&text, &text_size);
	ck_assert_ptr_nonnull(out);
}

static void
teardown(void)
{
	free(text);
}

/* ---- JSON ---------------------------------------------------------------------- */

START_TEST(a_tree_is_printed_in_the_order_in_which_it_was_built)
{
	struct js j;

	js_init(&j);
	js_begin(&j, NULL, '{');
	js_envelope(&j, "test");
	js_bool(&j, "yes", true);
	js_interval(&j, "ci95", -1.5, 2.25);
	js_begin(&j, "results", '[');
	js_begin(&j, NULL, '{');
	js_count(&j, "size", 64);
	js_end(&j, '}');
	js_end(&j, ']');
	js_end(&j, '}');
	js_print(&j, out);
	fclose(out);
	ck_assert_str_eq(text,
	    "{\"tool\":\"strperf\",\"command\":\"test\",\"schema\":1,\"yes\":true,"
	    "\"ci95\":[-1.5,2.25],\"results\":[{\"size\":64}]}\n");
}
END_TEST

START_TEST(what_was_not_measured_is_null)
{
	struct js j;

	js_init(&j);
	js_begin(&j, NULL, '[');
	js_number(&j, NULL, NAN);
	js_number(&j, NULL, INFINITY);
	js_end(&j, ']');
	js_print(&j, out);
	fclose(out);
	ck_assert_str_eq(text, "[null,null]\n");
}
END_TEST

START_TEST(texts_are_escaped_and_bytes_that_are_no_text_replaced)
{
	struct js j;

	js_init(&j);
	js_begin(&j, NULL, '[');
	js_string(&j, NULL, "a \"quote\"\n");
	js_string(&j, NULL, "\xff");
	js_end(&j, ']');
	js_print(&j, out);
	fclose(out);
	ck_assert_str_eq(text, "[\"a \\\"quote\\\"\\n\",\"?\"]\n");
}
END_TEST

START_TEST(what_is_left_open_is_printed_whole)
{
	struct js j;

	js_init(&j);
	js_begin(&j, NULL, '{');
	js_begin(&j, "results", '[');
	js_begin(&j, NULL, '{');
	js_count(&j, "n", 1);
	js_print(&j, out);
	fclose(out);
	ck_assert_str_eq(text, "{\"results\":[{\"n\":1}]}\n");
}
END_TEST

START_TEST(values_are_found_by_their_path)
{
	char complaint[64] = "";
	json_t *root = js_parse("{\"a\":{\"b\":[1,{\"c\":2.5}]},\"s\":\"x\",\"n\":null}",
	    complaint, sizeof(complaint));

	ck_assert_double_eq(js_find_number(root, "a.b.0"), 1);
	ck_assert_double_eq(js_find_number(root, "a.b.1.c"), 2.5);
	ck_assert_str_eq(js_find_string(root, "s"), "x");
	ck_assert_double_nan(js_find_number(root, "a.b.2"));
	ck_assert_double_nan(js_find_number(root, "n"));
	ck_assert_double_nan(js_find_number(root, "a.x.y"));
	ck_assert_ptr_null(js_find_string(root, "a"));
	json_decref(root);
	ck_assert_ptr_null(js_parse("{\"a\":", complaint, sizeof(complaint)));
	ck_assert_ptr_nonnull(strstr(complaint, "line 1"));
	fclose(out);
}
END_TEST

/* ---- CSV and raw ------------------------------------------------------------------ */

START_TEST(values_with_commas_and_quotes_are_quoted)
{
	struct csv c;

	csv_begin(&c, out);
	csv_text(&c, "plain");
	csv_text(&c, "0,1");
	csv_text(&c, "a \"b\"");
	csv_number(&c, 1.5);
	csv_number(&c, NAN);
	csv_count(&c, 7);
	csv_end(&c);
	fclose(out);
	ck_assert_str_eq(text, "plain,\"0,1\",\"a \"\"b\"\"\",1.5,,7\n");
}
END_TEST

START_TEST(a_raw_sample_has_its_value_first)
{
	raw_sample(out, 12.25, "%s %d", "ustreams", 64);
	raw_sample(out, NAN, "%s", "nothing");
	fclose(out);
	ck_assert_str_eq(text, "12.25 ustreams 64\n");
}
END_TEST

/* ---- pictures ------------------------------------------------------------------------ */

static const struct plot_frame frame = {
    .title = "Title's <one>", .xlabel = "bytes & more", .ylabel = "msgs/s"};

static int
draw_lines(const char *file)
{
	static const double x[] = {1, 64, 4096}, y[] = {5e6, NAN, 1e6},
			    lo[] = {4e6, 4e6, 9e5}, hi[] = {6e6, 6e6, 2e6};
	struct plot_frame logs = frame;
	struct plot_series series[] = {{"first_one", x, y, lo, hi, 3, false},
	    {"second", x, lo, NULL, NULL, 3, true}};

	logs.logx = logs.logy = true;
	return plot_lines(file, &logs, series, NELEM(series));
}

static int
draw_percentiles(const char *file)
{
	static struct hist few, many;
	struct plot_latency latencies[] = {{"first_one", &few}, {"second", &many}};

	hist_init(&few);
	hist_init(&many);
	for (int i = 1; i < 20000; i++) {
		hist_record(&many, i);
		if (i < 5)
			hist_record(&few, i * 1000);
	}
	return plot_percentiles(file, &frame, latencies, NELEM(latencies));
}

static int
draw_matrix(const char *file)
{
	static const char *const rows[] = {"first_one", "second"},
				 *const columns[] = {"100", "1000", "10000"};
	static const double cells[] = {1, 20, NAN, 4, 50, 600};
	struct plot_grid grid = {rows, columns, 2, 3, cells};

	return plot_matrix(file, &frame, &grid);
}

static int
draw_boxes(const char *file)
{
	static const double a[] = {1, 2, 3, 4, 50}, b[] = {5, 5, 5};
	struct plot_box boxes[] = {{"first_one", a, NELEM(a)}, {"second", b, NELEM(b)}};

	return plot_boxes(file, &frame, boxes, NELEM(boxes));
}

static int (*const draws[])(const char *) = {
    draw_lines, draw_percentiles, draw_matrix, draw_boxes};

static bool
have(const char *program)
{
	char command[64];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", program);
	return system(command) == 0;
}

static bool
holds(const char *file, const char *word)
{
	char command[256];

	snprintf(command, sizeof(command), "grep -qF -e \"%s\" %s", word, file);
	return system(command) == 0;
}

START_TEST(a_picture_parses_and_has_its_labels)
{
	char file[] = "/tmp/check_results.XXXXXX.svg", command[128];

	fclose(out);
	if (!have("gnuplot"))
		return;
	close(mkstemps(file, 4));
	ck_assert_int_eq(draws[_i](file), 0);
	snprintf(command, sizeof(command), "xmllint --noout %s", file);
	if (have("xmllint"))
		ck_assert_int_eq(system(command), 0);
	ck_assert(holds(file, "first_one") && holds(file, "second"));
	ck_assert(holds(file, "Title's &lt;one"));
	ck_assert(holds(file, "msgs/s"));
	unlink(file);
}
END_TEST

START_TEST(only_files_with_known_endings_are_drawn)
{
	fclose(out);
	ck_assert_int_eq(plot_check("a.svg"), 0);
	ck_assert_int_eq(plot_check("a.png"), 0);
	ck_assert_int_eq(plot_check("a.pdf"), 2);
	ck_assert_int_eq(plot_check(".svg"), 2);
	ck_assert_int_eq(plot_check(""), 2);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("results");
	TCase *tcase = tcase_create("results");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_tree_is_printed_in_the_order_in_which_it_was_built);
	tcase_add_test(tcase, what_was_not_measured_is_null);
	tcase_add_test(tcase, texts_are_escaped_and_bytes_that_are_no_text_replaced);
	tcase_add_test(tcase, what_is_left_open_is_printed_whole);
	tcase_add_test(tcase, values_are_found_by_their_path);
	tcase_add_test(tcase, values_with_commas_and_quotes_are_quoted);
	tcase_add_test(tcase, a_raw_sample_has_its_value_first);
	tcase_add_loop_test(
	    tcase, a_picture_parses_and_has_its_labels, 0, (int)NELEM(draws));
	tcase_add_test(tcase, only_files_with_known_endings_are_drawn);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
