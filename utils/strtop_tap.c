/* SPDX-License-Identifier: BSD-2-Clause */
/* strtop_tap.c: the messages of a stream, as strtap prints them. */
#include "strtop_tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *
last(struct tap *t)
{
	return t->line[t->n % TAP_LINES];
}

static void
end_line(struct tap *t)
{
	last(t)[t->len] = '\0';
	t->n++;
	t->len = 0;
}

static void
say(struct tap *t, const char *text)
{
	t->len = (size_t)snprintf(last(t), TAP_WIDTH, "%s", text);
	if (t->len >= TAP_WIDTH)
		t->len = TAP_WIDTH - 1;
	end_line(t);
}

/*
 * Run strtap, beside this program or where the shell finds it, with out as its
 * output: 0 or an errno.  Not by fork: a child that is ended before it has become
 * strtap would put the terminal back in order, as curses does when it is killed.
 */
static int
spawn_strtap(const char *option, const char *value, unsigned int id, int out, pid_t *pid)
{
	char path[4096], number[16];
	char *argv[] = {"strtap", (char *)(uintptr_t)option, (char *)(uintptr_t)value, number,
	    NULL};
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	posix_spawn_file_actions_t files;
	int error = ENOENT;
	char *slash;

	snprintf(number, sizeof(number), "%u", id);
	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
	if (slash != NULL) {
		memcpy(slash + 1, "strtap", 7);
		error = posix_spawn(pid, path, &files, NULL, argv, environ);
	}
	if (error == ENOENT)
		error = posix_spawnp(pid, "strtap", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return error;
}

void
tap_begin(struct tap *t, const char *option, const char *value, unsigned int id)
{
	char why[64];
	int p[2], error;

	*t = (struct tap){.fd = -1};
	if (pipe2(p, O_CLOEXEC) == -1) {
		say(t, strerror(errno));
		return;
	}
	error = spawn_strtap(option, value, id, p[1], &t->pid);
	close(p[1]);
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	t->fd = p[0];
	if (error != 0) {
		snprintf(why, sizeof(why), "strtap: %s", strerror(error));
		say(t, why);
		close(t->fd);
		t->fd = -1;
	}
}

void
tap_end(struct tap *t)
{
	if (t->fd == -1)
		return;
	close(t->fd);
	t->fd = -1;
	if (t->pid > 0) {
		kill(t->pid, SIGTERM);
		waitpid(t->pid, NULL, 0);
	}
}

void
tap_read(struct tap *t)
{
	char buf[4096];
	ssize_t n;

	if (t->fd == -1)
		return;
	while ((n = read(t->fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] == '\n')
				end_line(t);
			else if (t->len < TAP_WIDTH - 1)
				last(t)[t->len++] = buf[i];
		}
	if (n == 0)
		tap_end(t);
}

int
tap_shown(const struct tap *t, int rows)
{
	unsigned int most = t->n < TAP_LINES - 1 ? t->n : TAP_LINES - 1;

	return rows < 0 ? 0 : (unsigned int)rows < most ? rows : (int)most;
}

const char *
tap_line(const struct tap *t, int n)
{
	return t->line[(t->n - (unsigned int)n) % TAP_LINES];
}
