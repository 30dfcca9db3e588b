/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_link.c: I_LINK, I_UNLINK, I_PLINK, I_PUNLINK (streamio.md §2, §8) with
 * multiplexing drivers of the test's own; the driver mux is check_mux.c's.
 */
#include "headlib.h"

#include <stdio.h>
#include <sys/ddi.h>
#include <sys/wait.h>

/* ---- a multiplexor that does as it is told ------------------------------ */

enum answer { ANSWER_ACK, ANSWER_NAK, ANSWER_NAK_EPERM, ANSWER_NEVER };

/* Shared with children: in ustr_modstate(). */
struct tmux {
	int t_answer;		/* to the next link */
	int t_unanswer;		/* to the next unlink */
	int t_links, t_unlinks;	/* M_IOCTLs seen */
	int t_lastcmd;
	struct linkblk t_last;
	queue_t *t_lower;	/* the last lower write queue */
	queue_t *t_top;		/* the newest upper read queue */
	int t_lowerputs;	/* data messages from below */
	int t_early;		/* ... before the link was known */
};

static struct tmux *tmux;

static int
tmux_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *crp)
{
	(void)devp, (void)oflag, (void)sflag, (void)crp;
	tmux = ustr_modstate(q);
	tmux->t_top = q;
	qprocson(q);
	return 0;
}

static int
tmux_close(queue_t *q, int flag, cred_t *crp)
{
	(void)flag, (void)crp;
	qprocsoff(q);
	if (tmux->t_top == q)
		tmux->t_top = NULL;
	return 0;
}

static void
tmux_answer(queue_t *q, mblk_t *mp, int how)
{
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;

	if (how == ANSWER_NEVER) {
		freemsg(mp);
		return;
	}
	mp->b_datap->db_type = how == ANSWER_ACK ? M_IOCACK : M_IOCNAK;
	ioc->ioc_error = how == ANSWER_NAK_EPERM ? EPERM : 0;
	ioc->ioc_count = 0;
	qreply(q, mp);
}

static void
tmux_ioctl(queue_t *q, mblk_t *mp)
{
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;

	if (mp->b_cont == NULL || ioc->ioc_count != sizeof(tmux->t_last)) {
		tmux_answer(q, mp, ANSWER_NAK);
		return;
	}
	memcpy(&tmux->t_last, mp->b_cont->b_rptr, sizeof(tmux->t_last));
	tmux->t_lastcmd = ioc->ioc_cmd;
	if (ioc->ioc_cmd == I_LINK || ioc->ioc_cmd == I_PLINK) {
		tmux->t_links++;
		if (tmux->t_answer == ANSWER_ACK)
			tmux->t_lower = tmux->t_last.l_qbot;
		tmux_answer(q, mp, tmux->t_answer);
		return;
	}
	tmux->t_unlinks++;
	if (tmux->t_unanswer == ANSWER_ACK)
		tmux->t_lower = NULL;
	tmux_answer(q, mp, tmux->t_unanswer);
}

static int
tmux_wput(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type == M_IOCTL)
		tmux_ioctl(q, mp);
	else if (mp->b_datap->db_type == M_FLUSH || tmux->t_lower == NULL)
		freemsg(mp);
	else
		putnext(tmux->t_lower, mp);
	return 0;
}

static int
tmux_lrput(queue_t *q, mblk_t *mp)
{
	(void)q;
	if (mp->b_datap->db_type == M_DATA) {
		tmux->t_lowerputs++;
		tmux->t_early += tmux->t_lower == NULL;
	}
	if (tmux->t_top != NULL && (mp->b_datap->db_type == M_DATA ||
	    mp->b_datap->db_type == M_PROTO || mp->b_datap->db_type == M_PCPROTO))
		putnext(tmux->t_top, mp);
	else
		freemsg(mp);
	return 0;
}

/* Keeps what comes from below on the lower read queue. */
static int
tkeep_lrput(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type >= QPCTL || !putq(q, mp))
		freemsg(mp);
	return 0;
}

static int
tkeep_lrsrv(queue_t *q)
{
	(void)q;
	return 0;
}

static struct module_info tmux_info = {9901, "tmux", 0, INFPSZ, 300, 100};
static struct qinit tmux_rinit = {
    NULL, NULL, tmux_open, tmux_close, NULL, &tmux_info, NULL};
static struct qinit tmux_winit = {tmux_wput, NULL, NULL, NULL, NULL, &tmux_info, NULL};
static struct qinit tmux_lrinit = {tmux_lrput, NULL, NULL, NULL, NULL, &tmux_info, NULL};
static struct qinit tkeep_lrinit = {
    tkeep_lrput, tkeep_lrsrv, NULL, NULL, NULL, &tmux_info, NULL};
static struct qinit tmux_lwinit = {NULL, NULL, NULL, NULL, NULL, &tmux_info, NULL};
static struct streamtab tmux_tab = {&tmux_rinit, &tmux_winit, &tmux_lrinit, &tmux_lwinit};
static struct streamtab tkeep_tab = {
    &tmux_rinit, &tmux_winit, &tkeep_lrinit, &tmux_lwinit};

static int upper; /* control stream */
static int lower; /* an echo, not linked yet */

static void
begin(const char *name, struct streamtab *tab, int flags)
{
	test_modules();
	GIVES(ustr_register_driver(name, tab, flags), 0);
	upper = open_dev(name);
	lower = open_dev("echo");
	memset(tmux, 0, offsetof(struct tmux, t_top));
}

static void
setup(void)
{
	begin("tmux", &tmux_tab, D_MTPERMOD);
}

static void
teardown(void)
{
	str_close(upper);
	str_close(lower);
}

/* Link fd and give the id. */
static int
link_to(int fd)
{
	int id = str_ioctl(upper, I_LINK, fd);

	ck_assert_msg(id > 0, "I_LINK gives %d (%s)", id, ename(errno));
	return id;
}

/* ---- what I_LINK refuses, in the order of streamio 8 --------------------- */

/* "mux hup ENXIO" comes before everything else */
START_TEST(a_hung_up_control_stream_cannot_link)
{
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(upper, I_PUSH, "tctl"), 0);
	order(upper, M_HANGUP, NULL, 0);
	FAILS(str_ioctl(upper, I_LINK, -1), ENXIO);
	FAILS(str_ioctl(upper, I_LINK, lower), ENXIO);
	FAILS(str_ioctl(upper, I_PLINK, lower), ENXIO);
	FAILS(str_ioctl(upper, I_UNLINK, 1), ENXIO);
	FAILS(str_ioctl(upper, I_PUNLINK, 1), ENXIO);
	close_pipe(p);
}
END_TEST

START_TEST(a_control_stream_in_error_gives_that_errno)
{
	GIVES(str_ioctl(upper, I_PUSH, "tctl"), 0);
	order_error(upper, EPROTO, 0);
	FAILS(str_ioctl(upper, I_LINK, lower), EPROTO);
	order_error(upper, 0, EDOM);
	FAILS(str_ioctl(upper, I_LINK, lower), EDOM);
	FAILS(str_ioctl(upper, I_UNLINK, MUXID_ALL), EDOM);
	FAILS(str_ioctl(upper, I_PLINK, lower), EDOM);
	FAILS(str_ioctl(upper, I_PUNLINK, MUXID_ALL), EDOM);
}
END_TEST

/* "not a multiplexing driver EINVAL", even with a bad descriptor */
START_TEST(only_a_multiplexing_driver_links)
{
	int p[2], nuls = open_dev("nuls");

	make_pipe(p);
	FAILS(str_ioctl(nuls, I_LINK, lower), EINVAL);
	FAILS(str_ioctl(nuls, I_LINK, -1), EINVAL);
	FAILS(str_ioctl(nuls, I_PLINK, lower), EINVAL);
	FAILS(str_ioctl(p[0], I_LINK, lower), EINVAL);
	FAILS(str_ioctl(p[0], I_LINK, p[1]), EINVAL);
	close_pipe(p);
	GIVES(str_close(nuls), 0);
}
END_TEST

START_TEST(a_bad_descriptor_is_ebadf)
{
	FAILS(str_ioctl(upper, I_LINK, -1), EBADF);
	FAILS(str_ioctl(upper, I_LINK, 987654), EBADF);
	FAILS(str_ioctl(upper, I_PLINK, -1), EBADF);
	ck_assert_int_eq(tmux->t_links, 0);
}
END_TEST

START_TEST(a_descriptor_that_is_no_stream_is_einval)
{
	FAILS(str_ioctl(upper, I_LINK, STDIN_FILENO), EINVAL);
	FAILS(str_ioctl(upper, I_PLINK, STDIN_FILENO), EINVAL);
}
END_TEST

START_TEST(a_stream_is_not_linked_below_itself)
{
	int dup = str_dup(upper);

	FAILS(str_ioctl(upper, I_LINK, upper), EINVAL);
	FAILS(str_ioctl(upper, I_LINK, dup), EINVAL);
	FAILS(str_ioctl(upper, I_PLINK, upper), EINVAL);
	GIVES(str_close(dup), 0);
}
END_TEST

START_TEST(a_stream_is_linked_below_one_multiplexor_only)
{
	int other = open_dev("tmux");

	link_to(lower);
	FAILS(str_ioctl(upper, I_LINK, lower), EINVAL);
	FAILS(str_ioctl(other, I_LINK, lower), EINVAL);
	FAILS(str_ioctl(other, I_PLINK, lower), EINVAL);
	ck_assert_int_eq(tmux->t_links, 1);
	GIVES(str_close(other), 0);
}
END_TEST

START_TEST(a_stream_hung_up_or_in_error_is_not_linked)
{
	int p[2];

	make_pipe(p);
	GIVES(str_close(p[1]), 0);
	FAILS(str_ioctl(upper, I_LINK, p[0]), EINVAL);
	GIVES(str_close(p[0]), 0);
	GIVES(str_ioctl(lower, I_PUSH, "tctl"), 0);
	order_error(lower, EPROTO, 0);
	FAILS(str_ioctl(upper, I_PLINK, lower), EINVAL);
	order_error(lower, 0, EPROTO);
	FAILS(str_ioctl(upper, I_LINK, lower), EINVAL);
}
END_TEST

/* a cycle: of streams, and of drivers where links are persistent */
START_TEST(a_cycle_is_refused)
{
	int a, b;

	GIVES(ustr_register_driver("tmux2", &tmux_tab, D_MTPERMOD), 0);
	a = open_dev("tmux");
	b = open_dev("tmux2");
	GIVES(str_ioctl(a, I_LINK, b) > 0, 1);
	FAILS(str_ioctl(b, I_LINK, a), EINVAL);
	FAILS(str_ioctl(b, I_PLINK, a), EINVAL);
	GIVES(str_close(b), 0);
	GIVES(str_close(a), 0);

	/* A persistent link comes from every stream of its driver. */
	a = open_dev("tmux");
	b = open_dev("tmux2");
	FAILS(str_ioctl(upper, I_PLINK, a), EINVAL);
	GIVES(str_ioctl(upper, I_PLINK, b) > 0, 1);
	GIVES(str_close(b), 0);
	b = open_dev("tmux2");
	GIVES(str_ioctl(b, I_PLINK, lower) > 0, 1);
	FAILS(str_ioctl(b, I_PLINK, a), EINVAL);
	GIVES(str_ioctl(b, I_PUNLINK, MUXID_ALL), 0);
	GIVES(str_ioctl(upper, I_PUNLINK, MUXID_ALL), 0);
	GIVES(str_close(a), 0);
	GIVES(str_close(b), 0);
	GIVES(ustr_unregister("tmux2"), 0);
}
END_TEST

/* ---- the dialogue with the driver ---------------------------------------- */

START_TEST(the_driver_gets_the_queues_and_the_id)
{
	int id = link_to(lower);

	ck_assert_int_eq(tmux->t_lastcmd, I_LINK);
	ck_assert_int_eq(tmux->t_last.l_index, id);
	ck_assert_ptr_eq(tmux->t_last.l_qtop, WR(tmux->t_top));
	ck_assert_ptr_ne(tmux->t_last.l_qbot, NULL);
	GIVES(str_ioctl(upper, I_UNLINK, id), 0);
	ck_assert_int_eq(tmux->t_lastcmd, I_UNLINK);
	ck_assert_int_eq(tmux->t_last.l_index, id);
	ck_assert_int_eq(tmux->t_unlinks, 1);
}
END_TEST

START_TEST(a_persistent_link_has_no_upper_queue)
{
	int id = str_ioctl(upper, I_PLINK, lower);

	ck_assert_int_gt(id, 0);
	ck_assert_int_eq(tmux->t_lastcmd, I_PLINK);
	ck_assert_ptr_eq(tmux->t_last.l_qtop, NULL);
	GIVES(str_ioctl(upper, I_PUNLINK, id), 0);
	ck_assert_int_eq(tmux->t_lastcmd, I_PUNLINK);
}
END_TEST

START_TEST(a_refused_link_leaves_the_stream_as_it_was)
{
	GIVES(str_write(lower, "kept", 4), 4);
	tmux->t_answer = ANSWER_NAK;
	FAILS(str_ioctl(upper, I_LINK, lower), EINVAL);
	tmux->t_answer = ANSWER_NAK_EPERM;
	FAILS(str_ioctl(upper, I_PLINK, lower), EPERM);
	GIVES(str_write(lower, "more", 4), 4);
	READS(lower, 4, "more");
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	GIVES(str_ioctl(upper, I_PUNLINK, MUXID_ALL), 0);
	ck_assert_int_eq(tmux->t_unlinks, 0);
}
END_TEST

START_TEST(a_refused_unlink_leaves_the_link)
{
	int id = link_to(lower);

	tmux->t_unanswer = ANSWER_NAK_EPERM;
	FAILS(str_ioctl(upper, I_UNLINK, id), EPERM);
	FAILS(str_write(lower, "x", 1), EINVAL);
	FAILS(str_ioctl(upper, I_UNLINK, MUXID_ALL), EPERM);
	tmux->t_unanswer = ANSWER_ACK;
	GIVES(str_ioctl(upper, I_UNLINK, id), 0);
	GIVES(str_write(lower, "x", 1), 1);
}
END_TEST

START_TEST(a_driver_that_never_answers_is_etime)
{
	GIVES(ustr_tune("ioctltime", 50), 0);
	tmux->t_answer = ANSWER_NEVER;
	FAILS(str_ioctl(upper, I_LINK, lower), ETIME);
	GIVES(str_write(lower, "x", 1), 1);
	READS(lower, 1, "x");
	tmux->t_answer = ANSWER_ACK;
	link_to(lower);
	tmux->t_unanswer = ANSWER_NEVER;
	FAILS(str_ioctl(upper, I_UNLINK, MUXID_ALL), ETIME);
	tmux->t_unanswer = ANSWER_ACK;
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	GIVES(ustr_tune("ioctltime", 15000), 0);
}
END_TEST

START_TEST(ids_are_positive_and_never_the_same)
{
	int e[20], id[20];

	for (int i = 0; i < 20; i++) {
		e[i] = open_dev(i % 2 ? "echo" : "nuls");
		id[i] = str_ioctl(upper, i % 3 ? I_LINK : I_PLINK, e[i]);
		ck_assert_int_gt(id[i], 0);
		for (int k = 0; k < i; k++)
			ck_assert_int_ne(id[i], id[k]);
	}
	GIVES(str_ioctl(upper, I_PUNLINK, MUXID_ALL), 0);
	for (int i = 0; i < 20; i++)
		GIVES(str_close(e[i]), 0);
}
END_TEST

/* ---- unlinking ------------------------------------------------------------- */

START_TEST(an_unknown_id_is_einval)
{
	int id = link_to(lower);

	FAILS(str_ioctl(upper, I_UNLINK, id + 1000), EINVAL);
	FAILS(str_ioctl(upper, I_UNLINK, 0), EINVAL);
	FAILS(str_ioctl(upper, I_UNLINK, -2), EINVAL);
	/* "I_LINK links": not those of I_PLINK, and the other way round */
	FAILS(str_ioctl(upper, I_PUNLINK, id), EINVAL);
	GIVES(str_ioctl(upper, I_UNLINK, id), 0);
	FAILS(str_ioctl(upper, I_UNLINK, id), EINVAL);
	id = str_ioctl(upper, I_PLINK, lower);
	FAILS(str_ioctl(upper, I_UNLINK, id), EINVAL);
	GIVES(str_ioctl(upper, I_PUNLINK, id), 0);
}
END_TEST

START_TEST(a_link_is_taken_off_through_its_own_control_stream)
{
	int other = open_dev("tmux"), id = link_to(lower);

	FAILS(str_ioctl(other, I_UNLINK, id), EINVAL);
	GIVES(str_ioctl(other, I_UNLINK, MUXID_ALL), 0);
	FAILS(str_write(lower, "x", 1), EINVAL);
	GIVES(str_close(other), 0);
}
END_TEST

START_TEST(muxid_all_takes_off_all_of_a_stream_and_none_is_fine)
{
	int e[3], other = open_dev("tmux"), foreign = open_dev("echo");

	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	GIVES(str_ioctl(upper, I_PUNLINK, MUXID_ALL), 0);
	/* "the argument is an int: -1 must work on 64-bit" */
	GIVES(str_ioctl(upper, I_UNLINK, -1), 0);
	GIVES(str_ioctl(upper, I_UNLINK, -1L), 0);
	GIVES(str_ioctl(upper, I_UNLINK, 0xffffffffL), 0);
	GIVES(str_ioctl(other, I_LINK, foreign) > 0, 1);
	for (int i = 0; i < 3; i++)
		link_to(e[i] = open_dev("echo"));
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	ck_assert_int_eq(tmux->t_unlinks, 3);
	for (int i = 0; i < 3; i++) {
		GIVES(str_write(e[i], "x", 1), 1);
		GIVES(str_close(e[i]), 0);
	}
	FAILS(str_write(foreign, "x", 1), EINVAL);
	GIVES(str_close(other), 0);
	GIVES(str_write(foreign, "x", 1), 1);
	GIVES(str_close(foreign), 0);
}
END_TEST

/* "I_LINK links die with the control stream" */
START_TEST(the_last_close_of_the_control_stream_unlinks)
{
	int m = open_dev("tmux"), dup = str_dup(m);

	GIVES(str_ioctl(m, I_LINK, lower) > 0, 1);
	GIVES(str_close(m), 0);
	FAILS(str_write(lower, "x", 1), EINVAL);
	GIVES(str_close(dup), 0);
	ck_assert_int_eq(tmux->t_unlinks, 1);
	GIVES(str_write(lower, "x", 1), 1);
	READS(lower, 1, "x");
}
END_TEST

START_TEST(closing_does_not_ask_the_drivers_leave)
{
	int m = open_dev("tmux");

	tmux->t_unanswer = ANSWER_NAK;
	GIVES(str_ioctl(m, I_LINK, lower) > 0, 1);
	GIVES(str_close(m), 0);
	GIVES(str_write(lower, "x", 1), 1);
}
END_TEST

/* "I_PLINK ones live until I_PUNLINK" */
START_TEST(a_persistent_link_outlives_its_control_stream)
{
	int m = open_dev("tmux"), id = str_ioctl(m, I_PLINK, lower);

	ck_assert_int_gt(id, 0);
	GIVES(str_close(m), 0);
	FAILS(str_write(lower, "x", 1), EINVAL);
	ck_assert_int_eq(tmux->t_unlinks, 0);
	/* any stream of the driver takes it off */
	GIVES(str_ioctl(upper, I_PUNLINK, id), 0);
	GIVES(str_write(lower, "x", 1), 1);
}
END_TEST

START_TEST(a_driver_with_a_persistent_link_stays_registered)
{
	int id = str_ioctl(upper, I_PLINK, lower);

	GIVES(str_close(upper), 0);
	FAILS(ustr_unregister("tmux"), EBUSY);
	upper = open_dev("tmux");
	GIVES(str_ioctl(upper, I_PUNLINK, id), 0);
	GIVES(str_close(upper), 0);
	GIVES(ustr_unregister("tmux"), 0);
}
END_TEST

/* ---- the stream below ------------------------------------------------------- */

/* "The lower descriptor then gives EINVAL for everything, POLLNVAL for poll." */
START_TEST(every_call_on_the_lower_descriptor_is_einval)
{
	static const int value[] = {I_NREAD, I_LOOK, I_FLUSH, I_SRDOPT, I_GRDOPT, I_FIND, I_SWROPT,
	    I_GWROPT, I_LIST, I_CKBAND, I_GETBAND, I_CANPUT, I_GETCLTIME, I_SETCLTIME, I_POP,
	    I_SET_HIWAT, I_GET_HIWAT, I_LINK, I_UNLINK, I_PLINK, I_PUNLINK};
	struct strbuf sb = {10, 1, (char[10]){"x"}};
	struct iovec iov = {sb.buf, 1};
	mblk_t *mp = str_mblkalloc(1);
	int flags = 0, band = 0;
	char c;

	link_to(lower);
	FAILS(str_read(lower, &c, 1), EINVAL);
	FAILS(str_readv(lower, &iov, 1), EINVAL);
	FAILS(str_write(lower, "x", 1), EINVAL);
	FAILS(str_writev(lower, &iov, 1), EINVAL);
	FAILS(putmsg(lower, &sb, NULL, 0), EINVAL);
	FAILS(putpmsg(lower, &sb, NULL, 0, MSG_BAND), EINVAL);
	FAILS(getmsg(lower, &sb, NULL, &flags), EINVAL);
	flags = MSG_ANY;
	FAILS(getpmsg(lower, &sb, NULL, &band, &flags), EINVAL);
	FAILS(str_putmblk(lower, mp), EINVAL);
	FAILS(str_getmblk(lower, &mp), EINVAL);
	FAILS(str_ioctl(lower, I_PUSH, "nullmod"), EINVAL);
	for (size_t i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		int word = 1;

		FAILS(str_ioctl(lower, value[i], &word), EINVAL);
	}
	ck_assert_int_eq(polled(lower, POLLIN | POLLOUT), POLLNVAL);
	ck_assert_int_eq(polled(lower, 0), POLLNVAL);
	GIVES(isastream(lower), 1);
}
END_TEST

START_TEST(closing_the_lower_descriptor_leaves_the_link)
{
	link_to(lower);
	GIVES(str_close(lower), 0);
	GIVES(str_write(upper, "through", 7), 7);
	READS(upper, 10, "through");
	lower = -1;
}
END_TEST

START_TEST(a_stream_whose_descriptor_is_gone_closes_when_it_is_unlinked)
{
	int t = open_dev("tdrv"), before = tdrv_counts.c_close;

	link_to(t);
	GIVES(str_close(t), 0);
	ck_assert_int_eq(tdrv_counts.c_close, before);
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	ck_assert_int_eq(tdrv_counts.c_close, before + 1);
}
END_TEST

/* What was at the head goes through the multiplexor, in order and whole. */
START_TEST(what_nobody_read_goes_to_the_multiplexor)
{
	GIVES(put_msg(lower, NULL, "one", 0), 0);
	GIVES(put_msg(lower, NULL, "two", 5), 0);
	GIVES(put_msg(lower, "ctl", "three", 0), 0);
	GIVES(put_msg(lower, "hi", NULL, HIPRI), 0);
	link_to(lower);
	TAKES(upper, "hi", NULL, HIPRI);
	TAKES(upper, NULL, "two", 5);
	TAKES(upper, NULL, "one", 0);
	TAKES(upper, "ctl", "three", 0);
	ck_assert_int_eq(tmux->t_early, 2);
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	ck_assert_int_eq(waiting(lower), 0);
}
END_TEST

/* What the multiplexor left on the lower read queue is read from the stream. */
START_TEST(what_the_multiplexor_kept_is_read_after_unlinking)
{
	int p[2];

	teardown();
	begin("tkeep", &tkeep_tab, D_MTPERMOD);
	make_pipe(p);
	link_to(p[0]);
	GIVES(str_write(p[1], "a", 1), 1);
	GIVES(put_msg(p[1], NULL, "b", 7), 0);
	GIVES(str_write(p[1], "c", 1), 1);
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	ck_assert_int_eq(waiting(p[0]), 3);
	TAKES(p[0], NULL, "b", 7);
	TAKES(p[0], NULL, "a", 0);
	TAKES(p[0], NULL, "c", 0);
	close_pipe(p);
}
END_TEST

/* The lower queues have the driver's water marks, the head gets its own back. */
START_TEST(flow_control_is_the_lower_queues_and_then_the_heads_again)
{
	int p[2], n;

	teardown();
	begin("tkeep", &tkeep_tab, D_MTPERMOD);
	make_pipe(p);
	set_marks(p[0], 5000, 100);
	link_to(p[0]);
	n = fill(p[1]);
	ck_assert_int_eq(n, 300);
	FAILS(str_write(p[1], "x", 1), EAGAIN);
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	GIVES(str_ioctl(p[0], I_GET_HIWAT, 0), 5000);
	ck_assert_int_eq(polled(p[1], POLLOUT), POLLOUT);
	ck_assert_int_eq(fill(p[1]), 4700);
	ck_assert_int_eq((int)drain(p[0]), 5000);
	close_pipe(p);
}
END_TEST

static void
unlink_it(void *arg)
{
	(void)arg;
	str_ioctl(upper, I_UNLINK, MUXID_ALL);
}

START_TEST(a_writer_refused_by_the_multiplexor_goes_on_after_unlinking)
{
	struct later l;
	int p[2];

	teardown();
	begin("tkeep", &tkeep_tab, D_MTPERMOD);
	make_pipe(p);
	link_to(p[0]);
	fill(p[1]);
	nonblock(p[1], false);
	later(&l, 50, unlink_it, NULL);
	GIVES(str_write(p[1], "x", 1), 1);
	later_join(&l);
	close_pipe(p);
}
END_TEST

static void
link_it(void *arg)
{
	if (str_ioctl(upper, I_LINK, *(int *)arg) <= 0)
		abort();
}

START_TEST(a_sleeping_reader_is_woken_by_linking)
{
	struct later l;
	char c;

	nonblock(lower, false);
	later(&l, 50, link_it, &lower);
	FAILS(str_read(lower, &c, 1), EINVAL);
	later_join(&l);
}
END_TEST

/* What the thread had in hand is the link's: its end gives nothing up. */
START_TEST(a_link_outlives_the_thread_that_made_it)
{
	int t = open_dev("tdrv"), before = tdrv_counts.c_close;
	struct later l;

	later(&l, 0, link_it, &t);
	later_join(&l);
	GIVES(str_close(t), 0);
	ck_assert_int_eq(tdrv_counts.c_close, before);
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	ck_assert_int_eq(tdrv_counts.c_close, before + 1);
}
END_TEST

START_TEST(a_sleeping_poll_is_woken_by_linking)
{
	struct pollfd pfd = {lower, POLLIN, 0};
	struct later l;

	later(&l, 50, link_it, &lower);
	GIVES(str_poll(&pfd, 1, SOON), 1);
	ck_assert_int_eq(pfd.revents, POLLNVAL);
	later_join(&l);
}
END_TEST

START_TEST(modules_below_stay_in_place)
{
	GIVES(str_ioctl(lower, I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(lower, I_PUSH, "pipemod"), 0);
	link_to(lower);
	GIVES(str_write(upper, "x", 1), 1);
	READS(upper, 1, "x");
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	GIVES(str_ioctl(lower, I_LIST, NULL), 3);
	GIVES(str_ioctl(lower, I_POP, 0), 0);
	GIVES(str_write(lower, "y", 1), 1);
	READS(lower, 1, "y");
}
END_TEST

START_TEST(the_other_end_of_a_linked_pipe_works)
{
	int p[2];
	char c;

	make_pipe(p);
	link_to(p[0]);
	GIVES(str_write(upper, "down", 4), 4);
	READS(p[1], 10, "down");
	GIVES(str_write(p[1], "up", 2), 2);
	READS(upper, 10, "up");
	GIVES(str_ioctl(p[1], I_PUSH, "nullmod"), 0);
	GIVES(str_write(p[1], "up", 2), 2);
	READS(upper, 10, "up");
	GIVES(str_ioctl(p[1], I_POP, 0), 0);
	GIVES(str_close(p[1]), 0);
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	/* Its M_HANGUP went to the multiplexor; the stream knows all the same. */
	GIVES(str_read(p[0], &c, 1), 0);
	ck_assert_int_eq(polled(p[0], POLLIN), POLLHUP);
	GIVES(str_close(p[0]), 0);
}
END_TEST

START_TEST(a_cascade_of_multiplexors_carries_messages)
{
	enum { DEEP = 8 };
	int m[DEEP], e = open_dev("echo");

	for (int i = 0; i < DEEP; i++) {
		char name[FMNAMESZ + 1] = "tmxa";

		name[3] = (char)('a' + i);
		GIVES(ustr_register_driver(name, &tmux_tab, D_MTPERMOD), 0);
		m[i] = open_dev(name);
		GIVES(str_ioctl(m[i], I_LINK, i == 0 ? e : m[i - 1]) > 0, 1);
	}
	for (int i = 0; i + 1 < DEEP; i++)
		GIVES(str_close(m[i]), 0);
	GIVES(str_close(e), 0);
	/* Closing the top closes everything below, level by level. */
	GIVES(str_close(m[DEEP - 1]), 0);
	for (int i = 0; i < DEEP; i++) {
		char name[FMNAMESZ + 1] = "tmxa";

		name[3] = (char)('a' + i);
		GIVES(ustr_unregister(name), 0);
	}
}
END_TEST

START_TEST(a_linked_stream_is_drawn_as_such)
{
	char text[4096] = "", want[100];
	FILE *f = fmemopen(text, sizeof(text), "w");
	int id = link_to(lower);

	GIVES(ustr_dump(lower, f), 0);
	fclose(f);
	snprintf(want, sizeof(want), "~ below tmux, link %d", id);
	ck_assert_msg(strstr(text, want) != NULL && strstr(text, "LINKED") != NULL, "%s", text);
}
END_TEST

/* ---- registering -------------------------------------------------------------- */

START_TEST(a_lower_side_must_be_whole_and_a_drivers)
{
	struct streamtab half = {&tmux_rinit, &tmux_winit, &tmux_lrinit, NULL};
	struct qinit noput = {NULL, NULL, NULL, NULL, NULL, &tmux_info, NULL};
	struct streamtab none = {&tmux_rinit, &tmux_winit, &noput, &tmux_lwinit};
	struct streamtab mod = {&tmux_lrinit, &tmux_winit, &tmux_lrinit, &tmux_lwinit};

	FAILS(ustr_register_driver("tbad", &half, D_MP), EINVAL);
	FAILS(ustr_register_driver("tbad", &none, D_MP), EINVAL);
	FAILS(ustr_register_module("tbad", &mod, D_MP), EINVAL);
}
END_TEST

/* Every kind of perimeter serves the lower queues as well. */
START_TEST(a_multiplexor_may_have_any_perimeter)
{
	static const int flags[] = {D_MP, D_MTPERQ, D_MTQPAIR, D_MTPERMOD,
	    D_MTQPAIR | D_MTOUTPERIM, 0};
	int f = flags[_i];

	GIVES(str_ioctl(lower, I_FLUSH, FLUSHRW), 0);
	GIVES(ustr_register_driver("tany", &tmux_tab, f), 0);
	str_close(upper);
	upper = open_dev("tany");
	for (int i = 0; i < 3; i++) {
		link_to(lower);
		GIVES(str_write(upper, "x", 1), 1);
		READS(upper, 1, "x");
		GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	}
	link_to(lower);
}
END_TEST

/* ---- processes ------------------------------------------------------------------ */

static int
links_in_child(void *arg)
{
	(void)arg;
	NEED(str_ioctl(upper, I_LINK, lower) > 0);
	NEED(str_write(upper, "child", 5) == 5);
	return 0;
}

START_TEST(a_link_made_by_a_child_is_the_parents_too)
{
	if (!can_fork())
		return;
	ck_assert_int_eq(reap(child(links_in_child, NULL), SOON), 0);
	READS(upper, 10, "child");
	FAILS(str_write(lower, "x", 1), EINVAL);
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	GIVES(str_write(lower, "x", 1), 1);
}
END_TEST

static int
dies_linking(void *arg)
{
	(void)arg;
	tmux->t_answer = ANSWER_NEVER;
	(void)str_ioctl(upper, I_LINK, lower);
	return 0;
}

/* Killed between L3 and L4: the stream is linked, and can be unlinked. */
START_TEST(a_linker_killed_while_it_waits_leaves_nothing_stuck)
{
	pid_t pid;
	int e;

	if (!can_fork())
		return;
	pid = child(dies_linking, NULL);
	for (int i = 0; i < 1000 && tmux->t_links == 0; i++)
		msleep(10);
	ck_assert_int_eq(tmux->t_links, 1);
	kill(pid, SIGKILL);
	ck_assert_int_eq(reap(pid, SOON), 128 + SIGKILL);
	tmux->t_answer = ANSWER_ACK;
	e = open_dev("echo");
	link_to(e);
	FAILS(str_ioctl(upper, I_LINK, lower), EINVAL);
	GIVES(str_ioctl(upper, I_UNLINK, MUXID_ALL), 0);
	GIVES(str_write(lower, "x", 1), 1);
	READS(lower, 1, "x");
	GIVES(str_close(e), 0);
}
END_TEST

static int
holds_and_dies(void *arg)
{
	(void)arg;
	NEED(str_close(lower) == 0);
	kill(getpid(), SIGKILL);
	return 0;
}

/* The death of a process is a close: its I_LINK links go with the last holder. */
START_TEST(links_of_a_killed_process_die_with_its_control_stream)
{
	pid_t pid;

	if (!can_fork())
		return;
	link_to(lower);
	pid = child(holds_and_dies, NULL);
	GIVES(str_close(upper), 0);
	reap(pid, SOON);
	for (int i = 0; i < 1000 && str_write(lower, "x", 1) != 1; i++)
		msleep(10);
	READS(lower, 1, "x");
	upper = open_dev("tmux");
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("link");
	TCase *t = group(s, "refusals", 120);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_hung_up_control_stream_cannot_link);
	tcase_add_test(t, a_control_stream_in_error_gives_that_errno);
	tcase_add_test(t, only_a_multiplexing_driver_links);
	tcase_add_test(t, a_bad_descriptor_is_ebadf);
	tcase_add_test(t, a_descriptor_that_is_no_stream_is_einval);
	tcase_add_test(t, a_stream_is_not_linked_below_itself);
	tcase_add_test(t, a_stream_is_linked_below_one_multiplexor_only);
	tcase_add_test(t, a_stream_hung_up_or_in_error_is_not_linked);
	tcase_add_test(t, a_cycle_is_refused);

	t = group(s, "dialogue", 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, the_driver_gets_the_queues_and_the_id);
	tcase_add_test(t, a_persistent_link_has_no_upper_queue);
	tcase_add_test(t, a_refused_link_leaves_the_stream_as_it_was);
	tcase_add_test(t, a_refused_unlink_leaves_the_link);
	tcase_add_test(t, a_driver_that_never_answers_is_etime);
	tcase_add_test(t, ids_are_positive_and_never_the_same);

	t = group(s, "unlinking", 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, an_unknown_id_is_einval);
	tcase_add_test(t, a_link_is_taken_off_through_its_own_control_stream);
	tcase_add_test(t, muxid_all_takes_off_all_of_a_stream_and_none_is_fine);
	tcase_add_test(t, the_last_close_of_the_control_stream_unlinks);
	tcase_add_test(t, closing_does_not_ask_the_drivers_leave);
	tcase_add_test(t, a_persistent_link_outlives_its_control_stream);
	tcase_add_test(t, a_driver_with_a_persistent_link_stays_registered);

	t = group(s, "below", 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, every_call_on_the_lower_descriptor_is_einval);
	tcase_add_test(t, closing_the_lower_descriptor_leaves_the_link);
	tcase_add_test(t, a_stream_whose_descriptor_is_gone_closes_when_it_is_unlinked);
	tcase_add_test(t, what_nobody_read_goes_to_the_multiplexor);
	tcase_add_test(t, what_the_multiplexor_kept_is_read_after_unlinking);
	tcase_add_test(t, flow_control_is_the_lower_queues_and_then_the_heads_again);
	tcase_add_test(t, a_writer_refused_by_the_multiplexor_goes_on_after_unlinking);
	tcase_add_test(t, a_sleeping_reader_is_woken_by_linking);
	tcase_add_test(t, a_sleeping_poll_is_woken_by_linking);
	tcase_add_test(t, a_link_outlives_the_thread_that_made_it);
	tcase_add_test(t, modules_below_stay_in_place);
	tcase_add_test(t, the_other_end_of_a_linked_pipe_works);
	tcase_add_test(t, a_linked_stream_is_drawn_as_such);
	tcase_add_test(t, a_cascade_of_multiplexors_carries_messages);

	t = group(s, "registering", 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_lower_side_must_be_whole_and_a_drivers);
	tcase_add_loop_test(t, a_multiplexor_may_have_any_perimeter, 0, 6);

	t = group(s, "processes", 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_link_made_by_a_child_is_the_parents_too);
	tcase_add_test(t, a_linker_killed_while_it_waits_leaves_nothing_stuck);
	tcase_add_test(t, links_of_a_killed_process_die_with_its_control_stream);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
