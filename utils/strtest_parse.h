/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_parse.h: from the text of a script to its commands.
 *
 * One token is looked at ahead.  A verb is looked up first, and its form says
 * what its arguments may be, so that most mistakes are found, with the legal
 * words, before anything runs.
 */
#ifndef STRTEST_PARSE_H
#define STRTEST_PARSE_H

#include "strtest_ast.h"

/* Parse a file ("-": standard input).  NULL after a complaint. */
struct script *parse_file(const char *file);
/*
 * Parse a line of dialogue.  NULL after a complaint, or with *more set when a
 * block is still open.
 */
struct script *parse_text(const char *file, const char *text, size_t len, bool *more);

#endif
