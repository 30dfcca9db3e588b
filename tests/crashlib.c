/* SPDX-License-Identifier: BSD-2-Clause */
/* crashlib.c: what those who live on must find. */
#include "crashlib.h"

#include <poll.h>
#include <time.h>

/* ---- what the survivors must find --------------------------------------------- */

static bool
allowed(ssize_t r)
{
	return r >= 0 || errno == EAGAIN || errno == EIO || errno == ENXIO || errno == EPIPE ||
	    errno == EBADMSG;
}

void
crash_allowed(long r, const char *call, const char *name, long n)
{
	if (!allowed(r))
		DIE("%s %ld: %s: %s", name, n, call, strerrorname_np(errno));
}

/* Every call returns, with something sensible; true: messages still flow. */
bool
crash_usable(const int fd[2], const char *name, long n)
{
	char buf[6000];
	long end = stress_now() + 5000;
	bool here = false;
	int tries = 0;
	ssize_t r;

	for (int i = 0; i < 50; i++) {
		struct strbuf ctl = {sizeof(buf), 0, buf}, data = {sizeof(buf), 0, buf};
		int flags = 0;

		crash_allowed(r = getmsg(fd[1], &ctl, &data, &flags), "getmsg", name, n);
		if (r < 0 || (ctl.len <= 0 && data.len <= 0))
			break;
	}
	r = str_write(fd[0], "alive", 5);
	crash_allowed(r, "str_write", name, n);
	while (r == 5 && !here) {
		r = str_read(fd[1], buf, sizeof(buf));
		here = r > 0;
		if (r == 0 || (r < 0 && errno != EAGAIN))
			break;
		/* A child of the victim may live a little longer, and have read it. */
		if (!here && ++tries % 100 == 0)
			(void)str_write(fd[0], "alive", 5);
		if (!here && stress_now() > end) {
			ustr_dump(fd[0], stderr);
			ustr_dump(fd[1], stderr);
			DIE("%s %ld: a message does not come", name, n);
		}
		if (!here && ustr_service(0) == 0) /* a victim's child may have died too */
			stress_sleep(1);
		r = 5;
	}
	return here;
}

/* ---- how late this machine is --------------------------------------------------- */

static atomic_long late_us; /* all that a thread was woken too late, summed up */
static atomic_ulong beats;

static long
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000L + ts.tv_nsec / 1000;
}

static void *
metronome(void *arg)
{
	(void)arg;
	for (;;) {
		long start = now_us();

		stress_sleep(1);
		atomic_fetch_add(&late_us, now_us() - start - 1000);
		atomic_fetch_add(&beats, 1);
	}
	return NULL;
}

/* After a standstill of all the metronome may not have run yet. */
static long
lateness(void)
{
	unsigned long n = atomic_load(&beats);

	while (atomic_load(&beats) == n)
		stress_sleep(1);
	return atomic_load(&late_us);
}

static void
measure(void)
{
	pthread_attr_t at;
	pthread_t t;

	pthread_attr_init(&at);
	pthread_attr_setdetachstate(&at, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&t, &at, metronome, NULL) != 0)
		DIE("pthread_create");
	pthread_attr_destroy(&at);
}

static void
keep_it(char *arg)
{
	(void)arg;
}

/* Does memory of this process come through a pipe as it is? */
static bool
is_shared(const int fd[2])
{
	static unsigned char own[64];
	static frtn_t rtn = {keep_it, NULL};
	mblk_t *mp = esballoc(own, sizeof(own), BPRI_MED, &rtn);
	bool same;

	if (mp == NULL)
		DIE("esballoc: %s", strerrorname_np(errno));
	mp->b_wptr += 4;
	MUST(str_putmblk(fd[0], mp));
	MUST(str_getmblk(fd[1], &mp));
	same = mp->b_rptr == own;
	freemsg(mp);
	return same;
}

void
crash_alone(const char *name, long n)
{
	long end = stress_now() + 5000;
	int fd[2];

	MUST(str_pipe(fd));
	/* A child of the victim may live a little longer. */
	while (!is_shared(fd)) {
		if (stress_now() > end)
			DIE("%s %ld: one of the dead is still counted", name, n);
		if (ustr_service(0) == 0)
			stress_sleep(1);
	}
	MUST(str_close(fd[0]));
	MUST(str_close(fd[1]));
}

/* The peer of an end that died with its process hears of it; false: not in time. */
bool
crash_told(int fd, const char *name, long n, long died)
{
	struct pollfd p = {fd, POLLIN, 0};
	long now, late;
	static bool measured;

	if (!measured)
		measure();
	measured = true;
	late = atomic_load(&late_us);
	do {
		ustr_service(0);
		str_poll(&p, 1, 1);
		now = stress_now();
		if (p.revents & (POLLHUP | POLLERR))
			return now - died <= LIMIT_MS ||
			    now - died <= LIMIT_MS + (lateness() - late) / 1000;
		/* Data left behind is read first. */
		if (p.revents & POLLIN) {
			char buf[6000];
			struct strbuf d = {sizeof(buf), 0, buf}, c = {sizeof(buf), 0, buf};
			int flags = 0;

			getmsg(fd, &c, &d, &flags);
		}
	} while (now - died < 5000);
	DIE("%s %ld: the other end was not told", name, n);
}

void
crash_reset(void)
{
	MUST(ustr_tune("trace", 0));
	MUST(ustr_tune("ioctltime", CRASH_IOCTLTIME));
}

void
crash_nonblock(const int fd[2])
{
	for (int i = 0; i < 2; i++)
		MUST(str_fcntl(fd[i], F_SETFL, O_NONBLOCK));
}

/* ---- where they died ------------------------------------------------------------- */

void
crash_report(void)
{
	const char *name = getenv("USTR_STRESS_SITES");
	int fd;

	if (name == NULL)
		return;
	fd = (int)MUST(open(name, O_WRONLY | O_CREAT | O_APPEND, 0666));
	MUST(ustr_tune("crashsites", fd));
	close(fd);
}
