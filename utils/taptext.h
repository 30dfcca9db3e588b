/* SPDX-License-Identifier: BSD-2-Clause */
/* taptext.h: events of the flight recorder as text, and back. */
#ifndef TAPTEXT_H
#define TAPTEXT_H

#include <stdbool.h>
#include <stdio.h>

#include <ustreams.h>

enum { TAPTEXT = 256 };

/* "M_DATA"; of an unknown one "0x13".  In buf. */
const char *tap_type(char buf[16], unsigned int type);
/* The type called so: "M_DATA", "data" or a number; or -1. */
int tap_type_named(const char *name);
/* "put", "get", "back", "flush", "sent"; and the other way: or -1. */
const char *tap_what(unsigned int what);
int tap_what_named(const char *name);
/* "pipemod/W1".  In buf. */
const char *tap_queue(char buf[32], const struct ustr_event *ev);
/* One line. */
void tap_line(FILE *to, const struct ustr_event *ev, bool hex);
/* All of it but time and bytes, in words; and from these again: false. */
void tap_comment(char buf[TAPTEXT], const struct ustr_event *ev);
bool tap_parse(struct ustr_event *ev, const char *comment);

#endif
