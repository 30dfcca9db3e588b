/* SPDX-License-Identifier: BSD-2-Clause */
/* looktext.h: words and numbers for what a look shows. */
#ifndef LOOKTEXT_H
#define LOOKTEXT_H

#include <stdio.h>

#include <ustreams_look.h>

enum { LOOKTEXT = 256 };

/* "1234", "56.7K", "1.2M"; unit 1024 for bytes, 1000 for counts.  In buf. */
const char *look_amount(char buf[16], double n, int unit);
/* "pipe", "device", "fifo" */
const char *look_kind(int kind);
/* "to 5", "echo/0", the path of a FIFO or an attached stream.  In buf. */
const char *look_where(char buf[LOOKTEXT], const struct ustr_view_stream *vs);
/* "hungup,rderr", or "-".  In buf. */
const char *look_state(char buf[LOOKTEXT], unsigned int state);
/* "FULL WANTW", or "".  In buf. */
const char *look_flags(char buf[LOOKTEXT], unsigned int flags);
/* Modules from the top: "pipemod,bufmod", or "-".  In buf. */
const char *look_modules(char buf[LOOKTEXT], const struct ustr_view_stream *vs);
/* Processes that have it open: "12,13", or "-".  In buf. */
const char *look_pids(char buf[LOOKTEXT], const struct ustr_view_stream *vs);
/* "message", "room", "answer" */
const char *look_wait(int what);
/* "live", "starting", "dying", "dead" */
const char *look_process_state(int state);
/* Bytes and blocks queued and parked on all its queues. */
void look_queued(const struct ustr_view_stream *vs, size_t *bytes, size_t *blocks);

#endif
