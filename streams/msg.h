/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * msg.h: message blocks as the framework sees them.
 *
 * Level 5.  A message block, its data block and the buffer are one object:
 *
 *   0              64         96 (inline)   128 (larger classes)
 *   | mblk_t, pad  | dblk_t   | data ...    | data ...
 *
 * The inline object is 192 bytes, three lines: FASTBUF is 96, so a message of
 * up to 32 bytes touches two lines and one of 64 three; the classic 64 would
 * have left the second line half empty.  Above it the buffers double from 256
 * bytes to 1 MiB; beyond that the buffer comes from the heap.
 *
 * A header that dupb() makes is bare: the first 64 bytes and nothing else.
 * pullupmsg() gives a header another block's data, so a header can outlive the
 * data it was cut with.  db_parts counts what of an object is in use: one for
 * the data block, one more while its header serves other data ("detached").
 *
 *   invariant 1: an object returns to its cache when db_parts reaches 0;
 *   invariant 2: in a cache, b_datap, db_base, db_lim, db_class are as
 *                constructed and db_parts is 1;
 *   invariant 3: db_ref is the number of headers whose b_datap points here.
 *
 * freeb() of a header with its own data, one reference, one part -- every
 * message of the steady state -- is a load, three compares and a magazine
 * store; nothing atomic.
 *
 * In the no-cache build header, data block and buffer are three heap objects
 * (msg_plain.c); with --with-heap=malloc all three come from malloc.
 */
#ifndef STREAMS_MSG_H
#define STREAMS_MSG_H

#include "slot.h"

#include <sys/stream.h>

#define FASTBUF 96
#define BLK_HDR 64   /* where the data block begins */
#define BLK_DATA 128 /* where the data of larger classes begins */
#define MSG_MAXCLASS ((size_t)1 << 20) /* largest cached buffer, bytes */

#define KIND_BLOCK 1 /* b_kind: header of an object with data */
#define KIND_BARE 2  /* header alone */

#define DB_EXT 1	/* db_flags: memory of esballoc() */
#define DB_HEAP 2	/* buffer from the heap */
#define DB_PASS 4	/* buffer holds a descriptor: msg_pass_hook */
#define PARTS_SLOW 0x80 /* db_parts: not for the fast path of freeb() */

/* What put procedures see when the type has been judged. */
#define msg_type(mp) ((mp)->b_datap->db_type)
#define msg_ispri(mp) (msg_type(mp) >= QPCTL)

/* Set up the classes in this process. */
void msg_init(void);
/* Exchange the data blocks of two headers. */
void msg_swapdata(mblk_t *a, mblk_t *b);
/* A block whose buffer is buf; free later goes to frtn (DB_EXT) or the heap. */
mblk_t *msg_wrap(unsigned char *buf, size_t size, unsigned int flags, uintptr_t frtn);
/* The last reference to external memory is gone; dp's object dies after. */
void msg_ext_free(dblk_t *dp);
/*
 * As esballoc for arena memory, with further flags: the routine runs in this
 * process, wherever the block is freed.  NULL without memory.
 */
mblk_t *msg_ext_wrap(unsigned char *buf, size_t size, unsigned int flags, frtn_t *frtn);
/* Upwards: the last reference to a buffer of DB_PASS is gone. */
extern void (*msg_pass_hook)(void *buf);
#define MSG_CACHED (USTR_BUFFER_CACHE && !USTR_HEAP_MALLOC)
/* For who judges an arena: is dp's buffer the one it was cut with? */
bool msg_as_cut(const dblk_t *dp);
/* Is a free object of class as constructed (invariant 2)? */
bool msg_constructed(unsigned int class, const void *p);
/* Bytes of the objects of a class, 0: none. */
size_t msg_object_size(unsigned int class);
/* True if every block of mp is sound (debug level 3). */
bool msg_valid(const mblk_t *mp);

/*
 * Before *mpp is linked on a queue: where other processes take part, memory
 * that only this one has is copied into the arena.  false: no memory, *mpp is
 * as it was.
 */
bool msg_share_slow(mblk_t **mpp);
INLINE bool
msg_share(mblk_t **mpp)
{
	mblk_t *mp = *mpp;

	if (likely(mp->b_cont == NULL && !(mp->b_datap->db_flags & DB_EXT)))
		return true;
	/* Alone in an instance, who comes later reads it. */
	return slot_members() + slot_root->sr_named <= 1 || msg_share_slow(mpp);
}

/* Callbacks of esballoc that other processes left for this one. */
void msg_ext_due(void);
/* Around fork. */
void msg_ext_lock(void);
void msg_ext_unlock(void);

/* Bytes and blocks of a message, as flow control counts them. */
INLINE void
msg_weigh(const mblk_t *mp, size_t *bytes, size_t *blocks)
{
	ASSERT_AT(2, mp->b_rptr <= mp->b_wptr);
	*bytes = (size_t)(mp->b_wptr - mp->b_rptr);
	*blocks = 1;
	while (unlikely((mp = mp->b_cont) != NULL)) {
		*bytes += (size_t)(mp->b_wptr - mp->b_rptr);
		++*blocks;
	}
}

#endif
