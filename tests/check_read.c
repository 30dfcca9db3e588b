/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_read.c: str_read and str_readv (streamio.md §3, §12): every read mode
 * with every protocol option over every kind of message, first case by case,
 * then by random operations against a naive model.
 */
#include "headlib.h"

#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>

/* A zero-length message, which a pipe sends only with SNDZERO. */
static void
send_empty(int fd)
{
	GIVES(str_ioctl(fd, I_SWROPT, SNDZERO), 0);
	GIVES(str_write(fd, "", 0), 0);
	GIVES(str_ioctl(fd, I_SWROPT, 0), 0);
}

/* A block of text for str_putmblk. */
static mblk_t *
block(const char *text, int type, int flag)
{
	mblk_t *mp = str_mblkalloc(strlen(text) + 1);

	ck_assert_ptr_nonnull(mp);
	memcpy(mp->b_wptr, text, strlen(text));
	mp->b_wptr += strlen(text);
	mp->b_datap->db_type = (unsigned char)type;
	mp->b_flag = (unsigned short)flag;
	return mp;
}

/* ---- modes -------------------------------------------------------------- */

START_TEST(a_read_of_zero_bytes_gives_0_at_once)
{
	int p[2];

	make_blocking_pipe(p);
	GIVES(str_read(p[0], NULL, 0), 0);
	read_mode(p[0], RMSGD);
	GIVES(str_write(p[1], "kept", 4), 4);
	GIVES(str_read(p[0], NULL, 0), 0);
	READS(p[0], 10, "kept");
	close_pipe(p);
}
END_TEST

START_TEST(rnorm_crosses_message_boundaries)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "abc", 3), 3);
	GIVES(str_write(p[1], "def", 3), 3);
	GIVES(str_write(p[1], "ghi", 3), 3);
	READS(p[0], 4, "abcd");
	READS(p[0], 100, "efghi");
	FAILS(str_read(p[0], (char[1]){0}, 1), EAGAIN);
	close_pipe(p);
}
END_TEST

START_TEST(rnorm_puts_the_rest_of_a_partly_read_message_back)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "abcdef", 6), 6);
	READS(p[0], 2, "ab");
	ck_assert_int_eq(waiting(p[0]), 1);
	ck_assert_int_eq(first_bytes(p[0]), 4);
	READS(p[0], 2, "cd");
	READS(p[0], 2, "ef");
	ck_assert_int_eq(waiting(p[0]), 0);
	close_pipe(p);
}
END_TEST

/* "stops before a zero-length message if something was read; a zero-length
   message read first is consumed and gives 0" */
START_TEST(rnorm_stops_before_a_zero_length_message)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "ab", 2), 2);
	send_empty(p[1]);
	GIVES(str_write(p[1], "cd", 2), 2);
	READS(p[0], 10, "ab");
	ck_assert_int_eq(waiting(p[0]), 2);
	READS(p[0], 10, "");
	READS(p[0], 10, "cd");
	close_pipe(p);
}
END_TEST

START_TEST(rmsgd_takes_one_message_and_discards_its_rest)
{
	int p[2];

	make_pipe(p);
	read_mode(p[0], RMSGD);
	GIVES(str_write(p[1], "abcdef", 6), 6);
	GIVES(str_write(p[1], "gh", 2), 2);
	READS(p[0], 3, "abc");
	READS(p[0], 10, "gh");
	FAILS(str_read(p[0], (char[1]){0}, 1), EAGAIN);
	close_pipe(p);
}
END_TEST

START_TEST(rmsgn_takes_one_message_and_keeps_its_rest)
{
	int p[2];

	make_pipe(p);
	read_mode(p[0], RMSGN);
	GIVES(str_write(p[1], "abcdef", 6), 6);
	GIVES(str_write(p[1], "gh", 2), 2);
	READS(p[0], 4, "abcd");
	READS(p[0], 4, "ef");
	READS(p[0], 4, "gh");
	close_pipe(p);
}
END_TEST

START_TEST(message_modes_give_0_for_a_zero_length_message)
{
	int p[2];

	make_pipe(p);
	read_mode(p[0], _i == 0 ? RMSGD : RMSGN);
	send_empty(p[1]);
	GIVES(str_write(p[1], "x", 1), 1);
	READS(p[0], 10, "");
	READS(p[0], 10, "x");
	close_pipe(p);
}
END_TEST

START_TEST(an_exact_read_leaves_no_empty_rest)
{
	static const int modes[] = {RNORM, RMSGD, RMSGN};
	int p[2];

	make_pipe(p);
	read_mode(p[0], modes[_i]);
	GIVES(str_write(p[1], "abc", 3), 3);
	READS(p[0], 3, "abc");
	ck_assert_int_eq(waiting(p[0]), 0);
	FAILS(str_read(p[0], (char[1]){0}, 1), EAGAIN);
	close_pipe(p);
}
END_TEST

START_TEST(higher_bands_are_read_first)
{
	int p[2];

	make_pipe(p);
	read_mode(p[0], RMSGN);
	GIVES(put_msg(p[1], NULL, "b0", 0), 0);
	GIVES(put_msg(p[1], NULL, "b3", 3), 0);
	GIVES(put_msg(p[1], NULL, "b1", 1), 0);
	GIVES(put_msg(p[1], NULL, "B3", 3), 0);
	READS(p[0], 10, "b3");
	READS(p[0], 10, "B3");
	READS(p[0], 10, "b1");
	READS(p[0], 10, "b0");
	close_pipe(p);
}
END_TEST

/* "the rest ... goes back to the front and keeps its priority" */
START_TEST(the_rest_of_a_band_message_keeps_its_band)
{
	int p[2];

	make_pipe(p);
	read_mode(p[0], RMSGN);
	GIVES(put_msg(p[1], NULL, "first", 2), 0);
	GIVES(put_msg(p[1], NULL, "second", 2), 0);
	READS(p[0], 2, "fi");
	GIVES(put_msg(p[1], NULL, "zero", 0), 0);
	TAKES(p[0], NULL, "rst", 2);
	TAKES(p[0], NULL, "second", 2);
	TAKES(p[0], NULL, "zero", 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_marked_message_stops_the_read_before_and_after_it)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "ab", 2), 2);
	GIVES(str_putmblk(p[1], block("cd", M_DATA, MSGMARK)), 0);
	GIVES(str_write(p[1], "ef", 2), 2);
	READS(p[0], 10, "ab");
	READS(p[0], 10, "cd");
	READS(p[0], 10, "ef");
	close_pipe(p);
}
END_TEST

START_TEST(the_mode_may_change_in_mid_message)
{
	int p[2];

	make_pipe(p);
	read_mode(p[0], RMSGN);
	GIVES(str_write(p[1], "abcd", 4), 4);
	GIVES(str_write(p[1], "ef", 2), 2);
	READS(p[0], 1, "a");
	read_mode(p[0], RNORM);
	READS(p[0], 4, "bcde");
	GIVES(str_write(p[1], "gh", 2), 2);
	read_mode(p[0], RMSGD);
	READS(p[0], 10, "f");
	READS(p[0], 1, "g");
	FAILS(str_read(p[0], (char[1]){0}, 1), EAGAIN);
	close_pipe(p);
}
END_TEST

/* ---- control parts ------------------------------------------------------ */

static const int all_modes[] = {RNORM, RMSGD, RMSGN};

/* "RPROTNORM: M_PROTO/M_PCPROTO at the head → EBADMSG, message stays" */
START_TEST(rprotnorm_refuses_a_control_part_and_keeps_it)
{
	char buf[8];
	int p[2];

	make_pipe(p);
	read_mode(p[0], all_modes[_i] | RPROTNORM);
	GIVES(put_msg(p[1], "ctl", "data", 0), 0);
	FAILS(str_read(p[0], buf, 8), EBADMSG);
	FAILS(str_read(p[0], buf, 8), EBADMSG);
	TAKES(p[0], "ctl", "data", 0);
	GIVES(put_msg(p[1], "urgent", NULL, HIPRI), 0);
	FAILS(str_read(p[0], buf, 8), EBADMSG);
	TAKES(p[0], "urgent", NULL, HIPRI);
	close_pipe(p);
}
END_TEST

START_TEST(rprotnorm_is_the_default)
{
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[1], "c", NULL, 0), 0);
	FAILS(str_read(p[0], (char[4]){0}, 4), EBADMSG);
	close_pipe(p);
}
END_TEST

/* "if data was already read in RNORM, return that first" */
START_TEST(rnorm_returns_data_before_a_control_part_is_refused)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "ab", 2), 2);
	GIVES(put_msg(p[1], "ctl", "cd", 0), 0);
	READS(p[0], 10, "ab");
	FAILS(str_read(p[0], (char[4]){0}, 4), EBADMSG);
	TAKES(p[0], "ctl", "cd", 0);
	close_pipe(p);
}
END_TEST

START_TEST(rprotdat_reads_the_control_part_as_data)
{
	int p[2];

	make_pipe(p);
	read_mode(p[0], all_modes[_i] | RPROTDAT);
	GIVES(put_msg(p[1], "ctl", "data", 0), 0);
	READS(p[0], 10, "ctldata");
	GIVES(put_msg(p[1], "only", NULL, 0), 0);
	READS(p[0], 10, "only");
	GIVES(put_msg(p[1], "urgent", "!", HIPRI), 0);
	READS(p[0], 10, "urgent!");
	ck_assert_int_eq(waiting(p[0]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(rprotdat_partial_reads_follow_the_mode)
{
	static const char *const rest[] = {"ldata", "", "ldata"};
	int p[2];

	make_pipe(p);
	read_mode(p[0], all_modes[_i] | RPROTDAT);
	GIVES(put_msg(p[1], "ctl", "data", 0), 0);
	READS(p[0], 2, "ct");
	if (all_modes[_i] == RMSGD)
		FAILS(str_read(p[0], (char[4]){0}, 4), EAGAIN);
	else
		READS(p[0], 10, rest[_i]);
	ck_assert_int_eq(waiting(p[0]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(rprotdis_discards_the_control_part)
{
	int p[2];

	make_pipe(p);
	read_mode(p[0], all_modes[_i] | RPROTDIS);
	GIVES(put_msg(p[1], "ctl", "data", 0), 0);
	READS(p[0], 10, "data");
	GIVES(put_msg(p[1], "urgent", "more", HIPRI), 0);
	READS(p[0], 10, "more");
	ck_assert_int_eq(waiting(p[0]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(rprotdis_partial_reads_follow_the_mode)
{
	int p[2];

	make_pipe(p);
	read_mode(p[0], all_modes[_i] | RPROTDIS);
	GIVES(put_msg(p[1], "ctl", "data", 0), 0);
	READS(p[0], 2, "da");
	if (all_modes[_i] == RMSGD)
		FAILS(str_read(p[0], (char[4]){0}, 4), EAGAIN);
	else
		READS(p[0], 10, "ta");
	ck_assert_int_eq(waiting(p[0]), 0);
	close_pipe(p);
}
END_TEST

/* "a control-only message ... is dropped and the read goes on" */
START_TEST(rprotdis_drops_a_control_only_message)
{
	int p[2];

	make_pipe(p);
	read_mode(p[0], all_modes[_i] | RPROTDIS);
	GIVES(put_msg(p[1], "gone", NULL, 0), 0);
	FAILS(str_read(p[0], (char[4]){0}, 4), EAGAIN);
	ck_assert_int_eq(waiting(p[0]), 0);
	GIVES(put_msg(p[1], "gone", NULL, 0), 0);
	GIVES(put_msg(p[1], "too", NULL, HIPRI), 0);
	GIVES(str_write(p[1], "data", 4), 4);
	READS(p[0], 10, "data");
	ck_assert_int_eq(waiting(p[0]), 0);
	close_pipe(p);
}
END_TEST

/* ---- scatter reads ------------------------------------------------------ */

START_TEST(readv_fills_its_buffers_in_order)
{
	char a[2], b[3], c[10];
	struct iovec iov[5] = {{a, 2}, {NULL, 0}, {b, 3}, {c, 0}, {c, 10}};
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "abcd", 4), 4);
	GIVES(str_write(p[1], "efgh", 4), 4);
	GIVES(str_readv(p[0], iov, 5), 8);
	ck_assert_mem_eq(a, "ab", 2);
	ck_assert_mem_eq(b, "cde", 3);
	ck_assert_mem_eq(c, "fgh", 3);
	close_pipe(p);
}
END_TEST

START_TEST(readv_is_one_read_for_the_read_mode)
{
	char a[2], b[2];
	struct iovec iov[2] = {{a, 2}, {b, 2}};
	int p[2];

	make_pipe(p);
	read_mode(p[0], RMSGD);
	GIVES(str_write(p[1], "abcdef", 6), 6);
	GIVES(str_write(p[1], "gh", 2), 2);
	GIVES(str_readv(p[0], iov, 2), 4);
	ck_assert_mem_eq(b, "cd", 2);
	GIVES(str_readv(p[0], iov, 2), 2);
	ck_assert_mem_eq(a, "gh", 2);
	close_pipe(p);
}
END_TEST

START_TEST(readv_of_nothing_but_empty_buffers_gives_0)
{
	char a;
	struct iovec iov[2] = {{&a, 0}, {NULL, 0}};
	int p[2];

	make_blocking_pipe(p);
	GIVES(str_readv(p[0], iov, 2), 0);
	close_pipe(p);
}
END_TEST

START_TEST(readv_refuses_a_bad_count)
{
	static struct iovec iov[IOV_MAX + 1];
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[1], "x", 1), 1);
	FAILS(str_readv(p[0], iov, -1), EINVAL);
	FAILS(str_readv(p[0], iov, INT_MIN), EINVAL);
	FAILS(str_readv(p[0], iov, IOV_MAX + 1), EINVAL);
	FAILS(str_readv(p[0], NULL, 2), EFAULT);
	FAILS(str_readv(p[0], (struct iovec *)-1, 2), EFAULT);
	READS(p[0], 5, "x");
	close_pipe(p);
}
END_TEST

/* ---- bad pointers ------------------------------------------------------- */

/* What can be judged without a system call (§12). */
static const struct {
	uintptr_t addr;
	size_t n;
} bad[] = {
    {0, 1},
    {0, 100},
    {UINTPTR_MAX, 1},
    {UINTPTR_MAX, 100},
    {UINTPTR_MAX - 9, 100},
    {UINTPTR_MAX / 2 + 1, 1},
    {0x10000, SIZE_MAX},
    {0x10000, SIZE_MAX / 2 + 1},
};
#define NBADP ((int)(sizeof(bad) / sizeof(bad[0])))

START_TEST(a_bad_buffer_is_efault_and_loses_nothing)
{
	int p[2];

	make_pipe(p);
	for (int m = 0; m < 3; m++) {
		read_mode(p[0], all_modes[m]);
		GIVES(str_write(p[1], "whole", 5), 5);
		FAILS(str_read(p[0], (void *)bad[_i].addr, bad[_i].n), EFAULT);
		ck_assert_int_eq(waiting(p[0]), 1);
		READS(p[0], 10, "whole");
	}
	close_pipe(p);
}
END_TEST

START_TEST(a_bad_iovec_is_efault_and_loses_nothing)
{
	char a[2];
	struct iovec iov[2] = {{a, 2}, {(void *)bad[_i].addr, bad[_i].n}};
	int p[2];

	make_pipe(p);
	for (int m = 0; m < 3; m++) {
		read_mode(p[0], all_modes[m]);
		GIVES(str_write(p[1], "whole", 5), 5);
		errno = 0;
		ck_assert_int_eq(str_readv(p[0], iov, 2), -1);
		/* A length over SSIZE_MAX may be judged first, as readv(2). */
		ck_assert_msg(
		    errno == EFAULT || (errno == EINVAL && bad[_i].n > SSIZE_MAX), "%s",
		    ename(errno));
		READS(p[0], 10, "whole");
	}
	close_pipe(p);
}
END_TEST

START_TEST(a_bad_iovec_with_a_control_part_loses_nothing)
{
	struct iovec iov[2] = {{(char[1]){0}, 1}, {NULL, 5}};
	int p[2];

	make_pipe(p);
	read_mode(p[0], RMSGN | (_i == 0 ? RPROTDAT : RPROTDIS));
	GIVES(put_msg(p[1], "ctl", "data", 0), 0);
	FAILS(str_readv(p[0], iov, 2), EFAULT);
	TAKES(p[0], "ctl", "data", 0);
	close_pipe(p);
}
END_TEST

/* "Any other bad pointer gives EFAULT in checked mode." */
START_TEST(unmapped_and_read_only_memory_is_efault_in_checked_mode)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *m = mmap(
	    NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int p[2];

	ck_assert_ptr_ne(m, MAP_FAILED);
	make_pipe(p); /* before the hole, which its mappings might fill */
	munmap(m + page, page);
	mprotect(m + 2 * page, page, PROT_READ);
	for (int i = 0; i < 3; i++) {
		read_mode(p[0], all_modes[i]);
		GIVES(str_write(p[1], "whole", 5), 5);
		FAILS(str_read(p[0], m + page, 10), EFAULT);
		FAILS(str_read(p[0], m + 2 * page, 10), EFAULT);
		FAILS(str_read(p[0], m + page - 3, 10), EFAULT);
		READS(p[0], 10, "whole");
	}
	munmap(m, page);
	munmap(m + 2 * page, page);
	close_pipe(p);
}
END_TEST

/* ---- waiting ------------------------------------------------------------ */

START_TEST(an_empty_stream_is_eagain_with_o_nonblock)
{
	int p[2];

	make_pipe(p);
	FAILS(str_read(p[0], (char[4]){0}, 4), EAGAIN);
	FAILS(str_readv(p[0], &(struct iovec){(char[4]){0}, 4}, 1), EAGAIN);
	close_pipe(p);
}
END_TEST

START_TEST(a_blocking_read_sleeps_until_data_comes)
{
	struct later l;
	long start = now_ms();
	struct act a;
	int p[2];

	make_blocking_pipe(p);
	a = (struct act){p[1], "late", 0};
	later(&l, 40, act, &a);
	/* "A blocking short read returns what it has." */
	READS(p[0], 100, "late");
	ck_assert_int_ge(now_ms() - start, 35);
	later_join(&l);
	ck_assert_int_eq(a.a_result, 4);
	close_pipe(p);
}
END_TEST

START_TEST(a_blocking_read_ends_when_the_peer_closes)
{
	struct later l;
	struct act a;
	int p[2];

	make_blocking_pipe(p);
	a = (struct act){p[1], NULL, -1};
	later(&l, 40, act, &a);
	READS(p[0], 100, "");
	later_join(&l);
	ck_assert_int_eq(a.a_result, 0);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(a_signal_ends_a_blocking_read_with_eintr)
{
	struct nag n;
	int p[2];

	make_blocking_pipe(p);
	catch_signal(SIGUSR1, 0);
	nag_start(&n);
	FAILS(str_read(p[0], (char[4]){0}, 4), EINTR);
	nag_stop(&n);
	ck_assert_int_ge(caught, 1);
	GIVES(str_write(p[1], "x", 1), 1);
	READS(p[0], 4, "x");
	close_pipe(p);
}
END_TEST

/* "signals and SA_RESTART behave as for read(2)" */
START_TEST(sa_restart_takes_up_a_blocking_read_again)
{
	struct later l;
	struct act a;
	struct nag n;
	int p[2];

	make_blocking_pipe(p);
	catch_signal(SIGUSR1, SA_RESTART);
	a = (struct act){p[1], "after", 0};
	nag_start(&n);
	later(&l, 60, act, &a);
	READS(p[0], 10, "after");
	nag_stop(&n);
	later_join(&l);
	ck_assert_int_ge(caught, 1);
	close_pipe(p);
}
END_TEST

static int handler_fd;
static volatile ssize_t handler_result;

static void
write_in_handler(int sig)
{
	int e = errno;

	(void)sig;
	if (caught++ == 0)
		handler_result = str_write(handler_fd, "handler", 7);
	errno = e;
}

/* "a handler that interrupts a sleep is outside and may call anything" */
START_TEST(a_handler_may_write_what_the_interrupted_read_waits_for)
{
	struct sigaction sa = {.sa_handler = write_in_handler, .sa_flags = SA_RESTART};
	struct nag n;
	int p[2];

	make_blocking_pipe(p);
	handler_fd = p[1];
	handler_result = -2;
	sigaction(SIGUSR1, &sa, NULL);
	nag_start(&n);
	READS(p[0], 10, "handler");
	nag_stop(&n);
	ck_assert_int_eq(handler_result, 7);
	close_pipe(p);
}
END_TEST

/* "From any other handler: works." */
START_TEST(a_handler_outside_the_library_may_write)
{
	struct sigaction sa = {.sa_handler = write_in_handler};
	int p[2];

	make_pipe(p);
	handler_fd = p[1];
	handler_result = -2;
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	ck_assert_int_eq(handler_result, 7);
	READS(p[0], 10, "handler");
	close_pipe(p);
}
END_TEST

/* "returns what it has, unless RFILL" */
START_TEST(rfill_waits_until_all_is_there)
{
	struct later l;
	struct act a;
	int p[2];

	make_blocking_pipe(p);
	read_mode(p[0], RNORM | RFILL);
	GIVES(str_write(p[1], "ab", 2), 2);
	a = (struct act){p[1], "cdef", 0};
	later(&l, 40, act, &a);
	READS(p[0], 5, "abcde");
	later_join(&l);
	READS(p[0], 1, "f");
	close_pipe(p);
}
END_TEST

START_TEST(rfill_ends_with_the_hangup)
{
	struct later l;
	struct act a;
	int p[2];

	make_blocking_pipe(p);
	read_mode(p[0], RNORM | RFILL);
	GIVES(str_write(p[1], "ab", 2), 2);
	a = (struct act){p[1], NULL, 0};
	later(&l, 40, act, &a);
	READS(p[0], 5, "ab");
	later_join(&l);
	READS(p[0], 5, "");
	GIVES(str_close(p[0]), 0);
}
END_TEST

static void *
read_one(void *arg)
{
	char c = 0;

	return str_read(*(int *)arg, &c, 1) == 1 ? (void *)(intptr_t)c : NULL;
}

START_TEST(each_of_two_sleeping_readers_gets_one_message)
{
	pthread_t t[2];
	void *r[2];
	int p[2];

	make_blocking_pipe(p);
	read_mode(p[0], RMSGN);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, read_one, &p[0]);
	msleep(20);
	GIVES(str_write(p[1], "a", 1), 1);
	GIVES(str_write(p[1], "b", 1), 1);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], &r[i]);
	ck_assert_int_eq((intptr_t)r[0] + (intptr_t)r[1], 'a' + 'b');
	ck_assert_ptr_ne(r[0], r[1]);
	close_pipe(p);
}
END_TEST

/* ---- sizes -------------------------------------------------------------- */

START_TEST(messages_of_every_size_come_whole)
{
	static const size_t sizes[] = {1, 63, 64, 65, 127, 128, 129, 511, 512, 1023, 1025,
	    2048, 4095, 4096, 4097, 16384, 32769, 65535, 65536};
	static unsigned char out[65536], in[65537];
	int p[2];

	make_pipe(p);
	read_mode(p[0], RMSGN);
	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (unsigned char)(i * 7 + i / 256);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		GIVES(str_write(p[1], out, sizes[i]), sizes[i]);
		GIVES(str_read(p[0], in, sizeof(in)), sizes[i]);
		ck_assert(memcmp(in, out, sizes[i]) == 0);
	}
	close_pipe(p);
}
END_TEST

START_TEST(a_big_message_is_read_in_small_bites)
{
	static unsigned char out[65536], in[65536];
	size_t got = 0, bite = 1;
	int p[2];

	make_pipe(p);
	read_mode(p[0], _i == 0 ? RNORM : RMSGN);
	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (unsigned char)(i ^ i >> 8);
	GIVES(str_write(p[1], out, sizeof(out)), sizeof(out));
	while (got < sizeof(in)) {
		size_t n = bite < sizeof(in) - got ? bite : sizeof(in) - got;

		GIVES(str_read(p[0], in + got, n), n);
		got += n;
		bite = bite * 3 % 4099;
		ck_assert_int_eq(waiting(p[0]), got < sizeof(in));
	}
	ck_assert(memcmp(in, out, sizeof(in)) == 0);
	close_pipe(p);
}
END_TEST

/* "The list a reader takes ... belongs to the stream head": a second
   descriptor and I_NREAD see what a first read left. */
START_TEST(what_one_read_leaves_every_descriptor_sees)
{
	int p[2], fd;

	make_pipe(p);
	fd = str_dup(p[0]);
	read_mode(p[0], RMSGN);
	for (int i = 0; i < 20; i++)
		GIVES(str_write(p[1], (char[1]){(char)('a' + i)}, 1), 1);
	READS(p[0], 1, "a");
	ck_assert_int_eq(waiting(fd), 19);
	READS(fd, 1, "b");
	GIVES(put_msg(p[1], "hi", NULL, HIPRI), 0);
	ck_assert_int_eq(polled(p[0], POLLIN | POLLPRI), POLLPRI);
	TAKES(fd, "hi", NULL, HIPRI);
	GIVES(put_msg(p[1], NULL, "band", 1), 0);
	READS(p[0], 10, "band");
	READS(p[0], 1, "c");
	GIVES(str_close(fd), 0);
	close_pipe(p);
}
END_TEST

/* ---- a naive model ------------------------------------------------------ */

/*
 * The model keeps messages as plain arrays in the order of §4: high priority,
 * then descending band, first in first out.
 */
enum { NMSG = 40, MAXPART = 12 };

struct msg {
	int m_pri;    /* HIPRI or band */
	bool m_proto; /* control part not yet touched */
	bool m_data;  /* has a data part */
	int m_nctl, m_ndata;
	char m_ctl[MAXPART], m_dat[2 * MAXPART];
	bool m_was_hi; /* came as high priority */
};

static struct msg model[NMSG];
static int nmodel;
static unsigned int rnd_state;
static char next_byte;

static int
rnd(int n)
{
	rnd_state = rnd_state * 1103515245u + 12345u;
	return (int)((rnd_state >> 16) % (unsigned)n);
}

static int
rank(const struct msg *m)
{
	return m->m_pri == HIPRI ? 256 : m->m_pri;
}

static void
model_put(const struct msg *m)
{
	int i = nmodel;

	while (i > 0 && rank(&model[i - 1]) < rank(m))
		i--;
	memmove(&model[i + 1], &model[i], (size_t)(nmodel - i) * sizeof(*m));
	model[i] = *m;
	nmodel++;
}

static void
model_drop(void)
{
	nmodel--;
	memmove(&model[0], &model[1], (size_t)nmodel * sizeof(model[0]));
}

/* Turn the first message into data as the protocol option says. */
static int
model_convert(struct msg *m, int prot)
{
	if (prot == RPROTNORM)
		return EBADMSG;
	if (prot == RPROTDAT) {
		memmove(m->m_dat + m->m_nctl, m->m_dat, (size_t)m->m_ndata);
		memcpy(m->m_dat, m->m_ctl, (size_t)m->m_nctl);
		m->m_ndata += m->m_nctl;
		m->m_data = true;
	}
	m->m_proto = false;
	return 0;
}

/* What read gives: bytes in out, or minus an errno. */
static int
model_read(int mode, int prot, int n, char *out)
{
	int done = 0;

	while (done < n && nmodel > 0) {
		struct msg *m = &model[0];
		int take;

		if (m->m_proto) {
			if (prot == RPROTNORM && done > 0)
				return done;
			if (model_convert(m, prot) != 0)
				return -EBADMSG;
			if (!m->m_data) {
				model_drop();
				continue;
			}
		}
		if (m->m_ndata == 0) {
			if (done == 0)
				model_drop();
			return done;
		}
		take = n - done < m->m_ndata ? n - done : m->m_ndata;
		memcpy(out + done, m->m_dat, (size_t)take);
		done += take;
		m->m_ndata -= take;
		memmove(m->m_dat, m->m_dat + take, (size_t)m->m_ndata);
		if (m->m_ndata == 0 || mode == RMSGD)
			model_drop();
		if (mode != RNORM)
			return done;
	}
	return done > 0 ? done : -EAGAIN;
}

static void
part(char *to, int n)
{
	for (int i = 0; i < n; i++)
		to[i] = next_byte++;
}

/* Send a random message, unless a rest of a high-priority one is first. */
static void
random_put(int fd)
{
	struct msg m = {.m_pri = rnd(8) == 0 ? HIPRI : rnd(4) ? 0 : rnd(4)};
	struct strbuf c = {.len = -1, .buf = m.m_ctl};
	struct strbuf d = {.len = -1, .buf = m.m_dat};

	if (nmodel == NMSG || (nmodel > 0 && model[0].m_was_hi))
		return;
	m.m_was_hi = m.m_pri == HIPRI;
	m.m_proto = m.m_was_hi || rnd(3) == 0;
	m.m_data = !m.m_proto || rnd(2) == 0;
	if (m.m_proto)
		part(m.m_ctl, c.len = m.m_nctl = 1 + rnd(MAXPART - 1));
	if (m.m_data)
		part(m.m_dat,
		    d.len = m.m_ndata = m.m_proto ? 1 + rnd(MAXPART - 1) : rnd(MAXPART));
	GIVES(putpmsg(fd, &c, &d, m.m_was_hi ? 0 : m.m_pri,
		  m.m_was_hi ? MSG_HIPRI : MSG_BAND),
	    0);
	model_put(&m);
}

static void
random_read(int fd, int mode, int prot, int step)
{
	char want[128], got[128];
	int n = 1 + rnd(rnd(4) == 0 ? 100 : 10);
	int w = model_read(mode, prot, n, want);
	int r = (int)str_read(fd, got, (size_t)n);

	if (r == -1)
		r = -errno;
	ck_assert_msg(r == w, "step %d: read of %d gives %d (%s), not %d (%s)", step, n,
	    r, r < 0 ? ename(-r) : "", w, w < 0 ? ename(-w) : "");
	if (w > 0)
		ck_assert_msg(
		    memcmp(got, want, (size_t)w) == 0, "step %d: wrong bytes", step);
	ck_assert_msg(waiting(fd) == nmodel, "step %d: %d messages, not %d", step,
	    waiting(fd), nmodel);
}

/* Loop: the nine pairs of read mode and protocol option, with and without a
   module that has the message queued on its way. */
START_TEST(random_messages_read_as_the_model_says)
{
	static const int prots[] = {RPROTNORM, RPROTDAT, RPROTDIS};
	int mode = all_modes[_i % 3], prot = prots[_i / 3 % 3], p[2];
	int flags, band;
	struct strbuf any = {128, 0, (char[128]){0}};

	rnd_state = 4711u + (unsigned)_i;
	nmodel = 0;
	make_pipe(p);
	if (_i >= 9)
		GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(p[1], I_SWROPT, SNDZERO), 0);
	read_mode(p[0], mode | prot);
	for (int step = 0; step < 3000; step++) {
		if (rnd(2) == 0)
			random_put(p[1]);
		else
			random_read(p[0], mode, prot, step);
		if (prot != RPROTNORM || nmodel == 0 || !model[0].m_proto)
			continue;
		/* A control part would stay for ever: take it otherwise. */
		flags = MSG_ANY;
		band = 0;
		GIVES(getpmsg(p[0], &any, &(struct strbuf){128, 0, (char[128]){0}}, &band,
			  &flags),
		    0);
		model_drop();
	}
	close_pipe(p);
}
END_TEST

static void
modes(Suite *s)
{
	TCase *tc = group(s, "modes", 120);

	tcase_add_test(tc, a_read_of_zero_bytes_gives_0_at_once);
	tcase_add_test(tc, rnorm_crosses_message_boundaries);
	tcase_add_test(tc, rnorm_puts_the_rest_of_a_partly_read_message_back);
	tcase_add_test(tc, rnorm_stops_before_a_zero_length_message);
	tcase_add_test(tc, rmsgd_takes_one_message_and_discards_its_rest);
	tcase_add_test(tc, rmsgn_takes_one_message_and_keeps_its_rest);
	tcase_add_loop_test(tc, message_modes_give_0_for_a_zero_length_message, 0, 2);
	tcase_add_loop_test(tc, an_exact_read_leaves_no_empty_rest, 0, 3);
	tcase_add_test(tc, higher_bands_are_read_first);
	tcase_add_test(tc, the_rest_of_a_band_message_keeps_its_band);
	tcase_add_test(tc, a_marked_message_stops_the_read_before_and_after_it);
	tcase_add_test(tc, the_mode_may_change_in_mid_message);
	tcase_add_loop_test(tc, rprotnorm_refuses_a_control_part_and_keeps_it, 0, 3);
	tcase_add_test(tc, rprotnorm_is_the_default);
	tcase_add_test(tc, rnorm_returns_data_before_a_control_part_is_refused);
	tcase_add_loop_test(tc, rprotdat_reads_the_control_part_as_data, 0, 3);
	tcase_add_loop_test(tc, rprotdat_partial_reads_follow_the_mode, 0, 3);
	tcase_add_loop_test(tc, rprotdis_discards_the_control_part, 0, 3);
	tcase_add_loop_test(tc, rprotdis_partial_reads_follow_the_mode, 0, 3);
	tcase_add_loop_test(tc, rprotdis_drops_a_control_only_message, 0, 3);
}

static void
buffers(Suite *s)
{
	TCase *tc = group(s, "buffers", 120);

	tcase_add_test(tc, readv_fills_its_buffers_in_order);
	tcase_add_test(tc, readv_is_one_read_for_the_read_mode);
	tcase_add_test(tc, readv_of_nothing_but_empty_buffers_gives_0);
	tcase_add_test(tc, readv_refuses_a_bad_count);
	tcase_add_loop_test(tc, a_bad_buffer_is_efault_and_loses_nothing, 0, NBADP);
	tcase_add_loop_test(tc, a_bad_iovec_is_efault_and_loses_nothing, 0, NBADP);
	tcase_add_loop_test(tc, a_bad_iovec_with_a_control_part_loses_nothing, 0, 2);
	if (checked_mode())
		tcase_add_test(
		    tc, unmapped_and_read_only_memory_is_efault_in_checked_mode);
	tcase_add_test(tc, messages_of_every_size_come_whole);
	tcase_add_loop_test(tc, a_big_message_is_read_in_small_bites, 0, 2);
	tcase_add_test(tc, what_one_read_leaves_every_descriptor_sees);
	tcase_add_loop_test(tc, random_messages_read_as_the_model_says, 0, 18);
}

static void
sleeping(Suite *s)
{
	TCase *tc = group(s, "waiting", 120);

	tcase_add_test(tc, an_empty_stream_is_eagain_with_o_nonblock);
	tcase_add_test(tc, a_blocking_read_sleeps_until_data_comes);
	tcase_add_test(tc, a_blocking_read_ends_when_the_peer_closes);
	tcase_add_test(tc, a_signal_ends_a_blocking_read_with_eintr);
	tcase_add_test(tc, sa_restart_takes_up_a_blocking_read_again);
	if (!under_tsan())
		tcase_add_test(
		    tc, a_handler_may_write_what_the_interrupted_read_waits_for);
	tcase_add_test(tc, a_handler_outside_the_library_may_write);
	tcase_add_test(tc, rfill_waits_until_all_is_there);
	tcase_add_test(tc, rfill_ends_with_the_hangup);
	tcase_add_test(tc, each_of_two_sleeping_readers_gets_one_message);
}

int
main(void)
{
	Suite *s = suite_create("read");

	modes(s);
	buffers(s);
	sleeping(s);
	return run_suite(s);
}
