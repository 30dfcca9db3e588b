/* SPDX-License-Identifier: BSD-2-Clause */
/* sigdue.c: noting and raising the signals of sigdue.h. */
#include "sigdue.h"
#include "helper.h"
#include "lock.h"
#include "plat_event.h"

#define FD_BITS 21
#define BAND_AT 21
#define ERROR_AT 29
#define SIGNO_AT 37
#define KIND_AT 44
#define LIFE_AT 48
#define LIFE_MASK 0xffff

#define RECENT 8	      /* words remembered */
#define FRESH_NS 100000000    /* how long */
#define PATIENCE 20	      /* times to wait for a thread to leave its call */

_Static_assert(SIGDUE_KINDS <= 16, "a kind has four bits");
_Static_assert(_NSIG <= 128, "a signal number has seven");

/* What the kernel would say. */
static const struct {
	int signo;
	int code;
} kinds[SIGDUE_KINDS] = {
	[SIGDUE_IN] = { SIGPOLL, POLL_IN },
	[SIGDUE_OUT] = { SIGPOLL, POLL_OUT },
	[SIGDUE_MSG] = { SIGPOLL, POLL_MSG },
	[SIGDUE_ERR] = { SIGPOLL, POLL_ERR },
	[SIGDUE_PRI] = { SIGPOLL, POLL_PRI },
	[SIGDUE_HUP] = { SIGPOLL, POLL_HUP },
	[SIGDUE_URG] = { SIGURG, SI_KERNEL },
	[SIGDUE_OTHER] = { 0, SI_KERNEL },
};

static uint64_t
pack(const struct sigdue *d, uint32_t life)
{
	int signo = d->d_kind == SIGDUE_OTHER ? d->d_signo : kinds[d->d_kind].signo;

	ASSERT(d->d_kind < SIGDUE_KINDS && signo > 0 && signo < _NSIG);
	ASSERT(d->d_fd >= -1 && d->d_fd < (1 << FD_BITS) - 1);
	return (uint64_t)(life & LIFE_MASK) << LIFE_AT | (uint64_t)d->d_kind << KIND_AT |
		(uint64_t)signo << SIGNO_AT | (uint64_t)d->d_error << ERROR_AT |
		(uint64_t)d->d_band << BAND_AT | (uint64_t)(d->d_fd + 1);
}

static void
raise_word(uint64_t word)
{
	struct plat_signal ps = {
		.ps_sig = (int)(word >> SIGNO_AT & 0x7f),
		.ps_code = kinds[word >> KIND_AT & 0xf].code,
		.ps_error = (int)(word >> ERROR_AT & 0xff),
		.ps_band = (int)(word >> BAND_AT & 0xff),
		.ps_fd = (int)(word & ((1 << FD_BITS) - 1)) - 1,
	};

	ASSERT(ps.ps_sig > 0 && ps.ps_sig < _NSIG);
	ASSERT((word >> KIND_AT & 0xf) < SIGDUE_KINDS && ps.ps_fd >= -1);
	plat_sigqueue(&ps);
}

/* ---- noting ------------------------------------------------------------------------ */

/* In the slot; false: no room. */
static bool
note_own(struct slot *me, uint64_t word)
{
	ASSERT(me == slot_tls && me->sl_nsigs <= SLOT_SIGS); /* invariant 1 */
	f_or(&me->sl_after, (uint32_t)AFTER_EVENTS);
	for (uint32_t i = 0; i < me->sl_nsigs; i++)
		if (me->sl_sig[i] == word)
			return true;
	if (me->sl_nsigs == SLOT_SIGS)
		return false;
	me->sl_sig[me->sl_nsigs++] = word;
	return true;
}

static void
note_process(struct proc *p, uint64_t word, enum sigdue_kind kind)
{
	ASSERT(word != 0 && kind < SIGDUE_KINDS);
	for (int i = 0; i < PROC_SIGS; i++) {
		uint64_t old = ld_seq(&p->pr_sig[i]);

		if (old == word || (old == 0 && (cas(&p->pr_sig[i], &old, word) || old == word)))
			return;
	}
	f_or(&p->pr_sigover, 1u << kind);
}

void
sigdue_post(struct slot *me, struct proc *p, uint32_t life, const struct sigdue *d)
{
	uint64_t word = pack(d, life);

	if (p == slot_proc() && sigdue_soon(me) && note_own(me, word))
		return;
	note_process(p, word, d->d_kind);
	if (p == slot_proc())
		helper_call();
	else
		proc_ring(p);
}

/* ---- a handler that was refused ---------------------------------------------------------- */

/* Words raised to the process at large lately, which may have hit a thread in a call. */
static uint64_t recent[RECENT];
static int64_t recent_at; /* when the last one was */

static void
remember(uint64_t word)
{
	static uint32_t next;

	(void)xchg(&recent[faa(&next, 1u) % RECENT], word);
	st_rel(&recent_at, plat_now());
}

void
sigdue_again(void)
{
	bool fresh = plat_now() - ld_acq(&recent_at) < FRESH_NS;

	for (int i = 0; i < RECENT; i++) {
		uint64_t word = xchg(&recent[i], (uint64_t)0);

		if (word != 0 && fresh)
			raise_word(word);
	}
}

/* ---- raising ------------------------------------------------------------------------ */

bool
sigdue_raise(struct slot *me, bool timed)
{
	bool ends = false;

	ASSERT(ld_rlx(&me->sl_home) == NULL);
	NO_LOCK_HELD();
	while (me->sl_nsigs > 0) {
		uint64_t word = me->sl_sig[0];

		/* Taken out first: the handler may call in here. */
		me->sl_nsigs--;
		for (uint32_t i = 0; i < me->sl_nsigs; i++)
			me->sl_sig[i] = me->sl_sig[i + 1];
		ends |= plat_interrupts((int)(word >> SIGNO_AT & 0x7f), timed);
		raise_word(word);
	}
	return ends;
}

/* The kinds that found no room. */
static bool
take_over(struct proc *p)
{
	uint32_t over = ld_seq(&p->pr_sigover) == 0 ? 0 : xchg(&p->pr_sigover, 0u);

	for (int kind = 0; kind < SIGDUE_OTHER; kind++) {
		struct sigdue d = { .d_kind = (enum sigdue_kind)kind, .d_fd = -1 };

		if (over & (1u << kind))
			raise_word(pack(&d, 0));
	}
	return over != 0;
}

bool
sigdue_take(struct proc *p)
{
	bool any = false;

	ASSERT(p == slot_proc());
	for (int i = 0; i < PROC_SIGS; i++) {
		uint64_t word;

		if (ld_seq(&p->pr_sig[i]) == 0)
			continue;
		word = xchg(&p->pr_sig[i], (uint64_t)0);
		if (word == 0 || word >> LIFE_AT != (ld_rlx(&p->pr_life) & LIFE_MASK))
			continue;
		any = true;
		remember(word);
		raise_word(word);
	}
	return take_over(p) || any;
}

/* Ask every thread of p that is in a call to raise them when it leaves: is there one? */
static bool
ask_threads(const struct proc *p, const struct slot *me)
{
	uint32_t top = ld_acq(&slot_root->sr_top);
	bool any = false;

	for (uint32_t i = 1; i < top; i++) {
		struct slot *s = slot_at(i);

		if (s == NULL || s == me || ld_acq(&s->sl_pslot) != p ||
		    ld_acq(&s->sl_state) != SLOT_LIVE || ld_seq(&s->sl_home) == NULL)
			continue;
		f_or(&s->sl_after, (uint32_t)AFTER_OTHERS);
		any = true;
	}
	return any;
}

static bool
waiting(const struct proc *p)
{
	bool any = ld_seq(&p->pr_sigover) != 0;

	for (int i = 0; i < PROC_SIGS; i++)
		any |= ld_seq(&p->pr_sig[i]) != 0;
	return any;
}

enum sigdue_served
sigdue_serve(struct slot *me, struct proc *p, unsigned int tries)
{
	if (!waiting(p))
		return SIGDUE_NONE;
	if (tries < PATIENCE && ask_threads(p, me))
		return SIGDUE_LATER;
	return sigdue_take(p) ? SIGDUE_RAISED : SIGDUE_NONE;
}
