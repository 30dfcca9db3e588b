/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h: the one shared mapping that holds everything.
 *
 * Level 3.
 *
 *   base 0x550000000000
 *   | struct arena | carved, upwards .............. | committed | reserved ... |
 *   0              sizeof                      ar_brk       ar_committed  arena_size
 *
 * The arena is a file mapped shared, so threads, forked processes and, if the file
 * has a name, whoever joins see the same streams at the same addresses: a memory
 * file of the process and its forks, or that of an instance (instfile.h).  Address
 * space is reserved once; the file is only as long as what is committed.
 *
 * Growth takes no lock: whoever needs more extends the file (which is
 * idempotent) and raises ar_committed by compare-and-swap; carving moves
 * ar_brk by compare-and-swap.  Nothing is ever handed back here: what is freed
 * stays with the heap class or cache it came from.
 *
 *   invariant 1: ar_brk <= ar_committed <= arena_cap <= arena_size, and every byte
 *   below ar_committed is backed by the file: touching it cannot fault.  (Under
 *   valgrind all of arena_size is committed at once, whatever the cap.)
 *   invariant 2: who is a member reads the header page never again: what he needs
 *   of it he has copied, so that scribbling over it harms only who comes later.
 */
#ifndef STREAMS_ARENA_H
#define STREAMS_ARENA_H

#include "instfile.h"

#define ARENA_BASE ((void *)0x550000000000)
#define ARENA_MEMFILE "/memfd:ustreams" /* what a private one is called in /proc */

/* Who keeps his shared globals where. */
enum arena_root { ROOT_SLOT, ROOT_HEAP, ROOT_CACHE, ROOT_PLUMB, ROOT_REGISTRY, ROOT_HEAD,
	ROOT_CALLOUT, ROOT_LOG, ROOT_TRACE, ROOT_ERRAND, ROOTS };

struct arena {
	struct insthead ar_head; /* C  sealed while the creator is alone */
	char ar_unused[INST_PAGE - sizeof(struct insthead)];
	uint64_t ar_brk;	/* A  end of what is carved */
	uint64_t ar_committed;	/* A  length of the file */
	size_t ar_refused;	/* A  times there was no more */
};

extern struct arena *arena;
extern size_t arena_size;	/* address space mapped, bytes */
extern size_t arena_cap;	/* most to commit, bytes */

/*
 * Create the arena in fd, an empty file that it takes over, cap bytes at most (0:
 * a quarter of memory): 0 or an errno.  name is "" for a private one, which may
 * lie anywhere; the others lie at ARENA_BASE (EADDRINUSE: it is taken).
 */
int arena_create(int fd, size_t cap, const char *name);
/* Map the one that fd, which it takes over, holds; ih as inst_open read it. */
int arena_join(int fd, const struct insthead *ih);
/* The header is complete. */
void arena_seal(void);
/* Undo either, when the rest of bringing the library up failed. */
void arena_destroy(void);
/* size bytes, zeroed, aligned to a cache line or more; NULL when exhausted. */
void *arena_carve(size_t size, size_t align);
/* Carve the zeroed memory of a root; NULL when exhausted. */
void *arena_root_make(enum arena_root which, size_t size);
/* The root that the creator made. */
void *arena_root(enum arena_root which);
/* It is an instance: others may join who are no forks. */
bool arena_named(void);
/* Why the file could last not be made longer: an errno, or 0. */
int arena_growth_error(void);
/* The descriptor is still ours (a daemonizing program may have closed it). */
bool arena_fd_ours(void);
/* The same, after having it opened again through a live member if it is not. */
bool arena_fd_regain(void);
/* In the child of a fork: a thread that is not here may have been regaining it. */
void arena_forked(void);
int arena_fd(void);
/* Which file it is, or NULL while there is none. */
const struct plat_file *arena_identity(void);

INLINE bool
arena_has(const void *p)
{
	return (uintptr_t)p - (uintptr_t)arena < arena_size;
}

/* Is p, of size bytes, carved memory?  For who does not trust a pointer yet. */
INLINE bool
arena_backed(const void *p, size_t size)
{
	uintptr_t at = (uintptr_t)p - (uintptr_t)arena, end = ld_acq(&arena->ar_brk);

	return (at & (LINE - 1)) == 0 && at >= sizeof(*arena) && at < end && size <= end - at;
}

#endif
