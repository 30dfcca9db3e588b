/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_errors.c: the access check (streamio.md §2; check_matrix.c has each call
 * in each state): who wins when two states hold, and what arrives at a head
 * and changes its state (§11).  The module tctl, above p[0], sends up what
 * order() says at p[1].
 */
#include "headlib.h"

#define E ECOMM /* the errno M_ERROR carries; nothing else gives it */

enum state { HUP, RDERR, WRERR, BOTH, NSTATES };
enum { SKIP = 2000 }; /* this state ends no sleep of the call */
static const char *const state_names[] = {"hup", "rderr", "wrerr", "both"};

/* A pipe whose end p[0] has tctl pushed. */
static void
ordered_pipe(int p[2])
{
	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
}

static void
bring_into(int fd, enum state state)
{
	switch (state) {
	case HUP:
		order(fd, M_HANGUP, NULL, 0);
		break;
	case RDERR:
		order_error(fd, E, NOERROR);
		break;
	case WRERR:
		order_error(fd, NOERROR, E);
		break;
	default:
		/* "M_ERROR 1 byte = both sides" */
		order(fd, M_ERROR, (unsigned char[1]){E}, 1);
		break;
	}
}

/* ---- calls -------------------------------------------------------------- */

static char byte = 'x';
static struct iovec iov = {&byte, 1};

static long
do_push(int fd)
{
	return str_ioctl(fd, I_PUSH, "nullmod");
}

static long
do_flush(int fd)
{
	return str_ioctl(fd, I_FLUSH, FLUSHRW);
}

static long
do_swropt(int fd)
{
	return str_ioctl(fd, I_SWROPT, SNDZERO);
}

static long
do_canput(int fd)
{
	return str_ioctl(fd, I_CANPUT, 0);
}

static long
do_write(int fd)
{
	return str_write(fd, &byte, 1);
}

static long
do_writev(int fd)
{
	return str_writev(fd, &iov, 1);
}

static long
do_putmsg(int fd)
{
	struct strbuf d = {0, 1, &byte};

	return putmsg(fd, NULL, &d, 0);
}

static long
do_putmsg_hipri(int fd)
{
	struct strbuf c = {0, 1, &byte};

	return putmsg(fd, &c, NULL, RS_HIPRI);
}

static long
do_putpmsg(int fd)
{
	return put_msg(fd, "c", "d", 7);
}

static long
do_putmblk(int fd)
{
	mblk_t *mp = str_mblkalloc(8);
	long r;
	int e;

	ck_assert_ptr_nonnull(mp);
	*mp->b_wptr++ = 'x';
	r = str_putmblk(fd, mp);
	e = errno;
	if (r == -1)
		freemsg(mp);
	errno = e;
	return r;
}

static long
do_read(int fd)
{
	return str_read(fd, &byte, 1);
}

static long
do_getmsg(int fd)
{
	char c[4], d[4];
	struct strbuf cb = {4, -2, c}, db = {4, -2, d};
	int flags = 0, r = getmsg(fd, &cb, &db, &flags);

	if (r == 0) {
		/* "0 with both len 0" */
		ck_assert_int_eq(cb.len, 0);
		ck_assert_int_eq(db.len, 0);
	}
	return r;
}

static long
do_getpmsg(int fd)
{
	char c[4], d[4];
	struct strbuf cb = {4, -2, c}, db = {4, -2, d};
	int band = 0, flags = MSG_ANY;
	int r = getpmsg(fd, &cb, &db, &band, &flags);

	if (r == 0) {
		ck_assert_int_eq(cb.len, 0);
		ck_assert_int_eq(db.len, 0);
	}
	return r;
}

static long
do_nread(int fd)
{
	int n;

	return str_ioctl(fd, I_NREAD, &n);
}

/* In no state but a broken pipe, or with SNDPIPE, is there a SIGPIPE. */
START_TEST(these_states_send_no_sigpipe)
{
	for (int state = 0; state < NSTATES; state++) {
		int p[2];

		ordered_pipe(p);
		bring_into(p[1], (enum state)state);
		catch_signal(SIGPIPE, 0);
		str_write(p[0], "x", 1);
		put_msg(p[0], "c", "d", 0);
		ck_assert_int_eq(caught, 0);
		close_pipe(p);
	}
}
END_TEST

/* "+ SIGPIPE if SNDPIPE is set" */
START_TEST(sndpipe_adds_sigpipe_to_a_write_error)
{
	int p[2];

	ordered_pipe(p);
	GIVES(str_ioctl(p[0], I_SWROPT, SNDPIPE), 0);
	order_error(p[1], NOERROR, E);
	catch_signal(SIGPIPE, 0);
	FAILS(str_write(p[0], "x", 1), E);
	ck_assert_int_eq(caught, 1);
	FAILS(put_msg(p[0], NULL, "d", 0), E);
	ck_assert_int_eq(caught, 2);
	close_pipe(p);
}
END_TEST

/* ---- broken pipe -------------------------------------------------------- */

START_TEST(a_broken_pipe_is_epipe_for_writers_with_sigpipe)
{
	static const char *const names[] = {
	    "write", "writev", "putmsg", "putmsg RS_HIPRI", "putpmsg", "str_putmblk"};
	static long (*const run[])(int) = {
	    do_write, do_writev, do_putmsg, do_putmsg_hipri, do_putpmsg, do_putmblk};
	int p[2];

	make_pipe(p);
	GIVES(str_close(p[1]), 0);
	for (int i = 0; i < 6; i++) {
		catch_signal(SIGPIPE, 0);
		errno = 0;
		ck_assert_msg(run[i](p[0]) == -1 && errno == EPIPE, "%s: %s", names[i],
		    ename(errno));
		ck_assert_msg(caught == 1, "%s: %d signals", names[i], (int)caught);
	}
	/* "I_CANPUT, I_SWROPT → EPIPE without a signal" */
	catch_signal(SIGPIPE, 0);
	FAILS(do_canput(p[0]), EPIPE);
	FAILS(do_swropt(p[0]), EPIPE);
	ck_assert_int_eq(caught, 0);
	GIVES(str_close(p[0]), 0);
}
END_TEST

/* The hangup that goes with it: "calls that change the stream → ENXIO". */
START_TEST(a_broken_pipe_is_hung_up_for_everything_else)
{
	char name[FMNAMESZ + 1];
	int p[2], n;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_write(p[1], "left", 4), 4);
	GIVES(str_close(p[1]), 0);
	FAILS(str_ioctl(p[0], I_PUSH, "nullmod"), ENXIO);
	FAILS(str_ioctl(p[0], I_POP, 0), ENXIO);
	FAILS(str_ioctl(p[0], I_FLUSH, FLUSHRW), ENXIO);
	GIVES(str_ioctl(p[0], I_LOOK, name), 0);
	GIVES(str_ioctl(p[0], I_SRDOPT, RMSGN), 0);
	GIVES(str_ioctl(p[0], I_NREAD, &n), 1);
	READS(p[0], 2, "le");
	TAKES(p[0], NULL, "ft", 0);
	GIVES(do_read(p[0]), 0);
	GIVES(do_getmsg(p[0]), 0);
	GIVES(str_close(p[0]), 0);
}
END_TEST

/* ---- who wins ----------------------------------------------------------- */

START_TEST(a_broken_pipe_beats_every_other_state)
{
	int p[2];

	ordered_pipe(p);
	order_error(p[1], E, E);
	GIVES(str_close(p[1]), 0);
	FAILS(do_write(p[0]), EPIPE);
	FAILS(do_canput(p[0]), EPIPE);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(a_hangup_beats_an_error)
{
	int p[2];

	ordered_pipe(p);
	order_error(p[1], E, E);
	order(p[1], M_HANGUP, NULL, 0);
	FAILS(do_write(p[0]), ENXIO);
	FAILS(do_putpmsg(p[0]), ENXIO);
	FAILS(do_push(p[0]), ENXIO);
	close_pipe(p);
}
END_TEST

START_TEST(the_read_error_beats_the_write_error)
{
	int p[2];

	ordered_pipe(p);
	order_error(p[1], ENOLINK, EDOTDOT);
	FAILS(do_read(p[0]), ENOLINK);
	FAILS(do_getmsg(p[0]), ENOLINK);
	FAILS(do_write(p[0]), EDOTDOT);
	FAILS(do_putmsg(p[0]), EDOTDOT);
	FAILS(do_push(p[0]), ENOLINK);
	FAILS(do_flush(p[0]), ENOLINK);
	close_pipe(p);
}
END_TEST

/* "Wrong open mode → EBADF before all of these." */
START_TEST(the_wrong_open_mode_beats_every_state)
{
	int fd, fd2;

	test_modules();
	fd = str_open("/dev/streams/clone/tdrv", O_RDONLY | O_NONBLOCK);
	fd2 = str_open("/dev/streams/clone/tdrv", O_WRONLY | O_NONBLOCK);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_ge(fd2, 0);
	GIVES(str_ioctl(fd2, I_PUSH, "tctl"), 0);
	order(fd2, M_ERROR, (unsigned char[1]){E}, 1);
	FAILS(do_read(fd2), EBADF);
	FAILS(do_getmsg(fd2), EBADF);
	FAILS(do_write(fd2), E);
	FAILS(do_write(fd), EBADF);
	GIVES(str_close(fd), 0);
	GIVES(str_close(fd2), 0);
}
END_TEST

/* ---- persistence, clearing, data ---------------------------------------- */

START_TEST(an_error_is_reported_again_and_again)
{
	int p[2];

	ordered_pipe(p);
	order_error(p[1], E, E);
	for (int i = 0; i < 3; i++) {
		FAILS(do_read(p[0]), E);
		FAILS(do_write(p[0]), E);
	}
	close_pipe(p);
}
END_TEST

/* "NOERROR 255 leaves, 0 clears" */
START_TEST(noerror_leaves_a_side_and_0_clears_it)
{
	int p[2];

	ordered_pipe(p);
	order_error(p[1], ENOLINK, EDOTDOT);
	order_error(p[1], NOERROR, NOERROR);
	FAILS(do_read(p[0]), ENOLINK);
	FAILS(do_write(p[0]), EDOTDOT);
	order_error(p[1], 0, NOERROR);
	FAILS(do_read(p[0]), EAGAIN);
	FAILS(do_write(p[0]), EDOTDOT);
	order_error(p[1], E, 0);
	FAILS(do_read(p[0]), E);
	GIVES(do_write(p[0]), 1);
	order_error(p[1], 0, 0);
	FAILS(do_read(p[0]), EAGAIN);
	ck_assert_int_eq(polled(p[0], POLLOUT), POLLOUT);
	close_pipe(p);
}
END_TEST

START_TEST(a_read_error_hides_the_data)
{
	int p[2];

	ordered_pipe(p);
	GIVES(str_write(p[1], "data", 4), 4);
	order_error(p[1], E, NOERROR);
	FAILS(do_read(p[0]), E);
	FAILS(do_getmsg(p[0]), E);
	FAILS(do_nread(p[0]), E);
	close_pipe(p);
}
END_TEST

/* "hup: ... read class drains, then end of file" */
START_TEST(a_hung_up_stream_is_drained_first)
{
	int p[2];

	ordered_pipe(p);
	GIVES(str_write(p[1], "data", 4), 4);
	GIVES(put_msg(p[1], "ctl", NULL, 0), 0);
	order(p[1], M_HANGUP, NULL, 0);
	ck_assert_int_eq(polled(p[0], POLLIN | POLLOUT), POLLIN | POLLHUP);
	READS(p[0], 10, "data");
	FAILS(do_read(p[0]), EBADMSG);
	TAKES(p[0], "ctl", NULL, 0);
	GIVES(do_read(p[0]), 0);
	GIVES(do_getmsg(p[0]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(m_unhangup_ends_a_hangup)
{
	int p[2];

	ordered_pipe(p);
	order(p[1], M_HANGUP, NULL, 0);
	FAILS(do_write(p[0]), ENXIO);
	order(p[1], M_UNHANGUP, NULL, 0);
	GIVES(do_write(p[0]), 1);
	FAILS(do_read(p[0]), EAGAIN);
	ck_assert_int_eq(polled(p[0], POLLOUT), POLLOUT);
	close_pipe(p);
}
END_TEST

/* "M_ERROR ... flushes downstream": what a module below holds is gone. */
START_TEST(an_error_flushes_the_write_side)
{
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "thold"), 0);
	ck_assert_int_eq(fill(p[0]), 5120);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	GIVES(do_canput(p[0]), 0);
	order_error(p[1], E, E);
	order_error(p[1], 0, 0);
	GIVES(do_canput(p[0]), 1);
	close_pipe(p);
}
END_TEST

/* ---- sleepers ----------------------------------------------------------- */

struct trouble {
	int t_fd;
	enum state t_state;
};

static void
cause(void *arg)
{
	struct trouble *t = arg;

	bring_into(t->t_fd, t->t_state);
}

START_TEST(a_sleeping_reader_is_told)
{
	static const long want[] = {0, -E, SKIP, -E};
	static long (*const run[])(int) = {do_read, do_getmsg, do_getpmsg};

	for (int state = 0; state < NSTATES; state++) {
		struct trouble t;
		struct later l;
		int p[2];
		long r;

		if (want[state] == SKIP)
			continue;
		ordered_pipe(p);
		nonblock(p[0], false);
		t = (struct trouble){p[1], (enum state)state};
		later(&l, 30, cause, &t);
		r = run[_i](p[0]);
		if (r == -1)
			r = -errno;
		ck_assert_msg(r == want[state], "%s: %ld (%s)", state_names[state], r,
		    r < 0 ? ename((int)-r) : "");
		later_join(&l);
		close_pipe(p);
	}
}
END_TEST

START_TEST(a_sleeping_writer_is_told)
{
	static const long want[] = {-ENXIO, SKIP, -E, -E};
	static long (*const run[])(int) = {do_write, do_writev, do_putmsg};

	for (int state = 0; state < NSTATES; state++) {
		struct trouble t;
		struct later l;
		int p[2];
		long r;

		if (want[state] == SKIP)
			continue;
		ordered_pipe(p);
		set_marks(p[1], 10, 1);
		fill(p[0]);
		nonblock(p[0], false);
		t = (struct trouble){p[1], (enum state)state};
		later(&l, 30, cause, &t);
		r = run[_i](p[0]);
		if (r == -1)
			r = -errno;
		ck_assert_msg(r == want[state], "%s: %ld (%s)", state_names[state], r,
		    r < 0 ? ename((int)-r) : "");
		later_join(&l);
		close_pipe(p);
	}
}
END_TEST

/* A read error does not end the sleep of a writer, nor the other way round. */
static void
cause_and_drain(void *arg)
{
	struct trouble *t = arg;

	cause(t);
	msleep(20);
	drain(t->t_fd);
}

START_TEST(a_sleeping_writer_outlives_a_read_error)
{
	struct trouble t;
	struct later l;
	int p[2];

	ordered_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	nonblock(p[0], false);
	t = (struct trouble){p[1], RDERR};
	later(&l, 20, cause_and_drain, &t);
	GIVES(do_write(p[0]), 1);
	later_join(&l);
	close_pipe(p);
}
END_TEST

static void
cause_and_write(void *arg)
{
	struct trouble *t = arg;

	cause(t);
	msleep(20);
	str_write(t->t_fd, "late", 4);
}

START_TEST(a_sleeping_reader_outlives_a_write_error)
{
	struct trouble t;
	struct later l;
	int p[2];

	ordered_pipe(p);
	nonblock(p[0], false);
	t = (struct trouble){p[1], WRERR};
	later(&l, 20, cause_and_write, &t);
	READS(p[0], 10, "late");
	later_join(&l);
	close_pipe(p);
}
END_TEST

/* ---- other messages that arrive (§11) ----------------------------------- */

/* "M_READ, M_CTL, M_DELAY, M_BREAK, M_START, M_STOP freed"; unmatched answers
   to an ioctl too. */
START_TEST(messages_not_meant_for_a_head_are_freed)
{
	static const int types[] = {
	    M_READ, M_CTL, M_DELAY, M_BREAK, M_START, M_STOP, M_STARTI, M_STOPI};
	int p[2];

	ordered_pipe(p);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		order(p[1], types[i], "abc", 3);
		ck_assert_msg(
		    waiting(p[0]) == 0, "type %#x is queued", (unsigned)types[i]);
	}
	ck_assert_int_eq(polled(p[0], POLLIN | POLLPRI | POLLOUT), POLLOUT);
	GIVES(str_write(p[1], "still", 5), 5);
	READS(p[0], 10, "still");
	close_pipe(p);
}
END_TEST

START_TEST(unmatched_answers_to_an_ioctl_are_freed)
{
	struct iocblk ioc = {.ioc_cmd = 1, .ioc_id = 4711};
	int p[2];

	ordered_pipe(p);
	order(p[1], M_IOCACK, &ioc, sizeof(ioc));
	order(p[1], M_IOCNAK, &ioc, sizeof(ioc));
	ck_assert_int_eq(waiting(p[0]), 0);
	GIVES(str_write(p[1], "still", 5), 5);
	READS(p[0], 10, "still");
	close_pipe(p);
}
END_TEST

/* "M_SETOPTS (READOPT ... HIWAT LOWAT ...)" */
START_TEST(m_setopts_changes_the_head)
{
	struct stroptions so = {.so_flags = SO_READOPT | SO_HIWAT | SO_LOWAT,
	    .so_readopt = RMSGN,
	    .so_hiwat = 500,
	    .so_lowat = 50};
	int p[2], opt;

	ordered_pipe(p);
	order(p[1], M_SETOPTS, &so, sizeof(so));
	GIVES(str_ioctl(p[0], I_GET_HIWAT), 500);
	GIVES(str_ioctl(p[0], I_GET_LOWAT), 50);
	GIVES(str_ioctl(p[0], I_GRDOPT, &opt), 0);
	ck_assert_int_eq(opt & (RMSGD | RMSGN), RMSGN);
	ck_assert_int_eq(waiting(p[0]), 0);
	close_pipe(p);
}
END_TEST

static void
table(Suite *s)
{
	TCase *tc = group(s, "table", 120);

	tcase_add_test(tc, these_states_send_no_sigpipe);
	tcase_add_test(tc, sndpipe_adds_sigpipe_to_a_write_error);
	tcase_add_test(tc, a_broken_pipe_is_epipe_for_writers_with_sigpipe);
	tcase_add_test(tc, a_broken_pipe_is_hung_up_for_everything_else);
	tcase_add_test(tc, a_broken_pipe_beats_every_other_state);
	tcase_add_test(tc, a_hangup_beats_an_error);
	tcase_add_test(tc, the_read_error_beats_the_write_error);
	tcase_add_test(tc, the_wrong_open_mode_beats_every_state);
}

static void
states(Suite *s)
{
	TCase *tc = group(s, "states", 120);

	tcase_add_test(tc, an_error_is_reported_again_and_again);
	tcase_add_test(tc, noerror_leaves_a_side_and_0_clears_it);
	tcase_add_test(tc, a_read_error_hides_the_data);
	tcase_add_test(tc, a_hung_up_stream_is_drained_first);
	tcase_add_test(tc, m_unhangup_ends_a_hangup);
	tcase_add_test(tc, an_error_flushes_the_write_side);
	tcase_add_loop_test(tc, a_sleeping_reader_is_told, 0, 3);
	tcase_add_loop_test(tc, a_sleeping_writer_is_told, 0, 3);
	tcase_add_test(tc, a_sleeping_writer_outlives_a_read_error);
	tcase_add_test(tc, a_sleeping_reader_outlives_a_write_error);
	tcase_add_test(tc, messages_not_meant_for_a_head_are_freed);
	tcase_add_test(tc, unmatched_answers_to_an_ioctl_are_freed);
	tcase_add_test(tc, m_setopts_changes_the_head);
}

int
main(void)
{
	Suite *s = suite_create("errors");

	table(s);
	states(s);
	return run_suite(s);
}
