/* SPDX-License-Identifier: BSD-2-Clause */
/* plumb.c: groups and relinking; the labels are those of plumb.h. */
#include "plumb.h"
#include "arena.h"
#include "callout.h"
#include "claim.h"
#include "errand.h"
#include "flow.h"
#include "heap.h"
#include "perim.h"
#include "putnext.h"
#include "qtrace.h"

#include <errno.h>

struct plumb_root *plumb_root;

static struct module_info deadend_info = { 0, "deadend", 0, INFPSZ, 65536, 8192 };

static int
deadend_put(queue_t *q, mblk_t *mp)
{
	(void)q;
	freemsg(mp);
	return 0;
}

int
plumb_init(void)
{
	queue_t *q;
	struct module_info *mi;
	struct qinit *qi;

	plumb_root = arena_root_make(ROOT_PLUMB, sizeof(*plumb_root));
	mi = heap_zalloc(sizeof(*mi));
	qi = heap_zalloc(sizeof(*qi));
	if (plumb_root == NULL || mi == NULL || qi == NULL)
		return ENOMEM;
	*mi = deadend_info;
	mi->mi_idname = NULL;
	qi->qi_minfo = mi;
	q = plumb_root->pl_deadend;
	queue_setup(q, &(struct queue_tables){ qi, qi, 0, false, false }, QK_DEADEND);
	plumb_join();
	return 0;
}

void
plumb_join(void)
{
	struct procs deadend = put_absent;

	deadend.pc_put = deadend_put;
	plumb_root = arena_root(ROOT_PLUMB);
	put_set(0, deadend);
	put_set(1, deadend);
}

bool
plumb_deadend_sound(void)
{
	const queue_t *q = plumb_root->pl_deadend;
	const struct qinit *qi = q->q_qinfo;

	for (int i = 0; i < 2; i++)
		if (q[i].q_qinfo != qi || q[i].q_next != NULL || q[i].q_nfsrv != &q[i] ||
		    q[i].q_procs != i || ld_rlx(&q[i].q_qidx) != (unsigned int)i || q[i].q_perim != NULL ||
		    q[i].q_kind != (QK_DEADEND | (i == 0 ? QK_READ : 0)) || q[i].q_stream != NULL)
			return false;
	return claim_take(qi, sizeof(*qi), CL_TABLE) &&
		claim_take(qi->qi_minfo, sizeof(*qi->qi_minfo), CL_DATA) && qi->qi_minfo->mi_idname == NULL;
}

/* ---- links ------------------------------------------------------------------------ */

/* The stream head's read queue above q. */
static queue_t *
head_above(queue_t *q)
{
	q = RD(q);
	while (q->q_next != NULL && !(q->q_kind & QK_HEADR))
		q = q->q_next;
	return q;
}

/* T2..T4, for the first time or again. */
static void
relink(struct group *g)
{
	uint32_t n = ld_seq(&g->g_relinks);

	ASSERT(n <= RELINKS);
	for (uint32_t i = 0; i < n; i++) {
		st_rel(&g->g_relink[i].rl_at->q_next, g->g_relink[i].rl_to); /* T2 */
		CRASH_POINT();
	}
	if (n > 0)
		plumb_resolve(head_above(g->g_relink[0].rl_at)); /* T3 */
	CRASH_POINT();
	(void)xchg(&g->g_relinks, 0u); /* T4 */
}

/* T1..T4: the n links are made. */
static void
change(struct group *g, const struct relink *links, uint32_t n)
{
	ASSERT(n > 0 && n <= RELINKS && ld_rlx(&g->g_relinks) == 0);
	for (uint32_t i = 0; i < n; i++) {
		ASSERT(links[i].rl_at != NULL && !(links[i].rl_at->q_kind & QK_DEADEND));
		g->g_relink[i] = links[i];
	}
	(void)xchg(&g->g_relinks, n); /* T1 */
	CRASH_POINT();
	relink(g);
	CRASH_POINT();
}

/* ---- readers -------------------------------------------------------------------- */

/*
 * g's writer was killed between P4 and P6: its group is given free, and what it had
 * begun is done first: a change of links, or, by who takes over the group that grows, a
 * merging.
 */
static void
succeed(struct slot *me, struct group *g, uint32_t dead)
{
	struct group *into = ld_acq(&g->g_parent);

	ASSERT(dead != 0 && dead != GROUP_MERGED && dead != me->sl_key);
	/* Not before he is seen to hold it still: he may just have left and ended. */
	if (into != NULL && ld_acq(&into->g_absorbs) == g) {
		g = into;
		dead = ld_seq(&g->g_plumber); /* or who took it over from him, and died too */
		if (dead == 0 || !slot_gone(dead))
			return;
	}
	if (!cas(&g->g_plumber, &dead, me->sl_key))
		return;
	CRASH_POINT();
	group_suspect(g, ld_seq(&g->g_relinks) != 0);
	relink(g);
	st_rel(&g->g_parent, NULL); /* M2 half done is not done */
	CRASH_POINT();
	group_finish(me, g);
	(void)xchg(&g->g_plumber, 0u);
}

NOINLINE void
plumb_wait(struct slot *me, struct group *g)
{
	unsigned int step = 0;

	ASSERT(ld_rlx(&me->sl_home) == NULL && ld_rlx(&me->sl_visiting) == NULL);
	NO_LOCK_HELD();
	for (;;) {
		uint32_t owner = ld_seq(&g->g_plumber);

		if (owner == 0 || owner == GROUP_MERGED)
			return;
		if (plat_backoff(&step) && slot_gone(owner))
			succeed(me, g, owner);
	}
}

NOINLINE void
plumb_into(struct slot *me, struct group *g)
{
	while (!plumb_enter(me, g = group_root(g)))
		plumb_wait(me, g);
}

/* plumb_into for who need not; false: a stopped thread holds g. */
static bool
enter_unless_stopped(struct slot *me, struct group *g)
{
	unsigned int step = 0;
	int64_t since = 0;

	while (!plumb_enter(me, g = group_root(g))) {
		uint32_t owner = ld_seq(&g->g_plumber);
		const struct slot *s = slot_of(owner);

		if (owner == 0 || owner == GROUP_MERGED || !plat_backoff(&step))
			continue;
		if (slot_gone(owner))
			plumb_wait(me, g); /* who sees to it */
		else if (s != NULL && slot_stopped(s, &since))
			return false;
	}
	return true;
}

bool
plumb_survey(struct slot *me, void (*look)(queue_t *hrq, void *arg), void *arg)
{
	bool all = true;

	NO_LOCK_HELD();
	for (struct group *g = ld_acq(&plumb_root->pl_all); g != NULL; g = g->g_all) {
		if (ld_acq(&g->g_heads) == NULL)
			continue;
		if (!enter_unless_stopped(me, g)) {
			all = false;
			continue;
		}
		lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
		for (queue_t *q = ld_rlx(&me->sl_home)->g_heads; q != NULL; q = q->q_gnext)
			look(q, arg);
		lock_leave(me, &plumb_root->pl_lock);
		plumb_looked(me);
	}
	return all;
}

NOINLINE bool
plumb_run(struct slot *me, struct group *g)
{
	bool ran = false;
	queue_t *q;

	ASSERT(g == ld_rlx(&me->sl_home) || g == ld_rlx(&me->sl_visiting));
	/* A writer that waits comes first; it serves the rest when it leaves. */
	while (ld_rlx(&g->g_plumber) == 0 && (q = runq_next(me, &g->g_run)) != NULL) {
		perim_service(me, q);
		ran = true;
	}
	return ran;
}

/*
 * What is left again and again (D9) is fed by others: they are given ever more time in
 * which to take it over.  On one CPU they would not come to it while this thread runs.
 */
NOINLINE void
plumb_later(struct slot *me)
{
	unsigned int step = 0;
	struct perim *p;

	ASSERT(ld_rlx(&me->sl_home) == NULL && ld_rlx(&me->sl_visiting) == NULL);
	for (; (p = me->sl_later) != NULL; (void)plat_backoff(&step)) {
		me->sl_later = p->pe_next;
		ASSERT(ld_rlx(&p->pe_later) == me->sl_key);
		(void)xchg(&p->pe_later, 0u);
		perim_kick(me, p);
	}
	f_and(&me->sl_after, ~(uint32_t)AFTER_PERIMS);
}

int
plumb_visit(struct slot *me, struct group *g)
{
	struct group *second = ld_rlx(&me->sl_visiting);

	ASSERT(g != NULL && me == slot_tls);
	g = group_root(g);
	if (g == ld_rlx(&me->sl_home) || g == second)
		return VISIT_INSIDE;
	if (second != NULL)
		return VISIT_REFUSED;
	(void)xchg(&me->sl_visiting, g);
	JITTER();
	if (ld_seq(&g->g_plumber) == 0)
		return VISIT_ENTERED;
	st_rel(&me->sl_visiting, NULL);
	return VISIT_REFUSED;
}

void
plumb_unvisit(struct slot *me, int token)
{
	struct group *g = ld_rlx(&me->sl_visiting);

	if (token != VISIT_ENTERED)
		return;
	ASSERT(g != NULL);
	if (runq_pending(&g->g_run))
		(void)plumb_run(me, g);
	st_rel(&me->sl_visiting, NULL);
}

/* ---- writers ------------------------------------------------------------------------ */

/* P5 for one slot; false: its thread is stopped. */
static bool
await(struct slot *s, struct group *g)
{
	unsigned int step = 0;
	int64_t since = 0;

	ASSERT(s != slot_tls);
	while (ld_seq(&s->sl_home) == g || ld_seq(&s->sl_visiting) == g) {
		if (!plat_backoff(&step))
			continue;
		if (slot_dead(s))
			return true;
		if (slot_stopped(s, &since))
			return false;
	}
	return true;
}

/* P5 for all; false: somebody inside is stopped. */
static bool
await_all(struct slot *me, struct group *g)
{
	uint32_t top = ld_seq(&slot_root->sr_top); /* after P4, as the slots themselves */

	for (uint32_t i = 1; i < top; i++) {
		struct slot *s = slot_at(i);

		if (s != NULL && s != me && !await(s, g))
			return false;
	}
	return true;
}

/* P4 for g or what it has been merged into, which is returned. */
static struct group *
become_writer(struct slot *me, struct group *g)
{
	uint32_t free = 0;

	/* While waiting for another writer, this thread must name no group. */
	ASSERT(ld_rlx(&me->sl_home) == NULL);
	NO_LOCK_HELD();
	while (!cas(&g->g_plumber, &free, me->sl_key)) { /* P4 */
		plumb_wait(me, g);
		g = group_root(g);
		free = 0;
	}
	JITTER();
	return g;
}

bool
plumb_try(struct slot *me)
{
	struct group *g = ld_rlx(&me->sl_home);
	bool alone;

	ASSERT(g != NULL);
	st_rel(&me->sl_home, NULL);
	g = become_writer(me, g);
	(void)xchg(&me->sl_home, g);
	alone = await_all(me, g);
	if (!alone)
		(void)xchg(&g->g_plumber, 0u);
	return alone;
}

void
plumb_lock(struct slot *me)
{
	while (!plumb_try(me))
		plat_nap(1000);
}

void
plumb_unlock(struct slot *me)
{
	struct group *g = ld_rlx(&me->sl_home);

	ASSERT(ld_rlx(&g->g_plumber) == me->sl_key);
	(void)xchg(&g->g_plumber, 0u); /* P6 */
}

struct group *
plumb_also(struct slot *me, struct group *g)
{
	struct group *home = ld_rlx(&me->sl_home);

	ASSERT(home != NULL && ld_rlx(&home->g_plumber) == me->sl_key);
	st_rel(&me->sl_home, NULL);
	g = become_writer(me, group_root(g));
	st_rel(&me->sl_home, home);
	if (await_all(me, g))
		return g;
	plumb_part(g);
	return NULL;
}

void
plumb_part(struct group *g)
{
	ASSERT(ld_rlx(&g->g_plumber) == slot_tls->sl_key); /* group.h, invariant 4 */
	(void)xchg(&g->g_plumber, 0u);
}

int
plumb_quiesce(struct group *g)
{
	struct slot *me = slot_self();
	bool alone;

	if (me == NULL)
		return 0;
	plumb_into(me, g);
	alone = plumb_try(me);
	if (alone)
		plumb_unlock(me);
	plumb_exit(me);
	return alone ? 0 : ETIME;
}

/* ---- relinking, under plumb_lock ------------------------------------------------------ */

/* Where canput looks from first .. last; the dead end looks after itself. */
static void
looks_at(queue_t *first, queue_t *last, bool perim)
{
	for (;; first = first->q_next) {
		ASSERT(first != NULL); /* last lies ahead */
		if (!(first->q_kind & QK_DEADEND)) {
			first->q_nfsrv = last;
			first->q_kind = (first->q_kind & ~(uint32_t)QK_PERIM) |
				(perim ? QK_PERIM : 0);
		}
		if (first == last)
			return;
	}
}

/* Resolve one direction; returns its last queue, the dead end not counted. */
static queue_t *
resolve_way(queue_t *first)
{
	queue_t *last = first;
	bool perim = false;

	for (queue_t *q = first; q != NULL; q = q->q_next) {
		perim |= q->q_perim != NULL;
		if (!(q->q_kind & QK_DEADEND))
			last = q;
		if (!(q->q_kind & QK_SRV) && q->q_next != NULL)
			continue;
		looks_at(first, q, perim);
		first = q->q_next;
		perim = false;
	}
	return last;
}

void
plumb_resolve(queue_t *hrq)
{
	/* The far end's other queue begins the way back. */
	resolve_way(OTHERQ(resolve_way(OTHERQ(hrq))));
}

void
plumb_insert(queue_t *rq)
{
	queue_t *hrq = rq->q_next, *hwq = OTHERQ(hrq), *wq = OTHERQ(rq);
	queue_t *below = hwq->q_next, *feeds = backq(hrq);

	struct relink links[RELINKS] = { { hwq, wq }, { wq, below } };
	uint32_t n = 2;

	ASSERT(hrq->q_kind & QK_HEADR);
	ASSERT(plumb_group(hrq) == plumb_group(rq));
	ASSERT(ld_rlx(&plumb_group(hrq)->g_plumber) == slot_tls->sl_key);
	if (rq->q_kind & QK_DRIVER)
		links[1].rl_to = NULL;
	else if (below == hrq)
		links[1].rl_to = rq; /* A FIFO: the head is its own far end. */
	else if (feeds != NULL)
		links[n++] = (struct relink){ feeds, rq };
	change(plumb_group(hrq), links, n);
}

void
plumb_remove(queue_t *rq)
{
	queue_t *wq = OTHERQ(rq), *above = backq(wq), *feeds = backq(rq);
	struct relink links[RELINKS] = { { above, wq->q_next } };
	uint32_t n = 1;

	ASSERT(above != NULL && above->q_next == wq);
	IMPLY(feeds != NULL, feeds->q_next == rq);
	ASSERT(ld_rlx(&plumb_group(rq)->g_plumber) == slot_tls->sl_key);
	if (rq->q_kind & QK_DRIVER)
		links[0].rl_to = plumb_root->pl_deadend + 1;
	else if (wq->q_next == rq)
		links[0].rl_to = rq->q_next;
	else if (feeds != NULL)
		links[n++] = (struct relink){ feeds, rq->q_next };
	change(plumb_group(rq), links, n);
}

void
plumb_cut(queue_t *hrq)
{
	queue_t *q = OTHERQ(hrq);

	ASSERT(ld_rlx(&plumb_group(hrq)->g_plumber) == slot_tls->sl_key);
	while (q->q_next != NULL && q->q_next->q_stream == q->q_stream)
		q = q->q_next;
	change(plumb_group(hrq), &(struct relink){ q, plumb_root->pl_deadend + 1 }, 1);
}

void
plumb_weld(queue_t *hrq, queue_t *peer)
{
	struct relink links[] = { { OTHERQ(hrq), peer }, { OTHERQ(peer), hrq } };

	ASSERT((hrq->q_kind & peer->q_kind & QK_HEADR) && plumb_group(hrq) == plumb_group(peer));
	change(plumb_group(hrq), links, 2);
}

/* ---- for open and close routines -------------------------------------------------------- */

void
qprocson(queue_t *q)
{
	struct slot *me = slot_self();
	queue_t *rq = RD(q), *hrq = rq->q_next;

	if (me == NULL || (rq->q_flag & QPROCS))
		return;
	plumb_lock(me);
	/* The group may have been merged since the pair was made. */
	st_rel(&rq->q_runq, ld_acq(&hrq->q_runq));
	st_rel(&OTHERQ(rq)->q_runq, ld_acq(&hrq->q_runq));
	st_rlx(&rq->q_flag, rq->q_flag | QPROCS);
	qtrace_join(rq, hrq);
	plumb_insert(rq);
	plumb_unlock(me);
}

/* Pass what was parked on q to the queue after it; a driver's is freed. */
static void
hand_on(queue_t *q, queue_t *next, mblk_t *mp)
{
	while (mp != NULL) {
		mblk_t *rest = mp->b_next;

		mp->b_next = NULL;
		/* Past a module that did not see them they would be nonsense. */
		if (next == NULL || (q->q_kind & QK_DRIVER) || !code_here(q))
			freemsg(mp);
		else
			put(next, mp);
		mp = rest;
	}
}

/* Is q on a run list or its perimeter's, or is something parked on it? */
static bool
listed(const queue_t *q)
{
	return (ld_acq(&q->q_flag) & (QENAB | QHLIST)) || ld_acq(&q->q_pflag) != 0 ||
		ld_acq(&q->q_pfirst) != NULL;
}

/*
 * An open routine that failed before qprocson may have registered callbacks, enabled
 * its queues or put to them: the pair is about to be freed, so nothing may lead to it.
 */
static void
end_early(struct slot *me, queue_t *rq)
{
	queue_t *wq = OTHERQ(rq);

	if (ld_rlx(&rq->q_calls) == NULL && !listed(rq) && !listed(wq))
		return;
	plumb_lock(me);
	callout_forget(rq);
	runq_forget(rq);
	runq_forget(wq);
	hand_on(rq, NULL, perim_forget(rq));
	hand_on(wq, NULL, perim_forget(wq));
	plumb_unlock(me);
}

void
qprocsoff(queue_t *q)
{
	struct slot *me = slot_self();
	queue_t *rq = RD(q), *wq = OTHERQ(rq), *rnext, *wnext, *above, *feeds;
	mblk_t *rmp, *wmp;

	if (me == NULL)
		return;
	if (!(ld_rlx(&rq->q_flag) & QPROCS)) {
		end_early(me, rq);
		return;
	}
	plumb_lock(me);
	above = backq(wq);
	feeds = backq(rq);
	/* First: a pair that is out of its stream is on no list (group.h, invariant 6). */
	runq_forget(rq);
	runq_forget(wq);
	callout_forget(rq);
	rmp = perim_forget(rq);
	wmp = perim_forget(wq);
	plumb_remove(rq);
	st_rlx(&rq->q_flag, rq->q_flag & ~(unsigned int)QPROCS);
	rnext = rq->q_next;
	wnext = wq->q_next;
	/* Before anybody is let in, or his messages would overtake these (D7). */
	hand_on(rq, rnext, rmp);
	hand_on(wq, wnext, wmp);
	qtrace_part(rq);
	plumb_unlock(me);
	/* Who was refused because of this module tries again. */
	if (above != NULL)
		(above->q_kind & QK_SRV) ? runq_enable(above) : flow_backenable(above);
	if (feeds != NULL)
		(feeds->q_kind & QK_SRV) ? runq_enable(feeds) : flow_backenable(feeds);
}
