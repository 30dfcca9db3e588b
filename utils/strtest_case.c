/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_case.c: what a case has: shared memory, slots, a watchdog, an end. */
#include "strtest_case.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "strtest_actor.h"
#include "strtest_args.h"
#include "strtest_draw.h"
#include "strtest_signal.h"

/* ---- slots ----------------------------------------------------------------------- */

struct slot *
case_slot(struct shared *s, const char *name)
{
	for (int i = 0; i < MAX_SLOTS; i++) {
		int free_ = 0;

		if (!atomic_compare_exchange_strong(&s->slots[i].used, &free_, 1))
			continue;
		atomic_store(&s->slots[i].at, NULL);
		atomic_store(&s->slots[i].tid, 0);
		atomic_store(&s->slots[i].finished, false);
		snprintf(s->slots[i].name, sizeof(s->slots[i].name), "%s", name);
		return &s->slots[i];
	}
	return NULL;
}

void
case_report_places(struct run *r)
{
	for (int i = 0; i < MAX_SLOTS; i++) {
		struct slot *s = &r->shared->slots[i];
		const struct command *c = atomic_load(&s->at);

		if (atomic_load(&s->used) && !atomic_load(&s->finished) && c != NULL)
			run_report(r, "  %s is at %s:%d: %s", s->name, c->at.file,
			    c->at.line, c->source);
	}
}

/* ---- the watchdog ------------------------------------------------------------------ */

struct watchdog {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool done;
	double seconds;
	struct run *run;
};

static void
bark(struct watchdog *w)
{
	struct run r = *w->run;

	r.pool = (struct pool){NULL};
	atomic_store(&r.shared->failed, 1);
	run_report(&r, "the case takes longer than %g s", w->seconds);
	case_report_places(&r);
	draw_all(&r);
	if (options.in_process)
		printf("Bail out! a case hangs\n");
	fflush(stdout);
	_exit(EXIT_FAILED);
}

static void *
watch(void *arg)
{
	struct watchdog *w = arg;
	struct timespec until;
	int error = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)w->seconds;
	until.tv_nsec += (long)((w->seconds - (double)(time_t)w->seconds) * 1e9);
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	pthread_mutex_lock(&w->lock);
	while (!w->done && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&w->over, &w->lock, &until);
	if (!w->done)
		bark(w);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void
watchdog_start(struct watchdog *w, struct run *r, double seconds)
{
	pthread_condattr_t attr;
	sigset_t all, old;

	w->run = r;
	w->seconds = seconds;
	w->done = false;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->over, &attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (thread_begin(&w->thread, watch, w) != 0)
		w->done = true;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void
watchdog_stop(struct watchdog *w)
{
	bool runs;

	pthread_mutex_lock(&w->lock);
	runs = !w->done;
	w->done = true;
	pthread_cond_signal(&w->over);
	pthread_mutex_unlock(&w->lock);
	if (runs)
		pthread_join(w->thread, NULL);
}

/* ---- in the process of the case ------------------------------------------------------ */

/* What every case has, wherever it runs. */
static void
furnish(struct run *r)
{
	r->slot = case_slot(r->shared, "the case");
	atomic_store(&r->slot->pid, getpid());
	atomic_store(&r->slot->tid, getpid());
	r->handles = handles_new();
	r->draws = true;
}

void
case_carry_out(struct run *r, const struct command *block, double timeout)
{
	struct frame frame = {.quiet = false};
	struct watchdog dog;

	furnish(r);
	signal_begin();
	watchdog_start(&dog, r, timeout);
	if (run_guarded(r, &frame, block) != 0)
		actor_kill_all();
	actor_wait_all(r);
	handles_close_all(r->handles);
	watchdog_stop(&dog);
}

/* ---- memory and files of a case --------------------------------------------------------- */

static struct shared *
new_shared(void)
{
	struct shared *s = mmap(
	    NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED) {
		complain("no memory for a case: %s", strerror(errno));
		exit(EXIT_BROKEN);
	}
	return s;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

void
case_prepare(struct run *r)
{
	static int number;
	const char *where = getenv("TMPDIR");

	r->shared = new_shared();
	r->tmp = pool_printf(&pool_forever, "%s/strtest.%d.%d",
	    where != NULL && *where != '\0' ? where : "/tmp", (int)getpid(), ++number);
}

void
case_clear_away(struct run *r)
{
	if (access(r->tmp, F_OK) == 0)
		nftw(r->tmp, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	run_forget(r, NULL);
	munmap(r->shared, sizeof(*r->shared));
}

void
case_open(struct run *r)
{
	case_prepare(r);
	furnish(r);
}

void
case_close(struct run *r)
{
	actor_wait_all(r);
	handles_close_all(r->handles);
	handles_free(r->handles);
	case_clear_away(r);
}
