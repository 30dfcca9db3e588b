/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <sys/keeps.h>: what the modules and drivers that come with the library keep in
 * shared memory, and where in it there are pointers.  Not installed.
 *
 * Who joins an instance that the dead have left follows no pointer that he has not
 * judged (streams/judge.h); of a program's own modules he has not the code, so
 * it is for these only.
 */
#ifndef _USTREAMS_SYS_KEEPS_H
#define _USTREAMS_SYS_KEEPS_H

#include <stddef.h>

/*
 * What a pointer leads to, if it is not NULL; one to a queue never is.  KEEP_NEXT: the next
 * of its kind, of a list that begins in the state.
 */
enum { KEEP_NOTHING, KEEP_QUEUE, KEEP_MSG, KEEP_PAIRS, KEEP_LOWERS, KEEP_NEXT };

#define KEEP_FIELDS 6

/* A structure: its size, 0 if there is none, and its pointers. */
struct keeps {
	size_t k_size;
	struct {
		unsigned short k_at; /* offset, bytes */
		unsigned short k_what; /* KEEP_*; NOTHING: no more */
	} k_field[KEEP_FIELDS];
};

/*
 * KEEP_STATE ustr_modstate(); KEEP_OF_PAIR what both q_ptr of a pair lead to, and
 * KEEP_PAIRS; KEEP_OF_LOWER that of the lower side of a multiplexor, and KEEP_LOWERS.
 */
enum { KEEP_STATE, KEEP_OF_PAIR, KEEP_OF_LOWER, KEEP_KINDS };

extern const struct keeps bufmodkeeps[KEEP_KINDS], testmodkeeps[KEEP_KINDS];
extern const struct keeps loopkeeps[KEEP_KINDS], muxkeeps[KEEP_KINDS];

#endif
