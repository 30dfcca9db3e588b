/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <sys/strsubr.h>: what in-tree drivers that are part of the stream head's
 * business may ask of it.  Not installed.
 */
#ifndef _USTREAMS_SYS_STRSUBR_H
#define _USTREAMS_SYS_STRSUBR_H

#include <stdbool.h>
#include <sys/stream.h>
#include <sys/strlog.h>

struct strapush;

/*
 * Weld the bottoms of two stream heads (their read queues) together, so that
 * what one writes the other reads.  Both are fresh: nobody else knows them.
 * A head may be welded to itself.
 */
void strweld(queue_t *a, queue_t *b);
/*
 * The driver log: make the stream of read queue rq the reader of a class
 * (SL_ERROR, SL_TRACE, SL_CONSOLE), of traces those that match one of n ids:
 * 0, EBUSY (there is one), EINVAL (too many ids).  detach: of none any more.
 */
int strlog_attach(queue_t *rq, unsigned int class, const struct trace_ids *ids, size_t n);
void strlog_detach(queue_t *rq);
/* As strlog(), of a text that is formatted; time and number are set here. */
int strlog_submit(const struct log_ctl *lc, const char *text, size_t n);

/* Join two new stream heads to a pipe: drivers/pipe.c. */
void pipe_join(queue_t *a, queue_t *b);
/*
 * For an open routine: is q on a stream that is one end of a pipe?  And let the
 * opener have a new pipe instead of it, whose other end is sent down WR(q) as
 * M_PASSFP: 0, EAGAIN (no room there), ENOSR, ENXIO (nobody there).
 */
int strispipe(queue_t *q);
int strconnect(queue_t *q);
/* Make a new stream head (its read queue) a FIFO: drivers/fifo.c. */
void fifo_join(queue_t *q);

/*
 * For the driver sad (streams/autopush.c): may who has these credentials set what
 * is pushed at open; set and show it, 0 or an errno of SAD_SAP and SAD_GAP; are
 * all n names modules; the major number of a driver, or -1.
 */
bool autopush_may(const cred_t *cr);
int autopush_set(const struct strapush *sap);
int autopush_get(struct strapush *sap);
bool autopush_modules(const char names[][FMNAMESZ + 1], int n);
int autopush_major(const char *name);

#endif
