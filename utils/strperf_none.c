/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_none.c: the subject "none", a transport that carries only a count.
 *
 * It shows what the loop, the stamps and the checks cost by themselves.  Each
 * side adds to a count of its own and publishes it once in 256 messages; the
 * reader makes up as many messages as the writer has published, and the writer
 * keeps at most 65536 ahead of what the reader has published.  So both sides do
 * all they do with a real transport, every message is accounted for, and what
 * one learns from the other costs next to nothing.
 */
#include "strperf_subject.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "strperf.h"
#include "strperf_payload.h"

#define BATCH 256   /* messages from one publication to the next */
#define AHEAD 65536 /* messages from full */
#define APART _Alignas(128)

static struct counter {
	APART _Atomic uint64_t put; /* messages the reader may take */
	_Atomic bool closed;	    /* put will not grow any more */
	bool blocking;		    /* set before the start */
	APART _Atomic uint64_t got; /* messages the reader has taken */
	APART uint64_t sent;	    /* writer's: messages written */
	uint64_t room;		    /* writer's: sent may grow up to this */
	APART uint64_t made;	    /* reader's: messages read */
	uint64_t credit;	    /* reader's: made may grow up to this */
	struct payload payload;	    /* reader's: how to make one */
} * counter;

/* One mapping serves all slices: only one runs at a time. */
static int
open_counter(const struct options *o, size_t size, int fd[2])
{
	(void)size;
	if (counter == NULL) {
		counter = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (counter == MAP_FAILED) {
			counter = NULL;
			complain("none: mmap: %s", strerror(errno));
			return EXIT_FAILED;
		}
	}
	memset(counter, 0, sizeof(*counter));
	counter->blocking = o->blocking;
	fd[0] = 0;
	fd[1] = 1;
	return EXIT_DONE;
}

/* Whether there is room for a message. */
static bool
room(void)
{
	counter->room = AHEAD + atomic_load_explicit(&counter->got, memory_order_acquire);
	return counter->sent != counter->room;
}

/* Whether a message waits; *end becomes true when none will come any more. */
static bool
waiting(bool *end)
{
	*end = atomic_load_explicit(&counter->closed, memory_order_acquire);
	counter->credit = atomic_load_explicit(&counter->put, memory_order_acquire);
	return counter->made != counter->credit;
}

/* Full or empty: return with EAGAIN, or, blocking, look again a little later. */
static bool
must_return(void)
{
	if (counter->blocking)
		sched_yield();
	errno = EAGAIN;
	return !counter->blocking;
}

static ssize_t
write_counter(int fd, const void *buf, size_t n)
{
	(void)fd, (void)buf;
	if (counter->sent == counter->room)
		while (!room())
			if (must_return())
				return -1;
	if (++counter->sent % BATCH == 0)
		atomic_store_explicit(&counter->put, counter->sent, memory_order_release);
	return (ssize_t)n;
}

static ssize_t
read_counter(int fd, void *buf, size_t n)
{
	bool end;

	(void)fd;
	if (counter->made == counter->credit)
		while (!waiting(&end))
			if (end || must_return())
				return end ? 0 : -1;
	if (counter->made == 0)
		payload_init(&counter->payload, buf, n);
	payload_stamp(&counter->payload, buf, counter->made);
	if (++counter->made % BATCH == 0)
		atomic_store_explicit(&counter->got, counter->made, memory_order_release);
	return (ssize_t)n;
}

static int
poll_counter(struct pollfd *fds, nfds_t n, int ms)
{
	bool end = false;

	(void)n, (void)ms;
	if (fds->events & POLLIN)
		while (!waiting(&end) && !end)
			sched_yield();
	else
		while (!room())
			sched_yield();
	fds->revents = fds->events;
	return 1;
}

static int
finish_counter(int fd)
{
	(void)fd;
	atomic_store_explicit(&counter->put, counter->sent, memory_order_release);
	atomic_store_explicit(&counter->closed, true, memory_order_release);
	return 0;
}

const struct subject counter_none = {
    .name = "none",
    .what = "no transport: the cost of the loop itself",
    .open = open_counter,
    .read = read_counter,
    .write = write_counter,
    .poll = poll_counter,
    .finish = finish_counter,
    .close = subject_finish_nothing,
    .limit = subject_no_limit,
    .whole = subject_byte_stream,
};
