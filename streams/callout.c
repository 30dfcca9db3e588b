/* SPDX-License-Identifier: BSD-2-Clause */
/* callout.c: the cells, the timer queue, timeout() and untimeout(); see callout.h. */
#include "callout.h"
#include "arena.h"
#include "cache.h"
#include "claim.h"
#include "heap.h"
#include "ticks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ddi.h>

#define CHUNK 256 /* cells */
#define NCHUNK 512
#define INDEX_BITS 17
#define LIFE_BITS 13
#define LIFE_STEP 4u /* one life in co_word */

_Static_assert(CHUNK *NCHUNK == 1 << INDEX_BITS, "an id holds every number");
_Static_assert(INDEX_BITS + LIFE_BITS < 31, "an id is positive");
_Static_assert(sizeof(struct callout) == LINE, "a cell is a line");

struct callout_root {
	uint32_t cr_lock;		  /* A  R: guards free list and pairs' lists */
	uint32_t cr_chunks;		  /* R  chunks made */
	struct callout *cr_free;	  /* R  first free: the longest free */
	struct callout *cr_last;	  /* R  last free */
	size_t cr_dropped;		  /* A  callbacks of dead processes */
	struct callout *cr_chunk[NCHUNK]; /* A  set once */
};

static struct callout_root *root;

void (*callout_poke)(void);

/* Private to the process; Q is the lock. */
static struct {
	pthread_mutex_t lock;
	struct timerq timers;		/* Q */
	uint64_t seq;			/* Q  registrations so far */
	struct callback *chunk[NCHUNK]; /* Q  entries, at the cells' numbers */
} mine = {.lock = PTHREAD_MUTEX_INITIALIZER};

void
callout_lock(void)
{
	pthread_mutex_lock(&mine.lock);
}

void
callout_unlock(void)
{
	pthread_mutex_unlock(&mine.lock);
}

/* ---- cells ---------------------------------------------------------------------- */

static void
put_free(struct callout *co)
{
	LOCK_HELD(&root->cr_lock);
	ASSERT((ld_rlx(&co->co_word) & CO_STATE) == CO_FREE);
	ASSERT(co->co_index != 0); /* an id is not 0 */
	co->co_next = NULL;
	if (root->cr_free == NULL)
		root->cr_free = co;
	else
		root->cr_last->co_next = co;
	root->cr_last = co;
}

/* A chunk of new cells becomes known, or nothing happens. */
static void
grow(struct slot *me, struct callout *chunk)
{
	uint32_t i, n;

	if (chunk == NULL)
		return;
	lock_enter(me, &root->cr_lock, RANK_CALLOUT);
	n = root->cr_chunks;
	if (n < NCHUNK) {
		for (i = 0; i < CHUNK; i++) {
			chunk[i].co_index = n * CHUNK + i;
			st_rlx(&chunk[i].co_word, (uint64_t)LIFE_STEP | CO_FREE);
			if (chunk[i].co_index != 0) /* an id is not 0 */
				put_free(&chunk[i]);
		}
		st_rel(&root->cr_chunk[n], chunk);
		root->cr_chunks = n + 1;
		chunk = NULL;
	}
	lock_leave(me, &root->cr_lock);
	heap_free(chunk, CHUNK * sizeof(*chunk));
}

/* Each link is written at once, so the free list can be walked; its end follows. */
void
callout_salvage(void)
{
	LOCK_HELD(&root->cr_lock);
	root->cr_last = NULL;
	for (struct callout *co = root->cr_free; co != NULL; co = co->co_next)
		root->cr_last = co;
}

int
callout_init(void)
{
	struct slot *me = slot_self();

	root = arena_root_make(ROOT_CALLOUT, sizeof(*root));
	if (root == NULL || me == NULL)
		return ENOMEM;
	grow(me, heap_zalloc(CHUNK * sizeof(struct callout)));
	return root->cr_chunks > 0 ? 0 : ENOMEM;
}

void
callout_join(void)
{
	root = arena_root(ROOT_CALLOUT);
}

static struct callout *
take_free(struct slot *me)
{
	struct callout *co;

	lock_enter(me, &root->cr_lock, RANK_CALLOUT);
	co = root->cr_free;
	if (co != NULL)
		root->cr_free = co->co_next;
	IMPLY(co != NULL, (ld_rlx(&co->co_word) & CO_STATE) == CO_FREE);
	lock_leave(me, &root->cr_lock);
	return co;
}

static struct callout *
cell_get(struct slot *me)
{
	struct callout *co = take_free(me);

	if (co == NULL) {
		grow(me, heap_zalloc(CHUNK * sizeof(*co)));
		co = take_free(me);
	}
	return co;
}

/* Off its pair's list.  Under cr_lock. */
static void
unlink_pair(struct callout *co)
{
	struct callout **link;

	LOCK_HELD(&root->cr_lock);
	if (co->co_q == NULL)
		return;
	for (link = &RD(co->co_q)->q_calls; *link != NULL; link = &(*link)->co_next) {
		if (*link != co)
			continue;
		*link = co->co_next;
		break;
	}
	st_rlx(&co->co_q, NULL);
}

/* The cell is FREE by its word and in nobody else's hands. */
static void
cell_put(struct slot *me, struct callout *co)
{
	lock_enter(me, &root->cr_lock, RANK_CALLOUT);
	unlink_pair(co);
	put_free(co);
	lock_leave(me, &root->cr_lock);
}

static struct callout *
cell_at(uint32_t index)
{
	struct callout *chunk = index < CHUNK * NCHUNK
	    ? ld_acq(&root->cr_chunk[index / CHUNK])
	    : NULL;

	return chunk != NULL ? &chunk[index % CHUNK] : NULL;
}

/* The word of the next life, FREE. */
static uint64_t
next_life(uint64_t word)
{
	return ((uint32_t)word & ~CO_STATE) + LIFE_STEP;
}

/* What an id keeps of a life, above the number. */
static int
id_of(const struct callout *co, uint64_t word)
{
	uint32_t life = (uint32_t)word / LIFE_STEP & ((1u << LIFE_BITS) - 1);

	ASSERT(co->co_index != 0 && co->co_index < CHUNK * NCHUNK);
	return (int)(life << INDEX_BITS | co->co_index);
}

/* ---- the process's half ------------------------------------------------------------ */

/* The entry of a cell, made if it never was; or NULL. */
static struct callback *
entry_at(uint32_t index, bool make)
{
	struct callback **chunk = &mine.chunk[index / CHUNK];

	ASSERT(index < CHUNK * NCHUNK);
	if (*chunk == NULL && make)
		*chunk = calloc(CHUNK, sizeof(**chunk));
	return *chunk != NULL ? &(*chunk)[index % CHUNK] : NULL;
}

void
callout_unqueue(struct callback *cb)
{
	ASSERT(cb->cb_queued);
	if (cb->cb_kind == CALL_TIMER)
		timerq_remove(&mine.timers, &cb->cb_node);
	else
		bufcall_unqueue(cb);
	cb->cb_queued = false;
}

static void
enqueue(struct callback *cb)
{
	ASSERT(!cb->cb_queued);
	cb->cb_queued = true;
	if (cb->cb_kind == CALL_TIMER) {
		cb->cb_node.tn_when = cb->cb_when;
		cb->cb_node.tn_seq = cb->cb_seq;
		timerq_insert(&mine.timers, &cb->cb_node);
	} else {
		bufcall_queue(cb);
	}
}

/*
 * Fill the entry of cell co; then both are PENDING: its id, or 0.  *urgent: the
 * helper has to look at it sooner than it means to.
 */
static int
enter(struct callout *co, const struct callback *as, bool *urgent)
{
	uint64_t word = ld_rlx(&co->co_word) | CO_PENDING;
	struct callback *cb;

	ASSERT((word & CO_STATE) == CO_PENDING && word >> 32 == 0); /* it was FREE, and nobody's */
	callout_lock();
	cb = entry_at(co->co_index, true);
	if (cb != NULL) {
		if (cb->cb_queued)
			callout_unqueue(cb); /* others cancelled it */
		*cb = *as;
		cb->cb_cell = co;
		cb->cb_word = word;
		cb->cb_seq = ++mine.seq;
		enqueue(cb);
		*urgent = as->cb_kind == CALL_MEMORY ||
		    timerq_first(&mine.timers) == &cb->cb_node;
		(void)xchg(&co->co_word, word);
	}
	callout_unlock();
	return cb != NULL ? id_of(co, word) : 0;
}

static void
put_on_pair(struct slot *me, struct callout *co, queue_t *q)
{
	ASSERT(!(q->q_kind & (QK_HEADR | QK_HEADW | QK_DEADEND)));
	lock_enter(me, &root->cr_lock, RANK_CALLOUT);
	st_rlx(&co->co_q, q);
	co->co_next = RD(q)->q_calls;
	RD(q)->q_calls = co;
	lock_leave(me, &root->cr_lock);
}

int
callout_add(const struct callback *as, queue_t *q, struct group *g)
{
	struct slot *me = slot_self();
	struct callout *co = me != NULL && as->cb_fn != NULL ? cell_get(me) : NULL;
	bool urgent = false;
	int id;

	if (co == NULL)
		return 0;
	ASSERT((ld_rlx(&co->co_word) & CO_STATE) == CO_FREE);
	st_rlx(&co->co_proc, me->sl_proc);
	st_rlx(&co->co_kind, (uint32_t)as->cb_kind);
	st_rlx(&co->co_when, as->cb_when);
	st_rlx(&co->co_group, g);
	st_rlx(&co->co_q, NULL);
	if (q != NULL)
		put_on_pair(me, co, q);
	IMPLY(q != NULL, g != NULL);
	id = enter(co, as, &urgent);
	if (id == 0)
		cell_put(me, co);
	if (id != 0 && as->cb_kind == CALL_MEMORY) {
		cache_want(me, true);
		cache_detach(me);
	}
	if (id != 0 && urgent && callout_poke != NULL)
		callout_poke();
	return id;
}

/* ---- the end of a callback ---------------------------------------------------------------- */

/* From word to the next life; false: somebody else was faster. */
static bool
end_life(struct slot *me, struct callout *co, uint64_t word)
{
	uint64_t next = next_life(word);

	ASSERT((word & CO_STATE) != CO_FREE);
	ASSERT((next & CO_STATE) == CO_FREE && (next >> 32) == 0);
	if (!cas(&co->co_word, &word, next))
		return false;
	cell_put(me, co);
	return true;
}

/* Out of this process's queue, if it is ours and still there. */
static void
drop_entry(uint32_t index, uint64_t word)
{
	struct callback *cb;

	callout_lock();
	cb = entry_at(index, false);
	if (cb != NULL && cb->cb_queued && cb->cb_word == word)
		callout_unqueue(cb);
	callout_unlock();
}

/* Until the routine has returned, or died with its thread. */
static void
await(struct callout *co, uint64_t word)
{
	unsigned int step = 0;

	ASSERT((word & CO_STATE) == CO_RUNNING);
	NO_LOCK_HELD();
	while (ld_seq(&co->co_word) == word)
		if (plat_backoff(&step) && slot_gone((uint32_t)(word >> 32)))
			return;
}

int64_t
callout_cancel(int id, enum callout_kind kind)
{
	struct slot *me = slot_self();
	struct callout *co = id > 0 ? cell_at((uint32_t)id & ((1u << INDEX_BITS) - 1))
				    : NULL;
	uint64_t word;

	if (me == NULL || co == NULL)
		return -1;
	word = ld_seq(&co->co_word);
	while (id_of(co, word) == id && ld_rlx(&co->co_kind) == (uint32_t)kind) {
		int64_t left = ld_rlx(&co->co_when) - plat_now();
		bool ours = ld_rlx(&co->co_proc) == me->sl_proc;

		if ((word & CO_STATE) == CO_FREE)
			return -1;
		if ((word & CO_STATE) == CO_RUNNING) {
			if ((uint32_t)(word >> 32) != me->sl_key)
				await(co, word);
			return -1;
		}
		if (ours) /* while the cell cannot have been used again */
			drop_entry(co->co_index, word);
		if (end_life(me, co, word))
			return left > 0 ? left : 0;
		word = ld_seq(&co->co_word);
	}
	return -1;
}

void
callout_forget(queue_t *rq)
{
	struct slot *me = slot_self();
	struct callout *co;

	ASSERT(rq->q_kind & QK_READ);
	if (me == NULL || ld_rlx(&rq->q_calls) == NULL)
		return;
	lock_enter(me, &root->cr_lock, RANK_CALLOUT);
	while ((co = rq->q_calls) != NULL) {
		uint64_t word = ld_seq(&co->co_word);

		ASSERT(ld_rlx(&co->co_q) != NULL && RD(co->co_q) == rq); /* invariant 4 */

		rq->q_calls = co->co_next;
		st_rlx(&co->co_q, NULL);
		/* RUNNING only in the calling thread: it is freed when it returns. */
		if ((word & CO_STATE) == CO_PENDING &&
		    cas(&co->co_word, &word, next_life(word)))
			put_free(co);
	}
	lock_leave(me, &root->cr_lock);
}

void
callout_bury(uint32_t proc)
{
	struct slot *me = slot_self();
	uint32_t n = me != NULL && root != NULL ? ld_acq(&root->cr_chunks) : 0;

	ASSERT(proc > 0 && proc < NPROC);
	for (uint32_t i = 1; i < n * CHUNK; i++) {
		struct callout *co = cell_at(i);
		uint64_t word = ld_seq(&co->co_word);

		while (ld_rlx(&co->co_proc) == proc && (word & CO_STATE) != CO_FREE) {
			if (end_life(me, co, word))
				faa(&root->cr_dropped, (size_t)1);
			word = ld_seq(&co->co_word);
		}
	}
}

size_t
callout_dropped(void)
{
	return ld_rlx(&root->cr_dropped);
}

void
callout_child(void)
{
	mine.timers.tq_root = NULL;
	bufcall_drop();
	for (uint32_t i = 0; i < NCHUNK; i++) {
		free(mine.chunk[i]);
		mine.chunk[i] = NULL;
	}
}

/* ---- for who runs them ------------------------------------------------------------------------ */

static struct callback *
first(void)
{
	/* The node is the entry's first member. */
	return (struct callback *)timerq_first(&mine.timers);
}

_Static_assert(offsetof(struct callback, cb_node) == 0, "an entry begins with its node");

bool
callout_take(int64_t now, struct callback *copy)
{
	struct callback *cb;
	bool due = false;

	callout_lock();
	while (!due && (cb = first()) != NULL && cb->cb_when <= now) {
		ASSERT(cb->cb_queued && cb->cb_kind == CALL_TIMER);
		callout_unqueue(cb);
		*copy = *cb;
		due = callout_wanted(cb);
	}
	callout_unlock();
	return due;
}

int64_t
callout_due(void)
{
	int64_t due;

	callout_lock();
	due = first() != NULL ? first()->cb_when : -1;
	callout_unlock();
	return due;
}

void
callout_again(const struct callback *copy, int64_t ns)
{
	struct callback *cb;

	ASSERT(ns > 0 && copy->cb_cell != NULL);
	callout_lock();
	cb = entry_at(copy->cb_cell->co_index, false);
	if (cb != NULL && !cb->cb_queued && cb->cb_word == copy->cb_word &&
	    callout_wanted(copy)) {
		cb->cb_when = plat_now() + ns;
		enqueue(cb);
	}
	callout_unlock();
}

/* RUNNING, by me. */
static uint64_t
running(const struct slot *me, const struct callback *copy)
{
	return (uint64_t)me->sl_key << 32 | (copy->cb_word & ~(uint64_t)CO_STATE) |
	    CO_RUNNING;
}

bool
callout_claim(struct slot *me, const struct callback *copy)
{
	uint64_t word = copy->cb_word;

	ASSERT((word & CO_STATE) == CO_PENDING);
	ASSERT(me == slot_tls);
	JITTER();
	return cas(&copy->cb_cell->co_word, &word, running(me, copy));
}

void
callout_done(struct slot *me, const struct callback *copy)
{
	ASSERT(me == slot_tls);
	(void)end_life(me, copy->cb_cell, running(me, copy));
}

struct group *
callout_here(void)
{
	struct slot *me = slot_self();
	struct group *inner = me != NULL ? ld_rlx(&me->sl_visiting) : NULL;

	return inner != NULL || me == NULL ? inner : ld_rlx(&me->sl_home);
}

/* ---- the DDI routines --------------------------------------------------------------------------- */

timeout_id_t
timeout(void (*func)(void *), void *arg, clock_t ticks)
{
	return callout_add(&(struct callback){.cb_kind = CALL_TIMER,
			       .cb_fn = func,
			       .cb_arg = arg,
			       .cb_when = ticks_after(ticks)},
	    NULL, callout_here());
}

clock_t
untimeout(timeout_id_t id)
{
	return ticks_left(callout_cancel(id, CALL_TIMER));
}

/* ---- judging -------------------------------------------------------------------------------- */

static bool
chunk_claim(const struct callout *chunk, uint32_t n)
{
	for (uint32_t i = 0; i < CHUNK; i++)
		if (!claim_take(&chunk[i], sizeof(*chunk), CL_CALL) || chunk[i].co_index != n * CHUNK + i)
			return false;
	return true;
}

bool
callout_judge(void)
{
	const struct callout *last = NULL;
	size_t n = 0;

	if (!claim_take(root, sizeof(*root), CL_TABLE) || root->cr_chunks > NCHUNK)
		return false;
	for (uint32_t i = 0; i < root->cr_chunks; i++)
		if (!chunk_claim(root->cr_chunk[i], i))
			return false;
	for (const struct callout *co = root->cr_free; co != NULL; last = co, co = co->co_next)
		if (!claim_is(co, CL_CALL) || ++n > root->cr_chunks * CHUNK)
			return false;
	return ld_rlx(&root->cr_lock) != 0 || last == NULL || last == root->cr_last;
}

bool
callout_sound(bool (*queue)(const queue_t *), bool (*group)(const struct group *))
{
	for (uint32_t i = 1; i < root->cr_chunks * CHUNK; i++) {
		const struct callout *co = cell_at(i);

		if ((ld_rlx(&co->co_word) & CO_STATE) != CO_FREE &&
		    (!queue(co->co_q) || !group(co->co_group)))
			return false;
	}
	return true;
}
