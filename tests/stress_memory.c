/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_memory.c [threads|fork|both]: messages allocated by one worker and
 * freed by another, USTR_STRESS_COUNT in all (10,000,000) or what
 * USTR_STRESS_SECONDS (20) are enough for, but 5,000 a run: once warm, the arena
 * grows no more.
 */
#include "stresslib.h"

enum { WINDOW = 8192, SLACK = 512 * 1024, LEAST = 5000 };

struct job {
	int j_fd[2];
	bool j_mixed; /* sizes 0..2000, or 40 bytes */
	struct quota j_quota;
	atomic_bool j_warm;  /* the first tenth, of the count or the time, is through */
	_Atomic long j_done; /* messages freed */
};

/* After that many messages. */
static bool
is_warm(const struct quota *q, long done)
{
	return done >= q->q_most / 10 ||
	    (done >= q->q_least / 10 && stress_now() >= q->q_end - q->q_ms * 9 / 10);
}

/* An empty M_PROTO ends the stream. */
static void
allocate(struct job *j)
{
	unsigned int rnd = 1;
	mblk_t *mp;

	for (long i = 0; i % 256 != 0 || quota_more(&j->j_quota, i); i++) {
		size_t n = 40;

		rnd = rnd * 1103515245u + 12345u;
		if (j->j_mixed)
			n = (rnd >> 16) % 2000;
		mp = str_mblkalloc(n);
		if (mp == NULL)
			DIE("str_mblkalloc %ld: %s", i, strerrorname_np(errno));
		mp->b_wptr += n;
		MUST(str_putmblk(j->j_fd[0], mp));
		crew_tick(0);
	}
	mp = str_mblkalloc(1);
	if (mp == NULL)
		DIE("str_mblkalloc: %s", strerrorname_np(errno));
	mp->b_datap->db_type = M_PROTO;
	MUST(str_putmblk(j->j_fd[0], mp));
}

static void
release(struct job *j)
{
	for (;;) {
		mblk_t *mp;
		long done;
		bool last;

		MUST(str_getmblk(j->j_fd[1], &mp));
		last = mp->b_datap->db_type == M_PROTO;
		freemsg(mp);
		crew_tick(1);
		if (last)
			return;
		done = atomic_fetch_add_explicit(&j->j_done, 1, memory_order_relaxed) + 1;
		if (done % 256 == 0 && is_warm(&j->j_quota, done))
			atomic_store(&j->j_warm, true);
	}
}

static void
work(int who, void *arg)
{
	if (who == 0)
		allocate(arg);
	else
		release(arg);
}

/* The deepest the queue can get, once, before anything is measured. */
static void
fill_and_drain(const int fd[2])
{
	mblk_t *mp;

	MUST(str_fcntl(fd[0], F_SETFL, O_NONBLOCK));
	MUST(str_fcntl(fd[1], F_SETFL, O_NONBLOCK));
	while ((mp = str_mblkalloc(40)) != NULL && str_putmblk(fd[0], mp) == 0)
		;
	freemsg(mp);
	while (str_getmblk(fd[1], &mp) == 0)
		freemsg(mp);
	MUST(str_fcntl(fd[0], F_SETFL, 0));
	MUST(str_fcntl(fd[1], F_SETFL, 0));
}

/* No longer than a stall may last; who joins the workers tells it. */
static void
await_warm(const struct job *j)
{
	long done = -1, moved = stress_now();

	while (!atomic_load(&j->j_warm) && stress_now() - moved < STALL_MS) {
		if (atomic_load(&j->j_done) != done)
			moved = stress_now();
		done = atomic_load(&j->j_done);
		stress_sleep(1);
	}
}

static void
run(bool forked, bool mixed, const struct quota *quota)
{
	struct job *j = shared_memory(sizeof(*j));
	struct ustr_memstat warm, end;
	struct crew c;
	long start = stress_now();

	j->j_mixed = mixed;
	j->j_quota = *quota;
	MUST(str_pipe(j->j_fd));
	MUST(str_ioctl(j->j_fd[1], I_SET_LOWAT, WINDOW / 4));
	MUST(str_ioctl(j->j_fd[1], I_SET_HIWAT, WINDOW));
	fill_and_drain(j->j_fd);
	quota_begin(&j->j_quota);
	crew_start(&c, forked, 2, work, j, j->j_fd, "stress_memory");
	await_warm(j);
	MUST(ustr_memstat(&warm));
	crew_join(&c, 0, 2);
	MUST(ustr_memstat(&end));
	printf("stress_memory: %s, %s: %ld messages, %ld ms, used %zu at "
	       "first, %zu in the end\n",
	    forked ? "fork" : "threads", mixed ? "mixed sizes" : "40 bytes",
	    (long)j->j_done, stress_now() - start, warm.ms_used, end.ms_used);
	fflush(stdout);
	if (end.ms_used > warm.ms_used + SLACK)
		DIE("memory in use has grown by %zu bytes", end.ms_used - warm.ms_used);
	if (end.ms_leaked != 0)
		DIE("%zu bytes were given up", end.ms_leaked);
	crew_end(&c);
	MUST(str_close(j->j_fd[0]));
	MUST(str_close(j->j_fd[1]));
}

int
main(int argc, char **argv)
{
	bool threads, forks;
	struct quota quota;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	quota = quota_share(10000000, 20, 2 * (threads + forks), LEAST);
	for (int mixed = 0; mixed < 2; mixed++) {
		if (threads)
			run(false, mixed, &quota);
		if (forks)
			run(true, mixed, &quota);
	}
	return 0;
}
