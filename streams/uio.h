/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uio.h: a cursor over a caller's buffers.
 *
 * Level 10.  One for read and write, plain and vector, so that there is one
 * read loop and one write path.
 */
#ifndef STREAMS_UIO_H
#define STREAMS_UIO_H

#include "plat.h"

#include <errno.h>
#include <limits.h>
#include <sys/uio.h>

struct uio {
	const struct iovec *u_iov; /* buffer the cursor is in */
	size_t u_off;		   /* bytes of it already used */
	size_t u_left;		   /* bytes left in all */
};

/* Judge the buffers: 0, EINVAL (count, sum), EFAULT. */
INLINE int
uio_init(struct uio *u, const struct iovec *iov, int n)
{
	u->u_iov = iov;
	u->u_off = 0;
	u->u_left = 0;
	for (int i = 0; i < n; i++) {
		if (!plat_judge(iov[i].iov_base, iov[i].iov_len))
			return EFAULT;
		if (iov[i].iov_len > SSIZE_MAX - u->u_left)
			return EINVAL;
		u->u_left += iov[i].iov_len;
	}
	return 0;
}

/* The next bytes, at most n: where, and how many; the cursor stays. */
INLINE size_t
uio_span(struct uio *u, size_t n, void **p)
{
	while (u->u_off == u->u_iov->iov_len) {
		u->u_iov++;
		u->u_off = 0;
	}
	*p = (char *)u->u_iov->iov_base + u->u_off;
	return u->u_iov->iov_len - u->u_off < n ? u->u_iov->iov_len - u->u_off : n;
}

/* Copy n <= u_left bytes out to the buffers: 0 or EFAULT (cursor undefined). */
INLINE int
uio_out(struct uio *u, const void *from, size_t n)
{
	const char *src = from;

	ASSERT(n <= u->u_left);
	while (n > 0) {
		void *p;
		size_t k = uio_span(u, n, &p);

		if (plat_copyout(p, src, k) != 0)
			return EFAULT;
		u->u_off += k;
		u->u_left -= k;
		src += k;
		n -= k;
	}
	return 0;
}

/* Copy n <= u_left bytes in. */
INLINE int
uio_in(struct uio *u, void *to, size_t n)
{
	char *dst = to;

	ASSERT(n <= u->u_left);
	while (n > 0) {
		void *p;
		size_t k = uio_span(u, n, &p);

		if (plat_copyin(dst, p, k) != 0)
			return EFAULT;
		u->u_off += k;
		u->u_left -= k;
		dst += k;
		n -= k;
	}
	return 0;
}

#endif
