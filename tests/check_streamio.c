/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_streamio.c: the streamio commands that move messages, look at marks
 * and set a head's options, and M_SETOPTS and M_ERROR, which set them from
 * below (streamio.md §2 §5 §7 §8 §11).
 */
#include "headlib.h"

#include <limits.h>
#include <stdio.h>
#include <sys/ddi.h>

#define BAD_PTR ((void *)-1)
#define E ECOMM

/* A pipe whose end p[0] has tctl pushed: p[1] orders what comes up there. */
static void
ordered_pipe(int p[2])
{
	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
}

/* Send a data block with these flags set. */
static void
put_flagged(int fd, const char *text, int flag)
{
	mblk_t *mp = str_mblkalloc(strlen(text) + 1);

	ck_assert_ptr_nonnull(mp);
	memcpy(mp->b_wptr, text, strlen(text));
	mp->b_wptr += strlen(text);
	mp->b_flag |= (unsigned short)flag;
	GIVES(str_putmblk(fd, mp), 0);
}

/* ---- I_FDINSERT --------------------------------------------------------- */

static int
fdinsert(int fd, char *ctl, int len, const char *data, unsigned flags, int fildes, int offset)
{
	struct strfdinsert m = {{0, len, ctl},
	    {0, data != NULL ? (int)strlen(data) : -1, (char *)(uintptr_t)data}, flags, fildes,
	    offset};

	return str_ioctl(fd, I_FDINSERT, &m);
}

/* The pointer in the control part of the first message. */
static void *
inserted(int fd, int offset)
{
	char c[64], d[64];
	struct strbuf cb = {sizeof(c), 0, c}, db = {sizeof(d), 0, d};
	int flags = 0;
	void *q;

	GIVES(getmsg(fd, &cb, &db, &flags), 0);
	ck_assert_int_eq(cb.len, 32);
	memcpy(&q, c + offset, sizeof(q));
	for (int i = 0; i < 32; i++)
		if (i < offset || i >= offset + (int)sizeof(q))
			ck_assert_int_eq(c[i], 'c');
	return q;
}

START_TEST(fdinsert_names_the_other_stream_at_the_offset)
{
	int p[2], one = open_dev("echo"), two = open_dev("nuls");
	char ctl[32];
	void *first, *again, *other;

	memset(ctl, 'c', sizeof(ctl));
	make_pipe(p);
	GIVES(fdinsert(p[0], ctl, 32, "data", 0, one, 0), 0);
	GIVES(fdinsert(p[0], ctl, 32, NULL, 0, one, 24), 0);
	GIVES(fdinsert(p[0], ctl, 32, NULL, RS_HIPRI, two, 8), 0);
	other = inserted(p[1], 8);
	first = inserted(p[1], 0);
	again = inserted(p[1], 24);
	ck_assert_ptr_ne(first, NULL);
	ck_assert_ptr_eq(first, again);
	ck_assert_ptr_ne(first, other);
	/* The caller's own buffer is as it was. */
	for (int i = 0; i < 32; i++)
		ck_assert_int_eq(ctl[i], 'c');
	/* A duplicate is the same stream, pushing a module does not change it. */
	GIVES(str_ioctl(one, I_PUSH, "nullmod"), 0);
	GIVES(fdinsert(p[0], ctl, 32, NULL, 0, str_dup(one), 16), 0);
	ck_assert_ptr_eq(inserted(p[1], 16), first);
	close_pipe(p);
}
END_TEST

/* "offset negative, misaligned, or ctl too short → EINVAL" */
START_TEST(fdinsert_refuses_bad_offsets_and_short_control_parts)
{
	int p[2], fd = open_dev("echo");
	char ctl[32] = "";

	make_pipe(p);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, fd, -1), EINVAL);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, fd, -8), EINVAL);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, fd, INT_MIN), EINVAL);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, fd, 1), EINVAL);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, fd, 4), EINVAL);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, fd, 32), EINVAL);
	FAILS(fdinsert(p[0], ctl, 31, NULL, 0, fd, 24), EINVAL);
	FAILS(fdinsert(p[0], ctl, 7, NULL, 0, fd, 0), EINVAL);
	FAILS(fdinsert(p[0], ctl, 0, NULL, 0, fd, 0), EINVAL);
	FAILS(fdinsert(p[0], ctl, -1, NULL, 0, fd, 0), EINVAL);
	FAILS(fdinsert(p[0], ctl, INT_MIN, NULL, 0, fd, 8), EINVAL);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, fd, INT_MAX & ~7), EINVAL);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 2, fd, 0), EINVAL);
	ck_assert_int_eq(waiting(p[1]), 0);
	GIVES(fdinsert(p[0], ctl, 8, NULL, 0, fd, 0), 0);
	ck_assert_int_eq(waiting(p[1]), 1);
	close_pipe(p);
}
END_TEST

/* "bad or non-stream fildes → EINVAL" */
START_TEST(fdinsert_refuses_what_is_no_stream)
{
	int p[2], file = open("/dev/null", O_RDWR), gone = open_dev("echo");
	char ctl[32] = "";

	make_pipe(p);
	GIVES(str_close(gone), 0);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, -1, 0), EINVAL);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, gone, 0), EINVAL);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, INT_MAX, 0), EINVAL);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, file, 0), EINVAL);
	ck_assert_int_eq(waiting(p[1]), 0);
	close(file);
	close_pipe(p);
}
END_TEST

/* "the other stream's errors are reported" */
START_TEST(fdinsert_reports_the_trouble_of_the_other_stream)
{
	int p[2], o[2];
	char ctl[32] = "";

	make_pipe(p);
	ordered_pipe(o);
	order_error(o[1], E, NOERROR);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, o[0], 0), E);
	order_error(o[1], 0, E);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, o[0], 0), E);
	order_error(o[1], 0, 0);
	GIVES(fdinsert(p[0], ctl, 32, NULL, 0, o[0], 0), 0);
	order(o[1], M_HANGUP, NULL, 0);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, o[0], 0), ENXIO);
	ck_assert_int_eq(waiting(p[1]), 1);
	close_pipe(o);
	close_pipe(p);
}
END_TEST

/* "flow control as putmsg" */
START_TEST(fdinsert_minds_flow_control_unless_it_has_priority)
{
	int p[2], fd = open_dev("echo");
	char ctl[32] = "";

	make_pipe(p);
	set_marks(p[1], 10, 5);
	fill(p[0]);
	FAILS(fdinsert(p[0], ctl, 32, NULL, 0, fd, 0), EAGAIN);
	GIVES(fdinsert(p[0], ctl, 32, NULL, RS_HIPRI, fd, 0), 0);
	ck_assert_int_eq(polled(p[1], POLLPRI), POLLPRI);
	close_pipe(p);
}
END_TEST

START_TEST(fdinsert_minds_sizes_and_bad_pointers)
{
	int p[2], fd = open_dev("echo");
	static char ctl[8192];
	struct strfdinsert m = {{0, 32, BAD_PTR}, {0, -1, NULL}, 0, fd, 0};

	make_pipe(p);
	FAILS(fdinsert(p[0], ctl, 4097, NULL, 0, fd, 0), ERANGE);
	FAILS(str_ioctl(p[0], I_FDINSERT, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_FDINSERT, BAD_PTR), EFAULT);
	FAILS(str_ioctl(p[0], I_FDINSERT, &m), EFAULT);
	m.ctlbuf.buf = NULL;
	FAILS(str_ioctl(p[0], I_FDINSERT, &m), EFAULT);
	m.ctlbuf.buf = ctl;
	m.databuf = (struct strbuf){0, 4, BAD_PTR};
	FAILS(str_ioctl(p[0], I_FDINSERT, &m), EFAULT);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

/* ---- I_PUTMSG and its kin ------------------------------------------------ */

START_TEST(i_putmsg_and_i_putpmsg_send_as_putmsg_does)
{
	char c[] = "ctl", d[] = "data";
	struct strpeek m = {{0, 3, c}, {0, 4, d}, 0};
	struct strpmsg pm = {{0, 3, c}, {0, 4, d}, 7, MSG_BAND};
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUTMSG, &m), 0);
	TAKES(p[1], "ctl", "data", 0);
	m.flags = RS_HIPRI;
	GIVES(str_ioctl(p[0], I_PUTMSG, &m), 0);
	TAKES(p[1], "ctl", "data", HIPRI);
	m.flags = 2;
	FAILS(str_ioctl(p[0], I_PUTMSG, &m), EINVAL);
	m = (struct strpeek){{0, -1, c}, {0, 4, d}, RS_HIPRI};
	FAILS(str_ioctl(p[0], I_PUTMSG, &m), EINVAL);
	GIVES(str_ioctl(p[0], I_PUTPMSG, &pm), 0);
	TAKES(p[1], "ctl", "data", 7);
	pm.band = 256;
	FAILS(str_ioctl(p[0], I_PUTPMSG, &pm), EINVAL);
	pm.band = 1;
	pm.flags = MSG_HIPRI;
	FAILS(str_ioctl(p[0], I_PUTPMSG, &pm), EINVAL);
	pm.band = 0;
	GIVES(str_ioctl(p[0], I_PUTPMSG, &pm), 0);
	TAKES(p[1], "ctl", "data", HIPRI);
	FAILS(str_ioctl(p[0], I_PUTMSG, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_PUTPMSG, BAD_PTR), EFAULT);
	m = (struct strpeek){{0, 3, BAD_PTR}, {0, 4, d}, 0};
	FAILS(str_ioctl(p[0], I_PUTMSG, &m), EFAULT);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(i_getmsg_and_i_getpmsg_receive_as_getmsg_does)
{
	char c[8], d[8];
	struct strpeek m = {{2, 0, c}, {8, 0, d}, 0};
	struct strpmsg pm = {{8, 0, c}, {2, 0, d}, 0, MSG_ANY};
	int p[2];

	make_pipe(p);
	FAILS(str_ioctl(p[1], I_GETMSG, &m), EAGAIN);
	GIVES(put_msg(p[0], "ctl", "data", HIPRI), 0);
	GIVES(str_ioctl(p[1], I_GETMSG, &m), MORECTL);
	ck_assert_int_eq(m.flags, RS_HIPRI);
	ck_assert_int_eq(m.ctlbuf.len, 2);
	ck_assert_int_eq(m.databuf.len, 4);
	ck_assert_mem_eq(c, "ct", 2);
	ck_assert_mem_eq(d, "data", 4);
	m.flags = 0;
	GIVES(str_ioctl(p[1], I_GETMSG, &m), 0);
	ck_assert_int_eq(m.ctlbuf.len, 1);
	ck_assert_int_eq(m.databuf.len, -1);
	GIVES(put_msg(p[0], "c", "data", 9), 0);
	m.flags = RS_HIPRI;
	FAILS(str_ioctl(p[1], I_GETMSG, &m), EAGAIN);
	m.flags = 4;
	FAILS(str_ioctl(p[1], I_GETMSG, &m), EINVAL);
	GIVES(str_ioctl(p[1], I_GETPMSG, &pm), MOREDATA);
	ck_assert_int_eq(pm.flags, MSG_BAND);
	ck_assert_int_eq(pm.band, 9);
	ck_assert_int_eq(pm.ctlbuf.len, 1);
	ck_assert_int_eq(pm.databuf.len, 2);
	pm = (struct strpmsg){{8, 0, c}, {8, 0, d}, 10, MSG_BAND};
	FAILS(str_ioctl(p[1], I_GETPMSG, &pm), EAGAIN);
	pm.band = 256;
	FAILS(str_ioctl(p[1], I_GETPMSG, &pm), EINVAL);
	pm.band = 3;
	GIVES(str_ioctl(p[1], I_GETPMSG, &pm), 0);
	ck_assert_int_eq(pm.band, 9);
	FAILS(str_ioctl(p[1], I_GETMSG, NULL), EFAULT);
	FAILS(str_ioctl(p[1], I_GETPMSG, BAD_PTR), EFAULT);
	close_pipe(p);
}
END_TEST

/* ---- marks and delimiters ----------------------------------------------- */

START_TEST(atmark_tells_whether_the_first_message_is_marked)
{
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[1], I_ATMARK, ANYMARK), 0);
	GIVES(str_write(p[0], "plain", 5), 5);
	put_flagged(p[0], "one", MSGMARK);
	put_flagged(p[0], "two", MSGMARK);
	GIVES(str_write(p[0], "end", 3), 3);
	GIVES(str_ioctl(p[1], I_ATMARK, ANYMARK), 0);
	GIVES(str_ioctl(p[1], I_ATMARK, LASTMARK), 0);
	READS(p[1], 100, "plain"); /* stops before the mark */
	GIVES(str_ioctl(p[1], I_ATMARK, ANYMARK), 1);
	GIVES(str_ioctl(p[1], I_ATMARK, LASTMARK), 0);
	GIVES(str_ioctl(p[1], I_ATMARK, ANYMARK | LASTMARK), 1);
	READS(p[1], 1, "o");
	GIVES(str_ioctl(p[1], I_ATMARK, ANYMARK), 1); /* the mark is the last byte's */
	READS(p[1], 100, "ne");
	GIVES(str_ioctl(p[1], I_ATMARK, ANYMARK), 1);
	GIVES(str_ioctl(p[1], I_ATMARK, LASTMARK), 1);
	READS(p[1], 100, "two"); /* stops after the mark */
	GIVES(str_ioctl(p[1], I_ATMARK, ANYMARK), 0);
	READS(p[1], 100, "end");
	close_pipe(p);
}
END_TEST

START_TEST(atmark_refuses_unknown_marks)
{
	int p[2];

	make_pipe(p);
	FAILS(str_ioctl(p[0], I_ATMARK, 0), EINVAL);
	FAILS(str_ioctl(p[0], I_ATMARK, 4), EINVAL);
	FAILS(str_ioctl(p[0], I_ATMARK, -1), EINVAL);
	FAILS(str_ioctl(p[0], I_ATMARK, INT_MAX), EINVAL);
	close_pipe(p);
}
END_TEST

START_TEST(a_delimited_message_ends_a_read)
{
	int p[2];

	make_pipe(p);
	GIVES(str_write(p[0], "a", 1), 1);
	put_flagged(p[0], "b", MSGDELIM);
	GIVES(str_write(p[0], "c", 1), 1);
	READS(p[1], 100, "ab");
	READS(p[1], 100, "c");
	close_pipe(p);
}
END_TEST

/* The flags of the first message, which is taken. */
static int
flags_of_first(int fd, const char *text)
{
	mblk_t *mp;
	int flags;

	GIVES(str_getmblk(fd, &mp), 0);
	ck_assert_mem_eq(mp->b_rptr, text, strlen(text));
	flags = mp->b_flag & (MSGMARK | MSGDELIM);
	freemsg(mp);
	return flags;
}

START_TEST(so_delim_delimits_each_write_at_its_end)
{
	struct stroptions so = {.so_flags = SO_DELIM};
	char big[150];
	int p[2];

	ordered_pipe(p);
	order(p[1], M_SETOPTS, &so, sizeof(so));
	GIVES(str_write(p[0], "ab", 2), 2);
	ck_assert_int_eq(flags_of_first(p[1], "ab"), MSGDELIM);
	GIVES(str_ioctl(p[0], I_PUSH, "tcut"), 0); /* 0 to 100 bytes */
	memset(big, 'b', sizeof(big));
	GIVES(str_write(p[0], big, sizeof(big)), 150);
	ck_assert_int_eq(flags_of_first(p[1], "b"), 0);
	ck_assert_int_eq(flags_of_first(p[1], "b"), MSGDELIM);
	so.so_flags = SO_NODELIM;
	order(p[1], M_SETOPTS, &so, sizeof(so));
	GIVES(str_write(p[0], "ab", 2), 2);
	ck_assert_int_eq(flags_of_first(p[1], "ab"), 0);
	close_pipe(p);
}
END_TEST

/* ---- errors that are reported once --------------------------------------- */

START_TEST(serropt_makes_an_error_be_reported_once)
{
	int p[2], opt = -1;

	ordered_pipe(p);
	GIVES(str_ioctl(p[0], I_GERROPT, &opt), 0);
	ck_assert_int_eq(opt, 0);
	GIVES(str_ioctl(p[0], I_SERROPT, RERRNONPERSIST), 0);
	GIVES(str_ioctl(p[0], I_GERROPT, &opt), 0);
	ck_assert_int_eq(opt, RERRNONPERSIST);
	order_error(p[1], E, E);
	FAILS(str_read(p[0], &opt, 1), E);
	FAILS(str_read(p[0], &opt, 1), EAGAIN);
	FAILS(str_write(p[0], "x", 1), E);
	FAILS(str_write(p[0], "x", 1), E); /* the write error persists */
	order_error(p[1], 0, 0);
	GIVES(str_ioctl(p[0], I_SERROPT, WERRNONPERSIST), 0);
	order_error(p[1], E, E);
	FAILS(str_write(p[0], "x", 1), E);
	GIVES(str_write(p[0], "x", 1), 1);
	FAILS(str_read(p[0], &opt, 1), E);
	FAILS(str_read(p[0], &opt, 1), E);
	order_error(p[1], 0, 0);
	GIVES(str_ioctl(p[0], I_SERROPT, RERRNONPERSIST | WERRNONPERSIST), 0);
	order_error(p[1], E, E);
	FAILS(str_ioctl(p[0], I_PUSH, "nullmod"), E); /* the read error */
	FAILS(str_ioctl(p[0], I_PUSH, "nullmod"), E); /* the write error */
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	close_pipe(p);
}
END_TEST

/* "I_SERROPT unknown bits → EINVAL" */
START_TEST(serropt_refuses_unknown_bits)
{
	int p[2], opt;

	make_pipe(p);
	FAILS(str_ioctl(p[0], I_SERROPT, 4), EINVAL);
	FAILS(str_ioctl(p[0], I_SERROPT, -1), EINVAL);
	FAILS(str_ioctl(p[0], I_SERROPT, RERRNONPERSIST | 0x100), EINVAL);
	FAILS(str_ioctl(p[0], I_GERROPT, NULL), EFAULT);
	FAILS(str_ioctl(p[0], I_GERROPT, BAD_PTR), EFAULT);
	GIVES(str_ioctl(p[0], I_GERROPT, &opt), 0);
	ck_assert_int_eq(opt, 0);
	close_pipe(p);
}
END_TEST

/* "M_ERROR 1 byte = both sides, 2 bytes {read, write}, NOERROR leaves, 0 clears" */
START_TEST(m_error_sets_leaves_and_clears_each_side)
{
	unsigned char one = E, none = 0;
	char b;
	int p[2];

	ordered_pipe(p);
	order(p[1], M_ERROR, &one, 1);
	FAILS(str_read(p[0], &b, 1), E);
	FAILS(str_write(p[0], "x", 1), E);
	order_error(p[1], 0, NOERROR);
	FAILS(str_read(p[0], &b, 1), EAGAIN);
	FAILS(str_write(p[0], "x", 1), E);
	order_error(p[1], ENOLINK, 0);
	FAILS(str_read(p[0], &b, 1), ENOLINK);
	GIVES(str_write(p[0], "x", 1), 1);
	order(p[1], M_ERROR, &none, 1);
	FAILS(str_read(p[0], &b, 1), EAGAIN);
	order(p[1], M_ERROR, NULL, 0); /* says nothing */
	FAILS(str_read(p[0], &b, 1), EAGAIN);
	close_pipe(p);
}
END_TEST

/* ---- I_ANCHOR ------------------------------------------------------------ */

START_TEST(below_an_anchor_only_the_privileged_pop)
{
	int p[2];

	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(p[0], I_ANCHOR, 0), 0);
	GIVES(str_ioctl(p[0], I_PUSH, "pipemod"), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	FAILS(str_ioctl(p[0], I_POP, 0), EPERM);
	GIVES(str_ioctl(p[0], I_LIST, NULL), 1);
	if (getuid() == 0) {
		ck_assert_int_eq(seteuid(0), 0);
		GIVES(str_ioctl(p[0], I_POP, 0), 0);
		/* What went took the anchor with it. */
		GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
		ck_assert_int_eq(seteuid(65534), 0);
		GIVES(str_ioctl(p[0], I_POP, 0), 0);
		ck_assert_int_eq(seteuid(0), 0);
	}
	close_pipe(p);
}
END_TEST

/* ---- what a stream is ----------------------------------------------------- */

START_TEST(sizes_and_kinds_are_told)
{
	int p[2], fd = open_dev("echo"), n = 0;

	make_pipe(p);
	GIVES(str_ioctl(fd, I_GET_STRMSGSZ), 262144);
	GIVES(str_ioctl(fd, I_GET_STRCTLSZ), 4096);
	GIVES(str_ioctl(fd, I_GET_PUSHCNT, &n), 0);
	ck_assert_int_eq(n, 0);
	GIVES(str_ioctl(fd, I_ISASTREAM), 1);
	GIVES(str_ioctl(p[0], I_ISASTREAM), 1);
	GIVES(str_ioctl(fd, I_PIPE), 0);
	GIVES(str_ioctl(p[0], I_PIPE), 1);
	GIVES(str_ioctl(fd, I_FIFO), 0);
	GIVES(str_ioctl(p[0], I_FIFO), 0);
	GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(p[0], I_FIFO), 0);
	close_pipe(p);
}
END_TEST

/* ---- M_SETOPTS ------------------------------------------------------------ */

static void
setopts(int fd, struct stroptions so)
{
	order(fd, M_SETOPTS, &so, sizeof(so));
}

START_TEST(so_wroff_leaves_room_before_written_data)
{
	mblk_t *mp;
	int p[2];

	ordered_pipe(p);
	setopts(p[1], (struct stroptions){.so_flags = SO_WROFF, .so_wroff = 40});
	GIVES(str_write(p[0], "data", 4), 4);
	GIVES(str_getmblk(p[1], &mp), 0);
	ck_assert_int_eq(mp->b_rptr - mp->b_datap->db_base, 40);
	ck_assert_mem_eq(mp->b_rptr, "data", 4);
	freemsg(mp);
	GIVES(put_msg(p[0], "c", "data", 0), 0);
	GIVES(str_getmblk(p[1], &mp), 0);
	ck_assert_int_eq(mp->b_rptr - mp->b_datap->db_base, 0);
	ck_assert_int_eq(mp->b_cont->b_rptr - mp->b_cont->b_datap->db_base, 40);
	freemsg(mp);
	setopts(p[1], (struct stroptions){.so_flags = SO_WROFF, .so_wroff = 0});
	GIVES(str_write(p[0], "data", 4), 4);
	GIVES(str_getmblk(p[1], &mp), 0);
	ck_assert_int_eq(mp->b_rptr - mp->b_datap->db_base, 0);
	freemsg(mp);
	close_pipe(p);
}
END_TEST

/* The limits are those of the head's read queue: what the other end may send. */
START_TEST(so_minpsz_and_so_maxpsz_limit_what_comes)
{
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
	setopts(p[1], (struct stroptions){.so_flags = SO_MAXPSZ | SO_MINPSZ, .so_maxpsz = 3,
	    .so_minpsz = 0});
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	GIVES(str_write(p[1], "1234567", 7), 7);
	ck_assert_int_eq(waiting(p[0]), 3);
	ck_assert_int_eq(first_bytes(p[0]), 3);
	drain(p[0]);
	FAILS(put_msg(p[1], NULL, "1234", 0), ERANGE);
	GIVES(put_msg(p[1], NULL, "123", 0), 0);
	close_pipe(p);
}
END_TEST

START_TEST(so_band_sets_the_marks_of_a_band)
{
	int p[2];

	ordered_pipe(p);
	setopts(p[1], (struct stroptions){.so_flags = SO_BAND | SO_HIWAT | SO_LOWAT, .so_band = 2,
	    .so_hiwat = 10, .so_lowat = 5});
	GIVES(str_ioctl(p[0], I_POP, 0), 0);
	GIVES(str_ioctl(p[0], I_GET_HIWAT), 65536);
	GIVES(str_ioctl(p[1], I_CANPUT, 2), 1);
	GIVES(put_msg(p[1], NULL, "0123456789", 2), 0);
	GIVES(str_ioctl(p[1], I_CANPUT, 2), 0);
	GIVES(str_ioctl(p[1], I_CANPUT, 1), 1);
	GIVES(str_ioctl(p[1], I_CANPUT, 0), 1);
	TAKES(p[0], NULL, "0123456789", 2);
	GIVES(str_ioctl(p[1], I_CANPUT, 2), 1);
	close_pipe(p);
}
END_TEST

START_TEST(so_readopt_and_so_erropt_are_what_the_program_sees)
{
	int p[2], opt;

	ordered_pipe(p);
	setopts(p[1], (struct stroptions){.so_flags = SO_READOPT, .so_readopt = RMSGD | RPROTDIS});
	GIVES(str_ioctl(p[0], I_GRDOPT, &opt), 0);
	ck_assert_int_eq(opt, RMSGD | RPROTDIS);
	setopts(p[1], (struct stroptions){.so_flags = SO_READOPT, .so_readopt = RMSGN});
	GIVES(str_ioctl(p[0], I_GRDOPT, &opt), 0);
	ck_assert_int_eq(opt, RMSGN | RPROTDIS);
	/* nonsense changes nothing */
	setopts(p[1], (struct stroptions){.so_flags = SO_READOPT, .so_readopt = RMSGN | RMSGD});
	setopts(p[1], (struct stroptions){.so_flags = SO_READOPT,
	    .so_readopt = RPROTDAT | RPROTDIS});
	setopts(p[1], (struct stroptions){.so_flags = SO_READOPT, .so_readopt = -1});
	order(p[1], M_SETOPTS, "short", 5);
	GIVES(str_ioctl(p[0], I_GRDOPT, &opt), 0);
	ck_assert_int_eq(opt, RMSGN | RPROTDIS);
	setopts(p[1], (struct stroptions){.so_flags = SO_ERROPT, .so_erropt = WERRNONPERSIST});
	GIVES(str_ioctl(p[0], I_GERROPT, &opt), 0);
	ck_assert_int_eq(opt, WERRNONPERSIST);
	close_pipe(p);
}
END_TEST

/* treq: answers M_READ with "asked for N" */
static atomic_int mreads;

static int
treq_wput(queue_t *q, mblk_t *mp)
{
	size_t want;

	if (mp->b_datap->db_type != M_READ) {
		putnext(q, mp);
		return 0;
	}
	atomic_fetch_add(&mreads, 1);
	memcpy(&want, mp->b_rptr, sizeof(want));
	ck_assert_int_eq(mp->b_wptr - mp->b_rptr, sizeof(want));
	freemsg(mp);
	mp = allocb(32, BPRI_MED);
	mp->b_wptr += sprintf((char *)mp->b_wptr, "asked for %zu", want);
	if (want != 99)
		qreply(q, mp);
	else
		freemsg(mp);
	return 0;
}

static int
treq_rput(queue_t *q, mblk_t *mp)
{
	putnext(q, mp);
	return 0;
}

static int
treq_open(queue_t *q, dev_t *devp, int oflag, int sflag, cred_t *cr)
{
	(void)devp, (void)oflag, (void)sflag, (void)cr;
	qprocson(q);
	return 0;
}

static int
treq_close(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q);
	return 0;
}

static struct module_info treq_info = {9200, "treq", 0, INFPSZ, 5120, 1024};
static struct qinit treq_rinit = {
    treq_rput, NULL, treq_open, treq_close, NULL, &treq_info, NULL};
static struct qinit treq_winit = {treq_wput, NULL, NULL, NULL, NULL, &treq_info, NULL};
static struct streamtab treq_tab = {&treq_rinit, &treq_winit, NULL, NULL};

START_TEST(so_mreadon_tells_those_below_of_a_read_that_finds_nothing)
{
	char b[100];
	int p[2];

	ordered_pipe(p);
	if (ustr_register_module("treq", &treq_tab, D_MP) == -1)
		ck_assert_int_eq(errno, EEXIST);
	atomic_store(&mreads, 0);
	GIVES(str_ioctl(p[0], I_PUSH, "treq"), 0);
	FAILS(str_read(p[0], b, 50), EAGAIN);
	ck_assert_int_eq(mreads, 0);
	setopts(p[1], (struct stroptions){.so_flags = SO_MREADON});
	READS(p[0], 50, "asked for 50");
	ck_assert_int_eq(mreads, 1);
	/* Not if there is something, nor for getmsg; once a read. */
	GIVES(str_write(p[1], "here", 4), 4);
	READS(p[0], 50, "here");
	FAILS(getmsg(p[0], NULL, NULL, &(int){0}), EAGAIN);
	ck_assert_int_eq(mreads, 1);
	FAILS(str_read(p[0], b, 99), EAGAIN);
	ck_assert_int_eq(mreads, 2);
	nonblock(p[0], false);
	READS(p[0], 50, "asked for 50");
	nonblock(p[0], true);
	setopts(p[1], (struct stroptions){.so_flags = SO_MREADOFF});
	FAILS(str_read(p[0], b, 50), EAGAIN);
	ck_assert_int_eq(mreads, 3);
	close_pipe(p);
}
END_TEST

START_TEST(so_ndelon_makes_a_read_or_write_give_0_instead_of_eagain)
{
	char b;
	int p[2];

	ordered_pipe(p);
	set_marks(p[1], 10, 5);
	setopts(p[1], (struct stroptions){.so_flags = SO_NDELON});
	GIVES(str_read(p[0], &b, 1), 0);
	FAILS(getmsg(p[0], NULL, NULL, &(int){0}), EAGAIN);
	for (int i = 0; i < 10; i++)
		GIVES(str_write(p[0], "x", 1), 1);
	GIVES(str_write(p[0], "x", 1), 0);
	FAILS(put_msg(p[0], NULL, "x", 0), EAGAIN);
	ck_assert_int_eq(waiting(p[1]), 10);
	setopts(p[1], (struct stroptions){.so_flags = SO_NDELOFF});
	FAILS(str_read(p[0], &b, 1), EAGAIN);
	FAILS(str_write(p[0], "x", 1), EAGAIN);
	close_pipe(p);
}
END_TEST

START_TEST(options_that_mean_nothing_here_are_accepted)
{
	int p[2], opt;

	ordered_pipe(p);
	setopts(p[1], (struct stroptions){.so_flags = SO_ISTTY | SO_ISNTTY | SO_TOSTOP |
	    SO_TONSTOP | SO_STRHOLD});
	GIVES(str_ioctl(p[0], I_GRDOPT, &opt), 0);
	ck_assert_int_eq(opt, RNORM | RPROTNORM);
	GIVES(str_write(p[1], "still", 5), 5);
	READS(p[0], 10, "still");
	close_pipe(p);
}
END_TEST

/* ---- the last close ---------------------------------------------------------- */

struct closing {
	int c_fd;
	atomic_int c_tid;
	long c_took;
};

static void *
close_thread(void *arg)
{
	struct closing *c = arg;
	long from = now_ms();

	atomic_store(&c->c_tid, gettid());
	str_close(c->c_fd);
	c->c_took = now_ms() - from;
	return NULL;
}

/* "unless ... hup, error": also when they come while it waits. */
START_TEST(trouble_ends_the_wait_of_the_last_close)
{
	for (int how = 0; how < 3; how++) {
		struct closing c;
		pthread_t t;
		int p[2], ms = 2 * SOON;

		test_modules();
		make_blocking_pipe(p);
		GIVES(str_ioctl(p[0], I_PUSH, "tctl"), 0);
		GIVES(str_ioctl(p[0], I_PUSH, "thold"), 0);
		GIVES(str_ioctl(p[0], I_SETCLTIME, &ms), 0);
		GIVES(str_write(p[0], "stuck", 5), 5);
		c.c_fd = p[0];
		atomic_store(&c.c_tid, 0);
		pthread_create(&t, NULL, close_thread, &c);
		AWAIT(atomic_load(&c.c_tid) != 0);
		until_asleep(atomic_load(&c.c_tid));
		msleep(50);
		if (how == 0)
			order(p[1], M_HANGUP, NULL, 0);
		else if (how == 1)
			order_error(p[1], NOERROR, E);
		else
			order_error(p[1], E, NOERROR);
		pthread_join(t, NULL);
		ck_assert_int_ge(c.c_took, 40);
		ck_assert_int_lt(c.c_took, SOON);
		GIVES(str_close(p[1]), 0);
	}
}
END_TEST

START_TEST(the_last_close_ends_when_its_queues_have_drained)
{
	struct closing c = {.c_fd = open_dev("echo")};
	int ms = 2 * SOON;

	GIVES(str_ioctl(c.c_fd, I_SETCLTIME, &ms), 0);
	nonblock(c.c_fd, false);
	GIVES(str_write(c.c_fd, "gone up at once", 15), 15);
	close_thread(&c);
	ck_assert_int_lt(c.c_took, SOON);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("streamio");
	TCase *tc = group(s, "I_FDINSERT", 120);

	tcase_add_test(tc, fdinsert_names_the_other_stream_at_the_offset);
	tcase_add_test(tc, fdinsert_refuses_bad_offsets_and_short_control_parts);
	tcase_add_test(tc, fdinsert_refuses_what_is_no_stream);
	tcase_add_test(tc, fdinsert_reports_the_trouble_of_the_other_stream);
	tcase_add_test(tc, fdinsert_minds_flow_control_unless_it_has_priority);
	tcase_add_test(tc, fdinsert_minds_sizes_and_bad_pointers);
	tc = group(s, "messages", 120);
	tcase_add_test(tc, i_putmsg_and_i_putpmsg_send_as_putmsg_does);
	tcase_add_test(tc, i_getmsg_and_i_getpmsg_receive_as_getmsg_does);
	tc = group(s, "marks", 120);
	tcase_add_test(tc, atmark_tells_whether_the_first_message_is_marked);
	tcase_add_test(tc, atmark_refuses_unknown_marks);
	tcase_add_test(tc, a_delimited_message_ends_a_read);
	tcase_add_test(tc, so_delim_delimits_each_write_at_its_end);
	tc = group(s, "errors", 120);
	tcase_add_test(tc, serropt_makes_an_error_be_reported_once);
	tcase_add_test(tc, serropt_refuses_unknown_bits);
	tcase_add_test(tc, m_error_sets_leaves_and_clears_each_side);
	tcase_add_test(tc, below_an_anchor_only_the_privileged_pop);
	tcase_add_test(tc, sizes_and_kinds_are_told);
	tc = group(s, "M_SETOPTS", 120);
	tcase_add_test(tc, so_wroff_leaves_room_before_written_data);
	tcase_add_test(tc, so_minpsz_and_so_maxpsz_limit_what_comes);
	tcase_add_test(tc, so_band_sets_the_marks_of_a_band);
	tcase_add_test(tc, so_readopt_and_so_erropt_are_what_the_program_sees);
	tcase_add_test(tc, so_mreadon_tells_those_below_of_a_read_that_finds_nothing);
	tcase_add_test(tc, so_ndelon_makes_a_read_or_write_give_0_instead_of_eagain);
	tcase_add_test(tc, options_that_mean_nothing_here_are_accepted);
	tc = group(s, "close", 120);
	tcase_add_test(tc, trouble_ends_the_wait_of_the_last_close);
	tcase_add_test(tc, the_last_close_ends_when_its_queues_have_drained);
	return run_suite(s);
}
