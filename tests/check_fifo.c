/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fifo.c: FIFOs (streamio.md §2 and §10): how their opens meet, what the
 * last reader and the last writer leave behind, and which names lead to them.
 */
#include "headlib.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[64], fifo[80];

static void
make_fifo(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%.40s/fifoXXXXXX", tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
	snprintf(fifo, sizeof(fifo), "%s/f", dir);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	/* What a fork is to share must be there before it. */
	ck_assert_int_ge(ustr_tunable("nstrpush"), 0);
}

static void
drop_fifo(void)
{
	unlink(fifo);
	rmdir(dir);
}

static int
opened(int oflag)
{
	int fd = str_open(fifo, oflag);

	ck_assert_msg(fd >= 0, "str_open %#x: %s", (unsigned)oflag, ename(errno));
	return fd;
}

/* A reader and a writer, neither blocking. */
static void
both(int fd[2])
{
	fd[1] = opened(O_RDONLY | O_NONBLOCK);
	fd[0] = opened(O_WRONLY | O_NONBLOCK);
}

/* ---- partners: another thread or process that opens the FIFO -------------- */

struct partner {
	bool p_forked;
	int p_oflag;
	const char *p_text; /* written or expected, or NULL */
	struct gate p_done; /* the open has returned */
	pthread_t p_thread;
	pid_t p_pid;
	int p_result; /* 0, or the errno of the open */
};

static int
partner_main(struct partner *p)
{
	char buf[100];
	int fd = str_open(fifo, p->p_oflag);
	ssize_t n = 0;

	p->p_result = fd == -1 ? errno : 0;
	gate_open(&p->p_done);
	if (fd == -1)
		return p->p_result;
	if (p->p_text != NULL && (p->p_oflag & O_ACCMODE) == O_WRONLY)
		n = str_write(fd, p->p_text, strlen(p->p_text));
	else if (p->p_text != NULL)
		n = str_read(fd, buf, sizeof(buf));
	if (p->p_text != NULL && n != (ssize_t)strlen(p->p_text))
		return 255;
	return str_close(fd) == 0 ? 0 : 254;
}

static void *
partner_thread(void *arg)
{
	struct partner *p = arg;

	p->p_result = partner_main(p);
	return NULL;
}

static int
partner_process(void *arg)
{
	return partner_main(arg);
}

static void
partner_start(struct partner *p)
{
	gate_make(&p->p_done);
	if (p->p_forked)
		p->p_pid = child(partner_process, p);
	else
		ck_assert_int_eq(pthread_create(&p->p_thread, NULL, partner_thread, p), 0);
}

static void
partner_join(struct partner *p)
{
	if (p->p_forked)
		p->p_result = reap(p->p_pid, SOON);
	else
		pthread_join(p->p_thread, NULL);
	gate_drop(&p->p_done);
	ck_assert_int_eq(p->p_result, 0);
}

/* Is somebody there for a writer that does not wait? */
static bool
has_reader(void)
{
	int fd = str_open(fifo, O_WRONLY | O_NONBLOCK);

	if (fd == -1 && errno == ENXIO)
		return false;
	ck_assert_msg(fd >= 0, "str_open: %s", ename(errno));
	ck_assert_int_eq(str_close(fd), 0);
	return true;
}

/* ---- opening --------------------------------------------------------------- */

START_TEST(a_reader_with_o_nonblock_opens_at_once)
{
	char c;
	int fd = opened(O_RDONLY | O_NONBLOCK);

	GIVES(str_read(fd, &c, 1), 0);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(a_writer_with_o_nonblock_and_no_reader_is_enxio)
{
	int fd;

	FAILS(str_open(fifo, O_WRONLY | O_NONBLOCK), ENXIO);
	fd = opened(O_RDONLY | O_NONBLOCK);
	GIVES(str_close(fd), 0);
	FAILS(str_open(fifo, O_WRONLY | O_NONBLOCK), ENXIO);
}
END_TEST

START_TEST(a_writer_with_o_nonblock_opens_when_someone_reads)
{
	int fd[2];

	both(fd);
	GIVES(str_write(fd[0], "hello", 5), 5);
	READS(fd[1], 100, "hello");
	close_pipe(fd);
}
END_TEST

START_TEST(o_rdwr_never_blocks_and_meets_itself)
{
	int fd = opened(O_RDWR);

	GIVES(str_write(fd, "self", 4), 4);
	READS(fd, 100, "self");
	GIVES(str_close(fd), 0);
}
END_TEST

/* Loops: the partner is a thread, or a process. */
START_TEST(a_blocking_reader_waits_for_a_writer)
{
	struct partner p = {.p_forked = _i, .p_oflag = O_RDONLY, .p_text = "hi"};
	int fd;

	partner_start(&p);
	ck_assert_msg(!gate_wait(&p.p_done, 50), "the reader did not wait");
	fd = opened(O_WRONLY);
	ck_assert(gate_wait(&p.p_done, SOON));
	GIVES(str_write(fd, "hi", 2), 2);
	partner_join(&p);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(a_blocking_writer_waits_for_a_reader)
{
	struct partner p = {.p_forked = _i, .p_oflag = O_WRONLY, .p_text = "ho"};
	int fd;

	partner_start(&p);
	ck_assert_msg(!gate_wait(&p.p_done, 50), "the writer did not wait");
	fd = opened(O_RDONLY);
	ck_assert(gate_wait(&p.p_done, SOON));
	READS(fd, 2, "ho");
	partner_join(&p);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(a_reader_that_waits_is_there_for_a_writer_that_does_not)
{
	struct partner p = {.p_forked = _i, .p_oflag = O_RDONLY};

	partner_start(&p);
	AWAIT(has_reader());
	/* The writer has gone again; the reader has met it all the same. */
	ck_assert(gate_wait(&p.p_done, SOON));
	partner_join(&p);
}
END_TEST

START_TEST(a_writer_that_waits_is_met_by_a_reader_that_does_not)
{
	struct partner p = {.p_forked = _i, .p_oflag = O_WRONLY};
	int fd;

	partner_start(&p);
	ck_assert(!gate_wait(&p.p_done, 50));
	fd = opened(O_RDONLY | O_NONBLOCK);
	ck_assert(gate_wait(&p.p_done, SOON));
	partner_join(&p);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(o_rdwr_meets_readers_and_writers)
{
	struct partner r = {.p_forked = _i, .p_oflag = O_RDONLY};
	struct partner w = {.p_forked = _i, .p_oflag = O_WRONLY};
	int fd = opened(O_RDWR);

	partner_start(&r);
	ck_assert(gate_wait(&r.p_done, SOON));
	partner_start(&w);
	ck_assert(gate_wait(&w.p_done, SOON));
	partner_join(&r);
	partner_join(&w);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(a_signal_ends_the_wait_and_leaves_no_trace)
{
	struct nag n;

	catch_signal(SIGUSR1, 0);
	nag_start(&n);
	FAILS(str_open(fifo, O_RDONLY), EINTR);
	FAILS(str_open(fifo, O_WRONLY), EINTR);
	nag_stop(&n);
	FAILS(str_open(fifo, O_WRONLY | O_NONBLOCK), ENXIO);
}
END_TEST

START_TEST(with_sa_restart_the_wait_goes_on)
{
	struct partner p = {.p_oflag = O_WRONLY};
	struct nag n;
	struct later l;
	int fd;

	catch_signal(SIGUSR1, SA_RESTART);
	nag_start(&n);
	later(&l, 100, (void (*)(void *))partner_start, &p);
	fd = opened(O_RDONLY);
	nag_stop(&n);
	ck_assert_int_gt(caught, 0);
	later_join(&l);
	partner_join(&p);
	GIVES(str_close(fd), 0);
}
END_TEST

static void *
cancelled(void *arg)
{
	(void)arg;
	str_open(fifo, O_RDONLY);
	return NULL;
}

START_TEST(a_thread_cancelled_in_its_open_is_no_reader_any_more)
{
	pthread_t t;

	ck_assert_int_eq(pthread_create(&t, NULL, cancelled, NULL), 0);
	msleep(100);
	pthread_cancel(t);
	pthread_join(t, NULL);
	FAILS(str_open(fifo, O_WRONLY | O_NONBLOCK), ENXIO);
}
END_TEST

START_TEST(a_process_killed_in_its_open_is_no_reader_any_more)
{
	struct partner p = {.p_forked = true, .p_oflag = O_RDONLY};

	partner_start(&p);
	ck_assert(!gate_wait(&p.p_done, 50));
	kill(p.p_pid, SIGKILL);
	ck_assert_int_eq(reap(p.p_pid, SOON), 128 + SIGKILL);
	gate_drop(&p.p_done);
	AWAIT(!has_reader());
}
END_TEST

/* ---- names ------------------------------------------------------------------ */

START_TEST(a_missing_path_is_enoent)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/none", dir);
	FAILS(str_open(path, O_RDWR), ENOENT);
	FAILS(str_open(path, O_RDWR | O_CREAT, 0600), ENOENT);
	snprintf(path, sizeof(path), "%s/f/below", dir);
	FAILS(str_open(path, O_RDWR), ENOTDIR);
	FAILS(str_open("", O_RDWR), ENOENT);
}
END_TEST

START_TEST(any_other_existing_file_is_enxio)
{
	char path[100];
	int fd;

	FAILS(str_open(dir, O_RDONLY), ENXIO);
	FAILS(str_open("/dev/null", O_RDWR), ENXIO);
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	FAILS(str_open(path, O_RDWR), ENXIO);
	close(fd);
	unlink(path);
}
END_TEST

START_TEST(path_lookup_errors_are_those_of_open)
{
	char path[PATH_MAX + 10], name[NAME_MAX + 10];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FAILS(str_open(path, O_RDWR), ENAMETOOLONG);
	memset(path, 'n', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	FAILS(str_open(path, O_RDWR), ENAMETOOLONG);
	snprintf(path, sizeof(path), "%s/loop", dir);
	ck_assert_int_eq(symlink("loop", path), 0);
	FAILS(str_open(path, O_RDWR), ELOOP);
	unlink(path);
	FAILS(str_open(fifo, O_ACCMODE | O_NONBLOCK), EINVAL);
}
END_TEST

/* The caller has these permissions on the FIFO, and wants that. */
static int
try_open(int mode, int oflag)
{
	pid_t pid;

	if (chmod(fifo, (mode_t)(mode | mode << 3 | mode << 6)) != 0)
		return errno;
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && (setegid(65534) != 0 || seteuid(65534) != 0))
			_exit(255);
		_exit(str_open(fifo, oflag | O_NONBLOCK) == -1 ? errno : 0);
	}
	return reap(pid, SOON);
}

START_TEST(the_permissions_of_the_file_are_honoured)
{
	int fd = opened(O_RDWR);

	ck_assert_int_eq(try_open(4, O_RDONLY), 0);
	ck_assert_int_eq(try_open(4, O_WRONLY), EACCES);
	ck_assert_int_eq(try_open(4, O_RDWR), EACCES);
	ck_assert_int_eq(try_open(2, O_RDONLY), EACCES);
	ck_assert_int_eq(try_open(2, O_WRONLY), 0);
	ck_assert_int_eq(try_open(2, O_RDWR), EACCES);
	ck_assert_int_eq(try_open(6, O_RDWR), 0);
	ck_assert_int_eq(try_open(0, O_RDONLY), EACCES);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(all_names_of_the_file_lead_to_one_stream)
{
	char link1[100], link2[100];
	int fd[2], fd2;

	snprintf(link1, sizeof(link1), "%s/hard", dir);
	snprintf(link2, sizeof(link2), "%s/soft", dir);
	ck_assert_int_eq(link(fifo, link1), 0);
	ck_assert_int_eq(symlink("hard", link2), 0);
	fd[1] = opened(O_RDONLY | O_NONBLOCK);
	fd[0] = str_open(link1, O_WRONLY | O_NONBLOCK);
	fd2 = str_open(link2, O_WRONLY | O_NONBLOCK);
	GIVES(str_write(fd[0], "hard", 4), 4);
	GIVES(str_write(fd2, "soft", 4), 4);
	READS(fd[1], 100, "hardsoft");
	FAILS(str_open(link2, O_RDONLY | O_NONBLOCK | O_NOFOLLOW), ELOOP);
	unlink(link1);
	unlink(link2);
	GIVES(str_close(fd2), 0);
	close_pipe(fd);
}
END_TEST

START_TEST(the_stream_outlives_its_name_and_a_new_file_is_another)
{
	int old[2], new[2];

	both(old);
	ck_assert_int_eq(unlink(fifo), 0);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	both(new);
	GIVES(str_write(old[0], "old", 3), 3);
	GIVES(str_write(new[0], "new", 3), 3);
	READS(old[1], 100, "old");
	READS(new[1], 100, "new");
	close_pipe(old);
	close_pipe(new);
}
END_TEST

START_TEST(a_renamed_file_leads_to_the_same_stream)
{
	char to[100];
	int fd[2];

	fd[1] = opened(O_RDONLY | O_NONBLOCK);
	snprintf(to, sizeof(to), "%s/renamed", dir);
	ck_assert_int_eq(rename(fifo, to), 0);
	fd[0] = str_open(to, O_WRONLY | O_NONBLOCK);
	GIVES(str_write(fd[0], "x", 1), 1);
	READS(fd[1], 100, "x");
	close_pipe(fd);
	unlink(to);
}
END_TEST

START_TEST(minors_of_the_device_are_streams_of_their_own)
{
	int a = str_open("/dev/streams/fifo/1", O_RDWR | O_NONBLOCK);
	int b = str_open("/dev/streams/fifo/2", O_RDWR | O_NONBLOCK);
	int a2 = str_open("/dev/streams/fifo/1", O_RDONLY | O_NONBLOCK);
	int zero = str_open("/dev/streams/fifo", O_RDWR | O_NONBLOCK);
	int new = str_open("/dev/streams/clone/fifo", O_RDWR | O_NONBLOCK);
	char c;

	ck_assert_int_ge(a, 0);
	GIVES(str_write(a, "one", 3), 3);
	FAILS(str_read(b, &c, 1), EAGAIN);
	FAILS(str_read(zero, &c, 1), EAGAIN);
	FAILS(str_read(new, &c, 1), EAGAIN);
	READS(a2, 100, "one");
	FAILS(str_open("/dev/streams/fifo/7", O_WRONLY | O_NONBLOCK), ENXIO);
	FAILS(str_open("/dev/streams/fifo/x", O_RDWR), ENXIO);
	for (int *fd = (int[]){a, b, a2, zero, new, -1}; *fd >= 0; fd++)
		GIVES(str_close(*fd), 0);
}
END_TEST

START_TEST(fstat_tells_a_fifo_and_its_file)
{
	int fd = opened(O_RDWR), dev = str_open("/dev/streams/fifo/1", O_RDWR);
	struct stat st, of;

	ck_assert_int_eq(stat(fifo, &of), 0);
	GIVES(str_fstat(fd, &st), 0);
	ck_assert(S_ISFIFO(st.st_mode));
	ck_assert(st.st_ino == of.st_ino && st.st_dev == of.st_dev);
	ck_assert(st.st_mode == of.st_mode && st.st_uid == of.st_uid);
	GIVES(str_fstat(dev, &st), 0);
	ck_assert(S_ISFIFO(st.st_mode));
	GIVES(isastream(fd), 1);
	GIVES(str_close(fd), 0);
	GIVES(str_close(dev), 0);
}
END_TEST

/* ---- the last reader and the last writer --------------------------------------- */

START_TEST(after_the_last_writer_the_data_comes_first_and_then_the_end)
{
	struct strbuf b = {.maxlen = 10, .buf = (char[10]){0}};
	int fd[2], flags = 0;
	char c;

	both(fd);
	GIVES(str_write(fd[0], "left", 4), 4);
	GIVES(str_close(fd[0]), 0);
	READS(fd[1], 100, "left");
	GIVES(str_read(fd[1], &c, 1), 0);
	GIVES(getmsg(fd[1], NULL, &b, &flags), 0);
	ck_assert_int_eq(b.len, 0);
	GIVES(str_close(fd[1]), 0);
}
END_TEST

START_TEST(a_new_writer_revives_it)
{
	int fd[2];
	char c;

	both(fd);
	for (int i = 0; i < 3; i++) {
		FAILS(str_read(fd[1], &c, 1), EAGAIN);
		GIVES(str_close(fd[0]), 0);
		GIVES(str_read(fd[1], &c, 1), 0);
		fd[0] = opened(O_WRONLY | O_NONBLOCK);
		GIVES(str_write(fd[0], "again", 5), 5);
		READS(fd[1], 100, "again");
	}
	close_pipe(fd);
}
END_TEST

START_TEST(without_a_reader_a_write_is_epipe_with_sigpipe)
{
	struct strbuf b = {.len = 1, .buf = (char[1]){0}};
	int fd[2];

	both(fd);
	GIVES(str_close(fd[1]), 0);
	catch_signal(SIGPIPE, 0);
	FAILS(str_write(fd[0], "x", 1), EPIPE);
	ck_assert_int_eq(caught, 1);
	FAILS(putmsg(fd[0], NULL, &b, 0), EPIPE);
	ck_assert_int_eq(caught, 2);
	FAILS(str_ioctl(fd[0], I_CANPUT, 0), EPIPE);
	FAILS(str_ioctl(fd[0], I_SWROPT, 0), EPIPE);
	ck_assert_int_eq(caught, 2);
	fd[1] = opened(O_RDONLY | O_NONBLOCK);
	GIVES(str_write(fd[0], "x", 1), 1);
	READS(fd[1], 100, "x");
	close_pipe(fd);
}
END_TEST

START_TEST(every_open_file_counts_until_its_own_last_close)
{
	int fd[2], second, copy;
	char c;

	both(fd);
	second = opened(O_WRONLY | O_NONBLOCK);
	copy = str_dup(second);
	GIVES(str_close(fd[0]), 0);
	FAILS(str_read(fd[1], &c, 1), EAGAIN);
	GIVES(str_close(second), 0);
	FAILS(str_read(fd[1], &c, 1), EAGAIN);
	GIVES(str_close(copy), 0);
	GIVES(str_read(fd[1], &c, 1), 0);
	second = opened(O_RDWR | O_NONBLOCK);
	FAILS(str_read(fd[1], &c, 1), EAGAIN);
	GIVES(str_close(fd[1]), 0);
	GIVES(str_write(second, "x", 1), 1);
	GIVES(str_close(second), 0);
}
END_TEST

static void
close_it(void *fd)
{
	str_close(*(int *)fd);
}

START_TEST(a_sleeping_reader_is_told_of_the_last_writers_close)
{
	struct later l;
	int fd[2];
	char c;

	both(fd);
	nonblock(fd[1], false);
	later(&l, 50, close_it, &fd[0]);
	GIVES(str_read(fd[1], &c, 1), 0);
	later_join(&l);
	GIVES(str_close(fd[1]), 0);
}
END_TEST

START_TEST(a_sleeping_writer_is_told_of_the_last_readers_close)
{
	struct later l;
	int fd[2];

	both(fd);
	fill(fd[0]);
	nonblock(fd[0], false);
	later(&l, 50, close_it, &fd[1]);
	FAILS(str_write(fd[0], "x", 1), EPIPE);
	later_join(&l);
	GIVES(str_close(fd[0]), 0);
}
END_TEST

static int
hold_writer(void *arg)
{
	struct gate *g = arg;
	int fd = str_open(fifo, O_WRONLY);

	NEED(fd >= 0);
	NEED(str_write(fd, "w", 1) == 1);
	NEED(gate_wait(g, SOON));
	_exit(0);
}

/* Loop: the writer exits without closing, or is killed. */
START_TEST(the_death_of_the_last_writer_is_its_close)
{
	struct gate g;
	char c;
	int fd;
	pid_t pid;

	gate_make(&g);
	pid = child(hold_writer, &g);
	fd = opened(O_RDONLY);
	READS(fd, 1, "w");
	if (_i == 0)
		gate_open(&g);
	else
		kill(pid, SIGKILL);
	GIVES(str_read(fd, &c, 1), 0);
	ck_assert_int_eq(reap(pid, SOON), _i == 0 ? 0 : 128 + SIGKILL);
	GIVES(str_close(fd), 0);
	gate_drop(&g);
}
END_TEST

START_TEST(what_nobody_read_goes_with_the_last_close)
{
	int fd[2];

	both(fd);
	GIVES(str_write(fd[0], "gone", 4), 4);
	close_pipe(fd);
	both(fd);
	GIVES(waiting(fd[1]), 0);
	close_pipe(fd);
}
END_TEST

START_TEST(poll_tells_the_end_of_either_side)
{
	int fd[2];

	fd[1] = opened(O_RDONLY | O_NONBLOCK);
	GIVES(polled(fd[1], POLLIN), 0); /* no writer yet is no end */
	fd[0] = opened(O_WRONLY | O_NONBLOCK);
	GIVES(polled(fd[1], POLLIN), 0);
	GIVES(polled(fd[0], POLLOUT), POLLOUT);
	GIVES(str_write(fd[0], "x", 1), 1);
	GIVES(polled(fd[1], POLLIN), POLLIN);
	GIVES(str_close(fd[0]), 0);
	GIVES(polled(fd[1], POLLIN), POLLIN | POLLHUP);
	READS(fd[1], 100, "x");
	GIVES(polled(fd[1], POLLIN), POLLHUP);
	fd[0] = opened(O_WRONLY | O_NONBLOCK);
	GIVES(polled(fd[1], POLLIN), 0);
	GIVES(str_close(fd[1]), 0);
	ck_assert_int_eq(polled(fd[0], POLLOUT) & (POLLERR | POLLHUP), POLLERR);
	GIVES(str_close(fd[0]), 0);
}
END_TEST

/* ---- messages ---------------------------------------------------------------------- */

START_TEST(the_access_mode_is_enforced)
{
	int fd[2];
	char c;

	both(fd);
	FAILS(str_read(fd[0], &c, 1), EBADF);
	FAILS(str_write(fd[1], &c, 1), EBADF);
	close_pipe(fd);
}
END_TEST

START_TEST(messages_keep_their_parts_and_bands)
{
	int fd[2];

	both(fd);
	GIVES(put_msg(fd[0], "c", "low", 0), 0);
	GIVES(put_msg(fd[0], NULL, "high", 3), 0);
	GIVES(put_msg(fd[0], "urgent", NULL, HIPRI), 0);
	TAKES(fd[1], "urgent", NULL, HIPRI);
	TAKES(fd[1], NULL, "high", 3);
	TAKES(fd[1], "c", "low", 0);
	close_pipe(fd);
}
END_TEST

START_TEST(a_write_of_nothing_sends_nothing)
{
	int fd[2];

	both(fd);
	GIVES(str_write(fd[0], "", 0), 0);
	GIVES(waiting(fd[1]), 0);
	GIVES(str_ioctl(fd[0], I_SWROPT, SNDZERO), 0);
	GIVES(str_write(fd[0], "", 0), 0);
	GIVES(waiting(fd[1]), 1);
	close_pipe(fd);
}
END_TEST

START_TEST(modules_are_passed_twice_and_listed_with_the_driver)
{
	struct str_mlist names[4];
	struct str_list list = {4, names};
	int fd[2];

	both(fd);
	GIVES(str_ioctl(fd[0], I_PUSH, "pipemod"), 0);
	GIVES(str_ioctl(fd[1], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(fd[0], I_LIST, NULL), 3);
	GIVES(str_ioctl(fd[0], I_LIST, &list), 3);
	ck_assert_str_eq(names[0].l_name, "nullmod");
	ck_assert_str_eq(names[1].l_name, "pipemod");
	ck_assert_str_eq(names[2].l_name, "fifo");
	for (int i = 0; i < 1000; i++) {
		GIVES(str_write(fd[0], &i, sizeof(i)), sizeof(i));
		if (i % 3 == 2)
			GIVES(drain(fd[1]), 3 * sizeof(i));
	}
	GIVES(str_ioctl(fd[1], I_POP, 0), 0);
	GIVES(str_ioctl(fd[0], I_POP, 0), 0);
	FAILS(str_ioctl(fd[0], I_POP, 0), EINVAL);
	GIVES(drain(fd[1]), sizeof(int));
	GIVES(str_write(fd[0], "after", 5), 5);
	READS(fd[1], 100, "after");
	close_pipe(fd);
}
END_TEST

START_TEST(modules_can_be_pushed_without_a_writer)
{
	int fd[2];

	both(fd);
	GIVES(str_close(fd[0]), 0);
	GIVES(str_ioctl(fd[1], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(fd[1], I_POP, 0), 0);
	GIVES(str_close(fd[1]), 0);
}
END_TEST

START_TEST(a_further_open_runs_the_modules_open_routines_again)
{
	int fd[2], more, before;

	test_modules();
	both(fd);
	GIVES(str_ioctl(fd[0], I_PUSH, "tcount"), 0);
	before = tcount_counts.c_open;
	more = opened(O_RDONLY | O_NONBLOCK);
	ck_assert_int_eq(tcount_counts.c_open, before + 1);
	ck_assert_int_eq(tcount_counts.c_sflag, MODOPEN);
	GIVES(str_close(more), 0);
	close_pipe(fd);
}
END_TEST

START_TEST(a_flush_empties_it)
{
	int fd[2];

	both(fd);
	GIVES(str_ioctl(fd[0], I_PUSH, "nullmod"), 0);
	for (int how = FLUSHR; how <= FLUSHRW; how += FLUSHRW - FLUSHR) {
		GIVES(str_write(fd[0], "x", 1), 1);
		GIVES(str_ioctl(fd[1], I_FLUSH, how), 0);
		GIVES(waiting(fd[1]), 0);
	}
	close_pipe(fd);
}
END_TEST

START_TEST(a_full_fifo_refuses_and_takes_again_when_read)
{
	int fd[2], n;

	both(fd);
	n = fill(fd[0]);
	ck_assert_int_ge(n, 4096);
	GIVES(polled(fd[0], POLLOUT), 0);
	GIVES(drain(fd[1]), n);
	GIVES(polled(fd[0], POLLOUT), POLLOUT);
	GIVES(str_write(fd[0], "x", 1), 1);
	close_pipe(fd);
}
END_TEST

enum { PIECES = 300 };

static void *
write_pieces(void *arg)
{
	char buf[PIPE_BUF];
	int fd = str_open(fifo, O_WRONLY);

	memset(buf, *(char *)arg, sizeof(buf));
	for (int i = 0; i < PIECES; i++)
		if (str_write(fd, buf, sizeof(buf)) != (ssize_t)sizeof(buf))
			return arg;
	return str_close(fd) == 0 ? NULL : arg;
}

START_TEST(writes_up_to_pipe_buf_are_not_mixed)
{
	static char all[2 * PIECES * PIPE_BUF];
	pthread_t t[2];
	size_t got = 0;
	ssize_t n;
	void *bad;
	int fd = opened(O_RDWR);

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, write_pieces, &"ab"[i]), 0);
	while (got < sizeof(all) && (n = str_read(fd, all + got, 777)) > 0)
		got += (size_t)n;
	ck_assert_int_eq(got, sizeof(all));
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], &bad);
		ck_assert_ptr_null(bad);
	}
	for (size_t i = 0; i < sizeof(all); i++)
		ck_assert_int_eq(all[i], all[i - i % PIPE_BUF]);
	GIVES(str_close(fd), 0);
}
END_TEST

/* ---- the suite ---------------------------------------------------------------------------- */

static TCase *
fifos(Suite *s, const char *name, int seconds)
{
	TCase *tc = group(s, name, seconds);

	tcase_add_checked_fixture(tc, make_fifo, drop_fifo);
	return tc;
}

static void
opening(Suite *s)
{
	TCase *tc = fifos(s, "opening", 60);
	int forms = can_fork() ? 2 : 1;

	tcase_add_test(tc, a_reader_with_o_nonblock_opens_at_once);
	tcase_add_test(tc, a_writer_with_o_nonblock_and_no_reader_is_enxio);
	tcase_add_test(tc, a_writer_with_o_nonblock_opens_when_someone_reads);
	tcase_add_test(tc, o_rdwr_never_blocks_and_meets_itself);
	tcase_add_loop_test(tc, a_blocking_reader_waits_for_a_writer, 0, forms);
	tcase_add_loop_test(tc, a_blocking_writer_waits_for_a_reader, 0, forms);
	tcase_add_loop_test(
	    tc, a_reader_that_waits_is_there_for_a_writer_that_does_not, 0, forms);
	tcase_add_loop_test(
	    tc, a_writer_that_waits_is_met_by_a_reader_that_does_not, 0, forms);
	tcase_add_loop_test(tc, o_rdwr_meets_readers_and_writers, 0, forms);
	tcase_add_test(tc, a_signal_ends_the_wait_and_leaves_no_trace);
	if (!under_tsan())
		tcase_add_test(tc, with_sa_restart_the_wait_goes_on);
	if (!under_asan())
		tcase_add_test(tc, a_thread_cancelled_in_its_open_is_no_reader_any_more);
	if (can_fork())
		tcase_add_test(tc, a_process_killed_in_its_open_is_no_reader_any_more);
}

static void
names(Suite *s)
{
	TCase *tc = fifos(s, "names", 60);

	tcase_add_test(tc, a_missing_path_is_enoent);
	tcase_add_test(tc, any_other_existing_file_is_enxio);
	tcase_add_test(tc, path_lookup_errors_are_those_of_open);
	if (can_fork())
		tcase_add_test(tc, the_permissions_of_the_file_are_honoured);
	tcase_add_test(tc, all_names_of_the_file_lead_to_one_stream);
	tcase_add_test(tc, the_stream_outlives_its_name_and_a_new_file_is_another);
	tcase_add_test(tc, a_renamed_file_leads_to_the_same_stream);
	tcase_add_test(tc, minors_of_the_device_are_streams_of_their_own);
	tcase_add_test(tc, fstat_tells_a_fifo_and_its_file);
}

static void
ends(Suite *s)
{
	TCase *tc = fifos(s, "the last reader and the last writer", 60);

	tcase_add_test(tc, after_the_last_writer_the_data_comes_first_and_then_the_end);
	tcase_add_test(tc, a_new_writer_revives_it);
	tcase_add_test(tc, without_a_reader_a_write_is_epipe_with_sigpipe);
	tcase_add_test(tc, every_open_file_counts_until_its_own_last_close);
	tcase_add_test(tc, a_sleeping_reader_is_told_of_the_last_writers_close);
	tcase_add_test(tc, a_sleeping_writer_is_told_of_the_last_readers_close);
	if (can_fork())
		tcase_add_loop_test(tc, the_death_of_the_last_writer_is_its_close, 0, 2);
	tcase_add_test(tc, what_nobody_read_goes_with_the_last_close);
	tcase_add_test(tc, poll_tells_the_end_of_either_side);
}

static void
messages(Suite *s)
{
	TCase *tc = fifos(s, "messages", 60);

	tcase_add_test(tc, the_access_mode_is_enforced);
	tcase_add_test(tc, messages_keep_their_parts_and_bands);
	tcase_add_test(tc, a_write_of_nothing_sends_nothing);
	tcase_add_test(tc, modules_are_passed_twice_and_listed_with_the_driver);
	tcase_add_test(tc, modules_can_be_pushed_without_a_writer);
	tcase_add_test(tc, a_further_open_runs_the_modules_open_routines_again);
	tcase_add_test(tc, a_flush_empties_it);
	tcase_add_test(tc, a_full_fifo_refuses_and_takes_again_when_read);
	tcase_add_test(tc, writes_up_to_pipe_buf_are_not_mixed);
}

int
main(void)
{
	Suite *s = suite_create("fifo");

	opening(s);
	names(s);
	ends(s);
	messages(s);
	return run_suite(s);
}
