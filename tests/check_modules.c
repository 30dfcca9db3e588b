/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_modules.c: the modules srvmod and bufmod.  testmod, below or above
 * them, makes the messages.
 */
#include "headlib.h"

#include <stdint.h>
#include <sys/bufmod.h>
#include <sys/ddi.h>
#include <sys/testmod.h>

static int fd; /* echo, testmod, and the module */

static char back[65536]; /* the data of the last answer */
static int nback;

/* I_STR of a command with n bytes of data; the answer's are then in back. */
static int
tell(int cmd, const void *data, int n)
{
	struct strioctl ic = {cmd, 5, n, back};
	int r;

	if (n > 0)
		memcpy(back, data, (size_t)n);
	r = str_ioctl(fd, I_STR, &ic);
	nback = ic.ic_len;
	return r;
}

static int
tell_int(int cmd, int value)
{
	return tell(cmd, &value, sizeof(value));
}

/* What a command gives back. */
static int
told_int(int cmd)
{
	int value = -1;

	GIVES(tell(cmd, NULL, 0), 0);
	ck_assert_int_eq(nback, (int)sizeof(value));
	memcpy(&value, back, sizeof(value));
	return value;
}

static void
setup_srv(void)
{
	fd = open_dev("echo");
	GIVES(str_ioctl(fd, I_PUSH, "testmod"), 0);
	GIVES(str_ioctl(fd, I_PUSH, "srvmod"), 0);
}

static void
setup_buf(void)
{
	fd = open_dev("echo");
	GIVES(str_ioctl(fd, I_PUSH, "testmod"), 0);
	GIVES(str_ioctl(fd, I_PUSH, "bufmod"), 0);
	read_mode(fd, RMSGD);
}

static void
teardown(void)
{
	str_close(fd);
}

/* ---- srvmod -------------------------------------------------------------- */

START_TEST(srvmod_passes_everything_on_in_order)
{
	GIVES(put_msg(fd, NULL, "one", 0), 0);
	GIVES(put_msg(fd, "two", "2", 0), 0);
	GIVES(put_msg(fd, NULL, "band", 3), 0);
	TAKES(fd, NULL, "band", 3);
	TAKES(fd, NULL, "one", 0);
	TAKES(fd, "two", "2", 0);
}
END_TEST

/* Write blocks of 1024 bytes until EAGAIN: how many went. */
static int
fill_blocks(void)
{
	int n = 0;

	while (str_write(fd, back, 1024) == 1024)
		n++;
	ck_assert_int_eq(errno, EAGAIN);
	return n;
}

START_TEST(srvmod_holds_messages_while_the_next_queue_is_full)
{
	GIVES(tell_int(TM_STOP, TM_STOPW), TM_STOPW);
	/* testmod's 1024 and srvmod's own 65536 */
	ck_assert_int_eq(fill_blocks(), 1 + 64);
	/* An ioctl stands in the queue as well: only high priority gets by. */
	GIVES(put_msg(fd, "x", NULL, HIPRI), 0);
	TAKES(fd, "x", NULL, HIPRI);
	GIVES(str_ioctl(fd, I_FLUSH, FLUSHW), 0);
	GIVES(polled(fd, POLLOUT), POLLOUT);
	GIVES(tell_int(TM_GO, TM_STOPW), 0);
	ck_assert_int_eq((int)drain(fd), 0);
}
END_TEST

START_TEST(srvmod_lets_a_band_overtake)
{
	char c = 'n';
	int n;

	GIVES(tell_int(TM_STOP, TM_STOPR), TM_STOPR);
	for (n = 0; n < 100; n++)
		GIVES(str_write(fd, &c, 1), 1);
	GIVES(put_msg(fd, NULL, "b", 1), 0);
	GIVES(tell_int(TM_GO, TM_STOPR), 0);
	TAKES(fd, NULL, "b", 1);
	ck_assert_int_eq((int)drain(fd), 100);
}
END_TEST

START_TEST(srvmod_flushes_one_band_and_leaves_the_others)
{
	struct bandinfo bi = {.bi_pri = 1, .bi_flag = FLUSHW};

	GIVES(tell_int(TM_STOP, TM_STOPW), TM_STOPW);
	fill_blocks();
	GIVES(put_msg(fd, NULL, "band 1", 1), 0);
	GIVES(put_msg(fd, NULL, "band 2", 2), 0);
	GIVES(str_ioctl(fd, I_FLUSHBAND, &bi), 0);
	/* testmod is told to go on by a message it does not queue */
	GIVES(str_ioctl(fd, I_POP, 0), 0);
	GIVES(tell_int(TM_GO, TM_STOPW), 0);
	TAKES(fd, NULL, "band 2", 2);
}
END_TEST

/* ---- bufmod ---------------------------------------------------------------- */

/* The header at *at, which then stands behind its message; the message's bytes. */
static const char *
next_msg(const char **at, struct sb_hdr *h)
{
	const char *data = *at + sizeof(*h);

	memcpy(h, *at, sizeof(*h));
	ck_assert_uint_ge(h->sbh_totlen, sizeof(*h) + h->sbh_msglen);
	ck_assert_uint_eq(h->sbh_totlen % sizeof(long), 0);
	*at += h->sbh_totlen;
	return data;
}

/* The chunk at the head holds these messages, each behind a header. */
static void
chunk_is(const char *const *texts, int n)
{
	char buf[16384];
	const char *at = buf;
	ssize_t got = str_read(fd, buf, sizeof(buf));
	struct sb_hdr h;

	ck_assert_msg(got > 0, "no chunk: %s", ename(errno));
	for (int i = 0; i < n; i++) {
		const char *data = next_msg(&at, &h);

		ck_assert_uint_eq(h.sbh_msglen, strlen(texts[i]));
		ck_assert_uint_eq(h.sbh_origlen, strlen(texts[i]));
		ck_assert_int_eq(memcmp(data, texts[i], h.sbh_msglen), 0);
	}
	ck_assert_int_eq(at - buf, got);
}

#define CHUNK_IS(...)                                                                \
	chunk_is((const char *const[]){__VA_ARGS__},                                 \
	    (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))

static void
set_flags(int flags)
{
	GIVES(tell_int(SBIOCSFLAGS, flags), 0);
}

static void
set_time(long usec)
{
	struct timeval tv = {usec / 1000000, usec % 1000000};

	GIVES(tell(SBIOCSTIME, &tv, sizeof(tv)), 0);
}

static void
wait_readable(void)
{
	struct pollfd p = {fd, POLLIN, 0};

	GIVES(str_poll(&p, 1, SOON), 1);
}

START_TEST(its_parameters_have_their_defaults)
{
	ck_assert_int_eq(told_int(SBIOCGCHUNK), 8192);
	ck_assert_int_eq(told_int(SBIOCGSNAP), 0);
	ck_assert_int_eq(told_int(SBIOCGFLAGS), 0);
	FAILS(tell(SBIOCGTIME, NULL, 0), ERANGE);
}
END_TEST

START_TEST(its_parameters_are_kept)
{
	struct timeval tv;

	GIVES(tell_int(SBIOCSCHUNK, 100), 0);
	GIVES(tell_int(SBIOCSSNAP, 10), 0);
	GIVES(tell_int(SBIOCSFLAGS, SB_NO_HEADER | SB_NO_DROPS), 0);
	set_time(3500000);
	ck_assert_int_eq(told_int(SBIOCGCHUNK), 100);
	ck_assert_int_eq(told_int(SBIOCGSNAP), 10);
	ck_assert_int_eq(told_int(SBIOCGFLAGS), SB_NO_HEADER | SB_NO_DROPS);
	GIVES(tell(SBIOCGTIME, NULL, 0), 0);
	memcpy(&tv, back, sizeof(tv));
	ck_assert_int_eq(tv.tv_sec, 3);
	ck_assert_int_eq(tv.tv_usec, 500000);
	GIVES(tell(SBIOCCTIME, NULL, 0), 0);
	FAILS(tell(SBIOCGTIME, NULL, 0), ERANGE);
}
END_TEST

START_TEST(bad_parameters_are_einval)
{
	struct timeval bad[] = {{-1, 0}, {0, -1}, {0, 1000000}, {INT64_MAX / 2, 0}};

	for (int i = 0; i < 4; i++)
		FAILS(tell(SBIOCSTIME, &bad[i], sizeof(bad[i])), EINVAL);
	FAILS(tell(SBIOCSTIME, bad, 4), EINVAL);
	FAILS(tell_int(SBIOCSFLAGS, 0x20), EINVAL);
	FAILS(tell_int(SBIOCSCHUNK, -1), EINVAL);
	FAILS(tell(SBIOCSSNAP, "", 1), EINVAL);
	FAILS(tell(SBIOC | 10, NULL, 0), EINVAL);
	FAILS(str_ioctl(fd, SBIOCSCHUNK, back), EINVAL); /* transparent */
}
END_TEST

START_TEST(messages_wait_until_the_chunk_is_full)
{
	GIVES(tell_int(SBIOCSCHUNK, 100), 0);
	GIVES(str_write(fd, "first", 5), 5);
	GIVES(str_write(fd, "second", 6), 6);
	GIVES(polled(fd, POLLIN), 0);
	GIVES(str_write(fd, "third", 5), 5); /* 3 * 40 > 100 */
	CHUNK_IS("first", "second");
	GIVES(polled(fd, POLLIN), 0);
}
END_TEST

START_TEST(a_chunk_that_is_exactly_full_goes_up_at_once)
{
	GIVES(tell_int(SBIOCSCHUNK, 80), 0);
	GIVES(str_write(fd, "a", 1), 1);
	GIVES(str_write(fd, "b", 1), 1);
	CHUNK_IS("a", "b");
}
END_TEST

START_TEST(a_message_larger_than_a_chunk_goes_up_whole)
{
	char big[1000];

	memset(big, 'b', sizeof(big));
	big[999] = '\0';
	GIVES(tell_int(SBIOCSCHUNK, 100), 0);
	GIVES(str_write(fd, "small", 5), 5);
	GIVES(str_write(fd, big, 999), 999);
	CHUNK_IS("small");
	CHUNK_IS(big);
}
END_TEST

START_TEST(a_chunk_goes_up_when_its_time_is_over)
{
	long from = now_ms();

	set_time(50000);
	GIVES(str_write(fd, "first", 5), 5);
	GIVES(str_write(fd, "second", 6), 6);
	GIVES(polled(fd, POLLIN), 0);
	wait_readable();
	ck_assert_int_ge(now_ms() - from, 49);
	CHUNK_IS("first", "second");
}
END_TEST

START_TEST(a_time_of_zero_sends_every_message_at_once)
{
	set_time(0);
	ck_assert_int_eq(told_int(SBIOCGCHUNK), 0);
	GIVES(str_write(fd, "first", 5), 5);
	GIVES(str_write(fd, "second", 6), 6);
	CHUNK_IS("first");
	CHUNK_IS("second");
}
END_TEST

START_TEST(deferred_the_first_message_goes_up_at_once)
{
	set_flags(SB_DEFER_CHUNK);
	set_time(60000);
	GIVES(str_write(fd, "first", 5), 5);
	CHUNK_IS("first");
	GIVES(str_write(fd, "second", 6), 6);
	GIVES(str_write(fd, "third", 5), 5);
	GIVES(polled(fd, POLLIN), 0);
	wait_readable();
	CHUNK_IS("second", "third");
}
END_TEST

START_TEST(a_snapshot_keeps_the_beginning_of_each_message)
{
	char buf[256];
	const char *at = buf, *data;
	struct sb_hdr h;

	GIVES(tell_int(SBIOCSSNAP, 4), 0);
	GIVES(tell_int(SBIOCSCHUNK, 0), 0);
	GIVES(str_write(fd, "123456", 6), 6);
	GIVES(str_read(fd, buf, sizeof(buf)), (long)sizeof(h) + 8);
	data = next_msg(&at, &h);
	ck_assert_uint_eq(h.sbh_origlen, 6);
	ck_assert_uint_eq(h.sbh_msglen, 4);
	ck_assert_int_eq(memcmp(data, "1234\0\0\0\0", 8), 0);
}
END_TEST

START_TEST(the_header_says_when_the_message_came)
{
	char buf[256];
	const char *at = buf;
	struct timeval now;
	struct sb_hdr h;

	GIVES(tell_int(SBIOCSCHUNK, 0), 0);
	GIVES(str_write(fd, "x", 1), 1);
	gettimeofday(&now, NULL);
	ck_assert_int_gt(str_read(fd, buf, sizeof(buf)), 0);
	next_msg(&at, &h);
	ck_assert_int_le(h.sbh_timestamp.tv_sec, now.tv_sec);
	ck_assert_int_ge(h.sbh_timestamp.tv_sec, now.tv_sec - 60);
}
END_TEST

START_TEST(without_headers_chunks_are_plain_bytes)
{
	set_flags(SB_NO_HEADER);
	GIVES(tell_int(SBIOCSCHUNK, 6), 0);
	GIVES(str_write(fd, "abc", 3), 3);
	GIVES(str_write(fd, "def", 3), 3);
	READS(fd, 100, "abcdef");
}
END_TEST

START_TEST(a_protocol_message_is_gathered_unless_told_otherwise)
{
	GIVES(put_msg(fd, "ctl", "data", 0), 0);
	GIVES(tell_int(SBIOCSCHUNK, 100), 0); /* sends what there is */
	CHUNK_IS("ctldata");
	set_flags(SB_NO_PROTO_CVT);
	GIVES(str_write(fd, "before", 6), 6);
	GIVES(put_msg(fd, "ctl", "data", 0), 0);
	CHUNK_IS("before");
	TAKES(fd, "ctl", "data", 0);
}
END_TEST

START_TEST(high_priority_and_bands_send_the_chunk_and_pass)
{
	GIVES(str_write(fd, "first", 5), 5);
	GIVES(put_msg(fd, "hi", NULL, HIPRI), 0);
	TAKES(fd, "hi", NULL, HIPRI);
	CHUNK_IS("first");
	GIVES(str_write(fd, "second", 6), 6);
	GIVES(put_msg(fd, NULL, "band", 2), 0);
	TAKES(fd, NULL, "band", 2);
	CHUNK_IS("second");
}
END_TEST

START_TEST(a_write_sends_the_chunk_when_told_so)
{
	set_flags(SB_SEND_ON_WRITE);
	GIVES(str_write(fd, "first", 5), 5);
	GIVES(polled(fd, POLLIN), 0);
	GIVES(str_write(fd, "second", 6), 6);
	CHUNK_IS("first");
}
END_TEST

START_TEST(a_hangup_does_not_overtake_the_chunk)
{
	GIVES(str_write(fd, "first", 5), 5);
	GIVES(tell(TM_HANGUP, NULL, 0), 0);
	CHUNK_IS("first");
	GIVES(str_read(fd, back, 10), 0);
}
END_TEST

START_TEST(a_flush_of_the_read_side_empties_the_chunk)
{
	GIVES(str_write(fd, "first", 5), 5);
	GIVES(str_ioctl(fd, I_FLUSH, FLUSHR), 0);
	GIVES(tell_int(SBIOCSCHUNK, 0), 0);
	GIVES(polled(fd, POLLIN), 0);
	GIVES(str_write(fd, "second", 6), 6);
	CHUNK_IS("second");
}
END_TEST

START_TEST(a_pop_sends_the_chunk)
{
	GIVES(str_write(fd, "first", 5), 5);
	GIVES(str_ioctl(fd, I_POP, 0), 0);
	CHUNK_IS("first");
}
END_TEST

START_TEST(a_full_stream_drops_chunks_and_counts_them)
{
	char buf[256];
	const char *at = buf;
	struct sb_hdr h;

	set_marks(fd, 40, 10);
	GIVES(tell_int(SBIOCSCHUNK, 0), 0);
	for (int i = 0; i < 4; i++)
		GIVES(str_write(fd, "x", 1), 1); /* one fills it, three are dropped */
	CHUNK_IS("x");
	GIVES(polled(fd, POLLIN), 0);
	GIVES(str_write(fd, "y", 1), 1);
	ck_assert_int_gt(str_read(fd, buf, sizeof(buf)), 0);
	next_msg(&at, &h);
	ck_assert_uint_eq(h.sbh_drops, 3);
}
END_TEST

START_TEST(told_not_to_drop_it_holds_chunks_until_there_is_room)
{
	set_flags(SB_NO_DROPS);
	set_marks(fd, 40, 10);
	GIVES(tell_int(SBIOCSCHUNK, 0), 0);
	for (int i = 0; i < 4; i++)
		GIVES(str_write(fd, "x", 1), 1);
	for (int i = 0; i < 4; i++)
		CHUNK_IS("x");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("modules");
	TCase *tc = group(s, "srvmod", 120);

	tcase_add_checked_fixture(tc, setup_srv, teardown);
	tcase_add_test(tc, srvmod_passes_everything_on_in_order);
	tcase_add_test(tc, srvmod_holds_messages_while_the_next_queue_is_full);
	tcase_add_test(tc, srvmod_lets_a_band_overtake);
	tcase_add_test(tc, srvmod_flushes_one_band_and_leaves_the_others);
	tc = group(s, "bufmod", 120);
	tcase_add_checked_fixture(tc, setup_buf, teardown);
	tcase_add_test(tc, its_parameters_have_their_defaults);
	tcase_add_test(tc, its_parameters_are_kept);
	tcase_add_test(tc, bad_parameters_are_einval);
	tcase_add_test(tc, messages_wait_until_the_chunk_is_full);
	tcase_add_test(tc, a_chunk_that_is_exactly_full_goes_up_at_once);
	tcase_add_test(tc, a_message_larger_than_a_chunk_goes_up_whole);
	tcase_add_test(tc, a_chunk_goes_up_when_its_time_is_over);
	tcase_add_test(tc, a_time_of_zero_sends_every_message_at_once);
	tcase_add_test(tc, deferred_the_first_message_goes_up_at_once);
	tcase_add_test(tc, a_snapshot_keeps_the_beginning_of_each_message);
	tcase_add_test(tc, the_header_says_when_the_message_came);
	tcase_add_test(tc, without_headers_chunks_are_plain_bytes);
	tcase_add_test(tc, a_protocol_message_is_gathered_unless_told_otherwise);
	tcase_add_test(tc, high_priority_and_bands_send_the_chunk_and_pass);
	tcase_add_test(tc, a_write_sends_the_chunk_when_told_so);
	tcase_add_test(tc, a_hangup_does_not_overtake_the_chunk);
	tcase_add_test(tc, a_flush_of_the_read_side_empties_the_chunk);
	tcase_add_test(tc, a_pop_sends_the_chunk);
	tcase_add_test(tc, a_full_stream_drops_chunks_and_counts_them);
	tcase_add_test(tc, told_not_to_drop_it_holds_chunks_until_there_is_room);
	return run_suite(s);
}
