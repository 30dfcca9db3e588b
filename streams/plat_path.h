/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plat_path.h: what a path of the file system leads to.
 *
 * Level 0.  A name of a stream (a FIFO, a path something is attached to) is
 * known by the file it leads to, not by its spelling: device, inode and, where
 * the file system keeps it, the time of birth, because an inode number may be
 * given again while a stream still goes by it.
 */
#ifndef STREAMS_PLAT_PATH_H
#define STREAMS_PLAT_PATH_H

#include "plat.h"

#define PLAT_PATHTEXT 64

struct plat_path {
	uint64_t pp_dev;	/* device */
	uint64_t pp_ino;	/* inode */
	uint64_t pp_born;	/* time of birth, ns; 0 if not known */
	uint32_t pp_mode;	/* file type and permissions */
	uid_t pp_uid;		/* owner */
	gid_t pp_gid;
	uint32_t pp_mount;	/* something is mounted there */
	char pp_text[PLAT_PATHTEXT]; /* the end of the path as it was spelled, for people */
};

/*
 * Follow path: 0, or an errno of open(2): ENOENT ENOTDIR EACCES ELOOP
 * ENAMETOOLONG EMFILE.  oflag: with O_NOFOLLOW a symbolic link is ELOOP.
 * *deniedp: EACCES if the caller's effective ids may not open the file with
 * oflag's access mode, else 0.
 */
int plat_pathfind(const char *path, int oflag, struct plat_path *pp, int *deniedp);

#endif
