/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strclean.c: remove old files of the error logger.
 *
 * strerr writes a file a day, error.MM-DD; one that was last written more than
 * so many days ago goes.  Nothing else in the directory is touched.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "strtool.h"

#define LOGDIR "/var/log/streams"
enum { AGE = 3, DAY = 24 * 60 * 60, MOST_AGE = 100000 };

static const char usage[] =
    "usage: strclean [-n] [-d DIRECTORY] [-a DAYS]\n"
    "  remove the files of strerr that are older than some days\n"
    "  -d DIRECTORY  where they are; default $USTREAMS_LOGDIR, or " LOGDIR "\n"
    "  -a DAYS       how old they may be; default 3\n"
    "  -n            only print which would be removed\n"
    "exit status: 0 done, 1 a file could not be removed, 2 usage or no such directory";

static bool
is_log(const char *name)
{
	static const char pattern[] = "error.dd-dd";
	size_t i;

	for (i = 0; pattern[i] != '\0'; i++) {
		bool digit = i >= 6 && pattern[i] == 'd';

		if (digit ? !isdigit((unsigned char)name[i]) : name[i] != pattern[i])
			return false;
	}
	return name[i] == '\0';
}

static bool
is_old(int dir, const char *name, time_t before)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    st.st_mtime < before;
}

static int
clean(const char *path, time_t before, bool only_print)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int status = TOOL_OK;

	if (dir == NULL) {
		tool_complain("%s: %s", path, strerror(errno));
		return TOOL_USAGE;
	}
	while ((e = readdir(dir)) != NULL) {
		if (!is_log(e->d_name) || !is_old(dirfd(dir), e->d_name, before))
			continue;
		if (only_print) {
			puts(e->d_name);
		} else if (unlinkat(dirfd(dir), e->d_name, 0) == -1) {
			tool_complain("%s/%s: %s", path, e->d_name, strerror(errno));
			status = TOOL_NO;
		}
	}
	closedir(dir);
	return status;
}

/* Days as a number; -1 when they are none. */
static long
days(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	return end == text || *end != '\0' || n < 0 || n > MOST_AGE ? -1 : n;
}

static int
complain_usage(int option, const char *what)
{
	tool_complain("-%c: %s; legal: -n, -d DIRECTORY, -a DAYS from 0 to %d", option,
	    what, MOST_AGE);
	return TOOL_USAGE;
}

int
main(int argc, char **argv)
{
	const char *path = getenv("USTREAMS_LOGDIR");
	long age = AGE;
	bool only_print = false;
	int got;

	tool_begin("strclean");
	tool_standard_options(argc, argv, usage);
	opterr = 0;
	while ((got = getopt(argc, argv, ":nd:a:")) != -1) {
		if (got == '?' || got == ':')
			return complain_usage(optopt,
			    got == ':' ? "its value is missing" : "no such option");
		if (got == 'n')
			only_print = true;
		else if (got == 'd')
			path = optarg;
		else if ((age = days(optarg)) == -1)
			return complain_usage('a', "not a number of days");
	}
	if (optind != argc) {
		tool_complain(
		    "%s: no operand is wanted; legal: -n, -d DIRECTORY, -a DAYS",
		    argv[optind]);
		return TOOL_USAGE;
	}
	if (path == NULL || *path == '\0')
		path = LOGDIR;
	return clean(path, time(NULL) - age * DAY, only_print);
}
