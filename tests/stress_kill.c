/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_kill.c: holders of a pipe end that die while they sleep in a call or
 * are outside the library, by kill -9, by exec (of a process with one thread,
 * or of one where others sleep in the library) and by _exit: the peer, this
 * process or a sibling of the victim, is told within 200 ms, no memory to speak of and no
 * slot is lost.  40 deaths of each kind (USTR_STRESS_COUNT, at most 200).
 *
 * The machine may be busy: a metronome measures how late it runs a thread that
 * is due, and that is granted on top; and one in fifty may take a second.
 */
#include "stresslib.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { LIMIT_MS = 200, SLACK = 128 * 1024 };
/*
 * The library's own thread ends with its process wherever it is, on a busy machine now
 * and then with a lock: so much may be given up, which is less than 2 KB a death.
 */
enum { SELDOM_LOST = 64 * 1024 };

/* How the victim dies, where it is then, and how the peer waits. */
enum death { KILLED, EXECS, THREAD_EXECS, UNDER_EXITS, DEATHS };
enum where { READING, POLLING, WRITING, GETTING, PAUSING, SPINNING, WHERES };
enum peer { READS, POLLS, GETS, WRITES, PEERS };

static const char *const death_names[] = {
    "is killed", "execs", "execs in a thread", "_exits"};
static const char *const where_names[] = {
    "in str_read", "in str_poll", "in str_write", "in getmsg", "in pause", "spinning"};
static const char *const peer_names[] = {"str_read", "str_poll", "getmsg", "str_write"};

static struct shared {
	atomic_int s_state;    /* RUNNING... of the victim */
	atomic_long s_told;    /* us: when the peer was told */
	atomic_long s_dead;    /* us: when the victim was dead */
	atomic_bool s_waiting; /* the peer is about to wait */
	atomic_int s_tid;      /* of the victim's thread that stays in a call */
} * shared;
enum { STARTING, READY, GO };

static long
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000L + ts.tv_nsec / 1000;
}

/* ---- how late this machine is -------------------------------------------- */

static atomic_long latest; /* us, since it was last set to 0 */
static atomic_ulong beats;

static void *
metronome(void *arg)
{
	(void)arg;
	for (;;) {
		long start = now_us(), late;

		stress_sleep(10);
		late = now_us() - start - 10000;
		if (late > atomic_load(&latest))
			atomic_store(&latest, late);
		atomic_fetch_add(&beats, 1);
	}
	return NULL;
}

/* After a standstill of all the metronome may not have run yet. */
static long
lateness(void)
{
	unsigned long n = atomic_load(&beats);

	while (atomic_load(&beats) == n)
		stress_sleep(1);
	return atomic_load(&latest);
}

/* ---- the victim ------------------------------------------------------------ */

struct round {
	int r_fd[2]; /* the victim holds r_fd[1], the peer r_fd[0] */
	enum death r_death;
	enum where r_where;
	enum peer r_peer;
	bool r_sibling; /* the peer is a process of its own */
	bool r_sleeps;	/* execs /bin/sleep, not /bin/true */
};

/* Until told to go; what the library knows of this process stays as it is. */
static void
stay(const struct round *r)
{
	char buf[100];
	struct strbuf c = {.maxlen = 8, .buf = buf}, d = {.maxlen = 8, .buf = buf};
	struct pollfd f = {r->r_fd[1], POLLIN, 0};
	int flags = 0;

	atomic_store(&shared->s_tid, (int)syscall(SYS_gettid));
	switch (r->r_where) {
	case READING:
		str_read(r->r_fd[1], buf, 1);
		break;
	case POLLING:
		str_poll(&f, 1, -1);
		break;
	case WRITING:
		/* The peer holds its end and does not read. */
		memset(buf, 0, sizeof(buf));
		while (str_write(r->r_fd[1], buf, 100) > 0)
			;
		break;
	case GETTING:
		getmsg(r->r_fd[1], &c, &d, &flags);
		break;
	case SPINNING:
		for (;;)
			if (atomic_load(&shared->s_state) == GO)
				return;
	default:
		pause();
	}
	/* Not reached while the peer is there. */
	pause();
}

static void *
stay_thread(void *arg)
{
	stay(arg);
	return NULL;
}

static void
run_program(const struct round *r)
{
	if (r->r_sleeps)
		execl("/bin/sleep", "sleep", "20", (char *)NULL);
	else
		execl("/bin/true", "true", (char *)NULL);
	_exit(3);
}

static _Noreturn void
victim(struct round *r)
{
	char buf[64] = {0};
	pthread_t t;

	MUST(str_close(r->r_fd[0]));
	/* Something to remember in every cache. */
	for (int i = 0; i < 20; i++)
		MUST(str_write(r->r_fd[1], buf, sizeof(buf)));
	atomic_store(&shared->s_state, READY);
	if (r->r_death == KILLED)
		stay(r);
	if (r->r_death == THREAD_EXECS && pthread_create(&t, NULL, stay_thread, r))
		DIE("pthread_create");
	while (atomic_load(&shared->s_state) != GO)
		stress_sleep(1);
	if (r->r_death == UNDER_EXITS)
		_exit(0);
	run_program(r);
	_exit(3);
}

/* ---- the peer -------------------------------------------------------------- */

static void
wait_told(const struct round *r)
{
	int fd = r->r_fd[0], flags = 0, n;
	char buf[64] = {0};
	struct strbuf c = {.maxlen = 8, .buf = buf}, d = {.maxlen = 8, .buf = buf};
	struct pollfd f = {fd, 0, 0};
	ssize_t got;

	atomic_store(&shared->s_waiting, true);
	switch (r->r_peer) {
	case READS:
		got = str_read(fd, buf, 1);
		if (got != 0)
			DIE("str_read gives %zd (%s)", got, strerrorname_np(errno));
		break;
	case POLLS:
		n = str_poll(&f, 1, 20000);
		if (n != 1 || f.revents != POLLHUP)
			DIE("str_poll gives %d, revents %#x", n, (unsigned)f.revents);
		break;
	case GETS:
		n = getmsg(fd, &c, &d, &flags);
		if (n != 0 || c.len != 0 || d.len != 0)
			DIE("getmsg gives %d (%s), lengths %d and %d", n,
			    strerrorname_np(errno), c.len, d.len);
		break;
	default:
		while ((got = str_write(fd, buf, sizeof(buf))) > 0)
			;
		if (errno != EPIPE)
			DIE("str_write: %s", strerrorname_np(errno));
	}
	atomic_store(&shared->s_told, now_us());
}

/* Nothing must be there to read when the peer waits for the end. */
static void
drain(int fd)
{
	char buf[4096];

	MUST(str_fcntl(fd, F_SETFL, O_NONBLOCK));
	while (str_read(fd, buf, sizeof(buf)) > 0)
		;
	MUST(str_fcntl(fd, F_SETFL, 0));
}

/* ---- a round --------------------------------------------------------------- */

/* How often the victim's thread has gone to sleep, if it sleeps now; or -1. */
static long
sleeps(pid_t pid)
{
	char path[60], line[200], state = 0;
	long n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid,
	    atomic_load(&shared->s_tid));
	if ((f = fopen(path, "re")) == NULL)
		return -1;
	while (fgets(line, sizeof(line), f) != NULL) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "voluntary_ctxt_switches: %ld", &n);
	}
	fclose(f);
	return state == 'S' ? n : -1;
}

/* It sleeps for good, not for a moment inside a call. */
static void
until_asleep(pid_t pid)
{
	long was = -1, now;
	int same = 0;

	for (int i = 0; i < 1000 && same < 3; i++) {
		stress_sleep(2);
		now = sleeps(pid);
		same = now != -1 && now == was ? same + 1 : 0;
		was = now;
	}
}

static void
until(bool (*done)(void), const char *what)
{
	for (long end = stress_now() + STALL_MS; !done(); stress_sleep(1))
		if (stress_now() > end)
			DIE("waited in vain until %s", what);
}

static bool
is_ready(void)
{
	return atomic_load(&shared->s_state) == READY;
}

static bool
peer_waits(void)
{
	return atomic_load(&shared->s_waiting);
}

/* A kernel pipe that only the victim holds, close on exec, ends when it does. */
static void *
witness(void *arg)
{
	struct pollfd f = {*(const int *)arg, POLLIN, 0};

	if (poll(&f, 1, 20000) != 1)
		DIE("the victim does not die");
	atomic_store(&shared->s_dead, now_us());
	return NULL;
}

static void *
peer_thread(void *arg)
{
	wait_told(arg);
	return NULL;
}

static void
ended(pid_t pid, bool killed)
{
	int status;

	MUST(waitpid(pid, &status, 0));
	if (killed ? !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL : status != 0)
		DIE("a process ended with %#x", (unsigned)status);
}

static pid_t
start_victim(struct round *r, int kp[2])
{
	pid_t pid = (pid_t)MUST(fork());

	if (pid != 0)
		return pid;
	close(kp[0]);
	victim(r);
}

/* In a process of its own, a sibling of the victim. */
static pid_t
start_sibling(const struct round *r)
{
	pid_t pid = (pid_t)MUST(fork());

	if (pid != 0)
		return pid;
	MUST(str_close(r->r_fd[1]));
	wait_told(r);
	_exit(0);
}

/* How long it took to tell the peer, in microseconds. */
static long
round_of(struct round *r)
{
	pid_t pid, sibling = 0;
	pthread_t wt, pt;
	int kp[2];

	memset(shared, 0, sizeof(*shared));
	MUST(str_pipe(r->r_fd));
	/* Little to write until it is full, so that a leak shows. */
	for (int i = 0; i < 2; i++) {
		MUST(str_ioctl(r->r_fd[i], I_SET_LOWAT, 1000));
		MUST(str_ioctl(r->r_fd[i], I_SET_HIWAT, 4000));
	}
	MUST(pipe2(kp, O_CLOEXEC));
	pid = start_victim(r, kp);
	close(kp[1]);
	until(is_ready, "the victim is ready");
	drain(r->r_fd[0]);
	if (r->r_sibling)
		sibling = start_sibling(r);
	MUST(str_close(r->r_fd[1]));
	if (r->r_sibling)
		MUST(str_close(r->r_fd[0]));
	else if (pthread_create(&pt, NULL, peer_thread, r))
		DIE("pthread_create");
	until(peer_waits, "the peer waits");
	if ((r->r_death == KILLED || r->r_death == THREAD_EXECS) &&
	    r->r_where != SPINNING)
		until_asleep(pid);
	else
		stress_sleep(5);
	if (atomic_load(&shared->s_told) != 0)
		DIE("the peer is told before the victim dies");
	if (pthread_create(&wt, NULL, witness, &kp[0]))
		DIE("pthread_create");
	atomic_store(&latest, 0);
	if (r->r_death == KILLED)
		MUST(kill(pid, SIGKILL));
	else
		atomic_store(&shared->s_state, GO);
	pthread_join(wt, NULL);
	if (r->r_sibling)
		ended(sibling, false);
	else
		pthread_join(pt, NULL);
	/* What it has become lives on. */
	if (r->r_sleeps)
		MUST(kill(pid, SIGKILL));
	ended(pid, r->r_death == KILLED || r->r_sleeps);
	close(kp[0]);
	if (!r->r_sibling)
		MUST(str_close(r->r_fd[0]));
	return atomic_load(&shared->s_told) - atomic_load(&shared->s_dead);
}

static unsigned int
random_below(unsigned int n)
{
	static unsigned int rnd = 4711;

	rnd = rnd * 1103515245u + 12345u;
	return (rnd >> 16) % n;
}

static struct round
random_round(enum death death)
{
	struct round r = {.r_death = death,
	    .r_where = random_below(WHERES),
	    .r_peer = random_below(PEERS),
	    .r_sibling = random_below(2),
	    .r_sleeps = random_below(2) && (death == EXECS || death == THREAD_EXECS)};

	/* A victim that fills the peer's end: the peer waits for room. */
	if (r.r_where == WRITING)
		r.r_peer = WRITES;
	/* These wait for an answer that a writing peer would give. */
	else if (r.r_peer == WRITES && r.r_where != PAUSING && r.r_where != SPINNING)
		r.r_peer = POLLS;
	return r;
}

static void
deaths_of(enum death death, long count)
{
	struct ustr_memstat warm, end;
	long worst = 0, sum = 0, granted = 0, slow = 0;

	for (long i = -10; i < count; i++) {
		struct round r = random_round(death);
		long us = round_of(&r), late = us > LIMIT_MS * 1000L ? lateness() : 0;

		if (i == 0)
			MUST(ustr_memstat(&warm));
		if (us > LIMIT_MS * 1000L + 4 * late)
			slow++;
		if (us > 1000000 + 4 * late || slow > 1 + count / 50)
			DIE("%ld: the victim %s %s: its %s in %s is told after %ld us "
			    "(the machine was %ld us late)",
			    i, death_names[r.r_death],
			    death == KILLED || death == THREAD_EXECS
				? where_names[r.r_where]
				: "outside",
			    r.r_sibling ? "sibling" : "parent", peer_names[r.r_peer], us,
			    late);
		if (us > LIMIT_MS * 1000L)
			granted++;
		worst = us > worst ? us : worst;
		sum += us;
	}
	MUST(ustr_memstat(&end));
	printf(
	    "stress_kill: %s, %ld times: told after %ld us, at most %ld (%ld late with "
	    "the machine); used %zu at first, %zu in the end, leaked %zu\n",
	    death_names[death], count, sum / (count + 10), worst, granted, warm.ms_used,
	    end.ms_used, end.ms_leaked);
	fflush(stdout);
	if (end.ms_used > warm.ms_used + SLACK)
		DIE("memory in use has grown by %zu bytes", end.ms_used - warm.ms_used);
	if (end.ms_leaked > SELDOM_LOST)
		DIE("%zu bytes were given up", end.ms_leaked);
}

int
main(int argc, char **argv)
{
	bool threads, forks;
	pthread_t t;
	long count;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	if (!forks) {
		printf("stress_kill: skipped (no sharing over fork here)\n");
		return 77;
	}
	count = stress_count(40);
	if (count > 200)
		count = 200;
	signal(SIGPIPE, SIG_IGN);
	shared = shared_memory(sizeof(*shared));
	if (pthread_create(&t, NULL, metronome, NULL))
		DIE("pthread_create");
	for (enum death d = 0; d < DEATHS; d++)
		deaths_of(d, count);
	return 0;
}
