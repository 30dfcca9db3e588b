/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pipe opened before fork(2) works between two children: one writes a
 * million messages, the other reads them one by one until hang-up.
 */
#include <err.h>
#include <stdio.h>
#include <stropts.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ustreams.h>

static int
writer(int fd)
{
	for (int i = 0; i < 1000000; i++)
		if (str_write(fd, &i, sizeof(i)) == -1)
			err(1, "str_write");
	return 0;
}

static int
reader(int fd)
{
	int value, next = 0;
	ssize_t n;

	/* Message-discard mode: each read takes exactly one message. */
	if (str_ioctl(fd, I_SRDOPT, RMSGD) == -1)
		err(1, "I_SRDOPT");
	while ((n = str_read(fd, &value, sizeof(value))) > 0)
		if (value != next++)
			errx(1, "message %d came as number %d", value, next - 1);
	if (n == -1)
		err(1, "str_read");
	printf("%d messages, in order\n", next);
	return 0;
}

int
main(void)
{
	int fd[2], status, failed = 0;

	if (str_pipe(fd) == -1)
		err(1, "str_pipe");
	for (int side = 0; side < 2; side++)
		switch (fork()) {
		case -1:
			err(1, "fork");
		case 0:
			str_close(fd[!side]); /* or the reader never sees the end */
			return side == 0 ? writer(fd[0]) : reader(fd[1]);
		}
	str_close(fd[0]);
	str_close(fd[1]);
	while (wait(&status) != -1)
		failed |= status;
	return failed != 0;
}
