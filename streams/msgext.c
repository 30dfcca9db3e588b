/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * msgext.c: esballoc: blocks around memory the caller brings.
 *
 * The free routine is a pointer into one process.  The arena holds only
 * (process, index); the routine itself stands in a table of the process that
 * called esballoc.  When the last reference goes in another process, the block
 * is left on that process's list and the routine runs there.
 */
#include "msg.h"
#include "arena.h"
#include "lock.h"

#include <errno.h>
#include <stdlib.h>

/* Private to the process: index -> routine. */
static struct {
	pthread_mutex_t lock;
	frtn_t **slot;	/* index 0 unused */
	size_t n;
	size_t free;	/* first free index; a free slot holds the next one */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

void (*msg_pass_hook)(void *buf);

static size_t
table_put(frtn_t *frtn)
{
	size_t i;

	pthread_mutex_lock(&table.lock);
	if (table.free == 0) {
		size_t n = table.n == 0 ? 64 : table.n * 2;
		frtn_t **more = realloc(table.slot, n * sizeof(*more));

		if (more == NULL) {
			pthread_mutex_unlock(&table.lock);
			return 0;
		}
		for (i = table.n == 0 ? 1 : table.n; i < n; i++) {
			more[i] = (frtn_t *)table.free;
			table.free = i;
		}
		table.slot = more;
		table.n = n;
	}
	ASSERT(table.free < table.n);
	i = table.free;
	table.free = (size_t)table.slot[i];
	table.slot[i] = frtn;
	pthread_mutex_unlock(&table.lock);
	return i;
}

static frtn_t *
table_take(size_t i)
{
	frtn_t *frtn;

	pthread_mutex_lock(&table.lock);
	/* In use: a pointer, which no number of a free one can be. */
	ASSERT(i > 0 && i < table.n && (size_t)table.slot[i] >= table.n);
	frtn = table.slot[i];
	table.slot[i] = (frtn_t *)table.free;
	table.free = i;
	pthread_mutex_unlock(&table.lock);
	return frtn;
}

/* Whose routine it is: the process slot's number and, of its life, 16 bits. */
static uintptr_t
owner_of(const struct proc *p)
{
	ASSERT(p->pr_id > 0 && p->pr_id < NPROC);
	return (uintptr_t)(uint16_t)ld_rlx(&p->pr_life) << 48 | (uintptr_t)p->pr_id << 32;
}

mblk_t *
msg_ext_wrap(unsigned char *buf, size_t size, unsigned int flags, frtn_t *frtn)
{
	struct slot *me = slot_self();
	size_t i = me != NULL ? table_put(frtn) : 0;
	mblk_t *mp;

	ASSERT(frtn != NULL && frtn->free_func != NULL);
	if (i == 0)
		return NULL;
	mp = msg_wrap(buf, size, DB_EXT | flags, owner_of(me->sl_pslot) | i);
	if (mp == NULL)
		table_take(i);
	return mp;
}

mblk_t *
esballoc(unsigned char *base, size_t size, unsigned int pri, frtn_t *frtn)
{
	(void)pri;
	if (base == NULL || frtn == NULL || frtn->free_func == NULL)
		return NULL;
	return msg_ext_wrap(base, size, 0, frtn);
}

static bool
private_memory(const mblk_t *mp)
{
	return (mp->b_datap->db_flags & DB_EXT) && !arena_has(mp->b_datap->db_base);
}

NOINLINE bool
msg_share_slow(mblk_t **mpp)
{
	mblk_t *copies = NULL, **link = &copies, *mp, *bp;

	/* First all the copies, so that failing leaves the message alone. */
	for (mp = *mpp; mp != NULL; mp = mp->b_cont) {
		if (!private_memory(mp))
			continue;
		bp = copyb(mp);
		if (bp == NULL) {
			freemsg(copies);
			return false;
		}
		*link = bp;
		link = &bp->b_cont;
	}
	for (; copies != NULL; mpp = &(*mpp)->b_cont) {
		mp = *mpp;
		if (!private_memory(mp))
			continue;
		bp = copies;
		copies = bp->b_cont;
		bp->b_cont = mp->b_cont;
		*mpp = bp;
		freeb(mp);
	}
	return true;
}

/*
 * Leave the routine to its process.  Nothing to do if that is dead, be it buried or not:
 * who waits here for room may be the only one who buries.  The word says of which life
 * it is: who leaves it may be stopped after he looked.
 */
static void
leave_for(uint64_t frtn)
{
	uint64_t owner = frtn & ~(uint64_t)UINT32_MAX;
	struct proc *p = slot_procat((uint32_t)(owner >> 32) & 0xffff);
	uint32_t at;

	ASSERT((uint32_t)frtn != 0);
	NO_LOCK_HELD(); /* it may have to wait until there is room */
	if (p == NULL)
		return;
	for (at = 0; ld_acq(&p->pr_state) == PROC_LIVE && owner_of(p) == owner;
	     at = (at + 1) % PROC_DUE) {
		uint64_t none = 0;

		if (cas(&p->pr_due[at], &none, frtn)) {
			proc_ring(p);
			return;
		}
		if (at == PROC_DUE - 1 && !proc_lives(p))
			return;
		if (at == PROC_DUE - 1)
			plat_nap(1000);
	}
}

static void
run_routine(uint64_t frtn)
{
	frtn_t *fr = table_take((uint32_t)frtn);

	fr->free_func(fr->free_arg);
}

/* Of the process p, as it is now? */
static bool
is_own(uint64_t frtn, const struct proc *p)
{
	return (frtn & ~(uint64_t)UINT32_MAX) == owner_of(p);
}

void
msg_ext_free(dblk_t *dp)
{
	ASSERT((dp->db_flags & DB_EXT) && ld_rlx(&dp->db_ref) <= 1);
	if (is_own(dp->db_frtn, slot_tls->sl_pslot))
		run_routine(dp->db_frtn);
	else
		leave_for(dp->db_frtn);
}

void
msg_ext_due(void)
{
	struct proc *p = slot_proc();

	for (int at = 0; p != NULL && at < PROC_DUE; at++) {
		uint64_t frtn = ld_rlx(&p->pr_due[at]);

		if (frtn != 0 && cas(&p->pr_due[at], &frtn, (uint64_t)0) && is_own(frtn, p))
			run_routine(frtn);
	}
}

void
msg_ext_lock(void)
{
	pthread_mutex_lock(&table.lock);
}

void
msg_ext_unlock(void)
{
	pthread_mutex_unlock(&table.lock);
}
