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

#include <errno.h>
#include <stdlib.h>

/* Private to the process: index -> routine. */
static struct {
	pthread_mutex_t lock;
	frtn_t **slot;	/* index 0 unused */
	size_t n;
	size_t free;	/* first free index; a free slot holds the next one */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

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
	frtn = table.slot[i];
	table.slot[i] = (frtn_t *)table.free;
	table.free = i;
	pthread_mutex_unlock(&table.lock);
	return frtn;
}

mblk_t *
esballoc(unsigned char *base, size_t size, unsigned int pri, frtn_t *frtn)
{
	struct slot *me = slot_self();
	mblk_t *mp;
	size_t i;

	(void)pri;
	if (me == NULL || base == NULL || frtn == NULL || frtn->free_func == NULL)
		return NULL;
	i = table_put(frtn);
	if (i == 0)
		return NULL;
	mp = msg_wrap(base, size, DB_EXT, (uintptr_t)me->sl_proc << 32 | i);
	if (mp == NULL)
		table_take(i);
	return mp;
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

/* Leave the routine's index to its process.  Nothing to do if it is dead. */
static void
leave_for(uint32_t proc, uint32_t index)
{
	struct proc *p = slot_procat(proc);
	uint32_t at;

	if (p == NULL || ld_acq(&p->pr_state) != PROC_LIVE)
		return;
	for (at = 0;; at = (at + 1) % PROC_DUE) {
		uint32_t none = 0;

		if (cas(&p->pr_due[at], &none, index))
			return;
		if (at == PROC_DUE - 1)
			plat_nap(1000);
		if (ld_acq(&p->pr_state) != PROC_LIVE)
			return;
	}
}

void
msg_ext_free(dblk_t *dp)
{
	uint32_t proc = (uint32_t)(dp->db_frtn >> 32), index = (uint32_t)dp->db_frtn;
	frtn_t *frtn;

	if (proc != slot_tls->sl_proc) {
		leave_for(proc, index);
		return;
	}
	frtn = table_take(index);
	frtn->free_func(frtn->free_arg);
}

void
msg_ext_due(void)
{
	struct proc *p = slot_proc();

	for (int at = 0; p != NULL && at < PROC_DUE; at++) {
		uint32_t index = ld_rlx(&p->pr_due[at]);

		if (index != 0 && cas(&p->pr_due[at], &index, 0u)) {
			frtn_t *frtn = table_take(index);

			frtn->free_func(frtn->free_arg);
		}
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
