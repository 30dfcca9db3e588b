/* SPDX-License-Identifier: BSD-2-Clause */
/* putlib.c: see putlib.h. */
#define _GNU_SOURCE
#include "putlib.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <ustreams.h>

const struct kind kinds[] = {
    {"mp", "mps", D_MP},
    {"perq", "perqs", D_MP | D_MTPERQ},
    {"pair", "pairs", D_MP | D_MTQPAIR},
    {"permod", "permods", D_MP | D_MTPERMOD},
    {"none", "nones", 0},
};

void
put_setup(void)
{
	int i;

	tm_setup();
	tm_register("drv", TM_DRIVER, D_MP | USTR_INDEPENDENT, HIWAT, LOWAT);
	for (i = 0; i < KINDS; i++) {
		tm_register(kinds[i].name, TM_MODULE, kinds[i].flags, HIWAT, LOWAT);
		tm_register(
		    kinds[i].srv, TM_MODULE | TM_SRV, kinds[i].flags, HIWAT, LOWAT);
	}
}

int
loop_with(const char *minor, const char *module)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "drv/%s", minor);
	fd = tm_open(path);
	tm_push(fd, module);
	tm_side(tm_wq(0))->put = tm_reply;
	return fd;
}

mblk_t *
numbered(int n)
{
	mblk_t *mp = tm_msg(M_DATA, 0, sizeof(int32_t), 0);

	*(int32_t *)(void *)mp->b_rptr = n;
	return mp;
}

int
number(const mblk_t *mp)
{
	return *(const int32_t *)(const void *)mp->b_rptr;
}

void
read_numbers(int fd, int first, int n)
{
	int32_t v;
	int i;

	for (i = 0; i < n; i++) {
		ssize_t got = str_read(fd, &v, sizeof(v));

		tm_assert(got == sizeof(v), "number %d: %zd, %s", first + i, got,
		    strerror(errno));
		tm_assert(v == first + i, "number %d instead of %d", v, first + i);
	}
}

char diary[256];
atomic_int written;

void
note(char c)
{
	int at = atomic_fetch_add(&written, 1);

	if (at < (int)sizeof(diary) - 1)
		diary[at] = c;
}

void
new_diary(void)
{
	memset(diary, 0, sizeof(diary));
	atomic_store(&written, 0);
}

atomic_int disorder;
int last_seen[PRODUCERS];
atomic_int arrived;

int
order_wput(queue_t *q, mblk_t *mp)
{
	int v = number(mp), who = v % PRODUCERS;

	(void)q;
	if (v / PRODUCERS != last_seen[who] + 1)
		atomic_fetch_add(&disorder, 1);
	last_seen[who] = v / PRODUCERS;
	atomic_fetch_add(&arrived, 1);
	freemsg(mp);
	return 0;
}

atomic_int hold, held;

int
holding_wput(queue_t *q, mblk_t *mp)
{
	if (mp->b_rptr < mp->b_wptr && *mp->b_rptr == 'H') {
		atomic_store(&held, 1);
		while (atomic_load(&hold))
			tm_msleep(1);
	}
	if (q->q_next)
		putnext(q, mp);
	else
		freemsg(mp);
	return 0;
}

void *
hold_it(void *arg)
{
	(void)!str_write(*(int *)arg, "H", 1);
	return NULL;
}

pthread_t holder;
int holder_fd;

int
held_permod(const char *module)
{
	int fd;

	holder_fd = loop_with("1", module);
	tm_side(tm_wq(0))->put = tm_free;
	tm_side(tm_wq(1))->put = holding_wput;
	fd = loop_with("2", module);
	tm_side(tm_wq(0))->put = tm_free;
	tm_side(tm_wq(1))->put = holding_wput;
	atomic_store(&hold, 1);
	atomic_store(&held, 0);
	ck_assert_int_eq(pthread_create(&holder, NULL, hold_it, &holder_fd), 0);
	ck_assert(tm_wait(&held, 1));
	return fd;
}

void
let_go(void)
{
	atomic_store(&hold, 0);
	pthread_join(holder, NULL);
}

TCase *
put_group(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, put_setup, tm_teardown);
	suite_add_tcase(s, tc);
	return tc;
}
