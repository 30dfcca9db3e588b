/* SPDX-License-Identifier: BSD-2-Clause */
/* strperf_ends.c: what the two programs of strperf_ends.h have in common. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <sys/ddi.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bsd/string.h>

#include <ustreams.h>

#include "modlist.h"
#include "strperf.h"
#include "strperf_intr.h"

#define SIZE_MOST 262144 /* strmsgsz, unless it is tuned */

/* ---- options ------------------------------------------------------------------------ */

static int
set_size(void *to, const char *text)
{
	struct ends_options *own = to;
	long long n;
	int status = args_number(text, 1, SIZE_MOST, &n);

	own->size = (size_t)n;
	return status;
}

static int
set_count(void *to, const char *text)
{
	struct ends_options *own = to;
	long long n;
	int status = args_number(text, 1, LLONG_MAX, &n);

	own->count = (uint64_t)n;
	return status;
}

static int
set_wait(void *to, const char *text)
{
	return args_real(text, 0, 86400, &((struct ends_options *)to)->wait);
}

static int
set_writers(void *to, const char *text)
{
	return args_number(text, 1, 64, &((struct ends_options *)to)->writers);
}

static int
set_attach(void *to, const char *text)
{
	(void)text;
	((struct ends_options *)to)->attach = true;
	return 0;
}

static const struct arg table[] = {
    {"size", "BYTES", set_size, "1 to 262144 bytes",
	"bytes of a message; default 64; below 32 the header goes in a control part",
	USE_WRITE, 's'},
    {"count", "N", set_count, "1 or more", "messages to send, instead of --duration",
	USE_WRITE, 'n'},
    {"writers", "N", set_writers, "1 to 64",
	"end when so many writers have come and gone; default 1", USE_READ, 0},
    {"wait", "SECONDS", set_wait, "0 (for ever) to 86400 seconds",
	"how long to wait for the other side; default 30", 0, 'w'},
    {"attach", NULL, set_attach, NULL,
	"make a pipe and attach it to NAME, a file, instead of opening NAME", 0, 'a'},
};

static int
help(const struct ends *e, const struct args *own)
{
	printf("usage: strperf %s [options] NAME\n"
	       "NAME is a FIFO, a path with a stream attached or a device of an instance\n"
	       "options:\n"
	       "  -I, --instance NAME  the instance to meet in; default $USTREAMS_INSTANCE\n",
	    e->command);
	args_help(own);
	opts_help(e->o.use);
	puts("exit status: 0 all arrived, 1 messages lost or damaged, 2 usage, 3 the other "
	     "side\nnever came or went before its end, 130 interrupted");
	return EXIT_DONE;
}

static int
settle(struct ends *e, const char *name, int operands)
{
	const char *instance = secure_getenv("USTREAMS_INSTANCE");
	long most = ustr_tunable("strmsgsz");

	if (operands != 1) {
		complain("%s: %s; legal: strperf %s [options] NAME", e->command,
		    operands == 0 ? "at which name?" : "one name at a time", e->command);
		return EXIT_USAGE;
	}
	if (instance == NULL || *instance == '\0') {
		complain("%s: without an instance nobody can be met at %s; legal: -I NAME or "
			 "USTREAMS_INSTANCE=NAME, the same for both programs",
		    e->command, name);
		return EXIT_USAGE;
	}
	if ((long)e->own.size > most) {
		complain("--size: %zu bytes are more than a message may have here; legal: "
			 "1 to %ld",
		    e->own.size, most);
		return EXIT_USAGE;
	}
	name_init(&e->n, name);
	if (e->own.attach) /* a path, whether it is there yet or not */
		snprintf(e->n.path, sizeof(e->n.path), "%s", name);
	return EXIT_DONE;
}

int
ends_parse(struct ends *e, int argc, char **argv, bool *done)
{
	struct args own = {table, NELEM(table), &e->own, e->o.use};
	enum use use = e->o.use;
	int rest, status;

	opts_defaults(&e->o);
	e->o.use = use;
	e->o.npush = 0;
	e->own = (struct ends_options){.size = 64, .wait = 30, .writers = 1};
	status = opts_parse_with(&e->o, &own, argc, argv, &rest);
	*done = status == EXIT_DONE && (e->o.help || e->o.version);
	if (*done)
		return e->o.help ? help(e, &own) : cmd_text(false);
	return status == EXIT_DONE ? settle(e, argv[rest], argc - rest) : status;
}

/* ---- coming together ------------------------------------------------------------------- */

void
ends_nap(struct ends *e, int fd, short events, int64_t until)
{
	int64_t left = (until - intr_now()) / 1000000 + 1;
	struct pollfd p = {fd, events, 0};
	int ms = left < ENDS_NAP ? (left > 0 ? (int)left : 0) : ENDS_NAP;

	if (fd == -1)
		intr_poll(NULL, 0, intr_now() + (int64_t)ms * 1000000);
	else
		str_poll(&p, 1, ms);
	if (intr_pending())
		e->interrupted = true;
}

void
ends_patience(struct ends *e, int64_t now, int64_t *since)
{
	int64_t gap = e->patient != 0 ? now - e->patient : 0;

	if (gap > ENDS_STOPPED)
		*since = *since + gap < now ? *since + gap : now;
	e->patient = now;
}

/* What keeps the other side from being there; NULL: it cannot be helped by waiting. */
static const char *
awaited(const struct ends *e, int error)
{
	if (error != ENXIO)
		return NULL;
	if (name_may_come(&e->n))
		return "a stream to be attached";
	return name_is_fifo(&e->n) || e->n.kind == NAME_FIFO ? "a reader" : NULL;
}

/* A pipe of our own: we have one end, whoever opens the name the other one. */
static int
attach_once(struct ends *e)
{
	int p[2], error;

	if (str_pipe(p) == -1)
		return errno;
	error = fattach(p[1], e->n.path) == -1 ? errno : 0;
	str_close(p[1]);
	if (error != 0) {
		str_close(p[0]);
		return error;
	}
	str_fcntl(p[0], F_SETFL, O_RDWR | O_NONBLOCK);
	e->n.in = e->n.out = p[0];
	e->n.kind = NAME_PIPE;
	return 0;
}

static bool
hung_up(int fd)
{
	struct pollfd p = {fd, 0, 0};

	return str_poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

/* A stream that is attached, but hung up, was left by a program that was killed. */
static bool
stale(const char *path)
{
	int fd = str_open(path, O_RDWR | O_NONBLOCK);
	bool hung = fd != -1 && hung_up(fd);

	if (fd != -1)
		str_close(fd);
	return hung;
}

static int
attach(struct ends *e)
{
	int fd = open(e->n.path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600), error;

	e->made = fd != -1;
	if (fd != -1)
		close(fd);
	error = attach_once(e);
	if (error == EBUSY && stale(e->n.path) && fdetach(e->n.path) == 0)
		error = attach_once(e);
	if (error == 0)
		return EXIT_DONE;
	complain("--attach: %s: %s", e->n.name,
	    error == EBUSY ? "a stream is attached already; legal: the name alone"
			   : strerror(error));
	return EXIT_USAGE;
}

static int
open_side(struct ends *e, int side)
{
	/* What is no FIFO can carry answers. */
	int error = name_open(
	    &e->n, name_is_fifo(&e->n) ? side : SIDE_IN | SIDE_OUT, false);

	if (error != 0)
		return error;
	if (e->n.kind == NAME_FIFO && e->n.in != -1 && e->n.out != -1) {
		name_close(&e->n, SIDE_IN | SIDE_OUT);
		return name_open(&e->n, side, false);
	}
	if (e->n.kind != NAME_PIPE || !hung_up(e->n.in))
		return 0;
	name_close(&e->n, SIDE_IN | SIDE_OUT);
	return ENXIO;
}

static int
open_waiting(struct ends *e, int side)
{
	int64_t since = intr_now(), now;
	bool said = false;
	int error;

	while ((error = open_side(e, side)) != 0 && !e->interrupted) {
		const char *what = awaited(e, error);

		if (what == NULL) {
			complain("%s: %s", e->command, name_why(&e->n, error));
			return EXIT_USAGE;
		}
		if (!said)
			complain("%s: waiting for %s at %s", e->command, what, e->n.name);
		said = true;
		now = intr_now();
		ends_patience(e, now, &since);
		if (e->own.wait > 0 && now - since >= (int64_t)(e->own.wait * 1e9)) {
			complain("%s: nobody came to %s within %g s", e->command,
			    e->n.name, e->own.wait);
			return EXIT_WENT;
		}
		ends_nap(e, -1, 0, intr_now() + 10000000);
	}
	return e->interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
}

static int
push(struct ends *e, int fd)
{
	const char *names = opts_push_text(&e->o);
	char bad[FMNAMESZ + 1];
	int error = *names != '\0' ? modlist_push(fd, names, bad) : 0;

	if (error == 0)
		return EXIT_DONE;
	complain("--push: %s", modlist_refusal(fd, bad, error));
	return EXIT_USAGE;
}

/* Whether there are such modules, before anybody is waited for. */
static int
try_modules(struct ends *e)
{
	int fd[2], status;

	if (e->o.npush == 0 || str_pipe(fd) == -1)
		return EXIT_DONE;
	status = push(e, fd[0]);
	str_close(fd[0]);
	str_close(fd[1]);
	return status;
}

static int
meet(struct ends *e, int side)
{
	int status = try_modules(e);

	if (status == EXIT_DONE)
		status = e->own.attach ? attach(e) : open_waiting(e, side);
	return status == EXIT_DONE ? push(e, e->n.out != -1 ? e->n.out : e->n.in) : status;
}

/* How it is measured, for the results. */
static void
describe(struct ends *e)
{
	static const char *const kinds[] = {[NAME_FIFO] = "FIFO", [NAME_PIPE] = "pipe",
	    [NAME_DEVICE] = "device"};
	struct report *r = &e->report;

	r->metric = "msgs_per_s";
	r->higher_better = true;
	report_set_text(r, "name", e->n.name);
	report_set_text(r, "kind", kinds[e->n.kind]);
	report_set_text(r, "instance", secure_getenv("USTREAMS_INSTANCE"));
	report_set_text(r, "push", e->o.npush > 0 ? opts_push_text(&e->o) : "none");
	if (e->o.use == USE_WRITE)
		report_set(r, "size", (double)e->own.size);
	if (e->o.rate > 0)
		report_set(r, "rate", e->o.rate);
	report_header(r);
}

int
ends_begin(struct ends *e, int side)
{
	int status =
	    report_begin(&e->report, &e->o, e->command, ends_columns, ends_ncolumns);

	if (status == EXIT_DONE)
		status = meet(e, side);
	if (status == EXIT_DONE)
		describe(e);
	return status;
}

void
ends_part(struct ends *e)
{
	int fd = e->n.out != -1 ? e->n.out : e->n.in;
	char top[FMNAMESZ + 1];

	for (size_t i = e->o.npush; fd != -1 && i > 0; i--)
		if (str_ioctl(fd, I_LOOK, top) == -1 ||
		    strcmp(top, e->o.push[i - 1]) != 0 || str_ioctl(fd, I_POP, 0) == -1)
			break;
	if (e->own.attach && e->n.in != -1)
		fdetach(e->n.path);
	if (e->made)
		unlink(e->n.path);
	name_close(&e->n, SIDE_IN | SIDE_OUT);
}

int
ends_say(int fd, const struct wire *m)
{
	struct strbuf ctl = {0, (int)sizeof(*m), (char *)(uintptr_t)m};

	return putmsg(fd, &ctl, NULL, 0) == -1 ? errno : 0;
}

int
ends_answers(uint32_t *reply)
{
	int fd = str_open("/dev/streams/clone/fifo", O_RDONLY | O_NONBLOCK);
	struct stat st;

	if (fd != -1 && str_fstat(fd, &st) == 0)
		*reply = getminor(st.st_rdev);
	return fd;
}

int
ends_answer_to(uint32_t reply)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/streams/fifo/%u", (unsigned int)reply);
	return str_open(path, O_WRONLY | O_NONBLOCK);
}

/* ---- the other side ---------------------------------------------------------------------- */

int
ends_watch(pid_t pid)
{
	return pid <= 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
}

bool
ends_dead(int pidfd)
{
	struct pollfd p = {pidfd, POLLIN, 0};

	return pidfd != -1 && poll(&p, 1, 0) == 1;
}

void
ends_gone(struct ends *e, const char *fmt, ...)
{
	va_list ap;

	if (e->went[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(e->went, sizeof(e->went), fmt, ap);
	va_end(ap);
}

const char *
ends_reason(int error)
{
	switch (error) {
	case EPIPE: return "nobody reads any more";
	case ENXIO: return "the stream is hung up";
	case EIO: return "it was killed inside a call, and the stream was given up";
	case ENOSR: return name_full();
	default: return strerror(error);
	}
}

/* ---- intervals ------------------------------------------------------------------------------ */

static void
line(struct ends *e, int64_t now, uint64_t messages, uint64_t bytes)
{
	struct ends_pace *p = &e->pace;
	double seconds = (double)(now - p->last) / 1e9, n = (double)(messages - p->messages);
	double *more;

	if ((p->n & (p->n - 1)) == 0) {
		more = realloc(p->samples, (p->n ? 2 * p->n : 1) * sizeof(*more));
		if (more == NULL)
			return;
		p->samples = more;
	}
	p->samples[p->n++] = n / seconds;
	if (e->o.format == FORMAT_HUMAN) {
		printf("%9.2f s %12llu messages %14llu bytes %12.0f msgs/s %9.1f MB/s\n",
		    (double)(now - p->began) / 1e9, (unsigned long long)messages,
		    (unsigned long long)bytes, n / seconds,
		    (double)(bytes - p->bytes) / seconds / 1e6);
		fflush(stdout);
	}
	p->last = now;
	p->messages = messages;
	p->bytes = bytes;
}

int64_t
ends_tick(struct ends *e, uint64_t messages, uint64_t bytes)
{
	int64_t now = intr_now();

	if (e->pace.began == 0)
		e->pace.began = e->pace.last = now;
	else if (now - e->pace.last >= (int64_t)(e->o.interval * 1e9))
		line(e, now, messages, bytes);
	return now;
}

double
ends_finish(struct ends *e, uint64_t messages, uint64_t bytes, int64_t at)
{
	if (e->pace.began == 0 || at <= e->pace.began)
		return 0;
	if (messages > e->pace.messages && at > e->pace.last)
		line(e, at, messages, bytes);
	return (double)(at - e->pace.began) / 1e9;
}
