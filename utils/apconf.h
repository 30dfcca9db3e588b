/* SPDX-License-Identifier: BSD-2-Clause */
/* apconf.h: what is pushed at open, set and shown through the driver sad. */
#ifndef APCONF_H
#define APCONF_H

#include <stdbool.h>
#include <stdio.h>

#include <sys/sad.h>

#define APCONF_ALL (-1) /* minor: all of them */

/* A stream of sad, or -1 after a line that says why. */
int apconf_open(void);
/*
 * A driver by its name or major number, in *major; a minor number or -1, in
 * *minor.  False after a line that begins with where ("" or "file:line: ").
 */
bool apconf_major(int sad, const char *where, const char *text, unsigned int *major);
bool apconf_minor(const char *where, const char *text, int *minor);
/*
 * Have the n words pushed for minors minor..last (last 0: one; minor APCONF_ALL:
 * all).  A word "anchor" or "[anchor]" sets the anchor there.
 */
bool apconf_set(int sad, const char *where, unsigned int major, int minor, int last, int n,
    char *const *words);
bool apconf_clear(int sad, unsigned int major, int minor);
bool apconf_show(int sad, unsigned int major, int minor, FILE *to);
/* Set every line of a file: how many were refused, each with a line that says why. */
int apconf_file(int sad, const char *name, FILE *from);

#endif
