/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_hands.c [fork]: a file of which a dead process may have left a reference
 * behind is looked at again and again by who buries the dead; what the living do with
 * its references meanwhile must not make him believe that nobody has it any more.
 *
 * In each round victims are killed that duplicate and close one end of a pipe.  Then
 * its last descriptor is closed by one thread while another has it dup2()ed, and it is
 * linked below a multiplexor, its descriptor closed, and the link taken off, so that
 * the only reference goes from hand to hand.  The stream must work to the end, and,
 * where it is certain that the deaths left no reference, nothing be given up.
 */
#include "crashlib.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { VICTIMS = 2, PASSES = 20, TOLD_MS = 30000 };

static bool points; /* this is a debug build */

static size_t
leaked(void)
{
	struct ustr_memstat ms;

	MUST(ustr_memstat(&ms));
	return ms.ms_leaked;
}

static void
burier(const atomic_bool *stop)
{
	while (!atomic_load(stop)) {
		ustr_service(0);
		sched_yield();
	}
	_exit(0);
}

/*
 * Killed with the file in its hands: where points are marked, at the first of a
 * close, when no reference has changed yet; else most of the time.
 */
static void
victim(int fd)
{
	pid_t pid;

	fflush(NULL);
	pid = (pid_t)MUST(fork());
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			int copy = str_dup(fd);

			(void)ustr_tune("crashpoint", 1);
			(void)str_close(copy);
		}
	}
	stress_sleep(points ? 5 : 1);
	MUST(kill(pid, SIGKILL));
	MUST(waitpid(pid, NULL, 0));
	while (ustr_service(0) > 0)
		;
}

static void
flows(int to, int from, const char *when)
{
	char c;

	if (str_write(to, "x", 1) != 1)
		DIE("%s: str_write: %s", when, strerrorname_np(errno));
	if (str_read(from, &c, 1) != 1)
		DIE("%s: str_read: %s", when, strerrorname_np(errno));
}

/* ---- a dup2 and a close ----------------------------------------------------------- */

static struct {
	atomic_int round, done;
	atomic_int fd;
} closer;

static void *
close_it(void *arg)
{
	for (int n = 1;; n++) {
		while (atomic_load(&closer.round) < n)
			sched_yield();
		if (atomic_load(&closer.fd) == -1)
			return arg;
		(void)str_close(atomic_load(&closer.fd));
		atomic_store(&closer.done, n);
	}
}

static void
begin_close(int fd)
{
	atomic_store(&closer.fd, fd);
	atomic_fetch_add(&closer.round, 1);
}

/* The end of fd; its one descriptor afterwards. */
static int
swap(int fd)
{
	int to = (int)MUST(str_dup(fd));

	begin_close(fd);
	/* Too late: then fd was closed first, and to is as it was. */
	if (str_dup2(fd, to) == -1 && errno != EBADF)
		DIE("str_dup2: %s", strerrorname_np(errno));
	while (atomic_load(&closer.done) < atomic_load(&closer.round))
		sched_yield();
	return to;
}

/* ---- a link ------------------------------------------------------------------------- */

/* Linked, its descriptor closed, unlinked: that closes it, and nothing is lost. */
static void
hand_over(int fd, int mate)
{
	int mux = (int)MUST(str_open("/dev/streams/clone/mux", O_RDWR | O_NONBLOCK)), id;
	char c;

	id = (int)MUST(str_ioctl(mux, I_LINK, fd));
	MUST(str_close(fd));
	MUST(str_ioctl(mux, I_UNLINK, id));
	/* A victim that died at another point may have left a reference. */
	for (long until = stress_now() + TOLD_MS; points && str_read(mate, &c, 1) != 0;) {
		if (stress_now() > until)
			DIE("the other end is not told of the close: %s", strerrorname_np(errno));
		sched_yield(); /* whoever buries a victim may be in the way of the close */
	}
	MUST(str_close(mux));
}

/* ---- rounds ---------------------------------------------------------------------------- */

static void
play(long round)
{
	size_t before;
	int fd[2];

	MUST(str_pipe(fd));
	crash_nonblock(fd);
	for (int i = 0; i < VICTIMS; i++)
		victim(fd[0]);
	flows(fd[1], fd[0], "after the deaths");
	before = leaked();
	for (int i = 0; i < PASSES; i++) {
		fd[0] = swap(fd[0]);
		flows(fd[1], fd[0], "after a dup2");
	}
	hand_over(fd[0], fd[1]);
	if (points && leaked() != before)
		DIE("round %ld: %zu bytes were given up", round, leaked() - before);
	MUST(str_close(fd[1]));
}

int
main(int argc, char **argv)
{
	atomic_bool *stop = shared_memory(sizeof(*stop));
	bool threads, forks;
	pthread_t thread;
	long round = 0, end;
	pid_t pid;

	/* The other process buries the dead all the time; read when it starts. */
	if (getenv("USTREAMS_HELPER") == NULL) {
		setenv("USTREAMS_HELPER", "0", 1);
		setenv("USTREAMS_JITTER", "1", 1);
		execv("/proc/self/exe", argv);
	}
	if (!stress_modes(argc, argv, &threads, &forks) || !forks)
		return 77;
	signal(SIGPIPE, SIG_IGN);
	points = ustr_tune("crashpoint", 0) == 0;
	MUST(ustr_tunable("nstrpush"));
	pid = (pid_t)MUST(fork());
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		burier(stop);
	}
	if (pthread_create(&thread, NULL, close_it, NULL) != 0)
		DIE("pthread_create");
	for (end = stress_now() + stress_ms(); stress_now() < end; round++)
		play(round);
	begin_close(-1);
	pthread_join(thread, NULL);
	atomic_store(stop, true);
	MUST(waitpid(pid, NULL, 0));
	printf("stress_hands: %ld rounds\n", round);
	return 0;
}
