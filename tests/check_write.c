/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_write.c: str_write and str_writev (streamio.md §5, §12): what becomes
 * one message, what is cut, flow control and its partial counts, a broken
 * pipe, and the drivers echo and nuls as something to write to.
 */
#include "headlib.h"

#include <limits.h>
#include <sys/mman.h>

static unsigned char big[300000], in[300000];

static void
fill_big(void)
{
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (unsigned char)(i * 13 + i / 251);
}

/* Take one message: its data length, or -1. */
static int
take_len(int fd)
{
	struct strbuf d = {sizeof(in), 0, (char *)in};
	int flags = 0, r = getmsg(fd, NULL, &d, &flags);

	return r == 0 ? d.len : -1;
}

/* ---- what becomes a message --------------------------------------------- */

START_TEST(a_write_is_one_message)
{
	static const int sizes[] = {1, 64, 100, 4096, 10000, 65535, 65536};
	int p[2];

	fill_big();
	make_pipe(p);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		GIVES(str_write(p[0], big, (size_t)sizes[i]), sizes[i]);
		ck_assert_int_eq(waiting(p[1]), 1);
		ck_assert_int_eq(first_bytes(p[1]), sizes[i]);
		ck_assert_int_eq(take_len(p[1]), sizes[i]);
		ck_assert(memcmp(in, big, (size_t)sizes[i]) == 0);
	}
	close_pipe(p);
}
END_TEST

/* "a write is cut at min(maxpsz, strmsgsz, 65536)" */
START_TEST(a_write_over_65536_bytes_is_cut_there)
{
	int p[2];

	fill_big();
	make_pipe(p);
	set_marks(p[1], 1 << 20, 1000);
	GIVES(str_write(p[0], big, 200000), 200000);
	ck_assert_int_eq(waiting(p[1]), 4);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(take_len(p[1]), 65536);
		ck_assert(memcmp(in, big + i * 65536, 65536) == 0);
	}
	ck_assert_int_eq(take_len(p[1]), 200000 - 3 * 65536);
	ck_assert(memcmp(in, big + 3 * 65536, 200000 - 3 * 65536) == 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_write_is_cut_at_a_tuned_strmsgsz)
{
	int p[2];

	GIVES(ustr_tune("strmsgsz", 1000), 0);
	make_pipe(p);
	GIVES(str_write(p[0], big, 2500), 2500);
	ck_assert_int_eq(take_len(p[1]), 1000);
	ck_assert_int_eq(take_len(p[1]), 1000);
	ck_assert_int_eq(take_len(p[1]), 500);
	GIVES(ustr_tune("strmsgsz", 262144), 0);
	close_pipe(p);
}
END_TEST

/* "Larger: split into maxpsz pieces if minpsz is 0 ...
   Exactly maxpsz: one message." */
START_TEST(a_write_is_split_at_maxpsz_of_the_first_queue_below)
{
	int p[2];

	test_modules();
	fill_big();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tcut"), 0);
	GIVES(str_write(p[0], big, 100), 100);
	ck_assert_int_eq(waiting(p[1]), 1);
	ck_assert_int_eq(take_len(p[1]), 100);
	GIVES(str_write(p[0], big, 250), 250);
	ck_assert_int_eq(take_len(p[1]), 100);
	ck_assert_int_eq(take_len(p[1]), 100);
	ck_assert_int_eq(take_len(p[1]), 50);
	ck_assert(memcmp(in, big + 200, 50) == 0);
	/* Only the first queue below counts. */
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_write(p[0], big, 250), 250);
	ck_assert_int_eq(take_len(p[1]), 250);
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	GIVES(str_write(p[0], big, 101), 101);
	ck_assert_int_eq(waiting(p[1]), 2);
	close_pipe(p);
}
END_TEST

/* "... else ERANGE" */
START_TEST(a_write_outside_the_packet_limits_is_erange)
{
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tlim"), 0);
	FAILS(str_write(p[0], big, 9), ERANGE);
	FAILS(str_write(p[0], big, 101), ERANGE);
	FAILS(str_write(p[0], big, 100000), ERANGE);
	ck_assert_int_eq(waiting(p[1]), 0);
	GIVES(str_write(p[0], big, 10), 10);
	GIVES(str_write(p[0], big, 100), 100);
	ck_assert_int_eq(waiting(p[1]), 2);
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	GIVES(str_write(p[0], big, 9), 9);
	close_pipe(p);
}
END_TEST

START_TEST(writev_judges_the_packet_limits_by_its_sum)
{
	struct iovec iov[3] = {{big, 4}, {big, 4}, {big, 4}};
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tlim"), 0);
	FAILS(str_writev(p[0], iov, 2), ERANGE);
	GIVES(str_writev(p[0], iov, 3), 12);
	ck_assert_int_eq(take_len(p[1]), 12);
	close_pipe(p);
}
END_TEST

/* "writev is one write." */
START_TEST(writev_is_one_message)
{
	struct iovec iov[4] = {{(char *)(uintptr_t) "ab", 2}, {NULL, 0},
	    {(char *)(uintptr_t) "cde", 3}, {(char *)(uintptr_t) "f", 1}};
	int p[2];

	make_pipe(p);
	read_mode(p[1], RMSGN);
	GIVES(str_writev(p[0], iov, 4), 6);
	ck_assert_int_eq(waiting(p[1]), 1);
	READS(p[1], 10, "abcdef");
	close_pipe(p);
}
END_TEST

START_TEST(a_big_writev_is_cut_like_a_big_write)
{
	struct iovec iov[3] = {{big, 50000}, {big + 50000, 30000}, {big + 80000, 60000}};
	int p[2];

	fill_big();
	make_pipe(p);
	set_marks(p[1], 1 << 20, 1000);
	GIVES(str_writev(p[0], iov, 3), 140000);
	ck_assert_int_eq(take_len(p[1]), 65536);
	ck_assert(memcmp(in, big, 65536) == 0);
	ck_assert_int_eq(take_len(p[1]), 65536);
	ck_assert(memcmp(in, big + 65536, 65536) == 0);
	ck_assert_int_eq(take_len(p[1]), 140000 - 2 * 65536);
	close_pipe(p);
}
END_TEST

START_TEST(writev_refuses_a_bad_count)
{
	static struct iovec iov[IOV_MAX + 1];
	int p[2];

	for (int i = 0; i <= IOV_MAX; i++)
		iov[i] = (struct iovec){big, 1};
	make_pipe(p);
	FAILS(str_writev(p[0], iov, -1), EINVAL);
	FAILS(str_writev(p[0], iov, INT_MIN), EINVAL);
	FAILS(str_writev(p[0], iov, IOV_MAX + 1), EINVAL);
	ck_assert_int_eq(waiting(p[1]), 0);
	GIVES(str_writev(p[0], iov, IOV_MAX), IOV_MAX);
	ck_assert_int_eq(take_len(p[1]), IOV_MAX);
	close_pipe(p);
}
END_TEST

/* ---- zero length -------------------------------------------------------- */

/* "default on for devices, off for pipes": otherwise 0 and nothing sent */
START_TEST(a_zero_length_write_on_a_pipe_sends_nothing)
{
	struct iovec iov = {NULL, 0};
	int p[2], opt = -1;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_GWROPT, &opt), 0);
	ck_assert_int_eq(opt & SNDZERO, 0);
	GIVES(str_write(p[0], NULL, 0), 0);
	GIVES(str_writev(p[0], &iov, 1), 0);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_zero_length_write_with_sndzero_sends_a_message)
{
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_SWROPT, SNDZERO), 0);
	GIVES(str_write(p[0], NULL, 0), 0);
	ck_assert_int_eq(waiting(p[1]), 1);
	ck_assert_int_eq(first_bytes(p[1]), 0);
	TAKES(p[1], NULL, "", 0);
	/* The other end has options of its own. */
	GIVES(str_write(p[1], NULL, 0), 0);
	ck_assert_int_eq(waiting(p[0]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_zero_length_write_on_a_device_sends_a_message)
{
	int fd = open_dev("echo"), opt = -1;

	GIVES(str_ioctl(fd, I_GWROPT, &opt), 0);
	ck_assert_int_eq(opt & SNDZERO, SNDZERO);
	GIVES(str_write(fd, NULL, 0), 0);
	ck_assert_int_eq(waiting(fd), 1);
	READS(fd, 10, "");
	GIVES(str_ioctl(fd, I_SWROPT, 0), 0);
	GIVES(str_write(fd, NULL, 0), 0);
	ck_assert_int_eq(waiting(fd), 0);
	GIVES(str_close(fd), 0);
}
END_TEST

/* ---- flow control ------------------------------------------------------- */

/* "Full when bytes ≥ hiwat" */
START_TEST(a_reader_that_is_full_refuses_more)
{
	int p[2];

	make_pipe(p);
	set_marks(p[1], 100, 10);
	ck_assert_int_eq(fill(p[0]), 100);
	FAILS(str_write(p[0], "x", 1), EAGAIN);
	ck_assert_int_eq(waiting(p[1]), 100);
	close_pipe(p);
}
END_TEST

START_TEST(one_big_message_may_pass_the_mark)
{
	int p[2];

	make_pipe(p);
	set_marks(p[1], 100, 10);
	GIVES(str_write(p[0], big, 99), 99);
	GIVES(str_write(p[0], big, 5000), 5000);
	FAILS(str_write(p[0], big, 1), EAGAIN);
	close_pipe(p);
}
END_TEST

/* "... or blocks ≥ hiwat" */
START_TEST(empty_messages_count_as_blocks)
{
	int p[2], n = 0;

	make_pipe(p);
	set_marks(p[1], 50, 10);
	GIVES(str_ioctl(p[0], I_SWROPT, SNDZERO), 0);
	while (str_write(p[0], NULL, 0) == 0)
		ck_assert_int_lt(++n, 1000);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(n, 50);
	close_pipe(p);
}
END_TEST

/* "Cleared when both are below hiwat": what a reader took is credit at once. */
START_TEST(each_message_read_makes_room_for_one)
{
	int p[2];

	make_pipe(p);
	read_mode(p[1], RMSGN);
	set_marks(p[1], 8, 2);
	ck_assert_int_eq(fill(p[0]), 8);
	for (int i = 0; i < 100; i++) {
		READS(p[1], 1, "f");
		GIVES(str_write(p[0], "f", 1), 1);
		FAILS(str_write(p[0], "f", 1), EAGAIN);
	}
	ck_assert_int_eq(waiting(p[1]), 8);
	close_pipe(p);
}
END_TEST

/* "something accepted → partial count" */
START_TEST(a_write_that_fills_the_stream_gives_a_partial_count)
{
	int p[2];

	test_modules();
	fill_big();
	make_pipe(p);
	set_marks(p[1], 250, 10);
	GIVES(str_ioctl(p[0], I_PUSH, "tcut"), 0);
	GIVES(str_write(p[0], big, 1000), 300);
	FAILS(str_write(p[0], big + 300, 700), EAGAIN);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(take_len(p[1]), 100);
	ck_assert(memcmp(in, big + 200, 100) == 0);
	GIVES(str_write(p[0], big + 300, 700), 300);
	close_pipe(p);
}
END_TEST

START_TEST(a_big_nonblocking_write_stops_at_the_default_mark)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[0], big, 200000), 65536);
	FAILS(str_write(p[0], big, 200000), EAGAIN);
	ck_assert_int_eq(drain(p[1]), 65536);
	close_pipe(p);
}
END_TEST

/* Read everything until n bytes have come; the last of them is in `in`. */
struct reader {
	int r_fd;
	size_t r_want;
	size_t r_got;
};

static void
read_all(void *arg)
{
	struct reader *r = arg;

	while (r->r_got < r->r_want) {
		ssize_t n = str_read(r->r_fd, in + r->r_got, r->r_want - r->r_got);

		if (n <= 0)
			break;
		r->r_got += (size_t)n;
	}
}

START_TEST(a_blocking_write_sleeps_until_all_is_sent)
{
	struct reader r = {.r_want = 300000};
	struct later l;
	long start = now_ms();
	int p[2];

	fill_big();
	make_blocking_pipe(p);
	r.r_fd = p[1];
	later(&l, 40, read_all, &r);
	GIVES(str_write(p[0], big, 300000), 300000);
	ck_assert_int_ge(now_ms() - start, 35);
	later_join(&l);
	ck_assert_uint_eq(r.r_got, 300000);
	ck_assert(memcmp(in, big, 300000) == 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_blocking_writev_sleeps_until_all_is_sent)
{
	struct iovec iov[3] = {{big, 100001}, {big + 100001, 7}, {big + 100008, 150000}};
	struct reader r = {.r_want = 250008};
	struct later l;
	int p[2];

	fill_big();
	make_blocking_pipe(p);
	r.r_fd = p[1];
	later(&l, 20, read_all, &r);
	GIVES(str_writev(p[0], iov, 3), 250008);
	later_join(&l);
	ck_assert_uint_eq(r.r_got, 250008);
	ck_assert(memcmp(in, big, 250008) == 0);
	close_pipe(p);
}
END_TEST

/* "EAGAIN / sleep": a signal before anything was accepted is EINTR */
START_TEST(a_signal_ends_a_write_that_sent_nothing_with_eintr)
{
	struct nag n;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	nonblock(p[0], false);
	catch_signal(SIGUSR1, 0);
	nag_start(&n);
	FAILS(str_write(p[0], "xy", 2), EINTR);
	nag_stop(&n);
	ck_assert_int_eq(waiting(p[1]), 10);
	close_pipe(p);
}
END_TEST

/* "partial count, also when a signal interrupts" */
START_TEST(a_signal_ends_a_partial_write_with_its_count)
{
	struct nag n;
	int p[2];

	test_modules();
	make_blocking_pipe(p);
	set_marks(p[1], 250, 10);
	GIVES(str_ioctl(p[0], I_PUSH, "tcut"), 0);
	catch_signal(SIGUSR1, _i == 0 ? 0 : SA_RESTART);
	nag_start(&n);
	GIVES(str_write(p[0], big, 1000), 300);
	nag_stop(&n);
	close_pipe(p);
}
END_TEST

/* Make room once a signal has interrupted the writer, which sleeps by now. */
static void
drain_later(void *arg)
{
	struct act *a = arg;
	int before = caught;

	for (int i = 0; caught == before && i < 5000; i++)
		msleep(2);
	a->a_result = drain(a->a_fd);
}

START_TEST(sa_restart_takes_up_a_write_that_sent_nothing)
{
	struct later l;
	struct act a;
	struct nag n;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	nonblock(p[0], false);
	a = (struct act){p[1], NULL, 0};
	catch_signal(SIGUSR1, SA_RESTART);
	nag_start(&n);
	later(&l, 60, drain_later, &a);
	GIVES(str_write(p[0], "xy", 2), 2);
	nag_stop(&n);
	later_join(&l);
	ck_assert_int_ge(caught, 1);
	ck_assert_int_ge(a.a_result, 10);
	close_pipe(p);
}
END_TEST

START_TEST(a_flush_of_the_reader_wakes_a_sleeping_writer)
{
	struct later l;
	struct act a;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	GIVES(str_ioctl(p[0], I_PUSH, "pipemod"), 0);
	fill(p[0]);
	nonblock(p[0], false);
	a = (struct act){p[0], "woken", 0};
	later(&l, 0, act, &a);
	msleep(40);
	GIVES(str_ioctl(p[1], I_FLUSH, FLUSHR), 0);
	later_join(&l);
	ck_assert_int_eq(a.a_result, 5);
	READS(p[1], 10, "woken");
	close_pipe(p);
}
END_TEST

/* Setting the high mark up lets a writer go on. */
START_TEST(a_raised_mark_lets_more_in)
{
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 5);
	ck_assert_int_eq(fill(p[0]), 10);
	set_marks(p[1], 30, 5);
	ck_assert_int_eq(fill(p[0]), 20);
	close_pipe(p);
}
END_TEST

/* "Writes ≤ PIPE_BUF (4096) are atomic between writers." */
struct writer {
	int w_fd;
	char w_char;
	int w_count;
	int w_bad;
};

static void *
write_blocks(void *arg)
{
	struct writer *w = arg;
	char buf[4096];

	memset(buf, w->w_char, sizeof(buf));
	for (int i = 0; i < w->w_count; i++)
		if (str_write(w->w_fd, buf, sizeof(buf)) != sizeof(buf))
			w->w_bad++;
	return NULL;
}

START_TEST(writes_of_4096_bytes_are_never_mixed)
{
	struct writer w[2];
	pthread_t t[2];
	int p[2], count[2] = {0, 0};

	make_blocking_pipe(p);
	read_mode(p[1], RNORM | RFILL);
	for (int i = 0; i < 2; i++) {
		w[i] = (struct writer){p[0], (char)('a' + i), 500, 0};
		pthread_create(&t[i], NULL, write_blocks, &w[i]);
	}
	for (int i = 0; i < 1000; i++) {
		GIVES(str_read(p[1], in, 4096), 4096);
		/* All bytes are the first one's like. */
		ck_assert_msg(memcmp(in, in + 1, 4095) == 0, "block %d is mixed", i);
		count[in[0] - 'a']++;
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		ck_assert_int_eq(w[i].w_bad, 0);
		ck_assert_int_eq(count[i], 500);
	}
	close_pipe(p);
}
END_TEST

/* ---- broken pipe -------------------------------------------------------- */

START_TEST(a_write_to_a_pipe_without_reader_is_epipe_and_sigpipe)
{
	struct iovec iov = {big, 1};
	int p[2];

	make_pipe(p);
	GIVES(str_close(p[1]), 0);
	catch_signal(SIGPIPE, 0);
	FAILS(str_write(p[0], "x", 1), EPIPE);
	ck_assert_int_eq(caught, 1);
	FAILS(str_writev(p[0], &iov, 1), EPIPE);
	ck_assert_int_eq(caught, 2);
	FAILS(str_write(p[0], big, 200000), EPIPE);
	ck_assert_int_eq(caught, 3);
	signal(SIGPIPE, SIG_IGN);
	FAILS(str_write(p[0], "x", 1), EPIPE);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(a_sleeping_writer_is_woken_by_the_close_of_its_reader)
{
	struct later l;
	struct act a;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	nonblock(p[0], false);
	a = (struct act){p[1], NULL, 0};
	later(&l, 40, act, &a);
	catch_signal(SIGPIPE, 0);
	FAILS(str_write(p[0], "x", 1), EPIPE);
	later_join(&l);
	ck_assert_int_eq(caught, 1);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(an_uncaught_sigpipe_kills_the_writer)
{
	pid_t pid;
	int p[2], r;

	make_pipe(p);
	GIVES(str_close(p[1]), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		str_write(p[0], "x", 1);
		_exit(0);
	}
	r = reap(pid, SOON);
	ck_assert_int_eq(r, 128 + SIGPIPE);
	GIVES(str_close(p[0]), 0);
}
END_TEST

/* ---- bad pointers ------------------------------------------------------- */

static const struct {
	uintptr_t addr;
	size_t n;
} bad[] = {
    {0, 1},
    {0, 100000},
    {UINTPTR_MAX, 1},
    {UINTPTR_MAX - 9, 100},
    {UINTPTR_MAX / 2 + 1, 1},
    {0x10000, SIZE_MAX},
    {0x10000, SIZE_MAX / 2 + 1},
};
#define NBADP ((int)(sizeof(bad) / sizeof(bad[0])))

/* "A bad iovec or buffer → EFAULT and nothing sent." */
START_TEST(a_bad_buffer_is_efault_and_nothing_is_sent)
{
	int p[2];

	make_pipe(p);
	FAILS(str_write(p[0], (void *)bad[_i].addr, bad[_i].n), EFAULT);
	ck_assert_int_eq(waiting(p[1]), 0);
	GIVES(str_write(p[0], "x", 1), 1);
	READS(p[1], 5, "x");
	close_pipe(p);
}
END_TEST

START_TEST(a_bad_iovec_is_efault_and_nothing_is_sent)
{
	struct iovec iov[2] = {{big, 100000}, {(void *)bad[_i].addr, bad[_i].n}};
	int p[2];

	make_pipe(p);
	set_marks(p[1], 1 << 20, 1000);
	errno = 0;
	ck_assert_int_eq(str_writev(p[0], iov, 2), -1);
	/* A length over SSIZE_MAX may be judged first, as writev(2). */
	ck_assert_msg(errno == EFAULT || (errno == EINVAL && bad[_i].n > SSIZE_MAX), "%s",
	    ename(errno));
	FAILS(str_writev(p[0], NULL, 1), EFAULT);
	FAILS(str_writev(p[0], (struct iovec *)-1, 1), EFAULT);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(unmapped_memory_is_efault_in_checked_mode)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 32 * page;
	char *m = mmap(
	    NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int p[2];

	ck_assert_ptr_ne(m, MAP_FAILED);
	make_pipe(p); /* before the hole, which its mappings might fill */
	munmap(m + n - page, page);
	set_marks(p[1], 1 << 20, 1000);
	FAILS(str_write(p[0], m + n - page, 5), EFAULT);
	FAILS(str_write(p[0], m + n - page - 5, 10), EFAULT);
	/* In the second piece of a write that is cut. */
	FAILS(str_write(p[0], m, n), EFAULT);
	ck_assert_int_eq(waiting(p[1]), 0);
	munmap(m, n - page);
	close_pipe(p);
}
END_TEST

/* ---- echo and nuls ------------------------------------------------------ */

START_TEST(echo_sends_everything_back_in_order)
{
	static char text[3000];
	int fd = open_dev("echo");

	read_mode(fd, RMSGN);
	for (int i = 0; i < 3000; i++)
		text[i] = (char)(i % 111);
	for (size_t n = 1; n <= 3000; n += 333)
		GIVES(str_write(fd, text, n), n);
	for (size_t n = 1; n <= 3000; n += 333) {
		GIVES(str_read(fd, in, sizeof(in)), n);
		ck_assert(memcmp(in, text, n) == 0);
	}
	FAILS(str_read(fd, in, 1), EAGAIN);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(echo_keeps_kinds_and_bands)
{
	int fd = open_dev("echo");

	GIVES(put_msg(fd, "c0", "d0", 0), 0);
	GIVES(put_msg(fd, NULL, "d5", 5), 0);
	GIVES(put_msg(fd, "hi", "now", HIPRI), 0);
	TAKES(fd, "hi", "now", HIPRI);
	TAKES(fd, NULL, "d5", 5);
	TAKES(fd, "c0", "d0", 0);
	GIVES(str_close(fd), 0);
}
END_TEST

/* Its queues (5120/1024) and the head's (65536) fill, then it refuses; and
   what it accepted comes back, every byte. */
START_TEST(echo_that_is_not_read_refuses_and_loses_nothing)
{
	int fd = open_dev("echo");
	long sent = 0, got = 0;
	ssize_t n;

	fill_big();
	while ((n = str_write(fd, big + sent, 500)) > 0)
		ck_assert_int_lt(sent += n, 290000);
	ck_assert_int_eq(n, -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_ge(sent, 65536);
	ck_assert_int_le(sent, 65536 + 2 * 5120 + 3 * 499);
	while ((n = str_read(fd, in + got, 1000)) > 0)
		got += n;
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(got, sent);
	ck_assert(memcmp(in, big, (size_t)got) == 0);
	GIVES(str_write(fd, "x", 1), 1);
	READS(fd, 5, "x");
	GIVES(str_close(fd), 0);
}
END_TEST

static void
drain_device(void *arg)
{
	struct act *a = arg;

	while (a->a_result < 200000) {
		long n = drain(a->a_fd);

		if (n == 0)
			msleep(1);
		a->a_result += n;
	}
}

START_TEST(a_blocking_write_to_echo_goes_on_when_it_is_read)
{
	int fd = str_open("/dev/streams/clone/echo", O_RDWR);
	int rfd = -1;
	struct later l;
	struct act a;

	ck_assert_int_ge(fd, 0);
	nonblock(fd, true);
	rfd = str_dup(fd);
	a = (struct act){rfd, NULL, 0};
	later(&l, 0, drain_device, &a);
	for (long sent = 0; sent < 200000;) {
		struct pollfd pfd = {.fd = fd, .events = POLLOUT};
		ssize_t n;

		GIVES(str_poll(&pfd, 1, SOON), 1);
		n = str_write(
		    fd, big, sent + 700 < 200000 ? 700 : (size_t)(200000 - sent));
		if (n > 0)
			sent += n;
	}
	later_join(&l);
	ck_assert_int_eq(a.a_result, 200000);
	GIVES(str_close(rfd), 0);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(nuls_takes_everything_and_gives_nothing)
{
	int fd = open_dev("nuls");

	for (int i = 0; i < 200; i++)
		GIVES(str_write(fd, big, 65536), 65536);
	GIVES(put_msg(fd, "ctl", "data", 3), 0);
	GIVES(put_msg(fd, "ctl", "data", HIPRI), 0);
	ck_assert_int_eq(polled(fd, POLLIN | POLLOUT), POLLOUT);
	ck_assert_int_eq(waiting(fd), 0);
	FAILS(str_read(fd, in, 1), EAGAIN);
	GIVES(str_close(fd), 0);
}
END_TEST

static void
messages(Suite *s)
{
	TCase *tc = group(s, "messages", 120);

	tcase_add_test(tc, a_write_is_one_message);
	tcase_add_test(tc, a_write_over_65536_bytes_is_cut_there);
	tcase_add_test(tc, a_write_is_cut_at_a_tuned_strmsgsz);
	tcase_add_test(tc, a_write_is_split_at_maxpsz_of_the_first_queue_below);
	tcase_add_test(tc, a_write_outside_the_packet_limits_is_erange);
	tcase_add_test(tc, writev_judges_the_packet_limits_by_its_sum);
	tcase_add_test(tc, writev_is_one_message);
	tcase_add_test(tc, a_big_writev_is_cut_like_a_big_write);
	tcase_add_test(tc, writev_refuses_a_bad_count);
	tcase_add_test(tc, a_zero_length_write_on_a_pipe_sends_nothing);
	tcase_add_test(tc, a_zero_length_write_with_sndzero_sends_a_message);
	tcase_add_test(tc, a_zero_length_write_on_a_device_sends_a_message);
	tcase_add_loop_test(tc, a_bad_buffer_is_efault_and_nothing_is_sent, 0, NBADP);
	tcase_add_loop_test(tc, a_bad_iovec_is_efault_and_nothing_is_sent, 0, NBADP);
	if (checked_mode())
		tcase_add_test(tc, unmapped_memory_is_efault_in_checked_mode);
	tcase_add_test(tc, echo_sends_everything_back_in_order);
	tcase_add_test(tc, echo_keeps_kinds_and_bands);
	tcase_add_test(tc, echo_that_is_not_read_refuses_and_loses_nothing);
	tcase_add_test(tc, a_blocking_write_to_echo_goes_on_when_it_is_read);
	tcase_add_test(tc, nuls_takes_everything_and_gives_nothing);
}

static void
flow(Suite *s)
{
	TCase *tc = group(s, "flow control", 120);

	tcase_add_test(tc, a_reader_that_is_full_refuses_more);
	tcase_add_test(tc, one_big_message_may_pass_the_mark);
	tcase_add_test(tc, empty_messages_count_as_blocks);
	tcase_add_test(tc, each_message_read_makes_room_for_one);
	tcase_add_test(tc, a_write_that_fills_the_stream_gives_a_partial_count);
	tcase_add_test(tc, a_big_nonblocking_write_stops_at_the_default_mark);
	tcase_add_test(tc, a_blocking_write_sleeps_until_all_is_sent);
	tcase_add_test(tc, a_blocking_writev_sleeps_until_all_is_sent);
	tcase_add_test(tc, a_signal_ends_a_write_that_sent_nothing_with_eintr);
	tcase_add_loop_test(tc, a_signal_ends_a_partial_write_with_its_count, 0, 2);
	/* It keeps the handler back as long as the sleep goes on. */
	if (!under_tsan())
		tcase_add_test(tc, sa_restart_takes_up_a_write_that_sent_nothing);
	tcase_add_test(tc, a_flush_of_the_reader_wakes_a_sleeping_writer);
	tcase_add_test(tc, a_raised_mark_lets_more_in);
	tcase_add_test(tc, writes_of_4096_bytes_are_never_mixed);
	tcase_add_test(tc, a_write_to_a_pipe_without_reader_is_epipe_and_sigpipe);
	tcase_add_test(tc, a_sleeping_writer_is_woken_by_the_close_of_its_reader);
	if (can_fork())
		tcase_add_test(tc, an_uncaught_sigpipe_kills_the_writer);
}

int
main(void)
{
	Suite *s = suite_create("write");

	messages(s);
	flow(s);
	return run_suite(s);
}
