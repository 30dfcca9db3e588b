/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_trace.c [threads|fork|both]: four writers to one recorded stream, whose
 * ring is small, and two tappers, one that keeps up as well as it can and one that
 * is always late.  USTR_STRESS_COUNT messages in all (1,000,000).
 *
 * Every event a tapper gets must be whole: the message in it says who sent it, which
 * it is and how long it is, and its last word is a check of the others.  And none
 * may go unnoticed: what was got and what was lost are together what happened.
 */
#include "stresslib.h"

#include <sched.h>

enum { WRITERS = 4, TAPPERS = 2, CREW = WRITERS + 1 + TAPPERS, RECORDS = 256 };

struct job {
	int j_fd[2];
	long j_each;		/* messages of a writer */
	unsigned int j_id;	/* the stream that is tapped */
	atomic_uint j_tapping;	/* tappers that have begun */
	atomic_ulong j_got[TAPPERS], j_lost[TAPPERS];
};

struct word {
	uint32_t w_who, w_len;
	uint64_t w_seq, w_check;
};

static uint64_t
check_of(const struct word *w)
{
	return (w->w_seq * 0x9e3779b97f4a7c15u) ^ w->w_who ^ (uint64_t)w->w_len << 40;
}

static void
write_messages(struct job *j, int who)
{
	char buf[512];

	memset(buf, who, sizeof(buf));
	for (long i = 0; i < j->j_each; i++) {
		struct word w = {(uint32_t)who, 0, (uint64_t)i, 0};
		ssize_t n;

		w.w_len = (uint32_t)(sizeof(w) + (size_t)(i * 7 + who) % (sizeof(buf) - sizeof(w)));
		w.w_check = check_of(&w);
		memcpy(buf, &w, sizeof(w));
		while ((n = str_write(j->j_fd[0], buf, w.w_len)) == -1 && errno == EINTR)
			;
		if (n != (ssize_t)w.w_len)
			DIE("writer %d: %zd: %s", who, n, strerror(errno));
		crew_tick(who);
	}
}

static void
read_messages(struct job *j, int who)
{
	char buf[512];

	for (long i = 0; i < j->j_each * WRITERS; i++) {
		if (str_read(j->j_fd[1], buf, sizeof(buf)) < (ssize_t)sizeof(struct word))
			DIE("reader: %s", strerror(errno));
		crew_tick(who);
	}
}

static void
judge(const struct ustr_event *ev, uint64_t at)
{
	struct word w;

	memcpy(&w, ev->ev_bytes, sizeof(w));
	if (ev->ev_seq < at)
		DIE("event %llu after %llu", (unsigned long long)ev->ev_seq,
		    (unsigned long long)at - 1);
	if (ev->ev_type == M_HANGUP)
		return;
	if (ev->ev_ndata < sizeof(w) || w.w_check != check_of(&w) || w.w_len != ev->ev_data ||
	    w.w_who >= WRITERS || ev->ev_stream == 0 ||
	    (ev->ev_what != USTR_EV_PUT && ev->ev_what != USTR_EV_GET))
		DIE("event %llu is torn: what %u, %u bytes, writer %u, number %llu",
		    (unsigned long long)ev->ev_seq, ev->ev_what, ev->ev_data, w.w_who,
		    (unsigned long long)w.w_seq);
	for (unsigned int k = sizeof(w); k < ev->ev_ndata; k++)
		if (ev->ev_bytes[k] != w.w_who)
			DIE("event %llu is torn: byte %u", (unsigned long long)ev->ev_seq, k);
}

static void
tap_events(struct job *j, int who, int n)
{
	ustr_tap_t *tap = ustr_tap_open(j->j_id, RECORDS);
	uint64_t at = 0, got = 0, all = 2 * (uint64_t)j->j_each * WRITERS;
	struct ustr_event ev;

	if (tap == NULL)
		DIE("ustr_tap_open: %s", strerror(errno));
	atomic_fetch_add(&j->j_tapping, 1);
	while (got + ustr_tap_lost(tap) < all) {
		int r = ustr_tap_read(tap, &ev);

		crew_tick(who);
		if (r == -1)
			DIE("tapper %d: %s", n, strerror(errno));
		if (r == 1) {
			judge(&ev, at);
			at = ev.ev_seq + 1;
			got++;
		}
		if (n == 1 && (r == 0 || got % 200 == 0))
			stress_sleep(1);
		else if (r == 0)
			sched_yield();
	}
	atomic_store(&j->j_got[n], got);
	atomic_store(&j->j_lost[n], ustr_tap_lost(tap));
	ustr_tap_close(tap);
}

static void
work(int who, void *arg)
{
	struct job *j = arg;

	if (who > WRITERS) {
		tap_events(j, who, who - WRITERS - 1);
		return;
	}
	/* From the first message on, or the sums would not be known. */
	while (atomic_load(&j->j_tapping) < TAPPERS)
		stress_sleep(1);
	if (who < WRITERS)
		write_messages(j, who);
	else
		read_messages(j, who);
}

static void
run(bool forked, long count)
{
	struct job *j = shared_memory(sizeof(*j));
	struct crew c;
	long start = stress_now();

	j->j_each = count / WRITERS;
	MUST(str_pipe(j->j_fd));
	MUST(str_ioctl(j->j_fd[1], I_SRDOPT, RMSGD));
	j->j_id = (unsigned int)MUST(ustr_streamid(j->j_fd[1]));
	crew_start(&c, forked, CREW, work, j, j->j_fd, "stress_trace");
	crew_join(&c, 0, CREW);
	for (int n = 0; n < TAPPERS; n++)
		printf("stress_trace: %s, %ld messages, tapper %d: %lu events, %lu lost, %ld ms\n",
		    forked ? "fork" : "threads", j->j_each * WRITERS, n, atomic_load(&j->j_got[n]),
		    atomic_load(&j->j_lost[n]), stress_now() - start);
	fflush(stdout);
	crew_end(&c);
	MUST(str_close(j->j_fd[0]));
	MUST(str_close(j->j_fd[1]));
}

int
main(int argc, char **argv)
{
	bool threads, forks;
	long count;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	count = stress_count(1000000) / (threads + forks);
	if (threads)
		run(false, count);
	if (forks)
		run(true, count);
	return 0;
}
