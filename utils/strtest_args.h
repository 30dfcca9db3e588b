/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_args.h: how a verb reads its arguments and leaves what came of it.
 *
 * Arguments are counted from 0, the verb not counted.  Whatever they return
 * belongs to the pool of the run.
 */
#ifndef STRTEST_ARGS_H
#define STRTEST_ARGS_H

#include "strtest_run.h"

enum { MAX_FIELDS = 16 };

struct outcome {
	struct value result;
	int error;	/* 0: no error, and result holds */
	bool must_give; /* without an arrow the result must be default_result */
	long long default_result;
	bool waited; /* the verb has used up "within" itself */
	bool done;   /* the verb has judged the result itself */
	int nfields;
	struct {
		const char *name;
		struct value value;
	} fields[MAX_FIELDS];
};

/* ---- arguments ------------------------------------------------------------------- */

const struct expr *arg_at(const struct command *c, int i); /* or NULL */
int arg_fd(struct run *r, const struct command *c, int i);
const char *arg_word(struct run *r, const struct command *c, int i);
const char *arg_name(const struct command *c, int i); /* of something to be set */
long long arg_number(struct run *r, const struct command *c, int i, long long otherwise);
struct value arg_data(struct run *r, const struct command *c, int i);
int arg_signal(struct run *r, const struct command *c, int i);
/* /dev/streams/... for the short name of a driver, else the path itself. */
const char *arg_path(struct run *r, const struct command *c, int i);

const struct expr *key_at(const struct command *c, const char *key); /* or NULL */
bool key_given(const struct command *c, const char *key);	     /* a key or a flag */
long long key_number(
    struct run *r, const struct command *c, const char *key, long long otherwise);
/* false: it is not there, or none */
bool key_data(struct run *r, const struct command *c, const char *key, struct value *v);
/* The pointer that was given for key, or otherwise. */
void *key_pointer(
    struct run *r, const struct command *c, const char *key, const void *otherwise);
/* "any" was given. */
bool key_any(const struct command *c, const char *key);

/* Microseconds of within, after, for: or otherwise; scaled by --slow. */
long long time_within(
    struct run *r, const struct command *c, struct outcome *o, long long otherwise);
long long time_lasting(
    struct run *r, const struct command *c, struct outcome *o, long long otherwise);

/* ---- memory that calls write to ---------------------------------------------------- */

/* Room for n bytes, and behind it some that must stay as they are. */
char *guarded_room(struct run *r, size_t n);
/* Fails the command if they did not. */
void guarded_check(struct run *r, const char *room, size_t n);

/* ---- outcome ----------------------------------------------------------------------- */

/* The result of a call, and errno if it is -1. */
void out_call(struct outcome *o, long long result);
void out_field(struct outcome *o, const char *name, struct value v);
void out_number(struct outcome *o, const char *name, long long n);
/* Result and fields, as a script would write them. */
const char *outcome_show(struct run *r, const struct outcome *o);
/* Does it give what the command says?  Else run_failed(). */
void outcome_check(struct run *r, const struct command *c, struct outcome *o);
void outcome_timing(
    struct run *r, const struct command *c, const struct outcome *o, long long took);

/* ---- descriptors by name -------------------------------------------------------------- */

enum handle_kind {
	HANDLE_STREAM,
	HANDLE_KERNEL,	 /* a descriptor of the kernel */
	HANDLE_BORROWED, /* one that somebody else closes */
};

struct handles *handles_new(void);
void handles_free(struct handles *h);
/* Name a descriptor; a name may be used again once it was closed. */
void handles_set(
    struct run *r, struct place at, const char *name, int fd, enum handle_kind kind);
/* The descriptor of that name, closed or not. */
int handles_fd(struct run *r, struct place at, const char *name);
/* Was the name ever set? */
bool handles_known(struct run *r, const char *name);
void handles_closed(struct run *r, int fd);
/* Close what is open, at the end of a case. */
void handles_close_all(struct handles *h);
/* Call fn for each that is open; in the order of opening. */
void handles_each(struct handles *h,
    void (*fn)(void *arg, const char *name, int fd, enum handle_kind kind), void *arg);

#endif
