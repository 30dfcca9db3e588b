/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_join.c [fork]: programs that are no relatives join an instance, do
 * something with each other and leave, a thousand rounds of it.
 *
 * In each round two programs come at random times: one goes through its round
 * whatever the other does, and must come to its end in time with every call
 * giving something sensible; the other is killed at a random instant, in debug
 * builds also at the n-th point of the library from its first call on, while it
 * makes or joins the instance too.  Half of the time a resident stays in the
 * instance all along and watches that its own streams are not disturbed and that
 * memory does not grow beyond what was counted as given up; the other half nobody
 * stays, so that the next one is the first to come, and at times the instance is
 * removed in between.
 *
 * 1,000 rounds (USTR_STRESS_COUNT), but no longer than 30 s (USTR_STRESS_SECONDS).
 */
#include "crashlib.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/stream.h>
#include <sys/wait.h>

enum { ROUNDS = 1000, SECONDS = 30, LATE_MS = 20000, GROWTH = 2 * 1024 * 1024, WATCH = 100 };

static char dir[64], fifo[80], name[80];
static unsigned int seed;

static unsigned int
rnd(unsigned int n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 10) % n;
}

static void
set_stage(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%.40s/joinXXXXXX", tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(dir) == NULL)
		DIE("mkdtemp: %s", strerror(errno));
	snprintf(fifo, sizeof(fifo), "%s/f", dir);
	snprintf(name, sizeof(name), "%s/n", dir);
	MUST(mkfifo(fifo, 0600));
	close((int)MUST(open(name, O_CREAT | O_WRONLY, 0600)));
	setenv("USTREAMS_DIR", dir, 1);
	setenv("USTREAMS_INSTANCE", "joint", 1);
}

/* ---- what a program does in its round ------------------------------------------ */

static void
must_be_up(void)
{
	if (ustr_tunable("nstrpush") == -1)
		DIE("joining: %s (%s)", strerrorname_np(errno), ustr_instancefault());
}

/* What others leave behind may be broken, or gone. */
static void
sensible(long r, const char *what)
{
	static const int ok[] = {EAGAIN, EIO, ENXIO, EPIPE, ENOENT, EBUSY, EINVAL, EBADMSG,
	    ENOSTR, ETIME, EACCES};

	if (r >= 0)
		return;
	for (size_t i = 0; i < sizeof(ok) / sizeof(ok[0]); i++)
		if (errno == ok[i])
			return;
	DIE("%s: %s", what, strerrorname_np(errno));
}

static void
use_fifo(void)
{
	char buf[500] = {0};
	int fd = str_open(fifo, (rnd(2) ? O_RDWR : rnd(2) ? O_RDONLY : O_WRONLY) | O_NONBLOCK);

	sensible(fd, "str_open of the FIFO");
	for (int i = 0; fd >= 0 && i < 20; i++) {
		if (rnd(2)) {
			ssize_t r = str_write(fd, buf, 1 + rnd(sizeof(buf)));

			sensible(r == -1 && errno == EBADF ? 0 : r, "str_write");
		} else {
			ssize_t r = str_read(fd, buf, sizeof(buf));

			sensible(r == -1 && errno == EBADF ? 0 : r, "str_read");
		}
	}
	if (fd >= 0)
		MUST(str_close(fd));
}

static void
use_name(void)
{
	char buf[500] = {0};
	int fd[2], a;

	MUST(str_pipe(fd));
	crash_nonblock(fd);
	sensible(str_ioctl(fd[0], I_PUSH, rnd(2) ? "srvmod" : "pipemod"), "I_PUSH");
	sensible(fattach(fd[0], name), "fattach");
	a = str_open(name, O_RDWR | O_NONBLOCK);
	sensible(a, "str_open of the name");
	for (int i = 0; a >= 0 && i < 10; i++) {
		sensible(str_write(a, buf, 1 + rnd(sizeof(buf))), "str_write to the name");
		sensible(str_read(a, buf, sizeof(buf)), "str_read from the name");
		sensible(str_read(fd[1], buf, sizeof(buf)), "str_read from the pipe");
	}
	if (a >= 0) {
		sensible(str_ioctl(a, I_PUSH, "nullmod"), "I_PUSH on the name");
		MUST(str_close(a));
	}
	if (rnd(2))
		sensible(fdetach(name), "fdetach");
	MUST(str_close(fd[0]));
	MUST(str_close(fd[1]));
}

static void
use_module(void)
{
	static bool registered;
	char buf[200] = {0};
	int fd;

	/* The other program may have brought it already: the same code. */
	if (!registered)
		MUST(ustr_register_module("crashq", &crash_tab, D_MP | D_MTQPAIR));
	registered = true;
	fd = str_open(fifo, O_RDWR | O_NONBLOCK);
	sensible(fd, "str_open of the FIFO");
	if (fd < 0)
		return;
	sensible(str_ioctl(fd, I_PUSH, "crashq"), "I_PUSH of one's own");
	for (int i = 0; i < 10; i++) {
		sensible(str_write(fd, buf, 1 + rnd(sizeof(buf))), "str_write");
		sensible(str_read(fd, buf, sizeof(buf)), "str_read");
	}
	sensible(str_ioctl(fd, I_POP, 0), "I_POP");
	MUST(str_close(fd));
}

static void
use_device(void)
{
	char buf[100] = {0};
	int fd = (int)MUST(str_open("/dev/streams/clone/loop", O_RDWR | O_NONBLOCK));
	int echo = (int)MUST(str_open("/dev/streams/clone/echo", O_RDWR | O_NONBLOCK));

	for (int i = 0; i < 10; i++) {
		MUST(str_write(echo, buf, sizeof(buf)));
		MUST(str_read(echo, buf, sizeof(buf)));
	}
	MUST(str_close(echo));
	MUST(str_close(fd));
}

/* One's own streams, one of them from its start, and perhaps another one's. */
static void
use_recorder(void)
{
	struct ustr_event ev;
	unsigned int id;
	ustr_tap_t *tap;
	int fd[2];
	char c;

	MUST(ustr_tune("trace", rnd(2) ? 64 : 0));
	MUST(str_pipe(fd));
	MUST(ustr_tune("trace", 0));
	crash_nonblock(fd);
	MUST(ustr_trace(fd[0], 128));
	id = (unsigned int)MUST(ustr_streamid(fd[1]));
	tap = ustr_tap_open(id - rnd(id < 6 ? id : 6), 64);
	sensible(tap != NULL ? 0 : -1, "ustr_tap_open");
	MUST(str_write(fd[1], "x", 1));
	MUST(str_read(fd[0], &c, 1));
	if (tap != NULL)
		sensible(ustr_tap_read(tap, &ev), "ustr_tap_read");
	if (rnd(2))
		MUST(ustr_trace(fd[0], 0));
	ustr_tap_close(tap);
	MUST(str_close(fd[0]));
	MUST(str_close(fd[1]));
}

static void
perform(bool long_one)
{
	static void (*const acts[])(void) = {use_fifo, use_name, use_module, use_device,
	    use_recorder};

	must_be_up();
	do
		acts[rnd(sizeof(acts) / sizeof(acts[0]))]();
	while (long_one || rnd(3) != 0);
}

/* ---- programs ---------------------------------------------------------------------- */

static pid_t
program(unsigned int which)
{
	pid_t pid = fork();

	if (pid == -1)
		DIE("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		seed = seed * 2654435761u + which;
	}
	return pid;
}

/* Ends by itself, one way or another. */
static pid_t
survivor(unsigned int which)
{
	pid_t pid = program(which);

	if (pid != 0)
		return pid;
	stress_sleep((int)rnd(8));
	perform(false);
	if (rnd(2))
		exit(0);
	_exit(0);
}

static pid_t
victim(unsigned int which)
{
	pid_t pid = program(which);

	if (pid != 0)
		return pid;
	/* Refused where there are no such points. */
	if (rnd(2))
		(void)ustr_tune("crashpoint", 1 + rnd(rnd(2) ? 300 : 20000));
	perform(true);
	_exit(0);
}

/* Its exit status, -1: killed; in time, or the program ends. */
static int
end_of(pid_t pid, const char *what, long round)
{
	long until = stress_now() + LATE_MS;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (stress_now() > until) {
			kill(pid, SIGABRT);
			DIE("round %ld: the %s does not come to its end", round, what);
		}
		stress_sleep(1);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---- the resident ------------------------------------------------------------------- */

struct watch {
	atomic_bool w_stop;
	atomic_ulong w_looks;
};
static struct watch *watch;

static size_t
kept(void)
{
	struct ustr_memstat ms;

	MUST(ustr_memstat(&ms));
	return ms.ms_used > ms.ms_leaked ? ms.ms_used - ms.ms_leaked : 0;
}

static void
resident(void)
{
	char out[64], in[64];
	size_t before = 0;
	int fd[2];

	must_be_up();
	MUST(str_pipe(fd));
	crash_nonblock(fd);
	MUST(str_ioctl(fd[0], I_PUSH, "srvmod"));
	while (!atomic_load(&watch->w_stop)) {
		unsigned long n = atomic_fetch_add(&watch->w_looks, 1) + 1;
		ssize_t r;

		memset(out, (int)n, sizeof(out));
		MUST(str_write(fd[0], out, sizeof(out)));
		while ((r = str_read(fd[1], in, sizeof(in))) == -1 && errno == EAGAIN)
			stress_sleep(1);
		if (r != sizeof(in) || memcmp(in, out, sizeof(in)) != 0)
			DIE("the resident's own stream was disturbed: %ld %s", (long)r,
			    r < 0 ? strerrorname_np(errno) : "");
		if (n == WATCH)
			before = kept();
		if (n > WATCH && kept() > before + GROWTH)
			DIE("%zu bytes more in use than after %d looks", kept() - before, WATCH);
		stress_sleep(5);
	}
	exit(0);
}

static pid_t
stay(void)
{
	pid_t pid;

	atomic_store(&watch->w_stop, false);
	atomic_store(&watch->w_looks, 0);
	pid = program(0);
	if (pid == 0)
		resident();
	return pid;
}

static void
leave(pid_t pid)
{
	int status;

	atomic_store(&watch->w_stop, true);
	status = end_of(pid, "resident", 0);
	if (status != 0)
		DIE("the resident ends with %d", status);
}

/* ---- rounds --------------------------------------------------------------------------- */

static void
play(long round)
{
	bool victim_first = rnd(2);
	pid_t v = victim_first ? victim(1) : -1, s = survivor(2);
	int status;

	if (!victim_first)
		v = victim(1);
	stress_sleep((int)rnd(12));
	kill(v, SIGKILL);
	status = end_of(v, "victim", round);
	if (status != -SIGKILL)
		DIE("round %ld: the victim ends with %d", round, status);
	status = end_of(s, "survivor", round);
	if (status != 0)
		DIE("round %ld: the survivor ends with %d", round, status);
}

/* Nobody is there: it may be removed, if it was made at all. */
static void
remove_it(long round)
{
	char why[1024];

	if (ustr_instance_remove("joint", 0, why, sizeof(why)) == -1 && errno != ENOENT)
		DIE("round %ld: removing: %s", round, why);
}

static void
strike_stage(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command) != 0)
		DIE("cannot remove %s", dir);
}

int
main(int argc, char **argv)
{
	long rounds = stress_count(ROUNDS), end, round;
	bool threads, forks;
	pid_t there = 0;

	if (!stress_modes(argc, argv, &threads, &forks) || !forks) {
		puts("stress_join: skipped (threads only, or heap=malloc)");
		return 77;
	}
	end = stress_now() + stress_ms_or(SECONDS);
	seed = (unsigned int)stress_now();
	set_stage();
	watch = shared_memory(sizeof(*watch));
	printf("seed %u\n", seed);
	fflush(stdout);
	for (round = 0; round < rounds && stress_now() < end; round++) {
		if (round % 50 == 0 && there == 0)
			there = stay();
		else if (round % 50 == 25) {
			leave(there);
			there = 0;
		}
		play(round);
		if (there == 0 && rnd(10) == 0)
			remove_it(round);
	}
	if (there != 0)
		leave(there);
	printf("%ld rounds\n", round);
	strike_stage();
	return 0;
}
