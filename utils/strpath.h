/* SPDX-License-Identifier: BSD-2-Clause */
/* strpath.h: the path that a name of a tool's command line stands for. */
#ifndef STRPATH_H
#define STRPATH_H

#include <stddef.h>

/* "echo" is /dev/streams/clone/echo, "echo/3" minor 3 of it, others are paths. */
void path_of_name(char *to, size_t room, const char *name);

#endif
