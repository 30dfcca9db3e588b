/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_actor.c: blocks in threads and children, and verbs that deal with them. */
#include "strtest_actor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ustreams.h>

#include "strtest_args.h"
#include "strtest_case.h"
#include "strtest_cond.h"
#include "strtest_expr.h"
#include "strtest_forms.h"
#include "strtest_signal.h"

/* A thread or a child that this process has started. */
struct actor {
	char name[WORD_LEN];
	struct slot *slot;
	pid_t pid; /* of a child, 0: a thread */
	pthread_t thread;
	struct run run; /* the thread's */
	const struct command *block;
	bool waited;
	int status; /* of a child, as waitpid stores it */
	struct actor *next;
};

static struct actor *actors;
static pthread_mutex_t actors_lock = PTHREAD_MUTEX_INITIALIZER;

static struct actor *
new_actor(struct run *r, const struct command *c)
{
	static int anonymous;
	struct actor *a = calloc(1, sizeof(*a));

	if (a == NULL)
		abort();
	pthread_mutex_lock(&actors_lock);
	if (c->name != NULL)
		snprintf(a->name, sizeof(a->name), "%s", c->name);
	else
		snprintf(a->name, sizeof(a->name), "number %d", ++anonymous);
	a->slot = case_slot(r->shared, a->name);
	a->block = c->block;
	a->next = actors;
	actors = a;
	pthread_mutex_unlock(&actors_lock);
	if (a->slot == NULL)
		run_broken(
		    r, c->at, "there are %d threads and children already", MAX_SLOTS);
	return a;
}

/* The last one of that name. */
static struct actor *
find(struct run *r, const struct expr *name)
{
	const char *all = "";
	struct actor *a;

	pthread_mutex_lock(&actors_lock);
	for (a = actors; a != NULL && strcmp(a->name, name->text) != 0; a = a->next)
		all = pool_printf(&r->pool, "%s %s", all, a->name);
	pthread_mutex_unlock(&actors_lock);
	if (a == NULL)
		run_broken(r, name->at, "no thread or child is called '%s'; legal:%s",
		    name->text, *all != '\0' ? all : " none was started yet");
	return a;
}

/* ---- threads ------------------------------------------------------------------------ */

struct beginning {
	void *(*do_it)(void *);
	void *arg;
	sem_t begun;
};

static void *
begin(void *arg)
{
	struct beginning *b = arg, own = {.do_it = b->do_it, .arg = b->arg};

	sem_post(&b->begun); /* *b may be gone */
	return own.do_it(own.arg);
}

int
thread_begin(pthread_t *t, void *(*do_it)(void *), void *arg)
{
	struct beginning b = {.do_it = do_it, .arg = arg};
	int error;

	sem_init(&b.begun, 0, 0);
	error = pthread_create(t, NULL, begin, &b);
	while (error == 0 && sem_wait(&b.begun) == -1)
		;
	sem_destroy(&b.begun);
	return error;
}

static void *
thread(void *arg)
{
	struct actor *a = arg;
	struct frame f = {.quiet = false};

	atomic_store(&a->slot->tid, gettid());
	run_guarded(&a->run, &f, a->block);
	run_forget(&a->run, NULL);
	atomic_store(&a->slot->finished, true);
	return NULL;
}

void
run_thread(struct run *r, const struct command *c)
{
	struct actor *a = new_actor(r, c);
	int error;

	a->run = *r;
	a->run.pool = (struct pool){NULL};
	a->run.frame = NULL;
	a->run.slot = a->slot;
	run_copy_variables(&a->run, r);
	atomic_store(&a->slot->pid, getpid());
	error = thread_begin(&a->thread, thread, a);
	if (error != 0)
		run_broken(r, c->at, "no thread: %s", strerror(error));
}

/* ---- children ------------------------------------------------------------------------- */

static void
close_one(void *arg, const char *name, int fd, enum handle_kind kind)
{
	(void)arg, (void)name;
	if (kind != HANDLE_BORROWED)
		str_close(fd);
}

static _Noreturn void
child(struct run *r, struct actor *self, pid_t parent, bool main_thread)
{
	struct frame f = {.quiet = false};
	int stop;

	/* The signal would come with the end of the thread that forked. */
	if (main_thread)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILED);
	actors = NULL; /* those are the parent's */
	signal_forget();
	r->frame = NULL;
	r->slot = self->slot;
	atomic_store(&r->slot->pid, getpid());
	atomic_store(&r->slot->tid, gettid());
	stop = run_guarded(r, &f, self->block);
	actor_wait_all(r);
	handles_each(r->handles, close_one, NULL);
	atomic_store(&r->slot->finished, true);
	_exit(stop == 0 ? EXIT_OK : EXIT_FAILED);
}

void
run_fork(struct run *r, const struct command *c)
{
	struct actor *a;
	pid_t parent = getpid(), pid;
	bool main_thread = parent == gettid();

	if (!cond_can_fork())
		run_skipped(r, "streams do not cross a fork here");
	a = new_actor(r, c);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		child(r, a, parent, main_thread);
	if (pid == -1)
		run_broken(r, c->at, "no child: %s", strerror(errno));
	a->pid = pid;
	atomic_store(&a->slot->pid, pid);
}

/* ---- waiting ------------------------------------------------------------------------------ */

static void
wait_for(struct actor *a)
{
	if (a->waited)
		return;
	if (a->pid == 0)
		pthread_join(a->thread, NULL);
	else
		while (waitpid(a->pid, &a->status, 0) == -1 && errno == EINTR)
			;
	a->waited = true;
	atomic_store(&a->slot->used, 0);
}

/* A child that nobody waited for must have ended well, or have reported why not. */
static void
judge(struct run *r, const struct actor *a)
{
	if (a->pid == 0 || a->status == 0)
		return;
	if (WIFEXITED(a->status) && run_hopeless(r))
		return;
	atomic_store(&r->shared->failed, 1);
	if (WIFSIGNALED(a->status))
		run_report(r, "the child '%s' was ended by %s", a->name,
		    strsignal(WTERMSIG(a->status)));
	else
		run_report(r, "the child '%s' ended with status %d", a->name,
		    WEXITSTATUS(a->status));
}

void
actor_wait_all(struct run *r)
{
	for (struct actor *a = actors; a != NULL; a = a->next) {
		bool unwaited = !a->waited;

		wait_for(a);
		if (unwaited)
			judge(r, a);
	}
	actors = NULL;
}

void
actor_kill_all(void)
{
	for (struct actor *a = actors; a != NULL; a = a->next) {
		if (a->pid != 0 && !a->waited)
			kill(a->pid, SIGKILL);
	}
}

static struct value
status_value(int status)
{
	return WIFSIGNALED(status) ? value_signal(WTERMSIG(status))
				   : value_number(WEXITSTATUS(status));
}

static void
do_wait(struct run *r, const struct command *c, struct outcome *o)
{
	const struct expr *name = arg_at(c, 0);
	struct actor *a;

	if (name == NULL) {
		actor_wait_all(r);
		return;
	}
	a = find(r, name);
	wait_for(a);
	if (!c->arrow)
		judge(r, a);
	if (a->pid != 0)
		o->result = status_value(a->status);
}

/* ---- asleep? -------------------------------------------------------------------------------- */

/* The state letter of a thread and how often it went to sleep; ' ' if unknown. */
static char
state_of(const struct slot *s, long *switches)
{
	char path[64], line[256], state = ' ';
	FILE *f;

	*switches = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)atomic_load(&s->pid),
	    (int)atomic_load(&s->tid));
	if ((f = fopen(path, "re")) == NULL)
		return ' ';
	while (fgets(line, sizeof(line), f) != NULL) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "voluntary_ctxt_switches: %ld", switches);
	}
	fclose(f);
	return state;
}

enum { STILL = 3000 }; /* us without a move are sleep, not a wait for a lock */

static bool
asleep(const struct slot *s)
{
	struct timespec t = {0, STILL * 1000L};
	long before, after;
	const struct command *at = atomic_load(&s->at);

	if (!atomic_load(&s->in_verb) || atomic_load(&s->tid) == 0 ||
	    state_of(s, &before) != 'S')
		return false;
	nanosleep(&t, NULL);
	return state_of(s, &after) == 'S' && before == after &&
	    atomic_load(&s->in_verb) && atomic_load(&s->at) == at;
}

/* The slot of a thread or child, or of "main", the case itself; *a: NULL for that. */
static struct slot *
slot_of(struct run *r, const struct expr *name, struct actor **a)
{
	*a = NULL;
	if (strcmp(name->text, "main") == 0)
		return &r->shared->slots[0];
	*a = find(r, name);
	return (*a)->slot;
}

static void
do_blocked(struct run *r, const struct command *c, struct outcome *o)
{
	struct actor *a;
	struct slot *s = slot_of(r, arg_at(c, 0), &a);
	long long until = run_now() + time_within(r, c, o, 2000000);
	unsigned int step = 0;

	while (!asleep(s)) {
		if ((a != NULL && a->waited) || atomic_load(&s->finished))
			run_failed(r, "it sleeps in a call", "it has ended");
		if (run_now() > until || run_hopeless(r))
			run_failed(r, "it sleeps in a call", "it does not");
		run_nap(&step);
	}
}

/* ---- signals to them, and their end ------------------------------------------------------------ */

static void
do_kill(struct run *r, const struct command *c, struct outcome *o)
{
	const struct expr *name = arg_at(c, 0);
	int sig = arg_signal(r, c, 1);
	struct actor *a;
	struct slot *s;

	if (strcmp(name->text, "self") == 0) {
		out_call(o, raise(sig));
		return;
	}
	s = slot_of(r, name, &a);
	if (a == NULL)
		out_call(o, tgkill(atomic_load(&s->pid), atomic_load(&s->tid), sig));
	else if (a->pid != 0)
		out_call(o, kill(a->pid, sig));
	else
		out_call(o, (errno = pthread_kill(a->thread, sig)) == 0 ? 0 : -1);
}

static void
only_child(struct run *r, const struct command *c)
{
	if (r->slot == NULL || strcmp(r->slot->name, "the case") == 0)
		run_broken(r, c->at, "only a child can %s", c->form->name);
	atomic_store(&r->slot->finished, true);
}

static void
do_exit(struct run *r, const struct command *c, struct outcome *o)
{
	int status = (int)arg_number(r, c, 0, 0);

	(void)o;
	only_child(r, c);
	exit(status);
}

static void
do__exit(struct run *r, const struct command *c, struct outcome *o)
{
	int status = (int)arg_number(r, c, 0, 0);

	(void)o;
	only_child(r, c);
	_exit(status);
}

/* ---- words --------------------------------------------------------------------------------------- */

/* The semaphore of a word, made when it is first used. */
static sem_t *
word(struct run *r, const struct command *c)
{
	const char *name = arg_word(r, c, 0);
	struct shared *s = r->shared;
	int i;

	while (atomic_flag_test_and_set(&s->lock))
		sched_yield();
	for (i = 0; i < s->nwords && strcmp(s->words[i].name, name) != 0; i++)
		;
	if (i == s->nwords && i < MAX_WORDS) {
		snprintf(s->words[i].name, WORD_LEN, "%s", name);
		sem_init(&s->words[i].posted, 1, 0);
		s->nwords++;
	}
	atomic_flag_clear(&s->lock);
	if (i == MAX_WORDS)
		run_broken(r, c->at, "there are %d words already", MAX_WORDS);
	return &s->words[i].posted;
}

static void
do_post(struct run *r, const struct command *c, struct outcome *o)
{
	out_call(o, sem_post(word(r, c)));
}

static void
do_await(struct run *r, const struct command *c, struct outcome *o)
{
	sem_t *posted = word(r, c);
	long long until = run_now() + time_within(r, c, o, 5000000);
	unsigned int step = 0;

	while (sem_trywait(posted) == -1) {
		if (run_now() > until || run_hopeless(r))
			run_failed(r, "the word is posted", "it is not");
		run_nap(&step);
	}
}

static const struct form forms[] = {
    {"wait", do_wait, "A?", NULL, NULL, NULL, 0},
    {"blocked", do_blocked, "A", NULL, NULL, NULL, 0},
    {"kill", do_kill, "A S", NULL, NULL, NULL, 0},
    {"post", do_post, "W", NULL, NULL, NULL, 0},
    {"await", do_await, "W", NULL, NULL, NULL, 0},
    {"exit", do_exit, "I?", NULL, NULL, NULL, 0},
    {"_exit", do__exit, "I?", NULL, NULL, NULL, 0},
};

const struct form_table forms_actor = {forms, NELEM(forms)};
