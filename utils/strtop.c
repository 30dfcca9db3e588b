/* SPDX-License-Identifier: BSD-2-Clause */
/* strtop.c: streams of running programs, the busiest first. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ustreams.h>

#include "lookopt.h"
#include "strtool.h"
#include "strtop.h"

static const char usage[] =
    "usage: strtop [-I NAME | -p PID | -f FILE] [-d SECONDS] [-s ORDER]\n"
    "       strtop -b [-n COUNT] ...\n"
    "  show the streams of running programs, the busiest first\n" LOOKOPT_USAGE
    "  -d SECONDS  between looks, 0.1 to 3600; default 1\n"
    "  -s ORDER    arrived, read, bytes, queued, fill or number\n"
    "  -b          print COUNT screens as text, default 1, instead\n"
    "  keys: a r b u f i  order    up, down  choose a stream    Enter  draw it\n"
    "        m  its messages       + -  slower, faster          q  back, end\n"
    "exit status: 0 done, 1 with -b: no process has the streams any more,\n"
    "  2 usage, no terminal, or it cannot be looked at";

static int
complain_usage(const char *word, const char *what)
{
	tool_complain("%s: %s; legal: strtop [-I NAME | -p PID | -f FILE] [-d SECONDS] "
		      "[-s arrived | read | bytes | queued | fill | number] [-b [-n COUNT]]",
	    word, what);
	return TOOL_USAGE;
}

static void
print_lines(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		puts(l->line[i]);
	lines_free(l);
}

static void
wait_seconds(double s)
{
	struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

	while (nanosleep(&t, &t) == -1 && errno == EINTR)
		;
}

static int
print_batch(struct top *t, long count)
{
	struct lines l;

	for (long n = 0; n < count; n++) {
		int error;

		wait_seconds(t->seconds);
		error = top_advance(t);
		if (error != 0) {
			tool_complain("%s: %s", ustr_look_name(t->lk), lookopt_reason(error));
			return TOOL_USAGE;
		}
		if (n > 0)
			putchar('\n');
		top_summary(t, &l);
		print_lines(&l);
		top_list(t, &l);
		print_lines(&l);
		if (tool_flush() != 0)
			return TOOL_USAGE;
		if (top_over(t)) {
			tool_complain("%s: no process has it any more", ustr_look_name(t->lk));
			return TOOL_NO;
		}
	}
	return TOOL_OK;
}

/* An order by its word or its key: it, or -1. */
static int
order(const char *word)
{
	for (int i = 0; i < TOP_SORTS; i++)
		if (strcmp(word, top_orders[i].word) == 0 ||
		    (word[0] == top_orders[i].key && word[1] == '\0'))
			return i;
	return -1;
}

/* Seconds, or 0. */
static double
interval(const char *text)
{
	char *end;
	double s = strtod(text, &end);

	return end == text || *end != '\0' || !(s >= 0.1 && s <= 3600) ? 0 : s;
}

/* A stream of an instance is recorded by who takes part in that. */
static void
for_strtap(struct top *t, const struct lookopt *o)
{
	static char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)o->pid);
	t->where[1] = ustr_look_instancename(t->lk);
	if (o->file == NULL && t->where[1] != NULL) {
		t->where[0] = "-I";
	} else {
		t->where[0] = o->file != NULL ? "-f" : "-p";
		t->where[1] = o->file != NULL ? o->file : pid;
	}
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {LOOKOPT_LONG, {"batch", no_argument, NULL, 'b'},
	    {"delay", required_argument, NULL, 'd'}, {"sort", required_argument, NULL, 's'},
	    {NULL, 0, NULL, 0}};
	struct top t = {.seconds = 1};
	bool batch = false, bad = false;
	struct lookopt o = {0};
	int got, sort = 0, status;
	long count = -1;

	tool_begin("strtop");
	tool_standard_options(argc, argv, usage);
	opterr = 0;
	while ((got = getopt_long(argc, argv, ":bd:n:s:" LOOKOPT_SHORT, options, NULL)) != -1) {
		if (got == 'b')
			batch = true;
		else if (got == 'd' && (t.seconds = interval(optarg)) == 0)
			return complain_usage(optarg, "not 0.1 to 3600 seconds");
		else if (got == 'n' && (count = lookopt_number(optarg, LONG_MAX)) == -1)
			return complain_usage(optarg, "not a number of screens");
		else if (got == 's' && (sort = order(optarg)) == -1)
			return complain_usage(optarg, "no such order");
		else if (strchr("dns", got) == NULL && !lookopt_take(&o, got, optarg, &bad))
			return complain_usage(tool_refused(argv),
			    got == ':' ? "its value is missing" : "no such option");
		if (bad)
			return TOOL_USAGE;
	}
	if (optind < argc)
		return complain_usage(argv[optind], "no operand is wanted");
	if (count != -1 && !batch)
		return complain_usage("-n", "only with -b");
	t.sort = (enum top_sort)sort;
	t.lk = lookopt_open(&o);
	if (t.lk == NULL)
		return TOOL_USAGE;
	for_strtap(&t, &o);
	t.now = lookopt_view(t.lk);
	status = t.now == NULL ? TOOL_USAGE
	    : batch	       ? print_batch(&t, count == -1 ? 1 : count)
			       : screen_run(&t);
	top_end(&t);
	return status;
}
