/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Meets examples/reader.c, a program of its own, at a FIFO of one instance:
 * sends it each further argument as a message.
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <ustreams.h>

int
main(int argc, char **argv)
{
	int fd;

	if (argc < 4)
		errx(2, "usage: writer INSTANCE FIFO MESSAGE...");
	signal(SIGPIPE, SIG_IGN); /* a reader that has gone is an error, not the end */
	if (str_instance(argv[1]) == -1)
		err(2, "%s", argv[1]);
	if (ustr_instancefault() != NULL)
		errx(2, "%s", ustr_instancefault());
	/* Waits until there is a reader, in whatever program of the instance. */
	if ((fd = str_open(argv[2], O_WRONLY)) == -1)
		err(1, "%s", argv[2]);
	for (int i = 3; i < argc; i++)
		if (str_write(fd, argv[i], strlen(argv[i])) == -1)
			err(1, "str_write");
	str_close(fd);
	return 0;
}
