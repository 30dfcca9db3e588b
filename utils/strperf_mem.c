/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_mem.c: experiment 4, what a message block costs, beside malloc.
 *
 * Every measurement is a row of a table of loops (strperf_blocks).  A round
 * makes one sample of each; rounds alternate in direction; the first only warms
 * up.  A row's figure is the median of its samples.
 *
 * Magazine hits are not counted where blocks are handed out, which would cost
 * what is measured: the loops know how many blocks they allocated and freed,
 * and the caches know what they exchanged and cut (ustr_cachestat).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stream.h>

#include <ustreams.h>

#include "strperf.h"
#include "strperf_blocks.h"
#include "strperf_draw.h"
#include "strperf_intr.h"
#include "strperf_out.h"
#include "strperf_report.h"
#include "strperf_stats.h"

#define MOST_BYTES (64 << 20) /* of all blocks of a loop, unless --count says more */
#define FAIR 1.5	      /* times three mallocs that a block may cost without a cache */
#define FAIR_SIZE 64
#define MAX_ROUNDS 1000
#define BLOCK_OVERHEAD 192 /* bytes of headers, generously */

struct mem_options {
	size_t count;  /* blocks of a loop */
	bool count_given;
	size_t rounds;
};

enum test {
	TEST_ALLOC,
	TEST_COPY,
	TEST_FREE,
	TEST_PAIR,
	TEST_ACROSS,
	TEST_DUPMSG,
	TEST_COPYMSG,
	TEST_PULLUPMSG,
	TEST_THREE,
};

static const char *const test_names[] = {
    [TEST_ALLOC] = "alloc",
    [TEST_COPY] = "copy",
    [TEST_FREE] = "free",
    [TEST_PAIR] = "pair",
    [TEST_ACROSS] = "across",
    [TEST_DUPMSG] = "dupmsg",
    [TEST_COPYMSG] = "copymsg",
    [TEST_PULLUPMSG] = "pullupmsg",
    [TEST_THREE] = "three",
};

/* A measurement: one kind, one allocator, one size. */
struct series {
	enum test test;
	const struct allocator *allocator;
	size_t size, count;
	double *ns; /* of the rounds */
	size_t n;
	double hits; /* share of allocs and frees that left no magazine; NAN unknown */
};

struct mem {
	struct options o;
	struct mem_options own;
	struct series *series;
	size_t nseries;
	struct report report;
	int status;
};

/* ---- options ------------------------------------------------------------------------ */

static int
set_count(void *to, const char *arg)
{
	struct mem_options *own = to;
	long long n;
	int status = args_number(arg, 1, 100000000, &n);

	own->count = (size_t)n;
	own->count_given = true;
	return status;
}

static int
set_rounds(void *to, const char *arg)
{
	struct mem_options *own = to;
	long long n;
	int status = args_number(arg, 1, MAX_ROUNDS, &n);

	own->rounds = (size_t)n;
	return status;
}

static const struct arg own_table[] = {
    {"count", "N", set_count, "1 to 100000000",
	"blocks of a loop; default 20000, less where that is over 64 MiB", 0, 'n'},
    {"rounds", "N", set_rounds, "1 to 1000", "samples of each loop; default 10", 0, 0},
};

static const struct column columns[] = {
    {"subject", "allocb, malloc, or none: what the loop costs", "subject", -8, -1},
    {"test", "alloc, copy, free: all blocks in turn; pair: each at once; across: freed "
	     "by the other thread; dupmsg, copymsg, pullupmsg with freemsg; three mallocs",
	"test", -10, -1},
    {"size", "bytes of a block", "bytes", 8, 0},
    {"count", "blocks of a loop", "count", 8, 0},
    {"ns_per_block", "nanoseconds a block, median of the rounds", "ns/block", 10, 2},
    {"ns_lo", "lower end of its 95 % interval", "from", 10, 2},
    {"ns_hi", "upper end of its 95 % interval", "to", 10, 2},
    {"total_s", "seconds for all blocks of a loop", "total s", 9, 4},
    {"hit_rate", "per cent of allocations and frees within the magazines", "hits %", 7,
	2},
    {"rounds", "samples", NULL, 0, 0},
};

/* ---- the loops ------------------------------------------------------------------------ */

static double
run_pair(const struct mem *m, const struct series *s)
{
	(void)m;
	return blocks_pair(s->allocator, s->size, s->count);
}

static double
run_across(const struct mem *m, const struct series *s)
{
	return blocks_across(&m->o, s->allocator, s->size, s->count);
}

static double
run_dupmsg(const struct mem *m, const struct series *s)
{
	(void)m;
	return blocks_dupmsg(s->size, s->count);
}

static double
run_copymsg(const struct mem *m, const struct series *s)
{
	(void)m;
	return s->allocator == &allocator_malloc ? blocks_malloc_copy(s->size, s->count)
						 : blocks_copymsg(s->size, s->count);
}

static double
run_pullupmsg(const struct mem *m, const struct series *s)
{
	(void)m;
	return blocks_pullupmsg(s->size, s->count);
}

static double
run_three(const struct mem *m, const struct series *s)
{
	(void)m;
	return blocks_three(s->size, s->count);
}

/* By test; the bulk loop makes the first three at once. */
static double (*const loops[])(const struct mem *, const struct series *) = {
    [TEST_PAIR] = run_pair,
    [TEST_ACROSS] = run_across,
    [TEST_DUPMSG] = run_dupmsg,
    [TEST_COPYMSG] = run_copymsg,
    [TEST_PULLUPMSG] = run_pullupmsg,
    [TEST_THREE] = run_three,
};

/* Magazines exchanged, and filled from slabs, by all classes so far. */
static double
misses(void)
{
	struct ustr_cachestat cs;
	double n = 0;

	for (unsigned int i = 0; ustr_cachestat(i, &cs) == 0; i++)
		if (cs.cs_object != 0 && cs.cs_magazine != 0)
			n += (double)cs.cs_trips +
			    (double)cs.cs_made / (double)cs.cs_magazine;
	return n;
}

static bool
has_magazines(const struct series *s)
{
	return s->allocator == &allocator_blocks &&
	    strstr(ustr_version(), "buffer_cache=yes") != NULL &&
	    (s->test == TEST_PAIR || s->test == TEST_ACROSS || s->test == TEST_ALLOC);
}

static void
note_sample(struct series *s, double ns, double missed)
{
	s->ns[s->n++] = ns;
	if (has_magazines(s))
		s->hits = 1 - missed / (2 * (double)s->count);
}

/* Run series s, which may make samples for those behind it, too: how many series. */
static size_t
sample(struct mem *m, struct series *s)
{
	double before = misses();
	struct bulk b;

	if (s->test != TEST_ALLOC) {
		double ns = loops[s->test](m, s);

		note_sample(s, ns, misses() - before);
		return 1;
	}
	b = blocks_bulk(s->allocator, s->size, s->count);
	note_sample(&s[0], b.alloc_ns, misses() - before);
	note_sample(&s[1], b.copy_ns, 0);
	note_sample(&s[2], b.free_ns, 0);
	return 3;
}

/* ---- rounds -------------------------------------------------------------------------------- */

static bool
out_of_memory(struct mem *m, const struct series *s)
{
	if (isfinite(s->ns[s->n - 1]))
		return false;
	complain("mem: %s %s: no memory for %zu blocks of %zu bytes", s->allocator->name,
	    test_names[s->test], s->count, s->size);
	m->status = EXIT_FAILED;
	return true;
}

/* One of each.  False: no more. */
static bool
run_round(struct mem *m)
{
	for (size_t i = 0; i < m->nseries;) {
		size_t made = sample(m, &m->series[i]);

		if (out_of_memory(m, &m->series[i]))
			return false;
		if (intr_pending()) {
			m->report.interrupted = true;
			m->status = EXIT_INTERRUPTED;
			return false;
		}
		i += made;
	}
	report_probe(&m->report);
	return true;
}

/* Forget the samples of the warm-up. */
static void
forget(struct mem *m)
{
	for (size_t i = 0; i < m->nseries; i++)
		m->series[i].n = 0;
}

static void
measure(struct mem *m)
{
	bool going = run_round(m);

	if (going)
		forget(m);
	for (size_t r = 0; going && r < m->own.rounds; r++) {
		going = run_round(m);
		report_progress(&m->report, m->own.rounds);
	}
}

/* ---- results --------------------------------------------------------------------------------- */

static void
put_series(struct report *r, const struct series *s)
{
	struct estimate e = stats_estimate(s->ns, s->n);

	report_row(r);
	report_put_text(r, "subject", s->allocator->name);
	report_put_text(r, "test", test_names[s->test]);
	report_put(r, "size", (double)s->size);
	report_put(r, "count", (double)s->count);
	report_put(r, "ns_per_block", e.median);
	report_put(r, "ns_lo", e.lo);
	report_put(r, "ns_hi", e.hi);
	report_put(r, "total_s", e.median * (double)s->count / 1e9);
	report_put(r, "hit_rate", 100 * s->hits);
	report_put(r, "rounds", (double)s->n);
	report_samples(r, s->ns, s->n);
}

static const struct series *
find(const struct mem *m, enum test test, const struct allocator *a, size_t size)
{
	for (size_t i = 0; i < m->nseries; i++)
		if (m->series[i].test == test && m->series[i].allocator == a &&
		    m->series[i].size == size)
			return &m->series[i];
	return NULL;
}

/* The library malloc comes from, whatever was preloaded. */
static const char *
malloc_library(void)
{
	void *symbol = dlsym(RTLD_DEFAULT, "malloc");
	const char *slash;
	Dl_info info;

	if (symbol == NULL || dladdr(symbol, &info) == 0 || info.dli_fname == NULL)
		return "unknown";
	slash = strrchr(info.dli_fname, '/');
	return slash == NULL ? info.dli_fname : slash + 1;
}

/* The no-cache build is to be a fair opponent; its limit is for glibc's malloc. */
static void
judge_fairness(struct mem *m)
{
	const struct series *block =
	    find(m, TEST_PAIR, &allocator_blocks, FAIR_SIZE);
	const struct series *three =
	    find(m, TEST_THREE, &allocator_malloc, FAIR_SIZE);
	struct estimate e;
	char interval[64] = "no interval";
	bool cached = strstr(ustr_version(), "buffer_cache=yes") != NULL;
	bool glibc = strncmp(malloc_library(), "libc.so", 7) == 0;

	if (block == NULL || three == NULL || block->n == 0 || three->n == 0)
		return;
	e = stats_paired_ratio(
	    block->ns, three->ns, block->n < three->n ? block->n : three->n);
	if (e.method != STATS_NONE)
		snprintf(interval, sizeof(interval), "%.2f to %.2f", e.lo, e.hi);
	report_note(&m->report,
	    "fairness: allocb(%d) and freeb take %.2f x (%s) three malloc and "
	    "free: %s",
	    FAIR_SIZE, e.median, interval,
	    cached		? "the limit of 1.5 is for the build without buffer cache"
		: !glibc	? "no verdict, as malloc is not glibc's"
		: e.median > FAIR ? "UNFAIR, 1.5 is the limit"
				: "fair, 1.5 is the limit");
	if (!cached && glibc && e.lo > FAIR && m->status == EXIT_DONE)
		m->status = EXIT_FAILED;
}

static void
put_all(struct mem *m)
{
	for (size_t i = 0; i < m->nseries; i++)
		if (m->series[i].n > 0)
			put_series(&m->report, &m->series[i]);
	judge_fairness(m);
}

/* ---- the command -------------------------------------------------------------------------------- */

static void
add(struct mem *m, enum test test, const struct allocator *a, size_t size)
{
	size_t count = m->own.count;
	struct series *s;

	if (!m->own.count_given && count * size > MOST_BYTES)
		count = MOST_BYTES / size;
	m->series = realloc(m->series, (m->nseries + 1) * sizeof(*m->series));
	s = m->series == NULL ? NULL : &m->series[m->nseries++];
	if (s != NULL)
		*s = (struct series){test, a, size, count,
		    calloc(m->own.rounds + 1, sizeof(double)), 0, NAN};
	if (s == NULL || s->ns == NULL) {
		complain("mem: no memory for the results");
		exit(EXIT_FAILED);
	}
}

static void
add_size(struct mem *m, size_t size)
{
	static const struct allocator *const both[] = {&allocator_blocks, &allocator_malloc};

	for (size_t i = 0; i < NELEM(both); i++)
		for (enum test t = TEST_ALLOC; t <= TEST_FREE; t++)
			add(m, t, both[i], size);
	for (size_t i = 0; i < NELEM(both); i++)
		add(m, TEST_PAIR, both[i], size);
	for (size_t i = 0; i < NELEM(both); i++)
		add(m, TEST_ACROSS, both[i], size);
	add(m, TEST_ACROSS, &allocator_none, size);
	add(m, TEST_DUPMSG, &allocator_blocks, size);
	for (size_t i = 0; i < NELEM(both); i++)
		add(m, TEST_COPYMSG, both[i], size);
	if (size > 1)
		add(m, TEST_PULLUPMSG, &allocator_blocks, size);
	if (size == FAIR_SIZE)
		add(m, TEST_THREE, &allocator_malloc, size);
}

/* Whether all blocks of the largest loop can be had; else a line. */
static int
check_room(const struct mem *m)
{
	struct ustr_memstat ms;

	if (ustr_memstat(&ms) == -1)
		return complain("mem: %s", "the library does not come up"), EXIT_FAILED;
	for (size_t i = 0; i < m->nseries; i++) {
		const struct series *s = &m->series[i];
		size_t room = 1;

		while (room < s->size)
			room *= 2;
		if (s->allocator != &allocator_blocks || s->test != TEST_ALLOC ||
		    s->count <= (ms.ms_cap - ms.ms_used) / (room + BLOCK_OVERHEAD))
			continue;
		complain("--count: %zu blocks of %zu bytes do not fit an arena of %zu bytes; "
			 "legal: up to %zu, or a larger USTREAMS_ARENA",
		    s->count, s->size, ms.ms_cap,
		    (ms.ms_cap - ms.ms_used) / (room + BLOCK_OVERHEAD));
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

static int
run(struct mem *m)
{
	struct report *r = &m->report;
	int status;

	for (size_t i = 0; i < m->o.nsizes; i++)
		add_size(m, m->o.sizes[i]);
	status = check_room(m);
	if (status == EXIT_DONE)
		status = report_begin(r, &m->o, "mem", columns, NELEM(columns));
	if (status != EXIT_DONE)
		return status;
	r->metric = "ns";
	report_set_text(r, "malloc", malloc_library());
	report_set_text(r, "cpus", opts_cpus_text(&m->o));
	report_set(r, "rounds", (double)m->own.rounds);
	report_header(r);
	report_probe(r);
	measure(m);
	put_all(m);
	report_print(r);
	draw_lines(r, &(struct draw_lines){
		.group = "subject", .x = "size", .y = "ns_per_block",
		.title = "strperf mem", .xlabel = "bytes of a block",
		.ylabel = "ns a block", .logx = true, .logy = true});
	report_end(r);
	return m->status;
}

int
cmd_mem(int argc, char **argv)
{
	static struct mem m = {.own = {.count = 20000, .rounds = 10}};
	const struct args own = {own_table, NELEM(own_table), &m.own, 0};
	int status;

	opts_defaults(&m.o);
	m.o.use = USE_MEM;
	m.o.nsizes = 0;
	for (size_t size = 64; size <= 16384; size *= 4)
		m.o.sizes[m.o.nsizes++] = size;
	status = opts_parse_for(&m.o, &own, argc, argv);
	if (status != EXIT_DONE)
		return status;
	if (m.o.help || m.o.version)
		return report_text(&m.o, "mem", &own, columns, NELEM(columns));
	status = run(&m);
	for (size_t i = 0; i < m.nseries; i++)
		free(m.series[i].ns);
	free(m.series);
	return status;
}
