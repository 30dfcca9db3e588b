/* SPDX-License-Identifier: BSD-2-Clause */
/* judge_module.c: V3 of judge.h: what modules of the library keep. */
#include "claim.h"
#include "judge.h"

#include <string.h>
#include <sys/keeps.h>

/* The n-th of conf_table is that of re, and keeps something; or -1. */
static int
conf_of(const struct regent *re)
{
	if (!re->re_intree)
		return -1;
	for (int i = 0; conf_table[i].cf_name != NULL; i++)
		if (strncmp(conf_table[i].cf_name, re->re_name, FMNAMESZ) == 0)
			return conf_table[i].cf_keeps != NULL ? i : -1;
	return -1;
}

static bool kept(const void *p, int conf, int kind);

/* A field of a structure of that kind. */
static bool
field_sound(const void *at, unsigned int what, int conf, int kind)
{
	const void *p;

	memcpy(&p, at, sizeof(p));
	switch (what) {
	case KEEP_QUEUE:
		return judge_leftover(p);
	case KEEP_MSG:
		return judge_msg(p);
	case KEEP_NEXT:
		return kept(p, conf, kind);
	case KEEP_PAIRS:
		return kept(p, conf, KEEP_OF_PAIR);
	default:
		return kept(p, conf, KEEP_OF_LOWER);
	}
}

static bool
fields_sound(const void *p, const struct keeps *k, int conf, int kind)
{
	for (int i = 0; i < KEEP_FIELDS && k->k_field[i].k_what != KEEP_NOTHING; i++)
		if (!field_sound((const char *)p + k->k_field[i].k_at, k->k_field[i].k_what, conf,
			kind))
			return false;
	return true;
}

/* p, if not NULL, is such a structure: each kind of each module is a kind of thing. */
static bool
kept(const void *p, int conf, int kind)
{
	const struct keeps *k = &conf_table[conf].cf_keeps[kind];
	bool fresh;

	if (p == NULL)
		return true;
	return claim_share(p, k->k_size, CL_KEPT + conf * KEEP_KINDS + kind, &fresh) &&
		(!fresh || fields_sound(p, k, conf, kind));
}

bool
judge_kept(const struct regent *re, const queue_t *rq, bool lower)
{
	int conf = conf_of(re), kind = lower ? KEEP_OF_LOWER : KEEP_OF_PAIR;

	if (conf < 0 || conf_table[conf].cf_keeps[kind].k_size == 0)
		return true;
	return rq->q_ptr == rq[1].q_ptr && kept(rq->q_ptr, conf, kind) &&
		(rq->q_ptr != NULL || lower || !(rq->q_flag & QPROCS));
}

/* ---- lists ----------------------------------------------------------------------- */

static const void *
pointer_at(const void *p, unsigned int at)
{
	const void *to;

	memcpy(&to, (const char *)p + at, sizeof(to));
	return to;
}

/* Does the list come to an end?  Every structure on it is judged; they are of kind k. */
static bool
list_ends(const void *first, const struct keeps *k)
{
	const void *slow = first, *p = first;
	unsigned int at;
	int i = 0;

	while (i < KEEP_FIELDS && k->k_field[i].k_what != KEEP_NEXT)
		i++;
	if (i == KEEP_FIELDS)
		return true; /* they are on none */
	at = k->k_field[i].k_at;
	/* p goes two steps for each of slow's: it meets it in a circle. */
	while (p != NULL && (p = pointer_at(p, at)) != NULL) {
		p = pointer_at(p, at);
		slow = pointer_at(slow, at);
		if (p == slow)
			return p == NULL;
	}
	return true;
}

bool
judge_state(const struct regent *re)
{
	int conf = conf_of(re);
	const struct keeps *k;

	if (conf < 0)
		return true;
	k = conf_table[conf].cf_keeps;
	if (!fields_sound(re->re_state, &k[KEEP_STATE], conf, KEEP_STATE))
		return false;
	for (int i = 0; i < KEEP_FIELDS; i++) {
		unsigned int what = k[KEEP_STATE].k_field[i].k_what;

		if ((what == KEEP_PAIRS || what == KEEP_LOWERS) &&
		    !list_ends(pointer_at(re->re_state, k[KEEP_STATE].k_field[i].k_at),
			&k[what == KEEP_PAIRS ? KEEP_OF_PAIR : KEEP_OF_LOWER]))
			return false;
	}
	return true;
}
