/* SPDX-License-Identifier: BSD-2-Clause */
/* looktext.c: words and numbers for what a look shows. */
#include "looktext.h"

#include <string.h>
#include <sys/stream.h>

struct word {
	unsigned int flag;
	const char *word;
};

const char *
look_amount(char buf[16], double n, int unit)
{
	static const char letters[] = " KMGTPE";
	int i = 0;

	while (n >= (i == 0 ? 10000 : unit) && letters[i + 1] != '\0') {
		n /= unit;
		i++;
	}
	if (i == 0)
		snprintf(buf, 16, "%.0f", n);
	else
		snprintf(buf, 16, n < 100 ? "%.1f%c" : "%.0f%c", n, letters[i]);
	return buf;
}

const char *
look_kind(int kind)
{
	return kind == USTR_STREAM_PIPE ? "pipe"
	    : kind == USTR_STREAM_FIFO	? "fifo"
					: "device";
}

const char *
look_where(char buf[LOOKTEXT], const struct ustr_view_stream *vs)
{
	if (vs->vs_path[0] != '\0')
		snprintf(buf, LOOKTEXT, "%s", vs->vs_path);
	else if (vs->vs_kind != USTR_STREAM_PIPE)
		snprintf(buf, LOOKTEXT, "%s/%u", vs->vs_driver, vs->vs_minor);
	else if (vs->vs_mate != 0)
		snprintf(buf, LOOKTEXT, "to %u", vs->vs_mate);
	else
		snprintf(buf, LOOKTEXT, "closed");
	return buf;
}

const char *
look_wait(int what)
{
	return what == USTR_WAIT_MESSAGE ? "message"
	    : what == USTR_WAIT_ROOM	 ? "room"
					 : "answer";
}

const char *
look_process_state(int state)
{
	return state == USTR_PROC_LIVE	  ? "live"
	    : state == USTR_PROC_STARTING ? "starting"
	    : state == USTR_PROC_DYING	  ? "dying"
					  : "dead";
}

/* Append a word to a list; what does not fit ends in "...". */
static void
append(char buf[LOOKTEXT], const char *separator, const char *word)
{
	size_t n = strlen(buf);

	if (n + strlen(word) + 8 < LOOKTEXT)
		snprintf(
		    buf + n, LOOKTEXT - n, "%s%s", n > 0 ? separator : "", word);
	else if (n < 3 || strcmp(buf + n - 3, "...") != 0)
		snprintf(buf + n, LOOKTEXT - n, "%s...", separator);
}

static void
words(char buf[LOOKTEXT], const struct word *w, size_t n, unsigned int set,
    const char *separator)
{
	buf[0] = '\0';
	for (size_t i = 0; i < n; i++)
		if (set & w[i].flag)
			append(buf, separator, w[i].word);
}

const char *
look_state(char buf[LOOKTEXT], unsigned int state)
{
	static const struct word w[] = {{USTR_STREAM_HUNGUP, "hungup"},
	    {USTR_STREAM_BROKEN, "broken"}, {USTR_STREAM_RDERR, "rderr"},
	    {USTR_STREAM_WRERR, "wrerr"}, {USTR_STREAM_LINKED, "linked"},
	    {USTR_STREAM_CLOSING, "closing"}, {USTR_STREAM_NOWRITER, "nowriter"},
	    {USTR_STREAM_MREAD, "mread"}, {USTR_STREAM_NDELAY, "ndelay"},
	    {USTR_STREAM_DELIM, "delim"}, {USTR_STREAM_DAMAGED, "damaged"},
	    {USTR_STREAM_SUSPECT, "suspect"}, {USTR_STREAM_CHANGING, "changing"}};

	words(buf, w, sizeof(w) / sizeof(w[0]), state, ",");
	return buf[0] != '\0' ? buf : "-";
}

const char *
look_flags(char buf[LOOKTEXT], unsigned int flags)
{
	static const struct word w[] = {{QENAB, "ENAB"}, {QHLIST, "INSERVICE"},
	    {QWANTR, "WANTR"}, {QWANTW, "WANTW"}, {QFULL, "FULL"}, {QNOENB, "NOENB"}};

	words(buf, w, sizeof(w) / sizeof(w[0]), flags, " ");
	return buf;
}

const char *
look_modules(char buf[LOOKTEXT], const struct ustr_view_stream *vs)
{
	buf[0] = '\0';
	for (unsigned int i = 2; i + 1 < vs->vs_nqueues && i / 2 <= vs->vs_pushed; i += 2)
		append(buf, ",", vs->vs_queues[i].vq_name);
	return buf[0] != '\0' ? buf : "-";
}

const char *
look_pids(char buf[LOOKTEXT], const struct ustr_view_stream *vs)
{
	char pid[16];

	buf[0] = '\0';
	for (unsigned int i = 0; i < vs->vs_nfds; i++) {
		if (i > 0 && vs->vs_fds[i].vf_pid == vs->vs_fds[i - 1].vf_pid)
			continue;
		snprintf(pid, sizeof(pid), "%d", (int)vs->vs_fds[i].vf_pid);
		append(buf, ",", pid);
	}
	return buf[0] != '\0' ? buf : "-";
}

void
look_queued(const struct ustr_view_stream *vs, size_t *bytes, size_t *blocks)
{
	*bytes = *blocks = 0;
	for (unsigned int i = 0; i < vs->vs_nqueues; i++) {
		*bytes += vs->vs_queues[i].vq_bytes + vs->vs_queues[i].vq_pbytes;
		*blocks += vs->vs_queues[i].vq_blocks + vs->vs_queues[i].vq_pblocks;
	}
}
