/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_view.c: a picture of an arena: who takes part, which descriptors there
 * are, and which streams they and everything else lead to; see look.h.
 */
#include "look.h"
#include "head_fifo.h"
#include "link.h"
#include "node.h"
#include "plat_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void
vec_sort(struct vec *v, int (*compare)(const void *, const void *))
{
	if (v->v_n > 1)
		qsort(v->v_mem, v->v_n, v->v_size, compare);
}

/* ---- who takes part ------------------------------------------------------------------- */

const struct slot *
look_thread(const struct looking *l, uint32_t id)
{
	for (size_t i = 0; i < l->l_thread.v_n; i++) {
		const struct slot *s = vec_at(&l->l_thread, i);

		if (s->sl_id == id)
			return s;
	}
	return NULL;
}

pid_t
look_tid(const struct looking *l, uint32_t key)
{
	const struct slot *s = key == 0 ? NULL : look_thread(l, key & (NSLOT - 1));

	return s != NULL && s->sl_key == key ? s->sl_tid : 0;
}

pid_t
look_pidof(const struct looking *l, uint32_t proc)
{
	return proc < NPROC ? l->l_pid[proc] : 0;
}

static void
threads(struct looking *l)
{
	uint32_t top = l->l_slots->sr_top < NSLOT ? l->l_slots->sr_top : NSLOT;

	for (uint32_t i = 1; i < top; i++) {
		struct slot s, *copy;

		if (l->l_slots->sr_slot[i] == NULL)
			continue;
		if (!look_copy(l->l_lk, l->l_slots->sr_slot[i], LINE, &s, sizeof(s)) ||
		    s.sl_id != i) {
			look_odd(l);
			continue;
		}
		if (s.sl_state != SLOT_LIVE || slot_dead(&s))
			continue;
		copy = vec_add(&l->l_thread);
		if (copy == NULL)
			l->l_nomem = true;
		else
			*copy = s;
	}
}

static void
count_threads(const struct looking *l, uint32_t proc, struct ustr_view_process *vp)
{
	for (size_t i = 0; i < l->l_thread.v_n; i++) {
		const struct slot *s = vec_at(&l->l_thread, i);

		if (s->sl_proc != proc)
			continue;
		vp->vp_threads++;
		vp->vp_asleep += s->sl_sleep != SLEEP_NOT;
		vp->vp_inside += s->sl_home != NULL;
	}
}

static int
state_of(const struct looking *l, const struct proc *p, const struct ustr_view_process *vp)
{
	if (p->pr_state == PROC_EMBRYO)
		return USTR_PROC_STARTING;
	if (p->pr_state != PROC_LIVE)
		return USTR_PROC_DYING;
	return look_locked(l->l_lk, p) || (vp->vp_threads > 0 && plat_exists(p->pr_pid)) ?
		USTR_PROC_LIVE : USTR_PROC_DEAD;
}

/* ---- descriptors ------------------------------------------------------------------------- */

static void
found(struct looking *l, const struct stdata *sd)
{
	const struct stdata **p = sd != NULL ? vec_add(&l->l_head) : NULL;

	if (p != NULL)
		*p = sd;
	else if (sd != NULL)
		l->l_nomem = true;
}

static void
descriptor(struct looking *l, const struct fdent *e, pid_t pid, int fd)
{
	struct ref *r;
	struct file f;

	if (e->fe_file == NULL)
		return;
	if (!look_copy(l->l_lk, e->fe_file, LINE, &f, sizeof(f)) || f.f_ref == 0) {
		look_odd(l);
		return;
	}
	r = f.f_head != NULL ? vec_add(&l->l_file) : NULL;
	if (r == NULL) {
		l->l_nomem |= f.f_head != NULL;
		return;
	}
	r->r_head = f.f_head;
	r->r_fd.vf_pid = pid;
	r->r_fd.vf_fd = fd;
	r->r_fd.vf_flags = (int)f.f_flags;
	found(l, f.f_head);
}

/* Entries at address at, the first for descriptor fd; K3: read twice. */
static void
entries(struct looking *l, const struct fdent *at, unsigned int n, pid_t pid, int fd)
{
	static const struct fdent none;
	struct fdent one[FD_INLINE], two[FD_INLINE];
	size_t before, kept;

	for (unsigned int i = 0; i < n; i += FD_INLINE, at += FD_INLINE, fd += FD_INLINE) {
		before = kept = l->l_file.v_n;
		if (!look_copy(l->l_lk, at, 8, one, sizeof(one))) {
			look_odd(l);
			return;
		}
		for (int e = 0; e < FD_INLINE; e++)
			if (memcmp(&one[e], &none, sizeof(void *)) != 0)
				descriptor(l, &one[e], pid, fd + e);
		if (l->l_file.v_n == before)
			continue;
		if (!look_copy(l->l_lk, at, 8, two, sizeof(two)))
			memset(two, 0, sizeof(two));
		for (size_t k = before; k < l->l_file.v_n; k++) {
			struct ref *r = vec_at(&l->l_file, k);
			int e = r->r_fd.vf_fd - fd;

			if (one[e].fe_file == two[e].fe_file)
				*(struct ref *)vec_at(&l->l_file, kept++) = *r;
		}
		l->l_file.v_n = kept;
	}
}

static void
descriptors(struct looking *l, const struct proc *p)
{
	struct fdent *chunk[FD_CHUNKS];

	entries(l, p->pr_fd0, FD_INLINE, p->pr_pid, 0);
	if (!look_copy(l->l_lk, p->pr_fd, 8, chunk, sizeof(chunk))) {
		look_odd(l);
		return;
	}
	for (int i = 0; i < FD_CHUNKS; i++)
		if (chunk[i] != NULL)
			entries(l, chunk[i], FD_CHUNK, p->pr_pid, i * FD_CHUNK);
}

static void
process(struct looking *l, const struct proc *p)
{
	struct ustr_view_process *vp = vec_add(&l->l_process);
	size_t before = l->l_file.v_n;

	if (vp == NULL) {
		l->l_nomem = true;
		return;
	}
	l->l_pid[p->pr_id] = vp->vp_pid = p->pr_pid;
	count_threads(l, p->pr_id, vp);
	vp->vp_state = state_of(l, p, vp);
	if (vp->vp_state == USTR_PROC_LIVE)
		plat_procname(p->pr_pid, vp->vp_program);
	if (p->pr_fd0 != NULL)
		descriptors(l, p);
	vp->vp_descriptors = (unsigned int)(l->l_file.v_n - before);
}

static int
by_pid(const void *a, const void *b)
{
	const struct ustr_view_process *x = a, *y = b;

	return (x->vp_pid > y->vp_pid) - (x->vp_pid < y->vp_pid);
}

static void
processes(struct looking *l)
{
	uint32_t top = l->l_slots->sr_ptop < NPROC ? l->l_slots->sr_ptop : NPROC;

	for (uint32_t i = 1; i < top; i++) {
		struct proc p;

		if (l->l_slots->sr_proc[i] == NULL)
			continue;
		if (!look_copy(l->l_lk, l->l_slots->sr_proc[i], LINE, &p, sizeof(p)) ||
		    p.pr_id != i)
			look_odd(l);
		else if (p.pr_state != PROC_FREE && p.pr_pid > 0)
			process(l, &p);
	}
	vec_sort(&l->l_process, by_pid);
}

static int
by_head(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;

	if (x->r_head != y->r_head)
		return (uintptr_t)x->r_head < (uintptr_t)y->r_head ? -1 : 1;
	if (x->r_fd.vf_pid != y->r_fd.vf_pid)
		return x->r_fd.vf_pid < y->r_fd.vf_pid ? -1 : 1;
	return x->r_fd.vf_fd - y->r_fd.vf_fd;
}

size_t
look_files(const struct looking *l, const struct stdata *head, size_t *first)
{
	size_t lo = 0, hi = l->l_file.v_n, n = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if ((uintptr_t)((struct ref *)vec_at(&l->l_file, mid))->r_head < (uintptr_t)head)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo + n < l->l_file.v_n &&
	    ((struct ref *)vec_at(&l->l_file, lo + n))->r_head == head)
		n++;
	*first = lo;
	return n;
}

/* ---- other ways that lead to streams ------------------------------------------------------- */

const struct regent *
look_reg(const struct looking *l, const struct regent *re)
{
	uintptr_t first = (uintptr_t)look_root(l->l_lk, ROOT_REGISTRY) +
		offsetof(struct registry, rg_ent);
	size_t off = (uintptr_t)re - first;

	return off % sizeof(*re) == 0 && off / sizeof(*re) < NREG ?
		&l->l_reg->rg_ent[off / sizeof(*re)] : NULL;
}

const struct regent *
look_regof(const struct looking *l, const queue_t *q)
{
	unsigned int i = (q->q_procs - 2u) / 4;

	return q->q_procs >= 2 && i < NREG ? &l->l_reg->rg_ent[i] : NULL;
}

/* The heads of a cell. */
static void
members(struct looking *l, const queue_t *at)
{
	struct walk w = { 0 };
	queue_t q;

	for (; at != NULL; at = q.q_gnext) {
		if (!walk_on(&w, at) || !look_copy(l->l_lk, at, LINE, &q, sizeof(q))) {
			look_odd(l);
			break;
		}
		found(l, q.q_stream);
	}
}

/* All streams there are: those that no descriptor leads to, too. */
static void
groups(struct looking *l)
{
	const struct plumb_root *root = look_root(l->l_lk, ROOT_PLUMB);
	const struct group *at = NULL;
	struct walk w = { 0 };
	struct plumb_root copy;
	struct group g;

	if (look_copy(l->l_lk, root, LINE, &copy, sizeof(copy)))
		at = copy.pl_all;
	for (; at != NULL; at = g.g_all) {
		if (!walk_on(&w, at) || !look_copy(l->l_lk, at, LINE, &g, sizeof(g))) {
			look_odd(l);
			break;
		}
		members(l, g.g_heads);
	}
}

static void
names(struct looking *l)
{
	for (int i = 0; i < NODE_CHAINS; i++) {
		const struct node *at = l->l_heads->hr_node[i];
		struct walk w = { 0 };
		struct node nd, *copy;

		for (; at != NULL; at = nd.nd_next) {
			if (!walk_on(&w, at) || !look_copy(l->l_lk, at, LINE, &nd, sizeof(nd))) {
				look_odd(l);
				break;
			}
			found(l, nd.nd_head);
			if ((copy = vec_add(&l->l_node)) == NULL)
				l->l_nomem = true;
			else
				*copy = nd;
		}
	}
}

static void
links(struct looking *l)
{
	const struct link *at = l->l_reg->rg_links;
	struct walk w = { 0 };
	struct link lk, *copy;

	for (; at != NULL; at = lk.lk_next) {
		if (!walk_on(&w, at) || !look_copy(l->l_lk, at, LINE, &lk, sizeof(lk))) {
			look_odd(l);
			break;
		}
		found(l, lk.lk_lower);
		if ((copy = vec_add(&l->l_link)) == NULL)
			l->l_nomem = true;
		else
			*copy = lk;
	}
}

static int
by_address(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)*(const struct stdata *const *)a;
	uintptr_t y = (uintptr_t)*(const struct stdata *const *)b;

	return (x > y) - (x < y);
}

static void
once_each(struct vec *v)
{
	const struct stdata **p = v->v_mem;
	size_t n = 0;

	if (v->v_n == 0)
		return;
	qsort(p, v->v_n, sizeof(*p), by_address);
	for (size_t i = 1; i < v->v_n; i++)
		if (p[i] != p[n])
			p[++n] = p[i];
	v->v_n = n + 1;
}

/* ---- putting it together ---------------------------------------------------------------------- */

static int
by_id(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return (x->s_view.vs_id > y->s_view.vs_id) - (x->s_view.vs_id < y->s_view.vs_id);
}

static int
by_group(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->s_group != y->s_group)
		return (uintptr_t)x->s_group < (uintptr_t)y->s_group ? -1 : 1;
	return by_id(a, b);
}

/* A group goes by the lowest number of its streams. */
static void
number_groups(struct looking *l)
{
	unsigned int id = 0;

	vec_sort(&l->l_stream, by_group);
	for (size_t i = 0; i < l->l_stream.v_n; i++) {
		struct seen *s = vec_at(&l->l_stream, i);
		struct seen *before = i == 0 ? NULL : vec_at(&l->l_stream, i - 1);

		if (before == NULL || before->s_group != s->s_group || s->s_group == NULL)
			id = s->s_view.vs_id;
		s->s_view.vs_group = id;
	}
}

static int
head_of(const void *key, const void *at)
{
	const struct seen *s = at;
	uintptr_t k = (uintptr_t)key, a = (uintptr_t)s->s_head;

	return (k > a) - (k < a);
}

static int
seen_by_head(const void *a, const void *b)
{
	return head_of(((const struct seen *)a)->s_head, b);
}

static unsigned int
id_of(const struct looking *l, const struct stdata *head)
{
	const struct seen *s = head == NULL || l->l_stream.v_n == 0 ? NULL :
		bsearch(head, l->l_stream.v_mem, l->l_stream.v_n, l->l_stream.v_size, head_of);

	return s != NULL ? s->s_view.vs_id : 0;
}

static void
name_each_other(struct looking *l)
{
	number_groups(l);
	vec_sort(&l->l_stream, seen_by_head);
	for (size_t i = 0; i < l->l_stream.v_n; i++) {
		struct seen *s = vec_at(&l->l_stream, i);

		s->s_view.vs_mate = id_of(l, s->s_mate);
		s->s_view.vs_above = id_of(l, s->s_above);
	}
	vec_sort(&l->l_stream, by_id);
}

/* What a view owns besides itself. */
struct whole {
	struct ustr_view w_view;
	void *w_mem[9];
};

static void
hang_bands(struct looking *l)
{
	struct ustr_view_band *b = l->l_band.v_mem;

	for (size_t i = 0; i < l->l_queue.v_n; i++) {
		struct ustr_view_queue *q = vec_at(&l->l_queue, i);

		q->vq_bands = q->vq_nbands > 0 ? b : NULL;
		b += q->vq_nbands;
	}
}

/* The arrays have stopped growing: pointers into them. */
static bool
hang_streams(struct looking *l, struct whole *w)
{
	struct ustr_view_stream *vs = calloc(l->l_stream.v_n + 1, sizeof(*vs));
	struct ustr_view_fd *fd = calloc(l->l_file.v_n + 1, sizeof(*fd));

	w->w_mem[0] = vs;
	w->w_mem[1] = fd;
	if (vs == NULL || fd == NULL)
		return false;
	for (size_t i = 0; i < l->l_file.v_n; i++)
		fd[i] = ((struct ref *)vec_at(&l->l_file, i))->r_fd;
	for (size_t i = 0; i < l->l_stream.v_n; i++) {
		struct seen *s = vec_at(&l->l_stream, i);

		vs[i] = s->s_view;
		vs[i].vs_fds = fd + s->s_file0;
		vs[i].vs_queues = (struct ustr_view_queue *)l->l_queue.v_mem + s->s_queue0;
		vs[i].vs_sleepers = (struct ustr_view_sleeper *)l->l_sleeper.v_mem + s->s_sleeper0;
	}
	w->w_view.v_streams = vs;
	w->w_view.v_nstreams = (unsigned int)l->l_stream.v_n;
	return true;
}

static void *
keep(struct whole *w, int i, struct vec *v)
{
	void *mem = v->v_mem;

	w->w_mem[i] = mem;
	v->v_mem = NULL;
	return mem;
}

static void
figures(struct looking *l, struct ustr_view *v)
{
	const struct arena *a = &l->l_lk->lk_arena;

	v->v_when = plat_now();
	v->v_size = a->ar_head.ih_size;
	v->v_cap = a->ar_head.ih_cap;
	v->v_committed = a->ar_committed;
	v->v_used = a->ar_brk;
	v->v_leaked = l->l_slots->sr_leaked;
	v->v_refused = a->ar_refused;
	v->v_deaths = l->l_slots->sr_deaths;
	v->v_odd = l->l_odd;
}

static struct whole *
assemble(struct looking *l)
{
	struct whole *w = calloc(1, sizeof(*w));
	struct ustr_view *v = w != NULL ? &w->w_view : NULL;

	if (w == NULL || l->l_nomem)
		goto out;
	name_each_other(l);
	hang_bands(l);
	if (!hang_streams(l, w)) {
		l->l_nomem = true;
		goto out;
	}
	figures(l, v);
	v->v_nprocesses = (unsigned int)l->l_process.v_n;
	v->v_nclasses = (unsigned int)l->l_class.v_n;
	v->v_nheap = (unsigned int)l->l_heap.v_n;
	v->v_processes = keep(w, 2, &l->l_process);
	v->v_classes = keep(w, 3, &l->l_class);
	v->v_heap = keep(w, 4, &l->l_heap);
	keep(w, 5, &l->l_queue);
	keep(w, 6, &l->l_band);
	keep(w, 7, &l->l_sleeper);
out:
	if (w != NULL && l->l_nomem) {
		ustr_view_free(v);
		w = NULL;
	}
	return w;
}

/* ---- one view ---------------------------------------------------------------------------------- */

/* The roots are large, so they are copied to the heap: 0 or an errno. */
static int
roots(struct looking *l)
{
	struct ustr_look *lk = l->l_lk;

	l->l_reg = malloc(sizeof(*l->l_reg));
	l->l_slots = malloc(sizeof(*l->l_slots));
	l->l_heads = malloc(sizeof(*l->l_heads));
	if (l->l_reg == NULL || l->l_slots == NULL || l->l_heads == NULL)
		return ENOMEM;
	return look_copy(lk, look_root(lk, ROOT_REGISTRY), LINE, l->l_reg, sizeof(*l->l_reg)) &&
		look_copy(lk, look_root(lk, ROOT_SLOT), LINE, l->l_slots, sizeof(*l->l_slots)) &&
		look_copy(lk, look_root(lk, ROOT_HEAD), LINE, l->l_heads, sizeof(*l->l_heads)) ? 0 : EUCLEAN;
}

static void
look_all(struct looking *l)
{
	threads(l);
	processes(l);
	vec_sort(&l->l_file, by_head);
	groups(l);
	names(l);
	links(l);
	once_each(&l->l_head);
	for (size_t i = 0; i < l->l_head.v_n; i++)
		look_stream(l, *(const struct stdata **)vec_at(&l->l_head, i));
	look_alloc(l);
}

static void
let_go(struct looking *l)
{
	struct vec *v[] = { &l->l_thread, &l->l_file, &l->l_process, &l->l_head, &l->l_link,
		&l->l_node, &l->l_stream, &l->l_queue, &l->l_band, &l->l_sleeper, &l->l_class,
		&l->l_heap };

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		free(v[i]->v_mem);
	free(l->l_reg);
	free(l->l_slots);
	free(l->l_heads);
}

struct ustr_view *
ustr_look_take(struct ustr_look *lk)
{
	struct looking l = { .l_lk = lk, .l_thread.v_size = sizeof(struct slot),
		.l_file.v_size = sizeof(struct ref),
		.l_process.v_size = sizeof(struct ustr_view_process),
		.l_head.v_size = sizeof(struct stdata *), .l_link.v_size = sizeof(struct link),
		.l_node.v_size = sizeof(struct node), .l_stream.v_size = sizeof(struct seen),
		.l_queue.v_size = sizeof(struct ustr_view_queue),
		.l_band.v_size = sizeof(struct ustr_view_band),
		.l_sleeper.v_size = sizeof(struct ustr_view_sleeper),
		.l_class.v_size = sizeof(struct ustr_view_class),
		.l_heap.v_size = sizeof(struct ustr_view_heap) };
	struct whole *w = NULL;
	int error = look_refresh(lk);

	if (error == 0)
		error = roots(&l);
	if (error == 0) {
		look_all(&l);
		w = assemble(&l);
		if (w == NULL)
			error = ENOMEM;
	}
	let_go(&l);
	if (error != 0)
		errno = error;
	return w != NULL ? &w->w_view : NULL;
}

void
ustr_view_free(struct ustr_view *v)
{
	struct whole *w = (struct whole *)v;

	if (v == NULL)
		return;
	for (size_t i = 0; i < sizeof(w->w_mem) / sizeof(w->w_mem[0]); i++)
		free(w->w_mem[i]);
	free(w);
}

static int
id_is(const void *key, const void *at)
{
	unsigned int id = *(const unsigned int *)key;
	const struct ustr_view_stream *vs = at;

	return (id > vs->vs_id) - (id < vs->vs_id);
}

const struct ustr_view_stream *
ustr_view_stream(const struct ustr_view *v, unsigned int id)
{
	return v->v_nstreams == 0 ? NULL :
		bsearch(&id, v->v_streams, v->v_nstreams, sizeof(*v->v_streams), id_is);
}
