/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strerr.c: writes down the error messages of the log.
 *
 * The line is the one administrators know:
 *   <number> <hh:mm:ss> <ticks> <flags T F N> <module> <sub-id> <text>
 * With a directory the lines go to a file a day, error.mm-dd, which strclean
 * removes when it is old.
 */
#include "logreader.h"
#include "strtool.h"
#include "toolinst.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ustreams.h>

static struct {
	const char *directory; /* or NULL: standard output */
	const char *command;   /* for messages flagged N, or NULL */
	const char *text;      /* to be logged first, or NULL */
	long count;
} opts = { .count = -1 };

static const char usage[] =
	"usage: strerr [-c command] [-d directory] [-I name] [-n count] [-w text]\n"
	"Be the error logger: write a line for each error message of the log.\n"
	"  -c, --command=COMMAND  run it for each message the administrator is to be\n"
	"                         told of, with the line as its input\n"
	"  -d, --directory=DIR    append to DIR/error.mm-dd, not the standard output;\n"
	"                         USTREAMS_LOGDIR unless given\n"
	"  -n, --count=N          end after N messages\n"
	"  -w, --write=TEXT       log the text as an error first\n"
	"  -I, --instance=NAME    work in the instance of that name; USTREAMS_INSTANCE\n"
	"                         unless given\n"
	"      --help             this text\n"
	"      --version          the version of the library\n";

static const struct option longopts[] = {
	{ "command", required_argument, NULL, 'c' },
	{ "directory", required_argument, NULL, 'd' },
	{ "count", required_argument, NULL, 'n' },
	{ "write", required_argument, NULL, 'w' },
	{ "help", no_argument, NULL, 'H' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static void
line(const struct logreader *lr, FILE *to)
{
	static const short flags[] = { SL_TRACE, SL_FATAL, SL_NOTIFY };

	logreader_stamp(lr, to);
	logreader_flags(lr, "TFN", flags, to);
	fprintf(to, " %d %d %s\n", lr->lr_ctl.mid, lr->lr_ctl.sid, lr->lr_text);
}

/* The file of the message's day, or NULL after a message. */
static FILE *
day_file(const struct logreader *lr)
{
	char path[PATH_MAX], day[16];
	struct tm tm;
	FILE *f = NULL;

	localtime_r(&lr->lr_ctl.ttime, &tm);
	strftime(day, sizeof(day), "%m-%d", &tm);
	errno = ENAMETOOLONG;
	if (snprintf(path, sizeof(path), "%s/error.%s", opts.directory, day) < (int)sizeof(path))
		f = fopen(path, "a");
	if (f == NULL)
		tool_complain("%s: %s", path, strerror(errno));
	return f;
}

static bool
write_line(const struct logreader *lr)
{
	FILE *to = opts.directory != NULL ? day_file(lr) : stdout;
	bool ok;

	if (to == NULL)
		return false;
	line(lr, to);
	ok = (to == stdout ? fflush(to) : fclose(to)) == 0;
	if (!ok)
		tool_complain("cannot write: %s", strerror(errno));
	return ok;
}

static void
notify(const struct logreader *lr)
{
	FILE *to = popen(opts.command, "w");

	if (to == NULL) {
		tool_complain("%s: %s", opts.command, strerror(errno));
		return;
	}
	line(lr, to);
	if (pclose(to) != 0)
		tool_complain("%s: failed", opts.command);
}

static int
complain_usage(const char *word, const char *what)
{
	tool_complain("%s: %s; legal: -c COMMAND -d DIRECTORY -I NAME -n COUNT -w TEXT, see strerr --help", word, what);
	return TOOL_USAGE;
}

/* Exit status to end with, or -1 to go on. */
static int
read_options(int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, ":c:d:n:w:", longopts, NULL)) != -1) {
		switch (c) {
		case 'c': opts.command = optarg; break;
		case 'd': opts.directory = optarg; break;
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
	if (optind == argc)
		return -1;
	return complain_usage(argv[optind], "no argument is taken");
}

int
main(int argc, char **argv)
{
	struct logreader lr;
	bool failed = false;
	int status;

	tool_begin("strerr");
	if (!toolinst_begin("strerr", &argc, argv, TOOLINST_MAKE))
		return 2;
	opts.directory = secure_getenv("USTREAMS_LOGDIR");
	status = read_options(argc, argv);
	if (status >= 0)
		return status;
	lr.lr_count = opts.count;
	status = logreader_open(&lr, I_ERRLOG, NULL, 0);
	if (status != TOOL_OK)
		return status;
	if (opts.text != NULL && !logreader_log(&lr, 0, SL_ERROR, opts.text))
		return 1;
	while (logreader_next(&lr, &failed)) {
		if (!write_line(&lr))
			return 1;
		if (opts.command != NULL && (lr.lr_ctl.flags & SL_NOTIFY))
			notify(&lr);
	}
	return failed ? 1 : 0;
}
