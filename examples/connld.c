/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server that gives each client a pipe of its own, by connld: the clients
 * know nothing but a path.  The server, the parent, adds up what each client
 * sends until it hangs up.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <stropts.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ustreams.h>

#define CLIENTS 3

static int
client(const char *path, int n)
{
	int fd = str_open(path, O_RDWR), sum;

	if (fd == -1)
		err(1, "%s", path);
	for (int i = 1; i <= n; i++)
		if (str_write(fd, &i, sizeof(i)) == -1)
			err(1, "str_write");
	if (str_write(fd, &(int){0}, sizeof(int)) == -1) /* the last one */
		err(1, "str_write");
	if (str_read(fd, &sum, sizeof(sum)) != sizeof(sum))
		err(1, "str_read");
	return sum == n * (n + 1) / 2 ? 0 : 1;
}

static void
serve(int fd)
{
	struct strrecvfd rf;
	int value, sum = 0;

	if (str_ioctl(fd, I_RECVFD, &rf) == -1)
		err(1, "I_RECVFD");
	while (str_read(rf.fd, &value, sizeof(value)) == sizeof(value) && value != 0)
		sum += value;
	if (str_write(rf.fd, &sum, sizeof(sum)) == -1)
		err(1, "str_write");
	printf("a client of user %d: %d\n", (int)rf.uid, sum);
	str_close(rf.fd);
}

int
main(void)
{
	char path[] = "/tmp/serverXXXXXX";
	int file, p[2], status, failed = 0;

	if ((file = mkstemp(path)) == -1)
		err(1, "%s", path);
	close(file);
	if (str_pipe(p) == -1 || str_ioctl(p[1], I_PUSH, "connld") == -1 ||
	    fattach(p[1], path) == -1)
		err(1, "%s", path);
	str_close(p[1]); /* the path holds it */
	fflush(stdout);
	for (int i = 0; i < CLIENTS; i++)
		switch (fork()) {
		case -1:
			err(1, "fork");
		case 0:
			_exit(client(path, 1000 * (i + 1)));
		}
	for (int i = 0; i < CLIENTS; i++)
		serve(p[0]);
	while (wait(&status) != -1)
		failed |= status;
	fdetach(path);
	unlink(path);
	return failed != 0;
}
