/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_msg.c: message blocks -- allocation, references, and the routines
 * that cut and join messages.
 *
 * The last group runs random operations on a pool of messages and compares
 * every one with a naive model: the vector of its (type, byte) pairs.
 */
#include "testmod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ustreams.h>

#define MEG (1024 * 1024)

static int
is_aligned(const void *p)
{
	return ((uintptr_t)p & 7) == 0;
}

/* ---- esballoc with an audit ------------------------------------------------------- */

struct esb {
	frtn_t frtn;
	atomic_int calls;
	size_t size;
	unsigned char *buf;
};

static atomic_int esb_calls;

static void
esb_free(char *arg)
{
	struct esb *e = (struct esb *)(void *)arg;

	atomic_fetch_add(&e->calls, 1);
	atomic_fetch_add(&esb_calls, 1);
	memset(e->buf, 0xdd, e->size); /* whoever still reads it will notice */
}

static struct esb *
esb_new(size_t size)
{
	struct esb *e = calloc(1, sizeof(*e));

	tm_assert(e, "calloc");
	e->buf = malloc(size ? size : 1);
	tm_assert(e->buf, "malloc");
	e->size = size;
	e->frtn.free_func = esb_free;
	e->frtn.free_arg = (char *)e;
	return e;
}

/* Audit and dispose: the routine must have run exactly once. */
static void
esb_done(struct esb *e)
{
	tm_assert(atomic_load(&e->calls) == 1, "%d calls", atomic_load(&e->calls));
	free(e->buf);
	free(e);
}

/* A message over e with fill 0, 1, 2, ... */
static mblk_t *
esb_msg(struct esb *e)
{
	mblk_t *mp = esballoc(e->buf, e->size, BPRI_MED, &e->frtn);
	size_t i;

	tm_assert(mp, "esballoc(%zu)", e->size);
	for (i = 0; i < e->size; i++)
		*mp->b_wptr++ = (unsigned char)i;
	return mp;
}

/* ---- small tools ------------------------------------------------------------------ */

/* One block, bytes from, from + 1, ...; size bytes of room at least. */
static mblk_t *
ramp(int type, size_t len, size_t size, int from)
{
	mblk_t *mp = allocb(size, BPRI_MED);
	size_t i;

	tm_assert(mp, "allocb(%zu)", size);
	mp->b_datap->db_type = (unsigned char)type;
	for (i = 0; i < len; i++)
		*mp->b_wptr++ = (unsigned char)(from + (int)i);
	return mp;
}

/* Blocks of the given lengths, up to -1; bytes count through. */
static mblk_t *
ramps(int type, const int *lens)
{
	mblk_t *mp = NULL, *bp;
	int from = 0;

	for (; *lens >= 0; lens++) {
		bp = ramp(type, (size_t)*lens, (size_t)*lens, from);
		from += *lens;
		if (mp)
			linkb(mp, bp);
		else
			mp = bp;
	}
	return mp;
}
#define RAMPS(type, ...) ramps(type, (const int[]){__VA_ARGS__, -1})

static size_t
blen(const mblk_t *bp)
{
	return (size_t)(bp->b_wptr - bp->b_rptr);
}

static size_t
total(const mblk_t *mp)
{
	size_t n = 0;

	for (; mp; mp = mp->b_cont)
		n += blen(mp);
	return n;
}

/* Does mp hold exactly from, from + 1, ... to - 1? */
static int
is_ramp(const mblk_t *mp, int from, int to)
{
	const unsigned char *p;

	for (; mp; mp = mp->b_cont)
		for (p = mp->b_rptr; p < mp->b_wptr; p++)
			if (from >= to || *p != (unsigned char)from++)
				return 0;
	return from == to;
}

/* Allocate, dirty and free blocks of all kinds, to catch early reuse. */
static void
churn(void)
{
	static const size_t sizes[] = {0, 16, 64, 65, 128, 200, 1024, 5000};
	mblk_t *mp[2 * sizeof(sizes) / sizeof(sizes[0])];
	size_t i, n = sizeof(mp) / sizeof(mp[0]);

	for (i = 0; i < n; i++)
		mp[i] = tm_msg(M_DATA, 7, sizes[i / 2], 0xee);
	for (i = 0; i < n; i++)
		freeb(mp[i]);
}

/* ---- allocation ------------------------------------------------------------------- */

static void
check_fresh(mblk_t *mp, size_t size)
{
	tm_assert(mp, "allocb(%zu)", size);
	tm_assert(!mp->b_next && !mp->b_prev && !mp->b_cont, "size %zu", size);
	tm_assert(mp->b_rptr == mp->b_datap->db_base, "size %zu", size);
	tm_assert(mp->b_wptr == mp->b_datap->db_base, "size %zu", size);
	tm_assert(mp->b_band == 0 && mp->b_flag == 0, "size %zu", size);
	tm_assert(mp->b_datap->db_type == M_DATA, "size %zu", size);
	tm_assert(mp->b_datap->db_ref == 1, "size %zu", size);
	tm_assert((size_t)(mp->b_datap->db_lim - mp->b_datap->db_base) >= size,
	    "size %zu", size);
}

static int
all_bytes(const mblk_t *mp, int fill)
{
	const unsigned char *p;

	for (p = mp->b_rptr; p < mp->b_wptr; p++)
		if (*p != (unsigned char)fill)
			return 0;
	return 1;
}

START_TEST(allocb_is_a_fine_first_call)
{
	mblk_t *mp = allocb(100, BPRI_MED);

	check_fresh(mp, 100);
	freeb(mp);
}
END_TEST

START_TEST(a_block_has_room_for_every_size_up_to_9000)
{
	size_t size;
	mblk_t *mp;

	for (size = 0; size <= 9000; size++) {
		mp = allocb(size, BPRI_MED);
		check_fresh(mp, size);
		tm_assert(is_aligned(mp->b_rptr), "size %zu", size);
		memset(mp->b_wptr, (int)size, size);
		mp->b_wptr += size;
		tm_assert(all_bytes(mp, (int)size), "size %zu", size);
		/* dirty what a later allocb must set afresh */
		mp->b_band = 9;
		mp->b_flag = MSGMARK;
		mp->b_datap->db_type = M_ERROR;
		freeb(mp);
	}
}
END_TEST

START_TEST(sizes_around_each_power_of_two_up_to_a_mebibyte_work)
{
	size_t two, size;
	mblk_t *mp;
	int d;

	for (two = 64; two <= MEG; two *= 2)
		for (d = -70; d <= 70; d++) {
			size = two + (size_t)d;
			if (size > MEG)
				continue; /* or below 0 */
			mp = allocb(size, BPRI_MED);
			check_fresh(mp, size);
			tm_assert(is_aligned(mp->b_rptr), "size %zu", size);
			mp->b_wptr += size;
			memset(mp->b_rptr, d, size);
			tm_assert(all_bytes(mp, d), "size %zu", size);
			freeb(mp);
		}
}
END_TEST

START_TEST(blocks_held_at_once_never_overlap)
{
	static const size_t sizes[] = {1, 8, 63, 64, 65, 127, 128, 129, 255, 256, 257,
	    500, 1000, 1024, 2048, 4095, 4096, 4097, 10000, 65536, 70000, 300000, MEG};
	enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), EACH = 9 };
	mblk_t *mp[SIZES * EACH];
	int i;

	for (i = 0; i < SIZES * EACH; i++)
		mp[i] = tm_msg(i & 0x7f, i & 0xff, sizes[i % SIZES], i);
	for (i = 0; i < SIZES * EACH; i++) {
		ck_assert_uint_eq(mp[i]->b_band, (unsigned)i & 0xff);
		ck_assert_uint_eq(mp[i]->b_datap->db_type, (unsigned)i & 0x7f);
		ck_assert_uint_eq(blen(mp[i]), sizes[i % SIZES]);
		ck_assert_msg(
		    all_bytes(mp[i], i), "block %d of %zu bytes", i, sizes[i % SIZES]);
		if (i % 3 == 0) { /* free some on the way */
			freeb(mp[i]);
			mp[i] = NULL;
		}
	}
	for (i = 0; i < SIZES * EACH; i++)
		if (mp[i])
			freeb(mp[i]);
}
END_TEST

START_TEST(the_allocation_priority_is_ignored)
{
	static const unsigned pris[] = {0, BPRI_LO, BPRI_MED, BPRI_HI, 4, 1000, UINT_MAX};
	size_t i;
	mblk_t *mp;

	for (i = 0; i < sizeof(pris) / sizeof(pris[0]); i++) {
		mp = allocb(50, pris[i]);
		check_fresh(mp, 50);
		freeb(mp);
		ck_assert_int_eq(testb(50, pris[i]), 1);
	}
}
END_TEST

START_TEST(an_impossible_size_gives_null_and_the_program_lives)
{
	static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 63,
	    SIZE_MAX - 64, SIZE_MAX - 127, SIZE_MAX - 4096, SIZE_MAX / 2,
	    SIZE_MAX / 2 + 1, (size_t)1 << 48, (size_t)1 << 40};
	size_t i;
	mblk_t *mp;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ck_assert_ptr_null(allocb(sizes[i], BPRI_HI));
		ck_assert_int_eq(testb(sizes[i], BPRI_HI), 0);
	}
	mp = allocb(64, BPRI_MED);
	check_fresh(mp, 64);
	freeb(mp);
}
END_TEST

START_TEST(testb_says_yes_for_what_allocb_gives)
{
	size_t size;

	for (size = 0; size <= MEG; size = size * 3 / 2 + 1)
		ck_assert_int_eq(testb(size, BPRI_MED), 1);
	ck_assert_int_eq(testb(MEG, BPRI_MED), 1);
}
END_TEST

START_TEST(every_type_can_be_set_and_is_kept)
{
	mblk_t *mp[256], *dup;
	int t;

	for (t = 0; t < 256; t++)
		mp[t] = tm_msg(t, 0, 4, t);
	for (t = 0; t < 256; t++) {
		dup = dupb(mp[t]);
		ck_assert_ptr_nonnull(dup);
		ck_assert_uint_eq(dup->b_datap->db_type, (unsigned)t);
		freeb(mp[t]);
		ck_assert_uint_eq(dup->b_datap->db_type, (unsigned)t);
		freeb(dup);
	}
}
END_TEST

START_TEST(an_exhausted_arena_gives_null_and_recovers)
{
	mblk_t *list = NULL, *mp;
	int round, n, first = 0;

	for (round = 0; round < 3; round++) {
		for (n = 0; (mp = allocb(65536, BPRI_MED)); n++) {
			ck_assert_int_lt(n, 100000);
			mp->b_next = list;
			list = mp;
		}
		ck_assert_int_gt(n, 10);
		ck_assert_int_eq(testb(65536, BPRI_MED), 0);
		if (round == 0)
			first = n;
		else
			ck_assert_int_ge(n, first - 1);
		while ((mp = list)) {
			list = mp->b_next;
			mp->b_next = NULL;
			freemsg(mp);
		}
		ck_assert_int_eq(testb(65536, BPRI_MED), 1);
	}
}
END_TEST

/* Does every block of mp have n references? */
static int
all_refs(const mblk_t *mp, unsigned n)
{
	for (; mp; mp = mp->b_cont)
		if (mp->b_datap->db_ref != n)
			return 0;
	return 1;
}

static int
unshared(const mblk_t *mp)
{
	return all_refs(mp, 1);
}

START_TEST(every_copying_routine_fails_cleanly_when_memory_runs_out)
{
	mblk_t *mp, *bp, *copy, *dup;
	int round, i;

	mp = tm_chain(M_DATA, 0, 60, 40, 'x');
	copy = copymsg(mp); /* what there must be room for afterwards */
	dup = dupmsg(mp);
	tm_exhaust();
	ck_assert(copy && dup);
	for (round = 0; round <= 8; round++) {
		if (round > 0)
			tm_relent(1); /* some blocks, but fewer than mp has */
		/* what was got before the failure must be given back */
		for (i = 0; i < 200; i++) {
			tm_assert(!dupmsg(mp), "round %d", round);
			tm_assert(all_refs(mp, 2), "dupmsg, round %d", round);
			tm_assert(!copymsg(mp), "round %d", round);
			tm_assert(all_refs(mp, 2), "copymsg, round %d", round);
		}
		ck_assert_ptr_null(msgpullup(mp, 2400));
		ck_assert(all_refs(mp, 2));
		bp = mp->b_cont;
		ck_assert_int_eq(pullupmsg(mp, 2400), 0);
		ck_assert_ptr_eq(mp->b_cont, bp);
		ck_assert_uint_eq(total(mp), 60 * 40);
	}
	tm_relent(-1);
	freemsg(copy);
	freemsg(dup);
	bp = dupmsg(mp);
	ck_assert_ptr_nonnull(bp);
	freemsg(bp);
	bp = copymsg(mp);
	ck_assert_ptr_nonnull(bp);
	freemsg(bp);
	ck_assert_int_eq(pullupmsg(mp, -1), 1);
	ck_assert_uint_eq(blen(mp), 60 * 40);
	freemsg(mp);
}
END_TEST

START_TEST(a_failed_esballoc_does_not_call_the_free_routine)
{
	struct esb *e = esb_new(100);
	mblk_t *mp;

	tm_exhaust();
	mp = esballoc(e->buf, 100, BPRI_MED, &e->frtn);
	ck_assert_ptr_null(mp);
	ck_assert_int_eq(atomic_load(&e->calls), 0);
	tm_relent(-1);
	mp = esb_msg(e);
	freeb(mp);
	esb_done(e);
}
END_TEST

/* ---- one thread allocates, another frees ------------------------------------------ */

#define RING 256

struct belt {
	_Atomic(mblk_t *) slot[RING];
	int rounds;
	atomic_int bad;
};

static void *
belt_free(void *arg)
{
	struct belt *b = arg;
	mblk_t *mp;
	int i;

	for (i = 0; i < b->rounds; i++) {
		while (!(mp = atomic_load(&b->slot[i % RING])))
			sched_yield();
		if (mp->b_wptr - mp->b_rptr != i % 200)
			atomic_fetch_add(&b->bad, 1);
		atomic_store(&b->slot[i % RING], NULL);
		freeb(mp);
	}
	return NULL;
}

static void
belt_run(struct belt *b, int rounds)
{
	pthread_t t;
	mblk_t *mp;
	int i;

	b->rounds = rounds;
	ck_assert_int_eq(pthread_create(&t, NULL, belt_free, b), 0);
	for (i = 0; i < rounds; i++) {
		mp = allocb((size_t)(i % 200), BPRI_MED);
		tm_assert(mp, "round %d", i);
		mp->b_wptr += i % 200;
		while (atomic_load(&b->slot[i % RING]))
			sched_yield();
		atomic_store(&b->slot[i % RING], mp);
	}
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_int_eq(atomic_load(&b->bad), 0);
}

START_TEST(blocks_allocated_here_and_freed_there_come_back)
{
	struct ustr_memstat before, after;
	static struct belt b;
	int rounds = tm_scale(2000000);

	belt_run(&b, rounds / 5);
	ck_assert_int_eq(ustr_memstat(&before), 0);
	belt_run(&b, rounds);
	ck_assert_int_eq(ustr_memstat(&after), 0);
	ck_assert_msg(after.ms_used <= before.ms_used + MEG,
	    "arena grew from %zu to %zu bytes", before.ms_used, after.ms_used);
}
END_TEST

static atomic_int go;

static void *
dup_and_free(void *arg)
{
	mblk_t *mine = arg, *mp;
	int i, n = tm_scale(500000);

	while (!atomic_load(&go))
		sched_yield();
	for (i = 0; i < n; i++) {
		mp = dupb(mine);
		if (mp)
			freeb(mp);
	}
	freeb(mine);
	return NULL;
}

START_TEST(two_threads_may_count_references_to_one_buffer)
{
	struct esb *e = esb_new(64);
	mblk_t *mp = esb_msg(e), *dup[2];
	pthread_t t[2];
	int i;

	atomic_store(&go, 0);
	for (i = 0; i < 2; i++) {
		dup[i] = dupb(mp);
		ck_assert_ptr_nonnull(dup[i]);
		ck_assert_int_eq(pthread_create(&t[i], NULL, dup_and_free, dup[i]), 0);
	}
	atomic_store(&go, 1);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(mp->b_datap->db_ref, 1);
	ck_assert_int_eq(atomic_load(&e->calls), 0);
	ck_assert(is_ramp(mp, 0, 64));
	freeb(mp);
	esb_done(e);
}
END_TEST

/* ---- references ------------------------------------------------------------------- */

START_TEST(dupb_gives_a_second_view_of_the_same_bytes)
{
	mblk_t *mp = ramp(M_PROTO, 40, 100, 0), *next = tm_msg(M_DATA, 0, 5, 'n');
	mblk_t *dup;

	linkb(mp, next);
	mp->b_rptr += 3;
	mp->b_band = 17;
	mp->b_flag = MSGMARK | MSGDELIM;
	dup = dupb(mp);
	ck_assert_ptr_nonnull(dup);
	ck_assert_ptr_ne(dup, mp);
	ck_assert_ptr_eq(dup->b_datap, mp->b_datap);
	ck_assert_ptr_eq(dup->b_rptr, mp->b_rptr);
	ck_assert_ptr_eq(dup->b_wptr, mp->b_wptr);
	ck_assert_ptr_null(dup->b_cont);
	ck_assert_ptr_null(dup->b_next);
	ck_assert_ptr_null(dup->b_prev);
	ck_assert_uint_eq(dup->b_band, 17);
	ck_assert_uint_eq(dup->b_flag & (MSGMARK | MSGDELIM), MSGMARK | MSGDELIM);
	ck_assert_uint_eq(mp->b_datap->db_ref, 2);
	ck_assert_uint_eq(next->b_datap->db_ref, 1);

	dup->b_rptr += 10; /* a view of its own */
	ck_assert(is_ramp(dup, 13, 40));
	ck_assert_uint_eq(blen(mp), 37);
	freeb(dup);
	ck_assert_uint_eq(mp->b_datap->db_ref, 1);
	freemsg(mp);
}
END_TEST

START_TEST(dupmsg_dups_every_block_in_order)
{
	mblk_t *mp = RAMPS(M_DATA, 10, 0, 100, 3), *dup, *a, *b;

	dup = dupmsg(mp);
	ck_assert_ptr_nonnull(dup);
	for (a = mp, b = dup; a && b; a = a->b_cont, b = b->b_cont) {
		ck_assert_ptr_ne(a, b);
		ck_assert_ptr_eq(a->b_datap, b->b_datap);
		ck_assert_ptr_eq(a->b_rptr, b->b_rptr);
		ck_assert_ptr_eq(a->b_wptr, b->b_wptr);
		ck_assert_uint_eq(a->b_datap->db_ref, 2);
	}
	ck_assert_ptr_eq(a, b);
	freemsg(mp);
	churn();
	ck_assert(is_ramp(dup, 0, 113));
	ck_assert(unshared(dup));
	freemsg(dup);
}
END_TEST

START_TEST(the_reference_count_does_not_wrap_at_256_or_65536)
{
	enum { N = 70000 };
	mblk_t **dup = malloc(N * sizeof(*dup)), *mp, *t;
	struct esb *e = esb_new(30);
	struct tm_rand r = {4711};
	int i, k;

	ck_assert_ptr_nonnull(dup);
	mp = esb_msg(e);
	for (i = 0; i < N; i++) {
		dup[i] = dupb(mp);
		tm_assert(dup[i], "dup %d", i);
		tm_assert(mp->b_datap->db_ref == (unsigned)i + 2, "dup %d", i);
	}
	for (i = N - 1; i > 0; i--) { /* shuffle */
		k = (int)tm_below(&r, (unsigned)i + 1);
		t = dup[i], dup[i] = dup[k], dup[k] = t;
	}
	t = mp, mp = dup[N / 2], dup[N / 2] = t;
	for (i = 0; i < N; i++) {
		tm_assert(mp->b_datap->db_ref == (unsigned)(N + 1 - i), "free %d", i);
		freeb(dup[i]);
		tm_assert(atomic_load(&e->calls) == 0, "free %d", i);
	}
	ck_assert_uint_eq(mp->b_datap->db_ref, 1);
	ck_assert(is_ramp(mp, 0, 30));
	freeb(mp);
	esb_done(e);
	free(dup);
}
END_TEST

START_TEST(an_inline_buffer_survives_70000_dups_and_its_own_header)
{
	enum { N = 70000 };
	mblk_t **dup = malloc(N * sizeof(*dup)), *mp = ramp(M_DATA, 20, 20, 0);
	int i;

	ck_assert_ptr_nonnull(dup);
	for (i = 0; i < N; i++) {
		dup[i] = dupb(i ? dup[i - 1] : mp);
		tm_assert(dup[i], "dup %d", i);
	}
	ck_assert_uint_eq(mp->b_datap->db_ref, N + 1);
	freeb(mp);
	churn();
	for (i = 0; i < N; i++) {
		tm_assert(dup[i]->b_datap->db_ref == (unsigned)(N - i), "%d", i);
		tm_assert(is_ramp(dup[i], 0, 20), "%d", i);
		freeb(dup[i]);
	}
	free(dup);
}
END_TEST

/* Views of one buffer, freed in every order. */
enum { VIEWS = 5, KINDS = 8, EXT = 5 /* the kind made by esballoc */ };

struct family {
	mblk_t *mp[VIEWS];
	int n;
	int len;
	struct esb *e;
};

static void
family_make(struct family *f, int n, int kind)
{
	static const int sizes[KINDS] = {20, 64, 65, 200, 250, 20, 5000, 70000};
	int i;

	f->n = n;
	f->len = sizes[kind];
	f->e = kind == EXT ? esb_new((size_t)f->len) : NULL;
	f->mp[0] = f->e ? esb_msg(f->e) : ramp(M_DATA, (size_t)f->len, (size_t)f->len, 0);
	for (i = 1; i < n; i++) {
		/* dup the original and dups of dups in turn */
		f->mp[i] = dupb(f->mp[i & 1 ? 0 : i - 1]);
		tm_assert(f->mp[i], "dupb");
	}
	for (i = 0; i < n; i++) {
		f->mp[i]->b_rptr = f->mp[i]->b_datap->db_base + i;
		f->mp[i]->b_wptr = f->mp[i]->b_datap->db_base + f->len - i;
	}
}

static void
family_check(const struct family *f, int left)
{
	int i;

	for (i = 0; i < f->n; i++)
		if (f->mp[i]) {
			tm_assert(is_ramp(f->mp[i], i, f->len - i),
			    "view %d of %d bytes, %d left", i, f->len, left);
			tm_assert(f->mp[i]->b_datap->db_ref == (unsigned)left,
			    "view %d of %d bytes, %d left", i, f->len, left);
		}
	if (f->e)
		tm_assert(atomic_load(&f->e->calls) == (left ? 0 : 1), "%d left", left);
}

/* Free in the order given, churning in between. */
static void
family_free(int n, int kind, const int *order)
{
	struct family f;
	int i;

	family_make(&f, n, kind);
	for (i = 0; i < n; i++) {
		freeb(f.mp[order[i]]);
		f.mp[order[i]] = NULL;
		churn();
		family_check(&f, n - 1 - i);
	}
	if (f.e)
		esb_done(f.e);
}

/* Call fn for every permutation of order[at..n-1]. */
static void
permute(int *order, int n, int at, int kind, void (*fn)(int, int, const int *))
{
	int i, t;

	if (at == n) {
		fn(n, kind, order);
		return;
	}
	for (i = at; i < n; i++) {
		t = order[at], order[at] = order[i], order[i] = t;
		permute(order, n, at + 1, kind, fn);
		t = order[at], order[at] = order[i], order[i] = t;
	}
}

START_TEST(dups_may_be_freed_in_any_order_even_the_original_first)
{
	int order[VIEWS], n, i;

	for (n = 1; n <= VIEWS; n++) {
		for (i = 0; i < n; i++)
			order[i] = i;
		permute(order, n, 0, _i, family_free);
	}
}
END_TEST

/* Allocate, dup and free in every order, many times. */
static void
family_rounds(int kind, int rounds)
{
	struct family f;
	int i, k;

	for (i = 0; i < rounds; i++) {
		family_make(&f, 1 + i % 3, kind);
		for (k = 0; k < f.n; k++)
			freeb(f.mp[i & 1 ? k : f.n - 1 - k]);
		if (f.e)
			esb_done(f.e);
	}
}

START_TEST(long_use_of_a_kind_of_block_leaks_nothing)
{
	struct ustr_memstat before, after;

	family_rounds(_i, 1000);
	ck_assert_int_eq(ustr_memstat(&before), 0);
	family_rounds(_i, tm_scale(_i < 6 ? 30000 : 3000));
	ck_assert_int_eq(ustr_memstat(&after), 0);
	ck_assert_msg(after.ms_used <= before.ms_used + 128 * 1024,
	    "arena grew from %zu to %zu bytes", before.ms_used, after.ms_used);
}
END_TEST

/* A two-block message, dups of it, pulled up one after the other. */
static void
pull_and_free(int n, int kind, const int *order)
{
	struct esb *e = kind == EXT ? esb_new(20) : NULL;
	static const int lens[KINDS] = {20, 64, 65, 200, 30, 20, 5000, 70000};
	mblk_t *mp[VIEWS], *second;
	int i, len = lens[kind];

	mp[0] = e ? esb_msg(e) : ramp(M_DATA, (size_t)len, (size_t)len, 0);
	second = ramp(M_DATA, 50, 50, len);
	linkb(mp[0], second);
	for (i = 1; i < n; i++) {
		mp[i] = dupmsg(mp[i - 1]);
		ck_assert_ptr_nonnull(mp[i]);
		if (i & 1) {
			/* the one dup'd from is pulled up, the dup is not */
			ck_assert_int_eq(pullupmsg(mp[i - 1], -1), 1);
			ck_assert_ptr_null(mp[i - 1]->b_cont);
		}
	}
	for (i = 0; i < n; i++)
		ck_assert(is_ramp(mp[i], 0, len + 50));
	for (i = 0; i < n; i++) {
		freemsg(mp[order[i]]);
		mp[order[i]] = NULL;
		churn();
		for (int k = 0; k < n; k++)
			tm_assert(!mp[k] || is_ramp(mp[k], 0, len + 50),
			    "message %d when %d was freed", k, order[i]);
	}
	if (e)
		esb_done(e);
}

START_TEST(pulled_up_dups_may_be_freed_in_any_order)
{
	int order[VIEWS], n, i;

	for (n = 1; n < VIEWS; n++) {
		for (i = 0; i < n; i++)
			order[i] = i;
		permute(order, n, 0, _i, pull_and_free);
	}
}
END_TEST

START_TEST(copyb_has_data_of_its_own_at_the_same_offset)
{
	mblk_t *mp = ramp(M_PCPROTO, 60, 100, 0), *copy;

	mp->b_rptr += 7;
	mp->b_band = 0;
	mp->b_flag = MSGMARK;
	linkb(mp, tm_msg(M_DATA, 0, 9, 'z'));
	copy = copyb(mp);
	ck_assert_ptr_nonnull(copy);
	ck_assert_ptr_ne(copy->b_datap, mp->b_datap);
	ck_assert_uint_eq(copy->b_datap->db_ref, 1);
	ck_assert_uint_eq(mp->b_datap->db_ref, 1);
	ck_assert_uint_eq(copy->b_datap->db_type, M_PCPROTO);
	ck_assert_uint_eq(copy->b_flag & MSGMARK, MSGMARK);
	ck_assert_ptr_null(copy->b_cont);
	ck_assert_ptr_null(copy->b_next);
	ck_assert_ptr_null(copy->b_prev);
	ck_assert_int_eq(copy->b_rptr - copy->b_datap->db_base, 7);
	ck_assert_int_ge(copy->b_datap->db_lim - copy->b_datap->db_base, 100);
	ck_assert(is_ramp(copy, 7, 60));
	memset(mp->b_rptr, 0, blen(mp));
	ck_assert(is_ramp(copy, 7, 60));
	freemsg(mp);
	freemsg(copy);
}
END_TEST

START_TEST(copyb_keeps_the_band)
{
	mblk_t *mp = tm_msg(M_DATA, 200, 10, 'b'), *copy = copyb(mp);

	ck_assert_ptr_nonnull(copy);
	ck_assert_uint_eq(copy->b_band, 200);
	freeb(mp);
	freeb(copy);
}
END_TEST

START_TEST(copyb_of_a_dup_unshares_it)
{
	mblk_t *mp = ramp(M_DATA, 90, 90, 0), *dup = dupb(mp), *copy = copyb(dup);

	ck_assert_ptr_nonnull(copy);
	ck_assert_uint_eq(mp->b_datap->db_ref, 2);
	ck_assert_uint_eq(copy->b_datap->db_ref, 1);
	freeb(mp);
	freeb(dup);
	churn();
	ck_assert(is_ramp(copy, 0, 90));
	freeb(copy);
}
END_TEST

START_TEST(copymsg_copies_every_block_in_order)
{
	mblk_t *mp = RAMPS(M_DATA, 5, 0, 300, 64), *copy, *a, *b;

	linkb(mp, ramp(M_PROTO, 4, 4, 369));
	copy = copymsg(mp);
	ck_assert_ptr_nonnull(copy);
	for (a = mp, b = copy; a && b; a = a->b_cont, b = b->b_cont) {
		ck_assert_ptr_ne(a->b_datap, b->b_datap);
		ck_assert_uint_eq(blen(a), blen(b));
		ck_assert_uint_eq(a->b_datap->db_type, b->b_datap->db_type);
	}
	ck_assert_ptr_eq(a, b);
	ck_assert(unshared(mp));
	ck_assert(unshared(copy));
	ck_assert(is_ramp(mp, 0, 373));
	freemsg(mp);
	churn();
	ck_assert(is_ramp(copy, 0, 373));
	freemsg(copy);
}
END_TEST

START_TEST(freeb_frees_one_block_and_leaves_the_rest)
{
	mblk_t *mp = RAMPS(M_DATA, 10, 20), *rest = mp->b_cont;

	freeb(mp);
	churn();
	ck_assert(is_ramp(rest, 10, 30));
	freemsg(rest);
}
END_TEST

/* ---- esballoc --------------------------------------------------------------------- */

START_TEST(esballoc_uses_the_callers_buffer)
{
	struct esb *e = esb_new(500);
	mblk_t *mp = esballoc(e->buf, 500, BPRI_MED, &e->frtn);

	ck_assert_ptr_nonnull(mp);
	ck_assert_ptr_eq(mp->b_datap->db_base, e->buf);
	ck_assert_ptr_eq(mp->b_datap->db_lim, e->buf + 500);
	ck_assert_ptr_eq(mp->b_rptr, e->buf);
	ck_assert_ptr_eq(mp->b_wptr, e->buf);
	ck_assert_uint_eq(mp->b_datap->db_type, M_DATA);
	ck_assert_uint_eq(mp->b_datap->db_ref, 1);
	ck_assert_int_eq(atomic_load(&e->calls), 0);
	freeb(mp);
	esb_done(e);
}
END_TEST

START_TEST(the_free_routine_runs_exactly_once_after_the_last_reference)
{
	struct esb *e = esb_new(40);
	mblk_t *mp = esb_msg(e), *dup[300];
	int i;

	for (i = 0; i < 300; i++) {
		dup[i] = dupb(i % 2 ? dup[i - 1] : mp);
		ck_assert_ptr_nonnull(dup[i]);
	}
	freeb(mp);
	for (i = 0; i < 300; i++) {
		ck_assert_int_eq(atomic_load(&e->calls), 0);
		ck_assert(is_ramp(dup[i], 0, 40));
		freeb(dup[i]);
	}
	churn();
	esb_done(e);
}
END_TEST

START_TEST(a_copy_does_not_hold_the_callers_buffer)
{
	struct esb *e = esb_new(100);
	mblk_t *mp = esb_msg(e), *copy = copymsg(mp);

	ck_assert_ptr_nonnull(copy);
	freeb(mp);
	ck_assert_int_eq(atomic_load(&e->calls), 1);
	ck_assert(is_ramp(copy, 0, 100));
	freemsg(copy);
	esb_done(e);
}
END_TEST

START_TEST(twenty_thousand_free_routines_each_run_once)
{
	enum { N = 20000 };
	struct esb **e = malloc(N * sizeof(*e));
	mblk_t **mp = malloc(N * sizeof(*mp));
	int i;

	ck_assert(e && mp);
	for (i = 0; i < N; i++) {
		e[i] = esb_new(8);
		mp[i] = esb_msg(e[i]);
	}
	for (i = 1; i < N; i += 2)
		freeb(mp[i]);
	for (i = 0; i < N; i++)
		tm_assert(atomic_load(&e[i]->calls) == (i & 1), "number %d", i);
	for (i = 0; i < N; i += 2)
		freeb(mp[i]);
	for (i = 0; i < N; i++)
		esb_done(e[i]);
	free(e);
	free(mp);
}
END_TEST

static mblk_t *victim;

static void
free_another(char *arg)
{
	mblk_t *mp = allocb(100, BPRI_MED);

	if (mp)
		freeb(mp);
	freemsg(victim);
	esb_free(arg);
}

START_TEST(a_free_routine_may_allocate_and_free_messages)
{
	struct esb *e = esb_new(10), *f = esb_new(20);
	mblk_t *mp;

	e->frtn.free_func = free_another;
	victim = esb_msg(f);
	mp = esb_msg(e);
	freeb(mp);
	esb_done(e);
	esb_done(f);
}
END_TEST

START_TEST(a_block_in_the_middle_of_a_message_runs_its_free_routine)
{
	struct esb *e = esb_new(10);
	mblk_t *mp = tm_msg(M_DATA, 0, 3, 'a');

	linkb(mp, esb_msg(e));
	linkb(mp, tm_msg(M_DATA, 0, 3, 'c'));
	freemsg(mp);
	esb_done(e);
}
END_TEST

START_TEST(pulling_up_releases_the_callers_buffer_once)
{
	struct esb *e = esb_new(24), *f = esb_new(24);
	mblk_t *mp = esb_msg(e), *dup;

	linkb(mp, esb_msg(f));
	dup = dupmsg(mp);
	ck_assert_ptr_nonnull(dup);
	ck_assert_int_eq(pullupmsg(mp, -1), 1);
	ck_assert_int_eq(atomic_load(&e->calls), 0);
	ck_assert_int_eq(atomic_load(&f->calls), 0);
	freemsg(dup);
	ck_assert_int_eq(atomic_load(&e->calls), 1);
	ck_assert_int_eq(atomic_load(&f->calls), 1);
	ck_assert_uint_eq(blen(mp), 48);
	ck_assert_uint_eq(mp->b_rptr[23], 23);
	ck_assert_uint_eq(mp->b_rptr[24], 0);
	freemsg(mp);
	esb_done(e);
	esb_done(f);
}
END_TEST

START_TEST(a_callers_buffer_travels_through_a_pipe_uncopied)
{
	struct esb *e = esb_new(200);
	mblk_t *mp = esb_msg(e), *got;
	dblk_t *db = mp->b_datap;
	int fd[2];

	ck_assert_int_eq(str_pipe(fd), 0);
	ck_assert_int_eq(str_putmblk(fd[0], mp), 0);
	ck_assert_int_eq(str_getmblk(fd[1], &got), 0);
	ck_assert_ptr_eq(got->b_datap, db);
	ck_assert(is_ramp(got, 0, 200));
	ck_assert_int_eq(atomic_load(&e->calls), 0);
	freemsg(got);
	ck_assert_int_eq(atomic_load(&e->calls), 1);
	str_close(fd[0]);
	str_close(fd[1]);
	esb_done(e);
}
END_TEST

START_TEST(closing_a_stream_runs_the_free_routines_of_what_was_unread)
{
	struct esb *e = esb_new(10), *f = esb_new(10);
	int fd[2];

	ck_assert_int_eq(str_pipe(fd), 0);
	ck_assert_int_eq(str_putmblk(fd[0], esb_msg(e)), 0);
	ck_assert_int_eq(str_putmblk(fd[1], esb_msg(f)), 0);
	str_close(fd[0]);
	str_close(fd[1]);
	ck_assert_int_eq(atomic_load(&e->calls), 1);
	ck_assert_int_eq(atomic_load(&f->calls), 1);
	esb_done(e);
	esb_done(f);
}
END_TEST

/* The child's half: read the message and report what it saw. */
static int
child_reads(int fd)
{
	mblk_t *mp;
	int ok;

	if (str_getmblk(fd, &mp) != 0)
		return 10;
	ok = is_ramp(mp, 0, 200);
	freemsg(mp);
	if (atomic_load(&esb_calls) != 0)
		return 11; /* it ran here: the wrong process */
	return ok ? 0 : 12;
}

START_TEST(private_memory_reaches_another_process_and_is_freed_in_its_own)
{
	struct esb *e;
	int fd[2], go_fd[2], status, ms;
	pid_t pid;
	char c;

	if (!tm_may_fork())
		return;
	atomic_store(&esb_calls, 0);
	ck_assert_int_eq(str_pipe(fd), 0);
	ck_assert_int_eq(pipe(go_fd), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (read(go_fd[0], &c, 1) != 1)
			_exit(13);
		_exit(child_reads(fd[1]));
	}
	/* memory the child cannot have: written after the fork */
	e = esb_new(200);
	ck_assert_int_eq(str_putmblk(fd[0], esb_msg(e)), 0);
	ck_assert_int_eq(write(go_fd[1], "x", 1), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: status %#x",
	    (unsigned)status);
	for (ms = 0; ms < 2000 && atomic_load(&e->calls) == 0; ms += 10) {
		str_poll(NULL, 0, 0);
		tm_msleep(10);
	}
	str_close(fd[0]);
	str_close(fd[1]);
	close(go_fd[0]);
	close(go_fd[1]);
	esb_done(e);
}
END_TEST

START_TEST(a_message_allocated_by_one_process_may_be_freed_by_another)
{
	struct ustr_memstat before, after;
	int fd[2], status, i, n = tm_scale(200000);
	mblk_t *mp;
	pid_t pid;

	if (!tm_may_fork())
		return;
	ck_assert_int_eq(str_pipe(fd), 0);
	ck_assert_int_eq(ustr_memstat(&before), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		for (i = 0; i < n; i++) {
			if (str_getmblk(fd[1], &mp) != 0)
				_exit(1);
			if (mp->b_wptr - mp->b_rptr != i % 150)
				_exit(2);
			freemsg(mp);
		}
		_exit(0);
	}
	for (i = 0; i < n; i++) {
		mp = tm_msg(M_DATA, 0, (size_t)(i % 150), i);
		tm_assert(str_putmblk(fd[0], mp) == 0, "message %d", i);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(ustr_memstat(&after), 0);
	ck_assert_msg(after.ms_used <= before.ms_used + 4 * MEG,
	    "arena grew from %zu to %zu bytes", before.ms_used, after.ms_used);
	str_close(fd[0]);
	str_close(fd[1]);
}
END_TEST

/* ---- cutting and joining ---------------------------------------------------------- */

START_TEST(linkb_appends_at_the_very_end)
{
	mblk_t *mp = RAMPS(M_DATA, 3, 4), *tail = ramp(M_DATA, 5, 5, 7);
	mblk_t *more = ramp(M_DATA, 1, 1, 12);

	linkb(tail, more);
	linkb(mp, tail);
	ck_assert(is_ramp(mp, 0, 13));
	ck_assert_ptr_eq(mp->b_cont->b_cont, tail);
	ck_assert_ptr_eq(tail->b_cont, more);
	freemsg(mp);
}
END_TEST

START_TEST(linkb_takes_null_on_either_side)
{
	mblk_t *mp = RAMPS(M_DATA, 3);

	linkb(mp, NULL);
	ck_assert_ptr_null(mp->b_cont);
	linkb(NULL, mp);
	ck_assert_ptr_null(mp->b_cont);
	linkb(NULL, NULL);
	ck_assert(is_ramp(mp, 0, 3));
	freemsg(mp);
}
END_TEST

START_TEST(unlinkb_returns_the_rest_and_keeps_the_block)
{
	mblk_t *mp = RAMPS(M_DATA, 3, 4, 5), *rest, *second = mp->b_cont;

	rest = unlinkb(mp);
	ck_assert_ptr_eq(rest, second);
	ck_assert_ptr_null(mp->b_cont);
	ck_assert(is_ramp(mp, 0, 3));
	ck_assert(is_ramp(rest, 3, 12));
	ck_assert_ptr_null(unlinkb(mp));
	freemsg(mp);
	freemsg(rest);
}
END_TEST

START_TEST(rmvb_takes_out_the_first_a_middle_and_the_last_block)
{
	mblk_t *mp, *bp[3];
	int i, k;

	for (i = 0; i < 3; i++) {
		mp = RAMPS(M_DATA, 3, 4, 5);
		bp[0] = mp;
		bp[1] = mp->b_cont;
		bp[2] = mp->b_cont->b_cont;
		ck_assert_ptr_eq(rmvb(mp, bp[i]), i == 0 ? bp[1] : bp[0]);
		ck_assert_ptr_null(bp[i]->b_cont);
		ck_assert_uint_eq(blen(bp[i]), 3 + (size_t)i);
		ck_assert_uint_eq(bp[i]->b_datap->db_ref, 1);
		k = i == 0 ? 1 : 0;
		ck_assert_ptr_eq(bp[k]->b_cont, bp[3 - i - k]);
		ck_assert_ptr_null(bp[3 - i - k]->b_cont);
		freemsg(bp[i]);
		freemsg(bp[k]);
	}
}
END_TEST

START_TEST(rmvb_of_the_only_block_gives_null)
{
	mblk_t *mp = RAMPS(M_DATA, 3);

	ck_assert_ptr_null(rmvb(mp, mp));
	ck_assert(is_ramp(mp, 0, 3));
	freemsg(mp);
}
END_TEST

START_TEST(rmvb_of_a_strange_block_gives_minus_one_and_changes_nothing)
{
	mblk_t *mp = RAMPS(M_DATA, 3, 4), *other = RAMPS(M_DATA, 5, 6);

	ck_assert_ptr_eq(rmvb(mp, other), (mblk_t *)-1);
	ck_assert_ptr_eq(rmvb(mp, other->b_cont), (mblk_t *)-1);
	ck_assert(is_ramp(mp, 0, 7));
	ck_assert(is_ramp(other, 0, 11));
	freemsg(mp);
	freemsg(other);
}
END_TEST

START_TEST(adjmsg_trims_the_front_across_blocks)
{
	mblk_t *mp;
	int n;

	for (n = 0; n <= 14; n++) {
		mp = RAMPS(M_DATA, 3, 4, 0, 7);
		ck_assert_int_eq(adjmsg(mp, n), 1);
		ck_assert(is_ramp(mp, n, 14));
		freemsg(mp);
	}
}
END_TEST

START_TEST(adjmsg_trims_the_back_across_blocks)
{
	mblk_t *mp;
	int n;

	for (n = 0; n <= 14; n++) {
		mp = RAMPS(M_DATA, 3, 4, 0, 7);
		ck_assert_int_eq(adjmsg(mp, -n), 1);
		ck_assert(is_ramp(mp, 0, 14 - n));
		freemsg(mp);
	}
}
END_TEST

START_TEST(adjmsg_refuses_more_than_there_is_and_changes_nothing)
{
	static const ssize_t lens[] = {15, 1000, SSIZE_MAX, -15, -1000, -SSIZE_MAX,
	    -SSIZE_MAX - 1, INT_MAX, INT_MIN};
	mblk_t *mp = RAMPS(M_DATA, 3, 4, 0, 7);
	size_t i;

	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		ck_assert_msg(adjmsg(mp, lens[i]) == 0, "adjmsg by %zd", lens[i]);
		ck_assert(is_ramp(mp, 0, 14));
	}
	freemsg(mp);
}
END_TEST

START_TEST(adjmsg_stays_within_blocks_of_one_type)
{
	mblk_t *mp = RAMPS(M_PROTO, 4);

	linkb(mp, ramp(M_DATA, 6, 6, 4));
	ck_assert_int_eq(adjmsg(mp, 5), 0);
	ck_assert_int_eq(adjmsg(mp, -7), 0);
	ck_assert(is_ramp(mp, 0, 10));
	ck_assert_int_eq(adjmsg(mp, -6), 1);
	ck_assert(is_ramp(mp, 0, 4));
	ck_assert_int_eq(adjmsg(mp, 3), 1);
	ck_assert(is_ramp(mp, 3, 4));
	ck_assert_uint_eq(mp->b_datap->db_type, M_PROTO);
	freemsg(mp);
}
END_TEST

START_TEST(adjmsg_does_not_touch_another_view)
{
	mblk_t *mp = RAMPS(M_DATA, 3, 4, 7), *dup = dupmsg(mp);

	ck_assert_int_eq(adjmsg(mp, 5), 1);
	ck_assert_int_eq(adjmsg(mp, -5), 1);
	ck_assert(is_ramp(mp, 5, 9));
	ck_assert(is_ramp(dup, 0, 14));
	freemsg(mp);
	churn();
	ck_assert(is_ramp(dup, 0, 14));
	freemsg(dup);
}
END_TEST

START_TEST(pullupmsg_makes_the_first_bytes_contiguous_in_place)
{
	mblk_t *mp;
	ssize_t len;

	for (len = -1; len <= 214; len++) {
		mp = RAMPS(M_DATA, 3, 4, 0, 7, 100, 100);
		mp->b_band = 5;
		mp->b_flag = MSGMARK;
		mp->b_rptr++; /* misaligned, and a byte less */
		if (len == 214) {
			ck_assert_int_eq(pullupmsg(mp, len), 0);
			ck_assert_uint_eq(blen(mp), 2);
			ck_assert(is_ramp(mp, 1, 214));
			freemsg(mp);
			continue;
		}
		ck_assert_msg(pullupmsg(mp, len) == 1, "pullupmsg %zd", len);
		ck_assert(is_ramp(mp, 1, 214));
		ck_assert_uint_ge(blen(mp), len < 0 ? 213 : (size_t)len);
		if (len < 0)
			ck_assert_ptr_null(mp->b_cont);
		if (len > 0)
			ck_assert(is_aligned(mp->b_rptr));
		ck_assert_uint_eq(mp->b_band, 5);
		ck_assert_uint_eq(mp->b_flag, MSGMARK);
		freemsg(mp);
	}
}
END_TEST

START_TEST(pullupmsg_keeps_the_type)
{
	mblk_t *mp = RAMPS(M_PCPROTO, 9, 9);

	ck_assert_int_eq(pullupmsg(mp, 18), 1);
	ck_assert_uint_eq(mp->b_datap->db_type, M_PCPROTO);
	ck_assert_uint_eq(blen(mp), 18);
	freemsg(mp);
}
END_TEST

START_TEST(pullupmsg_does_not_mix_types)
{
	mblk_t *mp = RAMPS(M_PROTO, 4, 5);

	linkb(mp, ramp(M_DATA, 6, 6, 9));
	ck_assert_int_eq(pullupmsg(mp, 10), 0);
	ck_assert_uint_eq(blen(mp), 4);
	ck_assert(is_ramp(mp, 0, 15));
	ck_assert_int_eq(pullupmsg(mp, 9), 1);
	ck_assert_uint_eq(blen(mp), 9);
	ck_assert_uint_eq(mp->b_datap->db_type, M_PROTO);
	ck_assert_ptr_nonnull(mp->b_cont);
	ck_assert_uint_eq(mp->b_cont->b_datap->db_type, M_DATA);
	ck_assert(is_ramp(mp, 0, 15));
	freemsg(mp);
}
END_TEST

START_TEST(pullupmsg_by_minus_one_turns_no_data_into_protocol)
{
	mblk_t *mp = RAMPS(M_PROTO, 4, 5);

	linkb(mp, ramp(M_DATA, 6, 6, 9));
	linkb(mp, ramp(M_DATA, 7, 7, 15));
	(void)pullupmsg(mp, -1);
	ck_assert(is_ramp(mp, 0, 22));
	ck_assert_uint_eq(mp->b_datap->db_type, M_PROTO);
	ck_assert_uint_eq(msgdsize(mp), 13);
	freemsg(mp);
}
END_TEST

START_TEST(pullupmsg_aligns_a_single_misaligned_block)
{
	mblk_t *mp = ramp(M_DATA, 40, 40, 0);

	mp->b_rptr += 3;
	ck_assert_int_eq(pullupmsg(mp, -1), 1);
	ck_assert(is_aligned(mp->b_rptr));
	ck_assert(is_ramp(mp, 3, 40));
	mp->b_rptr += 1;
	ck_assert_int_eq(pullupmsg(mp, 10), 1);
	ck_assert(is_aligned(mp->b_rptr));
	ck_assert(is_ramp(mp, 4, 40));
	freemsg(mp);
}
END_TEST

START_TEST(pullupmsg_can_make_a_mebibyte_contiguous)
{
	mblk_t *mp = NULL, *bp;
	int i;

	for (i = 0; i < 256; i++) {
		bp = tm_msg(M_DATA, 0, 4096, i);
		if (mp)
			linkb(mp, bp);
		else
			mp = bp;
	}
	ck_assert_int_eq(pullupmsg(mp, -1), 1);
	ck_assert_uint_eq(blen(mp), MEG);
	for (i = 0; i < MEG; i++)
		tm_assert(mp->b_rptr[i] == i / 4096, "byte %d", i);
	freemsg(mp);
}
END_TEST

START_TEST(msgpullup_leaves_the_original_alone)
{
	mblk_t *mp = RAMPS(M_DATA, 3, 4, 0, 7, 100), *np;
	mblk_t *second = mp->b_cont;
	ssize_t len;

	for (len = -1; len <= 114; len++) {
		np = msgpullup(mp, len);
		ck_assert_msg(np != NULL, "msgpullup %zd", len);
		ck_assert_ptr_ne(np, mp);
		ck_assert_uint_ge(blen(np), len < 0 ? 114 : (size_t)len);
		ck_assert(is_ramp(np, 0, 114));
		if (len > 0)
			ck_assert(is_aligned(np->b_rptr));
		ck_assert_uint_eq(blen(mp), 3);
		ck_assert_ptr_eq(mp->b_cont, second);
		ck_assert(is_ramp(mp, 0, 114));
		freemsg(np);
		churn();
		ck_assert(is_ramp(mp, 0, 114));
		ck_assert(unshared(mp));
	}
	ck_assert_ptr_null(msgpullup(mp, 115));
	ck_assert(unshared(mp));
	freemsg(mp);
}
END_TEST

START_TEST(msgpullup_outlives_the_original)
{
	mblk_t *mp = RAMPS(M_PROTO, 30, 40), *np;

	linkb(mp, ramp(M_DATA, 90, 90, 70));
	mp->b_band = 3;
	np = msgpullup(mp, 60);
	ck_assert_ptr_nonnull(np);
	ck_assert_uint_eq(np->b_band, 3);
	ck_assert_uint_eq(np->b_datap->db_type, M_PROTO);
	freemsg(mp);
	churn();
	ck_assert(is_ramp(np, 0, 160));
	ck_assert_uint_eq(msgdsize(np), 90);
	freemsg(np);
}
END_TEST

START_TEST(msgdsize_counts_data_blocks_only)
{
	mblk_t *mp = RAMPS(M_PROTO, 10);

	ck_assert_uint_eq(msgdsize(mp), 0);
	linkb(mp, ramp(M_DATA, 20, 20, 0));
	linkb(mp, ramp(M_DATA, 0, 0, 0));
	linkb(mp, ramp(M_PCPROTO, 5, 5, 0));
	linkb(mp, ramp(M_DELAY, 6, 6, 0));
	linkb(mp, ramp(M_DATA, 3, 90, 0));
	ck_assert_uint_eq(msgdsize(mp), 23);
	freemsg(mp);
}
END_TEST

START_TEST(datamsg_knows_the_four_data_types)
{
	int t, is;

	for (t = 0; t < 256; t++) {
		is = t == M_DATA || t == M_PROTO || t == M_PCPROTO || t == M_DELAY;
		ck_assert_msg(!datamsg((unsigned char)t) == !is, "type %#x", t);
	}
}
END_TEST

/* ---- random operations against a model -------------------------------------------- */

enum { POOL = 24, MAXESB = 4000, MAXBYTES = 20000 };

struct model {
	mblk_t *mp; /* NULL: the slot is free */
	size_t n;
	unsigned char *b; /* bytes */
	unsigned char *t; /* and their types */
};

struct world {
	struct model pool[POOL];
	struct tm_rand r;
	uint64_t seed;
	int op;	  /* number of the operation */
	int what; /* and which */
	struct esb *esb[MAXESB];
	int nesb;
	unsigned char serial;
};

#define WORLD_ASSERT(w, expr)                                                          \
	tm_assert(expr, "seed %llu, operation %d (%d)", (unsigned long long)(w)->seed, \
	    (w)->op, (w)->what)

static void
model_set(struct model *m, mblk_t *mp, size_t n)
{
	m->mp = mp;
	m->n = n;
	m->b = malloc(n + 1);
	m->t = malloc(n + 1);
	tm_assert(m->b && m->t, "malloc");
}

static void
model_drop(struct model *m)
{
	free(m->b);
	free(m->t);
	memset(m, 0, sizeof(*m));
}

/* dst := bytes [from, to) of src */
static void
model_slice(
    struct model *dst, mblk_t *mp, const struct model *src, size_t from, size_t to)
{
	model_set(dst, mp, to - from);
	memcpy(dst->b, src->b + from, to - from);
	memcpy(dst->t, src->t + from, to - from);
}

/* Remove bytes [from, to). */
static void
model_cut(struct model *m, size_t from, size_t to)
{
	memmove(m->b + from, m->b + to, m->n - to);
	memmove(m->t + from, m->t + to, m->n - to);
	m->n -= to - from;
}

static int
model_holds(const struct model *m)
{
	size_t at = 0, data = 0, i;
	const mblk_t *bp;

	for (bp = m->mp; bp; bp = bp->b_cont) {
		if (bp->b_rptr < bp->b_datap->db_base || bp->b_wptr < bp->b_rptr ||
		    bp->b_wptr > bp->b_datap->db_lim)
			return 0;
		if (bp->b_datap->db_ref == 0 || at + blen(bp) > m->n)
			return 0;
		for (i = 0; i < blen(bp); i++)
			if (m->b[at + i] != bp->b_rptr[i] ||
			    m->t[at + i] != bp->b_datap->db_type)
				return 0;
		at += blen(bp);
	}
	for (i = 0; i < m->n; i++)
		data += m->t[i] == M_DATA;
	return at == m->n && data == msgdsize(m->mp);
}

static struct model *
pick(struct world *w, int used)
{
	unsigned i, at = tm_below(&w->r, POOL);

	for (i = 0; i < POOL; i++)
		if (!w->pool[(at + i) % POOL].mp == !used)
			return &w->pool[(at + i) % POOL];
	return NULL;
}

static size_t
random_size(struct world *w)
{
	static const size_t around[] = {64, 128, 192, 256, 512, 1024, 4096};

	switch (tm_below(&w->r, 8)) {
	case 0:
		return 0;
	case 1:
		return around[tm_below(&w->r, 7)] - 2 + tm_below(&w->r, 5);
	case 2:
		return tm_below(&w->r, 3000);
	case 3:
		return tm_below(&w->r, 16) ? 1 : tm_below(&w->r, 70000);
	default:
		return tm_below(&w->r, 60);
	}
}

static mblk_t *
random_block(struct world *w)
{
	static const unsigned char types[] = {M_DATA, M_DATA, M_DATA, M_PROTO, M_PCPROTO};
	size_t size = random_size(w), head = tm_below(&w->r, 20), i;
	mblk_t *bp;

	if (tm_below(&w->r, 8) == 0 && w->nesb < MAXESB) {
		w->esb[w->nesb] = esb_new(size + head);
		bp = esballoc(
		    w->esb[w->nesb]->buf, size + head, BPRI_MED, &w->esb[w->nesb]->frtn);
		w->nesb++;
	} else
		bp = allocb(size + head, BPRI_MED);
	tm_assert(bp, "size %zu", size);
	bp->b_datap->db_type = types[tm_below(&w->r, 5)];
	bp->b_rptr += head;
	bp->b_wptr = bp->b_rptr;
	for (i = 0; i < size; i++)
		*bp->b_wptr++ = w->serial++;
	return bp;
}

/* The model of a message that is taken as it is. */
static void
model_learn(struct model *m, mblk_t *mp)
{
	size_t at = 0;
	mblk_t *bp;

	model_set(m, mp, total(mp));
	for (bp = mp; bp; bp = bp->b_cont) {
		memcpy(m->b + at, bp->b_rptr, blen(bp));
		memset(m->t + at, bp->b_datap->db_type, blen(bp));
		at += blen(bp);
	}
}

static size_t
front_run(const mblk_t *mp)
{
	unsigned char type = mp->b_datap->db_type;
	size_t n = 0;

	for (; mp && mp->b_datap->db_type == type; mp = mp->b_cont)
		n += blen(mp);
	return n;
}

static size_t
back_run(const mblk_t *mp)
{
	unsigned char type = mp->b_datap->db_type;
	size_t n = 0;

	for (; mp; mp = mp->b_cont) {
		if (mp->b_datap->db_type != type)
			n = 0;
		type = mp->b_datap->db_type;
		n += blen(mp);
	}
	return n;
}

static void
op_new(struct world *w)
{
	struct model *m = pick(w, 0);
	mblk_t *mp;
	unsigned n;

	if (!m)
		return;
	mp = random_block(w);
	for (n = tm_below(&w->r, 4); n > 0; n--)
		linkb(mp, random_block(w));
	model_learn(m, mp);
}

static void
op_dup(struct world *w)
{
	struct model *a = pick(w, 1), *b = pick(w, 0);
	mblk_t *mp;

	if (!a || !b)
		return;
	mp = tm_below(&w->r, 2) ? dupmsg(a->mp) : copymsg(a->mp);
	WORLD_ASSERT(w, mp != NULL);
	model_slice(b, mp, a, 0, a->n);
	WORLD_ASSERT(w, model_holds(b));
}

static void
op_link(struct world *w)
{
	struct model *a = pick(w, 1), *b = pick(w, 1), sum;

	if (!a || a == b || a->n + b->n > MAXBYTES)
		return;
	linkb(a->mp, b->mp);
	model_set(&sum, a->mp, a->n + b->n);
	memcpy(sum.b, a->b, a->n);
	memcpy(sum.t, a->t, a->n);
	memcpy(sum.b + a->n, b->b, b->n);
	memcpy(sum.t + a->n, b->t, b->n);
	model_drop(a);
	model_drop(b);
	*a = sum;
	WORLD_ASSERT(w, model_holds(a));
}

static void
op_unlink(struct world *w)
{
	struct model *a = pick(w, 1), *b = pick(w, 0), old;
	size_t first;
	mblk_t *rest;

	if (!a || !b)
		return;
	first = blen(a->mp);
	old = *a;
	rest = unlinkb(old.mp);
	model_slice(a, old.mp, &old, 0, first);
	WORLD_ASSERT(w, !old.mp->b_cont);
	if (rest) {
		model_slice(b, rest, &old, first, old.n);
		WORLD_ASSERT(w, model_holds(b));
	} else
		WORLD_ASSERT(w, old.n == first);
	WORLD_ASSERT(w, model_holds(a));
	model_drop(&old);
}

static void
op_rmvb(struct world *w)
{
	struct model *a = pick(w, 1), *b = pick(w, 0);
	size_t at = 0, k, n = 0;
	mblk_t *bp, *left, *want;

	if (!a || !b)
		return;
	for (bp = a->mp; bp; bp = bp->b_cont)
		n++;
	k = tm_below(&w->r, (unsigned)n);
	for (bp = a->mp; k > 0; k--, bp = bp->b_cont)
		at += blen(bp);
	want = bp == a->mp ? bp->b_cont : a->mp;
	left = rmvb(a->mp, bp);
	WORLD_ASSERT(w, !bp->b_cont);
	WORLD_ASSERT(w, left == want);
	model_slice(b, bp, a, at, at + blen(bp));
	WORLD_ASSERT(w, model_holds(b));
	if (!left) {
		model_drop(a);
		return;
	}
	a->mp = left;
	model_cut(a, at, at + blen(bp));
	WORLD_ASSERT(w, model_holds(a));
}

static void
op_adjmsg(struct world *w)
{
	struct model *a = pick(w, 1);
	size_t n, run;
	int back, done;

	if (!a)
		return;
	back = (int)tm_below(&w->r, 2);
	run = back ? back_run(a->mp) : front_run(a->mp);
	n = tm_below(&w->r, (unsigned)(tm_below(&w->r, 3) ? run : a->n) + 3);
	done = adjmsg(a->mp, back ? -(ssize_t)n : (ssize_t)n);
	WORLD_ASSERT(w, done == (n <= run));
	if (done)
		model_cut(a, back ? a->n - n : 0, back ? a->n : n);
	WORLD_ASSERT(w, model_holds(a));
}

static void
op_pullup(struct world *w)
{
	struct model *a = pick(w, 1), *b = pick(w, 0);
	size_t run;
	ssize_t len;
	mblk_t *mp;

	if (!a || !b)
		return;
	run = front_run(a->mp);
	len = (ssize_t)tm_below(&w->r, (unsigned)run + 4) - 1;
	if (tm_below(&w->r, 2)) {
		mp = msgpullup(a->mp, len);
		WORLD_ASSERT(w, !mp == (len > (ssize_t)run));
		if (mp) {
			model_slice(b, mp, a, 0, a->n);
			WORLD_ASSERT(w, model_holds(b));
		}
	} else {
		mp = a->mp;
		WORLD_ASSERT(w, pullupmsg(mp, len) == (len <= (ssize_t)run));
	}
	WORLD_ASSERT(w, model_holds(a));
	if (mp && len <= (ssize_t)run) {
		WORLD_ASSERT(w, blen(mp) >= (len < 0 ? run : (size_t)len));
		WORLD_ASSERT(w, len <= 0 || is_aligned(mp->b_rptr));
	}
}

static void
op_free(struct world *w)
{
	struct model *a = pick(w, 1);
	mblk_t *rest;

	if (!a)
		return;
	if (tm_below(&w->r, 2)) {
		freemsg(a->mp);
		model_drop(a);
		return;
	}
	rest = a->mp->b_cont;
	model_cut(a, 0, blen(a->mp));
	freeb(a->mp);
	a->mp = rest;
	if (!rest)
		model_drop(a);
	else
		WORLD_ASSERT(w, model_holds(a));
}

static void
world_run(struct world *w, uint64_t seed, int ops)
{
	static void (*const op[])(struct world *) = {op_new, op_new, op_dup, op_dup,
	    op_link, op_unlink, op_rmvb, op_adjmsg, op_adjmsg, op_pullup, op_pullup,
	    op_free, op_free};
	int i;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->r.s = seed * 0x9e3779b97f4a7c15ULL + 1;
	for (w->op = 0; w->op < ops; w->op++) {
		w->what = (int)tm_below(&w->r, sizeof(op) / sizeof(op[0]));
		op[w->what](w);
		if (w->op % 16 == 0)
			for (i = 0; i < POOL; i++)
				WORLD_ASSERT(
				    w, !w->pool[i].mp || model_holds(&w->pool[i]));
	}
	for (i = 0; i < POOL; i++)
		if (w->pool[i].mp) {
			freemsg(w->pool[i].mp);
			model_drop(&w->pool[i]);
		}
	for (i = 0; i < w->nesb; i++)
		esb_done(w->esb[i]);
}

START_TEST(random_operations_agree_with_a_byte_vector)
{
	static struct world w;

	world_run(&w, (uint64_t)_i + 1, tm_scale(40000));
}
END_TEST

START_TEST(random_operations_leak_nothing)
{
	struct ustr_memstat before, after;
	static struct world w;
	int i, ops = tm_scale(8000);

	for (i = 0; i < 2; i++)
		world_run(&w, 99, ops);
	ck_assert_int_eq(ustr_memstat(&before), 0);
	for (i = 0; i < 6; i++)
		world_run(&w, 99, ops);
	ck_assert_int_eq(ustr_memstat(&after), 0);
	ck_assert_msg(after.ms_used <= before.ms_used + MEG / 4,
	    "arena grew from %zu to %zu bytes", before.ms_used, after.ms_used);
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

static TCase *
group(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, tm_setup, tm_teardown);
	suite_add_tcase(s, tc);
	return tc;
}

static void
allocation_tests(Suite *s)
{
	TCase *tc = group(s, "allocation");

	tcase_add_test(tc, allocb_is_a_fine_first_call);
	tcase_add_test(tc, a_block_has_room_for_every_size_up_to_9000);
	tcase_add_test(tc, sizes_around_each_power_of_two_up_to_a_mebibyte_work);
	tcase_add_test(tc, blocks_held_at_once_never_overlap);
	tcase_add_test(tc, the_allocation_priority_is_ignored);
	tcase_add_test(tc, testb_says_yes_for_what_allocb_gives);
	tcase_add_test(tc, every_type_can_be_set_and_is_kept);
	tcase_add_test(tc, blocks_allocated_here_and_freed_there_come_back);
	tcase_add_test(tc, two_threads_may_count_references_to_one_buffer);
	if (!tm_heap_malloc())
		tcase_add_test(tc, an_impossible_size_gives_null_and_the_program_lives);
}

static void
small_arena(void)
{
	setenv("USTREAMS_ARENA", "32M", 1);
	tm_setup();
}

/* These need an arena of their own that can be filled. */
static void
exhaustion_tests(Suite *s)
{
	TCase *tc = tcase_create("exhaustion");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, small_arena, tm_teardown);
	suite_add_tcase(s, tc);
	tcase_add_test(tc, an_exhausted_arena_gives_null_and_recovers);
	tcase_add_test(tc, every_copying_routine_fails_cleanly_when_memory_runs_out);
	tcase_add_test(tc, a_failed_esballoc_does_not_call_the_free_routine);
}

static void
reference_tests(Suite *s)
{
	TCase *tc = group(s, "references");

	tcase_add_test(tc, dupb_gives_a_second_view_of_the_same_bytes);
	tcase_add_test(tc, dupmsg_dups_every_block_in_order);
	tcase_add_test(tc, the_reference_count_does_not_wrap_at_256_or_65536);
	tcase_add_test(tc, an_inline_buffer_survives_70000_dups_and_its_own_header);
	tcase_add_loop_test(
	    tc, dups_may_be_freed_in_any_order_even_the_original_first, 0, KINDS);
	tcase_add_loop_test(tc, pulled_up_dups_may_be_freed_in_any_order, 0, KINDS);
	tcase_add_loop_test(tc, long_use_of_a_kind_of_block_leaks_nothing, 0, KINDS);
	tcase_add_test(tc, copyb_has_data_of_its_own_at_the_same_offset);
	tcase_add_test(tc, copyb_keeps_the_band);
	tcase_add_test(tc, copyb_of_a_dup_unshares_it);
	tcase_add_test(tc, copymsg_copies_every_block_in_order);
	tcase_add_test(tc, freeb_frees_one_block_and_leaves_the_rest);
}

static void
esballoc_tests(Suite *s)
{
	TCase *tc = group(s, "esballoc");

	tcase_add_test(tc, esballoc_uses_the_callers_buffer);
	tcase_add_test(tc, the_free_routine_runs_exactly_once_after_the_last_reference);
	tcase_add_test(tc, a_copy_does_not_hold_the_callers_buffer);
	tcase_add_test(tc, twenty_thousand_free_routines_each_run_once);
	tcase_add_test(tc, a_free_routine_may_allocate_and_free_messages);
	tcase_add_test(tc, a_block_in_the_middle_of_a_message_runs_its_free_routine);
	tcase_add_test(tc, pulling_up_releases_the_callers_buffer_once);
	tcase_add_test(tc, a_callers_buffer_travels_through_a_pipe_uncopied);
	tcase_add_test(tc, closing_a_stream_runs_the_free_routines_of_what_was_unread);
	if (tm_may_fork()) {
		tcase_add_test(
		    tc, private_memory_reaches_another_process_and_is_freed_in_its_own);
		tcase_add_test(
		    tc, a_message_allocated_by_one_process_may_be_freed_by_another);
	}
}

static void
handling_tests(Suite *s)
{
	TCase *tc = group(s, "handling");

	tcase_add_test(tc, linkb_appends_at_the_very_end);
	tcase_add_test(tc, linkb_takes_null_on_either_side);
	tcase_add_test(tc, unlinkb_returns_the_rest_and_keeps_the_block);
	tcase_add_test(tc, rmvb_takes_out_the_first_a_middle_and_the_last_block);
	tcase_add_test(tc, rmvb_of_the_only_block_gives_null);
	tcase_add_test(tc, rmvb_of_a_strange_block_gives_minus_one_and_changes_nothing);
	tcase_add_test(tc, adjmsg_trims_the_front_across_blocks);
	tcase_add_test(tc, adjmsg_trims_the_back_across_blocks);
	tcase_add_test(tc, adjmsg_refuses_more_than_there_is_and_changes_nothing);
	tcase_add_test(tc, adjmsg_stays_within_blocks_of_one_type);
	tcase_add_test(tc, adjmsg_does_not_touch_another_view);
	tcase_add_test(tc, pullupmsg_makes_the_first_bytes_contiguous_in_place);
	tcase_add_test(tc, pullupmsg_keeps_the_type);
	tcase_add_test(tc, pullupmsg_does_not_mix_types);
	tcase_add_test(tc, pullupmsg_by_minus_one_turns_no_data_into_protocol);
	tcase_add_test(tc, pullupmsg_aligns_a_single_misaligned_block);
	tcase_add_test(tc, pullupmsg_can_make_a_mebibyte_contiguous);
	tcase_add_test(tc, msgpullup_leaves_the_original_alone);
	tcase_add_test(tc, msgpullup_outlives_the_original);
	tcase_add_test(tc, msgdsize_counts_data_blocks_only);
	tcase_add_test(tc, datamsg_knows_the_four_data_types);
}

static void
random_tests(Suite *s)
{
	TCase *tc = group(s, "random");

	tcase_add_loop_test(tc, random_operations_agree_with_a_byte_vector, 0, 8);
	tcase_add_test(tc, random_operations_leak_nothing);
}

int
main(void)
{
	Suite *s = suite_create("msg");

	allocation_tests(s);
	reference_tests(s);
	esballoc_tests(s);
	handling_tests(s);
	random_tests(s);
	if (tm_forked() && !tm_heap_malloc())
		exhaustion_tests(s);
	return tm_run(s);
}
