/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_poll.c: str_poll over streams and kernel descriptors.
 *
 * Streams alone: look at each, then put the thread's slot on the wait lists of
 * all of them, look again, sleep once (wait.h S1..S5; the lists of several
 * streams are one list as far as the proof goes).  With kernel descriptors
 * among them the helper thread polls those and pokes the slot; without a
 * helper both kinds are looked at in turn, every LOOK_MS.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "calls.h"
#include "helper.h"

#include <errno.h>
#include <stdlib.h>

#define RDBITS (POLLIN | POLLRDNORM | POLLRDBAND | POLLPRI)
#define WRBITS (POLLOUT | POLLWRNORM | POLLWRBAND)
#define YIELDS 14	 /* before the first sleep */
#define FEW 4		 /* descriptors for which that pays */
#define LOOK_MS 5

struct polling {
	struct pollfd *p_fds;
	nfds_t p_n;
	int p_ready;		 /* descriptors with events */
	nfds_t p_nkernel;	 /* kernel descriptors among them */
	struct pollfd *p_kernel; /* those, or NULL before they are gathered */
	nfds_t p_nstream;	 /* streams among them */
	bool p_edeadlk;
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
band_writable(queue_t *next)
{
	int n = ld_acq(&next->q_nfsrv->q_nband);

	for (int b = 1; b <= n; b++)
		if (bcanput(next, (unsigned char)b))
			return true;
	return n == 0;
}

static short
write_events(struct call *c, short events)
{
	queue_t *next = head_wq(c->c_head)->q_next;
	short got = 0;

	if ((events & (POLLOUT | POLLWRNORM)) && canput(next))
		got |= POLLOUT | POLLWRNORM;
	if ((events & POLLWRBAND) && band_writable(next))
		got |= POLLWRBAND;
	return got;
}

static short
stream_events(struct call *c, short events)
{
	uint32_t state = ld_seq(&c->c_head->sd_state);
	short got = read_events(c, events);

	if (likely((state & SD_TROUBLE) == 0))
		return (got | write_events(c, events)) & (events);
	if (state & SD_PLEX)
		return POLLNVAL;
	got &= events;
	if (state & (SD_RDERR | SD_WRERR))
		got |= POLLERR;
	if (state & SD_HUP)
		return got | POLLHUP;
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

/* Look at one; arm: put the slot on its wait lists first. */
static void
look(struct polling *p, struct pollfd *pfd, bool arm)
{
	struct call c;
	int error;

	pfd->revents = 0;
	if (pfd->fd < 0)
		return;
	error = call_enter(&c, pfd->fd);
	if (error == 0) {
		p->p_nstream++;
		if (arm) {
			wait_on(&c.c_head->sd_rwait, c.c_me);
			if (pfd->events & WRBITS)
				wait_on(&c.c_head->sd_wwait, c.c_me);
		}
		note(p, pfd, call_same(&c) ? stream_events(&c, pfd->events) : POLLNVAL);
		call_leave(&c);
	} else if (error == ENOSTR) {
		p->p_nkernel++;
	} else {
		p->p_edeadlk |= error == EDEADLK;
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

static bool
is_stream(const struct pollfd *pfd)
{
	struct fdent *e = slot_tls == NULL ? NULL : fd_entry(slot_tls->sl_pslot, pfd->fd);

	return e != NULL && ld_acq(&e->fe_file) != NULL;
}

/* The kernel's share: copied out, polled for ms, copied back. */
static int
kernel_events(struct polling *p, int ms)
{
	nfds_t k = 0;
	int n;

	if (p->p_nkernel == 0)
		return 0;
	free(p->p_kernel);
	p->p_kernel = malloc(p->p_n * sizeof(*p->p_kernel));
	if (p->p_kernel == NULL)
		return ENOMEM;
	for (nfds_t i = 0; i < p->p_n; i++)
		if (p->p_fds[i].fd >= 0 && p->p_fds[i].revents == 0 && !is_stream(&p->p_fds[i]))
			p->p_kernel[k++] = p->p_fds[i];
	p->p_nkernel = k;
	n = poll(p->p_kernel, k, ms);
	if (n < 0)
		return errno;
	p->p_ready += n;
	k = 0;
	for (nfds_t i = 0; i < p->p_n && k < p->p_nkernel; i++)
		if (p->p_fds[i].fd >= 0 && p->p_fds[i].fd == p->p_kernel[k].fd &&
		    !is_stream(&p->p_fds[i]))
			p->p_fds[i].revents = p->p_kernel[k++].revents;
	return 0;
}

static int
look_all(struct polling *p, bool arm)
{
	p->p_ready = 0;
	p->p_nkernel = p->p_nstream = 0;
	for (nfds_t i = 0; i < p->p_n; i++)
		look(p, &p->p_fds[i], arm);
	if (p->p_edeadlk)
		return EDEADLK;
	return p->p_nkernel == 0 ? 0 : kernel_events(p, 0);
}

/* ---- sleeping -------------------------------------------------------------------------------- */

/* A time in the far future: a timed wait is not restarted by SA_RESTART, as poll(2). */
#define NEVER INT64_MAX / 2

static int
sleep_streams(struct polling *p, struct slot *me, int64_t deadline)
{
	unsigned long watch = 0;
	bool blind;
	int error;

	wait_begin(me);
	error = look_all(p, true); /* S2..S4 */
	if (error == 0 && p->p_ready == 0) {
		if (p->p_nkernel > 0)
			watch = helper_watch(p->p_kernel, p->p_nkernel);
		blind = p->p_nkernel > 0 && watch == 0;
		helper_needed();
		if (blind && plat_now() + LOOK_MS * 1000000 < deadline)
			deadline = plat_now() + LOOK_MS * 1000000;
		error = wait_sleep(me, deadline);
		if (watch != 0)
			helper_unwatch(watch);
		if (blind && error == ETIMEDOUT)
			error = 0;
	}
	disarm(p);
	wait_end(me);
	return error;
}

static int
wait_ready(struct polling *p, struct slot *me, int64_t deadline)
{
	int error;

	for (int i = 0; p->p_n <= FEW && i < YIELDS; i++) {
		plat_yield();
		error = look_all(p, false);
		if (error != 0 || p->p_ready > 0)
			return error;
	}
	for (;;) {
		int64_t now = plat_now();

		if (now >= deadline)
			return look_all(p, false);
		error = sleep_streams(p, me, deadline);
		if (error == ETIMEDOUT)
			error = 0;
		if (error != 0)
			return error;
		if (p->p_ready > 0)
			return 0;
		error = look_all(p, false);
		if (error != 0 || p->p_ready > 0)
			return error;
	}
}

int
head_poll(struct pollfd *fds, nfds_t n, int ms, int *ready)
{
	struct polling p = { .p_fds = fds, .p_n = n };
	int error = look_all(&p, false);
	struct slot *me;

	if (error == 0 && p.p_ready == 0 && ms != 0 && p.p_nstream == 0) {
		error = p.p_nkernel > 0 ? kernel_events(&p, ms) : poll(NULL, 0, ms) < 0 ? errno : 0;
	} else if (error == 0 && p.p_ready == 0 && ms != 0) {
		me = slot_self();
		error = me == NULL ? errno : ld_rlx(&me->sl_home) != NULL ? EDEADLK :
			wait_ready(&p, me, ms < 0 ? NEVER : plat_now() + (int64_t)ms * 1000000);
	}
	free(p.p_kernel);
	*ready = p.p_ready;
	return error;
}
