/* SPDX-License-Identifier: BSD-2-Clause */
/* node.c: the table of named nodes. */
#include "node.h"
#include "heap.h"

int
node_chain(const struct plat_path *pp)
{
	return (int)(((pp->pp_ino ^ pp->pp_dev << 7) * 0x9e3779b97f4a7c15u) >> 58);
}

static struct node **
chain(const struct plat_path *pp)
{
	return &head_root->hr_node[node_chain(pp)];
}

static bool
same(const struct plat_path *a, const struct plat_path *b)
{
	return a->pp_ino == b->pp_ino && a->pp_dev == b->pp_dev && a->pp_born == b->pp_born;
}

struct node *
node_find(const struct plat_path *pp, uint32_t kind)
{
	struct node *nd = *chain(pp);

	LOCK_HELD(&registry->rg_lock);
	while (nd != NULL && (nd->nd_kind != kind || !same(&nd->nd_path, pp)))
		nd = nd->nd_next;
	IMPLY(nd != NULL, !(ld_rlx(&nd->nd_head->sd_state) & SD_CLOSING));
	return nd;
}

void
node_add(struct node *nd)
{
	struct node **link = chain(&nd->nd_path);

	ASSERT(node_find(&nd->nd_path, nd->nd_kind) == NULL);
	ASSERT(!nd->nd_listed && nd->nd_head != NULL);
	EQUIV(nd->nd_kind == NODE_ATTACH, nd->nd_file != NULL);
	/* Before it can be found: who is killed in here leaves nothing that stays for ever. */
	st_rel(&nd->nd_listed, 1u);
	CRASH_POINT();
	nd->nd_next = *link;
	st_rel(link, nd);
	CRASH_POINT();
}

void
node_remove(struct node *nd)
{
	struct node **link = chain(&nd->nd_path);

	LOCK_HELD(&registry->rg_lock);
	if (!nd->nd_listed)
		return;
	while (*link != NULL && *link != nd)
		link = &(*link)->nd_next;
	if (*link == nd)
		st_rel(link, nd->nd_next);
	CRASH_POINT(); /* then it is listed, and not found */
	st_rel(&nd->nd_listed, 0u);
}

struct node *
node_alloc(const struct plat_path *pp, uint32_t kind, struct stdata *sd)
{
	struct node *nd = heap_zalloc(sizeof(*nd));

	if (nd == NULL)
		return NULL;
	nd->nd_path = *pp;
	ASSERT(kind == NODE_FIFO || kind == NODE_ATTACH);
	nd->nd_kind = kind;
	nd->nd_head = sd;
	return nd;
}

void
node_free(struct node *nd)
{
	IMPLY(nd != NULL, !nd->nd_listed);
	heap_free(nd, sizeof(*nd)); /* or nothing, if NULL */
}
