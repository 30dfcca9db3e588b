/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_sig.c: I_SETSIG and its relatives, SIGPOLL and SIGURG, M_SIG and
 * M_PCSIG (streamio.md §9 and §11, DESIGN §6).
 */
#include "headlib.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { MANY = 64 };

/* ---- what was caught ---------------------------------------------------------- */

static struct {
	volatile sig_atomic_t n;
	siginfo_t info[MANY];
	pthread_t thread;
} got;

static void
on_signal(int sig, siginfo_t *si, void *context)
{
	(void)context;
	if (got.n < MANY)
		got.info[got.n] = *si;
	got.info[got.n < MANY ? got.n : MANY - 1].si_signo = sig;
	got.thread = pthread_self();
	got.n++;
}

/* Count SIGPOLL and SIGURG from now on. */
static void
listen_for(int sig, int flags)
{
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

	got.n = 0;
	sigemptyset(&sa.sa_mask);
	sigaction(sig, &sa, NULL);
}

/* One signal came since the last time: this one. */
#define CAME(sig, code, band) came(sig, code, band, __FILE__, __LINE__)
static void
came(int sig, int code, int band, const char *file, int line)
{
	const siginfo_t *si = &got.info[0];

	ck_assert_msg(got.n == 1, "%s:%d: %d signals", file, line, (int)got.n);
	ck_assert_msg(si->si_signo == sig, "%s:%d: signal %d, not %d", file, line,
	    si->si_signo, sig);
	if (sig == SIGPOLL) {
		ck_assert_msg(si->si_code == code, "%s:%d: si_code %d, not %d", file, line,
		    si->si_code, code);
		ck_assert_msg(si->si_band == band, "%s:%d: si_band %ld, not %d", file, line,
		    si->si_band, band);
	}
	got.n = 0;
}

#define NOTHING()                                             \
	ck_assert_msg(got.n == 0, "%d signals, code %d", (int)got.n, \
	    got.info[0].si_code)

static bool
await(volatile sig_atomic_t *what, int least)
{
	long until = now_ms() + SOON;

	while (*what < least && now_ms() < until)
		msleep(1);
	return *what >= least;
}

/* A pipe whose first end is registered. */
static void
registered_pipe(int p[2], int events)
{
	make_pipe(p);
	listen_for(SIGPOLL, 0);
	listen_for(SIGURG, 0);
	GIVES(str_ioctl(p[0], I_SETSIG, events), 0);
}

/* ---- registering ----------------------------------------------------------------- */

enum {
	EVENTS = S_INPUT | S_HIPRI | S_OUTPUT | S_MSG | S_ERROR | S_HANGUP | S_RDNORM |
	    S_RDBAND | S_WRBAND | S_BANDURG
};

START_TEST(what_was_registered_is_told)
{
	int p[2], mask = 0;

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_SETSIG, S_INPUT | S_HANGUP), 0);
	GIVES(str_ioctl(p[0], I_GETSIG, &mask), 0);
	ck_assert_int_eq(mask, S_INPUT | S_HANGUP);
	GIVES(str_ioctl(p[0], I_SETSIG, EVENTS), 0);
	GIVES(str_ioctl(p[0], I_GETSIG, &mask), 0);
	ck_assert_int_eq(mask, EVENTS);
	/* per stream */
	FAILS(str_ioctl(p[1], I_GETSIG, &mask), EINVAL);
	close_pipe(p);
}
END_TEST

START_TEST(zero_ends_a_registration_and_only_one)
{
	int p[2], mask;

	make_pipe(p);
	FAILS(str_ioctl(p[0], I_SETSIG, 0), EINVAL);
	FAILS(str_ioctl(p[0], I_GETSIG, &mask), EINVAL);
	GIVES(str_ioctl(p[0], I_SETSIG, S_MSG), 0);
	GIVES(str_ioctl(p[0], I_SETSIG, 0), 0);
	FAILS(str_ioctl(p[0], I_SETSIG, 0), EINVAL);
	FAILS(str_ioctl(p[0], I_GETSIG, &mask), EINVAL);
	close_pipe(p);
}
END_TEST

START_TEST(unknown_events_are_refused)
{
	struct strsigset ss = {0, 0x400};
	int p[2], mask;

	make_pipe(p);
	FAILS(str_ioctl(p[0], I_SETSIG, 0x400), EINVAL);
	FAILS(str_ioctl(p[0], I_SETSIG, S_INPUT | 0x10000), EINVAL);
	FAILS(str_ioctl(p[0], I_SETSIG, -1), EINVAL);
	FAILS(str_ioctl(p[0], I_SETSIG, S_BANDURG), EINVAL);
	FAILS(str_ioctl(p[0], I_SETSIG, S_BANDURG | S_INPUT), EINVAL);
	FAILS(str_ioctl(p[0], I_ESETSIG, &ss), EINVAL);
	FAILS(str_ioctl(p[0], I_GETSIG, &mask), EINVAL);
	GIVES(str_ioctl(p[0], I_SETSIG, S_BANDURG | S_RDBAND), 0);
	close_pipe(p);
}
END_TEST

START_TEST(bad_pointers_and_descriptors)
{
	char *none, *ro;
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_SETSIG, S_INPUT), 0);
	FAILS(str_ioctl(p[0], I_GETSIG, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_GETSIG, (void *)-1), EFAULT);
	FAILS(str_ioctl(p[0], I_ESETSIG, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_EGETSIG, (void *)-1), EFAULT);
	if (checked_mode()) {
		bad_pages(&none, &ro);
		FAILS(str_ioctl(p[0], I_GETSIG, none), EFAULT);
		FAILS(str_ioctl(p[0], I_GETSIG, ro), EFAULT);
		FAILS(str_ioctl(p[0], I_ESETSIG, none), EFAULT);
		FAILS(str_ioctl(p[0], I_EGETSIG, ro), EFAULT);
	}
	GIVES(str_close(p[1]), 0);
	FAILS(str_ioctl(p[1], I_SETSIG, S_INPUT), EBADF);
	FAILS(str_ioctl(0, I_SETSIG, S_INPUT), ENOTTY);
	/* "I_SETSIG ... ok" on a hung-up stream */
	GIVES(str_ioctl(p[0], I_SETSIG, S_INPUT | S_MSG), 0);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(a_stream_in_error_can_be_registered_for)
{
	int p[2], mask;

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	order_error(p[0], EIO, EIO);
	GIVES(str_ioctl(p[0], I_SETSIG, S_ERROR), 0);
	GIVES(str_ioctl(p[0], I_GETSIG, &mask), 0);
	close_pipe(p);
}
END_TEST

/* POSIX close(): "the calling process shall be unregistered" */
START_TEST(closing_a_descriptor_ends_the_registration)
{
	int p[2], d, mask;

	registered_pipe(p, S_INPUT);
	d = str_dup(p[0]);
	GIVES(str_ioctl(p[0], I_GETSIG, &mask), 0);
	GIVES(str_close(d), 0);
	FAILS(str_ioctl(p[0], I_GETSIG, &mask), EINVAL);
	GIVES(str_write(p[1], "x", 1), 1);
	NOTHING();
	close_pipe(p);
}
END_TEST

START_TEST(dup2_over_a_descriptor_ends_the_registration)
{
	int p[2], q[2];

	registered_pipe(p, S_INPUT);
	make_pipe(q);
	GIVES(str_dup2(q[0], p[0]), p[0]);
	GIVES(str_write(p[1], "x", 1), -1);
	NOTHING();
	close_pipe(q);
	close_pipe(p);
}
END_TEST

/* ---- ss_pid ---------------------------------------------------------------------- */

START_TEST(i_esetsig_of_oneself_is_i_setsig)
{
	struct strsigset ss = {0, S_INPUT};
	int p[2], mask;

	make_pipe(p);
	FAILS(str_ioctl(p[0], I_EGETSIG, &ss), EINVAL);
	GIVES(str_ioctl(p[0], I_ESETSIG, &ss), 0);
	GIVES(str_ioctl(p[0], I_GETSIG, &mask), 0);
	ck_assert_int_eq(mask, S_INPUT);
	ss = (struct strsigset){getpid(), S_MSG};
	GIVES(str_ioctl(p[0], I_ESETSIG, &ss), 0);
	ss = (struct strsigset){0, 0};
	GIVES(str_ioctl(p[0], I_EGETSIG, &ss), 0);
	ck_assert_int_eq(ss.ss_events, S_MSG);
	ck_assert_int_eq(ss.ss_pid, getpid());
	ss = (struct strsigset){getpid(), 0};
	GIVES(str_ioctl(p[0], I_ESETSIG, &ss), 0);
	FAILS(str_ioctl(p[0], I_ESETSIG, &ss), EINVAL);
	FAILS(str_ioctl(p[0], I_GETSIG, &mask), EINVAL);
	close_pipe(p);
}
END_TEST

START_TEST(a_process_group_is_told)
{
	struct strsigset ss = {-getpgrp(), S_INPUT};
	int p[2], mask;

	make_pipe(p);
	listen_for(SIGPOLL, 0);
	GIVES(str_ioctl(p[0], I_ESETSIG, &ss), 0);
	FAILS(str_ioctl(p[0], I_GETSIG, &mask), EINVAL);
	ss.ss_events = 0;
	GIVES(str_ioctl(p[0], I_EGETSIG, &ss), 0);
	ck_assert_int_eq(ss.ss_events, S_INPUT);
	ck_assert_int_eq(ss.ss_pid, -getpgrp());
	GIVES(str_write(p[1], "x", 1), 1);
	CAME(SIGPOLL, POLL_IN, 0);
	ss.ss_events = 0;
	GIVES(str_ioctl(p[0], I_ESETSIG, &ss), 0);
	GIVES(str_write(p[1], "x", 1), 1);
	NOTHING();
	close_pipe(p);
}
END_TEST

START_TEST(who_takes_no_part_cannot_be_registered)
{
	struct strsigset ss = {1, S_INPUT};
	int p[2];

	make_pipe(p);
	FAILS(str_ioctl(p[0], I_ESETSIG, &ss), ESRCH);
	FAILS(str_ioctl(p[0], I_EGETSIG, &ss), ESRCH);
	ss.ss_pid = 0x3fffffff;
	FAILS(str_ioctl(p[0], I_ESETSIG, &ss), ESRCH);
	ss.ss_pid = -0x3fffffff;
	FAILS(str_ioctl(p[0], I_ESETSIG, &ss), ESRCH);
	ss.ss_pid = (pid_t)0x80000000;
	FAILS(str_ioctl(p[0], I_ESETSIG, &ss), ESRCH);
	close_pipe(p);
}
END_TEST

/* ---- events ---------------------------------------------------------------------- */

/* Each event registered for alone, and with all others but its own. */
static const struct {
	int event;
	int code;
	int band;
} kinds[] = {
    {S_INPUT, POLL_IN, 0},
    {S_RDNORM, POLL_IN, 0},
    {S_RDBAND, POLL_IN, 7},
    {S_HIPRI, POLL_PRI, 0},
    {S_OUTPUT, POLL_OUT, 0},
    {S_WRBAND, POLL_OUT, 5},
    {S_MSG, POLL_MSG, 0},
    {S_ERROR, POLL_ERR, 0},
    {S_HANGUP, POLL_HUP, 0},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Make it happen at p[0], which has tctl. */
static void
cause(int p[2], int event)
{
	unsigned char sig = SIGPOLL;

	switch (event) {
	case S_INPUT:
	case S_RDNORM:
		GIVES(put_msg(p[1], NULL, "x", 0), 0);
		break;
	case S_RDBAND:
		GIVES(put_msg(p[1], NULL, "x", 7), 0);
		break;
	case S_HIPRI:
		GIVES(put_msg(p[1], "hi", NULL, HIPRI), 0);
		break;
	case S_OUTPUT:
		set_marks(p[1], 10, 2);
		fill(p[0]);
		NOTHING();
		drain(p[1]);
		break;
	case S_WRBAND:
		set_marks(p[1], 10, 2);
		while (put_msg(p[0], NULL, "x", 5) == 0)
			;
		NOTHING();
		while (polled(p[1], POLLRDBAND))
			TAKES(p[1], NULL, "x", 5);
		break;
	case S_MSG:
		order(p[0], M_PCSIG, &sig, 1);
		break;
	case S_ERROR:
		order_error(p[0], EPROTO, EPROTO);
		break;
	case S_HANGUP:
		GIVES(str_close(p[1]), 0);
		break;
	}
}

START_TEST(each_event_raises_its_signal_before_the_call_returns)
{
	int p[2], event = kinds[_i].event;

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	listen_for(SIGPOLL, 0);
	GIVES(str_ioctl(p[0], I_SETSIG, event), 0);
	cause(p, event);
	ck_assert_int_eq(got.info[0].si_errno, event == S_ERROR ? EPROTO : 0);
	ck_assert_int_eq(got.info[0].si_fd, p[0]);
	CAME(SIGPOLL, kinds[_i].code, kinds[_i].band);
	str_close(p[0]);
	str_close(p[1]);
}
END_TEST

START_TEST(no_other_event_raises_it)
{
	int p[2], event = kinds[_i].event, others = EVENTS & ~event & ~S_BANDURG;

	if (event == S_INPUT || event == S_RDNORM)
		others &= ~(S_INPUT | S_RDNORM);
	if (event == S_RDBAND)
		others &= ~S_INPUT;
	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	listen_for(SIGPOLL, 0);
	GIVES(str_ioctl(p[0], I_SETSIG, others), 0);
	cause(p, event);
	NOTHING();
	str_close(p[0]);
	str_close(p[1]);
}
END_TEST

START_TEST(s_input_is_any_band_but_not_high_priority)
{
	int p[2];

	registered_pipe(p, S_INPUT);
	GIVES(put_msg(p[1], NULL, "x", 9), 0);
	CAME(SIGPOLL, POLL_IN, 9);
	GIVES(put_msg(p[1], "c", NULL, 0), 0);
	CAME(SIGPOLL, POLL_IN, 0);
	GIVES(put_msg(p[1], "c", NULL, HIPRI), 0);
	NOTHING();
	close_pipe(p);
}
END_TEST

START_TEST(an_empty_message_is_input)
{
	int p[2];

	registered_pipe(p, S_RDNORM);
	GIVES(str_ioctl(p[1], I_SWROPT, SNDZERO), 0);
	GIVES(str_write(p[1], "", 0), 0);
	CAME(SIGPOLL, POLL_IN, 0);
	close_pipe(p);
}
END_TEST

START_TEST(every_message_is_an_event)
{
	int p[2];

	registered_pipe(p, S_INPUT);
	for (int i = 0; i < 3; i++) {
		GIVES(str_write(p[1], "x", 1), 1);
		CAME(SIGPOLL, POLL_IN, 0);
	}
	close_pipe(p);
}
END_TEST

START_TEST(sigurg_stands_for_an_urgent_band)
{
	int p[2];

	registered_pipe(p, S_RDBAND | S_BANDURG | S_INPUT);
	GIVES(put_msg(p[1], NULL, "x", 1), 0);
	CAME(SIGURG, 0, 0);
	GIVES(put_msg(p[1], NULL, "x", 0), 0);
	CAME(SIGPOLL, POLL_IN, 0);
	GIVES(str_ioctl(p[0], I_SETSIG, S_RDBAND), 0);
	GIVES(put_msg(p[1], NULL, "x", 1), 0);
	CAME(SIGPOLL, POLL_IN, 1);
	close_pipe(p);
}
END_TEST

START_TEST(the_ends_of_a_pipe_are_registered_apart)
{
	int p[2];

	registered_pipe(p, S_INPUT);
	GIVES(str_write(p[0], "x", 1), 1);
	NOTHING();
	GIVES(str_ioctl(p[1], I_SETSIG, S_INPUT), 0);
	GIVES(str_write(p[0], "x", 1), 1);
	ck_assert_int_eq(got.info[0].si_fd, p[1]);
	CAME(SIGPOLL, POLL_IN, 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_driver_that_echoes_raises_it_in_the_same_call)
{
	int fd = open_dev("echo");

	listen_for(SIGPOLL, 0);
	GIVES(str_ioctl(fd, I_SETSIG, S_INPUT), 0);
	GIVES(str_write(fd, "x", 1), 1);
	CAME(SIGPOLL, POLL_IN, 0);
	GIVES(str_close(fd), 0);
}
END_TEST

/* ---- writing ------------------------------------------------------------------------ */

/* "Write events fire only for a band in which someone was refused." */
START_TEST(a_drain_that_nobody_waited_for_is_no_event)
{
	int p[2];

	registered_pipe(p, S_OUTPUT | S_WRBAND);
	set_marks(p[1], 10, 2);
	for (int i = 0; i < 10; i++)
		GIVES(str_write(p[0], "x", 1), 1);
	drain(p[1]);
	NOTHING();
	close_pipe(p);
}
END_TEST

/* Who is refused: a write, I_CANPUT, a poll. */
START_TEST(a_refusal_of_any_kind_owes_an_event)
{
	int p[2];

	registered_pipe(p, S_OUTPUT);
	set_marks(p[1], 10, 2);
	for (int i = 0; i < 10; i++)
		GIVES(str_write(p[0], "x", 1), 1);
	switch (_i) {
	case 0:
		FAILS(str_write(p[0], "x", 1), EAGAIN);
		break;
	case 1:
		FAILS(put_msg(p[0], "c", "x", 0), EAGAIN);
		break;
	case 2:
		GIVES(str_ioctl(p[0], I_CANPUT, 0), 0);
		break;
	case 3:
		ck_assert_int_eq(polled(p[0], POLLOUT), 0);
		break;
	}
	NOTHING();
	drain(p[1]);
	CAME(SIGPOLL, POLL_OUT, 0);
	/* once */
	GIVES(str_write(p[0], "x", 1), 1);
	drain(p[1]);
	NOTHING();
	close_pipe(p);
}
END_TEST

START_TEST(a_refusal_before_the_registration_counts)
{
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 2);
	fill(p[0]);
	listen_for(SIGPOLL, 0);
	GIVES(str_ioctl(p[0], I_SETSIG, S_OUTPUT), 0);
	drain(p[1]);
	CAME(SIGPOLL, POLL_OUT, 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_band_that_drains_is_an_event_of_that_band)
{
	int p[2];

	registered_pipe(p, S_OUTPUT | S_WRBAND);
	set_marks(p[1], 10, 2);
	while (put_msg(p[0], NULL, "x", 3) == 0)
		;
	while (put_msg(p[0], NULL, "x", 200) == 0)
		;
	NOTHING();
	while (polled(p[1], POLLIN)) {
		struct strbuf d = {.maxlen = 10, .buf = (char[10]){0}};
		int band = 0, flags = MSG_ANY;

		GIVES(getpmsg(p[1], NULL, &d, &band, &flags), 0);
	}
	ck_assert_int_eq(got.n, 2);
	ck_assert_int_eq(got.info[0].si_band, 200);
	ck_assert_int_eq(got.info[1].si_band, 3);
	ck_assert_int_eq(got.info[1].si_code, POLL_OUT);
	close_pipe(p);
}
END_TEST

/* ---- M_SIG and M_PCSIG ----------------------------------------------------------------- */

static void
order_signal(int fd, int type, int signo)
{
	unsigned char byte = (unsigned char)signo;

	order(fd, type, &byte, 1);
}

START_TEST(m_pcsig_acts_at_once_and_m_sig_on_an_empty_queue)
{
	int p[2];

	test_modules();
	registered_pipe(p, S_MSG);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	order_signal(p[0], M_SIG, SIGPOLL);
	CAME(SIGPOLL, POLL_MSG, 0);
	GIVES(str_write(p[1], "x", 1), 1);
	order_signal(p[0], M_PCSIG, SIGPOLL);
	CAME(SIGPOLL, POLL_MSG, 0);
	ck_assert_int_eq(waiting(p[0]), 1);
	close_pipe(p);
}
END_TEST

/* How the message in front goes. */
START_TEST(m_sig_acts_when_it_reaches_the_front)
{
	char c;
	mblk_t *mp;
	int p[2];

	test_modules();
	registered_pipe(p, S_MSG);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	GIVES(put_msg(p[1], NULL, "12", 4), 0);
	GIVES(put_msg(p[1], NULL, "12", 0), 0);
	order_signal(p[0], M_SIG, SIGPOLL);
	order_signal(p[0], M_SIG, SIGPOLL);
	GIVES(put_msg(p[1], NULL, "3", 0), 0);
	READS(p[0], 2, "12");
	NOTHING();
	GIVES(str_read(p[0], &c, 1), 1);
	NOTHING();
	switch (_i) {
	case 0:
		GIVES(str_read(p[0], &c, 1), 1);
		break;
	case 1:
		TAKES(p[0], NULL, "2", 0);
		break;
	case 2:
		GIVES(str_getmblk(p[0], &mp), 0);
		freemsg(mp);
		break;
	case 3:
		READS(p[0], 10, "23"); /* across it, without a trace */
		CAME(SIGPOLL, POLL_MSG, 0);
		ck_assert_int_eq(waiting(p[0]), 0);
		close_pipe(p);
		return;
	}
	/* the two were one signal: equal ones coalesce */
	CAME(SIGPOLL, POLL_MSG, 0);
	TAKES(p[0], NULL, "3", 0);
	NOTHING();
	ck_assert_int_eq(polled(p[0], POLLIN), 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_flush_takes_m_sig_along)
{
	int p[2];

	test_modules();
	registered_pipe(p, S_MSG);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	GIVES(str_write(p[1], "x", 1), 1);
	order_signal(p[0], M_SIG, SIGPOLL);
	GIVES(str_ioctl(p[1], I_FLUSH, FLUSHR), 0);
	NOTHING();
	GIVES(str_write(p[1], "x", 1), 1);
	READS(p[0], 5, "x");
	NOTHING();
	ck_assert_int_eq(polled(p[0], POLLIN), 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_flush_of_what_is_before_it_lets_m_sig_act)
{
	struct bandinfo bi = {3, FLUSHR};
	int p[2];

	test_modules();
	registered_pipe(p, S_MSG);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	GIVES(put_msg(p[1], NULL, "x", 3), 0);
	order_signal(p[0], M_SIG, SIGPOLL);
	NOTHING();
	GIVES(str_ioctl(p[1], I_FLUSHBAND, &bi), 0); /* without pipemod the far end flushes us */
	CAME(SIGPOLL, POLL_MSG, 0);
	ck_assert_int_eq(polled(p[0], POLLIN), 0);
	close_pipe(p);
}
END_TEST

START_TEST(other_signals_go_to_who_registered_for_s_msg)
{
	int p[2];

	test_modules();
	registered_pipe(p, S_MSG);
	catch_signal(SIGUSR2, 0);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	order_signal(p[0], M_PCSIG, SIGUSR2);
	ck_assert_int_eq(caught, 1);
	order_signal(p[0], M_SIG, SIGUSR2);
	ck_assert_int_eq(caught, 2);
	GIVES(str_ioctl(p[0], I_SETSIG, S_INPUT), 0);
	order_signal(p[0], M_PCSIG, SIGUSR2);
	ck_assert_int_eq(caught, 2);
	NOTHING();
	close_pipe(p);
}
END_TEST

START_TEST(a_message_that_names_no_signal_is_freed)
{
	int p[2];

	test_modules();
	registered_pipe(p, S_MSG);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	GIVES(str_write(p[1], "x", 1), 1);
	order_signal(p[0], M_PCSIG, 0);
	order_signal(p[0], M_SIG, 0);
	order_signal(p[0], M_SIG, 255);
	order(p[0], M_PCSIG, NULL, 0);
	order(p[0], M_SIG, NULL, 0);
	NOTHING();
	ck_assert_int_eq(waiting(p[0]), 1);
	close_pipe(p);
}
END_TEST

/* ---- delivery --------------------------------------------------------------------------- */

static volatile int handler_fd = -1;
static volatile sig_atomic_t handler_read;

static void
read_all(int sig)
{
	char buf[10];
	int e = errno;

	(void)sig;
	handler_read += (sig_atomic_t)str_read(handler_fd, buf, sizeof(buf));
	errno = e;
}

/* "queued by the target process to itself while outside the library" */
START_TEST(the_handler_may_use_the_library)
{
	struct sigaction sa = {.sa_handler = read_all};
	int p[2];

	make_pipe(p);
	handler_fd = p[0];
	handler_read = 0;
	sigaction(SIGPOLL, &sa, NULL);
	GIVES(str_ioctl(p[0], I_SETSIG, S_INPUT), 0);
	GIVES(str_write(p[1], "abc", 3), 3);
	ck_assert_int_eq(handler_read, 3);
	ck_assert_int_eq(waiting(p[0]), 0);
	close_pipe(p);
}
END_TEST

static void *
write_from_thread(void *arg)
{
	int fd = *(int *)arg;
	sig_atomic_t before = got.n;

	ck_assert_int_eq(str_write(fd, "x", 1), 1);
	ck_assert_int_eq(got.n, before + 1);
	ck_assert(pthread_equal(got.thread, pthread_self()));
	return NULL;
}

START_TEST(the_thread_that_causes_an_event_handles_it)
{
	pthread_t t;
	int p[2];

	registered_pipe(p, S_INPUT);
	pthread_create(&t, NULL, write_from_thread, &p[1]);
	pthread_join(t, NULL);
	CAME(SIGPOLL, POLL_IN, 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_blocked_signal_stays_pending)
{
	sigset_t set, old;
	siginfo_t si;
	int p[2];

	registered_pipe(p, S_INPUT);
	sigemptyset(&set);
	sigaddset(&set, SIGPOLL);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	GIVES(put_msg(p[1], NULL, "x", 2), 0);
	NOTHING();
	GIVES(sigwaitinfo(&set, &si), SIGPOLL);
	ck_assert_int_eq(si.si_code, POLL_IN);
	ck_assert_int_eq(si.si_band, 2);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	close_pipe(p);
}
END_TEST

/* A write that causes an event and then sleeps: the handler makes room. */
START_TEST(an_event_is_raised_before_the_call_sleeps)
{
	struct sigaction sa = {.sa_handler = read_all, .sa_flags = _i ? SA_RESTART : 0};
	static char big[20 * 65536];
	int p[2];

	make_blocking_pipe(p);
	nonblock(p[0], true);
	handler_fd = p[0];
	handler_read = 0;
	sigaction(SIGPOLL, &sa, NULL);
	GIVES(str_ioctl(p[0], I_SRDOPT, RMSGD), 0);
	GIVES(str_ioctl(p[0], I_SETSIG, S_INPUT), 0);
	ck_assert_int_gt(str_write(p[1], big, sizeof(big)), 0);
	ck_assert_int_gt(handler_read, 0);
	close_pipe(p);
}
END_TEST

START_TEST(the_default_action_ends_the_process)
{
	pid_t pid = fork();
	int status, p[2];

	if (pid == 0) {
		NEED(str_pipe(p) == 0);
		NEED(str_ioctl(p[0], I_SETSIG, S_INPUT) == 0);
		(void)str_write(p[1], "x", 1);
		_exit(7);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGPOLL);
}
END_TEST

/* ---- between processes -------------------------------------------------------------------- */

static int
write_x(void *arg)
{
	return str_write(*(int *)arg, "x", 1) == 1 ? 0 : 1;
}

START_TEST(another_process_causes_the_event)
{
	int p[2];

	registered_pipe(p, S_INPUT);
	ck_assert_int_eq(reap(child(write_x, &p[1]), SOON), 0);
	ck_assert(await(&got.n, 1));
	ck_assert_int_eq(got.info[0].si_fd, p[0]);
	CAME(SIGPOLL, POLL_IN, 0);
	close_pipe(p);
}
END_TEST

/* One at a time, so that each has a signal of its own to be read by. */
static int
write_some(void *arg)
{
	for (int i = 0; i < MANY; i++) {
		if (str_write(*(int *)arg, "x", 1) != 1)
			return 1;
		if (i % 4 == 0)
			msleep(1);
	}
	return 0;
}

static void
read_what_is_there(int sig)
{
	int e = errno;
	char c;

	(void)sig;
	while (str_read(handler_fd, &c, 1) == 1)
		handler_read++;
	errno = e;
}

/* The thread is in some call nearly all the time; nothing is left unread. */
START_TEST(a_handler_that_interrupted_a_call_is_not_in_vain)
{
	struct sigaction sa = {.sa_handler = read_what_is_there, .sa_flags = SA_RESTART};
	long until = now_ms() + SOON;
	int p[2], busy[2];
	pid_t pid;
	char c;

	make_pipe(p);
	make_pipe(busy);
	handler_fd = p[0];
	handler_read = 0;
	sigaction(SIGPOLL, &sa, NULL);
	GIVES(str_ioctl(p[0], I_SETSIG, S_INPUT), 0);
	pid = child(write_some, &p[1]);
	while (handler_read < MANY && now_ms() < until) {
		GIVES(str_write(busy[0], "x", 1), 1);
		GIVES(str_read(busy[1], &c, 1), 1);
	}
	ck_assert_int_eq(handler_read, MANY);
	ck_assert_int_eq(reap(pid, SOON), 0);
	close_pipe(busy);
	close_pipe(p);
}
END_TEST

START_TEST(a_registration_is_not_inherited)
{
	int p[2];
	pid_t pid;

	registered_pipe(p, S_INPUT);
	pid = fork();
	if (pid == 0) {
		int mask;

		NEED(str_ioctl(p[0], I_GETSIG, &mask) == -1 && errno == EINVAL);
		NEED(str_write(p[1], "x", 1) == 1);
		NEED(got.n == 0);
		_exit(0);
	}
	ck_assert_int_eq(reap(pid, SOON), 0);
	ck_assert(await(&got.n, 1));
	close_pipe(p);
}
END_TEST

/* What parent and child share. */
struct board {
	atomic_int ready;
	atomic_int go;
	atomic_int got;
};

static struct board *
make_board(void)
{
	void *b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert(b != MAP_FAILED);
	return b;
}

static bool
reached(atomic_int *a, int least)
{
	long until = now_ms() + SOON;

	while (atomic_load(a) < least && now_ms() < until)
		msleep(1);
	return atomic_load(a) >= least;
}

/* Register, say so, and be told of one event without calling anything. */
static int
be_told(struct board *b, int fd, int events)
{
	if (events != 0 && str_ioctl(fd, I_SETSIG, events) != 0)
		return 1;
	atomic_fetch_add(&b->ready, 1);
	if (!await(&got.n, 1))
		return 2;
	atomic_fetch_add(&b->got, 1);
	return reached(&b->go, 1) ? 0 : 3;
}

START_TEST(a_process_that_only_computes_is_told)
{
	struct board *b = make_board();
	int p[2];
	pid_t pid;

	make_pipe(p);
	listen_for(SIGPOLL, 0);
	pid = fork();
	if (pid == 0)
		_exit(be_told(b, p[0], S_INPUT));
	ck_assert(reached(&b->ready, 1));
	GIVES(str_write(p[1], "x", 1), 1);
	ck_assert(reached(&b->got, 1));
	NOTHING();
	atomic_store(&b->go, 1);
	ck_assert_int_eq(reap(pid, SOON), 0);
	close_pipe(p);
}
END_TEST

START_TEST(one_process_registers_another)
{
	struct board *b = make_board();
	struct strsigset ss = {0, S_INPUT};
	int p[2];
	pid_t pid;

	make_pipe(p);
	listen_for(SIGPOLL, 0);
	pid = fork();
	if (pid == 0) {
		char c;

		/* start its helper: any call that is refused does */
		NEED(str_read(p[0], &c, 1) == -1 && errno == EAGAIN);
		_exit(be_told(b, -1, 0));
	}
	ck_assert(reached(&b->ready, 1));
	ss.ss_pid = pid;
	GIVES(str_ioctl(p[0], I_ESETSIG, &ss), 0);
	GIVES(str_write(p[1], "x", 1), 1);
	ck_assert(reached(&b->got, 1));
	NOTHING();
	atomic_store(&b->go, 1);
	ck_assert_int_eq(reap(pid, SOON), 0);
	/* "they go away with the process" */
	for (long until = now_ms() + SOON;
	     str_ioctl(p[0], I_EGETSIG, &ss) == 0 && now_ms() < until;)
		msleep(5);
	FAILS(str_ioctl(p[0], I_EGETSIG, &ss), ESRCH);
	close_pipe(p);
}
END_TEST

/* How: 0 exit, 1 SIGKILL, 2 exec. */
START_TEST(a_registration_goes_with_its_process)
{
	struct board *b = make_board();
	struct strsigset ss = {0, S_INPUT};
	int p[2];
	pid_t pid;

	make_pipe(p);
	listen_for(SIGPOLL, 0);
	pid = fork();
	if (pid == 0) {
		NEED(str_ioctl(p[0], I_SETSIG, S_INPUT) == 0);
		atomic_store(&b->ready, 1);
		while (atomic_load(&b->go) == 0)
			msleep(1);
		if (_i == 2)
			execlp("true", "true", (char *)NULL);
		_exit(0);
	}
	ck_assert(reached(&b->ready, 1));
	ss.ss_pid = pid;
	GIVES(str_ioctl(p[0], I_EGETSIG, &ss), 0);
	if (_i == 1)
		kill(pid, SIGKILL);
	atomic_store(&b->go, 1);
	ck_assert_int_eq(reap(pid, SOON), _i == 1 ? 128 + SIGKILL : 0);
	for (long until = now_ms() + SOON;
	     str_ioctl(p[0], I_EGETSIG, &ss) == 0 && now_ms() < until;)
		msleep(5);
	FAILS(str_ioctl(p[0], I_EGETSIG, &ss), ESRCH);
	GIVES(str_write(p[1], "x", 1), 1);
	NOTHING();
	close_pipe(p);
}
END_TEST

START_TEST(every_process_of_a_group_is_told)
{
	struct board *b = make_board();
	struct strsigset ss = {0, S_INPUT};
	int p[2];
	pid_t pid[3];
	char c;

	make_pipe(p);
	listen_for(SIGPOLL, 0);
	for (int i = 0; i < 3; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			lives(SOON);
			NEED(str_read(p[0], &c, 1) == -1);
			NEED(reached(&b->go, 1));
			_exit(be_told(b, -1, 0));
		}
		if (i < 2)
			ck_assert_int_eq(setpgid(pid[i], pid[0]), 0);
	}
	atomic_store(&b->go, 1);
	ck_assert(reached(&b->ready, 3));
	ss.ss_pid = -pid[0];
	GIVES(str_ioctl(p[0], I_ESETSIG, &ss), 0);
	GIVES(str_write(p[1], "x", 1), 1);
	ck_assert(reached(&b->got, 2));
	NOTHING();
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(reap(pid[i], SOON), 0);
	msleep(20);
	ck_assert_int_eq(atomic_load(&b->got), 2); /* the third is of our own group */
	kill(pid[2], SIGKILL);
	reap(pid[2], SOON);
	close_pipe(p);
}
END_TEST

/* The child calls nothing that sleeps, is refused or registers. */
START_TEST(a_child_made_after_its_group_was_registered_is_told)
{
	struct board *b = make_board();
	struct strsigset ss = {-getpgrp(), S_INPUT};
	int p[2];
	pid_t pid;

	make_pipe(p);
	listen_for(SIGPOLL, 0);
	GIVES(str_ioctl(p[0], I_ESETSIG, &ss), 0);
	pid = fork();
	if (pid == 0) {
		NEED(isastream(p[0]) == 1 && str_ioctl(p[0], I_CANPUT, 0) == 1);
		_exit(be_told(b, -1, 0));
	}
	ck_assert(reached(&b->ready, 1));
	GIVES(str_write(p[1], "x", 1), 1);
	ck_assert(reached(&b->got, 1));
	atomic_store(&b->go, 1);
	ck_assert_int_eq(reap(pid, SOON), 0);
	close_pipe(p);
}
END_TEST

/* USTREAMS_HELPER=0: nothing until ustr_service(). */
START_TEST(without_a_helper_the_program_serves_itself)
{
	int p[2];
	pid_t pid;

	setenv("USTREAMS_HELPER", "0", 1);
	registered_pipe(p, S_INPUT);
	pid = child(write_x, &p[1]);
	ck_assert_int_eq(reap(pid, SOON), 0);
	NOTHING();
	for (long until = now_ms() + SOON; got.n == 0 && now_ms() < until;)
		(void)ustr_service(50);
	CAME(SIGPOLL, POLL_IN, 0);
	close_pipe(p);
}
END_TEST

/* ---- bounds ---------------------------------------------------------------------------------- */

START_TEST(registering_again_takes_no_more_room)
{
	struct strsigset ss = {0, S_MSG};
	int p[2], k, ids[600], n = 0;

	make_pipe(p);
	/* groups are the cheapest to have many of: one child each */
	for (k = 0; k < 3; k++) {
		pid_t pid = fork();

		if (pid == 0) {
			lives(SOON);
			pause();
			_exit(0);
		}
		setpgid(pid, pid);
		ids[n++] = pid;
	}
	for (int round = 0; round < 200; round++)
		for (k = 0; k < n; k++) {
			ss = (struct strsigset){-ids[k], S_MSG};
			GIVES(str_ioctl(p[0], I_ESETSIG, &ss), 0);
		}
	/* as many as there are groups, however often they were made */
	for (k = 0; k < n; k++) {
		ss = (struct strsigset){-ids[k], 0};
		GIVES(str_ioctl(p[0], I_ESETSIG, &ss), 0);
		FAILS(str_ioctl(p[0], I_ESETSIG, &ss), EINVAL);
		kill(ids[k], SIGKILL);
		reap(ids[k], SOON);
	}
	close_pipe(p);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("sig");
	TCase *tc = group(s, "registering", 120);

	tcase_add_test(tc, what_was_registered_is_told);
	tcase_add_test(tc, zero_ends_a_registration_and_only_one);
	tcase_add_test(tc, unknown_events_are_refused);
	tcase_add_test(tc, bad_pointers_and_descriptors);
	tcase_add_test(tc, a_stream_in_error_can_be_registered_for);
	tcase_add_test(tc, closing_a_descriptor_ends_the_registration);
	tcase_add_test(tc, dup2_over_a_descriptor_ends_the_registration);
	tcase_add_test(tc, i_esetsig_of_oneself_is_i_setsig);
	tcase_add_test(tc, a_process_group_is_told);
	tcase_add_test(tc, who_takes_no_part_cannot_be_registered);
	tc = group(s, "events", 120);
	tcase_add_loop_test(tc, each_event_raises_its_signal_before_the_call_returns, 0, KINDS);
	tcase_add_loop_test(tc, no_other_event_raises_it, 0, KINDS);
	tcase_add_test(tc, s_input_is_any_band_but_not_high_priority);
	tcase_add_test(tc, an_empty_message_is_input);
	tcase_add_test(tc, every_message_is_an_event);
	tcase_add_test(tc, sigurg_stands_for_an_urgent_band);
	tcase_add_test(tc, the_ends_of_a_pipe_are_registered_apart);
	tcase_add_test(tc, a_driver_that_echoes_raises_it_in_the_same_call);
	tc = group(s, "writing", 120);
	tcase_add_test(tc, a_drain_that_nobody_waited_for_is_no_event);
	tcase_add_loop_test(tc, a_refusal_of_any_kind_owes_an_event, 0, 4);
	tcase_add_test(tc, a_refusal_before_the_registration_counts);
	tcase_add_test(tc, a_band_that_drains_is_an_event_of_that_band);
	tc = group(s, "m_sig", 120);
	tcase_add_test(tc, m_pcsig_acts_at_once_and_m_sig_on_an_empty_queue);
	tcase_add_loop_test(tc, m_sig_acts_when_it_reaches_the_front, 0, 4);
	tcase_add_test(tc, a_flush_takes_m_sig_along);
	tcase_add_test(tc, a_flush_of_what_is_before_it_lets_m_sig_act);
	tcase_add_test(tc, other_signals_go_to_who_registered_for_s_msg);
	tcase_add_test(tc, a_message_that_names_no_signal_is_freed);
	tc = group(s, "delivery", 120);
	tcase_add_test(tc, the_handler_may_use_the_library);
	tcase_add_test(tc, the_thread_that_causes_an_event_handles_it);
	tcase_add_test(tc, a_blocked_signal_stays_pending);
	tcase_add_loop_test(tc, an_event_is_raised_before_the_call_sleeps, 0, 2);
	if (can_fork()) {
		tcase_add_test(tc, the_default_action_ends_the_process);
		tc = group(s, "processes", 120);
		tcase_add_test(tc, another_process_causes_the_event);
		tcase_add_test(tc, a_handler_that_interrupted_a_call_is_not_in_vain);
		tcase_add_test(tc, a_registration_is_not_inherited);
		tcase_add_test(tc, a_process_that_only_computes_is_told);
		tcase_add_test(tc, one_process_registers_another);
		tcase_add_loop_test(tc, a_registration_goes_with_its_process, 0, 3);
		tcase_add_test(tc, every_process_of_a_group_is_told);
	tcase_add_test(tc, a_child_made_after_its_group_was_registered_is_told);
		tcase_add_test(tc, without_a_helper_the_program_serves_itself);
		tcase_add_test(tc, registering_again_takes_no_more_room);
	}
	return run_suite(s);
}
