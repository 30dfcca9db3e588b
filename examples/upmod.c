/* SPDX-License-Identifier: BSD-2-Clause */
/* A module of one's own: what is written above it arrives in capitals. */
#include <ctype.h>
#include <err.h>
#include <stdio.h>
#include <stropts.h>
#include <ustreams.h>

static int
upopen(queue_t *q, dev_t *dev, int oflag, int sflag, cred_t *cr)
{
	(void)dev, (void)oflag, (void)sflag, (void)cr;
	qprocson(q); /* from here on messages come through upput */
	return 0;
}

static int
upclose(queue_t *q, int flag, cred_t *cr)
{
	(void)flag, (void)cr;
	qprocsoff(q); /* from here on they flow around us */
	return 0;
}

static int
upput(queue_t *q, mblk_t *mp)
{
	/* Blocks that others share (db_ref > 1) would need copymsg() first. */
	if (q == WR(q) && mp->b_datap->db_type == M_DATA)
		for (mblk_t *bp = mp; bp != NULL; bp = bp->b_cont)
			for (unsigned char *p = bp->b_rptr; p < bp->b_wptr; p++)
				*p = (unsigned char)toupper(*p);
	putnext(q, mp);
	return 0;
}

static struct module_info info = {0x7570, "upmod", 0, INFPSZ, 0, 0};
static struct qinit rinit = {upput, NULL, upopen, upclose, NULL, &info, NULL};
static struct qinit winit = {upput, NULL, NULL, NULL, NULL, &info, NULL};
static struct streamtab upmod = {&rinit, &winit, NULL, NULL};

int
main(void)
{
	int fd[2];
	char buf[64];
	ssize_t n;

	if (ustr_register_module("upmod", &upmod, D_MP) == -1)
		err(1, "ustr_register_module");
	if (str_pipe(fd) == -1 || str_ioctl(fd[0], I_PUSH, "upmod") == -1)
		err(1, "pipe with upmod");
	if (str_write(fd[0], "hello, module", 13) == -1)
		err(1, "str_write");
	if ((n = str_read(fd[1], buf, sizeof(buf))) == -1)
		err(1, "str_read");
	printf("%.*s\n", (int)n, buf);
	return 0;
}
