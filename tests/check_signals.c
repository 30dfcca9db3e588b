/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_signals.c: calls that sleep behave under signals as read(2) and
 * poll(2) do, may be left by siglongjmp or cancellation, and handlers may use
 * the library unless they interrupted it awake (DESIGN §6, streamio.md §12).
 */
#include "headlib.h"

#include <setjmp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* ---- calls that sleep ------------------------------------------------------ */

/* On p[0] of a pipe; p[0] is empty or full as the call needs it to sleep. */
enum call {
	READ,
	READV,
	GETMSG,
	GETPMSG,
	GETMBLK,
	WRITE,
	WRITEV,
	PUTMSG,
	PUTPMSG,
	PUTMBLK,
	NCALLS
};

static const char *const names[] = {"str_read", "str_readv", "getmsg", "getpmsg",
    "str_getmblk", "str_write", "str_writev", "putmsg", "putpmsg", "str_putmblk"};

static bool
is_write(enum call c)
{
	return c >= WRITE;
}

/* One byte either way: 1, or -1 with errno. */
static int
one_call(enum call which, int fd)
{
	char ch = 's', cc[8];
	struct iovec iov = {&ch, 1};
	struct strbuf d = {.maxlen = 1, .len = 1, .buf = &ch};
	struct strbuf c = {.maxlen = 8, .len = -1, .buf = cc};
	int band = 0, flags = 0, r, e;
	mblk_t *mp;

	switch (which) {
	case READ:
		return (int)str_read(fd, &ch, 1);
	case READV:
		return (int)str_readv(fd, &iov, 1);
	case GETMSG:
		return getmsg(fd, &c, &d, &flags) == -1 ? -1 : d.len;
	case GETPMSG:
		flags = MSG_ANY;
		return getpmsg(fd, &c, &d, &band, &flags) == -1 ? -1 : d.len;
	case GETMBLK:
		if (str_getmblk(fd, &mp) == -1)
			return -1;
		freemsg(mp);
		return 1;
	case WRITE:
		return (int)str_write(fd, &ch, 1);
	case WRITEV:
		return (int)str_writev(fd, &iov, 1);
	case PUTMSG:
		return putmsg(fd, NULL, &d, 0) == -1 ? -1 : 1;
	case PUTPMSG:
		return putpmsg(fd, NULL, &d, 0, MSG_BAND) == -1 ? -1 : 1;
	default:
		mp = str_mblkalloc(1);
		if (mp == NULL)
			return -2;
		*mp->b_wptr++ = 's';
		r = str_putmblk(fd, mp);
		e = errno;
		if (r == -1)
			freemsg(mp);
		errno = e;
		return r == -1 ? -1 : 1;
	}
}

/* A pipe on whose first end the call sleeps; small, so that it fills soon. */
static void
make_sleepy(enum call which, int p[2])
{
	make_pipe(p);
	set_marks(p[1], 100, 50);
	if (is_write(which))
		fill(p[0]);
	nonblock(p[0], false);
}

/* What lets the call go on. */
static void
satisfy(enum call which, int fd)
{
	if (is_write(which))
		drain(fd);
	else
		str_write(fd, "s", 1);
}

struct help {
	enum call h_which;
	int h_fd;
	pthread_t h_thread;
	pid_t h_tid;
	int h_signal; /* sent first, when the sleeper sleeps; 0: none */
	int h_ms;     /* between the two */
	bool h_satisfy;
	struct later h_later;
};

static void
help(void *arg)
{
	struct help *h = arg;

	until_asleep(h->h_tid);
	if (h->h_signal != 0)
		pthread_kill(h->h_thread, h->h_signal);
	msleep(h->h_ms);
	if (h->h_satisfy)
		satisfy(h->h_which, h->h_fd);
}

static void
start_help(struct help *h, enum call which, int fd, int sig, int ms, bool satisfied)
{
	*h = (struct help){.h_which = which,
	    .h_fd = fd,
	    .h_thread = pthread_self(),
	    .h_tid = (pid_t)syscall(SYS_gettid),
	    .h_signal = sig,
	    .h_ms = ms,
	    .h_satisfy = satisfied};
	later(&h->h_later, 1, help, h);
}

static void
works(const int p[2])
{
	drain(p[1]);
	nonblock(p[0], true);
	drain(p[0]);
	GIVES(str_write(p[0], "w", 1), 1);
	READS(p[1], 10, "w");
	GIVES(str_write(p[1], "r", 1), 1);
	READS(p[0], 10, "r");
}

/* ---- EINTR and SA_RESTART --------------------------------------------------- */

START_TEST(a_signal_ends_a_sleep_with_eintr)
{
	struct help h;
	int p[2];

	make_sleepy((enum call)_i, p);
	catch_signal(SIGUSR1, 0);
	start_help(&h, (enum call)_i, p[1], SIGUSR1, 0, false);
	errno = 0;
	ck_assert_msg(one_call((enum call)_i, p[0]) == -1 && errno == EINTR, "%s: %s",
	    names[_i], ename(errno));
	ck_assert_int_eq(caught, 1);
	later_join(&h.h_later);
	works(p);
	close_pipe(p);
}
END_TEST

START_TEST(sa_restart_takes_the_sleep_up_again)
{
	struct help h;
	int p[2];

	make_sleepy((enum call)_i, p);
	catch_signal(SIGUSR1, SA_RESTART);
	start_help(&h, (enum call)_i, p[1], SIGUSR1, 30, true);
	errno = 0;
	ck_assert_msg(
	    one_call((enum call)_i, p[0]) == 1, "%s: %s", names[_i], ename(errno));
	ck_assert_int_eq(caught, 1);
	later_join(&h.h_later);
	works(p);
	close_pipe(p);
}
END_TEST

START_TEST(an_ignored_signal_is_not_seen)
{
	struct help h;
	int p[2];

	make_sleepy((enum call)_i, p);
	signal(SIGUSR1, SIG_IGN);
	start_help(&h, (enum call)_i, p[1], SIGUSR1, 30, true);
	ck_assert_msg(
	    one_call((enum call)_i, p[0]) == 1, "%s: %s", names[_i], ename(errno));
	later_join(&h.h_later);
	close_pipe(p);
}
END_TEST

/* "poll is never restarted" (poll(2)).  Loop: flags 0, SA_RESTART. */
START_TEST(a_signal_ends_a_poll_always)
{
	int p[2];
	struct pollfd f[2];
	struct help h;

	make_pipe(p);
	f[0] = (struct pollfd){p[0], POLLIN, 0};
	f[1] = (struct pollfd){p[1], POLLIN, 0};
	catch_signal(SIGUSR1, _i ? SA_RESTART : 0);
	for (int ms = -1; ms < 2 * SOON; ms += SOON) {
		caught = 0;
		start_help(&h, READ, p[1], SIGUSR1, 0, false);
		FAILS(str_poll(f, 2, ms), EINTR);
		ck_assert_int_eq(caught, 1);
		later_join(&h.h_later);
	}
	close_pipe(p);
}
END_TEST

/* With a kernel descriptor among them the sleep is another one. */
START_TEST(a_signal_ends_a_mixed_poll_always)
{
	int p[2], kp[2];
	struct pollfd f[2];
	struct help h;

	make_pipe(p);
	ck_assert_int_eq(pipe(kp), 0);
	f[0] = (struct pollfd){p[0], POLLIN, 0};
	f[1] = (struct pollfd){kp[0], POLLIN, 0};
	catch_signal(SIGUSR1, _i ? SA_RESTART : 0);
	start_help(&h, READ, p[1], SIGUSR1, 0, false);
	FAILS(str_poll(f, 2, -1), EINTR);
	later_join(&h.h_later);
	close(kp[0]);
	close(kp[1]);
	close_pipe(p);
}
END_TEST

/* A write that has sent something says how much.  Loop: 0, SA_RESTART. */
START_TEST(a_signal_ends_a_write_that_has_sent_with_the_count)
{
	static char big[1 << 20];
	struct help h;
	ssize_t n;
	int p[2];

	make_pipe(p);
	nonblock(p[0], false);
	catch_signal(SIGUSR1, _i ? SA_RESTART : 0);
	start_help(&h, WRITE, p[1], SIGUSR1, 0, false);
	n = str_write(p[0], big, sizeof(big));
	ck_assert_msg(n > 0 && n < (ssize_t)sizeof(big), "%zd (%s)", n, ename(errno));
	later_join(&h.h_later);
	nonblock(p[0], true);
	ck_assert_int_eq(drain(p[1]), n);
	close_pipe(p);
}
END_TEST

/* RFILL: what was read so far is returned. */
START_TEST(a_signal_ends_a_filling_read_with_the_count)
{
	struct help h;
	char buf[10];
	int p[2];

	make_pipe(p);
	nonblock(p[0], false);
	read_mode(p[0], RNORM | RFILL);
	GIVES(str_write(p[1], "abc", 3), 3);
	catch_signal(SIGUSR1, _i ? SA_RESTART : 0);
	start_help(&h, READ, p[1], SIGUSR1, 0, false);
	GIVES(str_read(p[0], buf, 10), 3);
	later_join(&h.h_later);
	close_pipe(p);
}
END_TEST

struct stopped {
	int p[2];
	enum call which; /* NCALLS: str_poll */
	struct gate ready;
};

static int
sleep_once(void *arg)
{
	struct stopped *s = arg;
	struct pollfd f = {s->p[0], POLLIN, 0};
	int r;

	gate_open(&s->ready);
	r = s->which == NCALLS ? str_poll(&f, 1, SOON) : one_call(s->which, s->p[0]);
	NEED(r == 1);
	return 0;
}

/* SIGSTOP and SIGCONT without a handler are not seen by a sleeper. */
START_TEST(a_stop_is_not_seen)
{
	struct stopped s = {.which = (enum call)_i};
	enum call like = _i == NCALLS ? READ : (enum call)_i;
	pid_t pid;
	int status;

	if (!can_fork())
		return;
	make_sleepy(like, s.p);
	gate_make(&s.ready);
	pid = child(sleep_once, &s);
	ck_assert(gate_wait(&s.ready, SOON));
	msleep(30);
	for (int i = 0; i < 2; i++) {
		kill(pid, SIGSTOP);
		ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
		ck_assert(WIFSTOPPED(status));
		msleep(10);
		kill(pid, SIGCONT);
		msleep(10);
	}
	satisfy(like, s.p[1]);
	ck_assert_int_eq(reap(pid, SOON), 0);
	gate_drop(&s.ready);
	nonblock(s.p[0], true);
	close_pipe(s.p);
}
END_TEST

/* ---- leaving a sleep ---------------------------------------------------------- */

static sigjmp_buf out;

static void
jump(int sig)
{
	siglongjmp(out, sig);
}

/* Plumbing waits for everyone who is inside: nobody must seem to be. */
static void
plumbable(int fd)
{
	struct fair f;

	fair_start(&f);
	GIVES(str_ioctl(fd, I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(fd, I_POP, 0), 0);
	ck_assert_int_lt(fair_ms(&f), 2000);
}

static void
plumb_other(void *arg)
{
	plumbable(*(int *)arg);
}

START_TEST(a_sleep_may_be_left_by_siglongjmp)
{
	struct sigaction sa = {.sa_handler = jump};
	volatile int round;
	struct later l;
	struct help h;
	int p[2];

	if (under_tsan())
		return;
	make_sleepy((enum call)_i, p);
	sigemptyset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	for (round = 0; round < 4; round++) {
		start_help(&h, (enum call)_i, p[1], SIGUSR1, 0, false);
		if (sigsetjmp(out, 1) == 0) {
			one_call((enum call)_i, p[0]);
			ck_abort_msg("%s returns", names[_i]);
		}
		later_join(&h.h_later);
		later(&l, 0, plumb_other, &p[round % 2]);
		later_join(&l);
		plumbable(p[1 - round % 2]);
	}
	works(p);
	close_pipe(p);
}
END_TEST

START_TEST(a_poll_may_be_left_by_siglongjmp)
{
	struct sigaction sa = {.sa_handler = jump};
	volatile int round;
	struct pollfd f[2];
	struct later l;
	struct help h;
	int p[2];

	if (under_tsan())
		return;
	make_pipe(p);
	sigemptyset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	for (round = 0; round < 4; round++) {
		f[0] = (struct pollfd){p[0], POLLIN, 0};
		f[1] = (struct pollfd){p[1], POLLPRI, 0};
		start_help(&h, READ, p[1], SIGUSR1, 0, false);
		if (sigsetjmp(out, 1) == 0) {
			str_poll(f, 2, round % 2 ? -1 : SOON);
			ck_abort_msg("str_poll returns");
		}
		later_join(&h.h_later);
		later(&l, 0, plumb_other, &p[0]);
		later_join(&l);
	}
	works(p);
	close_pipe(p);
}
END_TEST

/* The stack below the sleep is gone: nothing of it may be linked anywhere. */
static int
smash(int depth)
{
	volatile char junk[512];

	memset((void *)(uintptr_t)junk, 0xa5, sizeof(junk));
	return depth == 0 ? junk[7] : smash(depth - 1) + junk[3];
}

START_TEST(nothing_of_a_sleep_that_was_left_is_on_the_stack)
{
	struct sigaction sa = {.sa_handler = jump};
	volatile int round;
	struct help h;
	int p[2];

	if (under_tsan())
		return;
	make_pipe(p);
	nonblock(p[0], false);
	sigemptyset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	for (round = 0; round < 3; round++) {
		start_help(&h, READ, p[1], SIGUSR1, 0, false);
		if (sigsetjmp(out, 1) == 0) {
			one_call(READ, p[0]);
			ck_abort_msg("str_read returns");
		}
		later_join(&h.h_later);
		ck_assert_int_ne(smash(40), 1);
		/* Wakes whoever seems to sleep. */
		GIVES(str_write(p[1], "x", 1), 1);
		READS(p[0], 10, "x");
	}
	close_pipe(p);
}
END_TEST

/* ---- handlers that call ------------------------------------------------------- */

static int hp[2], hq[2]; /* the sleeper sleeps on hp[0] */
static volatile int handler_failed;

/* The first line that fails is remembered. */
#define HNEED(cond)                                 \
	do {                                        \
		if (!(cond) && handler_failed == 0) \
			handler_failed = __LINE__;  \
	} while (0)

/* All kinds of calls, some of which sleep themselves. */
static void
use_library(int sig)
{
	struct pollfd f = {hq[0], POLLIN, 0};
	int saved = errno, p[2];
	char c;

	(void)sig;
	caught++;
	HNEED(str_poll(&f, 1, 5) == 0);
	HNEED(str_write(hq[1], "h", 1) == 1);
	HNEED(str_poll(&f, 1, SOON) == 1 && f.revents == POLLIN);
	HNEED(str_read(hq[0], &c, 1) == 1 && c == 'h');
	HNEED(str_pipe(p) == 0);
	HNEED(str_ioctl(p[0], I_PUSH, "nullmod") == 0);
	HNEED(str_write(p[0], "i", 1) == 1 && str_read(p[1], &c, 1) == 1);
	HNEED(str_close(p[0]) == 0 && str_close(p[1]) == 0);
	/* The stream under the sleep as well. */
	HNEED(str_ioctl(hp[0], I_PUSH, "nullmod") == 0);
	HNEED(str_ioctl(hp[0], I_POP, 0) == 0);
	errno = saved;
}

/* Loop: flags 0 (EINTR), SA_RESTART. */
START_TEST(a_handler_that_interrupts_a_sleep_may_call)
{
	struct sigaction sa = {
	    .sa_handler = use_library, .sa_flags = _i % 2 ? SA_RESTART : 0};
	enum call which = (enum call)(_i / 2);
	struct help h;
	int r, err;

	make_sleepy(which, hp);
	make_pipe(hq);
	handler_failed = 0;
	caught = 0;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	/* What ends with EINTR, however late, needs no message. */
	start_help(&h, which, hp[1], SIGUSR1, _i % 2 ? 60 : 0, _i % 2);
	errno = 0;
	r = one_call(which, hp[0]);
	err = errno;
	later_join(&h.h_later);
	ck_assert_int_eq(caught, 1);
	ck_assert_msg(
	    handler_failed == 0, "%s: handler, line %d", names[which], handler_failed);
	ck_assert_msg(_i % 2 ? r == 1 : r == -1 && err == EINTR, "%s gives %d (%s)",
	    names[which], r, ename(err));
	works(hp);
	close_pipe(hp);
	close_pipe(hq);
}
END_TEST

static void
satisfy_self(int sig)
{
	(void)sig;
	caught++;
	HNEED(str_write(hp[1], "self", 4) == 4);
}

/* The handler makes the very message that is waited for. */
START_TEST(a_handler_may_end_the_sleep_it_interrupts)
{
	struct sigaction sa = {.sa_handler = satisfy_self, .sa_flags = SA_RESTART};
	struct help h;

	if (under_tsan())
		return;
	make_sleepy(READ, hp);
	handler_failed = 0;
	caught = 0;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	start_help(&h, READ, hp[1], SIGUSR1, 0, false);
	READS(hp[0], 10, "self");
	later_join(&h.h_later);
	ck_assert_int_eq(handler_failed, 0);
	close_pipe(hp);
}
END_TEST

static atomic_int told; /* handlers that have ended, calls that have returned */
static int due;		/* so many of them come before the message */

static void
sleep_in_handler(int sig)
{
	int saved = errno;
	char c;

	(void)sig;
	caught++;
	HNEED(str_read(hq[0], &c, 1) == 1 && c == 'q');
	atomic_fetch_add(&told, 1);
	errno = saved;
}

static void
nap_in_handler(int sig)
{
	struct pollfd f = {hq[1], POLLIN, 0};
	int saved = errno;

	(void)sig;
	caught++;
	HNEED(str_poll(&f, 1, 20) == 0);
	atomic_fetch_add(&told, 1);
	errno = saved;
}

/* The message comes once the handler, or the call that it ended, is through. */
static void
feed_both(void *arg)
{
	struct help *h = arg;

	until_asleep(h->h_tid);
	pthread_kill(h->h_thread, SIGUSR1);
	msleep(50);
	str_write(hq[1], "q", 1);
	for (int i = 0; i < SOON && atomic_load(&told) < due; i++)
		msleep(1);
	until_asleep(h->h_tid);
	str_write(hp[1], "p", 1);
}

/* Loop: a read that another thread ends, a poll that times out; EINTR, restart. */
START_TEST(a_handler_that_interrupts_a_sleep_may_sleep)
{
	struct sigaction sa = {.sa_handler = _i / 2 ? nap_in_handler : sleep_in_handler,
	    .sa_flags = _i % 2 ? SA_RESTART : 0};
	struct help h = {.h_thread = pthread_self(), .h_tid = (pid_t)syscall(SYS_gettid)};
	char c;

	make_blocking_pipe(hp);
	make_blocking_pipe(hq);
	handler_failed = 0;
	caught = 0;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	atomic_store(&told, 0);
	due = _i % 2 ? 1 : 2;
	later(&h.h_later, 1, feed_both, &h);
	if (_i % 2 == 0) {
		FAILS(str_read(hp[0], &c, 1), EINTR);
		atomic_fetch_add(&told, 1);
	}
	READS(hp[0], 10, "p");
	later_join(&h.h_later);
	ck_assert_int_eq(caught, 1);
	ck_assert_int_eq(handler_failed, 0);
	close_pipe(hp);
	close_pipe(hq);
}
END_TEST

/* ---- handlers that interrupt the library awake --------------------------------- */

enum place { IN_PUT, IN_SRV, IN_OPEN, IN_CLOSE, PLACES };
static enum place place;
static bool armed;

static void
strike(enum place here)
{
	if (armed && here == place)
		raise(SIGUSR1);
}

static int
sig_put(queue_t *q, mblk_t *mp)
{
	strike(IN_PUT);
	if (place == IN_SRV && mp->b_datap->db_type < QPCTL && q == WR(q)) {
		if (!putq(q, mp))
			freemsg(mp);
	} else {
		putnext(q, mp);
	}
	return 0;
}

static int
sig_srv(queue_t *q)
{
	mblk_t *mp;

	strike(IN_SRV);
	while ((mp = getq(q)) != NULL)
		putnext(q, mp);
	return 0;
}

static int
sig_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	qprocson(q);
	strike(IN_OPEN);
	return 0;
}

static int
sig_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	strike(IN_CLOSE);
	qprocsoff(q);
	return 0;
}

static struct module_info sig_info = {4300, "sigmod", 0, INFPSZ, 1000, 100};
static struct qinit sig_init = {
    sig_put, sig_srv, sig_open, sig_close, NULL, &sig_info, NULL};
static struct streamtab sig_tab = {&sig_init, &sig_init, NULL, NULL};

#define DEADLK(call)                                           \
	do {                                                   \
		errno = 0;                                     \
		HNEED((long)(call) == -1 && errno == EDEADLK); \
	} while (0)

static void
must_fail(int sig)
{
	char c = 'x';
	struct iovec iov = {&c, 1};
	struct strbuf d = {.maxlen = 1, .len = 1, .buf = &c};
	struct pollfd f = {hq[0], POLLIN, 0};
	struct stat st;
	int saved = errno, flags = 0, band = 0, p[2] = {-1, -1};
	mblk_t *mp;

	(void)sig;
	caught++;
	DEADLK(str_write(hq[0], &c, 1));
	DEADLK(str_writev(hq[0], &iov, 1));
	DEADLK(str_read(hq[0], &c, 1));
	DEADLK(str_readv(hq[0], &iov, 1));
	DEADLK(putmsg(hq[0], NULL, &d, 0));
	DEADLK(putpmsg(hq[0], NULL, &d, 0, MSG_BAND));
	DEADLK(getmsg(hq[0], NULL, &d, &flags));
	flags = MSG_ANY;
	DEADLK(getpmsg(hq[0], NULL, &d, &band, &flags));
	DEADLK(str_getmblk(hq[0], &mp));
	DEADLK(str_ioctl(hq[0], I_PUSH, "nullmod"));
	DEADLK(str_ioctl(hq[0], I_NREAD, &flags));
	DEADLK(str_poll(&f, 1, 0));
	DEADLK(str_pipe(p));
	DEADLK(str_open("/dev/streams/clone/echo", O_RDWR));
	DEADLK(str_close(hq[0]));
	DEADLK(str_dup(hq[0]));
	DEADLK(str_dup2(hq[0], hq[1]));
	DEADLK(str_fcntl(hq[0], F_GETFL));
	DEADLK(str_fstat(hq[0], &st));
	DEADLK(ustr_service(0));
	errno = saved;
}

START_TEST(a_handler_that_interrupts_the_library_gets_edeadlk)
{
	struct sigaction sa = {.sa_handler = must_fail};
	int p[2];

	place = (enum place)_i;
	armed = false;
	handler_failed = 0;
	caught = 0;
	if (ustr_register_module("sigmod", &sig_tab, D_MP) == -1)
		ck_assert_int_eq(errno, EEXIST);
	make_pipe(p);
	make_pipe(hq);
	sigemptyset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	armed = place == IN_OPEN;
	GIVES(str_ioctl(p[0], I_PUSH, "sigmod"), 0);
	armed = place < IN_OPEN;
	GIVES(str_write(p[0], "through", 7), 7);
	READS(p[1], 10, "through");
	armed = place == IN_CLOSE;
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	armed = false;
	ck_assert_int_ge(caught, 1);
	ck_assert_msg(handler_failed == 0, "handler, line %d", handler_failed);
	works(hq);
	works(p);
	plumbable(hq[0]);
	plumbable(p[0]);
	close_pipe(p);
	close_pipe(hq);
}
END_TEST

/* A handler that strikes anywhere: each call works or gives EDEADLK. */
static void
anywhere(int sig)
{
	int saved = errno;
	char c = 'a';
	ssize_t r;

	(void)sig;
	caught++;
	r = str_write(hq[0], &c, 1);
	HNEED(r == 1 || (r == -1 && (errno == EDEADLK || errno == EAGAIN)));
	r = str_read(hq[1], &c, 1);
	HNEED(r == 1 || (r == -1 && (errno == EDEADLK || errno == EAGAIN)));
	errno = saved;
}

static void *
echo_back(void *arg)
{
	const int *p = arg;
	char buf[64];
	ssize_t n;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while ((n = str_read(p[1], buf, sizeof(buf))) > 0)
		if (str_write(p[1], buf, (size_t)n) != n)
			return (void *)1;
	return n == 0 ? NULL : (void *)1;
}

START_TEST(a_handler_that_strikes_anywhere_harms_nobody)
{
	struct sigaction sa = {.sa_handler = anywhere, .sa_flags = SA_RESTART};
	struct itimerval it = {{0, 700}, {0, 700}}, none = {{0, 0}, {0, 0}};
	long start = now_ms();
	pthread_t t;
	int p[2];
	void *bad;

	if (under_tsan())
		return;
	make_blocking_pipe(p);
	make_pipe(hq);
	handler_failed = 0;
	caught = 0;
	ck_assert_int_eq(pthread_create(&t, NULL, echo_back, p), 0);
	sigemptyset(&sa.sa_mask);
	sigaction(SIGALRM, &sa, NULL);
	alarm(0);
	setitimer(ITIMER_REAL, &it, NULL);
	for (int i = 0; now_ms() - start < 600 || (caught <= 20 && now_ms() - start < SOON); i++) {
		char buf[64];
		size_t n = 1 + (size_t)i % 60;

		memset(buf, i, n);
		if (str_write(p[0], buf, n) != (ssize_t)n)
			ck_abort_msg("str_write: %s", ename(errno));
		if (str_read(p[0], buf, n) != (ssize_t)n || buf[0] != (char)i)
			ck_abort_msg("str_read: %s", ename(errno));
	}
	setitimer(ITIMER_REAL, &none, NULL);
	signal(SIGALRM, SIG_DFL);
	ck_assert_int_gt(caught, 20);
	ck_assert_msg(handler_failed == 0, "handler, line %d", handler_failed);
	GIVES(str_close(p[0]), 0);
	pthread_join(t, &bad);
	ck_assert_ptr_null(bad);
	GIVES(str_close(p[1]), 0);
	works(hq);
	close_pipe(hq);
}
END_TEST

/* ---- cancellation ----------------------------------------------------------------- */

struct victim {
	pthread_t v_thread;
	atomic_int v_tid;
	enum call v_which; /* NCALLS: str_poll */
	int v_fd;
	bool v_cleaned;
	int v_result;
};

static void
clean(void *arg)
{
	struct victim *v = arg;

	v->v_cleaned = true;
}

static void *
victim_main(void *arg)
{
	struct victim *v = arg;
	struct pollfd f = {v->v_fd, POLLIN, 0};

	pthread_cleanup_push(clean, v);
	atomic_store(&v->v_tid, (int)syscall(SYS_gettid));
	if (v->v_which == NCALLS)
		v->v_result = str_poll(&f, 1, -1);
	else
		v->v_result = one_call(v->v_which, v->v_fd);
	pthread_cleanup_pop(0);
	return NULL;
}

static void
start_victim(struct victim *v, enum call which, int fd)
{
	*v = (struct victim){.v_which = which, .v_fd = fd};
	ck_assert_int_eq(pthread_create(&v->v_thread, NULL, victim_main, v), 0);
	while (atomic_load(&v->v_tid) == 0)
		msleep(1);
	until_asleep(atomic_load(&v->v_tid));
}

START_TEST(a_sleeper_may_be_cancelled)
{
	enum call like = _i == NCALLS ? READ : (enum call)_i;
	int p[2];

	make_sleepy(like, p);
	for (int i = 0; i < 5; i++) {
		struct victim v;
		void *r;

		start_victim(&v, (enum call)_i, p[0]);
		ck_assert_int_eq(pthread_cancel(v.v_thread), 0);
		pthread_join(v.v_thread, &r);
		ck_assert_ptr_eq(r, PTHREAD_CANCELED);
		ck_assert(v.v_cleaned);
		plumbable(p[i % 2]);
	}
	works(p);
	close_pipe(p);
}
END_TEST

/* The slot of a thread that was cancelled is used again. */
START_TEST(many_sleepers_may_be_cancelled)
{
	int p[2], n = under_tsan() ? 40 : 400;

	make_blocking_pipe(p);
	for (int i = 0; i < n; i++) {
		struct victim v = {.v_which = READ, .v_fd = p[0]};
		void *r;

		/* Wherever it is just now. */
		ck_assert_int_eq(pthread_create(&v.v_thread, NULL, victim_main, &v), 0);
		if (i % 4)
			while (atomic_load(&v.v_tid) == 0)
				sched_yield();
		pthread_cancel(v.v_thread);
		pthread_join(v.v_thread, &r);
		ck_assert_ptr_eq(r, PTHREAD_CANCELED);
	}
	plumbable(p[0]);
	GIVES(str_write(p[1], "x", 1), 1);
	READS(p[0], 1, "x");
	close_pipe(p);
}
END_TEST

static void *
write_on(void *arg)
{
	const int *p = arg;
	char buf[200] = {0};

	for (;;) {
		if (str_write(p[0], buf, sizeof(buf)) != sizeof(buf))
			return (void *)1;
		pthread_testcancel();
	}
}

START_TEST(a_running_writer_may_be_cancelled)
{
	int p[2];

	make_blocking_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	nonblock(p[1], true);
	for (int i = 0; i < 30; i++) {
		long end = now_ms() + 3 + i % 5;
		pthread_t t;
		void *r;

		ck_assert_int_eq(pthread_create(&t, NULL, write_on, p), 0);
		while (now_ms() < end)
			if (drain(p[1]) == 0)
				sched_yield();
		pthread_cancel(t);
		pthread_join(t, &r);
		ck_assert_ptr_eq(r, PTHREAD_CANCELED);
		ck_assert_int_eq(drain(p[1]) % 200, 0);
		plumbable(p[0]);
	}
	works(p);
	close_pipe(p);
}
END_TEST

/* "cancellation points only while they sleep" */
static void *
pending_main(void *arg)
{
	struct victim *v = arg;
	char c;

	pthread_cleanup_push(clean, v);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	atomic_store(&v->v_tid, 1);
	while (atomic_load(&v->v_tid) == 1)
		msleep(1);
	/* The request waits now; disabled, even a sleep goes on. */
	v->v_result += str_read(v->v_fd, &c, 1) == 1;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	/* There is something: it is taken. */
	v->v_result += str_read(v->v_fd, &c, 1) == 1;
	v->v_result += 10;
	str_read(v->v_fd, &c, 1);
	v->v_result += 100;
	pthread_cleanup_pop(0);
	return NULL;
}

START_TEST(cancellation_acts_only_in_a_sleep)
{
	struct victim v = {.v_cleaned = false};
	int p[2];
	void *r;

	make_blocking_pipe(p);
	v.v_fd = p[0];
	ck_assert_int_eq(pthread_create(&v.v_thread, NULL, pending_main, &v), 0);
	while (atomic_load(&v.v_tid) == 0)
		msleep(1);
	pthread_cancel(v.v_thread);
	atomic_store(&v.v_tid, 2);
	msleep(50);
	ck_assert_int_eq(v.v_result, 0);
	GIVES(str_write(p[1], "ab", 2), 2);
	pthread_join(v.v_thread, &r);
	ck_assert_ptr_eq(r, PTHREAD_CANCELED);
	ck_assert_int_eq(v.v_result, 12);
	ck_assert(v.v_cleaned);
	close_pipe(p);
}
END_TEST

static void
intr(Suite *s)
{
	TCase *tc = group(s, "interrupted calls", 120);

	tcase_add_loop_test(tc, a_signal_ends_a_sleep_with_eintr, 0, NCALLS);
	tcase_add_loop_test(tc, sa_restart_takes_the_sleep_up_again, 0, NCALLS);
	tcase_add_loop_test(tc, an_ignored_signal_is_not_seen, 0, NCALLS);
	tcase_add_loop_test(tc, a_signal_ends_a_poll_always, 0, 2);
	tcase_add_loop_test(tc, a_signal_ends_a_mixed_poll_always, 0, 2);
	tcase_add_loop_test(tc, a_signal_ends_a_write_that_has_sent_with_the_count, 0, 2);
	tcase_add_loop_test(tc, a_signal_ends_a_filling_read_with_the_count, 0, 2);
	tcase_add_loop_test(tc, a_stop_is_not_seen, 0, NCALLS + 1);
}

static void
jumps(Suite *s)
{
	TCase *tc = group(s, "jumps", 120);

	tcase_add_loop_test(tc, a_sleep_may_be_left_by_siglongjmp, 0, NCALLS);
	tcase_add_test(tc, a_poll_may_be_left_by_siglongjmp);
	tcase_add_test(tc, nothing_of_a_sleep_that_was_left_is_on_the_stack);
}

static void
handlers(Suite *s)
{
	TCase *tc = group(s, "handlers", 120);

	tcase_add_loop_test(
	    tc, a_handler_that_interrupts_a_sleep_may_call, 0, 2 * NCALLS);
	tcase_add_test(tc, a_handler_may_end_the_sleep_it_interrupts);
	tcase_add_loop_test(tc, a_handler_that_interrupts_a_sleep_may_sleep, 0, 4);
	tcase_add_loop_test(
	    tc, a_handler_that_interrupts_the_library_gets_edeadlk, 0, PLACES);
	tcase_add_test(tc, a_handler_that_strikes_anywhere_harms_nobody);
}

static void
cancel(Suite *s)
{
	TCase *tc = group(s, "cancellation", 120);

	tcase_add_loop_test(tc, a_sleeper_may_be_cancelled, 0, NCALLS + 1);
	tcase_add_test(tc, many_sleepers_may_be_cancelled);
	tcase_add_test(tc, a_running_writer_may_be_cancelled);
	tcase_add_test(tc, cancellation_acts_only_in_a_sleep);
}

int
main(void)
{
	Suite *s = suite_create("signals");

	intr(s);
	jumps(s);
	handlers(s);
	if (!under_asan())
		cancel(s);
	return run_suite(s);
}
