/* SPDX-License-Identifier: BSD-2-Clause */
/* helper.c: the helper thread of helper.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "helper.h"
#include "fd.h"
#include "msg.h"
#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <ustreams.h>

#define TICK 50 /* ms between looks at the others */

/* A str_poll() that waits for kernel descriptors too. */
struct watch {
	struct watch *next;
	unsigned long id;
	struct slot *who;
	bool fired;
	nfds_t n;
	struct pollfd fds[];
};

/* Private to the process. */
static struct {
	pthread_mutex_t lock;
	bool running;
	int wake[2];	/* pipe: what is written pokes the thread; -1 none */
	struct plat_file wakeid[2]; /* what they were: the program may close them */
	unsigned long lastid;
	struct watch *watches;
} hp = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = { -1, -1 } };

static bool
wake_ours(int end)
{
	return hp.wake[end] >= 0 && plat_same(hp.wake[end], &hp.wakeid[end]);
}

void
helper_poke(void)
{
	if (wake_ours(1) && syscall(SYS_write, hp.wake[1], "", 1) < 0)
		return; /* full: it is awake already */
}

/* After a poke: nothing is read from a number that is not ours any more. */
static void
swallow(void)
{
	char buf[64];

	while (wake_ours(0) && syscall(SYS_read, hp.wake[0], buf, sizeof(buf)) > 0)
		;
}

/* All descriptors to poll: a malloc'ed array, or NULL with *n the number. */
static struct pollfd *
gather(nfds_t *n)
{
	struct pollfd *all;
	nfds_t sum = 1;

	pthread_mutex_lock(&hp.lock);
	for (struct watch *w = hp.watches; w != NULL; w = w->next)
		sum += w->fired ? 0 : w->n;
	all = malloc(sum * sizeof(*all));
	*n = 0;
	if (all != NULL) {
		all[(*n)++] = (struct pollfd){ wake_ours(0) ? hp.wake[0] : -1, POLLIN, 0 };
		for (struct watch *w = hp.watches; w != NULL; w = w->next)
			for (nfds_t i = 0; !w->fired && i < w->n; i++)
				all[(*n)++] = w->fds[i];
	}
	pthread_mutex_unlock(&hp.lock);
	return all;
}

/* Poke whoever watches a descriptor that is ready now. */
static void
fire(void)
{
	pthread_mutex_lock(&hp.lock);
	for (struct watch *w = hp.watches; w != NULL; w = w->next) {
		if (w->fired || poll(w->fds, w->n, 0) == 0)
			continue;
		w->fired = true;
		wait_poke(w->who);
	}
	pthread_mutex_unlock(&hp.lock);
}

static void *
helper(void *arg)
{
	(void)arg;
	while (slot_self() != NULL) {
		int tick = ld_rlx(&slot_root->sr_live) > 1 ? TICK : -1;
		struct pollfd *all;
		nfds_t n;

		reap_scan();
		fd_unclosed();
		msg_ext_due();
		if (ld_rlx(&head_root->hr_unclosed) != NULL)
			tick = TICK;
		all = gather(&n);
		if (all == NULL) {
			plat_nap(TICK * 1000);
			continue;
		}
		if (all[0].fd < 0)
			tick = TICK; /* nobody can poke us */
		if (poll(all, n, tick) > 0) {
			swallow();
			fire();
		}
		free(all);
	}
	return NULL;
}

static bool
forbidden(void)
{
	const char *s = secure_getenv("USTREAMS_HELPER");

	return s != NULL && strcmp(s, "0") == 0;
}

NOINLINE void
helper_start(void)
{
	pthread_attr_t at;
	sigset_t all, old;
	pthread_t t;

	st_rlx(&slot_tls->sl_pslot->pr_helper, 1u);
	if (forbidden())
		return;
	pthread_mutex_lock(&hp.lock);
	if (!hp.running) {
		if (pipe2(hp.wake, O_CLOEXEC | O_NONBLOCK) != 0)
			hp.wake[0] = hp.wake[1] = -1;
		for (int i = 0; i < 2; i++)
			hp.wake[i] = plat_raise(hp.wake[i]);
		for (int i = 0; i < 2; i++)
			(void)plat_identify(hp.wake[i], &hp.wakeid[i]);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		pthread_attr_init(&at);
		pthread_attr_setdetachstate(&at, PTHREAD_CREATE_DETACHED);
		hp.running = pthread_create(&t, &at, helper, NULL) == 0;
		pthread_attr_destroy(&at);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_mutex_unlock(&hp.lock);
}

void
helper_forget(void)
{
	pthread_mutex_init(&hp.lock, NULL);
	hp.running = false;
	for (int i = 0; i < 2; i++) {
		if (wake_ours(i))
			plat_close(hp.wake[i]);
		hp.wake[i] = -1;
	}
	while (hp.watches != NULL) {
		struct watch *w = hp.watches;

		hp.watches = w->next;
		free(w);
	}
}

unsigned long
helper_watch(const struct pollfd *fds, nfds_t n)
{
	struct watch *w;

	if (!hp.running)
		helper_start();
	w = hp.running ? malloc(sizeof(*w) + n * sizeof(*fds)) : NULL;
	if (w == NULL)
		return 0;
	memcpy(w->fds, fds, n * sizeof(*fds));
	w->n = n;
	w->who = slot_self();
	w->fired = false;
	pthread_mutex_lock(&hp.lock);
	w->id = ++hp.lastid;
	w->next = hp.watches;
	hp.watches = w;
	pthread_mutex_unlock(&hp.lock);
	helper_poke();
	return w->id;
}

void
helper_unwatch(unsigned long id)
{
	struct watch *gone = NULL;

	pthread_mutex_lock(&hp.lock);
	for (struct watch **link = &hp.watches; *link != NULL; link = &(*link)->next) {
		if ((*link)->id != id)
			continue;
		gone = *link;
		*link = gone->next;
		break;
	}
	pthread_mutex_unlock(&hp.lock);
	free(gone);
	helper_poke();
}

int
ustr_service(int ms)
{
	int64_t until = ms < 0 ? INT64_MAX : plat_now() + (int64_t)ms * 1000000;
	int n;

	if (slot_self() == NULL)
		return -1;
	if (ld_rlx(&slot_tls->sl_home) != NULL) {
		errno = EDEADLK;
		return -1;
	}
	for (;;) {
		n = reap_scan();
		fd_unclosed();
		msg_ext_due();
		if (n > 0 || plat_now() >= until)
			return n;
		if (!plat_nap(5000)) {
			errno = EINTR;
			return -1;
		}
	}
}
