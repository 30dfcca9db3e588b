/* SPDX-License-Identifier: BSD-2-Clause */
/* autopush.c: set, forget and show what is pushed when a device is opened. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <errno.h>
#include <ustreams.h>

#include "apconf.h"
#include "strtool.h"
#include "toolinst.h"

static const char usage[] =
    "usage: autopush [-I NAME] -f FILE\n"
    "       autopush [-I NAME] -s -M MAJOR -m MINOR [-l LASTMINOR] MODULE...\n"
    "       autopush [-I NAME] -r -M MAJOR -m MINOR\n"
    "       autopush [-I NAME] -g -M MAJOR -m MINOR\n"
    "  set, remove or get what is pushed when a device is opened\n"
    "  -f FILE       set what the lines of FILE say: major minor lastminor module ...\n"
    "  -s, -r, -g    set, remove, get\n"
    "  -M MAJOR      a driver, by name or major number\n"
    "  -m MINOR      a minor number, or -1 for all\n"
    "  -l LASTMINOR  set for all minors up to this\n"
    TOOLINST_HELP
    "exit status: 0 done, 1 refused, 2 usage";

struct order {
	int o_what;	      /* f, s, r or g */
	const char *o_file;
	const char *o_major;
	const char *o_minor;
	const char *o_last;
};

static int
complain_usage(const char *what)
{
	tool_complain("%s; legal: autopush -f FILE, or one of -s -r -g with -M and -m", what);
	return TOOL_USAGE;
}

static int
from_file(int sad, const char *name)
{
	FILE *f = fopen(name, "r");
	int bad;

	if (f == NULL) {
		tool_complain("%s: %s", name, strerror(errno));
		return TOOL_USAGE;
	}
	bad = apconf_file(sad, name, f);
	fclose(f);
	return bad == 0 ? TOOL_OK : TOOL_NO;
}

static int
carry_out(int sad, const struct order *o, int n, char *const *words)
{
	unsigned int major;
	int minor, last = 0;
	bool ok;

	if (o->o_what == 'f')
		return from_file(sad, o->o_file);
	if (!apconf_major(sad, "", o->o_major, &major) || !apconf_minor("", o->o_minor, &minor) ||
	    (o->o_last != NULL && !apconf_minor("", o->o_last, &last)))
		return TOOL_NO;
	if (o->o_what == 's')
		ok = apconf_set(sad, "", major, minor, last, n, words);
	else if (o->o_what == 'r')
		ok = apconf_clear(sad, major, minor);
	else
		ok = apconf_show(sad, major, minor, stdout);
	return ok ? TOOL_OK : TOOL_NO;
}

/* False: an option that is not legal. */
static bool
take_option(struct order *o, int got)
{
	switch (got) {
	case 'f':
		o->o_file = optarg;
		/* fallthrough */
	case 's':
	case 'r':
	case 'g':
		if (o->o_what != 0)
			return false;
		o->o_what = got;
		return true;
	case 'M':
		o->o_major = optarg;
		return true;
	case 'm':
		o->o_minor = optarg;
		return true;
	case 'l':
		o->o_last = optarg;
		return true;
	}
	return false;
}

/* What is wrong with the whole of it, or NULL. */
static const char *
judge(const struct order *o, int operands)
{
	if (o->o_what == 0)
		return "what is to be done?";
	if (o->o_what != 'f' && (o->o_major == NULL || o->o_minor == NULL))
		return "which device?";
	if (o->o_what == 'f' && (o->o_major != NULL || o->o_minor != NULL))
		return "the file names the devices";
	if (o->o_what != 's' && (operands > 0 || o->o_last != NULL))
		return "modules and -l go with -s";
	return NULL;
}

int
main(int argc, char **argv)
{
	static const struct option none[] = {{NULL, 0, NULL, 0}};
	struct order o = {0};
	const char *wrong;
	char refused[200];
	int got, sad, status;

	tool_begin("autopush");
	tool_standard_options(argc, argv, usage);
	if (!toolinst_begin("autopush", &argc, argv, TOOLINST_MAKE))
		return TOOL_USAGE;
	opterr = 0;
	while ((got = getopt_long(argc, argv, "+:f:srgM:m:l:", none, NULL)) != -1) {
		if (got == ':' || got == '?') {
			snprintf(refused, sizeof(refused), "%.100s: %s", tool_refused(argv),
			    got == ':' ? "its value is missing" : "no such option");
			return complain_usage(refused);
		}
		if (!take_option(&o, got))
			return complain_usage("one of -f, -s, -r and -g");
	}
	wrong = judge(&o, argc - optind);
	if (wrong != NULL)
		return complain_usage(wrong);
	sad = apconf_open();
	if (sad == -1)
		return TOOL_NO;
	status = carry_out(sad, &o, argc - optind, argv + optind);
	str_close(sad);
	return status;
}
