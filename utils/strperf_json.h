/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_json.h: JSON results: build them, print them, find values in them.
 *
 * A result is built as a tree (jansson) and printed when it is complete: a
 * command that is interrupted stops adding to it, closes what is open and
 * prints, so what comes out is whole in any case.
 *
 * share/strperf.schema.json says what stands in it.
 */
#ifndef STRPERF_JSON_H
#define STRPERF_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

/* The version of the schema; raised when a member goes or changes its meaning. */
#define JS_SCHEMA 1
#define JS_DEEPEST 16 /* nested brackets */

/* ---- building: key is NULL inside an array and at the top ------------------ */

struct js {
	json_t
	    *open[JS_DEEPEST]; /* O: the brackets begun and not ended, outermost first */
	int depth;	       /* O: of them */
	json_t *root;	       /* O: the outermost, also when it has been ended */
};

void js_init(struct js *j);
/* bracket: '{' or '['; end with the matching one. */
void js_begin(struct js *j, const char *key, char bracket);
void js_end(struct js *j, char bracket);
/* Bytes that are no UTF-8 become question marks. */
void js_string(struct js *j, const char *key, const char *value);
/* A number that is not finite becomes null. */
void js_number(struct js *j, const char *key, double value);
void js_count(struct js *j, const char *key, uint64_t value);
void js_bool(struct js *j, const char *key, bool value);
/* [lo,hi] */
void js_interval(struct js *j, const char *key, double lo, double hi);
/* [v[0],v[1],...] */
void js_numbers(struct js *j, const char *key, const double *v, size_t n);
/* tool, command and schema: what every result begins with. */
void js_envelope(struct js *j, const char *command);
/* One line with the whole tree, which is freed. */
void js_print(struct js *j, FILE *f);

/* ---- reading ------------------------------------------------------------------ */

/*
 * The tree of a text, to be released with json_decref(); NULL, and why in
 * *complaint, when the text is no JSON.
 */
json_t *js_parse(const char *text, char *complaint, size_t size);
/* The value at a path of keys and array indices, "results.0.samples.3", or NULL. */
const json_t *js_find(const json_t *root, const char *path);
/* The same for a number; NAN when there is none. */
double js_find_number(const json_t *root, const char *path);
/* The same for a string; NULL when there is none. */
const char *js_find_string(const json_t *root, const char *path);

#endif
