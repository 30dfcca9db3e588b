/* SPDX-License-Identifier: BSD-2-Clause */
/* crashlib.c: what those who live on must find. */
#include "crashlib.h"

#include <poll.h>

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
	int tries = 0;
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
