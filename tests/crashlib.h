/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crashlib.h: what the programs share that kill processes inside the library:
 * the things a victim does, and what those who live on must find.
 */
#ifndef TESTS_CRASHLIB_H
#define TESTS_CRASHLIB_H

#include "stresslib.h"

enum { LIMIT_MS = 200, ORDINARY = 12, SCENARIOS = ORDINARY + 4 };

/* So often a busy machine may not run those who are to be told, unmeasured. */
#define SELDOM(n) (2 + (n) / 200)

struct streamtab;
/* A module that queues everything: crashq. */
extern struct streamtab crash_tab;
/* Register the modules crashq and crashdo; make the files that scenarios name. */
void crash_begin(void);
/* A survivor does it, on streams of its own: nothing may fail (crashdo.c). */
extern bool crash_strict;

/* The descriptors do not block; any call may fail, the stream may be condemned. */
struct scenario {
	const char *s_name;
	void (*s_do)(const int fd[2]);
	/*
	 * Points at most, 0: until the victim comes to its end.  Streams of mux that
	 * were lost with their files stay with the driver, and each is a point more.
	 */
	long s_most;
	/* Made before: what those who live on share with the victim. */
	void (*s_stand)(void);
	/* Look at it, and away with it; true: messages still flow. */
	bool (*s_look)(const char *name, long n);
};
/* The ordinary ones can be done again and again; then closing, linking, merging
 * and taking over from who merged. */
extern const struct scenario crash_scenarios[SCENARIOS];

void crash_nonblock(const int fd[2]);
/* What a call on a stream that others died on may give. */
void crash_allowed(long r, const char *call, const char *name, long n);
/* Every call returns, with something sensible; true: messages still flow. */
bool crash_usable(const int fd[2], const char *name, long n);
/* The peer of an end that died with its process hears of it; false: not in time. */
bool crash_told(int fd, const char *name, long n, long died);

#endif
