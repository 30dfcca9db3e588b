/* SPDX-License-Identifier: BSD-2-Clause */
/* sigreg.c: who is registered for a stream's events: I_SETSIG; labels of head_sig.h. */
#include "head_sig.h"
#include "calls.h"
#include "flow.h"
#include "heap.h"
#include "helper.h"
#include "plat_event.h"

#include <limits.h>

#define ALL_EVENTS                                                             \
	(S_INPUT | S_HIPRI | S_OUTPUT | S_MSG | S_ERROR | S_HANGUP | S_RDNORM | \
		S_RDBAND | S_WRBAND | S_BANDURG)

/* ---- whose they are -------------------------------------------------------------------- */

struct proc *
sigreg_owner(const struct sigreg *sr)
{
	struct proc *p = slot_procat(sr->sr_proc);

	return p != NULL && ld_acq(&p->pr_state) == PROC_LIVE && ld_acq(&p->pr_life) == sr->sr_life ?
		p : NULL;
}

static bool
orphan(const struct sigreg *sr)
{
	return sr->sr_kind != SIGREG_GROUP && sigreg_owner(sr) == NULL;
}

/* The process that has this id and takes part, or NULL. */
static struct proc *
proc_of(pid_t pid)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop);

	for (uint32_t i = 1; i < top; i++) {
		struct proc *p = slot_procat(i);

		if (p != NULL && ld_acq(&p->pr_state) == PROC_LIVE && ld_rlx(&p->pr_pid) == pid)
			return p;
	}
	return NULL;
}

int
sigreg_each(pid_t group, void (*fn)(struct proc *, void *), void *arg)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop);
	int n = 0;

	for (uint32_t i = 1; i < top; i++) {
		struct proc *p = slot_procat(i);

		if (p == NULL || ld_acq(&p->pr_state) != PROC_LIVE ||
		    plat_pgid(ld_rlx(&p->pr_pid)) != group)
			continue;
		n++;
		if (fn != NULL)
			fn(p, arg);
	}
	return n;
}

/* ---- the list ----------------------------------------------------------------------------------- */

/* R2, under the lock. */
static void
sum_up(struct stdata *sd)
{
	queue_t *q = sd->sd_rq;
	uint32_t mask = 0;

	LOCK_HELD(&sd->sd_siglock);
	/* Counted anew: who held the lock before may have died half-way. */
	sd->sd_nsigs = 0;
	for (struct sigreg *sr = sd->sd_sigs; sr != NULL; sr = sr->sr_next) {
		mask |= sr->sr_events;
		sd->sd_nsigs++;
	}
	EQUIV(mask == 0, sd->sd_nsigs == 0);
	ASSERT(sd->sd_nsigs <= SIG_MOST); /* invariant 3 */
	(void)xchg(&sd->sd_sigmask, mask);
	if (mask != 0)
		f_or(&sd->sd_rwait.wq_armed, WQ_WATCHED);
	else
		f_and(&sd->sd_rwait.wq_armed, ~(uint32_t)WQ_WATCHED);
	if (mask & S_TAKEN)
		f_or(&q->q_want, WANT_LEVEL);
	else
		f_and(&q->q_want, ~(uint32_t)WANT_LEVEL);
}

/* Take off, under the lock, what goes(sr, arg) says; the list of those. */
static struct sigreg *
take_off(struct stdata *sd, bool (*goes)(const struct sigreg *, const void *), const void *arg)
{
	struct sigreg **link = &sd->sd_sigs, *gone = NULL;

	LOCK_HELD(&sd->sd_siglock);
	while (*link != NULL) {
		struct sigreg *sr = *link;

		if (!goes(sr, arg)) {
			link = &sr->sr_next;
			continue;
		}
		*link = sr->sr_next;
		sr->sr_next = gone;
		gone = sr;
	}
	return gone;
}

static void
free_list(struct sigreg *sr)
{
	NO_LOCK_HELD();
	while (sr != NULL) {
		struct sigreg *next = sr->sr_next;

		heap_free(sr, sizeof(*sr));
		sr = next;
	}
}

static void
remove_all(struct stdata *sd, bool (*goes)(const struct sigreg *, const void *), const void *arg)
{
	struct slot *me = slot_self();
	struct sigreg *gone;

	if (me == NULL)
		return;
	lock_enter(me, &sd->sd_siglock, RANK_EVENT);
	gone = take_off(sd, goes, arg);
	if (gone != NULL)
		sum_up(sd);
	lock_leave(me, &sd->sd_siglock);
	free_list(gone);
}

static bool
is_this(const struct sigreg *sr, const void *arg)
{
	return sr == arg;
}

static bool
is_orphan(const struct sigreg *sr, const void *arg)
{
	(void)arg;
	return orphan(sr);
}

static bool
is_any(const struct sigreg *sr, const void *arg)
{
	(void)sr, (void)arg;
	return true;
}

struct leaver {
	const struct proc *l_proc;
	bool l_gone;
};

static bool
is_leavers(const struct sigreg *sr, const void *arg)
{
	const struct leaver *l = arg;

	return sr->sr_kind != SIGREG_GROUP && sr->sr_proc == l->l_proc->pr_id &&
		sr->sr_life == l->l_proc->pr_life && (sr->sr_kind == SIGREG_PROC || l->l_gone);
}

void
sig_forget(struct stdata *sd, struct proc *p, bool gone)
{
	struct leaver l = { p, gone };

	if (ld_seq(&sd->sd_sigmask) != 0)
		remove_all(sd, is_leavers, &l);
}

void
sig_resume(struct stdata *sd)
{
	struct slot *me = slot_self();

	if (me == NULL || sd->sd_sigs == NULL)
		return;
	lock_enter(me, &sd->sd_siglock, RANK_EVENT);
	sum_up(sd);
	lock_leave(me, &sd->sd_siglock);
}

void
sig_freeall(struct stdata *sd)
{
	if (sd->sd_sigs != NULL)
		remove_all(sd, is_any, NULL);
}

/* R1, R2 under the lock: new goes to the end: 0 or EAGAIN. */
static int
link_last(struct stdata *sd, struct sigreg *new)
{
	struct sigreg **link = &sd->sd_sigs;

	LOCK_HELD(&sd->sd_siglock);
	if (new == NULL || sd->sd_nsigs >= SIG_MOST)
		return EAGAIN;
	while (*link != NULL)
		link = &(*link)->sr_next;
	new->sr_seq = ++sd->sd_sigseq;
	*link = new;
	sum_up(sd);
	return 0;
}

struct sigreg *
sig_follow(struct stdata *sd, uint32_t events)
{
	struct slot *me = slot_self();
	struct sigreg *new = heap_zalloc(sizeof(*new)), *gone;
	int error;

	if (new == NULL)
		return NULL;
	*new = (struct sigreg){ .sr_kind = SIGREG_EVENTFD, .sr_proc = slot_proc()->pr_id,
		.sr_life = slot_proc()->pr_life, .sr_fd = -1, .sr_events = events };
	lock_enter(me, &sd->sd_siglock, RANK_EVENT);
	gone = take_off(sd, is_orphan, NULL);
	error = link_last(sd, new);
	lock_leave(me, &sd->sd_siglock);
	free_list(gone);
	if (error == 0)
		return new;
	heap_free(new, sizeof(*new));
	return NULL;
}

void
sig_unfollow(struct stdata *sd, struct sigreg *sr)
{
	remove_all(sd, is_this, sr);
}

/* ---- I_SETSIG and its relatives -------------------------------------------------------------------- */

/* Under the lock: who's registration, or NULL. */
static struct sigreg *
find(const struct stdata *sd, const struct sigreg *who)
{
	LOCK_HELD(&sd->sd_siglock);
	for (struct sigreg *sr = sd->sd_sigs; sr != NULL; sr = sr->sr_next)
		if (sr->sr_kind == who->sr_kind && sr->sr_proc == who->sr_proc &&
		    sr->sr_life == who->sr_life && sr->sr_pid == who->sr_pid)
			return sr;
	return NULL;
}

/* ss_pid as I_ESETSIG has it, 0 the caller: 0 or ESRCH. */
static int
target(struct call *c, pid_t pid, struct sigreg *who)
{
	struct proc *p = pid == 0 ? c->c_me->sl_pslot : pid > 0 ? proc_of(pid) : NULL;

	if (pid == INT_MIN)
		return ESRCH; /* no group has that number */
	if (pid < 0) {
		*who = (struct sigreg){ .sr_kind = SIGREG_GROUP, .sr_pid = -pid, .sr_fd = -1 };
		st_rlx(&slot_root->sr_groups, 1u); /* a child starts its helper */
		return sigreg_each(-pid, NULL, NULL) > 0 ? 0 : ESRCH;
	}
	if (p == NULL)
		return ESRCH;
	*who = (struct sigreg){ .sr_kind = SIGREG_PROC, .sr_proc = p->pr_id,
		.sr_life = ld_rlx(&p->pr_life), .sr_pid = ld_rlx(&p->pr_pid),
		.sr_fd = p == slot_proc() ? c->c_fd : -1 };
	return 0;
}

/* Under the lock: the mask of who becomes events: 0, EINVAL, EAGAIN. */
static int
change(struct stdata *sd, const struct sigreg *who, uint32_t events, struct sigreg **new,
	struct sigreg **gone)
{
	struct sigreg *old = find(sd, who);

	LOCK_HELD(&sd->sd_siglock);
	IMPLY(*new != NULL, (*new)->sr_events == events && events != 0);
	if (events == 0) {
		*gone = old == NULL ? NULL : take_off(sd, is_this, old);
		sum_up(sd);
		return old != NULL ? 0 : EINVAL;
	}
	if (old == NULL) {
		struct sigreg *sr = *new;
		int error;

		*gone = take_off(sd, is_orphan, NULL);
		error = link_last(sd, sr);
		if (error == 0)
			*new = NULL; /* it is the list's */
		return error;
	}
	old->sr_events = events;
	sum_up(sd);
	return 0;
}

static int
set_events(struct call *c, const struct sigreg *who, uint32_t events)
{
	struct stdata *sd = c->c_head;
	struct sigreg *new = NULL, *gone = NULL;
	int error;

	if ((events & ~(uint32_t)ALL_EVENTS) || ((events & S_BANDURG) && !(events & S_RDBAND)))
		return EINVAL;
	if (events != 0) {
		new = heap_alloc(sizeof(*new));
		if (new != NULL) {
			*new = *who;
			new->sr_events = events;
		}
	}
	lock_enter(c->c_me, &sd->sd_siglock, RANK_EVENT);
	error = change(sd, who, events, &new, &gone);
	lock_leave(c->c_me, &sd->sd_siglock);
	free_list(gone);
	if (new != NULL)
		heap_free(new, sizeof(*new));
	helper_needed(); /* other processes' events come through it */
	return error;
}

static int
get_events(struct call *c, const struct sigreg *who, int *events)
{
	struct sigreg *sr;

	lock_enter(c->c_me, &c->c_head->sd_siglock, RANK_EVENT);
	sr = find(c->c_head, who);
	*events = sr != NULL ? (int)sr->sr_events : 0;
	lock_leave(c->c_me, &c->c_head->sd_siglock);
	return sr != NULL ? 0 : EINVAL;
}

int
head_setsig(struct call *c, void *arg, int *rval)
{
	struct sigreg who;

	(void)rval;
	(void)target(c, 0, &who);
	return set_events(c, &who, (uint32_t)(intptr_t)arg);
}

int
head_getsig(struct call *c, void *arg, int *rval)
{
	struct sigreg who;
	int events, error;

	(void)rval;
	if (!plat_judge(arg, sizeof(int)))
		return EFAULT;
	(void)target(c, 0, &who);
	error = get_events(c, &who, &events);
	return error != 0 ? error : plat_copyout(arg, &events, sizeof(events));
}

int
head_esetsig(struct call *c, void *arg, int *rval)
{
	struct strsigset ss;
	struct sigreg who;
	int error;

	(void)rval;
	if (!plat_judge(arg, sizeof(ss)) || plat_copyin(&ss, arg, sizeof(ss)) != 0)
		return EFAULT;
	error = target(c, ss.ss_pid, &who);
	return error != 0 ? error : set_events(c, &who, (uint32_t)ss.ss_events);
}

int
head_egetsig(struct call *c, void *arg, int *rval)
{
	struct strsigset ss;
	struct sigreg who;
	int error;

	(void)rval;
	if (!plat_judge(arg, sizeof(ss)) || plat_copyin(&ss, arg, sizeof(ss)) != 0)
		return EFAULT;
	error = target(c, ss.ss_pid, &who);
	if (error == 0)
		error = get_events(c, &who, &ss.ss_events);
	if (error == 0)
		ss.ss_pid = who.sr_kind == SIGREG_GROUP ? -who.sr_pid : who.sr_pid;
	return error != 0 ? error : plat_copyout(arg, &ss, sizeof(ss));
}
