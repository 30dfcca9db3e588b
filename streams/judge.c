/* SPDX-License-Identifier: BSD-2-Clause */
/* judge.c: V1 of judge.h, and the order of it all. */
#include "judge.h"
#include "autopush.h"
#include "cache.h"
#include "callout.h"
#include "claim.h"
#include "errand.h"
#include "heap.h"
#include "link.h"
#include "node.h"
#include "strlog.h"
#include "trace.h"

#include <stdarg.h>
#include <stdio.h>

/* What was found wrong first. */
static struct {
	char *what;
	size_t size;
} verdict;

bool
judge_blame(const char *fmt, ...)
{
	va_list ap;

	if (verdict.what[0] != '\0')
		return false;
	va_start(ap, fmt);
	vsnprintf(verdict.what, verdict.size, fmt, ap);
	va_end(ap);
	return false;
}

bool
judge_carved(const void *p, size_t size)
{
	uintptr_t at = (uintptr_t)p - (uintptr_t)arena, end = ld_acq(&arena->ar_brk);

	return at >= sizeof(*arena) && at < end && size <= end - at && at % sizeof(void *) == 0;
}

/* ---- V1: slots and processes ---------------------------------------------------------- */

static bool
slot_sound(const struct slot *s, uint32_t i)
{
	if (!claim_take(s, sizeof(*s), CL_TABLE) || s->sl_id != i)
		return false;
	for (int h = 0; h < HANDS; h++)
		if (s->sl_file[h] != NULL && !judge_carved(s->sl_file[h], sizeof(struct file)))
			return false;
	return cache_claim_slot(s, msg_constructed);
}

static bool
proc_sound(const struct proc *p, uint32_t i)
{
	if (!claim_take(p, sizeof(*p), CL_TABLE) || p->pr_id != i || ld_acq(&p->pr_state) > PROC_DYING ||
	    (p->pr_fd0 != NULL && !claim_take(p->pr_fd0, FD_INLINE * sizeof(struct fdent), CL_DATA)) ||
	    (p->pr_fd != NULL && !claim_take(p->pr_fd, FD_CHUNKS * sizeof(struct fdent *), CL_DATA)))
		return false;
	for (int n = 0; p->pr_fd != NULL && n < FD_CHUNKS; n++)
		if (p->pr_fd[n] != NULL &&
		    !claim_take(p->pr_fd[n], FD_CHUNK * sizeof(struct fdent), CL_DATA))
			return false;
	/* Only a slot that was never used lacks a table. */
	return ld_acq(&p->pr_state) == PROC_FREE || (p->pr_fd0 != NULL && p->pr_fd != NULL);
}

static bool
members_sound(void)
{
	const char *spare = slot_root->sr_reserve;
	size_t n = (size_t)(slot_root->sr_reserve_end - spare);

	for (uint32_t i = 1; i < NSLOT; i++)
		if (slot_at(i) != NULL && !slot_sound(slot_at(i), i))
			return judge_blame("thread slot %u", i);
	for (uint32_t i = 1; i < NPROC; i++)
		if (slot_procat(i) != NULL && !proc_sound(slot_procat(i), i))
			return judge_blame("process slot %u", i);
	return n == 0 || claim_take(spare, n, CL_TABLE) || judge_blame("its slots");
}

/* ---- V1: what else never shrinks ---------------------------------------------------- */

static bool
rings_sound(void)
{
	if (!claim_take(trace_root, sizeof(*trace_root), CL_TABLE))
		return false;
	for (const struct trace *t = trace_root->tt_first; t != NULL; t = t->tr_link)
		if (!judge_carved(t, sizeof(*t)) || t->tr_records < TRACE_MIN ||
		    t->tr_records > TRACE_MAX || (t->tr_records & (t->tr_records - 1)) != 0 ||
		    !claim_take(t, trace_size(t->tr_records), CL_RING))
			return false;
	return true;
}

/* It is listed, or free and somebody was killed while he had it noted, or nobody else's. */
static bool
note_sound(const struct heap_note *note)
{
	const void *p = note->hn_mem;

	return p == NULL || claim_is(p, CL_RING) || (heap_noting(note) && claim_is(p, CL_FREE)) ||
		(note->hn_size > 0 && note->hn_size <= HEAP_MAX &&
			judge_carved(p, note->hn_size) && claim_take(p, note->hn_size, CL_RING));
}

static bool
notes_sound(void)
{
	for (uint32_t i = 1; i < NSLOT; i++)
		if (slot_at(i) != NULL && !note_sound(&slot_at(i)->sl_note))
			return judge_blame("thread slot %u", i);
	return true;
}

static bool
memory_sound(void)
{
	size_t size[NCLASS];

	for (unsigned int id = 0; id < NCLASS; id++)
		size[id] = msg_object_size(id);
	if (USTR_HEAD_CACHE) {
		size[CLASS_PAIR] = 2 * sizeof(queue_t);
		size[CLASS_HEAD] = sizeof(struct stdata) + 2 * sizeof(queue_t);
	}
	return (heap_claim() && cache_claim(size, msg_constructed)) || judge_blame("its free memory");
}

static bool
tables_sound(void)
{
	if (!claim_take(slot_root, sizeof(*slot_root), CL_TABLE))
		return judge_blame("its slots");
	if (!memory_sound() || !members_sound())
		return false;
	if (!claim_take(plumb_root, sizeof(*plumb_root), CL_TABLE) || !plumb_deadend_sound())
		return judge_blame("its groups");
	if (!registry_claim())
		return judge_blame("its modules");
	if (!head_claim())
		return judge_blame("its streams");
	if (!callout_judge())
		return judge_blame("its callbacks");
	return (rings_sound() || judge_blame("its rings of events")) && notes_sound();
}

/* ---- V3: what leads into streams ---------------------------------------------------------- */

bool
judge_regent(const struct regent *re)
{
	size_t at = (uintptr_t)re - (uintptr_t)registry->rg_ent;

	return re == NULL || (at < sizeof(registry->rg_ent) && at % sizeof(*re) == 0);
}

/* A file that is not that any more has another number, or none. */
static bool
in_hands(const struct slot *s)
{
	for (int h = 0; h < HANDS; h++)
		if (s->sl_file[h] != NULL && s->sl_file[h]->f_gen == s->sl_filegen[h] &&
		    !judge_file(s->sl_file[h]))
			return false;
	return true;
}

static bool
in_slots(void)
{
	for (uint32_t i = 1; i < NSLOT; i++) {
		const struct slot *s = slot_at(i);

		if (s != NULL && (!judge_group(s->sl_home) || !judge_group(s->sl_visiting) ||
				  !in_hands(s)))
			return judge_blame("thread slot %u", i);
	}
	return true;
}

static bool
entries(const struct fdent *e, int n)
{
	for (int i = 0; i < n; i++)
		if (!judge_ref(e[i].fe_file) || !judge_group(e[i].fe_group))
			return false;
	return true;
}

static bool
in_descriptors(void)
{
	for (uint32_t i = 1; i < NPROC; i++) {
		const struct proc *p = slot_procat(i);
		bool ok;

		/* Also if it is free: who looks for a stream by its number goes through all. */
		if (p == NULL || p->pr_fd0 == NULL || p->pr_fd == NULL)
			continue;
		ok = entries(p->pr_fd0, FD_INLINE);
		for (int n = 0; ok && n < FD_CHUNKS; n++)
			ok = p->pr_fd[n] == NULL || entries(p->pr_fd[n], FD_CHUNK);
		if (!ok)
			return judge_blame("the descriptors of process slot %u", i);
	}
	return true;
}

/* Each on the chain where it is looked for. */
static bool
in_nodes(void)
{
	for (int i = 0; i < NODE_CHAINS; i++)
		for (const struct node *nd = head_root->hr_node[i]; nd != NULL; nd = nd->nd_next)
			if (!claim_take(nd, sizeof(*nd), CL_NODE) || node_chain(&nd->nd_path) != i ||
			    nd->nd_kind > NODE_ATTACH || nd->nd_head == NULL ||
			    (nd->nd_kind == NODE_ATTACH && nd->nd_file == NULL) ||
			    !judge_head(nd->nd_head) || !judge_ref(nd->nd_file))
				return judge_blame("a named stream");
	return true;
}

/* Somebody will go on with it, if there is anything left. */
static bool
closing_sound(const struct file *f)
{
	if (!judge_file(f))
		return false;
	if ((f->f_closing == FILE_OPEN || f->f_closing == FILE_LAST) && f->f_head != NULL)
		(void)claim_count(f->f_head);
	return true;
}

static bool
file_lists(void)
{
	size_t n = 0;

	for (const struct file *f = head_root->hr_unclosed; f != NULL; f = f->f_next)
		if (!closing_sound(f) || f->f_ref != 0 || ++n > claim_most())
			return judge_blame("its list of closes");
	for (const struct file *f = head_root->hr_suspect; f != NULL; f = f->f_suspect)
		if (!judge_file(f) || ++n > 2 * claim_most())
			return judge_blame("its list of files");
	return true;
}

static bool
link_sound(const struct link *lk)
{
	return claim_take(lk, sizeof(*lk), CL_LINK) && judge_head(lk->lk_upper) &&
		lk->lk_lower != NULL && judge_head(lk->lk_lower) && lk->lk_mux != NULL &&
		judge_regent(lk->lk_mux) && judge_regent(lk->lk_below) && lk->lk_file != NULL &&
		judge_ref(lk->lk_file) && judge_perim(lk->lk_perim[0]) && judge_perim(lk->lk_perim[1]);
}

static bool
in_registry(void)
{
	size_t n = 0;

	for (uint32_t i = 0; i < registry->rg_n; i++) {
		const struct regent *re = &registry->rg_ent[i];

		if (re->re_kind == REG_FREE)
			continue;
		if (!judge_perim(re->re_perim) || !judge_group(re->re_group))
			return judge_blame("module %.8s", re->re_name);
		for (const struct stdata *sd = re->re_open; sd != NULL; sd = sd->sd_nextopen)
			if (!judge_head(sd) || ++n > claim_most())
				return judge_blame("the streams of driver %.8s", re->re_name);
	}
	for (const struct link *lk = registry->rg_links; lk != NULL; lk = lk->lk_next)
		if (!link_sound(lk))
			return judge_blame("its links");
	return autopush_claim() || judge_blame("its autopush list");
}

static bool
elsewhere(void)
{
	return (callout_sound(judge_queue, judge_group) || judge_blame("its callbacks")) &&
		(strlog_sound(judge_queue) || judge_blame("its log")) &&
		(errand_sound(judge_group) || judge_blame("its errands"));
}

/* ---- all of it ----------------------------------------------------------------------------------- */

bool
judge_arena(char *what, size_t n)
{
	bool ok;

	verdict.what = what;
	verdict.size = n;
	what[0] = '\0';
	if (!claim_begin())
		return judge_blame("or larger than there is memory to look at it");
	ok = judge_begin() || judge_blame("or larger than there is memory to look at it");
	ok = ok && tables_sound() && judge_groups() && in_slots() && in_descriptors() && in_nodes() &&
		file_lists() && in_registry() && elsewhere() && judge_runs() && judge_streams();
	judge_end();
	claim_end();
	return ok;
}
