/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * putlib.h: streams of modules with each kind of perimeter, for the tests of put.
 *
 * Modules are named by their perimeter: "mp", "perq", "pair", "permod" and
 * "none" (no flag at all), with "s" at the end if they have service
 * procedures.  The driver is "drv", with a put procedure that frees; a test
 * makes it answer by hanging tm_reply into its write side.
 */
#ifndef TESTS_PUTLIB_H
#define TESTS_PUTLIB_H

#include "testmod.h"

#include <pthread.h>

#define HIWAT 1000
#define LOWAT 200

struct kind {
	const char *name;
	const char *srv;
	int flags;
};
extern const struct kind kinds[];
enum { MP, PERQ, QPAIR, PERMOD, NOFLAG, KINDS };

/* What a thread of traffic does: n messages, to both or one of them. */
struct traffic {
	int fd[2];
	int n;
	int id;
	atomic_int bad;	  /* what went wrong */
	atomic_int *sent; /* by all */
	atomic_int turns; /* of who changes the stream meanwhile */
};

/* ---- streams */

TCase *put_group(Suite *s, const char *name);
void put_setup(void);
/* A stream over a driver that answers, with one module of that kind. */
int loop_with(const char *minor, const char *module);
mblk_t *numbered(int n);
int number(const mblk_t *mp);
/* The numbers first, first + 1, ... n of them must be there to read. */
void read_numbers(int fd, int first, int n);

/* ---- a log of single letters, written by procedures */

extern char diary[256];
extern atomic_int written;

void new_diary(void);
void note(char c);

/* ---- PRODUCERS number their messages: each one's must arrive in order */

enum { PRODUCERS = 4 };

extern atomic_int disorder;
extern int last_seen[PRODUCERS];
extern atomic_int arrived;

int order_wput(queue_t *q, mblk_t *mp);

/* ---- a thread, holder, that stays in a perimeter */

extern atomic_int hold, held;
extern pthread_t holder;
extern int holder_fd;

/* A put procedure: 'H' holds the perimeter until told to go on; all others are counted. */
int holding_wput(queue_t *q, mblk_t *mp);
/* A thread: write 'H' to *(int *)arg. */
void *hold_it(void *arg);
/* Two streams "1" and "2" over one PERMOD module; stream 1's is held. */
int held_permod(const char *module);
void let_go(void);

#endif
