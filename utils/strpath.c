/* SPDX-License-Identifier: BSD-2-Clause */
/* strpath.c: the path that a name of a tool's command line stands for. */
#include "strpath.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void
path_of_name(char *to, size_t room, const char *name)
{
	const char *slash = strchr(name, '/');
	struct stat st;

	if (*name == '/' || *name == '.' || stat(name, &st) == 0)
		snprintf(to, room, "%s", name);
	else if (slash == NULL)
		snprintf(to, room, "/dev/streams/clone/%s", name);
	else if (isdigit((unsigned char)slash[1]))
		snprintf(to, room, "/dev/streams/%s", name);
	else
		snprintf(to, room, "%s", name);
}
