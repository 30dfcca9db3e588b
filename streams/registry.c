/* SPDX-License-Identifier: BSD-2-Clause */
/* registry.c: registering, finding and forgetting modules and drivers. */
#include "registry.h"
#include "autopush.h"
#include "arena.h"
#include "callout.h"
#include "claim.h"
#include "heap.h"
#include "link.h"
#include "putnext.h"

#include <errno.h>
#include <string.h>
#include <sys/ddi.h>
#include <unistd.h>

struct registry *registry;

#define KNOWN_FLAGS                                                            \
	(D_OLD | D_MP | D_MTOCEXCL | D_MTPUTSHARED | D_MTINNER_MASK |          \
		D_MTOUTPERIM | USTR_INDEPENDENT)

/* ---- judging what is registered ------------------------------------------------ */

static bool
flags_ok(int flags, bool driver)
{
	int inner = flags & D_MTINNER_MASK;

	if (flags & ~KNOWN_FLAGS)
		return false;
	if ((flags & USTR_INDEPENDENT) && !driver)
		return false;
	if ((flags & D_MTOUTPERIM) && inner == D_MTPERMOD)
		return false;
	if ((flags & D_MTOCEXCL) && !(flags & D_MTOUTPERIM))
		return false;
	return !(flags & D_MTPUTSHARED) || inner != 0;
}

static bool
name_ok(const char *name)
{
	size_t n = name == NULL ? 0 : strnlen(name, FMNAMESZ + 1);

	return n >= 1 && n <= FMNAMESZ && strchr(name, '/') == NULL;
}

static bool
side_ok(const struct qinit *qi, bool needs_put)
{
	return qi != NULL && qi->qi_minfo != NULL && (qi->qi_putp != NULL || !needs_put) &&
		qi->qi_minfo->mi_lowat <= qi->qi_minfo->mi_hiwat;
}

static bool
table_ok(const struct streamtab *st, bool driver)
{
	if (st == NULL || !side_ok(st->st_rdinit, !driver) || !side_ok(st->st_wrinit, true))
		return false;
	/* A multiplexing driver has a lower side, whole. */
	if (st->st_muxrinit == NULL && st->st_muxwinit == NULL)
		return true;
	return driver && side_ok(st->st_muxrinit, true) && side_ok(st->st_muxwinit, false);
}

/* ---- the arena's copy -------------------------------------------------------------- */

struct side {
	struct qinit sd_qinit; /* first: what others point to */
	struct module_info sd_info;
	char sd_name[16];
};

static struct qinit *
copy_side(const struct qinit *qi)
{
	struct side *sd = heap_zalloc(sizeof(*sd));

	if (sd == NULL)
		return NULL;
	sd->sd_info = *qi->qi_minfo;
	if (qi->qi_minfo->mi_idname != NULL)
		strncpy(sd->sd_name, qi->qi_minfo->mi_idname, sizeof(sd->sd_name) - 1);
	sd->sd_info.mi_idname = sd->sd_name;
	sd->sd_qinit.qi_minfo = &sd->sd_info;
	return &sd->sd_qinit;
}

static void
drop_side(struct qinit *qi)
{
	if (qi != NULL)
		heap_free((char *)qi - offsetof(struct side, sd_qinit), sizeof(struct side));
}

static void
set_procs(uint32_t idx, const struct qinit *qi, const struct qinit *rd)
{
	/* Open and close are the read side's, as in every STREAMS. */
	put_set(idx, (struct procs){ qi->qi_putp != NULL ? qi->qi_putp : put_absent.pc_put,
		qi->qi_srvp != NULL ? qi->qi_srvp : put_absent.pc_srv, rd->qi_qopen, rd->qi_qclose });
}

/* One perimeter for all instances? */
static bool
per_module(uint32_t flags)
{
	if ((flags & D_MTINNER_MASK) == D_MTPERMOD)
		return true;
	/* Exclusive open and close: served by the strictest perimeter. */
	if (flags & D_MTOCEXCL)
		return true;
	return !(flags & (D_MTINNER_MASK | D_MP)); /* legacy code: one at a time */
}

/* The tables of one pair: ENOMEM or 0. */
static int
fill_tables(struct queue_tables *qt, uint32_t idx, const struct qinit *rd, const struct qinit *wr)
{
	qt->qt_idx = idx;
	qt->qt_rd = copy_side(rd);
	qt->qt_wr = copy_side(wr);
	qt->qt_rdsrv = rd->qi_srvp != NULL;
	qt->qt_wrsrv = wr->qi_srvp != NULL;
	return qt->qt_rd == NULL || qt->qt_wr == NULL ? ENOMEM : 0;
}

/* What an entry owns. */
static void
empty(struct regent *re)
{
	LOCK_HELD(&registry->rg_lock);
	drop_side(re->re_tables.qt_rd);
	drop_side(re->re_tables.qt_wr);
	drop_side(re->re_lower.qt_rd);
	drop_side(re->re_lower.qt_wr);
	if (re->re_perim != NULL)
		perim_retire(slot_tls, re->re_perim);
	heap_free(re->re_state, USTR_MODSTATE);
	if (re->re_group != NULL)
		group_rele(re->re_group);
}

static int
fill(struct regent *re, const char *name, const struct streamtab *st, int flags, bool intree)
{
	uint32_t n = (uint32_t)(re - registry->rg_ent), taken = re->re_taken + 1;
	int error;

	LOCK_HELD(&registry->rg_lock);
	ASSERT(n < NREG && re->re_kind == REG_FREE);
	memset(re, 0, sizeof(*re));
	re->re_taken = taken != 0 ? taken : 1;
	strncpy(re->re_name, name, FMNAMESZ);
	re->re_flags = (uint32_t)flags;
	re->re_major = n;
	re->re_intree = intree;
	re->re_shy = !intree && (arena_named() || slot_members() > 1);
	error = fill_tables(&re->re_tables, 2 + n * 4, st->st_rdinit, st->st_wrinit);
	if (error == 0 && st->st_muxrinit != NULL)
		error = fill_tables(&re->re_lower, 4 + n * 4, st->st_muxrinit, st->st_muxwinit);
	if (error == 0 && per_module(re->re_flags))
		re->re_perim = perim_make(slot_tls);
	re->re_state = heap_zalloc(USTR_MODSTATE);
	if (re->re_state == NULL || (re->re_perim == NULL && per_module(re->re_flags)))
		error = ENOMEM;
	if (error != 0) {
		empty(re);
		memset(re, 0, sizeof(*re));
		re->re_taken = taken;
	}
	return error;
}

/* ---- the table ------------------------------------------------------------------------ */

static struct regent *
find(const char *name, size_t n)
{
	LOCK_HELD(&registry->rg_lock);
	for (uint32_t i = 0; i < registry->rg_n; i++) {
		struct regent *re = &registry->rg_ent[i];

		if ((re->re_kind == REG_MODULE || re->re_kind == REG_DRIVER) && strncmp(re->re_name, name, n) == 0 &&
		    re->re_name[n] == '\0')
			return re;
	}
	return NULL;
}

static int
enter(const char *name, const struct streamtab *st, int flags, uint32_t kind, bool intree)
{
	struct regent *re = find(name, strlen(name));
	int error;

	ASSERT(kind == REG_MODULE || kind == REG_DRIVER);
	if (re != NULL) {
		/* Another process brought it; this one has the code as well now. */
		if (put_here[re->re_tables.qt_idx] || re->re_kind != kind || re->re_flags != (uint32_t)flags ||
		    (re->re_lower.qt_rd != NULL) != (st->st_muxrinit != NULL))
			return EEXIST;
	} else {
		uint32_t i = 0;

		while (i < registry->rg_n && registry->rg_ent[i].re_kind != REG_FREE)
			i++;
		if (i == NREG)
			return ENOSPC;
		re = &registry->rg_ent[i];
		error = fill(re, name, st, flags, intree);
		if (error != 0)
			return error;
		code_setall(i, intree);
		st_rel(&re->re_kind, kind);
		if (i == registry->rg_n)
			registry->rg_n = i + 1;
	}
	set_procs(re->re_tables.qt_idx, st->st_rdinit, st->st_rdinit);
	set_procs(re->re_tables.qt_idx + 1, st->st_wrinit, st->st_rdinit);
	if (re->re_lower.qt_rd != NULL) {
		set_procs(re->re_lower.qt_idx, st->st_muxrinit, st->st_rdinit);
		set_procs(re->re_lower.qt_idx + 1, st->st_muxwinit, st->st_rdinit);
	}
	if (!re->re_intree)
		code_set(re->re_major, slot_proc(), true);
	return 0;
}

static int
reg(const char *name, const struct streamtab *st, int flags, uint32_t kind, bool intree)
{
	struct slot *me = slot_self();
	bool driver = kind == REG_DRIVER;
	int error;

	if (me == NULL)
		return -1;
	if (!name_ok(name) || !table_ok(st, driver) || !flags_ok(flags, driver)) {
		errno = EINVAL;
		return -1;
	}
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	error = enter(name, st, flags, kind, intree);
	lock_leave(me, &registry->rg_lock);
	/* Others may leave work for it: the helper is to be there. */
	if (error == 0 && !intree && slot_members() + slot_root->sr_named > 1)
		callout_poke();
	if (error == 0)
		return 0;
	errno = error;
	return -1;
}

int
ustr_register_module(const char *name, struct streamtab *st, int flags)
{
	return reg(name, st, flags, REG_MODULE, false);
}

int
ustr_register_driver(const char *name, struct streamtab *st, int flags)
{
	return reg(name, st, flags, REG_DRIVER, false);
}

/* Nobody uses it, nobody has its code. */
static void
discard(struct regent *re)
{
	LOCK_HELD(&registry->rg_lock);
	ASSERT(re->re_kind != REG_FREE);
	ASSERT(re->re_open == NULL && !link_of(re)); /* U3, U4 */
	re->re_taken++;
	st_rel(&re->re_kind, (uint32_t)REG_FREE);
	autopush_forget(re);
	empty(re);
}

/* U3, U4. */
static bool
is_open(const struct regent *re)
{
	LOCK_HELD(&registry->rg_lock);
	return re->re_open != NULL || link_of(re);
}

int
registry_leave(struct slot *me, const char *name, struct regent **rep, uint32_t *taken)
{
	struct regent *re;
	int error = 0;

	if (!name_ok(name))
		return EINVAL;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	re = find(name, strlen(name));
	if (re == NULL || !put_here[re->re_tables.qt_idx])
		error = ENOENT;
	else if (is_open(re) || (re->re_intree && slot_root->sr_named))
		error = EBUSY;
	else
		*taken = re->re_taken;
	*rep = re;
	lock_leave(me, &registry->rg_lock);
	return error;
}

/* This process has the code of re no longer. */
static void
forget_code(struct regent *re)
{
	LOCK_HELD(&registry->rg_lock);
	for (uint32_t i = 0; i < 4; i++)
		put_clear(re->re_tables.qt_idx + i);
	if (!re->re_intree)
		code_set(re->re_major, slot_proc(), false);
	if (re->re_intree || !code_lives(re->re_major))
		discard(re);
}

int
registry_part(struct slot *me, struct regent *re, uint32_t taken)
{
	int error = 0;

	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	if (re->re_taken != taken || !put_here[re->re_tables.qt_idx])
		error = EAGAIN;
	else if (is_open(re))
		error = EBUSY;
	else
		forget_code(re);
	lock_leave(me, &registry->rg_lock);
	return error;
}

void
registry_orphans(struct slot *me, uint32_t taken[NREG])
{
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	for (uint32_t i = 0; i < NREG; i++)
		taken[i] = registry->rg_ent[i].re_kind == REG_ORPHAN ? registry->rg_ent[i].re_taken : 0;
	lock_leave(me, &registry->rg_lock);
}

void
registry_sweep(struct slot *me, const bool used[NREG], const uint32_t taken[NREG])
{
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	for (uint32_t i = 0; i < NREG; i++) {
		struct regent *re = &registry->rg_ent[i];

		if (taken[i] != 0 && re->re_taken == taken[i] && !used[i] && !is_open(re)) {
			ASSERT(re->re_kind == REG_ORPHAN);
			discard(re);
		}
	}
	lock_leave(me, &registry->rg_lock);
}

/* ---- in hand ------------------------------------------------------------------------ */

void
registry_hand(struct slot *me, struct regent *re)
{
	int i = 0;

	ASSERT(me == slot_tls && re->re_kind != REG_FREE);
	while (i < USES - 1 && ld_rlx(&me->sl_use[i]) != 0)
		i++;
	ASSERT(ld_rlx(&me->sl_use[i]) == 0);
	(void)xchg(&me->sl_use[i], re->re_major + 1);
	CRASH_POINT();
}

void
registry_over(struct regent *re)
{
	if (unlikely(ld_acq(&re->re_kind) == REG_ORPHAN))
		(void)faa(&registry->rg_orphaned, 1u);
}

void
registry_rele(struct slot *me, struct regent *re)
{
	int i = 0;

	while (i < USES - 1 && ld_rlx(&me->sl_use[i]) != re->re_major + 1)
		i++;
	ASSERT(ld_rlx(&me->sl_use[i]) == re->re_major + 1);
	CRASH_POINT();
	st_rel(&me->sl_use[i], 0u);
	CRASH_POINT();
	registry_over(re); /* after that: who looks now does not find it */
}

struct regent *
registry_hold(const char *name, size_t n, uint32_t kind)
{
	struct slot *me = slot_self();
	struct regent *re;

	if (me == NULL || n == 0 || n > FMNAMESZ)
		return NULL;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	re = find(name, n);
	if (re != NULL && re->re_kind != kind)
		re = NULL;
	if (re != NULL) {
		re->re_taken++;
		registry_hand(me, re);
	}
	lock_leave(me, &registry->rg_lock);
	return re;
}

/* The number of what is registered so, or -1. */
static int
number(const char *name, uint32_t kind)
{
	struct slot *me = slot_self();
	size_t n = strnlen(name, FMNAMESZ + 1);
	const struct regent *re;
	int major = -1;

	if (me == NULL || n == 0 || n > FMNAMESZ)
		return -1;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	re = find(name, n);
	if (re != NULL && re->re_kind == kind)
		major = (int)re->re_major;
	lock_leave(me, &registry->rg_lock);
	return major;
}

int
registry_major(const char *name)
{
	return number(name, REG_DRIVER);
}

bool
registry_known(const char *name)
{
	return number(name, REG_MODULE) >= 0;
}

void
registry_forget(const struct proc *p)
{
	struct slot *me = slot_self();
	bool orphans = false;

	if (me == NULL)
		return;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	for (uint32_t i = 0; i < registry->rg_n; i++) {
		struct regent *re = &registry->rg_ent[i];

		if (re->re_kind == REG_FREE || re->re_intree)
			continue;
		code_set(i, p, false);
		CRASH_POINT();
		/* Whoever did this before may have been killed here. */
		if (!code_lives(i))
			st_rel(&re->re_kind, (uint32_t)REG_ORPHAN);
		orphans |= re->re_kind == REG_ORPHAN; /* whose use may have ended with p */
	}
	if (orphans)
		(void)faa(&registry->rg_orphaned, 1u);
	lock_leave(me, &registry->rg_lock);
}

void
registry_inherit(const struct proc *parent, const struct proc *child)
{
	struct slot *me = slot_self();

	if (me == NULL)
		return;
	lock_enter(me, &registry->rg_lock, RANK_REGISTRY);
	for (uint32_t i = 0; i < registry->rg_n; i++)
		if (!registry->rg_ent[i].re_intree && code_has(i, parent))
			code_set(i, child, true);
	lock_leave(me, &registry->rg_lock);
}

bool
registry_owns(void)
{
	for (uint32_t i = 0; i < ld_acq(&registry->rg_n); i++)
		if (!registry->rg_ent[i].re_intree && put_here[2 + i * 4])
			return true;
	return false;
}

struct regent *
registry_of(const queue_t *q)
{
	ASSERT(code_of(q->q_procs) < NREG);
	return &registry->rg_ent[code_of(q->q_procs)];
}

void *
ustr_modstate(queue_t *q)
{
	return registry_of(q)->re_state;
}

/* ---- perimeters of a new pair -------------------------------------------------------- */

int
registry_perims(struct regent *re, queue_t *rq)
{
	uint32_t inner = re->re_flags & D_MTINNER_MASK;
	struct slot *me = slot_tls;
	queue_t *wq = rq + 1;

	ASSERT(rq->q_perim == NULL && wq->q_perim == NULL);
	rq->q_perim = wq->q_perim = re->re_perim;
	if (re->re_perim != NULL || (inner == 0 && !re->re_shy))
		return 0;
	rq->q_perim = wq->q_perim = perim_make(me);
	if (rq->q_perim == NULL)
		return ENOSR;
	if (inner == D_MTQPAIR)
		return 0;
	wq->q_perim = perim_make(me);
	if (wq->q_perim != NULL)
		return 0;
	perim_retire(me, rq->q_perim);
	rq->q_perim = NULL;
	return ENOSR;
}

void
registry_unperims(struct regent *re, queue_t *rq)
{
	queue_t *wq = rq + 1;

	if (re->re_perim != NULL || rq->q_perim == NULL)
		return;
	if (wq->q_perim != rq->q_perim)
		perim_retire(slot_tls, wq->q_perim);
	perim_retire(slot_tls, rq->q_perim);
	rq->q_perim = wq->q_perim = NULL;
}

/* What comes with the library: made, or found and given its procedures. */
static int
take_conf(void)
{
	for (const struct conf *cf = conf_table; cf->cf_name != NULL; cf++)
		if (reg(cf->cf_name, cf->cf_tab, cf->cf_flags,
			    cf->cf_driver ? REG_DRIVER : REG_MODULE, true) != 0)
			return errno;
	return 0;
}

int
registry_init(void)
{
	registry = arena_root_make(ROOT_REGISTRY, sizeof(*registry));
	if (registry == NULL)
		return ENOMEM;
	registry->rg_creator = geteuid();
	return take_conf();
}

void
registry_find(void)
{
	registry = arena_root(ROOT_REGISTRY);
}

/* As copy_side left it. */
static bool
side_sound(const struct qinit *qi)
{
	const struct side *sd = (const struct side *)qi;

	return arena_backed(sd, sizeof(*sd)) && qi->qi_putp == NULL && qi->qi_srvp == NULL &&
		qi->qi_minfo == &sd->sd_info && sd->sd_info.mi_idname == sd->sd_name &&
		memchr(sd->sd_name, '\0', sizeof(sd->sd_name)) != NULL;
}

static bool
tables_sound(const struct queue_tables *qt, uint32_t idx)
{
	if (qt->qt_rd == NULL && qt->qt_wr == NULL)
		return true;
	return qt->qt_idx == idx && side_sound(qt->qt_rd) && side_sound(qt->qt_wr);
}

bool
registry_sound(void)
{
	if (!arena_backed(registry, sizeof(*registry)) || registry->rg_n > NREG)
		return false;
	for (uint32_t i = 0; i < registry->rg_n; i++) {
		const struct regent *re = &registry->rg_ent[i];

		if (re->re_kind > REG_ORPHAN || memchr(re->re_name, '\0', sizeof(re->re_name)) == NULL)
			return false;
		if (re->re_kind != REG_FREE && (!tables_sound(&re->re_tables, 2 + i * 4) ||
			    !tables_sound(&re->re_lower, 4 + i * 4)))
			return false;
	}
	return true;
}

static bool
tables_claim(const struct queue_tables *qt)
{
	return qt->qt_rd == NULL || (claim_take(qt->qt_rd, sizeof(struct side), CL_TABLE) &&
		claim_take(qt->qt_wr, sizeof(struct side), CL_TABLE));
}

bool
registry_claim(void)
{
	if (!claim_take(registry, sizeof(*registry), CL_TABLE))
		return false;
	for (uint32_t i = 0; i < registry->rg_n; i++) {
		const struct regent *re = &registry->rg_ent[i];

		if (re->re_kind != REG_FREE && (re->re_tables.qt_rd == NULL ||
			    !tables_claim(&re->re_tables) || !tables_claim(&re->re_lower) ||
			    !claim_take(re->re_state, USTR_MODSTATE, CL_DATA)))
			return false;
	}
	return true;
}

int
registry_join(void)
{
	return take_conf();
}
