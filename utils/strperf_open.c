/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_open.c: how fast streams are opened, pushed on, popped and closed, and
 * how much memory each takes.
 *
 * An operation is a row of a table: what is done over and over, and what is set
 * up before.  Slices of all operations take turns.  The memory is measured
 * first, while no cache holds a stream head that was freed.
 *
 * With the head cache and without: `strperf compare -- open`.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ustreams.h>

#include "strperf.h"
#include "strperf_draw.h"
#include "strperf_host.h"
#include "strperf_intr.h"
#include "strperf_out.h"
#include "strperf_report.h"
#include "strperf_stats.h"

#define ROUNDS 20
#define BETWEEN 16   /* operations between two looks at the clock */
#define STREAMS 1000 /* open at once for the memory */
#define DEVICE "/dev/streams/clone/echo"
#define MODULE "nullmod"
#define STACKED 4 /* modules of the operation stack */

/* Every function returns 0, or -1 with errno. */
struct operation {
	const char *name;
	const char *what;
	int (*begin)(int fd[2]);
	int (*once)(int fd[2]);
	int (*end)(int fd[2]);
};

struct timing {
	const struct operation *op;
	double rate[ROUNDS]; /* a second */
	size_t n;
	double cpu_us, ops;
	double bytes; /* of a stream; NAN not measured */
};

struct opening {
	struct options o;
	struct report report;
	int status;
};

/* ---- operations --------------------------------------------------------------------- */

static int
nothing(int fd[2])
{
	(void)fd;
	return 0;
}

static int
open_device(int fd[2])
{
	fd[0] = str_open(DEVICE, O_RDWR);
	return fd[0] == -1 ? -1 : 0;
}

static int
close_device(int fd[2])
{
	return str_close(fd[0]);
}

static int
open_close_device(int fd[2])
{
	return open_device(fd) == -1 ? -1 : close_device(fd);
}

static int
open_pipe(int fd[2])
{
	return str_pipe(fd);
}

static int
close_pipe(int fd[2])
{
	return str_close(fd[0]) == -1 ? -1 : str_close(fd[1]);
}

static int
open_close_pipe(int fd[2])
{
	return open_pipe(fd) == -1 ? -1 : close_pipe(fd);
}

static int
push_pop(int fd[2])
{
	return str_ioctl(fd[0], I_PUSH, MODULE) == -1 ? -1 : str_ioctl(fd[0], I_POP, 0);
}

static int
open_stack_close(int fd[2])
{
	if (open_device(fd) == -1)
		return -1;
	for (int i = 0; i < STACKED; i++)
		if (str_ioctl(fd[0], I_PUSH, MODULE) == -1)
			return -1;
	return close_device(fd);
}

static int
kernel_pipe(int fd[2])
{
	return pipe2(fd, O_CLOEXEC) == -1 || close(fd[0]) == -1 ? -1 : close(fd[1]);
}

static int
kernel_sockets(int fd[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == -1 ||
		close(fd[0]) == -1
	    ? -1
	    : close(fd[1]);
}

static int
kernel_device(int fd[2])
{
	fd[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
	return fd[0] == -1 ? -1 : close(fd[0]);
}

static const struct operation operations[] = {
    {"open", "open and close of the echo device", nothing, open_close_device, nothing},
    {"pipe", "a STREAMS pipe made and both ends closed", nothing, open_close_pipe, nothing},
    {"push", "push and pop of nullmod", open_device, push_pop, close_device},
    {"stack", "open, push of four modules, close", nothing, open_stack_close, nothing},
    {"kernel_pipe", "the kernel's pipe", nothing, kernel_pipe, nothing},
    {"kernel_unix", "the kernel's socket pair", nothing, kernel_sockets, nothing},
    {"kernel_null", "open and close of /dev/null", nothing, kernel_device, nothing},
};

/* ---- memory ------------------------------------------------------------------------------ */

static size_t
used(void)
{
	struct ustr_memstat ms;

	return ustr_memstat(&ms) == -1 ? 0 : ms.ms_used;
}

/* What keeps streams open, and the descriptors it keeps. */
struct keeper {
	const char *name; /* of the operation whose streams these are */
	int (*begin)(int fd[2]);
	int (*end)(int fd[2]);
	size_t streams; /* that one call opens */
	int fd[STREAMS][2];
	size_t n; /* calls */
};

static struct keeper keepers[] = {
    {"open", open_device, close_device, 1, {{0}}, 0},
    {"pipe", open_pipe, close_pipe, 2, {{0}}, 0},
};

/* Bytes of the arena one more stream takes, while all others stay open. */
static double
memory_of(struct keeper *k)
{
	size_t before;

	if (k->begin(k->fd[0]) == -1 || k->end(k->fd[0]) == -1)
		return NAN;
	before = used();
	while (k->n < STREAMS / k->streams && k->begin(k->fd[k->n]) == 0)
		k->n++;
	return k->n < STREAMS / 10
	    ? NAN
	    : (double)(used() - before) / (double)(k->n * k->streams);
}

static void
let_go(struct keeper *k)
{
	while (k->n > 0)
		k->end(k->fd[--k->n]);
}

/* As many descriptors as the memory wants, if they may be had. */
static void
raise_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1 || rl.rlim_cur >= 2 * STREAMS)
		return;
	rl.rlim_cur = rl.rlim_max < 2 * STREAMS ? rl.rlim_max : 2 * STREAMS;
	setrlimit(RLIMIT_NOFILE, &rl);
}

static void
measure_memory(struct timing *t, size_t n)
{
	raise_limit();
	for (size_t i = 0; i < n; i++) {
		t[i].bytes = NAN;
		for (size_t k = 0; k < NELEM(keepers); k++)
			if (strcmp(keepers[k].name, t[i].op->name) == 0)
				t[i].bytes = memory_of(&keepers[k]);
	}
	for (size_t k = 0; k < NELEM(keepers); k++)
		let_go(&keepers[k]);
}

/* ---- rates -------------------------------------------------------------------------------- */

static int
fail(struct opening *w, const struct operation *op)
{
	complain("open: %s: %s", op->what, strerror(errno));
	return w->status = EXIT_FAILED;
}

static double
cpu_us(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1e6 +
	    (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
}

/* One slice of one operation. */
static int
slice(struct opening *w, struct timing *t, int64_t ns, bool counts)
{
	int64_t start, now;
	double cpu;
	size_t done = 0;
	int fd[2];

	if (t->op->begin(fd) == -1)
		return fail(w, t->op);
	cpu = cpu_us();
	start = intr_now();
	do {
		for (int i = 0; i < BETWEEN; i++)
			if (t->op->once(fd) == -1)
				return fail(w, t->op);
		done += BETWEEN;
		now = intr_now();
	} while (now - start < ns);
	if (counts) {
		t->cpu_us += cpu_us() - cpu;
		t->ops += (double)done;
		t->rate[t->n++] = (double)done * 1e9 / (double)(now - start);
	}
	return t->op->end(fd) == -1 ? fail(w, t->op) : EXIT_DONE;
}

/* Round 0 warms up. */
static void
measure(struct opening *w, struct timing *t, size_t n)
{
	int64_t ns = (int64_t)(w->o.duration * 1e9 / ROUNDS);

	for (size_t round = 0; round <= ROUNDS; round++) {
		for (size_t i = 0; i < n; i++)
			if (slice(w, &t[round % 2 ? n - 1 - i : i], ns, round > 0) !=
			    EXIT_DONE)
				return;
		if (intr_pending()) {
			w->report.interrupted = true;
			w->status = EXIT_INTERRUPTED;
			return;
		}
		report_progress(&w->report, ROUNDS + 1);
	}
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct column columns[] = {
    {"subject", "the operation", "operation", -12, -1},
    {"what", "what is done over and over", NULL, 0, -1},
    {"per_s", "operations a second, median of the slices", "per second", 11, 0},
    {"per_s_lo", "lower end of its 95 % interval", "from", 10, 0},
    {"per_s_hi", "upper end of its 95 % interval", "to", 10, 0},
    {"us_per_op", "microseconds an operation", "us each", 9, 3},
    {"cpu_us_per_op", "microseconds of processor an operation", "CPU us", 9, 3},
    {"bytes_per_stream", "bytes of the arena that one more open stream takes",
	"bytes/stream", 12, 0},
    {"slices", "samples", NULL, 0, 0},
};

static void
put_timing(struct report *r, const struct timing *t)
{
	struct estimate e = stats_estimate(t->rate, t->n);

	report_row(r);
	report_put_text(r, "subject", t->op->name);
	report_put_text(r, "what", t->op->what);
	report_put(r, "per_s", e.median);
	report_put(r, "per_s_lo", e.lo);
	report_put(r, "per_s_hi", e.hi);
	report_put(r, "us_per_op", 1e6 / e.median);
	report_put(r, "cpu_us_per_op", t->cpu_us / t->ops);
	report_put(r, "bytes_per_stream", t->bytes);
	report_put(r, "slices", (double)t->n);
	report_samples(r, t->rate, t->n);
}

static int
run(struct opening *w)
{
	static struct timing t[NELEM(operations)];
	struct report *r = &w->report;
	int status = report_begin(r, &w->o, "open", columns, NELEM(columns));

	if (status != EXIT_DONE)
		return status;
	r->metric = "per_s";
	r->higher_better = true;
	if (w->o.ncpus > 0)
		host_pin(w->o.cpus[0]);
	report_set(r, "cpu", w->o.ncpus > 0 ? w->o.cpus[0] : NAN);
	report_set(r, "slices", ROUNDS);
	report_set(r, "slice_seconds", w->o.duration / ROUNDS);
	report_header(r);
	for (size_t i = 0; i < NELEM(t); i++)
		t[i].op = &operations[i];
	measure_memory(t, NELEM(t));
	measure(w, t, NELEM(t));
	for (size_t i = 0; i < NELEM(t); i++)
		if (t[i].n > 0)
			put_timing(r, &t[i]);
	if (strstr(ustr_version(), "head_cache=yes") != NULL)
		report_note(r, "with the head cache; without and beside each other: strperf "
			       "compare -- open");
	else
		report_note(r, "without the head cache");
	report_print(r);
	draw_boxes(r, "operations a second");
	report_end(r);
	return w->status;
}

int
cmd_open(int argc, char **argv)
{
	static struct opening w;
	const struct args none = {NULL, 0, NULL, 0};
	int status;

	opts_defaults(&w.o);
	w.o.use = USE_OPEN;
	w.o.duration = 1;
	status = opts_parse_for(&w.o, NULL, argc, argv);
	if (status != EXIT_DONE)
		return status;
	if (w.o.help || w.o.version)
		return report_text(&w.o, "open", &none, columns, NELEM(columns));
	return run(&w);
}
