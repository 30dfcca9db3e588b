/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_select.c: str_select and str_pselect, in terms of head_poll.
 *
 * A descriptor is ready when the call would not block, whether it then
 * succeeds or not:
 *
 *            a stream                           a kernel descriptor
 *   reading  a message is first, any class;     as select(2)
 *            hung up; in error
 *   writing  room in band 0; hung up; in error  as select(2)
 *   except   first is of high priority          as select(2)
 *            or of a band above 0
 *
 * The sets are copied in, judged whole, and copied out whole: an error leaves
 * them as they were.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "calls.h"
#include "plat_event.h"

#include <errno.h>
#include <string.h>
#include <sys/select.h>
#include <ustreams.h>

#define IN_BITS (POLLIN | POLLRDNORM | POLLRDBAND)
#define OUT_BITS (POLLOUT | POLLWRNORM)

enum { READING, WRITING, EXCEPT, NSETS };

/* What to ask poll, and which of its answers mean ready. */
static const struct {
	short stream, kernel;		/* asked */
	short stream_also, kernel_also; /* always reported */
} meaning[NSETS] = {
	[READING] = { IN_BITS | POLLPRI, IN_BITS, POLLHUP | POLLERR, POLLHUP | POLLERR },
	[WRITING] = { OUT_BITS, OUT_BITS, POLLHUP | POLLERR, POLLERR },
	[EXCEPT] = { POLLPRI | POLLRDBAND, POLLPRI, 0, 0 },
};

struct selecting {
	fd_set *s_user[NSETS];	/* the program's, or NULL */
	fd_set s_set[NSETS];	/* ours */
	size_t s_bytes;		/* of each that count */
	struct pollfd s_fds[FD_SETSIZE];
	bool s_stream[FD_SETSIZE]; /* is s_fds[i] one? */
	nfds_t s_n;
};

/* ---- the sets -------------------------------------------------------------------------- */

static int
take_sets(struct selecting *s, int nfds)
{
	s->s_bytes = roundup2((size_t)nfds, 8 * sizeof(long)) / 8;
	ASSERT(s->s_bytes <= sizeof(fd_set));
	for (int k = 0; k < NSETS; k++) {
		FD_ZERO(&s->s_set[k]);
		if (s->s_user[k] == NULL)
			continue;
		if (!plat_judge(s->s_user[k], s->s_bytes) ||
		    plat_copyin(&s->s_set[k], s->s_user[k], s->s_bytes) != 0)
			return EFAULT;
	}
	return 0;
}

static int
give_sets(struct selecting *s)
{
	for (int k = 0; k < NSETS; k++)
		if (s->s_user[k] != NULL &&
		    plat_copyout(s->s_user[k], &s->s_set[k], s->s_bytes) != 0)
			return EFAULT;
	return 0;
}

/* One entry for each descriptor that is in any set. */
static void
ask(struct selecting *s, int nfds)
{
	for (int fd = 0; fd < nfds; fd++) {
		bool wanted = false, stream;
		short events = 0;

		for (int k = 0; k < NSETS; k++)
			wanted |= FD_ISSET(fd, &s->s_set[k]);
		if (!wanted)
			continue;
		stream = isastream(fd) == 1;
		for (int k = 0; k < NSETS; k++)
			if (FD_ISSET(fd, &s->s_set[k]))
				events |= stream ? meaning[k].stream : meaning[k].kernel;
		ASSERT(s->s_n < FD_SETSIZE);
		s->s_fds[s->s_n] = (struct pollfd){ fd, events, 0 };
		s->s_stream[s->s_n++] = stream;
	}
}

/* Entry i's answer into the sets: how many of its bits stay. */
static int
answer(struct selecting *s, nfds_t i)
{
	int fd = s->s_fds[i].fd, n = 0;

	ASSERT(fd >= 0 && fd < FD_SETSIZE);
	for (int k = 0; k < NSETS; k++) {
		short bits = s->s_stream[i] ? meaning[k].stream | meaning[k].stream_also :
			meaning[k].kernel | meaning[k].kernel_also;

		if (!FD_ISSET(fd, &s->s_set[k]))
			continue;
		if (s->s_fds[i].revents & bits)
			n++;
		else
			FD_CLR(fd, &s->s_set[k]);
	}
	return n;
}

/* ---- the calls ---------------------------------------------------------------------------- */

static int
waited(struct selecting *s, int nfds, int64_t deadline, const sigset_t *mask, int *count)
{
	int ready, error;

	if (nfds < 0 || nfds > FD_SETSIZE)
		return EINVAL;
	error = take_sets(s, nfds);
	if (error != 0)
		return error;
	ask(s, nfds);
	error = head_poll(s->s_fds, s->s_n, deadline, mask, &ready);
	*count = 0;
	for (nfds_t i = 0; error == 0 && i < s->s_n; i++) {
		if (s->s_fds[i].revents & POLLNVAL) /* closed; or linked below a multiplexor */
			error = isastream(s->s_fds[i].fd) == 1 ? EINVAL : EBADF;
		*count += answer(s, i);
	}
	return error != 0 ? error : give_sets(s);
}

/* From now; 0: not at all.  EINVAL for a time that is none. */
static int
deadline_of(int64_t sec, int64_t frac, int64_t unit, int64_t *deadline)
{
	if (sec < 0 || frac < 0 || frac >= unit)
		return EINVAL;
	if (sec == 0 && frac == 0)
		*deadline = 0;
	else if (sec > INT32_MAX)
		*deadline = PLAT_NEVER;
	else
		*deadline = plat_now() + sec * 1000000000 + frac * (1000000000 / unit);
	return 0;
}

static int
fail(int error)
{
	errno = error;
	return -1;
}

/* What is left of the time, as select(2) has it on Linux. */
static void
give_left(struct timeval *to, int64_t deadline)
{
	int64_t left = deadline == 0 ? 0 : deadline - plat_now();
	struct timeval tv = { 0, 0 };

	if (left > 0) {
		tv.tv_sec = left / 1000000000;
		tv.tv_usec = left % 1000000000 / 1000;
	}
	(void)plat_copyout(to, &tv, sizeof(tv));
}

int
str_select(int nfds, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *timeout)
{
	struct selecting s = { .s_user = { rd, wr, ex }, .s_n = 0 };
	int64_t deadline = PLAT_NEVER;
	struct timeval tv;
	int count, error = 0;

	if (timeout != NULL) {
		if (!plat_judge(timeout, sizeof(tv)) || plat_copyin(&tv, timeout, sizeof(tv)) != 0)
			return fail(EFAULT);
		error = deadline_of(tv.tv_sec, tv.tv_usec, 1000000, &deadline);
	}
	if (error == 0)
		error = waited(&s, nfds, deadline, NULL, &count);
	if (timeout != NULL && deadline < PLAT_NEVER && (error == 0 || error == EINTR))
		give_left(timeout, deadline);
	return error != 0 ? fail(error) : count;
}

int
str_pselect(int nfds, fd_set *rd, fd_set *wr, fd_set *ex, const struct timespec *timeout,
	const sigset_t *sigmask)
{
	struct selecting s = { .s_user = { rd, wr, ex }, .s_n = 0 };
	int64_t deadline = PLAT_NEVER;
	struct timespec ts;
	sigset_t mask;
	int count, error = 0;

	if (timeout != NULL) {
		if (!plat_judge(timeout, sizeof(ts)) || plat_copyin(&ts, timeout, sizeof(ts)) != 0)
			return fail(EFAULT);
		error = deadline_of(ts.tv_sec, ts.tv_nsec, 1000000000, &deadline);
	}
	if (error == 0 && sigmask != NULL && (!plat_judge(sigmask, sizeof(mask)) ||
		    plat_copyin(&mask, sigmask, sizeof(mask)) != 0))
		error = EFAULT;
	if (error == 0)
		error = waited(&s, nfds, deadline, sigmask != NULL ? &mask : NULL, &count);
	return error != 0 ? fail(error) : count;
}
