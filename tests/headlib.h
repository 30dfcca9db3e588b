/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * headlib.h: what the tests of the stream head share: assertions that show
 * errno, messages in one line, helper threads and children, and a few modules
 * that make a stream do what a test needs.
 */
#ifndef TESTS_HEADLIB_H
#define TESTS_HEADLIB_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stropts.h>
#include <sys/stream.h>
#include <ustreams.h>

/* ---- assertions --------------------------------------------------------- */

/* The name of an errno. */
const char *ename(int err);

/* The call returns want. */
#define GIVES(call, want)                                                        \
	do {                                                                     \
		errno = 0;                                                       \
		long r_ = (long)(call);                                          \
		int e_ = errno;                                                  \
		long w_ = (long)(want);                                          \
		ck_assert_msg(r_ == w_, "%s gives %ld (%s), not %ld", #call, r_, \
		    r_ == -1 ? ename(e_) : "no error", w_);                      \
	} while (0)

/* The call returns -1 with this errno. */
#define FAILS(call, err)                                                                 \
	do {                                                                             \
		errno = 0;                                                               \
		long r_ = (long)(call);                                                  \
		int e_ = errno;                                                          \
		ck_assert_msg(r_ == -1 && e_ == (err), "%s gives %ld (%s), not -1 (%s)", \
		    #call, r_, r_ == -1 ? ename(e_) : "no error", ename(err));           \
	} while (0)

/* In a child, which must not run Check's machinery: end it with status 1. */
#define NEED(cond)                                              \
	do {                                                    \
		errno = 0;                                      \
		if (!(cond))                                    \
			child_fails(__FILE__, __LINE__, #cond); \
	} while (0)
_Noreturn void child_fails(const char *file, int line, const char *what);

/* ---- running ------------------------------------------------------------ */

/* May this run use fork (not under TSan, not with heap=malloc)? */
bool can_fork(void);
/*
 * Under TSan a handler runs only when its thread leaves the kernel for good,
 * and a close that races with a call on the same number is an error.
 */
bool under_tsan(void);
/* ASan takes the frames that a cancellation leaves for live ones. */
bool under_asan(void);
/* Is user memory checked (USTREAMS_CHECK=1), so that any bad pointer is EFAULT? */
bool checked_mode(void);
/* A page that is not mapped, and one that is only read; zeroed. */
void bad_pages(char **unmapped, char **readonly);
/* A case of the suite with a time limit per test in seconds. */
TCase *group(Suite *s, const char *name, int seconds);
/* Run it; the exit status for main. */
int run_suite(Suite *s);

/* ---- time, threads, signals, children ----------------------------------- */

long now_ms(void);
void msleep(int ms);

/*
 * ms to wait for what must come.  A virtual machine may stand still for seconds and
 * a loaded one be ten times slower: what waits by steps counts steps, not time.
 */
enum { SOON = 30000 };

/* Waits for what other threads or processes make true. */
#define AWAIT(cond)                                                               \
	do {                                                                      \
		int left_ = SOON;                                                 \
		while (!(cond)) {                                                 \
			ck_assert_msg(left_-- > 0, "waited in vain for " #cond); \
			msleep(1);                                                \
		}                                                                 \
	} while (0)

/* The time in which the machine served a thread that wanted to tick: for upper bounds. */
struct fair {
	pthread_t f_thread;
	atomic_bool f_stop;
	long f_us;
};
void fair_start(struct fair *f);
long fair_ms(struct fair *f);

/* Wait until this thread of ours, or a child, sleeps in the kernel. */
void until_asleep(pid_t tid);

/* Run fn(arg) in another thread after ms milliseconds, and after a signal if there is a nag. */
struct later {
	pthread_t l_thread;
	int l_ms;
	void (*l_fn)(void *);
	void *l_arg;
};
void later(struct later *l, int ms, void (*fn)(void *), void *arg);
void later_join(struct later *l);

/* For later(): send a text, or close (text NULL); the result of the call. */
struct act {
	int a_fd;
	const char *a_text;
	long a_result;
};
void act(void *arg);

/* Signals caught since the last catch_signal(). */
extern atomic_int caught;
/* Count a signal; flags 0 or SA_RESTART. */
void catch_signal(int sig, int flags);
/* Send SIGUSR1 to the calling thread every 10 ms until it is stopped. */
struct nag {
	pthread_t n_thread;
	pthread_t n_target;
	atomic_bool n_stop;
};
void nag_start(struct nag *n);
void nag_stop(struct nag *n);

/* Fork; the child ends with _exit(fn(arg)). */
pid_t child(int (*fn)(void *), void *arg);
/* Wait for it: exit status, 128 + signal, or -1 after ms naps of 1 ms (it is then killed). */
int reap(pid_t pid, int ms);
/*
 * In a child that is not of the group that Check kills: die after ms.  What
 * Check's own handler of SIGALRM does is to kill the test.
 */
void lives(int ms);
/* One-shot signals between processes: open it, or wait for it. */
struct gate {
	int g_fd[2];
};
void gate_make(struct gate *g);
void gate_open(struct gate *g);
bool gate_wait(struct gate *g, int ms); /* in steps of 10 ms */
void gate_drop(struct gate *g);

/* ---- streams ------------------------------------------------------------ */

/* A pipe; both ends O_NONBLOCK, or both blocking. */
void make_pipe(int fd[2]);
void make_blocking_pipe(int fd[2]);
void close_pipe(int fd[2]);
/* A clone open of a driver, O_RDWR | O_NONBLOCK. */
int open_dev(const char *driver);
void nonblock(int fd, bool on);
/* Messages waiting at the head, and the data bytes of the first. */
int waiting(int fd);
int first_bytes(int fd);
/* Set both marks of a head in the order that is legal. */
void set_marks(int fd, int hiwat, int lowat);
/* Write single bytes until EAGAIN: how many went. */
int fill(int fd);
/* Read everything: how many bytes came. */
long drain(int fd);
/* What str_poll reports at once for these events. */
int polled(int fd, int events);
/* Set a stream's read options. */
void read_mode(int fd, int mode);

#define HIPRI (-1) /* instead of a band */

/* Send a control part and a data part, either NULL; the result of putpmsg. */
int put_msg(int fd, const char *ctl, const char *data, int pri);
/* Whatever is first is this message, and it is taken whole. */
#define TAKES(fd, ctl, data, pri) takes(fd, ctl, data, pri, __FILE__, __LINE__)
void takes(
    int fd, const char *ctl, const char *data, int pri, const char *file, int line);
/* Read up to n bytes: this text comes. */
#define READS(fd, n, text) reads(fd, n, text, __FILE__, __LINE__)
void reads(int fd, size_t n, const char *text, const char *file, int line);

/* ---- modules ------------------------------------------------------------ */

/*
 * tctl    turns what order() sends into a message of that type for the head
 *         above it, coming up or going down alike
 * tlim    takes packets of 10 to 100 bytes (put procedures only)
 * tcut    takes packets of 0 to 100 bytes (put procedures only)
 * thold   queues what is written and never passes it on
 * tfail   cannot be opened: EACCES
 * tcount  counts its opens and closes
 * tname8ch  has a name of 8 characters
 * tdrv    a driver that discards data and counts its opens and closes;
 *         minor 77 cannot be opened: EBUSY
 */
void test_modules(void);
/* Have tctl above the peer (or below fd) send a message of this type up. */
void order(int fd, int type, const void *payload, size_t n);
void order_error(int fd, int rerr, int werr);

struct counts {
	int c_open;  /* calls of the open routine */
	int c_close; /* calls of the close routine */
	int c_sflag; /* sflag of the last open */
};
extern struct counts tcount_counts, tdrv_counts;

#endif
