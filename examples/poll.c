/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One poll loop for a stream and a kernel pipe: a child writes into both and
 * exits; str_poll() tells which has data and when each is hung up.
 */
#include <err.h>
#include <stdio.h>
#include <unistd.h>
#include <ustreams.h>

static void
child(int stream, int kernel)
{
	for (int i = 1; i <= 3; i++) {
		char text[32];
		int n = snprintf(text, sizeof(text), "message %d", i);

		/* On a kernel descriptor str_write() is write(2). */
		if (str_write(stream, text, n) != n || str_write(kernel, text, n) != n)
			err(1, "str_write");
		usleep(20000);
	}
}

int
main(void)
{
	int s[2], k[2], open = 2;
	const char *name[] = {"stream", "kernel pipe"};

	if (str_pipe(s) == -1 || pipe(k) == -1)
		err(1, "pipes");
	if (fork() == 0) {
		child(s[1], k[1]);
		return 0;
	}
	str_close(s[1]);
	close(k[1]);
	struct pollfd fds[] = {{s[0], POLLIN, 0}, {k[0], POLLIN, 0}};
	while (open > 0) {
		if (str_poll(fds, 2, 5000) <= 0)
			err(1, "str_poll");
		for (int i = 0; i < 2; i++) {
			char buf[64];
			ssize_t n = 0;

			if (fds[i].revents == 0)
				continue;
			if ((n = str_read(fds[i].fd, buf, sizeof(buf))) > 0)
				printf("%s: %.*s\n", name[i], (int)n, buf);
			else if (fds[i].revents & POLLHUP) {
				printf("%s: hung up\n", name[i]);
				fds[i].fd = -1;
				open--;
			}
		}
	}
	return 0;
}
