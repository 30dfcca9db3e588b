/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.c: writing and reading a ring of events; the labels are those of trace.h. */
#include "trace.h"

#include <string.h>

struct trace_root *trace_root;

/* The turn word while event i is written, and once it is whole. */
INLINE uint64_t
turn_busy(uint64_t i)
{
	return 2 * i + 3;
}

INLINE uint64_t
turn_whole(uint64_t i)
{
	return 2 * i + 2;
}

void
trace_init(struct trace *t, uint32_t stream, uint32_t records, uint32_t holder)
{
	ASSERT(records >= TRACE_MIN && records <= TRACE_MAX && (records & (records - 1)) == 0);
	memset(t, 0, sizeof(*t));
	t->tr_stream = stream;
	t->tr_records = records;
	t->tr_state = TRACE_HELD;
	t->tr_holder = holder;
}

void
trace_clear(struct trace *t)
{
	ASSERT(t->tr_state == TRACE_HELD && ld_rlx(&t->tr_next) == 0);
	memset(t->tr_record, 0, (size_t)t->tr_records * sizeof(t->tr_record[0]));
}

/* ---- writing ------------------------------------------------------------------------ */

/* T2, T3. */
static bool
seize(struct trace_record *r, uint64_t i)
{
	uint64_t turn = ld_rlx(&r->rec_turn);

	ASSERT(turn != turn_busy(i) && turn != turn_whole(i)); /* i was claimed once: T1 */
	return (turn & 1) == 0 && turn < turn_whole(i) && cas(&r->rec_turn, &turn, turn_busy(i));
}

void
trace_write(struct trace *t, const struct ustr_event *ev)
{
	uint64_t i = faa(&t->tr_next, (uint64_t)1), word[TRACE_WORDS]; /* T1 */
	struct trace_record *r = &t->tr_record[i & (t->tr_records - 1)];

	ASSERT(ld_rlx(&t->tr_magic) == TRACE_MAGIC);
	JITTER();
	if (!seize(r, i)) {
		faa(&t->tr_given, (uint64_t)1);
		return;
	}
	JITTER();
	ASSERT(ld_rlx(&r->rec_turn) == turn_busy(i)); /* invariant 1 */
	memcpy(word, ev, sizeof(word));
	for (size_t k = 1; k < TRACE_WORDS; k++) /* T4 */
		st_rel(&r->rec_word[k - 1], word[k]);
	JITTER();
	st_rel(&r->rec_turn, turn_whole(i)); /* T5 */
}

/* ---- reading ------------------------------------------------------------------------ */

/* R3 .. R5: what became of event i. */
enum found { FOUND, NOT_YET, OVERWRITTEN };

static enum found
fetch(const struct trace *t, uint64_t i, struct ustr_event *ev)
{
	const struct trace_record *r = &t->tr_record[i & (t->tr_records - 1)];
	uint64_t turn = ld_acq(&r->rec_turn), word[TRACE_WORDS];

	if (turn != turn_whole(i))
		return turn > turn_busy(i) ? OVERWRITTEN : NOT_YET;
	word[0] = i;
	for (size_t k = 1; k < TRACE_WORDS; k++)
		word[k] = ld_acq(&r->rec_word[k - 1]);
	JITTER();
	if (ld_rlx(&r->rec_turn) != turn)
		return OVERWRITTEN;
	memcpy(ev, word, sizeof(*ev));
	return FOUND;
}

/* Is a claimed event waited for long enough? */
static bool
out_of_patience(struct trace_cursor *c)
{
	int64_t now = plat_now();

	if (c->tc_since == 0)
		c->tc_since = now;
	return now - c->tc_since >= TRACE_PATIENCE;
}

void
trace_oldest(const struct trace *t, struct trace_cursor *c)
{
	uint64_t end = ld_seq(&t->tr_next);

	*c = (struct trace_cursor){ end > t->tr_records ? end - t->tr_records : 0, 0, 0 };
}

bool
trace_read(const struct trace *t, struct trace_cursor *c, struct ustr_event *ev)
{
	for (;;) {
		uint64_t end = ld_seq(&t->tr_next);
		enum found found;

		if (c->tc_next >= end) /* R1 */
			return false;
		if (end - c->tc_next > t->tr_records) { /* R2 */
			c->tc_lost += end - t->tr_records - c->tc_next;
			c->tc_next = end - t->tr_records;
			c->tc_since = 0;
		}
		ASSERT(c->tc_next < end && end - c->tc_next <= t->tr_records);
		found = fetch(t, c->tc_next, ev);
		if (found == NOT_YET && !out_of_patience(c))
			return false;
		c->tc_lost += found != FOUND;
		c->tc_next++;
		c->tc_since = 0;
		if (found == FOUND)
			return true;
	}
}
