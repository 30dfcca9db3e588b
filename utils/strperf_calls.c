/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_calls.c: whether each call a program may use on a FIFO does its work.
 *
 * A trial gets a new FIFO, both ends open and not blocking, and returns NULL or
 * what was not as it should be.  epoll sees a stream through the descriptor of
 * str_eventfd(); SIGPOLL comes by I_SETSIG.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_calls.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stropts.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include <ustreams.h>

#include "strperf.h"
#include "strperf_report.h"
#include "strperf_subject.h"

#define PATIENCE_MS 5000 /* for what must come */
#define MOMENT_MS 20	 /* for what must not come */

/* The two ends of a trial's FIFO; -1 when it has closed one. */
struct ends {
	int reader, writer;
};

static const char *
send_text(const struct ends *e)
{
	return str_write(e->writer, "abc", 3) == 3 ? NULL : "a write of 3 bytes fails";
}

static const char *
receive_text(const struct ends *e)
{
	char buf[8];

	return str_read(e->reader, buf, sizeof(buf)) == 3 && memcmp(buf, "abc", 3) == 0
	    ? NULL
	    : "what was written is not read";
}

/* ---- read, write -------------------------------------------------------------------- */

static const char *
try_read(struct ends *e)
{
	const char *wrong;
	char c;

	if (str_read(e->reader, &c, 1) != -1 || errno != EAGAIN)
		return "an empty FIFO does not give EAGAIN";
	if ((wrong = send_text(e)) != NULL || (wrong = receive_text(e)) != NULL)
		return wrong;
	str_close(e->writer);
	e->writer = -1;
	return str_read(e->reader, &c, 1) == 0 ? NULL
					       : "no end of file without a writer";
}

static const char *
try_write(struct ends *e)
{
	static char buf[4096];
	int n = 0;

	while (n < 100000 && str_write(e->writer, buf, sizeof(buf)) > 0)
		n++;
	if (n == 0 || n == 100000 || errno != EAGAIN)
		return "a full FIFO does not give EAGAIN";
	if (str_read(e->reader, buf, sizeof(buf)) <= 0)
		return "a full FIFO cannot be read";
	str_close(e->reader);
	e->reader = -1;
	return str_write(e->writer, buf, 1) == -1 && errno == EPIPE
	    ? NULL
	    : "no EPIPE without a reader";
}

/* ---- select, poll -------------------------------------------------------------------- */

static int
select_reader(const struct ends *e, int ms)
{
	struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(e->reader, &set);
	return str_select(e->reader + 1, &set, NULL, NULL, &tv);
}

static const char *
try_select(struct ends *e)
{
	const char *wrong;

	if (e->reader >= FD_SETSIZE)
		return "the descriptor is too large for select";
	if (select_reader(e, MOMENT_MS) != 0)
		return "an empty FIFO is readable";
	if ((wrong = send_text(e)) != NULL)
		return wrong;
	if (select_reader(e, PATIENCE_MS) != 1)
		return "a FIFO with data is not readable";
	return receive_text(e);
}

static short
poll_end(int fd, short events, int ms)
{
	struct pollfd pfd = {.fd = fd, .events = events};

	return str_poll(&pfd, 1, ms) == -1 ? -1 : pfd.revents;
}

static const char *
try_poll(struct ends *e)
{
	const char *wrong;

	if (poll_end(e->reader, POLLIN, MOMENT_MS) != 0)
		return "an empty FIFO is readable";
	if (poll_end(e->writer, POLLOUT, PATIENCE_MS) != POLLOUT)
		return "an empty FIFO is not writable";
	if ((wrong = send_text(e)) != NULL)
		return wrong;
	if (poll_end(e->reader, POLLIN, PATIENCE_MS) != POLLIN)
		return "a FIFO with data is not readable";
	if ((wrong = receive_text(e)) != NULL)
		return wrong;
	str_close(e->writer);
	e->writer = -1;
	return poll_end(e->reader, POLLIN, PATIENCE_MS) & POLLHUP
	    ? NULL
	    : "no POLLHUP without a writer";
}

/* ---- epoll, SIGPOLL --------------------------------------------------------------------- */

static int
wait_epoll(int ep, int ms)
{
	struct epoll_event event;

	return epoll_wait(ep, &event, 1, ms);
}

static const char *
watch(struct ends *e, int ep, int efd)
{
	struct epoll_event event = {.events = EPOLLIN};
	const char *wrong;

	if (epoll_ctl(ep, EPOLL_CTL_ADD, efd, &event) == -1)
		return "epoll does not take the event descriptor";
	if (wait_epoll(ep, MOMENT_MS) != 0)
		return "an empty FIFO is ready";
	if ((wrong = send_text(e)) != NULL)
		return wrong;
	if (wait_epoll(ep, PATIENCE_MS) != 1)
		return "a FIFO with data is not ready";
	if ((wrong = receive_text(e)) != NULL)
		return wrong;
	for (int ms = 0; ms < PATIENCE_MS && wait_epoll(ep, 0) != 0; ms++)
		poll(NULL, 0, 1);
	return wait_epoll(ep, 0) == 0 ? NULL : "a FIFO that was emptied stays ready";
}

static const char *
try_epoll(struct ends *e)
{
	int ep = epoll_create1(EPOLL_CLOEXEC), efd = str_eventfd(e->reader, POLLIN);
	const char *wrong = "str_eventfd fails";

	if (ep != -1 && efd != -1)
		wrong = watch(e, ep, efd);
	if (ep != -1)
		close(ep);
	return wrong;
}

static volatile sig_atomic_t polled;

static void
note_poll(int sig)
{
	(void)sig;
	polled = 1;
}

static const char *
try_sigpoll(struct ends *e)
{
	struct sigaction act = {.sa_handler = note_poll}, old;
	const char *wrong = NULL;

	polled = 0;
	sigaction(SIGPOLL, &act, &old);
	if (str_ioctl(e->reader, I_SETSIG, S_INPUT) == -1)
		wrong = "I_SETSIG fails";
	if (wrong == NULL && (wrong = send_text(e)) == NULL) {
		for (int ms = 0; ms < PATIENCE_MS && !polled; ms++)
			poll(NULL, 0, 1);
		wrong = polled ? receive_text(e) : "no SIGPOLL comes with data";
	}
	str_ioctl(e->reader, I_SETSIG, 0);
	sigaction(SIGPOLL, &old, NULL);
	return wrong;
}

/* ---- all of them ------------------------------------------------------------------------- */

static const struct trial {
	const char *call; /* key in the results */
	const char *(*run)(struct ends *e);
} trials[] = {
    {"call_read", try_read},
    {"call_write", try_write},
    {"call_select", try_select},
    {"call_poll", try_poll},
    {"call_epoll", try_epoll},
    {"call_sigpoll", try_sigpoll},
};

static const char *
try_one(const struct options *o, const struct trial *t)
{
	const char *wrong;
	struct ends e;
	int fd[2];

	if (ustreams_fifo.open(o, 0, fd) != EXIT_DONE)
		return "the FIFO cannot be opened";
	e.reader = fd[0];
	e.writer = fd[1];
	wrong = t->run(&e);
	if (e.reader != -1)
		str_close(e.reader);
	if (e.writer != -1)
		str_close(e.writer);
	return wrong;
}

bool
calls_try_all(struct report *r)
{
	struct options o = *r->o;
	bool good = true;

	o.blocking = false;
	for (size_t i = 0; i < NELEM(trials); i++) {
		const char *wrong = try_one(&o, &trials[i]);

		report_set_text(r, trials[i].call, wrong == NULL ? "passed" : wrong);
		if (r->o->format == FORMAT_HUMAN)
			printf("%-12s %s\n", trials[i].call + strlen("call_"),
			    wrong == NULL ? "passed" : wrong);
		if (wrong != NULL)
			complain("fifo: %s: %s", trials[i].call, wrong);
		good = good && wrong == NULL;
	}
	if (r->o->format == FORMAT_HUMAN)
		putchar('\n');
	return good;
}
