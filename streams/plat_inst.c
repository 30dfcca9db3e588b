/* SPDX-License-Identifier: BSD-2-Clause */
/* plat_inst.c: the system calls behind plat_inst.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "plat_inst.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

/* ---- directories and files ----------------------------------------------------------- */

int
plat_dir(const char *path, bool follow)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path,
		O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), 0);
}

int
plat_mkdir(const char *path)
{
	return mkdir(path, 0700) == 0 ? 0 : errno;
}

int
plat_tmpfile(int dir, const char *temp, bool *named)
{
	int fd = (int)syscall(SYS_openat, dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	*named = false;
	/* Older file systems and kernels each have their own way to say that they cannot. */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL)) {
		fd = (int)syscall(SYS_openat, dir, temp,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		*named = fd >= 0;
	}
	/* Whatever the umask took away is the owner's own. */
	if (fd >= 0)
		(void)fchmod(fd, 0600);
	return fd;
}

/* From a temporary name, so that the file never has two. */
static int
publish_named(int dir, const char *temp, const char *name)
{
	if (syscall(SYS_renameat2, dir, temp, dir, name, 1u /* RENAME_NOREPLACE */) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	if (linkat(dir, temp, dir, name, 0) != 0)
		return errno;
	(void)unlinkat(dir, temp, 0);
	return 0;
}

int
plat_publish(int fd, int dir, const char *temp, const char *name)
{
	char path[64];

	if (temp != NULL)
		return publish_named(dir, temp, name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	/* Without /proc: of late also for who opened the file, once only for root. */
	if (errno == ENOENT && linkat(fd, "", dir, name, AT_EMPTY_PATH) == 0)
		return 0;
	return errno;
}

int
plat_unlink(int dir, const char *name)
{
	return unlinkat(dir, name, 0) == 0 ? 0 : errno;
}

int
plat_share(int fd, gid_t gid)
{
	return fchown(fd, (uid_t)-1, gid) == 0 && fchmod(fd, 0660) == 0 ? 0 : errno;
}

int
plat_openat(int dir, const char *name, bool write)
{
	return (int)syscall(SYS_openat, dir, name, (write ? O_RDWR : O_RDONLY) | O_NOFOLLOW |
		O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

int
plat_stat(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 ? 0 : errno;
}

int
plat_statat(int dir, const char *name, struct stat *st)
{
	return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

ssize_t
plat_pread(int fd, void *buf, size_t n, off_t at)
{
	ssize_t got;

	do
		got = syscall(SYS_pread64, fd, buf, n, at);
	while (got < 0 && errno == EINTR);
	return got;
}

int
plat_eachname(int dir, int (*fn)(const char *name, void *arg), void *arg)
{
	int fd = (int)syscall(SYS_openat, dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	int result = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (d == NULL) {
		plat_close(fd);
		return 0;
	}
	while (result == 0 && (e = readdir(d)) != NULL)
		result = fn(e->d_name, arg);
	closedir(d);
	return result;
}

/* ---- record locks ----------------------------------------------------------------------- */

void
plat_unlockrec(int fd, off_t at)
{
	struct flock fl = { .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };

	(void)fcntl(fd, F_SETLK, &fl);
}

pid_t
plat_whoholds(int fd, off_t at, off_t n, off_t *where)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = n };

	/* A holder of another PID name space has number 0 here: he is somebody all the same. */
	if (fcntl(fd, F_GETLK, &fl) != 0 || fl.l_type == F_UNLCK)
		return 0;
	if (where != NULL)
		*where = fl.l_start;
	return fl.l_pid > 0 ? fl.l_pid : INT_MAX;
}

/* ---- file systems ------------------------------------------------------------------------- */

void
plat_fsroom(int fd, uint64_t *size, uint64_t *avail, uint64_t *files)
{
	struct statvfs sv;

	*size = *avail = 0;
	*files = UINT64_MAX;
	if (fstatvfs(fd, &sv) != 0)
		return;
	*size = (uint64_t)sv.f_blocks * sv.f_frsize;
	*avail = (uint64_t)sv.f_bavail * sv.f_frsize;
	if (sv.f_files > 0) /* else it does not count them */
		*files = sv.f_favail;
}

/* mountinfo writes blanks and the like as \ooo. */
static void
unescape(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] != '\0' && s[3] != '\0') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

void
plat_mountpoint(int fd, char *buf, size_t size)
{
	char line[PATH_MAX * 2], where[PATH_MAX];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	unsigned int major, minor;
	struct stat st;

	snprintf(buf, size, "its file system");
	if (f == NULL)
		return;
	while (fstat(fd, &st) == 0 && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%*d %*d %u:%u %*s %4095s", &major, &minor, where) != 3 ||
		    makedev(major, minor) != st.st_dev)
			continue;
		unescape(where);
		snprintf(buf, size, "%s", where);
		break;
	}
	fclose(f);
}

/* ---- the machine and the user ----------------------------------------------------------------- */

void
plat_bootid(unsigned char id[16])
{
	char text[64];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/sys/kernel/random/boot_id",
		O_RDONLY | O_CLOEXEC, 0), n = 0;
	ssize_t got = fd < 0 ? 0 : syscall(SYS_read, fd, text, sizeof(text) - 1);

	plat_close(fd);
	memset(id, 0, 16);
	for (ssize_t i = 0; i < got && n < 32; i++) {
		const char *at, *digits = "0123456789abcdef";

		if (text[i] == '\0' || (at = strchr(digits, text[i])) == NULL)
			continue;
		id[n / 2] = (unsigned char)(id[n / 2] << 4 | (at - digits));
		n++;
	}
}

int64_t
plat_clock(void)
{
	return (int64_t)time(NULL);
}

uid_t
plat_euid(void)
{
	return geteuid();
}

static bool
in_group(gid_t gid)
{
	int n = getgroups(0, NULL);
	gid_t *list = n > 0 ? calloc((size_t)n, sizeof(*list)) : NULL;
	bool found = gid == getegid();

	n = list != NULL ? getgroups(n, list) : 0;
	for (int i = 0; i < n; i++)
		found |= list[i] == gid;
	free(list);
	return found || geteuid() == 0;
}

/* From the file alone: name services do not go into a static library. */
static bool
named_group(const char *name, gid_t *gid)
{
	FILE *f = fopen("/etc/group", "re");
	const struct group *gr = NULL;

	while (f != NULL && (gr = fgetgrent(f)) != NULL && strcmp(gr->gr_name, name) != 0)
		;
	if (gr != NULL)
		*gid = gr->gr_gid;
	if (f != NULL)
		fclose(f);
	return gr != NULL;
}

int
plat_group(const char *name, gid_t *gid)
{
	char *end;
	unsigned long n = strtoul(name, &end, 10);

	if (*name >= '0' && *name <= '9' && *end == '\0' && n < (gid_t)-1)
		*gid = (gid_t)n;
	else if (!named_group(name, gid))
		return EINVAL;
	return in_group(*gid) ? 0 : EPERM;
}
