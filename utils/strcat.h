/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strcat.h: strcat joins standard input and output to a stream.
 *
 *	stdin --> [ up: bytes not yet sent ] --> stream
 *	stdout <-- [ down: bytes not yet written ] <-- stream
 *
 * The two directions know nothing of each other; strcat.c polls what each of them
 * waits for, so that neither a full stream nor a full pipe behind stdout holds the
 * other one up.
 *
 * C1  A direction reads only while its buffer has nothing that can be passed on, so
 *     memory stays bounded by the largest message.
 * C2  A message is passed on whole: down counts as pending only what has ended.
 * C3  Nothing that was taken from a side is dropped silently: what cannot be passed
 *     on any more ends the program with a line and status 1.
 */
#ifndef STRCAT_H
#define STRCAT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "strname.h"

struct cat_options {
	int sides;	    /* SIDE_IN, SIDE_OUT: what of the stream is used */
	bool messages;	    /* a line is a message */
	bool hex;	    /* and is written in hexadecimal digits */
	bool control;	    /* and has a control part before a tab */
	int band;	    /* to send in */
	double quiet;	    /* seconds to go on after the end of stdin; < 0: for ever */
	const char *push;   /* modules, or NULL */
	const char *instance;
};

struct bytes {
	char *v;
	size_t at, end; /* in use */
	size_t room;
};

/* One direction.  Its status: 0 while all is well, else the one to exit with. */
struct cat_flow {
	const struct cat_options *o;
	struct named *n;
	struct bytes b;
	size_t most;	 /* the longest message */
	unsigned long line; /* the number of the newest one */
	unsigned long dropped; /* control parts left out */
	size_t whole;	 /* down: bytes from at on that belong to ended messages */
	bool hung;	 /* down: by a hang-up, so that nothing can be sent any more */
	bool unwanted;	 /* down: whoever read stdout has gone */
	bool ended;	 /* its source has ended */
	bool done;	 /* and all of it was passed on */
	int status;
};

/* More room for a longer message; -1 after a line. */
int bytes_grow(struct bytes *b, size_t most);
/* The first n bytes were used. */
void bytes_used(struct bytes *b, size_t n);
void cat_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* 0, or -1 when there is no memory. */
int flow_init(struct cat_flow *f, const struct cat_options *o, struct named *n);

/* stdin to the stream.  What it waits for, given the two descriptors' entries. */
void up_wants(const struct cat_flow *up, struct pollfd *source, struct pollfd *stream);
void up_go(struct cat_flow *up, const struct pollfd *source, const struct pollfd *stream);
/* The stream to stdout. */
void down_wants(const struct cat_flow *down, struct pollfd *stream, struct pollfd *sink);
void down_go(
    struct cat_flow *down, const struct pollfd *stream, const struct pollfd *sink);

/* "68 69" to "hi": the length, or -1: no hexadecimal digits. */
long hex_decode(const char *from, size_t n, char *to);
/* "hi" to "68 69", without a blank at the end: the length; to has 3 n bytes. */
size_t hex_encode(const char *from, size_t n, char *to);

#endif
