/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strclean.c: remove old files of the error logger, and instances.
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

#include <ustreams.h>

#include "strtool.h"

#define LOGDIR "/var/log/streams"
enum { AGE = 3, DAY = 24 * 60 * 60, MOST_AGE = 100000 };

static const char usage[] =
    "usage: strclean [-n] [-d DIRECTORY] [-a DAYS]\n"
    "       strclean -i NAME [-f]    (-I NAME, --instance NAME are the same)\n"
    "  remove the files of strerr that are older than some days; or an instance\n"
    "  -d DIRECTORY  where they are; default $USTREAMS_LOGDIR, or " LOGDIR "\n"
    "  -a DAYS       how old they may be; default 3\n"
    "  -n            only print which would be removed\n"
    "  -i NAME       remove the instance of that name; $USTREAMS_DIR, /run/user/UID and\n"
    "                /dev/shm/ustreams-UID are searched, in this order\n"
    "  -f            with -i: even if processes are in it, who go on without the name, or\n"
    "                if it is not known for an instance any more\n"
    "exit status: 0 done, 1 a file could not be removed or an instance is in use,\n"
    "             2 usage or no such directory or instance";

static const char legal[] = "legal: -n, -d DIRECTORY, -a DAYS; or -i NAME, -f";

struct wish {
	const char *directory;
	const char *instance;
	long age;
	bool only_print;
	bool force;
	bool logs; /* an option for files of the logger was given */
};

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
complain_usage(const char *option, const char *what)
{
	tool_complain("%s: %s; %s, DAYS from 0 to %d", option, what, legal, MOST_AGE);
	return TOOL_USAGE;
}

/* -1: go on; else the exit status. */
static int
read_options(int argc, char **argv, struct wish *w)
{
	static const struct option longs[] = {
	    {"instance", required_argument, NULL, 'i'}, {NULL, 0, NULL, 0}};
	int got;

	opterr = 0;
	while ((got = getopt_long(argc, argv, ":nd:a:i:I:f", longs, NULL)) != -1) {
		switch (got) {
		case 'i':
		case 'I': w->instance = optarg; break;
		case 'f': w->force = true; break;
		case 'n': w->only_print = true; break;
		case 'd': w->directory = optarg; break;
		case 'a':
			w->age = days(optarg);
			if (w->age == -1)
				return complain_usage("-a", "not a number of days");
			break;
		default:
			return complain_usage(tool_refused(argv),
			    got == ':' ? "its value is missing" : "no such option");
		}
		w->logs |= got == 'n' || got == 'd' || got == 'a';
	}
	if (optind != argc)
		tool_complain("%s: no operand is wanted; %s", argv[optind], legal);
	else if (w->instance != NULL ? w->logs : w->force)
		tool_complain("-i and -f go together, and with no other; %s", legal);
	else
		return -1;
	return TOOL_USAGE;
}

static int
remove_instance(const char *name, bool force)
{
	char why[1024];

	if (ustr_instance_remove(name, force ? USTR_FORCE : 0, why, sizeof(why)) == 0)
		return TOOL_OK;
	tool_complain("%s", why);
	return errno == ENOENT || errno == EINVAL ? TOOL_USAGE : TOOL_NO;
}

int
main(int argc, char **argv)
{
	struct wish w = {.directory = getenv("USTREAMS_LOGDIR"), .age = AGE};
	int status;

	tool_begin("strclean");
	tool_standard_options(argc, argv, usage);
	status = read_options(argc, argv, &w);
	if (status != -1)
		return status;
	if (w.instance != NULL)
		return remove_instance(w.instance, w.force);
	if (w.directory == NULL || *w.directory == '\0')
		w.directory = LOGDIR;
	return clean(w.directory, time(NULL) - w.age * DAY, w.only_print);
}
