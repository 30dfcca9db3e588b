/* SPDX-License-Identifier: BSD-2-Clause */
/* suspect.c: files of which a dead thread may have left a reference behind. */
#include "suspect.h"
#include "head_attach.h"
#include "head_fifo.h"
#include "head_trace.h"
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

/* Does an entry of any table lead to f? */
static bool
in_tables(const struct file *f)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop);

	for (uint32_t i = 1; i < top; i++) {
		const struct proc *p = slot_procat(i);

		if (p != NULL && ld_acq(&p->pr_state) != PROC_FREE && in_table(p, f))
			return true;
	}
	return false;
}

/* Does a living thread have it in its hands? */
static bool
in_hands(const struct file *f)
{
	uint32_t top = ld_acq(&slot_root->sr_top);

	for (uint32_t i = 1; i < top; i++) {
		const struct slot *s = slot_at(i);

		if (s != NULL && in_hand(s, f) && ld_acq(&s->sl_state) != SLOT_FREE &&
		    !slot_gone(ld_acq(&s->sl_key)))
			return true;
	}
	return false;
}

/*
 * Does any entry, a link, a path, or the hands of a living thread, lead to f?  Names
 * and links change under the registry lock.  Entries are looked at before hands: a
 * reference that is dropped goes that way, and one that went the other way meanwhile
 * is counted (F4).
 */
static bool
led_to(const struct file *f)
{
	uint32_t moved = ld_seq(suspect_moved(f));

	LOCK_HELD(&registry->rg_lock);
	LOCK_HELD(&head_root->hr_lock);
	return unfinished(f) || link_holds(f) || attach_holds(f) ||
		in_tables(f) || in_hands(f) || ld_seq(suspect_moved(f)) != moved;
}

/*
 * The first suspect to which nothing leads any more, claimed, or NULL.  *passed: but a
 * message has it, or had, if that was lost too; then it stays on the list, told.
 */
static struct file *
lost_file(struct slot *me, bool *passed)
{
	struct file **link, *f;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	lock_enter(me, &head_root->hr_lock, RANK_HEAD);
	for (link = &head_root->hr_suspect; (f = *link) != NULL; link = &f->f_suspect) {
		/* Before entries are looked at: one that is received gets an entry first. */
		*passed = ld_seq(&f->f_passed) > 0;
		if (!(*passed && f->f_told) && !led_to(f))
			break;
	}
	if (f != NULL)
		file_claim(f); /* it may be made suspect anew, for another of the dead */
	if (f != NULL && *passed)
		f->f_told = 1;
	else if (f != NULL)
		st_rlx(link, f->f_suspect);
	lock_leave(me, &head_root->hr_lock);
	lock_leave(me, &registry->rg_lock);
	return f;
}

/* It was in an open: the stream that was to be its is taken apart. */
static void
adopt_streams(struct slot *me)
{
	for (uint32_t i = 0; i < NREG; i++)
		if (ld_acq(&registry->rg_ent[i].re_kind) >= REG_DRIVER) /* or an orphan */
			head_adopt(me, &registry->rg_ent[i]);
}

/* Nobody but a message has f: who receives it gets a condemned stream. */
static void
condemn_passed(struct slot *me, struct file *f)
{
	if (f->f_head != NULL && fifo_counts(f)) {
		fifo_leave(f); /* all that the others want to know */
	} else if (f->f_head != NULL) {
		plumb_into(me, head_group(f->f_head));
		salvage_condemn(f->f_head);
		salvage_tell(f->f_head);
		(void)head_unlinkall(me, f->f_head, false);
		htrace_disown(me, f->f_head->sd_id);
		plumb_exit(me);
	}
	file_rele(f, false);
}

void
suspect_resolve(struct slot *me)
{
	struct file *f;
	bool passed;

	NO_LOCK_HELD();
	while (ld_rlx(&head_root->hr_suspect) != NULL && (f = lost_file(me, &passed)) != NULL) {
		if (passed) {
			condemn_passed(me, f);
			continue;
		}
		if (f->f_head == NULL)
			adopt_streams(me);
		file_bury(f);
	}
}
