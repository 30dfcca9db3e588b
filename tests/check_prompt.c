/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_prompt.c: strtest -i at a terminal: what is typed, what is drawn,
 * history and completion where it was built with libedit.
 */
#include "headlib.h"

#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

enum { WAIT = 10000 }; /* ms for anything to appear */

static int terminal = -1;
static pid_t program;
static char screen[1 << 20]; /* what has come, since the last clear() */
static size_t seen;

static char home[PATH_MAX];

static const char *
strtest_path(void)
{
	static char path[PATH_MAX];
	const char *top = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/utils/strtest", top != NULL ? top : ".");
	return path;
}

static _Noreturn void
become_strtest(const char *slave)
{
	int fd;

	setsid();
	fd = open(slave, O_RDWR);
	ioctl(fd, TIOCSCTTY, 0);
	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, 2);
	setenv("TERM", "dumb", 1);
	setenv("HOME", home, 1);
	execl(strtest_path(), "strtest", "-i", (char *)NULL);
	_exit(127);
}

static void
begin(void)
{
	char slave[64];

	terminal = posix_openpt(O_RDWR | O_NOCTTY);
	ck_assert_int_ge(terminal, 0);
	ck_assert_int_eq(grantpt(terminal), 0);
	ck_assert_int_eq(unlockpt(terminal), 0);
	ck_assert_int_eq(ptsname_r(terminal, slave, sizeof(slave)), 0);
	seen = 0;
	program = fork();
	ck_assert_int_ge(program, 0);
	if (program == 0)
		become_strtest(slave);
}

/* Has the text appeared, in time? */
static bool
appears(const char *text)
{
	long until = now_ms() + WAIT;
	struct pollfd p = {terminal, POLLIN, 0};

	while (now_ms() < until && seen < sizeof(screen) - 1) {
		ssize_t n;

		screen[seen] = '\0';
		if (strstr(screen, text) != NULL)
			return true;
		if (poll(&p, 1, 100) <= 0)
			continue;
		n = read(terminal, screen + seen, sizeof(screen) - 1 - seen);
		if (n <= 0)
			break;
		seen += (size_t)n;
	}
	screen[seen] = '\0';
	return strstr(screen, text) != NULL;
}

#define SHOWS(text) ck_assert_msg(appears(text), "no '%s' in:\n%s", text, screen)

static void
type(const char *text)
{
	seen = 0;
	ck_assert_int_eq(write(terminal, text, strlen(text)), (ssize_t)strlen(text));
}

/*
 * The exit status; a program at a terminal ends only when its output is read.
 * again: what to type every now and then, since a control character that comes
 * before the program has set up the terminal is lost.
 */
static int
ended_after(const char *again)
{
	long until = now_ms() + WAIT;
	struct pollfd p = {terminal, POLLIN, 0};
	int status;

	while (now_ms() < until) {
		if (poll(&p, 1, 200) == 0)
			type(again);
		else if (read(terminal, screen, sizeof(screen)) <= 0)
			break;
	}
	status = reap(program, WAIT);
	close(terminal);
	return status;
}

static int
ended(void)
{
	return ended_after("");
}

static bool
has_libedit(void)
{
	char line[PATH_MAX + 64];
	FILE *f;
	bool has;

	snprintf(line, sizeof(line), "%s --help | grep -q 'history and completion'",
	    strtest_path());
	f = popen(line, "r");
	has = f != NULL && pclose(f) == 0;
	if (!has)
		printf("skipped: strtest was built without libedit\n");
	return has;
}

static bool
cannot(void)
{
	if (access(strtest_path(), X_OK) == 0)
		return false;
	printf("skipped: %s was not built\n", strtest_path());
	return true;
}

START_TEST(a_command_is_carried_out_and_the_streams_are_drawn)
{
	if (cannot())
		return;
	begin();
	SHOWS("strtest>");
	type("pipe a b\n");
	SHOWS("b = stream");
	SHOWS("strtest>");
	type("push a pipemod\n");
	SHOWS("  pipemod");
	SHOWS("strtest>");
	type("write a \"hello\"\n");
	SHOWS("= 5");
	SHOWS("first message: data=\"hello\"");
	SHOWS("strtest>");
	type("read b 10\n");
	SHOWS("= 5 data=\"hello\"");
	SHOWS("strtest>");
	type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(a_mistake_is_told_and_the_dialogue_goes_on)
{
	if (cannot())
		return;
	begin();
	SHOWS("strtest>");
	type("pipe a b; psuh a pipemod\n");
	SHOWS("did you mean 'push'?");
	SHOWS("strtest>");
	type("pipe a b; read c 1\n");
	SHOWS("no descriptor is called 'c'");
	SHOWS("strtest>");
	type("write a \"x\" -> 7\n");
	SHOWS("expected: 7");
	SHOWS("strtest>");
	type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(a_block_goes_on_until_it_is_closed)
{
	if (cannot())
		return;
	begin();
	SHOWS("strtest>");
	type("proc twice $text {\n");
	SHOWS("...>");
	type("write a $text; write a $text }\n");
	SHOWS("strtest>");
	type("pipe a b; call twice \"ab\"; read b 10\n");
	SHOWS("= 4 data=\"abab\"");
	type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(an_interrupt_ends_a_call_that_sleeps)
{
	if (cannot())
		return;
	begin();
	SHOWS("strtest>");
	type("pipe a b\n");
	SHOWS("b = stream");
	SHOWS("strtest>");
	type("read a 1\n");
	SHOWS("read a 1");
	for (int i = 0; i < 100 && kill(program, SIGINT) == 0; i++) {
		struct pollfd p = {terminal, POLLIN, 0};

		if (poll(&p, 1, 100) > 0 && appears("EINTR"))
			break;
	}
	SHOWS("= EINTR");
	type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(the_end_of_the_input_ends_the_dialogue)
{
	if (cannot())
		return;
	begin();
	SHOWS("strtest>");
	ck_assert_int_eq(ended_after("\004"), 0);
}
END_TEST

START_TEST(a_tab_completes_verbs_names_commands_and_constants)
{
	if (cannot() || !has_libedit())
		return;
	begin();
	SHOWS("strtest>");
	type("pip\t end one\n");
	SHOWS("pipe end one");
	SHOWS("one = stream");
	SHOWS("strtest>");
	type("ioctl en\t I_SRD\t RMSGN|RPROTDI\t\n");
	SHOWS("= 0");
	SHOWS("strtest>");
	type("ioctl end I_GRDOPT -> value=RMSGN|RPROTDIS\n");
	SHOWS("= 0 value=10");
	SHOWS("strtest>");
	type("putmsg one hip\t ctl=\"c\"\n");
	SHOWS("first message: hipri ctl=\"c\"");
	type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(lines_are_remembered_in_this_dialogue_and_the_next)
{
	if (cannot() || !has_libedit())
		return;
	begin();
	SHOWS("strtest>");
	type("print \"remembered\"\n");
	SHOWS("\nremembered");
	SHOWS("strtest>");
	type("\020\n"); /* Ctrl-P: the line before */
	SHOWS("\nremembered");
	type("quit\n");
	ck_assert_int_eq(ended(), 0);
	begin();
	SHOWS("strtest>");
	type("\020\020\n");
	SHOWS("\nremembered");
	type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

static Suite *
prompt_suite(void)
{
	Suite *s = suite_create("prompt");
	TCase *t = group(s, "dialogue", 60);

	tcase_add_test(t, a_command_is_carried_out_and_the_streams_are_drawn);
	tcase_add_test(t, a_mistake_is_told_and_the_dialogue_goes_on);
	tcase_add_test(t, a_block_goes_on_until_it_is_closed);
	tcase_add_test(t, an_interrupt_ends_a_call_that_sleeps);
	tcase_add_test(t, the_end_of_the_input_ends_the_dialogue);
	t = group(s, "editing", 60);
	tcase_add_test(t, a_tab_completes_verbs_names_commands_and_constants);
	tcase_add_test(t, lines_are_remembered_in_this_dialogue_and_the_next);
	return s;
}

int
main(void)
{
	char name[PATH_MAX + 32];
	int status;

	snprintf(home, sizeof(home), "%s/prompt.XXXXXX",
	    getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	if (mkdtemp(home) == NULL)
		return 1;
	status = run_suite(prompt_suite());
	snprintf(name, sizeof(name), "%s/.strtest_history", home);
	unlink(name);
	rmdir(home);
	return status;
}
