/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plat.h: the one door to the machine: atomics, assertions, system calls.
 *
 * Level 0.  Every other file of streams/ may include this one; this one
 * includes none of them.
 *
 * Atomics.  Shared words are plain integers and pointers (the public headers
 * must stay C++), accessed only through the macros below.  Two orders are
 * enough for the whole project:
 *   - acquire/release where one word hands over others (locks, lists);
 *   - sequentially consistent exchange, compare-and-swap and load where one
 *     side publishes X then checks Y and the other publishes Y then checks X.
 * There is no fence anywhere: a fence orders nothing that ThreadSanitizer can
 * see, and an exchange costs the same.
 */
#ifndef STREAMS_PLAT_H
#define STREAMS_PLAT_H

#include "config.h"

/* The library without caches that is built beside the default one. */
#ifdef USTR_NO_CACHES
#undef USTR_BUFFER_CACHE
#define USTR_BUFFER_CACHE 0
#undef USTR_HEAD_CACHE
#define USTR_HEAD_CACHE 0
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LINE 64 /* cache line, bytes */
#define LINE_ALIGNED __attribute__((aligned(LINE)))
#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define roundup2(x, a) (((x) + ((a) - 1)) & ~((size_t)(a) - 1))

/* ---- atomics ------------------------------------------------------------ */

#define ld_rlx(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define ld_acq(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ld_seq(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define st_rlx(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define st_rel(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define xchg(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define faa(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define fas(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_SEQ_CST)
#define f_or(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define f_and(p, v) __atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST)
/* Compare-and-swap; on failure *(old) is what was found. */
#define cas(p, old, new)                                                       \
	__atomic_compare_exchange_n((p), (old), (new), false,                  \
		__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/* ---- assertions ----------------------------------------------------------- */

/* Debug code always compiles; the constant removes it. */
#define DEBUG_ON(level) (USTR_DEBUG >= (level))
#define ASSERT_AT(level, x)                                                    \
	((void)(!DEBUG_ON(level) || (x) || (plat_panic(#x, __FILE__, __LINE__), 0)))
#define ASSERT(x) ASSERT_AT(1, x)
#define IMPLY(a, b) ASSERT(!(a) || (b))
#define EQUIV(a, b) ASSERT(!!(a) == !!(b))

/* A broken invariant of our own: never for a user's mistake. */
void plat_panic(const char *what, const char *file, int line)
	__attribute__((noreturn, cold));

/*
 * A random yield, in debug builds when USTREAMS_JITTER is set: planted between
 * the lines of the wake-up and flow-control protocols so that tests meet the
 * interleavings a quiet machine never shows.
 */
void plat_jitter_slow(void);
extern bool plat_jitter_on;
#define JITTER()                                                                \
	((void)(!DEBUG_ON(1) || (plat_crash_site(), !plat_jitter_on) ||         \
		(plat_jitter_slow(), 0)))

/*
 * In debug builds: the n-th point passed after plat_crash_at(n) kills the
 * process; after plat_crash_at(CRASH_NEW) the first at which none has died yet
 * of those that descend from the first caller.  Points stand after each lock is
 * taken, before and after it is dropped, and where JITTER() stands, so that
 * tests can have a process die at every place where something is half done.
 */
#define CRASH_NEW (-1)
void plat_crash_at(long n);
void plat_crash_point(void);
/* Write where processes have died: the return addresses, from plat_crash_point on. */
void plat_crash_report(int fd);
#define CRASH_POINT() ((void)(!DEBUG_ON(1) || (plat_crash_site(), 0)))

/* A point is known by where its call returns to: never by a jump (tests/crash_sites.sh). */
INLINE void
plat_crash_site(void)
{
	plat_crash_point();
	__asm__ volatile("");
}

/* ---- waiting ---------------------------------------------------------------- */

INLINE void
plat_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/*
 * Sleep while *word is val; deadline in ns of CLOCK_MONOTONIC, or -1.
 * 0, or EAGAIN (the word differs), EINTR, ETIMEDOUT.  The only cancellation
 * point of the library: everything else here avoids libc's.
 */
int plat_futex_wait(uint32_t *word, uint32_t val, int64_t deadline);
void plat_futex_wake(uint32_t *word, int n);
void plat_yield(void);
bool plat_nap(unsigned int us);	/* sleep, microseconds; false: a signal came */
int64_t plat_now(void);		/* CLOCK_MONOTONIC, ns */
int64_t plat_clockoffset(void);	/* what CLOCK_REALTIME is ahead of it now, ns */
void plat_spin(unsigned int ns); /* busy-wait, about this long */

/*
 * One step of waiting for another thread to leave a short section: spin, then
 * yield, then nap ever longer, 20 us to 1 ms.  Start with *step 0.  True between
 * spinning and yielding, and after each nap: time to look whether the other lives.
 */
bool plat_backoff(unsigned int *step);

/* ---- memory -------------------------------------------------------------------- */

/* A sealed-off memory file of length 0, close on exec: descriptor or -1. */
int plat_memfd(const char *name);
/* Map len bytes of fd shared at base (NULL: anywhere): address or NULL. */
void *plat_map(void *base, size_t len, int fd);
void plat_unmap(void *base, size_t len);
/* Commit [from, to) of the file: 0 or an errno; never a signal. */
int plat_grow(int fd, off_t from, off_t to);
void plat_dump(void *p, size_t len, bool yes);	/* include in core dumps? */
void plat_populate(void *p, size_t len);	/* fault in for writing */
/* An anonymous page that reads as zeros in a child of fork, where the kernel can; or NULL. */
void *plat_wipe_page(void);
size_t plat_ram(void);	/* min(RAM, cgroup limit), bytes */
bool plat_valgrind(void);

/* Identity of an open file, to notice that a number was reused. */
struct plat_file {
	dev_t pf_dev;
	ino_t pf_ino;
};
int plat_identify(int fd, struct plat_file *id);	/* 0 or errno */
bool plat_same(int fd, const struct plat_file *id);

/* ---- descriptors and processes ----------------------------------------------------- */

int plat_placeholder(void);		/* an O_PATH descriptor, or -1 */
int plat_borrow(pid_t pid, int fd);	/* the file that pid has open as fd, or -1 */
int plat_dupfd(int fd, int min);	/* F_DUPFD_CLOEXEC */
int plat_raise(int fd);			/* the same file at a high number, out of the way */
int plat_dup2(int fd, int to);		/* onto a number, close on exec */
void plat_close(int fd);
int plat_maxfd(void);			/* one more than the highest number allowed */
bool plat_isopen(int fd);
pid_t plat_pid(void);
pid_t plat_tid(void);
/* Take, or test for, this process's record lock on byte at of fd. */
int plat_lockrec(int fd, off_t at);
bool plat_reclocked(int fd, off_t at);
/*
 * Lock the byte by a new opening of the file: a descriptor, or -1.  It is locked until
 * the last copy of the descriptor is closed, those of children included.  Closing one
 * drops what plat_lockrec() locked.
 */
int plat_holdrec(int fd, off_t at);
int plat_pidfd(pid_t pid);	/* readable when the process is dead, or -1 */
char plat_procstate(pid_t tid);	/* 'R', 'S', 'T', ... or 0 */
void plat_sigpipe(void);	/* SIGPIPE for the calling thread */

/* ---- user memory ---------------------------------------------------------------------- */

/* USTREAMS_CHECK=1: every bad pointer of a program is EFAULT. */
extern bool plat_checked;

/* Where user memory ends: the kernel keeps the last page below 2^47 free. */
#define USER_END (((uintptr_t)1 << 47) - 4096)

/* Can this range be user memory at all?  Needs no system call. */
INLINE bool
plat_judge(const void *p, size_t n)
{
	uintptr_t a = (uintptr_t)p;

	return n == 0 || (a >= 4096 && a < USER_END && n <= USER_END - a);
}

/* Copy from or to user memory: 0 or EFAULT (checked mode: any bad pointer). */
int plat_copyin_checked(void *to, const void *from, size_t n);
int plat_copyout_checked(void *to, const void *from, size_t n);
/* A string of less than max bytes: 0, EFAULT, ENAMETOOLONG. */
int plat_copystr(char *to, const char *from, size_t max);
/* Checked mode: can every page of it be read? */
bool plat_readable(const void *p, size_t n);

INLINE int
plat_copyin(void *to, const void *from, size_t n)
{
	if (unlikely(plat_checked))
		return plat_copyin_checked(to, from, n);
	__builtin_memcpy(to, from, n);
	return 0;
}

INLINE int
plat_copyout(void *to, const void *from, size_t n)
{
	if (unlikely(plat_checked))
		return plat_copyout_checked(to, from, n);
	__builtin_memcpy(to, from, n);
	return 0;
}

#endif
