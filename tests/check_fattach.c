/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fattach.c: streams with a path (streamio.md §10): fattach, fdetach,
 * and str_open of what is attached, by threads and by processes.
 */
#include "headlib.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[64], path[80];

static void
make_path(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(dir, sizeof(dir), "%.40s/attachXXXXXX", tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/p", dir);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_ge(ustr_tunable("nstrpush"), 0);
}

static void
drop_path(void)
{
	fdetach(path);
	unlink(path);
	rmdir(dir);
}

static int
opened(int oflag)
{
	int fd = str_open(path, oflag | O_NONBLOCK);

	ck_assert_msg(fd >= 0, "str_open: %s", ename(errno));
	return fd;
}

/* ---- attaching ------------------------------------------------------------- */

START_TEST(an_open_of_the_path_gives_the_stream)
{
	int p[2], fd;

	make_pipe(p);
	FAILS(str_open(path, O_RDWR), ENXIO);
	GIVES(fattach(p[1], path), 0);
	fd = opened(O_RDWR);
	GIVES(isastream(fd), 1);
	GIVES(str_write(fd, "in", 2), 2);
	READS(p[0], 100, "in");
	GIVES(str_write(p[0], "out", 3), 3);
	READS(fd, 100, "out");
	GIVES(str_close(fd), 0);
	GIVES(fdetach(path), 0);
	FAILS(str_open(path, O_RDWR), ENXIO);
	close_pipe(p);
}
END_TEST

START_TEST(each_open_has_flags_of_its_own)
{
	int p[2], rd, wr;
	char c;

	make_pipe(p);
	GIVES(fattach(p[1], path), 0);
	rd = opened(O_RDONLY);
	wr = opened(O_WRONLY);
	FAILS(str_write(rd, "x", 1), EBADF);
	FAILS(str_read(wr, &c, 1), EBADF);
	GIVES(str_write(wr, "x", 1), 1);
	GIVES(str_close(rd), 0);
	GIVES(str_close(wr), 0);
	close_pipe(p);
}
END_TEST

START_TEST(the_attachment_keeps_the_stream_open)
{
	int p[2], fd;

	make_pipe(p);
	GIVES(fattach(p[1], path), 0);
	GIVES(str_close(p[1]), 0);
	GIVES(str_write(p[0], "kept", 4), 4);
	fd = opened(O_RDWR);
	READS(fd, 100, "kept");
	GIVES(str_close(fd), 0);
	GIVES(str_write(p[0], "still", 5), 5);
	GIVES(polled(p[0], POLLIN), 0);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(fdetach_of_the_last_reference_hangs_up)
{
	int p[2];
	char c;

	make_pipe(p);
	GIVES(fattach(p[1], path), 0);
	GIVES(str_close(p[1]), 0);
	GIVES(fdetach(path), 0);
	GIVES(polled(p[0], POLLIN), POLLHUP);
	GIVES(str_read(p[0], &c, 1), 0);
	FAILS(str_write(p[0], "x", 1), EPIPE);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(fdetach_leaves_descriptors_alone)
{
	int p[2], fd;

	make_pipe(p);
	GIVES(fattach(p[1], path), 0);
	fd = opened(O_RDWR);
	GIVES(fdetach(path), 0);
	GIVES(str_write(fd, "x", 1), 1);
	READS(p[0], 100, "x");
	GIVES(str_close(p[1]), 0);
	GIVES(str_write(p[0], "y", 1), 1);
	READS(fd, 100, "y");
	GIVES(str_close(fd), 0);
	GIVES(polled(p[0], 0), POLLHUP);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(one_stream_may_have_several_paths)
{
	char other[100];
	int p[2], a, b;

	make_pipe(p);
	snprintf(other, sizeof(other), "%s/other", dir);
	close(open(other, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
	GIVES(fattach(p[1], path), 0);
	GIVES(fattach(p[1], other), 0);
	a = opened(O_RDWR);
	b = str_open(other, O_RDWR);
	GIVES(str_write(a, "a", 1), 1);
	GIVES(str_write(b, "b", 1), 1);
	READS(p[0], 100, "ab");
	GIVES(str_close(a), 0);
	GIVES(str_close(b), 0);
	GIVES(fdetach(other), 0);
	FAILS(str_open(other, O_RDWR), ENXIO);
	GIVES(str_close(opened(O_RDWR)), 0);
	unlink(other);
	close_pipe(p);
}
END_TEST

START_TEST(the_file_may_be_renamed_and_removed)
{
	char to[100];
	int p[2], fd;

	make_pipe(p);
	GIVES(fattach(p[1], path), 0);
	snprintf(to, sizeof(to), "%s/to", dir);
	ck_assert_int_eq(rename(path, to), 0);
	FAILS(str_open(path, O_RDWR), ENOENT);
	fd = str_open(to, O_RDWR);
	GIVES(str_write(fd, "x", 1), 1);
	READS(p[0], 100, "x");
	ck_assert_int_eq(unlink(to), 0);
	FAILS(str_open(to, O_RDWR), ENOENT);
	FAILS(fdetach(to), ENOENT);
	GIVES(str_write(fd, "y", 1), 1);
	READS(p[0], 100, "y");
	GIVES(str_close(fd), 0);
	/* The new file of that name has nothing to do with it. */
	close(open(to, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
	FAILS(str_open(to, O_RDWR), ENXIO);
	unlink(to);
	close_pipe(p);
}
END_TEST

START_TEST(the_kernel_sees_the_file_as_it_was)
{
	struct stat before, after;
	int p[2], fd;
	char c;

	make_pipe(p);
	ck_assert_int_eq(stat(path, &before), 0);
	GIVES(fattach(p[1], path), 0);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	GIVES(isastream(fd), 0);
	ck_assert_int_eq(read(fd, &c, 1), 0);
	close(fd);
	close_pipe(p);
}
END_TEST

START_TEST(a_device_can_be_attached)
{
	int echo = open_dev("echo"), fd;

	GIVES(fattach(echo, path), 0);
	GIVES(str_close(echo), 0);
	fd = opened(O_RDWR);
	GIVES(str_write(fd, "back", 4), 4);
	READS(fd, 100, "back");
	GIVES(str_close(fd), 0);
	GIVES(fdetach(path), 0);
}
END_TEST

START_TEST(an_attached_fifo_opens_as_a_fifo)
{
	int f = str_open("/dev/streams/fifo/5", O_RDONLY | O_NONBLOCK), w;
	char c;

	GIVES(fattach(f, path), 0);
	w = opened(O_WRONLY);
	GIVES(str_write(w, "x", 1), 1);
	READS(f, 100, "x");
	GIVES(str_close(w), 0);
	GIVES(str_read(f, &c, 1), 0);
	GIVES(str_close(f), 0);
	GIVES(fdetach(path), 0);
	FAILS(str_open("/dev/streams/fifo/5", O_WRONLY | O_NONBLOCK), ENXIO);
}
END_TEST

START_TEST(what_is_attached_hides_a_fifo_of_the_file_system)
{
	int p[2], fifo, fd;
	char c;

	make_pipe(p);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	fifo = opened(O_RDWR);
	GIVES(fattach(p[1], path), 0);
	fd = opened(O_RDWR);
	GIVES(str_write(fd, "pipe", 4), 4);
	FAILS(str_read(fifo, &c, 1), EAGAIN);
	READS(p[0], 100, "pipe");
	GIVES(str_close(fd), 0);
	GIVES(fdetach(path), 0);
	fd = opened(O_RDWR);
	GIVES(str_write(fd, "fifo", 4), 4);
	READS(fifo, 100, "fifo");
	GIVES(str_close(fd), 0);
	GIVES(str_close(fifo), 0);
	close_pipe(p);
}
END_TEST

START_TEST(an_open_runs_the_modules_open_routines_again)
{
	int p[2], fd, before;

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[1], I_PUSH, "tcount"), 0);
	GIVES(fattach(p[1], path), 0);
	before = tcount_counts.c_open;
	fd = opened(O_RDWR);
	ck_assert_int_eq(tcount_counts.c_open, before + 1);
	GIVES(str_close(fd), 0);
	close_pipe(p);
}
END_TEST

/* ---- errors ------------------------------------------------------------------- */

START_TEST(a_bad_descriptor_is_ebadf_and_no_stream_einval)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	FAILS(fattach(-1, path), EBADF);
	FAILS(fattach(4321, path), EBADF);
	FAILS(fattach(fd, path), EINVAL);
	close(fd);
}
END_TEST

START_TEST(a_path_attached_already_is_ebusy)
{
	int p[2];

	make_pipe(p);
	GIVES(fattach(p[1], path), 0);
	FAILS(fattach(p[1], path), EBUSY);
	FAILS(fattach(p[0], path), EBUSY);
	GIVES(fdetach(path), 0);
	GIVES(fattach(p[0], path), 0);
	GIVES(fdetach(path), 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_mount_point_is_ebusy)
{
	int p[2];

	if (geteuid() != 0)
		return;
	make_pipe(p);
	FAILS(fattach(p[1], "/proc"), EBUSY);
	close_pipe(p);
}
END_TEST

START_TEST(fdetach_of_nothing_is_einval)
{
	FAILS(fdetach(path), EINVAL);
	FAILS(fdetach(dir), EINVAL);
}
END_TEST

/* Both calls give this for the path. */
static void
both_fail(int fd, const char *name, int error)
{
	FAILS(fattach(fd, name), error);
	FAILS(fdetach(name), error);
}

START_TEST(path_lookup_errors_are_those_of_open)
{
	static char component[NAME_MAX + 2], whole[PATH_MAX + 2];
	char name[PATH_MAX];
	int p[2];

	make_pipe(p);
	snprintf(name, sizeof(name), "%s/none", dir);
	both_fail(p[1], name, ENOENT);
	both_fail(p[1], "", ENOENT);
	snprintf(name, sizeof(name), "%s/below", path);
	both_fail(p[1], name, ENOTDIR);
	memset(component, 'n', sizeof(component) - 1);
	snprintf(name, sizeof(name), "%s/%s", dir, component);
	both_fail(p[1], name, ENAMETOOLONG);
	memset(whole, 'n', sizeof(whole) - 1);
	both_fail(p[1], whole, ENAMETOOLONG);
	snprintf(name, sizeof(name), "%s/loop", dir);
	ck_assert_int_eq(symlink("loop", name), 0);
	both_fail(p[1], name, ELOOP);
	unlink(name);
	both_fail(p[1], NULL, EFAULT);
	both_fail(p[1], (char *)-1, EFAULT);
	close_pipe(p);
}
END_TEST

/* What a child without privilege gets; the files belong to it, or not. */
static int
unprivileged(int what)
{
	int p[2];

	NEED(str_pipe(p) == 0);
	if (geteuid() == 0)
		NEED(setegid(65534) == 0 && seteuid(65534) == 0);
	switch (what) {
	case 0:
		return fattach(p[1], path) == -1 ? errno : 0;
	case 1:
		return fdetach(path) == -1 ? errno : 0;
	case 2:
		return str_open(path, O_RDWR | O_NONBLOCK) == -1 ? errno : 0;
	}
	return str_open(path, O_RDONLY | O_NONBLOCK) == -1 ? errno : 0;
}

static int
unprivileged_main(void *arg)
{
	return unprivileged(*(int *)arg);
}

static int
as_nobody(int what)
{
	return reap(child(unprivileged_main, &what), SOON);
}

START_TEST(only_the_owner_attaches_and_only_where_he_may_write)
{
	int p[2];

	if (geteuid() != 0)
		return;
	make_pipe(p);
	ck_assert_int_eq(chmod(path, 0666), 0);
	ck_assert_int_eq(as_nobody(0), EPERM);
	GIVES(fattach(p[1], path), 0);
	ck_assert_int_eq(as_nobody(1), EPERM);
	ck_assert_int_eq(chown(path, 65534, 65534), 0);
	ck_assert_int_eq(as_nobody(0), EBUSY);
	ck_assert_int_eq(chmod(path, 0444), 0);
	ck_assert_int_eq(as_nobody(1), EACCES);
	ck_assert_int_eq(chmod(path, 0644), 0);
	ck_assert_int_eq(as_nobody(1), 0);
	ck_assert_int_eq(chmod(path, 0444), 0);
	ck_assert_int_eq(as_nobody(0), EACCES);
	ck_assert_int_eq(chmod(dir, 0700), 0);
	ck_assert_int_eq(as_nobody(0), EACCES);
	close_pipe(p);
}
END_TEST

START_TEST(the_permissions_of_the_file_are_honoured)
{
	int p[2];

	if (geteuid() != 0)
		return;
	make_pipe(p);
	GIVES(fattach(p[1], path), 0);
	ck_assert_int_eq(as_nobody(2), EACCES);
	ck_assert_int_eq(as_nobody(3), EACCES);
	ck_assert_int_eq(chmod(path, 0644), 0);
	ck_assert_int_eq(as_nobody(2), EACCES);
	ck_assert_int_eq(as_nobody(3), 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
	ck_assert_int_eq(as_nobody(2), 0);
	close_pipe(p);
}
END_TEST

/* ---- processes ------------------------------------------------------------------- */

static int
attach_and_end(void *arg)
{
	int *p = arg;

	NEED(fattach(p[1], path) == 0);
	raise(SIGKILL);
	return 1;
}

START_TEST(an_attachment_outlives_the_process_that_made_it)
{
	int p[2], fd;

	make_pipe(p);
	ck_assert_int_eq(reap(child(attach_and_end, p), SOON), 128 + SIGKILL);
	GIVES(str_close(p[1]), 0);
	fd = opened(O_RDWR);
	GIVES(str_write(fd, "x", 1), 1);
	READS(p[0], 100, "x");
	GIVES(str_close(fd), 0);
	GIVES(fdetach(path), 0);
	GIVES(str_close(p[0]), 0);
}
END_TEST

static int
talk(void *arg)
{
	int fd = str_open(path, O_RDWR);
	char buf[8];

	(void)arg;
	if (fd == -1)
		return errno;
	NEED(str_write(fd, "ping", 4) == 4);
	NEED(str_read(fd, buf, sizeof(buf)) == 4);
	return str_close(fd) == 0 ? 0 : 1;
}

START_TEST(processes_meet_by_the_path)
{
	int p[2];
	pid_t pid;

	make_blocking_pipe(p);
	pid = child(talk, NULL);
	ck_assert_int_eq(reap(pid, SOON), ENXIO);
	GIVES(fattach(p[1], path), 0);
	GIVES(str_close(p[1]), 0);
	pid = child(talk, NULL);
	READS(p[0], 4, "ping");
	GIVES(str_write(p[0], "pong", 4), 4);
	ck_assert_int_eq(reap(pid, SOON), 0);
	GIVES(str_close(p[0]), 0);
}
END_TEST

static int
hold_open(void *arg)
{
	int fd = str_open(path, O_RDWR);

	NEED(fd >= 0);
	gate_open(arg);
	pause();
	return 1;
}

START_TEST(a_killed_opener_lets_go_of_the_stream)
{
	struct gate g;
	pid_t pid;
	int p[2];

	make_pipe(p);
	gate_make(&g);
	GIVES(fattach(p[1], path), 0);
	GIVES(str_close(p[1]), 0);
	pid = child(hold_open, &g);
	ck_assert(gate_wait(&g, SOON));
	GIVES(fdetach(path), 0);
	GIVES(polled(p[0], 0), 0);
	kill(pid, SIGKILL);
	ck_assert_int_eq(reap(pid, SOON), 128 + SIGKILL);
	AWAIT(polled(p[0], 0) == POLLHUP);
	GIVES(str_close(p[0]), 0);
	gate_drop(&g);
}
END_TEST

/* ---- races ---------------------------------------------------------------------------- */

enum { ROUNDS = 300 };

static void *
open_and_close(void *arg)
{
	atomic_bool *stop = arg;

	while (!atomic_load(stop)) {
		int fd = str_open(path, O_RDWR | O_NONBLOCK);

		if (fd == -1 && errno != ENXIO)
			return arg;
		if (fd >= 0 && str_close(fd) != 0)
			return arg;
	}
	return NULL;
}

START_TEST(opens_race_with_attaching_and_detaching)
{
	atomic_bool stop = false;
	pthread_t t[2];
	void *bad;
	int p[2];

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, open_and_close, &stop), 0);
	for (int i = 0; i < ROUNDS; i++) {
		make_pipe(p);
		GIVES(fattach(p[1], path), 0);
		GIVES(str_close(p[1]), 0);
		GIVES(fdetach(path), 0);
		AWAIT(polled(p[0], 0) == POLLHUP);
		GIVES(str_close(p[0]), 0);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], &bad);
		ck_assert_ptr_null(bad);
	}
}
END_TEST

/* ---- the suite ------------------------------------------------------------------------- */

static TCase *
paths(Suite *s, const char *name)
{
	TCase *tc = group(s, name, 60);

	tcase_add_checked_fixture(tc, make_path, drop_path);
	return tc;
}

static void
attaching(Suite *s)
{
	TCase *tc = paths(s, "attaching");

	tcase_add_test(tc, an_open_of_the_path_gives_the_stream);
	tcase_add_test(tc, each_open_has_flags_of_its_own);
	tcase_add_test(tc, the_attachment_keeps_the_stream_open);
	tcase_add_test(tc, fdetach_of_the_last_reference_hangs_up);
	tcase_add_test(tc, fdetach_leaves_descriptors_alone);
	tcase_add_test(tc, one_stream_may_have_several_paths);
	tcase_add_test(tc, the_file_may_be_renamed_and_removed);
	tcase_add_test(tc, the_kernel_sees_the_file_as_it_was);
	tcase_add_test(tc, a_device_can_be_attached);
	tcase_add_test(tc, an_attached_fifo_opens_as_a_fifo);
	tcase_add_test(tc, what_is_attached_hides_a_fifo_of_the_file_system);
	tcase_add_test(tc, an_open_runs_the_modules_open_routines_again);
}

static void
errors(Suite *s)
{
	TCase *tc = paths(s, "errors");

	tcase_add_test(tc, a_bad_descriptor_is_ebadf_and_no_stream_einval);
	tcase_add_test(tc, a_path_attached_already_is_ebusy);
	tcase_add_test(tc, a_mount_point_is_ebusy);
	tcase_add_test(tc, fdetach_of_nothing_is_einval);
	tcase_add_test(tc, path_lookup_errors_are_those_of_open);
	if (can_fork()) {
		tcase_add_test(tc, only_the_owner_attaches_and_only_where_he_may_write);
		tcase_add_test(tc, the_permissions_of_the_file_are_honoured);
	}
}

static void
processes(Suite *s)
{
	TCase *tc = paths(s, "processes and races");

	if (can_fork()) {
		tcase_add_test(tc, an_attachment_outlives_the_process_that_made_it);
		tcase_add_test(tc, processes_meet_by_the_path);
		tcase_add_test(tc, a_killed_opener_lets_go_of_the_stream);
	}
	tcase_add_test(tc, opens_race_with_attaching_and_detaching);
}

int
main(void)
{
	Suite *s = suite_create("fattach");

	attaching(s);
	errors(s);
	processes(s);
	return run_suite(s);
}
