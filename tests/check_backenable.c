/* SPDX-License-Identifier: BSD-2-Clause */
/* check_backenable.c: back-enabling: whom the drain of a queue lets go on. */
#define _GNU_SOURCE
#include "flowlib.h"

#include <errno.h>
#include <fcntl.h>
#include <stropts.h>
#include <sys/ddi.h>
#include <ustreams.h>

/* ---- back-enabling ---------------------------------------------------------------- */

START_TEST(draining_below_the_low_mark_enables_the_service_behind)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1), *back = tm_rq(0);

	fill_queue(q);
	ck_assert_int_eq(canput(q), 0);
	tm_kick(fd);
	ck_assert_int_eq(runs_at_kick(fd, back), 0);
	drop(q);
	ck_assert(!wantw(q));
	ck_assert_int_eq(runs_at_kick(fd, back), 1);
	ck_assert_int_eq(runs_at_kick(fd, back), 0);
}
END_TEST

START_TEST(without_a_refusal_there_is_no_back_enable)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	fill_queue(tm_rq(1));
	drop(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);
}
END_TEST

START_TEST(one_refusal_is_one_back_enable)
{
	int fd = tm_stack("dsrv", "srv", NULL), i;

	fill_queue(tm_rq(1));
	for (i = 0; i < 5; i++)
		ck_assert_int_eq(canput(tm_rq(1)), 0);
	drop(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
	tm_queue(tm_rq(1), tm_norm(1));
	drop(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);
}
END_TEST

START_TEST(the_low_mark_in_bytes_is_exclusive)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1);

	tm_queue(q, tm_norm(HIWAT - LOWAT));
	tm_queue(q, tm_norm(1));
	tm_queue(q, tm_norm(LOWAT - 1));
	ck_assert_int_eq(canput(q), 0);
	drop(q); /* exactly LOWAT bytes are left */
	ck_assert(wantw(q));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);
	ck_assert_int_eq(canput(q), 1); /* no longer full all the same */
	drop(q);			/* one less */
	ck_assert(!wantw(q));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(the_low_mark_in_blocks_is_exclusive)
{
	int fd = tm_stack("dsrv", "srv", NULL), i;
	queue_t *q = tm_rq(1);

	for (i = 0; i < HIWAT; i++)
		tm_queue(q, tm_norm(0));
	ck_assert_int_eq(canput(q), 0);
	while (qsize(q) > LOWAT)
		drop(q);
	ck_assert(wantw(q));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);
	drop(q);
	ck_assert(!wantw(q));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(bytes_and_blocks_must_both_be_below_the_low_mark)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1);
	mblk_t *many = tm_queue(q, tm_chain(M_DATA, 0, LOWAT, 0, 'c'));
	mblk_t *big = tm_queue(q, tm_norm(HIWAT));

	ck_assert_int_eq(canput(q), 0);
	rmvq(q, big);
	freemsg(big);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);
	rmvq(q, many);
	freemsg(many);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
}
END_TEST

START_TEST(a_low_mark_of_zero_enables_at_every_removal)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1);

	ck_assert_int_eq(strqset(q, QLOWAT, 0, 0), 0);
	tm_queue(q, tm_norm(1));
	tm_queue(q, tm_norm(2 * HIWAT));
	ck_assert_int_eq(canput(q), 0);
	drop(q); /* still full */
	ck_assert_uint_eq(q->q_flag & QFULL, QFULL);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
	ck_assert(!wantw(q));
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(back_enabling_goes_past_modules_without_service)
{
	int fd = tm_stack("dsrv", "put", "put", "srv", NULL);

	fill_queue(tm_rq(3));
	ck_assert_int_eq(canputnext(tm_rq(0)), 0);
	drop(tm_rq(3));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
}
END_TEST

START_TEST(back_enabling_stops_at_the_nearest_service)
{
	int fd = tm_stack("dsrv", "srv", "put", "srv", NULL);
	int was = tm_srvs(tm_rq(0));

	fill_queue(tm_rq(3));
	ck_assert_int_eq(canputnext(tm_rq(2)), 0);
	drop(tm_rq(3));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 1);
	ck_assert_int_eq(tm_srvs(tm_rq(0)), was);
}
END_TEST

START_TEST(back_enabling_on_the_write_side_goes_up)
{
	int fd = tm_stack("dsrv", "put", "srv", NULL);

	fill_queue(tm_wq(0));
	ck_assert_int_eq(canputnext(tm_wq(2)), 0);
	drop(tm_wq(0));
	ck_assert_int_eq(runs_at_kick(fd, tm_wq(2)), 1);
}
END_TEST

START_TEST(back_enabling_ignores_noenable)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	noenable(tm_rq(0));
	fill_queue(tm_rq(1));
	ck_assert_int_eq(canput(tm_rq(1)), 0);
	drop(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
}
END_TEST

START_TEST(rmvq_flushq_and_flushband_back_enable_too)
{
	int fd = tm_stack("dsrv", "srv", NULL), way;
	queue_t *q = tm_rq(1);

	for (way = 0; way < 4; way++) {
		fill_queue(q);
		ck_assert_int_eq(canput(q), 0);
		tm_kick(fd);
		if (way == 0) {
			mblk_t *mp = q->q_first;

			rmvq(q, mp);
			freemsg(mp);
		} else if (way == 1)
			flushq(q, FLUSHALL);
		else if (way == 2)
			flushq(q, FLUSHDATA);
		else
			flushband(q, 0, FLUSHALL);
		ck_assert(!wantw(q));
		ck_assert_msg(runs_at_kick(fd, tm_rq(0)) == 1, "way %d", way);
	}
}
END_TEST

START_TEST(a_flush_that_leaves_much_does_not_back_enable)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1);

	tm_queue(q, tm_msg(M_CTL, 0, HIWAT, 'c'));
	tm_queue(q, tm_norm(10));
	ck_assert_int_eq(canput(q), 0);
	flushq(q, FLUSHDATA);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);
	ck_assert(wantw(q));
	flushq(q, FLUSHALL);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
}
END_TEST

START_TEST(a_band_back_enables_for_itself)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1);

	tm_queue(q, tm_banded(2, HIWAT));
	fill_queue(q);
	ck_assert_int_eq(bcanput(q, 2), 0);
	tm_kick(fd);
	drop(q); /* the band message */
	ck_assert_uint_eq(band_flag(q, 2) & QB_WANTW, 0);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
	drop(q); /* band 0: nobody was refused */
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);

	fill_queue(q);
	tm_queue(q, tm_banded(2, HIWAT));
	ck_assert_int_eq(bcanput(q, 0), 0);
	drop(q); /* the band message first: not ours */
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);
	ck_assert(wantw(q));
	drop(q);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
}
END_TEST

START_TEST(flushband_back_enables_its_band)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1);

	tm_queue(q, tm_banded(2, HIWAT));
	tm_queue(q, tm_banded(3, HIWAT));
	ck_assert_int_eq(bcanput(q, 2), 0);
	tm_kick(fd);
	flushband(q, 3, FLUSHALL);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);
	flushband(q, 2, FLUSHALL);
	ck_assert_uint_eq(band_flag(q, 2) & QB_WANTW, 0);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
}
END_TEST

START_TEST(raising_the_high_mark_lets_those_refused_go_on)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1);

	fill_queue(q);
	tm_queue(q, tm_banded(2, HIWAT));
	ck_assert_int_eq(canput(q), 0);
	ck_assert_int_eq(bcanput(q, 2), 0);
	tm_kick(fd);
	ck_assert_int_eq(strqset(q, QHIWAT, 0, 10 * HIWAT), 0);
	ck_assert_int_eq(canput(q), 1);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
	ck_assert_int_eq(bcanput(q, 2), 0);
	ck_assert_int_eq(strqset(q, QHIWAT, 2, 10 * HIWAT), 0);
	ck_assert_int_eq(bcanput(q, 2), 1);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(a_high_priority_message_leaving_counts_for_band_0)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	tm_queue(tm_rq(1), tm_msg(M_PCPROTO, 0, HIWAT, 'h'));
	ck_assert_int_eq(canput(tm_rq(1)), 0);
	tm_kick(fd);
	drop(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
}
END_TEST

/* Pipe ends with a module each; the read queues of these. */
static int other_end;

static int
pipe_of(const char *a, const char *b, queue_t **aq, queue_t **bq)
{
	int fd[2];

	ck_assert_int_eq(str_pipe(fd), 0);
	tm_track(fd[0]);
	tm_track(fd[1]);
	ck_assert_int_eq(str_fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(str_fcntl(fd[1], F_SETFL, O_NONBLOCK), 0);
	tm_push(fd[0], a);
	*aq = tm_newest->rd.q;
	tm_push(fd[1], b);
	*bq = tm_newest->rd.q;
	other_end = fd[1];
	return fd[0];
}

START_TEST(flow_control_crosses_the_middle_of_a_pipe)
{
	queue_t *a, *b;
	int fd = pipe_of("srv", "srv", &a, &b);

	ck_assert_ptr_eq(WR(a)->q_next, b);
	ck_assert_ptr_eq(backq(b), WR(a));
	fill_queue(b);
	ck_assert_int_eq(canputnext(WR(a)), 0);
	ck_assert(wantw(b));
	tm_kick(fd);
	drop(b);
	ck_assert_int_eq(runs_at_kick(fd, WR(a)), 1);
}
END_TEST

START_TEST(flow_control_reaches_from_head_to_head_past_modules_without_service)
{
	queue_t *a, *b;
	int fd = pipe_of("put", "put", &a, &b), n = 0;
	char buf[1000] = "";

	while (str_write(fd, buf, sizeof(buf)) == sizeof(buf))
		ck_assert_int_lt(++n, 1000);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(n, 66); /* the first count at or above 65536 */
	ck_assert(!writable(fd));
	/* one message less is below the high mark: not blocked any more */
	ck_assert_int_eq(str_read(other_end, buf, sizeof(buf)), sizeof(buf));
	ck_assert(writable(fd));
	ck_assert_int_eq(str_write(fd, buf, sizeof(buf)), sizeof(buf));
	ck_assert_int_eq(str_write(fd, buf, sizeof(buf)), -1);
	ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

START_TEST(a_back_enable_inside_a_call_runs_before_the_call_returns)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	tm_side(tm_wq(0))->put = tm_putq;
	tm_side(tm_wq(1))->put = tm_putq;
	tm_side(tm_wq(1))->srv = tm_forward;
	/* the driver holds what it gets: 100 there, 100 in the module */
	while (writable(fd))
		ck_assert_int_eq(str_write(fd, "0123456789", 10), 10);
	ck_assert_uint_eq(tm_wq(0)->q_count, HIWAT);
	ck_assert_uint_eq(tm_wq(1)->q_count, HIWAT);
	tm_side(tm_wq(0))->srv = tm_drain;
	qenable(tm_wq(0));
	tm_kick(fd);
	ck_assert_uint_eq(tm_wq(0)->q_count, 0);
	ck_assert_uint_eq(tm_wq(1)->q_count, 0);
	ck_assert(writable(fd));
}
END_TEST

START_TEST(a_pop_gives_what_it_held_up_a_back_enable)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	fill_queue(tm_rq(1));
	ck_assert_int_eq(canputnext(tm_rq(0)), 0);
	tm_kick(fd);
	tm_pop(fd);
	ck_assert_int_eq(canputnext(tm_rq(0)), 1);
	tm_kick(fd);
	ck_assert_int_ge(tm_srvs(tm_rq(0)), 1);
}
END_TEST

START_TEST(a_pop_lets_the_writer_it_held_up_go_on)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	fill_queue(tm_wq(1));
	ck_assert(!writable(fd));
	tm_pop(fd);
	ck_assert(writable(fd));
	ck_assert_int_eq(str_write(fd, "x", 1), 1);
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

static void
back_enable_tests(Suite *s)
{
	TCase *tc = flow_group(s, "back-enable");

	tcase_add_test(tc, draining_below_the_low_mark_enables_the_service_behind);
	tcase_add_test(tc, without_a_refusal_there_is_no_back_enable);
	tcase_add_test(tc, one_refusal_is_one_back_enable);
	tcase_add_test(tc, the_low_mark_in_bytes_is_exclusive);
	tcase_add_test(tc, the_low_mark_in_blocks_is_exclusive);
	tcase_add_test(tc, bytes_and_blocks_must_both_be_below_the_low_mark);
	tcase_add_test(tc, a_low_mark_of_zero_enables_at_every_removal);
	tcase_add_test(tc, back_enabling_goes_past_modules_without_service);
	tcase_add_test(tc, back_enabling_stops_at_the_nearest_service);
	tcase_add_test(tc, back_enabling_on_the_write_side_goes_up);
	tcase_add_test(tc, back_enabling_ignores_noenable);
	tcase_add_test(tc, rmvq_flushq_and_flushband_back_enable_too);
	tcase_add_test(tc, a_flush_that_leaves_much_does_not_back_enable);
	tcase_add_test(tc, a_band_back_enables_for_itself);
	tcase_add_test(tc, flushband_back_enables_its_band);
	tcase_add_test(tc, raising_the_high_mark_lets_those_refused_go_on);
	tcase_add_test(tc, a_high_priority_message_leaving_counts_for_band_0);
	tcase_add_test(tc, flow_control_crosses_the_middle_of_a_pipe);
	tcase_add_test(
	    tc, flow_control_reaches_from_head_to_head_past_modules_without_service);
	tcase_add_test(tc, a_back_enable_inside_a_call_runs_before_the_call_returns);
	tcase_add_test(tc, a_pop_gives_what_it_held_up_a_back_enable);
	tcase_add_test(tc, a_pop_lets_the_writer_it_held_up_go_on);
}

int
main(void)
{
	Suite *s = suite_create("backenable");

	back_enable_tests(s);
	return tm_run(s);
}
