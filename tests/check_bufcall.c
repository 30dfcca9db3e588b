/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_bufcall.c: bufcall, esbbcall, unbufcall, qbufcall, qunbufcall.
 *
 * The arena is small, and tm_exhaust() uses it up; what a test then gives back
 * lets the callbacks run that wait for it.  Not for --with-heap=malloc.
 */
#define _GNU_SOURCE
#include "testmod.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <sys/ddi.h>
#include <unistd.h>
#include <ustreams.h>

#define QUIET 60 /* ms in which nothing must happen */

static atomic_int order_n;
static int order[64];

static void
note(void *arg)
{
	order[atomic_load(&order_n)] = (int)(intptr_t)arg;
	atomic_fetch_add(&order_n, 1);
}

static void
setup(void)
{
	setenv("USTREAMS_ARENA", "32M", 1);
	tm_setup();
	tm_register("drv", TM_DRIVER, D_MP | USTR_INDEPENDENT, 1000, 200);
	tm_register("pair", TM_MODULE | TM_SRV, D_MP | D_MTQPAIR, 1000, 200);
	atomic_store(&order_n, 0);
}

static void
nothing_runs(int already)
{
	tm_msleep(QUIET);
	ck_assert_int_eq(order_n, already);
}

/* One block of the smallest size; the first that tm_exhaust() took is shared. */
static void
give_one(void)
{
	static int first = 1;

	tm_relent(1 + first);
	first = 0;
}

/* The helper thread runs, so that its start needs no memory later. */
static void
warm_up(void)
{
	ck_assert_int_gt(bufcall(16, BPRI_HI, note, NULL), 0);
	ck_assert(tm_wait(&order_n, 1));
	atomic_store(&order_n, 0);
}

START_TEST(with_memory_at_hand_the_routine_runs_at_once)
{
	ck_assert_int_gt(bufcall(1000, BPRI_LO, note, NULL), 0);
	ck_assert(tm_wait(&order_n, 1));
	nothing_runs(1);
}
END_TEST

START_TEST(without_memory_it_waits_and_a_freed_block_lets_it_run)
{
	warm_up();
	tm_exhaust();
	ck_assert_int_gt(bufcall(16, BPRI_HI, note, NULL), 0);
	nothing_runs(0);
	give_one();
	ck_assert(tm_wait(&order_n, 1));
}
END_TEST

START_TEST(it_can_be_registered_many_times_without_memory)
{
	warm_up();
	tm_exhaust();
	for (int i = 0; i < 60; i++)
		ck_assert_int_gt(bufcall(16, BPRI_HI, note, (void *)(intptr_t)i), 0);
	nothing_runs(0);
	give_one();
	ck_assert(tm_wait(&order_n, 60));
}
END_TEST

static void *
relent(void *arg)
{
	(void)arg;
	give_one();
	while (atomic_load(&order_n) == 0)
		sched_yield();
	return NULL;
}

START_TEST(a_block_freed_by_another_thread_lets_it_run)
{
	pthread_t t;

	warm_up();
	tm_exhaust();
	bufcall(16, BPRI_HI, note, NULL);
	nothing_runs(0);
	pthread_create(&t, NULL, relent, NULL);
	ck_assert(tm_wait(&order_n, 1));
	pthread_join(t, NULL);
}
END_TEST

/* Reads one message, frees it, and goes on reading until the stream ends. */
static void *
reader(void *arg)
{
	char buf[64];

	while (str_read(*(int *)arg, buf, sizeof(buf)) > 0)
		;
	return NULL;
}

START_TEST(a_block_kept_by_a_thread_asleep_in_read_lets_it_run)
{
	pthread_t t;
	int fd[2];

	warm_up();
	ck_assert_int_eq(str_pipe(fd), 0);
	str_write(fd[0], "first", 5);
	pthread_create(&t, NULL, reader, &fd[1]);
	tm_msleep(50);
	tm_exhaust();
	give_one();
	ck_assert_int_eq(str_write(fd[0], "x", 1), 1);
	tm_msleep(50); /* the reader has it, and sleeps */
	bufcall(16, BPRI_HI, note, NULL);
	ck_assert(tm_wait(&order_n, 1));
	tm_relent(-1);
	str_close(fd[0]);
	pthread_join(t, NULL);
	str_close(fd[1]);
}
END_TEST

START_TEST(those_of_one_size_run_in_the_order_of_registration)
{
	warm_up();
	tm_exhaust();
	for (int i = 0; i < 20; i++)
		bufcall(16, BPRI_HI, note, (void *)(intptr_t)i);
	give_one();
	ck_assert(tm_wait(&order_n, 20));
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(order[i], i);
}
END_TEST

START_TEST(one_that_wants_more_than_there_is_does_not_hold_up_the_others)
{
	int id;

	warm_up();
	tm_exhaust();
	id = bufcall(1 << 29, BPRI_HI, note, (void *)1);
	bufcall(16, BPRI_HI, note, (void *)2);
	give_one();
	ck_assert(tm_wait(&order_n, 1));
	ck_assert_int_eq(order[0], 2);
	nothing_runs(1);
	unbufcall(id);
}
END_TEST

START_TEST(esbbcall_waits_for_a_message_header)
{
	warm_up();
	tm_exhaust();
	ck_assert_int_gt(esbbcall(BPRI_HI, note, NULL), 0);
	nothing_runs(0);
	give_one();
	ck_assert(tm_wait(&order_n, 1));
}
END_TEST

START_TEST(after_unbufcall_it_never_runs)
{
	int id;

	warm_up();
	tm_exhaust();
	id = bufcall(16, BPRI_HI, note, NULL);
	unbufcall(id);
	unbufcall(id);
	unbufcall(0);
	unbufcall(-1);
	tm_relent(-1);
	nothing_runs(0);
}
END_TEST

START_TEST(unbufcall_does_not_cancel_a_timeout)
{
	int id = timeout(note, NULL, 3);

	unbufcall(id);
	ck_assert(tm_wait(&order_n, 1));
}
END_TEST

static void
take(void *arg)
{
	mblk_t *mp = allocb(16, BPRI_HI);

	*(bool *)arg = mp != NULL;
	freemsg(mp);
	atomic_fetch_add(&order_n, 1);
}

START_TEST(the_routine_finds_the_memory_it_waited_for)
{
	bool got = false;

	warm_up();
	tm_exhaust();
	bufcall(16, BPRI_HI, take, &got);
	give_one();
	ck_assert(tm_wait(&order_n, 1));
	ck_assert(got);
}
END_TEST

START_TEST(the_thread_that_registered_it_finds_the_memory_too)
{
	mblk_t *mp;

	warm_up();
	tm_exhaust();
	ck_assert_ptr_null(allocb(16, BPRI_HI));
	bufcall(16, BPRI_HI, note, NULL);
	give_one();
	ck_assert(tm_wait(&order_n, 1));
	for (int ms = 0; (mp = allocb(16, BPRI_HI)) == NULL && ms < 5000; ms++)
		tm_msleep(1);
	ck_assert_ptr_nonnull(mp);
	freemsg(mp);
}
END_TEST

/* The textbook service procedure: no memory, so come back when there is. */
static void
come_back(void *arg)
{
	qenable(arg);
}

static int
copy_srv(queue_t *q)
{
	mblk_t *mp, *copy;

	while ((mp = getq(q)) != NULL) {
		copy = copymsg(mp);
		if (copy == NULL) {
			putbq(q, mp);
			atomic_fetch_add(&order_n, 1);
			qbufcall(q, 16, BPRI_HI, come_back, q);
			return 0;
		}
		freemsg(mp);
		qreply(q, copy);
	}
	return 0;
}

START_TEST(a_service_procedure_without_memory_comes_back)
{
	int fd = tm_stack("drv", "pair", NULL);
	char c;

	warm_up();
	tm_side(tm_wq(1))->put = tm_putq;
	tm_side(tm_wq(1))->srv = copy_srv;
	tm_exhaust();
	give_one();
	ck_assert_int_eq(str_write(fd, "x", 1), 1);
	ck_assert_int_eq(order_n, 1);
	ck_assert_int_eq(str_read(fd, &c, 1), -1);
	ck_assert_int_eq(errno, EAGAIN);
	tm_relent(-1);
	for (int ms = 0; str_read(fd, &c, 1) != 1 && ms < 5000; ms++)
		tm_msleep(1);
	ck_assert_int_eq(c, 'x');
}
END_TEST

START_TEST(qprocsoff_ends_a_bufcall_that_waits)
{
	int fd = tm_stack("drv", "pair", NULL), id;

	warm_up();
	tm_exhaust();
	id = qbufcall(tm_rq(1), 16, BPRI_HI, note, NULL);
	ck_assert_int_gt(id, 0);
	tm_pop(fd);
	qunbufcall(NULL, id);
	tm_relent(-1);
	nothing_runs(0);
}
END_TEST

START_TEST(blocks_freed_while_it_waited_are_used_again)
{
	struct ustr_memstat before, after;
	int fd[2];
	char buf[100];

	warm_up();
	ck_assert_int_eq(str_pipe(fd), 0);
	for (int round = 0; round < 20; round++) {
		int id = bufcall(1 << 29, BPRI_HI, note, NULL);

		if (round == 1)
			ustr_memstat(&before);
		for (int i = 0; i < 200; i++) {
			ck_assert_int_eq(str_write(fd[0], buf, 100), 100);
			ck_assert_int_eq(str_read(fd[1], buf, 100), 100);
		}
		unbufcall(id);
		for (int i = 0; i < 200; i++) {
			ck_assert_int_eq(str_write(fd[0], buf, 100), 100);
			ck_assert_int_eq(str_read(fd[1], buf, 100), 100);
		}
	}
	ustr_memstat(&after);
	ck_assert_int_le(after.ms_used - before.ms_used, 1 << 20);
	str_close(fd[0]);
	str_close(fd[1]);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("bufcall");
	TCase *tc = tcase_create("bufcall");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, tm_teardown);
	suite_add_tcase(s, tc);
	tcase_add_test(tc, with_memory_at_hand_the_routine_runs_at_once);
	tcase_add_test(tc, unbufcall_does_not_cancel_a_timeout);
	if (!tm_forked() || tm_heap_malloc())
		return tm_run(s);
	tcase_add_test(tc, without_memory_it_waits_and_a_freed_block_lets_it_run);
	tcase_add_test(tc, it_can_be_registered_many_times_without_memory);
	tcase_add_test(tc, a_block_freed_by_another_thread_lets_it_run);
	tcase_add_test(tc, a_block_kept_by_a_thread_asleep_in_read_lets_it_run);
	tcase_add_test(tc, those_of_one_size_run_in_the_order_of_registration);
	tcase_add_test(tc, one_that_wants_more_than_there_is_does_not_hold_up_the_others);
	tcase_add_test(tc, esbbcall_waits_for_a_message_header);
	tcase_add_test(tc, after_unbufcall_it_never_runs);
	tcase_add_test(tc, the_routine_finds_the_memory_it_waited_for);
	tcase_add_test(tc, the_thread_that_registered_it_finds_the_memory_too);
	tcase_add_test(tc, a_service_procedure_without_memory_comes_back);
	tcase_add_test(tc, qprocsoff_ends_a_bufcall_that_waits);
	tcase_add_test(tc, blocks_freed_while_it_waited_are_used_again);
	return tm_run(s);
}
