/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_perim.c [threads|fork|both]: perimeters (ddi.md §2, §3, §8).
 *
 * A module that counts who is inside is pushed on eight pipes, on some at both
 * ends, and four threads of two processes send through all of them in both
 * directions: never two inside one perimeter, each queue first in first out,
 * nothing lost.  Then the holder of a perimeter stops for a second: writers of
 * other processes are refused within bounds, and let go again afterwards.
 */
#include "stresslib.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ddi.h>
#include <sys/wait.h>

enum { PIPES = 8, LANES = 2 * PIPES, HANDS = 4 };
enum { HIWAT = 1000, LOWAT = 200, MUST_PLUMB_MS = 20000 };

/* ---- the module ----------------------------------------------------------- */

struct watch {
	_Alignas(64) atomic_int inside;
	unsigned long plain, counted; /* grow together when nobody is in the way */
};

struct message {
	unsigned int m_lane;
	unsigned short m_writer; /* 0 or 1 of the lane */
	unsigned short m_last;	 /* the writer sends no more on this lane */
	unsigned long m_seq;	 /* from 1 on */
	char m_fill[200];
};
#define SHORTEST offsetof(struct message, m_fill)

/* What threads, processes and procedures share; made before any fork. */
static struct world {
	int w_fd[PIPES][2];
	int w_flags; /* D_MTPERMOD... */
	atomic_bool w_stop;
	struct watch w_module;
	unsigned long w_sent[LANES][2], w_got[LANES][2];
	/* the second part */
	atomic_bool w_held;
	bool w_by_signal; /* the holder stops its process, or waits for a byte */
	int w_gate[2];
} * world;

/* q_ptr of both queues, from kmem_zalloc. */
struct inst {
	int i_flags; /* a stream of the round before may be closed in the next one */
	struct watch i_pair, i_queue[2];
	unsigned long i_seen[2][LANES][2]; /* 0: read side */
};

static struct watch *
watch_of(queue_t *q)
{
	struct inst *in = q->q_ptr;

	switch (in->i_flags) {
	case D_MTPERMOD:
		return &world->w_module;
	case D_MTQPAIR:
		return &in->i_pair;
	default:
		return &in->i_queue[q == WR(q)];
	}
}

static void
enter(struct watch *w, const char *where)
{
	unsigned long n;

	if (atomic_fetch_add(&w->inside, 1) != 0)
		DIE("%s: somebody is inside", where);
	n = w->plain++;
	if (n % 64 == 0)
		sched_yield();
	if (w->counted++ != n)
		DIE("%s: somebody was inside", where);
}

static void
leave(struct watch *w, const char *where)
{
	if (atomic_fetch_sub(&w->inside, 1) != 1)
		DIE("%s: somebody came in", where);
}

/* The messages of one writer pass a queue in order, none left out. */
static void
look(queue_t *q, const mblk_t *mp)
{
	struct inst *in = q->q_ptr;
	struct message m;
	unsigned long *seen;

	if (mp->b_datap->db_type != M_DATA || mp->b_wptr - mp->b_rptr < (long)SHORTEST)
		return;
	memcpy(&m, mp->b_rptr, SHORTEST);
	seen = &in->i_seen[q == WR(q)][m.m_lane][m.m_writer];
	if (m.m_seq != *seen + 1)
		DIE("lane %u, writer %u: message %lu follows %lu on a queue", m.m_lane,
		    m.m_writer, m.m_seq, *seen);
	*seen = m.m_seq;
}

/* Every seventh message starts a queue; what comes while there is one joins. */
static int
guard_put(queue_t *q, mblk_t *mp)
{
	struct watch *w = watch_of(q);

	enter(w, "put");
	look(q, mp);
	if (mp->b_datap->db_type < QPCTL &&
	    (q->q_first != NULL || w->plain % 7 == 0 || !canputnext(q))) {
		if (!putq(q, mp))
			DIE("putq");
	} else {
		putnext(q, mp);
	}
	leave(w, "put");
	return 0;
}

static int
guard_srv(queue_t *q)
{
	struct watch *w = watch_of(q);
	mblk_t *mp;

	enter(w, "srv");
	while ((mp = getq(q)) != NULL) {
		if (mp->b_datap->db_type < QPCTL && !canputnext(q)) {
			putbq(q, mp);
			break;
		}
		putnext(q, mp);
	}
	leave(w, "srv");
	return 0;
}

static int
guard_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	struct inst *in = kmem_zalloc(sizeof(*in), KM_SLEEP);

	(void)dev, (void)oflag, (void)sflag, (void)cr;
	if (in == NULL)
		return ENOSR;
	in->i_flags = world->w_flags;
	q->q_ptr = WR(q)->q_ptr = in;
	/* Open and close have the module for themselves as well. */
	enter(watch_of(q), "open");
	leave(watch_of(q), "open");
	qprocson(q);
	return 0;
}

static int
guard_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	enter(watch_of(q), "close");
	leave(watch_of(q), "close");
	kmem_free(q->q_ptr, sizeof(struct inst));
	q->q_ptr = WR(q)->q_ptr = NULL;
	return 0;
}

/* Where a message that begins with '!' comes by, the holder stays inside. */
static void
maybe_hold(const mblk_t *mp)
{
	char c;

	if (mp->b_datap->db_type != M_DATA || mp->b_rptr == mp->b_wptr ||
	    *mp->b_rptr != '!')
		return;
	atomic_store(&world->w_held, true);
	if (world->w_by_signal)
		raise(SIGSTOP);
	else if (read(world->w_gate[0], &c, 1) != 1)
		DIE("read: %s", strerrorname_np(errno));
}

static int
hold_put(queue_t *q, mblk_t *mp)
{
	maybe_hold(mp);
	putnext(q, mp);
	return 0;
}

static int
keep_put(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type >= QPCTL)
		putnext(q, mp);
	else if (!putq(q, mp))
		freemsg(mp);
	return 0;
}

static int
keep_srv(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		maybe_hold(mp);
		if (!canputnext(q)) {
			putbq(q, mp);
			break;
		}
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

static struct module_info info = {4100, "guard", 0, INFPSZ, HIWAT, LOWAT};
static struct qinit guard_init = {
    guard_put, guard_srv, guard_open, guard_close, NULL, &info, NULL};
static struct streamtab guard_tab = {&guard_init, &guard_init, NULL, NULL};

/* The name of a module with these tables and flags, registered when new. */
static const char *
module(const char *stem, struct streamtab *tab, int flags)
{
	static char name[16];

	snprintf(name, sizeof(name), "%s%x", stem, (unsigned)flags >> 12);
	if (ustr_register_module(name, tab, flags) == -1 && errno != EEXIST)
		DIE("%s: %s", name, strerrorname_np(errno));
	return name;
}

/* ---- traffic -------------------------------------------------------------- */

/* Lane l goes down pipe l / 2 from end l % 2. */
static int
from(int lane)
{
	return world->w_fd[lane / 2][lane % 2];
}

static int
to(int lane)
{
	return world->w_fd[lane / 2][1 - lane % 2];
}

/* What one of the four threads does with a lane: 0, 1 writes as that, 2 reads. */
static int
part(int hand, int lane)
{
	return (hand - lane % HANDS + HANDS) % HANDS;
}

/* One message, unless the stream is full: 0, 1, or 2 when it was the last. */
static int
send_one(int lane, int writer)
{
	struct message m = {.m_lane = (unsigned)lane,
	    .m_writer = (unsigned short)writer,
	    .m_last = atomic_load(&world->w_stop),
	    .m_seq = world->w_sent[lane][writer] + 1};
	size_t n = SHORTEST + m.m_seq * 37 % sizeof(m.m_fill);
	ssize_t r = str_write(from(lane), &m, n);

	if (r == -1 && errno == EAGAIN)
		return 0;
	if (r != (ssize_t)n)
		DIE("str_write gives %zd (%s)", r, r == -1 ? strerrorname_np(errno) : "");
	world->w_sent[lane][writer] = m.m_seq;
	return m.m_last ? 2 : 1;
}

/* One message, if there is any: 0, 1, or 2 when it was a writer's last. */
static int
take_one(int lane)
{
	struct message m;
	ssize_t r = str_read(to(lane), &m, sizeof(m));

	if (r == -1 && errno == EAGAIN)
		return 0;
	if (r < (ssize_t)SHORTEST)
		DIE("str_read gives %zd (%s)", r, r == -1 ? strerrorname_np(errno) : "");
	if (m.m_lane != (unsigned)lane || m.m_writer > 1)
		DIE("a message of lane %u on lane %d", m.m_lane, lane);
	if (m.m_seq != ++world->w_got[lane][m.m_writer])
		DIE("lane %d, writer %u: message %lu, not %lu", lane, m.m_writer, m.m_seq,
		    world->w_got[lane][m.m_writer]);
	return m.m_last ? 2 : 1;
}

/* Wait until one of the lanes still open moves. */
static void
await(int hand, const int open[LANES])
{
	struct pollfd f[LANES];
	nfds_t n = 0;

	for (int l = 0; l < LANES; l++) {
		if (open[l] == 0)
			continue;
		if (part(hand, l) == 2)
			f[n++] = (struct pollfd){to(l), POLLIN, 0};
		else
			f[n++] = (struct pollfd){from(l), POLLOUT, 0};
	}
	if (n > 0 && str_poll(f, n, -1) < 1)
		DIE("str_poll: %s", strerrorname_np(errno));
}

static void
play(int hand, int tick)
{
	int open[LANES], left = 0;

	for (int l = 0; l < LANES; l++) {
		open[l] = part(hand, l) == 2 ? 2 : part(hand, l) < 2;
		left += open[l];
	}
	while (left > 0) {
		bool moved = false;

		for (int l = 0; l < LANES; l++) {
			int r;

			if (open[l] == 0)
				continue;
			r = part(hand, l) == 2 ? take_one(l) : send_one(l, part(hand, l));
			if (r == 0)
				continue;
			moved = true;
			crew_tick(tick);
			if (r == 2) {
				open[l]--;
				left--;
			}
		}
		if (!moved)
			await(hand, open);
	}
}

static void *
second_hand(void *arg)
{
	int *hand = arg;

	play(*hand, *hand - 2);
	return NULL;
}

/* Two workers of two threads each, or four threads. */
static void
work(int who, void *arg)
{
	const bool *forked = arg;
	pthread_t t;
	int other = who + 2;

	if (!*forked) {
		play(who, who);
		return;
	}
	if (pthread_create(&t, NULL, second_hand, &other))
		DIE("pthread_create");
	play(who, who);
	pthread_join(t, NULL);
}

/* Instances come and go meanwhile, on a pipe of their own; *longest in ms. */
static long
plumb(const char *name, long ms, long *longest)
{
	long end = stress_now() + ms, n = 0;
	int fd[2];

	*longest = 0;
	MUST(str_pipe(fd));
	for (; stress_now() < end; n++) {
		long start = stress_now();

		MUST(str_ioctl(fd[n % 2], I_PUSH, name));
		MUST(str_ioctl(fd[n % 2], I_POP, 0));
		if (stress_now() - start > *longest)
			*longest = stress_now() - start;
		stress_sleep(1);
	}
	MUST(str_close(fd[0]));
	MUST(str_close(fd[1]));
	return n;
}

static void
pipes_make(const char *name)
{
	for (int i = 0; i < PIPES; i++) {
		int *fd = world->w_fd[i];

		MUST(str_pipe(fd));
		for (int end = 0; end < 2; end++) {
			MUST(str_ioctl(fd[end], I_SET_LOWAT, LOWAT));
			MUST(str_ioctl(fd[end], I_SET_HIWAT, HIWAT));
			MUST(str_ioctl(fd[end], I_SRDOPT, RMSGD));
			MUST(str_fcntl(fd[end], F_SETFL, O_NONBLOCK));
		}
		/* Once, twice one after the other, or once at each end. */
		MUST(str_ioctl(fd[0], I_PUSH, name));
		if (i % 4 == 2)
			MUST(str_ioctl(fd[0], I_PUSH, name));
		if (i % 4 == 3)
			MUST(str_ioctl(fd[1], I_PUSH, name));
	}
}

/* Have all on one CPU, or on those of before. */
static void
crowd(bool together)
{
	static cpu_set_t all;
	cpu_set_t one;

	if (!together) {
		sched_setaffinity(0, sizeof(all), &all);
		return;
	}
	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		return;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void
traffic(bool forked, int flags, long ms)
{
	const char *name = module("guard", &guard_tab, flags);
	struct crew c;
	unsigned long sum = 0;
	long plumbed, longest;

	world->w_flags = flags;
	atomic_store(&world->w_stop, false);
	memset(world->w_sent, 0, sizeof(world->w_sent));
	memset(world->w_got, 0, sizeof(world->w_got));
	pipes_make(name);
	crew_start(&c, forked, forked ? 2 : HANDS, work, &forked, world->w_fd[3],
	    "stress_perim");
	plumbed = plumb(name, ms, &longest);
	atomic_store(&world->w_stop, true);
	crew_join(&c, 0, c.c_n);
	crew_end(&c);
	for (int l = 0; l < LANES; l++) {
		for (int w = 0; w < 2; w++) {
			sum += world->w_sent[l][w];
			if (world->w_sent[l][w] != world->w_got[l][w])
				DIE("lane %d, writer %d: %lu sent, %lu came", l, w,
				    world->w_sent[l][w], world->w_got[l][w]);
		}
	}
	if (longest > MUST_PLUMB_MS)
		DIE("%s: a push and pop took %ld ms", name, longest);
	printf(
	    "stress_perim: %s, %s: %lu messages, %ld times pushed and popped, in %ld ms at most\n",
	    forked ? "fork" : "threads", name, sum, plumbed, longest);
	fflush(stdout);
	for (int i = 0; i < PIPES; i++) {
		MUST(str_close(world->w_fd[i][0]));
		MUST(str_close(world->w_fd[i][1]));
	}
}

/* ---- a holder that stops -------------------------------------------------- */

static struct module_info hold_info = {4101, "hold", 0, INFPSZ, HIWAT, LOWAT};
static struct qinit hold_init = {
    hold_put, NULL, plain_open, plain_close, NULL, &hold_info, NULL};
static struct streamtab hold_tab = {&hold_init, &hold_init, NULL, NULL};
static struct qinit keep_init = {
    keep_put, keep_srv, plain_open, plain_close, NULL, &hold_info, NULL};
static struct streamtab keep_tab = {&keep_init, &keep_init, NULL, NULL};

struct trial {
	const char *t_what;
	const char *t_stem;
	struct streamtab *t_tab;
	int t_flags;
	bool t_same; /* the writer uses the very stream where the holder stopped */
	int t_size;  /* of its messages */
};

static const struct trial trials[] = {
    {"the module, by blocks", "hold", &hold_tab, D_MTPERMOD, false, 1},
    {"the module, by bytes", "hold", &hold_tab, D_MTPERMOD, false, 90},
    {"the pair", "hold", &hold_tab, D_MTQPAIR, true, 90},
    {"the queue", "hold", &hold_tab, D_MTPERQ, true, 1},
    {"the module, in service", "keep", &keep_tab, D_MTPERMOD, false, 90},
    {"the pair, in service", "keep", &keep_tab, D_MTQPAIR, true, 1},
};

/* The holder: a process that stops, or a thread or process that waits. */
static void *
holder(void *arg)
{
	const int *fd = arg;

	if (str_write(*fd, "!", 1) != 1)
		DIE("str_write: %s", strerrorname_np(errno));
	return NULL;
}

/* The events come in time; a waiter of its own must be woken. */
static void *
waiter(void *arg)
{
	struct pollfd f = {*(const int *)arg, POLLOUT, 0};
	int n = str_poll(&f, 1, STALL_MS);

	return (void *)(intptr_t)(n == 1 && f.revents == POLLOUT);
}

/* Write until refused; messages carry their number. */
static int
write_all(int fd, int size, int from_nr)
{
	char buf[100];
	int n;

	for (n = 0; n < 100 * HIWAT; n++) {
		ssize_t r;

		memset(buf, (from_nr + n) & 0x1f, sizeof(buf));
		r = str_write(fd, buf, (size_t)size);
		if (r == -1 && errno == EAGAIN)
			return n;
		if (r != size)
			DIE("str_write gives %zd (%s)", r, strerrorname_np(errno));
	}
	DIE("%d messages of %d bytes were parked", n, size);
}

/* All of them come, in order; returns when the stream is empty. */
static void
read_all(int fd, int count, int size, int holders)
{
	long end = stress_now() + STALL_MS;
	int n = 0, hipri = 0;

	while (n < count || hipri < 1 || holders > 0) {
		struct pollfd f = {fd, POLLIN | POLLPRI, 0};
		char cbuf[8], buf[100];
		struct strbuf c = {sizeof(cbuf), 0, cbuf}, d = {sizeof(buf), 0, buf};
		int band = 0, flags = MSG_ANY;

		if (stress_now() > end)
			DIE("%d of %d messages came, %d of high priority", n, count,
			    hipri);
		if (getpmsg(fd, &c, &d, &band, &flags) == -1) {
			if (errno != EAGAIN)
				DIE("getpmsg: %s", strerrorname_np(errno));
			str_poll(&f, 1, 100);
			continue;
		}
		if (flags == MSG_HIPRI) {
			hipri++;
		} else if (holders > 0 && d.len == 1 && buf[0] == '!') {
			holders--;
		} else {
			if (d.len != size || buf[0] != (n & 0x1f))
				DIE("message %d: %d bytes, first %d", n, d.len, buf[0]);
			n++;
		}
	}
}

static void
set_marks(int fd)
{
	MUST(str_ioctl(fd, I_SET_LOWAT, LOWAT));
	MUST(str_ioctl(fd, I_SET_HIWAT, HIWAT));
}

static void
refused(int fd, int size)
{
	struct pollfd f = {fd, POLLOUT, 0};
	char buf[100] = {0};

	if (str_poll(&f, 1, 0) != 0)
		DIE("a full stream polls %#x", (unsigned)f.revents);
	if (str_write(fd, buf, (size_t)size) != -1 || errno != EAGAIN)
		DIE("a full stream is written");
}

static void
hold_trial(const struct trial *t, bool forked, bool by_signal, int ms)
{
	const char *name = module(t->t_stem, t->t_tab, t->t_flags);
	struct strbuf ctl = {.len = 1, .buf = (char[]){'H'}};
	int a[2], b[2], n, status;
	pthread_t th, wt;
	pid_t pid = 0;
	void *woken;
	long end;

	atomic_store(&world->w_held, false);
	world->w_by_signal = by_signal;
	MUST(pipe(world->w_gate));
	MUST(str_pipe(a));
	MUST(str_ioctl(a[0], I_PUSH, name));
	if (t->t_same) {
		MUST(b[0] = str_dup(a[0]));
		MUST(b[1] = str_dup(a[1]));
	} else {
		MUST(str_pipe(b));
		MUST(str_ioctl(b[0], I_PUSH, name));
	}
	set_marks(b[1]);
	MUST(str_fcntl(b[0], F_SETFL, O_NONBLOCK));
	MUST(str_fcntl(b[1], F_SETFL, O_NONBLOCK));

	fflush(NULL);
	if (forked && (pid = (pid_t)MUST(fork())) == 0) {
		holder(&a[0]);
		_exit(0);
	}
	if (!forked && pthread_create(&th, NULL, holder, &a[0]))
		DIE("pthread_create");
	for (end = stress_now() + STALL_MS; !atomic_load(&world->w_held);)
		if (stress_sleep(1), stress_now() > end)
			DIE("%s: the holder is not inside", t->t_what);
	if (by_signal && (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status)))
		DIE("%s: the holder has not stopped", t->t_what);

	n = write_all(b[0], t->t_size, 0);
	if (n > 2 * HIWAT || n * t->t_size > 2 * HIWAT)
		DIE("%s: %d messages of %d bytes were accepted, high-water mark %d",
		    t->t_what, n, t->t_size, HIWAT);
	if (n == 0)
		DIE("%s: nothing was accepted", t->t_what);
	MUST(putmsg(b[0], &ctl, NULL, RS_HIPRI));
	for (end = stress_now() + ms; stress_now() < end; stress_sleep(10))
		refused(b[0], t->t_size);
	/* The other way is another queue. */
	if (t->t_flags == D_MTPERQ) {
		char c;

		if (MUST(str_write(b[1], "u", 1)) != 1 ||
		    MUST(str_read(b[0], &c, 1)) != 1)
			DIE("%s: the other queue is held too", t->t_what);
	}
	if (pthread_create(&wt, NULL, waiter, &b[0]))
		DIE("pthread_create");
	stress_sleep(20);

	if (by_signal)
		MUST(kill(pid, SIGCONT));
	else if (write(world->w_gate[1], "g", 1) != 1)
		DIE("write");
	read_all(b[1], n, t->t_size, t->t_same);
	pthread_join(wt, &woken);
	if (woken == NULL)
		DIE("%s: the writer was not told that there is room", t->t_what);
	if (write_all(b[0], t->t_size, 0) < 1)
		DIE("%s: there is no room", t->t_what);
	if (forked) {
		MUST(waitpid(pid, &status, 0));
		if (status != 0)
			DIE("%s: the holder ends with %#x", t->t_what, (unsigned)status);
	} else {
		pthread_join(th, NULL);
	}
	MUST(str_close(a[0]));
	MUST(str_close(a[1]));
	MUST(str_close(b[0]));
	MUST(str_close(b[1]));
	close(world->w_gate[0]);
	close(world->w_gate[1]);
	printf("stress_perim: %s, %s held for %d ms: %d messages of %d bytes accepted\n",
	    by_signal	 ? "stopped process"
		: forked ? "waiting process"
			 : "waiting thread",
	    t->t_what, ms, n, t->t_size);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	static const int flags[] = {D_MTPERMOD, D_MTQPAIR, D_MTPERQ};
	bool threads, forks;
	long ms;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	world = shared_memory(sizeof(*world));
	ms = stress_ms() / (3 * (threads + forks) + threads);
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		if (threads)
			hold_trial(&trials[i], false, false, 50);
		if (forks) {
			hold_trial(&trials[i], true, false, 50);
			hold_trial(&trials[i], true, true, i == 0 ? 1000 : 200);
		}
	}
	/* On one CPU who leaves a perimeter is not relieved by chance. */
	crowd(true);
	if (threads)
		traffic(false, D_MTPERMOD, ms);
	crowd(false);
	for (int i = 0; i < 3; i++) {
		if (threads)
			traffic(false, flags[i], ms);
		if (forks)
			traffic(true, flags[i], ms);
	}
	return 0;
}
