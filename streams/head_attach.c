/* SPDX-License-Identifier: BSD-2-Clause */
/* head_attach.c: attaching, detaching, and opening what is attached. */
#include "head_attach.h"
#include "head_connect.h"
#include "head_fifo.h"

#include <unistd.h>

/* The file of path, which must be the caller's and writable: 0 or an errno. */
static int
own_path(const char *path, struct plat_path *pp)
{
	int denied, error = plat_pathfind(path, O_WRONLY, pp, &denied);

	if (error != 0)
		return error;
	if (geteuid() != 0 && geteuid() != pp->pp_uid)
		return EPERM;
	return denied;
}

/* ---- attaching --------------------------------------------------------------------- */

static int
enlist(struct node *nd)
{
	struct slot *me = slot_self();
	bool taken;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	taken = node_find(&nd->nd_path, NODE_ATTACH) != NULL;
	if (!taken)
		node_add(nd);
	lock_leave(me, &registry->rg_lock);
	return taken ? EBUSY : 0;
}

int
attach_add(int fd, const char *path)
{
	struct node *nd = NULL;
	struct plat_path pp;
	struct file *f;
	int error = fd_hold(fd, &f);

	if (error != 0)
		return error == ENOSTR ? EINVAL : error;
	if (ld_acq(&f->f_head->sd_state) & SD_PLEX)
		error = EINVAL;
	if (error == 0)
		error = own_path(path, &pp);
	if (error == 0 && pp.pp_mount)
		error = EBUSY;
	if (error == 0 && (nd = node_alloc(&pp, NODE_ATTACH, f->f_head)) == NULL)
		error = ENOSR;
	if (error == 0) {
		nd->nd_file = f;
		ASSERT(nd->nd_head == f->f_head);
		error = enlist(nd);
	}
	if (error == 0) {
		file_keep();
	} else {
		node_free(nd);
		file_putback(f, false);
	}
	return error;
}

int
attach_remove(const char *path)
{
	struct slot *me = slot_self();
	struct plat_path pp;
	struct node *nd;
	int error = own_path(path, &pp);

	if (error != 0)
		return error;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	nd = node_find(&pp, NODE_ATTACH);
	if (nd != NULL) {
		file_parting(nd->nd_file); /* from there into the hand: F1 of salvage.h */
		node_remove(nd);
	}
	lock_leave(me, &registry->rg_lock);
	if (nd == NULL)
		return EINVAL;
	ASSERT(nd->nd_file->f_head == nd->nd_head && ld_rlx(&nd->nd_file->f_ref) > 0);
	file_rele(nd->nd_file, true);
	node_free(nd);
	return 0;
}

bool
attach_holds(const struct file *f)
{
	bool found = false;

	LOCK_HELD(&registry->rg_lock);
	for (int i = 0; i < NODE_CHAINS; i++)
		for (const struct node *nd = head_root->hr_node[i]; nd != NULL; nd = nd->nd_next)
			found |= nd->nd_file == f;
	return found;
}

/* ---- opening ----------------------------------------------------------------------- */

int
attach_open(const struct plat_path *pp, int denied, int oflag, struct file *f, bool *there)
{
	struct slot *me = slot_self();
	struct stdata *replaced;
	struct node *nd;
	int error;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	nd = node_find(pp, NODE_ATTACH);
	if (nd != NULL && denied == 0) {
		ASSERT(f->f_head == NULL && nd->nd_head->sd_opens > 0);
		head_settle(nd->nd_head);
		nd->nd_head->sd_opens++;
		f->f_head = nd->nd_head;
	}
	lock_leave(me, &registry->rg_lock);
	*there = nd != NULL;
	if (nd == NULL || denied != 0)
		return denied;
	if (ld_acq(&f->f_head->sd_state) & SD_PLEX)
		return EINVAL;
	if (f->f_head->sd_kind == HEAD_FIFO)
		return fifo_enter(f, oflag);
	error = head_reopen(f->f_head, oflag);
	replaced = connect_result();
	if (replaced != NULL) {
		struct stdata *old = f->f_head;

		file_inhand(f);
		f->f_head = replaced; /* first: old is closed once */
		head_abandon(old);
	}
	return error;
}
