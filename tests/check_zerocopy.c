/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_zerocopy.c: str_mblkalloc, str_putmblk and str_getmblk
 * (interface.md §1): the very block that was put arrives, and a call that
 * fails leaves it with the caller.
 */
#include "headlib.h"

#include <limits.h>
#include <stdio.h>

static mblk_t *
block(const char *text, int type)
{
	mblk_t *mp = str_mblkalloc(strlen(text) + 1);

	ck_assert_ptr_nonnull(mp);
	memcpy(mp->b_wptr, text, strlen(text));
	mp->b_wptr += strlen(text);
	mp->b_datap->db_type = (unsigned char)type;
	return mp;
}

static void
holds(const mblk_t *mp, const char *text)
{
	ck_assert_int_eq(mp->b_wptr - mp->b_rptr, (long)strlen(text));
	ck_assert(memcmp(mp->b_rptr, text, strlen(text)) == 0);
}

/* ---- allocation --------------------------------------------------------- */

START_TEST(a_new_block_is_empty_and_has_room)
{
	static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 4096, 65536, 262144};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		mblk_t *mp = str_mblkalloc(sizes[i]);

		ck_assert_ptr_nonnull(mp);
		ck_assert_ptr_eq(mp->b_rptr, mp->b_wptr);
		ck_assert_ptr_null(mp->b_cont);
		ck_assert_uint_ge((size_t)(mp->b_datap->db_lim - mp->b_wptr), sizes[i]);
		ck_assert_int_eq(mp->b_datap->db_type, M_DATA);
		ck_assert_int_eq(mp->b_datap->db_ref, 1);
		memset(mp->b_wptr, 0xa5, sizes[i]);
		freemsg(mp);
	}
}
END_TEST

/* "NULL: ENOSR" */
START_TEST(an_impossible_size_is_enosr)
{
	errno = 0;
	ck_assert_ptr_null(str_mblkalloc(SIZE_MAX));
	ck_assert_int_eq(errno, ENOSR);
	errno = 0;
	ck_assert_ptr_null(str_mblkalloc((size_t)1 << 50));
	ck_assert_int_eq(errno, ENOSR);
}
END_TEST

/* ---- the same block ----------------------------------------------------- */

/* "the very block that was put: same b_datap".  Loop: modules on the way. */
START_TEST(the_very_block_arrives)
{
	static const char *const mods[] = {NULL, "pipemod", "nullmod"};
	mblk_t *mp, *got = NULL;
	dblk_t *db;
	int p[2];

	make_pipe(p);
	if (mods[_i] != NULL)
		GIVES(str_ioctl(p[0], I_PUSH, mods[_i]), 0);
	mp = block("in place", M_DATA);
	db = mp->b_datap;
	GIVES(str_putmblk(p[0], mp), 0);
	ck_assert_int_eq(first_bytes(p[1]), 8);
	GIVES(str_getmblk(p[1], &got), 0);
	ck_assert_ptr_eq(got, mp);
	ck_assert_ptr_eq(got->b_datap, db);
	holds(got, "in place");
	freemsg(got);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(echo_gives_the_very_block_back)
{
	mblk_t *mp = block("round", M_DATA), *got = NULL;
	dblk_t *db = mp->b_datap;
	int fd = open_dev("echo");

	GIVES(str_putmblk(fd, mp), 0);
	GIVES(str_getmblk(fd, &got), 0);
	ck_assert_ptr_eq(got->b_datap, db);
	holds(got, "round");
	freemsg(got);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(a_chain_arrives_as_it_is)
{
	mblk_t *mp = block("one", M_PROTO), *got = NULL;
	mblk_t *two = block("two", M_DATA), *three = block("three", M_DATA);
	int p[2];

	make_pipe(p);
	linkb(mp, two);
	linkb(mp, three);
	GIVES(str_putmblk(p[0], mp), 0);
	GIVES(str_getmblk(p[1], &got), 0);
	ck_assert_ptr_eq(got, mp);
	ck_assert_ptr_eq(got->b_cont, two);
	ck_assert_ptr_eq(two->b_cont, three);
	ck_assert_ptr_null(three->b_cont);
	ck_assert_int_eq(got->b_datap->db_type, M_PROTO);
	holds(got, "one");
	holds(three, "three");
	freemsg(got);
	close_pipe(p);
}
END_TEST

START_TEST(a_block_goes_there_and_back_many_times)
{
	mblk_t *mp = block("traveller", M_DATA);
	dblk_t *db = mp->b_datap;
	int p[2];

	make_pipe(p);
	for (int i = 0; i < 10000; i++) {
		GIVES(str_putmblk(p[i % 2], mp), 0);
		mp = NULL;
		GIVES(str_getmblk(p[1 - i % 2], &mp), 0);
		ck_assert_ptr_eq(mp->b_datap, db);
	}
	holds(mp, "traveller");
	freemsg(mp);
	close_pipe(p);
}
END_TEST

START_TEST(a_duplicate_shares_the_data_block)
{
	mblk_t *mp = block("shared", M_DATA), *dup = dupmsg(mp), *got = NULL;
	int p[2];

	ck_assert_ptr_nonnull(dup);
	make_pipe(p);
	GIVES(str_putmblk(p[0], dup), 0);
	GIVES(str_getmblk(p[1], &got), 0);
	ck_assert_ptr_eq(got->b_datap, mp->b_datap);
	ck_assert_int_eq(mp->b_datap->db_ref, 2);
	freemsg(got);
	ck_assert_int_eq(mp->b_datap->db_ref, 1);
	holds(mp, "shared");
	freemsg(mp);
	close_pipe(p);
}
END_TEST

/* ---- with the other calls ----------------------------------------------- */

START_TEST(a_put_block_may_be_read)
{
	int p[2];

	make_pipe(p);
	GIVES(str_putmblk(p[0], block("read me", M_DATA)), 0);
	READS(p[1], 4, "read");
	READS(p[1], 10, " me");
	close_pipe(p);
}
END_TEST

START_TEST(a_written_message_may_be_got_as_a_block)
{
	mblk_t *got = NULL;
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[0], "written", 7), 7);
	GIVES(str_getmblk(p[1], &got), 0);
	ck_assert_int_eq(got->b_datap->db_type, M_DATA);
	holds(got, "written");
	freemsg(got);
	GIVES(put_msg(p[0], "ctl", "data", 4), 0);
	GIVES(str_getmblk(p[1], &got), 0);
	ck_assert_int_eq(got->b_datap->db_type, M_PROTO);
	ck_assert_int_eq(got->b_band, 4);
	holds(got, "ctl");
	holds(got->b_cont, "data");
	freemsg(got);
	close_pipe(p);
}
END_TEST

START_TEST(the_rest_of_a_partly_read_message_may_be_got)
{
	mblk_t *got = NULL;
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[0], "abcdef", 6), 6);
	READS(p[1], 2, "ab");
	GIVES(str_getmblk(p[1], &got), 0);
	holds(got, "cdef");
	freemsg(got);
	close_pipe(p);
}
END_TEST

START_TEST(priorities_hold_for_put_blocks)
{
	mblk_t *mp, *got = NULL;
	int p[2];

	make_pipe(p);
	GIVES(str_putmblk(p[0], block("zero", M_DATA)), 0);
	mp = block("five", M_DATA);
	mp->b_band = 5;
	GIVES(str_putmblk(p[0], mp), 0);
	GIVES(str_putmblk(p[0], block("high", M_PCPROTO)), 0);
	GIVES(str_getmblk(p[1], &got), 0);
	ck_assert_int_eq(got->b_datap->db_type, M_PCPROTO);
	holds(got, "high");
	freemsg(got);
	TAKES(p[1], NULL, "five", 5);
	TAKES(p[1], NULL, "zero", 0);
	close_pipe(p);
}
END_TEST

/* ---- failures leave the block with the caller --------------------------- */

/* "consumed only on 0" */
START_TEST(a_full_stream_leaves_the_block_with_the_caller)
{
	mblk_t *mp = block("mine", M_DATA);
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	FAILS(str_putmblk(p[0], mp), EAGAIN);
	holds(mp, "mine");
	drain(p[1]);
	GIVES(str_putmblk(p[0], mp), 0);
	READS(p[1], 10, "mine");
	close_pipe(p);
}
END_TEST

START_TEST(high_priority_blocks_ignore_flow_control)
{
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	GIVES(str_putmblk(p[0], block("high", M_PCPROTO)), 0);
	TAKES(p[1], "high", NULL, HIPRI);
	close_pipe(p);
}
END_TEST

START_TEST(a_broken_pipe_leaves_the_block_with_the_caller)
{
	mblk_t *mp = block("mine", M_DATA);
	int p[2];

	make_pipe(p);
	GIVES(str_close(p[1]), 0);
	catch_signal(SIGPIPE, 0);
	FAILS(str_putmblk(p[0], mp), EPIPE);
	ck_assert_int_eq(caught, 1);
	holds(mp, "mine");
	freemsg(mp);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(bad_arguments_are_refused_and_lose_nothing)
{
	mblk_t *got = NULL;
	int p[2];

	make_pipe(p);
	ck_assert_int_eq(str_putmblk(p[0], NULL), -1);
	ck_assert_msg(errno == EFAULT || errno == EINVAL, "%s", ename(errno));
	FAILS(str_putmblk(p[0], (mblk_t *)-1), EFAULT);
	FAILS(str_putmblk(p[0], (mblk_t *)-4096), EFAULT);
	GIVES(str_write(p[0], "kept", 4), 4);
	FAILS(str_getmblk(p[1], NULL), EFAULT);
	FAILS(str_getmblk(p[1], (mblk_t **)-1), EFAULT);
	GIVES(str_getmblk(p[1], &got), 0);
	holds(got, "kept");
	freemsg(got);
	close_pipe(p);
}
END_TEST

/* §12: "Any other bad pointer gives EFAULT in checked mode." */
START_TEST(any_bad_pointer_is_efault_in_checked_mode)
{
	char *none, *konst;
	int p[2];

	make_pipe(p);
	bad_pages(&none, &konst);
	GIVES(str_write(p[0], "kept", 4), 4);
	FAILS(str_getmblk(p[1], (mblk_t **)(void *)none), EFAULT);
	FAILS(str_getmblk(p[1], (mblk_t **)(void *)konst), EFAULT);
	READS(p[1], 10, "kept");
	close_pipe(p);
}
END_TEST

/* "O_NONBLOCK honoured" */
START_TEST(getmblk_of_an_empty_stream_is_eagain_or_sleeps)
{
	mblk_t *got = NULL;
	struct later l;
	struct act a;
	int p[2];

	make_pipe(p);
	FAILS(str_getmblk(p[1], &got), EAGAIN);
	nonblock(p[1], false);
	a = (struct act){p[0], "late", 0};
	later(&l, 30, act, &a);
	GIVES(str_getmblk(p[1], &got), 0);
	holds(got, "late");
	freemsg(got);
	later_join(&l);
	close_pipe(p);
}
END_TEST

static void
drain_it(void *arg)
{
	drain(*(int *)arg);
}

START_TEST(putmblk_sleeps_until_there_is_room)
{
	struct later l;
	long start = now_ms();
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	nonblock(p[0], false);
	later(&l, 30, drain_it, &p[1]);
	GIVES(str_putmblk(p[0], block("in", M_DATA)), 0);
	ck_assert_int_ge(now_ms() - start, 25);
	later_join(&l);
	close_pipe(p);
}
END_TEST

START_TEST(a_signal_ends_a_sleeping_putmblk_and_leaves_the_block)
{
	mblk_t *mp = block("mine", M_DATA);
	struct nag n;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	nonblock(p[0], false);
	catch_signal(SIGUSR1, 0);
	nag_start(&n);
	FAILS(str_putmblk(p[0], mp), EINTR);
	nag_stop(&n);
	holds(mp, "mine");
	freemsg(mp);
	close_pipe(p);
}
END_TEST

START_TEST(sa_restart_takes_up_a_sleeping_putmblk_again)
{
	struct later l;
	struct nag n;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	nonblock(p[0], false);
	catch_signal(SIGUSR1, SA_RESTART);
	nag_start(&n);
	later(&l, 60, drain_it, &p[1]);
	GIVES(str_putmblk(p[0], block("in", M_DATA)), 0);
	nag_stop(&n);
	later_join(&l);
	ck_assert_int_ge(caught, 1);
	close_pipe(p);
}
END_TEST

/* ---- across threads and processes --------------------------------------- */

enum { SENT = 20000 };

struct mover {
	int m_fd;
	int m_bad;
};

static void *
take_blocks(void *arg)
{
	struct mover *m = arg;

	for (int i = 0; i < SENT; i++) {
		mblk_t *mp = NULL;

		if (str_getmblk(m->m_fd, &mp) != 0) {
			m->m_bad++;
			break;
		}
		if (mp->b_wptr - mp->b_rptr != sizeof(int) ||
		    memcmp(mp->b_rptr, &i, sizeof(int)) != 0)
			m->m_bad++;
		freemsg(mp);
	}
	return NULL;
}

START_TEST(blocks_made_here_are_freed_by_another_thread)
{
	struct mover m = {0};
	pthread_t t;
	int p[2];

	make_blocking_pipe(p);
	m.m_fd = p[1];
	pthread_create(&t, NULL, take_blocks, &m);
	for (int i = 0; i < SENT; i++) {
		mblk_t *mp = str_mblkalloc(sizeof(int));

		ck_assert_ptr_nonnull(mp);
		memcpy(mp->b_wptr, &i, sizeof(int));
		mp->b_wptr += sizeof(int);
		GIVES(str_putmblk(p[0], mp), 0);
	}
	pthread_join(t, NULL);
	ck_assert_int_eq(m.m_bad, 0);
	close_pipe(p);
}
END_TEST

/* Cycles of allocation leave nothing behind. */
START_TEST(memory_stays_flat)
{
	struct ustr_memstat before, after;
	int p[2];

	make_pipe(p);
	for (int i = 0; i < 60000; i++) {
		mblk_t *mp = str_mblkalloc((size_t)(i % 3000)), *got = NULL;

		ck_assert_ptr_nonnull(mp);
		mp->b_wptr += i % 3000;
		GIVES(str_putmblk(p[0], mp), 0);
		GIVES(str_getmblk(p[1], &got), 0);
		freemsg(got);
		if (i == 20000)
			GIVES(ustr_memstat(&before), 0);
	}
	GIVES(ustr_memstat(&after), 0);
	ck_assert_uint_eq(after.ms_used, before.ms_used);
	close_pipe(p);
}
END_TEST

static int
take_in_child(void *arg)
{
	struct mover m = {*(int *)arg, 0};

	take_blocks(&m);
	NEED(m.m_bad == 0);
	return 0;
}

START_TEST(blocks_made_here_are_freed_by_another_process)
{
	int p[2];
	pid_t pid;

	make_blocking_pipe(p);
	pid = child(take_in_child, &p[1]);
	for (int i = 0; i < SENT; i++) {
		mblk_t *mp = str_mblkalloc(sizeof(int));

		ck_assert_ptr_nonnull(mp);
		memcpy(mp->b_wptr, &i, sizeof(int));
		mp->b_wptr += sizeof(int);
		GIVES(str_putmblk(p[0], mp), 0);
	}
	ck_assert_int_eq(reap(pid, SOON), 0);
	close_pipe(p);
}
END_TEST

/* The arena has one base everywhere: the block has the same address. */
static int
return_block(void *arg)
{
	int *p = arg;
	mblk_t *mp = NULL;
	dblk_t *db;

	NEED(str_getmblk(p[1], &mp) == 0);
	db = mp->b_datap;
	NEED(mp->b_wptr - mp->b_rptr == (ssize_t)sizeof(db));
	NEED(memcmp(mp->b_rptr, &db, sizeof(db)) == 0);
	NEED(str_putmblk(p[1], mp) == 0);
	return 0;
}

START_TEST(the_very_block_arrives_in_another_process)
{
	mblk_t *mp, *got = NULL;
	dblk_t *db;
	int p[2];
	pid_t pid;

	make_blocking_pipe(p);
	mp = str_mblkalloc(sizeof(db));
	ck_assert_ptr_nonnull(mp);
	db = mp->b_datap;
	memcpy(mp->b_wptr, &db, sizeof(db));
	mp->b_wptr += sizeof(db);
	pid = child(return_block, p);
	GIVES(str_putmblk(p[0], mp), 0);
	GIVES(str_getmblk(p[0], &got), 0);
	ck_assert_ptr_eq(got->b_datap, db);
	freemsg(got);
	ck_assert_int_eq(reap(pid, SOON), 0);
	close_pipe(p);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("zero copy");
	TCase *tc = group(s, "blocks", 120);

	tcase_add_test(tc, a_new_block_is_empty_and_has_room);
	tcase_add_test(tc, an_impossible_size_is_enosr);
	tcase_add_loop_test(tc, the_very_block_arrives, 0, 3);
	tcase_add_test(tc, echo_gives_the_very_block_back);
	tcase_add_test(tc, a_chain_arrives_as_it_is);
	tcase_add_test(tc, a_block_goes_there_and_back_many_times);
	tcase_add_test(tc, a_duplicate_shares_the_data_block);
	tcase_add_test(tc, a_put_block_may_be_read);
	tcase_add_test(tc, a_written_message_may_be_got_as_a_block);
	tcase_add_test(tc, the_rest_of_a_partly_read_message_may_be_got);
	tcase_add_test(tc, priorities_hold_for_put_blocks);
	tcase_add_test(tc, a_full_stream_leaves_the_block_with_the_caller);
	tcase_add_test(tc, high_priority_blocks_ignore_flow_control);
	tcase_add_test(tc, a_broken_pipe_leaves_the_block_with_the_caller);
	tcase_add_test(tc, bad_arguments_are_refused_and_lose_nothing);
	if (checked_mode())
		tcase_add_test(tc, any_bad_pointer_is_efault_in_checked_mode);
	tcase_add_test(tc, getmblk_of_an_empty_stream_is_eagain_or_sleeps);
	tcase_add_test(tc, putmblk_sleeps_until_there_is_room);
	tcase_add_test(tc, a_signal_ends_a_sleeping_putmblk_and_leaves_the_block);
	tcase_add_test(tc, sa_restart_takes_up_a_sleeping_putmblk_again);
	tcase_add_test(tc, blocks_made_here_are_freed_by_another_thread);
	tcase_add_test(tc, memory_stays_flat);
	if (can_fork()) {
		tcase_add_test(tc, blocks_made_here_are_freed_by_another_process);
		tcase_add_test(tc, the_very_block_arrives_in_another_process);
	}
	return run_suite(s);
}
