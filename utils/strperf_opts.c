/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_opts.c: one table holds each option's name, reader, legal values and
 * help, so that an error line, --help and the parser cannot disagree.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_opts.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "strperf.h"
#include "strperf_host.h"
#include "strperf_subject.h"

const char *const opts_modes[] = {
    [MODE_PROCESS] = "process", [MODE_THREAD] = "thread", NULL};
const char *const opts_ios[] = {[IO_RW] = "rw", [IO_MSG] = "msg", NULL};
const char *const opts_read_modes[] = {
    [RNORM] = "RNORM", [RMSGD] = "RMSGD", [RMSGN] = "RMSGN", NULL};

/* ---- readers of values: 0, or -1 when the value is not legal --------------- */

static int
read_number(const char *arg, long long lo, long long hi, long long *to)
{
	const char *error;

	*to = strtonum(arg, lo, hi, &error);
	return error == NULL ? 0 : -1;
}

static int
read_seconds(const char *arg, double *to)
{
	char *end;

	*to = strtod(arg, &end);
	if (end == arg || *end != '\0' || !isfinite(*to))
		return -1;
	return *to >= 0.01 && *to <= 86400 ? 0 : -1;
}

/* The index of arg among words, or -1. */
static int
read_word(const char *arg, const char *const *words)
{
	for (int i = 0; words[i] != NULL; i++)
		if (strcasecmp(arg, words[i]) == 0)
			return i;
	return -1;
}

/* Call add for each part of a comma list; an empty list has no parts. */
static int
read_list(struct options *o, const char *arg, int (*add)(struct options *, char *))
{
	char *copy = strdup(arg), *rest = copy, *part;
	int status = copy == NULL ? -1 : 0;

	while (status == 0 && *arg != '\0' && (part = strsep(&rest, ",")) != NULL)
		status = add(o, part);
	free(copy);
	return status;
}

static int
set_mode(struct options *o, const char *arg)
{
	int word = read_word(arg, opts_modes);

	o->mode = (enum mode)word;
	return word < 0 ? -1 : 0;
}

static int
set_io(struct options *o, const char *arg)
{
	int word = read_word(arg, opts_ios);

	o->io = (enum io)word;
	return word < 0 ? -1 : 0;
}

static int
set_read_mode(struct options *o, const char *arg)
{
	o->read_mode = read_word(arg, opts_read_modes);
	return o->read_mode < 0 ? -1 : 0;
}

static int
set_blocking(struct options *o, const char *arg)
{
	(void)arg;
	o->blocking = true;
	return 0;
}

static int
set_poll_each(struct options *o, const char *arg)
{
	(void)arg;
	o->poll_each = true;
	return 0;
}

static int
add_size(struct options *o, char *part)
{
	long long size;

	if (o->nsizes == MAX_SIZES || read_number(part, 1, MAX_MESSAGE, &size) != 0)
		return -1;
	o->sizes[o->nsizes++] = (size_t)size;
	return 0;
}

static int
set_sizes(struct options *o, const char *arg)
{
	o->nsizes = 0;
	return read_list(o, arg, add_size) != 0 || o->nsizes == 0 ? -1 : 0;
}

static int
add_peer(struct options *o, char *part)
{
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
set_peers(struct options *o, const char *arg)
{
	o->npeers = 0;
	return read_list(o, arg, add_peer);
}

static int
add_module(struct options *o, char *part)
{
	size_t len = strlen(part);

	if (o->npush == MAX_PUSH || len == 0 || len > FMNAMESZ)
		return -1;
	strlcpy(o->push[o->npush++], part, sizeof(o->push[0]));
	return 0;
}

static int
set_push(struct options *o, const char *arg)
{
	o->npush = 0;
	return read_list(o, arg, add_module);
}

static int
add_cpu(struct options *o, char *part)
{
	long long cpu;

	if (o->ncpus == 2 || read_number(part, 0, INT_MAX, &cpu) != 0)
		return -1;
	o->cpus[o->ncpus++] = (int)cpu;
	return 0;
}

static int
set_cpus(struct options *o, const char *arg)
{
	o->cpus_given = true;
	o->ncpus = 0;
	if (strcmp(arg, "none") == 0)
		return 0;
	if (read_list(o, arg, add_cpu) != 0 || o->ncpus == 0)
		return -1;
	return o->ncpus == 2 && o->cpus[0] == o->cpus[1] ? -1 : 0;
}

static int
set_duration(struct options *o, const char *arg)
{
	return read_seconds(arg, &o->duration);
}

static int
set_interval(struct options *o, const char *arg)
{
	return read_seconds(arg, &o->interval);
}

static int
set_hiwat(struct options *o, const char *arg)
{
	long long bytes;
	int status = read_number(arg, 1, INT_MAX, &bytes);

	o->hiwat = (long)bytes;
	return status;
}

static int
set_lowat(struct options *o, const char *arg)
{
	long long bytes;
	int status = read_number(arg, 0, INT_MAX, &bytes);

	o->lowat = (long)bytes;
	return status;
}

static int
set_json(struct options *o, const char *arg)
{
	(void)arg;
	o->format = FORMAT_JSON;
	return 0;
}

static int
set_csv(struct options *o, const char *arg)
{
	(void)arg;
	o->format = FORMAT_CSV;
	return 0;
}

static int
set_flip(struct options *o, const char *arg)
{
	long long message;
	int status = read_number(arg, 0, LLONG_MAX, &message);

	o->flip = (uint64_t)message;
	return status;
}

static int
set_help(struct options *o, const char *arg)
{
	(void)arg;
	o->help = true;
	return 0;
}

static int
set_version(struct options *o, const char *arg)
{
	(void)arg;
	o->version = true;
	return 0;
}

/* ---- the table ---------------------------------------------------------------- */

static const struct opt {
	const char *name;
	const char *value; /* what stands for the value in --help, or NULL */
	int (*set)(struct options *, const char *);
	const char *legal; /* the legal values */
	const char *help;  /* NULL: an option for tests, not shown */
} table[] = {
    {"sizes", "LIST", set_sizes,
	"up to 64 sizes of 1 to 1048576 bytes, such as 1,64,4096",
	"bytes of a message; default 1,64,4096"},
    {"peers", "LIST", set_peers, "pipe,fifo,unix,seqpacket,mq,none, each at most once",
	"what to measure beside our stream, in the same run"},
    {"mode", "WORD", set_mode, "process or thread",
	"what writer and reader are; default process"},
    {"cpus", "LIST", set_cpus, "W,R (two different CPUs), one CPU, or none",
	"where writer and reader run; default the first two CPUs allowed"},
    {"push", "LIST", set_push, "up to 64 module names of 1 to 8 characters, '' for none",
	"modules to push on the writing end, the first at the bottom; default pipemod"},
    {"read-mode", "WORD", set_read_mode, "RNORM, RMSGD or RMSGN",
	"how the reading end reads; default RMSGD"},
    {"io", "WORD", set_io, "rw or msg",
	"str_write and str_read, or putmsg and getmsg; default rw"},
    {"blocking", NULL, set_blocking, NULL, "no poll: the descriptors block"},
    {"poll-each", NULL, set_poll_each, NULL,
	"poll before each message, not only after EAGAIN"},
    {"hiwat", "BYTES", set_hiwat, "1 to 2147483647 bytes",
	"high-water mark of the reading end; default the library's"},
    {"lowat", "BYTES", set_lowat, "0 to 2147483647 bytes, not above --hiwat",
	"low-water mark of the reading end"},
    {"duration", "SECONDS", set_duration, "0.01 to 86400 seconds",
	"time to measure each subject at each size; default 6, compare 5"},
    {"interval", "SECONDS", set_interval, "0.01 to 86400 seconds",
	"length of a slice, and of a report line; default 1, compare 0.25"},
    {"json", NULL, set_json, NULL, "print one JSON object"},
    {"csv", NULL, set_csv, NULL, "print comma-separated values"},
    {"help", NULL, set_help, NULL, "print this"},
    {"version", NULL, set_version, NULL, "print the library's version and build"},
    {"plant-flip", "N", set_flip, "a message number from 0", NULL},
};

/* getopt reports row i of the table as FIRST + i: above any short option. */
#define FIRST 256

static void
fill_long_options(struct option *longs)
{
	for (int i = 0; i < (int)NELEM(table); i++)
		longs[i] = (struct option){
		    .name = table[i].name,
		    .has_arg = table[i].value == NULL ? no_argument : required_argument,
		    .val = FIRST + i,
		};
}

static void
complain_unknown(const char *given)
{
	char names[512] = "";

	for (size_t i = 0; i < NELEM(table); i++) {
		if (table[i].help == NULL)
			continue;
		strlcat(names, " --", sizeof(names));
		strlcat(names, table[i].name, sizeof(names));
	}
	complain("%s: no such option; legal:%s", given, names);
}

/* The line about what getopt did not like: a missing value, or any other fault. */
static int
bad_option(bool no_value, char **argv)
{
	char letter[] = {'-', (char)optopt, '\0'};
	const struct opt *t = optopt < FIRST ? NULL : &table[optopt - FIRST];

	if (no_value)
		complain("--%s: the value is missing; legal: %s", t->name, t->legal);
	else if (t != NULL)
		complain("--%s: takes no value; legal: --%s", t->name, t->name);
	else
		complain_unknown(optopt == 0 ? argv[optind - 1] : letter);
	return EXIT_USAGE;
}

int
opts_parse(struct options *o, int argc, char **argv, int *rest)
{
	struct option longs[NELEM(table) + 1] = {{0}};
	const struct opt *t;
	int got;

	fill_long_options(longs);
	opterr = 0;
	optind = 0;
	while ((got = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (got < FIRST)
			return bad_option(got == ':', argv);
		t = &table[got - FIRST];
		if (t->set(o, optarg) == 0)
			continue;
		complain("--%s: '%s' is not legal; legal: %s", t->name, optarg, t->legal);
		return EXIT_USAGE;
	}
	*rest = optind;
	return EXIT_DONE;
}

void
opts_help(void)
{
	char name[32];

	for (size_t i = 0; i < NELEM(table); i++) {
		const struct opt *t = &table[i];

		if (t->help == NULL)
			continue;
		snprintf(name, sizeof(name), "--%s%s%s", t->name, t->value ? " " : "",
		    t->value ? t->value : "");
		printf("  %-20s %s\n", name, t->help);
		if (t->legal != NULL)
			printf("  %-20s (%s)\n", "", t->legal);
	}
}

/* ---- what follows from the options ------------------------------------------- */

void
opts_defaults(struct options *o)
{
	*o = (struct options){
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
	if (o->ncpus == 1)
		complain("only CPU %d is allowed here: writer and reader share it",
		    o->cpus[0]);
	return EXIT_DONE;
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
