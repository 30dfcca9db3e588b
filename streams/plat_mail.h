/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plat_mail.h: letters between processes that may carry a descriptor.
 *
 * Level 0.  A box is a datagram socket of the abstract name space: it has no
 * file, nobody's permissions matter, and it is gone with its process.  Who
 * writes must therefore prove that he belongs here by what he writes.
 */
#ifndef STREAMS_PLAT_MAIL_H
#define STREAMS_PLAT_MAIL_H

#include "plat.h"

#include <sys/socket.h>
#include <sys/un.h>

struct plat_address {
	struct sockaddr_un pa_name;
	socklen_t pa_len;
};

/* A box of that name, or of one of the kernel's choice (NULL): descriptor or -1. */
int plat_box(const char *name);
/* The address of the box of that name. */
void plat_boxname(struct plat_address *pa, const char *name);
/*
 * Send n bytes and, unless -1, a descriptor: 0 or an errno, ECONNREFUSED when
 * there is no such box, EAGAIN when it is full.
 */
int plat_post(int box, const struct plat_address *to, const void *msg, size_t n, int fd);
/*
 * The next letter of n bytes, shorter and longer ones being thrown away: 0, or
 * EAGAIN when there is none.  *fdp is the descriptor that came with it, not
 * close on exec and the lowest free number, -1 if none, -2 if the process has
 * no number left for it.
 */
int plat_letter(int box, void *msg, size_t n, struct plat_address *from, int *fdp);
/* n random bytes that nobody can guess: 0 or an errno. */
int plat_random(void *buf, size_t n);
/* The same file at the lowest free number, which survives exec: it or -1. */
int plat_dup(int fd);
/* Wait ms milliseconds at most for a letter. */
void plat_await(int box, int ms);

#endif
