/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump.c: a stream drawn as text: ustr_view_draw, and ustr_dump for one's own.
 *
 *   stream 6: pipe, other end 5, 1 pushed, 1 open
 *     open as  18099: 5
 *     head                             each pair, the write side first:
 *       write  ... [###|......] FLAGS    fill bar, '|' is the low-water mark
 *       read   ...
 *     pipemod
 *     ~ other end: stream 5
 */
#include "calls.h"
#include "look.h"

#include <errno.h>
#include <string.h>

#define BAR 20 /* characters of a fill bar */
#define LISTED 16 /* descriptors and sleepers of a stream that are named */

struct flagname {
	unsigned int flag;
	const char *name;
};

static const struct flagname queue_flags[] = { { QENAB, "ENAB" }, { QHLIST, "INSERVICE" },
	{ QWANTR, "WANTR" }, { QWANTW, "WANTW" }, { QFULL, "FULL" }, { QNOENB, "NOENB" },
	{ 0, NULL } };
static const struct flagname states[] = { { USTR_STREAM_HUNGUP, "HUNGUP" },
	{ USTR_STREAM_BROKEN, "BROKEN" }, { USTR_STREAM_RDERR, "RDERR" },
	{ USTR_STREAM_WRERR, "WRERR" }, { USTR_STREAM_LINKED, "LINKED" },
	{ USTR_STREAM_CLOSING, "CLOSING" }, { USTR_STREAM_MREAD, "MREAD" },
	{ USTR_STREAM_NDELAY, "NDELAY" }, { USTR_STREAM_DELIM, "DELIM" },
	{ USTR_STREAM_NOWRITER, "NOWRITER" }, { USTR_STREAM_DAMAGED, "DAMAGED" },
	{ USTR_STREAM_SUSPECT, "SUSPECT" }, { USTR_STREAM_CHANGING, "CHANGING" }, { 0, NULL } };
static const struct flagname band_flags[] = { { QB_FULL, "FULL" }, { QB_WANTW, "WANTW" },
	{ 0, NULL } };

static void
flags(FILE *to, const struct flagname *fn, unsigned int set)
{
	for (; fn->name != NULL; fn++)
		if (set & fn->flag)
			fprintf(to, " %s", fn->name);
}

/* ---- queues --------------------------------------------------------------------------- */

/* n as a part of most, in characters of a bar. */
static size_t
part(size_t n, size_t most)
{
	if (n >= most)
		return n == 0 ? 0 : BAR;
	return (size_t)((double)n / (double)most * BAR + (n > 0 ? 0.999 : 0));
}

static void
bar(FILE *to, size_t bytes, size_t blocks, size_t hiwat, size_t lowat)
{
	size_t fill = part(bytes > blocks ? bytes : blocks, hiwat), low = part(lowat, hiwat);
	char text[BAR + 1];

	memset(text, '.', BAR);
	memset(text, '#', fill);
	if (low > 0 && low <= BAR && hiwat > 0)
		text[low - 1] = fill >= low ? '+' : '|';
	text[BAR] = '\0';
	fprintf(to, "[%s]", text);
}

static void
queue(FILE *to, const struct ustr_view_queue *q)
{
	fprintf(to, "    %s %7zu bytes %5zu blocks  hiwat %zu lowat %zu  ",
		q->vq_read ? "read " : "write", q->vq_bytes, q->vq_blocks, q->vq_hiwat,
		q->vq_lowat);
	bar(to, q->vq_bytes, q->vq_blocks, q->vq_hiwat, q->vq_lowat);
	flags(to, queue_flags, q->vq_flags);
	if (q->vq_pblocks > 0)
		fprintf(to, "  parked %zu bytes %zu blocks", q->vq_pbytes, q->vq_pblocks);
	if (q->vq_owner != 0)
		fprintf(to, "  inside: thread %d", (int)q->vq_owner);
	fputc('\n', to);
	for (unsigned int i = 0; i < q->vq_nbands; i++) {
		const struct ustr_view_band *b = &q->vq_bands[i];

		if (b->vb_blocks == 0 && b->vb_flags == 0)
			continue;
		fprintf(to, "      band %3u %3zu bytes %5zu blocks  hiwat %zu lowat %zu  ",
			b->vb_band, b->vb_bytes, b->vb_blocks, b->vb_hiwat, b->vb_lowat);
		bar(to, b->vb_bytes, b->vb_blocks, b->vb_hiwat, b->vb_lowat);
		flags(to, band_flags, b->vb_flags);
		fputc('\n', to);
	}
}

static void
queues(FILE *to, const struct ustr_view_stream *vs)
{
	for (unsigned int i = 0; i < vs->vs_nqueues; i++) {
		const char *name = vs->vs_queues[i].vq_name;

		if (i == 0)
			fprintf(to, "  %s\n",
				vs->vs_state & USTR_STREAM_LINKED ? "lower queues" : "stream head");
		else if (i % 2 == 0)
			fprintf(to, "  %s\n", name);
		queue(to, &vs->vs_queues[i]);
	}
}

/* ---- people ------------------------------------------------------------------------------ */

static void
holders(FILE *to, const struct ustr_view_stream *vs)
{
	pid_t before = 0;

	for (unsigned int i = 0; i < vs->vs_nfds && i < LISTED; i++) {
		const struct ustr_view_fd *f = &vs->vs_fds[i];

		if (f->vf_pid != before)
			fprintf(to, "%s%d:", i == 0 ? "  open as " : ", ", (int)f->vf_pid);
		fprintf(to, " %d", f->vf_fd);
		before = f->vf_pid;
	}
	if (vs->vs_nfds > 0)
		fprintf(to, vs->vs_nfds > LISTED ? " ... (process: descriptors)\n" :
			" (process: descriptors)\n");
	else if (vs->vs_opens > 0 && vs->vs_attached == 0 && !(vs->vs_state & USTR_STREAM_LINKED))
		fprintf(to, "  open in no process: %s\n", vs->vs_state & USTR_STREAM_DAMAGED ?
			"left by one that was killed" :
			"in a message that nobody has received yet, or being opened");
	if (vs->vs_holder != 0)
		fprintf(to, "  held by thread %d, which pushes, pops or closes\n",
			(int)vs->vs_holder);
	if (vs->vs_plumber != 0)
		fprintf(to, "  group %u is relinked by thread %d\n", vs->vs_group,
			(int)vs->vs_plumber);
}

static void
sleepers(FILE *to, const struct ustr_view_stream *vs)
{
	static const char *const what[] = { [USTR_WAIT_MESSAGE] = "a message",
		[USTR_WAIT_ROOM] = "room", [USTR_WAIT_ANSWER] = "the answer of an ioctl" };

	for (unsigned int i = 0; i < vs->vs_nsleepers && i < LISTED; i++) {
		const struct ustr_view_sleeper *w = &vs->vs_sleepers[i];

		fprintf(to, "  thread %d of %d sleeps%s until there is %s\n", (int)w->vw_tid,
			(int)w->vw_pid, w->vw_poll ? " in str_poll" : "", what[w->vw_for]);
	}
	if (vs->vs_nsleepers > LISTED)
		fprintf(to, "  ... and %u more sleep\n", vs->vs_nsleepers - LISTED);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void
title(FILE *to, const struct ustr_view_stream *vs)
{
	fprintf(to, "stream %u: %s, %u pushed, %u open", vs->vs_id, vs->vs_driver, vs->vs_pushed,
		vs->vs_opens);
	if (vs->vs_kind != USTR_STREAM_PIPE)
		fprintf(to, ", minor %u", vs->vs_minor);
	if (vs->vs_attached > 0)
		fprintf(to, ", %u names attached", vs->vs_attached);
	if (vs->vs_ino != 0)
		fprintf(to, ", %s (inode %llu)", vs->vs_path, (unsigned long long)vs->vs_ino);
	flags(to, states, vs->vs_state);
	fputc('\n', to);
}

static void
bottom(FILE *to, const struct ustr_view_stream *vs)
{
	if (vs->vs_kind == USTR_STREAM_PIPE && vs->vs_mate != 0)
		fprintf(to, "  ~ other end: stream %u\n", vs->vs_mate);
	else if (vs->vs_kind == USTR_STREAM_PIPE)
		fprintf(to, "  ~ other end: closed\n");
	else if (vs->vs_kind == USTR_STREAM_FIFO)
		fprintf(to, "  ~ its own end: %u read, %u write\n", vs->vs_readers, vs->vs_writers);
}

int
ustr_view_draw(const struct ustr_view_stream *vs, FILE *to)
{
	title(to, vs);
	if (vs->vs_mux[0] != '\0')
		fprintf(to, "  ~ below %s, link %d\n", vs->vs_mux, vs->vs_muxid);
	holders(to, vs);
	sleepers(to, vs);
	if (vs->vs_put_blocks > 0)
		fprintf(to, "  arrived %llu bytes %llu blocks, of which read %llu bytes %llu blocks\n",
			(unsigned long long)vs->vs_put_bytes, (unsigned long long)vs->vs_put_blocks,
			(unsigned long long)vs->vs_got_bytes, (unsigned long long)vs->vs_got_blocks);
	queues(to, vs);
	bottom(to, vs);
	if (!ferror(to))
		return 0;
	errno = EIO;
	return -1;
}

int
dump_own(unsigned int id, FILE *to)
{
	struct ustr_look *lk = look_own();
	struct ustr_view *v = lk != NULL ? ustr_look_take(lk) : NULL;
	const struct ustr_view_stream *vs = v != NULL ? ustr_view_stream(v, id) : NULL;
	int error = v == NULL ? errno : vs == NULL ? EBADF : 0;

	if (error == 0 && ustr_view_draw(vs, to) != 0)
		error = errno;
	ustr_view_free(v);
	ustr_look_close(lk);
	return error;
}
