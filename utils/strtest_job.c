/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_job.c: a ring of jobs.  The oldest is waited for when the ring holds
 * as many processes as are allowed, and at the end; so lines come in order.
 *
 * A case writes its report to a file without a name, through one descriptor
 * that its threads and children share, and with it the position.
 */
#include "strtest_job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strtest_args.h"
#include "strtest_case.h"

#define GRACE 5.0 /* seconds a hung case has for its own report */

struct job {
	pid_t pid; /* of the case, 0: only a line to print */
	struct run run;
	const char *sentence; /* or the line */
	int number;
	long long until; /* when it is killed */
};

static struct {
	struct job jobs[MAX_JOBS];
	unsigned int first, end; /* modulo MAX_JOBS */
	int running;		 /* processes among them */
} ring;

static struct {
	int number;
	bool failed, broken;
} totals;

static volatile pid_t groups[MAX_JOBS]; /* for the signal handler */

static void
interrupted(int sig)
{
	for (int i = 0; i < MAX_JOBS; i++)
		if (groups[i] > 0)
			kill(-groups[i], SIGKILL);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* ---- lines ------------------------------------------------------------------------ */

static void
say(int number, const char *sentence, struct shared *s)
{
	bool good = !atomic_load(&s->failed) && !atomic_load(&s->broken);
	bool skipped = good && atomic_load(&s->skipped);

	printf("%sok %d - %s%s%s\n", good ? "" : "not ", number, sentence,
	    skipped ? " # SKIP " : "", skipped ? s->reason : "");
	totals.failed |= !good;
	totals.broken |= atomic_load(&s->broken) != 0;
}

static void
print_report(int fd)
{
	char buf[4096];
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
	close(fd);
	fflush(stdout);
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

/* ---- the oldest job ----------------------------------------------------------------- */

/* Wait for its process and take what it left behind away; was it in time? */
static bool
await_end(const struct job *j, int *status)
{
	unsigned int step = 0;
	pid_t got;

	while ((got = waitpid(j->pid, status, WNOHANG)) == 0 && run_now() < j->until)
		run_nap(&step);
	kill(-j->pid, SIGKILL);
	if (got == 0) {
		kill(j->pid, SIGKILL);
		waitpid(j->pid, NULL, 0);
	}
	return got != 0;
}

static void
finish_case(struct job *j)
{
	int status = 0;
	bool ended = await_end(j, &status), bad = !ended || !WIFEXITED(status);

	ring.running--;
	groups[ring.first % MAX_JOBS] = 0;
	if (bad)
		atomic_store(&j->run.shared->failed, 1);
	say(j->number, j->sentence, j->run.shared);
	print_report(j->run.report);
	if (bad)
		say_end(&j->run, ended, status);
	case_clear_away(&j->run);
}

static void
finish_oldest(void)
{
	struct job *j = &ring.jobs[ring.first % MAX_JOBS];

	if (j->pid != 0)
		finish_case(j);
	else
		puts(j->sentence);
	fflush(stdout);
	ring.first++;
}

static struct job *
new_job(const char *sentence)
{
	struct job *j;

	while (ring.running == options.jobs || ring.end - ring.first == MAX_JOBS)
		finish_oldest();
	j = &ring.jobs[ring.end++ % MAX_JOBS];
	*j = (struct job){
	    .sentence = pool_copy(&pool_forever, sentence, strlen(sentence))};
	return j;
}

/* ---- a new one ------------------------------------------------------------------------ */

static _Noreturn void
child(struct job *j, const struct command *block, double timeout, pid_t parent)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_BROKEN);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	case_carry_out(&j->run, block, timeout);
	_exit(EXIT_OK);
}

static void
start(
    struct run *outer, const char *sentence, const struct command *block, double timeout)
{
	struct job *j = new_job(sentence);
	pid_t self = getpid();

	j->number = ++totals.number;
	j->run.script = outer->script;
	case_prepare(&j->run);
	run_copy_variables(&j->run, outer);
	fflush(stdout);
	j->run.report = memfd_create("report", MFD_CLOEXEC);
	if (j->run.report == -1 || (j->pid = fork()) == -1) {
		complain("a case cannot begin: %s", strerror(errno));
		exit(EXIT_BROKEN);
	}
	if (j->pid == 0)
		child(j, block, timeout, self);
	setpgid(j->pid, j->pid); /* whoever comes first */
	groups[(ring.end - 1) % MAX_JOBS] = j->pid;
	ring.running++;
	j->until = run_now() + (long long)((timeout + GRACE) * 1e6);
}

static void
carry_out_here(
    struct run *outer, const char *sentence, const struct command *block, double timeout)
{
	struct run r = {.script = outer->script, .report = STDOUT_FILENO};

	case_prepare(&r);
	run_copy_variables(&r, outer);
	fflush(stdout);
	case_carry_out(&r, block, timeout);
	handles_free(r.handles);
	say(++totals.number, sentence, r.shared);
	fflush(stdout);
	case_clear_away(&r);
}

void
job_case(struct run *r, const char *sentence, const struct command *block, double timeout)
{
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	sentence = pool_copy(&pool_forever, sentence, strlen(sentence));
	if (options.in_process)
		carry_out_here(r, sentence, block, timeout);
	else
		start(r, sentence, block, timeout);
}

void
job_whole(struct run *r, const struct script *s)
{
	if (options.only == NULL || strstr(s->file, options.only) != NULL)
		job_case(r, s->file, s->commands, options.timeout * options.slow);
}

static void
line(const char *text)
{
	if (options.in_process)
		puts(text);
	else
		new_job(text);
}

void
job_note(const char *text)
{
	line(pool_printf(&pool_forever, "# %s", text));
}

void
job_skip_rest(const char *file, const char *reason)
{
	line(pool_printf(&pool_forever, "ok %d - the rest of %s # SKIP %s",
	    ++totals.number, file, reason));
}

void
job_mark_broken(bool broken)
{
	totals.broken |= broken;
}

int
job_plan(void)
{
	while (ring.first != ring.end)
		finish_oldest();
	printf("1..%d%s\n", totals.number, totals.number == 0 ? " # SKIP no case" : "");
	return totals.broken ? EXIT_BROKEN : totals.failed ? EXIT_FAILED : EXIT_OK;
}
