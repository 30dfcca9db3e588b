/* SPDX-License-Identifier: BSD-2-Clause */
/* logreader.c: reading the log, for strerr and strlogtrace. */
#include "logreader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <stropts.h>
#include <syslog.h>
#include <time.h>

#include <ustreams.h>

#include "strtool.h"

static volatile sig_atomic_t stopped;

static void
stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static bool
complain(const char *what)
{
	tool_complain("%s: %s", what, strerror(errno));
	return false;
}

int
logreader_open(struct logreader *lr, int cmd, const void *data, size_t n)
{
	struct strioctl ic = { cmd, 0, (int)n, (char *)(uintptr_t)data };
	struct sigaction sa = { .sa_handler = stop };

	if (!tool_library())
		return TOOL_USAGE;
	lr->lr_fd = str_open("/dev/streams/clone/log", O_RDWR);
	if (lr->lr_fd < 0) {
		complain("log");
		return TOOL_NO;
	}
	if (str_ioctl(lr->lr_fd, I_STR, &ic) != 0) {
		if (errno == EBUSY)
			tool_complain("another program reads this log already");
		else
			complain("log");
		return TOOL_NO;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	return TOOL_OK;
}

/* One line: control characters become blanks, those at the end vanish. */
static void
tidy(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && (unsigned char)text[n - 1] <= ' ')
		text[--n] = '\0';
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = ' ';
}

bool
logreader_next(struct logreader *lr, bool *failed)
{
	struct strbuf ctl = { .maxlen = sizeof(lr->lr_ctl), .buf = (char *)&lr->lr_ctl };
	struct strbuf data = { .maxlen = sizeof(lr->lr_text) - 1, .buf = lr->lr_text };
	int flags = 0;

	*failed = false;
	if (lr->lr_count == 0 || stopped)
		return false;
	if (getmsg(lr->lr_fd, &ctl, &data, &flags) < 0) {
		*failed = errno != EINTR || !stopped;
		if (*failed)
			complain("log");
		return false;
	}
	if (lr->lr_count > 0)
		lr->lr_count--;
	lr->lr_text[data.len > 0 ? data.len : 0] = '\0';
	tidy(lr->lr_text);
	return true;
}

bool
logreader_log(const struct logreader *lr, int level, unsigned int flags, const char *text)
{
	struct log_ctl lc = { .level = (char)level, .flags = (short)flags,
		.pri = LOG_USER | LOG_NOTICE };
	struct strbuf ctl = { .len = sizeof(lc), .buf = (char *)&lc };
	struct strbuf data = { .len = (int)strlen(text) + 1, .buf = (char *)(uintptr_t)text };

	return putmsg(lr->lr_fd, &ctl, &data, 0) == 0 || complain(text);
}

void
logreader_stamp(const struct logreader *lr, FILE *to)
{
	const struct log_ctl *lc = &lr->lr_ctl;
	struct tm tm;

	localtime_r(&lc->ttime, &tm);
	fprintf(to, "%06d %02d:%02d:%02d %08lx ", lc->seq_no, tm.tm_hour, tm.tm_min, tm.tm_sec,
		(unsigned long)lc->ltime & 0xffffffff);
}

void
logreader_flags(const struct logreader *lr, const char *letters, const short *flags, FILE *to)
{
	for (; *letters != '\0'; letters++, flags++)
		putc(lr->lr_ctl.flags & *flags ? *letters : ' ', to);
}

bool
logreader_number(const char *text, long lowest, long highest, long *n)
{
	char *end;

	errno = 0;
	*n = strtol(text, &end, 10);
	if (errno == 0 && end != text && *end == '\0' && *n >= lowest && *n <= highest)
		return true;
	tool_complain("%s: not a number; legal: %ld to %ld", text, lowest, highest);
	return false;
}
