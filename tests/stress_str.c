/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_str.c [threads|fork|both]: many ask one driver at the same time.
 *
 * Each worker's questions carry numbers of its own, and each answer must be to
 * the question asked: at once, late, too late (then the time is over and the
 * answer is nobody's), by way of copies to and from the worker's own memory,
 * or given up because of a signal.  USTR_STRESS_SECONDS (3).
 */
#include "stresslib.h"

#include <signal.h>
#include <sys/testmod.h>

enum { ASKERS = 4, LIMIT_MS = 4 };

static atomic_ulong *counts; /* shared: answered, timed out, interrupted */
static struct {
	atomic_int s_pid;
	atomic_int s_tid;
} *askers; /* shared */

struct job {
	int j_fd[2];
	long j_end;
};

/* Data of a question: result, who, and which. */
struct words {
	int w_rval;
	int w_who;
	long w_which;
};

static void
other_end(int who, const char *what)
{
	if (errno != ETIME && errno != EINTR)
		DIE("worker %d, %s: %s", who, what, strerrorname_np(errno));
	atomic_fetch_add(&counts[errno == ETIME ? 1 : 2], 1);
}

/* TM_ACK, or TM_DELAY after about as long as is waited. */
static void
ask(const struct job *j, int who, long which, bool delayed)
{
	struct {
		int ms;
		struct words w;
	} __attribute__((packed)) late = {(int)(which % (2 * LIMIT_MS)),
	    {(int)(which & 0xffffff), who, which}};
	struct words now = late.w, got;
	struct strioctl ic = {delayed ? TM_DELAY : TM_ACK, 0, delayed ? sizeof(late) : sizeof(now),
	    delayed ? (char *)&late : (char *)&now};
	int r = str_ioctl(j->j_fd[0], I_STR, &ic);

	if (r == -1) {
		other_end(who, delayed ? "TM_DELAY" : "TM_ACK");
		return;
	}
	memcpy((char *)&got + sizeof(int), ic.ic_dp, sizeof(got) - sizeof(int));
	if (r != (int)(which & 0xffffff) || ic.ic_len != sizeof(got) - sizeof(int) ||
	    got.w_who != who || got.w_which != which)
		DIE("worker %d, question %ld: result %d of %d bytes, that of worker %d, %ld", who,
		    which, r, ic.ic_len, got.w_who, got.w_which);
	atomic_fetch_add(&counts[0], 1);
}

/* A dialogue: 8 bytes in, each one more, out again. */
static void
copy(const struct job *j, int who, long which)
{
	unsigned char b[8];
	int r;

	for (int i = 0; i < 8; i++)
		b[i] = (unsigned char)(who * 50 + which + i);
	r = str_ioctl(j->j_fd[0], TM_COPYINOUT, b);
	if (r == -1) {
		other_end(who, "TM_COPYINOUT");
		return;
	}
	for (int i = 0; i < 8; i++)
		if (r != 8 || b[i] != (unsigned char)(who * 50 + which + i + 1))
			DIE("worker %d, copy %ld: result %d, byte %d is %d", who, which, r, i, b[i]);
	atomic_fetch_add(&counts[0], 1);
}

static void
mute(const struct job *j, int who, bool answer)
{
	struct strioctl ic = {answer ? TM_ANSWER : TM_MUTE, 0, 0, NULL};

	if (str_ioctl(j->j_fd[0], I_STR, &ic) == -1)
		other_end(who, "TM_MUTE");
}

static void
interrupt(int sig)
{
	(void)sig;
}

/* A signal to each in turn. */
static void
nag(const struct job *j)
{
	for (int i = 0; stress_now() < j->j_end - 100; i = (i + 1) % ASKERS) {
		int pid = atomic_load(&askers[i].s_pid);

		if (pid != 0)
			(void)tgkill(pid, atomic_load(&askers[i].s_tid), SIGUSR1);
		stress_sleep(2);
		crew_tick(ASKERS);
	}
}

static void
work(int who, void *arg)
{
	const struct job *j = arg;

	if (who == ASKERS) {
		nag(j);
		return;
	}
	atomic_store(&askers[who].s_tid, gettid());
	atomic_store(&askers[who].s_pid, getpid());
	for (long which = 1; stress_now() < j->j_end; which++) {
		if (which % 32 == 5)
			mute(j, who, false);
		else if (which % 32 == 6)
			mute(j, who, true);
		else if (which % 4 == 3)
			copy(j, who, which);
		else
			ask(j, who, which, which % 8 == 1);
		crew_tick(who);
	}
	atomic_store(&askers[who].s_pid, 0);
}

static void
run(bool forked)
{
	struct job j = {.j_end = stress_now() + stress_ms()};
	struct strioctl ic = {TM_ACK, 0, 0, NULL};
	struct crew c;

	memset((void *)counts, 0, 3 * sizeof(*counts));
	j.j_fd[0] = (int)MUST(str_open("/dev/streams/clone/echo", O_RDWR));
	j.j_fd[1] = (int)MUST(str_dup(j.j_fd[0]));
	MUST(str_ioctl(j.j_fd[0], I_PUSH, "testmod"));
	MUST(ustr_tune("ioctltime", LIMIT_MS));
	crew_start(&c, forked, ASKERS + 1, work, &j, j.j_fd, "stress_str");
	crew_join(&c, 0, ASKERS + 1);
	MUST(ustr_tune("ioctltime", 15000));
	/* The turn is free, and nothing is left of it all. */
	MUST(str_ioctl(j.j_fd[0], I_STR, &ic));
	if (MUST(str_ioctl(j.j_fd[0], I_NREAD, &(int){0})) != 0)
		DIE("messages are left");
	printf("stress_str: %s: %lu answered, %lu timed out, %lu interrupted\n",
	    forked ? "fork" : "threads", counts[0], counts[1], counts[2]);
	fflush(stdout);
	if (counts[0] == 0 || counts[1] == 0 || counts[2] == 0)
		DIE("not everything was tried");
	crew_end(&c);
	MUST(str_close(j.j_fd[0]));
	MUST(str_close(j.j_fd[1]));
}

int
main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = interrupt};
	bool threads, forks;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	counts = shared_memory(3 * sizeof(*counts));
	askers = shared_memory(ASKERS * sizeof(*askers));
	if (threads)
		run(false);
	if (forks)
		run(true);
	return 0;
}
