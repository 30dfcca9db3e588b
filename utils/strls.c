/* SPDX-License-Identifier: BSD-2-Clause */
/* strls.c: list instances, and the processes and streams of one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ustreams.h>
#include <ustreams_look.h>

#include "lookjson.h"
#include "lookopt.h"
#include "looktable.h"
#include "looktext.h"
#include "strtool.h"

static const char usage[] =
    "usage: strls [--json]\n"
    "       strls [--json] -I NAME | -p PID | -f FILE | NAME\n"
    "  list what has streams now: the named instances, and programs without one;\n"
    "  or, of one of them, the processes and the streams\n" LOOKOPT_USAGE
    "  --json   as JSON\n"
    "exit status: 0 done, 1 there is nothing, 2 usage, or it cannot be looked at";

/* ---- what there is --------------------------------------------------------------- */

static const char *
why_not(int error)
{
	return error == EPROTO	 ? "of another version of the library"
	    : error == EUCLEAN ? "damaged, or no instance"
			       : strerror(error);
}

static void
print_sources(const struct ustr_source *us, size_t n)
{
	static const char *const heads[] = {
	    "INSTANCE", ">PROCESSES", ">PID", "PROGRAM", ">SIZE", "STATE", NULL};
	char size[16];
	struct table t;

	table_begin(&t, heads);
	for (; n > 0; n--, us++) {
		table_cell(&t, "%s", us->us_name[0] != '\0' ? us->us_name : "-");
		table_cell(&t, "%u", us->us_processes);
		if (us->us_pid != 0)
			table_cell(&t, "%d", (int)us->us_pid);
		else
			table_cell(&t, "-");
		table_cell(&t, "%s", us->us_program[0] != '\0' ? us->us_program : "-");
		table_cell(&t, "%s", look_amount(size, (double)us->us_size, 1024));
		table_cell(&t, "%s%s%s",
		    us->us_error != 0	  ? why_not(us->us_error)
		    : us->us_processes > 0 ? "in use"
					   : "idle",
		    us->us_name[0] == '\0' && us->us_path[0] != '\0' ? ", removed: was " : "",
		    us->us_name[0] == '\0' ? us->us_path : "");
	}
	table_print(&t, stdout);
}

static int
list_sources(bool json)
{
	struct ustr_source *list;
	ssize_t n = ustr_look_sources(&list);
	int status = n > 0 ? TOOL_OK : TOOL_NO;

	if (n == -1) {
		tool_complain("%s", strerror(errno));
		return TOOL_USAGE;
	}
	if (json) {
		if (lookjson_print(lookjson_sources(list, (size_t)n)) != 0)
			status = TOOL_USAGE;
	} else if (n > 0) {
		print_sources(list, (size_t)n);
	} else {
		tool_complain("no instance and no program with streams");
	}
	free(list);
	return status;
}

/* ---- one of them ------------------------------------------------------------------- */

static void
print_processes(const struct ustr_view *v)
{
	static const char *const heads[] = {">PID", "PROGRAM", "STATE", ">THREADS",
	    ">ASLEEP", ">DESCRIPTORS", NULL};
	struct table t;

	table_begin(&t, heads);
	for (unsigned int i = 0; i < v->v_nprocesses; i++) {
		const struct ustr_view_process *p = &v->v_processes[i];

		table_cell(&t, "%d", (int)p->vp_pid);
		table_cell(&t, "%s", p->vp_program[0] != '\0' ? p->vp_program : "-");
		table_cell(&t, "%s", look_process_state(p->vp_state));
		table_cell(&t, "%u", p->vp_threads);
		table_cell(&t, "%u", p->vp_asleep);
		table_cell(&t, "%u", p->vp_descriptors);
	}
	table_print(&t, stdout);
}

static void
print_streams(const struct ustr_view *v)
{
	static const char *const heads[] = {">STREAM", "KIND", "WHERE", "MODULES", ">OPENS",
	    "PIDS", "STATE", ">BYTES", ">BLOCKS", NULL};
	char buf[LOOKTEXT], amount[16];
	struct table t;

	table_begin(&t, heads);
	for (unsigned int i = 0; i < v->v_nstreams; i++) {
		const struct ustr_view_stream *vs = &v->v_streams[i];
		size_t bytes, blocks;

		look_queued(vs, &bytes, &blocks);
		table_cell(&t, "%u", vs->vs_id);
		table_cell(&t, "%s", look_kind(vs->vs_kind));
		table_cell(&t, "%s", look_where(buf, vs));
		table_cell(&t, "%s", look_modules(buf, vs));
		table_cell(&t, "%u", vs->vs_opens);
		table_cell(&t, "%s", look_pids(buf, vs));
		table_cell(&t, "%s", look_state(buf, vs->vs_state));
		table_cell(&t, "%s", look_amount(amount, (double)bytes, 1024));
		table_cell(&t, "%s", look_amount(amount, (double)blocks, 1000));
	}
	table_print(&t, stdout);
}

static void
print_view(const struct ustr_look *lk, const struct ustr_view *v)
{
	char committed[16], cap[16];

	printf("%s: %u process%s, %u stream%s, %s of at most %s bytes\n\n", ustr_look_name(lk),
	    v->v_nprocesses, v->v_nprocesses == 1 ? "" : "es", v->v_nstreams,
	    v->v_nstreams == 1 ? "" : "s",
	    look_amount(committed, (double)v->v_committed, 1024),
	    look_amount(cap, (double)v->v_cap, 1024));
	print_processes(v);
	putchar('\n');
	print_streams(v);
	if (v->v_odd > 0)
		printf("\n%u objects could not be read: they were changing, or are damaged\n",
		    v->v_odd);
}

static int
list_one(const struct lookopt *o, bool json)
{
	struct ustr_look *lk = lookopt_open(o);
	struct ustr_view *v = lk != NULL ? lookopt_view(lk) : NULL;
	int status = TOOL_OK;

	if (v == NULL) {
		status = TOOL_USAGE;
	} else if (json) {
		if (lookjson_print(json_pack("{s:s, s:o*, s:o*, s:o*}", "name",
			ustr_look_name(lk), "memory", lookjson_memory(v), "processes",
			lookjson_processes(v), "streams", lookjson_streams(v, false))) != 0)
			status = TOOL_USAGE;
	} else {
		print_view(lk, v);
	}
	ustr_view_free(v);
	ustr_look_close(lk);
	return status;
}

/* ---- arguments ------------------------------------------------------------------------ */

static int
complain_usage(const char *word, const char *what)
{
	tool_complain("%s: %s; legal: strls [--json] [-I NAME | -p PID | -f FILE | NAME]", word,
	    what);
	return TOOL_USAGE;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
	    LOOKOPT_LONG, {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	struct lookopt o = {0};
	bool json = false, bad = false;
	int got;

	tool_begin("strls");
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
	if (optind < argc) {
		o.instance = argv[optind++];
		o.given++;
	}
	if (optind < argc)
		return complain_usage(argv[optind], "one instance at a time");
	return o.given == 0 ? list_sources(json) : list_one(&o, json);
}
