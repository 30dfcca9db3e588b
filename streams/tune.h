/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tune.h: settings of the environment that need no rebuild.
 *
 * Level 10.  USTREAMS_TUNE is a list of name=value, read once when the library
 * comes up: first checked as a whole, so that a refused one changes nothing,
 * then put where each belongs before anything uses it.  So no path ever looks
 * at a setting that it would not look at anyway.
 *
 * A setting that is refused, of USTREAMS_TUNE or of another variable, leaves a
 * sentence for ustr_tunefault(): the library itself prints nothing.
 */
#ifndef STREAMS_TUNE_H
#define STREAMS_TUNE_H

/* Keep the sentence that says why the library does not come up; gives error. */
__attribute__((format(printf, 2, 3))) int tune_refuse(int error, const char *fmt, ...);
/* Read and check USTREAMS_TUNE, before anything is set up: 0 or EINVAL. */
int tune_read(void);
/* Put what it sets into the head's limits, once they stand. */
void tune_apply(void);

#endif
