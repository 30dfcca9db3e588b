/* SPDX-License-Identifier: BSD-2-Clause */
/* slot.c: claiming and releasing slots, and telling the dead from the living. */
#include "slot.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define OWNER_DIED 0x40000000 /* FUTEX_OWNER_DIED */

_Static_assert(NSLOT == 1 << SLOT_BITS, "a key holds every slot number");
_Static_assert(offsetof(struct slot, sl_later) == LINE, "line 0 is what others read");

static struct slot_wipe nobody;

__thread struct slot *slot_tls;
struct slot_wipe *slot_wipe = &nobody;
struct slot_root *slot_root;

struct slot *
slot_attach(int *error)
{
	*error = process_attach();
	if (*error == 0)
		return slot_tls;
	errno = *error;
	return NULL;
}

/*
 * The word is libc's and the kernel's.  Who asks for a slot's last life may read it while
 * the next one begins (hold_life), and then sees by sl_key that the last is over; to the
 * thread sanitizer that beginning is a plain write.
 */
__attribute__((no_sanitize("thread"))) static int
alive_word(const struct slot *s)
{
	return __atomic_load_n(&s->sl_alive.__data.__lock, __ATOMIC_ACQUIRE);
}

bool
slot_dead(const struct slot *s)
{
	return ld_acq(&s->sl_state) == SLOT_LIVE && (alive_word(s) & OWNER_DIED) != 0;
}

bool
slot_gone(uint32_t key)
{
	struct slot *s = slot_of(key);

	return s == NULL || ld_acq(&s->sl_key) != key || ld_acq(&s->sl_state) == SLOT_FREE ||
		slot_dead(s);
}

/* The key of the slot's next life; 21 bits count lives, none of them is 0. */
static uint32_t
next_key(const struct slot *s)
{
	uint32_t life = (ld_rlx(&s->sl_key) >> SLOT_BITS) + 1;

	ASSERT(s->sl_id > 0 && s->sl_id < NSLOT); /* number 0 is nobody */
	return ((life & 0x1fffff) != 0 ? life & 0x1fffff : 1) << SLOT_BITS | s->sl_id;
}

bool
slot_stopped(const struct slot *s, int64_t *since)
{
	int64_t now = plat_now();
	char state;

	ASSERT(s != slot_tls && *since >= 0);
	if (*since == 0)
		*since = now;
	if (now - *since < (int64_t)STOPPED_MS * 1000000)
		return false;
	state = plat_procstate(ld_rlx(&s->sl_tid));
	if (state == 'T' || state == 't')
		return true;
	*since = now;
	return false;
}

void
slot_joins(void)
{
	(void)faa(&slot_root->sr_live, SLOT_JOINS + 1);
	CRASH_POINT();
}

static uint32_t
count_procs(void)
{
	uint32_t n = 0, top = ld_seq(&slot_root->sr_ptop);

	for (uint32_t i = 1; i < top; i++) {
		const struct proc *p = slot_procat(i);

		n += p != NULL && ld_seq(&p->pr_state) != PROC_FREE;
	}
	return n;
}

void
slot_recount(void)
{
	uint32_t word = ld_seq(&slot_root->sr_live), n;

	do
		n = count_procs();
	while (n < (word & SLOT_MEMBERS) &&
		!cas(&slot_root->sr_live, &word, (word & ~SLOT_MEMBERS) | n));
}

void
proc_threads(const struct proc *p, int *live, int *dead)
{
	uint32_t top = ld_acq(&slot_root->sr_top);

	*live = *dead = 0;
	for (uint32_t i = 1; i < top; i++) {
		struct slot *s = slot_at(i);

		if (s == NULL || ld_acq(&s->sl_state) != SLOT_LIVE ||
		    ld_rlx(&s->sl_proc) != p->pr_id)
			continue;
		if (slot_dead(s))
			++*dead;
		else
			++*live;
	}
}

bool
proc_lives(const struct proc *p)
{
	int live, dead;

	proc_threads(p, &live, &dead);
	return live > 0 || dead == 0;
}

void
proc_ring(struct proc *p)
{
	if (xchg(&p->pr_bell, 1u) == 0)
		plat_futex_wake(&p->pr_bell, INT_MAX);
}

static void
hold_life(struct slot *s)
{
	pthread_mutexattr_t at;

	ASSERT(ld_rlx(&s->sl_state) != SLOT_LIVE); /* nobody asks yet whether it is alive */
	pthread_mutexattr_init(&at);
	pthread_mutexattr_setpshared(&at, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&at, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&s->sl_alive, &at);
	pthread_mutexattr_destroy(&at);
	/* Nobody else ever takes it, so trying is taking. */
	pthread_mutex_trylock(&s->sl_alive);
}

/* Slot i, made if it never was; NULL without memory. */
static struct slot *
make(uint32_t i, void *(*alloc)(size_t))
{
	struct slot *s = ld_acq(&slot_root->sr_slot[i]), *none = NULL;

	ASSERT(i > 0 && i < NSLOT);
	if (s != NULL)
		return s;
	s = alloc(sizeof(*s));
	if (s == NULL)
		return NULL;
	memset(s, 0, sizeof(*s));
	s->sl_id = i;
	/* The loser's memory is not lost for good: it is small and rare. */
	if (!cas(&slot_root->sr_slot[i], &none, s))
		return none;
	return s;
}

static void
raise_top(uint32_t *top, uint32_t to)
{
	uint32_t old = ld_rlx(top);

	ASSERT(to <= NSLOT);
	while (old < to && !cas(top, &old, to))
		;
}

/* s, which is claimed, becomes the calling thread's. */
static void
begin(struct slot *s, struct proc *p)
{
	hold_life(s);
	st_rlx(&s->sl_proc, p->pr_id);
	st_rel(&s->sl_pslot, p);
	st_rlx(&s->sl_tid, plat_tid());
	st_rel(&s->sl_key, next_key(s));
	st_rlx(&s->sl_sleep, 0u);
	st_rlx(&s->sl_fd, -1);
	st_rel(&s->sl_note.hn_mem, NULL);
	st_rlx(&s->sl_rings, 0u);
	for (int i = 0; i < USES; i++)
		st_rlx(&s->sl_use[i], 0u);
}

void
slot_live(struct slot *s)
{
	ASSERT(s->sl_pslot != NULL && ld_rlx(&s->sl_state) == SLOT_CLAIM(s->sl_pslot));
	ASSERT(ld_rlx(&s->sl_home) == NULL && ld_rlx(&s->sl_visiting) == NULL);
	ASSERT(s->sl_nheld == 0 && s->sl_later == NULL);
	st_rel(&s->sl_state, SLOT_LIVE);
	raise_top(&slot_root->sr_top, s->sl_id + 1);
}

int
slot_claim(struct proc *p, void *(*alloc)(size_t), struct slot **sp)
{
	for (uint32_t i = 1; i < slot_most(NSLOT); i++) {
		struct slot *s = make(i, alloc);
		uint32_t state = SLOT_FREE;

		if (s == NULL)
			return ENOMEM;
		if (ld_rlx(&s->sl_state) != SLOT_FREE || !cas(&s->sl_state, &state, SLOT_CLAIM(p)))
			continue;
		begin(s, p);
		*sp = s;
		return 0;
	}
	return EAGAIN;
}

int
slot_claim_last(struct proc *p, void *(*alloc)(size_t), struct slot **sp)
{
	struct slot *s = make(NSLOT - 1, alloc);

	if (s == NULL)
		return ENOMEM;
	slot_bury(s);
	st_rel(&s->sl_state, SLOT_CLAIM(p));
	begin(s, p);
	*sp = s;
	return 0;
}

void
slot_release(struct slot *s)
{
	ASSERT(s == slot_tls || slot_tls == NULL);
	ASSERT(ld_rlx(&s->sl_state) == SLOT_LIVE && ld_rlx(&s->sl_visiting) == NULL);
	ASSERT_AT(2, s->sl_nheld == 0);
	ASSERT(ld_rlx(&s->sl_home) == NULL && ld_rlx(&s->sl_note.hn_mem) == NULL);
	for (int i = 0; i < USES; i++)
		st_rel(&s->sl_use[i], 0u); /* of one that was cancelled */
	st_rel(&s->sl_state, SLOT_CLAIM(s->sl_pslot));
	st_rel(&s->sl_pslot, NULL);
	pthread_mutex_unlock(&s->sl_alive);
	st_rel(&s->sl_state, SLOT_FREE);
}

bool
slot_takedead(struct slot *s, uint32_t key)
{
	/* The locks it held are nobody's now. */
	return slot_dead(s) && cas(&s->sl_key, &key, next_key(s));
}

void
slot_bury(struct slot *s)
{
	ASSERT(s != slot_tls);
	IMPLY(ld_acq(&s->sl_state) == SLOT_LIVE, slot_dead(s));
	st_rel(&s->sl_home, NULL);
	st_rel(&s->sl_visiting, NULL);
	for (int i = 0; i < HANDS; i++)
		st_rel(&s->sl_file[i], NULL);
	for (int i = 0; i < USES; i++)
		st_rel(&s->sl_use[i], 0u);
	st_rel(&s->sl_pslot, NULL);
	st_rel(&s->sl_state, SLOT_FREE);
}

void
slot_unclaim(struct slot *s, const struct proc *p)
{
	uint32_t claim = SLOT_CLAIM(p);

	(void)cas(&s->sl_state, &claim, (uint32_t)SLOT_FREE);
}
