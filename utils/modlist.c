/* SPDX-License-Identifier: BSD-2-Clause */
/* modlist.c: I_LIST, I_PUSH and I_POP put together. */
#include "modlist.h"

#include <errno.h>
#include <string.h>

#include <ustreams.h>

int
modlist_read(int fd, struct modlist *l)
{
	struct str_mlist names[MODLIST_MOST];
	struct str_list list = {MODLIST_MOST, names};
	int n = str_ioctl(fd, I_LIST, &list), pushed = 0;

	if (n == -1 || str_ioctl(fd, I_GET_PUSHCNT, &pushed) == -1)
		return errno;
	l->n = n;
	l->driver = n > pushed;
	for (int i = 0; i < n; i++)
		snprintf(
		    l->names[i], sizeof(l->names[i]), "%.*s", FMNAMESZ, names[i].l_name);
	return 0;
}

int
modlist_view(const struct ustr_view_stream *vs, struct modlist *l)
{
	if (vs->vs_state & USTR_STREAM_CHANGING)
		return EAGAIN;
	if (vs->vs_pushed >= MODLIST_MOST || vs->vs_nqueues < 2 * (vs->vs_pushed + 1))
		return E2BIG;
	l->n = 0;
	for (unsigned int i = 1; i <= vs->vs_pushed; i++)
		snprintf(l->names[l->n++], FMNAMESZ + 1, "%.*s", FMNAMESZ,
		    vs->vs_queues[2 * i].vq_name);
	l->driver = vs->vs_kind != USTR_STREAM_PIPE;
	if (l->driver)
		snprintf(
		    l->names[l->n++], FMNAMESZ + 1, "%.*s", FMNAMESZ, vs->vs_driver);
	return 0;
}

int
modlist_modules(const struct modlist *l)
{
	return l->n - l->driver;
}

int
modlist_find(const struct modlist *l, const char *name)
{
	for (int i = 0; i < modlist_modules(l); i++)
		if (strcmp(l->names[i], name) == 0)
			return i;
	return -1;
}

int
modlist_pop(int fd, int n)
{
	struct modlist l;
	int error = modlist_read(fd, &l);

	if (error != 0)
		return error;
	if (n > modlist_modules(&l))
		n = modlist_modules(&l);
	while (n-- > 0)
		if (str_ioctl(fd, I_POP, 0) == -1)
			return errno;
	return 0;
}

int
modlist_pop_to(int fd, const char *name)
{
	struct modlist l;
	int error = modlist_read(fd, &l), at;

	if (error != 0)
		return error;
	at = modlist_find(&l, name);
	return at == -1 ? ENOENT : modlist_pop(fd, at);
}

/* Push one; after a failure pop the n that were pushed before it. */
static int
push_one(int fd, const char *name, int n, char bad[FMNAMESZ + 1])
{
	int error;

	if (str_ioctl(fd, I_PUSH, name) == 0)
		return 0;
	error = errno;
	snprintf(bad, FMNAMESZ + 1, "%.*s", FMNAMESZ, name);
	modlist_pop(fd, n);
	return error;
}

int
modlist_push(int fd, const char *names, char bad[FMNAMESZ + 1])
{
	char name[FMNAMESZ + 2];
	int n = 0, error = 0;

	do {
		size_t len = strcspn(names, ",");

		/* One letter too many is enough to be refused. */
		snprintf(name, sizeof(name), "%.*s",
		    (int)(len > FMNAMESZ ? FMNAMESZ + 1 : len), names);
		names += len;
		error = push_one(fd, name, n++, bad);
	} while (error == 0 && *names++ == ',');
	return error;
}

const char *
modlist_refusal(int fd, const char *bad, int error)
{
	static char why[200];
	long most = ustr_tunable("nstrpush");
	int pushed = 0;

	if (error != EINVAL && error != ENXIO)
		snprintf(why, sizeof(why), "%s: %s", bad, strerror(error));
	else if (str_ioctl(fd, I_GET_PUSHCNT, &pushed) == 0 && most != -1 && pushed >= most)
		snprintf(why, sizeof(why), "%s: not more than %ld modules can be on a stream", bad,
		    most);
	else if (error == ENXIO)
		snprintf(why, sizeof(why),
		    "%s: the stream is hung up, or the module is code of another program", bad);
	else
		snprintf(why, sizeof(why),
		    "%s: no such module; legal: names of at most %d characters, such as pipemod or "
		    "nullmod; several with commas between", *bad != '\0' ? bad : "''", FMNAMESZ);
	return why;
}

/* ---- from a file ----------------------------------------------------------------- */

static int
read_names(FILE *from, struct modlist *l)
{
	char line[128];

	l->n = 0;
	while (fgets(line, sizeof(line), from) != NULL) {
		size_t blank = strspn(line, " \t"),
		       len = strcspn(line + blank, " \t\r\n#");

		if (len == 0)
			continue;
		if (len > FMNAMESZ)
			return EINVAL;
		if (l->n == MODLIST_MOST)
			return E2BIG;
		snprintf(l->names[l->n++], FMNAMESZ + 1, "%.*s", (int)len, line + blank);
	}
	return ferror(from) ? errno : 0;
}

/* How many names at the bottom are in both. */
static int
common(const struct modlist *a, int na, const struct modlist *b, int nb)
{
	int same = 0;

	while (same < na && same < nb &&
	    strcmp(a->names[na - 1 - same], b->names[nb - 1 - same]) == 0)
		same++;
	return same;
}

/* Push names i-1 ... 0 of a list. */
static int
push_from(int fd, const struct modlist *l, int i, char bad[FMNAMESZ + 1])
{
	int n = 0, error = 0;

	while (i-- > 0 && error == 0)
		error = push_one(fd, l->names[i], n++, bad);
	return error;
}

int
modlist_set(int fd, FILE *from, char bad[FMNAMESZ + 1])
{
	struct modlist want = {0}, have;
	char ignored[FMNAMESZ + 1];
	int error, same, modules;

	*bad = '\0';
	if ((error = read_names(from, &want)) != 0 ||
	    (error = modlist_read(fd, &have)) != 0)
		return error;
	modules = modlist_modules(&have);
	same = common(&have, modules, &want, want.n);
	if ((error = modlist_pop(fd, modules - same)) != 0)
		return error;
	error = push_from(fd, &want, want.n - same, bad);
	if (error != 0)
		push_from(fd, &have, modules - same, ignored);
	return error;
}
