/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plat_look.h: looking at other programs' files and at /proc.
 *
 * Level 0, beside plat.h.  Everything is opened for reading only.
 */
#ifndef STREAMS_PLAT_LOOK_H
#define STREAMS_PLAT_LOOK_H

#include "plat.h"

#define PLAT_COMM 16 /* a program's short name, with its NUL */

/*
 * Open a regular file for reading: a descriptor, or -1 with errno; EINVAL: it is
 * none, which is found out without opening it.  If it is the file called own it
 * is not opened either, because closing it would drop the record locks of this
 * process: -1 and errno 0.
 */
int plat_openread(const char *path, const struct plat_file *own);
/* Length of an open file, bytes; 0 when it cannot be told. */
size_t plat_length(int fd);

/*
 * The path of the file that process pid has open for reading and writing whose
 * target is called name (a memory file: "/memfd:ustreams") or, name NULL, that
 * is regular and begins with the bytes of magic: in /proc, so that it can be
 * opened: 0, or ENXIO (none), ESRCH (no such process), EACCES, EMFILE ...  The
 * file called own is taken to be one without being opened.
 */
int plat_procfile(pid_t pid, const char *name, const char magic[8],
	const struct plat_file *own, char *path, size_t size, struct plat_file *id);
/*
 * The same for a file that has no name any more and begins with magic; was becomes the
 * path that it had, as the kernel spells it.
 */
int plat_procremoved(pid_t pid, const char magic[8], const struct plat_file *own, char *path,
	size_t size, char *was, size_t wassize, struct plat_file *id);
/* The short name of what process pid runs, printable; "" if that cannot be told. */
void plat_procname(pid_t pid, char name[PLAT_COMM]);
bool plat_exists(pid_t pid);

#endif
