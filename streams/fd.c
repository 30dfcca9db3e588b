/* SPDX-License-Identifier: BSD-2-Clause */
/* fd.c: the descriptor table; entering and sleeping; labels as in fd.h. */
#include "fd.h"
#include "heap.h"
#include "head_sig.h"
#include "helper.h"
#include "sigdue.h"

#include <string.h>

#define YIELDS 14 /* before the first sleep: about 10 us */

/* Placeholder of this process: what stream descriptors are duplicates of. */
static int placeholder = -1;
static struct plat_file placeholder_id;

/* ---- entering ------------------------------------------------------------------ */

int
fd_foreign(int fd)
{
	return fd >= 0 && plat_isopen(fd) ? ENOSTR : EBADF;
}

/* If g was merged into another group, entry e of file f names that from now on. */
static void
regroup(struct proc *p, struct fdent *e, struct file *f, struct group *g)
{
	if (ld_seq(&g->g_plumber) != GROUP_MERGED)
		return;
	lock_enter(slot_tls, &p->pr_lock, RANK_PROC);
	/* While the entry holds the file, g is not used again (group.h, invariant 2). */
	if (ld_seq(&e->fe_file) == f && ld_acq(&e->fe_group) == g)
		st_rel(&e->fe_group, group_root(g));
	lock_leave(slot_tls, &p->pr_lock);
}

NOINLINE int
call_enter_slow(struct call *c, int fd)
{
	struct slot *me = slot_tls;
	int error;

	/* Nothing of ours was ever opened: do not even make an arena for it. */
	if (slot_root == NULL)
		return fd_foreign(fd);
	if (me == NULL || me->sl_pslot != slot_proc()) {
		me = slot_attach(&error);
		if (me == NULL)
			return error == EBADF && plat_isopen(fd) ? EBADF : error;
	} else {
		st_rel(&me->sl_home, NULL); /* E3 failed */
	}
	for (;;) {
		struct fdent *e = fd_entry(me->sl_pslot, fd);

		if (e == NULL || (c->c_file = ld_acq(&e->fe_file)) == NULL)
			return fd_foreign(fd);
		c->c_me = me;
		c->c_fd = fd;
		c->c_sigpipe = false;
		st_rlx(&me->sl_fd, fd);
		c->c_group = ld_acq(&e->fe_group);
		if (!plumb_enter(me, c->c_group)) {
			plumb_wait(me, c->c_group);
			regroup(me->sl_pslot, e, c->c_file, c->c_group);
			continue;
		}
		if (ld_seq(&e->fe_file) == c->c_file && ld_acq(&e->fe_group) == c->c_group)
			break;
		st_rel(&me->sl_home, NULL);
	}
	c->c_head = c->c_file->f_head;
	c->c_gen = c->c_file->f_gen;
	return 0;
}

int
call_reenter(struct call *c)
{
	uint64_t gen = c->c_gen;
	bool sigpipe = c->c_sigpipe;
	int error = call_enter(c, c->c_fd);

	if (error == 0 && c->c_gen != gen) { /* E7 */
		call_leave(c);
		error = EBADF;
	}
	if (error != 0) {
		c->c_group = NULL;
		error = EBADF;
	}
	c->c_sigpipe = sigpipe;
	return error;
}

bool
call_same(const struct call *c)
{
	struct fdent *e = fd_entry(c->c_me->sl_pslot, c->c_fd);

	return e != NULL && ld_seq(&e->fe_file) == c->c_file;
}

static int
step_out(struct call *c)
{
	plumb_exit(c->c_me);
	plat_yield();
	return call_reenter(c);
}

NOINLINE int
call_refused(struct slot *me)
{
	f_or(&me->sl_after, (uint32_t)AFTER_AGAIN);
	return EDEADLK;
}

NOINLINE bool
call_after(struct slot *me, bool timed)
{
	bool ends = false;

	ASSERT(me == slot_tls && ld_rlx(&me->sl_home) == NULL);
	NO_LOCK_HELD();
	for (;;) {
		uint32_t what = xchg(&me->sl_after, 0u);

		if (what == 0)
			return ends;
		if (what & AFTER_PERIMS)
			plumb_later(me);
		if (what & AFTER_AGAIN)
			sigdue_again();
		if (what & AFTER_OTHERS)
			(void)sigdue_take(me->sl_pslot);
		ends |= sigdue_raise(me, timed);
		eventfd_update();
	}
}

/* Outside, about to sleep: what this call has caused comes first. */
static int
before_sleep(struct slot *me, bool timed)
{
	helper_needed();
	return unlikely(ld_rlx(&me->sl_after) != 0) && call_after(me, timed) ? EINTR : 0;
}

int
call_sleep(struct call *c, struct waitq *wq, bool (*ready)(struct call *, void *),
	void *arg, int64_t deadline)
{
	struct slot *me = c->c_me;
	int error, again;

	ASSERT(ld_rlx(&me->sl_home) != NULL && deadline >= -1);
	NO_LOCK_HELD();
	for (int i = 0; i < YIELDS; i++) {
		error = step_out(c);
		if (error != 0)
			return error;
		if (ready(c, arg))
			return 0;
	}
	wait_begin(me);
	wait_on(wq, me);
	if (ready(c, arg)) { /* S4 */
		wait_off(wq, me);
		wait_end(me);
		return 0;
	}
	error = 0;
	if (call_same(c)) {
		plumb_exit(me);
		error = before_sleep(me, deadline >= 0);
		if (error == 0)
			error = wait_sleep(me, deadline);
	} else {
		plumb_exit(me);
	}
	wait_end(me);
	again = call_reenter(c);
	if (again != 0) {
		call_over(me);
		return again;
	}
	wait_off(wq, me);
	if (error == 0 || ready(c, arg))
		return 0;
	plumb_exit(me);
	call_over(me);
	c->c_group = NULL;
	return error == ETIMEDOUT ? ETIME : error;
}

/* ---- the table --------------------------------------------------------------------- */

int
fd_init(struct proc *p)
{
	if (p->pr_fd0 == NULL)
		p->pr_fd0 = heap_zalloc(FD_INLINE * sizeof(struct fdent));
	if (p->pr_fd == NULL)
		p->pr_fd = heap_zalloc(FD_CHUNKS * sizeof(struct fdent *));
	if (p->pr_fd0 == NULL || p->pr_fd == NULL)
		return ENOMEM;
	memset(p->pr_fd0, 0, FD_INLINE * sizeof(struct fdent));
	for (int i = 0; i < FD_CHUNKS; i++)
		if (p->pr_fd[i] != NULL)
			memset(p->pr_fd[i], 0, FD_CHUNK * sizeof(struct fdent));
	return 0;
}

/* The entry of fd, its chunk made if it was not there; NULL without memory. */
static struct fdent *
entry_make(struct proc *p, int fd)
{
	struct fdent *chunk, *none = NULL;
	int at = fd / FD_CHUNK;

	ASSERT(fd >= 0);
	if (fd < FD_INLINE)
		return &p->pr_fd0[fd];
	if (fd >= FD_CHUNK * FD_CHUNKS)
		return NULL;
	if (ld_acq(&p->pr_fd[at]) == NULL) {
		chunk = heap_zalloc(FD_CHUNK * sizeof(*chunk));
		if (chunk == NULL)
			return NULL;
		if (!cas(&p->pr_fd[at], &none, chunk))
			heap_free(chunk, FD_CHUNK * sizeof(*chunk));
	}
	return fd_entry(p, fd);
}

/*
 * Descriptor e of process p leads to f no more: who sleeps on f by way of it
 * finds that out, and what p registered for is over.
 */
static void
part(struct proc *p, const struct fdent *e, struct file *f)
{
	struct stdata *sd = f->f_head;
	bool own = p == slot_proc();

	ASSERT(ld_rlx(&f->f_ref) > 0); /* the entry's is not yet dropped */
	NO_LOCK_HELD();
	wait_wakeall(&sd->sd_rwait);
	wait_wakeall(&sd->sd_wwait);
	head_unask(sd, e);
	wait_wakeall(&sd->sd_iwait);
	if (likely(ld_seq(&sd->sd_sigmask) == 0))
		return;
	if (own)
		eventfd_forget(sd);
	sig_forget(sd, p, !own);
}

/* E4: whoever turns a non-NULL entry to NULL drops its reference, in hand till then. */
static struct file *
entry_take(struct fdent *e)
{
	struct file *f = ld_acq(&e->fe_file);

	while (f != NULL) {
		file_parting(f);
		CRASH_POINT();
		if (cas(&e->fe_file, &f, NULL))
			break;
		file_parted();
	}
	CRASH_POINT();
	return f;
}

static struct file *
entry_clear(struct proc *p, struct fdent *e)
{
	struct file *f = entry_take(e);

	if (f != NULL)
		part(p, e, f);
	return f;
}

/* Make the placeholder anew, unless another thread just has: 0 or an errno. */
static int
make_placeholder(int old)
{
	struct slot *me = slot_tls;
	int error = 0, fd;

	lock_enter(me, &me->sl_pslot->pr_lock, RANK_PROC);
	if (ld_rlx(&placeholder) == old) {
		fd = plat_raise(plat_placeholder());
		error = fd < 0 ? errno : plat_identify(fd, &placeholder_id);
		st_rel(&placeholder, error == 0 ? fd : -1);
	}
	lock_leave(me, &me->sl_pslot->pr_lock);
	return error;
}

/* The placeholder, made on first use: 0 or an errno. */
static int
have_placeholder(void)
{
	int fd = ld_acq(&placeholder);

	if (fd >= 0 && plat_same(fd, &placeholder_id))
		return 0;
	/* Never made, or somebody closed it and the number may be his by now. */
	return make_placeholder(fd);
}

/* A descriptor number of our own: it or -errno. */
static int
reserve(int min)
{
	int error = have_placeholder(), fd;

	if (error != 0)
		return -error;
	fd = plat_dupfd(ld_rlx(&placeholder), min);
	return fd < 0 ? -errno : fd;
}

/* Point number fd at f, which is in hand; an entry still there was closed behind our back. */
static int
point(struct proc *p, int fd, struct file *f, bool cloexec)
{
	struct slot *me = slot_tls;
	struct fdent *e = entry_make(p, fd);
	struct file *old;

	if (e == NULL)
		return ENOMEM;
	ASSERT(ld_rlx(&f->f_ref) > 0);
	lock_enter(me, &p->pr_lock, RANK_PROC);
	old = entry_take(e);
	st_rlx(&e->fe_cloexec, (uint32_t)cloexec);
	st_rel(&e->fe_group, head_group(f->f_head));
	(void)xchg(&e->fe_file, f); /* E6 */
	lock_leave(me, &p->pr_lock);
	file_keep(); /* first: old may be the same file */
	if (old != NULL) {
		part(p, e, old);
		file_rele(old, false);
	}
	return 0;
}

int
fd_install(struct file *f, int min, bool cloexec)
{
	struct slot *me = slot_self();
	int fd = me != NULL ? reserve(min) : -EBADF, error;

	if (fd < 0) {
		file_putback(f, false);
		return fd;
	}
	error = point(me->sl_pslot, fd, f, cloexec);
	if (error == 0)
		return fd;
	plat_close(fd);
	file_putback(f, false);
	return -error;
}

int
fd_kernels(int fd)
{
	if (ld_acq(&placeholder) >= 0 && plat_same(fd, &placeholder_id))
		return EBADF;
	return fd_foreign(fd);
}

int
fd_hold(int fd, struct file **fp)
{
	struct call c;
	int error = call_enter(&c, fd);

	if (error != 0)
		return error == ENOSTR ? fd_kernels(fd) : error;
	*fp = c.c_file;
	if (!file_hold(c.c_me, c.c_file))
		error = EBADF;
	call_leave(&c);
	return error;
}

int
fd_dup(int fd, int min, bool cloexec)
{
	struct file *f;
	int error;

	if (min < 0)
		return -EINVAL;
	error = fd_hold(fd, &f);
	return error != 0 ? -error : fd_install(f, min, cloexec);
}

int
fd_dup2(int fd, int to)
{
	struct slot *me;
	struct fdent *e;
	struct file *f, *old;
	int error = fd_hold(fd, &f);

	if (error != 0)
		return -error;
	me = slot_tls;
	if (fd == to) {
		file_putback(f, false);
		return to;
	}
	e = to < 0 || to >= plat_maxfd() ? NULL : entry_make(me->sl_pslot, to);
	if (to < 0 || to >= plat_maxfd())
		error = EBADF;
	else
		error = e == NULL ? ENOMEM : have_placeholder();
	if (error != 0) {
		file_putback(f, false);
		return -error;
	}
	old = entry_clear(me->sl_pslot, e);
	if (old != NULL)
		file_rele(old, true);
	JITTER();
	if (plat_dup2(ld_rlx(&placeholder), to) < 0) {
		error = errno;
		file_putback(f, false);
		return -error;
	}
	error = point(me->sl_pslot, to, f, false);
	return error != 0 ? -error : to;
}

int
fd_close(int fd, bool drain)
{
	struct slot *me = slot_self();
	struct fdent *e = me != NULL ? fd_entry(me->sl_pslot, fd) : NULL;
	struct file *f = e != NULL ? entry_clear(me->sl_pslot, e) : NULL;

	if (f == NULL)
		return EBADF;
	plat_close(fd);
	file_rele(f, drain);
	file_unclosed(); /* streams that its queues held */
	return 0;
}

int
fd_leading(struct stdata *sd)
{
	struct proc *p = slot_tls->sl_pslot;

	for (int fd = 0; fd < FD_CHUNK * FD_CHUNKS; fd++) {
		struct fdent *e = fd_entry(p, fd);
		bool there = e != NULL && ld_acq(&e->fe_file) != NULL;
		struct call c;

		if (e == NULL)
			fd += FD_CHUNK - 1; /* no such chunk */
		if (!there || call_enter(&c, fd) != 0)
			continue;
		there = c.c_head == sd;
		plumb_exit(c.c_me);
		if (there)
			return fd;
	}
	return -1;
}

static void
closechunk(struct proc *p, struct fdent *e, int n, bool drain)
{
	for (; n-- > 0; e++) {
		struct file *f = ld_acq(&e->fe_file) != NULL ? entry_clear(p, e) : NULL;

		if (f != NULL)
			file_rele(f, drain);
	}
}

void
fd_closeall(struct proc *p, bool drain)
{
	/* Of an embryo whose maker died one may be missing. */
	if (p->pr_fd0 == NULL || p->pr_fd == NULL)
		return;
	closechunk(p, p->pr_fd0, FD_INLINE, drain);
	for (int i = 0; i < FD_CHUNKS; i++)
		if (ld_acq(&p->pr_fd[i]) != NULL)
			closechunk(p, p->pr_fd[i], FD_CHUNK, drain);
}

/* Entries base .. base + n - 1 for the embryo of a fork. */
static void
copychunk(struct fdent *to, const struct fdent *from, int base, int n)
{
	for (int i = 0; i < n; i++) {
		struct file *f;

		if (ld_rlx(&from[i].fe_file) == NULL || fd_hold(base + i, &f) != 0)
			continue;
		ASSERT(ld_rlx(&to[i].fe_file) == NULL);
		to[i].fe_cloexec = ld_rlx(&from[i].fe_cloexec);
		st_rel(&to[i].fe_group, head_group(f->f_head));
		st_rel(&to[i].fe_file, f);
		file_keep();
	}
}

int
fd_copy(struct proc *from, struct proc *to)
{
	copychunk(to->pr_fd0, from->pr_fd0, 0, FD_INLINE);
	for (int i = 0; i < FD_CHUNKS; i++) {
		struct fdent *chunk = ld_acq(&from->pr_fd[i]);

		if (chunk == NULL)
			continue;
		if (to->pr_fd[i] == NULL)
			to->pr_fd[i] = heap_zalloc(FD_CHUNK * sizeof(*chunk));
		if (to->pr_fd[i] == NULL)
			return ENOMEM;
		copychunk(to->pr_fd[i], chunk, i * FD_CHUNK, FD_CHUNK);
	}
	return 0;
}
