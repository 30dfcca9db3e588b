/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_put.c: passing messages on: put, putnext, qreply, the control message
 * routines, and deep stacks.
 */
#define _GNU_SOURCE
#include "putlib.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <ustreams.h>

/* ---- passing on ------------------------------------------------------------------- */

START_TEST(put_calls_the_put_procedure_of_the_queue_itself)
{
	tm_stack("drv", "mp", NULL);
	tm_side(tm_wq(1))->put = tm_free;
	put(tm_wq(1), numbered(1));
	ck_assert_int_eq(tm_puts(tm_wq(1)), 1);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 0);
}
END_TEST

START_TEST(putnext_calls_the_put_procedure_of_the_next_queue)
{
	tm_stack("drv", "mp", "mp", NULL);
	tm_side(tm_wq(1))->put = tm_free;
	putnext(tm_wq(2), numbered(1));
	ck_assert_int_eq(tm_puts(tm_wq(2)), 0);
	ck_assert_int_eq(tm_puts(tm_wq(1)), 1);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 0);
}
END_TEST

START_TEST(qreply_turns_round)
{
	int fd = tm_stack("drv", "mp", "mp", NULL);

	qreply(tm_wq(1), numbered(7)); /* up from the lower module */
	ck_assert_int_eq(tm_puts(tm_rq(1)), 0);
	ck_assert_int_eq(tm_puts(tm_rq(2)), 1);
	read_numbers(fd, 7, 1);
	qreply(tm_rq(2), numbered(8)); /* down from the upper one */
	ck_assert_int_eq(tm_puts(tm_wq(2)), 0);
	ck_assert_int_eq(tm_puts(tm_wq(1)), 1);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 1);
}
END_TEST

START_TEST(a_message_passes_every_module_once_in_each_direction)
{
	int fd = tm_stack("drv", "mp", "perq", "pair", "permod", NULL), i;

	tm_side(tm_wq(0))->put = tm_reply;
	ck_assert_int_eq(str_write(fd, "\1\0\0\0", 4), 4);
	for (i = 1; i <= 4; i++) {
		ck_assert_int_eq(tm_puts(tm_wq(i)), 1);
		ck_assert_int_eq(tm_puts(tm_rq(i)), 1);
	}
	read_numbers(fd, 1, 1);
}
END_TEST

START_TEST(backq_is_the_queue_behind)
{
	tm_stack("drv", "mp", "mp", NULL);
	ck_assert_ptr_eq(backq(tm_wq(0)), tm_wq(1));
	ck_assert_ptr_eq(backq(tm_wq(1)), tm_wq(2));
	ck_assert_ptr_eq(backq(tm_rq(2)), tm_rq(1));
	ck_assert_ptr_eq(backq(tm_rq(1)), tm_rq(0));
	ck_assert_ptr_null(backq(tm_rq(0)));
	ck_assert_ptr_nonnull(backq(tm_wq(2))); /* the head's */
}
END_TEST

START_TEST(samestr_is_true_up_to_the_end_of_the_stream)
{
	int fd[2];

	tm_stack("drv", "mp", "mp", NULL);
	ck_assert_int_ne(SAMESTR(tm_wq(2)), 0);
	ck_assert_int_ne(SAMESTR(tm_wq(1)), 0);
	ck_assert_int_eq(SAMESTR(tm_wq(0)), 0);
	ck_assert_int_ne(SAMESTR(tm_rq(0)), 0);
	ck_assert_int_ne(SAMESTR(tm_rq(2)), 0);
	ck_assert_int_eq(str_pipe(fd), 0);
	tm_track(fd[0]);
	tm_track(fd[1]);
	tm_push(fd[0], "mp");
	ck_assert_int_eq(SAMESTR(WR(tm_newest->rd.q)), 0);
	ck_assert_int_ne(SAMESTR(tm_newest->rd.q), 0);
}
END_TEST

START_TEST(messages_of_one_thread_arrive_in_order)
{
	int fd, i, k;

	for (k = 0; k < KINDS; k++) {
		fd = loop_with("1", kinds[k].name);
		for (i = 0; i < 2000; i++)
			tm_assert(str_write(fd, &(int32_t){i}, 4) == 4, "%d", i);
		read_numbers(fd, 0, 2000);
		tm_close(fd);
	}
}
END_TEST

START_TEST(different_types_of_a_band_keep_their_order_too)
{
	static const unsigned char types[] = {M_DATA, M_PROTO, M_DATA, M_DATA, M_PROTO};
	int fd = loop_with("1", "permod");
	size_t i;
	mblk_t *mp;

	for (i = 0; i < sizeof(types); i++) {
		mp = numbered((int)i);
		mp->b_datap->db_type = types[i];
		ck_assert_int_eq(str_putmblk(fd, mp), 0);
	}
	for (i = 0; i < sizeof(types); i++) {
		ck_assert_int_eq(str_getmblk(fd, &mp), 0);
		ck_assert_uint_eq(mp->b_datap->db_type, types[i]);
		ck_assert_int_eq(number(mp), (int)i);
		freemsg(mp);
	}
}
END_TEST

/* ---- control messages ------------------------------------------------------------- */

static mblk_t *caught;

static int
catch_it(queue_t *q, mblk_t *mp)
{
	(void)q;
	if (caught)
		freemsg(caught);
	caught = mp;
	return 0;
}

/* The caught message has that type and bytes; forget it. */
static void
caught_is(int type, const char *bytes, size_t n)
{
	tm_assert(caught, "type %#x did not arrive", type);
	tm_assert(caught->b_datap->db_type == type, "type %#x", type);
	tm_assert((size_t)(caught->b_wptr - caught->b_rptr) == n, "type %#x", type);
	tm_assert(memcmp(caught->b_rptr, bytes, n) == 0, "type %#x", type);
	tm_assert(!caught->b_cont, "type %#x", type);
	freemsg(caught);
	caught = NULL;
}

static int
is_data_type(int type)
{
	return type == M_DATA || type == M_PROTO || type == M_PCPROTO;
}

START_TEST(putnextctl_sends_any_control_type_and_refuses_data_types)
{
	int t;

	tm_stack("drv", "mp", NULL);
	tm_side(tm_wq(0))->put = catch_it;
	for (t = 0; t < 256; t++) {
		if (t == TM_KICK || t == M_DELAY)
			continue;
		if (is_data_type(t)) {
			ck_assert_int_eq(putnextctl(tm_wq(1), t), 0);
			ck_assert_int_eq(putnextctl1(tm_wq(1), t, 1), 0);
			ck_assert_int_eq(putnextctl2(tm_wq(1), t, 1, 2), 0);
			ck_assert_ptr_null(caught);
			continue;
		}
		tm_assert(putnextctl(tm_wq(1), t) == 1, "type %#x", t);
		caught_is(t, "", 0);
		tm_assert(putnextctl1(tm_wq(1), t, 0x41) == 1, "type %#x", t);
		caught_is(t, "A", 1);
		tm_assert(putnextctl2(tm_wq(1), t, 0x42, 0x143) == 1, "type %#x", t);
		caught_is(t, "BC", 2);
	}
}
END_TEST

START_TEST(putctl_goes_to_the_queue_itself)
{
	tm_stack("drv", "mp", NULL);
	tm_side(tm_wq(1))->put = catch_it;
	ck_assert_int_eq(putctl(tm_wq(1), M_HANGUP), 1);
	caught_is(M_HANGUP, "", 0);
	ck_assert_int_eq(putctl1(tm_wq(1), M_ERROR, 5), 1);
	caught_is(M_ERROR, "\5", 1);
	ck_assert_int_eq(putctl2(tm_wq(1), M_ERROR, 5, 6), 1);
	caught_is(M_ERROR, "\5\6", 2);
	ck_assert_int_eq(putctl(tm_wq(1), M_DATA), 0);
	ck_assert_int_eq(putctl1(tm_wq(1), M_PROTO, 1), 0);
	ck_assert_int_eq(putctl2(tm_wq(1), M_PCPROTO, 1, 2), 0);
	ck_assert_ptr_null(caught);
}
END_TEST

START_TEST(putctl_without_memory_says_no)
{
	tm_stack("drv", "mp", NULL);
	tm_side(tm_wq(0))->put = catch_it;
	tm_exhaust();
	ck_assert_int_eq(putnextctl(tm_wq(1), M_HANGUP), 0);
	ck_assert_int_eq(putnextctl1(tm_wq(1), M_ERROR, 1), 0);
	ck_assert_int_eq(putctl2(tm_wq(0), M_ERROR, 1, 2), 0);
	tm_relent(-1);
	ck_assert_ptr_null(caught);
	ck_assert_int_eq(putnextctl(tm_wq(1), M_HANGUP), 1);
	caught_is(M_HANGUP, "", 0);
}
END_TEST

/* Until it fails, which must be for lack of memory; what was got is undone. */
static void
push_until_enosr(int fd)
{
	int n;

	for (n = 0; str_ioctl(fd, I_PUSH, "mp") == 0; n++)
		;
	/* spare queues may last until the limit of 64 modules, one being there */
	ck_assert_msg(errno == ENOSR || (errno == EINVAL && n == 63), "push %d: %s", n,
	    strerror(errno));
	while (n-- > 0)
		tm_pop(fd);
}

static void
open_until_enosr(int clone)
{
	enum { MOST = 200 };
	char path[32];
	int fd[MOST], n;

	for (n = 0; n < MOST; n++) {
		snprintf(path, sizeof(path), "/dev/streams/drv/%d", n + 100);
		fd[n] = clone ? str_open("/dev/streams/clone/drv", O_RDWR)
			      : str_open(path, O_RDWR);
		if (fd[n] < 0)
			break;
	}
	ck_assert_msg(n < MOST && errno == ENOSR, "open: %s", strerror(errno));
	while (n-- > 0)
		ck_assert_int_eq(str_close(fd[n]), 0);
}

static void
pipes_until_enosr(void)
{
	enum { MOST = 200 };
	int fd[MOST][2], n;

	for (n = 0; n < MOST; n++)
		if (str_pipe(fd[n]) != 0)
			break;
	ck_assert_msg(n < MOST && errno == ENOSR, "pipe: %s", strerror(errno));
	while (n-- > 0) {
		ck_assert_int_eq(str_close(fd[n][0]), 0);
		ck_assert_int_eq(str_close(fd[n][1]), 0);
	}
}

START_TEST(calls_without_memory_fail_with_enosr_and_recover)
{
	int fd = tm_stack("drv", "mp", NULL), round;
	mblk_t *mp;
	char c;

	for (round = 0; round < 3; round++) {
		tm_exhaust();
		ck_assert_int_eq(str_write(fd, "x", 1), -1);
		ck_assert_int_eq(errno, ENOSR);
		mp = str_mblkalloc(10);
		ck_assert_ptr_null(mp);
		ck_assert_int_eq(errno, ENOSR);
		push_until_enosr(fd);
		open_until_enosr(0);
		open_until_enosr(1);
		pipes_until_enosr();
		ck_assert_int_eq(str_read(fd, &c, 1), -1);
		ck_assert_int_eq(errno, EAGAIN);
		tm_relent(-1);
		ck_assert_int_eq(str_write(fd, "x", 1), 1);
		ck_assert_int_eq(tm_puts(tm_wq(0)), round + 1);
	}
}
END_TEST

/* ---- deep stacks ------------------------------------------------------------------ */

struct deep {
	int fd;
	int n;
	atomic_int bad;
};

static void *
write_numbers(void *arg)
{
	struct deep *d = arg;
	int32_t v;

	for (v = 0; v < d->n; v++)
		if (str_write(d->fd, &v, sizeof(v)) != sizeof(v))
			atomic_fetch_add(&d->bad, 1);
	return NULL;
}

/* On a small stack of 256 KiB. */
static void
deep_traffic(int fd, int n)
{
	struct deep d = {.fd = fd, .n = n};
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
#ifndef __SANITIZE_ADDRESS__
	ck_assert_int_eq(pthread_attr_setstacksize(&attr, 256 * 1024), 0);
#endif
	ck_assert_int_eq(pthread_create(&t, &attr, write_numbers, &d), 0);
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	ck_assert_int_eq(atomic_load(&d.bad), 0);
	read_numbers(fd, 0, n);
}

START_TEST(sixty_four_pushed_modules_pass_everything_in_order)
{
	int fd = tm_open("drv"), i;

	tm_side(tm_wq(0))->put = tm_reply;
	for (i = 0; i < 64; i++)
		tm_push(fd, kinds[_i].name);
	deep_traffic(fd, 500);
	for (i = 1; i <= 64; i++) {
		ck_assert_int_eq(tm_puts(tm_wq(i)), 500);
		ck_assert_int_eq(tm_puts(tm_rq(i)), 500);
	}
	for (i = 0; i < 64; i++)
		tm_pop(fd);
	ck_assert_int_eq(str_ioctl(fd, I_POP, 0), -1);
}
END_TEST

START_TEST(sixty_four_queueing_modules_pass_everything_in_order)
{
	int fd = tm_open("drv"), i;

	tm_side(tm_wq(0))->put = tm_reply;
	for (i = 1; i <= 64; i++) {
		tm_push(fd, kinds[_i].srv);
		tm_side(tm_wq(i))->put = tm_side(tm_rq(i))->put = tm_putq;
		tm_side(tm_wq(i))->srv = tm_side(tm_rq(i))->srv = tm_forward;
	}
	deep_traffic(fd, 500);
}
END_TEST

START_TEST(sixty_four_mixed_modules_pass_everything_in_order)
{
	int fd = tm_open("drv"), i;

	tm_side(tm_wq(0))->put = tm_reply;
	for (i = 0; i < 64; i++)
		tm_push(fd, i & 1 ? kinds[i % KINDS].srv : kinds[i % KINDS].name);
	for (i = 1; i <= 64; i++)
		if (!(i & 1)) {
			tm_side(tm_wq(i))->put = tm_side(tm_rq(i))->put = tm_putq;
			tm_side(tm_wq(i))->srv = tm_side(tm_rq(i))->srv = tm_forward;
		}
	deep_traffic(fd, 500);
}
END_TEST

START_TEST(a_hundred_pushed_modules_do_not_overflow_the_stack)
{
	int fd, i;

	if (ustr_tune("nstrpush", 100) != 0)
		ck_abort_msg("nstrpush 100: %s", strerror(errno));
	fd = tm_open("drv");
	tm_side(tm_wq(0))->put = tm_reply;
	for (i = 0; i < 100; i++)
		tm_push(fd, "mp");
	deep_traffic(fd, 500);
	ck_assert_int_eq(ustr_tune("nstrpush", 64), 0);
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

static void
passing_tests(Suite *s)
{
	TCase *tc = put_group(s, "passing on");

	tcase_add_test(tc, put_calls_the_put_procedure_of_the_queue_itself);
	tcase_add_test(tc, putnext_calls_the_put_procedure_of_the_next_queue);
	tcase_add_test(tc, qreply_turns_round);
	tcase_add_test(tc, a_message_passes_every_module_once_in_each_direction);
	tcase_add_test(tc, backq_is_the_queue_behind);
	tcase_add_test(tc, samestr_is_true_up_to_the_end_of_the_stream);
	tcase_add_test(tc, messages_of_one_thread_arrive_in_order);
	tcase_add_test(tc, different_types_of_a_band_keep_their_order_too);
	tcase_add_test(tc, putnextctl_sends_any_control_type_and_refuses_data_types);
	tcase_add_test(tc, putctl_goes_to_the_queue_itself);
}

static void
deep_tests(Suite *s)
{
	TCase *tc = put_group(s, "deep stacks");

	tcase_add_loop_test(
	    tc, sixty_four_pushed_modules_pass_everything_in_order, 0, KINDS);
	tcase_add_loop_test(
	    tc, sixty_four_queueing_modules_pass_everything_in_order, 0, KINDS);
	tcase_add_test(tc, sixty_four_mixed_modules_pass_everything_in_order);
	tcase_add_test(tc, a_hundred_pushed_modules_do_not_overflow_the_stack);
}

static void
small_arena(void)
{
	setenv("USTREAMS_ARENA", "32M", 1);
	put_setup();
}

static void
exhaustion_tests(Suite *s)
{
	TCase *tc = tcase_create("exhaustion");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, small_arena, tm_teardown);
	suite_add_tcase(s, tc);
	tcase_add_test(tc, putctl_without_memory_says_no);
	tcase_add_test(tc, calls_without_memory_fail_with_enosr_and_recover);
}

int
main(void)
{
	Suite *s = suite_create("put");

	passing_tests(s);
	deep_tests(s);
	if (tm_forked() && !tm_heap_malloc())
		exhaustion_tests(s);
	return tm_run(s);
}
