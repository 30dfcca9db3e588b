/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fork.c: streams shared by processes (DESIGN §2, §3; streamio.md §10):
 * a pipe opened before fork works between two children, and it is hung up
 * when its last holder closes, exits, execs or dies.
 */
#include "headlib.h"

#include <stdio.h>
#include <sched.h>
#include <sys/wait.h>

enum { PROMPT = 2000 }; /* ms: a death is noticed well before that */

/* Wait until the end of file shows, ms in steps; how it ended: 0, or an errno. */
static int
await_eof(int fd, int ms)
{
	struct pollfd f = {fd, POLLIN, 0};
	char buf[4096];

	nonblock(fd, true);
	for (; ms > 0; ms -= 10) {
		ssize_t n;

		if (str_poll(&f, 1, 10) < 0)
			return errno;
		n = str_read(fd, buf, sizeof(buf));
		if (n == 0)
			return 0;
		if (n == -1 && errno != EAGAIN)
			return errno;
	}
	return ETIME;
}

/* ---- two children ------------------------------------------------------- */

enum { COUNT = 5000 };

struct pair {
	int p[2];
	bool polling;
};

static void
wait_for(int fd, bool polling, short events)
{
	struct pollfd f = {fd, events, 0};

	if (polling)
		NEED(str_poll(&f, 1, SOON) == 1);
}

/* Send COUNT numbers, each with as many bytes as its last digit says. */
static int
writer(void *arg)
{
	struct pair *a = arg;

	NEED(str_close(a->p[1]) == 0);
	NEED(str_fcntl(a->p[0], F_SETFL, a->polling ? O_NONBLOCK : 0) == 0);
	for (int i = 0; i < COUNT;) {
		int msg[10] = {i, i, i, i, i, i, i, i, i, i};
		size_t n = sizeof(int) * (size_t)(1 + i % 10);
		ssize_t r;

		wait_for(a->p[0], a->polling, POLLOUT);
		r = str_write(a->p[0], msg, n);
		NEED(r == (ssize_t)n || (a->polling && errno == EAGAIN));
		if (r > 0)
			i++;
	}
	return 0;
}

static int
reader(void *arg)
{
	struct pair *a = arg;
	int msg[11];
	ssize_t r;

	NEED(str_close(a->p[0]) == 0);
	NEED(str_ioctl(a->p[1], I_SRDOPT, RMSGD) == 0);
	NEED(str_fcntl(a->p[1], F_SETFL, a->polling ? O_NONBLOCK : 0) == 0);
	for (int i = 0; i < COUNT;) {
		wait_for(a->p[1], a->polling, POLLIN);
		r = str_read(a->p[1], msg, sizeof(msg));
		if (r == -1 && a->polling && errno == EAGAIN)
			continue;
		NEED(r == (ssize_t)sizeof(int) * (1 + i % 10));
		for (int k = 0; k < 1 + i % 10; k++)
			NEED(msg[k] == i);
		i++;
	}
	/* The writer ends; so does the stream. */
	NEED(str_fcntl(a->p[1], F_SETFL, 0) == 0);
	NEED(str_read(a->p[1], msg, sizeof(msg)) == 0);
	return 0;
}

/* Loop: blocking and polling, without and with a module. */
START_TEST(a_pipe_opened_before_fork_works_between_two_children)
{
	struct pair a = {.polling = _i % 2};
	pid_t w, r;

	make_blocking_pipe(a.p);
	if (_i / 2)
		GIVES(str_ioctl(a.p[0], I_PUSH, _i / 2 == 1 ? "pipemod" : "nullmod"), 0);
	r = child(reader, &a);
	w = child(writer, &a);
	close_pipe(a.p);
	ck_assert_int_eq(reap(w, SOON), 0);
	ck_assert_int_eq(reap(r, SOON), 0);
}
END_TEST

static int
echo_child(void *arg)
{
	int fd = *(int *)arg;
	char buf[100];
	ssize_t n;

	NEED((n = str_read(fd, buf, sizeof(buf))) == 5);
	NEED(memcmp(buf, "hello", 5) == 0);
	NEED(str_write(fd, "world!", 6) == 6);
	return 0;
}

START_TEST(parent_and_child_talk_both_ways)
{
	int p[2];
	pid_t pid;

	make_blocking_pipe(p);
	pid = child(echo_child, &p[1]);
	GIVES(str_write(p[0], "hello", 5), 5);
	READS(p[0], 100, "world!");
	ck_assert_int_eq(reap(pid, SOON), 0);
	close_pipe(p);
}
END_TEST

static int
write_device(void *arg)
{
	NEED(str_write(*(int *)arg, "from the child", 14) == 14);
	return 0;
}

START_TEST(a_device_opened_before_fork_is_shared)
{
	int fd = open_dev("echo");
	pid_t pid = child(write_device, &fd);

	ck_assert_int_eq(reap(pid, SOON), 0);
	READS(fd, 100, "from the child");
	GIVES(str_close(fd), 0);
}
END_TEST

static int
own_pipe(void *arg)
{
	char c;
	int p[2];

	(void)arg;
	for (int i = 0; i < 100; i++) {
		NEED(str_pipe(p) == 0);
		NEED(str_write(p[0], "x", 1) == 1);
		NEED(str_read(p[1], &c, 1) == 1);
		NEED(str_close(p[0]) == 0);
		NEED(str_read(p[1], &c, 1) == 0);
		NEED(str_close(p[1]) == 0);
	}
	return 0;
}

START_TEST(children_open_streams_of_their_own_at_the_same_time)
{
	pid_t pid[6];
	int p[2];

	make_pipe(p);
	for (int i = 0; i < 6; i++)
		pid[i] = child(own_pipe, NULL);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(reap(pid[i], SOON), 0);
	GIVES(str_write(p[0], "x", 1), 1);
	READS(p[1], 1, "x");
	close_pipe(p);
}
END_TEST

/* "dup and fork share the open file" */
static int
set_nonblock(void *arg)
{
	NEED(str_fcntl(*(int *)arg, F_SETFL, O_NONBLOCK) == 0);
	return 0;
}

START_TEST(fork_shares_the_open_file)
{
	int p[2];
	pid_t pid;

	make_blocking_pipe(p);
	pid = child(set_nonblock, &p[0]);
	ck_assert_int_eq(reap(pid, SOON), 0);
	GIVES(str_fcntl(p[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	GIVES(str_fcntl(p[1], F_GETFL) & O_NONBLOCK, 0);
	close_pipe(p);
}
END_TEST

START_TEST(data_written_before_fork_is_read_by_the_child)
{
	int p[2];
	pid_t pid;

	make_blocking_pipe(p);
	GIVES(str_write(p[0], "hello", 5), 5);
	pid = child(echo_child, &p[1]);
	ck_assert_int_eq(reap(pid, SOON), 0);
	READS(p[0], 10, "world!");
	close_pipe(p);
}
END_TEST

/* ---- modules ------------------------------------------------------------ */

struct plumbing {
	int p[2];
	struct gate pushed, looked;
	const char *name;
};

static int
pusher(void *arg)
{
	struct plumbing *a = arg;

	NEED(str_ioctl(a->p[0], I_PUSH, a->name) == 0);
	gate_open(&a->pushed);
	NEED(gate_wait(&a->looked, SOON));
	NEED(str_ioctl(a->p[0], I_POP, 0) == 0);
	gate_open(&a->pushed);
	return 0;
}

static int
looker(void *arg)
{
	struct plumbing *a = arg;
	char name[FMNAMESZ + 1], buf[10];

	NEED(gate_wait(&a->pushed, SOON));
	NEED(str_ioctl(a->p[0], I_LOOK, name) == 0);
	NEED(strcmp(name, a->name) == 0);
	NEED(str_ioctl(a->p[0], I_LIST, NULL) == 1);
	NEED(str_ioctl(a->p[1], I_LIST, NULL) == 0);
	/* The module's procedures run here as well. */
	NEED(str_write(a->p[0], "out", 3) == 3);
	NEED(str_read(a->p[1], buf, 10) == 3);
	NEED(str_write(a->p[1], "back", 4) == 4);
	NEED(str_read(a->p[0], buf, 10) == 4);
	gate_open(&a->looked);
	NEED(gate_wait(&a->pushed, SOON));
	errno = 0;
	NEED(str_ioctl(a->p[0], I_LOOK, name) == -1 && errno == EINVAL);
	return 0;
}

/* Loop: a module of the library, and one registered before the fork. */
START_TEST(a_module_pushed_in_one_child_is_seen_in_the_other)
{
	static const char *const names[] = {"nullmod", "pipemod", "tctl"};
	struct plumbing a = {.name = names[_i]};
	pid_t one, two;

	test_modules();
	make_pipe(a.p);
	gate_make(&a.pushed);
	gate_make(&a.looked);
	one = child(pusher, &a);
	two = child(looker, &a);
	ck_assert_int_eq(reap(one, SOON), 0);
	ck_assert_int_eq(reap(two, SOON), 0);
	gate_drop(&a.pushed);
	gate_drop(&a.looked);
	close_pipe(a.p);
}
END_TEST

/* A module pushed by a child that is gone still works. */
static int
push_and_leave(void *arg)
{
	NEED(str_ioctl(*(int *)arg, I_PUSH, "nullmod") == 0);
	return 0;
}

START_TEST(a_module_outlives_the_process_that_pushed_it)
{
	int p[2];

	make_pipe(p);
	ck_assert_int_eq(reap(child(push_and_leave, &p[0]), SOON), 0);
	GIVES(str_ioctl(p[0], I_LIST, NULL), 1);
	GIVES(put_msg(p[0], "ctl", "data", 1), 0);
	TAKES(p[1], "ctl", "data", 1);
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	close_pipe(p);
}
END_TEST

/* ---- how the last holder may go ----------------------------------------- */

enum exit_kind { CLOSES, EXITS, UNDER_EXITS, KILLED_ASLEEP, KILLED_AWAKE, EXECS, NKINDS };

struct holder {
	int p[2]; /* the child holds p[1] */
	enum exit_kind kind;
	struct gate ready, go;
};

static int
hold(void *arg)
{
	struct holder *h = arg;
	char c;

	NEED(str_close(h->p[0]) == 0);
	gate_open(&h->ready);
	if (h->kind == KILLED_ASLEEP)
		str_read(h->p[1], &c, 1);
	NEED(gate_wait(&h->go, SOON));
	switch (h->kind) {
	case CLOSES:
		NEED(str_close(h->p[1]) == 0);
		sleep(SOON / 1000);
		break;
	case EXITS:
		exit(0);
	case UNDER_EXITS:
		_exit(0);
	case EXECS:
		execl("/bin/sleep", "sleep", "30", (char *)NULL);
		break;
	default:
		for (;;)
			pause();
	}
	return 1;
}

static const char *
kind_name(enum exit_kind k)
{
	static const char *const names[] = {
	    "closes", "exits", "_exits", "is killed asleep", "is killed awake", "execs"};

	return names[k];
}

/* Start the holder of p[1], wait until it is there, and drop p[1] here. */
static pid_t
start_holder(struct holder *h, enum exit_kind kind)
{
	pid_t pid;

	h->kind = kind;
	make_pipe(h->p);
	nonblock(h->p[1], false);
	gate_make(&h->ready);
	gate_make(&h->go);
	pid = child(hold, h);
	GIVES(str_close(h->p[1]), 0);
	ck_assert(gate_wait(&h->ready, SOON));
	return pid;
}

static void
end_holder(struct holder *h, pid_t pid)
{
	if (h->kind == KILLED_ASLEEP || h->kind == KILLED_AWAKE) {
		if (h->kind == KILLED_ASLEEP)
			msleep(20);
		kill(pid, SIGKILL);
	}
	gate_open(&h->go);
}

static void
clean_holder(struct holder *h, pid_t pid)
{
	if (waitpid(pid, NULL, WNOHANG) == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	gate_drop(&h->ready);
	gate_drop(&h->go);
	GIVES(str_close(h->p[0]), 0);
}

/* "hang-up when the last holder closes or exits" (issue 2) */
START_TEST(the_peer_is_hung_up_when_the_last_holder_goes)
{
	struct holder h;
	pid_t pid = start_holder(&h, (enum exit_kind)_i);
	char c;
	int r;

	/* While the child lives it holds the stream. */
	FAILS(str_read(h.p[0], &c, 1), EAGAIN);
	ck_assert_int_eq(polled(h.p[0], POLLIN), 0);
	end_holder(&h, pid);
	r = await_eof(h.p[0], PROMPT);
	ck_assert_msg(r == 0, "the holder %s: %s", kind_name(h.kind), ename(r));
	FAILS(str_write(h.p[0], "x", 1), EPIPE);
	if (h.kind == CLOSES || h.kind == EXECS)
		ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
	clean_holder(&h, pid);
}
END_TEST

/* A reader that sleeps in read, not in poll, is woken too. */
START_TEST(a_sleeping_reader_is_woken_when_the_last_holder_goes)
{
	struct holder h;
	pid_t pid = start_holder(&h, (enum exit_kind)_i);
	struct fair f;

	nonblock(h.p[0], false);
	end_holder(&h, pid);
	fair_start(&f);
	READS(h.p[0], 1, "");
	ck_assert_int_lt(fair_ms(&f), PROMPT);
	clean_holder(&h, pid);
}
END_TEST

/* So is a writer that sleeps for room. */
START_TEST(a_sleeping_writer_is_woken_when_the_last_holder_goes)
{
	struct holder h;
	pid_t pid;

	if (_i == KILLED_ASLEEP)
		return;
	pid = start_holder(&h, (enum exit_kind)_i);
	fill(h.p[0]);
	nonblock(h.p[0], false);
	end_holder(&h, pid);
	FAILS(str_write(h.p[0], "x", 1), EPIPE);
	clean_holder(&h, pid);
}
END_TEST

START_TEST(a_parent_that_keeps_an_end_keeps_the_stream)
{
	struct holder h;
	int keep;
	pid_t pid;
	char c;

	h.kind = KILLED_AWAKE;
	make_pipe(h.p);
	gate_make(&h.ready);
	gate_make(&h.go);
	pid = child(hold, &h);
	keep = str_dup(h.p[1]);
	GIVES(str_close(h.p[1]), 0);
	ck_assert(gate_wait(&h.ready, SOON));
	kill(pid, SIGKILL);
	ck_assert_int_eq(reap(pid, SOON), 128 + SIGKILL);
	ck_assert_int_eq(await_eof(h.p[0], 300), ETIME);
	GIVES(str_write(keep, "x", 1), 1);
	READS(h.p[0], 1, "x");
	GIVES(str_close(keep), 0);
	GIVES(str_read(h.p[0], &c, 1), 0);
	gate_drop(&h.ready);
	gate_drop(&h.go);
	GIVES(str_close(h.p[0]), 0);
}
END_TEST

/* ---- families ----------------------------------------------------------- */

struct family {
	int p[2];
	struct gate go;
};

static int
grandchild(void *arg)
{
	struct family *f = arg;

	NEED(gate_wait(&f->go, SOON));
	NEED(str_write(f->p[1], "grand", 5) == 5);
	return 0;
}

/* The parent in the middle goes before its child has done anything. */
static int
middle(void *arg)
{
	struct family *f = arg;
	pid_t pid;

	NEED(str_close(f->p[0]) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (pid == 0)
		_exit(grandchild(f));
	return 0;
}

START_TEST(a_grandchild_holds_the_stream)
{
	struct family f;
	pid_t pid;

	make_pipe(f.p);
	gate_make(&f.go);
	pid = child(middle, &f);
	GIVES(str_close(f.p[1]), 0);
	ck_assert_int_eq(reap(pid, SOON), 0);
	ck_assert_int_eq(await_eof(f.p[0], 300), ETIME);
	gate_open(&f.go);
	nonblock(f.p[0], false);
	READS(f.p[0], 10, "grand");
	READS(f.p[0], 10, "");
	gate_drop(&f.go);
	GIVES(str_close(f.p[0]), 0);
}
END_TEST

/* A child that never calls the library holds what it inherited. */
static int
just_wait(void *arg)
{
	return gate_wait(arg, SOON) ? 0 : 1;
}

START_TEST(a_child_that_never_calls_holds_the_stream)
{
	struct gate go;
	int p[2];
	pid_t pid;

	make_pipe(p);
	gate_make(&go);
	pid = child(just_wait, &go);
	GIVES(str_close(p[1]), 0);
	ck_assert_int_eq(await_eof(p[0], 300), ETIME);
	gate_open(&go);
	/* It holds p[0] and p[1]: its end is that of the peer's last holder. */
	ck_assert_int_eq(await_eof(p[0], PROMPT), 0);
	ck_assert_int_eq(reap(pid, SOON), 0);
	gate_drop(&go);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(the_last_of_many_holders_hangs_up)
{
	enum { N = 12 };
	struct gate go[N];
	pid_t pid[N];
	int p[2];

	make_pipe(p);
	for (int i = 0; i < N; i++) {
		gate_make(&go[i]);
		pid[i] = child(just_wait, &go[i]);
	}
	GIVES(str_close(p[1]), 0);
	for (int i = 0; i < N; i++) {
		ck_assert_int_eq(polled(p[0], POLLIN), 0);
		gate_open(&go[i]);
		ck_assert_int_eq(reap(pid[i], SOON), 0);
		gate_drop(&go[i]);
	}
	ck_assert_int_eq(await_eof(p[0], PROMPT), 0);
	GIVES(str_close(p[0]), 0);
}
END_TEST

static int
use_dup(void *arg)
{
	int *fd = arg;

	/* p[1] under two numbers; both were inherited. */
	NEED(str_write(fd[1], "a", 1) == 1);
	NEED(str_close(fd[1]) == 0);
	NEED(str_write(fd[2], "b", 1) == 1);
	NEED(str_dup2(fd[2], fd[1]) == fd[1]);
	NEED(str_close(fd[2]) == 0);
	NEED(str_write(fd[1], "c", 1) == 1);
	return 0;
}

START_TEST(duplicates_are_inherited)
{
	int fd[3];
	pid_t pid;

	make_pipe(fd);
	fd[2] = str_dup(fd[1]);
	ck_assert_int_ge(fd[2], 0);
	pid = child(use_dup, fd);
	GIVES(str_close(fd[1]), 0);
	GIVES(str_close(fd[2]), 0);
	ck_assert_int_eq(reap(pid, SOON), 0);
	READS(fd[0], 10, "abc");
	ck_assert_int_eq(await_eof(fd[0], PROMPT), 0);
	GIVES(str_close(fd[0]), 0);
}
END_TEST

/* What the child closes stays open here. */
static int
close_both(void *arg)
{
	int *p = arg;

	NEED(str_close(p[0]) == 0);
	NEED(str_close(p[1]) == 0);
	errno = 0;
	NEED(str_write(p[0], "x", 1) == -1 && errno == EBADF);
	return 0;
}

START_TEST(a_close_in_the_child_is_its_own)
{
	int p[2];

	make_pipe(p);
	ck_assert_int_eq(reap(child(close_both, p), SOON), 0);
	GIVES(str_write(p[0], "x", 1), 1);
	READS(p[1], 1, "x");
	close_pipe(p);
}
END_TEST

/* ---- how a process ends ------------------------------------------------- */

static int
write_and_exit(void *arg)
{
	NEED(str_write(*(int *)arg, "farewell", 8) == 8);
	exit(0);
}

static int
write_and_under_exit(void *arg)
{
	NEED(str_write(*(int *)arg, "farewell", 8) == 8);
	return 0;
}

/* What the peer's head has received outlives its sender, however it ended. */
START_TEST(data_sent_before_the_end_is_read_first)
{
	int p[2];
	pid_t pid;

	make_blocking_pipe(p);
	pid = child(_i == 0 ? write_and_exit : write_and_under_exit, &p[1]);
	GIVES(str_close(p[1]), 0);
	ck_assert_int_eq(reap(pid, SOON), 0);
	READS(p[0], 100, "farewell");
	READS(p[0], 100, "");
	GIVES(str_close(p[0]), 0);
}
END_TEST

struct quitter {
	int p[2];
	bool by_exit;
	struct gate go;
};

static int
hold_and_end(void *arg)
{
	struct quitter *q = arg;
	int ms = 900;

	NEED(gate_wait(&q->go, SOON));
	NEED(str_ioctl(q->p[1], I_PUSH, "thold") == 0);
	NEED(str_ioctl(q->p[1], I_SETCLTIME, &ms) == 0);
	NEED(str_write(q->p[1], "stuck", 5) == 5);
	if (q->by_exit)
		exit(0);
	_exit(0);
}

/* "exit(3) closes in the ordinary way, draining up to close time; _exit ...
   do not drain."  Loop: _exit, exit. */
START_TEST(only_exit_waits_for_the_close_time)
{
	struct quitter q = {.by_exit = _i};
	struct fair f;
	long start, took;
	pid_t pid;

	test_modules();
	make_blocking_pipe(q.p);
	gate_make(&q.go);
	pid = child(hold_and_end, &q);
	GIVES(str_close(q.p[1]), 0);
	fair_start(&f);
	start = now_ms();
	gate_open(&q.go);
	ck_assert_int_eq(reap(pid, SOON), 0);
	if (q.by_exit)
		ck_assert_int_ge(now_ms() - start, 800);
	ck_assert_int_eq(await_eof(q.p[0], PROMPT), 0);
	took = fair_ms(&f);
	if (!q.by_exit)
		ck_assert_int_lt(took, 700);
	GIVES(str_close(q.p[0]), 0);
	gate_drop(&q.go);
}
END_TEST

static int
write_for_ever(void *arg)
{
	int *p = arg;
	char buf[256] = {0};

	NEED(str_close(p[0]) == 0);
	while (str_write(p[1], buf, sizeof(buf)) > 0)
		;
	return 0;
}

/* "A waiter that finds a dead owner breaks the lock, marks the stream EIO on
   both sides, hangs up the peer": end of file or EIO, never a hang. */
START_TEST(a_busy_writer_may_be_killed_at_any_time)
{
	for (int i = 0; i < 25; i++) {
		char buf[1024];
		int p[2], killed = 0;
		long end;
		ssize_t n;
		pid_t pid;

		make_pipe(p);
		nonblock(p[1], false);
		pid = child(write_for_ever, p);
		GIVES(str_close(p[1]), 0);
		end = now_ms() + 10 + i % 7;
		for (;;) {
			n = str_read(p[0], buf, sizeof(buf));
			if (n == 0 || (n == -1 && errno != EAGAIN))
				break;
			if (!killed && now_ms() >= end) {
				kill(pid, SIGKILL);
				killed = 1;
				end = now_ms() + SOON;
			}
			ck_assert_msg(
			    !killed || now_ms() < end, "round %d: the reader hangs", i);
			if (n == -1)
				sched_yield();
		}
		ck_assert_msg(n == 0 || errno == EIO, "%s", ename(errno));
		ck_assert_int_eq(reap(pid, SOON), 128 + SIGKILL);
		GIVES(str_close(p[0]), 0);
	}
}
END_TEST

/* A module, one thread at a time, in which whoever writes 'K' dies. */
static int
deadly_put(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type == M_DATA && *mp->b_rptr == 'K')
		raise(SIGKILL);
	putnext(q, mp);
	return 0;
}

static int
deadly_open(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	qprocson(q);
	return 0;
}

static int
deadly_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	return 0;
}

static struct module_info deadly_info = {4301, "deadly", 0, INFPSZ, 1000, 200};
static struct qinit deadly_init = {
    deadly_put, NULL, deadly_open, deadly_close, NULL, &deadly_info, NULL};
static struct streamtab deadly_tab = {&deadly_init, &deadly_init, NULL, NULL};

static void *
write_k(void *arg)
{
	(void)str_write(*(int *)arg, "K", 1);
	return NULL;
}

static bool in_new_thread;

/* The first call is the last one, of the child's only thread or of a new one. */
static int
die_in_the_module(void *arg)
{
	pthread_t t;

	if (in_new_thread) {
		NEED(pthread_create(&t, NULL, write_k, arg) == 0);
		pthread_join(t, NULL);
	}
	(void)write_k(arg);
	return 1;
}

/* What the module keeps may be half changed. */
START_TEST(a_death_in_a_module_condemns_the_stream)
{
	int p[2];
	pid_t pid;

	GIVES(ustr_register_module("deadly", &deadly_tab, D_MTPERMOD | D_MP), 0);
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "deadly"), 0);
	in_new_thread = _i == 1;
	pid = child(die_in_the_module, p);
	ck_assert_int_eq(reap(pid, SOON), 128 + SIGKILL);
	(void)ustr_service(0);
	FAILS(str_write(p[0], "fine", 4), EIO);
	close_pipe(p);
}
END_TEST

/* And the library goes on for everybody else. */
START_TEST(a_killed_process_leaves_other_streams_alone)
{
	int p[2], q[2];
	pid_t pid;

	make_pipe(q);
	for (int i = 0; i < 10; i++) {
		make_pipe(p);
		nonblock(p[1], false);
		pid = child(write_for_ever, p);
		GIVES(str_close(p[1]), 0);
		msleep(3 + i % 3);
		kill(pid, SIGKILL);
		ck_assert_int_eq(reap(pid, SOON), 128 + SIGKILL);
		GIVES(str_write(q[0], "fine", 4), 4);
		READS(q[1], 10, "fine");
		GIVES(str_close(p[0]), 0);
	}
	close_pipe(q);
}
END_TEST

/* Let a busy writer run a little, then stop it wherever it is. */
static pid_t
stopped_writer(int p[2], int ms)
{
	char buf[1024];
	long end;
	pid_t pid;

	make_pipe(p);
	nonblock(p[1], false);
	pid = child(write_for_ever, p);
	for (end = now_ms() + ms; now_ms() < end;)
		if (str_read(p[0], buf, sizeof(buf)) == -1)
			sched_yield();
	kill(pid, SIGSTOP);
	ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

static void
end_writer(pid_t pid)
{
	kill(pid, SIGKILL);
	kill(pid, SIGCONT);
	ck_assert_int_eq(reap(pid, SOON), 128 + SIGKILL);
}

/* "Push and pop give ETIME when a stopped process holds the stream." */
START_TEST(a_stopped_process_delays_a_push_but_not_for_ever)
{
	for (int i = 0; i < 12; i++) {
		int p[2], r;
		pid_t pid = stopped_writer(p, 3 + i % 4);
		struct fair f;

		fair_start(&f);
		r = str_ioctl(p[1], I_PUSH, "nullmod");
		ck_assert_msg(r == 0 || errno == ETIME, "I_PUSH: %s", ename(errno));
		ck_assert_int_lt(fair_ms(&f), 3000);
		kill(pid, SIGCONT);
		fair_start(&f);
		while (r == -1) {
			drain(p[0]);
			r = str_ioctl(p[1], I_PUSH, "nullmod");
			ck_assert(r == 0 || errno == ETIME);
		}
		ck_assert_int_lt(fair_ms(&f), 3000);
		end_writer(pid);
		close_pipe(p);
	}
}
END_TEST

/* "Only if the thread waited for is stopped ...: the whole close passes to the
   last one out and returns." */
START_TEST(a_stopped_process_does_not_hold_up_a_close)
{
	for (int i = 0; i < 12; i++) {
		int p[2];
		pid_t pid = stopped_writer(p, 3 + i % 4);
		struct fair f;

		fair_start(&f);
		GIVES(str_close(p[1]), 0);
		GIVES(str_close(p[0]), 0);
		ck_assert_int_lt(fair_ms(&f), 3000);
		/* Its reader is gone: the writer ends by itself (EPIPE). */
		kill(pid, SIGCONT);
		ck_assert_int_eq(reap(pid, SOON), 0);
	}
}
END_TEST

/* "a child made without handlers (_Fork, raw clone) finds zero and gets EBADF,
   never a shared magazine" */
START_TEST(a_child_made_without_handlers_gets_ebadf)
{
	int p[2];
	pid_t pid;

	make_pipe(p);
	GIVES(str_write(p[0], "mine", 4), 4);
	pid = _Fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		char buf[8];

		_exit(str_read(p[1], buf, 8) == -1 && errno == EBADF &&
			    str_write(p[0], "x", 1) == -1 && errno == EBADF
			? 0
			: 1);
	}
	ck_assert_int_eq(reap(pid, SOON), 0);
	READS(p[1], 10, "mine");
	close_pipe(p);
}
END_TEST

/* ---- fork while other threads are inside -------------------------------- */

static atomic_bool stop_pump;

static void *
pump(void *arg)
{
	int *p = arg;
	char buf[64] = {0};

	while (!atomic_load(&stop_pump))
		if (str_write(p[0], buf, sizeof(buf)) != sizeof(buf) ||
		    str_read(p[1], buf, sizeof(buf)) != sizeof(buf))
			return (void *)1;
	return NULL;
}

START_TEST(fork_while_another_thread_is_in_the_library)
{
	int p[2], q[2];
	pthread_t t;
	void *bad;

	make_blocking_pipe(p);
	make_blocking_pipe(q);
	atomic_store(&stop_pump, false);
	pthread_create(&t, NULL, pump, p);
	for (int i = 0; i < 40; i++) {
		pid_t pid = child(echo_child, &q[1]);

		GIVES(str_write(q[0], "hello", 5), 5);
		READS(q[0], 10, "world!");
		ck_assert_int_eq(reap(pid, SOON), 0);
	}
	atomic_store(&stop_pump, true);
	pthread_join(t, &bad);
	ck_assert_ptr_null(bad);
	close_pipe(p);
	close_pipe(q);
}
END_TEST

static int
nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* Slots of processes that ended are used again. */
START_TEST(thousands_of_children_may_come_and_go)
{
	int p[2];

	make_pipe(p);
	for (int i = 0; i < 1500; i++)
		ck_assert_int_eq(reap(child(nothing, NULL), SOON), 0);
	GIVES(str_write(p[0], "x", 1), 1);
	READS(p[1], 1, "x");
	GIVES(str_close(p[0]), 0);
	ck_assert_int_eq(await_eof(p[1], PROMPT), 0);
	GIVES(str_close(p[1]), 0);
}
END_TEST

static void
sharing(Suite *s)
{
	TCase *tc = group(s, "sharing", 120);

	tcase_add_loop_test(
	    tc, a_pipe_opened_before_fork_works_between_two_children, 0, 6);
	tcase_add_test(tc, parent_and_child_talk_both_ways);
	tcase_add_test(tc, a_device_opened_before_fork_is_shared);
	tcase_add_test(tc, children_open_streams_of_their_own_at_the_same_time);
	tcase_add_test(tc, fork_shares_the_open_file);
	tcase_add_test(tc, data_written_before_fork_is_read_by_the_child);
	tcase_add_loop_test(tc, a_module_pushed_in_one_child_is_seen_in_the_other, 0, 3);
	tcase_add_test(tc, a_module_outlives_the_process_that_pushed_it);
	tcase_add_test(tc, duplicates_are_inherited);
	tcase_add_test(tc, a_close_in_the_child_is_its_own);
	tcase_add_test(tc, fork_while_another_thread_is_in_the_library);
	tcase_add_test(tc, thousands_of_children_may_come_and_go);
}

static void
ending(Suite *s)
{
	TCase *tc = group(s, "ending", 120);

	tcase_add_loop_test(tc, the_peer_is_hung_up_when_the_last_holder_goes, 0, NKINDS);
	tcase_add_loop_test(
	    tc, a_sleeping_reader_is_woken_when_the_last_holder_goes, 0, NKINDS);
	tcase_add_loop_test(
	    tc, a_sleeping_writer_is_woken_when_the_last_holder_goes, 0, NKINDS);
	tcase_add_test(tc, a_parent_that_keeps_an_end_keeps_the_stream);
	tcase_add_test(tc, a_grandchild_holds_the_stream);
	tcase_add_test(tc, a_child_that_never_calls_holds_the_stream);
	tcase_add_test(tc, the_last_of_many_holders_hangs_up);
	tcase_add_loop_test(tc, data_sent_before_the_end_is_read_first, 0, 2);
	tcase_add_loop_test(tc, only_exit_waits_for_the_close_time, 0, 2);
	tcase_add_test(tc, a_busy_writer_may_be_killed_at_any_time);
	tcase_add_loop_test(tc, a_death_in_a_module_condemns_the_stream, 0, 2);
	tcase_add_test(tc, a_killed_process_leaves_other_streams_alone);
	tcase_add_test(tc, a_stopped_process_delays_a_push_but_not_for_ever);
	tcase_add_test(tc, a_stopped_process_does_not_hold_up_a_close);
	tcase_add_test(tc, a_child_made_without_handlers_gets_ebadf);
}

int
main(void)
{
	Suite *s;

	if (!can_fork()) {
		puts("check_fork: skipped (threads only, or heap=malloc)");
		return 77;
	}
	s = suite_create("fork");
	sharing(s);
	ending(s);
	return run_suite(s);
}
