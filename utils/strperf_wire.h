/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_wire.h: what `strperf write' and `strperf read' say to each other.
 *
 *	writer ── HELLO, DATA, DATA, ... TRAILER ──> reader
 *	writer <── HELLO, TOTALS ── reader		through another stream
 *
 * A FIFO has no way back, and what a device or pipe sends back may be read by others,
 * so the writer opens a FIFO of its own (/dev/streams/clone/fifo) and tells its minor
 * number in its HELLO; the reader answers there.
 *
 * All but DATA are messages with a control part, a struct wire, and no data.  A DATA
 * message of WIRE_INLINE bytes or more is data alone, as strperf_payload.h lays it
 * out, with two words of the pattern given away:
 *
 *	word 0	sequence number of this writer, from 0
 *	word 1	chosen so that the sum of all words is 2^64 - 1
 *	word 2	when it was sent, or was due, CLOCK_MONOTONIC in ns; 0: not told
 *	word 3	the writer's number
 *
 * A smaller one has these words in a control part.  Every message of a writer
 * changes its checksum, a sum of a mixed-up number and time, so that two sides
 * whose messages, bytes and checksums are the same had the same messages.
 *
 * Several writers may share a stream: each message names its own.
 */
#ifndef STRPERF_WIRE_H
#define STRPERF_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strperf_payload.h"

#define WIRE_INLINE 32 /* smallest message with all of that in its data */
#define WIRE_MAGIC 0x55535046u
#define WIRE_VERSION 1

enum wire_kind { WIRE_HELLO = 1, WIRE_DATA, WIRE_TRAILER, WIRE_TOTALS };

/* What one side had: the numbers that must agree. */
struct tally {
	uint64_t messages, bytes, checksum;
};

struct wire {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	uint64_t id;	    /* of the writer it is about */
	uint64_t seq, time; /* DATA */
	uint64_t check;	    /* DATA: of words and bytes */
	struct tally tally; /* TRAILER, TOTALS */
	uint32_t pid;	    /* of who says so */
	uint32_t cut;	    /* TRAILER, TOTALS: it was interrupted */
	uint32_t reply;	    /* HELLO of the writer: minor of the FIFO for answers */
	uint32_t size;	    /* HELLO of the writer: bytes of a message */
};

struct wire_writer {
	struct payload payload;
	unsigned char *buf;
	uint64_t id;
	uint64_t given; /* the pattern of words 2 and 3 */
	struct wire ctl; /* of a small message */
	struct tally tally;
};

/* What a message that came turned out to be. */
struct wire_message {
	uint64_t id, seq, time;
	bool damaged;
};

/* Messages of size bytes from the writer id: 0, or -1 without memory. */
int wire_init(struct wire_writer *w, uint64_t id, size_t size);
void wire_fini(struct wire_writer *w);
/* Make the next message, numbered w->tally.messages; *ctl is NULL if it has none. */
void wire_stamp(struct wire_writer *w, int64_t time, const struct wire **ctl);
/* It was sent: count it. */
void wire_sent(struct wire_writer *w, int64_t time);

/* A control part for anything but DATA. */
void wire_make(struct wire *m, enum wire_kind kind, uint64_t id);
/* Whether n bytes are a control part of ours. */
bool wire_is(const void *ctl, int n);
/* Take a DATA message apart; ctl NULL if it has none. */
void wire_take(struct wire_message *m, const struct wire *ctl, const unsigned char *data,
    size_t n);
/* Count a message. */
void wire_count(struct tally *t, uint64_t seq, uint64_t time, size_t n);
bool wire_same(const struct tally *a, const struct tally *b);

#endif
