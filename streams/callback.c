/* SPDX-License-Identifier: BSD-2-Clause */
/* callback.c: the runner of callback.h, and the DDI routines that name a queue. */
#include "callback.h"
#include "cache.h"
#include "perim.h"
#include "ticks.h"

#include <sys/ddi.h>

#define RUN_TRIES 64	/* at a busy group or perimeter, before it is put off */
#define PUT_OFF 1000000 /* ns */

enum outcome { RUN_OVER, RUN_BUSY };

/* R4, R5. */
static void
run(struct slot *me, const struct callback *cb)
{
	bool inside = DEBUG_ON(1) && ld_rlx(&me->sl_home) != NULL;

	NO_LOCK_HELD();
	ASSERT(cb->cb_fn != NULL);
	if (!callout_claim(me, cb))
		return;
	cb->cb_fn(cb->cb_arg);
	NO_LOCK_HELD();
	/* delay() comes back, merged or not. */
	EQUIV(inside, DEBUG_ON(1) && ld_rlx(&me->sl_home) != NULL);
	callout_done(me, cb);
}

/* Inside cb's group: R2..R6.  RUN_BUSY: nothing was done. */
static enum outcome
run_inside(struct slot *me, const struct callback *cb, queue_t *q)
{
	struct perim *p = q != NULL ? q->q_perim : NULL;

	ASSERT(ld_rlx(&me->sl_home) != NULL);
	IMPLY(q != NULL, plumb_group(q) == ld_rlx(&me->sl_home)); /* invariant 1 */
	if (p == NULL) {
		run(me, cb);
		return RUN_OVER;
	}
	if (!perim_try(me, p)) /* R3 */
		return RUN_BUSY;
	run(me, cb);
	perim_leave(me, p);
	return RUN_OVER;
}

/* R2: q, which must be there still, and the group *g that it is in. */
static bool
look(const struct callback *cb, queue_t **q, struct group **g)
{
	if (!callout_wanted(cb))
		return false;
	*q = ld_rlx(&cb->cb_cell->co_q);
	if (*q != NULL)
		*g = plumb_group(*q);
	return callout_wanted(cb);
}

/* R1, without waiting for a writer, unless that is nobody. */
static bool
enter(struct slot *me, struct group *g)
{
	g = group_root(g);
	if (plumb_enter(me, g))
		return true;
	if (slot_gone(ld_seq(&g->g_plumber)))
		plumb_wait(me, g);
	else
		plat_yield();
	return false;
}

static enum outcome
run_in_group(struct slot *me, const struct callback *cb, struct group *g)
{
	enum outcome o = RUN_BUSY;

	ASSERT(ld_rlx(&me->sl_home) == NULL && ld_rlx(&me->sl_visiting) == NULL);
	for (int i = 0; o == RUN_BUSY && i < RUN_TRIES; i++) {
		queue_t *q = NULL;

		if (!enter(me, g)) /* R1 */
			continue;
		if (!look(cb, &q, &g))
			o = RUN_OVER;
		else if (q == NULL || g == ld_rlx(&me->sl_home))
			o = run_inside(me, cb, q);
		plumb_exit(me);
		if (o == RUN_BUSY)
			plat_yield();
	}
	return o;
}

static void
run_one(struct slot *me, const struct callback *cb)
{
	struct group *g = ld_rlx(&cb->cb_cell->co_group);

	if (!callout_wanted(cb))
		return;
	if (g == NULL)
		run(me, cb);
	else if (run_in_group(me, cb, g) == RUN_BUSY)
		callout_again(cb, PUT_OFF);
}

/* Those for which there is memory now. */
static void
run_memory(struct slot *me)
{
	struct bufcall_round br;
	struct callback cb;

	if (!bufcall_waiting())
		return;
	cache_want(me, true);
	bufcall_begin(&br);
	while (bufcall_take(&br, &cb)) {
		/* What the try freed is for whoever comes, not for this thread. */
		cache_detach(me);
		run_one(me, &cb);
	}
	cache_detach(me);
	if (!bufcall_waiting())
		cache_want(me, false);
}

int64_t
callback_run(void)
{
	struct slot *me = slot_self();
	struct callback cb;
	int64_t now = plat_now(), due, retry;

	if (me == NULL)
		return -1;
	ASSERT(ld_rlx(&me->sl_home) == NULL);
	NO_LOCK_HELD();
	while (callout_take(now, &cb)) /* what it registers anew is of the next look */
		run_one(me, &cb);
	run_memory(me);
	due = callout_due();
	retry = plat_now() + (int64_t)MEMORY_MS * 1000000;
	if (bufcall_waiting() && (due < 0 || due > retry))
		due = retry;
	return due;
}

/* ---- the DDI routines ------------------------------------------------------------------ */

/* Not after qprocsoff: nothing may run then. */
static int
add(queue_t *q, const struct callback *as)
{
	return ld_acq(&RD(q)->q_flag) & QWCLOSE ? 0 : callout_add(as, q, plumb_group(q));
}

timeout_id_t
qtimeout(queue_t *q, void (*func)(void *), void *arg, clock_t ticks)
{
	return add(q,
	    &(struct callback){.cb_kind = CALL_TIMER,
		.cb_fn = func,
		.cb_arg = arg,
		.cb_when = ticks_after(ticks)});
}

clock_t
quntimeout(queue_t *q, timeout_id_t id)
{
	(void)q;
	return ticks_left(callout_cancel(id, CALL_TIMER));
}

bufcall_id_t
qbufcall(queue_t *q, size_t size, unsigned int pri, void (*func)(void *), void *arg)
{
	(void)pri;
	return add(q,
	    &(struct callback){
		.cb_kind = CALL_MEMORY, .cb_fn = func, .cb_arg = arg, .cb_size = size});
}

void
qunbufcall(queue_t *q, bufcall_id_t id)
{
	(void)q;
	(void)callout_cancel(id, CALL_MEMORY);
}

void
delay(clock_t ticks)
{
	struct slot *me = slot_self();
	struct group *home = me != NULL ? ld_rlx(&me->sl_home) : NULL;
	int64_t until = ticks_after(ticks), left;

	NO_LOCK_HELD();
	if (home != NULL)
		st_rel(&me->sl_home, NULL);
	while ((left = until - plat_now()) > 0)
		(void)plat_nap(
		    (unsigned int)(left < 1000000000 ? left / 1000 + 1 : 1000000));
	if (home != NULL)
		plumb_into(me, home);
}
