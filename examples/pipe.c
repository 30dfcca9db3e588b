/* SPDX-License-Identifier: BSD-2-Clause */
/* A pipe with a module pushed on one end: send, look, receive. */
#include <err.h>
#include <stdio.h>
#include <stropts.h>
#include <ustreams.h>

int
main(void)
{
	int fd[2];
	char name[FMNAMESZ + 1], buf[64];
	ssize_t n;

	if (str_pipe(fd) == -1)
		err(1, "str_pipe");
	if (str_ioctl(fd[0], I_PUSH, "pipemod") == -1)
		err(1, "I_PUSH");
	if (str_ioctl(fd[0], I_LOOK, name) == -1)
		err(1, "I_LOOK");
	if (str_write(fd[0], "hello, stream", 13) == -1)
		err(1, "str_write");
	if ((n = str_read(fd[1], buf, sizeof(buf))) == -1)
		err(1, "str_read");
	printf("through %s: %.*s\n", name, (int)n, buf);
	str_close(fd[0]);
	str_close(fd[1]);
	return 0;
}
