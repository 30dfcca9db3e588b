/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_eventfd.c: str_eventfd: a kernel descriptor that is ready while a stream
 * is.
 *
 * An eventfd is of the process that asked for it, one for each stream and set
 * of events.  It follows the stream by a registration (head_sig.h): whoever
 * changes what poll would say sets sr_due; then the owner asks the stream
 * anew, as poll does, and makes the eventfd ready or not:
 *
 *   V1 sr_due := 1 (whoever causes the event; rings the owner, if another)
 *   V2 under the mutex: sr_due := 0 (exchange)
 *   V3 ask the stream
 *   V4 write to the eventfd, or read it empty, if that changes anything
 *
 * invariant 1: after the last V1 there is a V2 to V4, and V3 sees what that
 *   event did: the eventfd ends up as poll would say.  An event of the owner's
 *   own threads has had its V4 when their call returns.
 * invariant 2: only who holds the mutex writes to or reads an eventfd, so the
 *   last V4 is that of the last V3.
 * invariant 3: an entry's stream is there: the process has a descriptor of it,
 *   and the entry goes with the last one (eventfd_forget).
 *
 * Room that is taken away without anybody being refused is noticed when
 * somebody is: until then an eventfd for POLLOUT may be ready although the
 * next write waits.
 *
 * All of it is private memory but the registration.  A child of fork has no
 * eventfds: what it inherited would be written by its parent.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "calls.h"
#include "head_sig.h"
#include "helper.h"
#include "plat_event.h"

#include <stdlib.h>
#include <ustreams.h>

#define RDBITS (POLLIN | POLLRDNORM | POLLRDBAND | POLLPRI)
#define WRBITS (POLLOUT | POLLWRNORM | POLLWRBAND)
#define ALWAYS (POLLERR | POLLHUP)

struct follower {
	struct follower *fw_next;
	struct stdata *fw_head;	/* the stream */
	struct sigreg *fw_reg;	/* its registration there */
	int fw_fd;		/* a descriptor of the stream */
	int fw_eventfd;
	struct plat_file fw_id;	/* what that is: the program may close it */
	short fw_events;	/* as asked for */
	bool fw_ready;		/* as last written */
};

/* Private to the process; guarded by lock but for the test whether there are any. */
static struct {
	pthread_mutex_t lock;
	struct follower *first;
	sigset_t forking; /* the mask of who forks */
} own = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the mutex: no handler may run under it and call in again ---------------------------- */

static void
enter(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, old);
	pthread_mutex_lock(&own.lock);
}

static void
leave(const sigset_t *old)
{
	pthread_mutex_unlock(&own.lock);
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

void
eventfd_lock(void)
{
	enter(&own.forking);
}

void
eventfd_unlock(void)
{
	sigset_t mask = own.forking;

	leave(&mask);
}

/* ---- following ---------------------------------------------------------------------------- */

/* V3: what poll would say, or 0 when the stream is just being closed. */
static short
ask(const struct follower *fw)
{
	struct call c;
	short events = 0;

	ASSERT(ld_rlx(&slot_tls->sl_home) == NULL); /* the caller names no group */
	if (call_enter(&c, fw->fw_fd) != 0)
		return 0;
	if (c.c_head == fw->fw_head)
		events = head_events(&c, fw->fw_events);
	plumb_exit(c.c_me);
	return events;
}

/* V2..V4 */
static void
follow(struct follower *fw)
{
	bool ready;

	ASSERT(fw->fw_reg->sr_kind == SIGREG_EVENTFD);
	if (ld_seq(&fw->fw_reg->sr_due) == 0 || xchg(&fw->fw_reg->sr_due, 0u) == 0)
		return;
	ready = ask(fw) != 0;
	if (ready != fw->fw_ready && plat_same(fw->fw_eventfd, &fw->fw_id))
		plat_raise_eventfd(fw->fw_eventfd, ready);
	fw->fw_ready = ready;
}

void
eventfd_update(void)
{
	sigset_t old;

	if (likely(ld_acq(&own.first) == NULL))
		return;
	enter(&old);
	for (struct follower *fw = own.first; fw != NULL; fw = fw->fw_next)
		follow(fw);
	leave(&old);
}

/* ---- the end ------------------------------------------------------------------------------ */

static void
shut(struct follower *fw)
{
	if (plat_same(fw->fw_eventfd, &fw->fw_id))
		plat_close(fw->fw_eventfd);
	free(fw);
}

void
eventfd_forget(struct stdata *sd)
{
	struct follower **link, *fw;
	sigset_t old;
	int fd;

	NO_LOCK_HELD();
	if (likely(ld_acq(&own.first) == NULL))
		return;
	enter(&old);
	fd = fd_leading(sd);
	for (link = &own.first; (fw = *link) != NULL;) {
		if (fw->fw_head == sd && fd < 0) {
			st_rel(link, fw->fw_next);
			sig_unfollow(sd, fw->fw_reg);
			shut(fw);
			continue;
		}
		if (fw->fw_head == sd)
			fw->fw_fd = fd;
		link = &fw->fw_next;
	}
	leave(&old);
}

void
eventfd_child(void)
{
	while (own.first != NULL) {
		struct follower *fw = own.first;

		own.first = fw->fw_next;
		shut(fw);
	}
}

/* ---- the beginning --------------------------------------------------------------------------- */

static uint32_t
what_to_follow(short events)
{
	uint32_t follow = S_ERROR | S_HANGUP | S_CLEARED;

	if (events & RDBITS)
		follow |= S_INPUT | S_HIPRI | S_TAKEN;
	if (events & WRBITS)
		follow |= S_OUTPUT | S_WRBAND | S_REFUSED;
	return follow;
}

static struct follower *
find(const struct stdata *sd, short events)
{
	for (struct follower *fw = own.first; fw != NULL; fw = fw->fw_next)
		if (fw->fw_head == sd && fw->fw_events == events)
			return fw;
	return NULL;
}

/* Its registration and its descriptor: 0 or an errno. */
static int
equip(struct follower *fw)
{
	int error;

	fw->fw_eventfd = plat_eventfd();
	if (fw->fw_eventfd < 0)
		return errno;
	error = plat_identify(fw->fw_eventfd, &fw->fw_id);
	if (error == 0) {
		fw->fw_reg = sig_follow(fw->fw_head, what_to_follow(fw->fw_events));
		error = fw->fw_reg == NULL ? EAGAIN : 0;
	}
	if (error != 0)
		plat_close(fw->fw_eventfd);
	return error;
}

/* Under the mutex, inside the stream's group. */
static int
make(struct call *c, short events, int *fd)
{
	struct follower *fw = find(c->c_head, events);
	int error;

	if (fw == NULL) {
		fw = calloc(1, sizeof(*fw));
		if (fw == NULL)
			return ENOMEM;
		fw->fw_head = c->c_head;
		fw->fw_fd = c->c_fd;
		fw->fw_events = events;
		error = equip(fw);
		if (error != 0) {
			free(fw);
			return error;
		}
		fw->fw_next = own.first;
		st_rel(&own.first, fw);
	}
	ASSERT(fw->fw_head == c->c_head && fw->fw_eventfd >= 0);
	(void)xchg(&fw->fw_reg->sr_due, 1u); /* V1: what was before counts as well */
	f_or(&c->c_me->sl_after, (uint32_t)AFTER_EVENTS);
	*fd = fw->fw_eventfd;
	return 0;
}

int
str_eventfd(int fd, short events)
{
	struct call c;
	sigset_t old;
	int error = EINVAL, eventfd = -1;

	if (events != 0 && !(events & ~(RDBITS | WRBITS | ALWAYS))) {
		enter(&old);
		error = call_enter(&c, fd);
		if (error == 0) {
			error = ld_acq(&c.c_head->sd_state) & SD_PLEX ? EINVAL : 0;
			if (error == 0 && call_same(&c))
				error = make(&c, events, &eventfd);
			else if (error == 0)
				error = EBADF;
			plumb_exit(c.c_me);
		}
		leave(&old);
		if (slot_tls != NULL && error == 0) {
			helper_needed();
			call_over(slot_tls);
		}
	}
	if (error == 0)
		return eventfd;
	errno = error;
	return -1;
}
