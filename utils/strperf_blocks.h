/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_blocks.h: timed loops over message blocks, and over malloc.
 *
 * Each returns nanoseconds per block, or NAN when memory ran out, having given
 * everything back.
 */
#ifndef STRPERF_BLOCKS_H
#define STRPERF_BLOCKS_H

#include <stddef.h>

#include "strperf_opts.h"

/* Something that hands out blocks. */
struct allocator {
	const char *name;
	void *(*get)(size_t size);
	void (*put)(void *block);
	unsigned char *(*data)(void *block);
};

/* allocb and freeb; malloc and free, whichever are linked or preloaded. */
extern const struct allocator allocator_blocks, allocator_malloc;
/* Nothing: what the loops cost. */
extern const struct allocator allocator_none;

/* Experiment 4: all are allocated, then one source is copied into each, then all freed. */
struct bulk {
	double alloc_ns, copy_ns, free_ns;
};
struct bulk blocks_bulk(const struct allocator *a, size_t size, size_t count);

/* Allocated and freed at once, by one thread. */
double blocks_pair(const struct allocator *a, size_t size, size_t count);
/* Allocated by a thread on one processor, freed by one on the other. */
double blocks_across(
    const struct options *o, const struct allocator *a, size_t size, size_t count);
/* Three malloc and free, as a message without a cache needs: header, data block, buffer. */
double blocks_three(size_t size, size_t count);

/* Messages: dupmsg, copymsg, pullupmsg of two halves, each with its freemsg. */
double blocks_dupmsg(size_t size, size_t count);
double blocks_copymsg(size_t size, size_t count);
double blocks_pullupmsg(size_t size, size_t count);
/* What copymsg does, with malloc, memcpy and free. */
double blocks_malloc_copy(size_t size, size_t count);

#endif
