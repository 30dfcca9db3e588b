/* SPDX-License-Identifier: BSD-2-Clause */
/* strcat_up.c: standard input to the stream, as bytes or a message a line. */
#include "strcat.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stropts.h>
#include <ustreams.h>

enum { BAND_CHUNK = 4096 }; /* bytes of a message where bytes go in a band */

/* ---- a message -------------------------------------------------------------------- */

long
hex_decode(const char *from, size_t n, char *to)
{
	long len = 0;
	int high = -1;

	for (size_t i = 0; i < n; i++) {
		int c = (unsigned char)from[i];
		int digit = isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;

		if (isspace(c) && high == -1)
			continue;
		if (!isxdigit(c))
			return -1;
		if (high == -1) {
			high = digit;
			continue;
		}
		to[len++] = (char)(high * 16 + digit);
		high = -1;
	}
	return high == -1 ? len : -1;
}

/* An empty message, which putmsg() sends on a pipe or FIFO only where SNDZERO is set. */
static int
send_empty(struct cat_flow *up)
{
	mblk_t *mp = str_mblkalloc(0);
	int error;

	if (mp == NULL)
		return ENOSR;
	mp->b_band = (unsigned char)up->o->band;
	if (str_putmblk(up->n->out, mp) == 0)
		return 0;
	error = errno;
	freemsg(mp);
	return error;
}

/* Send one message: 0, or an errno. */
static int
send_one(struct cat_flow *up, char *ctl, long nctl, char *data, long ndata)
{
	struct strbuf c = {0, (int)nctl, ctl}, d = {0, (int)ndata, data};

	if (ctl == NULL && ndata == 0)
		return send_empty(up);
	if (putpmsg(up->n->out, ctl != NULL ? &c : NULL, &d, up->o->band, MSG_BAND) == -1)
		return errno;
	return 0;
}

static void
fail(struct cat_flow *up, int error, size_t len)
{
	up->status = 1;
	up->ended = up->done = true;
	if (error == EPIPE || error == ENXIO)
		cat_complain("%s: the other side has gone; what was not sent is lost",
		    up->n->name);
	else if (error == ERANGE && len > up->most)
		cat_complain("line %lu: %zu bytes are more than a message may have; legal: at "
			     "most %zu",
		    up->line, len, up->most);
	else if (error == ERANGE)
		cat_complain("line %lu: %zu bytes are more than a message on %s may have",
		    up->line, len, up->n->name);
	else if (error == EIO)
		cat_complain("%s: broken, as a process was killed while it used it",
		    up->n->name);
	else if (error == ENOSR)
		cat_complain("%s: %s", up->n->name, name_full());
	else
		cat_complain("%s: %s", up->n->name, strerror(error));
}

/* A line as it stands in the buffer: 0, or an errno; EBADMSG: no such line. */
static int
send_line(struct cat_flow *up, char *line, size_t n)
{
	char *tab = up->o->control ? memchr(line, '\t', n) : NULL;
	char *data = tab != NULL ? tab + 1 : line, *decoded;
	long nctl = tab != NULL ? tab - line : 0, ndata = (long)n - (data - line);
	int error = ENOMEM;

	if (!up->o->hex)
		return send_one(up, tab != NULL ? line : NULL, nctl, data, ndata);
	decoded = malloc(n + 2);
	if (decoded == NULL)
		return ENOMEM;
	nctl = hex_decode(line, (size_t)nctl, decoded);
	ndata = nctl < 0 ? -1 : hex_decode(data, (size_t)ndata, decoded + nctl);
	error = ndata < 0
	    ? EBADMSG
	    : send_one(up, tab != NULL ? decoded : NULL, nctl, decoded + nctl, ndata);
	free(decoded);
	return error;
}

/* ---- sending ------------------------------------------------------------------------- */

/* The line at the front, its newline not counted; false: it has not ended yet. */
static bool
line_ready(const struct cat_flow *up, size_t *len)
{
	const struct bytes *b = &up->b;
	const char *nl = memchr(b->v + b->at, '\n', b->end - b->at);

	if (nl == NULL && !(up->ended && b->end > b->at))
		return false;
	*len = nl != NULL ? (size_t)(nl - b->v) - b->at : b->end - b->at;
	return true;
}

/* Send lines until the stream is full or no whole one is left. */
static int
send_lines(struct cat_flow *up)
{
	struct bytes *b = &up->b;
	size_t len = 0;
	int error = 0;

	while (error == 0 && line_ready(up, &len)) {
		up->line++;
		error = len > up->most ? ERANGE : send_line(up, b->v + b->at, len);
		if (error == 0)
			bytes_used(b, len + (b->at + len < b->end));
		else if (error == EAGAIN)
			up->line--;
		else if (error == EBADMSG)
			cat_complain("line %lu: no hexadecimal digits in pairs, such as "
				     "68 69%s",
			    up->line, up->o->control ? ", control part and tab first" : "");
		if (error == EBADMSG)
			up->status = 1, up->ended = up->done = true;
		else if (error != 0 && error != EAGAIN)
			fail(up, error, len);
	}
	return error;
}

static int
send_bytes(struct cat_flow *up)
{
	struct bytes *b = &up->b;
	size_t n = 0;
	int error = 0;

	while (error == 0 && b->end > b->at) {
		n = b->end - b->at;
		if (up->o->band > 0) {
			n = n < BAND_CHUNK ? n : BAND_CHUNK;
			error = send_one(up, NULL, 0, b->v + b->at, (long)n);
		} else {
			ssize_t sent = str_write(up->n->out, b->v + b->at, n);

			error = sent == -1 ? errno : 0;
			n = sent == -1 ? 0 : (size_t)sent;
		}
		if (error == 0)
			bytes_used(b, n);
		else if (error != EAGAIN)
			fail(up, error, n);
	}
	return error;
}

/*
 * stdin has ended and all of it is sent: tell the other side.  A FIFO tells it by
 * itself; elsewhere an empty message is the end of what is read, unless messages
 * are lines, of which an empty one is nothing special.
 */
static void
say_end(struct cat_flow *up)
{
	int error = 0;

	if (up->n->kind != NAME_FIFO && !up->o->messages)
		error = send_one(up, NULL, 0, (char[]){0}, 0);
	if (error == EAGAIN)
		return;
	if (error != 0 && error != EPIPE && error != ENXIO)
		fail(up, error, 0);
	if (up->n->kind == NAME_FIFO && up->n->in != -1)
		name_close(up->n, SIDE_OUT);
	up->done = true;
}

static void
take(struct cat_flow *up)
{
	struct bytes *b = &up->b;
	ssize_t n;

	if (b->end == b->room && bytes_grow(b, up->most * (up->o->hex ? 6 : 2) + 2) != 0) {
		up->line++;
		fail(up, ERANGE, b->end - b->at);
		return;
	}
	n = read(STDIN_FILENO, b->v + b->end, b->room - b->end);
	if (n > 0)
		b->end += (size_t)n;
	else if (n == 0)
		up->ended = true;
	else if (errno != EAGAIN && errno != EINTR) {
		cat_complain("standard input: %s", strerror(errno));
		up->status = 1;
		up->ended = true;
	}
}

/* ---- turns ------------------------------------------------------------------------------ */

static bool
pending(const struct cat_flow *up)
{
	size_t len;

	return up->o->messages ? line_ready(up, &len) : up->b.end > up->b.at;
}

void
up_wants(const struct cat_flow *up, struct pollfd *source, struct pollfd *stream)
{
	if (up->done)
		return;
	if (pending(up) || up->ended)
		stream->events |= up->o->band > 0 ? POLLWRBAND : POLLWRNORM;
	else
		source->events |= POLLIN;
}

void
up_go(struct cat_flow *up, const struct pollfd *source, const struct pollfd *stream)
{
	bool room = (stream->revents & (POLLWRNORM | POLLWRBAND | POLLERR | POLLHUP)) != 0;
	int error;

	if (up->done)
		return;
	if (source->revents != 0)
		take(up);
	if (!room && source->revents == 0)
		return;
	error = up->o->messages ? send_lines(up) : send_bytes(up);
	if (error == EAGAIN && room && up->o->band > 0)
		usleep(1000); /* another band has room, which poll cannot tell apart */
	if (!up->done && up->ended && !pending(up))
		say_end(up);
}
