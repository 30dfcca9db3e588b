/* SPDX-License-Identifier: BSD-2-Clause */
/* wait.c: the sleeping and waking of wait.h; the letters are its table's. */
#include "wait.h"
#include "bell.h"
#include "lock.h"

#include <errno.h>
#include <limits.h>

void
wait_begin(struct slot *me)
{
	(void)xchg(&me->sl_sleep, (uint32_t)SLEEP_FUTEX); /* S1 */
	JITTER();
}

void
wait_begin_poll(struct slot *me)
{
	(void)xchg(&me->sl_sleep, (uint32_t)SLEEP_POLL); /* S1 */
	JITTER();
}

void
wait_on(struct waitq *wq, struct slot *me)
{
	ASSERT(me == slot_tls && me->sl_id > 0 && me->sl_id < NSLOT);
	NO_LOCK_HELD(); /* who looks at the condition again may have to take one */
	for (int i = 0; i < WAITERS; i++) {
		uint32_t none = 0;

		if (ld_rlx(&wq->wq_sleeper[i]) == 0 &&
		    cas(&wq->wq_sleeper[i], &none, me->sl_id)) /* S2 */
			goto out;
	}
	(void)xchg(&me->sl_broad, 1u);
	(void)xchg(&wq->wq_many, 1u);
out:
	JITTER();
	(void)f_or(&wq->wq_armed, (uint32_t)WQ_SLEEPERS); /* S3 */
	JITTER();
}

int
wait_sleep(struct slot *me, int64_t deadline)
{
	int error = 0;

	ASSERT(me == slot_tls && deadline >= -1);
	ASSERT(ld_rlx(&me->sl_home) == NULL && ld_rlx(&me->sl_visiting) == NULL);
	ASSERT_AT(2, me->sl_nheld == 0);
	while (error == 0 && ld_seq(&me->sl_sleep) != 0) {
		JITTER();
		error = plat_futex_wait(&me->sl_sleep, SLEEP_FUTEX, deadline); /* S5 */
		if (error == EAGAIN)
			error = 0;
	}
	/* EINTR even if awake: the handler may have slept on the word itself. */
	return error == EINTR || ld_seq(&me->sl_sleep) != 0 ? error : 0;
}

void
wait_off(struct waitq *wq, struct slot *me)
{
	ASSERT(me == slot_tls);
	for (int i = 0; i < WAITERS; i++) {
		uint32_t id = me->sl_id;

		if (ld_rlx(&wq->wq_sleeper[i]) == id)
			(void)cas(&wq->wq_sleeper[i], &id, 0u);
	}
}

void
wait_end(struct slot *me)
{
	ASSERT(me == slot_tls); /* others only take sl_sleep to 0: wait_poke */
	(void)xchg(&me->sl_sleep, (uint32_t)SLEEP_NOT);
	st_rlx(&me->sl_broad, 0u);
}

void
wait_poke(struct slot *s)
{
	switch (xchg(&s->sl_sleep, (uint32_t)SLEEP_NOT)) { /* W5 */
	case SLEEP_FUTEX:
		plat_futex_wake(&s->sl_sleep, INT_MAX);
		break;
	case SLEEP_POLL:
		bell_ring(s);
		break;
	}
}

static void
wake_broad(void)
{
	uint32_t top = ld_acq(&slot_root->sr_top);

	for (uint32_t i = 1; i < top; i++) {
		struct slot *s = slot_at(i);

		if (s != NULL && ld_seq(&s->sl_broad) != 0)
			wait_poke(s);
	}
}

NOINLINE void
wait_wakeall(struct waitq *wq)
{
	(void)f_and(&wq->wq_armed, ~(uint32_t)WQ_SLEEPERS); /* W3 */
	JITTER();
	for (int i = 0; i < WAITERS; i++) {
		uint32_t id;
		struct slot *s;

		if (ld_seq(&wq->wq_sleeper[i]) == 0)
			continue;
		id = xchg(&wq->wq_sleeper[i], 0u); /* W4 */
		ASSERT(id < NSLOT); /* stale perhaps (invariant 2), but a number of a slot */
		s = slot_at(id);
		if (s != NULL)
			wait_poke(s);
	}
	if (ld_seq(&wq->wq_many) != 0 && xchg(&wq->wq_many, 0u) != 0)
		wake_broad();
}
