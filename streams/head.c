/* SPDX-License-Identifier: BSD-2-Clause */
/* head.c: a stream head's life: open, push, pop, close, pipes. */
#include "head.h"
#include "arena.h"
#include "cache.h"
#include "claim.h"
#include "fd.h"
#include "head_sig.h"
#include "head_trace.h"
#include "flow.h"
#include "heap.h"
#include "putnext.h"

#include <errno.h>
#include <stropts.h>
#include <string.h>
#include <sys/ddi.h>
#include <sys/strsubr.h>
#include <unistd.h>

struct head_root *head_root;

/* A head and its queue pair are one object. */
struct headobj {
	struct stdata ho_sd;
	queue_t ho_q[2];
};

static struct queue_tables head_tables; /* C  the same in every process */

_Static_assert(offsetof(struct stdata, sd_rwait) == LINE, "waiting on line 1");
_Static_assert(offsetof(struct stdata, sd_plumber) == LINE * 2, "plumbing on line 2");

/* ---- setting up -------------------------------------------------------------------- */

/* A back-enable reached the write side of a head: writers look again. */
static int
head_wsrv(queue_t *q)
{
	head_writable(q->q_stream);
	return 0;
}

/* Nobody puts to a head's write queue but a FIFO's or pipe's lower half gone wrong. */
static int
head_wput(queue_t *q, mblk_t *mp)
{
	putnext(q, mp);
	return 0;
}

static struct module_info head_info = { 0, "strhead", 0, INFPSZ, HEAD_HIWAT, HEAD_LOWAT };
static struct qinit head_rinit = { head_rput, NULL, NULL, NULL, NULL, &head_info, NULL };
static struct qinit head_winit = { head_wput, head_wsrv, NULL, NULL, NULL, &head_info, NULL };

static void
construct(void *p)
{
	memset(p, 0, sizeof(struct headobj));
}

/* Follows head_root: what all stream heads' queues point to. */
struct side {
	struct qinit qinit;
	struct module_info info;
	char name[16];
};

const struct qinit *
head_qinfo(void)
{
	return (const struct qinit *)(head_root + 1);
}

void
head_settables(struct queue_tables *qt)
{
	qt->qt_rd = qt->qt_wr = (struct qinit *)(head_root + 1);
	qt->qt_idx = PROCS_HEAD;
	qt->qt_wrsrv = true;
}

bool
head_claim(void)
{
	const struct side *sd = (const struct side *)head_qinfo();

	return claim_take(head_root, sizeof(*head_root) + sizeof(*sd), CL_TABLE) &&
		sd->qinit.qi_minfo == &sd->info && sd->info.mi_idname == sd->name &&
		strcmp(sd->name, head_info.mi_idname) == 0;
}

int
head_init(void)
{
	struct side *sd;

	head_root = arena_root_make(ROOT_HEAD, sizeof(*head_root) + sizeof(*sd));
	if (head_root == NULL)
		return ENOMEM;
	head_root->hr_nstrpush = 64;
	head_root->hr_strmsgsz = 262144;
	head_root->hr_strctlsz = 4096;
	head_root->hr_hiwat = HEAD_HIWAT;
	head_root->hr_lowat = HEAD_LOWAT;
	head_root->hr_cltime = 15000;
	head_root->hr_ioctltime = 15000;
	sd = (struct side *)(head_root + 1);
	sd->info = head_info;
	strcpy(sd->name, "strhead");
	sd->info.mi_idname = sd->name;
	sd->qinit.qi_minfo = &sd->info;
	return 0;
}

void
head_init_process(void)
{
	uint32_t idx = PROCS_HEAD;

	head_root = arena_root(ROOT_HEAD);
	head_settables(&head_tables);
	put_set(idx, (struct procs){ head_rinit.qi_putp, put_absent.pc_srv, NULL, NULL });
	put_set(idx + 1, (struct procs){ head_winit.qi_putp, head_winit.qi_srvp, NULL, NULL });
	if (USTR_HEAD_CACHE)
		cache_setup(CLASS_HEAD, sizeof(struct headobj), 8, construct);
}

cred_t
head_cred(void)
{
	return (cred_t){ 1, geteuid(), getegid(), getuid(), getgid() };
}

/* ---- making and freeing --------------------------------------------------------------- */

void
head_setup(queue_t *hrq)
{
	queue_setup(hrq, &head_tables, 0);
	hrq->q_kind |= QK_HEADR;
	OTHERQ(hrq)->q_kind |= QK_HEADW;
}

struct stdata *
head_alloc(struct group *g, uint32_t kind)
{
	struct slot *me = slot_self();
	struct headobj *ho;
	struct stdata *sd;

	ASSERT(kind == HEAD_PIPE || kind == HEAD_DEVICE || kind == HEAD_FIFO);
	if (me == NULL)
		return NULL;
	if (USTR_HEAD_CACHE)
		ho = heap_fails() ? NULL : cache_alloc(me, CLASS_HEAD);
	else
		ho = heap_alloc(sizeof(*ho));
	if (ho == NULL)
		return NULL;
	memset(ho, 0, sizeof(*ho));
	sd = &ho->ho_sd;
	sd->sd_rq = ho->ho_q;
	sd->sd_kind = kind;
	sd->sd_wopt = kind == HEAD_DEVICE ? SNDZERO : 0;
	sd->sd_ropt = RNORM | RPROTNORM;
	sd->sd_cltime = (uint32_t)head_root->hr_cltime;
	sd->sd_id = faa(&head_root->hr_nextid, 1u) + 1;
	sd->sd_uid = geteuid();
	sd->sd_gid = getegid();
	head_setup(ho->ho_q);
	for (queue_t *q = ho->ho_q; q < ho->ho_q + 2; q++) {
		q->q_stream = sd;
		q->q_hiwat = (size_t)ld_rlx(&head_root->hr_hiwat);
		q->q_lowat = (size_t)ld_rlx(&head_root->hr_lowat);
	}
	head_wq(sd)->q_next = plumb_root->pl_deadend + 1;
	sd->sd_cell = group_join(g, sd->sd_rq);
	plumb_resolve(sd->sd_rq);
	htrace_born(sd);
	return sd;
}

void
head_empty(struct stdata *sd)
{
	mblk_t *answer = sd->sd_ians;

	st_rel(&sd->sd_ians, NULL);
	freemsg(answer);
	hq_flush(sd, FLUSHALL, -1);
	ASSERT(!hq_any(sd->sd_rq) && head_wq(sd)->q_first == NULL);
	sig_freeall(sd);
}

void
head_free(struct stdata *sd)
{
	struct slot *me = slot_self();
	queue_t *rq = sd->sd_rq;

	ASSERT(ld_rlx(&sd->sd_iid) == 0 || sd->sd_opens == 0);
	head_empty(sd);
	htrace_gone(sd);
	ASSERT(sd->sd_sigs == NULL);
	group_part(sd->sd_cell, rq);
	band_freeall(rq);
	band_freeall(rq + 1);
	if (!USTR_HEAD_CACHE)
		heap_free(sd, sizeof(struct headobj));
	else if (me != NULL)
		cache_free(me, CLASS_HEAD, sd);
}

/* ---- being the plumber ------------------------------------------------------------------ */

/* A plumber was killed: he may have linked a module, or taken one out, and not counted it. */
static void
count_modules(struct stdata *sd)
{
	uint32_t n = 0;

	while (head_module(sd, n) != NULL)
		n++;
	st_rlx(&sd->sd_pushed, n);
	if (ld_rlx(&sd->sd_anchor) > n)
		st_rlx(&sd->sd_anchor, n);
}

/* Inside the group: try to become sd_plumber. */
static bool
plumber_try(struct slot *me, struct stdata *sd)
{
	uint32_t owner = ld_seq(&sd->sd_plumber);

	ASSERT(ld_rlx(&me->sl_home) != NULL);
	if (owner != 0 && !slot_gone(owner))
		return false;
	if (!cas(&sd->sd_plumber, &owner, me->sl_key))
		return false;
	if (owner != 0)
		count_modules(sd);
	return true;
}

/* Wait a little for sd_plumber; ETIME: it is stopped. */
static int
plumber_wait(struct stdata *sd, unsigned int *step, int64_t *since)
{
	struct slot *s = slot_of(ld_seq(&sd->sd_plumber));

	ASSERT(slot_tls == NULL || ld_rlx(&slot_tls->sl_home) == NULL);
	return plat_backoff(step) && s != NULL && slot_stopped(s, since) ? ETIME : 0;
}

int
head_plumb_take(struct call *c, struct stdata *sd)
{
	unsigned int step = 0;
	int64_t since = 0;
	int error;

	while (!plumber_try(c->c_me, sd)) {
		/* A stale owner read outside the group is at worst a stranger. */
		plumb_exit(c->c_me);
		error = plumber_wait(sd, &step, &since);
		if (call_reenter(c) != 0)
			return EBADF;
		if (error != 0)
			return error;
	}
	return 0;
}

int
head_plumb_enter(struct call *c)
{
	return head_plumb_take(c, c->c_head);
}

int
head_enter(struct slot *me, struct stdata *sd)
{
	unsigned int step = 0;
	int64_t since = 0;
	int error = 0;

	while (error == 0) {
		plumb_into(me, head_group(sd));
		if (plumber_try(me, sd))
			return 0;
		plumb_exit(me);
		error = plumber_wait(sd, &step, &since);
	}
	return error;
}

void
head_plumb_leave(struct stdata *sd)
{
	ASSERT(ld_rlx(&sd->sd_plumber) == slot_tls->sl_key); /* nobody takes it from the living */
	(void)xchg(&sd->sd_plumber, 0u);
}

/* ---- modules ------------------------------------------------------------------------------- */

struct regent *
head_module(struct stdata *sd, uint32_t i)
{
	queue_t *q = head_wq(sd);

	while ((q = head_next(sd, q)) != NULL && !(q->q_kind & QK_DRIVER))
		if (i-- == 0)
			return registry_of(q);
	return NULL;
}

queue_t *
head_pair(struct stdata *sd, struct regent *re, uint32_t kind)
{
	queue_t *rq = queue_alloc();

	if (rq == NULL)
		return NULL;
	ASSERT(kind == 0 || kind == QK_DRIVER);
	queue_setup(rq, &re->re_tables, kind);
	if (registry_perims(re, rq) != 0) {
		queue_free(rq);
		return NULL;
	}
	rq->q_stream = rq[1].q_stream = sd;
	st_rel(&rq->q_runq, ld_acq(&sd->sd_rq->q_runq));
	st_rel(&rq[1].q_runq, ld_acq(&sd->sd_rq->q_runq));
	rq->q_next = sd->sd_rq;
	rq[1].q_next = kind & QK_DRIVER ? NULL : head_wq(sd)->q_next;
	return rq;
}

void
head_unpair(struct regent *re, queue_t *rq)
{
	rq->q_next = rq[1].q_next = NULL;
	queue_drain(rq);
	registry_unperims(re, rq);
	queue_free(rq);
}

int
head_elsewhere(const queue_t *q)
{
	uint32_t module = code_of(q->q_procs);

	if (likely(code_here(q)) || !code_lives(module))
		return 0;
	code_ring(module);
	return EXDEV;
}

int
head_callopen(struct slot *me, queue_t *rq, dev_t *dev, int oflag, int sflag)
{
	const struct procs *pc = &put_procs[rq->q_procs];
	cred_t cr = head_cred();
	int error = 0;

	ASSERT(ld_rlx(&me->sl_home) != NULL && rq->q_stream != NULL);
	if (rq->q_perim != NULL && !perim_enter(me, rq->q_perim))
		return ETIME;
	if (pc->pc_open != NULL)
		error = pc->pc_open(rq, dev, oflag, sflag, &cr);
	if (rq->q_perim != NULL)
		perim_leave(me, rq->q_perim);
	if (error == 0)
		qprocson(rq);
	return error == OPENFAIL ? ENXIO : error;
}

/* Run the close routine inside its perimeter: 0, or ETIME and nothing was done. */
static int
run_close(struct slot *me, queue_t *rq, int oflag)
{
	const struct procs *pc = &put_procs[rq->q_procs];
	cred_t cr = head_cred();

	ASSERT(ld_rlx(&me->sl_home) != NULL);
	if (rq->q_perim != NULL && !perim_enter(me, rq->q_perim))
		return ETIME;
	if (pc->pc_close != NULL && ld_acq(&rq->q_closing) == CLOSE_NOT) {
		st_rel(&rq->q_closing, (size_t)CLOSE_CALLED);
		pc->pc_close(rq, oflag, &cr);
		st_rel(&rq->q_closing, (size_t)CLOSE_DONE);
	}
	qprocsoff(rq);
	if (rq->q_perim != NULL)
		perim_leave(me, rq->q_perim);
	/* QHLIST may be left by a thread that was killed. */
	ASSERT(!(rq->q_flag & (QPROCS | QENAB)) && rq->q_pfirst == NULL);
	return 0;
}

/* Can the group be had for relinking, or is somebody in it stopped? */
static int
relinkable(struct slot *me)
{
	if (!plumb_try(me))
		return ETIME;
	plumb_unlock(me);
	return 0;
}

int
head_push(struct slot *me, struct stdata *sd, const char *name, int oflag)
{
	dev_t dev = sd->sd_reg != NULL ? makedevice(sd->sd_reg->re_major, sd->sd_minor) : 0;
	struct regent *re;
	queue_t *rq;
	int error;

	ASSERT(ld_rlx(&sd->sd_plumber) == me->sl_key);
	if ((long)ld_rlx(&sd->sd_pushed) >= ld_rlx(&head_root->hr_nstrpush))
		return EINVAL;
	error = relinkable(me);
	if (error != 0)
		return error;
	re = registry_hold(name, strnlen(name, FMNAMESZ + 1), REG_MODULE);
	if (re == NULL)
		return EINVAL;
	rq = head_pair(sd, re, 0);
	if (rq == NULL) {
		registry_rele(me, re);
		return ENOSR;
	}
	error = head_callopen(me, rq, &dev, oflag, MODOPEN);
	if (error != 0) {
		qprocsoff(rq);
		head_unpair(re, rq);
		registry_rele(me, re);
		return error;
	}
	registry_rele(me, re); /* it is linked: U2 of registry.h */
	st_rlx(&sd->sd_pushed, sd->sd_pushed + 1);
	return 0;
}

/*
 * Somebody died in the close routine of this pair.  It is not called again; what it
 * was about to take out may still lead to the queues: they stay, and lead nowhere.
 */
static void
pair_abandon(queue_t *rq)
{
	queue_drain(rq);
	for (int i = 0; i < 2; i++) {
		rq[i].q_stream = NULL;
		st_rel(&rq[i].q_next, &plumb_root->pl_deadend[i]);
		st_rel(&rq[i].q_nfsrv, &plumb_root->pl_deadend[i]);
	}
	faa(&slot_root->sr_leaked, 2 * sizeof(*rq));
}

int
head_dispose(struct slot *me, queue_t *wq, int oflag)
{
	queue_t *rq = RD(wq);
	struct regent *re = registry_of(rq);
	int error = head_elsewhere(wq);

	ASSERT(!(wq->q_kind & (QK_READ | QK_HEADW | QK_DEADEND)));
	ASSERT(ld_rlx(&wq->q_stream->sd_plumber) == me->sl_key);
	if (error == 0)
		error = relinkable(me);
	if (error != 0)
		return error;
	registry_hand(me, re);
	error = run_close(me, rq, oflag);
	if (error == 0 && ld_acq(&rq->q_closing) == CLOSE_CALLED)
		pair_abandon(rq);
	else if (error == 0)
		head_unpair(re, rq);
	registry_rele(me, re);
	return error;
}

int
head_pop(struct call *c)
{
	struct stdata *sd = c->c_head;
	int error;

	ASSERT(ld_rlx(&sd->sd_plumber) == c->c_me->sl_key);
	if (head_module(sd, 0) == NULL)
		return EINVAL;
	if (ld_rlx(&sd->sd_pushed) <= ld_rlx(&sd->sd_anchor) && geteuid() != 0)
		return EPERM;
	error = head_dispose(c->c_me, head_wq(sd)->q_next, (int)ld_rlx(&c->c_file->f_flags));
	if (error != 0)
		return error == EXDEV ? ENXIO : error; /* only who has the code can pop it */
	ASSERT(sd->sd_pushed > 0);
	st_rlx(&sd->sd_pushed, sd->sd_pushed - 1);
	if (sd->sd_anchor > sd->sd_pushed)
		st_rlx(&sd->sd_anchor, sd->sd_pushed);
	return 0;
}

/* ---- pipes ------------------------------------------------------------------------------------ */

void
strweld(queue_t *a, queue_t *b)
{
	plumb_weld(a, b);
}

int
head_pipe(struct stdata *sd[2])
{
	struct group *g = group_alloc();

	sd[0] = g != NULL ? head_alloc(g, HEAD_PIPE) : NULL;
	sd[1] = sd[0] != NULL ? head_alloc(g, HEAD_PIPE) : NULL;
	if (g != NULL)
		group_rele(g); /* the streams keep it */
	if (sd[1] == NULL) {
		if (sd[0] != NULL)
			head_free(sd[0]);
		return ENOSR;
	}
	sd[0]->sd_mate = sd[1];
	sd[1]->sd_mate = sd[0];
	pipe_join(sd[0]->sd_rq, sd[1]->sd_rq);
	return 0;
}

void
head_unpipe(struct stdata *sd[2])
{
	ASSERT(sd[0]->sd_opens == 0 && sd[1]->sd_opens == 0);
	ASSERT(sd[0]->sd_mate == sd[1] && sd[1]->sd_mate == sd[0]);
	head_free(sd[0]);
	head_free(sd[1]);
}
