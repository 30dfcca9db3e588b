/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_gate.c: --fail-if, a limit that a difference must not exceed.
 */
#include "strperf_gate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strperf.h"

static const char *const words[] = {
    [GATE_SLOWER] = "slower",
    [GATE_FASTER] = "faster",
    [GATE_HIGHER] = "higher",
    [GATE_LOWER] = "lower",
    [GATE_DIFFERENT] = "different",
};

static const char *
skip_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

static const char *
parse_word(struct gate *g, const char *p)
{
	for (size_t i = 0; i < NELEM(words); i++) {
		size_t len = strlen(words[i]);

		if (strncmp(p, words[i], len) != 0)
			continue;
		g->word = (enum gate_word)i;
		return p + len;
	}
	return NULL;
}

int
gate_parse(struct gate *g, const char *text)
{
	const char *p = parse_word(g, skip_blanks(text));
	char *end;

	g->text = text;
	if (p == NULL)
		return -1;
	p = skip_blanks(p);
	if (*p++ != '>')
		return -1;
	g->limit = strtod(p, &end);
	if (end == p || !isfinite(g->limit) || g->limit < 0)
		return -1;
	p = skip_blanks(end);
	g->percent = *p == '%';
	return *skip_blanks(p + g->percent) == '\0' ? 0 : -1;
}

/* Whether the word means an increase of the value; GATE_DIFFERENT: either. */
static bool
means_more(const struct gate *g, const struct gate_facts *facts)
{
	switch (g->word) {
	case GATE_SLOWER:
		return !facts->higher_is_better;
	case GATE_FASTER:
		return facts->higher_is_better;
	case GATE_LOWER:
		return false;
	default:
		return true;
	}
}

int
gate_judge(const struct gate *g, const struct gate_facts *facts)
{
	double lo = g->percent ? facts->lo_percent : facts->lo;
	double hi = g->percent ? facts->hi_percent : facts->hi;
	bool turn = g->word == GATE_DIFFERENT ? hi < 0 : !means_more(g, facts);
	double from = turn ? -hi : lo, to = turn ? -lo : hi;

	if (!isfinite(lo) || !isfinite(hi))
		return GATE_OPEN;
	if (from > g->limit)
		return GATE_EXCEEDED;
	return from > 0 && to > g->limit ? GATE_OPEN : GATE_HOLDS;
}

int
gate_worse(int status, int other)
{
	if (status == GATE_EXCEEDED || other == GATE_EXCEEDED)
		return GATE_EXCEEDED;
	return status == GATE_OPEN || other == GATE_OPEN ? GATE_OPEN : GATE_HOLDS;
}
