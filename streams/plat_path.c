/* SPDX-License-Identifier: BSD-2-Clause */
/* plat_path.c: the system calls behind plat_path.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "plat_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Where statx(2) is forbidden (seccomp) the time of birth is not to be had. */
static int
identify_plain(int fd, struct plat_path *pp)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return errno;
	pp->pp_dev = st.st_dev;
	pp->pp_ino = st.st_ino;
	pp->pp_mode = st.st_mode;
	pp->pp_uid = st.st_uid;
	pp->pp_gid = st.st_gid;
	return 0;
}

static int
identify(int fd, struct plat_path *pp)
{
	struct statx sx;

	memset(pp, 0, sizeof(*pp));
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &sx) != 0)
		return identify_plain(fd, pp);
	pp->pp_dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
	pp->pp_ino = sx.stx_ino;
	pp->pp_mode = sx.stx_mode;
	pp->pp_uid = sx.stx_uid;
	pp->pp_gid = sx.stx_gid;
	pp->pp_mount = (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	if (sx.stx_mask & STATX_BTIME)
		pp->pp_born = (uint64_t)sx.stx_btime.tv_sec * 1000000000 + sx.stx_btime.tv_nsec;
	return 0;
}

/* May the file behind fd be opened so?  Asked of the file, not of the path again. */
static int
denied(int fd, const char *path, int oflag)
{
	static const int wants[] = { R_OK, W_OK, R_OK | W_OK, 0 };
	int mode = wants[oflag & O_ACCMODE];

	if (syscall(SYS_faccessat2, fd, "", mode, AT_EACCESS | AT_EMPTY_PATH) == 0)
		return 0;
	if (errno == ENOSYS || errno == EPERM)
		return eaccess(path, mode) == 0 ? 0 : errno;
	return errno;
}

/* For people, so it need not be whole. */
static void
spell(struct plat_path *pp, const char *path)
{
	size_t n = strlen(path), from = n < PLAT_PATHTEXT ? 0 : n - (PLAT_PATHTEXT - 1);

	memcpy(pp->pp_text, path + from, n - from + 1);
}

int
plat_pathfind(const char *path, int oflag, struct plat_path *pp, int *deniedp)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path,
		O_PATH | O_CLOEXEC | (oflag & O_NOFOLLOW), 0), error;

	if (fd < 0)
		return errno;
	error = identify(fd, pp);
	spell(pp, path);
	if (error == 0)
		*deniedp = denied(fd, path, oflag);
	plat_close(fd);
	return error == 0 && S_ISLNK(pp->pp_mode) ? ELOOP : error;
}
