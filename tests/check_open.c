/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_open.c: descriptors of streams: open, close, dup, fcntl, fstat, and
 * what passes through to kernel descriptors (streamio.md §2, §8, §10, §12;
 * interface.md §1).
 */
#include "headlib.h"

#include <limits.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/ddi.h>
#include <sys/wait.h>
#include <sys/resource.h>

static const int bad_fds[] = {-1, INT_MIN, INT_MAX, 987654};
#define NBAD ((int)(sizeof(bad_fds) / sizeof(bad_fds[0])))

/* The lowest free descriptor number: unchanged means nothing leaked. */
static int
lowest_free(void)
{
	int fd = dup(0);

	ck_assert_int_ge(fd, 0);
	close(fd);
	return fd;
}

/* ---- opening ------------------------------------------------------------ */

START_TEST(open_of_a_clone_device_gives_a_stream)
{
	int fd = str_open("/dev/streams/clone/echo", O_RDWR);

	ck_assert_int_ge(fd, 0);
	GIVES(isastream(fd), 1);
	GIVES(str_fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	GIVES(str_fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	/* "A stream's descriptor is a real descriptor number." */
	ck_assert_int_ne(fcntl(fd, F_GETFD), -1);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(open_takes_the_device_name_without_clone)
{
	int fd = str_open("/dev/streams/nuls", O_RDWR);

	ck_assert_int_ge(fd, 0);
	GIVES(isastream(fd), 1);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(open_with_o_nonblock_sets_the_flag)
{
	int fd = str_open("/dev/streams/clone/echo", O_RDWR | O_NONBLOCK);
	char c;

	ck_assert_int_ge(fd, 0);
	GIVES(str_fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	FAILS(str_read(fd, &c, 1), EAGAIN);
	GIVES(str_close(fd), 0);
}
END_TEST

/* "any other existing file: ENXIO" */
START_TEST(open_of_an_ordinary_file_is_enxio)
{
	FAILS(str_open("/", O_RDONLY), ENXIO);
	FAILS(str_open("/dev/null", O_RDWR), ENXIO);
	FAILS(str_open("/etc/passwd", O_RDONLY), ENXIO);
}
END_TEST

START_TEST(open_of_a_missing_path_is_enoent)
{
	FAILS(str_open("/no/such/file", O_RDWR), ENOENT);
	FAILS(str_open("", O_RDWR), ENOENT);
}
END_TEST

START_TEST(open_of_an_unknown_device_fails_clearly)
{
	static const char *const names[] = {"/dev/streams/nosuch",
	    "/dev/streams/clone/nosuch", "/dev/streams/", "/dev/streams/clone/",
	    "/dev/streams/clone/averylongdrivername", "/dev/streams/nullmod"};
	int before, first = open_dev("echo");

	before = lowest_free();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd = str_open(names[i], O_RDWR);

		ck_assert_msg(fd == -1, "%s opened", names[i]);
		ck_assert_msg(
		    errno == ENOENT || errno == ENXIO, "%s: %s", names[i], ename(errno));
	}
	ck_assert_int_eq(lowest_free(), before);
	GIVES(str_close(first), 0);
}
END_TEST

START_TEST(open_with_a_bad_path_pointer_is_efault)
{
	FAILS(str_open(NULL, O_RDWR), EFAULT);
	FAILS(str_open((char *)-1, O_RDWR), EFAULT);
}
END_TEST

START_TEST(open_of_an_endless_path_fails)
{
	static char path[10000];

	memset(path, 'x', sizeof(path) - 1);
	memcpy(path, "/dev/streams/", 13);
	ck_assert_int_eq(str_open(path, O_RDWR), -1);
	ck_assert_msg(errno == ENAMETOOLONG || errno == ENOENT || errno == ENXIO, "%s",
	    ename(errno));
}
END_TEST

/* "Clone open allots a minor." */
START_TEST(two_clone_opens_are_two_streams)
{
	int a = open_dev("echo"), b = open_dev("echo");
	struct stat sa, sb;
	char c;

	GIVES(str_write(a, "x", 1), 1);
	FAILS(str_read(b, &c, 1), EAGAIN);
	READS(a, 1, "x");
	GIVES(str_fstat(a, &sa), 0);
	GIVES(str_fstat(b, &sb), 0);
	ck_assert_uint_ne(sa.st_rdev, sb.st_rdev);
	GIVES(str_close(a), 0);
	GIVES(str_close(b), 0);
}
END_TEST

START_TEST(the_driver_is_told_of_a_clone_open)
{
	int fd;

	test_modules();
	fd = open_dev("tdrv");
	ck_assert_int_eq(tdrv_counts.c_open, 1);
	ck_assert_int_eq(tdrv_counts.c_sflag, CLONEOPEN);
	GIVES(str_close(fd), 0);
	ck_assert_int_eq(tdrv_counts.c_close, 1);
}
END_TEST

/* A driver that chooses minor 5 for every clone open. */
static int
choose_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)oflag, (void)crp;
	if (sflag & CLONEOPEN)
		*devp = makedevice(getmajor(*devp), 5);
	qprocson(q);
	return 0;
}

static int
choose_put(queue_t *q, mblk_t *mp)
{
	(void)q;
	freemsg(mp);
	return 0;
}

static struct module_info choose_info = {9903, "tchoose", 0, INFPSZ, 100, 10};
static struct qinit choose_rinit = {NULL, NULL, choose_open, NULL, NULL, &choose_info, NULL};
static struct qinit choose_winit = {choose_put, NULL, NULL, NULL, NULL, &choose_info, NULL};
static struct streamtab choose_tab = {&choose_rinit, &choose_winit, NULL, NULL};

START_TEST(a_driver_chooses_a_minor_that_nobody_has_open)
{
	struct stat st;
	int a;

	GIVES(ustr_register_driver("tchoose", &choose_tab, D_MP), 0);
	a = open_dev("tchoose");
	GIVES(str_fstat(a, &st), 0);
	ck_assert_uint_eq(getminor(st.st_rdev), 5);
	FAILS(str_open("/dev/streams/clone/tchoose", O_RDWR), EBUSY);
	GIVES(str_close(a), 0);
	a = open_dev("tchoose");
	GIVES(str_close(a), 0);
	GIVES(ustr_unregister("tchoose"), 0);
}
END_TEST

/* "a second open of a device calls the open routines again without stacking" */
START_TEST(a_second_open_of_a_minor_is_the_same_stream)
{
	char name[FMNAMESZ + 1];
	int a, b;

	test_modules();
	a = str_open("/dev/streams/tdrv/3", O_RDWR);
	ck_assert_int_ge(a, 0);
	ck_assert_int_eq(tdrv_counts.c_sflag, 0);
	GIVES(str_ioctl(a, I_PUSH, "tcount"), 0);
	ck_assert_int_eq(tcount_counts.c_open, 1);
	ck_assert_int_eq(tcount_counts.c_sflag, MODOPEN);
	b = str_open("/dev/streams/tdrv/3", O_RDWR);
	ck_assert_int_ge(b, 0);
	ck_assert_int_eq(tdrv_counts.c_open, 2);
	ck_assert_int_eq(tcount_counts.c_open, 2);
	GIVES(str_ioctl(b, I_LOOK, name), 0);
	ck_assert_str_eq(name, "tcount");
	GIVES(str_ioctl(b, I_LIST, NULL), 2);
	/* Close routines run at the last close only. */
	GIVES(str_close(a), 0);
	ck_assert_int_eq(tdrv_counts.c_close, 0);
	ck_assert_int_eq(tcount_counts.c_close, 0);
	GIVES(str_close(b), 0);
	ck_assert_int_eq(tdrv_counts.c_close, 1);
	ck_assert_int_eq(tcount_counts.c_close, 1);
}
END_TEST

START_TEST(two_minors_of_a_driver_are_two_streams)
{
	int a, b;

	test_modules();
	a = str_open("/dev/streams/tdrv/4", O_RDWR);
	b = str_open("/dev/streams/tdrv/5", O_RDWR);
	ck_assert_int_ge(a, 0);
	ck_assert_int_ge(b, 0);
	GIVES(str_ioctl(a, I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(b, I_LIST, NULL), 1);
	GIVES(str_close(a), 0);
	ck_assert_int_eq(tdrv_counts.c_close, 1);
	GIVES(str_close(b), 0);
}
END_TEST

/* "or what the driver's open routine returned"; "A failed open is undone." */
START_TEST(the_errno_of_a_driver_open_passes_through)
{
	int before, fd;

	test_modules();
	fd = open_dev("tdrv");
	before = lowest_free();
	for (int i = 0; i < 10; i++)
		FAILS(str_open("/dev/streams/tdrv/77", O_RDWR), EBUSY);
	ck_assert_int_eq(lowest_free(), before);
	ck_assert_int_eq(tdrv_counts.c_close, 0);
	GIVES(str_close(fd), 0);
}
END_TEST

static int
later_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)q, (void)devp, (void)oflag, (void)sflag, (void)crp;
	return EAGAIN;
}

/* Any errno: one that the framework might take for its own included. */
START_TEST(a_driver_may_say_try_again)
{
	static struct qinit rinit = {NULL, NULL, later_open, NULL, NULL, &choose_info, NULL};
	static struct streamtab tab = {&rinit, &choose_winit, NULL, NULL};

	GIVES(ustr_register_driver("tlater", &tab, D_MP), 0);
	FAILS(str_open("/dev/streams/tlater/3", O_RDWR), EAGAIN);
	FAILS(str_open("/dev/streams/clone/tlater", O_RDWR), EAGAIN);
	GIVES(ustr_unregister("tlater"), 0);
}
END_TEST

/* "Wrong open mode → EBADF before all of these." */
START_TEST(a_read_only_stream_is_not_written)
{
	int fd = str_open("/dev/streams/clone/echo", O_RDONLY | O_NONBLOCK);
	struct iovec iov = {(char *)(uintptr_t) "x", 1};
	mblk_t *mp;
	char c;

	ck_assert_int_ge(fd, 0);
	GIVES(str_fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	FAILS(str_write(fd, "x", 1), EBADF);
	FAILS(str_writev(fd, &iov, 1), EBADF);
	FAILS(put_msg(fd, NULL, "x", 0), EBADF);
	FAILS(put_msg(fd, "c", NULL, HIPRI), EBADF);
	mp = str_mblkalloc(8);
	ck_assert_ptr_nonnull(mp);
	FAILS(str_putmblk(fd, mp), EBADF);
	freemsg(mp);
	FAILS(str_read(fd, &c, 1), EAGAIN);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(a_write_only_stream_is_not_read)
{
	int fd = str_open("/dev/streams/clone/echo", O_WRONLY | O_NONBLOCK);
	struct strbuf d = {1, 0, (char[1]){0}};
	struct iovec iov = {d.buf, 1};
	int flags = 0, band = 0, any = MSG_ANY;
	mblk_t *mp;

	ck_assert_int_ge(fd, 0);
	GIVES(str_fcntl(fd, F_GETFL) & O_ACCMODE, O_WRONLY);
	GIVES(str_write(fd, "x", 1), 1);
	FAILS(str_read(fd, d.buf, 1), EBADF);
	FAILS(str_readv(fd, &iov, 1), EBADF);
	FAILS(getmsg(fd, NULL, &d, &flags), EBADF);
	FAILS(getpmsg(fd, NULL, &d, &band, &any), EBADF);
	FAILS(str_getmblk(fd, &mp), EBADF);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(pipe_ends_are_open_for_both_ways)
{
	int p[2];

	make_blocking_pipe(p);
	for (int i = 0; i < 2; i++) {
		GIVES(str_fcntl(p[i], F_GETFL) & O_ACCMODE, O_RDWR);
		GIVES(str_fcntl(p[i], F_GETFL) & O_NONBLOCK, 0);
	}
	/* "both ends read and write" */
	GIVES(str_write(p[0], "to", 2), 2);
	GIVES(str_write(p[1], "fro", 3), 3);
	READS(p[1], 10, "to");
	READS(p[0], 10, "fro");
	close_pipe(p);
}
END_TEST

START_TEST(pipe_with_a_bad_pointer_is_efault_and_leaks_nothing)
{
	int p[2], before;

	make_pipe(p);
	before = lowest_free();
	FAILS(str_pipe(NULL), EFAULT);
	FAILS(str_pipe((int *)-1), EFAULT);
	ck_assert_int_eq(lowest_free(), before);
	close_pipe(p);
}
END_TEST

/* ---- closing ------------------------------------------------------------ */

START_TEST(close_frees_the_number)
{
	int p[2], q[2];

	make_pipe(q);
	for (int i = 0; i < 3000; i++) {
		make_pipe(p);
		ck_assert_int_lt(p[0], 64);
		ck_assert_int_lt(p[1], 64);
		close_pipe(p);
	}
	close_pipe(q);
}
END_TEST

START_TEST(a_closed_descriptor_is_bad_for_every_call)
{
	struct pollfd pfd = {.events = POLLIN};
	struct stat st;
	int p[2];
	char c;

	make_pipe(p);
	GIVES(str_close(p[0]), 0);
	FAILS(str_close(p[0]), EBADF);
	FAILS(str_read(p[0], &c, 1), EBADF);
	FAILS(str_write(p[0], &c, 1), EBADF);
	FAILS(str_ioctl(p[0], I_LOOK, &c), EBADF);
	FAILS(str_fcntl(p[0], F_GETFL), EBADF);
	FAILS(str_dup(p[0]), EBADF);
	FAILS(str_fstat(p[0], &st), EBADF);
	pfd.fd = p[0];
	GIVES(str_poll(&pfd, 1, 0), 1);
	ck_assert_int_eq(pfd.revents, POLLNVAL);
	ck_assert_int_eq(fcntl(p[0], F_GETFD), -1);
	GIVES(str_close(p[1]), 0);
}
END_TEST

/* "Any int may be out of range": loop over bad_fds. */
START_TEST(a_bad_descriptor_is_ebadf_for_every_call)
{
	int fd = bad_fds[_i], flags = 0, band = 0, any = MSG_ANY;
	char c = 0;
	struct iovec iov = {&c, 1};
	struct strbuf d = {1, 1, &c};
	struct stat st;
	mblk_t *mp;

	FAILS(str_close(fd), EBADF);
	FAILS(str_read(fd, &c, 1), EBADF);
	FAILS(str_write(fd, &c, 1), EBADF);
	FAILS(str_readv(fd, &iov, 1), EBADF);
	FAILS(str_writev(fd, &iov, 1), EBADF);
	FAILS(str_ioctl(fd, I_NREAD, &band), EBADF);
	FAILS(str_fcntl(fd, F_GETFL), EBADF);
	FAILS(str_fcntl(fd, F_DUPFD, 0), EBADF);
	FAILS(str_dup(fd), EBADF);
	FAILS(str_dup2(fd, 900), EBADF);
	FAILS(str_fstat(fd, &st), EBADF);
	FAILS(str_lseek(fd, 0, SEEK_SET), EBADF);
	FAILS(putmsg(fd, NULL, &d, 0), EBADF);
	FAILS(putpmsg(fd, NULL, &d, 0, MSG_BAND), EBADF);
	FAILS(getmsg(fd, NULL, &d, &flags), EBADF);
	FAILS(getpmsg(fd, NULL, &d, &band, &any), EBADF);
	FAILS(isastream(fd), EBADF);
	FAILS(str_getmblk(fd, &mp), EBADF);
	mp = str_mblkalloc(1);
	ck_assert_ptr_nonnull(mp);
	FAILS(str_putmblk(fd, mp), EBADF);
	freemsg(mp);
	FAILS(ustr_dump(fd, stderr), EBADF);
}
END_TEST

/* "Last close of one end → M_HANGUP at the other: data first, then 0." */
START_TEST(the_peer_reads_what_was_sent_before_close)
{
	int p[2];

	make_blocking_pipe(p);
	GIVES(str_write(p[0], "last words", 10), 10);
	GIVES(str_close(p[0]), 0);
	READS(p[1], 100, "last words");
	READS(p[1], 100, "");
	READS(p[1], 100, "");
	GIVES(str_close(p[1]), 0);
}
END_TEST

START_TEST(close_discards_what_was_not_read)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[0], "unread", 6), 6);
	GIVES(str_close(p[1]), 0);
	FAILS(str_write(p[0], "x", 1), EPIPE);
	GIVES(str_close(p[0]), 0);
}
END_TEST

/* A stream with something on thold's write queue, close time in ms. */
static int
held(int p[2], int ms)
{
	test_modules();
	make_blocking_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "thold"), 0);
	GIVES(str_ioctl(p[0], I_SETCLTIME, &ms), 0);
	GIVES(str_write(p[0], "stuck", 5), 5);
	ck_assert_int_eq(waiting(p[1]), 0);
	return p[0];
}

/* "Last close waits for each write queue to drain up to that time" */
START_TEST(last_close_waits_for_the_close_time)
{
	int p[2], fd = held(p, 200);
	long start = now_ms();
	struct fair f;

	fair_start(&f);
	GIVES(str_close(fd), 0);
	ck_assert_int_ge(now_ms() - start, 190);
	ck_assert_int_lt(fair_ms(&f), 1500);
	READS(p[1], 10, "");
	GIVES(str_close(p[1]), 0);
}
END_TEST

START_TEST(last_close_with_o_nonblock_does_not_wait)
{
	int p[2], fd = held(p, 2 * SOON);
	long start = now_ms();

	nonblock(fd, true);
	GIVES(str_close(fd), 0);
	ck_assert_int_lt(now_ms() - start, SOON);
	GIVES(str_close(p[1]), 0);
}
END_TEST

START_TEST(last_close_with_nothing_queued_does_not_wait)
{
	int p[2], ms = 2 * SOON;
	long start = now_ms();

	test_modules();
	make_blocking_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "thold"), 0);
	GIVES(str_ioctl(p[0], I_SETCLTIME, &ms), 0);
	GIVES(str_close(p[0]), 0);
	ck_assert_int_lt(now_ms() - start, SOON);
	GIVES(str_close(p[1]), 0);
}
END_TEST

START_TEST(a_signal_ends_the_wait_of_the_last_close)
{
	int p[2], fd = held(p, 2 * SOON);
	long start = now_ms();
	struct nag n;

	catch_signal(SIGUSR1, 0);
	nag_start(&n);
	GIVES(str_close(fd), 0);
	nag_stop(&n);
	ck_assert_int_lt(now_ms() - start, SOON);
	ck_assert_int_ge(caught, 1);
	GIVES(str_close(p[1]), 0);
}
END_TEST

START_TEST(after_a_hangup_the_last_close_does_not_wait)
{
	int p[2], fd = held(p, 2 * SOON);
	long start = now_ms();

	GIVES(str_close(p[1]), 0);
	GIVES(str_close(fd), 0);
	ck_assert_int_lt(now_ms() - start, SOON);
}
END_TEST

START_TEST(a_close_that_is_not_the_last_does_not_wait)
{
	int p[2], fd = held(p, 2 * SOON), fd2 = str_dup(fd);
	long start = now_ms();

	ck_assert_int_ge(fd2, 0);
	GIVES(str_close(fd), 0);
	ck_assert_int_lt(now_ms() - start, SOON);
	nonblock(fd2, true);
	GIVES(str_close(fd2), 0);
	GIVES(str_close(p[1]), 0);
}
END_TEST

/* ---- closed behind our back --------------------------------------------- */

/* "When F_DUPFD returns a number still in the table it was closed behind our
   back: release the old entry first." */
START_TEST(a_number_closed_with_close_is_released_when_it_comes_back)
{
	int p[2], q[2];

	make_pipe(p);
	ck_assert_int_eq(close(p[0]), 0);
	make_pipe(q);
	ck_assert(q[0] == p[0] || q[1] == p[0]);
	READS(p[1], 10, "");
	FAILS(str_write(p[1], "x", 1), EPIPE);
	GIVES(str_write(q[0], "new", 3), 3);
	READS(q[1], 10, "new");
	close_pipe(q);
	GIVES(str_close(p[1]), 0);
}
END_TEST

START_TEST(both_numbers_closed_with_close_serve_again)
{
	int p[2];

	for (int i = 0; i < 200; i++) {
		make_pipe(p);
		GIVES(str_write(p[0], "x", 1), 1);
		ck_assert_int_eq(waiting(p[1]), 1);
		ck_assert_int_eq(close(p[0]), 0);
		ck_assert_int_eq(close(p[1]), 0);
	}
	make_pipe(p);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(dup2_onto_a_number_closed_with_close_releases_it)
{
	int p[2], q[2];

	make_pipe(p);
	make_pipe(q);
	ck_assert_int_eq(close(p[0]), 0);
	GIVES(str_dup2(q[0], p[0]), p[0]);
	READS(p[1], 10, "");
	GIVES(str_write(p[0], "x", 1), 1);
	READS(q[1], 10, "x");
	GIVES(str_close(p[0]), 0);
	GIVES(str_close(p[1]), 0);
	close_pipe(q);
}
END_TEST

/* ---- dup ---------------------------------------------------------------- */

START_TEST(dup_takes_the_lowest_free_number)
{
	int p[2], fd, low;

	make_pipe(p);
	low = lowest_free();
	fd = str_dup(p[0]);
	ck_assert_int_eq(fd, low);
	GIVES(str_close(fd), 0);
	close_pipe(p);
}
END_TEST

/* "dup and fork share the open file" */
START_TEST(dup_shares_the_open_file)
{
	int p[2], fd;

	make_pipe(p);
	fd = str_dup(p[0]);
	ck_assert_int_ge(fd, 0);
	nonblock(p[0], false);
	GIVES(str_fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	nonblock(fd, true);
	GIVES(str_fcntl(p[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	GIVES(str_write(p[1], "ab", 2), 2);
	READS(fd, 1, "a");
	READS(p[0], 1, "b");
	GIVES(str_close(fd), 0);
	close_pipe(p);
}
END_TEST

/* "last close counts descriptions" */
START_TEST(the_stream_lives_until_its_last_duplicate_is_closed)
{
	int p[2], fd;
	char c;

	make_pipe(p);
	fd = str_dup(p[0]);
	ck_assert_int_ge(fd, 0);
	GIVES(str_close(p[0]), 0);
	FAILS(str_read(p[1], &c, 1), EAGAIN);
	GIVES(str_write(fd, "x", 1), 1);
	READS(p[1], 1, "x");
	GIVES(str_close(fd), 0);
	READS(p[1], 1, "");
	GIVES(str_close(p[1]), 0);
}
END_TEST

START_TEST(dup2_closes_the_stream_it_lands_on)
{
	int p[2], q[2];

	make_pipe(p);
	make_pipe(q);
	GIVES(str_dup2(q[0], p[0]), p[0]);
	READS(p[1], 1, "");
	GIVES(str_close(q[0]), 0);
	GIVES(str_write(p[0], "x", 1), 1);
	READS(q[1], 1, "x");
	GIVES(str_close(p[0]), 0);
	READS(q[1], 1, "");
	GIVES(str_close(p[1]), 0);
	GIVES(str_close(q[1]), 0);
}
END_TEST

START_TEST(dup2_onto_itself_does_nothing)
{
	int p[2];

	make_pipe(p);
	GIVES(str_dup2(p[0], p[0]), p[0]);
	GIVES(str_write(p[0], "x", 1), 1);
	READS(p[1], 1, "x");
	close_pipe(p);
}
END_TEST

START_TEST(dup2_of_a_stream_replaces_a_kernel_descriptor)
{
	int p[2], k[2];
	char c;

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	GIVES(str_dup2(p[0], k[1]), k[1]);
	GIVES(isastream(k[1]), 1);
	ck_assert_int_eq(read(k[0], &c, 1), 0);
	GIVES(str_write(k[1], "x", 1), 1);
	READS(p[1], 1, "x");
	GIVES(str_close(k[1]), 0);
	close(k[0]);
	close_pipe(p);
}
END_TEST

START_TEST(dup2_of_a_kernel_descriptor_replaces_a_stream)
{
	int p[2], k[2];
	char c = 0;

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	GIVES(str_dup2(k[1], p[0]), p[0]);
	GIVES(isastream(p[0]), 0);
	READS(p[1], 1, "");
	GIVES(str_write(p[0], "k", 1), 1);
	ck_assert_int_eq(read(k[0], &c, 1), 1);
	ck_assert_int_eq(c, 'k');
	GIVES(str_close(p[0]), 0);
	GIVES(str_close(p[1]), 0);
	close(k[0]);
	close(k[1]);
}
END_TEST

START_TEST(a_failing_dup2_leaves_its_target_open)
{
	int p[2], before;

	make_pipe(p);
	before = lowest_free();
	FAILS(str_dup2(987654, p[0]), EBADF);
	FAILS(str_dup2(before, p[0]), EBADF);
	FAILS(str_dup2(p[0], -1), EBADF);
	FAILS(str_dup2(p[0], INT_MAX), EBADF);
	GIVES(str_write(p[0], "x", 1), 1);
	READS(p[1], 1, "x");
	close_pipe(p);
}
END_TEST

/* ---- fcntl, fstat, lseek ------------------------------------------------ */

START_TEST(f_dupfd_takes_the_lowest_number_from_its_argument_on)
{
	int p[2], fd, fd2;

	make_pipe(p);
	fd = str_fcntl(p[0], F_DUPFD, 200);
	ck_assert_int_eq(fd, 200);
	fd2 = str_fcntl(p[0], F_DUPFD, 200);
	ck_assert_int_eq(fd2, 201);
	GIVES(isastream(fd2), 1);
	GIVES(str_close(fd), 0);
	GIVES(str_close(fd2), 0);
	close_pipe(p);
}
END_TEST

START_TEST(f_dupfd_outside_the_limits_is_einval)
{
	int p[2];

	make_pipe(p);
	FAILS(str_fcntl(p[0], F_DUPFD, -1), EINVAL);
	FAILS(str_fcntl(p[0], F_DUPFD, INT_MAX), EINVAL);
	close_pipe(p);
}
END_TEST

/* "FD_CLOEXEC is emulated" */
START_TEST(fd_cloexec_belongs_to_each_descriptor)
{
	int p[2], fd, fd2;

	make_pipe(p);
	GIVES(str_fcntl(p[0], F_SETFD, FD_CLOEXEC), 0);
	GIVES(str_fcntl(p[0], F_GETFD), FD_CLOEXEC);
	GIVES(str_fcntl(p[0], F_SETFD, 0), 0);
	GIVES(str_fcntl(p[0], F_GETFD), 0);
	fd = str_fcntl(p[0], F_DUPFD_CLOEXEC, 0);
	fd2 = str_fcntl(p[0], F_DUPFD, 0);
	GIVES(str_fcntl(fd, F_GETFD), FD_CLOEXEC);
	GIVES(str_fcntl(fd2, F_GETFD), 0);
	GIVES(str_fcntl(p[0], F_GETFD), 0);
	GIVES(str_close(fd), 0);
	GIVES(str_close(fd2), 0);
	close_pipe(p);
}
END_TEST

START_TEST(open_with_o_cloexec_sets_fd_cloexec)
{
	int fd = str_open("/dev/streams/clone/echo", O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	GIVES(str_fcntl(fd, F_GETFD), FD_CLOEXEC);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(f_setfl_keeps_the_access_mode)
{
	int fd = str_open("/dev/streams/clone/echo", O_RDONLY);

	ck_assert_int_ge(fd, 0);
	GIVES(str_fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK), 0);
	GIVES(str_fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	GIVES(str_fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	FAILS(str_write(fd, "x", 1), EBADF);
	GIVES(str_close(fd), 0);
}
END_TEST

/* "else EINVAL" */
START_TEST(any_other_fcntl_is_einval)
{
	struct flock fl = {.l_type = F_WRLCK};
	int p[2];

	make_pipe(p);
	FAILS(str_fcntl(p[0], F_SETLK, &fl), EINVAL);
	FAILS(str_fcntl(p[0], F_GETPIPE_SZ), EINVAL);
	FAILS(str_fcntl(p[0], -1), EINVAL);
	FAILS(str_fcntl(p[0], 123456), EINVAL);
	close_pipe(p);
}
END_TEST

START_TEST(fstat_tells_pipes_from_devices)
{
	int p[2], fd = open_dev("echo");
	struct stat st;

	make_pipe(p);
	memset(&st, 0, sizeof(st));
	GIVES(str_fstat(p[0], &st), 0);
	ck_assert(S_ISFIFO(st.st_mode));
	memset(&st, 0, sizeof(st));
	GIVES(str_fstat(fd, &st), 0);
	ck_assert(S_ISCHR(st.st_mode));
	FAILS(str_fstat(p[0], NULL), EFAULT);
	FAILS(str_fstat(p[0], (struct stat *)-1), EFAULT);
	close_pipe(p);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(lseek_on_a_stream_is_espipe)
{
	int p[2], fd = open_dev("echo");

	make_pipe(p);
	FAILS(str_lseek(p[0], 0, SEEK_SET), ESPIPE);
	FAILS(str_lseek(fd, 5, SEEK_CUR), ESPIPE);
	close_pipe(p);
	GIVES(str_close(fd), 0);
}
END_TEST

/* §12: "Any other bad pointer gives EFAULT in checked mode." */
START_TEST(any_bad_pointer_is_efault_in_checked_mode)
{
	char *none, *konst;
	int p[2], before;

	make_pipe(p);
	bad_pages(&none, &konst);
	before = lowest_free();
	FAILS(str_open(none, O_RDWR), EFAULT);
	FAILS(str_pipe((int *)(void *)none), EFAULT);
	FAILS(str_pipe((int *)(void *)konst), EFAULT);
	FAILS(str_fstat(p[0], (struct stat *)(void *)none), EFAULT);
	FAILS(str_fstat(p[0], (struct stat *)(void *)konst), EFAULT);
	ck_assert_int_eq(lowest_free(), before);
	close_pipe(p);
}
END_TEST

/* ---- kernel descriptors ------------------------------------------------- */

/* "On a kernel descriptor all of these pass through to libc." */
START_TEST(reads_and_writes_pass_through_to_a_kernel_pipe)
{
	char a[2], b[4];
	struct iovec out[2] = {
	    {(char *)(uintptr_t) "ab", 2}, {(char *)(uintptr_t) "cdef", 4}};
	struct iovec in[2] = {{a, 2}, {b, 4}};
	int k[2], n = 0;

	ck_assert_int_eq(pipe(k), 0);
	GIVES(str_write(k[1], "xyz", 3), 3);
	GIVES(str_ioctl(k[0], FIONREAD, &n), 0);
	ck_assert_int_eq(n, 3);
	READS(k[0], 10, "xyz");
	GIVES(str_writev(k[1], out, 2), 6);
	GIVES(str_readv(k[0], in, 2), 6);
	ck_assert_mem_eq(a, "ab", 2);
	ck_assert_mem_eq(b, "cdef", 4);
	GIVES(str_fcntl(k[0], F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(fcntl(k[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	FAILS(str_read(k[0], a, 1), EAGAIN);
	GIVES(str_close(k[1]), 0);
	GIVES(str_read(k[0], a, 1), 0);
	GIVES(str_close(k[0]), 0);
	ck_assert_int_eq(fcntl(k[0], F_GETFD), -1);
}
END_TEST

START_TEST(dup_fstat_and_lseek_pass_through_to_a_kernel_file)
{
	FILE *f = tmpfile();
	struct stat st;
	int fd, fd2;

	ck_assert_ptr_nonnull(f);
	fd = fileno(f);
	GIVES(str_write(fd, "hello", 5), 5);
	GIVES(str_lseek(fd, 1, SEEK_SET), 1);
	READS(fd, 3, "ell");
	GIVES(str_fstat(fd, &st), 0);
	ck_assert(S_ISREG(st.st_mode));
	ck_assert_int_eq(st.st_size, 5);
	fd2 = str_dup(fd);
	ck_assert_int_ge(fd2, 0);
	GIVES(str_lseek(fd2, 0, SEEK_CUR), 4);
	GIVES(str_close(fd2), 0);
	fd2 = str_fcntl(fd, F_DUPFD_CLOEXEC, 100);
	ck_assert_int_ge(fd2, 100);
	ck_assert_int_eq(fcntl(fd2, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(close(fd2), 0);
	fclose(f);
}
END_TEST

/* "Not a stream: ENOSTR (getmsg/putmsg family), ENOTTY (ioctl)." */
START_TEST(stream_calls_on_a_kernel_descriptor_are_refused)
{
	int k[2], flags = 0, band = 0, any = MSG_ANY;
	struct strbuf d = {1, 1, (char[1]){'x'}};
	mblk_t *mp;

	ck_assert_int_eq(pipe(k), 0);
	GIVES(isastream(k[0]), 0);
	FAILS(putmsg(k[1], NULL, &d, 0), ENOSTR);
	FAILS(putpmsg(k[1], NULL, &d, 0, MSG_BAND), ENOSTR);
	FAILS(getmsg(k[0], NULL, &d, &flags), ENOSTR);
	FAILS(getpmsg(k[0], NULL, &d, &band, &any), ENOSTR);
	FAILS(str_getmblk(k[0], &mp), ENOSTR);
	mp = str_mblkalloc(1);
	ck_assert_ptr_nonnull(mp);
	FAILS(str_putmblk(k[1], mp), ENOSTR);
	freemsg(mp);
	FAILS(ustr_dump(k[0], stderr), ENOSTR);
	FAILS(str_ioctl(k[0], I_LOOK, NULL), ENOTTY);
	FAILS(str_ioctl(k[0], I_PUSH, "nullmod"), ENOTTY);
	close(k[0]);
	close(k[1]);
}
END_TEST

/* ---- running out -------------------------------------------------------- */

/* Fill the table up to a limit of 64, leaving `free_slots` numbers. */
static void
exhaust(struct rlimit *old, int *fds, int *nfds, int free_slots)
{
	struct rlimit rl;
	int fd;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, old), 0);
	rl = *old;
	rl.rlim_cur = 64;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	for (*nfds = 0; (fd = dup(0)) >= 0;)
		fds[(*nfds)++] = fd;
	ck_assert_int_eq(errno, EMFILE);
	while (free_slots-- > 0)
		close(fds[--*nfds]);
}

static void
relieve(const struct rlimit *old, const int *fds, int nfds)
{
	for (int i = 0; i < nfds; i++)
		close(fds[i]);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, old), 0);
}

START_TEST(without_a_free_number_everything_is_emfile)
{
	struct rlimit old;
	int fds[64], n, p[2], q[2];

	make_pipe(p);
	exhaust(&old, fds, &n, 0);
	FAILS(str_pipe(q), EMFILE);
	FAILS(str_open("/dev/streams/clone/echo", O_RDWR), EMFILE);
	FAILS(str_dup(p[0]), EMFILE);
	FAILS(str_fcntl(p[0], F_DUPFD, 0), EMFILE);
	GIVES(str_write(p[0], "x", 1), 1);
	READS(p[1], 1, "x");
	relieve(&old, fds, n);
	close_pipe(p);
}
END_TEST

START_TEST(a_pipe_that_finds_one_free_number_gives_it_back)
{
	struct rlimit old;
	int fds[64], n, p[2], q[2], fd;

	make_pipe(p);
	exhaust(&old, fds, &n, 1);
	for (int i = 0; i < 5; i++)
		FAILS(str_pipe(q), EMFILE);
	fd = str_open("/dev/streams/clone/echo", O_RDWR);
	ck_assert_msg(fd >= 0, "str_open: %s", ename(errno));
	GIVES(str_close(fd), 0);
	relieve(&old, fds, n);
	close_pipe(p);
}
END_TEST

START_TEST(dup2_needs_no_free_number)
{
	struct rlimit old;
	int fds[64], n, p[2];

	make_pipe(p);
	exhaust(&old, fds, &n, 0);
	GIVES(str_dup2(p[0], fds[0]), fds[0]);
	GIVES(isastream(fds[0]), 1);
	GIVES(str_close(fds[0]), 0);
	relieve(&old, fds + 1, n - 1);
	close_pipe(p);
}
END_TEST

/* ---- the library itself ------------------------------------------------- */

START_TEST(version_is_the_published_line)
{
	char cache[4], head[4], heap[8];
	int a, b, c, debug;

	ck_assert_int_eq(sscanf(ustr_version(),
			     "ustreams %d.%d.%d "
			     "buffer_cache=%3s head_cache=%3s heap=%7s debug=%d",
			     &a, &b, &c, cache, head, heap, &debug),
	    7);
	ck_assert(strcmp(cache, "yes") == 0 || strcmp(cache, "no") == 0);
	ck_assert(strcmp(head, "yes") == 0 || strcmp(head, "no") == 0);
	ck_assert(strcmp(heap, "arena") == 0 || strcmp(heap, "malloc") == 0);
	ck_assert(debug >= 0 && debug <= 3);
}
END_TEST

START_TEST(dump_draws_the_modules)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(ustr_dump(p[0], f), 0);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(text, "nullmod"));
	free(text);
	close_pipe(p);
}
END_TEST

START_TEST(tunables_have_the_published_values)
{
	GIVES(ustr_tunable("nstrpush"), 64);
	GIVES(ustr_tunable("strmsgsz"), 262144);
	GIVES(ustr_tunable("strctlsz"), 4096);
	GIVES(ustr_tunable("sthiwat"), 65536);
	GIVES(ustr_tunable("stlowat"), 8192);
	GIVES(ustr_tunable("cltime"), 15000);
	ck_assert_int_gt(ustr_tunable("ioctltime"), 0);
	FAILS(ustr_tunable("nosuch"), EINVAL);
	FAILS(ustr_tune("nosuch", 1), EINVAL);
	FAILS(ustr_tune("nstrpush", -1), EINVAL);
	FAILS(ustr_tune("strmsgsz", -5), EINVAL);
}
END_TEST

START_TEST(a_tuned_water_mark_applies_to_new_streams)
{
	int p[2];

	GIVES(ustr_tune("stlowat", 10), 0);
	GIVES(ustr_tune("sthiwat", 100), 0);
	GIVES(ustr_tunable("sthiwat"), 100);
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_GET_HIWAT), 100);
	GIVES(str_ioctl(p[0], I_GET_LOWAT), 10);
	ck_assert_int_eq(fill(p[0]), 100);
	close_pipe(p);
	GIVES(ustr_tune("sthiwat", 65536), 0);
	GIVES(ustr_tune("stlowat", 8192), 0);
}
END_TEST

/* ---- races -------------------------------------------------------------- */

static atomic_bool stop_using;

/* "Any call may race with close in another thread: EBADF or a normal result" */
static void
use_both(void *arg)
{
	int *p = arg, fl;
	char buf[8];

	while (!atomic_load(&stop_using)) {
		if (str_write(p[0], "x", 1) == -1 && errno != EBADF && errno != EAGAIN &&
		    errno != EPIPE)
			ck_abort_msg("write: %s", ename(errno));
		if (str_read(p[1], buf, 8) == -1 && errno != EBADF && errno != EAGAIN)
			ck_abort_msg("read: %s", ename(errno));
		fl = str_fcntl(p[0], F_GETFL);
		if (fl == -1 && errno != EBADF)
			ck_abort_msg("fcntl: %s", ename(errno));
	}
}

START_TEST(calls_that_race_with_close_fail_cleanly)
{
	for (int i = 0; i < 200; i++) {
		struct later l;
		int p[2];

		make_pipe(p);
		atomic_store(&stop_using, false);
		later(&l, 0, use_both, p);
		if (i % 2)
			msleep(1);
		close_pipe(p);
		sched_yield();
		atomic_store(&stop_using, true);
		later_join(&l);
	}
}
END_TEST

/* The same, but the numbers are a stream at every moment. */
START_TEST(calls_that_race_with_dup2_see_one_stream_or_the_other)
{
	struct later l;
	int p[2], q[2];

	make_pipe(p);
	atomic_store(&stop_using, false);
	later(&l, 0, use_both, p);
	for (int i = 0; i < 1000; i++) {
		make_pipe(q);
		GIVES(str_dup2(q[0], p[0]), p[0]);
		GIVES(str_dup2(q[1], p[1]), p[1]);
		close_pipe(q);
	}
	atomic_store(&stop_using, true);
	later_join(&l);
	drain(p[1]);
	GIVES(str_write(p[0], "x", 1), 1);
	READS(p[1], 5, "x");
	close_pipe(p);
}
END_TEST

static void *
sleep_in_read(void *arg)
{
	char c;
	ssize_t n = str_read(*(int *)arg, &c, 1);

	return (void *)(intptr_t)(n == 0 || n == 1 || (n == -1 && errno == EBADF));
}

/* Closes a minor last, which takes as long as the close time of what thold keeps. */
struct slow {
	int s_fd;
	struct gate s_gate;
};

static int
close_slowly(void *arg)
{
	struct slow *s = arg;

	lives(2 * SOON);
	return gate_wait(&s->s_gate, SOON) ? str_close(s->s_fd) : 1;
}

/* He who is stopped may go on or not: who opens the minor waits two seconds for him. */
START_TEST(a_minor_whose_close_is_stopped_is_etime)
{
	struct slow s = {.s_fd = -1};
	int ms = 4 * SOON, fd;
	pid_t pid;

	test_modules();
	gate_make(&s.s_gate);
	s.s_fd = str_open("/dev/streams/tdrv/3", O_RDWR);
	ck_assert_int_ge(s.s_fd, 0);
	GIVES(str_ioctl(s.s_fd, I_PUSH, "thold"), 0);
	GIVES(str_ioctl(s.s_fd, I_SETCLTIME, &ms), 0);
	GIVES(str_write(s.s_fd, "stuck", 5), 5);
	pid = child(close_slowly, &s);
	GIVES(str_close(s.s_fd), 0);
	gate_open(&s.s_gate);
	msleep(300);
	GIVES(kill(pid, SIGSTOP), 0);
	FAILS(str_open("/dev/streams/tdrv/3", O_RDWR), ETIME);
	GIVES(kill(pid, SIGKILL), 0);
	GIVES(reap(pid, SOON), 128 + SIGKILL);
	AWAIT((fd = str_open("/dev/streams/tdrv/3", O_RDWR)) >= 0);
	GIVES(str_close(fd), 0);
	gate_drop(&s.s_gate);
}
END_TEST

/* A module whose open routine is stopped, in the process that asked for it. */
static bool stops;

static int
stop_in_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	if (stops)
		raise(SIGSTOP);
	qprocson(q);
	return 0;
}

static int
stop_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	return 0;
}

static int
stop_put(queue_t *q, mblk_t *mp)
{
	putnext(q, mp);
	return 0;
}

static struct module_info stop_info = {4711, "tstop", 0, INFPSZ, 0, 0};
static struct qinit stop_rinit = {stop_put, NULL, stop_in_open, stop_close, NULL, &stop_info, NULL};
static struct qinit stop_winit = {stop_put, NULL, NULL, NULL, NULL, &stop_info, NULL};
static struct streamtab stop_tab = {&stop_rinit, &stop_winit, NULL, NULL};

static int
push_and_stop(void *arg)
{
	lives(2 * SOON);
	stops = true;
	return str_ioctl(*(int *)arg, I_PUSH, "tstop");
}

/* Who pushes is stopped: who opens the same device or FIFO once more does not wait for him. */
START_TEST(a_stream_on_which_a_push_is_stopped_is_etime)
{
	const char *path = _i == 0 ? "/dev/streams/tdrv/3" : "/dev/streams/fifo/3";
	int fd, again, status;
	pid_t pid;

	test_modules();
	GIVES(ustr_register_module("tstop", &stop_tab, D_MP), 0);
	fd = str_open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	pid = child(push_and_stop, &fd);
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	FAILS(str_open(path, O_RDWR), ETIME);
	GIVES(kill(pid, SIGCONT), 0);
	AWAIT((again = str_open(path, O_RDWR)) >= 0);
	GIVES(reap(pid, SOON), 0);
	GIVES(str_close(again), 0);
	GIVES(str_close(fd), 0);
}
END_TEST

/* A reader asleep on a number that is closed: it may sleep on, as in read(2),
   but the stream is whole and the next event ends the sleep. */
START_TEST(a_sleeper_survives_the_close_of_its_number)
{
	pthread_t t;
	void *fine;
	int p[2], fd;

	make_blocking_pipe(p);
	fd = str_dup(p[0]);
	pthread_create(&t, NULL, sleep_in_read, &fd);
	msleep(30);
	GIVES(str_close(fd), 0);
	GIVES(str_write(p[1], "x", 1), 1);
	GIVES(str_close(p[1]), 0);
	pthread_join(t, &fine);
	ck_assert_ptr_nonnull(fine);
	GIVES(str_close(p[0]), 0);
}
END_TEST

static void
opening(Suite *s)
{
	TCase *tc = group(s, "opening", 120);

	tcase_add_test(tc, open_of_a_clone_device_gives_a_stream);
	tcase_add_test(tc, open_takes_the_device_name_without_clone);
	tcase_add_test(tc, open_with_o_nonblock_sets_the_flag);
	tcase_add_test(tc, open_of_an_ordinary_file_is_enxio);
	tcase_add_test(tc, open_of_a_missing_path_is_enoent);
	tcase_add_test(tc, open_of_an_unknown_device_fails_clearly);
	tcase_add_test(tc, open_with_a_bad_path_pointer_is_efault);
	tcase_add_test(tc, open_of_an_endless_path_fails);
	tcase_add_test(tc, two_clone_opens_are_two_streams);
	tcase_add_test(tc, the_driver_is_told_of_a_clone_open);
	tcase_add_test(tc, a_driver_chooses_a_minor_that_nobody_has_open);
	tcase_add_test(tc, a_second_open_of_a_minor_is_the_same_stream);
	tcase_add_test(tc, two_minors_of_a_driver_are_two_streams);
	tcase_add_test(tc, the_errno_of_a_driver_open_passes_through);
	tcase_add_test(tc, a_driver_may_say_try_again);
	tcase_add_test(tc, a_read_only_stream_is_not_written);
	tcase_add_test(tc, a_write_only_stream_is_not_read);
	tcase_add_test(tc, pipe_ends_are_open_for_both_ways);
	tcase_add_test(tc, pipe_with_a_bad_pointer_is_efault_and_leaks_nothing);
	tcase_add_test(tc, without_a_free_number_everything_is_emfile);
	tcase_add_test(tc, a_pipe_that_finds_one_free_number_gives_it_back);
	tcase_add_test(tc, dup2_needs_no_free_number);
}

static void
closing(Suite *s)
{
	TCase *tc = group(s, "closing", 120);

	tcase_add_test(tc, close_frees_the_number);
	tcase_add_test(tc, a_closed_descriptor_is_bad_for_every_call);
	tcase_add_loop_test(tc, a_bad_descriptor_is_ebadf_for_every_call, 0, NBAD);
	tcase_add_test(tc, the_peer_reads_what_was_sent_before_close);
	tcase_add_test(tc, close_discards_what_was_not_read);
	tcase_add_test(tc, last_close_waits_for_the_close_time);
	tcase_add_test(tc, last_close_with_o_nonblock_does_not_wait);
	tcase_add_test(tc, last_close_with_nothing_queued_does_not_wait);
	tcase_add_test(tc, a_signal_ends_the_wait_of_the_last_close);
	tcase_add_test(tc, after_a_hangup_the_last_close_does_not_wait);
	tcase_add_test(tc, a_close_that_is_not_the_last_does_not_wait);
	tcase_add_test(tc, a_number_closed_with_close_is_released_when_it_comes_back);
	tcase_add_test(tc, both_numbers_closed_with_close_serve_again);
	tcase_add_test(tc, dup2_onto_a_number_closed_with_close_releases_it);
	if (!under_tsan())
		tcase_add_test(tc, calls_that_race_with_close_fail_cleanly);
	tcase_add_test(tc, calls_that_race_with_dup2_see_one_stream_or_the_other);
	tcase_add_test(tc, a_sleeper_survives_the_close_of_its_number);
	if (can_fork()) {
		tcase_add_test(tc, a_minor_whose_close_is_stopped_is_etime);
		tcase_add_loop_test(tc, a_stream_on_which_a_push_is_stopped_is_etime, 0, 2);
	}
}

static void
descriptors(Suite *s)
{
	TCase *tc = group(s, "descriptors", 120);

	tcase_add_test(tc, dup_takes_the_lowest_free_number);
	tcase_add_test(tc, dup_shares_the_open_file);
	tcase_add_test(tc, the_stream_lives_until_its_last_duplicate_is_closed);
	tcase_add_test(tc, dup2_closes_the_stream_it_lands_on);
	tcase_add_test(tc, dup2_onto_itself_does_nothing);
	tcase_add_test(tc, dup2_of_a_stream_replaces_a_kernel_descriptor);
	tcase_add_test(tc, dup2_of_a_kernel_descriptor_replaces_a_stream);
	tcase_add_test(tc, a_failing_dup2_leaves_its_target_open);
	tcase_add_test(tc, f_dupfd_takes_the_lowest_number_from_its_argument_on);
	tcase_add_test(tc, f_dupfd_outside_the_limits_is_einval);
	tcase_add_test(tc, fd_cloexec_belongs_to_each_descriptor);
	tcase_add_test(tc, open_with_o_cloexec_sets_fd_cloexec);
	tcase_add_test(tc, f_setfl_keeps_the_access_mode);
	tcase_add_test(tc, any_other_fcntl_is_einval);
	tcase_add_test(tc, fstat_tells_pipes_from_devices);
	tcase_add_test(tc, lseek_on_a_stream_is_espipe);
	if (checked_mode())
		tcase_add_test(tc, any_bad_pointer_is_efault_in_checked_mode);
	tcase_add_test(tc, reads_and_writes_pass_through_to_a_kernel_pipe);
	tcase_add_test(tc, dup_fstat_and_lseek_pass_through_to_a_kernel_file);
	tcase_add_test(tc, stream_calls_on_a_kernel_descriptor_are_refused);
	tcase_add_test(tc, version_is_the_published_line);
	tcase_add_test(tc, dump_draws_the_modules);
	tcase_add_test(tc, tunables_have_the_published_values);
	tcase_add_test(tc, a_tuned_water_mark_applies_to_new_streams);
}

int
main(void)
{
	Suite *s = suite_create("open");

	opening(s);
	closing(s);
	descriptors(s);
	return run_suite(s);
}
