/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_poll.c: str_poll over streams and kernel descriptors.
 *
 * Every round looks at all descriptors: a stream from inside its group, the
 * kernel's together by one poll(2) of no length.  If nothing is there, the
 * thread's slot goes on the wait lists of all the streams, all is looked at
 * again, and the thread sleeps once (wait.h S1..S5; the lists of several
 * streams are one list as far as the proof goes):
 *
 *   streams only                 on its futex word
 *   kernel descriptors too,      in ppoll(2), its bell among the descriptors:
 *   or a signal mask             the kernel's wake it themselves, who wakes the
 *                                slot strikes the bell (bell.h)
 *   kernel descriptors only      in ppoll(2), nothing else
 *
 * The mask must take effect in one step with the sleep, which only ppoll(2)
 * can do.  Where no bell can be had, or nobody may strike it (processes that
 * share the streams but USTREAMS_HELPER=0), the sleep is cut in pieces of
 * LOOK_MS.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bell.h"
#include "calls.h"
#include "head_fifo.h"
#include "helper.h"
#include "plat_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RDBITS (POLLIN | POLLRDNORM | POLLRDBAND | POLLPRI)
#define WRBITS (POLLOUT | POLLWRNORM | POLLWRBAND)
#define YIELDS 14	 /* before the first sleep */
#define FEW 8		 /* descriptors for which that pays, and no memory is asked for */
#define LOOK_MS 5

/* The kernel descriptors among those asked about. */
struct kernel {
	struct pollfd *k_fd;	/* as poll(2) wants them; room for one more, the bell */
	nfds_t *k_at;		/* where each stands in p_fds */
	nfds_t k_n;
	nfds_t k_room;
	void *k_mem;		/* malloc'ed, or NULL while FEW do */
};

struct polling {
	struct pollfd *p_fds;
	nfds_t p_n;
	const sigset_t *p_mask;	/* while asleep; NULL: no change */
	struct kernel p_kernel;
	nfds_t p_nstream;	/* streams among them */
	int p_ready;		/* descriptors with events */
	int p_error;		/* what went wrong in looking */
};

/* ---- looking at one stream, inside --------------------------------------------------- */

static short
read_events(struct call *c, short events)
{
	int pri = 0, band;

	if (!(events & RDBITS) || !hq_any(c->c_head->sd_rq))
		return 0;
	band = head_firstband(c, &pri);
	if (band < 0)
		return 0;
	if (pri)
		return POLLPRI;
	return band == 0 ? POLLIN | POLLRDNORM : POLLIN | POLLRDBAND;
}

/* Writable in some used band; true if no band was ever used. */
static bool
band_writable(struct stdata *sd)
{
	int n = ld_acq(&head_wq(sd)->q_next->q_nfsrv->q_nband);

	for (int b = 1; b <= n; b++)
		if (head_canput(sd, (unsigned char)b))
			return true;
	return n == 0;
}

static short
write_events(struct call *c, short events)
{
	short got = 0;

	if ((events & (POLLOUT | POLLWRNORM)) && head_canput(c->c_head, 0))
		got |= POLLOUT | POLLWRNORM;
	if ((events & POLLWRBAND) && band_writable(c->c_head))
		got |= POLLWRBAND;
	return got;
}

short
head_events(struct call *c, short events)
{
	uint32_t state = ld_seq(&c->c_head->sd_state);
	short got = read_events(c, events);

	if (likely((state & SD_TROUBLE) == 0))
		return (got | write_events(c, events)) & events;
	if (state & SD_PLEX)
		return POLLNVAL;
	got &= events;
	if (state & (SD_RDERR | SD_WRERR | SD_DAMAGED))
		got |= POLLERR;
	if (state & SD_HUP)
		return got | POLLHUP;
	if (c->c_head->sd_kind == HEAD_FIFO)
		got |= fifo_events(c->c_head);
	return got | (write_events(c, events) & events);
}

/* ---- looking at all --------------------------------------------------------------------- */

static void
note(struct polling *p, struct pollfd *pfd, short events)
{
	pfd->revents = events;
	if (events != 0)
		p->p_ready++;
}

/* Room for all of them, should they all be the kernel's: 0 or ENOMEM. */
static int
grow(struct kernel *k, nfds_t most)
{
	struct pollfd *fds;
	nfds_t *at;

	ASSERT(k->k_mem == NULL && most > k->k_n);
	k->k_mem = malloc((most + 1) * (sizeof(*fds) + sizeof(*at)));
	if (k->k_mem == NULL)
		return ENOMEM;
	at = k->k_mem;
	fds = (struct pollfd *)(at + most + 1);
	memcpy(at, k->k_at, k->k_n * sizeof(*at));
	memcpy(fds, k->k_fd, k->k_n * sizeof(*fds));
	k->k_at = at;
	k->k_fd = fds;
	k->k_room = most;
	return 0;
}

/* Descriptor i is the kernel's. */
static int
gather(struct polling *p, nfds_t i)
{
	struct kernel *k = &p->p_kernel;

	if (k->k_n == k->k_room && grow(k, p->p_n) != 0)
		return ENOMEM;
	ASSERT(k->k_n < k->k_room && i < p->p_n);
	k->k_at[k->k_n] = i;
	k->k_fd[k->k_n++] = (struct pollfd){ p->p_fds[i].fd, p->p_fds[i].events, 0 };
	return 0;
}

/* Look at one; arm: put the slot on its wait lists first. */
static void
look(struct polling *p, nfds_t i, bool arm)
{
	struct pollfd *pfd = &p->p_fds[i];
	struct call c;
	int error;

	pfd->revents = 0;
	if (pfd->fd < 0)
		return;
	error = call_enter(&c, pfd->fd);
	if (error == 0) {
		ASSERT(c.c_head->sd_rq != NULL);
		p->p_nstream++;
		if (arm) {
			wait_on(&c.c_head->sd_rwait, c.c_me);
			if (pfd->events & WRBITS)
				wait_on(&c.c_head->sd_wwait, c.c_me);
		}
		note(p, pfd, call_same(&c) ? head_events(&c, pfd->events) : POLLNVAL);
		call_leave(&c);
	} else if (error == ENOSTR) {
		error = gather(p, i);
		p->p_error = error != 0 ? error : p->p_error;
	} else {
		p->p_error = error == EDEADLK ? error : p->p_error;
		note(p, pfd, POLLNVAL);
	}
}

/* Take the slot off the lists again. */
static void
disarm(struct polling *p)
{
	for (nfds_t i = 0; i < p->p_n; i++) {
		struct call c;

		if (p->p_fds[i].fd < 0 || call_enter(&c, p->p_fds[i].fd) != 0)
			continue;
		wait_off(&c.c_head->sd_rwait, c.c_me);
		wait_off(&c.c_head->sd_wwait, c.c_me);
		call_leave(&c);
	}
}

/* The kernel's share, waited for until deadline: what it found goes back. */
static int
look_kernel(struct polling *p, int64_t deadline, const sigset_t *mask)
{
	struct kernel *k = &p->p_kernel;
	int error = plat_ppoll(k->k_fd, k->k_n, deadline, mask);

	for (nfds_t i = 0; error == 0 && i < k->k_n; i++)
		note(p, &p->p_fds[k->k_at[i]], k->k_fd[i].revents);
	return error;
}

static int
look_all(struct polling *p, bool arm)
{
	p->p_ready = 0;
	p->p_kernel.k_n = p->p_nstream = 0;
	for (nfds_t i = 0; i < p->p_n; i++)
		look(p, i, arm);
	if (p->p_error != 0)
		return p->p_error;
	return p->p_kernel.k_n == 0 ? 0 : look_kernel(p, 0, NULL);
}

/* ---- sleeping -------------------------------------------------------------------------------- */

/* In ppoll(2), by the bell; 0 or EINTR, ETIMEDOUT. */
static int
doze(struct polling *p, int bell, int64_t deadline)
{
	struct kernel *k = &p->p_kernel;
	int64_t piece = plat_now() + LOOK_MS * 1000000;
	nfds_t n = k->k_n;

	ASSERT(n <= k->k_room); /* there is room for one more */
	k->k_fd[n] = (struct pollfd){ bell, POLLIN, 0 };
	if ((bell < 0 || helper_absent()) && piece < deadline)
		deadline = piece;
	return plat_ppoll(k->k_fd, n + 1, deadline, p->p_mask);
}

/* S1..S5; the caller looks again. */
static int
sleep_once(struct polling *p, struct slot *me, int64_t deadline)
{
	bool by_bell = p->p_kernel.k_n > 0 || p->p_mask != NULL;
	int bell = by_bell ? bell_take(me) : -1, error;

	NO_LOCK_HELD();
	if (by_bell)
		wait_begin_poll(me);
	else
		wait_begin(me);
	error = look_all(p, true); /* S2..S4 */
	if (error == 0 && p->p_ready == 0) {
		helper_needed();
		if (by_bell)
			error = doze(p, bell, deadline);
		else if (p->p_kernel.k_n == 0) /* else one has just become the kernel's */
			error = wait_sleep(me, deadline);
	}
	disarm(p);
	if (by_bell)
		bell_leave(me);
	wait_end(me);
	return error == ETIMEDOUT ? 0 : error;
}

static int
wait_ready(struct polling *p, struct slot *me, int64_t deadline)
{
	int error = 0;

	ASSERT(p->p_nstream > 0 && ld_rlx(&me->sl_home) == NULL);
	for (int i = 0; p->p_n <= FEW && i < YIELDS; i++) {
		plat_yield();
		error = look_all(p, false);
		if (error != 0 || p->p_ready > 0)
			return error;
	}
	while (error == 0 && p->p_ready == 0 && plat_now() < deadline) {
		error = sleep_once(p, me, deadline);
		if (error == 0 && p->p_ready == 0)
			error = look_all(p, false);
	}
	return error;
}

int
head_poll(struct pollfd *fds, nfds_t n, int64_t deadline, const sigset_t *mask, int *ready)
{
	struct pollfd fewfds[FEW + 1];
	nfds_t fewat[FEW];
	struct polling p = { .p_fds = fds, .p_n = n, .p_mask = mask,
		.p_kernel = { .k_fd = fewfds, .k_at = fewat, .k_room = FEW } };
	struct slot *me;
	int error = look_all(&p, false);

	if (error == 0 && p.p_ready == 0 && deadline != 0) {
		if (p.p_nstream == 0) {
			error = look_kernel(&p, deadline, mask);
		} else {
			me = slot_self();
			error = me == NULL ? errno : ld_rlx(&me->sl_home) != NULL ? EDEADLK :
				wait_ready(&p, me, deadline);
		}
	}
	free(p.p_kernel.k_mem);
	*ready = p.p_ready;
	return error;
}
