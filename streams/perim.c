/* SPDX-License-Identifier: BSD-2-Clause */
/* perim.c: parking and draining; the labels are those of perim.h. */
#include "perim.h"
#include "flow.h"
#include "plumb.h"
#include "putnext.h"

/* ---- parking ------------------------------------------------------------------- */

/* Put q on p's list, once. */
static void
list(struct slot *me, struct perim *p, queue_t *q, uint32_t why)
{
	if (f_or(&q->q_pflag, QP_LISTED | why) & QP_LISTED)
		return;
	lock_enter(me, &p->pe_lock, RANK_PERIM);
	q->q_plink = NULL;
	if (p->pe_first == NULL)
		p->pe_first = q;
	else
		p->pe_last->q_plink = q;
	p->pe_last = q;
	lock_leave(me, &p->pe_lock);
}

/*
 * Take the first queue off p's list whose group can be visited, and visit it:
 * *token is plumb_visit()'s.  Naming the group before the queue is off the
 * list keeps who closes it away.  Otherwise NULL, and *held is a group that a
 * writer holds, or NULL if the list is empty.
 */
static queue_t *
unlist(struct slot *me, struct perim *p, int *token, struct group **held)
{
	queue_t *q, *prev = NULL;

	*held = NULL;
	lock_enter(me, &p->pe_lock, RANK_PERIM);
	for (q = p->pe_first; q != NULL; prev = q, q = q->q_plink) {
		*token = plumb_visit(me, plumb_group(q));
		if (*token != VISIT_REFUSED)
			break;
		*held = plumb_group(q);
	}
	if (q != NULL) {
		if (prev == NULL)
			p->pe_first = q->q_plink;
		else
			prev->q_plink = q->q_plink;
		if (p->pe_last == q)
			p->pe_last = prev;
	}
	lock_leave(me, &p->pe_lock);
	return q;
}

/* D1. */
static void
park(struct slot *me, struct perim *p, queue_t *q, mblk_t *mp)
{
	size_t bytes, blocks;

	msg_weigh(mp, &bytes, &blocks);
	lock_enter(me, &q->q_plock, RANK_PARK);
	mp->b_next = NULL;
	if (q->q_pfirst == NULL)
		st_rlx(&q->q_pfirst, mp);
	else
		q->q_plast->b_next = mp;
	q->q_plast = mp;
	if (!msg_ispri(mp)) {
		faa(&q->q_pbytes, bytes);
		faa(&q->q_pblocks, blocks);
	}
	lock_leave(me, &q->q_plock);
	list(me, p, q, 0);
}

/* The first parked message, still counted: uncount() once it was delivered. */
static mblk_t *
unpark(struct slot *me, queue_t *q)
{
	mblk_t *mp;

	lock_enter(me, &q->q_plock, RANK_PARK);
	mp = q->q_pfirst;
	if (mp != NULL) {
		st_rlx(&q->q_pfirst, mp->b_next);
		mp->b_next = NULL;
	}
	lock_leave(me, &q->q_plock);
	return mp;
}

/* ---- draining -------------------------------------------------------------------- */

static void
serve(struct slot *me, queue_t *q)
{
	put_procs[q->q_qidx].pc_srv(q);
	runq_done(me, q);
}

/* Everything parked on q, in order, then its service procedure if asked for. */
static void
run_queue(struct slot *me, queue_t *q)
{
	uint32_t why = f_and(&q->q_pflag, ~(uint32_t)(QP_LISTED | QP_SRV));
	size_t bytes, blocks;
	mblk_t *mp;

	ASSERT(ld_rlx(&q->q_perim->pe_word) != 0);
	while ((mp = unpark(me, q)) != NULL) {
		bool pri = msg_ispri(mp);

		msg_weigh(mp, &bytes, &blocks);
		put_procs[q->q_qidx].pc_put(q, mp);
		if (!pri) {
			fas(&q->q_pbytes, bytes);
			fas(&q->q_pblocks, blocks);
			flow_unparked(q);
		}
	}
	if (why & QP_SRV)
		serve(me, q);
}

/* Remember p for when this thread is outside all groups. */
static void
postpone(struct slot *me, struct perim *p)
{
	if (xchg(&p->pe_later, 1u) != 0)
		return;
	p->pe_next = me->sl_later;
	me->sl_later = p;
}

/*
 * D5: run the list.  A queue of a group that a writer holds stays on it: it is
 * waited for only when this thread names no group.  False if some are left.
 */
static bool
drain(struct slot *me, struct perim *p)
{
	for (;;) {
		struct group *held;
		int token;
		queue_t *q = unlist(me, p, &token, &held);

		if (q != NULL) {
			struct group *g = plumb_group(q);

			run_queue(me, q);
			plumb_unvisit(me, g, token);
		} else if (held == NULL) {
			return true;
		} else if (ld_rlx(&me->sl_home) != NULL || ld_rlx(&me->sl_visiting) != NULL) {
			return false; /* D6 */
		} else {
			plumb_wait(me, held);
		}
	}
}

void
perim_leave(struct slot *me, struct perim *p)
{
	ASSERT((ld_rlx(&p->pe_word) & ~PERIM_PENDING) == me->sl_key);
	for (;;) {
		uint32_t mine = me->sl_key;

		JITTER();
		if (likely(cas(&p->pe_word, &mine, 0u))) /* D4 */
			return;
		f_and(&p->pe_word, ~PERIM_PENDING);
		if (drain(me, p))
			continue;
		/* Leave it free and pending; come back from outside. */
		(void)xchg(&p->pe_word, PERIM_PENDING); /* D6 */
		postpone(me, p);
		return;
	}
}

/* Free, with or without something pending, or left by a thread that died in it. */
static bool
vacant(uint32_t word)
{
	word &= ~PERIM_PENDING;
	return word == 0 || slot_gone(word);
}

static bool
take(struct slot *me, struct perim *p)
{
	uint32_t word = ld_seq(&p->pe_word);

	while (vacant(word))
		if (cas(&p->pe_word, &word, me->sl_key | (word & PERIM_PENDING)))
			return true;
	return false;
}

/* D2, D3. */
static void
announce(struct slot *me, struct perim *p)
{
	JITTER();
	if (vacant(f_or(&p->pe_word, PERIM_PENDING)) && take(me, p))
		perim_leave(me, p);
}

void
perim_kick(struct slot *me, struct perim *p)
{
	if (ld_seq(&p->pe_word) == PERIM_PENDING && take(me, p))
		perim_leave(me, p);
}

/* ---- entering ---------------------------------------------------------------------- */

void
perim_put(struct perim *p, queue_t *q, mblk_t *mp)
{
	struct slot *me = slot_self();
	uint32_t free = 0;

	if (unlikely(me == NULL))
		return;
	if (unlikely(!cas(&p->pe_word, &free, me->sl_key))) {
		park(me, p, q, mp);
		announce(me, p);
		return;
	}
	if (likely(ld_rlx(&q->q_pfirst) == NULL))
		put_procs[q->q_qidx].pc_put(q, mp);
	else {
		park(me, p, q, mp); /* behind those already there */
		f_or(&p->pe_word, PERIM_PENDING);
	}
	perim_leave(me, p);
}

void
perim_service(struct slot *me, queue_t *q)
{
	struct perim *p = q->q_perim;
	uint32_t free = 0;

	if (likely(p == NULL)) {
		serve(me, q);
		return;
	}
	if (ld_rlx(&q->q_pfirst) == NULL && cas(&p->pe_word, &free, me->sl_key)) {
		serve(me, q);
		perim_leave(me, p);
		return;
	}
	list(me, p, q, QP_SRV); /* behind what is parked */
	announce(me, p);
}

bool
perim_enter(struct slot *me, struct perim *p)
{
	struct group *home = ld_rlx(&me->sl_home);
	bool taken = take(me, p), stopped = false;
	int64_t since = 0;

	/* Under traffic it is free for moments only: ask often, never nap. */
	for (unsigned int tries = 1; !taken && !stopped; tries++) {
		struct slot *s = slot_of(ld_seq(&p->pe_word) & ~PERIM_PENDING);

		st_rel(&me->sl_home, NULL);
		plat_yield();
		if (tries % 64 == 0 && s != NULL)
			stopped = slot_stopped(s, &since);
		while (home != NULL && !plumb_enter(me, home))
			plumb_wait(me, home);
		taken = take(me, p);
	}
	return taken;
}

mblk_t *
perim_forget(queue_t *q)
{
	struct slot *me = slot_self();
	struct perim *p = q->q_perim;
	queue_t **link, *prev = NULL;
	mblk_t *mp;

	if (p == NULL || me == NULL)
		return NULL;
	lock_enter(me, &p->pe_lock, RANK_PERIM);
	for (link = &p->pe_first; *link != NULL; prev = *link, link = &(*link)->q_plink) {
		if (*link != q)
			continue;
		*link = q->q_plink;
		if (p->pe_last == q)
			p->pe_last = prev;
		break;
	}
	lock_leave(me, &p->pe_lock);
	f_and(&q->q_pflag, ~(uint32_t)(QP_LISTED | QP_SRV));
	mp = q->q_pfirst;
	st_rlx(&q->q_pfirst, NULL);
	q->q_plast = NULL;
	(void)xchg(&q->q_pbytes, (size_t)0);
	(void)xchg(&q->q_pblocks, (size_t)0);
	return mp;
}
