/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head_connect.h: a pipe of his own for each opener of a stream.
 *
 * Level 10.  The open routine of connld, run again by an open of the attached
 * path, asks for it by strconnect(); the open then goes on with the new pipe:
 *
 *   server               attached pipe                 opener
 *   I_RECVFD ◄── B ◄──M_PASSFP── A, connld pushed ◄── str_open(path)
 *      │                                                  │
 *      └── new end 1 ◄─────────── new pipe ──────────► new end 0
 */
#ifndef STREAMS_HEAD_CONNECT_H
#define STREAMS_HEAD_CONNECT_H

#include "head.h"

/*
 * The stream that this thread's last run of open routines gives in place of
 * the one opened, its sd_opens counted, or NULL; asked once.
 */
struct stdata *connect_result(void);

#endif
