/* SPDX-License-Identifier: BSD-2-Clause */
/* headlib.c: what the tests of the stream head share. */
#include "headlib.h"

#include <sched.h>
#include <stdio.h>
#include <sys/ddi.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

atomic_int caught;

/* ---- assertions --------------------------------------------------------- */

const char *
ename(int err)
{
	const char *name = strerrorname_np(err);

	return name != NULL ? name : "unknown errno";
}

_Noreturn void
child_fails(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: child %d: not true: %s (%s)\n", file, line, (int)getpid(),
	    what, ename(errno));
	fflush(stderr);
	_exit(1);
}

/* ---- running ------------------------------------------------------------ */

static bool forking; /* does Check fork each test? */

bool
can_fork(void)
{
	const char *only = getenv("USTR_TEST_THREADS_ONLY");

	if (only != NULL && strcmp(only, "1") == 0)
		return false;
	return strstr(ustr_version(), "heap=malloc") == NULL;
}

#if !defined(__SANITIZE_THREAD__) && defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

bool
under_tsan(void)
{
#ifdef __SANITIZE_THREAD__
	return true;
#else
	return false;
#endif
}

bool
under_asan(void)
{
#if defined(__SANITIZE_ADDRESS__)
	return true;
#elif defined(__has_feature)
	return __has_feature(address_sanitizer);
#else
	return false;
#endif
}

bool
checked_mode(void)
{
	const char *v = getenv("USTREAMS_CHECK");

	return v != NULL && strcmp(v, "1") == 0;
}

void
bad_pages(char **unmapped, char **readonly)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *m;

	/* First use of the library comes before, or its mappings fill the hole. */
	ck_assert_int_ne(isastream(0), 1);
	m = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(m, MAP_FAILED);
	munmap(m, page);
	*unmapped = m;
	*readonly = m + page;
}

/* Check's time limits need its fork; without it a hang must still end. */
static void
setup(void)
{
	caught = 0;
	signal(SIGPIPE, SIG_IGN);
	if (!forking)
		alarm(10 * SOON / 1000);
}

static void
teardown(void)
{
	alarm(0);
	signal(SIGUSR1, SIG_DFL);
}

TCase *
group(Suite *s, const char *name, int seconds)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, seconds);
	tcase_add_checked_fixture(tc, setup, teardown);
	suite_add_tcase(s, tc);
	return tc;
}

int
run_suite(Suite *s)
{
	SRunner *sr = srunner_create(s);
	int bad;

	forking = srunner_fork_status(sr) == CK_FORK;
	srunner_run_all(sr, CK_ENV);
	bad = srunner_ntests_failed(sr);
	srunner_free(sr);
	return bad == 0 ? 0 : 1;
}

/* ---- time, threads, signals, children ----------------------------------- */

long
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

void
msleep(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&ts, &ts) == -1 && errno == EINTR)
		;
}

static void *
fair_main(void *arg)
{
	enum { TICK = 5 };
	struct fair *f = arg;
	struct timespec was, now;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	clock_gettime(CLOCK_MONOTONIC, &was);
	while (!atomic_load(&f->f_stop)) {
		long us;

		msleep(TICK);
		clock_gettime(CLOCK_MONOTONIC, &now);
		us = (now.tv_sec - was.tv_sec) * 1000000 + (now.tv_nsec - was.tv_nsec) / 1000;
		f->f_us += us < 2000 * TICK ? us : 2000 * TICK;
		was = now;
	}
	return NULL;
}

void
fair_start(struct fair *f)
{
	atomic_store(&f->f_stop, false);
	f->f_us = 0;
	ck_assert_int_eq(pthread_create(&f->f_thread, NULL, fair_main, f), 0);
}

long
fair_ms(struct fair *f)
{
	atomic_store(&f->f_stop, true);
	pthread_join(f->f_thread, NULL);
	return f->f_us / 1000;
}

/* Seen five times, for the sleep of a lock is short. */
void
until_asleep(pid_t tid)
{
	int seen = 0;

	for (int i = 0; i < SOON / 2 && seen < 5; i++) {
		char path[64], buf[256], *s;
		FILE *f;
		size_t n;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
		if ((f = fopen(path, "re")) == NULL)
			return;
		n = fread(buf, 1, sizeof(buf) - 1, f);
		fclose(f);
		buf[n] = '\0';
		s = strrchr(buf, ')');
		seen = s != NULL && s[2] == 'S' ? seen + 1 : 0;
		msleep(2);
	}
}

static atomic_bool nagging;

static void *
later_main(void *arg)
{
	/* There the handler runs when the sleep is over only. */
	int left = under_tsan() ? 100 : SOON;
	struct later *l = arg;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	msleep(l->l_ms);
	/* After a standstill of the machine we may come before the nag. */
	for (; atomic_load(&nagging) && caught == 0 && left > 0; left--)
		msleep(1);
	l->l_fn(l->l_arg);
	return NULL;
}

void
later(struct later *l, int ms, void (*fn)(void *), void *arg)
{
	l->l_ms = ms;
	l->l_fn = fn;
	l->l_arg = arg;
	ck_assert_int_eq(pthread_create(&l->l_thread, NULL, later_main, l), 0);
}

void
later_join(struct later *l)
{
	pthread_join(l->l_thread, NULL);
}

void
act(void *arg)
{
	struct act *a = arg;

	if (a->a_text != NULL)
		a->a_result = str_write(a->a_fd, a->a_text, strlen(a->a_text));
	else
		a->a_result = str_close(a->a_fd);
}

static void
count_signal(int sig)
{
	(void)sig;
	caught++;
}

void
catch_signal(int sig, int flags)
{
	struct sigaction sa = {.sa_handler = count_signal, .sa_flags = flags};

	caught = 0;
	sigemptyset(&sa.sa_mask);
	sigaction(sig, &sa, NULL);
}

static void *
nag_main(void *arg)
{
	struct nag *n = arg;

	while (!atomic_load(&n->n_stop)) {
		msleep(10);
		pthread_kill(n->n_target, SIGUSR1);
	}
	return NULL;
}

void
nag_start(struct nag *n)
{
	n->n_target = pthread_self();
	atomic_store(&n->n_stop, false);
	atomic_store(&nagging, true);
	ck_assert_int_eq(pthread_create(&n->n_thread, NULL, nag_main, n), 0);
}

void
nag_stop(struct nag *n)
{
	atomic_store(&n->n_stop, true);
	pthread_join(n->n_thread, NULL);
	atomic_store(&nagging, false);
}

pid_t
child(int (*fn)(void *), void *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that is ended leaves nobody */
		_exit(fn(arg));
	}
	ck_assert_msg(pid > 0, "fork: %s", ename(errno));
	return pid;
}

int
reap(pid_t pid, int ms)
{
	int status, spins = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (spins > 200 + ms) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		if (spins++ < 200)
			sched_yield();
		else
			msleep(1);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void
lives(int ms)
{
	signal(SIGALRM, SIG_DFL);
	alarm((unsigned)(ms + 999) / 1000);
}

void
gate_make(struct gate *g)
{
	ck_assert_int_eq(pipe(g->g_fd), 0);
}

void
gate_open(struct gate *g)
{
	ssize_t n = write(g->g_fd[1], "g", 1);

	(void)n;
}

bool
gate_wait(struct gate *g, int ms)
{
	struct pollfd p = {.fd = g->g_fd[0], .events = POLLIN};
	int n;
	char c;

	for (n = 0; n == 0 && ms >= 0; ms -= 10)
		n = poll(&p, 1, 10);
	return n == 1 && read(g->g_fd[0], &c, 1) == 1;
}

void
gate_drop(struct gate *g)
{
	close(g->g_fd[0]);
	close(g->g_fd[1]);
}

/* ---- streams ------------------------------------------------------------ */

void
make_blocking_pipe(int fd[2])
{
	GIVES(str_pipe(fd), 0);
	ck_assert_int_ge(fd[0], 0);
	ck_assert_int_ge(fd[1], 0);
	ck_assert_int_ne(fd[0], fd[1]);
}

void
make_pipe(int fd[2])
{
	make_blocking_pipe(fd);
	nonblock(fd[0], true);
	nonblock(fd[1], true);
}

void
close_pipe(int fd[2])
{
	GIVES(str_close(fd[0]), 0);
	GIVES(str_close(fd[1]), 0);
}

int
open_dev(const char *driver)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/streams/clone/%s", driver);
	fd = str_open(path, O_RDWR | O_NONBLOCK);
	ck_assert_msg(fd >= 0, "str_open %s: %s", path, ename(errno));
	return fd;
}

void
nonblock(int fd, bool on)
{
	int fl = str_fcntl(fd, F_GETFL);

	ck_assert_msg(fl != -1, "F_GETFL: %s", ename(errno));
	GIVES(str_fcntl(fd, F_SETFL, on ? fl | O_NONBLOCK : fl & ~O_NONBLOCK), 0);
}

int
waiting(int fd)
{
	int bytes, n = str_ioctl(fd, I_NREAD, &bytes);

	ck_assert_msg(n >= 0, "I_NREAD: %s", ename(errno));
	return n;
}

int
first_bytes(int fd)
{
	int bytes = -1, n = str_ioctl(fd, I_NREAD, &bytes);

	ck_assert_msg(n >= 0, "I_NREAD: %s", ename(errno));
	return bytes;
}

void
set_marks(int fd, int hiwat, int lowat)
{
	if (lowat <= str_ioctl(fd, I_GET_HIWAT)) {
		GIVES(str_ioctl(fd, I_SET_LOWAT, lowat), 0);
		GIVES(str_ioctl(fd, I_SET_HIWAT, hiwat), 0);
	} else {
		GIVES(str_ioctl(fd, I_SET_HIWAT, hiwat), 0);
		GIVES(str_ioctl(fd, I_SET_LOWAT, lowat), 0);
	}
}

int
fill(int fd)
{
	int n = 0;

	while (n < 10000000 && str_write(fd, "f", 1) == 1)
		n++;
	ck_assert_int_lt(n, 10000000);
	ck_assert_msg(errno == EAGAIN, "write: %s", ename(errno));
	return n;
}

long
drain(int fd)
{
	static char buf[65536];
	long total = 0;
	ssize_t n;

	while ((n = str_read(fd, buf, sizeof(buf))) > 0)
		total += n;
	return total;
}

int
polled(int fd, int events)
{
	struct pollfd p = {.fd = fd, .events = (short)events};
	int n = str_poll(&p, 1, 0);

	ck_assert_msg(n == (p.revents != 0), "str_poll gives %d (%s) with %#x", n,
	    n == -1 ? ename(errno) : "no error", (unsigned)p.revents);
	return p.revents;
}

void
read_mode(int fd, int mode)
{
	GIVES(str_ioctl(fd, I_SRDOPT, mode), 0);
}

int
put_msg(int fd, const char *ctl, const char *data, int pri)
{
	struct strbuf c = {
	    .len = ctl != NULL ? (int)strlen(ctl) : -1, .buf = (char *)(uintptr_t)ctl};
	struct strbuf d = {
	    .len = data != NULL ? (int)strlen(data) : -1, .buf = (char *)(uintptr_t)data};

	return putpmsg(fd, ctl != NULL ? &c : NULL, data != NULL ? &d : NULL,
	    pri == HIPRI ? 0 : pri, pri == HIPRI ? MSG_HIPRI : MSG_BAND);
}

/* One part of a message that was taken: absent (-1) or this text. */
static void
part_is(const char *which, const struct strbuf *b, const char *want, const char *file,
    int line)
{
	int len = want != NULL ? (int)strlen(want) : -1;

	ck_assert_msg(b->len == len, "%s:%d: %s part has length %d, not %d", file, line,
	    which, b->len, len);
	if (len > 0)
		ck_assert_msg(memcmp(b->buf, want, (size_t)len) == 0,
		    "%s:%d: %s part is \"%.*s\", not \"%s\"", file, line, which, b->len,
		    b->buf, want);
}

void
takes(int fd, const char *ctl, const char *data, int pri, const char *file, int line)
{
	char cbuf[8192], dbuf[8192];
	struct strbuf c = {sizeof(cbuf), -2, cbuf};
	struct strbuf d = {sizeof(dbuf), -2, dbuf};
	int band = 0, flags = MSG_ANY;
	int r = getpmsg(fd, &c, &d, &band, &flags);

	ck_assert_msg(r == 0, "%s:%d: getpmsg gives %d (%s)", file, line, r,
	    r == -1 ? ename(errno) : "no error");
	part_is("control", &c, ctl, file, line);
	part_is("data", &d, data, file, line);
	ck_assert_msg(
	    band == (pri == HIPRI ? 0 : pri), "%s:%d: band %d", file, line, band);
	ck_assert_msg(flags == (pri == HIPRI ? MSG_HIPRI : MSG_BAND), "%s:%d: flags %#x",
	    file, line, (unsigned)flags);
}

void
reads(int fd, size_t n, const char *text, const char *file, int line)
{
	char buf[8192];
	ssize_t r;

	ck_assert_uint_le(n, sizeof(buf));
	r = str_read(fd, buf, n);
	ck_assert_msg(r == (ssize_t)strlen(text), "%s:%d: read gives %zd (%s), not %zu",
	    file, line, r, r == -1 ? ename(errno) : "no error", strlen(text));
	ck_assert_msg(memcmp(buf, text, strlen(text)) == 0,
	    "%s:%d: read gives \"%.*s\", not \"%s\"", file, line, (int)r, buf, text);
}

/* ---- modules ------------------------------------------------------------ */

struct counts tcount_counts, tdrv_counts;

static int
pass(queue_t *q, mblk_t *mp)
{
	putnext(q, mp);
	return 0;
}

static int
plain_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *cr)
{
	(void)devp, (void)oflag, (void)sflag, (void)cr;
	if (q->q_ptr != NULL)
		return 0;
	q->q_ptr = WR(q)->q_ptr = q;
	qprocson(q);
	return 0;
}

static int
plain_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	q->q_ptr = WR(q)->q_ptr = NULL;
	return 0;
}

/* tctl: the message an order describes, or NULL if mp is none. */
static mblk_t *
carry_out(mblk_t *mp)
{
	ssize_t n = mp->b_wptr - mp->b_rptr;
	mblk_t *out;

	if (mp->b_datap->db_type != M_PROTO || n < 2 || mp->b_rptr[0] != '!')
		return NULL;
	out = allocb((size_t)n - 2 > 0 ? (size_t)n - 2 : 1, BPRI_HI);
	if (out == NULL)
		return NULL;
	out->b_datap->db_type = mp->b_rptr[1];
	memcpy(out->b_wptr, mp->b_rptr + 2, (size_t)n - 2);
	out->b_wptr += n - 2;
	freemsg(mp);
	return out;
}

static int
tctl_rput(queue_t *q, mblk_t *mp)
{
	mblk_t *out = carry_out(mp);

	putnext(q, out != NULL ? out : mp);
	return 0;
}

static int
tctl_wput(queue_t *q, mblk_t *mp)
{
	mblk_t *out = carry_out(mp);

	if (out != NULL)
		qreply(q, out);
	else
		putnext(q, mp);
	return 0;
}

/* thold: what is written stays. */
static int
thold_wput(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type == M_FLUSH && (*mp->b_rptr & FLUSHW))
		flushq(q, FLUSHDATA);
	if (!datamsg(mp->b_datap->db_type))
		putnext(q, mp);
	else if (!putq(q, mp))
		freemsg(mp);
	return 0;
}

static int
thold_wsrv(queue_t *q)
{
	(void)q;
	return 0;
}

static int
tfail_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *cr)
{
	(void)q, (void)devp, (void)oflag, (void)sflag, (void)cr;
	return EACCES;
}

static int
tcount_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *cr)
{
	tcount_counts.c_open++;
	tcount_counts.c_sflag = sflag;
	return plain_open(q, devp, oflag, sflag, cr);
}

static int
tcount_close(queue_t *q, int flag, cred_t *cr)
{
	tcount_counts.c_close++;
	return plain_close(q, flag, cr);
}

static int
tdrv_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *cr)
{
	static unsigned int next = 1000;

	if (getminor(*devp) == 77 && sflag != CLONEOPEN)
		return EBUSY;
	tdrv_counts.c_open++;
	tdrv_counts.c_sflag = sflag;
	if (sflag == CLONEOPEN)
		*devp = makedevice(getmajor(*devp), next++);
	return plain_open(q, devp, oflag, sflag, cr);
}

static int
tdrv_close(queue_t *q, int flag, cred_t *cr)
{
	tdrv_counts.c_close++;
	return plain_close(q, flag, cr);
}

static int
tdrv_wput(queue_t *q, mblk_t *mp)
{
	switch (mp->b_datap->db_type) {
	case M_FLUSH:
		*mp->b_rptr &= (unsigned char)~FLUSHW;
		if (*mp->b_rptr & FLUSHR) {
			qreply(q, mp);
			return 0;
		}
		break;
	case M_IOCTL:
		((struct iocblk *)(void *)mp->b_rptr)->ioc_error = EINVAL;
		mp->b_datap->db_type = M_IOCNAK;
		qreply(q, mp);
		return 0;
	}
	freemsg(mp);
	return 0;
}

#define INFO(var, id, name, min, max) \
	static struct module_info var = {id, name, min, max, 5120, 1024}
#define MODULE(name, info, open, close, rput, wput, wsrv)                                \
	static struct qinit name##_rinit = {rput, NULL, open, close, NULL, &info, NULL}; \
	static struct qinit name##_winit = {wput, wsrv, NULL, NULL, NULL, &info, NULL};  \
	static struct streamtab name##_tab = {&name##_rinit, &name##_winit, NULL, NULL}

INFO(tctl_info, 9001, "tctl", 0, INFPSZ);
INFO(tlim_info, 9002, "tlim", 10, 100);
INFO(tcut_info, 9003, "tcut", 0, 100);
INFO(thold_info, 9004, "thold", 0, INFPSZ);
INFO(tfail_info, 9005, "tfail", 0, INFPSZ);
INFO(tcount_info, 9006, "tcount", 0, INFPSZ);
INFO(tname8ch_info, 9007, "tname8ch", 0, INFPSZ);
INFO(tdrv_info, 9008, "tdrv", 0, INFPSZ);

MODULE(tctl, tctl_info, plain_open, plain_close, tctl_rput, tctl_wput, NULL);
MODULE(tlim, tlim_info, plain_open, plain_close, pass, pass, NULL);
MODULE(tcut, tcut_info, plain_open, plain_close, pass, pass, NULL);
MODULE(thold, thold_info, plain_open, plain_close, pass, thold_wput, thold_wsrv);
MODULE(tfail, tfail_info, tfail_open, plain_close, pass, pass, NULL);
MODULE(tcount, tcount_info, tcount_open, tcount_close, pass, pass, NULL);
MODULE(tname8ch, tname8ch_info, plain_open, plain_close, pass, pass, NULL);
MODULE(tdrv, tdrv_info, tdrv_open, tdrv_close, pass, tdrv_wput, NULL);

void
test_modules(void)
{
	static const struct {
		const char *name;
		struct streamtab *tab;
	} mods[] = {
	    {"tctl", &tctl_tab},
	    {"tlim", &tlim_tab},
	    {"tcut", &tcut_tab},
	    {"thold", &thold_tab},
	    {"tfail", &tfail_tab},
	    {"tcount", &tcount_tab},
	    {"tname8ch", &tname8ch_tab},
	};

	/* Without Check's fork an earlier test has registered them. */
	for (size_t i = 0; i < sizeof(mods) / sizeof(mods[0]); i++)
		if (ustr_register_module(mods[i].name, mods[i].tab, D_MP) == -1)
			ck_assert_msg(errno == EEXIST, "register %s: %s", mods[i].name,
			    ename(errno));
	if (ustr_register_driver("tdrv", &tdrv_tab, D_MP) == -1)
		ck_assert_msg(errno == EEXIST, "register tdrv: %s", ename(errno));
	memset(&tcount_counts, 0, sizeof(tcount_counts));
	memset(&tdrv_counts, 0, sizeof(tdrv_counts));
}

void
order(int fd, int type, const void *payload, size_t n)
{
	char buf[256];
	struct strbuf c = {.len = (int)n + 2, .buf = buf};

	ck_assert_uint_le(n + 2, sizeof(buf));
	buf[0] = '!';
	buf[1] = (char)type;
	if (n > 0)
		memcpy(buf + 2, payload, n);
	GIVES(putmsg(fd, &c, NULL, 0), 0);
}

void
order_error(int fd, int rerr, int werr)
{
	unsigned char both[2] = {(unsigned char)rerr, (unsigned char)werr};

	order(fd, M_ERROR, both, 2);
}
