/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_zmq.c: ZeroMQ as a peer, if it was there at configure time: ipc between
 * processes, inproc between threads, a PUSH socket and a PULL socket.
 *
 * A context does not survive fork and a socket belongs to one thread, so a
 * descriptor here is only a number: each side makes its socket at first use.
 * ZeroMQ keeps messages in queues of its own on both sides and hands them over
 * in batches by a thread of its own; its figures include that thread's work
 * only in the elapsed time.
 *
 * When a writer has gone, a PULL socket whose queue is full drops what still
 * lies in the kernel's buffer.  So a writer stays until the reader has the
 * message that ends the data.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_subject.h"

#if STRPERF_ZMQ

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <zmq.h>

#include "strperf.h"
#include "strperf_crew.h"

#define CHANNELS 2     /* open at a time: rr needs one each way */
#define FIRST 1000     /* our numbers: no descriptor's, as a side may pass them on */
#define LINGER_MS 5000 /* how long a close may wait for what was not sent yet */

/* A direction: the endpoint and its two sockets in this process. */
struct channel {
	char endpoint[128];
	bool blocking;
	void *socket[2]; /* of the reader and the writer; NULL: not made here */
};

static struct channel channels[CHANNELS];
static unsigned int opened; /* channels so far: makes endpoints unique */
static void *context;
static int made; /* sockets of this process */
static _Atomic bool *ended; /* by channel, shared: the reader has seen the end */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct channel *
channel_of(int fd)
{
	return &channels[(fd - FIRST) / 2];
}

static int
open_zmq(const struct options *o, size_t size, int fd[2])
{
	unsigned int n = opened++ % CHANNELS;
	struct channel *c = &channels[n];
	const char *tmp = getenv("TMPDIR");

	(void)size;
	if (ended == NULL && (ended = crew_memory(CHANNELS * sizeof(*ended))) == NULL)
		return EXIT_FAILED;
	ended[n] = false;
	c->socket[0] = c->socket[1] = NULL;
	c->blocking = o->blocking;
	if (o->mode == MODE_THREAD)
		snprintf(c->endpoint, sizeof(c->endpoint), "inproc://strperf.%u", opened);
	else
		snprintf(c->endpoint, sizeof(c->endpoint), "ipc://%.80s/strperf.%ld.%u",
		    tmp == NULL ? "/tmp" : tmp, (long)getpid(), opened);
	fd[0] = FIRST + (int)n * 2;
	fd[1] = fd[0] + 1;
	return EXIT_DONE;
}

static void *
make_socket(struct channel *c, int end)
{
	int linger = LINGER_MS, again = 1, bad;
	void *s;

	pthread_mutex_lock(&lock);
	if (context == NULL)
		context = zmq_ctx_new();
	s = context == NULL ? NULL : zmq_socket(context, end == 0 ? ZMQ_PULL : ZMQ_PUSH);
	made += s != NULL;
	pthread_mutex_unlock(&lock);
	if (s == NULL)
		return NULL;
	zmq_setsockopt(s, ZMQ_LINGER, &linger, sizeof(linger));
	zmq_setsockopt(s, ZMQ_RECONNECT_IVL, &again, sizeof(again));
	bad = end == 0 ? zmq_bind(s, c->endpoint) : zmq_connect(s, c->endpoint);
	c->socket[end] = s;
	return bad == 0 ? s : NULL;
}

static inline void *
socket_of(int fd)
{
	struct channel *c = channel_of(fd);
	void *s = c->socket[fd & 1];

	return __builtin_expect(s != NULL, 1) ? s : make_socket(c, fd & 1);
}

static ssize_t
read_zmq(int fd, void *buf, size_t n)
{
	int flags = channel_of(fd)->blocking ? 0 : ZMQ_DONTWAIT;
	int got = zmq_recv(socket_of(fd), buf, n, flags);

	if (__builtin_expect(got == 0, 0))
		ended[(fd - FIRST) / 2] = true;
	return got;
}

static ssize_t
write_zmq(int fd, const void *buf, size_t n)
{
	return zmq_send(socket_of(fd), buf, n, channel_of(fd)->blocking ? 0 : ZMQ_DONTWAIT);
}

static int
poll_zmq(struct pollfd *fds, nfds_t n, int ms)
{
	zmq_pollitem_t item = {
	    .socket = socket_of(fds->fd),
	    .events = fds->events & POLLIN ? ZMQ_POLLIN : ZMQ_POLLOUT,
	};

	(void)n;
	fds->revents = fds->events;
	return zmq_poll(&item, 1, ms);
}

/* There is no end of data: an empty message says so. */
static int
finish_zmq(int fd)
{
	if (zmq_send(socket_of(fd), "", 0, 0) == -1)
		return -1;
	for (int ms = 0; ms < LINGER_MS && !ended[(fd - FIRST) / 2]; ms++)
		poll(NULL, 0, 1);
	return 0;
}

/* The last one waits until everything has been handed over. */
static int
close_zmq(int fd)
{
	struct channel *c = channel_of(fd);
	void *s = c->socket[fd & 1], *last = NULL;

	if (s == NULL)
		return 0;
	c->socket[fd & 1] = NULL;
	zmq_close(s);
	pthread_mutex_lock(&lock);
	if (--made == 0) {
		last = context;
		context = NULL;
	}
	pthread_mutex_unlock(&lock);
	return last == NULL ? 0 : zmq_ctx_term(last);
}

const struct subject zeromq = {
    .name = "zmq",
    .what = "ZeroMQ: ipc between processes, inproc between threads",
    .open = open_zmq,
    .read = read_zmq,
    .write = write_zmq,
    .poll = poll_zmq,
    .finish = finish_zmq,
    .close = close_zmq,
    .limit = subject_no_limit,
    .whole = subject_always_whole,
};

#else
_Static_assert(1, "ZeroMQ was not there");
#endif
