/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lookjson.h: what a look shows, as JSON.
 *
 * When memory runs out jansson gives NULL, and takes NULL: that member is then
 * missing from the result, which stays JSON.
 */
#ifndef LOOKJSON_H
#define LOOKJSON_H

#include <stdbool.h>

#include <jansson.h>

#include <ustreams_look.h>

json_t *lookjson_sources(const struct ustr_source *us, size_t n);
json_t *lookjson_processes(const struct ustr_view *v);
/* With queues: their queues, bands, descriptors and sleepers, too. */
json_t *lookjson_stream(const struct ustr_view_stream *vs, bool queues);
json_t *lookjson_streams(const struct ustr_view *v, bool queues);
json_t *lookjson_classes(const struct ustr_view *v);
json_t *lookjson_heap(const struct ustr_view *v);
/* The figures of the whole arena. */
json_t *lookjson_memory(const struct ustr_view *v);
/* Print it on stdout and give it back: 0, or -1: it could not be written. */
int lookjson_print(json_t *j);

#endif
