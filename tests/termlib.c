/* SPDX-License-Identifier: BSD-2-Clause */
/* termlib.c: a program at a terminal of its own. */
#include "termlib.h"
#include "headlib.h"

#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

enum { WAIT = 10000 }; /* ms for anything to appear */

int term_fd = -1;
pid_t term_program;
char term_screen[1 << 20];

static size_t seen;

const char *
term_tool(const char *name)
{
	static char path[PATH_MAX];
	const char *top = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/utils/%s", top != NULL ? top : ".", name);
	return path;
}

bool
term_lacks(const char *name)
{
	if (access(term_tool(name), X_OK) == 0)
		return false;
	printf("skipped: %s was not built\n", term_tool(name));
	return true;
}

static _Noreturn void
become(const char *slave, const char *term, char *const argv[])
{
	int fd;

	setsid();
	fd = open(slave, O_RDWR);
	ioctl(fd, TIOCSCTTY, 0);
	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, 2);
	setenv("TERM", term, 1);
	execv(term_tool(argv[0]), argv);
	_exit(127);
}

void
term_begin(const char *term, char *const argv[])
{
	char slave[64];

	term_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC); /* hangs up with us */
	ck_assert_int_ge(term_fd, 0);
	ck_assert_int_eq(grantpt(term_fd), 0);
	ck_assert_int_eq(unlockpt(term_fd), 0);
	ck_assert_int_eq(ptsname_r(term_fd, slave, sizeof(slave)), 0);
	seen = 0;
	term_program = fork();
	ck_assert_int_ge(term_program, 0);
	if (term_program == 0)
		become(slave, term, argv);
}

bool
term_appears(const char *text)
{
	long until = now_ms() + WAIT;
	struct pollfd p = {term_fd, POLLIN, 0};

	while (now_ms() < until && seen < sizeof(term_screen) - 1) {
		ssize_t n;

		term_screen[seen] = '\0';
		if (strstr(term_screen, text) != NULL)
			return true;
		if (poll(&p, 1, 100) <= 0)
			continue;
		n = read(term_fd, term_screen + seen, sizeof(term_screen) - 1 - seen);
		if (n <= 0)
			break;
		seen += (size_t)n;
	}
	term_screen[seen] = '\0';
	return strstr(term_screen, text) != NULL;
}

void
term_type(const char *text)
{
	seen = 0;
	ck_assert_int_eq(write(term_fd, text, strlen(text)), (ssize_t)strlen(text));
}

int
term_ended(const char *again)
{
	long until = now_ms() + WAIT;
	struct pollfd p = {term_fd, POLLIN, 0};
	int status;

	while (now_ms() < until) {
		if (poll(&p, 1, 200) == 0)
			term_type(again);
		else if (read(term_fd, term_screen, sizeof(term_screen)) <= 0)
			break;
	}
	status = reap(term_program, WAIT);
	close(term_fd);
	return status;
}
