/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap.h: the arena's general allocator: size classes, a lock each.
 *
 * Level 3.  Streams, queues of the no-head-cache build, registry entries and
 * kmem_alloc() live here, and in the no-cache build every message block, data
 * block and buffer as well: it is the allocator that systems had before block
 * caches, and it is meant to be a good one of its kind.
 *
 *   sizes 64, 128, ... 512, then four classes per doubling (640 768 896 1024 ...)
 *   class: | lock | free list (last freed first) | uncut piece | counts |
 *
 * A class has a cache line of its own; allocation takes the first free object
 * or cuts one from the class's piece, 16 objects (4 to 64 KiB) at a time from
 * the arena.  The caller says the size when freeing, so objects carry no
 * header and all are line-aligned.
 *
 * Death.  Who is killed with a class's lock loses an object at most: the list and the
 * piece are whole after each store.
 *
 *   list    its head is replaced by one store
 *   piece   hc_piece NULL: there is none, whatever hc_end says; a new one's end is
 *           stored before its beginning, and to cut from it moves hc_piece only
 *
 * An object that must not be lost even then (a recorder's ring may be of megabytes) is
 * noted: a note in the arena leads to it exactly while it is neither free nor led to
 * by anything of its owner's.
 *
 *   N1 the class's hc_note leads to the note       under hc_lock
 *   N2 taken: the note leads to the object, which is still first of the list or of
 *      the piece; then it is taken off
 *      freed: the object becomes first of the list; then the note leads to none
 *   N3 hc_note := NULL
 *
 *   killed between N1 and N3: who breaks the lock clears a note that leads to what is
 *      first of the list or of the piece: that is free
 *   killed otherwise: the note says the truth
 *
 * invariant: hc_note is NULL while the lock is free.
 */
#ifndef STREAMS_HEAP_H
#define STREAMS_HEAP_H

#include "slot.h"

#define HEAP_MAX ((size_t)1 << 30) /* largest object, bytes */
#define NHEAP 96 /* classes */

/* A class; the root holds NHEAP of them. */
struct heap_class {
	uint32_t hc_lock;	/* A */
	uint32_t hc_piecesize;	/* C  bytes carved at a time */
	void *hc_free;		/* Q  first free object; its first word links on */
	char *hc_piece;		/* Q  what is not yet cut */
	char *hc_end;		/* Q  its end, if there is one */
	size_t hc_size;		/* C  object size */
	size_t hc_inuse;	/* Q  objects handed out */
	struct heap_note *hc_note; /* Q  N1 */
	size_t hc_spare;
} LINE_ALIGNED;

/* Make the classes: 0 or ENOMEM. */
int heap_init(void);
/* Find those that the creator made. */
void heap_join(void);
/* size bytes (1..HEAP_MAX), line-aligned, not zeroed; NULL when exhausted. */
void *heap_alloc(size_t size);
void *heap_zalloc(size_t size);
/* p may be NULL; size as asked for. */
void heap_free(void *p, size_t size);
/*
 * The same for what must not be lost: a note of the calling thread leads to it when it
 * has been allocated, and until it is free.
 */
void *heap_alloc_noted(size_t size, struct heap_note *note);
void heap_free_noted(struct heap_note *note);
/* A note of the dead says the truth afterwards: no lock of theirs is held. */
void heap_settle(void);
/* For who judges the arena: a class's lock was held while this note was being changed. */
bool heap_noting(const struct heap_note *note);
/* Nobody else being there: do its lists lead to carved memory, and end? */
bool heap_valid(void);
/* The same, for who judges the arena: and claim what is free. */
bool heap_claim(void);
/* Bytes in use. */
size_t heap_used(void);
/* A class's lock was broken: the bytes that may be lost, and what was noted (N3). */
size_t heap_salvage(uint32_t *word);

/*
 * In a debug build: refuse the n-th allocation from now on (heap and caches);
 * 0 switches off.  A rebuilt allocation path is tested by counting n up.
 */
void heap_fail_nth(long n);
bool heap_fails(void);

#endif
