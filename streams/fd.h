/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fd.h: descriptors, open files, and entering a call.
 *
 * Level 10.
 *
 *   descriptor number ──► fdent ──► file ──► stdata
 *   (per process)         (arena)   (shared by dup and fork)
 *
 * The table lies in the arena, one per process, so that whoever buries a dead
 * process can drop its references.  The number itself is a real descriptor (a
 * duplicate of an O_PATH placeholder), so the kernel never gives it away.
 *
 * Finding a stream takes no reference and no lock:
 *
 *   E1 file, group := entry          E4 entry.file := NULL, then drop the
 *   E2 enter the group (P1, P2)         reference; the last one dismantles
 *   E3 entry still the same?            the stream under plumb_lock (P4, P5)
 *
 *   E5 a further reference is taken only while there is one
 *   E6 an entry is set, group then file, under the table's lock
 *   E7 a call that comes back after a sleep checks that it is the same file, by
 *      f_gen: the address may have been used again
 *
 * invariant: after E3 the file and its stream stay until the call leaves the
 *   group: a close whose E4 came after E3 waits for us in P5, and one whose E4
 *   came before is seen in E3.  Nothing is dereferenced before E3 but the
 *   group, which is never freed.
 */
#ifndef STREAMS_FD_H
#define STREAMS_FD_H

#include "file.h"

#include <errno.h>
#include <fcntl.h>

#define FD_INLINE 64	/* entries without a further look-up */
#define FD_CHUNK 1024	/* entries per chunk */
#define FD_CHUNKS 1024	/* chunks: a million descriptors */

struct fdent {
	struct file *fe_file;	/* A  NULL: not a stream */
	struct group *fe_group;	/* A  its stream's group */
	uint32_t fe_cloexec;	/* A  FD_CLOEXEC as the program sees it */
	uint32_t fe_spare;
};

/* A call in progress. */
struct call {
	struct slot *c_me;
	struct group *c_group;	/* NULL once outside */
	struct file *c_file;
	struct stdata *c_head;
	uint64_t c_gen;		/* f_gen of c_file */
	int c_fd;
	bool c_sigpipe;		/* raise SIGPIPE once outside */
};

INLINE struct fdent *
fd_entry(struct proc *p, int fd)
{
	struct fdent *chunk;

	if (likely((unsigned int)fd < FD_INLINE))
		return &p->pr_fd0[fd];
	if ((unsigned int)fd >= FD_CHUNK * FD_CHUNKS)
		return NULL;
	chunk = ld_acq(&p->pr_fd[fd / FD_CHUNK]);
	return chunk == NULL ? NULL : &chunk[fd % FD_CHUNK];
}

/*
 * fd was no stream: ENOSTR if it is the kernel's, EBADF if it is not open, or still has
 * the number of a stream that is being closed.
 */
int fd_kernels(int fd);
/* Not a stream of ours: EBADF, or ENOSTR for an open kernel descriptor. */
int fd_foreign(int fd);
int call_enter_slow(struct call *c, int fd);
/* This thread is in a call already: EDEADLK, and the signal comes again after it. */
int call_refused(struct slot *me);

/* E1..E3.  0; ENOSTR or EBADF (not a stream); EDEADLK; or why there is no slot. */
INLINE int
call_enter(struct call *c, int fd)
{
	struct slot *me = slot_tls;
	struct fdent *e;

	if (unlikely(me == NULL || me->sl_pslot != slot_proc()))
		return call_enter_slow(c, fd);
	if (unlikely(ld_rlx(&me->sl_home) != NULL))
		return call_refused(me);
	e = fd_entry(me->sl_pslot, fd);
	if (unlikely(e == NULL || (c->c_file = ld_acq(&e->fe_file)) == NULL)) /* E1 */
		return fd_foreign(fd);
	c->c_me = me;
	c->c_fd = fd;
	c->c_sigpipe = false;
	st_rlx(&me->sl_fd, fd);
	c->c_group = ld_acq(&e->fe_group);
	if (unlikely(!plumb_enter(me, c->c_group) ||		    /* E2 */
		     ld_seq(&e->fe_file) != c->c_file ||	    /* E3 */
		     ld_acq(&e->fe_group) != c->c_group))
		return call_enter_slow(c, fd);
	ASSERT(c->c_file->f_head != NULL && c->c_file->f_head->sd_rq != NULL);
	c->c_head = c->c_file->f_head;
	c->c_gen = c->c_file->f_gen;
	return 0;
}

/*
 * Outside again with sl_after set: perimeters, signals, eventfds.  True if a
 * handler ran that ends a sleep (a timed one: any handler).
 */
bool call_after(struct slot *me, bool timed);
/* The same at the end of a call that is not one of call_enter's. */
INLINE void
call_over(struct slot *me)
{
	if (unlikely(ld_rlx(&me->sl_after) != 0))
		(void)call_after(me, false);
}

INLINE void
call_leave(struct call *c)
{
	struct group *g = ld_rlx(&c->c_me->sl_home); /* merged, perhaps: not c_group */

	if (likely(g != NULL) && plumb_left(c->c_me, g))
		(void)call_after(c->c_me, false);
	if (unlikely(c->c_sigpipe))
		plat_sigpipe();
}

/* Come back after call_leave: 0, or EBADF when the descriptor is not the same. */
int call_reenter(struct call *c);

/* Is the descriptor still the one the call entered with? */
bool call_same(const struct call *c);
/*
 * An untimed sleep is restarted after a handler with SA_RESTART, as read(2)
 * is; a timed one never is.  For calls that have something to return already.
 */
#define CALL_NORESTART (INT64_MAX / 2)
/*
 * Sleep on wq until ready(c, arg), the caller being inside; deadline in ns or
 * -1.  0: look again.  EINTR, ETIME, EBADF: the call is over, the group left
 * (c_group is NULL, which call_leave minds).
 */
int call_sleep(struct call *c, struct waitq *wq, bool (*ready)(struct call *, void *),
	void *arg, int64_t deadline);

INLINE bool
call_nonblock(const struct call *c)
{
	return (ld_rlx(&c->c_file->f_flags) & O_NONBLOCK) != 0;
}

/* 0 or the errno of the access check; sets c_sigpipe. */
INLINE int
call_access(struct call *c, uint32_t minds)
{
	if (likely((ld_acq(&c->c_head->sd_state) & SD_TROUBLE) == 0))
		return 0;
	return head_trouble(c->c_head, minds, &c->c_sigpipe);
}

/* ---- the table ---------------------------------------------------------------------- */

/* An empty table for process slot p, which keeps it for its next life: 0 or ENOMEM. */
int fd_init(struct proc *p);
/*
 * A reference to the file of fd, for who keeps it other than by a descriptor: 0,
 * EBADF, ENOSTR.  Given back outside all groups: the last one closes the stream.
 */
int fd_hold(int fd, struct file **fp);
/* A descriptor for f, at least min; takes over one reference: it or -errno. */
int fd_install(struct file *f, int min, bool cloexec);
int fd_dup(int fd, int min, bool cloexec);
int fd_dup2(int fd, int to);
/* Drop the entry: 0 or EBADF.  drain: as an ordinary close. */
int fd_close(int fd, bool drain);
/* A descriptor of this process that leads to sd, or -1; from outside. */
int fd_leading(struct stdata *sd);
/* Drop every entry of p; drain as above. */
void fd_closeall(struct proc *p, bool drain);
/* Copy from's table to an embryo, counting the references: 0 or ENOMEM. */
int fd_copy(struct proc *from, struct proc *to);

#endif
