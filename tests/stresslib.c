/* SPDX-License-Identifier: BSD-2-Clause */
/* stresslib.c: what the stress programs share. */
#include "stresslib.h"

#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

long
stress_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

pid_t
stress_fork(void)
{
	pid_t maker = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != maker)
			_exit(1); /* it died before that */
	}
	return pid;
}

void
stress_sleep(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
}

static long
env_number(const char *name, long fallback)
{
	const char *v = getenv(name);
	char *end;
	long n;

	if (v == NULL || *v == '\0')
		return fallback;
	n = strtol(v, &end, 10);
	if (*end != '\0' || n < 1) {
		fprintf(stderr, "%s=%s: not a number from 1 on\n", name, v);
		exit(2);
	}
	return n;
}

long
stress_ms_or(long seconds)
{
	return env_number("USTR_STRESS_SECONDS", seconds) * 1000;
}

long
stress_ms(void)
{
	return stress_ms_or(3);
}

long
stress_count(long fallback)
{
	return env_number("USTR_STRESS_COUNT", fallback);
}

struct quota
quota_share(long count, long seconds, long n, long least)
{
	bool counted = getenv("USTR_STRESS_COUNT") != NULL &&
	    getenv("USTR_STRESS_SECONDS") == NULL;

	return (struct quota){.q_most = stress_count(count) / n + 1,
	    .q_least = least,
	    .q_ms = counted ? LONG_MAX / 2 : stress_ms_or(seconds) / n};
}

void
quota_begin(struct quota *q)
{
	q->q_end = stress_now() + q->q_ms;
}

bool
quota_more(const struct quota *q, long done)
{
	return done < q->q_most && (done < q->q_least || stress_now() < q->q_end);
}

bool
stress_modes(int argc, char **argv, bool *threads, bool *forks)
{
	const char *only = getenv("USTR_TEST_THREADS_ONLY");
	const char *mode = argc > 1 ? argv[1] : getenv("USTR_STRESS_MODE");

	if (mode == NULL || *mode == '\0')
		mode = "both";
	*threads = strcmp(mode, "fork") != 0;
	*forks = strcmp(mode, "threads") != 0;
	if (*threads && *forks && strcmp(mode, "both") != 0) {
		fprintf(
		    stderr, "%s: mode %s: not threads, fork or both\n", argv[0], mode);
		exit(2);
	}
	if ((only != NULL && strcmp(only, "1") == 0) ||
	    strstr(ustr_version(), "heap=malloc") != NULL)
		*forks = false;
	if (!*threads && !*forks)
		printf("%s: skipped (no sharing over fork here)\n", argv[0]);
	return *threads || *forks;
}

_Noreturn void
stress_die(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: process %d: ", file, line, (int)getpid());
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	fflush(stderr);
	_exit(1);
}

long
stress_must(long r, const char *call, const char *file, int line)
{
	if (r == -1)
		stress_die(file, line, "%s: %s", call, strerrorname_np(errno));
	return r;
}

void *
shared_memory(size_t n)
{
	void *m = mmap(NULL, n, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (m == MAP_FAILED)
		DIE("mmap of %zu bytes: %s", n, strerrorname_np(errno));
	return m;
}

/* ---- workers ------------------------------------------------------------ */

static struct crew *crew; /* the one that runs */

/* Put the caller on the who-th of the CPUs it may use. */
static void
pin(int who)
{
	cpu_set_t set, one;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return;
	n = CPU_COUNT(&set);
	if (n < 2)
		return;
	who %= n;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set) || who-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

struct start {
	struct crew *s_crew;
	int s_who;
};

static void *
worker(void *arg)
{
	struct start *s = arg;
	struct crew *c = s->s_crew;
	int who = s->s_who;

	free(s);
	pin(who);
	c->c_fn(who, c->c_arg);
	atomic_store(&c->c_shared[who].done, true);
	return NULL;
}

void
crew_start(struct crew *c, bool forked, int n, void (*fn)(int, void *), void *arg,
    const int fd[2], const char *what)
{
	*c = (struct crew){.c_fork = forked,
	    .c_n = n,
	    .c_fn = fn,
	    .c_arg = arg,
	    .c_what = what,
	    .c_fd = fd};
	c->c_shared = shared_memory(sizeof(*c->c_shared) * MAXCREW);
	crew = c;
	fflush(NULL);
	for (int i = 0; i < n; i++) {
		struct start *s = malloc(sizeof(*s));

		if (s == NULL)
			DIE("no memory");
		*s = (struct start){c, i};
		if (!forked) {
			if (pthread_create(&c->c_thread[i], NULL, worker, s))
				DIE("pthread_create");
			continue;
		}
		c->c_pid[i] = (pid_t)MUST(fork());
		if (c->c_pid[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			worker(s);
			_exit(0);
		}
		free(s);
	}
}

void
crew_tick(int who)
{
	atomic_fetch_add_explicit(&crew->c_shared[who].progress, 1, memory_order_relaxed);
}

/* Draw both ends, end the children and the program. */
static _Noreturn void
give_up(struct crew *c, const char *why)
{
	fprintf(stderr, "%s (%s): %s\n", c->c_what, c->c_fork ? "fork" : "threads", why);
	for (int i = 0; i < c->c_n; i++)
		fprintf(stderr, "  worker %d: %lu steps%s\n", i,
		    atomic_load(&c->c_shared[i].progress),
		    atomic_load(&c->c_shared[i].done) ? ", done" : "");
	fflush(stderr);
	/* Should the dump hang as well. */
	signal(SIGALRM, SIG_DFL);
	alarm(10);
	for (int i = 0; i < 2; i++)
		ustr_dump(c->c_fd[i], stderr);
	fflush(stderr);
	for (int i = 0; c->c_fork && i < c->c_n; i++)
		if (c->c_pid[i] > 0)
			kill(c->c_pid[i], SIGKILL);
	_exit(1);
}

static bool
has_ended(struct crew *c, int i)
{
	int status;

	if (!c->c_fork)
		return atomic_load(&c->c_shared[i].done);
	if (c->c_pid[i] == 0)
		return true;
	if (waitpid(c->c_pid[i], &status, WNOHANG) == 0)
		return false;
	c->c_pid[i] = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		give_up(c, "a worker failed");
	return true;
}

void
crew_join(struct crew *c, int from, int to)
{
	unsigned long sum, last = 0;
	long moved = stress_now();
	bool all;

	for (;;) {
		sum = 0;
		all = true;
		for (int i = 0; i < c->c_n; i++)
			sum += atomic_load(&c->c_shared[i].progress);
		for (int i = from; i < to; i++)
			all = has_ended(c, i) && all;
		if (all)
			break;
		if (sum != last)
			moved = stress_now();
		last = sum;
		if (stress_now() - moved > STALL_MS)
			give_up(c, "no progress for 20 s");
		stress_sleep(2);
	}
	for (int i = from; !c->c_fork && i < to; i++)
		pthread_join(c->c_thread[i], NULL);
}

void
crew_end(struct crew *c)
{
	munmap(c->c_shared, sizeof(*c->c_shared) * MAXCREW);
	crew = NULL;
}

/* ---- traffic ------------------------------------------------------------ */

enum { MAGIC = 0x57ea, QUIT = 0xd1e, MAXMSG = 4096 };

struct head {
	unsigned int h_magic; /* MAGIC or QUIT */
	unsigned int h_writer;
	unsigned long h_seq;
	unsigned int h_len;  /* of the whole message */
	unsigned int h_fill; /* every byte after the head */
};

struct traffic *
traffic_make(const int fd[2], bool polling)
{
	struct traffic *t = shared_memory(sizeof(*t));

	t->t_fd[0] = fd[0];
	t->t_fd[1] = fd[1];
	t->t_polling = polling;
	MUST(str_fcntl(fd[0], F_SETFL, polling ? O_NONBLOCK : 0));
	MUST(str_fcntl(fd[1], F_SETFL, polling ? O_NONBLOCK : 0));
	MUST(str_ioctl(fd[1], I_SRDOPT, RMSGD));
	return t;
}

void
traffic_free(struct traffic *t)
{
	munmap(t, sizeof(*t));
}

static void
await(int fd, short events)
{
	struct pollfd f = {fd, events, 0};

	if (str_poll(&f, 1, -1) != 1 || f.revents != events)
		DIE("str_poll: revents %#x", (unsigned)f.revents);
}

static void
send_one(struct traffic *t, const void *buf, size_t n)
{
	for (;;) {
		ssize_t r = str_write(t->t_fd[0], buf, n);

		if (r == (ssize_t)n)
			return;
		if (r != -1 || errno != EAGAIN || !t->t_polling)
			DIE("str_write of %zu gives %zd (%s)", n, r,
			    r == -1 ? strerrorname_np(errno) : "");
		await(t->t_fd[0], POLLOUT);
	}
}

void
traffic_write(struct traffic *t, int who, int tick)
{
	unsigned char buf[MAXMSG];
	unsigned int rnd = (unsigned)who * 7919 + 17;
	unsigned long seq;

	for (seq = 0; seq < 1ul << SEQ_BITS; seq++) {
		struct head h = {MAGIC, (unsigned)who, seq, 0, 0};

		if (atomic_load_explicit(&t->t_stop, memory_order_relaxed))
			break;
		rnd = rnd * 1103515245u + 12345u;
		h.h_len = (unsigned)sizeof(h) +
		    (rnd >> 16) % ((rnd & 0x7000) ? 100 : MAXMSG - (unsigned)sizeof(h));
		h.h_fill = seq & 0xff;
		memcpy(buf, &h, sizeof(h));
		memset(buf + sizeof(h), (int)h.h_fill, h.h_len - sizeof(h));
		send_one(t, buf, h.h_len);
		crew_tick(tick);
	}
	t->t_sent[who] = seq;
}

static void
account(struct traffic *t, const struct head *h, unsigned long last[])
{
	unsigned char bit = (unsigned char)(1u << h->h_seq % 8);

	if (h->h_writer >= TWRITERS || h->h_seq >= 1ul << SEQ_BITS)
		DIE("a message of writer %u, number %lu", h->h_writer, h->h_seq);
	if (atomic_fetch_or(&t->t_seen[h->h_writer][h->h_seq / 8], bit) & bit)
		DIE("message %lu of writer %u came twice", h->h_seq, h->h_writer);
	if (h->h_seq + 1 <= last[h->h_writer])
		DIE("message %lu of writer %u after %lu", h->h_seq, h->h_writer,
		    last[h->h_writer] - 1);
	last[h->h_writer] = h->h_seq + 1;
}

void
traffic_read(struct traffic *t, int who, int tick)
{
	unsigned long last[TWRITERS] = {0};
	unsigned char buf[MAXMSG + 1];
	struct head h;

	for (;;) {
		ssize_t n = str_read(t->t_fd[1], buf, sizeof(buf));

		if (n == -1 && errno == EAGAIN && t->t_polling) {
			await(t->t_fd[1], POLLIN);
			continue;
		}
		if (n < (ssize_t)sizeof(h))
			DIE("str_read gives %zd (%s)", n,
			    n == -1 ? strerrorname_np(errno) : "");
		memcpy(&h, buf, sizeof(h));
		if (h.h_magic == QUIT)
			return;
		if (h.h_magic != MAGIC || h.h_len != n)
			DIE("message of %zd bytes: magic %#x, length %u", n, h.h_magic,
			    h.h_len);
		for (ssize_t i = sizeof(h); i < n; i++)
			if (buf[i] != h.h_fill)
				DIE("message %lu: byte %zd is %#x, not %#x", h.h_seq, i,
				    buf[i], h.h_fill);
		account(t, &h, last);
		t->t_read[who]++;
		crew_tick(tick);
	}
}

void
traffic_finish(struct traffic *t)
{
	struct head quit = {.h_magic = QUIT};

	for (int i = 0; i < TREADERS; i++)
		send_one(t, &quit, sizeof(quit));
}

unsigned long
traffic_check(struct traffic *t)
{
	unsigned long sent = 0, got = 0;
	int left;

	for (int w = 0; w < TWRITERS; w++) {
		sent += t->t_sent[w];
		for (unsigned long s = 0; s < t->t_sent[w]; s++)
			if (!(t->t_seen[w][s / 8] & 1u << s % 8))
				DIE("message %lu of writer %d is lost", s, w);
	}
	for (int r = 0; r < TREADERS; r++)
		got += t->t_read[r];
	if (got != sent)
		DIE("%lu messages sent, %lu read", sent, got);
	if (MUST(str_ioctl(t->t_fd[1], I_NREAD, &left)) != 0)
		DIE("messages are left");
	return sent;
}
