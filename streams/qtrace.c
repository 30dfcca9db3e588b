/* SPDX-License-Identifier: BSD-2-Clause */
/* qtrace.c: making a record of a message. */
#include "qtrace.h"
#include "arena.h"

#include <limits.h>
#include <string.h>

#define PLACE_MOST 255 /* of ev_place */
#define CTL_MOST 48 /* bytes kept of a control part, when there is a data part */

struct trace *
qtrace_ring(const queue_t *q)
{
	size_t at = ld_acq(&q->q_tap);

	ASSERT(at == 0 || arena_backed((char *)arena + at * LINE, sizeof(struct trace)));
	return at == 0 ? NULL : (struct trace *)((char *)arena + at * LINE);
}

/* ---- the record ---------------------------------------------------------------------- */

/* How many queues above q, the stream head's being 0. */
static unsigned char
place_of(const queue_t *q)
{
	const queue_t *at = RD(q);
	unsigned int n = 0;

	for (; at != NULL && !(at->q_kind & QK_HEADR) && n < PLACE_MOST; at = at->q_next)
		n++;
	return (unsigned char)n;
}

static void
name_of(const queue_t *q, struct ustr_event *ev)
{
	const char *name = q->q_qinfo->qi_minfo->mi_idname;

	if (name != NULL)
		strncpy(ev->ev_queue, name, FMNAMESZ);
}

/* Copy the first bytes of the blocks mp .. end, up to room: how many. */
static unsigned char
sample(unsigned char *to, size_t room, const mblk_t *mp, const mblk_t *end)
{
	size_t done = 0;

	ASSERT(room <= UCHAR_MAX);
	for (; mp != end && done < room; mp = mp->b_cont) {
		size_t n = (size_t)(mp->b_wptr - mp->b_rptr);

		n = n < room - done ? n : room - done;
		memcpy(to + done, mp->b_rptr, n);
		done += n;
	}
	return (unsigned char)done;
}

static size_t
length(const mblk_t *mp, const mblk_t *end)
{
	size_t sum = 0;

	for (; mp != end; mp = mp->b_cont)
		sum += (size_t)(mp->b_wptr - mp->b_rptr);
	return sum;
}

INLINE uint32_t
saturate(size_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* What is the same of every event. */
static void
begin(struct ustr_event *ev, const struct trace *t, const queue_t *q, unsigned int what,
	const mblk_t *mp)
{
	const struct slot *me = slot_tls;

	ASSERT(me != NULL && mp != NULL && what != 0);
	memset(ev, 0, sizeof(*ev));
	ev->ev_time = plat_now();
	ev->ev_stream = t->tr_stream;
	ev->ev_pid = me->sl_pslot->pr_pid;
	ev->ev_tid = me->sl_tid;
	ev->ev_what = (unsigned char)what;
	ev->ev_side = q->q_kind & QK_READ ? 'R' : 'W';
	ev->ev_place = place_of(q);
	ev->ev_type = msg_type(mp);
	ev->ev_band = mp->b_band;
	ev->ev_flag = mp->b_flag & (MSGMARK | MSGNOLOOP | MSGDELIM);
	name_of(q, ev);
}

void
qtrace_write(struct trace *t, const queue_t *q, unsigned int what, const mblk_t *mp)
{
	const mblk_t *data = mp;
	struct ustr_event ev;
	unsigned int blocks = 0;

	if (t == NULL || slot_tls == NULL)
		return;
	begin(&ev, t, q, what, mp);
	/* The control part is what leads and is not M_DATA. */
	while (data != NULL && data->b_datap->db_type != M_DATA)
		data = data->b_cont;
	for (const mblk_t *b = mp; b != NULL && blocks < UCHAR_MAX; b = b->b_cont)
		blocks++;
	ev.ev_blocks = (unsigned char)blocks;
	ev.ev_ctl = saturate(length(mp, data));
	ev.ev_data = saturate(length(data, NULL));
	ev.ev_nctl = sample(ev.ev_bytes, data != NULL ? CTL_MOST : USTR_EV_BYTES, mp, data);
	ev.ev_ndata = sample(ev.ev_bytes + ev.ev_nctl, (size_t)USTR_EV_BYTES - ev.ev_nctl, data,
		NULL);
	ASSERT((unsigned int)ev.ev_nctl + ev.ev_ndata <= USTR_EV_BYTES);
	trace_write(t, &ev);
}

void
qtrace(const queue_t *q, unsigned int what, const mblk_t *mp)
{
	qtrace_write(qtrace_ring(q), q, what, mp);
}

/*
 * Of the blocks only the first is still as it was, or, when it is still queued, was
 * taken from in front.
 */
void
qtrace_got(const queue_t *q, const mblk_t *mp, size_t bytes)
{
	struct trace *t = qtrace_ring(q);
	bool part = ld_rlx(&q->q_rfirst) == mp;
	size_t block = (size_t)(mp->b_wptr - mp->b_rptr), n;
	const unsigned char *from = mp->b_rptr;
	struct ustr_event ev;

	LOCK_HELD(&q->q_rlock);
	ASSERT(q->q_kind & QK_HEADR);
	if (t == NULL || slot_tls == NULL)
		return;
	if (part) {
		block = (size_t)(mp->b_rptr - mp->b_datap->db_base);
		block = block < bytes ? block : bytes;
		from -= block;
	}
	block = block < bytes ? block : bytes;
	n = block < USTR_EV_BYTES ? block : USTR_EV_BYTES;
	begin(&ev, t, q, USTR_EV_GET, mp);
	memcpy(ev.ev_bytes, from, n);
	if (ev.ev_type == M_DATA) {
		ev.ev_data = saturate(bytes);
		ev.ev_ndata = (unsigned char)n;
	} else {
		ev.ev_ctl = saturate(block);
		ev.ev_data = saturate(bytes - block);
		ev.ev_nctl = (unsigned char)n;
	}
	trace_write(t, &ev);
}

/* ---- recording, or not ---------------------------------------------------------------- */

void
qtrace_redirect(queue_t *q, bool yes)
{
	ASSERT(q->q_procs < QIDX_TRACED);
	st_rlx(&q->q_traced, (unsigned char)yes);
	st_rlx(&q->q_qidx, yes ? QIDX_TRACED : (unsigned int)q->q_procs);
}

void
qtrace_set(queue_t *q, const struct trace *t)
{
	size_t at = t != NULL ? (size_t)((const char *)t - (const char *)arena) / LINE : 0;

	ASSERT(at <= UINT32_MAX);
	st_rel(&q->q_tap, (unsigned int)at);
}

void
qtrace_note(queue_t *q)
{
	struct slot *me = slot_tls;

	if (likely(ld_rlx(&q->q_flag) & QTRACED) || ld_rlx(&q->q_tap) == 0 || me == NULL)
		return;
	lock_enter(me, &q->q_lock, RANK_QUEUE);
	queue_set(q, QTRACED);
	lock_leave(me, &q->q_lock);
}

/* Nobody is inside the group: no lock is needed. */
static void
settle(queue_t *q, unsigned int tap)
{
	ASSERT(q->q_tap == 0 || tap == 0 || q->q_tap == tap); /* one stream, one ring */
	st_rel(&q->q_tap, tap);
	qtrace_redirect(q, tap != 0);
	st_rlx(&q->q_flag, tap != 0 ? q->q_flag | QTRACED : q->q_flag & ~(unsigned int)QTRACED);
}

void
qtrace_join(queue_t *rq, const queue_t *hrq)
{
	settle(rq, ld_rlx(&hrq->q_tap));
	settle(OTHERQ(rq), ld_rlx(&hrq->q_tap));
}

void
qtrace_part(queue_t *rq)
{
	settle(rq, 0);
	settle(OTHERQ(rq), 0);
}
