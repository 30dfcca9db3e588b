/* SPDX-License-Identifier: BSD-2-Clause */
/* tapset.c: a set of taps. */
#include "tapset.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lookopt.h"
#include "strtool.h"

static struct tapped *
find(struct tapset *s, unsigned int id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->tap[i].id == id && !s->tap[i].ended)
			return &s->tap[i];
	return NULL;
}

static int
begin(struct tapset *s, struct tapped *t)
{
	struct ustr_event ev;

	if (s->member) {
		t->tap = ustr_tap_open(t->id, s->records);
		return t->tap != NULL ? 0 : errno;
	}
	return ustr_look_events(s->look, t->id, &t->at, &ev, 0) == 0 ? 0 : errno;
}

int
tapset_add(struct tapset *s, unsigned int id)
{
	struct tapped t = {.id = id};
	int error;

	if (find(s, id) != NULL)
		return 0;
	if (s->n == s->room) {
		size_t room = s->room == 0 ? 16 : 2 * s->room;
		void *mem = reallocarray(s->tap, room, sizeof(*s->tap));

		if (mem == NULL)
			return ENOMEM;
		s->tap = mem;
		s->room = room;
	}
	error = begin(s, &t);
	if (error == 0)
		s->tap[s->n++] = t;
	return error;
}

void
tapset_all(struct tapset *s)
{
	struct ustr_view *v = ustr_look_take(s->look);

	if (v == NULL && !s->member) /* a member's own arena; it will feel what is wrong with it */
		s->error = errno;
	for (unsigned int i = 0; v != NULL && i < v->v_nstreams; i++) {
		int error = tapset_add(s, v->v_streams[i].vs_id);

		if (error == 0 || error == ENOENT || s->complained)
			continue;
		tool_complain("stream %u and perhaps others: %s", v->v_streams[i].vs_id,
		    error == EAGAIN ? "it has 8 taps already" : tool_reason(error));
		s->complained = true;
	}
	ustr_view_free(v);
}

/* ---- naming ------------------------------------------------------------------------- */

static const char devices[] = "/dev/streams/";

static bool
is_named(const struct ustr_view_stream *vs, const char *name, const struct stat *st)
{
	char device[64];

	if (st != NULL)
		return vs->vs_ino == st->st_ino && vs->vs_dev == st->st_dev;
	if (strncmp(name, devices, sizeof(devices) - 1) == 0)
		name += sizeof(devices) - 1;
	snprintf(device, sizeof(device), "%s/%u", vs->vs_driver, vs->vs_minor);
	return vs->vs_kind != USTR_STREAM_PIPE && vs->vs_path[0] == '\0' &&
	    strcmp(device, name) == 0;
}

unsigned int
tapset_named(struct tapset *s, const char *name)
{
	long number = lookopt_number(name, UINT_MAX);
	struct ustr_view *v = ustr_look_take(s->look);
	unsigned int id = 0;
	struct stat st;
	bool file = stat(name, &st) == 0;

	if (v != NULL && number > 0 && ustr_view_stream(v, (unsigned int)number) != NULL)
		id = (unsigned int)number;
	for (unsigned int i = 0; v != NULL && number == -1 && i < v->v_nstreams; i++)
		if (is_named(&v->v_streams[i], name, file ? &st : NULL))
			id = v->v_streams[i].vs_id;
	ustr_view_free(v);
	return id;
}

/* ---- reading ------------------------------------------------------------------------- */

static size_t
read_member(struct tapped *t, struct ustr_event *ev, size_t room, uint64_t *all)
{
	size_t n = 0;
	int got = 0;

	while (n < room && (got = ustr_tap_read(t->tap, &ev[n])) == 1)
		n++;
	*all = ustr_tap_lost(t->tap);
	if (got == -1) {
		ustr_tap_close(t->tap);
		t->tap = NULL;
		t->ended = true;
	}
	return n;
}

static size_t
read_outside(struct tapset *s, struct tapped *t, struct ustr_event *ev, size_t room)
{
	ssize_t n = ustr_look_events(s->look, t->id, &t->at, ev, room);

	t->ended = n == -1;
	if (n == -1 && errno != ENOENT) /* which is: it was closed */
		s->error = errno;
	return n > 0 ? (size_t)n : 0;
}

size_t
tapset_read(struct tapset *s, struct tapped *t, struct ustr_event *ev, size_t room,
    uint64_t *lost)
{
	uint64_t all = t->told;
	size_t n = 0;

	if (t->ended) {
		*lost = 0;
		return 0;
	}
	if (s->member) {
		n = read_member(t, ev, room, &all);
	} else {
		n = read_outside(s, t, ev, room);
		all = t->at.lc_lost;
	}
	*lost = all - t->told;
	t->told = all;
	return n;
}

bool
tapset_alive(const struct tapset *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->tap[i].ended)
			return true;
	return false;
}

bool
tapset_over(const struct tapset *s)
{
	struct ustr_view *v = ustr_look_take(s->look);
	bool over = v != NULL;

	for (unsigned int i = 0; v != NULL && i < v->v_nprocesses; i++)
		over &= v->v_processes[i].vp_state != USTR_PROC_LIVE;
	ustr_view_free(v);
	return over;
}

void
tapset_end(struct tapset *s)
{
	for (size_t i = 0; i < s->n; i++)
		ustr_tap_close(s->tap[i].tap);
	free(s->tap);
	s->tap = NULL;
	s->n = 0;
}
