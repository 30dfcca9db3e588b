/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queuelib.h: a queue under test, and looking at it.
 *
 * The stream is driver / "mod" / "up" / head.  The queue under test belongs to
 * "mod"; the service procedures only count, so what a test queues stays.
 */
#ifndef TESTS_QUEUELIB_H
#define TESTS_QUEUELIB_H

#include "testmod.h"

#define HIWAT 100
#define LOWAT 40

extern int fd;
extern queue_t *q; /* under test */

/* Driver, "mod", "up"; q is mod's read queue. */
void queue_build(void);
void queue_tests_setup(void);
qband_t *band(queue_t *of, int n);
size_t get_size(queue_t *of, qfields_t what, int b);
mblk_t *get_mp(queue_t *of, qfields_t what, int b);
int full(void);
int band_full(int n);
int rank(const mblk_t *mp);
TCase *queue_group(Suite *s, const char *name);

#endif
