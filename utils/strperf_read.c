/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_read.c: the reader of two programs: `strperf read NAME'.
 *
 * Keeps an account for each writer it hears of, by the number that its messages
 * carry, and compares it with the writer's TRAILER.
 *
 *	             HELLO or DATA         TRAILER
 *	(unknown) ------------------> here --------> ended
 *	                                `----------> went	process ended, hang-up
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <unistd.h>

#include <ustreams.h>

#include "strperf.h"
#include "strperf_ends.h"
#include "strperf_intr.h"

enum {
	MOST_WRITERS = 64,
	TICK_EVERY = 64, /* messages */
};

struct account {
	uint64_t id;
	pid_t pid; /* of the writer; 0: its HELLO was not seen */
	int pidfd;
	uint64_t next; /* number of the message that is to come */
	uint64_t gaps, bad;
	struct tally here, there;
	struct hist *latency;
	enum { HERE, ENDED, WENT } state;
	bool cut;    /* the writer was interrupted */
	int answers; /* the writer's FIFO for them, or -1 */
};

struct read {
	struct ends e;
	struct account *account[MOST_WRITERS];
	size_t n;
	struct account *last; /* of the message before */
	struct tally all;
	uint64_t foreign; /* messages that nobody's strperf sent */
	uint64_t eagain;
	int64_t came;	  /* a message, last; or the start */
	int64_t idle;	  /* since when nothing was there */
	int64_t due0;	  /* --rate */
	bool said;	  /* that we wait */
	bool broken;	  /* the stream failed */
	bool rested;	  /* nothing was there a moment ago */
	bool hung;	  /* the stream is at its end, for now */
	unsigned char *data;
};

/* ---- accounts ------------------------------------------------------------------------- */

static struct account *
account_of(struct read *x, uint64_t id)
{
	struct account *a;

	if (x->last != NULL && x->last->id == id)
		return x->last;
	for (size_t i = 0; i < x->n; i++)
		if (x->account[i]->id == id)
			return x->last = x->account[i];
	a = x->n < MOST_WRITERS ? calloc(1, sizeof(*a)) : NULL;
	if (a == NULL || (a->latency = malloc(sizeof(*a->latency))) == NULL) {
		free(a);
		return NULL;
	}
	a->id = id;
	a->pid = (pid_t)(id >> 32);
	a->pidfd = a->answers = -1;
	hist_init(a->latency);
	x->account[x->n++] = a;
	return x->last = a;
}

static size_t
count_state(const struct read *x, int state)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++)
		n += (int)x->account[i]->state == state;
	return n;
}

static void
answer(struct read *x, enum wire_kind kind, const struct account *a)
{
	struct wire m;

	if (a->answers == -1)
		return;
	wire_make(&m, kind, a->id);
	m.pid = (uint32_t)getpid();
	m.tally = a->here;
	m.cut = x->e.interrupted;
	ends_say(a->answers, &m);
}

/* ---- messages --------------------------------------------------------------------------- */

static void
take_data(struct read *x, const struct wire *ctl, size_t n)
{
	struct wire_message m;
	struct account *a;

	wire_take(&m, ctl, x->data, n);
	a = m.damaged ? NULL : account_of(x, m.id);
	if (a == NULL) {
		x->foreign++;
		return;
	}
	if (m.seq < a->next) {
		a->bad++;
		return;
	}
	a->gaps += m.seq - a->next;
	a->next = m.seq + 1;
	wire_count(&a->here, m.seq, m.time, n);
	x->all.messages++;
	x->all.bytes += n;
	if (m.time != 0)
		hist_record(a->latency, intr_now() - (int64_t)m.time);
}

static void
take_trailer(struct read *x, struct account *a, const struct wire *m)
{
	a->there = m->tally;
	a->cut = m->cut != 0;
	a->state = ENDED;
	if (m->tally.messages > a->next)
		a->gaps += m->tally.messages - a->next;
	answer(x, WIRE_TOTALS, a);
}

static void
take_control(struct read *x, const struct wire *m)
{
	struct account *a = account_of(x, m->id);

	if (a == NULL) {
		x->foreign++;
		return;
	}
	switch (m->kind) {
	case WIRE_HELLO:
		a->pid = (pid_t)m->pid;
		a->pidfd = ends_watch(a->pid);
		a->answers = ends_answer_to(m->reply);
		answer(x, WIRE_HELLO, a);
		break;
	case WIRE_TRAILER:
		take_trailer(x, a, m);
		break;
	default:
		x->foreign++;
	}
}

/* Take the message at the front: 0, or an errno; ENODATA: the stream is at its end. */
static int
take(struct read *x)
{
	struct wire m;
	struct strbuf ctl = {sizeof(m), -1, (char *)&m};
	struct strbuf data = {MAX_MESSAGE, -1, (char *)x->data};
	int flags = 0, more = getmsg(x->e.n.in, &ctl, &data, &flags);

	if (more == -1)
		return errno;
	if (more == 0 && ctl.len == 0 && data.len == 0)
		return ENODATA;
	if (more != 0 || (ctl.len >= 0 && !wire_is(&m, ctl.len)))
		x->foreign++;
	else if (ctl.len < 0 || m.kind == WIRE_DATA)
		take_data(x, ctl.len < 0 ? NULL : &m, data.len < 0 ? 0 : (size_t)data.len);
	else
		take_control(x, &m);
	return 0;
}

/* ---- ends ------------------------------------------------------------------------------- */

static void
bury(struct read *x, struct account *a, const char *why)
{
	a->state = WENT;
	ends_gone(&x->e,
	    "writer %d went before its end, %llu messages, %llu bytes had come: %s",
	    (int)a->pid, (unsigned long long)a->here.messages,
	    (unsigned long long)a->here.bytes, why);
}

/* The stream failed: whose doing was it? */
static void
fail(struct read *x, int error)
{
	x->broken = true;
	for (size_t i = 0; i < x->n; i++)
		if (x->account[i]->state == HERE &&
		    (x->n == 1 || ends_dead(x->account[i]->pidfd)))
			bury(x, x->account[i], ends_reason(error));
	ends_gone(&x->e, "after %llu messages, %llu bytes the stream failed: %s",
	    (unsigned long long)x->all.messages, (unsigned long long)x->all.bytes,
	    error == EIO ? "a process was killed inside a call" : ends_reason(error));
}

/* Nothing came for a while: who is dead? */
static void
mourn(struct read *x, int64_t now)
{
	if (now - x->came < ENDS_GRACE && !x->broken)
		return;
	for (size_t i = 0; i < x->n; i++) {
		struct account *a = x->account[i];

		if (a->state != HERE)
			continue;
		if (x->hung)
			bury(x, a, "the stream has no writer any more");
		else if (ends_dead(a->pidfd))
			bury(x, a, "its process has ended");
	}
}

/* Whether all has come that is expected. */
static bool
complete(const struct read *x, int64_t now)
{
	if (x->broken || x->e.interrupted)
		return true;
	if (count_state(x, HERE) > 0 || x->n < (size_t)x->e.own.writers)
		return false;
	return x->hung || now - x->came >= ENDS_GRACE;
}

/* No writer has come yet: say so, and for how long we wait.  False: long enough. */
static bool
expect(struct read *x, int64_t now)
{
	double waited = (double)(now - x->came) / 1e9;

	if (count_state(x, HERE) > 0 || x->n >= (size_t)x->e.own.writers)
		return true;
	if (!x->said && waited > 0.1) {
		complain("read: waiting for a writer at %s", x->e.n.name);
		x->said = true;
	}
	if (x->e.own.wait <= 0 || waited < x->e.own.wait)
		return true;
	ends_gone(&x->e, "%s came to %s within %g s",
	    x->n == 0 ? "nobody" : "not so many writers", x->e.n.name, x->e.own.wait);
	return false;
}

/* Nothing to read: sleep, and look around.  False: the end. */
static bool
rest(struct read *x, int error)
{
	int64_t now;

	if (!x->rested)
		x->idle = intr_now();
	x->rested = true;
	x->hung = error == ENODATA;
	if (error == EAGAIN)
		x->eagain++;
	if (error != EAGAIN && error != EINTR && error != ENODATA) {
		fail(x, error);
	} else if (complete(x, intr_now())) {
		return false;
	} else if (error == ENODATA) { /* poll would return at once */
		ends_nap(&x->e, -1, 0, intr_now() + 10000000);
	} else {
		ends_nap(&x->e, x->e.n.in, POLLIN, INT64_MAX / 2);
	}
	now = x->n > 0 ? ends_tick(&x->e, x->all.messages, x->all.bytes) : intr_now();
	mourn(x, now);
	ends_patience(&x->e, now, &x->came);
	return !complete(x, now) && expect(x, now);
}

/* With --rate: take no more than that. */
static void
pace(struct read *x)
{
	int64_t due =
	    x->due0 + (int64_t)((double)x->all.messages * 1e9 / x->e.o.rate), now;

	while ((now = intr_now()) < due && !x->e.interrupted) {
		ends_tick(&x->e, x->all.messages, x->all.bytes);
		ends_nap(&x->e, -1, 0, due);
	}
}

static void
receive(struct read *x)
{
	uint64_t taken = 0;
	int error;

	x->came = intr_now();
	for (;;) {
		error = take(x);
		if (error != 0) {
			if (!rest(x, error))
				return;
			continue;
		}
		if (taken++ == 0)
			x->due0 = intr_now();
		if (x->e.o.rate > 0)
			pace(x);
		if (taken % TICK_EVERY != 1 && x->e.o.rate <= 0 && !x->rested)
			continue;
		x->rested = false;
		x->came = ends_tick(&x->e, x->all.messages, x->all.bytes);
		if (taken % 1024 == 1 && intr_pending())
			x->e.interrupted = true;
		if (x->e.interrupted)
			return;
	}
}

/* ---- results ---------------------------------------------------------------------------- */

/* One writer's line.  Whether all is as it should be. */
static bool
put_account(struct read *x, const struct account *a, double seconds)
{
	struct ends_row row = {
	    .side = "read",
	    .here = a->here,
	    .there = a->state == ENDED ? &a->there : NULL,
	    .seconds = seconds,
	    .gaps = a->gaps,
	    .bad = a->bad + (x->n == 1 ? x->foreign : 0),
	    .eagain = x->eagain,
	    .latency = a->latency,
	};
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)a->pid);
	row.writer = pid;
	ends_put(&x->e, &row);
	if (a->cut)
		ends_gone(&x->e, "writer %d was interrupted after %llu messages, %llu bytes",
		    (int)a->pid, (unsigned long long)a->there.messages,
		    (unsigned long long)a->there.bytes);
	return a->gaps == 0 && a->bad == 0 &&
	    (row.there == NULL || wire_same(&row.here, row.there));
}

static void
put_all(struct read *x, double seconds)
{
	static struct hist latency;
	struct ends_row row = {
	    .side = "read",
	    .writer = "all",
	    .here = x->all,
	    .seconds = seconds,
	    .bad = x->foreign,
	    .eagain = x->eagain,
	    .latency = &latency,
	};

	hist_init(&latency);
	for (size_t i = 0; i < x->n; i++) {
		hist_merge(&latency, x->account[i]->latency);
		row.gaps += x->account[i]->gaps;
		row.bad += x->account[i]->bad;
		row.here.checksum += x->account[i]->here.checksum;
	}
	ends_put(&x->e, &row);
}

static int
results(struct read *x)
{
	double seconds = ends_finish(&x->e, x->all.messages, x->all.bytes,
	    x->rested ? x->idle : intr_now());
	bool good = x->foreign == 0;
	int status;

	for (size_t i = 0; i < x->n; i++)
		good = put_account(x, x->account[i], seconds) && good;
	if (x->n != 1)
		put_all(x, seconds);
	status = ends_conclude(&x->e, good);
	for (size_t i = 0; i < x->n; i++) {
		free(x->account[i]->latency);
		free(x->account[i]);
	}
	return status;
}

static int
run(struct read *x)
{
	int status;

	x->data = payload_alloc(MAX_MESSAGE);
	if (x->data == NULL)
		return complain("read: no memory"), EXIT_FAILED;
	status = ends_begin(&x->e, SIDE_IN);
	if (status == EXIT_DONE) {
		receive(x);
		for (size_t i = 0; x->e.interrupted && i < x->n; i++)
			if (x->account[i]->state == HERE)
				answer(x, WIRE_TOTALS, x->account[i]);
	}
	ends_part(&x->e);
	if (status == EXIT_DONE)
		status = results(x);
	free(x->data);
	return status;
}

int
cmd_read(int argc, char **argv)
{
	static struct read x = {.e = {.command = "read"}};
	bool asked;
	int status;

	x.e.o.use = USE_READ;
	status = ends_parse(&x.e, argc, argv, &asked);
	return status != EXIT_DONE || asked ? status : run(&x);
}
