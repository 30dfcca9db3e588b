/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crashlib.h: what the programs share that kill processes inside the library:
 * the things a victim does, and what those who live on must find.
 */
#ifndef TESTS_CRASHLIB_H
#define TESTS_CRASHLIB_H

#include "stresslib.h"

enum { LIMIT_MS = 200, ORDINARY = 17, SCENARIOS = ORDINARY + 15 };
/* The question that crashdo does not answer. */
enum { CRASH_HANG = 'x' << 8 };
enum { CRASH_IOCTLTIME = 15000 };

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
	/* Points at which nobody died before, and then no others: it takes long. */
	bool s_once;
	/* In an arena of its own, with little memory. */
	bool s_poor;
	/* It does something else each time, and so many in a row may find no new point. */
	int s_turns;
	/*
	 * The victim has no descriptor of the stream that must not notice: he buries others
	 * and may die of that with a lock in his hand, also one of a stream that they had.
	 */
	bool s_apart;
	bool s_opens; /* streams: once more with each of them recorded from its start */
	/* Made before: what those who live on share with the victim. */
	void (*s_stand)(void);
	/* Look at it, and away with it; true: messages still flow. */
	bool (*s_look)(const char *name, long n);
};
/*
 * The ordinary ones can be done again and again; then what takes too long for
 * that, closing, linking, unlinking, merging, using and taking over from who merged.
 */
extern const struct scenario crash_scenarios[SCENARIOS];
const struct scenario *crash_scenario(const char *name);

/* Of crashrare.c. */
void crash_rare_begin(void);
void crash_recording(const int fd[2]);
void crash_registering(const int fd[2]);
void crash_foreign(const int fd[2]);
void crash_busy(const int fd[2]);
void crash_asking(const int fd[2]);
void crash_looking(const int fd[2]);
void crash_daemon(const int fd[2]);
void crash_crossing(const int fd[2]);
void crash_mute(const int fd[2]);
void crash_poor(const int fd[2]);
void crash_stopped(const int fd[2]);
void crash_timing(const int fd[2]);
void crash_burying(const int fd[2]);

/* What a victim set for all of the instance, back to what it was. */
void crash_reset(void);
void crash_nonblock(const int fd[2]);
/* What a call on a stream that others died on may give. */
void crash_allowed(long r, const char *call, const char *name, long n);
/* Every call returns, with something sensible; true: messages still flow. */
bool crash_usable(const int fd[2], const char *name, long n);
/*
 * The dead are counted no more, though they died while they joined: who is alone has what
 * he puts into a stream as it is, without a copy that others could read.
 */
void crash_alone(const char *name, long n);
/* The peer of an end that died with its process hears of it; false: not in time. */
bool crash_told(int fd, const char *name, long n, long died);
/*
 * Add to the file USTR_STRESS_SITES, if that is wanted, where victims died: those
 * that descend from who told the library first of points ("crashpoint").
 */
void crash_report(void);

#endif
