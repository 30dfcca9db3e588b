/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <stropts.h>: the STREAMS interface of POSIX XSR: getmsg, putmsg and the
 * streamio constants.
 *
 * All calls work on descriptors from str_open(), str_pipe() and their
 * duplicates; the device control commands go through str_ioctl()
 * (<ustreams.h>).  Constants have the SVR4 values.
 */
#ifndef _USTREAMS_STROPTS_H
#define _USTREAMS_STROPTS_H

#if defined(__has_include_next)
#if __has_include_next(<stropts.h>)
#include_next <stropts.h>
#endif
#endif

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FMNAMESZ 8	/* longest module name */

/* ---- commands of str_ioctl() ------------------------------------------ */

#define _USTR_STR(n) (('S' << 8) | (n))
#ifndef I_NREAD
#define I_NREAD _USTR_STR(1)
#define I_PUSH _USTR_STR(2)
#define I_POP _USTR_STR(3)
#define I_LOOK _USTR_STR(4)
#define I_FLUSH _USTR_STR(5)
#define I_SRDOPT _USTR_STR(6)
#define I_GRDOPT _USTR_STR(7)
#define I_STR _USTR_STR(8)
#define I_SETSIG _USTR_STR(9)
#define I_GETSIG _USTR_STR(10)
#define I_FIND _USTR_STR(11)
#define I_LINK _USTR_STR(12)
#define I_UNLINK _USTR_STR(13)
#define I_RECVFD _USTR_STR(14)
#define I_PEEK _USTR_STR(15)
#define I_FDINSERT _USTR_STR(16)
#define I_SENDFD _USTR_STR(17)
#define I_SWROPT _USTR_STR(19)
#define I_GWROPT _USTR_STR(20)
#define I_LIST _USTR_STR(21)
#define I_PLINK _USTR_STR(22)
#define I_PUNLINK _USTR_STR(23)
#define I_FLUSHBAND _USTR_STR(28)
#define I_CKBAND _USTR_STR(29)
#define I_GETBAND _USTR_STR(30)
#define I_ATMARK _USTR_STR(31)
#define I_SETCLTIME _USTR_STR(32)
#define I_GETCLTIME _USTR_STR(33)
#define I_CANPUT _USTR_STR(34)
#endif
#define I_E_RECVFD _USTR_STR(18)
#define I_ANCHOR _USTR_STR(24)
#define I_SERROPT _USTR_STR(35)
#define I_GERROPT _USTR_STR(36)
#define I_ESETSIG _USTR_STR(37)
#define I_EGETSIG _USTR_STR(38)
#define I_GETMSG _USTR_STR(40)
#define I_PUTMSG _USTR_STR(41)
#define I_GETPMSG _USTR_STR(42)
#define I_PUTPMSG _USTR_STR(43)
#define I_PIPE _USTR_STR(44)
#define I_FIFO _USTR_STR(45)
#define I_ISASTREAM _USTR_STR(46)
#define I_FATTACH _USTR_STR(52)
#define I_FDETACH _USTR_STR(53)
#define I_GET_STRMSGSZ _USTR_STR(86)	/* the result is the limit */
#define I_GET_STRCTLSZ _USTR_STR(87)
#define I_GET_PUSHCNT _USTR_STR(88)
#define I_SET_HIWAT _USTR_STR(91)	/* int by value: bytes */
#define I_SET_LOWAT _USTR_STR(92)	/* int by value: bytes */
#define I_GET_HIWAT _USTR_STR(97)	/* the result is the mark */
#define I_GET_LOWAT _USTR_STR(98)

/* ---- flags -------------------------------------------------------------- */

#ifndef FLUSHR
#define FLUSHR 0x01
#define FLUSHW 0x02
#define FLUSHRW 0x03
#define FLUSHBAND 0x04
#endif

#ifndef S_INPUT
#define S_INPUT 0x0001
#define S_HIPRI 0x0002
#define S_OUTPUT 0x0004
#define S_MSG 0x0008
#define S_ERROR 0x0010
#define S_HANGUP 0x0020
#define S_RDNORM 0x0040
#define S_WRNORM S_OUTPUT
#define S_RDBAND 0x0080
#define S_WRBAND 0x0100
#define S_BANDURG 0x0200
#endif

#ifndef RS_HIPRI
#define RS_HIPRI 0x01	/* getmsg, putmsg: a high-priority message */
#endif
#ifndef MSG_HIPRI
#define MSG_HIPRI 0x01	/* getpmsg, putpmsg */
#define MSG_ANY 0x02
#define MSG_BAND 0x04
#endif
#ifndef MORECTL
#define MORECTL 1	/* more of the control part is left */
#define MOREDATA 2	/* more of the data part is left */
#endif

/* I_SRDOPT */
#ifndef RNORM
#define RNORM 0x0000	/* byte stream */
#define RMSGD 0x0001	/* message discard */
#define RMSGN 0x0002	/* message non-discard */
#define RPROTDAT 0x0004	/* control part read as data */
#define RPROTDIS 0x0008	/* control part discarded */
#define RPROTNORM 0x0010 /* control part: EBADMSG */
#endif
#define RFILL 0x0020	/* a blocking read waits until all is there */

/* I_SWROPT */
#ifndef SNDZERO
#define SNDZERO 0x001	/* a write of 0 bytes sends a message */
#define SNDPIPE 0x002	/* SIGPIPE with a write error */
#endif
#define SNDHOLD 0x004	/* small writes may be gathered */

/* I_SERROPT */
#define RERRNORM 0x0
#define RERRNONPERSIST 0x1
#define WERRNORM 0x0
#define WERRNONPERSIST 0x2

#ifndef ANYMARK
#define ANYMARK 0x01
#define LASTMARK 0x02
#endif
#ifndef MUXID_ALL
#define MUXID_ALL (-1)
#endif
#define ANYBAND (-1)
#ifndef INFTIM
#define INFTIM (-1)
#endif
#define TRANSPARENT_IOCTL (-1)

/* ---- structures ---------------------------------------------------------- */

struct strbuf {
	int maxlen;	/* room in buf, bytes, or -1: do not take this part */
	int len;	/* bytes there, or -1: no such part */
	char *buf;
};

struct strioctl {
	int ic_cmd;	/* command for the module or driver */
	int ic_timout;	/* seconds; 0: 15, -1: for ever */
	int ic_len;	/* bytes at ic_dp */
	char *ic_dp;
};

struct strpeek {
	struct strbuf ctlbuf;
	struct strbuf databuf;
	uint32_t flags;	/* 0 or RS_HIPRI */
};

struct strfdinsert {
	struct strbuf ctlbuf;
	struct strbuf databuf;
	uint32_t flags;
	int fildes;	/* the other stream */
	int offset;	/* where in the control part its queue goes */
};

struct strrecvfd {
	int fd;
	uid_t uid;
	gid_t gid;
	char fill[8];
};

struct bandinfo {
	unsigned char bi_pri;	/* band */
	int bi_flag;		/* FLUSHR, FLUSHW, FLUSHRW */
};

struct str_mlist {
	char l_name[FMNAMESZ + 1];
};

struct str_list {
	int sl_nmods;			/* entries at sl_modlist */
	struct str_mlist *sl_modlist;	/* topmost first */
};

struct strpmsg {
	struct strbuf ctlbuf;
	struct strbuf databuf;
	int band;
	uint32_t flags;
};

struct strsigset {
	pid_t ss_pid;
	int ss_events;
};

/* ---- calls ---------------------------------------------------------------- */

/*
 * Send a message of a control part, a data part or both.  Blocks for band 0
 * flow control unless O_NONBLOCK (EAGAIN) or flags is RS_HIPRI.
 * 0, or -1: EAGAIN EBADF EDEADLK EFAULT EINTR EINVAL ENOSR ENOSTR ENXIO EPIPE
 * (with SIGPIPE) ERANGE.
 */
int putmsg(int fd, const struct strbuf *ctl, const struct strbuf *data,
	int flags);
/* The same with a band (0..255) and MSG_HIPRI or MSG_BAND. */
int putpmsg(int fd, const struct strbuf *ctl, const struct strbuf *data,
	int band, int flags);
/*
 * Receive the first message.  *flagsp: RS_HIPRI for high priority only, or 0;
 * on return what came.  0, MORECTL, MOREDATA or both; -1: EAGAIN EBADF EBADMSG
 * EDEADLK EFAULT EINTR EINVAL ENOSTR.  Blocks unless O_NONBLOCK.
 */
int getmsg(int fd, struct strbuf *ctl, struct strbuf *data, int *flagsp);
/* The same with *bandp and MSG_HIPRI, MSG_BAND or MSG_ANY in *flagsp. */
int getpmsg(int fd, struct strbuf *ctl, struct strbuf *data, int *bandp,
	int *flagsp);
/* 1 if fd is a stream, 0 if not, -1 EBADF. */
int isastream(int fd);
/*
 * Let str_open() of path give the stream of fd, until fdetach() of it; the path
 * keeps the stream open.  The caller owns the file, or is privileged, and may
 * write to it.  0, or -1: EACCES EBADF EBUSY (attached already, or a mount
 * point) EDEADLK EFAULT EINVAL (fd is no stream, or is linked below another)
 * ELOOP ENAMETOOLONG ENOENT ENOSR ENOTDIR EPERM.
 */
int fattach(int fd, const char *path);
/* EINVAL if nothing is attached; the others as fattach. */
int fdetach(const char *path);

#ifdef __cplusplus
}
#endif

#endif
