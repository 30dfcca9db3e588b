/* SPDX-License-Identifier: BSD-2-Clause */
/* check_qprocson.c: qprocson and qprocsoff: messages while a module comes and goes. */
#define _GNU_SOURCE
#include "putlib.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <stropts.h>
#include <ustreams.h>

/* ---- qprocson, qprocsoff ---------------------------------------------------------- */

static queue_t *send_from; /* the driver's read queue */

static int
early_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)q, (void)dev, (void)oflag, (void)sflag, (void)cr;
	putnext(send_from, numbered(1)); /* qprocson has not been called */
	return 0;
}

START_TEST(before_qprocson_messages_flow_around_the_module)
{
	int fd = tm_open("drv");

	send_from = tm_rq(0);
	tm_open_hook = early_open;
	tm_push(fd, kinds[_i].name);
	tm_open_hook = NULL;
	ck_assert_int_eq(tm_puts(tm_rq(1)), 0);
	read_numbers(fd, 1, 1);
	putnext(send_from, numbered(2));
	ck_assert_int_eq(tm_puts(tm_rq(1)), 1);
	read_numbers(fd, 2, 1);
}
END_TEST

static int puts_seen[2];

static void
before_off(queue_t *q)
{
	puts_seen[0] = tm_puts(q);
	putnext(send_from, numbered(2));
}

static void
after_off(queue_t *q)
{
	puts_seen[1] = tm_puts(q);
	putnext(send_from, numbered(3));
	qprocsoff(q); /* once more: no harm */
	putnext(send_from, numbered(4));
}

START_TEST(after_qprocsoff_messages_flow_around_the_module)
{
	int fd = tm_stack("drv", "mp", NULL);
	struct tm_inst *in = tm_newest;

	send_from = tm_rq(0);
	putnext(send_from, numbered(1));
	tm_close_hook = before_off;
	tm_closed_hook = after_off;
	tm_pop(fd);
	tm_close_hook = NULL;
	tm_closed_hook = NULL;
	ck_assert_int_eq(puts_seen[0], 1);
	ck_assert_int_eq(puts_seen[1], 2);
	ck_assert_int_eq(atomic_load(&in->rd.puts), 2);
	read_numbers(fd, 1, 4);
}
END_TEST

static int
failing_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)q, (void)dev, (void)oflag, (void)sflag, (void)cr;
	return EXDEV;
}

static int
failing_late(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	qprocson(q);
	return ELOOP;
}

START_TEST(a_failed_open_is_undone)
{
	int fd = tm_stack("drv", "mp", NULL), i, closes;
	char name[FMNAMESZ + 1] = "";
	struct tm_inst *in = tm_newest;

	tm_side(tm_wq(0))->put = tm_reply;
	for (i = 0; i < 2; i++) {
		tm_open_hook = i ? failing_late : failing_open;
		closes = atomic_load(&in->closes);
		ck_assert_int_eq(str_ioctl(fd, I_PUSH, kinds[_i].name), -1);
		ck_assert_int_eq(errno, i ? ELOOP : EXDEV);
		tm_open_hook = NULL;
		ck_assert_ptr_eq(tm_newest, in);
		ck_assert_int_eq(atomic_load(&in->closes), closes);
		ck_assert_int_eq(str_ioctl(fd, I_LIST, NULL), 2);
		ck_assert_int_eq(str_ioctl(fd, I_LOOK, name), 0);
		ck_assert_str_eq(name, "mp");
		ck_assert_int_eq(str_write(fd, "\3\0\0\0", 4), 4);
		read_numbers(fd, 3, 1);
	}
	tm_push(fd, kinds[_i].name); /* and it can be pushed after all */
	ck_assert_int_eq(str_write(fd, "\4\0\0\0", 4), 4);
	ck_assert_int_eq(tm_puts(tm_wq(2)), 1);
	read_numbers(fd, 4, 1);
}
END_TEST

static int
enabling_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	qenable(q);
	qenable(WR(q));
	return EXDEV;
}

static atomic_int late_runs;

static int
late_run(queue_t *q)
{
	(void)q;
	atomic_fetch_add(&late_runs, 1);
	return 0;
}

static int
late_put(queue_t *q, mblk_t *mp)
{
	putnext(q, mp);
	return 0;
}

/* The pair is given back: whoever serves it serves memory that is another's by then. */
START_TEST(a_pair_enabled_by_an_open_that_fails_is_not_served)
{
	static struct module_info info = { 9902, "late", 0, INFPSZ, HIWAT, LOWAT };
	static struct qinit rd = { late_put, late_run, enabling_open, NULL, NULL, &info, NULL };
	static struct qinit wr = { late_put, late_run, NULL, NULL, NULL, &info, NULL };
	static struct streamtab tab = { &rd, &wr, NULL, NULL };
	int fd[2];
	char c;

	ck_assert_int_eq(ustr_register_module("late", &tab, _i ? D_MTPERMOD : D_MP), 0);
	ck_assert_int_eq(str_pipe(fd), 0);
	ck_assert_int_eq(str_ioctl(fd[0], I_PUSH, "late"), -1);
	ck_assert_int_eq(errno, EXDEV);
	ck_assert_int_eq(str_write(fd[0], "x", 1), 1);
	ck_assert_int_eq(str_read(fd[1], &c, 1), 1);
	ck_assert_int_eq(atomic_load(&late_runs), 0);
	ck_assert_int_eq(str_close(fd[0]), 0);
	ck_assert_int_eq(str_close(fd[1]), 0);
	ck_assert_int_eq(ustr_unregister("late"), 0);
}
END_TEST

START_TEST(a_failed_driver_open_gives_its_errno_and_no_descriptor)
{
	int i, fd;

	for (i = 0; i < 2; i++) {
		tm_open_hook = i ? failing_late : failing_open;
		ck_assert_int_eq(str_open("/dev/streams/drv/9", O_RDWR), -1);
		ck_assert_int_eq(errno, i ? ELOOP : EXDEV);
	}
	tm_open_hook = NULL;
	fd = tm_open("drv/9");
	ck_assert_int_eq(str_write(fd, "x", 1), 1);
}
END_TEST

static atomic_int freed;

static void
count_free(char *arg)
{
	(void)arg;
	atomic_fetch_add(&freed, 1);
}

START_TEST(what_a_close_leaves_on_its_queues_is_flushed)
{
	static unsigned char buf[8][4];
	static frtn_t frtn = {count_free, NULL};
	int fd = tm_stack("drv", "mps", NULL), i;

	atomic_store(&freed, 0);
	for (i = 0; i < 8; i++) {
		mblk_t *mp = esballoc(buf[i], 4, BPRI_MED, &frtn);

		ck_assert_ptr_nonnull(mp);
		mp->b_wptr += 4;
		if (i & 4)
			mp->b_datap->db_type = M_PCPROTO;
		else if (i & 2)
			mp->b_band = 3;
		tm_queue(i & 1 ? tm_rq(1) : tm_wq(1), mp);
	}
	noenable(tm_rq(1));
	noenable(tm_wq(1));
	tm_pop(fd);
	ck_assert_int_eq(atomic_load(&freed), 8);
}
END_TEST

/* Pop while another thread's put is inside the module: it must wait. */
static atomic_int popped, off;

static void
note_off(queue_t *q)
{
	(void)q;
	atomic_store(&off, 1);
}

static void *
pop_it(void *arg)
{
	if (str_ioctl(*(int *)arg, I_POP, 0) == 0)
		atomic_store(&popped, 1);
	return NULL;
}

START_TEST(a_pop_waits_for_a_put_inside_the_module)
{
	int fd = loop_with("1", kinds[_i].name);
	struct tm_inst *in = tm_newest;
	pthread_t t;

	tm_side(tm_wq(1))->put = holding_wput;
	atomic_store(&hold, 1);
	atomic_store(&held, 0);
	atomic_store(&popped, 0);
	atomic_store(&off, 0);
	tm_closed_hook = note_off;
	ck_assert_int_eq(pthread_create(&holder, NULL, hold_it, &fd), 0);
	ck_assert(tm_wait(&held, 1));
	ck_assert_int_eq(pthread_create(&t, NULL, pop_it, &fd), 0);
	tm_msleep(50);
	ck_assert_int_eq(atomic_load(&popped), 0);
	ck_assert_int_eq(atomic_load(&off), 0); /* qprocsoff has not returned */
	let_go();
	pthread_join(t, NULL);
	tm_closed_hook = NULL;
	ck_assert_int_eq(atomic_load(&off), 1);
	ck_assert_int_eq(atomic_load(&popped), 1);
	ck_assert_int_eq(atomic_load(&in->closes), 1);
	ck_assert_int_eq(atomic_load(&in->wr.puts), 1);
}
END_TEST

/* Pop, or close, a stream whose messages are parked: nothing may be lost. */
START_TEST(a_pop_loses_no_parked_message)
{
	int fd = held_permod("permod"), i;
	pthread_t t;

	atomic_store(&popped, 0);
	atomic_store(&arrived, 0);
	atomic_store(&disorder, 0);
	last_seen[0] = -1;
	tm_side(tm_wq(0))->put = order_wput;
	for (i = 0; i < 20; i++)
		ck_assert_int_eq(str_write(fd, &(int32_t){i * PRODUCERS}, 4), 4);
	ck_assert_int_eq(atomic_load(&arrived), 0);
	ck_assert_int_eq(pthread_create(&t, NULL, pop_it, &fd), 0);
	tm_msleep(20);
	let_go();
	pthread_join(t, NULL);
	ck_assert_int_eq(atomic_load(&popped), 1);
	for (; i < 30; i++)
		ck_assert_int_eq(str_write(fd, &(int32_t){i * PRODUCERS}, 4), 4);
	ck_assert_int_eq(atomic_load(&arrived), 30);
	ck_assert_int_eq(atomic_load(&disorder), 0);
}
END_TEST

static void *
close_it(void *arg)
{
	tm_close(*(int *)arg);
	atomic_store(&popped, 1);
	return NULL;
}

START_TEST(messages_parked_for_a_closed_driver_are_freed)
{
	static unsigned char buf[8][4];
	static frtn_t frtn = {count_free, NULL};
	int fd, i;
	mblk_t *mp;
	pthread_t t;

	tm_register("pdrv", TM_DRIVER, D_MTPERMOD | USTR_INDEPENDENT, HIWAT, LOWAT);
	holder_fd = tm_open("pdrv/1");
	tm_side(tm_wq(0))->put = holding_wput;
	fd = tm_open("pdrv/2");
	atomic_store(&hold, 1);
	atomic_store(&held, 0);
	atomic_store(&freed, 0);
	atomic_store(&popped, 0);
	ck_assert_int_eq(pthread_create(&holder, NULL, hold_it, &holder_fd), 0);
	ck_assert(tm_wait(&held, 1));
	for (i = 0; i < 8; i++) {
		mp = esballoc(buf[i], 4, BPRI_MED, &frtn);
		ck_assert_ptr_nonnull(mp);
		mp->b_wptr += 4;
		ck_assert_int_eq(str_putmblk(fd, mp), 0);
	}
	ck_assert_int_eq(atomic_load(&freed), 0);
	ck_assert_int_eq(pthread_create(&t, NULL, close_it, &fd), 0);
	tm_msleep(20);
	let_go();
	pthread_join(t, NULL);
	ck_assert_int_eq(atomic_load(&popped), 1);
	ck_assert_int_eq(atomic_load(&freed), 8);
}
END_TEST

/* Push and pop during traffic: nothing is lost, doubled or reordered. */
static atomic_int stop;

static void *
push_and_pop(void *arg)
{
	struct traffic *t = arg;
	int n = 0;

	while (!atomic_load(&stop)) {
		if (str_ioctl(t->fd[0], I_PUSH, kinds[n++ % KINDS].name) != 0 ||
		    str_ioctl(t->fd[0], I_POP, 0) != 0)
			atomic_fetch_add(&t->bad, 1);
		atomic_fetch_add(&t->turns, 1);
	}
	return NULL;
}

START_TEST(nothing_is_lost_or_doubled_over_push_and_pop_during_traffic)
{
	struct traffic t = {.n = 0};
	int fd = loop_with("1", "mp"), i, n = tm_scale(50000);
	int32_t v;
	pthread_t th;

	t.fd[0] = fd;
	atomic_store(&stop, 0);
	ck_assert_int_eq(pthread_create(&th, NULL, push_and_pop, &t), 0);
	/* as many messages, and however late the other thread is, ten changes among them */
	for (i = 0; i < n || atomic_load(&t.turns) < 10; i++) {
		tm_assert(
		    str_write(fd, &(int32_t){i}, 4) == 4, "%d: %s", i, strerror(errno));
		/* the answer may be parked in a module just being left */
		for (;;) {
			ssize_t got = str_read(fd, &v, sizeof(v));

			if (got == sizeof(v))
				break;
			tm_assert(got == -1 && errno == EAGAIN, "%d: %zd", i, got);
			sched_yield();
		}
		tm_assert(v == i, "%d instead of %d", v, i);
	}
	atomic_store(&stop, 1);
	pthread_join(th, NULL);
	ck_assert_int_eq(atomic_load(&t.bad), 0);
	ck_assert_int_eq(str_read(fd, &v, sizeof(v)), -1);
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

static void
procs_tests(Suite *s)
{
	TCase *tc = put_group(s, "qprocson and qprocsoff");

	tcase_add_loop_test(
	    tc, before_qprocson_messages_flow_around_the_module, 0, KINDS);
	tcase_add_test(tc, after_qprocsoff_messages_flow_around_the_module);
	tcase_add_loop_test(tc, a_failed_open_is_undone, 0, KINDS);
	tcase_add_loop_test(tc, a_pair_enabled_by_an_open_that_fails_is_not_served, 0, 2);
	tcase_add_test(tc, a_failed_driver_open_gives_its_errno_and_no_descriptor);
	tcase_add_test(tc, what_a_close_leaves_on_its_queues_is_flushed);
	tcase_add_loop_test(tc, a_pop_waits_for_a_put_inside_the_module, 0, KINDS);
	tcase_add_test(tc, a_pop_loses_no_parked_message);
	tcase_add_test(tc, messages_parked_for_a_closed_driver_are_freed);
	tcase_add_test(tc, nothing_is_lost_or_doubled_over_push_and_pop_during_traffic);
}

int
main(void)
{
	Suite *s = suite_create("qprocson");

	procs_tests(s);
	return tm_run(s);
}
