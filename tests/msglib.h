/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * msglib.h: what the tests of message blocks share: messages whose bytes count
 * through, caller's buffers whose free routine is audited, and looking at both.
 */
#ifndef TESTS_MSGLIB_H
#define TESTS_MSGLIB_H

#include "testmod.h"

#define MEG (1024 * 1024)

TCase *msg_group(Suite *s, const char *name);

/* ---- esballoc with an audit */

struct esb {
	frtn_t frtn;
	atomic_int calls;
	size_t size;
	unsigned char *buf;
};

extern atomic_int esb_calls; /* of all */

struct esb *esb_new(size_t size);
/* Audit and dispose: the routine must have run exactly once. */
void esb_done(struct esb *e);
/* The free routine; it spoils the buffer. */
void esb_free(char *arg);
/* A message over e with fill 0, 1, 2, ... */
mblk_t *esb_msg(struct esb *e);

/* ---- making */

/* One block, bytes from, from + 1, ...; size bytes of room at least. */
mblk_t *ramp(int type, size_t len, size_t size, int from);
/* Blocks of the given lengths, up to -1; bytes count through. */
mblk_t *ramps(int type, const int *lens);
#define RAMPS(type, ...) ramps(type, (const int[]){__VA_ARGS__, -1})
/* Allocate, dirty and free blocks of all kinds, to catch early reuse. */
void churn(void);

/* ---- looking */

int is_aligned(const void *p);
size_t blen(const mblk_t *bp);
size_t total(const mblk_t *mp);
/* Does mp hold exactly from, from + 1, ... to - 1? */
int is_ramp(const mblk_t *mp, int from, int to);
/* Has every block of mp so many references; one? */
int all_refs(const mblk_t *mp, unsigned n);
int unshared(const mblk_t *mp);

#endif
