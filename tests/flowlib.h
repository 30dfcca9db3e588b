/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flowlib.h: streams for the tests of flow control and of service procedures.
 *
 * Names tell what a module has: "srv" service procedures on both sides, "put"
 * none; drivers "dsrv" and "dput" likewise.  Unless a test hangs its own into
 * a side, service procedures only count, so what is queued stays queued.
 */
#ifndef TESTS_FLOWLIB_H
#define TESTS_FLOWLIB_H

#include "testmod.h"

#include <pthread.h>

#define HIWAT 100
#define LOWAT 40

void flow_setup(void);
unsigned band_flag(queue_t *q, int b);
int wantw(queue_t *q);
/* Make q full for band 0. */
void fill_queue(queue_t *q);
void drop(queue_t *q);
int writable(int fd);
/* Service runs of q that one kick brings. */
int runs_at_kick(int fd, queue_t *q);

/* A thread in one call, and what came of it. */
struct writer {
	int fd;
	ssize_t result;
	int error;
	atomic_int started;
	atomic_int done;
	pthread_t t;
};

void start_one(struct writer *w, int fd, void *(*fn)(void *));
void *write_one(void *arg);

TCase *flow_group(Suite *s, const char *name);

#endif
