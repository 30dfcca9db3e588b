/* SPDX-License-Identifier: BSD-2-Clause */
/* <sys/log.h>: sizes of the log; the rest is in <sys/strlog.h>. */
#ifndef _USTREAMS_SYS_LOG_H
#define _USTREAMS_SYS_LOG_H

#include <sys/strlog.h>

#define LOGMSGSZ 1024	/* longest text, bytes with the NUL */
#define LOGTRACEIDS 64	/* most struct trace_ids of a tracer */
#define LOG_MID 44	/* module number of what programs log */

#endif
