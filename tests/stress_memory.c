/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_memory.c [threads|fork|both]: messages allocated by one worker and
 * freed by another, 10,000,000 in all (USTR_STRESS_COUNT; less when
 * USTR_STRESS_SECONDS is given and over): once warm, the arena grows no more.
 */
#include "stresslib.h"

enum { WINDOW = 8192, SLACK = 512 * 1024 };

struct job {
	int j_fd[2];
	bool j_mixed;	     /* sizes 0..2000, or 40 bytes */
	long j_count, j_end; /* messages; stress_now() to stop at, or 0 */
	atomic_bool j_warm;  /* the first tenth is through */
	_Atomic long j_done; /* messages freed */
};

static bool
over(const struct job *j)
{
	return j->j_end != 0 && stress_now() >= j->j_end;
}

/* An empty M_PROTO ends the stream. */
static void
allocate(struct job *j)
{
	unsigned int rnd = 1;
	mblk_t *mp;

	for (long i = 0; i < j->j_count && (i % 1024 != 0 || !over(j)); i++) {
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
	bool last = false;

	while (!last) {
		mblk_t *mp;

		MUST(str_getmblk(j->j_fd[1], &mp));
		last = mp->b_datap->db_type == M_PROTO;
		freemsg(mp);
		crew_tick(1);
		if (atomic_fetch_add_explicit(&j->j_done, 1, memory_order_relaxed) ==
		    j->j_count / 10)
			atomic_store(&j->j_warm, true);
	}
	atomic_store(&j->j_warm, true);
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

static void
run(bool forked, bool mixed, long count, long ms)
{
	struct job *j = shared_memory(sizeof(*j));
	struct ustr_memstat warm, end;
	struct crew c;
	long start = stress_now();

	j->j_mixed = mixed;
	j->j_count = count;
	j->j_end = ms != 0 ? start + ms : 0;
	MUST(str_pipe(j->j_fd));
	MUST(str_ioctl(j->j_fd[1], I_SET_LOWAT, WINDOW / 4));
	MUST(str_ioctl(j->j_fd[1], I_SET_HIWAT, WINDOW));
	fill_and_drain(j->j_fd);
	crew_start(&c, forked, 2, work, j, j->j_fd, "stress_memory");
	while (!atomic_load(&j->j_warm) && stress_now() - start < STALL_MS)
		stress_sleep(1);
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
	long count, ms = 0;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	count = stress_count(10000000) / (2 * (threads + forks)) + 10;
	if (getenv("USTR_STRESS_SECONDS") != NULL)
		ms = stress_ms() / (2 * (threads + forks));
	for (int mixed = 0; mixed < 2; mixed++) {
		if (threads)
			run(false, mixed, count, ms);
		if (forks)
			run(true, mixed, count, ms);
	}
	return 0;
}
