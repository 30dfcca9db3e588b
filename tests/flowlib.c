/* SPDX-License-Identifier: BSD-2-Clause */
/* flowlib.c: see flowlib.h. */
#define _GNU_SOURCE
#include "flowlib.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ddi.h>
#include <ustreams.h>

void
flow_setup(void)
{
	tm_setup();
	tm_register("dsrv", TM_DRIVER | TM_SRV, D_MP | USTR_INDEPENDENT, HIWAT, LOWAT);
	tm_register("dput", TM_DRIVER, D_MP | USTR_INDEPENDENT, HIWAT, LOWAT);
	tm_register("srv", TM_MODULE | TM_SRV, D_MP, HIWAT, LOWAT);
	tm_register("put", TM_MODULE, D_MP, HIWAT, LOWAT);
	tm_register("rsrv", TM_MODULE | TM_RSRV, D_MP, HIWAT, LOWAT);
	tm_register("tiny", TM_MODULE | TM_SRV, D_MP, 1, 0);
	tm_register("tiny1", TM_MODULE | TM_SRV, D_MP, 1, 1);
}

unsigned
band_flag(queue_t *q, int b)
{
	unsigned v = 0;

	ck_assert_int_eq(strqget(q, QFLAG, (unsigned char)b, &v), 0);
	return v;
}

int
wantw(queue_t *q)
{
	return (q->q_flag & QWANTW) != 0;
}

void
fill_queue(queue_t *q)
{
	tm_queue(q, tm_norm(HIWAT));
	ck_assert_uint_eq(q->q_flag & QFULL, QFULL);
}

void
drop(queue_t *q)
{
	mblk_t *mp = getq(q);

	ck_assert_ptr_nonnull(mp);
	freemsg(mp);
}

int
writable(int fd)
{
	struct pollfd p = {fd, POLLOUT, 0};

	ck_assert_int_ge(str_poll(&p, 1, 0), 0);
	return (p.revents & POLLOUT) != 0;
}

int
runs_at_kick(int fd, queue_t *q)
{
	int was = tm_srvs(q);

	tm_kick(fd);
	return tm_srvs(q) - was;
}

void *
write_one(void *arg)
{
	struct writer *w = arg;

	atomic_store(&w->started, 1);
	w->result = str_write(w->fd, "w", 1);
	w->error = errno;
	atomic_store(&w->done, 1);
	return NULL;
}

void
start_one(struct writer *w, int fd, void *(*fn)(void *))
{
	memset(w, 0, sizeof(*w));
	w->fd = fd;
	ck_assert_int_eq(pthread_create(&w->t, NULL, fn, w), 0);
	ck_assert(tm_wait(&w->started, 1));
	tm_msleep(50); /* let it go to sleep */
}

TCase *
flow_group(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, flow_setup, tm_teardown);
	suite_add_tcase(s, tc);
	return tc;
}
