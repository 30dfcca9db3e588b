/* SPDX-License-Identifier: BSD-2-Clause */
/* tapout.h: where strtap's events go: lines, or a pcapng file; and which of them. */
#ifndef TAPOUT_H
#define TAPOUT_H

#include <stdbool.h>
#include <stdio.h>

#include <ustreams.h>

struct tapfilter {
	bool types;		/* only these */
	bool type[256];
	int band;		/* -1: all */
	const char *queue;	/* NULL: all */
	char side;		/* 'R', 'W', 0: both */
	unsigned int whats;	/* bit for each USTR_EV_*; 0: all */
};

/* Does it pass? */
bool tapfilter_passes(const struct tapfilter *f, const struct ustr_event *ev);
/*
 * Take the operand of option t, b, q, d or e: false after a line that says what is
 * legal.
 */
bool tapfilter_take(struct tapfilter *f, int option, const char *operand);

struct tapqueue;

struct tapout {
	FILE *to;
	const char *path; /* of a pcapng file, "-" standard output; NULL: lines */
	bool hex;
	bool failed; /* and said so */
	struct tapqueue *queue; /* interfaces written */
	size_t n, room;
};

/* 0, or -1 after a line. */
int tapout_begin(struct tapout *o);
int tapout_event(struct tapout *o, const struct ustr_event *ev);
int tapout_lost(struct tapout *o, unsigned int stream, uint64_t lost);
int tapout_flush(struct tapout *o);
int tapout_end(struct tapout *o);

#endif
