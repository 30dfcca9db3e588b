/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_out.h: how strperf pipe shows what it measured.
 */
#ifndef STRPERF_OUT_H
#define STRPERF_OUT_H

#include <stddef.h>

#include "strperf_json.h"
#include "strperf_pipe.h"

/* What is measured and where, before the first slice (human format only). */
void out_header(const struct measured *m);
/* The two lines of a slice, as the original experiment printed them. */
void out_slice(const struct options *o, const struct result *r, const struct slice *s);
/* On a terminal: slice done of total, seconds gone, seconds to come. */
void out_progress(size_t done, size_t total, double elapsed);
/* Take the progress line away. */
void out_progress_clear(void);
/* The results, in the format asked for. */
void out_results(const struct measured *m);

/* ---- what strperf compare needs, too -------------------------------------------- */

/* One line: processor, kernel, allowed CPUs. */
void out_machine(void);
/* One line about n cross-CPU round trips, NAN for an unknown one; none if all are. */
void out_roundtrips(const double *probes, size_t n);
/* The "build" object of a version line as ustr_version() gives it. */
void out_build(struct js *j, const char *key, const char *version);
/* "version" and "build" of this very program. */
void out_version(struct js *j);
/* The "host" object, with n cross-CPU round trips. */
void out_host(struct js *j, const double *probes, size_t n);
/* CSV: a number, or nothing if it is not finite, and what follows it. */
void out_csv_number(double value, const char *after);

#endif
