/* SPDX-License-Identifier: BSD-2-Clause */
/* head_sig.c: a stream's events, and M_SIG; labels of head_sig.h. */
#include "head_sig.h"
#include "flow.h"
#include "helper.h"
#include "sigdue.h"

#include <signal.h>

#define BATCH 16 /* targets told between two takings of the lock */

/* ---- events ------------------------------------------------------------------------------ */

struct event {
	uint32_t e_events;	/* S_*, of one kind */
	unsigned char e_what;	/* band; of S_ERROR the errno */
	int e_signo;		/* of S_MSG */
};

/* A target, noted under the lock. */
struct hit {
	enum sigreg_kind h_kind;
	struct proc *h_proc;
	uint32_t h_life;
	pid_t h_group;
	struct sigdue h_due;
};

/* What a registration that matches makes of an event. */
static enum sigdue_kind
kind_of(uint32_t mask, const struct event *e)
{
	static const struct {
		uint32_t events;
		enum sigdue_kind kind;
	} table[] = {
		{ S_HIPRI, SIGDUE_PRI }, { S_OUTPUT | S_WRBAND, SIGDUE_OUT },
		{ S_ERROR, SIGDUE_ERR }, { S_HANGUP, SIGDUE_HUP },
	};

	ASSERT(e->e_events != 0);
	if (e->e_events & S_MSG)
		return e->e_signo == SIGPOLL ? SIGDUE_MSG : SIGDUE_OTHER;
	if ((e->e_events & mask & S_RDBAND) && (mask & S_BANDURG))
		return SIGDUE_URG;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (e->e_events & table[i].events)
			return table[i].kind;
	return SIGDUE_IN;
}

static struct hit
hit_of(const struct sigreg *sr, struct proc *owner, const struct event *e)
{
	enum sigdue_kind kind = kind_of(sr->sr_events, e);
	bool error = kind == SIGDUE_ERR;

	return (struct hit){ sr->sr_kind, owner, sr->sr_life, sr->sr_pid,
		{ kind, e->e_signo, error ? 0 : e->e_what, error ? e->e_what : 0, sr->sr_fd } };
}

/* G3: the next targets after number *seq. */
static int
gather(struct slot *me, struct stdata *sd, const struct event *e, uint32_t *seq, struct hit *hits)
{
	int n = 0;

	lock_enter(me, &sd->sd_siglock, RANK_EVENT);
	for (struct sigreg *sr = sd->sd_sigs; sr != NULL && n < BATCH; sr = sr->sr_next) {
		struct proc *owner;

		IMPLY(sr->sr_next != NULL, sr->sr_next->sr_seq > sr->sr_seq);

		if (sr->sr_seq <= *seq)
			continue;
		*seq = sr->sr_seq;
		owner = sigreg_owner(sr); /* asked once: it may die any moment */
		if (!(sr->sr_events & e->e_events) ||
		    (sr->sr_kind != SIGREG_GROUP && owner == NULL))
			continue;
		if (sr->sr_kind == SIGREG_EVENTFD && xchg(&sr->sr_due, 1u) != 0)
			continue; /* it knows */
		hits[n++] = hit_of(sr, owner, e);
	}
	lock_leave(me, &sd->sd_siglock);
	return n;
}

static void
post_member(struct proc *p, void *arg)
{
	sigdue_post(slot_tls, p, ld_rlx(&p->pr_life), arg);
}

/* G4. */
static void
tell(struct slot *me, struct hit *h)
{
	ASSERT_AT(2, slot_tls == me);
	if (h->h_kind == SIGREG_GROUP)
		(void)sigreg_each(h->h_group, post_member, &h->h_due);
	else if (h->h_kind == SIGREG_PROC)
		sigdue_post(me, h->h_proc, h->h_life, &h->h_due);
	else if (h->h_proc != slot_proc())
		proc_ring(h->h_proc);
	else if (sigdue_soon(me))
		f_or(&me->sl_after, (uint32_t)AFTER_EVENTS);
	else
		helper_call();
}

static NOINLINE void
spread(struct stdata *sd, const struct event *e)
{
	struct slot *me = slot_self();
	struct hit hits[BATCH];
	uint32_t seq = 0;
	int n = BATCH;

	while (me != NULL && n == BATCH) {
		n = gather(me, sd, e, &seq, hits);
		for (int i = 0; i < n; i++)
			tell(me, &hits[i]);
	}
}

void
head_event(struct stdata *sd, uint32_t events, unsigned char what)
{
	struct event e = { events, what, 0 };

	if (ld_seq(&sd->sd_sigmask) & events) /* G2 */
		spread(sd, &e);
}

/* ---- room ---------------------------------------------------------------------------------- */

/* Events for the bands where a writer was refused and now would not be. */
static void
tell_writable(struct stdata *sd)
{
	queue_t *next = head_wq(sd)->q_next;

	NO_LOCK_HELD();
	(void)xchg(&sd->sd_refusals, 0u);
	for (int w = 0; w < 256 / 32; w++) {
		uint32_t bits = ld_rlx(&sd->sd_refused[w]) != 0 ? xchg(&sd->sd_refused[w], 0u) : 0;

		for (int b = 0; b < 32 && bits >> b != 0; b++) {
			int band = w * 32 + b;

			if (!(bits >> b & 1))
				continue;
			if (bcanput(next, (unsigned char)band)) {
				head_event(sd, band == 0 ? S_WRNORM : S_WRBAND, (unsigned char)band);
				continue;
			}
			f_or(&sd->sd_refused[w], 1u << b); /* a back-enable is to come */
			(void)xchg(&sd->sd_refusals, 1u);
		}
	}
}

void
head_writable(struct stdata *sd)
{
	wait_wake(&sd->sd_wwait);
	if (ld_seq(&sd->sd_refusals) != 0)
		tell_writable(sd);
}

bool
head_refused(struct stdata *sd, unsigned char band)
{
	uint32_t bit = 1u << band % 32, *word = &sd->sd_refused[band / 32];
	bool first = !(ld_seq(word) & bit) && !(f_or(word, bit) & bit);

	if (first) {
		(void)xchg(&sd->sd_refusals, 1u);
		JITTER();
	}
	if (bcanput(head_wq(sd)->q_next, band)) { /* invariant 5 */
		tell_writable(sd);
		return false;
	}
	if (first)
		head_event(sd, S_REFUSED, band);
	return true;
}

/* ---- M_SIG and M_PCSIG ------------------------------------------------------------------------ */

static void
deliver(struct stdata *sd, const mblk_t *mp)
{
	struct event e = { S_MSG, mp->b_band, *mp->b_rptr };

	if (ld_seq(&sd->sd_sigmask) & S_MSG)
		spread(sd, &e);
}

static bool
names_signal(const mblk_t *mp)
{
	return mp->b_wptr > mp->b_rptr && *mp->b_rptr > 0 && *mp->b_rptr < _NSIG;
}

void
sig_arrive_now(struct stdata *sd, mblk_t *mp)
{
	if (names_signal(mp))
		deliver(sd, mp);
	freemsg(mp);
}

void
sig_arrive(struct stdata *sd, mblk_t *mp)
{
	struct slot *me = slot_self();
	bool held;

	if (me == NULL || !names_signal(mp)) {
		freemsg(mp);
		return;
	}
	hq_lock(me, sd->sd_rq);
	held = hq_hold(me, sd->sd_rq, mp);
	if (held) {
		LOCK_HELD(&sd->sd_rq->q_rlock);
		sd->sd_msigs++;
		f_or(&sd->sd_rq->q_want, (uint32_t)WANT_SIG);
	}
	hq_unlock(me, sd->sd_rq);
	if (!held)
		sig_arrive_now(sd, mp);
}

void
sig_front(struct slot *me, struct stdata *sd)
{
	queue_t *q = sd->sd_rq;
	mblk_t *mp;

	LOCK_HELD(&q->q_rlock);
	while ((mp = hq_first(me, q)) != NULL && msg_type(mp) == M_SIG) {
		hq_drop(me, q, mp);
		sd->sd_msigs -= sd->sd_msigs > 0; /* 0 where a reader died, see salvage.c */
		deliver(sd, mp);
		freemsg(mp);
	}
	if (sd->sd_msigs == 0)
		f_and(&q->q_want, ~(uint32_t)WANT_SIG);
}
