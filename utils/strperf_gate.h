/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_gate.h: --fail-if, a limit that a difference must not exceed.
 *
 *	slower>3%   higher>0.5
 *
 * A word says which difference of B against A is meant, a number how much of it
 * is too much: in per cent of A, or without the sign in the unit measured.  The
 * interval [lo, hi] of the difference, as far as it has the meant direction,
 * decides:
 *
 *	0 ....... limit           it holds nothing, or ends below the limit, or holds
 *	  [lo hi]                 0 as well: not proven, status 0
 *	           [lo hi]        all of it lies beyond: status 1
 *	    [lo    hi]            a difference is proven, but not on which side of the
 *	                          limit it is: status 3, measure longer
 *
 * Status 3 also stands for no interval at all.
 */
#ifndef STRPERF_GATE_H
#define STRPERF_GATE_H

#include <stdbool.h>

enum gate_word { GATE_SLOWER, GATE_FASTER, GATE_HIGHER, GATE_LOWER, GATE_DIFFERENT };

struct gate {
	enum gate_word word;
	double limit;	  /* 0 or more */
	bool percent;	  /* of A; else in the unit measured */
	const char *text; /* as given */
};

/* Exit statuses of a gate, in the order of their weight. */
enum { GATE_HOLDS = 0, GATE_OPEN = 3, GATE_EXCEEDED = 1 };

/* Differences of B against A: the interval's ends, NAN for none. */
struct gate_facts {
	double lo, hi; /* in the unit measured */
	double lo_percent, hi_percent;
	bool higher_is_better; /* a rate, not a time */
};

/* What --fail-if takes, in words. */
#define GATE_LEGAL                                                                    \
	"slower, faster, higher, lower or different, >, a number, and % or nothing, " \
	"such as 'slower>3%'"

/* 0, or -1: not legal. */
int gate_parse(struct gate *g, const char *text);
/* One of the statuses above. */
int gate_judge(const struct gate *g, const struct gate_facts *facts);
/* The one that prevails: exceeded, then open. */
int gate_worse(int status, int other);

#endif
