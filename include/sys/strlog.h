/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <sys/strlog.h>: the log: strlog(), what its readers get, and their commands.
 *
 * Source standard: SVR4 and Solaris.  As in <sys/stream.h> the binary name of
 * strlog carries the prefix ustr_.
 */
#ifndef _USTREAMS_SYS_STRLOG_H
#define _USTREAMS_SYS_STRLOG_H

#include <sys/stream.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* flags: who is to get the message, and what it says to them */
#define SL_FATAL 0x01	/* a module or driver has failed as a whole */
#define SL_NOTIFY 0x02	/* the administrator is to be told */
#define SL_ERROR 0x04	/* for the error logger */
#define SL_TRACE 0x08	/* for the tracer */
#define SL_CONSOLE 0x10	/* for the console logger */
#define SL_WARN 0x20	/* a warning */
#define SL_NOTE 0x40	/* a notice */

/* Control part of a message to a reader of the log, and of one from a program. */
struct log_ctl {
	short mid;	/* module number of who logged it */
	short sid;	/* his part of it, a minor for instance */
	char level;	/* of a trace; 0 is the most important */
	short flags;	/* SL_* */
	clock_t ltime;	/* ticks since the system began */
	time_t ttime;	/* seconds since 1970 */
	int seq_no;	/* number within the class; a gap: some were lost */
	int pri;	/* facility and priority, as of syslog(3) */
};

/* What the tracer wants; -1 stands for all, ti_level for all up to it. */
struct trace_ids {
	short ti_mid;
	short ti_sid;
	char ti_level;
};

/* The commands of the driver log, by I_STR: to be the one reader of a class. */
#define LOGCTL ('L' << 8)
#define I_TRCLOG (LOGCTL | 1)	/* data: one or more struct trace_ids */
#define I_ERRLOG (LOGCTL | 2)
#define I_CONSLOG (LOGCTL | 3)

/*
 * Log a text, as printf makes it, at most LOGMSGSZ bytes of <sys/log.h>.  May be
 * called from anywhere; never blocks.  1, or 0: a reader did not get it, because
 * there is no memory or he does not read.
 */
int strlog(int mid, int sid, int level, unsigned int flags, const char *fmt, ...)
	USTR_SYM(strlog) __attribute__((format(printf, 5, 6)));

#ifdef __cplusplus
}
#endif

#endif
