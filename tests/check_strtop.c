/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_strtop.c: strtop at a terminal: the list of streams, its order, one stream
 * drawn, another size of the terminal, programs that end; and its text (-b).
 */
#include "headlib.h"
#include "termlib.h"

#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>

static pid_t subject;
static char dir[] = "/tmp/strtopXXXXXX";

/* Two pipes: one carries messages, one is full. */
static _Noreturn void
carry(int ready)
{
	int p[2], q[2];
	char buf[100] = "";

	NEED(str_pipe(p) == 0 && str_pipe(q) == 0);
	NEED(str_ioctl(p[0], I_PUSH, "pipemod") == 0);
	NEED(str_fcntl(q[0], F_SETFL, O_NONBLOCK) == 0);
	while (str_write(q[0], buf, sizeof(buf)) > 0)
		;
	NEED(write(ready, "r", 1) == 1);
	for (;;) {
		for (int i = 0; i < 100; i++)
			NEED(str_write(p[0], buf, 10) == 10 && str_read(p[1], buf, 10) == 10);
		usleep(1000);
	}
}

/* A program in an instance of its own, which strtop finds by the environment. */
static bool
begin_subject(void)
{
	char c;
	int p[2];

	if (term_lacks("strtop") || !can_fork())
		return false;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("USTREAMS_DIR", dir, 1);
	setenv("USTREAMS_INSTANCE", "topped", 1);
	ck_assert_int_eq(pipe(p), 0);
	subject = fork();
	if (subject == 0)
		carry(p[1]);
	close(p[1]);
	ck_assert_int_eq(read(p[0], &c, 1), 1);
	close(p[0]);
	return true;
}

static void
end_subject(void)
{
	char path[PATH_MAX];

	if (subject > 0) {
		kill(subject, SIGKILL);
		waitpid(subject, NULL, 0);
	}
	snprintf(path, sizeof(path), "%s/topped", dir);
	unlink(path);
	rmdir(dir);
}

static void
resize(unsigned short rows, unsigned short columns)
{
	struct winsize ws = {rows, columns, 0, 0};

	ck_assert_int_eq(ioctl(term_fd, TIOCSWINSZ, &ws), 0);
	if (term_program > 0)
		kill(term_program, SIGWINCH);
}

static void
begin_top_on(const char *term)
{
	char *argv[] = {"strtop", "-d", "0.2", NULL};

	unsetenv("LINES");
	unsetenv("COLUMNS");
	term_begin(term, argv);
	resize(30, 132);
	SHOWS("instance topped");
}

static void
begin_top(void)
{
	begin_top_on("vt100");
}

START_TEST(the_streams_are_listed_with_their_modules_and_the_keys)
{
	if (!begin_subject())
		return;
	begin_top();
	SHOWS("ARRIVED/s");
	SHOWS("pipemod");
	SHOWS("[##########]");
	SHOWS("order: a arrived r read b bytes u queued f fill i number");
	term_type("q");
	ck_assert_int_eq(term_ended("q"), 0);
	end_subject();
}
END_TEST

START_TEST(the_order_follows_the_keys)
{
	static const char *const words[] = {"r", "by read", "b", "by bytes", "u", "by queued",
	    "f", "by fill", "i", "by number", "a", "by arrived"};

	if (!begin_subject())
		return;
	begin_top();
	SHOWS("by arrived");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i += 2) {
		/* Only what changes is drawn; ^L draws all anew. */
		term_type(words[i]);
		term_type("\f");
		SHOWS(words[i + 1]);
	}
	term_type("q");
	ck_assert_int_eq(term_ended("q"), 0);
	end_subject();
}
END_TEST

START_TEST(a_stream_is_drawn_and_kept_up_to_date)
{
	if (!begin_subject())
		return;
	begin_top();
	SHOWS("pipemod");
	term_type("u\r");
	SHOWS("other end: stream");
	SHOWS("FULL");
	SHOWS("q back");
	term_type("m");
	SHOWS("messages, the latest last");
	term_type("m");
	term_type("q");
	SHOWS("ARRIVED/s");
	term_type("q");
	ck_assert_int_eq(term_ended("q"), 0);
	end_subject();
}
END_TEST

START_TEST(messages_of_the_stream_chosen_pass_by)
{
	if (!begin_subject())
		return;
	begin_top();
	SHOWS("pipemod");
	term_type("m");
	SHOWS("messages, the latest last");
	SHOWS(access(term_tool("strtap"), X_OK) == 0 ? "M_DATA" : "strtap: ");
	term_type("qqq");
	ck_assert_int_eq(term_ended("q"), 0);
	end_subject();
}
END_TEST

START_TEST(any_size_of_the_terminal_will_do)
{
	if (!begin_subject())
		return;
	begin_top();
	SHOWS("pipemod");
	for (unsigned short rows = 1; rows < 12; rows++) {
		resize(rows, (unsigned short)(rows * 9));
		msleep(30);
		term_type(rows % 3 == 0 ? "\rjm" : rows % 3 == 1 ? "jjk" : "mm");
	}
	resize(40, 150);
	term_type("qqq");
	ck_assert_int_eq(term_ended("q"), 0);
	end_subject();
}
END_TEST

START_TEST(eighty_columns_have_the_bars_and_all_keys)
{
	if (!begin_subject())
		return;
	begin_top();
	resize(24, 80);
	term_type("\f");
	SHOWS("[##########]");
	term_type("\f");
	SHOWS("order: a r b u f i");
	SHOWS("q end");
	term_type("q");
	ck_assert_int_eq(term_ended("q"), 0);
	end_subject();
}
END_TEST

START_TEST(a_screen_of_five_lines_shows_streams_and_their_messages)
{
	if (!begin_subject())
		return;
	begin_top_on("xterm"); /* which has a key for pages */
	SHOWS("pipemod");
	resize(5, 40);
	term_type("i\f");
	SHOWS("STREAM");
	SHOWS("to 2");
	/* A page is the two streams that fit, and never goes the other way. */
	term_type("\033[6~\r\f");
	SHOWS("stream 3: pipe");
	/* What does not fit is below. */
	term_type("jjjjjjjjjjjjjjjjjjjj\f");
	SHOWS("arrived ");
	term_type("m\f");
	SHOWS("messages, the latest last");
	term_type("qqq");
	ck_assert_int_eq(term_ended("q"), 0);
	end_subject();
}
END_TEST

START_TEST(a_program_that_is_killed_is_said_to_be_gone)
{
	if (!begin_subject())
		return;
	begin_top();
	SHOWS("pipemod");
	kill(subject, SIGKILL);
	waitpid(subject, NULL, 0);
	subject = -1;
	SHOWS("NO PROCESS HAS IT ANY MORE");
	term_type("q");
	ck_assert_int_eq(term_ended("q"), 0);
	end_subject();
}
END_TEST

START_TEST(an_unknown_terminal_is_refused_with_a_line)
{
	char *argv[] = {"strtop", NULL};

	if (!begin_subject())
		return;
	/* What curses had begun for it, it does not give back. */
	if (under_asan())
		setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	term_begin("no-such-terminal", argv);
	SHOWS("terminals of type \"no-such-terminal\" are not known; set TERM, or use -b");
	ck_assert_int_eq(term_ended(""), 2);
	term_begin("dumb", argv);
	SHOWS("terminals of type \"dumb\" cannot move the cursor; set TERM, or use -b");
	ck_assert_int_eq(term_ended(""), 2);
	end_subject();
}
END_TEST

/* What strtop with these options prints; its exit status. */
static int
prints(const char *options, char *text, size_t size)
{
	char line[PATH_MAX + 100];
	size_t n = 0;
	ssize_t got;
	int status;
	FILE *f;

	snprintf(line, sizeof(line), "%s %s 2>&1 </dev/null", term_tool("strtop"), options);
	f = popen(line, "r");
	ck_assert_ptr_nonnull(f);
	while (n < size - 1 && (got = read(fileno(f), text + n, size - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	status = pclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
count(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)) != NULL; text++)
		n++;
	return n;
}

START_TEST(batches_are_text_with_rates_in_order)
{
	static char text[65536];
	double arrived;
	const char *at;

	if (!begin_subject())
		return;
	ck_assert_int_eq(prints("-b -n 3 -d 0.2", text, sizeof(text)), 0);
	ck_assert_int_eq(count(text, "strtop: instance topped"), 3);
	ck_assert_int_eq(count(text, "STREAM WHERE"), 3);
	ck_assert_int_eq(count(text, "\x1b"), 0);
	/* The first one carries the messages. */
	at = strstr(text, "STATE\n");
	ck_assert_ptr_nonnull(at);
	ck_assert_msg(
	    sscanf(at + 6, "%*u to %*u - %lf", &arrived) == 1 && arrived > 0, "%s", text);
	ck_assert_int_eq(prints("-b -d 0.1 -s fill", text, sizeof(text)), 0);
	at = strstr(text, "STATE\n");
	ck_assert_ptr_nonnull(at);
	at = strchr(at, '[');
	ck_assert_msg(at != NULL && strncmp(at, "[##########]", 12) == 0, "%s", text);
	end_subject();
}
END_TEST

START_TEST(what_is_wrong_is_one_line_and_status_2)
{
	static const char *const wrong[][2] = {{"-d 0", "0: not 0.1 to 3600 seconds"},
	    {"-s x", "x: no such order; legal: "}, {"-n 3", "-n: only with -b"},
	    {"-b -n 0", "0: not a number of screens"}, {"-x", "no such option"},
	    {"more", "no operand is wanted"}, {"-I nosuch -b", "there is none; looked for"},
	    {"-p 2147483647 -b", "No such process"}, {"", "no terminal; use -b"},
	    {"-d", "its value is missing"}};
	static char text[4096];

	if (!begin_subject())
		return;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int status = prints(wrong[i][0], text, sizeof(text));

		ck_assert_msg(status == 2 && strstr(text, wrong[i][1]) != NULL &&
			count(text, "\n") == 1, "%s: %d: %s", wrong[i][0], status, text);
	}
	kill(subject, SIGKILL);
	waitpid(subject, NULL, 0);
	subject = -1;
	ck_assert_int_eq(prints("-b -d 0.1 -n 3", text, sizeof(text)), 1);
	ck_assert_ptr_nonnull(strstr(text, "no process has it any more"));
	end_subject();
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("strtop");
	TCase *tc = group(s, "terminal", 120);

	tcase_add_test(tc, the_streams_are_listed_with_their_modules_and_the_keys);
	tcase_add_test(tc, the_order_follows_the_keys);
	tcase_add_test(tc, a_stream_is_drawn_and_kept_up_to_date);
	tcase_add_test(tc, messages_of_the_stream_chosen_pass_by);
	tcase_add_test(tc, any_size_of_the_terminal_will_do);
	tcase_add_test(tc, eighty_columns_have_the_bars_and_all_keys);
	tcase_add_test(tc, a_screen_of_five_lines_shows_streams_and_their_messages);
	tcase_add_test(tc, a_program_that_is_killed_is_said_to_be_gone);
	tcase_add_test(tc, an_unknown_terminal_is_refused_with_a_line);
	tc = group(s, "text", 120);
	tcase_add_test(tc, batches_are_text_with_rates_in_order);
	tcase_add_test(tc, what_is_wrong_is_one_line_and_status_2);
	return run_suite(s);
}
