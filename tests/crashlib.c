/* SPDX-License-Identifier: BSD-2-Clause */
/* crashlib.c: what victims do before they die, and what survivors must find. */
#include "crashlib.h"

#include <poll.h>
#include <sys/stream.h>
#include <sys/ddi.h>
#include <sys/wait.h>

enum { HIWAT = 2000 };

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
struct streamtab crash_tab = {&init, &init, NULL, NULL};

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

/* A multiplexor of the victim's own: with it goes the link. */
static void
linking(const int fd[2])
{
	int mux = str_open("/dev/streams/clone/mux", O_RDWR | O_NONBLOCK), id;
	char buf[100] = {0};

	str_write(fd[0], buf, 64);
	id = str_ioctl(mux, I_LINK, fd[1]);
	str_write(fd[0], buf, 64);
	str_read(mux, buf, sizeof(buf));
	str_write(mux, buf, 64);
	str_write(fd[0], buf, 64);
	str_ioctl(mux, I_UNLINK, id);
	str_read(fd[1], buf, sizeof(buf));
	str_ioctl(mux, I_LINK, fd[1]);
	str_close(mux);
}

const struct scenario crash_scenarios[SCENARIOS] = {
    {"exchange", exchange, 0},
    {"plumbing", plumbing, 0},
    {"descriptors", descriptors, 0},
    {"forking", forking, 0},
    {"closing", closing, 0},
    {"linking", linking, 600},
};

/* ---- what the survivors must find --------------------------------------------- */

static bool
allowed(ssize_t r)
{
	return r >= 0 || errno == EAGAIN || errno == EIO || errno == ENXIO || errno == EPIPE ||
	    errno == EBADMSG;
}

/* Every call returns, with something sensible; true: messages still flow. */
bool
crash_usable(const int fd[2], const char *name, long n)
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
		if (!here && ustr_service(0) == 0) /* a victim's child may have died too */
			stress_sleep(1);
		r = 5;
	}
	return here;
}

/* The peer of an end that died with its process hears of it in time. */
void
crash_told(int fd, const char *name, long n, long died)
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

void
crash_nonblock(const int fd[2])
{
	for (int i = 0; i < 2; i++)
		MUST(str_fcntl(fd[i], F_SETFL, O_NONBLOCK));
}
