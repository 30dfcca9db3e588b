/* SPDX-License-Identifier: BSD-2-Clause */
/* check_msgalloc.c: allocation of message blocks: sizes, exhaustion, threads. */
#include "msglib.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <ustreams.h>

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

/* ---- the suite -------------------------------------------------------------------- */

static void
allocation_tests(Suite *s)
{
	TCase *tc = msg_group(s, "allocation");

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

int
main(void)
{
	Suite *s = suite_create("msgalloc");

	allocation_tests(s);
	if (tm_forked() && !tm_heap_malloc())
		exhaustion_tests(s);
	return tm_run(s);
}
