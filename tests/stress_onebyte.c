/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_onebyte.c [threads|fork|both]: a high-water mark of one byte, so that
 * every message fills the stream and every read must wake the writer; low
 * mark 1 and 0, two CPUs, blocking and polling.  USTR_STRESS_COUNT messages
 * in all (1,000,000).  A stall of 20 s draws both ends and fails.
 */
#include "stresslib.h"

#include <poll.h>

struct job {
	int j_fd[2];
	bool j_polling;
	long j_count;
};

/* Wait as the job says when a call was refused. */
static void
refused(const struct job *j, int fd, short events)
{
	struct pollfd f = {fd, events, 0};

	if (!j->j_polling || errno != EAGAIN)
		DIE("%s", strerrorname_np(errno));
	if (str_poll(&f, 1, -1) != 1 || f.revents != events)
		DIE("str_poll: revents %#x", (unsigned)f.revents);
}

static void
write_bytes(const struct job *j)
{
	for (long i = 0; i < j->j_count; i++) {
		unsigned char c = (unsigned char)i;
		ssize_t n;

		while ((n = str_write(j->j_fd[0], &c, 1)) == -1)
			refused(j, j->j_fd[0], POLLOUT);
		if (n != 1)
			DIE("str_write gives %zd", n);
		crew_tick(0);
	}
}

static void
read_bytes(const struct job *j)
{
	for (long i = 0; i < j->j_count; i++) {
		unsigned char c[2];
		ssize_t n;

		while ((n = str_read(j->j_fd[1], c, 2)) == -1)
			refused(j, j->j_fd[1], POLLIN);
		if (n != 1 || c[0] != (unsigned char)i)
			DIE("message %ld: %zd bytes, first %#x", i, n, c[0]);
		crew_tick(1);
	}
}

static void
work(int who, void *arg)
{
	if (who == 0)
		write_bytes(arg);
	else
		read_bytes(arg);
}

static void
run(bool forked, bool polling, int lowat, long count)
{
	struct job j = {.j_polling = polling, .j_count = count};
	struct crew c;
	long start = stress_now();
	int left;

	MUST(str_pipe(j.j_fd));
	MUST(str_ioctl(j.j_fd[0], I_PUSH, "pipemod"));
	MUST(str_ioctl(j.j_fd[1], I_SET_LOWAT, lowat));
	MUST(str_ioctl(j.j_fd[1], I_SET_HIWAT, 1));
	MUST(str_ioctl(j.j_fd[1], I_SRDOPT, RMSGD));
	for (int i = 0; polling && i < 2; i++)
		MUST(str_fcntl(j.j_fd[i], F_SETFL, O_NONBLOCK));
	crew_start(&c, forked, 2, work, &j, j.j_fd, "stress_onebyte");
	crew_join(&c, 0, 2);
	if (MUST(str_ioctl(j.j_fd[1], I_NREAD, &left)) != 0)
		DIE("messages are left");
	printf("stress_onebyte: %s, %s, low mark %d: %ld messages, %ld ms\n",
	    forked ? "fork" : "threads", polling ? "polling" : "blocking", lowat, count,
	    stress_now() - start);
	fflush(stdout);
	crew_end(&c);
	MUST(str_close(j.j_fd[0]));
	MUST(str_close(j.j_fd[1]));
}

int
main(int argc, char **argv)
{
	bool threads, forks;
	long count;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	count = stress_count(1000000) / (4 * (threads + forks)) + 1;
	for (int i = 0; i < 4; i++) {
		if (threads)
			run(false, i & 1, i < 2, count);
		if (forks)
			run(true, i & 1, i < 2, count);
	}
	return 0;
}
