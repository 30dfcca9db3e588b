/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipe.c: the pipe: two stream heads welded at the bottom.
 *
 *      end 0                end 1
 *   write   read         write   read
 *     │       ▲            │       ▲
 *     └───────┼────────────┼───────┘
 *             └────────────┘
 *
 * There is no driver in the middle: what one head writes is put to the other
 * head's read queue (through the modules of both).  str_pipe() makes the heads
 * and asks pipe_join() to weld them; the name exists so that tools can call
 * the thing by it, and opening it as a device is refused.
 */
#include <errno.h>
#include <sys/stream.h>
#include <sys/strsubr.h>

static int pipe_open(queue_t *, dev_t *, int, int, cred_t *);
static int pipe_put(queue_t *, mblk_t *);

static struct module_info pipe_info = { 1001, "pipe", 0, INFPSZ, 65536, 8192 };
static struct qinit pipe_rinit = { NULL, NULL, pipe_open, NULL, NULL, &pipe_info, NULL };
static struct qinit pipe_winit = { pipe_put, NULL, NULL, NULL, NULL, &pipe_info, NULL };

extern struct streamtab pipeinfo;
struct streamtab pipeinfo = { &pipe_rinit, &pipe_winit, NULL, NULL };

void
pipe_join(queue_t *a, queue_t *b)
{
	strweld(a, b);
}

static int
pipe_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)q, (void)devp, (void)oflag, (void)sflag, (void)crp;
	return ENXIO;
}

static int
pipe_put(queue_t *q, mblk_t *mp)
{
	(void)q;
	freemsg(mp);
	return 0;
}
