/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_flow.c: flow control: which queue canput examines, the head's
 * write side, and that nothing stalls.
 */
#define _GNU_SOURCE
#include "flowlib.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <stropts.h>
#include <sys/ddi.h>
#include <time.h>
#include <ustreams.h>

/* ---- which queue canput examines -------------------------------------------------- */

START_TEST(canput_examines_the_queue_itself_when_it_has_service)
{
	tm_stack("dsrv", "srv", NULL);
	fill_queue(tm_wq(0));
	ck_assert_int_eq(canput(tm_wq(1)), 1);
	ck_assert(!wantw(tm_wq(0)));
	fill_queue(tm_wq(1));
	ck_assert_int_eq(canput(tm_wq(1)), 0);
	ck_assert(wantw(tm_wq(1)));
	ck_assert(!wantw(tm_wq(0)));
	flushq(tm_wq(0), FLUSHALL);
	flushq(tm_wq(1), FLUSHALL);
}
END_TEST

START_TEST(canput_skips_queues_without_service)
{
	tm_stack("dsrv", "srv", "put", "put", NULL);
	ck_assert_int_eq(canput(tm_wq(3)), 1);
	fill_queue(tm_wq(3)); /* full, but nobody looks */
	fill_queue(tm_wq(2));
	ck_assert_int_eq(canput(tm_wq(3)), 1);
	fill_queue(tm_wq(1));
	ck_assert_int_eq(canput(tm_wq(3)), 0);
	ck_assert(!wantw(tm_wq(3)));
	ck_assert(!wantw(tm_wq(2)));
	ck_assert(wantw(tm_wq(1)));
	ck_assert(!wantw(tm_wq(0)));
	flushq(tm_wq(3), FLUSHALL);
	flushq(tm_wq(2), FLUSHALL);
	flushq(tm_wq(1), FLUSHALL);
	ck_assert_int_eq(canput(tm_wq(3)), 1);
}
END_TEST

START_TEST(canput_takes_the_last_queue_when_none_has_service)
{
	tm_stack("dput", "put", NULL);
	fill_queue(tm_wq(1));
	ck_assert_int_eq(canput(tm_wq(1)), 1);
	fill_queue(tm_wq(0));
	ck_assert_int_eq(canput(tm_wq(1)), 0);
	ck_assert(wantw(tm_wq(0)));
	ck_assert(!wantw(tm_wq(1)));
	ck_assert_int_eq(canput(tm_wq(0)), 0);
	flushq(tm_wq(1), FLUSHALL);
	flushq(tm_wq(0), FLUSHALL);
	ck_assert_int_eq(canput(tm_wq(0)), 1);
}
END_TEST

START_TEST(canputnext_starts_at_the_next_queue)
{
	tm_stack("dsrv", "srv", "srv", NULL);
	fill_queue(tm_wq(2));
	ck_assert_int_eq(canputnext(tm_wq(2)), 1);
	ck_assert_int_eq(bcanputnext(tm_wq(2), 0), 1);
	fill_queue(tm_wq(1));
	ck_assert_int_eq(canputnext(tm_wq(2)), 0);
	ck_assert_int_eq(bcanputnext(tm_wq(2), 0), 0);
	ck_assert(!wantw(tm_wq(2)));
	ck_assert(wantw(tm_wq(1)));
	ck_assert_int_eq(canputnext(tm_wq(1)), 1);
	flushq(tm_wq(2), FLUSHALL);
	flushq(tm_wq(1), FLUSHALL);
}
END_TEST

START_TEST(the_two_sides_of_a_module_are_independent)
{
	tm_stack("dput", "rsrv", NULL); /* service on the read side only */
	fill_queue(tm_wq(1));
	ck_assert_int_eq(canput(tm_wq(1)), 1); /* looks at the driver */
	ck_assert_int_eq(canput(tm_rq(1)), 1);
	fill_queue(tm_rq(1));
	ck_assert_int_eq(canput(tm_rq(1)), 0);
	ck_assert_int_eq(canputnext(tm_rq(0)), 0);
	ck_assert_int_eq(canput(tm_wq(1)), 1);
	flushq(tm_rq(1), FLUSHALL);
	flushq(tm_wq(1), FLUSHALL);
}
END_TEST

START_TEST(a_push_and_a_pop_change_where_canput_looks)
{
	int fd = tm_stack("dsrv", "put", NULL);
	queue_t *mod = tm_wq(1), *rmod = tm_rq(1);

	fill_queue(tm_wq(0));
	ck_assert_int_eq(canput(mod), 0);
	/* above it on the read side: first the head, then a module */
	ck_assert_int_eq(canputnext(rmod), 1);
	tm_push(fd, "srv");
	fill_queue(tm_rq(2));
	ck_assert_int_eq(canputnext(rmod), 0);
	tm_pop(fd);
	ck_assert_int_eq(canputnext(rmod), 1);
	flushq(tm_wq(0), FLUSHALL);
}
END_TEST

START_TEST(canput_is_true_and_sets_nothing_below_the_mark)
{
	tm_stack("dsrv", "srv", NULL);
	tm_queue(tm_wq(1), tm_norm(HIWAT - 1));
	ck_assert_int_eq(canput(tm_wq(1)), 1);
	ck_assert(!wantw(tm_wq(1)));
	tm_queue(tm_wq(1), tm_norm(1));
	ck_assert_int_eq(canput(tm_wq(1)), 0);
	ck_assert(wantw(tm_wq(1)));
	flushq(tm_wq(1), FLUSHALL);
}
END_TEST

START_TEST(bcanput_is_true_for_a_band_never_used)
{
	int b;

	tm_stack("dsrv", "srv", NULL);
	fill_queue(tm_wq(1));
	for (b = 1; b < 256; b++)
		ck_assert_int_eq(bcanput(tm_wq(1), (unsigned char)b), 1);
	ck_assert_uint_eq(tm_wq(1)->q_nband, 0);
	ck_assert_int_eq(bcanput(tm_wq(1), 0), 0);
	flushq(tm_wq(1), FLUSHALL);
}
END_TEST

START_TEST(a_full_band_stops_only_itself)
{
	queue_t *q;

	tm_stack("dsrv", "srv", NULL);
	q = tm_wq(1);
	tm_queue(q, tm_banded(3, HIWAT));
	ck_assert_int_eq(bcanput(q, 3), 0);
	ck_assert_uint_eq(band_flag(q, 3) & QB_WANTW, QB_WANTW);
	ck_assert_int_eq(bcanput(q, 0), 1);
	ck_assert_int_eq(bcanput(q, 1), 1);
	ck_assert_int_eq(bcanput(q, 2), 1);
	ck_assert_int_eq(bcanput(q, 4), 1);
	ck_assert_int_eq(canput(q), 1);
	ck_assert_uint_eq(band_flag(q, 1) & QB_WANTW, 0);
	ck_assert_uint_eq(band_flag(q, 2) & QB_WANTW, 0);
	ck_assert(!wantw(q));
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(bcanputnext_asks_for_its_band)
{
	tm_stack("dsrv", "srv", "put", NULL);
	tm_queue(tm_wq(1), tm_banded(2, HIWAT));
	ck_assert_int_eq(bcanputnext(tm_wq(2), 2), 0);
	ck_assert_int_eq(bcanputnext(tm_wq(2), 1), 1);
	ck_assert_int_eq(canputnext(tm_wq(2)), 1);
	ck_assert_uint_eq(band_flag(tm_wq(1), 2) & QB_WANTW, QB_WANTW);
	flushq(tm_wq(1), FLUSHALL);
}
END_TEST

START_TEST(putnext_never_looks_at_flow_control)
{
	int i;

	tm_stack("dsrv", "srv", NULL);
	tm_side(tm_wq(0))->put = tm_putq;
	fill_queue(tm_wq(0));
	ck_assert_int_eq(canputnext(tm_wq(1)), 0);
	for (i = 0; i < 1000; i++)
		putnext(tm_wq(1), tm_norm(10));
	ck_assert_int_eq(qsize(tm_wq(0)), 1001);
	flushq(tm_wq(0), FLUSHALL);
}
END_TEST

/* ---- the head's write side -------------------------------------------------------- */

START_TEST(a_full_driver_stops_the_writer_and_its_drain_makes_pollout)
{
	int fd = tm_stack("dsrv", "put", NULL), n = 0;

	tm_side(tm_wq(0))->put = tm_putq;
	while (str_write(fd, "0123456789", 10) == 10)
		ck_assert_int_lt(++n, 1000);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(n, HIWAT / 10);
	ck_assert(!writable(fd));
	ck_assert_int_eq(str_ioctl(fd, I_CANPUT, 0), 0);
	while (qsize(tm_wq(0)) > 0)
		drop(tm_wq(0));
	ck_assert(writable(fd));
	ck_assert_int_eq(str_ioctl(fd, I_CANPUT, 0), 1);
	ck_assert_int_eq(str_write(fd, "x", 1), 1);
	drop(tm_wq(0));
}
END_TEST

/* A thread that writes one byte, blocking. */
static void *
poll_one(void *arg)
{
	struct writer *w = arg;
	struct pollfd p = {w->fd, POLLOUT, 0};

	atomic_store(&w->started, 1);
	w->result = str_poll(&p, 1, 30000);
	w->error = p.revents;
	atomic_store(&w->done, 1);
	return NULL;
}

static void
drain_here(queue_t *q, void *arg)
{
	(void)arg;
	tm_drain(q);
}

START_TEST(a_drain_wakes_a_sleeping_writer)
{
	int fd = tm_stack("dsrv", "put", NULL);
	struct writer w;

	tm_side(tm_wq(0))->put = tm_putq;
	ck_assert_int_eq(str_write(fd, "0123456789", 10), 10);
	tm_queue(tm_wq(0), tm_norm(HIWAT));
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, 0), 0);
	start_one(&w, fd, write_one);
	ck_assert_int_eq(atomic_load(&w.done), 0);
	tm_inside(fd, drain_here, NULL);
	ck_assert(tm_wait(&w.done, 1));
	pthread_join(w.t, NULL);
	ck_assert_int_eq(w.result, 1);
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(qsize(tm_wq(0)), 1);
	flushq(tm_wq(0), FLUSHALL);
}
END_TEST

START_TEST(a_drain_wakes_a_poller)
{
	int fd = tm_stack("dsrv", "put", NULL);
	struct writer w;

	fill_queue(tm_wq(0));
	start_one(&w, fd, poll_one);
	ck_assert_int_eq(atomic_load(&w.done), 0);
	tm_inside(fd, drain_here, NULL);
	ck_assert(tm_wait(&w.done, 1));
	pthread_join(w.t, NULL);
	ck_assert_int_eq(w.result, 1);
	ck_assert(w.error & POLLOUT);
}
END_TEST

START_TEST(the_want_flag_reaches_the_examined_queue_from_a_sleeping_writer)
{
	int fd = tm_stack("dsrv", "srv", "put", NULL);
	struct writer w;

	fill_queue(tm_wq(1));
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, 0), 0);
	start_one(&w, fd, write_one);
	/* not by wantw(): the writer may be at it just now */
	ck_assert_uint_eq(band_flag(tm_wq(1), 0) & QWANTW, QWANTW);
	ck_assert_uint_eq(band_flag(tm_wq(0), 0) & QWANTW, 0);
	tm_side(tm_wq(1))->srv = tm_drain;
	qenable(tm_wq(1));
	tm_kick(fd);
	ck_assert(tm_wait(&w.done, 1));
	pthread_join(w.t, NULL);
	ck_assert_int_eq(w.result, 1);
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}
END_TEST

START_TEST(high_priority_data_passes_a_full_queue)
{
	int fd = tm_stack("dsrv", "put", NULL);
	struct strbuf ctl = {.maxlen = 0, .len = 3, .buf = (char *)"abc"};

	tm_side(tm_wq(0))->put = tm_putq;
	fill_queue(tm_wq(0));
	ck_assert_int_eq(putmsg(fd, &ctl, NULL, 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(putmsg(fd, &ctl, NULL, RS_HIPRI), 0);
	ck_assert_ptr_nonnull(tm_wq(0)->q_first);
	ck_assert_uint_eq(tm_wq(0)->q_first->b_datap->db_type, M_PCPROTO);
	flushq(tm_wq(0), FLUSHALL);
}
END_TEST

/* ---- no stall --------------------------------------------------------------------- */

/*
 * A chain of queueing modules over a loop-back driver, one thread writing and
 * one reading numbered messages: a lost back-enable stops it for good.
 */
struct flood {
	int fd;
	int n;
	atomic_int got;
	atomic_int bad;
};

static void *
flood_read(void *arg)
{
	struct flood *f = arg;
	int32_t v;
	int i;

	for (i = 0; i < f->n; i++) {
		if (str_read(f->fd, &v, sizeof(v)) != sizeof(v) || v != i)
			atomic_fetch_add(&f->bad, 1);
		atomic_store(&f->got, i + 1);
	}
	return NULL;
}

static void *
flood_write(void *arg)
{
	struct flood *f = arg;
	int32_t v;

	for (v = 0; v < f->n; v++)
		if (str_write(f->fd, &v, sizeof(v)) != sizeof(v))
			atomic_fetch_add(&f->bad, 1);
	return NULL;
}

/* Join, or fail when nothing moved for five seconds. */
static void
join_moving(pthread_t t, struct flood *f)
{
	struct timespec ts;
	int last;

	do {
		last = atomic_load(&f->got);
		clock_gettime(CLOCK_REALTIME, &ts);
		ts.tv_sec += 5;
		if (pthread_timedjoin_np(t, NULL, &ts) == 0)
			return;
	} while (atomic_load(&f->got) != last);
	ck_abort_msg("stalled at %d of %d", last, f->n);
}

static void
flood(int fd, int n)
{
	struct flood f = {.fd = fd, .n = n};
	pthread_t r, w;

	ck_assert_int_eq(str_fcntl(fd, F_SETFL, 0), 0);
	ck_assert_int_eq(str_ioctl(fd, I_SRDOPT, RMSGN), 0);
	ck_assert_int_eq(pthread_create(&r, NULL, flood_read, &f), 0);
	ck_assert_int_eq(pthread_create(&w, NULL, flood_write, &f), 0);
	join_moving(w, &f);
	join_moving(r, &f);
	ck_assert_int_eq(atomic_load(&f.bad), 0);
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static void
queueing(int depth)
{
	int i;

	for (i = 0; i <= depth; i++) {
		tm_side(tm_wq(i))->put = tm_putq;
		tm_side(tm_rq(i))->put = tm_putq;
		tm_side(tm_wq(i))->srv = tm_forward;
		tm_side(tm_rq(i))->srv = tm_forward;
	}
}

/* The driver's write service: the textbook loop, turned round. */
static int
loop_back(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q))) {
		if (mp->b_datap->db_type < QPCTL && !canputnext(RD(q))) {
			putbq(q, mp);
			break;
		}
		qreply(q, mp);
	}
	return 0;
}

/* Its read service: what stopped us is gone. */
static int
wake_writer(queue_t *q)
{
	qenable(WR(q));
	return 0;
}

static void
looping(void)
{
	tm_side(tm_wq(0))->put = tm_putq;
	tm_side(tm_wq(0))->srv = loop_back;
	tm_side(tm_rq(0))->srv = wake_writer;
}

START_TEST(a_high_water_mark_of_one_never_stalls)
{
	int fd = tm_stack("dsrv", "tiny", "tiny", "tiny", NULL);

	queueing(3);
	looping();
	flood(fd, tm_scale(100000));
}
END_TEST

START_TEST(high_and_low_marks_of_one_never_stall)
{
	int fd = tm_stack("dsrv", "tiny1", "put", "tiny1", NULL);

	queueing(1);
	tm_side(tm_wq(3))->put = tm_side(tm_rq(3))->put = tm_putq;
	tm_side(tm_wq(3))->srv = tm_side(tm_rq(3))->srv = tm_forward;
	looping();
	flood(fd, tm_scale(100000));
}
END_TEST

START_TEST(a_head_with_a_high_water_mark_of_one_never_stalls)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	ck_assert_int_eq(str_ioctl(fd, I_SET_LOWAT, 0), 0);
	ck_assert_int_eq(str_ioctl(fd, I_SET_HIWAT, 1), 0);
	queueing(1);
	looping();
	flood(fd, tm_scale(100000));
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

static void
canput_tests(Suite *s)
{
	TCase *tc = flow_group(s, "canput");

	tcase_add_test(tc, canput_examines_the_queue_itself_when_it_has_service);
	tcase_add_test(tc, canput_skips_queues_without_service);
	tcase_add_test(tc, canput_takes_the_last_queue_when_none_has_service);
	tcase_add_test(tc, canputnext_starts_at_the_next_queue);
	tcase_add_test(tc, the_two_sides_of_a_module_are_independent);
	tcase_add_test(tc, a_push_and_a_pop_change_where_canput_looks);
	tcase_add_test(tc, canput_is_true_and_sets_nothing_below_the_mark);
	tcase_add_test(tc, bcanput_is_true_for_a_band_never_used);
	tcase_add_test(tc, a_full_band_stops_only_itself);
	tcase_add_test(tc, bcanputnext_asks_for_its_band);
	tcase_add_test(tc, putnext_never_looks_at_flow_control);
}

static void
head_tests(Suite *s)
{
	TCase *tc = flow_group(s, "head");

	tcase_add_test(tc, a_full_driver_stops_the_writer_and_its_drain_makes_pollout);
	tcase_add_test(tc, a_drain_wakes_a_sleeping_writer);
	tcase_add_test(tc, a_drain_wakes_a_poller);
	tcase_add_test(
	    tc, the_want_flag_reaches_the_examined_queue_from_a_sleeping_writer);
	tcase_add_test(tc, high_priority_data_passes_a_full_queue);
}

static void
stall_tests(Suite *s)
{
	TCase *tc = flow_group(s, "no stall");

	tcase_add_test(tc, a_high_water_mark_of_one_never_stalls);
	tcase_add_test(tc, high_and_low_marks_of_one_never_stall);
	tcase_add_test(tc, a_head_with_a_high_water_mark_of_one_never_stalls);
}

int
main(void)
{
	Suite *s = suite_create("flow");

	canput_tests(s);
	head_tests(s);
	stall_tests(s);
	return tm_run(s);
}
