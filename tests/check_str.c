/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_str.c: I_STR and transparent ioctls (streamio.md §8): the dialogue
 * between a stream head and a module or driver.
 */
#include "headlib.h"

#include <limits.h>
#include <stdio.h>
#include <sys/ddi.h>
#include <sys/mman.h>

/* What the test driver tioc does with a command. */
enum {
	C_RVAL = 'T' << 8, /* acknowledge: result 42, no data */
	C_UPPER,   /* acknowledge with the data in capitals */
	C_GROW,	   /* acknowledge with 40 bytes of 'g' in two blocks */
	C_LONG,	   /* the same, claiming 1000 bytes */
	C_NAK,	   /* refuse without an errno */
	C_NAKERR,  /* refuse: EACCES */
	C_ACKERR,  /* acknowledge with ENODEV */
	C_SILENT,  /* no answer at all */
	C_KEEP,	   /* answer when C_RELEASE comes, however late */
	C_RELEASE, /* not an ioctl: the message put to release it */
	C_STRANGE, /* acknowledge another id, then this: result 7 */
	C_TWICE,   /* acknowledge twice: results 1 and 2 */
	C_SHORT,   /* an M_IOCACK too short to be one, then the real one: 5 */
	C_COPYIN,  /* copy 8 bytes from the argument; result: their sum */
	C_COPYOUT, /* copy "outdated" to the argument; result 8 */
	C_BOTH,	   /* copy 8 bytes in, and out again reversed */
	C_HUGE,	   /* copy 2^60 bytes in */
	C_LATE,	   /* acknowledge, then ask for a copy */
	C_HANGUP,  /* M_HANGUP instead of an answer */
	C_ERROR,   /* M_ERROR EPROTO instead of an answer */
	C_UID,	   /* result: the caller's effective uid */
	C_COUNT	   /* result: ioc_count; transparent: -2 */
};

/* Seen by all processes of a test. */
static struct seen {
	atomic_int s_ioctls;	/* M_IOCTL messages */
	atomic_int s_iocdata;	/* M_IOCDATA messages */
	atomic_int s_bad;	/* M_IOCDATA messages with cp_rval set */
	atomic_int s_badrval;	/* the last such */
	atomic_int s_inside;	/* ioctls sent and not yet answered */
	atomic_int s_most;	/* the most at once */
	atomic_int s_late;	/* kept ioctls answered */
} *seen;

static mblk_t *
answer(mblk_t *mp, int type, int rval, int error)
{
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;

	mp->b_datap->db_type = (unsigned char)type;
	ioc->ioc_rval = rval;
	ioc->ioc_error = error;
	ioc->ioc_count = 0;
	return mp;
}

static void
ack(queue_t *q, mblk_t *mp, int rval)
{
	freemsg(unlinkb(mp));
	qreply(q, answer(mp, M_IOCACK, rval, 0));
}

static mblk_t *
text_block(const char *text, size_t n)
{
	mblk_t *mp = allocb(n, BPRI_MED);

	memcpy(mp->b_wptr, text, n);
	mp->b_wptr += n;
	return mp;
}

/* Turn the M_IOCTL or M_IOCDATA mp into a request to copy. */
static void
ask_copy(queue_t *q, mblk_t *mp, int type, caddr_t addr, size_t size, mblk_t *data)
{
	struct copyreq *cq = (struct copyreq *)(void *)mp->b_rptr;
	intptr_t arg = (intptr_t)addr;

	cq->cq_private = text_block((char *)&arg, sizeof(arg));
	cq->cq_addr = addr;
	cq->cq_size = size;
	cq->cq_flag = 0;
	mp->b_wptr = mp->b_rptr + sizeof(*cq);
	mp->b_datap->db_type = (unsigned char)type;
	freemsg(unlinkb(mp));
	mp->b_cont = data;
	qreply(q, mp);
}

static void
upper(queue_t *q, mblk_t *mp)
{
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;
	size_t n = ioc->ioc_count;

	for (unsigned char *p = mp->b_cont->b_rptr; p < mp->b_cont->b_wptr; p++)
		*p = (unsigned char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
	answer(mp, M_IOCACK, 0, 0);
	ioc->ioc_count = n;
	qreply(q, mp);
}

static void
grow(queue_t *q, mblk_t *mp, size_t count)
{
	static const char g[20] = "gggggggggggggggggggg";

	freemsg(unlinkb(mp));
	mp->b_cont = text_block(g, sizeof(g));
	mp->b_cont->b_cont = text_block(g, sizeof(g));
	answer(mp, M_IOCACK, 0, 0);
	((struct iocblk *)(void *)mp->b_rptr)->ioc_count = count;
	qreply(q, mp);
}

static void
send_ack(queue_t *q, const struct iocblk *as, unsigned int id, int rval, size_t len)
{
	mblk_t *mp = allocb(sizeof(*as), BPRI_HI);
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_wptr;

	*ioc = *as;
	ioc->ioc_id = id;
	mp->b_wptr += sizeof(*as);
	answer(mp, M_IOCACK, rval, 0);
	mp->b_wptr = mp->b_rptr + len;
	qreply(q, mp);
}

static void
late_copy(queue_t *q, mblk_t *mp)
{
	mblk_t *req = copymsg(mp);

	ack(q, mp, 3);
	ask_copy(q, req, M_COPYIN, (caddr_t)seen, 8, NULL);
}

/* tioc, an M_IOCTL. */
static void
tioc_ioctl(queue_t *q, mblk_t *mp)
{
	struct iocblk *ioc = (struct iocblk *)(void *)mp->b_rptr;
	intptr_t arg = 0;

	atomic_fetch_add(&seen->s_ioctls, 1);
	if (ioc->ioc_count == TRANSPARENT)
		memcpy(&arg, mp->b_cont->b_rptr, sizeof(arg));
	switch (ioc->ioc_cmd) {
	case C_RVAL:
		ack(q, mp, 42);
		return;
	case C_UPPER:
		upper(q, mp);
		return;
	case C_GROW:
		grow(q, mp, 40);
		return;
	case C_LONG:
		grow(q, mp, 1000);
		return;
	case C_NAK:
		qreply(q, answer(mp, M_IOCNAK, 0, 0));
		return;
	case C_NAKERR:
		qreply(q, answer(mp, M_IOCNAK, 0, EACCES));
		return;
	case C_ACKERR:
		qreply(q, answer(mp, M_IOCACK, 0, ENODEV));
		return;
	case C_SILENT:
		freemsg(mp);
		return;
	case C_KEEP: {
		int n = atomic_fetch_add(&seen->s_inside, 1) + 1;

		if (n > atomic_load(&seen->s_most))
			atomic_store(&seen->s_most, n);
		putq(q, mp);
		return;
	}
	case C_STRANGE:
		send_ack(q, ioc, ioc->ioc_id + 1000, 6, sizeof(*ioc));
		send_ack(q, ioc, 0, 6, sizeof(*ioc));
		ack(q, mp, 7);
		return;
	case C_TWICE:
		send_ack(q, ioc, ioc->ioc_id, 1, sizeof(*ioc));
		ack(q, mp, 2);
		return;
	case C_SHORT:
		send_ack(q, ioc, ioc->ioc_id, 4, sizeof(*ioc) - 1);
		send_ack(q, ioc, ioc->ioc_id, 4, 0);
		ack(q, mp, 5);
		return;
	case C_COPYIN:
	case C_BOTH:
		ask_copy(q, mp, M_COPYIN, (caddr_t)arg, 8, NULL);
		return;
	case C_COPYOUT:
		ask_copy(q, mp, M_COPYOUT, (caddr_t)arg, 8, text_block("outdated", 8));
		return;
	case C_HUGE:
		ask_copy(q, mp, M_COPYIN, (caddr_t)arg, (size_t)1 << 60, NULL);
		return;
	case C_LATE:
		late_copy(q, mp);
		return;
	case C_HANGUP:
		freemsg(mp);
		putnextctl(RD(q), M_HANGUP);
		return;
	case C_ERROR:
		freemsg(mp);
		putnextctl1(RD(q), M_ERROR, EPROTO);
		return;
	case C_UID:
		ack(q, mp, (int)ioc->ioc_cr->cr_uid);
		return;
	case C_COUNT:
		ack(q, mp, ioc->ioc_count == TRANSPARENT ? -2 : (int)ioc->ioc_count);
		return;
	}
	qreply(q, answer(mp, M_IOCNAK, 0, EINVAL));
}

static void
tioc_iocdata(queue_t *q, mblk_t *mp)
{
	struct copyresp *cp = (struct copyresp *)(void *)mp->b_rptr;
	caddr_t addr;
	int sum = 0;

	atomic_fetch_add(&seen->s_iocdata, 1);
	memcpy(&addr, cp->cp_private->b_rptr, sizeof(addr));
	freemsg(cp->cp_private);
	if (cp->cp_rval != 0) {
		atomic_fetch_add(&seen->s_bad, 1);
		atomic_store(&seen->s_badrval, (int)cp->cp_rval);
		freemsg(mp);
		return;
	}
	if (cp->cp_cmd == C_BOTH && mp->b_cont != NULL) {
		mblk_t *back = text_block((char *)mp->b_cont->b_rptr, 8);

		for (int i = 0; i < 8; i++)
			back->b_rptr[i] = mp->b_cont->b_rptr[7 - i];
		ask_copy(q, mp, M_COPYOUT, addr, 8, back);
		return;
	}
	if (cp->cp_cmd == C_COPYIN)
		for (int i = 0; i < 8; i++)
			sum += mp->b_cont->b_rptr[i];
	mp->b_wptr = mp->b_rptr + sizeof(struct iocblk);
	ack(q, mp, cp->cp_cmd == C_COPYIN ? sum : 8);
}

/* Answer what C_KEEP kept. */
static void
release(queue_t *q)
{
	mblk_t *mp;

	while ((mp = getq(q)) != NULL) {
		atomic_fetch_sub(&seen->s_inside, 1);
		atomic_fetch_add(&seen->s_late, 1);
		ack(q, mp, 99);
	}
}

static int
tioc_wput(queue_t *q, mblk_t *mp)
{
	switch (mp->b_datap->db_type) {
	case M_IOCTL:
		tioc_ioctl(q, mp);
		return 0;
	case M_IOCDATA:
		tioc_iocdata(q, mp);
		return 0;
	case M_DATA:
		release(q);
		break;
	}
	freemsg(mp);
	return 0;
}

static int
tioc_srv(queue_t *q)
{
	(void)q;
	return 0;
}

static int
tioc_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *cr)
{
	(void)devp, (void)oflag, (void)sflag, (void)cr;
	qprocson(q);
	return 0;
}

static int
tioc_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	return 0;
}

static struct module_info tioc_info = {9100, "tioc", 0, INFPSZ, 5120, 1024};
static struct qinit tioc_rinit = {
    NULL, NULL, tioc_open, tioc_close, NULL, &tioc_info, NULL};
static struct qinit tioc_winit = {tioc_wput, tioc_srv, NULL, NULL, NULL, &tioc_info, NULL};
static struct streamtab tioc_tab = {&tioc_rinit, &tioc_winit, NULL, NULL};

/* A stream on the test driver. */
static int
open_tioc(void)
{
	if (seen == NULL) {
		seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		ck_assert_ptr_ne(seen, MAP_FAILED);
		GIVES(ustr_register_driver("tioc", &tioc_tab, D_MTPERMOD | USTR_INDEPENDENT), 0);
	}
	memset((void *)seen, 0, sizeof(*seen));
	return open_dev("tioc");
}

static int
str(int fd, int cmd, int timeout, void *data, int len)
{
	struct strioctl ic = {cmd, timeout, len, data};

	return str_ioctl(fd, I_STR, &ic);
}

static void
let_go(int fd)
{
	GIVES(str_write(fd, "r", 1), 1);
}

/* Wait for n ioctls to have arrived at the driver. */
static void
arrived(int n)
{
	for (int i = 0; i < SOON && atomic_load(&seen->s_ioctls) < n; i++)
		msleep(1);
	ck_assert_int_ge(atomic_load(&seen->s_ioctls), n);
}

/* ---- arguments ---------------------------------------------------------- */

/* "ic_len < 0 or > strmsgsz, ic_timout < -1 → EINVAL" */
START_TEST(str_refuses_lengths_and_times_out_of_range)
{
	int fd = open_tioc();
	char b[8] = "x";

	FAILS(str(fd, C_RVAL, 0, b, -1), EINVAL);
	FAILS(str(fd, C_RVAL, 0, b, INT_MIN), EINVAL);
	FAILS(str(fd, C_RVAL, 0, b, 262145), EINVAL);
	FAILS(str(fd, C_RVAL, 0, b, INT_MAX), EINVAL);
	FAILS(str(fd, C_RVAL, -2, b, 1), EINVAL);
	FAILS(str(fd, C_RVAL, INT_MIN, b, 1), EINVAL);
	ck_assert_int_eq(seen->s_ioctls, 0);
	GIVES(str(fd, C_RVAL, INT_MAX, b, 1), 42);
	GIVES(str(fd, C_RVAL, -1, b, 1), 42);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(str_carries_as_much_as_strmsgsz)
{
	int fd = open_tioc(), len = 262144;
	char *b = malloc((size_t)len);

	memset(b, 'a', (size_t)len);
	GIVES(str(fd, C_UPPER, 0, b, len), 0);
	for (int i = 0; i < len; i++)
		ck_assert_int_eq(b[i], 'A');
	free(b);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(str_with_a_bad_pointer_is_efault_and_nothing_is_sent)
{
	int fd = open_tioc();
	char *unmapped, *readonly, b[4] = "abc";

	FAILS(str_ioctl(fd, I_STR, NULL), EFAULT);
	FAILS(str_ioctl(fd, I_STR, (void *)-1), EFAULT);
	FAILS(str(fd, C_RVAL, 0, NULL, 1), EFAULT);
	FAILS(str(fd, C_RVAL, 0, (void *)-1, 1), EFAULT);
	FAILS(str(fd, C_RVAL, 0, (void *)(UINTPTR_MAX - 4), 100), EFAULT);
	ck_assert_int_eq(seen->s_ioctls, 0);
	if (checked_mode()) {
		bad_pages(&unmapped, &readonly);
		FAILS(str_ioctl(fd, I_STR, unmapped), EFAULT);
		FAILS(str(fd, C_RVAL, 0, unmapped, 4), EFAULT);
		ck_assert_int_eq(seen->s_ioctls, 0);
		/* The answer has nowhere to go. */
		FAILS(str(fd, C_UPPER, 0, readonly, 4), EFAULT);
	}
	/* The turn was given back. */
	GIVES(str(fd, C_UPPER, 0, b, 3), 0);
	ck_assert_str_eq(b, "ABC");
	GIVES(str_close(fd), 0);
}
END_TEST

/* ---- answers ------------------------------------------------------------ */

/* "ACK returns rval and data, ic_len updated" */
START_TEST(an_ack_returns_its_result_and_data)
{
	int fd = open_tioc();
	char b[64] = "hello";
	struct strioctl ic = {C_RVAL, 0, 5, b};

	GIVES(str_ioctl(fd, I_STR, &ic), 42);
	ck_assert_int_eq(ic.ic_len, 0);
	ck_assert_str_eq(b, "hello");
	ic = (struct strioctl){C_UPPER, 0, 5, b};
	GIVES(str_ioctl(fd, I_STR, &ic), 0);
	ck_assert_int_eq(ic.ic_len, 5);
	ck_assert_str_eq(b, "HELLO");
	ic = (struct strioctl){C_GROW, 0, 2, b};
	GIVES(str_ioctl(fd, I_STR, &ic), 0);
	ck_assert_int_eq(ic.ic_len, 40);
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(b[i], 'g');
	ck_assert_int_eq(b[40], '\0');
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(an_ack_that_claims_more_data_than_it_has_gives_what_it_has)
{
	int fd = open_tioc();
	char b[64] = "";
	struct strioctl ic = {C_LONG, 0, 0, b};

	GIVES(str_ioctl(fd, I_STR, &ic), 0);
	ck_assert_int_eq(ic.ic_len, 40);
	ck_assert_int_eq(b[40], '\0');
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(str_without_data_sends_none)
{
	int fd = open_tioc();

	GIVES(str(fd, C_COUNT, 0, NULL, 0), 0);
	GIVES(str(fd, C_COUNT, 0, "abc", 3), 3);
	GIVES(str_close(fd), 0);
}
END_TEST

/* "NAK with error 0 → EINVAL" */
START_TEST(a_nak_gives_its_errno_or_einval)
{
	int fd = open_tioc();

	FAILS(str(fd, C_NAK, 0, NULL, 0), EINVAL);
	FAILS(str(fd, C_NAKERR, 0, NULL, 0), EACCES);
	FAILS(str(fd, C_ACKERR, 0, NULL, 0), ENODEV);
	GIVES(str(fd, C_RVAL, 0, NULL, 0), 42);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(echo_and_nuls_refuse_ioctls_with_einval)
{
	static const char *const drivers[] = {"echo", "nuls"};
	int x = 0;

	for (int i = 0; i < 2; i++) {
		int fd = open_dev(drivers[i]);

		FAILS(str(fd, C_RVAL, 0, &x, sizeof(x)), EINVAL);
		FAILS(str_ioctl(fd, C_RVAL, &x), EINVAL);
		FAILS(str_ioctl(fd, 'S' << 8 | 200, &x), EINVAL);
		FAILS(str_ioctl(fd, -1, &x), EINVAL);
		/* ... also through modules */
		GIVES(str_ioctl(fd, I_PUSH, "nullmod"), 0);
		GIVES(str_ioctl(fd, I_PUSH, "pipemod"), 0);
		FAILS(str(fd, C_RVAL, 0, &x, sizeof(x)), EINVAL);
		GIVES(str_close(fd), 0);
	}
}
END_TEST

/* "M_IOCTL → M_IOCNAK EINVAL" */
START_TEST(the_head_at_the_other_end_of_a_pipe_refuses)
{
	int p[2];

	make_pipe(p);
	for (int i = 0; i < 100; i++) {
		FAILS(str(p[0], C_RVAL, 0, "abc", 3), EINVAL);
		FAILS(str_ioctl(p[1], C_RVAL, 0), EINVAL);
	}
	GIVES(waiting(p[0]), 0);
	GIVES(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

/* "Late or unmatched answers are freed." */
START_TEST(answers_to_other_ids_and_second_answers_are_freed)
{
	int fd = open_tioc();

	for (int i = 0; i < 10; i++) {
		GIVES(str(fd, C_STRANGE, 0, NULL, 0), 7);
		GIVES(str(fd, C_TWICE, 0, NULL, 0), 1);
		GIVES(str(fd, C_SHORT, 0, NULL, 0), 5);
	}
	GIVES(str(fd, C_RVAL, 0, NULL, 0), 42);
	GIVES(waiting(fd), 0);
	GIVES(str_close(fd), 0);
}
END_TEST

/* "no answer → ETIME" */
START_TEST(no_answer_is_etime_after_the_time_given)
{
	int fd = open_tioc();
	long from = now_ms(), took;

	FAILS(str(fd, C_SILENT, 1, NULL, 0), ETIME);
	took = now_ms() - from;
	ck_assert_int_ge(took, 990);
	ck_assert_int_lt(took, SOON);
	GIVES(ustr_tune("ioctltime", 50), 0);
	from = now_ms();
	FAILS(str(fd, C_SILENT, 0, NULL, 0), ETIME);
	FAILS(str_ioctl(fd, C_SILENT, 0), ETIME);
	ck_assert_int_ge(now_ms() - from, 100);
	GIVES(ustr_tune("ioctltime", 15000), 0);
	GIVES(str(fd, C_RVAL, 0, NULL, 0), 42);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(a_late_answer_is_freed_and_does_not_reach_the_next_question)
{
	int fd = open_tioc();

	GIVES(ustr_tune("ioctltime", 20), 0);
	FAILS(str(fd, C_KEEP, 0, NULL, 0), ETIME);
	GIVES(ustr_tune("ioctltime", 15000), 0);
	let_go(fd);
	ck_assert_int_eq(seen->s_late, 1);
	GIVES(str(fd, C_RVAL, 0, NULL, 0), 42);
	GIVES(str_close(fd), 0);
}
END_TEST

static void *
thread_keep(void *arg)
{
	return (void *)(intptr_t)str(*(int *)arg, C_KEEP, 30, NULL, 0);
}

START_TEST(a_delayed_answer_wakes_who_waits)
{
	int fd = open_tioc();
	pthread_t t;
	void *r;

	pthread_create(&t, NULL, thread_keep, &fd);
	arrived(1);
	msleep(20);
	let_go(fd);
	pthread_join(t, &r);
	ck_assert_int_eq((int)(intptr_t)r, 99);
	GIVES(str_close(fd), 0);
}
END_TEST

/* ---- one at a time ------------------------------------------------------ */

/* "One ioctl at a time per stream (others wait)." */
START_TEST(a_second_ioctl_waits_for_the_first)
{
	int fd = open_tioc();
	pthread_t t[4];
	void *r;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread_keep, &fd);
	for (int i = 0; i < 4; i++) {
		arrived(i + 1);
		msleep(5);
		ck_assert_int_eq(seen->s_ioctls, i + 1);
		let_go(fd);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		ck_assert_int_eq((int)(intptr_t)r, 99);
	}
	ck_assert_int_eq(seen->s_most, 1);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(a_signal_ends_the_wait_for_an_answer)
{
	int fd = open_tioc();
	struct nag n;

	for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		catch_signal(SIGUSR1, flags);
		nag_start(&n);
		FAILS(str(fd, C_SILENT, -1, NULL, 0), EINTR);
		FAILS(str(fd, C_SILENT, 30, NULL, 0), EINTR);
		nag_stop(&n);
	}
	GIVES(str(fd, C_RVAL, 0, NULL, 0), 42);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(a_signal_ends_the_wait_for_the_turn)
{
	int fd = open_tioc();
	pthread_t t;
	struct nag n;
	void *r;

	pthread_create(&t, NULL, thread_keep, &fd);
	arrived(1);
	catch_signal(SIGUSR1, 0);
	nag_start(&n);
	FAILS(str(fd, C_RVAL, 0, NULL, 0), EINTR);
	nag_stop(&n);
	ck_assert_int_eq(seen->s_ioctls, 1);
	let_go(fd);
	pthread_join(t, &r);
	ck_assert_int_eq((int)(intptr_t)r, 99);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(a_cancelled_asker_gives_its_turn_up)
{
	int fd = open_tioc();
	pthread_t t;
	void *r;

	pthread_create(&t, NULL, thread_keep, &fd);
	arrived(1);
	msleep(20); /* asleep: cancellation acts there only */
	pthread_cancel(t);
	pthread_join(t, &r);
	ck_assert_ptr_eq(r, PTHREAD_CANCELED);
	GIVES(str(fd, C_RVAL, 0, NULL, 0), 42);
	let_go(fd);
	GIVES(str(fd, C_RVAL, 0, NULL, 0), 42);
	GIVES(str_close(fd), 0);
}
END_TEST

static int handler_fd;
static volatile int handler_result;

static void
handler_asks(int sig)
{
	(void)sig;
	handler_result = str(handler_fd, C_RVAL, 0, NULL, 0);
}

static void *
poke_thread(void *arg)
{
	arrived(1);
	until_asleep(getpid()); /* the main thread */
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

START_TEST(a_handler_that_interrupts_the_wait_may_ask_itself)
{
	struct sigaction sa = {.sa_handler = handler_asks, .sa_flags = SA_RESTART};
	pthread_t me = pthread_self(), t;

	handler_fd = open_tioc();
	sigemptyset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	pthread_create(&t, NULL, poke_thread, &me);
	FAILS(str(handler_fd, C_KEEP, -1, NULL, 0), EINTR);
	pthread_join(t, NULL);
	ck_assert_int_eq(handler_result, 42);
	let_go(handler_fd); /* freed: nobody asks any more */
	GIVES(str(handler_fd, C_RVAL, 0, NULL, 0), 42);
	GIVES(str_close(handler_fd), 0);
}
END_TEST

START_TEST(closing_the_descriptor_ends_the_question_and_frees_the_turn)
{
	int fd = open_tioc(), other = str_dup(fd);
	pthread_t t;
	void *r;

	if (under_tsan())
		return;
	pthread_create(&t, NULL, thread_keep, &other);
	arrived(1);
	msleep(5);
	GIVES(str_close(other), 0);
	pthread_join(t, &r);
	ck_assert_int_eq((int)(intptr_t)r, -1);
	GIVES(str(fd, C_RVAL, 0, NULL, 0), 42);
	GIVES(str_close(fd), 0);
}
END_TEST

/* ---- trouble meanwhile -------------------------------------------------- */

START_TEST(a_hangup_ends_the_wait_with_enxio)
{
	int fd = open_tioc();

	FAILS(str(fd, C_HANGUP, 0, NULL, 0), ENXIO);
	FAILS(str(fd, C_RVAL, 0, NULL, 0), ENXIO);
	FAILS(str_ioctl(fd, C_RVAL, 0), ENXIO);
	ck_assert_int_eq(seen->s_ioctls, 1);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(an_error_ends_the_wait_with_its_errno)
{
	int fd = open_tioc();

	FAILS(str(fd, C_ERROR, 0, NULL, 0), EPROTO);
	FAILS(str(fd, C_RVAL, 0, NULL, 0), EPROTO);
	FAILS(str_ioctl(fd, C_RVAL, 0), EPROTO);
	ck_assert_int_eq(seen->s_ioctls, 1);
	GIVES(str_close(fd), 0);
}
END_TEST

static int failing_errno;

static void *
thread_pipe_ask(void *arg)
{
	int r = str(*(int *)arg, C_RVAL, 30, NULL, 0);

	failing_errno = errno;
	return (void *)(intptr_t)r;
}

/* swallow: a module that loses ioctls */
static int
swallow_wput(queue_t *q, mblk_t *mp)
{
	if (mp->b_datap->db_type == M_IOCTL) {
		freemsg(mp);
		return 0;
	}
	putnext(q, mp);
	return 0;
}

static int
swallow_rput(queue_t *q, mblk_t *mp)
{
	putnext(q, mp);
	return 0;
}

static struct module_info swallow_info = {9101, "swallow", 0, INFPSZ, 5120, 1024};
static struct qinit swallow_rinit = {
    swallow_rput, NULL, tioc_open, tioc_close, NULL, &swallow_info, NULL};
static struct qinit swallow_winit = {
    swallow_wput, NULL, NULL, NULL, NULL, &swallow_info, NULL};
static struct streamtab swallow_tab = {&swallow_rinit, &swallow_winit, NULL, NULL};

START_TEST(the_last_close_of_the_other_end_ends_the_wait)
{
	int p[2];
	pthread_t t;
	void *r;

	make_pipe(p);
	if (ustr_register_module("swallow", &swallow_tab, D_MP) == -1)
		ck_assert_int_eq(errno, EEXIST);
	GIVES(str_ioctl(p[0], I_PUSH, "swallow"), 0);
	pthread_create(&t, NULL, thread_pipe_ask, &p[0]);
	msleep(30);
	GIVES(str_close(p[1]), 0);
	pthread_join(t, &r);
	ck_assert_int_eq((int)(intptr_t)r, -1);
	ck_assert_int_eq(failing_errno, ENXIO);
	GIVES(str_close(p[0]), 0);
}
END_TEST

/* ---- transparent -------------------------------------------------------- */

/* "ioc_count TRANSPARENT, argument in b_cont" */
START_TEST(an_unknown_command_goes_down_as_transparent)
{
	int fd = open_tioc();

	GIVES(str_ioctl(fd, C_RVAL, 0), 42);
	GIVES(str_ioctl(fd, C_COUNT, 0), -2);
	FAILS(str_ioctl(fd, C_NAK, 0), EINVAL);
	FAILS(str_ioctl(fd, C_NAKERR, 0), EACCES);
	FAILS(str_ioctl(fd, 'X' << 8, 0), EINVAL);
	GIVES(str_close(fd), 0);
}
END_TEST

/* "M_COPYIN/M_COPYOUT served with M_IOCDATA" */
START_TEST(copies_in_and_out_are_served)
{
	int fd = open_tioc();
	unsigned char in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	char out[9] = "";

	GIVES(str_ioctl(fd, C_COPYIN, in), 36);
	GIVES(str_ioctl(fd, C_COPYOUT, out), 8);
	ck_assert_str_eq(out, "outdated");
	memcpy(out, "abcdefgh", 8);
	GIVES(str_ioctl(fd, C_BOTH, out), 8);
	ck_assert_str_eq(out, "hgfedcba");
	ck_assert_int_eq(seen->s_iocdata, 4);
	ck_assert_int_eq(seen->s_bad, 0);
	GIVES(str_close(fd), 0);
}
END_TEST

/* "EFAULT there → cp_rval ≠ 0 and EFAULT to the caller" */
START_TEST(a_copy_that_faults_tells_the_driver_and_the_caller)
{
	int fd = open_tioc();
	char *unmapped, *readonly, out[8];

	FAILS(str_ioctl(fd, C_COPYIN, NULL), EFAULT);
	ck_assert_int_eq(seen->s_bad, 1);
	ck_assert_int_ne(seen->s_badrval, 0);
	FAILS(str_ioctl(fd, C_COPYOUT, (void *)-1), EFAULT);
	ck_assert_int_eq(seen->s_bad, 2);
	FAILS(str_ioctl(fd, C_HUGE, out), EFAULT);
	ck_assert_int_eq(seen->s_bad, 3);
	if (checked_mode()) {
		bad_pages(&unmapped, &readonly);
		FAILS(str_ioctl(fd, C_COPYIN, unmapped), EFAULT);
		FAILS(str_ioctl(fd, C_COPYOUT, readonly), EFAULT);
		ck_assert_int_eq(seen->s_bad, 5);
	}
	GIVES(str_ioctl(fd, C_RVAL, 0), 42);
	GIVES(str_ioctl(fd, C_COPYOUT, out), 8);
	GIVES(str_close(fd), 0);
}
END_TEST

/* "M_COPYIN/M_COPYOUT matched by id else ... answered with failure" */
START_TEST(a_request_to_copy_that_nobody_waits_for_is_answered_with_failure)
{
	int fd = open_tioc();

	GIVES(str(fd, C_LATE, 0, NULL, 0), 3);
	ck_assert_int_eq(seen->s_iocdata, 1);
	ck_assert_int_eq(seen->s_bad, 1);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(the_driver_sees_who_asks)
{
	int fd = open_tioc();

	GIVES(str(fd, C_UID, 0, NULL, 0), (int)geteuid());
	GIVES(str_close(fd), 0);
}
END_TEST

/* ---- processes ---------------------------------------------------------- */

static int
child_keeps(void *arg)
{
	(void)str(*(int *)arg, C_KEEP, -1, NULL, 0);
	return 0;
}

START_TEST(an_asker_that_is_killed_blocks_nobody)
{
	int fd = open_tioc();

	if (!can_fork())
		return;
	for (int i = 0; i < 3; i++) {
		pid_t pid = child(child_keeps, &fd);

		arrived(2 * i + 1);
		until_asleep(pid); /* out of the driver: one that dies in it leaves EIO */
		kill(pid, SIGKILL);
		reap(pid, SOON);
		GIVES(str(fd, C_RVAL, 0, NULL, 0), 42);
	}
	let_go(fd); /* answers for the dead are freed */
	ck_assert_int_eq(seen->s_late, 3);
	GIVES(str(fd, C_RVAL, 0, NULL, 0), 42);
	GIVES(str_close(fd), 0);
}
END_TEST

static int
child_copies(void *arg)
{
	/* At an address where the parent has something else. */
	static unsigned char in[8];
	char out[9] = "";
	int fd = *(int *)arg;

	memset(in, 3, sizeof(in));
	for (int i = 0; i < 300; i++) {
		NEED(str_ioctl(fd, C_COPYIN, in) == 24);
		NEED(str_ioctl(fd, C_COPYOUT, out) == 8);
		NEED(strcmp(out, "outdated") == 0);
		NEED(str(fd, C_RVAL, 0, NULL, 0) == 42);
	}
	return 0;
}

START_TEST(processes_take_turns_and_each_has_its_own_memory_copied)
{
	int fd = open_tioc();
	pid_t pid[3];

	if (!can_fork())
		return;
	for (int i = 0; i < 3; i++)
		pid[i] = child(child_copies, &fd);
	for (int i = 0; i < 100; i++)
		GIVES(str(fd, C_RVAL, 0, NULL, 0), 42);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(reap(pid[i], SOON), 0);
	GIVES(str_close(fd), 0);
}
END_TEST

static void *
thread_many(void *arg)
{
	int fd = *(int *)arg;
	char b[8];

	for (int i = 0; i < 200; i++) {
		memcpy(b, "abcdefg", 8);
		if (str(fd, C_UPPER, 0, b, 7) != 0 || strcmp(b, "ABCDEFG") != 0)
			return (void *)1;
		if (str(fd, C_RVAL, 0, NULL, 0) != 42)
			return (void *)2;
	}
	return NULL;
}

START_TEST(many_threads_get_each_its_own_answer)
{
	int fd = open_tioc();
	pthread_t t[8];
	void *r;

	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, thread_many, &fd);
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &r);
		ck_assert_ptr_eq(r, NULL);
	}
	ck_assert_int_eq(seen->s_ioctls, 8 * 400);
	GIVES(str_close(fd), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("str");
	TCase *tc = group(s, "arguments", 120);

	tcase_add_test(tc, str_refuses_lengths_and_times_out_of_range);
	tcase_add_test(tc, str_carries_as_much_as_strmsgsz);
	tcase_add_test(tc, str_with_a_bad_pointer_is_efault_and_nothing_is_sent);

	tc = group(s, "answers", 120);
	tcase_add_test(tc, an_ack_returns_its_result_and_data);
	tcase_add_test(tc, an_ack_that_claims_more_data_than_it_has_gives_what_it_has);
	tcase_add_test(tc, str_without_data_sends_none);
	tcase_add_test(tc, a_nak_gives_its_errno_or_einval);
	tcase_add_test(tc, echo_and_nuls_refuse_ioctls_with_einval);
	tcase_add_test(tc, the_head_at_the_other_end_of_a_pipe_refuses);
	tcase_add_test(tc, answers_to_other_ids_and_second_answers_are_freed);
	tcase_add_test(tc, no_answer_is_etime_after_the_time_given);
	tcase_add_test(tc, a_late_answer_is_freed_and_does_not_reach_the_next_question);
	tcase_add_test(tc, a_delayed_answer_wakes_who_waits);

	tc = group(s, "one at a time", 120);
	tcase_add_test(tc, a_second_ioctl_waits_for_the_first);
	tcase_add_test(tc, a_signal_ends_the_wait_for_an_answer);
	tcase_add_test(tc, a_signal_ends_the_wait_for_the_turn);
	if (!under_asan())
		tcase_add_test(tc, a_cancelled_asker_gives_its_turn_up);
	tcase_add_test(tc, a_handler_that_interrupts_the_wait_may_ask_itself);
	tcase_add_test(tc, closing_the_descriptor_ends_the_question_and_frees_the_turn);

	tc = group(s, "trouble", 120);
	tcase_add_test(tc, a_hangup_ends_the_wait_with_enxio);
	tcase_add_test(tc, an_error_ends_the_wait_with_its_errno);
	tcase_add_test(tc, the_last_close_of_the_other_end_ends_the_wait);

	tc = group(s, "transparent", 120);
	tcase_add_test(tc, an_unknown_command_goes_down_as_transparent);
	tcase_add_test(tc, copies_in_and_out_are_served);
	tcase_add_test(tc, a_copy_that_faults_tells_the_driver_and_the_caller);
	tcase_add_test(tc, a_request_to_copy_that_nobody_waits_for_is_answered_with_failure);
	tcase_add_test(tc, the_driver_sees_who_asks);

	tc = group(s, "processes", 120);
	tcase_add_test(tc, an_asker_that_is_killed_blocks_nobody);
	tcase_add_test(tc, processes_take_turns_and_each_has_its_own_memory_copied);
	tcase_add_test(tc, many_threads_get_each_its_own_answer);
	return run_suite(s);
}
