/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_json.h: write JSON, and find values in JSON that strperf wrote.
 */
#ifndef STRPERF_JSON_H
#define STRPERF_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- writing: key is NULL inside an array and at the top ------------------- */

struct json {
	FILE *f;
	bool more; /* a value stands before: a comma is due */
};

/* bracket: '{' or '['; end with the matching one. */
void json_begin(struct json *j, const char *key, char bracket);
void json_end(struct json *j, char bracket);
void json_string(struct json *j, const char *key, const char *value);
/* A number that is not finite is written as null. */
void json_number(struct json *j, const char *key, double value);
void json_count(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);
/* [lo,hi] */
void json_interval(struct json *j, const char *key, double lo, double hi);

/* ---- reading ------------------------------------------------------------------ */

/*
 * The number at a path of keys and array indices, "results.0.samples.3", in a
 * text that ends with a NUL; NAN when there is none or the text up to it is no
 * JSON.
 */
double json_find_number(const char *text, const char *path);

#endif
