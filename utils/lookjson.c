/* SPDX-License-Identifier: BSD-2-Clause */
/* lookjson.c: what a look shows, as JSON. */
#include "lookjson.h"

#include <stdio.h>
#include <string.h>

#include "looktext.h"
#include "strtool.h"

static json_int_t
whole(uint64_t n)
{
	return (json_int_t)n;
}

/* An array of the words that fn puts into a buffer, separated by what is in by. */
static json_t *
split(const char *text, const char *by)
{
	json_t *a = json_array();
	char copy[LOOKTEXT], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, by)) != NULL)
		if (*word != '\0' && strcmp(word, "-") != 0)
			json_array_append_new(a, json_string(word));
	return a;
}

json_t *
lookjson_sources(const struct ustr_source *us, size_t n)
{
	json_t *a = json_array();

	for (; n > 0; n--, us++) {
		json_t *o = json_pack("{s:i, s:i, s:s, s:I}", "pid", (int)us->us_pid,
		    "processes", (int)us->us_processes, "program", us->us_program, "bytes",
		    whole(us->us_size));

		if (us->us_name[0] != '\0') {
			json_object_set_new(o, "instance", json_string(us->us_name));
			json_object_set_new(o, "path", json_string(us->us_path));
		} else if (us->us_path[0] != '\0') {
			json_object_set_new(o, "removed", json_string(us->us_path));
		}
		if (us->us_error != 0)
			json_object_set_new(
			    o, "error", json_string(strerror(us->us_error)));
		json_array_append_new(a, o);
	}
	return a;
}

json_t *
lookjson_processes(const struct ustr_view *v)
{
	json_t *a = json_array();

	for (unsigned int i = 0; i < v->v_nprocesses; i++) {
		const struct ustr_view_process *p = &v->v_processes[i];

		json_array_append_new(a,
		    json_pack("{s:i, s:s, s:s, s:i, s:i, s:i, s:i}", "pid",
			(int)p->vp_pid, "program", p->vp_program, "state",
			look_process_state(p->vp_state), "threads", (int)p->vp_threads,
			"asleep", (int)p->vp_asleep, "inside", (int)p->vp_inside,
			"descriptors", (int)p->vp_descriptors));
	}
	return a;
}

static json_t *
band(const struct ustr_view_band *b)
{
	return json_pack("{s:i, s:I, s:I, s:I, s:I, s:b}", "band", (int)b->vb_band,
	    "bytes", whole(b->vb_bytes), "blocks", whole(b->vb_blocks), "hiwat",
	    whole(b->vb_hiwat), "lowat", whole(b->vb_lowat), "full", b->vb_flags & 1);
}

static json_t *
queue(const struct ustr_view_queue *q)
{
	char buf[LOOKTEXT];
	json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:b}", "name",
	    q->vq_name, "side", q->vq_read ? "read" : "write", "bytes", whole(q->vq_bytes),
	    "blocks", whole(q->vq_blocks), "hiwat", whole(q->vq_hiwat), "lowat",
	    whole(q->vq_lowat), "parked_bytes", whole(q->vq_pbytes), "parked_blocks",
	    whole(q->vq_pblocks), "perimeter_owner", (int)q->vq_owner, "service",
	    q->vq_service);
	json_t *bands = json_array();

	json_object_set_new(o, "flags", split(look_flags(buf, q->vq_flags), " "));
	for (unsigned int i = 0; i < q->vq_nbands; i++)
		json_array_append_new(bands, band(&q->vq_bands[i]));
	json_object_set_new(o, "bands", bands);
	return o;
}

static void
add_details(json_t *o, const struct ustr_view_stream *vs)
{
	json_t *queues = json_array(), *fds = json_array(), *sleepers = json_array();

	for (unsigned int i = 0; i < vs->vs_nqueues; i++)
		json_array_append_new(queues, queue(&vs->vs_queues[i]));
	for (unsigned int i = 0; i < vs->vs_nfds; i++)
		json_array_append_new(fds,
		    json_pack("{s:i, s:i, s:i}", "pid", (int)vs->vs_fds[i].vf_pid, "fd",
			vs->vs_fds[i].vf_fd, "flags", vs->vs_fds[i].vf_flags));
	for (unsigned int i = 0; i < vs->vs_nsleepers; i++)
		json_array_append_new(sleepers,
		    json_pack("{s:i, s:i, s:s, s:b}", "pid",
			(int)vs->vs_sleepers[i].vw_pid, "tid",
			(int)vs->vs_sleepers[i].vw_tid, "for",
			look_wait(vs->vs_sleepers[i].vw_for), "polls",
			vs->vs_sleepers[i].vw_poll));
	json_object_set_new(o, "queues", queues);
	json_object_set_new(o, "descriptors", fds);
	json_object_set_new(o, "sleepers", sleepers);
}

json_t *
lookjson_stream(const struct ustr_view_stream *vs, bool queues)
{
	char buf[LOOKTEXT];
	size_t bytes, blocks;
	json_t *o;

	look_queued(vs, &bytes, &blocks);
	o = json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "id",
	    whole(vs->vs_id), "kind", look_kind(vs->vs_kind), "driver", vs->vs_driver,
	    "minor", whole(vs->vs_minor), "opens", whole(vs->vs_opens), "group",
	    whole(vs->vs_group), "queued_bytes", whole(bytes), "queued_blocks",
	    whole(blocks), "put_bytes", whole(vs->vs_put_bytes), "put_blocks",
	    whole(vs->vs_put_blocks), "got_bytes", whole(vs->vs_got_bytes), "got_blocks",
	    whole(vs->vs_got_blocks));
	json_object_set_new(o, "modules", split(look_modules(buf, vs), ","));
	json_object_set_new(o, "state", split(look_state(buf, vs->vs_state), ","));
	if (vs->vs_path[0] != '\0')
		json_object_set_new(o, "path", json_string(vs->vs_path));
	if (vs->vs_mate != 0)
		json_object_set_new(o, "mate", json_integer(whole(vs->vs_mate)));
	if (vs->vs_mux[0] != '\0')
		json_object_set_new(o, "below",
		    json_pack("{s:s, s:i, s:I}", "driver", vs->vs_mux, "link",
			vs->vs_muxid, "stream", whole(vs->vs_above)));
	if (vs->vs_holder != 0)
		json_object_set_new(o, "holder", json_integer(vs->vs_holder));
	if (vs->vs_plumber != 0)
		json_object_set_new(o, "plumber", json_integer(vs->vs_plumber));
	if (vs->vs_attached != 0)
		json_object_set_new(o, "attached", json_integer(whole(vs->vs_attached)));
	if (queues)
		add_details(o, vs);
	return o;
}

json_t *
lookjson_streams(const struct ustr_view *v, bool queues)
{
	json_t *a = json_array();

	for (unsigned int i = 0; i < v->v_nstreams; i++)
		json_array_append_new(a, lookjson_stream(&v->v_streams[i], queues));
	return a;
}

json_t *
lookjson_classes(const struct ustr_view *v)
{
	json_t *a = json_array();

	for (unsigned int i = 0; i < v->v_nclasses; i++) {
		const struct ustr_view_class *c = &v->v_classes[i];

		json_array_append_new(a,
		    json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "class",
			c->vc_name, "object", whole(c->vc_object), "magazine",
			whole(c->vc_magazine), "made", whole(c->vc_made), "cached",
			whole(c->vc_cached), "in_use", whole(c->vc_inuse), "hits",
			whole(c->vc_hits), "trips", whole(c->vc_trips), "failures",
			whole(c->vc_failures)));
	}
	return a;
}

json_t *
lookjson_heap(const struct ustr_view *v)
{
	json_t *a = json_array();

	for (unsigned int i = 0; i < v->v_nheap; i++)
		json_array_append_new(a,
		    json_pack("{s:I, s:I}", "object", whole(v->v_heap[i].vh_object),
			"in_use", whole(v->v_heap[i].vh_inuse)));
	return a;
}

json_t *
lookjson_memory(const struct ustr_view *v)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "cap", whole(v->v_cap),
	    "committed", whole(v->v_committed), "used", whole(v->v_used), "leaked",
	    whole(v->v_leaked), "refused", whole(v->v_refused), "deaths",
	    whole(v->v_deaths), "unreadable", whole(v->v_odd));
}

int
lookjson_print(json_t *j)
{
	bool made = j != NULL && json_dumpf(j, stdout, JSON_INDENT(2)) == 0;

	json_decref(j);
	putchar('\n');
	if (!made && !ferror(stdout)) {
		tool_complain("the result cannot be put as JSON: no memory");
		return -1;
	}
	return tool_flush();
}
