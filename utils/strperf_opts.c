/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_opts.c: the options that several commands share, and what follows
 * from them.  The column uses of the table says which commands take an option.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_opts.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stropts.h>

#include <bsd/string.h>

#include "strperf.h"
#include "strperf_host.h"
#include "strperf_plot.h"
#include "strperf_subject.h"

const char *const opts_modes[] = {
    [MODE_PROCESS] = "process", [MODE_THREAD] = "thread", NULL};
const char *const opts_ios[] = {[IO_RW] = "rw", [IO_MSG] = "msg", NULL};
const char *const opts_read_modes[] = {
    [RNORM] = "RNORM", [RMSGD] = "RMSGD", [RMSGN] = "RMSGN", NULL};

/* ---- setters: 0, or -1 when the value is not legal ---------------------------- */

static int
set_mode(void *to, const char *arg)
{
	struct options *o = to;
	int word = args_word(arg, opts_modes);

	o->mode = (enum mode)word;
	return word < 0 ? -1 : 0;
}

static int
set_io(void *to, const char *arg)
{
	struct options *o = to;
	int word = args_word(arg, opts_ios);

	o->io = (enum io)word;
	return word < 0 ? -1 : 0;
}

static int
set_read_mode(void *to, const char *arg)
{
	struct options *o = to;

	o->read_mode = args_word(arg, opts_read_modes);
	return o->read_mode < 0 ? -1 : 0;
}

static int
set_blocking(void *to, const char *arg)
{
	struct options *o = to;

	(void)arg;
	o->blocking = true;
	return 0;
}

static int
set_poll_each(void *to, const char *arg)
{
	struct options *o = to;

	(void)arg;
	o->poll_each = true;
	return 0;
}

/* "1..65536": from the first, doubling, up to the last, which is always there. */
static int
add_sweep(struct options *o, long long from, long long to)
{
	for (; from < to; from *= 2) {
		if (o->nsizes == MAX_SIZES)
			return -1;
		o->sizes[o->nsizes++] = (size_t)from;
	}
	if (o->nsizes == MAX_SIZES || from / 2 >= to)
		return -1;
	o->sizes[o->nsizes++] = (size_t)to;
	return 0;
}

static int
add_size(void *to, char *part)
{
	long long first, last;
	char *dots = strstr(part, "..");

	if (dots != NULL)
		*dots = '\0';
	if (args_number(part, 1, MAX_MESSAGE, &first) != 0)
		return -1;
	last = first;
	if (dots != NULL && args_number(dots + 2, first, MAX_MESSAGE, &last) != 0)
		return -1;
	return add_sweep(to, first, last);
}

static int
set_sizes(void *to, const char *arg)
{
	struct options *o = to;

	o->nsizes = 0;
	return args_list(o, arg, add_size) != 0 || o->nsizes == 0 ? -1 : 0;
}

static int
add_peer(void *to, char *part)
{
	struct options *o = to;
	const struct subject *peer = subject_find(part);

	if (peer == NULL || o->npeers == MAX_PEERS)
		return -1;
	for (size_t i = 0; i < o->npeers; i++)
		if (o->peers[i] == peer)
			return -1;
	o->peers[o->npeers++] = peer;
	return 0;
}

static int
set_peers(void *to, const char *arg)
{
	struct options *o = to;

	o->npeers = 0;
	return args_list(o, arg, add_peer);
}

static int
add_module(void *to, char *part)
{
	struct options *o = to;
	size_t len = strlen(part);

	if (o->npush == MAX_PUSH || len == 0 || len > FMNAMESZ)
		return -1;
	strlcpy(o->push[o->npush++], part, sizeof(o->push[0]));
	return 0;
}

static int
set_push(void *to, const char *arg)
{
	struct options *o = to;

	o->npush = 0;
	return args_list(o, arg, add_module);
}

static int
add_cpu(void *to, char *part)
{
	struct options *o = to;
	long long cpu;

	if (o->ncpus == 2 || args_number(part, 0, INT_MAX, &cpu) != 0)
		return -1;
	o->cpus[o->ncpus++] = (int)cpu;
	return 0;
}

static int
set_cpus(void *to, const char *arg)
{
	struct options *o = to;

	o->cpus_given = true;
	o->ncpus = 0;
	if (strcmp(arg, "none") == 0)
		return 0;
	if (args_list(o, arg, add_cpu) != 0 || o->ncpus == 0)
		return -1;
	return o->ncpus == 2 && o->cpus[0] == o->cpus[1] ? -1 : 0;
}

static int
set_duration(void *to, const char *arg)
{
	struct options *o = to;

	return args_real(arg, 0.01, 86400, &o->duration);
}

static int
set_interval(void *to, const char *arg)
{
	struct options *o = to;

	return args_real(arg, 0.01, 86400, &o->interval);
}

static int
set_hiwat(void *to, const char *arg)
{
	struct options *o = to;
	long long bytes;
	int status = args_number(arg, 1, INT_MAX, &bytes);

	o->hiwat = (long)bytes;
	return status;
}

static int
set_lowat(void *to, const char *arg)
{
	struct options *o = to;
	long long bytes;
	int status = args_number(arg, 0, INT_MAX, &bytes);

	o->lowat = (long)bytes;
	return status;
}

#define ONE_FORMAT "one of --json, --csv, --raw and -o LIST"

/* One of them, said twice or not. */
static int
set_format(struct options *o, enum format format)
{
	if (o->format != format &&
	    (o->format == FORMAT_JSON || o->format == FORMAT_CSV || o->format == FORMAT_RAW))
		return -1;
	o->format = format;
	return 0;
}

static int
set_json(void *to, const char *arg)
{
	(void)arg;
	return set_format(to, FORMAT_JSON);
}

static int
set_csv(void *to, const char *arg)
{
	(void)arg;
	return set_format(to, FORMAT_CSV);
}

static int
set_raw(void *to, const char *arg)
{
	(void)arg;
	return set_format(to, FORMAT_RAW);
}

static int
set_plot(void *to, const char *arg)
{
	struct options *o = to;
	size_t len = strlen(arg);

	o->plot = arg;
	return len > 4 &&
		(strcmp(arg + len - 4, ".svg") == 0 || strcmp(arg + len - 4, ".png") == 0)
	    ? 0
	    : -1;
}

static int
set_rate(void *to, const char *arg)
{
	struct options *o = to;

	return args_real(arg, 1, 1e8, &o->rate);
}

static int
set_writers(void *to, const char *arg)
{
	struct options *o = to;
	long long n;
	int status = args_number(arg, 1, MAX_WRITERS, &n);

	o->nwriters = (size_t)n;
	return status;
}

static int
set_readers(void *to, const char *arg)
{
	struct options *o = to;
	long long n;
	int status = args_number(arg, 1, MAX_READERS, &n);

	o->nreaders = (size_t)n;
	return status;
}

static int
set_names(void *to, const char *arg)
{
	struct options *o = to;

	o->format = FORMAT_NAMES;
	o->outputs = arg;
	return 0;
}

static int
set_columns(void *to, const char *arg)
{
	struct options *o = to;

	o->format = FORMAT_CSV;
	o->outputs = arg;
	return 0;
}

static int
set_flip(void *to, const char *arg)
{
	struct options *o = to;
	long long message;
	int status = args_number(arg, 0, LLONG_MAX, &message);

	o->flip = (uint64_t)message;
	return status;
}

static int
set_delay(void *to, const char *arg)
{
	return args_real(arg, 0, 100, &((struct options *)to)->delay);
}

static int
set_help(void *to, const char *arg)
{
	struct options *o = to;

	(void)arg;
	o->help = true;
	return 0;
}

static int
set_version(void *to, const char *arg)
{
	struct options *o = to;

	(void)arg;
	o->version = true;
	return 0;
}

/* ---- the table ---------------------------------------------------------------- */

#define LOOPS (USE_PIPE | USE_RR)
#define ENDS (USE_WRITE | USE_READ)
#define HERE (USE_PIPE | USE_RR | USE_MEM | USE_OPEN | USE_SCALE | USE_FIFO)
#define REPORTS (USE_RR | USE_MEM | USE_OPEN | USE_SCALE | USE_FIFO | ENDS)
#define OUTPUTS "names separated by commas; a name that there is not prints all there are"

static const struct arg table[] = {
    {"sizes", "LIST", set_sizes,
	"up to 64 sizes of 1 to 1048576 bytes, such as 1,64,4096 or 1..65536",
	"bytes of a message; a..b doubles from a to b; default 1,64,4096",
	USE_PIPE | USE_MEM | USE_FIFO, 0},
    {"peers", "LIST", set_peers, SUBJECT_NAMES ", each at most once",
	"what to measure beside our stream, in the same run", LOOPS | USE_FIFO, 0},
    {"mode", "WORD", set_mode, "process or thread",
	"what writer and reader are; default process", LOOPS | USE_FIFO, 0},
    {"cpus", "LIST", set_cpus, "W,R (two different CPUs), one CPU, or none",
	"where writer and reader run; default the first two CPUs allowed", HERE, 0},
    {"push", "LIST", set_push, "up to 64 module names of 1 to 8 characters, '' for none",
	"modules to push on the writing end, the first at the bottom; default pipemod",
	LOOPS, 0},
    {"push", "LIST", set_push, "up to 64 module names of 1 to 8 characters, '' for none",
	"modules to push while it runs, the first at the bottom; default none", ENDS, 0},
    {"read-mode", "WORD", set_read_mode, "RNORM, RMSGD or RMSGN",
	"how the reading end reads; default RMSGD", LOOPS, 0},
    {"io", "WORD", set_io, "rw or msg",
	"str_write and str_read, or putmsg and getmsg; default rw", LOOPS, 0},
    {"blocking", NULL, set_blocking, NULL, "no poll: the descriptors block", USE_PIPE, 0},
    {"poll-each", NULL, set_poll_each, NULL,
	"poll before each message, not only after EAGAIN", LOOPS, 0},
    {"hiwat", "BYTES", set_hiwat, "1 to 2147483647 bytes",
	"high-water mark of the reading end; default the library's", LOOPS, 0},
    {"lowat", "BYTES", set_lowat, "0 to 2147483647 bytes, not above --hiwat",
	"low-water mark of the reading end", LOOPS, 0},
    {"rate", "N", set_rate, "1 to 100000000 messages a second",
	"send so many, and tell the latency since the time each was due",
	USE_PIPE | USE_WRITE, 0},
    {"rate", "N", set_rate, "1 to 100000000 messages a second", "read no more than that",
	USE_READ, 0},
    {"writers", "N", set_writers, "1 to 8", "writers of one stream; default 1", USE_PIPE,
	0},
    {"readers", "N", set_readers, "1 to 8", "readers of one stream; default 1", USE_PIPE,
	0},
    {"duration", "SECONDS", set_duration, "0.01 to 86400 seconds",
	"time to send; default 6", USE_WRITE, 0},
    {"duration", "SECONDS", set_duration, "0.01 to 86400 seconds",
	"time to measure each subject at each size, or for an iteration",
	LOOPS | USE_OPEN | USE_SCALE, 0},
    {"interval", "SECONDS", set_interval, "0.01 to 86400 seconds",
	"length of a slice, and of a report line; default 1, compare 0.25",
	USE_PIPE | ENDS, 0},
    {"json", NULL, set_json, ONE_FORMAT, "print one JSON object", 0, 0},
    {"csv", NULL, set_csv, ONE_FORMAT, "print comma-separated values", 0, 0},
    {"raw", NULL, set_raw, ONE_FORMAT, "print every sample on a line of its own", 0, 0},
    {"names", "LIST", set_names, OUTPUTS, "print these outputs as NAME=value", REPORTS,
	'k'},
    {"columns", "LIST", set_columns, OUTPUTS, "print these outputs as columns of CSV",
	REPORTS, 'o'},
    {"plot", "FILE", set_plot, "a file that ends in .svg or .png",
	"draw the results with gnuplot", HERE, 0},
    {"help", NULL, set_help, NULL, "print this", 0, 0},
    {"version", NULL, set_version, NULL, "print the library's version and build", 0, 0},
    {"plant-flip", "N", set_flip, "a message number from 0", NULL, USE_PIPE, 0},
    {"plant-delay", "PERCENT", set_delay, "0 to 100", NULL, USE_PIPE, 0},
};

int
opts_parse_for(struct options *o, const struct args *own, int argc, char **argv)
{
	struct args sets[] = {
	    {table, NELEM(table), o, o->use},
	    own == NULL ? (struct args){0} : *own,
	};
	int rest, status = args_parse(sets, NELEM(sets), argc, argv, &rest);

	if (status != EXIT_DONE || o->help || o->version)
		return status;
	if (rest < argc) {
		complain("%s: %s: takes options only; see strperf --help", argv[0],
		    argv[rest]);
		return EXIT_USAGE;
	}
	if (o->plot != NULL)
		status = plot_check(o->plot);
	return status == EXIT_DONE ? opts_settle_cpus(o) : status;
}

int
opts_parse_with(
    struct options *o, const struct args *own, int argc, char **argv, int *rest)
{
	const struct args sets[] = {{table, NELEM(table), o, o->use}, *own};

	return args_parse(sets, NELEM(sets), argc, argv, rest);
}

int
opts_parse(struct options *o, int argc, char **argv, int *rest)
{
	const struct args set = {table, NELEM(table), o, o->use};

	return args_parse(&set, 1, argc, argv, rest);
}

void
opts_help(enum use use)
{
	const struct args set = {table, NELEM(table), NULL, use};

	args_help(&set);
}

/* ---- what follows from the options ------------------------------------------- */

void
opts_defaults(struct options *o)
{
	*o = (struct options){
	    .use = USE_PIPE,
	    .nwriters = 1,
	    .nreaders = 1,
	    .read_mode = RMSGD,
	    .sizes = {1, 64, 4096},
	    .nsizes = 3,
	    .duration = 6,
	    .interval = 1,
	    .hiwat = -1,
	    .lowat = -1,
	    .flip = UINT64_MAX,
	};
	set_push(o, "pipemod");
}

static int
refuse_cpu(int cpu)
{
	char text[256];

	host_cpus_text(text, sizeof(text));
	if (host_ncpus() == 1)
		complain(
		    "--cpus: CPU %d is not allowed here, only CPU %s is; legal: %s or none",
		    cpu, text, text);
	else
		complain(
		    "--cpus: CPU %d is not allowed here; legal: one or two of %s, or none",
		    cpu, text);
	return EXIT_USAGE;
}

int
opts_settle_cpus(struct options *o)
{
	for (int i = 0; i < o->ncpus; i++)
		if (!host_cpu_allowed(o->cpus[i]))
			return refuse_cpu(o->cpus[i]);
	if (o->cpus_given)
		return EXIT_DONE;
	o->ncpus = host_ncpus() >= 2 ? 2 : 1;
	for (int i = 0; i < o->ncpus; i++)
		o->cpus[i] = host_cpu(i);
	return EXIT_DONE;
}

const char *
opts_push_text(const struct options *o)
{
	static char text[MAX_PUSH * sizeof(o->push[0])];

	text[0] = '\0';
	for (size_t i = 0; i < o->npush; i++) {
		strlcat(text, i > 0 ? "," : "", sizeof(text));
		strlcat(text, o->push[i], sizeof(text));
	}
	return text;
}

const char *
opts_cpus_text(const struct options *o)
{
	static char text[32];

	if (o->ncpus == 0)
		return "none";
	if (o->ncpus == 1)
		snprintf(text, sizeof(text), "%d", o->cpus[0]);
	else
		snprintf(text, sizeof(text), "%d,%d", o->cpus[0], o->cpus[1]);
	return text;
}

size_t
opts_slices(const struct options *o)
{
	double n = floor(o->duration / o->interval + 1e-9);

	if (n > MAX_SLICES)
		return MAX_SLICES;
	return n < 1 ? 1 : (size_t)n;
}

double
opts_slice_seconds(const struct options *o)
{
	return o->duration < o->interval ? o->duration : o->interval;
}
