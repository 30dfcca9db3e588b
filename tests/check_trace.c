/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_trace.c: the flight recorder: what is recorded, in which order, what is
 * lost and that it is counted, and who switches it on and off.
 */
#include "headlib.h"

#include <stdio.h>
#include <sys/wait.h>

enum { RING = 256 };

/* ---- events as text ------------------------------------------------------ */

static const char *const whats[] = {"?", "PUT", "GET", "BACK", "FLUSH", "SENT"};

/* "PUT pipemod W1 00.0 0+5 |hello": what, queue, type.band, sizes, first bytes. */
static const char *
text_of(const struct ustr_event *ev)
{
	static char text[400];

	snprintf(text, sizeof(text), "%s %s %c%u %02x.%u %u+%u %.*s|%.*s", whats[ev->ev_what],
	    ev->ev_queue, ev->ev_side, ev->ev_place, ev->ev_type, ev->ev_band, ev->ev_ctl,
	    ev->ev_data, ev->ev_nctl, (const char *)ev->ev_bytes, ev->ev_ndata,
	    (const char *)ev->ev_bytes + ev->ev_nctl);
	return text;
}

/* The next event, which is there. */
static struct ustr_event
next(ustr_tap_t *tap)
{
	struct ustr_event ev;

	GIVES(ustr_tap_read(tap, &ev), 1);
	return ev;
}

#define EXPECT(tap, text)                                \
	do {                                             \
		struct ustr_event ev_ = next(tap);       \
		ck_assert_str_eq(text_of(&ev_), (text)); \
	} while (0)

#define NOTHING(tap)                               \
	do {                                       \
		struct ustr_event ev_;             \
		GIVES(ustr_tap_read(tap, &ev_), 0); \
	} while (0)

static ustr_tap_t *
tap_of(int fd, unsigned int records)
{
	ustr_tap_t *tap = ustr_tap_open((unsigned int)ustr_streamid(fd), records);

	ck_assert_msg(tap != NULL, "ustr_tap_open: %s", ename(errno));
	return tap;
}

static void
say(int fd, const char *text)
{
	GIVES(str_write(fd, text, strlen(text)), strlen(text));
}

static void
hear(int fd, const char *text)
{
	char buf[64] = "";

	GIVES(str_read(fd, buf, strlen(text)), strlen(text));
	ck_assert_str_eq(buf, text);
}

static mblk_t *
block(unsigned char type, unsigned char band, const char *text)
{
	mblk_t *mp = str_mblkalloc(64);

	ck_assert_ptr_nonnull(mp);
	memcpy(mp->b_wptr, text, strlen(text));
	mp->b_wptr += strlen(text);
	mp->b_datap->db_type = type;
	mp->b_band = band;
	return mp;
}

/* ---- what is recorded ---------------------------------------------------- */

START_TEST(a_pipe_records_what_comes_and_what_goes)
{
	ustr_tap_t *tap;
	int fd[2];

	make_pipe(fd);
	tap = tap_of(fd[0], RING);
	say(fd[0], "down");
	EXPECT(tap, "SENT strhead W0 00.0 0+4 |down");
	hear(fd[1], "down");
	NOTHING(tap); /* it was read at the other end */
	say(fd[1], "upwards");
	EXPECT(tap, "PUT strhead R0 00.0 0+7 |upwards");
	hear(fd[0], "up");
	EXPECT(tap, "GET strhead R0 00.0 0+2 |up");
	hear(fd[0], "wards");
	EXPECT(tap, "GET strhead R0 00.0 0+5 |wards");
	NOTHING(tap);
	GIVES(ustr_tap_lost(tap), 0);
	ustr_tap_close(tap);
	close_pipe(fd);
}
END_TEST

START_TEST(every_queue_a_message_comes_to_is_recorded_in_order)
{
	ustr_tap_t *tap;
	int fd;

	fd = open_dev("echo");
	GIVES(str_ioctl(fd, I_PUSH, "nullmod"), 0);
	GIVES(str_ioctl(fd, I_PUSH, "pipemod"), 0);
	tap = tap_of(fd, RING);
	say(fd, "x");
	hear(fd, "x");
	EXPECT(tap, "PUT pipemod W1 00.0 0+1 |x");
	EXPECT(tap, "PUT nullmod W2 00.0 0+1 |x");
	EXPECT(tap, "PUT echo W3 00.0 0+1 |x");
	EXPECT(tap, "GET echo W3 00.0 0+1 |x");
	EXPECT(tap, "GET echo R3 00.0 0+1 |x");
	EXPECT(tap, "PUT nullmod R2 00.0 0+1 |x");
	EXPECT(tap, "PUT pipemod R1 00.0 0+1 |x");
	EXPECT(tap, "PUT strhead R0 00.0 0+1 |x");
	EXPECT(tap, "GET strhead R0 00.0 0+1 |x");
	NOTHING(tap);
	ustr_tap_close(tap);
	GIVES(str_close(fd), 0);
}
END_TEST

START_TEST(parts_types_and_bands_are_recorded)
{
	struct strbuf ctl = {0, 7, (char[]){"control"}}, data = {0, 4, (char[]){"data"}};
	struct strbuf none = {-1, -1, NULL};
	char c[8] = "", d[8] = "";
	struct strbuf gotc = {8, 0, c}, gotd = {8, 0, d};
	int fd[2], flags = 0, band = 0;
	ustr_tap_t *tap;

	make_pipe(fd);
	tap = tap_of(fd[1], RING);
	GIVES(putmsg(fd[0], &ctl, &data, 0), 0);
	EXPECT(tap, "PUT strhead R0 01.0 7+4 control|data");
	GIVES(putpmsg(fd[0], &none, &data, 5, MSG_BAND), 0);
	EXPECT(tap, "PUT strhead R0 00.5 0+4 |data");
	GIVES(putmsg(fd[0], &ctl, NULL, RS_HIPRI), 0);
	EXPECT(tap, "PUT strhead R0 83.0 7+0 control|");
	GIVES(getmsg(fd[1], &gotc, &gotd, &flags), 0);
	EXPECT(tap, "GET strhead R0 83.0 7+0 control|");
	flags = MSG_ANY;
	GIVES(getpmsg(fd[1], &gotc, &gotd, &band, &flags), 0);
	EXPECT(tap, "GET strhead R0 00.5 0+4 |data");
	flags = 0;
	GIVES(getmsg(fd[1], &gotc, &gotd, &flags), 0);
	EXPECT(tap, "GET strhead R0 01.0 7+4 control|");
	GIVES(str_putmblk(fd[0], block(M_BREAK, 0, "zz")), 0);
	EXPECT(tap, "PUT strhead R0 08.0 2+0 zz|");
	NOTHING(tap);
	ustr_tap_close(tap);
	close_pipe(fd);
}
END_TEST

START_TEST(questions_and_answers_of_ioctls_are_recorded)
{
	struct strioctl si = {('T' << 8) | 1, 1, 0, NULL};
	int fd = open_dev("echo"), n = 0;
	ustr_tap_t *tap = tap_of(fd, RING);
	unsigned char type[8] = {0};
	struct ustr_event ev;

	ck_assert_int_eq(str_ioctl(fd, I_STR, &si), -1);
	while (ustr_tap_read(tap, &ev) == 1 && n < 8) {
		ck_assert_int_eq(ev.ev_what, USTR_EV_PUT);
		type[n++] = ev.ev_type;
	}
	ck_assert_int_eq(n, 2);
	ck_assert_int_eq(type[0], M_IOCTL);
	ck_assert_int_eq(type[1], M_IOCNAK);
	ustr_tap_close(tap);
	GIVES(str_close(fd), 0);
}
END_TEST

/* srvmod queues; its service procedure meets a full queue and puts back. */
START_TEST(getq_putbq_and_flush_are_recorded)
{
	int fd[2], n[6] = {0}, first_get = -1, i = 0;
	struct ustr_event ev;
	ustr_tap_t *tap;

	make_pipe(fd);
	GIVES(str_ioctl(fd[1], I_SET_LOWAT, 1), 0);
	GIVES(str_ioctl(fd[1], I_SET_HIWAT, 1), 0);
	GIVES(str_ioctl(fd[0], I_PUSH, "srvmod"), 0);
	tap = tap_of(fd[0], RING);
	for (int k = 0; k < 4; k++)
		say(fd[0], "abc");
	hear(fd[1], "abc");
	GIVES(str_ioctl(fd[0], I_FLUSH, FLUSHW), 0);
	for (; ustr_tap_read(tap, &ev) == 1; i++) {
		n[ev.ev_what]++;
		if (ev.ev_what == USTR_EV_GET && first_get < 0)
			first_get = i;
		if (ev.ev_what == USTR_EV_GET || ev.ev_what == USTR_EV_BACK ||
		    ev.ev_what == USTR_EV_FLUSH) {
			ck_assert_str_eq(ev.ev_queue, "srvmod");
			ck_assert_int_eq(ev.ev_side, 'W');
			ck_assert_uint_eq(ev.ev_data, 3);
		}
	}
	ck_assert_int_eq(first_get, 1); /* after its PUT */
	ck_assert_int_eq(n[USTR_EV_GET] - n[USTR_EV_BACK] + n[USTR_EV_FLUSH], 4);
	ck_assert_int_gt(n[USTR_EV_BACK] + n[USTR_EV_FLUSH], 0);
	ck_assert_int_gt(n[USTR_EV_FLUSH], 0);
	ustr_tap_close(tap);
	close_pipe(fd);
}
END_TEST

START_TEST(a_flush_of_the_read_side_is_recorded)
{
	int fd[2];
	ustr_tap_t *tap;

	make_pipe(fd);
	tap = tap_of(fd[1], RING);
	say(fd[0], "one");
	say(fd[0], "two");
	EXPECT(tap, "PUT strhead R0 00.0 0+3 |one");
	EXPECT(tap, "PUT strhead R0 00.0 0+3 |two");
	GIVES(str_ioctl(fd[0], I_FLUSH, FLUSHR), 0);
	EXPECT(tap, "PUT strhead R0 86.0 1+0 \1|");
	EXPECT(tap, "FLUSH strhead R0 00.0 0+3 |one");
	EXPECT(tap, "FLUSH strhead R0 00.0 0+3 |two");
	NOTHING(tap);
	ustr_tap_close(tap);
	close_pipe(fd);
}
END_TEST

START_TEST(long_messages_are_cut_and_their_size_is_told)
{
	char big[3000];
	struct ustr_event ev;
	ustr_tap_t *tap;
	int fd[2];

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 7);
	make_pipe(fd);
	tap = tap_of(fd[1], RING);
	GIVES(str_write(fd[0], big, sizeof(big)), sizeof(big));
	ev = next(tap);
	ck_assert_uint_eq(ev.ev_data, sizeof(big));
	ck_assert_uint_eq(ev.ev_ndata, USTR_EV_BYTES);
	ck_assert(memcmp(ev.ev_bytes, big, USTR_EV_BYTES) == 0);
	ck_assert_int_eq(ev.ev_pid, getpid());
	ck_assert_int_eq(ev.ev_tid, gettid());
	ck_assert_int_eq(ev.ev_stream, ustr_streamid(fd[1]));
	ustr_tap_close(tap);
	close_pipe(fd);
}
END_TEST

START_TEST(times_are_those_of_the_day_and_rise)
{
	struct timespec now;
	int64_t last = 0, from;
	ustr_tap_t *tap;
	int fd[2];

	clock_gettime(CLOCK_REALTIME, &now);
	from = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	make_pipe(fd);
	tap = tap_of(fd[1], RING);
	for (int i = 0; i < 10; i++)
		say(fd[0], "tick");
	for (int i = 0; i < 10; i++) {
		int64_t t = next(tap).ev_time;

		ck_assert_int_gt(t, from - 1000000000);
		ck_assert_int_lt(t, from + 60000000000);
		/* The offset of the two clocks is taken at each reading. */
		ck_assert_int_gt(t, last - 1000000);
		last = t;
	}
	ustr_tap_close(tap);
	close_pipe(fd);
}
END_TEST

/* ---- the stream changes -------------------------------------------------- */

START_TEST(modules_come_and_go_while_recording)
{
	ustr_tap_t *tap;
	int fd[2];

	make_pipe(fd);
	tap = tap_of(fd[0], RING);
	GIVES(str_ioctl(fd[0], I_PUSH, "pipemod"), 0);
	say(fd[0], "a");
	EXPECT(tap, "PUT pipemod W1 00.0 0+1 |a");
	EXPECT(tap, "SENT strhead W0 00.0 0+1 |a");
	GIVES(str_ioctl(fd[0], I_POP, 0), 0);
	say(fd[0], "b");
	EXPECT(tap, "SENT strhead W0 00.0 0+1 |b");
	NOTHING(tap);
	ustr_tap_close(tap);
	GIVES(str_ioctl(fd[0], I_PUSH, "nullmod"), 0);
	say(fd[0], "c");
	close_pipe(fd);
}
END_TEST

START_TEST(a_closed_stream_is_read_to_its_end)
{
	struct ustr_event ev;
	ustr_tap_t *tap;
	int fd[2];

	make_pipe(fd);
	tap = tap_of(fd[1], RING);
	say(fd[0], "last");
	GIVES(str_close(fd[0]), 0);
	GIVES(str_close(fd[1]), 0);
	EXPECT(tap, "PUT strhead R0 00.0 0+4 |last");
	EXPECT(tap, "PUT strhead R0 89.0 0+0 |"); /* M_HANGUP */
	EXPECT(tap, "FLUSH strhead R0 00.0 0+4 |last");
	FAILS(ustr_tap_read(tap, &ev), ENXIO);
	ustr_tap_close(tap);
}
END_TEST

START_TEST(a_stream_below_a_multiplexor_is_recorded)
{
	int mux = open_dev("mux"), low = open_dev("echo"), id;
	struct ustr_event ev;
	ustr_tap_t *tap = tap_of(low, RING);

	id = str_ioctl(mux, I_LINK, low);
	ck_assert_int_ge(id, 0);
	GIVES(str_ioctl(mux, I_UNLINK, id), 0);
	while (ustr_tap_read(tap, &ev) == 1)
		;
	say(low, "again");
	hear(low, "again");
	EXPECT(tap, "PUT echo W1 00.0 0+5 |again");
	EXPECT(tap, "GET echo W1 00.0 0+5 |again");
	EXPECT(tap, "GET echo R1 00.0 0+5 |again");
	EXPECT(tap, "PUT strhead R0 00.0 0+5 |again");
	EXPECT(tap, "GET strhead R0 00.0 0+5 |again");
	ustr_tap_close(tap);
	GIVES(str_close(low), 0);
	GIVES(str_close(mux), 0);
}
END_TEST

/* ---- what is lost ---------------------------------------------------------- */

START_TEST(what_is_overwritten_is_counted)
{
	uint64_t got = 0, at = 0, gaps = 0;
	struct ustr_event ev;
	ustr_tap_t *tap;
	int fd[2];

	make_pipe(fd);
	tap = tap_of(fd[1], 64);
	for (int i = 0; i < 500; i++) {
		say(fd[0], "12345678");
		hear(fd[1], "12345678");
		if (i % 100 == 0 && ustr_tap_read(tap, &ev) == 1) {
			gaps += ev.ev_seq - at;
			at = ev.ev_seq + 1;
			got++;
		}
	}
	while (ustr_tap_read(tap, &ev) == 1) {
		ck_assert_uint_ge(ev.ev_seq, at);
		gaps += ev.ev_seq - at;
		at = ev.ev_seq + 1;
		got++;
	}
	ck_assert_uint_eq(gaps, ustr_tap_lost(tap));
	ck_assert_uint_eq(got + ustr_tap_lost(tap), 1000);
	ck_assert_uint_ge(got, 64);
	ustr_tap_close(tap);
	close_pipe(fd);
}
END_TEST

START_TEST(a_recorder_that_is_on_tells_what_was_before)
{
	ustr_tap_t *tap;
	int fd[2];

	make_pipe(fd);
	GIVES(ustr_trace(fd[1], 16), 0);
	for (int i = 0; i < 20; i++)
		say(fd[0], i < 19 ? "old" : "new");
	tap = tap_of(fd[1], RING);
	for (int i = 4; i < 19; i++)
		EXPECT(tap, "PUT strhead R0 00.0 0+3 |old");
	EXPECT(tap, "PUT strhead R0 00.0 0+3 |new");
	NOTHING(tap);
	GIVES(ustr_tap_lost(tap), 0);
	ustr_tap_close(tap);
	close_pipe(fd);
}
END_TEST

/* ---- on and off ------------------------------------------------------------- */

START_TEST(recording_ends_with_the_last_who_wants_it)
{
	ustr_tap_t *a, *b;
	int fd[2];

	make_pipe(fd);
	GIVES(ustr_trace(fd[1], 16), 0);
	a = tap_of(fd[1], RING);
	b = tap_of(fd[1], RING);
	GIVES(ustr_trace(fd[1], 0), 0);
	ustr_tap_close(a);
	say(fd[0], "still");
	EXPECT(b, "PUT strhead R0 00.0 0+5 |still");
	ustr_tap_close(b);
	say(fd[0], "no more");
	a = tap_of(fd[1], RING);
	NOTHING(a);
	say(fd[0], "fresh");
	ck_assert_uint_eq(next(a).ev_seq, 0);
	ustr_tap_close(a);
	close_pipe(fd);
}
END_TEST

START_TEST(both_ends_of_a_pipe_are_recorded_each_for_itself)
{
	ustr_tap_t *a, *b;
	int fd[2];

	make_pipe(fd);
	a = tap_of(fd[0], RING);
	b = tap_of(fd[1], RING);
	say(fd[0], "one");
	EXPECT(a, "SENT strhead W0 00.0 0+3 |one");
	EXPECT(b, "PUT strhead R0 00.0 0+3 |one");
	ustr_tap_close(b);
	say(fd[0], "two");
	EXPECT(a, "SENT strhead W0 00.0 0+3 |two");
	ustr_tap_close(a);
	say(fd[0], "three");
	hear(fd[1], "onetwothree");
	close_pipe(fd);
}
END_TEST

START_TEST(rings_are_given_back)
{
	struct ustr_memstat before, after;
	int fd[2];

	make_pipe(fd);
	for (int i = 0; i < 2000; i++) {
		ustr_tap_t *tap = tap_of(fd[i & 1], 1024);

		say(fd[0], "x");
		hear(fd[1], "x");
		ustr_tap_close(tap);
		if (i == 10)
			GIVES(ustr_memstat(&before), 0);
	}
	GIVES(ustr_memstat(&after), 0);
	ck_assert_uint_eq(after.ms_used, before.ms_used);
	ck_assert_uint_eq(after.ms_leaked, before.ms_leaked);
	close_pipe(fd);
}
END_TEST

START_TEST(a_tunable_has_new_streams_recorded_from_their_start)
{
	ustr_tap_t *tap;
	int fd[2], dev;

	FAILS(ustr_tune("trace", -1), EINVAL);
	FAILS(ustr_tune("trace", (1 << 20) + 1), EINVAL);
	GIVES(ustr_tune("trace", 100), 0);
	GIVES(ustr_tunable("trace"), 100);
	make_pipe(fd);
	dev = open_dev("echo");
	GIVES(ustr_tune("trace", 0), 0);
	say(fd[0], "first");
	say(dev, "device");
	tap = tap_of(fd[1], RING);
	EXPECT(tap, "PUT strhead R0 00.0 0+5 |first");
	ustr_tap_close(tap);
	tap = tap_of(dev, RING);
	EXPECT(tap, "PUT echo W1 00.0 0+6 |device");
	EXPECT(tap, "GET echo W1 00.0 0+6 |device");
	EXPECT(tap, "GET echo R1 00.0 0+6 |device");
	EXPECT(tap, "PUT strhead R0 00.0 0+6 |device");
	ustr_tap_close(tap);
	GIVES(str_close(dev), 0);
	close_pipe(fd);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
	ustr_tap_t *tap[9];
	unsigned int id;
	int fd[2], kernel[2];

	make_pipe(fd);
	id = (unsigned int)ustr_streamid(fd[0]);
	ck_assert_int_eq(pipe(kernel), 0);
	FAILS(ustr_streamid(kernel[0]), ENOSTR);
	FAILS(ustr_streamid(-1), EBADF);
	FAILS(ustr_trace(kernel[0], 64), ENOSTR);
	FAILS(ustr_trace(99999, 64), EBADF);
	FAILS(ustr_trace(fd[0], 15), EINVAL);
	FAILS(ustr_trace(fd[0], (1 << 20) + 1), EINVAL);
	GIVES(ustr_trace(fd[0], 0), 0);
	errno = 0;
	ck_assert_ptr_null(ustr_tap_open(id + 100, 64));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_ptr_null(ustr_tap_open(id, 15));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_null(ustr_tap_open(id, (1 << 20) + 1));
	ck_assert_int_eq(errno, EINVAL);
	for (int i = 0; i < 8; i++)
		tap[i] = tap_of(fd[0], 64);
	errno = 0;
	ck_assert_ptr_null(ustr_tap_open(id, 64));
	ck_assert_int_eq(errno, EAGAIN);
	for (int i = 0; i < 8; i++)
		ustr_tap_close(tap[i]);
	ustr_tap_close(NULL);
	close_pipe(fd);
	close(kernel[0]);
	close(kernel[1]);
}
END_TEST

/* ---- under traffic ------------------------------------------------------------ */

struct traffic {
	int t_fd[2];
	atomic_bool t_stop;
	volatile unsigned long t_sent, t_read;
};

static void *
writer(void *arg)
{
	struct traffic *t = arg;
	uint64_t n[2] = {0, 0};

	for (; !atomic_load(&t->t_stop); n[0]++) {
		n[1] = ~n[0];
		if (str_write(t->t_fd[0], n, sizeof(n)) == sizeof(n))
			t->t_sent++;
		else
			n[0]--;
	}
	return NULL;
}

static void *
reader(void *arg)
{
	struct traffic *t = arg;
	uint64_t n[2];

	while (str_read(t->t_fd[1], n, sizeof(n)) == sizeof(n)) {
		ck_assert_uint_eq(n[0], t->t_read);
		t->t_read++;
	}
	return NULL;
}

START_TEST(switching_on_and_off_disturbs_no_traffic)
{
	struct traffic t = {.t_stop = false};
	pthread_t w, r;
	unsigned long events = 0;
	long until = now_ms() + 1000;

	make_blocking_pipe(t.t_fd);
	GIVES(str_ioctl(t.t_fd[1], I_SRDOPT, RMSGD), 0);
	GIVES(str_ioctl(t.t_fd[0], I_PUSH, "srvmod"), 0);
	GIVES(str_ioctl(t.t_fd[0], I_PUSH, "pipemod"), 0);
	pthread_create(&w, NULL, writer, &t);
	pthread_create(&r, NULL, reader, &t);
	for (int i = 0; now_ms() < until || (events == 0 && now_ms() < until + SOON); i++) {
		ustr_tap_t *tap = tap_of(t.t_fd[i & 1], RING);
		struct ustr_event ev;

		for (int k = 0; k < 200; k++) {
			uint64_t n[2];

			if (ustr_tap_read(tap, &ev) != 1)
				continue;
			events++;
			if (ev.ev_ndata != sizeof(n))
				continue;
			memcpy(n, ev.ev_bytes, sizeof(n));
			ck_assert_uint_eq(n[0], ~n[1]);
		}
		if (i % 7 == 0) {
			GIVES(ustr_trace(t.t_fd[0], 64), 0);
			GIVES(ustr_trace(t.t_fd[0], 0), 0);
		}
		ustr_tap_close(tap);
	}
	atomic_store(&t.t_stop, true);
	pthread_join(w, NULL);
	GIVES(str_close(t.t_fd[0]), 0);
	pthread_join(r, NULL);
	GIVES(str_close(t.t_fd[1]), 0);
	ck_assert_uint_gt(events, 0);
	ck_assert_uint_eq(t.t_sent, t.t_read);
}
END_TEST

/* ---- processes ------------------------------------------------------------------ */

static int
send_ten(void *arg)
{
	const int *fd = arg;

	for (int i = 0; i < 10; i++)
		NEED(str_write(fd[0], "hello", 5) == 5);
	return 0;
}

START_TEST(another_process_is_recorded)
{
	ustr_tap_t *tap;
	pid_t pid;
	int fd[2];

	make_pipe(fd);
	tap = tap_of(fd[1], RING);
	pid = child(send_ten, fd);
	ck_assert_int_eq(reap(pid, SOON), 0);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(next(tap).ev_pid, pid);
	NOTHING(tap);
	ustr_tap_close(tap);
	close_pipe(fd);
}
END_TEST

/* What a tapping child is given. */
struct job {
	unsigned int j_id;
	struct gate j_on;
};

static int
tap_and_wait(void *arg)
{
	struct job *j = arg;

	NEED(ustr_tap_open(j->j_id, RING) != NULL);
	gate_open(&j->j_on);
	for (;;)
		pause();
}

/* Is nobody recording: has a new tap nothing to tell of what was? */
static bool
was_off(int from, int to)
{
	struct ustr_event ev;
	ustr_tap_t *tap;
	bool off;

	say(from, "?");
	tap = ustr_tap_open((unsigned int)ustr_streamid(to), RING);
	if (tap == NULL && errno == EAGAIN) /* eight killed ones are not buried yet */
		return false;
	ck_assert_ptr_nonnull(tap);
	off = ustr_tap_read(tap, &ev) == 0;
	ustr_tap_close(tap);
	return off;
}

START_TEST(what_a_killed_process_wanted_is_taken_back)
{
	struct job j;
	pid_t pid[2];
	int fd[2];
	long until;

	make_pipe(fd);
	j.j_id = (unsigned int)ustr_streamid(fd[1]);
	for (int i = 0; i < 2; i++) {
		gate_make(&j.j_on);
		pid[i] = child(tap_and_wait, &j);
		ck_assert(gate_wait(&j.j_on, SOON));
		gate_drop(&j.j_on);
	}
	say(fd[0], "recorded");
	kill(pid[0], SIGKILL);
	ck_assert_int_eq(reap(pid[0], SOON), 128 + SIGKILL);
	msleep(300);
	ck_assert(!was_off(fd[0], fd[1])); /* the second one still wants it */
	kill(pid[1], SIGKILL);
	ck_assert_int_eq(reap(pid[1], SOON), 128 + SIGKILL);
	for (until = now_ms() + SOON; now_ms() < until && !was_off(fd[0], fd[1]);)
		msleep(20);
	ck_assert_int_lt(now_ms(), until);
	close_pipe(fd);
}
END_TEST

/* A process that ends in no other way is killed after so many half ms at most. */
static void
kill_within(pid_t pid, int half_ms)
{
	int status;
	pid_t r;

	while ((r = waitpid(pid, &status, WNOHANG)) == 0 && half_ms-- > 0)
		usleep(500);
	if (r == 0) {
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		r = waitpid(pid, &status, 0);
	}
	ck_assert_int_eq(r, pid);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it ends with %#x",
	    (unsigned)status);
}

/* Who records, and is killed: a stream of others, and streams of its own. */
struct recorder {
	const int *r_fd;
	unsigned int r_point; /* where it dies in a debug build */
	struct gate r_ready;
};

enum { LARGE = 2048 }; /* records of a ring: most of the time it is being cleared */

static int
record_and_record(void *arg)
{
	struct recorder *r = arg;
	unsigned int id = (unsigned int)ustr_streamid(r->r_fd[0]);
	int own[2];

	gate_open(&r->r_ready);
	(void)ustr_tune("crashpoint", r->r_point);
	for (unsigned int i = 0;; i++) {
		/* EAGAIN: eight are not buried yet. */
		ustr_tap_t *tap = ustr_tap_open(id, LARGE);

		NEED(tap != NULL || errno == EAGAIN);
		ustr_tap_close(tap);
		NEED(ustr_trace(r->r_fd[1], LARGE) == 0);
		NEED(ustr_trace(r->r_fd[1], 0) == 0);
		if (i % 4 != r->r_point % 4)
			continue;
		NEED(str_pipe(own) == 0);
		NEED(ustr_trace(own[0], LARGE) == 0);
		NEED(str_close(own[0]) == 0 && str_close(own[1]) == 0);
	}
}

/*
 * One after the other, all buried: what each has lost is less than a ring, and grows in no
 * way with how many died.  Each dies on a pipe of its own, which may be condemned.
 */
START_TEST(killed_recorders_cost_no_memory)
{
	const size_t ring = 192 * LARGE;
	struct ustr_memstat before, after;
	unsigned int seed = 1, n;
	long until = now_ms() + 6000;

	for (n = 0; n < 1000 && (n < 60 || now_ms() < until); n++) {
		struct recorder r = {.r_point = n % 200 + 1};
		int fd[2];

		make_pipe(fd);
		r.r_fd = fd;
		gate_make(&r.r_ready);
		pid_t pid = child(record_and_record, &r);

		ck_assert(gate_wait(&r.r_ready, SOON));
		gate_drop(&r.r_ready);
		kill_within(pid, (int)(rand_r(&seed) % 3));
		for (int i = 0; i < 3; i++)
			(void)ustr_service(0);
		close_pipe(fd);
		(void)ustr_service(0);
		if (n == 10)
			GIVES(ustr_memstat(&before), 0);
	}
	GIVES(ustr_memstat(&after), 0);
	ck_assert_msg(after.ms_used - before.ms_used < 8 * ring, "%u killed: %zu bytes", n,
	    after.ms_used - before.ms_used);
}
END_TEST

/* A tool: it has no descriptor of the stream. */
struct tool {
	const int *u_fd;
	unsigned int u_id;
	int u_point; /* where it dies in a debug build */
	struct gate u_ready;
};

/* Taps open and close without end. */
static int
tap_and_tap(void *arg)
{
	struct tool *u = arg;
	struct ustr_event ev;

	NEED(str_close(u->u_fd[0]) == 0 && str_close(u->u_fd[1]) == 0);
	gate_open(&u->u_ready);
	(void)ustr_tune("crashpoint", u->u_point);
	for (;;) {
		ustr_tap_t *tap = ustr_tap_open(u->u_id, 64);
		int error = errno;

		NEED(tap != NULL || error == EAGAIN); /* eight that are not buried yet */
		for (int k = 0; k < 10 && tap != NULL; k++)
			(void)ustr_tap_read(tap, &ev);
		ustr_tap_close(tap);
	}
}

/* Start one and kill it after at most some ms. */
static void
kill_a_tool(struct tool *u, int half_ms)
{
	pid_t pid;

	gate_make(&u->u_ready);
	pid = child(tap_and_tap, u);
	ck_assert(gate_wait(&u->u_ready, SOON));
	gate_drop(&u->u_ready);
	kill_within(pid, half_ms);
}

START_TEST(a_tool_killed_anywhere_harms_nobody)
{
	struct traffic t = {.t_stop = false};
	unsigned int seed = (unsigned int)getpid();
	long until = now_ms() + 3000;
	pthread_t w, r;
	int rounds = 0;

	make_blocking_pipe(t.t_fd);
	GIVES(str_ioctl(t.t_fd[1], I_SRDOPT, RMSGD), 0);
	GIVES(str_ioctl(t.t_fd[0], I_PUSH, "srvmod"), 0);
	pthread_create(&w, NULL, writer, &t);
	pthread_create(&r, NULL, reader, &t);
	for (; now_ms() < until || (rounds <= 10 && now_ms() < until + SOON); rounds++) {
		struct tool u = {.u_fd = t.t_fd, .u_point = rounds % 100 + 1};

		u.u_id = (unsigned int)ustr_streamid(t.t_fd[rounds & 1]);
		kill_a_tool(&u, rand_r(&seed) % 10);
	}
	atomic_store(&t.t_stop, true);
	pthread_join(w, NULL);
	/* No call has failed, and what was sent arrives. */
	for (until = now_ms() + SOON; now_ms() < until && t.t_read < t.t_sent;)
		msleep(1);
	ck_assert_uint_eq(t.t_sent, t.t_read);
	ck_assert_int_gt(rounds, 10);
	GIVES(str_write(t.t_fd[0], "end", 3), 3);
	pthread_join(r, NULL);
	for (int i = 0; i < 2; i++) {
		for (until = now_ms() + SOON; now_ms() < until && !was_off(t.t_fd[1 - i], t.t_fd[i]);)
			msleep(20);
		ck_assert_int_lt(now_ms(), until);
	}
	close_pipe(t.t_fd);
}
END_TEST

static int
tap_by_number(void *arg)
{
	const struct job *j = arg;
	ustr_tap_t *tap = ustr_tap_open(j->j_id, RING);
	struct ustr_event ev;

	NEED(tap != NULL);
	gate_open((struct gate *)&j->j_on);
	for (int n = 0; n < 3;)
		if (ustr_tap_read(tap, &ev) == 1)
			n++;
		else
			msleep(1);
	NEED(ev.ev_pid == getppid());
	ustr_tap_close(tap);
	return 0;
}

START_TEST(a_process_taps_a_stream_of_another_by_its_number)
{
	struct job j;
	pid_t pid;
	int fd[2];

	gate_make(&j.j_on);
	make_pipe(fd);
	j.j_id = (unsigned int)ustr_streamid(fd[1]);
	pid = child(tap_by_number, &j);
	ck_assert(gate_wait(&j.j_on, SOON));
	for (int i = 0; i < 3; i++)
		say(fd[0], "x");
	ck_assert_int_eq(reap(pid, SOON), 0);
	ck_assert(was_off(fd[0], fd[1]));
	gate_drop(&j.j_on);
	close_pipe(fd);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("trace");
	TCase *tc = group(s, "trace", 120);

	tcase_add_test(tc, a_pipe_records_what_comes_and_what_goes);
	tcase_add_test(tc, every_queue_a_message_comes_to_is_recorded_in_order);
	tcase_add_test(tc, parts_types_and_bands_are_recorded);
	tcase_add_test(tc, questions_and_answers_of_ioctls_are_recorded);
	tcase_add_test(tc, getq_putbq_and_flush_are_recorded);
	tcase_add_test(tc, a_flush_of_the_read_side_is_recorded);
	tcase_add_test(tc, long_messages_are_cut_and_their_size_is_told);
	tcase_add_test(tc, times_are_those_of_the_day_and_rise);
	tcase_add_test(tc, modules_come_and_go_while_recording);
	tcase_add_test(tc, a_closed_stream_is_read_to_its_end);
	tcase_add_test(tc, a_stream_below_a_multiplexor_is_recorded);
	tcase_add_test(tc, what_is_overwritten_is_counted);
	tcase_add_test(tc, a_recorder_that_is_on_tells_what_was_before);
	tcase_add_test(tc, recording_ends_with_the_last_who_wants_it);
	tcase_add_test(tc, both_ends_of_a_pipe_are_recorded_each_for_itself);
	tcase_add_test(tc, rings_are_given_back);
	tcase_add_test(tc, a_tunable_has_new_streams_recorded_from_their_start);
	tcase_add_test(tc, bad_arguments_are_refused);
	tcase_add_test(tc, switching_on_and_off_disturbs_no_traffic);
	if (can_fork()) {
		tcase_add_test(tc, another_process_is_recorded);
		tcase_add_test(tc, what_a_killed_process_wanted_is_taken_back);
		tcase_add_test(tc, a_tool_killed_anywhere_harms_nobody);
		tcase_add_test(tc, killed_recorders_cost_no_memory);
		tcase_add_test(tc, a_process_taps_a_stream_of_another_by_its_number);
	}
	return run_suite(s);
}
