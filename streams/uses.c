/* SPDX-License-Identifier: BSD-2-Clause */
/* uses.c: looking who uses what is registered; labels of registry.h. */
#include "uses.h"
#include "head.h"

#include <errno.h>
#include <string.h>

/* U1, of the dead as well until they are buried. */
static void
look_at_hands(bool used[NREG])
{
	uint32_t top = ld_seq(&slot_root->sr_top);

	for (uint32_t i = 1; i < top; i++) {
		const struct slot *s = slot_at(i);

		for (int k = 0; s != NULL && k < USES; k++) {
			uint32_t n = ld_seq(&s->sl_use[k]) - 1;

			if (n < NREG)
				used[n] = true;
		}
	}
}

/* U2 */
static void
look_at_stream(queue_t *hrq, void *arg)
{
	const struct stdata *sd = hrq->q_stream;
	bool *used = arg;

	LOCK_HELD(&plumb_root->pl_lock);
	for (const queue_t *q = OTHERQ(hrq); q != NULL && q->q_stream == sd; q = q->q_next)
		if (code_of(q->q_procs) < NREG)
			used[code_of(q->q_procs)] = true;
	if (sd->sd_kind == HEAD_FIFO && sd->sd_reg != NULL)
		used[sd->sd_reg->re_major] = true;
}

bool
uses_look(struct slot *me, bool used[NREG])
{
	bool all;

	ASSERT(ld_rlx(&me->sl_home) == NULL);
	memset(used, 0, NREG * sizeof(*used));
	look_at_hands(used);
	JITTER();
	all = plumb_survey(me, look_at_stream, used);
	JITTER();
	look_at_hands(used);
	return all;
}

static int
unregister(struct slot *me, const char *name)
{
	bool used[NREG];
	struct regent *re;
	uint32_t taken;
	int error;

	do {
		error = registry_leave(me, name, &re, &taken);
		if (error == 0 && (!uses_look(me, used) || used[re->re_major]))
			error = EBUSY;
		if (error == 0)
			error = registry_part(me, re, taken);
	} while (error == EAGAIN); /* somebody found it by name, or took it away */
	return error;
}

int
ustr_unregister(const char *name)
{
	struct slot *me = slot_self();
	int error;

	if (me == NULL)
		return -1;
	/* A routine of a module: it cannot look into other groups from here. */
	error = ld_rlx(&me->sl_home) != NULL ? EDEADLK : unregister(me, name);
	if (error == 0)
		return 0;
	errno = error;
	return -1;
}
