/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h: the one shared mapping that holds everything.
 *
 * Level 3.
 *
 *   base 0x550000000000
 *   | struct arena | carved, upwards .............. | committed | reserved ... |
 *   0              sizeof                      ar_brk       ar_committed   ar_size
 *
 * The arena is a memory file mapped shared, so threads and forked processes
 * see the same streams at the same addresses.  Address space is reserved once;
 * the file is only as long as what is committed.
 *
 * Growth takes no lock: whoever needs more extends the file (which is
 * idempotent) and raises ar_committed by compare-and-swap; carving moves
 * ar_brk by compare-and-swap.  Nothing is ever handed back here: what is freed
 * stays with the heap class or cache it came from.
 *
 *   invariant: ar_brk <= ar_committed <= ar_cap <= ar_size, and every byte
 *   below ar_committed is backed by the file: touching it cannot fault.
 */
#ifndef STREAMS_ARENA_H
#define STREAMS_ARENA_H

#include "plat.h"

#define ARENA_BASE ((void *)0x550000000000)
#define ARENA_LAYOUT 1 /* raise when a shared layout changes */
#define ARENA_ROOTS 12

/* Who keeps his shared globals where. */
enum arena_root { ROOT_SLOT, ROOT_HEAP, ROOT_CACHE, ROOT_PLUMB, ROOT_REGISTRY, ROOT_HEAD,
	ROOT_CALLOUT, ROOT_LOG };

struct arena {
	char ar_magic[8];	/* C  "ustreams" */
	uint32_t ar_layout;	/* C  ARENA_LAYOUT */
	uint32_t ar_build;	/* C  which options it was built with */
	size_t ar_size;		/* C  address space reserved, bytes */
	size_t ar_cap;		/* C  most to commit, bytes */
	void *ar_root[ARENA_ROOTS]; /* C  set while the creator is alone */
	size_t ar_brk LINE_ALIGNED; /* A  end of what is carved */
	size_t ar_committed;	/* A  length of the file */
	size_t ar_refused;	/* A  times there was no more */
};

extern struct arena *arena;

/* Create the arena, cap bytes at most (0: a quarter of memory): 0 or an errno. */
int arena_create(size_t cap);
/* Undo arena_create, when the rest of bringing the library up failed. */
void arena_destroy(void);
/* size bytes, zeroed, aligned to a cache line or more; NULL when exhausted. */
void *arena_carve(size_t size, size_t align);
/* Carve the zeroed memory of a root; NULL when exhausted. */
void *arena_root_make(enum arena_root which, size_t size);
/* The descriptor is still ours (a daemonizing program may have closed it). */
bool arena_fd_ours(void);
/* The same, after having it opened again through a live member if it is not. */
bool arena_fd_regain(void);
/* In the child of a fork: a thread that is not here may have been regaining it. */
void arena_forked(void);
int arena_fd(void);

INLINE bool
arena_has(const void *p)
{
	return (uintptr_t)p - (uintptr_t)arena < arena->ar_size;
}

#endif
