/* SPDX-License-Identifier: BSD-2-Clause */
/* head_trace.c: the recorder's procedures, and who wants which stream recorded. */
#include "head_trace.h"
#include "head_number.h"
#include "head_ring.h"
#include "arena.h"
#include "fd.h"
#include "flow.h"
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
 * In whose hand the stream is: holder.
 */
static int
on(struct slot *me, struct stdata *sd, uint32_t holder, uint64_t tapper, struct trace **tp,
	int *entry)
{
	struct trace *fresh = *tp, *t;
	bool ok;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t = ring_on(sd->sd_id);
	if (t == NULL) {
		t = fresh;
		t->tr_holder = holder;
		st_rel(&t->tr_magic, (uint64_t)TRACE_MAGIC);
		st_rel(&t->tr_state, (uint32_t)TRACE_ON);
	}
	ok = want(t, tapper, entry);
	set_queues(sd, t);
	lock_leave(me, &trace_root->tt_lock);
	if (t != fresh)
		ring_free(me, fresh);
	*tp = t;
	return ok ? 0 : EAGAIN;
}

/* If nobody wants sd's ring any more it is retired. */
static void
off(struct slot *me, struct stdata *sd)
{
	struct trace *t;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t = ring_on(sd->sd_id);
	IMPLY(t != NULL, t->tr_stream == sd->sd_id && t->tr_state == TRACE_ON);
	if (t != NULL && !ring_wanted(t)) {
		set_queues(sd, NULL);
		t->tr_holder = 0;
		st_rel(&t->tr_state, (uint32_t)TRACE_RETIRED);
	}
	lock_leave(me, &trace_root->tt_lock);
}

/* ---- a stream's life ------------------------------------------------------------------------ */

void
htrace_born(struct stdata *sd)
{
	long records = ld_rlx(&head_root->hr_trace);
	struct slot *me = slot_tls;
	struct trace *t;
	int entry;

	if (likely(records == 0) || me == NULL)
		return;
	t = ring_make(me, sd->sd_id, (unsigned int)records);
	if (t == NULL) {
		faa(&trace_root->tt_refused, (uint64_t)1);
		return;
	}
	st_rlx(&me->sl_rings, 1u);
	(void)on(me, sd, me->sl_key, 0, &t, &entry);
}

/* The stream with the ring is in the hand of holder, or others find it: 0. */
static void
set_holder(struct slot *me, uint32_t id, uint32_t holder)
{
	struct trace *t;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t = ring_on(id);
	if (t != NULL)
		t->tr_holder = holder;
	lock_leave(me, &trace_root->tt_lock);
}

void
htrace_now_found(struct slot *me, const struct stdata *sd)
{
	if (ld_acq(&trace_root->tt_first) == NULL) {
		st_rlx(&me->sl_rings, 0u);
		return;
	}
	set_holder(me, sd->sd_id, 0);
}

void
htrace_hold(struct slot *me, const struct stdata *sd)
{
	if (unlikely(ld_acq(&trace_root->tt_first) != NULL))
		set_holder(me, sd->sd_id, me->sl_key);
}

void
htrace_parted(struct stdata *sd)
{
	redirect_head(sd);
}

/* Under tt_lock: the next ring of stream id that goes with it, in hand; tappers read on. */
static struct trace *
next_gone(struct slot *me, uint32_t id)
{
	LOCK_HELD(&trace_root->tt_lock);
	for (struct trace *t = trace_root->tt_first; t != NULL; t = t->tr_link) {
		if (t->tr_stream != id || t->tr_state == TRACE_GONE || t->tr_state == TRACE_HELD)
			continue;
		t->tr_holder = 0;
		st_rel(&t->tr_state, (uint32_t)TRACE_GONE);
		CRASH_POINT();
		if (!ring_wanted(t)) {
			ring_into_hand(me, t);
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
	/* First: who is killed after it leaves no head that leads to what is free. */
	qtrace_set(sd->sd_rq, NULL);
	qtrace_set(head_wq(sd), NULL);
	do {
		lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
		t = next_gone(me, sd->sd_id);
		lock_leave(me, &trace_root->tt_lock);
		if (t != NULL)
			ring_free(me, t);
	} while (t != NULL);
}

/* ---- who wants it no longer ----------------------------------------------------------------------- */

/* What may be true of a ring; under tt_lock. */
static bool
unwanted(const struct trace *t)
{
	return t->tr_state == TRACE_ON && !ring_wanted(t);
}

static bool
in_lost_hand(const struct trace *t)
{
	return t->tr_state == TRACE_ON && ring_left(t);
}

/* Nobody waits already until nothing leads to it. */
static bool
retired(const struct trace *t)
{
	return t->tr_state == TRACE_RETIRED && (t->tr_holder == 0 || ring_left(t));
}

static bool
needs_care(const struct trace *t)
{
	return unwanted(t) || in_lost_hand(t) || t->tr_state == TRACE_RETIRED || ring_scrap(t);
}

/* ON, and in the hand of somebody who was killed: was the stream found before? */
static void
find_lost(struct slot *me)
{
	for (uint32_t id = 0; (id = ring_next(me, in_lost_hand, id)) != 0;) {
		bool found = number_enter(me, id, NULL) != NULL;
		struct trace *t;

		if (found)
			number_leave(me);
		lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
		t = ring_first(in_lost_hand, id);
		if (t != NULL && !found)
			t->tr_own = 0;
		CRASH_POINT();
		if (t != NULL)
			t->tr_holder = 0;
		lock_leave(me, &trace_root->tt_lock);
	}
}

/* Switch off what nobody wants, also where no descriptor leads to it. */
static void
retire(struct slot *me)
{
	for (uint32_t id = 0; (id = ring_next(me, unwanted, id)) != 0;) {
		struct stdata *sd = number_enter(me, id, NULL);

		if (sd != NULL) {
			off(me, sd);
			number_leave(me);
			continue;
		}
		sd = number_search(me, id);
		if (sd == NULL)
			continue;
		off(me, sd);
		number_searched(me);
	}
}

/*
 * The calls that may know a retired ring of stream id: their group, or NULL, there are
 * none.  False: others see to it, who have the stream.
 */
static bool
knowing(struct slot *me, uint32_t id, struct group **gp)
{
	bool ours = number_enter_of(me, me->sl_pslot, id, NULL) != NULL;

	if (!ours && number_enter(me, id, NULL) != NULL) {
		number_leave(me);
		return false;
	}
	*gp = NULL;
	if (ours) {
		*gp = ld_rlx(&me->sl_home);
		number_leave(me);
	} else if (number_search(me, id) != NULL) {
		*gp = ld_rlx(&me->sl_home);
		number_searched(me);
	}
	return true;
}

/* From now on this thread waits for a retired ring of stream id; false: there is none. */
static bool
begin_waiting(struct slot *me, uint32_t id)
{
	struct trace *t;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t = ring_first(retired, id);
	if (t != NULL)
		t->tr_holder = me->sl_key;
	lock_leave(me, &trace_root->tt_lock);
	return t != NULL;
}

/* It has: that ring, in its hand now; or NULL, it is not over, or it went with its stream. */
static struct trace *
end_waiting(struct slot *me, uint32_t id, bool over)
{
	struct trace *t;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	for (t = trace_root->tt_first; t != NULL; t = t->tr_link)
		if (t->tr_stream == id && t->tr_state == TRACE_RETIRED && t->tr_holder == me->sl_key)
			break;
	if (t != NULL && over)
		ring_into_hand(me, t);
	else if (t != NULL)
		t->tr_holder = 0;
	lock_leave(me, &trace_root->tt_lock);
	return over ? t : NULL;
}

/*
 * Free the retired rings of streams that this process has, or that nobody has: when every
 * call has left that might still write to them.  Where a stopped thread is in the way: later.
 */
static void
free_retired(struct slot *me)
{
	for (uint32_t id = 0; (id = ring_next(me, retired, id)) != 0;) {
		struct trace *t = NULL;
		struct group *g;

		if (knowing(me, id, &g) && begin_waiting(me, id))
			t = end_waiting(me, id, g == NULL || plumb_quiesce(g) == 0);
		if (t != NULL)
			ring_free(me, t);
	}
}

void
htrace_tidy(void)
{
	struct slot *me = slot_self();

	if (likely(ld_acq(&trace_root->tt_unwanted) == 0) || me == NULL)
		return;
	(void)xchg(&trace_root->tt_unwanted, 0u);
	find_lost(me);
	retire(me);
	free_retired(me);
	ring_free_scrap(me);
	if (ring_next(me, needs_care, 0) != 0)
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
	CRASH_POINT();
	gone = t->tr_state == TRACE_GONE && !ring_wanted(t);
	if (gone)
		ring_into_hand(me, t);
	lock_leave(me, &trace_root->tt_lock);
	if (gone)
		ring_free(me, t);
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
	st_rel(&trace_root->tt_unwanted, 1u); /* and what its threads had in their hands */
	htrace_tidy();
}

void
htrace_disown(struct slot *me, uint32_t id)
{
	struct trace *t;

	if (likely(ld_acq(&trace_root->tt_first) == NULL))
		return;
	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t = ring_on(id);
	if (t != NULL)
		t->tr_own = 0;
	lock_leave(me, &trace_root->tt_lock);
	st_rel(&trace_root->tt_unwanted, 1u);
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
	fresh = *tp = ring_make(me, id, records);
	if (fresh == NULL)
		return ENOMEM;
	sd = number_enter(me, id, NULL);
	if (sd == NULL) {
		ring_free(me, fresh);
		return ENOENT;
	}
	error = on(me, sd, 0, tapper, tp, entry);
	number_leave(me);
	return error;
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
		htrace_disown(slot_tls, (uint32_t)id);
	htrace_tidy();
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
