/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h: the flight recorder: a ring of message events.
 *
 * Level 1.  A recorded stream has one ring, in the arena.  Many threads of many
 * processes write to it at once and never wait; anybody who can read the arena
 * reads it, also through a mapping that is read only: plain data, no pointer to
 * follow, no lock.  What is not read in time is overwritten, and the reader knows
 * how much.
 *
 *   struct trace: | identity, who wants it | tr_next | record 0 | ... | record n-1 |
 *   record:       | turn | time ... queue | bytes |        n is a power of two
 *
 * Event i, counted from 0 since the ring was made, has record i mod n.  The turn
 * word says whose the record is:
 *
 *   turn      0         nobody's yet
 *             2i + 3    being written for event i
 *             2i + 2    holds event i, whole
 *
 *   writer                               reader, of event i
 *   T1 i := tr_next++      (fetch-add)   R1 i < tr_next, or nothing there yet
 *   T2 turn is even, of an older event,  R2 i + n >= tr_next, or lost
 *      or event i is given up            R3 turn = 2i + 2   (acquire)
 *   T3 turn := 2i + 3      (c-a-s)       R4 words          (acquire, each)
 *   T4 words               (release)     R5 turn = 2i + 2 still, or lost
 *   T5 turn := 2i + 2      (release)
 *
 * The states of a record, and who makes each step:
 *
 *   empty ──T3──► written for i ──T5──► holds i ──T3──► written for j > i ──► ...
 *                      └─ writer killed: for ever; each event that has the
 *                         record from then on is given up in T2
 *
 * invariant 1: between T3 and T5 one thread writes the record's words.
 * invariant 2: words that R4 found between two equal turns are those of event i:
 *   a word of a later event is stored after T3 of it, which R5 then sees.
 * invariant 3: every event is delivered to a reader or counted as lost by it:
 *   indices have no gaps.  Claimed but not whole is waited for, TRACE_PATIENCE at
 *   most: its writer is stopped or dead, or gave it up.
 *
 * (tests/check_trace.c, tests/stress_trace.c)
 */
#ifndef STREAMS_TRACE_H
#define STREAMS_TRACE_H

#include "slot.h"

#include <ustreams.h>

#define TRACE_MIN 16		/* records */
#define TRACE_MAX (1 << 20)	/* records */
#define TRACE_TAPPERS 8		/* tools that have a ring switched on, at a time */
#define TRACE_PATIENCE 20000000 /* ns */
#define TRACE_MAGIC 0x6563617274727475u /* "utrtrace" */

_Static_assert(sizeof(struct ustr_event) == 3 * LINE, "an event is three lines");
_Static_assert(offsetof(struct ustr_event, ev_seq) == 0, "ev_seq is the turn word");

#define TRACE_WORDS (sizeof(struct ustr_event) / sizeof(uint64_t))

struct trace_record {
	uint64_t rec_turn;	/* A  above */
	uint64_t rec_word[TRACE_WORDS - 1]; /* A  the rest of a struct ustr_event */
} LINE_ALIGNED;

/* tr_state: see head_trace.h */
enum { TRACE_ON, TRACE_RETIRED, TRACE_GONE, TRACE_HELD };

struct trace {
	uint64_t tr_magic;	/* A  TRACE_MAGIC; 0: held, or no more */
	uint32_t tr_stream;	/* C  whose it is (sd_id) */
	uint32_t tr_records;	/* C  a power of two */
	struct trace *tr_link;	/* T  next ring; T is trace_root's lock */
	uint32_t tr_own;	/* T  the stream's program wants it */
	uint32_t tr_state;	/* T  TRACE_* */
	uint64_t tr_tapper[TRACE_TAPPERS]; /* T  processes of tools, 0 none */
	uint32_t tr_holder;	/* T  slot (sl_key) in whose hand it, or its stream, is; 0 none */
	uint64_t tr_next LINE_ALIGNED; /* A  events claimed */
	uint64_t tr_given;	/* A  of these given up in T2 */
	struct trace_record tr_record[] LINE_ALIGNED;
};

/* Is t, which may have been given back, still the ring of that stream? */
INLINE bool
trace_valid(const struct trace *t, uint32_t stream)
{
	return ld_acq(&t->tr_magic) == TRACE_MAGIC && t->tr_stream == stream;
}

/* Where a reader is. */
struct trace_cursor {
	uint64_t tc_next;	/* event wanted next */
	uint64_t tc_lost;	/* events it did not get */
	int64_t tc_since;	/* since when tc_next is claimed and not whole, or 0 */
};

/* All rings; lies in the arena. */
struct trace_root {
	uint32_t tt_lock;	/* A */
	struct trace *tt_first;	/* T  all rings */
	uint32_t tt_unwanted;	/* A  there may be rings to be taken away */
	uint64_t tt_refused;	/* A  streams not recorded for want of memory */
};

extern struct trace_root *trace_root;

/* Bytes of a ring of that many records, a power of two. */
INLINE size_t
trace_size(uint32_t records)
{
	return sizeof(struct trace) + (size_t)records * sizeof(struct trace_record);
}

/*
 * Make memory of trace_size(records) bytes a ring in the hand of holder, which may be
 * listed; then, before it is on, clear its records.
 */
void trace_init(struct trace *t, uint32_t stream, uint32_t records, uint32_t holder);
void trace_clear(struct trace *t);
/* Add an event; its ev_seq is not looked at. */
void trace_write(struct trace *t, const struct ustr_event *ev);
/* Begin with the oldest event that is there. */
void trace_oldest(const struct trace *t, struct trace_cursor *c);
/*
 * The next event for c, ev_time as the monotonic clock had it: false when there is
 * none now.  Events that are lost are counted and passed over.
 */
bool trace_read(const struct trace *t, struct trace_cursor *c, struct ustr_event *ev);

#endif
