/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_sendfd.c: descriptors in messages (streamio.md §8): I_SENDFD, I_RECVFD,
 * of streams and of kernel files, between threads and between processes; and
 * connld (§10).
 */
#include "headlib.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int
received(int fd)
{
	struct strrecvfd rf = {.fd = -1};

	GIVES(str_ioctl(fd, I_RECVFD, &rf), 0);
	ck_assert_int_ge(rf.fd, 0);
	ck_assert(rf.uid == geteuid() && rf.gid == getegid());
	return rf.fd;
}

/* A kernel file with this text in it. */
static int
kernel_file(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	return fd;
}

static bool
contains(int fd, const char *text)
{
	char buf[100] = {0};

	return pread(fd, buf, sizeof(buf) - 1, 0) == (ssize_t)strlen(text) &&
	    strcmp(buf, text) == 0;
}

/* Both ends of a kernel pipe: when do all writers have closed? */
static bool
kernel_eof(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

/* ---- within a process ------------------------------------------------------- */

START_TEST(a_stream_sent_is_the_same_open_file)
{
	int p[2], q[2], fd;

	make_pipe(p);
	make_pipe(q);
	GIVES(str_ioctl(p[0], I_SENDFD, q[0]), 0);
	fd = received(p[1]);
	ck_assert_int_ne(fd, q[0]);
	GIVES(str_write(fd, "via", 3), 3);
	READS(q[1], 100, "via");
	nonblock(fd, false);
	ck_assert_int_eq(str_fcntl(q[0], F_GETFL) & O_NONBLOCK, 0);
	GIVES(str_close(q[0]), 0);
	GIVES(polled(q[1], 0), 0);
	GIVES(str_close(fd), 0);
	GIVES(polled(q[1], 0), POLLHUP);
	GIVES(str_close(q[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(the_message_keeps_the_stream_open)
{
	int p[2], q[2], fd;

	make_pipe(p);
	make_pipe(q);
	GIVES(str_ioctl(p[0], I_SENDFD, q[0]), 0);
	GIVES(str_close(q[0]), 0);
	GIVES(polled(q[1], 0), 0);
	GIVES(str_write(q[1], "kept", 4), 4);
	fd = received(p[1]);
	READS(fd, 100, "kept");
	GIVES(str_close(fd), 0);
	GIVES(str_close(q[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_kernel_file_sent_is_a_duplicate)
{
	int p[2], k = kernel_file("kernel"), fd;
	struct stat a, b;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_SENDFD, k), 0);
	ck_assert_int_eq(fstat(k, &a), 0);
	close(k);
	fd = received(p[1]);
	GIVES(isastream(fd), 0);
	ck_assert_int_eq(fstat(fd, &b), 0);
	ck_assert(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
	ck_assert(contains(fd, "kernel"));
	ck_assert_int_eq(fcntl(fd, F_GETFD), 0);
	close(fd);
	close_pipe(p);
}
END_TEST

START_TEST(i_e_recvfd_does_the_same)
{
	struct strrecvfd rf = {.fd = -1};
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_SENDFD, p[1]), 0);
	GIVES(str_ioctl(p[1], I_E_RECVFD, &rf), 0);
	ck_assert(rf.fd >= 0 && rf.uid == geteuid() && rf.gid == getegid());
	GIVES(str_close(rf.fd), 0);
	close_pipe(p);
}
END_TEST

START_TEST(descriptors_come_in_the_order_sent_among_data)
{
	int p[2], k[3], fd;
	char text[20];

	make_pipe(p);
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "file %d", i);
		k[i] = kernel_file(text);
		GIVES(str_ioctl(p[0], I_SENDFD, k[i]), 0);
		GIVES(str_write(p[0], "data", 4), 4);
		close(k[i]);
	}
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "file %d", i);
		fd = received(p[1]);
		ck_assert(contains(fd, text));
		READS(p[1], 100, "data");
		close(fd);
	}
	close_pipe(p);
}
END_TEST

START_TEST(modules_pass_it_on)
{
	int p[2], fd;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(p[1], I_PUSH, "pipemod"), 0);
	GIVES(str_ioctl(p[1], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(p[0], I_SENDFD, 0), 0);
	fd = received(p[1]);
	close(fd);
	close_pipe(p);
}
END_TEST

START_TEST(a_blocking_receiver_sleeps_until_one_comes)
{
	struct act a = {.a_text = "x"};
	struct later l;
	int p[2];

	make_pipe(p);
	nonblock(p[1], false);
	a.a_fd = p[0];
	later(&l, 50, act, &a);
	/* What comes is data: it is told so. */
	FAILS(str_ioctl(p[1], I_RECVFD, &(struct strrecvfd){0}), EBADMSG);
	later_join(&l);
	close_pipe(p);
}
END_TEST

/* ---- errors ------------------------------------------------------------------- */

START_TEST(sending_on_anything_but_a_pipe_is_einval)
{
	int dev = open_dev("echo"), fifo = str_open("/dev/streams/fifo/1", O_RDWR);
	int k = kernel_file("");

	FAILS(str_ioctl(dev, I_SENDFD, 0), EINVAL);
	FAILS(str_ioctl(fifo, I_SENDFD, 0), EINVAL);
	FAILS(str_ioctl(k, I_SENDFD, 0), ENOTTY);
	FAILS(str_ioctl(k, I_RECVFD, &(struct strrecvfd){0}), ENOTTY);
	close(k);
	GIVES(str_close(dev), 0);
	GIVES(str_close(fifo), 0);
}
END_TEST

START_TEST(a_bad_descriptor_is_ebadf_and_the_own_head_einval)
{
	int p[2], copy;

	make_pipe(p);
	copy = str_dup(p[0]);
	FAILS(str_ioctl(p[0], I_SENDFD, -1), EBADF);
	FAILS(str_ioctl(p[0], I_SENDFD, 4321), EBADF);
	FAILS(str_ioctl(p[0], I_SENDFD, 1 << 30), EBADF);
	FAILS(str_ioctl(p[0], I_SENDFD, p[0]), EINVAL);
	FAILS(str_ioctl(p[0], I_SENDFD, copy), EINVAL);
	GIVES(waiting(p[1]), 0);
	GIVES(str_close(copy), 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_full_peer_is_eagain_even_for_a_blocking_sender)
{
	int p[2], k[2], fd, n;

	make_pipe(p);
	ck_assert_int_eq(pipe(k), 0);
	fill(p[0]);
	nonblock(p[0], false);
	FAILS(str_ioctl(p[0], I_SENDFD, k[1]), EAGAIN);
	close(k[1]);
	AWAIT(kernel_eof(k[0])); /* what was made ready is gone */
	close(k[0]);
	drain(p[1]);
	/* Descriptors count themselves. */
	set_marks(p[1], 1000, 0);
	for (n = 0; n < 10000 && str_ioctl(p[0], I_SENDFD, 0) == 0; n++)
		;
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert(n > 0 && n < 1000);
	for (int i = 0; i < n; i++) {
		fd = received(p[1]);
		close(fd);
	}
	GIVES(str_ioctl(p[0], I_SENDFD, 0), 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_peer_that_is_gone_is_enxio)
{
	int p[2];

	make_pipe(p);
	GIVES(str_close(p[1]), 0);
	catch_signal(SIGPIPE, 0);
	FAILS(str_ioctl(p[0], I_SENDFD, 0), ENXIO);
	FAILS(str_ioctl(p[0], I_RECVFD, &(struct strrecvfd){0}), ENXIO);
	ck_assert_int_eq(caught, 0);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(what_was_sent_before_the_hangup_is_received_first)
{
	int p[2], fd;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_SENDFD, 0), 0);
	GIVES(str_close(p[0]), 0);
	fd = received(p[1]);
	close(fd);
	FAILS(str_ioctl(p[1], I_RECVFD, &(struct strrecvfd){0}), ENXIO);
	GIVES(str_close(p[1]), 0);
}
END_TEST

START_TEST(errors_of_the_stream_are_reported_by_side)
{
	int p[2], k = kernel_file("");

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	order_error(p[0], 0, EPROTO);
	FAILS(str_ioctl(p[0], I_SENDFD, k), EPROTO);
	FAILS(str_ioctl(p[0], I_RECVFD, &(struct strrecvfd){0}), EAGAIN);
	close_pipe(p);
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	order_error(p[0], EPROTO, 0);
	GIVES(str_ioctl(p[0], I_SENDFD, k), 0);
	FAILS(str_ioctl(p[0], I_RECVFD, &(struct strrecvfd){0}), EPROTO);
	close_pipe(p);
	close(k);
}
END_TEST

START_TEST(receiving_from_an_empty_stream_is_eagain)
{
	int p[2];

	make_pipe(p);
	FAILS(str_ioctl(p[1], I_RECVFD, &(struct strrecvfd){0}), EAGAIN);
	close_pipe(p);
}
END_TEST

START_TEST(any_other_message_first_is_ebadmsg_and_stays)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[0], "data", 4), 4);
	FAILS(str_ioctl(p[1], I_RECVFD, &(struct strrecvfd){0}), EBADMSG);
	READS(p[1], 100, "data");
	GIVES(put_msg(p[0], "ctl", NULL, HIPRI), 0);
	FAILS(str_ioctl(p[1], I_RECVFD, &(struct strrecvfd){0}), EBADMSG);
	TAKES(p[1], "ctl", NULL, HIPRI);
	close_pipe(p);
}
END_TEST

START_TEST(a_descriptor_first_is_ebadmsg_for_read_and_getmsg)
{
	struct strbuf b = {.maxlen = 10, .buf = (char[10]){0}};
	int p[2], flags = 0, band = 0, fd;
	char c;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_SENDFD, 0), 0);
	for (int mode = 0; mode < 2; mode++) {
		read_mode(p[1], mode == 0 ? RNORM | RPROTDIS : RMSGN | RPROTDAT);
		FAILS(str_read(p[1], &c, 1), EBADMSG);
	}
	FAILS(getmsg(p[1], &b, &b, &flags), EBADMSG);
	flags = MSG_ANY;
	FAILS(getpmsg(p[1], &b, &b, &band, &flags), EBADMSG);
	GIVES(waiting(p[1]), 1);
	GIVES(first_bytes(p[1]), 0);
	GIVES(polled(p[1], POLLIN), POLLIN);
	fd = received(p[1]);
	close(fd);
	/* Data before it is read, and stops there. */
	GIVES(str_write(p[0], "ab", 2), 2);
	GIVES(str_ioctl(p[0], I_SENDFD, 0), 0);
	read_mode(p[1], RNORM);
	READS(p[1], 100, "ab");
	FAILS(str_read(p[1], &c, 1), EBADMSG);
	close_pipe(p);
}
END_TEST

START_TEST(a_bad_pointer_is_efault_and_loses_nothing)
{
	char *unmapped, *readonly;
	int p[2], fd;

	make_pipe(p);
	bad_pages(&unmapped, &readonly);
	GIVES(str_ioctl(p[0], I_SENDFD, 0), 0);
	FAILS(str_ioctl(p[1], I_RECVFD, NULL), EFAULT);
	FAILS(str_ioctl(p[1], I_RECVFD, (void *)-1), EFAULT);
	if (checked_mode()) {
		FAILS(str_ioctl(p[1], I_RECVFD, unmapped), EFAULT);
		FAILS(str_ioctl(p[1], I_RECVFD, readonly), EFAULT);
	}
	GIVES(waiting(p[1]), 1);
	fd = received(p[1]);
	close(fd);
	close_pipe(p);
}
END_TEST

START_TEST(the_access_mode_is_enforced)
{
	char path[] = "/tmp/sendfdXXXXXX";
	int p[2], rd, wr, file = mkstemp(path);

	ck_assert_int_ge(file, 0);
	close(file);
	make_pipe(p);
	GIVES(fattach(p[1], path), 0);
	rd = str_open(path, O_RDONLY | O_NONBLOCK);
	wr = str_open(path, O_WRONLY | O_NONBLOCK);
	FAILS(str_ioctl(rd, I_SENDFD, 0), EBADF);
	FAILS(str_ioctl(wr, I_RECVFD, &(struct strrecvfd){0}), EBADF);
	GIVES(str_close(rd), 0);
	GIVES(str_close(wr), 0);
	GIVES(fdetach(path), 0);
	unlink(path);
	close_pipe(p);
}
END_TEST

START_TEST(without_a_free_number_it_stays_and_comes_later)
{
	struct rlimit old, low;
	int p[2], q[2], fd;

	make_pipe(p);
	make_pipe(q);
	GIVES(str_ioctl(p[0], I_SENDFD, _i == 0 ? q[0] : 0), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	fd = dup(0);
	close(fd);
	low = (struct rlimit){(rlim_t)fd, old.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	FAILS(str_ioctl(p[1], I_RECVFD, &(struct strrecvfd){0}), EMFILE);
	GIVES(waiting(p[1]), 1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	fd = received(p[1]);
	GIVES(str_close(fd), 0);
	close_pipe(p);
	close_pipe(q);
}
END_TEST

/* ---- freed with its reference ---------------------------------------------------- */

START_TEST(a_flush_gives_the_reference_back)
{
	int p[2], q[2], k[2];

	make_pipe(p);
	make_pipe(q);
	ck_assert_int_eq(pipe(k), 0);
	GIVES(str_ioctl(p[0], I_PUSH, "pipemod"), 0);
	GIVES(str_ioctl(p[0], I_SENDFD, q[0]), 0);
	GIVES(str_ioctl(p[0], I_SENDFD, k[1]), 0);
	GIVES(str_close(q[0]), 0);
	close(k[1]);
	GIVES(str_ioctl(p[1], I_FLUSH, FLUSHR), 0);
	AWAIT(polled(q[1], 0) == POLLHUP);
	AWAIT(kernel_eof(k[0]));
	close(k[0]);
	GIVES(str_close(q[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_close_gives_the_reference_back)
{
	int p[2], q[2], k[2];

	make_pipe(p);
	make_pipe(q);
	ck_assert_int_eq(pipe(k), 0);
	GIVES(str_ioctl(p[0], I_SENDFD, q[0]), 0);
	GIVES(str_ioctl(p[0], I_SENDFD, k[1]), 0);
	GIVES(str_close(q[0]), 0);
	close(k[1]);
	close_pipe(p);
	AWAIT(polled(q[1], 0) == POLLHUP);
	AWAIT(kernel_eof(k[0]));
	close(k[0]);
	GIVES(str_close(q[1]), 0);
}
END_TEST

START_TEST(a_message_within_a_message_is_freed_too)
{
	int p[2], q[2], r[2];

	make_pipe(p);
	make_pipe(q);
	make_pipe(r);
	GIVES(str_ioctl(q[0], I_SENDFD, r[0]), 0);
	GIVES(str_ioctl(p[0], I_SENDFD, q[1]), 0);
	GIVES(str_close(r[0]), 0);
	GIVES(str_close(q[1]), 0);
	close_pipe(p);
	AWAIT(polled(q[0], 0) == POLLHUP);
	AWAIT(polled(r[1], 0) == POLLHUP);
	GIVES(str_close(q[0]), 0);
	GIVES(str_close(r[1]), 0);
}
END_TEST

START_TEST(a_message_of_that_type_that_a_program_made_is_no_descriptor)
{
	mblk_t *mp = str_mblkalloc(128);
	int p[2];

	make_pipe(p);
	ck_assert_ptr_nonnull(mp);
	mp->b_datap->db_type = M_PASSFP;
	memset(mp->b_wptr, 0x5a, 128);
	mp->b_wptr += 128;
	GIVES(str_putmblk(p[0], mp), 0);
	FAILS(str_ioctl(p[1], I_RECVFD, &(struct strrecvfd){0}), EBADMSG);
	GIVES(str_getmblk(p[1], &mp), 0);
	freemsg(mp);
	close_pipe(p);
}
END_TEST

START_TEST(the_very_message_may_be_taken_and_put_elsewhere)
{
	int p[2], q[2], k = kernel_file("block"), fd;
	mblk_t *mp;

	make_pipe(p);
	make_pipe(q);
	GIVES(str_ioctl(p[0], I_SENDFD, k), 0);
	GIVES(str_getmblk(p[1], &mp), 0);
	GIVES(str_putmblk(q[0], mp), 0);
	fd = received(q[1]);
	ck_assert(contains(fd, "block"));
	close(fd);
	close(k);
	close_pipe(p);
	close_pipe(q);
}
END_TEST

/* ---- between processes --------------------------------------------------------------- */

struct child {
	int c_p[2];
	int c_mode;
};

/* Receives a descriptor and writes to it, or reads from it. */
static int
take_one(void *arg)
{
	struct child *c = arg;
	struct strrecvfd rf = {.fd = -1};

	NEED(str_close(c->c_p[0]) == 0);
	NEED(str_ioctl(c->c_p[1], I_RECVFD, &rf) == 0);
	NEED(rf.uid == geteuid());
	if (c->c_mode == 0)
		NEED(str_write(rf.fd, "child", 5) == 5);
	else
		NEED(contains(rf.fd, "parent"));
	return str_close(rf.fd) == 0 ? 0 : 1;
}

/* Loop: a stream, a kernel file. */
START_TEST(a_process_receives_what_another_opened_after_the_fork)
{
	struct child c = {.c_mode = _i};
	int q[2] = {-1, -1}, k;
	pid_t pid;

	make_blocking_pipe(c.c_p);
	pid = child(take_one, &c);
	make_blocking_pipe(q);
	k = kernel_file("parent");
	GIVES(str_ioctl(c.c_p[0], I_SENDFD, _i == 0 ? q[0] : k), 0);
	close(k);
	if (_i == 0)
		READS(q[1], 5, "child");
	ck_assert_int_eq(reap(pid, SOON), 0);
	close_pipe(q);
	close_pipe(c.c_p);
}
END_TEST

static int
send_one(void *arg)
{
	struct child *c = arg;
	int k = memfd_create("child", MFD_CLOEXEC), r[2];
	char byte;

	NEED(write(k, "parent", 6) == 6);
	NEED(str_ioctl(c->c_p[0], I_SENDFD, k) == 0);
	close(k);
	NEED(str_pipe(r) == 0);
	NEED(str_ioctl(c->c_p[0], I_SENDFD, r[0]) == 0);
	NEED(str_close(r[0]) == 0);
	NEED(str_close(c->c_p[1]) == 0);
	/* Until the other has it. */
	NEED(str_read(c->c_p[0], &byte, 1) == 1);
	return 0;
}

START_TEST(a_child_sends_to_its_parent)
{
	struct child c = {0};
	int fd;
	pid_t pid;

	make_blocking_pipe(c.c_p);
	pid = child(send_one, &c);
	fd = received(c.c_p[1]);
	ck_assert(contains(fd, "parent"));
	close(fd);
	fd = received(c.c_p[1]);
	GIVES(isastream(fd), 1);
	GIVES(str_write(c.c_p[1], "x", 1), 1);
	ck_assert_int_eq(reap(pid, SOON), 0);
	GIVES(str_close(fd), 0);
	close_pipe(c.c_p);
}
END_TEST

static int
send_and_end(void *arg)
{
	struct child *c = arg;
	int q[2], k = memfd_create("gone", MFD_CLOEXEC);

	NEED(str_ioctl(c->c_p[0], I_SENDFD, k) == 0);
	NEED(str_pipe(q) == 0);
	NEED(str_ioctl(c->c_p[0], I_SENDFD, q[0]) == 0);
	if (c->c_mode == 1)
		raise(SIGKILL);
	_exit(0);
}

/* Loop: the sender exits, or is killed. */
START_TEST(a_dead_senders_kernel_file_is_lost_and_its_stream_is_not)
{
	struct child c = {.c_mode = _i};
	int fd;

	make_pipe(c.c_p);
	reap(child(send_and_end, &c), SOON);
	FAILS(str_ioctl(c.c_p[1], I_RECVFD, &(struct strrecvfd){0}), ESRCH);
	fd = received(c.c_p[1]);
	GIVES(isastream(fd), 1);
	AWAIT(polled(fd, 0) == POLLHUP); /* its other end died with the sender */
	GIVES(str_close(fd), 0);
	close_pipe(c.c_p);
}
END_TEST

static int
pass_the_time(void *arg)
{
	gate_wait(arg, SOON);
	return 0;
}

START_TEST(a_fork_takes_no_copy_of_what_is_under_way)
{
	struct gate g;
	int p[2], k[2], fd;
	pid_t pid;

	gate_make(&g);
	make_pipe(p);
	ck_assert_int_eq(pipe2(k, O_CLOEXEC), 0);
	GIVES(str_ioctl(p[0], I_SENDFD, k[1]), 0);
	close(k[1]);
	pid = child(pass_the_time, &g);
	fd = received(p[1]);
	close(fd);
	AWAIT(kernel_eof(k[0]));
	gate_open(&g);
	ck_assert_int_eq(reap(pid, SOON), 0);
	close(k[0]);
	gate_drop(&g);
	close_pipe(p);
}
END_TEST

static int
take_with_service(void *arg)
{
	struct child *c = arg;
	struct strrecvfd rf;

	NEED(str_close(c->c_p[0]) == 0);
	NEED(str_ioctl(c->c_p[1], I_RECVFD, &rf) == 0);
	NEED(contains(rf.fd, "parent"));
	NEED(str_write(c->c_p[1], "done", 4) == 4);
	return 0;
}

START_TEST(without_a_helper_the_sender_serves_by_ustr_service)
{
	struct child c;
	char buf[8];
	int k = kernel_file("parent");
	pid_t pid;

	setenv("USTREAMS_HELPER", "0", 1);
	make_pipe(c.c_p);
	nonblock(c.c_p[1], false);
	pid = child(take_with_service, &c);
	GIVES(str_ioctl(c.c_p[0], I_SENDFD, k), 0);
	close(k);
	AWAIT(ustr_service(10) >= 0 && str_read(c.c_p[0], buf, 8) == 4);
	ck_assert_int_eq(reap(pid, SOON), 0);
	unsetenv("USTREAMS_HELPER");
	close_pipe(c.c_p);
}
END_TEST

enum { PIPES = 8, EACH = 20 }; /* more than may wait for a process */

static int
send_many(void *arg)
{
	int(*p)[2] = arg, k = memfd_create("test", MFD_CLOEXEC);

	for (int i = 0; i < PIPES * EACH; i++)
		NEED(str_ioctl(p[i / EACH][0], I_SENDFD, k) == 0);
	return raise(SIGKILL);
}

/* Whoever frees them may be the only one there is to bury the sender. */
START_TEST(messages_of_a_dead_sender_are_freed_before_it_is_buried)
{
	int p[PIPES][2];

	setenv("USTREAMS_HELPER", "0", 1);
	for (int i = 0; i < PIPES; i++)
		make_pipe(p[i]);
	ck_assert_int_eq(reap(child(send_many, p), SOON), 128 + SIGKILL);
	lives(SOON);
	for (int i = 0; i < PIPES * EACH; i++)
		FAILS(str_ioctl(p[i / EACH][1], I_RECVFD, &(struct strrecvfd){0}), ESRCH);
	for (int i = 0; i < PIPES; i++)
		close_pipe(p[i]);
	unsetenv("USTREAMS_HELPER");
}
END_TEST

/* ---- connld ---------------------------------------------------------------------------- */

static char path[80];

/* A server's pipe: p[0] is the server's end, p[1] attached with connld on it. */
static void
serve(int p[2])
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/connldXXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	make_pipe(p);
	GIVES(str_ioctl(p[1], I_PUSH, "connld"), 0);
	GIVES(fattach(p[1], path), 0);
	GIVES(str_close(p[1]), 0);
}

static void
stop(int p[2])
{
	GIVES(fdetach(path), 0);
	GIVES(str_close(p[0]), 0);
	unlink(path);
}

START_TEST(each_opener_gets_a_pipe_of_its_own)
{
	int p[2], client[3], server[3];
	char text[2] = "0";

	serve(p);
	for (int i = 0; i < 3; i++) {
		client[i] = str_open(path, O_RDWR | O_NONBLOCK);
		ck_assert_msg(client[i] >= 0, "str_open: %s", ename(errno));
		text[0] = (char)('0' + i);
		GIVES(str_write(client[i], text, 1), 1);
	}
	for (int i = 0; i < 3; i++) {
		server[i] = received(p[0]);
		text[0] = (char)('0' + i);
		READS(server[i], 100, text);
		GIVES(str_write(server[i], "answer", 6), 6);
	}
	for (int i = 0; i < 3; i++) {
		READS(client[i], 100, "answer");
		GIVES(str_ioctl(client[i], I_LIST, NULL), 0);
		GIVES(str_close(client[i]), 0);
		GIVES(polled(server[i], 0), POLLHUP);
		GIVES(str_close(server[i]), 0);
	}
	stop(p);
}
END_TEST

START_TEST(the_flags_of_the_open_are_the_clients)
{
	int p[2], rd, s;

	serve(p);
	rd = str_open(path, O_RDONLY | O_NONBLOCK);
	s = received(p[0]);
	FAILS(str_write(rd, "x", 1), EBADF);
	GIVES(str_write(s, "y", 1), 1);
	READS(rd, 100, "y");
	GIVES(str_close(rd), 0);
	GIVES(str_close(s), 0);
	stop(p);
}
END_TEST

START_TEST(an_open_without_a_server_is_enxio)
{
	int p[2];

	serve(p);
	GIVES(str_close(p[0]), 0);
	FAILS(str_open(path, O_RDWR), ENXIO);
	GIVES(fdetach(path), 0);
	unlink(path);
}
END_TEST

START_TEST(a_full_server_is_eagain)
{
	int p[2], n, fd[1000];

	serve(p);
	set_marks(p[0], 500, 0);
	for (n = 0; n < 1000 && (fd[n] = str_open(path, O_RDWR)) >= 0; n++)
		;
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert(n > 0 && n < 100);
	for (int i = 0; i < n; i++)
		GIVES(str_close(fd[i]), 0);
	stop(p);
}
END_TEST

START_TEST(clients_whom_the_server_never_took_are_hung_up)
{
	int p[2], fd;

	serve(p);
	fd = str_open(path, O_RDWR | O_NONBLOCK);
	GIVES(polled(fd, 0), 0);
	GIVES(str_close(p[0]), 0);
	AWAIT(polled(fd, 0) == POLLHUP);
	GIVES(str_close(fd), 0);
	GIVES(fdetach(path), 0);
	unlink(path);
}
END_TEST

START_TEST(connld_goes_on_pipes_only)
{
	int dev = open_dev("echo"), fifo = str_open("/dev/streams/fifo/1", O_RDWR);

	FAILS(str_ioctl(dev, I_PUSH, "connld"), EINVAL);
	FAILS(str_ioctl(fifo, I_PUSH, "connld"), EINVAL);
	GIVES(str_close(dev), 0);
	GIVES(str_close(fifo), 0);
}
END_TEST

static int
connect_and_talk(void *arg)
{
	int fd = str_open(path, O_RDWR);
	char buf[8];

	(void)arg;
	NEED(fd >= 0);
	NEED(str_write(fd, "hello", 5) == 5);
	NEED(str_read(fd, buf, sizeof(buf)) == 5);
	return str_close(fd);
}

START_TEST(client_processes_talk_to_a_server_process)
{
	pid_t pid[3];
	int p[2], fd;

	serve(p);
	nonblock(p[0], false);
	for (int i = 0; i < 3; i++)
		pid[i] = child(connect_and_talk, NULL);
	for (int i = 0; i < 3; i++) {
		fd = received(p[0]);
		READS(fd, 5, "hello");
		GIVES(str_write(fd, "there", 5), 5);
		GIVES(str_close(fd), 0);
	}
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(reap(pid[i], SOON), 0);
	stop(p);
}
END_TEST

/* ---- the suite ---------------------------------------------------------------------------- */

static void
sending(Suite *s)
{
	TCase *tc = group(s, "within a process", 120);

	tcase_add_test(tc, a_stream_sent_is_the_same_open_file);
	tcase_add_test(tc, the_message_keeps_the_stream_open);
	tcase_add_test(tc, a_kernel_file_sent_is_a_duplicate);
	tcase_add_test(tc, i_e_recvfd_does_the_same);
	tcase_add_test(tc, descriptors_come_in_the_order_sent_among_data);
	tcase_add_test(tc, modules_pass_it_on);
	tcase_add_test(tc, a_blocking_receiver_sleeps_until_one_comes);
}

static void
errors(Suite *s)
{
	TCase *tc = group(s, "errors", 120);

	tcase_add_test(tc, sending_on_anything_but_a_pipe_is_einval);
	tcase_add_test(tc, a_bad_descriptor_is_ebadf_and_the_own_head_einval);
	tcase_add_test(tc, a_full_peer_is_eagain_even_for_a_blocking_sender);
	tcase_add_test(tc, a_peer_that_is_gone_is_enxio);
	tcase_add_test(tc, what_was_sent_before_the_hangup_is_received_first);
	tcase_add_test(tc, errors_of_the_stream_are_reported_by_side);
	tcase_add_test(tc, receiving_from_an_empty_stream_is_eagain);
	tcase_add_test(tc, any_other_message_first_is_ebadmsg_and_stays);
	tcase_add_test(tc, a_descriptor_first_is_ebadmsg_for_read_and_getmsg);
	tcase_add_test(tc, a_bad_pointer_is_efault_and_loses_nothing);
	tcase_add_test(tc, the_access_mode_is_enforced);
	tcase_add_loop_test(tc, without_a_free_number_it_stays_and_comes_later, 0, 2);
}

static void
freeing(Suite *s)
{
	TCase *tc = group(s, "freeing", 120);

	tcase_add_test(tc, a_flush_gives_the_reference_back);
	tcase_add_test(tc, a_close_gives_the_reference_back);
	tcase_add_test(tc, a_message_within_a_message_is_freed_too);
	tcase_add_test(tc, a_message_of_that_type_that_a_program_made_is_no_descriptor);
	tcase_add_test(tc, the_very_message_may_be_taken_and_put_elsewhere);
}

static void
processes(Suite *s)
{
	TCase *tc = group(s, "between processes", 120);

	if (!can_fork())
		return;
	tcase_add_loop_test(tc, a_process_receives_what_another_opened_after_the_fork, 0, 2);
	tcase_add_test(tc, a_child_sends_to_its_parent);
	tcase_add_loop_test(
	    tc, a_dead_senders_kernel_file_is_lost_and_its_stream_is_not, 0, 2);
	tcase_add_test(tc, a_fork_takes_no_copy_of_what_is_under_way);
	tcase_add_test(tc, without_a_helper_the_sender_serves_by_ustr_service);
	tcase_add_test(tc, messages_of_a_dead_sender_are_freed_before_it_is_buried);
}

static void
connecting(Suite *s)
{
	TCase *tc = group(s, "connld", 120);

	tcase_add_test(tc, each_opener_gets_a_pipe_of_its_own);
	tcase_add_test(tc, the_flags_of_the_open_are_the_clients);
	tcase_add_test(tc, an_open_without_a_server_is_enxio);
	tcase_add_test(tc, a_full_server_is_eagain);
	tcase_add_test(tc, clients_whom_the_server_never_took_are_hung_up);
	tcase_add_test(tc, connld_goes_on_pipes_only);
	if (can_fork())
		tcase_add_test(tc, client_processes_talk_to_a_server_process);
}

int
main(void)
{
	Suite *s = suite_create("sendfd");

	sending(s);
	errors(s);
	freeing(s);
	processes(s);
	connecting(s);
	return run_suite(s);
}
