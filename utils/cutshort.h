/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cutshort.h: a tool whose instance's file is made shorter under it.
 *
 * Who looks reads the file, and is told of its end.  Who takes part has it mapped: the
 * kernel raises SIGBUS at the next touch of what is gone.  Nothing can be saved then, but
 * a tool owns its signals, and can say what happened instead of dying unheard.
 */
#ifndef CUTSHORT_H
#define CUTSHORT_H

/*
 * From now on: one line on stderr that names the file and what to do, and exit with that
 * status.  Any other SIGBUS ends the program as ever.
 */
void cutshort_begin(const char *program, int status);

#endif
