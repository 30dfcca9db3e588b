/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_signal.c: what a handler has caught waits in a ring until a command
 * expects it.
 *
 * A handler only claims an entry and fills it in; "seen" is set last.  Who
 * expects a signal sets "taken".
 */
#include "strtest_signal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>

#include "strtest_args.h"
#include "strtest_forms.h"
#include "strtest_run.h"

enum { RING = 4096, AGAIN = 20000 /* us between alarms */ };

static struct caught {
	atomic_int seen; /* the signal, 0: not yet filled in */
	int code;
	long band;
	int pid;
	atomic_int taken;
} ring[RING];
static atomic_uint ring_next;

static void
catch_one(int sig, siginfo_t *info, void *context)
{
	int error = errno;
	unsigned int i = atomic_fetch_add(&ring_next, 1);

	(void)context;
	if (i < RING) {
		ring[i].code = info->si_code;
		ring[i].band = sig == SIGPOLL ? info->si_band : 0;
		ring[i].pid = sig == SIGPOLL ? 0 : info->si_pid;
		atomic_store(&ring[i].seen, sig);
	}
	errno = error;
}

static int
catch_signal(int sig, int flags)
{
	struct sigaction sa = {.sa_sigaction = catch_one, .sa_flags = SA_SIGINFO | flags};

	sigemptyset(&sa.sa_mask);
	return sigaction(sig, &sa, NULL);
}

void
signal_forget(void)
{
	for (unsigned int i = 0; i < atomic_load(&ring_next) && i < RING; i++) {
		atomic_store(&ring[i].seen, 0);
		atomic_store(&ring[i].taken, 0);
	}
	atomic_store(&ring_next, 0);
}

void
signal_begin(void)
{
	static const int caught[] = {SIGPIPE, SIGPOLL, SIGURG, SIGALRM, SIGUSR1, SIGUSR2};

	signal_forget();
	for (size_t i = 0; i < NELEM(caught); i++)
		catch_signal(caught[i], 0);
}

void
signal_after_call(const char *verb)
{
	static const struct itimerval never;

	if (strcmp(verb, "alarm") != 0)
		setitimer(ITIMER_REAL, &never, NULL);
}

/* The first of that signal that was caught and not yet taken. */
static struct caught *
first(int sig)
{
	for (unsigned int i = 0; i < atomic_load(&ring_next) && i < RING; i++)
		if (atomic_load(&ring[i].seen) == sig && !atomic_load(&ring[i].taken))
			return &ring[i];
	return NULL;
}

/* ---- verbs ------------------------------------------------------------------------- */

static void
do_catch(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o,
	    catch_signal(arg_signal(r, c, 0), key_given(c, "restart") ? SA_RESTART : 0));
}

static void
dispose(struct run *r, const struct command *c, struct outcome *o, void (*how)(int))
{
	out_call(o, signal(arg_signal(r, c, 0), how) == SIG_ERR ? -1 : 0);
}

static void
do_ignore(struct run *r, const struct command *c, struct outcome *o)
{
	dispose(r, c, o, SIG_IGN);
}

static void
do_default(struct run *r, const struct command *c, struct outcome *o)
{
	dispose(r, c, o, SIG_DFL);
}

static void
mask(struct run *r, const struct command *c, struct outcome *o, int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, arg_signal(r, c, 0));
	out_call(o, (errno = pthread_sigmask(how, &set, NULL)) == 0 ? 0 : -1);
}

static void
do_block(struct run *r, const struct command *c, struct outcome *o)
{
	mask(r, c, o, SIG_BLOCK);
}

static void
do_unblock(struct run *r, const struct command *c, struct outcome *o)
{
	mask(r, c, o, SIG_UNBLOCK);
}

static void
expect_member(struct run *r, const struct command *c, const char *key, long long came)
{
	long long want = key_number(r, c, key, came);

	if (want != came)
		run_failed(r, pool_printf(&r->pool, "%s=%lld", key, want),
		    pool_printf(&r->pool, "%s=%lld", key, came));
}

static void
do_expect(struct run *r, const struct command *c, struct outcome *o)
{
	int sig = arg_signal(r, c, 0);
	long long until = run_now() + time_within(r, c, o, 5000000);
	unsigned int step = 0;
	struct caught *s;

	while ((s = first(sig)) == NULL) {
		if (run_now() > until || run_hopeless(r))
			run_failed(r, "the signal is caught", "it did not come");
		run_nap(&step);
	}
	atomic_store(&s->taken, 1);
	expect_member(r, c, "code", s->code);
	expect_member(r, c, "band", s->band);
	expect_member(r, c, "pid", s->pid);
}

static void
do_expect_no(struct run *r, const struct command *c, struct outcome *o)
{
	int sig = arg_signal(r, c, 0);
	long long until = run_now() + time_lasting(r, c, o, 10000);
	unsigned int step = 0;
	struct caught *s;

	while ((s = first(sig)) == NULL && run_now() < until)
		run_nap(&step);
	if (s != NULL)
		run_failed(r, "the signal does not come",
		    pool_printf(
			&r->pool, "it was caught: code=%d band=%ld", s->code, s->band));
}

static void
do_alarm(struct run *r, const struct command *c, struct outcome *o)
{
	long long us = arg_number(r, c, 0, 0);
	struct itimerval t = {{0, AGAIN}, {us / 1000000, us % 1000000}};

	out_call(o, setitimer(ITIMER_REAL, &t, NULL));
}

static const struct form forms[] = {
    {"catch", do_catch, "S", "restart!", NULL, NULL, 0},
    {"ignore", do_ignore, "S", NULL, NULL, NULL, 0},
    {"default", do_default, "S", NULL, NULL, NULL, 0},
    {"block", do_block, "S", NULL, NULL, NULL, 0},
    {"unblock", do_unblock, "S", NULL, NULL, NULL, 0},
    {"expect-signal", do_expect, "S", "code:I band:I pid:I", NULL, NULL, 0},
    {"expect-no-signal", do_expect_no, "S", NULL, NULL, NULL, 0},
    {"alarm", do_alarm, "T", NULL, NULL, NULL, 0},
};

const struct form_table forms_signal = {forms, NELEM(forms)};
