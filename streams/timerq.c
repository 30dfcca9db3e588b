/* SPDX-License-Identifier: BSD-2-Clause */
/* timerq.c: the pairing heap of timerq.h. */
#include "timerq.h"

static bool
earlier(const struct timernode *a, const struct timernode *b)
{
	return a->tn_when != b->tn_when ? a->tn_when < b->tn_when : a->tn_seq < b->tn_seq;
}

/* Two roots, either NULL, become one: the later the other's first child. */
static struct timernode *
meld(struct timernode *a, struct timernode *b)
{
	struct timernode *t;

	ASSERT(a != b || a == NULL);
	if (a == NULL || b == NULL)
		return a != NULL ? a : b;
	if (earlier(b, a)) {
		t = a;
		a = b;
		b = t;
	}
	b->tn_next = a->tn_child;
	if (b->tn_next != NULL)
		b->tn_next->tn_prev = b;
	b->tn_prev = a;
	a->tn_child = b;
	a->tn_next = a->tn_prev = NULL;
	ASSERT(!earlier(b, a));
	return a;
}

/* A list of siblings becomes one root: in pairs, then all pairs. */
static struct timernode *
gather(struct timernode *n)
{
	struct timernode *pairs = NULL, *root = NULL, *next;

	while (n != NULL) {
		struct timernode *a = n, *b = n->tn_next;

		n = b != NULL ? b->tn_next : NULL;
		a->tn_next = NULL;
		if (b != NULL)
			b->tn_next = NULL;
		a = meld(a, b);
		ASSERT(a->tn_next == NULL);
		a->tn_next = pairs;
		pairs = a;
	}
	for (; pairs != NULL; pairs = next) {
		next = pairs->tn_next;
		pairs->tn_next = NULL;
		root = meld(root, pairs);
	}
	if (root != NULL)
		root->tn_prev = NULL;
	return root;
}

void
timerq_insert(struct timerq *tq, struct timernode *n)
{
	n->tn_child = n->tn_next = n->tn_prev = NULL;
	tq->tq_root = meld(tq->tq_root, n);
	ASSERT(tq->tq_root->tn_prev == NULL && tq->tq_root->tn_next == NULL);
}

void
timerq_remove(struct timerq *tq, struct timernode *n)
{
	struct timernode *rest = gather(n->tn_child);

	if (n == tq->tq_root) {
		ASSERT(n->tn_prev == NULL && n->tn_next == NULL);
		tq->tq_root = rest;
	} else {
		ASSERT(n->tn_prev != NULL);
		if (n->tn_prev->tn_child == n)
			n->tn_prev->tn_child = n->tn_next;
		else
			n->tn_prev->tn_next = n->tn_next;
		if (n->tn_next != NULL)
			n->tn_next->tn_prev = n->tn_prev;
		tq->tq_root = meld(tq->tq_root, rest);
	}
	n->tn_child = n->tn_next = n->tn_prev = NULL;
}
