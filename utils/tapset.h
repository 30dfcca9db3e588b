/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tapset.h: the recorders that strtap reads: of streams that it has recorded, as a
 * member of their instance, or of streams that are, from outside.
 */
#ifndef TAPSET_H
#define TAPSET_H

#include <stdbool.h>
#include <stddef.h>

#include <ustreams.h>
#include <ustreams_look.h>

struct tapped {
	unsigned int id;
	ustr_tap_t *tap; /* member, or */
	struct ustr_look_cursor at; /* from outside */
	bool ended;
	uint64_t told; /* lost events that were told of */
};

struct tapset {
	struct ustr_look *look; /* what the streams are seen in */
	bool member;
	unsigned int records; /* of a ring that is made */
	struct tapped *tap;
	size_t n, room;
	bool complained; /* of a stream that cannot be tapped */
	int error;	 /* why it cannot be looked at any more, from outside */
};

/* Tap stream id, unless it is tapped: 0 or an errno. */
int tapset_add(struct tapset *s, unsigned int id);
/*
 * Tap all streams that there are now; from outside, those that are recorded.  Sets
 * error, as tapset_read does, if that cannot be told.
 */
void tapset_all(struct tapset *s);
/* The stream that a number, FILE or DRIVER/MINOR names; 0: none. */
unsigned int tapset_named(struct tapset *s, const char *name);
/*
 * The next events of one of them, room at most: how many; *lost is how many more
 * were lost before these.
 */
size_t tapset_read(struct tapset *s, struct tapped *t, struct ustr_event *ev, size_t room,
    uint64_t *lost);
/* Is there one that may have more events? */
bool tapset_alive(const struct tapset *s);
/* From outside: does no process live that could add to them? */
bool tapset_over(const struct tapset *s);
void tapset_end(struct tapset *s);

#endif
