/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plat_event.c: how the kernel tells a process something: pipes, eventfds,
 * polling with a mask, and queued signals.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "plat_event.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

int
plat_pipe(int fd[2])
{
	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) != 0)
		return errno;
	for (int i = 0; i < 2; i++)
		fd[i] = plat_raise(fd[i]);
	return 0;
}

void
plat_strike(int fd)
{
	/* Not libc's write: that one is a cancellation point.  Full: struck enough. */
	(void)!syscall(SYS_write, fd, "", 1);
}

void
plat_swallow(int fd)
{
	char buf[64];

	while (syscall(SYS_read, fd, buf, sizeof(buf)) > 0)
		;
}

int
plat_eventfd(void)
{
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void
plat_raise_eventfd(int fd, bool ready)
{
	uint64_t n = 1;

	(void)!syscall(ready ? SYS_write : SYS_read, fd, &n, sizeof(n));
}

int
plat_ppoll(struct pollfd *fds, nfds_t n, int64_t deadline, const sigset_t *mask)
{
	int64_t left = deadline - plat_now();
	struct timespec ts, *tsp = NULL;

	if (deadline < PLAT_NEVER) {
		left = left > 0 ? left : 0;
		ts.tv_sec = left / 1000000000;
		ts.tv_nsec = left % 1000000000;
		tsp = &ts;
	}
	return ppoll(fds, n, tsp, mask) < 0 ? errno : 0;
}

/* ---- signals ------------------------------------------------------------------------ */

static bool
let_in(int sig)
{
	sigset_t mask;

	sigemptyset(&mask);
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	return sigismember(&mask, sig) == 0;
}

void
plat_sigqueue(const struct plat_signal *ps)
{
	siginfo_t si;

	memset(&si, 0, sizeof(si));
	si.si_signo = ps->ps_sig;
	si.si_code = ps->ps_code;
	si.si_errno = ps->ps_error;
	if (ps->ps_sig == SIGPOLL) {
		si.si_band = ps->ps_band;
		si.si_fd = ps->ps_fd;
	}
	/*
	 * The kernel lets only a thread itself say POLL_IN.  Named by its thread
	 * id it gets the signal for its process.
	 */
	if (let_in(ps->ps_sig))
		(void)syscall(SYS_rt_tgsigqueueinfo, plat_pid(), plat_tid(), ps->ps_sig, &si);
	else
		(void)syscall(SYS_rt_sigqueueinfo, plat_tid(), ps->ps_sig, &si);
}

bool
plat_interrupts(int sig, bool timed)
{
	struct sigaction sa;

	if (sigaction(sig, NULL, &sa) != 0 || !let_in(sig))
		return false;
	if (sa.sa_handler == SIG_DFL || sa.sa_handler == SIG_IGN)
		return false;
	return timed || !(sa.sa_flags & SA_RESTART);
}

pid_t
plat_pgid(pid_t pid)
{
	return getpgid(pid);
}
