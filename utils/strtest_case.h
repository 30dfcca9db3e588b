/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_case.h: what everybody who takes part in a case shares.
 *
 *	strtest ---fork---> case ---thread---> thread { ... }
 *	  ^  ^               | ^---fork------> fork { ... }
 *	  |  '-- report -----'  watchdog (a thread)
 *	  '---- shared ------'
 *
 * The case is the leader of a process group.  When it ends, strtest
 * (strtest_job.h) reads the report, says ok or not ok, and kills whatever is
 * left of the group.  Since streams begin with the first call, those of a case
 * are its own.
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

/* Give a run the memory and the directory of a case, and take them away. */
void case_prepare(struct run *r);
void case_clear_away(struct run *r);
/* From its first command to the end of its threads and children. */
void case_carry_out(struct run *r, const struct command *block, double timeout);
/* A case whose commands the caller carries out, and its end. */
void case_open(struct run *r);
void case_close(struct run *r);

/* Where the threads and children of the case stand, for a report. */
void case_report_places(struct run *r);

#endif
