/* SPDX-License-Identifier: BSD-2-Clause */
/* strperf_wire.c: messages between two programs (strperf_wire.h has the layout). */
#include "strperf_wire.h"

#include <stdlib.h>
#include <string.h>

enum { CHECK = 8, TIME = 16, ID = 24 };

static uint64_t
get(const unsigned char *buf, size_t at)
{
	uint64_t word;

	memcpy(&word, buf + at, sizeof(word));
	return word;
}

static void
set(unsigned char *buf, size_t at, uint64_t word)
{
	memcpy(buf + at, &word, sizeof(word));
}

/* The finalizer of splitmix64: every bit of the result depends on every one of x. */
static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

void
wire_count(struct tally *t, uint64_t seq, uint64_t time, size_t n)
{
	t->messages++;
	t->bytes += n;
	t->checksum += mix(seq ^ (time << 21 | time >> 43));
}

bool
wire_same(const struct tally *a, const struct tally *b)
{
	return a->messages == b->messages && a->bytes == b->bytes &&
	    a->checksum == b->checksum;
}

/* ---- control parts -------------------------------------------------------------- */

void
wire_make(struct wire *m, enum wire_kind kind, uint64_t id)
{
	*m = (struct wire){
	    .magic = WIRE_MAGIC,
	    .version = WIRE_VERSION,
	    .kind = (uint16_t)kind,
	    .id = id,
	};
}

bool
wire_is(const void *ctl, int n)
{
	struct wire m;

	if (n != (int)sizeof(m))
		return false;
	memcpy(&m, ctl, sizeof(m));
	return m.magic == WIRE_MAGIC && m.version == WIRE_VERSION &&
	    m.kind >= WIRE_HELLO && m.kind <= WIRE_TOTALS;
}

/* Over the words and the few bytes of a small message. */
static uint64_t
small_check(const struct wire *m, const unsigned char *data, size_t n)
{
	uint64_t sum = mix(m->seq) + mix(m->time ^ m->id);

	for (size_t i = 0; i < n; i++)
		sum = mix(sum + data[i]);
	return sum;
}

/* ---- sending ---------------------------------------------------------------------- */

int
wire_init(struct wire_writer *w, uint64_t id, size_t size)
{
	*w = (struct wire_writer){.id = id, .buf = payload_alloc(size)};
	if (w->buf == NULL)
		return -1;
	payload_init(&w->payload, w->buf, size);
	wire_make(&w->ctl, WIRE_DATA, id);
	if (size < WIRE_INLINE)
		return 0;
	w->given = get(w->buf, TIME) + get(w->buf, ID);
	set(w->buf, ID, id);
	return 0;
}

void
wire_fini(struct wire_writer *w)
{
	free(w->buf);
}

void
wire_stamp(struct wire_writer *w, int64_t time, const struct wire **ctl)
{
	uint64_t seq = w->tally.messages;

	payload_stamp(&w->payload, w->buf, seq);
	if (w->payload.size >= WIRE_INLINE) {
		set(w->buf, TIME, (uint64_t)time);
		set(w->buf, CHECK,
		    get(w->buf, CHECK) + w->given - (uint64_t)time - w->id);
		*ctl = NULL;
		return;
	}
	w->ctl.seq = seq;
	w->ctl.time = (uint64_t)time;
	w->ctl.check = small_check(&w->ctl, w->buf, w->payload.size);
	*ctl = &w->ctl;
}

void
wire_sent(struct wire_writer *w, int64_t time)
{
	wire_count(&w->tally, w->tally.messages, (uint64_t)time, w->payload.size);
}

/* ---- receiving ---------------------------------------------------------------------- */

void
wire_take(
    struct wire_message *m, const struct wire *ctl, const unsigned char *data, size_t n)
{
	if (ctl != NULL) {
		m->id = ctl->id;
		m->seq = ctl->seq;
		m->time = ctl->time;
		m->damaged = ctl->check != small_check(ctl, data, n);
		return;
	}
	if (n < WIRE_INLINE) {
		*m = (struct wire_message){.damaged = true};
		return;
	}
	m->id = get(data, ID);
	m->seq = get(data, 0);
	m->time = get(data, TIME);
	m->damaged = payload_check(data, n, m->seq) != PAYLOAD_GOOD;
}
