/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Priority bands: five messages go down to the echo driver in one order and
 * come back in another: high priority first, then the highest band.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <stropts.h>
#include <ustreams.h>

static void
post(int fd, int flags, int band, char *text)
{
	struct strbuf part = {0, (int)strlen(text), text};

	/* High priority needs a control part; bands take either. */
	if (putpmsg(fd, flags == MSG_HIPRI ? &part : NULL,
		flags == MSG_HIPRI ? NULL : &part, band, flags) == -1)
		err(1, "putpmsg %s", text);
	printf("sent     %s\n", text);
}

int
main(void)
{
	int fd, count;

	if ((fd = str_open("/dev/streams/clone/echo", O_RDWR)) == -1)
		err(1, "echo");
	post(fd, MSG_BAND, 0, "band 0, first");
	post(fd, MSG_BAND, 0, "band 0, second");
	post(fd, MSG_BAND, 1, "band 1");
	post(fd, MSG_BAND, 5, "band 5");
	post(fd, MSG_HIPRI, 0, "high priority");

	while ((count = str_ioctl(fd, I_NREAD, &(int){0})) > 0) {
		char c[64], d[64];
		struct strbuf ctl = {sizeof(c), 0, c}, data = {sizeof(d), 0, d};
		struct strbuf *got = &data;
		int band = 0, flags = MSG_ANY;

		if (getpmsg(fd, &ctl, &data, &band, &flags) == -1)
			err(1, "getpmsg");
		if (flags == MSG_HIPRI)
			got = &ctl;
		printf("received %.*s (%d left)\n", got->len, got->buf, count - 1);
	}
	return str_close(fd);
}
