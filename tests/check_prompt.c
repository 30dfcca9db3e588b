/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_prompt.c: strtest -i at a terminal: what is typed, what is drawn,
 * history and completion where it was built with libedit.
 */
#include "headlib.h"
#include "termlib.h"

#include <limits.h>
#include <stdio.h>

static char home[PATH_MAX];

static void
begin(void)
{
	char *argv[] = {"strtest", "-i", NULL};

	setenv("HOME", home, 1);
	term_begin("dumb", argv);
}

static int
ended(void)
{
	return term_ended("");
}

static bool
has_libedit(void)
{
	char line[PATH_MAX + 64];
	FILE *f;
	bool has;

	snprintf(line, sizeof(line), "%s --help | grep -q 'history and completion'",
	    term_tool("strtest"));
	f = popen(line, "r");
	has = f != NULL && pclose(f) == 0;
	if (!has)
		printf("skipped: strtest was built without libedit\n");
	return has;
}

static bool
cannot(void)
{
	return term_lacks("strtest");
}

START_TEST(a_command_is_carried_out_and_the_streams_are_drawn)
{
	if (cannot())
		return;
	begin();
	SHOWS("strtest>");
	term_type("pipe a b\n");
	SHOWS("b = stream");
	SHOWS("strtest>");
	term_type("push a pipemod\n");
	SHOWS("  pipemod");
	SHOWS("strtest>");
	term_type("write a \"hello\"\n");
	SHOWS("= 5");
	SHOWS("first message: data=\"hello\"");
	SHOWS("strtest>");
	term_type("read b 10\n");
	SHOWS("= 5 data=\"hello\"");
	SHOWS("strtest>");
	term_type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(a_mistake_is_told_and_the_dialogue_goes_on)
{
	if (cannot())
		return;
	begin();
	SHOWS("strtest>");
	term_type("pipe a b; psuh a pipemod\n");
	SHOWS("did you mean 'push'?");
	SHOWS("strtest>");
	term_type("pipe a b; read c 1\n");
	SHOWS("no descriptor is called 'c'");
	SHOWS("strtest>");
	term_type("write a \"x\" -> 7\n");
	SHOWS("expected: 7");
	SHOWS("strtest>");
	term_type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(a_block_goes_on_until_it_is_closed)
{
	if (cannot())
		return;
	begin();
	SHOWS("strtest>");
	term_type("proc twice $text {\n");
	SHOWS("...>");
	term_type("write a $text; write a $text }\n");
	SHOWS("strtest>");
	term_type("pipe a b; call twice \"ab\"; read b 10\n");
	SHOWS("= 4 data=\"abab\"");
	term_type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(an_interrupt_ends_a_call_that_sleeps)
{
	if (cannot())
		return;
	begin();
	SHOWS("strtest>");
	term_type("pipe a b\n");
	SHOWS("b = stream");
	SHOWS("strtest>");
	term_type("read a 1\n");
	SHOWS("read a 1");
	for (int i = 0; i < 100 && kill(term_program, SIGINT) == 0; i++) {
		struct pollfd p = {term_fd, POLLIN, 0};

		if (poll(&p, 1, 100) > 0 && term_appears("EINTR"))
			break;
	}
	SHOWS("= EINTR");
	term_type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(the_end_of_the_input_ends_the_dialogue)
{
	if (cannot())
		return;
	begin();
	SHOWS("strtest>");
	ck_assert_int_eq(term_ended("\004"), 0);
}
END_TEST

START_TEST(a_tab_completes_verbs_names_commands_and_constants)
{
	if (cannot() || !has_libedit())
		return;
	begin();
	SHOWS("strtest>");
	term_type("pip\t end one\n");
	SHOWS("pipe end one");
	SHOWS("one = stream");
	SHOWS("strtest>");
	term_type("ioctl en\t I_SRD\t RMSGN|RPROTDI\t\n");
	SHOWS("= 0");
	SHOWS("strtest>");
	term_type("ioctl end I_GRDOPT -> value=RMSGN|RPROTDIS\n");
	SHOWS("= 0 value=10");
	SHOWS("strtest>");
	term_type("putmsg one hip\t ctl=\"c\"\n");
	SHOWS("first message: hipri ctl=\"c\"");
	term_type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(lines_are_remembered_in_this_dialogue_and_the_next)
{
	if (cannot() || !has_libedit())
		return;
	begin();
	SHOWS("strtest>");
	term_type("print \"remembered\"\n");
	SHOWS("\nremembered");
	SHOWS("strtest>");
	term_type("\020\n"); /* Ctrl-P: the line before */
	SHOWS("\nremembered");
	term_type("quit\n");
	ck_assert_int_eq(ended(), 0);
	begin();
	SHOWS("strtest>");
	term_type("\020\020\n");
	SHOWS("\nremembered");
	term_type("quit\n");
	ck_assert_int_eq(ended(), 0);
}
END_TEST

static Suite *
prompt_suite(void)
{
	Suite *s = suite_create("prompt");
	TCase *t = group(s, "dialogue", 120);

	tcase_add_test(t, a_command_is_carried_out_and_the_streams_are_drawn);
	tcase_add_test(t, a_mistake_is_told_and_the_dialogue_goes_on);
	tcase_add_test(t, a_block_goes_on_until_it_is_closed);
	tcase_add_test(t, an_interrupt_ends_a_call_that_sleeps);
	tcase_add_test(t, the_end_of_the_input_ends_the_dialogue);
	t = group(s, "editing", 120);
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
