/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_case.c: cases in processes of their own, and their lines. */
#include "strtest_case.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "strtest_actor.h"
#include "strtest_args.h"
#include "strtest_draw.h"
#include "strtest_signal.h"

#define GRACE 5.0 /* seconds a hung case has for its own report */

static struct {
	int number;
	bool failed, broken;
} totals;

static volatile sig_atomic_t group; /* of the running case */

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
	if (pthread_create(&w->thread, NULL, watch, w) != 0)
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

static void
carry_out(struct run *r, const struct command *block, double timeout)
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

static _Noreturn void
child(struct run *r, const struct command *block, double timeout, pid_t parent)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_BROKEN);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	carry_out(r, block, timeout);
	_exit(EXIT_OK);
}

/* ---- in the process that prints ------------------------------------------------------- */

struct text {
	char *bytes;
	size_t len;
};

/* Take what is there; false at the end of file. */
static bool
take(struct text *t, int fd)
{
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n <= 0)
		return n == -1 && errno == EINTR;
	t->bytes = realloc(t->bytes, t->len + (size_t)n);
	if (t->bytes == NULL)
		abort();
	memcpy(t->bytes + t->len, buf, (size_t)n);
	t->len += (size_t)n;
	return true;
}

/* Read the report until its end, the end of the process or the time is up. */
static bool
listen_to(struct text *t, int fd, pid_t pid, int *status, double seconds)
{
	long long until = run_now() + (long long)(seconds * 1e6);
	struct pollfd p = {fd, POLLIN, 0};
	bool ended = false, open_ = true;

	while (open_ && run_now() < until) {
		if (poll(&p, 1, ended ? 0 : 50) > 0)
			open_ = take(t, fd);
		else if (ended)
			return true;
		else
			ended = waitpid(pid, status, WNOHANG) == pid;
	}
	while (!ended && run_now() < until) {
		unsigned int step = 0;

		ended = waitpid(pid, status, WNOHANG) == pid;
		if (!ended)
			run_nap(&step);
	}
	return ended;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void
say(const char *sentence, struct shared *s, const struct text *report)
{
	bool good = !atomic_load(&s->failed) && !atomic_load(&s->broken);

	printf("%sok %d - %s%s%s\n", good ? "" : "not ", totals.number, sentence,
	    good && atomic_load(&s->skipped) ? " # SKIP " : "",
	    good && atomic_load(&s->skipped) ? s->reason : "");
	if (report->len > 0)
		fwrite(report->bytes, 1, report->len, stdout);
	fflush(stdout);
	totals.failed |= !good;
	totals.broken |= atomic_load(&s->broken) != 0;
}

/* The process of a case was ended, or did not end: where it was then. */
static void
say_end(struct run *r, bool ended, int status)
{
	r->report = STDOUT_FILENO;
	if (ended)
		run_report(r, "the case was ended by signal %d (%s)", WTERMSIG(status),
		    strsignal(WTERMSIG(status)));
	else
		run_report(r, "the case did not end");
	case_report_places(r);
}

static void
in_child(struct run *r, const char *sentence, const struct command *block, double timeout)
{
	struct text report = {NULL, 0};
	pid_t pid, self = getpid();
	int fd[2], status = 0;
	bool ended, bad;

	fflush(stdout);
	if (pipe(fd) == -1 || (pid = fork()) == -1) {
		complain("a case cannot begin: %s", strerror(errno));
		exit(EXIT_BROKEN);
	}
	if (pid == 0) {
		close(fd[0]);
		r->report = fd[1];
		child(r, block, timeout, self);
	}
	close(fd[1]);
	group = pid;
	ended = listen_to(&report, fd[0], pid, &status, timeout + GRACE);
	close(fd[0]);
	kill(-pid, SIGKILL);
	if (!ended) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	group = 0;
	bad = !ended || !WIFEXITED(status);
	if (bad)
		atomic_store(&r->shared->failed, 1);
	say(sentence, r->shared, &report);
	if (bad)
		say_end(r, ended, status);
	free(report.bytes);
}

static void
in_this_process(
    struct run *r, const char *sentence, const struct command *block, double timeout)
{
	static const struct text nothing;

	r->report = STDOUT_FILENO;
	fflush(stdout);
	carry_out(r, block, timeout);
	handles_free(r->handles);
	say(sentence, r->shared, &nothing);
}

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

static void
interrupted(int sig)
{
	if (group > 0)
		kill(-(pid_t)group, SIGKILL);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Shared memory, and the name of its directory. */
static void
prepare(struct run *r)
{
	const char *where = getenv("TMPDIR");

	r->shared = new_shared();
	r->tmp = pool_printf(&pool_forever, "%s/strtest.%d.%d",
	    where != NULL && *where != '\0' ? where : "/tmp", (int)getpid(),
	    totals.number);
}

static void
clear_away(struct run *r)
{
	if (access(r->tmp, F_OK) == 0)
		nftw(r->tmp, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	run_forget(r, NULL);
	munmap(r->shared, sizeof(*r->shared));
}

void
case_open(struct run *r)
{
	prepare(r);
	furnish(r);
}

void
case_close(struct run *r)
{
	actor_wait_all(r);
	handles_close_all(r->handles);
	handles_free(r->handles);
	clear_away(r);
}

void
case_run(
    struct run *outer, const char *sentence, const struct command *block, double timeout)
{
	struct run r = {.script = outer->script};

	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	totals.number++;
	sentence = pool_copy(&pool_forever, sentence, strlen(sentence));
	prepare(&r);
	run_copy_variables(&r, outer);
	if (options.in_process)
		in_this_process(&r, sentence, block, timeout);
	else
		in_child(&r, sentence, block, timeout);
	clear_away(&r);
}

void
case_whole(struct run *r, const struct script *s)
{
	if (options.only == NULL || strstr(s->file, options.only) != NULL)
		case_run(r, s->file, s->commands, options.timeout * options.slow);
}

void
case_skip_rest(const char *file, const char *reason)
{
	printf("ok %d - the rest of %s # SKIP %s\n", ++totals.number, file, reason);
}

void
case_mark_broken(bool broken)
{
	totals.broken |= broken;
}

int
case_plan(void)
{
	printf("1..%d%s\n", totals.number, totals.number == 0 ? " # SKIP no case" : "");
	return totals.broken ? EXIT_BROKEN : totals.failed ? EXIT_FAILED : EXIT_OK;
}
