/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_queuerandom.c: random operations on a queue compared with a naive model:
 * an array of the messages in order, everything else computed from it afresh
 * each time.
 */
#include "queuelib.h"

#include <string.h>

/* ---- random operations against a model -------------------------------------------- */

enum { MOST = 60, BANDS = 256 };

struct qmodel {
	queue_t *q;
	queue_t *back; /* what a back-enable enables */
	mblk_t *mp[MOST + 1];
	int n;
	int nband;
	size_t hiwat[BANDS];
	size_t lowat[BANDS];
	char wantw[BANDS];
	int wantr;
	int noenb;
	int enabled; /* the queue, since the last kick */
	int backed;  /* the one behind, since the last kick */
	int many;    /* use high bands too */
	struct tm_rand r;
	unsigned long long seed;
	int op;
	int what;
};

#define MODEL_ASSERT(m, expr) \
	tm_assert(expr, "seed %llu, operation %d (%d)", (m)->seed, (m)->op, (m)->what)

static int
band_of(const mblk_t *mp)
{
	return mp->b_datap->db_type >= QPCTL ? 0 : mp->b_band;
}

static void
tally(const struct qmodel *m, int b, size_t *bytes, size_t *blocks)
{
	const mblk_t *bp;
	int i;

	*bytes = *blocks = 0;
	for (i = 0; i < m->n; i++)
		for (bp = band_of(m->mp[i]) == b ? m->mp[i] : NULL; bp; bp = bp->b_cont) {
			*bytes += (size_t)(bp->b_wptr - bp->b_rptr);
			++*blocks;
		}
}

static int
model_full(const struct qmodel *m, int b)
{
	size_t bytes, blocks;

	tally(m, b, &bytes, &blocks);
	return bytes >= m->hiwat[b] || blocks >= m->hiwat[b];
}

static void
check_band(struct qmodel *m, int b, qband_t *qb)
{
	mblk_t *first = NULL, *last = NULL;
	size_t bytes, blocks;
	int i;

	for (i = 0; i < m->n; i++)
		if (rank(m->mp[i]) == b) {
			if (!first)
				first = m->mp[i];
			last = m->mp[i];
		}
	tally(m, b, &bytes, &blocks);
	MODEL_ASSERT(m, qb != NULL);
	MODEL_ASSERT(m, qb->qb_count == bytes);
	MODEL_ASSERT(m, qb->qb_first == first);
	MODEL_ASSERT(m, qb->qb_last == last);
	MODEL_ASSERT(m, !(qb->qb_flag & QB_FULL) == !model_full(m, b));
	MODEL_ASSERT(m, !(qb->qb_flag & QB_WANTW) == !m->wantw[b]);
}

static void
check_all(struct qmodel *m)
{
	size_t bytes, blocks;
	mblk_t *mp, *prev = NULL;
	qband_t *qb;
	int i = 0, b;

	for (mp = m->q->q_first; mp; prev = mp, mp = mp->b_next, i++) {
		MODEL_ASSERT(m, i < m->n);
		MODEL_ASSERT(m, mp == m->mp[i]);
		MODEL_ASSERT(m, mp->b_prev == prev);
	}
	MODEL_ASSERT(m, i == m->n);
	MODEL_ASSERT(m, m->q->q_last == prev);
	MODEL_ASSERT(m, qsize(m->q) == m->n);
	tally(m, 0, &bytes, &blocks);
	MODEL_ASSERT(m, m->q->q_count == bytes);
	MODEL_ASSERT(m, !(m->q->q_flag & QFULL) == !model_full(m, 0));
	MODEL_ASSERT(m, !(m->q->q_flag & QWANTW) == !m->wantw[0]);
	MODEL_ASSERT(m, !(m->q->q_flag & QWANTR) == !m->wantr);
	MODEL_ASSERT(m, !(m->q->q_flag & QNOENB) == !m->noenb);
	MODEL_ASSERT(m, !(m->q->q_flag & QENAB) == !m->enabled);
	MODEL_ASSERT(m, !(m->back->q_flag & QENAB) == !m->backed);
	MODEL_ASSERT(m, m->q->q_nband == m->nband);
	if (m->nband > 8 && m->op % 64)
		return;
	for (b = 1, qb = m->q->q_bandp; b <= m->nband; b++, qb = qb->qb_next) {
		check_band(m, b, qb);
		MODEL_ASSERT(m, get_size(m->q, QCOUNT, b) == qb->qb_count);
	}
}

/* The queue may have made bands up to b: learn their marks. */
static void
learn_bands(struct qmodel *m, int b)
{
	while (m->nband < b) {
		m->nband++;
		m->hiwat[m->nband] = get_size(m->q, QHIWAT, m->nband);
		m->lowat[m->nband] = get_size(m->q, QLOWAT, m->nband);
		MODEL_ASSERT(m, m->hiwat[m->nband] == m->hiwat[0]);
	}
}

static mblk_t *
random_msg(struct qmodel *m)
{
	static const unsigned char types[] = {
	    M_DATA, M_DATA, M_PROTO, M_CTL, M_DELAY, M_SIG, M_PCPROTO, M_FLUSH, M_IOCACK};
	int type = types[tm_below(&m->r, sizeof(types))], b = 0;
	mblk_t *mp;

	if (tm_below(&m->r, 2))
		b = (int)tm_below(&m->r, m->many ? 256 : 5);
	mp = tm_msg(type, b, tm_below(&m->r, 40), 'r');
	while (tm_below(&m->r, 4) == 0)
		linkb(mp, tm_msg(M_DATA, 0, tm_below(&m->r, 20), 'r'));
	return mp;
}

static void
model_insert(struct qmodel *m, int at, mblk_t *mp)
{
	memmove(&m->mp[at + 1], &m->mp[at], (size_t)(m->n - at) * sizeof(mp));
	m->mp[at] = mp;
	m->n++;
	learn_bands(m, band_of(mp));
}

static void
model_remove(struct qmodel *m, int at)
{
	m->n--;
	memmove(&m->mp[at], &m->mp[at + 1], (size_t)(m->n - at) * sizeof(mblk_t *));
}

/* After removals from band b. */
static void
model_back_enable(struct qmodel *m, int b)
{
	size_t bytes, blocks;

	tally(m, b, &bytes, &blocks);
	if (!m->wantw[b] ||
	    (m->lowat[b] && (bytes >= m->lowat[b] || blocks >= m->lowat[b])))
		return;
	m->wantw[b] = 0;
	m->backed = 1;
}

static void
op_putq(struct qmodel *m)
{
	mblk_t *mp = random_msg(m);
	int i, hi = rank(mp) == 256, b = mp->b_band;

	if (m->n == MOST) {
		freemsg(mp);
		return;
	}
	MODEL_ASSERT(m, putq(m->q, mp) == 1);
	for (i = m->n; i > 0 && rank(m->mp[i - 1]) < rank(mp); i--)
		;
	model_insert(m, i, mp);
	MODEL_ASSERT(m, mp->b_band == (hi ? 0 : b));
	if (hi || (!m->noenb && (m->wantr || b > 0)))
		m->enabled = 1;
}

static void
op_putbq(struct qmodel *m)
{
	mblk_t *mp = random_msg(m);
	int i;

	if (m->n == MOST) {
		freemsg(mp);
		return;
	}
	MODEL_ASSERT(m, putbq(m->q, mp) == 1);
	for (i = 0; i < m->n && rank(m->mp[i]) > rank(mp); i++)
		;
	model_insert(m, i, mp);
	if (rank(mp) == 256 || (!m->noenb && m->wantr))
		m->enabled = 1;
}

static void
op_insq(struct qmodel *m)
{
	mblk_t *mp = random_msg(m);
	int at = (int)tm_below(&m->r, (unsigned)m->n + 1), legal;

	legal = (at == 0 || rank(m->mp[at - 1]) >= rank(mp)) &&
	    (at == m->n || rank(m->mp[at]) <= rank(mp));
	if (m->n == MOST) {
		freemsg(mp);
		return;
	}
	MODEL_ASSERT(m, insq(m->q, at < m->n ? m->mp[at] : NULL, mp) == legal);
	if (!legal) {
		/* whether it made the band first is its own affair */
		MODEL_ASSERT(
		    m, m->q->q_nband <= m->nband || m->q->q_nband == band_of(mp));
		learn_bands(m, m->q->q_nband);
		freemsg(mp);
		return;
	}
	model_insert(m, at, mp);
	if (!m->noenb && m->wantr)
		m->enabled = 1;
}

static void
op_getq(struct qmodel *m)
{
	mblk_t *mp = getq(m->q);
	int b;

	MODEL_ASSERT(m, mp == (m->n ? m->mp[0] : NULL));
	m->wantr = !mp;
	if (!mp)
		return;
	MODEL_ASSERT(m, !mp->b_next && !mp->b_prev);
	b = band_of(mp);
	model_remove(m, 0);
	model_back_enable(m, b);
	freemsg(mp);
}

static void
op_rmvq(struct qmodel *m)
{
	int at, b;
	mblk_t *mp;

	if (m->n == 0)
		return;
	at = (int)tm_below(&m->r, (unsigned)m->n);
	mp = m->mp[at];
	b = band_of(mp);
	rmvq(m->q, mp);
	MODEL_ASSERT(m, !mp->b_next && !mp->b_prev);
	model_remove(m, at);
	model_back_enable(m, b);
	freemsg(mp);
}

/* Flush band b, or with b < 0 all. */
static void
model_flush(struct qmodel *m, int b, int flag)
{
	char hit[BANDS] = {0};
	int i;

	for (i = 0; i < m->n; i++) {
		if ((b >= 0 && band_of(m->mp[i]) != b) ||
		    (flag == FLUSHDATA && !datamsg(m->mp[i]->b_datap->db_type)))
			continue;
		hit[band_of(m->mp[i])] = 1;
		model_remove(m, i--);
	}
	for (i = 0; i < BANDS; i++)
		if (hit[i])
			model_back_enable(m, i);
}

static void
op_flush(struct qmodel *m)
{
	int flag = tm_below(&m->r, 2) ? FLUSHALL : FLUSHDATA;
	int b = (int)tm_below(&m->r, 8) - 1;

	if (tm_below(&m->r, 3))
		return;
	/* the model looks at the messages, so it goes first */
	model_flush(m, b, flag);
	if (b < 0)
		flushq(m->q, flag);
	else
		flushband(m->q, (unsigned char)b, flag);
}

static void
op_canput(struct qmodel *m)
{
	int b = tm_below(&m->r, 2) ? 0 : (int)tm_below(&m->r, m->many ? 256 : 6);
	int no = b <= m->nband && model_full(m, b);

	if (b == 0 && tm_below(&m->r, 2))
		MODEL_ASSERT(m, canput(m->q) == !no);
	else
		MODEL_ASSERT(m, bcanput(m->q, (unsigned char)b) == !no);
	if (no)
		m->wantw[b] = 1;
}

static void
op_marks(struct qmodel *m)
{
	int b;

	if (m->n > 0)
		return;
	b = (int)tm_below(&m->r, (unsigned)m->nband + 1);
	m->hiwat[b] = 1 + tm_below(&m->r, tm_below(&m->r, 2) ? 10 : 200);
	m->lowat[b] = tm_below(&m->r, (unsigned)m->hiwat[b] + 1);
	/* keep low <= high at every moment */
	MODEL_ASSERT(m, strqset(m->q, QLOWAT, (unsigned char)b, 0) == 0);
	MODEL_ASSERT(
	    m, strqset(m->q, QHIWAT, (unsigned char)b, (intptr_t)m->hiwat[b]) == 0);
	MODEL_ASSERT(
	    m, strqset(m->q, QLOWAT, (unsigned char)b, (intptr_t)m->lowat[b]) == 0);
}

static void
op_enable(struct qmodel *m)
{
	switch (tm_below(&m->r, 6)) {
	case 0:
		qenable(m->q);
		m->enabled = 1;
		break;
	case 1:
		noenable(m->q);
		m->noenb = 1;
		break;
	default:
		enableok(m->q);
		m->noenb = 0;
		break;
	}
}

static void
op_kick(struct qmodel *m)
{
	int was = tm_srvs(m->q), behind = tm_srvs(m->back);

	tm_kick(fd);
	MODEL_ASSERT(m, tm_srvs(m->q) == was + m->enabled);
	MODEL_ASSERT(m, tm_srvs(m->back) == behind + m->backed);
	m->enabled = m->backed = 0;
}

static void
model_run(struct qmodel *m, int ops)
{
	static void (*const op[])(struct qmodel *) = {op_putq, op_putq, op_putq, op_putbq,
	    op_insq, op_getq, op_getq, op_getq, op_rmvq, op_flush, op_canput, op_canput,
	    op_marks, op_enable, op_kick};

	m->hiwat[0] = m->q->q_hiwat;
	m->lowat[0] = m->q->q_lowat;
	m->wantr = 1;
	for (m->op = 0; m->op < ops; m->op++) {
		m->what = (int)tm_below(&m->r, sizeof(op) / sizeof(op[0]));
		op[m->what](m);
		check_all(m);
	}
	model_flush(m, -1, FLUSHALL);
	flushq(m->q, FLUSHALL);
	check_all(m);
	op_kick(m);
}

/* Even numbers test the read side, odd ones the write side. */
START_TEST(random_operations_agree_with_a_naive_model)
{
	static struct qmodel m;

	memset(&m, 0, sizeof(m));
	m.seed = 1000 + (unsigned)_i;
	m.r.s = m.seed * 0x9e3779b97f4a7c15ULL;
	m.many = _i >= 6;
	m.q = _i & 1 ? tm_wq(1) : tm_rq(1);
	m.back = _i & 1 ? tm_wq(2) : tm_rq(0);
	model_run(&m, tm_scale(200000));
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

int
main(void)
{
	Suite *s = suite_create("queuerandom");
	TCase *tc;

	tc = queue_group(s, "random");
	tcase_add_loop_test(tc, random_operations_agree_with_a_naive_model, 0, 8);
	return tm_run(s);
}
