/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_opts.h: the options that the commands share.
 */
#ifndef STRPERF_OPTS_H
#define STRPERF_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strperf_args.h"

#define MAX_MESSAGE 1048576 /* bytes; largest --sizes value */
#define MAX_SIZES 64
#define MAX_WRITERS 8
#define MAX_READERS 8
#define MAX_PEERS 8
#define MAX_PUSH 64
#define MAX_SLICES 1000000

enum mode { MODE_PROCESS, MODE_THREAD };
enum io { IO_RW, IO_MSG };
enum format { FORMAT_HUMAN, FORMAT_JSON, FORMAT_CSV, FORMAT_RAW, FORMAT_NAMES };

/* Which command an option is for; several in the table of options. */
enum use {
	USE_PIPE = 1,
	USE_RR = 2,
	USE_MEM = 4,
	USE_OPEN = 8,
	USE_SCALE = 16,
	USE_FIFO = 32,
	USE_WRITE = 64,
	USE_READ = 128,
};

struct subject;

struct options {
	enum use use; /* of which command */
	enum mode mode;
	enum io io;
	enum format format;
	int read_mode;		 /* RNORM, RMSGD or RMSGN */
	bool blocking;		 /* no poll, descriptors block */
	bool poll_each;		 /* poll before each message */
	int cpus[2];		 /* of the writer and the reader */
	int ncpus;		 /* 0 not pinned, 1 both on cpus[0], 2 */
	bool cpus_given;	 /* --cpus was there */
	size_t sizes[MAX_SIZES]; /* bytes of a message */
	size_t nsizes;
	const struct subject *peers[MAX_PEERS];
	size_t npeers;
	char push[MAX_PUSH][10]; /* module names, first pushed first */
	size_t npush;
	double duration;   /* seconds per subject and size */
	double interval;   /* seconds per slice */
	long hiwat, lowat; /* bytes; -1 leaves the default */
	uint64_t flip;	   /* damage this message; UINT64_MAX none */
	double delay;	   /* per cent by which both sides idle; 0 none */
	double rate;	   /* messages a second to send; 0: as fast as can be */
	size_t nwriters, nreaders;
	const char *plot;    /* picture to draw, or NULL */
	const char *outputs; /* of -k or -o, or NULL: all */
	bool help, version;  /* only asked for a text */
};

/*
 * What --read-mode, --mode and --io take, indexed by their values; NULL ends.
 */
extern const char *const opts_read_modes[], *const opts_modes[], *const opts_ios[];

/* The defaults of strperf pipe. */
void opts_defaults(struct options *o);
/*
 * Read argv, whose argv[0] is the command's name.  *rest becomes the index of
 * the first operand.  EXIT_DONE, or EXIT_USAGE after one line on stderr.
 */
int opts_parse(struct options *o, int argc, char **argv, int *rest);
/* The same for the command o->use, with options of its own. */
int opts_parse_with(
    struct options *o, const struct args *own, int argc, char **argv, int *rest);
/*
 * The same for the command o->use, with options of its own (or NULL): no
 * operand is legal, and the CPUs are settled.
 */
int opts_parse_for(struct options *o, const struct args *own, int argc, char **argv);
/* Settle which CPUs: defaults, and refusal of what is not allowed here.  As above. */
int opts_settle_cpus(struct options *o);
/* One paragraph an option of the command, on stdout. */
void opts_help(enum use use);

/* "pipemod,nullmod", as --push takes it. */
const char *opts_push_text(const struct options *o);
/* "0,1", "0" or "none", as --cpus takes it. */
const char *opts_cpus_text(const struct options *o);
/* How many slices each subject and size gets, and how long each is. */
size_t opts_slices(const struct options *o);
double opts_slice_seconds(const struct options *o);

#endif
