/* SPDX-License-Identifier: BSD-2-Clause */
/* plat.c: the system calls and clocks of plat.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "plat.h"

#include <errno.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define HIGH_FD 240

bool plat_checked;
bool plat_jitter_on;

static bool
switched_on(const char *name)
{
	const char *s = secure_getenv(name);

	return s != NULL && strcmp(s, "") != 0 && strcmp(s, "0") != 0;
}

/* Before main: a bad pointer may come with the very first call. */
__attribute__((constructor)) static void
read_switches(void)
{
	plat_checked = switched_on("USTREAMS_CHECK");
	plat_jitter_on = switched_on("USTREAMS_JITTER");
}

/* For addr2line: what was seen once must be explained from what it printed. */
static void
print_callers(void)
{
#ifdef __GLIBC__
	void *at[32];

	backtrace_symbols_fd(at, backtrace(at, 32), STDERR_FILENO);
#endif
}

void
plat_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "ustreams: broken invariant: %s (%s:%d)\n", what, file, line);
	print_callers();
	abort();
}

/* ---- dying at marked points --------------------------------------------------- */

#define CRASH_SITES 4096 /* places in the code, more than there are */

static long crash_countdown;
/* Where processes died, by the call's return address; shared with children. */
static uintptr_t *crash_sites;

void
plat_crash_at(long n)
{
	if (crash_sites == NULL) {
		void *m = mmap(NULL, CRASH_SITES * sizeof(*crash_sites), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (m != MAP_FAILED)
			crash_sites = m;
	}
	st_rlx(&crash_countdown, n);
}

/* True: nobody died there before. */
static bool
note_site(uintptr_t at)
{
	for (size_t i = 0; crash_sites != NULL && i < CRASH_SITES; i++) {
		uintptr_t there = ld_seq(&crash_sites[i]);

		if (there == at)
			return false;
		if (there == 0 && cas(&crash_sites[i], &there, at))
			return true;
		if (there == at)
			return false;
	}
	return false;
}

NOINLINE void
plat_crash_point(void)
{
	long left = ld_rlx(&crash_countdown);
	uintptr_t at = (uintptr_t)__builtin_return_address(0);

	if (likely(left == 0) || (left > 0 && fas(&crash_countdown, 1L) != 1))
		return;
	if (note_site(at) || left > 0)
		raise(SIGKILL);
}

void
plat_crash_report(int fd)
{
	for (size_t i = 0; crash_sites != NULL && i < CRASH_SITES && crash_sites[i] != 0; i++)
		dprintf(fd, "%td\n", (intptr_t)crash_sites[i] - (intptr_t)plat_crash_point);
}

void
plat_jitter_slow(void)
{
	static __thread uint32_t seed;

	if (seed == 0)
		seed = (uint32_t)plat_now() | 1;
	seed = seed * 1664525u + 1013904223u;
	if ((seed >> 24) < 16)
		sched_yield();
	else if ((seed >> 24) < 18)
		plat_nap(seed >> 16 & 31);
}

/* ---- waiting ---------------------------------------------------------------- */

int
plat_futex_wait(uint32_t *word, uint32_t val, int64_t deadline)
{
	struct timespec ts, *tsp = NULL;
	int type, error;
	long rc;

	ASSERT(((uintptr_t)word & 3) == 0);
	if (deadline >= 0) {
		ts.tv_sec = deadline / 1000000000;
		ts.tv_nsec = deadline % 1000000000;
		tsp = &ts;
	}
	/* As libc's own cancellation points do it: a thread may end here, and here only. */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET, val, tsp, NULL, FUTEX_BITSET_MATCH_ANY);
	error = rc == 0 ? 0 : errno;
	pthread_setcanceltype(type, NULL);
	return error;
}

void
plat_futex_wake(uint32_t *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE, n, NULL, NULL, 0);
}

void
plat_yield(void)
{
	sched_yield();
}

bool
plat_nap(unsigned int us)
{
	struct timespec ts = { us / 1000000, (long)(us % 1000000) * 1000 };

	return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL) == 0;
}

int64_t
plat_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t
plat_clockoffset(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec - plat_now();
}

void
plat_spin(unsigned int ns)
{
	int64_t until = plat_now() + ns;

	do
		plat_relax();
	while (plat_now() < until);
}

bool
plat_backoff(unsigned int *step)
{
	unsigned int n = (*step)++, us;

	if (n < 16) {
		plat_relax();
		return false;
	}
	/* Before the CPU is given away: on a busy machine it comes back late each time. */
	if (n == 16)
		return true;
	if (n < 64) {
		plat_yield();
		return false;
	}
	us = 20u << (n - 64 < 6 ? n - 64 : 6);
	plat_nap(us > 1000 ? 1000 : us);
	return true;
}

/* ---- memory -------------------------------------------------------------------- */

int
plat_memfd(const char *name)
{
	int fd = (int)syscall(SYS_memfd_create, name, 3u /* MFD_CLOEXEC | MFD_ALLOW_SEALING */);

	/* Nobody who gets hold of it can make it shorter under our feet. */
	if (fd >= 0)
		(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	return fd;
}

void *
plat_map(void *base, size_t len, int fd)
{
	int fixed = base != NULL ? MAP_FIXED_NOREPLACE : 0;
	void *p = mmap(base, len, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE | fixed, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (base != NULL && p != base) {
		munmap(p, len);
		return NULL;
	}
	return p;
}

void
plat_unmap(void *base, size_t len)
{
	munmap(base, len);
}

int
plat_grow(int fd, off_t from, off_t to)
{
	struct rlimit rl;

	ASSERT(from >= 0 && to > from);
	if (getrlimit(RLIMIT_FSIZE, &rl) == 0 && rl.rlim_cur != RLIM_INFINITY &&
	    (rlim_t)to > rl.rlim_cur)
		return EFBIG;
	while (syscall(SYS_fallocate, fd, 0, from, to - from) != 0) {
		if (errno != EINTR)
			return errno;
	}
	return 0;
}

void
plat_dump(void *p, size_t len, bool yes)
{
	madvise(p, len, yes ? MADV_DODUMP : MADV_DONTDUMP);
}

void
plat_populate(void *p, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t a = (uintptr_t)p & ~(page - 1), end = (uintptr_t)p + len;

	if (madvise((void *)a, end - a, MADV_POPULATE_WRITE) == 0)
		return;
	for (; a < end; a += page)
		__atomic_fetch_or((char *)(a > (uintptr_t)p ? a : (uintptr_t)p), 0,
			__ATOMIC_RELAXED);
}

void *
plat_wipe_page(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, page, MADV_WIPEONFORK);
	return p;
}

static size_t
read_size(const char *path)
{
	char buf[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return SIZE_MAX;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0 || buf[0] < '0' || buf[0] > '9')
		return SIZE_MAX;
	buf[n] = '\0';
	return strtoull(buf, NULL, 10);
}

size_t
plat_ram(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	size_t ram = pages > 0 && page > 0 ? (size_t)pages * (size_t)page :
		(size_t)1 << 30;
	size_t v2 = read_size("/sys/fs/cgroup/memory.max");
	size_t v1 = read_size("/sys/fs/cgroup/memory/memory.limit_in_bytes");

	if (v2 < ram)
		ram = v2;
	return v1 < ram ? v1 : ram;
}

bool
plat_valgrind(void)
{
	const char *pre = getenv("LD_PRELOAD");

	return pre != NULL && strstr(pre, "vgpreload") != NULL;
}

int
plat_identify(int fd, struct plat_file *id)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return errno;
	id->pf_dev = st.st_dev;
	id->pf_ino = st.st_ino;
	return 0;
}

bool
plat_same(int fd, const struct plat_file *id)
{
	struct plat_file now;

	return plat_identify(fd, &now) == 0 && now.pf_dev == id->pf_dev &&
		now.pf_ino == id->pf_ino;
}

/* ---- descriptors and processes ----------------------------------------------------- */

int
plat_placeholder(void)
{
	return (int)syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
}

int
plat_borrow(pid_t pid, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
}

int
plat_dupfd(int fd, int min)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, min);
}

/* Programs count on low numbers being theirs: shells, daemons, dup2 tricks. */
int
plat_raise(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	plat_close(fd);
	return high;
}

int
plat_dup2(int fd, int to)
{
	return dup3(fd, to, O_CLOEXEC);
}

void
plat_close(int fd)
{
	if (fd >= 0)
		syscall(SYS_close, fd);
}

int
plat_maxfd(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) != 0 || rl.rlim_cur > INT_MAX)
		return INT_MAX;
	return (int)rl.rlim_cur;
}

bool
plat_isopen(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

pid_t
plat_pid(void)
{
	return getpid();
}

pid_t
plat_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static struct flock
record(off_t at)
{
	return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_start = at, .l_len = 1 };
}

int
plat_lockrec(int fd, off_t at)
{
	struct flock fl = record(at);

	ASSERT(fd >= 0 && at >= 0);
	return fcntl(fd, F_SETLK, &fl) == 0 ? 0 : errno;
}

int
plat_holdrec(int fd, off_t at)
{
	struct flock fl = record(at);
	char path[40];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
	if (own >= 0 && fcntl(own, F_OFD_SETLK, &fl) == 0)
		return own;
	plat_close(own);
	return -1;
}

bool
plat_reclocked(int fd, off_t at)
{
	struct flock fl = record(at);

	return fcntl(fd, F_GETLK, &fl) != 0 || fl.l_type != F_UNLCK;
}

int
plat_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0u);
}

char
plat_procstate(pid_t tid)
{
	char path[64], buf[256], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	n = syscall(SYS_read, fd, buf, sizeof(buf) - 1);
	plat_close(fd);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	p = strrchr(buf, ')');
	return p != NULL && p[1] == ' ' ? p[2] : 0;
}

void
plat_sigpipe(void)
{
	raise(SIGPIPE);
}

/* ---- user memory ---------------------------------------------------------------------- */

/*
 * What process_vm_readv or writev said about n bytes.  Where it is forbidden
 * (seccomp) checked mode cannot be had: say so once and go on without.
 */
static int
verdict(ssize_t got, void *to, const void *from, size_t n)
{
	static const char lacking[] = "ustreams: USTREAMS_CHECK=1: process_vm_readv and "
		"process_vm_writev are not permitted here; bad pointers go unchecked\n";

	if (got == (ssize_t)n)
		return 0;
	if (got >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES))
		return EFAULT;
	if (plat_checked)
		fputs(lacking, stderr);
	plat_checked = false;
	memcpy(to, from, n);
	return 0;
}

int
plat_copyin_checked(void *to, const void *from, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)from, n };

	return n == 0 ? 0 :
		verdict(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), to, from, n);
}

int
plat_copyout_checked(void *to, const void *from, size_t n)
{
	struct iovec local = { (void *)(uintptr_t)from, n }, remote = { to, n };

	return n == 0 ? 0 :
		verdict(process_vm_writev(getpid(), &local, 1, &remote, 1, 0), to, from, n);
}

bool
plat_readable(const void *p, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), a = (uintptr_t)p, end = a + n;
	char byte;

	for (; a < end; a = (a & ~(page - 1)) + page)
		if (plat_copyin_checked(&byte, (const void *)a, 1) != 0)
			return false;
	return true;
}

int
plat_copystr(char *to, const char *from, size_t max)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	ASSERT(max > 0);
	/* Page by page: the string may end just before memory that is not there. */
	if (!plat_judge(from, 1))
		return EFAULT;
	for (size_t done = 0; done < max;) {
		size_t n = page - ((uintptr_t)(from + done) & (page - 1));

		if (n > max - done)
			n = max - done;
		if (!plat_judge(from + done, 1))
			return EFAULT;
		if (!plat_checked)
			n = strnlen(from + done, n) < n ? strnlen(from + done, n) + 1 : n;
		if (plat_copyin(to + done, from + done, n) != 0)
			return EFAULT;
		if (memchr(to + done, '\0', n) != NULL)
			return 0;
		done += n;
	}
	return ENAMETOOLONG;
}
