/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_pipe.c [threads|fork|both]: two writers and two readers on one pipe
 * with pipemod; nothing is lost or doubled, and each reader sees the messages
 * of each writer in order.
 */
#include "stresslib.h"

/* Workers 0 and 1 write, 2 and 3 read. */
static void
work(int who, void *arg)
{
	if (who < TWRITERS)
		traffic_write(arg, who, who);
	else
		traffic_read(arg, who - TWRITERS, who);
}

static void
run(bool forked, bool polling, long ms)
{
	struct traffic *t;
	struct crew c;
	int fd[2];

	MUST(str_pipe(fd));
	MUST(str_ioctl(fd[0], I_PUSH, "pipemod"));
	t = traffic_make(fd, polling);
	crew_start(&c, forked, TWRITERS + TREADERS, work, t, fd, "stress_pipe");
	stress_sleep((int)ms);
	atomic_store(&t->t_stop, true);
	crew_join(&c, 0, TWRITERS);
	traffic_finish(t);
	crew_join(&c, TWRITERS, TWRITERS + TREADERS);
	printf("stress_pipe: %s, %s: %lu messages\n", forked ? "fork" : "threads",
	    polling ? "polling" : "blocking", traffic_check(t));
	fflush(stdout);
	crew_end(&c);
	traffic_free(t);
	MUST(str_close(fd[0]));
	MUST(str_close(fd[1]));
}

int
main(int argc, char **argv)
{
	bool threads, forks;
	long ms;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	ms = stress_ms() / (2 * (threads + forks));
	for (int polling = 0; polling < 2; polling++) {
		if (threads)
			run(false, polling, ms);
		if (forks)
			run(true, polling, ms);
	}
	return 0;
}
