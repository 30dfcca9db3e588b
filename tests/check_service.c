/* SPDX-License-Identifier: BSD-2-Clause */
/* check_service.c: enabling queues, and the scheduling of service procedures. */
#define _GNU_SOURCE
#include "flowlib.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <stropts.h>
#include <sys/ddi.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ustreams.h>

/* ---- enabling --------------------------------------------------------------------- */

/* How a message gets onto the queue. */
enum { PUTQ, PUTBQ, INSQ };

/*
 * Does putting a message of the given band (-1: high priority) enable q?
 * wantr and noenb say in which state it is put.
 */
static int
enables(int fd, queue_t *q, int way, int b, int wantr, int noenb)
{
	mblk_t *mp = tm_msg(b < 0 ? M_PCPROTO : M_DATA, b < 0 ? 0 : b, 1, 'e'), *old;
	int runs;

	flushq(q, FLUSHALL);
	enableok(q);
	if (wantr)
		ck_assert_ptr_null(getq(q));
	else {
		tm_queue(q, tm_norm(1));
		drop(q); /* getq found something: QWANTR is off */
	}
	ck_assert_int_eq((q->q_flag & QWANTR) != 0, wantr);
	tm_kick(fd);
	if (noenb)
		noenable(q);
	old = q->q_first;
	ck_assert_ptr_null(old);
	if (way == PUTQ)
		ck_assert_int_eq(putq(q, mp), 1);
	else if (way == PUTBQ)
		ck_assert_int_eq(putbq(q, mp), 1);
	else
		ck_assert_int_eq(insq(q, NULL, mp), 1);
	runs = runs_at_kick(fd, q);
	ck_assert_int_le(runs, 1);
	enableok(q);
	flushq(q, FLUSHALL);
	return runs;
}

START_TEST(putq_enables_by_the_table)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = _i ? tm_wq(1) : tm_rq(1);

	/* high priority always, even noenabled */
	ck_assert_int_eq(enables(fd, q, PUTQ, -1, 1, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, -1, 0, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, -1, 1, 1), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, -1, 0, 1), 1);
	/* a band, if allowed */
	ck_assert_int_eq(enables(fd, q, PUTQ, 1, 1, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, 1, 0, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, 1, 1, 1), 0);
	ck_assert_int_eq(enables(fd, q, PUTQ, 1, 0, 1), 0);
	/* band 0, if allowed and wanted */
	ck_assert_int_eq(enables(fd, q, PUTQ, 0, 1, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTQ, 0, 0, 0), 0);
	ck_assert_int_eq(enables(fd, q, PUTQ, 0, 1, 1), 0);
	ck_assert_int_eq(enables(fd, q, PUTQ, 0, 0, 1), 0);
}
END_TEST

START_TEST(putbq_enables_by_the_table)
{
	int fd = tm_stack("dsrv", "srv", NULL), b;
	queue_t *q = tm_wq(1);

	ck_assert_int_eq(enables(fd, q, PUTBQ, -1, 1, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTBQ, -1, 0, 0), 1);
	ck_assert_int_eq(enables(fd, q, PUTBQ, -1, 1, 1), 1);
	ck_assert_int_eq(enables(fd, q, PUTBQ, -1, 0, 1), 1);
	for (b = 0; b < 2; b++) {
		ck_assert_int_eq(enables(fd, q, PUTBQ, b, 1, 0), 1);
		ck_assert_int_eq(enables(fd, q, PUTBQ, b, 0, 0), 0);
		ck_assert_int_eq(enables(fd, q, PUTBQ, b, 1, 1), 0);
		ck_assert_int_eq(enables(fd, q, PUTBQ, b, 0, 1), 0);
	}
}
END_TEST

START_TEST(insq_enables_only_if_allowed_and_wanted)
{
	int fd = tm_stack("dsrv", "srv", NULL), b;
	queue_t *q = tm_wq(1);

	for (b = -1; b < 2; b++) {
		ck_assert_int_eq(enables(fd, q, INSQ, b, 1, 0), 1);
		ck_assert_int_eq(enables(fd, q, INSQ, b, 0, 0), 0);
		ck_assert_int_eq(enables(fd, q, INSQ, b, 1, 1), 0);
		ck_assert_int_eq(enables(fd, q, INSQ, b, 0, 1), 0);
	}
}
END_TEST

START_TEST(an_illegal_insq_enables_nothing)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_wq(1);
	mblk_t *h;

	noenable(q);
	tm_queue(q, tm_norm(1));
	enableok(q);
	h = tm_msg(M_PCPROTO, 0, 1, 'h');
	ck_assert_int_eq(insq(q, NULL, h), 0);
	freemsg(h);
	ck_assert_int_eq(runs_at_kick(fd, q), 0);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(getq_sets_qwantr_when_empty_and_clears_it_with_a_message)
{
	queue_t *q;

	tm_stack("dsrv", "srv", NULL);
	q = tm_wq(1);
	ck_assert_uint_eq(q->q_flag & QWANTR, QWANTR); /* from creation */
	tm_queue(q, tm_norm(1));
	tm_queue(q, tm_norm(1));
	ck_assert_uint_eq(q->q_flag & QWANTR, QWANTR); /* putq leaves it */
	drop(q);
	ck_assert_uint_eq(q->q_flag & QWANTR, 0);
	drop(q);
	ck_assert_uint_eq(q->q_flag & QWANTR, 0); /* empty, but not seen so */
	ck_assert_ptr_null(getq(q));
	ck_assert_uint_eq(q->q_flag & QWANTR, QWANTR);
	ck_assert_ptr_null(getq(q));
	ck_assert_uint_eq(q->q_flag & QWANTR, QWANTR);
}
END_TEST

START_TEST(qenable_ignores_noenable)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	noenable(tm_rq(1));
	ck_assert_uint_eq(tm_rq(1)->q_flag & QNOENB, QNOENB);
	qenable(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 1);
}
END_TEST

START_TEST(enableok_alone_enables_nothing)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	queue_t *q = tm_rq(1);

	noenable(q);
	tm_queue(q, tm_norm(1));
	enableok(q);
	ck_assert_uint_eq(q->q_flag & QNOENB, 0);
	ck_assert_int_eq(runs_at_kick(fd, q), 0);
	tm_queue(q, tm_norm(1));
	ck_assert_int_eq(runs_at_kick(fd, q), 1);
	flushq(q, FLUSHALL);
}
END_TEST

START_TEST(qenable_is_merged_while_it_is_pending)
{
	int fd = tm_stack("dsrv", "srv", NULL), i;

	for (i = 0; i < 10; i++)
		qenable(tm_rq(1));
	ck_assert_uint_eq(tm_rq(1)->q_flag & QENAB, QENAB);
	ck_assert_int_eq(tm_srvs(tm_rq(1)), 0);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 1);
	ck_assert_uint_eq(tm_rq(1)->q_flag & QENAB, 0);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 0);
}
END_TEST

START_TEST(qenable_of_a_queue_without_service_is_harmless)
{
	int fd = tm_stack("dput", "put", NULL);

	qenable(tm_rq(1));
	qenable(tm_wq(1));
	qenable(tm_wq(0));
	tm_queue(tm_wq(1), tm_norm(1));
	tm_kick(fd);
	ck_assert_int_eq(tm_srvs(tm_rq(1)) + tm_srvs(tm_wq(1)) + tm_srvs(tm_wq(0)), 0);
	ck_assert_int_eq(qsize(tm_wq(1)), 1);
	flushq(tm_wq(1), FLUSHALL);
}
END_TEST

START_TEST(every_enabled_queue_runs_once)
{
	int fd = tm_stack("dsrv", "srv", "srv", "srv", NULL), i;

	for (i = 0; i < 4; i++) {
		qenable(tm_rq(i));
		qenable(tm_wq(i));
	}
	tm_kick(fd);
	for (i = 0; i < 4; i++) {
		ck_assert_int_eq(tm_srvs(tm_rq(i)), 1);
		ck_assert_int_eq(tm_srvs(tm_wq(i)), 1);
	}
}
END_TEST

/* ---- service procedures ----------------------------------------------------------- */

static int
enable_self_once(queue_t *q)
{
	if (tm_srvs(q) == 1)
		qenable(q);
	return 0;
}

START_TEST(a_queue_enabled_by_its_own_service_runs_again)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	tm_side(tm_rq(1))->srv = enable_self_once;
	qenable(tm_rq(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 2);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 0);
}
END_TEST

static int
take_one_and_put_back(queue_t *q)
{
	mblk_t *mp = getq(q);

	if (mp)
		putbq(q, mp);
	return 0;
}

START_TEST(putting_back_what_was_taken_does_not_loop)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	tm_side(tm_rq(1))->srv = take_one_and_put_back;
	tm_queue(tm_rq(1), tm_norm(1));
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 1);
	ck_assert_int_eq(runs_at_kick(fd, tm_rq(1)), 0);
	ck_assert_int_eq(qsize(tm_rq(1)), 1);
	flushq(tm_rq(1), FLUSHALL);
}
END_TEST

START_TEST(a_write_is_served_and_answered_before_it_returns)
{
	int fd = tm_stack("dsrv", "srv", "srv", NULL), i;
	char buf[8];

	for (i = 0; i < 3; i++) {
		tm_side(tm_wq(i))->put = tm_putq;
		tm_side(tm_rq(i))->put = tm_putq;
		tm_side(tm_wq(i))->srv = tm_forward;
		tm_side(tm_rq(i))->srv = tm_forward;
	}
	tm_side(tm_wq(0))->put = tm_reply;
	for (i = 0; i < 100; i++) {
		ck_assert_int_eq(str_write(fd, "ping", 4), 4);
		ck_assert_int_eq(str_read(fd, buf, sizeof(buf)), 4);
		ck_assert_int_eq(memcmp(buf, "ping", 4), 0);
	}
	ck_assert_int_eq(str_read(fd, buf, sizeof(buf)), -1);
	ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

START_TEST(a_queue_enabled_from_outside_is_run_by_the_next_call)
{
	int fd = tm_stack("dsrv", "srv", NULL);

	tm_side(tm_wq(1))->srv = tm_forward;
	tm_queue(tm_wq(1), tm_norm(3));
	ck_assert_int_eq(tm_puts(tm_wq(0)), 0);
	ck_assert_int_eq(str_write(fd, "x", 1), 1);
	ck_assert_int_eq(qsize(tm_wq(1)), 0);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 2);
}
END_TEST

START_TEST(a_reader_runs_pending_service_before_it_says_eagain)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	char buf[8];

	tm_side(tm_rq(1))->srv = tm_forward;
	tm_queue(tm_rq(1), tm_norm(3));
	ck_assert_int_eq(str_read(fd, buf, sizeof(buf)), 3);
	ck_assert_int_eq(memcmp(buf, "nnn", 3), 0);
}
END_TEST

START_TEST(a_reader_runs_pending_service_before_it_sleeps)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	char buf[8];

	tm_side(tm_rq(1))->srv = tm_forward;
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, 0), 0);
	tm_queue(tm_rq(1), tm_norm(3));
	ck_assert_int_eq(str_read(fd, buf, sizeof(buf)), 3);
	ck_assert_int_eq(str_fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}
END_TEST

START_TEST(a_poller_runs_pending_service_before_it_sleeps)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	struct pollfd p = {fd, POLLIN, 0};

	tm_side(tm_rq(1))->srv = tm_forward;
	tm_queue(tm_rq(1), tm_norm(3));
	ck_assert_int_eq(str_poll(&p, 1, 30000), 1);
	ck_assert(p.revents & POLLIN);
}
END_TEST

START_TEST(noenable_holds_data_until_qenable)
{
	int fd = tm_stack("dsrv", "srv", NULL), i;

	tm_side(tm_wq(1))->put = tm_putq;
	tm_side(tm_wq(1))->srv = tm_forward;
	noenable(tm_wq(1));
	for (i = 0; i < 5; i++)
		ck_assert_int_eq(str_write(fd, "x", 1), 1);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 0);
	enableok(tm_wq(1));
	tm_kick(fd);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 0);
	qenable(tm_wq(1));
	tm_kick(fd);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 5);
}
END_TEST

/* Concurrency of one service procedure. */
static atomic_int inside, worst, served, hold, held;

static int
watched_drain(queue_t *q)
{
	int n = atomic_fetch_add(&inside, 1) + 1;
	mblk_t *mp;

	if (n > atomic_load(&worst))
		atomic_store(&worst, n);
	while ((mp = getq(q))) {
		freemsg(mp);
		if (atomic_fetch_add(&served, 1) % 16 == 0)
			sched_yield();
	}
	atomic_fetch_sub(&inside, 1);
	return 0;
}

struct job {
	int fd;
	int n;
	atomic_int bad;
};

static void *
write_many(void *arg)
{
	struct job *j = arg;
	int i;

	for (i = 0; i < j->n; i++)
		while (str_write(j->fd, "x", 1) != 1) {
			if (errno != EAGAIN) {
				atomic_fetch_add(&j->bad, 1);
				return NULL;
			}
			sched_yield();
		}
	return NULL;
}

START_TEST(a_service_procedure_never_runs_twice_at_once)
{
	int fd = tm_stack("dsrv", NULL), i;
	struct job j = {.fd = fd, .n = tm_scale(100000)};
	pthread_t t[3];

	atomic_store(&worst, 0);
	atomic_store(&inside, 0);
	atomic_store(&served, 0);
	tm_side(tm_wq(0))->put = tm_putq;
	tm_side(tm_wq(0))->srv = watched_drain;
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, write_many, &j), 0);
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	tm_kick(fd);
	ck_assert_int_eq(atomic_load(&j.bad), 0);
	ck_assert_int_eq(atomic_load(&worst), 1);
	/* nothing lies on a queue whose service is idle */
	ck_assert_int_eq(atomic_load(&served), 3 * j.n);
	ck_assert_int_eq(qsize(tm_wq(0)), 0);
}
END_TEST

/* Holds the first run until told to go on. */
static int
hold_then_drain(queue_t *q)
{
	if (atomic_load(&hold)) {
		atomic_store(&held, 1);
		while (atomic_load(&hold))
			tm_msleep(1);
		return 0; /* leaves what came meanwhile */
	}
	return tm_drain(q);
}

START_TEST(a_queue_enabled_while_its_service_runs_elsewhere_runs_again)
{
	int fd = tm_stack("dsrv", NULL), runs;
	struct writer w;

	atomic_store(&hold, 1);
	atomic_store(&held, 0);
	tm_side(tm_wq(0))->put = tm_putq;
	tm_side(tm_wq(0))->srv = hold_then_drain;
	memset(&w, 0, sizeof(w));
	w.fd = fd;
	ck_assert_int_eq(pthread_create(&w.t, NULL, write_one, &w), 0);
	ck_assert(tm_wait(&held, 1));
	runs = tm_srvs(tm_wq(0));
	ck_assert_int_eq(runs, 1);
	/* its put phase is not held up, and its service does not run here */
	ck_assert_int_eq(str_write(fd, "y", 1), 1);
	ck_assert_int_eq(tm_srvs(tm_wq(0)), 1);
	ck_assert_int_eq(qsize(tm_wq(0)), 2);
	atomic_store(&hold, 0);
	ck_assert(tm_wait(&w.done, 1));
	pthread_join(w.t, NULL);
	ck_assert_int_eq(tm_srvs(tm_wq(0)), 2);
	ck_assert_int_eq(qsize(tm_wq(0)), 0);
}
END_TEST

static atomic_int runs_at_off;

static void
enable_before_off(queue_t *q)
{
	qenable(q);
	qenable(WR(q));
	atomic_store(&runs_at_off, tm_srvs(q) + tm_srvs(WR(q)));
}

static void
enable_after_off(queue_t *q)
{
	qenable(q);
	qenable(WR(q));
	tm_queue(q, tm_norm(1));
}

START_TEST(no_service_runs_once_qprocsoff_has_begun)
{
	int fd = tm_stack("dsrv", "srv", NULL);
	struct tm_inst *in = tm_newest;

	tm_close_hook = enable_before_off;
	tm_closed_hook = enable_after_off;
	tm_pop(fd);
	tm_close_hook = NULL;
	tm_closed_hook = NULL;
	tm_kick(fd);
	ck_assert_int_eq(atomic_load(&in->closes), 1);
	ck_assert_int_eq(atomic_load(&in->rd.srvs) + atomic_load(&in->wr.srvs),
	    atomic_load(&runs_at_off));
}
END_TEST

/* A child that enables a queue and stops there: signo is SIGKILL or SIGSTOP. */
static pid_t
child_enables(queue_t *q, int signo)
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (putq(q, tm_norm(5)) != 1)
			_exit(1);
		qenable(q);
		raise(signo);
		_exit(2);
	}
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSIGNALED(status) || WIFSTOPPED(status));
	return pid;
}

START_TEST(what_a_killed_or_stopped_process_enabled_is_run_by_the_next)
{
	int fd = tm_stack("dsrv", "srv", NULL), status;
	pid_t pid;

	noenable(tm_wq(1));
	tm_side(tm_wq(1))->srv = tm_forward;
	pid = child_enables(tm_wq(1), _i ? SIGSTOP : SIGKILL);
	ck_assert_int_eq(qsize(tm_wq(1)), 1);
	tm_kick(fd);
	ck_assert_int_eq(tm_srvs(tm_wq(1)), 1);
	ck_assert_int_eq(qsize(tm_wq(1)), 0);
	ck_assert_int_eq(tm_puts(tm_wq(0)), 1);
	if (_i) {
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	}
	tm_patience = 30000; /* its streams are given up in its own time */
}
END_TEST

/* ---- the suite -------------------------------------------------------------------- */

static void
enable_tests(Suite *s)
{
	TCase *tc = flow_group(s, "enabling");

	tcase_add_loop_test(tc, putq_enables_by_the_table, 0, 2);
	tcase_add_test(tc, putbq_enables_by_the_table);
	tcase_add_test(tc, insq_enables_only_if_allowed_and_wanted);
	tcase_add_test(tc, an_illegal_insq_enables_nothing);
	tcase_add_test(tc, getq_sets_qwantr_when_empty_and_clears_it_with_a_message);
	tcase_add_test(tc, qenable_ignores_noenable);
	tcase_add_test(tc, enableok_alone_enables_nothing);
	tcase_add_test(tc, qenable_is_merged_while_it_is_pending);
	tcase_add_test(tc, qenable_of_a_queue_without_service_is_harmless);
	tcase_add_test(tc, every_enabled_queue_runs_once);
}

static void
service_tests(Suite *s)
{
	TCase *tc = flow_group(s, "service");

	tcase_add_test(tc, a_queue_enabled_by_its_own_service_runs_again);
	tcase_add_test(tc, putting_back_what_was_taken_does_not_loop);
	tcase_add_test(tc, a_write_is_served_and_answered_before_it_returns);
	tcase_add_test(tc, a_queue_enabled_from_outside_is_run_by_the_next_call);
	tcase_add_test(tc, a_reader_runs_pending_service_before_it_says_eagain);
	tcase_add_test(tc, a_reader_runs_pending_service_before_it_sleeps);
	tcase_add_test(tc, a_poller_runs_pending_service_before_it_sleeps);
	tcase_add_test(tc, noenable_holds_data_until_qenable);
	tcase_add_test(tc, a_service_procedure_never_runs_twice_at_once);
	tcase_add_test(tc, a_queue_enabled_while_its_service_runs_elsewhere_runs_again);
	tcase_add_test(tc, no_service_runs_once_qprocsoff_has_begun);
	if (tm_may_fork())
		tcase_add_loop_test(tc,
		    what_a_killed_or_stopped_process_enabled_is_run_by_the_next, 0, 2);
}

int
main(void)
{
	Suite *s = suite_create("service");

	enable_tests(s);
	service_tests(s);
	return tm_run(s);
}
