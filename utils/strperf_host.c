/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_host.c: the machine a result was made on.
 *
 * What a stream costs across two processors depends first of all on what those
 * share.  A hypervisor moves virtual processors within seconds, and results
 * change threefold when it does; so the round trip of a cache line is measured
 * around every slice, and slices of different placements are not compared.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_host.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <bsd/string.h>

#include "strperf_intr.h"

/* ---- names ------------------------------------------------------------------- */

void
host_cpu_model(char *buf, size_t size)
{
	char line[256], *colon;
	FILE *f = fopen("/proc/cpuinfo", "re");

	strlcpy(buf, "unknown", size);
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		colon = strchr(line, ':');
		if (colon == NULL || strncmp(line, "model name", 10) != 0)
			continue;
		colon[strcspn(colon, "\n")] = '\0';
		strlcpy(buf, colon + 1 + strspn(colon + 1, " "), size);
		break;
	}
	if (f != NULL)
		fclose(f);
}

void
host_kernel(char *buf, size_t size)
{
	struct utsname u;

	if (uname(&u) == 0)
		snprintf(buf, size, "%s %s", u.sysname, u.release);
	else
		strlcpy(buf, "unknown", size);
}

/* ---- processors ---------------------------------------------------------------- */

static cpu_set_t *
allowed(void)
{
	static cpu_set_t set;
	static bool known;

	if (!known && sched_getaffinity(0, sizeof(set), &set) == -1)
		CPU_SET(0, &set);
	known = true;
	return &set;
}

int
host_ncpus(void)
{
	return CPU_COUNT(allowed());
}

bool
host_cpu_allowed(int cpu)
{
	return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, allowed());
}

int
host_cpu(int n)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (host_cpu_allowed(cpu) && n-- == 0)
			return cpu;
	return -1;
}

void
host_cpus_text(char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (int cpu = 0, last; cpu < CPU_SETSIZE && len < size; cpu = last + 1) {
		last = cpu;
		if (!host_cpu_allowed(cpu))
			continue;
		while (host_cpu_allowed(last + 1))
			last++;
		len += (size_t)snprintf(
		    buf + len, size - len, "%s%d", len ? "," : "", cpu);
		if (last > cpu && len < size)
			len += (size_t)snprintf(buf + len, size - len, "-%d", last);
	}
}

int
host_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* ---- the probe ------------------------------------------------------------------ */

#define ROUNDS 64	  /* round trips timed together */
#define BATCHES 16	  /* of these the best counts */
#define PATIENCE 50000000 /* nanoseconds until a probe gives up */
#define SPINS 4096	  /* looks between two looks at the clock */

/* One word goes back and forth: even values are the server's to answer. */
struct court {
	_Alignas(128) _Atomic uint32_t ball; /* hits so far */
	_Alignas(128) int64_t until;	     /* give up at this time */
	int cpu[2];			     /* of server and receiver */
	double best;			     /* nanoseconds a round trip */
};

/* Wait until the ball has been hit so often; false: the other one is not there. */
static bool
wait_for(struct court *c, uint32_t hits)
{
	for (uint32_t i = 1; atomic_load_explicit(&c->ball, memory_order_acquire) != hits;
	     i++)
		if (i % SPINS == 0 && intr_now() > c->until)
			return false;
	return true;
}

static bool
play(struct court *c, uint32_t mine, uint32_t rounds)
{
	for (uint32_t hits = mine; hits < mine + 2 * rounds; hits += 2) {
		if (!wait_for(c, hits))
			return false;
		atomic_store_explicit(&c->ball, hits + 1, memory_order_release);
	}
	return true;
}

static void *
receiver(void *arg)
{
	struct court *c = arg;

	if (host_pin(c->cpu[1]) == 0)
		play(c, 1, ROUNDS * (BATCHES + 1));
	return NULL;
}

/* The first batch waits for the receiver to come and is not timed. */
static void *
server(void *arg)
{
	struct court *c = arg;
	int64_t start;
	double ns;

	if (host_pin(c->cpu[0]) != 0)
		return NULL;
	for (uint32_t i = 0; i <= BATCHES; i++) {
		start = intr_now();
		if (!play(c, i * 2 * ROUNDS, ROUNDS))
			return NULL;
		ns = (double)(intr_now() - start) / ROUNDS;
		if (i > 0 && !(ns >= c->best))
			c->best = ns;
	}
	return NULL;
}

double
host_roundtrip(int cpu_a, int cpu_b)
{
	struct court c = {
	    .until = intr_now() + PATIENCE, .cpu = {cpu_a, cpu_b}, .best = NAN};
	pthread_t a, b;

	if (pthread_create(&a, NULL, server, &c) != 0)
		return NAN;
	if (pthread_create(&b, NULL, receiver, &c) == 0)
		pthread_join(b, NULL);
	pthread_join(a, NULL);
	return c.best;
}

bool
host_one_place(double lo, double hi)
{
	return !(hi > lo * HOST_PLACE_FACTOR);
}
