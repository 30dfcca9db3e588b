/* SPDX-License-Identifier: BSD-2-Clause */
/* taptext.c: events of the flight recorder as text, and back. */
#include "taptext.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- names ----------------------------------------------------------------------- */

static const struct {
	unsigned char type;
	const char *name;
} types[] = {{M_DATA, "M_DATA"}, {M_PROTO, "M_PROTO"}, {M_BREAK, "M_BREAK"},
    {M_PASSFP, "M_PASSFP"}, {M_EVENT, "M_EVENT"}, {M_SIG, "M_SIG"}, {M_DELAY, "M_DELAY"},
    {M_CTL, "M_CTL"}, {M_IOCTL, "M_IOCTL"}, {M_SETOPTS, "M_SETOPTS"}, {M_RSE, "M_RSE"},
    {M_IOCACK, "M_IOCACK"}, {M_IOCNAK, "M_IOCNAK"}, {M_PCPROTO, "M_PCPROTO"},
    {M_PCSIG, "M_PCSIG"}, {M_READ, "M_READ"}, {M_FLUSH, "M_FLUSH"}, {M_STOP, "M_STOP"},
    {M_START, "M_START"}, {M_HANGUP, "M_HANGUP"}, {M_ERROR, "M_ERROR"},
    {M_COPYIN, "M_COPYIN"}, {M_COPYOUT, "M_COPYOUT"}, {M_IOCDATA, "M_IOCDATA"},
    {M_PCRSE, "M_PCRSE"}, {M_STOPI, "M_STOPI"}, {M_STARTI, "M_STARTI"},
    {M_PCEVENT, "M_PCEVENT"}, {M_UNHANGUP, "M_UNHANGUP"}};

static const char *const whats[] = {"?", "put", "get", "back", "flush", "sent"};

enum { NTYPES = sizeof(types) / sizeof(types[0]), NWHATS = sizeof(whats) / sizeof(whats[0]) };

const char *
tap_type(char buf[16], unsigned int type)
{
	for (size_t i = 0; i < NTYPES; i++)
		if (types[i].type == type)
			return types[i].name;
	snprintf(buf, 16, "%#x", type);
	return buf;
}

int
tap_type_named(const char *name)
{
	char *end;
	long n;

	for (size_t i = 0; i < NTYPES; i++)
		if (strcasecmp(types[i].name, name) == 0 ||
		    strcasecmp(types[i].name + 2, name) == 0)
			return types[i].type;
	n = strtol(name, &end, 0);
	return isdigit((unsigned char)*name) && *end == '\0' && n <= 255 ? (int)n : -1;
}

const char *
tap_what(unsigned int what)
{
	return whats[what < NWHATS ? what : 0];
}

int
tap_what_named(const char *name)
{
	for (int i = 1; i < NWHATS; i++)
		if (strcasecmp(whats[i], name) == 0)
			return i;
	return -1;
}

const char *
tap_queue(char buf[32], const struct ustr_event *ev)
{
	bool head = strcmp(ev->ev_queue, "strhead") == 0;

	snprintf(buf, 32, "%s/%c%u", head ? "head" : ev->ev_queue, ev->ev_side, ev->ev_place);
	return buf;
}

/* ---- a line ----------------------------------------------------------------------- */

static void
print_time(FILE *to, int64_t ns)
{
	time_t s = (time_t)(ns / 1000000000);
	struct tm tm;
	char text[16];

	localtime_r(&s, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fprintf(to, "%s.%06d", text, (int)(ns % 1000000000 / 1000));
}

static void
print_bytes(FILE *to, const unsigned char *p, unsigned int n, bool hex)
{
	for (unsigned int i = 0; i < n; i++)
		if (hex)
			fprintf(to, i > 0 && i % 4 == 0 ? " %02x" : "%02x", p[i]);
		else
			putc(p[i] >= ' ' && p[i] <= '~' ? p[i] : '.', to);
}

/* One part: what is there of it, and dots if that is not all. */
static void
print_part(FILE *to, const char *before, const unsigned char *p, unsigned int n,
    unsigned int whole, bool hex)
{
	/* Of what was taken only the first block's bytes are known. */
	if (whole == 0 || n == 0)
		return;
	fputs(before, to);
	if (!hex)
		putc('"', to);
	print_bytes(to, p, n, hex);
	if (!hex)
		putc('"', to);
	if (n < whole)
		fputs("...", to);
}

/* Of a question or an answer: the command. */
static bool
print_ioctl(FILE *to, const struct ustr_event *ev)
{
	struct iocblk ioc;

	if ((ev->ev_type != M_IOCTL && ev->ev_type != M_IOCACK && ev->ev_type != M_IOCNAK) ||
	    ev->ev_nctl < sizeof(ioc))
		return false;
	memcpy(&ioc, ev->ev_bytes, sizeof(ioc));
	fprintf(to, "  command %#x", (unsigned int)ioc.ioc_cmd);
	if (ev->ev_type != M_IOCTL)
		fprintf(to, " returns %d error %d", ioc.ioc_rval, ioc.ioc_error);
	return true;
}

void
tap_line(FILE *to, const struct ustr_event *ev, bool hex)
{
	char queue[32], type[16], size[32];

	if (ev->ev_ctl > 0)
		snprintf(size, sizeof(size), "%u+%u", ev->ev_ctl, ev->ev_data);
	else
		snprintf(size, sizeof(size), "%u", ev->ev_data);
	print_time(to, ev->ev_time);
	fprintf(to, " %7d %4u %-12s %-5s %-10s %3u %7s%s%s", (int)ev->ev_pid, ev->ev_stream,
	    tap_queue(queue, ev), tap_what(ev->ev_what), tap_type(type, ev->ev_type),
	    ev->ev_band, size, ev->ev_flag & MSGMARK ? " mark" : "",
	    ev->ev_flag & MSGDELIM ? " delim" : "");
	if (hex || !print_ioctl(to, ev)) {
		print_part(to, ev->ev_data > 0 ? "  control " : "  ", ev->ev_bytes, ev->ev_nctl,
		    ev->ev_ctl, hex);
		print_part(to, ev->ev_ctl > 0 ? " data " : "  ", ev->ev_bytes + ev->ev_nctl,
		    ev->ev_ndata, ev->ev_data, hex);
	}
	putc('\n', to);
}

/* ---- the comment of a packet --------------------------------------------------------- */

void
tap_comment(char buf[TAPTEXT], const struct ustr_event *ev)
{
	char type[16];

	snprintf(buf, TAPTEXT,
	    "stream %u queue %s/%c%u %s %s band %u control %u/%u data %u/%u blocks %u "
	    "flags %#x process %d thread %d event %llu",
	    ev->ev_stream, ev->ev_queue, ev->ev_side, ev->ev_place, tap_what(ev->ev_what),
	    tap_type(type, ev->ev_type), ev->ev_band, ev->ev_nctl, ev->ev_ctl, ev->ev_ndata,
	    ev->ev_data, ev->ev_blocks, ev->ev_flag, (int)ev->ev_pid, (int)ev->ev_tid,
	    (unsigned long long)ev->ev_seq);
}

bool
tap_parse(struct ustr_event *ev, const char *comment)
{
	unsigned int place, band, nctl, ndata, blocks, flag;
	char what[16], type[16];
	unsigned long long seq;
	int n;

	memset(ev, 0, sizeof(*ev));
	n = sscanf(comment,
	    "stream %u queue %13[^/]/%c%u %15s %15s band %u control %u/%u data %u/%u "
	    "blocks %u flags %x process %d thread %d event %llu",
	    &ev->ev_stream, ev->ev_queue, &ev->ev_side, &place, what, type, &band, &nctl,
	    &ev->ev_ctl, &ndata, &ev->ev_data, &blocks, &flag, &ev->ev_pid, &ev->ev_tid, &seq);
	if (n != 16 || tap_what_named(what) == -1 || tap_type_named(type) == -1 ||
	    nctl > USTR_EV_BYTES || ndata > USTR_EV_BYTES - nctl)
		return false;
	ev->ev_place = (unsigned char)place;
	ev->ev_what = (unsigned char)tap_what_named(what);
	ev->ev_type = (unsigned char)tap_type_named(type);
	ev->ev_band = (unsigned char)band;
	ev->ev_nctl = (unsigned char)nctl;
	ev->ev_ndata = (unsigned char)ndata;
	ev->ev_blocks = (unsigned char)blocks;
	ev->ev_flag = (unsigned short)flag;
	ev->ev_seq = seq;
	return true;
}
