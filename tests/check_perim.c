/* SPDX-License-Identifier: BSD-2-Clause */
/* check_perim.c: the perimeters that putting a message enters. */
#define _GNU_SOURCE
#include "putlib.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <ustreams.h>

/* ---- coming back to one's own perimeter ------------------------------------------- */

static int frames; /* put procedures of the module on the stack */
static int deepest;
static int parked_at; /* frames seen by the read put procedure */

static int
framed_wput(queue_t *q, mblk_t *mp)
{
	if (++frames > deepest)
		deepest = frames;
	note('<');
	putnext(q, mp);
	note('>');
	frames--;
	return 0;
}

static int
framed_rput(queue_t *q, mblk_t *mp)
{
	parked_at = frames;
	note('r');
	putnext(q, mp);
	return 0;
}

/* One write through one module over an answering driver: the diary. */
static const char *
bounce(int kind)
{
	int fd = loop_with("1", kinds[kind].name);

	frames = deepest = 0;
	parked_at = -1;
	new_diary();
	tm_side(tm_wq(1))->put = framed_wput;
	tm_side(tm_rq(1))->put = framed_rput;
	ck_assert_int_eq(str_write(fd, "\5\0\0\0", 4), 4);
	read_numbers(fd, 5, 1);
	tm_close(fd);
	return diary;
}

START_TEST(an_answer_into_a_held_perimeter_is_parked_and_runs_after)
{
	ck_assert_str_eq(bounce(QPAIR), "<>r");
	ck_assert_str_eq(bounce(PERMOD), "<>r");
	ck_assert_int_eq(parked_at, 0);
}
END_TEST

START_TEST(a_module_without_flags_has_one_perimeter_for_all)
{
	ck_assert_str_eq(bounce(NOFLAG), "<>r");
}
END_TEST

START_TEST(an_answer_into_a_free_perimeter_runs_at_once)
{
	ck_assert_str_eq(bounce(MP), "<r>");
	ck_assert_str_eq(bounce(PERQ), "<r>");
}
END_TEST

START_TEST(two_instances_share_a_permod_perimeter_and_no_other)
{
	static const char *const want[KINDS] = {"<<>>", "<<>>", "<<>>", "<><>", "<><>"};
	int fd, k;

	for (k = 0; k < KINDS; k++) {
		fd = loop_with("1", kinds[k].name);
		tm_push(fd, kinds[k].name);
		tm_side(tm_wq(0))->put = tm_free;
		tm_side(tm_wq(1))->put = tm_side(tm_wq(2))->put = framed_wput;
		frames = deepest = 0;
		new_diary();
		ck_assert_int_eq(str_write(fd, "x", 1), 1);
		ck_assert_msg(strcmp(diary, want[k]) == 0, "%s: %s, not %s",
		    kinds[k].name, diary, want[k]);
		ck_assert_int_eq(deepest, k < PERMOD ? 2 : 1);
		tm_close(fd);
	}
}
END_TEST

static int
burst_wput(queue_t *q, mblk_t *mp)
{
	int i, n = number(mp);

	freemsg(mp);
	for (i = 0; i < n; i++)
		putnext(q, numbered(i));
	note('.');
	return 0;
}

static int
noted_rput(queue_t *q, mblk_t *mp)
{
	note((char)('a' + number(mp) % 26));
	putnext(q, mp);
	return 0;
}

START_TEST(parked_messages_run_in_the_order_in_which_they_came)
{
	int fd = loop_with("1", "permod");

	new_diary();
	tm_side(tm_wq(1))->put = burst_wput;
	tm_side(tm_rq(1))->put = noted_rput;
	ck_assert_int_eq(str_write(fd, &(int32_t){26}, 4), 4);
	ck_assert_str_eq(diary, ".abcdefghijklmnopqrstuvwxyz");
	read_numbers(fd, 0, 26);
}
END_TEST

static int
ping_wput(queue_t *q, mblk_t *mp)
{
	int n = number(mp);

	if (n == 0) {
		freemsg(mp);
		return 0;
	}
	if (++frames > deepest)
		deepest = frames;
	*(int32_t *)(void *)mp->b_rptr = n - 1;
	putnext(q, mp);
	frames--;
	return 0;
}

/* Send it down again: the driver will answer again. */
static int
pong_rput(queue_t *q, mblk_t *mp)
{
	if (++frames > deepest)
		deepest = frames;
	put(WR(q), mp);
	frames--;
	return 0;
}

START_TEST(a_hundred_thousand_bounces_use_no_stack)
{
	int fd = loop_with("1", _i ? "pair" : "permod");

	frames = deepest = 0;
	tm_side(tm_wq(1))->put = ping_wput;
	tm_side(tm_rq(1))->put = pong_rput;
	ck_assert_int_eq(str_write(fd, &(int32_t){100000}, 4), 4);
	ck_assert_int_eq(tm_puts(tm_wq(1)), 100001);
	ck_assert_int_eq(deepest, 1);
}
END_TEST

static int
serving_wput(queue_t *q, mblk_t *mp)
{
	note('p');
	qenable(q);
	putnext(q, mp);
	return 0;
}

static int
noted_srv(queue_t *q)
{
	(void)q;
	note('s');
	return 0;
}

START_TEST(parked_puts_go_before_service_procedures)
{
	int fd = loop_with("1", _i ? "pairs" : "permods");

	new_diary();
	tm_side(tm_wq(1))->put = serving_wput;
	tm_side(tm_wq(1))->srv = noted_srv;
	tm_side(tm_rq(1))->put = framed_rput;
	ck_assert_int_eq(str_write(fd, "\1\0\0\0", 4), 4);
	ck_assert_str_eq(diary, "prs");
	read_numbers(fd, 1, 1);
}
END_TEST

static int
putting_srv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q))) {
		frames++;
		putnext(q, mp);
		frames--;
	}
	return 0;
}

START_TEST(a_service_procedure_holds_its_perimeter_too)
{
	int fd = loop_with("1", _i ? "pairs" : "permods");

	frames = 0;
	parked_at = -1;
	tm_side(tm_wq(1))->put = tm_putq;
	tm_side(tm_wq(1))->srv = putting_srv;
	tm_side(tm_rq(1))->put = framed_rput;
	ck_assert_int_eq(str_write(fd, "\1\0\0\0", 4), 4);
	ck_assert_int_eq(parked_at, 0);
	read_numbers(fd, 1, 1);
}
END_TEST

/* ---- two threads ------------------------------------------------------------------ */

/* Threads now inside, by perimeter; which one is found in the side's arg. */
struct ward {
	atomic_int in;
	atomic_int worst;
	atomic_int passed;
};

static void
ward_pass(struct ward *w)
{
	int n = atomic_fetch_add(&w->in, 1) + 1;

	if (n > atomic_load(&w->worst))
		atomic_store(&w->worst, n);
	if (atomic_fetch_add(&w->passed, 1) % 8 == 0)
		sched_yield();
	atomic_fetch_sub(&w->in, 1);
}

static int
warded_wput(queue_t *q, mblk_t *mp)
{
	ward_pass(tm_side(q)->arg);
	putnext(q, mp);
	return 0;
}

static int
warded_rput(queue_t *q, mblk_t *mp)
{
	ward_pass(tm_side(q)->arg);
	freemsg(mp);
	return 0;
}

static int
warded_queue(queue_t *q, mblk_t *mp)
{
	ward_pass(tm_side(q)->arg);
	return tm_putq(q, mp);
}

static int
warded_srv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q))) {
		ward_pass(tm_side(q)->arg);
		if (__atomic_load_n(&q->q_flag, __ATOMIC_RELAXED) & QREADR)
			freemsg(mp);
		else
			putnext(q, mp);
	}
	return 0;
}

static void *
write_both(void *arg)
{
	struct traffic *t = arg;
	int i;

	for (i = 0; i < t->n; i++) {
		while (str_write(t->fd[(i + t->id) & 1], "x", 1) != 1) {
			if (errno != EAGAIN) {
				atomic_fetch_add(&t->bad, 1);
				return NULL;
			}
			sched_yield();
		}
		atomic_fetch_add(t->sent, 1);
	}
	return NULL;
}

static void
warded(queue_t *rq, struct ward *r, struct ward *w, int srv)
{
	tm_side(rq)->arg = r;
	tm_side(WR(rq))->arg = w;
	tm_side(rq)->put = srv ? warded_queue : warded_rput;
	tm_side(WR(rq))->put = srv ? warded_queue : warded_wput;
	tm_side(rq)->srv = srv ? warded_srv : NULL;
	tm_side(WR(rq))->srv = srv ? warded_srv : NULL;
}

/*
 * Two threads write to two streams in turn; each ward may hold one thread.
 * ward of stream s, side d (0 read, 1 write): map[s][d].
 */
static void
exclusion(int kind, int srv, const int map[2][2])
{
	static struct ward ward[4];
	struct traffic t[2];
	atomic_int sent = 0;
	pthread_t th[2];
	int fd[2], i, rounds = tm_scale(srv ? 30000 : 60000);
	int passes = 0;

	memset(ward, 0, sizeof(ward));
	for (i = 0; i < 2; i++) {
		fd[i] = loop_with(
		    i ? "2" : "1", srv ? kinds[kind].srv : kinds[kind].name);
		warded(tm_rq(1), &ward[map[i][0]], &ward[map[i][1]], srv);
	}
	for (i = 0; i < 2; i++) {
		t[i] = (struct traffic){{fd[0], fd[1]}, rounds, i, 0, &sent, 0};
		ck_assert_int_eq(pthread_create(&th[i], NULL, write_both, &t[i]), 0);
	}
	for (i = 0; i < 2; i++)
		pthread_join(th[i], NULL);
	tm_kick(fd[0]);
	tm_kick(fd[1]);
	for (i = 0; i < 4; i++) {
		ck_assert_msg(atomic_load(&ward[i].worst) <= 1,
		    "%s: %d threads in perimeter %d", kinds[kind].name,
		    atomic_load(&ward[i].worst), i);
		passes += atomic_load(&ward[i].passed);
	}
	ck_assert_int_eq(atomic_load(&t[0].bad) + atomic_load(&t[1].bad), 0);
	ck_assert_int_eq(atomic_load(&sent), 2 * rounds);
	/* nothing lost: each message passes each side once, or twice queued */
	ck_assert_int_eq(passes, 2 * rounds * (srv ? 4 : 2));
}

START_TEST(permod_never_has_two_threads_in_all_its_instances)
{
	static const int map[2][2] = {{0, 0}, {0, 0}};

	exclusion(PERMOD, _i, map);
}
END_TEST

START_TEST(qpair_never_has_two_threads_in_one_instance)
{
	static const int map[2][2] = {{0, 0}, {1, 1}};

	exclusion(QPAIR, _i, map);
}
END_TEST

START_TEST(perq_never_has_two_threads_in_one_queue)
{
	static const int map[2][2] = {{0, 1}, {2, 3}};

	exclusion(PERQ, _i, map);
}
END_TEST

static void *
produce(void *arg)
{
	struct traffic *t = arg;
	int32_t v;
	int i;

	for (i = 0; i < t->n; i++) {
		v = i * PRODUCERS + t->id;
		while (str_write(t->fd[0], &v, sizeof(v)) != sizeof(v)) {
			if (errno != EAGAIN) {
				atomic_fetch_add(&t->bad, 1);
				return NULL;
			}
			sched_yield();
		}
	}
	return NULL;
}

START_TEST(each_of_four_producers_keeps_its_order)
{
	struct traffic t[PRODUCERS];
	pthread_t th[PRODUCERS];
	int fd = loop_with("1", kinds[_i].name), i, n = tm_scale(30000);

	atomic_store(&disorder, 0);
	atomic_store(&arrived, 0);
	/* the module serialises; D_MP would let the check itself race */
	tm_side(tm_wq(1))->put = order_wput;
	for (i = 0; i < PRODUCERS; i++) {
		last_seen[i] = -1;
		t[i] = (struct traffic){{fd, fd}, n, i, 0, NULL, 0};
		ck_assert_int_eq(pthread_create(&th[i], NULL, produce, &t[i]), 0);
	}
	for (i = 0; i < PRODUCERS; i++) {
		pthread_join(th[i], NULL);
		ck_assert_int_eq(atomic_load(&t[i].bad), 0);
	}
	tm_kick(fd);
	ck_assert_int_eq(atomic_load(&arrived), PRODUCERS * n);
	ck_assert_int_eq(atomic_load(&disorder), 0);
}
END_TEST

/* ---- a perimeter held for long ---------------------------------------------------- */

START_TEST(put_never_waits_for_a_perimeter)
{
	int fd = held_permod("permod"), i;

	for (i = 0; i < 5; i++)
		ck_assert_int_eq(str_write(fd, "x", 1), 1);
	ck_assert_int_eq(tm_puts(tm_wq(1)), 0); /* parked, not run */
	ck_assert_int_eq(atomic_load(&hold), 1);
	let_go();
	/* the holder ran them before it returned */
	ck_assert_int_eq(tm_puts(tm_wq(1)), 5);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 5);
}
END_TEST

START_TEST(a_held_perimeter_stops_no_other_module)
{
	int fd, other;

	fd = held_permod("permod");
	other = loop_with("3", "pair");
	ck_assert_int_eq(str_write(other, "\7\0\0\0", 4), 4);
	read_numbers(other, 7, 1);
	let_go();
	(void)fd;
}
END_TEST

/* Write n bytes at a time until refused; how many went in. */
static int
write_until_refused(int fd, size_t n)
{
	char buf[100] = "xxxxxxxxxxxxxxxxxxxx";
	int i;

	for (i = 0; i < 100000; i++)
		if (str_write(fd, buf, n) != (ssize_t)n) {
			ck_assert_int_eq(errno, EAGAIN);
			break;
		}
	return i;
}

START_TEST(parked_bytes_count_for_flow_control)
{
	int fd = held_permod(_i ? "permods" : "permod"), n;

	n = write_until_refused(fd, 100);
	ck_assert_int_eq(n, HIWAT / 100);
	let_go();
	ck_assert_int_eq(tm_puts(tm_wq(1)), n);
	ck_assert_int_eq(tm_puts(tm_wq(0)), n);
	ck_assert_int_eq(str_write(fd, "x", 1), 1);
}
END_TEST

START_TEST(parked_blocks_count_for_flow_control)
{
	int fd = held_permod(_i ? "permods" : "permod"), n;

	n = write_until_refused(fd, 1);
	ck_assert_int_eq(n, HIWAT);
	let_go();
	ck_assert_int_eq(tm_puts(tm_wq(0)), n);
}
END_TEST

START_TEST(high_priority_messages_are_parked_without_limit)
{
	int fd = held_permod("permod"), i, n;

	n = write_until_refused(fd, 100);
	for (i = 0; i < 3 * HIWAT; i++)
		tm_assert(str_putmblk(fd, tm_msg(M_PCPROTO, 0, 1, 'h')) == 0, "%d", i);
	let_go();
	ck_assert_int_eq(tm_puts(tm_wq(0)), n + 3 * HIWAT);
}
END_TEST

struct waiter {
	int fd;
	atomic_int started;
	atomic_int done;
	int result;
};

static void *
poll_out(void *arg)
{
	struct waiter *w = arg;
	struct pollfd p = {w->fd, POLLOUT, 0};

	atomic_store(&w->started, 1);
	w->result = str_poll(&p, 1, 30000) == 1 && (p.revents & POLLOUT);
	atomic_store(&w->done, 1);
	return NULL;
}

static void *
write_out(void *arg)
{
	struct waiter *w = arg;

	atomic_store(&w->started, 1);
	w->result = str_write(w->fd, "w", 1) == 1;
	atomic_store(&w->done, 1);
	return NULL;
}

/* A thread waiting for parked messages to go is woken by the drainer. */
START_TEST(the_drainer_of_parked_messages_wakes_writers_and_pollers)
{
	int fd = held_permod(_i & 1 ? "permods" : "permod");
	struct waiter w = {.fd = fd};
	pthread_t t;

	write_until_refused(fd, 100);
	if (!(_i & 2))
		ck_assert_int_eq(str_fcntl(fd, F_SETFL, 0), 0);
	ck_assert_int_eq(pthread_create(&t, NULL, _i & 2 ? poll_out : write_out, &w), 0);
	ck_assert(tm_wait(&w.started, 1));
	tm_msleep(100);
	ck_assert_int_eq(atomic_load(&w.done), 0);
	let_go();
	ck_assert(tm_wait(&w.done, 1));
	pthread_join(t, NULL);
	ck_assert_int_ne(w.result, 0);
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}
END_TEST

START_TEST(parked_messages_are_never_overtaken)
{
	int fd = held_permod("permod"), i;

	atomic_store(&disorder, 0);
	atomic_store(&arrived, 0);
	last_seen[0] = -1;
	tm_side(tm_wq(0))->put = order_wput;
	for (i = 0; i < 100; i++)
		ck_assert_int_eq(str_write(fd, &(int32_t){i * PRODUCERS}, 4), 4);
	atomic_store(&hold, 0); /* the holder drains while we go on */
	for (; i < 20000; i++)
		while (str_write(fd, &(int32_t){i * PRODUCERS}, 4) != 4)
			sched_yield();
	pthread_join(holder, NULL);
	tm_kick(fd);
	ck_assert_int_eq(atomic_load(&arrived), 20000);
	ck_assert_int_eq(atomic_load(&disorder), 0);
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

static void
perimeter_tests(Suite *s)
{
	TCase *tc = put_group(s, "own perimeter");

	tcase_add_test(tc, an_answer_into_a_held_perimeter_is_parked_and_runs_after);
	tcase_add_test(tc, a_module_without_flags_has_one_perimeter_for_all);
	tcase_add_test(tc, an_answer_into_a_free_perimeter_runs_at_once);
	tcase_add_test(tc, two_instances_share_a_permod_perimeter_and_no_other);
	tcase_add_test(tc, parked_messages_run_in_the_order_in_which_they_came);
	tcase_add_loop_test(tc, a_hundred_thousand_bounces_use_no_stack, 0, 2);
	tcase_add_loop_test(tc, parked_puts_go_before_service_procedures, 0, 2);
	tcase_add_loop_test(tc, a_service_procedure_holds_its_perimeter_too, 0, 2);
}

static void
thread_tests(Suite *s)
{
	TCase *tc = put_group(s, "threads");

	tcase_add_loop_test(tc, permod_never_has_two_threads_in_all_its_instances, 0, 2);
	tcase_add_loop_test(tc, qpair_never_has_two_threads_in_one_instance, 0, 2);
	tcase_add_loop_test(tc, perq_never_has_two_threads_in_one_queue, 0, 2);
	tcase_add_loop_test(tc, each_of_four_producers_keeps_its_order, PERQ, KINDS);
	tcase_add_test(tc, put_never_waits_for_a_perimeter);
	tcase_add_test(tc, a_held_perimeter_stops_no_other_module);
	tcase_add_loop_test(tc, parked_bytes_count_for_flow_control, 0, 2);
	tcase_add_loop_test(tc, parked_blocks_count_for_flow_control, 0, 2);
	tcase_add_test(tc, high_priority_messages_are_parked_without_limit);
	tcase_add_loop_test(
	    tc, the_drainer_of_parked_messages_wakes_writers_and_pollers, 0, 4);
	tcase_add_test(tc, parked_messages_are_never_overtaken);
}

int
main(void)
{
	Suite *s = suite_create("perim");

	perimeter_tests(s);
	thread_tests(s);
	return tm_run(s);
}
