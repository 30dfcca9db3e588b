/* SPDX-License-Identifier: BSD-2-Clause */
/* head_trace.c: the recorder's procedures, and who wants which stream recorded. */
#include "head_trace.h"
#include "head_number.h"
#include "arena.h"
#include "fd.h"
#include "flow.h"
#include "heap.h"
#include "helper.h"
#include "putnext.h"
#include "qtrace.h"

#include <stdlib.h>
#include <string.h>

/* ---- the recorder's procedures ------------------------------------------------------- */

/* The ring of the stream that q gets its messages from, if q ends a pipe. */
static struct stdata *
sender(const queue_t *q)
{
	struct stdata *sd = q->q_stream;

	ASSERT(q->q_procs < QIDX_TRACED);
	return sd != NULL && q == sd->sd_rq ? ld_acq(&sd->sd_mate) : NULL;
}

static int
traced_put(queue_t *q, mblk_t *mp)
{
	const struct stdata *from = sender(q);

	/* Somebody has to notice when the tool that wants this is killed. */
	helper_needed();
	qtrace_note(q);
	if (from != NULL)
		qtrace_write(qtrace_ring(from->sd_rq), head_wq(from), USTR_EV_SENT, mp);
	qtrace(q, USTR_EV_PUT, mp);
	return put_procs[q->q_procs].pc_put(q, mp);
}

static int
traced_srv(queue_t *q)
{
	qtrace_note(q);
	return put_procs[q->q_procs].pc_srv(q);
}

int
htrace_init(void)
{
	trace_root = arena_root_make(ROOT_TRACE, sizeof(*trace_root));
	return trace_root == NULL ? ENOMEM : 0;
}

void
htrace_join(void)
{
	trace_root = arena_root(ROOT_TRACE);
}

void
htrace_equip(void)
{
	put_procs[QIDX_TRACED] = put_absent;
	put_procs[QIDX_TRACED].pc_put = traced_put;
	put_procs[QIDX_TRACED].pc_srv = traced_srv;
}

/* ---- settings of queues ---------------------------------------------------------------- */

/* Invariant 3. */
static void
redirect_head(struct stdata *sd)
{
	const struct stdata *from = ld_acq(&sd->sd_mate);

	qtrace_redirect(sd->sd_rq, ld_acq(&sd->sd_rq->q_tap) != 0 ||
		(from != NULL && ld_acq(&from->sd_rq->q_tap) != 0));
}

/* All queues of sd record in t, or no longer (NULL); invariant 1. */
static void
set_queues(struct stdata *sd, const struct trace *t)
{
	queue_t *rq = sd->sd_rq, *wq = head_wq(sd);
	struct stdata *to = ld_acq(&sd->sd_mate);

	LOCK_HELD(&trace_root->tt_lock);
	ASSERT(ld_rlx(&slot_tls->sl_home) != NULL || sd->sd_opens == 0); /* invariant 1 */
	qtrace_set(rq, t);
	qtrace_set(wq, t);
	CRASH_POINT();
	if (t != NULL)
		f_or(&rq->q_want, (uint32_t)WANT_TRACE);
	else
		f_and(&rq->q_want, ~(uint32_t)WANT_TRACE);
	redirect_head(sd);
	if (to != NULL)
		redirect_head(to);
	CRASH_POINT();
	for (queue_t *q = head_next(sd, wq); q != NULL; q = head_next(sd, q)) {
		qtrace_set(q, t);
		qtrace_set(OTHERQ(q), t);
		qtrace_redirect(q, t != NULL);
		qtrace_redirect(OTHERQ(q), t != NULL);
		CRASH_POINT();
	}
}

/* ---- rings ---------------------------------------------------------------------------- */

/* Invariant 6. */
static void
in_hand(size_t bytes)
{
	st_rel(&slot_tls->sl_rings, ld_rlx(&slot_tls->sl_rings) + bytes);
}

static void
out_of_hand(size_t bytes)
{
	size_t had = ld_rlx(&slot_tls->sl_rings);

	st_rel(&slot_tls->sl_rings, had > bytes ? had - bytes : 0);
}

static struct trace *
ring_make(uint32_t id, unsigned int records)
{
	uint32_t n = TRACE_MIN;
	struct trace *t;

	while (n < records)
		n *= 2;
	ASSERT(n <= TRACE_MAX);
	in_hand(trace_size(n));
	t = heap_zalloc(trace_size(n));
	if (t != NULL)
		trace_init(t, id, n);
	else
		out_of_hand(trace_size(n));
	return t;
}

/* Nothing leads to it: it is in hand. */
static void
ring_free(struct trace *t)
{
	size_t size = trace_size(t->tr_records);

	ASSERT(ld_acq(&t->tr_magic) == TRACE_MAGIC); /* once */
	st_rel(&t->tr_magic, (uint64_t)0);
	heap_free(t, size);
	out_of_hand(size);
}

/* By whom a ring is wanted: not counted is a program whose stream is gone. */
static bool
wanted(const struct trace *t)
{
	LOCK_HELD(&trace_root->tt_lock);
	for (int i = 0; i < TRACE_TAPPERS; i++)
		if (t->tr_tapper[i] != 0)
			return true;
	return t->tr_own && t->tr_state == TRACE_ON;
}

/* Under tt_lock. */
static void
list_in(struct trace *t)
{
	LOCK_HELD(&trace_root->tt_lock);
	t->tr_link = trace_root->tt_first;
	st_rel(&trace_root->tt_first, t);
}

static void
list_out(struct trace *t)
{
	struct trace **at = &trace_root->tt_first;

	LOCK_HELD(&trace_root->tt_lock);
	in_hand(trace_size(t->tr_records));
	while (*at != NULL && *at != t)
		at = &(*at)->tr_link;
	if (*at == t)
		st_rel(at, t->tr_link);
}

/* The ring that is on for stream id, whether its queues lead to it yet or not. */
static struct trace *
listed(uint32_t id)
{
	struct trace *t = trace_root->tt_first;

	LOCK_HELD(&trace_root->tt_lock);
	while (t != NULL && (t->tr_stream != id || t->tr_state != TRACE_ON))
		t = t->tr_link;
	return t;
}

/* A process of this life, as tr_tapper has it. */
static uint64_t
tapper_of(const struct proc *p)
{
	return (uint64_t)ld_rlx(&p->pr_life) << 32 | p->pr_id;
}

/* ---- on and off, inside sd's group ---------------------------------------------------------- */

/* One who wants it more: a tapper, or the program itself (0).  False: too many. */
static bool
want(struct trace *t, uint64_t tapper, int *entry)
{
	LOCK_HELD(&trace_root->tt_lock);
	if (tapper == 0) {
		t->tr_own = 1;
		return true;
	}
	for (int i = 0; i < TRACE_TAPPERS; i++) {
		if (t->tr_tapper[i] != 0)
			continue;
		t->tr_tapper[i] = tapper;
		*entry = i;
		return true;
	}
	return false;
}

/*
 * sd is recorded, in *tp, which is taken over, or in the ring that is there: 0 and
 * *tp is that, or EAGAIN.  All settings anew: who switched it on may have been killed.
 */
static int
on(struct slot *me, struct stdata *sd, uint64_t tapper, struct trace **tp, int *entry)
{
	struct trace *fresh = *tp, *t;
	bool ok;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t = listed(sd->sd_id);
	if (t == NULL) {
		t = fresh;
		list_in(t);
	}
	ok = want(t, tapper, entry);
	set_queues(sd, t);
	lock_leave(me, &trace_root->tt_lock);
	if (t != fresh)
		ring_free(fresh);
	*tp = t;
	return ok ? 0 : EAGAIN;
}

/* If nobody wants sd's ring any more it is retired. */
static void
off(struct slot *me, struct stdata *sd)
{
	struct trace *t;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t = listed(sd->sd_id);
	IMPLY(t != NULL, t->tr_stream == sd->sd_id && t->tr_state == TRACE_ON);
	if (t != NULL && !wanted(t)) {
		set_queues(sd, NULL);
		st_rel(&t->tr_state, (uint32_t)TRACE_RETIRED);
	}
	lock_leave(me, &trace_root->tt_lock);
}

/* ---- a stream's life ------------------------------------------------------------------------ */

void
htrace_born(struct stdata *sd)
{
	long records = ld_rlx(&head_root->hr_trace);
	struct trace *t;
	int entry;

	if (likely(records == 0) || slot_tls == NULL)
		return;
	t = ring_make(sd->sd_id, (unsigned int)records);
	if (t == NULL)
		faa(&trace_root->tt_refused, (uint64_t)1);
	else
		(void)on(slot_tls, sd, 0, &t, &entry);
}

void
htrace_parted(struct stdata *sd)
{
	redirect_head(sd);
}

/* Under tt_lock: the next ring of stream id that goes with it; *tappers read on. */
static struct trace *
next_gone(uint32_t id)
{
	struct trace *t, *next;

	LOCK_HELD(&trace_root->tt_lock);
	for (t = trace_root->tt_first; t != NULL; t = next) {
		next = t->tr_link;
		if (t->tr_stream != id || t->tr_state == TRACE_GONE)
			continue;
		st_rel(&t->tr_state, (uint32_t)TRACE_GONE);
		if (!wanted(t)) {
			list_out(t);
			return t;
		}
	}
	return NULL;
}

void
htrace_gone(struct stdata *sd)
{
	struct slot *me = slot_self();
	struct trace *t;

	if (likely(ld_acq(&trace_root->tt_first) == NULL) || me == NULL)
		return;
	do {
		lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
		t = next_gone(sd->sd_id);
		lock_leave(me, &trace_root->tt_lock);
		if (t != NULL)
			ring_free(t);
	} while (t != NULL);
}

size_t
htrace_bytes(struct slot *me, const struct stdata *sd)
{
	size_t sum = 0;

	if (likely(ld_acq(&trace_root->tt_first) == NULL))
		return 0;
	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	for (const struct trace *t = trace_root->tt_first; t != NULL; t = t->tr_link)
		if (t->tr_stream == sd->sd_id)
			sum += trace_size(t->tr_records);
	lock_leave(me, &trace_root->tt_lock);
	return sum;
}

/* ---- who wants it no longer ----------------------------------------------------------------------- */

static bool
unwanted(const struct trace *t)
{
	return t->tr_state == TRACE_ON && !wanted(t);
}

static bool
retired(const struct trace *t)
{
	return t->tr_state == TRACE_RETIRED;
}

/*
 * The lowest number above id of a stream with a ring that goes(t), or 0: so that one
 * for which nothing can be done is in the way of no other.
 */
static uint32_t
next_id(struct slot *me, bool (*goes)(const struct trace *), uint32_t id)
{
	uint32_t next = 0;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	for (const struct trace *t = trace_root->tt_first; t != NULL; t = t->tr_link)
		if (goes(t) && t->tr_stream > id && (next == 0 || t->tr_stream < next))
			next = t->tr_stream;
	lock_leave(me, &trace_root->tt_lock);
	return next;
}

/* Switch off what nobody wants; not what is just being closed (htrace_gone). */
static void
retire(struct slot *me)
{
	for (uint32_t id = 0; (id = next_id(me, unwanted, id)) != 0;) {
		struct stdata *sd = number_enter(me, id, NULL);

		if (sd == NULL)
			continue;
		off(me, sd);
		number_leave(me);
	}
}

/* Take a retired ring of stream id off the list: it is the caller's; or NULL. */
static struct trace *
take_retired(struct slot *me, uint32_t id)
{
	struct trace *t;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t = trace_root->tt_first;
	while (t != NULL && !(retired(t) && t->tr_stream == id))
		t = t->tr_link;
	if (t != NULL)
		list_out(t);
	lock_leave(me, &trace_root->tt_lock);
	return t;
}

/*
 * Free the retired rings of streams that this process has: when every call has left
 * that might still write to them.  Where a stopped thread is in the way: later.
 */
static void
free_retired(struct slot *me)
{
	for (uint32_t id = 0; (id = next_id(me, retired, id)) != 0;) {
		struct group *g;
		struct trace *t;

		if (number_enter_of(me, me->sl_pslot, id, NULL) == NULL)
			continue;
		g = ld_rlx(&me->sl_home);
		number_leave(me);
		t = take_retired(me, id);
		if (t == NULL)
			continue;
		if (plumb_quiesce(g) == 0) {
			ring_free(t);
			continue;
		}
		lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
		list_in(t);
		out_of_hand(trace_size(t->tr_records));
		lock_leave(me, &trace_root->tt_lock);
	}
}

void
htrace_tidy(void)
{
	struct slot *me = slot_self();

	if (likely(ld_acq(&trace_root->tt_unwanted) == 0) || me == NULL)
		return;
	(void)xchg(&trace_root->tt_unwanted, 0u);
	retire(me);
	free_retired(me);
	if (next_id(me, unwanted, 0) != 0 || next_id(me, retired, 0) != 0)
		st_rel(&trace_root->tt_unwanted, 1u); /* for others, or later */
}

/* Entry i of t is free; what is left to be done when nobody wants t now. */
static void
unwant(struct slot *me, struct trace *t, int i)
{
	bool gone;

	ASSERT(i >= 0 && i < TRACE_TAPPERS);
	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t->tr_tapper[i] = 0;
	gone = t->tr_state == TRACE_GONE && !wanted(t);
	if (gone)
		list_out(t);
	lock_leave(me, &trace_root->tt_lock);
	if (gone)
		ring_free(t);
	else
		st_rel(&trace_root->tt_unwanted, 1u);
}

/* A ring that tapper wants, and its entry there; NULL: none (any more). */
static struct trace *
ring_of(struct slot *me, uint64_t tapper, int *entry)
{
	struct trace *t;
	int i = 0;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	for (t = trace_root->tt_first; t != NULL; t = t->tr_link) {
		for (i = 0; i < TRACE_TAPPERS && t->tr_tapper[i] != tapper; i++)
			;
		if (i < TRACE_TAPPERS)
			break;
	}
	lock_leave(me, &trace_root->tt_lock);
	*entry = i;
	return t;
}

void
htrace_bury(const struct proc *p)
{
	uint64_t tapper = tapper_of(p);
	struct slot *me = slot_self();
	struct trace *t;
	int i;

	if (me == NULL || ld_acq(&trace_root->tt_first) == NULL)
		return;
	/* It is the entry that keeps the ring, and only who buries p empties it. */
	while ((t = ring_of(me, tapper, &i)) != NULL)
		unwant(me, t, i);
	htrace_tidy();
}

/* ---- the public calls ------------------------------------------------------------------------------- */

struct ustr_tap {
	struct trace *tap_ring;
	int tap_entry;		/* of tr_tapper */
	uint64_t tap_owner;	/* the process that opened it */
	unsigned int tap_stream;
	struct trace_cursor tap_at;
};

static int
fail(int error)
{
	errno = error;
	return -1;
}

long
ustr_streamid(int fd)
{
	struct call c;
	int error = call_enter(&c, fd);
	long id;

	if (error != 0)
		return fail(error);
	id = (long)c.c_head->sd_id;
	call_leave(&c);
	return id;
}

/* Outside all groups: have stream id recorded, for a tapper or its program (0). */
static int
record(struct slot *me, unsigned int id, unsigned int records, uint64_t tapper,
	struct trace **tp, int *entry)
{
	struct trace *fresh;
	struct stdata *sd;
	int error;

	ASSERT(ld_rlx(&me->sl_home) == NULL);
	/* Made beforehand: clearing a large one takes long. */
	fresh = *tp = ring_make(id, records);
	if (fresh == NULL)
		return ENOMEM;
	sd = number_enter(me, id, NULL);
	if (sd == NULL) {
		ring_free(fresh);
		return ENOENT;
	}
	error = on(me, sd, tapper, tp, entry);
	if (*tp == fresh)
		out_of_hand(trace_size(fresh->tr_records)); /* it is the stream's */
	number_leave(me);
	return error;
}

/* The program does not want stream id recorded any more. */
static void
disown(struct slot *me, unsigned int id)
{
	struct trace *t;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t = listed(id);
	if (t != NULL)
		t->tr_own = 0;
	lock_leave(me, &trace_root->tt_lock);
	st_rel(&trace_root->tt_unwanted, 1u);
	htrace_tidy();
}

int
ustr_trace(int fd, unsigned int records)
{
	struct trace *t;
	int error = 0, entry;
	long id;

	if (records > TRACE_MAX || (records > 0 && records < TRACE_MIN))
		return fail(EINVAL);
	id = ustr_streamid(fd);
	if (id == -1)
		return -1;
	if (records > 0)
		error = record(slot_tls, (unsigned int)id, records, 0, &t, &entry);
	else
		disown(slot_tls, (unsigned int)id);
	call_over(slot_tls);
	/* Closed meanwhile by another thread. */
	return error == 0 ? 0 : fail(error == ENOENT ? EBADF : error);
}

ustr_tap_t *
ustr_tap_open(unsigned int id, unsigned int records)
{
	struct slot *me = slot_self();
	struct ustr_tap *tap;
	int error;

	if (me == NULL)
		return NULL;
	errno = ld_rlx(&me->sl_home) != NULL ? EDEADLK : EINVAL;
	if (errno == EDEADLK || records < TRACE_MIN || records > TRACE_MAX)
		return NULL;
	tap = calloc(1, sizeof(*tap));
	if (tap == NULL)
		return NULL;
	tap->tap_owner = tapper_of(me->sl_pslot);
	tap->tap_stream = id;
	error = record(me, id, records, tap->tap_owner, &tap->tap_ring, &tap->tap_entry);
	if (error == 0)
		trace_oldest(tap->tap_ring, &tap->tap_at);
	call_over(me);
	if (error != 0) {
		free(tap);
		errno = error;
		return NULL;
	}
	return tap;
}

int
ustr_tap_read(ustr_tap_t *tap, struct ustr_event *ev)
{
	/* Looked at first: after it there are no more events. */
	bool gone = ld_acq(&tap->tap_ring->tr_state) == TRACE_GONE;

	/* In a child of fork, whose parent has closed it. */
	if (!trace_valid(tap->tap_ring, tap->tap_stream))
		return fail(ENXIO);
	if (trace_read(tap->tap_ring, &tap->tap_at, ev)) {
		ev->ev_time += plat_clockoffset();
		return 1;
	}
	return gone && tap->tap_at.tc_since == 0 ? fail(ENXIO) : 0;
}

uint64_t
ustr_tap_lost(const ustr_tap_t *tap)
{
	return tap->tap_at.tc_lost;
}

void
ustr_tap_close(ustr_tap_t *tap)
{
	struct slot *me = slot_self();

	if (tap == NULL)
		return;
	/* A child of fork has the pointer, but not the entry. */
	if (me != NULL && tap->tap_owner == tapper_of(me->sl_pslot) &&
	    ld_rlx(&me->sl_home) == NULL) {
		unwant(me, tap->tap_ring, tap->tap_entry);
		htrace_tidy();
		call_over(me);
	}
	free(tap);
}
