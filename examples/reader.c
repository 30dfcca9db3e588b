/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Meets examples/writer.c, a program of its own, at a FIFO of one instance:
 * shows message after message until the last writer has gone.
 *
 *	mkfifo /tmp/meet; ./reader demo /tmp/meet & ./writer demo /tmp/meet hello
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stropts.h>
#include <ustreams.h>

int
main(int argc, char **argv)
{
	char buf[4096];
	ssize_t n;
	int fd;

	if (argc != 3)
		errx(2, "usage: reader INSTANCE FIFO");
	/* The first program that comes makes the instance, the next ones join it. */
	if (str_instance(argv[1]) == -1)
		err(2, "%s", argv[1]);
	if (ustr_instancefault() != NULL)
		errx(2, "%s", ustr_instancefault());
	/* Waits until there is a writer; the file itself the kernel never opens. */
	if ((fd = str_open(argv[2], O_RDONLY)) == -1)
		err(1, "%s", argv[2]);
	/* Message-discard mode: each read takes exactly one message. */
	if (str_ioctl(fd, I_SRDOPT, RMSGD) == -1)
		err(1, "I_SRDOPT");
	while ((n = str_read(fd, buf, sizeof(buf))) > 0)
		printf("%zd bytes: %.*s\n", n, (int)n, buf);
	if (n == -1)
		err(1, "str_read");
	str_close(fd);
	return 0;
}
