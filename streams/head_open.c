/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_open.c: paths, and opening what they name.
 *
 *   /dev/streams/<driver>           minor 0
 *   /dev/streams/<driver>/<minor>
 *   /dev/streams/clone/<driver>     the next free minor
 *   any other                       what is attached there, or a FIFO
 *
 * Nothing of the first three exists on disk.  A minor that is open already is
 * opened once more: its open routines run again, nothing is stacked.
 *
 * A minor whose first open or last close is under way is waited for, as long as
 * somebody is at it.  If he is stopped, or there is nobody -- noise in an instance
 * may say of any stream that it is being closed -- the open gives up with ETIME.
 */
#include "autopush.h"
#include "head_attach.h"
#include "head_fifo.h"
#include "head_trace.h"

#include <string.h>
#include <sys/ddi.h>
#include <sys/stat.h>

#define DIR "/dev/streams/"
#define CLONE "clone/"
#define FORSAKEN_NS 2000000000 /* a busy minor is left so long by who is about it, ns */

struct devname {
	const char *dn_driver;
	size_t dn_len;
	unsigned long dn_minor;
	bool dn_clone;
};

/* What follows DIR. */
static int
parse(const char *p, struct devname *dn)
{
	const char *end;

	memset(dn, 0, sizeof(*dn));
	dn->dn_clone = strncmp(p, CLONE, sizeof(CLONE) - 1) == 0;
	if (dn->dn_clone)
		p += sizeof(CLONE) - 1;
	end = strchrnul(p, '/');
	dn->dn_driver = p;
	dn->dn_len = (size_t)(end - p);
	if (*end == '\0')
		return 0;
	if (dn->dn_clone || end[1] == '\0')
		return ENOENT;
	for (p = end + 1; *p >= '0' && *p <= '9' && dn->dn_minor <= 0x0fffffff; p++)
		dn->dn_minor = dn->dn_minor * 10 + (unsigned long)(*p - '0');
	return *p == '\0' ? 0 : ENXIO;
}

/* ---- the open streams of a driver ------------------------------------------------- */

static struct stdata *
lookup(struct regent *re, uint32_t minor)
{
	struct stdata *sd = re->re_open;

	LOCK_HELD(&registry->rg_lock);
	while (sd != NULL && sd->sd_minor != minor)
		sd = sd->sd_nextopen;
	return sd;
}

/* A minor whose first open or last close is under way. */
struct busy {
	bool bu_now;
	uint32_t bu_plumber;	/* key of who is at it, or 0 */
	int64_t bu_since;	/* when it was first seen that nobody is, or 0 */
	int64_t bu_stopped;	/* slot_stopped()'s */
};

/* Has nobody been at it for long, who could go on?  For who waits, once per nap. */
static bool
forsaken(const struct slot *me, struct busy *bu)
{
	const struct slot *s = slot_of(bu->bu_plumber);
	int64_t now = plat_now();

	if (s != NULL && s != me && !slot_gone(bu->bu_plumber) &&
	    !slot_stopped(s, &bu->bu_stopped))
		bu->bu_since = 0;
	else if (bu->bu_since == 0)
		bu->bu_since = now;
	return bu->bu_since != 0 && now - bu->bu_since > FORSAKEN_NS;
}

/* Count one more open of the minor, unless it is busy. */
static struct stdata *
join(struct slot *me, struct regent *re, uint32_t minor, struct busy *bu)
{
	struct stdata *sd;
	bool busy;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	sd = lookup(re, minor);
	if (sd != NULL)
		head_settle(sd);
	busy = sd != NULL && (ld_seq(&sd->sd_state) & (SD_OPENING | SD_CLOSING));
	if (busy)
		bu->bu_plumber = ld_seq(&sd->sd_plumber);
	else if (sd != NULL)
		sd->sd_opens++;
	lock_leave(me, &registry->rg_lock);
	bu->bu_now = busy;
	return busy ? NULL : sd;
}

/* List sd under its minor, or under a free one: false if the minor is taken. */
static bool
enlist(struct slot *me, struct regent *re, struct stdata *sd, bool clone)
{
	bool ok = true;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	ASSERT(sd->sd_reg == re && sd->sd_nextopen == NULL);
	if (clone) {
		do
			sd->sd_minor = ++re->re_minor & 0x0fffffff;
		while (sd->sd_minor == 0 || lookup(re, sd->sd_minor) != NULL);
	} else {
		ok = lookup(re, sd->sd_minor) == NULL;
	}
	if (ok) {
		sd->sd_nextopen = re->re_open;
		st_rel(&re->re_open, sd); /* whole: its opener may be killed here */
		htrace_found(me, sd);
	}
	lock_leave(me, &registry->rg_lock);
	return ok;
}

static struct group *
group_for(struct slot *me, struct regent *re)
{
	struct group *g, *mine;

	if (re->re_flags & USTR_INDEPENDENT)
		return group_alloc();
	if ((g = ld_acq(&re->re_group)) != NULL)
		return g;
	mine = group_alloc();
	if (mine == NULL)
		return NULL;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	g = re->re_group;
	if (g == NULL)
		st_rel(&re->re_group, g = mine);
	lock_leave(me, &registry->rg_lock);
	if (g != mine)
		group_rele(mine);
	return g;
}

/* ---- opening ------------------------------------------------------------------------ */

/* The driver chose this minor: EBUSY if somebody has it open. */
static int
choose(struct slot *me, struct stdata *sd, uint32_t minor)
{
	const struct stdata *other;

	ASSERT(sd->sd_kind == HEAD_DEVICE && ld_rlx(&sd->sd_plumber) == me->sl_key);
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	other = lookup(sd->sd_reg, minor);
	if (other == NULL)
		st_rlx(&sd->sd_minor, minor);
	lock_leave(me, &registry->rg_lock);
	return other == NULL || other == sd ? 0 : EBUSY;
}

/* *devp is what the open routine made of the device number. */
static int
open_driver(struct slot *me, struct stdata *sd, int oflag, bool clone, dev_t *devp)
{
	struct regent *re = sd->sd_reg;
	queue_t *rq = head_pair(sd, re, QK_DRIVER);
	int error;

	ASSERT(ld_acq(&sd->sd_state) & SD_OPENING);
	if (rq == NULL)
		return ENOSR;
	*devp = makedevice(re->re_major, sd->sd_minor);
	error = head_callopen(me, rq, devp, oflag, clone ? CLONEOPEN : 0);
	if (error != 0) {
		qprocsoff(rq);
		head_unpair(re, rq);
	}
	return error;
}

/* Push what autopush has for the device: 0, or why not. */
static int
autopush(struct slot *me, struct stdata *sd, int oflag)
{
	struct strapush sap;
	int error = 0;

	ASSERT(sd->sd_pushed == 0);
	if (!autopush_find(sd->sd_reg, sd->sd_minor, &sap))
		return 0;
	for (unsigned int i = 0; error == 0 && i < sap.sap_npush; i++) {
		error = head_push(me, sd, sap.sap_list[i], oflag);
		if (error == 0 && i + 1 == sap.sap_anchor)
			st_rlx(&sd->sd_anchor, sd->sd_pushed);
	}
	return error;
}

/* The stream is whole: it is its file's, and no half-made one. */
static void
opened(struct slot *me, struct stdata *sd)
{
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	st_rel(&sd->sd_opener, NULL);
	f_and(&sd->sd_state, ~(uint32_t)SD_OPENING);
	lock_leave(me, &registry->rg_lock);
}

/* No errno, which a driver's open routine may give: somebody opened that minor first. */
#define OUTRUN (-1)

/*
 * A new stream: 0 and it, or an errno; with it as well if who asked is to close it.  He
 * has it before it is whole: whoever buries him finds one or the other.
 */
static int
open_new(struct slot *me, struct regent *re, const struct devname *dn, int oflag,
	struct file *f)
{
	struct group *g = group_for(me, re);
	struct stdata *sd = g != NULL ? head_alloc(g, HEAD_DEVICE) : NULL;
	dev_t dev;
	int error;

	if (g != NULL && (re->re_flags & USTR_INDEPENDENT))
		group_rele(g); /* the stream keeps it */
	if (sd == NULL)
		return ENOSR;
	sd->sd_reg = re;
	sd->sd_opens = 1;
	sd->sd_minor = (uint32_t)dn->dn_minor;
	sd->sd_plumber = me->sl_key;
	f_or(&sd->sd_state, (uint32_t)SD_OPENING);
	sd->sd_opener = f;
	st_rel(&f->f_head, sd); /* who is killed from here on: file_bury */
	if (!enlist(me, re, sd, dn->dn_clone)) {
		st_rel(&f->f_head, NULL);
		head_free(sd);
		return OUTRUN;
	}
	plumb_into(me, g);
	error = open_driver(me, sd, oflag, dn->dn_clone, &dev);
	if (error != 0) {
		head_detach(me, sd);
		plumb_exit(me);
		head_delist(me, sd);
		st_rel(&f->f_head, NULL);
		head_scrap(sd);
		return error;
	}
	if (dn->dn_clone)
		error = choose(me, sd, getminor(dev));
	if (error == 0)
		error = autopush(me, sd, oflag);
	opened(me, sd);
	CRASH_POINT();
	head_plumb_leave(sd);
	plumb_exit(me);
	return error;
}

/* A stream whose opener is gone, half made: the caller's now, nobody opens it. */
static struct stdata *
abandoned(struct slot *me, struct regent *re)
{
	struct stdata *sd;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	for (sd = re->re_open; sd != NULL; sd = sd->sd_nextopen) {
		uint32_t opener = ld_seq(&sd->sd_plumber);

		if ((ld_seq(&sd->sd_state) & SD_OPENING) && (opener == 0 || slot_gone(opener)) &&
		    cas(&sd->sd_plumber, &opener, me->sl_key))
			break;
	}
	if (sd != NULL && sd->sd_opener != NULL) {
		st_rel(&sd->sd_opener->f_head, NULL);
		st_rel(&sd->sd_opener, NULL);
	}
	if (sd != NULL)
		sd->sd_opens = 0;
	lock_leave(me, &registry->rg_lock);
	return sd;
}

void
head_unopen(struct file *f)
{
	struct slot *me = slot_self();
	struct stdata *sd;

	if (me == NULL)
		return;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	sd = f->f_head;
	if (sd != NULL && sd->sd_opener == f) {
		st_rel(&f->f_head, NULL);
		st_rel(&sd->sd_opener, NULL);
	}
	lock_leave(me, &registry->rg_lock);
}

void
head_adopt(struct slot *me, struct regent *re)
{
	struct stdata *sd;

	while ((sd = abandoned(me, re)) != NULL) {
		plumb_into(me, head_group(sd));
		if (head_takeapart(me, sd, O_NONBLOCK, false) != 0)
			return; /* a stopped thread is in the way; the next one tries again */
		head_delist(me, sd);
		head_scrap(sd);
	}
}

int
head_reopen(struct stdata *sd, int oflag)
{
	struct slot *me = slot_self();
	dev_t dev = sd->sd_reg != NULL ? makedevice(sd->sd_reg->re_major, sd->sd_minor) : 0;
	queue_t *q;
	int error = head_enter(me, sd);

	if (error != 0)
		return error;
	/* Modules of other programs are not asked: that is what they see of most calls. */
	for (q = head_next(sd, head_wq(sd)); error == 0 && q != NULL; q = head_next(sd, q))
		if (code_here(q) || (q->q_kind & QK_DRIVER))
			error = head_callopen(me, RD(q), &dev, oflag,
				q->q_kind & QK_DRIVER ? 0 : MODOPEN);
	head_plumb_leave(sd);
	plumb_exit(me);
	return error;
}

/* A minor of re, joined or made: 0 and its stream, or an errno. */
static int
open_minor(struct regent *re, const struct devname *dn, int oflag, struct file *f, bool *joined)
{
	struct slot *me = slot_self();
	struct busy bu = { 0 };
	unsigned int step = 0;

	for (;;) {
		int error;

		*joined = false;
		if (!dn->dn_clone)
			f->f_head = join(me, re, (uint32_t)dn->dn_minor, &bu);
		if (f->f_head != NULL) {
			*joined = true;
			return 0;
		}
		error = bu.bu_now ? OUTRUN : open_new(me, re, dn, oflag, f);
		if (error != OUTRUN)
			return error;
		if (!plat_backoff(&step))
			continue;
		head_adopt(me, re);
		if (bu.bu_now && forsaken(me, &bu))
			return ETIME;
	}
}

/* FIFOs go by nodes, and meet. */
static int
open_fifo(struct regent *re, const struct devname *dn, int oflag, struct file *f)
{
	struct plat_path pp;

	fifo_device(re, (uint32_t)dn->dn_minor, dn->dn_clone, &pp);
	registry_rele(slot_tls, re);
	return fifo_open(&pp, oflag, f);
}

/* What open(2) refuses of anything that is there and is no directory: 0 or an errno. */
static int
judge_flags(int oflag)
{
	if ((oflag & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return EEXIST;
	return oflag & O_DIRECTORY ? ENOTDIR : 0;
}

static int
open_device(const char *name, int oflag, struct file *f)
{
	struct devname dn;
	struct regent *re;
	int error = parse(name, &dn);
	bool joined;

	if (error != 0)
		return error;
	re = registry_hold(dn.dn_driver, dn.dn_len, REG_DRIVER);
	if (re == NULL)
		return ENOENT;
	error = judge_flags(oflag);
	if (error != 0) {
		registry_rele(slot_tls, re);
		return error;
	}
	if (strcmp(re->re_name, "fifo") == 0)
		return open_fifo(re, &dn, oflag, f);
	error = open_minor(re, &dn, oflag, f, &joined);
	registry_rele(slot_tls, re); /* the stream is on its list: U3 of registry.h */
	return error == 0 && joined ? head_reopen(f->f_head, oflag) : error;
}

static int
open_path(const char *path, int oflag, struct file *f)
{
	struct plat_path pp;
	int denied, error = plat_pathfind(path, oflag, &pp, &denied);
	int refused = judge_flags(oflag);
	bool there;

	if (error != 0)
		return error;
	if (refused != 0)
		denied = refused;
	error = attach_open(&pp, denied, oflag, f, &there);
	if (there)
		return error;
	if (!S_ISFIFO(pp.pp_mode))
		return ENXIO; /* whatever it is, it is no stream */
	return denied != 0 ? denied : fifo_open(&pp, oflag, f);
}

int
head_open(const char *path, int oflag, struct file *f)
{
	ASSERT(f->f_head == NULL);
	if ((oflag & O_ACCMODE) == O_ACCMODE)
		return EINVAL;
	if (strncmp(path, DIR, sizeof(DIR) - 1) == 0)
		return open_device(path + sizeof(DIR) - 1, oflag, f);
	return open_path(path, oflag, f);
}
