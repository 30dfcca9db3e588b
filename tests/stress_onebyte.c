/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_onebyte.c [threads|fork|both]: a high-water mark of one byte, so that
 * every message fills the stream and every read must wake the writer; low
 * mark 1 and 0, two CPUs, blocking and polling.  USTR_STRESS_COUNT messages
 * in all (1,000,000) or what USTR_STRESS_SECONDS (10) are enough for, but 200 a
 * run.  A stall of 20 s draws both ends and fails.
 */
#include "stresslib.h"

#include <poll.h>
#include <sys/mman.h>

enum { LEAST = 200 };

struct job {
	int j_fd[2];
	bool j_polling;
	struct quota j_quota;
	_Atomic long j_sent, j_got;
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
write_one(const struct job *j, long number, ssize_t size)
{
	unsigned char c[2] = {(unsigned char)number, 0};
	ssize_t n;

	while ((n = str_write(j->j_fd[0], c, (size_t)size)) == -1)
		refused(j, j->j_fd[0], POLLOUT);
	if (n != size)
		DIE("str_write gives %zd", n);
	crew_tick(0);
}

/* Two bytes end the stream. */
static void
write_bytes(struct job *j)
{
	long i;

	for (i = 0; quota_more(&j->j_quota, i); i++)
		write_one(j, i, 1);
	j->j_sent = i;
	write_one(j, i, 2);
}

static void
read_bytes(struct job *j)
{
	for (long i = 0;; i++) {
		unsigned char c[3];
		ssize_t n;

		while ((n = str_read(j->j_fd[1], c, sizeof(c))) == -1)
			refused(j, j->j_fd[1], POLLIN);
		if ((n != 1 && n != 2) || c[0] != (unsigned char)i)
			DIE("message %ld: %zd bytes, first %#x", i, n, c[0]);
		crew_tick(1);
		if (n == 2)
			return;
		j->j_got = i + 1;
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
run(bool forked, bool polling, int lowat, const struct quota *quota)
{
	struct job *j = shared_memory(sizeof(*j));
	struct crew c;
	long start = stress_now();
	int left;

	j->j_polling = polling;
	j->j_quota = *quota;
	MUST(str_pipe(j->j_fd));
	MUST(str_ioctl(j->j_fd[0], I_PUSH, "pipemod"));
	MUST(str_ioctl(j->j_fd[1], I_SET_LOWAT, lowat));
	MUST(str_ioctl(j->j_fd[1], I_SET_HIWAT, 1));
	MUST(str_ioctl(j->j_fd[1], I_SRDOPT, RMSGD));
	for (int i = 0; polling && i < 2; i++)
		MUST(str_fcntl(j->j_fd[i], F_SETFL, O_NONBLOCK));
	quota_begin(&j->j_quota);
	crew_start(&c, forked, 2, work, j, j->j_fd, "stress_onebyte");
	crew_join(&c, 0, 2);
	if (MUST(str_ioctl(j->j_fd[1], I_NREAD, &left)) != 0)
		DIE("messages are left");
	if (j->j_got != j->j_sent)
		DIE("%ld messages sent, %ld read", j->j_sent, j->j_got);
	printf("stress_onebyte: %s, %s, low mark %d: %ld messages, %ld ms\n",
	    forked ? "fork" : "threads", polling ? "polling" : "blocking", lowat,
	    j->j_got, stress_now() - start);
	fflush(stdout);
	crew_end(&c);
	MUST(str_close(j->j_fd[0]));
	MUST(str_close(j->j_fd[1]));
	munmap(j, sizeof(*j));
}

int
main(int argc, char **argv)
{
	bool threads, forks;
	struct quota quota;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	quota = quota_share(1000000, 10, 4 * (threads + forks), LEAST);
	for (int i = 0; i < 4; i++) {
		if (threads)
			run(false, i & 1, i < 2, &quota);
		if (forks)
			run(true, i & 1, i < 2, &quota);
	}
	return 0;
}
