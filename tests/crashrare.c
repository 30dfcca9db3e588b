/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crashrare.c: what victims do that programs do seldom: record, bring modules and
 * drivers of their own, use a stream from several threads, leave others with what
 * cannot be closed yet, and die so that the next victim has somebody to bury.
 */
#include "crashlib.h"

#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/ddi.h>
#include <sys/stream.h>
#include <sys/time.h>
#include <sys/wait.h>

/* The call may fail in a victim; of a survivor it must not. */
#define T(call) tried((long)(call), #call, __LINE__)
static long
tried(long r, const char *call, int line)
{
	if (crash_strict && r == -1)
		stress_die(__FILE__, line, "%s: %s", call, strerrorname_np(errno));
	return r;
}

/* ---- families ------------------------------------------------------------------- */

/* It may be killed, by itself or us; another end is a fault, also of who waits. */
static void
end_of(pid_t pid)
{
	int status = 0;

	while (pid > 0 && waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	if (pid > 0 && status != 0 && (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)) {
		fprintf(stderr, "a victim's child ends with %#x\n", (unsigned)status);
		abort();
	}
}

/* Two kernel pipes between a victim and its child: each may wait for the other. */
struct ropes {
	int r_to[2], r_from[2];
};

static bool
ropes_make(struct ropes *r)
{
	return pipe2(r->r_to, O_CLOEXEC) == 0 && pipe2(r->r_from, O_CLOEXEC) == 0;
}

/* Each side keeps its ends only, so that the other's death is seen. */
static void
ropes_side(const struct ropes *r, bool child_side)
{
	close(child_side ? r->r_to[1] : r->r_to[0]);
	close(child_side ? r->r_from[0] : r->r_from[1]);
}

static void
ropes_drop(const struct ropes *r, bool child_side)
{
	close(child_side ? r->r_to[0] : r->r_to[1]);
	close(child_side ? r->r_from[1] : r->r_from[0]);
}

/* ---- recording --------------------------------------------------------------------- */

/* A stream that ends while it is recorded. */
static void
record_the_end(void)
{
	struct ustr_event ev;
	ustr_tap_t *tap;
	int own[2];

	if (T(str_pipe(own)) == -1)
		return;
	(void)ustr_trace(own[1], 64);
	tap = ustr_tap_open((unsigned int)ustr_streamid(own[0]), 64);
	(void)str_write(own[1], "x", 1);
	(void)str_close(own[0]);
	(void)str_close(own[1]);
	if (tap != NULL)
		(void)ustr_tap_read(tap, &ev);
	ustr_tap_close(tap);
}

/* Recorded from its first message on. */
static void
record_the_birth(void)
{
	int own[2];

	T(ustr_tune("trace", 64));
	if (T(str_pipe(own)) == 0) {
		(void)str_close(own[0]);
		(void)str_close(own[1]);
	}
	T(ustr_tune("trace", 0));
}

void
crash_recording(const int fd[2])
{
	struct ustr_event ev;
	ustr_tap_t *tap;
	char c;

	record_the_birth(); /* first: who buries victims has them die early */
	T(str_ioctl(fd[0], I_PUSH, "crashq"));
	tap = ustr_tap_open((unsigned int)ustr_streamid(fd[0]), 64);
	T(ustr_trace(fd[1], 64));
	for (int i = 0; i < 3; i++) {
		T(str_write(fd[0], "x", 1));
		(void)str_read(fd[1], &c, 1);
	}
	T(str_write(fd[1], "y", 1));
	T(str_ioctl(fd[1], I_FLUSH, FLUSHRW));
	for (int i = 0; i < 3 && tap != NULL; i++)
		(void)ustr_tap_read(tap, &ev);
	T(str_ioctl(fd[0], I_POP, 0));
	ustr_tap_close(tap);
	T(ustr_trace(fd[1], 0));
	record_the_end();
}

/* ---- modules and drivers of one's own --------------------------------------------------- */

static int
own_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)oflag, (void)cr;
	qprocson(q);
	if (sflag == CLONEOPEN)
		*dev = makedevice(getmajor(*dev), 7);
	return sflag == MODOPEN ? ENXIO : 0; /* it cannot be pushed */
}

static int
own_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	return 0;
}

static int
own_put(queue_t *q, mblk_t *mp)
{
	if (q->q_flag & QREADR)
		putnext(q, mp);
	else
		freemsg(mp);
	return 0;
}

static struct module_info own_info = {4310, "own", 0, INFPSZ, 2000, 500};
static struct qinit own_init = {own_put, NULL, own_open, own_close, NULL, &own_info, NULL};
static struct streamtab own_tab = {&own_init, &own_init, NULL, NULL};

/* Names that no other process has: its code goes with its death. */
static const char *
own_name(char kind)
{
	static char name[FMNAMESZ + 1];

	snprintf(name, sizeof(name), "%c%06d", kind, (int)(getpid() % 1000000));
	return name;
}

void
crash_registering(const int fd[2])
{
	char path[40];
	int a, b;

	T(ustr_register_module(own_name('m'), &own_tab, D_MTQPAIR));
	(void)str_ioctl(fd[0], I_PUSH, own_name('m'));
	T(ustr_register_driver(own_name('d'), &own_tab, D_MTQPAIR));
	snprintf(path, sizeof(path), "/dev/streams/clone/%s", own_name('d'));
	a = (int)T(str_open(path, O_RDWR | O_NONBLOCK));
	b = str_open(path, O_RDWR | O_NONBLOCK); /* a has the minor that it wants, too */
	(void)str_close(b);
	(void)str_close(a);
	T(ustr_unregister(own_name('d')));
	T(ustr_unregister(own_name('m')));
}

static struct qinit foreign_init = {
    own_put, NULL, NULL, NULL, NULL, &own_info, NULL};

/* ---- code that another process has ------------------------------------------------------- */

static int
foreign_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	qprocson(q);
	return 0;
}

static int
foreign_put(queue_t *q, mblk_t *mp)
{
	putnext(q, mp);
	return 0;
}

static struct streamtab foreign_tab = {&foreign_init, &foreign_init, NULL, NULL};

/* The child brings a module, pushes it, and runs it for others until told to end. */
static void
run_for_others(const int fd[2], const struct ropes *r)
{
	struct pollfd p = {r->r_to[0], POLLIN, 0};

	ropes_side(r, true);
	(void)ustr_register_module(own_name('f'), &foreign_tab, D_MTQPAIR);
	(void)str_ioctl(fd[0], I_PUSH, own_name('f'));
	if (write(r->r_from[1], "r", 1) != 1)
		_exit(0);
	while (poll(&p, 1, 0) == 0)
		(void)ustr_service(1);
	_exit(0); /* without closing: who buries it finds the stream without code */
}

void
crash_foreign(const int fd[2])
{
	struct ropes r;
	char buf[100] = {0};
	pid_t pid;

	if (!ropes_make(&r))
		return;
	foreign_init = (struct qinit){
	    foreign_put, NULL, foreign_open, own_close, NULL, &own_info, NULL};
	pid = stress_fork();
	if (pid == 0)
		run_for_others(fd, &r);
	ropes_side(&r, false);
	if (pid > 0 && read(r.r_from[0], buf, 1) == 1) {
		(void)str_write(fd[0], buf, 50);
		(void)str_write(fd[0], buf, 50);
		for (int i = 0; i < 20 && str_read(fd[1], buf, sizeof(buf)) <= 0; i++)
			stress_sleep(1);
	}
	ropes_drop(&r, false);
	end_of(pid);
	(void)ustr_service(0);
	(void)str_read(fd[1], buf, sizeof(buf));
}

/* ---- a module that is told what to do by what is written ------------------------------ */

enum { NAP = 'n', STOP = 's', TIME = 't', COUNT = 'c', KEEP = 'k' };

static void
nothing(void *arg)
{
	(void)arg;
}

/* The message that was kept last. */
static void
take_back(queue_t *q)
{
	mblk_t *mp = q->q_ptr;

	q->q_ptr = NULL;
	if (mp == NULL)
		return;
	rmvq(q, mp);
	freemsg(mp);
}

static int
told_put(queue_t *q, mblk_t *mp)
{
	int what = mp->b_datap->db_type == M_DATA && mp->b_wptr > mp->b_rptr ? *mp->b_rptr : 0;

	if (q->q_flag & QREADR)
		what = 0;
	if (what == NAP)
		stress_sleep(3);
	else if (what == STOP)
		kill(getpid(), SIGSTOP);
	else if (what == TIME)
		(void)qtimeout(q, nothing, NULL, 100000);
	else if (what == COUNT)
		(void)qsize(RD(q)->q_next);
	else if (what == KEEP) {
		noenable(q);
		q->q_ptr = putq(q, mp) ? mp : NULL;
		return 0;
	}
	putnext(q, mp);
	return 0;
}

static int
told_srv(queue_t *q)
{
	(void)q;
	return 0;
}

static int
told_close(queue_t *q, int flag, cred_t *cr)
{
	take_back(WR(q));
	return own_close(q, flag, cr);
}

static struct qinit told_init = {
    told_put, told_srv, foreign_open, told_close, NULL, &own_info, NULL};
static struct streamtab told_tab = {&told_init, &told_init, NULL, NULL};

static void
tell(int fd, int what)
{
	char c = (char)what;

	(void)str_write(fd, &c, 1);
}

/* ---- several threads of one process -------------------------------------------------------- */

static void *
nap_inside(void *arg)
{
	const int *fd = arg;

	tell(fd[0], NAP);
	return NULL;
}

/* One is in the perimeter: the other finds it taken, parks, is refused, and waits. */
void
crash_busy(const int fd[2])
{
	char buf[3000] = {0};
	int own[2];
	pthread_t t;

	T(str_ioctl(fd[0], I_PUSH, "crashtel"));
	if (pthread_create(&t, NULL, nap_inside, (void *)(uintptr_t)fd) == 0) {
		stress_sleep(1);
		for (int i = 0; i < 3; i++)
			(void)str_write(fd[0], buf, sizeof(buf));
		pthread_join(t, NULL);
	}
	if (T(str_pipe(own)) == -1)
		return;
	if (pthread_create(&t, NULL, nap_inside, (void *)(uintptr_t)fd) == 0) {
		stress_sleep(1);
		T(str_ioctl(own[0], I_PUSH, "crashtel"));
		pthread_join(t, NULL);
	}
	tell(own[0], COUNT);
	tell(own[0], TIME);
	T(str_close(own[0]));
	T(str_close(own[1]));
	(void)str_read(fd[1], buf, sizeof(buf));
	T(str_ioctl(fd[0], I_POP, 0));
}

static void *
ask_in_vain(void *arg)
{
	struct strioctl hang = {CRASH_HANG, 1, 0, NULL};

	(void)str_ioctl(*(const int *)arg, I_STR, &hang);
	return NULL;
}

/* The descriptor of a question is closed, or leads somewhere else, while it waits. */
void
crash_asking(const int fd[2])
{
	int copy = (int)T(str_dup(fd[0]));
	pthread_t t;

	T(str_ioctl(fd[0], I_PUSH, "crashdo"));
	if (pthread_create(&t, NULL, ask_in_vain, &copy) == 0) {
		stress_sleep(2);
		T(str_dup2(fd[0], copy));
		pthread_join(t, NULL);
	}
	if (pthread_create(&t, NULL, ask_in_vain, &copy) == 0) {
		stress_sleep(2);
		T(str_close(copy));
		pthread_join(t, NULL);
	}
	T(str_ioctl(fd[0], I_POP, 0));
}

/* Groups become one while a service procedure is due: it is so in the new one. */
void
crash_crossing(const int fd[2])
{
	int mux = (int)T(str_open("/dev/streams/clone/mux", O_RDWR | O_NONBLOCK)), own[2], id;
	pthread_t t;

	(void)fd;
	if (T(str_pipe(own)) == -1)
		return;
	T(str_ioctl(own[0], I_PUSH, "crashq"));
	T(str_ioctl(own[0], I_PUSH, "crashtel"));
	if (pthread_create(&t, NULL, nap_inside, own) == 0) {
		stress_sleep(1);
		id = (int)T(str_ioctl(mux, I_LINK, own[1]));
		pthread_join(t, NULL);
		T(str_ioctl(mux, I_UNLINK, id));
	}
	T(str_close(mux));
	T(str_close(own[0]));
	T(str_close(own[1]));
}

/* ---- a multiplexor that does not answer ------------------------------------------------------ */

static int
mute_put(queue_t *q, mblk_t *mp)
{
	(void)q;
	freemsg(mp);
	return 0;
}

static struct qinit mute_init = {mute_put, NULL, foreign_open, own_close, NULL, &own_info, NULL};
static struct streamtab mute_tab = {&mute_init, &mute_init, &mute_init, &mute_init};

/* A mux, and what is to be linked below it. */
static void *
link_in_vain(void *arg)
{
	const int *link = arg;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	(void)str_ioctl(link[0], I_LINK, link[1]);
	return NULL;
}

static void
wake(int sig)
{
	(void)sig;
}

/* While the library waits for the answer its time is up, and another one asks. */
void
crash_mute(const int fd[2])
{
	struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	struct strioctl hang = {CRASH_HANG, 1, 0, NULL};
	int link[2] = {-1, fd[1]};
	pthread_t t;

	link[0] = (int)T(str_open("/dev/streams/clone/crashmut", O_RDWR | O_NONBLOCK));
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = wake}, NULL);
	T(ustr_tune("ioctltime", 20));
	if (pthread_create(&t, NULL, link_in_vain, link) == 0) {
		setitimer(ITIMER_REAL, &often, NULL);
		for (int i = 0; i < 60; i++)
			(void)str_ioctl(link[0], I_STR, &hang);
		pthread_join(t, NULL);
		setitimer(ITIMER_REAL, &never, NULL);
	}
	T(ustr_tune("ioctltime", CRASH_IOCTLTIME));
	T(str_close(link[0]));
}

/* ---- what is seldom called -------------------------------------------------------------------- */

void
crash_looking(const int fd[2])
{
	FILE *null = fopen("/dev/null", "we");
	struct pollfd p[2] = {{-1, POLLIN, 0}, {-1, POLLIN, 0}};
	int own[2], k[2], copy, e;

	if (null != NULL) {
		T(ustr_dump(fd[0], null));
		fclose(null);
	}
	if (T(str_pipe(own)) == -1 || pipe(k) == -1)
		return;
	p[0].fd = own[0];
	T(str_poll(p, 1, 2));
	p[1].fd = k[0];
	T(str_poll(p, 2, 2));
	copy = (int)T(str_dup(own[0]));
	e = (int)T(str_eventfd(copy, POLLIN));
	T(str_close(copy));
	close(e);
	T(str_close(own[0]));
	T(str_close(own[1]));
	close(k[0]);
	close(k[1]);
}

/* A child closes all that it inherited, whatever it is, and goes on with new ones. */
void
crash_daemon(const int fd[2])
{
	pid_t pid = stress_fork();
	int own[2];

	(void)fd;
	if (pid == 0) {
		close_range(3, ~0U, 0);
		if (T(str_pipe(own)) == 0) {
			T(str_write(own[0], "x", 1));
			T(str_close(own[0]));
			T(str_close(own[1]));
		}
		_exit(0);
	}
	end_of(pid);
}

/* A child is stopped in a call: what waits for it is finished later. */
void
crash_stopped(const int fd[2])
{
	pid_t pid;

	T(str_ioctl(fd[0], I_PUSH, "crashtel"));
	pid = stress_fork();
	if (pid == 0) {
		tell(fd[0], STOP);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, WUNTRACED);
	T(ustr_trace(fd[0], 64));
	T(ustr_trace(fd[0], 0));
	if (pid > 0)
		kill(pid, SIGKILL);
	end_of(pid);
	(void)ustr_service(0);
	T(ustr_trace(fd[0], 64));
	T(ustr_trace(fd[0], 0));
	(void)str_ioctl(fd[0], I_POP, 0); /* condemned with the child in the perimeter */
}

/* More callbacks than there ever were: each survivor leaves room for so many. */
void
crash_timing(const int fd[2])
{
	enum { MANY = 10000, MORE = 500 };
	static timeout_id_t id[MANY];
	static int n;

	(void)fd;
	n = n + MORE < MANY ? n + MORE : MANY;
	for (int i = 0; i < n; i++)
		id[i] = timeout(nothing, NULL, 100000);
	for (int i = 0; i < n; i++)
		(void)untimeout(id[i]);
}

/* All memory goes into records of streams; what they leave is cut up for smaller things. */
void
crash_poor(const int fd[2])
{
	enum { STREAMS = 100 };
	struct strbuf d = {0, 1, (char *)(uintptr_t)"x"};
	int end[STREAMS], n = 0, i;

	(void)fd;
	while (n < STREAMS && str_pipe(&end[n]) == 0)
		n += 2;
	for (i = 0; i < n && ustr_trace(end[i], 256) == 0; i++)
		;
	while (i-- > 0)
		T(ustr_trace(end[i], 0));
	/* Small ones, which are cut from those when all else is used up. */
	for (i = 0; i < n && ustr_trace(end[i], 16) == 0; i++)
		;
	while (i-- > 0)
		T(ustr_trace(end[i], 0));
	for (i = 0; i < n; i++)
		(void)putpmsg(end[i], NULL, &d, 255, MSG_BAND);
	for (i = 0; i < n; i++)
		T(str_close(end[i]));
}

/* ---- somebody to bury -------------------------------------------------------------------------- */

static void
keeps(const int fd[2])
{
	tell(fd[0], KEEP);
}

static void
twice(const int fd[2])
{
	crash_scenario("burying")->s_do(fd);
}

static void
forks(const int fd[2])
{
	(void)fd;
	if (fork() == 0)
		_exit(0);
}

/* A child dies at its k-th point, and this process buries it. */
static void
bury(void (*what)(const int *), const int fd[2], long k)
{
	pid_t pid = stress_fork();

	if (pid == 0) {
		crash_strict = false;
		ustr_tune("crashpoint", k);
		what(fd);
		ustr_tune("crashpoint", 0);
		_exit(0);
	}
	end_of(pid);
	(void)ustr_service(0);
	(void)ustr_service(0);
}

/* A queue is lost with who changed it, but its module has a message of it in mind. */
static void
bury_keeper(long k)
{
	int own[2];

	if (T(str_pipe(own)) == -1)
		return;
	crash_nonblock(own); /* closing does not wait for what is kept */
	T(str_ioctl(own[0], I_PUSH, "crashtel"));
	tell(own[0], KEEP);
	bury(keeps, own, k);
	T(str_close(own[0]));
	T(str_close(own[1]));
}

void
crash_burying(const int fd[2])
{
	static const char *const does[] = {"plumbing", "closing", "opening", "passing", "naming",
	    "recording", "descriptors", "exchange", "linking", "registering"};
	static unsigned int turn; /* survivors move it on */
	const unsigned int n = sizeof(does) / sizeof(does[0]) + 3;
	unsigned int which = turn % n, step = turn / n % 60;

	turn++;
	if (which == n - 1)
		bury(forks, fd, 1 + step);
	else if (which == n - 2)
		bury(twice, fd, 1 + step);
	else if (which == n - 3)
		bury_keeper(1 + step);
	else
		bury(crash_scenario(does[which])->s_do, fd, 1 + step * 3);
}

/* Before there are victims: as modules of all of them. */
void
crash_rare_begin(void)
{
	MUST(ustr_register_module("crashtel", &told_tab, D_MTPERMOD));
	MUST(ustr_register_driver("crashmut", &mute_tab, D_MTPERMOD));
}
