/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_case.h: a case and what everybody who takes part in it shares.
 *
 *	strtest ---fork---> case ---thread---> thread { ... }
 *	  |  ^               | ^---fork------> fork { ... }
 *	  |  '--- report ----'  watchdog (a thread)
 *	  '--- TAP
 *
 * The case is the leader of a process group.  strtest reads the report until
 * all of them have closed it, says ok or not ok, and kills whatever is left of
 * the group.  Since streams begin with the first call, those of a case are its
 * own.
 */
#ifndef STRTEST_CASE_H
#define STRTEST_CASE_H

#include <semaphore.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "strtest_run.h"

enum { MAX_SLOTS = 128, MAX_WORDS = 64, WORD_LEN = 32 };

/* Who takes part: the case itself, threads, children. */
struct slot {
	atomic_int used;
	atomic_int tid; /* thread in the kernel, 0 before it runs */
	atomic_int pid;
	atomic_bool in_verb; /* within a call */
	atomic_bool finished;
	_Atomic(const struct command *) at; /* the same address in each process */
	char name[WORD_LEN];
};

/* In memory that the children share. */
struct shared {
	atomic_int failed; /* something was not as it should be */
	atomic_int broken; /* a mistake in the script */
	atomic_int skipped;
	char reason[256]; /* of the skip */
	atomic_flag lock; /* of words */
	int nwords;
	struct {
		char name[WORD_LEN];
		sem_t posted;
	} words[MAX_WORDS];
	struct slot slots[MAX_SLOTS];
};

/* A new slot; NULL when all are taken. */
struct slot *case_slot(struct shared *s, const char *name);

/* The whole script as one case. */
void case_whole(struct run *r, const struct script *s);
/* One case: prints its line. */
void case_run(
    struct run *r, const char *sentence, const struct command *block, double timeout);
/* A case that the caller carries out itself, and its end. */
void case_open(struct run *r);
void case_close(struct run *r);
/* Totals so far, and the plan line. */
int case_plan(void);
/* A script from here on counts as skipped. */
void case_skip_rest(const char *file, const char *reason);

/* A mistake outside of any case counts, too. */
void case_mark_broken(bool broken);

/* Where the threads and children of the case stand, for a report. */
void case_report_places(struct run *r);

#endif
