/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * testlib.c: the modules, drivers and tools of testmod.h.
 *
 * All state is private memory of the process: a test that forks keeps what it
 * shares elsewhere.
 */
#include "testmod.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <sys/ddi.h>
#include <time.h>
#include <ustreams.h>

#define MAXREG 64
#define MAXFD 256
#define MAXSTACK 128

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

int (*tm_open_hook)(queue_t *, dev_t *, int, int, cred_t *);
void (*tm_close_hook)(queue_t *);
void (*tm_closed_hook)(queue_t *);
struct tm_inst *tm_newest;
int tm_patience;

struct table {
	struct streamtab st;
	struct qinit r;
	struct qinit w;
	struct module_info mi;
	char name[16];
};

static struct table *registered[MAXREG];
static int nregistered;
static int tracked[MAXFD];
static int ntracked;
static queue_t *stack[MAXSTACK];
static int nstack;
static unsigned next_minor;

static void (*hook)(queue_t *, void *);
static void *hook_arg;

/* ---- the procedures --------------------------------------------------------------- */

struct tm_side *
tm_side(queue_t *q)
{
	return q->q_ptr;
}

int
tm_puts(queue_t *q)
{
	return atomic_load(&tm_side(q)->puts);
}

int
tm_srvs(queue_t *q)
{
	return atomic_load(&tm_side(q)->srvs);
}

static void
kicked(queue_t *q, mblk_t *mp)
{
	void (*fn)(queue_t *, void *) = hook;

	if (q->q_next) {
		putnext(q, mp);
		return;
	}
	freemsg(mp);
	hook = NULL;
	if (fn)
		fn(q, hook_arg);
}

static void
pass(queue_t *q, mblk_t *mp)
{
	if (q->q_next)
		putnext(q, mp);
	else if (mp->b_datap->db_type == M_IOCTL) {
		mp->b_datap->db_type = M_IOCNAK;
		qreply(q, mp);
	} else
		freemsg(mp);
}

static int
put_any(queue_t *q, mblk_t *mp)
{
	struct tm_side *s = tm_side(q);

	if (mp->b_datap->db_type == TM_KICK) {
		kicked(q, mp);
		return 0;
	}
	atomic_fetch_add(&s->puts, 1);
	if (s->put)
		return s->put(q, mp);
	pass(q, mp);
	return 0;
}

static int
srv_any(queue_t *q)
{
	struct tm_side *s = tm_side(q);

	atomic_fetch_add(&s->srvs, 1);
	return s->srv ? s->srv(q) : 0;
}

static int
open_any(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	struct tm_inst *in = q->q_ptr ? (struct tm_inst *)q->q_ptr : NULL;
	int error;

	if (in) {
		in->opens++;
		return 0;
	}
	if (tm_open_hook && (error = tm_open_hook(q, dev, oflag, sflag, cr)))
		return error;
	in = calloc(1, sizeof(*in));
	if (!in)
		return ENOMEM;
	if (sflag == CLONEOPEN)
		*dev = makedevice(getmajor(*dev), ++next_minor);
	in->rd.q = q;
	in->wr.q = WR(q);
	in->opens = 1;
	in->dev = *dev;
	in->oflag = oflag;
	in->sflag = sflag;
	in->uid = cr ? cr->cr_uid : (uid_t)-1;
	snprintf(in->name, sizeof(in->name), "%s", q->q_qinfo->qi_minfo->mi_idname);
	in->next = tm_newest;
	tm_newest = in;
	q->q_ptr = &in->rd;
	WR(q)->q_ptr = &in->wr;
	qprocson(q);
	return 0;
}

static int
close_any(queue_t *q, int flag, cred_t *cr)
{
	struct tm_inst *in = q->q_ptr;

	(void)flag;
	(void)cr;
	atomic_fetch_add(&in->closes, 1);
	if (tm_close_hook)
		tm_close_hook(q);
	qprocsoff(q);
	if (tm_closed_hook)
		tm_closed_hook(q);
	return 0;
}

int
tm_putq(queue_t *q, mblk_t *mp)
{
	if (!putq(q, mp))
		freemsg(mp);
	return 0;
}

int
tm_free(queue_t *q, mblk_t *mp)
{
	(void)q;
	freemsg(mp);
	return 0;
}

int
tm_reply(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type == M_FLUSH || mp->b_datap->db_type == M_IOCTL)
		pass(q, mp);
	else
		qreply(q, mp);
	return 0;
}

int
tm_forward(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q))) {
		if (mp->b_datap->db_type < QPCTL && !bcanputnext(q, mp->b_band)) {
			putbq(q, mp);
			break;
		}
		putnext(q, mp);
	}
	return 0;
}

int
tm_drain(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)))
		freemsg(mp);
	return 0;
}

/* ---- registration and streams ----------------------------------------------------- */

void
tm_register(const char *name, int what, int flags, size_t hiwat, size_t lowat)
{
	struct table *t = calloc(1, sizeof(*t));
	int error;

	ck_assert_ptr_nonnull(t);
	ck_assert_int_lt(nregistered, MAXREG);
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->mi = (struct module_info){
	    .mi_idnum = 77,
	    .mi_idname = t->name,
	    .mi_minpsz = 0,
	    .mi_maxpsz = INFPSZ,
	    .mi_hiwat = hiwat,
	    .mi_lowat = lowat,
	};
	t->r = (struct qinit){
	    .qi_putp = put_any,
	    .qi_srvp = what & TM_RSRV ? srv_any : NULL,
	    .qi_qopen = open_any,
	    .qi_qclose = close_any,
	    .qi_minfo = &t->mi,
	};
	t->w = t->r;
	t->w.qi_srvp = what & TM_WSRV ? srv_any : NULL;
	t->st.st_rdinit = &t->r;
	t->st.st_wrinit = &t->w;
	if (what & TM_DRIVER)
		error = ustr_register_driver(name, &t->st, flags);
	else
		error = ustr_register_module(name, &t->st, flags);
	ck_assert_msg(error == 0, "register %s: %s", name, strerror(errno));
	registered[nregistered++] = t;
}

int
tm_track(int fd)
{
	ck_assert_int_lt(ntracked, MAXFD);
	tracked[ntracked++] = fd;
	return fd;
}

int
tm_open(const char *path)
{
	char full[64];
	int fd;

	snprintf(full, sizeof(full), "/dev/streams/%s", path);
	fd = str_open(full, O_RDWR | O_NONBLOCK);
	ck_assert_msg(fd >= 0, "open %s: %s", full, strerror(errno));
	nstack = 0;
	if (tm_newest)
		stack[nstack++] = tm_newest->rd.q;
	return tm_track(fd);
}

void
tm_push(int fd, const char *module)
{
	struct tm_inst *was = tm_newest;

	ck_assert_msg(
	    str_ioctl(fd, I_PUSH, module) == 0, "push %s: %s", module, strerror(errno));
	ck_assert_int_lt(nstack, MAXSTACK);
	stack[nstack++] = tm_newest != was ? tm_newest->rd.q : NULL;
}

int
tm_stack(const char *driver, ...)
{
	const char *name;
	va_list ap;
	int fd = tm_open(driver);

	va_start(ap, driver);
	while ((name = va_arg(ap, const char *)))
		tm_push(fd, name);
	va_end(ap);
	return fd;
}

void
tm_pop(int fd)
{
	ck_assert_msg(str_ioctl(fd, I_POP, 0) == 0, "pop: %s", strerror(errno));
	if (nstack > 1)
		nstack--;
}

void
tm_close(int fd)
{
	int i;

	for (i = 0; i < ntracked; i++)
		if (tracked[i] == fd)
			tracked[i--] = tracked[--ntracked];
	ck_assert_msg(str_close(fd) == 0, "close: %s", strerror(errno));
}

queue_t *
tm_rq(int n)
{
	ck_assert_int_lt(n, nstack);
	ck_assert_ptr_nonnull(stack[n]);
	return stack[n];
}

queue_t *
tm_wq(int n)
{
	return WR(tm_rq(n));
}

void
tm_kick(int fd)
{
	mblk_t *mp = tm_msg(TM_KICK, 0, 1, 'k');

	tm_assert(str_putmblk(fd, mp) == 0, "kick: %s", strerror(errno));
}

void
tm_inside(int fd, void (*fn)(queue_t *, void *), void *arg)
{
	hook = fn;
	hook_arg = arg;
	tm_kick(fd);
	tm_assert(!hook, "the kick did not reach the driver");
}

void
tm_setup(void)
{
	tm_open_hook = NULL;
	tm_close_hook = NULL;
	tm_closed_hook = NULL;
	hook = NULL;
	tm_patience = 0;
}

/* 0 or an errno; see tm_patience. */
static int
forget(const char *name)
{
	int ms;

	for (ms = 0; ustr_unregister(name) != 0; ms += 10) {
		if (errno != EBUSY || ms >= tm_patience)
			return errno;
		ustr_service(0);
		tm_msleep(10);
	}
	return 0;
}

void
tm_teardown(void)
{
	struct tm_inst *in;
	int i, error;

	tm_relent(-1);
	tm_open_hook = NULL;
	tm_close_hook = NULL;
	tm_closed_hook = NULL;
	while (ntracked > 0)
		str_close(tracked[--ntracked]);
	for (i = 0; i < nregistered; i++) {
		error = forget(registered[i]->name);
		ck_assert_msg(error == 0, "unregister %s: %s", registered[i]->name,
		    strerror(error));
		free(registered[i]);
	}
	nregistered = 0;
	while ((in = tm_newest)) {
		tm_newest = in->next;
		free(in);
	}
	nstack = 0;
}

/* ---- messages --------------------------------------------------------------------- */

mblk_t *
tm_msg(int type, int band, size_t len, int fill)
{
	mblk_t *mp = allocb(len, BPRI_MED);

	tm_assert(mp, "allocb(%zu)", len);
	mp->b_datap->db_type = (unsigned char)type;
	mp->b_band = (unsigned char)band;
	memset(mp->b_wptr, fill, len);
	mp->b_wptr += len;
	return mp;
}

mblk_t *
tm_norm(size_t len)
{
	return tm_msg(M_DATA, 0, len, 'n');
}

mblk_t *
tm_banded(int b, size_t len)
{
	return tm_msg(M_DATA, b, len, b);
}

mblk_t *
tm_hipri(size_t len)
{
	return tm_msg(M_PCPROTO, 0, len, 'h');
}

mblk_t *
tm_chain(int type, int band, int n, size_t len, int fill)
{
	mblk_t *mp = tm_msg(type, band, len, fill);

	while (--n > 0)
		linkb(mp, tm_msg(type, band, len, fill));
	return mp;
}

mblk_t *
tm_queue(queue_t *q, mblk_t *mp)
{
	tm_assert(putq(q, mp) == 1, "refused");
	return mp;
}

void
tm_expect(queue_t *q, mblk_t *mp)
{
	mblk_t *got = getq(q);

	tm_assert(got == mp, "got %p, not %p", (void *)got, (void *)mp);
	if (!got)
		return;
	tm_assert(!got->b_next && !got->b_prev, "still linked");
	freemsg(got);
}

/* ---- running out ------------------------------------------------------------------ */

static mblk_t *hoard;	/* big blocks, by b_next */
static mblk_t *small;	/* small blocks */
static mblk_t *headers; /* dups */
static void **kmem;	/* kmem_alloc(64) areas, linked by first word */
static void **kmem_big; /* larger ones; second word is the size */

static int
take_one(mblk_t **list, mblk_t *mp)
{
	if (!mp)
		return 0;
	mp->b_next = *list;
	*list = mp;
	return 1;
}

void
tm_exhaust(void)
{
	mblk_t *first = allocb(10, BPRI_LO);
	size_t size;
	void **p;
	int more;

	ck_assert_ptr_nonnull(first);
	for (size = 262144; size > 64; size /= 2) {
		while (take_one(&hoard, allocb(size, BPRI_LO)))
			;
		while ((p = kmem_alloc(size, KM_NOSLEEP))) {
			p[0] = kmem_big;
			p[1] = (void *)size;
			kmem_big = p;
		}
	}
	do {
		more = 0;
		while (take_one(&small, allocb(16, BPRI_LO)))
			more = 1;
		while (take_one(&headers, dupb(first)))
			more = 1;
		while ((p = kmem_alloc(64, KM_NOSLEEP))) {
			*p = kmem;
			kmem = p;
			more = 1;
		}
	} while (more);
	take_one(&small, first);
}

static void
give_back(mblk_t **list, int n)
{
	mblk_t *mp;

	while (n-- != 0 && (mp = *list)) {
		*list = mp->b_next;
		mp->b_next = NULL;
		freemsg(mp);
	}
}

void
tm_relent(int n)
{
	void **p;

	give_back(&headers, n);
	give_back(&small, n);
	if (n >= 0)
		return;
	give_back(&hoard, -1);
	while ((p = kmem)) {
		kmem = *p;
		kmem_free(p, 64);
	}
	while ((p = kmem_big)) {
		kmem_big = p[0];
		kmem_free(p, (size_t)p[1]);
	}
}

/* ---- the surroundings ------------------------------------------------------------- */

int
tm_heap_malloc(void)
{
	return strstr(ustr_version(), "heap=malloc") != NULL;
}

int
tm_threads_only(void)
{
	const char *s = getenv("USTR_TEST_THREADS_ONLY");

	return s && strcmp(s, "1") == 0;
}

int
tm_may_fork(void)
{
	return !tm_threads_only() && !tm_heap_malloc();
}

int
tm_forked(void)
{
	const char *s = getenv("CK_FORK");

	return !(s && strcmp(s, "no") == 0);
}

int
tm_scale(int n)
{
	return SANITIZED ? n / 10 : n;
}

void
tm_msleep(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
}

int
tm_wait(atomic_int *p, int n)
{
	int ms;

	for (ms = 0; ms < 30000; ms++) {
		if (atomic_load(p) >= n)
			return 1;
		tm_msleep(1);
	}
	return 0;
}

int
tm_run(Suite *s)
{
	SRunner *sr = srunner_create(s);
	int failed;

	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
