/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * streamio.c: a marked byte, found with I_ATMARK, and a question to a driver
 * with I_STR: the example of streamio(4ustr).
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stropts.h>
#include <ustreams.h>

int
main(void)
{
	struct strioctl ic = {'X' << 8, 5, 0, NULL};
	char text[16];
	mblk_t *mp;
	ssize_t n;
	int fd[2], echo;

	if (str_pipe(fd) == -1)
		err(1, "str_pipe");
	if (str_write(fd[0], "before", 6) == -1 || (mp = str_mblkalloc(1)) == NULL)
		err(1, "message");
	*mp->b_wptr++ = '!';
	mp->b_flag |= MSGMARK;
	if (str_putmblk(fd[0], mp) == -1)
		err(1, "str_putmblk");
	while (str_ioctl(fd[1], I_ATMARK, ANYMARK) == 0) {
		if ((n = str_read(fd[1], text, sizeof(text))) == -1)
			err(1, "str_read");
		printf("%.*s\n", (int)n, text);
	}
	printf("at the mark\n");

	if ((echo = str_open("/dev/streams/clone/echo", O_RDWR)) == -1)
		err(1, "echo");
	if (str_ioctl(echo, I_STR, &ic) != -1 || errno != EINVAL)
		err(1, "I_STR");
	printf("echo refuses\n");
	return 0;
}
