/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strlogtrace.c: prints the trace messages of the log; elsewhere called strace.
 *
 * The line is the one administrators know:
 *   <number> <hh:mm:ss> <ticks> <level> <flags E F N> <module> <sub-id> <text>
 */
#include "logreader.h"
#include "strtool.h"
#include "toolinst.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <ustreams.h>

static struct {
	const char *text; /* to be logged first, or NULL */
	long count;
	size_t nids;
	struct trace_ids ids[LOGTRACEIDS];
} opts = { .count = -1, .nids = 1, .ids = { { -1, -1, -1 } } };

static const char usage[] =
	"usage: strlogtrace [-I name] [-n count] [-w text] [mid sid level] ...\n"
	"Be the tracer: print a line for each trace message of the log that has one of\n"
	"the module numbers, sub-ids and at most the level given; `all' stands for any.\n"
	"  -n, --count=N     end after N messages\n"
	"  -w, --write=TEXT  log the text as a trace first\n"
	"  -I, --instance=NAME  work in the instance of that name; USTREAMS_INSTANCE\n"
	"                    unless given\n"
	"      --help        this text\n"
	"      --version     the version of the library\n";

static const struct option longopts[] = {
	{ "count", required_argument, NULL, 'n' },
	{ "write", required_argument, NULL, 'w' },
	{ "help", no_argument, NULL, 'H' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static void
line(const struct logreader *lr)
{
	static const short flags[] = { SL_ERROR, SL_FATAL, SL_NOTIFY };

	logreader_stamp(lr, stdout);
	printf("%2d ", lr->lr_ctl.level);
	logreader_flags(lr, "EFN", flags, stdout);
	printf(" %d %d %s\n", lr->lr_ctl.mid, lr->lr_ctl.sid, lr->lr_text);
}

static int
complain_usage(const char *word, const char *what)
{
	tool_complain("%s: %s; legal: -I NAME -n COUNT -w TEXT and MID SID LEVEL each time, see strlogtrace --help", word, what);
	return TOOL_USAGE;
}

/* A number, or -1 for "all". */
static bool
id(const char *text, long most, long *n)
{
	*n = -1;
	return strcmp(text, "all") == 0 || logreader_number(text, 0, most, n);
}

static bool
read_ids(int n, char **arg)
{
	long mid, sid, level;

	if (n == 0)
		return true;
	if (n % 3 != 0 || n / 3 > LOGTRACEIDS) {
		tool_complain("a module number, sub-id and level each time, at most %d times",
			LOGTRACEIDS);
		return false;
	}
	for (opts.nids = 0; n > 0; n -= 3, arg += 3) {
		if (!id(arg[0], SHRT_MAX, &mid) || !id(arg[1], SHRT_MAX, &sid) ||
		    !id(arg[2], SCHAR_MAX, &level))
			return false;
		opts.ids[opts.nids++] = (struct trace_ids){ (short)mid, (short)sid, (char)level };
	}
	return true;
}

/* Exit status to end with, or -1 to go on. */
static int
read_options(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "+:n:w:", longopts, NULL)) != -1) {
		switch (c) {
		case 'w': opts.text = optarg; break;
		case 'n':
			if (!logreader_number(optarg, 1, LONG_MAX, &opts.count))
				return 2;
			break;
		case 'H': fputs(usage, stdout); return 0;
		case 'V': puts(ustr_version()); return 0;
		default:
			return complain_usage(tool_refused(argv),
				c == ':' ? "its value is missing" : "no such option");
		}
	}
	return read_ids(argc - optind, argv + optind) ? -1 : 2;
}

int
main(int argc, char **argv)
{
	struct logreader lr;
	bool failed = false;
	int status;

	tool_begin("strlogtrace");
	if (!toolinst_begin("strlogtrace", &argc, argv, TOOLINST_MAKE))
		return 2;
	status = read_options(argc, argv);
	if (status >= 0)
		return status;
	lr.lr_count = opts.count;
	status = logreader_open(&lr, I_TRCLOG, opts.ids, opts.nids * sizeof(opts.ids[0]));
	if (status != TOOL_OK)
		return status;
	if (opts.text != NULL && !logreader_log(&lr, 0, SL_TRACE, opts.text))
		return 1;
	while (logreader_next(&lr, &failed)) {
		line(&lr);
		if (fflush(stdout) != 0) {
			tool_complain("standard output: %s", strerror(errno));
			return 1;
		}
	}
	return failed ? 1 : 0;
}
