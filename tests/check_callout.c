/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_callout.c: timeout, untimeout, qtimeout, quntimeout, delay, and the
 * clock tick's conversions.
 *
 * The stream is "drv" with "pair" (D_MTQPAIR) or "mp" (D_MP) on it.  Callbacks
 * count themselves in a struct hit; the helper thread runs them.
 */
#define _GNU_SOURCE
#include "testmod.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <sys/ddi.h>
#include <sys/mman.h>
#include <sys/sunddi.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <ustreams.h>

#define LATER 3000 /* ticks: never, as far as a test is concerned */

struct hit {
	atomic_int n;	     /* times called */
	atomic_int inside;   /* now inside */
	atomic_bool hold;    /* stay inside until cleared */
	queue_t *q;
	int id;
	pthread_t who;
};

static void
hit(void *arg)
{
	struct hit *h = arg;

	h->who = pthread_self();
	atomic_store(&h->inside, 1);
	while (atomic_load(&h->hold))
		sched_yield();
	atomic_store(&h->inside, 0);
	atomic_fetch_add(&h->n, 1);
}

static void
setup(void)
{
	tm_setup();
	tm_register("drv", TM_DRIVER, D_MP | USTR_INDEPENDENT, 1000, 200);
	tm_register("pair", TM_MODULE | TM_SRV, D_MP | D_MTQPAIR, 1000, 200);
	tm_register("permod", TM_MODULE | TM_SRV, D_MP | D_MTPERMOD, 1000, 200);
	tm_register("mp", TM_MODULE | TM_SRV, D_MP, 1000, 200);
}

static int64_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* ---- ticks ------------------------------------------------------------------------ */

START_TEST(a_tick_is_a_hundredth_of_a_second)
{
	ck_assert_int_eq(drv_usectohz(1000000), 100);
	ck_assert_int_eq(drv_msectohz(1000), 100);
	ck_assert_int_eq(drv_hztousec(100), 1000000);
	ck_assert_int_eq(drv_hztomsec(100), 1000);
}
END_TEST

START_TEST(conversions_to_ticks_round_up)
{
	ck_assert_int_eq(drv_usectohz(0), 0);
	ck_assert_int_eq(drv_usectohz(1), 1);
	ck_assert_int_eq(drv_usectohz(10000), 1);
	ck_assert_int_eq(drv_usectohz(10001), 2);
	ck_assert_int_eq(drv_msectohz(11), 2);
	ck_assert_int_eq(drv_usectohz(LONG_MAX), LONG_MAX / 10000 + 1);
}
END_TEST

START_TEST(conversions_from_ticks_do_not_overflow)
{
	ck_assert_int_eq(drv_hztousec(LONG_MAX), LONG_MAX);
	ck_assert_int_eq(drv_hztomsec(LONG_MAX / 2), LONG_MAX);
	ck_assert_int_eq(drv_hztousec(LONG_MIN), LONG_MIN);
	ck_assert_int_eq(drv_hztousec(LONG_MAX / 10000), LONG_MAX / 10000 * 10000);
}
END_TEST

START_TEST(lbolt_counts_ticks)
{
	clock_t from = ddi_get_lbolt();

	tm_msleep(30);
	ck_assert_int_ge(ddi_get_lbolt() - from, 2);
}
END_TEST

/* ---- timeout ------------------------------------------------------------------------ */

START_TEST(a_timeout_calls_its_routine_once_and_not_too_soon)
{
	struct hit h = {0};
	int64_t from = now();

	ck_assert_int_gt(timeout(hit, &h, 3), 0);
	ck_assert(tm_wait(&h.n, 1));
	ck_assert_int_ge((now() - from) / 1000, 30000);
	tm_msleep(30);
	ck_assert_int_eq(h.n, 1);
	ck_assert(!pthread_equal(h.who, pthread_self()));
}
END_TEST

START_TEST(a_timeout_of_no_or_negative_ticks_runs_at_once)
{
	struct hit h = {0};

	timeout(hit, &h, _i);
	ck_assert(tm_wait(&h.n, 1));
}
END_TEST

START_TEST(a_timeout_of_the_longest_time_neither_overflows_nor_runs)
{
	struct hit h = {0};
	int id = timeout(hit, &h, LONG_MAX);

	ck_assert_int_gt(id, 0);
	tm_msleep(20);
	ck_assert_int_eq(h.n, 0);
	ck_assert_int_gt(untimeout(id), 1000000);
}
END_TEST

START_TEST(a_timeout_without_a_routine_is_refused)
{
	ck_assert_int_eq(timeout(NULL, NULL, 1), 0);
}
END_TEST

static atomic_int order_n;
static int order_got[64];

static void
note_order(void *arg)
{
	order_got[atomic_load(&order_n)] = (int)(intptr_t)arg;
	atomic_fetch_add(&order_n, 1);
}

/* Times count from each call: n calls that took too long for that are made again. */
static void
register_all(int n, int id[], int ticks_of(int), int most_ms)
{
	int64_t from;
	int tries = 0;

	for (;;) {
		from = now();
		for (int i = 0; i < n; i++)
			id[i] = timeout(note_order, (void *)(intptr_t)(i * 7 % n), ticks_of(i * 7 % n));
		if (now() - from < most_ms * (int64_t)1000000)
			return;
		ck_assert_int_lt(++tries, 1000);
		for (int i = 0; i < n; i++)
			untimeout(id[i]);
		order_n = 0;
	}
}

static int
tenth_and_on(int i)
{
	return 10 + i;
}

static int
in_fours(int i)
{
	return 20 + i / 4;
}

START_TEST(timeouts_run_in_the_order_of_their_times)
{
	int id[20];

	/* 7 is prime to 20: all times, mixed; within one tick. */
	register_all(20, id, tenth_and_on, 9);
	ck_assert(tm_wait(&order_n, 20));
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(order_got[i], i);
}
END_TEST

START_TEST(timeouts_taken_out_of_the_middle_leave_the_others_in_order)
{
	int id[60], late, tries = 0;

	do {
		order_n = late = 0;
		register_all(60, id, in_fours, 9);
		for (int i = 0; i < 60; i++)
			if (i * 7 % 60 % 3 != 0)
				late |= untimeout(id[i]) < 0;
		for (int i = 0; late && i < 60; i++)
			untimeout(id[i]);
	} while (late && ++tries < 100); /* the machine stood still for 200 ms */
	ck_assert_int_eq(late, 0);
	ck_assert(tm_wait(&order_n, 20));
	tm_msleep(20);
	ck_assert_int_eq(order_n, 20);
	for (int i = 1; i < 20; i++)
		ck_assert_int_le(order_got[i - 1] / 4, order_got[i] / 4);
}
END_TEST

START_TEST(ten_thousand_timeouts_all_run)
{
	struct hit h = {0};

	for (int i = 0; i < 10000; i++)
		tm_assert(timeout(hit, &h, i % 5) > 0, "no id for %d", i);
	ck_assert(tm_wait(&h.n, 10000));
}
END_TEST

static void
again(void *arg)
{
	struct hit *h = arg;

	if (atomic_fetch_add(&h->n, 1) < 5)
		h->id = timeout(again, h, 0);
}

START_TEST(a_routine_may_register_itself_anew)
{
	struct hit h = {0};

	timeout(again, &h, 0);
	ck_assert(tm_wait(&h.n, 6));
}
END_TEST

/* ---- untimeout ------------------------------------------------------------------------ */

START_TEST(untimeout_returns_the_ticks_that_were_left)
{
	struct hit h = {0};
	clock_t left = untimeout(timeout(hit, &h, LATER));

	ck_assert_int_gt(left, LATER - 2000);
	ck_assert_int_le(left, LATER);
}
END_TEST

START_TEST(a_cancelled_timeout_never_runs)
{
	struct hit h = {0};
	int tries = 0;

	/* Again if the machine stood still for as long. */
	while (untimeout(timeout(hit, &h, 5)) < 0)
		ck_assert_int_lt(++tries, 100);
	ck_assert_int_eq(h.n, tries);
	tm_msleep(100);
	ck_assert_int_eq(h.n, tries);
}
END_TEST

START_TEST(untimeout_of_what_has_run_or_was_cancelled_returns_minus_one)
{
	struct hit h = {0};
	int id = timeout(hit, &h, 0);

	ck_assert(tm_wait(&h.n, 1));
	ck_assert_int_eq(untimeout(id), -1);
	id = timeout(hit, &h, LATER);
	ck_assert_int_ge(untimeout(id), 0);
	ck_assert_int_eq(untimeout(id), -1);
}
END_TEST

START_TEST(untimeout_of_no_id_returns_minus_one)
{
	static const int ids[] = {0, -1, 1, INT_MAX, INT_MIN, 131071};

	ck_assert_int_eq(untimeout(ids[_i]), -1);
}
END_TEST

START_TEST(an_old_id_does_not_cancel_who_came_after)
{
	struct hit h = {0};
	int old = timeout(hit, &h, LATER), id;

	untimeout(old);
	/* Until the same cell is used again. */
	for (int i = 0; i < 2000; i++) {
		id = timeout(hit, &h, LATER);
		ck_assert_int_ne(id, old);
		ck_assert_int_eq(untimeout(old), -1);
		ck_assert_int_ge(untimeout(id), 0);
	}
}
END_TEST

START_TEST(untimeout_does_not_cancel_a_bufcall)
{
	struct hit h = {0};
	int id = bufcall(1 << 29, BPRI_HI, hit, &h);

	ck_assert_int_gt(id, 0);
	ck_assert_int_eq(untimeout(id), -1);
	unbufcall(id);
}
END_TEST

static void *
cancel(void *arg)
{
	struct hit *h = arg;

	return (void *)(intptr_t)untimeout(h->id);
}

START_TEST(untimeout_waits_until_a_running_routine_has_returned)
{
	struct hit h = {.hold = true};
	pthread_t t;
	void *result;

	h.id = timeout(hit, &h, 0);
	ck_assert(tm_wait(&h.inside, 1));
	pthread_create(&t, NULL, cancel, &h);
	tm_msleep(50);
	ck_assert_int_eq(pthread_tryjoin_np(t, &result), EBUSY);
	atomic_store(&h.hold, false);
	pthread_join(t, &result);
	ck_assert_int_eq((intptr_t)result, -1);
	ck_assert_int_eq(h.inside, 0);
}
END_TEST

static void
cancel_myself(void *arg)
{
	struct hit *h = arg;

	while (atomic_load(&h->hold))
		sched_yield();
	h->inside = (int)untimeout(h->id);
	atomic_fetch_add(&h->n, 1);
}

START_TEST(a_routine_that_cancels_itself_does_not_wait)
{
	struct hit h = {.hold = true};

	h.id = timeout(cancel_myself, &h, 0);
	atomic_store(&h.hold, false);
	ck_assert(tm_wait(&h.n, 1));
	ck_assert_int_eq(h.inside, -1);
}
END_TEST

/* ---- in a stream -------------------------------------------------------------------------- */

static void
enable(void *arg)
{
	qenable(arg);
}

static void
register_enable(queue_t *q, void *arg)
{
	(void)q;
	timeout(enable, arg, 1);
}

START_TEST(a_queue_enabled_by_a_timeout_is_served)
{
	int fd = tm_stack("drv", "mp", NULL);
	int was = tm_srvs(tm_wq(1));

	tm_inside(fd, register_enable, tm_wq(1));
	ck_assert(tm_wait(&tm_side(tm_wq(1))->srvs, was + 1));
}
END_TEST

static void
send_up(void *arg)
{
	struct hit *h = arg;

	putnext(h->q, tm_msg(M_DATA, 0, 1, 'x'));
	atomic_fetch_add(&h->n, 1);
}

static void
register_send(queue_t *q, void *arg)
{
	struct hit *h = arg;

	(void)q;
	timeout(send_up, h, 1);
}

START_TEST(a_timeout_may_pass_messages_on)
{
	int fd = tm_stack("drv", "pair", NULL);
	struct hit h = {.q = tm_rq(0)};
	char c = 0;

	tm_inside(fd, register_send, &h);
	ck_assert(tm_wait(&h.n, 1));
	ck_assert_int_eq(str_read(fd, &c, 1), 1);
	ck_assert_int_eq(c, 'x');
}
END_TEST

static void
call_stream(void *arg)
{
	struct hit *h = arg;

	h->inside = str_ioctl(h->id, I_NREAD, &h->id);
	h->hold = errno == EDEADLK;
	atomic_fetch_add(&h->n, 1);
}

START_TEST(a_timeout_registered_outside_all_calls_may_make_calls)
{
	struct hit h = {.id = tm_open("drv")};

	timeout(call_stream, &h, 0);
	ck_assert(tm_wait(&h.n, 1));
	ck_assert_int_eq(h.inside, 0);
}
END_TEST

START_TEST(a_call_from_a_queues_timeout_is_edeadlk)
{
	int fd = tm_stack("drv", "pair", NULL);
	struct hit h = {.id = fd};

	qtimeout(tm_rq(1), call_stream, &h, 0);
	ck_assert(tm_wait(&h.n, 1));
	ck_assert_int_eq(h.inside, -1);
	ck_assert(h.hold);
}
END_TEST

/* ---- qtimeout ----------------------------------------------------------------------------- */

/* A put procedure that stays inside its perimeter until told otherwise. */
static struct hit holder;

static int
hold_put(queue_t *q, mblk_t *mp)
{
	(void)q;
	freemsg(mp);
	hit(&holder);
	return 0;
}

static void *
write_one(void *arg)
{
	str_write(*(int *)arg, "x", 1);
	return NULL;
}

/* Another thread is inside the perimeter of the module on fd; its thread. */
static pthread_t
occupy(int *fd, queue_t *q)
{
	pthread_t t;

	memset(&holder, 0, sizeof(holder));
	atomic_store(&holder.hold, true);
	tm_side(q)->put = hold_put;
	pthread_create(&t, NULL, write_one, fd);
	ck_assert(tm_wait(&holder.inside, 1));
	return t;
}

START_TEST(a_queues_timeout_waits_for_its_perimeter)
{
	int fd = tm_stack("drv", _i ? "permod" : "pair", NULL);
	struct hit h = {0};
	pthread_t t = occupy(&fd, tm_wq(1));

	ck_assert_int_gt(qtimeout(tm_rq(1), hit, &h, 0), 0);
	tm_msleep(60);
	ck_assert_int_eq(h.n, 0);
	atomic_store(&holder.hold, false);
	pthread_join(t, NULL);
	ck_assert(tm_wait(&h.n, 1));
}
END_TEST

START_TEST(a_timeout_that_waits_for_its_perimeter_does_not_delay_the_others)
{
	int fd = tm_stack("drv", "pair", NULL);
	struct hit h = {0}, other = {0};
	pthread_t t = occupy(&fd, tm_wq(1));

	qtimeout(tm_rq(1), hit, &h, 0);
	tm_msleep(10);
	timeout(hit, &other, 1);
	ck_assert(tm_wait(&other.n, 1));
	ck_assert_int_eq(h.n, 0);
	atomic_store(&holder.hold, false);
	pthread_join(t, NULL);
	ck_assert(tm_wait(&h.n, 1));
}
END_TEST

/* Registers a timeout of no ticks, waits until it is due, and cancels it. */
static int
cancel_put(queue_t *q, mblk_t *mp)
{
	struct hit *h = tm_side(q)->arg;
	int id = qtimeout(q, hit, h, 0);

	freemsg(mp);
	tm_msleep(50);
	h->id = (int)quntimeout(q, id);
	return 0;
}

START_TEST(who_holds_the_perimeter_cancels_a_timeout_that_waits_for_it)
{
	int fd = tm_stack("drv", _i ? "permod" : "pair", NULL);
	struct hit h = {0};

	tm_side(tm_wq(1))->put = cancel_put;
	tm_side(tm_wq(1))->arg = &h;
	str_write(fd, "x", 1);
	ck_assert_int_eq(h.id, 0);
	tm_msleep(30);
	ck_assert_int_eq(h.n, 0);
}
END_TEST

START_TEST(a_message_for_a_perimeter_that_a_timeout_holds_is_parked)
{
	int fd = tm_stack("drv", "pair", NULL);
	struct hit h = {.hold = true};

	qtimeout(tm_rq(1), hit, &h, 0);
	ck_assert(tm_wait(&h.inside, 1));
	ck_assert_int_eq(str_write(fd, "x", 1), 1);
	ck_assert_int_eq(tm_puts(tm_wq(1)), 0);
	atomic_store(&h.hold, false);
	ck_assert(tm_wait(&tm_side(tm_wq(1))->puts, 1));
}
END_TEST

/* In a close routine, between qprocsoff and its end. */
static void
too_late(queue_t *q)
{
	tm_side(q)->srvs = (int)quntimeout(q, tm_side(q)->puts);
}

START_TEST(qprocsoff_ends_what_the_queue_still_waits_for)
{
	int fd = tm_stack("drv", _i ? "mp" : "pair", NULL);
	struct hit h = {0};
	int r = qtimeout(tm_rq(1), hit, &h, 50), w = qtimeout(tm_wq(1), hit, &h, 50);

	tm_side(tm_rq(1))->puts = r;
	tm_closed_hook = too_late;
	tm_pop(fd);
	tm_closed_hook = NULL;
	ck_assert_int_eq(tm_newest->rd.srvs, -1);
	tm_msleep(700);
	ck_assert_int_eq(h.n, 0);
	ck_assert_int_eq(quntimeout(NULL, r), -1);
	ck_assert_int_eq(quntimeout(NULL, w), -1);
}
END_TEST

static struct hit closing;

static void
after_close(queue_t *q)
{
	closing.id = qtimeout(q, hit, &closing, 0);
	closing.inside = qbufcall(q, 1, BPRI_HI, hit, &closing);
}

START_TEST(after_qprocsoff_a_timeout_or_bufcall_is_refused)
{
	int fd = tm_stack("drv", "pair", NULL);

	memset(&closing, 0xff, sizeof(closing));
	tm_closed_hook = after_close;
	tm_pop(fd);
	ck_assert_int_eq(closing.id, 0);
	ck_assert_int_eq(closing.inside, 0);
}
END_TEST

static void *
pop(void *arg)
{
	return (void *)(intptr_t)str_ioctl(*(int *)arg, I_POP, 0);
}

START_TEST(qprocsoff_waits_for_a_running_timeout)
{
	int fd = tm_stack("drv", _i ? "mp" : "pair", NULL);
	struct hit h = {.hold = true};
	pthread_t t;
	void *result;

	qtimeout(tm_rq(1), hit, &h, 0);
	ck_assert(tm_wait(&h.inside, 1));
	pthread_create(&t, NULL, pop, &fd);
	tm_msleep(50);
	ck_assert_int_eq(pthread_tryjoin_np(t, &result), EBUSY);
	atomic_store(&h.hold, false);
	pthread_join(t, &result);
	ck_assert_int_eq((intptr_t)result, 0);
	ck_assert_int_eq(h.n, 1);
}
END_TEST

static int
fail_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	qtimeout(q, hit, &closing, 2);
	return EACCES;
}

START_TEST(an_open_that_fails_leaves_no_timeout)
{
	int fd = tm_open("drv");

	memset(&closing, 0, sizeof(closing));
	tm_open_hook = fail_open;
	ck_assert_int_eq(str_ioctl(fd, I_PUSH, "pair"), -1);
	ck_assert_int_eq(errno, EACCES);
	tm_msleep(60);
	ck_assert_int_eq(closing.n, 0);
}
END_TEST

static int
delay_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)q, (void)dev, (void)oflag, (void)sflag, (void)cr;
	delay(3);
	return 0;
}

START_TEST(delay_sleeps_and_leaves_the_stream_to_others)
{
	int fd = tm_open("drv"), other = tm_track(str_dup(fd));
	int64_t from = now();

	tm_open_hook = delay_open;
	tm_push(fd, "pair");
	ck_assert_int_ge((now() - from) / 1000, 30000);
	tm_open_hook = NULL;
	ck_assert_int_eq(str_ioctl(other, I_POP, 0), 0);
}
END_TEST

/* ---- processes ------------------------------------------------------------------------------ */

/* What parent and child share. */
static struct hit *shared;

static void
share(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
}

static void
hit_shared(void *arg)
{
	(void)arg;
	shared->id = getpid();
	atomic_fetch_add(&shared->n, 1);
}

START_TEST(a_timeout_runs_in_the_process_that_registered_it)
{
	int fd, status;
	pid_t pid;

	if (!tm_may_fork())
		return;
	share();
	tm_patience = 30000;
	fd = tm_stack("drv", "pair", NULL);
	qtimeout(tm_rq(1), hit_shared, NULL, 5);
	pid = fork();
	if (pid == 0) {
		while (atomic_load(&shared->n) == 0)
			str_write(fd, "x", 1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(shared->n, 1);
	ck_assert_int_eq(shared->id, getpid());
}
END_TEST

START_TEST(a_child_cancels_its_parents_timeout)
{
	int status = 1, id;
	pid_t pid;

	if (!tm_may_fork())
		return;
	share();
	tm_patience = 30000;
	tm_stack("drv", "pair", NULL);
	/* Again if the machine stood still for as long. */
	for (int tries = 0; status != 0; tries++) {
		ck_assert_int_lt(tries, 20);
		atomic_store(&shared->n, 0);
		id = qtimeout(tm_rq(1), hit_shared, NULL, 30);
		pid = fork();
		if (pid == 0)
			_exit(quntimeout(tm_rq(1), id) > 0 ? 0 : 1);
		waitpid(pid, &status, 0);
		ck_assert(status == 0 || atomic_load(&shared->n) == 1);
	}
	tm_msleep(400);
	ck_assert_int_eq(shared->n, 0);
	/* The entry it left does not disturb who gets the cell next. */
	for (int i = 0; i < 300; i++)
		qtimeout(tm_rq(1), hit_shared, NULL, 0);
	ck_assert(tm_wait(&shared->n, 300));
}
END_TEST

START_TEST(timeouts_of_a_dead_process_are_dropped_and_counted)
{
	struct ustr_memstat before, after;
	int status;
	pid_t pid;

	if (!tm_may_fork())
		return;
	share();
	tm_patience = 30000;
	tm_stack("drv", "pair", NULL);
	ustr_memstat(&before);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			qtimeout(tm_rq(1), hit_shared, NULL, 5);
		shared->id = timeout(hit_shared, NULL, LATER);
		raise(SIGKILL);
	}
	waitpid(pid, &status, 0);
	for (int ms = 0; ms < 30000; ms += 10) {
		ustr_memstat(&after);
		if (after.ms_dropped > before.ms_dropped)
			break;
		tm_msleep(10);
	}
	tm_msleep(20);
	ustr_memstat(&after);
	ck_assert_int_eq(after.ms_dropped - before.ms_dropped, 4);
	ck_assert_int_eq(shared->n, 0);
	ck_assert_int_eq(untimeout(shared->id), -1);
}
END_TEST

/* Always running, or about to. */
static void
busy(void *arg)
{
	int64_t until = now() + 2000000;

	atomic_fetch_add(&shared->inside, 1);
	atomic_fetch_add(&shared->n, 1);
	while (now() < until)
		;
	qtimeout(arg, busy, arg, 0);
	atomic_fetch_sub(&shared->inside, 1);
}

START_TEST(an_exit_waits_until_the_running_timeout_has_returned)
{
	int fd, status;
	pid_t pid;
	char c;

	if (!tm_may_fork())
		return;
	share();
	tm_patience = 30000;
	fd = tm_stack("drv", "pair", NULL);
	tm_side(tm_wq(0))->put = tm_reply;
	for (int round = 0; round < 5; round++) {
		shared->n = 0;
		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			qtimeout(tm_rq(1), busy, tm_rq(1), 0);
			while (atomic_load(&shared->n) < 3)
				sched_yield();
			exit(0);
		}
		waitpid(pid, &status, 0);
		ck_assert_int_eq(status, 0);
		ck_assert_int_eq(shared->inside, 0);
		ck_assert_int_eq(str_write(fd, "x", 1), 1);
		ck_assert_int_eq(str_read(fd, &c, 1), 1);
	}
}
END_TEST

START_TEST(without_a_helper_ustr_service_runs_timeouts)
{
	struct hit h = {0};

	timeout(hit, &h, 2);
	tm_msleep(60);
	ck_assert_int_eq(h.n, 0);
	ustr_service(0);
	ck_assert_int_eq(h.n, 1);
	ck_assert(pthread_equal(h.who, pthread_self()));
	timeout(hit, &h, 2);
	/* Once is enough if the machine does not stand still. */
	for (int i = 0; i < 100 && atomic_load(&h.n) < 2; i++)
		ustr_service(100);
	ck_assert_int_eq(h.n, 2);
}
END_TEST

/* ---- all -------------------------------------------------------------------------------------- */

static TCase *
group(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, tm_teardown);
	suite_add_tcase(s, tc);
	return tc;
}

static void
no_helper(void)
{
	setenv("USTREAMS_HELPER", "0", 1);
	setup();
}

static void
time_tests(Suite *s)
{
	TCase *tc = group(s, "ticks");

	tcase_add_test(tc, a_tick_is_a_hundredth_of_a_second);
	tcase_add_test(tc, conversions_to_ticks_round_up);
	tcase_add_test(tc, conversions_from_ticks_do_not_overflow);
	tcase_add_test(tc, lbolt_counts_ticks);
	tc = group(s, "timeout");
	tcase_add_test(tc, a_timeout_calls_its_routine_once_and_not_too_soon);
	tcase_add_loop_test(tc, a_timeout_of_no_or_negative_ticks_runs_at_once, -1, 1);
	tcase_add_test(tc, a_timeout_of_the_longest_time_neither_overflows_nor_runs);
	tcase_add_test(tc, a_timeout_without_a_routine_is_refused);
	if (tm_forked()) { /* they count in static memory */
		tcase_add_test(tc, timeouts_run_in_the_order_of_their_times);
		tcase_add_test(tc, timeouts_taken_out_of_the_middle_leave_the_others_in_order);
	}
	tcase_add_test(tc, ten_thousand_timeouts_all_run);
	tcase_add_test(tc, a_routine_may_register_itself_anew);
	tc = group(s, "untimeout");
	tcase_add_test(tc, untimeout_returns_the_ticks_that_were_left);
	tcase_add_test(tc, a_cancelled_timeout_never_runs);
	tcase_add_test(tc, untimeout_of_what_has_run_or_was_cancelled_returns_minus_one);
	tcase_add_loop_test(tc, untimeout_of_no_id_returns_minus_one, 0, 6);
	tcase_add_test(tc, an_old_id_does_not_cancel_who_came_after);
	tcase_add_test(tc, untimeout_does_not_cancel_a_bufcall);
	tcase_add_test(tc, untimeout_waits_until_a_running_routine_has_returned);
	tcase_add_test(tc, a_routine_that_cancels_itself_does_not_wait);
}

static void
stream_tests(Suite *s)
{
	TCase *tc = group(s, "in a stream");

	tcase_add_test(tc, a_queue_enabled_by_a_timeout_is_served);
	tcase_add_test(tc, a_timeout_may_pass_messages_on);
	tcase_add_test(tc, a_timeout_registered_outside_all_calls_may_make_calls);
	tcase_add_test(tc, a_call_from_a_queues_timeout_is_edeadlk);
	tc = group(s, "qtimeout");
	tcase_add_loop_test(tc, a_queues_timeout_waits_for_its_perimeter, 0, 2);
	tcase_add_test(tc, a_timeout_that_waits_for_its_perimeter_does_not_delay_the_others);
	tcase_add_loop_test(tc, who_holds_the_perimeter_cancels_a_timeout_that_waits_for_it, 0, 2);
	tcase_add_test(tc, a_message_for_a_perimeter_that_a_timeout_holds_is_parked);
	tcase_add_loop_test(tc, qprocsoff_ends_what_the_queue_still_waits_for, 0, 2);
	tcase_add_test(tc, after_qprocsoff_a_timeout_or_bufcall_is_refused);
	tcase_add_loop_test(tc, qprocsoff_waits_for_a_running_timeout, 0, 2);
	tcase_add_test(tc, an_open_that_fails_leaves_no_timeout);
	tcase_add_test(tc, delay_sleeps_and_leaves_the_stream_to_others);
	tc = group(s, "processes");
	tcase_add_test(tc, a_timeout_runs_in_the_process_that_registered_it);
	tcase_add_test(tc, a_child_cancels_its_parents_timeout);
	tcase_add_test(tc, timeouts_of_a_dead_process_are_dropped_and_counted);
	tcase_add_test(tc, an_exit_waits_until_the_running_timeout_has_returned);
}

int
main(void)
{
	Suite *s = suite_create("callout");

	time_tests(s);
	stream_tests(s);
	if (tm_forked()) {
		TCase *tc = tcase_create("no helper");

		tcase_set_timeout(tc, 120);
		tcase_add_checked_fixture(tc, no_helper, tm_teardown);
		suite_add_tcase(s, tc);
		tcase_add_test(tc, without_a_helper_ustr_service_runs_timeouts);
	}
	return tm_run(s);
}
