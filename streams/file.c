/* SPDX-License-Identifier: BSD-2-Clause */
/* file.c: open files: their references, and the close when the last one goes. */
#include "file.h"
#include "head_fifo.h"
#include "head_trace.h"
#include "heap.h"
#include "helper.h"
#include "suspect.h"

#include <fcntl.h>

/* ---- what a thread has in its hands ------------------------------------------------- */

/* F1 (salvage.h): before a reference of f is counted, or dropped. */
INLINE void
hands_on(struct slot *me, int hand, struct file *f)
{
	ASSERT(me == slot_tls && f != NULL);
	st_rlx(&me->sl_filegen[hand], f->f_gen);
	st_rel(&me->sl_file[hand], f);
}

/* It is gone. */
INLINE void
hands_off(struct slot *me, int hand)
{
	st_rel(&me->sl_file[hand], NULL);
}

/*
 * What has one reference less in a moment.  Closing one file may give up others: what
 * lies below it.  Then that one is HAND_OUTER, those around it follow by f_next.
 */
static void
parting(struct slot *me, struct file *f)
{
	struct file *outer = ld_rlx(&me->sl_file[HAND_OLD]);

	if (unlikely(outer != NULL && outer != f)) {
		/* It is not on head_root's list, which f_next would be for. */
		outer->f_next = ld_rlx(&me->sl_file[HAND_OUTER]);
		hands_on(me, HAND_OUTER, outer);
	}
	hands_on(me, HAND_OLD, f);
}

/* It has. */
static void
parted(struct slot *me)
{
	struct file *outer = ld_rlx(&me->sl_file[HAND_OUTER]);

	if (likely(outer == NULL)) {
		hands_off(me, HAND_OLD);
		return;
	}
	hands_on(me, HAND_OLD, outer);
	if (outer->f_next != NULL)
		hands_on(me, HAND_OUTER, outer->f_next);
	else
		hands_off(me, HAND_OUTER);
}

/* An entry leads to the new one now, or who keeps it (F4); it may be gone already. */
INLINE void
hands_settled(struct slot *me)
{
	const struct file *f = ld_rlx(&me->sl_file[HAND_NEW]);

	ASSERT(f != NULL);
	(void)faa(suspect_moved(f), 1u);
	if (f->f_head != NULL)
		htrace_found(me, f->f_head);
	hands_off(me, HAND_NEW);
}

/* ---- from the making to the close ---------------------------------------------------- */

struct file *
file_make(struct stdata *sd, int oflag)
{
	struct file *f = heap_zalloc(sizeof(*f));

	if (f == NULL)
		return NULL;
	f->f_ref = 1;
	f->f_flags = (uint32_t)oflag & (O_ACCMODE | O_NONBLOCK);
	f->f_head = sd;
	f->f_gen = faa(&head_root->hr_filegen, (uint64_t)1) + 1; /* 0: freed (suspect_drop) */
	hands_on(slot_tls, HAND_NEW, f);
	return f;
}

static void
file_free(struct file *f)
{
	suspect_drop(slot_tls, f);
	heap_free(f, sizeof(*f));
}

/*
 * The close of f, as far as it gets: 0, ETIME when a stopped thread is in the way,
 * or EXDEV when another process has the code; f_closing remembers what is done.
 */
static int
file_finish(struct file *f, bool drain)
{
	struct stdata *sd = f->f_head;
	int error = 0;

	ASSERT(ld_rlx(&f->f_ref) == 0);
	ASSERT(sd != NULL && f->f_closing <= FILE_LAST);
	ASSERT(ld_rlx(&slot_tls->sl_home) == NULL); /* it waits for groups */
	st_rel(&f->f_closer, slot_tls->sl_key);
	if (f->f_closing == FILE_OPEN) {
		/* A call that entered before E4 may still look at the file: C2. */
		error = plumb_quiesce(head_group(sd));
		if (error != 0)
			return error;
		if (fifo_counts(f))
			fifo_leave(f);
		(void)head_lastclose(sd, f);
	}
	if (f->f_closing == FILE_LAST)
		error = head_dismantle(sd, (int)ld_rlx(&f->f_flags), drain);
	if (error != 0)
		return error;
	if (f->f_closing == FILE_LAST) {
		/* Before FILE_GONE, after which nobody would do it for the dead. */
		head_delist(slot_tls, sd);
		head_empty(sd);
		st_rel(&f->f_closing, (uint32_t)FILE_GONE);
		head_scrap(sd);
	}
	file_free(f);
	return 0;
}

/* At the end: whatever can be closed comes before what was just tried in vain. */
static void
unclosed_append(struct file *f)
{
	struct file **link = &head_root->hr_unclosed;

	LOCK_HELD(&head_root->hr_lock);
	ASSERT(ld_rlx(&f->f_ref) == 0 && f->f_head != NULL);
	f->f_next = NULL;
	while (*link != NULL)
		link = &(*link)->f_next;
	st_rlx(link, f);
}

static void
unclosed_add(struct file *f)
{
	struct slot *me = slot_self();

	lock_enter(me, &head_root->hr_lock, RANK_HEAD);
	unclosed_append(f);
	lock_leave(me, &head_root->hr_lock);
	helper_start();
}

bool
file_closelater(struct stdata *sd)
{
	struct file *f = file_make(sd, O_NONBLOCK);

	if (f == NULL)
		return false;
	f->f_ref = 0;
	f->f_closing = FILE_LAST;
	unclosed_add(f);
	hands_off(slot_tls, HAND_NEW);
	return true;
}

/* ---- files of the dead ------------------------------------------------------------ */

void
file_claim(struct file *f)
{
	LOCK_HELD(&head_root->hr_lock);
	parting(slot_tls, f);
	if (ld_acq(&f->f_passed) > 0)
		(void)faa(&f->f_ref, 1u); /* a message's is dropped under hr_lock */
	else
		st_rel(&f->f_ref, 0u); /* F5 */
}

/* Its opener is dead: the stream he made for it is no half-made one, which others adopt. */
static struct stdata *
take_opened(struct slot *me, struct file *f)
{
	struct stdata *sd;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	sd = f->f_head;
	if (sd != NULL && ld_acq(&sd->sd_opener) == f) {
		st_rel(&sd->sd_opener, NULL);
		f_and(&sd->sd_state, ~(uint32_t)SD_OPENING);
	}
	lock_leave(me, &registry->rg_lock);
	return sd;
}

void
file_bury(struct file *f)
{
	struct slot *me = slot_tls;
	struct stdata *sd = take_opened(me, f);
	uint32_t closing = ld_acq(&f->f_closing);

	ASSERT(ld_rlx(&me->sl_file[HAND_OLD]) == f && ld_rlx(&f->f_ref) == 0);
	if (closing == FILE_QUIET) {
		faa(&slot_root->sr_leaked, sizeof(*f)); /* sd_leaver may still name it */
	} else if (closing == FILE_GONE || sd == NULL) {
		file_free(f);
	} else {
		if (closing == FILE_LAST)
			f_or(&sd->sd_state, (uint32_t)SD_DAMAGED); /* half taken apart */
		if (file_finish(f, false) != 0)
			unclosed_add(f);
	}
	parted(me);
}

/* ---- unfinished closes ------------------------------------------------------------- */

/* How many there are now. */
static int
unclosed_count(struct slot *me)
{
	int n = 0;

	if (likely(ld_rlx(&head_root->hr_unclosed) == NULL))
		return 0;
	lock_enter(me, &head_root->hr_lock, RANK_HEAD);
	for (const struct file *f = head_root->hr_unclosed; f != NULL; f = f->f_next)
		n++;
	lock_leave(me, &head_root->hr_lock);
	return n;
}

static struct file *
unclosed_next(struct slot *me)
{
	struct file *f;

	if (ld_rlx(&head_root->hr_unclosed) == NULL)
		return NULL;
	lock_enter(me, &head_root->hr_lock, RANK_HEAD);
	f = head_root->hr_unclosed;
	if (f != NULL) {
		parting(me, f);
		st_rlx(&head_root->hr_unclosed, f->f_next);
	}
	lock_leave(me, &head_root->hr_lock);
	return f;
}

void
file_unclosed(void)
{
	struct slot *me = slot_self();
	struct file *f;

	if (me == NULL)
		return;
	/* Each once; what cannot be finished goes to the end. */
	for (int n = unclosed_count(me); n > 0 && (f = unclosed_next(me)) != NULL; n--) {
		if (file_finish(f, false) != 0)
			unclosed_add(f);
		parted(me);
	}
}

/* One reference less; the last one closes.  f is in hand until parted(). */
static void
rele(struct slot *me, struct file *f, bool drain)
{
	ASSERT(ld_rlx(&f->f_ref) > 0);
	NO_LOCK_HELD();
	parting(me, f);
	CRASH_POINT();
	if (fas(&f->f_ref, 1u) == 1 && file_finish(f, drain) != 0)
		unclosed_add(f);
	CRASH_POINT();
}

void
file_rele(struct file *f, bool drain)
{
	struct slot *me = slot_tls;

	rele(me, f, drain);
	parted(me);
}

void
file_putback(struct file *f, bool drain)
{
	struct slot *me = slot_tls;

	rele(me, f, drain);
	if (ld_rlx(&me->sl_file[HAND_NEW]) == f)
		hands_off(me, HAND_NEW);
	parted(me);
}

void
file_giveup(struct file *f)
{
	ASSERT(ld_rlx(&f->f_ref) > 0);
	if (f->f_head != NULL) {
		file_putback(f, false);
		return;
	}
	file_free(f);
	hands_off(slot_tls, HAND_NEW);
}

void
file_ref(struct file *f)
{
	ASSERT(ld_rlx(&f->f_ref) > 0);
	hands_on(slot_tls, HAND_NEW, f);
	(void)faa(&f->f_ref, 1u);
}

/* E5 of fd.h: another thread may just have dropped the last one. */
bool
file_hold(struct slot *me, struct file *f)
{
	uint32_t ref;

	hands_on(me, HAND_NEW, f);
	ref = ld_acq(&f->f_ref);
	while (ref != 0 && !cas(&f->f_ref, &ref, ref + 1))
		;
	CRASH_POINT();
	if (ref == 0)
		hands_off(me, HAND_NEW);
	return ref != 0;
}

void
file_pass(struct file *f)
{
	ASSERT(ld_rlx(&slot_tls->sl_file[HAND_NEW]) == f);
	(void)faa(&f->f_passed, 1u);
}

/* Both counts under hr_lock: who buries looks at them under it. */
void
file_unpass(struct file *f)
{
	struct slot *me = slot_self();
	bool hand = me != NULL && ld_rlx(&me->sl_file[HAND_OLD]) == NULL, last;

	if (me == NULL)
		return;
	if (hand)
		hands_on(me, HAND_OLD, f);
	lock_enter(me, &head_root->hr_lock, RANK_HEAD);
	ASSERT(ld_rlx(&f->f_ref) > 0 && ld_rlx(&f->f_passed) > 0);
	(void)fas(&f->f_passed, 1u);
	last = fas(&f->f_ref, 1u) == 1;
	if (last)
		unclosed_append(f);
	lock_leave(me, &head_root->hr_lock);
	if (hand)
		hands_off(me, HAND_OLD);
	if (!last)
		return;
	helper_start();
	helper_poke();
}

void
file_inhand(struct file *f)
{
	hands_on(slot_tls, HAND_NEW, f);
}

void
file_parting(struct file *f)
{
	parting(slot_tls, f);
	JITTER();
}

void
file_parted(void)
{
	parted(slot_tls);
}

void
file_keep(void)
{
	hands_settled(slot_tls);
}

void
file_thread_ends(struct slot *me)
{
	struct file *f = ld_rlx(&me->sl_file[HAND_NEW]);

	if (f == NULL)
		return;
	head_unopen(f);
	file_giveup(f);
}
