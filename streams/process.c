/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.c: bringing the library up, and what fork and exit do to it.
 *
 * Up: the first call of the first process makes the arena and everything in
 * it (furnish), of one that joins an instance finds it (enlist); every thread's
 * first call claims a slot.
 *
 * Fork: before the fork an embryo -- a process slot with a copy of the
 * descriptor table, references counted -- is made; the child claims it at
 * once, with its record lock and a thread slot, and says so through a pipe.
 * The parent waits for that byte: an end of file instead means that there is
 * no child (or it died at once), and the embryo's references are dropped.  While
 * it waits it is held by a lock that the kernel drops with the last of the two,
 * so that others who see its maker dead know whether a child may still come.  A
 * child made behind our back (_Fork, clone) finds its slot page wiped and has
 * no streams.
 *
 * Exit: exit(3) closes in the ordinary way, draining; _exit, a signal and exec
 * leave it to reap.c of another process.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "arena.h"
#include "cache.h"
#include "callout.h"
#include "fd.h"
#include "head_sig.h"
#include "head_trace.h"
#include "heap.h"
#include "helper.h"
#include "instance.h"
#include "link.h"
#include "node.h"
#include "orphan.h"
#include "passfp.h"
#include "plat_inst.h"
#include "putnext.h"
#include "strlog.h"
#include "trace.h"
#include "tune.h"
#include "salvage.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROC_READY 4	/* process slots made beforehand */
#define ROOM_TRIES 10	/* of who joins when all slots are taken */
#define ROOM_NAP 50000	/* us in between */
#define CLAIM_WAIT 10000 /* ms a parent waits for a stopped child */

static pthread_mutex_t up_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;	/* destroyed with the thread */
static bool up;
static bool hooked;	/* key and fork handlers are there */

/* The fork in progress, under up_lock. */
static struct {
	struct proc *embryo;
	int claim[2];
	int hold;	/* while it is open the embryo has a maker or a child */
} forking;

static void before_fork(void);
static void after_fork_parent(void);
static void after_fork_child(void);

/* ---- threads -------------------------------------------------------------------------- */

static void *
carve(size_t size)
{
	return arena_carve(size, LINE);
}

/*
 * Memory for a thread slot: from a reserve made at the beginning, so that a
 * thread that comes when the arena is exhausted can still give memory back.
 */
#define RESERVE 32 /* slots */
static void *
carve_slot(size_t size)
{
	char *p = ld_acq(&slot_root->sr_reserve);

	while (p != NULL && (size_t)(slot_root->sr_reserve_end - p) >= size)
		if (cas(&slot_root->sr_reserve, &p, p + size))
			return p;
	return carve(size);
}

/* A thread that used the library ends. */
static void
thread_ends(void *arg)
{
	struct slot *s = arg;

	if (s != slot_tls || s->sl_pslot != slot_proc() || ld_rlx(&s->sl_home) != NULL)
		return;
	fd_thread_ends(s);
	cache_detach(s);
	slot_tls = NULL;
	slot_release(s);
}

static int
thread_begins_in(struct proc *p,
	int (*claim)(struct proc *, void *(*)(size_t), struct slot **))
{
	struct slot *s;
	int error = claim(p, carve_slot, &s);

	if (error != 0)
		return error;
	s->sl_later = NULL;
	st_rlx(&s->sl_after, 0u);
	s->sl_nsigs = 0;
	s->sl_nheld = 0;
	cache_attach(s);
	slot_tls = s;
	pthread_setspecific(key, s);
	return 0;
}

static int
thread_begins(struct proc *p)
{
	return thread_begins_in(p, slot_claim);
}

/* ---- processes ------------------------------------------------------------------------- */

/* Slot i, made if it never was; NULL without memory. */
static struct proc *
proc_make(uint32_t i)
{
	struct proc *p = slot_procat(i), *none = NULL;

	if (p != NULL)
		return p;
	p = carve(sizeof(*p));
	if (p == NULL)
		return NULL;
	p->pr_id = i;
	return cas(&slot_root->sr_proc[i], &none, p) ? p : none;
}

/* p, which is claimed, begins another life. */
static void
proc_begin(struct proc *p)
{
	for (uint32_t old = ld_rlx(&slot_root->sr_ptop);
	     old <= p->pr_id && !cas(&slot_root->sr_ptop, &old, p->pr_id + 1);)
		;
	if (slot_tls != NULL)
		bury_threads(p); /* of an earlier life */
	for (int d = 0; d < PROC_DUE; d++)
		st_rlx(&p->pr_due[d], 0u);
	for (int d = 0; d < PROC_SIGS; d++)
		st_rlx(&p->pr_sig[d], (uint64_t)0);
	st_rlx(&p->pr_sigover, 0u);
	st_rlx(&p->pr_helper, 0u);
	ASSERT(ld_rlx(&p->pr_fork) == FORK_UNKNOWN);
	st_rel(&p->pr_life, ld_rlx(&p->pr_life) + 1);
}

/*
 * A process slot in state PROC_EMBRYO, or NULL when all are taken.  Who has no
 * thread slot yet buries the threads of its earlier life when he has.
 */
static struct proc *
proc_claim(void)
{
	for (uint32_t i = 1; i < slot_most(NPROC); i++) {
		struct proc *p = proc_make(i);
		uint32_t is_free = PROC_FREE;

		if (p == NULL)
			return NULL;
		if (!cas(&p->pr_state, &is_free, (uint32_t)PROC_EMBRYO))
			continue;
		proc_begin(p);
		return p;
	}
	return NULL;
}

/*
 * A few process slots ready for use, so that a fork finds one even when the
 * arena is exhausted.
 */
static int
proc_reserve(void)
{
	struct proc *p[PROC_READY];
	int error = 0;

	for (int i = 0; error == 0 && i < PROC_READY; i++) {
		p[i] = proc_claim();
		error = p[i] == NULL ? ENOMEM : fd_init(p[i]);
	}
	for (int i = 0; error == 0 && i < PROC_READY; i++)
		st_rel(&p[i]->pr_state, (uint32_t)PROC_FREE);
	return error;
}

/*
 * The calling process becomes p: record lock and thread slot first, so that it
 * is alive by every sign before its state says so.  EAGAIN, ENOMEM; ESRCH: the
 * embryo was given up.
 */
static int
proc_live_in(struct proc *p,
	int (*claim)(struct proc *, void *(*)(size_t), struct slot **))
{
	uint32_t embryo = PROC_EMBRYO;
	int error;

	p->pr_pid = plat_pid();
	st_rlx(&p->pr_arenafd, arena_fd());
	if (arena_fd_ours())
		plat_lockrec(arena_fd(), (off_t)p->pr_id);
	st_rlx(&slot_wipe->w_proc, p);
	error = thread_begins_in(p, claim);
	faa(&slot_root->sr_live, 1u);
	st_rel(&p->pr_fork, (uint32_t)FORK_UNKNOWN);
	st_rel(&p->pr_keeper, 0u); /* nobody sees to it: who finds it dead may (reap.c) */
	if (error == 0 && !cas(&p->pr_state, &embryo, (uint32_t)PROC_LIVE))
		error = ESRCH;
	if (error != 0)
		fas(&slot_root->sr_live, 1u);
	return error;
}

static int
proc_live(struct proc *p)
{
	return proc_live_in(p, slot_claim);
}

/* ---- up ------------------------------------------------------------------------------------ */

/* An arena in which the library cannot even begin. */
static void
refuse_small(const char *s)
{
	tune_refuse(ENOMEM, "USTREAMS_ARENA: %.40s is too little to begin with; "
		"legal: some megabytes and more, such as 64M", s);
}

/* USTREAMS_ARENA: bytes with K, M, G; 0 when not set.  0, EINVAL. */
static int
wanted_size(const char *s, size_t *size)
{
	unsigned long long n;
	int shift = 0;
	char *end;

	*size = 0;
	if (s == NULL)
		return 0;
	if (*s < '0' || *s > '9')
		return EINVAL;
	errno = 0;
	n = strtoull(s, &end, 10);
	if (errno != 0)
		return EINVAL;
	switch (*end) {
	case 'K': case 'k': shift = 10; break;
	case 'M': case 'm': shift = 20; break;
	case 'G': case 'g': shift = 30; break;
	}
	if (shift != 0)
		end++;
	if (*end != '\0' || n > (~0ull >> shift))
		return EINVAL;
	*size = (size_t)n << shift;
	return *size == 0 ? ENOMEM : 0;
}

/* The same, with a sentence for what is refused. */
static int
take_size(const char *s, size_t *size)
{
	int error = wanted_size(s, size);

	if (error == EINVAL)
		tune_refuse(error, "USTREAMS_ARENA: '%.40s' is no size; "
			"legal: bytes, with a suffix K, M or G, such as 64M", s);
	else if (error != 0)
		refuse_small(s);
	return error;
}

/* ih_shape: what differs where a structure does. */
#define SHAPE(h, type) (((h) ^ sizeof(type)) * 0x100000001b3u)
#define SHAPES1 SHAPE(SHAPE(SHAPE(SHAPE(0xcbf29ce484222325u, struct slot), struct proc), \
	struct slot_root), struct cache_root)
#define SHAPES2 SHAPE(SHAPE(SHAPE(SHAPE(SHAPES1, queue_t), mblk_t), dblk_t), struct plumb_root)
#define SHAPES3 SHAPE(SHAPE(SHAPE(SHAPE(SHAPES2, struct stdata), struct file), struct fdent), \
	struct registry)
const uint64_t inst_shape = SHAPE(SHAPE(SHAPE(SHAPE(SHAPES3, struct head_root), struct node), \
	struct callout), struct trace);

/* Reserve slots: their table is there. */
static int
furnish_slots(void)
{
	slot_root = arena_root_make(ROOT_SLOT, sizeof(*slot_root));
	if (slot_root == NULL)
		return ENOMEM;
	slot_root->sr_reserve = carve(RESERVE * sizeof(struct slot));
	if (slot_root->sr_reserve == NULL)
		return ENOMEM;
	slot_root->sr_reserve_end = slot_root->sr_reserve + RESERVE * sizeof(struct slot);
	slot_root->sr_named = arena_named();
	st_rlx(&slot_root->sr_top, 1u);
	st_rlx(&slot_root->sr_ptop, 1u);
	return 0;
}

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
	int error = furnish_slots();

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

/* Does no thread of anybody live? */
static bool
deserted(void)
{
	uint32_t top = ld_acq(&slot_root->sr_top);

	for (uint32_t i = 1; i < top; i++) {
		const struct slot *s = slot_at(i);

		if (s != NULL && ld_acq(&s->sl_state) == SLOT_LIVE && !slot_dead(s))
			return false;
	}
	return true;
}

/*
 * Before anything is believed: tables that never shrink, and, if nobody is there to
 * change them, the allocators' lists.  A member that forks is without its record lock
 * for an instant, so both signs of life count.  It finds accidents; what lies in the memory
 * they handed out is anybody's.
 */
static bool
sound(bool alone)
{
	bool ok;

	slot_root = arena_root(ROOT_SLOT);
	heap_join();
	cache_join();
	registry_find();
	ok = slots_sound() && registry_sound() && (!alone || !deserted() || (heap_valid() && cache_valid()));
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
		pthread_setspecific(key, NULL);
	}
	slot_tls = NULL;
	st_rlx(&slot_wipe->w_proc, NULL);
	if (p == NULL)
		return;
	if (ld_rlx(&p->pr_state) == PROC_LIVE)
		fas(&slot_root->sr_live, 1u);
	plat_unlockrec(arena_fd(), (off_t)p->pr_id);
	st_rel(&p->pr_state, (uint32_t)PROC_FREE);
}

/* A process slot and a thread slot: 0, EAGAIN, ENOMEM. */
static int
step_in(void)
{
	struct proc *p = proc_claim();
	int error = p == NULL ? EAGAIN : proc_live(p);

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

static int
bring_up(void)
{
	static const struct instance_ops ops = { furnish, sound, enlist, take_down };
	struct slot_wipe *page = plat_wipe_page();
	const char *wanted = secure_getenv("USTREAMS_ARENA");
	size_t size;
	int error = take_size(wanted, &size);

	if (error == 0)
		error = tune_read();
	if (error != 0)
		return error;
	if (page == NULL || (!hooked && (pthread_key_create(&key, thread_ends) != 0 ||
		    pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0)))
		return ENOMEM;
	hooked = true;
	slot_wipe = page;
	error = instance_up(size, &ops);
	if (error == ELIBACC)
		fputs("ustreams: a second copy of the library in one process is refused\n", stderr);
	if (error == ENOMEM && wanted != NULL)
		refuse_small(wanted);
	up = error == 0;
	return error;
}

/* The slow half of slot_self(): 0 with slot_tls set, or an errno. */
int
process_attach(void)
{
	sigset_t all, old;
	int error = 0;

	/* A handler that calls in here must not find the lock taken below it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_mutex_lock(&up_lock);
	if (!up)
		error = bring_up();
	else if (slot_proc() == NULL)
		error = EBADF; /* a child made behind our back */
	if (error == 0 && slot_tls == NULL)
		error = thread_begins(slot_proc());
	pthread_mutex_unlock(&up_lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error;
}

/* ---- fork ------------------------------------------------------------------------------------- */

static void
drop_embryo(struct proc *p)
{
	fd_closeall(p, false);
	registry_forget(p);
	st_rel(&p->pr_fork, (uint32_t)FORK_UNKNOWN);
	st_rel(&p->pr_state, (uint32_t)PROC_FREE);
}

/* A process slot for the child, with what it inherits; NULL: it will have no streams. */
static struct proc *
make_embryo(void)
{
	struct proc *p;

	if (slot_proc() == NULL || (slot_tls == NULL && thread_begins(slot_proc()) != 0) ||
	    ld_rlx(&slot_tls->sl_home) != NULL)
		return NULL;
	p = proc_claim();
	if (p == NULL && reap_scan() > 0)
		p = proc_claim(); /* all slots were taken, some by the dead */
	if (p == NULL)
		return NULL;
	if (fd_init(p) != 0) {
		st_rel(&p->pr_state, (uint32_t)PROC_FREE);
		return NULL;
	}
	st_rel(&p->pr_keeper, slot_tls->sl_key);
	st_rel(&p->pr_fork, (uint32_t)FORK_NOTYET);
	registry_inherit(slot_proc(), p);
	if (fd_copy(slot_proc(), p) != 0) {
		drop_embryo(p);
		return NULL;
	}
	return p;
}

/* The last thing before the fork: from now on there may be a child. */
static void
hold_embryo(struct proc *p)
{
	forking.hold = arena_fd_ours() ? plat_holdrec(arena_fd(), EMBRYO_BYTE(p)) : -1;
	CRASH_POINT();
	st_rel(&p->pr_fork, (uint32_t)(forking.hold >= 0 ? FORK_HELD : FORK_UNKNOWN));
	CRASH_POINT();
}

/* The child lives, or there is none; mine is the calling process. */
static void
let_go(const struct proc *mine)
{
	if (forking.hold < 0)
		return;
	plat_close(forking.hold);
	/* The own lock went with it; the thread's slot says meanwhile that it lives. */
	if (mine != NULL && arena_fd_ours())
		plat_lockrec(arena_fd(), (off_t)mine->pr_id);
}

static void
before_fork(void)
{
	helper_settle();
	pthread_mutex_lock(&up_lock);
	/* Before the other locks: burying the dead may want them. */
	forking.embryo = up ? make_embryo() : NULL;
	/* Out of descriptors: then only the state word tells, see claimed(). */
	if (forking.embryo != NULL && pipe2(forking.claim, O_CLOEXEC) != 0)
		forking.claim[0] = forking.claim[1] = -1;
	if (up) {
		eventfd_lock();
		passfd_lock();
		msg_ext_lock();
		callout_lock();
	}
	if (forking.embryo != NULL)
		hold_embryo(forking.embryo);
}

/*
 * Did the child claim its slot?  Its byte says so; the end of the pipe without
 * one, that there is no child.  The state cannot be asked: by now the child may
 * have died and the slot be somebody else's embryo.
 */
static bool
claimed(struct proc *p)
{
	struct pollfd pfd = { forking.claim[0], POLLIN, 0 };
	char byte;

	if (pfd.fd < 0) {
		/* No pipe could be had: wait for the state to change, and hope. */
		for (int ms = 0; ld_acq(&p->pr_state) == PROC_EMBRYO && ms < CLAIM_WAIT; ms++)
			poll(NULL, 0, 1);
		return ld_acq(&p->pr_state) != PROC_EMBRYO;
	}
	for (int ms = 0; ms < CLAIM_WAIT; ms += 10)
		if (poll(&pfd, 1, 10) > 0)
			return read(pfd.fd, &byte, 1) == 1;
	return false;
}

static void
after_fork_parent(void)
{
	struct proc *p = forking.embryo;
	bool child = p != NULL;

	if (p != NULL) {
		uint32_t embryo = PROC_EMBRYO;

		plat_close(forking.claim[1]);
		if (!claimed(p) && cas(&p->pr_state, &embryo, (uint32_t)PROC_DYING))
			drop_embryo(p);
		plat_close(forking.claim[0]);
		let_go(slot_proc());
		helper_poke();
	}
	if (up) {
		callout_unlock();
		msg_ext_unlock();
		passfd_unlock();
		eventfd_unlock();
	}
	pthread_mutex_unlock(&up_lock);
	/* Somebody must notice the child's death, if this process never sleeps. */
	if (child)
		helper_needed();
}

/*
 * A child in a process group that is told of events needs who raises them; one that
 * has code that others lack, who does their errands.
 */
static void
start_if_told(void)
{
	sigset_t all, old;

	if (slot_proc() == NULL || (ld_rlx(&slot_root->sr_groups) == 0 &&
		    !(slot_root->sr_named && registry_owns())))
		return;
	/* A handler that calls in here must not find the helper's lock taken below it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	helper_start();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void
after_fork_child(void)
{
	struct proc *p = forking.embryo;
	ssize_t n __attribute__((unused));

	pthread_mutex_init(&up_lock, NULL);
	if (!up)
		return;
	callout_child();
	callout_unlock();
	msg_ext_unlock();
	passfd_forget();
	eventfd_unlock();
	eventfd_child();
	arena_forked();
	helper_forget();
	slot_tls = NULL;
	pthread_setspecific(key, NULL);
	if (p == NULL)
		return;
	if (proc_live(p) != 0)
		st_rlx(&slot_wipe->w_proc, p = NULL); /* as if made behind our back */
	let_go(p);
	/* If the write fails the parent is gone, and nobody waits for it. */
	if (p != NULL)
		n = write(forking.claim[1], "", 1);
	plat_close(forking.claim[0]);
	plat_close(forking.claim[1]);
	start_if_told();
}

/* ---- exit ---------------------------------------------------------------------------------------- */

__attribute__((destructor)) static void
process_ends(void)
{
	struct proc *p;

	if (!up || (p = slot_proc()) == NULL || p->pr_pid != plat_pid() ||
	    (slot_tls != NULL && ld_rlx(&slot_tls->sl_home) != NULL) || slot_self() == NULL)
		return;
	fd_closeall(p, true); /* timers may be what drains */
	htrace_bury(p);
	helper_end();
	registry_forget(p);
	orphan_run(slot_tls);
	callout_bury(p->pr_id);
	cache_detach(slot_tls);
	slot_release(slot_tls);
	st_rlx(&slot_wipe->w_proc, NULL);
	fas(&slot_root->sr_live, 1u);
	st_rel(&p->pr_state, (uint32_t)PROC_FREE);
}
