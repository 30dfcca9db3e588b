/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.c: bringing the library up in a process, and what its end does.
 *
 * Up: the first call of a process makes the arena and everything in it, or finds
 * that of an instance (instance.c, furnish.c); every thread's first call claims a
 * slot (proc.c).
 *
 * Exit: exit(3) closes in the ordinary way, draining; _exit, a signal and exec
 * leave it to reap.c of another process.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "arena.h"
#include "cache.h"
#include "callout.h"
#include "fd.h"
#include "furnish.h"
#include "head_trace.h"
#include "helper.h"
#include "orphan.h"
#include "proc.h"
#include "procfork.h"
#include "registry.h"
#include "tune.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t up_lock = PTHREAD_MUTEX_INITIALIZER;
static bool up;
static bool hooked; /* fork handlers and the end of threads are there */

/* ---- fork: the handlers; what they do is in procfork.c ------------------------------------ */

static void
before_fork(void)
{
	helper_settle();
	pthread_mutex_lock(&up_lock);
	if (up)
		fork_prepare();
}

static void
after_fork_parent(void)
{
	bool child = up && fork_parent();

	pthread_mutex_unlock(&up_lock);
	/* Somebody must notice the child's death, if this process never sleeps. */
	if (child)
		helper_needed();
}

static void
after_fork_child(void)
{
	pthread_mutex_init(&up_lock, NULL);
	if (up)
		fork_child();
}

/* ---- up ------------------------------------------------------------------------------------ */

/* An arena in which the library cannot even begin. */
static void
refuse_small(const char *s)
{
	tune_refuse(ENOMEM, "USTREAMS_ARENA: %.40s is too little to begin with; "
		"legal: some megabytes and more, such as 64M", s);
}

/* USTREAMS_ARENA: bytes with K, M, G; 0 when not set.  0, EINVAL. */
static int
wanted_size(const char *s, size_t *size)
{
	unsigned long long n;
	int shift = 0;
	char *end;

	*size = 0;
	if (s == NULL)
		return 0;
	if (*s < '0' || *s > '9')
		return EINVAL;
	errno = 0;
	n = strtoull(s, &end, 10);
	if (errno != 0)
		return EINVAL;
	switch (*end) {
	case 'K': case 'k': shift = 10; break;
	case 'M': case 'm': shift = 20; break;
	case 'G': case 'g': shift = 30; break;
	}
	if (shift != 0)
		end++;
	if (*end != '\0' || n > (~0ull >> shift))
		return EINVAL;
	*size = (size_t)n << shift;
	return *size == 0 ? ENOMEM : 0;
}

/* The same, with a sentence for what is refused. */
static int
take_size(const char *s, size_t *size)
{
	int error = wanted_size(s, size);

	if (error == EINVAL)
		tune_refuse(error, "USTREAMS_ARENA: '%.40s' is no size; "
			"legal: bytes, with a suffix K, M or G, such as 64M", s);
	else if (error != 0)
		refuse_small(s);
	return error;
}

static int
bring_up(void)
{
	struct slot_wipe *page = plat_wipe_page();
	const char *wanted = secure_getenv("USTREAMS_ARENA");
	size_t size;
	int error = take_size(wanted, &size);

	if (error == 0)
		error = tune_read();
	if (error != 0)
		return error;
	if (page == NULL || (!hooked && (proc_hook() != 0 ||
		    pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0)))
		return ENOMEM;
	hooked = true;
	slot_wipe = page;
	error = instance_up(size, &furnish_ops);
	if (error == ELIBACC)
		fputs("ustreams: a second copy of the library in one process is refused\n", stderr);
	if (error == ENOMEM && wanted != NULL)
		refuse_small(wanted);
	up = error == 0;
	return error;
}

/* The slow half of slot_self(): 0 with slot_tls set, or an errno. */
int
process_attach(void)
{
	sigset_t all, old;
	int error = 0;

	/* A handler that calls in here must not find the lock taken below it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_mutex_lock(&up_lock);
	if (!up)
		error = bring_up();
	else if (slot_proc() == NULL)
		error = EBADF; /* a child made behind our back */
	if (error == 0 && slot_tls == NULL)
		error = proc_thread(slot_proc());
	pthread_mutex_unlock(&up_lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error;
}

/* ---- exit ---------------------------------------------------------------------------------------- */

__attribute__((destructor)) static void
process_ends(void)
{
	struct proc *p;

	if (!up || (p = slot_proc()) == NULL || p->pr_pid != plat_pid() ||
	    (slot_tls != NULL && ld_rlx(&slot_tls->sl_home) != NULL) || slot_self() == NULL)
		return;
	fd_closeall(p, true); /* timers may be what drains */
	htrace_bury(p);
	helper_end();
	registry_forget(p);
	orphan_run(slot_tls);
	callout_bury(p->pr_id);
	cache_detach(slot_tls);
	slot_release(slot_tls);
	st_rlx(&slot_wipe->w_proc, NULL);
	st_rel(&p->pr_state, (uint32_t)PROC_FREE);
	slot_recount();
}
