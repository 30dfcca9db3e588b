/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stresslib.h: what the stress programs share: workers that are threads or
 * processes, a watchdog that draws both ends of a stalled stream, and traffic
 * whose every message is accounted for.
 *
 * Environment: USTR_STRESS_SECONDS (3; of programs that count messages, more),
 * USTR_STRESS_COUNT, USTR_STRESS_MODE
 * (threads, fork or both; an argument of that name wins), and
 * USTR_TEST_THREADS_ONLY=1.  Exit status 0 good, 1 bad, 77 skipped.
 */
#ifndef TESTS_STRESSLIB_H
#define TESTS_STRESSLIB_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stropts.h>
#include <sys/types.h>
#include <ustreams.h>

long stress_now(void);
void stress_sleep(int ms);
/* fork(2), of a child that does not outlive its maker. */
pid_t stress_fork(void);

/* Milliseconds to run (of so many seconds by default), and messages to send. */
long stress_ms(void);
long stress_ms_or(long seconds);
long stress_count(long fallback);

/*
 * How many messages a run sends: so many when there is time for them, else what
 * there was time for, but the least in any case: a message that waits for the
 * other CPU takes a microsecond or, beside a busy program, ten milliseconds.
 */
struct quota {
	long q_most, q_least; /* messages */
	long q_ms, q_end;     /* the time, and stress_now() when it is up */
};
/*
 * One of n runs that share USTR_STRESS_COUNT messages and USTR_STRESS_SECONDS.
 * The count given alone is sent whole, whatever time it takes.
 */
struct quota quota_share(long count, long seconds, long n, long least);
/* The time runs. */
void quota_begin(struct quota *q);
bool quota_more(const struct quota *q, long done);
/* Which modes to run; false: none is possible here, exit with 77. */
bool stress_modes(int argc, char **argv, bool *threads, bool *forks);

/* End the program, or in a worker process the worker, with status 1. */
#define DIE(...) stress_die(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void stress_die(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The call must not fail. */
#define MUST(call) stress_must((long)(call), #call, __FILE__, __LINE__)
long stress_must(long r, const char *call, const char *file, int line);

/* Memory that threads and children share, zeroed. */
void *shared_memory(size_t n);

/* ---- workers ------------------------------------------------------------ */

enum { MAXCREW = 8, STALL_MS = 20000 };

struct crew {
	bool c_fork; /* processes, not threads */
	int c_n;
	pthread_t c_thread[MAXCREW];
	pid_t c_pid[MAXCREW];
	void (*c_fn)(int who, void *arg);
	void *c_arg;
	struct crew_shared {
		_Alignas(64) atomic_ulong progress; /* moves while all is well */
		atomic_bool done;
	} * c_shared;	    /* one for each worker */
	const char *c_what; /* said when it fails */
	const int *c_fd;    /* two streams to draw at a stall */
};

/* Start n workers, each on a CPU of its own as far as there are any. */
void crew_start(struct crew *c, bool forked, int n, void (*fn)(int who, void *arg),
    void *arg, const int fd[2], const char *what);
/* A worker says that it is alive. */
void crew_tick(int who);
/* Wait for workers from..to-1; a stall or a failure ends the program. */
void crew_join(struct crew *c, int from, int to);
void crew_end(struct crew *c);

/* ---- traffic ------------------------------------------------------------ */

enum { TWRITERS = 2, TREADERS = 2, SEQ_BITS = 26 };

/* Two writers at fd[0] and two readers at fd[1]; shared memory. */
struct traffic {
	int t_fd[2];
	bool t_polling;	    /* str_poll and O_NONBLOCK, or blocking */
	atomic_bool t_stop; /* writers stop */
	unsigned long t_sent[TWRITERS];
	unsigned long t_read[TREADERS];
	_Atomic unsigned char t_seen[TWRITERS][1 << (SEQ_BITS - 3)];
};

struct traffic *traffic_make(const int fd[2], bool polling);
void traffic_write(struct traffic *t, int who, int tick);
void traffic_read(struct traffic *t, int who, int tick);
/* When the writers have ended: have the readers end too. */
void traffic_finish(struct traffic *t);
/* When the readers have ended: every message came once, or the program ends. */
unsigned long traffic_check(struct traffic *t);
void traffic_free(struct traffic *t);

#endif
