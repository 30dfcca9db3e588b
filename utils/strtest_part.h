/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strtest_part.h: the parts of messages, as keys of a command say and as
 * fields show them; for the message calls and for ioctls alike.
 */
#ifndef STRTEST_PART_H
#define STRTEST_PART_H

#include <stropts.h>

#include "strtest_args.h"

/* Keys that part_put() and part_get() look at, for the tables of forms. */
#define PART_PUT_KEYS \
	"ctl:X data:X ctllen:I datalen:I ctlat:I dataat:I ctlbuf:I databuf:I"
#define PART_GET_KEYS "ctlmax:I datamax:I ctlat:I dataat:I ctlbuf:I databuf:I"
#define PART_GET_FIELDS "ctl data ctllen datalen"

/* The two parts of a message, and the pointers a call is to be given for them. */
struct parts {
	struct strbuf ctl, data;
	struct strbuf *ctlp, *datap;
	size_t ctlroom, dataroom;
};

/* To be sent: an absent part has len -1 and a null pointer. */
void part_put(struct run *r, const struct command *c, struct parts *p);
/* To be received into. */
void part_get(struct run *r, const struct command *c, struct parts *p);
/* Received: the fields, if the call has succeeded. */
void part_fields(struct run *r, struct outcome *o, const struct parts *p);

#endif
