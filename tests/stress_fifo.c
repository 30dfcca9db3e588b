/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_fifo.c: processes that open, use and close a FIFO over and over, in
 * all modes, and are killed at any moment of it.  After each round nobody must
 * be counted who is dead: a writer that does not wait finds no reader, and a
 * reader and a writer of this process meet and exchange a message.
 */
#include "stresslib.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { VICTIMS = 3, ROUND_MS = 30, SOON_MS = 20000 };

static char path[64];

/* One open in a random mode, a little traffic, the close. */
static void
use(unsigned int rnd)
{
	static const int modes[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDONLY | O_NONBLOCK,
	    O_WRONLY | O_NONBLOCK, O_RDWR | O_NONBLOCK};
	int fd = str_open(path, modes[rnd % 6]);
	char buf[64] = {0};

	if (fd == -1)
		return;
	str_fcntl(fd, F_SETFL, O_NONBLOCK);
	if (str_write(fd, buf, sizeof(buf)) == -1)
		str_read(fd, buf, sizeof(buf));
	str_close(fd);
}

static _Noreturn void
victim(unsigned int rnd)
{
	for (;;) {
		rnd = rnd * 1103515245u + 12345u;
		use(rnd >> 16);
	}
}

static void
must_end(pid_t pid)
{
	int status;

	MUST(waitpid(pid, &status, 0));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		DIE("a victim ended with %#x", (unsigned)status);
}

/* Does a writer that does not wait find a reader? */
static bool
has_reader(void)
{
	int fd = str_open(path, O_WRONLY | O_NONBLOCK);

	if (fd == -1 && errno == ENXIO)
		return false;
	MUST(fd);
	MUST(str_close(fd));
	return true;
}

/* No writer either: a reader that does not wait finds the end of file. */
static bool
has_writer(void)
{
	int fd = (int)MUST(str_open(path, O_RDONLY | O_NONBLOCK));
	char buf[4096];
	ssize_t n;

	while ((n = str_read(fd, buf, sizeof(buf))) > 0)
		;
	/* EIO: a victim died in the middle of something; the name is another's soon. */
	if (n == -1 && errno != EAGAIN && errno != EIO)
		DIE("str_read: %s", strerrorname_np(errno));
	MUST(str_close(fd));
	return n != 0;
}

static void
until_not(bool (*is)(void), const char *what, long round)
{
	for (long end = stress_now() + SOON_MS; is(); stress_sleep(1))
		if (stress_now() > end) {
			int fd = str_open(path, O_RDWR);

			ustr_dump(fd, stderr);
			DIE("round %ld: still %s", round, what);
		}
}

/* Did it read what was written? */
static void *
reader(void *arg)
{
	char c = 0;
	int fd = (int)MUST(str_open(path, O_RDONLY));

	*(bool *)arg = str_read(fd, &c, 1) == 1 && c == 'x';
	MUST(str_close(fd));
	return NULL;
}

/* A blocking reader and a blocking writer: it works as on the first day. */
static bool
fail_to_meet(void)
{
	bool got = false, sent;
	pthread_t t;
	int fd;

	if (pthread_create(&t, NULL, reader, &got))
		DIE("pthread_create");
	fd = (int)MUST(str_open(path, O_WRONLY));
	sent = str_write(fd, "x", 1) == 1;
	pthread_join(t, NULL);
	MUST(str_close(fd));
	return !sent || !got;
}

static void
round_of(long round)
{
	pid_t pid[VICTIMS];

	for (int i = 0; i < VICTIMS; i++) {
		pid[i] = (pid_t)MUST(fork());
		if (pid[i] == 0)
			victim((unsigned int)(round * VICTIMS + i));
	}
	stress_sleep((int)(round * 7 % ROUND_MS) + 1);
	for (int i = 0; i < VICTIMS; i++)
		MUST(kill(pid[i], SIGKILL));
	for (int i = 0; i < VICTIMS; i++)
		must_end(pid[i]);
	until_not(has_reader, "a reader", round);
	until_not(has_writer, "a writer", round);
	until_not(fail_to_meet, "no meeting", round);
}

int
main(int argc, char **argv)
{
	long end = stress_now() + stress_ms(), round = 0;
	bool threads, forks;

	if (!stress_modes(argc, argv, &threads, &forks))
		return 77;
	if (!forks) {
		printf("stress_fifo: skipped (no sharing over fork here)\n");
		return 77;
	}
	signal(SIGPIPE, SIG_IGN);
	snprintf(path, sizeof(path), "/tmp/stress_fifo.%d", (int)getpid());
	MUST(mkfifo(path, 0600));
	MUST(ustr_tune("nstrpush", 64));
	while (stress_now() < end)
		round_of(round++);
	unlink(path);
	printf("stress_fifo: %ld rounds of %d killed openers\n", round, VICTIMS);
	return 0;
}
