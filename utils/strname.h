/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strname.h: the stream that a name on a command line leads to, and its sides.
 *
 * What is behind a name decides how its two directions are had:
 *
 *	FIFO	one queue that all opens share: who writes opens it for writing,
 *		who reads for reading, and who does both opens it twice, so that
 *		closing the one tells the readers that a writer has gone
 *	PIPE	an end of a pipe somebody holds the other end of: one descriptor
 *	DEVICE	a driver: one descriptor, and nobody to hang up
 *
 * A path does not tell a FIFO from a pipe that hides one, or an attached FIFO
 * from a pipe, so the stream itself is asked once it is open.
 */
#ifndef STRNAME_H
#define STRNAME_H

#include <stdbool.h>
#include <stddef.h>

enum name_kind { NAME_FIFO, NAME_PIPE, NAME_DEVICE };
enum { SIDE_IN = 1, SIDE_OUT = 2 };

struct named {
	const char *name;    /* as it was given */
	char path[4096];     /* as str_open() takes it */
	enum name_kind kind; /* once it is open */
	int in, out;	     /* descriptors, the same one unless a FIFO; -1: none */
};

/* "echo" is /dev/streams/clone/echo, "echo/3" minor 3 of it, others are paths. */
void name_init(struct named *n, const char *name);
/* Whether the path promises a FIFO, which has a side for each direction. */
bool name_is_fifo(const struct named *n);
/*
 * Whether it is a place to meet other programs at, which takes an instance; false
 * where there is none, after why[] was filled.
 */
bool name_can_meet(const struct named *n, const char *instance, char *why, size_t size);
/*
 * Open the sides.  With wait the sides of a FIFO wait for each other, as in
 * open(2).  The descriptors do not block.  0, or an errno: ENXIO where nobody
 * reads a FIFO, and no stream is attached to a file.
 */
int name_open(struct named *n, int sides, bool wait);
/* Close a side, SIDE_IN, SIDE_OUT or both; one descriptor for both only with both. */
void name_close(struct named *n, int sides);
/* Why name_open() failed, a sentence that begins with the name. */
const char *name_why(const struct named *n, int error);
/* What to do about ENOSR: the file system of the instance is full, or the arena is. */
const char *name_full(void);
/* What stands behind the path as the kernel sees it, "an ordinary file"; NULL: nothing. */
const char *name_file(const char *path);
/* An ordinary file that is empty: one that a stream may yet be attached to. */
bool name_may_come(const struct named *n);

#endif
