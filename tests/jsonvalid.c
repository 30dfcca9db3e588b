/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jsonvalid.c: jsonvalid SCHEMA FILE...: whether JSON files follow a JSON schema.
 *
 * It knows the words that share/strperf.schema.json uses and refuses a schema
 * with any other, so that none is passed over in silence.  The status is 0 when
 * all files do, 1 when one does not, after a line that names the place, and 2
 * when the schema is at fault.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))

/* What is being checked: the whole schema, and where in the file we are. */
struct place {
	const json_t *root;  /* C: of the schema */
	char path[512];	     /* "results.0.size" */
	char complaint[256]; /* the first fault, or "" */
};

static bool valid(struct place *p, const json_t *schema, const json_t *value);

static bool
fault(struct place *p, const char *what, const char *name)
{
	if (p->complaint[0] == '\0')
		snprintf(p->complaint, sizeof(p->complaint), "%.*s: %s%s", 200,
		    p->path[0] == '\0' ? "(top)" : p->path, what, name);
	return false;
}

/* Check a member of value, whose name is appended to the path. */
static bool
valid_member(struct place *p, const char *name, const json_t *schema, const json_t *value)
{
	size_t len = strlen(p->path);
	bool good;

	snprintf(p->path + len, sizeof(p->path) - len, "%s%s", len > 0 ? "." : "", name);
	good = valid(p, schema, value);
	p->path[len] = '\0';
	return good;
}

/* ---- the words of a schema ------------------------------------------------------ */

static bool
is_type(const char *type, const json_t *value)
{
	static const struct {
		const char *name;
		json_type type, other;
	} types[] = {{"object", JSON_OBJECT, JSON_OBJECT},
	    {"array", JSON_ARRAY, JSON_ARRAY}, {"string", JSON_STRING, JSON_STRING},
	    {"integer", JSON_INTEGER, JSON_INTEGER}, {"number", JSON_INTEGER, JSON_REAL},
	    {"boolean", JSON_TRUE, JSON_FALSE}, {"null", JSON_NULL, JSON_NULL}};

	for (size_t i = 0; i < NELEM(types); i++)
		if (strcmp(type, types[i].name) == 0)
			return json_typeof(value) == types[i].type ||
			    json_typeof(value) == types[i].other;
	fprintf(stderr, "jsonvalid: %s: no such type\n", type);
	exit(2);
}

static bool
check_type(struct place *p, const json_t *want, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(want); i++)
		if (is_type(json_string_value(json_array_get(want, i)), value))
			return true;
	if (json_is_string(want) && is_type(json_string_value(want), value))
		return true;
	return fault(p, "wrong type, not ",
	    json_is_string(want) ? json_string_value(want) : "one of those allowed");
}

static bool
check_required(struct place *p, const json_t *want, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(want); i++) {
		const char *name = json_string_value(json_array_get(want, i));

		if (json_is_object(value) && json_object_get(value, name) == NULL)
			return fault(p, "lacks ", name);
	}
	return true;
}

static bool
check_properties(struct place *p, const json_t *want, const json_t *value)
{
	const char *name;
	json_t *schema;

	json_object_foreach((json_t *)want, name, schema)
	{
		const json_t *member = json_object_get(value, name);

		if (member != NULL && !valid_member(p, name, schema, member))
			return false;
	}
	return true;
}

static bool
check_items(struct place *p, const json_t *want, const json_t *value)
{
	char name[24];

	for (size_t i = 0; i < json_array_size(value); i++) {
		snprintf(name, sizeof(name), "%zu", i);
		if (!valid_member(p, name, want, json_array_get(value, i)))
			return false;
	}
	return true;
}

static bool
check_const(struct place *p, const json_t *want, const json_t *value)
{
	return json_equal(want, value) || fault(p, "not the only value allowed", "");
}

static bool
check_enum(struct place *p, const json_t *want, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(want); i++)
		if (json_equal(json_array_get(want, i), value))
			return true;
	return fault(p, "none of the values allowed", "");
}

static bool
check_minimum(struct place *p, const json_t *want, const json_t *value)
{
	return !json_is_number(value) ||
	    json_number_value(value) >= json_number_value(want) ||
	    fault(p, "too small", "");
}

static bool
check_maximum(struct place *p, const json_t *want, const json_t *value)
{
	return !json_is_number(value) ||
	    json_number_value(value) <= json_number_value(want) ||
	    fault(p, "too large", "");
}

static bool
check_min_items(struct place *p, const json_t *want, const json_t *value)
{
	return !json_is_array(value) ||
	    (json_int_t)json_array_size(value) >= json_integer_value(want) ||
	    fault(p, "too few items", "");
}

static bool
check_max_items(struct place *p, const json_t *want, const json_t *value)
{
	return !json_is_array(value) ||
	    (json_int_t)json_array_size(value) <= json_integer_value(want) ||
	    fault(p, "too many items", "");
}

static bool
check_all_of(struct place *p, const json_t *want, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(want); i++)
		if (!valid(p, json_array_get(want, i), value))
			return false;
	return true;
}

/* "#/definitions/name" */
static bool
check_ref(struct place *p, const json_t *want, const json_t *value)
{
	static const char where[] = "#/definitions/";
	const char *ref = json_string_value(want);
	const json_t *schema = NULL;

	if (strncmp(ref, where, sizeof(where) - 1) == 0)
		schema = json_object_get(
		    json_object_get(p->root, "definitions"), ref + sizeof(where) - 1);
	if (schema != NULL)
		return valid(p, schema, value);
	fprintf(stderr, "jsonvalid: %s: no such definition\n", ref);
	exit(2);
}

static bool
check_nothing(struct place *p, const json_t *want, const json_t *value)
{
	(void)p;
	(void)want;
	(void)value;
	return true;
}

static const struct {
	const char *name;
	bool (*check)(struct place *p, const json_t *want, const json_t *value);
} words[] = {
    {"type", check_type},
    {"required", check_required},
    {"properties", check_properties},
    {"items", check_items},
    {"const", check_const},
    {"enum", check_enum},
    {"minimum", check_minimum},
    {"maximum", check_maximum},
    {"minItems", check_min_items},
    {"maxItems", check_max_items},
    {"allOf", check_all_of},
    {"$ref", check_ref},
    {"if", check_nothing}, /* valid() does it, with "then" */
    {"then", check_nothing},
    {"definitions", check_nothing},
    {"$schema", check_nothing},
    {"title", check_nothing},
    {"description", check_nothing},
};

static bool
check_word(struct place *p, const char *name, const json_t *want, const json_t *value)
{
	for (size_t i = 0; i < NELEM(words); i++)
		if (strcmp(name, words[i].name) == 0)
			return words[i].check(p, want, value);
	fprintf(
	    stderr, "jsonvalid: %s: a word of schemas that is not known here\n", name);
	exit(2);
}

/* A failed "if" is no fault. */
static bool
condition_holds(struct place *p, const json_t *condition, const json_t *value)
{
	struct place aside = {.root = p->root};

	return valid(&aside, condition, value);
}

static bool
valid(struct place *p, const json_t *schema, const json_t *value)
{
	const json_t *condition = json_object_get(schema, "if");
	const char *name;
	json_t *want;

	json_object_foreach((json_t *)schema, name,
	    want) if (!check_word(p, name, want, value)) return false;
	if (condition == NULL || !condition_holds(p, condition, value))
		return true;
	return valid(p, json_object_get(schema, "then"), value);
}

/* ---- files ----------------------------------------------------------------------- */

static json_t *
load(const char *file)
{
	json_error_t error;
	json_t *root = json_load_file(file, JSON_REJECT_DUPLICATES, &error);

	if (root == NULL)
		fprintf(
		    stderr, "jsonvalid: %s, line %d: %s\n", file, error.line, error.text);
	return root;
}

static bool
valid_file(const json_t *schema, const char *file)
{
	struct place p = {.root = schema};
	json_t *value = load(file);
	bool good = value != NULL && valid(&p, schema, value);

	if (value != NULL && !good)
		fprintf(stderr, "jsonvalid: %s: %s\n", file, p.complaint);
	json_decref(value);
	return good;
}

int
main(int argc, char **argv)
{
	json_t *schema = argc < 3 ? NULL : load(argv[1]);
	int status = EXIT_SUCCESS;

	if (schema == NULL) {
		fprintf(stderr, "usage: jsonvalid SCHEMA FILE...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		if (!valid_file(schema, argv[i]))
			status = EXIT_FAILURE;
	json_decref(schema);
	return status;
}
