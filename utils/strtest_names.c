/* SPDX-License-Identifier: BSD-2-Clause */
/* strtest_names.c: one table of constants; errors and signals come from libc. */
#include "strtest_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <stropts.h>
#include <sys/bufmod.h>
#include <sys/log.h>
#include <sys/mux.h>
#include <sys/stream.h>
#include <sys/testmod.h>

#include "strtest.h"

struct constant {
	const char *name;
	long long value;
};

#define C(name)             \
	{                   \
#name, name \
	}

static const struct constant constants[] = {
    /* commands */
    C(I_NREAD), C(I_PUSH), C(I_POP), C(I_LOOK), C(I_FLUSH), C(I_SRDOPT), C(I_GRDOPT),
    C(I_STR), C(I_SETSIG), C(I_GETSIG), C(I_FIND), C(I_LINK), C(I_UNLINK), C(I_RECVFD),
    C(I_PEEK), C(I_FDINSERT), C(I_SENDFD), C(I_E_RECVFD), C(I_SWROPT), C(I_GWROPT),
    C(I_LIST), C(I_PLINK), C(I_PUNLINK), C(I_ANCHOR), C(I_FLUSHBAND), C(I_CKBAND),
    C(I_GETBAND), C(I_ATMARK), C(I_SETCLTIME), C(I_GETCLTIME), C(I_CANPUT), C(I_SERROPT),
    C(I_GERROPT), C(I_ESETSIG), C(I_EGETSIG), C(I_GETMSG), C(I_PUTMSG), C(I_GETPMSG),
    C(I_PUTPMSG), C(I_PIPE), C(I_FIFO), C(I_ISASTREAM), C(I_FATTACH), C(I_FDETACH),
    C(I_GET_STRMSGSZ), C(I_GET_STRCTLSZ), C(I_GET_PUSHCNT), C(I_SET_HIWAT),
    C(I_SET_LOWAT), C(I_GET_HIWAT), C(I_GET_LOWAT),
    /* arguments of commands */
    C(FLUSHR), C(FLUSHW), C(FLUSHRW), C(FLUSHBAND), C(S_INPUT), C(S_HIPRI), C(S_OUTPUT),
    C(S_MSG), C(S_ERROR), C(S_HANGUP), C(S_RDNORM), C(S_WRNORM), C(S_RDBAND), C(S_WRBAND),
    C(S_BANDURG), C(RNORM), C(RMSGD), C(RMSGN), C(RPROTDAT), C(RPROTDIS), C(RPROTNORM),
    C(RFILL), C(SNDZERO), C(SNDPIPE), C(SNDHOLD), C(RERRNORM), C(RERRNONPERSIST),
    C(WERRNORM), C(WERRNONPERSIST), C(ANYMARK), C(LASTMARK), C(MUXID_ALL), C(ANYBAND),
    C(INFTIM), C(FMNAMESZ), C(NOERROR), C(INFPSZ),
    /* messages */
    C(RS_HIPRI), C(MSG_HIPRI), C(MSG_ANY), C(MSG_BAND), C(MORECTL), C(MOREDATA),
    C(MSGMARK), C(MSGNOLOOP), C(MSGDELIM),
    /* files */
    C(O_RDONLY), C(O_WRONLY), C(O_RDWR), C(O_NONBLOCK), C(O_CREAT), C(O_TRUNC), C(O_EXCL),
    C(O_CLOEXEC), C(O_APPEND), C(O_DIRECTORY), C(O_ACCMODE), C(F_GETFL), C(F_SETFL), C(F_GETFD),
    C(F_SETFD), C(F_DUPFD), C(F_DUPFD_CLOEXEC), C(F_GETLK), C(FD_CLOEXEC), C(S_IFIFO),
    C(S_IFCHR), C(S_IFREG), C(SEEK_SET), C(SEEK_CUR), C(SEEK_END),
    /* events, with and without POLL */
    C(POLLIN), C(POLLOUT), C(POLLPRI), C(POLLERR), C(POLLHUP), C(POLLNVAL), C(POLLRDNORM),
    C(POLLRDBAND), C(POLLWRNORM), C(POLLWRBAND), C(POLLMSG), {"IN", POLLIN},
    {"OUT", POLLOUT}, {"PRI", POLLPRI}, {"ERR", POLLERR}, {"HUP", POLLHUP},
    {"NVAL", POLLNVAL}, {"RDNORM", POLLRDNORM}, {"RDBAND", POLLRDBAND},
    {"WRNORM", POLLWRNORM}, {"WRBAND", POLLWRBAND},
    /* signal codes */
    C(POLL_IN), C(POLL_OUT), C(POLL_MSG), C(POLL_ERR), C(POLL_PRI), C(POLL_HUP),
    C(SI_USER), C(SI_QUEUE), C(SI_KERNEL), C(SI_TKILL),
    /* limits and pointers */
    C(INT_MAX), C(INT_MIN), C(PIPE_BUF), C(IOV_MAX), C(SSIZE_MAX), {"SIZE_MAX", -1},
    {"NULL", 0}, {"HIGHPTR", -1}, {"WRAPPTR", -16}};

static const struct constant message_types[] = {C(M_DATA), C(M_PROTO), C(M_BREAK),
    C(M_PASSFP), C(M_EVENT), C(M_SIG), C(M_DELAY), C(M_CTL), C(M_IOCTL), C(M_SETOPTS),
    C(M_RSE), C(M_IOCACK), C(M_IOCNAK), C(M_PCPROTO), C(M_PCSIG), C(M_READ), C(M_FLUSH),
    C(M_STOP), C(M_START), C(M_HANGUP), C(M_ERROR), C(M_COPYIN), C(M_COPYOUT),
    C(M_IOCDATA), C(M_PCRSE), C(M_STOPI), C(M_STARTI), C(M_PCEVENT), C(M_UNHANGUP)};

/* M_SETOPTS, and the commands of modules and drivers. */
static const struct constant module_constants[] = {C(SO_ALL), C(SO_READOPT), C(SO_WROFF),
    C(SO_MINPSZ), C(SO_MAXPSZ), C(SO_HIWAT), C(SO_LOWAT), C(SO_MREADON), C(SO_MREADOFF),
    C(SO_NDELON), C(SO_NDELOFF), C(SO_ISTTY), C(SO_ISNTTY), C(SO_TOSTOP), C(SO_TONSTOP),
    C(SO_BAND), C(SO_DELIM), C(SO_NODELIM), C(SO_STRHOLD), C(SO_ERROPT), C(TM_UP),
    C(TM_DOWN), C(TM_WHOLE), C(TM_HANGUP), C(TM_UNHANGUP), C(TM_ERROR), C(TM_SIG),
    C(TM_PCSIG), C(TM_SETOPTS), C(TM_ACK), C(TM_NAK), C(TM_ACKERR), C(TM_DELAY),
    C(TM_MUTE), C(TM_ANSWER), C(TM_STRANGER), C(TM_TWICE), C(TM_CUT), C(TM_COPYIN),
    C(TM_COPYOUT), C(TM_COPYINOUT), C(TM_COPIED), C(TM_COPYERR), C(TM_STOP), C(TM_STOPR),
    C(TM_STOPW), C(TM_GO), C(TM_MARKS), C(TM_QUEUED), C(TM_DROP), C(TM_SEEN),
    C(TM_SEENUP), C(TM_LAST), C(SBIOCSTIME), C(SBIOCGTIME), C(SBIOCCTIME), C(SBIOCSCHUNK),
    C(SBIOCGCHUNK), C(SBIOCSSNAP), C(SBIOCGSNAP), C(SBIOCSFLAGS), C(SBIOCGFLAGS),
    C(SB_SEND_ON_WRITE), C(SB_NO_HEADER), C(SB_NO_PROTO_CVT), C(SB_DEFER_CHUNK),
    C(SB_NO_DROPS), C(SB_DFLT_CHUNK), C(I_TRCLOG), C(I_ERRLOG), C(I_CONSLOG), C(SL_FATAL),
    C(SL_NOTIFY), C(SL_ERROR), C(SL_TRACE), C(SL_CONSOLE), C(SL_WARN), C(SL_NOTE),
    C(LOG_MID), C(LOGMSGSZ), C(LOGTRACEIDS), C(MUX_UP), C(MUX_DOWN)};

static const struct {
	const struct constant *list;
	size_t n;
} lists[] = {{constants, NELEM(constants)}, {message_types, NELEM(message_types)},
    {module_constants, NELEM(module_constants)}};

enum { LAST_ERRNO = 140, LAST_SIGNAL = 31 };

const char *
names_errno(int error)
{
	return strerrorname_np(error);
}

const char *
names_signal(int sig)
{
	static const char *const full[] = {[SIGHUP] = "SIGHUP",
	    [SIGINT] = "SIGINT",
	    [SIGQUIT] = "SIGQUIT",
	    [SIGILL] = "SIGILL",
	    [SIGTRAP] = "SIGTRAP",
	    [SIGABRT] = "SIGABRT",
	    [SIGBUS] = "SIGBUS",
	    [SIGFPE] = "SIGFPE",
	    [SIGKILL] = "SIGKILL",
	    [SIGUSR1] = "SIGUSR1",
	    [SIGSEGV] = "SIGSEGV",
	    [SIGUSR2] = "SIGUSR2",
	    [SIGPIPE] = "SIGPIPE",
	    [SIGALRM] = "SIGALRM",
	    [SIGTERM] = "SIGTERM",
	    [SIGCHLD] = "SIGCHLD",
	    [SIGCONT] = "SIGCONT",
	    [SIGSTOP] = "SIGSTOP",
	    [SIGTSTP] = "SIGTSTP",
	    [SIGTTIN] = "SIGTTIN",
	    [SIGTTOU] = "SIGTTOU",
	    [SIGURG] = "SIGURG",
	    [SIGXCPU] = "SIGXCPU",
	    [SIGXFSZ] = "SIGXFSZ",
	    [SIGVTALRM] = "SIGVTALRM",
	    [SIGPROF] = "SIGPROF",
	    [SIGWINCH] = "SIGWINCH",
	    [SIGPOLL] = "SIGPOLL",
	    [SIGSYS] = "SIGSYS"};

	return sig > 0 && (size_t)sig < NELEM(full) ? full[sig] : NULL;
}

const char *
names_message(int type)
{
	for (size_t i = 0; i < NELEM(message_types); i++)
		if (message_types[i].value == type)
			return message_types[i].name;
	return NULL;
}

static bool
find_errno(const char *name, long long *value)
{
	/* The second names of these two numbers. */
	if (strcmp(name, "EWOULDBLOCK") == 0 || strcmp(name, "ENOTSUP") == 0) {
		*value = name[1] == 'W' ? EWOULDBLOCK : ENOTSUP;
		return true;
	}
	for (int e = 1; e < LAST_ERRNO; e++) {
		if (names_errno(e) != NULL && strcmp(names_errno(e), name) == 0) {
			*value = e;
			return true;
		}
	}
	return false;
}

static bool
find_signal(const char *name, long long *value)
{
	if (strcmp(name, "SIGIO") == 0)
		name = "SIGPOLL";
	for (int s = 1; s <= LAST_SIGNAL; s++) {
		if (names_signal(s) != NULL && strcmp(names_signal(s), name) == 0) {
			*value = s;
			return true;
		}
	}
	return false;
}

static bool
find_pointer(const char *name, long long *value)
{
	if (strcmp(name, "BADPTR") == 0)
		*value = (intptr_t)names_bad_pointer();
	else if (strcmp(name, "ROPTR") == 0)
		*value = (intptr_t)names_readonly_pointer();
	else
		return false;
	return true;
}

bool
names_find(const char *name, long long *value, enum name_sort *sort)
{
	*sort = SORT_PLAIN;
	for (size_t l = 0; l < NELEM(lists); l++) {
		for (size_t i = 0; i < lists[l].n; i++) {
			if (strcmp(lists[l].list[i].name, name) == 0) {
				*value = lists[l].list[i].value;
				return true;
			}
		}
	}
	if (find_pointer(name, value))
		return true;
	*sort = SORT_ERRNO;
	if (find_errno(name, value))
		return true;
	*sort = SORT_SIGNAL;
	return find_signal(name, value);
}

/* ---- what was meant ------------------------------------------------------------ */

/* The length of what name and known have in common, up to an underscore. */
static bool
alike(const char *name, const char *known)
{
	const char *bar = strchr(name, '_');
	size_t n = bar != NULL ? (size_t)(bar - name) + 1 : 2;

	return strncmp(name, known, n) == 0;
}

const char *
names_like(struct pool *p, const char *name)
{
	char *all = pool_copy(p, "", 0);

	for (size_t l = 0; l < NELEM(lists); l++)
		for (size_t i = 0; i < lists[l].n; i++)
			if (alike(name, lists[l].list[i].name))
				all = pool_printf(p, "%s %s", all, lists[l].list[i].name);
	return *all != '\0'
	    ? all
	    : " a constant of stropts.h, fcntl.h, poll.h, signal.h or errno.h";
}

unsigned int
names_distance(const char *a, const char *b, unsigned int limit)
{
	unsigned int row[64], diagonal, up, la = (unsigned int)strlen(a),
					    lb = (unsigned int)strlen(b);

	if (la >= NELEM(row) || lb >= NELEM(row))
		return limit + 1;
	for (unsigned int j = 0; j <= lb; j++)
		row[j] = j;
	for (unsigned int i = 1; i <= la; i++) {
		diagonal = row[0];
		row[0] = i;
		for (unsigned int j = 1; j <= lb; j++) {
			up = row[j];
			row[j] = diagonal + (a[i - 1] != b[j - 1]);
			if (up + 1 < row[j])
				row[j] = up + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			diagonal = up;
		}
	}
	return row[lb] > limit ? limit + 1 : row[lb];
}

const char *
names_nearer(const char *name, const char *candidate, const char *best)
{
	unsigned int len = (unsigned int)strlen(name), limit = len < 4 ? 1 : len / 3 + 1;
	unsigned int d = names_distance(name, candidate, limit);

	if (d > limit)
		return best;
	return best == NULL || d < names_distance(name, best, limit) ? candidate : best;
}

const char *
names_guess(const char *name)
{
	const char *best = NULL;

	for (size_t l = 0; l < NELEM(lists); l++)
		for (size_t i = 0; i < lists[l].n; i++)
			best = names_nearer(name, lists[l].list[i].name, best);
	for (int e = 1; e < LAST_ERRNO; e++)
		if (names_errno(e) != NULL)
			best = names_nearer(name, names_errno(e), best);
	for (int s = 1; s <= LAST_SIGNAL; s++)
		if (names_signal(s) != NULL)
			best = names_nearer(name, names_signal(s), best);
	return best;
}

/* ---- pointers ------------------------------------------------------------------ */

enum { PAGES = 1 << 20 };

static void *
pages(int prot)
{
	void *at = mmap(NULL, PAGES, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void *
names_bad_pointer(void)
{
	static void *at;

	if (at == NULL)
		at = pages(PROT_NONE);
	return at;
}

void *
names_readonly_pointer(void)
{
	static void *at;

	if (at == NULL)
		at = pages(PROT_READ);
	return at;
}
