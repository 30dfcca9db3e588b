/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_flow.c: flow control, back-enabling and the scheduling of service
 * procedures.
 *
 * Names tell what a module has: "srv" service procedures on both sides, "put"
 * none; drivers "dsrv" and "dput" likewise.  Unless a test hangs its own into
 * a side, service procedures only count, so what is queued stays queued.
 */
#define _GNU_SOURCE
#include "testmod.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stropts.h>
#include <sys/ddi.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <ustreams.h>

#define HIWAT 100
#define LOWAT 40

static void
setup(void)
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

static mblk_t *
norm(size_t len)
{
	return tm_msg(M_DATA, 0, len, 'n');
}

static mblk_t *
banded(int b, size_t len)
{
	return tm_msg(M_DATA, b, len, b);
}

static unsigned
band_flag(queue_t *q, int b)
{
	unsigned v = 0;

	ck_assert_int_eq(strqget(q, QFLAG, (unsigned char)b, &v), 0);
	return v;
}

static int
wantw(queue_t *q)
{
	return (q->q_flag & QWANTW) != 0;
}

/* Make q full for band 0. */
static void
fill(queue_t *q)
{
	tm_queue(q, norm(HIWAT));
	ck_assert_uint_eq(q->q_flag & QFULL, QFULL);
}

static void
drop(queue_t *q)
{
	mblk_t *mp = getq(q);

	ck_assert_ptr_nonnull(mp);
	freemsg(mp);
}

static int
writable(int fd)
{
	struct pollfd p = {fd, POLLOUT, 0};

	ck_assert_int_ge(str_poll(&p, 1, 0), 0);
	return (p.revents & POLLOUT) != 0;
}

/* Service runs of q that one kick brings. */
static int
runs_at_kick(int fd, queue_t *q)
{
	int was = tm_srvs(q);

	tm_kick(fd);
	return tm_srvs(q) - was;
}

/* ---- which queue canput examines -------------------------------------------------- */

START_TEST(canput_examines_the_queue_itself_when_it_has_service)
{
	tm_stack("dsrv", "srv", NULL);
	fill(tm_wq(0));
	ck_assert_int_eq(canput(tm_wq(1)), 1);
	ck_assert(!wantw(tm_wq(0)));
	fill(tm_wq(1));
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
	fill(tm_wq(3)); /* full, but nobody looks */
	fill(tm_wq(2));
	ck_assert_int_eq(canput(tm_wq(3)), 1);
	fill(tm_wq(1));
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
	fill(tm_wq(1));
	ck_assert_int_eq(canput(tm_wq(1)), 1);
	fill(tm_wq(0));
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
	fill(tm_wq(2));
	ck_assert_int_eq(canputnext(tm_wq(2)), 1);
	ck_assert_int_eq(bcanputnext(tm_wq(2), 0), 1);
	fill(tm_wq(1));
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
	fill(tm_wq(1));
	ck_assert_int_eq(canput(tm_wq(1)), 1); /* looks at the driver */
	ck_assert_int_eq(canput(tm_rq(1)), 1);
	fill(tm_rq(1));
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

	fill(tm_wq(0));
	ck_assert_int_eq(canput(mod), 0);
	/* above it on the read side: first the head, then a module */
	ck_assert_int_eq(canputnext(rmod), 1);
	tm_push(fd, "srv");
	fill(tm_rq(2));
	ck_assert_int_eq(canputnext(rmod), 0);
	tm_pop(fd);
	ck_assert_int_eq(canputnext(rmod), 1);
	flushq(tm_wq(0), FLUSHALL);
}
END_TEST

START_TEST(canput_is_true_and_sets_nothing_below_the_mark)
{
	tm_stack("dsrv", "srv", NULL);
	tm_queue(tm_wq(1), norm(HIWAT - 1));
	ck_assert_int_eq(canput(tm_wq(1)), 1);
	ck_assert(!wantw(tm_wq(1)));
	tm_queue(tm_wq(1), norm(1));
	ck_assert_int_eq(canput(tm_wq(1)), 0);
	ck_assert(wantw(tm_wq(1)));
	flushq(tm_wq(1), FLUSHALL);
}
END_TEST

START_TEST(bcanput_is_true_for_a_band_never_used)
{
	int b;

	tm_stack("dsrv", "srv", NULL);
	fill(tm_wq(1));
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
	tm_queue(q, banded(3, HIWAT));
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
	tm_queue(tm_wq(1), banded(2, HIWAT));
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
	fill(tm_wq(0));
	ck_assert_int_eq(canputnext(tm_wq(1)), 0);
	for (i = 0; i < 1000; i++)
		putnext(tm_wq(1), norm(10));
	ck_assert_int_eq(qsize(tm_wq(0)), 1001);
	flushq(tm_wq(0), FLUSHALL);
}
END_TEST

/* ---- back-enabling ---------------------------------------------------------------- */

START_TEST(draining_below_the_low_mark_enables_the_service_behind)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1), *back = tm_rq(0);

	fill(q);
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

	fill(tm_rq(1));
	drop(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);
}
END_TEST

START_TEST(one_refusal_is_one_back_enable)
{
	int fd = tm_stack("dsrv", "srv", NULL), i;

	fill(tm_rq(1));
	for (i = 0; i < 5; i++)
		ck_assert_int_eq(canput(tm_rq(1)), 0);
	drop(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
	tm_queue(tm_rq(1), norm(1));
	drop(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);
}
END_TEST

START_TEST(the_low_mark_in_bytes_is_exclusive)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1);

	tm_queue(q, norm(HIWAT - LOWAT));
	tm_queue(q, norm(1));
	tm_queue(q, norm(LOWAT - 1));
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
		tm_queue(q, norm(0));
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
	mblk_t *big = tm_queue(q, norm(HIWAT));

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
	tm_queue(q, norm(1));
	tm_queue(q, norm(2 * HIWAT));
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

	fill(tm_rq(3));
	ck_assert_int_eq(canputnext(tm_rq(0)), 0);
	drop(tm_rq(3));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
}
END_TEST

START_TEST(back_enabling_stops_at_the_nearest_service)
{
	int fd = tm_stack("dsrv", "srv", "put", "srv", NULL);
	int was = tm_srvs(tm_rq(0));

	fill(tm_rq(3));
	ck_assert_int_eq(canputnext(tm_rq(2)), 0);
	drop(tm_rq(3));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 1);
	ck_assert_int_eq(tm_srvs(tm_rq(0)), was);
}
END_TEST

START_TEST(back_enabling_on_the_write_side_goes_up)
{
	int fd = tm_stack("dsrv", "put", "srv", NULL);

	fill(tm_wq(0));
	ck_assert_int_eq(canputnext(tm_wq(2)), 0);
	drop(tm_wq(0));
	ck_assert_int_eq(runs_at_kick(fd, tm_wq(2)), 1);
}
END_TEST

START_TEST(back_enabling_ignores_noenable)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	noenable(tm_rq(0));
	fill(tm_rq(1));
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
		fill(q);
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
	tm_queue(q, norm(10));
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

	tm_queue(q, banded(2, HIWAT));
	fill(q);
	ck_assert_int_eq(bcanput(q, 2), 0);
	tm_kick(fd);
	drop(q); /* the band message */
	ck_assert_uint_eq(band_flag(q, 2) & QB_WANTW, 0);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 1);
	drop(q); /* band 0: nobody was refused */
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(0)), 0);

	fill(q);
	tm_queue(q, banded(2, HIWAT));
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

	tm_queue(q, banded(2, HIWAT));
	tm_queue(q, banded(3, HIWAT));
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

	fill(q);
	tm_queue(q, banded(2, HIWAT));
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
	fill(b);
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
struct writer {
	int fd;
	ssize_t result;
	int error;
	atomic_int started;
	atomic_int done;
	pthread_t t;
};

static void *
write_one(void *arg)
{
	struct writer *w = arg;

	atomic_store(&w->started, 1);
	w->result = str_write(w->fd, "w", 1);
	w->error = errno;
	atomic_store(&w->done, 1);
	return NULL;
}

static void *
poll_one(void *arg)
{
	struct writer *w = arg;
	struct pollfd p = {w->fd, POLLOUT, 0};

	atomic_store(&w->started, 1);
	w->result = str_poll(&p, 1, 10000);
	w->error = p.revents;
	atomic_store(&w->done, 1);
	return NULL;
}

static void
start(struct writer *w, int fd, void *(*fn)(void *))
{
	memset(w, 0, sizeof(*w));
	w->fd = fd;
	ck_assert_int_eq(pthread_create(&w->t, NULL, fn, w), 0);
	ck_assert(tm_wait(&w->started, 1));
	tm_msleep(50); /* let it go to sleep */
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
	tm_queue(tm_wq(0), norm(HIWAT));
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, 0), 0);
	start(&w, fd, write_one);
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

	fill(tm_wq(0));
	start(&w, fd, poll_one);
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

	fill(tm_wq(1));
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, 0), 0);
	start(&w, fd, write_one);
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
	fill(tm_wq(0));
	ck_assert_int_eq(putmsg(fd, &ctl, NULL, 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(putmsg(fd, &ctl, NULL, RS_HIPRI), 0);
	ck_assert_ptr_nonnull(tm_wq(0)->q_first);
	ck_assert_uint_eq(tm_wq(0)->q_first->b_datap->db_type, M_PCPROTO);
	flushq(tm_wq(0), FLUSHALL);
}
END_TEST

/* ---- enabling --------------------------------------------------------------------- */

/* How a message gets onto the queue. */
enum { PUTQ, PUTBQ, INSQ };

/*
 * Does putting a message of the given band (-1: high priority) enable q?
 * wantr and noenb say in which state it is put.
 */
static int
enables(int fd, queue_t *q, int way, int b, int wantr, int noenb)
{
	mblk_t *mp = tm_msg(b < 0 ? M_PCPROTO : M_DATA, b < 0 ? 0 : b, 1, 'e'), *old;
	int runs;

	flushq(q, FLUSHALL);
	enableok(q);
	if (wantr)
		ck_assert_ptr_null(getq(q));
	else {
		tm_queue(q, norm(1));
		drop(q); /* getq found something: QWANTR is off */
	}
	ck_assert_int_eq((q->q_flag & QWANTR) != 0, wantr);
	tm_kick(fd);
	if (noenb)
		noenable(q);
	old = q->q_first;
	ck_assert_ptr_null(old);
	if (way == PUTQ)
		ck_assert_int_eq(putq(q, mp), 1);
	else if (way == PUTBQ)
		ck_assert_int_eq(putbq(q, mp), 1);
	else
		ck_assert_int_eq(insq(q, NULL, mp), 1);
	runs = runs_at_kick(fd, q);
	ck_assert_int_le(runs, 1);
	enableok(q);
	flushq(q, FLUSHALL);
	return runs;
}

START_TEST(putq_enables_by_the_table)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = _i ? tm_wq(1) : tm_rq(1);

	/* high priority always, even noenabled */
	ck_assert_int_eq(enables(fd, q, PUTQ, -1, 1, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, -1, 0, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, -1, 1, 1), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, -1, 0, 1), 1);
	/* a band, if allowed */
	ck_assert_int_eq(enables(fd, q, PUTQ, 1, 1, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, 1, 0, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, 1, 1, 1), 0);
	ck_assert_int_eq(enables(fd, q, PUTQ, 1, 0, 1), 0);
	/* band 0, if allowed and wanted */
	ck_assert_int_eq(enables(fd, q, PUTQ, 0, 1, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, 0, 0, 0), 0);
	ck_assert_int_eq(enables(fd, q, PUTQ, 0, 1, 1), 0);
	ck_assert_int_eq(enables(fd, q, PUTQ, 0, 0, 1), 0);
}
END_TEST

START_TEST(putbq_enables_by_the_table)
{
	int fd = tm_stack("dsrv", "srv", NULL), b;
	queue_t *q = tm_wq(1);

	ck_assert_int_eq(enables(fd, q, PUTBQ, -1, 1, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTBQ, -1, 0, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTBQ, -1, 1, 1), 1);
	ck_assert_int_eq(enables(fd, q, PUTBQ, -1, 0, 1), 1);
	for (b = 0; b < 2; b++) {
		ck_assert_int_eq(enables(fd, q, PUTBQ, b, 1, 0), 1);
		ck_assert_int_eq(enables(fd, q, PUTBQ, b, 0, 0), 0);
		ck_assert_int_eq(enables(fd, q, PUTBQ, b, 1, 1), 0);
		ck_assert_int_eq(enables(fd, q, PUTBQ, b, 0, 1), 0);
	}
}
END_TEST

START_TEST(insq_enables_only_if_allowed_and_wanted)
{
	int fd = tm_stack("dsrv", "srv", NULL), b;
	queue_t *q = tm_wq(1);

	for (b = -1; b < 2; b++) {
		ck_assert_int_eq(enables(fd, q, INSQ, b, 1, 0), 1);
		ck_assert_int_eq(enables(fd, q, INSQ, b, 0, 0), 0);
		ck_assert_int_eq(enables(fd, q, INSQ, b, 1, 1), 0);
		ck_assert_int_eq(enables(fd, q, INSQ, b, 0, 1), 0);
	}
}
END_TEST

START_TEST(an_illegal_insq_enables_nothing)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_wq(1);
	mblk_t *h;

	noenable(q);
	tm_queue(q, norm(1));
	enableok(q);
	h = tm_msg(M_PCPROTO, 0, 1, 'h');
	ck_assert_int_eq(insq(q, NULL, h), 0);
	freemsg(h);
	ck_assert_int_eq(runs_at_kick(fd, q), 0);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(getq_sets_qwantr_when_empty_and_clears_it_with_a_message)
{
	queue_t *q;

	tm_stack("dsrv", "srv", NULL);
	q = tm_wq(1);
	ck_assert_uint_eq(q->q_flag & QWANTR, QWANTR); /* from creation */
	tm_queue(q, norm(1));
	tm_queue(q, norm(1));
	ck_assert_uint_eq(q->q_flag & QWANTR, QWANTR); /* putq leaves it */
	drop(q);
	ck_assert_uint_eq(q->q_flag & QWANTR, 0);
	drop(q);
	ck_assert_uint_eq(q->q_flag & QWANTR, 0); /* empty, but not seen so */
	ck_assert_ptr_null(getq(q));
	ck_assert_uint_eq(q->q_flag & QWANTR, QWANTR);
	ck_assert_ptr_null(getq(q));
	ck_assert_uint_eq(q->q_flag & QWANTR, QWANTR);
}
END_TEST

START_TEST(qenable_ignores_noenable)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	noenable(tm_rq(1));
	ck_assert_uint_eq(tm_rq(1)->q_flag & QNOENB, QNOENB);
	qenable(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 1);
}
END_TEST

START_TEST(enableok_alone_enables_nothing)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1);

	noenable(q);
	tm_queue(q, norm(1));
	enableok(q);
	ck_assert_uint_eq(q->q_flag & QNOENB, 0);
	ck_assert_int_eq(runs_at_kick(fd, q), 0);
	tm_queue(q, norm(1));
	ck_assert_int_eq(runs_at_kick(fd, q), 1);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(qenable_is_merged_while_it_is_pending)
{
	int fd = tm_stack("dsrv", "srv", NULL), i;

	for (i = 0; i < 10; i++)
		qenable(tm_rq(1));
	ck_assert_uint_eq(tm_rq(1)->q_flag & QENAB, QENAB);
	ck_assert_int_eq(tm_srvs(tm_rq(1)), 0);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 1);
	ck_assert_uint_eq(tm_rq(1)->q_flag & QENAB, 0);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 0);
}
END_TEST

START_TEST(qenable_of_a_queue_without_service_is_harmless)
{
	int fd = tm_stack("dput", "put", NULL);

	qenable(tm_rq(1));
	qenable(tm_wq(1));
	qenable(tm_wq(0));
	tm_queue(tm_wq(1), norm(1));
	tm_kick(fd);
	ck_assert_int_eq(tm_srvs(tm_rq(1)) + tm_srvs(tm_wq(1)) + tm_srvs(tm_wq(0)), 0);
	ck_assert_int_eq(qsize(tm_wq(1)), 1);
	flushq(tm_wq(1), FLUSHALL);
}
END_TEST

START_TEST(every_enabled_queue_runs_once)
{
	int fd = tm_stack("dsrv", "srv", "srv", "srv", NULL), i;

	for (i = 0; i < 4; i++) {
		qenable(tm_rq(i));
		qenable(tm_wq(i));
	}
	tm_kick(fd);
	for (i = 0; i < 4; i++) {
		ck_assert_int_eq(tm_srvs(tm_rq(i)), 1);
		ck_assert_int_eq(tm_srvs(tm_wq(i)), 1);
	}
}
END_TEST

/* ---- service procedures ----------------------------------------------------------- */

static int
enable_self_once(queue_t *q)
{
	if (tm_srvs(q) == 1)
		qenable(q);
	return 0;
}

START_TEST(a_queue_enabled_by_its_own_service_runs_again)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	tm_side(tm_rq(1))->srv = enable_self_once;
	qenable(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 2);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 0);
}
END_TEST

static int
take_one_and_put_back(queue_t *q)
{
	mblk_t *mp = getq(q);

	if (mp)
		putbq(q, mp);
	return 0;
}

START_TEST(putting_back_what_was_taken_does_not_loop)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	tm_side(tm_rq(1))->srv = take_one_and_put_back;
	tm_queue(tm_rq(1), norm(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 1);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 0);
	ck_assert_int_eq(qsize(tm_rq(1)), 1);
	flushq(tm_rq(1), FLUSHALL);
}
END_TEST

START_TEST(a_write_is_served_and_answered_before_it_returns)
{
	int fd = tm_stack("dsrv", "srv", "srv", NULL), i;
	char buf[8];

	for (i = 0; i < 3; i++) {
		tm_side(tm_wq(i))->put = tm_putq;
		tm_side(tm_rq(i))->put = tm_putq;
		tm_side(tm_wq(i))->srv = tm_forward;
		tm_side(tm_rq(i))->srv = tm_forward;
	}
	tm_side(tm_wq(0))->put = tm_reply;
	for (i = 0; i < 100; i++) {
		ck_assert_int_eq(str_write(fd, "ping", 4), 4);
		ck_assert_int_eq(str_read(fd, buf, sizeof(buf)), 4);
		ck_assert_int_eq(memcmp(buf, "ping", 4), 0);
	}
	ck_assert_int_eq(str_read(fd, buf, sizeof(buf)), -1);
	ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

START_TEST(a_queue_enabled_from_outside_is_run_by_the_next_call)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	tm_side(tm_wq(1))->srv = tm_forward;
	tm_queue(tm_wq(1), norm(3));
	ck_assert_int_eq(tm_puts(tm_wq(0)), 0);
	ck_assert_int_eq(str_write(fd, "x", 1), 1);
	ck_assert_int_eq(qsize(tm_wq(1)), 0);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 2);
}
END_TEST

START_TEST(a_reader_runs_pending_service_before_it_says_eagain)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	char buf[8];

	tm_side(tm_rq(1))->srv = tm_forward;
	tm_queue(tm_rq(1), norm(3));
	ck_assert_int_eq(str_read(fd, buf, sizeof(buf)), 3);
	ck_assert_int_eq(memcmp(buf, "nnn", 3), 0);
}
END_TEST

START_TEST(a_reader_runs_pending_service_before_it_sleeps)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	char buf[8];

	tm_side(tm_rq(1))->srv = tm_forward;
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, 0), 0);
	tm_queue(tm_rq(1), norm(3));
	ck_assert_int_eq(str_read(fd, buf, sizeof(buf)), 3);
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}
END_TEST

START_TEST(a_poller_runs_pending_service_before_it_sleeps)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	struct pollfd p = {fd, POLLIN, 0};

	tm_side(tm_rq(1))->srv = tm_forward;
	tm_queue(tm_rq(1), norm(3));
	ck_assert_int_eq(str_poll(&p, 1, 2000), 1);
	ck_assert(p.revents & POLLIN);
}
END_TEST

START_TEST(noenable_holds_data_until_qenable)
{
	int fd = tm_stack("dsrv", "srv", NULL), i;

	tm_side(tm_wq(1))->put = tm_putq;
	tm_side(tm_wq(1))->srv = tm_forward;
	noenable(tm_wq(1));
	for (i = 0; i < 5; i++)
		ck_assert_int_eq(str_write(fd, "x", 1), 1);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 0);
	enableok(tm_wq(1));
	tm_kick(fd);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 0);
	qenable(tm_wq(1));
	tm_kick(fd);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 5);
}
END_TEST

/* Concurrency of one service procedure. */
static atomic_int inside, worst, served, hold, held;

static int
watched_drain(queue_t *q)
{
	int n = atomic_fetch_add(&inside, 1) + 1;
	mblk_t *mp;

	if (n > atomic_load(&worst))
		atomic_store(&worst, n);
	while ((mp = getq(q))) {
		freemsg(mp);
		if (atomic_fetch_add(&served, 1) % 16 == 0)
			sched_yield();
	}
	atomic_fetch_sub(&inside, 1);
	return 0;
}

struct job {
	int fd;
	int n;
	atomic_int bad;
};

static void *
write_many(void *arg)
{
	struct job *j = arg;
	int i;

	for (i = 0; i < j->n; i++)
		while (str_write(j->fd, "x", 1) != 1) {
			if (errno != EAGAIN) {
				atomic_fetch_add(&j->bad, 1);
				return NULL;
			}
			sched_yield();
		}
	return NULL;
}

START_TEST(a_service_procedure_never_runs_twice_at_once)
{
	int fd = tm_stack("dsrv", NULL), i;
	struct job j = {.fd = fd, .n = tm_scale(100000)};
	pthread_t t[3];

	atomic_store(&worst, 0);
	atomic_store(&inside, 0);
	atomic_store(&served, 0);
	tm_side(tm_wq(0))->put = tm_putq;
	tm_side(tm_wq(0))->srv = watched_drain;
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, write_many, &j), 0);
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	tm_kick(fd);
	ck_assert_int_eq(atomic_load(&j.bad), 0);
	ck_assert_int_eq(atomic_load(&worst), 1);
	/* nothing lies on a queue whose service is idle */
	ck_assert_int_eq(atomic_load(&served), 3 * j.n);
	ck_assert_int_eq(qsize(tm_wq(0)), 0);
}
END_TEST

/* Holds the first run until told to go on. */
static int
hold_then_drain(queue_t *q)
{
	if (atomic_load(&hold)) {
		atomic_store(&held, 1);
		while (atomic_load(&hold))
			tm_msleep(1);
		return 0; /* leaves what came meanwhile */
	}
	return tm_drain(q);
}

START_TEST(a_queue_enabled_while_its_service_runs_elsewhere_runs_again)
{
	int fd = tm_stack("dsrv", NULL), runs;
	struct writer w;

	atomic_store(&hold, 1);
	atomic_store(&held, 0);
	tm_side(tm_wq(0))->put = tm_putq;
	tm_side(tm_wq(0))->srv = hold_then_drain;
	memset(&w, 0, sizeof(w));
	w.fd = fd;
	ck_assert_int_eq(pthread_create(&w.t, NULL, write_one, &w), 0);
	ck_assert(tm_wait(&held, 1));
	runs = tm_srvs(tm_wq(0));
	ck_assert_int_eq(runs, 1);
	/* its put phase is not held up, and its service does not run here */
	ck_assert_int_eq(str_write(fd, "y", 1), 1);
	ck_assert_int_eq(tm_srvs(tm_wq(0)), 1);
	ck_assert_int_eq(qsize(tm_wq(0)), 2);
	atomic_store(&hold, 0);
	ck_assert(tm_wait(&w.done, 1));
	pthread_join(w.t, NULL);
	ck_assert_int_eq(tm_srvs(tm_wq(0)), 2);
	ck_assert_int_eq(qsize(tm_wq(0)), 0);
}
END_TEST

static atomic_int runs_at_off;

static void
enable_before_off(queue_t *q)
{
	qenable(q);
	qenable(WR(q));
	atomic_store(&runs_at_off, tm_srvs(q) + tm_srvs(WR(q)));
}

static void
enable_after_off(queue_t *q)
{
	qenable(q);
	qenable(WR(q));
	tm_queue(q, norm(1));
}

START_TEST(no_service_runs_once_qprocsoff_has_begun)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	struct tm_inst *in = tm_newest;

	tm_close_hook = enable_before_off;
	tm_closed_hook = enable_after_off;
	tm_pop(fd);
	tm_close_hook = NULL;
	tm_closed_hook = NULL;
	tm_kick(fd);
	ck_assert_int_eq(atomic_load(&in->closes), 1);
	ck_assert_int_eq(atomic_load(&in->rd.srvs) + atomic_load(&in->wr.srvs),
	    atomic_load(&runs_at_off));
}
END_TEST

START_TEST(a_pop_gives_what_it_held_up_a_back_enable)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	fill(tm_rq(1));
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

	fill(tm_wq(1));
	ck_assert(!writable(fd));
	tm_pop(fd);
	ck_assert(writable(fd));
	ck_assert_int_eq(str_write(fd, "x", 1), 1);
}
END_TEST

/* A child that enables a queue and stops there: signo is SIGKILL or SIGSTOP. */
static pid_t
child_enables(queue_t *q, int signo)
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (putq(q, norm(5)) != 1)
			_exit(1);
		qenable(q);
		raise(signo);
		_exit(2);
	}
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSIGNALED(status) || WIFSTOPPED(status));
	return pid;
}

START_TEST(what_a_killed_or_stopped_process_enabled_is_run_by_the_next)
{
	int fd = tm_stack("dsrv", "srv", NULL), status;
	pid_t pid;

	noenable(tm_wq(1));
	tm_side(tm_wq(1))->srv = tm_forward;
	pid = child_enables(tm_wq(1), _i ? SIGSTOP : SIGKILL);
	ck_assert_int_eq(qsize(tm_wq(1)), 1);
	tm_kick(fd);
	ck_assert_int_eq(tm_srvs(tm_wq(1)), 1);
	ck_assert_int_eq(qsize(tm_wq(1)), 0);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 1);
	if (_i) {
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	}
	tm_patience = 5000; /* its streams are given up in its own time */
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
canput_tests(Suite *s)
{
	TCase *tc = group(s, "canput");

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
back_enable_tests(Suite *s)
{
	TCase *tc = group(s, "back-enable");

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

static void
head_tests(Suite *s)
{
	TCase *tc = group(s, "head");

	tcase_add_test(tc, a_full_driver_stops_the_writer_and_its_drain_makes_pollout);
	tcase_add_test(tc, a_drain_wakes_a_sleeping_writer);
	tcase_add_test(tc, a_drain_wakes_a_poller);
	tcase_add_test(
	    tc, the_want_flag_reaches_the_examined_queue_from_a_sleeping_writer);
	tcase_add_test(tc, high_priority_data_passes_a_full_queue);
}

static void
enable_tests(Suite *s)
{
	TCase *tc = group(s, "enabling");

	tcase_add_loop_test(tc, putq_enables_by_the_table, 0, 2);
	tcase_add_test(tc, putbq_enables_by_the_table);
	tcase_add_test(tc, insq_enables_only_if_allowed_and_wanted);
	tcase_add_test(tc, an_illegal_insq_enables_nothing);
	tcase_add_test(tc, getq_sets_qwantr_when_empty_and_clears_it_with_a_message);
	tcase_add_test(tc, qenable_ignores_noenable);
	tcase_add_test(tc, enableok_alone_enables_nothing);
	tcase_add_test(tc, qenable_is_merged_while_it_is_pending);
	tcase_add_test(tc, qenable_of_a_queue_without_service_is_harmless);
	tcase_add_test(tc, every_enabled_queue_runs_once);
}

static void
service_tests(Suite *s)
{
	TCase *tc = group(s, "service");

	tcase_add_test(tc, a_queue_enabled_by_its_own_service_runs_again);
	tcase_add_test(tc, putting_back_what_was_taken_does_not_loop);
	tcase_add_test(tc, a_write_is_served_and_answered_before_it_returns);
	tcase_add_test(tc, a_queue_enabled_from_outside_is_run_by_the_next_call);
	tcase_add_test(tc, a_reader_runs_pending_service_before_it_says_eagain);
	tcase_add_test(tc, a_reader_runs_pending_service_before_it_sleeps);
	tcase_add_test(tc, a_poller_runs_pending_service_before_it_sleeps);
	tcase_add_test(tc, noenable_holds_data_until_qenable);
	tcase_add_test(tc, a_service_procedure_never_runs_twice_at_once);
	tcase_add_test(tc, a_queue_enabled_while_its_service_runs_elsewhere_runs_again);
	tcase_add_test(tc, no_service_runs_once_qprocsoff_has_begun);
	if (tm_may_fork())
		tcase_add_loop_test(tc,
		    what_a_killed_or_stopped_process_enabled_is_run_by_the_next, 0, 2);
}

static void
stall_tests(Suite *s)
{
	TCase *tc = group(s, "no stall");

	tcase_add_test(tc, a_high_water_mark_of_one_never_stalls);
	tcase_add_test(tc, high_and_low_marks_of_one_never_stall);
	tcase_add_test(tc, a_head_with_a_high_water_mark_of_one_never_stalls);
}

int
main(void)
{
	Suite *s = suite_create("flow");

	canput_tests(s);
	back_enable_tests(s);
	head_tests(s);
	enable_tests(s);
	service_tests(s);
	stall_tests(s);
	return tm_run(s);
}
