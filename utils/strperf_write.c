/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_write.c: the writer of two programs: `strperf write NAME'.
 *
 * It says HELLO, sends messages as fast as the stream takes them, or at a rate, and
 * ends with a TRAILER that tells how many they were.  Then it waits for the reader's
 * totals; a reader that has not said HELLO by then is no strperf.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <stropts.h>
#include <unistd.h>

#include <ustreams.h>

#include "strperf.h"
#include "strperf_ends.h"
#include "strperf_intr.h"

enum {
	STAMP_EVERY = 16,      /* messages; one of so many carries the time */
	LOOK_EVERY = 10000000, /* ns from one look around to the next */
};
#define HELLO_WAIT 3000000000 /* ns after the last message for the reader's HELLO */
#define LAST_WORD 1000000000 /* ns that an interrupted writer tries to say so and be answered */

struct write {
	struct ends e;
	struct wire_writer w;
	int64_t until;	       /* --duration; INT64_MAX: --count */
	int64_t due0;	       /* --rate: when message 0 was due */
	int64_t looked;	       /* at the other side */
	int64_t progress;      /* a message went, last */
	uint64_t eagain;
	pid_t reader;	       /* its HELLO told; 0: not known */
	int pidfd;
	int answers; /* the FIFO that they come from, or -1 */
	uint32_t reply; /* its minor number */
	bool told;	       /* its totals have come */
	struct wire totals;
	int error;	       /* the stream failed */
	bool refused;	       /* for a reason that is not the reader's */
};

/* ---- what the reader says ------------------------------------------------------------ */

/* One message from the reader: false, there is none. */
static bool
hear(struct write *x)
{
	struct wire m;
	struct strbuf ctl = {sizeof(m), -1, (char *)&m};
	int flags = 0;

	if (x->answers == -1 || getmsg(x->answers, &ctl, NULL, &flags) == -1 ||
	    ctl.len <= 0 || !wire_is(&m, ctl.len) || m.id != x->w.id)
		return false;
	if (x->reader == 0) {
		x->reader = (pid_t)m.pid;
		x->pidfd = ends_watch(x->reader);
	}
	if (m.kind == WIRE_TOTALS) {
		x->told = true;
		x->totals = m;
	}
	return true;
}

static void
give_up(struct write *x, const char *why)
{
	char who[48] = "the reader";

	while (hear(x))
		;
	if (x->told && x->totals.cut)
		why = "it was interrupted";
	if (x->reader != 0)
		snprintf(who, sizeof(who), "the reader, process %d,", (int)x->reader);
	ends_gone(&x->e, "%s went after %llu messages, %llu bytes were sent: %s", who,
	    (unsigned long long)x->w.tally.messages,
	    (unsigned long long)x->w.tally.bytes, why);
}

/* Every now and then: lines, Ctrl-C, the reader.  False: no more. */
static bool
look(struct write *x, int64_t now)
{
	if (now - x->looked < LOOK_EVERY)
		return true;
	x->looked = now;
	ends_tick(&x->e, x->w.tally.messages, x->w.tally.bytes);
	while (hear(x))
		;
	if (intr_pending())
		x->e.interrupted = true;
	if (x->told)
		give_up(x, "it has ended");
	else if (ends_dead(x->pidfd))
		give_up(x, "its process has ended");
	return !x->e.interrupted && x->e.went[0] == '\0';
}

/* ---- sending -------------------------------------------------------------------------- */

/* Wait for room.  False: no more. */
static bool
wait_for_room(struct write *x, int64_t until)
{
	int64_t now;

	ends_nap(&x->e, x->e.n.out, POLLOUT, until);
	now = intr_now();
	ends_patience(&x->e, now, &x->progress);
	if (x->e.own.wait > 0 && now - x->progress > (int64_t)(x->e.own.wait * 1e9)) {
		char why[64];

		snprintf(why, sizeof(why), "nothing was read for %g s", x->e.own.wait);
		give_up(x, why);
	}
	return look(x, now) && now < until;
}

/* The stream refuses: because the reader is gone, or for a reason of its own. */
static void
fail(struct write *x, int error)
{
	x->error = error;
	if (error == EPIPE || error == ENXIO || error == EIO) {
		give_up(x, ends_reason(error));
		return;
	}
	x->refused = true;
	ends_gone(&x->e,
	    "message %llu could not be sent, %llu messages, %llu bytes were: %s",
	    (unsigned long long)x->w.tally.messages,
	    (unsigned long long)x->w.tally.messages,
	    (unsigned long long)x->w.tally.bytes, ends_reason(error));
}

/* Send a message, with the parts that are there, waiting for room.  False: no more. */
static bool
send_message(struct write *x, const struct wire *m, size_t len, int64_t until)
{
	struct strbuf ctl = {0, (int)sizeof(*m), (char *)(uintptr_t)m};
	struct strbuf data = {0, (int)len, (char *)x->w.buf};

	while (putmsg(x->e.n.out, m != NULL ? &ctl : NULL, len > 0 ? &data : NULL, 0) == -1) {
		if (errno != EAGAIN && errno != EINTR) {
			fail(x, errno);
			return false;
		}
		x->eagain++;
		if (!wait_for_room(x, until))
			return false;
	}
	return true;
}

static void
word(const struct write *x, enum wire_kind kind, struct wire *m)
{
	wire_make(m, kind, x->w.id);
	m->pid = (uint32_t)getpid();
	m->size = (uint32_t)x->e.own.size;
	m->tally = x->w.tally;
	m->cut = x->e.interrupted;
	m->reply = x->reply;
}

static bool
say(struct write *x, enum wire_kind kind)
{
	struct wire m;

	word(x, kind, &m);
	return send_message(x, &m, 0, INT64_MAX);
}

/* With --rate: sleep until the next message is due, and say when that was. */
static int64_t
pace(struct write *x)
{
	int64_t due =
	    x->due0 + (int64_t)((double)x->w.tally.messages * 1e9 / x->e.o.rate), now;

	while ((now = intr_now()) < due && look(x, now))
		intr_poll(NULL, 0, due - now < 10000000 ? due : now + 10000000);
	return due;
}

/* The time that the next message carries; 0: none. */
static int64_t
stamp(struct write *x)
{
	if (x->e.o.rate > 0)
		return pace(x);
	return x->w.tally.messages % STAMP_EVERY == 0 ? intr_now() : 0;
}

static bool
done(const struct write *x, int64_t now)
{
	if (x->e.own.count > 0)
		return x->w.tally.messages >= x->e.own.count;
	return now >= x->until;
}

static void
send_all(struct write *x)
{
	const struct wire *ctl;
	int64_t now = intr_now(), time;

	x->due0 = x->progress = now;
	x->until = x->e.own.count > 0 ? INT64_MAX
				      : now + (int64_t)(x->e.o.duration * 1e9);
	ends_tick(&x->e, 0, 0);
	while (!done(x, now)) {
		time = stamp(x);
		if (time != 0) {
			now = x->e.o.rate > 0 ? intr_now() : time;
			x->progress = now;
			if (!look(x, now))
				return;
		}
		wire_stamp(&x->w, time, &ctl);
		if (!send_message(x, ctl, x->e.own.size, x->until))
			return;
		wire_sent(&x->w, time);
	}
}

/* ---- the end ----------------------------------------------------------------------------- */

/* Whether the totals may still come; else why not. */
static bool
may_come(struct write *x, int64_t *sent)
{
	int64_t now = intr_now(), waited;

	ends_patience(&x->e, now, sent);
	waited = now - *sent;

	if (x->told || x->e.interrupted || x->answers == -1)
		return false;
	if (x->reader == 0)
		return waited < HELLO_WAIT;
	if (ends_dead(x->pidfd) && !hear(x))
		give_up(x, "its process has ended");
	else if (x->e.own.wait > 0 && waited > (int64_t)(x->e.own.wait * 1e9))
		give_up(x, "it has not told its totals");
	return x->e.went[0] == '\0' && !x->told;
}

static void
await_totals(struct write *x)
{
	int64_t sent = intr_now();

	while (may_come(x, &sent))
		if (!hear(x)) /* an end that nobody has opened yet is always ready */
			ends_nap(&x->e, x->reader != 0 ? x->answers : -1, POLLIN,
			    intr_now() + 10000000);
	if (x->told && x->totals.cut)
		give_up(x, "it was interrupted");
}

/* After Ctrl-C: say so, and hear what had come, but do not insist. */
static void
say_interrupted(struct write *x)
{
	int64_t until = intr_now() + LAST_WORD;
	struct wire m;

	word(x, WIRE_TRAILER, &m);
	while (ends_say(x->e.n.out, &m) == EAGAIN && intr_now() < until)
		ends_nap(&x->e, x->e.n.out, POLLOUT, until);
	while (!x->told && x->reader != 0 && intr_now() < until && !ends_dead(x->pidfd))
		if (!hear(x))
			ends_nap(&x->e, x->answers, POLLIN, until);
}

static void
trailer(struct write *x)
{
	if (x->error != 0 || x->e.went[0] != '\0')
		return;
	x->progress = intr_now();
	if (x->e.interrupted)
		say_interrupted(x);
	else if (say(x, WIRE_TRAILER))
		await_totals(x);
}

static int
results(struct write *x, double seconds)
{
	struct ends_row row = {
	    .side = "write",
	    .here = x->w.tally,
	    .there = x->told ? &x->totals.tally : NULL,
	    .seconds = seconds,
	    .eagain = x->eagain,
	};
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	row.writer = pid;
	ends_put(&x->e, &row);
	return ends_conclude(&x->e,
	    !x->refused &&
		(row.there == NULL || wire_same(&row.here, row.there) || x->totals.cut));
}

static int
run(struct write *x)
{
	uint64_t id = (uint64_t)getpid() << 32 | ((uint64_t)intr_now() >> 10 & 0xffffffff);
	double seconds;
	int status;

	if (wire_init(&x->w, id, x->e.own.size) != 0)
		return complain("write: no memory"), EXIT_FAILED;
	status = ends_begin(&x->e, SIDE_OUT);
	if (status != EXIT_DONE) {
		ends_part(&x->e);
		return status;
	}
	x->answers = ends_answers(&x->reply);
	x->progress = intr_now();
	if (say(x, WIRE_HELLO))
		send_all(x);
	seconds = ends_finish(&x->e, x->w.tally.messages, x->w.tally.bytes, intr_now());
	trailer(x);
	ends_part(&x->e);
	if (x->answers != -1)
		str_close(x->answers);
	status = results(x, seconds);
	wire_fini(&x->w);
	return status;
}

int
cmd_write(int argc, char **argv)
{
	static struct write x = {.e = {.command = "write"}, .pidfd = -1, .answers = -1};
	bool asked;
	int status;

	x.e.o.use = USE_WRITE;
	status = ends_parse(&x.e, argc, argv, &asked);
	return status != EXIT_DONE || asked ? status : run(&x);
}
