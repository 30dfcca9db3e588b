/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plat_inst.h: directories and files of instances: the system calls.
 *
 * Level 0.  Each returns 0 or an errno, a descriptor or -1 with errno, unless
 * it says otherwise.  Nothing here follows a symbolic link in the last part of
 * a path unless told to, blocks on a FIFO, or leaves a descriptor open on exec.
 */
#ifndef STREAMS_PLAT_INST_H
#define STREAMS_PLAT_INST_H

#include "plat.h"

#include <sys/stat.h>

int plat_dir(const char *path, bool follow);	/* a descriptor of a directory */
int plat_mkdir(const char *path);		/* mode 0700 */
/*
 * A new file of mode 0600 in dir, for reading and writing: without a name, or,
 * where the file system has no such files, named temp (then *named).
 */
int plat_tmpfile(int dir, const char *temp, bool *named);
/* Give it the name; temp is NULL or the one it has so far.  EEXIST. */
int plat_publish(int fd, int dir, const char *temp, const char *name);
int plat_unlink(int dir, const char *name);
int plat_share(int fd, gid_t gid);		/* mode 0660, that group */
int plat_openat(int dir, const char *name, bool write);
int plat_stat(int fd, struct stat *st);
int plat_statat(int dir, const char *name, struct stat *st);
ssize_t plat_pread(int fd, void *buf, size_t n, off_t at);
/* Each name in dir, until fn is not 0; what it returned last. */
int plat_eachname(int dir, int (*fn)(const char *name, void *arg), void *arg);

void plat_unlockrec(int fd, off_t at);
/*
 * The process that holds a record lock on one of n bytes from at, and on which
 * (where may be NULL); 0: nobody.
 */
pid_t plat_whoholds(int fd, off_t at, off_t n, off_t *where);

/*
 * The file system of fd: its size and what is free, bytes, and how many more files
 * it may hold; and where it is mounted.
 */
void plat_fsroom(int fd, uint64_t *size, uint64_t *avail, uint64_t *files);
void plat_mountpoint(int fd, char *buf, size_t size);

/* Differs after each start of the machine; zeros where it cannot be known. */
void plat_bootid(unsigned char id[16]);
int64_t plat_clock(void);	/* seconds since 1970 */
uid_t plat_euid(void);
/* The group of that name or number, if the process is in it: 0 or an errno. */
int plat_group(const char *name, gid_t *gid);

#endif
