/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_crash.c [fork]: a process dies at every marked point of the library,
 * one after the other: the n-th that it passes, for n = 1, 2, ... until it comes
 * to its end alive.  Points stand where locks are taken and dropped and between
 * the lines of the wake-up protocols (CRASH_POINT, plat.h), so this needs a
 * debug build.
 *
 * After each death nobody may be stuck: the streams that the dead process used
 * work or say EIO or hang-up, others do as if nothing had happened, everything
 * can be closed, and the memory that is not given back is counted.
 *
 * USTR_STRESS_STEP: only every so-manieth point (7).
 */
#include "stresslib.h"

#include <poll.h>
#include <signal.h>
#include <sys/stream.h>
#include <sys/ddi.h>
#include <sys/wait.h>

enum { LIMIT_MS = 200, HIWAT = 2000, SLACK = 256 * 1024 };

/* ---- a module that queues, in a perimeter --------------------------------- */

static int
queue_put(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type >= QPCTL)
		putnext(q, mp);
	else if (!putq(q, mp))
		freemsg(mp);
	return 0;
}

static int
queue_srv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		if (mp->b_datap->db_type < QPCTL && !bcanputnext(q, mp->b_band))
			return putbq(q, mp);
		putnext(q, mp);
	}
	return 0;
}

static int
plain_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	qprocson(q);
	return 0;
}

static int
plain_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	return 0;
}

static struct module_info info = {4300, "crashq", 0, INFPSZ, HIWAT, HIWAT / 4};
static struct qinit init = {queue_put, queue_srv, plain_open, plain_close, NULL, &info, NULL};
static struct streamtab tab = {&init, &init, NULL, NULL};

/* ---- what the victim does --------------------------------------------------- */

/* The other end may be condemned already: errors are no news here. */
static void
exchange(const int fd[2])
{
	char buf[5000] = {0};
	struct strbuf ctl = {sizeof(buf), 4, buf}, data = {sizeof(buf), 8, buf};
	int band = 0, flags = MSG_ANY;

	str_write(fd[0], buf, 64);
	str_write(fd[0], buf, 1800);
	putmsg(fd[0], &ctl, &data, RS_HIPRI);
	putpmsg(fd[0], NULL, &data, 2, MSG_BAND);
	while (str_write(fd[0], buf, 500) > 0)
		;
	while (getpmsg(fd[1], &ctl, &data, &band, &flags) >= 0) {
		band = 0;
		flags = MSG_ANY;
	}
	str_write(fd[1], buf, 64);
	str_read(fd[0], buf, sizeof(buf));
}

static void
plumbing(const int fd[2])
{
	char c = 0;

	str_ioctl(fd[0], I_PUSH, "nullmod");
	str_write(fd[0], &c, 1);
	str_ioctl(fd[1], I_PUSH, "crashq");
	str_read(fd[1], &c, 1);
	str_ioctl(fd[0], I_FLUSH, FLUSHRW);
	str_ioctl(fd[0], I_POP, 0);
	str_ioctl(fd[1], I_POP, 0);
}

static void
descriptors(const int fd[2])
{
	int copy = str_dup(fd[0]), other[2], dev;
	struct pollfd p = {fd[1], POLLIN, 0};

	str_poll(&p, 1, 0);
	str_close(copy);
	if (str_pipe(other) == 0) {
		str_dup2(fd[0], other[0]);
		str_close(other[0]);
		str_close(other[1]);
	}
	dev = str_open("/dev/streams/clone/echo", O_RDWR | O_NONBLOCK);
	str_write(dev, "echo", 4);
	str_close(dev);
}

static void
forking(const int fd[2])
{
	pid_t pid = fork();

	if (pid == 0) {
		str_write(fd[0], "child", 5);
		str_close(fd[0]);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
}

static void
closing(const int fd[2])
{
	str_write(fd[0], "last", 4);
	str_close(fd[0]);
	str_close(fd[1]);
}

static const struct scenario {
	const char *s_name;
	void (*s_do)(const int fd[2]);
} scenarios[] = {
    {"exchange", exchange},
    {"plumbing", plumbing},
    {"descriptors", descriptors},
    {"forking", forking},
    {"closing", closing},
};

/* ---- what the survivors must find --------------------------------------------- */

static bool
allowed(ssize_t r)
{
	return r >= 0 || errno == EAGAIN || errno == EIO || errno == ENXIO || errno == EPIPE ||
	    errno == EBADMSG;
}

/* Every call returns, with something sensible; true: messages still flow. */
static bool
usable(const int fd[2], const char *name, long n)
{
	char buf[6000];
	long end = stress_now() + 5000;
	bool here = false;
	ssize_t r;

	for (int i = 0; i < 50; i++) {
		struct strbuf ctl = {sizeof(buf), 0, buf}, data = {sizeof(buf), 0, buf};
		int flags = 0;

		if (!allowed(r = getmsg(fd[1], &ctl, &data, &flags)))
			DIE("%s %ld: getmsg: %s", name, n, strerrorname_np(errno));
		if (r < 0 || (ctl.len <= 0 && data.len <= 0))
			break;
	}
	r = str_write(fd[0], "alive", 5);
	if (!allowed(r))
		DIE("%s %ld: str_write: %s", name, n, strerrorname_np(errno));
	while (r == 5 && !here) {
		r = str_read(fd[1], buf, sizeof(buf));
		here = r > 0;
		if (r == 0 || (r < 0 && errno != EAGAIN))
			break;
		if (!here && stress_now() > end)
			DIE("%s %ld: a message does not come", name, n);
		if (!here)
			stress_sleep(1);
		r = 5;
	}
	return here;
}

/* The peer of an end that died with its process hears of it in time. */
static void
told(int fd, const char *name, long n, long died)
{
	struct pollfd p = {fd, POLLIN, 0};
	long now;

	do {
		ustr_service(0);
		str_poll(&p, 1, 1);
		now = stress_now();
		if (p.revents & (POLLHUP | POLLERR))
			return;
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

static void
nonblock(const int fd[2])
{
	for (int i = 0; i < 2; i++)
		MUST(str_fcntl(fd[i], F_SETFL, O_NONBLOCK));
}

/* The victim of point n: true if it reached its end. */
static bool
victim(const struct scenario *s, long n, const int fd[2])
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = (pid_t)MUST(fork());
	if (pid == 0) {
		ustr_tune("crashpoint", n);
		s->s_do(fd);
		ustr_tune("crashpoint", 0);
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
		if (status != 0)
			DIE("%s %ld: the victim ends with %#x", s->s_name, n, (unsigned)status);
		return true;
	}
	return false;
}

/* One death; sole: the victim alone has fd[0]. */
static bool
trial(const struct scenario *s, long n, bool sole, const int other[2], long *slow, long *alive)
{
	int fd[2];
	bool done;
	long died;

	MUST(str_pipe(fd));
	MUST(str_ioctl(fd[0], I_PUSH, "crashq"));
	MUST(str_ioctl(fd[1], I_SRDOPT, RMSGD | RPROTDIS));
	nonblock(fd);
	if (sole) {
		/* The child of this child has fd[0] for itself. */
		int gate[2], status;
		pid_t pid;
		char c = 0;

		MUST(pipe(gate));
		fflush(NULL);
		pid = (pid_t)MUST(fork());
		if (pid == 0) {
			if (read(gate[0], &c, 1) != 1)
				_exit(1);
			ustr_tune("crashpoint", n);
			s->s_do(fd);
			ustr_tune("crashpoint", 0);
			_exit(0);
		}
		MUST(str_close(fd[0]));
		MUST(write(gate[1], "g", 1));
		MUST(waitpid(pid, &status, 0));
		died = stress_now();
		close(gate[0]);
		close(gate[1]);
		done = status == 0;
		told(fd[1], s->s_name, n, died);
		if (stress_now() - died > LIMIT_MS)
			++*slow;
		MUST(str_close(fd[1]));
	} else {
		done = victim(s, n, fd);
		for (died = stress_now(); !done && ustr_service(0) == 0;)
			if (stress_now() - died > 5000)
				DIE("%s %ld: the dead process is not buried", s->s_name, n);
		*alive += usable(fd, s->s_name, n);
		MUST(str_close(fd[0]));
		MUST(str_close(fd[1]));
	}
	if (!usable(other, s->s_name, n))
		DIE("%s %ld: another stream is damaged", s->s_name, n);
	return done;
}

static void
deaths(const struct scenario *s, bool sole, long step, const int other[2])
{
	long n, slow = 0, alive = 0, start = stress_now();
	struct ustr_memstat before, after;

	for (n = 1; n < 100000; n += step) {
		if (n == 1 + 8 * step)
			ustr_memstat(&before);
		alarm(60);
		if (trial(s, n, sole, other, &slow, &alive))
			break;
	}
	alarm(0);
	ustr_memstat(&after);
	if (n > 1 + 8 * step && after.ms_used > before.ms_used + SLACK +
		(after.ms_leaked - before.ms_leaked))
		DIE("%s: %zu bytes more in use, %zu of them counted", s->s_name,
		    after.ms_used - before.ms_used, after.ms_leaked - before.ms_leaked);
	printf("stress_crash: %s, %s: %ld points, %ld streams went on, told late %ld times, "
	       "%zu bytes given up, %ld ms\n",
	    s->s_name, sole ? "alone" : "shared", n / step, alive, slow,
	    after.ms_leaked, stress_now() - start);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	bool threads, forks;
	const char *step = getenv("USTR_STRESS_STEP");
	int other[2];

	/* This program buries the dead itself, at once; read when it starts. */
	if (getenv("USTREAMS_HELPER") == NULL) {
		setenv("USTREAMS_HELPER", "0", 1);
		execv("/proc/self/exe", argv);
	}
	if (!stress_modes(argc, argv, &threads, &forks) || !forks)
		return 77;
	signal(SIGPIPE, SIG_IGN);
	MUST(ustr_register_module("crashq", &tab, D_MTQPAIR));
	MUST(str_pipe(other));
	nonblock(other);
	if (ustr_tune("crashpoint", 0) != 0) {
		printf("skipped: crash: points are marked in debug builds only\n");
		return 77;
	}
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		for (int sole = 0; sole < 2; sole++)
			deaths(&scenarios[i], sole, step != NULL ? atol(step) : 7, other);
	return 0;
}
