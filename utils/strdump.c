/* SPDX-License-Identifier: BSD-2-Clause */
/* strdump.c: draw streams of a running program. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <ustreams.h>
#include <ustreams_look.h>

#include "lookjson.h"
#include "lookopt.h"
#include "strtool.h"

static const char usage[] =
    "usage: strdump [--json] [-I NAME | -p PID | -f FILE] [STREAM... | all]\n"
    "  draw streams: modules, queues with counts, water marks and flags, who has\n"
    "  them open and who sleeps on them\n" LOOKOPT_USAGE
    "  --json   as JSON\n"
    "  STREAM   the number of one, as strls lists them; default all\n"
    "exit status: 0 done, 1 no such stream, 2 usage, or it cannot be looked at";

static int
complain_usage(const char *word, const char *what)
{
	tool_complain("%s: %s; legal: strdump [--json] [-I NAME | -p PID | -f FILE] "
		      "[STREAM... | all]",
	    word, what);
	return TOOL_USAGE;
}

/* The numbers of what there is, for who asked for what is not. */
static int
complain_stream(const struct ustr_look *lk, const struct ustr_view *v, const char *word)
{
	if (v->v_nstreams == 0)
		tool_complain("%s: no stream %s: there is none at all", ustr_look_name(lk),
		    word);
	else
		tool_complain("%s: no stream %s; there are %u, numbered %u to %u",
		    ustr_look_name(lk), word, v->v_nstreams, v->v_streams[0].vs_id,
		    v->v_streams[v->v_nstreams - 1].vs_id);
	return TOOL_NO;
}

/* One of them: drawn, or appended to what is to be printed. */
static void
show(const struct ustr_view_stream *vs, json_t *array)
{
	if (array != NULL) {
		json_array_append_new(array, lookjson_stream(vs, true));
		return;
	}
	ustr_view_draw(vs, stdout);
	putchar('\n');
}

static int
show_named(const struct ustr_look *lk, const struct ustr_view *v, char **words, int n,
    json_t *array)
{
	int status = TOOL_OK;

	for (int i = 0; i < n; i++) {
		long id = lookopt_number(words[i], UINT_MAX);
		const struct ustr_view_stream *vs =
		    id == -1 ? NULL : ustr_view_stream(v, (unsigned int)id);

		if (id == -1)
			return complain_usage(words[i], "not the number of a stream");
		if (vs == NULL)
			status = complain_stream(lk, v, words[i]);
		else
			show(vs, array);
	}
	return status;
}

static int
dump(const struct ustr_look *lk, const struct ustr_view *v, char **words, int n, bool json)
{
	json_t *array = json ? json_array() : NULL;
	int status = TOOL_OK;

	if (n == 0 || (n == 1 && strcmp(words[0], "all") == 0)) {
		for (unsigned int i = 0; i < v->v_nstreams; i++)
			show(&v->v_streams[i], array);
		if (v->v_nstreams == 0)
			status = complain_stream(lk, v, "to draw");
	} else {
		status = show_named(lk, v, words, n, array);
	}
	if (json && status != TOOL_USAGE && lookjson_print(array) != 0)
		return TOOL_USAGE;
	return json || tool_flush() == 0 ? status : TOOL_USAGE;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
	    LOOKOPT_LONG, {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	struct lookopt o = {0};
	bool json = false, bad = false;
	struct ustr_look *lk;
	struct ustr_view *v;
	int got, status;

	tool_begin("strdump");
	tool_standard_options(argc, argv, usage);
	opterr = 0;
	while ((got = getopt_long(argc, argv, ":" LOOKOPT_SHORT, options, NULL)) != -1) {
		if (got == 'j')
			json = true;
		else if (!lookopt_take(&o, got, optarg, &bad))
			return complain_usage(tool_refused(argv),
			    got == ':' ? "its value is missing" : "no such option");
		if (bad)
			return TOOL_USAGE;
	}
	lk = lookopt_open(&o);
	v = lk != NULL ? lookopt_view(lk) : NULL;
	status = v == NULL ? TOOL_USAGE : dump(lk, v, argv + optind, argc - optind, json);
	ustr_view_free(v);
	ustr_look_close(lk);
	return status;
}
