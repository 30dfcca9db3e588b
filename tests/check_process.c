/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_process.c: programs that know nothing of the library they use and do
 * to their process what programs do: system, popen, posix_spawn, vfork, exec,
 * daemon, closing of all descriptors, children by clone, fork in one thread
 * while others write (DESIGN §2, §3, §7).  Streams go on, or fail with EBADF;
 * no descriptor of the program's own is closed, read, written or grown.
 */
#include "headlib.h"

#include <dirent.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { SIZE = 100, FILES = 24, PIPES = 8, EVENTS = 4 };

/* Wait until the end of file shows; how it ended: 0, or an errno. */
static int
await_eof(int fd, int ms)
{
	char buf[4096];
	long end = now_ms() + ms;

	nonblock(fd, true);
	while (now_ms() < end) {
		struct pollfd f = {fd, POLLIN, 0};
		ssize_t n;

		if (str_poll(&f, 1, 50) < 0)
			return errno;
		n = str_read(fd, buf, sizeof(buf));
		if (n == 0)
			return 0;
		if (n == -1 && errno != EAGAIN)
			return errno;
	}
	return ETIME;
}

/* A byte through p, from one end to the other. */
static bool
flows(const int p[2])
{
	char c = 0;

	return str_write(p[0], "f", 1) == 1 && str_read(p[1], &c, 1) == 1 && c == 'f';
}

/* The result of a read of one byte that need not wait longer than SOON. */
static ssize_t
read_soon(int fd)
{
	struct pollfd f = {fd, POLLIN, 0};
	char c;

	if (str_poll(&f, 1, SOON) != 1) {
		errno = ETIME;
		return -1;
	}
	return str_read(fd, &c, 1);
}

/* A pipe of one's own, and a child that uses another and ends. */
static bool
library_works(void)
{
	int p[2], q[2], status;
	pid_t pid;

	if (str_pipe(p) == -1 || !flows(p) || str_pipe(q) == -1)
		return false;
	if ((pid = fork()) == 0) {
		str_close(q[0]);
		_exit(str_write(q[1], "c", 1) == 1 && flows(p) ? 0 : 1);
	}
	if (pid == -1 || str_close(q[1]) == -1 || read_soon(q[0]) != 1)
		return false;
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return false;
	if (read_soon(q[0]) != 0 || str_close(q[0]) == -1)
		return false;
	return str_close(p[0]) == 0 && read_soon(p[1]) == 0 && str_close(p[1]) == 0;
}

/* ---- a program's own descriptors ------------------------------------------ */

struct mine {
	int file[FILES]; /* every other one a memory file */
	int pipe[PIPES][2];
	int event[EVENTS];
};

static void
mine_open(struct mine *m)
{
	char name[] = "/tmp/check_process.XXXXXX", text[SIZE];

	for (int i = 0; i < FILES; i++) {
		if (i % 2) {
			m->file[i] = memfd_create("mine", 0);
		} else {
			memcpy(name + sizeof(name) - 7, "XXXXXX", 6);
			m->file[i] = mkstemp(name);
			unlink(name);
		}
		NEED(m->file[i] >= 0);
		memset(text, 'A' + i, SIZE);
		NEED(write(m->file[i], text, SIZE) == SIZE);
		/* What the library does not know it must not touch. */
		NEED(lseek(m->file[i], 10 + i, SEEK_SET) == 10 + i);
	}
	for (int i = 0; i < PIPES; i++) {
		NEED(pipe(m->pipe[i]) == 0);
		NEED(write(m->pipe[i][1], "mine!", 5) == 5);
	}
	for (int i = 0; i < EVENTS; i++)
		NEED((m->event[i] = eventfd(7, 0)) >= 0);
}

static void
mine_check(const struct mine *m)
{
	char text[SIZE + 1], want[SIZE];
	struct stat st;
	uint64_t n;
	int bytes;

	for (int i = 0; i < FILES; i++) {
		NEED(fstat(m->file[i], &st) == 0);
		NEED(st.st_size == SIZE);
		memset(want, 'A' + i, SIZE);
		NEED(pread(m->file[i], text, SIZE + 1, 0) == SIZE);
		NEED(memcmp(text, want, SIZE) == 0);
		NEED(lseek(m->file[i], 0, SEEK_CUR) == 10 + i);
		NEED(fcntl(m->file[i], F_GETFD) == 0);
		NEED((fcntl(m->file[i], F_GETFL) & (O_NONBLOCK | O_APPEND)) == 0);
	}
	for (int i = 0; i < PIPES; i++) {
		NEED(ioctl(m->pipe[i][0], FIONREAD, &bytes) == 0 && bytes == 5);
		NEED(fcntl(m->pipe[i][0], F_GETFL) == O_RDONLY);
		NEED(fcntl(m->pipe[i][1], F_GETFL) == O_WRONLY);
	}
	for (int i = 0; i < EVENTS; i++) {
		NEED(read(m->event[i], &n, 8) == 8 && n == 7);
		NEED(write(m->event[i], &n, 8) == 8);
	}
}

/* The descriptors of this process; how many. */
static int
list_fds(bool open[1024])
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	memset(open, 0, 1024);
	if (d == NULL)
		return 0;
	while ((e = readdir(d)) != NULL) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] == '.' || fd == dirfd(d) || fd >= 1024)
			continue;
		open[fd] = true;
		n++;
	}
	closedir(d);
	return n;
}

/* ---- programs that start others -------------------------------------------- */

static int
shell(const char *fmt, int fd)
{
	char cmd[200];
	int status;

	snprintf(cmd, sizeof(cmd), fmt, fd, fd);
	status = system(cmd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(system_does_no_harm)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[0], "kept", 4), 4);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(shell("exit 7", 0), 7);
	ck_assert_int_eq(shell("test ! -e /proc/self/fd/%d", p[0]), 0);
	ck_assert_int_eq(shell("test ! -e /proc/self/fd/%d", p[1]), 0);
	READS(p[1], 10, "kept");
	ck_assert(flows(p));
	close_pipe(p);
}
END_TEST

/* The shell prints the number of its descriptors. */
static int
descriptors_of_a_program(void)
{
	FILE *f = popen("ls /proc/self/fd | wc -l", "r");
	int n = -1;

	NEED(f != NULL);
	NEED(fscanf(f, "%d", &n) == 1);
	NEED(pclose(f) == 0);
	return n;
}

static int
start_programs(void *arg)
{
	int before = descriptors_of_a_program(), p[2];

	(void)arg;
	NEED(library_works());
	NEED(str_pipe(p) == 0);
	NEED(flows(p));
	NEED(descriptors_of_a_program() == before);
	return 0;
}

START_TEST(a_program_inherits_no_descriptor_of_the_library)
{
	ck_assert_int_eq(reap(child(start_programs, NULL), SOON), 0);
}
END_TEST

START_TEST(popen_does_no_harm)
{
	char text[20] = "";
	int p[2];
	FILE *f;

	make_pipe(p);
	f = popen("echo hello", "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
	ck_assert_str_eq(text, "hello\n");
	ck_assert(flows(p));
	ck_assert_int_eq(pclose(f), 0);
	f = popen("cat >/dev/null", "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_gt(fputs("text", f), -1);
	ck_assert(flows(p));
	ck_assert_int_eq(pclose(f), 0);
	close_pipe(p);
}
END_TEST

extern char **environ;

/* The child's file lies where the stream's number is. */
START_TEST(posix_spawn_does_no_harm)
{
	char arg[100], *argv[] = {(char[]){"sh"}, (char[]){"-c"}, arg, NULL};
	posix_spawn_file_actions_t fa;
	int p[2], kp[2], status;
	pid_t pid;
	char c;

	make_pipe(p);
	ck_assert_int_eq(pipe2(kp, O_CLOEXEC), 0);
	snprintf(arg, sizeof(arg), "printf x >&%d", p[0]);
	for (int i = 0; i < 10; i++) {
		posix_spawn_file_actions_init(&fa);
		posix_spawn_file_actions_adddup2(&fa, kp[1], p[0]);
		posix_spawn_file_actions_addclose(&fa, p[1]);
		ck_assert_int_eq(
		    posix_spawn(&pid, "/bin/sh", &fa, NULL, argv, environ), 0);
		ck_assert(flows(p));
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
		ck_assert_int_eq(read(kp[0], &c, 1), 1);
		posix_spawn_file_actions_destroy(&fa);
	}
	ck_assert(flows(p));
	close(kp[0]);
	close(kp[1]);
	close_pipe(p);
}
END_TEST

/* Loop: it execs, it only ends. */
START_TEST(vfork_does_no_harm)
{
	int p[2], status;
	pid_t pid;
	char c;

	make_pipe(p);
	GIVES(str_write(p[0], "kept", 4), 4);
	pid = vfork();
	if (pid == 0) {
		if (_i == 0)
			execl("/bin/sleep", "sleep", "1", (char *)NULL);
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert(str_write(p[0], "!", 1) == 1);
	READS(p[1], 10, "kept!");
	/* The program that runs does not hold the stream. */
	GIVES(str_close(p[1]), 0);
	GIVES(str_read(p[0], &c, 1), 0);
	GIVES(str_close(p[0]), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

static int
exec_in_vain(void *arg)
{
	int *p = arg;

	NEED(execl("/nonexistent", "x", (char *)NULL) == -1 && errno == ENOENT);
	NEED(str_write(p[1], "still", 5) == 5);
	NEED(library_works());
	return 0;
}

START_TEST(an_exec_that_fails_changes_nothing)
{
	int p[2];
	pid_t pid;

	make_pipe(p);
	pid = child(exec_in_vain, p);
	ck_assert_int_eq(reap(pid, SOON), 0);
	READS(p[0], 10, "still");
	close_pipe(p);
}
END_TEST

/* No child, no signal of the library's is seen by the program. */
static int
only_ours(void *arg)
{
	struct timespec second = {1, 0};
	sigset_t set;
	int p[2];

	(void)arg;
	NEED(library_works());
	NEED(str_pipe(p) == 0);
	errno = 0;
	NEED(wait(NULL) == -1 && errno == ECHILD);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	NEED(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	/* Were the helper's mask open, this would end the process. */
	NEED(kill(getpid(), SIGUSR1) == 0);
	NEED(sigtimedwait(&set, NULL, &second) == SIGUSR1);
	return 0;
}

START_TEST(children_and_signals_are_the_programs)
{
	ck_assert_int_eq(reap(child(only_ours, NULL), SOON), 0);
}
END_TEST

/* ---- daemons --------------------------------------------------------------- */

struct plan {
	int p[2];
	int how;
};

/* Now in another process than the one that was forked. */
static void
serve(const struct plan *a)
{
	char buf[8];

	lives(SOON);
	NEED(str_close(a->p[0]) == 0);
	NEED(str_write(a->p[1], "alive", 5) == 5);
	NEED(str_read(a->p[1], buf, sizeof(buf)) == 2);
	NEED(library_works());
	NEED(str_write(a->p[1], "done", 4) == 4);
	_exit(0);
}

static int
daemonize(void *arg)
{
	const struct plan *a = arg;

	NEED(daemon(1, a->how) == 0);
	serve(a);
	return 1;
}

/* Loop: standard descriptors replaced by /dev/null, kept. */
START_TEST(a_daemon_keeps_its_streams)
{
	struct plan a = {.how = _i};

	make_blocking_pipe(a.p);
	ck_assert_int_eq(reap(child(daemonize, &a), SOON), 0);
	GIVES(str_close(a.p[1]), 0);
	READS(a.p[0], 10, "alive");
	GIVES(str_write(a.p[0], "go", 2), 2);
	READS(a.p[0], 10, "done");
	READS(a.p[0], 10, "");
	GIVES(str_close(a.p[0]), 0);
}
END_TEST

/* The same when the library had 0, 1 and 2. */
static int
daemonize_low(void *arg)
{
	const struct plan *a = arg;
	int p[2], q[2], err = fcntl(2, F_DUPFD_CLOEXEC, 500);

	close(0);
	close(1);
	close(2);
	NEED(str_pipe(p) == 0 && str_pipe(q) == 0);
	NEED(dup2(err, 2) == 2);
	NEED(p[0] == 0 && p[1] == 1);
	NEED(flows(q) || q[0] == 2);
	NEED(daemon(1, 0) == 0);
	serve(a);
	return 1;
}

START_TEST(a_daemon_whose_streams_were_low)
{
	struct plan a = {.how = 0};

	make_blocking_pipe(a.p);
	ck_assert_int_eq(reap(child(daemonize_low, &a), SOON), 0);
	GIVES(str_close(a.p[1]), 0);
	READS(a.p[0], 10, "alive");
	GIVES(str_write(a.p[0], "go", 2), 2);
	READS(a.p[0], 10, "done");
	READS(a.p[0], 10, "");
	GIVES(str_close(a.p[0]), 0);
}
END_TEST

/* ---- all descriptors closed ------------------------------------------------ */

enum { BY_RANGE, BY_ONE, BY_DUP2, HOWS };

static void
close_all(int how)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	NEED(null >= 0);
	if (how == BY_RANGE)
		NEED(close_range(3, ~0U, 0) == 0);
	for (int fd = 3; how == BY_ONE && fd < 1024; fd++)
		close(fd);
	for (int fd = 3; how == BY_DUP2 && fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			dup2(null, fd);
}

/* It works, or the descriptor is not open. */
static void
use_old(const int p[2])
{
	ssize_t r;
	char c;

	NEED((r = str_write(p[0], "x", 1)) == 1 || errno == EBADF);
	NEED((r = str_read(p[1], &c, 1)) == 1 || errno == EBADF || errno == EAGAIN);
}

/* Enough that the arena must grow: through the parent, which has it open. */
static void
use_memory(void)
{
	static mblk_t *mp[3000];
	int n = 0;

	while (n < 3000 && (mp[n] = str_mblkalloc(4000)) != NULL)
		n++;
	NEED(n == 3000);
	while (n > 0)
		freemsg(mp[--n]);
}

static int
close_then_live(void *arg)
{
	struct plan *a = arg;
	int old[2], high[2];
	struct mine m;

	NEED(library_works());
	NEED(str_pipe(old) == 0);
	for (int i = 0; i < 2; i++) {
		NEED(str_fcntl(old[i], F_SETFL, O_NONBLOCK) == 0);
		NEED((high[i] = str_fcntl(old[i], F_DUPFD, 300 + i)) == 300 + i);
	}
	close_all(a->how);
	if (a->how == BY_DUP2)
		for (int fd = 3; fd < 299; fd++)
			close(fd);
	mine_open(&m);
	mine_check(&m);
	use_old(high);
	mine_check(&m);
	NEED(library_works());
	mine_check(&m);
	for (int i = 0; i < 5; i++) {
		NEED(shell("true", 0) == 0);
		msleep(50);
	}
	mine_check(&m);
	NEED(str_close(high[0]) == 0 || errno == EBADF);
	NEED(str_close(high[1]) == 0 || errno == EBADF);
	NEED(library_works());
	use_memory();
	mine_check(&m);
	return 0;
}

/* Loop: close_range, close of each, dup2 over each. */
START_TEST(a_program_that_closes_all_keeps_what_it_opens)
{
	struct plan a = {.how = _i};

	make_pipe(a.p);
	ck_assert_int_eq(reap(child(close_then_live, &a), SOON), 0);
	ck_assert(flows(a.p));
	GIVES(str_close(a.p[1]), 0);
	ck_assert_int_eq(await_eof(a.p[0], SOON), 0);
	GIVES(str_close(a.p[0]), 0);
}
END_TEST

/* The numbers of streams as well are then the program's. */
static int
close_then_reuse(void *arg)
{
	struct plan *a = arg;
	int p[8][2], q[8][2];
	struct mine m;

	for (int i = 0; i < 8; i++)
		NEED(str_pipe(p[i]) == 0 && flows(p[i]));
	close_all(a->how);
	if (a->how == BY_DUP2)
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
	mine_open(&m);
	for (int i = 0; i < 8; i++)
		NEED(str_pipe(q[i]) == 0 && flows(q[i]));
	mine_check(&m);
	NEED(library_works());
	mine_check(&m);
	use_memory();
	mine_check(&m);
	for (int i = 0; i < 8; i++)
		NEED(str_close(q[i][0]) == 0 && str_close(q[i][1]) == 0);
	mine_check(&m);
	msleep(300);
	mine_check(&m);
	return 0;
}

START_TEST(numbers_of_streams_closed_behind_the_library_may_be_reused)
{
	struct plan a = {.how = _i};

	make_pipe(a.p);
	ck_assert_int_eq(reap(child(close_then_reuse, &a), SOON), 0);
	ck_assert(flows(a.p));
	close_pipe(a.p);
}
END_TEST

static int
close_and_wait(void *arg)
{
	struct plan *a = arg;
	char c;

	NEED(str_close(a->p[0]) == 0);
	close_all(BY_RANGE);
	if (a->how == 1)
		str_read(a->p[1], &c, 1);
	for (;;)
		pause();
	return 0;
}

/* Loop: it waits outside, it sleeps in a call.  Its lock is gone, not itself. */
START_TEST(the_death_of_one_that_closed_all_is_noticed)
{
	struct plan a = {.how = _i};
	pid_t pid;

	make_pipe(a.p);
	nonblock(a.p[1], false);
	pid = child(close_and_wait, &a);
	msleep(300);
	GIVES(str_close(a.p[1]), 0);
	if (_i == 1)
		ck_assert_int_eq(await_eof(a.p[0], 300), ETIME);
	kill(pid, SIGKILL);
	ck_assert_int_eq(await_eof(a.p[0], SOON), 0);
	ck_assert_int_eq(reap(pid, SOON), 128 + SIGKILL);
	GIVES(str_close(a.p[0]), 0);
}
END_TEST

/* One that died may leave its number to the next stream. */
START_TEST(a_stream_closed_behind_the_library_is_let_go)
{
	int p[2], q[2];

	make_pipe(p);
	ck_assert_int_eq(close(p[0]), 0);
	make_pipe(q);
	ck_assert_int_eq(q[0], p[0]);
	ck_assert(flows(q));
	ck_assert_int_eq(await_eof(p[1], SOON), 0);
	close_pipe(q);
	GIVES(str_close(p[1]), 0);
}
END_TEST

/* Exactly the library's own are closed, or covered by files. */
static int
without_own(void *arg)
{
	struct plan *a = arg;
	bool before[1024], after[1024];
	int p[2], name;

	list_fds(before);
	NEED(library_works());
	NEED(str_pipe(p) == 0);
	NEED(flows(p));
	list_fds(after);
	name = memfd_create("cover", 0);
	NEED(write(name, "cover", 5) == 5);
	for (int fd = 0; fd < 1024; fd++) {
		if (before[fd] || !after[fd] || fd == p[0] || fd == p[1])
			continue;
		if (a->how == 0)
			close(fd);
		else
			NEED(dup2(name, fd) == fd);
	}
	NEED(flows(p));
	for (int i = 0; i < 5; i++)
		NEED(library_works());
	use_memory();
	NEED(flows(p));
	if (a->how == 1) {
		struct stat st;

		NEED(fstat(name, &st) == 0 && st.st_size == 5);
		/* Each is where it was put. */
		for (int fd = 0; fd < 1024; fd++) {
			char text[6];

			if (before[fd] || !after[fd] || fd == p[0] || fd == p[1])
				continue;
			NEED(pread(fd, text, 6, 0) == 5 && memcmp(text, "cover", 5) == 0);
		}
	}
	NEED(str_write(a->p[1], "end", 3) == 3);
	return 0;
}

/* Loop: closed, covered. */
START_TEST(the_library_survives_the_loss_of_its_own_descriptors)
{
	struct plan a = {.how = _i};

	make_pipe(a.p);
	ck_assert_int_eq(reap(child(without_own, &a), SOON), 0);
	GIVES(str_close(a.p[1]), 0);
	READS(a.p[0], 10, "end");
	ck_assert_int_eq(await_eof(a.p[0], SOON), 0);
	GIVES(str_close(a.p[0]), 0);
}
END_TEST

/* ---- children without handlers --------------------------------------------- */

static int
stranger(const int p[2])
{
	struct pollfd f = {p[1], POLLIN, 0};
	struct strbuf d = {.maxlen = 4, .len = 1, .buf = (char[4]){0}};
	int flags = 0, q[2];
	char c;

#define GETS_EBADF(call)                            \
	do {                                        \
		errno = 0;                          \
		if ((call) != -1 || errno != EBADF) \
			return __LINE__ & 0x7f;     \
	} while (0)
	GETS_EBADF(str_read(p[1], &c, 1));
	GETS_EBADF(str_write(p[0], "x", 1));
	GETS_EBADF(putmsg(p[0], NULL, &d, 0));
	GETS_EBADF(getmsg(p[1], NULL, &d, &flags));
	GETS_EBADF(str_ioctl(p[0], I_PUSH, "nullmod"));
	GETS_EBADF(str_ioctl(p[0], I_NREAD, &flags));
	if (str_poll(&f, 1, 0) == 1 && f.revents != POLLNVAL)
		return 1;
	/* Streams of its own are no right of such a child, but no crash either. */
	if (str_pipe(q) == 0 && (!flows(q) || str_close(q[0]) || str_close(q[1])))
		return 2;
	if (str_open("/dev/streams/clone/echo", O_RDWR) == -2)
		return 3;
	return 0;
}

/* Loop: _Fork, clone, and clone with a second child. */
START_TEST(a_child_without_handlers_harms_nobody)
{
	int p[2];
	pid_t pid;

	make_pipe(p);
	GIVES(str_write(p[0], "mine", 4), 4);
	for (int i = 0; i < 5; i++) {
		if (_i == 0)
			pid = _Fork();
		else
			pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0L);
		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			_exit(stranger(p));
		ck_assert_int_eq(reap(pid, SOON), 0);
		ck_assert_int_eq(polled(p[0], POLLIN), 0);
	}
	msleep(250);
	READS(p[1], 10, "mine");
	ck_assert(flows(p));
	ck_assert(library_works());
	close_pipe(p);
}
END_TEST

/* ---- fork in one thread while others are busy ------------------------------- */

static atomic_bool stop;

static void *
pump(void *arg)
{
	int *p = arg;
	char buf[64] = {0};

	while (!atomic_load(&stop))
		if (str_write(p[0], buf, sizeof(buf)) != sizeof(buf) ||
		    str_read(p[1], buf, sizeof(buf)) != sizeof(buf))
			return (void *)1;
	return NULL;
}

static void *
forker(void *arg)
{
	int *p = arg;

	for (int i = 0; i < 15; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			NEED(str_write(p[0], "c", 1) == 1);
			NEED(library_works());
			_exit(0);
		}
		if (pid == -1 || waitpid(pid, &status, 0) != pid || status != 0)
			return (void *)1;
		if (i % 3 == 0 && system("true") != 0)
			return (void *)1;
	}
	return NULL;
}

START_TEST(two_threads_fork_while_two_write)
{
	int p[2][2], q[2];
	pthread_t f[2], w[2];
	void *bad;

	make_pipe(q);
	atomic_store(&stop, false);
	for (int i = 0; i < 2; i++) {
		make_blocking_pipe(p[i]);
		ck_assert_int_eq(pthread_create(&w[i], NULL, pump, p[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&f[i], NULL, forker, q), 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(f[i], &bad);
		ck_assert_ptr_null(bad);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++) {
		pthread_join(w[i], &bad);
		ck_assert_ptr_null(bad);
		close_pipe(p[i]);
	}
	ck_assert_int_eq(drain(q[1]), 30);
	GIVES(str_close(q[0]), 0);
	ck_assert_int_eq(await_eof(q[1], SOON), 0);
	GIVES(str_close(q[1]), 0);
}
END_TEST

static void *
fork_only(void *arg)
{
	int *p = arg, status;
	pid_t pid = fork();

	if (pid == 0) {
		NEED(str_write(p[0], "child", 5) == 5);
		_exit(0);
	}
	return (
	    void *)(intptr_t)(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

START_TEST(a_thread_that_never_called_may_fork)
{
	pthread_t t;
	void *good;
	int p[2];

	make_pipe(p);
	ck_assert_int_eq(pthread_create(&t, NULL, fork_only, p), 0);
	pthread_join(t, &good);
	ck_assert_ptr_nonnull(good);
	READS(p[1], 10, "child");
	close_pipe(p);
}
END_TEST

static void
programs(Suite *s)
{
	TCase *tc = group(s, "programs", 120);

	tcase_add_test(tc, system_does_no_harm);
	tcase_add_test(tc, a_program_inherits_no_descriptor_of_the_library);
	tcase_add_test(tc, popen_does_no_harm);
	tcase_add_test(tc, posix_spawn_does_no_harm);
	tcase_add_loop_test(tc, vfork_does_no_harm, 0, 2);
	tcase_add_test(tc, an_exec_that_fails_changes_nothing);
	tcase_add_test(tc, children_and_signals_are_the_programs);
	tcase_add_loop_test(tc, a_daemon_keeps_its_streams, 0, 2);
	tcase_add_test(tc, a_daemon_whose_streams_were_low);
	tcase_add_test(tc, a_thread_that_never_called_may_fork);
	tcase_add_test(tc, two_threads_fork_while_two_write);
}

static void
descriptors(Suite *s)
{
	TCase *tc = group(s, "descriptors", 120);

	tcase_add_loop_test(tc, a_program_that_closes_all_keeps_what_it_opens, 0, HOWS);
	tcase_add_loop_test(
	    tc, numbers_of_streams_closed_behind_the_library_may_be_reused, 0, HOWS);
	tcase_add_loop_test(tc, the_death_of_one_that_closed_all_is_noticed, 0, 2);
	tcase_add_test(tc, a_stream_closed_behind_the_library_is_let_go);
	tcase_add_loop_test(
	    tc, the_library_survives_the_loss_of_its_own_descriptors, 0, 2);
	tcase_add_loop_test(tc, a_child_without_handlers_harms_nobody, 0, 2);
}

int
main(void)
{
	Suite *s;

	if (!can_fork()) {
		puts("check_process: skipped (threads only, or heap=malloc)");
		return 77;
	}
	s = suite_create("process");
	programs(s);
	descriptors(s);
	return run_suite(s);
}
