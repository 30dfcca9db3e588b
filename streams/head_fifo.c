/* SPDX-License-Identifier: BSD-2-Clause */
/* head_fifo.c: opening and leaving FIFOs; labels as in head_fifo.h. */
#include "head_fifo.h"
#include "head_sig.h"
#include "head_trace.h"
#include "helper.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/strsubr.h>
#include <unistd.h>

/* ---- making ------------------------------------------------------------------------ */

/* A new FIFO that nobody knows, or NULL. */
static struct node *
make(const struct plat_path *pp)
{
	struct regent *re = registry_hold("fifo", 4, REG_DRIVER);
	struct group *g = re != NULL ? group_alloc() : NULL;
	struct stdata *sd = g != NULL ? head_alloc(g, HEAD_FIFO) : NULL;
	struct node *nd = sd != NULL ? node_alloc(pp, NODE_FIFO, sd) : NULL;

	if (g != NULL)
		group_rele(g); /* the stream keeps it */
	if (nd != NULL) {
		sd->sd_reg = re;
		sd->sd_node = nd;
		sd->sd_minor = pp->pp_dev == NODE_DEVICE ? (uint32_t)pp->pp_ino : 0;
		sd->sd_state = SD_BROKEN | SD_NOWRITER;
		ASSERT(sd->sd_opens == 0 && sd->sd_readers == 0 && sd->sd_writers == 0);
		fifo_join(sd->sd_rq);
	} else if (sd != NULL) {
		head_free(sd);
	}
	if (re != NULL)
		registry_rele(slot_tls, re);
	return nd;
}

static bool
absent(const struct plat_path *pp)
{
	struct slot *me = slot_self();
	struct node *nd;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	nd = node_find(pp, NODE_FIFO);
	lock_leave(me, &registry->rg_lock);
	return nd == NULL;
}

void
fifo_device(struct regent *re, uint32_t minor, bool clone, struct plat_path *pp)
{
	*pp = (struct plat_path){ .pp_dev = NODE_DEVICE, .pp_ino = minor,
		.pp_mode = S_IFIFO | 0600, .pp_uid = geteuid(), .pp_gid = getegid() };
	while (clone) {
		pp->pp_ino = faa(&re->re_minor, 1u) % 0x0fffffff + 1;
		clone = !absent(pp);
	}
}

/* ---- counting ----------------------------------------------------------------------- */

/*
 * Under the registry lock: do what sd_joiner's counting is to do, once more if who
 * began it was killed; each of these stores may be repeated.
 */
static void
settle(struct stdata *sd)
{
	struct file *f = ld_acq(&sd->sd_joiner);

	LOCK_HELD(&registry->rg_lock);
	if (f == NULL)
		return;
	st_rlx(&sd->sd_readers, sd->sd_toreaders);
	st_rlx(&sd->sd_writers, sd->sd_towriters);
	CRASH_POINT();
	if (sd->sd_readers == 0)
		f_or(&sd->sd_state, SD_BROKEN);
	else
		f_and(&sd->sd_state, ~(uint32_t)SD_BROKEN);
	if (sd->sd_writers == 0)
		f_or(&sd->sd_state, SD_NOWRITER);
	else
		f_and(&sd->sd_state, ~(uint32_t)SD_NOWRITER);
	EQUIV(sd->sd_readers == 0, ld_rlx(&sd->sd_state) & SD_BROKEN); /* invariant 2 */
	EQUIV(sd->sd_writers == 0, ld_rlx(&sd->sd_state) & SD_NOWRITER);
	f->f_side = sd->sd_toside;
	CRASH_POINT();
	st_rel(&sd->sd_joiner, NULL);
}

/* Under the registry lock: f is counted as side from now on, 0: not at all. */
static void
count(struct stdata *sd, struct file *f, uint32_t side)
{
	uint32_t was = f->f_side;

	LOCK_HELD(&registry->rg_lock);
	ASSERT(sd->sd_kind == HEAD_FIFO && sd->sd_joiner == NULL);
	IMPLY(was & FIFO_READS, sd->sd_readers > 0);
	IMPLY(was & FIFO_WRITES, sd->sd_writers > 0);
	sd->sd_toreaders = sd->sd_readers + !!(side & FIFO_READS) - !!(was & FIFO_READS);
	sd->sd_towriters = sd->sd_writers + !!(side & FIFO_WRITES) - !!(was & FIFO_WRITES);
	sd->sd_toside = side;
	st_rel(&sd->sd_joiner, f);
	CRASH_POINT();
	settle(sd);
}

/* ---- joining ----------------------------------------------------------------------- */

static uint32_t
side_of(int oflag)
{
	switch (oflag & O_ACCMODE) {
	case O_RDONLY:
		return FIFO_READS;
	case O_WRONLY:
		return FIFO_WRITES;
	}
	return FIFO_READS | FIFO_WRITES;
}

/* Nobody reads, and the open is not to wait: */
static bool
refused(const struct stdata *sd, int oflag)
{
	LOCK_HELD(&registry->rg_lock);
	return side_of(oflag) == FIFO_WRITES && (oflag & O_NONBLOCK) &&
		(sd == NULL || sd->sd_readers == 0);
}

/* The node of that name; the name of one that was given up is free again. */
static struct node *
lookup(const struct plat_path *pp)
{
	struct node *nd = node_find(pp, NODE_FIFO);

	LOCK_HELD(&registry->rg_lock);
	if (nd == NULL || !(ld_acq(&nd->nd_head->sd_state) & SD_DAMAGED))
		return nd;
	node_remove(nd);
	return NULL;
}

/*
 * Refer f to the FIFO of that name, made if it was not there: 0, ENXIO, ENOSR.
 * It is kept by f from now on, but f is no reader or writer of it yet.
 */
static int
hold(struct slot *me, const struct plat_path *pp, int oflag, struct file *f)
{
	struct node *nd, *fresh = NULL;
	int error = EAGAIN;

	while (error == EAGAIN) {
		lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
		nd = lookup(pp);
		if (nd != NULL)
			settle(nd->nd_head);
		if (refused(nd != NULL ? nd->nd_head : NULL, oflag)) {
			error = ENXIO;
		} else if (nd != NULL || fresh != NULL) {
			if (nd == NULL) {
				node_add(nd = fresh);
				htrace_found(me, nd->nd_head);
				fresh = NULL;
			}
			head_settle(nd->nd_head);
			nd->nd_head->sd_opens++;
			f->f_head = nd->nd_head;
			error = 0;
		}
		lock_leave(me, &registry->rg_lock);
		if (error == EAGAIN && (fresh = make(pp)) == NULL)
			error = ENOSR;
	}
	if (fresh != NULL)
		head_scrap(fresh->nd_head);
	return error;
}

/* An open that has to meet a partner. */
struct meeting {
	struct waitq *mt_wait;	/* where the partner looks */
	uint32_t *mt_count;	/* times his side was opened */
	uint32_t mt_seen;
	bool mt_due;		/* he was not there */
};

/* V1: 0 or ENXIO. */
static int
join(struct slot *me, struct file *f, int oflag, struct meeting *mt)
{
	struct stdata *sd = f->f_head;
	uint32_t side = side_of(oflag);
	int error = 0;

	ASSERT(sd->sd_kind == HEAD_FIFO && sd->sd_opens > 0);
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	settle(sd);
	if (refused(sd, oflag)) {
		error = ENXIO;
	} else {
		count(sd, f, side);
		if (side & FIFO_READS)
			(void)faa(&sd->sd_ropened, 1u);
		if (side & FIFO_WRITES)
			(void)faa(&sd->sd_wopened, 1u);
		if (side == FIFO_READS)
			*mt = (struct meeting){ &sd->sd_rwait, &sd->sd_wopened,
				ld_rlx(&sd->sd_wopened), sd->sd_writers == 0 };
		else
			*mt = (struct meeting){ &sd->sd_wwait, &sd->sd_ropened,
				ld_rlx(&sd->sd_ropened), sd->sd_readers == 0 };
	}
	lock_leave(me, &registry->rg_lock);
	return error;
}

/* V3, V4. */
static int
meet(struct slot *me, const struct meeting *mt)
{
	int error = 0;

	while (ld_seq(mt->mt_count) == mt->mt_seen && error == 0) {
		wait_begin(me);
		wait_on(mt->mt_wait, me);
		if (ld_seq(mt->mt_count) == mt->mt_seen) {
			helper_needed();
			error = wait_sleep(me, -1);
		}
		wait_end(me);
		wait_off(mt->mt_wait, me);
	}
	return ld_seq(mt->mt_count) == mt->mt_seen ? error : 0;
}

int
fifo_open(const struct plat_path *pp, int oflag, struct file *f)
{
	struct slot *me = slot_self();
	int error = me != NULL ? hold(me, pp, oflag, f) : errno;

	return error != 0 ? error : fifo_enter(f, oflag);
}

int
fifo_enter(struct file *f, int oflag)
{
	struct slot *me = slot_self();
	struct meeting mt;
	int error = head_reopen(f->f_head, oflag);

	if (error == 0)
		error = join(me, f, oflag, &mt);
	if (error != 0)
		return error;
	head_wake(f->f_head); /* V2 */
	head_event(f->f_head, S_CLEARED, 0);
	return mt.mt_due && !(oflag & O_NONBLOCK) ? meet(me, &mt) : 0;
}

bool
fifo_counts(const struct file *f)
{
	return f->f_side != 0 || ld_acq(&f->f_head->sd_joiner) == f;
}

/* ---- leaving --------------------------------------------------------------------------- */

void
fifo_leave(struct file *f)
{
	struct slot *me = slot_self();
	struct stdata *sd = f->f_head;
	bool ended;

	if (me == NULL)
		return;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	ASSERT(sd->sd_opens > 0);
	settle(sd);
	ended = (f->f_side & FIFO_WRITES) && sd->sd_writers == 1;
	if (f->f_side != 0)
		count(sd, f, 0);
	ASSERT(f->f_side == 0);
	lock_leave(me, &registry->rg_lock);
	head_wake(sd);
	head_event(sd, ended ? S_HANGUP : S_CLEARED, 0);
}

/* A reader is told of the end only if there has been a beginning. */
short
fifo_events(const struct stdata *sd)
{
	uint32_t state = ld_seq(&sd->sd_state);
	short events = 0;

	if ((state & SD_NOWRITER) && ld_seq(&sd->sd_wopened) != 0)
		events |= POLLHUP;
	if (state & SD_BROKEN)
		events |= POLLERR;
	return events;
}
