/* SPDX-License-Identifier: BSD-2-Clause */
/* suspect.c: files of which a dead thread may have left a reference behind. */
#include "suspect.h"
#include "head_attach.h"
#include "head_fifo.h"
#include "link.h"
#include "salvage.h"

void
suspect_add(struct file *f, uint64_t gen)
{
	struct slot *me = slot_self();
	struct file *at;

	ASSERT(f != NULL && gen != 0);
	if (me == NULL)
		return;
	lock_enter(me, &head_root->hr_lock, RANK_HEAD);
	for (at = head_root->hr_suspect; at != NULL && at != f; at = at->f_suspect)
		;
	/* Freed since, it has none (suspect_drop), or that of another file. */
	if (at == NULL && f->f_gen == gen) {
		f->f_suspect = head_root->hr_suspect;
		st_rlx(&head_root->hr_suspect, f);
	}
	lock_leave(me, &head_root->hr_lock);
}

void
suspect_drop(struct slot *me, struct file *f)
{
	struct file **link = &head_root->hr_suspect;

	ASSERT(f->f_gen != 0); /* it is freed once */
	/* Always: who buries somebody that had f in his hands may be looking at it. */
	lock_enter(me, &head_root->hr_lock, RANK_HEAD);
	while (*link != NULL && *link != f)
		link = &(*link)->f_suspect;
	if (*link == f)
		st_rlx(link, f->f_suspect);
	f->f_gen = 0;
	lock_leave(me, &head_root->hr_lock);
}

/* ---- F3 ------------------------------------------------------------------------ */

static bool
in_chunk(const struct fdent *e, int n, const struct file *f)
{
	for (int i = 0; i < n; i++)
		if (ld_seq(&e[i].fe_file) == f)
			return true;
	return false;
}

static bool
in_table(const struct proc *p, const struct file *f)
{
	if (p->pr_fd0 == NULL || p->pr_fd == NULL)
		return false;
	if (in_chunk(p->pr_fd0, FD_INLINE, f))
		return true;
	for (int i = 0; i < FD_CHUNKS; i++) {
		const struct fdent *chunk = ld_acq(&p->pr_fd[i]);

		if (chunk != NULL && in_chunk(chunk, FD_CHUNK, f))
			return true;
	}
	return false;
}

/* Will somebody come back to it? */
static bool
unfinished(const struct file *f)
{
	const struct file *at = head_root->hr_unclosed;

	LOCK_HELD(&head_root->hr_lock);
	while (at != NULL && at != f)
		at = at->f_next;
	return at != NULL;
}

static bool
in_hand(const struct slot *s, const struct file *f)
{
	for (int i = 0; i < HANDS; i++)
		if (ld_seq(&s->sl_file[i]) == f)
			return true;
	return false;
}

/*
 * Does any entry, a link, a path, or the hands of a living thread, lead to f?  Entries are
 * looked at before hands: a reference that is dropped goes that way, and one that
 * went the other way meanwhile is counted (F4).
 */
static bool
led_to(const struct file *f)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop), moved = ld_seq(suspect_moved(f));

	LOCK_HELD(&head_root->hr_lock);
	if (link_holds(f) || attach_holds(f) || unfinished(f))
		return true;
	for (uint32_t i = 1; i < top; i++) {
		const struct proc *p = slot_procat(i);

		if (p != NULL && ld_acq(&p->pr_state) != PROC_FREE && in_table(p, f))
			return true;
	}
	top = ld_acq(&slot_root->sr_top);
	for (uint32_t i = 1; i < top; i++) {
		const struct slot *s = slot_at(i);

		if (s != NULL && in_hand(s, f) && ld_acq(&s->sl_state) != SLOT_FREE &&
		    !slot_gone(ld_acq(&s->sl_key)))
			return true;
	}
	return ld_seq(suspect_moved(f)) != moved;
}

/* Somebody alive closes it, or sees to it: he may yet die, and it stays a suspect. */
static bool
in_care(const struct file *f)
{
	uint32_t closer = ld_acq(&f->f_closer);

	return closer != 0 && !slot_gone(closer);
}

/* Off the list, if it is there. */
static void
acquit(struct file *f)
{
	struct file **link = &head_root->hr_suspect;

	LOCK_HELD(&head_root->hr_lock);
	while (*link != NULL && *link != f)
		link = &(*link)->f_suspect;
	if (*link == f)
		st_rlx(link, f->f_suspect);
}

/*
 * A suspect to which nothing leads any more, which stays so; the caller sees to it.  One
 * that is closed but for its memory he has in his hands.
 */
static struct file *
lost_file(struct slot *me)
{
	struct file *f;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY); /* links and paths */
	lock_enter(me, &head_root->hr_lock, RANK_HEAD);
	for (f = head_root->hr_suspect; f != NULL; f = f->f_suspect)
		if (!in_care(f) && !led_to(f))
			break;
	if (f != NULL && ld_acq(&f->f_closing) == FILE_GONE) {
		acquit(f);
		fd_claim(f); /* it may be made suspect anew, for another of the dead */
	} else if (f != NULL) {
		st_rel(&f->f_closer, me->sl_key);
	}
	lock_leave(me, &head_root->hr_lock);
	lock_leave(me, &registry->rg_lock);
	return f;
}

/* It is seen to; or another time. */
static void
seen_to(struct slot *me, struct file *f, bool again)
{
	lock_enter(me, &head_root->hr_lock, RANK_HEAD);
	if (!again)
		acquit(f);
	st_rel(&f->f_closer, 0u);
	lock_leave(me, &head_root->hr_lock);
}

/* It was in an open: the stream that was to be its is taken apart. */
static void
adopt_streams(struct slot *me)
{
	for (uint32_t i = 0; i < NREG; i++)
		if (ld_acq(&registry->rg_ent[i].re_kind) >= REG_DRIVER) /* or an orphan */
			head_adopt(me, &registry->rg_ent[i]);
}

/* ---- giving up ------------------------------------------------------------------ */

/* Inside its group: can that be had for relinking, or is somebody in it stopped? */
static bool
relinkable(struct slot *me)
{
	bool alone = plumb_try(me);

	if (alone)
		plumb_unlock(me);
	return alone;
}

/*
 * sd is left as it is, but for its modules and driver: they are in use no more (U2 of
 * registry.h), and never run for it again.  Their close routines may have been run.
 */
static void
take_out(struct stdata *sd)
{
	queue_t *q, *last = NULL;

	while ((q = head_next(sd, head_wq(sd))) != NULL && q != last) {
		registry_over(registry_of(q));
		qprocsoff(last = q);
	}
}

/* Nobody will close the stream of f: false, when a stopped thread is in the way. */
static bool
give_up(struct slot *me, struct file *f)
{
	struct stdata *sd = f->f_head;
	bool unread = ld_acq(&f->f_closing) == FILE_LAST;

	plumb_into(me, head_group(sd));
	if (!relinkable(me)) {
		plumb_exit(me);
		return false;
	}
	salvage_condemn(sd);
	(void)head_unlinkall(me, sd, false); /* it will not be closed */
	CRASH_POINT();
	head_delist(me, sd); /* who opens the minor gets a new one */
	salvage_abandon(me, sd, unread);
	take_out(sd);
	plumb_exit(me);
	return true;
}

/* What f was is made good: false, when a stopped thread is in the way. */
static bool
resolve(struct slot *me, struct file *f)
{
	uint32_t closing = ld_acq(&f->f_closing);

	if (f->f_head == NULL)
		adopt_streams(me);
	/* If its stream was not waiting for it, though it may still name it; or it never had one: */
	if (closing != FILE_QUIET && f->f_head != NULL && !fifo_counts(f))
		return give_up(me, f);
	if (closing != FILE_QUIET && f->f_head != NULL)
		fifo_leave(f); /* all that the others want to know */
	faa(&slot_root->sr_leaked, sizeof(*f));
	return true;
}

void
suspect_resolve(struct slot *me)
{
	bool done = true;
	struct file *f;

	NO_LOCK_HELD();
	while (done && ld_rlx(&head_root->hr_suspect) != NULL && (f = lost_file(me)) != NULL) {
		if (ld_rlx(&me->sl_file[HAND_OLD]) == f) {
			fd_scrap(f); /* claimed */
			continue;
		}
		done = resolve(me, f);
		seen_to(me, f, !done);
	}
}
