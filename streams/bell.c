/* SPDX-License-Identifier: BSD-2-Clause */
/* bell.c: the bells of bell.h; labels as there and in wait.h. */
#include "bell.h"
#include "plat_event.h"

/* Private to the process; by slot number. */
static struct bell {
	uint32_t be_waiting;	   /* A  its thread is in poll(2), or about to be */
	uint32_t be_made;	   /* A  the pipe is there */
	int be_fd[2];		   /* O  read, write */
	struct plat_file be_id[2]; /* O  what they are */
} bells[NSLOT];

static bool
ours(const struct bell *b, int end)
{
	return ld_acq(&b->be_made) && plat_same(b->be_fd[end], &b->be_id[end]);
}

static bool
make(struct bell *b)
{
	st_rel(&b->be_made, 0u);
	if (plat_pipe(b->be_fd) != 0)
		return false;
	for (int i = 0; i < 2; i++)
		if (plat_identify(b->be_fd[i], &b->be_id[i]) != 0)
			return false;
	st_rel(&b->be_made, 1u);
	return true;
}

static void
strike(const struct bell *b)
{
	/* Without the reading end it would be a SIGPIPE. */
	if (ours(b, 0) && ours(b, 1))
		plat_strike(b->be_fd[1]);
}

int
bell_take(struct slot *me)
{
	struct bell *b = &bells[me->sl_id];

	ASSERT(ld_rlx(&me->sl_sleep) == SLEEP_NOT);
	ASSERT(me == slot_tls && me->sl_id < NSLOT);
	if ((!ours(b, 0) || !ours(b, 1)) && !make(b))
		return -1;
	plat_swallow(b->be_fd[0]);
	(void)xchg(&b->be_waiting, 1u); /* B1 */
	return b->be_fd[0];
}

void
bell_leave(struct slot *me)
{
	ASSERT(me == slot_tls);
	st_rel(&bells[me->sl_id].be_waiting, 0u);
}

void
bell_ring(struct slot *s)
{
	struct proc *p = ld_acq(&s->sl_pslot);

	ASSERT(s->sl_id > 0 && s->sl_id < NSLOT);
	/* B3 */
	if (p == slot_proc())
		strike(&bells[s->sl_id]);
	else if (p != NULL)
		proc_ring(p);
}

void
bell_answer(void)
{
	for (uint32_t i = 1; i < NSLOT; i++) {
		struct slot *s;

		if (ld_seq(&bells[i].be_waiting) == 0)
			continue;
		s = slot_at(i);
		ASSERT(s != NULL);
		if (ld_seq(&s->sl_sleep) == SLEEP_NOT && xchg(&bells[i].be_waiting, 0u) != 0)
			strike(&bells[i]); /* B4 */
	}
}

void
bell_forget(void)
{
	for (uint32_t i = 1; i < NSLOT; i++) {
		for (int end = 0; end < 2; end++)
			if (ours(&bells[i], end))
				plat_close(bells[i].be_fd[end]);
		st_rlx(&bells[i].be_made, 0u);
		st_rlx(&bells[i].be_waiting, 0u);
	}
}
