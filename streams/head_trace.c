/* SPDX-License-Identifier: BSD-2-Clause */
/* head_trace.c: the recorder's procedures, and who wants which stream recorded. */
#include "head_trace.h"
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

	return sd != NULL && q == sd->sd_rq ? ld_acq(&sd->sd_mate) : NULL;
}

static int
traced_put(queue_t *q, mblk_t *mp)
{
	const struct stdata *from = sender(q);

	/* Somebody has to notice when the tool that wants this is killed. */
	helper_needed();
	if (from != NULL)
		qtrace_write(qtrace_ring(from->sd_rq), head_wq(from), USTR_EV_SENT, mp);
	qtrace(q, USTR_EV_PUT, mp);
	return put_procs[q->q_procs].pc_put(q, mp);
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
}

/* ---- settings of queues ---------------------------------------------------------------- */

/* Invariant 3. */
static void
redirect_head(struct slot *me, struct stdata *sd)
{
	const struct stdata *from;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	from = ld_acq(&sd->sd_mate);
	qtrace_redirect(sd->sd_rq, ld_acq(&sd->sd_rq->q_tap) != 0 ||
		(from != NULL && ld_acq(&from->sd_rq->q_tap) != 0));
	lock_leave(me, &trace_root->tt_lock);
}

/* All queues of sd record in t, or no longer (NULL).  The caller is sd's plumber. */
static void
set_queues(struct slot *me, struct stdata *sd, const struct trace *t)
{
	queue_t *rq = sd->sd_rq, *wq = head_wq(sd);
	struct stdata *to = ld_acq(&sd->sd_mate);

	qtrace_set(me, rq, t);
	qtrace_set(me, wq, t);
	if (t != NULL)
		f_or(&rq->q_want, (uint32_t)WANT_TRACE);
	else
		f_and(&rq->q_want, ~(uint32_t)WANT_TRACE);
	redirect_head(me, sd);
	if (to != NULL)
		redirect_head(me, to);
	for (queue_t *q = head_next(sd, wq); q != NULL; q = head_next(sd, q)) {
		qtrace_set(me, q, t);
		qtrace_set(me, OTHERQ(q), t);
		qtrace_redirect(q, t != NULL);
		qtrace_redirect(OTHERQ(q), t != NULL);
	}
}

/* ---- rings ---------------------------------------------------------------------------- */

static struct trace *
ring_make(const struct stdata *sd, unsigned int records)
{
	uint32_t n = TRACE_MIN;
	struct trace *t;

	while (n < records)
		n *= 2;
	t = heap_zalloc(trace_size(n));
	if (t != NULL)
		trace_init(t, sd->sd_id, n);
	return t;
}

static void
ring_free(struct trace *t)
{
	st_rel(&t->tr_magic, (uint64_t)0);
	heap_free(t, trace_size(t->tr_records));
}

static bool
wanted(const struct trace *t)
{
	for (int i = 0; i < TRACE_TAPPERS; i++)
		if (t->tr_tapper[i] != 0)
			return true;
	return t->tr_own && !t->tr_gone;
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
	while (*at != NULL && *at != t)
		at = &(*at)->tr_link;
	if (*at == t)
		st_rel(at, t->tr_link);
}

/* A process of this life, as tr_tapper has it. */
static uint64_t
tapper_of(const struct proc *p)
{
	return (uint64_t)ld_rlx(&p->pr_life) << 32 | p->pr_id;
}

/* ---- on and off, by sd's plumber ----------------------------------------------------------- */

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

/* 0 and the ring; ENOMEM, EAGAIN. */
static int
on(struct slot *me, struct stdata *sd, unsigned int records, uint64_t tapper, struct trace **tp,
	int *entry)
{
	struct trace *t = qtrace_ring(sd->sd_rq), *fresh = NULL;
	bool ok;

	if (t == NULL) {
		t = fresh = ring_make(sd, records);
		if (t == NULL)
			return ENOMEM;
	}
	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	ok = want(t, tapper, entry);
	if (fresh != NULL)
		list_in(fresh);
	lock_leave(me, &trace_root->tt_lock);
	if (fresh != NULL)
		set_queues(me, sd, fresh);
	*tp = t;
	return ok ? 0 : EAGAIN;
}

/* Nobody wants sd's ring any more, it seems. */
static void
off(struct slot *me, struct stdata *sd)
{
	struct trace *t = qtrace_ring(sd->sd_rq);
	bool alone, unwanted;

	if (t == NULL)
		return;
	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	unwanted = !wanted(t);
	if (unwanted)
		list_out(t);
	lock_leave(me, &trace_root->tt_lock);
	if (!unwanted)
		return;
	set_queues(me, sd, NULL);
	alone = plumb_try(me);
	if (alone)
		plumb_unlock(me);
	if (alone)
		ring_free(t); /* invariant 2 */
	else
		faa(&slot_root->sr_leaked, trace_size(t->tr_records));
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
	if (on(slot_tls, sd, (unsigned int)records, 0, &t, &entry) != 0)
		faa(&trace_root->tt_refused, (uint64_t)1);
}

void
htrace_parted(struct stdata *sd)
{
	if (ld_rlx(&sd->sd_rq->q_traced))
		redirect_head(slot_tls, sd);
}

void
htrace_gone(struct stdata *sd)
{
	struct slot *me = slot_self();
	struct trace *t = qtrace_ring(sd->sd_rq);
	bool unwanted;

	if (t == NULL || me == NULL)
		return;
	st_rel(&sd->sd_rq->q_tap, 0u);
	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	st_rel(&t->tr_gone, 1u);
	unwanted = !wanted(t);
	if (unwanted)
		list_out(t);
	lock_leave(me, &trace_root->tt_lock);
	if (unwanted)
		ring_free(t);
}

/* ---- finding a stream by its number ------------------------------------------------------------ */

/*
 * E1..E3 (fd.h) for entry e of any process: inside its group, and the stream it
 * leads to; or NULL and outside.
 */
static struct stdata *
enter_entry(struct slot *me, struct fdent *e)
{
	struct file *f;

	while ((f = ld_acq(&e->fe_file)) != NULL) { /* E1 */
		struct group *g = ld_acq(&e->fe_group), *root = group_root(g);

		if (!plumb_enter(me, root)) { /* E2 */
			plumb_wait(me, root);
			continue;
		}
		if (ld_seq(&e->fe_file) == f && ld_acq(&e->fe_group) == g && /* E3 */
		    group_root(g) == root)
			return f->f_head;
		st_rel(&me->sl_home, NULL);
	}
	return NULL;
}

static struct stdata *
find_chunk(struct slot *me, struct fdent *e, int n, unsigned int id)
{
	for (; n-- > 0; e++) {
		struct stdata *sd = ld_acq(&e->fe_file) != NULL ? enter_entry(me, e) : NULL;

		if (sd == NULL)
			continue;
		if (sd->sd_id == id)
			return sd;
		plumb_exit(me);
	}
	return NULL;
}

/* Inside the group of stream id, which stays until it is left; NULL: none. */
static struct stdata *
find(struct slot *me, unsigned int id)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop);
	struct stdata *sd = NULL;

	for (uint32_t i = 1; i < top && sd == NULL; i++) {
		struct proc *p = slot_procat(i);

		if (p == NULL || p->pr_fd0 == NULL || p->pr_fd == NULL)
			continue;
		sd = find_chunk(me, p->pr_fd0, FD_INLINE, id);
		for (int c = 0; c < FD_CHUNKS && sd == NULL; c++)
			if (ld_acq(&p->pr_fd[c]) != NULL)
				sd = find_chunk(me, p->pr_fd[c], FD_CHUNK, id);
	}
	return sd;
}

/* The same, and its plumber: 0, ENOENT, ETIME. */
static int
seize(struct slot *me, unsigned int id, struct stdata **sdp)
{
	unsigned int step = 0;
	int64_t since = 0;
	struct stdata *sd;
	int error;

	for (;;) {
		sd = find(me, id);
		if (sd == NULL)
			return ENOENT;
		if (head_plumb_try(me, sd)) {
			*sdp = sd;
			return 0;
		}
		plumb_exit(me);
		error = head_plumb_wait(sd, &step, &since);
		if (error != 0)
			return error;
	}
}

static void
let_go(struct slot *me, struct stdata *sd)
{
	head_plumb_leave(sd);
	plumb_exit(me);
}

/* Switch stream id's recorder off, if it is there and nobody wants it. */
static void
off_by_id(struct slot *me, unsigned int id)
{
	struct stdata *sd;

	if (seize(me, id, &sd) != 0)
		return; /* closed meanwhile: htrace_gone() saw to it */
	off(me, sd);
	let_go(me, sd);
}

/* ---- who wants it no longer ----------------------------------------------------------------------- */

/* Entry i of t is free; what is left to be done when nobody wants t now. */
static void
unwant(struct slot *me, struct trace *t, int i)
{
	unsigned int id = t->tr_stream;
	bool last, gone;

	lock_enter(me, &trace_root->tt_lock, RANK_TRACE);
	t->tr_tapper[i] = 0;
	last = !wanted(t);
	gone = t->tr_gone != 0;
	if (last && gone)
		list_out(t);
	lock_leave(me, &trace_root->tt_lock);
	if (last && gone)
		ring_free(t);
	else if (last)
		off_by_id(me, id);
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

/* The program wants c's stream recorded, or no longer. */
static int
own(struct call *c, unsigned int records)
{
	struct trace *t;
	int entry;

	if (records != 0)
		return on(c->c_me, c->c_head, records, 0, &t, &entry);
	t = qtrace_ring(c->c_head->sd_rq);
	if (t == NULL)
		return 0;
	lock_enter(c->c_me, &trace_root->tt_lock, RANK_TRACE);
	t->tr_own = 0;
	lock_leave(c->c_me, &trace_root->tt_lock);
	off(c->c_me, c->c_head);
	return 0;
}

int
ustr_trace(int fd, unsigned int records)
{
	struct call c;
	int error;

	if (records > TRACE_MAX || (records > 0 && records < TRACE_MIN))
		return fail(EINVAL);
	error = call_enter(&c, fd);
	if (error != 0)
		return fail(error);
	error = head_plumb_enter(&c);
	if (error == 0) {
		error = own(&c, records);
		head_plumb_leave(c.c_head);
	}
	call_leave(&c);
	return error == 0 ? 0 : fail(error);
}

ustr_tap_t *
ustr_tap_open(unsigned int id, unsigned int records)
{
	struct slot *me = slot_self();
	struct ustr_tap *tap;
	struct stdata *sd;
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
	error = seize(me, id, &sd);
	if (error == 0) {
		error = on(me, sd, records, tap->tap_owner, &tap->tap_ring, &tap->tap_entry);
		if (error == 0)
			trace_oldest(tap->tap_ring, &tap->tap_at);
		let_go(me, sd);
	}
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
	bool gone = ld_acq(&tap->tap_ring->tr_gone) != 0;

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
		call_over(me);
	}
	free(tap);
}
