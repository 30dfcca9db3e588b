/* SPDX-License-Identifier: BSD-2-Clause */
/* bufcall.c: bufcall(), esbbcall(), and the list of bufcall.h. */
#include "bufcall.h"
#include "cache.h"
#include "callout.h"

/* Private to the process; Q is callout_lock. */
static TAILQ_HEAD(memory_list, callback) waiting = TAILQ_HEAD_INITIALIZER(waiting);

/* ---- the list -------------------------------------------------------------------- */

void
bufcall_queue(struct callback *cb)
{
	struct callback *at;

	ASSERT(cb->cb_kind == CALL_MEMORY && cb->cb_seq != 0);
	ASSERT(cb->cb_queued);
	/* Almost always behind everything; one that could not run, where it was. */
	TAILQ_FOREACH_REVERSE(at, &waiting, memory_list, cb_link)
	if (at->cb_seq < cb->cb_seq)
		break;
	if (at != NULL)
		TAILQ_INSERT_AFTER(&waiting, at, cb, cb_link);
	else
		TAILQ_INSERT_HEAD(&waiting, cb, cb_link);
}

void
bufcall_unqueue(struct callback *cb)
{
	ASSERT(cb->cb_kind == CALL_MEMORY && cb->cb_queued);
	TAILQ_REMOVE(&waiting, cb, cb_link);
}

void
bufcall_drop(void)
{
	TAILQ_INIT(&waiting);
}

bool
bufcall_waiting(void)
{
	bool any;

	callout_lock();
	any = !TAILQ_EMPTY(&waiting);
	callout_unlock();
	return any;
}

/* ---- a round ------------------------------------------------------------------------ */

void
bufcall_begin(struct bufcall_round *br)
{
	struct callback *last;

	callout_lock();
	last = TAILQ_LAST(&waiting, memory_list);
	br->br_next = 0;
	br->br_end = last != NULL ? last->cb_seq + 1 : 0;
	br->br_most = SIZE_MAX;
	callout_unlock();
}

/* Under callout_lock: the next that may run, for its size; those over are dropped. */
static struct callback *
candidate(struct bufcall_round *br)
{
	struct callback *cb, *next;

	for (cb = TAILQ_FIRST(&waiting); cb != NULL && cb->cb_seq < br->br_end;
	     cb = next) {
		next = TAILQ_NEXT(cb, cb_link);
		ASSERT(cb->cb_queued && cb->cb_kind == CALL_MEMORY);
		IMPLY(next != NULL, next->cb_seq > cb->cb_seq); /* in the order of registration */
		if (!callout_wanted(cb))
			callout_unqueue(cb);
		else if (cb->cb_seq >= br->br_next && cb->cb_size < br->br_most)
			return cb;
	}
	return NULL;
}

bool
bufcall_take(struct bufcall_round *br, struct callback *copy)
{
	for (;;) {
		struct callback *cb;
		size_t size = 0;
		bool found;

		callout_lock();
		cb = candidate(br);
		found = cb != NULL;
		if (found) {
			size = cb->cb_size;
			br->br_next = cb->cb_seq + 1;
		}
		callout_unlock();
		if (!found)
			return false;
		if (!testb(size, BPRI_HI)) {
			br->br_most = size;
			continue;
		}
		callout_lock();
		/* The lock was dropped: only what is still first is taken. */
		cb = candidate(
		    &(struct bufcall_round){br->br_next - 1, br->br_next, SIZE_MAX});
		if (cb != NULL) {
			ASSERT(cb->cb_seq == br->br_next - 1);
			*copy = *cb;
			callout_unqueue(cb);
		}
		callout_unlock();
		if (cb != NULL)
			return true;
	}
}

/* ---- the DDI routines ----------------------------------------------------------------- */

bufcall_id_t
bufcall(size_t size, unsigned int pri, void (*func)(void *), void *arg)
{
	(void)pri;
	return callout_add(
	    &(struct callback){
		.cb_kind = CALL_MEMORY, .cb_fn = func, .cb_arg = arg, .cb_size = size},
	    NULL, callout_here());
}

bufcall_id_t
esbbcall(unsigned int pri, void (*func)(void *), void *arg)
{
	return bufcall(0, pri, func, arg);
}

void
unbufcall(bufcall_id_t id)
{
	(void)callout_cancel(id, CALL_MEMORY);
}
