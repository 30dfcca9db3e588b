/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <ustreams.h>: calls of a STREAMS program that POSIX has for kernel
 * descriptors, and what this library adds.
 *
 * A stream's descriptor is a real descriptor number of the process, close on
 * exec by nature.  On a kernel descriptor every str_ call with a POSIX
 * namesake passes through to it.  All calls return -1 with errno on failure
 * and are safe from any thread; none may be called by a signal handler that
 * interrupted another one (EDEADLK), unless that one was asleep.
 */
#ifndef _USTREAMS_H
#define _USTREAMS_H

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/stream.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct timespec; /* strict C99 has none */

/* ---- streams ------------------------------------------------------------ */

/*
 * Open /dev/streams/<driver>[/minor], /dev/streams/clone/<driver>, a path with a
 * stream attached (fattach) or a FIFO made with mkfifo(3); oflag as open(2).  A
 * blocking open of a FIFO sleeps until the other side is opened.  A descriptor, or
 * -1: EACCES EAGAIN (no slot) EINTR EINVAL EMFILE ENOENT ENOSR ENXIO, what path
 * look-up gives, or what the driver's open routine returned.
 */
int str_open(const char *path, int oflag, ...);
/* A pipe: two streams, each end reads and writes.  EFAULT EMFILE ENOSR. */
int str_pipe(int fd[2]);
/*
 * Drop the descriptor; the last one of a stream dismantles it, after waiting
 * up to the close time (15 s, I_SETCLTIME) for its write queues to drain
 * unless O_NONBLOCK is set.  EBADF.
 */
int str_close(int fd);

/* As read(2) and write(2); see streams(7ustr) for modes and flow control. */
ssize_t str_read(int fd, void *buf, size_t n);
ssize_t str_readv(int fd, const struct iovec *iov, int iovcnt);
ssize_t str_write(int fd, const void *buf, size_t n);
ssize_t str_writev(int fd, const struct iovec *iov, int iovcnt);
/* The commands of <stropts.h>. */
int str_ioctl(int fd, int cmd, ...);
/* As poll(2), streams and kernel descriptors together; ms -1 for ever. */
int str_poll(struct pollfd *fds, nfds_t nfds, int ms);
/*
 * As select(2) and pselect(2), streams and kernel descriptors together: the
 * signal mask is in force while, and only while, the call sleeps.  The number
 * of bits set in the three sets, or -1: EBADF EDEADLK EFAULT EINTR EINVAL.
 */
int str_select(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
	struct timeval *timeout);
int str_pselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
	const struct timespec *timeout, const sigset_t *sigmask);

/* F_GETFL F_SETFL (O_NONBLOCK) F_GETFD F_SETFD F_DUPFD F_DUPFD_CLOEXEC. */
int str_fcntl(int fd, int cmd, ...);
int str_dup(int fd);
int str_dup2(int fd, int fd2);
/* st_mode is S_IFIFO for pipes, S_IFCHR for devices. */
int str_fstat(int fd, struct stat *st);
/* ESPIPE on a stream. */
off_t str_lseek(int fd, off_t off, int whence);

/*
 * An eventfd that is ready while str_poll() would report one of events (or
 * POLLERR, POLLHUP) for stream fd: for poll(2), epoll and event loops, which
 * must not read, write or close it.  It belongs to the calling process, one for
 * each stream and set of events, and is closed with the process's last
 * descriptor of the stream.  -1: EAGAIN EBADF EDEADLK EINVAL EMFILE ENOMEM
 * ENOSTR.
 */
int str_eventfd(int fd, short events);

/* ---- zero copy ------------------------------------------------------------ */

/* A message block of n bytes to fill and put; NULL: ENOSR.  freemsg() frees. */
mblk_t *str_mblkalloc(size_t n);
/* Send mp, of any type.  Consumed only on 0.  Errors as putmsg. */
int str_putmblk(int fd, mblk_t *mp);
/* Receive the first message: the very blocks that were put; yours on 0. */
int str_getmblk(int fd, mblk_t **mpp);

/* ---- modules and drivers --------------------------------------------------- */

/*
 * Make a module (for I_PUSH) or driver (for str_open) known; name 1..8
 * characters, flags D_MP... of <sys/stream.h>.  The table is copied; its
 * procedures must stay.  Register before fork.  -1: EINVAL (name, table or
 * flags) EEXIST ENOSPC ENOMEM.
 */
int ustr_register_module(const char *name, struct streamtab *st, int flags);
int ustr_register_driver(const char *name, struct streamtab *st, int flags);
/* Each open of the driver is a plumbing group of its own. */
#define USTR_INDEPENDENT 0x10000
/* EBUSY while in use, ENOENT. */
int ustr_unregister(const char *name);

/* ---- instances ---------------------------------------------------------------- */

/*
 * Before the first call that needs the library: which instance to meet others
 * in, made if there is none; NULL or "": a private one, as without the variable
 * USTREAMS_INSTANCE, which this call overrides.  -1: EINVAL (1 to 64 letters,
 * digits, '.', '_', '-', not a dot first), EBUSY (it is too late).  What is wrong
 * with the instance itself fails that first call; see str_instance(3ustr).
 */
int str_instance(const char *name);
/* The same with flags. */
int ustr_instance(const char *name, unsigned int flags);
#define USTR_EXISTING 1u /* only one that is there: else ENOENT */
/*
 * Brings the library up, and says in one sentence, with path and remedy, why that
 * failed; or, later, that the file system of the instance is full.  NULL: neither.
 */
const char *ustr_instancefault(void);
/*
 * Remove the instance of that name, without joining it: 0, or -1 with why, n bytes,
 * the sentence.  EBUSY: it has members; with USTR_FORCE they keep it, without a name.
 */
int ustr_instance_remove(const char *name, unsigned int flags, char *why, size_t n);
#define USTR_FORCE 2u

/*
 * A descriptor of stream number id (ustr_streamid; as strls(1) lists them), which some
 * process that takes part here has open, as if it had been inherited from that: mode and
 * O_NONBLOCK are shared.  -1: EDEADLK EMFILE, ENOENT (nobody has it open), or why the
 * library does not come up.
 */
int ustr_openid(unsigned int id);

/* ---- the flight recorder --------------------------------------------------- */

/*
 * What happened to a message at a queue.  Of a stream that is recorded each event
 * is one of these, in a ring that is overwritten when nobody reads it.
 */
#define USTR_EV_BYTES 128 /* kept of a message */
struct ustr_event {
	uint64_t ev_seq;	/* from 0 since recording was switched on; a gap: lost */
	int64_t ev_time;	/* ns since 1970 */
	unsigned int ev_stream; /* the stream's number (ustr_streamid) */
	pid_t ev_pid;		/* process, */
	pid_t ev_tid;		/* and thread that did it */
	unsigned int ev_ctl;	/* bytes of the control part: blocks before the first M_DATA */
	unsigned int ev_data;	/* bytes of the data part */
	unsigned char ev_what;	/* USTR_EV_* */
	char ev_side;		/* queue: 'R' or 'W' */
	unsigned char ev_place; /* queue: 0 the stream head's, 1 below it, ... */
	unsigned char ev_type;	/* M_DATA, M_PROTO, ... of the first block */
	unsigned char ev_band;	/* 0..255 */
	unsigned char ev_blocks; /* message blocks, 255: or more; of USTR_EV_GET 0 */
	unsigned short ev_flag; /* MSGMARK, MSGNOLOOP, MSGDELIM */
	unsigned char ev_nctl;	/* bytes of the control part in ev_bytes, */
	unsigned char ev_ndata; /* and, behind them, of the data part */
	char ev_queue[14];	/* queue: its module's name, "strhead" a stream head's */
	unsigned char ev_bytes[USTR_EV_BYTES];
};
enum {
	USTR_EV_PUT = 1, /* came to the queue's put procedure */
	USTR_EV_GET,	/* taken off: by getq, or at a stream head by a reader, the
			 * bytes he took */
	USTR_EV_BACK,	/* put back by putbq */
	USTR_EV_FLUSH,	/* flushed */
	USTR_EV_SENT	/* left a pipe's end for the other one */
};

/* The number of stream fd, for tools; -1: EBADF ENOSTR. */
long ustr_streamid(int fd);
/*
 * Record the events of stream fd in a ring of that many records, 16..1048576,
 * rounded up to a power of two, until 0 or the stream's last close; a ring that
 * is there stays as large as it is.  -1: EBADF EDEADLK EINVAL ENOMEM ENOSTR.
 */
int ustr_trace(int fd, unsigned int records);

/*
 * The events of stream number id, of any process that takes part here: recording
 * is switched on if it is not, and off again with the last ustr_tap_close(), also
 * by being killed.  NULL: EAGAIN (8 taps already) EDEADLK EINVAL ENOENT (no such
 * stream) ENOMEM.
 */
typedef struct ustr_tap ustr_tap_t;
ustr_tap_t *ustr_tap_open(unsigned int id, unsigned int records);
/* The next event: 1; 0 none now; -1: ENXIO when the stream is closed and all is read. */
int ustr_tap_read(ustr_tap_t *tap, struct ustr_event *ev);
/* Events overwritten before they could be read, so far. */
uint64_t ustr_tap_lost(const ustr_tap_t *tap);
/* tap may be NULL. */
void ustr_tap_close(ustr_tap_t *tap);

/* ---- the library itself ------------------------------------------------------ */

/* "ustreams 0.1.0 buffer_cache=yes head_cache=yes heap=arena debug=0" */
const char *ustr_version(void);
/*
 * Tunables by name: nstrpush strmsgsz strctlsz sthiwat stlowat cltime
 * ioctltime trace (records for each new stream).  ustr_tune: 0, or -1 EINVAL (unknown name, value out of range).
 * ustr_tunable: the value, or -1 EINVAL.
 */
int ustr_tune(const char *name, long value);
long ustr_tunable(const char *name);
/*
 * USTREAMS_TUNE, a list of name=value with these names and mag, the objects of a
 * magazine, is read when the library comes up: what it was, "" when not set;
 * NULL when the library does not come up.  A list that is refused fails the
 * first call with EINVAL, a USTREAMS_ARENA that is too little with ENOMEM;
 * ustr_tunefault() then says which variable and why, NULL otherwise.
 */
const char *ustr_tunestr(void);
const char *ustr_tunefault(void);
/* Draw the stream: modules, queues, counts, flags.  EBADF ENOSTR. */
int ustr_dump(int fd, FILE *to);

/* Allocator figures of the whole arena, bytes and blocks. */
struct ustr_memstat {
	size_t ms_cap;		/* most the arena may grow to */
	size_t ms_committed;	/* length of the arena file */
	size_t ms_used;		/* bytes handed to caches and heap so far */
	size_t ms_leaked;	/* bytes given up because their owner died */
	size_t ms_trips;	/* magazines exchanged with the depots */
	size_t ms_failures;	/* allocations refused */
	size_t ms_dropped;	/* callbacks given up because their process died */
};
int ustr_memstat(struct ustr_memstat *ms);

/*
 * Figures of one size class of the caches since the start.  Magazines are filled
 * from the depot, whole ones against empty ones, and when that has none, from
 * slabs: of the allocations and frees only cs_trips, and cs_made / cs_magazine
 * of the former, left the calling thread's magazines.
 */
struct ustr_cachestat {
	size_t cs_object;	/* bytes of an object; 0: the class is not in use */
	size_t cs_magazine;	/* objects a magazine holds */
	size_t cs_made;		/* objects cut from slabs; none is given back */
	size_t cs_trips;	/* magazines exchanged with the depot */
	size_t cs_failures;	/* allocations refused */
};
/* Class n, from 0.  0, or -1: EINVAL past the last class, EFAULT. */
int ustr_cachestat(unsigned int n, struct ustr_cachestat *cs);

/*
 * Do the helper thread's work once: notice deaths, close what they held,
 * waiting at most ms milliseconds for something to do (-1 for ever).
 * Needed only with USTREAMS_HELPER=0.  The number of deaths noticed, or -1.
 */
int ustr_service(int ms);

#ifdef __cplusplus
}
#endif

#endif
