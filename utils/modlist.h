/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * modlist.h: the modules of a stream as strconf and strchg see them: a list,
 * the topmost first, that can be read, lengthened and cut.
 *
 * All return 0 or an errno.  A change that cannot be made whole is undone as
 * far as it went.
 */
#ifndef MODLIST_H
#define MODLIST_H

#include <stdbool.h>
#include <stdio.h>

#include <stropts.h>
#include <ustreams_look.h>

enum { MODLIST_MOST = 256 };

struct modlist {
	int n;	     /* names, a driver at the end included */
	bool driver; /* the last one is a driver */
	char names[MODLIST_MOST][FMNAMESZ + 1];
};

int modlist_read(int fd, struct modlist *l);
/* Of a stream of another program, which is looked at. */
int modlist_view(const struct ustr_view_stream *vs, struct modlist *l);
/* How many of them are modules. */
int modlist_modules(const struct modlist *l);
/* Where a module of that name is, the topmost one, or -1. */
int modlist_find(const struct modlist *l, const char *name);

/* Push what a list names, the first one first.  *bad: what could not be. */
int modlist_push(int fd, const char *names, char bad[FMNAMESZ + 1]);
/* The sentence about a push that failed with that error: what and, if that helps, what is legal. */
const char *modlist_refusal(int fd, const char *bad, int error);
/* Pop n modules; fewer when there are not so many. */
int modlist_pop(int fd, int n);
/* Pop all above the topmost module of that name; ENOENT: there is none. */
int modlist_pop_to(int fd, const char *name);
/*
 * Make the modules those that a file names, one a line and the topmost first,
 * with as few pops and pushes as that takes.  E2BIG: too many lines; EINVAL
 * with *bad empty: a line is no name.
 */
int modlist_set(int fd, FILE *from, char bad[FMNAMESZ + 1]);

#endif
