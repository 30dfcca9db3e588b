/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_flow.c [threads|fork|both]: a high-water mark of one message wherever
 * messages can wait, so that each of them is refused, wanted and let go:
 *
 *   pipe    the stream head alone
 *   band    the same in band 1, whose flags are its own
 *   echo    a driver with service procedures, written and read by two workers
 *   module  a queueing module on both ends of a pipe, no perimeter and each
 *           kind of perimeter, traffic in both directions
 *   mband   the same in band 1
 *
 * with low marks 1 and 0, writer and reader blocking or polling, and random
 * yields in the library (USTREAMS_JITTER, debug builds).  USTR_STRESS_COUNT
 * messages in all (150,000) or what USTR_STRESS_SECONDS (20) are enough for, but
 * 20 a run.  A stall of 20 s draws both ends and fails.
 */
#include "stresslib.h"

#include <poll.h>
#include <sys/mman.h>

/* ---- a module and a driver that queue everything -------------------------- */

static int
queue_put(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type >= QPCTL)
		putnext(q, mp);
	else if (!putq(q, mp))
		DIE("putq");
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
driver_put(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type >= QPCTL)
		freemsg(mp);
	else if (!putq(q, mp))
		DIE("putq");
	return 0;
}

/* Up while there is room above; the read side is enabled when there is again. */
static int
driver_wsrv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		if (!bcanputnext(RD(q), mp->b_band))
			return putbq(q, mp);
		qreply(q, mp);
	}
	return 0;
}

static int
driver_rsrv(queue_t *q)
{
	qenable(WR(q));
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

/* Low mark 0 and 1. */
static struct module_info info[2] = {
    {4200, "flow", 0, INFPSZ, 1, 0}, {4201, "flow", 0, INFPSZ, 1, 1}};
#define QUEUEING(i)                                                                 \
	{                                                                           \
		queue_put, queue_srv, plain_open, plain_close, NULL, &info[i], NULL \
	}
static struct qinit module_init[2] = {QUEUEING(0), QUEUEING(1)};
static struct streamtab module_tab[2] = {{&module_init[0], &module_init[0], NULL, NULL},
    {&module_init[1], &module_init[1], NULL, NULL}};
#define READING(i)                                                               \
	{                                                                        \
		NULL, driver_rsrv, plain_open, plain_close, NULL, &info[i], NULL \
	}
#define WRITING(i)                                                        \
	{                                                                 \
		driver_put, driver_wsrv, NULL, NULL, NULL, &info[i], NULL \
	}
static struct qinit driver_rinit[2] = {READING(0), READING(1)};
static struct qinit driver_winit[2] = {WRITING(0), WRITING(1)};
static struct streamtab driver_tab[2] = {{&driver_rinit[0], &driver_winit[0], NULL, NULL},
    {&driver_rinit[1], &driver_winit[1], NULL, NULL}};

/* The name of the module with that low mark and perimeter, or of the driver. */
static const char *
name_of(bool driver, int lowat, int flags)
{
	static char name[16];
	int r;

	snprintf(name, sizeof(name), "f%c%d%x", driver ? 'd' : 'm', lowat,
	    (unsigned)flags >> 12);
	r = driver ? ustr_register_driver(name, &driver_tab[lowat], flags)
		   : ustr_register_module(name, &module_tab[lowat], flags);
	if (r == -1 && errno != EEXIST)
		DIE("%s: %s", name, strerrorname_np(errno));
	return name;
}

/* ---- the runs ------------------------------------------------------------- */

enum kind { PIPE, BAND, ECHO, MODULE, MBAND };

static const struct variant {
	const char *v_what;
	enum kind v_kind;
	int v_flags; /* of the module or driver */
} variants[] = {
    {"pipe", PIPE, 0},
    {"band", BAND, 0},
    {"echo", ECHO, D_MTQPAIR | USTR_INDEPENDENT},
    {"echo", ECHO, D_MP | USTR_INDEPENDENT},
    {"module", MODULE, D_MP},
    {"module", MODULE, D_MTPERQ},
    {"module", MODULE, D_MTQPAIR},
    {"module", MODULE, D_MTPERMOD},
    {"mband", MBAND, D_MTPERQ},
};

/* Bits of a mode. */
enum { WPOLLS = 1, RPOLLS = 2, LOWAT1 = 4, MODES = 8 };
enum { LEAST = 20 };

struct job {
	enum kind j_kind;
	int j_mode;
	int j_fd[2]; /* [0] and [1] the same for ECHO */
	int j_band;
	struct quota j_quota; /* in each direction */
	/* By the end they were written at. */
	_Atomic long j_sent[2], j_got[2];
};

/* A call was refused: wait as the mode says. */
static void
refused(const struct job *j, int bit, int fd, int events, int got)
{
	struct pollfd f = {fd, (short)events, 0};

	if (!(j->j_mode & bit) || errno != EAGAIN)
		DIE("%s", strerrorname_np(errno));
	if (str_poll(&f, 1, -1) != 1 || f.revents != got)
		DIE("str_poll: revents %#x", (unsigned)f.revents);
}

static void
write_one(const struct job *j, int end, long number, int size)
{
	int events = j->j_band ? POLLWRBAND : POLLOUT;
	unsigned char c[2] = {(unsigned char)number, 0};
	struct strbuf d = {.len = size, .buf = (char *)c};

	while (putpmsg(j->j_fd[end], NULL, &d, j->j_band, MSG_BAND) == -1)
		refused(j, WPOLLS, j->j_fd[end], events, events);
}

/* Two bytes end the stream. */
static void
write_some(struct job *j, int end, int tick)
{
	long i;

	for (i = 0; quota_more(&j->j_quota, i); i++) {
		write_one(j, end, i, 1);
		crew_tick(tick);
	}
	j->j_sent[end] = i;
	write_one(j, end, i, 2);
}

static void
read_some(struct job *j, int end, int tick)
{
	int events = POLLIN | (j->j_band ? POLLRDBAND : POLLRDNORM);

	for (long i = 0;; i++) {
		unsigned char c[3];
		struct strbuf d = {.maxlen = sizeof(c), .buf = (char *)c};
		int band = 0, flags = MSG_ANY;

		while (getpmsg(j->j_fd[end], NULL, &d, &band, &flags) == -1) {
			refused(j, RPOLLS, j->j_fd[end], events, events);
			band = 0;
			flags = MSG_ANY;
		}
		if ((d.len != 1 && d.len != 2) || c[0] != (unsigned char)i ||
		    band != j->j_band)
			DIE("message %ld: %d bytes, first %#x, band %d", i, d.len, c[0],
			    band);
		if (d.len == 2)
			return;
		j->j_got[!end] = i + 1;
		crew_tick(tick);
	}
}

/* 0 writes at end 0, 1 reads at end 1; 2 and 3 the other way. */
static void
work(int who, void *arg)
{
	switch (who) {
	case 0:
		write_some(arg, 0, who);
		break;
	case 1:
		read_some(arg, 1, who);
		break;
	case 2:
		write_some(arg, 1, who);
		break;
	default:
		read_some(arg, 0, who);
	}
}

static void
marks(int fd, int lowat)
{
	MUST(str_ioctl(fd, I_SET_LOWAT, lowat));
	MUST(str_ioctl(fd, I_SET_HIWAT, 1));
}

static void
make(struct job *j, const struct variant *v)
{
	int lowat = j->j_mode & LOWAT1 ? 1 : 0;
	char path[64];

	if (v->v_kind == ECHO) {
		/* Two opens of one minor, for flags of their own. */
		snprintf(path, sizeof(path), "/dev/streams/%s/1",
		    name_of(true, lowat, v->v_flags));
		for (int i = 0; i < 2; i++)
			MUST(j->j_fd[i] = str_open(path, O_RDWR));
		marks(j->j_fd[0], lowat);
	} else {
		MUST(str_pipe(j->j_fd));
		for (int i = 0; i < 2; i++) {
			/* Before the band is there, so that it has them too. */
			marks(j->j_fd[i], lowat);
			if (v->v_kind >= MODULE)
				MUST(str_ioctl(j->j_fd[i], I_PUSH,
				    name_of(false, lowat, v->v_flags)));
		}
	}
}

/* The number of messages. */
static long
run(const struct variant *v, bool forked, int mode, const struct quota *quota)
{
	/* The flag of an end is its writer's and its reader's. */
	bool both_ways = v->v_kind >= MODULE && (mode & WPOLLS) == (mode & RPOLLS) >> 1;
	struct job *j = shared_memory(sizeof(*j));
	struct crew c;
	long got = 0;
	int left;

	j->j_kind = v->v_kind;
	j->j_mode = mode;
	j->j_band = v->v_kind == BAND || v->v_kind == MBAND;
	j->j_quota = *quota;
	j->j_quota.q_most = both_ways ? (quota->q_most + 1) / 2 : quota->q_most;
	make(j, v);
	MUST(str_fcntl(j->j_fd[0], F_SETFL, mode & WPOLLS ? O_NONBLOCK : 0));
	MUST(str_fcntl(j->j_fd[1], F_SETFL, mode & RPOLLS ? O_NONBLOCK : 0));
	quota_begin(&j->j_quota);
	crew_start(&c, forked, both_ways ? 4 : 2, work, j, j->j_fd, v->v_what);
	crew_join(&c, 0, c.c_n);
	for (int i = 0; i < 2; i++) {
		if (MUST(str_ioctl(j->j_fd[i], I_NREAD, &left)) != 0)
			DIE("messages are left");
		if (j->j_got[i] != j->j_sent[i])
			DIE("%ld messages sent, %ld read", j->j_sent[i], j->j_got[i]);
		got += j->j_got[i];
	}
	crew_end(&c);
	MUST(str_close(j->j_fd[0]));
	MUST(str_close(j->j_fd[1]));
	munmap(j, sizeof(*j));
	return got;
}

int
main(int argc, char **argv)
{
	enum { N = sizeof(variants) / sizeof(variants[0]) };
	bool threads, forks;
	struct quota quota;

	/* It must be set when the program starts. */
	if (setenv("USTREAMS_JITTER", "1", 0) == 0 && getenv("STRESS_FLOW") == NULL) {
		setenv("STRESS_FLOW", "again", 1);
		execv("/proc/self/exe", argv);
	}
	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	quota = quota_share(150000, 20, N * MODES * (threads + forks), LEAST);
	for (int i = 0; i < N; i++) {
		for (int f = 0; f < 2; f++) {
			long start = stress_now(), got = 0;

			if (f ? !forks : !threads)
				continue;
			for (int mode = 0; mode < MODES; mode++)
				got += run(&variants[i], f, mode, &quota);
			printf("stress_flow: %s, %s %#x: %ld messages, %ld ms\n",
			    f ? "fork" : "threads", variants[i].v_what,
			    (unsigned)variants[i].v_flags, got,
			    stress_now() - start);
			fflush(stdout);
		}
	}
	return 0;
}
