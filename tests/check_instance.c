/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_instance.c: programs that are no relatives meet in an instance by its
 * name.  Each "program" is a child that was forked before anybody used the
 * library: it brings the library up for itself.
 */
#include "headlib.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[64], fifo[80];

static void
prepare(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%.40s/instXXXXXX", tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/f", dir);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	setenv("USTREAMS_DIR", dir, 1);
	setenv("USTREAMS_INSTANCE", "meeting", 1);
}

static void
tidy(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

/* ---- programs ----------------------------------------------------------------- */

/* Ends with 0, or with 1 after a line: nothing of Check may run here. */
static pid_t
program(void (*fn)(void *), void *arg)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		alarm(60);
		fn(arg);
		exit(0);
	}
	return pid;
}

static int
ended(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void
run(void (*fn)(void *), void *arg)
{
	ck_assert_int_eq(ended(program(fn, arg)), 0);
}

static int
must_open(const char *path, int oflag)
{
	int fd = str_open(path, oflag);

	if (fd == -1) {
		const char *why = ustr_instancefault();

		fprintf(stderr, "%s: %s; %s\n", path, ename(errno), why != NULL ? why : "");
		exit(1);
	}
	return fd;
}

static void
puts_hello(void *path)
{
	int fd = must_open(path, O_WRONLY);

	NEED(str_write(fd, "hello", 5) == 5);
	NEED(str_close(fd) == 0);
}

static void
gets_hello(void *path)
{
	char buf[16];
	int fd = must_open(path, O_RDONLY);

	NEED(str_read(fd, buf, sizeof(buf)) == 5 && memcmp(buf, "hello", 5) == 0);
	NEED(str_read(fd, buf, sizeof(buf)) == 0);
	NEED(str_close(fd) == 0);
}

/* ---- meeting -------------------------------------------------------------------- */

START_TEST(two_programs_meet_at_a_fifo_of_the_instance)
{
	bool reader_first = _i;
	pid_t first, second;

	prepare();
	first = program(reader_first ? gets_hello : puts_hello, fifo);
	usleep(50000);
	second = program(reader_first ? puts_hello : gets_hello, fifo);
	ck_assert_int_eq(ended(first), 0);
	ck_assert_int_eq(ended(second), 0);
	tidy();
}
END_TEST

static void
attaches(void *path)
{
	char buf[16];
	int fd[2];

	NEED(str_pipe(fd) == 0);
	NEED(str_ioctl(fd[1], I_PUSH, "srvmod") == 0);
	NEED(fattach(fd[1], path) == 0);
	NEED(str_close(fd[1]) == 0);
	NEED(str_read(fd[0], buf, sizeof(buf)) == 5 && memcmp(buf, "hello", 5) == 0);
	NEED(str_write(fd[0], "world", 5) == 5);
	NEED(fdetach(path) == 0);
}

static void
talks(void *path)
{
	char buf[16];
	int fd = -1;

	for (int i = 0; i < 1000 && fd == -1; i++) {
		fd = str_open(path, O_RDWR);
		usleep(fd == -1 ? 10000 : 0);
	}
	NEED(fd >= 0);
	NEED(str_write(fd, "hello", 5) == 5);
	NEED(str_read(fd, buf, sizeof(buf)) == 5 && memcmp(buf, "world", 5) == 0);
}

START_TEST(two_programs_meet_at_a_name_with_a_stream_attached)
{
	char name[100];
	pid_t server;

	prepare();
	snprintf(name, sizeof(name), "%s/name", dir);
	ck_assert_int_eq(close(open(name, O_CREAT | O_WRONLY, 0600)), 0);
	server = program(attaches, name);
	run(talks, name);
	ck_assert_int_eq(ended(server), 0);
	tidy();
}
END_TEST

static void
opens_a_device(void *arg)
{
	(void)arg;
	must_open("/dev/streams/clone/echo", O_RDWR);
	pause();
}

START_TEST(an_instance_outlives_the_killed_and_the_next_member_buries_them)
{
	struct stat st;
	char file[100];
	pid_t pid[8];

	prepare();
	snprintf(file, sizeof(file), "%s/meeting", dir);
	for (int i = 0; i < 8; i++)
		pid[i] = program(opens_a_device, NULL);
	usleep(300000);
	for (int i = 0; i < 8; i++) {
		kill(pid[i], SIGKILL);
		ck_assert_int_eq(ended(pid[i]), SIGKILL);
	}
	ck_assert_int_eq(stat(file, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	run(puts_hello, "/dev/streams/clone/nuls");
	tidy();
}
END_TEST

/* ---- choosing -------------------------------------------------------------------- */

static void
chooses(void *arg)
{
	(void)arg;
	NEED(str_instance("a/b") == -1 && errno == EINVAL);
	NEED(str_instance(".a") == -1 && errno == EINVAL);
	NEED(ustr_instance("a", 2) == -1 && errno == EINVAL);
	NEED(ustr_instance("absent", USTR_EXISTING) == 0);
	NEED(str_open("/dev/streams/clone/echo", O_RDWR) == -1 && errno == ENOENT);
	NEED(strstr(ustr_instancefault(), dir) != NULL);
	NEED(str_instance("") == 0);
	NEED(str_open("/dev/streams/clone/echo", O_RDWR) >= 0);
	NEED(ustr_instancefault() == NULL);
	NEED(str_instance("late") == -1 && errno == EBUSY);
}

START_TEST(a_name_is_chosen_before_the_first_call_only)
{
	prepare();
	run(chooses, NULL);
	ck_assert_int_eq(access(dir, F_OK), 0);
	tidy();
}
END_TEST

int
main(void)
{
	TCase *tc;
	Suite *s;

	if (!can_fork()) {
		puts("check_instance: skipped (threads only, or heap=malloc)");
		return 77;
	}
	s = suite_create("instance");
	tc = tcase_create("instance");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, two_programs_meet_at_a_fifo_of_the_instance, 0, 2);
	tcase_add_test(tc, two_programs_meet_at_a_name_with_a_stream_attached);
	tcase_add_test(tc, an_instance_outlives_the_killed_and_the_next_member_buries_them);
	tcase_add_test(tc, a_name_is_chosen_before_the_first_call_only);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
