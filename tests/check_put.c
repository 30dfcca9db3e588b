/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_put.c: passing messages on -- put, putnext, qreply, the control
 * message routines, qprocson and qprocsoff -- and the perimeters these enter.
 *
 * Modules are named by their perimeter: "mp", "perq", "pair", "permod" and
 * "none" (no flag at all), with "s" at the end if they have service
 * procedures.  The driver is "drv", with a put procedure that frees; a test
 * makes it answer by hanging tm_reply into its write side.
 */
#define _GNU_SOURCE
#include "testmod.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <unistd.h>
#include <ustreams.h>

#define HIWAT 1000
#define LOWAT 200

static const struct kind {
	const char *name;
	const char *srv;
	int flags;
} kinds[] = {
    {"mp", "mps", D_MP},
    {"perq", "perqs", D_MP | D_MTPERQ},
    {"pair", "pairs", D_MP | D_MTQPAIR},
    {"permod", "permods", D_MP | D_MTPERMOD},
    {"none", "nones", 0},
};
enum { MP, PERQ, QPAIR, PERMOD, NOFLAG, KINDS };

static void
setup(void)
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

/* A stream over a driver that answers, with one module of that kind. */
static int
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

static mblk_t *
numbered(int n)
{
	mblk_t *mp = tm_msg(M_DATA, 0, sizeof(int32_t), 0);

	*(int32_t *)(void *)mp->b_rptr = n;
	return mp;
}

static int
number(const mblk_t *mp)
{
	return *(const int32_t *)(const void *)mp->b_rptr;
}

/* The numbers first, first + 1, ... n of them must be there to read. */
static void
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

/* A log of single letters, written by procedures. */
static char diary[256];
static atomic_int written;

static void
note(char c)
{
	int at = atomic_fetch_add(&written, 1);

	if (at < (int)sizeof(diary) - 1)
		diary[at] = c;
}

static void
new_diary(void)
{
	memset(diary, 0, sizeof(diary));
	atomic_store(&written, 0);
}

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

struct traffic {
	int fd[2];
	int n;
	int id;
	atomic_int bad;
	atomic_int *sent;
	atomic_int turns;
};

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

/* N producers, numbered messages: each one's must arrive in order. */
enum { PRODUCERS = 4 };

static atomic_int disorder;
static int last_seen[PRODUCERS];
static atomic_int arrived;

static int
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

static atomic_int hold, held;

/* 'H' holds the perimeter until told to go on; all others are counted. */
static int
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

static void *
hold_it(void *arg)
{
	(void)!str_write(*(int *)arg, "H", 1);
	return NULL;
}

static pthread_t holder;
static int holder_fd;

/* Two streams "1" and "2" over one PERMOD module; stream 1's is held. */
static int
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

static void
let_go(void)
{
	atomic_store(&hold, 0);
	pthread_join(holder, NULL);
}

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
	w->result = str_poll(&p, 1, 10000) == 1 && (p.revents & POLLOUT);
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
passing_tests(Suite *s)
{
	TCase *tc = group(s, "passing on");

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
	TCase *tc = group(s, "deep stacks");

	tcase_add_loop_test(
	    tc, sixty_four_pushed_modules_pass_everything_in_order, 0, KINDS);
	tcase_add_loop_test(
	    tc, sixty_four_queueing_modules_pass_everything_in_order, 0, KINDS);
	tcase_add_test(tc, sixty_four_mixed_modules_pass_everything_in_order);
	tcase_add_test(tc, a_hundred_pushed_modules_do_not_overflow_the_stack);
}

static void
perimeter_tests(Suite *s)
{
	TCase *tc = group(s, "own perimeter");

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
	TCase *tc = group(s, "threads");

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

static void
procs_tests(Suite *s)
{
	TCase *tc = group(s, "qprocson and qprocsoff");

	tcase_add_loop_test(
	    tc, before_qprocson_messages_flow_around_the_module, 0, KINDS);
	tcase_add_test(tc, after_qprocsoff_messages_flow_around_the_module);
	tcase_add_loop_test(tc, a_failed_open_is_undone, 0, KINDS);
	tcase_add_test(tc, a_failed_driver_open_gives_its_errno_and_no_descriptor);
	tcase_add_test(tc, what_a_close_leaves_on_its_queues_is_flushed);
	tcase_add_loop_test(tc, a_pop_waits_for_a_put_inside_the_module, 0, KINDS);
	tcase_add_test(tc, a_pop_loses_no_parked_message);
	tcase_add_test(tc, messages_parked_for_a_closed_driver_are_freed);
	tcase_add_test(tc, nothing_is_lost_or_doubled_over_push_and_pop_during_traffic);
}

static void
small_arena(void)
{
	setenv("USTREAMS_ARENA", "32M", 1);
	setup();
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
	perimeter_tests(s);
	thread_tests(s);
	procs_tests(s);
	if (tm_forked() && !tm_heap_malloc())
		exhaustion_tests(s);
	return tm_run(s);
}
