/* SPDX-License-Identifier: BSD-2-Clause */
/* strlog.c: strlog() and the readers of the log; the labels are those of strlog.h. */
#include "strlog.h"
#include "arena.h"
#include "claim.h"
#include "perim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/log.h>
#include <sys/strsubr.h>
#include <sys/sunddi.h>
#include <syslog.h>

struct log_class {
	queue_t *lc_q;			      /* L  read queue of the reader, or NULL */
	unsigned int lc_flag;		      /* C  SL_TRACE, SL_ERROR, SL_CONSOLE */
	int lc_seq;			      /* L  messages of this class so far */
	size_t lc_nids;			      /* L  of a tracer: what he wants */
	struct trace_ids lc_ids[LOGTRACEIDS]; /* L */
};

enum { NCLASSES = 3 };

struct log_root {
	uint32_t lg_lock; /* A  L */
	uint32_t lg_read; /* A  SL_* of the classes that are read */
	struct log_class lg_class[NCLASSES];
};

static struct log_root *root;

static const unsigned int class_flag[NCLASSES] = {SL_TRACE, SL_ERROR, SL_CONSOLE};

int
strlog_init(void)
{
	root = arena_root_make(ROOT_LOG, sizeof(*root));
	if (root == NULL)
		return ENOMEM;
	for (int i = 0; i < NCLASSES; i++)
		root->lg_class[i].lc_flag = class_flag[i];
	return 0;
}

void
strlog_join(void)
{
	root = arena_root(ROOT_LOG);
}

/* ---- readers ------------------------------------------------------------------------ */

static struct log_class *
class_of(unsigned int flag)
{
	struct log_class *lc = root->lg_class;

	while (lc->lc_flag != flag) {
		lc++;
		ASSERT(lc < root->lg_class + NCLASSES);
	}
	return lc;
}

int
strlog_attach(queue_t *rq, unsigned int class, const struct trace_ids *ids, size_t n)
{
	struct slot *me = slot_self();
	struct log_class *lc = class_of(class);
	int error = 0;

	if (me == NULL)
		return ENOMEM;
	if (n > LOGTRACEIDS)
		return EINVAL;
	lock_enter(me, &root->lg_lock, RANK_LOG);
	ASSERT(rq->q_kind & QK_READ);
	if (lc->lc_q != NULL && lc->lc_q != rq) {
		error = EBUSY;
	} else {
		lc->lc_q = rq;
		lc->lc_nids = n;
		if (n > 0)
			memcpy(lc->lc_ids, ids, n * sizeof(*ids));
		f_or(&root->lg_read, class);
	}
	lock_leave(me, &root->lg_lock);
	return error;
}

void
strlog_detach(queue_t *rq)
{
	struct slot *me = slot_self();

	if (me == NULL)
		return;
	lock_enter(me, &root->lg_lock, RANK_LOG); /* L3 */
	for (struct log_class *lc = root->lg_class; lc < root->lg_class + NCLASSES;
	     lc++) {
		if (lc->lc_q != rq)
			continue;
		lc->lc_q = NULL;
		f_and(&root->lg_read, ~lc->lc_flag);
	}
	lock_leave(me, &root->lg_lock);
}

/* ---- one message ----------------------------------------------------------------------- */

static bool
traced(const struct trace_ids *ti, const struct log_ctl *ctl)
{
	return (ti->ti_mid == -1 || ti->ti_mid == ctl->mid) &&
	    (ti->ti_sid == -1 || ti->ti_sid == ctl->sid) &&
	    ((signed char)ti->ti_level == -1 || ctl->level <= ti->ti_level);
}

/* Under lg_lock: has the class a reader, and does he want this one? */
static bool
wanted(const struct log_class *lc, const struct log_ctl *ctl)
{
	LOCK_HELD(&root->lg_lock);
	if (lc->lc_q == NULL)
		return false;
	if (lc->lc_flag != SL_TRACE)
		return true;
	for (size_t i = 0; i < lc->lc_nids; i++)
		if (traced(&lc->lc_ids[i], ctl))
			return true;
	return false;
}

/* Control part and text, or NULL. */
static mblk_t *
build(const struct log_ctl *ctl, const char *text, size_t n)
{
	mblk_t *mp = allocb(sizeof(*ctl), BPRI_HI), *dp = allocb(n, BPRI_HI);

	if (mp == NULL || dp == NULL) {
		freemsg(mp);
		freemsg(dp);
		return NULL;
	}
	mp->b_datap->db_type = M_PROTO;
	mp->b_cont = dp;
	ASSERT((size_t)(mp->b_datap->db_lim - mp->b_wptr) >= sizeof(*ctl) &&
		(size_t)(dp->b_datap->db_lim - dp->b_wptr) >= n);
	memcpy(mp->b_wptr, ctl, sizeof(*ctl));
	mp->b_wptr += sizeof(*ctl);
	memcpy(dp->b_wptr, text, n);
	dp->b_wptr += n;
	return mp;
}

/* L1: true if mp was parked, for p; the class counts it in any case. */
static bool
park(struct slot *me, struct log_class *lc, mblk_t *mp, const struct log_ctl *ctl,
    struct perim **p)
{
	bool ok, room;
	queue_t *q;

	IMPLY(mp != NULL, msg_type(mp) == M_PROTO && mp->b_cont != NULL);
	lock_enter(me, &root->lg_lock, RANK_LOG);
	ok = wanted(lc, ctl);
	if (ok) {
		ASSERT(lc->lc_q != NULL);
		int seq = lc->lc_seq++;

		q = lc->lc_q;
		room = ld_rlx(&q->q_pblocks) < LOG_PARKED * 2; /* two blocks each */
		if (room && mp != NULL) {
			memcpy(mp->b_rptr + offsetof(struct log_ctl, seq_no), &seq,
			    sizeof(seq));
			*p = q->q_perim;
			ASSERT(*p != NULL); /* invariant 2 */
			perim_park(me, *p, q, mp);
		}
		ok = room && mp != NULL;
	}
	lock_leave(me, &root->lg_lock);
	return ok;
}

/* To one class; false: its reader wants it and does not get it. */
static bool
send(struct slot *me, struct log_class *lc, const struct log_ctl *ctl, const char *text,
    size_t n)
{
	struct perim *p = NULL;
	mblk_t *mp;
	bool want;

	lock_enter(me, &root->lg_lock, RANK_LOG);
	want = wanted(lc, ctl);
	lock_leave(me, &root->lg_lock);
	if (!want)
		return true;
	mp = build(ctl, text, n);
	if (!park(me, lc, mp, ctl, &p)) {
		freemsg(mp);
		return false;
	}
	perim_announce(me, p); /* L2 */
	return true;
}

int
strlog_submit(const struct log_ctl *ctl, const char *text, size_t n)
{
	struct slot *me = slot_self();
	struct log_ctl stamped = *ctl;
	int all = 1;

	NO_LOCK_HELD();
	if (me == NULL)
		return 0;
	stamped.ltime = ddi_get_lbolt();
	stamped.ttime = time(NULL);
	for (struct log_class *lc = root->lg_class; lc < root->lg_class + NCLASSES; lc++)
		if (((unsigned int)ctl->flags & lc->lc_flag) != 0 &&
		    !send(me, lc, &stamped, text, n))
			all = 0;
	return all;
}

/* ---- the DDI routine ---------------------------------------------------------------------- */

static int
priority(unsigned int flags)
{
	static const struct {
		unsigned int flag;
		int pri;
	} table[] = {
	    {SL_FATAL, LOG_CRIT},
	    {SL_ERROR, LOG_ERR},
	    {SL_WARN, LOG_WARNING},
	    {SL_NOTE, LOG_NOTICE},
	    {SL_TRACE, LOG_DEBUG},
	    {0, LOG_INFO},
	};
	int i = 0;

	while (table[i].flag != 0 && !(flags & table[i].flag))
		i++;
	return LOG_KERN | table[i].pri;
}

int
strlog(int mid, int sid, int level, unsigned int flags, const char *fmt, ...)
{
	struct log_ctl ctl = {.mid = (short)mid,
	    .sid = (short)sid,
	    .level = (char)level,
	    .flags = (short)flags,
	    .pri = priority(flags)};
	char text[LOGMSGSZ];
	va_list ap;
	int n;

	/* Nobody reads: that is all it costs. */
	if (slot_self() == NULL || (ld_rlx(&root->lg_read) & flags) == 0)
		return 1;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		return 0;
	return strlog_submit(&ctl, text, n < LOGMSGSZ ? (size_t)n + 1 : sizeof(text));
}

bool
strlog_sound(bool (*queue)(const queue_t *))
{
	if (!claim_take(root, sizeof(*root), CL_TABLE))
		return false;
	for (int i = 0; i < NCLASSES; i++) {
		const struct log_class *lc = &root->lg_class[i];

		if (lc->lc_flag != class_flag[i] || lc->lc_nids > LOGTRACEIDS || !queue(lc->lc_q))
			return false;
	}
	return true;
}
