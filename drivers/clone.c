/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clone.c: the clone driver: a new minor of another driver with every open.
 *
 *     str_open("/dev/streams/clone/echo")
 *        │
 *        ├─ the name behind clone/ is looked up, not a minor of clone
 *        ├─ the next free minor of echo is allotted
 *        └─ echo's open routine runs with CLONEOPEN and may choose another one
 *
 * The stream that comes of it is echo's alone: str_fstat() gives echo's device
 * number, and nothing of clone is left in it.  So there is nothing here to run:
 * the name exists for those who list drivers, and opening it bare is refused.
 */
#include <errno.h>
#include <sys/stream.h>

static int clone_open(queue_t *, dev_t *, int, int, cred_t *);
static int clone_put(queue_t *, mblk_t *);

static struct module_info clone_info = { 1012, "clone", 0, INFPSZ, 65536, 8192 };
static struct qinit clone_rinit = { NULL, NULL, clone_open, NULL, NULL, &clone_info, NULL };
static struct qinit clone_winit = { clone_put, NULL, NULL, NULL, NULL, &clone_info, NULL };

extern struct streamtab cloneinfo;
struct streamtab cloneinfo = { &clone_rinit, &clone_winit, NULL, NULL };

static int
clone_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)q, (void)devp, (void)oflag, (void)sflag, (void)crp;
	return ENXIO;
}

static int
clone_put(queue_t *q, mblk_t *mp)
{
	(void)q;
	freemsg(mp);
	return 0;
}
