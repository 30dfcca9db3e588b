/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_trace.c: the events of a flight recorder, read from outside.
 *
 * The protocol is that of trace.h; only that a copy is made by pread(2), which may
 * take the words in any order.  So a run of records is copied three times: a record
 * of the second copy is whole if its turn word was in the first and is in the third
 * what it must be, because then no word of it changed in between.
 */
#include "look.h"
#include "trace.h"

#include <errno.h>
#include <string.h>
#include <ustreams.h>

#define RUN 64 /* records copied at a time */

/* The ring of stream id: its address and its header; or NULL. */
static const struct trace *
find_ring(struct ustr_look *lk, unsigned int id, struct trace *head)
{
	struct trace_root root;
	struct walk w = { 0 };

	if (!look_copy(lk, look_root(lk, ROOT_TRACE), sizeof(void *), &root, sizeof(root)))
		return NULL;
	for (const struct trace *t = root.tt_first; t != NULL && walk_on(&w, t); t = head->tr_link) {
		uint32_t n;

		if (!look_copy(lk, t, LINE, head, sizeof(*head)))
			return NULL;
		n = head->tr_records;
		/* One that is retired records no more. */
		if (trace_valid(head, id) && head->tr_state != TRACE_RETIRED && n >= TRACE_MIN &&
		    n <= TRACE_MAX && (n & (n - 1)) == 0)
			return t;
	}
	return NULL;
}

/* R2 */
static void
skip_lost(struct ustr_look_cursor *c, const struct trace *head)
{
	uint64_t oldest = head->tr_next > head->tr_records ? head->tr_next - head->tr_records : 0;

	/* Switched off and on again: another ring. */
	if (c->lc_next > head->tr_next)
		c->lc_next = 0;
	if (c->lc_next >= oldest)
		return;
	c->lc_lost += c->lc_begun ? oldest - c->lc_next : 0;
	c->lc_next = oldest;
	c->lc_since = 0;
}

/* Event i is not whole yet: has it been for long? */
static bool
out_of_patience(struct ustr_look_cursor *c)
{
	int64_t now = plat_now();

	if (c->lc_since == 0)
		c->lc_since = now;
	return now - c->lc_since >= TRACE_PATIENCE;
}

/* Take what is whole of n records copied three times: how many; fewer: no more now. */
static size_t
take(struct ustr_look_cursor *c, struct trace_record (*copy)[RUN], size_t n,
	struct ustr_event *ev, bool *more)
{
	int64_t offset = plat_clockoffset();
	size_t got = 0;

	for (size_t k = 0; k < n; k++) {
		uint64_t whole = 2 * c->lc_next + 2, turn = copy[2][k].rec_turn;
		bool good = copy[0][k].rec_turn == whole && turn == whole;

		if (!good && turn <= whole + 1 && !out_of_patience(c)) {
			*more = false;
			break;
		}
		if (good) {
			memcpy(&ev[got], &copy[1][k], sizeof(*ev));
			ev[got].ev_seq = c->lc_next;
			ev[got].ev_queue[sizeof(ev->ev_queue) - 1] = '\0';
			if (ev[got].ev_nctl > USTR_EV_BYTES)
				ev[got].ev_nctl = USTR_EV_BYTES;
			if (ev[got].ev_ndata > USTR_EV_BYTES - ev[got].ev_nctl)
				ev[got].ev_ndata = (unsigned char)(USTR_EV_BYTES - ev[got].ev_nctl);
			ev[got++].ev_time += offset;
		} else {
			c->lc_lost++;
		}
		c->lc_next++;
		c->lc_since = 0;
	}
	return got;
}

/* One run, not past the end of the ring. */
static ssize_t
read_run(struct ustr_look *lk, const struct trace *t, const struct trace *head,
	struct ustr_look_cursor *c, struct ustr_event *ev, size_t room, bool *more)
{
	struct trace_record copy[3][RUN];
	size_t at = c->lc_next & (head->tr_records - 1), n = head->tr_next - c->lc_next;

	n = n < RUN ? n : RUN;
	n = n < room ? n : room;
	n = n < head->tr_records - at ? n : head->tr_records - at;
	for (int i = 0; i < 3; i++)
		if (!look_copy(lk, &t->tr_record[at], LINE, copy[i], n * sizeof(copy[i][0])))
			return -1;
	return (ssize_t)take(c, copy, n, ev, more);
}

ssize_t
ustr_look_events(struct ustr_look *lk, unsigned int id, struct ustr_look_cursor *c,
	struct ustr_event *ev, size_t n)
{
	const struct trace *t;
	struct trace head;
	bool more = true;
	size_t done = 0;
	ssize_t got = 0;

	errno = look_refresh(lk);
	if (errno != 0)
		return -1;
	t = find_ring(lk, id, &head);
	if (t == NULL) {
		errno = ENOENT;
		return -1;
	}
	skip_lost(c, &head);
	c->lc_begun = 1;
	while (more && done < n && c->lc_next < head.tr_next) {
		got = read_run(lk, t, &head, c, ev + done, n - done, &more);
		if (got == -1)
			break;
		done += (size_t)got;
	}
	if (got == -1 && done == 0) {
		errno = EUCLEAN;
		return -1;
	}
	return (ssize_t)done;
}
