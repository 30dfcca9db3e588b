/* SPDX-License-Identifier: BSD-2-Clause */
/* head_number.c: streams by number, whichever process has them. */
#include "head_number.h"

#include <errno.h>
#include <ustreams.h>

void
number_leave(struct slot *me)
{
	ASSERT(ld_rlx(&me->sl_home) != NULL);
	plumb_looked(me);
}

/* E1..E3 for entry e of any process: the file, inside the group; or NULL and outside. */
static struct file *
enter_entry(struct slot *me, struct fdent *e)
{
	struct file *f;

	while ((f = ld_acq(&e->fe_file)) != NULL) { /* E1 */
		struct group *g = ld_acq(&e->fe_group), *root = group_root(g);

		if (!plumb_enter(me, root)) { /* E2 */
			plumb_wait(me, root);
			continue;
		}
		if (ld_seq(&e->fe_file) == f && ld_acq(&e->fe_group) == g && /* E3 */
		    group_root(g) == root)
			return f;
		number_leave(me);
	}
	return NULL;
}

static struct file *
enter_chunk(struct slot *me, struct fdent *e, int n, unsigned int id)
{
	for (; n-- > 0; e++) {
		struct file *f = ld_acq(&e->fe_file) != NULL ? enter_entry(me, e) : NULL;

		if (f == NULL)
			continue;
		if (f->f_head->sd_id == id)
			return f;
		number_leave(me);
	}
	return NULL;
}

struct stdata *
number_enter_of(struct slot *me, const struct proc *p, unsigned int id, struct file **fp)
{
	struct file *f = NULL;

	ASSERT(ld_rlx(&me->sl_home) == NULL);
	if (p == NULL || p->pr_fd0 == NULL || p->pr_fd == NULL)
		return NULL;
	f = enter_chunk(me, p->pr_fd0, FD_INLINE, id);
	for (int c = 0; c < FD_CHUNKS && f == NULL; c++)
		if (ld_acq(&p->pr_fd[c]) != NULL)
			f = enter_chunk(me, p->pr_fd[c], FD_CHUNK, id);
	if (fp != NULL)
		*fp = f;
	return f != NULL ? f->f_head : NULL;
}

struct stdata *
number_enter(struct slot *me, unsigned int id, struct file **fp)
{
	uint32_t top = ld_acq(&slot_root->sr_ptop);
	struct stdata *sd = NULL;

	for (uint32_t i = 1; i < top && sd == NULL; i++)
		sd = number_enter_of(me, slot_procat(i), id, fp);
	return sd;
}

/* Under pl_lock: the stream among those of g. */
static struct stdata *
member(const struct group *g, unsigned int id)
{
	LOCK_HELD(&plumb_root->pl_lock);
	for (queue_t *hrq = g->g_heads; hrq != NULL; hrq = hrq->q_gnext)
		if (hrq->q_stream->sd_id == id)
			return hrq->q_stream;
	return NULL;
}

static struct group *
group_with(struct slot *me, unsigned int id)
{
	for (struct group *g = ld_acq(&plumb_root->pl_all); g != NULL; g = g->g_all) {
		bool is;

		if (ld_acq(&g->g_heads) == NULL)
			continue;
		lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
		is = member(g, id) != NULL;
		lock_leave(me, &plumb_root->pl_lock);
		if (is)
			return g;
	}
	return NULL;
}

struct stdata *
number_search(struct slot *me, unsigned int id)
{
	struct group *g;
	struct stdata *sd;

	ASSERT(ld_rlx(&me->sl_home) == NULL);
	while ((g = group_with(me, id)) != NULL) {
		plumb_into(me, g); /* or what it has been merged into meanwhile */
		lock_enter(me, &plumb_root->pl_lock, RANK_GROUP);
		sd = member(ld_rlx(&me->sl_home), id);
		if (sd != NULL)
			return sd;
		number_searched(me);
	}
	return NULL;
}

void
number_searched(struct slot *me)
{
	lock_leave(me, &plumb_root->pl_lock);
	number_leave(me);
}

int
ustr_openid(unsigned int id)
{
	struct slot *me = slot_self();
	int fd = -ENOENT;
	struct file *f;

	if (me == NULL)
		return -1;
	if (ld_rlx(&me->sl_home) != NULL)
		fd = -EDEADLK;
	else if (number_enter(me, id, &f) != NULL) {
		bool held = file_hold(me, f);

		number_leave(me);
		if (held)
			fd = fd_install(f, 0, true);
	}
	call_over(me);
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}
