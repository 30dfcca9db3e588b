/* SPDX-License-Identifier: BSD-2-Clause */
/* strchg.c: change what is on a stream. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <ustreams.h>

#include "modlist.h"
#include "strtool.h"
#include "toolinst.h"

static const char usage[] =
    "usage: strchg [-I NAME] -h MODULE[,MODULE ...] [-l] STREAM\n"
    "       strchg [-I NAME] -p [-a | -u MODULE] [-l] STREAM\n"
    "       strchg [-I NAME] -f FILE [-l] STREAM\n"
    "  -h MODULES  push them, the first one first\n"
    "  -p          pop the topmost module\n"
    "  -a          with -p: pop all modules\n"
    "  -u MODULE   with -p: pop all modules above that one\n"
    "  -f FILE     make the modules those that the file names, the topmost on the first line\n"
    "  -l          print the modules and the driver afterwards\n"
    "  STREAM      a device such as echo or /dev/streams/echo/0, a FIFO, an attached path,\n"
    "              or the number of any stream of the instance, as strls lists them\n"
    TOOLINST_HELP
    "exit status: 0 done, 1 the stream could not be changed, 2 usage or no such stream";

static const char legal[] =
    "legal: -h MODULES, -p, -p -a, -p -u MODULE or -f FILE; -l; STREAM";

struct request {
	const char *push, *to, *file;
	bool pop, all, list;
};

/* -1: go on; else the exit status. */
static int
read_options(int argc, char **argv, struct request *q)
{
	static const struct option none[] = {{NULL, 0, NULL, 0}};
	int got;

	opterr = 0;
	while ((got = getopt_long(argc, argv, ":h:pau:f:l", none, NULL)) != -1) {
		switch (got) {
		case 'h':
			q->push = optarg;
			break;
		case 'p':
			q->pop = true;
			break;
		case 'a':
			q->all = true;
			break;
		case 'u':
			q->to = optarg;
			break;
		case 'f':
			q->file = optarg;
			break;
		case 'l':
			q->list = true;
			break;
		default:
			tool_complain("%s: %s; %s", tool_refused(argv),
			    got == ':' ? "its value is missing" : "no such option",
			    legal);
			return TOOL_USAGE;
		}
	}
	return -1;
}

static const char *
contradiction(const struct request *q, int operands)
{
	int ways = (q->push != NULL) + q->pop + (q->file != NULL);

	if (ways != 1)
		return ways == 0 ? "what is to be done?" : "one thing at a time";
	if ((q->all || q->to != NULL) && !q->pop)
		return "-a and -u go with -p";
	if (q->all && q->to != NULL)
		return "-a or -u, not both";
	if (operands != 1)
		return operands == 0 ? "which stream?" : "one stream at a time";
	return NULL;
}

static int
pop(int fd, const struct request *q)
{
	struct modlist l;
	int error;

	if (q->to != NULL)
		return modlist_pop_to(fd, q->to);
	if (q->all)
		return modlist_pop(fd, MODLIST_MOST);
	error = modlist_read(fd, &l);
	if (error == 0 && modlist_modules(&l) == 0)
		return ENOENT;
	return error != 0 ? error : modlist_pop(fd, 1);
}

static int
set(int fd, const char *file, char bad[FMNAMESZ + 1])
{
	FILE *f = fopen(file, "r");
	int error;

	if (f == NULL) {
		tool_complain("%s: %s", file, strerror(errno));
		return -1;
	}
	error = modlist_set(fd, f, bad);
	fclose(f);
	return error;
}

static void
complain_error(int fd, const struct request *q, const char *name, const char *bad, int error)
{
	bool pushing = q->push != NULL || (q->file != NULL && *bad != '\0');

	if (pushing)
		tool_complain("%s", modlist_refusal(fd, bad, error));
	else if (q->file != NULL && error == EINVAL)
		tool_complain("%s: a line is no name of a module; legal: at most %d characters",
		    q->file, FMNAMESZ);
	else if (q->file != NULL && (error == EIO || error == E2BIG || error == EISDIR))
		tool_complain("%s: %s", q->file, error == E2BIG ? tool_reason(error) : strerror(error));
	else if (error == ENOENT && q->to == NULL)
		tool_complain("%s: no module is on the stream", name);
	else
		tool_complain("%s: %s", q->to != NULL ? q->to : name, tool_reason(error));
}

static int
change(int fd, const struct request *q, const char *name)
{
	char bad[FMNAMESZ + 1] = "";
	struct modlist l;
	int error;

	if (q->push != NULL)
		error = modlist_push(fd, q->push, bad);
	else if (q->pop)
		error = pop(fd, q);
	else
		error = set(fd, q->file, bad);
	if (error == 0 && q->list && (error = modlist_read(fd, &l)) == 0)
		for (int i = 0; i < l.n; i++)
			puts(l.names[i]);
	if (error > 0)
		complain_error(fd, q, name, bad, error);
	return error == 0 ? TOOL_OK : TOOL_NO;
}

int
main(int argc, char **argv)
{
	struct request q = {0};
	const char *wrong;
	int fd, status;

	tool_begin("strchg");
	tool_standard_options(argc, argv, usage);
	if (!toolinst_begin("strchg", &argc, argv, TOOLINST_EXISTING))
		return TOOL_USAGE;
	status = read_options(argc, argv, &q);
	if (status != -1)
		return status;
	wrong = contradiction(&q, argc - optind);
	if (wrong != NULL) {
		tool_complain("%s; %s", wrong, legal);
		return TOOL_USAGE;
	}
	fd = tool_open_numbered(argv[optind]);
	if (fd == -1)
		return TOOL_USAGE;
	status = change(fd, &q, argv[optind]);
	str_close(fd);
	return status;
}
