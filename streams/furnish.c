/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * furnish.c: what lies in the arena: made by the first process, judged and
 * joined by the others.
 *
 * A member has a process slot and a thread slot; a joiner that finds all of them
 * taken waits for the living to bury the dead, and where nobody lives buries from
 * the slots kept for that (make_room).
 */
#include "furnish.h"
#include "arena.h"
#include "cache.h"
#include "callout.h"
#include "errand.h"
#include "fd.h"
#include "group.h"
#include "head.h"
#include "head_trace.h"
#include "heap.h"
#include "helper.h"
#include "instfile.h"
#include "judge.h"
#include "link.h"
#include "node.h"
#include "passfp.h"
#include "plat_inst.h"
#include "proc.h"
#include "putnext.h"
#include "salvage.h"
#include "strlog.h"
#include "trace.h"
#include "tune.h"

#include <errno.h>
#include <stdio.h>

#define ROOM_TRIES 10  /* of who joins when all slots are taken */
#define ROOM_NAP 50000 /* us in between */

/* ih_shape: what differs where a structure does. */
#define SHAPE(h, type) (((h) ^ sizeof(type)) * 0x100000001b3u)
#define SHAPES1 SHAPE(SHAPE(SHAPE(SHAPE(0xcbf29ce484222325u, struct slot), struct proc), \
	struct slot_root), struct cache_root)
#define SHAPES2 SHAPE(SHAPE(SHAPE(SHAPE(SHAPES1, queue_t), mblk_t), dblk_t), struct plumb_root)
#define SHAPES3 SHAPE(SHAPE(SHAPE(SHAPE(SHAPES2, struct stdata), struct file), struct fdent), \
	struct registry)
const uint64_t inst_shape = SHAPE(SHAPE(SHAPE(SHAPE(SHAPES3, struct head_root), struct node), \
	struct callout), struct trace);

/* What each process has for itself, and the others never see. */
static void
equip(void)
{
	callout_poke = helper_call;
	put_init();
	htrace_equip();
	msg_init();
	queue_init_classes();
}

/* What lies in the arena; the calling thread gets its slot on the way. */
static int
furnish(void)
{
	struct proc *p;
	int error = proc_furnish();

	if (error != 0 || (error = heap_init()) != 0 || (error = cache_init()) != 0)
		return error;
	p = proc_claim();
	if (p == NULL)
		return ENOMEM;
	if ((error = proc_live(p)) != 0)
		return error;
	equip();
	if ((error = fd_init(p)) != 0 || (error = proc_reserve()) != 0 ||
	    (error = callout_init()) != 0 || (error = errand_init()) != 0 ||
	    (error = plumb_init()) != 0 ||
	    (error = strlog_init()) != 0 || (error = head_init()) != 0 ||
	    (error = htrace_init()) != 0)
		return error;
	head_init_process();
	tune_apply();
	salvage_init();
	passfp_init();
	return registry_init();
}

static bool
slot_sound(uint32_t i)
{
	const struct slot *s = ld_acq(&slot_root->sr_slot[i]);

	return s == NULL || (arena_backed(s, sizeof(*s)) && s->sl_id == i);
}

static bool
proc_sound(uint32_t i)
{
	const struct proc *p = ld_acq(&slot_root->sr_proc[i]);

	return p == NULL || (arena_backed(p, sizeof(*p)) && p->pr_id == i &&
		ld_acq(&p->pr_state) <= PROC_DYING &&
		(p->pr_fd0 == NULL || arena_backed(p->pr_fd0, FD_INLINE * sizeof(struct fdent))) &&
		(p->pr_fd == NULL || arena_backed(p->pr_fd, FD_CHUNKS * sizeof(struct fdent *))));
}

static bool
slots_sound(void)
{
	if (!arena_backed(slot_root, sizeof(*slot_root)) || slot_root->sr_named != 1 ||
	    ld_acq(&slot_root->sr_top) > NSLOT || ld_acq(&slot_root->sr_ptop) > NPROC)
		return false;
	for (uint32_t i = 1; i < NSLOT; i++)
		if (!slot_sound(i) || (i < NPROC && !proc_sound(i)))
			return false;
	return true;
}

/* Does no thread of anybody live?  A thread that there is not is noise. */
static bool
deserted(void)
{
	uint32_t top = ld_acq(&slot_root->sr_top);

	for (uint32_t i = 1; i < top; i++) {
		const struct slot *s = slot_at(i);

		if (s != NULL && ld_acq(&s->sl_state) == SLOT_LIVE && !slot_dead(s) &&
		    plat_procstate(ld_rlx(&s->sl_tid)) != 0)
			return false;
	}
	return true;
}

/* The roots of what is judged; what a process has for itself is not made yet. */
static void
find(void)
{
	slot_root = arena_root(ROOT_SLOT);
	heap_join();
	cache_join();
	callout_join();
	errand_join();
	strlog_join();
	plumb_join();
	htrace_join();
	head_root = arena_root(ROOT_HEAD);
	registry_find();
}

/*
 * Before anything is believed: tables that never shrink, and, if nobody is there to
 * change it, all of it (judge.h).  A member that forks is without its record lock for an
 * instant, so both signs of life count.
 */
static bool
sound(bool alone, char *what, size_t n)
{
	bool ok = true;

	find();
	if (!slots_sound() || !registry_sound()) {
		snprintf(what, n, "its tables do not hold together");
		ok = false;
	} else if (alone && deserted()) {
		ok = judge_arena(what, n);
	}
	slot_root = NULL;
	return ok;
}

/* The others take notice: they are not alone any more. */
static void
ring_all(void)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop);

	for (uint32_t i = 1; i < top; i++) {
		struct proc *p = slot_procat(i);

		if (p != NULL && p != slot_proc() && ld_acq(&p->pr_state) == PROC_LIVE)
			proc_ring(p);
	}
}

/* Out of the slots again, whatever of them was taken; what others see is as after an exit. */
static void
step_out(void)
{
	struct proc *p = slot_proc();

	if (slot_tls != NULL) {
		cache_detach(slot_tls);
		slot_release(slot_tls);
	}
	proc_forget_thread();
	st_rlx(&slot_wipe->w_proc, NULL);
	if (p == NULL)
		return;
	plat_unlockrec(arena_fd(), (off_t)p->pr_id);
	st_rel(&p->pr_state, (uint32_t)PROC_FREE);
	slot_recount();
}

/*
 * A process slot and a thread slot: 0, EAGAIN, ENOMEM.  Who is killed between the two
 * is counted nowhere; so those who are there are told before (reap_expects).
 */
static int
step_in(void)
{
	struct proc *p;
	int error;

	st_rel(&slot_root->sr_coming, plat_now());
	ring_all();
	p = proc_claim();
	error = p == NULL ? EAGAIN : proc_live(p);

	if (error == ESRCH) {
		/* It was taken for dead while it was stopped, and the slot is not its any more. */
		plat_unlockrec(arena_fd(), (off_t)p->pr_id);
		st_rlx(&slot_wipe->w_proc, NULL);
		error = EAGAIN;
	}
	if (error == 0)
		bury_threads(p);
	if (error != 0 || (error = fd_init(p)) != 0 || (error = registry_join()) != 0)
		step_out();
	return error;
}

/* All of it, for who found the shared part. */
static void
equip_all(void)
{
	equip();
	plumb_join();
	htrace_join();
	head_init_process();
}

/* What a thread that died in the last slot was doing: as salvage_thread(), which has a slot. */
static void
suspect_last(void)
{
	struct slot *s = slot_at(NSLOT - 1);

	if (s == NULL)
		return;
	if (ld_acq(&s->sl_home) != NULL)
		group_suspect(s->sl_home, false);
	if (ld_acq(&s->sl_visiting) != NULL)
		group_suspect(s->sl_visiting, false);
	if (ld_acq(&s->sl_state) == SLOT_LIVE)
		cache_detach(s);
}

/*
 * All slots are taken, and nobody else lives: bury from the last ones, which are for
 * this.  Only who holds the gate gets here.
 */
static int
make_room(void)
{
	struct proc *p = proc_make(NPROC - 1);
	int error = p == NULL ? ENOMEM : 0;

	ASSERT(slot_root->sr_named && slot_tls == NULL);
	if (error == 0) {
		suspect_last();
		st_rel(&p->pr_state, (uint32_t)PROC_EMBRYO);
		proc_begin(p);
		error = proc_live_in(p, slot_claim_last);
	}
	if (error == 0 && (error = registry_join()) == 0)
		(void)reap_scan();
	if (p != NULL)
		step_out();
	equip_all(); /* registry_join once more begins anew */
	return error;
}

/*
 * A member of an arena that is there.  A lock may be found whose owner is dead, so
 * all that salvaging looks at comes first.
 */
static int
enlist(bool alone)
{
	int error;

	slot_root = arena_root(ROOT_SLOT);
	heap_join();
	cache_join();
	callout_join();
	errand_join();
	strlog_join();
	equip_all();
	registry_find();
	salvage_init();
	passfp_init();
	error = step_in();
	alone = alone && deserted();
	if (error == EAGAIN && alone && (error = make_room()) == 0)
		error = step_in();
	/* The living bury the dead in a moment. */
	for (int i = 0; error == EAGAIN && !alone && i < ROOM_TRIES; i++) {
		plat_nap(ROOM_NAP);
		error = step_in();
	}
	if (error != 0)
		return error;
	(void)reap_scan();
	ring_all();
	return 0;
}

/* Out again, and the arena. */
static void
take_down(void)
{
	if (slot_root != NULL)
		step_out();
	slot_root = NULL;
	arena_destroy();
}

const struct instance_ops furnish_ops = { furnish, sound, enlist, take_down };
