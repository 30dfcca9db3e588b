/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_registry.c: making modules and drivers known and forgetting them, and
 * what their open and close routines are given.
 */
#include "testmod.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <sys/ddi.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ustreams.h>

/* ---- a module of its own, so that tables can be bad ------------------------------- */

static int
open_plain(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	qprocson(q);
	return 0;
}

static int
close_plain(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	return 0;
}

static int
put_plain(queue_t *q, mblk_t *mp)
{
	if (q->q_next)
		putnext(q, mp);
	else
		freemsg(mp);
	return 0;
}

static struct module_info info = {1, "plain", 0, INFPSZ, 1000, 100};
static struct qinit rinit = {put_plain, NULL, open_plain, close_plain, NULL, &info, NULL};
static struct qinit winit = {put_plain, NULL, NULL, NULL, NULL, &info, NULL};
static struct streamtab plain = {&rinit, &winit, NULL, NULL};

static int
module(const char *name, int flags)
{
	return ustr_register_module(name, &plain, flags) == 0 ? 0 : errno;
}

static int
driver(const char *name, int flags)
{
	return ustr_register_driver(name, &plain, flags) == 0 ? 0 : errno;
}

static int
forget(const char *name)
{
	return ustr_unregister(name) == 0 ? 0 : errno;
}

static int
open_driver(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/streams/%s", name);
	fd = str_open(path, O_RDWR | O_NONBLOCK);
	return fd >= 0 ? tm_track(fd) : -errno;
}

static int
push(int fd, const char *name)
{
	return str_ioctl(fd, I_PUSH, name) == 0 ? 0 : errno;
}

static int
a_pipe(void)
{
	int fd[2];

	ck_assert_int_eq(str_pipe(fd), 0);
	tm_track(fd[1]);
	return tm_track(fd[0]);
}

/* ---- names ------------------------------------------------------------------------ */

START_TEST(names_have_one_to_eight_characters)
{
	static const char full[] = "abcdefghi";
	char name[16];
	int n, fd = a_pipe();

	for (n = 1; n <= 8; n++) {
		snprintf(name, sizeof(name), "%.*s", n, full);
		ck_assert_int_eq(module(name, D_MP), 0);
		ck_assert_int_eq(push(fd, name), 0);
		ck_assert_int_eq(str_ioctl(fd, I_POP, 0), 0);
	}
	for (n = 1; n <= 8; n++) {
		snprintf(name, sizeof(name), "%.*s", n, full);
		ck_assert_int_eq(forget(name), 0);
	}
	ck_assert_int_eq(module("", D_MP), EINVAL);
	ck_assert_int_eq(module(full, D_MP), EINVAL);
	ck_assert_int_eq(module(NULL, D_MP), EINVAL);
	ck_assert_int_eq(driver("", D_MP), EINVAL);
	ck_assert_int_eq(driver(full, D_MP), EINVAL);
	ck_assert_int_eq(driver(NULL, D_MP), EINVAL);
}
END_TEST

START_TEST(a_name_is_not_a_prefix_of_another)
{
	int fd = a_pipe();

	ck_assert_int_eq(module("abcd", D_MP), 0);
	ck_assert_int_eq(push(fd, "abc"), EINVAL);
	ck_assert_int_eq(push(fd, "abcde"), EINVAL);
	ck_assert_int_eq(forget("abc"), ENOENT);
	ck_assert_int_eq(forget("abcde"), ENOENT);
	ck_assert_int_eq(module("abc", D_MP), 0);
	ck_assert_int_eq(module("abcde", D_MP), 0);
	ck_assert_int_eq(forget("abcd"), 0);
	ck_assert_int_eq(push(fd, "abc"), 0);
	ck_assert_int_eq(push(fd, "abcd"), EINVAL);
	ck_assert_int_eq(str_ioctl(fd, I_POP, 0), 0);
	ck_assert_int_eq(forget("abc"), 0);
	ck_assert_int_eq(forget("abcde"), 0);
}
END_TEST

START_TEST(a_name_can_be_registered_only_once)
{
	ck_assert_int_eq(module("twice", D_MP), 0);
	ck_assert_int_eq(module("twice", D_MP), EEXIST);
	ck_assert_int_eq(module("twice", D_MTPERQ), EEXIST);
	ck_assert_int_eq(forget("twice"), 0);
	ck_assert_int_eq(driver("twice", D_MP), 0);
	ck_assert_int_eq(driver("twice", D_MP), EEXIST);
	ck_assert_int_eq(forget("twice"), 0);
	ck_assert_int_eq(forget("twice"), ENOENT);
}
END_TEST

START_TEST(the_built_in_names_are_taken)
{
	ck_assert_int_eq(module("pipemod", D_MP), EEXIST);
	ck_assert_int_eq(module("nullmod", D_MP), EEXIST);
	ck_assert_int_eq(driver("echo", D_MP), EEXIST);
	ck_assert_int_eq(driver("nuls", D_MP), EEXIST);
}
END_TEST

START_TEST(the_built_in_modules_and_drivers_work_at_once)
{
	int fd = a_pipe();

	ck_assert_int_eq(push(fd, "pipemod"), 0);
	ck_assert_int_eq(push(fd, "nullmod"), 0);
	ck_assert_int_ge(open_driver("echo"), 0);
	ck_assert_int_ge(open_driver("nuls"), 0);
}
END_TEST

START_TEST(bad_tables_are_einval)
{
	struct streamtab st = plain;
	struct qinit q = rinit;

	ck_assert_int_eq(ustr_register_module("bad", NULL, D_MP), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ustr_register_driver("bad", NULL, D_MP), -1);
	ck_assert_int_eq(errno, EINVAL);
	st.st_rdinit = NULL;
	ck_assert_int_eq(ustr_register_module("bad", &st, D_MP), -1);
	ck_assert_int_eq(errno, EINVAL);
	st = plain;
	st.st_wrinit = NULL;
	ck_assert_int_eq(ustr_register_module("bad", &st, D_MP), -1);
	ck_assert_int_eq(errno, EINVAL);
	st = plain;
	q.qi_minfo = NULL;
	st.st_rdinit = &q;
	ck_assert_int_eq(ustr_register_module("bad", &st, D_MP), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(forget("bad"), ENOENT);
	ck_assert_int_eq(module("bad", D_MP), 0); /* the name is still free */
	ck_assert_int_eq(forget("bad"), 0);
}
END_TEST

/* ---- flags ------------------------------------------------------------------------ */

START_TEST(every_inner_perimeter_may_be_asked_for)
{
	static const int good[] = {0, D_NEW, D_MP, D_MTPERQ, D_MTQPAIR, D_MTPERMOD,
	    D_MP | D_MTPERQ, D_MP | D_MTQPAIR, D_MP | D_MTPERMOD};
	int fd = a_pipe();
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ck_assert_msg(
		    module("flags", good[i]) == 0, "flags %#x", (unsigned)good[i]);
		ck_assert_int_eq(push(fd, "flags"), 0);
		ck_assert_int_eq(str_write(fd, "x", 1), 1);
		ck_assert_int_eq(str_ioctl(fd, I_POP, 0), 0);
		ck_assert_int_eq(forget("flags"), 0);
		ck_assert_int_eq(driver("flags", good[i]), 0);
		ck_assert_int_eq(forget("flags"), 0);
		ck_assert_int_eq(driver("flags", good[i] | USTR_INDEPENDENT), 0);
		ck_assert_int_eq(forget("flags"), 0);
	}
}
END_TEST

START_TEST(bad_combinations_of_flags_are_einval)
{
	static const int bad[] = {
	    D_MP | D_MTPERMOD | D_MTOUTPERIM, /* one or the other */
	    D_MTPERMOD | D_MTOUTPERIM,
	    D_MP | D_MTOCEXCL, /* exclusive of what? */
	    D_MP | D_MTPERQ | D_MTOCEXCL,
	    D_MP | D_MTPUTSHARED, /* share what? */
	    D_MP | 0x2,		  /* unknown bits */
	    D_MP | 0x400000,
	    0x40000000,
	    -1,
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(
		    module("flags", bad[i]) == EINVAL, "flags %#x", (unsigned)bad[i]);
		ck_assert_msg(
		    driver("flags", bad[i]) == EINVAL, "flags %#x", (unsigned)bad[i]);
		ck_assert_int_eq(forget("flags"), ENOENT);
	}
}
END_TEST

/* ---- modules are not drivers ------------------------------------------------------ */

START_TEST(a_module_cannot_be_opened)
{
	ck_assert_int_eq(module("onlymod", D_MP), 0);
	ck_assert_int_eq(open_driver("onlymod"), -ENOENT);
	ck_assert_int_eq(forget("onlymod"), 0);
}
END_TEST

START_TEST(a_driver_cannot_be_pushed)
{
	int fd = a_pipe();

	ck_assert_int_eq(driver("onlydrv", D_MP), 0);
	ck_assert_int_eq(push(fd, "onlydrv"), EINVAL);
	ck_assert_int_eq(push(fd, "echo"), EINVAL);
	ck_assert_int_eq(forget("onlydrv"), 0);
}
END_TEST

START_TEST(unknown_names_are_refused)
{
	char nine[] = "ninechars", long_name[1000];
	int fd = a_pipe();

	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	ck_assert_int_eq(push(fd, "nosuch"), EINVAL);
	ck_assert_int_eq(push(fd, ""), EINVAL);
	ck_assert_int_eq(push(fd, nine), EINVAL);
	ck_assert_int_eq(push(fd, long_name), EINVAL);
	ck_assert_int_eq(open_driver("nosuch"), -ENOENT);
	ck_assert_int_eq(str_ioctl(fd, I_FIND, "nosuch"), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(str_ioctl(fd, I_LIST, NULL), 0);
}
END_TEST

START_TEST(i_find_and_i_look_name_what_was_registered)
{
	char name[FMNAMESZ + 1] = "";
	int fd = a_pipe();

	/* the name of registration counts, not mi_idname */
	ck_assert_int_eq(module("alias", D_MP), 0);
	ck_assert_int_eq(str_ioctl(fd, I_FIND, "alias"), 0);
	ck_assert_int_eq(push(fd, "alias"), 0);
	ck_assert_int_eq(str_ioctl(fd, I_FIND, "alias"), 1);
	ck_assert_int_eq(str_ioctl(fd, I_LOOK, name), 0);
	ck_assert_str_eq(name, "alias");
	ck_assert_int_eq(str_ioctl(fd, I_POP, 0), 0);
	ck_assert_int_eq(str_ioctl(fd, I_FIND, "alias"), 0);
	ck_assert_int_eq(forget("alias"), 0);
	ck_assert_int_eq(str_ioctl(fd, I_FIND, "alias"), -1);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/* ---- forgetting ------------------------------------------------------------------- */

START_TEST(an_unknown_name_cannot_be_forgotten)
{
	int error;

	ck_assert_int_eq(forget("nosuch"), ENOENT);
	ck_assert_int_eq(forget(NULL), EINVAL);
	error = forget("");
	ck_assert(error == EINVAL || error == ENOENT);
	error = forget("ninechars");
	ck_assert(error == EINVAL || error == ENOENT);
}
END_TEST

START_TEST(a_pushed_module_is_busy)
{
	int fd = a_pipe();

	ck_assert_int_eq(module("busy", D_MP), 0);
	ck_assert_int_eq(push(fd, "busy"), 0);
	ck_assert_int_eq(push(fd, "busy"), 0);
	ck_assert_int_eq(forget("busy"), EBUSY);
	ck_assert_int_eq(str_ioctl(fd, I_POP, 0), 0);
	ck_assert_int_eq(forget("busy"), EBUSY);
	ck_assert_int_eq(str_write(fd, "x", 1), 1); /* and it goes on working */
	ck_assert_int_eq(str_ioctl(fd, I_POP, 0), 0);
	ck_assert_int_eq(forget("busy"), 0);
}
END_TEST

START_TEST(an_open_driver_is_busy)
{
	int a, b;

	ck_assert_int_eq(driver("busy", D_MP), 0);
	a = open_driver("busy/1");
	b = open_driver("busy/2");
	ck_assert_int_ge(a, 0);
	ck_assert_int_ge(b, 0);
	ck_assert_int_eq(forget("busy"), EBUSY);
	tm_close(a);
	ck_assert_int_eq(forget("busy"), EBUSY);
	tm_close(b);
	ck_assert_int_eq(forget("busy"), 0);
	ck_assert_int_eq(open_driver("busy/1"), -ENOENT);
}
END_TEST

static int
open_fails(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)q, (void)dev, (void)oflag, (void)sflag, (void)cr;
	return EACCES;
}

START_TEST(a_failed_open_leaves_nothing_busy)
{
	struct qinit r = rinit;
	struct streamtab st = {&r, &winit, NULL, NULL};
	int fd = a_pipe();

	r.qi_qopen = open_fails;
	ck_assert_int_eq(ustr_register_module("refuse", &st, D_MP), 0);
	ck_assert_int_eq(push(fd, "refuse"), EACCES);
	ck_assert_int_eq(forget("refuse"), 0);
	ck_assert_int_eq(ustr_register_driver("refuse", &st, D_MP), 0);
	ck_assert_int_eq(open_driver("refuse"), -EACCES);
	ck_assert_int_eq(forget("refuse"), 0);
}
END_TEST

START_TEST(a_name_may_be_used_again_with_another_table)
{
	int i, fd = a_pipe();

	for (i = 0; i < 2000; i++) {
		tm_assert(module("again", D_MP) == 0, "round %d", i);
		if (i % 100 == 0) {
			ck_assert_int_eq(push(fd, "again"), 0);
			ck_assert_int_eq(str_write(fd, "x", 1), 1);
			ck_assert_int_eq(str_ioctl(fd, I_POP, 0), 0);
		}
		tm_assert(forget("again") == 0, "round %d", i);
	}
}
END_TEST

static char trace[16];

static void
note(char c)
{
	size_t n = strlen(trace);

	if (n < sizeof(trace) - 1)
		trace[n] = c;
}

static int
noting_rput(queue_t *q, mblk_t *mp)
{
	(void)q;
	note('r');
	freemsg(mp);
	return 0;
}

static int
noting_wput(queue_t *q, mblk_t *mp)
{
	note('<');
	(void)putctl(RD(q), M_CTL);
	note('>');
	putnext(q, mp);
	return 0;
}

static int
other_wput(queue_t *q, mblk_t *mp)
{
	note('[');
	(void)putctl(RD(q), M_CTL);
	note(']');
	putnext(q, mp);
	return 0;
}

START_TEST(a_name_used_again_has_its_new_flags_and_procedures)
{
	static const struct {
		int flags;
		int other;
		const char *want;
	} turn[] = {
	    {D_MP, 0, "<r>"},
	    {D_MTPERMOD, 0, "<>r"},
	    {D_MTPERMOD, 1, "[]r"},
	    {D_MP, 1, "[r]"},
	    {D_MP, 0, "<r>"},
	    {D_MTQPAIR, 0, "<>r"},
	    {D_MTPERQ, 0, "<r>"},
	    {0, 1, "[]r"},
	};
	struct qinit r = rinit, w = winit;
	struct streamtab st = {&r, &w, NULL, NULL};
	int fd = a_pipe();
	size_t i;

	r.qi_putp = noting_rput;
	for (i = 0; i < 5 * sizeof(turn) / sizeof(turn[0]); i++) {
		size_t t = i % (sizeof(turn) / sizeof(turn[0]));

		if (i % 3 == 0) { /* a driver of that name in between */
			ck_assert_int_eq(driver("again", turn[t].flags), 0);
			ck_assert_int_eq(push(fd, "again"), EINVAL);
			ck_assert_int_eq(forget("again"), 0);
		}
		w.qi_putp = turn[t].other ? other_wput : noting_wput;
		ck_assert_int_eq(ustr_register_module("again", &st, turn[t].flags), 0);
		ck_assert_int_eq(push(fd, "again"), 0);
		memset(trace, 0, sizeof(trace));
		ck_assert_int_eq(str_write(fd, "x", 1), 1);
		ck_assert_msg(strcmp(trace, turn[t].want) == 0, "turn %zu: %s, not %s", i,
		    trace, turn[t].want);
		ck_assert_int_eq(str_ioctl(fd, I_POP, 0), 0);
		ck_assert_int_eq(forget("again"), 0);
	}
}
END_TEST

START_TEST(registering_and_forgetting_for_long_leaks_nothing)
{
	static const int flags[] = {D_MP, D_MTPERQ, D_MTPERMOD, 0};
	struct ustr_memstat before, after;
	char name[16];
	int i, n = tm_scale(20000);

	for (i = 0; i < n; i++) {
		if (i == n / 10)
			ck_assert_int_eq(ustr_memstat(&before), 0);
		snprintf(name, sizeof(name), "n%d", i % 50);
		tm_assert(module(name, flags[i % 4]) == 0, "round %d", i);
		tm_assert(forget(name) == 0, "round %d", i);
		tm_assert(driver(name, flags[(i / 50) % 4]) == 0, "round %d", i);
		tm_assert(forget(name) == 0, "round %d", i);
	}
	ck_assert_int_eq(ustr_memstat(&after), 0);
	ck_assert_msg(after.ms_used <= before.ms_used + 128 * 1024,
	    "arena grew from %zu to %zu bytes", before.ms_used, after.ms_used);
}
END_TEST

START_TEST(a_full_registry_says_so_and_recovers)
{
	char name[16];
	int n, i, error = 0;

	for (n = 0; n < 100000; n++) {
		snprintf(name, sizeof(name), "m%d", n);
		error = module(name, D_MP);
		if (error)
			break;
	}
	ck_assert_int_ge(n, 32);
	ck_assert_msg(
	    n == 100000 || error == ENOSPC || error == ENOMEM, "%s", strerror(error));
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		tm_assert(forget(name) == 0, "%s", name);
	}
	ck_assert_int_eq(module("m0", D_MP), 0);
	ck_assert_int_eq(forget("m0"), 0);
}
END_TEST

START_TEST(the_tables_are_copied)
{
	static char name[] = "copied";
	struct module_info mi = {5, "inner", 3, 900, 700, 300};
	struct qinit r = rinit, w = winit;
	struct streamtab st = {&r, &w, NULL, NULL};
	char label[] = "copied";
	int fd = a_pipe();

	r.qi_minfo = w.qi_minfo = &mi;
	ck_assert_int_eq(ustr_register_module(label, &st, D_MP), 0);
	memset(&st, 0xff, sizeof(st));
	memset(&r, 0xff, sizeof(r));
	memset(&w, 0xff, sizeof(w));
	memset(&mi, 0xff, sizeof(mi));
	memset(label, 'z', 6);
	ck_assert_int_eq(push(fd, name), 0);
	ck_assert_int_eq(str_write(fd, "x", 1), -1); /* minpsz is 3 */
	ck_assert_int_eq(errno, ERANGE);
	ck_assert_int_eq(str_write(fd, "xyz", 3), 3);
	ck_assert_int_eq(str_ioctl(fd, I_POP, 0), 0);
	ck_assert_int_eq(forget(name), 0);
}
END_TEST

static atomic_int winners, losers;

static void *
race_to_register(void *arg)
{
	int error = module(arg, D_MP);

	if (error == 0)
		atomic_fetch_add(&winners, 1);
	else if (error == EEXIST)
		atomic_fetch_add(&losers, 1);
	return NULL;
}

START_TEST(of_threads_registering_one_name_exactly_one_wins)
{
	pthread_t t[8];
	int round, i;

	for (round = 0; round < 50; round++) {
		atomic_store(&winners, 0);
		atomic_store(&losers, 0);
		for (i = 0; i < 8; i++)
			ck_assert_int_eq(
			    pthread_create(&t[i], NULL, race_to_register, (void *)"race"),
			    0);
		for (i = 0; i < 8; i++)
			pthread_join(t[i], NULL);
		ck_assert_int_eq(atomic_load(&winners), 1);
		ck_assert_int_eq(atomic_load(&losers), 7);
		ck_assert_int_eq(forget("race"), 0);
	}
}
END_TEST

/* ---- what open and close are given ------------------------------------------------ */

START_TEST(a_module_is_opened_with_modopen)
{
	int fd;

	tm_register("drv", TM_DRIVER, D_MP, 100, 10);
	tm_register("mod", TM_MODULE, D_MP, 100, 10);
	fd = tm_stack("drv", "mod", NULL);
	ck_assert_int_eq(tm_newest->sflag, MODOPEN);
	ck_assert_uint_eq(tm_newest->uid, geteuid());
	ck_assert_str_eq(tm_newest->name, "mod");
	ck_assert_int_eq(atomic_load(&tm_newest->closes), 0);
	tm_pop(fd);
	ck_assert_int_eq(atomic_load(&tm_newest->closes), 1);
}
END_TEST

START_TEST(a_driver_is_opened_with_its_minor_and_the_open_flags)
{
	int fd;

	tm_register("drv", TM_DRIVER, D_MP, 100, 10);
	fd = tm_open("drv/7");
	ck_assert_int_eq(tm_newest->sflag, 0);
	ck_assert_uint_eq(getminor(tm_newest->dev), 7);
	ck_assert_uint_eq(tm_newest->uid, geteuid());
	tm_close(fd);
	ck_assert_int_eq(atomic_load(&tm_newest->closes), 1);
	fd = tm_open("drv");
	ck_assert_uint_eq(getminor(tm_newest->dev), 0);
	tm_close(fd);
}
END_TEST

START_TEST(modules_and_driver_of_a_stream_see_the_same_device)
{
	tm_register("drv", TM_DRIVER, D_MP, 100, 10);
	tm_register("mod", TM_MODULE, D_MP, 100, 10);
	tm_stack("drv/5", "mod", NULL);
	ck_assert_ptr_nonnull(tm_newest->next);
	ck_assert(tm_newest->dev == tm_newest->next->dev);
}
END_TEST

START_TEST(a_second_open_of_a_minor_is_the_same_stream)
{
	struct tm_inst *in;
	int a, b, other;

	tm_register("drv", TM_DRIVER, D_MP, 100, 10);
	a = tm_open("drv/3");
	in = tm_newest;
	b = tm_open("drv/3");
	ck_assert_ptr_eq(tm_newest, in);
	ck_assert_int_eq(in->opens, 2);
	other = tm_open("drv/4");
	ck_assert_ptr_ne(tm_newest, in);
	ck_assert_int_eq(tm_newest->opens, 1);
	tm_close(a);
	ck_assert_int_eq(atomic_load(&in->closes), 0);
	ck_assert_int_eq(str_write(b, "x", 1), 1);
	tm_close(b);
	ck_assert_int_eq(atomic_load(&in->closes), 1);
	tm_close(other);
}
END_TEST

START_TEST(a_second_open_calls_the_modules_too_without_stacking)
{
	struct tm_inst *in;
	int a, b;

	tm_register("drv", TM_DRIVER, D_MP, 100, 10);
	tm_register("mod", TM_MODULE, D_MP, 100, 10);
	a = tm_stack("drv/3", "mod", NULL);
	in = tm_newest;
	b = open_driver("drv/3");
	ck_assert_int_ge(b, 0);
	ck_assert_ptr_eq(tm_newest, in);
	ck_assert_int_eq(in->opens, 2);
	ck_assert_int_eq(str_ioctl(b, I_LIST, NULL), 2);
	tm_close(a);
	ck_assert_int_eq(atomic_load(&in->closes), 0);
	tm_close(b);
	ck_assert_int_eq(atomic_load(&in->closes), 1);
}
END_TEST

START_TEST(a_clone_open_lets_the_driver_choose_the_minor)
{
	struct tm_inst *first, *second;
	int a, b, c;

	tm_register("drv", TM_DRIVER, D_MP, 100, 10);
	a = tm_open("clone/drv");
	first = tm_newest;
	b = tm_open("clone/drv");
	second = tm_newest;
	ck_assert_ptr_ne(first, second);
	ck_assert_int_eq(first->sflag, CLONEOPEN);
	ck_assert_uint_ne(getminor(first->dev), getminor(second->dev));
	ck_assert_uint_eq(getmajor(first->dev), getmajor(second->dev));
	/* the minor it chose can be opened by its number */
	char path[32];

	snprintf(path, sizeof(path), "drv/%u", getminor(second->dev));
	c = tm_open(path);
	ck_assert_ptr_eq(tm_newest, second);
	ck_assert_int_eq(second->opens, 2);
	tm_close(a);
	tm_close(b);
	tm_close(c);
	ck_assert_int_eq(atomic_load(&second->closes), 1);
}
END_TEST

START_TEST(a_new_queue_has_a_null_q_ptr)
{
	int fd;

	tm_register("drv", TM_DRIVER, D_MP, 100, 10);
	fd = tm_open("drv"); /* sets q_ptr of both sides */
	tm_close(fd);
	fd = tm_open("drv"); /* open_any saw NULL again */
	ck_assert_int_eq(tm_newest->opens, 1);
	tm_close(fd);
}
END_TEST

START_TEST(makedevice_getmajor_and_getminor_agree)
{
	static const unsigned v[] = {
	    0, 1, 255, 256, 65535, 65536, 0x7fffffff, 0xffffffff};
	size_t i, k;
	dev_t d;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		for (k = 0; k < sizeof(v) / sizeof(v[0]); k++) {
			d = makedevice(v[i], v[k]);
			ck_assert_uint_eq(getmajor(d), v[i]);
			ck_assert_uint_eq(getminor(d), v[k]);
		}
}
END_TEST

START_TEST(kmem_alloc_gives_aligned_memory_of_its_own)
{
	static const size_t sizes[] = {1, 63, 64, 65, 1000, 4096, 100000, 1048576};
	enum { N = sizeof(sizes) / sizeof(sizes[0]) };
	unsigned char *p[N];
	size_t i, k;

	for (i = 0; i < N; i++) {
		p[i] = kmem_alloc(sizes[i], i & 1 ? KM_SLEEP : KM_NOSLEEP);
		ck_assert_ptr_nonnull(p[i]);
		ck_assert_uint_eq((uintptr_t)p[i] % 64, 0);
		memset(p[i], (int)i + 1, sizes[i]);
	}
	for (i = 0; i < N; i++) {
		for (k = 0; k < sizes[i]; k++)
			tm_assert(p[i][k] == i + 1, "size %zu", sizes[i]);
		kmem_free(p[i], sizes[i]);
		p[i] = kmem_zalloc(sizes[i], KM_SLEEP);
		for (k = 0; k < sizes[i]; k++)
			tm_assert(p[i][k] == 0, "size %zu", sizes[i]);
	}
	for (i = 0; i < N; i++)
		kmem_free(p[i], sizes[i]);
	kmem_free(NULL, 0);
	if (!tm_heap_malloc()) {
		ck_assert_ptr_null(kmem_alloc(SIZE_MAX, KM_SLEEP));
		ck_assert_ptr_null(kmem_zalloc(SIZE_MAX - 63, KM_NOSLEEP));
	}
}
END_TEST

START_TEST(opening_pushing_and_closing_for_long_leaks_nothing)
{
	struct ustr_memstat before, after;
	int i, fd, p[2], n = tm_scale(5000);

	ck_assert_int_eq(module("leak", D_MTPERMOD), 0);
	ck_assert_int_eq(driver("leakd", D_MP), 0);
	for (i = 0; i < n; i++) {
		if (i == n / 4)
			ck_assert_int_eq(ustr_memstat(&before), 0);
		fd = str_open(i & 1 ? "/dev/streams/leakd" : "/dev/streams/leakd/7",
		    O_RDWR | O_NONBLOCK);
		tm_assert(fd >= 0, "round %d: %s", i, strerror(errno));
		tm_assert(push(fd, "leak") == 0 && push(fd, "leak") == 0, "round %d", i);
		tm_assert(str_write(fd, "x", 1) == 1, "round %d", i);
		tm_assert(str_close(fd) == 0, "round %d", i);
		tm_assert(str_pipe(p) == 0, "round %d: %s", i, strerror(errno));
		tm_assert(push(p[0], "leak") == 0, "round %d", i);
		tm_assert(str_write(p[0], "x", 1) == 1, "round %d", i);
		tm_assert(str_close(p[i & 1]) == 0, "round %d", i);
		tm_assert(str_close(p[!(i & 1)]) == 0, "round %d", i);
	}
	ck_assert_int_eq(ustr_memstat(&after), 0);
	ck_assert_msg(after.ms_used <= before.ms_used + 256 * 1024,
	    "arena grew from %zu to %zu bytes", before.ms_used, after.ms_used);
	ck_assert_int_eq(forget("leak"), 0);
	ck_assert_int_eq(forget("leakd"), 0);
}
END_TEST

/* ---- over fork -------------------------------------------------------------------- */

/* In the child: status 0, or which check failed. */
static int
child_pushes(int fd)
{
	if (str_ioctl(fd, I_PUSH, "shared") != 0)
		return 1;
	if (str_write(fd, "hello", 5) != 5)
		return 2;
	if (ustr_unregister("shared") == 0 || errno != EBUSY)
		return 3;
	return 0;
}

START_TEST(a_module_registered_before_fork_is_pushed_by_the_child_and_seen_here)
{
	char name[FMNAMESZ + 1] = "", buf[8];
	int fd[2], status;
	pid_t pid;

	ck_assert_int_eq(module("shared", D_MTPERMOD), 0);
	ck_assert_int_eq(str_pipe(fd), 0);
	tm_track(fd[0]);
	tm_track(fd[1]);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(child_pushes(fd[0]));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x",
	    (unsigned)status);
	ck_assert_int_eq(str_ioctl(fd[0], I_LOOK, name), 0);
	ck_assert_str_eq(name, "shared");
	ck_assert_int_eq(forget("shared"), EBUSY);
	ck_assert_int_eq(str_read(fd[1], buf, sizeof(buf)), 5);
	ck_assert_int_eq(str_write(fd[1], "back", 4), 4);
	ck_assert_int_eq(str_read(fd[0], buf, sizeof(buf)), 4);
	ck_assert_int_eq(str_ioctl(fd[0], I_POP, 0), 0);
	ck_assert_int_eq(forget("shared"), 0);
}
END_TEST

/* Deaths are noticed within 200 ms; be patient on a loaded machine. */
START_TEST(a_driver_a_dead_child_held_is_free_soon_after_the_last_close)
{
	int fd, status, ms, error;
	pid_t pid;

	ck_assert_int_eq(driver("mortal", D_MP), 0);
	fd = open_driver("mortal");
	ck_assert_int_ge(fd, 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(0); /* without the exit handlers */
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	tm_close(fd);
	for (ms = 0; (error = forget("mortal")) == EBUSY && ms < 2000; ms += 10)
		tm_msleep(10);
	ck_assert_msg(error == 0, "%s", strerror(error));
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
name_tests(Suite *s)
{
	TCase *tc = group(s, "names and flags");

	tcase_add_test(tc, names_have_one_to_eight_characters);
	tcase_add_test(tc, a_name_is_not_a_prefix_of_another);
	tcase_add_test(tc, a_name_can_be_registered_only_once);
	tcase_add_test(tc, the_built_in_names_are_taken);
	tcase_add_test(tc, the_built_in_modules_and_drivers_work_at_once);
	tcase_add_test(tc, bad_tables_are_einval);
	tcase_add_test(tc, every_inner_perimeter_may_be_asked_for);
	tcase_add_test(tc, bad_combinations_of_flags_are_einval);
	tcase_add_test(tc, a_module_cannot_be_opened);
	tcase_add_test(tc, a_driver_cannot_be_pushed);
	tcase_add_test(tc, unknown_names_are_refused);
	tcase_add_test(tc, i_find_and_i_look_name_what_was_registered);
}

static void
forget_tests(Suite *s)
{
	TCase *tc = group(s, "forgetting");

	tcase_add_test(tc, an_unknown_name_cannot_be_forgotten);
	tcase_add_test(tc, a_pushed_module_is_busy);
	tcase_add_test(tc, an_open_driver_is_busy);
	tcase_add_test(tc, a_failed_open_leaves_nothing_busy);
	tcase_add_test(tc, a_name_may_be_used_again_with_another_table);
	tcase_add_test(tc, a_name_used_again_has_its_new_flags_and_procedures);
	tcase_add_test(tc, registering_and_forgetting_for_long_leaks_nothing);
	tcase_add_test(tc, a_full_registry_says_so_and_recovers);
	tcase_add_test(tc, the_tables_are_copied);
	tcase_add_test(tc, of_threads_registering_one_name_exactly_one_wins);
}

static void
open_tests(Suite *s)
{
	TCase *tc = group(s, "open and close");

	tcase_add_test(tc, a_module_is_opened_with_modopen);
	tcase_add_test(tc, a_driver_is_opened_with_its_minor_and_the_open_flags);
	tcase_add_test(tc, modules_and_driver_of_a_stream_see_the_same_device);
	tcase_add_test(tc, a_second_open_of_a_minor_is_the_same_stream);
	tcase_add_test(tc, a_second_open_calls_the_modules_too_without_stacking);
	tcase_add_test(tc, a_clone_open_lets_the_driver_choose_the_minor);
	tcase_add_test(tc, a_new_queue_has_a_null_q_ptr);
	tcase_add_test(tc, makedevice_getmajor_and_getminor_agree);
	tcase_add_test(tc, kmem_alloc_gives_aligned_memory_of_its_own);
	tcase_add_test(tc, opening_pushing_and_closing_for_long_leaks_nothing);
	if (tm_may_fork()) {
		tcase_add_test(tc,
		    a_module_registered_before_fork_is_pushed_by_the_child_and_seen_here);
		tcase_add_test(
		    tc, a_driver_a_dead_child_held_is_free_soon_after_the_last_close);
	}
}

int
main(void)
{
	Suite *s = suite_create("registry");

	name_tests(s);
	forget_tests(s);
	open_tests(s);
	return tm_run(s);
}
