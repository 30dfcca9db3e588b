/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_blocks.c: timed loops over message blocks, and over malloc.
 *
 * In the loop across two threads pointers go through a ring of one writer and
 * one reader, which publishes every BATCH-th: the ring's own share of a block's
 * time is small, and allocator_none shows it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_blocks.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sys/ddi.h>
#include <sys/stream.h>

#include "strperf_host.h"
#include "strperf_intr.h"

#define RING 1024 /* pointers, a power of two */
#define BATCH 32

/* The compiler must not see that nobody looks into a block. */
static inline void
keep(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* ---- allocators -------------------------------------------------------------------- */

static void *
get_block(size_t size)
{
	return allocb(size, BPRI_MED);
}

static void
put_block(void *block)
{
	freeb(block);
}

static unsigned char *
data_of_block(void *block)
{
	return ((mblk_t *)block)->b_rptr;
}

static unsigned char *
data_itself(void *block)
{
	return block;
}

static void *
get_nothing(size_t size)
{
	static char nothing;

	(void)size;
	return &nothing;
}

static void
put_nothing(void *block)
{
	keep(block);
}

const struct allocator allocator_blocks = {
    "allocb", get_block, put_block, data_of_block};
const struct allocator allocator_malloc = {"malloc", malloc, free, data_itself};
const struct allocator allocator_none = {"none", get_nothing, put_nothing, data_itself};

/* ---- one thread ---------------------------------------------------------------------- */

static double
each(int64_t start, int64_t end, size_t count)
{
	return (double)(end - start) / (double)count;
}

/* Fill all[]: how many there was memory for. */
static size_t
get_all(const struct allocator *a, size_t size, void **all, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		all[i] = a->get(size);
		if (all[i] == NULL)
			return i;
	}
	return count;
}

struct bulk
blocks_bulk(const struct allocator *a, size_t size, size_t count)
{
	void **all = calloc(count, sizeof(*all));
	unsigned char *source = calloc(1, size);
	struct bulk b = {NAN, NAN, NAN};
	int64_t start, got, copied;
	size_t n = 0;

	start = intr_now();
	if (all != NULL && source != NULL)
		n = get_all(a, size, all, count);
	got = intr_now();
	for (size_t i = 0; i < n; i++)
		memcpy(a->data(all[i]), source, size);
	copied = intr_now();
	for (size_t i = 0; i < n; i++)
		a->put(all[i]);
	if (n == count)
		b = (struct bulk){
		    .alloc_ns = each(start, got, count),
		    .copy_ns = each(got, copied, count),
		    .free_ns = each(copied, intr_now(), count),
		};
	free(source);
	free(all);
	return b;
}

double
blocks_pair(const struct allocator *a, size_t size, size_t count)
{
	int64_t start = intr_now();

	for (size_t i = 0; i < count; i++) {
		void *p = a->get(size);

		if (p == NULL)
			return NAN;
		keep(p);
		a->put(p);
	}
	return each(start, intr_now(), count);
}

double
blocks_three(size_t size, size_t count)
{
	int64_t start = intr_now();

	for (size_t i = 0; i < count; i++) {
		void *header = malloc(sizeof(mblk_t)), *data = malloc(sizeof(dblk_t));
		void *buffer = malloc(size);

		keep(header);
		keep(data);
		keep(buffer);
		free(buffer);
		free(data);
		free(header);
	}
	return each(start, intr_now(), count);
}

/* ---- messages -------------------------------------------------------------------------- */

/* Time make(mp) and freemsg of what it gives, for a message of so many bytes. */
static double
time_messages(mblk_t *(*make)(mblk_t *), size_t size, size_t count)
{
	mblk_t *mp = allocb(size, BPRI_MED), *made = mp;
	int64_t start;

	if (mp == NULL)
		return NAN;
	memset(mp->b_wptr, 0, size);
	mp->b_wptr += size;
	start = intr_now();
	for (size_t i = 0; i < count && made != NULL; i++) {
		made = make(mp);
		if (made != NULL)
			freemsg(made);
	}
	freemsg(mp);
	return made == NULL ? NAN : each(start, intr_now(), count);
}

double
blocks_dupmsg(size_t size, size_t count)
{
	return time_messages(dupmsg, size, count);
}

double
blocks_copymsg(size_t size, size_t count)
{
	return time_messages(copymsg, size, count);
}

/* Two halves that look at the same block, pulled together into a new one. */
static mblk_t *
pull_halves(mblk_t *mp)
{
	mblk_t *first = dupmsg(mp), *second = dupmsg(mp);
	size_t half = (size_t)(mp->b_wptr - mp->b_rptr) / 2;

	if (first == NULL || second == NULL) {
		if (first != NULL)
			freemsg(first);
		if (second != NULL)
			freemsg(second);
		return NULL;
	}
	first->b_wptr = first->b_rptr + half;
	second->b_rptr += half;
	linkb(first, second);
	pullupmsg(first, -1);
	return first;
}

double
blocks_pullupmsg(size_t size, size_t count)
{
	return time_messages(pull_halves, size, count);
}

double
blocks_malloc_copy(size_t size, size_t count)
{
	unsigned char *source = calloc(1, size), *p = source;
	int64_t start = intr_now();

	for (size_t i = 0; i < count && p != NULL; i++) {
		p = malloc(size);
		if (p != NULL)
			memcpy(p, source, size);
		keep(p);
		free(p);
	}
	start = intr_now() - start;
	free(source);
	return p == NULL ? NAN : (double)start / (double)count;
}

/* ---- two threads ------------------------------------------------------------------------ */

/* From the one who allocates to the one who frees. */
struct ring {
	_Alignas(128) _Atomic size_t put; /* slots filled and published */
	_Alignas(128) _Atomic size_t got; /* slots emptied and published */
	_Alignas(128) void *slot[RING];
	const struct allocator *allocator;
	size_t size, count;
	int cpu[2]; /* -1: not pinned */
	bool yields;
	_Atomic int ready;
	int64_t start, end;
};

static void
wait_a_little(const struct ring *r)
{
	if (r->yields)
		sched_yield();
}

/* Until both are there. */
static void
meet(struct ring *r, int who)
{
	if (r->cpu[who] != -1)
		host_pin(r->cpu[who]);
	atomic_fetch_add(&r->ready, 1);
	while (atomic_load(&r->ready) < 2)
		wait_a_little(r);
}

/* Without memory it sends NULL, which the other only counts. */
static void *
produce(void *arg)
{
	struct ring *r = arg;
	size_t room = RING;

	meet(r, 0);
	r->start = intr_now();
	for (size_t i = 0; i < r->count; i++) {
		while (i == room) {
			atomic_store_explicit(&r->put, i, memory_order_release);
			room = RING +
			    atomic_load_explicit(&r->got, memory_order_acquire);
			if (i == room)
				wait_a_little(r);
		}
		r->slot[i % RING] = r->allocator->get(r->size);
		if ((i + 1) % BATCH == 0)
			atomic_store_explicit(&r->put, i + 1, memory_order_release);
	}
	atomic_store_explicit(&r->put, r->count, memory_order_release);
	return NULL;
}

/* Allocations that failed are counted as the end 0. */
static void *
consume(void *arg)
{
	struct ring *r = arg;
	size_t there = 0, failed = 0;

	meet(r, 1);
	for (size_t i = 0; i < r->count; i++) {
		while (i == there) {
			there = atomic_load_explicit(&r->put, memory_order_acquire);
			if (i == there)
				wait_a_little(r);
		}
		if (r->slot[i % RING] == NULL)
			failed++;
		else
			r->allocator->put(r->slot[i % RING]);
		if ((i + 1) % BATCH == 0)
			atomic_store_explicit(&r->got, i + 1, memory_order_release);
	}
	r->end = failed == 0 ? intr_now() : 0;
	return NULL;
}

double
blocks_across(
    const struct options *o, const struct allocator *a, size_t size, size_t count)
{
	static struct ring ring;
	pthread_t one, other;

	ring = (struct ring){
	    .allocator = a,
	    .size = size,
	    .count = count,
	    .cpu = {o->ncpus == 0 ? -1 : o->cpus[0],
		o->ncpus == 0 ? -1 : o->cpus[o->ncpus - 1]},
	    .yields = o->ncpus != 2,
	};
	if (pthread_create(&one, NULL, produce, &ring) != 0)
		return NAN;
	if (pthread_create(&other, NULL, consume, &ring) == 0)
		pthread_join(other, NULL);
	else
		consume(&ring);
	pthread_join(one, NULL);
	return ring.end == 0 ? NAN : each(ring.start, ring.end, count);
}
