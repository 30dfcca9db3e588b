/* SPDX-License-Identifier: BSD-2-Clause */
/* look_stream.c: one stream of a picture: its head, queues and sleepers; see look.h. */
#include "look.h"
#include "flow.h"
#include "link.h"
#include "node.h"

#include <string.h>

#define TRIES 3
#define PAIRS 1100 /* more modules than nstrpush allows are no stream */

/* A queue pair, as the caches hold it: read side first. */
struct pair {
	queue_t p_q[2];
};

/* How much the arrays held before a stream, to take back what it added. */
struct mark {
	size_t m_queue, m_band;
};

/* ---- queues -------------------------------------------------------------------------- */

static bool
bands(struct looking *l, const queue_t *q)
{
	const qband_t *at = q->q_bandp;
	struct ustr_view_band *vb;
	qband_t qb;

	for (unsigned int n = 1; n <= q->q_nband; n++, at = qb.qb_next) {
		if (!look_copy(l->l_lk, at, LINE, &qb, sizeof(qb)))
			return false;
		vb = vec_add(&l->l_band);
		if (vb == NULL) {
			l->l_nomem = true;
			return false;
		}
		vb->vb_band = n;
		vb->vb_bytes = qb.qb_count;
		vb->vb_blocks = qb.qb_blocks;
		vb->vb_hiwat = qb.qb_hiwat;
		vb->vb_lowat = qb.qb_lowat;
		vb->vb_flags = qb.qb_flag;
	}
	return true;
}

static size_t
more(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

/* A head's read queue counts by totals; the fields are not kept up. */
static void
count_head(const queue_t *q, struct ustr_view_queue *vq)
{
	vq->vq_bytes = more(q->q_putb, q->q_gotb);
	vq->vq_blocks = more(q->q_putn, q->q_gotn);
	vq->vq_flags &= ~(unsigned int)(QFULL | QWANTW);
	if (vq->vq_bytes >= q->q_hiwat || vq->vq_blocks >= q->q_hiwat)
		vq->vq_flags |= QFULL;
	if (q->q_want & WANT_ROOM)
		vq->vq_flags |= QWANTW;
}

static pid_t
inside(const struct looking *l, const struct perim *p)
{
	struct perim copy;

	if (p == NULL || !look_copy(l->l_lk, p, LINE, &copy, sizeof(copy)))
		return 0;
	return look_tid(l, perim_owner(copy.pe_word));
}

static bool
queue(struct looking *l, const queue_t *q, const char *name)
{
	struct ustr_view_queue *vq = vec_add(&l->l_queue);
	size_t before = l->l_band.v_n;

	if (vq == NULL) {
		l->l_nomem = true;
		return false;
	}
	look_name(vq->vq_name, sizeof(vq->vq_name), name, FMNAMESZ + 1);
	vq->vq_read = (q->q_kind & QK_READ) != 0;
	vq->vq_flags = q->q_flag;
	vq->vq_bytes = q->q_count;
	vq->vq_blocks = q->q_blocks;
	vq->vq_hiwat = q->q_hiwat;
	vq->vq_lowat = q->q_lowat;
	vq->vq_minpsz = q->q_minpsz;
	vq->vq_maxpsz = q->q_maxpsz;
	vq->vq_pbytes = q->q_pbytes;
	vq->vq_pblocks = q->q_pblocks;
	vq->vq_owner = inside(l, q->q_perim);
	vq->vq_service = (q->q_kind & QK_SRV) != 0;
	if (q->q_kind & QK_HEADR)
		count_head(q, vq);
	if (!bands(l, q)) {
		l->l_band.v_n = before;
		return false;
	}
	vq->vq_nbands = (unsigned int)(l->l_band.v_n - before);
	return true;
}

/* The pair whose read queue is at rq belongs to the stream of head sd. */
static bool
read_pair(struct looking *l, const queue_t *rq, const struct stdata *sd, struct pair *p)
{
	return look_copy(l->l_lk, rq, LINE, p, sizeof(*p)) && p->p_q[0].q_stream == sd &&
		p->p_q[1].q_stream == sd && (p->p_q[0].q_kind & QK_READ) != 0 &&
		(p->p_q[1].q_kind & QK_READ) == 0;
}

static bool
pair(struct looking *l, const struct pair *p, const char *name)
{
	return queue(l, &p->p_q[1], name) && queue(l, &p->p_q[0], name);
}

/* The pairs of the stream from the top: how many below the head, or -1: changing. */
static int
pairs(struct looking *l, const struct stdata *head, const struct stdata *sd)
{
	const queue_t *next;
	struct pair p;
	int n = 0;

	if (!read_pair(l, sd->sd_rq, head, &p) ||
	    !pair(l, &p, sd->sd_state & SD_PLEX ? "lower" : "head"))
		return -1;
	for (next = p.p_q[1].q_next; next != NULL; next = p.p_q[1].q_next, n++) {
		const struct regent *re;
		queue_t q;

		if (!look_copy(l->l_lk, next, LINE, &q, sizeof(q)) || n > PAIRS)
			return -1;
		/* Across the weld of a pipe, or into the dead end. */
		if (q.q_stream != head || (q.q_kind & (QK_READ | QK_DEADEND)) != 0)
			break;
		if (!read_pair(l, next - 1, head, &p) ||
		    (re = look_regof(l, &p.p_q[0])) == NULL || !pair(l, &p, re->re_name))
			return -1;
	}
	return n;
}

/* ---- who sleeps ------------------------------------------------------------------------- */

/* Does its process have the stream open?  An old number in a list names anybody. */
static bool
concerned(const struct looking *l, const struct seen *s, const struct slot *t)
{
	pid_t pid = look_pidof(l, t->sl_proc);

	for (size_t i = 0; i < s->s_view.vs_nfds; i++)
		if (((struct ref *)vec_at(&l->l_file, s->s_file0 + i))->r_fd.vf_pid == pid)
			return true;
	return false;
}

static void
sleeper(struct looking *l, struct seen *s, const struct slot *t, int what)
{
	struct ustr_view_sleeper *vw;

	if (t == NULL || t->sl_sleep == SLEEP_NOT || !concerned(l, s, t))
		return;
	vw = vec_add(&l->l_sleeper);
	if (vw == NULL) {
		l->l_nomem = true;
		return;
	}
	vw->vw_pid = look_pidof(l, t->sl_proc);
	vw->vw_tid = t->sl_tid;
	vw->vw_for = what;
	vw->vw_poll = t->sl_sleep == SLEEP_POLL;
	s->s_view.vs_nsleepers++;
}

static bool
listed(const struct waitq *wq, uint32_t id)
{
	for (int i = 0; i < WAITERS; i++)
		if (wq->wq_sleeper[i] == id)
			return true;
	return false;
}

/* More than the list has room for: those whose last call was on this stream. */
static void
crowd(struct looking *l, struct seen *s, const struct waitq *wq, int what)
{
	for (size_t i = 0; i < l->l_thread.v_n; i++) {
		const struct slot *t = vec_at(&l->l_thread, i);
		pid_t pid = look_pidof(l, t->sl_proc);

		if (t->sl_broad == 0 || listed(wq, t->sl_id))
			continue;
		for (size_t f = 0; f < s->s_view.vs_nfds; f++) {
			const struct ref *r = vec_at(&l->l_file, s->s_file0 + f);

			if (r->r_fd.vf_pid == pid && r->r_fd.vf_fd == t->sl_fd) {
				sleeper(l, s, t, what);
				break;
			}
		}
	}
}

static void
sleepers(struct looking *l, struct seen *s, const struct waitq *wq, int what)
{
	for (int i = 0; i < WAITERS; i++)
		if (wq->wq_sleeper[i] != 0)
			sleeper(l, s, look_thread(l, wq->wq_sleeper[i]), what);
	if (wq->wq_many != 0)
		crowd(l, s, wq, what);
}

/* ---- the head ------------------------------------------------------------------------------- */

static void
name_driver(const struct looking *l, const struct stdata *sd, struct ustr_view_stream *vs)
{
	static const char *const kinds[] = { [HEAD_PIPE] = "pipe", [HEAD_DEVICE] = "?",
		[HEAD_FIFO] = "fifo" };
	const struct regent *re = sd->sd_reg != NULL ? look_reg(l, sd->sd_reg) : NULL;
	const char *name = re != NULL ? re->re_name : kinds[vs->vs_kind];

	look_name(vs->vs_driver, sizeof(vs->vs_driver), name, FMNAMESZ + 1);
}

static void
name_files(const struct looking *l, const struct stdata *head, struct ustr_view_stream *vs)
{
	for (size_t i = 0; i < l->l_node.v_n; i++) {
		const struct node *nd = vec_at(&l->l_node, i);

		if (nd->nd_head != head)
			continue;
		vs->vs_attached += nd->nd_kind == NODE_ATTACH;
		if (nd->nd_path.pp_dev == NODE_DEVICE)
			continue;
		vs->vs_dev = nd->nd_path.pp_dev;
		vs->vs_ino = nd->nd_path.pp_ino;
		look_name(vs->vs_path, sizeof(vs->vs_path), nd->nd_path.pp_text, PLAT_PATHTEXT);
	}
}

static void
name_link(const struct looking *l, const struct stdata *head, struct seen *s)
{
	for (size_t i = 0; i < l->l_link.v_n; i++) {
		const struct link *lk = vec_at(&l->l_link, i);
		const struct regent *re = look_reg(l, lk->lk_mux);

		if (lk->lk_lower != head)
			continue;
		s->s_above = lk->lk_upper;
		s->s_view.vs_muxid = lk->lk_id;
		if (re != NULL)
			look_name(s->s_view.vs_mux, sizeof(s->s_view.vs_mux), re->re_name,
				FMNAMESZ + 1);
	}
}

/* What the stream's cell has been merged into, and who has it for himself. */
static void
name_group(struct looking *l, const struct stdata *sd, struct seen *s)
{
	const struct group *at = sd->sd_cell;
	struct walk w = { 0 };
	struct group g;

	while (walk_on(&w, at) && look_copy(l->l_lk, at, LINE, &g, sizeof(g))) {
		s->s_group = at;
		if (g.g_plumber != GROUP_MERGED) {
			s->s_view.vs_plumber = look_tid(l, g.g_plumber);
			return;
		}
		at = g.g_parent;
	}
	look_odd(l);
}

static unsigned int
state_of(const struct stdata *sd)
{
	static const struct {
		uint32_t sd, view;
	} flags[] = { { SD_HUP, USTR_STREAM_HUNGUP }, { SD_BROKEN, USTR_STREAM_BROKEN },
		{ SD_RDERR, USTR_STREAM_RDERR }, { SD_WRERR, USTR_STREAM_WRERR },
		{ SD_PLEX, USTR_STREAM_LINKED }, { SD_CLOSING, USTR_STREAM_CLOSING },
		{ SD_NOWRITER, USTR_STREAM_NOWRITER }, { SD_MREAD, USTR_STREAM_MREAD },
		{ SD_NDEL, USTR_STREAM_NDELAY }, { SD_DELIM, USTR_STREAM_DELIM },
		{ SD_DAMAGED, USTR_STREAM_DAMAGED }, { SD_SUSPECT, USTR_STREAM_SUSPECT } };
	unsigned int state = 0;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (sd->sd_state & flags[i].sd)
			state |= flags[i].view;
	return state;
}

static void
describe(struct looking *l, const struct stdata *head, const struct stdata *sd, struct seen *s)
{
	struct ustr_view_stream *vs = &s->s_view;

	s->s_head = head;
	s->s_mate = sd->sd_mate;
	vs->vs_id = sd->sd_id;
	vs->vs_kind = sd->sd_kind == HEAD_PIPE ? USTR_STREAM_PIPE :
		sd->sd_kind == HEAD_FIFO ? USTR_STREAM_FIFO : USTR_STREAM_DEVICE;
	name_driver(l, sd, vs);
	vs->vs_minor = sd->sd_minor;
	vs->vs_state |= state_of(sd);
	vs->vs_opens = sd->sd_opens;
	vs->vs_pushed = sd->sd_pushed;
	vs->vs_readers = sd->sd_readers;
	vs->vs_writers = sd->sd_writers;
	vs->vs_uid = sd->sd_uid;
	vs->vs_gid = sd->sd_gid;
	vs->vs_holder = look_tid(l, sd->sd_plumber);
	vs->vs_nfds = (unsigned int)look_files(l, head, &s->s_file0);
	name_files(l, head, vs);
	name_link(l, head, s);
	name_group(l, sd, s);
}

static void
totals(struct looking *l, const struct stdata *sd, struct ustr_view_stream *vs)
{
	queue_t q;

	if (!look_copy(l->l_lk, sd->sd_rq, LINE, &q, sizeof(q)))
		return;
	vs->vs_put_bytes = q.q_putb;
	vs->vs_put_blocks = q.q_putn;
	vs->vs_got_bytes = q.q_gotb;
	vs->vs_got_blocks = q.q_gotn;
}

static bool
is_head(const struct stdata *sd)
{
	return sd->sd_kind <= HEAD_FIFO && sd->sd_rq != NULL && sd->sd_cell != NULL;
}

static bool
same_shape(const struct stdata *a, const struct stdata *b)
{
	return a->sd_id == b->sd_id && a->sd_rq == b->sd_rq && a->sd_pushed == b->sd_pushed &&
		a->sd_kind == b->sd_kind;
}

/* The queues of head, whose copy is *sd in the end; false: it changed meanwhile (K3). */
static bool
shape(struct looking *l, const struct stdata *head, struct stdata *sd, unsigned int *nqueues)
{
	struct mark m = { l->l_queue.v_n, l->l_band.v_n };
	struct stdata after;

	*nqueues = 0;
	if (look_copy(l->l_lk, head, LINE, sd, sizeof(*sd)) && is_head(sd)) {
		int n = pairs(l, head, sd);

		if (n >= 0 && look_copy(l->l_lk, head, LINE, &after, sizeof(after)) &&
		    same_shape(sd, &after)) {
			*nqueues = (unsigned int)(l->l_queue.v_n - m.m_queue);
			*sd = after;
			return true;
		}
	}
	l->l_queue.v_n = m.m_queue;
	l->l_band.v_n = m.m_band;
	return false;
}

void
look_stream(struct looking *l, const struct stdata *head)
{
	size_t queue0 = l->l_queue.v_n;
	bool whole = false;
	struct stdata sd;
	struct pair p;
	struct seen *s;
	unsigned int n;

	for (int try = 0; !whole && try < TRIES; try++)
		whole = shape(l, head, &sd, &n);
	/* Not a stream at all, or one that has just been freed. */
	if (!whole && (!look_copy(l->l_lk, head, LINE, &sd, sizeof(sd)) || !is_head(&sd) ||
			      !read_pair(l, sd.sd_rq, head, &p))) {
		look_odd(l);
		return;
	}
	s = vec_add(&l->l_stream);
	if (s == NULL) {
		l->l_nomem = true;
		return;
	}
	if (!whole) {
		s->s_view.vs_state = USTR_STREAM_CHANGING;
		look_odd(l);
	}
	describe(l, head, &sd, s);
	totals(l, &sd, &s->s_view);
	s->s_queue0 = queue0;
	s->s_view.vs_nqueues = n;
	s->s_sleeper0 = l->l_sleeper.v_n;
	sleepers(l, s, &sd.sd_rwait, USTR_WAIT_MESSAGE);
	sleepers(l, s, &sd.sd_wwait, USTR_WAIT_ROOM);
	sleepers(l, s, &sd.sd_iwait, USTR_WAIT_ANSWER);
}
