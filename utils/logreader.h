/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * logreader.h: what strerr and strlogtrace share: to open the log as the reader
 * of a class, to read it, and the beginning of each line.
 */
#ifndef UTILS_LOGREADER_H
#define UTILS_LOGREADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <sys/log.h>

struct logreader {
	int lr_fd;		/* the log's stream */
	long lr_count;		/* messages still wanted, or -1 */
	struct log_ctl lr_ctl;	/* the last message: control part */
	char lr_text[LOGMSGSZ];	/* and text, one line */
};

/*
 * Open the log and give the command, with n bytes of data: 0, or the status to end
 * with after a message.  SIGINT, SIGTERM and SIGHUP then end logreader_next.
 */
int logreader_open(struct logreader *lr, int cmd, const void *data, size_t n);
/* Wait for a message: true, or false at the end of it or after a message. */
bool logreader_next(struct logreader *lr, bool *failed);
/* Log a text, as a program does; flags as of strlog(). */
bool logreader_log(const struct logreader *lr, int level, unsigned int flags, const char *text);

/* "000012 14:03:59 0001e240 " */
void logreader_stamp(const struct logreader *lr, FILE *to);
/* A letter for each flag, or a blank. */
void logreader_flags(const struct logreader *lr, const char *letters, const short *flags,
	FILE *to);

/* A decimal number, lowest..highest: true, or false after a message. */
bool logreader_number(const char *text, long lowest, long highest, long *n);

#endif
