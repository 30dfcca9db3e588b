/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_job.h: cases as strtest itself sees them: processes that are started,
 * several at a time with -j, and lines that are printed in the order of the
 * scripts.
 */
#ifndef STRTEST_JOB_H
#define STRTEST_JOB_H

#include "strtest_run.h"

enum { MAX_JOBS = 64 };

/* A case, here or in a process of its own; timeout in seconds. */
void job_case(
    struct run *r, const char *sentence, const struct command *block, double timeout);
/* The whole script as one case. */
void job_whole(struct run *r, const struct script *s);
/* The script from here on counts as a case that was skipped. */
void job_skip_rest(const char *file, const char *reason);
/* A comment among the lines. */
void job_note(const char *text);
/* A mistake outside of any case. */
void job_mark_broken(bool broken);
/* Wait for all, print the plan; the exit status. */
int job_plan(void);

#endif
