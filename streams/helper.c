/* SPDX-License-Identifier: BSD-2-Clause */
/* helper.c: the helper thread of helper.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "helper.h"
#include "msg.h"
#include "wait.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
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
	int wake;	/* eventfd; -1 none */
	unsigned long lastid;
	struct watch *watches;
} hp = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = -1 };

void
helper_poke(void)
{
	uint64_t one = 1;

	if (hp.wake >= 0 && write(hp.wake, &one, sizeof(one)) < 0)
		return; /* full: it is awake already */
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
		all[(*n)++] = (struct pollfd){ hp.wake, POLLIN, 0 };
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
	uint64_t count;

	(void)arg;
	while (slot_self() != NULL) {
		int tick = ld_rlx(&slot_root->sr_live) > 1 ? TICK : -1;
		struct pollfd *all;
		nfds_t n;

		reap_scan();
		msg_ext_due();
		all = gather(&n);
		if (all == NULL) {
			plat_nap(TICK * 1000);
			continue;
		}
		if (poll(all, n, tick) > 0) {
			if ((all[0].revents & POLLIN) &&
			    read(hp.wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
				plat_nap(1000);
			if (all[0].revents & (POLLNVAL | POLLERR))
				plat_nap(TICK * 1000); /* somebody closed our descriptor */
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
		hp.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		pthread_attr_init(&at);
		pthread_attr_setdetachstate(&at, PTHREAD_CREATE_DETACHED);
		hp.running = hp.wake >= 0 && pthread_create(&t, &at, helper, NULL) == 0;
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
	if (hp.wake >= 0)
		close(hp.wake);
	hp.wake = -1;
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
	for (;;) {
		n = reap_scan();
		msg_ext_due();
		if (n > 0 || plat_now() >= until)
			return n;
		if (!plat_nap(5000)) {
			errno = EINTR;
			return -1;
		}
	}
}
