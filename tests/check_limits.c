/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_limits.c: little of everything: address space, file size, descriptors,
 * arena, CPUs, /dev/shm, /proc, system calls (DESIGN §2, interface.md §1, §3).
 * Each works or fails with one clear errno, and works again when there is
 * more.  The library is used in children only, each of which meets it anew.
 */
#include "headlib.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { MEG = 1 << 20 };

static bool
sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__)
	return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
	return true;
#else
	return under_tsan();
#endif
#else
	return under_tsan();
#endif
}

/* ---- what is tried ----------------------------------------------------------- */

/* An errno as the exit status, by which the parent judges. */
static int
refused(int err)
{
	int p[2];

	/* The second time it is the same. */
	NEED(str_pipe(p) == -1 && errno == err);
	return err;
}

/* A pipe, messages of 1 byte to 1 << most, a module or none: 0, or an errno. */
static int
try_sizes(int most, const char *module)
{
	static char buf[16384];
	int p[2];

	if (str_pipe(p) == -1)
		return refused(errno);
	for (int i = 0; i < 64; i++) {
		size_t n = (size_t)1 << i % (most + 1);

		memset(buf, i, n);
		if (str_write(p[0], buf, n) == -1)
			return errno;
		NEED(str_read(p[1], buf, sizeof(buf)) == (ssize_t)n);
		NEED(buf[0] == (char)i && buf[n - 1] == (char)i);
	}
	if (module != NULL && str_ioctl(p[0], I_PUSH, module) == -1)
		return errno;
	NEED(str_write(p[0], "x", 1) == 1 && str_read(p[1], buf, 1) == 1);
	NEED(str_close(p[0]) == 0);
	NEED(str_read(p[1], buf, 1) == 0);
	NEED(str_close(p[1]) == 0);
	return 0;
}

static int
try_pipe(void *arg)
{
	(void)arg;
	return try_sizes(14, "nullmod");
}

/* And a child that writes and dies: its death is noticed. */
static int
try_fork(void *arg)
{
	struct pollfd f = {.events = POLLIN};
	int p[2], r = try_pipe(arg);
	pid_t pid;
	char c;

	if (r != 0)
		return r;
	NEED(str_pipe(p) == 0);
	NEED((pid = fork()) >= 0);
	if (pid == 0) {
		NEED(str_close(p[0]) == 0);
		NEED(str_write(p[1], "c", 1) == 1);
		for (;;)
			pause();
	}
	NEED(str_close(p[1]) == 0);
	NEED(str_read(p[0], &c, 1) == 1);
	NEED(kill(pid, SIGKILL) == 0);
	f.fd = p[0];
	NEED(str_poll(&f, 1, SOON) == 1 && (f.revents & POLLHUP));
	NEED(str_read(p[0], &c, 1) == 0);
	NEED(waitpid(pid, NULL, 0) == pid);
	NEED(str_close(p[0]) == 0);
	return 0;
}

/* What the child ends with is one of these (up to -1). */
static void
ends_with(int (*fn)(void *), void *arg, const char *what, const int allowed[])
{
	int r = reap(child(fn, arg), SOON);

	for (int i = 0; allowed[i] != -1; i++)
		if (r == allowed[i])
			return;
	ck_abort_msg("%s: it ends with %d (%s)", what, r,
	    r == -1	  ? "hangs"
		: r > 128 ? "killed"
			  : ename(r));
}

static const int works[] = {0, -1};

START_TEST(without_limits_it_works)
{
	ends_with(try_fork, NULL, "no limit", works);
}
END_TEST

/* ---- resource limits ------------------------------------------------------------ */

static void
limit(int resource, unsigned long n)
{
	struct rlimit rl = {n, n};

	NEED(setrlimit(resource, &rl) == 0);
}

struct amount {
	unsigned long n;
	bool must; /* it must work */
};

static int
little_space(void *arg)
{
	const struct amount *a = arg;

	limit(RLIMIT_AS, a->n * MEG);
	return try_fork(NULL);
}

/* "reserve 64 GiB, or 16, 4, 1 GiB where RLIMIT_AS refuses more" */
static const struct amount spaces[] = {{20, false}, {100, false}, {400, false},
    {1000, false}, {1500, true}, {4000, true}, {5000, true}, {20000, true},
    {70000, true}};
enum { NSPACES = sizeof(spaces) / sizeof(spaces[0]) };

START_TEST(with_little_address_space)
{
	static const int no_room[] = {0, ENOMEM, -1};
	struct amount a = spaces[_i];
	char what[40];

	if (sanitized())
		return;
	snprintf(what, sizeof(what), "ulimit -v %lu MiB", a.n);
	ends_with(little_space, &a, what, a.must ? works : no_room);
}
END_TEST

enum { MANY = 1 << 19 };

/* Blocks of these sizes in turn until there are none; how many. */
static long
take_all(mblk_t *mp[], const size_t sizes[], int nsizes)
{
	long n = 0;
	int left = nsizes;

	while (left > 0) {
		left = 0;
		for (int i = 0; i < nsizes && n < MANY; i++) {
			errno = 0;
			if ((mp[n] = str_mblkalloc(sizes[i])) == NULL) {
				int err = errno;

				NEED(err == ENOSR);
				continue;
			}
			n++;
			left++;
		}
	}
	return n;
}

static void
give_all(mblk_t *mp[], long n)
{
	while (n > 0)
		freemsg(mp[--n]);
}

/* Everything there is, then nothing of it, thrice: it is all there again. */
static int
use_up(void *arg)
{
	static const size_t sizes[] = {1, 60, 120, 250, 500, 1000, 2048, 4000, 8000};
	static mblk_t *mp[MANY];
	long first = 0, n;
	int p[2];
	char c;

	(void)arg;
	if (str_pipe(p) == -1)
		return refused(errno);
	NEED(str_fcntl(p[0], F_SETFL, O_NONBLOCK) == 0);
	NEED(str_fcntl(p[1], F_SETFL, O_NONBLOCK) == 0);
	for (int round = 0; round < 3; round++) {
		struct ustr_memstat ms;
		int q[2];

		n = take_all(mp, sizes, sizeof(sizes) / sizeof(sizes[0]));
		NEED(ustr_memstat(&ms) == 0);
		NEED(n == MANY || ms.ms_failures > 0);
		/* Nothing left, or something cached: no other answer. */
		NEED(str_write(p[0], "x", 1) == 1 || errno == ENOSR);
		int err = str_pipe(q) == 0 ? 0 : errno;

		if (err == 0)
			NEED(str_close(q[0]) == 0 && str_close(q[1]) == 0);
		else
			NEED(err == ENOSR);
		give_all(mp, n);
		while (str_read(p[1], &c, 1) == 1)
			;
		if (round == 0)
			first = n;
		else if (n < first / 10 * 9)
			return ENOSPC;
		NEED(str_write(p[0], "y", 1) == 1 && str_read(p[1], &c, 1) == 1);
	}
	return try_sizes(11, NULL);
}

static int
little_file(void *arg)
{
	const struct amount *a = arg;
	int r;

	/* The status of this process would be a core dump otherwise. */
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, a->n * 1024);
	r = try_fork(NULL);
	return r != 0 ? r : a->n < 100000 ? use_up(NULL) : 0;
}

static const struct amount files[] = {{0, false}, {1, false}, {64, false}, {1000, false},
    {3000, false}, {8192, true}, {30000, true}, {4000000, true}};
enum { NFILES = sizeof(files) / sizeof(files[0]) };

START_TEST(with_a_small_file_size)
{
	static const int no_room[] = {0, ENOMEM, ENOSR, -1};
	struct amount a = files[_i];
	char what[40];

	snprintf(what, sizeof(what), "ulimit -f %lu KiB", a.n);
	ends_with(little_file, &a, what, a.must ? works : no_room);
}
END_TEST

static int
few_descriptors(void *arg)
{
	const struct amount *a = arg;
	int p[100][2], n, m, r;

	close_range(3, ~0U, 0);
	limit(RLIMIT_NOFILE, a->n);
	r = a->must ? try_fork(NULL) : try_pipe(NULL);
	if (r != 0)
		return r;
	for (int round = 0; round < 3; round++) {
		for (n = 0; n < 100 && str_pipe(p[n]) == 0; n++)
			;
		NEED(n >= 1);
		if (n == 100)
			break;
		NEED(str_pipe(p[n]) == -1 && errno == EMFILE);
		/* With one number left a pipe must not keep it. */
		m = str_open("/dev/streams/clone/echo", O_RDWR);
		NEED(m >= 0 || (str_dup(p[0][0]) == -1 && errno == EMFILE));
		NEED(str_pipe(p[n]) == -1 && errno == EMFILE);
		NEED(m == -1 || str_close(m) == 0);
		for (int i = 0; i < n; i++) {
			char c;

			NEED(str_write(p[i][0], "x", 1) == 1);
			NEED(str_read(p[i][1], &c, 1) == 1);
			NEED(str_close(p[i][0]) == 0 && str_close(p[i][1]) == 0);
		}
	}
	return try_pipe(NULL);
}

static const struct amount fds[] = {
    {3, false}, {4, false}, {5, false}, {6, false}, {7, false}, {10, true}, {20, true}};
enum { NFDS = sizeof(fds) / sizeof(fds[0]) };

START_TEST(with_few_descriptors)
{
	static const int none[] = {0, EMFILE, -1};
	struct amount a = fds[_i];
	char what[40];

	snprintf(what, sizeof(what), "ulimit -n %lu", a.n);
	ends_with(few_descriptors, &a, what, a.must ? works : none);
}
END_TEST

/* All numbers are taken when a child is made and when it dies. */
static int
no_descriptor(void *arg)
{
	struct pollfd f = {.events = POLLIN};
	int p[2], q[2];
	pid_t pid;
	char c;

	(void)arg;
	NEED(str_pipe(p) == 0);
	limit(RLIMIT_NOFILE, 64);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	NEED(str_pipe(q) == -1 && errno == EMFILE);
	NEED((pid = fork()) >= 0);
	if (pid == 0) {
		NEED(str_close(p[0]) == 0);
		NEED(str_write(p[1], "c", 1) == 1);
		for (;;)
			pause();
	}
	f.fd = p[0];
	NEED(str_poll(&f, 1, SOON) == 1 && str_read(p[0], &c, 1) == 1);
	NEED(str_close(p[1]) == 0);
	NEED(open("/dev/null", O_RDONLY) >= 0);
	NEED(kill(pid, SIGKILL) == 0);
	NEED(str_poll(&f, 1, SOON) == 1 && (f.revents & POLLHUP));
	return 0;
}

START_TEST(without_any_descriptor_left)
{
	ends_with(no_descriptor, NULL, "no descriptor left", works);
}
END_TEST

/* ---- the arena ---------------------------------------------------------------- */

/* The first call of a process, of several kinds: what it says. */
static int
first_call(int which)
{
	struct ustr_memstat ms;
	int p[2];
	mblk_t *mp;

	errno = 0;
	switch (which) {
	case 0:
		return str_pipe(p) == -1 ? errno : 0;
	case 1:
		return str_open("/dev/streams/clone/echo", O_RDWR) == -1 ? errno : 0;
	case 2:
		return ustr_memstat(&ms) == -1 ? errno : 0;
	default:
		mp = str_mblkalloc(10);
		return mp == NULL ? errno : 0;
	}
}

static const struct value {
	const char *v_text;
	int v_may[4];
} values[] = {
    {"16M", {0, -1}},
    {"1G", {0, -1}},
    {"33554432", {0, -1}},
    {"65536K", {0, -1}},
    {"", {0, EINVAL, -1}},
    {"1000G", {0, EINVAL, ENOMEM, -1}},
    {"0", {ENOMEM, EINVAL, -1}},
    {"1", {ENOMEM, -1}},
    {"4K", {ENOMEM, -1}},
    {"100K", {ENOMEM, -1}},
    {"x", {EINVAL, -1}},
    {"M", {EINVAL, -1}},
    {" ", {EINVAL, -1}},
    {"-5", {EINVAL, -1}},
    {"-16M", {EINVAL, -1}},
    {"16Q", {EINVAL, -1}},
    {"16MM", {EINVAL, -1}},
    {"16M ", {EINVAL, -1}},
    {"1.5G", {EINVAL, -1}},
    {"0x", {EINVAL, -1}},
    {"99999999999999999999", {EINVAL, -1}},
    {"99999999999999999G", {EINVAL, -1}},
    {"18446744073709551617", {EINVAL, -1}},
};
enum { NVALUES = sizeof(values) / sizeof(values[0]) };

struct first {
	const char *text;
	int which;
};

static int
with_arena(void *arg)
{
	const struct first *f = arg;
	int e;

	setenv("USTREAMS_ARENA", f->text, 1);
	e = first_call(f->which);
	/* An allocation knows no other word. */
	if (f->which == 3 && e == ENOSR)
		e = first_call(0);
	for (int i = 0; i < 3; i++)
		NEED(first_call(i) == e);
	return e != 0 ? e : try_fork(NULL);
}

START_TEST(the_size_of_the_arena_is_read_or_refused)
{
	for (int which = 0; which < 4; which++) {
		struct first f = {values[_i].v_text, which};
		char what[80];

		snprintf(
		    what, sizeof(what), "USTREAMS_ARENA='%s', call %d", f.text, which);
		ends_with(with_arena, &f, what, values[_i].v_may);
	}
}
END_TEST

static int
use_up_little(void *arg)
{
	setenv("USTREAMS_ARENA", "16M", 1);
	return use_up(arg);
}

static mblk_t *taken[MANY];
static long ntaken;

static void *
give_back(void *arg)
{
	give_all(taken, ntaken);
	/* Loop: the thread ends, or lives on and does nothing. */
	while (*(int *)arg == 1)
		pause();
	return NULL;
}

static int
freed_elsewhere(void *arg)
{
	static const size_t size = 1000;
	pthread_t t;
	long first;

	setenv("USTREAMS_ARENA", "16M", 1);
	first = ntaken = take_all(taken, &size, 1);
	for (int round = 0; round < 3; round++) {
		NEED(pthread_create(&t, NULL, give_back, arg) == 0);
		if (*(int *)arg == 1)
			msleep(200);
		else
			NEED(pthread_join(t, NULL) == 0);
		ntaken = take_all(taken, &size, 1);
		/* A thread may keep a few. */
		NEED(ntaken > first / 10 * 8);
	}
	return 0;
}

START_TEST(memory_freed_by_another_thread_is_there_again)
{
	ends_with(freed_elsewhere, &_i, "an arena of 16 MiB", works);
}
END_TEST

START_TEST(an_arena_used_up_works_again_when_memory_is_freed)
{
	ends_with(use_up_little, NULL, "an arena of 16 MiB", works);
}
END_TEST

/* Messages on streams until there is no memory; how many streams. */
static int
fill_streams(int p[][2], int max)
{
	static char buf[4096];
	int n;

	for (n = 0; n < max; n++) {
		if (str_pipe(p[n]) == -1) {
			int err = errno;

			NEED(err == ENOSR);
			return n;
		}
		NEED(str_ioctl(p[n][1], I_SET_HIWAT, 64 * MEG) == 0);
		for (size_t k = 0; str_write(p[n][0], buf, 1 + k * 997 % 4000) > 0; k++)
			;
		/* A blocking write: there is nobody to wait for. */
		while (str_write(p[n][0], buf, 4000) > 0)
			;
		NEED(str_write(p[n][0], buf, 4000) == -1 && errno == ENOSR);
	}
	return n;
}

static int
fill_up(void *arg)
{
	static int p[20][2];
	int how = *(int *)arg, n;
	struct ustr_memstat ms[3];

	setenv("USTREAMS_ARENA", "16M", 1);
	for (int round = 0; round < 3; round++) {
		n = fill_streams(p, 20);
		NEED(n > 0);
		NEED(ustr_memstat(&ms[round]) == 0);
		for (int i = 0; i < n; i++) {
			char buf[4096];

			if (how == 0) {
				NEED(str_fcntl(p[i][1], F_SETFL, O_NONBLOCK) == 0);
				while (str_read(p[i][1], buf, sizeof(buf)) > 0)
					;
			} else if (how == 1) {
				NEED(str_ioctl(p[i][1], I_FLUSH, FLUSHRW) == 0 ||
				    errno == ENOSR);
			}
			NEED(str_close(p[i][0]) == 0 && str_close(p[i][1]) == 0);
		}
		NEED(try_sizes(11, NULL) == 0);
	}
	NEED(ms[2].ms_leaked == 0);
	return 0;
}

/* Loop: read, flushed, closed. */
START_TEST(streams_that_filled_the_arena_give_it_back)
{
	ends_with(fill_up, &_i, "streams in an arena of 16 MiB", works);
}
END_TEST

static int
die_full(void *arg)
{
	static int p[20][2];
	int q[2];
	pid_t pid;
	char c;

	(void)arg;
	setenv("USTREAMS_ARENA", "16M", 1);
	NEED(str_pipe(q) == 0);
	for (int round = 0; round < 4; round++) {
		long end = now_ms() + SOON;

		NEED((pid = fork()) >= 0);
		if (pid == 0) {
			fill_streams(p, 20);
			/* A message that was there before. */
			if (str_write(q[0], "f", 1) != 1)
				kill(getpid(), SIGUSR1);
			for (;;)
				pause();
		}
		signal(SIGCHLD, SIG_DFL);
		msleep(300);
		kill(pid, SIGKILL);
		NEED(waitpid(pid, NULL, 0) == pid);
		/* Its streams are closed, and there is memory again. */
		while (try_sizes(11, NULL) != 0) {
			NEED(now_ms() < end);
			msleep(10);
		}
		while (str_fcntl(q[1], F_SETFL, O_NONBLOCK) == 0 &&
		    str_read(q[1], &c, 1) == 1)
			;
	}
	return 0;
}

START_TEST(a_process_killed_with_a_full_arena_gives_it_back)
{
	ends_with(die_full, NULL, "an arena of 16 MiB", works);
}
END_TEST

/* ---- the machine ---------------------------------------------------------------- */

static void *
pong(void *arg)
{
	const int *p = arg;
	char buf[16];
	ssize_t n;

	while ((n = str_read(p[1], buf, sizeof(buf))) > 0)
		NEED(str_write(p[1], buf, (size_t)n) == n);
	return NULL;
}

static int
ping(void *arg)
{
	bool forked = *(int *)arg != 0;
	int p[2], status;
	pthread_t t;
	pid_t pid = 0;
	cpu_set_t one;
	char c;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	NEED(sched_setaffinity(0, sizeof(one), &one) == 0);
	NEED(str_pipe(p) == 0);
	if (forked) {
		NEED((pid = fork()) >= 0);
		if (pid == 0) {
			NEED(str_close(p[0]) == 0);
			pong(p);
			_exit(0);
		}
		NEED(str_close(p[1]) == 0);
	} else {
		NEED(pthread_create(&t, NULL, pong, p) == 0);
	}
	for (int i = 0; i < 3000; i++)
		NEED(str_write(p[0], "x", 1) == 1 && str_read(p[0], &c, 1) == 1);
	NEED(str_close(p[0]) == 0);
	if (forked)
		NEED(waitpid(pid, &status, 0) == pid && status == 0);
	else
		NEED(pthread_join(t, NULL) == 0);
	return try_fork(NULL);
}

/* Loop: threads, processes. */
START_TEST(on_one_cpu)
{
	ends_with(ping, &_i, "one CPU", works);
}
END_TEST

/* A mount namespace of its own where this may be done; else the test is over. */
static bool
own_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

enum { SKIPPED = 77 };

static int
full_shm(void *arg)
{
	static char page[4096];
	int fd;

	(void)arg;
	if (!own_mounts() || mount("none", "/dev/shm", "tmpfs", 0, "size=64k") != 0)
		return SKIPPED;
	NEED((fd = open("/dev/shm/fill", O_CREAT | O_WRONLY, 0600)) >= 0);
	while (write(fd, page, sizeof(page)) > 0)
		;
	close(fd);
	return try_fork(NULL);
}

static int
no_proc(void *arg)
{
	(void)arg;
	if (!own_mounts() || mount("none", "/proc", "tmpfs", 0, "size=64k") != 0)
		return SKIPPED;
	return try_fork(NULL);
}

START_TEST(with_a_full_dev_shm)
{
	static const int no_room[] = {0, ENOMEM, ENOSR, ENOSPC, SKIPPED, -1};

	ends_with(full_shm, NULL, "a full /dev/shm", no_room);
}
END_TEST

START_TEST(without_proc)
{
	static const int may[] = {0, SKIPPED, -1};

	ends_with(no_proc, NULL, "no /proc", may);
}
END_TEST

/* This program anew in checked mode, which must be set when it starts. */
static int
again(const char *what)
{
	setenv("USTREAMS_CHECK", "1", 1);
	execl("/proc/self/exe", "check_limits", what, (char *)NULL);
	return SKIPPED;
}

/* ---- system calls that are forbidden ---------------------------------------------- */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* The calls give err; a filter that cannot be had skips the test. */
static bool
forbid(const int *calls, int err)
{
	struct sock_filter f[40];
	unsigned short n = 0;
	struct sock_fprog prog = {.filter = f};

	f[n++] = (struct sock_filter)BPF_STMT(
	    BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = (struct sock_filter)BPF_STMT(
	    BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (; *calls != -1; calls++) {
		f[n++] = (struct sock_filter)BPF_JUMP(
		    BPF_JMP | BPF_JEQ | BPF_K, (unsigned)*calls, 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(
		    BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = n;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) == 0;
}

static const struct ban {
	const char *b_what;
	int b_err;
	bool b_checked; /* with USTREAMS_CHECK=1 */
	int b_calls[6];
	int b_may[5];
} bans[] = {
    {"process_vm_readv (EPERM)", EPERM, false,
	{SYS_process_vm_readv, SYS_process_vm_writev, -1}, {0, -1}},
    {"process_vm_readv (ENOSYS)", ENOSYS, false,
	{SYS_process_vm_readv, SYS_process_vm_writev, -1}, {0, -1}},
    {"process_vm_readv, checked", EPERM, true,
	{SYS_process_vm_readv, SYS_process_vm_writev, -1}, {0, EPERM, -1}},
    {"pidfd_open", ENOSYS, false, {SYS_pidfd_open, SYS_pidfd_send_signal, SYS_waitid, -1},
	{0, -1}},
    {"membarrier", ENOSYS, false, {SYS_membarrier, -1}, {0, -1}},
    {"close_range, clone3", ENOSYS, false, {SYS_close_range, SYS_clone3, -1}, {0, -1}},
    {"memfd_create", ENOSYS, false, {SYS_memfd_create, -1}, {0, ENOMEM, ENOSYS, -1}},
    {"fallocate", EOPNOTSUPP, false, {SYS_fallocate, -1}, {0, ENOMEM, EOPNOTSUPP, -1}},
    {"kcmp", EPERM, false, {SYS_kcmp, SYS_ptrace, SYS_perf_event_open, -1}, {0, -1}},
    {"sched_getaffinity", EPERM, false,
	{SYS_sched_getaffinity, SYS_getrandom, SYS_sysinfo, SYS_getcpu, -1}, {0, -1}},
};
enum { NBANS = sizeof(bans) / sizeof(bans[0]) };

static int
banned(void *arg)
{
	const struct ban *b = arg;

	if (!forbid(b->b_calls, b->b_err))
		return SKIPPED;
	return b->b_checked ? again("try") : try_fork(NULL);
}

START_TEST(without_a_system_call)
{
	struct ban b = bans[_i];
	int may[8], n;

	if (sanitized())
		return;
	for (n = 0; b.b_may[n] != -1; n++)
		may[n] = b.b_may[n];
	may[n++] = SKIPPED;
	may[n] = -1;
	ends_with(banned, &b, b.b_what, may);
}
END_TEST

/* ---- the environment ------------------------------------------------------------- */

static int
checked(void *arg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *unmapped, *readonly, buf[8];
	int p[2];

	(void)arg;
	NEED(try_fork(NULL) == 0);
	unmapped = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(unmapped != MAP_FAILED && munmap(unmapped, page) == 0);
	readonly = unmapped + page;
	NEED(str_pipe(p) == 0);
	NEED(str_write(p[0], "kept", 4) == 4);
	NEED(str_write(p[0], unmapped, 4) == -1 && errno == EFAULT);
	NEED(str_read(p[1], unmapped, 4) == -1 && errno == EFAULT);
	NEED(str_read(p[1], readonly, 4) == -1 && errno == EFAULT);
	NEED(str_ioctl(p[1], I_NREAD, readonly) == -1 && errno == EFAULT);
	NEED(str_poll((struct pollfd *)(void *)unmapped, 1, 0) == -1 && errno == EFAULT);
	NEED(str_read(p[1], buf, 8) == 4 && memcmp(buf, "kept", 4) == 0);
	return 0;
}

static int
start_checked(void *arg)
{
	(void)arg;
	return again("checked");
}

START_TEST(in_checked_mode)
{
	ends_with(start_checked, NULL, "USTREAMS_CHECK=1", works);
}
END_TEST

static int
threads_of(void)
{
	char line[100];
	int n = -1;
	FILE *f = fopen("/proc/self/status", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "Threads: %d", &n);
	if (f != NULL)
		fclose(f);
	return n;
}

/* No thread but one's own; deaths are noticed by ustr_service. */
static int
no_helper(void *arg)
{
	int p[2], threads;
	pid_t pid;
	char c;

	(void)arg;
	setenv("USTREAMS_HELPER", "0", 1);
	threads = threads_of();
	NEED(try_pipe(NULL) == 0);
	NEED(str_pipe(p) == 0);
	NEED((pid = fork()) >= 0);
	if (pid == 0) {
		NEED(str_close(p[0]) == 0);
		NEED(str_write(p[1], "c", 1) == 1);
		for (;;)
			pause();
	}
	NEED(str_close(p[1]) == 0);
	NEED(str_read(p[0], &c, 1) == 1);
	NEED(kill(pid, SIGKILL) == 0);
	NEED(waitpid(pid, NULL, 0) == pid);
	NEED(ustr_service(SOON) >= 1);
	NEED(str_read(p[0], &c, 1) == 0);
	NEED(threads_of() == threads);
	return 0;
}

START_TEST(without_a_helper_thread)
{
	ends_with(no_helper, NULL, "USTREAMS_HELPER=0", works);
}
END_TEST

static void
resources(Suite *s)
{
	TCase *tc = group(s, "resource limits", 120);

	tcase_add_test(tc, without_limits_it_works);
	tcase_add_loop_test(tc, with_little_address_space, 0, NSPACES);
	tcase_add_loop_test(tc, with_a_small_file_size, 0, NFILES);
	tcase_add_loop_test(tc, with_few_descriptors, 0, NFDS);
	tcase_add_test(tc, without_any_descriptor_left);
}

static void
arena(Suite *s)
{
	TCase *tc = group(s, "arena", 120);

	tcase_add_loop_test(tc, the_size_of_the_arena_is_read_or_refused, 0, NVALUES);
	tcase_add_test(tc, an_arena_used_up_works_again_when_memory_is_freed);
	tcase_add_loop_test(tc, memory_freed_by_another_thread_is_there_again, 0, 2);
	tcase_add_loop_test(tc, streams_that_filled_the_arena_give_it_back, 0, 3);
	tcase_add_test(tc, a_process_killed_with_a_full_arena_gives_it_back);
}

static void
machine(Suite *s)
{
	TCase *tc = group(s, "machine", 120);

	tcase_add_loop_test(tc, on_one_cpu, 0, 2);
	tcase_add_test(tc, with_a_full_dev_shm);
	tcase_add_test(tc, without_proc);
#ifdef ARCH
	tcase_add_loop_test(tc, without_a_system_call, 0, NBANS);
#endif
	tcase_add_test(tc, in_checked_mode);
	tcase_add_test(tc, without_a_helper_thread);
}

int
main(int argc, char **argv)
{
	Suite *s;

	/* See again(). */
	if (argc > 1 && strcmp(argv[1], "checked") == 0)
		return checked(NULL);
	if (argc > 1 && strcmp(argv[1], "try") == 0)
		return try_fork(NULL);
	if (!can_fork()) {
		puts("check_limits: skipped (threads only, or heap=malloc)");
		return 77;
	}
	s = suite_create("limits");
	resources(s);
	arena(s);
	machine(s);
	return run_suite(s);
}
