/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_payload.c: stamp and check messages (strperf_payload.h has the layout).
 */
#include "strperf_payload.h"

#include <stdlib.h>
#include <string.h>

#include "strperf_intr.h"

#define LINE 64
#define WORD sizeof(uint64_t)

/* Two words at a time: the compiler turns this into the machine's vectors. */
typedef uint64_t pair __attribute__((vector_size(16), may_alias));
#define STRIDE (4 * sizeof(pair))

static inline uint64_t
get(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, WORD);
	return word;
}

static inline void
set(unsigned char *p, uint64_t word)
{
	memcpy(p, &word, WORD);
}

unsigned char *
payload_alloc(size_t size)
{
	size_t room = (size + LINE - 1) / LINE * LINE;
	unsigned char *buf = aligned_alloc(LINE, room);

	if (buf != NULL)
		memset(buf, 0, room);
	return buf;
}

/* The sum of all words of a message; buf is from payload_alloc(). */
static uint64_t
sum(const unsigned char *buf, size_t size)
{
	const pair *v = (const void *)buf;
	const unsigned char *end = buf + size;
	pair a = {0}, b = {0}, c = {0}, d = {0};
	uint64_t total, tail = 0;

	for (size_t n = size / STRIDE; n > 0; n--, v += 4) {
		a += v[0];
		b += v[1];
		c += v[2];
		d += v[3];
	}
	a += b + c + d;
	total = a[0] + a[1];
	for (buf = (const void *)v; (size_t)(end - buf) >= WORD; buf += WORD)
		total += get(buf);
	if (buf < end)
		memcpy(&tail, buf, (size_t)(end - buf));
	return total + tail;
}

/* xorshift64*: the pattern need only be irregular and always the same. */
static void
fill(unsigned char *buf, size_t size)
{
	uint64_t x = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < size; i++) {
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		buf[i] = (unsigned char)(x * 0x2545f4914f6cdd1du >> 56);
	}
}

void
payload_init(struct payload *p, unsigned char *buf, size_t size)
{
	fill(buf, size);
	p->size = size;
	p->base = p->repeats = 0;
	if (size < PAYLOAD_CHECKED)
		return;
	set(buf + WORD, 0);
	for (size_t at = 0; at + WORD <= size; at += PAYLOAD_PIECE, p->repeats++)
		set(buf + at, 0);
	p->base = sum(buf, size);
}

void
payload_stamp(const struct payload *p, unsigned char *buf, uint64_t seq)
{
	if (p->size < PAYLOAD_CHECKED) {
		buf[0] = (unsigned char)seq;
		return;
	}
	set(buf + WORD, ~(p->base + p->repeats * seq));
	for (size_t at = 0; at + WORD <= p->size; at += PAYLOAD_PIECE)
		set(buf + at, seq);
}

enum payload_fault
payload_check(const unsigned char *buf, size_t size, uint64_t seq)
{
	if (size < PAYLOAD_CHECKED)
		return buf[0] == (unsigned char)seq ? PAYLOAD_GOOD : PAYLOAD_SEQUENCE;
	if (sum(buf, size) != UINT64_MAX)
		return PAYLOAD_SUM;
	return get(buf) == seq ? PAYLOAD_GOOD : PAYLOAD_SEQUENCE;
}

uint64_t
payload_seq(const unsigned char *buf, size_t size)
{
	return size < PAYLOAD_CHECKED ? buf[0] : get(buf);
}

double
payload_overhead(size_t size)
{
	enum { ROUNDS = 5000 };
	unsigned char *buf = payload_alloc(size);
	uint64_t faults = 0;
	struct payload p;
	int64_t start;

	if (buf == NULL)
		return 0;
	payload_init(&p, buf, size);
	start = intr_now();
	for (uint64_t i = 0; i < ROUNDS; i++) {
		payload_stamp(&p, buf, i);
		faults += payload_check(buf, size, i) != PAYLOAD_GOOD;
	}
	start = intr_now() - start;
	free(buf);
	return faults == 0 ? (double)start / ROUNDS : 0;
}
