/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Zero copy: the block filled on one side of a pipe is the very block the
 * other side gets; no byte is copied on the way.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <ustreams.h>

int
main(void)
{
	static const char text[] = "not copied";
	int fd[2];
	mblk_t *mp, *got;
	dblk_t *sent;

	if (str_pipe(fd) == -1)
		err(1, "str_pipe");
	if ((mp = str_mblkalloc(4096)) == NULL)
		err(1, "str_mblkalloc");
	memcpy(mp->b_wptr, text, sizeof(text));
	mp->b_wptr += sizeof(text);
	sent = mp->b_datap;

	if (str_putmblk(fd[0], mp) == -1) {
		freemsg(mp); /* a refused message stays with its sender */
		err(1, "str_putmblk");
	}
	if (str_getmblk(fd[1], &got) == -1)
		err(1, "str_getmblk");

	printf("%zu bytes, \"%s\", %s\n", msgdsize(got), (char *)got->b_rptr,
	    got->b_datap == sent ? "the same data block" : "a copy");
	freemsg(got); /* what was received is the receiver's to free */
	str_close(fd[0]);
	str_close(fd[1]);
	return 0;
}
