/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_handles.c: the names a script gives to descriptors. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ustreams.h>

#include "strtest_args.h"

struct handle {
	char *name;
	int fd;
	enum handle_kind kind;
	bool closed;
	struct handle *next; /* in the order they were first named */
};

struct handles {
	pthread_mutex_t lock; /* threads of a case name descriptors, too */
	struct handle *first;
};

struct handles *
handles_new(void)
{
	struct handles *h = calloc(1, sizeof(*h));

	if (h == NULL)
		abort();
	pthread_mutex_init(&h->lock, NULL);
	return h;
}

void
handles_free(struct handles *h)
{
	struct handle *one;

	while ((one = h->first) != NULL) {
		h->first = one->next;
		free(one->name);
		free(one);
	}
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* Where the handle of that name hangs, or the end of the list. */
static struct handle **
find(struct handles *h, const char *name)
{
	struct handle **link = &h->first;

	while (*link != NULL && strcmp((*link)->name, name) != 0)
		link = &(*link)->next;
	return link;
}

void
handles_set(
    struct run *r, struct place at, const char *name, int fd, enum handle_kind kind)
{
	struct handles *h = r->handles;
	struct handle **link, *one;
	bool taken;

	pthread_mutex_lock(&h->lock);
	link = find(h, name);
	one = *link;
	taken = one != NULL && !one->closed;
	if (one == NULL) {
		one = *link = calloc(1, sizeof(*one));
		if (one == NULL || (one->name = strdup(name)) == NULL)
			abort();
	}
	if (!taken) {
		one->fd = fd;
		one->kind = kind;
		one->closed = false;
	}
	pthread_mutex_unlock(&h->lock);
	if (taken)
		run_broken(r, at, "'%s' is open already; close it first", name);
}

int
handles_fd(struct run *r, struct place at, const char *name)
{
	struct handles *h = r->handles;
	struct handle *one;
	const char *all = "";

	pthread_mutex_lock(&h->lock);
	one = *find(h, name);
	if (one == NULL)
		for (struct handle *o = h->first; o != NULL; o = o->next)
			all = pool_printf(&r->pool, "%s %s", all, o->name);
	pthread_mutex_unlock(&h->lock);
	if (one == NULL)
		run_broken(r, at, "no descriptor is called '%s'; legal:%s", name,
		    *all != '\0' ? all : " none was opened yet");
	return one->fd;
}

bool
handles_known(struct run *r, const char *name)
{
	bool known;

	pthread_mutex_lock(&r->handles->lock);
	known = *find(r->handles, name) != NULL;
	pthread_mutex_unlock(&r->handles->lock);
	return known;
}

void
handles_closed(struct run *r, int fd)
{
	struct handle *one;

	pthread_mutex_lock(&r->handles->lock);
	for (one = r->handles->first; one != NULL; one = one->next)
		if (one->fd == fd)
			one->closed = true;
	pthread_mutex_unlock(&r->handles->lock);
}

void
handles_close_all(struct handles *h)
{
	for (struct handle *one = h->first; one != NULL; one = one->next) {
		if (one->closed || one->kind == HANDLE_BORROWED)
			continue;
		str_fcntl(one->fd, F_SETFL, str_fcntl(one->fd, F_GETFL) | O_NONBLOCK);
		str_close(one->fd);
		one->closed = true;
	}
}

void
handles_each(struct handles *h,
    void (*fn)(void *arg, const char *name, int fd, enum handle_kind kind), void *arg)
{
	for (struct handle *one = h->first; one != NULL; one = one->next)
		if (!one->closed)
			fn(arg, one->name, one->fd, one->kind);
}
