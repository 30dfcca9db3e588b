/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_host.h: the machine a result was made on.
 */
#ifndef STRPERF_HOST_H
#define STRPERF_HOST_H

#include <stdbool.h>
#include <stddef.h>

/* Between two processors whose round trips differ by more, nothing is compared. */
#define HOST_PLACE_FACTOR 2.0

/* The processor's name, or "unknown" (no /proc). */
void host_cpu_model(char *buf, size_t size);
/* "Linux 6.1.0" */
void host_kernel(char *buf, size_t size);

/* Processors this process may run on: how many, and the n-th from 0 (or -1). */
int host_ncpus(void);
int host_cpu(int n);
bool host_cpu_allowed(int cpu);
/* "0-3,8" of those allowed. */
void host_cpus_text(char *buf, size_t size);
/* Bind the calling thread to one processor.  0, or an errno. */
int host_pin(int cpu);

/*
 * Nanoseconds for a cache line to go from one processor to the other and back,
 * the best of several rounds; NAN when it cannot be measured.  Takes less than
 * a millisecond when nothing else runs.
 */
double host_roundtrip(int cpu_a, int cpu_b);

/* Whether round trips from lo to hi belong to one placement of the processors. */
bool host_one_place(double lo, double hi);

#endif
