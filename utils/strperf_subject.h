/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_subject.h: one table of operations per thing that is measured.
 *
 * The loop (strperf_loop.c) knows a subject only through this table, so all
 * pay the same for it.  A subject is opened by the parent before it forks:
 * fd[0] is the reading end, fd[1] the writing end.
 */
#ifndef STRPERF_SUBJECT_H
#define STRPERF_SUBJECT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "strperf_opts.h"

/* What --peers takes. */
#if STRPERF_ZMQ
#define SUBJECT_NAMES "pipe,fifo,unix,seqpacket,mq,none,zmq"
#else
#define SUBJECT_NAMES "pipe,fifo,unix,seqpacket,mq,none"
#endif

struct subject {
	const char *name; /* as --peers takes it */
	const char *what; /* for --help */
	/* Open both ends.  EXIT_DONE, or another exit status after one line on stderr. */
	int (*open)(const struct options *o, size_t size, int fd[2]);
	/* As read(2), write(2) and poll(2); a read of 0 bytes is the end. */
	ssize_t (*read)(int fd, void *buf, size_t n);
	ssize_t (*write)(int fd, const void *buf, size_t n);
	int (*poll)(struct pollfd *fds, nfds_t n, int ms);
	/* The writer has sent its last message; it closes its end after this. */
	int (*finish)(int fd);
	int (*close)(int fd);
	/* The largest message it can carry; why that is so goes to *why. */
	size_t (*limit)(const struct options *o, const char **why);
	/* Up to this size one read returns one message, never a part of it. */
	size_t (*whole)(const struct options *o);
	size_t many;	/* largest message that several writers or readers keep whole */
	bool both_ways; /* either end reads and writes */
};

/* Our streams; which of two tables depends on --io. */
const struct subject *subject_ours(const struct options *o);
/* A peer by name, or NULL. */
const struct subject *subject_find(const char *name);
/* The n-th peer, or NULL past the last. */
const struct subject *subject_peer(size_t n);

/* ---- for the files that define subjects ------------------------------------- */

extern const struct subject ustreams_rw, ustreams_msg, ustreams_fifo, counter_none, zeromq;

/*
 * Open a stream as o asks and report the water marks of its reading end: the
 * test of --push, --hiwat, --lowat before anything runs.  As open above.
 */
int ustreams_try(const struct options *o, long *hiwat, long *lowat);

/*
 * Make a FIFO somewhere, have both its ends opened by this function of its path,
 * and take its name away.  As open above.
 */
int subject_new_fifo(int (*open_ends)(const struct options *o, const char *path, int fd[2]),
    const struct options *o, int fd[2]);
int subject_finish_nothing(int fd);
size_t subject_no_limit(const struct options *o, const char **why);
size_t subject_always_whole(const struct options *o);
size_t subject_byte_stream(const struct options *o);

#endif
