/* SPDX-License-Identifier: BSD-2-Clause */
/* tapout.c: events to lines or to a pcapng file. */
#include "tapout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <stropts.h>

#include "pcapng.h"
#include "strtool.h"
#include "taptext.h"

/* ---- which ----------------------------------------------------------------------- */

/* "pipemod" is all its queues, "pipemod/W" those of one side, "pipemod/W2" one. */
static bool
queue_matches(const char *wanted, const struct ustr_event *ev)
{
	char queue[32];
	size_t n = strlen(wanted);

	tap_queue(queue, ev);
	return strncmp(queue, wanted, n) == 0 &&
	    (queue[n] == '\0' || (strchr(wanted, '/') != NULL ? wanted[n - 1] > '9' : queue[n] == '/'));
}

bool
tapfilter_passes(const struct tapfilter *f, const struct ustr_event *ev)
{
	return (!f->types || f->type[ev->ev_type]) && (f->band < 0 || f->band == ev->ev_band) &&
	    (f->side == 0 || f->side == ev->ev_side) &&
	    (f->whats == 0 || (f->whats & 1u << ev->ev_what) != 0) &&
	    (f->queue == NULL || queue_matches(f->queue, ev));
}

/* Each word of a list. */
static bool
take_list(const char *operand, bool (*take)(struct tapfilter *, const char *),
    struct tapfilter *f)
{
	char copy[256], *rest = copy, *word;

	if (strlen(operand) >= sizeof(copy))
		return false;
	strcpy(copy, operand);
	while ((word = strsep(&rest, ",")) != NULL)
		if (!take(f, word))
			return false;
	return true;
}

static bool
take_type(struct tapfilter *f, const char *word)
{
	int type = tap_type_named(word);

	if (type == -1)
		return false;
	f->types = f->type[type] = true;
	return true;
}

static bool
take_what(struct tapfilter *f, const char *word)
{
	int what = tap_what_named(word);

	if (what == -1)
		return false;
	f->whats |= 1u << what;
	return true;
}

static bool
take_band(struct tapfilter *f, const char *word)
{
	char *end;
	long n = strtol(word, &end, 10);

	f->band = (int)n;
	return end != word && *end == '\0' && n >= 0 && n <= 255;
}

static bool
take_side(struct tapfilter *f, const char *word)
{
	f->side = *word == 'r' || *word == 'R' ? 'R' : 'W';
	return strcasecmp(word, "r") == 0 || strcasecmp(word, "w") == 0 ||
	    strcasecmp(word, "read") == 0 || strcasecmp(word, "write") == 0;
}

static bool
take_queue(struct tapfilter *f, const char *word)
{
	size_t name = strcspn(word, "/");
	const char *side = word + name;

	f->queue = word;
	if (name == 0 || name > FMNAMESZ)
		return false;
	if (*side == '\0')
		return true;
	return (side[1] == 'R' || side[1] == 'W') &&
	    side[2 + strspn(side + 2, "0123456789")] == '\0';
}

bool
tapfilter_take(struct tapfilter *f, int option, const char *operand)
{
	const char *legal = NULL;

	if (option == 't' && !take_list(operand, take_type, f))
		legal = "M_DATA, M_PROTO, M_PCPROTO, M_IOCTL, ... or a number, several with commas";
	else if (option == 'e' && !take_list(operand, take_what, f))
		legal = "put, get, back, flush, sent, several with commas";
	else if (option == 'b' && !take_band(f, operand))
		legal = "0 to 255";
	else if (option == 'd' && !take_side(f, operand))
		legal = "r or w";
	else if (option == 'q' && !take_queue(f, operand))
		legal = "the name of a module or driver, or head; with /R or /W one side, with "
			"/W1 one queue of it";
	if (legal != NULL)
		tool_complain("-%c '%s': legal: %s", option, operand, legal);
	return legal == NULL;
}

/* ---- where ------------------------------------------------------------------------- */

struct tapqueue {
	unsigned int stream;
	char name[32];
	uint64_t got;
	uint64_t lost; /* of the whole stream, on the first of its queues */
};

static int
failed(struct tapout *o)
{
	int error = errno;

	/* Who reads may stop reading, as head(1) does. */
	if (error != EPIPE && !o->failed)
		tool_complain("%s: %s", o->path != NULL ? o->path : "standard output",
		    strerror(error));
	o->failed = true;
	errno = error;
	return -1;
}

int
tapout_begin(struct tapout *o)
{
	o->to = stdout;
	if (o->path == NULL)
		return 0;
	if (strcmp(o->path, "-") != 0) {
		o->to = fopen(o->path, "we");
	} else if (isatty(STDOUT_FILENO)) {
		tool_complain("-w -: a terminal cannot show it; legal: a file or a pipe");
		return -1;
	}
	return o->to != NULL && pcapng_section(o->to, "strtap") == 0 ? 0 : failed(o);
}

/* The interface of the event's queue, written when first needed: number or -1. */
static long
interface_of(struct tapout *o, const struct ustr_event *ev)
{
	char queue[32], name[64], text[128];
	struct tapqueue *q;

	tap_queue(queue, ev);
	for (size_t i = 0; i < o->n; i++)
		if (o->queue[i].stream == ev->ev_stream && strcmp(o->queue[i].name, queue) == 0)
			return (long)i;
	if (o->n == o->room) {
		size_t room = o->room == 0 ? 16 : 2 * o->room;
		void *mem = reallocarray(o->queue, room, sizeof(*o->queue));

		if (mem == NULL)
			return -1;
		o->queue = mem;
		o->room = room;
	}
	q = &o->queue[o->n];
	*q = (struct tapqueue){.stream = ev->ev_stream};
	strcpy(q->name, queue);
	snprintf(name, sizeof(name), "stream %u %s", ev->ev_stream, queue);
	snprintf(text, sizeof(text), "stream %u, %s queue of %s, %u below the stream head",
	    ev->ev_stream, ev->ev_side == 'R' ? "read" : "write",
	    strcmp(ev->ev_queue, "strhead") == 0 ? "the head" : ev->ev_queue, ev->ev_place);
	return pcapng_interface(o->to, name, text) == 0 ? (long)o->n++ : -1;
}

static int
write_packet(struct tapout *o, const struct ustr_event *ev)
{
	struct pcapng_packet p = {.time = ev->ev_time, .inbound = ev->ev_side == 'R'};
	long iface = interface_of(o, ev);
	size_t whole = (size_t)ev->ev_ctl + ev->ev_data;

	if (iface == -1)
		return -1;
	p.iface = (unsigned int)iface;
	p.caplen = (unsigned int)ev->ev_nctl + ev->ev_ndata;
	p.origlen = whole < UINT32_MAX ? (unsigned int)whole : UINT32_MAX;
	memcpy(p.bytes, ev->ev_bytes, p.caplen);
	tap_comment(p.comment, ev);
	o->queue[iface].got++;
	return pcapng_packet(o->to, &p);
}

int
tapout_event(struct tapout *o, const struct ustr_event *ev)
{
	if (o->path == NULL)
		tap_line(o->to, ev, o->hex);
	else if (write_packet(o, ev) != 0)
		return failed(o);
	return ferror(o->to) ? failed(o) : 0;
}

int
tapout_lost(struct tapout *o, unsigned int stream, uint64_t lost)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->queue[i].stream == stream) {
			o->queue[i].lost += lost;
			break;
		}
	/* Standard output may be the file. */
	fprintf(o->path == NULL ? o->to : stderr, "... stream %u: %llu events lost\n", stream,
	    (unsigned long long)lost);
	return ferror(o->to) ? failed(o) : 0;
}

int
tapout_flush(struct tapout *o)
{
	return fflush(o->to) == 0 ? 0 : failed(o);
}

int
tapout_end(struct tapout *o)
{
	struct timespec now;
	int status = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < o->n && status == 0; i++)
		status = pcapng_statistics(o->to, (unsigned int)i,
		    (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, o->queue[i].got,
		    o->queue[i].lost);
	if (status != 0 || (o->to != stdout ? fclose(o->to) : fflush(o->to)) != 0)
		status = failed(o);
	if (o->failed)
		clearerr(stdout); /* it has been said */
	free(o->queue);
	return status;
}
