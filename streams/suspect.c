/* SPDX-License-Identifier: BSD-2-Clause */
/* suspect.c: files of which a dead thread may have left a reference behind. */
#include "suspect.h"
#include "head_attach.h"
#include "head_fifo.h"
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
 * Does any entry, a link, or the hands of a living thread, lead to f?  Entries are
 * looked at before hands: a reference that is dropped goes that way, and one that
 * went the other way meanwhile is counted (F4).
 */
static bool
led_to(const struct file *f)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop), moved = ld_seq(suspect_moved(f));

	LOCK_HELD(&head_root->hr_lock);
	if (ld_acq(&f->f_kept) > 0 || unfinished(f))
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

/* Nobody knows of f any more, and who was to free it is dead: that stays so. */
static bool
is_scrap(const struct file *f)
{
	uint32_t closer = ld_acq(&f->f_closer);

	return ld_acq(&f->f_closing) == FILE_GONE && (closer == 0 || slot_gone(closer));
}

/* Take the first suspect off the list to which nothing leads any more. */
static struct file *
lost_file(struct slot *me)
{
	struct file **link, *f;

	lock_enter(me, &head_root->hr_lock, RANK_HEAD);
	for (link = &head_root->hr_suspect; (f = *link) != NULL; link = &f->f_suspect)
		if (!led_to(f))
			break;
	if (f != NULL)
		st_rlx(link, f->f_suspect);
	if (f != NULL && is_scrap(f))
		fd_claim(f); /* it may be made suspect anew, for another of the dead */
	lock_leave(me, &head_root->hr_lock);
	return f;
}

/* It was in an open: the stream that was to be its is taken apart. */
static void
adopt_streams(struct slot *me)
{
	for (uint32_t i = 0; i < NREG; i++)
		if (ld_acq(&registry->rg_ent[i].re_kind) == REG_DRIVER)
			head_adopt(me, &registry->rg_ent[i]);
}

void
suspect_resolve(struct slot *me)
{
	struct file *f;

	NO_LOCK_HELD();
	while (ld_rlx(&head_root->hr_suspect) != NULL && (f = lost_file(me)) != NULL) {
		uint32_t closing = ld_acq(&f->f_closing), closer = ld_acq(&f->f_closer);

		if (ld_rlx(&me->sl_file[HAND_OLD]) == f) {
			fd_scrap(f); /* claimed */
			continue;
		}
		if (closer != 0 && !slot_gone(closer))
			continue; /* he goes on with it */
		if (attach_holds(f))
			continue; /* a path leads to it */
		faa(&slot_root->sr_leaked, sizeof(*f));
		if (f->f_head == NULL)
			adopt_streams(me);
		/* Its stream was not waiting for it, though it may still name it; or never had it. */
		if (closing == FILE_QUIET || closing == FILE_GONE || f->f_head == NULL)
			continue;
		if (fifo_counts(f)) {
			fifo_leave(f); /* all that the others want to know */
			continue;
		}
		plumb_into(me, head_group(f->f_head));
		salvage_condemn(f->f_head);
		(void)head_unlinkall(me, f->f_head, false); /* it will not be closed */
		head_delist(me, f->f_head); /* who opens the minor gets a new one */
		salvage_abandon(me, f->f_head, closing == FILE_LAST);
		plumb_exit(me);
	}
}
