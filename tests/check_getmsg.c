/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_getmsg.c: getmsg, getpmsg, putmsg and putpmsg (streamio.md §4, §6),
 * rule by rule, then by random operations against a naive model.
 */
#include "headlib.h"

#include <limits.h>
#include <stdio.h>

static char cbuf[8192], dbuf[300000];

/* getpmsg with room for clen and dlen bytes (-1: leave the part). */
static int
get(int fd, int clen, int dlen, struct strbuf *c, struct strbuf *d, int *band, int *flags)
{
	*c = (struct strbuf){clen, -2, cbuf};
	*d = (struct strbuf){dlen, -2, dbuf};
	return getpmsg(fd, c, d, band, flags);
}

/* The same for any message; the result of the call. */
static int
get_any(int fd, int clen, int dlen, struct strbuf *c, struct strbuf *d)
{
	int band = 0, flags = MSG_ANY;

	return get(fd, clen, dlen, c, d, &band, &flags);
}

#define PART(b, text)                                                \
	do {                                                         \
		ck_assert_int_eq((b).len, (int)strlen(text));        \
		ck_assert(memcmp((b).buf, text, strlen(text)) == 0); \
	} while (0)

/* ---- arguments of getmsg and getpmsg ------------------------------------ */

/* "getmsg flags 0 or RS_HIPRI, else EINVAL" */
START_TEST(getmsg_refuses_unknown_flags)
{
	static const int flags[] = {2, 4, 3, -1, INT_MIN, INT_MAX};
	struct strbuf d = {10, 0, dbuf};
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[0], NULL, "data", 0), 0);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		int f = flags[i];

		FAILS(getmsg(p[1], NULL, &d, &f), EINVAL);
	}
	TAKES(p[1], NULL, "data", 0);
	close_pipe(p);
}
END_TEST

/* "getpmsg exactly one of MSG_HIPRI (band must be 0), MSG_ANY (band 0),
   MSG_BAND (0..255), else EINVAL" */
START_TEST(getpmsg_refuses_wrong_flags_and_bands)
{
	static const struct {
		int flags, band;
	} bad[] = {
	    {0, 0},
	    {MSG_HIPRI | MSG_ANY, 0},
	    {MSG_ANY | MSG_BAND, 0},
	    {MSG_HIPRI | MSG_BAND, 0},
	    {7, 0},
	    {8, 0},
	    {-1, 0},
	    {INT_MIN, 0},
	    {MSG_HIPRI, 1},
	    {MSG_HIPRI, -1},
	    {MSG_ANY, 1},
	    {MSG_BAND, -1},
	    {MSG_BAND, 256},
	    {MSG_BAND, INT_MAX},
	    {MSG_BAND, INT_MIN},
	};
	struct strbuf d = {10, 0, dbuf};
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[0], NULL, "data", 1), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int f = bad[i].flags, b = bad[i].band, r;

		errno = 0;
		r = getpmsg(p[1], NULL, &d, &b, &f);
		ck_assert_msg(r == -1 && errno == EINVAL, "flags %#x band %d: %d (%s)",
		    (unsigned)bad[i].flags, bad[i].band, r, ename(errno));
	}
	TAKES(p[1], NULL, "data", 1);
	close_pipe(p);
}
END_TEST

START_TEST(bad_pointers_are_efault_and_lose_nothing)
{
	struct strbuf d = {10, 0, dbuf}, worse = {10, 0, (char *)-1};
	struct strbuf wild = {10, 0, (char *)(UINTPTR_MAX / 2 + 1)};
	int p[2], flags = 0, band = 0, any = MSG_ANY;

	make_pipe(p);
	GIVES(put_msg(p[0], "ctl", "data", 0), 0);
	FAILS(getmsg(p[1], NULL, &d, NULL), EFAULT);
	FAILS(getmsg(p[1], NULL, &d, (int *)-1), EFAULT);
	FAILS(getpmsg(p[1], NULL, &d, &band, NULL), EFAULT);
	FAILS(getpmsg(p[1], NULL, &d, NULL, &any), EFAULT);
	FAILS(getpmsg(p[1], NULL, &d, (int *)-1, &any), EFAULT);
	FAILS(getmsg(p[1], (struct strbuf *)-1, &d, &flags), EFAULT);
	FAILS(getmsg(p[1], &d, (struct strbuf *)-1, &flags), EFAULT);
	FAILS(getmsg(p[1], &worse, &d, &flags), EFAULT);
	/* The control part could be taken, the data part not. */
	FAILS(getmsg(p[1], &d, &worse, &flags), EFAULT);
	FAILS(getmsg(p[1], &d, &wild, &flags), EFAULT);
	ck_assert_int_eq(waiting(p[1]), 1);
	TAKES(p[1], "ctl", "data", 0);
	close_pipe(p);
}
END_TEST

/* §12: "Any other bad pointer gives EFAULT in checked mode." */
START_TEST(any_bad_pointer_is_efault_in_checked_mode)
{
	struct strbuf ok = {10, 3, cbuf};
	struct strbuf *none, *konst, unmapped = {10, 3, NULL}, readonly = {10, 3, NULL};
	int p[2], flags = 0;

	make_pipe(p);
	bad_pages(&unmapped.buf, &readonly.buf);
	none = (struct strbuf *)(void *)unmapped.buf;
	konst = (struct strbuf *)(void *)readonly.buf;
	FAILS(putmsg(p[0], &ok, none, 0), EFAULT);
	FAILS(putmsg(p[0], none, &ok, 0), EFAULT);
	FAILS(putmsg(p[0], &ok, &unmapped, 0), EFAULT);
	FAILS(putmsg(p[0], &unmapped, NULL, RS_HIPRI), EFAULT);
	ck_assert_int_eq(waiting(p[1]), 0);
	GIVES(put_msg(p[0], "ctl", "data", 0), 0);
	FAILS(getmsg(p[1], none, &ok, &flags), EFAULT);
	FAILS(getmsg(p[1], &ok, none, &flags), EFAULT);
	FAILS(getmsg(p[1], &ok, konst, &flags), EFAULT);
	FAILS(getmsg(p[1], &ok, &unmapped, &flags), EFAULT);
	FAILS(getmsg(p[1], &readonly, &ok, &flags), EFAULT);
	FAILS(getmsg(p[1], &ok, &readonly, &flags), EFAULT);
	FAILS(getmsg(p[1], &ok, NULL, (int *)(void *)unmapped.buf), EFAULT);
	ck_assert_int_eq(waiting(p[1]), 1);
	TAKES(p[1], "ctl", "data", 0);
	close_pipe(p);
}
END_TEST

/* ---- order and classes -------------------------------------------------- */

/* "high priority, then descending band, FIFO within" */
START_TEST(messages_come_by_priority)
{
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[0], NULL, "zero", 0), 0);
	GIVES(put_msg(p[0], NULL, "seven", 7), 0);
	GIVES(put_msg(p[0], "c", "top", 255), 0);
	GIVES(put_msg(p[0], NULL, "one", 1), 0);
	GIVES(put_msg(p[0], NULL, "seven too", 7), 0);
	GIVES(put_msg(p[0], "hi", NULL, HIPRI), 0);
	GIVES(put_msg(p[0], "ctl", NULL, 0), 0);
	ck_assert_int_eq(waiting(p[1]), 7);
	TAKES(p[1], "hi", NULL, HIPRI);
	TAKES(p[1], "c", "top", 255);
	TAKES(p[1], NULL, "seven", 7);
	TAKES(p[1], NULL, "seven too", 7);
	TAKES(p[1], NULL, "one", 1);
	TAKES(p[1], NULL, "zero", 0);
	TAKES(p[1], "ctl", NULL, 0);
	close_pipe(p);
}
END_TEST

START_TEST(an_empty_stream_is_eagain_with_o_nonblock)
{
	struct strbuf c, d;
	int p[2], flags = 0, hi = RS_HIPRI;

	make_pipe(p);
	FAILS(get_any(p[1], 10, 10, &c, &d), EAGAIN);
	FAILS(getmsg(p[1], &c, &d, &flags), EAGAIN);
	FAILS(getmsg(p[1], &c, &d, &hi), EAGAIN);
	close_pipe(p);
}
END_TEST

/* "Not of the class asked for → wait, or EAGAIN" */
START_TEST(rs_hipri_takes_high_priority_only)
{
	struct strbuf c = {10, 0, cbuf}, d = {10, 0, dbuf};
	int p[2], flags = RS_HIPRI;

	make_pipe(p);
	GIVES(put_msg(p[0], NULL, "normal", 9), 0);
	FAILS(getmsg(p[1], &c, &d, &flags), EAGAIN);
	GIVES(put_msg(p[0], "hi", "x", HIPRI), 0);
	GIVES(getmsg(p[1], &c, &d, &flags), 0);
	PART(c, "hi");
	PART(d, "x");
	ck_assert_int_eq(flags, RS_HIPRI);
	FAILS(getmsg(p[1], &c, &d, &flags), EAGAIN);
	TAKES(p[1], NULL, "normal", 9);
	close_pipe(p);
}
END_TEST

/* "Out: flags RS_HIPRI/0" */
START_TEST(getmsg_with_flags_0_takes_anything_and_says_what)
{
	struct strbuf c = {10, 0, cbuf}, d = {10, 0, dbuf};
	int p[2], flags = 0;

	make_pipe(p);
	GIVES(put_msg(p[0], "hi", NULL, HIPRI), 0);
	GIVES(put_msg(p[0], "ctl", "data", 5), 0);
	GIVES(getmsg(p[1], &c, &d, &flags), 0);
	ck_assert_int_eq(flags, RS_HIPRI);
	PART(c, "hi");
	ck_assert_int_eq(d.len, -1);
	flags = 0;
	GIVES(getmsg(p[1], &c, &d, &flags), 0);
	ck_assert_int_eq(flags, 0);
	PART(c, "ctl");
	PART(d, "data");
	close_pipe(p);
}
END_TEST

START_TEST(msg_hipri_takes_high_priority_only)
{
	struct strbuf c, d;
	int p[2], band = 0, flags = MSG_HIPRI;

	make_pipe(p);
	GIVES(put_msg(p[0], NULL, "normal", 255), 0);
	FAILS(get(p[1], 10, 10, &c, &d, &band, &flags), EAGAIN);
	GIVES(put_msg(p[0], "hi", NULL, HIPRI), 0);
	GIVES(get(p[1], 10, 10, &c, &d, &band, &flags), 0);
	ck_assert_int_eq(flags, MSG_HIPRI);
	ck_assert_int_eq(band, 0);
	PART(c, "hi");
	close_pipe(p);
}
END_TEST

/* MSG_BAND n asks for a band of n or more, or high priority. */
START_TEST(msg_band_takes_that_band_or_a_higher_one)
{
	struct strbuf c, d;
	int p[2], band = 3, flags = MSG_BAND;

	make_pipe(p);
	GIVES(put_msg(p[0], NULL, "two", 2), 0);
	FAILS(get(p[1], 10, 10, &c, &d, &band, &flags), EAGAIN);
	band = 2;
	GIVES(get(p[1], 10, 10, &c, &d, &band, &flags), 0);
	ck_assert_int_eq(band, 2);
	ck_assert_int_eq(flags, MSG_BAND);
	GIVES(put_msg(p[0], NULL, "nine", 9), 0);
	band = 4;
	GIVES(get(p[1], 10, 10, &c, &d, &band, &flags), 0);
	ck_assert_int_eq(band, 9);
	ck_assert_int_eq(flags, MSG_BAND);
	GIVES(put_msg(p[0], "hi", NULL, HIPRI), 0);
	band = 255;
	GIVES(get(p[1], 10, 10, &c, &d, &band, &flags), 0);
	ck_assert_int_eq(band, 0);
	ck_assert_int_eq(flags, MSG_HIPRI);
	close_pipe(p);
}
END_TEST

/* ---- the parts ---------------------------------------------------------- */

START_TEST(an_absent_part_has_length_minus_1)
{
	struct strbuf c, d;
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[0], "ctl", NULL, 0), 0);
	GIVES(put_msg(p[0], NULL, "data", 0), 0);
	GIVES(get_any(p[1], 10, 10, &c, &d), 0);
	PART(c, "ctl");
	ck_assert_int_eq(d.len, -1);
	GIVES(get_any(p[1], 10, 10, &c, &d), 0);
	ck_assert_int_eq(c.len, -1);
	PART(d, "data");
	close_pipe(p);
}
END_TEST

/* "maxlen -1 ...: the part is left; if it exists MORECTL/MOREDATA is returned;
   len = -1 if absent or not taken" */
START_TEST(a_part_with_maxlen_minus_1_is_left)
{
	struct strbuf c, d;
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[0], "ctl", "data", 0), 0);
	GIVES(get_any(p[1], -1, -1, &c, &d), MORECTL | MOREDATA);
	ck_assert_int_eq(c.len, -1);
	ck_assert_int_eq(d.len, -1);
	GIVES(get_any(p[1], -1, 10, &c, &d), MORECTL);
	ck_assert_int_eq(c.len, -1);
	PART(d, "data");
	GIVES(get_any(p[1], -1, 10, &c, &d), MORECTL);
	ck_assert_int_eq(d.len, -1);
	GIVES(get_any(p[1], 10, -1, &c, &d), 0);
	PART(c, "ctl");
	ck_assert_int_eq(d.len, -1);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_part_with_a_null_strbuf_is_left)
{
	struct strbuf c = {10, 0, cbuf}, d = {10, 0, dbuf};
	int p[2], flags = 0;

	make_pipe(p);
	GIVES(put_msg(p[0], "ctl", "data", 0), 0);
	GIVES(getmsg(p[1], NULL, NULL, &flags), MORECTL | MOREDATA);
	ck_assert_int_eq(waiting(p[1]), 1);
	GIVES(getmsg(p[1], &c, NULL, &flags), MOREDATA);
	PART(c, "ctl");
	GIVES(getmsg(p[1], NULL, &d, &flags), 0);
	PART(d, "data");
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

/* "maxlen 0: a zero-length part is consumed with len 0, a non-empty one
   stays, len 0, MORExxx" */
START_TEST(a_part_with_maxlen_0_is_taken_only_when_empty)
{
	struct strbuf c, d;
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[0], "ctl", "data", 0), 0);
	GIVES(get_any(p[1], 0, 0, &c, &d), MORECTL | MOREDATA);
	ck_assert_int_eq(c.len, 0);
	ck_assert_int_eq(d.len, 0);
	TAKES(p[1], "ctl", "data", 0);
	GIVES(put_msg(p[0], "", "", 0), 0);
	GIVES(get_any(p[1], 0, 0, &c, &d), 0);
	ck_assert_int_eq(c.len, 0);
	ck_assert_int_eq(d.len, 0);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(zero_length_parts_are_present)
{
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[0], "", NULL, 0), 0);
	GIVES(put_msg(p[0], "c", "", 0), 0);
	GIVES(put_msg(p[0], "", "d", 0), 0);
	GIVES(put_msg(p[0], "", NULL, HIPRI), 0);
	TAKES(p[1], "", NULL, HIPRI);
	TAKES(p[1], "", NULL, 0);
	TAKES(p[1], "c", "", 0);
	TAKES(p[1], "", "d", 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_long_control_part_comes_in_pieces)
{
	struct strbuf c, d;
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[0], "abcdefgh", "data", 2), 0);
	GIVES(put_msg(p[0], "behind", NULL, 2), 0);
	GIVES(get_any(p[1], 3, 10, &c, &d), MORECTL);
	PART(c, "abc");
	PART(d, "data");
	/* "goes back to the front and keeps its priority" */
	TAKES(p[1], "defgh", NULL, 2);
	TAKES(p[1], "behind", NULL, 2);
	close_pipe(p);
}
END_TEST

START_TEST(a_long_data_part_comes_in_pieces)
{
	struct strbuf c, d;
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[0], "ctl", "abcdefgh", 2), 0);
	GIVES(put_msg(p[0], "behind", NULL, 2), 0);
	GIVES(get_any(p[1], 10, 3, &c, &d), MOREDATA);
	PART(c, "ctl");
	PART(d, "abc");
	ck_assert_int_eq(waiting(p[1]), 2);
	ck_assert_int_eq(first_bytes(p[1]), 5);
	/* "the remaining data is an ordinary M_DATA message" */
	GIVES(get_any(p[1], 10, 3, &c, &d), MOREDATA);
	ck_assert_int_eq(c.len, -1);
	PART(d, "def");
	TAKES(p[1], NULL, "gh", 2);
	TAKES(p[1], "behind", NULL, 2);
	close_pipe(p);
}
END_TEST

START_TEST(both_parts_come_in_pieces)
{
	struct strbuf c, d;
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[0], "abcd", "efgh", 0), 0);
	GIVES(get_any(p[1], 1, 2, &c, &d), MORECTL | MOREDATA);
	PART(c, "a");
	PART(d, "ef");
	GIVES(get_any(p[1], 3, 1, &c, &d), MOREDATA);
	PART(c, "bcd");
	PART(d, "g");
	TAKES(p[1], NULL, "h", 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_partly_taken_high_priority_message_stays_high)
{
	struct strbuf c, d;
	int p[2], band = 0, flags = MSG_HIPRI;

	make_pipe(p);
	GIVES(put_msg(p[0], NULL, "band", 9), 0);
	GIVES(put_msg(p[0], "abcd", "data", HIPRI), 0);
	GIVES(get(p[1], 2, 10, &c, &d, &band, &flags), MORECTL);
	ck_assert_int_eq(flags, MSG_HIPRI);
	PART(d, "data");
	ck_assert_int_eq(polled(p[1], POLLIN | POLLPRI), POLLPRI);
	GIVES(get(p[1], 10, 10, &c, &d, &band, &flags), 0);
	ck_assert_int_eq(flags, MSG_HIPRI);
	PART(c, "cd");
	TAKES(p[1], NULL, "band", 9);
	close_pipe(p);
}
END_TEST

/* "When the control part has been taken, the remaining data is an ordinary
   M_DATA message" -- and it is at the front. */
START_TEST(the_data_left_of_a_high_priority_message_is_ordinary)
{
	struct strbuf c, d;
	int p[2], band = 0, flags = MSG_HIPRI;

	make_pipe(p);
	GIVES(put_msg(p[0], NULL, "behind", 0), 0);
	GIVES(put_msg(p[0], "hi", "data", HIPRI), 0);
	GIVES(get(p[1], 10, 2, &c, &d, &band, &flags), MOREDATA);
	PART(d, "da");
	flags = MSG_HIPRI;
	FAILS(get(p[1], 10, 10, &c, &d, &band, &flags), EAGAIN);
	TAKES(p[1], NULL, "ta", 0);
	TAKES(p[1], NULL, "behind", 0);
	close_pipe(p);
}
END_TEST

static mblk_t *
block(const char *text, int type)
{
	mblk_t *mp = str_mblkalloc(strlen(text) + 1);

	ck_assert_ptr_nonnull(mp);
	memcpy(mp->b_wptr, text, strlen(text));
	mp->b_wptr += strlen(text);
	mp->b_datap->db_type = (unsigned char)type;
	return mp;
}

/* "Control part = leading M_PROTO/M_PCPROTO blocks, data part = the M_DATA
   blocks after." */
START_TEST(a_part_may_be_a_chain_of_blocks)
{
	struct strbuf c, d;
	mblk_t *mp;
	int p[2];

	make_pipe(p);
	mp = block("ab", M_PROTO);
	linkb(mp, block("cde", M_PROTO));
	linkb(mp, block("12", M_DATA));
	linkb(mp, block("", M_DATA));
	linkb(mp, block("345", M_DATA));
	GIVES(str_putmblk(p[0], mp), 0);
	ck_assert_int_eq(first_bytes(p[1]), 5);
	GIVES(get_any(p[1], 3, 4, &c, &d), MORECTL | MOREDATA);
	PART(c, "abc");
	PART(d, "1234");
	TAKES(p[1], "de", "5", 0);
	close_pipe(p);
}
END_TEST

/* "hup and empty: 0, both len 0" */
START_TEST(after_a_hangup_and_the_data_both_parts_have_length_0)
{
	struct strbuf c, d;
	int p[2], flags = 0;

	make_pipe(p);
	GIVES(put_msg(p[0], "last", "words", 0), 0);
	GIVES(str_close(p[0]), 0);
	TAKES(p[1], "last", "words", 0);
	for (int i = 0; i < 2; i++) {
		GIVES(get_any(p[1], 10, 10, &c, &d), 0);
		ck_assert_int_eq(c.len, 0);
		ck_assert_int_eq(d.len, 0);
		c = (struct strbuf){10, -2, cbuf};
		d = (struct strbuf){10, -2, dbuf};
		GIVES(getmsg(p[1], &c, &d, &flags), 0);
		ck_assert_int_eq(c.len, 0);
		ck_assert_int_eq(d.len, 0);
		ck_assert_int_eq(flags, 0);
	}
	GIVES(str_close(p[1]), 0);
}
END_TEST

/* ---- waiting ------------------------------------------------------------ */

struct sender {
	int s_fd;
	const char *s_ctl, *s_data;
	int s_pri;
	int s_result;
};

static void
send_it(void *arg)
{
	struct sender *s = arg;

	s->s_result = put_msg(s->s_fd, s->s_ctl, s->s_data, s->s_pri);
}

START_TEST(getmsg_sleeps_until_a_message_comes)
{
	struct later l;
	struct sender s;
	int p[2];

	make_blocking_pipe(p);
	s = (struct sender){p[0], "ctl", "data", 0, -1};
	later(&l, 40, send_it, &s);
	TAKES(p[1], "ctl", "data", 0);
	later_join(&l);
	ck_assert_int_eq(s.s_result, 0);
	close_pipe(p);
}
END_TEST

START_TEST(getmsg_for_high_priority_sleeps_past_a_normal_message)
{
	struct strbuf c = {10, 0, cbuf}, d = {10, 0, dbuf};
	struct later l;
	struct sender s;
	int p[2], flags = RS_HIPRI;

	make_blocking_pipe(p);
	GIVES(put_msg(p[0], NULL, "normal", 0), 0);
	s = (struct sender){p[0], "hi", NULL, HIPRI, -1};
	later(&l, 40, send_it, &s);
	GIVES(getmsg(p[1], &c, &d, &flags), 0);
	PART(c, "hi");
	later_join(&l);
	TAKES(p[1], NULL, "normal", 0);
	close_pipe(p);
}
END_TEST

START_TEST(getpmsg_for_a_band_sleeps_past_lower_bands)
{
	struct strbuf c, d;
	struct later l;
	struct sender s;
	int p[2], band = 2, flags = MSG_BAND;

	make_blocking_pipe(p);
	GIVES(put_msg(p[0], NULL, "one", 1), 0);
	s = (struct sender){p[0], NULL, "two", 2, -1};
	later(&l, 40, send_it, &s);
	GIVES(get(p[1], 10, 10, &c, &d, &band, &flags), 0);
	PART(d, "two");
	later_join(&l);
	TAKES(p[1], NULL, "one", 1);
	close_pipe(p);
}
END_TEST

START_TEST(a_signal_ends_a_sleeping_getmsg_with_eintr)
{
	struct strbuf c, d;
	struct nag n;
	int p[2];

	make_blocking_pipe(p);
	catch_signal(SIGUSR1, 0);
	nag_start(&n);
	FAILS(get_any(p[1], 10, 10, &c, &d), EINTR);
	nag_stop(&n);
	close_pipe(p);
}
END_TEST

START_TEST(getmsg_ends_when_the_peer_closes)
{
	struct strbuf c, d;
	struct later l;
	struct act a;
	int p[2];

	make_blocking_pipe(p);
	a = (struct act){p[0], NULL, -1};
	later(&l, 40, act, &a);
	GIVES(get_any(p[1], 10, 10, &c, &d), 0);
	ck_assert_int_eq(c.len, 0);
	ck_assert_int_eq(d.len, 0);
	later_join(&l);
	GIVES(str_close(p[1]), 0);
}
END_TEST

/* ---- putmsg and putpmsg ------------------------------------------------- */

/* "putmsg flags 0 or RS_HIPRI; RS_HIPRI without a control part → EINVAL" */
START_TEST(putmsg_refuses_wrong_flags)
{
	struct strbuf c = {0, 3, (char[3]){"ctl"}};
	struct strbuf none = {0, -1, cbuf};
	int p[2];

	make_pipe(p);
	FAILS(putmsg(p[0], &c, NULL, 2), EINVAL);
	FAILS(putmsg(p[0], &c, NULL, 3), EINVAL);
	FAILS(putmsg(p[0], &c, NULL, -1), EINVAL);
	FAILS(putmsg(p[0], &c, NULL, INT_MIN), EINVAL);
	FAILS(putmsg(p[0], NULL, &c, RS_HIPRI), EINVAL);
	FAILS(putmsg(p[0], &none, &c, RS_HIPRI), EINVAL);
	FAILS(putmsg(p[0], NULL, NULL, RS_HIPRI), EINVAL);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

/* "putpmsg: MSG_HIPRI needs band 0 and a control part; MSG_BAND 0..255;
   anything else EINVAL" */
START_TEST(putpmsg_refuses_wrong_flags_and_bands)
{
	static const struct {
		int flags, band;
	} bad[] = {
	    {0, 0},
	    {MSG_ANY, 0},
	    {MSG_HIPRI | MSG_BAND, 0},
	    {8, 0},
	    {-1, 0},
	    {MSG_HIPRI, 1},
	    {MSG_HIPRI, -1},
	    {MSG_BAND, -1},
	    {MSG_BAND, 256},
	    {MSG_BAND, INT_MIN},
	    {MSG_BAND, INT_MAX},
	};
	struct strbuf c = {0, 3, (char[3]){"ctl"}};
	int p[2];

	make_pipe(p);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int r;

		errno = 0;
		r = putpmsg(p[0], &c, NULL, bad[i].band, bad[i].flags);
		ck_assert_msg(r == -1 && errno == EINVAL, "flags %#x band %d: %d (%s)",
		    (unsigned)bad[i].flags, bad[i].band, r, ename(errno));
	}
	FAILS(putpmsg(p[0], NULL, &c, 0, MSG_HIPRI), EINVAL);
	ck_assert_int_eq(waiting(p[1]), 0);
	GIVES(putpmsg(p[0], &c, NULL, 255, MSG_BAND), 0);
	TAKES(p[1], "ctl", NULL, 255);
	close_pipe(p);
}
END_TEST

/* "len -1 or NULL = absent; neither part → 0, no message" */
START_TEST(putmsg_without_parts_sends_nothing)
{
	struct strbuf none = {0, -1, cbuf};
	int p[2];

	make_pipe(p);
	GIVES(putmsg(p[0], NULL, NULL, 0), 0);
	GIVES(putmsg(p[0], &none, NULL, 0), 0);
	GIVES(putmsg(p[0], NULL, &none, 0), 0);
	GIVES(putmsg(p[0], &none, &none, 0), 0);
	GIVES(putpmsg(p[0], &none, &none, 3, MSG_BAND), 0);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_part_of_length_minus_1_is_absent)
{
	struct strbuf none = {0, -1, cbuf}, x = {0, 1, (char[1]){'x'}};
	int p[2];

	make_pipe(p);
	GIVES(putmsg(p[0], &none, &x, 0), 0);
	GIVES(putmsg(p[0], &x, &none, 0), 0);
	TAKES(p[1], NULL, "x", 0);
	TAKES(p[1], "x", NULL, 0);
	close_pipe(p);
}
END_TEST

/* "ctl > strctlsz, or data outside the packet limits → ERANGE" */
START_TEST(parts_over_the_limits_are_erange)
{
	struct strbuf c = {0, 4097, cbuf}, d = {0, 262145, dbuf};
	struct strbuf x = {0, 1, dbuf};
	int p[2];

	make_pipe(p);
	FAILS(putmsg(p[0], &c, NULL, 0), ERANGE);
	FAILS(putmsg(p[0], &c, &x, 0), ERANGE);
	FAILS(putmsg(p[0], &c, NULL, RS_HIPRI), ERANGE);
	FAILS(putmsg(p[0], NULL, &d, 0), ERANGE);
	FAILS(putmsg(p[0], &x, &d, 0), ERANGE);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

START_TEST(parts_of_the_largest_size_are_sent)
{
	struct strbuf c = {0, 4096, cbuf}, d = {0, 262144, dbuf};
	int p[2], flags = 0;

	make_pipe(p);
	memset(cbuf, 'c', sizeof(cbuf));
	memset(dbuf, 'd', sizeof(dbuf));
	GIVES(putmsg(p[0], &c, &d, 0), 0);
	ck_assert_int_eq(first_bytes(p[1]), 262144);
	memset(cbuf, 0, sizeof(cbuf));
	memset(dbuf, 0, sizeof(dbuf));
	c.maxlen = sizeof(cbuf);
	d.maxlen = sizeof(dbuf);
	GIVES(getmsg(p[1], &c, &d, &flags), 0);
	ck_assert_int_eq(c.len, 4096);
	ck_assert_int_eq(d.len, 262144);
	ck_assert_int_eq(dbuf[0], 'd');
	ck_assert(memcmp(dbuf, dbuf + 1, 262143) == 0);
	ck_assert_int_eq(cbuf[0], 'c');
	ck_assert(memcmp(cbuf, cbuf + 1, 4095) == 0);
	close_pipe(p);
}
END_TEST

START_TEST(data_outside_a_modules_packet_limits_is_erange)
{
	struct strbuf c = {0, 1, cbuf}, d = {0, 9, dbuf};
	int p[2];

	test_modules();
	make_pipe(p);
	GIVES(str_ioctl(p[0], I_PUSH, "tlim"), 0);
	FAILS(putmsg(p[0], NULL, &d, 0), ERANGE);
	FAILS(putmsg(p[0], &c, &d, 0), ERANGE);
	d.len = 101;
	FAILS(putmsg(p[0], NULL, &d, 0), ERANGE);
	FAILS(putmsg(p[0], &c, &d, 0), ERANGE);
	ck_assert_int_eq(waiting(p[1]), 0);
	d.len = 100;
	GIVES(putmsg(p[0], &c, &d, 0), 0);
	ck_assert_int_eq(waiting(p[1]), 1);
	close_pipe(p);
}
END_TEST

/* "Zero-length data alone on a pipe/FIFO without SNDZERO → 0, no message." */
START_TEST(zero_length_data_alone_needs_sndzero_on_a_pipe)
{
	struct strbuf empty = {0, 0, dbuf};
	int p[2];

	make_pipe(p);
	GIVES(putmsg(p[0], NULL, &empty, 0), 0);
	GIVES(putpmsg(p[0], NULL, &empty, 4, MSG_BAND), 0);
	ck_assert_int_eq(waiting(p[1]), 0);
	GIVES(str_ioctl(p[0], I_SWROPT, SNDZERO), 0);
	GIVES(putpmsg(p[0], NULL, &empty, 4, MSG_BAND), 0);
	TAKES(p[1], NULL, "", 4);
	close_pipe(p);
}
END_TEST

START_TEST(zero_length_data_alone_is_a_message_on_a_device)
{
	int fd = open_dev("echo");

	GIVES(put_msg(fd, NULL, "", 0), 0);
	TAKES(fd, NULL, "", 0);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(putmsg_with_bad_pointers_is_efault_and_sends_nothing)
{
	struct strbuf c = {0, 3, (char[3]){"ctl"}};
	struct strbuf null = {0, 5, NULL}, worse = {0, 5, (char *)-1};
	struct strbuf wraps = {0, 100, (char *)(UINTPTR_MAX - 9)};
	int p[2];

	make_pipe(p);
	FAILS(putmsg(p[0], (struct strbuf *)-1, NULL, 0), EFAULT);
	FAILS(putmsg(p[0], NULL, (struct strbuf *)-1, 0), EFAULT);
	FAILS(putmsg(p[0], &c, &null, 0), EFAULT);
	FAILS(putmsg(p[0], &c, &worse, 0), EFAULT);
	FAILS(putmsg(p[0], &c, &wraps, 0), EFAULT);
	FAILS(putmsg(p[0], &null, &c, 0), EFAULT);
	FAILS(putmsg(p[0], &worse, NULL, RS_HIPRI), EFAULT);
	ck_assert_int_eq(waiting(p[1]), 0);
	close_pipe(p);
}
END_TEST

/* ---- flow control of messages ------------------------------------------- */

/* "High priority ignores flow control" */
START_TEST(high_priority_passes_a_full_stream)
{
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	FAILS(put_msg(p[0], "ctl", NULL, 0), EAGAIN);
	FAILS(put_msg(p[0], NULL, "data", 0), EAGAIN);
	GIVES(put_msg(p[0], "hi", "data", HIPRI), 0);
	TAKES(p[1], "hi", "data", HIPRI);
	close_pipe(p);
}
END_TEST

/* "others per band" */
START_TEST(each_band_has_flow_control_of_its_own)
{
	int p[2], n = 0;

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	FAILS(put_msg(p[0], NULL, "x", 0), EAGAIN);
	GIVES(put_msg(p[0], NULL, "x", 2), 0);
	GIVES(str_ioctl(p[0], I_CANPUT, 1), 1);
	GIVES(str_ioctl(p[0], I_CANPUT, 0), 0);
	/* A band's marks are the queue's when it comes into being. */
	while (put_msg(p[0], NULL, "x", 2) == 0)
		ck_assert_int_lt(++n, 1000000);
	ck_assert_int_eq(errno, EAGAIN);
	GIVES(str_ioctl(p[0], I_CANPUT, 2), 0);
	GIVES(put_msg(p[0], NULL, "y", 1), 0);
	GIVES(put_msg(p[0], NULL, "z", 3), 0);
	TAKES(p[1], NULL, "z", 3);
	for (int i = 0; i <= n; i++)
		TAKES(p[1], NULL, "x", 2);
	TAKES(p[1], NULL, "y", 1);
	GIVES(put_msg(p[0], NULL, "x", 2), 0);
	FAILS(put_msg(p[0], NULL, "x", 0), EAGAIN);
	close_pipe(p);
}
END_TEST

static void
take_all(void *arg)
{
	struct act *a = arg;

	a->a_result = drain(a->a_fd);
}

START_TEST(a_blocking_putmsg_sleeps_until_there_is_room)
{
	struct later l;
	struct act a;
	long start = now_ms();
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	nonblock(p[0], false);
	a = (struct act){p[1], NULL, 0};
	later(&l, 40, take_all, &a);
	GIVES(put_msg(p[0], "ctl", "data", 0), 0);
	ck_assert_int_ge(now_ms() - start, 35);
	later_join(&l);
	ck_assert_int_eq(a.a_result, 10);
	TAKES(p[1], "ctl", "data", 0);
	close_pipe(p);
}
END_TEST

START_TEST(a_blocking_putpmsg_sleeps_for_its_band)
{
	struct later l;
	struct act a;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	while (put_msg(p[0], NULL, "x", 1) == 0)
		;
	ck_assert_int_eq(errno, EAGAIN);
	nonblock(p[0], false);
	a = (struct act){p[1], NULL, 0};
	later(&l, 40, take_all, &a);
	GIVES(put_msg(p[0], NULL, "woken", 1), 0);
	later_join(&l);
	ck_assert_int_ge(a.a_result, 10);
	close_pipe(p);
}
END_TEST

START_TEST(a_signal_ends_a_sleeping_putmsg_with_eintr)
{
	struct nag n;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	nonblock(p[0], false);
	catch_signal(SIGUSR1, 0);
	nag_start(&n);
	FAILS(put_msg(p[0], "ctl", "data", 0), EINTR);
	nag_stop(&n);
	ck_assert_int_eq(waiting(p[1]), 10);
	close_pipe(p);
}
END_TEST

/* "signals and SA_RESTART behave as for read(2)" */
START_TEST(sa_restart_takes_up_a_sleeping_putmsg_again)
{
	struct later l;
	struct act a;
	struct nag n;
	int p[2];

	make_pipe(p);
	set_marks(p[1], 10, 1);
	fill(p[0]);
	nonblock(p[0], false);
	a = (struct act){p[1], NULL, 0};
	catch_signal(SIGUSR1, SA_RESTART);
	nag_start(&n);
	later(&l, 60, take_all, &a);
	GIVES(put_msg(p[0], "ctl", "data", 0), 0);
	nag_stop(&n);
	later_join(&l);
	ck_assert_int_ge(caught, 1);
	TAKES(p[1], "ctl", "data", 0);
	close_pipe(p);
}
END_TEST

START_TEST(sa_restart_takes_up_a_sleeping_getmsg_again)
{
	struct later l;
	struct sender s;
	struct nag n;
	int p[2];

	make_blocking_pipe(p);
	s = (struct sender){p[0], "ctl", "data", 3, -1};
	catch_signal(SIGUSR1, SA_RESTART);
	nag_start(&n);
	later(&l, 60, send_it, &s);
	TAKES(p[1], "ctl", "data", 3);
	nag_stop(&n);
	later_join(&l);
	ck_assert_int_ge(caught, 1);
	close_pipe(p);
}
END_TEST

/* "One unread M_PCPROTO at a head: a second is freed." */
START_TEST(a_second_high_priority_message_is_freed)
{
	struct strbuf c, d;
	int p[2];

	make_pipe(p);
	GIVES(put_msg(p[0], "first", NULL, HIPRI), 0);
	GIVES(put_msg(p[0], "second", NULL, HIPRI), 0);
	ck_assert_int_eq(waiting(p[1]), 1);
	TAKES(p[1], "first", NULL, HIPRI);
	FAILS(get_any(p[1], 10, 10, &c, &d), EAGAIN);
	GIVES(put_msg(p[0], "third", NULL, HIPRI), 0);
	TAKES(p[1], "third", NULL, HIPRI);
	close_pipe(p);
}
END_TEST

START_TEST(putmsg_to_a_pipe_without_reader_is_epipe_and_sigpipe)
{
	int p[2];

	make_pipe(p);
	GIVES(str_close(p[1]), 0);
	catch_signal(SIGPIPE, 0);
	FAILS(put_msg(p[0], "ctl", "data", 0), EPIPE);
	ck_assert_int_eq(caught, 1);
	FAILS(put_msg(p[0], "ctl", NULL, HIPRI), EPIPE);
	ck_assert_int_eq(caught, 2);
	FAILS(putmsg(p[0], NULL, &(struct strbuf){0, 1, dbuf}, 0), EPIPE);
	ck_assert_int_eq(caught, 3);
	GIVES(str_close(p[0]), 0);
}
END_TEST

/* ---- a naive model ------------------------------------------------------ */

enum { NMSG = 30, MAXPART = 9 };

struct text {
	bool t_here; /* the part exists */
	int t_len;
	char t_buf[MAXPART];
};

struct msg {
	int m_pri;     /* HIPRI or band */
	bool m_was_hi; /* came as high priority */
	struct text m_ctl, m_data;
};

static struct msg model[NMSG];
static int nmodel;
static unsigned int rnd_state;
static char next_byte;

static int
rnd(int n)
{
	rnd_state = rnd_state * 1103515245u + 12345u;
	return (int)((rnd_state >> 16) % (unsigned)n);
}

static int
rank(const struct msg *m)
{
	return m->m_pri == HIPRI ? 256 : m->m_pri;
}

static void
random_text(struct text *t, bool here)
{
	t->t_here = here;
	t->t_len = here ? rnd(MAXPART) : 0;
	for (int i = 0; i < t->t_len; i++)
		t->t_buf[i] = next_byte++;
}

/* Send a random message, unless a rest of a high-priority one is first. */
static void
random_put(int fd)
{
	struct msg m = {.m_pri = rnd(6) == 0 ? HIPRI : rnd(3) ? 0 : rnd(5)};
	struct strbuf c = {.buf = m.m_ctl.t_buf}, d = {.buf = m.m_data.t_buf};
	int i = nmodel;

	if (nmodel == NMSG || (nmodel > 0 && model[0].m_was_hi))
		return;
	m.m_was_hi = m.m_pri == HIPRI;
	random_text(&m.m_ctl, m.m_was_hi || rnd(2) == 0);
	random_text(&m.m_data, !m.m_ctl.t_here || rnd(2) == 0);
	c.len = m.m_ctl.t_here ? m.m_ctl.t_len : -1;
	d.len = m.m_data.t_here ? m.m_data.t_len : -1;
	GIVES(putpmsg(fd, &c, &d, m.m_was_hi ? 0 : m.m_pri,
		  m.m_was_hi ? MSG_HIPRI : MSG_BAND),
	    0);
	for (; i > 0 && rank(&model[i - 1]) < rank(&m); i--)
		model[i] = model[i - 1];
	model[i] = m;
	nmodel++;
}

/* Take up to max bytes of a part: what its len becomes; is something left? */
static int
model_take(struct text *t, int max, char *out, bool *left)
{
	int n;

	*left = t->t_here;
	if (!t->t_here || max < 0)
		return -1;
	n = max < t->t_len ? max : t->t_len;
	memcpy(out, t->t_buf, (size_t)n);
	t->t_len -= n;
	memmove(t->t_buf, t->t_buf + n, (size_t)t->t_len);
	if (t->t_len == 0)
		t->t_here = *left = false;
	return n;
}

struct result {
	int r_value; /* of the call, or minus an errno */
	int r_clen, r_dlen, r_band, r_flags;
	char r_ctl[MAXPART], r_data[MAXPART];
};

static void
model_get(int cmax, int dmax, int band, int flags, struct result *r)
{
	struct msg *m = &model[0];
	bool cleft, dleft;

	r->r_value = -EAGAIN;
	if (nmodel == 0 || (flags == MSG_HIPRI && m->m_pri != HIPRI) ||
	    (flags == MSG_BAND && rank(m) < band))
		return;
	r->r_flags = m->m_pri == HIPRI ? MSG_HIPRI : MSG_BAND;
	r->r_band = m->m_pri == HIPRI ? 0 : m->m_pri;
	r->r_clen = model_take(&m->m_ctl, cmax, r->r_ctl, &cleft);
	r->r_dlen = model_take(&m->m_data, dmax, r->r_data, &dleft);
	r->r_value = (cleft ? MORECTL : 0) | (dleft ? MOREDATA : 0);
	if (m->m_pri == HIPRI && !cleft)
		m->m_pri = 0;
	if (!cleft && !dleft)
		memmove(&model[0], &model[1], (size_t)--nmodel * sizeof(model[0]));
}

static void
random_get(int fd, int step)
{
	static const int classes[] = {MSG_ANY, MSG_ANY, MSG_ANY, MSG_BAND, MSG_HIPRI};
	int cmax = rnd(MAXPART + 2) - 1, dmax = rnd(MAXPART + 2) - 1;
	int flags = classes[rnd(5)], band = flags == MSG_BAND ? rnd(5) : 0, r;
	struct result want;
	struct strbuf c, d;

	model_get(cmax, dmax, band, flags, &want);
	r = get(fd, cmax, dmax, &c, &d, &band, &flags);
	if (r == -1)
		r = -errno;
	ck_assert_msg(r == want.r_value,
	    "step %d: getpmsg(%d, %d) gives %d, "
	    "not %d",
	    step, cmax, dmax, r, want.r_value);
	ck_assert_msg(waiting(fd) == nmodel, "step %d: %d messages, not %d", step,
	    waiting(fd), nmodel);
	if (r < 0)
		return;
	ck_assert_msg(c.len == want.r_clen && d.len == want.r_dlen,
	    "step %d: lengths %d and %d, not %d and %d", step, c.len, d.len, want.r_clen,
	    want.r_dlen);
	ck_assert_msg(flags == want.r_flags && band == want.r_band,
	    "step %d: flags %#x band %d, not %#x and %d", step, (unsigned)flags, band,
	    (unsigned)want.r_flags, want.r_band);
	if (c.len > 0)
		ck_assert(memcmp(c.buf, want.r_ctl, (size_t)c.len) == 0);
	if (d.len > 0)
		ck_assert(memcmp(d.buf, want.r_data, (size_t)d.len) == 0);
}

START_TEST(random_messages_are_taken_as_the_model_says)
{
	int p[2];

	rnd_state = 815u + (unsigned)_i;
	nmodel = 0;
	make_pipe(p);
	if (_i % 2)
		GIVES(str_ioctl(p[0], I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(p[0], I_SWROPT, SNDZERO), 0);
	for (int step = 0; step < 5000; step++)
		if (rnd(5) < 2)
			random_put(p[0]);
		else
			random_get(p[1], step);
	close_pipe(p);
}
END_TEST

static void
taking(Suite *s)
{
	TCase *tc = group(s, "getmsg", 120);

	tcase_add_test(tc, getmsg_refuses_unknown_flags);
	tcase_add_test(tc, getpmsg_refuses_wrong_flags_and_bands);
	tcase_add_test(tc, bad_pointers_are_efault_and_lose_nothing);
	if (checked_mode())
		tcase_add_test(tc, any_bad_pointer_is_efault_in_checked_mode);
	tcase_add_test(tc, messages_come_by_priority);
	tcase_add_test(tc, an_empty_stream_is_eagain_with_o_nonblock);
	tcase_add_test(tc, rs_hipri_takes_high_priority_only);
	tcase_add_test(tc, getmsg_with_flags_0_takes_anything_and_says_what);
	tcase_add_test(tc, msg_hipri_takes_high_priority_only);
	tcase_add_test(tc, msg_band_takes_that_band_or_a_higher_one);
	tcase_add_test(tc, an_absent_part_has_length_minus_1);
	tcase_add_test(tc, a_part_with_maxlen_minus_1_is_left);
	tcase_add_test(tc, a_part_with_a_null_strbuf_is_left);
	tcase_add_test(tc, a_part_with_maxlen_0_is_taken_only_when_empty);
	tcase_add_test(tc, zero_length_parts_are_present);
	tcase_add_test(tc, a_long_control_part_comes_in_pieces);
	tcase_add_test(tc, a_long_data_part_comes_in_pieces);
	tcase_add_test(tc, both_parts_come_in_pieces);
	tcase_add_test(tc, a_partly_taken_high_priority_message_stays_high);
	tcase_add_test(tc, the_data_left_of_a_high_priority_message_is_ordinary);
	tcase_add_test(tc, a_part_may_be_a_chain_of_blocks);
	tcase_add_test(tc, after_a_hangup_and_the_data_both_parts_have_length_0);
	tcase_add_test(tc, getmsg_sleeps_until_a_message_comes);
	tcase_add_test(tc, getmsg_for_high_priority_sleeps_past_a_normal_message);
	tcase_add_test(tc, getpmsg_for_a_band_sleeps_past_lower_bands);
	tcase_add_test(tc, a_signal_ends_a_sleeping_getmsg_with_eintr);
	tcase_add_test(tc, getmsg_ends_when_the_peer_closes);
	tcase_add_loop_test(tc, random_messages_are_taken_as_the_model_says, 0, 6);
}

static void
sending(Suite *s)
{
	TCase *tc = group(s, "putmsg", 120);

	tcase_add_test(tc, putmsg_refuses_wrong_flags);
	tcase_add_test(tc, putpmsg_refuses_wrong_flags_and_bands);
	tcase_add_test(tc, putmsg_without_parts_sends_nothing);
	tcase_add_test(tc, a_part_of_length_minus_1_is_absent);
	tcase_add_test(tc, parts_over_the_limits_are_erange);
	tcase_add_test(tc, parts_of_the_largest_size_are_sent);
	tcase_add_test(tc, data_outside_a_modules_packet_limits_is_erange);
	tcase_add_test(tc, zero_length_data_alone_needs_sndzero_on_a_pipe);
	tcase_add_test(tc, zero_length_data_alone_is_a_message_on_a_device);
	tcase_add_test(tc, putmsg_with_bad_pointers_is_efault_and_sends_nothing);
	tcase_add_test(tc, high_priority_passes_a_full_stream);
	tcase_add_test(tc, each_band_has_flow_control_of_its_own);
	tcase_add_test(tc, a_blocking_putmsg_sleeps_until_there_is_room);
	tcase_add_test(tc, a_blocking_putpmsg_sleeps_for_its_band);
	tcase_add_test(tc, a_signal_ends_a_sleeping_putmsg_with_eintr);
	tcase_add_test(tc, sa_restart_takes_up_a_sleeping_putmsg_again);
	tcase_add_test(tc, sa_restart_takes_up_a_sleeping_getmsg_again);
	tcase_add_test(tc, a_second_high_priority_message_is_freed);
	tcase_add_test(tc, putmsg_to_a_pipe_without_reader_is_epipe_and_sigpipe);
}

int
main(void)
{
	Suite *s = suite_create("getmsg");

	taking(s);
	sending(s);
	return run_suite(s);
}
