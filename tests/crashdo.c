/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crashdo.c: what victims do before they die: between them the scenarios pass
 * the points of the library (USTR_STRESS_SITES of stress_crash.c).
 */
#include "crashlib.h"

#include <poll.h>
#include <signal.h>
#include <sys/ddi.h>
#include <sys/log.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sad.h>
#include <sys/stat.h>
#include <sys/stream.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { HIWAT = 2000, USED_MS = 2000, HANG = CRASH_HANG, ACT, LATER };
/* Which of the points of an I_LINK to begin with, and how many: those of the merging. */
enum { MERGE_FIRST = 10, MERGE_POINTS = 40 };

bool crash_strict;

/* The call may fail when the stream is condemned; of a survivor it must not. */
#define T(call) tried((long)(call), #call, __LINE__)
static long
tried(long r, const char *call, int line)
{
	if (crash_strict && r == -1)
		stress_die(__FILE__, line, "%s: %s", call, strerrorname_np(errno));
	return r;
}

/* ---- a module that queues, in a perimeter --------------------------------- */

static int
queue_put(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type >= QPCTL)
		putnext(q, mp);
	else if (!putq(q, mp))
		freemsg(mp);
	return 0;
}

static int
queue_srv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		if (mp->b_datap->db_type < QPCTL && !bcanputnext(q, mp->b_band))
			return putbq(q, mp);
		putnext(q, mp);
	}
	return 0;
}

static int
plain_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	qprocson(q);
	return 0;
}

static int
plain_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	return 0;
}

static struct module_info info = {4300, "crashq", 0, INFPSZ, HIWAT, HIWAT / 4};
static struct qinit init = {queue_put, queue_srv, plain_open, plain_close, NULL, &info, NULL};
struct streamtab crash_tab = {&init, &init, NULL, NULL};

/* ---- a module that does what modules may do --------------------------------- */

/* Everything about queues that putq and getq do not do. */
static void
fiddle(queue_t *q, mblk_t *mp)
{
	size_t n;

	bool in;

	noenable(q);
	in = insq(q, NULL, mp) == 1;
	(void)qsize(q);
	(void)strqget(q, QCOUNT, 0, &n);
	(void)strqset(q, QHIWAT, 0, HIWAT);
	(void)strqset(q, QHIWAT, 3, HIWAT);
	(void)bcanput(q, 3);
	if (in)
		rmvq(q, mp);
	enableok(q);
}

static void
nothing(void *arg)
{
	(void)arg;
}

/* What a module tells its stream head. */
static void
tell_head(queue_t *q)
{
	static const int texts[] = {M_SIG, M_PCSIG};
	mblk_t *mp = allocb(sizeof(struct stroptions), BPRI_MED);

	for (int i = 0; i < 2; i++)
		putnextctl1(q, texts[i], SIGURG);
	putnextctl1(q, M_ERROR, EIO);
	putnextctl1(q, M_ERROR, 0);
	putnextctl(q, M_HANGUP);
	putnextctl(q, M_UNHANGUP);
	if (mp == NULL)
		return;
	mp->b_datap->db_type = M_SETOPTS;
	*(struct stroptions *)(void *)mp->b_rptr = (struct stroptions){
	    .so_flags = SO_HIWAT | SO_LOWAT | SO_MREADON, .so_hiwat = 4000, .so_lowat = 500};
	mp->b_wptr += sizeof(struct stroptions);
	putnext(q, mp);
}

static void
answer(void *arg)
{
	mblk_t *mp = arg;
	queue_t *q = (queue_t *)mp->b_next;

	mp->b_next = NULL;
	mp->b_datap->db_type = M_IOCACK;
	putnext(RD(q), mp);
}

static void
command(queue_t *q, mblk_t *mp)
{
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;

	switch (ioc->ioc_cmd) {
	case ACT:
		tell_head(RD(q));
		(void)untimeout(timeout(nothing, NULL, 100));
		(void)unbufcall(bufcall(100, BPRI_MED, nothing, NULL));
		(void)quntimeout(q, qtimeout(q, nothing, NULL, 100));
		mp->b_datap->db_type = M_IOCACK;
		ioc->ioc_count = 0;
		qreply(q, mp);
		break;
	case LATER:
		ioc->ioc_count = 0;
		mp->b_next = (mblk_t *)q;
		if (qtimeout(q, answer, mp, 1) == 0)
			answer(mp);
		break;
	case HANG:
		freemsg(mp); /* no answer: who asked is timed out, or interrupted */
		break;
	default:
		putnext(q, mp);
	}
}

static int
do_put(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type == M_IOCTL && !(q->q_flag & QREADR))
		command(q, mp);
	else if (mp->b_datap->db_type >= QPCTL)
		putnext(q, mp);
	else if (!putq(q, mp))
		freemsg(mp);
	return 0;
}

static int
do_srv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		if (mp->b_datap->db_type == M_DATA)
			fiddle(q, mp);
		if (mp->b_datap->db_type < QPCTL && !bcanputnext(q, mp->b_band))
			return putbq(q, mp);
		putnext(q, mp);
	}
	return 0;
}

static struct module_info do_info = {4301, "crashdo", 0, INFPSZ, HIWAT, HIWAT / 4};
static struct qinit do_init = {do_put, do_srv, plain_open, plain_close, NULL, &do_info, NULL};
static struct streamtab do_tab = {&do_init, &do_init, NULL, NULL};

/* ---- close routines, each of which is called once ----------------------------------- */

enum { COUNTED_MOST = 100000 };
struct counted {
	atomic_uint opens;
	atomic_uchar opened[COUNTED_MOST], closed[COUNTED_MOST];
};
static struct counted *counted; /* shared by all processes */

static int
counted_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	unsigned int n = atomic_fetch_add(&counted->opens, 1);

	(void)dev, (void)oflag, (void)sflag, (void)cr;
	if (n >= COUNTED_MOST)
		DIE("more than %d opens", COUNTED_MOST);
	q->q_ptr = WR(q)->q_ptr = &counted->opened[n];
	qprocson(q);
	atomic_store(&counted->opened[n], 1);
	return 0;
}

static int
counted_close(queue_t *q, int flag, cred_t *cr)
{
	size_t n = (size_t)((atomic_uchar *)q->q_ptr - counted->opened);

	(void)flag, (void)cr;
	atomic_fetch_add(&counted->closed[n], 1);
	qprocsoff(q);
	return 0;
}

static struct module_info counted_info = {4302, "counted", 0, INFPSZ, HIWAT, HIWAT / 4};
static struct qinit counted_init = {
	queue_put, queue_srv, counted_open, counted_close, NULL, &counted_info, NULL};
static struct streamtab counted_tab = {&counted_init, &counted_init, NULL, NULL};

static char dir[] = "/tmp/stress_crash.XXXXXX";
static pid_t maker;

static const char *
path(const char *name)
{
	static char buf[sizeof(dir) + 20];

	snprintf(buf, sizeof(buf), "%s/%s", dir, name);
	return buf;
}

static void
clear_up(void)
{
	if (getpid() != maker)
		return;
	unlink(path("attach"));
	unlink(path("fifo"));
	rmdir(dir);
}

void
crash_begin(void)
{
	if (mkdtemp(dir) == NULL)
		DIE("%s: %s", dir, strerrorname_np(errno));
	/* Victims register the process group, which outlives them. */
	signal(SIGPOLL, SIG_IGN);
	maker = getpid();
	atexit(clear_up);
	MUST(mkfifo(path("fifo"), 0600));
	close((int)MUST(open(path("attach"), O_CREAT | O_WRONLY, 0600)));
	MUST(ustr_register_module("crashq", &crash_tab, D_MTQPAIR));
	counted = mmap(NULL, sizeof(*counted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	if (counted == MAP_FAILED)
		DIE("mmap: %s", strerrorname_np(errno));
	MUST(ustr_register_module("counted", &counted_tab, D_MTQPAIR));
	MUST(ustr_register_module("crashdo", &do_tab, D_MTPERMOD));
	crash_rare_begin();
}

/* ---- what the victim does --------------------------------------------------- */

/* The other end may be condemned already: errors are no news here. */
static void
exchange(const int fd[2])
{
	char buf[5000] = {0};
	struct strbuf ctl = {sizeof(buf), 4, buf}, data = {sizeof(buf), 8, buf};
	int band = 0, flags = MSG_ANY;

	str_write(fd[0], buf, 64);
	str_write(fd[0], buf, 1800);
	putmsg(fd[0], &ctl, &data, RS_HIPRI);
	putpmsg(fd[0], NULL, &data, 2, MSG_BAND);
	while (str_write(fd[0], buf, 500) > 0)
		;
	/* up to the end of file, which can be read again and again */
	while (getpmsg(fd[1], &ctl, &data, &band, &flags) >= 0 && (ctl.len > 0 || data.len > 0)) {
		band = 0;
		flags = MSG_ANY;
	}
	str_write(fd[1], buf, 64);
	str_read(fd[0], buf, sizeof(buf));
}

static void
plumbing(const int fd[2])
{
	char c = 0;

	str_ioctl(fd[0], I_PUSH, "nullmod");
	str_write(fd[0], &c, 1);
	str_ioctl(fd[1], I_PUSH, "crashq");
	str_read(fd[1], &c, 1);
	str_ioctl(fd[0], I_FLUSH, FLUSHRW);
	str_ioctl(fd[0], I_POP, 0);
	str_ioctl(fd[1], I_POP, 0);
}

static void
descriptors(const int fd[2])
{
	int copy = str_dup(fd[0]), other[2], dev;
	struct pollfd p = {fd[1], POLLIN, 0};

	str_poll(&p, 1, 0);
	str_close(copy);
	if (str_pipe(other) == 0) {
		str_dup2(fd[0], other[0]);
		str_close(other[0]);
		str_close(other[1]);
	}
	dev = str_open("/dev/streams/clone/echo", O_RDWR | O_NONBLOCK);
	str_write(dev, "echo", 4);
	str_close(dev);
}

static void
forking(const int fd[2])
{
	pid_t pid = fork();

	if (pid == 0) {
		str_write(fd[0], "child", 5);
		str_close(fd[0]);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
}

static void
closing(const int fd[2])
{
	str_write(fd[0], "last", 4);
	str_close(fd[0]);
	str_close(fd[1]);
}

/* Only the link keeps the stream, whose other end is told when it goes. */
static void
last_link(const int fd[2])
{
	int mux = str_open("/dev/streams/clone/mux", O_RDWR | O_NONBLOCK);
	int id = str_ioctl(mux, I_LINK, fd[0]);

	str_close(fd[0]);
	str_ioctl(mux, I_UNLINK, id);
	str_close(mux);
}

/* A multiplexor of the victim's own: with it goes the link. */
static void
linking(const int fd[2])
{
	int mux = str_open("/dev/streams/clone/mux", O_RDWR | O_NONBLOCK), id;
	char buf[100] = {0};

	str_ioctl(fd[1], I_SETSIG, S_INPUT);
	str_write(fd[0], buf, 64);
	id = str_ioctl(mux, I_LINK, fd[1]);
	str_write(fd[0], buf, 64);
	str_read(mux, buf, sizeof(buf));
	str_write(mux, buf, 64);
	str_write(fd[0], buf, 64);
	str_ioctl(mux, I_UNLINK, id);
	str_read(fd[1], buf, sizeof(buf));
	str_ioctl(mux, I_LINK, fd[1]);
	str_close(mux);
}

/* ---- close routines that count ------------------------------------------------------ */

static void
counting(const int fd[2])
{
	int mux = (int)T(str_open("/dev/streams/clone/mux", O_RDWR | O_NONBLOCK)), own[2];

	(void)fd;
	T(str_ioctl(mux, I_PUSH, "counted"));
	T(str_ioctl(mux, I_PUSH, "counted"));
	T(str_ioctl(mux, I_POP, 0));
	if (T(str_pipe(own)) == -1)
		return;
	T(str_ioctl(own[1], I_PUSH, "counted"));
	T(str_ioctl(mux, I_LINK, own[1]));
	T(str_close(own[1]));
	T(str_close(mux));
	T(str_close(own[0]));
}

/* Who was killed in an open may have linked the module in and not have said so. */
static bool
counting_look(const char *name, long n)
{
	unsigned int most = atomic_load(&counted->opens);

	for (unsigned int i = 0; i < most; i++) {
		unsigned int closed = atomic_load(&counted->closed[i]);

		if (closed > 1 || (closed == 0 && atomic_load(&counted->opened[i]) != 0))
			DIE("%s %ld: close routine %u was called %u times", name, n, i, closed);
	}
	return true;
}

/* ---- groups that become one, of streams that others have, too ---------------------- */

static int merged_mux = -1, merged_pipe[2];

static void
merging_stand(void)
{
	merged_mux = (int)MUST(str_open("/dev/streams/clone/mux", O_RDWR | O_NONBLOCK));
	MUST(str_pipe(merged_pipe));
	crash_nonblock(merged_pipe);
	MUST(str_ioctl(merged_pipe[1], I_PUSH, "crashq"));
	MUST(str_ioctl(merged_pipe[0], I_PUSH, "nullmod"));
	MUST(str_write(merged_pipe[0], "before", 6));
}

static void
merging(const int fd[2])
{
	char buf[100];
	int id = (int)T(str_ioctl(merged_mux, I_LINK, merged_pipe[1]));

	(void)fd;
	T(str_read(merged_mux, buf, sizeof(buf)));
	T(str_write(merged_pipe[0], "after", 5));
	T(str_read(merged_mux, buf, sizeof(buf)));
	T(str_ioctl(merged_mux, I_UNLINK, id));
}

/* A child dies while it merges, and this process, that goes on with it, then, too. */
static void
taking_over(const int fd[2])
{
	static unsigned int n;
	pid_t pid = crash_strict ? -1 : stress_fork();

	if (pid == 0) {
		ustr_tune("crashpoint", MERGE_FIRST + (long)(n % MERGE_POINTS));
		merging(fd);
		_exit(0);
	}
	n += 7; /* a survivor's: a victim has its own */
	while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	(void)str_ioctl(merged_mux, I_UNLINK, MUXID_ALL);
	merging(fd);
}

/* Linked or not, whole or condemned: each call says which, and all can be taken apart. */
static bool
merging_look(const char *name, long n)
{
	struct pollfd p[] = {{merged_mux, POLLIN | POLLOUT, 0}, {merged_pipe[0], POLLIN | POLLOUT, 0}};
	char buf[100];
	bool alive;

	(void)str_poll(p, 2, 0);
	crash_allowed(str_write(merged_pipe[0], "alive", 5), "str_write", name, n);
	crash_allowed(str_read(merged_mux, buf, sizeof(buf)), "str_read", name, n);
	crash_allowed(str_write(merged_mux, "alive", 5), "str_write", name, n);
	if (str_ioctl(merged_mux, I_UNLINK, MUXID_ALL) == -1 && errno != EIO && errno != EINVAL)
		DIE("%s %ld: I_UNLINK: %s", name, n, strerrorname_np(errno));
	MUST(str_close(merged_mux)); /* of a condemned one this takes the link off */
	alive = crash_usable(merged_pipe, name, n);
	MUST(str_close(merged_pipe[0]));
	MUST(str_close(merged_pipe[1]));
	return alive;
}

/* ---- uses of what is registered -------------------------------------------------------- */

static struct module_info use_info = {4302, "crashuse", 0, INFPSZ, HIWAT, HIWAT / 4};
static struct qinit use_init = {queue_put, queue_srv, plain_open, plain_close, NULL, &use_info, NULL};
static struct streamtab use_tab = {&use_init, &use_init, NULL, NULL};

static void
using_stand(void)
{
	MUST(ustr_register_driver("crashdev", &use_tab, D_MTPERQ));
	MUST(ustr_register_module("crashuse", &use_tab, D_MTQPAIR));
}

static void
using(const int fd[2])
{
	int dev = (int)T(str_open("/dev/streams/clone/crashdev", O_RDWR | O_NONBLOCK));

	(void)fd;
	T(str_ioctl(dev, I_PUSH, "crashuse"));
	T(str_ioctl(dev, I_PUSH, "crashuse"));
	T(str_ioctl(dev, I_POP, 0));
	T(str_close(dev));
}

/* Wherever the user died, nobody uses it any more. */
static bool
using_look(const char *name, long n)
{
	static const char *const names[] = {"crashdev", "crashuse"};

	for (int i = 0; i < 2; i++)
		for (long end = stress_now() + USED_MS; ustr_unregister(names[i]) != 0;)
			if (ustr_service(0) == 0 && stress_now() > end)
				DIE("%s %ld: %s: %s", name, n, names[i], strerrorname_np(errno));
	return true;
}

/* ---- and of the rest of the interface ---------------------------------------- */

static void
ring(int sig)
{
	(void)sig;
}

/* There is no helper to run callbacks. */
static void *
serve(void *over)
{
	while (!atomic_load((atomic_bool *)over))
		(void)ustr_service(1);
	return NULL;
}

static void
queueing(const int fd[2])
{
	struct itimerval soon = {{0, 0}, {0, 3000}};
	atomic_bool over = false;
	pthread_t server;
	struct strioctl act = {ACT, 5, 0, NULL}, later = {LATER, 5, 0, NULL}, hang = {HANG, 1, 0, NULL};
	struct strbuf d = {0, 3, (char *)(uintptr_t)"abc"};
	char buf[3000] = {0};

	T(str_ioctl(fd[0], I_PUSH, "crashdo"));
	T(str_write(fd[0], buf, 100));
	T(putpmsg(fd[0], NULL, &d, 3, MSG_BAND));
	T(str_write(fd[1], buf, 100)); /* the signal comes behind it */
	T(str_ioctl(fd[0], I_STR, &act));
	if (pthread_create(&server, NULL, serve, &over) == 0) {
		T(str_ioctl(fd[0], I_STR, &later));
		atomic_store(&over, true);
		pthread_join(server, NULL);
	}
	if (!crash_strict) {
		signal(SIGALRM, ring);
		setitimer(ITIMER_REAL, &soon, NULL);
		(void)str_ioctl(fd[0], I_STR, &hang);
	}
	for (int i = 0; i < 5; i++)
		(void)str_write(fd[0], buf, sizeof(buf));
	while (str_read(fd[1], buf, sizeof(buf)) > 0)
		;
	T(str_write(fd[1], buf, 100));
	T(str_ioctl(fd[0], I_FLUSH, FLUSHRW));
	T(str_ioctl(fd[0], I_POP, 0));
}

static void
options(const int fd[2])
{
	struct iovec iov[2];
	struct strpeek peek = {.ctlbuf = {64, 0, (char[64]){0}}, .databuf = {64, 0, (char[64]){0}}};
	struct bandinfo band = {1, FLUSHRW};
	struct strbuf d = {0, 3, (char *)(uintptr_t)"abc"};
	char buf[300] = {0};
	struct stat st;
	mblk_t *mp;
	int n, flags = 0;

	iov[0] = iov[1] = (struct iovec){buf, 50};
	T(str_fcntl(fd[0], F_GETFL));
	T(str_fstat(fd[0], &st));
	(void)str_lseek(fd[0], 0, SEEK_CUR);
	T(isastream(fd[0]));
	T(str_writev(fd[0], iov, 2));
	T(putpmsg(fd[0], NULL, &d, 1, MSG_BAND));
	T(str_ioctl(fd[1], I_NREAD, &n));
	T(str_ioctl(fd[1], I_PEEK, &peek));
	T(str_ioctl(fd[1], I_CKBAND, 1));
	T(str_ioctl(fd[0], I_CANPUT, 1));
	T(str_ioctl(fd[1], I_FLUSHBAND, &band));
	T(str_ioctl(fd[1], I_SRDOPT, RNORM | RPROTDIS));
	(void)str_read(fd[1], buf, 10);
	(void)str_readv(fd[1], iov, 2);
	T(str_ioctl(fd[1], I_SRDOPT, RMSGD | RPROTDIS));
	T(str_ioctl(fd[0], I_SWROPT, SNDZERO));
	(void)str_ioctl(fd[1], I_SET_LOWAT, 500);
	(void)str_ioctl(fd[1], I_SET_HIWAT, 60000);
	mp = str_mblkalloc(50);
	if (mp != NULL && str_putmblk(fd[0], mp) == 0 && str_getmblk(fd[1], &mp) == 0)
		freemsg(mp);
	T(str_write(fd[0], buf, 200));
	d = (struct strbuf){10, 0, buf};
	(void)getmsg(fd[1], NULL, &d, &flags);
	(void)str_read(fd[1], buf, sizeof(buf));
}

static void
events(const int fd[2])
{
	struct strsigset ss = {-getpgrp(), S_INPUT | S_OUTPUT};
	int e, mask;
	char c;

	T(str_ioctl(fd[1], I_SETSIG, S_INPUT | S_HANGUP | S_MSG));
	T(str_ioctl(fd[1], I_GETSIG, &mask));
	T(str_ioctl(fd[0], I_ESETSIG, &ss));
	e = (int)T(str_eventfd(fd[1], POLLIN));
	T(str_write(fd[0], "x", 1));
	(void)ustr_service(0);
	(void)poll(&(struct pollfd){e, POLLIN, 0}, 1, 0);
	(void)str_read(fd[1], &c, 1);
	ss.ss_events = 0;
	T(str_ioctl(fd[0], I_ESETSIG, &ss));
	T(str_ioctl(fd[1], I_SETSIG, 0));
	close(e);
}

/* A pipe of its own with a path, and a FIFO, which others may have open. */
static void
naming(const int fd[2])
{
	int own[2], r, w;
	char c;

	(void)fd;
	if (T(str_pipe(own)) == -1)
		return;
	if (fattach(own[1], path("attach")) == 0 || errno == EBUSY) {
		r = str_open(path("attach"), O_RDWR | O_NONBLOCK);
		(void)str_write(r, "x", 1);
		(void)str_close(r);
		(void)fdetach(path("attach"));
	}
	T(str_close(own[0]));
	T(str_close(own[1]));
	r = (int)T(str_open(path("fifo"), O_RDONLY | O_NONBLOCK));
	w = (int)T(str_open(path("fifo"), O_WRONLY | O_NONBLOCK));
	T(str_write(w, "x", 1));
	(void)str_read(r, &c, 1);
	(void)str_close(w);
	(void)str_close(r);
	r = (int)T(str_open("/dev/streams/clone/fifo", O_RDWR | O_NONBLOCK));
	(void)str_close(r);
}

static void
opening(const int fd[2])
{
	struct strapush sap = {.sap_common = {SAP_ONE, 0, 3, 0, 1}, .sap_list = {"nullmod"}};
	int sad = (int)T(str_open("/dev/streams/sad", O_RDWR)), a, b;
	char name[] = "loop";
	struct strioctl major = {SAD_MAJOR, 5, sizeof(name), name};

	(void)fd;
	sap.sap_major = (unsigned)str_ioctl(sad, I_STR, &major);
	(void)str_ioctl(sad, SAD_SAP, &sap);
	a = str_open("/dev/streams/loop/3", O_RDWR | O_NONBLOCK);
	b = str_open("/dev/streams/loop/3", O_RDWR | O_NONBLOCK);
	(void)str_close(a);
	(void)str_close(b);
	sap.sap_cmd = SAP_CLEAR;
	(void)str_ioctl(sad, SAD_SAP, &sap);
	T(str_close(sad));
}

/* There is no number for it: the message goes back where it was. */
static void
receive_too_many(int fd)
{
	struct strrecvfd rf;
	struct rlimit old, now;

	if (getrlimit(RLIMIT_NOFILE, &old) == -1)
		return;
	now = old;
	now.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &now);
	(void)str_ioctl(fd, I_RECVFD, &rf);
	setrlimit(RLIMIT_NOFILE, &old);
}

/* Its last reference is in a message, and goes with the stream where that waits. */
static void
leave_in_message(void)
{
	int k[2], own[2];

	if (T(str_pipe(k)) == -1 || T(str_pipe(own)) == -1)
		return;
	T(str_ioctl(own[1], I_SENDFD, k[0]));
	T(str_close(k[0]));
	T(str_close(k[1]));
	T(str_close(own[1]));
	T(str_close(own[0]));
}

static void
passing(const int fd[2])
{
	struct strrecvfd rf = {.fd = -1};
	struct strfdinsert fi = {{0, 16, (char[16]){0}}, {0, -1, NULL}, 0, -1, 0};
	struct pollfd p[2] = {{fd[0], POLLIN, 0}, {0, POLLIN, 0}};
	int k[2];
	char c;

	if (T(str_pipe(k)) == -1)
		return;
	T(str_ioctl(fd[1], I_SENDFD, k[0]));
	receive_too_many(fd[0]);
	if (T(str_ioctl(fd[0], I_RECVFD, &rf)) == 0)
		(void)str_close(rf.fd);
	fi.fildes = k[0];
	T(str_ioctl(fd[1], I_FDINSERT, &fi));
	T(str_close(k[0]));
	T(str_close(k[1]));
	leave_in_message();
	(void)str_poll(p, 1, 1);
	if (pipe(k) == 0) {
		p[1].fd = k[0];
		(void)str_poll(p, 2, 1);
		(void)str_ioctl(fd[1], I_SENDFD, k[0]);
		if (str_ioctl(fd[0], I_RECVFD, &rf) == 0)
			(void)close(rf.fd);
		close(k[0]);
		close(k[1]);
	}
	(void)str_ioctl(fd[1], I_FLUSH, FLUSHRW);
	(void)str_read(fd[0], &c, 1);
}

static void
logging(const int fd[2])
{
	struct trace_ids ids = {-1, -1, -1};
	struct strioctl trace = {I_TRCLOG, 5, sizeof(ids), (char *)&ids};
	int log = (int)T(str_open("/dev/streams/clone/log", O_RDWR | O_NONBLOCK));
	char buf[500];

	(void)fd;
	(void)str_ioctl(log, I_STR, &trace);
	(void)strlog(4300, 1, 1, SL_TRACE, "a victim logs %d", 1);
	(void)str_read(log, buf, sizeof(buf));
	(void)str_close(log);
}

/* A child dies in a call, and this process sees to what it left. */
static void
burying(const int fd[2])
{
	static const struct scenario does[] = {{.s_do = plumbing}, {.s_do = exchange}};
	static unsigned int n;
	int status = 0;
	pid_t pid = stress_fork();

	if (pid == 0) {
		ustr_tune("crashpoint", 3 + (long)(n * 7 % 90));
		does[n % 2].s_do(fd);
		ustr_tune("crashpoint", 0);
		_exit(0);
	}
	n++;
	while (pid > 0 && waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		kill(getpid(), WTERMSIG(status));
	(void)ustr_service(0);
}

const struct scenario crash_scenarios[SCENARIOS] = {
    {.s_name = "exchange", .s_do = exchange},
    {.s_name = "descriptors", .s_do = descriptors, .s_opens = true},
    {.s_name = "plumbing", .s_do = plumbing},
    {.s_name = "forking", .s_do = forking},
    {.s_name = "queueing", .s_do = queueing},
    {.s_name = "options", .s_do = options},
    {.s_name = "events", .s_do = events},
    {.s_name = "naming", .s_do = naming, .s_opens = true},
    {.s_name = "opening", .s_do = opening, .s_opens = true},
    {.s_name = "passing", .s_do = passing, .s_opens = true},
    {.s_name = "logging", .s_do = logging},
    {.s_name = "burying", .s_do = burying},
    {.s_name = "recording", .s_do = crash_recording},
    {.s_name = "registering", .s_do = crash_registering},
    {.s_name = "foreign", .s_do = crash_foreign},
    {.s_name = "looking", .s_do = crash_looking},
    {.s_name = "daemon", .s_do = crash_daemon},
    {.s_name = "busy", .s_do = crash_busy, .s_once = true},
    {.s_name = "asking", .s_do = crash_asking, .s_once = true},
    {.s_name = "crossing", .s_do = crash_crossing, .s_once = true},
    {.s_name = "mute", .s_do = crash_mute, .s_once = true, .s_turns = 10},
    {.s_name = "stopped", .s_do = crash_stopped, .s_once = true},
    {.s_name = "timing", .s_do = crash_timing, .s_once = true},
    {.s_name = "poor", .s_do = crash_poor, .s_once = true, .s_poor = true},
    {.s_name = "burials", .s_do = crash_burying, .s_turns = 800, .s_apart = true},
    {.s_name = "closing", .s_do = closing, .s_opens = true},
    {.s_name = "linking", .s_do = linking},
    {.s_name = "lastlink", .s_do = last_link},
    {.s_name = "counting", .s_do = counting, .s_look = counting_look},
    {.s_name = "merging", .s_do = merging, .s_stand = merging_stand, .s_look = merging_look},
    {.s_name = "using", .s_do = using, .s_stand = using_stand, .s_look = using_look},
    {.s_name = "taking", .s_do = taking_over, .s_stand = merging_stand, .s_look = merging_look},
};

const struct scenario *
crash_scenario(const char *name)
{
	for (size_t i = 0; i < SCENARIOS; i++)
		if (strcmp(crash_scenarios[i].s_name, name) == 0)
			return &crash_scenarios[i];
	DIE("no scenario is called %s", name);
}
