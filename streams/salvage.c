/* SPDX-License-Identifier: BSD-2-Clause */
/* salvage.c: breaking locks, sweeping groups, files; labels as in salvage.h. */
#include "salvage.h"
#include "arena.h"
#include "cache.h"
#include "callout.h"
#include "heap.h"
#include "msg.h"
#include "suspect.h"

#include <errno.h>
#include <stropts.h>

#define LIST_MOST 1000000 /* messages looked at to count what is given up */

/* ---- condemning ------------------------------------------------------------------ */

static void
wake_all(struct stdata *sd)
{
	wait_wakeall(&sd->sd_rwait);
	wait_wakeall(&sd->sd_wwait);
	wait_wakeall(&sd->sd_iwait);
}

/* Perhaps under a lock: the event is told later. */
static void
condemn_side(struct stdata *sd, uint32_t why)
{
	bool known = ld_seq(&sd->sd_state) & (why | SD_DAMAGED);

	f_or(&sd->sd_state, known ? why : why | SD_UNTOLD);
	wake_all(sd);
}

/* Cleared after it is told: who dies in between is followed by one who tells again. */
static void
tell(struct stdata *sd)
{
	uint32_t state = ld_seq(&sd->sd_state);

	IMPLY(state & SD_UNTOLD, state & (SD_DAMAGED | SD_HUP));
	if (!(state & SD_UNTOLD))
		return;
	if (state & SD_DAMAGED)
		head_event(sd, S_ERROR, EIO);
	else
		head_event(sd, S_HANGUP, 0);
	f_and(&sd->sd_state, ~(uint32_t)SD_UNTOLD);
}

void
salvage_condemn(struct stdata *sd)
{
	struct stdata *mate = ld_acq(&sd->sd_mate);

	if (ld_seq(&sd->sd_state) & SD_DAMAGED)
		return;
	condemn_side(sd, SD_DAMAGED);
	if (mate != NULL)
		condemn_side(mate, SD_HUP);
}

void
salvage_tell(struct stdata *sd)
{
	struct stdata *mate = ld_acq(&sd->sd_mate);

	tell(sd);
	if (mate != NULL)
		tell(mate);
}

/* ---- broken locks ------------------------------------------------------------------ */

/* Bytes of memory of a list; each link is written at once, so it can be walked. */
static size_t
list_bytes(const mblk_t *mp)
{
	size_t sum = 0;

	for (int n = 0; mp != NULL && n < LIST_MOST; mp = mp->b_next, n++)
		for (const mblk_t *b = mp; b != NULL; b = b->b_cont)
			sum += sizeof(*b) + sizeof(*b->b_datap) +
				(size_t)(b->b_datap->db_lim - b->b_datap->db_base);
	return sum;
}

static void
give_up(size_t bytes)
{
	faa(&slot_root->sr_leaked, bytes);
}

/* Under q_lock: the messages and their counts are gone; who waits is woken by G3. */
static void
lose_queue(queue_t *q)
{
	int n = 0;

	LOCK_HELD(&q->q_lock);
	give_up(list_bytes(q->q_first));
	for (mblk_t *mp = q->q_first; mp != NULL && n < LIST_MOST; mp = mp->b_next, n++)
		queue_lost(mp);
	st_rlx(&q->q_first, NULL);
	q->q_last = NULL;
	st_rlx(&q->q_count, (size_t)0);
	st_rlx(&q->q_blocks, (size_t)0);
	queue_clear(q, QFULL | QWANTW);
	for (qband_t *qb = q->q_bandp; qb != NULL; qb = qb->qb_next) {
		qb->qb_first = qb->qb_last = NULL;
		qb->qb_count = qb->qb_blocks = 0;
		qb->qb_flag = 0;
	}
}

/* Under the reader lock. */
static void
lose_read(queue_t *q)
{
	LOCK_HELD(&q->q_rlock);
	give_up(list_bytes(q->q_rfirst));
	st_rlx(&q->q_rfirst, NULL);
	q->q_rlast = NULL;
	st_rel(&q->q_stream->sd_pcproto, 0u);
	q->q_stream->sd_msigs = 0;
}

/* Under q_plock. */
static void
lose_parked(queue_t *q)
{
	LOCK_HELD(&q->q_plock);
	give_up(list_bytes(q->q_pfirst));
	st_rlx(&q->q_pfirst, NULL);
	q->q_plast = NULL;
	(void)xchg(&q->q_pbytes, (size_t)0);
	(void)xchg(&q->q_pblocks, (size_t)0);
}

/* L1..L3 for a lock of queue q; the caller is inside its group. */
static void
lose(queue_t *q, void (*what)(queue_t *))
{
	what(q); /* L1 */
	if (q->q_stream != NULL)
		salvage_condemn(q->q_stream); /* L2 */
	group_suspect(plumb_group(q), false); /* L3 */
}

#define AROUND(word, type, member) ((type *)((char *)(word) - offsetof(type, member)))

static void
broken(uint32_t *word, enum lock_rank rank)
{
	switch (rank) {
	case RANK_READER:
		lose(AROUND(word, queue_t, q_rlock), lose_read);
		break;
	case RANK_QUEUE:
		lose(AROUND(word, queue_t, q_lock), lose_queue);
		break;
	case RANK_PARK:
		lose(AROUND(word, queue_t, q_plock), lose_parked);
		break;
	case RANK_PERIM:
		perim_salvage(AROUND(word, struct perim, pe_lock));
		break;
	case RANK_RUNQ:
		runq_salvage(AROUND(word, struct runq, rq_lock));
		break;
	case RANK_CALLOUT:
		callout_salvage();
		break;
	case RANK_CACHE:
		give_up(cache_salvage(word));
		break;
	case RANK_HEAP:
		give_up(heap_salvage(word));
		break;
	case RANK_GROUP:
		group_salvage();
		break;
	case RANK_PROC:
	case RANK_REGISTRY:
	case RANK_HEAD:
	case RANK_LOG:
	case RANK_TRACE:
	case RANK_EVENT:
		break; /* lists and words whose every state is whole */
	}
}

void
salvage_init(void)
{
	lock_broken_hook = broken;
}

/* ---- suspect groups ------------------------------------------------------------------ */

/* G1: a lock that nobody waited for yet. */
static void
break_lock(struct slot *me, uint32_t *word, enum lock_rank rank)
{
	uint32_t owner = ld_seq(word);

	ASSERT(owner != me->sl_key);
	if (owner != 0 && slot_gone(owner)) {
		lock_enter(me, word, rank);
		lock_leave(me, word);
	}
}

/* G1..G3 for one queue; true: the dead thread was inside its perimeter. */
static bool
mend_queue(struct slot *me, queue_t *q)
{
	bool died;

	ASSERT(ld_rlx(&plumb_group(q)->g_plumber) == me->sl_key);
	break_lock(me, &q->q_rlock, RANK_READER);
	break_lock(me, &q->q_lock, RANK_QUEUE);
	break_lock(me, &q->q_plock, RANK_PARK);
	died = perim_mend(me, q); /* G2 */
	/* One that is parked runs from the perimeter's list, and is in service till then. */
	if ((q->q_kind & QK_SRV) && !(ld_seq(&q->q_pflag) & QP_SRV))
		runq_mend(me, q); /* G3 */
	return died;
}

/* A stream's queues; true: the dead thread was inside a perimeter of them. */
static bool
mend_stream(struct slot *me, struct stdata *sd)
{
	uint32_t plumber = ld_seq(&sd->sd_plumber);
	bool died = false;

	LOCK_HELD(&plumb_root->pl_lock);
	for (queue_t *q = head_wq(sd); q != NULL && q->q_stream == sd; q = q->q_next) {
		died |= mend_queue(me, q);
		died |= mend_queue(me, OTHERQ(q));
	}
	if (plumber != 0 && slot_gone(plumber)) {
		(void)cas(&sd->sd_plumber, &plumber, 0u);
		salvage_condemn(sd);
	}
	return died;
}

/* G1..G4 for all streams of g; those the dead thread called share its perimeters. */
static void
mend_group(struct slot *me, struct group *g, bool relinked)
{
	bool died = false;

	LOCK_HELD(&plumb_root->pl_lock);
	for (queue_t *hrq = g->g_heads; hrq != NULL; hrq = hrq->q_gnext)
		died |= mend_stream(me, hrq->q_stream);
	for (queue_t *hrq = g->g_heads; hrq != NULL; hrq = hrq->q_gnext) {
		struct stdata *sd = hrq->q_stream;

		if (relinked || (died && (ld_seq(&sd->sd_state) & SD_SUSPECT)))
			salvage_condemn(sd);
		f_and(&sd->sd_state, ~(uint32_t)SD_SUSPECT);
	}
	for (queue_t *hrq = g->g_heads; hrq != NULL; hrq = hrq->q_gnext) {
		wake_all(hrq->q_stream); /* G4 */
		tell(hrq->q_stream);
	}
}

/*
 * Sweep the group that *at names, holding it exclusively.  Its streams are visited
 * under pl_lock: one that is being freed leaves the list first, and the last one
 * ends the suspicion.
 */
static bool
sweep(struct slot *me, const uintptr_t *at, struct group *suspect)
{
	struct group *g;
	uintptr_t entry;

	ASSERT(suspect != NULL && ld_rlx(&me->sl_home) == NULL);
	plumb_into(me, suspect);
	if (!plumb_try(me)) {
		plumb_exit(me);
		return false;
	}
	g = ld_rlx(&me->sl_home);
	runq_purge(me, &g->g_run);
	lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
	entry = ld_seq(at);
	if (suspected(entry) == suspect)
		mend_group(me, g, (entry & SUSPECT_LINKS) != 0);
	lock_leave(me, &plumb_root->pl_lock);
	plumb_unlock(me);
	plumb_exit(me);
	return true;
}

void
salvage_sweep(struct slot *me)
{
	for (int i = 0; i < NSUSPECT; i++) {
		uintptr_t *at = &plumb_root->pl_suspect[i], entry;

		if (ld_seq(at) == 0)
			continue;
		entry = f_and(at, ~(uintptr_t)SUSPECT_AGAIN) & ~(uintptr_t)SUSPECT_AGAIN;
		/* A death after that has set the flag again: the entry stays. */
		if (entry != 0 && sweep(me, at, suspected(entry)))
			(void)cas(at, &entry, (uintptr_t)0); /* G5 */
	}
}

/* ---- the dead thread ------------------------------------------------------------------- */

/* The stream it was in a call on: its entry keeps it until the table is closed. */
static void
suspect_stream(const struct slot *s, struct proc *p)
{
	struct fdent *e = s->sl_fd >= 0 ? fd_entry(p, s->sl_fd) : NULL;
	struct file *f = e != NULL ? ld_acq(&e->fe_file) : NULL;

	if (f != NULL)
		f_or(&f->f_head->sd_state, SD_SUSPECT);
}

void
salvage_thread(const struct slot *s, struct proc *p)
{
	struct group *home = ld_acq(&s->sl_home), *visiting = ld_acq(&s->sl_visiting);

	ASSERT(s != slot_tls && slot_gone(ld_acq(&s->sl_key)));
	if (home != NULL || visiting != NULL)
		suspect_stream(s, p);
	if (home != NULL)
		group_suspect(home, false);
	if (visiting != NULL)
		group_suspect(visiting, false);
	for (int i = 0; i < HAND_OUTER; i++)
		if (ld_acq(&s->sl_file[i]) != NULL)
			suspect_add(s->sl_file[i], s->sl_filegen[i]); /* F2 */
	/* The others whose closes it was in: nobody else has them. */
	for (struct file *f = s->sl_file[HAND_OUTER]; f != NULL; f = f->f_next)
		suspect_add(f, f->f_gen);
}

void
salvage_run(void)
{
	struct slot *me = slot_self();

	NO_LOCK_HELD();
	if (me == NULL)
		return;
	salvage_sweep(me);
	suspect_resolve(me); /* F3 */
}
