/* SPDX-License-Identifier: BSD-2-Clause */
/* check_msgref.c: references to message blocks, and those over a caller's buffer. */
#include "msglib.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ustreams.h>

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

/* ---- the suite -------------------------------------------------------------------- */

static void
reference_tests(Suite *s)
{
	TCase *tc = msg_group(s, "references");

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
	TCase *tc = msg_group(s, "esballoc");

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

int
main(void)
{
	Suite *s = suite_create("msgref");

	reference_tests(s);
	esballoc_tests(s);
	return tm_run(s);
}
