/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_msgrandom.c: random operations on a pool of messages, every one
 * compared with a naive model: the vector of its (type, byte) pairs.
 */
#include "msglib.h"

#include <stdlib.h>
#include <string.h>
#include <ustreams.h>

/* ---- random operations against a model -------------------------------------------- */

enum { POOL = 24, MAXESB = 4000, MAXBYTES = 20000 };

struct model {
	mblk_t *mp; /* NULL: the slot is free */
	size_t n;
	unsigned char *b; /* bytes */
	unsigned char *t; /* and their types */
};

struct world {
	struct model pool[POOL];
	struct tm_rand r;
	uint64_t seed;
	int op;	  /* number of the operation */
	int what; /* and which */
	struct esb *esb[MAXESB];
	int nesb;
	unsigned char serial;
};

#define WORLD_ASSERT(w, expr)                                                          \
	tm_assert(expr, "seed %llu, operation %d (%d)", (unsigned long long)(w)->seed, \
	    (w)->op, (w)->what)

static void
model_set(struct model *m, mblk_t *mp, size_t n)
{
	m->mp = mp;
	m->n = n;
	m->b = malloc(n + 1);
	m->t = malloc(n + 1);
	tm_assert(m->b && m->t, "malloc");
}

static void
model_drop(struct model *m)
{
	free(m->b);
	free(m->t);
	memset(m, 0, sizeof(*m));
}

/* dst := bytes [from, to) of src */
static void
model_slice(
    struct model *dst, mblk_t *mp, const struct model *src, size_t from, size_t to)
{
	model_set(dst, mp, to - from);
	memcpy(dst->b, src->b + from, to - from);
	memcpy(dst->t, src->t + from, to - from);
}

/* Remove bytes [from, to). */
static void
model_cut(struct model *m, size_t from, size_t to)
{
	memmove(m->b + from, m->b + to, m->n - to);
	memmove(m->t + from, m->t + to, m->n - to);
	m->n -= to - from;
}

static int
model_holds(const struct model *m)
{
	size_t at = 0, data = 0, i;
	const mblk_t *bp;

	for (bp = m->mp; bp; bp = bp->b_cont) {
		if (bp->b_rptr < bp->b_datap->db_base || bp->b_wptr < bp->b_rptr ||
		    bp->b_wptr > bp->b_datap->db_lim)
			return 0;
		if (bp->b_datap->db_ref == 0 || at + blen(bp) > m->n)
			return 0;
		for (i = 0; i < blen(bp); i++)
			if (m->b[at + i] != bp->b_rptr[i] ||
			    m->t[at + i] != bp->b_datap->db_type)
				return 0;
		at += blen(bp);
	}
	for (i = 0; i < m->n; i++)
		data += m->t[i] == M_DATA;
	return at == m->n && data == msgdsize(m->mp);
}

static struct model *
pick(struct world *w, int used)
{
	unsigned i, at = tm_below(&w->r, POOL);

	for (i = 0; i < POOL; i++)
		if (!w->pool[(at + i) % POOL].mp == !used)
			return &w->pool[(at + i) % POOL];
	return NULL;
}

static size_t
random_size(struct world *w)
{
	static const size_t around[] = {64, 128, 192, 256, 512, 1024, 4096};

	switch (tm_below(&w->r, 8)) {
	case 0:
		return 0;
	case 1:
		return around[tm_below(&w->r, 7)] - 2 + tm_below(&w->r, 5);
	case 2:
		return tm_below(&w->r, 3000);
	case 3:
		return tm_below(&w->r, 16) ? 1 : tm_below(&w->r, 70000);
	default:
		return tm_below(&w->r, 60);
	}
}

static mblk_t *
random_block(struct world *w)
{
	static const unsigned char types[] = {M_DATA, M_DATA, M_DATA, M_PROTO, M_PCPROTO};
	size_t size = random_size(w), head = tm_below(&w->r, 20), i;
	mblk_t *bp;

	if (tm_below(&w->r, 8) == 0 && w->nesb < MAXESB) {
		w->esb[w->nesb] = esb_new(size + head);
		bp = esballoc(
		    w->esb[w->nesb]->buf, size + head, BPRI_MED, &w->esb[w->nesb]->frtn);
		w->nesb++;
	} else
		bp = allocb(size + head, BPRI_MED);
	tm_assert(bp, "size %zu", size);
	bp->b_datap->db_type = types[tm_below(&w->r, 5)];
	bp->b_rptr += head;
	bp->b_wptr = bp->b_rptr;
	for (i = 0; i < size; i++)
		*bp->b_wptr++ = w->serial++;
	return bp;
}

/* The model of a message that is taken as it is. */
static void
model_learn(struct model *m, mblk_t *mp)
{
	size_t at = 0;
	mblk_t *bp;

	model_set(m, mp, total(mp));
	for (bp = mp; bp; bp = bp->b_cont) {
		memcpy(m->b + at, bp->b_rptr, blen(bp));
		memset(m->t + at, bp->b_datap->db_type, blen(bp));
		at += blen(bp);
	}
}

static size_t
front_run(const mblk_t *mp)
{
	unsigned char type = mp->b_datap->db_type;
	size_t n = 0;

	for (; mp && mp->b_datap->db_type == type; mp = mp->b_cont)
		n += blen(mp);
	return n;
}

static size_t
back_run(const mblk_t *mp)
{
	unsigned char type = mp->b_datap->db_type;
	size_t n = 0;

	for (; mp; mp = mp->b_cont) {
		if (mp->b_datap->db_type != type)
			n = 0;
		type = mp->b_datap->db_type;
		n += blen(mp);
	}
	return n;
}

static void
op_new(struct world *w)
{
	struct model *m = pick(w, 0);
	mblk_t *mp;
	unsigned n;

	if (!m)
		return;
	mp = random_block(w);
	for (n = tm_below(&w->r, 4); n > 0; n--)
		linkb(mp, random_block(w));
	model_learn(m, mp);
}

static void
op_dup(struct world *w)
{
	struct model *a = pick(w, 1), *b = pick(w, 0);
	mblk_t *mp;

	if (!a || !b)
		return;
	mp = tm_below(&w->r, 2) ? dupmsg(a->mp) : copymsg(a->mp);
	WORLD_ASSERT(w, mp != NULL);
	model_slice(b, mp, a, 0, a->n);
	WORLD_ASSERT(w, model_holds(b));
}

static void
op_link(struct world *w)
{
	struct model *a = pick(w, 1), *b = pick(w, 1), sum;

	if (!a || a == b || a->n + b->n > MAXBYTES)
		return;
	linkb(a->mp, b->mp);
	model_set(&sum, a->mp, a->n + b->n);
	memcpy(sum.b, a->b, a->n);
	memcpy(sum.t, a->t, a->n);
	memcpy(sum.b + a->n, b->b, b->n);
	memcpy(sum.t + a->n, b->t, b->n);
	model_drop(a);
	model_drop(b);
	*a = sum;
	WORLD_ASSERT(w, model_holds(a));
}

static void
op_unlink(struct world *w)
{
	struct model *a = pick(w, 1), *b = pick(w, 0), old;
	size_t first;
	mblk_t *rest;

	if (!a || !b)
		return;
	first = blen(a->mp);
	old = *a;
	rest = unlinkb(old.mp);
	model_slice(a, old.mp, &old, 0, first);
	WORLD_ASSERT(w, !old.mp->b_cont);
	if (rest) {
		model_slice(b, rest, &old, first, old.n);
		WORLD_ASSERT(w, model_holds(b));
	} else
		WORLD_ASSERT(w, old.n == first);
	WORLD_ASSERT(w, model_holds(a));
	model_drop(&old);
}

static void
op_rmvb(struct world *w)
{
	struct model *a = pick(w, 1), *b = pick(w, 0);
	size_t at = 0, k, n = 0;
	mblk_t *bp, *left, *want;

	if (!a || !b)
		return;
	for (bp = a->mp; bp; bp = bp->b_cont)
		n++;
	k = tm_below(&w->r, (unsigned)n);
	for (bp = a->mp; k > 0; k--, bp = bp->b_cont)
		at += blen(bp);
	want = bp == a->mp ? bp->b_cont : a->mp;
	left = rmvb(a->mp, bp);
	WORLD_ASSERT(w, !bp->b_cont);
	WORLD_ASSERT(w, left == want);
	model_slice(b, bp, a, at, at + blen(bp));
	WORLD_ASSERT(w, model_holds(b));
	if (!left) {
		model_drop(a);
		return;
	}
	a->mp = left;
	model_cut(a, at, at + blen(bp));
	WORLD_ASSERT(w, model_holds(a));
}

static void
op_adjmsg(struct world *w)
{
	struct model *a = pick(w, 1);
	size_t n, run;
	int back, done;

	if (!a)
		return;
	back = (int)tm_below(&w->r, 2);
	run = back ? back_run(a->mp) : front_run(a->mp);
	n = tm_below(&w->r, (unsigned)(tm_below(&w->r, 3) ? run : a->n) + 3);
	done = adjmsg(a->mp, back ? -(ssize_t)n : (ssize_t)n);
	WORLD_ASSERT(w, done == (n <= run));
	if (done)
		model_cut(a, back ? a->n - n : 0, back ? a->n : n);
	WORLD_ASSERT(w, model_holds(a));
}

static void
op_pullup(struct world *w)
{
	struct model *a = pick(w, 1), *b = pick(w, 0);
	size_t run;
	ssize_t len;
	mblk_t *mp;

	if (!a || !b)
		return;
	run = front_run(a->mp);
	len = (ssize_t)tm_below(&w->r, (unsigned)run + 4) - 1;
	if (tm_below(&w->r, 2)) {
		mp = msgpullup(a->mp, len);
		WORLD_ASSERT(w, !mp == (len > (ssize_t)run));
		if (mp) {
			model_slice(b, mp, a, 0, a->n);
			WORLD_ASSERT(w, model_holds(b));
		}
	} else {
		mp = a->mp;
		WORLD_ASSERT(w, pullupmsg(mp, len) == (len <= (ssize_t)run));
	}
	WORLD_ASSERT(w, model_holds(a));
	if (mp && len <= (ssize_t)run) {
		WORLD_ASSERT(w, blen(mp) >= (len < 0 ? run : (size_t)len));
		WORLD_ASSERT(w, len <= 0 || is_aligned(mp->b_rptr));
	}
}

static void
op_free(struct world *w)
{
	struct model *a = pick(w, 1);
	mblk_t *rest;

	if (!a)
		return;
	if (tm_below(&w->r, 2)) {
		freemsg(a->mp);
		model_drop(a);
		return;
	}
	rest = a->mp->b_cont;
	model_cut(a, 0, blen(a->mp));
	freeb(a->mp);
	a->mp = rest;
	if (!rest)
		model_drop(a);
	else
		WORLD_ASSERT(w, model_holds(a));
}

static void
world_run(struct world *w, uint64_t seed, int ops)
{
	static void (*const op[])(struct world *) = {op_new, op_new, op_dup, op_dup,
	    op_link, op_unlink, op_rmvb, op_adjmsg, op_adjmsg, op_pullup, op_pullup,
	    op_free, op_free};
	int i;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->r.s = seed * 0x9e3779b97f4a7c15ULL + 1;
	for (w->op = 0; w->op < ops; w->op++) {
		w->what = (int)tm_below(&w->r, sizeof(op) / sizeof(op[0]));
		op[w->what](w);
		if (w->op % 16 == 0)
			for (i = 0; i < POOL; i++)
				WORLD_ASSERT(
				    w, !w->pool[i].mp || model_holds(&w->pool[i]));
	}
	for (i = 0; i < POOL; i++)
		if (w->pool[i].mp) {
			freemsg(w->pool[i].mp);
			model_drop(&w->pool[i]);
		}
	for (i = 0; i < w->nesb; i++)
		esb_done(w->esb[i]);
}

START_TEST(random_operations_agree_with_a_byte_vector)
{
	static struct world w;

	world_run(&w, (uint64_t)_i + 1, tm_scale(40000));
}
END_TEST

START_TEST(random_operations_leak_nothing)
{
	struct ustr_memstat before, after;
	static struct world w;
	int i, ops = tm_scale(8000);

	for (i = 0; i < 2; i++)
		world_run(&w, 99, ops);
	ck_assert_int_eq(ustr_memstat(&before), 0);
	for (i = 0; i < 6; i++)
		world_run(&w, 99, ops);
	ck_assert_int_eq(ustr_memstat(&after), 0);
	ck_assert_msg(after.ms_used <= before.ms_used + MEG / 4,
	    "arena grew from %zu to %zu bytes", before.ms_used, after.ms_used);
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

static void
random_tests(Suite *s)
{
	TCase *tc = msg_group(s, "random");

	tcase_add_loop_test(tc, random_operations_agree_with_a_byte_vector, 0, 8);
	tcase_add_test(tc, random_operations_leak_nothing);
}

int
main(void)
{
	Suite *s = suite_create("msgrandom");

	random_tests(s);
	return tm_run(s);
}
