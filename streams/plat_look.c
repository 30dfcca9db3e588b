/* SPDX-License-Identifier: BSD-2-Clause */
/* plat_look.c: the system calls behind plat_look.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "plat_look.h"
#include "plat_inst.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
is_file(const struct stat *st, const struct plat_file *id)
{
	return id != NULL && st->st_dev == id->pf_dev && st->st_ino == id->pf_ino;
}

int
plat_openread(const char *path, const struct plat_file *own)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return -1;
	if (is_file(&st, own)) {
		errno = 0;
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

size_t
plat_length(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
}

/* ---- /proc ----------------------------------------------------------------------- */

struct search {
	pid_t pid;
	const char *name;
	const char *magic;
	const struct plat_file *own;
	char *path;
	size_t size;
	struct plat_file *id;
	bool removed; /* only a file without a name */
	bool found;
};

static bool
begins_with(const char *path, const char *magic)
{
	char first[8];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool same = fd >= 0 && plat_pread(fd, first, sizeof(first), 0) == sizeof(first) &&
		memcmp(first, magic, sizeof(first)) == 0;

	if (fd >= 0)
		close(fd);
	return same;
}

/* Is descriptor number fd of the process what is looked for?  0: go on. */
static int
look_at(const char *fd, void *arg)
{
	struct search *s = arg;
	char path[64], target[64];
	struct stat link, st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", (int)s->pid, fd);
	/* The permissions of the link are those the descriptor was opened with. */
	if (lstat(path, &link) != 0 || (link.st_mode & 0600) != 0600 || stat(path, &st) != 0 ||
	    !S_ISREG(st.st_mode) || (n = readlink(path, target, sizeof(target) - 1)) < 0)
		return 0;
	target[n] = '\0';
	if (s->removed && (st.st_nlink != 0 || (st.st_mode & 07717) != 0600))
		return 0;
	if (!is_file(&st, s->own) &&
	    (s->name != NULL ? strncmp(target, s->name, strlen(s->name)) != 0 :
			       !begins_with(path, s->magic)))
		return 0;
	s->id->pf_dev = st.st_dev;
	s->id->pf_ino = st.st_ino;
	snprintf(s->path, s->size, "%s", path);
	s->found = true;
	return 1;
}

static int
search(struct search *s)
{
	char path_fd[64];
	int dir;

	snprintf(path_fd, sizeof(path_fd), "/proc/%d/fd", (int)s->pid);
	dir = plat_dir(path_fd, true);
	if (dir < 0)
		return errno == ENOENT || errno == ENOTDIR ? ESRCH : errno;
	(void)plat_eachname(dir, look_at, s);
	plat_close(dir);
	return s->found ? 0 : ENXIO;
}

int
plat_procfile(pid_t pid, const char *name, const char magic[8],
	const struct plat_file *own, char *path, size_t size, struct plat_file *id)
{
	struct search s = { pid, name, magic, own, path, size, id, false, false };

	return search(&s);
}

int
plat_procremoved(pid_t pid, const char magic[8], const struct plat_file *own, char *path,
	size_t size, char *was, size_t wassize, struct plat_file *id)
{
	struct search s = { pid, NULL, magic, own, path, size, id, true, false };
	int error = search(&s);
	ssize_t n = error == 0 ? readlink(path, was, wassize - 1) : 0;

	was[n > 0 ? n : 0] = '\0';
	return error;
}

void
plat_procname(pid_t pid, char name[PLAT_COMM])
{
	char path[64];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, PLAT_COMM - 1);
		close(fd);
	}
	name[n > 0 ? n : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	for (char *p = name; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
}

bool
plat_exists(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}
