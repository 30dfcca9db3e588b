/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_stop.c [fork]: SIGSTOP and SIGCONT at random instants (DESIGN §6).
 *
 * Two writers and two readers share a pipe, a plumber pushes and pops a module on
 * it and opens and closes descriptors of it, a bystander uses another pipe.  One of
 * the first five is stopped again and again, mostly for a moment, every tenth time
 * for longer than what makes others give up waiting.
 *
 * Every call of the plumber returns in time, though perhaps with ETIME; the bystander
 * is not held up, but by who was stopped while it took memory from the arena; after
 * SIGCONT all go on, and no message is lost, doubled or out of order.
 *
 * USTR_STRESS_SECONDS (3), or USTR_STRESS_COUNT rounds.
 */
#include "stresslib.h"

#include <signal.h>

enum { PLUMBER = TWRITERS + TREADERS, BYSTANDER, WORKERS };
enum { LONG_MS = 250, GIVE_UP_MS = 100, SLACK_MS = 20000 };

struct job {
	struct traffic *j_traffic;
	int j_other[2];
	atomic_bool j_stop;
	atomic_ulong j_etime;	 /* calls of the plumber that gave up */
	atomic_ulong j_plumbed;	 /* and that did not */
	atomic_ulong j_exchanged; /* by the bystander */
};

static void
in_time(const char *what, long since)
{
	long took = stress_now() - since;

	if (took > LONG_MS + GIVE_UP_MS + SLACK_MS)
		DIE("%s took %ld ms", what, took);
}

static bool
plumbed(struct job *j, const char *what, int r, long since)
{
	in_time(what, since);
	if (r == 0) {
		atomic_fetch_add(&j->j_plumbed, 1);
		return true;
	}
	if (errno != ETIME)
		DIE("%s: %s", what, strerrorname_np(errno));
	atomic_fetch_add(&j->j_etime, 1);
	return false;
}

static void
plumber(struct job *j, int tick)
{
	int fd = j->j_traffic->t_fd[0];
	bool pushed = false;

	while (!atomic_load(&j->j_stop) || pushed) {
		long since = stress_now();

		if (!pushed)
			pushed = plumbed(j, "a push", str_ioctl(fd, I_PUSH, "nullmod"), since);
		else
			pushed = !plumbed(j, "a pop", str_ioctl(fd, I_POP, 0), since);
		since = stress_now();
		MUST(str_close((int)MUST(str_dup(fd))));
		in_time("a close", since);
		crew_tick(tick);
	}
}

static void
bystander(struct job *j, int tick)
{
	char c = 0;

	while (!atomic_load(&j->j_stop)) {
		MUST(str_write(j->j_other[0], &c, 1));
		MUST(str_read(j->j_other[1], &c, 1));
		atomic_fetch_add(&j->j_exchanged, 1);
		crew_tick(tick);
	}
}

static void
work(int who, void *arg)
{
	struct job *j = arg;

	if (who < TWRITERS)
		traffic_write(j->j_traffic, who, who);
	else if (who < PLUMBER)
		traffic_read(j->j_traffic, who - TWRITERS, who);
	else if (who == PLUMBER)
		plumber(j, who);
	else
		bystander(j, who);
}

/* Stop one; true: for long, and *held: the bystander came to a stand as well. */
static bool
stop_one(struct job *j, struct crew *c, unsigned int rnd, long n, bool *held)
{
	pid_t pid = c->c_pid[(rnd >> 20) % BYSTANDER];
	bool is_long = n % 10 == 9;
	unsigned long before;

	usleep((rnd >> 8) % 2000);
	MUST(kill(pid, SIGSTOP));
	stress_sleep(is_long ? LONG_MS / 3 : (int)(rnd >> 4) % 3);
	before = atomic_load(&j->j_exchanged);
	if (is_long)
		stress_sleep(LONG_MS * 2 / 3);
	*held = is_long && atomic_load(&j->j_exchanged) == before;
	MUST(kill(pid, SIGCONT));
	return is_long;
}

static void
end_traffic(struct job *j, struct crew *c)
{
	atomic_store(&j->j_traffic->t_stop, true);
	crew_join(c, 0, TWRITERS);
	atomic_store(&j->j_stop, true);
	crew_join(c, PLUMBER, WORKERS);
	traffic_finish(j->j_traffic);
	crew_join(c, TWRITERS, PLUMBER);
}

int
main(int argc, char **argv)
{
	struct job *j = shared_memory(sizeof(*j));
	long n, rounds = stress_count(0), nlong = 0, nheld = 0, until = stress_now() + stress_ms();
	unsigned int rnd = (unsigned int)getpid();
	bool threads, forks, held;
	unsigned long sent;
	struct crew c;
	int fd[2];

	if (!stress_modes(argc, argv, &threads, &forks) || !forks)
		return 77;
	MUST(str_pipe(fd));
	MUST(str_pipe(j->j_other));
	j->j_traffic = traffic_make(fd, false);
	crew_start(&c, true, WORKERS, work, j, fd, "stress_stop");
	for (n = 0; rounds > 0 ? n < rounds : stress_now() < until; n++) {
		rnd = rnd * 1103515245u + 12345u;
		nlong += stop_one(j, &c, rnd, n, &held);
		nheld += held;
	}
	end_traffic(j, &c);
	sent = traffic_check(j->j_traffic);
	printf("stress_stop: %ld stops, %ld of them long; %lu messages, none lost; %lu pushes "
	       "and pops, %lu gave up; the bystander was held up %ld times\n",
	    n, nlong, sent, atomic_load(&j->j_plumbed), atomic_load(&j->j_etime), nheld);
	/* Without caches every message takes memory from the arena. */
	if (strstr(ustr_version(), "buffer_cache=no") == NULL && nheld > 2 + nlong / 10)
		DIE("who was stopped held up another stream");
	crew_end(&c);
	return 0;
}
