/* SPDX-License-Identifier: BSD-2-Clause */
/* judge_stream.c: V2 and V3 of judge.h: groups, stream heads, queues, files. */
#include "callout.h"
#include "claim.h"
#include "head_sig.h"
#include "judge.h"
#include "node.h"
#include "putnext.h"
#include "qtrace.h"

#include <stdlib.h>

#define HEAD_BYTES (sizeof(struct stdata) + 2 * sizeof(queue_t)) /* one object: head.c */

/* Pairs met, heads' among them, by their read queues; looked at in this order. */
static struct {
	const queue_t **rq;
	size_t n, done, most;
} met;

bool
judge_begin(void)
{
	met.n = met.done = 0;
	met.most = claim_most() / (2 * sizeof(queue_t) / LINE) + 1;
	met.rq = calloc(met.most, sizeof(*met.rq));
	return met.rq != NULL;
}

void
judge_end(void)
{
	free(met.rq);
	met.rq = NULL;
}

static bool
meet(const queue_t *rq)
{
	ASSERT(met.n < met.most); /* each is claimed, and larger than its share */
	met.rq[met.n++] = rq;
	return true;
}

static bool
is_deadend(const queue_t *q)
{
	return q == plumb_root->pl_deadend || q == plumb_root->pl_deadend + 1;
}

bool
judge_group(const struct group *g)
{
	return g == NULL || claim_is(g, CL_GROUP);
}

bool
judge_head(const struct stdata *sd)
{
	bool fresh;

	if (sd == NULL)
		return true;
	if (!claim_share(sd, HEAD_BYTES, CL_HEAD, &fresh) || sd->sd_rq != (const queue_t *)(sd + 1))
		return false;
	return !fresh || meet(sd->sd_rq);
}

/* Of the pair at rq, a head's or another's. */
static bool
pair_known(const queue_t *rq)
{
	return claim_is(rq, CL_PAIR) || claim_is((const char *)rq - sizeof(struct stdata), CL_HEAD);
}

bool
judge_queue(const queue_t *q)
{
	const queue_t *rq;

	if (q == NULL || is_deadend(q))
		return true;
	if (!judge_carved(q, sizeof(*q)))
		return false;
	rq = q->q_kind & QK_READ ? q : q - 1;
	if (pair_known(rq))
		return true;
	return claim_take(rq, 2 * sizeof(*rq), CL_PAIR) && meet(rq);
}

bool
judge_leftover(const queue_t *q)
{
	const queue_t *rq;
	bool fresh;

	if (!judge_carved(q, sizeof(*q)))
		return false;
	rq = q->q_kind & QK_READ ? q : q - 1;
	return pair_known(rq) || claim_share(rq, 2 * sizeof(*rq), CL_PAIR, &fresh);
}

bool
judge_file(const struct file *f)
{
	bool fresh;

	if (f == NULL)
		return true;
	if (!claim_share(f, sizeof(*f), CL_FILE, &fresh))
		return false;
	/* What is not the last file of its stream may outlive it. */
	return f->f_closing == FILE_QUIET || f->f_closing == FILE_GONE ||
		(f->f_closing <= FILE_GONE && judge_head(f->f_head));
}

bool
judge_ref(const struct file *f)
{
	if (f == NULL)
		return true;
	/* Each that leads to it was counted before it did. */
	return judge_file(f) && f->f_closing == FILE_OPEN && f->f_head != NULL &&
		claim_count(f) <= ld_rlx(&f->f_ref) && claim_count(f->f_head) > 0;
}

/* ---- queues ------------------------------------------------------------------------ */

static bool
is_reading(const queue_t *q)
{
	return (q->q_kind & QK_READ) != 0;
}

/* As many bands as are counted, and messages of the queue at their ends. */
static bool
bands_sound(const queue_t *q)
{
	unsigned int n = 0;

	for (const qband_t *qb = q->q_bandp; qb != NULL; qb = qb->qb_next, n++)
		if (!claim_take(qb, sizeof(*qb), CL_BAND))
			return false;
	return n >= q->q_nband;
}

static bool
is_message(const mblk_t *mp)
{
	return mp == NULL || claim_is(mp, CL_BLOCK) || claim_is(mp, CL_BARE);
}

static bool
list_sound(const mblk_t *first, const mblk_t *last, const uint32_t *lock, enum listed how)
{
	return judge_list(first, last, ld_acq(lock) != 0 ? LIST_BROKEN : how);
}

static bool
messages_sound(const queue_t *q)
{
	if (!list_sound(q->q_rfirst, q->q_rlast, &q->q_rlock, LIST_BOTH) ||
	    !list_sound(q->q_first, q->q_last, &q->q_lock, LIST_BOTH) ||
	    !list_sound(q->q_pfirst, q->q_plast, &q->q_plock, LIST_FORWARD))
		return false;
	for (const qband_t *qb = q->q_bandp; qb != NULL; qb = qb->qb_next)
		if (ld_acq(&q->q_lock) == 0 && (!is_message(qb->qb_first) || !is_message(qb->qb_last)))
			return false;
	return true;
}

/* A list of queues by the pointers at that offset in them. */
static bool
chain_sound(const queue_t *first, size_t link, const queue_t *last, bool lax)
{
	const queue_t *prev = NULL;
	size_t n = 0;

	for (const queue_t *q = first; q != NULL;
	     prev = q, q = *(queue_t *const *)(const void *)((const char *)q + link))
		if (!judge_queue(q) || ++n > claim_most())
			return false;
	return lax || first == NULL || prev == last;
}

bool
judge_perim(const struct perim *p)
{
	bool fresh;

	if (p == NULL)
		return true;
	return claim_share(p, sizeof(*p), CL_PERIM, &fresh) && (!fresh ||
		chain_sound(p->pe_first, offsetof(queue_t, q_plink), p->pe_last,
			ld_acq(&p->pe_lock) != 0));
}

/* A pair's own perimeters are no other pair's: they are freed with it. */
static bool
perims_sound(const queue_t *rq)
{
	const struct perim *all = registry_of(rq)->re_perim;
	const queue_t *wq = rq + 1;

	if (!judge_perim(rq->q_perim) || !judge_perim(wq->q_perim))
		return false;
	if (rq->q_perim != NULL && rq->q_perim != all && claim_count(rq->q_perim) > 1)
		return false;
	return wq->q_perim == NULL || wq->q_perim == all || wq->q_perim == rq->q_perim ||
		claim_count(wq->q_perim) == 1;
}

/* Is q set up with these, all of them or, by who was killed, some? */
static bool
set_up(const queue_t *rq, const struct queue_tables *qt, bool lax)
{
	const queue_t *wq = rq + 1;

	if (qt->qt_rd == NULL)
		return false;
	return lax || (rq->q_qinfo == qt->qt_rd && wq->q_qinfo == qt->qt_wr &&
		rq->q_procs == qt->qt_idx && wq->q_procs == qt->qt_idx + 1);
}

/* The entry that the pair's procedures belong to, or NULL. */
static const struct regent *
entry_of(const queue_t *rq)
{
	uint32_t procs = rq->q_procs;

	if (procs < 2 || code_of(procs) >= registry->rg_n)
		return NULL;
	return registry->rg_ent[code_of(procs)].re_kind != REG_FREE ?
		&registry->rg_ent[code_of(procs)] : NULL;
}

/* Procedures and tables: a module's or driver's; of a head, its own or a multiplexor's. */
static bool
tables_sound(const queue_t *rq, bool head)
{
	const struct regent *re = entry_of(rq);
	struct queue_tables own;

	if (!head)
		return re != NULL && set_up(rq, &re->re_tables, false);
	head_settables(&own);
	if (rq->q_procs == own.qt_idx)
		return set_up(rq, &own, (ld_acq(&rq->q_stream->sd_state) & SD_PLEX) != 0);
	return re != NULL && set_up(rq, &re->re_lower, true);
}

/* What is called, and what it is told that it is. */
static bool
kind_sound(const queue_t *q)
{
	uint32_t idx = ld_acq(&q->q_qidx);

	return q->q_kind < 2 * QK_PERIM && !(q->q_kind & QK_DEADEND) &&
		(q->q_procs & 1) == !is_reading(q) && (idx == QIDX_TRACED || idx == q->q_procs) &&
		(claim_is(q->q_qinfo, CL_TABLE) || q->q_qinfo == head_qinfo());
}

static bool
calls_sound(const queue_t *q)
{
	size_t n = 0;

	for (const struct callout *co = q->q_calls; co != NULL; co = co->co_next)
		if (!claim_is(co, CL_CALL) || ++n > claim_most())
			return false;
	return true;
}

static bool
ring_sound(const queue_t *q)
{
	return ld_acq(&q->q_tap) == 0 || claim_is(qtrace_ring(q), CL_RING);
}

static bool
is_heads(const queue_t *q)
{
	return q == q->q_stream->sd_rq || q == q->q_stream->sd_rq + 1;
}

/* Upwards to the head's read queue; downwards to a driver, or on to the other end. */
static bool
next_sound(const queue_t *q)
{
	const queue_t *next = q->q_next;

	if (next == NULL)
		return is_reading(q) ? is_heads(q) : !is_heads(q) && (q->q_kind & QK_DRIVER);
	return judge_queue(next) && !(is_reading(q) && (is_heads(q) || !is_reading(next)));
}

static bool
place_sound(const queue_t *q)
{
	return q->q_nfsrv != NULL && judge_queue(q->q_nfsrv) && judge_queue(q->q_gnext) &&
		plumb_group(q) != NULL && judge_group(plumb_group(q));
}

static const struct {
	bool (*sound)(const queue_t *q);
	const char *what;
} parts[] = { { kind_sound, "procedures" }, { next_sound, "ways" }, { place_sound, "place" },
	{ bands_sound, "bands" }, { messages_sound, "messages" }, { calls_sound, "callbacks" },
	{ ring_sound, "ring of events" } };

static bool
queue_sound(const queue_t *q)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!parts[i].sound(q))
			return judge_blame("stream %u: its %s", q->q_stream->sd_id, parts[i].what);
	return true;
}

static bool
pair_sound(const queue_t *rq)
{
	const struct stdata *sd = rq->q_stream;

	if (rq[1].q_stream != sd || !is_reading(rq) || is_reading(rq + 1))
		return judge_blame("stream %u: its queues", sd->sd_id);
	if (!tables_sound(rq, is_heads(rq)))
		return judge_blame("stream %u: its modules", sd->sd_id);
	if (!(is_heads(rq) ? judge_perim(rq->q_perim) && judge_perim(rq[1].q_perim) : perims_sound(rq)))
		return judge_blame("stream %u: its perimeters", sd->sd_id);
	return queue_sound(rq) && queue_sound(rq + 1);
}

/* Who was killed while he relinked left the ways as they were then. */
static bool
links_whole(const queue_t *q)
{
	const struct group *g = plumb_group(q);

	if (ld_rlx(&g->g_relinks) != 0 || (ld_acq(&q->q_stream->sd_state) & SD_DAMAGED))
		return false;
	for (int i = 0; i < NSUSPECT; i++)
		if (suspected(ld_acq(&plumb_root->pl_suspect[i])) == g)
			return false;
	return true;
}

/* The way along q_next ends, and canput's look goes along it. */
static bool
way_sound(const queue_t *q)
{
	bool found = !links_whole(q);
	size_t n = 0;

	for (const queue_t *at = q; at != NULL; at = at->q_next) {
		found |= at == q->q_nfsrv;
		if (++n > met.n * 2 + 1)
			return false;
	}
	return found;
}

/* ---- stream heads -------------------------------------------------------------------- */

static bool
node_sound(const struct node *nd)
{
	bool fresh;

	return claim_share(nd, sizeof(*nd), CL_NODE, &fresh) && nd->nd_kind <= NODE_ATTACH;
}

static bool
sigs_sound(const struct stdata *sd)
{
	for (const struct sigreg *sr = sd->sd_sigs; sr != NULL; sr = sr->sr_next)
		if (!claim_take(sr, sizeof(*sr), CL_DATA))
			return false;
	return true;
}

/* Half freed, by who was killed, or given up: nothing goes into the rest of it any more. */
static bool
is_going(const struct stdata *sd)
{
	uint32_t state = ld_acq(&sd->sd_state);

	return ((state & SD_DAMAGED) || ((state & SD_CLOSING) && ld_acq(&sd->sd_opens) == 0)) &&
		claim_counted(sd) == 0;
}

/* Its maker was killed before it was whole: nothing leads to it. */
static bool
was_unborn(const struct stdata *sd)
{
	return sd->sd_reg == NULL && sd->sd_node == NULL && claim_counted(sd) == 0;
}

/* One that was given up may have outlived its other end: nobody goes there. */
static bool
mate_sound(const struct stdata *sd)
{
	return is_going(sd) || (judge_head(sd->sd_mate) && sd->sd_mate != sd);
}

/* The list that sd_nextopen makes is judged from the driver's entry: it means nothing off it. */
static bool
head_sound(const struct stdata *sd)
{
	if (sd->sd_kind > HEAD_FIFO || !mate_sound(sd) || !judge_file(sd->sd_leaver) ||
	    !judge_file(sd->sd_joiner) || !judge_group(sd->sd_cell) || !judge_regent(sd->sd_reg))
		return false;
	if (is_going(sd) || was_unborn(sd))
		return true;
	if (sd->sd_cell == NULL || (sd->sd_kind != HEAD_PIPE && sd->sd_reg == NULL) ||
	    (sd->sd_kind == HEAD_FIFO && !node_sound(sd->sd_node)))
		return false;
	return sigs_sound(sd) && judge_msg(sd->sd_ians);
}

/* ---- V2 ----------------------------------------------------------------------------- */

static bool
merging_sound(const struct group *g)
{
	const struct group *at = g;
	size_t n = 0;

	if (!judge_group(g->g_parent) || !judge_group(g->g_absorbs))
		return false;
	for (; ld_rlx(&at->g_plumber) == GROUP_MERGED; at = at->g_parent)
		if (at->g_parent == NULL || !judge_group(at->g_parent) || ++n > claim_most())
			return false;
	return true;
}

/* The heads of g's streams, each on no other list. */
static bool
members_sound(const struct group *g)
{
	for (const queue_t *rq = g->g_heads; rq != NULL; rq = rq->q_gnext) {
		const struct stdata *sd = (const struct stdata *)rq - 1;

		if (!claim_take(sd, HEAD_BYTES, CL_HEAD) || sd->sd_rq != rq || !meet(rq))
			return false;
	}
	return true;
}

/* Links that who buries g's dead writer will make; heads are claimed by now. */
static bool
relinks_sound(const struct group *g)
{
	uint32_t n = ld_rlx(&g->g_relinks);

	if (n > RELINKS)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct relink *rl = &g->g_relink[i];

		if (rl->rl_at == NULL || is_deadend(rl->rl_at) || !judge_queue(rl->rl_at) ||
		    !judge_queue(rl->rl_to))
			return false;
	}
	return true;
}

static bool
free_cells_sound(void)
{
	size_t n = 0;

	for (const struct group *g = plumb_root->pl_free; g != NULL; g = g->g_next)
		if (!judge_group(g) || g->g_heads != NULL || ++n > claim_most())
			return false;
	return true;
}

/* No queue's and no module's, so on no other list. */
static bool
free_perims_sound(void)
{
	for (const struct perim *p = plumb_root->pl_perims; p != NULL; p = p->pe_free)
		if (!claim_take(p, sizeof(*p), CL_PERIM) || claim_count(p) != 1 || p->pe_first != NULL)
			return false;
	return true;
}

bool
judge_groups(void)
{
	const struct group *all = ld_acq(&plumb_root->pl_all);

	for (const struct group *g = all; g != NULL; g = g->g_all)
		if (!claim_take(g, sizeof(*g), CL_GROUP))
			return judge_blame("its groups");
	for (const struct group *g = all; g != NULL; g = g->g_all)
		if (!merging_sound(g) || !members_sound(g))
			return judge_blame("a group of streams");
	for (const struct group *g = all; g != NULL; g = g->g_all)
		if (!relinks_sound(g))
			return judge_blame("a group of streams");
	for (int i = 0; i < NSUSPECT; i++)
		if (!judge_group(suspected(ld_acq(&plumb_root->pl_suspect[i]))))
			return judge_blame("its groups");
	if (!free_perims_sound())
		return judge_blame("its free perimeters");
	return free_cells_sound() || judge_blame("its groups");
}

/* ---- V3 ----------------------------------------------------------------------------- */

bool
judge_runs(void)
{
	for (const struct group *g = ld_acq(&plumb_root->pl_all); g != NULL; g = g->g_all)
		if (!chain_sound(g->g_run.rq_first, offsetof(queue_t, q_link), g->g_run.rq_last,
			    ld_acq(&g->g_run.rq_lock) != 0))
			return judge_blame("a list of queues to be served");
	return true;
}

/* What modules lead to, once all that streams do is known. */
static bool
modules_sound(void)
{
	for (size_t i = 0; i < met.n; i++) {
		const struct regent *re = entry_of(met.rq[i]);

		if (re != NULL && !judge_kept(re, met.rq[i], is_heads(met.rq[i])))
			return judge_blame("stream %u: what module %.8s keeps",
				met.rq[i]->q_stream->sd_id, re->re_name);
	}
	for (uint32_t i = 0; i < registry->rg_n; i++)
		if (registry->rg_ent[i].re_kind != REG_FREE && !judge_state(&registry->rg_ent[i]))
			return judge_blame("what module %.8s keeps", registry->rg_ent[i].re_name);
	return true;
}

bool
judge_streams(void)
{
	while (met.done < met.n) {
		const queue_t *rq = met.rq[met.done++];
		const struct stdata *sd = rq->q_stream;

		if (sd == NULL || !judge_head(sd))
			return judge_blame("a queue of no stream");
		if (!pair_sound(rq) || (is_heads(rq) && !head_sound(sd)))
			return judge_blame("stream %u: its head", sd->sd_id);
	}
	for (size_t i = 0; i < met.n; i++)
		if (!way_sound(met.rq[i]) || !way_sound(met.rq[i] + 1))
			return judge_blame("stream %u: its ways", met.rq[i]->q_stream->sd_id);
	return modules_sound();
}
