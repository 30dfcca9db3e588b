/* SPDX-License-Identifier: BSD-2-Clause */
/* perim.c: parking and draining; the labels are those of perim.h. */
#include "perim.h"
#include "errand.h"
#include "flow.h"
#include "heap.h"
#include "plumb.h"
#include "putnext.h"

/* ---- invariant 5 ----------------------------------------------------------------- */

struct perim *
perim_make(struct slot *me)
{
	struct perim *p;

	lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
	p = plumb_root->pl_perims;
	if (p != NULL)
		st_rel(&plumb_root->pl_perims, p->pe_free);
	lock_leave(me, &plumb_root->pl_lock);
	ASSERT(p == NULL || p->pe_first == NULL);
	return p != NULL ? p : heap_zalloc(sizeof(*p));
}

void
perim_retire(struct slot *me, struct perim *p)
{
	ASSERT(p->pe_first == NULL);
	(void)f_and(&p->pe_word, ~(uint64_t)PERIM_PENDING);
	lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
	p->pe_free = plumb_root->pl_perims;
	st_rel(&plumb_root->pl_perims, p);
	lock_leave(me, &plumb_root->pl_lock);
}

/* ---- parking ------------------------------------------------------------------- */

/* Put q on p's list, once. */
static void
list(struct slot *me, struct perim *p, queue_t *q, uint32_t why)
{
	if (f_or(&q->q_pflag, QP_LISTED | why) & QP_LISTED)
		return;
	lock_enter(me, &p->pe_lock, RANK_PERIM);
	ASSERT(q->q_perim == p);
	EQUIV(p->pe_first == NULL, p->pe_last == NULL);
	q->q_plink = NULL;
	if (p->pe_first == NULL)
		p->pe_first = q;
	else
		p->pe_last->q_plink = q;
	p->pe_last = q;
	lock_leave(me, &p->pe_lock);
}

/* What is left on a list when nothing of it can be run, here and now. */
struct rest {
	struct group *r_held;  /* a group that a writer holds, or NULL */
	struct group *r_group; /* that of a queue whose code is elsewhere, or NULL */
	uint32_t r_idx;	       /* of which code */
};

/*
 * Take the first queue off p's list whose code is here and whose group can be
 * visited, and visit it: *token is plumb_visit()'s.  Naming the group before the
 * queue is off the list keeps who closes it away.  Otherwise NULL.
 */
static queue_t *
unlist(struct slot *me, struct perim *p, int *token, struct rest *r)
{
	queue_t *q, *prev = NULL;

	ASSERT(perim_owner(ld_rlx(&p->pe_word)) == me->sl_key); /* D5 */
	*r = (struct rest){ NULL, NULL, 0 };
	lock_enter(me, &p->pe_lock, RANK_PERIM);
	for (q = p->pe_first; q != NULL; prev = q, q = q->q_plink) {
		if (unlikely(!code_here(q))) {
			r->r_group = plumb_group(q);
			r->r_idx = q->q_procs;
			continue;
		}
		*token = plumb_visit(me, plumb_group(q));
		if (*token != VISIT_REFUSED)
			break;
		r->r_held = plumb_group(q);
	}
	if (q != NULL) {
		ASSERT(ld_rlx(&q->q_pflag) & QP_LISTED); /* invariant 2 */
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
void
perim_park(struct slot *me, struct perim *p, queue_t *q, mblk_t *mp)
{
	size_t bytes, blocks;

	ASSERT(q->q_perim == p);
	ASSERT_AT(3, msg_valid(mp));
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
	ASSERT(q->q_kind & QK_SRV);
	NO_LOCK_HELD();
	put_procs[ld_rlx(&q->q_qidx)].pc_srv(q);
	runq_done(me, q);
}

/*
 * Everything parked on q, in order, then its service procedure if asked for;
 * not more than *share, and the rest is listed again (D9).
 */
static void
run_queue(struct slot *me, queue_t *q, unsigned int *share)
{
	uint32_t why = f_and(&q->q_pflag, ~(uint32_t)(QP_LISTED | QP_SRV)) & QP_SRV;
	size_t bytes, blocks;
	mblk_t *mp;

	ASSERT(perim_owner(ld_rlx(&q->q_perim->pe_word)) == me->sl_key);
	ASSERT(*share > 0 && code_here(q));
	NO_LOCK_HELD();
	for (--*share; *share > 0 && (mp = unpark(me, q)) != NULL; --*share) {
		bool pri = msg_ispri(mp);

		msg_weigh(mp, &bytes, &blocks);
		put_procs[ld_rlx(&q->q_qidx)].pc_put(q, mp);
		if (!pri) {
			fas(&q->q_pbytes, bytes);
			fas(&q->q_pblocks, blocks);
			flow_unparked(q);
		}
	}
	if (*share == 0)
		list(me, q->q_perim, q, why);
	else if (why != 0)
		serve(me, q);
}

/* Remember p for when this thread is outside all groups. */
static void
postpone(struct slot *me, struct perim *p)
{
	uint32_t who = ld_seq(&p->pe_later);

	/* One thread alive that comes back is enough. */
	if ((who != 0 && !slot_gone(who)) || !cas(&p->pe_later, &who, me->sl_key))
		return;
	p->pe_next = me->sl_later;
	me->sl_later = p;
	f_or(&me->sl_after, (uint32_t)AFTER_PERIMS);
}

/*
 * D5: run the list.  A queue of a group that a writer holds stays on it: it is
 * waited for only when this thread names no group.  False if some are left.
 */
static bool
drain(struct slot *me, struct perim *p, unsigned int *share, struct rest *r)
{
	ASSERT(perim_owner(ld_rlx(&p->pe_word)) == me->sl_key);
	while (*share > 0) {
		int token = VISIT_REFUSED;
		queue_t *q = unlist(me, p, &token, r);

		if (q != NULL) {
			run_queue(me, q, share);
			plumb_unvisit(me, token);
		} else if (r->r_held == NULL) {
			return r->r_group == NULL;
		} else if (ld_rlx(&me->sl_home) != NULL || ld_rlx(&me->sl_visiting) != NULL) {
			return false; /* D6 */
		} else {
			plumb_wait(me, r->r_held);
		}
	}
	return false; /* D9 */
}

/*
 * D4: to the wanter with what is pending; else free, pending if told so.  False:
 * there is no wanter, and something is pending already.
 */
static bool
release(struct perim *p, uint64_t pending)
{
	uint64_t next, word = ld_seq(&p->pe_word);

	do {
		uint32_t wanter = perim_wanter(word);

		if (wanter != 0 && !slot_gone(wanter))
			next = wanter | pending | (word & PERIM_PENDING);
		else if ((word & PERIM_PENDING) != 0 && pending == 0)
			return false;
		else
			next = pending;
	} while (!cas(&p->pe_word, &word, next));
	return true;
}

static NOINLINE void
leave_slow(struct slot *me, struct perim *p)
{
	unsigned int share = PERIM_SHARE;
	struct rest r = { NULL, NULL, 0 };

	NO_LOCK_HELD();
	while (!release(p, 0)) {
		(void)f_and(&p->pe_word, ~(uint64_t)PERIM_PENDING);
		if (drain(me, p, &share, &r))
			continue;
		/* Leave it free and pending; come back from outside, or have others come. */
		(void)release(p, PERIM_PENDING); /* D6, D9, N2 */
		if (share == 0 || r.r_held != NULL)
			postpone(me, p);
		if (r.r_group != NULL)
			errand_leave(r.r_group, r.r_idx); /* N3 */
		return;
	}
}

void
perim_leave(struct slot *me, struct perim *p)
{
	uint64_t mine = me->sl_key;

	ASSERT(perim_owner(ld_rlx(&p->pe_word)) == me->sl_key);
	JITTER();
	if (unlikely(!cas(&p->pe_word, &mine, (uint64_t)0))) /* D4 */
		leave_slow(me, p);
}

/* Free, with or without something pending, or left by a thread that died in it. */
static bool
vacant(uint64_t word)
{
	IMPLY(perim_owner(word) == 0, perim_wanter(word) == 0);
	return perim_owner(word) == 0 || slot_gone(perim_owner(word));
}

/* Of a dead owner's word the wanter stays, unless it is the taker itself. */
static bool
take(struct slot *me, struct perim *p)
{
	uint64_t word = ld_seq(&p->pe_word);

	ASSERT(me == slot_tls);
	while (vacant(word)) {
		uint64_t next = me->sl_key | (word & PERIM_PENDING);

		if (perim_wanter(word) != me->sl_key)
			next |= (uint64_t)perim_wanter(word) << 32;
		if (cas(&p->pe_word, &word, next))
			return true;
	}
	return false;
}

/* D2, D3. */
void
perim_announce(struct slot *me, struct perim *p)
{
	JITTER();
	if (vacant(f_or(&p->pe_word, (uint64_t)PERIM_PENDING)) && take(me, p))
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
	uint64_t free = 0;

	if (unlikely(me == NULL))
		return;
	if (unlikely(!cas(&p->pe_word, &free, (uint64_t)me->sl_key))) {
		perim_park(me, p, q, mp);
		perim_announce(me, p);
		return;
	}
	if (likely(ld_rlx(&q->q_pfirst) == NULL && code_here(q)))
		put_procs[ld_rlx(&q->q_qidx)].pc_put(q, mp);
	else {
		perim_park(me, p, q, mp); /* behind those already there, or N1 */
		(void)f_or(&p->pe_word, (uint64_t)PERIM_PENDING);
	}
	perim_leave(me, p);
}

void
perim_service(struct slot *me, queue_t *q)
{
	struct perim *p = q->q_perim;
	uint64_t free = 0;

	if (likely(p == NULL)) {
		serve(me, q);
		return;
	}
	if (ld_rlx(&q->q_pfirst) == NULL && code_here(q) &&
	    cas(&p->pe_word, &free, (uint64_t)me->sl_key)) {
		serve(me, q);
		perim_leave(me, p);
		return;
	}
	list(me, p, q, QP_SRV); /* behind what is parked */
	perim_announce(me, p);
}

/* D8: be the one who is given p next, if nobody alive is already. */
static void
ask(struct slot *me, struct perim *p)
{
	uint64_t word = ld_seq(&p->pe_word);

	while (!vacant(word) && perim_owner(word) != me->sl_key) {
		uint32_t wanter = perim_wanter(word);

		if (wanter != 0 && !slot_gone(wanter))
			return;
		if (cas(&p->pe_word, &word, (uint64_t)me->sl_key << 32 | (uint32_t)word))
			return;
	}
}

/* Do not want p any more; false: it was given by now. */
static bool
withdraw(struct slot *me, struct perim *p)
{
	uint64_t word = ld_seq(&p->pe_word);

	while (perim_wanter(word) == me->sl_key)
		if (cas(&p->pe_word, &word, (uint64_t)(uint32_t)word))
			return true;
	return perim_owner(word) != me->sl_key;
}

/* Outside all groups: until p is this thread's; false: its holder is stopped. */
static bool
await(struct slot *me, struct perim *p)
{
	int64_t since = 0;

	ASSERT(ld_rlx(&me->sl_home) == NULL && ld_rlx(&me->sl_visiting) == NULL);
	for (unsigned int tries = 1;; tries++) {
		struct slot *s = slot_of(perim_owner(ld_seq(&p->pe_word)));

		if (s == me || take(me, p))
			return true;
		ask(me, p);
		JITTER();
		plat_yield();
		if (tries % 64 == 0 && s != NULL && slot_stopped(s, &since))
			return !withdraw(me, p);
	}
}

bool
perim_try(struct slot *me, struct perim *p)
{
	return take(me, p);
}

bool
perim_enter(struct slot *me, struct perim *p)
{
	struct group *home = ld_rlx(&me->sl_home);
	bool taken = take(me, p);

	NO_LOCK_HELD();
	ASSERT(perim_owner(ld_rlx(&p->pe_word)) != me->sl_key || taken);
	if (taken)
		return true;
	st_rel(&me->sl_home, NULL);
	taken = await(me, p);
	if (home != NULL)
		plumb_into(me, home);
	IMPLY(taken, perim_owner(ld_rlx(&p->pe_word)) == me->sl_key);
	return taken;
}

/* ---- after a death ------------------------------------------------------------------ */

void
perim_salvage(struct perim *p)
{
	LOCK_HELD(&p->pe_lock);
	p->pe_last = NULL;
	for (queue_t *q = p->pe_first; q != NULL; q = q->q_plink)
		p->pe_last = q;
}

/* A dead owner's perimeter to its wanter, or free; always pending. */
static bool
evict(struct perim *p)
{
	uint64_t word = ld_seq(&p->pe_word);

	while (perim_owner(word) != 0 && slot_gone(perim_owner(word))) {
		uint32_t wanter = perim_wanter(word);

		if (wanter != 0 && slot_gone(wanter))
			wanter = 0;
		if (cas(&p->pe_word, &word, (uint64_t)(wanter | PERIM_PENDING)))
			return true;
	}
	return false;
}

static bool
listed(struct slot *me, struct perim *p, const queue_t *q)
{
	const queue_t *at;

	lock_enter(me, &p->pe_lock, RANK_PERIM);
	for (at = p->pe_first; at != NULL && at != q; at = at->q_plink)
		;
	lock_leave(me, &p->pe_lock);
	return at != NULL;
}

bool
perim_mend(struct slot *me, queue_t *q)
{
	struct perim *p = q->q_perim;
	bool died;

	ASSERT(ld_rlx(&plumb_group(q)->g_plumber) == me->sl_key);
	if (p == NULL)
		return false;
	died = evict(p);
	if (ld_seq(&q->q_pfirst) != NULL || (ld_seq(&q->q_pflag) & (QP_LISTED | QP_SRV))) {
		if (!listed(me, p, q)) {
			(void)f_and(&q->q_pflag, ~(uint32_t)QP_LISTED);
			list(me, p, q, 0);
		}
		(void)f_or(&p->pe_word, (uint64_t)PERIM_PENDING);
	}
	postpone(me, p);
	return died;
}

mblk_t *
perim_forget(queue_t *q)
{
	struct slot *me = slot_self();
	struct perim *p = q->q_perim;
	queue_t **link, *prev = NULL;
	mblk_t *mp;

	ASSERT(me == NULL || ld_rlx(&plumb_group(q)->g_plumber) == me->sl_key);
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
	EQUIV(p->pe_first == NULL, p->pe_last == NULL);
	lock_leave(me, &p->pe_lock);
	f_and(&q->q_pflag, ~(uint32_t)(QP_LISTED | QP_SRV));
	mp = q->q_pfirst;
	st_rlx(&q->q_pfirst, NULL);
	q->q_plast = NULL;
	(void)xchg(&q->q_pbytes, (size_t)0);
	(void)xchg(&q->q_pblocks, (size_t)0);
	return mp;
}
