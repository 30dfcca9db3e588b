/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_link.c [threads|fork|both]: writers number their messages into pipes
 * whose other ends are linked below a multiplexor and unlinked again, at random
 * and with I_PLINK as well as I_LINK.  Who does that reads the messages, from the
 * multiplexor or from the pipe: each must come once and in order, whatever was
 * unread, queued or parked at the moment.  Another worker pushes, pops, links
 * streams of its own and opens and closes minors of the multiplexor.
 */
#include "stresslib.h"

#include <poll.h>
#include <sys/mux.h>

enum { PAIRS = 2, LAST = -1 };

struct linking {
	int l_mux[PAIRS]; /* control streams */
	int l_out[PAIRS]; /* written to */
	int l_in[PAIRS];  /* linked, unlinked, read */
	int l_own;	  /* control stream of the plumber */
	atomic_bool l_stop;
	atomic_ulong l_read[PAIRS];
	atomic_ulong l_links[PAIRS];
};

static void
writer(struct linking *l, int i)
{
	long n = 0;

	for (;; n++) {
		long message = atomic_load(&l->l_stop) ? LAST : n;

		if (MUST(str_write(l->l_out[i], &message, sizeof(message))) != sizeof(message))
			DIE("half a message was sent");
		crew_tick(i);
		if (message == LAST)
			return;
	}
}

/* Read at most most messages from fd, all there is with -1: false at the last one. */
static bool
take(struct linking *l, int i, int fd, int most)
{
	long message, expected;

	while (most-- != 0) {
		ssize_t n = str_read(fd, &message, sizeof(message));

		if (n < 0 && errno == EAGAIN)
			return true;
		if (MUST(n) != sizeof(message))
			DIE("a message of %zd bytes came", n);
		if (message == LAST)
			return false;
		expected = (long)atomic_fetch_add(&l->l_read[i], 1);
		if (message != expected)
			DIE("message %ld came, not %ld", message, expected);
		crew_tick(PAIRS + i);
	}
	return true;
}

static void
await_messages(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	MUST(str_poll(&p, 1, 2));
}

/* Link the pipe below the multiplexor, read, unlink: false at the last message. */
static bool
linked(struct linking *l, int i, bool persist, int most)
{
	int id = (int)MUST(str_ioctl(l->l_mux[i], persist ? I_PLINK : I_LINK, l->l_in[i]));
	struct strioctl up = {MUX_UP, 0, sizeof(id), (char *)&id};
	bool more;

	if (persist)
		MUST(str_ioctl(l->l_mux[i], I_STR, &up));
	await_messages(l->l_mux[i]);
	more = take(l, i, l->l_mux[i], most);
	MUST(str_ioctl(l->l_mux[i], persist ? I_PUNLINK : I_UNLINK, id));
	atomic_fetch_add(&l->l_links[i], 1);
	/* What went up before is older than what comes next. */
	return more && take(l, i, l->l_mux[i], -1);
}

static void
linker(struct linking *l, int i)
{
	unsigned int rnd = 4711u + (unsigned)i;

	for (;;) {
		rnd = rnd * 1103515245u + 12345u;
		if (!linked(l, i, rnd >> 31, (int)(rnd >> 24 & 63)))
			return;
		if (rnd >> 20 & 1)
			await_messages(l->l_in[i]);
		if (!take(l, i, l->l_in[i], (int)(rnd >> 16 & 31)))
			return;
		crew_tick(PAIRS + i);
	}
}

/* A stream of its own linked, used, unlinked and closed. */
static void
own_link(int mux)
{
	int e = (int)MUST(str_open("/dev/streams/clone/echo", O_RDWR));
	int id = (int)MUST(str_ioctl(mux, I_LINK, e));
	char c;

	if (MUST(str_write(mux, "x", 1)) != 1 || MUST(str_read(mux, &c, 1)) != 1)
		DIE("a multiplexor lost its message");
	if (str_write(e, "x", 1) != -1 || errno != EINVAL)
		DIE("a linked stream was written");
	MUST(str_ioctl(mux, I_UNLINK, id));
	MUST(str_close(e));
}

/* A control stream closed with what is linked below. */
static void
own_mux(void)
{
	int m = (int)MUST(str_open("/dev/streams/clone/mux", O_RDWR));
	int e = (int)MUST(str_open("/dev/streams/clone/echo", O_RDWR));

	MUST(str_ioctl(m, I_LINK, e));
	MUST(str_close(e));
	MUST(str_close(m));
}

static void
plumber(struct linking *l)
{
	unsigned int rnd = 99;

	while (!atomic_load(&l->l_stop)) {
		int i = rnd >> 30 & 1;
		int fd = rnd >> 29 & 1 ? l->l_out[i] : l->l_mux[i];

		rnd = rnd * 1103515245u + 12345u;
		MUST(str_ioctl(fd, I_PUSH, "nullmod"));
		own_link(l->l_own);
		MUST(str_ioctl(fd, I_POP, 0));
		if (rnd >> 28 & 1)
			own_mux();
		crew_tick(PAIRS * 2);
	}
}

/* Workers 0 and 1 write, 2 and 3 link and read, 4 plumbs. */
static void
work(int who, void *arg)
{
	if (who < PAIRS)
		writer(arg, who);
	else if (who < PAIRS * 2)
		linker(arg, who - PAIRS);
	else
		plumber(arg);
}

static int
nonblocking(int fd)
{
	MUST(str_fcntl(fd, F_SETFL, O_NONBLOCK));
	MUST(str_ioctl(fd, I_SRDOPT, RMSGN));
	return fd;
}

static void
run(bool forked, long ms)
{
	struct linking *l = shared_memory(sizeof(*l));
	struct crew c;
	int draw[2];

	for (int i = 0; i < PAIRS; i++) {
		int fd[2];

		MUST(str_pipe(fd));
		l->l_out[i] = fd[0];
		l->l_in[i] = nonblocking(fd[1]);
		l->l_mux[i] = nonblocking((int)MUST(str_open("/dev/streams/clone/mux", O_RDWR)));
	}
	l->l_own = (int)MUST(str_open("/dev/streams/clone/mux", O_RDWR));
	draw[0] = l->l_mux[0];
	draw[1] = l->l_in[0];
	crew_start(&c, forked, PAIRS * 2 + 1, work, l, draw, "stress_link");
	stress_sleep((int)ms);
	atomic_store(&l->l_stop, true);
	crew_join(&c, PAIRS * 2, PAIRS * 2 + 1);
	crew_join(&c, 0, PAIRS * 2);
	for (int i = 0; i < PAIRS; i++) {
		printf("stress_link: %s: %lu messages while linked %lu times\n",
		    forked ? "fork" : "threads", atomic_load(&l->l_read[i]),
		    atomic_load(&l->l_links[i]));
		fflush(stdout);
		if (atomic_load(&l->l_read[i]) == 0 || atomic_load(&l->l_links[i]) == 0)
			DIE("nothing was done");
		MUST(str_close(l->l_mux[i]));
		MUST(str_close(l->l_in[i]));
		MUST(str_close(l->l_out[i]));
	}
	MUST(str_close(l->l_own));
	crew_end(&c);
}

int
main(int argc, char **argv)
{
	bool threads, forks;
	long ms = stress_ms();

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	if (threads)
		run(false, ms);
	if (forks)
		run(true, ms);
	return 0;
}
