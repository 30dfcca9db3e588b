/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_plumb.c [threads|fork|both]: two writers and two readers on one pipe,
 * while two plumbers, one at each end, push and pop nullmod, duplicate and close
 * the descriptor, and open and close pipes and devices of their own.  No message
 * is lost, doubled or out of order.  30 s in all, unless USTR_STRESS_SECONDS says
 * otherwise.
 */
#include "stresslib.h"

enum { PLUMBERS = 2, DEEPEST = 6 };

/* A pipe opened, used and closed. */
static void
other_pipe(void)
{
	char buf[8];
	int fd[2];

	MUST(str_pipe(fd));
	MUST(str_ioctl(fd[0], I_PUSH, "nullmod"));
	if (MUST(str_write(fd[0], "plumber", 7)) != 7 ||
	    MUST(str_read(fd[1], buf, 8)) != 7)
		DIE("another pipe lost its message");
	MUST(str_close(fd[0]));
	if (MUST(str_read(fd[1], buf, 8)) != 0)
		DIE("another pipe is not hung up");
	MUST(str_close(fd[1]));
}

/* A device opened twice, written, read through the other descriptor and closed. */
static void
other_device(void)
{
	char buf[8];
	int a = (int)MUST(str_open("/dev/streams/clone/echo", O_RDWR)), b = str_dup(a);

	MUST(b);
	MUST(str_ioctl(a, I_PUSH, "pipemod"));
	if (MUST(str_write(a, "echo", 4)) != 4)
		DIE("a device takes no message");
	MUST(str_close(a));
	if (MUST(str_read(b, buf, 8)) != 4)
		DIE("a device lost its message");
	MUST(str_close(b));
}

/* One more descriptor of the busy stream, for a moment. */
static void
another_descriptor(int fd)
{
	int copy = str_dup(fd);

	MUST(copy);
	MUST(str_ioctl(copy, I_CANPUT, 0));
	MUST(str_close(copy));
}

static void
plumb(struct traffic *t, int end, int tick)
{
	unsigned int rnd = 77u + (unsigned)end;
	int depth = 0;

	while (!atomic_load(&t->t_stop)) {
		rnd = rnd * 1103515245u + 12345u;
		if (depth == 0 || (depth < DEEPEST && rnd >> 31)) {
			MUST(str_ioctl(t->t_fd[end], I_PUSH, "nullmod"));
			depth++;
		} else {
			MUST(str_ioctl(t->t_fd[end], I_POP, 0));
			depth--;
		}
		switch (rnd >> 24 & 15) {
		case 0:
			other_pipe();
			break;
		case 1:
			other_device();
			break;
		case 2:
			another_descriptor(t->t_fd[end]);
			break;
		}
		if (MUST(str_ioctl(t->t_fd[end], I_LIST, NULL)) != depth)
			DIE("%d modules were pushed", depth);
		crew_tick(tick);
	}
	for (; depth > 0; depth--)
		MUST(str_ioctl(t->t_fd[end], I_POP, 0));
}

/* Workers 0 and 1 write, 2 and 3 read, 4 and 5 plumb. */
static void
work(int who, void *arg)
{
	if (who < TWRITERS)
		traffic_write(arg, who, who);
	else if (who < TWRITERS + TREADERS)
		traffic_read(arg, who - TWRITERS, who);
	else
		plumb(arg, who - TWRITERS - TREADERS, who);
}

static void
run(bool forked, bool polling, long ms)
{
	struct traffic *t;
	struct crew c;
	unsigned long plumbed = 0;
	int fd[2];

	MUST(str_pipe(fd));
	t = traffic_make(fd, polling);
	crew_start(
	    &c, forked, TWRITERS + TREADERS + PLUMBERS, work, t, fd, "stress_plumb");
	stress_sleep((int)ms);
	atomic_store(&t->t_stop, true);
	crew_join(&c, 0, TWRITERS);
	crew_join(&c, TWRITERS + TREADERS, TWRITERS + TREADERS + PLUMBERS);
	traffic_finish(t);
	crew_join(&c, TWRITERS, TWRITERS + TREADERS);
	for (int i = 0; i < PLUMBERS; i++)
		plumbed += atomic_load(&c.c_shared[TWRITERS + TREADERS + i].progress);
	printf("stress_plumb: %s, %s: %lu messages, %lu pushes and pops\n",
	    forked ? "fork" : "threads", polling ? "polling" : "blocking",
	    traffic_check(t), plumbed);
	fflush(stdout);
	if (plumbed == 0)
		DIE("the plumbers did nothing");
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
	ms = stress_ms_or(30) / (2 * (threads + forks));
	for (int polling = 0; polling < 2; polling++) {
		if (threads)
			run(false, polling, ms);
		if (forks)
			run(true, polling, ms);
	}
	return 0;
}
