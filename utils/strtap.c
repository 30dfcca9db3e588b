/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtap.c: print or write the messages of a stream as they pass.
 *
 * With an instance it takes part in it and has the streams recorded for as long as
 * it runs.  With a process or a file it only looks, and sees what is recorded there
 * anyway.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lookopt.h"
#include "pcapng.h"
#include "strtool.h"
#include "tapout.h"
#include "tapset.h"
#include "taptext.h"

enum { RECORDS = 4096, RECORDS_LEAST = 16, RECORDS_MOST = 1 << 20 };
enum { AT_ONCE = 512, PAUSE_MS = 5, SCAN_MS = 250 };

static const char usage[] =
    "usage: strtap [-1x] [-I NAME | -p PID | -f FILE] [-b BAND] [-c COUNT] [-d r|w]\n"
    "              [-e EVENT,...] [-n RECORDS] [-q QUEUE] [-t TYPE,...] [-w FILE] [STREAM...]\n"
    "       strtap -r FILE [-x] [-b BAND] [-c COUNT] ...\n"
    "  print each message that comes to a queue of a stream, or is taken off it;\n"
    "  STREAM is its number, as strls(1) shows it, the path of a FIFO or of an attached\n"
    "  stream, or DRIVER/MINOR; all streams if none is named\n"
    "  -I NAME  take part in that instance; default $USTREAMS_INSTANCE\n"
    "  -p PID   look at the streams of a process: those that it has recorded\n"
    "           (USTREAMS_TUNE=trace=4096 in its environment, or ustr_trace(3ustr))\n"
    "  -f FILE  look at an instance's file, or at a copy of one\n"
    "  -1       end when there is nothing more now, and do not wait\n"
    "  -b BAND  only that band            -d r|w      only read, or write, queues\n"
    "  -c COUNT end after so many         -q QUEUE    such as head, pipemod/W, echo/W1\n"
    "  -e EVENT put get back flush sent   -t TYPE     such as M_PROTO, ioctl, 0x83\n"
    "  -n RECORDS that are kept until they are read, 16 to 1048576 (4096)\n"
    "  -w FILE  write a pcapng file, which wireshark(1) reads; - is standard output\n"
    "  -r FILE  print such a file\n"
    "  -x       bytes in hexadecimal\n"
    "exit status: 0 done, 1 no such stream, or none that is recorded, or with -p nobody has\n"
    "them any more, 2 usage, or it cannot be read or written";

struct settings {
	struct lookopt look;
	struct tapfilter filter;
	struct tapout out;
	const char *from; /* -r */
	long count; /* events that are still wanted, -1 all */
	unsigned int records;
	bool once;
};

static volatile sig_atomic_t stopped;

static void
stop(int sig)
{
	(void)sig;
	stopped = 1;
}

/* ---- events ---------------------------------------------------------------------- */

/* 0; -1: enough, or it cannot be written (*status). */
static int
show(struct settings *s, const struct ustr_event *ev, int *status)
{
	if (!tapfilter_passes(&s->filter, ev))
		return 0;
	if (tapout_event(&s->out, ev) != 0) {
		*status = errno == EPIPE ? TOOL_OK : TOOL_USAGE;
		return -1;
	}
	return s->count > 0 && --s->count == 0 ? -1 : 0;
}

static int
by_time(const void *a, const void *b)
{
	const struct ustr_event *x = a, *y = b;

	if (x->ev_time != y->ev_time)
		return x->ev_time < y->ev_time ? -1 : 1;
	return x->ev_seq < y->ev_seq ? -1 : x->ev_seq > y->ev_seq;
}

struct round {
	struct ustr_event *ev;
	size_t n, room;
};

/* What there is now of all taps, by time: how many, or -1 as show(). */
static long
one_round(struct settings *s, struct tapset *set, struct round *r, int *status)
{
	r->n = 0;
	for (size_t i = 0; i < set->n; i++) {
		uint64_t lost;

		if (r->room - r->n < AT_ONCE) {
			r->room = 2 * r->room + AT_ONCE;
			r->ev = reallocarray(r->ev, r->room, sizeof(*r->ev));
			if (r->ev == NULL)
				abort();
		}
		r->n += tapset_read(set, &set->tap[i], r->ev + r->n, AT_ONCE, &lost);
		if (lost > 0 && tapout_lost(&s->out, set->tap[i].id, lost) != 0)
			return -1;
	}
	qsort(r->ev, r->n, sizeof(*r->ev), by_time);
	for (size_t i = 0; i < r->n; i++)
		if (show(s, &r->ev[i], status) != 0)
			return -1;
	return (long)r->n;
}

static void
pause_ms(long ms)
{
	nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

static int
follow(struct settings *s, struct tapset *set, bool all)
{
	struct round r = {NULL, 0, 0};
	int status = TOOL_OK, rounds = 0;
	long n = 0;

	while (!stopped) {
		bool scan = ++rounds % (SCAN_MS / PAUSE_MS) == 0;
		bool over = scan && s->look.pid != 0 && tapset_over(set);

		if (all && scan)
			tapset_all(set);
		n = one_round(s, set, &r, &status);
		if (n == -1)
			break;
		if (set->error != 0) {
			tool_complain("%s: %s", ustr_look_name(set->look),
			    lookopt_reason(set->error));
			status = TOOL_USAGE;
			break;
		}
		if (n > 0)
			continue;
		if (tapout_flush(&s->out) != 0) {
			status = TOOL_USAGE;
			break;
		}
		if (s->once || (!all && !tapset_alive(set)))
			break;
		if (over) {
			tool_complain("%s: no process has it any more", ustr_look_name(set->look));
			status = TOOL_NO;
			break;
		}
		pause_ms(PAUSE_MS);
	}
	free(r.ev);
	return status;
}

/* ---- which streams ------------------------------------------------------------------- */

static bool
add_named(struct settings *s, struct tapset *set, const char *name)
{
	unsigned int id = tapset_named(set, name);
	int error = id == 0 ? ENOENT : tapset_add(set, id);

	if (error == 0)
		return true;
	if (id == 0)
		tool_complain("'%s': no such stream in %s; legal: a number that strls(1) shows, the "
			      "path of a FIFO or of an attached stream, DRIVER/MINOR", name,
		    ustr_look_name(set->look));
	else if (error == ENOENT && !set->member)
		tool_complain("stream %u is not recorded; legal: one that is, by USTREAMS_TUNE=trace=%u "
			      "in the program's environment or by ustr_trace(3ustr), or -I with a name", id,
		    s->records);
	else
		tool_complain("stream %u: %s", id,
		    error == EAGAIN ? "it has 8 taps already" : tool_reason(error));
	return false;
}

static bool
add_all(struct tapset *set)
{
	tapset_all(set);
	if (set->n > 0 || set->member || set->error != 0)
		return true;
	tool_complain("%s: no stream is recorded; it takes USTREAMS_TUNE=trace=%u in the "
		      "program's environment, ustr_trace(3ustr), or -I with a name",
	    ustr_look_name(set->look), set->records);
	return false;
}

static int
tap(struct settings *s, struct tapset *set, char **names)
{
	bool all = *names == NULL;
	int status;

	if (tapout_begin(&s->out) != 0)
		return TOOL_USAGE;
	for (; *names != NULL; names++)
		if (!add_named(s, set, *names))
			return TOOL_NO;
	if (all && !add_all(set))
		return TOOL_NO;
	status = follow(s, set, all);
	if (tapout_end(&s->out) != 0 && status == TOOL_OK && errno != EPIPE)
		status = TOOL_USAGE;
	return status;
}

/* Take part in the instance that was named: false after a line. */
static bool
join(const struct lookopt *o)
{
	const char *name = o->instance;

	if (name != NULL && ustr_instance(name, USTR_EXISTING) != 0) {
		tool_complain("instance \"%.80s\": not a name; legal: 1 to 64 letters, digits, "
			      "'.', '_', '-', not beginning with '.'", name);
		return false;
	}
	return tool_library();
}

static int
tap_live(struct settings *s, char **names)
{
	struct tapset set = {.records = s->records,
	    .member = s->look.pid == 0 && s->look.file == NULL && !lookopt_none(&s->look)};
	int status = TOOL_USAGE;

	if (s->look.given > 1) {
		tool_complain("one of -I, -p and -f at most");
		return TOOL_USAGE;
	}
	if (set.member && !join(&s->look))
		return TOOL_USAGE;
	set.look = lookopt_open(&s->look);
	if (set.look != NULL)
		status = tap(s, &set, names);
	tapset_end(&set);
	ustr_look_close(set.look);
	return status;
}

/* ---- a file ------------------------------------------------------------------------------ */

static int
print_file(struct settings *s, FILE *from)
{
	struct pcapng_packet p;
	struct ustr_event ev;
	int begun = 0, got, status = TOOL_OK;
	const char *why = "";

	while (!stopped && (got = pcapng_read(from, &p, &begun, &why)) == 1) {
		if (!tap_parse(&ev, p.comment)) {
			got = -1;
			why = "a packet in it has no comment of strtap's";
			break;
		}
		ev.ev_time = p.time;
		memcpy(ev.ev_bytes, p.bytes, p.caplen < USTR_EV_BYTES ? p.caplen : USTR_EV_BYTES);
		if (show(s, &ev, &status) != 0)
			return status;
	}
	if (got != -1)
		return TOOL_OK;
	tool_complain("%s: %s", s->from, why);
	return TOOL_USAGE;
}

static int
read_file(struct settings *s)
{
	FILE *from = strcmp(s->from, "-") == 0 ? stdin : fopen(s->from, "re");
	int status;

	if (from == NULL) {
		tool_complain("%s: %s", s->from, strerror(errno));
		return TOOL_USAGE;
	}
	if (tapout_begin(&s->out) != 0)
		return TOOL_USAGE;
	status = print_file(s, from);
	if (tapout_end(&s->out) != 0 && status == TOOL_OK && errno != EPIPE)
		status = TOOL_USAGE;
	if (from != stdin)
		fclose(from);
	return status;
}

/* ---- arguments ---------------------------------------------------------------------------- */

static int
complain_usage(const char *word, const char *what)
{
	tool_complain("%s: %s; legal: -1bcdefInpqrtwx and streams, see strtap --help", word, what);
	return TOOL_USAGE;
}

static bool
take_number(const char *operand, int option, long least, long most, long *n)
{
	*n = lookopt_number(operand, most);
	if (*n >= least)
		return true;
	tool_complain("-%c '%s': legal: %ld to %ld", option, operand, least, most);
	return false;
}

/* One option: false after a line. */
static bool
take(struct settings *s, int option, const char *operand)
{
	bool bad = false;
	long n;

	switch (option) {
	case '1':
		s->once = true;
		return true;
	case 'x':
		return s->out.hex = true;
	case 'w':
		s->out.path = operand;
		return true;
	case 'r':
		s->from = operand;
		return true;
	case 'c':
		return take_number(operand, option, 1, INT32_MAX, &s->count);
	case 'n':
		if (!take_number(operand, option, RECORDS_LEAST, RECORDS_MOST, &n))
			return false;
		s->records = (unsigned int)n;
		return true;
	default:
		if (!lookopt_take(&s->look, option, operand, &bad))
			return tapfilter_take(&s->filter, option, operand);
		return !bad;
	}
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {LOOKOPT_LONG, {NULL, 0, NULL, 0}};
	struct settings s = {.filter = {.band = -1}, .count = -1, .records = RECORDS};
	struct sigaction sa = {.sa_handler = stop};
	int got;

	tool_begin("strtap");
	tool_standard_options(argc, argv, usage);
	opterr = 0;
	while ((got = getopt_long(argc, argv, ":1b:c:d:e:n:q:r:t:w:x" LOOKOPT_SHORT, options,
		    NULL)) != -1) {
		if (got == ':' || got == '?')
			return complain_usage(tool_refused(argv),
			    got == ':' ? "its value is missing" : "no such option");
		if (!take(&s, got, optarg))
			return TOOL_USAGE;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (s.from == NULL)
		return tap_live(&s, argv + optind);
	if (optind < argc || s.look.given > 0)
		return complain_usage(optind < argc ? argv[optind] : "-r", "a file or streams, not both");
	return read_file(&s);
}
