/* SPDX-License-Identifier: BSD-2-Clause */
/* strcat_down.c: the stream to standard output, as bytes or a line a message. */
#include "strcat.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stropts.h>
#include <ustreams.h>

enum {
	PIECE = 65536,	/* room for a part of a message */
	HELD = 262144,	/* bytes pending from which on nothing is read */
	AT_ONCE = 4096, /* what a pipe that is ready takes without blocking */
};

size_t
hex_encode(const char *from, size_t n, char *to)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)from[i];

		if (i > 0)
			to[len++] = ' ';
		to[len++] = digits[c >> 4];
		to[len++] = digits[c & 15];
	}
	return len;
}

/* ---- taking messages ------------------------------------------------------------------- */

static int
append(struct cat_flow *down, const char *from, size_t n, bool goes_on)
{
	struct bytes *b = &down->b;
	bool hex = down->o->hex;

	while (b->room - b->end < 3 * n + 2)
		if (bytes_grow(b, 0) != 0)
			return -1;
	if (hex && goes_on && n > 0)
		b->v[b->end++] = ' ';
	if (hex)
		b->end += hex_encode(from, n, b->v + b->end);
	else
		memcpy(b->v + b->end, from, n);
	b->end += hex ? 0 : n;
	return 0;
}

/* What of a message has come so far. */
struct message {
	bool any;    /* bytes of the part that is coming */
	bool tabbed; /* the control part is behind us */
};

/* A control part, or a piece of one. */
static int
take_control(struct cat_flow *down, const struct strbuf *c, bool more, struct message *m)
{
	if (c->len < 0 || m->tabbed)
		return 0;
	if (!down->o->control) {
		down->dropped += !more;
		m->tabbed = !more;
		return 0;
	}
	if (append(down, c->buf, (size_t)c->len, m->any) != 0)
		return -1;
	m->any = more;
	m->tabbed = !more;
	if (!more)
		down->b.v[down->b.end++] = '\t';
	return 0;
}

/*
 * A hung-up stream that is empty gives two empty parts, as a message of them does.
 * Whoever sent such a one last before the hang-up loses an empty line.
 */
static bool
hung_up(int fd)
{
	struct pollfd p = {fd, POLLRDNORM, 0};
	int bytes;

	return str_poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0 &&
	    str_ioctl(fd, I_NREAD, &bytes) == 0;
}

/*
 * All pieces of the message at the front: 0, or an errno; ENODATA: the end of what
 * is sent, an empty message or a hang-up.
 */
static int
take_message(struct cat_flow *down)
{
	static char cbuf[PIECE], dbuf[PIECE];
	struct message m = {false, false};
	int more, band, flags;

	if (append(down, "", 0, false) != 0)
		return ENOMEM;
	do {
		struct strbuf c = {sizeof(cbuf), -1, cbuf}, d = {sizeof(dbuf), -1, dbuf};

		band = 0;
		flags = MSG_ANY;
		more = getpmsg(down->n->in, &c, &d, &band, &flags);
		if (more == -1)
			return errno;
		if (c.len == 0 && d.len == 0 && !m.any && !m.tabbed && hung_up(down->n->in)) {
			down->hung = true;
			return ENODATA;
		}
		if (take_control(down, &c, (more & MORECTL) != 0, &m) != 0 ||
		    (d.len > 0 && append(down, dbuf, (size_t)d.len, m.any) != 0))
			return ENOMEM;
		m.any = m.any || d.len > 0;
	} while (more != 0);
	if (down->o->messages)
		down->b.v[down->b.end++] = '\n';
	else if (!m.any && !m.tabbed)
		return ENODATA; /* an empty message: the end of what was sent */
	down->whole = down->b.end - down->b.at;
	return 0;
}

static void
take(struct cat_flow *down)
{
	int error = 0;

	while (error == 0 && down->b.end - down->b.at < HELD)
		error = take_message(down);
	if (error == 0 || error == EAGAIN || error == EINTR)
		return;
	down->ended = true;
	if (error == ENODATA)
		return;
	down->status = 1;
	if (error == EBADMSG)
		cat_complain("%s: a passed descriptor came, which is no message of bytes",
		    down->n->name);
	else if (error == EIO)
		cat_complain("%s: broken, as a process was killed while it used it",
		    down->n->name);
	else
		cat_complain("%s: %s", down->n->name, strerror(error));
}

/* ---- writing ---------------------------------------------------------------------------- */

/*
 * Write some.  A terminal that was stopped may block: then the signals that are
 * else looked for between two turns may end the program, which holds no stream.
 */
static ssize_t
write_some(const char *from, size_t n)
{
	static struct stat st;
	sigset_t none, old;
	ssize_t done;

	if (st.st_mode == 0)
		fstat(STDOUT_FILENO, &st);
	if (!S_ISREG(st.st_mode) && n > AT_ONCE)
		n = AT_ONCE;
	if (!S_ISCHR(st.st_mode))
		return write(STDOUT_FILENO, from, n);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, &old);
	done = write(STDOUT_FILENO, from, n);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return done;
}

static void
give(struct cat_flow *down)
{
	struct bytes *b = &down->b;
	ssize_t n = write_some(b->v + b->at, down->whole);

	if (n >= 0) {
		bytes_used(b, (size_t)n);
		down->whole -= (size_t)n;
		return;
	}
	if (errno == EAGAIN || errno == EINTR)
		return;
	down->ended = down->done = true;
	down->whole = 0;
	if (errno == EPIPE) {
		down->unwanted = true;
		return;
	}
	cat_complain("standard output: %s", strerror(errno));
	down->status = 1;
}

/* ---- turns -------------------------------------------------------------------------------- */

void
down_wants(const struct cat_flow *down, struct pollfd *stream, struct pollfd *sink)
{
	if (down->done)
		return;
	if (down->whole > 0)
		sink->events |= POLLOUT;
	if (!down->ended && down->whole < HELD)
		stream->events |= POLLRDNORM | POLLRDBAND | POLLPRI;
}

void
down_go(struct cat_flow *down, const struct pollfd *stream, const struct pollfd *sink)
{
	const short there = POLLRDNORM | POLLRDBAND | POLLPRI | POLLHUP | POLLERR;

	if (down->done)
		return;
	if (!down->ended && (stream->revents & there) != 0 && down->whole < HELD)
		take(down);
	if (down->whole > 0 && sink->revents != 0)
		give(down);
	if (down->ended && down->whole == 0)
		down->done = true;
}
