/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strperf_child.c: run another program and keep what it wrote.
 *
 * stdout comes through a pipe, whose end of file says that the program is done;
 * stderr goes to a memory file, of which only the last line is of interest.  It
 * leads a process group, so that what it starts ends with it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "strperf_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/string.h>

#include "strperf_intr.h"

static __attribute__((noreturn)) void
become(char *const argv[], int out, int err, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	intr_child(parent, false);
	setpgid(0, 0);
	dup2(null, STDIN_FILENO);
	if (dup2(out, STDOUT_FILENO) != -1 && dup2(err, STDERR_FILENO) != -1)
		execv(argv[0], argv);
	dprintf(err, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Take what comes until the end of file: true; or full, too late, Ctrl-C: false. */
static bool
take(struct child_output *out, int fd, int64_t until)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	size_t len = 0;
	ssize_t n = -1;

	while (len < sizeof(out->text) - 1 && intr_poll(&pfd, 1, until) > 0) {
		n = read(fd, out->text + len, sizeof(out->text) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	out->text[len] = '\0';
	return n == 0;
}

static void
last_line(int fd, char *buf, size_t size)
{
	char text[4096];
	off_t end = lseek(fd, 0, SEEK_END), room = sizeof(text) - 1;
	ssize_t n = pread(fd, text, sizeof(text) - 1, end > room ? end - room : 0);
	const char *line;

	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = '\0';
	line = strrchr(text, '\n');
	line = line == NULL ? text : line + 1;
	strlcpy(buf, line + (strncmp(line, "strperf: ", 9) == 0 ? 9 : 0), size);
}

static int
wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Start and follow the program with its stdout in a pipe and its stderr in err. */
static int
follow(char *const argv[], double seconds, const int out_pipe[2], int err,
    struct child_output *out)
{
	pid_t parent = getpid(), pid;
	int error;

	fflush(NULL);
	pid = fork();
	error = errno;
	if (pid == 0)
		become(argv, out_pipe[1], err, parent);
	close(out_pipe[1]);
	if (pid == -1)
		return error;
	setpgid(pid, pid);
	if (!take(out, out_pipe[0], intr_now() + (int64_t)(seconds * 1e9)))
		kill(-pid, intr_pending() ? SIGINT : SIGKILL);
	out->status = wait_for(pid);
	last_line(err, out->complaint, sizeof(out->complaint));
	return 0;
}

int
child_run(char *const argv[], double seconds, struct child_output *out)
{
	int out_pipe[2], error, err = memfd_create("stderr", MFD_CLOEXEC);

	if (err == -1)
		return errno;
	if (pipe2(out_pipe, O_CLOEXEC) == -1) {
		error = errno;
	} else {
		error = follow(argv, seconds, out_pipe, err, out);
		close(out_pipe[0]);
	}
	close(err);
	return error;
}
